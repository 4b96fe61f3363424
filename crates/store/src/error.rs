//! Errors of the store. The SQL layer maps each to MySQL's code and SQLSTATE.

use crate::catalog::Constraint;
use std::sync::Arc;

/// Result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, naming what and where.
#[derive(Debug, Clone)]
pub enum Error {
    /// An operating-system error; `what` names the file and the operation.
    Io {
        /// File and operation, for people.
        what: String,
        /// Kind of the underlying error (see [`Error::is_full`]).
        kind: std::io::ErrorKind,
        /// Text of the underlying error.
        message: String,
        /// Whether no descriptor was left (see [`Error::is_passing`]).
        lack: bool,
    },
    /// No page of the buffer pool became free in time; why, for people.
    NoFrame(String),
    /// A page, log record or catalog row is not what it must be.
    Corrupt(String),
    /// The engine stopped accepting writes after a failed log write or fsync; the cause.
    Stopped(Arc<str>),
    /// A unique index already holds the key. `index` is the position in [`crate::TableDef::indexes`].
    DuplicateKey {
        /// Position of the violated index.
        index: usize,
    },
    /// A unique index cannot be built: the rows have a key twice. One of them is told, if it is still there, in the row format.
    DuplicateRow {
        /// Position of the index.
        index: usize,
        /// The row.
        row: Arc<[u8]>,
    },
    /// This transaction was chosen as the deadlock victim and has been rolled back.
    Deadlock,
    /// A row lock or metadata lock was not granted in time.
    LockWaitTimeout,
    /// Row locks have all the memory that they may have; the transaction is to be rolled back.
    LockTableFull,
    /// `NOWAIT` met a conflicting lock.
    LockNotAvailable,
    /// The statement or connection was killed while waiting.
    Interrupted,
    /// No such database.
    NoSuchDatabase(String),
    /// The database exists already.
    DatabaseExists(String),
    /// No such table (`db.name`).
    NoSuchTable(String),
    /// The table exists already (`db.name`).
    TableExists(String),
    /// No such index on the table.
    NoSuchIndex(String),
    /// The row is longer than the store takes (bytes).
    RowTooLarge(usize),
    /// An index key is longer than [`crate::btree::MAX_KEY`] (bytes).
    KeyTooLong(usize),
    /// The directory is in use by another process.
    Locked(String),
    /// The table or one of its indexes was made after the transaction's read view, which can therefore not
    /// be served from it; MySQL's `ER_TABLE_DEF_CHANGED` (1412): the transaction may be retried.
    DefinitionChanged(String),
    /// Rows cannot be changed, because the database was opened with [`crate::Options::force_recovery`].
    ForcedRecovery,
    /// More rows changed while an index was built than its log of changes may hold.
    RowLogFull,
    /// These tables (database, name) are touched by the change too, for they refer to one that is changed or the other way round, and must be
    /// locked for it: [`crate::Engine::hold_names`]. Nothing has happened.
    Related(Vec<(String, String)>),
    /// A table refers to the one that is to go.
    Referenced {
        /// The one that is to go.
        table: (String, String),
        /// The one that refers to it.
        by: (String, String),
    },
    /// The database has a constraint of this kind and name.
    DuplicateConstraint(Constraint),
    /// No such tablespace.
    NoSuchTablespace(String),
    /// The tablespace exists already.
    TablespaceExists(String),
    /// Another tablespace has the data file that this one asks for.
    DuplicateDatafile(String),
    /// Tables are in the tablespace.
    TablespaceNotEmpty(String),
    /// A backup is under way, and there is one at a time.
    BackupRuns,
    /// It cannot be done within a transaction that is open, for what it does could not be undone with that; what it is, for people.
    NotInTransaction(String),
    /// Bad configuration or an argument the caller must not pass.
    Invalid(String),
}

impl Error {
    /// Wraps an I/O error with what was being done.
    pub fn io(what: impl Into<String>, e: &std::io::Error) -> Error {
        Error::Io {
            what: what.into(),
            kind: e.kind(),
            message: e.to_string(),
            lack: crate::space::handles::is_lack(e),
        }
    }
}

impl Error {
    /// Whether a file could not grow: the disk or a quota is full, or the file is as long as it may be.
    pub fn is_full(&self) -> bool {
        use std::io::ErrorKind::*;
        matches!(
            self,
            Error::Io {
                kind: StorageFull | QuotaExceeded | FileTooLarge,
                ..
            }
        )
    }

    /// Whether nothing is wrong with what was asked for, and the same may succeed a moment later: the process had no
    /// descriptor left, the buffer pool no page, or the disk no room.
    pub fn is_passing(&self) -> bool {
        matches!(self, Error::Io { lack: true, .. } | Error::NoFrame(_)) || self.is_full()
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Io { what, message, .. } => write!(f, "{what}: {message}"),
            Error::NoFrame(why) => write!(f, "no page of the buffer pool became free: {why}"),
            Error::Corrupt(s) => write!(f, "corrupt data: {s}"),
            Error::Stopped(s) => write!(f, "the engine stopped accepting writes: {s}"),
            Error::DuplicateKey { index } => write!(f, "duplicate key in index {index}"),
            Error::DuplicateRow { index, .. } => write!(f, "duplicate key in index {index}"),
            Error::Deadlock => f.write_str("deadlock found; transaction rolled back"),
            Error::LockWaitTimeout => f.write_str("lock wait timeout exceeded"),
            Error::LockTableFull => {
                f.write_str("the total number of locks exceeds the lock table size")
            }
            Error::LockNotAvailable => f.write_str("lock not available and NOWAIT is set"),
            Error::Interrupted => f.write_str("interrupted"),
            Error::NoSuchDatabase(s) => write!(f, "unknown database '{s}'"),
            Error::DatabaseExists(s) => write!(f, "database '{s}' exists"),
            Error::NoSuchTable(s) => write!(f, "table '{s}' doesn't exist"),
            Error::TableExists(s) => write!(f, "table '{s}' already exists"),
            Error::NoSuchIndex(s) => write!(f, "no index '{s}'"),
            Error::RowTooLarge(n) => write!(f, "row of {n} bytes is too large"),
            Error::KeyTooLong(n) => write!(f, "key of {n} bytes is too long"),
            Error::DefinitionChanged(s) => {
                write!(
                    f,
                    "definition of '{s}' has changed, please retry transaction"
                )
            }
            Error::ForcedRecovery => {
                f.write_str("operation not allowed when innodb_force_recovery > 0")
            }
            Error::RowLogFull => f.write_str("too many rows changed during an index build"),
            Error::Related(t) => write!(f, "related tables are not locked: {t:?}"),
            Error::Referenced { table, by } => {
                write!(
                    f,
                    "table {}.{} is referred to by {}.{}",
                    table.0, table.1, by.0, by.1
                )
            }
            Error::DuplicateConstraint(c) => write!(f, "constraint '{}' exists", c.name),
            Error::NoSuchTablespace(s) => write!(f, "tablespace {s} doesn't exist"),
            Error::TablespaceExists(s) => write!(f, "tablespace '{s}' exists"),
            Error::DuplicateDatafile(s) => {
                write!(f, "the data file of tablespace '{s}' is another's")
            }
            Error::TablespaceNotEmpty(s) => write!(f, "tablespace '{s}' is not empty"),
            Error::Locked(s) => write!(f, "{s}"),
            Error::BackupRuns => f.write_str("another backup is under way"),
            Error::NotInTransaction(s) => write!(f, "{s} cannot be undone with a transaction"),
            Error::Invalid(s) => write!(f, "{s}"),
        }
    }
}

impl std::error::Error for Error {}
