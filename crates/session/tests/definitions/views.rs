//! Views beside other sessions, their DDL, and power cuts.

use millpond_store::io::sim::SimStorage;

use crate::support::{Client, TestDb, power};

/// Waits until a statement waits for a metadata lock.
fn until_pending(c: &mut Client) {
    let pending =
        "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE lock_status = 'PENDING'";
    while c.one(pending) != "1" {
        std::thread::yield_now();
    }
}

fn prepared(c: &mut Client) {
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    c.ok("INSERT INTO t VALUES (1, 10), (2, 20)");
    c.ok("CREATE VIEW v AS SELECT a, b FROM t");
    c.ok("CREATE VIEW w AS SELECT b FROM v");
}

#[test]
fn ddl_on_views_and_what_is_below_waits_for_those_who_read_them() {
    let db = TestDb::new();
    let (mut a, mut b, mut c) = (db.client(), db.client(), db.client());
    prepared(&mut a);
    for (ddl, after) in [
        (
            "CREATE OR REPLACE VIEW v AS SELECT a, b + 1 AS b FROM t",
            "11",
        ),
        ("CREATE OR REPLACE VIEW w AS SELECT a AS b FROM v", "1"),
        ("RENAME TABLE v TO x, x TO v", "1"),
        ("ALTER TABLE t ADD COLUMN c INT", "1"),
    ] {
        a.ok("BEGIN");
        let before = a.rows("SELECT b FROM w ORDER BY b LIMIT 1");
        std::thread::scope(|s| {
            let waiter = s.spawn(|| b.ok(ddl));
            until_pending(&mut c);
            assert_eq!(
                a.rows("SELECT b FROM w ORDER BY b LIMIT 1"),
                before,
                "{ddl}"
            );
            a.ok("COMMIT");
            waiter.join().unwrap();
        });
        assert_eq!(a.one("SELECT b FROM w ORDER BY b LIMIT 1"), after, "{ddl}");
    }
    a.ok("BEGIN");
    a.ok("SELECT b FROM w");
    std::thread::scope(|s| {
        let waiter = s.spawn(|| b.ok("DROP VIEW v"));
        until_pending(&mut c);
        a.ok("COMMIT");
        waiter.join().unwrap();
    });
    assert_eq!(a.code("SELECT b FROM w"), 1356);
}

#[test]
fn a_plan_is_made_anew_once_a_view_is_another() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    prepared(&mut a);
    a.ok("PREPARE p FROM 'SELECT * FROM w WHERE b > ? ORDER BY 1'");
    a.ok("PREPARE u FROM 'UPDATE v SET b = b + 1 WHERE a = ?'");
    a.ok("SET @n = 0, @k = 1");
    assert_eq!(a.rows("EXECUTE p USING @n"), ["10", "20"]);
    a.ok("EXECUTE u USING @k");
    b.ok("CREATE OR REPLACE VIEW w AS SELECT b, a FROM v");
    assert_eq!(a.rows("EXECUTE p USING @n"), ["11|1", "20|2"]);
    b.ok("CREATE TABLE t2 LIKE t");
    b.ok("INSERT INTO t2 VALUES (1, 100)");
    b.ok("ALTER VIEW v AS SELECT a, b FROM t2");
    assert_eq!(a.rows("EXECUTE p USING @n"), ["100|1"]);
    a.ok("EXECUTE u USING @k");
    assert_eq!(a.rows("SELECT b FROM t2"), ["101"]);
    assert_eq!(a.rows("SELECT b FROM t ORDER BY a"), ["11", "20"]);
    // What was a view may be a table, and the other way round.
    b.ok("DROP VIEW v");
    assert_eq!(a.code("EXECUTE p USING @n"), 1356);
    b.ok("CREATE TABLE v (b INT, a INT)");
    b.ok("INSERT INTO v VALUES (7, 1)");
    assert_eq!(a.rows("EXECUTE p USING @n"), ["7|1"]);
    a.ok("EXECUTE u USING @k");
    assert_eq!(a.rows("SELECT b FROM v"), ["8"]);
    b.ok("DROP TABLE v");
    b.ok("CREATE VIEW v AS SELECT a, b FROM t");
    assert_eq!(a.rows("EXECUTE p USING @n"), ["11|1", "20|2"]);
}

#[test]
fn views_stay_over_a_restart_and_go_with_their_database() {
    let mut db = TestDb::new();
    let mut c = db.client();
    prepared(&mut c);
    let shown = c.rows("SHOW CREATE VIEW w");
    drop(c);
    db.reopen();
    let mut c = db.client();
    assert_eq!(c.rows("SHOW CREATE VIEW w"), shown);
    assert_eq!(c.rows("SELECT b FROM w ORDER BY b"), ["10", "20"]);
    c.ok("CREATE DATABASE other");
    c.ok("CREATE VIEW other.x AS SELECT * FROM w");
    let database = c.one("SELECT DATABASE()");
    assert_eq!(
        c.one("SELECT view_definition FROM information_schema.views WHERE table_name = 'x'"),
        format!("select `{database}`.`w`.`b` AS `b` from `{database}`.`w`")
    );
    assert_eq!(c.rows("SELECT * FROM other.x ORDER BY b"), ["10", "20"]);
    c.ok("DROP DATABASE other");
    assert_eq!(c.code("SELECT * FROM other.x"), 1049);
    let left = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'other'";
    assert_eq!(c.one(left), "0");
}

#[test]
fn locked_views_are_locked_with_the_tables_below() {
    let db = TestDb::new();
    let (mut a, mut b, mut c) = (db.client(), db.client(), db.client());
    prepared(&mut a);
    a.ok("LOCK TABLES w READ");
    assert_eq!(a.rows("SELECT b FROM w ORDER BY b"), ["10", "20"]);
    assert_eq!(a.code("SELECT a FROM t"), 1100);
    assert_eq!(a.code("SELECT a FROM v"), 1100);
    assert_eq!(a.code("UPDATE w SET b = 1"), 1099);
    std::thread::scope(|s| {
        let waiter = s.spawn(|| b.ok("UPDATE t SET b = 21 WHERE a = 2"));
        until_pending(&mut c);
        a.ok("UNLOCK TABLES");
        waiter.join().unwrap();
    });
    a.ok("LOCK TABLES v WRITE");
    a.ok("UPDATE v SET b = 22 WHERE a = 2");
    std::thread::scope(|s| {
        let waiter = s.spawn(|| b.rows("SELECT b FROM t ORDER BY a"));
        until_pending(&mut c);
        a.ok("UPDATE v SET b = 12 WHERE a = 1");
        a.ok("UNLOCK TABLES");
        assert_eq!(waiter.join().unwrap(), ["12", "22"]);
    });
    c.ok("DROP TABLE t");
    assert_eq!(a.code("LOCK TABLES w READ"), 1356);
    // Nothing is left locked.
    c.ok("CREATE OR REPLACE VIEW v AS SELECT 1 AS b");
    assert_eq!(a.rows("SELECT b FROM w"), ["1"]);
}

#[test]
fn locking_reads_of_views_lock_rows_of_tables() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    prepared(&mut a);
    for read in [
        "SELECT * FROM v WHERE a = 1 FOR UPDATE",
        "SELECT * FROM v AS x WHERE x.a = 1 FOR UPDATE OF x",
        "UPDATE v SET b = b WHERE a = 1",
        "DELETE FROM v WHERE a = 1",
    ] {
        a.ok("BEGIN");
        a.ok(read);
        assert_eq!(
            b.code("SELECT * FROM t WHERE a = 1 FOR SHARE NOWAIT"),
            3572,
            "{read}"
        );
        assert_eq!(b.rows("SELECT b FROM t WHERE a = 1"), ["10"], "{read}");
        a.ok("ROLLBACK");
    }
}

#[test]
fn views_nest_deeply_but_not_endlessly() {
    const DEEPEST: usize = 32;
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    c.ok("INSERT INTO t VALUES (1, 10), (2, 20)");
    for (kind, name) in [("MERGE", "m"), ("TEMPTABLE", "t")] {
        let create = format!("CREATE ALGORITHM={kind} VIEW");
        c.ok(&format!(
            "{create} {name}1 AS SELECT a, b FROM t WHERE a > 0"
        ));
        for n in 2..=DEEPEST {
            c.ok(&format!(
                "{create} {name}{n} AS SELECT a, b FROM {name}{} WHERE b < {}",
                n - 1,
                1000 * n
            ));
        }
        assert_eq!(
            c.rows(&format!("SELECT b FROM {name}{DEEPEST} ORDER BY a")),
            ["10", "20"]
        );
        c.ok(&format!(
            "CREATE VIEW {name}_last AS SELECT a FROM {name}{DEEPEST}"
        ));
        assert_eq!(c.code(&format!("SELECT a FROM {name}_last")), 1235);
    }
    c.ok(&format!("UPDATE m{DEEPEST} SET b = 21 WHERE a = 2"));
    c.ok(&format!("INSERT INTO m{DEEPEST} VALUES (3, 30)"));
    assert_eq!(c.rows("SELECT b FROM t ORDER BY a"), ["10", "21", "30"]);
}

/// Whatever the power cuts short is done or not: a view is the one before or the one after, and its tables are what they were.
#[test]
fn views_are_whole_after_a_power_cut() {
    const STEPS: u64 = 12;
    for cut_at in 0..STEPS {
        for (n, ddl) in [
            "CREATE VIEW n AS SELECT a, b FROM t",
            "CREATE OR REPLACE VIEW v AS SELECT b FROM t",
            "DROP VIEW v, w",
            "RENAME TABLE v TO u",
        ]
        .into_iter()
        .enumerate()
        {
            let storage = SimStorage::new();
            let instance = power::open(&storage);
            let mut c = power::client(&instance);
            prepared(&mut c);
            let names = |c: &mut Client| {
                let names = c.rows("SHOW FULL TABLES");
                let texts = c.rows(
                    "SELECT table_name, view_definition FROM information_schema.views ORDER BY 1",
                );
                [names, texts].concat()
            };
            let before = names(&mut c);
            power::cut_after(&storage, cut_at);
            let told = c.run(ddl).is_ok();
            storage.cut();
            drop((c, instance));
            let mut odd = n as u64 + cut_at;
            storage.restart(|| {
                odd += 1;
                odd.is_multiple_of(2)
            });
            let instance = power::open(&storage);
            let mut c = power::client(&instance);
            let after = names(&mut c);
            if told {
                assert_ne!(after, before, "{ddl} at {cut_at}: it was said to be done");
            }
            if after == before {
                c.ok(ddl);
            }
            assert_eq!(c.rows("SELECT a, b FROM t ORDER BY a"), ["1|10", "2|20"]);
            match n {
                0 => assert_eq!(c.rows("SELECT b FROM n ORDER BY b"), ["10", "20"]),
                1 => assert_eq!(c.rows("SELECT * FROM v ORDER BY 1"), ["10", "20"]),
                2 => assert_eq!(c.code("SELECT * FROM v"), 1146),
                _ => assert_eq!(c.rows("SELECT b FROM u ORDER BY b"), ["10", "20"]),
            }
        }
    }
}

/// What mariadb-dump and mysqldump write of views: first tables or views that have the columns alone, for views that name them.
#[test]
fn dumps_of_views_load() {
    let db = TestDb::new();
    let mut c = db.client();
    for sql in [
        "CREATE TABLE t (a INT PRIMARY KEY, b INT)",
        "INSERT INTO t VALUES (1, 10)",
        "/*!50001 DROP VIEW IF EXISTS `v`*/",
        "SET @saved_cs_client     = @@character_set_client",
        "/*!50001 CREATE VIEW `v` AS SELECT 1 AS `a`, 1 AS `b`*/",
        "/*!50001 DROP VIEW IF EXISTS `w`*/",
        "/*!50001 CREATE TABLE `w` (`b` tinyint NOT NULL) ENGINE=MyISAM */",
        "/*!50001 DROP TABLE IF EXISTS `w`*/",
        "/*!50001 DROP VIEW IF EXISTS `v`*/",
        "/*!50001 SET @saved_cs_client          = @@character_set_client */",
        "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`someone`@`%` SQL SECURITY DEFINER */\n/*!50001 VIEW `v` AS select `t`.`a` AS `a`,`t`.`b` AS `b` from `t` where `t`.`a` < 5 */\n/*!50002 WITH CASCADED CHECK OPTION */",
        "/*!50001 DROP VIEW IF EXISTS `w`*/",
        "/*!50001 CREATE ALGORITHM=MERGE DEFINER=`root`@`localhost` SQL SECURITY INVOKER VIEW `w` AS select `v`.`b` AS `b` from `v` */",
    ] {
        c.ok(sql);
    }
    assert_eq!(c.rows("SELECT b FROM w"), ["10"]);
    assert_eq!(
        c.rows("SHOW CREATE VIEW v")[0].split('|').nth(1).unwrap(),
        "CREATE ALGORITHM=UNDEFINED DEFINER=`someone`@`%` SQL SECURITY DEFINER VIEW `v` AS select `t`.`a` AS `a`,`t`.`b` AS `b` \
         from `t` where (`t`.`a` < 5) WITH CASCADED CHECK OPTION"
    );
    assert_eq!(c.code("INSERT INTO v VALUES (6, 1)"), 1369);
}
