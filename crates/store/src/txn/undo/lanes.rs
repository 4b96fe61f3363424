//! The lanes: which are free, where each begins and ends, and the directory page that records it.
//!
//! A lane's tail belongs to the transaction that has taken the lane, its head to purge. Lanes are reused last in,
//! first out, so that few of them stay hot. The tail page is never freed; a page is freed by purge once the chain
//! goes on and every record in it has been purged.
//!
//! Persistent per lane: its first and its tail page, each changed in the mini-transaction that adds or frees a page.
//! Pages are latched directory first, then along the chain.

use super::page::{
    DIR_ENTRIES_AT, DIR_ENTRY, DIR_LANES, DIR_LANES_AT, DIR_NEXT_AT, Header, LANE_AT, NEXT_AT,
    PREV_AT, Position, RECORDS_AT,
};
use crate::error::{Error, Result};
use crate::log::op::Op;
use crate::page::{PAGE_SIZE, PageNo, PageType, get_u32, page_type};
use crate::pool::{Mtr, PageH, Pager};
use crate::space::{AllocKind, FileId, Space, SpaceId};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The undo file's space.
const UNDO_SPACE: SpaceId = SpaceId(2);
/// The first directory page: the first page ever allocated in the undo file.
const DIRECTORY: PageNo = 2;

/// A lane as its transaction holds it.
pub(in super::super) struct Lane {
    pub no: u32,
    /// The page that records go to.
    pub tail: PageNo,
    /// Where the next record goes.
    pub end: usize,
    /// BEGINs so far (wrapping).
    pub begins: u32,
    /// Encoding buffer.
    pub scratch: Vec<u8>,
}

/// The undo file.
pub(in super::super) struct UndoFile {
    pub pager: Arc<Pager>,
    pub space: Arc<Space>,
    /// Directory pages in order. Held while a lane or a directory page is made: across the mini-transaction, so it comes before every latch.
    directory: Mutex<Directory>,
    /// The file is to end about here: lanes whose tail is at or above go on below.
    ceiling: AtomicU32,
}

/// Pages that the undo file may have before its lanes are moved to its beginning: 16 MiB.
const SMALL_PAGES: u32 = 1024;

#[derive(Default)]
struct Directory {
    pages: Vec<PageNo>,
    lanes: u32,
}

/// A lane's entry as read at open.
pub(in super::super) struct LaneEntry {
    pub no: u32,
    pub first: PageNo,
    pub tail: PageNo,
}

impl UndoFile {
    /// Opens the undo file, making the directory if the database is `new`. Returns the lanes.
    pub(in super::super) fn open(
        pager: &Arc<Pager>,
        new: bool,
    ) -> Result<(UndoFile, Vec<LaneEntry>)> {
        let file = UndoFile {
            pager: pager.clone(),
            space: pager.space(UNDO_SPACE, FileId::UNDO),
            directory: Mutex::default(),
            ceiling: AtomicU32::new(PageNo::MAX),
        };
        // Not `if new` alone: a crash may have come between the directory and the first transaction.
        if new && page_type(&pager.fetch(&file.space, DIRECTORY)?) == Some(PageType::Free) {
            file.create()?;
        }
        let mut lanes = Vec::new();
        {
            let mut directory = file.directory.lock();
            let mut next = DIRECTORY;
            while next != 0 {
                let page = pager.fetch(&file.space, next)?;
                if page_type(&page) != Some(PageType::UndoDirectory) {
                    return Err(corrupt(next, "it is no directory page"));
                }
                let count = get_u32(&page, DIR_LANES_AT);
                if count > DIR_LANES {
                    return Err(corrupt(next, "it claims more lanes than fit"));
                }
                for i in 0..count {
                    let at = entry_at(i);
                    lanes.push(LaneEntry {
                        no: directory.lanes + i,
                        first: get_u32(&page, at),
                        tail: get_u32(&page, at + 4),
                    });
                }
                directory.lanes += count;
                directory.pages.push(next);
                next = get_u32(&page, DIR_NEXT_AT);
                if directory.pages.contains(&next) {
                    return Err(corrupt(next, "the directory runs in a circle"));
                }
            }
        }
        Ok((file, lanes))
    }

    fn create(&self) -> Result<()> {
        let mut mtr = self.pager.mtr_in(&self.space, 1)?;
        let page = self.alloc_directory(&mut mtr)?;
        let no = mtr.page_no(page);
        mtr.commit();
        if no != DIRECTORY {
            return Err(corrupt(no, "the undo file was not empty"));
        }
        Ok(())
    }

    fn alloc_directory(&self, mtr: &mut Mtr<'_>) -> Result<PageH> {
        let init = Op::Init {
            kind: PageType::UndoDirectory,
            level: 0,
        };
        mtr.alloc(&self.space, AllocKind::Root, 0, init)
    }

    /// Finds out where the file should end: anywhere, unless most of it is free.
    pub(in super::super) fn review_ceiling(&self) -> Result<PageNo> {
        let (bytes, _) = self.pager.free_tail(FileId::UNDO, 0)?;
        let pages = bytes / PAGE_SIZE as u64;
        let used = self.pager.space_pages(&self.space)?;
        let ceiling = if pages > u64::from(SMALL_PAGES) && used * 4 < pages {
            // Room for the lanes, and for a little history.
            (used * 2).max(u64::from(SMALL_PAGES / 2)) as PageNo
        } else {
            PageNo::MAX
        };
        self.ceiling.store(ceiling, Ordering::Relaxed);
        Ok(ceiling)
    }

    fn alloc_undo(&self, mtr: &mut Mtr<'_>, near: PageNo, header: Header) -> Result<PageH> {
        let init = Op::Init {
            kind: PageType::Undo,
            level: 0,
        };
        let how = if near < self.ceiling.load(Ordering::Relaxed) {
            AllocKind::Extent
        } else {
            AllocKind::Low
        };
        let page = mtr.alloc(&self.space, how, near, init)?;
        put(mtr, page, LANE_AT, &header.encode());
        Ok(page)
    }

    /// Makes a lane with one page.
    pub(in super::super) fn new_lane(&self) -> Result<Lane> {
        let mut directory = self.directory.lock();
        let no = directory.lanes;
        if no as usize == directory.pages.len() * DIR_LANES as usize {
            self.extend_directory(&mut directory)?;
        }
        let last = directory.pages[(no / DIR_LANES) as usize];
        let _pin = self.pager.pin(&self.space, last)?;
        let mut mtr = self.pager.mtr_in(&self.space, 1)?;
        let dir = latch(&mut mtr, &self.space, last)?;
        let header = Header {
            lane: no,
            prev: 0,
            next: 0,
            begin: Position::NONE,
            begins: 0,
            trx: 0,
        };
        let page = self.alloc_undo(&mut mtr, last, header)?;
        let first = mtr.page_no(page);
        let mut entry = [0; DIR_ENTRY];
        entry[..4].copy_from_slice(&first.to_le_bytes());
        entry[4..].copy_from_slice(&first.to_le_bytes());
        put(&mut mtr, dir, entry_at(no % DIR_LANES), &entry);
        let count = no % DIR_LANES + 1;
        put(&mut mtr, dir, DIR_LANES_AT, &count.to_le_bytes());
        mtr.commit();
        directory.lanes += 1;
        Ok(Lane {
            no,
            tail: first,
            end: RECORDS_AT,
            begins: 0,
            scratch: Vec::new(),
        })
    }

    /// Links another, empty directory page.
    fn extend_directory(&self, directory: &mut Directory) -> Result<()> {
        let last = *directory.pages.last().expect("the directory has a page");
        let _pin = self.pager.pin(&self.space, last)?;
        let mut mtr = self.pager.mtr_in(&self.space, 1)?;
        let old = latch(&mut mtr, &self.space, last)?;
        let new = self.alloc_directory(&mut mtr)?;
        let no = mtr.page_no(new);
        put(&mut mtr, old, DIR_NEXT_AT, &no.to_le_bytes());
        mtr.commit();
        directory.pages.push(no);
        Ok(())
    }

    fn directory_page(&self, lane: u32) -> PageNo {
        self.directory.lock().pages[(lane / DIR_LANES) as usize]
    }

    /// Appends a page to the lane; `begin` and `trx` say which BEGIN is in force.
    pub(in super::super) fn add_page(
        &self,
        lane: &mut Lane,
        begin: Position,
        trx: u64,
    ) -> Result<()> {
        let directory = self.directory_page(lane.no);
        let _pins = (
            self.pager.pin(&self.space, directory)?,
            self.pager.pin(&self.space, lane.tail)?,
        );
        let mut mtr = self.pager.mtr_in(&self.space, 1)?;
        let dir = latch(&mut mtr, &self.space, directory)?;
        let tail = latch(&mut mtr, &self.space, lane.tail)?;
        let header = Header {
            lane: lane.no,
            prev: lane.tail,
            next: 0,
            begin,
            begins: lane.begins,
            trx,
        };
        let page = self.alloc_undo(&mut mtr, lane.tail, header)?;
        let no = mtr.page_no(page);
        put(&mut mtr, tail, NEXT_AT, &no.to_le_bytes());
        let at = entry_at(lane.no % DIR_LANES) + 4;
        put(&mut mtr, dir, at, &no.to_le_bytes());
        mtr.commit();
        lane.tail = no;
        lane.end = RECORDS_AT;
        Ok(())
    }

    /// Frees the lane's first page, all of whose records have been purged; `second` becomes the first.
    pub(in super::super) fn free_first(
        &self,
        lane: u32,
        first: PageNo,
        second: PageNo,
    ) -> Result<()> {
        let directory = self.directory_page(lane);
        let _pins = (
            self.pager.pin(&self.space, directory)?,
            self.pager.pin(&self.space, first)?,
            self.pager.pin(&self.space, second)?,
        );
        let mut mtr = self.pager.mtr(0)?;
        let dir = latch(&mut mtr, &self.space, directory)?;
        let old = latch(&mut mtr, &self.space, first)?;
        let new = latch(&mut mtr, &self.space, second)?;
        put(
            &mut mtr,
            dir,
            entry_at(lane % DIR_LANES),
            &second.to_le_bytes(),
        );
        put(&mut mtr, new, PREV_AT, &0u32.to_le_bytes());
        mtr.free(old)?;
        mtr.commit();
        Ok(())
    }
}

fn entry_at(i: u32) -> usize {
    DIR_ENTRIES_AT + i as usize * DIR_ENTRY
}

pub(super) fn put(mtr: &mut Mtr<'_>, page: PageH, at: usize, data: &[u8]) {
    let offset = at as u16;
    mtr.apply(page, Op::Bytes { offset, data });
}

/// Latches a pinned page of the undo file.
pub(super) fn latch(mtr: &mut Mtr<'_>, space: &Arc<Space>, page: PageNo) -> Result<PageH> {
    mtr.try_latch(space, page)
        .ok_or_else(|| corrupt(page, "it is not allocated"))
}

/// An error about a page of the undo file.
pub(in super::super) fn corrupt(page: PageNo, what: &str) -> Error {
    Error::Corrupt(format!("undo, page {page}: {what}"))
}
