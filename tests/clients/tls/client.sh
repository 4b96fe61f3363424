#!/bin/bash
# MySQL's own client, the C library: client.sh MYSQL LABEL VERSION PORT USER CA OTHER-CA
# VERSION: TLSv1.2 or TLSv1.3; or name, for a server at 127.0.0.2.
set -u
mysql=$1 label=$2 version=$3 port=$4 user=$5 ca=$6 other=$7
export MYSQL_PWD=pw

# check WHAT REGEX MYSQL-OPTION...
check() {
    local what=$1 wanted=$2 got
    shift 2
    got=$("$mysql" --no-defaults --protocol=tcp -P "$port" -u "$user" -N "$@" 2>&1 | tr '\t\n' '  ')
    if [[ $got =~ ^$wanted\ $ ]]; then echo "ok $label: $what"; else echo "FAIL $label: $what: $got"; fi
}
certificate='ERROR 2026 \(HY000\): SSL connection error: .*certificate verify failed'
denied="ERROR 1045 \(28000\): Access denied for user '$user'@'localhost' \(using password: YES\)"

if [ "$version" = name ]; then
    check "another name, not verified" "7" -h 127.0.0.2 --ssl-mode=VERIFY_CA --ssl-ca="$ca" -e "SELECT 7"
    check "another name is refused" "$certificate" -h 127.0.0.2 --ssl-mode=VERIFY_IDENTITY --ssl-ca="$ca" -e "SELECT 7"
    exit
fi
tls=(-h localhost --ssl-mode=VERIFY_IDENTITY --tls-version="$version")
sql="PREPARE s FROM 'SELECT ? + 1'; SET @a = 41; EXECUTE s USING @a; SHOW STATUS LIKE 'Ssl_version'"
check "$version: first login, a query" "42 Ssl_version $version" "${tls[@]}" --ssl-ca="$ca" -e "$sql"
check "$version: second login" "42 Ssl_version $version" "${tls[@]}" --ssl-ca="$ca" -e "$sql"
check "$version: another authority" "$certificate" "${tls[@]}" --ssl-ca="$other" -e "$sql"
MYSQL_PWD=wrong check "$version: wrong password" "$denied" "${tls[@]}" --ssl-ca="$ca" -e "$sql"
check "$version: an account that asks for TLS, without" "$denied" -h localhost --ssl-mode=DISABLED -e "$sql"
