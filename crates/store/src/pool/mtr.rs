//! Mini-transactions: see [`Mtr`].
//!
//! Commit, in order: lock the allocation state of the files in which pages were taken or freed (by file id), bring
//! the changes into it and into the group; append the group, entering pages that were clean into flush lists
//! under the log mutex; release allocation states; stamp the pages' LSNs; detach freed pages;
//! release latches and pins. Nothing in it waits for I/O.
//!
//! A mini-transaction is logged or unlogged ([`super::unlogged`]) from its beginning. The latter holds pages of
//! temporary tables only, the former never one: a group in the log is all that a mini-transaction did.

use super::Pager;
use super::core::{Core, DirtyMeta, TAIL_DEPTH_WAITING};
use super::frame::{DETACHED, DIRTY, FrameNo};
use super::guard::FrameHint;
use super::room::Share;
use crate::error::{Error, Result};
use crate::log::op::{Op, Target};
use crate::page::{Lsn, PageNo, put_u64};
use crate::space::alloc::{Change, FileAlloc, SlotNo, Writer};
use crate::space::file::DataFile;
use crate::space::{AllocKind, FileId, Space};
use crate::wait::{self, Class};
use parking_lot::MutexGuard;
use parking_lot::lock_api::RawRwLock as _;
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

thread_local! {
    /// The redo group's buffer, kept between mini-transactions.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A buffer that grew beyond this is not kept.
const KEEP_BYTES: usize = 16 << 10;

/// Handle of a page held by an [`Mtr`]: an index into its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageH(pub usize);

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Latched,
    Changed,
    /// Changed, and freed.
    Freed,
    Released,
}

struct Held {
    frame: FrameNo,
    state: State,
    target: Target,
}

/// A mini-transaction: exclusive latches on some pages and the redo group describing what was done to them. Dropping it
/// without [`Mtr::commit`] is only allowed if it changed nothing (else it panics: a half-applied change must never
/// become visible).
pub struct Mtr<'a> {
    pub(super) core: &'a Core,
    pages: SmallVec<[Held; 6]>,
    changed: bool,
    previous: Option<Target>,
    buffer: Vec<u8>,
    reserved: SmallVec<[FrameNo; 8]>,
    log: Share,
    changes: SmallVec<[(Arc<DataFile>, Change); 2]>,
    /// Whether its pages are those of temporary tables.
    unlogged: bool,
}

impl Pager {
    /// Starts a mini-transaction that may allocate up to `new_pages` pages. Waits, holding nothing, for
    /// log space and for that many free frames. Must be called with no latch held.
    #[inline]
    pub fn mtr<'a>(&'a self, new_pages: usize) -> Result<Mtr<'a>> {
        self.core().mtr(new_pages)
    }

    /// As [`Pager::mtr`] for pages of this space, unlogged if it is a temporary one. Grows the space's file
    /// beforehand if `new_pages` pages do not fit, so that [`Mtr::alloc`] hardly ever has to do that with latches
    /// held. On a full disk it waits for dead spaces to be given back.
    #[inline]
    pub fn mtr_in<'a>(&'a self, space: &Arc<Space>, new_pages: usize) -> Result<Mtr<'a>> {
        let core = self.core();
        if new_pages > 0 {
            core.make_room(space, new_pages as u32)?;
        }
        if space.id.is_temporary() {
            return core.mtr_unlogged(new_pages);
        }
        core.mtr(new_pages)
    }
}

impl Core {
    #[inline]
    pub(super) fn mtr(&self, new_pages: usize) -> Result<Mtr<'_>> {
        self.log.relieve()?;
        if !self.log_room.is_tight() {
            let mut mtr = self.mtr_unchecked();
            self.reserve_frames(&mut mtr, new_pages)?;
            // Only now: the log may have become tight while frames were waited for.
            if let Some(share) = self.enter_log(new_pages) {
                mtr.log = share;
                return Ok(mtr);
            }
        }
        self.mtr_reserving(new_pages)
    }

    /// A mini-transaction while the log is tight.
    #[cold]
    fn mtr_reserving(&self, new_pages: usize) -> Result<Mtr<'_>> {
        let mut mtr = self.mtr_unchecked();
        mtr.log = Share::Reserved(self.reserve_log(new_pages)?);
        self.reserve_frames(&mut mtr, new_pages)?;
        Ok(mtr)
    }

    /// An unlogged mini-transaction: it waits for frames, never for the log.
    fn mtr_unlogged(&self, new_pages: usize) -> Result<Mtr<'_>> {
        let mut mtr = self.mtr_unchecked();
        mtr.unlogged = true;
        self.reserve_frames(&mut mtr, new_pages)?;
        Ok(mtr)
    }

    #[inline]
    fn reserve_frames(&self, mtr: &mut Mtr<'_>, new_pages: usize) -> Result<()> {
        if new_pages > 0 {
            let near = self.counts.created.load(Ordering::Relaxed) as usize;
            self.take(near, new_pages, &mut mtr.reserved)?;
        }
        Ok(())
    }

    /// A mini-transaction without asking for log space or frames.
    #[inline]
    pub(super) fn mtr_unchecked(&self) -> Mtr<'_> {
        Mtr {
            core: self,
            pages: SmallVec::new(),
            changed: false,
            previous: None,
            buffer: BUFFER.take(),
            reserved: SmallVec::new(),
            log: Share::Nothing,
            changes: SmallVec::new(),
            unlogged: false,
        }
    }
}

impl<'a> Mtr<'a> {
    /// Latches a resident page exclusively; `None` if it is not resident (release, `pin`, restart).
    #[inline]
    pub fn try_latch(&mut self, space: &Arc<Space>, page: PageNo) -> Option<PageH> {
        let n = self.core.try_pin(space, page)?;
        self.latch(n, space, page)
    }

    /// As [`Mtr::try_latch`], asking the hinted frame instead of the page table.
    #[inline]
    pub fn try_latch_hint(
        &mut self,
        hint: FrameHint,
        space: &Arc<Space>,
        page: PageNo,
    ) -> Option<PageH> {
        if !self.core.try_pin_hint(hint, space, page) {
            return None;
        }
        self.latch(hint.0, space, page)
    }

    /// As [`Mtr::try_latch_hint`], for a hint as [`Pager::try_fetch_cached`] takes it.
    #[inline]
    pub fn try_latch_cached(
        &mut self,
        hint: FrameHint,
        space: &Arc<Space>,
        page: PageNo,
    ) -> Option<PageH> {
        if !self.core.try_pin_cached(hint, space, page) {
            return None;
        }
        self.latch(hint.0, space, page)
    }

    #[inline]
    pub(super) fn latch(&mut self, n: FrameNo, space: &Space, page: PageNo) -> Option<PageH> {
        let f = self.core.arena.frame(n);
        debug_assert!(
            !self
                .pages
                .iter()
                .any(|h| h.frame == n && h.state != State::Released),
            "page {page} of space {} is latched by this mini-transaction already",
            space.id.0
        );
        wait::lock_exclusive(&f.latch, Class::PageExclusive);
        if f.word.load(Ordering::Acquire) & DETACHED != 0 {
            // SAFETY: locked above.
            unsafe { f.latch.unlock_exclusive() };
            self.core.unpin(n);
            return None;
        }
        self.core.counts.hit();
        self.core.touch(n);
        Some(self.hold(n, space, page, State::Latched))
    }

    #[inline]
    fn hold(&mut self, frame: FrameNo, space: &Space, page: PageNo, state: State) -> PageH {
        assert!(
            space.id.is_temporary() == self.unlogged,
            "a mini-transaction mixes logged and unlogged pages"
        );
        let target = Target {
            space: space.id,
            file: space.file,
            page,
        };
        self.pages.push(Held {
            frame,
            state,
            target,
        });
        PageH(self.pages.len() - 1)
    }

    /// Releases a page this mtr has not changed.
    #[inline]
    pub fn release(&mut self, h: PageH) {
        let held = &mut self.pages[h.0];
        assert!(held.state == State::Latched, "released a changed page");
        held.state = State::Released;
        let n = held.frame;
        // SAFETY: the page was latched by this mtr and is released once.
        unsafe { self.core.arena.frame(n).latch.unlock_exclusive() };
        self.core.unpin(n);
    }

    /// Where a held page is, for a later [`Mtr::try_latch_hint`].
    #[inline]
    pub fn hint(&self, h: PageH) -> FrameHint {
        FrameHint(self.pages[h.0].frame)
    }

    /// Bytes of a held page.
    #[inline]
    pub fn page(&self, h: PageH) -> &[u8] {
        let held = &self.pages[h.0];
        assert!(held.state != State::Released, "page was released");
        // SAFETY: exclusively latched; `apply` needs `&mut self`, so nothing changes it while borrowed.
        unsafe { self.core.arena.page_ref(held.frame) }
    }

    /// Number of a held page.
    #[inline]
    pub fn page_no(&self, h: PageH) -> PageNo {
        self.pages[h.0].target.page
    }

    /// Applies an operation to a held page and records it in the redo group.
    #[inline]
    pub fn apply(&mut self, h: PageH, op: Op<'_>) {
        let held = &mut self.pages[h.0];
        assert!(
            matches!(held.state, State::Latched | State::Changed),
            "page was released or freed"
        );
        held.state = State::Changed;
        self.changed = true;
        if !self.unlogged {
            op.encode(held.target, self.previous, &mut self.buffer);
            self.previous = Some(held.target);
        }
        // SAFETY: exclusively latched, and `&mut self` keeps other references of ours away.
        let bytes = unsafe { self.core.arena.page_mut(held.frame) };
        op.apply(held.target, bytes);
    }

    /// Allocates a page for the space and returns it latched and formatted by `init`, which must be
    /// `Op::Init` or `Op::Image`. `near` is a page to be close to (0: anywhere). On error nothing has
    /// changed. May create or grow the space's file; [`Pager::mtr_in`] does that beforehand.
    pub fn alloc(
        &mut self,
        space: &Arc<Space>,
        how: AllocKind,
        near: PageNo,
        init: Op<'_>,
    ) -> Result<PageH> {
        assert!(init.overwrites(), "a new page needs a full format");
        let file = space.data(&self.core.files, true)?.clone();
        let page = file.allocate(space.id, how, near, super::room::need())?;
        let frame = match self.reserved.pop() {
            Some(n) => n,
            None => match self.core.try_take(page as usize, TAIL_DEPTH_WAITING) {
                Some(n) => n,
                None => {
                    file.alloc().lock().untake(page);
                    let what = "mini-transaction allocates more pages than it reserved frames";
                    return Err(Error::Invalid(what.into()));
                }
            },
        };
        self.core.install(frame, space, page);
        self.changes.push((file, Change::Take(page)));
        let h = self.hold(frame, space, page, State::Latched);
        self.apply(h, init);
        Ok(h)
    }

    /// Frees a page held by this mtr: at commit it returns to its space's extent (or the fragment extent).
    pub fn free(&mut self, h: PageH) -> Result<()> {
        let frame = self.pages[h.0].frame;
        // SAFETY: pinned by this mtr.
        let space = unsafe { self.core.arena.frame(frame).space() };
        let file = space.data(&self.core.files, false)?.clone();
        self.apply(h, Op::Free);
        let held = &mut self.pages[h.0];
        held.state = State::Freed;
        self.changes.push((file, Change::Free(held.target.page)));
        Ok(())
    }

    /// Frees the root page of a dropped space without looking at it: the counterpart, for the mini-transaction that forgets
    /// the space, of [`Pager::free_extents`]. 0 is no page.
    pub fn free_root(&mut self, file: FileId, root: PageNo) -> Result<()> {
        if root == 0 {
            return Ok(());
        }
        let file = self.core.files.get(file, false)?;
        {
            let alloc = file.alloc().lock();
            if !alloc.is_fragment(root) || !alloc.is_logged_used(root) {
                let name = &file.name;
                return Err(Error::Corrupt(format!(
                    "{name}, page {root}: not a root page in use"
                )));
            }
        }
        self.changed = true;
        self.changes.push((file, Change::Free(root)));
        Ok(())
    }

    /// Records a change of a file's bookkeeping alone.
    pub(super) fn change(&mut self, file: Arc<DataFile>, change: Change) {
        debug_assert!(!self.unlogged);
        self.changed = true;
        self.changes.push((file, change));
    }

    /// Whether anything has been changed.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Appends the group to the log buffer, stamps the pages with its LSN, marks them dirty and
    /// releases everything. Returns the group's end LSN (the current end if nothing was changed or logged).
    #[inline]
    pub fn commit(mut self) -> Lsn {
        let core = self.core;
        if !self.changed {
            return core.log.end_lsn();
        }
        if self.unlogged {
            self.commit_unlogged();
            return core.log.end_lsn();
        }
        let end = if self.changes.is_empty() {
            let pages = &self.pages;
            core.log
                .append(&self.buffer, |start, _| enter_dirty(core, pages, start))
                .0
        } else {
            self.append_with_changes()
        };
        // Until here a panic (the log overrun) must not unlatch pages whose changes are not logged.
        self.changed = false;
        core.after_append(end);
        for held in &self.pages {
            if matches!(held.state, State::Changed | State::Freed) {
                // SAFETY: exclusively latched.
                let bytes = unsafe { core.arena.page_mut(held.frame) };
                put_u64(bytes, 8, end);
            }
            if held.state == State::Freed {
                core.stale_lsn.fetch_max(end, Ordering::AcqRel);
                core.detach(held.frame);
            }
        }
        end
        // Dropping `self` releases latches and pins.
    }

    /// Stamps the pages and marks them dirty; what was freed may be taken again afterwards.
    fn commit_unlogged(&mut self) {
        let core = self.core;
        let stamp = core.unlogged.next_stamp();
        for held in &self.pages {
            if matches!(held.state, State::Changed | State::Freed) {
                // SAFETY: exclusively latched.
                put_u64(unsafe { core.arena.page_mut(held.frame) }, 8, stamp);
                core.dirty_unlogged(held.frame);
            }
            if held.state == State::Freed {
                core.detach(held.frame);
            }
        }
        self.changed = false;
        for (file, change) in &self.changes {
            file.alloc().lock().logged(*change);
        }
    }

    /// Appends with the locks of the allocation states held.
    fn append_with_changes(&mut self) -> Lsn {
        let core = self.core;
        self.changes.sort_by_key(|(f, _)| f.id);
        let mut guards: SmallVec<[(&Arc<DataFile>, MutexGuard<'_, FileAlloc>); 2]> =
            SmallVec::new();
        let mut touched: SmallVec<[(usize, SlotNo); 4]> = SmallVec::new();
        for (file, change) in &self.changes {
            if guards.last().is_none_or(|(f, _)| f.id != file.id) {
                guards.push((file, file.alloc().lock()));
            }
            let at = guards.len() - 1;
            let mut writer = Writer {
                file: file.id,
                previous: &mut self.previous,
                out: &mut self.buffer,
            };
            guards[at].1.log(*change, &mut writer, &mut |slot| {
                if !touched.contains(&(at, slot)) {
                    touched.push((at, slot));
                }
            });
        }
        let pages = &self.pages;
        let (end, ()) = core.log.append(&self.buffer, |start, end| {
            enter_dirty(core, pages, start);
            for (at, slot) in &touched {
                let (file, alloc) = &mut guards[*at];
                if alloc.stamp(*slot, start, end) {
                    let dirty = DirtyMeta {
                        file: file.clone(),
                        oldest: start,
                    };
                    core.dirty_meta.lock().insert((file.id, *slot), dirty);
                }
            }
        });
        let mut at = 0;
        for (file, change) in &self.changes {
            while guards[at].0.id != file.id {
                at += 1;
            }
            guards[at].1.logged(*change);
        }
        end
    }
}

/// Enters changed pages that were clean into flush lists; runs under the log mutex.
#[inline]
fn enter_dirty(core: &Core, pages: &[Held], start: Lsn) {
    for held in pages {
        if matches!(held.state, State::Changed | State::Freed) {
            let f = core.arena.frame(held.frame);
            if f.word.load(Ordering::Relaxed) & DIRTY == 0 {
                core.instance(held.frame)
                    .flush_push(&core.arena, held.frame, start);
            }
        }
    }
}

impl Drop for Mtr<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.changed {
            if std::thread::panicking() {
                // Neither showing nor hiding a half-applied change is right; the log is.
                eprintln!("panic inside a mini-transaction that has changed pages; aborting");
                std::process::abort();
            }
            panic!("a mini-transaction that has changed pages was dropped without commit");
        }
        for held in &self.pages {
            if held.state != State::Released {
                // SAFETY: latched by this mtr and not released yet.
                unsafe { self.core.arena.frame(held.frame).latch.unlock_exclusive() };
                self.core.unpin(held.frame);
            }
        }
        if !self.reserved.is_empty() {
            self.core.give(&self.reserved);
        }
        self.core.leave_log(self.log);
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.capacity() <= KEEP_BYTES {
            buffer.clear();
            BUFFER.set(buffer);
        }
    }
}
