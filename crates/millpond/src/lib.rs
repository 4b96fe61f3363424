//! Millpond embedded: a MySQL-compatible database in your process, with nothing to start.
//!
//! ```
//! # fn main() -> millpond::Result<()> {
//! # let dir = std::env::temp_dir().join(format!("millpond-doc-lib-{}", std::process::id()));
//! let db = millpond::Database::open(&dir)?;
//! let mut conn = db.connect()?;
//! conn.execute("CREATE DATABASE app", ())?;
//! conn.use_database("app")?;
//! conn.execute(
//!     "CREATE TABLE users (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL)",
//!     (),
//! )?;
//! let added = conn.execute("INSERT INTO users (name) VALUES (?)", ("Ada",))?;
//! assert_eq!(added.last_insert_id, 1);
//! for row in &conn.query("SELECT id, name FROM users WHERE id = ?", (1,))? {
//!     let (id, name): (i64, String) = (row.get("id")?, row.get("name")?);
//!     assert_eq!((id, name.as_str()), (1, "Ada"));
//! }
//! drop(conn);
//! db.close()?;
//! # std::fs::remove_dir_all(&dir).ok();
//! # Ok(())
//! # }
//! ```
//!
//! | module | owns |
//! |---|---|
//! | [`database`] | opening and closing: [`Database`], [`Builder`] |
//! | [`connection`] | [`Connection`], [`Statement`], [`Transaction`] |
//! | [`row`] | what a query returns: [`Rows`], [`Row`] |
//! | [`convert`] | Rust values to SQL values and back: [`ToValue`], [`FromValue`], [`Params`] |
//! | [`error`] | [`Error`] with MySQL's codes |
//!
//! A [`Database`] is shared between threads by cloning; each thread makes a [`Connection`] of its own. The same
//! directory can be open in one process at a time.

pub mod connection;
pub mod convert;
pub mod database;
pub mod error;
mod open;
pub mod row;

pub use connection::{Connection, Outcome, Statement, Transaction};
pub use convert::{FromValue, Params, ToValue};
pub use database::{Builder, Database, Durability};
pub use error::{Error, Result};
pub use millpond_session::value::{Date, DateTime, Decimal, Time, Value};
pub use row::{Row, RowIndex, Rows};
