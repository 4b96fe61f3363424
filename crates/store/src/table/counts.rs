//! Row operations, by index of each table.
//!
//! An index counts in one word an operation until it has had [`SMALL`] of them; then it gets lines of its own, one per group of threads, so
//! that those who use one index do not pass a cache line around. What an index has counted when it ends goes to the engine's sums, so these
//! never fall.
//!
//! **Locks**: the list of indexes is behind a mutex, a leaf, taken when one is opened, when it ends and by readers.

use hashbrown::HashMap;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Operations that an index counts in one word.
const SMALL: u64 = 64;
/// Lines of an index that has had more.
const LINES: usize = 8;
/// Kinds of operations.
const OPS: usize = 5;

/// What is counted.
#[derive(Clone, Copy)]
pub(crate) enum RowOp {
    /// Rows read by conditions on the index.
    Read = 0,
    Inserted = 1,
    Updated = 2,
    Deleted = 3,
    /// Rows read by one who reads the clustered index from its first row to its last.
    Passed = 4,
}

/// Operations on rows that went through an index; changes are counted by the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows read by conditions on the index.
    pub read: u64,
    /// Rows inserted.
    pub inserted: u64,
    /// Rows changed.
    pub updated: u64,
    /// Rows deleted.
    pub deleted: u64,
    /// Rows read by one who reads the clustered index from its first row to its last.
    pub passed: u64,
}

#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; OPS]);

#[derive(Default)]
struct Cells {
    small: [AtomicU64; OPS],
    lines: OnceLock<Box<[Line; LINES]>>,
}

impl Cells {
    #[inline]
    fn add(&self, op: RowOp, n: u64) {
        match self.lines.get() {
            Some(lines) => {
                lines[super::context::shard_no() % LINES].0[op as usize].fetch_add(n, Relaxed);
            }
            None => self.add_small(op, n),
        }
    }
    fn add_small(&self, op: RowOp, n: u64) {
        if self.small[op as usize].fetch_add(n, Relaxed) + n > SMALL {
            self.lines.get_or_init(Box::default);
        }
    }
    fn read(&self) -> [u64; OPS] {
        let mut all = [0; OPS];
        let lines = self.lines.get().into_iter().flat_map(|l| l.iter());
        for line in std::iter::once(&self.small).chain(lines.map(|l| &l.0)) {
            for (to, from) in all.iter_mut().zip(line) {
                *to += from.load(Relaxed);
            }
        }
        all
    }
}

/// An index's counters.
pub(crate) struct IndexCounts {
    cells: Arc<Cells>,
    of: Arc<RowCounters>,
}

impl IndexCounts {
    /// Counts operations.
    #[inline]
    pub fn add(&self, op: RowOp, n: u64) {
        self.cells.add(op, n);
    }
    /// What was counted since the index was opened.
    pub fn read(&self) -> RowCounts {
        let [read, inserted, updated, deleted, passed] = self.cells.read();
        RowCounts {
            read,
            inserted,
            updated,
            deleted,
            passed,
        }
    }
}

impl Drop for IndexCounts {
    fn drop(&mut self) {
        let mut known = self.of.known.lock();
        known.open.remove(&Arc::as_ptr(&self.cells).addr());
        for (to, n) in known.past.iter_mut().zip(self.cells.read()) {
            *to += n;
        }
    }
}

#[derive(Default)]
struct Known {
    /// By address.
    open: HashMap<usize, Arc<Cells>>,
    /// Of indexes that have ended.
    past: [u64; OPS],
}

/// The counters of all indexes of an engine.
#[derive(Default)]
pub(crate) struct RowCounters {
    known: Mutex<Known>,
}

impl RowCounters {
    /// Those of an index that is opened.
    pub fn open(self: &Arc<Self>) -> IndexCounts {
        let cells = Arc::new(Cells::default());
        let address = Arc::as_ptr(&cells).addr();
        self.known.lock().open.insert(address, cells.clone());
        let of = self.clone();
        IndexCounts { cells, of }
    }
    /// Operations of all indexes: rows read, inserted, updated and deleted, in whatever way.
    pub fn all(&self) -> RowCounts {
        let known = self.known.lock();
        let mut all = known.past;
        for cells in known.open.values() {
            for (to, n) in all.iter_mut().zip(cells.read()) {
                *to += n;
            }
        }
        let [read, inserted, updated, deleted, passed] = all;
        RowCounts {
            read: read + passed,
            inserted,
            updated,
            deleted,
            passed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_outlive_indexes() {
        let counters: Arc<RowCounters> = Arc::default();
        let (a, b) = (counters.open(), counters.open());
        for _ in 0..200 {
            a.add(RowOp::Read, 1);
        }
        b.add(RowOp::Passed, 3);
        b.add(RowOp::Deleted, 2);
        assert_eq!(a.read().read, 200);
        assert_eq!(b.read().passed, 3);
        let before = counters.all();
        assert_eq!((before.read, before.deleted), (203, 2));
        drop(a);
        assert_eq!(counters.all(), before);
        drop(b);
        assert_eq!(counters.all(), before);
        assert!(counters.known.lock().open.is_empty());
    }
}
