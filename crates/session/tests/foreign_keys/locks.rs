//! Who waits for whom by a foreign key, and plans that were made before there was one.

use crate::support::{Client, TestDb};

/// Waits until so many wait for a row.
fn until_waits(c: &mut Client, count: &str) {
    let sql = "SELECT COUNT(*) FROM performance_schema.data_lock_waits";
    while c.one(sql) != count {
        std::thread::yield_now();
    }
}

fn family(db: &TestDb, rules: &str) -> Client {
    let mut c = db.client();
    c.ok("CREATE TABLE p (id INT PRIMARY KEY)");
    c.ok(&format!(
        "CREATE TABLE c (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES p (id) {rules})"
    ));
    c.ok("INSERT INTO p VALUES (1), (2), (3)");
    c
}

#[test]
fn a_child_under_way_keeps_its_parent() {
    for (end, left) in [("COMMIT", "3"), ("ROLLBACK", "2")] {
        let db = TestDb::new();
        let mut looks = family(&db, "");
        let (mut a, mut b) = (db.client(), db.client());
        a.ok("BEGIN");
        a.ok("INSERT INTO c VALUES (1, 2)");
        // Others may have the same parent, and change what isn't referred to.
        looks.ok("INSERT INTO c VALUES (2, 2)");
        looks.ok("DELETE FROM c WHERE id = 2");
        looks.ok("DELETE FROM p WHERE id = 3");
        looks.ok("INSERT INTO p VALUES (3)");
        std::thread::scope(|s| {
            let waiter = s.spawn(move || b.run("DELETE FROM p WHERE id = 2").map_err(|e| e.code));
            until_waits(&mut looks, "1");
            a.ok(end);
            let done = waiter.join().expect("a thread");
            assert_eq!(done.err(), (end == "COMMIT").then_some(1451));
        });
        assert_eq!(looks.one("SELECT COUNT(*) FROM p"), left);
    }
}

#[test]
fn a_parent_on_its_way_out_keeps_children_waiting() {
    for (end, code) in [("COMMIT", Some(1452)), ("ROLLBACK", None)] {
        for rules in ["", "ON DELETE CASCADE"] {
            let db = TestDb::new();
            let mut looks = family(&db, rules);
            let (mut a, mut b) = (db.client(), db.client());
            a.ok("BEGIN");
            a.ok("DELETE FROM p WHERE id = 2");
            std::thread::scope(|s| {
                let insert = "INSERT INTO c VALUES (1, 2)";
                let waiter = s.spawn(move || b.run(insert).map_err(|e| e.code));
                until_waits(&mut looks, "1");
                a.ok(end);
                assert_eq!(waiter.join().expect("a thread").err(), code);
            });
        }
    }
}

#[test]
fn plans_made_before_know_of_a_key() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE p (id INT PRIMARY KEY)");
    a.ok("INSERT INTO p VALUES (1), (2)");
    b.ok("PREPARE del FROM 'DELETE FROM p WHERE id = ?'");
    b.ok("SET @one = 1, @two = 2");
    b.ok("EXECUTE del USING @one");
    a.ok("CREATE TABLE c (id INT PRIMARY KEY, pid INT)");
    b.ok("PREPARE ins FROM 'INSERT INTO c VALUES (?, ?)'");
    b.ok("EXECUTE ins USING @one, @two");
    a.ok("ALTER TABLE c ADD CONSTRAINT fk FOREIGN KEY (pid) REFERENCES p (id)");
    assert_eq!(b.code("EXECUTE del USING @two"), 1451);
    assert_eq!(b.code("EXECUTE ins USING @two, @one"), 1452);
    // A statement that uses the parent keeps DDL on its children waiting, and none comes in between.
    a.ok("INSERT INTO p VALUES (1)");
    b.ok("EXECUTE ins USING @two, @one");
    a.ok("ALTER TABLE c DROP FOREIGN KEY fk");
    b.ok("EXECUTE del USING @two");
    b.ok("DELETE FROM c");
    b.ok("EXECUTE ins USING @two, @two");
    // A parent that comes later, and one that goes.
    a.ok("SET foreign_key_checks = 0");
    a.ok("ALTER TABLE c ADD CONSTRAINT fk FOREIGN KEY (id) REFERENCES later (id)");
    assert_eq!(b.code("EXECUTE ins USING @one, @one"), 1452);
    a.ok("CREATE TABLE later (id INT PRIMARY KEY)");
    a.ok("INSERT INTO later VALUES (1)");
    b.ok("EXECUTE ins USING @one, @one");
    a.ok("DROP TABLE later");
    b.ok("DELETE FROM c");
    assert_eq!(b.code("EXECUTE ins USING @one, @one"), 1452);
}

#[test]
fn keys_survive_a_restart() {
    let mut db = TestDb::new();
    family(&db, "ON DELETE CASCADE");
    db.reopen();
    let mut c = db.client();
    c.ok("INSERT INTO c VALUES (1, 1), (2, 2)");
    assert_eq!(c.code("INSERT INTO c VALUES (3, 9)"), 1452);
    c.ok("DELETE FROM p WHERE id = 1");
    assert_eq!(c.rows("SELECT * FROM c"), ["2|2"]);
    assert_eq!(c.code("DROP TABLE p"), 3730);
    c.ok("DROP TABLE c, p");
}
