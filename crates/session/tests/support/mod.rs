//! A database in a temporary directory, and sessions on it that collect what they are sent.

#![allow(dead_code)] // Each test program uses a part of it.

pub mod power;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use millpond_session::result::{ColumnMeta, Completion, ResultSink};
use millpond_session::{
    ConnectionInfo, Instance, InstanceOptions, Session, SqlError, SqlResult, Value, value,
};
use millpond_store::Options;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A database that is gone when this is dropped.
pub struct TestDb {
    pub path: PathBuf,
    instance: Option<Instance>,
}

impl TestDb {
    pub fn new() -> TestDb {
        TestDb::with(&[])
    }

    pub fn with(variables: &[(&str, &str)]) -> TestDb {
        let path = std::env::temp_dir().join(format!(
            "millpond-sql-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ));
        let _ = std::fs::remove_dir_all(&path);
        let instance = open(&path, variables);
        TestDb {
            path,
            instance: Some(instance),
        }
    }

    /// A session with a database `test` in use.
    pub fn client(&self) -> Client {
        let mut c = self.raw();
        c.ok("CREATE DATABASE IF NOT EXISTS test");
        c.ok("USE test");
        c
    }

    /// A session without a current database.
    pub fn raw(&self) -> Client {
        let info = ConnectionInfo {
            user: "root".into(),
            host: "localhost".into(),
            multi_statements: true,
            ..ConnectionInfo::default()
        };
        Client(self.instance().connect(info).expect("connect"))
    }

    /// A session of an account, without a current database. The account's password is asked for nowhere.
    pub fn user(&self, name: &str) -> SqlResult<Client> {
        let client = millpond_session::Client {
            user: name.into(),
            host: "localhost".into(),
            names: vec!["localhost".into()],
            handles_expired: true,
            ..Default::default()
        };
        let candidate = self.instance().candidate(client);
        let admitted = self.instance().admit(candidate, true, None, false)?;
        let info = ConnectionInfo {
            user: name.into(),
            host: "localhost".into(),
            account: Some(admitted),
            multi_statements: true,
            ..ConnectionInfo::default()
        };
        self.instance().connect(info).map(Client)
    }

    pub fn instance(&self) -> &Instance {
        self.instance.as_ref().expect("open")
    }

    /// Closes it.
    pub fn close(&mut self) {
        let instance = self.instance.take().expect("open");
        instance.close().expect("close");
    }

    /// What becomes of opening its directory, which is closed, with these variables.
    pub fn try_open(&self, variables: &[(&str, &str)]) -> SqlResult<Instance> {
        try_open(&self.path, variables)
    }

    /// Closes and opens again.
    pub fn reopen(&mut self) {
        let before = self.instance.take().expect("open");
        before.close().expect("close");
        drop(before);
        self.instance = Some(open(&self.path, &[]));
    }
}

fn open(path: &std::path::Path, variables: &[(&str, &str)]) -> Instance {
    try_open(path, variables).expect("open")
}

fn try_open(path: &std::path::Path, variables: &[(&str, &str)]) -> SqlResult<Instance> {
    Instance::open(InstanceOptions {
        path: path.to_path_buf(),
        store: Options {
            pool_bytes: 8 << 20,
            log_bytes: 16 << 20,
            ..Options::default()
        },
        variables: variables
            .iter()
            .map(|(n, v)| (n.to_string(), v.to_string()))
            .collect(),
    })
}

impl Drop for TestDb {
    fn drop(&mut self) {
        if let Some(instance) = self.instance.take() {
            let _ = instance.close();
        }
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// One statement's result.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub columns: Vec<ColumnMeta>,
    pub rows: Vec<Vec<String>>,
    pub done: Completion,
}

impl Answer {
    pub fn headings(&self) -> Vec<&str> {
        self.columns.iter().map(|c| c.name.as_str()).collect()
    }
}

/// Keeps what it is sent, as the text protocol would print it.
#[derive(Default)]
pub struct Collector {
    pub answers: Vec<Answer>,
    current: Answer,
}

impl ResultSink for Collector {
    fn columns(&mut self, columns: &[ColumnMeta]) -> std::io::Result<()> {
        self.current.columns = columns.to_vec();
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        let texts = row
            .iter()
            .zip(&self.current.columns)
            .map(|(v, c)| {
                if v.is_null() {
                    return "NULL".to_string();
                }
                let mut text = Vec::new();
                value::write_text(v, &c.ty, &mut text);
                String::from_utf8_lossy(&text).into_owned()
            })
            .collect();
        self.current.rows.push(texts);
        Ok(())
    }
    fn finish(&mut self, done: &Completion) -> std::io::Result<()> {
        self.current.done = done.clone();
        self.answers.push(std::mem::take(&mut self.current));
        Ok(())
    }
}

/// A session under test.
pub struct Client(pub Session);

impl Client {
    pub fn run(&mut self, sql: &str) -> SqlResult<Vec<Answer>> {
        let mut sink = Collector::default();
        self.0.execute(sql, &mut sink)?;
        Ok(sink.answers)
    }
    /// One statement that must work.
    #[track_caller]
    pub fn ok(&mut self, sql: &str) -> Answer {
        match self.run(sql) {
            Ok(mut answers) => answers.pop().unwrap_or_else(|| panic!("{sql}: no answer")),
            Err(e) => panic!("{sql}: {e}"),
        }
    }
    /// Rows of a query, each as texts joined by `|`.
    #[track_caller]
    pub fn rows(&mut self, sql: &str) -> Vec<String> {
        self.ok(sql).rows.iter().map(|r| r.join("|")).collect()
    }
    /// The one value of a query.
    #[track_caller]
    pub fn one(&mut self, sql: &str) -> String {
        let rows = self.rows(sql);
        assert_eq!(rows.len(), 1, "{sql}: {rows:?}");
        rows[0].clone()
    }
    /// A statement that must fail.
    #[track_caller]
    pub fn err(&mut self, sql: &str) -> SqlError {
        match self.run(sql) {
            Ok(a) => panic!("{sql}: worked: {a:?}"),
            Err(e) => e,
        }
    }
    /// The error code of a statement that must fail.
    #[track_caller]
    pub fn code(&mut self, sql: &str) -> u16 {
        self.err(sql).code
    }
    /// SHOW WARNINGS as `level code message` lines.
    #[track_caller]
    pub fn warnings(&mut self) -> Vec<String> {
        self.ok("SHOW WARNINGS")
            .rows
            .iter()
            .map(|r| r.join(" "))
            .collect()
    }
}
