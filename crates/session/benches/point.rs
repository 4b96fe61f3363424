//! What a prepared point read costs in the session, in processor time of its thread: `cargo bench -p millpond-session --bench point`.
//! The wire is not in it.

use millpond_session::result::{ColumnMeta, Completion, ResultSink};
use millpond_session::watch::{Running, StatementKind};
use millpond_session::{Client, ConnectionInfo, Instance, InstanceOptions, Session, Value};
use millpond_store::Options;
use std::time::{Duration, SystemTime};

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

/// Nanoseconds a call takes, best of several rounds.
fn each(mut call: impl FnMut()) -> f64 {
    let rounds = (0..7).map(|_| {
        let start = now();
        (0..CALLS).for_each(|_| call());
        now() - start
    });
    let best = rounds.min().unwrap_or_default();
    best.as_nanos() as f64 / f64::from(CALLS)
}

/// What the stall record takes of that: all of it, and reading the wall clock twice, which would be done without it.
fn record(instance: &Instance) {
    let watch = instance.watch();
    let record = each(|| {
        let running = Running {
            kind: StatementKind::Select,
            start_ns: watch.now_ns(),
        };
        std::hint::black_box(watch.wall_us(running.start_ns));
        watch.finish(running, watch.now_ns());
    });
    let clocks = each(|| {
        std::hint::black_box((SystemTime::now(), SystemTime::now()));
    });
    println!("stall record: {record:.1} ns; two reads of the wall clock: {clocks:.1} ns");
}

/// The same by an account whose rights are asked for.
fn by_account(instance: &Instance) -> f64 {
    let mut root = instance
        .connect(ConnectionInfo::default())
        .expect("connect");
    for sql in [
        "CREATE USER u@localhost",
        "GRANT SELECT (id, c) ON d.t TO u@localhost",
    ] {
        root.execute(sql, &mut Nowhere).expect("a statement");
    }
    let client = Client {
        user: "u".into(),
        host: "localhost".into(),
        names: vec!["localhost".into()],
        ..Client::default()
    };
    let admitted = instance.admit(instance.candidate(client), true, None, false);
    let info = ConnectionInfo {
        user: "u".into(),
        host: "localhost".into(),
        account: Some(admitted.expect("let in")),
        database: Some("d".into()),
        ..ConnectionInfo::default()
    };
    let mut session = instance.connect(info).expect("connect");
    point(&mut session)
}

/// A prepared point read.
fn point(session: &mut Session) -> f64 {
    let point = session
        .prepare("SELECT c FROM t WHERE id = ?")
        .expect("prepare");
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    each(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let id = [Value::UInt(state % ROWS)];
        session
            .execute_prepared(&point, &id, &mut Nowhere)
            .expect("a row");
    })
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
    let point = point(&mut session);
    println!("point read: {point:.1} ns");
    let granted = by_account(&instance);
    println!("point read of an account with SELECT on the column: {granted:.1} ns");
    record(&instance);
    drop(session);
    instance.close().expect("close");
}
