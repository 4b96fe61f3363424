//! Rows that EXPLAIN expects beside those that there are, and plans that follow statistics.

use crate::support::{Client, TestDb};

fn fill(c: &mut Client, table: &str, rows: usize, row: impl Fn(usize) -> String) {
    let all: Vec<String> = (0..rows).map(|n| format!("({})", row(n))).collect();
    for some in all.chunks(2000) {
        c.ok(&format!("INSERT INTO {table} VALUES {}", some.join(",")));
    }
}

/// Tables in the order of their loops, with their keys, and rows that come out of all.
fn expected(c: &mut Client, sql: &str) -> (Vec<String>, f64) {
    let answer = c.ok(&format!("EXPLAIN {sql}"));
    let number = |text: &String| text.parse::<f64>().expect("a number");
    let lines = answer.rows.iter();
    let rows = lines
        .clone()
        .map(|r| number(&r[9]) * number(&r[10]) / 100.0);
    let rows = rows.product();
    (lines.map(|r| format!("{} {}", r[2], r[6])).collect(), rows)
}

/// `k` is 0 in nine of ten rows and one of 100 values in the others, as is `c`, which no index has; `d` is a day of a year.
fn skewed(c: &mut Client) {
    c.ok("CREATE TABLE s (id INT PRIMARY KEY, k INT NOT NULL, c INT, d DATE, g INT NOT NULL, KEY (k, g), KEY (g))");
    fill(c, "s", 10_000, |n| {
        let k = if n % 10 == 0 { n / 10 % 100 + 1 } else { 0 };
        format!(
            "{n}, {k}, {k}, '2024-01-01' + INTERVAL {} DAY, {}",
            n % 365,
            n % 50
        )
    });
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, s INT NOT NULL, v INT, KEY (s))");
    fill(c, "t", 5_000, |n| format!("{n}, {}, {}", n % 1000, n % 7));
    c.ok("ANALYZE TABLE s, t");
    c.ok("ANALYZE TABLE s UPDATE HISTOGRAM ON c, d WITH 200 BUCKETS");
    c.ok("ANALYZE TABLE t UPDATE HISTOGRAM ON v");
}

#[test]
fn estimates_are_near_the_truth() {
    let db = TestDb::new();
    let mut c = db.client();
    skewed(&mut c);
    let mut wrong = Vec::new();
    for (sql, factor) in [
        ("s WHERE k = 0", 1.5),
        ("s WHERE k = 7", 2.0),
        ("s WHERE c = 0", 1.2),
        ("s WHERE c = 7", 2.0),
        ("s WHERE c <> 0", 1.5),
        ("s WHERE c IN (1, 2, 3, 0)", 1.5),
        ("s WHERE NOT c BETWEEN 1 AND 50", 1.5),
        ("s WHERE d >= '2024-03-01' AND d < '2024-04-01'", 1.5),
        ("s WHERE '2024-12-01' <= d", 1.5),
        ("s WHERE c = 7 OR c = 0", 1.5),
        ("s WHERE c IS NULL", 10.0),
        ("t JOIN s ON s.id = t.s", 1.5),
        ("t JOIN s ON s.id = t.s WHERE t.v = 3", 1.5),
        ("s a JOIN s b ON a.g = b.g WHERE a.id < 100", 1.5),
        (
            "t JOIN (SELECT k, COUNT(*) n FROM s GROUP BY k) x ON x.k = t.s",
            4.0,
        ),
    ] {
        let rows: f64 = c
            .one(&format!("SELECT COUNT(*) FROM {sql}"))
            .parse()
            .unwrap();
        let answer = c.ok(&format!("EXPLAIN SELECT * FROM {sql}"));
        let outer = answer.rows.iter().filter(|r| r[1] != "DERIVED");
        let number = |text: &String| text.parse::<f64>().expect("a number");
        let got: f64 = outer
            .map(|r| number(&r[9]) * number(&r[10]) / 100.0)
            .product();
        let (low, high) = (got.min(rows).max(1.0), got.max(rows).max(1.0));
        if high / low > factor {
            wrong.push(format!("{sql}: {got}, really {rows}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_kept_plan_follows_new_statistics() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("SET GLOBAL innodb_stats_auto_recalc = OFF");
    for (name, values) in [("a", 5_000), ("b", 5)] {
        c.ok(&format!(
            "CREATE TABLE {name} (id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, KEY (k))"
        ));
        fill(&mut c, name, 5_000, |n| {
            format!("{n}, {}, {}", n % values, n % 1000)
        });
    }
    c.ok("ANALYZE TABLE a, b");
    let sql = "SELECT COUNT(*) FROM a JOIN b ON a.k = b.k WHERE a.v < 900 AND b.v = 5";
    let before = expected(&mut c, sql);
    assert_eq!(before.0[0], "b NULL");
    c.ok(&format!("PREPARE p FROM '{sql}'"));
    let plans = "SHOW SESSION STATUS LIKE 'Statement_plans'";
    assert_eq!(c.one("EXECUTE p"), "5");
    let first = c.rows(plans);
    assert_eq!(c.one("EXECUTE p"), "5");
    assert_eq!(c.rows(plans), first);
    c.ok("ANALYZE TABLE b UPDATE HISTOGRAM ON v");
    assert_eq!(c.one("EXECUTE p"), "5");
    assert_ne!(c.rows(plans), first);
    let second = c.rows(plans);
    assert_eq!(c.one("EXECUTE p"), "5");
    assert_eq!(c.rows(plans), second);
}

#[test]
fn a_histogram_changes_the_join_order() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("SET GLOBAL innodb_stats_auto_recalc = OFF");
    for name in ["a", "b"] {
        c.ok(&format!(
            "CREATE TABLE {name} (id INT PRIMARY KEY, v INT NOT NULL)"
        ));
        fill(&mut c, name, 5_000, |n| {
            format!("{n}, {}", if n < 3 { 1 } else { 2 })
        });
    }
    c.ok("ANALYZE TABLE a, b");
    let sql = "SELECT * FROM a JOIN b ON a.id = b.id WHERE a.v = 2 AND b.v = 1";
    c.ok("ANALYZE TABLE b UPDATE HISTOGRAM ON v");
    assert_eq!(expected(&mut c, sql).0, ["b NULL", "a PRIMARY"]);
    c.ok("ANALYZE TABLE b DROP HISTOGRAM ON v");
    c.ok("ANALYZE TABLE a UPDATE HISTOGRAM ON v");
    let sql = "SELECT * FROM a JOIN b ON a.id = b.id WHERE a.v = 1 AND b.v = 2";
    assert_eq!(expected(&mut c, sql).0, ["a NULL", "b PRIMARY"]);
}

/// An ordered index is left alone if few of its rows pass the join before LIMIT is reached.
#[test]
fn limit_is_weighed_against_sorting() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE u (id INT PRIMARY KEY, country INT NOT NULL, KEY (country))");
    c.ok("CREATE TABLE p (id INT PRIMARY KEY, u INT NOT NULL, created INT NOT NULL, KEY (u), KEY (created))");
    fill(&mut c, "u", 1_000, |n| format!("{n}, {}", n % 50));
    fill(&mut c, "p", 5_000, |n| {
        format!("{n}, {}, {}", n * 13 % 1000, n * 7 % 5000)
    });
    c.ok("ANALYZE TABLE u, p");
    let sql = "SELECT p.id FROM p JOIN u ON u.id = p.u";
    let rare = expected(
        &mut c,
        &format!("{sql} WHERE u.country = 3 ORDER BY p.created LIMIT 10"),
    );
    assert_eq!(rare.0, ["u country", "p u"]);
    let all = expected(&mut c, &format!("{sql} ORDER BY p.created LIMIT 10"));
    assert_eq!(all.0, ["p created", "u PRIMARY"]);
}

/// Lines of EXPLAIN ANALYZE, without times.
fn analyzed(c: &mut Client, sql: &str) -> Vec<String> {
    let text = c.one(&format!("EXPLAIN ANALYZE {sql}"));
    let line = |l: &str| {
        let (node, rest) = l
            .split_once("  (cost=")
            .or_else(|| l.split_once(" (actual"))
            .unwrap_or((l, ""));
        let did = rest.find(" rows=").and_then(|_| l.rsplit_once(" rows="));
        match (l.contains("(actual time="), did) {
            (true, Some((_, did))) => {
                format!("{} | {}", node.trim_start(), did.trim_end_matches(')'))
            }
            _ => l.trim_start().to_string(),
        }
    };
    text.lines().map(line).collect()
}

#[test]
fn analyze_counts_what_is_done() {
    let db = TestDb::new();
    let mut c = db.client();
    skewed(&mut c);
    assert_eq!(
        analyzed(
            &mut c,
            "SELECT * FROM t JOIN s ON s.id = t.s WHERE t.id < 20 AND t.v = 3"
        ),
        [
            "-> Nested loop inner join | 3 loops=1",
            "-> Filter: (test.t.v = 3) | 3 loops=1",
            "-> Index range scan on t using PRIMARY over (test.t.id < 20) | 20 loops=1",
            "-> Single-row index lookup on s using PRIMARY (id=test.t.s) | 1 loops=3",
        ]
    );
    let got = analyzed(
        &mut c,
        "SELECT k, COUNT(*) FROM s WHERE c < 3 GROUP BY k HAVING COUNT(*) < 50 ORDER BY 2 LIMIT 1",
    );
    assert_eq!(got.len(), 6, "{got:?}");
    assert!(
        got[0].starts_with("-> Limit: 1 row(s) | 1 loops=1"),
        "{got:?}"
    );
    assert!(got[2].ends_with("| 2 loops=1"), "{got:?}");
    assert!(got[3].ends_with("| 3 loops=1"), "{got:?}");
    assert!(got[4].ends_with("| 9020 loops=1"), "{got:?}");
    assert!(got[5].ends_with("| 10000 loops=1"), "{got:?}");
    let got = analyzed(
        &mut c,
        "SELECT id FROM t WHERE id < 3 AND v < (SELECT COUNT(*) FROM s WHERE s.g = t.s)",
    );
    assert!(
        got.iter()
            .any(|l| l.contains("Aggregate") && l.ends_with("| 1 loops=3")),
        "{got:?}"
    );
    let none = analyzed(
        &mut c,
        "SELECT * FROM t JOIN s ON s.id = t.s WHERE t.id < 0",
    );
    assert!(
        none.iter().any(|l| l.ends_with("(never executed)")),
        "{none:?}"
    );
    assert_eq!(c.code("EXPLAIN ANALYZE UPDATE t SET v = 1"), 1235);
    assert_eq!(c.code("EXPLAIN ANALYZE FORMAT=TRADITIONAL SELECT 1"), 1235);
    assert!(
        c.one("EXPLAIN ANALYZE FORMAT=TREE SELECT 1")
            .contains("(actual time=")
    );
}

/// Rows without a partner are rows of an outer join and of an antijoin, and a semijoin has one for each that has partners.
#[test]
fn analyze_counts_what_joins_give() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE a (id INT PRIMARY KEY, v INT)");
    c.ok("CREATE TABLE b (id INT PRIMARY KEY, a INT NOT NULL, w INT, KEY (a))");
    c.ok("INSERT INTO a VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)");
    c.ok("INSERT INTO b VALUES (1, 1, 5), (2, 1, 5), (3, 2, 2), (4, 3, 1)");
    let left = "SELECT * FROM a LEFT JOIN b ON";
    for (sql, want) in [
        (
            format!("{left} b.a = a.id WHERE b.w IS NULL OR b.w < 5"),
            &[
                "-> Filter: ((test.b.w is null) or (test.b.w < 5)) | 4 loops=1",
                "-> Nested loop left join | 6 loops=1",
                "-> Table scan on a | 5 loops=1",
                "-> Index lookup on b using a (a=test.a.id) | 0.800 loops=5",
            ][..],
        ),
        (
            "SELECT * FROM a WHERE EXISTS (SELECT * FROM b WHERE b.a = a.id)".into(),
            &[
                "-> Nested loop semijoin | 3 loops=1",
                "-> Table scan on a | 5 loops=1",
                "-> Covering index lookup on b using a (a=test.a.id) | 0.600 loops=5",
            ],
        ),
        (
            "SELECT * FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE b.a = a.id)".into(),
            &[
                "-> Nested loop antijoin | 2 loops=1",
                "-> Table scan on a | 5 loops=1",
                "-> Covering index lookup on b using a (a=test.a.id) | 0.600 loops=5",
            ],
        ),
        (
            format!("{left} b.w = a.v AND b.id + a.id > 4"),
            &[
                "-> Left hash join (test.b.w = test.a.v), extra conditions: ((test.b.id + test.a.id) > 4) | 6 loops=1",
                "-> Table scan on a | 5 loops=1",
                "-> Hash | 4 loops=1",
                "-> Table scan on b | 4 loops=1",
            ],
        ),
        (
            "SELECT * FROM a WHERE v IN (SELECT w FROM b)".into(),
            &[
                "-> Hash semijoin (test.b.w = test.a.v) | 3 loops=1",
                "-> Table scan on a | 5 loops=1",
                "-> Hash | 4 loops=1",
                "-> Table scan on b | 4 loops=1",
            ],
        ),
        (
            "SELECT * FROM a JOIN (SELECT w, COUNT(*) n FROM b GROUP BY w) d ON d.w = a.v".into(),
            &[
                "-> Inner hash join (d.w = test.a.v) | 3 loops=1",
                "-> Table scan on a | 5 loops=1",
                "-> Hash | 3 loops=1",
                "-> Table scan on d | 3 loops=1",
                "-> Materialize | 3 loops=1",
                "-> Aggregate using temporary table | 3 loops=1",
                "-> Table scan on b | 4 loops=1",
            ],
        ),
    ] {
        assert_eq!(analyzed(&mut c, &sql), want, "{sql}");
    }
}
