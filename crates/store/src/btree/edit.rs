//! Changing one leaf: the optimistic path. Making room and merging are mini-transactions of their own, before
//! and after.

use super::descend::{Miss, Resident};
use super::{MAX_ENTRY, MAX_KEY, Tree};
use crate::error::{Error, Result};
use crate::log::op::Op;
use crate::page::{Lsn, PageNo, page_lsn, page_no, slotted};
use crate::pool::{FrameHint, Mtr, PageH, PageRead};
use crate::space::Space;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Where a key was found, or would belong, and what the leaf's LSN was: good until the leaf changes.
#[derive(Clone, Copy, Debug)]
pub struct LeafHint {
    pub(super) page: PageNo,
    pub(super) lsn: Lsn,
    pub(super) frame: FrameHint,
}

impl LeafHint {
    pub(super) fn of(leaf: &PageRead<'_>) -> LeafHint {
        LeafHint {
            page: page_no(leaf),
            lsn: page_lsn(leaf),
            frame: leaf.hint(),
        }
    }
}

/// What an edit closure sees: the exclusively latched leaf where the key is or belongs, with room for the
/// promised bytes.
pub struct LeafEdit<'e, 'a> {
    mtr: &'e mut Mtr<'a>,
    leaf: PageH,
    key: &'e [u8],
    found: Found,
}

impl<'e, 'a> LeafEdit<'e, 'a> {
    /// Value under the key, if it is there.
    #[inline]
    pub fn value(&self) -> Option<&[u8]> {
        let slot = self.found.ok()?;
        Some(slotted::value(self.mtr.page(self.leaf), slot))
    }

    /// Inserts the key (it must be absent) with this value.
    pub fn insert(&mut self, value: &[u8]) {
        let Err(slot) = self.found else {
            panic!("insert of a key that is there")
        };
        debug_assert!(self.key.len() <= MAX_KEY && self.key.len() + value.len() <= MAX_ENTRY);
        self.mtr.apply(
            self.leaf,
            Op::Insert {
                slot,
                key: self.key,
                value,
            },
        );
        self.found = Ok(slot);
    }

    /// Replaces the value (the key must be present); logs only the differing middle.
    pub fn replace(&mut self, value: &[u8]) {
        let slot = self.slot();
        debug_assert!(self.key.len() + value.len() <= MAX_ENTRY);
        let old = slotted::value(self.mtr.page(self.leaf), slot);
        let same = |(a, b): &(&u8, &u8)| a == b;
        let shorter = old.len().min(value.len());
        let prefix = old.iter().zip(value).take_while(same).count();
        let suffix = old.iter().rev().zip(value.iter().rev());
        let suffix = suffix.take(shorter - prefix).take_while(same).count();
        let data = &value[prefix..value.len() - suffix];
        let op = if old.len() == value.len() {
            if data.is_empty() {
                return;
            }
            Op::Patch {
                slot,
                offset: prefix as u16,
                data,
            }
        } else {
            Op::Splice {
                slot,
                prefix: prefix as u16,
                suffix: suffix as u16,
                data,
            }
        };
        self.mtr.apply(self.leaf, op);
    }

    /// Replaces the value's middle, keeping `prefix` and `suffix` bytes of it (the key must be present).
    pub fn splice(&mut self, prefix: usize, suffix: usize, data: &[u8]) {
        let slot = self.slot();
        debug_assert!(self.key.len() + prefix + suffix + data.len() <= MAX_ENTRY);
        let op = Op::Splice {
            slot,
            prefix: prefix as u16,
            suffix: suffix as u16,
            data,
        };
        self.mtr.apply(self.leaf, op);
    }

    /// Overwrites bytes within the value (the key must be present).
    #[inline]
    pub fn patch(&mut self, offset: usize, data: &[u8]) {
        let slot = self.slot();
        self.mtr.apply(
            self.leaf,
            Op::Patch {
                slot,
                offset: offset as u16,
                data,
            },
        );
    }

    /// Removes the key (it must be present).
    pub fn remove(&mut self) {
        let slot = self.slot();
        self.mtr.apply(self.leaf, Op::Remove { slot });
        self.found = Err(slot);
    }

    /// The mini-transaction, e.g. to append undo in the same group. Tree pages must not be latched through it, but for those of
    /// an index that moves out ([`super::Roots`]).
    pub fn mtr(&mut self) -> &mut Mtr<'a> {
        self.mtr
    }

    #[inline]
    fn slot(&self) -> u16 {
        self.found.expect("a key that is there")
    }
}

impl Tree {
    /// As [`Tree::get`], also telling where the key is or belongs, for a following [`Tree::edit_at`].
    #[inline]
    pub fn get_with_hint<R>(
        &self,
        key: &[u8],
        f: impl FnOnce(&[u8]) -> R,
    ) -> Result<(Option<R>, Option<LeafHint>)> {
        if self.root() == 0 {
            return self.get_small(key, f);
        }
        let (leaf, found) = self.find(key)?;
        let value = found.ok().map(|slot| f(slotted::value(&leaf, slot)));
        Ok((value, Some(LeafHint::of(&leaf))))
    }

    /// Edits the leaf where `key` is or belongs. `need` is the most the edit may add in bytes (key,
    /// value and slot counted by the tree; pass the new value's length, or 0 for an edit that adds nothing). `f` runs
    /// exactly once, under the leaf's exclusive latch; whatever it did is committed as one group. An `Err` from `f`
    /// is allowed only if it changed nothing.
    #[inline]
    pub fn edit<R>(
        &self,
        key: &[u8],
        need: usize,
        f: impl FnOnce(&mut LeafEdit<'_, '_>) -> Result<R>,
    ) -> Result<R> {
        self.edit_at(None, key, need, f)
    }

    /// As [`Tree::edit`] of a key that is thought to be there: the adaptive hash index may know where.
    #[inline]
    pub fn edit_known<R>(
        &self,
        key: &[u8],
        need: usize,
        f: impl FnOnce(&mut LeafEdit<'_, '_>) -> Result<R>,
    ) -> Result<R> {
        self.edit_with(From::Hash, key, need, None, f)
    }

    /// As [`Tree::edit`]; if the leaf has not changed since the hint for the same key was made, no descent is
    /// needed.
    pub fn edit_at<R>(
        &self,
        hint: Option<LeafHint>,
        key: &[u8],
        need: usize,
        f: impl FnOnce(&mut LeafEdit<'_, '_>) -> Result<R>,
    ) -> Result<R> {
        self.edit_with(hint.map_or(From::Root, From::Hint), key, need, None, f)
    }

    /// As [`Tree::edit`]; `f` may allocate a page for `space` in the mini-transaction.
    pub fn edit_allocating<R>(
        &self,
        key: &[u8],
        need: usize,
        space: &Arc<Space>,
        f: impl FnOnce(&mut LeafEdit<'_, '_>) -> Result<R>,
    ) -> Result<R> {
        self.edit_with(From::Root, key, need, Some(space), f)
    }

    #[inline]
    fn edit_with<R>(
        &self,
        from: From,
        key: &[u8],
        need: usize,
        new_page: Option<&Arc<Space>>,
        f: impl FnOnce(&mut LeafEdit<'_, '_>) -> Result<R>,
    ) -> Result<R> {
        let begin = || match new_page {
            None => self.pager.mtr_in(&self.space, 0),
            Some(space) => self.pager.mtr_in(space, 1),
        };
        if key.len() > MAX_KEY {
            return Err(Error::KeyTooLong(key.len()));
        }
        if key.len() + need > MAX_ENTRY {
            return Err(Error::RowTooLarge(key.len() + need));
        }
        let mut mtr = begin()?;
        let mut place = match from {
            From::Hint(hint) => self.try_hinted(&mut mtr, hint, key, need),
            From::Hash => self.latch_hashed(&mut mtr, key, need),
            From::Root => None,
        };
        let mut resident = Resident::new(self);
        let (leaf, found) = loop {
            if let Some(place) = place {
                break place;
            }
            match self.try_place(&mut mtr, key, need)? {
                Try::Ready(leaf, found) => place = Some((leaf, found)),
                Try::Full => {
                    drop(mtr);
                    self.split(key, need)?;
                    mtr = begin()?;
                }
                Try::Missing(miss) => {
                    drop(mtr);
                    resident.bring(miss)?;
                    mtr = begin()?;
                }
                Try::Rootless => {
                    drop(mtr);
                    return self.edit_small(from.hint(), key, need, f);
                }
            }
        };
        self.edit_place(Place { mtr, leaf, found }, key, f)
    }

    /// Edits the leaf that was found.
    #[inline]
    pub(super) fn edit_place<'a, R>(
        &self,
        place: Place<'a>,
        key: &[u8],
        f: impl FnOnce(&mut LeafEdit<'_, 'a>) -> Result<R>,
    ) -> Result<R> {
        let Place {
            mut mtr,
            leaf,
            found,
        } = place;
        let used_before = super::used(mtr.page(leaf));
        let result = f(&mut LeafEdit {
            mtr: &mut mtr,
            leaf,
            key,
            found,
        })?;
        let page = mtr.page(leaf);
        let shrink = super::merge::worth_trying(page, used_before);
        mtr.commit();
        if shrink {
            self.shrink(key);
        }
        Ok(result)
    }

    /// The hinted leaf, if it is as it was and has room. Not for a key behind all of it that has leaves to its right: what parts it from the next one
    /// can be made less in the page above alone ([`Tree::split`]), and then the key belongs there.
    #[inline]
    pub(super) fn try_hinted(
        &self,
        mtr: &mut Mtr<'_>,
        hint: LeafHint,
        key: &[u8],
        need: usize,
    ) -> Option<(PageH, Found)> {
        let leaf = mtr.try_latch_hint(hint.frame, &self.space, hint.page)?;
        let page = mtr.page(leaf);
        if page_lsn(page) == hint.lsn {
            let found = slotted::search(page, key);
            let behind = found == Err(slotted::count(page)) && slotted::right(page) != 0;
            if !behind && has_room(page, found, key, need) {
                return Some((leaf, found));
            }
        }
        mtr.release(leaf);
        None
    }

    /// One descent to the leaf, which alone is latched exclusively.
    #[inline]
    fn try_place(&self, mtr: &mut Mtr<'_>, key: &[u8], need: usize) -> Result<Try> {
        if self.root() == 0 {
            return Ok(Try::Rootless);
        }
        let leaf = match self.try_latch_leaf(mtr, key)? {
            Ok(leaf) => leaf,
            Err(miss) => return Ok(Try::Missing(miss)),
        };
        let page = mtr.page(leaf);
        let found = slotted::search(page, key);
        if has_room(page, found, key, need) {
            return Ok(Try::Ready(leaf, found));
        }
        Ok(Try::Full)
    }

    /// The leaf of the key under an exclusive latch; the tree has a root.
    #[inline]
    pub(super) fn try_latch_leaf(
        &self,
        mtr: &mut Mtr<'_>,
        key: &[u8],
    ) -> Result<std::result::Result<PageH, Miss>> {
        self.pager.count_descent();
        let mut page = loop {
            if self.height.load(Ordering::Relaxed) == 1 {
                let leaf = match self.try_latch_root(mtr) {
                    Ok(leaf) => leaf,
                    Err(miss) => return Ok(Err(miss)),
                };
                let level = slotted::level(mtr.page(leaf));
                if level == 0 {
                    return Ok(Ok(leaf));
                }
                mtr.release(leaf);
                self.saw_height(level + 1);
            }
            match self.try_root() {
                Ok(page) => {
                    self.saw_height(slotted::level(&page) + 1);
                    if slotted::level(&page) > 0 {
                        break page;
                    }
                }
                Err(miss) => return Ok(Err(miss)),
            }
        };
        let mut level = slotted::level(&page);
        let frames = self.frames(&page);
        loop {
            let child = slotted::child(&page, slotted::search_child(&page, key));
            level -= 1;
            if level == 0 {
                let Some(leaf) = self.try_latch_page(mtr, frames, child) else {
                    return Ok(Err(Miss(child)));
                };
                if slotted::level(mtr.page(leaf)) != 0 {
                    return Err(self.wrong_level(child));
                }
                return Ok(Ok(leaf));
            }
            let Some(next) = self.try_page(frames, child) else {
                return Ok(Err(Miss(child)));
            };
            if slotted::level(&next) != level {
                return Err(self.wrong_level(child));
            }
            page = next;
        }
    }
}

/// Where an edit looks for its leaf first.
#[derive(Clone, Copy)]
enum From {
    Root,
    Hint(LeafHint),
    Hash,
}

impl From {
    fn hint(self) -> Option<LeafHint> {
        match self {
            From::Hint(hint) => Some(hint),
            From::Root | From::Hash => None,
        }
    }
}

/// The exclusively latched leaf where a key was found or would belong.
pub(super) struct Place<'a> {
    pub mtr: Mtr<'a>,
    pub leaf: PageH,
    pub found: Found,
}

/// What `slotted::search` returns.
pub(super) type Found = std::result::Result<u16, u16>;

enum Try {
    Ready(PageH, Found),
    Full,
    Missing(Miss),
    /// The tree has no root.
    Rootless,
}

/// Whether the leaf has room for an edit of `key` that makes its value at most `need` long.
#[inline]
pub(super) fn has_room(leaf: &[u8], found: Found, key: &[u8], need: usize) -> bool {
    let growth = match found {
        Ok(slot) => need.saturating_sub(slotted::value(leaf, slot).len()),
        Err(_) => slotted::RECORD_OVERHEAD + key.len() + need,
    };
    growth <= slotted::free(leaf)
}
