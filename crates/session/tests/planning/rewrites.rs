//! Queries that are rewritten say what they say as written: each is asked in a form that the rules know and in one that they leave
//! alone.

use crate::support::{Client, TestDb};

const SETUP: [&str; 8] = [
    "CREATE TABLE a (id INT PRIMARY KEY, x INT, y INT NOT NULL, s VARCHAR(5), n DECIMAL(6,2))",
    "CREATE TABLE b (id INT PRIMARY KEY, x INT, y INT NOT NULL, s VARCHAR(5), n DECIMAL(8,3), KEY kx (x), KEY ky (y))",
    "CREATE TABLE c (x INT UNSIGNED, y INT, s CHAR(5))",
    "INSERT INTO a VALUES (1,1,1,'a',1.5),(2,2,2,'B',2),(3,NULL,3,NULL,NULL),(4,4,4,'d',4.25),(5,2,9,'x',0),(6,7,1,'A',7)",
    "INSERT INTO b VALUES (1,1,1,'A',1.5),(2,NULL,2,'b',2),(3,4,3,NULL,4.25),(4,4,4,'x',NULL),(5,2,2,'d',7.001),(6,2,8,'q',0)",
    "INSERT INTO c VALUES (1,1,'a'),(2,NULL,'b'),(NULL,3,'d'),(4,4,NULL),(4,5,'x')",
    "CREATE TABLE e (x INT, y INT)",
    "ANALYZE TABLE a, b, c",
];

/// Conditions on the rows of `a`.
const CONDITIONS: [&str; 48] = [
    "a.x IN (SELECT x FROM b)",
    "a.x IN (SELECT x FROM c)",
    "a.x IN (SELECT id FROM b WHERE y > 1)",
    "a.x IN (SELECT b.x FROM b JOIN c ON b.id = c.x)",
    "a.x IN (SELECT b.x FROM b LEFT JOIN c ON b.id = c.x WHERE c.y IS NULL)",
    "a.x IN (SELECT x FROM e)",
    "a.x IN (SELECT DISTINCT x FROM b ORDER BY y)",
    "a.x + 0 IN (SELECT x - 1 FROM b)",
    "a.y IN (SELECT x FROM b WHERE b.s = a.s)",
    "(a.x, a.y) IN (SELECT x, y FROM b)",
    "(a.x, a.s) IN (SELECT x, s FROM c)",
    "a.s IN (SELECT s FROM b)",
    "a.s IN (SELECT s FROM c)",
    "a.n IN (SELECT n FROM b)",
    "1 IN (SELECT y FROM b WHERE b.x = a.x)",
    "a.x NOT IN (SELECT x FROM b)",
    "a.x NOT IN (SELECT x FROM b WHERE x IS NOT NULL)",
    "a.x NOT IN (SELECT y FROM b)",
    "a.y NOT IN (SELECT y FROM b)",
    "a.y NOT IN (SELECT x FROM b)",
    "a.y NOT IN (SELECT y FROM b WHERE b.x = a.x)",
    "a.y NOT IN (SELECT b.y FROM c LEFT JOIN b ON b.id = c.y)",
    "a.x NOT IN (SELECT x FROM e)",
    "EXISTS (SELECT 1 FROM b WHERE b.x = a.x)",
    "EXISTS (SELECT 1 FROM b WHERE b.x > a.x AND b.y < a.y + 2)",
    "EXISTS (SELECT * FROM b, c WHERE b.x = a.x AND c.x = b.x)",
    "EXISTS (SELECT 1 FROM b WHERE b.x <=> a.x)",
    "EXISTS (SELECT 1 FROM e)",
    "EXISTS (SELECT 1 FROM b)",
    "NOT EXISTS (SELECT 1 FROM b WHERE b.x = a.x)",
    "NOT EXISTS (SELECT 1 FROM b LEFT JOIN c ON c.y = b.y WHERE b.x = a.x AND c.x IS NULL)",
    "NOT EXISTS (SELECT 1 FROM e)",
    "EXISTS (SELECT 1 FROM b WHERE b.x = a.x AND NOT EXISTS (SELECT 1 FROM c WHERE c.x = b.y))",
    "EXISTS (SELECT 1 FROM b WHERE b.y IN (SELECT c.y FROM c WHERE c.x = a.x))",
    "a.y < (SELECT AVG(y) FROM c WHERE c.x = a.x)",
    "a.y < (SELECT 0.5 * SUM(c.y) + 1 FROM c WHERE c.x = a.x AND c.s = a.s)",
    "a.y > (SELECT COUNT(*) FROM c WHERE c.x = a.x)",
    "(SELECT COUNT(c.y) FROM c WHERE c.x = a.x) = 0",
    "(SELECT COALESCE(MAX(c.y), -1) FROM c WHERE c.s = a.s) < a.y",
    "(SELECT MAX(c.y) FROM c WHERE c.s = a.s) IS NULL",
    "a.y = (SELECT MIN(c.y) FROM c, b WHERE c.x = a.x AND b.x = c.x)",
    "a.y >= (SELECT MAX(c.y) FROM c WHERE c.x = a.x + 0 AND c.y > 1)",
    "(SELECT MAX(c.y) FROM c WHERE c.x = a.x AND c.y < a.y) > 1",
    "a.x IN (SELECT b.x FROM b WHERE b.y > (SELECT MAX(c.y) FROM c WHERE c.x = b.x) - 2)",
    "a.x NOT IN (SELECT b.y FROM b WHERE b.y > (SELECT COUNT(*) FROM c WHERE c.x = b.x))",
    "a.y < (SELECT MAX(c.y) FROM c WHERE c.x = a.x) OR a.y > (SELECT SUM(c.y) FROM c WHERE c.x = a.x)",
    "(SELECT MAX(d.n) FROM (SELECT x, COUNT(*) n FROM c GROUP BY x) d WHERE d.x = a.x) = 2",
    "a.y < (SELECT MAX(c.y) FROM c WHERE c.x = a.x HAVING MAX(c.y) > 2)",
];

#[test]
fn subqueries_joined_and_not() {
    let db = TestDb::new();
    let mut c = db.client();
    SETUP.iter().for_each(|s| {
        c.ok(s);
    });
    let mut wrong = Vec::new();
    let mut compare = |c: &mut Client, joined: &str, left: &str| {
        let (got, want) = (c.rows(joined), c.rows(left));
        if got != want {
            wrong.push(format!("{joined}: {got:?}, but {left}: {want:?}"));
        }
    };
    for condition in CONDITIONS {
        for (from, columns) in [
            ("a", "a.id, a.y"),
            ("a JOIN c t ON t.y <= a.y", "a.id, t.y"),
            ("a LEFT JOIN c t ON t.x = a.x", "a.id, t.y"),
            ("c t LEFT JOIN a ON t.x = a.x", "a.id, t.y"),
        ] {
            let from = format!("SELECT {columns} FROM {from} WHERE");
            let joined = format!("{from} {condition} ORDER BY 1, 2");
            let left = format!("{from} ({condition}) IS TRUE ORDER BY 1, 2");
            compare(&mut c, &joined, &left);
        }
        let counted = format!("SELECT COUNT(*), SUM(a.y) FROM a WHERE {condition}");
        let left = format!("SELECT COUNT(*), SUM(a.y) FROM a WHERE ({condition}) IS TRUE");
        compare(&mut c, &counted, &left);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Queries that put out values of subqueries.
const VALUES: [&str; 7] = [
    "SELECT a.id, (SELECT COUNT(*) FROM c WHERE c.x = a.x) n FROM a ORDER BY n, a.id",
    "SELECT a.id, (SELECT SUM(c.y) + COUNT(*) FROM c WHERE c.x = a.x) FROM a ORDER BY a.id LIMIT 3",
    "SELECT DISTINCT (SELECT MAX(c.y) FROM c WHERE c.s = a.s) m FROM a ORDER BY m",
    "SELECT a.id, (SELECT BIT_AND(c.y) FROM c WHERE c.x = a.x), (SELECT MIN(c.s) FROM c WHERE c.y = a.y) FROM a ORDER BY 1",
    "SELECT a.id, t.y, (SELECT MAX(c.y) FROM c WHERE c.x = t.x) FROM a LEFT JOIN b t ON t.x = a.x ORDER BY 1, 2",
    "SELECT COUNT(*), SUM(a.y) FROM a WHERE a.y > (SELECT COUNT(*) FROM c WHERE c.x = a.x) GROUP BY a.x ORDER BY 1, 2",
    "SELECT q.m FROM (SELECT a.id, (SELECT MAX(c.y) FROM c WHERE c.x = a.x) m FROM a) q WHERE q.m > 1 ORDER BY 1",
];

/// What can be switched off.
const SWITCHES: [&str; 7] = [
    "block_nested_loop",
    "condition_fanout_filter",
    "derived_condition_pushdown",
    "derived_merge",
    "materialization",
    "semijoin",
    "subquery_to_derived",
];

#[test]
fn switches_change_no_answer() {
    let db = TestDb::new();
    let mut c = db.client();
    SETUP.iter().for_each(|s| {
        c.ok(s);
    });
    let conditions = CONDITIONS.iter();
    let mut queries: Vec<String> = conditions
        .map(|on| {
            format!("SELECT a.id, t.y FROM a LEFT JOIN c t ON t.x = a.x WHERE {on} ORDER BY 1, 2")
        })
        .collect();
    queries.extend(VALUES.iter().map(|sql| sql.to_string()));
    queries.extend(DERIVED.iter().map(|(sql, _)| sql.to_string()));
    let mut wrong = Vec::new();
    for sql in &queries {
        let want = c.rows(sql);
        for flag in SWITCHES {
            c.ok(&format!("SET optimizer_switch = '{flag}=off'"));
            let got = c.rows(sql);
            if got != want {
                wrong.push(format!("{flag}: {sql}: {got:?}, not {want:?}"));
            }
            c.ok("SET optimizer_switch = default");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Queries of derived tables, and what they say without.
const DERIVED: [(&str, &str); 22] = [
    (
        "SELECT a.id FROM a LEFT JOIN b ON b.id = a.x LEFT JOIN b t ON t.id = b.x AND t.y = 1 ORDER BY 1",
        "SELECT id FROM a ORDER BY 1",
    ),
    (
        "SELECT COUNT(*) FROM a LEFT JOIN b ON b.x = a.x LEFT JOIN b t ON t.id = b.id",
        "SELECT COUNT(*) FROM a LEFT JOIN b ON b.x = a.x",
    ),
    (
        "SELECT a.id FROM a LEFT JOIN (SELECT x, s, MAX(y) m FROM b GROUP BY x, s) d ON d.x = a.x AND d.s = a.s ORDER BY 1",
        "SELECT id FROM a ORDER BY 1",
    ),
    (
        "SELECT COUNT(*) FROM a LEFT JOIN (SELECT x, s FROM c GROUP BY x, s) d ON d.x = a.x",
        "SELECT COUNT(*) FROM a LEFT JOIN (SELECT DISTINCT x, s FROM c) d ON d.x = a.x",
    ),
    (
        "SELECT d.n, d.l FROM (SELECT x, MAX(y) m, COUNT(*) n, MIN(s) o, SUM(y) l FROM b GROUP BY x HAVING SUM(y) > 1) d ORDER BY 1, 2",
        "SELECT COUNT(*), SUM(y) FROM b GROUP BY x HAVING SUM(y) > 1 ORDER BY 1, 2",
    ),
    (
        "SELECT d.y FROM (SELECT x, y FROM a UNION ALL SELECT x, y FROM b ORDER BY x, y LIMIT 4) d",
        "SELECT y FROM (SELECT * FROM a UNION ALL SELECT * FROM b) d ORDER BY x, y LIMIT 4",
    ),
    (
        "WITH q AS (SELECT x, COUNT(*) n, MAX(y) m FROM b GROUP BY x) SELECT p.n, r.m FROM q p JOIN q r ON p.x = r.x ORDER BY 1, 2",
        "SELECT COUNT(*), MAX(y) FROM b WHERE x IS NOT NULL GROUP BY x ORDER BY 1, 2",
    ),
    (
        "SELECT d.id, d.v FROM (SELECT id, x + 1 v FROM a WHERE y < 5) d WHERE d.v > 2 ORDER BY d.id",
        "SELECT id, x + 1 FROM a WHERE y < 5 AND x + 1 > 2 ORDER BY id",
    ),
    (
        "SELECT b.id, d.y FROM b LEFT JOIN (SELECT a.x, a.y FROM a JOIN c ON c.x = a.x WHERE a.y > 1) d ON d.x = b.x ORDER BY 1, 2",
        "SELECT b.id, a.y FROM b LEFT JOIN (a JOIN c ON c.x = a.x) ON a.x = b.x AND a.y > 1 ORDER BY 1, 2",
    ),
    (
        "SELECT b.id, d.k, d.y IS NULL FROM b LEFT JOIN (SELECT x, y, 1 k FROM a) d ON d.x = b.x ORDER BY 1, d.y",
        "SELECT b.id, IF(a.id IS NULL, NULL, 1), a.y IS NULL FROM b LEFT JOIN a ON a.x = b.x ORDER BY 1, a.y",
    ),
    (
        "SELECT b.id FROM b LEFT JOIN (SELECT x, y FROM a) d ON d.x = b.x WHERE 3 NOT IN (SELECT d.y FROM c) ORDER BY 1",
        "SELECT b.id FROM b LEFT JOIN a ON a.x = b.x WHERE (3 NOT IN (SELECT a.y FROM c)) IS TRUE ORDER BY 1",
    ),
    (
        "SELECT id FROM (SELECT id, y FROM a ORDER BY y DESC, id) d",
        "SELECT id FROM a ORDER BY y DESC, id",
    ),
    (
        "SELECT d.y, COUNT(*) FROM (SELECT a.y FROM a JOIN b ON a.y >= b.y) d GROUP BY d.y HAVING COUNT(*) > 1 ORDER BY 1",
        "SELECT a.y, COUNT(*) FROM a JOIN b ON a.y >= b.y GROUP BY a.y HAVING COUNT(*) > 1 ORDER BY 1",
    ),
    (
        "WITH q AS (SELECT x, y FROM a), r AS (SELECT y FROM q WHERE x > 1) SELECT COUNT(*), SUM(y) FROM r",
        "SELECT COUNT(*), SUM(y) FROM a WHERE x > 1",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT x FROM a) p JOIN (SELECT x FROM b) q USING (x)",
        "SELECT COUNT(*) FROM a JOIN b ON a.x = b.x",
    ),
    (
        "SELECT * FROM (SELECT x, COUNT(*) n, MAX(y) m FROM b GROUP BY x) d WHERE x > 1 AND n > 1 AND x + m > 9",
        "SELECT x, COUNT(*), MAX(y) FROM b GROUP BY x HAVING x > 1 AND COUNT(*) > 1 AND x + MAX(y) > 9",
    ),
    (
        "SELECT n FROM (SELECT COUNT(*) n FROM a) d WHERE n > 100",
        "SELECT COUNT(*) FROM a HAVING COUNT(*) > 100",
    ),
    (
        "SELECT * FROM (SELECT x, y FROM a UNION SELECT x, y FROM b UNION ALL SELECT y, y FROM b) d WHERE x = 2 ORDER BY y",
        "SELECT x, y FROM a WHERE x = 2 UNION SELECT x, y FROM b WHERE x = 2 UNION ALL SELECT y, y FROM b WHERE y = 2 ORDER BY 2",
    ),
    (
        "SELECT a.id, d.x FROM a LEFT JOIN (SELECT DISTINCT x FROM b) d ON d.x = a.y AND d.x > 2 ORDER BY 1",
        "SELECT a.id, MAX(b.x) FROM a LEFT JOIN b ON b.x = a.y AND b.x > 2 GROUP BY a.id ORDER BY 1",
    ),
    (
        "SELECT a.id, d.x FROM a LEFT JOIN (SELECT DISTINCT x FROM b) d ON d.x = a.y WHERE d.x IS NULL ORDER BY 1",
        "SELECT id, NULL FROM a WHERE (EXISTS (SELECT 1 FROM b WHERE b.x = a.y)) IS FALSE ORDER BY 1",
    ),
    (
        "SELECT a.id, b.id FROM a JOIN b ON a.x = b.x WHERE a.x = 2 ORDER BY 1, 2",
        "SELECT a.id, b.id FROM a JOIN b ON a.x + 0 = b.x + 0 WHERE a.x = 2 ORDER BY 1, 2",
    ),
    // Equal by its column's collation is not equal by another.
    (
        "SELECT a.id, b.id FROM a JOIN b ON a.s = b.s WHERE a.s = 'x' COLLATE utf8mb4_bin OR a.s = 'a' COLLATE utf8mb4_bin ORDER BY 1",
        "SELECT a.id, b.id FROM a JOIN b ON CONCAT(a.s) = CONCAT(b.s) WHERE a.id IN (1, 5) ORDER BY 1",
    ),
];

#[test]
fn derived_tables_merged_and_not() {
    let db = TestDb::new();
    let mut c = db.client();
    SETUP.iter().for_each(|s| {
        c.ok(s);
    });
    for (derived, plain) in DERIVED {
        assert_eq!(c.rows(derived), c.rows(plain), "{derived}");
    }
    let sql = "SELECT a.id, b.id FROM a JOIN b ON a.s = b.s WHERE a.s = 'a' COLLATE utf8mb4_bin";
    assert_eq!(c.rows(sql), ["1|1"]);
    // What is changed is read to its end first.
    c.ok("UPDATE a SET y = y + (SELECT MAX(d.y) FROM (SELECT y FROM a WHERE id < 4) d)");
    assert_eq!(
        c.one("SELECT GROUP_CONCAT(y ORDER BY id) FROM a"),
        "4,5,6,7,12,4"
    );
}
