//! XA transactions: between sessions, over their ends and the server's, and in the way of others.

use crate::support::{Client, TestDb};

const RECOVER: &str = "XA RECOVER";

fn with_table(db: &TestDb) -> Client {
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT, UNIQUE (b))");
    c.ok("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)");
    c
}

fn prepare(c: &mut Client, xid: &str) {
    c.ok(&format!("XA START {xid}"));
    c.ok("UPDATE t SET b = 11 WHERE a = 1");
    c.ok("DELETE FROM t WHERE a = 2");
    c.ok("INSERT INTO t VALUES (4, 40)");
    c.ok(&format!("XA END {xid}"));
    c.ok(&format!("XA PREPARE {xid}"));
}

const BEFORE: [&str; 3] = ["1|10", "2|20", "3|30"];
const AFTER: [&str; 3] = ["1|11", "3|30", "4|40"];

/// Statements that a prepared transaction is in the way of, each after the settings that say how long it waits.
fn is_in_the_way(c: &mut Client) {
    c.ok("SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1");
    for sql in [
        "UPDATE t SET b = 12 WHERE a = 1",
        "INSERT INTO t VALUES (2, 5)",
        "INSERT INTO t VALUES (9, 40)",
        "ALTER TABLE t ADD c INT",
        "DROP TABLE t",
        "LOCK TABLES t READ",
        "FLUSH TABLES WITH READ LOCK",
    ] {
        assert_eq!(c.code(sql), 1205, "{sql}");
    }
    assert_eq!(c.code("SELECT * FROM t WHERE a = 4 FOR SHARE NOWAIT"), 3572);
    assert_eq!(c.rows("SELECT * FROM t FOR UPDATE SKIP LOCKED"), ["3|30"]);
    c.ok("UPDATE t SET b = 30 WHERE a = 3");
    assert_eq!(c.rows("SELECT * FROM t"), BEFORE);
}

#[test]
fn a_prepared_transaction_is_no_sessions() {
    for (end, after) in [("COMMIT", AFTER), ("ROLLBACK", BEFORE)] {
        let db = TestDb::new();
        let mut a = with_table(&db);
        prepare(&mut a, "'x'");
        assert_eq!(a.0.status_flags() & 1, 0);
        // Its session goes on, with other transactions.
        a.ok("BEGIN");
        a.ok("INSERT INTO t VALUES (7, 70)");
        a.ok("ROLLBACK");
        let id = a.one("SELECT CONNECTION_ID()");
        let mut b = db.client();
        is_in_the_way(&mut b);
        b.ok(&format!("KILL {id}"));
        drop(a);
        is_in_the_way(&mut b);
        assert_eq!(b.rows(RECOVER), ["1|1|0|x"]);
        assert_eq!(b.code("XA START 'x'"), 1440);
        assert_eq!(b.code("XA START 'x', '', 5"), 1440);
        assert_eq!(b.code("XA COMMIT 'x', '', 5"), 1397);
        b.ok(&format!("XA {end} 'x'"));
        assert_eq!(b.code(&format!("XA {end} 'x'")), 1397);
        assert_eq!(b.rows("SELECT * FROM t ORDER BY a"), after);
        assert!(b.rows(RECOVER).is_empty());
        b.ok("DROP TABLE t");
    }
}

#[test]
fn a_prepared_transaction_outlives_the_server() {
    for (end, after) in [("COMMIT", AFTER), ("ROLLBACK", BEFORE)] {
        let mut db = TestDb::new();
        let mut a = with_table(&db);
        prepare(&mut a, "'x', 'branch', 3");
        drop(a);
        db.reopen();
        let mut b = db.client();
        is_in_the_way(&mut b);
        assert_eq!(b.rows(RECOVER), ["3|1|6|xbranch"]);
        assert_eq!(b.rows("XA RECOVER CONVERT XID"), ["3|1|6|0x786272616E6368"]);
        b.ok(&format!("XA {end} 'x', 'branch', 3"));
        assert_eq!(b.rows("SELECT * FROM t ORDER BY a"), after);
        drop(b);
        db.reopen();
        let mut c = db.client();
        assert!(c.rows(RECOVER).is_empty());
        assert_eq!(c.rows("SELECT * FROM t ORDER BY a"), after);
        assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
        c.ok("ALTER TABLE t ADD c INT");
    }
}

#[test]
fn without_detaching_it_stays_its_sessions() {
    let db = TestDb::new();
    let mut a = with_table(&db);
    let mut b = db.client();
    a.ok("SET xa_detach_on_prepare = OFF");
    prepare(&mut a, "'x'");
    for sql in [
        "SELECT * FROM t",
        "BEGIN",
        "SAVEPOINT s",
        "XA START 'y'",
        "XA END 'x'",
        "XA PREPARE 'x'",
        "XA COMMIT 'x' ONE PHASE",
        "XA COMMIT 'y'",
        "SET xa_detach_on_prepare = ON",
    ] {
        assert_eq!(a.code(sql), 1399, "{sql}");
    }
    assert_eq!(a.one("SELECT 1"), "1");
    assert_eq!(b.rows(RECOVER), ["1|1|0|x"]);
    assert_eq!(b.code("XA COMMIT 'x'"), 1397);
    is_in_the_way(&mut b);
    a.ok("XA COMMIT 'x'");
    assert_eq!(b.rows("SELECT * FROM t ORDER BY a"), AFTER);
    a.ok("XA START 'z'");
    a.ok("DELETE FROM t");
    a.ok("XA END 'z'");
    a.ok("XA PREPARE 'z'");
    a.0.reset().unwrap();
    a.ok("USE test");
    assert_eq!(a.rows("SELECT * FROM t ORDER BY a"), AFTER);
    b.ok("XA ROLLBACK 'z'");
    a.ok("DROP TABLE t");
}

#[test]
fn a_session_that_ends_rolls_back_what_is_not_prepared() {
    let db = TestDb::new();
    let mut a = with_table(&db);
    a.ok("XA START 'x'");
    a.ok("DELETE FROM t");
    let mut b = db.client();
    assert_eq!(b.code("XA START 'x'"), 1440);
    assert_eq!(b.code("XA ROLLBACK 'x'"), 1397);
    drop(a);
    b.ok("XA START 'x'");
    assert_eq!(b.one("SELECT COUNT(*) FROM t"), "3");
    b.ok("XA END 'x'");
    b.ok("XA ROLLBACK 'x'");
}

/// Runs a statement that waits for another session, which then runs one that makes it a deadlock, and is the victim.
fn deadlock(victim: &mut Client, other: &mut Client, waiting: &str, closing: &str) {
    let id = other.one("SELECT CONNECTION_ID()");
    let waits = format!(
        "SELECT COUNT(*) FROM performance_schema.data_locks WHERE LOCK_STATUS = 'WAITING' AND {id} > 0"
    );
    std::thread::scope(|s| {
        let run = s.spawn(|| other.ok(waiting));
        while victim.one(&waits) == "0" {
            std::thread::yield_now();
        }
        assert_eq!(victim.code(closing), 1213);
        run.join().expect("joins");
    });
}

#[test]
fn a_deadlock_leaves_a_branch_for_rollback_only() {
    let db = TestDb::new();
    let mut a = with_table(&db);
    let mut b = db.client();
    b.ok("BEGIN");
    b.ok("INSERT INTO t VALUES (5, 50), (6, 60), (7, 70)");
    b.ok("UPDATE t SET b = 21 WHERE a = 2");
    for last in ["XA ROLLBACK 'x'", "XA COMMIT 'x'"] {
        a.ok("XA START 'x'");
        a.ok("UPDATE t SET b = 12 WHERE a = 1");
        deadlock(
            &mut a,
            &mut b,
            "UPDATE t SET b = 13 WHERE a = 1",
            "UPDATE t SET b = 22 WHERE a = 2",
        );
        b.ok("ROLLBACK");
        b.ok("BEGIN");
        b.ok("INSERT INTO t VALUES (5, 50), (6, 60), (7, 70)");
        b.ok("UPDATE t SET b = 21 WHERE a = 2");
        // What is done after it is lost with it.
        a.ok("UPDATE t SET b = 31 WHERE a = 3");
        assert_eq!(a.code("XA END 'x'"), 1614);
        assert_eq!(a.code("SELECT * FROM t"), 1399);
        assert_eq!(a.code("XA PREPARE 'x'"), 1399);
        let ended = a.run(last).map(drop).map_err(|e| e.code);
        let commit = last.contains("COMMIT");
        assert_eq!(ended, if commit { Err(1614) } else { Ok(()) });
        assert_eq!(a.rows("SELECT * FROM t"), BEFORE);
    }
}

#[test]
fn recover_takes_a_privilege() {
    let db = TestDb::new();
    let mut root = with_table(&db);
    root.ok("CREATE USER u@localhost");
    root.ok("GRANT ALL ON test.* TO u@localhost");
    let mut u = db.user("u").unwrap();
    u.ok("USE test");
    let e = u.err(RECOVER);
    assert_eq!((e.code, e.state.as_str()), (1401, "XAE03"));
    let said = u.warnings();
    assert!(said[0].contains("XA_RECOVER_ADMIN"), "{said:?}");
    assert_eq!(said.len(), 2, "{said:?}");
    // Anybody may end what somebody else has prepared, if told its XID.
    prepare(&mut root, "'x'");
    u.ok("XA COMMIT 'x'");
    root.ok("GRANT XA_RECOVER_ADMIN ON *.* TO u@localhost");
    let mut u = db.user("u").unwrap();
    assert!(u.rows(RECOVER).is_empty());
}

#[test]
fn locked_tables_and_open_transactions_are_outside() {
    let db = TestDb::new();
    let mut a = with_table(&db);
    for (before, after) in [
        ("LOCK TABLES t READ", "UNLOCK TABLES"),
        ("FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"),
        ("BEGIN", "COMMIT"),
    ] {
        a.ok(before);
        assert_eq!(a.code("XA START 'x'"), 1400, "{before}");
        a.ok(after);
    }
    a.ok("BEGIN");
    assert_eq!(a.code("XA COMMIT 'x'"), 1399);
    a.ok("COMMIT");
    a.ok("SET autocommit = 0");
    a.ok("INSERT INTO t VALUES (8, 80)");
    assert_eq!(a.code("XA START 'x'"), 1400);
    a.ok("ROLLBACK");
    a.ok("XA START 'x'");
    assert_eq!(a.code("SET autocommit = 1"), 1399);
    a.ok("INSERT INTO t VALUES (8, 80)");
    a.ok("XA END 'x'");
    a.ok("XA COMMIT 'x' ONE PHASE");
    assert_eq!(a.0.status_flags() & 1, 0);
    a.ok("ROLLBACK");
    assert_eq!(a.one("SELECT COUNT(*) FROM t"), "4");
}
