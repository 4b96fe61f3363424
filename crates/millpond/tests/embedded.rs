//! The embedded API from outside.

use std::path::PathBuf;

use millpond::{Database, Durability, Error, ToValue, Value};

/// A directory that is gone when this is dropped.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("millpond-test-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Dir(dir)
    }
    fn open(&self) -> Database {
        Database::builder()
            .pool_size(8 << 20)
            .redo_log_size(16 << 20)
            .durability(Durability::Write)
            .open(&self.0)
            .unwrap()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn values_come_back_as_they_went_in() {
    let dir = Dir::new("values");
    let db = dir.open();
    let mut conn = db.connect().unwrap();
    conn.execute_batch(
        "CREATE DATABASE d; USE d;
         CREATE TABLE t (i BIGINT, u BIGINT UNSIGNED, f DOUBLE, s VARCHAR(20), b VARBINARY(20), n INT,
                         d DATE, x DECIMAL(10,2), id INT AUTO_INCREMENT PRIMARY KEY)",
    )
    .unwrap();
    let params: &[&dyn ToValue] = &[
        &i64::MIN,
        &u64::MAX,
        &1.5,
        &"grüße",
        &[0u8, 255],
        &None::<i32>,
        &"2024-02-29",
        &"12.30",
    ];
    let added = conn
        .execute(
            "INSERT INTO t (i, u, f, s, b, n, d, x) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            params,
        )
        .unwrap();
    assert_eq!((added.affected, added.last_insert_id), (1, 1));
    let rows = conn
        .query("SELECT * FROM t WHERE i = ?", [i64::MIN])
        .unwrap();
    assert_eq!(rows.columns()[..3], ["i", "u", "f"]);
    let row = rows.get(0).unwrap();
    assert_eq!(row.get::<i64>("i"), Ok(i64::MIN));
    assert_eq!(row.get::<u64>("U"), Ok(u64::MAX));
    assert_eq!(row.get::<f64>(2), Ok(1.5));
    assert_eq!(row.get::<String>("s").as_deref(), Ok("grüße"));
    assert_eq!(row.get::<Vec<u8>>("b"), Ok(vec![0, 255]));
    assert_eq!(row.get::<Option<i32>>("n"), Ok(None));
    assert_eq!(row.get::<String>("d").as_deref(), Ok("2024-02-29"));
    assert_eq!(row.get::<String>("x").as_deref(), Ok("12.30"));
    assert!(matches!(row.value("id"), Some(Value::Int(1))));
    assert!(matches!(row.get::<i32>("i"), Err(Error::WrongType { .. })));
    assert!(matches!(row.get::<i32>("n"), Err(Error::WrongType { .. })));
    assert_eq!(
        row.get::<i32>("nope"),
        Err(Error::NoSuchColumn("'nope'".into()))
    );
    let sum: i64 = conn.query_value("SELECT SUM(id) FROM t", ()).unwrap();
    assert_eq!(sum, 1);
    let none = conn.query_value::<i64>("SELECT id FROM t WHERE id = 7", ());
    assert_eq!(none, Err(Error::NoRows));
}

#[test]
fn transactions_end_as_asked() {
    let dir = Dir::new("transactions");
    let db = dir.open();
    let mut conn = db.connect().unwrap();
    conn.execute_batch("CREATE DATABASE d; USE d; CREATE TABLE t (a INT PRIMARY KEY)")
        .unwrap();
    let insert = conn.prepare("INSERT INTO t VALUES (?)").unwrap();
    assert_eq!((insert.param_count(), insert.columns().count()), (1, 0));
    let mut tx = conn.transaction().unwrap();
    tx.execute_prepared(&insert, (1,)).unwrap();
    tx.commit().unwrap();
    let mut tx = conn.transaction().unwrap();
    tx.execute_prepared(&insert, (2,)).unwrap();
    let e = tx.execute_prepared(&insert, (1,)).unwrap_err();
    assert_eq!((e.code(), e.sqlstate()), (Some(1062), Some("23000")));
    drop(tx);
    let mut tx = conn.transaction().unwrap();
    tx.execute_prepared(&insert, (3,)).unwrap();
    tx.rollback().unwrap();
    let mut seen = Vec::new();
    conn.query_each("SELECT a FROM t", (), |row| {
        seen.push(row.get::<i64>(0)?);
        Ok(())
    })
    .unwrap();
    assert_eq!(seen, [1]);
    let stopped = conn.query_each("SELECT a FROM t", (), |_| Err(Error::NoRows));
    assert_eq!(stopped, Err(Error::NoRows));
    assert_eq!(conn.query_value::<i64>("SELECT 1", ()), Ok(1));
}

#[test]
fn connections_work_side_by_side() {
    let dir = Dir::new("threads");
    let db = dir.open();
    db.connect()
        .unwrap()
        .execute_batch("CREATE DATABASE d; USE d; CREATE TABLE t (a INT PRIMARY KEY, who INT)")
        .unwrap();
    std::thread::scope(|s| {
        for who in 0..4 {
            let db = &db;
            s.spawn(move || {
                let mut conn = db.connect_to("d").unwrap();
                for i in 0..50 {
                    conn.execute("INSERT INTO t VALUES (?, ?)", (i * 4 + who, who))
                        .unwrap();
                }
            });
        }
    });
    let mut conn = db.connect_to("d").unwrap();
    assert_eq!(
        conn.query_value::<i64>("SELECT COUNT(*) FROM t", ()),
        Ok(200)
    );
}

#[test]
fn a_dropped_database_is_closed_and_opens_again() {
    let dir = Dir::new("reopen");
    let db = dir.open();
    let mut conn = db.connect().unwrap();
    conn.execute_batch(
        "CREATE DATABASE d; USE d; CREATE TABLE t (a INT); INSERT INTO t VALUES (7)",
    )
    .unwrap();
    drop(db);
    // The connection keeps it open.
    assert_eq!(conn.query_value::<i64>("SELECT a FROM t", ()), Ok(7));
    let second = Database::open(&dir.0);
    assert!(second.is_err(), "the directory is in use");
    drop(conn);
    let db = dir.open();
    assert_eq!(
        db.connect_to("d")
            .unwrap()
            .query_value::<i64>("SELECT a FROM t", ()),
        Ok(7)
    );
    assert_eq!(db.connect_to("nope").err().unwrap().code(), Some(1049));
    db.close().unwrap();
}
