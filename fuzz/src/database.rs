//! A small database with something of everything, on a simulated disk.

use std::sync::Arc;

use millpond_session::result::{ColumnMeta, Completion, ResultSink};
use millpond_session::{
    ConnectionInfo, Instance, InstanceOptions, Session, SqlResult, Value, value,
};
use millpond_store::Options;
use millpond_store::io::sim::SimStorage;

/// What [`fill`] makes.
const STATEMENTS: &[&str] = &[
    "CREATE DATABASE base",
    "USE base",
    "CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, name VARCHAR(300), d DECIMAL(12, 4), KEY by_k (k), UNIQUE KEY by_name (name, k))",
    "INSERT INTO a (k, name, d) VALUES (1, 'heron', 1.5), (2, 'pike', -2.25), (3, NULL, NULL)",
    "INSERT INTO a (k, name, d) SELECT k + 10, CONCAT(name, REPEAT('x', 200)), d * 2 FROM a",
    "INSERT INTO a (k, name, d) SELECT k + 20, CONCAT(name, 'a'), d * 2 FROM a",
    "INSERT INTO a (k, name, d) SELECT k + 40, CONCAT(name, 'b'), d * 2 FROM a",
    "INSERT INTO a (k, name, d) SELECT k + 80, CONCAT(name, 'c'), d * 2 FROM a",
    "INSERT INTO a (k, name, d) SELECT k + 160, CONCAT(name, 'd'), d * 2 FROM a",
    "CREATE TABLE t1 (a INT, b VARCHAR(20), c DATETIME(3), e ENUM('x', 'y'), s SET('p', 'q'), j JSON, f DOUBLE, y YEAR, t TIME, bits BIT(9), bin VARBINARY(30), KEY (a), KEY (b))",
    "INSERT INTO t1 VALUES (1, 'one', '2026-01-02 03:04:05.678', 'x', 'p,q', '{\"a\": [1, 2, {\"b\": null}]}', 1e10, 1999, '-12:34:56', b'101', x'00ff'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "CREATE TABLE t2 (id INT PRIMARY KEY, t1_a INT, words TEXT, place POINT NOT NULL SRID 0, FULLTEXT KEY (words), SPATIAL KEY (place), KEY (t1_a), CONSTRAINT ref FOREIGN KEY (t1_a) REFERENCES t1 (a) ON DELETE CASCADE)",
    "INSERT INTO t2 VALUES (1, 1, 'heron pond', POINT(1, 2)), (2, NULL, 'pike pond', POINT(-3, 4))",
    "CREATE TABLE parts (id INT NOT NULL, v LONGTEXT) PARTITION BY HASH (id) PARTITIONS 3",
    "INSERT INTO parts VALUES (1, REPEAT('long', 9000)), (2, ''), (3, NULL)",
    "CREATE VIEW v1 AS SELECT a, COUNT(*) AS n FROM t1 GROUP BY a",
    "CREATE TRIGGER g1 BEFORE INSERT ON t1 FOR EACH ROW SET NEW.b = UPPER(NEW.b)",
    "CREATE PROCEDURE p1 (IN n INT) BEGIN DECLARE i INT DEFAULT 0; WHILE i < n DO SET i = i + 1; END WHILE; SELECT i; END",
    "CREATE FUNCTION f1 (x INT) RETURNS INT DETERMINISTIC RETURN x + 1",
];

/// Counts the rows it is sent, and has each value written as a client would get it.
#[derive(Default)]
pub struct Sink {
    columns: Vec<ColumnMeta>,
    text: Vec<u8>,
}

impl ResultSink for Sink {
    fn columns(&mut self, columns: &[ColumnMeta]) -> std::io::Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        for (v, c) in row.iter().zip(&self.columns) {
            self.text.clear();
            if !v.is_null() {
                value::write_text(v, &c.ty, &mut self.text);
            }
        }
        Ok(())
    }
    fn finish(&mut self, _: &Completion) -> std::io::Result<()> {
        Ok(())
    }
}

/// Opens what is on the disk.
pub fn open(disk: &SimStorage, variables: &[(&str, &str)]) -> SqlResult<Instance> {
    let options = InstanceOptions {
        path: std::env::temp_dir().join(format!("millpond-fuzz-{}", std::process::id())),
        store: Options {
            pool_bytes: 8 << 20,
            log_bytes: 4 << 20,
            ..Options::default()
        },
        variables: variables
            .iter()
            .map(|(n, v)| (n.to_string(), v.to_string()))
            .collect(),
    };
    Instance::open_on(options, Arc::new(disk.clone()))
}

/// A session of root's.
pub fn connect(instance: &Instance) -> SqlResult<Session> {
    instance.connect(ConnectionInfo {
        user: "root".into(),
        host: "localhost".into(),
        multi_statements: true,
        ..ConnectionInfo::default()
    })
}

/// Makes the database `base`.
pub fn fill(instance: &Instance) {
    let mut session = connect(instance).expect("a session");
    for sql in STATEMENTS {
        let done = session.execute(sql, &mut Sink::default());
        done.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}
