//! Accounts beyond what clients meet (`server/tests/accounts.rs`): writing through views, what is denied of what.

use crate::support::{Client, TestDb};

fn run(c: &mut Client, statements: &[&str]) {
    for sql in statements {
        c.ok(sql);
    }
}

/// Statements and the errors that they end with; 0: none.
#[track_caller]
fn expect(c: &mut Client, cases: &[(&str, u16)]) {
    for (sql, wanted) in cases {
        let ended = c
            .run(sql)
            .map_or_else(|e| (e.code, e.message), |_| (0, String::new()));
        assert_eq!(ended.0, *wanted, "{sql}: {}", ended.1);
    }
}

#[test]
fn inserting_through_views_takes_insert_below() {
    let db = TestDb::new();
    let mut root = db.raw();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY, b INT, c INT)",
            "CREATE TABLE d.u (a INT PRIMARY KEY, b INT)",
            "CREATE SQL SECURITY INVOKER VIEW d.v AS SELECT a, b FROM d.t",
            "CREATE SQL SECURITY INVOKER VIEW d.w AS SELECT a AS x, b AS y FROM d.v",
            "CREATE SQL SECURITY INVOKER VIEW d.j AS SELECT t.a, u.b FROM d.t JOIN d.u ON t.a = u.a",
            "CREATE USER i@localhost, c@localhost, n@localhost, u@localhost, r@localhost",
            "GRANT INSERT ON d.v TO i@localhost, c@localhost, n@localhost, u@localhost, r@localhost",
            "GRANT INSERT ON d.w TO i@localhost, c@localhost",
            "GRANT INSERT ON d.t TO i@localhost, r@localhost",
            "GRANT INSERT (a, b) ON d.t TO c@localhost",
            "GRANT INSERT, UPDATE ON d.t TO u@localhost",
            "GRANT UPDATE, SELECT ON d.v TO u@localhost",
            "GRANT DELETE ON d.v TO r@localhost",
            "GRANT INSERT ON d.j TO i@localhost",
        ],
    );
    let mut i = db.user("i").unwrap();
    expect(
        &mut i,
        &[
            ("INSERT INTO d.v VALUES (1, 1)", 0),
            ("INSERT INTO d.v (a) VALUES (2)", 0),
            ("INSERT INTO d.v SET a = 3", 0),
            ("INSERT INTO d.w (x, y) VALUES (4, 4)", 0),
            (
                "INSERT INTO d.v (a) VALUES (1) ON DUPLICATE KEY UPDATE b = 2",
                1142,
            ),
            ("REPLACE INTO d.v VALUES (1, 1)", 1142),
            ("SELECT a FROM d.v", 1142),
            // The other table of the join is read.
            ("INSERT INTO d.j (a) VALUES (9)", 1356),
        ],
    );
    let mut c = db.user("c").unwrap();
    expect(
        &mut c,
        &[
            ("INSERT INTO d.v VALUES (5, 1)", 0),
            ("INSERT INTO d.w (x) VALUES (6)", 0),
        ],
    );
    root.ok("REVOKE INSERT (b) ON d.t FROM c@localhost");
    expect(
        &mut c,
        &[
            ("INSERT INTO d.v (a) VALUES (7)", 0),
            ("INSERT INTO d.v VALUES (8, 1)", 1356),
        ],
    );
    expect(
        &mut db.user("n").unwrap(),
        &[("INSERT INTO d.v VALUES (10, 1)", 1356)],
    );
    expect(
        &mut db.user("u").unwrap(),
        &[
            (
                "INSERT INTO d.v (a) VALUES (1) ON DUPLICATE KEY UPDATE b = 2",
                0,
            ),
            // The old value is read below.
            (
                "INSERT INTO d.v (a) VALUES (1) ON DUPLICATE KEY UPDATE b = b + 1",
                1356,
            ),
        ],
    );
    expect(
        &mut db.user("r").unwrap(),
        &[("REPLACE INTO d.v VALUES (1, 1)", 1356)],
    );
    assert_eq!(root.one("SELECT COUNT(*) FROM d.t"), "7");
}

#[test]
fn what_is_read_besides_is_denied_by_column() {
    let db = TestDb::new();
    let mut root = db.raw();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)",
            "CREATE USER w@localhost",
            "GRANT DELETE, UPDATE ON d.t TO w@localhost",
        ],
    );
    let mut w = db.user("w").unwrap();
    expect(
        &mut w,
        &[
            ("DELETE FROM d.t", 0),
            ("UPDATE d.t SET b = 1", 0),
            ("DELETE FROM d.t WHERE a = 1", 1143),
            ("DELETE FROM d.t ORDER BY b LIMIT 1", 1143),
            ("UPDATE d.t SET b = a", 1143),
            ("UPDATE d.t SET b = 1 WHERE a = 1", 1143),
            ("DELETE x FROM d.t x JOIN d.t y ON x.a = y.a", 1142),
            ("SELECT a FROM d.t", 1142),
            // The table that is only read is asked for before columns of either.
            ("UPDATE d.t x JOIN d.t y ON x.a = y.a SET x.b = 1", 1142),
        ],
    );
    // Whether there is a column is said to who may read all of them.
    root.ok("GRANT SELECT (a) ON d.t TO w@localhost");
    expect(
        &mut w,
        &[
            ("SELECT a FROM d.t", 0),
            ("SELECT b FROM d.t", 1143),
            ("SELECT missing FROM d.t", 1143),
            ("SELECT x.missing FROM d.t x", 1143),
            ("SELECT a FROM d.t ORDER BY missing", 1143),
        ],
    );
    root.ok("GRANT SELECT ON d.t TO w@localhost");
    expect(&mut w, &[("SELECT missing FROM d.t", 1054)]);
    root.ok("REVOKE SELECT ON d.t FROM w@localhost");
    let e = w.err("DELETE FROM d.t WHERE a = 1");
    assert_eq!(
        e.message,
        "SELECT command denied to user 'w'@'localhost' for column 'a' in table 't'"
    );
}
