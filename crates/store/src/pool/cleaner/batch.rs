//! Writing a batch of pages.
//!
//! `Core::write_batch` holds `writing` throughout, so a page is never written twice at a time and
//! taking `writing` waits for all writes under way. Each page is copied under a shared try-latch and leaves the flush list
//! in the same moment; a page changed after that enters it anew. No latch is held during the I/O, only a pin. The log is
//! durable up to the youngest copied page before anything is written. Stale pages are never copied.
//!
//! **Failure.** The first failed write or sync stops the log. The frames concerned become dirty again, so
//! they are never evicted and what they hold can still be read.

use super::super::core::{Core, DirtyMeta};
use super::super::doublewrite::Place;
use super::super::frame::{FREE, FrameNo, LOADING};
use crate::error::Result;
use crate::page::{page_lsn, page_no};
use crate::space::FileId;
use crate::space::alloc::SlotNo;
use crate::wait::{self, Class};
use parking_lot::lock_api::RawRwLock as _;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

impl Core {
    /// Writes what of these frames and bookkeeping pages is dirty and not in use; how many left the
    /// flush lists.
    pub(super) fn write_frames(
        &self,
        frames: &mut [FrameNo],
        metas: &[(FileId, SlotNo)],
    ) -> Result<usize> {
        // Pinned, a frame stays what it is.
        let mut pinned: Vec<(FileId, u32, FrameNo)> = Vec::with_capacity(frames.len());
        for n in frames.iter() {
            let f = self.arena.frame(*n);
            if f.word.fetch_add(1, Ordering::Acquire) & (FREE | LOADING) != 0 {
                self.unpin(*n);
                continue;
            }
            // SAFETY: pinned and not free.
            let file = unsafe { f.space() }.file;
            pinned.push((file, f.page.load(Ordering::Relaxed), *n));
        }
        pinned.sort_unstable();
        let mut metas = metas;
        // Those of the unlogged file come last.
        let logged = pinned.partition_point(|(id, ..)| *id != FileId::TEMP);
        let (mut rest, unlogged) = pinned.split_at(logged);
        let mut gone = self.write_unlogged(unlogged);
        let mut result = Ok(());
        while result.is_ok() && !(metas.is_empty() && rest.is_empty()) {
            result = self.write_batch(&mut rest, &mut metas, &mut gone);
        }
        for (_, _, n) in &pinned {
            self.unpin(*n);
        }
        self.wake_frame_waiters();
        result.map(|()| gone)
    }

    /// Gathers and writes one batch from the fronts of the two lists.
    fn write_batch(
        &self,
        frames: &mut &[(FileId, u32, FrameNo)],
        metas: &mut &[(FileId, SlotNo)],
        gone: &mut usize,
    ) -> Result<()> {
        let mut dw = self.writing.lock();
        let mut youngest = 0;
        let mut copied = Vec::new();
        let mut at_work = Vec::new();
        let mut folders: BTreeSet<&'static str> = BTreeSet::new();
        while let Some((key, more)) = metas.split_first() {
            if dw.is_full() {
                break;
            }
            *metas = more;
            let Some(DirtyMeta { file, .. }) = self.dirty_meta.lock().remove(key) else {
                continue;
            };
            *gone += 1;
            let handle = match file.handle() {
                Ok(handle) => handle,
                Err(_) if file.is_deleted() => continue,
                Err(e) => {
                    // It is in no list any more: no checkpoint may pass it.
                    self.log.stop(&e.to_string());
                    return Err(e);
                }
            };
            if file.take_folder_debt() {
                folders.insert(key.0.folder());
            }
            let page = crate::space::alloc::page_of(key.1);
            let place = Place {
                id: key.0,
                file: handle,
                page,
            };
            let bytes = dw.add(place);
            let lsn = file.alloc().lock().image(key.0, key.1, bytes);
            // Kept from being forgotten, and read again, before it is written.
            at_work.push(file);
            youngest = youngest.max(lsn);
        }
        while let Some(((id, page, n), more)) = frames.split_first() {
            if dw.is_full() {
                break;
            }
            *frames = more;
            let f = self.arena.frame(*n);
            if !f.latch.try_lock_shared() {
                continue;
            }
            let instance = self.instance(*n);
            let mut copy = || {
                if !self.is_dirty(*n) {
                    return;
                }
                if self.is_stale(*n) {
                    if instance.flush_unlink(&self.arena, *n) {
                        self.counts.discarded.fetch_add(1, Ordering::Relaxed);
                        *gone += 1;
                    }
                    return;
                }
                // SAFETY: pinned and not free.
                let space = unsafe { f.space() };
                let Ok((file, handle)) = space
                    .data(&self.files, false)
                    .and_then(|file| Ok((file, file.handle()?)))
                else {
                    return;
                };
                if file.take_folder_debt() {
                    folders.insert(id.folder());
                }
                // SAFETY: latched.
                let bytes = unsafe { self.arena.page_ref(*n) };
                debug_assert_eq!(page_no(bytes), *page);
                youngest = youngest.max(page_lsn(bytes));
                let place = Place {
                    id: *id,
                    file: handle,
                    page: *page,
                };
                dw.add(place).copy_from_slice(bytes);
                instance.flush_unlink(&self.arena, *n);
                copied.push(*n);
                *gone += 1;
            };
            copy();
            // SAFETY: latched above.
            unsafe { f.latch.unlock_shared() };
        }
        let count = dw.len() as u64;
        if count == 0 {
            return Ok(());
        }
        self.counts.pending_writes.store(count, Ordering::Relaxed);
        let result = self.log.sync_to(youngest).and_then(|()| {
            for folder in folders {
                self.sync_folder(folder)?;
            }
            dw.write()
        });
        self.counts.pending_writes.store(0, Ordering::Relaxed);
        match result {
            Ok(()) => {
                self.counts.written.fetch_add(count, Ordering::Relaxed);
                for n in &copied {
                    let instance = &self.instance(*n).counts;
                    instance.written.fetch_add(1, Ordering::Relaxed);
                }
                self.counts
                    .doublewrite_batches
                    .fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(e) => {
                // Before the frames become evictable in any way and before a checkpoint can be computed.
                self.log.stop(&e.to_string());
                // Whose latch is waited for below may wait for somebody who waits for this.
                drop(dw);
                for n in copied {
                    self.dirty_again(n);
                }
                Err(e)
            }
        }
    }

    /// Puts a frame whose write failed back into the flush list, so that it is never evicted. (The list's
    /// order does not matter any more.)
    fn dirty_again(&self, n: FrameNo) {
        let f = self.arena.frame(n);
        wait::lock_shared(&f.latch, Class::PageShared);
        if !self.is_dirty(n) {
            let oldest = f.oldest.load(Ordering::Relaxed);
            self.instance(n).flush_push(&self.arena, n, oldest);
        }
        // SAFETY: latched above.
        unsafe { f.latch.unlock_shared() };
    }

    pub fn sync_folder(&self, folder: &str) -> Result<()> {
        self.files
            .storage()
            .sync_folder(folder)
            .map_err(|e| crate::Error::io(format!("sync folder '{folder}'"), &e))
    }
}
