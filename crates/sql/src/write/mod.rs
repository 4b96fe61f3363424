//! The one row writer. INSERT, REPLACE, UPDATE, DELETE, CREATE TABLE ... SELECT and what ALTER TABLE copies write rows through a
//! [`RowWriter`], one for each table that a statement writes to. Nothing else calls the store's insert, update or delete but `ddl/follow`,
//! which moves images that were written here into the table that takes their table's place. A table that is filled in bulk gets its
//! rows by [`WriteContext::load`] at step 9.
//!
//! | file | owns |
//! |---|---|
//! | `writer` | [`RowWriter`]: a row into the table, from one image to the next, out of it |
//! | `policy` | what a writer is told, and what it answers |
//! | `row`, `values` | [`NewRow`]: the values of a row being made; conversion, defaults |
//! | `place` | which partition a row goes to, and what it takes to be there |
//! | `hooks` | [`Hooks`]: who else has a say about a row, or is told of it |
//! | `foreign_keys` | parents and children of rows |
//! | `auto_increment`, `counter` | the values that AUTO_INCREMENT makes; where a table's counter starts |
//! | `duplicate` | error 1062 |
//!
//! # A row's way
//!
//! What happens to a row, in this order; a row's *image* is its bytes as the store keeps them.
//!
//! 1. **Values**: each as its column stores it ([`RowWriter::set`], [`RowWriter::assign`]), then the defaults of the columns that
//!    the statement does not name ([`RowWriter::complete`]); last those that are expressions, column by column. NULL is refused here where
//!    it can't be, unless 2 may still replace it.
//! 2. [`Hooks::before`]: triggers that may change the row that is to be.
//! 3. ON UPDATE CURRENT_TIMESTAMP, if the row changes at all. An UPDATE that changes nothing goes from here to 11 and ends there.
//! 4. Generated columns, then [`Hooks::generated`]: columns that follow from others. After 2, as in MySQL, because triggers may change what
//!    they follow from.
//! 5. NOT NULL, of what 2 and 4 left.
//! 6. The definition's CHECK constraints, then [`Hooks::check`]: constraints on the row alone.
//! 7. AUTO_INCREMENT. So late that a row which fails before uses up no number.
//! 8. Its parents by foreign keys are looked up and locked ([`foreign_keys`]). Of a row that is deleted, the children are seen to: they refuse it, go or
//!    change too.
//! 9. **The store**: the partition, the clustered index and the others. A duplicate is met here; what becomes of it is the
//!    statement's [`OnDuplicate`]. A row whose partition changes is inserted there first.
//! 10. Parents that were missing in 8 are an error if they still are: a row may be its own. The children of a row whose key has changed are
//!     seen to. With IGNORE the row is as it was, and a warning says why.
//! 11. [`Hooks::after`]: triggers that act on what was done.
//! 12. [`Hooks::images`]: whoever keeps a log of rows, with the images before and after.
//!
//! DELETE has 2, 8, 9, 11 and 12; what REPLACE removes is deleted like that.
//!
//! **Promises.** A row is in the table with all its index entries or not at all; a change that fails leaves the row as it was. Undoing the
//! rows before it is the caller's, who returns to the statement's savepoint. **Never** evaluates an expression of the statement, finds
//! the rows to change, commits, or counts rows as MySQL's OK packet does.

mod auto_increment;
pub mod counter;
mod duplicate;
mod filling;
pub mod foreign_keys;
mod hooks;
mod place;
mod policy;
mod row;
#[cfg(test)]
mod tests;
mod values;
mod writer;

pub use auto_increment::AutoIncrement;
pub(crate) use duplicate::duplicate;
pub use filling::Filling;
pub use hooks::{Hooks, Images, PendingRow, RowListener, RowRule};
pub use place::{RowLocator, StoredRow};
pub use policy::{Buffers, Inserted, OnDuplicate, Target, Updated, WritePolicy};
pub use row::NewRow;
pub use writer::RowWriter;

use millpond_store::{Engine, Table, Txn};
use std::sync::Arc;

use crate::env::SessionEnv;

/// What writing a row takes besides the row.
pub struct WriteContext<'c> {
    /// The engine.
    pub engine: &'c Engine,
    /// The transaction, which has pinned the table for writing.
    pub txn: &'c mut Txn,
    /// The session: sql_mode, zone, warnings.
    pub env: &'c SessionEnv,
    /// The writer's table.
    pub table: &'c Arc<Table>,
    /// Where rows go instead, if the table is filled in bulk; duplicates are refused.
    pub load: Option<&'c mut Filling>,
}

/// Whether statements that write lock what they only read in this transaction.
pub(crate) fn locks_reads(txn: &Txn) -> bool {
    use millpond_store::Isolation as I;
    !matches!(txn.isolation(), I::ReadCommitted | I::ReadUncommitted)
}
