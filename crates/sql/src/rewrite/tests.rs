//! Rules by what they make of the printed plan.

use crate::bind;
use crate::logical::Root;
use crate::parse::parse_one;
use crate::tests::Database;

/// A database with tables `a`, `b` and `c`.
fn fixture() -> Database {
    let mut f = Database::new();
    f.sql("CREATE TABLE a (id INT PRIMARY KEY, x INT, y INT NOT NULL, s VARCHAR(9))");
    f.sql("CREATE TABLE b (id INT PRIMARY KEY, x INT, y INT NOT NULL, s VARCHAR(9), KEY (x))");
    f.sql("CREATE TABLE c (x INT, y INT, s VARCHAR(9))");
    f
}

impl Database {
    /// The logical plan of a query, rewritten. Columns go by their table's name alone.
    fn rewritten(&self, sql: &str) -> String {
        let statement = parse_one(sql, self.env.sql_mode.get()).expect("parse");
        let bound = self.planning(|cx| bind::statement(statement.kind(), &statement.text, cx));
        let mut bound = bound.expect(sql);
        super::rewrite(
            &mut bound.root,
            &mut bound.arena,
            &bound.tables,
            &self.env,
            false,
        );
        match &bound.root {
            Root::Query(q) => bound.arena.print(q).replace("d.", ""),
            _ => panic!("{sql}: no query"),
        }
    }
}

/// Checks what queries become; lines are compared without the space around them.
pub fn check(cases: &[(&str, &[&str])]) {
    let f = fixture();
    let mut wrong = Vec::new();
    for (sql, want) in cases {
        let got = f.rewritten(sql);
        let lines: Vec<&str> = got.lines().map(str::trim).collect();
        if lines != *want {
            wrong.push(format!("{sql}\n{got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn outer_joins() {
    check(&[
        (
            "SELECT a.id, b.y FROM a LEFT JOIN b ON a.id = b.id",
            &[
                "select a.id, b.y",
                "from",
                "left join on (a.id = b.id)",
                "a",
                "b",
            ],
        ),
        (
            "SELECT a.id FROM a LEFT JOIN b ON a.id = b.id WHERE b.x > 1",
            &[
                "select a.id",
                "from",
                "join on (a.id = b.id)",
                "a",
                "b",
                "where (b.x > 1)",
            ],
        ),
        (
            "SELECT a.id FROM a LEFT JOIN b ON a.id = b.id WHERE b.x IS NULL",
            &[
                "select a.id",
                "from",
                "left join on (a.id = b.id)",
                "a",
                "b",
                "where (b.x is null)",
            ],
        ),
        (
            "SELECT a.id FROM a LEFT JOIN b ON a.id = b.id LEFT JOIN c ON c.x = b.x WHERE c.y = 1",
            &[
                "select a.id",
                "from",
                "join on (c.x = b.x)",
                "join on (a.id = b.id)",
                "a",
                "b",
                "c",
                "where (c.y = 1)",
            ],
        ),
    ]);
}

#[test]
fn semi_joins() {
    check(&[
        (
            "SELECT id FROM a WHERE x IN (SELECT y FROM c WHERE c.s = a.s) AND y = 1",
            &[
                "select a.id",
                "from",
                "semi join on (a.x = c.y) and (c.s = a.s)",
                "a",
                "c",
                "where (a.y = 1)",
            ],
        ),
        (
            "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b JOIN c ON b.id = c.x WHERE b.x = a.x LIMIT 1)",
            &[
                "select a.id",
                "from",
                "semi join on (b.x = a.x)",
                "a",
                "join on (b.id = c.x)",
                "b",
                "c",
            ],
        ),
        (
            "SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.x = a.x)",
            &["select a.id", "from", "anti join on (b.x = a.x)", "a", "b"],
        ),
        (
            "SELECT id FROM a WHERE y NOT IN (SELECT y FROM b)",
            &["select a.id", "from", "anti join on (a.y = b.y)", "a", "b"],
        ),
        // One row at most.
        (
            "SELECT id FROM a WHERE x IN (SELECT id FROM b WHERE b.y > 1)",
            &[
                "select a.id",
                "from",
                "join on (a.x = b.id) and (b.y > 1)",
                "a",
                "b",
            ],
        ),
        (
            "SELECT id FROM a WHERE (x, y) IN (SELECT x, y FROM c)",
            &[
                "select a.id",
                "from",
                "semi join on (a.x = c.x) and (a.y = c.y)",
                "a",
                "c",
            ],
        ),
        // NULL among the values, or no value: neither true nor false.
        (
            "SELECT id FROM a WHERE y NOT IN (SELECT x FROM b)",
            &[
                "select a.id",
                "from",
                "a",
                "where (select #0)",
                "subquery #0 (in)",
                "select b.x",
                "from",
                "b",
            ],
        ),
        (
            "SELECT id FROM a WHERE x IN (SELECT MAX(x) FROM b)",
            &[
                "select a.id",
                "from",
                "a",
                "where (select #0)",
                "subquery #0 (in)",
                "select max(b.x)",
                "from",
                "b",
                "aggregate",
            ],
        ),
        // Compared as numbers, two texts may equal one.
        (
            "SELECT id FROM a WHERE s IN (SELECT x FROM c)",
            &[
                "select a.id",
                "from",
                "a",
                "where (select #0)",
                "subquery #0 (in)",
                "select c.x",
                "from",
                "c",
            ],
        ),
    ]);
}

#[test]
fn merged_tables() {
    check(&[
        (
            "SELECT d.v FROM (SELECT id, x + 1 AS v FROM a WHERE y = 2) d WHERE d.id = 3",
            &[
                "select (a.x + 1)",
                "from",
                "a",
                "where (a.id = 3) and (a.y = 2)",
            ],
        ),
        (
            "WITH d AS (SELECT id, x FROM a WHERE y = 2) SELECT b.id, d.x FROM b LEFT JOIN d ON d.id = b.x",
            &[
                "select b.id, a.x",
                "from",
                "left join on (a.id = b.x) and (a.y = 2)",
                "b",
                "a",
            ],
        ),
        // Within another, and read by a subquery.
        (
            "SELECT (SELECT MAX(c.x) FROM c WHERE c.y = e.x) FROM (SELECT d.x FROM (SELECT x FROM a) d) e",
            &[
                "select (select #0)",
                "subquery #0 (scalar)",
                "select max(c.x)",
                "from",
                "c",
                "where (c.y = a.x)",
                "aggregate",
                "from",
                "a",
            ],
        ),
        (
            "SELECT x FROM (SELECT x FROM a ORDER BY y) d LIMIT 3",
            &["select a.x", "from", "a", "order by a.y", "limit 3"],
        ),
        // NULLs for rows that are missing would be ones.
        (
            "SELECT b.id, q.v FROM b LEFT JOIN (SELECT id, 1 AS v FROM a) q ON q.id = b.x",
            &[
                "select b.id, q.v",
                "from",
                "left join on (q.id = b.x)",
                "b",
                "derived q",
                "select a.id, 1",
                "from",
                "a",
            ],
        ),
        (
            "SELECT v FROM (SELECT x AS v FROM a LIMIT 1) q",
            &[
                "select q.v",
                "from",
                "derived q",
                "select a.x",
                "from",
                "a",
                "limit 1",
            ],
        ),
        (
            "SELECT v FROM (SELECT RAND() AS v FROM a) q",
            &[
                "select q.v",
                "from",
                "derived q",
                "select rand()",
                "from",
                "a",
            ],
        ),
    ]);
}

#[test]
fn constants() {
    check(&[
        (
            "SELECT a.s FROM a JOIN b ON a.x = b.x JOIN c ON c.x = b.x WHERE a.x = 5",
            &[
                "select a.s",
                "from",
                "join on (c.x = 5)",
                "join on (b.x = 5)",
                "a",
                "b",
                "c",
                "where (a.x = 5)",
            ],
        ),
        // Rows without a match are kept.
        (
            "SELECT a.s FROM a LEFT JOIN b ON a.x = b.x AND b.x = 5",
            &[
                "select a.s",
                "from",
                "left join on (a.x = b.x) and (b.x = 5)",
                "a",
                "b",
            ],
        ),
        (
            "SELECT a.s FROM a JOIN b ON a.id = b.s WHERE b.s = '5'",
            &[
                "select a.s",
                "from",
                "join on (a.id = b.s)",
                "a",
                "b",
                "where (b.s = '5')",
            ],
        ),
    ]);
}

#[test]
fn constants_within_joins() {
    check(&[
        (
            "SELECT a.s FROM a LEFT JOIN b ON a.x = b.x WHERE a.x = 5",
            &[
                "select a.s",
                "from",
                "left join on (b.x = 5)",
                "a",
                "b",
                "where (a.x = 5)",
            ],
        ),
        (
            "SELECT a.s FROM a LEFT JOIN (b JOIN c ON b.x = c.x) ON a.x = b.x AND b.x = 5",
            &[
                "select a.s",
                "from",
                "left join on (a.x = b.x) and (b.x = 5)",
                "a",
                "join on (c.x = 5)",
                "b",
                "c",
            ],
        ),
        // What one side's ON fixes is not fixed beside it.
        (
            "SELECT a.s FROM a LEFT JOIN b ON b.x = a.x AND a.x = 5 LEFT JOIN c ON c.x = a.x",
            &[
                "select a.s",
                "from",
                "left join on (c.x = a.x)",
                "left join on (b.x = 5) and (a.x = 5)",
                "a",
                "b",
                "c",
            ],
        ),
    ]);
}

#[test]
fn equalities() {
    check(&[
        (
            "SELECT a.s FROM a JOIN b ON a.x = b.x JOIN c ON c.x = b.x",
            &[
                "select a.s",
                "from",
                "join on (c.x = b.x)",
                "join on (a.x = b.x)",
                "a",
                "b",
                "c",
                "where (c.x = a.x)",
            ],
        ),
        // An outer join's ON tells nothing of the rows around it.
        (
            "SELECT a.s FROM a JOIN b ON a.x = b.x LEFT JOIN c ON c.x = b.x AND c.y = c.x",
            &[
                "select a.s",
                "from",
                "left join on (c.x = b.x) and (c.y = c.x) and (b.x = c.y)",
                "join on (a.x = b.x)",
                "a",
                "b",
                "c",
            ],
        ),
        // A number that equals a text may equal another text.
        (
            "SELECT a.s FROM a JOIN b ON a.s = b.x JOIN c ON c.s = b.x",
            &[
                "select a.s",
                "from",
                "join on (c.s = b.x)",
                "join on (a.s = b.x)",
                "a",
                "b",
                "c",
            ],
        ),
        // NULLs are equal to each other by another operator.
        (
            "SELECT a.s FROM a JOIN b ON a.x <=> b.x JOIN c ON c.x = b.x",
            &[
                "select a.s",
                "from",
                "join on (c.x = b.x)",
                "join on (a.x <=> b.x)",
                "a",
                "b",
                "c",
            ],
        ),
        // Of the row around a subquery.
        (
            "SELECT a.s, (SELECT MAX(b.y) FROM b, c WHERE b.x = a.x AND c.x = b.x) FROM a",
            &[
                "select a.s, (select #0)",
                "subquery #0 (scalar)",
                "select max(b.y)",
                "from",
                "join",
                "b",
                "c",
                "where (b.x = a.x) and (c.x = b.x) and (a.x = c.x)",
                "aggregate",
                "from",
                "a",
            ],
        ),
    ]);
}

#[test]
fn unused() {
    check(&[
        (
            "SELECT a.s FROM a LEFT JOIN b ON b.id = a.x LEFT JOIN b t ON t.id = b.x",
            &["select a.s", "from", "a"],
        ),
        // Several rows for one.
        (
            "SELECT a.s FROM a LEFT JOIN b ON b.x = a.x",
            &["select a.s", "from", "left join on (b.x = a.x)", "a", "b"],
        ),
        // Read by a subquery.
        (
            "SELECT (SELECT MAX(c.y) FROM c WHERE c.x > b.y) FROM a LEFT JOIN b ON b.id = a.x",
            &[
                "select (select #0)",
                "subquery #0 (scalar)",
                "select max(c.y)",
                "from",
                "c",
                "where (c.x > b.y)",
                "aggregate",
                "from",
                "left join on (b.id = a.x)",
                "a",
                "b",
            ],
        ),
        // A text that is no number leaves a warning.
        (
            "SELECT a.x FROM a LEFT JOIN b ON b.id = a.s",
            &["select a.x", "from", "left join on (b.id = a.s)", "a", "b"],
        ),
        (
            "SELECT a.s FROM a LEFT JOIN (SELECT x, MAX(y) FROM b GROUP BY x) d ON d.x = a.x",
            &["select a.s", "from", "a"],
        ),
        (
            "SELECT a.s FROM a LEFT JOIN (SELECT x, y FROM b GROUP BY x, y) d ON d.x = a.x",
            &[
                "select a.s",
                "from",
                "left join on (x = a.x)",
                "a",
                "derived d",
                "select b.x, NULL",
                "from",
                "b",
                "group by b.x, b.y",
            ],
        ),
        (
            "SELECT n FROM (SELECT x, MAX(y) m, COUNT(*) n, RAND() r, CONCAT(s, x) c FROM b GROUP BY x, s) d",
            &[
                "select n",
                "from",
                "derived d",
                "select NULL, NULL, count(0), rand(), NULL",
                "from",
                "b",
                "group by b.x, b.s",
            ],
        ),
        (
            "SELECT COUNT(*) FROM (SELECT DISTINCT x, y FROM b) d",
            &[
                "select count(0)",
                "from",
                "derived d",
                "select distinct b.x, b.y",
                "from",
                "b",
                "aggregate",
            ],
        ),
        (
            "SELECT x FROM (SELECT x, y FROM a UNION ALL SELECT x, y FROM b) d",
            &[
                "select x",
                "from",
                "derived d",
                "union",
                "all",
                "select a.x, NULL",
                "from",
                "a",
                "all",
                "select b.x, NULL",
                "from",
                "b",
            ],
        ),
    ]);
}

#[test]
fn conditions_pushed_down() {
    check(&[
        (
            "SELECT * FROM (SELECT x, y + 1 z, COUNT(*) n FROM a GROUP BY x, y) q WHERE x = 1 AND n > 2 AND x + n = 4",
            &[
                "select q.x, q.z, q.n",
                "from",
                "derived q",
                "select a.x, (a.y + 1), count(0)",
                "from",
                "a",
                "where (a.x = 1)",
                "group by a.x, a.y",
                "having (count(0) > 2) and ((a.x + count(0)) = 4)",
            ],
        ),
        (
            "SELECT q.x FROM (SELECT x FROM a UNION SELECT x FROM c) q JOIN b ON b.id = q.x AND q.x > 3",
            &[
                "select q.x",
                "from",
                "join on (b.id = q.x)",
                "derived q",
                "union",
                "all",
                "select a.x",
                "from",
                "a",
                "where (a.x > 3)",
                "distinct",
                "select c.x",
                "from",
                "c",
                "where (c.x > 3)",
                "b",
            ],
        ),
        // All rows are counted before.
        (
            "SELECT x FROM (SELECT x FROM a LIMIT 3) q WHERE x = 1",
            &[
                "select q.x",
                "from",
                "derived q",
                "select a.x",
                "from",
                "a",
                "limit 3",
                "where (q.x = 1)",
            ],
        ),
        (
            "SELECT b.id FROM b LEFT JOIN (SELECT DISTINCT x FROM a) q ON q.x = b.x AND q.x < 9 WHERE q.x IS NULL",
            &[
                "select b.id",
                "from",
                "left join on (q.x = b.x)",
                "b",
                "derived q",
                "select distinct a.x",
                "from",
                "a",
                "where (a.x < 9)",
                "where (q.x is null)",
            ],
        ),
    ]);
}

#[test]
fn common_factors() {
    check(&[
        (
            "SELECT a.s FROM a, b WHERE (a.x = b.x AND a.id = 1) OR (b.x = a.x AND b.id > 2)",
            &[
                "select a.s",
                "from",
                "join",
                "a",
                "b",
                "where (((a.x = b.x) and (a.id = 1)) or ((b.x = a.x) and (b.id > 2))) and (a.x = b.x)",
            ],
        ),
        // One alternative does not ask for it.
        (
            "SELECT a.s FROM a, b WHERE (a.x = b.x AND a.id = 1) OR b.id > 2",
            &[
                "select a.s",
                "from",
                "join",
                "a",
                "b",
                "where (((a.x = b.x) and (a.id = 1)) or (b.id > 2))",
            ],
        ),
    ]);
}
