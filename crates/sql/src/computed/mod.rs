//! What a table's definition says by expressions.
//!
//! | file | owns |
//! |---|---|
//! | `role` | what an expression is for, and the errors that follow from it |
//! | `read` | from what a statement says to the text that a definition keeps; what may stand there |
//! | `scope` | what names mean in it |
//! | `rows` | bound expressions, and what they make of rows |
//! | `columns` | the values of VIRTUAL columns, which rows don't hold |
//! | `codec` | definitions, rows and keys as the store asks for them |
//!
//! **Texts.** A definition keeps an expression as a text in MySQL's own form (`millpond_syntax::print::definition`): what SHOW CREATE
//! TABLE prints, and what means the same to every session whatever its `sql_mode` and character set.
//!
//! **Binding.** A table's expressions are bound together, at the first row that asks for one since the table was opened, and kept
//! with its [`Schema`](crate::types::Schema); tables without any are told by a look at their columns. They are bound in an environment of their own, whoever asks first. A row is
//! computed from its values as they will be stored, in the statement's `sql_mode` and zone.
//!
//! **Generated columns** are computed when their row is written, VIRTUAL ones too: what can't be stored is refused then, CHECK constraints and triggers
//! see the values. Invariants of a VIRTUAL column that is computed when it is read (`columns`; the others are kept in the row like STORED ones):
//!
//! - It takes no bytes in rows, and no definition's version makes it take any: adding or dropping it is a step between versions
//!   ([`crate::catalog::Versions`]) that copies nothing.
//! - Whoever asks a row's layout for the column gets its value, be it a scan, a batch, a key of an index, a rebuild or HANDLER; nobody who does not ask computes it.
//! - Its value in a row is one and the same whoever asks and when: every entry of an index on it is found again from the row that it was made of,
//!   and from each older version of that.
//! - A covering index answers without computing: it holds the value.
//! - Foreign keys neither have it nor refer to it.
//!
//! It never looks at stored rows, nor decides when a rule is asked: that is [`crate::write`]'s.

mod codec;
mod columns;
mod read;
mod role;
mod rows;
mod scope;

pub use codec::{Codecs, entries};
pub(crate) use codec::{references, references_of};
pub use columns::take_failure;
pub use read::{Definition, columns_read, read};
pub use role::Role;
pub use role::generated_given;
pub use rows::{CHECK_VIOLATED, Computed};
