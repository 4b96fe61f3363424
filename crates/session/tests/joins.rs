//! In which order tables are joined, and how, as EXPLAIN tells it.

mod support;

use support::{Client, TestDb};

/// Tables in the order of their loops, those that are hashed with a `#`.
fn order(c: &mut Client, sql: &str) -> Vec<String> {
    let answer = c.ok(&format!("EXPLAIN {sql}"));
    let column = |name: &str| {
        let at = answer.headings().iter().position(|h| *h == name);
        at.expect("a column of EXPLAIN")
    };
    let (table, extra) = (column("table"), column("Extra"));
    let line = |row: &Vec<String>| {
        let hashed = if row[extra].contains("hash join") {
            "#"
        } else {
            ""
        };
        format!("{hashed}{}", row[table])
    };
    answer.rows.iter().map(line).collect()
}

fn fill(c: &mut Client, table: &str, rows: usize, row: impl Fn(usize) -> String) {
    let all: Vec<String> = (0..rows).map(|n| format!("({})", row(n))).collect();
    for some in all.chunks(2000) {
        c.ok(&format!("INSERT INTO {table} VALUES {}", some.join(",")));
    }
}

/// Tables of 100 rows around one of 20,000.
#[test]
fn dimensions_are_joined_by_the_facts() {
    const DIMENSIONS: usize = 9;
    let db = TestDb::new();
    let mut c = db.client();
    let keys: Vec<String> = (0..DIMENSIONS).map(|d| format!("d{d} INT")).collect();
    c.ok(&format!(
        "CREATE TABLE fact (id INT PRIMARY KEY, {})",
        keys.join(",")
    ));
    fill(&mut c, "fact", 20_000, |n| {
        let keys: Vec<String> = (0..DIMENSIONS)
            .map(|d| ((n + d) % 100).to_string())
            .collect();
        format!("{n},{}", keys.join(","))
    });
    for d in 0..DIMENSIONS {
        c.ok(&format!(
            "CREATE TABLE dim{d} (id INT PRIMARY KEY, name INT)"
        ));
        fill(&mut c, &format!("dim{d}"), 100, |n| format!("{n},{n}"));
    }
    for count in [2, 5, 6, 7, DIMENSIONS] {
        let tables: Vec<String> = (0..count).map(|d| format!("dim{d}")).collect();
        let joined: Vec<String> = (0..count)
            .map(|d| format!("dim{d}.id = fact.d{d}"))
            .collect();
        let sql = format!(
            "SELECT COUNT(*) FROM {}, fact WHERE {}",
            tables.join(","),
            joined.join(" AND ")
        );
        let order = order(&mut c, &sql);
        let fact = order.iter().position(|t| t.ends_with("fact"));
        assert!(fact <= Some(1), "{count}: {order:?}");
        assert_eq!(c.one(&sql), "20000");
    }
}

#[test]
fn the_smaller_side_is_hashed() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE small (id INT PRIMARY KEY, x INT)");
    c.ok("CREATE TABLE large (id INT PRIMARY KEY, x INT)");
    fill(&mut c, "small", 500, |n| format!("{n},{n}"));
    fill(&mut c, "large", 20_000, |n| format!("{n},{}", n % 1000));
    for from in ["small JOIN large", "large JOIN small"] {
        let sql = format!("SELECT COUNT(*) FROM {from} ON small.x = large.x");
        assert_eq!(order(&mut c, &sql), ["large", "#small"]);
        assert_eq!(c.one(&sql), "10000");
    }
    // An index is there to be used by few rows, not by many.
    c.ok("CREATE INDEX kx ON large (x)");
    let few = "SELECT COUNT(*) FROM small JOIN large ON small.x = large.x WHERE small.id = 5";
    assert_eq!(order(&mut c, few), ["small", "large"]);
    assert_eq!(c.one(few), "20");
}

/// What is hashed may have no row, which nobody knew: then nothing else is read.
#[test]
fn no_rows_are_found_soon() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE small (id INT PRIMARY KEY, x INT, y INT)");
    c.ok("CREATE TABLE large (id INT PRIMARY KEY, x INT, y INT)");
    fill(&mut c, "small", 500, |n| format!("{n},{n},{n}"));
    fill(&mut c, "large", 20_000, |n| format!("{n},{},1", n % 1000));
    let sql = "SELECT COUNT(*) FROM large JOIN small ON small.x = large.x WHERE small.y % 7 = 8";
    assert_eq!(order(&mut c, sql), ["large", "#small"]);
    let plan = c.one(&format!("EXPLAIN ANALYZE {sql}"));
    let large = plan.lines().find(|l| l.contains("Table scan on large"));
    assert!(
        large.is_some_and(|l| l.ends_with("(never executed)")),
        "{plan}"
    );
    for rows in [1, 1_000_000] {
        c.ok(&format!("SET millpond_batch_rows = {rows}"));
        let before = rows_read(&mut c);
        assert_eq!(c.one(sql), "0");
        let read = rows_read(&mut c) - before;
        assert_eq!(read, 500, "{rows}");
    }
    // An outer join has rows all the same.
    let outer = "SELECT COUNT(*), COUNT(s.x) FROM large LEFT JOIN (SELECT x FROM small WHERE y % 7 = 8) s ON s.x = large.x";
    assert_eq!(c.rows(outer), ["20000|0"]);
}

fn rows_read(c: &mut Client) -> u64 {
    let shown = c.rows("SHOW GLOBAL STATUS LIKE 'Innodb_rows_read'");
    let (_, n) = shown[0].split_once('|').expect("name and value");
    n.parse().expect("a number")
}

/// Tables that are equal in one column: whichever two are joined first, the third has as many of the values as the one with the fewest.
#[test]
fn equal_columns_are_counted_once() {
    let db = TestDb::new();
    let mut c = db.client();
    for (t, rows) in [("a", 20), ("b", 20), ("c", 5000), ("d", 20)] {
        c.ok(&format!(
            "CREATE TABLE {t} (id INT PRIMARY KEY, k INT, KEY (k))"
        ));
        fill(&mut c, t, rows, |n| format!("{n},{n}"));
        c.ok(&format!("ANALYZE TABLE {t}"));
    }
    let sql =
        "SELECT STRAIGHT_JOIN COUNT(*) FROM a, b, d, c WHERE c.k = a.k AND c.k = b.k AND c.k = d.k";
    let plan = c.one(&format!("EXPLAIN FORMAT=TREE {sql}"));
    let joins: Vec<&str> = plan.lines().filter(|l| l.contains("join")).collect();
    assert!(joins.iter().all(|l| l.ends_with("rows=20)")), "{plan}");
    assert_eq!(c.one(sql), "20");
}

/// A chain with a small end: what is small comes first and what follows is found by keys.
#[test]
fn chains_begin_where_they_are_narrow() {
    const LENGTH: usize = 8;
    let db = TestDb::new();
    let mut c = db.client();
    for t in 0..LENGTH {
        c.ok(&format!(
            "CREATE TABLE t{t} (id INT PRIMARY KEY, next INT, v INT, KEY (next))"
        ));
        fill(&mut c, &format!("t{t}"), 1000, |n| format!("{n},{n},{n}"));
    }
    let tables: Vec<String> = (0..LENGTH).map(|t| format!("t{t}")).collect();
    let joined: Vec<String> = (1..LENGTH)
        .map(|t| format!("t{}.next = t{t}.id", t - 1))
        .collect();
    for narrow in [0, 3, LENGTH - 1] {
        let sql = format!(
            "SELECT COUNT(*) FROM {} WHERE {} AND t{narrow}.id = 7",
            tables.join(","),
            joined.join(" AND ")
        );
        let order = order(&mut c, &sql);
        // The one before it may be found by the same constant; a table of one row may come whenever. Nothing is scanned.
        let begins = [narrow, narrow.saturating_sub(1)].map(|t| format!("t{t}"));
        assert!(begins.contains(&order[0]), "{order:?}");
        let plan = c.rows(&format!("EXPLAIN {sql}"));
        assert!(plan.iter().all(|l| !l.contains("|ALL|")), "{plan:?}");
        assert!(order.iter().all(|t| !t.starts_with('#')), "{order:?}");
        assert_eq!(c.one(&sql), "1");
    }
}

#[test]
fn an_order_with_a_limit_is_read_from_its_index() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE a (id INT PRIMARY KEY, b INT, v INT, KEY (b))");
    c.ok("CREATE TABLE b (id INT PRIMARY KEY, v INT)");
    fill(&mut c, "a", 10_000, |n| format!("{n},{},{n}", n % 100));
    fill(&mut c, "b", 100, |n| format!("{n},{n}"));
    let sql = "SELECT a.id FROM a JOIN b ON a.b = b.id ORDER BY a.id LIMIT 3";
    assert_eq!(order(&mut c, sql)[0], "a");
    assert_eq!(c.rows(sql), ["0", "1", "2"]);
}

/// Values of types that differ are looked up by hashing too: one after the other this would take a day.
#[test]
fn mixed_types_are_hashed() {
    const ROWS: usize = 20_000;
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE a (i INT, u INT UNSIGNED, d DECIMAL(10,1), e DECIMAL(12,3), c CHAR(8), v VARCHAR(20))");
    fill(&mut c, "a", ROWS, |n| {
        format!("{n},{n},{n}.5,{n}.500,'{n}','{n}'")
    });
    for (left, right, hits) in [
        ("i", "u", ROWS),
        ("u", "i", ROWS),
        ("d", "e", ROWS),
        ("e", "d", ROWS),
        ("c", "v", ROWS),
        ("i", "d", 0),
        ("i", "d - 0.5", ROWS),
    ] {
        let sql = format!("SELECT COUNT(*) FROM a WHERE {left} IN (SELECT {right} FROM a)");
        assert_eq!(c.one(&sql), hits.to_string(), "{sql}");
        let sql = format!("SELECT SUM(({left}, 1) IN (SELECT {right}, 1 FROM a)) FROM a");
        assert_eq!(c.one(&sql), hits.to_string(), "{sql}");
        let sql = format!(
            "SELECT COUNT(*) FROM a x JOIN a y ON x.{left} = y.{}",
            right.split(' ').next().unwrap()
        );
        if !right.contains(' ') {
            assert_eq!(c.one(&sql), hits.to_string(), "{sql}");
        }
    }
}
