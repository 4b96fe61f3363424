//! Events: which runs there are by a clock that stands still until it is moved, under which settings and rights, and what ends them.

use crate::support::{Client, TestDb};

/// A second of 2023.
const T: u64 = 1_700_000_000;

/// A database whose scheduler runs by a clock that stands at [`T`].
fn database() -> TestDb {
    let db = TestDb::with(&[("event_scheduler", "ON")]);
    db.instance().set_event_clock(Some(T));
    db
}

/// A session for which it is [`T`], too, with a table for events to write to.
fn client(db: &TestDb) -> Client {
    let mut c = db.client();
    c.ok(&format!("SET timestamp = {T}"));
    c.ok("CREATE TABLE IF NOT EXISTS log (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT)");
    c
}

/// Lets it be so many seconds behind [`T`], and what is due then happen.
fn at(db: &TestDb, seconds: u64) {
    db.instance().set_event_clock(Some(T + seconds));
    db.instance().wait_for_events();
}

/// Waits until a query of the process list gives this.
fn wait_for(c: &mut Client, query: &str, wanted: &str) {
    let query = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE {query}");
    while c.one(&query) != wanted {
        std::thread::yield_now();
    }
}

const SCHEDULER: &str = "user = 'event_scheduler' AND command = 'Daemon'";

fn runs(c: &mut Client) -> String {
    c.one("SELECT COUNT(*) FROM log")
}

#[test]
fn recurring_events_run_when_due() {
    let db = database();
    let mut c = client(&db);
    c.ok("CREATE EVENT e ON SCHEDULE EVERY 10 SECOND DO INSERT INTO log (v) VALUES (1)");
    // It starts when it is made.
    at(&db, 0);
    assert_eq!(runs(&mut c), "1");
    at(&db, 9);
    assert_eq!(runs(&mut c), "1");
    at(&db, 10);
    assert_eq!(runs(&mut c), "2");
    // Runs that were missed are not made up for.
    at(&db, 35);
    assert_eq!(runs(&mut c), "3");
    let last = "SELECT LAST_EXECUTED FROM information_schema.events";
    c.ok("SET time_zone = '+00:00'");
    assert_eq!(c.one(last), "2023-11-14 22:13:55");
    at(&db, 40);
    assert_eq!(runs(&mut c), "4");
    c.ok("ALTER EVENT e DISABLE");
    at(&db, 60);
    c.ok("ALTER EVENT e ENABLE");
    at(&db, 69);
    assert_eq!(runs(&mut c), "4");
    at(&db, 70);
    assert_eq!(runs(&mut c), "5");
    c.ok("DROP EVENT e");
    at(&db, 1000);
    assert_eq!(runs(&mut c), "5");
}

#[test]
fn events_that_are_over_go_or_are_disabled() {
    let db = database();
    let mut c = client(&db);
    for (name, schedule) in [
        ("once", "AT CURRENT_TIMESTAMP + INTERVAL 5 SECOND"),
        (
            "kept",
            "AT CURRENT_TIMESTAMP + INTERVAL 5 SECOND ON COMPLETION PRESERVE",
        ),
        (
            "ends",
            "EVERY 4 SECOND ENDS CURRENT_TIMESTAMP + INTERVAL 8 SECOND",
        ),
        (
            "ends_kept",
            "EVERY 4 SECOND ENDS CURRENT_TIMESTAMP + INTERVAL 8 SECOND ON COMPLETION PRESERVE",
        ),
    ] {
        c.ok(&format!(
            "CREATE EVENT {name} ON SCHEDULE {schedule} DO INSERT INTO log (v) VALUES ('{name}')"
        ));
    }
    let left = "SELECT GROUP_CONCAT(event_name, ' ', status ORDER BY event_name) FROM information_schema.events";
    for second in [0, 4, 5] {
        at(&db, second);
    }
    assert_eq!(c.one(left), "ends ENABLED,ends_kept ENABLED,kept DISABLED");
    for second in [8, 12] {
        at(&db, second);
    }
    assert_eq!(c.one(left), "ends_kept DISABLED,kept DISABLED");
    let log = "SELECT GROUP_CONCAT(v, '=', n ORDER BY v) FROM (SELECT v, COUNT(*) n FROM log GROUP BY v) l";
    assert_eq!(c.one(log), "ends=3,ends_kept=3,kept=1,once=1");
    // One that has run may be given another time.
    c.ok("ALTER EVENT kept ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 20 SECOND ENABLE");
    at(&db, 19);
    assert_eq!(runs(&mut c), "8");
    at(&db, 20);
    assert_eq!(runs(&mut c), "9");
}

#[test]
fn a_body_that_fails_ends_its_run_alone() {
    let db = database();
    let mut c = client(&db);
    c.ok("CREATE EVENT e ON SCHEDULE EVERY 10 SECOND DO BEGIN INSERT INTO log (v) VALUES (1); INSERT INTO nosuch VALUES (1); END");
    c.ok("CREATE EVENT once ON SCHEDULE AT CURRENT_TIMESTAMP DO SIGNAL SQLSTATE '45000'");
    // What it leaves open is rolled back with its session.
    c.ok("CREATE EVENT open ON SCHEDULE EVERY 10 SECOND DO BEGIN START TRANSACTION; INSERT INTO log (v) VALUES (2); END");
    at(&db, 0);
    at(&db, 10);
    assert_eq!(c.rows("SELECT v FROM log"), ["1", "1"]);
    assert_eq!(c.code("DROP EVENT once"), 1539);
}

#[test]
fn what_was_missed_while_nobody_was_there() {
    let mut db = database();
    let mut c = client(&db);
    c.ok("CREATE EVENT once ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 5 SECOND DO INSERT INTO log (v) VALUES ('once')");
    c.ok("CREATE EVENT often ON SCHEDULE EVERY 10 SECOND STARTS CURRENT_TIMESTAMP + INTERVAL 1 SECOND DO INSERT INTO log (v) VALUES ('often')");
    c.ok("CREATE EVENT ended ON SCHEDULE EVERY 10 SECOND ENDS CURRENT_TIMESTAMP + INTERVAL 20 SECOND DO INSERT INTO log (v) VALUES ('ended')");
    c.ok("CREATE EVENT ended_kept ON SCHEDULE EVERY 10 SECOND ENDS CURRENT_TIMESTAMP + INTERVAL 20 SECOND ON COMPLETION PRESERVE DO DO 0");
    at(&db, 0);
    assert_eq!(c.rows("SELECT v FROM log"), ["ended"]);
    drop(c);
    db.reopen();
    let mut c = db.client();
    // Without a word of it, nothing runs.
    assert_eq!(c.one("SELECT @@event_scheduler"), "OFF");
    wait_for(&mut c, SCHEDULER, "0");
    db.instance().set_event_clock(Some(T + 100));
    for value in ["DISABLED", "disabled", "2", "3"] {
        let m = format!("Variable 'event_scheduler' can't be set to the value of '{value}'");
        let e = c.err(&format!("SET GLOBAL event_scheduler = {value}"));
        assert_eq!((e.code, e.message), (1231, m));
    }
    c.ok("SET GLOBAL event_scheduler = ON");
    db.instance().wait_for_events();
    assert_eq!(c.rows("SELECT v FROM log"), ["ended", "once"]);
    let left = "SELECT GROUP_CONCAT(event_name, ' ', status ORDER BY event_name) FROM information_schema.events";
    assert_eq!(c.one(left), "ended_kept DISABLED,often ENABLED");
    at(&db, 101);
    assert_eq!(c.rows("SELECT v FROM log"), ["ended", "once", "often"]);
}

#[test]
fn a_body_runs_under_the_settings_of_its_definition() {
    let db = database();
    let mut c = client(&db);
    c.ok(
        "SET sql_mode = 'ANSI_QUOTES', time_zone = '+05:00', collation_connection = 'utf8mb4_bin'",
    );
    c.ok(
        r#"CREATE EVENT "e" ON SCHEDULE EVERY 1 DAY DO INSERT INTO log (v) SELECT CONCAT_WS(' ', @@sql_mode, @@time_zone,
           @@collation_connection, DATABASE(), CURRENT_USER(), USER(), @@autocommit) AS "v""#,
    );
    at(&db, 0);
    assert_eq!(
        c.one("SELECT v FROM log"),
        "ANSI_QUOTES +05:00 utf8mb4_bin test root@localhost root@localhost 1"
    );
}

#[test]
fn a_body_may_do_what_its_definer_may() {
    let db = database();
    let mut c = client(&db);
    c.ok("CREATE USER eve@localhost");
    c.ok("GRANT EVENT ON test.* TO eve@localhost");
    c.ok("CREATE DEFINER = eve@localhost EVENT e ON SCHEDULE EVERY 10 SECOND DO INSERT INTO log (v) VALUES (CURRENT_USER())");
    at(&db, 0);
    assert_eq!(runs(&mut c), "0");
    c.ok("GRANT INSERT ON test.log TO eve@localhost");
    at(&db, 10);
    assert_eq!(c.rows("SELECT v FROM log"), ["eve@localhost"]);
    // It may have no events any more.
    c.ok("REVOKE EVENT ON test.* FROM eve@localhost");
    at(&db, 20);
    assert_eq!(runs(&mut c), "1");
    c.ok("GRANT EVENT ON test.* TO eve@localhost");
    at(&db, 30);
    assert_eq!(runs(&mut c), "2");
    c.ok("DROP USER eve@localhost");
    at(&db, 40);
    assert_eq!(runs(&mut c), "2");
    // Whoever alters it is its definer.
    c.ok("ALTER EVENT e COMMENT 'mine'");
    at(&db, 50);
    assert_eq!(
        c.one("SELECT v FROM log ORDER BY id DESC LIMIT 1"),
        "root@localhost"
    );
}

#[test]
fn an_event_runs_beside_itself() {
    let db = database();
    let mut c = client(&db);
    assert_eq!(c.one("SELECT GET_LOCK('gate', 0)"), "1");
    c.ok("CREATE EVENT e ON SCHEDULE EVERY 10 SECOND DO DO GET_LOCK('gate', 1000)");
    let running = "user = 'root' AND command = 'Connect' AND db = 'test' AND info = 'DO GET_LOCK(''gate'', 1000)'";
    wait_for(&mut c, running, "1");
    wait_for(
        &mut c,
        &format!("{SCHEDULER} AND state = 'Waiting for next activation' AND info IS NULL"),
        "1",
    );
    db.instance().set_event_clock(Some(T + 10));
    wait_for(&mut c, running, "2");
    // Nothing of it is a connection.
    c.ok("DROP EVENT e");
    wait_for(
        &mut c,
        &format!("{SCHEDULER} AND state = 'Waiting on empty queue'"),
        "1",
    );
    assert_eq!(c.one("SELECT RELEASE_LOCK('gate')"), "1");
    db.instance().wait_for_events();
    wait_for(&mut c, running, "0");
    assert_eq!(
        c.rows("SHOW STATUS LIKE 'Threads_connected'"),
        ["Threads_connected|1"]
    );
}

#[test]
fn bodies_may_change_events() {
    let db = database();
    let mut c = client(&db);
    c.ok("CREATE EVENT e ON SCHEDULE EVERY 10 SECOND DO BEGIN INSERT INTO log (v) VALUES (1); ALTER EVENT e ON SCHEDULE EVERY 1 DAY; END");
    c.ok("CREATE EVENT last ON SCHEDULE EVERY 10 SECOND DO DROP EVENT last");
    c.ok("CREATE EVENT off ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 5 SECOND DO SET GLOBAL event_scheduler = OFF");
    at(&db, 0);
    let names = "SELECT GROUP_CONCAT(event_name, ' ', interval_field ORDER BY event_name) FROM information_schema.events WHERE event_type = 'RECURRING'";
    assert_eq!(c.one(names), "e DAY");
    at(&db, 5);
    wait_for(&mut c, SCHEDULER, "0");
    assert_eq!(c.one("SELECT @@event_scheduler"), "OFF");
    assert_eq!(runs(&mut c), "1");
}

#[test]
fn databases_take_their_events_with_them() {
    let db = database();
    let mut c = client(&db);
    c.ok("CREATE DATABASE other");
    let all = "SELECT GROUP_CONCAT(event_schema, '.', event_name) FROM information_schema.events";
    c.ok("CREATE EVENT e ON SCHEDULE EVERY 10 SECOND STARTS CURRENT_TIMESTAMP + INTERVAL 1 SECOND DO INSERT INTO test.log (v) VALUES (DATABASE())");
    c.ok("ALTER EVENT e RENAME TO other.f");
    assert_eq!(c.one(all), "other.f");
    at(&db, 1);
    assert_eq!(c.rows("SELECT v FROM log"), ["other"]);
    c.ok("DROP DATABASE other");
    wait_for(
        &mut c,
        &format!("{SCHEDULER} AND state = 'Waiting on empty queue'"),
        "1",
    );
    at(&db, 100);
    assert_eq!((runs(&mut c), c.one(all)), ("1".into(), "NULL".into()));
}

#[test]
fn the_scheduler_is_turned_on_and_off() {
    let db = TestDb::new();
    let mut c = db.client();
    assert_eq!(c.one("SELECT @@event_scheduler"), "OFF");
    for (value, threads) in [
        ("1", "1"),
        ("ON", "1"),
        ("0", "0"),
        ("OFF", "0"),
        ("DEFAULT", "1"),
    ] {
        c.ok(&format!("SET GLOBAL event_scheduler = {value}"));
        wait_for(&mut c, SCHEDULER, threads);
    }
    assert_eq!(c.code("SET GLOBAL event_scheduler = DISABLED"), 1231);
    assert_eq!(c.code("SET GLOBAL event_scheduler = 2"), 1231);
    assert_eq!(c.code("SET event_scheduler = ON"), 1229);
    // KILL ends it as well.
    let id = c.one("SELECT id FROM information_schema.processlist WHERE user = 'event_scheduler'");
    c.ok(&format!("KILL {id}"));
    wait_for(&mut c, SCHEDULER, "0");
    c.ok("SET GLOBAL event_scheduler = ON");
    wait_for(&mut c, SCHEDULER, "1");
    // It does not wait for whoever turns it off.
    c.ok("CREATE EVENT e ON SCHEDULE AT CURRENT_TIMESTAMP DO DO 0");
    db.instance().wait_for_events();
    c.ok("FLUSH TABLES WITH READ LOCK");
    c.ok("SET GLOBAL event_scheduler = OFF");

    let db = TestDb::with(&[("event_scheduler", "DISABLED")]);
    let mut c = db.client();
    assert_eq!(c.code("SET GLOBAL event_scheduler = ON"), 1290);
    assert_eq!(c.one("SELECT @@event_scheduler"), "DISABLED");
}

/// What runs and never ends by itself is interrupted.
#[test]
fn closing_ends_events_that_run() {
    let mut db = database();
    let mut c = client(&db);
    c.ok("CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN INSERT INTO log (v) VALUES (1); DO SLEEP(100000); END");
    wait_for(&mut c, "info = 'DO SLEEP(100000)'", "1");
    drop(c);
    db.reopen();
    let mut c = db.client();
    assert_eq!(runs(&mut c), "1");
}

/// A definition changes while its event waits to be claimed: it goes by the new one.
#[test]
fn a_change_beside_a_run_counts() {
    let db = database();
    let mut c = client(&db);
    c.ok("CREATE EVENT e ON SCHEDULE EVERY 10 SECOND STARTS CURRENT_TIMESTAMP + INTERVAL 5 SECOND DO INSERT INTO log (v) VALUES (1)");
    // Nobody claims a run now.
    c.ok("FLUSH TABLES WITH READ LOCK");
    db.instance().set_event_clock(Some(T + 5));
    c.ok("UNLOCK TABLES");
    c.ok("ALTER EVENT e DO INSERT INTO log (v) VALUES (2)");
    db.instance().wait_for_events();
    // Either it was claimed before, or it is due by the new definition: once it is.
    assert_eq!(runs(&mut c), "1");
    at(&db, 15);
    assert_eq!(c.one("SELECT v FROM log ORDER BY id DESC LIMIT 1"), "2");
    assert_eq!(runs(&mut c), "2");
}
