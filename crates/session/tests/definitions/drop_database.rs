//! DROP DATABASE of more tables than one statement drops: what other sessions see of it, and what refers to it.

use crate::support::{Client, TestDb};

/// More than `millpond_store::engine::DROP_AT_ONCE`.
const MANY: usize = 1100;

fn many(c: &mut Client, database: &str) {
    c.ok(&format!("CREATE DATABASE {database}"));
    for n in 0..MANY {
        c.ok(&format!(
            "CREATE TABLE {database}.t{n} (id INT PRIMARY KEY, v INT)"
        ));
    }
    c.ok(&format!("INSERT INTO {database}.t7 VALUES (1, 10)"));
    c.ok(&format!(
        "CREATE VIEW {database}.v AS SELECT id, v FROM {database}.t7"
    ));
    c.ok(&format!("CREATE PROCEDURE {database}.p() SELECT 1"));
    c.ok(&format!(
        "CREATE TRIGGER {database}.r BEFORE INSERT ON {database}.t7 FOR EACH ROW SET NEW.v = 5"
    ));
    c.ok(&format!(
        "CREATE EVENT {database}.e ON SCHEDULE EVERY 1 DAY DO SELECT 1"
    ));
}

fn count(c: &mut Client, of: &str) -> String {
    c.one(&format!("SELECT COUNT(*) FROM information_schema.{of}"))
}

#[test]
fn nothing_of_it_is_left() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    many(&mut a, "d");
    b.ok("PREPARE p FROM 'SELECT v FROM d.t7'");
    assert_eq!(b.rows("EXECUTE p"), ["10"]);
    for round in 0..2 {
        a.ok("DROP DATABASE d");
        for of in [
            "TABLES WHERE table_schema = 'd'",
            "TABLES WHERE table_schema = 'd' AND table_name = 't7'",
            "COLUMNS WHERE table_schema = 'd'",
            "ROUTINES WHERE routine_schema = 'd'",
            "TRIGGERS WHERE trigger_schema = 'd'",
            "EVENTS WHERE event_schema = 'd'",
            "SCHEMATA WHERE schema_name = 'd'",
        ] {
            assert_eq!(count(&mut b, of), "0", "{of}");
        }
        assert_eq!(b.code("EXECUTE p"), 1049);
        assert_eq!(b.code("SELECT * FROM d.v"), 1049);
        assert_eq!(b.code("SHOW TABLES FROM d"), 1049);
        assert_eq!(a.code("CREATE TABLE d.t7 (a INT)"), 1049);
        if round == 0 {
            // With tables of the same names, of which few are opened.
            many(&mut a, "d");
            assert_eq!(b.rows("EXECUTE p"), ["10"]);
            assert_eq!(
                count(&mut b, "TABLES WHERE table_schema = 'd'"),
                (MANY + 1).to_string()
            );
        }
    }
    a.ok("CREATE DATABASE d");
    a.ok("CREATE TABLE d.t7 (v INT)");
    a.ok("INSERT INTO d.t7 VALUES (3)");
    assert_eq!(b.rows("EXECUTE p"), ["3"]);
    assert_eq!(b.rows("SHOW TABLES FROM d"), ["t7"]);
}

#[test]
fn foreign_keys_of_other_databases() {
    let db = TestDb::new();
    let mut a = db.client();
    many(&mut a, "d");
    a.ok("CREATE TABLE parent (id INT PRIMARY KEY)");
    a.ok("INSERT INTO parent VALUES (1), (2)");
    let child = "CREATE TABLE d.child (id INT PRIMARY KEY, CONSTRAINT c FOREIGN KEY (id) REFERENCES test.parent (id),
        CONSTRAINT positive CHECK (id > 0))";
    a.ok(child);
    a.ok("INSERT INTO d.child VALUES (1)");
    a.ok("CREATE TABLE kid (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES d.t7 (id))");
    assert_eq!(a.code("DELETE FROM parent WHERE id = 1"), 1451);
    assert_eq!(a.code("DROP DATABASE d"), 3730);
    assert_eq!(a.one("SELECT COUNT(*) FROM d.child"), "1");
    a.ok("SET foreign_key_checks = 0");
    a.ok("DROP DATABASE d");
    a.ok("SET foreign_key_checks = 1");
    a.ok("DELETE FROM parent WHERE id = 1");
    assert_eq!(a.code("INSERT INTO kid VALUES (5)"), 1452);

    a.ok("CREATE DATABASE d");
    a.ok(child);
    assert_eq!(a.code("INSERT INTO d.child VALUES (1)"), 1452);
    a.ok("INSERT INTO d.child VALUES (2)");
    a.ok("CREATE TABLE d.t7 (id INT PRIMARY KEY)");
    a.ok("INSERT INTO d.t7 VALUES (5)");
    a.ok("INSERT INTO kid VALUES (5)");
    assert_eq!(a.code("DROP DATABASE d"), 3730);
}

/// A session that reads a table keeps the database; KILL ends the wait, and so does the time.
#[test]
fn it_waits_for_who_reads() {
    let db = TestDb::new();
    let (mut a, mut b, mut c) = (db.client(), db.client(), db.client());
    many(&mut a, "d");
    a.ok("BEGIN");
    assert_eq!(a.rows("SELECT v FROM d.t7"), ["10"]);
    b.ok("SET lock_wait_timeout = 1");
    assert_eq!(b.code("DROP DATABASE d"), 1205);
    b.ok("SET lock_wait_timeout = 100");
    let id = b.one("SELECT CONNECTION_ID()");
    let waiting = "SELECT COUNT(*) FROM performance_schema.metadata_locks
        WHERE lock_status = 'PENDING' AND object_schema = 'd' AND object_name = 't7'";
    std::thread::scope(|s| {
        let drops = s.spawn(|| b.code("DROP DATABASE d"));
        while c.one(waiting) != "1" {
            std::thread::yield_now();
        }
        c.ok(&format!("KILL QUERY {id}"));
        assert_eq!(drops.join().unwrap(), 1317);
    });
    assert_eq!(a.rows("SELECT v FROM d.v"), ["10"]);
    std::thread::scope(|s| {
        let drops = s.spawn(|| b.ok("DROP DATABASE d"));
        while c.one(waiting) != "1" {
            std::thread::yield_now();
        }
        assert_eq!(a.rows("SELECT v FROM d.t7"), ["10"]);
        a.ok("COMMIT");
        drops.join().unwrap();
    });
    assert_eq!(a.code("SELECT v FROM d.t7"), 1049);
}
