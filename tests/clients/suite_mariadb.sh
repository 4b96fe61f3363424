#!/bin/bash
# Smoke suite for MariaDB's command line client: suite_mariadb.sh SOCKET PORT FILES
# FILES: the directory that secure_file_priv of the server names. $MILLPOND_CA: the certificate of who signed the server's.
set -u
socket=$1 port=$2 files=$3
failures=0 checks=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

db() { mariadb --no-defaults -uroot -S "$socket" -N "$@" 2>&1; }
admin() { mariadb-admin --no-defaults -uroot -S "$socket" "$@" 2>&1; }

# expect NAME EXPECTED ACTUAL
expect() {
    checks=$((checks + 1))
    if [ "$2" = "$3" ]; then
        echo "ok   $1"
    else
        failures=$((failures + 1))
        printf 'FAIL %s\n--- expected\n%s\n--- got\n%s\n' "$1" "$2" "$3"
    fi
}

# expect_match NAME REGEX ACTUAL
expect_match() {
    checks=$((checks + 1))
    if printf '%s' "$3" | grep -qE "$2"; then
        echo "ok   $1"
    else
        failures=$((failures + 1))
        printf 'FAIL %s\n--- expected to match\n%s\n--- got\n%s\n' "$1" "$2" "$3"
    fi
}

db -e 'DROP DATABASE IF EXISTS suite_sh; DROP DATABASE IF EXISTS suite_sh2' >/dev/null
expect "create a database" "" "$(db -e 'CREATE DATABASE suite_sh')"
expect "tcp" "2" "$(mariadb --no-defaults -uroot -h127.0.0.1 -P"$port" -N -e 'SELECT 1 + 1' 2>&1)"
expect "a user that isn't there" "1045" \
    "$(mariadb --no-defaults -ubob -S "$socket" -e 'SELECT 1' 2>&1 | grep -oE '\b1045\b')"
expect "a password where there is none" "1045" \
    "$(mariadb --no-defaults -uroot -psecret -S "$socket" -e 'SELECT 1' 2>&1 | grep -oE '\b1045\b')"
expect "a compressed connection" "1 300000" \
    "$(mariadb --no-defaults -uroot --compress -S "$socket" -N -e "SELECT 1, LENGTH('$(printf 'x%.0s' {1..100000})') * 3" 2>&1 | tr '\t' ' ')"

# The server forgets what it remembers of passwords, so that the client has to send its own.
db -e "CREATE USER tls_sh@localhost IDENTIFIED WITH caching_sha2_password BY 'pw' REQUIRE SSL; FLUSH PRIVILEGES" >/dev/null
tls() { mariadb --no-defaults -utls_sh -ppw -hlocalhost --protocol=tcp -P"$port" -N "$@" 2>&1; }
expect_match "TLS with a certificate that is verified" '^TLSv1\.[23]$' \
    "$(tls --ssl-ca="$MILLPOND_CA" --ssl-verify-server-cert -e "SHOW STATUS LIKE 'Ssl_version'" | cut -f2)"
expect_match "TLS with another authority" 'ERROR 2026' \
    "$(tls --ssl-ca=/etc/ssl/certs/ca-certificates.crt --ssl-verify-server-cert -e 'SELECT 1')"
expect "an account that asks for TLS, without" "1045" "$(tls --skip-ssl -e 'SELECT 1' | grep -oE '\b1045\b')"
db -e 'DROP USER tls_sh@localhost' >/dev/null

expect "refresh" "" "$(admin refresh)"
expect_match "a dump that flushes logs" 'Dump completed' \
    "$(mariadb-dump --no-defaults -uroot -S "$socket" --flush-logs suite_sh 2>&1)"

cat >"$tmp/script.sql" <<'SQL'
/*!40101 SET NAMES utf8mb4 */;
-- every type; the text ends with a quote'
CREATE TABLE t (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, i TINYINT, u BIGINT UNSIGNED, d DECIMAL(10,3), f DOUBLE,
  c CHAR(5), v VARCHAR(20), x TEXT, b VARBINARY(10), bl BLOB, da DATE, dt DATETIME, ts TIMESTAMP NULL,
  e ENUM('a','b'), KEY k (v)
);
INSERT INTO t (i, u, d, f, c, v, x, b, bl, da, dt, ts, e) VALUES
  (-1, 18446744073709551615, 1.5, 0.1, 'ab', 'it''s; é', 'line\nline', x'00ff', 'blob', '2024-02-29',
   '2024-01-02 03:04:05', '2024-06-01 12:00:00', 'b'),
  (NULL, 0, -0.001, 1e100, '', '', '', '', '', '1000-01-01', '9999-12-31 23:59:59', NULL, 'a');
SQL
expect "a script" "" "$(db suite_sh <"$tmp/script.sql")"
expect "its rows" \
    "$(printf -- '1\t-1\t18446744073709551615\t1.500\t0.1\tab\tit'"'"'s; é\tline\\nline\t00FF\tblob\t2024-02-29\t2024-01-02 03:04:05\t2024-06-01 12:00:00\tb\n2\tNULL\t0\t-0.001\t1e100\t\t\t\t\t\t1000-01-01\t9999-12-31 23:59:59\tNULL\ta')" \
    "$(db --default-character-set=utf8mb4 suite_sh -e 'SELECT id, i, u, d, f, c, v, x, HEX(b), bl, da, dt, ts, e FROM t ORDER BY id')"
expect "a table for people" \
    "$(printf '+----+------+\n| id | e    |\n+----+------+\n|  1 | b    |\n|  2 | a    |\n+----+------+')" \
    "$(mariadb --no-defaults -uroot -S "$socket" -t suite_sh -e 'SELECT id, e FROM t ORDER BY id' 2>&1)"
expect "describe" "$(printf 'id\tint\tNO\tPRI\tNULL\tauto_increment')" "$(db suite_sh -e 'DESCRIBE t' | head -1)"
expect "several statements" "$(printf '1\n2')" "$(db -e 'SELECT 1; SELECT 2')"
expect "another delimiter" "7" "$(printf 'DELIMITER //\nSELECT 7//\n' | db)"
expect_match "an error and its place" '^ERROR 1064 \(42000\) at line 2: ' "$(printf 'SELECT 1;\nSELEKT 2;\n' | db | tail -1)"
expect_match "an unknown table" '^ERROR 1146 \(42S02\)' "$(db suite_sh -e 'SELECT * FROM nowhere')"
expect_match "an unknown database" '^ERROR 1049 \(42000\)' "$(db nowhere -e 'SELECT 1')"
expect_match "a duplicate key" "^ERROR 1062 \(23000\).*'1'.*PRIMARY" "$(db suite_sh -e "INSERT INTO t (id) VALUES (1)")"
expect "warnings" "$(printf 'Warning\t1265\tData truncated for column '"'c'"' at row 1')" \
    "$(db suite_sh -e "SET sql_mode=''; INSERT INTO t (c) VALUES ('too long'); SHOW WARNINGS")"
expect "rollback" "$(printf '1')" \
    "$(db suite_sh -e "BEGIN; DELETE FROM t; ROLLBACK; SELECT COUNT(*) > 1 FROM t")"
expect "a prepared statement in SQL" "42" "$(db -e "PREPARE s FROM 'SELECT ? + 1'; SET @a = 41; EXECUTE s USING @a")"
expect "show create" "1" "$(db suite_sh -e 'SHOW CREATE TABLE t' | grep -c 'PRIMARY KEY (`id`)')"
expect "vertical" "id: 1" \
    "$(mariadb --no-defaults -uroot -S "$socket" suite_sh -e 'SELECT id FROM t WHERE id = 1\G' 2>&1 | tail -1 | sed 's/^ *//')"
expect "one row at a time" "$(printf '1\n2')" "$(db --quick suite_sh -e 'SELECT id FROM t WHERE id < 3 ORDER BY id')"

head -c 20000000 /dev/zero | tr '\0' 'x' >"$tmp/x"
{
    printf "CREATE TABLE big (id INT PRIMARY KEY, x LONGTEXT);\nINSERT INTO big VALUES (1, '"
    cat "$tmp/x"
    printf "');\nSELECT LENGTH(x) FROM big;\n"
} >"$tmp/big.sql"
expect "a statement of 20 MB" "20000000" "$(db --max-allowed-packet=64M suite_sh <"$tmp/big.sql")"
expect "a row of 20 MB" "20000001" \
    "$(mariadb --no-defaults -uroot -S "$socket" --max-allowed-packet=64M -N suite_sh -e 'SELECT x FROM big' | wc -c)"

db -e 'CREATE DATABASE suite_sh2' >/dev/null
expect "dump and restore" "" \
    "$({ mariadb-dump --no-defaults -uroot -S "$socket" --single-transaction --skip-comments suite_sh t | db suite_sh2; } 2>&1)"
expect "the copy is the same" \
    "$(db suite_sh -e 'SELECT COUNT(*), SUM(u), SUM(LENGTH(b)), MAX(dt) FROM t')" \
    "$(db suite_sh2 -e 'SELECT COUNT(*), SUM(u), SUM(LENGTH(b)), MAX(dt) FROM t')"
db -e 'DROP DATABASE suite_sh2' >/dev/null
db -e 'CREATE DATABASE suite_zz; CREATE TABLE suite_zz.t (id INT PRIMARY KEY); INSERT INTO suite_zz.t VALUES (7)' >/dev/null
expect "dump of all databases" "" \
    "$(mariadb-dump --no-defaults -uroot -S "$socket" --single-transaction --skip-comments --all-databases 2>&1 >"$tmp/all.sql")"
db -e 'DROP DATABASE suite_zz' >/dev/null
expect "which loads" "" "$(db <"$tmp/all.sql" 2>&1)"
expect "those behind mysql too" "7" "$(db suite_zz -N -e 'SELECT id FROM t')"
db -e 'DROP DATABASE suite_zz' >/dev/null
expect "latin1 out and back" "$(printf 'caf\351')" \
    "$(printf "SELECT 'caf\351'" | mariadb --no-defaults -uroot -S "$socket" -N --default-character-set=latin1)"


db -e 'CREATE DATABASE suite_tab; CREATE TABLE suite_tab.u (a INT, b TEXT)' >/dev/null
db suite_tab -e "INSERT INTO u VALUES (1, 'tab\tand\nline'), (2, NULL), (3, 'quote\\' back\\\\')" >/dev/null
import() { mariadb-import --no-defaults -uroot -S "$socket" "$@" 2>&1; }
sums='SELECT COUNT(*), SUM(a), SUM(CRC32(b)) FROM u'
before=$(db suite_tab -e "$sums")
for format in "" "--fields-terminated-by=, --fields-enclosed-by=\" --lines-terminated-by=\r\n"; do
    rm -f "$files"/*
    # shellcheck disable=SC2086
    expect "a dump into files ($format)" "" \
        "$(mariadb-dump --no-defaults -uroot -S "$socket" --tab="$files" $format suite_tab 2>&1)"
    db suite_tab -e 'DROP TABLE u' >/dev/null
    expect "its definition" "" "$(db suite_tab <"$files/u.sql")"
    # shellcheck disable=SC2086
    expect "its rows, by the server" "suite_tab.u: Records: 3  Deleted: 0  Skipped: 0  Warnings: 0" \
        "$(import $format suite_tab "$files/u.txt")"
    expect "are what they were" "$before" "$(db suite_tab -e "$sums")"
    db -e 'SET GLOBAL local_infile = ON' >/dev/null
    # shellcheck disable=SC2086
    expect "its rows, by the client" "suite_tab.u: Records: 3  Deleted: 0  Skipped: 0  Warnings: 0" \
        "$(import --local --delete $format suite_tab "$files/u.txt")"
    expect "are so still" "$before" "$(db suite_tab -e "$sums")"
    db -e 'SET GLOBAL local_infile = OFF' >/dev/null
done
expect_match "local files are off" 'Error: (3948|4166|1148)' "$(import --local suite_tab "$files/u.txt")"
db -e 'DROP DATABASE suite_tab' >/dev/null

expect "dump with all tables locked" "1" \
    "$(mariadb-dump --no-defaults -uroot -S "$socket" --lock-all-tables --skip-comments suite_sh t 2>&1 | grep -c '^CREATE TABLE')"
expect_match "a careful client" '^ERROR 1175' "$(db --safe-updates suite_sh -e 'DELETE FROM t')"

expect "ping" "mysqld is alive" "$(admin ping)"
expect_match "status" '^Uptime: [0-9]+ +Threads: [0-9]+ +Questions: [0-9]+' "$(admin status)"
expect_match "process list" 'root.*localhost' "$(admin processlist)"
expect_match "variables" 'max_connections' "$(admin variables)"
expect_match "version" 'millpond' "$(db -e 'SELECT VERSION()')"
expect_match "databases" 'suite_sh' "$(mariadb-show --no-defaults -uroot -S "$socket" 2>&1)"
expect_match "tables" 'big' "$(mariadb-show --no-defaults -uroot -S "$socket" suite_sh 2>&1)"

mkfifo "$tmp/fifo"
db --unbuffered <"$tmp/fifo" >"$tmp/victim" &
victim=$!
exec 9>"$tmp/fifo"
echo "SELECT CONNECTION_ID();" >&9
for _ in $(seq 1200); do
    [ -s "$tmp/victim" ] && break
    sleep 0.1
done
id=$(head -1 "$tmp/victim")
expect "kill from the outside" "" "$(admin kill "$id")"
echo "SELECT 1;" >&9
exec 9>&-
wait $victim
expect_match "the killed client notices" 'ERROR 20(06|13)' "$(cat "$tmp/victim")"

expect "drop the database" "" "$(db -e 'DROP DATABASE suite_sh')"
echo "$((checks - failures)) of $checks checks passed"
[ $failures = 0 ]
