//! What ALTER TABLE, CREATE INDEX and DROP INDEX let go on beside them, and what their ALGORITHM and LOCK clauses may ask.

mod support;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{Client, TestDb};

fn filled(db: &TestDb, rows: u32) -> Client {
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), KEY ka (a))");
    let rows: Vec<String> = (0..rows).map(|i| format!("({i}, {i}, 'x{i}')")).collect();
    for some in rows.chunks(1000) {
        c.ok(&format!("INSERT INTO t VALUES {}", some.join(", ")));
    }
    c
}

/// How a metadata lock on `t` is held.
fn held(c: &mut Client, mode: &str) -> bool {
    let sql = format!(
        "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_name = 't' AND lock_type = '{mode}' AND lock_status = 'GRANTED'"
    );
    c.one(&sql) != "0"
}

/// Rows are read and changed while indexes are built, one after the other.
#[test]
fn indexes_are_built_beside_statements() {
    let db = TestDb::new();
    let mut c = filled(&db, 4000);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let builder = scope.spawn(|| {
            let mut c = db.client();
            while !stop.load(Ordering::Relaxed) {
                c.ok("ALTER TABLE t ADD UNIQUE KEY kb (b, id), ALGORITHM=INPLACE, LOCK=NONE");
                c.ok("DROP INDEX kb ON t ALGORITHM=INPLACE LOCK=NONE");
                c.ok("CREATE INDEX kb ON t (b) LOCK=DEFAULT");
                c.ok("ALTER TABLE t DROP KEY kb");
            }
        });
        let mut observer = db.client();
        let (begin, mut beside) = (Instant::now(), 0);
        // A statement between two looks that both find a build under way; now and then one build ends and the next begins.
        while beside < 5 && begin.elapsed() < Duration::from_secs(60) {
            let before = held(&mut observer, "SHARED_UPGRADABLE");
            c.ok("UPDATE t SET b = CONCAT('y', b) WHERE id BETWEEN 10 AND 12");
            c.ok("UPDATE t SET b = SUBSTR(b, 2) WHERE id BETWEEN 10 AND 12");
            assert_eq!(c.one("SELECT COUNT(*) FROM t"), "4000");
            beside += u32::from(before && held(&mut observer, "SHARED_UPGRADABLE"));
        }
        stop.store(true, Ordering::Relaxed);
        builder.join().unwrap();
        assert_eq!(beside, 5);
    });
    c.ok("ALTER TABLE t ADD UNIQUE KEY kb (b)");
    assert_eq!(
        c.one("SELECT COUNT(*) FROM t FORCE INDEX (kb) WHERE b > 'x'"),
        "4000"
    );
}

#[test]
fn clauses_are_kept_or_refused() {
    let db = TestDb::new();
    let mut c = filled(&db, 10);
    for sql in [
        "CREATE INDEX k ON t (b) ALGORITHM=INPLACE LOCK=NONE",
        "DROP INDEX k ON t LOCK=NONE ALGORITHM INPLACE",
        "CREATE UNIQUE INDEX k ON t (b) LOCK=SHARED",
        "DROP INDEX k ON t LOCK=SHARED",
        "ALTER TABLE t ADD KEY k (b), ALGORITHM=COPY, LOCK=SHARED",
        "ALTER TABLE t DROP KEY k, ALGORITHM=COPY",
        "ALTER TABLE t ADD KEY k (b), LOCK=EXCLUSIVE, ALGORITHM=DEFAULT",
        "ALTER TABLE t RENAME INDEX k TO l, ALGORITHM=INSTANT",
        "ALTER TABLE t RENAME INDEX l TO k, LOCK=NONE",
        "ALTER TABLE t ALTER a SET DEFAULT 3, ALGORITHM=INSTANT",
        "ALTER TABLE t ALTER a SET DEFAULT 4, ALGORITHM=INPLACE, LOCK=NONE",
        "ALTER TABLE t RENAME TO u, ALGORITHM=INPLACE, LOCK=NONE",
        "ALTER TABLE u RENAME TO t",
        "ALTER TABLE t ADD c INT, ALGORITHM=COPY, LOCK=EXCLUSIVE",
        "ALTER TABLE t ENGINE=InnoDB, ALGORITHM=INPLACE",
    ] {
        c.ok(sql);
    }
    let inplace = "ALGORITHM=INPLACE is not supported. Reason: the rows must be written anew. Try ALGORITHM=COPY.";
    let instant =
        "ALGORITHM=INSTANT is not supported for this operation. Try ALGORITHM=COPY/INPLACE.";
    let none = "LOCK=NONE is not supported. Reason: the table is locked exclusively meanwhile. Try LOCK=EXCLUSIVE.";
    let copy =
        "LOCK=NONE is not supported. Reason: COPY algorithm requires a lock. Try LOCK=SHARED.";
    for (sql, code, message) in [
        ("CREATE INDEX n ON t (b) ALGORITHM=INSTANT", 1845, instant),
        ("DROP INDEX k ON t ALGORITHM=INSTANT", 1845, instant),
        (
            "ALTER TABLE t ADD KEY n (b), ALGORITHM=COPY, LOCK=NONE",
            1846,
            copy,
        ),
        (
            "ALTER TABLE t DROP KEY k, LOCK=NONE, ALGORITHM=COPY",
            1846,
            copy,
        ),
        ("ALTER TABLE t ADD d INT, ALGORITHM=INPLACE", 1846, inplace),
        ("ALTER TABLE t ADD d INT, LOCK=NONE", 1846, none),
        ("ALTER TABLE t FORCE, LOCK=NONE", 1846, none),
        (
            "ALTER TABLE t ADD KEY n (b), LOCK=NONE, ALGORITHM=INSTANT",
            1221,
            "Incorrect usage of ALGORITHM=INSTANT and LOCK=NONE/SHARED/EXCLUSIVE",
        ),
    ] {
        let e = c.err(sql);
        assert_eq!((e.code, &*e.message), (code, message), "{sql}");
    }
    assert_eq!(c.err("DROP INDEX k ON t ALGORITHM=INSTANT").state, "0A000");
    c.ok("CREATE TABLE p (id INT PRIMARY KEY, a INT) PARTITION BY HASH (id) PARTITIONS 3");
    c.ok("INSERT INTO p VALUES (1, 1), (2, 2), (3, 3)");
    assert_eq!(c.code("ALTER TABLE p ADD KEY k (a), LOCK=NONE"), 1846);
    c.ok("ALTER TABLE p ADD KEY k (a)");
    // Nobody else knows a temporary table.
    c.ok("CREATE TEMPORARY TABLE h (id INT PRIMARY KEY, a INT)");
    c.ok("INSERT INTO h VALUES (1, 1)");
    c.ok("ALTER TABLE h ADD KEY k (a), LOCK=NONE");
    c.ok("ALTER TABLE h RENAME KEY k TO l, ALGORITHM=INSTANT");
    assert_eq!(c.one("SELECT id FROM h FORCE INDEX (l) WHERE a = 1"), "1");
}

/// Under LOCK TABLES a build leaves the lock as it was.
#[test]
fn a_build_in_a_locked_table_lets_nobody_in() {
    let db = TestDb::new();
    let mut c = filled(&db, 10);
    let mut observer = db.client();
    c.ok("LOCK TABLES t WRITE");
    c.ok("ALTER TABLE t ADD KEY k (b), LOCK=NONE");
    assert!(held(&mut observer, "EXCLUSIVE"));
    c.ok("INSERT INTO t VALUES (100, 1, 'z')");
    c.ok("UNLOCK TABLES");
    assert!(!held(&mut observer, "EXCLUSIVE"));
    assert_eq!(
        c.one("SELECT id FROM t FORCE INDEX (k) WHERE b = 'z'"),
        "100"
    );
}

#[test]
fn the_size_of_the_modification_log_is_a_variable() {
    let db = TestDb::with(&[("innodb_online_alter_log_max_size", "1048576")]);
    let mut c = db.client();
    let size = "SELECT @@GLOBAL.innodb_online_alter_log_max_size";
    assert_eq!(c.one(size), "1048576");
    c.ok("SET GLOBAL innodb_online_alter_log_max_size = 1");
    assert_eq!(c.one(size), "65536");
    c.ok("SET GLOBAL innodb_online_alter_log_max_size = DEFAULT");
    assert_eq!(c.one(size), "134217728");
}

/// Other names for keys cost no rewriting, in partitions neither.
#[test]
fn keys_are_renamed_in_place() {
    let db = TestDb::new();
    let mut c = filled(&db, 10);
    let mut old = db.client();
    old.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    c.ok("ALTER TABLE t RENAME INDEX ka TO kb, COMMENT 'other'");
    // Nothing is younger than the view.
    assert_eq!(
        old.one("SELECT id FROM t FORCE INDEX (kb) WHERE a = 3"),
        "3"
    );
    old.ok("COMMIT");
    assert_eq!(
        c.code("SELECT id FROM t FORCE INDEX (ka) WHERE a = 3"),
        1176
    );
    let done = c.ok("ALTER TABLE t ADD KEY ks (b)").done;
    assert_eq!(done.info, "Records: 0  Duplicates: 0  Warnings: 0");
    // Names may change places.
    let done = c
        .ok("ALTER TABLE t RENAME KEY ks TO x, RENAME KEY kb TO ks, RENAME KEY x TO kb")
        .done;
    assert_eq!(done.info, "Records: 0  Duplicates: 0  Warnings: 0");
    assert_eq!(
        c.one("SELECT id FROM t FORCE INDEX (kb) WHERE b = 'x4'"),
        "4"
    );
    assert_eq!(c.one("SELECT id FROM t FORCE INDEX (ks) WHERE a = 4"), "4");

    c.ok("CREATE TABLE p (id INT, a INT, UNIQUE KEY ki (id), KEY ka (a)) PARTITION BY HASH (id) PARTITIONS 3");
    c.ok("INSERT INTO p VALUES (1, 1), (2, 2), (3, 3)");
    let done = c.ok("ALTER TABLE p RENAME KEY ka TO kb").done;
    assert_eq!(done.info, "Records: 0  Duplicates: 0  Warnings: 0");
    assert_eq!(c.one("SELECT id FROM p FORCE INDEX (kb) WHERE a = 2"), "2");
    c.ok("INSERT INTO p VALUES (4, 4)");
    assert_eq!(c.code("INSERT INTO p VALUES (4, 5)"), 1062);
    let mut db = db;
    drop((c, old));
    db.reopen();
    let mut c = db.client();
    assert_eq!(c.one("SELECT id FROM p FORCE INDEX (kb) WHERE a = 4"), "4");
    assert_eq!(c.one("SELECT id FROM t FORCE INDEX (ks) WHERE a = 4"), "4");
}
