//! B+trees over pages: byte-string keys in `memcmp` order, byte-string values.
//!
//! A tree is one [`Space`](crate::space::Space) and a root page that never moves (0: the tree has
//! no page yet). Reads couple shared latches downward. Writes go down the same way and latch only
//! the leaf exclusively; where a leaf lacks room it is split first, as a mini-transaction of its own
//! that couples exclusive latches from the root, and the write starts again. A child that is not
//! resident is pinned with no latch held and the descent restarts.

use crate::error::Result;
use crate::page::PageNo;
use crate::pool::{Mtr, Pager};
use crate::space::Space;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Longest key (bytes): four must fit an inner page beside their children.
pub const MAX_KEY: usize = 3500;
/// Longest key plus value in a leaf (bytes): two must fit one page. Longer values spill to overflow pages
/// above this layer.
pub const MAX_ENTRY: usize = 8000;

/// Scan direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dir {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// A B+tree.
pub struct Tree {}

/// Why a leaf scan ended.
#[derive(Debug, PartialEq, Eq)]
pub enum ScanEnd {
    /// The visitor broke off.
    Stopped,
    /// This leaf is exhausted; continue with the given (exclusive) bound.
    More,
    /// No further entries in this direction.
    End,
}

/// What an edit closure sees: the exclusively latched leaf where the key is or belongs, with room for the
/// promised bytes.
pub struct LeafEdit<'e, 'a> {
    _p: std::marker::PhantomData<(&'e (), &'a ())>,
}

impl<'e, 'a> LeafEdit<'e, 'a> {
    /// Value under the key, if it is there.
    pub fn value(&self) -> Option<&[u8]> {
        todo!()
    }
    /// Inserts the key (it must be absent) with this value.
    pub fn insert(&mut self, _value: &[u8]) {
        todo!()
    }
    /// Replaces the value (the key must be present); logs only the differing middle.
    pub fn replace(&mut self, _value: &[u8]) {
        todo!()
    }
    /// Overwrites bytes within the value (the key must be present).
    pub fn patch(&mut self, _offset: usize, _data: &[u8]) {
        todo!()
    }
    /// Removes the key (it must be present).
    pub fn remove(&mut self) {
        todo!()
    }
    /// The mini-transaction, e.g. to append undo in the same group. Tree pages must not be latched through it.
    pub fn mtr(&mut self) -> &mut Mtr<'a> {
        todo!()
    }
}

impl Tree {
    /// A tree over an existing root (0: empty, no page yet).
    pub fn new(_pager: &Arc<Pager>, _space: Arc<Space>, _root: PageNo) -> Tree {
        todo!()
    }
    /// Root page (0: none yet).
    pub fn root(&self) -> PageNo {
        todo!()
    }
    /// Allocates the root in `mtr`; the caller records the number in the catalog in the same `mtr`,
    /// and calls [`Tree::set_root`] after commit.
    pub fn alloc_root(&self, _mtr: &mut Mtr<'_>) -> Result<PageNo> {
        todo!()
    }
    /// Publishes the root number.
    pub fn set_root(&self, _root: PageNo) {
        todo!()
    }
    /// Point lookup: `f` sees the value under the leaf's shared latch. It must be short: no I/O, no waits.
    pub fn get<R>(&self, _key: &[u8], _f: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        todo!()
    }
    /// Visits entries of ONE leaf from `from` on, under its shared latch (`f` must be short: no I/O,
    /// no waits; it may take the lock table's mutexes). `ScanEnd::More` leaves in `resume` the key to continue
    /// from, exclusively. An unbounded `from` starts at the first (Forward) or last (Backward) entry.
    pub fn scan_leaf(
        &self,
        _from: Bound<&[u8]>,
        _dir: Dir,
        _resume: &mut Vec<u8>,
        _f: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<ScanEnd> {
        todo!()
    }
    /// Edits the leaf where `key` is or belongs. `need` is the most the edit may add in bytes (key,
    /// value and slot counted by the tree; pass the new value's length, or 0 for a removal). `f` runs
    /// exactly once, under the leaf's exclusive latch; whatever it did is committed as one group. An `Err` from `f`
    /// is allowed only if it changed nothing.
    pub fn edit<R>(
        &self,
        _key: &[u8],
        _need: usize,
        _f: impl FnOnce(&mut LeafEdit<'_, '_>) -> Result<R>,
    ) -> Result<R> {
        todo!()
    }
}
