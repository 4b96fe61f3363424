//! The page cleaner: writes dirty pages, keeps frames free, writes checkpoints.
//!
//! One thread, in rounds. A round (1) evicts and writes from the LRU lists' tails until every instance has its stock of
//! free frames, (2) writes the oldest dirty pages at the pace that the log's fill and the dirty pages' number ask for
//! ([`pace`]), so that neither limit is ever hit suddenly and commits find the disk free, (3) writes a checkpoint if it gains
//! enough, (4) once a second syncs what the log holds back and raises counters' marks. It sleeps when there is nothing to do.
//! Unlogged pages are written in (1) only, and their file is cut in passing ([`super::unlogged`]). Between batches
//! ([`batch`]) it does what a DROP asks of it (`discard::cleaner`).
//! Files that cannot be opened are passed over until the next round ([`failing`]).

mod batch;
mod failing;
mod pace;

pub(crate) use failing::Failing;
pub(crate) use pace::Limits;
pub use pace::{IO_CAPACITY, IO_CAPACITY_MAX};

use self::pace::{Load, Pace};
use super::core::Core;
use super::doublewrite::BATCH;
use super::frame::{DIRTY, FREE, LOADING, PINS};
use super::lists::Instance;
use crate::error::Result;
use crate::page::Lsn;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Pause between rounds while there is work: short, so that what is due goes in small portions.
const ROUND: Duration = Duration::from_millis(10);
/// Longest sleep.
const IDLE: Duration = Duration::from_secs(1);
/// LRU frames looked at for dirty pages per instance and round.
const TAIL_DEPTH: usize = 1024;
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

/// Lets those who wait for the cleaner know that it is gone, however it goes.
struct Ending<'c>(&'c Core);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let core = self.0;
        core.end_discards();
        if std::thread::panicking() {
            // No page is written and no checkpoint moves any more: whoever waits for that gets an error.
            core.log.stop("the page cleaner panicked");
            core.wake_frame_waiters();
            core.log_room.wake();
        }
    }
}

/// The cleaner thread's body.
pub(crate) fn run(core: &Core) {
    let _ending = Ending(core);
    let mut last_tick = Instant::now();
    let mut pace = Pace::new(Instant::now());
    while !core.cleaner.is_stopping() {
        core.serve_discards();
        let busy = match core.round(&mut pace) {
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
    fn round(&self, pace: &mut Pace) -> Result<bool> {
        if self.log.stopped().is_some() {
            return Ok(false);
        }
        let mut failing = Failing::default();
        let mut busy = self.stock_frames(&mut failing)?;
        busy |= self.flush_oldest(pace, &mut failing)?;
        self.advance_checkpoint(pace.is_idle())?;
        self.review_log_room();
        busy |= self.log_room.is_waited_for();
        self.shrink_unlogged();
        Ok(busy)
    }

    /// Brings every instance's free list to its stock. Whether writes were needed.
    fn stock_frames(&self, failing: &mut Failing) -> Result<bool> {
        let mut wrote = false;
        for instance in &self.instances {
            let enough = instance.free_len.load(Ordering::Relaxed) >= instance.low_water();
            if self.frame_waiters() > 0 || !enough {
                wrote |= self.stock_instance(instance, failing)?;
            }
        }
        Ok(wrote || self.frame_waiters() > 0)
    }

    /// Evicts, writes from the tail, and evicts again. Frames at the tail that cannot be written are set aside first.
    fn stock_instance(&self, instance: &Instance, failing: &mut Failing) -> Result<bool> {
        let target = instance.low_water() * 2;
        let depth = TAIL_DEPTH.min(instance.count as usize);
        let (mut wrote, mut aside) = (false, 0);
        loop {
            self.evict_to(instance, target, depth);
            let lacking = target.saturating_sub(instance.free_len.load(Ordering::Relaxed));
            if lacking == 0 || wrote {
                return Ok(wrote);
            }
            let mut frames = Vec::new();
            let most = (lacking as usize).max(64);
            instance.tail(&self.arena, depth, most, &mut frames, |f| {
                let w = f.word.load(Ordering::Relaxed);
                // SAFETY: what is in the LRU list is not free, and the list is locked.
                w & DIRTY != 0 && w & (PINS | FREE | LOADING) == 0 && !unsafe { failing.holds(f) }
            });
            wrote = self.write_frames(&mut frames, &[], failing)? > 0;
            let moved = match failing.is_empty() {
                true => 0,
                // SAFETY: as above.
                false => instance.set_aside(&self.arena, depth, |f| unsafe { failing.holds(f) }),
            };
            aside += moved;
            if !wrote && (moved == 0 || aside > instance.count) {
                return Ok(false);
            }
        }
    }

    /// Fills an instance's free list from its LRU list's tail, as far as that goes.
    fn evict_to(&self, instance: &Instance, target: u32, depth: usize) {
        let mut freed = Vec::new();
        while instance.free_len.load(Ordering::Relaxed) + (freed.len() as u32) < target {
            let stale = self.seek_stale();
            match instance.evict(&self.arena, stale, depth) {
                Some(v) => freed.push(self.finish_claim(v)),
                None => break,
            }
        }
        self.give(&freed);
    }

    /// Writes oldest pages at a pace that suits the fill of log and pool.
    fn flush_oldest(&self, pace: &mut Pace, failing: &mut Failing) -> Result<bool> {
        let end = self.log.end_lsn();
        let load = Load {
            end,
            oldest: self.oldest_dirty(),
            capacity: self.log.capacity(),
            dirty: self.dirty_frames(),
            frames: u64::from(self.arena.count()),
        };
        let due = pace.due(&load, &self.write_limits, Instant::now());
        let mut written = 0;
        // Whether what is left of what must go cannot be written: younger pages are due all the same.
        let mut stuck = false;
        loop {
            let (below, most) = match self.oldest_dirty() {
                None => break,
                Some(o) if o < due.must && !stuck => (due.must, BATCH),
                Some(_) if written < due.pages => (end, due.pages - written),
                Some(o) if o < due.mark && written < due.most => (due.mark, due.most - written),
                Some(_) => break,
            };
            let n = self.write_oldest(below, most.min(BATCH), failing)?;
            written += n;
            if n == 0 && below == due.must && !stuck && !failing.is_empty() {
                stuck = true;
                continue;
            }
            if n == 0 || self.cleaner.is_stopping() {
                break;
            }
            if self.frame_waiters() > 0 {
                self.stock_frames(failing)?;
            }
            self.serve_discards();
            if self.log_room.is_waited_for() {
                self.advance_checkpoint(false)?;
                break;
            }
        }
        pace.wrote(written);
        Ok(written > 0 || due.soon)
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

    /// Writes about `most` of the pages with an oldest LSN below `below`, oldest first, but for those of failing files; how many
    /// left the flush lists. If none did, there are none that can be written, but for those somebody has latched.
    pub fn write_oldest(&self, below: Lsn, most: usize, failing: &mut Failing) -> Result<usize> {
        let each = most.div_ceil(self.instances.len());
        loop {
            let known = failing.len();
            let mut frames = Vec::new();
            for instance in &self.instances {
                instance.flush_head(&self.arena, below, each, &mut frames, |f| {
                    // SAFETY: in the flush list, which is locked.
                    unsafe { failing.holds(f) }
                });
            }
            let metas: Vec<_> = {
                let dirty = self.dirty_meta.lock();
                let due = dirty
                    .iter()
                    .filter(|(k, d)| d.oldest < below && !failing.has(k.0));
                due.take(most).map(|(k, _)| *k).collect()
            };
            let gone = self.write_frames(&mut frames, &metas, failing)?;
            if gone > 0 || failing.len() == known {
                return Ok(gone);
            }
        }
    }

    /// Writes a checkpoint if it is worth it.
    pub fn advance_checkpoint(&self, idle: bool) -> Result<()> {
        // What has been appended by now is either on disk, or dirty below, or younger than this.
        let writing = self.writing.lock();
        let end = self.log.end_lsn();
        let lsn = self.oldest_dirty().unwrap_or(end).min(end);
        drop(writing);
        let full = self.log_room.is_waited_for();
        let lsn = self.log.checkpoint_limit(lsn, full);
        let gain = lsn.saturating_sub(self.log.checkpoint_lsn());
        let worth = self.log.capacity() / CHECKPOINT_SHARE;
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
    /// change meanwhile is left. Fails if something cannot be written for now, which loses nothing: the log has it.
    pub fn flush_all(&self) -> Result<()> {
        let mut failing = Failing::default();
        loop {
            self.log.tick()?;
            let end = self.log.end_lsn();
            let writing = self.writing.lock();
            let oldest = self.oldest_dirty();
            drop(writing);
            match oldest {
                Some(o) if o < end => {
                    if self.write_oldest(end, BATCH * 4, &mut failing)? > 0 {
                        continue;
                    }
                    if let Some(e) = failing.why {
                        return Err(e);
                    }
                    // Latched by somebody just now.
                    std::thread::yield_now();
                }
                _ => return self.write_checkpoint(end),
            }
        }
    }
}
