//! SET PERSIST and what is left of it after a restart; SHUTDOWN.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::TestDb;

const FILE: &str = "mysqld-auto.cnf";
const ALL: &str = "SELECT * FROM performance_schema.persisted_variables";

fn rows(c: &mut crate::support::Client, sql: &str) -> Vec<String> {
    c.ok(sql).rows.iter().map(|r| r.join(" ")).collect()
}

#[test]
fn variables_outlive_the_server() {
    let mut db = TestDb::new();
    let path = db.path.join(FILE);
    let mut c = db.client();
    assert!(rows(&mut c, ALL).is_empty() && !path.exists());
    c.ok("SET PERSIST max_connections = 99, wait_timeout = 1000, @@PERSIST.sql_mode = 'ANSI_QUOTES', PERSIST read_only = 1");
    c.ok("SET PERSIST read_only = DEFAULT, PERSIST_ONLY back_log = 77, @@PERSIST_ONLY.long_query_time = 2.5");
    c.ok("SET PERSIST character_set_results = NULL, PERSIST_ONLY innodb_buffer_pool_size = 32 * 1024 * 1024");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o007, 0);
    // What is persisted alone takes effect at the next start.
    let now = "SELECT @@global.max_connections, @@wait_timeout, @@global.wait_timeout, @@back_log, @@global.long_query_time, @@read_only, \
               @@global.character_set_results, @@innodb_buffer_pool_size >> 20, @@global.sql_mode";
    assert_eq!(
        rows(&mut c, now),
        ["99 28800 1000 151 10 0 NULL 8 ANSI_QUOTES"]
    );
    let all = [
        "back_log 77",
        "character_set_results NULL",
        "innodb_buffer_pool_size 33554432",
        "long_query_time 2.500000",
        "max_connections 99",
        "read_only OFF",
        "sql_mode ANSI_QUOTES",
        "wait_timeout 1000",
    ];
    assert_eq!(rows(&mut c, ALL), all);
    drop(c);
    db.reopen();
    let mut c = db.client();
    assert_eq!(
        rows(&mut c, now),
        ["99 1000 1000 77 2.5 0 NULL 32 ANSI_QUOTES"]
    );
    c.ok("SET GLOBAL wait_timeout = 5");
    let info = "SELECT VARIABLE_NAME, VARIABLE_SOURCE, VARIABLE_PATH LIKE '%/mysqld-auto.cnf', MIN_VALUE, MAX_VALUE, SET_USER, SET_HOST, \
                SET_TIME > NOW() - INTERVAL 1 DAY FROM performance_schema.variables_info \
                WHERE VARIABLE_NAME IN ('wait_timeout', 'back_log', 'autocommit')";
    assert_eq!(
        rows(&mut c, info),
        [
            "autocommit COMPILED 0 0 0 NULL NULL NULL",
            "back_log PERSISTED 1 1 65535 root localhost 1",
            "wait_timeout DYNAMIC 0 1 31536000 root localhost 1",
        ]
    );
    // RESET PERSIST leaves what is now.
    c.ok("RESET PERSIST wait_timeout");
    assert_eq!(c.code("RESET PERSIST wait_timeout"), 3615);
    c.ok("RESET PERSIST IF EXISTS wait_timeout");
    assert_eq!(
        c.warnings(),
        ["Warning 3615 Variable wait_timeout does not exist in persisted config file"]
    );
    assert_eq!(c.one("SELECT @@global.wait_timeout"), "5");
    assert_eq!(rows(&mut c, ALL), all[..7]);
    c.ok("RESET PERSIST");
    assert!(rows(&mut c, ALL).is_empty());
    drop(c);
    db.reopen();
    let now = "SELECT @@global.max_connections, @@global.wait_timeout, @@back_log";
    assert_eq!(rows(&mut db.client(), now), ["151 28800 151"]);
}

#[test]
fn what_can_not_be_persisted() {
    let db = TestDb::new();
    let mut c = db.client();
    for (sql, code) in [
        ("SET PERSIST nosuch = 1", 1193),
        ("SET PERSIST timestamp = 1", 1228),
        ("SET PERSIST back_log = 10", 1238),
        ("SET PERSIST_ONLY datadir = '/'", 1238),
        ("SET PERSIST datadir = '/'", 1238),
        ("SET PERSIST_ONLY have_ssl = 'NO'", 1238),
        ("SET PERSIST max_connections = 'x'", 1232),
        ("SET PERSIST_ONLY max_connections = 'x'", 1232),
        ("SET PERSIST sql_mode = 'NOPE'", 1231),
        ("SET PERSIST big_tables = ON", 1235),
        ("RESET PERSIST nosuch", 3615),
    ] {
        assert_eq!(c.code(sql), code, "{sql}");
    }
    assert!(rows(&mut c, ALL).is_empty());
    assert!(!db.path.join(FILE).exists());
}

#[test]
fn who_may_persist() {
    let db = TestDb::new();
    let mut root = db.client();
    root.ok("CREATE USER u@localhost");
    let mut c = db.user("u").unwrap();
    assert_eq!(c.code("SET PERSIST max_connections = 99"), 1227);
    assert_eq!(c.code("SET PERSIST_ONLY max_connections = 99"), 3630);
    assert_eq!(c.code("RESET PERSIST"), 1227);
    root.ok("GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO u@localhost");
    c.ok("SET PERSIST max_connections = 99");
    assert_eq!(c.code("SET PERSIST_ONLY back_log = 99"), 3630);
    c.ok("RESET PERSIST");
    root.ok("SET PERSIST_ONLY back_log = 99");
    assert_eq!(c.code("RESET PERSIST"), 3630);
    assert_eq!(c.code("RESET PERSIST back_log"), 3630);
    root.ok("GRANT PERSIST_RO_VARIABLES_ADMIN ON *.* TO u@localhost");
    assert_eq!(rows(&mut c, ALL), ["back_log 99"]);
    c.ok("RESET PERSIST back_log");
    c.ok("SET PERSIST_ONLY back_log = 88");
    assert_eq!(rows(&mut c, ALL), ["back_log 88"]);
}

#[test]
fn a_file_that_is_no_good() {
    let mut db = TestDb::new();
    db.client().ok("SET PERSIST max_connections = 99");
    let path = db.path.join(FILE);
    let good = std::fs::read_to_string(&path).unwrap();
    let open = |db: &TestDb, load: bool| {
        db.try_open(&[("persisted_globals_load", if load { "ON" } else { "OFF" })])
    };
    db.close();
    for (text, with) in [
        (good.replace("\"99\"", "\"nonsense\""), "max_connections"),
        (good.replace("max_connections", "datadir"), "non persistent"),
        (good[1..].to_string(), "corrupt"),
    ] {
        std::fs::write(&path, text).unwrap();
        let e = open(&db, true).err().expect("refused");
        assert!(
            e.message.contains(with) && e.message.contains("persisted_globals_load"),
            "{e}"
        );
        let instance = open(&db, false).unwrap();
        assert_eq!(instance.global_u64("max_connections"), Some(151));
        instance.close().unwrap();
    }
    // A variable of another version.
    std::fs::write(&path, good.replace("max_connections", "nosuch")).unwrap();
    open(&db, true).unwrap().close().unwrap();
}

#[test]
fn shutdown() {
    let db = TestDb::new();
    let mut root = db.client();
    assert_eq!(root.code("SHUTDOWN"), 1235);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    db.instance().on_shutdown(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    root.ok("SHUTDOWN");
    assert_eq!(root.code("RESTART"), 3707);
    assert_eq!(root.code("PREPARE s FROM 'SHUTDOWN'"), 1295);
    root.ok("CREATE USER u@localhost");
    let mut c = db.user("u").unwrap();
    assert_eq!([c.code("SHUTDOWN"), c.code("RESTART")], [1227, 1227]);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    root.ok("GRANT SHUTDOWN ON *.* TO u@localhost");
    c.ok("SHUTDOWN");
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}
