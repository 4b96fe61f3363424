//! Pins, shared latches, hints.

use super::Pager;
use super::core::{Core, Lookup};
use super::frame::{DETACHED, FrameNo, LOADING};
use crate::error::Result;
use crate::page::PageNo;
use crate::space::Space;
use crate::wait::{self, Class};
use parking_lot::lock_api::RawRwLock as _;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Memory of trees' caches of frames, as a share of the pool's, and the least there is.
const HINT_SHARE: usize = 16;
const HINT_BYTES_LEAST: usize = 1 << 20;

/// A pin: keeps a page resident (not latched). Cheap to hold across a restart of a descent.
pub struct Pin<'a> {
    core: &'a Core,
    frame: FrameNo,
}

/// A page under a shared latch; derefs to its `PAGE_SIZE` bytes.
pub struct PageRead<'a> {
    core: &'a Core,
    frame: FrameNo,
}

/// Where a page was found last: lets [`Pager::try_fetch_hint`] and [`super::Mtr::try_latch_hint`] skip the page
/// table. A hint that has gone stale is noticed, so it may be kept for any time, and shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHint(pub(super) FrameNo);

impl FrameHint {
    /// For keeping in an atomic.
    pub fn to_bits(self) -> u32 {
        self.0
    }
    /// Back from [`FrameHint::to_bits`] of a hint of the same pager.
    pub fn from_bits(bits: u32) -> FrameHint {
        FrameHint(bits)
    }
}

impl Pin<'_> {
    /// Where the page is.
    pub fn hint(&self) -> FrameHint {
        FrameHint(self.frame)
    }
}

impl<'a> Pin<'a> {
    /// Takes the shared latch; may wait for it, so the latch order applies. A page freed since shows type `Free`.
    pub fn read(self) -> PageRead<'a> {
        let (core, frame) = (self.core, self.frame);
        std::mem::forget(self);
        wait::lock_shared(&core.arena.frame(frame).latch, Class::PageShared);
        PageRead { core, frame }
    }
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        self.core.unpin(self.frame);
    }
}

impl PageRead<'_> {
    /// Where the page is.
    #[inline]
    pub fn hint(&self) -> FrameHint {
        FrameHint(self.frame)
    }
}

impl Deref for PageRead<'_> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the shared latch is held as long as `self` lives.
        unsafe { self.core.arena.page_ref(self.frame) }
    }
}

impl Drop for PageRead<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: taken when `self` was made.
        unsafe { self.core.arena.frame(self.frame).latch.unlock_shared() };
        self.core.unpin(self.frame);
    }
}

impl Core {
    /// Pins a resident page for latching it; `None` if it is absent or being read.
    #[inline]
    pub(super) fn try_pin(&self, space: &Space, page: PageNo) -> Option<FrameNo> {
        if space.is_dropped() {
            return None;
        }
        let Lookup::Pinned(n) = self.lookup(space.id.0, page) else {
            return None;
        };
        if self.arena.frame(n).word.load(Ordering::Acquire) & LOADING != 0 {
            self.unpin(n);
            return None;
        }
        Some(n)
    }

    #[inline]
    pub(super) fn try_pin_hint(&self, hint: FrameHint, space: &Space, page: PageNo) -> bool {
        if space.is_dropped() || hint.0 >= self.arena.count() {
            return false;
        }
        self.pin_hint(hint.0, space.id.0, page)
    }

    /// As [`Core::try_pin_hint`], in place of a look into the page table.
    #[inline]
    pub(super) fn try_pin_cached(&self, hint: FrameHint, space: &Space, page: PageNo) -> bool {
        if space.is_dropped() || hint.0 >= self.arena.count() {
            return false;
        }
        self.pin_cached(hint.0, space.id.0, page)
    }

    #[inline]
    pub(super) fn read_pinned(&self, n: FrameNo) -> Option<PageRead<'_>> {
        let f = self.arena.frame(n);
        wait::lock_shared(&f.latch, Class::PageShared);
        let read = PageRead {
            core: self,
            frame: n,
        };
        // Freed while we waited.
        if f.word.load(Ordering::Acquire) & DETACHED != 0 {
            return None;
        }
        self.counts.hit();
        self.touch(n);
        Some(read)
    }
}

impl Pager {
    /// Reads a page into the pool if need be and pins it. May do I/O: hold no latch.
    ///
    /// A page that is not allocated to the space (any more) is no error: what is pinned then shows type `Free`, and a later
    /// `try_fetch` does not find it.
    pub fn pin<'a>(&'a self, space: &Arc<Space>, page: PageNo) -> Result<Pin<'a>> {
        let core = self.core();
        let frame = core.pin(space, page)?;
        Ok(Pin { core, frame })
    }

    /// `pin` and a shared latch. May do I/O: hold no latch.
    #[inline]
    pub fn fetch<'a>(&'a self, space: &Arc<Space>, page: PageNo) -> Result<PageRead<'a>> {
        match self.try_fetch(space, page) {
            Some(r) => Ok(r),
            None => Ok(self.pin(space, page)?.read()),
        }
    }

    /// The page under a shared latch if it is resident, else `None`; never does I/O (it may wait for
    /// the latch, so the latch order applies).
    #[inline]
    pub fn try_fetch<'a>(&'a self, space: &Arc<Space>, page: PageNo) -> Option<PageRead<'a>> {
        let core = self.core();
        let n = core.try_pin(space, page)?;
        core.read_pinned(n)
    }

    /// As [`Pager::try_fetch`], asking the hinted frame instead of the page table: `None` if the page is
    /// not there (it may be elsewhere).
    #[inline]
    pub fn try_fetch_hint<'a>(
        &'a self,
        hint: FrameHint,
        space: &Arc<Space>,
        page: PageNo,
    ) -> Option<PageRead<'a>> {
        let core = self.core();
        if !core.try_pin_hint(hint, space, page) {
            return None;
        }
        core.read_pinned(hint.0)
    }

    /// As [`Pager::try_fetch_hint`], for a hint that merely saves looking into the page table (a root's, a child's): it takes
    /// what such a look would take, which is more if a DROP algorithm of the time of the pool mutex is chosen. A hint
    /// of one's own, to a page one has just been on, costs nothing more in any version.
    #[inline]
    pub fn try_fetch_cached<'a>(
        &'a self,
        hint: FrameHint,
        space: &Arc<Space>,
        page: PageNo,
    ) -> Option<PageRead<'a>> {
        let core = self.core();
        if !core.try_pin_cached(hint, space, page) {
            return None;
        }
        core.read_pinned(hint.0)
    }

    /// Asks the processor to bring what a search of the hinted frame's page will read into its caches.
    #[inline]
    pub fn prefetch(&self, hint: FrameHint) {
        let core = self.core();
        if hint.0 < core.arena.count() {
            core.arena.prefetch(hint.0);
        }
    }
}

impl Pager {
    /// Lets a tree have memory to remember frames in, if there is any left: a share of the pool's size for all trees together.
    pub(crate) fn take_hint_bytes(&self, bytes: usize) -> bool {
        let core = self.core();
        let most = (core.arena.bytes() / HINT_SHARE).max(HINT_BYTES_LEAST);
        let taken = &core.hint_bytes;
        if taken.load(Ordering::Relaxed) + bytes > most {
            return false;
        }
        if taken.fetch_add(bytes, Ordering::Relaxed) + bytes > most {
            taken.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// Gives it back.
    pub(crate) fn give_hint_bytes(&self, bytes: usize) {
        self.core().hint_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}
