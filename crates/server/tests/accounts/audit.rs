//! The audit log.

use crate::db::{Db, error, expect, run, strings};
use mysql::ChangeUserOpts;
use mysql::prelude::Queryable;
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn audited() -> Db {
    let mut db = Db::start();
    db.close();
    db.variables = vec![("audit_log".into(), "ON".into())];
    db.open();
    db
}

fn file(db: &Db) -> PathBuf {
    db.dir.join("data/audit.log")
}

/// Events of a file, once all that was logged is written.
fn events(db: &Db) -> Vec<Value> {
    db.root().query_drop("FLUSH LOGS").unwrap();
    let text = std::fs::read_to_string(file(db)).unwrap();
    let lines = text.lines().map(|l| serde_json::from_str(l).unwrap());
    lines.collect()
}

/// An event in a line: its name, who, what and how it ended.
fn short(event: &Value) -> String {
    let text = |path: &str| {
        let value = event.pointer(path).cloned().unwrap_or_default();
        value.as_str().map_or(value.to_string(), str::to_string)
    };
    let name = text("/event");
    let who = format!("{}@{}", text("/account/user"), text("/account/host"));
    match event["class"].as_str().unwrap() {
        "audit" => name,
        "connection" if name == "disconnect" => format!("{name} {who}"),
        "connection" => format!(
            "{name} {who} {} {} {}",
            text("/connection_data/connection_type"),
            text("/connection_data/db"),
            text("/connection_data/status")
        ),
        _ => format!(
            "{who} {} {}: {} {}",
            text("/general_data/command"),
            text("/general_data/sql_command"),
            text("/general_data/query"),
            text("/general_data/status")
        ),
    }
}

#[test]
fn what_is_audited() {
    let db = audited();
    let mut root = db.root();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "USE d",
            "CREATE TABLE t (a INT)",
            "INSERT INTO t VALUES (1)",
            "SELECT * FROM t",
            "CREATE USER reader@'%' IDENTIFIED BY 'secret1'",
            "GRANT SELECT ON d.t TO reader@'%'",
            "SET PASSWORD FOR reader@'%' = 'secret2'",
            "PREPARE p FROM 'ALTER TABLE t ADD b INT'",
            "EXECUTE p",
            "CREATE PROCEDURE makes() CREATE TABLE made (a INT)",
            "CALL makes()",
            "CREATE PROCEDURE users() CREATE USER other IDENTIFIED BY 'secret3'",
            "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
            r"CREATE USER a IDENTIFIED BY 'x\', b IDENTIFIED BY 'secret4'",
        ],
    );
    assert_eq!(error(root.query_drop("DROP TABLE none")).0, 1051);
    assert_eq!(error(db.tcp("reader", "wrong")).0, 1045);
    assert_eq!(error(db.tcp("nobody", "")).0, 1045);
    let mut reader = db.tcp("reader", "secret2").unwrap();
    expect(
        &mut reader,
        &[
            ("SELECT a FROM d.t", 0),
            ("DELETE FROM d.t WHERE a = 5", 1142),
            ("PREPARE p FROM 'DELETE FROM d.t'", 1142),
            ("USE mysql", 1044),
            ("DROP TABLE d.t", 1142),
            ("SET GLOBAL audit_log = OFF", 1227),
        ],
    );
    assert_eq!(error(reader.prep("UPDATE d.t SET a = 1")).0, 1142);
    assert_eq!(error(reader.select_db("mysql")).0, 1044);
    let other = ChangeUserOpts::new()
        .with_user(Some("root".into()))
        .with_pass(None);
    reader.change_user(other).unwrap();
    drop(reader);
    let all = events(&db);
    let numbers: Vec<u64> = all.iter().map(|e| e["id"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    let said: Vec<String> = all.iter().map(short).collect();
    let expected = [
        "startup",
        "connect root@localhost socket  0",
        "root@localhost Query create_db: CREATE DATABASE d 0",
        "root@localhost Query create_table: CREATE TABLE t (a INT) 0",
        "root@localhost Query create_user: CREATE USER reader@'%' IDENTIFIED BY '<secret>' 0",
        "root@localhost Query grant: GRANT SELECT ON d.t TO reader@'%' 0",
        "root@localhost Query set_password: SET PASSWORD FOR reader@'%' = '<secret>' 0",
        "root@localhost Query alter_table: ALTER TABLE t ADD b INT 0",
        "root@localhost Query create_procedure: CREATE PROCEDURE makes() CREATE TABLE made (a INT) 0",
        "root@localhost Query create_table: CREATE TABLE made (a INT) 0",
        "root@localhost Query create_procedure: CREATE PROCEDURE users() CREATE USER other IDENTIFIED BY '<secret>' 0",
        "root@localhost Query create_user: CREATE USER a IDENTIFIED BY '<secret>', b IDENTIFIED BY '<secret>' 0",
        "root@localhost Query drop_table: DROP TABLE none 1051",
        "connect reader@127.0.0.1 tcp/ip  1045",
        "connect nobody@127.0.0.1 tcp/ip  1045",
        "connect reader@% tcp/ip  0",
        "reader@% Query delete: DELETE FROM d.t WHERE a = 5 1142",
        "reader@% Query delete: DELETE FROM d.t 1142",
        "reader@% Query change_db: USE mysql 1044",
        "reader@% Query drop_table: DROP TABLE d.t 1142",
        "reader@% Query set_option: SET GLOBAL audit_log = OFF 1227",
        "reader@% Prepare update: UPDATE d.t SET a = 1 1142",
        "reader@% Sleep change_db: mysql 1044",
        "change_user root@localhost tcp/ip  0",
    ];
    assert_eq!(said[..expected.len()], expected);
    let text = std::fs::read_to_string(file(&db)).unwrap();
    for n in 1..5 {
        assert!(!text.contains(&format!("secret{n}")), "{n}");
    }
    let mode = std::fs::metadata(file(&db)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(
        strings(&mut root, "SHOW STATUS LIKE 'Audit_log_events_lost'").len(),
        1
    );
}

#[test]
fn the_audit_log_is_turned_off_and_on_and_rotated() {
    let mut db = audited();
    let mut root = db.root();
    run(
        &mut root,
        &[
            "SET GLOBAL audit_log = OFF",
            "CREATE DATABASE unseen",
            "SET GLOBAL audit_log = ON",
            "CREATE DATABASE seen",
        ],
    );
    let said: Vec<String> = events(&db).iter().map(short).collect();
    let root_did = |sql: &str, what: &str| format!("root@localhost Query {what}: {sql} 0");
    assert_eq!(
        said[2..7],
        [
            root_did("SET GLOBAL audit_log = OFF", "set_option"),
            "shutdown".into(),
            "startup".into(),
            root_did("SET GLOBAL audit_log = ON", "set_option"),
            root_did("CREATE DATABASE seen", "create_db"),
        ]
    );
    // By size: files that were full have the time in their names.
    run(&mut root, &["SET GLOBAL audit_log_rotate_on_size = 4096"]);
    for i in 0..100 {
        run(&mut root, &[&format!("CREATE TABLE seen.t{i} (a INT)")]);
    }
    run(&mut root, &["FLUSH LOGS"]);
    let mut numbers = Vec::new();
    let mut files = 0;
    for entry in std::fs::read_dir(db.dir.join("data")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("audit.") {
            files += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            numbers.extend(text.lines().map(|l| {
                serde_json::from_str::<Value>(l).unwrap()["id"]
                    .as_u64()
                    .unwrap()
            }));
        }
    }
    numbers.sort_unstable();
    assert!(files > 1, "{files} files");
    assert!(numbers.len() > 100, "{numbers:?}");
    assert!(
        numbers.windows(2).all(|two| two[1] == two[0] + 1),
        "{numbers:?}"
    );
    // A server that is to be audited doesn't start without.
    drop(root);
    db.close();
    std::fs::remove_file(file(&db)).unwrap();
    std::fs::create_dir(file(&db)).unwrap();
    let refused = db.try_instance().err().expect("no log, no server");
    assert_eq!(refused.code, 1016, "{refused}");
}

/// A packet's payload.
fn packet(stream: &mut UnixStream) -> Vec<u8> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).unwrap();
    let mut body = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    stream.read_exact(&mut body).unwrap();
    body
}

/// Answers the challenge by a wrong password, looks at what the server says to that, and hangs up.
fn guess(db: &Db, user: &str) -> Vec<u8> {
    let mut stream = UnixStream::connect(db.dir.join("sock")).unwrap();
    packet(&mut stream);
    // CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH.
    let mut login = 0x0008_8200u32.to_le_bytes().to_vec();
    login.extend_from_slice(&(1u32 << 24).to_le_bytes());
    login.push(45);
    login.extend_from_slice(&[0; 23]);
    login.extend_from_slice(user.as_bytes());
    login.extend_from_slice(&[0, 32]);
    login.extend_from_slice(&[7; 32]);
    login.extend_from_slice(b"caching_sha2_password\0");
    let mut sent = vec![login.len() as u8, 0, 0, 1];
    sent.extend_from_slice(&login);
    stream.write_all(&sent).unwrap();
    packet(&mut stream)
}

/// Waits until so many clients have been refused.
fn wait_refused(db: &Db, wanted: u64) {
    let mut root = db.root();
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let row: Option<(String, u64)> = root
            .query_first("SHOW GLOBAL STATUS LIKE 'Aborted_connects'")
            .unwrap();
        let refused = row.unwrap().1;
        if refused >= wanted {
            assert_eq!(refused, wanted);
            return;
        }
        assert!(Instant::now() < end, "{refused} of {wanted}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn guesses_are_counted_though_the_client_hangs_up() {
    let db = audited();
    run(
        &mut db.root(),
        &[
            "CREATE USER u IDENTIFIED BY 'right' FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME UNBOUNDED",
        ],
    );
    let refused = |status: u16| {
        let wanted = format!("connect u@localhost socket  {status}");
        events(&db).iter().filter(|e| short(e) == wanted).count()
    };
    // What is not remembered can't be guessed at, and who loses its connection then has done nothing wrong.
    run(&mut db.root(), &["FLUSH PRIVILEGES"]);
    for n in 1..=3 {
        assert_eq!(guess(&db, "u"), [1, 4]);
        wait_refused(&db, n);
    }
    assert_eq!((refused(1158), refused(1045)), (3, 0));
    drop(db.login("u", "right").unwrap());
    for n in 4..=5 {
        assert_eq!(guess(&db, "u"), [1, 4]);
        wait_refused(&db, n);
    }
    assert_eq!((refused(1158), refused(1045)), (3, 2));
    // Now it is blocked, and the right password is no longer told from others before it is sent.
    assert_eq!(error(db.login("u", "right")).0, 3955);
    assert_eq!(guess(&db, "u"), [1, 4]);
}

#[test]
fn a_refused_change_of_user_is_the_new_user_s() {
    let db = audited();
    run(&mut db.root(), &["CREATE DATABASE d", "CREATE USER u, v"]);
    let user = |name: &str, password: Option<&str>| {
        ChangeUserOpts::new()
            .with_user(Some(name.into()))
            .with_pass(password.map(str::to_string))
            .with_db_name(Some("d".into()))
    };
    let mut c = db.user("u");
    assert_eq!(error(c.change_user(user("nobody", Some("x")))).0, 1045);
    let mut c = db.user("u");
    assert_eq!(error(c.change_user(user("v", None))).0, 1044);
    let all = events(&db);
    let said: Vec<String> = all
        .iter()
        .filter(|e| e["event"] == "change_user")
        .map(short)
        .collect();
    assert_eq!(
        said,
        [
            "change_user nobody@localhost socket d 1045",
            "change_user v@localhost socket d 1044"
        ]
    );
}

#[test]
fn the_audit_log_s_variables_are_its_administrator_s() {
    let mut db = audited();
    let mut root = db.root();
    run(
        &mut root,
        &[
            "CREATE USER u",
            "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO u",
            "SET PERSIST long_query_time = 5",
            "SET PERSIST_ONLY audit_log = ON",
        ],
    );
    let mut user = db.user("u");
    expect(
        &mut user,
        &[
            ("SET PERSIST_ONLY audit_log = OFF", 3630),
            ("RESET PERSIST audit_log", 1227),
            ("RESET PERSIST IF EXISTS Audit_log_file", 3630),
            ("RESET PERSIST", 1227),
            ("RESET PERSIST long_query_time", 0),
            // Nor may it write what looks like the log's.
            ("SET GLOBAL slow_query_log_file = 'audit.log'", 1231),
            ("SET GLOBAL slow_query_log_file = '../data/audit.log'", 1231),
            (
                "SET GLOBAL slow_query_log_file = 'audit.20261124T001533.log'",
                1231,
            ),
            ("SET GLOBAL slow_query_log_file = 'redo'", 1231),
            ("SET GLOBAL slow_query_log_file = 'mysqld-auto.cnf'", 1231),
            ("SET GLOBAL slow_query_log_file = 'slow.log'", 0),
        ],
    );
    expect(
        &mut root,
        &[
            ("SET PERSIST_ONLY audit_log_file = 'slow.log'", 1231),
            ("RESET PERSIST", 0),
            ("RESET PERSIST", 0),
        ],
    );
    let said: Vec<String> = events(&db).iter().map(short).collect();
    let of = |who: &str| {
        let found = said.iter().filter(|e| e.contains("PERSIST"));
        let found = found.filter(|e| e.starts_with(who));
        found.map(String::as_str).collect::<Vec<_>>()
    };
    assert_eq!(
        of("u@"),
        [
            "u@% Query set_option: SET PERSIST_ONLY audit_log = OFF 3630",
            "u@% Query reset: RESET PERSIST audit_log 1227",
            "u@% Query reset: RESET PERSIST IF EXISTS Audit_log_file 3630",
            "u@% Query reset: RESET PERSIST 1227",
        ]
    );
    assert_eq!(
        of("root@"),
        [
            "root@localhost Query set_option: SET PERSIST_ONLY audit_log = ON 0",
            "root@localhost Query reset: RESET PERSIST 0",
        ]
    );
    // A slow query log that is to be the same file stays off.
    drop((root, user));
    db.close();
    for (name, value) in [
        ("slow_query_log_file", "./audit.log"),
        ("slow_query_log", "ON"),
    ] {
        db.variables.push((name.into(), value.into()));
    }
    db.open();
    assert_eq!(strings(&mut db.root(), "SELECT @@slow_query_log"), ["0"]);
    events(&db);
}
