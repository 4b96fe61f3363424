//! What happens to a dead space's cached pages: the published answers of fifteen years, one file each.
//!
//! A table that is dropped, truncated or rebuilt, a partition, an index or a temporary table that goes leaves pages in the
//! pool. MySQL went looking for them, in ways that changed as each proved too slow; Millpond does not.
//! `SET GLOBAL millpond_drop_algorithm` chooses one of the ways at run time, so that they can be compared on one engine:
//!
//! | name | of | pages | hash index entries |
//! |---|---|---|---|
//! | [`full_scan`] | MySQL 5.1 to 5.5.22 | evicted in a scan of the LRU list under the pool mutex | removed in a scan before that one |
//! | [`lazy_mark`] | Percona Server 5.1.56, 5.5.10 | flagged in a scan of the LRU list | removed in a scan of all frames |
//! | [`cleaner`] | MySQL 5.6.2 | evicted in one scan in batches by the page cleaner, DROP waits | removed in the same scan |
//! | [`flush_list`] | MySQL 5.5.23 and later | the dirty ones, in a scan of the flush list | removed page by page of the table |
//! | [`stale`] | MySQL 8.0.23 | nothing | removed in scans of the LRU list |
//! | [`millpond`] | here, the default | nothing | nothing |
//!
//! **What all promise.** First the space's flag is flipped (`Pager::drop_spaces`): from that instant none of its pages is
//! served, and none is written but those on their way to the disk. The algorithm only decides what is done beyond that, so
//! choosing another at any moment, in the middle of a DROP too, changes times and nothing else. When it returns its
//! frames are free, or will be taken once they are met. None sleeps or waits for anything but real latches and real work.
//!
//! **The pool mutex.** Until 8.0 one mutex per buffer pool instance guarded the page hash (until some version of 5.6), the LRU
//! list, the free list and more. Our pool has `lists` per instance and a page table in 256 parts, which a scan of the LRU
//! list would hardly disturb. So while an algorithm is chosen whose version had the pool mutex (`has_pool_mutex`), every
//! look for a page in the page table, or by a guess in its stead, takes `Instance::pool_mutex`, as it did there; and where
//! the original held the pool mutex, the model holds that and `lists`. A page's pool mutex is that of the instance its
//! identity hashes to, as in InnoDB (where also its frame is; here that is so if there was room). Hash index hits,
//! and returns to a page one has just left, take it neither there nor here. With `millpond`, `stale` or `lazy_mark` chosen it
//! is never touched: a lookup reads one flag.
//!
//! **DROPs after one another.** Until 8.0 DROP held the data dictionary's mutex during all this. The models of that time hold
//! `Discards::one_at_a_time`. (That mutex kept others from opening tables, too, which the models leave out.)
//!
//! **One table at a time.** `Dead` is the spaces of one table or partition, looked for in one go: here every index is a space
//! of its own, there a table was one. So an algorithm is run for an empty table as well, which has no page here but had
//! four there; and for DROP INDEX, where MySQL freed pages one by one. A temporary table's indexes go one by one.
//!
//! **Times.** What a thread's drops did about pages, and when, is kept for it to take ([`PageWork`]): two looks at the clock a drop.
//!
//! **Locks**: each file says. Order: `one_at_a_time`, then an instance's `pool_mutex`, its `lists`, then its flush list or a
//! page-table part; page latches only with none of these but the first. The caller holds no latch.
//! **Fails**: never; the work is all in memory.

mod cleaner;
mod flush_list;
mod full_scan;
mod lazy_mark;
mod millpond;
mod scan;
mod stale;
mod work;

pub use work::PageWork;

use super::core::Core;
use super::frame::Frame;
use crate::space::{Space, SpaceId};
use crate::wait::{self, Class};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

/// What happens to the cached pages of a table that is dropped, truncated or rebuilt; see the
/// `millpond_drop_algorithm` variable. Only times differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DropAlgorithm {
    /// MySQL 5.1 to 5.5.22: two scans of the LRU list under the pool mutex.
    FullScan,
    /// Percona Server 5.1.56 and 5.5.10, `innodb_lazy_drop_table`: pages are flagged under the LRU list's mutex.
    LazyMark,
    /// MySQL 5.6.2: the page cleaner scans the LRU list in batches.
    Cleaner,
    /// MySQL 5.5.23 and later, until 8.0.23: only the flush list is scanned.
    FlushList,
    /// MySQL 8.0.23: only hash index entries are looked for.
    Stale,
    /// Nothing is looked for.
    #[default]
    Millpond,
}

impl DropAlgorithm {
    /// All of them, oldest first.
    pub const ALL: [DropAlgorithm; 6] = [
        DropAlgorithm::FullScan,
        DropAlgorithm::LazyMark,
        DropAlgorithm::Cleaner,
        DropAlgorithm::FlushList,
        DropAlgorithm::Stale,
        DropAlgorithm::Millpond,
    ];
    /// Their names, in the same order.
    pub const NAMES: [&'static str; 6] = [
        "full_scan",
        "lazy_mark",
        "cleaner",
        "flush_list",
        "stale",
        "millpond",
    ];

    /// Name, as in the variable.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The algorithm of that name, in any case.
    pub fn by_name(name: &str) -> Option<DropAlgorithm> {
        let of = |a: &DropAlgorithm| a.name().eq_ignore_ascii_case(name);
        Self::ALL.into_iter().find(of)
    }

    fn implementation(self) -> &'static dyn Discard {
        match self {
            DropAlgorithm::FullScan => &full_scan::FullScan,
            DropAlgorithm::LazyMark => &lazy_mark::LazyMark,
            DropAlgorithm::Cleaner => &cleaner::Cleaner,
            DropAlgorithm::FlushList => &flush_list::FlushList,
            DropAlgorithm::Stale => &stale::Stale,
            DropAlgorithm::Millpond => &millpond::Millpond,
        }
    }
}

/// The spaces of one table or partition that has just died; their flags are flipped.
pub(crate) struct Dead {
    spaces: SmallVec<[Arc<Space>; 4]>,
    ids: SmallVec<[u64; 8]>,
}

impl Dead {
    pub fn new(spaces: &[Arc<Space>]) -> Dead {
        debug_assert!(spaces.iter().all(|s| s.is_dropped()));
        let mut ids: SmallVec<[u64; 8]> = spaces.iter().map(|s| s.id.0).collect();
        if ids.is_empty() {
            // Of an empty table. In the versions modelled it had a space, so it was looked for; nothing has this id.
            ids.push(SpaceId::NONE.0);
        }
        let spaces = spaces.iter().cloned().collect();
        Dead { spaces, ids }
    }

    /// As the page cleaner gets to know them.
    fn by_ids(ids: &[u64]) -> Dead {
        Dead {
            spaces: SmallVec::new(),
            ids: ids.into(),
        }
    }

    /// Whether what the frame holds, or held, is a page of theirs.
    #[inline]
    fn owns(&self, f: &Frame) -> bool {
        self.ids.contains(&f.space_id.load(Ordering::Relaxed))
    }
}

/// An algorithm.
trait Discard: Sync {
    /// Does what is to be done once the spaces' flags are flipped.
    fn discard(&self, core: &Core, dead: &Dead);

    /// Does it, and tells when it did.
    fn timed(&self, core: &Core, dead: &Dead) -> PageWork {
        let began = Instant::now();
        self.discard(core, dead);
        PageWork::since(began)
    }

    /// Whether looks for pages take the pool mutex: the version had one over its page hash.
    fn has_pool_mutex(&self) -> bool {
        false
    }

    /// Whether DROPs wait for each other.
    fn one_at_a_time(&self) -> bool {
        true
    }

    /// Whether whoever needs a frame looks for stale ones before it takes those least recently used.
    fn stale_first(&self) -> bool {
        false
    }
}

/// In [`Discards::flags`].
const POOL_MUTEX: u8 = 1;
const STALE_FIRST: u8 = 2;

/// Which algorithm is chosen, and what its instances share. Part of [`Core`].
pub(crate) struct Discards {
    chosen: AtomicU8,
    /// What of the chosen one others must know quickly.
    flags: AtomicU8,
    one_at_a_time: wait::Mutex<(), { Class::Discard as usize }>,
    for_cleaner: cleaner::Request,
}

impl Default for Discards {
    fn default() -> Discards {
        let new = Discards {
            chosen: AtomicU8::new(0),
            flags: AtomicU8::new(0),
            one_at_a_time: wait::Mutex::new(()),
            for_cleaner: cleaner::Request::default(),
        };
        new.choose(DropAlgorithm::default());
        new
    }
}

impl Discards {
    /// Chooses the algorithm for drops from now on.
    pub fn choose(&self, algorithm: DropAlgorithm) {
        let a = algorithm.implementation();
        let mut flags = 0;
        if a.has_pool_mutex() {
            flags |= POOL_MUTEX;
        }
        if a.stale_first() {
            flags |= STALE_FIRST;
        }
        self.chosen.store(algorithm as u8, Ordering::Relaxed);
        self.flags.store(flags, Ordering::Relaxed);
    }

    /// The algorithm chosen.
    pub fn chosen(&self) -> DropAlgorithm {
        DropAlgorithm::ALL[usize::from(self.chosen.load(Ordering::Relaxed))]
    }

    /// Whether looks for pages take the pool mutex.
    #[inline]
    pub fn has_pool_mutex(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & POOL_MUTEX != 0
    }

    /// Whether whoever needs a frame looks for stale ones first.
    #[inline]
    pub fn stale_first(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & STALE_FIRST != 0
    }
}

impl Core {
    /// Runs the chosen algorithm.
    pub fn discard(&self, dead: &Dead) {
        let algorithm = self.discards.chosen().implementation();
        let _alone = algorithm
            .one_at_a_time()
            .then(|| self.discards.one_at_a_time.lock());
        algorithm.timed(self, dead).note();
    }

    /// What DROPs ask of the page cleaner; called by it, with nothing held.
    pub fn serve_discards(&self) {
        self.discards.for_cleaner.serve(self);
    }

    /// The page cleaner ends: no DROP waits for it any more.
    pub fn end_discards(&self) {
        self.discards.for_cleaner.close();
    }
}
