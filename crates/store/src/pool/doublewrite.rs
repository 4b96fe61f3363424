//! Writing pages in place so that a torn one can be repaired.
//!
//! A batch of pages goes to the file `doublewrite` first and is synced there; then the pages are written in place and
//! their files synced; only then may the next batch overwrite the first. After a crash, a page of the last batch whose
//! place holds a broken page is put back from there, and the batch's files are synced: a process that was killed may have left
//! what it wrote in place, of this batch alone, to the operating system, whole but not durable.
//!
//! The file is a header page and up to [`BATCH`] page images. The header names the images: `magic u64, count u32,
//! CRC-32C u32 of the entries`, then per image `file id u64, page u32, the image's checksum field u32`. If the header is
//! torn, the batch was never written in place. If an image differs from its entry, a later batch was being written,
//! so the earlier was complete. A file that can't be read says neither: recovery ends with the error, for the next batch would overwrite what
//! a page may be put back from.

use super::write_threads::{Job, What, WriteThreads};
use crate::error::{Error, Result};
use crate::io::{AlignedBuf, File, Storage};
use crate::page::{Lsn, PAGE_SIZE, PageNo, get_u32, get_u64, page_lsn, page_no, put_u32, put_u64};
use crate::space::FileId;
use crate::space::layout;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::Arc;

/// Pages in a batch, at most.
pub(crate) const BATCH: usize = 192;
/// Neighbours written with one call, at most.
const RUN: usize = 64;
const NAME: &str = "doublewrite";
const MAGIC: u64 = u64::from_le_bytes(*b"MILL-DBW");
const ENTRIES_AT: usize = 16;
const ENTRY: usize = 16;

/// Where a page of the batch goes.
#[derive(Clone)]
pub(crate) struct Place {
    pub id: FileId,
    pub file: Arc<dyn File>,
    pub page: PageNo,
}

/// The doublewrite file and the batch being gathered.
pub(crate) struct Doublewrite {
    file: Arc<dyn File>,
    /// Header page, then the images.
    buf: Arc<AlignedBuf>,
    places: Vec<Place>,
    /// Pages that a batch may have: what the file has room for.
    room: usize,
    threads: WriteThreads,
}

fn io(what: &str, id: FileId, e: &std::io::Error) -> Error {
    Error::io(format!("{what} {}", id.name()), e)
}

fn own_io(what: &str, e: &std::io::Error) -> Error {
    Error::io(format!("{what} {NAME}"), e)
}

/// The batch's memory, while no write is under way.
fn own(buf: &mut Arc<AlignedBuf>) -> &mut AlignedBuf {
    Arc::get_mut(buf).expect("no batch is being written")
}

/// The writes in place, neighbours in one.
fn writes(places: &[Place]) -> Vec<Job> {
    let mut jobs = Vec::new();
    let mut from = 0;
    while from < places.len() {
        let first = &places[from];
        let run = places[from..]
            .iter()
            .zip(first.page..)
            .take(RUN)
            .take_while(|(p, no)| p.id == first.id && p.page == *no)
            .count();
        let bytes = (1 + from) * PAGE_SIZE..(1 + from + run) * PAGE_SIZE;
        jobs.push(Job {
            id: first.id,
            file: first.file.clone(),
            what: What::Write(bytes, u64::from(first.page) * PAGE_SIZE as u64),
        });
        from += run;
    }
    jobs
}

/// A sync of each file.
fn syncs(places: &[Place]) -> Vec<Job> {
    let mut files: Vec<&Place> = places.iter().collect();
    files.sort_by_key(|p| p.id);
    files.dedup_by_key(|p| p.id);
    let sync = |p: &Place| Job {
        id: p.id,
        file: p.file.clone(),
        what: What::Sync,
    };
    files.into_iter().map(sync).collect()
}

/// Makes the file as long as it will ever be, so that a disk that is full later has room for every batch; how many pages a
/// batch may have. On a disk that is full already the file may do as it is.
fn make_room(file: &dyn File) -> Result<usize> {
    let pages = |bytes: u64| (bytes / PAGE_SIZE as u64) as usize;
    let wanted = (1 + BATCH) * PAGE_SIZE;
    let has = file.len().map_err(|e| own_io("length of", &e))?;
    if has >= wanted as u64 {
        return Ok(BATCH);
    }
    match file.set_len(wanted as u64) {
        Ok(()) => Ok(BATCH),
        Err(_) if pages(has) > 1 => Ok(pages(has) - 1),
        Err(e) => Err(own_io("lengthen", &e)),
    }
}

impl Doublewrite {
    /// Opens the file, creating it if it is missing.
    pub fn open(storage: &dyn Storage) -> Result<Doublewrite> {
        let created = !storage.exists(NAME);
        let file = storage.open(NAME, true).map_err(|e| own_io("open", &e))?;
        if created {
            storage
                .sync_folder("")
                .map_err(|e| own_io("sync the folder of", &e))?;
        }
        let room = make_room(&*file)?;
        Ok(Doublewrite {
            file,
            buf: Arc::new(AlignedBuf::new((1 + BATCH) * PAGE_SIZE)),
            places: Vec::new(),
            room,
            threads: WriteThreads::new(storage.write_threads()),
        })
    }

    /// Whether the batch has no room for another page.
    pub fn is_full(&self) -> bool {
        self.places.len() == self.room
    }

    /// Pages that a batch may have.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Pages gathered.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Adds a page to the batch; the caller fills the bytes returned. Pages should come in order of place, so that
    /// neighbours are written together.
    pub fn add(&mut self, place: Place) -> &mut [u8] {
        assert!(!self.is_full());
        self.places.push(place);
        let at = self.places.len() * PAGE_SIZE;
        &mut own(&mut self.buf)[at..at + PAGE_SIZE]
    }

    /// Writes the batch, seals its pages first, and makes it durable in place. Empty afterwards, also on error.
    pub fn write(&mut self) -> Result<()> {
        let places = std::mem::take(&mut self.places);
        if places.is_empty() {
            return Ok(());
        }
        let result = self.write_places(&places);
        self.places = places;
        self.places.clear();
        result
    }

    fn write_places(&mut self, places: &[Place]) -> Result<()> {
        let (header, images) = own(&mut self.buf).split_at_mut(PAGE_SIZE);
        for (image, place) in images.chunks_exact_mut(PAGE_SIZE).zip(places) {
            debug_assert_eq!(page_no(image), place.page);
            layout::seal(image);
        }
        header.fill(0);
        for (i, (image, place)) in images.chunks_exact(PAGE_SIZE).zip(places).enumerate() {
            let at = ENTRIES_AT + i * ENTRY;
            put_u64(header, at, place.id.0);
            put_u32(header, at + 8, place.page);
            put_u32(header, at + 12, get_u32(image, 0));
        }
        let entries = &header[ENTRIES_AT..ENTRIES_AT + places.len() * ENTRY];
        let crc = crc32c::crc32c(entries);
        put_u64(header, 0, MAGIC);
        put_u32(header, 8, places.len() as u32);
        put_u32(header, 12, crc);
        self.file
            .write_direct(&self.buf[..(1 + places.len()) * PAGE_SIZE], 0)
            .map_err(|e| own_io("write", &e))?;
        self.file.sync().map_err(|e| own_io("sync", &e))?;
        self.threads.run(&self.buf, writes(places))?;
        self.threads.run(&self.buf, syncs(places))
    }

    /// Calls `f` for each page of the last batch whose image is intact.
    fn each_image(
        storage: &dyn Storage,
        mut f: impl FnMut(FileId, PageNo, &[u8]) -> Result<()>,
    ) -> Result<()> {
        if !storage.exists(NAME) {
            return Ok(());
        }
        let file = storage.open(NAME, false).map_err(|e| own_io("open", &e))?;
        // Whether the file is as long as that.
        let read = |buf: &mut [u8], at: u64| match file.read_at(buf, at) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(e) => Err(own_io("read", &e)),
        };
        let mut header = vec![0; PAGE_SIZE];
        if !read(&mut header, 0)? || get_u64(&header, 0) != MAGIC {
            return Ok(());
        }
        let count = get_u32(&header, 8) as usize;
        if count > BATCH {
            return Ok(());
        }
        let entries = &header[ENTRIES_AT..ENTRIES_AT + count * ENTRY];
        if crc32c::crc32c(entries) != get_u32(&header, 12) {
            return Ok(());
        }
        let mut image = vec![0; PAGE_SIZE];
        for (i, e) in entries.chunks_exact(ENTRY).enumerate() {
            let (id, page, crc) = (FileId(get_u64(e, 0)), get_u32(e, 8), get_u32(e, 12));
            let at = (1 + i as u64) * PAGE_SIZE as u64;
            let intact = read(&mut image, at)?
                && layout::verify(&image, 0, page).is_ok()
                && get_u32(&image, 0) == crc;
            if intact {
                f(id, page, &image)?;
            }
        }
        Ok(())
    }

    /// Recovery: refuses a log that ends before a change whose page was about to be written. The log was durable that far, so
    /// it is no crash that has taken it.
    pub fn check(storage: &dyn Storage, log_end: Lsn) -> Result<()> {
        Self::each_image(storage, |id, page, image| {
            let lsn = page_lsn(image);
            if lsn <= log_end {
                return Ok(());
            }
            Err(Error::Corrupt(format!(
                "file redo is damaged: what can be read of it ends at LSN {log_end}, but page {page} of {} was written with \
                 changes up to LSN {lsn}",
                id.name()
            )))
        })
    }

    /// Recovery: puts back pages of the last batch that are broken in place, and makes the batch durable there. How many were
    /// broken. Nothing is added to a batch before: it would overwrite what these pages may yet be needed from.
    pub fn restore(storage: &dyn Storage) -> Result<usize> {
        let mut restored = 0;
        let mut files = BTreeSet::new();
        let mut current = vec![0; PAGE_SIZE];
        Self::each_image(storage, |id, page, image| {
            if !storage.exists(&id.name()) {
                return Ok(());
            }
            files.insert(id);
            let home = storage
                .open(&id.name(), false)
                .map_err(|e| io("open", id, &e))?;
            let offset = u64::from(page) * PAGE_SIZE as u64;
            if home.read_at(&mut current, offset).is_ok()
                && layout::verify(&current, 0, page).is_ok()
            {
                return Ok(());
            }
            home.write_at(image, offset)
                .map_err(|e| io("write", id, &e))?;
            restored += 1;
            Ok(())
        })?;
        for id in files {
            storage
                .open(&id.name(), false)
                .and_then(|f| f.sync())
                .map_err(|e| io("sync", id, &e))?;
        }
        Ok(restored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::{OpKind, SimStorage, Step};
    use crate::page::PageType;

    /// It might pass for one that is torn, and with it for a batch that needs nothing.
    #[test]
    fn what_cannot_be_read_is_not_taken_for_what_was_never_written() {
        let storage = SimStorage::new();
        let home = storage.open(&FileId::SHARED.name(), true).unwrap();
        home.set_len(4 * PAGE_SIZE as u64).unwrap();
        let mut doublewrite = Doublewrite::open(&storage).unwrap();
        let place = Place {
            id: FileId::SHARED,
            file: home.clone(),
            page: 2,
        };
        layout::start(doublewrite.add(place), 2, PageType::Leaf, 7);
        doublewrite.write().unwrap();
        storage.corrupt(&FileId::SHARED.name(), 2 * PAGE_SIZE as u64 + 100, b"torn");
        for failing in 0..2 {
            let mut reads = 0;
            storage.on_step(move |kind, name| {
                let met = kind == OpKind::Read && name == NAME;
                reads += u32::from(met);
                match met && reads == failing + 1 {
                    true => Step::Fail,
                    false => Step::Go,
                }
            });
            assert!(Doublewrite::restore(&storage).is_err(), "read {failing}");
        }
        storage.clear_hook();
        assert_eq!(Doublewrite::restore(&storage).unwrap(), 1);
    }

    #[test]
    fn room_is_made_once_and_a_full_disk_leaves_what_there_is() {
        let storage = SimStorage::new();
        storage.set_capacity(Some(10 * PAGE_SIZE as u64));
        assert!(Doublewrite::open(&storage).is_err());
        let file = storage.open(NAME, true).unwrap();
        file.set_len(8 * PAGE_SIZE as u64).unwrap();
        assert_eq!(Doublewrite::open(&storage).unwrap().room(), 7);
        storage.set_capacity(None);
        assert_eq!(Doublewrite::open(&storage).unwrap().room(), BATCH);
        storage.set_capacity(Some(file.len().unwrap()));
        assert_eq!(Doublewrite::open(&storage).unwrap().room(), BATCH);
    }
}
