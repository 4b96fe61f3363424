//! Rows in and out of tables: versions in the clustered index, entries in secondary indexes, scans and
//! locking reads.
//!
//! | file | owns |
//! |---|---|
//! | `format` | bytes of entry values |
//! | `payload` | bytes of undo records |
//! | `read` | one row: visibility, older versions, unique lookups and their locks |
//! | `scan` | ranges of rows, consistent and locking |
//! | `visible` | what a consistent scan makes of an index entry |
//! | `batch` | ranges of rows by batches, of one view, for several threads |
//! | `write` | insert, update, delete |
//! | `secondary` | states of secondary entries |
//! | `undo` | what undo records mean: rollback and purge |
//! | `row_log` | row changes while an index is built |
//! | `chain` | tails of long rows |
//! | `check` | verification of a table's indexes against each other |
//! | `load` | an empty table filled in bulk |
//! | `entries` | entries of indexes that are built from sorted keys |
//! | `temporary` | row changes of temporary tables |
//! | `changes` | how much tables have changed |
//! | `counts` | row operations by index |
//! | `context` | what tables share: the engine's parts, counters |
//! | `range`, `scratch` | key spans; buffers |
//!
//! A clustered entry is `key -> flags, trx id, roll pointer, row`; a secondary entry is
//! `key ++ clustered key -> flags, trx id, length of the index's own key part`. Each secondary entry carries
//! the id of the transaction that last inserted, revived or delete-marked it, so that a covering
//! read decides visibility without the clustered row wherever that id is visible.
//!
//! An index may have any number of entries for a row ([`KeyCodec::is_multi`]): each is an entry like any other, with a key of its own and the
//! clustered key. What is in the key is all there is of an entry, so an UPDATE marks those that only the old row has and adds those that only the
//! new one has; undo records name the marked ones, rollback finds the new ones by making the rows' keys again, and purge needs no row.
//! A reader that meets an entry which its view does not decide asks whether the key is among those of the row that it sees.
//!
//! A row is stored in the form in which it was written. Where the definition has changed since without the rows being written anew
//! ([`KeyCodec::has_earlier_versions`]), whoever takes a row out of its entry (`read`'s `strip`) makes of it what the definition is now; so
//! nobody else, above or below, sees but rows of the definition that the table was opened with. What compares or replaces stored
//! bytes (undo records, tails) works with those that are there.
//!
//! **Promises.** A consistent read never waits for a lock. A row change that fails leaves nothing of itself behind.
//! What a locking read returned stays so, gaps included at REPEATABLE READ, until the transaction ends.
//! **Never does:** wait for a row lock, fetch a page or read undo while it holds a latch. Locks that are free are taken under the
//! leaf's latch (`docs/locking.md`, lines 4 and 7); for others the latch is dropped first and the row looked at again.
//! **Failure.** `Deadlock` obliges the caller to roll back the transaction. A damaged entry is `Corrupt`, naming
//! table and index.

mod batch;
mod chain;
mod changes;
mod check;
mod context;
mod counts;
pub(crate) mod entries;
pub(crate) mod format;
pub(crate) mod load;
pub(crate) mod payload;
mod range;
mod read;
pub(crate) mod row_log;
mod scan;
mod scratch;
mod secondary;
mod size;
mod temporary;
mod undo;
mod visible;
mod write;

pub use batch::{BATCH_ROWS, BatchScan, RowBatch};
pub use changes::{ChangeCount, ChangedTables};
pub use check::{Checked, FaultKind, IndexFault};
pub use context::Noted;
pub(crate) use context::{AutoIncrement, Context, Core, Index};
pub use counts::RowCounts;
pub use load::{Load, PartLoads, Refused, RowOrder};
pub(crate) use read::visit_key;
pub use scan::{EntryFilter, Scan};
pub use size::TableSize;

use crate::catalog::{IndexDef, KeyCodec, Keys, TableDef, row as catalog_row};
use crate::error::{Error, Result};
use crate::txn::{LockMode, MdlLock, MdlMode, Txn, WaitPolicy};
use range::Span;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

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

/// AUTO_INCREMENT values that a mark in the catalog row is ahead of those given out: what a crash may pass by.
const AUTO_AHEAD: u64 = 64;

/// Longest row (bytes).
pub const MAX_ROW: usize = 64 << 20;

/// An open table: one incarnation. Shared by `Arc`; kept in a prepared plan and re-pinned per execution.
///
/// Made by the catalog at the first use; `valid` until DDL changes the table or the cache lets it go, which it
/// does only while nobody else refers to it. Purge may go on using an object that is not valid any more.
pub struct Table {
    pub(crate) def: TableDef,
    /// Counts the changes of the table's definition.
    pub(crate) version: u32,
    pub(crate) indexes: Box<[Arc<Index>]>,
    pub(crate) codec: Arc<dyn KeyCodec>,
    /// [`KeyCodec::has_earlier_versions`].
    pub(crate) upgrades: bool,
    /// Whether an index has several entries a row ([`KeyCodec::is_multi`]).
    pub(crate) multi: bool,
    pub(crate) core: Arc<Core>,
    pub(crate) ctx: Arc<Context>,
    /// `None`: the catalog's own tables, which nobody drops.
    pub(crate) mdl: Option<Arc<MdlLock>>,
    pub(crate) valid: AtomicBool,
    /// The unfinished transaction whose alone this definition is; 0: it is committed.
    pub(crate) private: crate::txn::TrxId,
    /// Its open partitions, by position; made at the first use.
    pub(crate) partitions: OnceLock<Partitions>,
    /// The tables that refer to it; looked up at the first use.
    pub(crate) children: OnceLock<Box<[(String, String)]>>,
    /// Of a temporary table: itself, for its undo records to hold.
    pub(crate) temporary: Option<Weak<Table>>,
}

/// Open partitions of a table, by position.
pub(crate) type Partitions = Box<[OnceLock<Arc<Table>>]>;

impl Table {
    /// The definition (roots may lag; nobody above the store needs them).
    pub fn def(&self) -> &TableDef {
        &self.def
    }

    /// Whether it is a temporary table: one session's, in no catalog, unlogged, without locks.
    #[inline]
    pub fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// Bytes of memory that the open table takes, about, with what its indexes count in once they are used. Frame caches of its trees are not
    /// among them: the pool has an account of those. The answer does not change.
    pub(crate) fn memory(&self) -> usize {
        /// Lines of counters of a table and an index that are used, and what the allocator and the maps add.
        const COUNTERS: usize = 1024;
        let def = &self.def;
        let names = def.database.len() + def.name.len();
        let index = |i: &IndexDef| {
            size_of::<IndexDef>() + size_of::<Index>() + COUNTERS + i.name.len() + i.body.len()
        };
        let indexes: usize = def.indexes.iter().map(index).sum();
        let own = size_of::<Table>() + size_of::<Core>() + COUNTERS;
        own + 4 * names + def.body.len() + indexes + self.codec.memory_bytes()
    }

    /// The partition at a position if it is open ([`crate::Engine::partition`] opens it).
    #[inline]
    pub fn opened_partition(&self, at: usize) -> Option<&Arc<Table>> {
        self.partitions.get()?.get(at)?.get()
    }

    /// Whether an index has any number of entries for a row rather than one.
    #[inline]
    pub(crate) fn is_multi(&self, index: usize) -> bool {
        self.multi && self.codec.is_multi(index)
    }

    /// The keys of a row's entries in an index, whichever kind it is of.
    pub(crate) fn keys_of(&self, index: usize, row: &[u8]) -> Result<Keys> {
        let mut keys = Keys::default();
        entries::keys_of(&*self.codec, index, row, &mut keys)?;
        Ok(keys)
    }

    /// What the layer above made of the definition: [`KeyCodec::decoded`].
    pub fn decoded(&self) -> Option<Arc<dyn std::any::Any + Send + Sync>> {
        self.codec.decoded()
    }

    /// Takes this table's shared metadata lock for the transaction. `false`: the table was dropped,
    /// renamed or altered since it was opened; open it again by name.
    #[inline]
    pub fn pin(self: &Arc<Self>, txn: &mut Txn) -> Result<bool> {
        if let Some(mdl) = &self.mdl {
            self.ctx.sys.mdl().lock(txn.owner(), mdl, MdlMode::Shared)?;
        }
        self.refuse_quarantined()?;
        Ok(self.valid.load(Ordering::Acquire))
    }

    /// The same for a statement that writes rows: it waits for LOCK TABLES ... READ of others to end.
    #[inline]
    pub fn pin_for_write(self: &Arc<Self>, txn: &mut Txn) -> Result<bool> {
        if let Some(mdl) = &self.mdl {
            self.ctx.sys.mdl().lock(txn.owner(), mdl, MdlMode::Write)?;
        }
        self.refuse_quarantined()?;
        Ok(self.valid.load(Ordering::Acquire))
    }

    /// An error if the table is quarantined: a transaction that a crash left unfinished could not be rolled back in it.
    #[inline]
    pub(crate) fn refuse_quarantined(&self) -> Result<()> {
        match self.core.quarantine.get() {
            None => Ok(()),
            Some(why) => Err(Error::Corrupt(why.to_string())),
        }
    }

    pub(crate) fn index(&self, index: usize) -> Result<&Index> {
        match self.indexes.get(index) {
            Some(i) => Ok(i),
            None => Err(Error::NoSuchIndex(format!(
                "{} of {}",
                index, self.def.name
            ))),
        }
    }

    #[cold]
    pub(crate) fn corrupt(&self, what: &str) -> Error {
        let (db, name) = (&self.def.database, &self.def.name);
        Error::Corrupt(format!("table {db}.{name}: {what}"))
    }

    #[cold]
    pub(crate) fn corrupt_index(&self, index: usize, what: &str) -> Error {
        let name = self.def.indexes.get(index).map_or("?", |i| &i.name);
        self.corrupt(&format!("index {name} {what}"))
    }

    /// Whether no index has a root or entries: no row was ever written, or none is left that anybody can see.
    pub(crate) fn is_unwritten(&self) -> Result<bool> {
        for index in &self.indexes {
            if !index.tree.is_unwritten()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Gives an index its root page if it has none and needs one for its first entry: page and catalog row change in one mini-transaction, so a
    /// crash leaves both or neither. Racing inserters meet at the catalog row's leaf.
    #[inline]
    pub(crate) fn ensure_root(&self, index: usize) -> Result<()> {
        let tree = &self.indexes[index].tree;
        if tree.root() != 0 || tree.is_sharing() {
            return Ok(());
        }
        self.make_root(index)
    }

    /// Gives an index its root page if it has none: for pages beside those of its tree.
    pub(crate) fn give_root(&self, index: usize) -> Result<()> {
        self.ensure_root(index)?;
        self.indexes[index].tree.give_root()
    }

    #[cold]
    fn make_root(&self, index: usize) -> Result<()> {
        let tree = &self.indexes[index].tree;
        if self.is_temporary() {
            let mut mtr = self.ctx.pager.mtr_in(tree.space(), 1)?;
            let root = tree.alloc_root(&mut mtr)?;
            mtr.commit();
            tree.set_root(root);
            return Ok(());
        }
        let tables = self.ctx.tables.get();
        let tables = tables.ok_or_else(|| self.corrupt("opened before the catalog"))?;
        let key = catalog_row::table_key(&self.def.database, &self.def.name)?;
        let root = tables.tree.edit_allocating(&key, 0, tree.space(), |leaf| {
            let value = leaf.value();
            let value = value.ok_or_else(|| self.corrupt("not in the catalog"))?;
            let fixed = catalog_row::Fixed::locate(value, self.def.id)?;
            let (at, there) = fixed.root(value, index)?;
            if there != 0 {
                return Ok(there);
            }
            let root = tree.alloc_root(leaf.mtr())?;
            leaf.patch(at, &root.to_le_bytes());
            Ok(root)
        })?;
        tree.set_root(root);
        Ok(())
    }

    /// Reserves `count` consecutive AUTO_INCREMENT values (step `step`, offset `offset`); returns the first.
    /// A counter that was never set up starts at 1.
    pub fn auto_increment(&self, count: u64, step: u64, offset: u64) -> Result<u64> {
        let mut auto = self.core.auto.lock();
        let step = step.max(1);
        // As in MySQL an offset beyond the step counts for nothing.
        let offset = if offset > step { 0 } else { offset };
        let next = auto.next.unwrap_or(auto.floor);
        let first = next_in_series(next, step, offset)
            .ok_or_else(|| Error::Invalid("AUTO_INCREMENT values are exhausted".into()))?;
        let last = first.saturating_add(step.saturating_mul(count.saturating_sub(1)));
        // The next of the same series, which it stays whatever the step of the next reservation is: so does InnoDB's.
        let next = last.saturating_add(step);
        self.cover(&mut auto, next)?;
        auto.next = Some(next);
        Ok(first)
    }

    /// Takes back values from `first` on that were given out last and nobody stored; `end` is what would have come after them.
    pub fn auto_increment_unused(&self, first: u64, end: u64) {
        let mut auto = self.core.auto.lock();
        if auto.next == Some(end) {
            auto.next = Some(first);
        }
    }

    /// Makes the counter exceed an explicitly inserted value.
    pub fn auto_increment_seen(&self, value: u64) {
        let mut auto = self.core.auto.lock();
        let above = value.saturating_add(1);
        let Some(next) = auto.next else {
            // Whoever is setting it up may have read the table before the value was there.
            auto.floor = auto.floor.max(above);
            return;
        };
        // If the catalog cannot be written the engine is stopping, and the row itself will not last.
        if value >= next && self.cover(&mut auto, above).is_ok() {
            auto.next = Some(above);
        }
    }

    /// The next AUTO_INCREMENT value without taking it; `None` if no counter was set up yet (then the
    /// layer above reads the largest key and calls [`Table::auto_increment_init`]).
    pub fn auto_increment_peek(&self) -> Option<u64> {
        self.core.auto.lock().next
    }

    /// Sets the counter up, above what has been seen meanwhile; the first caller wins.
    pub fn auto_increment_init(&self, next: u64) {
        let mut auto = self.core.auto.lock();
        let floor = auto.floor;
        auto.next.get_or_insert(next.max(floor));
    }

    /// Has the counter go on at `next`, be that less than before, durably with what is logged next. Nobody else may use the table
    /// meanwhile.
    pub fn auto_increment_restart(&self, next: u64) -> Result<()> {
        self.core.auto.lock().next = Some(next);
        self.save_auto_increment()
    }

    /// Sees to it that no value below `next` is given again after a crash: the catalog row holds a mark above all that were. It is
    /// raised ahead of them, so that few values cost a change of the row; so after a crash some are passed by. A value is durable with
    /// the row that has it, and the mark lies before that in the log.
    fn cover(&self, auto: &mut AutoIncrement, next: u64) -> Result<()> {
        if next <= auto.stored || self.is_temporary() {
            return Ok(());
        }
        let mark = next.saturating_add(AUTO_AHEAD);
        self.store_auto_increment(mark)?;
        auto.stored = mark;
        Ok(())
    }

    /// Writes the counter into the catalog row for the next opening: at a clean close, when the cache lets the
    /// table go, and when it was set on purpose.
    pub fn save_auto_increment(&self) -> Result<()> {
        if self.is_temporary() {
            return Ok(());
        }
        let mut auto = self.core.auto.lock();
        let next = auto.next.unwrap_or(0);
        if auto.stored != next {
            self.store_auto_increment(next)?;
            auto.stored = next;
        }
        Ok(())
    }

    /// Whether closing the object would lose nothing.
    pub(crate) fn is_saved(&self) -> bool {
        let auto = self.core.auto.lock();
        auto.stored == auto.next.unwrap_or(0)
    }

    fn store_auto_increment(&self, value: u64) -> Result<()> {
        let Some(tables) = self.ctx.tables.get() else {
            return Ok(());
        };
        let key = catalog_row::table_key(&self.def.database, &self.def.name)?;
        tables.tree.edit(&key, 0, |leaf| {
            // A table renamed or dropped meanwhile starts from its largest row again.
            if let Some(v) = leaf.value()
                && let Ok(fixed) = catalog_row::Fixed::locate(v, self.def.id)
            {
                leaf.patch(fixed.auto_increment_at(), &value.to_le_bytes());
            }
            Ok(())
        })
    }

    /// How much the table has changed since it was opened; of a partitioned table, its partitions know. Reads memory only.
    #[inline]
    pub fn changes(&self) -> ChangeCount {
        self.core.changes.count()
    }

    /// Asks to be told in [`crate::Engine::changed_tables`] once `rows` more rows have changed.
    pub fn tell_after(&self, rows: u64) {
        let changes = &self.core.changes;
        changes.tell_at(changes.count().rows.saturating_add(rows.max(1)));
    }

    /// Counts a changed row, by which the table has grown `net` rows.
    #[inline]
    fn count_change(&self, net: i64) {
        if self.core.changes.add(net) && !self.ctx.changed.push(self.def.id) {
            self.tell_after(1);
        }
    }

    /// Counts rows that were inserted at once.
    pub(crate) fn count_inserted(&self, rows: u64) {
        if self.core.changes.add_inserted(rows) && !self.ctx.changed.push(self.def.id) {
            self.tell_after(1);
        }
    }

    /// What the layer above noted at the table: it stays through ALTER, and while the table is open. Never waits for long.
    #[inline]
    pub fn noted(&self) -> Option<Noted> {
        self.core.noted.read().clone()
    }

    /// Notes what `f` makes of what is noted, one after the other; `f` calls nothing that waits.
    pub fn note(&self, f: &mut dyn FnMut(Option<&Noted>) -> Option<Noted>) {
        let mut noted = self.core.noted.write();
        *noted = f(noted.as_ref());
    }

    /// Estimated number of rows.
    pub fn estimate_rows(&self) -> u64 {
        self.indexes[0].tree.estimate_total().unwrap_or(0)
    }

    /// Estimated number of entries of `index` in `range`, from a few pages near its ends.
    pub fn estimate_range(&self, index: usize, range: &KeyRange) -> Result<u64> {
        let span = Span::of(range.clone());
        if span.empty {
            return Ok(0);
        }
        let (lower, upper) = span.bounds();
        self.index(index)?.tree.estimate(lower, upper)
    }

    /// Divides a range of an index into up to `parts` ranges that hold about as much each, as far as the tree's inner pages tell; no leaf is
    /// read. They come in order, follow on each other and are the range together; of a small tree there are fewer, one at least.
    pub fn split(&self, index: usize, range: &KeyRange, parts: usize) -> Result<Vec<KeyRange>> {
        let tree = &self.index(index)?.tree;
        let span = Span::of(range.clone());
        let mut ranges = Vec::new();
        let mut lower = range.lower.clone();
        if !span.empty {
            for key in tree.divide(&span.low, span.high.as_deref(), parts)? {
                let upper = Bound::Excluded(key.clone());
                let lower = std::mem::replace(&mut lower, Bound::Included(key));
                ranges.push(KeyRange { lower, upper });
            }
        }
        let upper = range.upper.clone();
        ranges.push(KeyRange { lower, upper });
        Ok(ranges)
    }
}

/// The least value of `offset + n * step` that is at least `next`.
fn next_in_series(next: u64, step: u64, offset: u64) -> Option<u64> {
    if next <= offset {
        return Some(offset);
    }
    let steps = (next - offset).div_ceil(step);
    offset.checked_add(steps.checked_mul(step)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_follow_step_and_offset() {
        let take = |next, step, offset| next_in_series(next, step, offset).unwrap();
        assert_eq!(take(1, 1, 1), 1);
        assert_eq!(take(2, 1, 1), 2);
        assert_eq!(take(1, 10, 5), 5);
        assert_eq!(take(6, 10, 5), 15);
        assert_eq!(take(15, 10, 5), 15);
        assert_eq!(next_in_series(u64::MAX, 100, 5), None);
    }
}
