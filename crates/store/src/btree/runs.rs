//! Where keys ascend in the middle of a tree: rows of several groups (a tenant's, a database's) that each come in order, by turns.
//!
//! Split in halves, a leaf that such keys fill stays half empty, for its left half is never inserted into again. So a split remembers, for
//! the leaf to which its key goes, how many records that has and where the key belongs. When that leaf is split the next time, and as many records
//! have come as the place of the key has moved on, all of them came before it, in order as far as one can tell: then the leaf is split at the
//! key, and the left half stays full. InnoDB notes the place of the last insertion in each page for that; this is looked at and written
//! by splits alone, is in memory, and forgets: then a leaf is split in halves.
//!
//! Keys may pass by others on their way, as numbers without leading zeros do: `t100` to `t109` come behind `t10` and before `t11`, then `t110`. So
//! the place may have moved on by a few records more than have come, and of those that lie behind it the left half keeps as many as are passed by
//! until it is full. Who comes to a leaf's end goes on in the next leaf if that has room (`split`), as InnoDB does too.

use super::Tree;
use super::edit::Found;
use crate::page::PageNo;
use std::sync::atomic::{AtomicU64, Ordering};

/// Leaves remembered of a tree whose root has no more than these, and of a larger one: powers of two. The former take half a KiB, which is part of
/// what an open table takes; the latter are on the pool's account of hints. Leaves that grow by turns should not take each other's places.
const FEW_LEAVES: usize = 64;
const MANY_LEAVES: usize = 8192;
/// Of a leaf's records at least one in so many must have come since.
const FRACTION: u16 = 8;
/// One record may be passed by for so many that come, and one more.
const PASSED: u16 = 8;

/// Keys that ascend: how many have come, and how many they have passed by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub come: u16,
    pub passed: u16,
}

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

/// Bytes that those of a larger tree take.
const MANY_BYTES: usize = MANY_LEAVES * size_of::<AtomicU64>();

impl Tree {
    /// What is remembered, by how large the tree is. `siblings`: children of the leaf's parent.
    fn which_runs(&self, siblings: u16) -> usize {
        let many = usize::from(siblings) > FEW_LEAVES;
        usize::from(many || self.height.load(Ordering::Relaxed) > 2)
    }

    /// Whether keys ascend to the place of a new one in a leaf of so many records that has no room for it.
    pub(super) fn ascends(
        &self,
        siblings: u16,
        leaf: PageNo,
        records: u16,
        found: Found,
    ) -> Option<Run> {
        let runs = self.runs[self.which_runs(siblings)].get()?;
        let place = found.err()?;
        let then = runs.slot(leaf).load(Ordering::Relaxed);
        let (had, was) = ((then >> 16) as u16, then as u16);
        let come = records.saturating_sub(had);
        if then >> 32 != u64::from(leaf) || come < records / FRACTION {
            return None;
        }
        let passed = place.checked_sub(was + come)?;
        (passed <= come / PASSED + 1).then_some(Run { come, passed })
    }

    /// Remembers where a key belongs in a leaf of so many records that a split has made room for it in.
    pub(super) fn note_run(&self, siblings: u16, leaf: PageNo, records: u16, place: u16) {
        let which = self.which_runs(siblings);
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
