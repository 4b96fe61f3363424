//! Giving pages back: merging a page with its neighbour, unlinking an empty leaf, lowering the root.
//!
//! All of it is opportunistic. It runs after the edit that gave occasion, in mini-transactions of its own; if it
//! cannot be done now (a full neighbour, an error), the tree is as right as before and a later edit tries again.
//! Latches are taken before the first change.

use super::descend::{Miss, Resident};
use super::split::{init_root, set_link};
use super::{Tree, used};
use crate::error::Result;
use crate::log::op::Op;
use crate::page::slotted;
use crate::pool::{Mtr, PageH, PageRead};
use smallvec::SmallVec;

/// Pages are worth merging below two of these, and again at each further one lost.
const ZONE: usize = slotted::CAPACITY / 6;
/// A merged page keeps this much free, so that the next insert does not split it again.
const SLACK: usize = slotted::CAPACITY / 16;

/// Whether an edit left the leaf so much emptier that merging it is worth a try. Not at every edit of
/// a sparse page: its neighbours may have no room for a long time.
#[inline]
pub(super) fn worth_trying(leaf: &[u8], used_before: usize) -> bool {
    let now = used(leaf);
    now < used_before && (now == 0 || now < 2 * ZONE && now / ZONE < used_before / ZONE)
}

/// Result of one attempt in one mini-transaction.
enum Try {
    /// Changed the tree: commit. The page that lost a child may be worth merging too.
    Done { parent_sparse: bool },
    /// Nothing to be done.
    Not,
    /// A page is not resident.
    Missing(Miss),
}

impl Tree {
    /// Tidies up around the leaf of `key`. Errors are not the caller's: its edit is done, and the
    /// tree is in order without this.
    #[cold]
    pub(super) fn shrink(&self, key: &[u8]) {
        if let Err(e) = self.try_shrink(key) {
            tracing::debug!(space = self.space.id.0, error = %e, "tree not tidied");
        }
    }

    fn try_shrink(&self, key: &[u8]) -> Result<()> {
        let mut sparse = self.in_mtr(|mtr| self.unlink_empty(mtr, key))?
            || self.in_mtr(|mtr| self.merge(mtr, key, 0))?;
        let mut level = 1;
        while sparse {
            sparse = self.in_mtr(|mtr| self.merge(mtr, key, level))?;
            level += 1;
        }
        while self.in_mtr(|mtr| self.lower_root(mtr))? {}
        Ok(())
    }

    /// Runs an attempt until its pages are resident; returns whether the parent is sparse now.
    fn in_mtr(&self, mut attempt: impl FnMut(&mut Mtr<'_>) -> Result<Try>) -> Result<bool> {
        let mut resident = Resident::new(self);
        loop {
            let mut mtr = self.pager.mtr_in(&self.space, 0)?;
            match attempt(&mut mtr)? {
                Try::Done { parent_sparse } => {
                    mtr.commit();
                    return Ok(parent_sparse);
                }
                Try::Not => return Ok(false),
                Try::Missing(miss) => {
                    drop(mtr);
                    resident.bring(miss)?;
                }
            }
        }
    }

    /// Merges the page of `key` at `level` with a neighbour under the same parent.
    fn merge(&self, mtr: &mut Mtr<'_>, key: &[u8], level: u8) -> Result<Try> {
        let parent = match self.latch_at(mtr, key, level + 1)? {
            Ok(Some(parent)) => parent,
            Ok(None) => return Ok(Try::Not),
            Err(miss) => return Ok(Try::Missing(miss)),
        };
        let page = mtr.page(parent);
        let slot = slotted::search_child(page, key);
        let n = slotted::count(page);
        // To the right first: then its page moves here, and this leaf's readers need not look elsewhere.
        let pairs = [(slot + 1 < n).then_some(slot), slot.checked_sub(1)];
        for left_slot in pairs.into_iter().flatten() {
            let separator = slotted::key(mtr.page(parent), left_slot + 1).len();
            let Some(left) = self.latch_child(mtr, parent, left_slot) else {
                return Ok(Try::Missing(self.child_missed(mtr, parent, left_slot)));
            };
            let Some(right) = self.latch_child(mtr, parent, left_slot + 1) else {
                return Ok(Try::Missing(self.child_missed(mtr, parent, left_slot + 1)));
            };
            let (l, r) = (mtr.page(left), mtr.page(right));
            let this = if left_slot == slot { l } else { r };
            let together = used(l) + used(r) + if level > 0 { separator } else { 0 };
            if used(this) >= 2 * ZONE {
                return Ok(Try::Not);
            }
            if together + SLACK <= slotted::CAPACITY {
                return self.merge_pair(mtr, parent, left_slot, left, right);
            }
            mtr.release(right);
            mtr.release(left);
        }
        Ok(Try::Not)
    }

    fn merge_pair(
        &self,
        mtr: &mut Mtr<'_>,
        parent: PageH,
        left_slot: u16,
        left: PageH,
        right: PageH,
    ) -> Result<Try> {
        let page = mtr.page(right);
        let level = slotted::level(page);
        let next_no = slotted::right(page);
        let next = match next_no {
            0 => None,
            no => match mtr.try_latch(&self.space, no) {
                Some(h) => Some(h),
                None => return Ok(Try::Missing(Miss(no))),
            },
        };
        let page = mtr.page(right);
        let mut records = Vec::with_capacity(used(page));
        for slot in 0..slotted::count(page) {
            let (mut key, value) = slotted::entry(page, slot);
            if level > 0 && slot == 0 {
                key = slotted::key(mtr.page(parent), left_slot + 1);
            }
            slotted::encode_record(key, value, &mut records);
        }
        if !records.is_empty() {
            mtr.apply(left, Op::Append { data: &records });
        }
        if level == 0 {
            set_link(mtr, left, slotted::RIGHT_AT, next_no);
            if let Some(next) = next {
                let left_no = mtr.page_no(left);
                set_link(mtr, next, slotted::LEFT_AT, left_no);
            }
        }
        mtr.apply(
            parent,
            Op::Remove {
                slot: left_slot + 1,
            },
        );
        let parent_sparse = is_sparse(mtr.page(parent));
        give_back(mtr, right);
        Ok(Try::Done { parent_sparse })
    }

    /// Unlinks the leaf of `key` if it is empty, with the inner pages above that lead to nothing else.
    fn unlink_empty(&self, mtr: &mut Mtr<'_>, key: &[u8]) -> Result<Try> {
        // From the lowest page with another child down to the leaf.
        let mut path: SmallVec<[(PageH, u16); 8]> = SmallVec::new();
        let mut no = self.root();
        loop {
            let Some(page) = mtr.try_latch(&self.space, no) else {
                return Ok(Try::Missing(Miss(no)));
            };
            let bytes = mtr.page(page);
            if slotted::level(bytes) == 0 {
                path.push((page, 0));
                break;
            }
            let slot = slotted::search_child(bytes, key);
            no = slotted::child(bytes, slot);
            if slotted::count(bytes) > 1 {
                path.drain(..).for_each(|(page, _)| mtr.release(page));
            }
            path.push((page, slot));
        }
        let (top, slot) = path[0];
        let leaf = path[path.len() - 1].0;
        if path.len() == 1
            || slotted::count(mtr.page(top)) < 2
            || slotted::count(mtr.page(leaf)) > 0
        {
            return Ok(Try::Not);
        }
        let (left_no, right_no) = (
            slotted::left(mtr.page(leaf)),
            slotted::right(mtr.page(leaf)),
        );
        let mut leaf = leaf;
        let mut left = None;
        if left_no != 0 {
            // Leaves are latched left to right. Nobody comes down to this one meanwhile; its neighbours may
            // change, or somebody may arrive along the links.
            let leaf_no = mtr.page_no(leaf);
            mtr.release(leaf);
            let Some(l) = mtr.try_latch(&self.space, left_no) else {
                return Ok(Try::Missing(Miss(left_no)));
            };
            let Some(again) = mtr.try_latch(&self.space, leaf_no) else {
                return Ok(Try::Missing(Miss(leaf_no)));
            };
            let (l_page, page) = (mtr.page(l), mtr.page(again));
            let same = slotted::left(page) == left_no
                && slotted::right(page) == right_no
                && slotted::level(l_page) == 0
                && slotted::right(l_page) == leaf_no
                && slotted::count(page) == 0;
            if !same {
                return Ok(Try::Not);
            }
            leaf = again;
            left = Some(l);
        }
        let right = match right_no {
            0 => None,
            no => match mtr.try_latch(&self.space, no) {
                Some(h) => Some(h),
                None => return Ok(Try::Missing(Miss(no))),
            },
        };
        if let Some(left) = left {
            set_link(mtr, left, slotted::RIGHT_AT, right_no);
        }
        if let Some(right) = right {
            set_link(mtr, right, slotted::LEFT_AT, left_no);
        }
        if slot == 0 {
            // Slot 0 stands for "less than every key": the neighbour takes that over.
            let second = slotted::child(mtr.page(top), 1).to_le_bytes();
            mtr.apply(
                top,
                Op::Patch {
                    slot: 0,
                    offset: 0,
                    data: &second,
                },
            );
            mtr.apply(top, Op::Remove { slot: 1 });
        } else {
            mtr.apply(top, Op::Remove { slot });
        }
        let parent_sparse = path.len() == 2 && is_sparse(mtr.page(top));
        for &(page, _) in &path[1..path.len() - 1] {
            give_back(mtr, page);
        }
        give_back(mtr, leaf);
        Ok(Try::Done { parent_sparse })
    }

    /// Moves the contents of the root's only child into the root.
    fn lower_root(&self, mtr: &mut Mtr<'_>) -> Result<Try> {
        let single = |page: &[u8]| slotted::level(page) > 0 && slotted::count(page) == 1;
        match self.try_root() {
            Ok(root) if single(&root) => {}
            Ok(_) => return Ok(Try::Not),
            Err(miss) => return Ok(Try::Missing(miss)),
        }
        let no = self.root();
        let Some(root) = mtr.try_latch(&self.space, no) else {
            return Ok(Try::Missing(Miss(no)));
        };
        let page = mtr.page(root);
        if !single(page) {
            return Ok(Try::Not);
        }
        let number = slotted::number(page);
        let Some(child) = self.latch_child(mtr, root, 0) else {
            return Ok(Try::Missing(self.child_missed(mtr, root, 0)));
        };
        let page = mtr.page(child);
        let level = slotted::level(page);
        let mut records = Vec::with_capacity(used(page));
        for slot in 0..slotted::count(page) {
            let (key, value) = slotted::entry(page, slot);
            slotted::encode_record(key, value, &mut records);
        }
        init_root(mtr, root, level, number);
        if !records.is_empty() {
            mtr.apply(root, Op::Append { data: &records });
        }
        give_back(mtr, child);
        self.saw_height(level + 1);
        Ok(Try::Done {
            parent_sparse: true,
        })
    }

    /// Latches the page of `key` at `level` exclusively; `None` if the tree is not that high.
    fn latch_at(
        &self,
        mtr: &mut Mtr<'_>,
        key: &[u8],
        level: u8,
    ) -> Result<std::result::Result<Option<PageH>, Miss>> {
        let mut above: Option<PageRead<'_>> = None;
        let mut no = self.root();
        loop {
            let here = match &above {
                Some(page) => slotted::level(page) - 1,
                None => match self.try_root() {
                    Ok(root) => slotted::level(&root),
                    Err(miss) => return Ok(Err(miss)),
                },
            };
            if here < level {
                return Ok(Ok(None));
            }
            if here == level {
                let Some(page) = mtr.try_latch(&self.space, no) else {
                    return Ok(Err(Miss(no)));
                };
                // The root was looked at and let go: it may have another level by now.
                let fits = slotted::level(mtr.page(page)) == level;
                return match above {
                    Some(_) if !fits => Err(self.wrong_level(no)),
                    _ => Ok(Ok(fits.then_some(page))),
                };
            }
            let Some(page) = self.pager.try_fetch(&self.space, no) else {
                return Ok(Err(Miss(no)));
            };
            let found = slotted::level(&page);
            if found != here {
                return match above {
                    Some(_) => Err(self.wrong_level(no)),
                    None => Ok(Ok(None)),
                };
            }
            no = slotted::child(&page, slotted::search_child(&page, key));
            above = Some(page);
        }
    }

    fn latch_child(&self, mtr: &mut Mtr<'_>, parent: PageH, slot: u16) -> Option<PageH> {
        let no = slotted::child(mtr.page(parent), slot);
        mtr.try_latch(&self.space, no)
    }

    fn child_missed(&self, mtr: &Mtr<'_>, parent: PageH, slot: u16) -> Miss {
        Miss(slotted::child(mtr.page(parent), slot))
    }
}

/// Whether an inner page has become worth merging.
fn is_sparse(page: &[u8]) -> bool {
    used(page) < 2 * ZONE
}

/// Frees a page that nothing names any more. If that fails, the page stays allocated until its space goes.
fn give_back(mtr: &mut Mtr<'_>, page: PageH) {
    if let Err(e) = mtr.free(page) {
        tracing::warn!(page = mtr.page_no(page), error = %e, "a page could not be freed");
    }
}
