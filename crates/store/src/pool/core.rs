//! The pool's inside: page table, getting and evicting frames, reading pages in.
//!
//! Lock order: a page-table shard, an instance's lists, an instance's flush list and the wait mutexes are
//! all leaves to each other here: none is taken while another is held, except that a waiter for frames tries
//! instances' lists while it holds `frame_wait`, and for what [`super::discard`] says of the algorithms of old.

use super::cleaner::{Limits, Signal};
use super::counters::Counters;
use super::discard::Discards;
use super::doublewrite::Doublewrite;
use super::frame::{
    Arena, DETACHED, DIRTY, DOOMED, FREE, FrameNo, LOADING, LRU_OLD, LRU_YOUNG, PINS,
};
use super::lists::{Instance, Stale, Victim};
use super::look::Looks;
use super::populate::Wanted;
use super::published::Published;
use super::room::LogRoom;
use super::stats::Counts;
use super::trouble::Trouble;
use super::unlogged::Unlogged;
use crate::error::{Error, Result};
use crate::hash_index::HashIndex;
use crate::log::Log;
use crate::page::{Lsn, PageNo, PageType, page_type, put_u16, put_u32, put_u64, slotted};
use crate::space::alloc::SlotNo;
use crate::space::file::DataFile;
use crate::space::files::Files;
use crate::space::{FileId, Space, SpaceId};
use crate::wait::{self, Class};
use hashbrown::HashTable;
use parking_lot::{Condvar, Mutex, MutexGuard};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Page-table shards.
const SHARDS: usize = 256;
/// Condition variables for frames being read.
const IO_WAITS: usize = 64;
/// LRU frames a thread looks at for a clean one before it waits.
const TAIL_DEPTH: usize = 100;
/// And before it gives up for now and waits.
pub(crate) const TAIL_DEPTH_WAITING: usize = 4096;
/// A thread that finds no frame for this long gives up.
const FRAME_PATIENCE: Duration = Duration::from_secs(60);
/// A waiter looks again after this, in case what it waits for happened unannounced (an unpin).
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// A page used again this soon after it came in does not become young.
const OLD_BLOCKS_MS: u32 = 1000;

/// An entry of the page table.
#[derive(Clone, Copy)]
struct Entry {
    space: u64,
    page: PageNo,
    frame: FrameNo,
}

type TableMutex = wait::Mutex<HashTable<Entry>, { Class::PageTable as usize }>;

#[repr(align(64))]
struct Shard {
    table: TableMutex,
}

/// Spaces by id, as long as somebody refers to them.
#[derive(Default)]
struct Registry {
    map: HashMap<u64, Weak<Space>>,
    sweep_at: usize,
}

/// A file's bookkeeping page that must be written.
pub(crate) struct DirtyMeta {
    pub file: Arc<DataFile>,
    pub oldest: Lsn,
}

type DirtyMetas = wait::Mutex<HashMap<(FileId, SlotNo), DirtyMeta>, { Class::DirtyMeta as usize }>;

/// Everything the page layer shares between threads.
pub(crate) struct Core {
    pub files: Files,
    pub log: Log,
    pub arena: Arena,
    pub hash: HashIndex,
    shards: Box<[Shard]>,
    pub instances: Box<[Instance]>,
    per_instance: u32,
    spaces: Mutex<Registry>,
    io_waits: Box<[(Mutex<()>, Condvar)]>,
    frame_wait: (Mutex<()>, Condvar),
    waiters: AtomicU32,
    pub log_room: LogRoom,
    /// Held by whoever writes pages in place: there is one batch at a time.
    pub writing: wait::Mutex<Doublewrite, { Class::PageWrite as usize }>,
    pub dirty_meta: DirtyMetas,
    /// Dirty frames were given up unwritten because of groups that end here or before: a checkpoint
    /// makes the log durable this far first.
    pub stale_lsn: AtomicU64,
    /// How many frames are stale: detached ones, and those of spaces marked as gone.
    pub stale_frames: AtomicI64,
    pub discards: Discards,
    pub cleaner: Signal,
    /// What trees' caches of frame numbers take, bytes.
    pub hint_bytes: AtomicUsize,
    /// For the thread that populates memory ahead.
    pub wanted: Arc<Wanted>,
    pub trouble: Trouble,
    pub published: Published,
    pub write_limits: Limits,
    pub unlogged: Unlogged,
    pub counters: Counters,
    pub counts: Counts,
    pub looks: Looks,
    start: Instant,
}

#[inline]
fn hash(space: u64, page: PageNo) -> u64 {
    let a = space ^ 0x9E37_79B9_7F4A_7C15;
    let b = u64::from(page) ^ 0xD1B5_4A32_D192_ED03;
    let m = u128::from(a).wrapping_mul(u128::from(b | 1));
    let x = (m as u64) ^ ((m >> 64) as u64);
    (x ^ u64::from(page) << 32 ^ space).wrapping_mul(0x9FB2_1C65_1E98_DF25)
}

/// What looking up a page found.
pub(crate) enum Lookup {
    /// Pinned; perhaps still loading.
    Pinned(FrameNo),
    Absent,
}

impl Core {
    pub fn new(
        files: Files,
        log: Log,
        arena: Arena,
        hash: HashIndex,
        instances: usize,
        dw: Doublewrite,
    ) -> Core {
        let count = arena.count();
        let n = (instances as u32).clamp(1, count / 64);
        let per_instance = count.div_ceil(n);
        let instances = (0..n)
            .map(|i| {
                let base = i * per_instance;
                Instance::new(base, per_instance.min(count - base))
            })
            .collect();
        let wanted = Arc::new(Wanted::default());
        let for_hash = wanted.clone();
        hash.on_want(Box::new(move || for_hash.wake()));
        Core {
            files,
            log,
            arena,
            hash,
            shards: (0..SHARDS)
                .map(|_| Shard {
                    table: TableMutex::new(HashTable::new()),
                })
                .collect(),
            instances,
            per_instance,
            spaces: Mutex::default(),
            io_waits: (0..IO_WAITS).map(|_| Default::default()).collect(),
            frame_wait: Default::default(),
            waiters: AtomicU32::new(0),
            log_room: LogRoom::default(),
            writing: wait::Mutex::new(dw),
            dirty_meta: DirtyMetas::default(),
            stale_lsn: AtomicU64::new(0),
            stale_frames: AtomicI64::new(0),
            discards: Discards::default(),
            cleaner: Signal::default(),
            hint_bytes: AtomicUsize::new(0),
            wanted,
            trouble: Trouble::default(),
            published: Published::default(),
            write_limits: Limits::default(),
            unlogged: Unlogged::default(),
            counters: Counters::default(),
            counts: Counts::default(),
            looks: Looks::default(),
            start: Instant::now(),
        }
    }

    #[inline]
    pub fn instance(&self, n: FrameNo) -> &Instance {
        // Few pools have more than one instance; a division costs more than the test.
        if self.instances.len() == 1 {
            return &self.instances[0];
        }
        &self.instances[(n / self.per_instance) as usize]
    }

    #[inline]
    fn shard(&self, hash: u64) -> &TableMutex {
        &self.shards[(hash >> 48) as usize % SHARDS].table
    }

    /// The pool mutex that a look for this page in the page table takes while an algorithm that had one is chosen.
    #[inline]
    fn lookup_mutex(&self, hash: impl FnOnce() -> u64) -> Option<MutexGuard<'_, ()>> {
        if !self.discards.has_pool_mutex() {
            return None;
        }
        Some(self.home(hash()).pool_mutex.lock())
    }

    /// The instance to which a page belonged if pages were spread by their identity, as InnoDB spreads them. (Here that is
    /// only where its frame is taken from if possible.)
    #[cold]
    fn home(&self, hash: u64) -> &Instance {
        &self.instances[(hash >> 32) as usize % self.instances.len()]
    }

    fn now_ms(&self) -> u32 {
        self.start.elapsed().as_millis() as u32
    }

    /// The space's one shared header.
    pub fn space(&self, id: SpaceId, file: FileId) -> Arc<Space> {
        let mut r = self.spaces.lock();
        if let Some(s) = r.map.get(&id.0).and_then(Weak::upgrade) {
            debug_assert_eq!(s.file, file, "space {} is in another file", id.0);
            return s;
        }
        if r.map.len() >= r.sweep_at {
            r.map.retain(|_, s| s.strong_count() > 0);
            r.sweep_at = (r.map.len() * 2).max(1024);
        }
        let s = Arc::new(Space::new(id, file));
        r.map.insert(id.0, Arc::downgrade(&s));
        s
    }

    // --- pins ---

    /// Pins what the page table has, without waiting.
    #[inline]
    pub fn lookup(&self, space: u64, page: PageNo) -> Lookup {
        let h = hash(space, page);
        let _pool = self.lookup_mutex(|| h);
        let table = self.shard(h).lock();
        let Some(e) = table.find(h, |e| e.page == page && e.space == space) else {
            return Lookup::Absent;
        };
        let frame = e.frame;
        let f = self.arena.frame(frame);
        let old = f.word.fetch_add(1, Ordering::Acquire);
        drop(table);
        if old & FREE != 0 {
            // Claimed, and about to leave the table.
            f.word.fetch_sub(1, Ordering::Release);
            return Lookup::Absent;
        }
        Lookup::Pinned(frame)
    }

    /// As [`Core::pin_hint`], in place of a look into the page table.
    #[inline]
    pub fn pin_cached(&self, n: FrameNo, space: u64, page: PageNo) -> bool {
        let _pool = self.lookup_mutex(|| hash(space, page));
        self.pin_hint(n, space, page)
    }

    /// Pins frame `n` if it holds the page.
    #[inline]
    pub fn pin_hint(&self, n: FrameNo, space: u64, page: PageNo) -> bool {
        let f = self.arena.frame(n);
        let old = f.word.fetch_add(1, Ordering::Acquire);
        if old & (FREE | LOADING | DETACHED) == 0 && f.is(space, page) {
            return true;
        }
        self.unpin(n);
        false
    }

    #[inline]
    pub fn unpin(&self, n: FrameNo) {
        let old = self.arena.frame(n).word.fetch_sub(1, Ordering::Release);
        debug_assert_ne!(old & PINS, 0);
        if old & PINS == 1 && self.waiters.load(Ordering::Relaxed) > 0 {
            self.wake_frame_waiters();
        }
    }

    /// Notes a use of a pinned frame for the LRU list, which is touched only if the frame should move.
    #[inline]
    pub fn touch(&self, n: FrameNo) {
        let f = self.arena.frame(n);
        let instance = self.instance(n);
        let clock = instance.evictions.load(Ordering::Relaxed);
        let age = clock.wrapping_sub(f.placed.load(Ordering::Relaxed));
        if age != 0 {
            self.touch_aged(n, age);
        }
    }

    fn touch_aged(&self, n: FrameNo, age: u32) {
        let f = self.arena.frame(n);
        let instance = self.instance(n);
        let due = match f.lru.load(Ordering::Relaxed) {
            LRU_YOUNG => age > instance.young_len.load(Ordering::Relaxed) / 4,
            LRU_OLD => {
                let since = f.since_ms.load(Ordering::Relaxed);
                let due = self.now_ms().wrapping_sub(since) >= OLD_BLOCKS_MS;
                if !due {
                    instance.counts.not_young.fetch_add(1, Ordering::Relaxed);
                }
                due
            }
            _ => false,
        };
        if due {
            instance.make_young(&self.arena, n);
        }
    }

    /// Pins the page, reading it in if need be.
    pub fn pin(&self, space: &Arc<Space>, page: PageNo) -> Result<FrameNo> {
        loop {
            if space.is_dropped() {
                return Err(dropped(space));
            }
            let n = match self.lookup(space.id.0, page) {
                Lookup::Pinned(n) => n,
                Lookup::Absent => match self.read_in(space, page)? {
                    Some(n) => return Ok(n),
                    None => continue,
                },
            };
            let f = self.arena.frame(n);
            let w = f.word.load(Ordering::Acquire);
            if w & LOADING != 0 {
                self.wait_loaded(n);
            }
            if f.word.load(Ordering::Acquire) & DETACHED != 0 {
                self.unpin(n);
                continue;
            }
            self.counts.hit();
            self.touch(n);
            return Ok(n);
        }
    }

    fn io_wait(&self, n: FrameNo) -> &(Mutex<()>, Condvar) {
        &self.io_waits[n as usize % IO_WAITS]
    }

    fn wait_loaded(&self, n: FrameNo) {
        let f = self.arena.frame(n);
        let (m, cv) = self.io_wait(n);
        let mut g = m.lock();
        while f.word.load(Ordering::Acquire) & LOADING != 0 {
            wait::during_long(Class::PageRead, || cv.wait(&mut g));
        }
    }

    /// Ends loading. The pin stays.
    fn loaded(&self, n: FrameNo) {
        self.arena
            .frame(n)
            .word
            .fetch_and(!LOADING, Ordering::Release);
        let (m, cv) = self.io_wait(n);
        drop(m.lock());
        cv.notify_all();
    }

    // --- frames ---

    /// Makes a free frame hold (space, page), pinned once, with these flags besides.
    fn assign(&self, n: FrameNo, space: &Arc<Space>, page: PageNo, flags: u32) {
        let f = self.arena.frame(n);
        // SAFETY: the frame is free and ours.
        let old = unsafe { f.set_space(Some(space.clone())) };
        debug_assert!(old.is_none());
        if space.frame_added() {
            self.stale_frames.fetch_add(1, Ordering::Relaxed);
        }
        f.space_id.store(space.id.0, Ordering::Relaxed);
        f.page.store(page, Ordering::Relaxed);
        f.hashed.reset();
        f.since_ms.store(self.now_ms(), Ordering::Relaxed);
        // Transient pins by stale hints come and go meanwhile, so the word is added to, not stored.
        let delta = (flags + 1).wrapping_sub(FREE);
        f.word.fetch_add(delta, Ordering::AcqRel);
    }

    /// Takes the space out of a claimed frame.
    fn strip(&self, n: FrameNo, detached: bool) {
        // SAFETY: the frame is free and ours.
        let space = unsafe { self.arena.frame(n).set_space(None) };
        // A detached frame left its space's count when it was detached, and counts as stale by itself.
        if space.is_some_and(|s| detached || s.frame_removed()) {
            self.stale_frames.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Cleans up after a claim: the frame is free and in no list or table afterwards.
    pub fn finish_claim(&self, v: Victim) -> FrameNo {
        let (n, dirty, stale) = match v {
            Victim::Free(n) => return n,
            Victim::Claimed {
                frame,
                dirty,
                stale,
            } => (frame, dirty, stale),
        };
        let f = self.arena.frame(n);
        if dirty {
            // Stale: its pages' end is in the log by `stale_lsn`, set before it became stale.
            if self.set_clean(n) {
                self.counts.discarded.fetch_add(1, Ordering::Relaxed);
            }
        }
        let detached = stale == Some(Stale::Detached);
        if !detached {
            self.remove_entry(
                f.space_id.load(Ordering::Relaxed),
                f.page.load(Ordering::Relaxed),
                n,
            );
        }
        self.strip(n, detached);
        n
    }

    fn remove_entry(&self, space: u64, page: PageNo, n: FrameNo) -> bool {
        let h = hash(space, page);
        let mut table = self.shard(h).lock();
        match table.find_entry(h, |e| e.frame == n && e.page == page && e.space == space) {
            Ok(e) => {
                e.remove();
                true
            }
            Err(_) => false,
        }
    }

    /// Whether whoever needs a frame looks for stale ones first.
    pub fn seek_stale(&self) -> bool {
        self.stale_frames.load(Ordering::Relaxed) > 0 && self.discards.stale_first()
    }

    /// Takes a frame without waiting, preferably of the instance that `near` picks.
    pub fn try_take(&self, near: usize, depth: usize) -> Option<FrameNo> {
        let stale = self.seek_stale();
        let k = self.instances.len();
        for i in 0..k {
            let instance = &self.instances[(near + i) % k];
            if let Some(v) = instance.take(&self.arena, stale, depth) {
                if instance.free_len.load(Ordering::Relaxed) < instance.low_water() {
                    self.cleaner.wake();
                }
                let n = self.finish_claim(v);
                self.note_taken(instance, n);
                return Some(n);
            }
        }
        None
    }

    /// Returns free frames.
    pub fn give(&self, frames: &[FrameNo]) {
        for n in frames {
            self.instance(*n).give(*n);
        }
        if !frames.is_empty() {
            self.wake_frame_waiters();
        }
    }

    /// Tells those who wait for frames to look again.
    pub fn wake_frame_waiters(&self) {
        if self.waiters.load(Ordering::SeqCst) > 0 {
            drop(self.frame_wait.0.lock());
            self.frame_wait.1.notify_all();
        }
    }

    /// Whether threads wait for frames.
    pub fn frame_waiters(&self) -> u32 {
        self.waiters.load(Ordering::SeqCst)
    }

    /// Takes `count` frames at once, waiting if need be, holding none meanwhile.
    pub fn take(&self, near: usize, count: usize, out: &mut SmallVec<[FrameNo; 8]>) -> Result<()> {
        for _ in 0..count {
            match self.try_take(near, TAIL_DEPTH) {
                Some(n) => out.push(n),
                None => {
                    self.give(out);
                    out.clear();
                    return self.take_waiting(near, count, out);
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn take_waiting(
        &self,
        near: usize,
        count: usize,
        out: &mut SmallVec<[FrameNo; 8]>,
    ) -> Result<()> {
        let deadline = Instant::now() + FRAME_PATIENCE;
        self.waiters.fetch_add(1, Ordering::SeqCst);
        let mut guard = self.frame_wait.0.lock();
        let result = loop {
            while out.len() < count {
                match self.try_take(near, TAIL_DEPTH_WAITING) {
                    Some(n) => out.push(n),
                    None => break,
                }
            }
            if out.len() == count {
                break Ok(());
            }
            for n in out.drain(..) {
                self.instance(n).give(n);
            }
            if let Some(why) = self.log.stopped() {
                break Err(Error::Stopped(why));
            }
            if Instant::now() >= deadline {
                break Err(self.no_frame());
            }
            self.counts.waits.fetch_add(1, Ordering::Relaxed);
            self.cleaner.wake();
            wait::during_long(Class::FreeFrame, || {
                self.frame_wait.1.wait_for(&mut guard, LOOK_AGAIN)
            });
        };
        drop(guard);
        self.waiters.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// Why there is no frame to be had, once all patience is gone.
    pub fn no_frame(&self) -> Error {
        let why = match self.trouble.present() {
            Some(e) => format!("changed pages cannot be written for now: {e}"),
            None => format!("{} pages are too few for this load", self.arena.count()),
        };
        Error::NoFrame(format!(
            "{} s were not enough: {why}",
            FRAME_PATIENCE.as_secs()
        ))
    }

    // --- reading ---

    /// Reads a page that is not in the table; `None` if somebody else came first.
    #[cold]
    fn read_in(&self, space: &Arc<Space>, page: PageNo) -> Result<Option<FrameNo>> {
        let h = hash(space.id.0, page);
        let mut taken = SmallVec::new();
        self.take((h >> 32) as usize, 1, &mut taken)?;
        let n = taken[0];
        self.assign(n, space, page, LOADING);
        if !self.publish(n, space.id.0, page) {
            self.unassign(n);
            self.give(&[n]);
            return Ok(None);
        }
        self.instance(n).enter(&self.arena, n);
        let result = self.load(n, space, page);
        match &result {
            Ok(true) => {}
            Ok(false) => {
                // SAFETY: we are the loader.
                let bytes = unsafe { self.arena.page_mut(n) };
                bytes.fill(0);
                put_u32(bytes, 4, page);
                put_u64(bytes, 16, space.id.0);
                put_u16(bytes, 24, PageType::Free as u16);
                self.detach(n);
            }
            Err(_) => self.detach(n),
        }
        self.loaded(n);
        match result {
            Ok(_) => Ok(Some(n)),
            Err(e) => {
                self.unpin(n);
                Err(e)
            }
        }
    }

    /// Reads and verifies; `false` if the page turns out not to be the space's (any more).
    fn load(&self, n: FrameNo, space: &Arc<Space>, page: PageNo) -> Result<bool> {
        let file = space.data(&self.files, false)?;
        let owned = || file.alloc().lock().is_taken(space.id, page);
        if !owned() {
            return Ok(false);
        }
        // SAFETY: we are the loader.
        let bytes = unsafe { self.arena.page_mut(n) };
        let instance = &self.instance(n).counts;
        instance.reads.fetch_add(1, Ordering::Relaxed);
        instance.pending_reads.fetch_add(1, Ordering::Relaxed);
        self.counts.reads.fetch_add(1, Ordering::Relaxed);
        self.counts.pending_reads.fetch_add(1, Ordering::Relaxed);
        let read = wait::during_long(Class::DataFile, || file.read_page(space.id, page, bytes));
        let read = read.and_then(|()| sound(bytes).map_err(|what| file.corrupt(page, what)));
        self.counts.pending_reads.fetch_sub(1, Ordering::Relaxed);
        instance.pending_reads.fetch_sub(1, Ordering::Relaxed);
        let Err(e) = read else {
            return Ok(true);
        };
        // Freed, perhaps given to another space, while it was read: no error.
        let detached = self.arena.frame(n).word.load(Ordering::Acquire) & DETACHED != 0;
        if detached || !owned() {
            return Ok(false);
        }
        if space.is_dropped() {
            return Err(dropped(space));
        }
        Err(e)
    }

    /// Enters a frame into the page table unless the page is there already.
    fn publish(&self, n: FrameNo, space: u64, page: PageNo) -> bool {
        let h = hash(space, page);
        let mut table = self.shard(h).lock();
        if let Some(e) = table.find_mut(h, |e| e.page == page && e.space == space) {
            if self.arena.frame(e.frame).word.load(Ordering::Acquire) & FREE == 0 {
                return false;
            }
            // Claimed by somebody who has not come to removing the entry.
            e.frame = n;
            return true;
        }
        let entry = Entry {
            space,
            page,
            frame: n,
        };
        table.insert_unique(h, entry, |e| hash(e.space, e.page));
        true
    }

    /// Undoes `assign(.., LOADING)`; the frame is free again.
    fn unassign(&self, n: FrameNo) {
        let f = self.arena.frame(n);
        f.word
            .fetch_add(FREE.wrapping_sub(LOADING + 1), Ordering::AcqRel);
        self.strip(n, false);
    }

    /// Makes a reserved frame hold a newly allocated page: pinned, exclusively latched, published. A leftover
    /// of the page's earlier life is detached.
    pub fn install(&self, n: FrameNo, space: &Arc<Space>, page: PageNo) {
        self.assign(n, space, page, LOADING);
        let f = self.arena.frame(n);
        wait::lock_exclusive(&f.latch, Class::PageExclusive);
        // SAFETY: exclusively latched.
        let bytes = unsafe { self.arena.page_mut(n) };
        bytes[..crate::page::PAGE_HEADER].fill(0);
        f.word.fetch_and(!LOADING, Ordering::Release);
        let h = hash(space.id.0, page);
        let old = {
            let mut table = self.shard(h).lock();
            match table.find_mut(h, |e| e.page == page && e.space == space.id.0) {
                Some(e) => {
                    let old = std::mem::replace(&mut e.frame, n);
                    let f = self.arena.frame(old);
                    // The pin keeps the frame what it is until the flag is set.
                    let w = f.word.fetch_add(1, Ordering::Acquire);
                    if w & FREE != 0 {
                        f.word.fetch_sub(1, Ordering::Release);
                        None
                    } else {
                        Some(old)
                    }
                }
                None => {
                    let entry = Entry {
                        space: space.id.0,
                        page,
                        frame: n,
                    };
                    table.insert_unique(h, entry, |e| hash(e.space, e.page));
                    None
                }
            }
        };
        if let Some(old) = old {
            self.mark_detached(old);
            self.unpin(old);
        }
        self.instance(n).enter(&self.arena, n);
        self.counts.created.fetch_add(1, Ordering::Relaxed);
        let instance = &self.instance(n).counts;
        instance.created.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes a pinned frame out of the page table; it goes when its pins do.
    pub fn detach(&self, n: FrameNo) {
        let f = self.arena.frame(n);
        self.remove_entry(
            f.space_id.load(Ordering::Relaxed),
            f.page.load(Ordering::Relaxed),
            n,
        );
        self.mark_detached(n);
    }

    fn mark_detached(&self, n: FrameNo) {
        let f = self.arena.frame(n);
        if f.word.fetch_or(DETACHED, Ordering::AcqRel) & DETACHED == 0 {
            // SAFETY: pinned and not free.
            let space = unsafe { f.space() };
            if !space.frame_removed() {
                self.stale_frames.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Whether a frame's flags say that it must not be written.
    pub fn is_stale(&self, n: FrameNo) -> bool {
        let f = self.arena.frame(n);
        // SAFETY: callers hold a pin and have seen `FREE` unset.
        f.word.load(Ordering::Acquire) & (DETACHED | DOOMED) != 0
            || unsafe { f.space() }.is_dropped()
    }

    /// Frames in use by pages.
    pub fn is_dirty(&self, n: FrameNo) -> bool {
        self.arena.frame(n).word.load(Ordering::Acquire) & DIRTY != 0
    }
}

/// Refuses a page of a tree that would make whoever reads its records panic. Its checksum is right, so it was written so.
fn sound(page: &[u8]) -> std::result::Result<(), &'static str> {
    match page_type(page) {
        Some(PageType::Leaf | PageType::Inner) if !slotted::is_sound(page) => {
            Err("its records do not lie where they may")
        }
        _ => Ok(()),
    }
}

fn dropped(space: &Space) -> Error {
    if space.id.is_temporary() {
        return super::unlogged::lost();
    }
    Error::Invalid(format!("space {} was dropped", space.id.0))
}

impl Drop for Core {
    fn drop(&mut self) {
        // Frames refer to spaces; give those up. Nobody else is left.
        for instance in &self.instances {
            for n in instance.initialised() {
                // SAFETY: exclusive access to the whole pool.
                drop(unsafe { self.arena.frame(n).set_space(None) });
            }
        }
    }
}

#[cfg(test)]
impl Core {
    /// Makes every frame look as if it had come long ago, for tests of the LRU list.
    pub fn age_everything(&self) {
        let past = self.now_ms().wrapping_sub(OLD_BLOCKS_MS);
        for instance in &self.instances {
            for n in instance.initialised() {
                self.arena.frame(n).since_ms.store(past, Ordering::Relaxed);
            }
        }
    }
}
