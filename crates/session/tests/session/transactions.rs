//! Transactions: their ends, their modes, what they see.

use std::sync::Arc;

use crate::support::TestDb;

#[test]
fn transactions_commit_and_roll_back() {
    let db = TestDb::new();
    let mut c = db.client();
    let mut other = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("BEGIN");
    assert_eq!(c.0.status_flags() & 3, 3);
    c.ok("INSERT INTO t VALUES (1)");
    assert!(other.rows("SELECT * FROM t").is_empty());
    c.ok("COMMIT");
    assert_eq!(c.0.status_flags() & 3, 2);
    assert_eq!(other.rows("SELECT * FROM t"), ["1"]);
    c.ok("START TRANSACTION");
    c.ok("INSERT INTO t VALUES (2)");
    c.ok("SAVEPOINT s");
    c.ok("INSERT INTO t VALUES (3)");
    c.ok("ROLLBACK TO s");
    c.ok("INSERT INTO t VALUES (4)");
    c.ok("RELEASE SAVEPOINT s");
    assert_eq!(c.code("ROLLBACK TO s"), 1305);
    c.ok("COMMIT");
    assert_eq!(c.rows("SELECT * FROM t"), ["1", "2", "4"]);
    c.ok("BEGIN");
    c.ok("DELETE FROM t");
    c.ok("ROLLBACK");
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "3");
    // DDL commits.
    c.ok("BEGIN");
    c.ok("INSERT INTO t VALUES (5)");
    c.ok("CREATE TABLE u (a INT)");
    c.ok("ROLLBACK");
    assert_eq!(other.one("SELECT COUNT(*) FROM t"), "4");
}

#[test]
fn a_failed_statement_leaves_nothing() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("INSERT INTO t VALUES (5)");
    c.ok("BEGIN");
    c.ok("INSERT INTO t VALUES (1)");
    assert_eq!(c.code("INSERT INTO t VALUES (2), (3), (5)"), 1062);
    c.ok("COMMIT");
    assert_eq!(c.rows("SELECT * FROM t"), ["1", "5"]);
    assert_eq!(c.code("INSERT INTO t VALUES (2), (3), (5)"), 1062);
    assert_eq!(c.rows("SELECT * FROM t"), ["1", "5"]);
}

#[test]
fn without_autocommit_a_transaction_is_always_open() {
    let db = TestDb::new();
    let mut c = db.client();
    let mut other = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("SET autocommit = 0");
    assert_eq!(c.0.status_flags() & 3, 0);
    c.ok("SELECT 1");
    assert_eq!(c.0.status_flags() & 3, 0);
    c.ok("INSERT INTO t VALUES (1)");
    assert_eq!(c.0.status_flags() & 3, 1);
    c.ok("ROLLBACK");
    c.ok("INSERT INTO t VALUES (2)");
    c.ok("SET autocommit = 1");
    assert_eq!(other.rows("SELECT * FROM t"), ["2"]);
}

#[test]
fn read_only_transactions_refuse_writes() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("START TRANSACTION READ ONLY");
    assert_eq!(c.0.status_flags() & 8192, 8192);
    assert_eq!(c.code("INSERT INTO t VALUES (1)"), 1792);
    assert_eq!(c.code("SET TRANSACTION READ WRITE"), 1568);
    // A definition ends it before it is looked at.
    c.ok("CREATE TABLE u (a INT)");
    assert_eq!(c.0.status_flags() & 8192, 0);
    c.ok("INSERT INTO t VALUES (0)");
    c.ok("SET TRANSACTION READ ONLY");
    // What is refused, or uses no table, is no transaction.
    for _ in 0..2 {
        assert_eq!(c.code("INSERT INTO t VALUES (1)"), 1792);
    }
    c.ok("SELECT * FROM t");
    // It was for one transaction only.
    c.ok("INSERT INTO t VALUES (1)");
}

#[test]
fn set_transaction_waits_for_a_transaction() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    let write = "INSERT INTO t VALUES (1)";
    for sql in [
        "SET @x = (SELECT 1)",
        "SET autocommit = 0",
        "SET autocommit = 1",
        "SELECT 1",
        "DO 1",
        "SHOW TABLES",
        "PREPARE p FROM 'SELECT * FROM t'",
        "PREPARE p FROM 'SHOW TABLES'",
        "USE test",
        "UNLOCK TABLES",
        "SELECT table_name FROM information_schema.tables",
        "SELECT nothing",
        "SELECT * FROM nothing",
    ] {
        c.ok("SET TRANSACTION READ ONLY");
        let _ = c.run(sql);
        assert_eq!(c.code(write), 1792, "{sql}");
        c.ok("ROLLBACK");
    }
    for sql in [
        "SELECT * FROM t",
        "SET @x = (SELECT COUNT(*) FROM t)",
        "COMMIT",
        "ROLLBACK",
        "CREATE TABLE u (a INT)",
        "DROP TABLE u",
    ] {
        c.ok("SET TRANSACTION READ ONLY");
        c.ok(sql);
        c.ok(write);
        c.ok("DELETE FROM t");
    }
    c.ok("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    c.ok("SET @x = 1");
    c.ok("START TRANSACTION");
    c.ok("SELECT * FROM t");
    let mut other = db.client();
    let locks = "SELECT COUNT(*) > 0 FROM performance_schema.data_locks";
    assert_eq!(other.one(locks), "1");
}

#[test]
fn a_read_only_session_refuses_definitions() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("CREATE TEMPORARY TABLE mine (a INT)");
    c.ok("SET SESSION TRANSACTION READ ONLY");
    for sql in [
        "DROP TABLE t",
        "DROP TABLE IF EXISTS nothing",
        "TRUNCATE t",
        "ALTER TABLE t ADD b INT",
        "CREATE TABLE u (a INT)",
        "CREATE TABLE u AS SELECT 1",
        "CREATE TABLE u LIKE t",
        "RENAME TABLE t TO u",
        "CREATE INDEX i ON t (a)",
        "CREATE DATABASE d",
        "DROP DATABASE test",
        "ALTER DATABASE test DEFAULT CHARACTER SET latin1",
        "CREATE TEMPORARY TABLE u (a INT)",
        "DROP TEMPORARY TABLE mine",
        "TRUNCATE mine",
        "OPTIMIZE TABLE t",
        "REPAIR TABLE t",
        "LOCK TABLES t WRITE",
    ] {
        assert_eq!(c.code(sql), 1792, "{sql}");
    }
    for sql in [
        "ANALYZE TABLE t",
        "CHECK TABLE t",
        "LOCK TABLES t READ, mine WRITE",
        "INSERT INTO mine VALUES (1)",
    ] {
        c.ok(sql);
    }
    c.ok("UNLOCK TABLES");
    c.ok("SET SESSION TRANSACTION READ WRITE");
    c.ok("DROP TABLE t");
}

#[test]
fn isolation_decides_what_is_seen() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    a.ok("INSERT INTO t VALUES (1, 0)");
    a.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    b.ok("UPDATE t SET b = 1");
    assert_eq!(a.one("SELECT b FROM t"), "0");
    a.ok("COMMIT");
    assert_eq!(a.one("SELECT b FROM t"), "1");
    a.ok("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    a.ok("BEGIN");
    assert_eq!(a.one("SELECT b FROM t"), "1");
    b.ok("UPDATE t SET b = 2");
    assert_eq!(a.one("SELECT b FROM t"), "2");
    a.ok("COMMIT");
    // SERIALIZABLE reads lock inside a transaction.
    a.ok("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    a.ok("BEGIN");
    assert_eq!(a.one("SELECT b FROM t"), "2");
    b.ok("SET innodb_lock_wait_timeout = 1");
    assert_eq!(b.code("UPDATE t SET b = 3"), 1205);
    a.ok("COMMIT");
    assert_eq!(a.one("SELECT b FROM t"), "2");
    b.ok("UPDATE t SET b = 3");
}

#[test]
fn a_deadlock_ends_the_victims_transaction() {
    let db = TestDb::new();
    let mut setup = db.client();
    setup.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    setup.ok("INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)");
    let barrier = Arc::new(std::sync::Barrier::new(2));
    let run = |first: u32, second: u32| {
        let mut c = db.client();
        let barrier = barrier.clone();
        std::thread::spawn(move || {
            c.ok("BEGIN");
            c.ok(&format!("UPDATE t SET b = b + 1 WHERE a = {first}"));
            barrier.wait();
            let got = c.run(&format!("UPDATE t SET b = b + 1 WHERE a = {second}"));
            let open = c.0.status_flags() & 1 == 1;
            if got.is_ok() {
                c.ok("COMMIT");
            }
            (got.map(|_| ()), open)
        })
    };
    let (x, y) = (run(1, 2), run(2, 1));
    let results = [x.join().unwrap(), y.join().unwrap()];
    let failed: Vec<_> = results
        .iter()
        .filter_map(|(r, open)| r.as_ref().err().map(|e| (e.code, *open)))
        .collect();
    assert_eq!(failed, [(1213, false)]);
    assert_eq!(setup.rows("SELECT b FROM t"), ["1", "1", "0"]);
}

#[test]
fn what_a_session_is_set_to_holds_for_the_next_transaction_too() {
    let db = TestDb::new();
    let mut c = db.client();
    let mut other = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY");
    c.ok("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE");
    c.ok("START TRANSACTION");
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "0");
    other.ok("INSERT INTO t VALUES (1)");
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "0");
    c.ok("INSERT INTO t VALUES (2)");
    c.ok("COMMIT");
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "2");
}

/// While the server is read only, only those with CONNECTION_ADMIN write, or nobody; to temporary tables everybody does.
#[test]
fn a_read_only_server_refuses_writes() {
    let db = TestDb::new();
    let mut root = db.raw();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY)",
        "CREATE FUNCTION d.f() RETURNS INT BEGIN INSERT INTO d.t VALUES (9); RETURN 1; END",
        "CREATE USER u@localhost",
        "GRANT ALL ON d.* TO u@localhost",
        "GRANT CREATE USER ON *.* TO u@localhost",
    ] {
        root.ok(sql);
    }
    let mut u = db.user("u").unwrap();
    u.ok("USE d");
    u.ok("BEGIN");
    u.ok("INSERT INTO t VALUES (1)");
    root.ok("SET GLOBAL read_only = ON");
    // What was written before is not committed.
    let refused = "The MySQL server is running with the --read-only option so it cannot execute this statement";
    assert_eq!(u.run("COMMIT").unwrap_err().message, refused);
    assert_eq!(u.rows("SELECT * FROM t"), Vec::<String>::new());
    for sql in [
        "INSERT INTO t VALUES (1)",
        "DELETE FROM t",
        "SELECT f()",
        "CREATE TABLE x (a INT)",
        "DROP TABLE t",
        "TRUNCATE t",
        "CREATE USER x",
        "LOCK TABLES t WRITE",
        "CREATE VIEW v AS SELECT 1",
        "ALTER TABLE t ADD b INT",
    ] {
        assert_eq!(u.code(sql), 1290, "{sql}");
    }
    u.ok("CREATE TEMPORARY TABLE x (a INT)");
    u.ok("LOCK TABLES t READ, x WRITE");
    u.ok("INSERT INTO x SELECT 1");
    u.ok("UNLOCK TABLES");
    u.ok("UPDATE x JOIN (SELECT COUNT(*) AS n FROM t) AS s SET x.a = n");
    assert_eq!(u.rows("SELECT * FROM x"), ["0"]);
    u.ok("ALTER TABLE x ADD b INT");
    u.ok("DROP TABLE x");
    u.ok("ANALYZE TABLE t");
    root.ok("INSERT INTO d.t VALUES (2)");
    root.ok("SET GLOBAL super_read_only = ON");
    assert_eq!(root.one("SELECT @@read_only, @@super_read_only"), "1|1");
    let refused = root.run("INSERT INTO d.t VALUES (3)").unwrap_err();
    assert!(
        refused.message.contains("--super-read-only option"),
        "{}",
        refused.message
    );
    root.ok("SET GLOBAL read_only = OFF");
    assert_eq!(root.one("SELECT @@read_only, @@super_read_only"), "0|0");
    u.ok("INSERT INTO t VALUES (1)");
    assert_eq!(u.rows("SELECT * FROM t"), ["1", "2"]);
}

#[test]
fn a_server_may_begin_read_only() {
    let db = TestDb::with(&[("super_read_only", "ON")]);
    let mut root = db.raw();
    assert_eq!(root.one("SELECT @@read_only"), "1");
    assert_eq!(root.code("CREATE DATABASE d"), 1290);
    root.ok("SET GLOBAL read_only = OFF");
    root.ok("CREATE DATABASE d");
}
