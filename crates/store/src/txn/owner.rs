//! Who waits: one owner per connection, and the registry of all of them.
//!
//! An [`Owner`] holds what its transaction holds (row locks, ranges, metadata locks), its place to sleep
//! and its published read view. Its mutexes are uncontended in normal running: other threads touch
//! them only to make an implicit lock explicit, to wake or kill the owner, to look for deadlocks and to
//! find the oldest view.
//!
//! Lifecycle of a wait: (1) [`Owner::prepare_wait`] under the mutex of the queue the owner joins; (2) it joins the
//! waits-for graph; (3) [`Owner::block`] until granted, made victim, killed or late; (4) it leaves the graph;
//! (5) unless granted, it leaves the queue. The first of granted and victim wins; a grant that arrives beside
//! another ending is found in step 5.
//!
//! Lock order: `held`, then lock-table shards and metadata-lock queues, then `wait`. `view`, then the
//! active set.

use super::locks::{PointRef, RangeRef};
use super::mdl::MdlList;
use super::progress::Progress;
use super::sys::TxnSystem;
use super::views::ViewSlot;
use super::{Isolation, TrxId};
use crate::error::{Error, Result};
use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

/// InnoDB's default `innodb_lock_wait_timeout`, seconds.
const DEFAULT_ROW_TIMEOUT_S: u64 = 50;
/// MySQL's default `lock_wait_timeout`, seconds.
const DEFAULT_METADATA_TIMEOUT_S: u64 = 31_536_000;

/// One per connection: the party that holds and waits for locks. `Send + Sync`; `kill` may be called
/// from other threads. At most one of its transactions at a time may write or lock.
pub struct Owner {
    no: u32,
    tag: AtomicU64,
    killed: AtomicBool,
    row_timeout_s: AtomicU64,
    metadata_timeout_s: AtomicU64,
    /// Nanoseconds spent in waits for row and metadata locks.
    waited_ns: AtomicU64,
    /// Of the transaction begun last, for listings.
    isolation: AtomicU8,
    /// Its transaction is no session's: one that a crash left unfinished, or a prepared one.
    apart: AtomicBool,
    /// Id of its transaction while that is with the engine, for statements of DDL; 0: none is.
    lent: AtomicU64,
    /// It acts within the statement of another owner, who holds the lock above all names.
    deputy: AtomicBool,
    /// Undo records of the running transaction: half of its weight when a deadlock victim is chosen.
    pub(super) changes: AtomicU64,
    pub(super) held: Mutex<Held>,
    pub(super) view: Mutex<ViewSlot>,
    wait: Mutex<Wait>,
    wake: Condvar,
    progress: Progress,
    registry: Arc<Registry>,
    pub(super) sys: Weak<TxnSystem>,
}

/// What an owner's transaction holds.
#[derive(Default)]
pub(super) struct Held {
    /// Id of the unfinished transaction that wrote; 0: none. Cleared before locks are released, so that
    /// nobody makes an implicit lock explicit for a transaction that would never release it.
    pub(super) trx: TrxId,
    /// When the transaction first wrote or locked.
    pub(super) started: Option<SystemTime>,
    /// Point locks.
    pub(super) points: SmallVec<[PointRef; 8]>,
    /// Ranges locked against insertion.
    pub(super) ranges: Vec<RangeRef>,
    /// Metadata locks, and a few handles of released ones.
    pub(super) mdl: MdlList,
}

impl Held {
    /// Notes the time at the first lock or write.
    #[inline]
    pub(super) fn touch(&mut self) {
        if self.started.is_none() {
            self.started = Some(SystemTime::now());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Idle,
    Waiting,
    Granted,
    Victim,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    Granted,
    Victim,
    Killed,
    TimedOut,
}

impl Owner {
    /// How far its statement has come, if that is one that takes long.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Number of the owner, unique among living owners.
    pub fn no(&self) -> u32 {
        self.no
    }

    /// Whether its transaction is no session's: one that a crash left unfinished, or a prepared one.
    pub(super) fn is_apart(&self) -> bool {
        self.apart.load(Ordering::Relaxed)
    }

    pub(super) fn set_apart(&self) {
        self.apart.store(true, Ordering::Relaxed);
    }

    /// Id of its transaction while that is with the engine; 0: none is.
    #[inline]
    pub(crate) fn lent(&self) -> TrxId {
        self.lent.load(Ordering::Relaxed)
    }

    pub(crate) fn set_lent(&self, trx: TrxId) {
        self.lent.store(trx, Ordering::Relaxed);
    }

    /// Whether it acts within the statement of another owner, who holds the lock above all names.
    pub(crate) fn is_deputy(&self) -> bool {
        self.deputy.load(Ordering::Relaxed)
    }

    pub(crate) fn set_deputy(&self) {
        self.deputy.store(true, Ordering::Relaxed);
    }

    /// Goes on for another, whose transaction has been prepared: tag, timeouts, a kill and the time waited are as they were there.
    pub fn succeed(&self, other: &Owner) {
        let each = [
            (&self.tag, &other.tag),
            (&self.row_timeout_s, &other.row_timeout_s),
            (&self.metadata_timeout_s, &other.metadata_timeout_s),
            (&self.waited_ns, &other.waited_ns),
        ];
        for (mine, its) in each {
            mine.store(its.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.killed
            .store(other.killed.load(Ordering::Acquire), Ordering::Release);
    }

    /// Isolation of the transaction begun last.
    pub(super) fn isolation(&self) -> Isolation {
        let all = [
            Isolation::ReadUncommitted,
            Isolation::ReadCommitted,
            Isolation::Serializable,
        ];
        let now = self.isolation.load(Ordering::Relaxed);
        let known = all.into_iter().find(|i| *i as u8 == now);
        known.unwrap_or(Isolation::RepeatableRead)
    }

    #[inline]
    pub(super) fn note_isolation(&self, isolation: Isolation) {
        self.isolation.store(isolation as u8, Ordering::Relaxed);
    }

    /// Nanoseconds that the owner has waited for row and metadata locks since it was made. Only ever grows.
    #[inline]
    pub fn waited_ns(&self) -> u64 {
        self.waited_ns.load(Ordering::Relaxed)
    }

    pub(super) fn note_waited(&self, waited: Duration) {
        let ns = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.waited_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// Wakes the owner out of any lock wait with `Interrupted`, now and until [`Owner::clear_kill`].
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Release);
        // Under the mutex, so that it cannot fall between the owner's last look at the flag and its sleep.
        let _wait = self.wait.lock();
        self.wake.notify_all();
    }

    /// Forgets a kill (KILL QUERY affects one statement).
    pub fn clear_kill(&self) {
        self.killed.store(false, Ordering::Release);
    }

    /// Whether killed; long scans ask now and then.
    #[inline]
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Acquire)
    }

    /// `innodb_lock_wait_timeout`, seconds.
    pub fn set_row_timeout(&self, seconds: u64) {
        self.row_timeout_s.store(seconds, Ordering::Relaxed);
    }

    /// `lock_wait_timeout` (metadata locks), seconds.
    pub fn set_metadata_timeout(&self, seconds: u64) {
        self.metadata_timeout_s.store(seconds, Ordering::Relaxed);
    }

    /// A number of the upper layer's (connection id), shown in listings.
    pub fn set_tag(&self, tag: u64) {
        self.tag.store(tag, Ordering::Relaxed);
    }

    /// The number given by [`Owner::set_tag`].
    pub fn tag(&self) -> u64 {
        self.tag.load(Ordering::Relaxed)
    }

    pub(super) fn row_timeout(&self) -> Duration {
        Duration::from_secs(self.row_timeout_s.load(Ordering::Relaxed))
    }

    pub(crate) fn metadata_timeout(&self) -> Duration {
        Duration::from_secs(self.metadata_timeout_s.load(Ordering::Relaxed))
    }

    /// How much rolling this owner back would undo.
    pub(super) fn weight(&self) -> u64 {
        let held = self.held.lock();
        self.changes.load(Ordering::Relaxed) + (held.points.len() + held.ranges.len()) as u64
    }

    /// Step 1 of a wait.
    pub(super) fn prepare_wait(&self) {
        let mut wait = self.wait.lock();
        debug_assert_eq!(*wait, Wait::Idle, "an owner waits for one thing at a time");
        *wait = Wait::Waiting;
    }

    /// Takes back step 1: the request was granted before the wait began.
    pub(super) fn settle(&self) {
        *self.wait.lock() = Wait::Idle;
    }

    /// Called by whoever grants the request, under the queue's mutex.
    pub(super) fn grant(&self) {
        let mut wait = self.wait.lock();
        if *wait == Wait::Waiting {
            *wait = Wait::Granted;
            self.wake.notify_all();
        }
    }

    /// Ends the wait with a deadlock. `false`: it was granted already.
    pub(super) fn make_victim(&self) -> bool {
        let mut wait = self.wait.lock();
        if *wait == Wait::Waiting {
            *wait = Wait::Victim;
            self.wake.notify_all();
        }
        *wait == Wait::Victim
    }

    /// Whether what it waits for has neither been granted nor refused.
    #[cfg(test)]
    pub(super) fn is_waiting(&self) -> bool {
        *self.wait.lock() == Wait::Waiting
    }

    /// Sleeps, unless the owner is killed.
    pub(crate) fn pause(&self, time: Duration) -> Result<()> {
        self.prepare_wait();
        match self.block(time) {
            Woken::Killed => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }

    /// Step 3 of a wait.
    pub(super) fn block(&self, timeout: Duration) -> Woken {
        let deadline = Instant::now().checked_add(timeout);
        let mut wait = self.wait.lock();
        let woken = loop {
            match *wait {
                Wait::Granted => break Woken::Granted,
                Wait::Victim => break Woken::Victim,
                Wait::Waiting | Wait::Idle => {}
            }
            if self.is_killed() {
                break Woken::Killed;
            }
            match deadline {
                None => self.wake.wait(&mut wait),
                Some(at) => {
                    if self.wake.wait_until(&mut wait, at).timed_out() && *wait == Wait::Waiting {
                        break Woken::TimedOut;
                    }
                }
            }
        };
        *wait = Wait::Idle;
        woken
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Nothing, unless its user panicked between taking locks and noting that.
        self.held.get_mut().mdl.release();
        self.registry.release(self.no);
    }
}

/// All owners, by number.
#[derive(Default)]
pub(super) struct Registry {
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    owners: Vec<Weak<Owner>>,
    free: Vec<u32>,
}

impl Registry {
    /// Makes an owner.
    pub(super) fn owner(self: &Arc<Self>, sys: Weak<TxnSystem>) -> Arc<Owner> {
        let mut slots = self.slots.lock();
        let no = match slots.free.pop() {
            Some(no) => no,
            None => {
                slots.owners.push(Weak::new());
                (slots.owners.len() - 1) as u32
            }
        };
        let owner = Arc::new(Owner {
            no,
            tag: AtomicU64::new(0),
            killed: AtomicBool::new(false),
            row_timeout_s: AtomicU64::new(DEFAULT_ROW_TIMEOUT_S),
            metadata_timeout_s: AtomicU64::new(DEFAULT_METADATA_TIMEOUT_S),
            waited_ns: AtomicU64::new(0),
            isolation: AtomicU8::new(Isolation::RepeatableRead as u8),
            apart: AtomicBool::new(false),
            lent: AtomicU64::new(0),
            deputy: AtomicBool::new(false),
            changes: AtomicU64::new(0),
            held: Mutex::default(),
            view: Mutex::default(),
            wait: Mutex::new(Wait::Idle),
            wake: Condvar::new(),
            progress: Progress::default(),
            registry: self.clone(),
            sys,
        });
        slots.owners[no as usize] = Arc::downgrade(&owner);
        owner
    }

    /// Every living owner. The result is made under the mutex but dropped outside: dropping an owner takes the
    /// mutex.
    pub(super) fn all(&self) -> Vec<Arc<Owner>> {
        let slots = self.slots.lock();
        let mut all = Vec::with_capacity(slots.owners.len());
        all.extend(slots.owners.iter().filter_map(Weak::upgrade));
        all
    }

    fn release(&self, no: u32) {
        let mut slots = self.slots.lock();
        slots.owners[no as usize] = Weak::new();
        slots.free.push(no);
    }
}
