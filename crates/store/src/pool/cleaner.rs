//! The page cleaner: writes dirty pages, keeps frames free, writes checkpoints.
//!
//! One thread, in rounds. A round (1) evicts and writes from the LRU lists' tails until every instance has its stock of
//! free frames, (2) writes the oldest dirty pages, more the fuller the log and the dirtier the pool, so that neither
//! limit is ever hit suddenly, (3) writes a checkpoint if it gains enough, (4) once a second syncs what the log holds
//! back and raises counters' marks. It sleeps when there is nothing to do. Unlogged pages are written in (1)
//! only, and their file is cut in passing ([`super::unlogged`]). Between batches it does what a DROP asks of it
//! (`discard::cleaner`).
//!
//! **Writing a batch** (`Core::write_frames`) holds `writing` throughout, so a page is never written twice at a time and
//! taking `writing` waits for all writes under way. Each page is copied under a shared try-latch and leaves the flush list
//! in the same moment; a page changed after that enters it anew. No latch is held during the I/O, only a pin. The log is
//! durable up to the youngest copied page before anything is written. Stale pages are never copied.
//!
//! **Failure.** The first failed write or sync stops the log. The frames concerned become dirty again, so
//! they are never evicted and what they hold can still be read.

use super::core::{Core, DirtyMeta};
use super::doublewrite::{BATCH, Place};
use super::frame::{DIRTY, FREE, FrameNo, LOADING, PINS};
use crate::error::Result;
use crate::page::{Lsn, page_lsn, page_no};
use crate::space::FileId;
use crate::space::alloc::SlotNo;
use crate::wait::{self, Class};
use parking_lot::lock_api::RawRwLock as _;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Pause between rounds while there is work.
const ROUND: Duration = Duration::from_millis(20);
/// Longest sleep.
const IDLE: Duration = Duration::from_secs(1);
/// LRU frames looked at for dirty pages per instance and round.
const TAIL_DEPTH: usize = 1024;
/// Share of the log's capacity (percent) that may be unflushed before flushing by age begins, and at which it
/// knows no restraint.
const AGE_START: u64 = 15;
const AGE_FULL: u64 = 65;
/// The same for dirty frames in the pool.
const DIRTY_START: u64 = 10;
const DIRTY_FULL: u64 = 75;
/// A checkpoint is written when it frees this share of the log.
const CHECKPOINT_SHARE: u64 = 32;

/// How threads talk to the cleaner.
#[derive(Default)]
pub(crate) struct Signal {
    wanted: AtomicBool,
    /// In a long sleep, where a hint that there may be work is welcome.
    dozing: AtomicBool,
    stop: AtomicBool,
    mutex: Mutex<()>,
    condvar: Condvar,
}

impl Signal {
    /// Asks for a round now.
    #[inline]
    pub fn wake(&self) {
        if !self.wanted.load(Ordering::Relaxed) {
            self.wake_slow();
        }
    }

    /// Asks for a round unless rounds are coming anyway.
    pub fn nudge(&self) {
        if self.dozing.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake_slow(&self) {
        if !self.wanted.swap(true, Ordering::AcqRel) {
            drop(self.mutex.lock());
            self.condvar.notify_all();
        }
    }

    /// Tells the cleaner to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        drop(self.mutex.lock());
        self.condvar.notify_all();
    }

    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    fn sleep(&self, most: Duration) {
        let mut g = self.mutex.lock();
        self.dozing.store(most >= IDLE, Ordering::Relaxed);
        if !self.is_stopping() && !self.wanted.load(Ordering::Acquire) {
            self.condvar.wait_for(&mut g, most);
        }
        self.dozing.store(false, Ordering::Relaxed);
        self.wanted.store(false, Ordering::Release);
    }
}

/// Since when nothing was appended.
struct Quiet {
    end: Lsn,
    since: Instant,
}

/// Lets those who wait for the cleaner know that it is gone, however it goes.
struct Ending<'c>(&'c Core);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.end_discards();
    }
}

/// The cleaner thread's body.
pub(crate) fn run(core: &Core) {
    let _ending = Ending(core);
    let mut last_tick = Instant::now();
    let mut quiet = Quiet {
        end: 0,
        since: Instant::now(),
    };
    while !core.cleaner.is_stopping() {
        core.serve_discards();
        let busy = match core.round(&mut quiet) {
            Ok(busy) => busy,
            Err(e) => {
                core.log.stop(&e.to_string());
                false
            }
        };
        if last_tick.elapsed() >= IDLE && core.log.stopped().is_none() {
            last_tick = Instant::now();
            if let Err(e) = core.log.tick().and_then(|()| core.raise_counters_ahead()) {
                core.log.stop(&e.to_string());
            }
        }
        if core.log.stopped().is_some() {
            // Nothing is written any more; let those who wait for something find out why.
            core.wake_frame_waiters();
            core.log_room.wake();
            core.cleaner.sleep(IDLE);
            continue;
        }
        core.cleaner.sleep(if busy { ROUND } else { IDLE });
    }
}

impl Core {
    /// One round; whether the next should follow soon.
    fn round(&self, quiet: &mut Quiet) -> Result<bool> {
        if self.log.stopped().is_some() {
            return Ok(false);
        }
        let mut busy = self.stock_frames()?;
        let end = self.log.end_lsn();
        if end != quiet.end {
            *quiet = Quiet {
                end,
                since: Instant::now(),
            };
        }
        let idle = quiet.since.elapsed() >= IDLE;
        busy |= self.flush_by_age(idle)?;
        self.advance_checkpoint(idle)?;
        self.review_log_room();
        busy |= self.log_room.is_waited_for();
        self.shrink_unlogged();
        Ok(busy)
    }

    /// Brings every instance's free list to its stock. Whether writes were needed.
    fn stock_frames(&self) -> Result<bool> {
        let mut wrote = false;
        for instance in &self.instances {
            let low = instance.low_water();
            let waiters = self.frame_waiters();
            if waiters == 0 && instance.free_len.load(Ordering::Relaxed) >= low {
                continue;
            }
            let target = low * 2;
            for attempt in 0..2 {
                let mut freed = Vec::new();
                let depth = TAIL_DEPTH.min(instance.count as usize);
                while instance.free_len.load(Ordering::Relaxed) + (freed.len() as u32) < target {
                    let stale = self.seek_stale();
                    match instance.evict(&self.arena, stale, depth) {
                        Some(v) => freed.push(self.finish_claim(v)),
                        None => break,
                    }
                }
                self.give(&freed);
                let lacking = target.saturating_sub(instance.free_len.load(Ordering::Relaxed));
                if lacking == 0 || attempt == 1 {
                    break;
                }
                let mut frames = Vec::new();
                let most = (lacking as usize).max(64);
                instance.tail(&self.arena, depth, most, &mut frames, |f| {
                    let w = f.word.load(Ordering::Relaxed);
                    w & DIRTY != 0 && w & (PINS | FREE | LOADING) == 0
                });
                if self.write_frames(&mut frames, &[])? == 0 {
                    break;
                }
                wrote = true;
            }
        }
        Ok(wrote || self.frame_waiters() > 0)
    }

    /// Writes oldest pages at a pace that suits the fill of log and pool.
    fn flush_by_age(&self, idle: bool) -> Result<bool> {
        let capacity = self.log.capacity();
        let end = self.log.end_lsn();
        let age = end - self.oldest_dirty().unwrap_or(end).min(end);
        let dirty: u64 = self.dirty_frames();
        let total = u64::from(self.arena.count());
        let pace = |share: u64, start: u64, full: u64| -> u64 {
            // Per mille of the dirty pages to write in this round, rising quadratically.
            let x = share.saturating_sub(start * 10) * 1000 / ((full - start) * 10);
            (x * x / 1000).min(1000)
        };
        let by_age = pace(age * 1000 / capacity, AGE_START, AGE_FULL);
        let by_dirty = pace(dirty * 1000 / total, DIRTY_START, DIRTY_FULL);
        // Idle: write a little, so that a later start finds little to recover.
        let by_idle = if idle && age > 0 { 20 } else { 0 };
        let per_mille = by_age.max(by_dirty).max(by_idle);
        if per_mille == 0 {
            return Ok(false);
        }
        let want = (dirty * per_mille).div_ceil(1000).max(16) as usize;
        // Beyond this age everything goes, however many pages that is.
        let below = if by_age == 1000 {
            end.saturating_sub(capacity * AGE_FULL / 100).max(1)
        } else {
            0
        };
        let mut written = 0;
        while written < want || self.oldest_dirty().is_some_and(|o| o < below) {
            let limit = if written < want { end } else { below };
            let n = self.write_oldest(limit, BATCH)?;
            if n == 0 || self.cleaner.is_stopping() {
                break;
            }
            written += n;
            if self.frame_waiters() > 0 {
                self.stock_frames()?;
            }
            self.serve_discards();
            if self.log_room.is_waited_for() {
                self.advance_checkpoint(false)?;
                break;
            }
        }
        Ok(!idle || written > 0)
    }

    fn dirty_frames(&self) -> u64 {
        let each = self.instances.iter();
        each.map(|i| u64::from(i.dirty_len.load(Ordering::Relaxed)))
            .sum()
    }

    /// Least oldest-LSN of all dirty pages and bookkeeping pages. What is being written is not counted: for
    /// checkpoints the caller holds `writing`.
    fn oldest_dirty(&self) -> Option<Lsn> {
        let metas = self.dirty_meta.lock().values().map(|d| d.oldest).min();
        let frames = self.instances.iter();
        frames
            .filter_map(|i| i.flush_oldest(&self.arena))
            .chain(metas)
            .min()
    }

    /// Writes about `most` of the pages with an oldest LSN below `below`, oldest first; how many left the
    /// flush lists.
    pub fn write_oldest(&self, below: Lsn, most: usize) -> Result<usize> {
        let mut frames = Vec::new();
        let each = most.div_ceil(self.instances.len());
        for instance in &self.instances {
            instance.flush_head(&self.arena, below, each, &mut frames);
        }
        let metas: Vec<_> = {
            let dirty = self.dirty_meta.lock();
            let due = dirty.iter().filter(|(_, d)| d.oldest < below);
            due.take(most).map(|(k, _)| *k).collect()
        };
        self.write_frames(&mut frames, &metas)
    }

    /// Writes what of these frames and bookkeeping pages is dirty and not in use; how many left the
    /// flush lists.
    fn write_frames(&self, frames: &mut [FrameNo], metas: &[(FileId, SlotNo)]) -> Result<usize> {
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

    /// Writes a checkpoint if it is worth it.
    pub fn advance_checkpoint(&self, idle: bool) -> Result<()> {
        // What has been appended by now is either on disk, or dirty below, or younger than this.
        let writing = self.writing.lock();
        let end = self.log.end_lsn();
        let lsn = self.oldest_dirty().unwrap_or(end).min(end);
        drop(writing);
        let gain = lsn.saturating_sub(self.log.checkpoint_lsn());
        let worth = self.log.capacity() / CHECKPOINT_SHARE;
        let full = self.log_room.is_waited_for();
        if gain == 0 || !(gain >= worth || idle || full) {
            return Ok(());
        }
        self.write_checkpoint(lsn)
    }

    fn write_checkpoint(&self, lsn: Lsn) -> Result<()> {
        // Pages given up unwritten must be recoverable as such: dropped, or freed.
        self.log.sync_to(self.stale_lsn.load(Ordering::Acquire))?;
        self.log.write_checkpoint(lsn, &[])?;
        self.counts.checkpoints.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Writes everything dirty and a checkpoint at the log's end. Others should be quiet, else what they
    /// change meanwhile is left.
    pub fn flush_all(&self) -> Result<()> {
        loop {
            self.log.tick()?;
            let end = self.log.end_lsn();
            let writing = self.writing.lock();
            let oldest = self.oldest_dirty();
            drop(writing);
            match oldest {
                Some(o) if o < end => {
                    if self.write_oldest(end, BATCH * 4)? == 0 {
                        // Latched by somebody just now.
                        std::thread::yield_now();
                    }
                }
                _ => return self.write_checkpoint(end),
            }
        }
    }
}
