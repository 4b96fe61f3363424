//! Point searches by way of the adaptive hash index. What it says is checked under the leaf's latch: only a leaf of this
//! very space that holds the key, or the keys on both sides of it, is an answer.

use super::Tree;
use super::edit::{Found, has_room};
use crate::hash_index::{KeyPart, Probe, TreeHash};
use crate::pool::{Mtr, PageH, PageRead};

/// What a tree knows about searching it by hash.
pub(super) struct Hashed {
    part: KeyPart,
    tree: TreeHash,
}

impl Hashed {
    pub fn new(part: KeyPart) -> Hashed {
        Hashed {
            part,
            tree: TreeHash::default(),
        }
    }
}

impl Tree {
    /// Begins a point search for a whole key.
    #[inline]
    pub(super) fn probe(&self, key: &[u8]) -> Probe {
        if self.hashed.part != KeyPart::Whole {
            return Probe::NONE;
        }
        self.probe_part(key)
    }

    /// Begins a search for the first record with this part of its key.
    #[inline]
    pub(super) fn probe_first(&self, key: &[u8]) -> Probe {
        if self.hashed.part == KeyPart::Whole {
            return Probe::NONE;
        }
        self.probe_part(key)
    }

    #[inline]
    fn probe_part(&self, key: &[u8]) -> Probe {
        let hash_index = self.pager.hash_index();
        hash_index.probe(&self.hashed.tree, self.space.id.0, key)
    }

    /// The leaf where the key is or belongs, and its slot there, if the hash index can tell. Hold no latch.
    #[inline]
    pub(super) fn find_hashed(&self, probe: Probe, key: &[u8]) -> Option<(PageRead<'_>, Found)> {
        let hash = probe.hash()?;
        let guess = self.pager.hash_index().find(self.space.id.0, hash)?;
        let leaf = self.pager.try_fetch_guess(guess, &self.space)?;
        let part = self.hashed.part;
        let found = part.locate(&leaf, key, guess.slot)?;
        let (Ok(slot) | Err(slot)) = found;
        if slot != guess.slot && part.of_record(&leaf, slot) == key {
            self.pager.hash_moved(hash, &self.space, part, &leaf, slot);
        }
        self.pager.count_hash_search();
        Some((leaf, found))
    }

    /// As [`Tree::find_hashed`] for whole keys, under an exclusive latch, if the leaf has room for an edit
    /// that makes the value `need` long.
    #[inline]
    pub(super) fn latch_hashed(
        &self,
        mtr: &mut Mtr<'_>,
        key: &[u8],
        need: usize,
    ) -> Option<(PageH, Found)> {
        let hash = self.probe(key).hash()?;
        let guess = self.pager.hash_index().find(self.space.id.0, hash)?;
        let leaf = mtr.try_latch_guess(guess, &self.space)?;
        let page = mtr.page(leaf);
        match self.hashed.part.locate(page, key, guess.slot) {
            Some(found) if has_room(page, found, key, need) => {
                self.pager.count_hash_search();
                Some((leaf, found))
            }
            _ => {
                mtr.release(leaf);
                None
            }
        }
    }

    /// A search for the first record with a part came to this slot by descending.
    pub(super) fn learn_first(&self, probe: Probe, key: &[u8], leaf: &PageRead<'_>, slot: u16) {
        let part = self.hashed.part;
        if part != KeyPart::Whole && part.of_record(leaf, slot) == key {
            self.learn(probe, leaf, slot);
        }
    }

    /// A point search that [`Tree::find_hashed`] did not serve found its record by descending.
    #[inline]
    pub(super) fn learn(&self, probe: Probe, leaf: &PageRead<'_>, slot: u16) {
        let Hashed { part, tree } = &self.hashed;
        self.pager
            .hash_learn(probe, tree, &self.space, *part, leaf, slot);
    }
}
