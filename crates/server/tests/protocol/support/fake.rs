//! A database that knows a handful of words: `ok`, `fail`, `panic`, `rows N`, `echo TEXT`, `wait`, `file NAME` (a file
//! of the client's as a row; one that begins with `bad` is not read further), `limit N` (sets
//! `max_allowed_packet`); `params`, prepared, returns its two parameters.

use crate::threads::variables;
use millpond_server::backend::{Backend, BackendSession};
use millpond_session::result::ColumnMeta;
use millpond_session::types::{BaseType, Collation, SqlType};
use millpond_session::{
    Completion, ConnectionInfo, Prepared, ResultSink, SqlError, SqlResult, Value,
};
use millpond_session::{Counter, KillHook, OnDurable, ThreadCounts, ThreadsLook, Unsettled};
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex};

#[derive(Default)]
struct State {
    next_id: u32,
    hooks: HashMap<u32, KillHook>,
    killed: HashSet<u32>,
    running: u32,
    released: bool,
    threads: Option<ThreadsLook>,
}

#[derive(Clone, Default)]
pub struct Fake {
    variables: HashMap<&'static str, u64>,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Fake {
    pub fn with(mut self, name: &'static str, value: u64) -> Fake {
        self.variables.insert(name, value);
        self
    }
    fn change(&self, f: impl FnOnce(&mut State)) {
        f(&mut self.state.0.lock().unwrap());
        self.state.1.notify_all();
    }
    fn wait(&self, mut until: impl FnMut(&State) -> bool) {
        let state = self.state.0.lock().unwrap();
        drop(self.state.1.wait_while(state, |s| !until(s)).unwrap());
    }
    pub fn wait_until_running(&self) {
        self.wait_until_all_run(1);
    }
    pub fn wait_until_all_run(&self, how_many: u32) {
        self.wait(|s| s.running == how_many);
    }
    /// The server's threads.
    pub fn threads(&self) -> ThreadCounts {
        let look = self.state.0.lock().unwrap().threads.clone();
        look.expect("the server counts them")()
    }
    pub fn release(&self) {
        self.change(|s| s.released = true);
    }
    pub fn killed(&self, id: u32) -> bool {
        self.state.0.lock().unwrap().killed.contains(&id)
    }
}

impl Backend for Fake {
    type Session = FakeSession;
    fn reserve_id(&self) -> u32 {
        let mut s = self.state.0.lock().unwrap();
        s.next_id += 1;
        s.next_id
    }
    fn connect(&self, info: ConnectionInfo) -> SqlResult<FakeSession> {
        let mut session = FakeSession {
            fake: self.clone(),
            id: info.id,
            limits: Vec::new(),
        };
        if let Some(db) = &info.database {
            session.use_database(db)?;
        }
        let hook = info.on_kill.expect("the server gives a hook");
        self.change(|s| {
            s.hooks.insert(info.id, hook);
        });
        Ok(session)
    }
    fn kill(&self, id: u32, connection: bool) -> SqlResult<()> {
        assert!(connection);
        let hook = self.state.0.lock().unwrap().hooks.get(&id).cloned();
        let hook = hook.ok_or_else(|| SqlError::new(1094, format!("Unknown thread id: {id}")))?;
        self.change(|s| {
            s.killed.insert(id);
        });
        hook.0();
        Ok(())
    }
    fn global_u64(&self, name: &str) -> Option<u64> {
        let said = self.variables.get(name).copied();
        said.or_else(|| self.global_text(name)?.parse().ok())
    }
    fn when_settled(&self, _: &Unsettled, _: Arc<dyn OnDurable>) {
        unreachable!("nothing here waits for a log");
    }
    fn settled(&self, _: Unsettled) {}
    fn global_text(&self, name: &str) -> Option<String> {
        let mut given = variables().into_iter();
        given.find(|(n, _)| n == name).map(|(_, value)| value)
    }
    fn show_threads(&self, look: ThreadsLook) {
        self.change(|s| s.threads = Some(look));
    }
    fn count_aborted_connect(&self) {}
}

pub struct FakeSession {
    fake: Fake,
    id: u32,
    /// What `max_allowed_packet` has been set to, one time after the other.
    limits: Vec<u64>,
}

fn column(name: &str, ty: SqlType) -> ColumnMeta {
    ColumnMeta {
        database: "test".into(),
        table: "t".into(),
        org_table: "t".into(),
        name: name.into(),
        org_name: name.into(),
        ty,
        flags: 0,
    }
}

fn columns() -> Vec<ColumnMeta> {
    let mut number = SqlType::new(BaseType::BigInt);
    number.unsigned = true;
    vec![
        column("n", number),
        column("s", SqlType::varchar(20, Collation::Utf8mb4Bin)),
    ]
}

impl FakeSession {
    fn one(&mut self, sql: &str, more: bool, sink: &mut dyn ResultSink) -> SqlResult<()> {
        let sent = |e: std::io::Error| SqlError::new(1158, e.to_string());
        let done = Completion {
            status: self.status_flags(),
            more,
            ..Completion::default()
        };
        let (word, rest) = sql.split_once(' ').unwrap_or((sql, ""));
        match word {
            "ok" => {}
            "limit" => self.limits.push(rest.parse().unwrap()),
            "panic" => panic!("as asked"),
            "rows" => {
                sink.columns(&columns()).map_err(sent)?;
                for i in 0..rest.parse().unwrap() {
                    sink.row(&[Value::UInt(i), Value::Null]).map_err(sent)?;
                }
            }
            "echo" => {
                sink.columns(&columns()[1..]).map_err(sent)?;
                sink.row(&[Value::str(rest)]).map_err(sent)?;
            }
            "file" => {
                let mut file = sink.client_file(rest)?;
                let mut text = vec![0; 3];
                let n = file.read(&mut text).map_err(sent)?;
                text.truncate(n);
                if text == b"bad" {
                    return Err(SqlError::new(1158, "it is bad"));
                }
                file.read_to_end(&mut text).map_err(sent)?;
                drop(file);
                sink.columns(&columns()[1..]).map_err(sent)?;
                sink.row(&[Value::Bytes(text.into())]).map_err(sent)?;
            }
            "wait" => {
                self.fake.change(|s| s.running += 1);
                let id = self.id;
                self.fake.wait(|s| s.released || s.killed.contains(&id));
            }
            "SHOW" => {
                sink.columns(&columns()).map_err(sent)?;
                for (name, value) in [("Uptime", "10"), ("Questions", "20")] {
                    sink.row(&[Value::str(name), Value::str(value)])
                        .map_err(sent)?;
                }
            }
            _ => return Err(SqlError::syntax(format!("near '{sql}'"))),
        }
        sink.finish(&done).map_err(sent)
    }
}

impl BackendSession for FakeSession {
    fn id(&self) -> u32 {
        self.id
    }
    fn execute(&mut self, sql: &str, sink: &mut dyn ResultSink) -> SqlResult<()> {
        let parts: Vec<&str> = sql.split("; ").collect();
        for (i, part) in parts.iter().enumerate() {
            self.one(part, i + 1 < parts.len(), sink)?;
        }
        Ok(())
    }
    fn prepare(&mut self, sql: &str) -> SqlResult<Arc<Prepared>> {
        if sql == "fail" {
            return Err(SqlError::syntax("near 'fail'"));
        }
        Ok(prepared(2, columns()))
    }
    fn execute_prepared(
        &mut self,
        statement: &Arc<Prepared>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let sent = |e: std::io::Error| SqlError::new(1158, e.to_string());
        sink.columns(&statement.columns).map_err(sent)?;
        sink.row(params).map_err(sent)?;
        sink.finish(&Completion::default()).map_err(sent)
    }
    fn leave_database(&mut self) {}
    fn use_database(&mut self, name: &str) -> SqlResult<()> {
        match name {
            "test" => Ok(()),
            _ => Err(SqlError::new(1049, format!("Unknown database '{name}'"))),
        }
    }
    fn reset(&mut self) -> SqlResult<()> {
        Ok(())
    }
    fn status_flags(&self) -> u16 {
        2
    }
    fn killed(&self) -> bool {
        self.fake.killed(self.id)
    }
    fn wait_timeout(&self) -> u64 {
        self.fake.global_u64("wait_timeout").unwrap_or(28_800)
    }
    fn variable_u64(&self, name: &str) -> Option<u64> {
        match self.limits.last() {
            Some(limit) if name == "max_allowed_packet" => Some(*limit),
            _ => self.fake.global_u64(name),
        }
    }
    fn settings_generation(&self) -> u64 {
        self.limits.len() as u64
    }
    fn set_multi_statements(&mut self, _on: bool) {}
    fn leave_commits_unsettled(&mut self) {}
    fn take_unsettled(&mut self) -> Option<Unsettled> {
        None
    }
    fn settle(&self, _: Unsettled) -> SqlResult<()> {
        Ok(())
    }
    fn add_to_counter(&self, _counter: Counter, _n: u64) {}
}

fn prepared(params: usize, columns: Vec<ColumnMeta>) -> Arc<Prepared> {
    Arc::new(Prepared::description(params, columns))
}
