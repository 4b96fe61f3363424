//! Point locks: one entry per locked key, in hash shards.
//!
//! An entry lives from its first holder's grant until the last holder is gone; it has waiters only while
//! it has holders. The common entry has one holder, inline; further holders and waiters are in a box. Entries
//! are 56 bytes in chunks that never move, so a million locked rows cost about 75 MB; a shard that becomes empty
//! gives its chunks back.
//!
//! Two owners may hold a key in modes that conflict. A lock is asked for without a latch, so its key may get a row
//! between the look at it and the grant, whose writer holds it implicitly. The look after the grant makes that explicit
//! ([`Points::impose`]), beside the lock granted. Whoever holds that one asks again and must wait for the writer: what one
//! holds is enough only if no other holder is in the way. It keeps its place among the holders while it waits, first in
//! line. To take it away instead would be to search what its owner remembers, and those queued behind it would each go through the same.

use super::super::{LockMode, Owner};
use super::{Key, conflict};
use crate::space::SpaceId;
use crate::wait::{self, Class};
use hashbrown::{DefaultHashBuilder, HashTable};
use smallvec::SmallVec;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const SHARD_BITS: u32 = 7;
const SHARDS: usize = 1 << SHARD_BITS;
const SLOT_BITS: u32 = 32 - SHARD_BITS;
/// Entries per chunk.
const CHUNK: usize = 32;
/// Ends a shard's list of free slots.
const NO_SLOT: u32 = u32::MAX;

/// Names an entry: shard and slot. Valid while the bearer holds or awaits the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct PointRef(u32);

impl PointRef {
    fn new(shard: usize, slot: u32) -> PointRef {
        assert!(slot >> SLOT_BITS == 0, "more row locks than can be named");
        PointRef((shard as u32) << SLOT_BITS | slot)
    }
    fn shard(self) -> usize {
        (self.0 >> SLOT_BITS) as usize
    }
    fn slot(self) -> u32 {
        self.0 & ((1 << SLOT_BITS) - 1)
    }
}

/// Outcome of a request.
#[derive(Debug)]
pub(super) enum Request {
    /// Granted; remember the reference.
    New(PointRef),
    /// Held before, now at least as strong.
    Held,
    /// In conflict, not queued.
    Busy,
    /// In conflict, queued: the owner must wait and then, unless granted, cancel. `upgrade`: it holds a lock already.
    Queued { at: PointRef, upgrade: bool },
}

#[derive(Clone, Copy, Debug)]
struct Holder {
    no: u32,
    mode: LockMode,
}

struct Waiter {
    owner: Arc<Owner>,
    /// The owner's number, here too so that a queue is searched without going to each.
    no: u32,
    mode: LockMode,
}

#[derive(Default)]
struct Queue {
    holders: SmallVec<[Holder; 4]>,
    waiters: Vec<Waiter>,
}

struct Entry {
    tree: SpaceId,
    key: Key,
    more: Option<Box<Queue>>,
    hash: u32,
    /// First holder; in a free slot its `no` is the next free slot.
    no: u32,
    mode: LockMode,
}

const _: () = assert!(std::mem::size_of::<Entry>() <= 56);

#[derive(Default)]
struct Shard {
    table: HashTable<u32>,
    chunks: Vec<Vec<Entry>>,
    free: Option<u32>,
    /// Entries that came, less those that went, of which the total does not know.
    uncounted: i64,
}

#[repr(align(128))]
struct Padded(wait::Mutex<Shard, { Class::LockTable as usize }>);

pub(super) struct Points {
    hasher: DefaultHashBuilder,
    shards: Box<[Padded]>,
    /// Entries in all shards, give or take [`COUNTED_AT`] for each.
    total: AtomicI64,
}

/// A shard's entries are counted by so many, so that the total is seldom written.
const COUNTED_AT: i64 = 64;
/// What an entry takes with what refers to it, bytes, unless its key is long.
pub(super) const ENTRY_BYTES: u64 = 80;

fn stronger(a: LockMode, b: LockMode) -> LockMode {
    match a {
        LockMode::Exclusive => a,
        LockMode::Shared => b,
    }
}

/// The table hashes with what an entry keeps of its hash: 32 bits, spread over 64 again.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Points {
    pub(super) fn new() -> Points {
        let shards = (0..SHARDS)
            .map(|_| Padded(wait::Mutex::default()))
            .collect();
        Points {
            hasher: DefaultHashBuilder::default(),
            shards,
            total: AtomicI64::new(0),
        }
    }

    /// About how many entries there are.
    pub(super) fn total(&self) -> u64 {
        u64::try_from(self.total.load(Ordering::Relaxed)).unwrap_or(0)
    }

    #[inline]
    fn count(&self, shard: &mut Shard, change: i64) {
        shard.uncounted += change;
        if shard.uncounted.abs() >= COUNTED_AT {
            let change = std::mem::take(&mut shard.uncounted);
            self.total.fetch_add(change, Ordering::Relaxed);
        }
    }

    /// Shard and the hash kept in the entry.
    #[inline]
    fn locate(&self, tree: SpaceId, key: &[u8]) -> (usize, u32) {
        let h = self.hasher.hash_one((tree.0, key));
        ((h >> (64 - SHARD_BITS)) as usize, h as u32)
    }

    pub(super) fn request(
        &self,
        owner: &Arc<Owner>,
        tree: SpaceId,
        key: &[u8],
        mode: LockMode,
        queue: bool,
    ) -> Request {
        let no = owner.no();
        let (s, hash) = self.locate(tree, key);
        let mut shard = self.shards[s].0.lock();
        let Some(slot) = shard.find(hash, tree, key) else {
            let slot = shard.insert(hash, tree, key, Holder { no, mode });
            self.count(&mut shard, 1);
            return Request::New(PointRef::new(s, slot));
        };
        let at = PointRef::new(s, slot);
        let entry = shard.entry_mut(slot);
        let upgrade = entry.mode_of(no).is_some();
        // Whoever has a lock on the key passes the queue: the others wait for it anyway.
        if !entry.blocked_by_holders(no, mode)
            && (upgrade || !entry.blocked_by_waiters(usize::MAX, mode))
        {
            entry.hold(no, mode);
            return if upgrade {
                Request::Held
            } else {
                Request::New(at)
            };
        }
        if !queue {
            return Request::Busy;
        }
        owner.prepare_wait();
        let waiter = Waiter {
            owner: owner.clone(),
            no,
            mode,
        };
        if upgrade {
            let first = entry
                .waiters()
                .iter()
                .position(|w| entry.mode_of(w.no).is_none())
                .unwrap_or(entry.waiters().len());
            entry.queue().waiters.insert(first, waiter);
        } else {
            entry.queue().waiters.push(waiter);
        }
        Request::Queued { at, upgrade }
    }

    /// Takes the owner off the holders and grants what that permits.
    pub(super) fn release(&self, at: PointRef, no: u32) {
        let mut shard = self.shards[at.shard()].0.lock();
        let entry = shard.entry_mut(at.slot());
        if entry.more.is_none() {
            debug_assert_eq!(entry.no, no);
            shard.remove(at.slot());
            self.count(&mut shard, -1);
            return;
        }
        let Some(left) = entry.unhold(no) else {
            return;
        };
        if left == 0 && entry.waiters().is_empty() {
            shard.remove(at.slot());
            self.count(&mut shard, -1);
        } else {
            entry.grant_waiters();
        }
    }

    /// Leaves the queue. `true`: the lock had been granted meanwhile (and is held).
    pub(super) fn cancel(&self, at: PointRef, no: u32) -> bool {
        let mut shard = self.shards[at.shard()].0.lock();
        let entry = shard.entry_mut(at.slot());
        let Some(i) = entry.waiters().iter().position(|w| w.no == no) else {
            return true;
        };
        entry.queue().waiters.remove(i);
        entry.grant_waiters();
        false
    }

    /// Makes the owner hold the key exclusively, whoever else holds it. A reference to remember, unless the owner
    /// held the key already.
    pub(super) fn impose(&self, no: u32, tree: SpaceId, key: &[u8]) -> Option<PointRef> {
        let (s, hash) = self.locate(tree, key);
        let mut shard = self.shards[s].0.lock();
        let mode = LockMode::Exclusive;
        match shard.find(hash, tree, key) {
            None => {
                let slot = shard.insert(hash, tree, key, Holder { no, mode });
                self.count(&mut shard, 1);
                Some(PointRef::new(s, slot))
            }
            Some(slot) => {
                let entry = shard.entry_mut(slot);
                let before = entry.mode_of(no);
                if before != Some(mode) {
                    entry.hold(no, mode);
                }
                before.is_none().then(|| PointRef::new(s, slot))
            }
        }
    }

    pub(super) fn find(&self, no: u32, tree: SpaceId, key: &[u8]) -> Option<PointRef> {
        let (s, hash) = self.locate(tree, key);
        let shard = self.shards[s].0.lock();
        let slot = shard.find(hash, tree, key)?;
        shard.entry(slot).mode_of(no)?;
        Some(PointRef::new(s, slot))
    }

    pub(super) fn mode_of(&self, no: u32, tree: SpaceId, key: &[u8]) -> Option<LockMode> {
        let (s, hash) = self.locate(tree, key);
        let shard = self.shards[s].0.lock();
        shard.entry(shard.find(hash, tree, key)?).mode_of(no)
    }

    /// Whether an owner other than `no` holds a lock on the key.
    #[inline]
    pub(super) fn others_hold(&self, no: u32, tree: SpaceId, key: &[u8]) -> bool {
        let (s, hash) = self.locate(tree, key);
        let shard = self.shards[s].0.lock();
        let slot = shard.find(hash, tree, key);
        slot.is_some_and(|slot| {
            shard
                .entry(slot)
                .blocked_by_holders(no, LockMode::Exclusive)
        })
    }

    /// Shows `f` the entry at `at` and the owner's place among its waiters, if it waits there.
    fn waiting(&self, at: PointRef, no: u32, f: impl FnOnce(&Entry, usize)) {
        let shard = self.shards[at.shard()].0.lock();
        let Some(entry) = shard.get(at.slot()) else {
            return;
        };
        // Who has just begun to wait is the last.
        if let Some(i) = entry.waiters().iter().rposition(|w| w.no == no) {
            f(entry, i);
        }
    }

    /// Whom the owner, if it waits at `at`, waits for.
    pub(super) fn blockers(&self, at: PointRef, no: u32, out: &mut Vec<u32>) {
        self.waiting(at, no, |entry, i| {
            let waiters = entry.waiters();
            let mode = waiters[i].mode;
            out.extend(entry.in_the_way(no, mode));
            let before = waiters[..i].iter().filter(|w| conflict(w.mode, mode));
            out.extend(before.map(|w| w.no));
        });
    }

    /// The same as far as it matters to a cycle through `start`: holders, and `start` if that waits before it.
    ///
    /// Other waiters before it are left out, for each waits nowhere but here: all ways on from them lead to holders, those of all modes
    /// where one of them wants the key exclusively. So the edges are as many as there are holders, however long the queue is. `waits` tells
    /// whether an owner's wait counts: the way on from one that is about to leave, or is yet to be looked at itself, is none.
    pub(super) fn edges(
        &self,
        at: PointRef,
        no: u32,
        start: u32,
        waits: &dyn Fn(u32) -> bool,
        out: &mut Vec<u32>,
    ) {
        let exclusive = |list: &[Waiter]| {
            list.iter()
                .any(|w| w.mode == LockMode::Exclusive && waits(w.no))
        };
        self.waiting(at, no, |entry, i| {
            let (before, own) = (&entry.waiters()[..i], entry.waiters()[i].mode);
            // The strongest mode of what it waits behind, itself included.
            let mode = match own {
                LockMode::Shared if exclusive(before) => LockMode::Exclusive,
                mode => mode,
            };
            out.extend(entry.in_the_way(no, mode));
            if start != no
                && let Some(s) = before.iter().position(|w| w.no == start)
                && (conflict(before[s].mode, own) || exclusive(&before[s + 1..]))
            {
                out.push(start);
            }
        });
    }

    /// Tree, key and mode of what an owner holds at `at`, unless it was released meanwhile.
    pub(super) fn held_at(&self, at: PointRef, no: u32) -> Option<(SpaceId, Key, LockMode)> {
        let shard = self.shards[at.shard()].0.lock();
        let entry = shard.get(at.slot())?;
        // A free slot is in no table.
        if shard.find(entry.hash, entry.tree, &entry.key) != Some(at.slot()) {
            return None;
        }
        let mode = entry.mode_of(no)?;
        Some((entry.tree, entry.key.clone(), mode))
    }

    /// Tree, key and mode an owner waits for at `at`.
    pub(super) fn describe(&self, at: PointRef, no: u32) -> Option<(SpaceId, Key, LockMode)> {
        let shard = self.shards[at.shard()].0.lock();
        let entry = shard.get(at.slot())?;
        let waiter = entry.waiters().iter().find(|w| w.no == no)?;
        Some((entry.tree, entry.key.clone(), waiter.mode))
    }

    #[cfg(test)]
    pub(super) fn live(&self) -> usize {
        self.shards.iter().map(|s| s.0.lock().table.len()).sum()
    }

    #[cfg(test)]
    pub(super) fn chunks(&self) -> usize {
        self.shards.iter().map(|s| s.0.lock().chunks.len()).sum()
    }
}

impl Shard {
    #[inline]
    fn find(&self, hash: u32, tree: SpaceId, key: &[u8]) -> Option<u32> {
        self.table
            .find(spread(hash), |&slot| {
                let e = self.entry(slot);
                e.hash == hash && e.tree == tree && e.key[..] == *key
            })
            .copied()
    }

    #[inline]
    fn entry(&self, slot: u32) -> &Entry {
        &self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    #[inline]
    fn entry_mut(&mut self, slot: u32) -> &mut Entry {
        &mut self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    /// The entry if the slot still exists (a stale reference may outlive its chunk).
    fn get(&self, slot: u32) -> Option<&Entry> {
        self.chunks
            .get(slot as usize / CHUNK)?
            .get(slot as usize % CHUNK)
    }

    fn insert(&mut self, hash: u32, tree: SpaceId, key: &[u8], holder: Holder) -> u32 {
        let entry = Entry {
            tree,
            key: Key::from_slice(key),
            more: None,
            hash,
            no: holder.no,
            mode: holder.mode,
        };
        let slot = match self.free {
            Some(slot) => {
                let place = self.entry_mut(slot);
                let next = place.no;
                *place = entry;
                self.free = (next != NO_SLOT).then_some(next);
                slot
            }
            None => {
                if self.chunks.last().is_none_or(|c| c.len() == CHUNK) {
                    self.chunks.push(Vec::with_capacity(CHUNK));
                }
                let base = (self.chunks.len() - 1) * CHUNK;
                let last = self.chunks.last_mut().expect("a chunk with room");
                last.push(entry);
                (base + last.len() - 1) as u32
            }
        };
        let chunks = &self.chunks;
        self.table.insert_unique(spread(hash), slot, |&s| {
            spread(chunks[s as usize / CHUNK][s as usize % CHUNK].hash)
        });
        slot
    }

    fn remove(&mut self, slot: u32) {
        let hash = self.entry(slot).hash;
        match self.table.find_entry(spread(hash), |&s| s == slot) {
            Ok(found) => drop(found.remove()),
            Err(_) => unreachable!("an entry is in its shard's table"),
        }
        if self.table.is_empty() && self.chunks.len() > 1 {
            *self = Shard {
                uncounted: self.uncounted,
                ..Shard::default()
            };
            return;
        }
        let next = self.free.unwrap_or(NO_SLOT);
        let entry = self.entry_mut(slot);
        entry.key = Key::new();
        entry.more = None;
        entry.no = next;
        self.free = Some(slot);
    }
}

impl Entry {
    fn holders(&self) -> impl Iterator<Item = Holder> + '_ {
        let first = Holder {
            no: self.no,
            mode: self.mode,
        };
        let more = self.more.as_ref().map_or(&[][..], |q| &q.holders[..]);
        std::iter::once(first).chain(more.iter().copied())
    }

    fn waiters(&self) -> &[Waiter] {
        self.more.as_ref().map_or(&[], |q| &q.waiters)
    }

    fn queue(&mut self) -> &mut Queue {
        self.more.get_or_insert_default()
    }

    #[inline]
    fn mode_of(&self, no: u32) -> Option<LockMode> {
        self.holders().find(|h| h.no == no).map(|h| h.mode)
    }

    /// Holders other than `no` whose locks exclude one of this mode.
    #[inline]
    fn in_the_way(&self, no: u32, mode: LockMode) -> impl Iterator<Item = u32> + '_ {
        let others = self.holders();
        let those = others.filter(move |h| h.no != no && conflict(h.mode, mode));
        those.map(|h| h.no)
    }

    #[inline]
    fn blocked_by_holders(&self, no: u32, mode: LockMode) -> bool {
        self.in_the_way(no, mode).next().is_some()
    }

    /// Whether one of the first `n` waiters is in conflict.
    #[inline]
    fn blocked_by_waiters(&self, n: usize, mode: LockMode) -> bool {
        self.waiters()
            .iter()
            .take(n)
            .any(|w| conflict(w.mode, mode))
    }

    /// Adds a holder, or strengthens it.
    fn hold(&mut self, no: u32, mode: LockMode) {
        if self.no == no {
            self.mode = stronger(self.mode, mode);
            return;
        }
        let queue = self.queue();
        match queue.holders.iter_mut().find(|h| h.no == no) {
            Some(h) => h.mode = stronger(h.mode, mode),
            None => queue.holders.push(Holder { no, mode }),
        }
    }

    /// Takes a holder off; how many are left, `None` if it was none. With nobody left the inline holder is stale until
    /// the entry is removed or a waiter is granted.
    fn unhold(&mut self, no: u32) -> Option<usize> {
        let first = self.no == no;
        let queue = self.queue();
        if first {
            match queue.holders.pop() {
                Some(h) => {
                    let left = queue.holders.len() + 1;
                    (self.no, self.mode) = (h.no, h.mode);
                    Some(left)
                }
                None => {
                    // Nobody has this number, and a shared lock by nobody blocks only until the
                    // caller's grant puts the first waiter in its place.
                    self.no = NO_SLOT;
                    Some(0)
                }
            }
        } else {
            let i = queue.holders.iter().position(|h| h.no == no)?;
            queue.holders.swap_remove(i);
            Some(queue.holders.len() + 1)
        }
    }

    /// Grants every waiter that neither a holder nor an earlier waiter blocks.
    fn grant_waiters(&mut self) {
        let mut i = 0;
        while i < self.waiters().len() {
            let (no, mode) = {
                let w = &self.waiters()[i];
                (w.no, w.mode)
            };
            let vacant = self.no == NO_SLOT;
            if (!vacant && self.blocked_by_holders(no, mode)) || self.blocked_by_waiters(i, mode) {
                if mode == LockMode::Exclusive {
                    // It is in the way of all behind it.
                    break;
                }
                i += 1;
                continue;
            }
            let waiter = self.queue().waiters.remove(i);
            if vacant {
                (self.no, self.mode) = (no, mode);
            } else {
                self.hold(no, mode);
            }
            waiter.owner.grant();
        }
        if self
            .more
            .as_ref()
            .is_some_and(|q| q.holders.is_empty() && q.waiters.is_empty())
        {
            self.more = None;
        }
    }
}
