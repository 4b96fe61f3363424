//! Pages through the adaptive hash index: the pool pins the frame that an entry names, and tells the index which
//! entries still lead somewhere.

use super::Pager;
use super::core::Core;
use super::frame::{DETACHED, FREE, FrameNo, LOADING};
use super::guard::PageRead;
use super::mtr::{Mtr, PageH};
use crate::hash_index::{Frames, Guess, HashIndex, KeyPart, Leaf, Probe, TreeHash};
use crate::page::{PageType, page_type, slotted};
use crate::space::Space;
use std::sync::atomic::Ordering;

impl Frames for Core {
    fn serves(&self, frame: FrameNo, space: u64) -> bool {
        let f = self.arena.frame(frame);
        let gone = FREE | LOADING | DETACHED;
        if f.word.load(Ordering::Acquire) & gone != 0
            || f.space_id.load(Ordering::Relaxed) != space
            || self.hash.entries_of(&f.hashed) == 0
        {
            return false;
        }
        if self.stale_frames.load(Ordering::Relaxed) <= 0 {
            // No space that was dropped lately has frames.
            return true;
        }
        // A pin for as long as the space is looked at. Who waits for an unpinned frame is not woken, for latches are held
        // here: it looks again by itself, and this takes a few instructions only.
        let old = f.word.fetch_add(1, Ordering::Acquire);
        // SAFETY: pinned, and it was neither free nor being read nor on its way out.
        let serves = old & gone == 0 && !unsafe { f.space() }.is_dropped();
        f.word.fetch_sub(1, Ordering::Release);
        serves
    }
}

impl Core {
    /// The entries of a frame that the caller has pinned, made for the page's records and not removed since.
    #[inline]
    pub fn hash_entries(&self, n: FrameNo) -> usize {
        self.hash.entries_of(&self.arena.frame(n).hashed)
    }

    /// Pins the frame of a guess if it holds a page of the space.
    #[inline]
    fn pin_guess(&self, guess: Guess, space: &Space) -> Option<FrameNo> {
        if space.is_dropped() {
            return None;
        }
        let n = guess.frame;
        let slot_at = slotted::SLOTS + usize::from(guess.slot) * slotted::SLOT;
        self.arena
            .prefetch_record(n, slot_at, usize::from(guess.offset));
        let f = self.arena.frame(n);
        let old = f.word.fetch_add(1, Ordering::Acquire);
        if old & (FREE | LOADING | DETACHED) != 0
            || f.space_id.load(Ordering::Relaxed) != space.id.0
        {
            self.unpin(n);
            return None;
        }
        Some(n)
    }

    fn hash_leaf<'p>(&'p self, page: &'p PageRead<'_>, space: &Space, part: KeyPart) -> Leaf<'p> {
        let frame = page.hint().0;
        Leaf {
            space: space.id.0,
            frame,
            page,
            part,
            state: &self.arena.frame(frame).hashed,
        }
    }
}

impl Mtr<'_> {
    /// As [`Pager::try_fetch_guess`], under an exclusive latch.
    #[inline]
    pub(crate) fn try_latch_guess(&mut self, guess: Guess, space: &Space) -> Option<PageH> {
        let n = self.core.pin_guess(guess, space)?;
        let page = self.core.arena.frame(n).page.load(Ordering::Relaxed);
        let leaf = self.latch(n, space, page)?;
        if page_type(self.page(leaf)) != Some(PageType::Leaf) {
            self.release(leaf);
            return None;
        }
        Some(leaf)
    }
}

impl Pager {
    /// Removes a cached page's entries, the space dropped or not; returns how many there were. Hold no latch.
    #[cfg(test)]
    pub(crate) fn drop_hash_entries(&self, space: &Space, page: crate::page::PageNo) -> usize {
        use crate::wait::{self, Class};
        use parking_lot::lock_api::RawRwLock as _;
        let core = self.core();
        let super::core::Lookup::Pinned(n) = core.lookup(space.id.0, page) else {
            return 0;
        };
        let f = core.arena.frame(n);
        wait::lock_shared(&f.latch, Class::PageShared);
        // SAFETY: latched until below.
        let page = unsafe { core.arena.page_ref(n) };
        let removed = core.hash.drop_page(space.id.0, n, page, &f.hashed);
        // SAFETY: latched above.
        unsafe { f.latch.unlock_shared() };
        core.unpin(n);
        removed
    }

    /// Turns the adaptive hash index on or off; off empties it.
    pub fn set_hash_index(&self, on: bool) {
        self.hash_index().set_on(on);
    }

    /// The adaptive hash index.
    #[inline]
    pub(crate) fn hash_index(&self) -> &HashIndex {
        &self.core().hash
    }

    /// The leaf of the space that a guess leads to, under a shared latch; `None` if there is no such thing.
    /// Hold no latch.
    #[inline]
    pub(crate) fn try_fetch_guess(&self, guess: Guess, space: &Space) -> Option<PageRead<'_>> {
        let core = self.core();
        let page = core.read_pinned(core.pin_guess(guess, space)?)?;
        (page_type(&page) == Some(PageType::Leaf)).then_some(page)
    }

    /// A search found its record at another slot than the index thought.
    #[cold]
    pub(crate) fn hash_moved(
        &self,
        hash: u64,
        space: &Space,
        part: KeyPart,
        leaf: &PageRead<'_>,
        slot: u16,
    ) {
        let core = self.core();
        core.hash
            .moved(core, core.hash_leaf(leaf, space, part), hash, slot);
    }

    /// A search came to the record by descending.
    #[inline]
    pub(crate) fn hash_learn(
        &self,
        probe: Probe,
        tree: &TreeHash,
        space: &Space,
        part: KeyPart,
        leaf: &PageRead<'_>,
        slot: u16,
    ) {
        let core = self.core();
        let leaf = core.hash_leaf(leaf, space, part);
        core.hash.learn(core, probe, tree, leaf, slot);
        if core.hash.entries_of(leaf.state) > 0 {
            space.note_hashed();
        }
    }

    /// Counts a search that the hash index served.
    #[inline]
    pub(crate) fn count_hash_search(&self) {
        self.core().counts.hash_hit();
    }

    /// Counts a search that went down a tree.
    #[inline]
    pub(crate) fn count_descent(&self) {
        self.core().counts.descent();
    }
}
