//! Files, spaces and extents.
//!
//! A **file** is a data file: the shared one, the undo file, or one table's own. A **space** is
//! one incarnation of one index (or the undo log, or a file's own bookkeeping): a 64-bit id that
//! never comes back, living in one file. A page is named (space, page number), the page number
//! being its position in the file. DROP flips the space's `dropped` flag; everything cached under
//! it is stale from that instant.
//!
//! Allocation: a file's pages are grouped into extents of [`EXTENT_PAGES`]; every
//! [`MAP_EXTENTS`] extents are described by one allocation-map page. A space's root page comes from
//! a shared *fragment* extent; all further pages from extents of its own.

use crate::error::Result;
use crate::page::PageNo;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Pages in an extent.
pub const EXTENT_PAGES: u32 = 8;

/// Names a data file. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u64);

impl FileId {
    /// The shared data file, `data`.
    pub const SHARED: FileId = FileId(0);
    /// The undo file, `undo`.
    pub const UNDO: FileId = FileId(1);
}

/// Names a space. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpaceId(pub u64);

impl SpaceId {
    /// Spaces below this are the engine's own: file bookkeeping is 1, undo 2, catalog trees 16..
    pub const FIRST_USER: u64 = 1024;
}

/// Shared header of a space; every frame that caches one of its pages points here.
pub struct Space {
    /// Identity.
    pub id: SpaceId,
    /// Where its pages are.
    pub file: FileId,
    dropped: AtomicBool,
}

impl Space {
    /// Whether the space was dropped: its cached pages are stale and must be neither served nor written.
    #[inline]
    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }
}

/// Placement of allocation requests; part of [`crate::pool::Mtr`]'s interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocKind {
    /// A root page, from a fragment extent.
    Root,
    /// Any other page, from the space's own extents.
    Extent,
}

/// Kept so that the module's signatures compile before the allocator exists.
pub type SpaceRef = Arc<Space>;
/// Result of allocating one page.
pub type AllocResult = Result<PageNo>;
