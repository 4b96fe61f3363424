//! What a statement sends out, independent of the wire.

use crate::error::{SqlError, SqlResult};
use crate::types::SqlType;
use crate::value::Value;

pub use crate::types::{
    FLAG_AUTO_INCREMENT, FLAG_BINARY, FLAG_BLOB, FLAG_ENUM, FLAG_MULTIPLE_KEY, FLAG_NO_DEFAULT,
    FLAG_NOT_NULL, FLAG_PRI_KEY, FLAG_SET, FLAG_TIMESTAMP, FLAG_UNIQUE_KEY, FLAG_UNSIGNED,
};

/// A result column.
#[derive(Clone, Debug)]
pub struct ColumnMeta {
    /// Database of the base table, or empty.
    pub database: String,
    /// Alias of the table, or empty.
    pub table: String,
    /// Base table, or empty.
    pub org_table: String,
    /// Name shown.
    pub name: String,
    /// Base column name, or empty.
    pub org_name: String,
    /// Type, with length, signedness and collation.
    pub ty: SqlType,
    /// Flags: see the `FLAG_*` constants (the protocol's values).
    pub flags: u16,
}

impl ColumnMeta {
    /// A computed column's description.
    pub fn computed(name: String, ty: &SqlType, nullable: bool) -> ColumnMeta {
        ColumnMeta {
            database: String::new(),
            table: String::new(),
            org_table: String::new(),
            name,
            org_name: String::new(),
            ty: ty.clone(),
            flags: ty.protocol_flags() | if nullable { 0 } else { FLAG_NOT_NULL },
        }
    }
}

/// What a client is told of its session's state (session tracking).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tracked {
    /// A system variable has been set: its name, and its value now.
    Variable(String, String),
    /// The database in use; empty if there is none.
    Schema(String),
    /// Something has changed.
    State,
    /// Statements that begin a transaction like the one that is open; empty if there is none.
    Characteristics(String),
    /// What there is of a transaction: eight letters.
    Transaction(String),
}

/// How a statement ended.
#[derive(Clone, Debug, Default)]
pub struct Completion {
    /// Rows inserted, changed or deleted, as MySQL counts them.
    pub affected: u64,
    /// First AUTO_INCREMENT value generated, or 0.
    pub last_insert_id: u64,
    /// Warnings raised.
    pub warnings: u16,
    /// Info text, e.g. `Records: 2  Duplicates: 0  Warnings: 0`.
    pub info: String,
    /// SERVER_STATUS_* flags: in transaction (1), autocommit (2), in read-only transaction (8192).
    pub status: u16,
    /// Another result of the same text follows (SERVER_MORE_RESULTS_EXISTS).
    pub more: bool,
    /// What has become of the session's state, for a client that asked to be told.
    pub tracked: Vec<Tracked>,
}

/// Receives a statement's result: `columns`, `row`*, `finish` for a result set; only `finish` for the rest.
/// An error from the sink (a broken connection) ends the statement.
pub trait ResultSink {
    /// The result set that follows is a row of OUT parameters' values (SERVER_PS_OUT_PARAMS).
    fn out_parameters(&mut self) {}
    /// A result set starts.
    fn columns(&mut self, columns: &[ColumnMeta]) -> std::io::Result<()>;
    /// One row; borrowed until the call returns.
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()>;
    /// The bytes of a file of the client's, which LOAD DATA LOCAL asks for: error 3948 from a client that gives none, as an embedded one
    /// never does. Whoever gives one reads it to its end, though the statement may not.
    fn client_file(&mut self, _name: &str) -> SqlResult<Box<dyn std::io::Read + '_>> {
        Err(local_disabled())
    }
    /// The statement is done.
    fn finish(&mut self, done: &Completion) -> std::io::Result<()>;
}

/// Error 3948: LOCAL is not for this server or this client.
pub fn local_disabled() -> SqlError {
    SqlError::new(
        3948,
        "Loading local data is disabled; this must be enabled on both the client and server sides",
    )
}
