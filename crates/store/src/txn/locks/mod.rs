//! Row locks: points and key ranges per tree, waits, deadlocks.
//!
//! | file | owns |
//! |---|---|
//! | `point` | locks on single keys, their queues |
//! | `range` | key ranges locked against insertion |
//! | `graph` | who waits for whom; deadlock victims; shared with metadata locks |
//!
//! Promises: a request waits behind earlier conflicting requests (first come, first served), except that an owner
//! that has a lock on the key already goes first; a wait ends with the lock, `Deadlock`, `LockWaitTimeout` or
//! `Interrupted`; the end of a transaction costs time in proportion to what it locked.
//! Never does: look at pages, or hold one of its mutexes while waiting.
//!
//! Lock order: graph, then an owner's `held`, then a shard, then an owner's `wait`. The `try_*` calls take
//! only shard and `held` mutexes, one after the other, and are allowed under page latches.

mod graph;
mod point;
mod range;
#[cfg(test)]
mod tests;

pub use graph::LockStats;
pub(crate) use graph::Stance;
pub(super) use graph::{Target, WaitGraph};
pub(super) use point::PointRef;
pub(super) use range::RangeRef;

use super::owner::Woken;
use super::{LockMode, Owner, TrxId, WaitPolicy};
use crate::error::{Error, Result};
use crate::space::SpaceId;
use crate::wait::{self, Class};
use point::{Points, Request};
use range::{Ranges, position_of_lower, position_of_upper};
use smallvec::SmallVec;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A key held by the lock table: short ones inline.
pub(super) type Key = SmallVec<[u8; 16]>;

/// Outcome of a granted or skipped request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Granted; the owner held nothing on this key before.
    New,
    /// The owner held a lock on the key already; it is now at least as strong as asked for.
    Held,
    /// `SkipLocked` met a conflict.
    Skipped,
}

/// Outcome of an attempt that never waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryLock {
    /// Granted; the owner held nothing on this key before.
    New,
    /// The owner held a lock on the key already; it is now at least as strong as asked for.
    Held,
    /// Another owner is in the way (or waits earlier): drop every latch and call [`LockSystem::lock`].
    Conflict,
}

/// The lock table.
pub struct LockSystem {
    points: Points,
    ranges: Ranges,
    graph: WaitGraph,
    /// Row locks that there may be.
    most: AtomicU64,
}

impl Default for LockSystem {
    fn default() -> LockSystem {
        LockSystem::new()
    }
}

impl LockSystem {
    /// An empty lock table.
    pub fn new() -> LockSystem {
        LockSystem {
            points: Points::new(),
            ranges: Ranges::new(),
            graph: WaitGraph::new(),
            most: AtomicU64::new(u64::MAX),
        }
    }

    /// Limits the memory that row locks may take.
    pub fn set_limit(&self, bytes: u64) {
        let most = bytes / point::ENTRY_BYTES;
        self.most.store(most, Ordering::Relaxed);
    }

    /// An error if row locks have all the memory that they may have. Whoever is about to lock a row asks; a row at a time may pass.
    #[inline]
    pub fn room(&self) -> Result<()> {
        let most = self.most.load(Ordering::Relaxed);
        if self.points.total() >= most {
            return Err(Error::LockTableFull);
        }
        Ok(())
    }

    /// Takes a point lock if that needs no wait. May be called under page latches.
    pub fn try_lock(
        &self,
        owner: &Arc<Owner>,
        tree: SpaceId,
        key: &[u8],
        mode: LockMode,
    ) -> TryLock {
        match self.points.request(owner, tree, key, mode, false) {
            Request::New(at) => {
                note_point(owner, at);
                TryLock::New
            }
            Request::Held => TryLock::Held,
            Request::Busy | Request::Queued { .. } => TryLock::Conflict,
        }
    }

    /// Takes a point lock, waiting as the policy says. Hold no latch. After a wait the caller must look at
    /// the row again.
    pub fn lock(
        &self,
        owner: &Arc<Owner>,
        tree: SpaceId,
        key: &[u8],
        mode: LockMode,
        policy: WaitPolicy,
    ) -> Result<Lock> {
        let queue = policy == WaitPolicy::Wait;
        match self.points.request(owner, tree, key, mode, queue) {
            Request::New(at) => {
                note_point(owner, at);
                Ok(Lock::New)
            }
            Request::Held => Ok(Lock::Held),
            Request::Busy if policy == WaitPolicy::SkipLocked => Ok(Lock::Skipped),
            Request::Busy => Err(Error::LockNotAvailable),
            Request::Queued { at, upgrade } => {
                let woken = self.wait(owner, Target::Point(at), owner.row_timeout());
                let granted = woken == Woken::Granted || self.points.cancel(at, owner.no());
                if granted && !upgrade {
                    note_point(owner, at);
                }
                match woken {
                    Woken::Victim => Err(Error::Deadlock),
                    Woken::Killed => Err(Error::Interrupted),
                    Woken::TimedOut if !granted => Err(Error::LockWaitTimeout),
                    _ if upgrade => Ok(Lock::Held),
                    _ => Ok(Lock::New),
                }
            }
        }
    }

    /// Gives back a lock that was granted as [`Lock::New`] (READ COMMITTED: the row did not match). Never for
    /// a row that the transaction has written: whoever made its implicit lock explicit counts on this one.
    pub fn unlock(&self, owner: &Arc<Owner>, tree: SpaceId, key: &[u8]) {
        let Some(at) = self.points.find(owner.no(), tree, key) else {
            return;
        };
        {
            let mut held = owner.held.lock();
            // It is nearly always the last one taken.
            match held.points.iter().rposition(|&p| p == at) {
                Some(i) => held.points.swap_remove(i),
                None => return,
            };
        }
        self.points.release(at, owner.no());
    }

    /// The owner's own lock on a key.
    pub fn held(&self, owner: &Arc<Owner>, tree: SpaceId, key: &[u8]) -> Option<LockMode> {
        self.points.mode_of(owner.no(), tree, key)
    }

    /// Whether another owner holds a lock on the key, so that writing it takes an exclusive one first. May be called
    /// under latches.
    #[inline]
    pub fn others_hold(&self, owner: &Arc<Owner>, tree: SpaceId, key: &[u8]) -> bool {
        self.points.others_hold(owner.no(), tree, key)
    }

    /// Locks every key between the bounds against insertion by others. Never waits; cheap where it extends
    /// the owner's last range. Call it under the latch of the leaf that was scanned.
    pub fn lock_gap(
        &self,
        owner: &Arc<Owner>,
        tree: SpaceId,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) {
        let start = position_of_lower(lower);
        let end = position_of_upper(upper);
        if end.as_ref().is_some_and(|end| *end <= start) {
            return;
        }
        if self.ranges.add(owner.no(), tree, &start, end.as_ref()) {
            let mut held = owner.held.lock();
            held.touch();
            range::remember(&mut held.ranges, tree, start, end);
        }
    }

    /// Whether the owner may insert the key now: no other owner's range covers it. Call it under the leaf's
    /// exclusive latch; on `false` drop all latches and call [`LockSystem::wait_insert`], then start again.
    #[inline]
    pub fn may_insert(&self, owner: &Arc<Owner>, tree: SpaceId, key: &[u8]) -> bool {
        self.ranges.may_insert(owner.no(), tree, key)
    }

    /// Waits until no other owner's range covers the key. Hold no latch.
    pub fn wait_insert(&self, owner: &Arc<Owner>, tree: SpaceId, key: &[u8]) -> Result<()> {
        if !self.ranges.enqueue(owner, tree, key) {
            return Ok(());
        }
        let target = Target::Insert(tree, Key::from_slice(key));
        let woken = self.wait(owner, target, owner.row_timeout());
        let granted = woken == Woken::Granted || self.ranges.cancel(owner.no(), tree);
        match woken {
            Woken::Victim => Err(Error::Deadlock),
            Woken::Killed => Err(Error::Interrupted),
            Woken::TimedOut if !granted => Err(Error::LockWaitTimeout),
            _ => Ok(()),
        }
    }

    /// Gives `writer` an exclusive lock on the key if its transaction is still `trx`. The writer's `held` mutex,
    /// kept throughout, makes this atomic against the transaction's end.
    pub(super) fn convert_implicit(
        &self,
        writer: &Arc<Owner>,
        trx: TrxId,
        tree: SpaceId,
        key: &[u8],
    ) -> bool {
        let mut held = writer.held.lock();
        if held.trx != trx {
            return false;
        }
        if let Some(at) = self.points.impose(writer.no(), tree, key) {
            held.points.push(at);
        }
        true
    }

    /// End of a transaction: nobody converts implicit locks for it any more, and all its row locks go.
    pub(super) fn release_all(&self, owner: &Owner) {
        let (points, ranges) = {
            let mut held = owner.held.lock();
            held.started = None;
            if held.trx == 0 && held.points.is_empty() && held.ranges.is_empty() {
                return;
            }
            held.trx = 0;
            (
                std::mem::take(&mut held.points),
                std::mem::take(&mut held.ranges),
            )
        };
        owner.changes.store(0, Ordering::Relaxed);
        for &at in &points {
            self.points.release(at, owner.no());
        }
        if !ranges.is_empty() {
            self.ranges.remove(owner.no(), ranges);
        }
    }

    /// Releases all row locks of a transaction that goes on: it has undone what they stand for.
    pub(super) fn release_rows(&self, owner: &Owner) {
        let (points, ranges) = {
            let mut held = owner.held.lock();
            (
                std::mem::take(&mut held.points),
                std::mem::take(&mut held.ranges),
            )
        };
        for &at in &points {
            self.points.release(at, owner.no());
        }
        if !ranges.is_empty() {
            self.ranges.remove(owner.no(), ranges);
        }
    }

    /// Steps 2 to 4 of a wait (see `owner`).
    pub(super) fn wait(&self, owner: &Arc<Owner>, target: Target, timeout: Duration) -> Woken {
        self.wait_as(Stance::Firm, owner, target, timeout)
    }

    /// The same.
    pub(super) fn wait_as(
        &self,
        stance: Stance,
        owner: &Arc<Owner>,
        target: Target,
        timeout: Duration,
    ) -> Woken {
        let class = match target {
            Target::Metadata(..) => Class::MetadataLock,
            Target::Point(_) | Target::Insert(..) => Class::RowLock,
        };
        let start = Instant::now();
        self.graph.enter(self, owner, target, stance);
        let woken = wait::long(|| owner.block(timeout));
        self.graph.leave(owner.no());
        let waited = start.elapsed();
        wait::note(class, waited);
        owner.note_waited(waited);
        woken
    }

    /// Counters of waits and deadlocks.
    pub fn stats(&self) -> LockStats {
        self.graph.stats()
    }

    /// Text of the last deadlock.
    pub fn last_deadlock(&self) -> Option<String> {
        self.graph.last_deadlock()
    }

    /// The key and the mode in which an owner holds the lock that it remembers by this name, if it still does.
    pub(super) fn held_at(&self, at: PointRef, no: u32) -> Option<(SpaceId, Key, LockMode)> {
        self.points.held_at(at, no)
    }

    /// The key and the mode that an owner waits for.
    pub(super) fn awaited_at(&self, at: PointRef, no: u32) -> Option<(SpaceId, Key, LockMode)> {
        self.points.describe(at, no)
    }

    /// The mode in which an owner holds a key.
    pub(super) fn mode_of(&self, no: u32, tree: SpaceId, key: &[u8]) -> Option<LockMode> {
        self.points.mode_of(no, tree, key)
    }

    /// Who waits, for what, since how long.
    pub(super) fn waiting(&self) -> Vec<(Arc<Owner>, Target, Duration)> {
        self.graph.waiting()
    }

    /// Owners of row locks in the way of what an owner waits for.
    pub(super) fn row_blockers(&self, target: &Target, no: u32, out: &mut Vec<u32>) {
        match target {
            Target::Point(at) => self.points.blockers(*at, no, out),
            Target::Insert(tree, key) => self.ranges.blockers(no, *tree, key, out),
            Target::Metadata(..) => {}
        }
    }

    /// What an owner waits for, as text.
    pub(super) fn waiting_for(&self, no: u32) -> Option<String> {
        self.graph.waiting_for(self, no)
    }
}

fn note_point(owner: &Owner, at: PointRef) {
    let mut held = owner.held.lock();
    held.touch();
    held.points.push(at);
}

/// Whether two locks of different owners exclude each other.
#[inline]
fn conflict(a: LockMode, b: LockMode) -> bool {
    a == LockMode::Exclusive || b == LockMode::Exclusive
}
