//! Opening and closing a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use millpond_session::{ConnectionInfo, Instance, InstanceOptions};
use millpond_store::Options;
use millpond_store::crypt::{CommandKeyring, FileKeyring};

use crate::connection::Connection;
use crate::error::Result;
use crate::open::Open;

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The disk: a committed transaction survives a power cut (default).
    Sync,
    /// The operating system: a committed transaction survives the end of the process, and a power cut after
    /// about a second.
    Write,
    /// Nothing: a committed transaction is safe after about a second.
    EverySecond,
}

/// Options of a database to open; made by [`Database::builder`].
#[derive(Clone, Debug)]
pub struct Builder {
    store: Options,
    variables: Vec<(String, String)>,
}

impl Builder {
    /// Size of the buffer pool in bytes (5 MiB at least).
    pub fn pool_size(mut self, bytes: usize) -> Builder {
        self.store.pool_bytes = bytes;
        self
    }
    /// Number of buffer pool instances; 0 (the default) chooses.
    pub fn pool_instances(mut self, count: usize) -> Builder {
        self.store.pool_instances = count;
        self
    }
    /// Size of the redo log in bytes.
    pub fn redo_log_size(mut self, bytes: u64) -> Builder {
        self.store.log_bytes = bytes;
        self
    }
    /// What a commit waits for.
    pub fn durability(self, durability: Durability) -> Builder {
        let value = match durability {
            Durability::EverySecond => "0",
            Durability::Sync => "1",
            Durability::Write => "2",
        };
        self.variable("innodb_flush_log_at_trx_commit", value)
    }
    /// Whether new tables get a file of their own unless they say otherwise.
    pub fn file_per_table(mut self, on: bool) -> Builder {
        self.store.file_per_table = on;
        self
    }
    /// Where the master keys are that the database is encrypted by, or is to be when it is made: a file, see `docs/encryption.md`. It is made with the
    /// database if it is not there, and may not lie in the database's directory.
    pub fn keyring_file(mut self, file: impl AsRef<Path>) -> Builder {
        self.store.keyring = Some(Arc::new(FileKeyring::new(file.as_ref())));
        self
    }
    /// A command, run by `sh`, that prints the master keys.
    pub fn keyring_command(mut self, command: impl Into<String>) -> Builder {
        self.store.keyring = Some(Arc::new(CommandKeyring::new(command)));
        self
    }
    /// Sets a system variable from the start, by MySQL's name.
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Builder {
        self.variables.push((name.into(), value.into()));
        self
    }
    /// Opens the database in `path`, creating or recovering it.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        let instance = Instance::open(InstanceOptions {
            path: PathBuf::from(path.as_ref()),
            store: self.store,
            variables: self.variables,
        })?;
        Ok(Database {
            open: Arc::new(Open(instance)),
        })
    }
}

/// An open database.
///
/// 1. Opened by [`Database::open`] or [`Builder::open`].
/// 2. Shared by cloning; [`Database::connect`] makes connections, which keep it open.
/// 3. Closed by [`Database::close`], or when it and its connections have been dropped.
#[derive(Clone)]
pub struct Database {
    open: Arc<Open>,
}

impl Database {
    /// Opens the database in a directory with default options, creating or recovering it.
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        Database::builder().open(path)
    }
    /// Options for a database to open.
    ///
    /// ```
    /// # fn main() -> millpond::Result<()> {
    /// # let dir = std::env::temp_dir().join(format!("millpond-doc-builder-{}", std::process::id()));
    /// use millpond::{Database, Durability};
    /// let db = Database::builder()
    ///     .pool_size(64 << 20)
    ///     .durability(Durability::Write)
    ///     .open(&dir)?;
    /// let size: u64 = db.connect()?.query_value("SELECT @@innodb_buffer_pool_size", ())?;
    /// assert_eq!(size, 64 << 20);
    /// # db.close()?;
    /// # std::fs::remove_dir_all(&dir).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> Builder {
        Builder {
            store: Options::default(),
            variables: Vec::new(),
        }
    }
    /// A new connection, as `root@localhost`, without a current database.
    pub fn connect(&self) -> Result<Connection> {
        let session = self.open.0.connect(ConnectionInfo {
            user: "root".into(),
            host: "localhost".into(),
            ..ConnectionInfo::default()
        })?;
        Ok(Connection::new(session, self.open.clone()))
    }
    /// A new connection that uses a database.
    pub fn connect_to(&self, database: &str) -> Result<Connection> {
        let mut conn = self.connect()?;
        conn.use_database(database)?;
        Ok(conn)
    }
    /// Closes cleanly: everything is written, and the next open has nothing to recover. Drop the connections
    /// first; one with an open transaction makes this fail.
    pub fn close(self) -> Result<()> {
        Ok(self.open.0.close()?)
    }
    /// The instance underneath, for what this API does not cover.
    pub fn instance(&self) -> &Instance {
        &self.open.0
    }
}
