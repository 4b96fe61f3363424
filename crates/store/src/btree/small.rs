//! Small indexes: they have no root page of their own, their entries lie in a tree that all of them share.
//!
//! The shared tree (`shared`) is a tree like any other, in a space of its own; its keys are the space id of an index, eight bytes, big-endian, and the key in
//! that index. A [`Tree`] whose root is 0 and that has been told of it ([`Tree::sharing`]) finds its entries there. It *moves out* when it gets a
//! root: for good.
//!
//! **One leaf.** Leaves of the shared tree are split where two indexes meet and nowhere else, and merged whole, so the entries of an index
//! lie in one leaf, and any separator tells indexes apart by their ids alone. There is always a place to split at: an index that needs room in a
//! full leaf of which it has a quarter moves out instead, and so does one that is to get an entry of more than a quarter of a page. Whoever
//! holds that leaf's latch holds all there is of the index.
//!
//! **Moving out** is one mini-transaction: where the root's number is recorded is latched, then the leaf; the entries go into a new page, the number is
//! written ([`super::Roots`]), and [`Tree::set_root`] publishes it before any latch is released. So whoever has the leaf's latch and finds the root to be 0
//! sees all entries, and who finds another number goes to the tree of the index's own. Nothing else can be stale: hints are good for a page of
//! a space and an LSN, cursors go on by key, and what the hash index says is checked.
//!
//! **Failure.** A move that finds no room is an error to whoever needs it; nothing has changed then.

use super::descend::Resident;
use super::edit::{Found, LeafEdit, LeafHint, Place as EditPlace, has_room};
use super::scan::{Dir, ScanEnd, Visit};
use super::shared::{Missing, PREFIX, QUARTER, Shared, bytes_of, entries_of, full_key};
use super::{Checked, MAX_KEY, Tree};
use crate::error::{Error, Result};
use crate::hash_index::Guess;
use crate::log::op::Op;
use crate::page::{PageNo, PageType, slotted};
use crate::pool::{FrameHint, Mtr, PageH, PageRead};
use crate::space::AllocKind;
use std::ops::{Bound, ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Where a key of the shared tree is or belongs in a leaf of it, if that can be told without a descent: there are keys on both sides, or one of
/// its index, of which all are in one leaf.
fn place_in(leaf: &[u8], full: &[u8]) -> Option<Found> {
    let count = slotted::count(leaf);
    let of_index = |slot: u16| slotted::key(leaf, slot).get(..PREFIX) == full.get(..PREFIX);
    let found = slotted::search(leaf, full);
    let here = match found {
        Ok(_) => true,
        Err(0) => count > 0 && of_index(0),
        Err(slot) => slot < count || of_index(slot - 1),
    };
    here.then_some(found)
}

/// Where an index is that had no root when it was asked.
pub(super) enum At<P> {
    /// It has one by now.
    Own,
    /// It has no entry there.
    Nowhere,
    Shared(P),
}

/// Entries of a small index in a latched leaf.
pub(super) struct SmallPlace<'t> {
    pub leaf: PageRead<'t>,
    /// Those still to be visited.
    slots: Range<u16>,
}

impl SmallPlace<'_> {
    /// Shows the visitor the entries; there is at least one. Why it ended, and the slot visited last.
    pub fn visit(&self, dir: Dir, f: &mut Visit<'_>) -> (ScanEnd, u16) {
        let mut slots = self.slots.clone();
        let mut last = slots.start;
        while let Some(slot) = match dir {
            Dir::Forward => slots.next(),
            Dir::Backward => slots.next_back(),
        } {
            last = slot;
            let (key, value) = slotted::entry(&self.leaf, slot);
            if f(&key[PREFIX..], value) == ControlFlow::Break(()) {
                return (ScanEnd::Stopped, last);
            }
        }
        (ScanEnd::End, last)
    }

    /// The key of an entry, in the index.
    pub fn key(&self, slot: u16) -> &[u8] {
        &slotted::key(&self.leaf, slot)[PREFIX..]
    }

    /// Makes a leaf that has these entries alone.
    pub fn copy(&self, page: &mut [u8]) {
        slotted::init(page, 0);
        let mut records = Vec::new();
        for slot in self.slots.clone() {
            let (key, value) = slotted::entry(&self.leaf, slot);
            slotted::encode_record(&key[PREFIX..], value, &mut records);
        }
        slotted::append(page, &records);
    }
}

/// What makes an index small while it has no root.
pub(super) struct Small {
    shared: Arc<Shared>,
    /// Id of its table.
    table: u64,
}

impl Tree {
    /// Has it share a tree with others while it has no root. `table`: id of the table of which it is an index.
    pub fn sharing(mut self, shared: &Arc<Shared>, table: u64) -> Tree {
        let shared = shared.clone();
        self.small = Some(Small { shared, table });
        self
    }

    /// Whether it need not have a root to have entries.
    pub fn is_sharing(&self) -> bool {
        self.small.is_some()
    }

    /// The shared tree, if it may have entries there.
    fn shared(&self) -> Option<&Tree> {
        self.small.as_ref()?.shared.tree()
    }

    /// Whether it has a root or may have entries where small indexes have theirs: what is to be removed from others was never there.
    pub fn may_have_entries(&self) -> bool {
        self.root() != 0 || self.shared().is_some()
    }

    /// Bytes that its entries take while it has no root.
    pub fn small_bytes(&self) -> Result<u64> {
        Ok(match self.seek_small(Bound::Unbounded, Dir::Forward)? {
            At::Shared(place) => bytes_of(&place.leaf, place.slots.clone()) as u64,
            At::Own | At::Nowhere => 0,
        })
    }

    /// Whether it has neither a root nor an entry.
    pub fn is_unwritten(&self) -> Result<bool> {
        if self.root() != 0 {
            return Ok(false);
        }
        Ok(match self.seek_small(Bound::Unbounded, Dir::Forward)? {
            At::Own | At::Shared(_) => false,
            At::Nowhere => true,
        })
    }

    /// Whether it has moved out, or is of no use to anybody any more. Under the latch of the leaf of the shared tree.
    fn left_shared(&self) -> Result<bool> {
        if self.space.is_dropped() {
            let what = format!("space {} was dropped", self.space.id.0);
            return Err(Error::Invalid(what));
        }
        Ok(self.root() != 0)
    }

    /// The frame of the leaf where it was last, which may hold anything by now. Once there is a root it is the root's.
    fn last_frame(&self) -> Option<Guess> {
        let frame = self.root_frame.load(Ordering::Relaxed);
        (frame != u32::MAX).then_some(Guess {
            frame,
            slot: 0,
            offset: 0,
        })
    }

    fn remember(&self, leaf: FrameHint) {
        if self.root_frame.load(Ordering::Relaxed) != leaf.to_bits() {
            self.root_frame.store(leaf.to_bits(), Ordering::Relaxed);
        }
    }

    /// The leaf of the shared tree where it was last, if a key is or belongs there. Hold no latch.
    fn leaf_again<'t>(&self, shared: &'t Tree, full: &[u8]) -> Option<(PageRead<'t>, Found)> {
        let leaf = shared
            .pager
            .try_fetch_guess(self.last_frame()?, &shared.space)?;
        let found = place_in(&leaf, full)?;
        Some((leaf, found))
    }

    /// The same under an exclusive latch.
    fn latch_again(&self, shared: &Tree, mtr: &mut Mtr<'_>, full: &[u8]) -> Option<(PageH, Found)> {
        let leaf = mtr.try_latch_guess(self.last_frame()?, &shared.space)?;
        match place_in(mtr.page(leaf), full) {
            Some(found) => Some((leaf, found)),
            None => {
                mtr.release(leaf);
                None
            }
        }
    }

    /// [`Tree::get_with_hint`] of an index that had no root.
    #[inline(never)]
    pub(super) fn get_small<R>(
        &self,
        key: &[u8],
        f: impl FnOnce(&[u8]) -> R,
    ) -> Result<(Option<R>, Option<LeafHint>)> {
        let Some(shared) = self.shared() else {
            return Ok((None, None));
        };
        let full = full_key(self.space.id, key);
        if full.len() > MAX_KEY {
            // No small index has it.
            return match self.root() {
                0 => Ok((None, None)),
                _ => self.get_with_hint(key, f),
            };
        }
        let (leaf, found) = match self.leaf_again(shared, &full) {
            Some(place) => place,
            None => shared.find(&full)?,
        };
        if self.left_shared()? {
            drop(leaf);
            return self.get_with_hint(key, f);
        }
        self.remember(leaf.hint());
        let value = found.ok().map(|slot| f(slotted::value(&leaf, slot)));
        Ok((value, Some(LeafHint::of(&leaf))))
    }

    /// The entries from `from` on in a direction.
    #[inline(never)]
    pub(super) fn seek_small(&self, from: Bound<&[u8]>, dir: Dir) -> Result<At<SmallPlace<'_>>> {
        let Some(shared) = self.shared() else {
            return Ok(At::Nowhere);
        };
        let prefix = self.space.id.0.to_be_bytes();
        let leaf = match self.leaf_again(shared, &prefix) {
            Some((leaf, _)) => leaf,
            None => shared.leaf(|page| slotted::search_child(page, &prefix))?,
        };
        if self.left_shared()? {
            return Ok(At::Own);
        }
        self.remember(leaf.hint());
        let all = entries_of(&leaf, self.space.id);
        let slots = match from {
            Bound::Unbounded => all,
            Bound::Included(key) | Bound::Excluded(key) => {
                let excluded = matches!(from, Bound::Excluded(_));
                let behind = matches!(dir, Dir::Forward) == excluded;
                let at = match slotted::search(&leaf, &full_key(self.space.id, key)) {
                    Ok(slot) => slot + u16::from(behind),
                    Err(slot) => slot,
                };
                match dir {
                    Dir::Forward => at..all.end,
                    Dir::Backward => all.start..at,
                }
            }
        };
        if slots.is_empty() {
            return Ok(At::Nowhere);
        }
        Ok(At::Shared(SmallPlace { leaf, slots }))
    }

    /// Number of entries between bounds of an index that had no root.
    pub(super) fn count_small(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<At<u64>> {
        Ok(match self.seek_small(lower, Dir::Forward)? {
            At::Own => At::Own,
            At::Nowhere => At::Nowhere,
            At::Shared(place) => {
                let mut count = 0;
                place.visit(Dir::Forward, &mut |key, _| {
                    let beyond = match upper {
                        Bound::Unbounded => false,
                        Bound::Included(upper) => key > upper,
                        Bound::Excluded(upper) => key >= upper,
                    };
                    if beyond {
                        return ControlFlow::Break(());
                    }
                    count += 1;
                    ControlFlow::Continue(())
                });
                At::Shared(count)
            }
        })
    }

    /// [`Tree::check`] of an index without a root: its entries, and no page, for those are the shared tree's.
    pub(super) fn check_small(&self) -> Checked {
        let mut found = Checked::default();
        match self.count_small(Bound::Unbounded, Bound::Unbounded) {
            Ok(At::Shared(records)) => found.records = records,
            Ok(At::Nowhere) => {}
            Ok(At::Own) => return self.check(),
            Err(e) => found.problems.push(e.to_string()),
        }
        found
    }

    /// An edit of an index that had no root.
    #[inline(never)]
    pub(super) fn edit_small<R>(
        &self,
        mut hint: Option<LeafHint>,
        key: &[u8],
        need: usize,
        f: impl FnOnce(&mut LeafEdit<'_, '_>) -> Result<R>,
    ) -> Result<R> {
        let Some(small) = &self.small else {
            return Err(Error::Invalid(
                "a tree without a root cannot be edited".into(),
            ));
        };
        let shared = small.shared.made()?;
        let full = full_key(self.space.id, key);
        if full.len() > MAX_KEY || full.len() + need + slotted::RECORD_OVERHEAD > QUARTER {
            self.give_root()?;
            return self.edit(key, need, f);
        }
        let mut resident = Resident::new(shared);
        loop {
            let mut mtr = self.pager.mtr_in(&shared.space, 0)?;
            let hinted = match hint.take() {
                Some(hint) => shared.try_hinted(&mut mtr, hint, &full, need),
                None => self.latch_again(shared, &mut mtr, &full),
            };
            let (leaf, found) = match hinted {
                Some(place) => place,
                None => match shared.try_latch_leaf(&mut mtr, &full)? {
                    Ok(leaf) => (leaf, slotted::search(mtr.page(leaf), &full)),
                    Err(miss) => {
                        drop(mtr);
                        resident.bring(miss)?;
                        continue;
                    }
                },
            };
            if self.left_shared()? {
                drop(mtr);
                return self.edit(key, need, f);
            }
            if !has_small_room(mtr.page(leaf), found, &full, need) {
                let page = mtr.page(leaf);
                let own = bytes_of(page, entries_of(page, self.space.id));
                drop(mtr);
                if own < QUARTER {
                    shared.split(&full, need)?;
                    continue;
                }
                self.give_root()?;
                return self.edit(key, need, f);
            }
            self.remember(mtr.hint(leaf));
            let place = EditPlace { mtr, leaf, found };
            return shared.edit_place(place, &full, f);
        }
    }

    /// Gives it a root of its own, if it has none, and moves its entries there. Hold no latch.
    pub fn give_root(&self) -> Result<()> {
        let Some(small) = self.small.as_ref().filter(|_| self.root() == 0) else {
            return Ok(());
        };
        let shared = small.shared.made()?;
        let roots = small.shared.roots()?;
        let mut resident = Resident::new(shared);
        loop {
            let moved = roots.record(small.table, &self.space, &mut |mtr| {
                self.try_move(shared, mtr)
            })?;
            match moved {
                Ok(root) if root == self.root() => break,
                Ok(root) => {
                    return Err(self.corrupt(root, "it is recorded as the root of a small index"));
                }
                Err(Missing(miss)) => resident.bring(miss)?,
            }
        }
        shared.shrink(&full_key(self.space.id, &[]));
        Ok(())
    }

    fn try_move(
        &self,
        shared: &Tree,
        mtr: &mut Mtr<'_>,
    ) -> Result<std::result::Result<PageNo, Missing>> {
        let leaf = match shared.try_latch_leaf(mtr, &self.space.id.0.to_be_bytes())? {
            Ok(leaf) => leaf,
            Err(miss) => return Ok(Err(Missing(miss))),
        };
        let page = mtr.page(leaf);
        let entries = entries_of(page, self.space.id);
        let mut records = Vec::with_capacity(bytes_of(page, entries.clone()));
        for slot in entries.clone() {
            let (key, value) = slotted::entry(page, slot);
            slotted::encode_record(&key[PREFIX..], value, &mut records);
        }
        let init = Op::Init {
            kind: PageType::Leaf,
            level: 0,
        };
        let root = mtr.alloc(&self.space, AllocKind::Root, 0, init)?;
        if !records.is_empty() {
            mtr.apply(root, Op::Append { data: &records });
        }
        for slot in entries.rev() {
            mtr.apply(leaf, Op::Remove { slot });
        }
        let root = mtr.page_no(root);
        self.set_root(root);
        Ok(Ok(root))
    }
}

/// [`has_room`], but an edit that promises no value inserts none.
fn has_small_room(leaf: &[u8], found: Found, key: &[u8], need: usize) -> bool {
    need == 0 || has_room(leaf, found, key, need)
}
