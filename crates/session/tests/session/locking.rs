//! LOCK TABLES, FLUSH TABLES WITH READ LOCK, locking reads.

use crate::support::{Client, TestDb};

#[test]
fn locked_tables_go_by_their_aliases() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, v INT)");
    c.ok("CREATE TABLE u (a INT PRIMARY KEY, v INT)");
    c.ok("LOCK TABLES t READ");
    c.ok("SELECT * FROM t");
    assert_eq!(c.code("SELECT * FROM t AS z"), 1100);
    assert_eq!(c.code("SELECT * FROM t JOIN t AS z"), 1100);
    assert_eq!(c.code("SELECT 1 FROM (SELECT 1 FROM t z) q"), 1100);
    c.ok("LOCK TABLES t WRITE, t AS x READ, u AS y WRITE");
    c.ok("INSERT INTO t SELECT a + 1, v FROM t AS x");
    c.ok("UPDATE t SET v = 1");
    assert_eq!(c.code("UPDATE t AS x SET v = 1"), 1099);
    assert_eq!(c.code("DELETE x FROM t AS x JOIN u AS y"), 1099);
    c.ok("DELETE y FROM t AS x JOIN u AS y ON x.a = y.a");
    c.ok("UPDATE u AS y SET v = 1");
    assert_eq!(c.code("INSERT INTO u VALUES (1, 1)"), 1100);
    c.ok("TRUNCATE u");
    assert_eq!(c.code("LOCK TABLES t READ, u AS t READ"), 1066);
}

#[test]
fn locking_clauses_name_tables_of_their_query() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("SELECT * FROM t AS x FOR UPDATE OF x");
    assert_eq!(c.code("SELECT * FROM t FOR UPDATE OF nope"), 3568);
    assert_eq!(c.code("SELECT * FROM t AS x FOR SHARE OF t"), 3568);
}

/// Tables that few rows are in for a moment are what locks are taken on most.
#[test]
fn small_tables_are_locked_by_index() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE q (id INT PRIMARY KEY, st INT, v INT, KEY (st), KEY (v))");
    a.ok("INSERT INTO q VALUES (1, 0, 10), (2, 1, 20), (3, 1, 50)");
    for (sql, key) in [
        ("UPDATE q SET v = 2 WHERE st = 0", "st"),
        ("DELETE FROM q WHERE st = 1", "st"),
        ("SELECT * FROM q WHERE v BETWEEN 10 AND 20 FOR UPDATE", "v"),
    ] {
        let plan = a.rows(&format!("EXPLAIN {sql}")).remove(0);
        assert!(plan.split('|').any(|p| p == key), "{sql}: {plan}");
    }
    // The values are not part of the plan, and the table is empty when it is made.
    a.ok("CREATE TABLE e (id INT PRIMARY KEY AUTO_INCREMENT, v INT, KEY (v))");
    for c in [&mut a, &mut b] {
        c.ok("SET TRANSACTION_ISOLATION = 'READ-COMMITTED', INNODB_LOCK_WAIT_TIMEOUT = 1");
        c.ok("UPDATE e SET v = v + 0 WHERE v = 7");
    }
    a.ok("INSERT INTO e (v) VALUES (5), (10)");
    a.ok("BEGIN");
    a.ok("UPDATE e SET v = v + 1 WHERE v = 5");
    b.ok("UPDATE e SET v = v + 1 WHERE v = 10");
    a.ok("COMMIT");
    for c in [&mut a, &mut b] {
        c.ok("SET TRANSACTION_ISOLATION = 'REPEATABLE-READ'");
    }
    a.ok("BEGIN");
    a.ok("SELECT COUNT(*) FROM q WHERE v BETWEEN 10 AND 20 FOR UPDATE");
    b.ok("INSERT INTO q VALUES (5, 5, 55)");
}

#[test]
fn locked_tables_keep_others_out() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    a.ok("CREATE TABLE u (a INT PRIMARY KEY)");
    b.ok("SET lock_wait_timeout = 1");
    a.ok("LOCK TABLES t WRITE");
    a.ok("INSERT INTO t VALUES (1)");
    a.ok("ALTER TABLE t DISABLE KEYS");
    assert_eq!(a.code("SELECT * FROM u"), 1100);
    assert_eq!(a.code("CREATE TABLE v (a INT)"), 1100);
    assert_eq!(b.code("SELECT * FROM t"), 1205);
    b.ok("SELECT * FROM u");
    a.ok("INSERT INTO t VALUES (2)");
    a.ok("UNLOCK TABLES");
    assert_eq!(b.rows("SELECT * FROM t"), ["1", "2"]);
    a.ok("LOCK TABLES t WRITE, u AS x WRITE");
    a.ok("BEGIN");
    b.ok("SELECT * FROM t");
    a.ok("LOCK TABLES t READ, u READ LOCAL");
    b.ok("LOCK TABLES t READ");
    b.ok("UNLOCK TABLES");
    assert_eq!(b.one("SELECT COUNT(*) FROM t"), "2");
    assert_eq!(b.code("INSERT INTO t VALUES (3)"), 1205);
    assert_eq!(a.code("INSERT INTO t VALUES (3)"), 1099);
    assert_eq!(a.code("TRUNCATE t"), 1099);
    assert_eq!(a.one("SELECT COUNT(*) FROM t"), "2");
    assert_eq!(a.code("LOCK TABLES nope WRITE"), 1146);
    a.ok("LOCK TABLES t WRITE");
    drop(a);
    b.ok("SELECT * FROM t");
}

/// Whether a statement waits: it is killed when it is seen to run, unless it has ended by then.
fn waits(c: &mut Client, sql: &str, by: &mut Client) -> bool {
    let id = c.one("SELECT CONNECTION_ID()");
    std::thread::scope(|s| {
        let run = s.spawn(|| c.run(sql).map_err(|e| e.code));
        let busy = format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info = '{sql}'"
        );
        while by.one(&busy) == "0" && !run.is_finished() {
            std::thread::yield_now();
        }
        by.ok(&format!("KILL QUERY {id}"));
        matches!(run.join().expect("joins"), Err(1317))
    })
}

#[test]
fn a_global_read_lock_keeps_changes_out() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    a.ok("CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2");
    b.ok("SET autocommit = 0");
    // As mariadb-dump --lock-all-tables does.
    a.ok("FLUSH TABLES");
    a.ok("FLUSH TABLES WITH READ LOCK");
    a.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    for sql in [
        "INSERT INTO t VALUES (9)",
        "DELETE FROM p",
        "CREATE TABLE u (a INT)",
        "DROP TABLE t",
        "OPTIMIZE TABLE t",
        "LOCK TABLES t WRITE",
        "CREATE DATABASE other",
    ] {
        assert_eq!(a.code(sql), 1223, "{sql}");
    }
    a.ok("CREATE TEMPORARY TABLE mine (a INT)");
    a.ok("INSERT INTO mine VALUES (1)");
    a.ok("DROP TEMPORARY TABLE mine");
    assert_eq!(a.one("SELECT COUNT(*) FROM t"), "0");
    assert_eq!(b.one("SELECT COUNT(*) FROM t"), "0");
    b.ok("LOCK TABLES t READ");
    b.ok("UNLOCK TABLES");
    for sql in [
        "INSERT INTO p VALUES (1)",
        "TRUNCATE TABLE t",
        "CREATE DATABASE other",
    ] {
        assert!(waits(&mut b, sql, &mut a), "{sql}");
    }
    a.ok("UNLOCK TABLES");
    b.ok("INSERT INTO p VALUES (1)");
    // It waits for those who have written.
    assert!(waits(&mut a, "FLUSH TABLES WITH READ LOCK", &mut b));
    b.ok("COMMIT");
    a.ok("FLUSH TABLES WITH READ LOCK");
    drop(a);
    b.ok("CREATE TABLE u (a INT)");
    b.ok("FLUSH TABLES u, t WITH READ LOCK");
    assert_eq!(b.code("INSERT INTO u VALUES (1)"), 1099);
    assert_eq!(b.code("SELECT * FROM p"), 1100);
}

/// A statement that writes a table anew ends, however it ends, while FLUSH TABLES WITH READ LOCK waits for it.
#[test]
fn a_table_half_written_goes_while_a_global_read_lock_waits() {
    let db = TestDb::new();
    let [mut a, mut b, mut c] = [db.client(), db.client(), db.client()];
    a.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    a.ok("INSERT INTO t VALUES (1, 1), (2, 1)");
    a.ok("SET lock_wait_timeout = 20");
    b.ok("SET lock_wait_timeout = 20");
    let engine = db.instance().engine();
    let half_made = || engine.tables("#sql").unwrap_or_default();
    let stops = "DO GET_LOCK('l', 9)";
    let goes = "DO RELEASE_LOCK('l')";
    // What keeps the statement from ending before the other waits, what lets it go on, and what it comes to.
    for (stop, sql, go, end) in [
        (
            "BEGIN; SELECT * FROM t",
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (v)",
            "COMMIT",
            Err(1062),
        ),
        (
            stops,
            "CREATE TABLE u (v INT PRIMARY KEY) SELECT v, GET_LOCK('l', 20) AS l FROM t",
            goes,
            Err(1062),
        ),
        (
            stops,
            "CREATE TABLE u SELECT id, GET_LOCK('l', 20) AS l FROM t",
            goes,
            Ok(()),
        ),
    ] {
        for sql in stop.split("; ") {
            c.ok(sql);
        }
        std::thread::scope(|s| {
            let changing = s.spawn(|| a.run(sql).map(drop).map_err(|e| e.code));
            while engine.waits().is_empty() && half_made().is_empty() {
                std::thread::yield_now();
            }
            let before = engine.waits().len();
            let flushing = s.spawn(|| {
                let locked = b.run("FLUSH TABLES WITH READ LOCK").map(drop);
                b.ok("UNLOCK TABLES");
                locked.map_err(|e| e.code)
            });
            while engine.waits().len() == before && !flushing.is_finished() {
                std::thread::yield_now();
            }
            assert!(!flushing.is_finished(), "{sql}");
            c.ok(go);
            assert_eq!(changing.join().expect("joins"), end, "{sql}");
            assert_eq!(flushing.join().expect("joins"), Ok(()), "{sql}");
        });
        assert!(half_made().is_empty(), "{sql}");
        a.ok("DO RELEASE_ALL_LOCKS()");
    }
}

#[test]
fn joins_that_lock_are_not_priced_as_hashed() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE a (id INT PRIMARY KEY, k INT, v INT, KEY (k))");
    c.ok("CREATE TABLE b (id INT PRIMARY KEY, x INT, v INT)");
    for n in 0..200 {
        c.ok(&format!("INSERT INTO a VALUES ({n}, {}, 0)", n % 20));
        c.ok(&format!("INSERT INTO b VALUES ({n}, {}, {n})", n % 40));
    }
    for sql in [
        "UPDATE a JOIN b ON a.k = b.x SET a.v = b.v",
        "DELETE a FROM a JOIN b ON a.k = b.x",
        "SELECT * FROM a JOIN b ON a.k = b.x FOR UPDATE",
    ] {
        let plan = c.rows(&format!("EXPLAIN {sql}"));
        let found: Vec<Vec<&str>> = plan.iter().map(|r| r.split('|').collect()).collect();
        let tables: Vec<_> = found.iter().map(|r| (r[2], r[4], r[5])).collect();
        assert_eq!(tables, [("b", "ALL", "NULL"), ("a", "ref", "k")], "{sql}");
    }
    let join = "SELECT a.id, b.id FROM a JOIN b ON a.k = b.x";
    let mut plain = c.rows(join);
    let mut locking = c.rows(&format!("{join} FOR UPDATE"));
    plain.sort();
    locking.sort();
    assert_eq!((plain.len(), plain), (1000, locking));
}

#[test]
fn a_row_that_a_variable_names_is_locked_alone() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE named (id INT PRIMARY KEY, n INT)");
    c.ok("INSERT INTO named VALUES (1, 0), (2, 0), (4, 0)");
    c.ok("SET @x = 2");
    c.ok("BEGIN");
    assert_eq!(
        c.rows("SELECT id FROM named WHERE id = @x FOR UPDATE"),
        ["2"]
    );
    let mut other = db.client();
    let locking = "SELECT id FROM named WHERE id = 1 FOR UPDATE NOWAIT";
    assert_eq!(other.rows(locking), ["1"]);
    other.ok("INSERT INTO named VALUES (3, 0)");
    assert_eq!(
        other.code("SELECT id FROM named WHERE id = 2 FOR UPDATE NOWAIT"),
        3572
    );
}

#[test]
fn rows_that_others_hold_are_passed_over_or_refused() {
    let db = TestDb::new();
    let (mut c, mut other) = (db.client(), db.client());
    c.ok("CREATE TABLE q (id INT PRIMARY KEY, s VARCHAR(5), KEY (s))");
    c.ok("CREATE TABLE w (id INT PRIMARY KEY)");
    c.ok("INSERT INTO q VALUES (1, 'a'), (2, 'b'), (3, 'a'), (4, 'b')");
    c.ok("INSERT INTO w VALUES (1), (2), (3)");
    c.ok("BEGIN");
    let next = "SELECT id FROM q ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
    assert_eq!(c.rows(next), ["1"]);
    other.ok("BEGIN");
    assert_eq!(other.rows(next), ["2"]);
    assert_eq!(c.rows("SELECT id FROM q FOR UPDATE SKIP LOCKED").len(), 3);
    assert!(
        other
            .rows("SELECT id FROM q WHERE s = 'a' FOR SHARE SKIP LOCKED")
            .is_empty()
    );
    assert_eq!(other.code("SELECT id FROM q FOR SHARE NOWAIT"), 3572);
    other.ok("ROLLBACK");
    c.ok("ROLLBACK");

    // OF: the others are read, or locked otherwise.
    c.ok("BEGIN");
    c.ok("SELECT * FROM w WHERE id = 1 FOR UPDATE");
    let joined = "SELECT q.id FROM q JOIN w ON q.id = w.id ORDER BY q.id";
    assert_eq!(
        other.rows(&format!("{joined} FOR UPDATE OF q NOWAIT")),
        ["1", "2", "3"]
    );
    assert_eq!(
        other.rows(&format!(
            "{joined} FOR UPDATE OF q NOWAIT FOR SHARE OF w SKIP LOCKED"
        )),
        ["2", "3"]
    );
    assert_eq!(other.code(&format!("{joined} FOR SHARE OF w NOWAIT")), 3572);
    for (clauses, code) in [
        ("FOR UPDATE OF nothing", 3568),
        ("FOR UPDATE OF q FOR SHARE OF q", 3569),
        ("FOR UPDATE OF q, q FOR SHARE OF w, q", 3569),
        ("FOR UPDATE FOR SHARE OF w", 3569),
    ] {
        assert_eq!(
            other.code(&format!("{joined} {clauses}")),
            code,
            "{clauses}"
        );
    }
    c.ok("ROLLBACK");
}

/// What mysqldump does with `--single-transaction` and `--source-data` or `--flush-logs`.
#[test]
fn a_snapshot_outlives_the_read_lock_that_it_began_under() {
    let db = TestDb::new();
    let (mut dump, mut other) = (db.client(), db.client());
    other.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    other.ok("CREATE TABLE u (id INT PRIMARY KEY)");
    other.ok("INSERT INTO t VALUES (1)");
    dump.ok("FLUSH TABLES WITH READ LOCK");
    dump.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    assert_eq!(dump.one("SELECT COUNT(*) FROM t"), "1");
    dump.ok("SAVEPOINT sp");
    dump.ok("UNLOCK TABLES");
    // Others write, and see what they wrote; the dump doesn't.
    other.ok("INSERT INTO t VALUES (2)");
    other.ok("INSERT INTO u VALUES (1)");
    assert_eq!(dump.one("SELECT COUNT(*) FROM t"), "1");
    assert_eq!(dump.one("SELECT COUNT(*) FROM u"), "0");
    dump.ok("ROLLBACK TO SAVEPOINT sp");
    // Definitions stay until it ends.
    other.ok("SET lock_wait_timeout = 1");
    assert_eq!(other.code("ALTER TABLE t ADD v INT"), 1205);
    dump.ok("COMMIT");
    other.ok("ALTER TABLE t ADD v INT");
    assert_eq!(dump.one("SELECT COUNT(*) FROM t"), "2");
    // Without a transaction the lock goes as it came; LOCK TABLES commits, as ever.
    dump.ok("FLUSH TABLES WITH READ LOCK");
    dump.ok("UNLOCK TABLES");
    other.ok("DROP TABLE u");
    dump.ok("LOCK TABLES t WRITE");
    dump.ok("SET autocommit = 0");
    dump.ok("INSERT INTO t VALUES (3, NULL)");
    dump.ok("UNLOCK TABLES");
    dump.ok("ROLLBACK");
    assert_eq!(other.one("SELECT COUNT(*) FROM t"), "3");
}
