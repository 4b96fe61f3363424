//! Persistent counters: numbers that are never given out twice, not even after a crash.
//!
//! A counter's high-water mark lives in the shared file's header. Numbers below it may be given out; before the first
//! number at or above it is, the mark is raised by [`STEP`] in a mini-transaction of its own that is made durable. Opening
//! starts at the mark, so a restart skips at most a step.

use super::Pager;
use super::core::Core;
use crate::error::Result;
use crate::space::alloc::Change;
use crate::space::layout::{COUNTERS, HISTORY};
use crate::space::{FileId, SpaceId};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers reserved at a time.
const STEP: u64 = 1 << 16;
/// The cleaner reserves more when fewer than this are left.
const AHEAD: u64 = STEP / 2;

/// Counters the page layer keeps for itself.
const SPACES: usize = 0;
const FILES: usize = 1;
const OWN: usize = 2;

#[derive(Default)]
struct Cell {
    next: AtomicU64,
    limit: AtomicU64,
}

/// All counters' states in memory.
#[derive(Default)]
pub(crate) struct Counters {
    cells: [Cell; COUNTERS],
    raising: Mutex<()>,
}

/// A persistent counter; see [`Pager::counter`].
#[derive(Clone, Copy)]
pub struct Counter<'a> {
    core: &'a Core,
    n: usize,
}

/// A name for a history that no other has.
pub(crate) fn new_history() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // Keyed by the system's random numbers.
    let random = RandomState::new().hash_one(std::time::SystemTime::now());
    // Far from where a counter would overflow.
    (random >> 16).max(1)
}

fn first_value(n: usize) -> u64 {
    match n {
        SPACES => SpaceId::FIRST_USER,
        FILES => FileId::UNDO.0 + 1,
        _ => 1,
    }
}

impl Counter<'_> {
    /// Takes `k` consecutive numbers; the first of them. Starts at 1. May write and sync the log: hold no latch.
    #[inline]
    pub fn fetch_add(&self, k: u64) -> Result<u64> {
        let cell = &self.core.counters.cells[self.n];
        let mut next = cell.next.load(Ordering::Relaxed);
        loop {
            if next + k > cell.limit.load(Ordering::Acquire) {
                self.core.raise_counter(self.n, k, 0)?;
            }
            match cell.next.compare_exchange_weak(
                next,
                next + k,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) if next + k <= cell.limit.load(Ordering::Acquire) => return Ok(next),
                // Others used up what was raised: these numbers are lost, take others.
                Ok(_) => next = cell.next.load(Ordering::Relaxed),
                Err(now) => next = now,
            }
        }
    }

    /// The number that comes next.
    pub fn peek(&self) -> u64 {
        self.core.counters.cells[self.n]
            .next
            .load(Ordering::Relaxed)
    }
}

impl Core {
    /// Starts all counters from the marks in the shared file's header.
    pub(super) fn load_counters(&self) -> Result<()> {
        let shared = self.files.get(FileId::SHARED, true)?;
        let alloc = shared.alloc().lock();
        for (n, cell) in self.counters.cells.iter().enumerate() {
            let mark = alloc.counter(n).max(first_value(n));
            cell.next.store(mark, Ordering::Relaxed);
            cell.limit.store(mark, Ordering::Release);
        }
        Ok(())
    }

    /// Raises the mark until `k` numbers and `ahead` more may be given out.
    #[cold]
    fn raise_counter(&self, n: usize, k: u64, ahead: u64) -> Result<()> {
        let cell = &self.counters.cells[n];
        let _raising = self.counters.raising.lock();
        let need = cell.next.load(Ordering::Relaxed) + k + ahead;
        if need <= cell.limit.load(Ordering::Acquire) {
            return Ok(());
        }
        let limit = need + STEP;
        // A small group, taken from the log's margin: the cleaner itself comes here and must not wait for log space.
        let mut mtr = self.mtr_unchecked();
        let shared = self.files.get(FileId::SHARED, true)?;
        mtr.change(shared, Change::Counter(n, limit));
        let lsn = mtr.commit();
        self.log.sync_to(lsn)?;
        cell.limit.store(limit, Ordering::Release);
        Ok(())
    }

    /// Raises the marks of counters in use before anybody has to wait for it.
    pub(super) fn raise_counters_ahead(&self) -> Result<()> {
        for (n, cell) in self.counters.cells[..HISTORY].iter().enumerate() {
            let next = cell.next.load(Ordering::Relaxed);
            if next > first_value(n) && next + AHEAD > cell.limit.load(Ordering::Acquire) {
                self.raise_counter(n, 0, AHEAD)?;
            }
        }
        Ok(())
    }
}

impl Pager {
    /// Persistent counter `n` (0 to [`Pager::COUNTERS`] - 1) for the layers above.
    pub fn counter(&self, n: usize) -> Counter<'_> {
        assert!(n < Pager::COUNTERS, "no counter {n}");
        Counter {
            core: self.core(),
            n: n + OWN,
        }
    }

    /// Counters for the layers above.
    pub const COUNTERS: usize = HISTORY - OWN;

    /// The number that names the database's history, given to it, durably, when it is first asked for. One that is made of a backup has
    /// another: an LSN of the one says nothing about the other.
    pub(crate) fn history(&self) -> Result<u64> {
        let core = self.core();
        let _raising = core.counters.raising.lock();
        let shared = core.files.get(FileId::SHARED, true)?;
        let known = shared.alloc().lock().counter(HISTORY);
        if known != 0 {
            return Ok(known);
        }
        let new = new_history();
        let mut mtr = core.mtr_unchecked();
        mtr.change(shared, Change::Counter(HISTORY, new));
        let lsn = mtr.commit();
        core.log.sync_to(lsn)?;
        Ok(new)
    }

    /// A space id never used before. May write and sync the log: hold no latch.
    pub fn new_space_id(&self) -> Result<SpaceId> {
        let (core, n) = (self.core(), SPACES);
        Ok(SpaceId(Counter { core, n }.fetch_add(1)?))
    }

    /// So many space ids never used before, one behind the other; the first. The same.
    pub fn new_space_ids(&self, count: u64) -> Result<SpaceId> {
        let (core, n) = (self.core(), SPACES);
        Ok(SpaceId(Counter { core, n }.fetch_add(count)?))
    }

    /// A file id never used before. May write and sync the log: hold no latch.
    pub fn new_file_id(&self) -> Result<FileId> {
        let (core, n) = (self.core(), FILES);
        Ok(FileId(Counter { core, n }.fetch_add(1)?))
    }
}
