//! Tables written anew while their rows change: one that is altered time and again under writers holds what one left alone holds, and an ALTER that
//! fails leaves the table as it was.
//!
//! `REBUILD_SEED=n` starts from another seed, `REBUILD_ROUNDS=n` runs more rounds.

use crate::support::{Client, TestDb};
use millpond_session::SqlError;
use std::sync::atomic::{AtomicBool, Ordering};

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

fn number(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok().and_then(|s| s.parse().ok());
    given.unwrap_or(default)
}

/// A table `t` that is altered, beside a table `m` of the same columns that is not.
struct Shape {
    columns: &'static str,
    /// Behind the columns of `t`.
    options: &'static str,
    /// What else there is.
    setup: &'static [&'static str],
    rows: u64,
    /// A row of a number.
    row: fn(u64) -> String,
    /// A change of `t`, and the same of `m`.
    change: fn(&mut Rng) -> (String, String),
    /// Columns that both have throughout.
    selected: &'static str,
    alters: &'static [&'static str],
}

/// The same change of both tables.
fn both(sql: String) -> (String, String) {
    let same = sql.replacen(" t ", " m ", 1);
    (sql, same)
}

/// Transactions of both tables until told to stop; how many were kept.
fn write(
    mut c: Client,
    change: fn(&mut Rng) -> (String, String),
    seed: u64,
    stop: &AtomicBool,
) -> u64 {
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

/// Every index of `t` has the rows of `m`.
fn agrees(c: &mut Client, all: &str) {
    assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
    let want = c.rows(&format!("SELECT {all} FROM m ORDER BY {all}"));
    assert_eq!(c.rows(&format!("SELECT {all} FROM t ORDER BY {all}")), want);
    for index in c.ok("SHOW INDEX FROM t").rows {
        let sql = format!("SELECT COUNT(*) FROM t FORCE INDEX (`{}`)", index[2]);
        assert_eq!(c.one(&sql), want.len().to_string(), "{sql}");
    }
}

fn nothing_is_left(db: &TestDb) {
    let left = db.instance().engine().tables("#sql").unwrap_or_default();
    assert!(left.is_empty(), "{left:?}");
}

/// Alters a table under three writers; the database of the last round.
fn run(shape: &Shape) -> TestDb {
    let (seed, rounds) = (number("REBUILD_SEED", 1), number("REBUILD_ROUNDS", 1));
    for seed in seed + 1..seed + rounds {
        round(shape, seed);
    }
    round(shape, seed)
}

fn round(shape: &Shape, seed: u64) -> TestDb {
    let db = TestDb::with(&[("innodb_flush_log_at_trx_commit", "0")]);
    let mut c = db.client();
    let columns = shape.columns;
    c.ok(&format!("CREATE TABLE t {columns} {}", shape.options));
    c.ok(&format!("CREATE TABLE m {columns}"));
    let rows: Vec<String> = (1..=shape.rows).map(shape.row).collect();
    c.ok(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    c.ok("INSERT INTO m SELECT * FROM t");
    shape.setup.iter().for_each(|sql| drop(c.ok(sql)));
    let stop = AtomicBool::new(false);
    let kept: u64 = std::thread::scope(|s| {
        let writers = [0, 1, 2].map(|n| {
            let (client, stop) = (db.client(), &stop);
            s.spawn(move || write(client, shape.change, seed * 10 + n, stop))
        });
        let altered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            shape.alters.iter().for_each(|sql| drop(c.ok(sql)));
        }));
        stop.store(true, Ordering::Relaxed);
        let kept = writers.into_iter().map(|w| w.join().unwrap()).sum();
        if let Err(e) = altered {
            std::panic::resume_unwind(e);
        }
        kept
    });
    assert!(kept > 0);
    agrees(&mut c, shape.selected);
    nothing_is_left(&db);
    db
}

/// A change of a table with numbered rows, a unique key that rows pass on, and a text.
fn numbered(rng: &mut Rng) -> (String, String) {
    let (a, b) = (rng.below(1000) + 1, rng.below(1000) + 1);
    both(match rng.below(6) {
        0 => format!("DELETE FROM t WHERE id = {a}"),
        1 => {
            let insert = format!("INSERT INTO t (v) VALUES (CONCAT('n', {b}))");
            let same =
                "INSERT INTO m (id, u, v) SELECT id, u, v FROM t WHERE id = LAST_INSERT_ID()";
            return (insert, same.to_string());
        }
        2 => format!("UPDATE t SET id = id + 100000 WHERE id = {a}"),
        // A row takes the unique key of another, which takes a new one.
        3 => format!(
            "UPDATE t SET u = IF(u = {a}, -{b}, {a}) WHERE u IN ({a}, {b}) ORDER BY u = {b}"
        ),
        4 => format!("UPDATE t SET v = REPEAT('x', {a} % 30) WHERE id IN ({a}, {b})"),
        _ => format!("REPLACE INTO t (id, u, v) VALUES ({a}, {b}, 'r')"),
    })
}

/// Columns come, go and get other types; the key's bytes change too.
#[test]
fn columns_change_beside_writers() {
    let db = run(&Shape {
        columns: "(id INT AUTO_INCREMENT PRIMARY KEY, u INT, v VARCHAR(40), UNIQUE u (u), KEY v (v))",
        options: "",
        setup: &[],
        rows: 1000,
        row: |n| format!("({n}, {n}, 'v{}')", n % 7),
        change: numbered,
        selected: "id, u, v",
        alters: &[
            "ALTER TABLE t MODIFY u BIGINT, LOCK=NONE",
            "ALTER TABLE t ADD COLUMN a INT NOT NULL DEFAULT 7 FIRST, ADD COLUMN d DATETIME DEFAULT CURRENT_TIMESTAMP, MODIFY v VARCHAR(300), ADD KEY a (a, id)",
            "ALTER TABLE t MODIFY id BIGINT UNSIGNED AUTO_INCREMENT, LOCK=NONE",
            "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            "ALTER TABLE t ADD COLUMN g INT GENERATED ALWAYS AS (u * 2) STORED, ADD UNIQUE KEY g (g), ADD CONSTRAINT seven CHECK (a = 7)",
            "ALTER TABLE t DROP COLUMN a, DROP COLUMN d, MODIFY v CHAR(60)",
            "ALTER TABLE t DROP COLUMN g, MODIFY id INT AUTO_INCREMENT, MODIFY u VARCHAR(20)",
            "ALTER TABLE t MODIFY u INT, MODIFY v VARCHAR(40), CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
        ],
    });
    // Numbers go on behind the last one that was given.
    let mut c = db.client();
    c.ok("INSERT INTO t (v) VALUES ('last')");
    assert_eq!(c.one("SELECT v FROM t ORDER BY id DESC LIMIT 1"), "last");
}

/// Rows get other primary keys, also such as they pass on to each other.
#[test]
fn keys_change_beside_writers() {
    run(&Shape {
        columns: "(id INT NOT NULL AUTO_INCREMENT, g INT NOT NULL, u INT NOT NULL, v VARCHAR(40), PRIMARY KEY (id), UNIQUE u (u), KEY id (id))",
        options: "",
        setup: &[],
        rows: 1000,
        row: |n| format!("({n}, {}, {n}, 'v')", n % 9),
        change: |rng| {
            let (a, b) = (rng.below(1000) + 1, rng.below(1000) + 1);
            both(match rng.below(6) {
                0 => format!("DELETE FROM t WHERE u = {a}"),
                1 => format!("INSERT INTO t (id, g, u, v) VALUES ({a}, {b} % 9, {b}, 'n')"),
                2 => format!("UPDATE t SET g = {b} % 9 WHERE u IN ({a}, {b})"),
                3 => format!(
                    "UPDATE t SET u = IF(u = {a}, -{b}, {a}) WHERE u IN ({a}, {b}) ORDER BY u = {b}"
                ),
                4 => format!("UPDATE t SET id = {b} WHERE u = {a}"),
                _ => format!("UPDATE t SET v = REPEAT('x', {a} % 30) WHERE u IN ({a}, {b})"),
            })
        },
        selected: "id, g, u, v",
        alters: &[
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (g, id), ALGORITHM=INPLACE, LOCK=NONE",
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (u), LOCK=NONE",
            "ALTER TABLE t DROP PRIMARY KEY",
            "ALTER TABLE t ADD PRIMARY KEY (id), MODIFY g BIGINT NOT NULL, LOCK=NONE",
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (v(5), id, g), MODIFY v VARCHAR(40) NOT NULL",
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id DESC), MODIFY v VARCHAR(40)",
        ],
    });
}

/// Rows without a key keep what tells one from another; then they get keys.
#[test]
fn tables_without_a_key_change_beside_writers() {
    run(&Shape {
        columns: "(a INT, b VARCHAR(20), KEY a (a))",
        options: "",
        setup: &[],
        rows: 600,
        row: |n| format!("({}, 'b{}')", n % 200, n % 7),
        change: |rng| {
            let (a, b) = (rng.below(200), rng.below(200));
            both(match rng.below(4) {
                0 => format!("DELETE FROM t WHERE a = {a}"),
                1 => format!("INSERT INTO t (a, b) VALUES ({a}, 'n'), ({b}, 'n'), ({a}, 'n')"),
                2 => format!("UPDATE t SET a = {b} WHERE a = {a}"),
                _ => format!("UPDATE t SET b = REPEAT('x', {b} % 20) WHERE a = {a}"),
            })
        },
        selected: "a, b",
        alters: &[
            "OPTIMIZE TABLE t",
            "ALTER TABLE t FORCE, LOCK=NONE",
            "ALTER TABLE t MODIFY a BIGINT, ADD COLUMN c INT DEFAULT 3, LOCK=NONE",
            "ALTER TABLE t ADD KEY b (b), ADD KEY ba (b, a)",
            "ALTER TABLE t MODIFY a INT, DROP COLUMN c, LOCK=NONE",
            "ALTER TABLE t PARTITION BY HASH (a) PARTITIONS 3",
            "OPTIMIZE TABLE t",
            "ALTER TABLE t REBUILD PARTITION ALL",
            "ALTER TABLE t MODIFY b VARCHAR(30)",
            "ALTER TABLE t REMOVE PARTITIONING",
        ],
    });
}

fn in_partitions(rng: &mut Rng) -> (String, String) {
    let (a, b) = (rng.below(1000) + 1, rng.below(1000) + 1);
    both(match rng.below(5) {
        0 => format!("DELETE FROM t WHERE id = {a}"),
        1 => format!("INSERT INTO t (id, p, v) VALUES ({a}, {b}, 'n')"),
        // From one partition to another.
        2 => format!("UPDATE t SET p = {b} WHERE id = {a}"),
        3 => format!("UPDATE t SET id = {b} WHERE id = {a} AND p < 500"),
        _ => format!("UPDATE t SET v = REPEAT('x', {a} % 30) WHERE id IN ({a}, {b})"),
    })
}

/// Rows move between partitions, by statements and by ALTER.
#[test]
fn partitions_change_beside_writers() {
    let db = run(&Shape {
        columns: "(id INT NOT NULL AUTO_INCREMENT, p INT NOT NULL, v VARCHAR(40), PRIMARY KEY (id, p), KEY v (v))",
        options: "PARTITION BY RANGE (p) (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN (500), PARTITION p2 VALUES LESS THAN (2000))",
        setup: &[],
        rows: 1000,
        row: |n| format!("({n}, {}, 'v{}')", n * 7 % 1000, n % 7),
        change: in_partitions,
        selected: "id, p, v",
        alters: &[
            "ALTER TABLE t REORGANIZE PARTITION p0, p1 INTO (PARTITION p1 VALUES LESS THAN (500))",
            "ALTER TABLE t ALGORITHM=INPLACE, LOCK=NONE, REORGANIZE PARTITION p2 INTO (PARTITION p2 VALUES LESS THAN (600), PARTITION p3 VALUES LESS THAN MAXVALUE)",
            "ALTER TABLE t REBUILD PARTITION p2, p3",
            "OPTIMIZE TABLE t",
            "ALTER TABLE t FORCE, LOCK=NONE",
            "ALTER TABLE t ADD KEY pv (p, v), LOCK=NONE",
            "ALTER TABLE t MODIFY p BIGINT NOT NULL, ADD COLUMN x INT DEFAULT 4",
            "ALTER TABLE t PARTITION BY HASH (id) PARTITIONS 3",
            "ALTER TABLE t ADD PARTITION PARTITIONS 2",
            "ALTER TABLE t COALESCE PARTITION 3",
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (p, id), ADD KEY id (id)",
            "ALTER TABLE t DROP COLUMN x, MODIFY p INT NOT NULL",
            "ALTER TABLE t REMOVE PARTITIONING",
            "ALTER TABLE t PARTITION BY KEY (p) PARTITIONS 4",
        ],
    });
    let mut c = db.client();
    c.ok("INSERT INTO t (p, v) VALUES (1, 'last')");
    assert_eq!(c.one("SELECT v FROM t ORDER BY id DESC LIMIT 1"), "last");
}

/// Children go and change with their parents, and keep them, whichever of the tables is being written anew.
#[test]
fn parents_and_children_change_beside_writers() {
    let db = run(&Shape {
        columns: "(id INT AUTO_INCREMENT PRIMARY KEY, g INT NOT NULL, CHECK (g >= 0))",
        options: "",
        setup: &[
            "CREATE TABLE c (id INT AUTO_INCREMENT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES t (id) ON DELETE CASCADE ON UPDATE CASCADE)",
            "CREATE TABLE d (id INT AUTO_INCREMENT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES m (id) ON DELETE CASCADE ON UPDATE CASCADE)",
            "INSERT INTO c SELECT id, g FROM t",
            "INSERT INTO d SELECT id, p FROM c",
        ],
        rows: 400,
        row: |n| format!("({n}, {})", n / 3 + 1),
        change: |rng| {
            let (a, b) = (rng.below(400) + 1, rng.below(400) + 1);
            both(match rng.below(7) {
                0 => format!("DELETE FROM t WHERE id = {a}"),
                1 => format!("INSERT INTO t (id, g) VALUES ({a}, {b})"),
                2 => format!("UPDATE t SET id = {b} WHERE id = {a}"),
                // Refused as often as not.
                3 => format!("UPDATE t SET g = g + {a} - 200 WHERE id = {b}"),
                n => {
                    let sql = match n {
                        4 => format!("INSERT INTO c (id, p) VALUES ({a}, {b})"),
                        5 => format!("UPDATE c SET p = {b} WHERE id = {a}"),
                        _ => format!("DELETE FROM c WHERE id = {a}"),
                    };
                    let same = sql.replacen(" c ", " d ", 1);
                    return (sql, same);
                }
            })
        },
        selected: "id, g",
        alters: &[
            "ALTER TABLE t ADD COLUMN s BIGINT GENERATED ALWAYS AS (g + 1) STORED, ADD KEY s (s)",
            "ALTER TABLE c ADD COLUMN x VARCHAR(20) DEFAULT 'x', LOCK=NONE",
            "OPTIMIZE TABLE t",
            "ALTER TABLE c MODIFY x CHAR(5) NOT NULL DEFAULT 'x', ADD KEY x (x), LOCK=NONE",
            "ALTER TABLE t MODIFY g BIGINT NOT NULL",
            "ALTER TABLE c DROP PRIMARY KEY, MODIFY id INT NOT NULL, ADD PRIMARY KEY (id, x), LOCK=NONE",
            "ALTER TABLE t MODIFY g INT NOT NULL, DROP COLUMN s",
        ],
    });
    let mut c = db.client();
    let want = c.rows("SELECT id, p FROM d ORDER BY id");
    assert_eq!(c.rows("SELECT id, p FROM c ORDER BY id"), want);
    assert_eq!(c.rows("CHECK TABLE c"), ["test.c|check|status|OK"]);
    let orphans = "SELECT COUNT(*) FROM c WHERE p IS NOT NULL AND p NOT IN (SELECT id FROM t)";
    assert_eq!(c.one(orphans), "0");
}

fn filled(db: &TestDb) -> Client {
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, u INT, v VARCHAR(20))");
    let rows: Vec<String> = (0..4000).map(|n| format!("({n}, {n}, 'v')")).collect();
    c.ok(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    c
}

/// Whether a rebuild lets statements at `t`.
fn is_under_way(c: &mut Client) -> bool {
    let sql = "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_name = 't' AND lock_type = 'SHARED_UPGRADABLE' AND lock_status = 'GRANTED'";
    c.one(sql) != "0"
}

/// Alters `t`, and while that is under way makes a change by a transaction that stays open until `end`, which gets the other's id; what
/// the ALTER says. Where it was done before the change was, it is taken back by `undo` and made again.
fn amid(
    db: &TestDb,
    alter: &str,
    undo: &str,
    change: &str,
    end: impl Fn(&mut Client, u64),
) -> Result<(), SqlError> {
    let (mut c, mut observer) = (db.client(), db.client());
    for _ in 0..1000 {
        let mut altering = db.client();
        let id = u64::from(altering.0.id());
        let (met, result) = std::thread::scope(|s| {
            let altered = s.spawn(move || altering.run(alter).map(drop));
            while !altered.is_finished() && !is_under_way(&mut observer) {}
            c.ok("BEGIN");
            let changed = c.run(change).is_ok();
            // The transaction has used the table: the ALTER does not end before it does.
            let met = changed && is_under_way(&mut observer);
            match met {
                true => end(&mut c, id),
                false => drop(c.ok("ROLLBACK")),
            }
            (met, altered.join().unwrap())
        });
        // What fails while the change is being made has met a part of it.
        if met || result.is_err() {
            return result;
        }
        c.ok(undo);
    }
    panic!("{alter}: no change was made in the midst of it");
}

/// What rows become meanwhile may make the change impossible: then it fails as if they had been so before, and changes nothing; unless they
/// are rolled back.
#[test]
fn what_is_met_while_following_fails_the_change() {
    let db = TestDb::new();
    let mut c = filled(&db);
    let define = "SHOW CREATE TABLE t";
    let before = c.rows(define);
    for (alter, undo, change, code, message) in [
        (
            "ALTER TABLE t ADD UNIQUE KEY u (u), ADD KEY v (v)",
            "ALTER TABLE t DROP KEY u, DROP KEY v",
            "INSERT INTO t VALUES (10001, 7, 'n')",
            1062,
            "Duplicate entry '7' for key 't.u'",
        ),
        (
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (u)",
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id), MODIFY u INT",
            "UPDATE t SET u = 8 WHERE id = 9",
            1062,
            "Duplicate entry '8' for key 't.PRIMARY'",
        ),
        (
            "ALTER TABLE t MODIFY u SMALLINT",
            "ALTER TABLE t MODIFY u INT",
            "INSERT INTO t VALUES (10001, 70000, 'n')",
            1264,
            "Out of range value for column 'u'",
        ),
        (
            "ALTER TABLE t MODIFY u INT NOT NULL",
            "ALTER TABLE t MODIFY u INT",
            "UPDATE t SET u = NULL WHERE id = 5",
            1138,
            "Invalid use of NULL value",
        ),
        (
            "ALTER TABLE t ADD CONSTRAINT few CHECK (u < 5000), ADD KEY u (u), ADD KEY v (v)",
            "ALTER TABLE t DROP CHECK few, DROP KEY u, DROP KEY v",
            "UPDATE t SET u = 5000 WHERE id = 5",
            3819,
            "Check constraint 'few' is violated.",
        ),
        (
            "ALTER TABLE t PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (5000))",
            "ALTER TABLE t REMOVE PARTITIONING",
            "INSERT INTO t VALUES (10001, 10001, 'n')",
            1526,
            "Table has no partition for value 10001",
        ),
    ] {
        let rows = c.rows("SELECT * FROM t ORDER BY id");
        // Taken back in time.
        let done = amid(&db, alter, undo, change, |c, _| drop(c.ok("ROLLBACK")));
        done.unwrap_or_else(|e| panic!("{alter}: {e}"));
        c.ok(undo);
        assert_eq!(c.rows(define), before, "{undo}");
        assert_eq!(c.rows("SELECT * FROM t ORDER BY id"), rows, "{alter}");
        let e = amid(&db, alter, undo, change, |c, _| drop(c.ok("COMMIT"))).unwrap_err();
        assert_eq!(e.code, code, "{alter}: {e}");
        assert!(e.message.starts_with(message), "{alter}: {e}");
        assert_eq!(c.rows(define), before, "{alter}");
        assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
        assert_ne!(c.rows("SELECT * FROM t ORDER BY id"), rows, "{alter}");
        nothing_is_left(&db);
        c.ok("DELETE FROM t WHERE id > 10000");
        c.ok("UPDATE t SET u = id WHERE u IS NULL OR u <> id");
    }
}

/// A statement that is killed leaves the table as it is, what was written meanwhile included.
#[test]
fn a_killed_change_leaves_the_table() {
    let db = TestDb::new();
    let mut c = filled(&db);
    for (n, (alter, undo)) in [
        (
            "ALTER TABLE t MODIFY u BIGINT",
            "ALTER TABLE t MODIFY u INT",
        ),
        (
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (u)",
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id), MODIFY u INT",
        ),
        (
            "ALTER TABLE t PARTITION BY KEY (id) PARTITIONS 3",
            "ALTER TABLE t REMOVE PARTITIONING",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let before = c.rows("SHOW CREATE TABLE t");
        let id = 10000 + n;
        let change = format!("INSERT INTO t VALUES ({id}, {id}, 'n')");
        let killed = amid(&db, alter, undo, &change, |c, id| {
            c.ok(&format!("KILL QUERY {id}"));
            c.ok("COMMIT");
        });
        // It may have been about to end.
        match killed {
            Err(e) => assert_eq!(e.code, 1317, "{alter}: {e}"),
            Ok(()) => drop(c.ok(undo)),
        }
        assert_eq!(c.rows("SHOW CREATE TABLE t"), before);
        assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
        assert_eq!(c.one("SELECT COUNT(*) FROM t"), (4001 + n).to_string());
        nothing_is_left(&db);
    }
}

/// Wherever a KILL finds a change, the table is what it was or what it was to be, under writers too.
#[test]
fn kills_come_at_any_moment() {
    let db = TestDb::with(&[("innodb_flush_log_at_trx_commit", "0")]);
    let mut c = db.client();
    let columns = "(id INT AUTO_INCREMENT PRIMARY KEY, u INT, v VARCHAR(40), UNIQUE u (u))";
    c.ok(&format!("CREATE TABLE t {columns}"));
    c.ok(&format!("CREATE TABLE m {columns}"));
    let rows: Vec<String> = (1..=2000).map(|n| format!("({n}, {n}, 'v')")).collect();
    c.ok(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    c.ok("INSERT INTO m SELECT * FROM t");
    let stop = AtomicBool::new(false);
    let mut killed = 0;
    std::thread::scope(|s| {
        let writers = [5, 6].map(|seed| {
            let (client, stop) = (db.client(), &stop);
            s.spawn(move || write(client, numbered, seed, stop))
        });
        let mut rng = Rng(number("REBUILD_SEED", 1));
        let mut is_big = false;
        for _ in 0..20 {
            let ty = if is_big { "INT" } else { "BIGINT" };
            let sql = format!("ALTER TABLE t MODIFY u {ty}, MODIFY id {ty} AUTO_INCREMENT");
            let mut altering = db.client();
            let id = altering.0.id();
            let altered = s.spawn(move || altering.run(&sql).map(drop));
            for _ in 0..rng.below(150) {
                c.ok("SELECT v FROM m WHERE id = 1");
            }
            let _ = c.run(&format!("KILL QUERY {id}"));
            match altered.join().unwrap() {
                Ok(()) => is_big = !is_big,
                Err(e) => {
                    assert_eq!(e.code, 1317, "{e}");
                    killed += 1;
                }
            }
            let define = c.rows("SHOW CREATE TABLE t")[0].clone();
            assert_eq!(define.contains("`u` bigint"), is_big, "{define}");
            nothing_is_left(&db);
        }
        stop.store(true, Ordering::Relaxed);
        let kept: u64 = writers.into_iter().map(|w| w.join().unwrap()).sum();
        assert!(kept > 0);
    });
    assert!(killed > 0);
    agrees(&mut c, "id, u, v");
}

/// What is noted of rows that move is bounded, as the row log is.
#[test]
fn a_change_that_falls_behind_fails() {
    let db = TestDb::with(&[("innodb_online_alter_log_max_size", "65536")]);
    let mut c = filled(&db);
    let before = c.rows("SHOW CREATE TABLE t");
    let alter = "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (u)";
    let undo = "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id), MODIFY u INT";
    let change = "UPDATE t SET u = -1 - u";
    let done = amid(&db, alter, undo, change, |c, _| drop(c.ok("COMMIT")));
    assert_eq!(done.unwrap_err().code, 1799);
    assert_eq!(c.rows("SHOW CREATE TABLE t"), before);
    assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "4000");
    nothing_is_left(&db);
}
