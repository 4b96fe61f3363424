//! Ways to read one table, forced on and off by hints and `optimizer_switch`, give the same rows: index condition pushdown, index
//! merges, loose index scans. Tables have NULLs, descending and prefix parts, texts of several collations, partitions; readers have old
//! read views, writers roll back. `MILLPOND_ACCESS_SEED` repeats a run, `MILLPOND_ACCESS_QUERIES` sets its length.

use crate::rng::Rng;
use crate::support::{Client, TestDb};

const TABLES: [&str; 4] = [
    "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c VARCHAR(10), d VARBINARY(10), KEY a (a), KEY b (b), KEY ab (a, b), KEY c (c), KEY dc (d, c))",
    "CREATE TABLE t (id INT, a INT NOT NULL, b INT, c VARCHAR(10) COLLATE utf8mb4_bin, d VARBINARY(10), PRIMARY KEY (b, id), UNIQUE KEY a (a, id), KEY b (b DESC, a), KEY c (c(2)), KEY d (d))",
    "CREATE TABLE t (id INT, a INT, b INT NOT NULL, c CHAR(10), d VARBINARY(10), KEY a (a), KEY b (b), KEY c (c), KEY bd (b, d DESC))",
    "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c VARCHAR(10), d VARBINARY(10), KEY a (a), KEY b (b), KEY c (c), KEY da (d, a)) PARTITION BY HASH (id) PARTITIONS 3",
];

const WAYS: [&str; 6] = [
    "default",
    "'index_condition_pushdown=off'",
    "'index_merge=off'",
    "'index_merge_union=off,index_merge_sort_union=on'",
    "'index_merge_intersection=off'",
    "'index_merge=off,index_condition_pushdown=off'",
];

fn row(rng: &mut Rng, id: u64) -> String {
    let number = |rng: &mut Rng, null: bool| match rng.below(8) {
        0 if null => "NULL".to_string(),
        _ => rng.below(12).to_string(),
    };
    let (a, b) = (number(rng, false), number(rng, false));
    let text = |rng: &mut Rng| {
        format!(
            "{}{}",
            ["x", "X", "xy", "y", "é"][rng.below(5) as usize],
            rng.below(3)
        )
    };
    format!("({id}, {a}, {b}, '{}', '{}')", text(rng), text(rng))
}

fn condition(rng: &mut Rng) -> String {
    let n = rng.below(12);
    let text = ["'x1'", "'X2'", "'xy'", "'y0'", "'é1'"][rng.below(5) as usize];
    let column = ["a", "b"][rng.below(2) as usize];
    match rng.below(13) {
        0..=3 => format!("{column} = {n}"),
        4 => format!("{column} IN ({n}, {}, 5)", rng.below(12)),
        5 => format!("{column} BETWEEN {n} AND {}", n + rng.below(4)),
        6 => format!("{column} IS NULL"),
        7 => format!("{column} % 3 = {}", rng.below(3)),
        8 => format!("c = {text}"),
        9 => format!("d >= {text}"),
        10 => format!("c LIKE '{}%'", ["x", "X", "é"][rng.below(3) as usize]),
        11 => format!("d LIKE '%{}'", rng.below(3)),
        _ => format!("id < {}", rng.below(100)),
    }
}

fn conditions(rng: &mut Rng) -> String {
    let list = |rng: &mut Rng, by: &str| {
        let all: Vec<String> = (0..2 + rng.below(2)).map(|_| condition(rng)).collect();
        all.join(by)
    };
    match rng.below(4) {
        0 => list(rng, " AND "),
        1 => list(rng, " OR "),
        2 => format!("({}) AND {}", list(rng, " OR "), condition(rng)),
        _ => format!("({}) OR ({})", list(rng, " AND "), list(rng, " AND ")),
    }
}

fn hint(rng: &mut Rng) -> &'static str {
    match rng.below(5) {
        0 => "",
        1 => "USE INDEX (a, b)",
        2 => "FORCE INDEX (a, b, c)",
        3 => "FORCE INDEX (b, c)",
        _ => "FORCE INDEX (a, b)",
    }
}

/// A query of which groups matter, and how it ends.
fn grouped(rng: &mut Rng) -> (&'static str, &'static str) {
    match rng.below(8) {
        0 => ("SELECT DISTINCT a FROM", ""),
        1 => ("SELECT DISTINCT b, a FROM", ""),
        2 => ("SELECT a, MIN(b), MAX(b) FROM", "GROUP BY a"),
        3 => ("SELECT b, MIN(d), MAX(d) FROM", "GROUP BY b"),
        4 => ("SELECT b, MAX(a) FROM", "GROUP BY b"),
        5 => ("SELECT COUNT(DISTINCT a), SUM(DISTINCT b) FROM", ""),
        6 => ("SELECT DISTINCT d FROM", ""),
        _ => ("SELECT d, MIN(a) FROM", "GROUP BY d"),
    }
}

/// A query's rows in any order, by each way.
fn compare(c: &mut Client, select: &str, hint: &str, rest: &str) {
    let mut want = c.rows(&format!("{select} t USE INDEX () {rest}"));
    want.sort();
    for way in WAYS {
        c.ok(&format!("SET optimizer_switch = {way}"));
        let sql = format!("{select} t {hint} {rest}");
        let mut got = c.rows(&sql);
        got.sort();
        assert_eq!(
            got,
            want,
            "{sql} with {way}: {:?}",
            c.rows(&format!("EXPLAIN {sql}"))
        );
    }
    c.ok("SET optimizer_switch = default");
}

/// What is so of a table after a change by each way, which is taken back.
fn change(c: &mut Client, change: &dyn Fn(&str) -> String, hint: &str) {
    let mut answers = Vec::new();
    for (way, hint) in [("default", "USE INDEX ()")]
        .into_iter()
        .chain(WAYS.map(|w| (w, hint)))
    {
        c.ok(&format!("SET optimizer_switch = {way}"));
        c.ok("START TRANSACTION");
        let sql = change(hint);
        let affected = c.ok(&sql).done.affected;
        let mut rows = c.rows("SELECT * FROM t");
        rows.sort();
        c.ok("ROLLBACK");
        answers.push((sql, way, affected, rows));
    }
    for a in &answers[1..] {
        assert_eq!(
            (a.2, &a.3),
            (answers[0].2, &answers[0].3),
            "{} with {}",
            a.0,
            a.1
        );
    }
    c.ok("SET optimizer_switch = default");
}

fn env(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(default)
}

#[test]
fn ways_agree() {
    let clock = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let seed = env("MILLPOND_ACCESS_SEED", clock.as_nanos() as u64);
    println!("MILLPOND_ACCESS_SEED={seed}");
    let mut rng = Rng(seed);
    let db = TestDb::new();
    let (mut c, mut writer) = (db.client(), db.client());
    let mut merges = 0;
    for table in TABLES {
        c.ok("DROP TABLE IF EXISTS t");
        c.ok(table);
        let rows: Vec<String> = (0..400).map(|id| row(&mut rng, id)).collect();
        c.ok(&format!("INSERT INTO t VALUES {}", rows.join(",")));
        c.ok("ANALYZE TABLE t");
        // A view of before, with others' unfinished changes beside it.
        c.ok("START TRANSACTION");
        c.one("SELECT COUNT(*) FROM t");
        writer.ok("START TRANSACTION");
        writer.ok("UPDATE t SET a = (a + 1) % 12, c = 'x1' WHERE id % 5 = 0");
        writer.ok("DELETE FROM t WHERE id % 7 = 0");
        writer.ok(&format!("INSERT INTO t VALUES {}", row(&mut rng, 1000)));
        for n in 0..env("MILLPOND_ACCESS_QUERIES", 24) {
            if n == 8 {
                // Committed, but not to be seen; later it is.
                writer.ok("COMMIT");
            }
            if n == 16 {
                c.ok("COMMIT");
            }
            let rest = format!("WHERE {}", conditions(&mut rng));
            let hint = hint(&mut rng);
            let select = ["SELECT * FROM", "SELECT COUNT(*), SUM(id) FROM"][rng.below(2) as usize];
            compare(&mut c, select, hint, &rest);
            let (select, group) = grouped(&mut rng);
            let some = match rng.below(2) {
                0 => String::new(),
                _ => format!("WHERE {}", condition(&mut rng)),
            };
            compare(&mut c, select, hint, &format!("{some} {group}"));
            let explain = c.rows(&format!("EXPLAIN SELECT * FROM t {hint} {rest}"));
            merges += u64::from(explain[0].contains("index_merge"));
        }
        for _ in 0..4 {
            let rest = format!("WHERE {}", conditions(&mut rng));
            let hint = hint(&mut rng);
            compare(&mut c, "SELECT * FROM", hint, &format!("{rest} FOR UPDATE"));
            change(
                &mut c,
                &|hint| format!("UPDATE t {hint} SET a = a + 3, b = b + 1 {rest}"),
                hint,
            );
            change(
                &mut c,
                &|hint| format!("DELETE x FROM t AS x {hint} {rest}"),
                hint,
            );
        }
    }
    assert!(merges > 5, "{merges} merges");
}
