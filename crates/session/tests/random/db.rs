//! The database under test: one instance, several sessions.

use millpond_session::{
    ColumnMeta, Completion, ConnectionInfo, Instance, InstanceOptions, ResultSink, Session,
    SqlError, Value,
};
use std::path::Path;

/// Result rows as text.
pub type Cells = Vec<Vec<Option<String>>>;

#[derive(Default)]
struct Collect(Cells);

impl ResultSink for Collect {
    fn columns(&mut self, _: &[ColumnMeta]) -> std::io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        let cell = |v: &Value<'_>| match v {
            Value::Null => None,
            Value::Int(i) => Some(i.to_string()),
            Value::UInt(i) => Some(i.to_string()),
            Value::Bytes(b) => Some(String::from_utf8_lossy(b).into_owned()),
            Value::Json(j) => Some(String::from_utf8_lossy(&j.to_text()).into_owned()),
            other => Some(format!("{other:?}")),
        };
        self.0.push(row.iter().map(cell).collect());
        Ok(())
    }
    fn finish(&mut self, _: &Completion) -> std::io::Result<()> {
        Ok(())
    }
}

pub struct Db {
    /// `None` only while reopening.
    instance: Option<Instance>,
    sessions: Vec<Session>,
}

impl Db {
    pub fn open(path: &Path, sessions: usize) -> Db {
        let store = millpond_store::Options {
            pool_bytes: 5 << 20,
            log_bytes: 2 << 20,
            ..Default::default()
        };
        let options = InstanceOptions {
            path: path.to_path_buf(),
            store,
            variables: Vec::new(),
        };
        let instance = Instance::open(options).unwrap();
        let connect = |_| {
            let (user, host) = ("root".into(), "localhost".into());
            instance
                .connect(ConnectionInfo {
                    user,
                    host,
                    ..Default::default()
                })
                .unwrap()
        };
        let sessions = (0..sessions).map(connect).collect();
        Db {
            instance: Some(instance),
            sessions,
        }
    }

    /// Closes cleanly and opens again.
    pub fn reopen(&mut self, path: &Path, sessions: usize) {
        self.sessions.clear();
        self.instance.take().expect("open").close().unwrap();
        *self = Db::open(path, sessions);
    }

    pub fn run(&mut self, session: usize, sql: &str) -> Result<Cells, SqlError> {
        let mut rows = Collect::default();
        self.sessions[session].execute(sql, &mut rows)?;
        Ok(rows.0)
    }
}

/// `Err` with the first difference.
pub fn same(found: &Cells, expected: &Cells) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let short = |r: Option<&Vec<Option<String>>>| match r {
        None => "nothing".to_string(),
        Some(cells) => {
            let cell = |c: &Option<String>| match c {
                None => "NULL".to_string(),
                Some(t) if t.len() > 20 => format!("{}..({} bytes)", &t[..10], t.len()),
                Some(t) => t.clone(),
            };
            cells.iter().map(cell).collect::<Vec<_>>().join(",")
        }
    };
    let at = (0..)
        .find(|i| found.get(*i) != expected.get(*i))
        .expect("they differ");
    let (a, b) = (short(found.get(at)), short(expected.get(at)));
    Err(format!(
        "{} rows, expected {}; row {at} is {a}, expected {b}",
        found.len(),
        expected.len()
    ))
}
