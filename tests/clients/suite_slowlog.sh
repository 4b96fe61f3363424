#!/bin/bash
# Has Percona's pt-query-digest read a slow query log that a real run wrote: suite_slowlog.sh SOCKET LOGFILE
set -euo pipefail
socket=$1
log=$2
sql() { mariadb --no-defaults -S "$socket" -u root -N "$@"; }

sql -e "SET GLOBAL slow_query_log_file = '$log'; SET GLOBAL slow_query_log = ON; SET GLOBAL long_query_time = 0"
sql -e "DROP DATABASE IF EXISTS slowlog; CREATE DATABASE slowlog"
{
    echo "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20));"
    for i in $(seq 40); do echo "INSERT INTO t VALUES ($i, 'it''s # $i');"; done
    for i in $(seq 25); do echo "SELECT * FROM t WHERE a = $i;"; done
    for i in $(seq 10); do echo "SELECT COUNT(*) FROM t WHERE b LIKE '%$i%';"; done
    for i in $(seq 5); do echo "UPDATE t SET b = 'x;
y' WHERE a IN ($i, 39, 40);"; done
    for i in $(seq 3); do echo "CREATE TABLE d$i (a INT); DROP TABLE d$i;"; done
} | sql slowlog >/dev/null
sql -e "FLUSH SLOW LOGS; SET GLOBAL long_query_time = DEFAULT; SET GLOBAL slow_query_log = OFF; DROP DATABASE slowlog"

digest=$(dirname "$log")/digest.json
pt-query-digest --output json --limit 100% "$log" >"$digest"
python3 - "$digest" <<'EOF'
import json, re, sys
text = open(sys.argv[1]).read()
classes = {c["fingerprint"]: c for c in json.loads(text[text.index("{"):])["classes"]}
failed = 0

def check(what, got, want):
    global failed
    ok = got == want
    failed += not ok
    print(f"{'ok  ' if ok else 'FAIL'} {what}" + ("" if ok else f": {got}, not {want}"))

def total(c, name):
    return int(c["metrics"][name]["sum"])

def one(pattern):
    found = [c for f, c in classes.items() if re.search(pattern, f)]
    if len(found) != 1:
        print(f"FAIL {pattern}: {len(found)} classes of {sorted(classes)}")
        sys.exit(1)
    return found[0]

insert, point, like, update = one("^insert into t"), one("^select \\* from t where a"), one("^select count"), one("^update t")
check("40 inserts", insert["query_count"], 40)
check("25 point reads", point["query_count"], 25)
check("which sent and read a row each", (total(point, "Rows_sent"), total(point, "Rows_examined")), (25, 25))
check("10 scans", like["query_count"], 10)
check("which sent 10 rows and read 400", (total(like, "Rows_sent"), total(like, "Rows_examined")), (10, 400))
check("5 updates", update["query_count"], 5)
check("which read 15 rows", total(update, "Rows_examined"), 15)
created = sum(c["query_count"] for f, c in classes.items() if f.startswith("create table"))
check("3 tables created beside the first", created, 4)
check("3 tables dropped", sum(c["query_count"] for f, c in classes.items() if f.startswith("drop table")), 3)
check("all in their database", point["metrics"]["db"]["value"], "slowlog")
check("by their user", point["metrics"]["user"]["value"], "root")
check("and took time", float(like["metrics"]["Query_time"]["sum"]) > 0, True)
sys.exit(failed > 0)
EOF
