//! What a writer is told, and what it answers.

use crate::types::Schema;

/// What a writer writes to. The open table comes with each row, as its pin does with the transaction.
#[derive(Clone, Copy)]
pub struct Target<'w> {
    /// Its definition.
    pub schema: &'w Schema,
    /// What messages call it.
    pub name: &'w str,
    /// PARTITION (...): positions of the partitions that rows may go to, in order.
    pub partitions: Option<&'w [usize]>,
}

/// What becomes of a row to be inserted that duplicates a stored one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// Error 1062, or with IGNORE a warning and no row.
    #[default]
    Refuse,
    /// The stored rows make way: REPLACE.
    Replace,
    /// The statement changes the stored row: ON DUPLICATE KEY UPDATE.
    Update,
}

/// How a statement writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct WritePolicy {
    /// What it does with duplicates that it inserts.
    pub duplicates: OnDuplicate,
    /// IGNORE: errors about single rows are warnings, and the rows are passed over.
    pub ignore: bool,
    /// Values that don't fit are errors rather than warnings.
    pub strict: bool,
    /// NULL is refused where it cannot be, strict or not: so for one row of VALUES.
    pub refuse_nulls: bool,
}

/// Buffers of a writer, which a session keeps from statement to statement.
#[derive(Default)]
pub struct Buffers {
    /// The image being made.
    pub image: Vec<u8>,
    /// What decides about the partition; keys of parents.
    pub route: Vec<u8>,
    /// Clustered key of a row in the way.
    pub found_key: Vec<u8>,
    /// Image of a row in the way.
    pub found: Vec<u8>,
}

/// What became of a row to be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It is in the table; so many rows made way for it.
    Stored(u64),
    /// The very same row was in the table and stays, instead of making way; so many others did.
    Same(u64),
    /// IGNORE passed it over, with a warning.
    Skipped,
    /// The same, because of a CHECK constraint.
    Refused,
    /// Another row is in the way, and the statement is to change that: see [`RowWriter::take_found`].
    Duplicate,
}

/// What became of a row to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updated {
    /// It has its next image.
    Changed,
    /// It was as it was to be.
    Unchanged,
    /// IGNORE passed it over, with a warning.
    Skipped,
}
