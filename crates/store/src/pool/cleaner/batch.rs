//! Writing a batch of pages.
//!
//! `Core::write_batch` holds `writing` throughout, so a page is never written twice at a time and
//! taking `writing` waits for all writes under way. Each page is copied under a shared try-latch and leaves the flush list
//! in the same moment; a page changed after that enters it anew. No latch is held during the I/O, only a pin. The log is
//! durable up to the youngest copied page before anything is written. Stale pages are never copied.
//!
//! **Failure.** The first failed write or sync stops the log. The frames concerned become dirty again, so
//! they are never evicted and what they hold can still be read.
//! A file or folder that cannot be opened, because the process has no descriptor left, say, is no failed write: what belongs
//! to it stays dirty for a later round ([`Failing`]), and [`super::super::trouble`] lets people know.

use super::super::core::Core;
use super::super::doublewrite::Place;
use super::super::frame::{FREE, FrameNo, LOADING};
use super::failing::Failing;
use crate::error::{Error, Result};
use crate::io::File;
use crate::page::{PageNo, page_lsn, page_no};
use crate::space::FileId;
use crate::space::alloc::SlotNo;
use crate::space::file::DataFile;
use crate::space::handles::is_lack;
use crate::wait::{self, Class};
use parking_lot::lock_api::RawRwLock as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A pinned frame, after the page it holds, in whose order it is written.
type Pinned = (FileId, PageNo, FrameNo);

impl Core {
    /// Writes what of these frames and bookkeeping pages is dirty, not in use, and not of a failing file; how many pages left the
    /// flush lists.
    pub(super) fn write_frames(
        &self,
        frames: &mut [FrameNo],
        metas: &[(FileId, SlotNo)],
        failing: &mut Failing,
    ) -> Result<usize> {
        let known = failing.len();
        // Pinned, a frame stays what it is.
        let mut pinned: Vec<Pinned> = Vec::with_capacity(frames.len());
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
        let mut gone = self.write_alone(unlogged);
        let mut result = self.settle_folders(rest, metas, failing);
        while result.is_ok() && !(metas.is_empty() && rest.is_empty()) {
            result = self
                .write_batch(&mut rest, &mut metas, failing)
                .map(|n| gone += n);
        }
        for (_, _, n) in &pinned {
            self.unpin(*n);
        }
        self.wake_frame_waiters();
        if failing.len() > known
            && let Some(e) = &failing.why
        {
            self.trouble.note(e);
        }
        result.map(|()| gone)
    }

    /// Makes the names of new files durable, before the first of their pages is written.
    fn settle_folders(
        &self,
        frames: &[Pinned],
        metas: &[(FileId, SlotNo)],
        failing: &mut Failing,
    ) -> Result<()> {
        let mut new: Vec<Arc<DataFile>> = Vec::new();
        for of_one in frames.chunk_by(|a, b| a.0 == b.0) {
            // SAFETY: pinned and not free.
            let space = unsafe { self.arena.frame(of_one[0].2).space() };
            new.extend(space.data(&self.files, false).ok().cloned());
        }
        let dirty = self.dirty_meta.lock();
        new.extend(
            metas
                .iter()
                .filter_map(|k| Some(dirty.get(k)?.file.clone())),
        );
        drop(dirty);
        new.retain(|f| !f.is_settled());
        for folder in ["", "tables"] {
            let mut inside = new.iter().filter(|f| f.id.folder() == folder).peekable();
            if inside.peek().is_none() {
                continue;
            }
            match self.files.handles().sync_folder(folder) {
                Ok(()) => inside.for_each(|f| f.settle()),
                Err(e) => {
                    let lacking = is_lack(&e);
                    let e = Error::io(format!("sync folder '{folder}'"), &e);
                    if !lacking {
                        self.log.stop(&e.to_string());
                        return Err(e);
                    }
                    inside.for_each(|f| failing.add(f.id, e.clone()));
                }
            }
        }
        Ok(())
    }

    /// What to write the file's pages through; `None`: not now.
    fn writable(&self, file: &DataFile, failing: &mut Failing) -> Option<Arc<dyn File>> {
        if failing.has(file.id) || !file.is_settled() {
            return None;
        }
        match file.handle() {
            Ok(handle) => Some(handle),
            Err(e) => {
                if !file.is_deleted() {
                    failing.add(file.id, e);
                }
                None
            }
        }
    }

    /// Gathers and writes one batch from the fronts of the two lists; how many pages left the flush lists.
    fn write_batch(
        &self,
        frames: &mut &[Pinned],
        metas: &mut &[(FileId, SlotNo)],
        failing: &mut Failing,
    ) -> Result<usize> {
        let mut dw = self.writing.lock();
        let mut gone = 0;
        let mut youngest = 0;
        let mut copied = Vec::new();
        let mut at_work = Vec::new();
        while let Some((key, more)) = metas.split_first() {
            if dw.is_full() {
                break;
            }
            *metas = more;
            // It stays in the list, so that no checkpoint passes it, until it can be written.
            let Some(file) = self.dirty_meta.lock().get(key).map(|d| d.file.clone()) else {
                continue;
            };
            let Some(handle) = self.writable(&file, failing) else {
                continue;
            };
            self.dirty_meta.lock().remove(key);
            gone += 1;
            let place = Place {
                id: key.0,
                file: handle,
                page: crate::space::alloc::page_of(key.1),
            };
            let bytes = dw.add(place);
            let lsn = file.alloc().lock().image(key.0, key.1, bytes);
            // Kept from being forgotten, and read again, before it is written.
            at_work.push(file);
            youngest = youngest.max(lsn);
        }
        while let Some((&(id, page, n), more)) = frames.split_first() {
            if dw.is_full() {
                break;
            }
            *frames = more;
            let f = self.arena.frame(n);
            // Opening a file takes its time, so that comes before the latch.
            let mut handle = None;
            if self.is_dirty(n) && !self.is_stale(n) && !failing.has(id) {
                // SAFETY: pinned and not free.
                match unsafe { f.space() }.data(&self.files, false) {
                    Ok(file) => handle = self.writable(file, failing),
                    Err(e) => failing.add(id, e),
                }
            }
            if !f.latch.try_lock_shared() {
                continue;
            }
            let instance = self.instance(n);
            let mut copy = || {
                if !self.is_dirty(n) {
                    return;
                }
                if self.is_stale(n) {
                    if instance.flush_unlink(&self.arena, n) {
                        self.counts.discarded.fetch_add(1, Ordering::Relaxed);
                        gone += 1;
                    }
                    return;
                }
                let Some(file) = handle.take() else {
                    return;
                };
                // SAFETY: latched.
                let bytes = unsafe { self.arena.page_ref(n) };
                debug_assert_eq!(page_no(bytes), page);
                youngest = youngest.max(page_lsn(bytes));
                dw.add(Place { id, file, page }).copy_from_slice(bytes);
                instance.flush_unlink(&self.arena, n);
                copied.push(n);
                gone += 1;
            };
            copy();
            // SAFETY: latched above.
            unsafe { f.latch.unlock_shared() };
        }
        let count = dw.len() as u64;
        if count == 0 {
            return Ok(gone);
        }
        self.counts.pending_writes.store(count, Ordering::Relaxed);
        let result = self.log.sync_to(youngest).and_then(|()| dw.write());
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
                Ok(gone)
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
            .handles()
            .sync_folder(folder)
            .map_err(|e| crate::Error::io(format!("sync folder '{folder}'"), &e))
    }
}
