//! The tree that small indexes share: what makes it, what is in it, where its leaves are split. See [`super::small`] for what small indexes do there.

use super::Tree;
use super::descend::{Miss, Resident};
use super::split::{Items, Order, Plan};
use crate::error::{Error, Result};
use crate::log::op::Op;
use crate::page::{PageNo, slotted};
use crate::pool::{Mtr, PageH, Pager};
use crate::space::{FileId, Space, SpaceId};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Bytes of a space id before the keys of its index.
pub(super) const PREFIX: usize = 8;
/// An index with this much in a full leaf moves out, and one that is to get a longer entry.
pub(super) const QUARTER: usize = slotted::CAPACITY / 4;
/// What lies behind where keys ascend, at most.
const NEAR_END: usize = slotted::CAPACITY / 16;

/// A key of the shared tree.
pub(super) type FullKey = SmallVec<[u8; 64]>;

pub(super) fn full_key(space: SpaceId, key: &[u8]) -> FullKey {
    let mut full = FullKey::with_capacity(PREFIX + key.len());
    full.extend_from_slice(&space.0.to_be_bytes());
    full.extend_from_slice(key);
    full
}

/// The index that a key of the shared tree belongs to; `None`: it is none.
pub fn owner_of(full: &[u8]) -> Option<SpaceId> {
    let prefix = full.first_chunk()?;
    Some(SpaceId(u64::from_be_bytes(*prefix)))
}

/// A page that must be brought in before an index can move out.
pub struct Missing(pub(super) Miss);

/// Makes a root in the mini-transaction, in which nothing has been changed yet; nothing has if it fails or a page is missing.
pub type MakeRoot<'m> =
    dyn FnMut(&mut Mtr<'_>) -> Result<std::result::Result<PageNo, Missing>> + 'm;

/// Where it is recorded which root an index has.
pub trait Roots: Send + Sync {
    /// Latches the record about the index of table `table` that has this space. If it has no root there, `make` makes one, and its number is recorded
    /// in the same mini-transaction, which has room for that page. The root, or what is missing to make it.
    fn record(
        &self,
        table: u64,
        space: &Arc<Space>,
        make: &mut MakeRoot<'_>,
    ) -> Result<std::result::Result<PageNo, Missing>>;
}

/// The tree that small indexes share, once there is one.
pub struct Shared {
    pub(super) pager: Arc<Pager>,
    pub(super) space: Arc<Space>,
    tree: OnceLock<Tree>,
    making: Mutex<()>,
    roots: OnceLock<Box<dyn Roots>>,
}

impl Shared {
    /// Finds the tree if it is there.
    pub fn open(pager: &Arc<Pager>) -> Result<Arc<Shared>> {
        let shared = Shared {
            pager: pager.clone(),
            space: pager.space(SpaceId::SHARED_TREE, FileId::SHARED),
            tree: OnceLock::new(),
            making: Mutex::default(),
            roots: OnceLock::new(),
        };
        match pager.shared_root()? {
            0 => {}
            root => shared.found(root),
        }
        Ok(Arc::new(shared))
    }

    fn found(&self, root: PageNo) {
        let mut tree = Tree::new(&self.pager, self.space.clone(), root);
        tree.parted = true;
        let _ = self.tree.set(tree);
    }

    /// Says where roots are recorded; before the first index moves out.
    pub fn set_roots(&self, roots: Box<dyn Roots>) {
        let _ = self.roots.set(roots);
    }

    /// Where roots are recorded.
    pub(super) fn roots(&self) -> Result<&dyn Roots> {
        let roots = self.roots.get().map(|roots| &**roots);
        roots.ok_or_else(|| Error::Invalid("no index can move out yet".into()))
    }

    /// The tree, if there is one.
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.get()
    }

    /// The tree, made if need be. Hold no latch.
    pub(super) fn made(&self) -> Result<&Tree> {
        loop {
            if let Some(tree) = self.tree.get() {
                return Ok(tree);
            }
            let _making = self.making.lock();
            if self.tree.get().is_none() {
                self.found(self.pager.make_shared_root(&self.space)?);
            }
        }
    }

    /// Whether the index of this space has entries in the tree.
    pub fn has(&self, space: SpaceId) -> Result<bool> {
        let Some(tree) = self.tree() else {
            return Ok(false);
        };
        let (leaf, _) = tree.find(&full_key(space, &[]))?;
        Ok(!entries_of(&leaf, space).is_empty())
    }

    /// Bytes that the entries of this space's index take in the tree.
    pub fn bytes(&self, space: SpaceId) -> Result<u64> {
        let Some(tree) = self.tree() else {
            return Ok(0);
        };
        let (leaf, _) = tree.find(&full_key(space, &[]))?;
        Ok(bytes_of(&leaf, entries_of(&leaf, space)) as u64)
    }

    /// Removes the entries of a dead index, which nobody uses any more; bytes that they took. Hold no latch.
    pub fn remove(&self, space: SpaceId) -> Result<usize> {
        let Some(tree) = self.tree() else {
            return Ok(0);
        };
        let prefix = full_key(space, &[]);
        let (mut mtr, leaf) = self.latched(tree, &prefix)?;
        let entries = entries_of(mtr.page(leaf), space);
        let bytes = bytes_of(mtr.page(leaf), entries.clone());
        for slot in entries.rev() {
            mtr.apply(leaf, Op::Remove { slot });
        }
        mtr.commit();
        if bytes > 0 {
            tree.shrink(&prefix);
        }
        Ok(bytes)
    }

    /// The leaf of a key, latched exclusively by a mini-transaction of its own. Hold no latch.
    pub(super) fn latched(&self, tree: &Tree, key: &[u8]) -> Result<(Mtr<'_>, PageH)> {
        let mut resident = Resident::new(tree);
        loop {
            let mut mtr = self.pager.mtr_in(&self.space, 0)?;
            match tree.try_latch_leaf(&mut mtr, key)? {
                Ok(leaf) => return Ok((mtr, leaf)),
                Err(miss) => {
                    drop(mtr);
                    resident.bring(miss)?;
                }
            }
        }
    }
}

/// Slots of the entries that the index of a space has in a leaf.
pub(super) fn entries_of(leaf: &[u8], space: SpaceId) -> Range<u16> {
    let place = |prefix: [u8; PREFIX]| match slotted::search(leaf, &prefix) {
        Ok(slot) | Err(slot) => slot,
    };
    place(space.0.to_be_bytes())..place((space.0 + 1).to_be_bytes())
}

pub(super) fn bytes_of(leaf: &[u8], slots: Range<u16>) -> usize {
    slots.map(|slot| slotted::footprint(leaf, slot)).sum()
}

/// Where to split a leaf of the shared tree: where two indexes meet. `None` if there is no place that makes room, so the index that needs it has
/// grown since that was thought.
pub(super) fn split_between(page: &[u8], all: &Items<'_>, order: Order) -> Option<Plan> {
    let index_of = |item: u16| &all.key_of(item)[..PREFIX];
    let own = index_of(all.pos);
    let sum = |from: u16, to: u16| (from..to).map(|item| all.size_of(item)).sum::<usize>();
    let first = (0..all.pos)
        .rev()
        .take_while(|i| index_of(*i) == own)
        .last();
    let first = first.unwrap_or(all.pos);
    let (total, behind) = (sum(0, all.count), sum(all.pos + 1, all.count));
    let is_last = slotted::right(page) == 0;
    let ascends = matches!(order, Order::Ascending(_));
    // Bytes that are to stay on the left: half of them, or as many as fit where keys ascend.
    let aim = match order {
        Order::Late if is_last && behind <= NEAR_END => total / 8 * 7,
        _ if !all.is_new || behind > NEAR_END && !ascends => total / 2,
        _ if behind > NEAR_END => total - behind,
        Order::Ascending(_) => sum(0, first),
        _ if is_last || all.pos + 1 == all.count => sum(0, first),
        _ => total / 2,
    };
    let mut left = 0;
    let mut best = None;
    for item in 1..all.count {
        left += all.size_of(item - 1);
        let fits = left <= slotted::CAPACITY && total - left <= slotted::CAPACITY;
        if fits && index_of(item - 1) != index_of(item) {
            let off = left.abs_diff(aim);
            if best.is_none_or(|(_, least)| off < least) {
                best = Some((item, off));
            }
        }
    }
    best.map(|(item, _)| all.before(item))
}
