//! What lookups did so far: whether a tree is searched by points, and how often a page was searched for.
//!
//! The numbers are kept with plain loads and stores where losing a count does no harm.

use super::KeyPart;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// What the index remembers of a tree.
#[derive(Default)]
pub struct TreeHash {
    /// Point lookups so far, up to the threshold.
    lookups: AtomicU32,
}

impl TreeHash {
    /// Whether lookups should ask the index.
    #[inline]
    pub fn is_hot(&self, threshold: u32) -> bool {
        self.lookups.load(Ordering::Relaxed) >= threshold
    }

    /// A point lookup found its record by descending.
    #[inline]
    pub fn looked_up(&self, threshold: u32) {
        let n = self.lookups.load(Ordering::Relaxed);
        if n < threshold {
            self.lookups.store(n + 1, Ordering::Relaxed);
        }
    }
}

/// What the index remembers of the page in a frame: `era u32, heat u16, entries u16`, zero for a page that just came.
/// What it says holds in its own era only.
#[derive(Default)]
pub struct PageHash {
    word: AtomicU64,
    /// [`KeyPart`] of the entries, as a byte.
    part: AtomicU8,
}

/// Entries are being made.
const BUILDING: u64 = 0xFFFF;

fn era_of(word: u64) -> u32 {
    (word >> 32) as u32
}

fn word(era: u32, heat: u32, entries: u64) -> u64 {
    u64::from(era) << 32 | u64::from(heat.min(0xFFFF)) << 16 | entries
}

impl PageHash {
    /// Entries made for the page and not dropped since; 1 while they are being made.
    #[inline]
    pub fn entries(&self, era: u32) -> usize {
        let w = self.word.load(Ordering::Acquire);
        match w & 0xFFFF {
            _ if era_of(w) != era => 0,
            BUILDING => 1,
            n => n as usize,
        }
    }

    /// Notes a lookup on a page without entries; whether they are `enough`.
    #[inline]
    pub fn heat(&self, era: u32, enough: u32) -> bool {
        let w = self.word.load(Ordering::Relaxed);
        let heat = if era_of(w) == era {
            (w >> 16) as u32 & 0xFFFF
        } else {
            0
        };
        if heat >= enough {
            return true;
        }
        // Not over another's claim.
        let next = word(era, heat + 1, 0);
        let _ = self
            .word
            .compare_exchange(w, next, Ordering::Relaxed, Ordering::Relaxed);
        false
    }

    /// Takes the making of entries upon the caller, unless somebody has.
    pub fn claim(&self, era: u32, part: KeyPart) -> bool {
        let w = self.word.load(Ordering::Relaxed);
        if era_of(w) == era && w & 0xFFFF != 0 {
            return false;
        }
        let claimed = word(era, 0, BUILDING);
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        let mine = self.word.compare_exchange(w, claimed, success, failure);
        if mine.is_ok() {
            self.part.store(part.to_byte(), Ordering::Relaxed);
        }
        mine.is_ok()
    }

    /// The claimant made this many. A page where that was none starts afresh.
    pub fn built(&self, era: u32, entries: usize) {
        let entries = (entries as u64).min(BUILDING - 1);
        self.word.store(word(era, 0, entries), Ordering::Release);
    }

    /// One more was made.
    pub fn added(&self, era: u32) {
        let _ = self
            .word
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |w| {
                let n = w & 0xFFFF;
                (era_of(w) == era && n > 0 && n < BUILDING - 1).then_some(w + 1)
            });
    }

    /// What the page's entries are hashes of.
    pub fn part(&self) -> KeyPart {
        KeyPart::from_byte(self.part.load(Ordering::Relaxed))
    }

    /// The page has no entries, and nobody asked for it so far.
    #[inline]
    pub fn reset(&self) {
        self.word.store(0, Ordering::Release);
    }
}
