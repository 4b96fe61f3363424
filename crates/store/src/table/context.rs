//! What every table needs of the engine, and the state that all objects of one table share.

use super::changes::{ChangedTables, Changes};
use super::counts::{IndexCounts, RowCounters};
use crate::btree::{Shared, Tree};
use crate::error::{Error, Result};
use crate::pool::Pager;
use crate::space::SpaceId;
use crate::txn::TxnSystem;
use crate::wait::{self, Class};
use parking_lot::{Mutex, RwLock};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What every table needs of the engine. Made once at open.
pub(crate) struct Context {
    pub pager: Arc<Pager>,
    pub sys: Arc<TxnSystem>,
    /// The catalog's tree of tables, where roots and counters are recorded.
    pub tables: OnceLock<Arc<Index>>,
    /// The tree that small indexes share.
    pub shared: Arc<Shared>,
    /// Row operations.
    pub rows: Arc<RowCounters>,
    /// Tables that have changed much.
    pub changed: Arc<ChangedTables>,
    /// Rows are not to be changed: the database was opened although it is damaged.
    pub forced: bool,
    /// Overflow chains that temporary tables have had: their names.
    pub unlogged_chains: AtomicU64,
}

impl Context {
    pub fn new(pager: Arc<Pager>, sys: Arc<TxnSystem>, forced: bool) -> Result<Arc<Context>> {
        let shared = Shared::open(&pager)?;
        Ok(Arc::new(Context {
            pager,
            shared,
            sys,
            tables: OnceLock::new(),
            rows: Arc::default(),
            changed: Arc::default(),
            forced,
            unlogged_chains: AtomicU64::new(0),
        }))
    }
}

/// The thread's group, 0 to 15.
#[inline]
pub(super) fn shard_no() -> usize {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static MINE: usize = NEXT.fetch_add(1, Ordering::Relaxed) as usize % 16;
    }
    MINE.with(|m| *m)
}

/// An open index: its tree and what the store knows of it.
pub(crate) struct Index {
    pub space: SpaceId,
    pub tree: Tree,
    pub unique: bool,
    /// The transaction that built it from existing rows, or emptied or rebuilt the table; 0 if it is as old as the table. A
    /// view that does not see this transaction cannot read through the index, which lacks the entries of older versions.
    pub created: AtomicU64,
    /// What it was used for.
    pub counts: IndexCounts,
}

impl Drop for Index {
    /// A temporary index ends with the last one who knows it, if nobody has dropped it before.
    fn drop(&mut self) {
        if self.space.is_temporary() {
            self.tree.drop_temporary();
        }
    }
}

/// State that all objects of one table share, through ALTERs and reopening: exactly one exists per
/// table id while any object of it does.
pub(crate) struct Core {
    /// Held shared by purge for each record it works on; DDL takes it exclusively to flip the dropped flag
    /// of a space, so that no purge works on a dropped one. Never held while waiting for another lock.
    pub maintenance: wait::RwLock<(), { Class::Maintenance as usize }>,
    pub auto: Mutex<AutoIncrement>,
    /// What happens to rows while an index is built from them.
    pub row_log: super::row_log::Slot,
    /// How much has changed.
    pub changes: Changes,
    /// What the layer above keeps at the table.
    pub noted: RwLock<Option<Noted>>,
    /// Why the table is refused, if it is ([`crate::catalog::Catalog::quarantine`]).
    pub quarantine: OnceLock<Arc<str>>,
    /// Next hidden row id; 0: not read from the tree yet.
    row_id: AtomicU64,
    /// When the cache of open tables was last asked for it, by the cache's clock.
    pub used: AtomicU64,
}

/// What the layer above keeps at an open table.
pub type Noted = Arc<dyn std::any::Any + Send + Sync>;

/// The AUTO_INCREMENT counter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AutoIncrement {
    /// Next value; `None`: not set up.
    pub next: Option<u64>,
    /// Where it starts at least: above values inserted while it is being set up.
    pub floor: u64,
    /// What the catalog row holds: 0, or a mark that no value given out reaches. After a clean close it is the next value.
    pub stored: u64,
}

impl Core {
    /// Has the mark of the AUTO_INCREMENT counter not written: the catalog's row is an unfinished transaction's, and so are all numbers given.
    pub fn hold_marks(&self) {
        self.auto.lock().stored = u64::MAX;
    }

    /// Has it written before the next number is given.
    pub fn forget_mark(&self) {
        self.auto.lock().stored = 0;
    }

    pub fn new(stored_auto: u64) -> Arc<Core> {
        Arc::new(Core {
            maintenance: wait::RwLock::new(()),
            auto: Mutex::new(AutoIncrement {
                next: (stored_auto != 0).then_some(stored_auto),
                floor: 1,
                stored: stored_auto,
            }),
            row_log: Default::default(),
            changes: Changes::new(),
            noted: RwLock::new(None),
            quarantine: OnceLock::new(),
            row_id: AtomicU64::new(0),
            used: AtomicU64::new(0),
        })
    }

    /// The next hidden row id of the table whose clustered tree is given.
    pub fn next_row_id(&self, tree: &Tree) -> Result<u64> {
        if self.row_id.load(Ordering::Relaxed) == 0 {
            let last = last_row_id(tree)?;
            // Racing first inserts read the same or a larger value; the greatest start wins.
            self.row_id.fetch_max(last + 1, Ordering::Relaxed);
        }
        Ok(self.row_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Hidden row ids up to this one have been used by who knows no other rows of the table.
    pub fn row_ids_used(&self, last: u64) {
        if self.row_id.load(Ordering::Relaxed) != 0 {
            self.row_id.fetch_max(last + 1, Ordering::Relaxed);
        }
    }
}

fn last_row_id(tree: &Tree) -> Result<u64> {
    use crate::btree::Dir;
    use std::ops::{Bound, ControlFlow};
    let mut last = Ok(0);
    let mut resume = Vec::new();
    tree.scan_leaf(
        Bound::Unbounded,
        Dir::Backward,
        &mut resume,
        &mut |key, _| {
            last = key
                .try_into()
                .map(u64::from_be_bytes)
                .map_err(|_| Error::Corrupt("a hidden row id is not 8 bytes long".into()));
            ControlFlow::Break(())
        },
    )?;
    last
}
