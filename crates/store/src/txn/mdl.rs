//! Metadata locks by name: shared for statements, to the end of the transaction; exclusive for DDL.
//!
//! A lock's state is one word: how many owners hold it shared, whether one holds it exclusively, whether anybody waits.
//! While nobody waits and nobody holds it exclusively, a shared lock is one compare-and-swap through a kept
//! [`MdlLock`] handle. Everything else goes through the lock's queue, first come, first served: a waiting exclusive
//! request keeps later shared ones out. Who holds a lock is known only to the owners.
//!
//! Owners keep a few handles of locks they have released: taking one of them again touches neither the map of
//! names nor a reference count.
//!
//! Lock order: an owner's `held`, then a lock's queue, then an owner's `wait`; the map of names is taken alone.

use super::Owner;
use super::locks::{LockSystem, Target};
use super::owner::Woken;
use crate::error::{Error, Result};
use hashbrown::{DefaultHashBuilder, HashMap};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Strength of a metadata lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MdlMode {
    /// Statements.
    Shared,
    /// DDL.
    Exclusive,
}

/// Shared holders, in the low half of the word.
const COUNT: u64 = (1 << 32) - 1;
/// Held exclusively.
const EXCLUSIVE: u64 = 1 << 32;
/// The queue is not empty: nobody passes it by.
const WAITERS: u64 = 1 << 33;

const NAME_SHARDS: usize = 64;
/// Handles of released locks an owner keeps.
const KEPT_HANDLES: usize = 8;

/// The lock of one name. Keep the `Arc`: taking the lock again through it needs no lookup.
pub struct MdlLock {
    name: Box<str>,
    names: Arc<Names>,
    state: AtomicU64,
    queue: Mutex<VecDeque<Waiter>>,
}

struct Waiter {
    owner: Arc<Owner>,
    mode: MdlMode,
    /// Holds the lock shared already.
    upgrade: bool,
}

/// An entry of an owner's list.
pub(super) struct MdlHeld {
    lock: Arc<MdlLock>,
    /// `None`: released, kept for next time.
    mode: Option<MdlMode>,
    /// Outlives transactions (LOCK TABLES).
    lasting: bool,
}

type NameMap = HashMap<Box<str>, Weak<MdlLock>>;

struct Names {
    hasher: DefaultHashBuilder,
    shards: Box<[Mutex<NameMap>]>,
}

/// All metadata locks.
pub struct MdlSystem {
    names: Arc<Names>,
    locks: Arc<LockSystem>,
}

impl Names {
    fn new() -> Names {
        Names {
            hasher: DefaultHashBuilder::default(),
            shards: (0..NAME_SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    fn shard(&self, name: &str) -> &Mutex<NameMap> {
        &self.shards[self.hasher.hash_one(name) as usize % NAME_SHARDS]
    }
}

impl Drop for MdlLock {
    fn drop(&mut self) {
        let mut shard = self.names.shard(&self.name).lock();
        // The name may have got a new lock since the last handle of this one was dropped.
        if shard
            .get(&self.name)
            .is_some_and(|w| std::ptr::eq(w.as_ptr(), self))
        {
            shard.remove(&self.name);
        }
    }
}

impl MdlSystem {
    /// No locks yet; deadlocks are found together with those of row locks.
    pub fn new(locks: Arc<LockSystem>) -> MdlSystem {
        MdlSystem {
            names: Arc::new(Names::new()),
            locks,
        }
    }

    /// The lock of a name (`"db"` or `"db\0table"`).
    pub fn get(&self, name: &str) -> Arc<MdlLock> {
        let mut shard = self.names.shard(name).lock();
        if let Some(lock) = shard.get(name).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::new(MdlLock {
            name: name.into(),
            names: self.names.clone(),
            state: AtomicU64::new(0),
            queue: Mutex::default(),
        });
        shard.insert(name.into(), Arc::downgrade(&lock));
        lock
    }

    /// Takes a lock until the end of the owner's transaction; waits up to the owner's metadata timeout. Free if
    /// held already.
    pub fn lock(&self, owner: &Arc<Owner>, lock: &Arc<MdlLock>, mode: MdlMode) -> Result<()> {
        let upgrade = {
            let mut held = owner.held.lock();
            let known = held.mdl.iter_mut().find(|h| Arc::ptr_eq(&h.lock, lock));
            let before = known.as_ref().and_then(|h| h.mode);
            if before >= Some(mode) {
                return Ok(());
            }
            if mode == MdlMode::Shared && lock.share() {
                match known {
                    Some(h) => h.mode = Some(mode),
                    None => held.mdl.push(MdlHeld {
                        lock: lock.clone(),
                        mode: Some(mode),
                        lasting: false,
                    }),
                }
                return Ok(());
            }
            before.is_some()
        };
        if lock.enqueue(owner, mode, upgrade) {
            let target = Target::Metadata(lock.clone(), mode);
            let woken = self.locks.wait(owner, target, owner.metadata_timeout());
            let granted = woken == Woken::Granted || lock.cancel(owner.no());
            if granted {
                note(owner, lock, mode);
            }
            return match woken {
                Woken::Victim => Err(Error::Deadlock),
                Woken::Killed => Err(Error::Interrupted),
                Woken::TimedOut if !granted => Err(Error::LockWaitTimeout),
                _ => Ok(()),
            };
        }
        note(owner, lock, mode);
        Ok(())
    }

    /// Whether the owner holds the lock at least as strongly.
    pub fn holds(&self, owner: &Owner, lock: &Arc<MdlLock>, mode: MdlMode) -> bool {
        owner.metadata_mode(lock) >= Some(mode)
    }

    /// Releases one lock before the end of the transaction.
    pub fn unlock(&self, owner: &Owner, lock: &Arc<MdlLock>) {
        let mode = {
            let mut held = owner.held.lock();
            let known = held.mdl.iter_mut().find(|h| Arc::ptr_eq(&h.lock, lock));
            known.and_then(|h| h.mode.take())
        };
        if let Some(mode) = mode {
            lock.release(mode);
        }
    }

    /// Lets a lock that the owner holds outlive its transactions, until [`MdlSystem::release_lasting`].
    pub fn make_lasting(&self, owner: &Owner, lock: &Arc<MdlLock>) {
        let mut held = owner.held.lock();
        if let Some(h) = held.mdl.iter_mut().find(|h| Arc::ptr_eq(&h.lock, lock)) {
            h.lasting = true;
        }
    }

    /// Releases the owner's lasting locks.
    pub fn release_lasting(&self, owner: &Owner) {
        let mut held = owner.held.lock();
        for h in held.mdl.iter_mut().filter(|h| h.lasting) {
            h.lasting = false;
            if let Some(mode) = h.mode.take() {
                h.lock.release(mode);
            }
        }
    }

    /// Names in the map.
    #[cfg(test)]
    pub(super) fn names(&self) -> usize {
        self.names.shards.iter().map(|s| s.lock().len()).sum()
    }

    /// Releases everything but lasting locks at the end of a transaction.
    pub(super) fn release_all(&self, owner: &Owner) {
        // Handles beyond those kept are dropped after the mutex: the last one cleans up the map of names.
        let mut surplus = smallvec::SmallVec::<[MdlHeld; 4]>::new();
        let mut held = owner.held.lock();
        for h in held.mdl.iter_mut().filter(|h| !h.lasting) {
            if let Some(mode) = h.mode.take() {
                h.lock.release(mode);
            }
        }
        while held.mdl.len() > KEPT_HANDLES {
            let Some(i) = held.mdl.iter().position(|h| h.mode.is_none()) else {
                break;
            };
            surplus.push(held.mdl.remove(i));
        }
        drop(held);
    }
}

fn note(owner: &Owner, lock: &Arc<MdlLock>, mode: MdlMode) {
    let mut held = owner.held.lock();
    match held.mdl.iter_mut().find(|h| Arc::ptr_eq(&h.lock, lock)) {
        Some(h) => h.mode = Some(mode),
        None => held.mdl.push(MdlHeld {
            lock: lock.clone(),
            mode: Some(mode),
            lasting: false,
        }),
    }
}

impl Owner {
    fn metadata_mode(&self, lock: &Arc<MdlLock>) -> Option<MdlMode> {
        let held = self.held.lock();
        let known = held.mdl.iter().find(|h| Arc::ptr_eq(&h.lock, lock));
        known.and_then(|h| h.mode)
    }

    /// Whether what this owner holds keeps others from taking the lock in that mode.
    pub(super) fn blocks_metadata(&self, lock: &Arc<MdlLock>, mode: MdlMode) -> bool {
        self.metadata_mode(lock)
            .is_some_and(|m| m == MdlMode::Exclusive || mode == MdlMode::Exclusive)
    }
}

impl MdlLock {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One more shared holder, if nobody waits and nobody holds it exclusively.
    #[inline]
    fn share(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & (EXCLUSIVE | WAITERS) == 0 {
            match self.state.compare_exchange_weak(
                state,
                state + 1,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Grants at once (`false`) or queues the owner (`true`).
    fn enqueue(&self, owner: &Arc<Owner>, mode: MdlMode, upgrade: bool) -> bool {
        let mut queue = self.queue.lock();
        // From here on nobody takes or leaves the lock without the queue.
        self.state.fetch_or(WAITERS, Ordering::AcqRel);
        owner.prepare_wait();
        let waiter = Waiter {
            owner: owner.clone(),
            mode,
            upgrade,
        };
        if upgrade {
            let first = queue.iter().position(|w| !w.upgrade);
            let first = first.unwrap_or(queue.len());
            queue.insert(first, waiter);
        } else {
            queue.push_back(waiter);
        }
        self.grant_waiters(&mut queue);
        if queue.iter().any(|w| w.owner.no() == owner.no()) {
            return true;
        }
        drop(queue);
        owner.settle();
        false
    }

    /// Leaves the queue. `true`: the lock had been granted meanwhile (and is held).
    fn cancel(&self, no: u32) -> bool {
        let mut queue = self.queue.lock();
        let Some(i) = queue.iter().position(|w| w.owner.no() == no) else {
            return true;
        };
        queue.remove(i);
        self.grant_waiters(&mut queue);
        false
    }

    fn release(&self, mode: MdlMode) {
        let taken = match mode {
            MdlMode::Shared => 1,
            MdlMode::Exclusive => EXCLUSIVE,
        };
        let before = self.state.fetch_sub(taken, Ordering::AcqRel);
        debug_assert!(before & (COUNT | EXCLUSIVE) >= taken);
        if before & WAITERS != 0 {
            self.grant_waiters(&mut self.queue.lock());
        }
    }

    /// Grants from the front as long as it goes; then opens the lock to passers-by if nobody waits.
    fn grant_waiters(&self, queue: &mut VecDeque<Waiter>) {
        while let Some(front) = queue.front() {
            let (mode, own) = (front.mode, u64::from(front.upgrade));
            // Only releases change the word meanwhile: `WAITERS` is set.
            let granted = self
                .state
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                    debug_assert!(state & WAITERS != 0);
                    if state & EXCLUSIVE != 0 {
                        return None;
                    }
                    match mode {
                        MdlMode::Shared => Some(state + 1),
                        MdlMode::Exclusive if state & COUNT == own => {
                            Some((state - own) | EXCLUSIVE)
                        }
                        MdlMode::Exclusive => None,
                    }
                })
                .is_ok();
            if !granted {
                return;
            }
            if let Some(waiter) = queue.pop_front() {
                waiter.owner.grant();
            }
        }
        self.state.fetch_and(!WAITERS, Ordering::AcqRel);
    }

    /// The mode an owner waits for, with the conflicting requests before it; `None` if it does not wait.
    pub(super) fn queued_blockers(&self, no: u32, out: &mut Vec<u32>) -> Option<MdlMode> {
        let queue = self.queue.lock();
        let i = queue.iter().position(|w| w.owner.no() == no)?;
        let mode = queue[i].mode;
        // The queue is served strictly from the front.
        out.extend(queue.iter().take(i).map(|w| w.owner.no()));
        Some(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::super::owner::Registry;
    use super::*;

    #[test]
    fn lasting_locks_outlive_transactions() {
        let mdl = MdlSystem::new(Arc::new(LockSystem::new()));
        let registry = Arc::new(Registry::default());
        let (a, b) = (registry.owner(Weak::new()), registry.owner(Weak::new()));
        b.set_metadata_timeout(0);
        let t = mdl.get("db\0t");
        mdl.lock(&a, &t, MdlMode::Exclusive).unwrap();
        mdl.make_lasting(&a, &t);
        for i in 0..2 * KEPT_HANDLES {
            let other = mdl.get(&format!("db\0{i}"));
            mdl.lock(&a, &other, MdlMode::Shared).unwrap();
        }
        mdl.release_all(&a);
        assert!(mdl.holds(&a, &t, MdlMode::Exclusive));
        let refused = mdl.lock(&b, &t, MdlMode::Shared);
        assert!(matches!(refused, Err(Error::LockWaitTimeout)));
        // Statements of the holder take it again for nothing.
        mdl.lock(&a, &t, MdlMode::Shared).unwrap();
        mdl.release_all(&a);
        assert!(mdl.holds(&a, &t, MdlMode::Exclusive));
        mdl.release_lasting(&a);
        mdl.lock(&b, &t, MdlMode::Exclusive).unwrap();
    }
}
