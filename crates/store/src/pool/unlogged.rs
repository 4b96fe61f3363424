//! Pages of temporary tables: unlogged, in the file `temp`.
//!
//! A temporary table belongs to one session and dies with it, and at the latest with the process. So nothing about
//! it needs to survive anything, and it takes part in nothing that others wait for. What differs from other pages:
//!
//! * **Identity.** Ids of temporary spaces carry a bit of their own ([`SpaceId::TEMPORARY`]) and are counted in memory. So
//!   making one writes nothing, and no log, page or catalog row can name one.
//! * **Mini-transactions** over such pages are unlogged: they write no redo, wait for no log space and move no LSN.
//!   One that is unlogged holds no other pages, and a logged one none of these (asserted whenever a page is latched): a
//!   redo group is all that its mini-transaction did, and an unlogged page is never part of a promise.
//! * **The LSN field** of such a page holds a stamp, counted up with each mini-transaction. Hints that ask "has this page
//!   changed?" therefore work as ever; nothing else reads it. A stamp never returns, so a page freed and taken
//!   again differs too.
//! * **Dirty** frames are in no flush list, which is ordered by LSN: they hold no checkpoint back, and no flush, no
//!   clean close and no count of dirty pages knows them. The cleaner writes them when they come to the LRU
//!   list's end and frames are short, with a checksum, in place: no doublewrite, no sync, no wait for the log.
//! * **Allocation** is the state in memory alone ([`FileAlloc`](crate::space::alloc::FileAlloc)); headers and maps of the file
//!   are never written. Dropping a space flips its flag and gives its extents back at once, in steps. The
//!   file is cut by the cleaner when at least half of it is free at the end, so it is empty when all are gone.
//! * **Recovery** does nothing: the file is removed when a database is opened, whatever is in it.
//!
//! **Failure.** A page that cannot be written (a full disk) costs the table it belongs to, not the engine: its space is
//! flagged as dropped, so its frames can be had by others at once, and whoever uses the table is told ([`lost`]).
//!
//! **Locks.** `writing` (the write buffer) is held by the one who writes; it is a leaf but for page latches that are
//! free, and the file's allocation state is taken for moments. Nobody but the cleaner writes or cuts.

use super::Pager;
use super::core::Core;
use super::discard::Dead;
use super::doublewrite::BATCH;
use super::frame::{DIRTY, FrameNo};
use crate::error::{Error, Result};
use crate::page::{PAGE_SIZE, PageNo, page_no};
use crate::space::alloc::Change;
use crate::space::{EXTENT_PAGES, FileId, Space, SpaceId, layout};
use parking_lot::Mutex;
use parking_lot::lock_api::RawRwLock as _;
use std::io::ErrorKind::NotFound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Extents given back under one hold of the allocation state.
const EXTENTS_A_STEP: usize = 64;

/// State of the unlogged pages.
#[derive(Default)]
pub(crate) struct Unlogged {
    /// Mini-transactions so far.
    stamp: AtomicU64,
    /// Spaces so far.
    spaces: AtomicU64,
    /// Images of the pages being written.
    writing: Mutex<Vec<u8>>,
    /// Pages written.
    written: AtomicU64,
    /// A space was dropped since the file was cut last.
    shrink: AtomicBool,
}

/// Numbers about temporary tables' pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnloggedStats {
    /// Length of the file.
    pub file_bytes: u64,
    /// Bytes of it that tables own.
    pub used_bytes: u64,
    /// Pages written to it.
    pub written: u64,
}

/// The error for whoever uses a temporary table whose pages could not be written.
pub(super) fn lost() -> Error {
    Error::Invalid(
        "the temporary table is lost: its pages could not be written to the file temp".into(),
    )
}

impl Unlogged {
    /// The next change's stamp.
    #[inline]
    pub fn next_stamp(&self) -> u64 {
        self.stamp.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Pager {
    /// A space for a temporary table's index. Writes nothing. End it with [`Pager::drop_temporary_space`].
    pub fn new_temporary_space(&self) -> Arc<Space> {
        let core = self.core();
        let n = core.unlogged.spaces.fetch_add(1, Ordering::Relaxed);
        core.space(SpaceId(SpaceId::TEMPORARY | n), FileId::TEMP)
    }

    /// Drops a temporary space and gives its pages back; `root` 0: it has none. Nobody uses it any more. Writes nothing and
    /// waits for nobody (but for what the chosen [`super::DropAlgorithm`] does); the cost is that of its extents,
    /// 128 KiB each. Doing it again does nothing.
    pub fn drop_temporary_space(&self, space: &Arc<Space>, root: PageNo) {
        let core = self.core();
        debug_assert!(space.id.is_temporary());
        if core.flag_dropped(space) {
            core.discard(&Dead::new(std::slice::from_ref(space)));
        }
        if space.is_given_back() {
            return;
        }
        let Ok(file) = space.data(&core.files, false) else {
            // It never had a page.
            return;
        };
        loop {
            let mut alloc = file.alloc().lock();
            let extents = alloc.extents_of(space.id, EXTENTS_A_STEP);
            if extents.is_empty() {
                if root != 0 {
                    alloc.logged(Change::Free(root));
                }
                break;
            }
            for e in extents {
                alloc.logged(Change::FreeExtent(e));
            }
        }
        core.unlogged.shrink.store(true, Ordering::Release);
        core.cleaner.nudge();
    }

    /// Gives a temporary space up: whoever uses it is told so. Its pages stay its own until it is dropped.
    pub fn lose_temporary_space(&self, space: &Space) {
        self.core().lose(space);
    }

    /// Numbers about temporary tables' pages.
    pub fn unlogged_stats(&self) -> UnloggedStats {
        let core = self.core();
        let mut stats = UnloggedStats {
            written: core.unlogged.written.load(Ordering::Relaxed),
            ..UnloggedStats::default()
        };
        if let Some(file) = core.files.open_already(FileId::TEMP) {
            let alloc = file.alloc().lock();
            let bytes = |extents: u32| u64::from(extents * EXTENT_PAGES) * PAGE_SIZE as u64;
            stats.file_bytes = bytes(alloc.extents());
            stats.used_bytes = bytes(alloc.owned_extents());
        }
        stats
    }
}

impl Core {
    fn lose(&self, space: &Space) {
        self.flag_dropped(space);
    }

    /// Marks an exclusively latched frame of an unlogged page as dirty.
    #[inline]
    pub(super) fn dirty_unlogged(&self, n: FrameNo) {
        self.arena.frame(n).word.fetch_or(DIRTY, Ordering::Relaxed);
    }

    /// Takes a dirty frame for clean, out of its flush list if its page is a logged one. `false` if it is clean already.
    pub(super) fn set_clean(&self, n: FrameNo) -> bool {
        let f = self.arena.frame(n);
        if SpaceId(f.space_id.load(Ordering::Relaxed)).is_temporary() {
            f.word.fetch_and(!DIRTY, Ordering::Relaxed) & DIRTY != 0
        } else {
            self.instance(n).flush_unlink(&self.arena, n)
        }
    }

    /// Writes pinned frames of unlogged pages, sorted by page, those that are dirty and not latched; how many are clean now.
    pub(super) fn write_alone(&self, frames: &[(FileId, PageNo, FrameNo)]) -> usize {
        let mut gone = 0;
        for batch in frames.chunks(BATCH) {
            let mut images = self.unlogged.writing.lock();
            images.clear();
            let mut copied: Vec<(PageNo, FrameNo)> = Vec::with_capacity(batch.len());
            for &(_, page, n) in batch {
                let f = self.arena.frame(n);
                if !f.latch.try_lock_shared() {
                    continue;
                }
                if self.is_dirty(n) {
                    gone += 1;
                    if self.is_stale(n) {
                        self.counts.discarded.fetch_add(1, Ordering::Relaxed);
                    } else {
                        // SAFETY: latched.
                        let bytes = unsafe { self.arena.page_ref(n) };
                        debug_assert_eq!(page_no(bytes), page);
                        images.extend_from_slice(bytes);
                        copied.push((page, n));
                    }
                    self.set_clean(n);
                }
                // SAFETY: latched above.
                unsafe { f.latch.unlock_shared() };
            }
            images.chunks_exact_mut(PAGE_SIZE).for_each(layout::seal);
            self.write_images(&images, &copied);
        }
        gone
    }

    /// Writes sealed images, neighbours in one write.
    fn write_images(&self, images: &[u8], pages: &[(PageNo, FrameNo)]) {
        let mut from = 0;
        while from < pages.len() {
            let first = pages[from].0;
            let run = pages[from..].iter().zip(first..);
            let run = run.take_while(|((page, _), no)| page == no).count();
            let bytes = &images[from * PAGE_SIZE..(from + run) * PAGE_SIZE];
            let written = self.files.get(FileId::TEMP, false).and_then(|file| {
                let at = u64::from(first) * PAGE_SIZE as u64;
                let done = file.handle()?.write_at(bytes, at);
                done.map_err(|e| Error::io("write temp", &e))
            });
            match written {
                Ok(()) => {
                    self.unlogged
                        .written
                        .fetch_add(run as u64, Ordering::Relaxed);
                }
                Err(e) => {
                    tracing::error!("a temporary table is lost: {e}");
                    for (_, n) in &pages[from..from + run] {
                        // SAFETY: pinned by the caller and not free.
                        let space = unsafe { self.arena.frame(*n).space() };
                        self.lose(space);
                    }
                }
            }
            from += run;
        }
    }

    /// Cuts the file if spaces were dropped. It is tried again after the next drop if that fails.
    pub(super) fn shrink_unlogged(&self) {
        if !self.unlogged.shrink.swap(false, Ordering::AcqRel) {
            return;
        }
        let cut = match self.files.open_already(FileId::TEMP) {
            Some(file) => file.shrink(),
            None => Ok(()),
        };
        if let Err(e) = cut {
            tracing::warn!("the file of temporary tables stays as long as it is: {e}");
        }
    }

    /// Removes the file, at opening and at a clean close.
    pub(super) fn remove_unlogged(&self) -> Result<()> {
        self.files.forget(FileId::TEMP);
        match self.files.storage().remove(&FileId::TEMP.name()) {
            Err(e) if e.kind() != NotFound => Err(Error::io("remove temp", &e)),
            _ => Ok(()),
        }
    }
}
