//! How much a table has changed since it was opened, and which tables have changed so much that the layer above wants to know.
//!
//! Statements count each row they change. A table counts in one word until it has had [`SMALL`] changes; then it gets lines of
//! its own, one per group of threads, so that those who write to the same table do not pass a cache line around. Counting
//! goes on over ALTER, for it is part of the table's core, and begins anew when the table is opened again. What a rollback
//! undoes stays counted: it was work on the table, and whoever counts rows by it looks at the table again soon.

use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Changes that a table counts in one word.
const SMALL: u64 = 64;
/// Lines of a table that has had more.
const LINES: usize = 8;
/// Changes counted in one line between two looks at all of them.
const LOOK: u64 = 16;
/// Tables that wait for the layer above; more are told again with their next changes.
const MOST_WAITING: usize = 1 << 16;
/// Changes after which a table is told of that nobody has asked about yet.
const FIRST: u64 = 100;

#[derive(Default)]
#[repr(align(64))]
struct Line {
    /// Rows inserted, updated or deleted.
    rows: AtomicU64,
    /// Rows inserted less rows deleted.
    net: AtomicI64,
}

/// A table's changes.
pub(crate) struct Changes {
    small: AtomicU64,
    small_net: AtomicI64,
    lines: OnceLock<Box<[Line; LINES]>>,
    /// At how many changes the layer above is told; `u64::MAX`: it has been, or never is.
    due: AtomicU64,
}

/// Changes of a table since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCount {
    /// Rows inserted, updated or deleted.
    pub rows: u64,
    /// Rows inserted less rows deleted.
    pub net: i64,
}

impl Changes {
    pub fn new() -> Changes {
        Changes {
            small: AtomicU64::new(0),
            small_net: AtomicI64::new(0),
            lines: OnceLock::new(),
            due: AtomicU64::new(FIRST),
        }
    }

    /// Counts one row, by which the table has grown `net` rows. Whether the layer above is to be told, which is said once.
    #[inline]
    pub fn add(&self, net: i64) -> bool {
        let (rows, nets, step) = self.counters();
        let before = rows.fetch_add(1, Ordering::Relaxed);
        if net != 0 {
            nets.fetch_add(net, Ordering::Relaxed);
        }
        (before + 1).is_multiple_of(step) && self.look(before + 1)
    }

    /// Counts so many rows that were inserted; the same answer.
    pub fn add_inserted(&self, count: u64) -> bool {
        let (rows, nets, _) = self.counters();
        nets.fetch_add(count as i64, Ordering::Relaxed);
        self.look(rows.fetch_add(count, Ordering::Relaxed) + count)
    }

    /// Where this thread counts, and after how many changes it looks at all.
    #[inline]
    fn counters(&self) -> (&AtomicU64, &AtomicI64, u64) {
        match self.lines.get() {
            Some(lines) => {
                let line = &lines[super::context::shard_no() % LINES];
                (&line.rows, &line.net, LOOK)
            }
            None => (&self.small, &self.small_net, 1),
        }
    }

    fn look(&self, here: u64) -> bool {
        if here >= SMALL {
            self.lines.get_or_init(Box::default);
        }
        let due = self.due.load(Ordering::Relaxed);
        due != u64::MAX
            && self.count().rows >= due
            && self.due.swap(u64::MAX, Ordering::Relaxed) != u64::MAX
    }

    pub fn count(&self) -> ChangeCount {
        let lines = self.lines.get().map_or(&[][..], |l| &l[..]);
        let load = |l: &Line| {
            (
                l.rows.load(Ordering::Relaxed),
                l.net.load(Ordering::Relaxed),
            )
        };
        lines.iter().map(load).fold(
            ChangeCount {
                rows: self.small.load(Ordering::Relaxed),
                net: self.small_net.load(Ordering::Relaxed),
            },
            |sum, (rows, net)| ChangeCount {
                rows: sum.rows + rows,
                net: sum.net + net,
            },
        )
    }

    /// The layer above is to be told when there have been so many changes in all.
    pub fn tell_at(&self, rows: u64) {
        self.due.store(rows, Ordering::Relaxed);
    }
}

/// Tables, by id, that the layer above is to look at: those that have changed much, and those it asked for itself. Its mutex is a
/// leaf and is taken once per tenth of a table, not per row.
#[derive(Default)]
pub struct ChangedTables {
    waiting: Mutex<VecDeque<u64>>,
    arrived: Condvar,
    closed: AtomicBool,
}

impl ChangedTables {
    /// Adds a table. `false`: there are too many already.
    pub fn push(&self, table: u64) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= MOST_WAITING {
            return false;
        }
        waiting.push_back(table);
        self.arrived.notify_one();
        true
    }

    /// Takes the table that has waited longest, waiting for one as long as given; `None`: there is none, or
    /// the list is closed.
    pub fn take(&self, wait: Duration) -> Option<u64> {
        let mut waiting = self.waiting.lock();
        if waiting.is_empty() && !self.is_closed() {
            self.arrived.wait_for(&mut waiting, wait);
        }
        match self.is_closed() {
            true => None,
            false => waiting.pop_front(),
        }
    }

    /// Waits for so long, or until the list is closed.
    pub fn rest(&self, time: Duration) {
        let end = Instant::now() + time;
        let mut waiting = self.waiting.lock();
        while !self.is_closed() && !self.arrived.wait_until(&mut waiting, end).timed_out() {}
    }

    /// Wakes who waits, for good.
    pub fn close(&self) {
        let _waiting = self.waiting.lock();
        self.closed.store(true, Ordering::Release);
        self.arrived.notify_all();
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_all_threads_are_counted_and_told_once() {
        let changes = Changes::new();
        let told = AtomicU64::new(0);
        std::thread::scope(|s| {
            for t in 0..4 {
                let (changes, told) = (&changes, &told);
                s.spawn(move || {
                    for i in 0..1000 {
                        let net = if t == 0 { -1 } else { i64::from(i % 2 == 0) };
                        told.fetch_add(u64::from(changes.add(net)), Ordering::Relaxed);
                    }
                });
            }
        });
        let count = changes.count();
        assert_eq!((count.rows, count.net), (4000, 500));
        assert_eq!(told.load(Ordering::Relaxed), 1);
        changes.tell_at(4100);
        let told = (0..200).filter(|_| changes.add(0)).count();
        assert_eq!(told, 1);
    }

    #[test]
    fn tables_wait_in_order_until_the_list_is_closed() {
        let list = ChangedTables::default();
        assert!(list.push(7) && list.push(8));
        assert_eq!(list.take(Duration::ZERO), Some(7));
        assert_eq!(list.take(Duration::ZERO), Some(8));
        assert_eq!(list.take(Duration::ZERO), None);
        list.push(9);
        list.close();
        assert_eq!(list.take(Duration::MAX), None);
    }
}
