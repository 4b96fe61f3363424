//! Finding a leaf under shared latches; what happens when a page on the way is not resident.

use super::Tree;
use super::edit::Found;
use crate::error::{Error, Result};
use crate::page::{PageNo, PageType, page_type, slotted};
use crate::pool::{FrameHint, Mtr, PageH, PageRead, Pin};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering};

/// A page that an attempt needed and did not find in the pool: bring it in and try again.
#[derive(Debug)]
pub(super) struct Miss(pub PageNo);

/// Pages brought in for one operation, pinned to its end so that its restarts make progress.
pub(super) struct Resident<'t> {
    tree: &'t Tree,
    pins: SmallVec<[Pin<'t>; MAX_PINS]>,
    failed: PageNo,
}

/// Pins an operation keeps at most; beyond that it starts afresh rather than exhaust a small pool.
const MAX_PINS: usize = 4;

impl<'t> Resident<'t> {
    pub fn new(tree: &'t Tree) -> Resident<'t> {
        Resident {
            tree,
            pins: SmallVec::new(),
            failed: 0,
        }
    }

    /// Reads the page in. Call with no latch held.
    ///
    /// By now the page may have been freed, so the first failure only makes the caller start again: a descent
    /// that comes by the same page a second time was led there by a page that still names it.
    #[cold]
    pub fn bring(&mut self, miss: Miss) -> Result<()> {
        let Miss(no) = miss;
        match self.pin(no) {
            Ok(pin) => {
                if self.pins.len() == MAX_PINS {
                    self.pins.clear();
                }
                self.pins.push(pin);
                Ok(())
            }
            Err(e) if self.failed == no => Err(e),
            Err(_) => {
                self.failed = no;
                Ok(())
            }
        }
    }

    fn pin(&self, no: PageNo) -> Result<Pin<'t>> {
        let Tree { pager, space, .. } = self.tree;
        let pin = pager.pin(space, no)?;
        if matches!(
            page_type(&pager.fetch(space, no)?),
            None | Some(PageType::Free)
        ) {
            return Err(self.tree.corrupt(no, "it is free, but in the tree"));
        }
        Ok(pin)
    }
}

/// Remembers in which frames pages below the root are, so that the pool's page table is hardly asked. Each word is (page
/// number, frame); a wrong one costs a look into the page table.
pub(super) struct FrameCache(Box<[AtomicU64]>);

/// Words of a cache; powers of two. Small trees have none: there are many of them.
const FEW_FRAMES: usize = 1 << 11;
const MANY_FRAMES: usize = 1 << 15;
/// Children of a root above leaves that make a cache worth its memory.
const WORTH_CACHING: u16 = 16;

impl FrameCache {
    fn new(words: usize) -> FrameCache {
        FrameCache((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    #[inline]
    fn word(&self, page: PageNo) -> &AtomicU64 {
        &self.0[page as usize & (self.0.len() - 1)]
    }
}

impl Tree {
    /// The root under a shared latch.
    #[inline]
    pub(super) fn try_root(&self) -> std::result::Result<PageRead<'_>, Miss> {
        let root = self.root();
        let hint = FrameHint::from_bits(self.root_frame.load(Ordering::Relaxed));
        if let Some(page) = self.pager.try_fetch_cached(hint, &self.space, root) {
            return Ok(page);
        }
        let page = self.pager.try_fetch(&self.space, root).ok_or(Miss(root))?;
        self.root_frame
            .store(page.hint().to_bits(), Ordering::Relaxed);
        Ok(page)
    }

    /// The root under an exclusive latch, if it is resident.
    #[inline]
    pub(super) fn try_latch_root(&self, mtr: &mut Mtr<'_>) -> std::result::Result<PageH, Miss> {
        let root = self.root();
        let hint = FrameHint::from_bits(self.root_frame.load(Ordering::Relaxed));
        if let Some(page) = mtr.try_latch_cached(hint, &self.space, root) {
            return Ok(page);
        }
        let page = mtr.try_latch(&self.space, root).ok_or(Miss(root))?;
        self.root_frame
            .store(mtr.hint(page).to_bits(), Ordering::Relaxed);
        Ok(page)
    }

    /// The cache for a tree with this root, if it is worth one.
    #[inline]
    pub(super) fn frames(&self, root: &[u8]) -> Option<&FrameCache> {
        match slotted::level(root) {
            0 => None,
            1 if slotted::count(root) < WORTH_CACHING => None,
            1 => self.frames[0]
                .get()
                .or_else(|| self.make_frames(0, FEW_FRAMES)),
            _ => self.frames[1]
                .get()
                .or_else(|| self.make_frames(1, MANY_FRAMES)),
        }
    }

    /// Makes a cache if the pool's account has room for it.
    #[cold]
    fn make_frames(&self, which: usize, words: usize) -> Option<&FrameCache> {
        let cache = &self.frames[which];
        if !self.pager.take_hint_bytes(words * size_of::<u64>()) {
            return cache.get();
        }
        if cache.set(FrameCache::new(words)).is_err() {
            // Somebody else came first.
            self.pager.give_hint_bytes(words * size_of::<u64>());
        }
        cache.get()
    }

    /// A page below the root under a shared latch, if it is resident.
    #[inline]
    pub(super) fn try_page(&self, frames: Option<&FrameCache>, no: PageNo) -> Option<PageRead<'_>> {
        let Some(frames) = frames else {
            return self.pager.try_fetch(&self.space, no);
        };
        let word = frames.word(no);
        let cached = word.load(Ordering::Relaxed);
        if (cached >> 32) as PageNo == no {
            let hint = FrameHint::from_bits(cached as u32);
            self.pager.prefetch(hint);
            if let Some(page) = self.pager.try_fetch_cached(hint, &self.space, no) {
                return Some(page);
            }
        }
        let page = self.pager.try_fetch(&self.space, no)?;
        word.store(cache_word(no, page.hint()), Ordering::Relaxed);
        Some(page)
    }

    /// As [`Tree::try_page`], under an exclusive latch.
    #[inline]
    pub(super) fn try_latch_page(
        &self,
        mtr: &mut Mtr<'_>,
        frames: Option<&FrameCache>,
        no: PageNo,
    ) -> Option<PageH> {
        let Some(frames) = frames else {
            return mtr.try_latch(&self.space, no);
        };
        let word = frames.word(no);
        let cached = word.load(Ordering::Relaxed);
        if (cached >> 32) as PageNo == no {
            let hint = FrameHint::from_bits(cached as u32);
            self.pager.prefetch(hint);
            if let Some(page) = mtr.try_latch_cached(hint, &self.space, no) {
                return Some(page);
            }
        }
        let page = mtr.try_latch(&self.space, no)?;
        word.store(cache_word(no, mtr.hint(page)), Ordering::Relaxed);
        Some(page)
    }

    /// One descent under coupled shared latches; `route` picks a child's slot.
    #[inline]
    pub(super) fn try_leaf(
        &self,
        mut route: impl FnMut(&[u8]) -> u16,
    ) -> Result<std::result::Result<PageRead<'_>, Miss>> {
        let mut page = match self.try_root() {
            Ok(page) => page,
            Err(miss) => return Ok(Err(miss)),
        };
        self.pager.count_descent();
        let mut level = slotted::level(&page);
        self.saw_height(level + 1);
        let frames = self.frames(&page);
        while level > 0 {
            let child = slotted::child(&page, route(&page));
            level -= 1;
            let Some(next) = self.try_page(frames, child) else {
                return Ok(Err(Miss(child)));
            };
            if slotted::level(&next) != level {
                return Err(self.wrong_level(child));
            }
            page = next;
        }
        Ok(Ok(page))
    }

    /// The leaf that `route` leads to, brought in if need be. Call with no latch held.
    #[inline]
    pub(super) fn leaf(&self, mut route: impl FnMut(&[u8]) -> u16) -> Result<PageRead<'_>> {
        match self.try_leaf(&mut route)? {
            Ok(leaf) => Ok(leaf),
            Err(miss) => self.leaf_missed(miss, &mut route),
        }
    }

    #[cold]
    fn leaf_missed(
        &self,
        mut miss: Miss,
        route: &mut dyn FnMut(&[u8]) -> u16,
    ) -> Result<PageRead<'_>> {
        let mut resident = Resident::new(self);
        loop {
            resident.bring(miss)?;
            match self.try_leaf(&mut *route)? {
                Ok(leaf) => return Ok(leaf),
                Err(m) => miss = m,
            }
        }
    }

    #[inline]
    pub(super) fn saw_height(&self, height: u8) {
        if self.height.load(Ordering::Relaxed) != height {
            self.height.store(height, Ordering::Relaxed);
        }
    }

    #[cold]
    pub(super) fn wrong_level(&self, page: PageNo) -> Error {
        self.corrupt(page, "its level does not fit its parent's")
    }

    /// Point lookup: `f` sees the value under the leaf's shared latch. It must be short: no I/O, no waits.
    #[inline]
    pub fn get<R>(&self, key: &[u8], f: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        if self.root() == 0 {
            return Ok(self.get_small(key, f)?.0);
        }
        let (leaf, found) = self.find(key)?;
        Ok(found.ok().map(|slot| f(slotted::value(&leaf, slot))))
    }

    /// The leaf where the key is or belongs, and its slot there.
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Result<(PageRead<'_>, Found)> {
        let probe = self.probe(key);
        if let Some(place) = self.find_hashed(probe, key) {
            return Ok(place);
        }
        let leaf = self.leaf(|page| slotted::search_child(page, key))?;
        let found = slotted::search(&leaf, key);
        if let Ok(slot) = found {
            self.learn(probe, &leaf, slot);
        }
        Ok((leaf, found))
    }
}

fn cache_word(no: PageNo, hint: FrameHint) -> u64 {
    u64::from(no) << 32 | u64::from(hint.to_bits())
}
