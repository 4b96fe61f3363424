//! Temporary tables as clients see them.

use crate::support::{Client, Collector, TestDb};

use millpond_session::{Prepared, Value};
use std::sync::Arc;

fn status(c: &mut Client, name: &str) -> u64 {
    let rows = c.ok(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).rows;
    rows[0][1].parse().unwrap()
}

#[track_caller]
fn execute(c: &mut Client, p: &Arc<Prepared>, params: &[Value<'_>]) -> Vec<String> {
    let mut sink = Collector::default();
    c.0.execute_prepared(p, params, &mut sink).unwrap();
    let answer = sink.answers.pop().unwrap();
    answer.rows.iter().map(|r| r.join("|")).collect()
}

#[test]
fn one_hides_the_base_table_from_its_session_alone() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE t (id INT PRIMARY KEY, s TEXT)");
    a.ok("INSERT INTO t VALUES (1, 'base')");
    a.ok("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, x INT)");
    a.ok("INSERT INTO t VALUES (7, 70), (8, 80)");
    assert_eq!(a.rows("SELECT * FROM t"), ["7|70", "8|80"]);
    assert_eq!(a.rows("SELECT x FROM test.t WHERE id = 8"), ["80"]);
    assert_eq!(b.rows("SELECT * FROM t"), ["1|base"]);
    b.ok("CREATE TEMPORARY TABLE t (id INT)");
    b.ok("INSERT INTO t VALUES (5)");
    assert_eq!(a.rows("SELECT id FROM t ORDER BY id DESC"), ["8", "7"]);
    assert_eq!(b.rows("SELECT id FROM t"), ["5"]);
    assert_eq!(a.code("CREATE TEMPORARY TABLE t (id INT)"), 1050);
    a.ok("CREATE TEMPORARY TABLE IF NOT EXISTS t (id INT)");
    assert_eq!(a.warnings(), ["Note 1050 Table 't' already exists"]);
    // DROP TABLE takes the temporary one first, then the other; DROP TEMPORARY never that.
    a.ok("DROP TABLE t");
    assert_eq!(a.rows("SELECT * FROM t"), ["1|base"]);
    assert_eq!(a.code("DROP TEMPORARY TABLE t"), 1051);
    a.ok("DROP TEMPORARY TABLE IF EXISTS t");
    assert_eq!(a.warnings(), ["Note 1051 Unknown table 'test.t'"]);
    b.ok("DROP TEMPORARY TABLE t");
    b.ok("DROP TABLE t");
    assert_eq!(a.code("SELECT * FROM t"), 1146);
    assert_eq!(a.code("CREATE TEMPORARY TABLE nowhere.t (a INT)"), 1049);
}

#[test]
fn lists_leave_it_out_and_descriptions_show_it() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE base (a INT)");
    c.ok("CREATE TEMPORARY TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(10) NOT NULL, KEY k (s)) COMMENT = 'mine'");
    c.ok("INSERT INTO t (s) VALUES ('a'), ('b')");
    assert_eq!(c.rows("SHOW TABLES"), ["base"]);
    assert_eq!(c.rows("SHOW TABLE STATUS LIKE 't'").len(), 0);
    let of = "FROM information_schema.tables WHERE table_schema = 'test'";
    assert_eq!(c.rows(&format!("SELECT table_name {of}")), ["base"]);
    let columns = "FROM information_schema.columns WHERE table_name = 't'";
    assert_eq!(c.one(&format!("SELECT count(*) {columns}")), "0");
    assert_eq!(
        c.rows("SHOW COLUMNS FROM t"),
        [
            "id|int|NO|PRI|NULL|auto_increment",
            "s|varchar(10)|NO|MUL|NULL|"
        ]
    );
    assert_eq!(c.rows("DESCRIBE t s"), ["s|varchar(10)|NO|MUL|NULL|"]);
    let keys: Vec<String> = c
        .ok("SHOW INDEX FROM t")
        .rows
        .iter()
        .map(|r| r[2].clone())
        .collect();
    assert_eq!(keys, ["PRIMARY", "k"]);
    assert_eq!(
        c.ok("SHOW CREATE TABLE t").rows[0][1],
        "CREATE TEMPORARY TABLE `t` (
  `id` int NOT NULL AUTO_INCREMENT,
  `s` varchar(10) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `k` (`s`)
) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='mine'"
    );
    let text = c.ok("SHOW CREATE TABLE t").rows[0][1].clone();
    c.ok("DROP TABLE t");
    c.ok(&text);
    c.ok("INSERT INTO t (s) VALUES ('c')");
    assert_eq!(c.one("SELECT id FROM t"), "3");
    assert_eq!(c.rows("EXPLAIN SELECT * FROM t WHERE s = 'c'").len(), 1);
}

#[test]
fn every_change_of_a_table_works_on_it() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, a INT, s TEXT)");
    for i in 0..50 {
        c.ok(&format!(
            "INSERT INTO t VALUES ({i}, {}, repeat('x', {}))",
            i % 5,
            i * 500
        ));
    }
    c.ok("CREATE INDEX ia ON t (a)");
    assert_eq!(
        c.one("SELECT count(*) FROM t FORCE INDEX (ia) WHERE a = 3"),
        "10"
    );
    assert_eq!(c.code("CREATE UNIQUE INDEX u ON t (a)"), 1062);
    c.ok("ALTER TABLE t ADD COLUMN b INT NOT NULL DEFAULT 9, DROP COLUMN s");
    assert_eq!(c.rows("SELECT * FROM t WHERE id = 4"), ["4|4|9"]);
    c.ok("ALTER TABLE t ADD UNIQUE KEY u (id, b)");
    c.ok("DROP INDEX ia ON t");
    c.ok("ALTER TABLE t COMMENT = 'x'");
    c.ok("ALTER TABLE t ENGINE = InnoDB");
    c.ok("OPTIMIZE TABLE t");
    assert_eq!(c.one("SELECT count(*) FROM t"), "50");
    assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
    assert_eq!(c.rows("ANALYZE TABLE t"), ["test.t|analyze|status|OK"]);
    c.ok("ALTER TABLE t RENAME TO u");
    assert_eq!(c.code("SELECT * FROM t"), 1146);
    assert_eq!(c.one("SELECT count(*) FROM u"), "50");
    c.ok("ALTER TABLE u RENAME COLUMN a TO z");
    assert_eq!(c.one("SELECT max(z) FROM u"), "4");
    c.ok("CREATE TEMPORARY TABLE w LIKE u");
    assert_eq!(c.code("ALTER TABLE u RENAME w"), 1050);
    assert!(c.ok("SHOW CREATE TABLE w").rows[0][1].contains("UNIQUE KEY `u` (`id`,`b`)"));
    c.ok("INSERT INTO w SELECT * FROM u WHERE id < 10");
    c.ok("TRUNCATE TABLE u");
    assert_eq!(c.one("SELECT count(*) FROM u"), "0");
    assert_eq!(c.one("SELECT count(*) FROM w"), "10");
    // A base table like a temporary one.
    c.ok("CREATE TABLE base LIKE w");
    assert_eq!(c.rows("SHOW TABLES"), ["base"]);
    // Partitions and it do not go together.
    let by = "PARTITION BY HASH (id) PARTITIONS 2";
    assert_eq!(
        c.code(&format!("CREATE TEMPORARY TABLE p (id INT) {by}")),
        1562
    );
    assert_eq!(c.code(&format!("ALTER TABLE w {by}")), 1562);
    c.ok("CREATE TABLE p LIKE base");
    c.ok(&format!("ALTER TABLE p {by}"));
    assert_eq!(c.code("CREATE TEMPORARY TABLE q LIKE p"), 1562);
    assert_eq!(
        c.code("ALTER TABLE p EXCHANGE PARTITION p0 WITH TABLE w"),
        1733
    );
    c.ok("DROP TABLE p");
    c.ok("DROP TABLE u, w, base");
    assert_eq!(c.rows("SHOW TABLES").len(), 0);
    assert_eq!(status(&mut c, "Millpond_temp_file_used_bytes"), 0);
}

#[test]
fn one_is_made_of_a_query() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE base (id INT PRIMARY KEY, v INT)");
    c.ok("INSERT INTO base VALUES (1, 10), (2, 20), (3, 30)");
    c.ok("BEGIN");
    c.ok("INSERT INTO base VALUES (4, 40)");
    let done = c
        .ok("CREATE TEMPORARY TABLE t (KEY (v)) SELECT id, v, v * 2 AS w FROM base WHERE id > 1")
        .done;
    assert_eq!(done.affected, 3);
    // The transaction is still open: what it did can be undone.
    c.ok("ROLLBACK");
    assert_eq!(c.one("SELECT count(*) FROM base"), "3");
    assert_eq!(
        c.rows("SELECT * FROM t ORDER BY v"),
        ["2|20|40", "3|30|60", "4|40|80"]
    );
    c.ok("CREATE TEMPORARY TABLE base AS SELECT v FROM base");
    assert_eq!(c.rows("SELECT * FROM base"), ["10", "20", "30"]);
    let failed =
        c.code("CREATE TEMPORARY TABLE u (v INT PRIMARY KEY) SELECT 1 AS v UNION ALL SELECT 1");
    assert_eq!(failed, 1062);
    assert_eq!(c.code("SELECT * FROM u"), 1146);
    c.ok("DROP TABLE base, t");
    assert_eq!(status(&mut c, "Millpond_temp_file_used_bytes"), 0);
    // A base table from one that is temporary.
    c.ok("CREATE TEMPORARY TABLE s (a INT)");
    c.ok("INSERT INTO s VALUES (1), (2)");
    c.ok("CREATE TABLE kept AS SELECT a FROM s");
    assert_eq!(c.rows("SHOW TABLES"), ["base", "kept"]);
}

#[test]
fn transactions_and_savepoints_undo_its_rows_but_not_its_making() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE base (a INT)");
    c.ok("BEGIN");
    c.ok("INSERT INTO base VALUES (1)");
    c.ok("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v INT, UNIQUE KEY (v))");
    c.ok("INSERT INTO t VALUES (1, 1), (2, 2)");
    c.ok("SAVEPOINT s");
    c.ok("UPDATE t SET v = v + 10");
    c.ok("DELETE FROM t WHERE id = 1");
    // A statement that fails is undone by itself.
    assert_eq!(c.code("INSERT INTO t VALUES (5, 5), (6, 12)"), 1062);
    assert_eq!(c.rows("SELECT * FROM t"), ["2|12"]);
    c.ok("ROLLBACK TO s");
    assert_eq!(c.rows("SELECT * FROM t"), ["1|1", "2|2"]);
    c.ok("ROLLBACK");
    assert_eq!(
        c.warnings(),
        ["Warning 1751 The creation of some temporary tables could not be rolled back."]
    );
    assert_eq!(c.one("SELECT count(*) FROM t"), "0");
    assert_eq!(c.one("SELECT count(*) FROM base"), "0");
    // Dropping it commits nothing, unless TEMPORARY is left out.
    c.ok("INSERT INTO t VALUES (1, 1)");
    c.ok("BEGIN");
    c.ok("INSERT INTO base VALUES (1)");
    c.ok("DELETE FROM t");
    c.ok("DROP TEMPORARY TABLE t");
    c.ok("ROLLBACK");
    assert_eq!(c.warnings().len(), 1);
    assert_eq!(c.one("SELECT count(*) FROM base"), "0");
    c.ok("CREATE TEMPORARY TABLE t (id INT)");
    c.ok("BEGIN");
    c.ok("INSERT INTO base VALUES (1)");
    c.ok("DROP TABLE t");
    c.ok("ROLLBACK");
    assert_eq!(c.one("SELECT count(*) FROM base"), "1");
    // REPLACE, ON DUPLICATE KEY UPDATE, locking reads, a scan that changes what it reads.
    c.ok("CREATE TEMPORARY TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT, UNIQUE KEY (v))");
    c.ok("INSERT INTO t (v) VALUES (1), (2), (3)");
    c.ok("REPLACE INTO t VALUES (9, 2)");
    c.ok("INSERT INTO t (v) VALUES (3) ON DUPLICATE KEY UPDATE v = 33");
    c.ok("BEGIN");
    assert_eq!(
        c.rows("SELECT * FROM t WHERE v > 1 ORDER BY v FOR UPDATE"),
        ["9|2", "3|33"]
    );
    c.ok("INSERT INTO t (v) SELECT v + 100 FROM t");
    c.ok("UPDATE t SET id = id + 1000 WHERE v > 100");
    assert_eq!(
        c.one("SELECT count(*) FROM t x JOIN t y ON x.v + 100 = y.v"),
        "3"
    );
    c.ok("COMMIT");
    assert_eq!(c.one("SELECT count(*) FROM t WHERE id > 1000"), "3");
}

#[test]
fn a_read_only_transaction_may_write_to_it() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE base (a INT)");
    c.ok("CREATE TEMPORARY TABLE t (a INT)");
    c.ok("START TRANSACTION READ ONLY");
    c.ok("INSERT INTO t VALUES (1), (2)");
    c.ok("UPDATE t SET a = a + 1");
    c.ok("DELETE FROM t WHERE a = 3");
    assert_eq!(c.code("INSERT INTO base VALUES (1)"), 1792);
    assert_eq!(c.code("CREATE TEMPORARY TABLE u (a INT)"), 1792);
    assert_eq!(c.code("DROP TEMPORARY TABLE t"), 1792);
    c.ok("COMMIT");
    assert_eq!(c.rows("SELECT * FROM t"), ["2"]);
    // LOCK TABLES is about others' access, which nobody else has.
    c.ok("LOCK TABLES base READ");
    c.ok("INSERT INTO t VALUES (5)");
    c.ok("CREATE TEMPORARY TABLE u (a INT)");
    c.ok("ALTER TABLE u ADD KEY (a)");
    c.ok("DROP TEMPORARY TABLE u");
    assert_eq!(c.code("INSERT INTO base VALUES (1)"), 1099);
    c.ok("UNLOCK TABLES");
}

#[test]
fn kept_plans_follow_what_a_name_means() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    c.ok("INSERT INTO t VALUES (1, 10)");
    let p = c.0.prepare("SELECT v FROM t WHERE id = ?").unwrap();
    let w = c.0.prepare("UPDATE t SET v = v + 1 WHERE id = ?").unwrap();
    let one = [Value::Int(1)];
    let text = "SELECT v FROM t WHERE id = 1";
    let both = |c: &mut Client, want: &str| {
        // Often enough for the text to be kept.
        for _ in 0..4 {
            assert_eq!(execute(c, &p, &one), [want]);
            assert_eq!(c.rows(text), [want]);
        }
    };
    both(&mut c, "10");
    c.ok("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v VARCHAR(10))");
    c.ok("INSERT INTO t VALUES (1, '5')");
    both(&mut c, "5");
    // Another session, which may share plans, and one with a table of its own.
    let (mut other, mut third) = (db.client(), db.client());
    third.ok("CREATE TEMPORARY TABLE t (v INT, id INT)");
    third.ok("INSERT INTO t VALUES (3, 1)");
    for _ in 0..4 {
        assert_eq!(other.rows(text), ["10"]);
        assert_eq!(third.rows(text), ["3"]);
        both(&mut c, "5");
    }
    drop(third);
    assert_eq!(other.rows(text), ["10"]);
    execute(&mut c, &w, &one);
    both(&mut c, "6");
    c.ok("TRUNCATE TABLE t");
    c.ok("INSERT INTO t VALUES (1, '7')");
    both(&mut c, "7");
    c.ok("ALTER TABLE t ADD COLUMN z INT FIRST");
    both(&mut c, "7");
    c.ok("ALTER TABLE t RENAME TO u");
    both(&mut c, "10");
    c.ok("ALTER TABLE u RENAME TO t");
    both(&mut c, "7");
    execute(&mut c, &w, &one);
    c.ok("DROP TABLE t");
    both(&mut c, "10");
    execute(&mut c, &w, &one);
    both(&mut c, "11");
    c.ok("CREATE TEMPORARY TABLE other (a INT)");
    both(&mut c, "11");
}

#[test]
fn the_end_of_a_session_takes_them_along() {
    let mut db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    let fill = |c: &mut Client| {
        c.ok("CREATE TEMPORARY TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, s TEXT)");
        for _ in 0..20 {
            c.ok("INSERT INTO t (s) VALUES (repeat('x', 20000))");
        }
    };
    fill(&mut a);
    assert!(status(&mut b, "Millpond_temp_file_used_bytes") > 400_000);
    a.0.reset().unwrap();
    assert_eq!(status(&mut b, "Millpond_temp_file_used_bytes"), 0);
    assert_eq!(a.code("SELECT * FROM t"), 1146);
    fill(&mut a);
    a.ok("BEGIN");
    a.ok("DELETE FROM t");
    drop(a);
    assert_eq!(status(&mut b, "Millpond_temp_file_used_bytes"), 0);
    fill(&mut b);
    drop(b);
    db.reopen();
    let mut c = db.client();
    assert_eq!(c.rows("SHOW TABLES").len(), 0);
    assert_eq!(c.code("SELECT * FROM t"), 1146);
}

#[test]
fn nothing_is_logged_whatever_is_done_to_it() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE base (id INT PRIMARY KEY, s VARCHAR(20))");
    c.ok("INSERT INTO base VALUES (1, 'a'), (2, 'b')");
    let lsn = |c: &mut Client| status(c, "Innodb_redo_log_current_lsn");
    // What purge and the counters have to write is written when the log stays as it is.
    let mut before = lsn(&mut c);
    loop {
        let history = status(&mut c, "Innodb_history_list_length");
        let now = lsn(&mut c);
        if now == before && history == 0 {
            break;
        }
        before = now;
        std::thread::yield_now();
    }
    c.ok("CREATE TEMPORARY TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(20), KEY (s))");
    c.ok("INSERT INTO t (s) SELECT s FROM base");
    c.ok("INSERT INTO t (s) SELECT concat(s, id) FROM t");
    c.ok("UPDATE t SET s = 'z' WHERE id = 2");
    c.ok("DELETE FROM t WHERE id = 1");
    c.ok("BEGIN");
    c.ok("UPDATE t SET s = 'y'");
    c.ok("ROLLBACK");
    c.ok("ALTER TABLE t ADD COLUMN n INT DEFAULT 5, ADD KEY (n)");
    c.ok("CREATE TEMPORARY TABLE u AS SELECT * FROM t");
    c.ok("TRUNCATE TABLE t");
    c.ok("DROP TABLE t, u");
    assert_eq!(lsn(&mut c), before);
}
