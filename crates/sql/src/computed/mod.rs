//! What a table's definition says by expressions.
//!
//! | file | owns |
//! |---|---|
//! | `role` | what an expression is for, and the errors that follow from it |
//! | `read` | from what a statement says to the text that a definition keeps; what may stand there |
//! | `scope` | what names mean in it |
//! | `rows` | bound expressions, and what they make of rows |
//!
//! **Texts.** A definition keeps an expression as a text in MySQL's own form (`millpond_syntax::print::definition`): what SHOW CREATE
//! TABLE prints, and what means the same to every session whatever its `sql_mode` and character set.
//!
//! **Binding.** A table's expressions are bound together, at the first row that asks for one since the table was opened, and kept
//! with its [`Schema`](crate::types::Schema); tables without any are told by a look at their columns. A row is computed from its values
//! as they will be stored, in the statement's `sql_mode` and zone.
//!
//! **Generated columns** are computed when their row is written, and kept in it: VIRTUAL ones too, so that scans, batches and indexes read them as
//! they read any column, and purge and recovery make index entries of a row's bytes without a session. What sets VIRTUAL apart is what MySQL
//! allows of it; a column that follows from the session's zone besides its row has the value of the session that wrote the row, as
//! indexed ones have in MySQL.
//!
//! It never looks at stored rows, nor decides when a rule is asked: that is [`crate::write`]'s.

mod read;
mod role;
mod rows;
mod scope;

pub use read::{Definition, columns_read, read};
pub use role::Role;
pub use role::generated_given;
pub use rows::{CHECK_VIOLATED, Computed};
