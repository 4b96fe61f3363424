//! Rows in and out of tables: versions in the clustered index, entries in secondary indexes, scans,
//! locking reads, and DDL.
//!
//! A clustered entry is `key -> flags, trx id, roll pointer, row`; a secondary entry is
//! `key ++ clustered key -> flags, trx id, length of the index's own key part`. Each secondary entry carries
//! the id of the transaction that last inserted, revived or delete-marked it, so that a covering
//! read decides visibility without the clustered row wherever that id is visible.

use crate::catalog::TableDef;
use crate::error::Result;
use crate::txn::{LockMode, Txn, WaitPolicy};
use std::ops::Bound;
use std::sync::Arc;

pub use crate::btree::Dir as Direction;

/// How a read sees and locks rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    /// Consistent read per the transaction's isolation level; never waits.
    Consistent,
    /// Locking read of the newest committed version; gaps too at REPEATABLE READ and above.
    Locking(LockMode, WaitPolicy),
}

/// A range of index keys (the index's own key part; a prefix of it is fine).
///
/// `Included(k)` as lower bound starts at the first entry whose key starts with or exceeds `k`; as upper bound
/// it ends after the last entry that starts with `k`. `Excluded` likewise leaves out every entry
/// that starts with `k`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Lower bound.
    pub lower: Bound<Vec<u8>>,
    /// Upper bound.
    pub upper: Bound<Vec<u8>>,
}

/// What a scan returns of each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// The whole row.
    Row,
    /// The index key only (enough for a covering read or a count).
    Key,
}

/// A row under a scan's cursor; valid until the next call.
#[derive(Clone, Copy, Debug)]
pub struct ScanRow<'a> {
    /// The index's own key part.
    pub key: &'a [u8],
    /// The clustered key.
    pub clustered_key: &'a [u8],
    /// The row; empty under [`Fetch::Key`].
    pub row: &'a [u8],
}

/// An open table: one incarnation. Shared by `Arc`; kept in a prepared plan and re-pinned per execution.
pub struct Table {}

/// A scan over one index.
pub struct Scan<'t> {
    _p: std::marker::PhantomData<&'t ()>,
}

impl Scan<'_> {
    /// The next row, or `None`.
    pub fn next(&mut self, _txn: &mut Txn) -> Result<Option<ScanRow<'_>>> {
        todo!()
    }
    /// Under READ COMMITTED, releases the lock of the row last returned (it did not match).
    pub fn unlock_row(&mut self, _txn: &mut Txn) {
        todo!()
    }
}

impl Table {
    /// The definition (roots may lag; nobody above the store needs them).
    pub fn def(&self) -> &TableDef {
        todo!()
    }
    /// Takes this table's shared metadata lock for the transaction. `false`: the table was dropped,
    /// renamed or altered since it was opened; open it again by name.
    pub fn pin(self: &Arc<Self>, _txn: &mut Txn) -> Result<bool> {
        todo!()
    }
    /// Unique lookup by a full key of a unique index; the row replaces `row`'s contents.
    /// `clustered_key` gets the clustered key.
    pub fn get(
        &self,
        _txn: &mut Txn,
        _index: usize,
        _key: &[u8],
        _mode: ReadMode,
        _clustered_key: &mut Vec<u8>,
        _row: &mut Vec<u8>,
    ) -> Result<bool> {
        todo!()
    }
    /// Opens a scan.
    pub fn scan<'t>(
        &'t self,
        _txn: &mut Txn,
        _index: usize,
        _range: KeyRange,
        _dir: Direction,
        _mode: ReadMode,
        _fetch: Fetch,
    ) -> Result<Scan<'t>> {
        todo!()
    }
    /// Inserts a row. On `DuplicateKey` the row that is in the way is locked shared, as in InnoDB, and
    /// nothing of the new row remains.
    pub fn insert(&self, _txn: &mut Txn, _row: &[u8]) -> Result<()> {
        todo!()
    }
    /// Clustered key of the row in the way of `row` in unique index `index` (for REPLACE and ON
    /// DUPLICATE KEY UPDATE), with its row, locked exclusively.
    pub fn find_duplicate(
        &self,
        _txn: &mut Txn,
        _index: usize,
        _row: &[u8],
        _clustered_key: &mut Vec<u8>,
        _old_row: &mut Vec<u8>,
    ) -> Result<bool> {
        todo!()
    }
    /// Replaces the row under `clustered_key`, which the transaction has locked exclusively and read as
    /// `old`. The clustered key itself may change.
    pub fn update(
        &self,
        _txn: &mut Txn,
        _clustered_key: &[u8],
        _old: &[u8],
        _new: &[u8],
    ) -> Result<()> {
        todo!()
    }
    /// Deletes the row under `clustered_key`, locked exclusively and read as `old`.
    pub fn delete(&self, _txn: &mut Txn, _clustered_key: &[u8], _old: &[u8]) -> Result<()> {
        todo!()
    }
    /// Reserves `count` consecutive AUTO_INCREMENT values (step `step`, offset `offset`); returns the first.
    pub fn auto_increment(&self, _count: u64, _step: u64, _offset: u64) -> Result<u64> {
        todo!()
    }
    /// Makes the counter exceed an explicitly inserted value.
    pub fn auto_increment_seen(&self, _value: u64) {
        todo!()
    }
    /// The next AUTO_INCREMENT value without taking it; `None` if no counter was set up yet (then the
    /// layer above reads the largest key and calls [`Table::auto_increment_init`]).
    pub fn auto_increment_peek(&self) -> Option<u64> {
        todo!()
    }
    /// Sets the counter up; the first caller wins.
    pub fn auto_increment_init(&self, _next: u64) {
        todo!()
    }
    /// Estimated number of rows.
    pub fn estimate_rows(&self) -> u64 {
        todo!()
    }
    /// Estimated number of entries of `index` in `range`, from a few pages near its ends.
    pub fn estimate_range(&self, _index: usize, _range: &KeyRange) -> Result<u64> {
        todo!()
    }
}
