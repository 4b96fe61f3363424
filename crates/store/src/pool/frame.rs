//! Frames and the memory behind them.
//!
//! A frame is a header of 128 bytes and a page of memory. All pages lie in one anonymous mapping, aligned for
//! huge pages and direct I/O; neither headers nor pages cost memory before they are first used.
//!
//! **Life of a frame**, told by its `word` (pin count and flags):
//!
//! 1. *Free* (`FREE`): in a free list or held by whoever took it from there. Transient pins by hints that
//!    went stale come and go; they look at the flag and leave.
//! 2. *Loading* (`LOADING`, pinned by the loader): in the page table, its identity set. Only the loader
//!    touches the bytes; the others wait until the flag goes.
//! 3. *Resident*: pin it (through the page table or a hint), latch it, use the bytes. The identity of a pinned
//!    frame without `FREE` never changes.
//! 4. *Detached* (`DETACHED`): no longer in the page table, because its page was freed. Those who had it pinned
//!    still find a page of type `Free` (or the old one); it is never written and goes first.
//! 5. *Claimed*: an unpinned frame of 3 or 4 that is clean or stale becomes *free* by one compare-and-swap, made
//!    under its instance's list mutex.
//!
//! `DIRTY` is set under the exclusive latch and the log mutex, and cleared by the cleaner under
//! the shared latch once it has copied the page.

use crate::hash_index::PageHash;
use crate::page::{PAGE_SIZE, PageNo};
use crate::space::Space;
use parking_lot::RawRwLock;
use parking_lot::lock_api::RawRwLock as _;
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Index of a frame.
pub(crate) type FrameNo = u32;
/// "No frame" in lists.
pub(crate) const NONE: FrameNo = u32::MAX;

pub(crate) const FREE: u32 = 1 << 31;
pub(crate) const DIRTY: u32 = 1 << 30;
pub(crate) const LOADING: u32 = 1 << 29;
pub(crate) const DETACHED: u32 = 1 << 28;
/// Marked as a page of a dropped space; see `discard::lazy_mark`.
pub(crate) const DOOMED: u32 = 1 << 27;
/// The pin count's bits.
pub(crate) const PINS: u32 = DOOMED - 1;

/// Which part of the LRU list a frame is in.
pub(crate) const LRU_NONE: u8 = 0;
pub(crate) const LRU_YOUNG: u8 = 1;
pub(crate) const LRU_OLD: u8 = 2;

/// Header of a frame.
#[repr(align(128))]
pub(crate) struct Frame {
    /// Pin count and flags.
    pub word: AtomicU32,
    /// Page number; with `space_id` the identity, stable while pinned.
    pub page: AtomicU32,
    pub space_id: AtomicU64,
    pub latch: RawRwLock,
    space: UnsafeCell<Option<Arc<Space>>>,
    /// Start of the oldest group not on disk; meaningful while dirty. Guarded by the flush-list mutex.
    pub oldest: AtomicU64,
    /// Neighbours in the flush list, guarded by its mutex.
    pub flush_prev: AtomicU32,
    pub flush_next: AtomicU32,
    /// Neighbours in the LRU list, guarded by its mutex.
    pub lru_prev: AtomicU32,
    pub lru_next: AtomicU32,
    /// The instance's eviction count when the frame was last placed in the LRU list.
    pub placed: AtomicU32,
    /// Milliseconds since start when the page came into the pool.
    pub since_ms: AtomicU32,
    /// `LRU_*`; changed under the LRU mutex.
    pub lru: AtomicU8,
    /// Whether the page has entries in the adaptive hash index, or should have.
    pub hashed: PageHash,
}

const _: () = assert!(std::mem::size_of::<Frame>() <= 128);

// SAFETY: `space` is the only field that is not `Sync` by itself. It is written by the one thread that owns the frame
// while `FREE` is set, and read by others only while they hold a pin (or the list mutex) with `FREE`
// seen unset by an acquiring load, which orders after the releasing one that cleared it.
unsafe impl Sync for Frame {}
// SAFETY: nothing in a frame belongs to a thread.
unsafe impl Send for Frame {}

impl Frame {
    fn new() -> Frame {
        Frame {
            word: AtomicU32::new(FREE),
            page: AtomicU32::new(0),
            space_id: AtomicU64::new(0),
            latch: RawRwLock::INIT,
            space: UnsafeCell::new(None),
            oldest: AtomicU64::new(0),
            flush_prev: AtomicU32::new(NONE),
            flush_next: AtomicU32::new(NONE),
            lru_prev: AtomicU32::new(NONE),
            lru_next: AtomicU32::new(NONE),
            placed: AtomicU32::new(0),
            since_ms: AtomicU32::new(0),
            lru: AtomicU8::new(LRU_NONE),
            hashed: PageHash::default(),
        }
    }

    /// The space of a frame that is not free.
    ///
    /// # Safety
    /// The caller holds a pin or the instance's list mutex, and has seen `FREE` unset since; or it holds the flush list's mutex, and
    /// the frame is in that list, which it leaves before its space is taken away.
    #[inline]
    pub unsafe fn space(&self) -> &Arc<Space> {
        // SAFETY: per the contract nobody writes the field now.
        unsafe { (*self.space.get()).as_ref().expect("frame has a space") }
    }

    /// Sets the space, returning the old one.
    ///
    /// # Safety
    /// The caller owns the frame: it is free and in no list.
    pub unsafe fn set_space(&self, to: Option<Arc<Space>>) -> Option<Arc<Space>> {
        // SAFETY: per the contract this thread alone touches the field.
        unsafe { std::mem::replace(&mut *self.space.get(), to) }
    }

    /// Whether (space, page) is what the frame holds; stable if pinned.
    #[inline]
    pub fn is(&self, space: u64, page: PageNo) -> bool {
        self.space_id.load(Ordering::Relaxed) == space && self.page.load(Ordering::Relaxed) == page
    }
}

/// Headers and pages.
pub(crate) struct Arena {
    frames: *mut Frame,
    pages: *mut u8,
    count: u32,
    mappings: [(*mut libc::c_void, usize); 2],
    /// Bytes of the mappings.
    bytes: usize,
}

// SAFETY: the arena hands out raw parts of two mappings that live as long as it does; who may touch
// which part is the frames' protocol.
unsafe impl Sync for Arena {}
// SAFETY: as above.
unsafe impl Send for Arena {}

const HUGE: usize = 2 << 20;

/// Cache lines of a page that [`Arena::prefetch`] asks for: the headers and the slots of some 120 records.
#[cfg(target_arch = "x86_64")]
const PREFETCH_LINES: usize = 16;

fn map(len: usize) -> std::io::Result<*mut libc::c_void> {
    // SAFETY: a fresh anonymous mapping; no existing memory is involved.
    let p = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if p == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    Ok(p)
}

impl Arena {
    /// Maps memory for `count` frames; none of it is touched yet.
    pub fn new(count: u32) -> std::io::Result<Arena> {
        let headers_len = count as usize * std::mem::size_of::<Frame>();
        let pages_len = count as usize * PAGE_SIZE + HUGE;
        let headers = map(headers_len)?;
        let raw = match map(pages_len) {
            Ok(p) => p,
            Err(e) => {
                // SAFETY: mapped just above and not handed out.
                unsafe { libc::munmap(headers, headers_len) };
                return Err(e);
            }
        };
        let pages = raw.cast::<u8>();
        let shift = pages.align_offset(HUGE);
        // SAFETY: `shift < HUGE` and the mapping is `HUGE` longer than the pages.
        let pages = unsafe { pages.add(shift) };
        #[cfg(target_os = "linux")]
        // SAFETY: within the mapping; the advice changes no contents. Its failure only costs speed.
        unsafe {
            libc::madvise(
                pages.cast(),
                count as usize * PAGE_SIZE,
                libc::MADV_HUGEPAGE,
            )
        };
        Ok(Arena {
            frames: headers.cast(),
            pages,
            count,
            mappings: [(headers, headers_len), (raw, pages_len)],
            bytes: headers_len + pages_len,
        })
    }

    /// Frames there is room for.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Bytes of address space taken.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Has the system make the memory of these frames, used or not. What is in them stays.
    pub fn populate(&self, frames: std::ops::Range<FrameNo>) {
        assert!(frames.end <= self.count);
        #[cfg(target_os = "linux")]
        {
            let (from, n) = (frames.start as usize, frames.len());
            // SAFETY: a question about a constant of the system's.
            let system_page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as usize;
            let header = std::mem::size_of::<Frame>();
            // SAFETY: in bounds.
            let headers = unsafe { self.frames.add(from) }.cast::<u8>();
            for (at, len) in [
                (headers, n * header),
                (self.page(frames.start), n * PAGE_SIZE),
            ] {
                // Whole pages of the system's.
                let before = at.addr() % system_page;
                // SAFETY: `at` lies in a mapping, which begins on a page of the system's.
                let at = unsafe { at.sub(before) };
                // SAFETY: the range is within the mapping, whose end the kernel rounds up as well. The advice makes pages writable
                // and changes no contents, whoever uses them meanwhile. An older kernel refuses it, and nothing is lost.
                unsafe { libc::madvise(at.cast(), before + len, libc::MADV_POPULATE_WRITE) };
            }
        }
    }

    /// Makes a frame's header valid, as a free frame.
    ///
    /// # Safety
    /// The frame was never initialised, and the caller alone knows of it: `n` has not been given to [`Arena::frame`].
    pub unsafe fn init(&self, n: FrameNo) {
        assert!(n < self.count);
        // SAFETY: in bounds; nobody else refers to it, per the contract.
        unsafe { self.frames.add(n as usize).write(Frame::new()) };
    }

    /// Header of an initialised frame. Frame numbers come from lists and tables of initialised frames only.
    #[inline]
    pub fn frame(&self, n: FrameNo) -> &Frame {
        debug_assert!(n < self.count);
        // SAFETY: in bounds and initialised: numbers leave `Lists` only after `init`.
        unsafe { &*self.frames.add(n as usize) }
    }

    /// Asks the processor for what a look at one record of the frame's page will read: header, page header, slot, record.
    #[inline]
    pub fn prefetch_record(&self, n: FrameNo, slot_at: usize, record_at: usize) {
        debug_assert!(n < self.count && slot_at < PAGE_SIZE && record_at < PAGE_SIZE);
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: in bounds.
            let header = unsafe { self.frames.add(n as usize) }.cast::<i8>();
            let page = self.page(n).cast::<i8>();
            // SAFETY: a prefetch reads nothing as far as the program can tell; the addresses are in bounds.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(header);
                _mm_prefetch::<_MM_HINT_T0>(header.add(64));
                _mm_prefetch::<_MM_HINT_T0>(page);
                _mm_prefetch::<_MM_HINT_T0>(page.add(slot_at));
                _mm_prefetch::<_MM_HINT_T0>(page.add(record_at));
            }
        }
    }

    /// Where a frame's page is. Whether it may be read or written is the latch's to say.
    #[inline]
    pub fn page(&self, n: FrameNo) -> *mut u8 {
        debug_assert!(n < self.count);
        // SAFETY: in bounds.
        unsafe { self.pages.add(n as usize * PAGE_SIZE) }
    }

    /// Asks the processor to bring a frame's header and the start of its page into its caches, all lines at once.
    #[inline]
    pub fn prefetch(&self, n: FrameNo) {
        debug_assert!(n < self.count);
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: in bounds.
            let header = unsafe { self.frames.add(n as usize) }.cast::<i8>();
            let page = self.page(n).cast::<i8>();
            // SAFETY: a prefetch reads nothing as far as the program can tell; the addresses are in bounds.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(header);
                _mm_prefetch::<_MM_HINT_T0>(header.add(std::mem::size_of::<Frame>() - 1));
                for line in 0..PREFETCH_LINES {
                    _mm_prefetch::<_MM_HINT_T0>(page.add(line * 64));
                }
            }
        }
    }

    /// The bytes of a page that the caller alone may touch.
    ///
    /// # Safety
    /// The caller holds the exclusive latch, or is the loader, or owns the free frame; and makes no second
    /// reference while this one lives.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn page_mut(&self, n: FrameNo) -> &mut [u8] {
        // SAFETY: in bounds; exclusive per the contract.
        unsafe { std::slice::from_raw_parts_mut(self.page(n), PAGE_SIZE) }
    }

    /// The bytes of a page that nobody may change now.
    ///
    /// # Safety
    /// The caller holds a latch, shared or exclusive, for as long as the reference lives.
    #[inline]
    pub unsafe fn page_ref(&self, n: FrameNo) -> &[u8] {
        // SAFETY: in bounds; unchanging per the contract.
        unsafe { std::slice::from_raw_parts(self.page(n), PAGE_SIZE) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for (p, len) in self.mappings {
            // SAFETY: mapped in `new`; no reference outlives the arena. Headers hold nothing that must
            // be dropped but spaces, which the pool takes out before.
            unsafe { libc::munmap(p, len) };
        }
    }
}
