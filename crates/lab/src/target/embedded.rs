//! The engine in this process.

use super::{Client, Target};
use crate::Result;
use millpond_sql::result::ColumnMeta;
use millpond_sql::types::SqlType;
use millpond_sql::value::write_text;
use millpond_sql::{
    Completion, ConnectionInfo, Instance, InstanceOptions, ResultSink, Session, Value,
};
use std::io;
use std::path::{Path, PathBuf};

/// An instance in a directory of its own, which goes when this does.
pub struct Embedded {
    instance: Instance,
    path: PathBuf,
}

impl Embedded {
    /// Makes the directory in `parent` and opens an instance there.
    pub fn create(
        parent: &Path,
        pool_bytes: Option<usize>,
        durability: Option<u8>,
    ) -> Result<Embedded> {
        let path = parent.join(format!("millpond-lab-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut store = millpond_store::Options::default();
        if let Some(n) = pool_bytes {
            store.pool_bytes = n;
        }
        let flush = ("innodb_flush_log_at_trx_commit", durability);
        let opened = Instance::open(InstanceOptions {
            path: path.clone(),
            store,
            variables: match flush {
                (name, Some(n)) => vec![(name.to_string(), n.to_string())],
                (_, None) => Vec::new(),
            },
        });
        match opened {
            Ok(instance) => Ok(Embedded { instance, path }),
            Err(e) => {
                let _ = std::fs::remove_dir_all(&path);
                Err(e.into())
            }
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        let closed = self.instance.close();
        let removed = std::fs::remove_dir_all(&self.path);
        if let Err(e) = closed {
            eprintln!("closing {}: {e}", self.path.display());
        }
        if let Err(e) = removed {
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
    fn connect(&self) -> Result<Box<dyn Client + '_>> {
        let session = self.instance.connect(ConnectionInfo {
            user: "root".into(),
            host: "localhost".into(),
            ..ConnectionInfo::default()
        })?;
        Ok(Box::new(EmbeddedClient(session)))
    }
}

struct EmbeddedClient(Session);

impl Client for EmbeddedClient {
    fn run(&mut self, sql: &str) -> Result<u64> {
        let mut sink = First::default();
        self.0.execute(sql, &mut sink)?;
        Ok(sink.rows)
    }
    fn value(&mut self, sql: &str) -> Result<Option<String>> {
        let mut sink = First::default();
        self.0.execute(sql, &mut sink)?;
        Ok(sink.value)
    }
}

/// Counts rows and keeps the first value.
#[derive(Default)]
struct First {
    ty: Option<SqlType>,
    rows: u64,
    value: Option<String>,
}

impl ResultSink for First {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.ty = columns.first().map(|c| c.ty.clone());
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        self.rows += 1;
        if let (1, Some(ty), Some(v)) = (self.rows, &self.ty, row.first())
            && !v.is_null()
        {
            let mut text = Vec::new();
            write_text(v, ty, &mut text);
            self.value = Some(String::from_utf8_lossy(&text).into_owned());
        }
        Ok(())
    }
    fn finish(&mut self, _done: &Completion) -> io::Result<()> {
        Ok(())
    }
}
