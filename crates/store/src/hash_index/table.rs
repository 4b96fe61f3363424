//! The table: buckets of four entries, one cache line each. A key's hash names its bucket, and buckets are divided among
//! partitions. Readers look at a bucket's words without a latch; each word is whole, and a pair of words
//! from two different entries is no worse than an outdated entry. Writers hold the partition's latch.

use super::PartStats;
use super::memory::Memory;
use crate::wait::{self, Class};
use parking_lot::MutexGuard;
use std::sync::atomic::{AtomicU64, Ordering};

/// Entries in a bucket.
const WAYS: usize = 4;
/// An entry's word: frame, slot, offset of the record in the page, part of the hash. Zero is no entry, for no record
/// is at offset 0.
pub(super) const SLOT_BITS: u32 = 11;
const OFFSET_BITS: u32 = 14;
const TAG_BITS: u32 = 11;
const FRAME_BITS: u32 = 64 - SLOT_BITS - OFFSET_BITS - TAG_BITS;
/// One of so many entries that find no empty or dead place displaces a live one. Otherwise a working set
/// larger than the table would make every lookup write.
const DISPLACE: u64 = 8;

const _: () = assert!(crate::page::slotted::MAX_SLOTS <= 1 << SLOT_BITS);
const _: () = assert!(crate::page::PAGE_SIZE <= 1 << OFFSET_BITS);

/// Tells whether entries are of any use.
pub trait Frames {
    /// Whether the frame holds a page of the space (not dropped) that has entries. Takes no lock.
    fn serves(&self, frame: u32, space: u64) -> bool;
}

/// Where a record may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess {
    pub frame: u32,
    pub slot: u16,
    /// Where its bytes are in the page: to be prefetched, no more.
    pub offset: u16,
}

/// What an entry is made of.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    pub space: u64,
    pub frame: u32,
    pub slot: u16,
    pub offset: u16,
}

#[derive(Default)]
struct Way {
    space: AtomicU64,
    word: AtomicU64,
}

#[repr(align(64))]
pub(super) struct Bucket([Way; WAYS]);

const _: () = assert!(size_of::<Bucket>() == 64);

fn tag(hash: u64) -> u64 {
    hash >> SLOT_BITS & ((1 << TAG_BITS) - 1)
}

fn pack(spot: Spot, hash: u64) -> u64 {
    let frame = u64::from(spot.frame) << (64 - FRAME_BITS);
    let slot = u64::from(spot.slot) << (OFFSET_BITS + TAG_BITS);
    frame | slot | u64::from(spot.offset) << TAG_BITS | tag(hash)
}

fn tag_of(word: u64) -> u64 {
    word & ((1 << TAG_BITS) - 1)
}

fn frame_of(word: u64) -> u32 {
    (word >> (64 - FRAME_BITS)) as u32
}

fn guess_of(word: u64) -> Guess {
    Guess {
        frame: frame_of(word),
        slot: (word >> (OFFSET_BITS + TAG_BITS)) as u16 & ((1 << SLOT_BITS) - 1),
        offset: (word >> TAG_BITS) as u16 & ((1 << OFFSET_BITS) - 1),
    }
}

#[repr(align(64))]
#[derive(Default)]
struct Part {
    latch: wait::Mutex<Count, { Class::HashIndex as usize }>,
    /// Copy of the count for readers.
    entries: AtomicU64,
}

/// What a partition's latch protects besides the right to change its buckets.
#[derive(Default)]
struct Count {
    entries: u64,
    /// Entries that found no place free.
    crowded: u64,
}

/// Buckets and partitions.
pub(super) struct Table {
    buckets: Memory,
    parts: Box<[Part]>,
    per_part: usize,
}

/// A partition under its latch.
pub(super) struct PartGuard<'t> {
    table: &'t Table,
    part: &'t Part,
    count: MutexGuard<'t, Count>,
}

/// All partitions' latches.
pub struct Held<'t> {
    _latches: Vec<MutexGuard<'t, Count>>,
}

impl Table {
    /// A table of about this many bytes.
    pub fn new(bytes: usize, parts: usize) -> std::io::Result<Table> {
        // The upper half of a hash names the bucket.
        let most = u32::MAX as usize / parts;
        let per_part = (bytes / size_of::<Bucket>() / parts).clamp(1, most);
        Ok(Table {
            buckets: Memory::new(per_part * parts)?,
            parts: (0..parts).map(|_| Part::default()).collect(),
            per_part,
        })
    }

    /// Bytes of the buckets.
    pub fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>()
    }

    /// Touches all memory without changing it, unless told to stop; whether it is done.
    pub fn populate(&self, stop: &dyn Fn() -> bool) -> bool {
        const PAGE: usize = 4096 / size_of::<Bucket>();
        const STEP: usize = (2 << 20) / size_of::<Bucket>();
        for first in (0..self.buckets.len()).step_by(PAGE) {
            if first.is_multiple_of(STEP) && stop() {
                return false;
            }
            self.buckets.get(first).0[0]
                .word
                .fetch_or(0, Ordering::Relaxed);
        }
        true
    }

    #[inline]
    fn bucket_no(&self, hash: u64) -> usize {
        (((hash >> 32) * self.buckets.len() as u64) >> 32) as usize
    }

    #[inline]
    pub fn find(&self, space: u64, hash: u64) -> Option<Guess> {
        let bucket = self.buckets.get(self.bucket_no(hash));
        for way in &bucket.0 {
            // With what was stored before it: the frame's header is valid.
            let word = way.word.load(Ordering::Acquire);
            if tag_of(word) == tag(hash) && word != 0 && way.space.load(Ordering::Relaxed) == space
            {
                return Some(guess_of(word));
            }
        }
        None
    }

    fn lock(&self, part: usize) -> PartGuard<'_> {
        let part = &self.parts[part];
        PartGuard {
            table: self,
            part,
            count: part.latch.lock(),
        }
    }

    /// Calls `f` for each of these words, which begin with a hash and are sorted, under its partition's latch.
    pub fn change(&self, words: &[u64], mut f: impl FnMut(&mut PartGuard<'_>, u64)) {
        let part_of = |word: &u64| self.bucket_no(*word) / self.per_part;
        for run in words.chunk_by(|a, b| part_of(a) == part_of(b)) {
            let mut guard = self.lock(part_of(&run[0]));
            for word in run {
                f(&mut guard, *word);
            }
        }
    }

    /// Calls `f` under the latch of the hash's partition unless another thread holds it.
    pub fn try_change(&self, hash: u64, f: impl FnOnce(&mut PartGuard<'_>)) {
        let part = &self.parts[self.bucket_no(hash) / self.per_part];
        if let Some(count) = part.latch.try_lock() {
            f(&mut PartGuard {
                table: self,
                part,
                count,
            });
        }
    }

    /// Takes all partitions' latches: lookups go on, changes wait.
    pub fn hold(&self) -> Held<'_> {
        Held {
            _latches: self.parts.iter().map(|p| p.latch.lock()).collect(),
        }
    }

    /// Removes everything. Nobody inserts until this is done.
    pub fn clear(&self) {
        for n in 0..self.parts.len() {
            let mut guard = self.lock(n);
            for bucket in n * self.per_part..(n + 1) * self.per_part {
                for way in &self.buckets.get(bucket).0 {
                    // A page never used stays untouched.
                    if way.word.load(Ordering::Relaxed) != 0 {
                        way.word.store(0, Ordering::Relaxed);
                        way.space.store(0, Ordering::Relaxed);
                    }
                }
            }
            guard.count.entries = 0;
        }
        self.buckets.release();
    }

    pub fn stats(&self) -> impl Iterator<Item = PartStats> + '_ {
        let size = (self.per_part * WAYS) as u64;
        self.parts.iter().map(move |p| PartStats {
            size,
            entries: p.entries.load(Ordering::Relaxed),
        })
    }
}

impl Drop for PartGuard<'_> {
    fn drop(&mut self) {
        self.part
            .entries
            .store(self.count.entries, Ordering::Relaxed);
    }
}

impl PartGuard<'_> {
    /// Enters a record; whether that gave its page one more entry. It does not if the key had one there,
    /// which is corrected; nor if the bucket is full of others of use, unless it is time to displace one.
    pub fn insert(&mut self, frames: &impl Frames, hash: u64, spot: Spot) -> bool {
        if spot.frame >= 1 << FRAME_BITS {
            return false;
        }
        let ways = &self.table.buckets.get(self.table.bucket_no(hash)).0;
        let mut empty = None;
        for way in ways {
            let word = way.word.load(Ordering::Relaxed);
            if word == 0 {
                empty = empty.or(Some(way));
            } else if tag_of(word) == tag(hash) && way.space.load(Ordering::Relaxed) == spot.space {
                way.word.store(pack(spot, hash), Ordering::Release);
                return frame_of(word) != spot.frame;
            }
        }
        let way = match empty {
            Some(way) => {
                self.count.entries += 1;
                way
            }
            None => match self.make_way(frames, ways) {
                Some(way) => way,
                None => return false,
            },
        };
        way.space.store(spot.space, Ordering::Relaxed);
        way.word.store(pack(spot, hash), Ordering::Release);
        true
    }

    #[cold]
    fn make_way<'b>(&mut self, frames: &impl Frames, ways: &'b [Way; WAYS]) -> Option<&'b Way> {
        let dead = ways.iter().find(|w| {
            let frame = frame_of(w.word.load(Ordering::Acquire));
            !frames.serves(frame, w.space.load(Ordering::Relaxed))
        });
        if dead.is_some() {
            return dead;
        }
        self.count.crowded += 1;
        let turn = self.count.crowded;
        turn.is_multiple_of(DISPLACE)
            .then(|| &ways[(turn / DISPLACE) as usize % WAYS])
    }

    /// Removes the key's entry if it leads to this frame; whether it did.
    pub fn remove(&mut self, hash: u64, space: u64, frame: u32) -> bool {
        let ways = &self.table.buckets.get(self.table.bucket_no(hash)).0;
        for way in ways {
            let word = way.word.load(Ordering::Relaxed);
            if word != 0
                && tag_of(word) == tag(hash)
                && frame_of(word) == frame
                && way.space.load(Ordering::Relaxed) == space
            {
                way.word.store(0, Ordering::Relaxed);
                way.space.store(0, Ordering::Relaxed);
                self.count.entries -= 1;
                return true;
            }
        }
        false
    }
}
