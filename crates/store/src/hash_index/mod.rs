//! Adaptive hash index: from a key straight to the record's frame and slot, for leaf pages that point lookups keep
//! coming back to. It spares them the descent.
//!
//! | file | owns |
//! |---|---|
//! | `table` | buckets, partitions, their latches |
//! | `memory` | the memory they are in |
//! | `pattern` | what was searched for so far: per tree and per page |
//! | `key` | which part of a key is looked up, and its hash |
//! | `report` | its lines in SHOW ENGINE INNODB STATUS |
//!
//! **What is in it.** After enough lookups in a row of one tree, and enough on one of its leaves, all records of that leaf
//! get an entry: the 64-bit id of the tree's space, the frame, the slot and where the record's bytes are. A lookup that was
//! not served although the page has entries adds the one it missed.
//!
//! **Nothing in it is believed.** An entry says where to look. Whoever follows it pins the frame, which must hold a leaf of the
//! same space, latches it and compares keys. So an entry may be as old as it likes: after a split, a merge, a purge, an
//! eviction or the frame's reuse it costs a look, never a wrong answer. Nobody has to remove entries, and writers
//! of pages do not touch the index at all. Space ids never return; a dropped, truncated or rebuilt table's entries
//! are dead from that instant, for no lookup asks for its space any more and its frames are not served.
//!
//! **Memory** is a fixed share of the pool ([`MEMORY_SHARE`]), untouched until a tree's lookups ask for it, and then populated in the background
//! ([`HashIndex::populate`]), for which lookups do not wait. Where a bucket is full, a dead entry
//! makes way (frame freed, reused, without entries of its own, or its space dropped), else now and then a live one. So dead entries
//! stay for as long as nobody needs their place: eviction does not remove them, which would cost a pass over the page's
//! records for each page evicted. [`HashIndex::drop_page`] does remove a page's entries at that cost, for those who want it.
//!
//! **Latches.** Lookups take none and write nothing. Changes take the latch of a partition (by hash, so that
//! one hot table uses them all). It is taken under page latches, one at a time, and nothing is taken under it.
//! No I/O, no failure. Lookups allocate nothing; giving a page entries may, a list of its records' hashes.

mod key;
mod memory;
mod pattern;
mod report;
mod table;
#[cfg(test)]
mod tests;

pub use key::KeyPart;
pub(crate) use pattern::{PageHash, TreeHash};
pub(crate) use table::{Frames, Guess, Held};

use key::hash;

use crate::page::{PageType, page_type, slotted};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use table::{Spot, Table};

/// The table takes this part of the buffer pool's size, in addition to it.
pub const MEMORY_SHARE: usize = 16;
/// A table up to this is not worth populating ahead: the kernel zeroes it at once.
const SMALL: usize = 2 << 20;
/// Most partitions.
pub const MAX_PARTS: usize = 512;

/// How to open the index.
#[derive(Clone, Copy, Debug)]
pub struct HashOptions {
    /// Whether it is on at first.
    pub on: bool,
    /// Partitions, each with a latch; 1 to [`MAX_PARTS`].
    pub parts: usize,
    /// When it is built.
    pub thresholds: Thresholds,
}

/// When pages get entries.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    /// Point lookups of a tree before its lookups use and feed the index.
    pub tree: u32,
    /// A page's records get entries once one in so many of them was looked up by descents (the same one again counts too).
    pub page: u32,
}

impl HashOptions {
    /// On from the first lookup, on the first page: for tests, which shall meet it everywhere.
    pub const EAGER: HashOptions = HashOptions {
        on: true,
        parts: 3,
        thresholds: Thresholds {
            tree: 0,
            page: u32::MAX,
        },
    };
}

impl Default for HashOptions {
    fn default() -> HashOptions {
        HashOptions {
            on: true,
            parts: 8,
            // InnoDB's numbers.
            thresholds: Thresholds {
                tree: 100,
                page: 16,
            },
        }
    }
}

/// What a lookup passes on from its search in the index to what it learned by descending instead.
#[derive(Clone, Copy)]
pub(crate) struct Probe(Option<u64>);

impl Probe {
    /// Of a search that has nothing to do with the index.
    pub const NONE: Probe = Probe(None);

    /// The key's hash, if the lookup should ask the index.
    #[inline]
    pub fn hash(self) -> Option<u64> {
        self.0
    }
}

/// Entries of one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartStats {
    /// Entries there is room for.
    pub size: u64,
    /// Entries in it, dead ones too.
    pub entries: u64,
}

/// The adaptive hash index of a buffer pool.
pub(crate) struct HashIndex {
    on: AtomicBool,
    table: Table,
    /// Counts the times it was emptied: what pages say of their entries holds for one of them only.
    era: AtomicU32,
    /// Held by whoever turns it on or off.
    switch: Mutex<()>,
    thresholds: Thresholds,
    rates: report::Rates,
    /// Whether the table's memory is there; until then nothing is looked up in it and nothing added.
    populated: AtomicBool,
    /// A lookup has asked for it since it was last given back.
    wanted: AtomicBool,
    /// Called then.
    on_want: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl HashIndex {
    /// An empty index for a pool of this many bytes.
    pub fn new(options: HashOptions, pool_bytes: usize) -> std::io::Result<HashIndex> {
        let parts = options.parts.clamp(1, MAX_PARTS);
        let table = Table::new(pool_bytes / MEMORY_SHARE, parts)?;
        // Who wants it from the first lookup on has to pay for it.
        let at_once = table.bytes() <= SMALL || options.thresholds.tree == 0;
        Ok(HashIndex {
            on: AtomicBool::new(options.on),
            table,
            era: AtomicU32::new(1),
            switch: Mutex::new(()),
            thresholds: options.thresholds,
            rates: report::Rates::new(),
            populated: AtomicBool::new(at_once),
            wanted: AtomicBool::new(false),
            on_want: OnceLock::new(),
        })
    }

    /// Installs what is called when [`HashIndex::populate`] has something to do; once.
    pub fn on_want(&self, f: Box<dyn Fn() + Send + Sync>) {
        let _ = self.on_want.set(f);
    }

    /// Has the system make the table's memory, if a lookup has asked for it, and lets lookups in. A first use of the table would go all over
    /// it, and have the kernel zero 2 MiB at a time on a statement's time. `stop`: whether to leave it.
    pub fn populate(&self, stop: &dyn Fn() -> bool) {
        if !self.wanted.load(Ordering::SeqCst) || self.populated.load(Ordering::Relaxed) {
            return;
        }
        let era = self.era.load(Ordering::SeqCst);
        if !self.table.populate(&|| stop() || !self.is_still(era)) {
            return;
        }
        let _one = self.switch.lock();
        if self.is_still(era) {
            self.populated.store(true, Ordering::Release);
        }
    }

    #[cold]
    fn want(&self) {
        if !self.wanted.swap(true, Ordering::SeqCst)
            && let Some(f) = self.on_want.get()
        {
            f();
        }
    }

    /// Whether it is on.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Turns it on or off. Off empties it and gives its memory back.
    pub fn set_on(&self, on: bool) {
        let _one = self.switch.lock();
        if on == self.on.swap(on, Ordering::SeqCst) || on {
            return;
        }
        // Who adds entries looks at both under the partition's latch: what was added before is cleared here.
        self.era.fetch_add(1, Ordering::SeqCst);
        self.table.clear();
        if self.table.bytes() > SMALL {
            self.populated.store(false, Ordering::Relaxed);
            self.wanted.store(false, Ordering::SeqCst);
        }
    }

    fn is_still(&self, era: u32) -> bool {
        self.on.load(Ordering::SeqCst) && self.era.load(Ordering::SeqCst) == era
    }

    /// Entries in it, those of pages and spaces that are gone included.
    pub fn entries(&self) -> usize {
        let each = self.parts().map(|p| p.entries as usize);
        each.sum()
    }

    /// Each partition's numbers.
    pub fn parts(&self) -> impl Iterator<Item = PartStats> + '_ {
        self.table.stats()
    }

    /// How many entries were made for a page's records and not removed by [`HashIndex::drop_page`] since. Some
    /// may have been overwritten.
    #[inline]
    pub fn entries_of(&self, page: &PageHash) -> usize {
        page.entries(self.era.load(Ordering::Relaxed))
    }

    /// Begins a lookup of `key` in a tree.
    #[inline]
    pub fn probe(&self, tree: &TreeHash, space: u64, key: &[u8]) -> Probe {
        if !self.is_on() || !tree.is_hot(self.thresholds.tree) {
            return Probe::NONE;
        }
        if !self.populated.load(Ordering::Relaxed) {
            self.want();
            return Probe::NONE;
        }
        Probe(Some(hash(space, key)))
    }

    /// Where the record may be. No latch.
    #[inline]
    pub fn find(&self, space: u64, hash: u64) -> Option<Guess> {
        self.table.find(space, hash)
    }

    /// The record that a lookup found by an entry is at `slot` now: corrects the entry.
    #[cold]
    pub fn moved(&self, frames: &impl Frames, at: Leaf<'_>, hash: u64, slot: u16) {
        self.add_one(frames, at, hash, slot);
    }

    /// A lookup came to the record by descending: takes note, and gives the page or the record entries if it is
    /// time. The leaf is latched.
    #[inline]
    pub fn learn(
        &self,
        frames: &impl Frames,
        probe: Probe,
        tree: &TreeHash,
        at: Leaf<'_>,
        slot: u16,
    ) {
        if !self.is_on() {
            return;
        }
        let Some(hash) = probe.0 else {
            return tree.looked_up(self.thresholds.tree);
        };
        let era = self.era.load(Ordering::SeqCst);
        if at.state.entries(era) > 0 {
            return self.add_one(frames, at, hash, slot);
        }
        let enough = u32::from(slotted::count(at.page)) / self.thresholds.page.max(1);
        if at.state.heat(era, enough) {
            self.add_page(frames, at, era);
        }
    }

    /// Gives all records of a latched leaf entries. One thread at a time does it.
    #[cold]
    #[inline(never)]
    fn add_page(&self, frames: &impl Frames, at: Leaf<'_>, era: u32) {
        if !at.state.claim(era, at.part) {
            return;
        }
        let mut spots = Spots::default();
        for slot in 0..slotted::count(at.page) {
            if at.part.is_first_of_its_own(at.page, slot) {
                spots.push(hash(at.space, at.part.of_record(at.page, slot)), slot);
            }
        }
        let mut added = 0;
        self.table.change(spots.sorted(), |part, packed| {
            // Emptied meanwhile: what is added now would stay.
            if self.is_still(era) {
                let (hash, slot) = Spots::unpack(packed);
                added += usize::from(part.insert(frames, hash, at.spot(slot)));
            }
        });
        at.state.built(era, added);
    }

    /// Gives one record of a page that has entries its own.
    #[cold]
    #[inline(never)]
    fn add_one(&self, frames: &impl Frames, at: Leaf<'_>, hash: u64, slot: u16) {
        if !at.part.is_first_of_its_own(at.page, slot) {
            return;
        }
        let era = self.era.load(Ordering::SeqCst);
        let mut added = false;
        self.table.try_change(hash, |part| {
            if self.is_still(era) {
                added = part.insert(frames, hash, at.spot(slot));
            }
        });
        if added {
            at.state.added(era);
        }
    }

    /// Keeps everybody from changing it; lookups go on. Hold no page latch, and take none.
    pub fn hold(&self) -> Held<'_> {
        self.table.hold()
    }

    /// Removes the entries of a page's records; returns how many there were. The page is latched, or nobody else
    /// can reach it. Its cost is that of computing the hash of every record on the page, and the latches of
    /// their partitions. Entries of records that have left the page stay, as dead as ever.
    pub fn drop_page(&self, space: u64, frame: u32, page: &[u8], state: &PageHash) -> usize {
        if self.entries_of(state) == 0 {
            return 0;
        }
        let part = state.part();
        state.reset();
        if page_type(page) != Some(PageType::Leaf) {
            return 0;
        }
        let mut spots = Spots::default();
        for slot in 0..slotted::count(page) {
            spots.push(hash(space, part.of_record(page, slot)), slot);
        }
        let mut removed = 0;
        self.table.change(spots.sorted(), |part, packed| {
            let (hash, _) = Spots::unpack(packed);
            removed += usize::from(part.remove(hash, space, frame));
        });
        removed
    }
}

/// A latched leaf page as the index sees it.
#[derive(Clone, Copy)]
pub(crate) struct Leaf<'a> {
    /// Its space.
    pub space: u64,
    /// The frame that holds it.
    pub frame: u32,
    /// Its bytes.
    pub page: &'a [u8],
    /// What part of a key its tree's lookups give.
    pub part: KeyPart,
    /// What the frame says of the page's entries.
    pub state: &'a PageHash,
}

impl Leaf<'_> {
    fn spot(&self, slot: u16) -> Spot {
        Spot {
            space: self.space,
            frame: self.frame,
            slot,
            offset: slotted::offset(self.page, slot),
        }
    }
}

/// Hashes and slots of a page's records, in one word each so that they can be sorted by partition and bucket.
#[derive(Default)]
struct Spots(SmallVec<[u64; 256]>);

const SLOT_MASK: u64 = (1 << table::SLOT_BITS) - 1;

impl Spots {
    fn push(&mut self, hash: u64, slot: u16) {
        self.0.push(hash & !SLOT_MASK | u64::from(slot));
    }

    fn sorted(&mut self) -> &[u64] {
        self.0.sort_unstable();
        &self.0
    }

    /// The hash as far as the table looks at it, and the slot.
    fn unpack(word: u64) -> (u64, u16) {
        (word & !SLOT_MASK, (word & SLOT_MASK) as u16)
    }
}
