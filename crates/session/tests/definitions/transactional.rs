//! DDL within transactions beside other sessions: what these see, when they wait, and what becomes of plans and programs.

use crate::rng::Rng;
use crate::support::{Client, TestDb};
use std::time::Duration;

/// A database with a table of three rows, a session whose DDL is part of its transactions, and another that hardly waits.
fn begun() -> (TestDb, Client, Client) {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY ka (a))");
    a.ok("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)");
    a.ok("SET millpond_transactional_ddl = 1");
    b.ok("SET lock_wait_timeout = 1");
    (db, a, b)
}

const COLUMNS: &str = "SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = 'test' AND table_name = 't'";

#[test]
fn others_see_all_or_nothing() {
    let (_db, mut a, mut b) = begun();
    a.ok("BEGIN");
    a.ok("CREATE TABLE n (id INT PRIMARY KEY)");
    a.ok("INSERT INTO n VALUES (1), (2)");
    a.ok("ALTER TABLE t ADD c INT DEFAULT 7");
    assert_eq!(a.rows("SHOW TABLES"), ["n", "t"]);
    assert_eq!(a.one(COLUMNS), "id,a,c");
    assert_eq!(b.rows("SHOW TABLES"), ["t"]);
    assert_eq!(b.one(COLUMNS), "id,a");
    assert!(!b.one("SHOW CREATE TABLE t").contains("`c`"));
    for sql in [
        "SELECT * FROM n",
        "SELECT * FROM t",
        "INSERT INTO t VALUES (4, 40)",
        "CREATE TABLE n (x INT)",
        "DROP TABLE t",
    ] {
        assert_eq!(b.code(sql), 1205, "{sql}");
    }
    b.ok("SET lock_wait_timeout = 60");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| b.rows("SELECT * FROM t JOIN n USING (id)"));
        std::thread::sleep(Duration::from_millis(50));
        a.ok("COMMIT");
        assert_eq!(waits.join().unwrap(), ["1|10|7", "2|20|7"]);
    });
    assert_eq!(b.rows("SHOW TABLES"), ["n", "t"]);
    assert_eq!(b.one(COLUMNS), "id,a,c");
}

/// Plans are shared by all sessions, and kept: one made for a definition that is not committed serves nobody else, and nobody after.
#[test]
fn plans_follow_the_definition_of_their_transaction() {
    let (_db, mut a, mut b) = begun();
    let read = "SELECT * FROM t WHERE id = 1";
    for c in [&mut a, &mut b] {
        c.ok("PREPARE p FROM 'SELECT * FROM t WHERE id = 2'");
        for _ in 0..3 {
            assert_eq!(c.rows(read), ["1|10"]);
            assert_eq!(c.rows("EXECUTE p"), ["2|20"]);
        }
    }
    for end in ["ROLLBACK", "COMMIT"] {
        a.ok("BEGIN");
        a.ok("ALTER TABLE t ADD c INT DEFAULT 7, ADD KEY kc (c)");
        for _ in 0..3 {
            assert_eq!(a.rows(read), ["1|10|7"]);
            assert_eq!(a.rows("EXECUTE p"), ["2|20|7"]);
            assert_eq!(a.rows("SELECT id FROM t WHERE c = 7 AND id > 2"), ["3"]);
        }
        a.ok("SAVEPOINT s");
        a.ok("ALTER TABLE t DROP COLUMN a");
        assert_eq!(a.rows(read), ["1|7"]);
        a.ok("ROLLBACK TO s");
        assert_eq!(a.rows(read), ["1|10|7"]);
        a.ok(end);
        let rows = match end {
            "COMMIT" => ["1|10|7", "2|20|7"],
            _ => ["1|10", "2|20"],
        };
        for c in [&mut b, &mut a] {
            assert_eq!(c.rows(read), rows[..1]);
            assert_eq!(c.rows("EXECUTE p"), rows[1..]);
        }
    }
    // Tables that were never there.
    a.ok("BEGIN");
    a.ok("CREATE TABLE n (id INT)");
    a.ok("INSERT INTO n VALUES (5)");
    assert_eq!(a.rows("SELECT * FROM n"), ["5"]);
    a.ok("ROLLBACK");
    for c in [&mut a, &mut b] {
        assert_eq!(c.code("SELECT * FROM n"), 1146);
    }
}

#[test]
fn a_deadlock_rolls_the_transaction_back() {
    let (_db, mut a, mut b) = begun();
    b.ok("SET lock_wait_timeout = 60, millpond_transactional_ddl = 1");
    a.ok("CREATE TABLE u (id INT)");
    a.ok("BEGIN");
    a.ok("ALTER TABLE t ADD x INT");
    b.ok("BEGIN");
    b.ok("ALTER TABLE u ADD x INT");
    let codes = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let code = b
                .run("ALTER TABLE t ADD y INT")
                .map_or_else(|e| e.code, |_| 0);
            b.ok("COMMIT");
            code
        });
        std::thread::sleep(Duration::from_millis(100));
        let code = a
            .run("ALTER TABLE u ADD y INT")
            .map_or_else(|e| e.code, |_| 0);
        a.ok("COMMIT");
        [code, other.join().unwrap()]
    });
    // Of the victim's transaction there is nothing, of the other's all.
    let columns = |table: &str| {
        format!(
            "SELECT GROUP_CONCAT(column_name ORDER BY column_name) FROM information_schema.columns WHERE table_schema = 'test' AND table_name = '{table}'"
        )
    };
    let found = [a.one(&columns("t")), a.one(&columns("u"))];
    match codes {
        [0, 1213] => assert_eq!(found, ["a,id,x", "id,y"]),
        [1213, 0] => assert_eq!(found, ["a,id,y", "id,x"]),
        _ => panic!("{codes:?}"),
    }
}

#[test]
fn a_session_that_goes_leaves_nothing() {
    let (db, mut a, mut b) = begun();
    a.ok("BEGIN");
    a.ok("DELETE FROM t WHERE id = 1");
    a.ok("ALTER TABLE t MODIFY a BIGINT");
    a.ok("CREATE TABLE n (id INT PRIMARY KEY)");
    a.ok("INSERT INTO n VALUES (1)");
    drop(a);
    b.ok("SET lock_wait_timeout = 60");
    assert_eq!(b.rows("SELECT * FROM t"), ["1|10", "2|20", "3|30"]);
    assert_eq!(b.rows("SHOW TABLES"), ["t"]);
    let problems = db.instance().engine().check().expect("a check");
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn a_statement_of_ddl_gives_the_read_view_back() {
    let (_db, mut a, mut b) = begun();
    b.ok("CREATE TABLE other (id INT PRIMARY KEY)");
    a.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    b.ok("INSERT INTO other VALUES (1)");
    assert_eq!(a.rows("SELECT * FROM other"), [""; 0]);
    a.ok("ALTER TABLE t ADD KEY (a, id)");
    assert_eq!(a.rows("SELECT * FROM other"), ["1"]);
    b.ok("INSERT INTO other VALUES (2)");
    assert_eq!(a.rows("SELECT * FROM other"), ["1"]);
    a.ok("COMMIT");
    assert_eq!(a.rows("SELECT * FROM other"), ["1", "2"]);
}

#[test]
fn programs_and_triggers_find_what_the_transaction_has_made() {
    let (_db, mut a, mut b) = begun();
    a.ok("CREATE TABLE log (what INT)");
    a.ok("CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (new.id)");
    a.ok("CREATE PROCEDURE make() BEGIN CREATE TABLE n (id INT PRIMARY KEY); INSERT INTO n VALUES (1), (2); ALTER TABLE n ADD v INT DEFAULT 3; END");
    a.ok("CREATE FUNCTION counted() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM n)");
    a.ok("BEGIN");
    a.ok("CALL make()");
    assert_eq!(a.one("SELECT counted()"), "2");
    a.ok("ALTER TABLE log ADD at INT DEFAULT 9");
    assert_eq!(a.code("INSERT INTO t VALUES (4, 40)"), 1136);
    a.ok("ALTER TABLE log DROP COLUMN at");
    // With its rows written anew a table keeps its triggers.
    a.ok("ALTER TABLE t MODIFY a BIGINT");
    a.ok("INSERT INTO t VALUES (4, 40)");
    assert_eq!(a.rows("SELECT * FROM log"), ["4"]);
    a.ok("ROLLBACK");
    assert_eq!(a.code("SELECT counted()"), 1146);
    b.ok("INSERT INTO t VALUES (5, 50)");
    assert_eq!(b.rows("SELECT * FROM log"), ["5"]);
    a.ok("BEGIN");
    a.ok("CALL make()");
    a.ok("COMMIT");
    assert_eq!(b.one("SELECT counted()"), "2");
    assert_eq!(b.rows("SELECT * FROM n"), ["1|3", "2|3"]);
}

/// What lists tables looks at those that the transaction has made and changed, and waits for no lock of its own.
#[test]
fn listings_show_what_the_transaction_has_made() {
    let (_db, mut a, mut b) = begun();
    a.ok("BEGIN");
    a.ok("CREATE TABLE n (id INT PRIMARY KEY AUTO_INCREMENT, v INT, KEY (v)) PARTITION BY HASH (id) PARTITIONS 2");
    a.ok("INSERT INTO n (v) VALUES (1), (2), (3)");
    a.ok("CREATE VIEW w AS SELECT v + 1 AS next, a FROM n JOIN t ON n.id = t.id");
    a.ok("ALTER TABLE t ADD c INT");
    assert!(a.one("SHOW CREATE TABLE n").contains("AUTO_INCREMENT=4"));
    assert_eq!(a.rows("SHOW COLUMNS FROM w").len(), 2);
    assert_eq!(
        a.rows(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'w' ORDER BY 1"
        ),
        ["a", "next"]
    );
    assert_eq!(
        a.rows("SELECT table_rows, auto_increment FROM information_schema.tables WHERE table_name = 'n'"),
        ["3|4"]
    );
    assert_eq!(
        a.rows("SELECT SUM(table_rows) FROM information_schema.partitions WHERE table_name = 'n'"),
        ["3"]
    );
    assert_eq!(a.rows("SHOW INDEX FROM n").len(), 2);
    assert_eq!(a.rows("SHOW TABLE STATUS").len(), 3);
    assert_eq!(
        a.rows("SELECT * FROM w ORDER BY 1"),
        ["2|10", "3|20", "4|30"]
    );
    for sql in [
        "SELECT * FROM information_schema.tables WHERE table_schema = 'test'",
        "SELECT * FROM information_schema.statistics WHERE table_schema = 'test'",
        "SHOW TABLE STATUS",
        "SHOW CREATE TABLE t",
    ] {
        assert_eq!(
            b.rows(sql).len(),
            if sql.contains("statistics") { 2 } else { 1 },
            "{sql}"
        );
    }
    a.ok("ROLLBACK");
    assert_eq!(a.rows("SHOW TABLE STATUS").len(), 1);
}

/// What was read before in ways that outlive statements goes on with the definition of the moment.
#[test]
fn handlers_and_long_readers_meet_other_definitions() {
    let (_db, mut a, _) = begun();
    a.ok("HANDLER t OPEN");
    assert_eq!(a.rows("HANDLER t READ FIRST"), ["1|10"]);
    a.ok("BEGIN");
    a.ok("ALTER TABLE t ADD c INT DEFAULT 7");
    let read = a.run("HANDLER t READ FIRST").map(|all| all[0].rows.clone());
    assert!(
        read.as_ref()
            .map_or_else(|e| e.code == 1109, |r| r[0] == ["1", "10", "7"]),
        "{read:?}"
    );
    a.ok("ROLLBACK");
    assert_eq!(a.rows("SELECT * FROM t WHERE id = 1"), ["1|10"]);
    // A failing statement of rows undoes itself, and the definition stays.
    a.ok("BEGIN");
    a.ok("ALTER TABLE t ADD c INT DEFAULT 7");
    assert_eq!(a.code("INSERT INTO t VALUES (9, 9, 9), (1, 1, 1)"), 1062);
    assert_eq!(a.rows("SELECT * FROM t WHERE id IN (1, 9)"), ["1|10|7"]);
    a.ok("COMMIT");
    assert_eq!(a.one("SELECT COUNT(c) FROM t"), "3");
}

/// All that a session sees of the database.
fn seen(c: &mut Client) -> Vec<String> {
    let mut all = Vec::new();
    for table in c.rows("SHOW TABLES") {
        match c.run(&format!("SHOW CREATE TABLE {table}")) {
            Ok(shown) => all.push(shown[0].rows[0][1].clone()),
            Err(e) => all.push(format!("{table}: {}", e.code)),
        }
        match c.run(&format!("SELECT * FROM {table} ORDER BY 1, 2")) {
            Ok(read) => all.extend(read[0].rows.iter().map(|r| r.join("|"))),
            Err(e) => all.push(format!("{table}: {}", e.code)),
        }
    }
    all
}

/// A statement on a few names, which may fail.
fn any_statement(rng: &mut Rng) -> String {
    let mut one = |of: &[&str]| of[rng.below(of.len() as u64) as usize].to_string();
    let (t, u) = (one(&["p", "q", "r"]), one(&["p", "q", "r"]));
    let c = one(&["a", "b", "c"]);
    let change = one(&[
        "ADD",
        "ADD",
        "DROP COLUMN",
        "MODIFY",
        "ADD KEY",
        "ADD UNIQUE",
        "DROP KEY",
        "ENGINE",
        "CHECK",
        "AND MORE",
        "FIRST",
        "PRIMARY",
    ]);
    let change = match &*change {
        "ADD" => format!("ADD {c} INT DEFAULT 5"),
        "DROP COLUMN" => format!("DROP COLUMN {c}"),
        "MODIFY" => format!(
            "MODIFY {c} {}",
            one(&["BIGINT", "INT", "VARCHAR(20)", "DECIMAL(12, 2)"])
        ),
        "ADD KEY" => format!("ADD KEY k{c} ({c})"),
        "ADD UNIQUE" => format!("ADD UNIQUE k{c} ({c})"),
        "DROP KEY" => format!("DROP KEY k{c}"),
        "ENGINE" => "ENGINE = InnoDB".into(),
        "CHECK" => format!("ADD CONSTRAINT {t}{c} CHECK ({c} < 900)"),
        "AND MORE" => format!("MODIFY id BIGINT, ADD KEY k{c} ({c}), RENAME TO {u}"),
        "FIRST" => format!("MODIFY {c} INT FIRST"),
        _ => "DROP PRIMARY KEY, ADD PRIMARY KEY (id, a)".into(),
    };
    match &*one(&[
        "make", "make", "drop", "alter", "alter", "alter", "alter", "insert", "insert", "update",
        "delete", "empty", "rename", "copy", "view", "key",
    ]) {
        "make" => format!(
            "CREATE TABLE {t} (id INT, a INT, b VARCHAR(30), PRIMARY KEY (id){}){}",
            one(&["", ", KEY kb (b)", ", UNIQUE ka (a)"]),
            one(&["", "", " PARTITION BY HASH (id) PARTITIONS 3"])
        ),
        "drop" => format!("DROP TABLE {t}"),
        "alter" => format!("ALTER TABLE {t} {change}"),
        "insert" => {
            let rows = ["1", "2", "3", "4", "5", "6"].map(|n| {
                format!(
                    "({}{n}, {}, REPEAT('x', {n}))",
                    one(&["", "1", "2"]),
                    one(&["1", "20", "300", "4000"])
                )
            });
            format!(
                "INSERT IGNORE INTO {t} (id, a, b) VALUES {}",
                rows.join(", ")
            )
        }
        "update" => format!("UPDATE {t} SET a = a + 1, id = id + 1000 WHERE id % 3 = 1"),
        "delete" => format!("DELETE FROM {t} WHERE id % 4 = 1"),
        "empty" => format!("TRUNCATE TABLE {t}"),
        "rename" => format!("RENAME TABLE {t} TO {u}"),
        "copy" => format!(
            "CREATE TABLE {u} {} {t}",
            one(&[
                "LIKE",
                "AS SELECT * FROM",
                "(PRIMARY KEY (id)) AS SELECT * FROM"
            ])
        ),
        "view" => format!("CREATE OR REPLACE VIEW w AS SELECT id, a + 1 AS n FROM {t}"),
        _ => format!("ALTER TABLE {t} ADD CONSTRAINT f{t} FOREIGN KEY (a) REFERENCES {u} (id)"),
    }
}

/// What is seen at COMMIT is what is there after it, what was there at BEGIN or a savepoint what there is after rolling back to it.
#[test]
fn random_transactions_are_kept_and_undone_as_they_were_seen() {
    for seed in 1..4 {
        let (db, mut a, _) = begun();
        let mut rng = Rng(seed * 0x9e37_79b9);
        a.ok("SET lock_wait_timeout = 5, foreign_key_checks = 0");
        let mut done = Vec::new();
        for _ in 0..25 {
            let before = seen(&mut a);
            done.push("BEGIN".to_string());
            a.ok("BEGIN");
            let mut saved = None;
            for _ in 0..rng.below(10) {
                let sql = any_statement(&mut rng);
                let then = seen(&mut a);
                let ran = a.run(&sql);
                done.push(format!(
                    "{sql}; -- {:?}",
                    ran.as_ref().err().map(|e| (e.code, &e.message))
                ));
                let code = ran.as_ref().map_or_else(|e| e.code, |_| 0);
                assert!(
                    ![1105, 1205, 1213, 2013].contains(&code),
                    "seed {seed}: {done:#?}"
                );
                if code != 0 {
                    assert_eq!(seen(&mut a), then, "seed {seed}: {done:#?}");
                }
                match rng.below(6) {
                    0 => {
                        a.ok("SAVEPOINT s");
                        done.push("SAVEPOINT s".into());
                        saved = Some(seen(&mut a));
                    }
                    1 if saved.is_some() => {
                        a.ok("ROLLBACK TO s");
                        done.push("ROLLBACK TO s".into());
                        assert_eq!(Some(seen(&mut a)), saved, "seed {seed}: {done:#?}");
                    }
                    _ => {}
                }
            }
            let at_end = seen(&mut a);
            let commits = rng.below(2) == 0;
            a.ok(if commits { "COMMIT" } else { "ROLLBACK" });
            done.push(if commits { "COMMIT" } else { "ROLLBACK" }.into());
            let expected = if commits { at_end } else { before };
            assert_eq!(seen(&mut a), expected, "seed {seed}: {done:#?}");
            assert_eq!(seen(&mut db.client()), expected, "seed {seed}: {done:#?}");
        }
        let problems = db.instance().engine().check().expect("a check");
        assert_eq!(problems, Vec::<String>::new(), "seed {seed}: {done:#?}");
    }
}

/// The variable is a global one too, and other sessions' DDL commits as ever.
#[test]
fn the_variable_is_a_sessions_and_the_servers() {
    let (db, mut a, mut b) = begun();
    assert_eq!(b.one("SELECT @@millpond_transactional_ddl"), "0");
    b.ok("BEGIN");
    b.ok("CREATE TABLE n (id INT)");
    b.ok("ROLLBACK");
    assert_eq!(b.rows("SHOW TABLES"), ["n", "t"]);
    a.ok("SET GLOBAL millpond_transactional_ddl = ON");
    let mut c = db.client();
    c.ok("BEGIN");
    c.ok("DROP TABLE n");
    assert_eq!(c.rows("SHOW TABLES"), ["t"]);
    c.ok("ROLLBACK");
    assert_eq!(c.rows("SHOW TABLES"), ["n", "t"]);
    // With autocommit and no transaction open a statement is its own.
    c.ok("DROP TABLE n");
    c.ok("ROLLBACK");
    assert_eq!(c.rows("SHOW TABLES"), ["t"]);
}

/// Tables in the making, which are committed by themselves, go with the transaction that gave them a place.
#[test]
fn tables_in_the_making_are_gone_after_a_rollback() {
    let (db, mut a, _) = begun();
    for end in ["ROLLBACK", "COMMIT"] {
        a.ok("BEGIN");
        a.ok("ALTER TABLE t MODIFY a BIGINT");
        a.ok("SAVEPOINT s");
        a.ok("ALTER TABLE t MODIFY a INT UNSIGNED");
        a.ok("CREATE TABLE n AS SELECT * FROM t");
        a.ok("ROLLBACK TO s");
        assert_eq!(
            a.code("ALTER TABLE t ADD UNIQUE ((a > 0)), MODIFY a DECIMAL(10)"),
            1062
        );
        a.ok(end);
        let engine = db.instance().engine();
        for database in engine.databases().unwrap() {
            let tables = engine.tables(&database).unwrap();
            assert!(
                database == "test" || tables.is_empty(),
                "{database}: {tables:?}"
            );
        }
        let problems = engine.check().expect("a check");
        assert_eq!(problems, Vec::<String>::new());
    }
}
