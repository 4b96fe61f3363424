//! What a prepared point read costs in the session, in processor time of its thread: `cargo bench -p millpond-sql --bench point`.
//! The wire is not in it.

use millpond_sql::result::{ColumnMeta, Completion, ResultSink};
use millpond_sql::{ConnectionInfo, Instance, InstanceOptions, Value};
use millpond_store::Options;
use std::time::Duration;

const ROWS: u64 = 10_000;
const CALLS: u32 = 300_000;

struct Nowhere;

impl ResultSink for Nowhere {
    fn columns(&mut self, _: &[ColumnMeta]) -> std::io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        std::hint::black_box(row);
        Ok(())
    }
    fn finish(&mut self, _: &Completion) -> std::io::Result<()> {
        Ok(())
    }
}

/// Processor time this thread has used.
fn now() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
    let ns = text.split_whitespace().next().expect("a number");
    Duration::from_nanos(ns.parse().expect("a number"))
}

fn main() {
    let dir = tempfile::tempdir().expect("a directory");
    let instance = Instance::open(InstanceOptions {
        path: dir.path().to_path_buf(),
        store: Options::default(),
        variables: Vec::new(),
    })
    .expect("open");
    let mut session = instance
        .connect(ConnectionInfo {
            multi_statements: true,
            ..ConnectionInfo::default()
        })
        .expect("connect");
    let mut run = |sql: &str| session.execute(sql, &mut Nowhere).expect("a statement");
    run("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, c CHAR(120)); BEGIN");
    for id in 0..ROWS {
        run(&format!("INSERT INTO t VALUES ({id}, 'some text')"));
    }
    run("COMMIT");
    let point = session
        .prepare("SELECT c FROM t WHERE id = ?")
        .expect("prepare");
    let mut best = Duration::MAX;
    for _ in 0..7 {
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        let start = now();
        for _ in 0..CALLS {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let id = [Value::UInt(state % ROWS)];
            session
                .execute_prepared(&point, &id, &mut Nowhere)
                .expect("a row");
        }
        best = best.min(now() - start);
    }
    println!(
        "point read: {:.1} ns",
        best.as_nanos() as f64 / f64::from(CALLS)
    );
    drop(session);
    instance.close().expect("close");
}
