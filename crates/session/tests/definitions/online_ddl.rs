//! What ALTER TABLE, CREATE INDEX and DROP INDEX let go on beside them, and what their ALGORITHM and LOCK clauses may ask.

use crate::support::{Client, TestDb};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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

/// How far a statement has come is seen while it runs. A reader in the middle of it keeps it from ending.
#[test]
fn progress_is_seen() {
    let db = TestDb::new();
    let mut c = filled(&db, 4000);
    let current = "SELECT event_name, work_completed, work_estimated FROM performance_schema.events_stages_current";
    for (sql, undo, last) in [
        ("ALTER TABLE t FORCE", "DO 1", "log apply table"),
        (
            "CREATE INDEX kb ON t (b)",
            "DROP INDEX kb ON t",
            "log apply index",
        ),
    ] {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let altering = scope.spawn(|| {
                let mut c = db.client();
                while !stop.load(Ordering::Relaxed) {
                    c.ok(sql);
                    c.ok(undo);
                }
            });
            let mut observer = db.client();
            let begin = Instant::now();
            let under_way = loop {
                c.ok("BEGIN");
                c.ok("SELECT * FROM t LIMIT 1");
                if !observer.rows(current).is_empty() {
                    break true;
                }
                c.ok("COMMIT");
                if begin.elapsed() > Duration::from_secs(60) {
                    break false;
                }
            };
            stop.store(true, Ordering::Relaxed);
            assert!(under_way, "{sql} is never seen");
            let event = format!("stage/innodb/alter table ({last})|");
            let seen = loop {
                let seen = observer.one(current);
                if seen.starts_with(&event) {
                    break seen;
                }
                assert!(begin.elapsed() < Duration::from_secs(120), "{sql}: {seen}");
            };
            let work: Vec<u64> = seen[event.len()..]
                .split('|')
                .map(|n| n.parse().unwrap())
                .collect();
            assert!(work[0] >= 3000 && work[1] >= work[0], "{seen}");
            let state = format!(
                "SELECT COUNT(*) FROM information_schema.processlist WHERE state REGEXP '^altering table .{last}.: [0-9]+%$' OR state LIKE 'Waiting for table metadata lock'"
            );
            assert_eq!(observer.one(&state), "1");
            c.ok("COMMIT");
            altering.join().unwrap();
            assert!(observer.rows(current).is_empty());
        });
    }
    assert_eq!(
        c.one("SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE name LIKE 'stage/innodb/alter%' AND enabled = 'YES'"),
        "7"
    );
    assert_eq!(
        c.one("SELECT enabled FROM performance_schema.setup_consumers WHERE name = 'events_stages_current'"),
        "YES"
    );
}

/// Rows are held to a new condition beside readers: one in the middle of it is there with the statement, which can't end before.
#[test]
fn conditions_are_looked_at_beside_readers() {
    let db = TestDb::new();
    let mut c = filled(&db, 4000);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let altering = scope.spawn(|| {
            let mut c = db.client();
            while !stop.load(Ordering::Relaxed) {
                c.ok("ALTER TABLE t ADD CONSTRAINT known CHECK (a >= 0)");
                c.ok("ALTER TABLE t DROP CHECK known");
            }
        });
        let mut observer = db.client();
        let begin = Instant::now();
        let beside = loop {
            c.ok("BEGIN");
            c.ok("SELECT * FROM t LIMIT 1");
            let beside = held(&mut observer, "SHARED_NO_WRITE");
            c.ok("COMMIT");
            if beside || begin.elapsed() > Duration::from_secs(60) {
                break beside;
            }
        };
        stop.store(true, Ordering::Relaxed);
        altering.join().unwrap();
        assert!(beside);
    });
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
        "ALTER TABLE t ADD d INT FIRST, LOCK=NONE",
        "ALTER TABLE t ADD e INT DEFAULT 3, DROP d, ALGORITHM=INSTANT",
        "ALTER TABLE t ENGINE=InnoDB, ALGORITHM=INPLACE",
        "ALTER TABLE t ADD d INT, ALGORITHM=INPLACE, LOCK=NONE",
        "ALTER TABLE t DROP d, LOCK=NONE",
        "ALTER TABLE t MODIFY c BIGINT, LOCK=NONE",
        "ALTER TABLE t MODIFY b VARCHAR(30), ALGORITHM=INPLACE",
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id, a), ALGORITHM=INPLACE, LOCK=NONE",
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id)",
    ] {
        c.ok(sql);
    }
    let reason = |what: &str, reason: &str, instead: &str| {
        format!("{what} is not supported. Reason: {reason}. Try {instead}.")
    };
    let of_type = reason(
        "ALGORITHM=INPLACE",
        "Cannot change column type INPLACE",
        "ALGORITHM=COPY",
    );
    let at_once = of_type.replace("ALGORITHM=INPLACE", "ALGORITHM=INSTANT");
    let no_key = "Dropping a primary key is not allowed without also adding a new primary key";
    let no_key_inplace = reason("ALGORITHM=INPLACE", no_key, "ALGORITHM=COPY");
    let no_key_lock = reason("LOCK=NONE", no_key, "LOCK=SHARED");
    let numbers = reason(
        "LOCK=NONE",
        "Adding an auto-increment column requires a lock",
        "LOCK=SHARED",
    );
    let plain = "ALGORITHM=INPLACE is not supported for this operation. Try ALGORITHM=COPY.";
    let instant =
        "ALGORITHM=INSTANT is not supported for this operation. Try ALGORITHM=COPY/INPLACE.";
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
        (
            "ALTER TABLE t MODIFY a BIGINT, ALGORITHM=INPLACE",
            1846,
            &of_type,
        ),
        (
            "ALTER TABLE t MODIFY a BIGINT, ALGORITHM=INSTANT",
            1846,
            &at_once,
        ),
        (
            "ALTER TABLE t DROP PRIMARY KEY, ALGORITHM=INPLACE",
            1846,
            &no_key_inplace,
        ),
        (
            "ALTER TABLE t DROP PRIMARY KEY, LOCK=NONE",
            1846,
            &no_key_lock,
        ),
        (
            "ALTER TABLE t ADD n INT AUTO_INCREMENT UNIQUE, LOCK=NONE",
            1846,
            &numbers,
        ),
        (
            "ALTER TABLE t ADD g INT AS (a + 1) STORED, ALGORITHM=INPLACE",
            1845,
            plain,
        ),
        (
            "ALTER TABLE t MODIFY a BIGINT, ALGORITHM=COPY, LOCK=NONE",
            1846,
            copy,
        ),
        ("ALTER TABLE t FORCE, ALGORITHM=COPY, LOCK=NONE", 1846, copy),
        ("ALTER TABLE t FORCE, ALGORITHM=INSTANT", 1845, instant),
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
    for sql in [
        "ALTER TABLE p ADD KEY k (a), LOCK=NONE",
        "ALTER TABLE p ALGORITHM=INPLACE, LOCK=NONE, ADD PARTITION PARTITIONS 2",
        "ALTER TABLE p LOCK=EXCLUSIVE, COALESCE PARTITION 1",
        "ALTER TABLE p ALGORITHM=COPY, LOCK=SHARED, REBUILD PARTITION ALL",
        "ALTER TABLE p LOCK=NONE PARTITION BY KEY (id) PARTITIONS 2",
    ] {
        c.ok(sql);
    }
    for (sql, code, message) in [
        (
            "ALTER TABLE p ALGORITHM=INPLACE PARTITION BY HASH (id)",
            1845,
            plain,
        ),
        (
            "ALTER TABLE p ALGORITHM=INPLACE REMOVE PARTITIONING",
            1845,
            plain,
        ),
        (
            "ALTER TABLE p ALGORITHM=COPY, LOCK=NONE, COALESCE PARTITION 1",
            1846,
            copy,
        ),
        (
            "ALTER TABLE p ALGORITHM=INSTANT, COALESCE PARTITION 1",
            1845,
            instant,
        ),
    ] {
        let e = c.err(sql);
        assert_eq!((e.code, &*e.message), (code, message), "{sql}");
    }
    // Nobody else knows a temporary table.
    c.ok("CREATE TEMPORARY TABLE h (id INT PRIMARY KEY, a INT)");
    c.ok("INSERT INTO h VALUES (1, 1)");
    c.ok("ALTER TABLE h ADD KEY k (a), LOCK=NONE");
    c.ok("ALTER TABLE h RENAME KEY k TO l, ALGORITHM=INSTANT");
    assert_eq!(c.one("SELECT id FROM h FORCE INDEX (l) WHERE a = 1"), "1");
}

/// What LOCK and ALGORITHM=COPY keep out of a rebuild waits for its end.
#[test]
fn a_rebuild_keeps_out_what_it_is_asked_to() {
    let db = TestDb::new();
    let mut c = filled(&db, 4000);
    for (how, seen) in [
        ("LOCK=NONE", "SHARED_UPGRADABLE"),
        ("LOCK=SHARED", "SHARED_NO_WRITE"),
        ("ALGORITHM=COPY", "SHARED_NO_WRITE"),
        ("LOCK=EXCLUSIVE", "EXCLUSIVE"),
    ] {
        let modes = ["SHARED_UPGRADABLE", "SHARED_NO_WRITE"];
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let altering = scope.spawn(|| {
                let mut c = db.client();
                while !stop.load(Ordering::Relaxed) {
                    c.ok(&format!("ALTER TABLE t MODIFY a BIGINT, {how}"));
                    c.ok(&format!("ALTER TABLE t MODIFY a INT, {how}"));
                }
            });
            let begin = Instant::now();
            let mut found = false;
            while !found && begin.elapsed() < Duration::from_secs(60) {
                for mode in modes.into_iter().chain([seen]) {
                    let holds = held(&mut c, mode);
                    // All of them are upgradable while they wait for the lock.
                    let other = mode != seen && mode != "SHARED_UPGRADABLE";
                    assert!(!(holds && other), "{how}: {mode}");
                    found |= holds && mode == seen;
                }
            }
            stop.store(true, Ordering::Relaxed);
            altering.join().unwrap();
            assert!(found, "{how}");
        });
    }
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

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }
}

/// A change of table `t`, and the same of `m`.
fn change(rng: &mut Rng) -> (String, String) {
    let (a, b) = (rng.below(2000) + 1, rng.below(2000) + 1);
    let sql = match rng.below(6) {
        0 => format!("DELETE FROM t WHERE id = {a}"),
        1 => {
            let insert = format!("INSERT INTO t (v) VALUES (CONCAT('n', {b}))");
            let same = "INSERT INTO m SELECT * FROM t WHERE id = LAST_INSERT_ID()";
            return (insert, same.to_string());
        }
        2 => format!("UPDATE t SET id = id + 100000 WHERE id = {a}"),
        // A row takes the unique key of another, which takes a new one.
        3 => format!(
            "UPDATE t SET u = IF(u = {a}, -{b}, {a}) WHERE u IN ({a}, {b}) ORDER BY u = {b}"
        ),
        4 => format!("UPDATE t SET v = REPEAT('x', {a} % 30) WHERE id IN ({a}, {b})"),
        _ => format!("REPLACE INTO t VALUES ({a}, {b}, 'r')"),
    };
    let same = sql.replacen(" t ", " m ", 1);
    (sql, same)
}

/// Transactions of two tables that have the same rows, until told to stop; how many were kept.
fn write(mut c: Client, seed: u64, stop: &AtomicBool) -> u64 {
    let mut rng = Rng(seed);
    let mut kept = 0;
    while !stop.load(Ordering::Relaxed) {
        c.ok("BEGIN");
        let keeps = (0..1 + rng.below(3)).all(|_| {
            let (sql, same) = change(&mut rng);
            c.run(&sql).is_ok() && c.run(&same).is_ok()
        });
        // Whoever was the victim of a deadlock, or met a duplicate, leaves nothing.
        let keeps = keeps && rng.below(4) > 0;
        c.ok(if keeps { "COMMIT" } else { "ROLLBACK" });
        kept += u64::from(keeps);
    }
    kept
}

/// Rows change in every way while a table is written anew, time and again, and not one change is lost or made twice.
#[test]
fn a_rebuild_follows_what_changes() {
    let db = TestDb::new();
    let mut c = db.client();
    let columns =
        "(id INT AUTO_INCREMENT PRIMARY KEY, u INT, v VARCHAR(30), UNIQUE u (u), KEY v (v))";
    c.ok(&format!("CREATE TABLE t {columns}"));
    c.ok(&format!("CREATE TABLE m {columns}"));
    let rows: Vec<String> = (0..2000).map(|n| format!("({n}, 'v{}')", n % 7)).collect();
    c.ok(&format!("INSERT INTO t (u, v) VALUES {}", rows.join(",")));
    c.ok("INSERT INTO m SELECT * FROM t");
    let stop = AtomicBool::new(false);
    let kept: u64 = std::thread::scope(|s| {
        let writers = [1, 2, 3].map(|seed| {
            let (client, stop) = (db.client(), &stop);
            s.spawn(move || write(client, seed, stop))
        });
        let changes = [
            "OPTIMIZE TABLE t",
            "ALTER TABLE t FORCE, LOCK=NONE",
            "ALTER TABLE t ADD KEY vu (v, u), ADD KEY uv (u, v)",
            "ALTER TABLE t DROP KEY vu, DROP KEY uv",
        ];
        for sql in changes.iter().cycle().take(16) {
            c.ok(sql);
        }
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().map(|w| w.join().unwrap()).sum()
    });
    assert!(kept > 0);
    assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
    let all = "SELECT id, u, v FROM";
    let want = c.rows(&format!("{all} m ORDER BY id"));
    for index in ["PRIMARY", "u", "v"] {
        let sql = format!("{all} t FORCE INDEX ({index}) WHERE u IS NULL OR u > -5000 ORDER BY id");
        assert_eq!(c.rows(&sql), want, "{index}");
    }
    c.ok("INSERT INTO t (v) VALUES ('last')");
    assert_eq!(c.one("SELECT v FROM t ORDER BY id DESC LIMIT 1"), "last");
}
