//! Buffer pool and mini-transactions: the page layer that trees, undo and catalog are written on.
//!
//! * [`Pager`] is the whole page layer: storage, log, files, spaces, frames, cleaner, checkpoints.
//! * [`PageRead`] is a pinned page under a shared latch.
//! * [`Mtr`] is a mini-transaction: exclusive latches on some pages, the redo group describing what
//!   it did to them, all released at commit after the group is in the log buffer. What one `Mtr`
//!   does is there wholly or not at all after a crash.
//!
//! Rules: no latch is held across I/O or a lock wait. Latches are taken tree pages first (top down,
//! left to right), then undo pages, then allocation-map pages. `fetch`/`pin` may do I/O and are called
//! with no latch held; `try_*` never do I/O.

use crate::error::Result;
use crate::log::Log;
use crate::log::op::Op;
use crate::page::{Lsn, PageNo};
use crate::space::{AllocKind, FileId, Space, SpaceId};
use std::ops::Deref;
use std::sync::Arc;

/// The page layer. One per open database; shared by `Arc`.
pub struct Pager {}

/// A pin: keeps a page resident (not latched). Cheap to hold across a restart of a descent.
pub struct Pin<'a> {
    _p: std::marker::PhantomData<&'a ()>,
}

/// A page under a shared latch; derefs to its `PAGE_SIZE` bytes.
pub struct PageRead<'a> {
    _p: std::marker::PhantomData<&'a ()>,
}

impl Deref for PageRead<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        todo!()
    }
}

/// Handle of a page held by an [`Mtr`]: an index into its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageH(pub usize);

impl Pager {
    /// The log.
    pub fn log(&self) -> &Log {
        todo!()
    }
    /// Gets or makes the shared header of a space. The same object is returned while any frame or
    /// handle still refers to it.
    pub fn space(&self, _id: SpaceId, _file: FileId) -> Arc<Space> {
        todo!()
    }
    /// Flips the dropped flag. O(1): nothing is searched.
    pub fn drop_space(&self, _space: &Arc<Space>) {
        todo!()
    }
    /// Reads a page into the pool if need be and pins it. May do I/O: hold no latch.
    pub fn pin<'a>(&'a self, _space: &Arc<Space>, _page: PageNo) -> Result<Pin<'a>> {
        todo!()
    }
    /// `pin` and a shared latch. May do I/O: hold no latch.
    pub fn fetch<'a>(&'a self, _space: &Arc<Space>, _page: PageNo) -> Result<PageRead<'a>> {
        todo!()
    }
    /// The page under a shared latch if it is resident, else `None`; never does I/O (it may wait for
    /// the latch, so the latch order applies).
    pub fn try_fetch<'a>(&'a self, _space: &Arc<Space>, _page: PageNo) -> Option<PageRead<'a>> {
        todo!()
    }
    /// Starts a mini-transaction that may allocate up to `new_pages` pages. Waits, holding nothing, for
    /// log space and for that many free frames. Must be called with no latch held.
    pub fn mtr<'a>(&'a self, _new_pages: usize) -> Result<Mtr<'a>> {
        todo!()
    }
}

/// A mini-transaction. Dropping it without [`Mtr::commit`] is only allowed if it changed nothing
/// (else it panics: a half-applied change must never become visible).
pub struct Mtr<'a> {
    _p: std::marker::PhantomData<&'a ()>,
}

impl<'a> Mtr<'a> {
    /// Latches a resident page exclusively; `None` if it is not resident (release, `pin`, restart).
    pub fn try_latch(&mut self, _space: &Arc<Space>, _page: PageNo) -> Option<PageH> {
        todo!()
    }
    /// Releases a page this mtr has not changed.
    pub fn release(&mut self, _h: PageH) {
        todo!()
    }
    /// Bytes of a held page.
    pub fn page(&self, _h: PageH) -> &[u8] {
        todo!()
    }
    /// Number of a held page.
    pub fn page_no(&self, _h: PageH) -> PageNo {
        todo!()
    }
    /// Applies an operation to a held page and records it in the redo group.
    pub fn apply(&mut self, _h: PageH, _op: Op<'_>) {
        todo!()
    }
    /// Allocates a page for the space and returns it latched and formatted by `Op::Init`. `near` is
    /// a page to be close to (0: anywhere).
    pub fn alloc(
        &mut self,
        _space: &Arc<Space>,
        _how: AllocKind,
        _near: PageNo,
        _init: Op<'_>,
    ) -> Result<PageH> {
        todo!()
    }
    /// Frees a page held by this mtr: it returns to its space's extent (or the fragment extent).
    pub fn free(&mut self, _h: PageH) -> Result<()> {
        todo!()
    }
    /// Appends the group to the log buffer, stamps the pages with its LSN, marks them dirty and
    /// releases everything. Returns the group's end LSN (the current end if nothing changed).
    pub fn commit(self) -> Lsn {
        todo!()
    }
}
