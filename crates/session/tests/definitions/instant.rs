//! ALTERs that write no row, where it takes much data, several sessions or many of them.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Client, TestDb};

/// 6,000 rows, of which some were written after a column was added, and some after one was dropped.
fn of_three_versions(db: &TestDb) -> Client {
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(30), d INT NOT NULL, KEY ka (a))");
    let insert = |c: &mut Client, from: u32, columns: &str, row: &dyn Fn(u32) -> String| {
        for some in (from..from + 2000).collect::<Vec<_>>().chunks(500) {
            let rows: Vec<String> = some.iter().map(|i| row(*i)).collect();
            c.ok(&format!(
                "INSERT INTO t ({columns}) VALUES {}",
                rows.join(", ")
            ));
        }
    };
    insert(&mut c, 0, "id, a, b, d", &|i| {
        format!("({i}, {}, 'old {i}', {i})", i % 100)
    });
    c.ok("ALTER TABLE t ADD COLUMN n INT NOT NULL DEFAULT 7 FIRST, ADD COLUMN s VARCHAR(20) DEFAULT 'filled' AFTER a, ALGORITHM=INSTANT");
    insert(&mut c, 2000, "id, a, b, d, n, s", &|i| {
        format!("({i}, {}, 'new {i}', {i}, {}, NULL)", i % 100, i % 3)
    });
    c.ok("ALTER TABLE t DROP COLUMN b, MODIFY COLUMN s VARCHAR(200) FIRST, ALGORITHM=INSTANT");
    insert(&mut c, 4000, "id, a, d, n, s", &|i| {
        format!("({i}, NULL, {i}, {}, 'last')", i % 5)
    });
    c
}

/// What is read by batches, on several threads, through indexes and joins is what a table has whose rows were all written at once.
#[test]
fn readers_of_all_kinds_see_one_definition() {
    let db = TestDb::new();
    let mut c = of_three_versions(&db);
    c.ok("CREATE TABLE u LIKE t");
    c.ok("INSERT INTO u SELECT * FROM t");
    let queries = [
        "SELECT COUNT(*), SUM(n), SUM(d), COUNT(s), MIN(s), MAX(s) FROM t",
        "SELECT n, COUNT(*), SUM(id) FROM t GROUP BY n ORDER BY n",
        "SELECT s, COUNT(a), SUM(a) FROM t WHERE n <> 1 GROUP BY s ORDER BY s",
        "SELECT * FROM t WHERE a = 42 ORDER BY id",
        "SELECT a, SUM(n) FROM t FORCE INDEX (ka) WHERE a BETWEEN 10 AND 20 AND n > 1 GROUP BY a ORDER BY a",
        "SELECT COUNT(*) FROM t FORCE INDEX (ka) WHERE a > 50",
        "SELECT x.n, SUM(y.n) FROM t x JOIN t y ON y.id = x.d WHERE x.a < 5 GROUP BY x.n ORDER BY x.n",
        "SELECT DISTINCT s, n FROM t ORDER BY s, n",
        "SELECT * FROM t ORDER BY n DESC, id LIMIT 20",
    ];
    for sql in queries {
        let other = sql.replace(" t ", " u ").replace("FROM t", "FROM u");
        assert_eq!(c.rows(sql), c.rows(&other), "{sql}");
    }
    assert_eq!(c.one("SELECT SUM(n) FROM t WHERE id < 2000"), "14000");
    assert_eq!(c.one("SELECT COUNT(s) FROM t WHERE s = 'filled'"), "2000");
}

/// Reads of a snapshot that is older than the ALTER see its rows, as the definition is now.
#[test]
fn older_snapshots_read_on() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY (a))");
    c.ok("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)");
    let mut reader = db.client();
    reader.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    c.ok("UPDATE t SET a = 11 WHERE id = 1");
    c.ok("ALTER TABLE t ADD COLUMN n INT DEFAULT 5 FIRST, ALGORITHM=INSTANT");
    c.ok("UPDATE t SET n = 6 WHERE id = 2");
    c.ok("DELETE FROM t WHERE id = 3");
    c.ok("INSERT INTO t VALUES (7, 4, 40)");
    let all = "SELECT * FROM t ORDER BY id";
    assert_eq!(reader.rows(all), ["5|1|10", "5|2|20", "5|3|30"]);
    let through = "SELECT id FROM t FORCE INDEX (a) WHERE a >= 10 ORDER BY a";
    assert_eq!(reader.rows(through), ["1", "2", "3"]);
    reader.ok("COMMIT");
    assert_eq!(reader.rows(all), ["5|1|11", "6|2|20", "7|4|40"]);
}

/// Written anew or given an index while rows of all versions change, a table has all of them.
#[test]
fn rebuilds_follow_rows_of_any_version() {
    let db = TestDb::new();
    let mut c = of_three_versions(&db);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut c = db.client();
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                let id = n * 37 % 6000;
                c.ok(&format!("UPDATE t SET d = d + 1 WHERE id = {id}"));
                c.ok(&format!(
                    "UPDATE t SET a = {} WHERE id = {}",
                    n % 50,
                    n * 7 % 6000
                ));
                n += 1;
            }
            n
        });
        for round in 0..4 {
            c.ok("ALTER TABLE t ADD KEY kd (d), ALGORITHM=INPLACE, LOCK=NONE");
            c.ok("ALTER TABLE t FORCE, ALGORITHM=INPLACE, LOCK=NONE");
            c.ok("ALTER TABLE t DROP KEY kd");
            c.ok(&format!(
                "ALTER TABLE t ADD COLUMN x{round} INT DEFAULT {round}, ALGORITHM=INSTANT"
            ));
        }
        stop.store(true, Ordering::Relaxed);
        let changed: u64 = writer.join().expect("the writer");
        let sum = (0..6000u64).sum::<u64>() + changed;
        assert_eq!(c.one("SELECT SUM(d) FROM t"), sum.to_string());
    });
    assert_eq!(c.one("SELECT SUM(x0 + x1 + x2 + x3) FROM t"), "36000");
    assert_eq!(c.ok("CHECK TABLE t").rows[0].last().unwrap(), "OK");
}

/// There may be any number of them: more than have room in a row's header, and than MySQL allows.
#[test]
fn there_may_be_many() {
    let mut db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, c0 INT)");
    let rows = |n: u32| -> Vec<String> {
        let row = |id: u32| match id {
            // It was there before the last of those that came after it.
            id if id < n => format!("{id}|{}", n - 1),
            id => format!("{id}|{id}"),
        };
        (0..=n).map(row).collect()
    };
    c.ok("INSERT INTO t VALUES (0, 0)");
    for n in 1..200 {
        let before = n - 1;
        c.ok(&format!(
            "ALTER TABLE t ADD COLUMN c{n} INT NOT NULL DEFAULT {before}, DROP COLUMN c{before}, ALGORITHM=INSTANT"
        ));
        c.ok(&format!("INSERT INTO t VALUES ({n}, {n})"));
        if n % 50 == 0 {
            assert_eq!(c.rows("SELECT * FROM t ORDER BY id"), rows(n));
        }
    }
    c.ok("UPDATE t SET c199 = -1 WHERE id = 77");
    drop(c);
    db.reopen();
    let mut c = db.client();
    let mut expected = rows(199);
    expected[77] = "77|-1".into();
    assert_eq!(c.rows("SELECT * FROM t ORDER BY id"), expected);
    c.ok("OPTIMIZE TABLE t");
    assert_eq!(c.rows("SELECT * FROM t ORDER BY id"), expected);
}

/// Long rows keep their tails where they are.
#[test]
fn long_rows_are_changed_and_undone() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT, b LONGTEXT)");
    c.ok("INSERT INTO t VALUES (1, 1, REPEAT('x', 50000)), (2, 2, REPEAT('y', 100000)), (3, 3, 'short')");
    c.ok("ALTER TABLE t ADD COLUMN n INT DEFAULT 5 AFTER id, ALGORITHM=INSTANT");
    let seen = "SELECT id, n, a, LENGTH(b), MD5(b) FROM t ORDER BY id";
    let before = c.rows(seen);
    c.ok("BEGIN");
    c.ok("UPDATE t SET n = 6");
    c.ok("UPDATE t SET a = a + 1 WHERE id = 1");
    c.ok("DELETE FROM t WHERE id = 2");
    c.ok("UPDATE t SET b = REPEAT('z', 70000) WHERE id = 3");
    c.ok("ROLLBACK");
    assert_eq!(c.rows(seen), before);
    c.ok("UPDATE t SET n = 6 WHERE id = 1");
    c.ok("UPDATE t SET n = 7 WHERE id = 1");
    c.ok("UPDATE t SET b = 'short' WHERE id = 2");
    c.ok("DELETE FROM t WHERE id = 3");
    let lengths = "SELECT id, n, a, LENGTH(b), LEFT(b, 1) FROM t ORDER BY id";
    assert_eq!(c.rows(lengths), ["1|7|1|50000|x", "2|5|2|5|s"]);
    assert_eq!(c.ok("CHECK TABLE t").rows[0].last().unwrap(), "OK");
}
