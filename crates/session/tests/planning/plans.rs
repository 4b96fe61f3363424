//! Which way the planner takes, as EXPLAIN tells it.

use crate::support::{Answer, Client, TestDb};

/// Table, type, key, and Extra of each row of EXPLAIN.
fn ways(answer: &Answer) -> Vec<String> {
    let wanted = ["table", "type", "key", "Extra"];
    let at = wanted.map(|name| answer.headings().iter().position(|h| *h == name));
    let line = |row: &Vec<String>| {
        let shown = at.map(|i| match row[i.expect("a column of EXPLAIN")].as_str() {
            "NULL" => "",
            text => text,
        });
        shown.join(" ").trim_end().to_string()
    };
    answer.rows.iter().map(line).collect()
}

fn run(s: &mut Client, sql: &str) {
    s.ok(sql);
}

#[test]
fn chosen_paths() {
    let db = TestDb::new();
    let mut s = db.raw();
    for q in [
        "create database d",
        "use d",
        "create table t (id int primary key, a int not null, b int, c varchar(20), unique key ua (a), key kb (b), key kc (c, b))",
        "create table u (id int primary key, tid int, x int, key kt (tid))",
    ] {
        run(&mut s, q);
    }
    let rows: Vec<String> = (0..4000)
        .map(|n| format!("({n},{n},{},'c{}')", n % 400, n % 50))
        .collect();
    run(&mut s, &format!("insert into t values {}", rows.join(",")));
    run(
        &mut s,
        "insert into u select id, b, a from t where id < 800",
    );
    let mut wrong = Vec::new();
    for (sql, want) in [
        ("select * from t where id = 5", &["t const PRIMARY"][..]),
        ("select * from t where a = 5", &["t const ua"]),
        (
            "select * from t where a = 5 and b = 5",
            &["t const ua Using where"],
        ),
        ("select * from t where b = 5", &["t ref kb"]),
        ("select b from t where b = 5", &["t ref kb Using index"]),
        (
            "select id, b from t where b in (5, 6)",
            &["t range kb Using index"],
        ),
        (
            "select * from t where id between 5 and 50",
            &["t range PRIMARY"],
        ),
        ("select * from t where b > 398", &["t range kb"]),
        ("select * from t where c = 'c1' and b = 51", &["t ref kc"]),
        (
            "select * from t where c = 'c1' and b > 300",
            &["t range kc"],
        ),
        (
            "select b from t where c like 'c1%' and b = 1",
            &["t ref kb Using where"],
        ),
        ("select * from t where c + 0 = 1", &["t ALL  Using where"]),
        ("select * from t where b + 1 = 5", &["t ALL  Using where"]),
        ("select * from t order by id limit 5", &["t index PRIMARY"]),
        (
            "select * from t order by id desc limit 5",
            &["t index PRIMARY Backward index scan"],
        ),
        ("select * from t order by a limit 5", &["t index ua"]),
        ("select * from t order by b", &["t ALL  Using filesort"]),
        ("select b from t order by b", &["t index kb Using index"]),
        ("select * from t where b = 7 order by id", &["t ref kb"]),
        (
            "select * from t where c = 'c1' order by b limit 3",
            &["t ref kc"],
        ),
        (
            "select * from t where b = 7 order by a",
            &["t ref kb Using filesort"],
        ),
        (
            "select b, count(*) from t group by b",
            &["t index kb Using index"],
        ),
        (
            "select a + 1, count(*) from t group by a + 1",
            &["t index ua Using index; Using temporary"],
        ),
        ("select count(*) from t", &["t index ua Using index"]),
        ("select min(a) from t", &["t index ua Using index"]),
        (
            "select max(b) from t",
            &["t index kb Using index; Backward index scan"],
        ),
        (
            "select max(b) from t where c = 'c1'",
            &["t ref kc Backward index scan"],
        ),
        (
            "select * from t ignore index (kb) where b = 5",
            &["t range kc Using index for skip scan"],
        ),
        (
            "select * from u join t on t.id = u.tid where u.id = 3",
            &["u const PRIMARY", "t eq_ref PRIMARY"],
        ),
        (
            "select * from t join u on u.tid = t.id where t.a = 3",
            &["t const ua", "u ref kt"],
        ),
        (
            "select * from u, t where t.a = u.x and u.tid = 3",
            &["u ref kt", "t eq_ref ua"],
        ),
        (
            "select * from u left join t on t.b + 0 = u.x where u.id < 5",
            &["u range PRIMARY", "t ALL  Using join buffer (hash join)"],
        ),
        (
            "select * from t where b between 5 and 6 or b between 9 and 9 or b in (2, 70)",
            &["t range kb"],
        ),
        (
            "select count(b) from t where (b between 5 and 6 or b > 397) and a > 7",
            &["t range kb Using where"],
        ),
        (
            "select * from t where c = 'c1' and b = 51 or c = 'c2' and b between 50 and 60",
            &["t range kc"],
        ),
        (
            "select * from t where c = 'c1' and (b between 51 and 60 or b > 350)",
            &["t range kc"],
        ),
        (
            "select * from t where id between 1 and 3 or id between 2 and 7 order by id",
            &["t range PRIMARY"],
        ),
        (
            "select * from t where b between 5 and 6 or a + 1 = 9",
            &["t ALL  Using where"],
        ),
        ("select 1", &["   No tables used"]),
        ("update t set b = 1 where id = 5", &["t const PRIMARY"]),
        ("delete from t where b = 5", &["t ref kb"]),
    ] {
        let got = ways(&s.ok(&format!("explain {sql}")));
        if got != want {
            wrong.push(format!("{sql}\n  want {want:?}\n  got  {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let tree = s.one(
        "explain format=tree select c, count(*) from t left join u on u.tid = t.id where t.id < 9 group by c
           having count(*) > 1 order by c limit 3",
    );
    // Estimates may change.
    let lines: Vec<&str> = tree
        .lines()
        .map(|l| l.split("  (cost=").next().unwrap_or(l))
        .collect();
    assert_eq!(
        lines.join("\n"),
        "-> Limit: 3 row(s)
    -> Sort: d.t.c, limit input to 3 row(s) per chunk
        -> Filter: (count(0) > 1)
            -> Aggregate using temporary table
                -> Nested loop left join
                    -> Index range scan on t using PRIMARY over (d.t.id < 9)
                    -> Covering index lookup on u using kt (tid=d.t.id)"
    );
}

#[test]
fn what_is_switched_off_is_not_done() {
    let db = TestDb::new();
    let mut s = db.client();
    s.ok("create table t (id int primary key, a int not null, b int, key ka (a))");
    s.ok("create table u (x int, y int)");
    let rows: Vec<String> = (0..500).map(|n| format!("({n},{},{n})", n % 9)).collect();
    s.ok(&format!("insert into t values {}", rows.join(",")));
    s.ok("insert into u select id, a from t");
    s.ok("analyze table t, u");
    let mut wrong = Vec::new();
    for (flag, sql, on, off) in [
        (
            "derived_merge",
            "select * from (select id, b from t) d where id = 5",
            &["t const PRIMARY"][..],
            &["<derived:d> ALL", "t const PRIMARY"][..],
        ),
        (
            "semijoin",
            "select * from t where id in (select x from u)",
            &["t ALL", "u ALL  Using join buffer (hash join); FirstMatch"],
            &["t ALL  Using where", "u ALL"],
        ),
        (
            "block_nested_loop",
            "select t.b from t straight_join u on u.x = t.b",
            &["t ALL", "u ALL  Using join buffer (hash join)"],
            &["t ALL", "u ALL  Using where"],
        ),
        (
            "derived_condition_pushdown",
            "select * from (select a, count(*) n from t group by a) d where a = 5",
            &["<derived:d> ALL", "t ref ka Using index"],
            &["<derived:d> ALL  Using where", "t index ka Using index"],
        ),
        (
            "prefer_ordering_index",
            "select * from t order by a limit 5",
            &["t index ka"],
            &["t ALL  Using filesort"],
        ),
        (
            "subquery_to_derived",
            "select * from t where b < (select max(y) from u where u.x = t.b)",
            &[
                "t ALL",
                "<derived:derived_1_2> ALL  Using where; Using join buffer (hash join)",
                "u ALL  Using temporary",
            ],
            &["t ALL  Using where", "u ALL  Using where"],
        ),
        // An index finds the few rows of each.
        (
            "subquery_to_derived",
            "select * from u where y < (select max(b) from t where t.id = u.x) limit 3",
            &["u ALL  Using where", "t const PRIMARY"],
            &["u ALL  Using where", "t const PRIMARY"],
        ),
    ] {
        for (value, want) in [("on", on), ("off", off)] {
            s.ok(&format!("set optimizer_switch = '{flag}={value}'"));
            let got = ways(&s.ok(&format!("explain {sql}")));
            if got != want {
                wrong.push(format!("{flag}={value}: {sql}\n  got {got:?}"));
            }
        }
        s.ok("set optimizer_switch = default");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// EXPLAIN FORMAT=JSON on one line, without what estimates make of it.
fn json(s: &mut Client, sql: &str) -> String {
    let text = s.one(&format!("explain format=json {sql}"));
    let estimates = [
        "\"rows_",
        "\"filtered",
        "\"read_cost",
        "\"eval_cost",
        "\"prefix_cost",
        "\"query_cost",
    ];
    let mut out = String::new();
    for line in text.lines().map(str::trim) {
        match estimates.iter().any(|e| line.starts_with(e)) {
            true => {}
            false => out.push_str(line),
        }
    }
    out.replace("\"cost_info\": {},", "")
        .replace("\"cost_info\": {}", "")
}

#[test]
fn plans_as_json() {
    let db = TestDb::new();
    let mut s = db.client();
    s.ok("create table t (id int primary key, a int not null, b int, key ka (a, b))");
    s.ok("create table u (x int, y varchar(9))");
    s.ok("insert into t values (1, 1, 1), (2, 2, 2)");
    let mut wrong = Vec::new();
    for (sql, want) in [
        (
            "select 1",
            r#"{"query_block": {"select_id": 1,"message": "No tables used"}}"#,
        ),
        (
            "select b from t where a = 1 and b > 0 order by id desc",
            r#"{"query_block": {"select_id": 1,"ordering_operation": {"using_filesort": false,"table": {"table_name": "t","access_type": "index","key": "PRIMARY","used_key_parts": ["id"],"key_length": "4","backward_index_scan": true,"attached_condition": "((test.t.a = 1) and (test.t.b > 0))"}}}}"#,
        ),
        (
            r#"select b, count(*) from t left join u on u.x = t.id and y <> 'a"\\b' where t.id < 9 group by b having count(*) > (select max(x) from u)"#,
            r#"{"query_block": {"select_id": 1,"grouping_operation": {"using_temporary_table": true,"using_filesort": false,"nested_loop": [{"table": {"table_name": "t","access_type": "index","key": "ka","used_key_parts": ["a","b"],"key_length": "9","using_index": true,"attached_condition": "(test.t.id < 9)"}},{"table": {"table_name": "u","access_type": "ALL","using_join_buffer": "hash join","attached_condition": "(test.u.y <> 'a\"\\b')"}}]},"having_subqueries": [{"dependent": false,"cacheable": true,"query_block": {"select_id": 2,"table": {"table_name": "u","access_type": "ALL",}}}]}}"#,
        ),
        (
            "select distinct x, (select max(b) from t where t.id = u.x and rand() < 2) from u where x in (select b from t where a = 5)",
            r#"{"query_block": {"select_id": 1,"duplicates_removal": {"using_temporary_table": true,"using_filesort": false,"nested_loop": [{"table": {"table_name": "u","access_type": "ALL",}},{"table": {"table_name": "t","access_type": "ref","possible_keys": ["ka"],"key": "ka","used_key_parts": ["a","b"],"key_length": "9","ref": ["const","test.u.x"],"using_index": true,"first_match": "t",}}]},"select_list_subqueries": [{"dependent": true,"cacheable": false,"query_block": {"select_id": 2,"table": {"table_name": "t","access_type": "const","possible_keys": ["PRIMARY"],"key": "PRIMARY","used_key_parts": ["id"],"key_length": "4","ref": ["test.u.x"],"attached_condition": "(rand() < 2)"}}}]}}"#,
        ),
        (
            "select * from (select x, count(*) n from u group by x) d where n > 1",
            r#"{"query_block": {"select_id": 1,"table": {"table_name": "d","access_type": "ALL","materialized_from_subquery": {"using_temporary_table": true,"dependent": false,"cacheable": true,"query_block": {"select_id": 2,"grouping_operation": {"using_temporary_table": true,"using_filesort": false,"table": {"table_name": "u","access_type": "ALL",}}}}}}}"#,
        ),
        (
            "select x from u union select id from t order by 1",
            r#"{"query_block": {"ordering_operation": {"using_filesort": true,"union_result": {"using_temporary_table": true,"table_name": "<union1,2>","access_type": "ALL","query_specifications": [{"dependent": false,"cacheable": true,"query_block": {"select_id": 1,"table": {"table_name": "u","access_type": "ALL",}}},{"dependent": false,"cacheable": true,"query_block": {"select_id": 2,"table": {"table_name": "t","access_type": "index","key": "ka","used_key_parts": ["a","b"],"key_length": "9","using_index": true,}}}]}}}}"#,
        ),
        (
            "select x from u union all select id from t",
            r#"{"query_block": {"union_result": {"using_temporary_table": false,"query_specifications": [{"dependent": false,"cacheable": true,"query_block": {"select_id": 1,"table": {"table_name": "u","access_type": "ALL",}}},{"dependent": false,"cacheable": true,"query_block": {"select_id": 2,"table": {"table_name": "t","access_type": "index","key": "ka","used_key_parts": ["a","b"],"key_length": "9","using_index": true,}}}]}}}"#,
        ),
        (
            "insert into u select id, a from t",
            r#"{"query_block": {"select_id": 1,"table": {"insert": true,"table_name": "u","access_type": "ALL"},"insert_from": {"table": {"table_name": "t","access_type": "ALL",}}}}"#,
        ),
        (
            "replace into u values (1, 2)",
            r#"{"query_block": {"select_id": 1,"table": {"replace": true,"table_name": "u","access_type": "ALL"}}}"#,
        ),
        (
            "update t set b = 1 where id = 1",
            r#"{"query_block": {"select_id": 1,"table": {"update": true,"table_name": "t","access_type": "const","possible_keys": ["PRIMARY"],"key": "PRIMARY","used_key_parts": ["id"],"key_length": "4","ref": ["const"],}}}"#,
        ),
        (
            "delete t from t join u on t.id = u.x",
            r#"{"query_block": {"select_id": 1,"nested_loop": [{"table": {"table_name": "u","access_type": "ALL",}},{"table": {"delete": true,"table_name": "t","access_type": "eq_ref","possible_keys": ["PRIMARY"],"key": "PRIMARY","used_key_parts": ["id"],"key_length": "4","ref": ["test.u.x"],}}]}}"#,
        ),
    ] {
        let got = json(&mut s, sql);
        if got != want {
            wrong.push(format!("{sql}\n{got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    s.ok("set explain_format = json");
    assert!(s.one("explain select 1").contains("query_block"));
    assert!(
        s.one("explain format=traditional select 1")
            .starts_with('1')
    );
    assert_eq!(s.code("explain analyze select 1"), 1235);
    assert_eq!(s.code("set explain_format = 'xml'"), 1231);
}
