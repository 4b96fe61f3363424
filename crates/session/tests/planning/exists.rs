//! EXISTS that depends on the rows around it: what it says, and that equalities alone are looked up rather than scanned for.

use crate::support::TestDb;

const SETUP: [&str; 5] = [
    "CREATE DATABASE d",
    "CREATE TABLE d.a (id INT PRIMARY KEY, y INT, s VARCHAR(5), d DECIMAL(5,2))",
    "CREATE TABLE d.b (id INT PRIMARY KEY, x INT, s VARCHAR(5), d DECIMAL(5,2), k INT, KEY (k))",
    "INSERT INTO d.a VALUES (1, 1, 'a', 1), (2, 2, 'B', 2), (3, NULL, NULL, NULL), (4, 4, 'd', 4.5)",
    "INSERT INTO d.b VALUES (1, 1, 'A', 1, 1), (2, NULL, 'b', 2, 2), (3, 4, NULL, 4.5, 3), (4, 4, 'x', NULL, 4)",
];

/// Conditions on `a`, the ids they hold for, and whether the subquery is read once.
const CASES: [(&str, &[&str], bool); 15] = [
    (
        "EXISTS (SELECT 1 FROM b WHERE b.x = a.y)",
        &["1", "4"],
        true,
    ),
    (
        "NOT EXISTS (SELECT 1 FROM b WHERE b.x = a.y)",
        &["2", "3"],
        true,
    ),
    (
        "EXISTS (SELECT 1 FROM b WHERE b.x = a.y AND b.s = 'x')",
        &["4"],
        true,
    ),
    (
        "NOT EXISTS (SELECT 1 FROM b WHERE a.y = b.x AND b.s = 'x')",
        &["1", "2", "3"],
        true,
    ),
    (
        "EXISTS (SELECT * FROM b WHERE b.s = a.s AND b.d = a.d)",
        &["1", "2"],
        true,
    ),
    (
        "NOT EXISTS (SELECT * FROM b WHERE b.s = a.s AND b.d = a.d)",
        &["3", "4"],
        true,
    ),
    (
        "EXISTS (SELECT DISTINCT b.s FROM b WHERE b.x + 1 = a.y + 1 ORDER BY b.s)",
        &["1", "4"],
        true,
    ),
    (
        "EXISTS (SELECT 1 FROM b JOIN b c ON c.id = b.x WHERE b.x = a.y)",
        &["1", "4"],
        true,
    ),
    (
        "EXISTS (SELECT COUNT(*) FROM b WHERE b.x = a.y)",
        &["1", "2", "3", "4"],
        false,
    ),
    (
        "EXISTS (SELECT 1 FROM b WHERE b.x = a.y LIMIT 0)",
        &[],
        false,
    ),
    (
        "EXISTS (SELECT 1 FROM b WHERE b.x = a.y AND b.id < a.id)",
        &["4"],
        false,
    ),
    (
        "EXISTS (SELECT 1 FROM b WHERE b.x <=> a.y)",
        &["1", "3", "4"],
        false,
    ),
    (
        "EXISTS (SELECT 1 FROM b JOIN b c ON c.id = a.y WHERE b.x = a.y)",
        &["1", "4"],
        false,
    ),
    (
        "EXISTS (SELECT 1 FROM b WHERE b.k = a.y)",
        &["1", "2", "4"],
        false,
    ),
    (
        "EXISTS (SELECT 1 FROM b WHERE b.x = a.y UNION SELECT 1 FROM b WHERE b.x = a.y + 2)",
        &["1", "2", "4"],
        false,
    ),
];

#[test]
fn equalities_are_looked_up() {
    let db = TestDb::new();
    let mut c = db.client();
    for s in SETUP {
        c.ok(s);
    }
    c.ok("USE d");
    for (condition, ids, once) in CASES {
        let sql = format!("SELECT id FROM a WHERE {condition} ORDER BY id");
        assert_eq!(c.rows(&sql), ids, "{condition}");
        // As it is where it is no join.
        let sql = format!("SELECT id FROM a WHERE ({condition}) IS TRUE ORDER BY id");
        assert_eq!(c.rows(&sql), ids, "{condition}");
        let plan = c.rows(&format!("EXPLAIN {sql}"));
        let dependent = plan.iter().any(|l| l.contains("|DEPENDENT "));
        assert_eq!(!dependent, once, "{condition}: {plan:?}");
    }
    // Sources of which each row might meet each of the other: not all of that is kept.
    c.ok("CREATE TABLE many (x INT)");
    c.ok(&format!(
        "INSERT INTO many VALUES {}",
        vec!["(1)"; 1100].join(",")
    ));
    let sql = "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM many m, many n WHERE m.x = a.y)";
    assert_eq!(c.rows(&format!("{sql} AND id = 1")), ["1"]);
    let plan = c.rows(&format!("EXPLAIN {sql}"));
    assert!(plan.iter().any(|l| l.contains("|DEPENDENT ")), "{plan:?}");
    // It is never NULL.
    let sql = "SELECT EXISTS (SELECT 1 FROM b WHERE b.x = a.y), NOT EXISTS (SELECT 1 FROM b WHERE b.x = a.y) FROM a ORDER BY id";
    assert_eq!(c.rows(sql), ["1|0", "0|1", "0|1", "1|0"]);
    // One within another, and in statements that write.
    let sql = "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.x = 1 AND EXISTS (SELECT 1 FROM b c WHERE c.x = a.y)) ORDER BY id";
    assert_eq!(c.rows(sql), ["1", "4"]);
    c.ok("UPDATE a SET y = 9 WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.x = a.y) AND id < 3");
    c.ok("DELETE FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.s = a.s AND b.x = a.y)");
    assert_eq!(
        c.rows("SELECT id, y FROM a ORDER BY id"),
        ["2|9", "3|NULL", "4|4"]
    );
}
