//! Metadata locks by name: shared for statements, to the end of the transaction; exclusive for DDL; read-only for LOCK
//! TABLES ... READ, which lets statements read and keeps those that write out; upgradable for DDL while it lets
//! statements, or those that read, go on, which keeps other DDL out.
//!
//! A lock's state is one word: how many owners hold it in each mode, and whether anybody waits.
//! While nobody waits and no holder conflicts, a statement's lock is one compare-and-swap through a kept
//! [`MdlLock`] handle. Everything else goes through the lock's queue, in which a request waits for the earlier ones that
//! it conflicts with: a waiting exclusive request keeps later shared ones out, one that is upgradable lets them pass. Who holds a lock is known only to the owners.
//!
//! Owners keep a few handles of locks they have released: taking one of them again touches neither the map of
//! names nor a reference count.
//!
//! Lock order: an owner's `held`, then a lock's queue, then an owner's `wait`; the map of names is taken alone.

use super::locks::{LockSystem, Stance, Target};
use super::owner::Woken;
use super::{Locked, Owner};
use crate::error::{Error, Result};
use crate::wait::{self, Class};
use hashbrown::{DefaultHashBuilder, HashMap};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Strength of a metadata lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MdlMode {
    /// Statements.
    Shared,
    /// Statements that write rows.
    Write,
    /// LOCK TABLES ... READ: keeps writers out.
    ReadOnly,
    /// DDL that lets statements go on for now: one at a time, between two moments at which it has the lock exclusively.
    Upgradable,
    /// The same, with writers kept out.
    NoWrite,
    /// DDL, LOCK TABLES ... WRITE.
    Exclusive,
}

/// Bits of the word that count the holders of one mode: more than there can be owners.
const COUNT_BITS: u32 = 20;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// The queue is not empty: nobody passes it by.
const WAITERS: u64 = 1 << 63;

impl MdlMode {
    /// Where the word counts holders of this mode.
    #[inline]
    fn shift(self) -> u32 {
        match self {
            MdlMode::Shared => 0,
            MdlMode::Write => COUNT_BITS,
            MdlMode::ReadOnly => 2 * COUNT_BITS,
            MdlMode::Exclusive => 3 * COUNT_BITS,
            MdlMode::Upgradable => 3 * COUNT_BITS + 1,
            MdlMode::NoWrite => 3 * COUNT_BITS + 2,
        }
    }

    /// One holder.
    #[inline]
    fn unit(self) -> u64 {
        1 << self.shift()
    }

    /// The word's bits of all holders of this mode. There is at most one of those that DDL has.
    #[inline]
    fn holders(self) -> u64 {
        match self {
            MdlMode::Exclusive | MdlMode::Upgradable | MdlMode::NoWrite => self.unit(),
            _ => COUNT << self.shift(),
        }
    }

    /// The word's bits of holders that this mode does not go with.
    #[inline]
    fn conflicts(self) -> u64 {
        use MdlMode::*;
        match self {
            Shared => Exclusive.holders(),
            Write => Exclusive.holders() | ReadOnly.holders() | NoWrite.holders(),
            ReadOnly => Exclusive.holders() | Write.holders(),
            Upgradable => Exclusive.holders() | Upgradable.holders() | NoWrite.holders(),
            NoWrite => Upgradable.conflicts() | Write.holders(),
            Exclusive => {
                Shared.holders()
                    | Write.holders()
                    | ReadOnly.holders()
                    | Upgradable.holders()
                    | NoWrite.holders()
                    | Exclusive.holders()
            }
        }
    }

    /// Whether who holds this mode needs nothing more for the other.
    #[inline]
    fn covers(self, other: MdlMode) -> bool {
        self == other || self == MdlMode::Exclusive || other == MdlMode::Shared
    }

    /// The weakest mode that covers both.
    fn with(self, other: MdlMode) -> MdlMode {
        if self.covers(other) {
            self
        } else if other.covers(self) {
            other
        } else {
            MdlMode::Exclusive
        }
    }
}

type QueueMutex<T> = wait::Mutex<T, { Class::MetadataQueue as usize }>;

const NAME_SHARDS: usize = 64;
/// Handles of released locks an owner keeps.
const KEPT_HANDLES: usize = 8;

/// The lock of one name. Keep the `Arc`: taking the lock again through it needs no lookup.
pub struct MdlLock {
    name: Box<str>,
    names: Arc<Names>,
    state: AtomicU64,
    queue: QueueMutex<VecDeque<Waiter>>,
}

struct Waiter {
    owner: Arc<Owner>,
    mode: MdlMode,
    /// What it holds already.
    held: Option<MdlMode>,
}

/// An entry of an owner's list.
pub(super) struct MdlHeld {
    lock: Arc<MdlLock>,
    /// `None`: released, kept for next time.
    mode: Option<MdlMode>,
    /// Outlives transactions (LOCK TABLES).
    lasting: bool,
}

/// Which locks an owner held at a moment.
pub struct MdlMark(SmallVec<[usize; 4]>);

/// An owner's metadata locks, and a few handles of released ones.
///
/// Most owners have a handful, which are looked through. DROP DATABASE has one per table, so from [`INDEXED`] entries on
/// they are also found by their locks' addresses, which entries keep from being used again.
#[derive(Default)]
pub(super) struct MdlList {
    entries: SmallVec<[MdlHeld; 4]>,
    /// Address of the lock -> position; empty below [`INDEXED`] entries.
    index: HashMap<usize, usize>,
}

/// Entries from which on a list is indexed.
const INDEXED: usize = 32;

fn address(lock: &Arc<MdlLock>) -> usize {
    Arc::as_ptr(lock) as usize
}

impl MdlList {
    #[inline]
    fn position(&self, lock: &Arc<MdlLock>) -> Option<usize> {
        if self.entries.len() < INDEXED {
            return self.entries.iter().position(|h| Arc::ptr_eq(&h.lock, lock));
        }
        self.index.get(&address(lock)).copied()
    }

    /// What is locked, for a listing.
    pub(super) fn locked(&self) -> impl Iterator<Item = Locked> + '_ {
        let held = self.entries.iter().filter_map(|h| Some((h, h.mode?)));
        held.map(|(h, mode)| Locked::Metadata {
            name: h.lock.name().to_string(),
            mode,
            lasting: h.lasting,
        })
    }

    #[inline]
    fn find(&self, lock: &Arc<MdlLock>) -> Option<&MdlHeld> {
        self.position(lock).map(|i| &self.entries[i])
    }

    #[inline]
    fn find_mut(&mut self, lock: &Arc<MdlLock>) -> Option<&mut MdlHeld> {
        self.position(lock).map(|i| &mut self.entries[i])
    }

    /// Adds a lock that is not there.
    #[inline]
    fn push(&mut self, lock: &Arc<MdlLock>, mode: MdlMode) {
        self.entries.push(MdlHeld {
            lock: lock.clone(),
            mode: Some(mode),
            lasting: false,
        });
        if self.entries.len() >= INDEXED {
            self.note_last();
        }
    }

    #[cold]
    fn note_last(&mut self) {
        let last = self.entries.len() - 1;
        let from = if last + 1 == INDEXED { 0 } else { last };
        for i in from..=last {
            self.index.insert(address(&self.entries[i].lock), i);
        }
    }

    /// Releases everything, lasting or not: the owner goes.
    pub(super) fn release(&mut self) {
        for h in &mut self.entries {
            if let Some(mode) = h.mode.take() {
                h.lock.release(mode);
            }
        }
    }

    /// Takes out released handles beyond [`KEPT_HANDLES`] entries, for the caller to drop without the mutex.
    fn trim(&mut self) -> Vec<MdlHeld> {
        if self.entries.len() <= KEPT_HANDLES {
            return Vec::new();
        }
        let mut surplus = self.entries.len() - KEPT_HANDLES;
        let mut taken = Vec::with_capacity(surplus);
        let mut kept = SmallVec::new();
        for h in std::mem::take(&mut self.entries) {
            if surplus > 0 && h.mode.is_none() {
                surplus -= 1;
                taken.push(h);
            } else {
                kept.push(h);
            }
        }
        self.entries = kept;
        self.index = HashMap::new();
        if self.entries.len() >= INDEXED {
            let each = self.entries.iter().enumerate();
            self.index = each.map(|(i, h)| (address(&h.lock), i)).collect();
        }
        taken
    }
}

type NameMap = HashMap<Box<str>, Weak<MdlLock>>;

struct Names {
    hasher: DefaultHashBuilder,
    shards: Box<[QueueMutex<NameMap>]>,
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
            shards: (0..NAME_SHARDS).map(|_| QueueMutex::default()).collect(),
        }
    }

    fn shard(&self, name: &str) -> &QueueMutex<NameMap> {
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
            queue: QueueMutex::default(),
        });
        shard.insert(name.into(), Arc::downgrade(&lock));
        lock
    }

    /// The locks that are known whose names begin so, by name: those that somebody holds or waits for, and others of which
    /// there is a handle.
    pub fn known(&self, prefix: &str) -> Vec<Arc<MdlLock>> {
        let mut locks = Vec::new();
        for shard in &self.names.shards {
            let shard = shard.lock();
            let named = shard.iter().filter(|(name, _)| name.starts_with(prefix));
            locks.extend(named.filter_map(|(_, lock)| lock.upgrade()));
        }
        locks.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        locks
    }

    /// Takes a lock until the end of the owner's transaction; waits up to the owner's metadata timeout. Free if
    /// held already.
    #[inline]
    pub fn lock(&self, owner: &Arc<Owner>, lock: &Arc<MdlLock>, mode: MdlMode) -> Result<()> {
        self.lock_as(Stance::Firm, owner, lock, mode)
    }

    /// The same; `stance`: what it means to the caller that the wait would be a deadlock.
    #[inline]
    pub(crate) fn lock_as(
        &self,
        stance: Stance,
        owner: &Arc<Owner>,
        lock: &Arc<MdlLock>,
        mode: MdlMode,
    ) -> Result<()> {
        let (mode, before) = {
            let mut held = owner.held.lock();
            let known = held.mdl.position(lock);
            let before = known.and_then(|i| held.mdl.entries[i].mode);
            if before.is_some_and(|b| b.covers(mode)) {
                return Ok(());
            }
            let mode = before.map_or(mode, |b| b.with(mode));
            if matches!(mode, MdlMode::Shared | MdlMode::Write) && lock.pass(mode, before) {
                match known {
                    Some(i) => held.mdl.entries[i].mode = Some(mode),
                    None => held.mdl.push(lock, mode),
                }
                return Ok(());
            }
            (mode, before)
        };
        if lock.enqueue(owner, mode, before) {
            let target = Target::Metadata(lock.clone(), mode);
            let timeout = owner.metadata_timeout();
            let woken = self.locks.wait_as(stance, owner, target, timeout);
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

    /// Makes a lock that the owner holds exclusive; waits no longer than `most`, and does `between` each time it has waited for
    /// `slice`, without losing its place. A wait that would be a deadlock ends with that error, uncounted: what is held
    /// stays held, and the caller is to wait again later.
    pub fn upgrade(
        &self,
        owner: &Arc<Owner>,
        lock: &Arc<MdlLock>,
        (most, slice): (Duration, Duration),
        mut between: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        let held = owner.metadata_mode(lock);
        if held == Some(MdlMode::Exclusive) {
            return Ok(());
        }
        if !lock.enqueue(owner, MdlMode::Exclusive, held) {
            note(owner, lock, MdlMode::Exclusive);
            return Ok(());
        }
        let begun = Instant::now();
        let mut failed = None;
        let woken = loop {
            let left = most.saturating_sub(begun.elapsed());
            let target = Target::Metadata(lock.clone(), MdlMode::Exclusive);
            let woken = self
                .locks
                .wait_as(Stance::Yields, owner, target, left.min(slice));
            if woken != Woken::TimedOut || left <= slice {
                break woken;
            }
            failed = between().err();
            if failed.is_some() || !lock.waits_on(owner) {
                break woken;
            }
        };
        let granted = woken == Woken::Granted || lock.cancel(owner.no());
        if granted {
            note(owner, lock, MdlMode::Exclusive);
        }
        match (failed, woken) {
            (Some(e), _) => Err(e),
            (None, Woken::Killed) => Err(Error::Interrupted),
            // Late or a victim, but it has the lock.
            _ if granted => Ok(()),
            (None, Woken::Victim) => Err(Error::Deadlock),
            _ => Err(Error::LockWaitTimeout),
        }
    }

    /// Weakens a lock that the owner holds exclusively; whoever waits for what that allows gets it.
    pub fn downgrade(&self, owner: &Owner, lock: &Arc<MdlLock>, to: MdlMode) {
        {
            let mut held = owner.held.lock();
            match held.mdl.find_mut(lock) {
                Some(h) if h.mode == Some(MdlMode::Exclusive) => h.mode = Some(to),
                _ => return,
            }
        }
        lock.exchange(MdlMode::Exclusive, to);
    }

    /// Whether the owner holds the lock at least as strongly.
    pub fn holds(&self, owner: &Owner, lock: &Arc<MdlLock>, mode: MdlMode) -> bool {
        owner.metadata_mode(lock).is_some_and(|m| m.covers(mode))
    }

    /// Releases one lock before the end of the transaction.
    pub fn unlock(&self, owner: &Owner, lock: &Arc<MdlLock>) {
        let mode = {
            let mut held = owner.held.lock();
            held.mdl.find_mut(lock).and_then(|h| h.mode.take())
        };
        if let Some(mode) = mode {
            lock.release(mode);
        }
    }

    /// What the owner holds now, for [`MdlSystem::release_since`].
    pub fn mark(&self, owner: &Owner) -> MdlMark {
        let held = owner.held.lock();
        let locked = held.mdl.entries.iter().filter(|h| h.mode.is_some());
        let mut marked: SmallVec<_> = locked.map(|h| address(&h.lock)).collect();
        marked.sort_unstable();
        MdlMark(marked)
    }

    /// Releases the locks that the owner has taken since then, before the end of its transaction. One that it held already stays,
    /// as strong as it has become.
    pub fn release_since(&self, owner: &Owner, mark: &MdlMark) {
        let mut held = owner.held.lock();
        for h in held.mdl.entries.iter_mut().filter(|h| !h.lasting) {
            if mark.0.binary_search(&address(&h.lock)).is_err()
                && let Some(mode) = h.mode.take()
            {
                h.lock.release(mode);
            }
        }
    }

    /// Lets a lock that the owner holds outlive its transactions, until [`MdlSystem::release_lasting`].
    pub fn make_lasting(&self, owner: &Owner, lock: &Arc<MdlLock>) {
        let mut held = owner.held.lock();
        if let Some(h) = held.mdl.find_mut(lock) {
            h.lasting = true;
        }
    }

    /// Releases the owner's lasting locks.
    pub fn release_lasting(&self, owner: &Owner) {
        let mut held = owner.held.lock();
        for h in held.mdl.entries.iter_mut().filter(|h| h.lasting) {
            h.lasting = false;
            if let Some(mode) = h.mode.take() {
                h.lock.release(mode);
            }
        }
    }

    /// Leaves the owner's lasting locks to its transaction, as a statement's that reads: definitions that it may have read stay as they are until it
    /// ends, and everybody else goes on.
    pub fn leave_lasting(&self, owner: &Owner) {
        let mut held = owner.held.lock();
        for h in held.mdl.entries.iter_mut().filter(|h| h.lasting) {
            h.lasting = false;
            if let Some(mode) = h.mode.filter(|mode| *mode != MdlMode::Shared) {
                h.mode = Some(MdlMode::Shared);
                h.lock.exchange(mode, MdlMode::Shared);
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
        let mut held = owner.held.lock();
        for h in held.mdl.entries.iter_mut().filter(|h| !h.lasting) {
            if let Some(mode) = h.mode.take() {
                h.lock.release(mode);
            }
        }
        let surplus = held.mdl.trim();
        drop(held);
        drop(surplus);
    }
}

fn note(owner: &Owner, lock: &Arc<MdlLock>, mode: MdlMode) {
    let mut held = owner.held.lock();
    match held.mdl.find_mut(lock) {
        Some(h) => h.mode = Some(mode),
        None => held.mdl.push(lock, mode),
    }
}

impl Owner {
    fn metadata_mode(&self, lock: &Arc<MdlLock>) -> Option<MdlMode> {
        let held = self.held.lock();
        held.mdl.find(lock).and_then(|h| h.mode)
    }

    /// Whether what this owner holds keeps others from taking the lock in that mode.
    pub(super) fn blocks_metadata(&self, lock: &Arc<MdlLock>, mode: MdlMode) -> bool {
        self.metadata_mode(lock)
            .is_some_and(|m| m.conflicts() & mode.holders() != 0)
    }
}

/// A lock taken by [`MdlLock::try_moment`].
pub(crate) struct Moment<'l>(&'l MdlLock);

impl Drop for Moment<'_> {
    fn drop(&mut self) {
        self.0.release(MdlMode::Shared);
    }
}

impl MdlLock {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the lock shared for a moment, on nobody's behalf, if there is no need to wait. Whoever has it waits for nobody else's
    /// locks meanwhile.
    pub(crate) fn try_moment(&self) -> Option<Moment<'_>> {
        self.pass(MdlMode::Shared, None).then(|| Moment(self))
    }

    /// One more holder (or one that held `held` before), if nobody waits and no other holder conflicts.
    #[inline]
    fn pass(&self, mode: MdlMode, held: Option<MdlMode>) -> bool {
        let own = held.map_or(0, MdlMode::unit);
        let barred = mode.conflicts() | WAITERS;
        let mut state = self.state.load(Ordering::Relaxed);
        while (state - own) & barred == 0 {
            match self.state.compare_exchange_weak(
                state,
                state - own + mode.unit(),
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
    fn enqueue(&self, owner: &Arc<Owner>, mode: MdlMode, held: Option<MdlMode>) -> bool {
        let mut queue = self.queue.lock();
        // From here on nobody takes or leaves the lock without the queue.
        self.state.fetch_or(WAITERS, Ordering::AcqRel);
        owner.prepare_wait();
        let waiter = Waiter {
            owner: owner.clone(),
            mode,
            held,
        };
        if held.is_some() {
            // Those who wait for the lock exclusively wait for what this one holds anyway.
            let passes = |w: &Waiter| {
                w.held.is_none() || (w.mode == MdlMode::Exclusive && mode != MdlMode::Exclusive)
            };
            let first = queue.iter().position(passes).unwrap_or(queue.len());
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

    /// An owner whose wait has ended goes on with it, unless the lock has been granted meanwhile (`false`).
    fn waits_on(&self, owner: &Owner) -> bool {
        let queue = self.queue.lock();
        let waits = queue.iter().any(|w| w.owner.no() == owner.no());
        if waits {
            owner.prepare_wait();
        }
        waits
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

    fn exchange(&self, held: MdlMode, to: MdlMode) {
        let change = to.unit().wrapping_sub(held.unit());
        if self.state.fetch_add(change, Ordering::AcqRel) & WAITERS != 0 {
            self.grant_waiters(&mut self.queue.lock());
        }
    }

    fn release(&self, mode: MdlMode) {
        let before = self.state.fetch_sub(mode.unit(), Ordering::AcqRel);
        debug_assert!(before & mode.holders() != 0);
        if before & WAITERS != 0 {
            self.grant_waiters(&mut self.queue.lock());
        }
    }

    /// Grants what neither holders nor earlier requests bar; then opens the lock to passers-by if nobody waits.
    fn grant_waiters(&self, queue: &mut VecDeque<Waiter>) {
        let (mut at, mut barred) = (0, 0);
        while let Some(waiter) = queue.get(at) {
            let (mode, own) = (waiter.mode, waiter.held.map_or(0, MdlMode::unit));
            if barred & mode.holders() == 0 && self.grant(mode, own) {
                if let Some(waiter) = queue.remove(at) {
                    waiter.owner.grant();
                }
                continue;
            }
            if mode == MdlMode::Exclusive {
                // Nothing goes beside that.
                return;
            }
            barred |= mode.conflicts();
            at += 1;
        }
        if queue.is_empty() {
            self.state.fetch_and(!WAITERS, Ordering::AcqRel);
        }
    }

    /// One more holder, in place of what it held before, if no other conflicts. Under the queue's mutex, and with `WAITERS` set: only
    /// releases change the word meanwhile.
    fn grant(&self, mode: MdlMode, own: u64) -> bool {
        let change = |state: u64| {
            debug_assert!(state & WAITERS != 0);
            let others = state - own;
            (others & mode.conflicts() == 0).then(|| others + mode.unit())
        };
        self.state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, change)
            .is_ok()
    }

    /// The mode an owner waits for, with the conflicting requests before it; `None` if it does not wait.
    pub(super) fn queued_blockers(&self, no: u32, out: &mut Vec<u32>) -> Option<MdlMode> {
        let queue = self.queue.lock();
        let i = queue.iter().position(|w| w.owner.no() == no)?;
        let mode = queue[i].mode;
        let before = queue.iter().take(i);
        let barring = before.filter(|w| w.mode.conflicts() & mode.holders() != 0);
        out.extend(barring.map(|w| w.owner.no()));
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

    /// Whatever an owner still holds goes with it.
    #[test]
    fn an_owner_that_goes_holds_nothing() {
        let mdl = MdlSystem::new(Arc::new(LockSystem::new()));
        let registry = Arc::new(Registry::default());
        let (a, b) = (registry.owner(Weak::new()), registry.owner(Weak::new()));
        let (t, u) = (mdl.get("db\0t"), mdl.get("db\0u"));
        mdl.lock(&a, &t, MdlMode::Exclusive).unwrap();
        mdl.make_lasting(&a, &t);
        mdl.lock(&a, &u, MdlMode::Shared).unwrap();
        b.set_metadata_timeout(0);
        assert!(mdl.lock(&b, &t, MdlMode::Shared).is_err());
        drop(a);
        mdl.lock(&b, &t, MdlMode::Exclusive).unwrap();
        mdl.lock(&b, &u, MdlMode::Exclusive).unwrap();
    }

    /// A list long enough to be indexed finds, releases and forgets as a short one does.
    #[test]
    fn many_locks_of_one_owner() {
        let mdl = MdlSystem::new(Arc::new(LockSystem::new()));
        let registry = Arc::new(Registry::default());
        let (a, b) = (registry.owner(Weak::new()), registry.owner(Weak::new()));
        b.set_metadata_timeout(0);
        let lock = |i: usize| mdl.get(&format!("db\0{i}"));
        let lasting = lock(7);
        for round in 0..2 {
            for i in 0..3 * INDEXED {
                mdl.lock(&a, &lock(i), MdlMode::Shared).unwrap();
            }
            mdl.make_lasting(&a, &lasting);
            for i in 0..3 * INDEXED {
                mdl.lock(&a, &lock(i), MdlMode::Exclusive).unwrap();
                assert!(mdl.holds(&a, &lock(i), MdlMode::Exclusive), "{round} {i}");
                assert!(mdl.lock(&b, &lock(i), MdlMode::Shared).is_err());
            }
            mdl.unlock(&a, &lock(9));
            assert!(!mdl.holds(&a, &lock(9), MdlMode::Shared));
            mdl.release_all(&a);
            assert!(mdl.holds(&a, &lasting, MdlMode::Exclusive));
            assert_eq!(a.held.lock().mdl.entries.len(), KEPT_HANDLES);
        }
        mdl.release_lasting(&a);
        mdl.release_all(&a);
        for i in 0..3 * INDEXED {
            mdl.lock(&b, &lock(i), MdlMode::Exclusive).unwrap();
        }
    }

    #[test]
    fn a_weakened_lock_lets_statements_in_and_is_made_exclusive_again() {
        use MdlMode::*;
        let mdl = MdlSystem::new(Arc::new(LockSystem::new()));
        let registry = Arc::new(Registry::default());
        let o: Vec<_> = (0..3).map(|_| registry.owner(Weak::new())).collect();
        let t = mdl.get("db\0t");
        let ddl = &o[0];
        for (to, writes) in [(Upgradable, true), (ReadOnly, false)] {
            o.iter().for_each(|o| o.set_metadata_timeout(50));
            mdl.lock(ddl, &t, Exclusive).unwrap();
            mdl.make_lasting(ddl, &t);
            std::thread::scope(|s| {
                let waits = s.spawn(|| mdl.lock(&o[1], &t, Shared));
                while t.state.load(Ordering::Relaxed) & WAITERS == 0 {
                    std::thread::yield_now();
                }
                mdl.downgrade(ddl, &t, to);
                waits.join().unwrap().unwrap();
            });
            o.iter().for_each(|o| o.set_metadata_timeout(0));
            assert_eq!(mdl.lock(&o[2], &t, Write).is_ok(), writes, "{to:?}");
            mdl.release_all(&o[2]);
            assert!(mdl.lock(&o[2], &t, Exclusive).is_err());
            // Not before the statement is done; what is held stays.
            assert!(mdl.lock(ddl, &t, Exclusive).is_err());
            assert!(mdl.holds(ddl, &t, to));
            mdl.release_all(&o[1]);
            mdl.lock(ddl, &t, Exclusive).unwrap();
            assert!(mdl.lock(&o[1], &t, Shared).is_err());
            mdl.release_lasting(ddl);
            assert_eq!(t.state.load(Ordering::Relaxed), 0);
        }
    }

    /// Who reads and then writes has nothing to wait for in whoever waits for its end.
    #[test]
    fn a_statement_gets_more_of_what_it_holds_before_ddl() {
        use MdlMode::*;
        let mdl = MdlSystem::new(Arc::new(LockSystem::new()));
        let registry = Arc::new(Registry::default());
        let (ddl, reader) = (registry.owner(Weak::new()), registry.owner(Weak::new()));
        let t = mdl.get("db\0t");
        mdl.lock(&ddl, &t, Exclusive).unwrap();
        mdl.downgrade(&ddl, &t, Upgradable);
        mdl.lock(&reader, &t, Shared).unwrap();
        std::thread::scope(|s| {
            let upgrade = s.spawn(|| mdl.lock(&ddl, &t, Exclusive));
            while t.state.load(Ordering::Relaxed) & WAITERS == 0 {
                std::thread::yield_now();
            }
            mdl.lock(&reader, &t, Write).unwrap();
            mdl.release_all(&reader);
            upgrade.join().unwrap().unwrap();
        });
        assert!(mdl.holds(&ddl, &t, Exclusive));
    }

    /// DDL that waits for other DDL to end holds no statement back, but other DDL.
    #[test]
    fn who_waits_to_be_upgradable_lets_statements_pass() {
        use MdlMode::*;
        let locks = Arc::new(LockSystem::new());
        let mdl = MdlSystem::new(locks.clone());
        let registry = Arc::new(Registry::default());
        let o: Vec<_> = (0..3).map(|_| registry.owner(Weak::new())).collect();
        let (build, second, other) = (&o[0], &o[1], &o[2]);
        other.set_metadata_timeout(0);
        let t = mdl.get("db\0t");
        mdl.lock(build, &t, Upgradable).unwrap();
        std::thread::scope(|s| {
            let waiter = s.spawn(|| mdl.lock(second, &t, Upgradable));
            while locks.stats().metadata_waiting == 0 {
                std::thread::yield_now();
            }
            for mode in [Shared, Write, ReadOnly] {
                mdl.lock(other, &t, mode).unwrap();
                mdl.release_all(other);
            }
            for mode in [Upgradable, NoWrite, Exclusive] {
                assert!(mdl.lock(other, &t, mode).is_err());
            }
            // Nor does it keep the build from its end.
            mdl.lock(build, &t, Exclusive).unwrap();
            mdl.release_all(build);
            waiter.join().unwrap().unwrap();
        });
        mdl.release_all(second);
        assert_eq!(t.state.load(Ordering::Relaxed), 0);
    }

    /// What is done in the middle of a wait costs the waiter neither its place nor what is granted meanwhile.
    #[test]
    fn an_upgrade_does_other_things_while_it_waits() {
        use MdlMode::*;
        let mdl = MdlSystem::new(Arc::new(LockSystem::new()));
        let registry = Arc::new(Registry::default());
        let (ddl, reader) = (registry.owner(Weak::new()), registry.owner(Weak::new()));
        let t = mdl.get("db\0t");
        mdl.lock(&ddl, &t, Upgradable).unwrap();
        mdl.lock(&reader, &t, Shared).unwrap();
        let time = (Duration::MAX, Duration::ZERO);
        let failed = mdl.upgrade(&ddl, &t, time, || Err(Error::RowLogFull));
        assert!(matches!(failed, Err(Error::RowLogFull)));
        assert!(t.queue.lock().is_empty() && !mdl.holds(&ddl, &t, Exclusive));
        let mut calls = 0;
        let granted = mdl.upgrade(&ddl, &t, time, || {
            assert_eq!(t.queue.lock().len(), 1);
            calls += 1;
            if calls == 3 {
                mdl.release_all(&reader);
            }
            Ok(())
        });
        granted.unwrap();
        assert_eq!(calls, 3);
        assert!(mdl.holds(&ddl, &t, Exclusive));
    }

    /// Who waits for what an upgrade keeps meanwhile would wait on, however often it is begun again.
    #[test]
    fn who_waits_for_what_an_upgrade_holds_is_the_victim() {
        use MdlMode::*;
        for upgrade_first in [true, false] {
            let locks = Arc::new(LockSystem::new());
            let mdl = MdlSystem::new(locks.clone());
            let registry = Arc::new(Registry::default());
            let (ddl, writer) = (registry.owner(Weak::new()), registry.owner(Weak::new()));
            let t = mdl.get("db\0t");
            mdl.lock(&ddl, &t, NoWrite).unwrap();
            mdl.lock(&writer, &t, Shared).unwrap();
            writer.changes.store(5, Ordering::Relaxed);
            let upgrade = || mdl.upgrade(&ddl, &t, (Duration::MAX, Duration::MAX), || Ok(()));
            let write = || {
                let refused = mdl.lock(&writer, &t, Write);
                mdl.release_all(&writer);
                refused
            };
            let waits = || {
                while locks.stats().metadata_waiting == 0 {
                    std::thread::yield_now();
                }
            };
            let (upgraded, refused) = std::thread::scope(|s| match upgrade_first {
                true => {
                    let upgraded = s.spawn(upgrade);
                    waits();
                    let refused = write();
                    (upgraded.join().unwrap(), refused)
                }
                false => {
                    let refused = s.spawn(write);
                    waits();
                    let upgraded = upgrade();
                    (upgraded, refused.join().unwrap())
                }
            });
            assert!(matches!(refused, Err(Error::Deadlock)));
            upgraded.unwrap();
            assert_eq!(locks.stats().deadlocks, 1);
        }
    }

    #[test]
    fn read_only_locks_let_readers_pass() {
        use MdlMode::*;
        let mdl = MdlSystem::new(Arc::new(LockSystem::new()));
        let registry = Arc::new(Registry::default());
        let o: Vec<_> = (0..3).map(|_| registry.owner(Weak::new())).collect();
        o.iter().for_each(|o| o.set_metadata_timeout(0));
        let t = mdl.get("db\0t");
        let modes = [Shared, Write, ReadOnly, Upgradable, NoWrite, Exclusive];
        for (held, asked, goes) in [
            (Shared, Shared, true),
            (Shared, Write, true),
            (Shared, ReadOnly, true),
            (Write, Shared, true),
            (Write, Write, true),
            (Write, ReadOnly, false),
            (ReadOnly, Shared, true),
            (ReadOnly, Write, false),
            (ReadOnly, ReadOnly, true),
            (Shared, Upgradable, true),
            (Write, Upgradable, true),
            (ReadOnly, Upgradable, true),
            (Upgradable, Shared, true),
            (Upgradable, Write, true),
            (Upgradable, ReadOnly, true),
            (Upgradable, Upgradable, false),
            (Upgradable, NoWrite, false),
            (NoWrite, Shared, true),
            (NoWrite, Write, false),
            (NoWrite, ReadOnly, true),
            (NoWrite, Upgradable, false),
            (NoWrite, NoWrite, false),
            (Write, NoWrite, false),
            (ReadOnly, NoWrite, true),
        ] {
            mdl.lock(&o[0], &t, held).unwrap();
            assert_eq!(
                mdl.lock(&o[1], &t, asked).is_ok(),
                goes,
                "{held:?} {asked:?}"
            );
            mdl.release_all(&o[0]);
            mdl.release_all(&o[1]);
        }
        for m in modes {
            mdl.lock(&o[0], &t, m).unwrap();
            assert!(mdl.lock(&o[1], &t, Exclusive).is_err(), "{m:?}");
            mdl.release_all(&o[0]);
            mdl.lock(&o[0], &t, Exclusive).unwrap();
            assert!(mdl.lock(&o[1], &t, m).is_err(), "{m:?}");
            mdl.release_all(&o[0]);
        }
        // What an owner holds does not stand in its own way, and nothing of it is left.
        for a in modes {
            for b in modes {
                mdl.lock(&o[0], &t, a).unwrap();
                mdl.lock(&o[0], &t, b).unwrap();
                assert!(mdl.holds(&o[0], &t, a) && mdl.holds(&o[0], &t, b));
                mdl.release_all(&o[0]);
                assert_eq!(t.state.load(Ordering::Relaxed), 0, "{a:?} {b:?}");
            }
        }
        // A reader becomes a writer beside other readers.
        mdl.lock(&o[0], &t, Shared).unwrap();
        mdl.lock(&o[1], &t, Shared).unwrap();
        mdl.lock(&o[0], &t, Write).unwrap();
        assert!(mdl.lock(&o[2], &t, ReadOnly).is_err());
        mdl.release_all(&o[0]);
        mdl.lock(&o[2], &t, ReadOnly).unwrap();
        assert!(mdl.lock(&o[1], &t, Write).is_err());
        mdl.release_all(&o[1]);
        mdl.release_all(&o[2]);
        assert_eq!(t.state.load(Ordering::Relaxed), 0);
    }
}
