//! Log space for mini-transactions under way, so that the log never runs over its checkpoint.
//!
//! While the log has plenty of room nobody reserves any. When less than a quarter is left it is *tight*: each
//! mini-transaction reserves what a large one might need before it takes its first latch, and waits, holding nothing, until
//! the cleaner has moved the checkpoint if there is not that much. What mini-transactions that began before may yet append is
//! counted ([`super::stats`]), for they may wait for latches until long after, and is left to them.
//!
//! **When nothing helps.** If the checkpoint stands because pages cannot be written ([`super::trouble`]), whoever has waited
//! for [`PATIENCE`] gets that as an error. Those who must not fail ([`patiently`]) have a part of the log to themselves, and wait on
//! if that is full too: ends of transactions, which would otherwise be left undecided.
//!
//! Locks: `reserved` is a leaf.

use super::core::Core;
use crate::error::{Error, Result};
use crate::page::{Lsn, PAGE_SIZE};
use crate::space::alloc::Need;
use crate::wait::{self, Class};
use parking_lot::{Condvar, Mutex};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};

/// Pages a mini-transaction may rewrite besides those it allocates.
const PAGES_BESIDES: u64 = 8;
/// Room left for groups that neither reserve nor are counted: counters, some bytes each.
const UNCOUNTED: u64 = 64 << 10;
/// A waiter looks again after this.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Room that only those have who must not fail: a share of the log, and the most that is.
const ENDINGS_SHARE: u64 = 8;
const ENDINGS: u64 = 4 << 20;
/// How long a full log is waited for if there is a reason to believe that it stays full.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 10 });

thread_local! {
    static PATIENT: Cell<bool> = const { Cell::new(false) };
}

/// Whether pages that are asked for now are for somebody who must not fail.
pub(super) fn need() -> Need {
    match PATIENT.get() {
        true => Need::Ending,
        false => Need::Growth,
    }
}

/// Runs `f`, in which the wait for room in the log goes on until there is some, and which may have what files keep back.
pub(crate) fn patiently<R>(f: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            PATIENT.set(self.0);
        }
    }
    let _before = Before(PATIENT.replace(true));
    f()
}

/// See the module.
#[derive(Default)]
pub(crate) struct LogRoom {
    tight: AtomicBool,
    waiters: AtomicU32,
    reserved: Mutex<u64>,
    changed: Condvar,
}

impl LogRoom {
    /// Whether mini-transactions must reserve.
    #[inline]
    pub fn is_tight(&self) -> bool {
        self.tight.load(Ordering::Relaxed)
    }

    /// Whether some wait.
    pub fn is_waited_for(&self) -> bool {
        self.waiters.load(Ordering::Acquire) > 0
    }

    /// Wakes those who wait.
    pub fn wake(&self) {
        if self.is_waited_for() {
            drop(self.reserved.lock());
            self.changed.notify_all();
        }
    }

    /// Gives back what [`Core::reserve_log`] took.
    #[cold]
    pub fn release(&self, bytes: u64) {
        *self.reserved.lock() -= bytes;
        if self.is_waited_for() {
            self.changed.notify_all();
        }
    }
}

/// A mini-transaction's claim to log space; given back by [`Core::leave_log`].
#[derive(Clone, Copy)]
pub(super) enum Share {
    Nothing,
    Reserved(u64),
    /// Bytes counted, and in which stripe.
    Counted(u64, usize),
}

/// Log space for a group that is not a mini-transaction's; given back when this is dropped.
pub(super) struct HeldRoom<'c> {
    room: &'c LogRoom,
    bytes: u64,
}

impl Drop for HeldRoom<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.room.release(self.bytes);
        }
    }
}

impl Core {
    /// Room for one group of some KiB that no mini-transaction appends. Take it as one begins a mini-transaction, with no
    /// latch held.
    pub(super) fn room_for_group(&self) -> Result<HeldRoom<'_>> {
        self.log.relieve()?;
        let bytes = match self.log_room.is_tight() {
            true => self.reserve_log(0)?,
            false => 0,
        };
        let room = &self.log_room;
        Ok(HeldRoom { room, bytes })
    }

    /// What a mini-transaction that allocates this many pages may append.
    #[inline]
    fn largest(&self, new_pages: usize) -> u64 {
        let bytes = (new_pages as u64 + PAGES_BESIDES) * PAGE_SIZE as u64;
        bytes.min(self.log.capacity() / 4)
    }

    /// Counts a mini-transaction that is about to begin without a reservation; `None`: it must have one. Call it when nothing
    /// else is left to wait for.
    #[inline]
    pub(super) fn enter_log(&self, new_pages: usize) -> Option<Share> {
        let bytes = self.largest(new_pages);
        let stripe = self.counts.add_unreserved(bytes);
        let share = Share::Counted(bytes, stripe);
        // Either this sees that the log is tight, or whoever reserves because it is sees what was counted.
        if self.log_room.tight.load(Ordering::SeqCst) {
            self.leave_log(share);
            return None;
        }
        Some(share)
    }

    /// A mini-transaction has ended.
    #[inline]
    pub(super) fn leave_log(&self, share: Share) {
        match share {
            Share::Nothing => {}
            Share::Reserved(bytes) => self.log_room.release(bytes),
            Share::Counted(bytes, stripe) => {
                self.counts.sub_unreserved(stripe, bytes);
                if self.log_room.is_tight() {
                    self.log_room.wake();
                }
            }
        }
    }

    /// Called after each append: watches the log's fill.
    #[inline]
    pub fn after_append(&self, end: Lsn) {
        let used = end.saturating_sub(self.log.checkpoint_lsn());
        if used > self.log.capacity() / 4 {
            self.after_append_filled(used);
        }
    }

    #[cold]
    fn after_append_filled(&self, used: u64) {
        if used > self.log.capacity() / 4 * 3 {
            self.log_room.tight.store(true, Ordering::SeqCst);
            self.cleaner.wake();
        } else {
            self.cleaner.nudge();
        }
    }

    /// Reserves log space while the log is tight; the bytes to give back.
    #[cold]
    pub fn reserve_log(&self, new_pages: usize) -> Result<u64> {
        // Whoever read the flag without order sees what those counted who came before it was set.
        fence(Ordering::SeqCst);
        let need = self.largest(new_pages);
        let endings = match PATIENT.get() {
            true => 0,
            false => ENDINGS.min(self.log.capacity() / ENDINGS_SHARE),
        };
        let begun = Instant::now();
        let mut reserved = self.log_room.reserved.lock();
        self.log_room.waiters.fetch_add(1, Ordering::AcqRel);
        let result = loop {
            let spoken_for = *reserved + self.counts.unreserved() + UNCOUNTED + endings;
            if self.log.room() >= spoken_for + need {
                *reserved += need;
                break Ok(need);
            }
            if let Some(why) = self.log.stopped() {
                break Err(Error::Stopped(why));
            }
            if !PATIENT.get()
                && begun.elapsed() >= PATIENCE
                && let Some(why) = self.trouble.present()
            {
                break Err(full(why));
            }
            self.cleaner.wake();
            wait::during(Class::LogRoom, || {
                self.log_room.changed.wait_for(&mut reserved, LOOK_AGAIN)
            });
        };
        self.log_room.waiters.fetch_sub(1, Ordering::AcqRel);
        result
    }

    /// Called by the cleaner after a round: the checkpoint may have moved.
    pub fn review_log_room(&self) {
        let used = self.log.capacity() - self.log.room();
        if used <= self.log.capacity() / 2 {
            self.log_room.tight.store(false, Ordering::Release);
        }
        self.log_room.wake();
    }
}

/// The log is full, and why it stays so.
fn full(why: Error) -> Error {
    match why {
        Error::Io {
            what,
            kind,
            message,
            lack,
        } => Error::Io {
            what: format!("the redo log is full, because changed pages cannot be written: {what}"),
            kind,
            message,
            lack,
        },
        why => why,
    }
}
