//! Reading files' pages for a backup, past the pool, while they are being written.
//!
//! What is read of a page is what was on the disk at some moment, whole: one that is torn because it is just being written is read
//! again, at last while nothing is written in place. A page that is damaged and in use is an error. What is in no
//! use may be anything, and is left out.

use super::Pager;
use super::published::Extents;
use crate::error::{Error, Result};
use crate::io::File;
use crate::page::{Lsn, PAGE_SIZE, PageNo};
use crate::space::{EXTENT_PAGES, FileId, layout};
use std::io::ErrorKind::{NotFound, UnexpectedEof};
use std::sync::Arc;
use std::time::Duration;

/// Times a torn page is read again before writers are held up for it.
const AGAIN: u32 = 3;

/// A file that is being copied.
pub(crate) struct Source {
    pub id: FileId,
    file: Arc<dyn File>,
}

impl Source {
    /// Its length in bytes, and whether that can't change.
    pub fn len(&self) -> Result<(u64, bool)> {
        let len = self.file.len();
        let len = len.map_err(|e| Error::io(format!("length of {}", self.id.name()), &e))?;
        Ok((len, self.file.is_fixed()))
    }

    /// Fills `buf`, as far as the file goes: the pages read.
    fn read(&self, first: PageNo, buf: &mut [u8]) -> Result<usize> {
        let at = u64::from(first) * PAGE_SIZE as u64;
        let failed = |e| Error::io(format!("read page {first} of {}", self.id.name()), &e);
        let mut want = buf.len();
        loop {
            match self.file.read_at(&mut buf[..want], at) {
                Ok(()) => return Ok(want / PAGE_SIZE),
                // It is being cut.
                Err(e) if e.kind() == UnexpectedEof && want > 0 => {
                    let len = self.len()?.0.saturating_sub(at);
                    let there = usize::try_from(len).unwrap_or(usize::MAX) / PAGE_SIZE * PAGE_SIZE;
                    want = there.min(want - PAGE_SIZE);
                }
                Err(e) => return Err(failed(e)),
            }
            if want == 0 {
                return Ok(0);
            }
        }
    }
}

/// What there is of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// It is whole.
    Page,
    /// It was never written, or is not in use.
    Nothing,
}

impl Pager {
    /// Files of pages that there are now.
    pub(crate) fn files_to_copy(&self) -> Result<Vec<FileId>> {
        let storage = self.core().files.storage();
        let names = match storage.list("tables") {
            Err(e) if e.kind() == NotFound => Vec::new(),
            names => names.map_err(|e| Error::io("list tables", &e))?,
        };
        let mut files: Vec<FileId> = names
            .iter()
            .filter_map(|n| FileId::of_table_name(n))
            .collect();
        files.sort_unstable();
        files.splice(0..0, [FileId::SHARED, FileId::UNDO]);
        Ok(files)
    }

    /// Opens a file to copy it; `None`: it has gone.
    pub(crate) fn source(&self, id: FileId) -> Result<Option<Source>> {
        match self.core().files.storage().open(&id.name(), false) {
            Ok(file) => Ok(Some(Source { id, file })),
            Err(e) if e.kind() == NotFound => Ok(None),
            Err(e) => Err(Error::io(format!("open {}", id.name()), &e)),
        }
    }

    /// Reads pages from `first` on: what there is of each, as many as the file has. Pages of extents that are nobody's are not
    /// read at all if all of these are.
    pub(crate) fn read_pages(
        &self,
        source: &Source,
        first: PageNo,
        buf: &mut [u8],
    ) -> Result<Vec<Found>> {
        let pages = buf.len() / PAGE_SIZE;
        if self.are_vacant(source.id, first, pages as u32) {
            return Ok(vec![Found::Nothing; pages]);
        }
        let there = source.read(first, buf)?;
        let pages = buf.chunks_exact_mut(PAGE_SIZE).take(there);
        pages
            .zip(first..)
            .map(|(page, no)| {
                if layout::is_zero(page) {
                    return Ok(Found::Nothing);
                }
                match layout::verify(page, 0, no) {
                    Ok(()) => Ok(Found::Page),
                    Err(_) => self.read_again(source, no, page),
                }
            })
            .collect()
    }

    /// Whether a file that is open says that pages are nobody's. Whoever takes one from now on writes to the log what it does.
    fn are_vacant(&self, id: FileId, first: PageNo, pages: u32) -> bool {
        let Some(file) = self.core().files.open_already(id) else {
            return false;
        };
        let alloc = file.alloc().lock();
        let extents = first / EXTENT_PAGES..(first + pages).div_ceil(EXTENT_PAGES);
        extents.into_iter().all(|e| alloc.is_vacant(e))
    }

    /// Reads a page that was torn or is damaged.
    #[cold]
    fn read_again(&self, source: &Source, no: PageNo, page: &mut [u8]) -> Result<Found> {
        for attempt in 0..=AGAIN + 1 {
            // First: whoever takes the page after this writes to the log what it does.
            if !self.is_used(source.id, no)? {
                return Ok(Found::Nothing);
            }
            match attempt {
                0 => {}
                // It may have been taken a moment ago, and not been written since.
                n if n > AGAIN => self.flush()?,
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
            let _quiet = (attempt >= AGAIN).then(|| self.core().writing.lock());
            if source.read(no, page)? == 0 || layout::is_zero(page) {
                return Ok(Found::Nothing);
            }
            if layout::verify(page, 0, no).is_ok() {
                return Ok(Found::Page);
            }
        }
        let why = layout::verify(page, 0, no).err().unwrap_or_default();
        let name = source.id.name();
        Err(Error::Corrupt(format!("{name}, page {no}: {why}")))
    }

    /// Whether the log knows the page as used.
    fn is_used(&self, id: FileId, no: PageNo) -> Result<bool> {
        match self.core().files.get(id, false) {
            Ok(file) => Ok(file.alloc().lock().is_used(no)),
            Err(Error::Io { kind: NotFound, .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// From now on extents that are published are noted for [`Pager::published`], until this is dropped.
    pub(crate) fn watch_published(&self) -> Result<Watch<'_>> {
        self.core().published.watch()?;
        Ok(Watch { pager: self })
    }

    /// Has the log have, from now on or no longer, all pages that are written past it. Fails while some are being written.
    pub(crate) fn set_archived(&self, on: bool) -> Result<()> {
        self.core().published.set_archived(on)
    }

    /// Bytes of the log's ring.
    pub(crate) fn ring_bytes(&self) -> u64 {
        self.core().log.ring_bytes()
    }
}

/// See [`Pager::watch_published`].
pub(crate) struct Watch<'p> {
    pager: &'p Pager,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.pager.core().published.unwatch();
    }
}

impl Watch<'_> {
    /// Extents published since this was last asked.
    pub fn published(&self) -> Vec<Extents> {
        self.pager.core().published.take()
    }

    /// Has `copy` copy the last extents that were published, while nobody publishes others: where the log ends then, and the least
    /// LSN that a page may have that comes without a word in the log before that.
    pub fn end(&self, copy: impl FnOnce(Vec<Extents>) -> Result<()>) -> Result<(Lsn, Lsn)> {
        let core = self.pager.core();
        let _held = core.published.hold();
        copy(core.published.take())?;
        let end = core.log.end_lsn();
        Ok((end, core.published.oldest(end)))
    }
}
