//! One buffer pool instance: its range of frames, LRU list, free list and flush list.
//!
//! The LRU list is one doubly linked list: young frames first, then old ones, with `mid` the first old frame.
//! About 3/8 of it is old. A page enters at `mid`; it becomes young if it is used again a second or more
//! after it came, so that a scan, which uses a page for a moment only, never displaces young pages. Nothing
//! moves while nothing is evicted.
//!
//! Locks: `lists` (LRU and free list) and `flush` are leaves but for this: `flush` is taken under the log mutex, and
//! the algorithms of old (`discard`) hold `lists` while they take `flush` or a page-table part. Before `lists`, they and
//! whoever looks up a page while one of them is chosen take `pool_mutex`; otherwise nobody touches it.
//!
//! **Scans that let go.** `Lists::scan` and `FlushList::scan` are where a scan that releases the mutex between two batches
//! goes on; whoever unlinks that frame moves it on. There is one such scan at a time.

use super::frame::{
    Arena, DETACHED, DIRTY, DOOMED, FREE, Frame, FrameNo, LOADING, LRU_NONE, LRU_OLD, LRU_YOUNG,
    NONE, PINS,
};
use super::look::InstanceCounts;
use super::populate::Populated;
use crate::page::Lsn;
use crate::wait::{self, Class};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Moves of the midpoint are put off until the old part is this far from its share.
const MID_SLACK: usize = 8;

pub(crate) struct Instance {
    pub count: u32,
    pub lists: wait::Mutex<Lists, { Class::LruList as usize }>,
    pub flush: wait::Mutex<FlushList, { Class::FlushList as usize }>,
    /// What InnoDB before 8.0 had over all of an instance: see `discard`.
    pub pool_mutex: wait::Mutex<(), { Class::BufferPool as usize }>,
    /// Frames evicted so far, wrapping: the LRU list's clock.
    pub evictions: AtomicU32,
    /// Lengths for those who only want to know about.
    pub free_len: AtomicU32,
    pub young_len: AtomicU32,
    pub old_len: AtomicU32,
    pub dirty_len: AtomicU32,
    pub moved_young: AtomicU64,
    pub counts: InstanceCounts,
    pub populated: Populated,
}

/// Free list and LRU list.
pub(crate) struct Lists {
    free: Vec<FrameNo>,
    /// Frames from here to the instance's end were never used; their headers are not initialised.
    base: FrameNo,
    virgin: FrameNo,
    end: FrameNo,
    head: FrameNo,
    tail: FrameNo,
    mid: FrameNo,
    young: usize,
    old: usize,
    /// Where the search for stale frames goes on.
    hand: FrameNo,
    /// Where a scan from the tail goes on.
    scan: FrameNo,
}

/// Dirty frames, oldest first.
pub(crate) struct FlushList {
    pub head: FrameNo,
    tail: FrameNo,
    pub len: usize,
    /// Where a scan from the head goes on.
    scan: FrameNo,
}

/// Why a frame is stale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stale {
    /// Its space was dropped.
    Dropped,
    /// Its page was freed.
    Detached,
}

/// What kind of victim a claim took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Victim {
    /// Never used or from the free list: nothing to clean up.
    Free(FrameNo),
    /// Was resident: leave the page table and, if `dirty` (and stale), the flush list.
    Claimed {
        frame: FrameNo,
        dirty: bool,
        /// How it became stale, if it is.
        stale: Option<Stale>,
    },
}

impl Instance {
    pub fn new(base: FrameNo, count: u32) -> Instance {
        let lists = Lists {
            free: Vec::new(),
            base,
            virgin: base,
            end: base + count,
            head: NONE,
            tail: NONE,
            mid: NONE,
            young: 0,
            old: 0,
            hand: base,
            scan: NONE,
        };
        let flush = FlushList {
            head: NONE,
            tail: NONE,
            len: 0,
            scan: NONE,
        };
        Instance {
            count,
            lists: wait::Mutex::new(lists),
            flush: wait::Mutex::new(flush),
            pool_mutex: wait::Mutex::new(()),
            evictions: AtomicU32::new(0),
            free_len: AtomicU32::new(count),
            young_len: AtomicU32::new(0),
            old_len: AtomicU32::new(0),
            dirty_len: AtomicU32::new(0),
            moved_young: AtomicU64::new(0),
            counts: InstanceCounts::default(),
            populated: Populated::default(),
        }
    }

    /// Its first frame, the first never used, and the end.
    pub fn extent(&self) -> (FrameNo, FrameNo, FrameNo) {
        let lists = self.lists.lock();
        (lists.base, lists.virgin, lists.end)
    }

    /// The cleaner keeps about this many frames free.
    pub fn low_water(&self) -> u32 {
        (self.count / 32).clamp(8, 1024)
    }

    /// Takes a frame: a free one, a stale one if some are thought to exist, or a clean one from the LRU list's
    /// tail, looking at up to `depth` of those.
    pub fn take(&self, arena: &Arena, stale: bool, depth: usize) -> Option<Victim> {
        let mut l = self.lists.lock();
        let victim = l
            .take_free(arena)
            .or_else(|| stale.then(|| l.take_stale(arena)).flatten())
            .or_else(|| l.take_tail(arena, depth));
        self.publish(&l);
        if let Some(Victim::Claimed { .. }) = victim {
            self.evictions.fetch_add(1, Ordering::Relaxed);
        }
        victim
    }

    /// As [`Instance::take`], but never from the free list: to fill it.
    pub fn evict(&self, arena: &Arena, stale: bool, depth: usize) -> Option<Victim> {
        let mut l = self.lists.lock();
        let victim = stale
            .then(|| l.take_stale(arena))
            .flatten()
            .or_else(|| l.take_tail(arena, depth));
        self.publish(&l);
        if victim.is_some() {
            self.evictions.fetch_add(1, Ordering::Relaxed);
        }
        victim
    }

    /// Returns a free frame that has been cleaned up.
    pub fn give(&self, frame: FrameNo) {
        let mut l = self.lists.lock();
        l.free.push(frame);
        self.publish(&l);
    }

    /// Enters a resident frame into the LRU list at the midpoint.
    pub fn enter(&self, arena: &Arena, frame: FrameNo) {
        let f = arena.frame(frame);
        f.placed
            .store(self.evictions.load(Ordering::Relaxed), Ordering::Relaxed);
        let mut l = self.lists.lock();
        l.insert_mid(arena, frame);
        self.publish(&l);
    }

    /// Moves a frame that was used again to the young end.
    #[cold]
    pub fn make_young(&self, arena: &Arena, frame: FrameNo) {
        let f = arena.frame(frame);
        f.placed
            .store(self.evictions.load(Ordering::Relaxed), Ordering::Relaxed);
        let mut l = self.lists.lock();
        if f.lru.load(Ordering::Relaxed) == LRU_NONE {
            return;
        }
        l.unlink(arena, frame);
        l.insert_head(arena, frame);
        self.publish(&l);
        self.moved_young.fetch_add(1, Ordering::Relaxed);
    }

    /// Copies up to `most` frame numbers from the LRU list's tail, among the last `depth`, that `want` picks.
    pub fn tail(
        &self,
        arena: &Arena,
        depth: usize,
        most: usize,
        out: &mut Vec<FrameNo>,
        want: impl Fn(&Frame) -> bool,
    ) {
        let l = self.lists.lock();
        let mut at = l.tail;
        let mut picked = 0;
        for _ in 0..depth {
            if at == NONE || picked == most {
                return;
            }
            let f = arena.frame(at);
            if want(f) {
                out.push(at);
                picked += 1;
            }
            at = f.lru_prev.load(Ordering::Relaxed);
        }
    }

    /// Moves those of the LRU list's last `depth` frames that `pick` picks to the young end, out of the way of whoever looks for
    /// frames at the tail. How many.
    pub fn set_aside(&self, arena: &Arena, depth: usize, pick: impl Fn(&Frame) -> bool) -> u32 {
        let mut l = self.lists.lock();
        let clock = self.evictions.load(Ordering::Relaxed);
        let mut at = l.tail;
        let mut moved = 0;
        for _ in 0..depth.min(l.young + l.old) {
            let n = at;
            let f = arena.frame(n);
            at = f.lru_prev.load(Ordering::Relaxed);
            if pick(f) {
                f.placed.store(clock, Ordering::Relaxed);
                l.unlink(arena, n);
                l.insert_head(arena, n);
                moved += 1;
            }
        }
        self.publish(&l);
        moved
    }

    pub(super) fn publish(&self, l: &Lists) {
        let free = l.free.len() as u32 + (l.end - l.virgin);
        self.free_len.store(free, Ordering::Relaxed);
        self.young_len.store(l.young as u32, Ordering::Relaxed);
        self.old_len.store(l.old as u32, Ordering::Relaxed);
    }

    /// Enters a frame that becomes dirty; the caller holds the log mutex, which makes the order right.
    pub fn flush_push(&self, arena: &Arena, frame: FrameNo, oldest: Lsn) {
        let f = arena.frame(frame);
        let mut l = self.flush.lock();
        f.oldest.store(oldest, Ordering::Relaxed);
        f.flush_next.store(NONE, Ordering::Relaxed);
        f.flush_prev.store(l.tail, Ordering::Relaxed);
        if l.tail == NONE {
            l.head = frame;
        } else {
            arena
                .frame(l.tail)
                .flush_next
                .store(frame, Ordering::Relaxed);
        }
        l.tail = frame;
        l.len += 1;
        self.dirty_len.store(l.len as u32, Ordering::Relaxed);
        f.word.fetch_or(DIRTY, Ordering::Relaxed);
    }

    /// Takes a frame out of the flush list and clears `DIRTY`; `false` if it is not in it (any more).
    pub fn flush_unlink(&self, arena: &Arena, frame: FrameNo) -> bool {
        let mut l = self.flush.lock();
        let was_in = l.unlink(arena, frame);
        self.dirty_len.store(l.len as u32, Ordering::Relaxed);
        was_in
    }

    /// Oldest LSN of any dirty frame.
    pub fn flush_oldest(&self, arena: &Arena) -> Option<Lsn> {
        let l = self.flush.lock();
        (l.head != NONE).then(|| arena.frame(l.head).oldest.load(Ordering::Relaxed))
    }

    /// Copies up to `most` frames from the flush list's head whose oldest LSN is below `below`, but for those that `skip` picks.
    pub fn flush_head(
        &self,
        arena: &Arena,
        below: Lsn,
        most: usize,
        out: &mut Vec<FrameNo>,
        skip: impl Fn(&Frame) -> bool,
    ) {
        let l = self.flush.lock();
        let mut at = l.head;
        let mut picked = 0;
        while picked < most && at != NONE {
            let f = arena.frame(at);
            if f.oldest.load(Ordering::Relaxed) >= below {
                return;
            }
            if !skip(f) {
                out.push(at);
                picked += 1;
            }
            at = f.flush_next.load(Ordering::Relaxed);
        }
    }

    /// Frames whose headers are initialised.
    pub fn initialised(&self) -> std::ops::Range<FrameNo> {
        self.lists.lock().used()
    }
}

impl FlushList {
    /// Takes a frame out and clears `DIRTY`, which says, under this list's mutex, whether it is in. The frame keeps its
    /// `oldest`.
    pub(super) fn unlink(&mut self, arena: &Arena, frame: FrameNo) -> bool {
        let f = arena.frame(frame);
        if f.word.load(Ordering::Relaxed) & DIRTY == 0 {
            return false;
        }
        let prev = f.flush_prev.load(Ordering::Relaxed);
        let next = f.flush_next.load(Ordering::Relaxed);
        if prev == NONE {
            self.head = next;
        } else {
            arena.frame(prev).flush_next.store(next, Ordering::Relaxed);
        }
        if next == NONE {
            self.tail = prev;
        } else {
            arena.frame(next).flush_prev.store(prev, Ordering::Relaxed);
        }
        if self.scan == frame {
            self.scan = next;
        }
        self.len -= 1;
        f.word.fetch_and(!DIRTY, Ordering::Relaxed);
        true
    }

    /// Starts a scan at the oldest frame.
    pub(super) fn scan_from_head(&mut self) {
        self.scan = self.head;
    }

    /// The scan's next frame.
    pub(super) fn scan_next(&mut self, arena: &Arena) -> Option<FrameNo> {
        let n = self.scan;
        if n == NONE {
            return None;
        }
        self.scan = arena.frame(n).flush_next.load(Ordering::Relaxed);
        Some(n)
    }
}

/// Whether an unpinned frame with this word may be claimed: clean, or stale.
fn claim(n: FrameNo, f: &Frame, allow_clean: bool) -> Option<Victim> {
    let w = f.word.load(Ordering::Acquire);
    if w & (PINS | FREE | LOADING) != 0 {
        return None;
    }
    // SAFETY: the list mutex is held, so nobody can claim the frame, and `FREE` is unset.
    let dropped = w & DOOMED != 0 || unsafe { f.space() }.is_dropped();
    let stale = if w & DETACHED != 0 {
        Some(Stale::Detached)
    } else {
        dropped.then_some(Stale::Dropped)
    };
    if stale.is_none() && (w & DIRTY != 0 || !allow_clean) {
        return None;
    }
    let dirty = w & DIRTY;
    f.word
        .compare_exchange(w, FREE | dirty, Ordering::AcqRel, Ordering::Relaxed)
        .ok()?;
    Some(Victim::Claimed {
        frame: n,
        dirty: dirty != 0,
        stale,
    })
}

impl Lists {
    /// The LRU list's last frame, or `NONE`.
    pub(super) fn tail(&self) -> FrameNo {
        self.tail
    }

    /// Frames of the instance that have been in use: those whose headers are valid.
    pub(super) fn used(&self) -> std::ops::Range<FrameNo> {
        self.base..self.virgin
    }

    /// Starts a scan at the LRU list's tail.
    pub(super) fn scan_from_tail(&mut self) {
        self.scan = self.tail;
    }

    /// The scan's next frame.
    pub(super) fn scan_next(&mut self, arena: &Arena) -> Option<FrameNo> {
        let n = self.scan;
        if n == NONE {
            return None;
        }
        self.scan = arena.frame(n).lru_prev.load(Ordering::Relaxed);
        Some(n)
    }

    /// Claims a frame of the LRU list if it is stale and nobody has it pinned.
    pub(super) fn claim_stale(&mut self, arena: &Arena, n: FrameNo) -> Option<Victim> {
        if arena.frame(n).lru.load(Ordering::Relaxed) == LRU_NONE {
            return None;
        }
        let victim = claim(n, arena.frame(n), false)?;
        self.unlink(arena, n);
        Some(victim)
    }

    /// Returns a free frame that has been cleaned up.
    pub(super) fn push_free(&mut self, n: FrameNo) {
        self.free.push(n);
    }

    fn take_free(&mut self, arena: &Arena) -> Option<Victim> {
        if let Some(f) = self.free.pop() {
            return Some(Victim::Free(f));
        }
        if self.virgin == self.end {
            return None;
        }
        let n = self.virgin;
        // SAFETY: the number leaves this list now for the first time.
        unsafe { arena.init(n) };
        self.virgin += 1;
        Some(Victim::Free(n))
    }

    /// Looks for a stale frame, a bounded number of steps around the clock.
    fn take_stale(&mut self, arena: &Arena) -> Option<Victim> {
        const STEPS: u32 = 64;
        let base = self.base;
        for _ in 0..STEPS.min(self.virgin - base) {
            if self.hand >= self.virgin {
                self.hand = base;
            }
            let n = self.hand;
            self.hand += 1;
            let victim = claim(n, arena.frame(n), false);
            if victim.is_some() {
                if arena.frame(n).lru.load(Ordering::Relaxed) != LRU_NONE {
                    self.unlink(arena, n);
                }
                return victim;
            }
        }
        None
    }

    fn take_tail(&mut self, arena: &Arena, depth: usize) -> Option<Victim> {
        let mut at = self.tail;
        for _ in 0..depth {
            if at == NONE {
                return None;
            }
            let f = arena.frame(at);
            let victim = claim(at, f, true);
            if victim.is_some() {
                self.unlink(arena, at);
                return victim;
            }
            at = f.lru_prev.load(Ordering::Relaxed);
        }
        None
    }

    fn insert_head(&mut self, arena: &Arena, n: FrameNo) {
        let f = arena.frame(n);
        f.lru_prev.store(NONE, Ordering::Relaxed);
        f.lru_next.store(self.head, Ordering::Relaxed);
        if self.head == NONE {
            self.tail = n;
        } else {
            arena.frame(self.head).lru_prev.store(n, Ordering::Relaxed);
        }
        self.head = n;
        f.lru.store(LRU_YOUNG, Ordering::Relaxed);
        self.young += 1;
        self.balance(arena);
    }

    fn insert_mid(&mut self, arena: &Arena, n: FrameNo) {
        let f = arena.frame(n);
        // Before `mid`; with no old frame that is the tail.
        let next = self.mid;
        let prev = if next == NONE {
            self.tail
        } else {
            arena.frame(next).lru_prev.load(Ordering::Relaxed)
        };
        f.lru_prev.store(prev, Ordering::Relaxed);
        f.lru_next.store(next, Ordering::Relaxed);
        if prev == NONE {
            self.head = n;
        } else {
            arena.frame(prev).lru_next.store(n, Ordering::Relaxed);
        }
        if next == NONE {
            self.tail = n;
        } else {
            arena.frame(next).lru_prev.store(n, Ordering::Relaxed);
        }
        self.mid = n;
        f.lru.store(LRU_OLD, Ordering::Relaxed);
        self.old += 1;
        self.balance(arena);
    }

    fn unlink(&mut self, arena: &Arena, n: FrameNo) {
        let f = arena.frame(n);
        let prev = f.lru_prev.load(Ordering::Relaxed);
        let next = f.lru_next.load(Ordering::Relaxed);
        if prev == NONE {
            self.head = next;
        } else {
            arena.frame(prev).lru_next.store(next, Ordering::Relaxed);
        }
        if next == NONE {
            self.tail = prev;
        } else {
            arena.frame(next).lru_prev.store(prev, Ordering::Relaxed);
        }
        if self.mid == n {
            self.mid = next;
        }
        if self.scan == n {
            self.scan = prev;
        }
        if f.lru.swap(LRU_NONE, Ordering::Relaxed) == LRU_OLD {
            self.old -= 1;
        } else {
            self.young -= 1;
        }
        self.balance(arena);
    }

    /// Moves the midpoint towards its place.
    fn balance(&mut self, arena: &Arena) {
        let share = (self.young + self.old) * 3 / 8;
        while self.old > share + MID_SLACK {
            let f = arena.frame(self.mid);
            f.lru.store(LRU_YOUNG, Ordering::Relaxed);
            self.mid = f.lru_next.load(Ordering::Relaxed);
            self.old -= 1;
            self.young += 1;
        }
        while self.old + MID_SLACK < share {
            let before = if self.mid == NONE {
                self.tail
            } else {
                arena.frame(self.mid).lru_prev.load(Ordering::Relaxed)
            };
            arena.frame(before).lru.store(LRU_OLD, Ordering::Relaxed);
            self.mid = before;
            self.old += 1;
            self.young -= 1;
        }
    }
}

#[cfg(test)]
use crate::space::SpaceId;

#[cfg(test)]
impl Instance {
    /// Follows both lists and finds them whole. Nobody uses the instance meanwhile.
    pub fn check(&self, arena: &Arena) {
        let l = self.lists.lock();
        let (mut at, mut before) = (l.head, NONE);
        let mut counts = [0; 3];
        while at != NONE {
            let f = arena.frame(at);
            assert_eq!(f.lru_prev.load(Ordering::Relaxed), before);
            assert_eq!(
                f.word.load(Ordering::Relaxed) & FREE,
                0,
                "free and in the LRU list"
            );
            counts[usize::from(f.lru.load(Ordering::Relaxed))] += 1;
            (before, at) = (at, f.lru_next.load(Ordering::Relaxed));
        }
        assert_eq!(before, l.tail);
        assert_eq!(counts, [0, l.young, l.old]);
        let resident = |n: &FrameNo| arena.frame(*n).word.load(Ordering::Relaxed) & FREE == 0;
        assert_eq!(l.used().filter(resident).count(), l.young + l.old);

        let flush = self.flush.lock();
        let (mut at, mut before, mut oldest, mut len) = (flush.head, NONE, 0, 0);
        while at != NONE {
            let f = arena.frame(at);
            assert_eq!(f.flush_prev.load(Ordering::Relaxed), before);
            assert_ne!(
                f.word.load(Ordering::Relaxed) & DIRTY,
                0,
                "clean and in the flush list"
            );
            let own = f.oldest.load(Ordering::Relaxed);
            assert!(own >= oldest, "the flush list is out of order");
            (before, at, oldest, len) = (at, f.flush_next.load(Ordering::Relaxed), own, len + 1);
        }
        assert_eq!((before, len), (flush.tail, flush.len));
        let dirty = |n: &FrameNo| {
            let f = arena.frame(*n);
            let id = SpaceId(f.space_id.load(Ordering::Relaxed));
            f.word.load(Ordering::Relaxed) & DIRTY != 0 && !id.is_temporary()
        };
        assert_eq!(l.used().filter(dirty).count(), len);
        assert_eq!(self.dirty_len.load(Ordering::Relaxed) as usize, len);
    }
}
