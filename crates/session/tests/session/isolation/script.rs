//! Runs a script of statements on several sessions, each on a thread of its own.

use millpond_session::{
    ColumnMeta, Completion, ConnectionInfo, Instance, InstanceOptions, ResultSink, Session,
    SqlError, Value,
};
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Longest a step may take before the test is given up (never waited for in a passing run).
const PATIENCE: Duration = Duration::from_secs(20);

type Reply = Result<String, SqlError>;

/// Collects a result as `a,b c,d`; `empty` for a result set without rows, `ok` for none.
#[derive(Default)]
struct Text {
    rows: Vec<String>,
    set: bool,
}

impl ResultSink for Text {
    fn columns(&mut self, _: &[ColumnMeta]) -> std::io::Result<()> {
        self.set = true;
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        let cells = row.iter().map(|v| match v {
            Value::Null => "NULL".to_string(),
            Value::Int(i) => i.to_string(),
            Value::UInt(i) => i.to_string(),
            Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
            other => format!("{other:?}"),
        });
        self.rows.push(cells.collect::<Vec<_>>().join(","));
        Ok(())
    }
    fn finish(&mut self, _: &Completion) -> std::io::Result<()> {
        Ok(())
    }
}

impl Text {
    fn show(self) -> String {
        match (self.set, self.rows.is_empty()) {
            (false, _) => "ok".into(),
            (true, true) => "empty".into(),
            (true, false) => self.rows.join(" "),
        }
    }
}

fn execute(session: &mut Session, sql: &str) -> Reply {
    let mut text = Text::default();
    session.execute(sql, &mut text)?;
    Ok(text.show())
}

struct Party {
    statements: Sender<String>,
    replies: Receiver<Reply>,
    waiting: bool,
}

impl Party {
    fn new(instance: &Instance, level: &str) -> Party {
        let mut session = connect(instance);
        execute(&mut session, "USE hermitage").unwrap();
        execute(
            &mut session,
            &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"),
        )
        .unwrap();
        execute(&mut session, "BEGIN").unwrap();
        let (statements, todo) = channel::<String>();
        let (done, replies) = channel();
        std::thread::spawn(move || {
            for sql in todo {
                let _ = done.send(execute(&mut session, &sql));
            }
        });
        Party {
            statements,
            replies,
            waiting: false,
        }
    }
}

fn connect(instance: &Instance) -> Session {
    let info = ConnectionInfo {
        user: "root".into(),
        host: "localhost".into(),
        ..Default::default()
    };
    instance.connect(info).unwrap()
}

/// How many statements wait for a row lock now.
fn waiters(observer: &mut Session) -> u64 {
    let row = execute(
        observer,
        "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'",
    )
    .unwrap();
    row.rsplit(',')
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or_else(|| panic!("status: {row}"))
}

/// Runs `script` with every session at `level`, on a fresh table.
pub fn run(level: &str, script: &str) {
    let folder = tempfile::tempdir().unwrap();
    let instance = Instance::open(InstanceOptions {
        path: folder.path().to_path_buf(),
        store: millpond_store::Options {
            pool_bytes: 8 << 20,
            log_bytes: 4 << 20,
            ..Default::default()
        },
        variables: Vec::new(),
    })
    .unwrap();
    let mut observer = connect(&instance);
    for sql in [
        "CREATE DATABASE hermitage",
        "CREATE TABLE hermitage.test (id INT PRIMARY KEY, value INT)",
        "INSERT INTO hermitage.test (id, value) VALUES (1, 10), (2, 20)",
    ] {
        execute(&mut observer, sql).unwrap();
    }
    let mut parties: HashMap<String, Party> = HashMap::new();
    for line in script.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (who, rest) = line
            .split_once(':')
            .expect("session: statement -> expectation");
        let (sql, expected) = rest.rsplit_once("->").expect("-> expectation");
        let party = parties
            .entry(who.into())
            .or_insert_with(|| Party::new(&instance, level));
        step(party, &mut observer, sql.trim(), expected.trim())
            .unwrap_or_else(|e| panic!("{level}: {line}\n  {e}\n  in\n{script}"));
    }
    drop(parties);
}

fn step(p: &mut Party, observer: &mut Session, sql: &str, expected: &str) -> Result<(), String> {
    let blocked_before = if expected == "blocks" {
        waiters(observer)
    } else {
        0
    };
    if sql.is_empty() {
        assert!(p.waiting, "nothing is waiting");
        p.waiting = false;
    } else {
        p.statements.send(sql.into()).unwrap();
    }
    if expected == "blocks" {
        let deadline = Instant::now() + PATIENCE;
        while waiters(observer) <= blocked_before {
            if let Ok(reply) = p.replies.try_recv() {
                return Err(format!("did not block: {}", show(&reply)));
            }
            if Instant::now() > deadline {
                return Err("neither blocked nor finished".into());
            }
            std::thread::yield_now();
        }
        p.waiting = true;
        return Ok(());
    }
    let reply = p
        .replies
        .recv_timeout(PATIENCE)
        .map_err(|_| "still blocked".to_string())?;
    let matches = match (&reply, expected) {
        (Err(e), "deadlock") => e.code == 1213,
        (Ok(found), expected) => found == expected,
        _ => false,
    };
    if matches {
        Ok(())
    } else {
        Err(format!("got {}", show(&reply)))
    }
}

fn show(reply: &Reply) -> String {
    match reply {
        Ok(text) => text.clone(),
        Err(e) => e.to_string(),
    }
}
