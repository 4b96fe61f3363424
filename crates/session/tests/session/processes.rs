//! The process list, KILL, status counters, closing and opening.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use millpond_session::{ClientLook, ConnectionInfo};

use crate::support::{Client, TestDb};

#[test]
fn the_process_list_and_kill() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    let list = a.ok("SHOW PROCESSLIST");
    assert_eq!(
        list.headings(),
        [
            "Id", "User", "Host", "db", "Command", "Time", "State", "Info"
        ]
    );
    assert_eq!(list.rows.len(), 2);
    let own = list.rows.iter().find(|r| r[0] == a.0.id().to_string());
    let own = own.expect("the session itself");
    assert_eq!(
        (&*own[3], &*own[4], &*own[7]),
        ("test", "Query", "SHOW PROCESSLIST")
    );
    let idle = list.rows.iter().find(|r| r[0] == b.0.id().to_string());
    let idle = idle.expect("the other session");
    assert_eq!((&*idle[4], &*idle[7]), ("Sleep", "NULL"));
    assert_eq!(a.code("KILL 4000000000"), 1094);
    // KILL QUERY of an idle session changes nothing.
    a.ok(&format!("KILL QUERY {}", b.0.id()));
    b.ok("SELECT 1");
    a.ok(&format!("KILL {}", b.0.id()));
    assert!(b.0.killed());
    drop(b);
    assert_eq!(
        a.one("SELECT COUNT(*) FROM information_schema.processlist"),
        "1"
    );
}

#[test]
fn kill_query_ends_a_lock_wait() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    a.ok("INSERT INTO t VALUES (1)");
    a.ok("BEGIN");
    a.ok("DELETE FROM t");
    let id = b.0.id();
    let waiter = std::thread::spawn(move || (b.code("DELETE FROM t"), b));
    loop {
        let busy = format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND command = 'Query'"
        );
        if a.one(&busy) == "1" {
            break;
        }
        std::thread::yield_now();
    }
    a.ok(&format!("KILL QUERY {id}"));
    let (code, mut b) = waiter.join().unwrap();
    assert_eq!(code, 1317);
    assert!(!b.0.killed());
    a.ok("ROLLBACK");
    assert_eq!(b.one("SELECT COUNT(*) FROM t"), "1");
}

#[test]
fn status_counts() {
    let db = TestDb::new();
    let mut c = db.client();
    let count = |c: &mut Client, name: &str| -> u64 {
        let rows = c.ok(&format!("SHOW STATUS LIKE '{name}'")).rows;
        rows[0][1].parse().unwrap()
    };
    let before = count(&mut c, "Com_select");
    c.ok("SELECT 1");
    c.ok("SELECT 2");
    assert_eq!(count(&mut c, "Com_select"), before + 2);
    let questions = count(&mut c, "Questions");
    assert_eq!(count(&mut c, "Questions"), questions + 1);
    let connected = db.client();
    assert_eq!(count(&mut c, "Threads_connected"), 2);
    drop(connected);
    assert_eq!(count(&mut c, "Threads_connected"), 1);
    c.ok("FLUSH STATUS");
    assert_eq!(count(&mut c, "Com_select"), 0);
    let global = c.ok("SHOW GLOBAL STATUS LIKE 'Com_select'").rows;
    assert!(global[0][1].parse::<u64>().unwrap() >= before + 2);
}

#[test]
fn instances_close_and_open_again() {
    let mut db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("INSERT INTO t VALUES (1)");
    drop(c);
    db.reopen();
    let mut c = db.client();
    assert_eq!(c.rows("SELECT * FROM t"), ["1"]);
    drop(c);
    db.instance().close().unwrap();
    let refused = db.instance().connect(Default::default());
    assert_eq!(refused.err().map(|e| e.code), Some(1053));
}

#[test]
fn functions_that_wait() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    assert_eq!(
        a.one("SELECT SLEEP(0), BENCHMARK(5000, MD5('x')), BENCHMARK(NULL, 1)"),
        "0|0|NULL"
    );
    assert_eq!(a.code("SELECT SLEEP(-1)"), 1210);
    assert_eq!(a.code("SELECT SLEEP(NULL)"), 1210);
    // A limit wakes it; among rows the statement fails.
    a.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    a.ok("INSERT INTO t VALUES (1), (2)");
    a.ok("SET max_execution_time = 1");
    assert_eq!(a.one("SELECT SLEEP(1000)"), "1");
    assert_eq!(a.code("SELECT id FROM t WHERE SLEEP(1000 + 0 * id)"), 3024);
    a.ok("SET max_execution_time = 0");
    assert_eq!(
        a.one("/* x */ SELECT /*+ SET_VAR(x=1) MAX_EXECUTION_TIME( 1 ) */ SLEEP(1000)"),
        "1"
    );
    // Locks by name.
    let me = a.one("SELECT CONNECTION_ID()");
    assert_eq!(
        a.one("SELECT GET_LOCK('x', 0), GET_LOCK('X', 0), IS_FREE_LOCK('x')"),
        "1|1|0"
    );
    assert_eq!(
        b.one("SELECT GET_LOCK('x', 0), IS_USED_LOCK('x'), RELEASE_LOCK('x'), RELEASE_LOCK('y')"),
        format!("0|{me}|0|NULL")
    );
    assert_eq!(b.code("SELECT GET_LOCK(NULL, 0)"), 3057);
    assert_eq!(
        a.one("SELECT RELEASE_LOCK('x'), RELEASE_ALL_LOCKS(), IS_USED_LOCK('x')"),
        "1|1|NULL"
    );
    b.ok("DO GET_LOCK('x', 0)");
    drop(b);
    assert_eq!(a.one("SELECT GET_LOCK('x', 0)"), "1");
    a.0.reset().expect("reset");
    assert_eq!(a.one("SELECT IS_FREE_LOCK('x')"), "1");
}

#[test]
fn the_logs_counters_are_shown() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    let count = |c: &mut Client, name: &str| -> u64 {
        let row = c.one(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
        row.rsplit('|')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("a number")
    };
    for (id, name) in [
        "Innodb_os_log_fsyncs",
        "Innodb_log_writes",
        "Innodb_log_write_requests",
    ]
    .into_iter()
    .enumerate()
    {
        let before = count(&mut c, name);
        c.ok(&format!("INSERT INTO t VALUES ({id})"));
        assert!(count(&mut c, name) > before, "{name}");
    }
}

#[test]
fn kill_wakes_who_waits() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("DO GET_LOCK('x', 0)");
    for (sql, answer) in [
        ("SELECT SLEEP(100000)", "1"),
        ("SELECT GET_LOCK('x', -1)", "NULL"),
    ] {
        let mut other = db.client();
        let id = other.one("SELECT CONNECTION_ID()");
        std::thread::scope(|s| {
            let waits = s.spawn(move || other.one(sql));
            let busy = format!(
                "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info = \"{sql}\""
            );
            while c.one(&busy) == "0" {
                std::thread::yield_now();
            }
            c.ok(&format!("KILL QUERY {id}"));
            assert_eq!(waits.join().expect("joins"), answer);
        });
    }
}

/// While a procedure runs, the process list shows its statement.
#[test]
fn the_process_list_shows_what_a_procedure_does() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT, what TEXT)");
    c.ok("CREATE PROCEDURE p() BEGIN DECLARE n INT DEFAULT 7; INSERT INTO t SELECT n, INFO FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID(); END");
    c.ok("CALL p()");
    let shown = "INSERT INTO t SELECT n, INFO FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()";
    assert_eq!(c.rows("SELECT * FROM t"), [format!("7|{shown}")]);
    let own = "SELECT INFO FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()";
    assert_eq!(c.rows(own), [own]);
}

#[test]
fn who_waits_for_a_lock_by_name_ends_with_its_client() {
    let db = TestDb::new();
    let mut a = db.raw();
    assert_eq!(a.one("SELECT GET_LOCK('x', 0)"), "1");
    let gone = Arc::new(AtomicBool::new(false));
    let looked = gone.clone();
    let info = ConnectionInfo {
        user: "root".into(),
        host: "localhost".into(),
        is_gone: Some(ClientLook(Arc::new(move || looked.load(Ordering::Relaxed)))),
        ..ConnectionInfo::default()
    };
    let mut b = Client(db.instance().connect(info).expect("connect"));
    std::thread::scope(|threads| {
        let waits = threads.spawn(move || b.one("SELECT GET_LOCK('x', 100000)"));
        let waiting =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User lock'";
        while a.one(waiting) == "0" {
            std::thread::yield_now();
        }
        gone.store(true, Ordering::Relaxed);
        assert_eq!(waits.join().unwrap(), "NULL");
        assert_eq!(a.one(waiting), "0");
    });
    assert_eq!(a.one("SELECT IS_USED_LOCK('x') = CONNECTION_ID()"), "1");
}
