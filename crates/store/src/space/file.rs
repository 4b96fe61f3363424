//! An open data file: page reads and run writes, growth ahead of need, and its allocation state.
//!
//! Locks: `growing` is held across the I/O of growing; `alloc` is a short mutex, taken
//! inside it for a moment, and never held across I/O.

use super::alloc::{FileAlloc, Need};
use super::handles::{Handle, Handles};
use super::layout::{self, map_page};
use super::{AllocKind, EXTENT_PAGES, FileId, MAP_PAGES, SpaceId};
use crate::error::{Error, Result};
use crate::io::File;
use crate::page::{PAGE_SIZE, PageNo};
use crate::wait::{self, Class};
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// Bytes of an extent.
const EXTENT_BYTES: u64 = EXTENT_PAGES as u64 * PAGE_SIZE as u64;
/// Largest step by which a file grows.
const MAX_STEP: u64 = 64 << 20;

type AllocMutex = wait::Mutex<FileAlloc, { Class::Allocation as usize }>;

/// An open data file.
pub(crate) struct DataFile {
    pub id: FileId,
    /// Its path, for messages.
    pub name: String,
    pub(super) handle: Handle,
    handles: Arc<Handles>,
    /// Itself.
    this: Weak<DataFile>,
    alloc: AllocMutex,
    growing: Mutex<()>,
    /// The file was created and its folder not synced since.
    folder_owed: AtomicBool,
    /// It is never longer nor shorter.
    fixed: bool,
}

impl DataFile {
    /// Takes an open file and reads its allocation maps.
    pub fn open(
        id: FileId,
        handle: Arc<dyn File>,
        handles: &Arc<Handles>,
        created: bool,
    ) -> Result<Arc<DataFile>> {
        let name = id.name();
        let len = handle
            .len()
            .map_err(|e| Error::io(format!("length of {name}"), &e))?;
        let fixed = handle.is_fixed();
        let mut alloc = FileAlloc::new();
        let pages = (len / PAGE_SIZE as u64).min(u64::from(u32::MAX)) as u32;
        let mut buf = vec![0u8; PAGE_SIZE];
        let mut read = |no: PageNo| -> Result<Option<Vec<u8>>> {
            if no >= pages {
                return Ok(None);
            }
            handle
                .read_at(&mut buf, u64::from(no) * PAGE_SIZE as u64)
                .map_err(|e| Error::io(format!("read page {no} of {name}"), &e))?;
            if layout::is_zero(&buf) {
                return Ok(None);
            }
            layout::verify(&buf, SpaceId::FILE.0, no)
                .map_err(|e| Error::Corrupt(format!("{name}, page {no}: {e}")))?;
            Ok(Some(buf.clone()))
        };
        if let Some(page) = read(0)? {
            alloc
                .load_header(id, &page)
                .map_err(|e| Error::Corrupt(format!("{name}, page 0: {e}")))?;
        }
        alloc.grow_to(pages / EXTENT_PAGES);
        let maps = pages.div_ceil(MAP_PAGES);
        for k in 0..maps {
            if alloc.has_map(k)
                && let Some(page) = read(map_page(k))?
            {
                alloc.load_map(k, &page);
            }
        }
        Ok(Arc::new_cyclic(|this| DataFile {
            id,
            name,
            handle: Handle::new(handle),
            handles: handles.clone(),
            this: this.clone(),
            alloc: AllocMutex::new(alloc),
            growing: Mutex::new(()),
            folder_owed: AtomicBool::new(created),
            fixed,
        }))
    }

    /// The handle, to be kept until what is written through it is synced; an error once the file is deleted.
    pub fn handle(&self) -> Result<Arc<dyn File>> {
        // Whoever calls this has a reference.
        let this = self.this.upgrade().expect("a file in use");
        self.handle.get(&this, &self.handles)
    }

    /// Takes the handle away, if it is open: nobody reads or writes the file any more.
    pub fn close(&self) -> Option<Arc<dyn File>> {
        self.handle.delete()
    }

    /// Whether it was taken away for good.
    pub fn is_deleted(&self) -> bool {
        self.handle.is_deleted()
    }

    /// Whether the file's entry in its folder is durable. Until then no page is written, and it must not be forgotten.
    pub fn is_settled(&self) -> bool {
        !self.folder_owed.load(Ordering::Acquire)
    }

    /// Its folder has been synced.
    pub fn settle(&self) {
        self.folder_owed.store(false, Ordering::Release);
    }

    /// Whether its length can't change: all of it is there from the start, and what is free at its end stays.
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// The allocation state.
    pub fn alloc(&self) -> &AllocMutex {
        &self.alloc
    }

    /// Reads one page, verifying nothing.
    pub fn read_raw(&self, no: PageNo, buf: &mut [u8]) -> Result<()> {
        let handle = self.handle()?;
        handle
            .read_at(buf, u64::from(no) * PAGE_SIZE as u64)
            .map_err(|e| {
                if e.kind() == std::io::ErrorKind::UnexpectedEof {
                    let name = &self.name;
                    return Error::Corrupt(format!("{name}, page {no}: the file ends before it"));
                }
                Error::io(format!("read page {no} of {}", self.name), &e)
            })
    }

    /// An error about one of its pages.
    #[cold]
    pub fn corrupt(&self, no: PageNo, what: &str) -> Error {
        Error::Corrupt(format!("{}, page {no}: {what}", self.name))
    }

    /// Reads one page and verifies checksum and identity.
    pub fn read_page(&self, space: SpaceId, no: PageNo, buf: &mut [u8]) -> Result<()> {
        self.read_raw(no, buf)?;
        layout::verify(buf, space.0, no).map_err(|e| self.corrupt(no, &e.to_string()))
    }

    /// Picks a free page for the space and marks it used in memory; grows the file if it must.
    /// On error nothing has changed.
    pub fn allocate(
        &self,
        space: SpaceId,
        how: AllocKind,
        near: PageNo,
        need: Need,
    ) -> Result<PageNo> {
        loop {
            let had = {
                let mut alloc = self.alloc.lock();
                if let Some(no) = alloc.take(space, how, near, need) {
                    return Ok(no);
                }
                alloc.extents()
            };
            self.grow(had)?;
        }
    }

    /// Picks up to `want` free extents in a row for the space, all their pages with them: the first, and how many. As
    /// [`DataFile::allocate`] otherwise.
    pub fn allocate_run(&self, space: SpaceId, want: u32, need: Need) -> Result<(u32, u32)> {
        loop {
            let had = {
                let mut alloc = self.alloc.lock();
                if let Some(run) = alloc.take_run(space, want, need) {
                    return Ok(run);
                }
                alloc.extents()
            };
            self.grow(had)?;
        }
    }

    /// Makes likely that `pages` pages can be allocated for the space without growing the file. `fragments`: those in fragment extents will do.
    pub fn ensure(&self, space: SpaceId, pages: u32, need: Need, fragments: bool) -> Result<()> {
        loop {
            let (have, extents) = {
                let alloc = self.alloc.lock();
                (alloc.available(space, need, fragments), alloc.extents())
            };
            if have >= pages {
                return Ok(());
            }
            self.grow(extents)?;
        }
    }

    /// Cuts off what is free at the end, of an unlogged file.
    pub fn shrink(&self) -> Result<()> {
        let _growing = self.growing.lock();
        let (had, keep) = {
            let mut alloc = self.alloc.lock();
            (alloc.extents(), alloc.trim())
        };
        if keep == had {
            return Ok(());
        }
        self.handle()?
            .set_len(u64::from(keep) * EXTENT_BYTES)
            .map_err(|e| Error::io(format!("shorten {}", self.name), &e))
    }

    /// Keeps the file from growing while the guard is there.
    pub fn hold_growth(&self) -> MutexGuard<'_, ()> {
        self.growing.lock()
    }

    /// Cuts the file to the extents that its allocation state has, which had `had` before. Growth is held.
    pub fn cut(&self, had: u32) -> Result<()> {
        let keep = self.alloc.lock().extents();
        let cut = self.handle().and_then(|h| {
            h.set_len(u64::from(keep) * EXTENT_BYTES)
                .map_err(|e| Error::io(format!("shorten {}", self.name), &e))
        });
        if cut.is_err() {
            self.alloc.lock().grow_to(had);
        }
        cut
    }

    /// Grows the file by a step, unless somebody else has since it had `seen` extents.
    fn grow(&self, seen: u32) -> Result<()> {
        let _growing = self.growing.lock();
        let have = self.alloc.lock().extents();
        if have > seen {
            return Ok(());
        }
        let len = u64::from(have) * EXTENT_BYTES;
        let floor = if self.id.0 > 1 { EXTENT_BYTES } else { 1 << 20 };
        let step = (len.clamp(floor, MAX_STEP) / EXTENT_BYTES) as u32;
        let mut step =
            step.min(room_left(have).map_err(|e| Error::io(format!("grow {}", self.name), &e))?);
        let handle = self.handle()?;
        loop {
            let to = have + step;
            let grown = handle.set_len(u64::from(to) * EXTENT_BYTES);
            match grown {
                Ok(()) => {
                    self.alloc.lock().grow_to(to);
                    return Ok(());
                }
                Err(e) => {
                    let e = Error::io(format!("grow {}", self.name), &e);
                    if !e.is_full() || step == 1 {
                        return Err(e);
                    }
                    // A nearly full disk may still have room for less.
                    step = 1;
                }
            }
        }
    }
}

/// Extents that a file of so many may yet grow by: page numbers have 32 bits, which is 64 TiB.
fn room_left(extents: u32) -> std::io::Result<u32> {
    match (u32::MAX / EXTENT_PAGES).checked_sub(extents) {
        None | Some(0) => Err(std::io::Error::new(
            std::io::ErrorKind::FileTooLarge,
            "a file has at most 64 TiB",
        )),
        Some(left) => Ok(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_numbers_do_not_wrap() {
        let most = u32::MAX / EXTENT_PAGES;
        assert_eq!(room_left(0).unwrap(), most);
        assert_eq!(room_left(most - 1).unwrap(), 1);
        for full in [most, most + 1, u32::MAX] {
            assert!(Error::io("grow", &room_left(full).unwrap_err()).is_full());
        }
    }
}
