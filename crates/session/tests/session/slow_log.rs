//! The slow query log, as its readers find it.

use crate::support::{Client, Collector, TestDb};
use millpond_session::Value;
use std::path::PathBuf;

/// A log in which every statement is: its file.
fn logging(db: &TestDb, c: &mut Client) -> PathBuf {
    let path = db.path.join("slow.log");
    c.ok("SET GLOBAL slow_query_log_file = 'slow.log'");
    c.ok("SET GLOBAL slow_query_log = ON");
    c.ok("SET SESSION long_query_time = 0");
    path
}

/// What has been logged so far.
fn logged(path: &PathBuf, c: &mut Client) -> String {
    // Entries are on their way until the file is switched.
    c.ok("FLUSH SLOW LOGS");
    std::fs::read_to_string(path).expect("a slow log")
}

/// The header lines' values and the statement of the entry that ends with this statement.
fn entry(log: &str, statement: &str) -> (f64, f64, u64, u64) {
    let end = log
        .rfind(&format!("\n{statement};\n"))
        .unwrap_or_else(|| panic!("no {statement} in\n{log}"));
    let at = log[..end].rfind("# Query_time: ").expect("a header");
    let words: Vec<&str> = log[at..end].split_whitespace().collect();
    (
        words[2].parse().unwrap(),
        words[4].parse().unwrap(),
        words[6].parse().unwrap(),
        words[8].parse().unwrap(),
    )
}

#[test]
fn statements_are_logged_with_what_they_did() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    c.ok("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)");
    let path = logging(&db, &mut c);
    c.ok("SELECT * FROM t WHERE b > 1");
    c.ok("SELECT b FROM t WHERE a = 2");
    c.ok("SELECT COUNT(*) FROM t x JOIN t y");
    c.ok("UPDATE t SET b = 5 WHERE b = 3");
    c.code("SELECT nope");
    c.ok("SET @x = (SELECT MAX(b) FROM t)");
    c.ok("SET @k = 2");
    c.ok("SET @x = (SELECT b FROM t WHERE a = @k)");
    c.ok("CREATE TABLE u (a INT)");
    c.ok("ALTER TABLE u ADD COLUMN b INT");
    let log = logged(&path, &mut c);
    let rows = |statement| {
        let (time, lock, sent, examined) = entry(&log, statement);
        assert!(time > 0.0 && lock == 0.0, "{statement}");
        (sent, examined)
    };
    assert_eq!(rows("SELECT * FROM t WHERE b > 1"), (2, 3));
    assert_eq!(rows("SELECT b FROM t WHERE a = 2"), (1, 1));
    // A row that a variable names is found by its key.
    assert_eq!(rows("SET @x = (SELECT b FROM t WHERE a = @k)"), (0, 1));
    let (sent, examined) = rows("SELECT COUNT(*) FROM t x JOIN t y");
    assert!(sent == 1 && examined >= 6, "{examined}");
    assert_eq!(rows("UPDATE t SET b = 5 WHERE b = 3"), (0, 3));
    assert_eq!(rows("SELECT nope"), (0, 0));
    assert_eq!(rows("SET @x = (SELECT MAX(b) FROM t)").0, 0);
    assert_eq!(rows("CREATE TABLE u (a INT)"), (0, 0));
    // An administrative statement is not a slow query unless asked for.
    assert!(!log.contains("ALTER TABLE"));
    assert!(log.contains("started with:\nTcp port: "));
    assert_eq!(log.matches("\nuse test;\n").count(), 1, "{log}");
    assert!(log.contains("# User@Host: root[root] @ localhost []  Id: "));
    c.ok("SET GLOBAL log_slow_admin_statements = 1");
    c.ok("ALTER TABLE u ADD COLUMN c INT");
    assert!(logged(&path, &mut c).contains("\nALTER TABLE u ADD COLUMN c INT;\n"));
}

#[test]
fn only_what_is_slow_is_logged() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("INSERT INTO t VALUES (1), (2), (3)");
    let slow = |c: &mut Client| -> u64 {
        let row = c.one("SHOW SESSION STATUS LIKE 'Slow_queries'");
        row.split('|').nth(1).unwrap().parse().unwrap()
    };
    c.ok("SELECT 'fast' FROM t");
    assert_eq!(slow(&mut c), 0);
    let path = logging(&db, &mut c);
    c.ok("SET min_examined_row_limit = 3");
    let before = slow(&mut c);
    c.ok("SELECT 'two' FROM t LIMIT 2");
    c.ok("SELECT 'three' FROM t");
    let after = slow(&mut c);
    // The status itself is a table of many rows.
    assert_eq!(after - before, 2);
    c.ok("SET long_query_time = 1000.5");
    assert_eq!(c.one("SELECT @@long_query_time"), "1000.5");
    c.ok("SELECT 'later' FROM t");
    let log = logged(&path, &mut c);
    assert!(log.contains("'three'") && !log.contains("'two'") && !log.contains("'later'"));
    // Another session has a limit of its own.
    let mut d = db.client();
    d.ok("SELECT 'other' FROM t");
    c.ok("SET GLOBAL long_query_time = 0");
    db.client().ok("SELECT 'new' FROM t");
    let log = logged(&path, &mut c);
    assert!(log.contains("'new'") && !log.contains("'other'"));
    c.ok("SET GLOBAL slow_query_log = OFF");
    db.client().ok("SELECT 'off' FROM t");
    assert!(!std::fs::read_to_string(&path).unwrap().contains("'off'"));
}

#[test]
fn a_statement_that_is_settled_later_is_slow_too() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.0.leave_commits_unsettled();
    let mut looker = db.client();
    let mut slow = move || looker.one("SHOW GLOBAL STATUS LIKE 'Slow_queries'");
    c.ok("SET long_query_time = 0");
    let before: u64 = slow().split('|').nth(1).unwrap().parse().unwrap();
    c.ok("INSERT INTO t VALUES (1)");
    let unsettled = c.0.take_unsettled().expect("a commit under way");
    assert_eq!(slow(), format!("Slow_queries|{before}"));
    c.0.settle(unsettled).unwrap();
    assert_eq!(slow(), format!("Slow_queries|{}", before + 1));
    c.ok("SET min_examined_row_limit = 1");
    c.ok("INSERT INTO t VALUES (2)");
    let unsettled = c.0.take_unsettled().expect("a commit under way");
    c.0.settle(unsettled).unwrap();
    assert_eq!(slow(), format!("Slow_queries|{}", before + 1));
}

#[test]
fn prepared_statements_are_logged_with_their_values() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, s VARCHAR(20))");
    let path = logging(&db, &mut c);
    let p = c.0.prepare("INSERT INTO t VALUES (?, ?)").unwrap();
    let values = [Value::Int(7), Value::str("it's")];
    c.0.execute_prepared(&p, &values, &mut Collector::default())
        .unwrap();
    c.ok("SET @a = 1");
    c.ok("PREPARE p FROM 'SELECT ?'");
    c.ok("EXECUTE p USING @a");
    c.ok("SELECT s FROM t WHERE a = 7; SELECT 2");
    let log = logged(&path, &mut c);
    for statement in [
        r"INSERT INTO t VALUES (7, 'it\'s')",
        "EXECUTE p USING @a",
        "SELECT s FROM t WHERE a = 7",
        "SELECT 2",
    ] {
        entry(&log, statement);
    }
}

#[test]
fn waiting_for_a_lock_shows() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    c.ok("INSERT INTO t VALUES (1, 1)");
    let path = logging(&db, &mut c);
    c.ok("BEGIN");
    c.ok("UPDATE t SET b = 2");
    let mut other = db.client();
    other.ok("SET long_query_time = 0");
    let waiter = std::thread::spawn(move || other.ok("UPDATE t SET b = 3"));
    while !c.one("SHOW ENGINE INNODB STATUS").contains("LOCK WAIT for") {
        std::thread::yield_now();
    }
    c.ok("COMMIT");
    waiter.join().unwrap();
    let (time, lock, _, examined) = entry(&logged(&path, &mut c), "UPDATE t SET b = 3");
    assert!(lock > 0.0 && time >= lock, "{time} {lock}");
    assert_eq!(examined, 1);
}

#[test]
fn a_file_that_cannot_be_opened_is_refused() {
    let db = TestDb::new();
    let mut c = db.client();
    let path = logging(&db, &mut c);
    assert_eq!(
        c.code("SET GLOBAL slow_query_log_file = 'no/such/dir/x'"),
        1231
    );
    assert_eq!(c.code("SET GLOBAL slow_query_log_file = ''"), 1231);
    assert_eq!(c.one("SELECT @@slow_query_log_file"), "slow.log");
    c.ok("SELECT 'still'");
    assert!(logged(&path, &mut c).contains("'still'"));
    c.ok("SET GLOBAL slow_query_log_file = DEFAULT");
    assert!(c.one("SELECT @@slow_query_log_file").ends_with("-slow.log"));
    // A full disk loses entries, which are counted; statements go on.
    c.ok("SET GLOBAL slow_query_log_file = '/dev/full'");
    c.ok("SELECT 1");
    c.ok("SELECT 2");
    c.ok("FLUSH LOGS");
    let lost = c.one("SHOW GLOBAL STATUS LIKE 'Millpond_slow_log_lost'");
    let lost: u64 = lost.split('|').nth(1).unwrap().parse().unwrap();
    assert!(lost >= 2, "{lost}");
    drop(c);
    let db = TestDb::with(&[
        ("slow_query_log", "ON"),
        ("slow_query_log_file", "begun.log"),
        ("long_query_time", "0"),
    ]);
    let mut c = db.client();
    c.ok("SELECT 'begun'");
    assert!(logged(&db.path.join("begun.log"), &mut c).contains("'begun'"));
    let db = TestDb::with(&[("slow_query_log", "ON"), ("slow_query_log_file", "/no/x")]);
    assert_eq!(db.client().one("SELECT @@slow_query_log"), "0");
}
