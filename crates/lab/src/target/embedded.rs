//! The engine in this process.

use super::{Client, Param, StatementId, Target, TextRow};
use crate::Result;
use millpond::{Connection, Database, Row, Statement, ToValue, Value};
use std::path::{Path, PathBuf};

/// How to open the engine; what is not said is as the engine has it.
#[derive(Clone, Debug, Default)]
pub struct EmbeddedOptions {
    /// Buffer pool, bytes.
    pub pool_bytes: Option<u64>,
    /// Buffer pool instances.
    pub pool_instances: Option<usize>,
    /// Redo log, bytes.
    pub log_bytes: Option<u64>,
    /// `innodb_flush_log_at_trx_commit`.
    pub durability: Option<u8>,
    /// System variables by name.
    pub variables: Vec<(String, String)>,
}

/// A database in a directory of its own, which goes when this does.
pub struct Embedded {
    db: Database,
    path: PathBuf,
}

impl Embedded {
    /// Makes the directory in `parent` and opens a database there.
    pub fn create(parent: &Path, options: &EmbeddedOptions) -> Result<Embedded> {
        let path = parent.join(format!("millpond-lab-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut builder = Database::builder();
        if let Some(n) = options.pool_bytes {
            builder = builder.pool_size(n as usize);
        }
        if let Some(n) = options.pool_instances {
            builder = builder.pool_instances(n);
        }
        if let Some(n) = options.log_bytes {
            builder = builder.redo_log_size(n);
        }
        if let Some(n) = options.durability {
            builder = builder.variable("innodb_flush_log_at_trx_commit", n.to_string());
        }
        for (name, value) in &options.variables {
            builder = builder.variable(name, value);
        }
        match builder.open(&path) {
            Ok(db) => Ok(Embedded { db, path }),
            Err(e) => {
                let _ = std::fs::remove_dir_all(&path);
                Err(e.into())
            }
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        if let Err(e) = self.db.clone().close() {
            eprintln!("closing {}: {e}", self.path.display());
        }
        if let Err(e) = std::fs::remove_dir_all(&self.path) {
            eprintln!("removing {}: {e}", self.path.display());
        }
    }
}

impl Target for Embedded {
    fn describe(&self) -> String {
        format!(
            "Millpond {}, embedded, in {}",
            env!("CARGO_PKG_VERSION"),
            self.path.display()
        )
    }
    fn name(&self) -> String {
        "Millpond".into()
    }
    fn connect(&self) -> Result<Box<dyn Client + '_>> {
        Ok(Box::new(EmbeddedClient {
            conn: self.db.connect()?,
            statements: Vec::new(),
        }))
    }
}

struct EmbeddedClient {
    conn: Connection,
    statements: Vec<Statement>,
}

impl Client for EmbeddedClient {
    fn run(&mut self, sql: &str) -> Result<u64> {
        let mut rows = 0;
        self.conn.query_each(sql, (), |_| {
            rows += 1;
            Ok(())
        })?;
        Ok(rows)
    }
    fn rows(&mut self, sql: &str) -> Result<Vec<TextRow>> {
        let rows = self.conn.query(sql, ())?;
        Ok(rows.iter().map(text_row).collect())
    }
    fn prepare(&mut self, sql: &str) -> Result<StatementId> {
        self.statements.push(self.conn.prepare(sql)?);
        Ok(StatementId(self.statements.len() - 1))
    }
    fn execute(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<()> {
        let values: Vec<Value<'_>> = params
            .iter()
            .map(|p| match p {
                Param::Int(n) => n.to_value(),
                Param::Text(s) => s.to_value(),
            })
            .collect();
        let statement = &self.statements[statement.0];
        self.conn.execute_prepared(statement, &values[..])?;
        Ok(())
    }
}

fn text_row(row: &Row) -> TextRow {
    row.values()
        .iter()
        .map(|v| (!v.is_null()).then(|| String::from_utf8_lossy(&v.to_text()).into_owned()))
        .collect()
}
