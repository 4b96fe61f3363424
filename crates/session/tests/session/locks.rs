//! Who blocks whom, as the tables of information_schema and performance_schema tell.

use crate::support::TestDb;

/// Waits until a query's only value is this.
fn until(c: &mut crate::support::Client, sql: &str, want: &str) {
    while c.one(sql) != want {
        std::thread::yield_now();
    }
}

#[test]
fn a_row_wait_is_told_with_its_blocker() {
    let db = TestDb::new();
    let (mut a, mut b, mut c) = (db.client(), db.client(), db.client());
    let (ida, idb) = (
        a.one("SELECT CONNECTION_ID()"),
        b.one("SELECT CONNECTION_ID()"),
    );
    a.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY (v))");
    a.ok("INSERT INTO t VALUES (1, 10), (5, 50)");
    a.ok("BEGIN");
    a.ok("UPDATE t SET v = 11 WHERE id = 5");
    let update = "UPDATE t SET v = 12 WHERE id = 5";
    std::thread::scope(|s| {
        let waiter = s.spawn(|| b.ok(update));
        until(
            &mut c,
            "SELECT COUNT(*) FROM performance_schema.data_lock_waits",
            "1",
        );
        assert_eq!(
            c.one(
                "SELECT requesting_thread_id, blocking_thread_id, r.lock_mode, r.lock_status, r.lock_data, r.object_name, r.index_name,
                        b.lock_status, b.lock_data
                 FROM performance_schema.data_lock_waits w
                 JOIN performance_schema.data_locks r ON r.engine_lock_id = w.requesting_engine_lock_id
                 JOIN performance_schema.data_locks b ON b.engine_lock_id = w.blocking_engine_lock_id"
            ),
            format!("{idb}|{ida}|X,REC_NOT_GAP|WAITING|5|t|PRIMARY|GRANTED|5")
        );
        assert_eq!(
            c.one(&format!(
                "SELECT trx_state, trx_query, trx_isolation_level FROM information_schema.INNODB_TRX
                 WHERE trx_mysql_thread_id = {idb}"
            )),
            format!("LOCK WAIT|{update}|REPEATABLE READ")
        );
        assert_eq!(
            c.one(
                "SELECT blocked.trx_mysql_thread_id, blocking.trx_mysql_thread_id, blocking.trx_rows_modified > 0
                 FROM performance_schema.data_lock_waits w
                 JOIN information_schema.INNODB_TRX blocked ON blocked.trx_id = w.requesting_engine_transaction_id
                 JOIN information_schema.INNODB_TRX blocking ON blocking.trx_id = w.blocking_engine_transaction_id"
            ),
            format!("{idb}|{ida}|1")
        );
        let state = |table: &str, id: &str| format!("SELECT {table} WHERE {id} = {idb}");
        let listed = state("state, info FROM information_schema.PROCESSLIST", "id");
        assert_eq!(c.one(&listed), format!("updating|{update}"));
        let thread = "processlist_state, processlist_info FROM performance_schema.threads";
        assert_eq!(
            c.one(&state(thread, "thread_id")),
            format!("updating|{update}")
        );
        let report = c.one("SHOW ENGINE INNODB STATUS");
        let line = format!("MySQL thread id {idb} localhost root updating\n{update}\n");
        assert!(report.contains(&line), "{report}");
        a.ok("COMMIT");
        waiter.join().unwrap();
    });
    assert_eq!(
        c.one("SELECT COUNT(*) FROM performance_schema.data_lock_waits"),
        "0"
    );
    assert_eq!(
        c.one("SELECT COUNT(*) FROM performance_schema.data_locks"),
        "0"
    );
}

#[test]
fn gaps_and_insertions_are_told() {
    let db = TestDb::new();
    let (mut a, mut b, mut c) = (db.client(), db.client(), db.client());
    a.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    a.ok("INSERT INTO t VALUES (1), (9)");
    a.ok("BEGIN");
    a.ok("SELECT * FROM t WHERE id > 3 FOR UPDATE");
    std::thread::scope(|s| {
        let waiter = s.spawn(|| b.ok("INSERT INTO t VALUES (5)"));
        until(
            &mut c,
            "SELECT COUNT(*) FROM performance_schema.data_lock_waits",
            "1",
        );
        assert_eq!(
            c.one(
                "SELECT r.lock_mode, r.lock_data, b.lock_mode, b.lock_status, b.lock_data
                 FROM performance_schema.data_lock_waits w
                 JOIN performance_schema.data_locks r ON r.engine_lock_id = w.requesting_engine_lock_id
                 JOIN performance_schema.data_locks b ON b.engine_lock_id = w.blocking_engine_lock_id"
            ),
            "X,GAP,INSERT_INTENTION|5|X,GAP|GRANTED|supremum pseudo-record"
        );
        a.ok("ROLLBACK");
        waiter.join().unwrap();
    });
}

/// A listing of locks takes as much memory as a derived table may; the rest goes to disk.
#[test]
fn a_listing_of_many_locks_stays_within_memory() {
    let db = TestDb::new();
    let (mut a, mut c) = (db.client(), db.client());
    a.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    let values: Vec<_> = (1..=4000).map(|i| format!("({i})")).collect();
    a.ok(&format!("INSERT INTO t VALUES {}", values.join(",")));
    a.ok("BEGIN");
    a.ok("SELECT * FROM t FOR UPDATE");
    for size in ["sort_buffer_size", "join_buffer_size", "tmp_table_size"] {
        c.ok(&format!("SET {size} = 32768"));
    }
    let all = "SELECT COUNT(*) >= 4000 FROM performance_schema.data_locks";
    assert_eq!(c.one(all), "1");
    let peak = db.instance().memory().peak();
    assert!(peak < 500_000, "{peak}");
    a.ok("ROLLBACK");
}

#[test]
fn metadata_waits_are_told() {
    let db = TestDb::new();
    let (mut a, mut b, mut c) = (db.client(), db.client(), db.client());
    let (ida, idb) = (
        a.one("SELECT CONNECTION_ID()"),
        b.one("SELECT CONNECTION_ID()"),
    );
    a.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    a.ok("BEGIN");
    a.ok("SELECT * FROM t");
    std::thread::scope(|s| {
        let waiter = s.spawn(|| b.ok("DROP TABLE t"));
        let state = format!(
            "SELECT COALESCE(MAX(state), '') FROM information_schema.PROCESSLIST WHERE id = {idb}"
        );
        until(&mut c, &state, "Waiting for table metadata lock");
        assert_eq!(
            c.rows(
                "SELECT object_type, object_schema, object_name, lock_type, lock_status, owner_thread_id
                 FROM performance_schema.metadata_locks WHERE object_name = 't' ORDER BY owner_thread_id"
            ),
            [
                format!("TABLE|test|t|SHARED_READ|GRANTED|{ida}"),
                format!("TABLE|test|t|EXCLUSIVE|PENDING|{idb}"),
            ]
        );
        assert_eq!(
            c.rows("SHOW OPEN TABLES FROM test LIKE 't'"),
            ["test|t|1|1"]
        );
        a.ok("COMMIT");
        waiter.join().unwrap();
    });
    assert!(c.rows("SHOW OPEN TABLES FROM test").is_empty());
}

/// A statement that waits to write to a table, not planned before, has nothing of it yet that others would wait for.
#[test]
fn who_waits_to_write_holds_nothing() {
    let db = TestDb::new();
    let (mut a, mut b, mut c) = (db.client(), db.client(), db.client());
    a.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    for sql in [
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET id = 2",
        "DELETE FROM t",
    ] {
        a.ok("LOCK TABLES t READ");
        std::thread::scope(|s| {
            let waiter = s.spawn(|| b.ok(sql));
            let pending = "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE lock_status = 'PENDING'";
            until(&mut c, pending, "1");
            let locks = "SELECT lock_type, lock_status FROM performance_schema.metadata_locks
                         WHERE object_name = 't' ORDER BY lock_type";
            let found = c.rows(locks);
            a.ok("UNLOCK TABLES");
            waiter.join().unwrap();
            assert_eq!(found, ["SHARED_READ_ONLY|GRANTED", "SHARED_WRITE|PENDING"]);
        });
    }
}

/// A statement that is only prepared keeps no table from being altered.
#[test]
fn preparing_leaves_no_metadata_lock() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    for table in ["t", "u", "v"] {
        a.ok(&format!("CREATE TABLE {table} (id INT PRIMARY KEY)"));
    }
    a.ok("BEGIN");
    a.ok("SELECT * FROM u");
    // The second time by the plan of the first.
    for _ in 0..2 {
        a.ok("PREPARE p FROM 'SELECT t.id FROM t JOIN u USING (id)'");
        a.ok("PREPARE q FROM 'DELETE FROM v'");
        assert_eq!(a.code("PREPARE r FROM 'SELECT nothing FROM t'"), 1054);
    }
    let held = "SELECT object_name FROM performance_schema.metadata_locks
                WHERE object_schema = 'test' AND object_name IS NOT NULL";
    assert_eq!(b.rows(held), ["u"]);
    b.ok("ALTER TABLE t ADD x INT");
    a.ok("COMMIT");
    a.ok("EXECUTE p");
}

/// Whether a statement locks what it only reads is the transaction's affair, not that of the one it was planned in.
#[test]
fn a_kept_plan_heeds_the_isolation_level() {
    let db = TestDb::new();
    let (mut a, mut c) = (db.client(), db.client());
    a.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    a.ok("CREATE TABLE u (id INT PRIMARY KEY)");
    a.ok("INSERT INTO t VALUES (1), (2)");
    a.ok("PREPARE s FROM 'INSERT INTO u SELECT id FROM t'");
    let locks = "SELECT COUNT(*) > 0 FROM performance_schema.data_locks
                 WHERE object_name = 't' AND lock_type = 'RECORD'";
    for (level, locked) in [
        ("REPEATABLE READ", "1"),
        ("READ COMMITTED", "0"),
        ("SERIALIZABLE", "1"),
        ("READ UNCOMMITTED", "0"),
    ] {
        a.ok(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        for sql in ["EXECUTE s", "INSERT INTO u SELECT id FROM t"] {
            a.ok("BEGIN");
            a.ok(sql);
            assert_eq!(c.one(locks), locked, "{level}: {sql}");
            a.ok("ROLLBACK");
        }
    }
}

/// Beyond the memory for row locks the transaction is rolled back, as in InnoDB: others need the room.
#[test]
fn too_many_row_locks_end_the_transaction() {
    let db = TestDb::with(&[("millpond_row_lock_memory", "1048576")]);
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)");
    a.ok("INSERT INTO t (v) VALUES (1), (2)");
    for _ in 0..14 {
        a.ok("INSERT INTO t (v) SELECT v FROM t");
    }
    a.ok("BEGIN");
    a.ok("UPDATE t SET v = 77 WHERE id = 1");
    let e = a.err("SELECT COUNT(*) FROM t WHERE v < 5 FOR UPDATE");
    assert_eq!((e.code, e.state.as_str()), (1206, "HY000"), "{}", e.message);
    b.ok("UPDATE t SET v = v + 1 WHERE id = 1");
    a.ok("COMMIT");
    assert_eq!(a.one("SELECT v FROM t WHERE id = 1"), "2");
}

#[test]
fn forced_recovery_refuses_changes_of_rows() {
    let db = TestDb::with(&[("innodb_force_recovery", "2")]);
    let mut c = db.client();
    assert_eq!(c.one("SELECT @@innodb_force_recovery"), "2");
    c.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    assert_eq!(c.code("INSERT INTO t VALUES (1)"), 1881);
    assert_eq!(c.rows("SELECT * FROM t"), [""; 0]);
    c.ok("CREATE TEMPORARY TABLE u (id INT PRIMARY KEY)");
    c.ok("INSERT INTO u VALUES (1)");
    c.ok("DROP TABLE t");
    let refused = millpond_session::Instance::open(millpond_session::InstanceOptions {
        path: db.path.join("another"),
        store: Default::default(),
        variables: vec![("innodb_force_recovery".into(), "4".into())],
    });
    let e = refused.err().expect("a level that there is not");
    assert!(
        e.message.contains("innodb_force_recovery=4"),
        "{}",
        e.message
    );
}
