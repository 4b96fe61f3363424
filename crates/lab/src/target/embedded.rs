//! The engine in this process.

use super::{Client, Target};
use crate::Result;
use millpond::{Connection, Database, Value};
use std::path::{Path, PathBuf};

/// A database in a directory of its own, which goes when this does.
pub struct Embedded {
    db: Database,
    path: PathBuf,
}

impl Embedded {
    /// Makes the directory in `parent` and opens a database there.
    pub fn create(
        parent: &Path,
        pool_bytes: Option<usize>,
        durability: Option<u8>,
    ) -> Result<Embedded> {
        let path = parent.join(format!("millpond-lab-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut builder = Database::builder();
        if let Some(n) = pool_bytes {
            builder = builder.pool_size(n);
        }
        if let Some(n) = durability {
            builder = builder.variable("innodb_flush_log_at_trx_commit", n.to_string());
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
    fn connect(&self) -> Result<Box<dyn Client + '_>> {
        Ok(Box::new(EmbeddedClient(self.db.connect()?)))
    }
}

struct EmbeddedClient(Connection);

impl Client for EmbeddedClient {
    fn run(&mut self, sql: &str) -> Result<u64> {
        Ok(self.0.query(sql, ())?.len() as u64)
    }
    fn value(&mut self, sql: &str) -> Result<Option<String>> {
        let row = self.0.query_row(sql, ())?;
        let Some(value) = row.map(|r| r.get::<Value<'static>>(0)).transpose()? else {
            return Ok(None);
        };
        let text = value.to_text().into_owned();
        Ok((!value.is_null()).then(|| String::from_utf8_lossy(&text).into_owned()))
    }
}
