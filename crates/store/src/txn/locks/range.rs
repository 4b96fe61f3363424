//! Key ranges locked against insertion by others (gap and next-key locks).
//!
//! Ranges of different owners may overlap; per tree they are kept as disjoint segments `[start, end)`, each with the set
//! of its owners, neighbours with equal sets merged. Any bound over byte strings is a position: "just after `k`" is
//! `k` followed by a zero byte, so half-open segments say everything.
//!
//! An owner remembers the union of what it locked as intervals; it releases all of them at once, which is
//! why a segment may be merged across the borders of remembered intervals.

use super::super::{Locked, Owner};
use super::Key;
use crate::space::SpaceId;
use crate::wait::{self, Class};
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const SHARDS: usize = 64;

/// An interval an owner has locked in a tree.
#[derive(Debug)]
pub(in super::super) struct RangeRef {
    tree: SpaceId,
    start: Key,
    /// `None`: to the end of the tree.
    end: Option<Key>,
}

impl RangeRef {
    /// It, for a listing.
    pub(in super::super) fn locked(&self) -> Locked {
        Locked::Range {
            space: self.tree,
            start: self.start.to_vec(),
            end: self.end.as_ref().map(|end| end.to_vec()),
        }
    }

    /// Whether a key may not be inserted for it.
    pub(in super::super) fn covers(&self, tree: SpaceId, key: &[u8]) -> bool {
        let before_end = self.end.as_ref().is_none_or(|end| *key < end[..]);
        self.tree == tree && self.start[..] <= *key && before_end
    }
}

struct Segment {
    end: Option<Key>,
    /// Sorted.
    owners: SmallVec<[u32; 4]>,
}

struct Inserter {
    owner: Arc<Owner>,
    key: Key,
}

#[derive(Default)]
struct TreeRanges {
    segments: BTreeMap<Key, Segment>,
    waiters: Vec<Inserter>,
}

#[derive(Default)]
#[repr(align(128))]
struct Shard {
    /// Trees in the map. An inserter reads it without the mutex: the leaf's latch orders it after any
    /// `lock_gap` on that leaf.
    trees_count: AtomicUsize,
    trees: wait::Mutex<HashMap<SpaceId, TreeRanges>, { Class::LockTable as usize }>,
}

pub(super) struct Ranges {
    shards: Box<[Shard]>,
}

/// Where a range with this lower bound starts.
pub(super) fn position_of_lower(bound: Bound<&[u8]>) -> Key {
    match bound {
        Bound::Unbounded => Key::new(),
        Bound::Included(k) => Key::from_slice(k),
        Bound::Excluded(k) => successor(k),
    }
}

/// Where a range with this upper bound ends; `None`: nowhere.
pub(super) fn position_of_upper(bound: Bound<&[u8]>) -> Option<Key> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included(k) => Some(successor(k)),
        Bound::Excluded(k) => Some(Key::from_slice(k)),
    }
}

/// The least byte string greater than `k`.
fn successor(k: &[u8]) -> Key {
    let mut key = Key::with_capacity(k.len() + 1);
    key.extend_from_slice(k);
    key.push(0);
    key
}

/// Whether an end (exclusive) lies at or after a position.
fn reaches(end: Option<&Key>, position: &[u8]) -> bool {
    end.is_none_or(|end| end[..] >= *position)
}

/// The later of two ends.
fn later(a: Option<Key>, b: Option<Key>) -> Option<Key> {
    Some(a?.max(b?))
}

/// Adds an interval to an owner's list, growing the last one if they touch.
pub(super) fn remember(list: &mut Vec<RangeRef>, tree: SpaceId, start: Key, end: Option<Key>) {
    if let Some(last) = list.last_mut()
        && last.tree == tree
        && reaches(last.end.as_ref(), &start)
        && reaches(end.as_ref(), &last.start)
    {
        if start < last.start {
            last.start = start;
        }
        last.end = later(last.end.take(), end);
        return;
    }
    list.push(RangeRef { tree, start, end });
}

impl Ranges {
    pub(super) fn new() -> Ranges {
        Ranges {
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
        }
    }

    #[inline]
    fn shard(&self, tree: SpaceId) -> &Shard {
        // Space ids are handed out in sequence.
        &self.shards[tree.0 as usize % SHARDS]
    }

    /// Locks `[start, end)`; `false` if the owner has locked all of it already.
    pub(super) fn add(&self, no: u32, tree: SpaceId, start: &Key, end: Option<&Key>) -> bool {
        let shard = self.shard(tree);
        let mut trees = shard.trees.lock();
        let ranges = trees.entry(tree).or_default();
        let added = ranges.add(no, start, end);
        shard.trees_count.store(trees.len(), Ordering::Release);
        added
    }

    #[inline]
    pub(super) fn may_insert(&self, no: u32, tree: SpaceId, key: &[u8]) -> bool {
        let shard = self.shard(tree);
        if shard.trees_count.load(Ordering::Acquire) == 0 {
            return true;
        }
        let trees = shard.trees.lock();
        trees
            .get(&tree)
            .is_none_or(|ranges| !ranges.blocked(no, key))
    }

    /// Queues an inserter unless it may go on at once (`false`).
    pub(super) fn enqueue(&self, owner: &Arc<Owner>, tree: SpaceId, key: &[u8]) -> bool {
        let mut trees = self.shard(tree).trees.lock();
        let Some(ranges) = trees.get_mut(&tree) else {
            return false;
        };
        if !ranges.blocked(owner.no(), key) {
            return false;
        }
        owner.prepare_wait();
        ranges.waiters.push(Inserter {
            owner: owner.clone(),
            key: Key::from_slice(key),
        });
        true
    }

    /// Leaves the queue. `true`: it had been granted meanwhile.
    pub(super) fn cancel(&self, no: u32, tree: SpaceId) -> bool {
        let mut trees = self.shard(tree).trees.lock();
        let Some(ranges) = trees.get_mut(&tree) else {
            return true;
        };
        match ranges.waiters.iter().position(|w| w.owner.no() == no) {
            Some(i) => {
                ranges.waiters.swap_remove(i);
                false
            }
            None => true,
        }
    }

    /// Releases everything an owner has locked.
    pub(super) fn remove(&self, no: u32, mut list: Vec<RangeRef>) {
        list.sort_unstable_by_key(|r| r.tree);
        for of_tree in list.chunk_by(|a, b| a.tree == b.tree) {
            let tree = of_tree[0].tree;
            let shard = self.shard(tree);
            let mut trees = shard.trees.lock();
            let Some(ranges) = trees.get_mut(&tree) else {
                continue;
            };
            for r in of_tree {
                ranges.remove(no, &r.start, r.end.as_ref());
            }
            ranges.grant_inserters();
            if ranges.segments.is_empty() {
                debug_assert!(ranges.waiters.is_empty());
                trees.remove(&tree);
                if trees.is_empty() {
                    trees.shrink_to_fit();
                }
                shard.trees_count.store(trees.len(), Ordering::Release);
            }
        }
    }

    /// Whose ranges keep the owner from inserting.
    pub(super) fn blockers(&self, no: u32, tree: SpaceId, key: &[u8], out: &mut Vec<u32>) {
        let trees = self.shard(tree).trees.lock();
        let Some(ranges) = trees.get(&tree) else {
            return;
        };
        if !ranges.waiters.iter().any(|w| w.owner.no() == no) {
            return;
        }
        if let Some(segment) = ranges.covering(key) {
            out.extend(segment.owners.iter().filter(|&&o| o != no));
        }
    }

    #[cfg(test)]
    pub(super) fn segments(&self) -> usize {
        self.shards
            .iter()
            .map(|s| {
                let trees = s.trees.lock();
                trees.values().map(|t| t.segments.len()).sum::<usize>()
            })
            .sum()
    }
}

impl TreeRanges {
    /// The segment that covers a key.
    fn covering(&self, key: &[u8]) -> Option<&Segment> {
        let up_to = (Bound::Unbounded, Bound::Included(key));
        let (_, segment) = self.segments.range::<[u8], _>(up_to).next_back()?;
        // An end equal to the key is not past it.
        segment
            .end
            .as_ref()
            .is_none_or(|end| end[..] > *key)
            .then_some(segment)
    }

    fn blocked(&self, no: u32, key: &[u8]) -> bool {
        self.covering(key)
            .is_some_and(|s| s.owners.iter().any(|&o| o != no))
    }

    fn add(&mut self, no: u32, start: &Key, end: Option<&Key>) -> bool {
        let from_start = (Bound::Excluded(start), Bound::Unbounded);
        let next = self.segments.range::<Key, _>(from_start).next();
        let next_is_beyond = next.is_none_or(|(next, _)| end.is_some_and(|end| end < next));
        let up_to_start = (Bound::Unbounded, Bound::Included(start));
        if let Some((_, before)) = self.segments.range_mut::<Key, _>(up_to_start).next_back() {
            let own = before.owners.contains(&no);
            let holds_end = match (&before.end, end) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(have), Some(end)) => have >= end,
            };
            if own && holds_end {
                return false;
            }
            // A scan going on: the last range grows into free room.
            if own
                && before.owners.len() == 1
                && next_is_beyond
                && reaches(before.end.as_ref(), start)
            {
                before.end = end.cloned();
                return true;
            }
        }
        self.split(start);
        if let Some(end) = end {
            self.split(end);
        }
        let upper = end.map_or(Bound::Unbounded, Bound::Excluded);
        let mut holes: SmallVec<[(Key, Option<Key>); 4]> = SmallVec::new();
        let mut position = Some(start.clone());
        for (at, segment) in self
            .segments
            .range_mut::<Key, _>((Bound::Included(start), upper))
        {
            let from = position.expect("an endless segment is the last");
            if from < *at {
                holes.push((from, Some(at.clone())));
            }
            if let Err(i) = segment.owners.binary_search(&no) {
                segment.owners.insert(i, no);
            }
            position = segment.end.clone();
        }
        if let Some(from) = position
            && end.is_none_or(|end| from < *end)
        {
            holes.push((from, end.cloned()));
        }
        for (from, to) in holes {
            let owners = SmallVec::from_slice(&[no]);
            self.segments.insert(from, Segment { end: to, owners });
        }
        self.merge(start, end);
        true
    }

    /// Takes the owner off every segment that starts in `[start, end)`.
    fn remove(&mut self, no: u32, start: &Key, end: Option<&Key>) {
        let upper = end.map_or(Bound::Unbounded, Bound::Excluded);
        let mut empty: SmallVec<[Key; 4]> = SmallVec::new();
        for (at, segment) in self
            .segments
            .range_mut::<Key, _>((Bound::Included(start), upper))
        {
            segment.owners.retain(|o| *o != no);
            if segment.owners.is_empty() {
                empty.push(at.clone());
            }
        }
        for at in empty {
            self.segments.remove(&at);
        }
        self.merge(start, end);
    }

    /// Makes a border at a position inside a segment.
    fn split(&mut self, at: &Key) {
        let up_to = (Bound::Unbounded, Bound::Excluded(at));
        let Some((_, segment)) = self.segments.range_mut::<Key, _>(up_to).next_back() else {
            return;
        };
        if segment.end.as_ref().is_some_and(|end| end <= at) {
            return;
        }
        let right = Segment {
            end: segment.end.replace(at.clone()),
            owners: segment.owners.clone(),
        };
        self.segments.insert(at.clone(), right);
    }

    /// Merges touching segments of equal owners, from the one before `start` to the one at `end`.
    fn merge(&mut self, start: &Key, end: Option<&Key>) {
        let before = (Bound::Unbounded, Bound::Excluded(start));
        let first = self
            .segments
            .range::<Key, _>(before)
            .next_back()
            .map_or_else(|| start.clone(), |(at, _)| at.clone());
        let upper = end.map_or(Bound::Unbounded, Bound::Included);
        let mut gone: SmallVec<[Key; 4]> = SmallVec::new();
        let mut last: Option<&mut Segment> = None;
        for (at, segment) in self
            .segments
            .range_mut::<Key, _>((Bound::Included(&first), upper))
        {
            match last {
                Some(ref mut l) if l.end.as_ref() == Some(at) && l.owners == segment.owners => {
                    l.end = segment.end.take();
                    gone.push(at.clone());
                }
                _ => last = Some(segment),
            }
        }
        for at in gone {
            self.segments.remove(&at);
        }
    }

    fn grant_inserters(&mut self) {
        let mut waiters = std::mem::take(&mut self.waiters);
        waiters.retain(|w| {
            let blocked = self.blocked(w.owner.no(), &w.key);
            if !blocked {
                w.owner.grant();
            }
            blocked
        });
        self.waiters = waiters;
    }
}
