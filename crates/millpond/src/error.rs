//! Errors, with MySQL's codes where MySQL has one.

use millpond_session::SqlError;

/// Result of an operation.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The database refused or failed: see [`Error::code`].
    Sql(SqlError),
    /// A row has no such column.
    NoSuchColumn(String),
    /// A column's value is not of the type asked for.
    WrongType {
        /// The column's name.
        column: String,
        /// The Rust type asked for.
        wanted: &'static str,
        /// The value, as text.
        value: String,
    },
    /// A query that had to return a row returned none.
    NoRows,
}

impl Error {
    /// MySQL's error number, e.g. 1062 for a duplicate key; `None` for errors of this API alone.
    pub fn code(&self) -> Option<u16> {
        match self {
            Error::Sql(e) => Some(e.code),
            _ => None,
        }
    }
    /// The SQLSTATE that goes with the code.
    pub fn sqlstate(&self) -> Option<&str> {
        match self {
            Error::Sql(e) => Some(e.state.as_str()),
            _ => None,
        }
    }
}

impl From<SqlError> for Error {
    fn from(e: SqlError) -> Error {
        Error::Sql(e)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Sql(e) => e.fmt(f),
            Error::NoSuchColumn(name) => write!(f, "the row has no column {name}"),
            Error::WrongType {
                column,
                wanted,
                value,
            } => write!(f, "column {column} is no {wanted}: {value}"),
            Error::NoRows => f.write_str("the query returned no row"),
        }
    }
}

impl std::error::Error for Error {}
