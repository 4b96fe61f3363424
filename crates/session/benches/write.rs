//! What prepared writes of a row cost in the session, in processor time of its thread: `cargo bench -p millpond-session --bench write`.
//! They run within transactions, so that neither the wire nor a commit is in it, but those that say so.

use millpond_session::result::{ColumnMeta, Completion, ResultSink};
use millpond_session::{ConnectionInfo, Instance, InstanceOptions, Session, Value};
use millpond_store::Options;
use std::time::Duration;

const ROWS: u64 = 10_000;
const CALLS: u32 = 20_000;
const ROUNDS: u32 = 9;

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

/// Nanoseconds an execution takes with pseudo-random parameters below `range`, best of several rounds: of so many executions in a
/// transaction, or fewer that commit each.
fn each(session: &mut Session, sql: &str, range: u64, commits: bool) -> f64 {
    let prepared = session.prepare(sql).expect("prepare");
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let calls = if commits { CALLS / 20 } else { CALLS };
    let rounds = (0..ROUNDS).map(|_| {
        if !commits {
            session.execute("BEGIN", &mut Nowhere).expect("begin");
        }
        let start = now();
        for _ in 0..calls {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let id = [Value::UInt(state % range)];
            session
                .execute_prepared(&prepared, &id, &mut Nowhere)
                .expect("a row");
        }
        let took = now() - start;
        session.execute("ROLLBACK", &mut Nowhere).expect("rollback");
        took
    });
    let best = rounds.min().unwrap_or_default();
    best.as_nanos() as f64 / f64::from(calls)
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
    run("CREATE DATABASE d; USE d");
    run(
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', \
         KEY (k)); BEGIN",
    );
    for id in 1..=ROWS {
        run(&format!("INSERT INTO t VALUES ({id}, {id}, 'some text')"));
    }
    run("COMMIT");
    // Two tables that differ by a foreign key, whose parents are the rows above.
    run(
        "CREATE TABLE c (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', KEY (k), \
         FOREIGN KEY (k) REFERENCES t (id))",
    );
    run(
        "CREATE TABLE u (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', KEY (k))",
    );
    for (what, sql) in [
        ("insert", "INSERT INTO t (k, c) VALUES (?, 'some text')"),
        (
            "insert, a foreign key to look up",
            "INSERT INTO c (k, c) VALUES (? + 1, 'some text')",
        ),
        (
            "insert, the same table without one",
            "INSERT INTO u (k, c) VALUES (? + 1, 'some text')",
        ),
        (
            "update, no key",
            "UPDATE t SET c = 'other' WHERE id = ? + 1",
        ),
        ("update, a key", "UPDATE t SET k = k + 1 WHERE id = ?"),
        ("update, nothing changes", "UPDATE t SET k = k WHERE id = ?"),
        (
            "insert, duplicate updates",
            "INSERT INTO t VALUES (? + 1, 1, '') ON DUPLICATE KEY UPDATE k = k + 1",
        ),
        ("replace", "REPLACE INTO t VALUES (? + 1, 1, 'other text')"),
    ] {
        println!("{what}: {:.0} ns", each(&mut session, sql, ROWS, false));
    }
    for (what, table) in [("with a foreign key", "c"), ("the same table without", "u")] {
        let one = format!("INSERT INTO {table} (k, c) VALUES (? + 1, 'some text')");
        let took = each(&mut session, &one, ROWS, true);
        println!("insert and commit, {what}: {took:.0} ns");
    }
    drop(session);
    instance.close().expect("close");
}
