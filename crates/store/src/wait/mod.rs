//! Where threads wait for each other: how often and how long, by class of latch, lock or condition.
//!
//! **Owns** one cell per [`Class`], for the whole process: a latch deep in a page needs no way to the engine it
//! belongs to, and a process with several databases open sees their sum, as one server's performance_schema would.
//!
//! **Promises.** An acquisition that finds the latch free is not counted and reads no clock: [`Mutex::lock`] and its kin try
//! first, and only when that fails do they read the clock, wait, read it again and add to their cell. Numbers are
//! never lost; a reader may see a wait's count a moment before its time.
//!
//! **Locks**: none of its own. **Fails**: never.
//!
//! Waits that may be long (for a lock, a page, the log) are told to the thread's [`Waiter`] besides, if it has one ([`long`]): who shares few
//! threads among many has another run meanwhile.
//!
//! [`Mutex`] and [`RwLock`] are `parking_lot`'s with a class in their type; guards are `parking_lot`'s own, so conditions
//! work with them as usual.

mod class;
mod long;

pub use class::Class;
pub use long::{Waiter, long, tell_waits_to};

use parking_lot::lock_api::RawRwLock as _;
use parking_lot::{MutexGuard, RawRwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One class's counters. A line each, so that a busy class does not slow down another.
#[repr(align(64))]
struct Cell {
    count: AtomicU64,
    total_ns: AtomicU64,
    max_ns: AtomicU64,
    /// The longest a wait could be less the shortest: so that 0 means that there was none.
    below_ns: AtomicU64,
}

/// One for each class; in tests, one more that nothing else touches.
const CELL_COUNT: usize = Class::COUNT + cfg!(test) as usize;

impl Cell {
    fn read(&self) -> [u64; 4] {
        let all = [&self.count, &self.total_ns, &self.max_ns, &self.below_ns];
        all.map(|n| n.load(Ordering::Relaxed))
    }
}

static CELLS: [Cell; CELL_COUNT] = [const {
    Cell {
        count: AtomicU64::new(0),
        total_ns: AtomicU64::new(0),
        max_ns: AtomicU64::new(0),
        below_ns: AtomicU64::new(0),
    }
}; CELL_COUNT];

/// How often and how long a class was waited for since the process began or [`reset`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitStats {
    /// What was waited for.
    pub class: Class,
    /// Waits that ended.
    pub count: u64,
    /// Nanoseconds waited in all.
    pub total_ns: u64,
    /// The longest wait, nanoseconds.
    pub max_ns: u64,
    /// The shortest wait, nanoseconds; 0: there was none.
    pub min_ns: u64,
}

/// Every class's counters, in the order of [`Class::ALL`].
pub fn snapshot() -> Vec<WaitStats> {
    let of = |class: &Class| {
        let [count, total_ns, max_ns, below_ns] = CELLS[*class as usize].read();
        WaitStats {
            class: *class,
            count,
            total_ns,
            max_ns,
            min_ns: match below_ns {
                0 => 0,
                below => u64::MAX - below,
            },
        }
    };
    Class::ALL.iter().map(of).collect()
}

/// Sets all counters to zero.
pub fn reset() {
    for cell in &CELLS {
        cell.count.store(0, Ordering::Relaxed);
        cell.total_ns.store(0, Ordering::Relaxed);
        cell.max_ns.store(0, Ordering::Relaxed);
        cell.below_ns.store(0, Ordering::Relaxed);
    }
}

/// Adds one wait.
pub fn note(class: Class, waited: Duration) {
    add(class as usize, waited);
}

fn add(class: usize, waited: Duration) {
    let ns = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
    let cell = &CELLS[class];
    cell.count.fetch_add(1, Ordering::Relaxed);
    cell.total_ns.fetch_add(ns, Ordering::Relaxed);
    cell.max_ns.fetch_max(ns, Ordering::Relaxed);
    cell.below_ns.fetch_max(u64::MAX - ns, Ordering::Relaxed);
}

/// Runs what waits, and counts it.
#[cold]
#[inline(never)]
fn waiting<R>(class: usize, wait: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let r = wait();
    add(class, start.elapsed());
    r
}

/// Counts `wait`, which is known to wait (for a condition, a lock).
pub fn during<R>(class: Class, wait: impl FnOnce() -> R) -> R {
    waiting(class as usize, wait)
}

/// The same of a wait that may be long.
pub fn during_long<R>(class: Class, wait: impl FnOnce() -> R) -> R {
    long(|| during(class, wait))
}

/// Takes a raw latch shared.
#[inline]
pub(crate) fn lock_shared(latch: &RawRwLock, class: Class) {
    if !latch.try_lock_shared() {
        during(class, || latch.lock_shared());
    }
}

/// Takes a raw latch exclusively.
#[inline]
pub(crate) fn lock_exclusive(latch: &RawRwLock, class: Class) {
    if !latch.try_lock_exclusive() {
        during(class, || latch.lock_exclusive());
    }
}

/// A mutex whose waits are counted; `CLASS` is a [`Class`] as a number.
#[derive(Debug, Default)]
pub struct Mutex<T, const CLASS: usize>(parking_lot::Mutex<T>);

impl<T, const CLASS: usize> Mutex<T, CLASS> {
    /// A free mutex.
    pub const fn new(value: T) -> Self {
        Mutex(parking_lot::Mutex::new(value))
    }

    /// Takes it, waiting as long as need be.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        match self.0.try_lock() {
            Some(guard) => guard,
            None => waiting(CLASS, || self.0.lock()),
        }
    }

    /// Takes it if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock()
    }
}

/// A reader-writer lock whose waits are counted; `CLASS` is a [`Class`] as a number.
#[derive(Debug, Default)]
pub struct RwLock<T, const CLASS: usize>(parking_lot::RwLock<T>);

impl<T, const CLASS: usize> RwLock<T, CLASS> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        RwLock(parking_lot::RwLock::new(value))
    }

    /// Takes it shared, waiting as long as need be.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        match self.0.try_read() {
            Some(guard) => guard,
            None => waiting(CLASS, || self.0.read()),
        }
    }

    /// Takes it exclusively, waiting as long as need be.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        match self.0.try_write() {
            Some(guard) => guard,
            None => waiting(CLASS, || self.0.write()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cell that nothing else touches.
    const TEST: usize = Class::COUNT;

    /// Has two threads fight for a lock until one has waited.
    fn fight(class: usize, take: impl Fn() + Sync) {
        let cell = &CELLS[class];
        let before = cell.read()[0];
        let round = || {
            while cell.read()[0] == before {
                take();
            }
        };
        std::thread::scope(|s| {
            s.spawn(round);
            round();
        });
        let [_, total, max, below] = cell.read();
        assert!(u64::MAX - below <= max);
        assert!(total > 0 && max > 0);
    }

    // One test, because the cells are the process's.
    #[test]
    fn counts_waits_and_nothing_else() {
        let m = Mutex::<u8, TEST>::new(1);
        let l = RwLock::<u8, TEST>::new(1);
        for _ in 0..100 {
            *m.lock() ^= 1;
            *l.write() ^= 1;
            drop((l.read(), l.read()));
        }
        assert!(m.try_lock().is_some());
        assert_eq!(CELLS[TEST].read(), [0; 4], "no wait, no count");

        fight(TEST, || {
            let _held = m.lock();
            std::thread::yield_now();
        });
        fight(TEST, || {
            let _held = l.write();
            std::thread::yield_now();
        });
        add(TEST, Duration::from_secs(9));
        assert_eq!(CELLS[TEST].read()[2], 9_000_000_000);
    }

    #[test]
    fn raw_latches_count_too() {
        let raw = RawRwLock::INIT;
        let page = Class::PageExclusive;
        fight(page as usize, || {
            lock_exclusive(&raw, page);
            std::thread::yield_now();
            // SAFETY: taken above.
            unsafe { raw.unlock_exclusive() };
        });
    }
}
