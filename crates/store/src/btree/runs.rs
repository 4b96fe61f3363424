//! Where keys ascend in the middle of a tree: rows of several groups (a tenant's, a database's) that each come in order, by turns.
//!
//! Split in halves, a leaf that such keys fill stays half empty, for its left half is never inserted into again. So a split remembers, for
//! the leaf to which its key goes, how many records that has and where the key belongs. When that leaf is split the next time, and as many records
//! have come as the place of the key has moved on, all of them came before it, in order as far as one can tell: then the leaf is split at the
//! key, and the left half stays full. InnoDB notes the place of the last insertion in each page for that; this is looked at and written
//! by splits alone, is in memory, and forgets: then a leaf is split in halves.

use super::Tree;
use super::edit::Found;
use crate::page::PageNo;
use std::sync::atomic::{AtomicU64, Ordering};

/// Leaves remembered of a tree of two levels, and of a higher one: powers of two. The former take half a KiB, which is part of what an open
/// table takes; the latter are on the pool's account of hints.
const FEW_LEAVES: usize = 64;
const MANY_LEAVES: usize = 1024;
/// Of a leaf's records at least one in so many must have come since.
const FRACTION: u16 = 8;

/// What splits remember: leaf's number, its records and the key's place, in a word; 0: nothing.
pub(super) struct Runs(Box<[AtomicU64]>);

fn word(leaf: PageNo, records: u16, place: u16) -> u64 {
    u64::from(leaf) << 32 | u64::from(records) << 16 | u64::from(place)
}

impl Runs {
    fn new(leaves: usize) -> Runs {
        Runs((0..leaves).map(|_| AtomicU64::new(0)).collect())
    }

    fn slot(&self, leaf: PageNo) -> &AtomicU64 {
        &self.0[leaf as usize % self.0.len()]
    }
}

/// Bytes that those of a tree of more than two levels take.
const MANY_BYTES: usize = MANY_LEAVES * size_of::<AtomicU64>();

impl Tree {
    /// What is remembered, by the tree's height.
    fn which_runs(&self) -> usize {
        usize::from(self.height.load(Ordering::Relaxed) > 2)
    }

    /// Whether keys ascend to the place of a new one in a leaf of so many records that has no room for it.
    pub(super) fn ascends(&self, leaf: PageNo, records: u16, found: Found) -> bool {
        let (Some(runs), Err(place)) = (self.runs[self.which_runs()].get(), found) else {
            return false;
        };
        let then = runs.slot(leaf).load(Ordering::Relaxed);
        let (had, was) = ((then >> 16) as u16, then as u16);
        let come = records.saturating_sub(had);
        then >> 32 == u64::from(leaf) && come >= records / FRACTION && was + come == place
    }

    /// Remembers where a key belongs in a leaf of so many records that a split has made room for it in.
    pub(super) fn note_run(&self, leaf: PageNo, records: u16, place: u16) {
        let which = self.which_runs();
        let runs = &self.runs[which];
        let Some(runs) = runs.get().or_else(|| self.make_runs(which)) else {
            return;
        };
        let word = word(leaf, records, place);
        runs.slot(leaf).store(word, Ordering::Relaxed);
    }

    /// Makes room to remember, if the account has memory for it.
    fn make_runs(&self, which: usize) -> Option<&Runs> {
        let runs = &self.runs[which];
        if which == 0 {
            return Some(runs.get_or_init(|| Runs::new(FEW_LEAVES)));
        }
        if !self.pager.take_hint_bytes(MANY_BYTES) {
            return runs.get();
        }
        if runs.set(Runs::new(MANY_LEAVES)).is_err() {
            // Somebody else came first.
            self.pager.give_hint_bytes(MANY_BYTES);
        }
        runs.get()
    }

    /// Gives back what is on the account.
    pub(super) fn forget_runs(&self) {
        if self.runs[1].get().is_some() {
            self.pager.give_hint_bytes(MANY_BYTES);
        }
    }
}
