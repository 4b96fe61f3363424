//! Smoke suite of the Rust `mysql` client against a server on a fresh data directory.

mod threads;

use millpond_server::{Server, ServerConfig};
use millpond_session::{Instance, InstanceOptions};
use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{ChangeUserOpts, Conn, Error, OptsBuilder, Params, Row, Value, params};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A server and its data directory.
struct Db {
    dir: PathBuf,
    instance: Instance,
    server: Option<Server<Instance>>,
}

impl Db {
    fn start() -> Db {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("millpond-mysql-{}-{n}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let store = millpond_store::Options {
            pool_bytes: 64 << 20,
            log_bytes: 64 << 20,
            ..millpond_store::Options::default()
        };
        let instance = Instance::open(InstanceOptions {
            path: dir.join("data"),
            store,
            variables: threads::variables(),
        })
        .unwrap();
        let config = ServerConfig {
            tcp: Some("127.0.0.1:0".parse().unwrap()),
            socket: Some(dir.join("sock")),
            ..Default::default()
        };
        let server = Server::start(instance.clone(), &config).unwrap();
        Db {
            dir,
            instance,
            server: Some(server),
        }
    }

    fn opts(&self) -> OptsBuilder {
        OptsBuilder::new()
            .socket(Some(self.dir.join("sock").to_str().unwrap()))
            .user(Some("root"))
            .max_allowed_packet(Some(64 << 20))
    }

    fn connect(&self) -> Conn {
        Conn::new(self.opts()).unwrap()
    }

    /// A connection whose current database is a new one.
    fn fresh(&self) -> Conn {
        let mut c = self.connect();
        c.query_drop("DROP DATABASE IF EXISTS suite").unwrap();
        c.query_drop("CREATE DATABASE suite").unwrap();
        c.query_drop("USE suite").unwrap();
        c
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.shutdown(Duration::from_secs(5));
        }
        let closed = self.instance.close();
        let _ = std::fs::remove_dir_all(&self.dir);
        if !std::thread::panicking() {
            closed.unwrap();
        }
    }
}

fn code<T>(result: Result<T, Error>) -> u16 {
    match result {
        Err(Error::MySqlError(e)) => e.code,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn connects_over_tcp_and_socket() {
    let db = Db::start();
    let port = db.server.as_ref().unwrap().tcp_addr().unwrap().port();
    let mut tcp = Conn::new(
        OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(port)
            .user(Some("root"))
            .prefer_socket(false),
    )
    .unwrap();
    let mut unix = db.connect();
    for c in [&mut tcp, &mut unix] {
        let id = c.connection_id();
        let seen: Option<u32> = c.query_first("SELECT CONNECTION_ID()").unwrap();
        assert_eq!(seen, Some(id));
        assert_eq!(c.server_version().0, 8);
        c.ping().unwrap();
    }
    let denied = Conn::new(db.opts().user(Some("bob")));
    assert_eq!(code(denied.map(|_| ())), 1045);
    let unknown = Conn::new(db.opts().db_name(Some("nowhere")));
    assert_eq!(code(unknown.map(|_| ())), 1049);
}

#[test]
fn prepared_statements_carry_every_type() {
    let db = Db::start();
    let mut c = db.fresh();
    c.query_drop(
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, ti TINYINT, ut TINYINT UNSIGNED, s SMALLINT,
         m MEDIUMINT, b BIGINT, ub BIGINT UNSIGNED, d DECIMAL(30, 6), f DOUBLE, c CHAR(10), v VARCHAR(100),
         x TEXT, bi BINARY(4), vb VARBINARY(100), bl BLOB, da DATE, dt DATETIME(6), ts TIMESTAMP NULL,
         e ENUM('red', 'green'))",
    )
    .unwrap();
    let text = "v\u{e4}ri\u{e4} \u{1f3a8}";
    let row: Vec<Value> = vec![
        Value::Int(-128),
        Value::Int(255),
        Value::Int(-32768),
        Value::Int(-8388608),
        Value::Int(i64::MIN),
        Value::UInt(u64::MAX),
        Value::Bytes(b"-123456789012345678901234.567891".to_vec()),
        Value::Double(0.1),
        Value::Bytes(b"char".to_vec()),
        Value::Bytes(text.into()),
        Value::Bytes(text.repeat(100).into_bytes()),
        Value::Bytes(vec![0, 255, 1, 2]),
        Value::Bytes(vec![255, 0, 39]),
        Value::Bytes((0..=255).collect()),
        Value::Date(2024, 2, 29, 0, 0, 0, 0),
        Value::Date(2024, 1, 2, 3, 4, 5, 678_901),
        Value::Date(2024, 6, 1, 12, 0, 0, 0),
        Value::Bytes(b"green".to_vec()),
    ];
    let insert = c
        .prep(
            "INSERT INTO t (ti, ut, s, m, b, ub, d, f, c, v, x, bi, vb, bl, da, dt, ts, e)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .unwrap();
    assert_eq!(insert.num_params(), 18);
    c.exec_drop(&insert, Params::Positional(row.clone()))
        .unwrap();
    assert_eq!((c.affected_rows(), c.last_insert_id()), (1, 1));
    c.exec_drop(&insert, Params::Positional(vec![Value::NULL; 18]))
        .unwrap();
    assert_eq!(c.last_insert_id(), 2);

    let select = c.prep("SELECT * FROM t WHERE id = ?").unwrap();
    assert_eq!(select.columns().len(), 19);
    for _ in 0..2 {
        let got: Row = c.exec_first(&select, (1,)).unwrap().unwrap();
        let got = got.unwrap();
        for (i, (sent, got)) in row.iter().zip(&got[1..]).enumerate() {
            assert_eq!(got.as_sql(false), sent.as_sql(false), "column {}", i + 1);
        }
    }
    let nulls: Row = c.exec_first(&select, (2,)).unwrap().unwrap();
    assert!(nulls.unwrap()[1..].iter().all(|v| *v == Value::NULL));
    assert_eq!(c.exec_first::<Row, _, _>(&select, (3,)).unwrap(), None);

    let updated = "UPDATE t SET v = :v WHERE id = :id";
    c.exec_drop(updated, params! { "id" => 1, "v" => "new" })
        .unwrap();
    assert_eq!(c.affected_rows(), 1);
    let v: Option<String> = c.exec_first("SELECT v FROM t WHERE id = ?", (1,)).unwrap();
    assert_eq!(v.as_deref(), Some("new"));
    c.close(insert).unwrap();
}

#[test]
fn statements_follow_their_tables() {
    let db = Db::start();
    let mut c = db.fresh();
    c.query_drop("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
        .unwrap();
    c.query_drop("INSERT INTO t VALUES (1, 10)").unwrap();
    let by_id = c.prep("SELECT v FROM t WHERE id = ?").unwrap();
    assert_eq!(c.exec_first::<i32, _, _>(&by_id, (1,)).unwrap(), Some(10));
    c.query_drop("TRUNCATE TABLE t").unwrap();
    assert_eq!(c.exec_first::<i32, _, _>(&by_id, (1,)).unwrap(), None);
    c.query_drop("DROP TABLE t").unwrap();
    assert_eq!(code(c.exec_first::<i32, _, _>(&by_id, (1,))), 1146);
    c.query_drop("CREATE TABLE t (v VARCHAR(10), id INT PRIMARY KEY)")
        .unwrap();
    c.query_drop("INSERT INTO t VALUES ('ten', 1)").unwrap();
    let again: Option<String> = c.exec_first(&by_id, (1,)).unwrap();
    assert_eq!(again.as_deref(), Some("ten"));
}

#[test]
fn errors_have_their_codes_and_states() {
    let db = Db::start();
    let mut c = db.fresh();
    c.query_drop("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(3) NOT NULL, UNIQUE KEY u (v))")
        .unwrap();
    c.query_drop("INSERT INTO t VALUES (1, 'a')").unwrap();
    for (sql, expected) in [
        ("INSERT INTO t VALUES (1, 'b')", 1062),
        ("INSERT INTO t VALUES (2, 'A')", 1062),
        ("INSERT INTO t VALUES (2, NULL)", 1048),
        ("INSERT INTO t (id) VALUES (2)", 1364),
        ("INSERT INTO t VALUES (99999999999, 'b')", 1264),
        ("INSERT INTO t VALUES (2, 'long')", 1406),
        ("SELECT x FROM t", 1054),
        ("SELECT * FROM nowhere", 1146),
        ("SELEKT", 1064),
        ("CREATE TABLE t (id INT)", 1050),
        ("SET nothing = 1", 1193),
    ] {
        assert_eq!(code(c.query_drop(sql)), expected, "{sql}");
    }
    match c.query_drop("INSERT INTO t VALUES (1, 'b')") {
        Err(Error::MySqlError(e)) => {
            assert_eq!(e.state, "23000");
            assert_eq!(e.message, "Duplicate entry '1' for key 't.PRIMARY'");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(code(c.prep("SELECT FROM")), 1064);
    assert_eq!(code(c.prep("SELECT 1; SELECT 2")), 1064);
    assert_eq!(
        c.query_first::<u32, _>("SELECT COUNT(*) FROM t").unwrap(),
        Some(1)
    );
}

#[test]
fn warnings_are_counted_and_listed() {
    let db = Db::start();
    let mut c = db.fresh();
    c.query_drop("SET sql_mode = ''").unwrap();
    c.query_drop("CREATE TABLE t (v VARCHAR(3), n TINYINT)")
        .unwrap();
    c.query_drop("INSERT INTO t VALUES ('long', 1000)").unwrap();
    assert_eq!(c.warnings(), 2);
    let listed: Vec<(String, u16, String)> = c.query("SHOW WARNINGS").unwrap();
    assert_eq!(listed[0].1, 1265);
    assert_eq!(listed[1].1, 1264);
    let row: Option<(String, i8)> = c.query_first("SELECT v, n FROM t").unwrap();
    assert_eq!(row, Some(("lon".into(), 127)));
}

#[test]
fn transactions_and_deadlocks() {
    let db = Db::start();
    let mut a = db.fresh();
    let mut b = Conn::new(db.opts().db_name(Some("suite"))).unwrap();
    a.query_drop("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
        .unwrap();
    a.query_drop("INSERT INTO t VALUES (1, 0), (2, 0)").unwrap();
    {
        let mut t = a.start_transaction(mysql::TxOpts::default()).unwrap();
        t.query_drop("UPDATE t SET v = 1").unwrap();
        assert_eq!(t.affected_rows(), 2);
        let seen: Option<i32> = b.query_first("SELECT SUM(v) FROM t").unwrap();
        assert_eq!(seen, Some(0));
        t.rollback().unwrap();
    }
    a.query_drop("BEGIN").unwrap();
    b.query_drop("BEGIN").unwrap();
    a.query_drop("UPDATE t SET v = 1 WHERE id = 1").unwrap();
    b.query_drop("UPDATE t SET v = 2 WHERE id = 2").unwrap();
    let waiter = std::thread::spawn(move || {
        let waited = a.query_drop("UPDATE t SET v = 1 WHERE id = 2");
        (a, waited)
    });
    let crossed = b.query_drop("UPDATE t SET v = 2 WHERE id = 1");
    if crossed.is_ok() {
        // The other one was the victim.
        b.query_drop("COMMIT").unwrap();
        let (_a, waited) = waiter.join().unwrap();
        assert_eq!(code(waited), 1213);
    } else {
        assert_eq!(code(crossed), 1213);
        let (mut a, waited) = waiter.join().unwrap();
        waited.unwrap();
        a.query_drop("COMMIT").unwrap();
    }
    let rows: Vec<i32> = b.query("SELECT v FROM t ORDER BY id").unwrap();
    assert!(rows == [1, 1] || rows == [2, 2], "{rows:?}");
}

#[test]
fn several_results() {
    let db = Db::start();
    let mut c = db.fresh();
    let mut result = c
        .query_iter("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2); SELECT id FROM t; SELECT 'x'")
        .unwrap();
    assert_eq!(result.affected_rows(), 0);
    let mut sets = Vec::new();
    while let Some(set) = result.iter() {
        let rows: Vec<Row> = set.map(Result::unwrap).collect();
        sets.push(rows.len());
    }
    assert_eq!(sets, [0, 0, 2, 1]);
}

#[test]
fn found_rows_instead_of_changed() {
    let db = Db::start();
    let mut c = db.fresh();
    c.query_drop("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
        .unwrap();
    c.query_drop("INSERT INTO t VALUES (1, 5)").unwrap();
    c.query_drop("UPDATE t SET v = 5").unwrap();
    assert_eq!(c.affected_rows(), 0);
    let found = CapabilityFlags::CLIENT_FOUND_ROWS;
    let mut c = Conn::new(
        db.opts()
            .db_name(Some("suite"))
            .additional_capabilities(found),
    )
    .unwrap();
    c.query_drop("UPDATE t SET v = 5").unwrap();
    assert_eq!(c.affected_rows(), 1);
}

#[test]
fn values_longer_than_a_packet() {
    let db = Db::start();
    let mut c = db.fresh();
    c.query_drop("CREATE TABLE t (id INT PRIMARY KEY, b LONGBLOB)")
        .unwrap();
    let blob: Vec<u8> = (0..(20 << 20) + 3).map(|i: u32| (i % 251) as u8).collect();
    c.exec_drop("INSERT INTO t VALUES (?, ?)", (1, &blob))
        .unwrap();
    let back: Option<Vec<u8>> = c.exec_first("SELECT b FROM t WHERE id = ?", (1,)).unwrap();
    assert!(back.as_deref() == Some(&blob[..]));
    let back: Option<Vec<u8>> = c.query_first("SELECT b FROM t").unwrap();
    assert!(back.as_deref() == Some(&blob[..]));
    let mut small = db.connect();
    small
        .query_drop("SET GLOBAL max_allowed_packet = 1048576")
        .unwrap();
    let mut limited = db.connect();
    let long = format!("SELECT LENGTH('{}')", "x".repeat(2 << 20));
    assert_eq!(code(limited.query_drop(long)), 1153);
    limited.ping().unwrap();
}

#[test]
fn deep_expressions_do_not_overflow_the_stack() {
    let db = Db::start();
    let mut c = db.fresh();
    c.query_drop("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    for n in [100, 1_000, 8_000, 500_000] {
        let sum = format!("SELECT 0{}", "+1".repeat(n));
        match c.query_first::<u32, _>(&sum) {
            Ok(total) => assert_eq!(total, Some(n as u32)),
            Err(e) => assert_eq!(code::<()>(Err(e)), 1436),
        }
        let ors = format!("SELECT COUNT(*) FROM t WHERE id=0{}", " OR id=1".repeat(n));
        match c.query_first::<u32, _>(&ors) {
            Ok(total) => assert_eq!(total, Some(0)),
            Err(e) => assert_eq!(code::<()>(Err(e)), 1436),
        }
        for nested in [
            format!("SELECT {}1{}", "(".repeat(n), ")".repeat(n)),
            format!("SELECT {}1", "NOT ".repeat(n)),
            format!("SELECT {}1", "- ".repeat(n)),
        ] {
            match c.query_drop(&nested) {
                Ok(()) | Err(Error::MySqlError(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }
    // A short text may stand for a deep statement, too.
    c.query_drop("SET @s = CONCAT('SELECT 0', REPEAT('+1', 3000))")
        .unwrap();
    c.query_drop("PREPARE s FROM @s").unwrap();
    assert_eq!(c.query_first::<u32, _>("EXECUTE s").unwrap(), Some(3000));
    c.query_drop("DEALLOCATE PREPARE s").unwrap();
    c.ping().unwrap();
}

#[test]
fn kill_query_and_connection() {
    let db = Db::start();
    let mut killer = db.fresh();
    killer
        .query_drop("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
        .unwrap();
    killer.query_drop("INSERT INTO t VALUES (1, 0)").unwrap();
    killer.query_drop("BEGIN").unwrap();
    killer.query_drop("UPDATE t SET v = 1").unwrap();
    let mut victim = Conn::new(db.opts().db_name(Some("suite"))).unwrap();
    let id = victim.connection_id();
    let waiter = std::thread::spawn(move || {
        let waited = victim.query_drop("UPDATE t SET v = 2");
        (victim, waited)
    });
    let waits = |row: &Row| {
        row.get::<u32, _>("Id") == Some(id)
            && row.get::<Option<String>, _>("Info").flatten().is_some()
    };
    while !killer
        .query::<Row, _>("SHOW PROCESSLIST")
        .unwrap()
        .iter()
        .any(waits)
    {
        std::thread::yield_now();
    }
    killer.query_drop(format!("KILL QUERY {id}")).unwrap();
    let (mut victim, waited) = waiter.join().unwrap();
    assert_eq!(code(waited), 1317);
    victim.ping().unwrap();
    killer.query_drop(format!("KILL {id}")).unwrap();
    assert!(victim.ping().is_err());
    drop(victim);
    killer.query_drop("COMMIT").unwrap();
    let v: Option<i32> = killer.query_first("SELECT v FROM t").unwrap();
    assert_eq!(v, Some(1));
    // The victim's thread goes when it has noticed.
    let listed = |row: &Row| row.get::<u32, _>("Id") == Some(id);
    while killer
        .query::<Row, _>("SHOW PROCESSLIST")
        .unwrap()
        .iter()
        .any(listed)
    {
        std::thread::yield_now();
    }
    assert_eq!(code(killer.query_drop(format!("KILL {id}"))), 1094);
}

#[test]
fn reset_and_change_user() {
    let db = Db::start();
    let mut c = db.fresh();
    c.query_drop("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    c.query_drop("SET @x = 1").unwrap();
    c.query_drop("BEGIN").unwrap();
    c.query_drop("INSERT INTO t VALUES (1)").unwrap();
    c.reset().unwrap();
    assert_eq!(
        c.query_first::<Option<i32>, _>("SELECT @x").unwrap(),
        Some(None)
    );
    assert_eq!(
        c.query_first::<u32, _>("SELECT COUNT(*) FROM suite.t")
            .unwrap(),
        Some(0)
    );
    c.change_user(
        ChangeUserOpts::new()
            .with_user(Some("root".into()))
            .with_db_name(Some("suite".into())),
    )
    .unwrap();
    let database: Option<String> = c.query_first("SELECT DATABASE()").unwrap();
    assert_eq!(database.as_deref(), Some("suite"));
    let refused = c.change_user(ChangeUserOpts::new().with_user(Some("bob".into())));
    assert_eq!(code(refused), 1045);
}

#[test]
fn a_client_that_vanishes_leaves_no_locks() {
    let db = Db::start();
    let mut a = db.fresh();
    a.query_drop("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
        .unwrap();
    a.query_drop("INSERT INTO t VALUES (1, 0)").unwrap();
    let mut b = Conn::new(db.opts().db_name(Some("suite"))).unwrap();
    b.query_drop("BEGIN").unwrap();
    b.query_drop("UPDATE t SET v = 1").unwrap();
    drop(b);
    a.query_drop("UPDATE t SET v = v + 5").unwrap();
    assert_eq!(a.query_first::<i32, _>("SELECT v FROM t").unwrap(), Some(5));
}

/// Bytes that temporary tables take.
fn temporary_bytes(c: &mut Conn) -> u64 {
    let row: Option<(String, u64)> = c
        .query_first("SHOW GLOBAL STATUS LIKE 'Millpond_temp_file_used_bytes'")
        .unwrap();
    row.unwrap().1
}

#[test]
fn temporary_tables_go_with_their_connection() {
    let db = Db::start();
    let mut watcher = db.fresh();
    let make = || {
        let mut c = db.connect();
        c.query_drop("USE suite").unwrap();
        fill(&mut c);
        c
    };
    fn fill(c: &mut Conn) {
        c.query_drop("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, s LONGTEXT)")
            .unwrap();
        c.query_drop("INSERT INTO t VALUES (1, repeat('x', 200000))")
            .unwrap();
    }
    let gone = |watcher: &mut Conn| {
        let end = std::time::Instant::now() + Duration::from_secs(60);
        while temporary_bytes(watcher) > 0 {
            assert!(std::time::Instant::now() < end, "it is still there");
        }
    };
    let missing = |c: &mut Conn| assert_eq!(code(c.query_drop("SELECT * FROM suite.t")), 1146);

    let mut c = make();
    assert!(temporary_bytes(&mut watcher) >= 200_000);
    missing(&mut watcher);
    c.reset().unwrap();
    missing(&mut c);
    gone(&mut watcher);

    c.query_drop("USE suite").unwrap();
    fill(&mut c);
    c.change_user(ChangeUserOpts::default().with_user(Some("root".into())))
        .unwrap();
    missing(&mut c);
    gone(&mut watcher);

    // COM_QUIT, a connection that breaks in a transaction, and one that is killed.
    drop(make());
    gone(&mut watcher);
    let mut c = make();
    c.query_drop("BEGIN").unwrap();
    c.query_drop("DELETE FROM t").unwrap();
    watcher
        .query_drop(format!("KILL {}", c.connection_id()))
        .unwrap();
    gone(&mut watcher);

    // A statement prepared before the table hid another, and after it went.
    watcher.query_drop("CREATE TABLE t (id INT)").unwrap();
    watcher.query_drop("INSERT INTO t VALUES (7)").unwrap();
    let read = watcher.prep("SELECT id FROM t").unwrap();
    let mut id = || -> Option<i32> { watcher.exec_first(&read, ()).unwrap() };
    assert_eq!(id(), Some(7));
    let other = make();
    assert_eq!(id(), Some(7));
    drop(other);
    fill(&mut watcher);
    let mine: Option<i32> = watcher.exec_first(&read, ()).unwrap();
    assert_eq!(mine, Some(1));
    watcher.query_drop("DROP TEMPORARY TABLE t").unwrap();
    let base: Option<i32> = watcher.exec_first(&read, ()).unwrap();
    assert_eq!(base, Some(7));
}

#[test]
fn latin1_and_ascii_clients_are_converted_for() {
    let db = Db::start();
    let mut c = db.fresh();
    c.query_drop("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20), b VARBINARY(20))")
        .unwrap();
    c.query_drop("INSERT INTO t VALUES (1, 'café €', 'é'), (2, 'жук', 'ж')")
        .unwrap();
    let mut one = |sql: &str| -> Vec<u8> { c.query_first(sql).unwrap().unwrap() };
    assert_eq!(one("SELECT s FROM t WHERE id = 1"), "café €".as_bytes());
    let mut c = db.connect();
    let database: String = {
        let mut all = db.connect();
        let names: Vec<String> = all.query("SHOW DATABASES").unwrap();
        let system = ["information_schema", "mysql", "performance_schema", "sys"];
        names
            .into_iter()
            .find(|n| !system.contains(&n.as_str()))
            .unwrap()
    };
    c.select_db(&database).unwrap();
    c.query_drop("SET NAMES latin1").unwrap();
    let settings: (String, String, String) = c
        .query_first(
            "SELECT @@character_set_client, @@character_set_results, @@character_set_connection",
        )
        .unwrap()
        .unwrap();
    assert_eq!(
        settings,
        ("latin1".into(), "latin1".into(), "latin1".into())
    );
    let rows: Vec<(Vec<u8>, Vec<u8>)> = c.query("SELECT s, b FROM t ORDER BY id").unwrap();
    // Texts are converted, with question marks for what there is not; bytes are not touched.
    assert_eq!(rows[0], (b"caf\xe9 \x80".to_vec(), "é".into()));
    assert_eq!(rows[1], (b"???".to_vec(), "ж".into()));
    let column = c.query_iter("SELECT s, b, id AS `é` FROM t").unwrap();
    let of = |i: usize| {
        (
            column.columns().as_ref()[i].character_set(),
            column.columns().as_ref()[i].column_length(),
        )
    };
    assert_eq!((of(0), of(1).0), ((8, 20), 63));
    drop(column);
    // Two bytes of latin1 are two characters.
    let hex: String = c.query_first("SELECT HEX('é')").unwrap().unwrap();
    assert_eq!(hex, "C3A9");
    let utf8 = "SELECT HEX(CONVERT('é' USING utf8mb4))";
    let hex: String = c.query_first(utf8).unwrap().unwrap();
    assert_eq!(hex, "C383C2A9");
    let hex: String = c.query_first("SELECT HEX(_binary'é')").unwrap().unwrap();
    assert_eq!(hex, "C3A9");
    c.exec_drop("INSERT INTO t VALUES (3, ?, NULL)", (b"\xfcber".to_vec(),))
        .unwrap();
    let back: Vec<u8> = c
        .exec_first("SELECT s FROM t WHERE id = ?", (3,))
        .unwrap()
        .unwrap();
    assert_eq!(back, b"\xfcber");
    c.query_drop("SET NAMES utf8mb4").unwrap();
    let back: String = c
        .exec_first("SELECT s FROM t WHERE id = ?", (3,))
        .unwrap()
        .unwrap();
    assert_eq!(back, "über");
    c.query_drop("SET character_set_results = ascii").unwrap();
    let back: String = c
        .query_first("SELECT s FROM t WHERE id = 3")
        .unwrap()
        .unwrap();
    assert_eq!(back, "?ber");
}

#[test]
fn calls_answer_several_results_and_out_parameters() {
    let db = Db::start();
    let mut c = db.fresh();
    c.query_drop(
        "CREATE PROCEDURE p(a INT, OUT b VARCHAR(10), INOUT n INT) \
         BEGIN SELECT a, a + 1; SET @seen = n; SELECT 'two' UNION SELECT 'three'; SET b = REPEAT('x', a), n = n * 2; END",
    )
    .unwrap();
    c.query_drop("SET @n = 21").unwrap();
    // Text: the results, then an OK.
    let mut answer = c.query_iter("CALL p(3, @b, @n)").unwrap();
    let mut results: Vec<Vec<Row>> = Vec::new();
    while let Some(set) = answer.iter() {
        results.push(set.map(Result::unwrap).collect());
    }
    drop(answer);
    assert_eq!(
        results.iter().map(Vec::len).collect::<Vec<_>>()[..2],
        [1, 2]
    );
    let outs: (String, i32, i32) = c.query_first("SELECT @b, @n, @seen").unwrap().unwrap();
    assert_eq!(outs, ("xxx".into(), 42, 21));
    // Prepared: the parameters come behind the results.
    let call = c.prep("CALL p(?, ?, ?)").unwrap();
    for n in [1, 5] {
        let mut answer = c.exec_iter(&call, (2, Value::NULL, n)).unwrap();
        let mut results: Vec<Vec<Row>> = Vec::new();
        while let Some(set) = answer.iter() {
            results.push(set.map(Result::unwrap).collect());
        }
        drop(answer);
        let outs: (String, i32) = mysql::from_row(results[2][0].clone());
        assert_eq!((results.len() >= 3, outs), (true, ("xx".into(), n * 2)));
    }
    // An error behind a result, and the connection goes on.
    c.query_drop("CREATE PROCEDURE fails() BEGIN SELECT 1; SELECT * FROM nowhere; END")
        .unwrap();
    let mut answer = c.query_iter("CALL fails()").unwrap();
    let first: Vec<Row> = answer.iter().unwrap().map(Result::unwrap).collect();
    assert_eq!(first.len(), 1);
    drop(answer);
    assert_eq!(c.query_first::<i32, _>("SELECT 7").unwrap(), Some(7));
    assert_eq!(code(c.query_drop("CALL nosuch()")), 1305);
}

#[test]
fn compressed_both_ways() {
    let db = Db::start();
    let opts = OptsBuilder::from_opts(db.opts()).compress(Some(mysql::Compression::default()));
    let mut conn = Conn::new(opts).unwrap();
    conn.query_drop("CREATE DATABASE z; USE z; CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)")
        .unwrap();
    let texts = ["", "short", &"long ".repeat(100_000), &"é".repeat(70_000)];
    for (id, text) in texts.iter().enumerate() {
        // Each commits, whose answer waits for the log.
        conn.exec_drop("INSERT INTO t VALUES (?, ?)", (id, text))
            .unwrap();
    }
    let found: Vec<String> = conn.query("SELECT v FROM t ORDER BY id").unwrap();
    assert_eq!(found, texts);
    let found: Vec<String> = conn.exec("SELECT v FROM t ORDER BY id", ()).unwrap();
    assert_eq!(found, texts);
    let e = conn.query_drop("SELECT nothing").unwrap_err();
    assert!(matches!(e, Error::MySqlError(e) if e.code == 1054));
    conn.query_drop("SET GLOBAL local_infile = ON").unwrap();
    let file = [&b"7\t"[..], &b"word ".repeat(50_000), b"\n8\tshort\n"].concat();
    conn.set_local_infile_handler(sending(file));
    conn.query_drop("LOAD DATA LOCAL INFILE 'any' INTO TABLE t")
        .unwrap();
    let found: Option<u32> = conn
        .query_first("SELECT SUM(LENGTH(v)) FROM t WHERE id > 6")
        .unwrap();
    assert_eq!(found, Some(250_005));
    let sent: (String, u64) = conn
        .query_first("SHOW SESSION STATUS LIKE 'Bytes_sent'")
        .unwrap()
        .unwrap();
    assert!(sent.1 < 100_000, "{} bytes for more than a million", sent.1);
}

/// Has the client send this for whatever file it is asked for.
fn sending(bytes: Vec<u8>) -> Option<mysql::LocalInfileHandler> {
    use std::io::Write;
    Some(mysql::LocalInfileHandler::new(move |_, to| {
        to.write_all(&bytes)
    }))
}

#[test]
fn files_of_the_client() {
    let db = Db::start();
    let mut c = db.fresh();
    c.query_drop("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20))")
        .unwrap();
    let load = "LOAD DATA LOCAL INFILE 'any' INTO TABLE t";
    c.set_local_infile_handler(sending(b"1\tone\n".to_vec()));
    assert_eq!(code(c.query_drop(load)), 3948);
    c.query_drop("SET GLOBAL local_infile = ON").unwrap();
    c.query_drop(load).unwrap();
    assert_eq!(
        c.info_str(),
        "Records: 1  Deleted: 0  Skipped: 0  Warnings: 0"
    );
    // As with IGNORE, unless it is REPLACE.
    c.set_local_infile_handler(sending(b"1\tuno\n2\tdue\nx\n".to_vec()));
    c.query_drop(load).unwrap();
    assert_eq!(c.warnings(), 3);
    assert_eq!(
        c.info_str(),
        "Records: 3  Deleted: 0  Skipped: 1  Warnings: 3"
    );
    let rows: Vec<(i32, Option<String>)> = c.query("SELECT * FROM t ORDER BY a").unwrap();
    assert_eq!(
        rows,
        [(0, None), (1, Some("one".into())), (2, Some("due".into()))]
    );

    // A statement that fails early takes the rest of the file, and the connection goes on.
    let mut long = b"1\tuno\nx\tbad\n".to_vec();
    (0..300_000).for_each(|n| long.extend_from_slice(format!("{n}\ttext\n").as_bytes()));
    c.set_local_infile_handler(sending(long));
    let replace = "LOAD DATA LOCAL INFILE 'any' REPLACE INTO TABLE t";
    assert_eq!(code(c.query_drop(replace)), 1366);
    let one: Option<String> = c.query_first("SELECT b FROM t WHERE a = 1").unwrap();
    assert_eq!(one.as_deref(), Some("one"));
    // So does a table that isn't there, without any file.
    c.set_local_infile_handler(sending(b"1\n".to_vec()));
    assert_eq!(
        code(c.query_drop("LOAD DATA LOCAL INFILE 'any' INTO TABLE nothing")),
        1146
    );
    // Between other statements of one text.
    let mut c = Conn::new(db.opts().db_name(Some("suite"))).unwrap();
    c.set_local_infile_handler(sending(b"8\teight\n9\tnine\n".to_vec()));
    let text = format!("SELECT 1; {load}; SELECT COUNT(*) FROM t WHERE a > 7");
    let mut answers = c.query_iter(text).unwrap();
    let mut counts = Vec::new();
    while let Some(rows) = answers.iter() {
        counts.extend(rows.map(|row| mysql::from_row::<i64>(row.unwrap())));
    }
    drop(answers);
    assert_eq!(counts, [1, 2]);
}
