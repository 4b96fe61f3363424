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
//!
//! | file | owns |
//! |---|---|
//! | `alloc` | which pages of a file are free, in memory, and what of that is logged |
//! | `layout` | the bytes of file headers and allocation maps; page checksums |
//! | `file` | an open data file: reads, growth, its allocation state |
//! | `files` | all open data files by id |
//! | `handles` | how many of them the operating system has open |
//!
//! A file's header and map pages ("bookkeeping") live in its [`alloc::FileAlloc`], not in the buffer
//! pool: the state in memory is the truth, the pages are made from it when they are to be written. So
//! allocating never waits for I/O but to grow the file.

pub(crate) mod alloc;
pub(crate) mod file;
pub(crate) mod files;
pub(crate) mod handles;
pub(crate) mod layout;

use crate::error::Result;
use crate::page::PageNo;
use file::DataFile;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Pages in an extent.
pub const EXTENT_PAGES: u32 = 8;
/// Extents that one allocation-map page describes.
pub const MAP_EXTENTS: u32 = 1000;
/// Pages that one allocation-map page describes.
pub const MAP_PAGES: u32 = MAP_EXTENTS * EXTENT_PAGES;

/// Names a data file. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u64);

/// Set in the ids of general tablespaces' files, so that whoever has an id knows whether many tables share the file.
const GENERAL: u64 = 1 << 40;
/// What the names of their files begin with.
const GENERAL_NAME: &str = "ts";

impl FileId {
    /// The shared data file, `data`.
    pub const SHARED: FileId = FileId(0);
    /// The undo file, `undo`.
    pub const UNDO: FileId = FileId(1);
    /// The file of all temporary tables, `temp`: unlogged, and empty whenever the database is opened.
    pub const TEMP: FileId = FileId(u64::MAX);

    /// Path of the file in the storage.
    pub fn name(self) -> String {
        match self {
            FileId::SHARED => "data".into(),
            FileId::UNDO => "undo".into(),
            FileId::TEMP => "temp".into(),
            id if id.is_general() => format!("tables/{GENERAL_NAME}{}", id.number()),
            FileId(n) => format!("tables/{n}"),
        }
    }

    /// The file of this name in the folder of the tables' files.
    pub(crate) fn of_table_name(name: &str) -> Option<FileId> {
        match name.strip_prefix(GENERAL_NAME) {
            Some(number) => Some(FileId::general(number.parse().ok()?)),
            None => Some(FileId(name.parse().ok()?)),
        }
    }

    /// The file of a general tablespace, by its number.
    pub(crate) fn general(number: u64) -> FileId {
        FileId(number | GENERAL)
    }

    /// Whether it is a general tablespace's: many tables share it, and it lasts when they go.
    pub fn is_general(self) -> bool {
        self != FileId::TEMP && self.0 & GENERAL != 0
    }

    /// Whether it is one table's own and goes with it.
    pub fn is_own(self) -> bool {
        !matches!(self, FileId::SHARED | FileId::UNDO | FileId::TEMP) && !self.is_general()
    }

    /// Its number, as users see it: no two files have the same, whatever they are for.
    pub fn number(self) -> u64 {
        match self {
            FileId::TEMP => self.0,
            FileId(n) => n & !GENERAL,
        }
    }

    /// Folder that holds the file's name.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            FileId::SHARED | FileId::UNDO | FileId::TEMP => "",
            _ => "tables",
        }
    }
}

/// Names a space. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpaceId(pub u64);

impl SpaceId {
    /// Spaces below this are the engine's own: file bookkeeping is 1, undo 2, catalog trees 16 to 19, the tree of small indexes 20.
    pub const FIRST_USER: u64 = 1024;
    /// No space.
    pub const NONE: SpaceId = SpaceId(0);
    /// The bookkeeping of every file: header and map pages; also the owner of fragment extents.
    pub const FILE: SpaceId = SpaceId(1);
    /// The tree that small indexes share, in the shared file.
    pub const SHARED_TREE: SpaceId = SpaceId(20);
    /// Set in the ids of spaces in [`FileId::TEMP`], which are counted anew in each life of the database.
    pub const TEMPORARY: u64 = 1 << 63;

    /// Whether the space is in the file of temporary tables: its pages are unlogged.
    #[inline]
    pub fn is_temporary(self) -> bool {
        self.0 & SpaceId::TEMPORARY != 0
    }
}

/// In a space's frame count: its frames are counted as stale.
const GONE: u32 = 1 << 31;

/// Shared header of a space; every frame that caches one of its pages points here. Made by
/// [`crate::pool::Pager::space`] only, so that there is one per id.
pub struct Space {
    /// Identity.
    pub id: SpaceId,
    /// Where its pages are.
    pub file: FileId,
    dropped: AtomicBool,
    /// Temporary: a page could not be written, so the space was flagged as dropped; its pages are still its own.
    given_back: AtomicBool,
    /// Frames that cache its pages, and [`GONE`] once they have been counted as stale.
    frames: AtomicU32,
    /// Where its root is, as soon as anybody knew (0: not yet). For those who look for its pages by their numbers.
    root: AtomicU32,
    /// Whether a page of it ever had entries in the adaptive hash index.
    hashed: AtomicBool,
    data: OnceLock<Arc<DataFile>>,
}

impl Space {
    pub(crate) fn new(id: SpaceId, file: FileId) -> Space {
        Space {
            id,
            file,
            dropped: AtomicBool::new(false),
            given_back: AtomicBool::new(false),
            frames: AtomicU32::new(0),
            root: AtomicU32::new(0),
            hashed: AtomicBool::new(false),
            data: OnceLock::new(),
        }
    }

    /// Whether the space was dropped: its cached pages are stale and must be neither served nor written.
    #[inline]
    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    /// Flips the flag: how many of the pool's frames became stale by it; `None` if it was flipped before.
    pub(crate) fn set_dropped(&self) -> Option<u32> {
        if self.dropped.swap(true, Ordering::AcqRel) {
            return None;
        }
        Some(self.frames.fetch_or(GONE, Ordering::AcqRel) & !GONE)
    }

    /// A frame caches one of its pages from now on. Whether it is stale already and to be counted as such.
    #[inline]
    pub(crate) fn frame_added(&self) -> bool {
        self.frames.fetch_add(1, Ordering::AcqRel) & GONE != 0
    }

    /// A frame no longer does. Whether it was counted as stale.
    #[inline]
    pub(crate) fn frame_removed(&self) -> bool {
        let old = self.frames.fetch_sub(1, Ordering::AcqRel);
        debug_assert_ne!(
            old & !GONE,
            0,
            "space {}: more frames left than came",
            self.id.0
        );
        old & GONE != 0
    }

    /// Notes where the root is (0: there is none).
    pub(crate) fn note_root(&self, root: PageNo) {
        self.root.store(root, Ordering::Relaxed);
    }

    /// What [`Space::note_root`] noted.
    pub(crate) fn root(&self) -> PageNo {
        self.root.load(Ordering::Relaxed)
    }

    /// Notes that a page got entries in the adaptive hash index.
    #[inline]
    pub(crate) fn note_hashed(&self) {
        if !self.hashed.load(Ordering::Relaxed) {
            self.hashed.store(true, Ordering::Relaxed);
        }
    }

    /// Whether any page ever did.
    pub(crate) fn was_hashed(&self) -> bool {
        self.hashed.load(Ordering::Relaxed)
    }

    /// Frames that cache its pages.
    pub(crate) fn cached(&self) -> u32 {
        self.frames.load(Ordering::Acquire) & !GONE
    }

    /// Whether somebody else gives a temporary space's pages back, or has done so; the first who asks is to do it.
    pub(crate) fn is_given_back(&self) -> bool {
        self.given_back.swap(true, Ordering::AcqRel)
    }

    /// The open file, found once. `create` makes a missing one.
    pub(crate) fn data(&self, files: &files::Files, create: bool) -> Result<&Arc<DataFile>> {
        if let Some(f) = self.data.get() {
            return Ok(f);
        }
        let f = files.get(self.file, create)?;
        Ok(self.data.get_or_init(|| f))
    }
}

/// Placement of allocation requests; part of [`crate::pool::Mtr`]'s interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocKind {
    /// A root page, from a fragment extent.
    Root,
    /// Any other page, from the space's own extents.
    Extent,
    /// The same, as near to the file's beginning as can be.
    Low,
}
