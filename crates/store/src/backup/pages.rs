//! The file of pages: chunks one behind the other, each a head of a sector and up to [`CHUNK_PAGES`] images.
//!
//! Chunks are applied in order, so a later image of a page replaces an earlier one. The head:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | `MPCHUNK1` |
//! | 8 | 4 | CRC-32C of all behind it, images included |
//! | 12 | 4 | number of images |
//! | 16 | 8 | file id |
//! | 24 | 8 | length that the file is to have, in bytes; 0: as its pages make it |
//! | 32 | 8 | the chunk's number, from 0 |
//! | 40 | 4 each | page numbers |

use super::PAGES;
use crate::error::{Error, Result};
use crate::io::{AlignedBuf, File, SECTOR, Storage};
use crate::page::{PAGE_SIZE, PageNo, get_u32, get_u64, put_u32, put_u64};
use crate::space::FileId;
use std::sync::Arc;

/// Images in a chunk, at most.
pub(super) const CHUNK_PAGES: usize = 64;
const MAGIC: &[u8; 8] = b"MPCHUNK1";
const NUMBERS_AT: usize = 40;
/// Bytes written between two syncs, so that no more waits to be written than a moment's work.
const SYNC_BYTES: u64 = 64 << 20;

/// Writes chunks.
pub(super) struct Writer {
    file: Arc<dyn File>,
    buf: AlignedBuf,
    id: FileId,
    count: usize,
    /// Written so far: bytes, chunks, images, and the checksum of the heads.
    pub bytes: u64,
    pub chunks: u64,
    pub pages: u64,
    pub crc: u32,
    synced: u64,
}

fn io(what: &str) -> impl Fn(std::io::Error) -> Error {
    move |e| Error::io(format!("{what} {PAGES}"), &e)
}

impl Writer {
    /// Makes the file.
    pub fn create(to: &dyn Storage) -> Result<Writer> {
        Ok(Writer {
            file: to.open(PAGES, true).map_err(io("create"))?,
            buf: AlignedBuf::new(SECTOR + CHUNK_PAGES * PAGE_SIZE),
            id: FileId::SHARED,
            count: 0,
            bytes: 0,
            chunks: 0,
            pages: 0,
            crc: 0,
            synced: 0,
        })
    }

    /// Adds a page.
    pub fn add(&mut self, id: FileId, no: PageNo, image: &[u8]) -> Result<()> {
        if self.count == CHUNK_PAGES || (self.count > 0 && id != self.id) {
            self.flush(0)?;
        }
        self.id = id;
        put_u32(&mut self.buf, NUMBERS_AT + self.count * 4, no);
        let at = SECTOR + self.count * PAGE_SIZE;
        self.buf[at..at + PAGE_SIZE].copy_from_slice(image);
        self.count += 1;
        Ok(())
    }

    /// Says how long a file is to be.
    pub fn length(&mut self, id: FileId, len: u64) -> Result<()> {
        if self.count > 0 {
            self.flush(0)?;
        }
        self.id = id;
        self.flush(len)
    }

    /// Writes the chunk, if there is anything in it or to say.
    fn flush(&mut self, len: u64) -> Result<()> {
        if self.count == 0 && len == 0 {
            return Ok(());
        }
        let (head, _) = self.buf.split_at_mut(SECTOR);
        head[..8].copy_from_slice(MAGIC);
        put_u32(head, 12, self.count as u32);
        put_u64(head, 16, self.id.0);
        put_u64(head, 24, len);
        put_u64(head, 32, self.chunks);
        head[NUMBERS_AT + self.count * 4..].fill(0);
        let bytes = SECTOR + self.count * PAGE_SIZE;
        let crc = crc32c::crc32c(&self.buf[12..bytes]);
        put_u32(&mut self.buf, 8, crc);
        self.file
            .write_direct(&self.buf[..bytes], self.bytes)
            .map_err(io("write"))?;
        self.crc = crc32c::crc32c_append(self.crc, &self.buf[..SECTOR]);
        self.bytes += bytes as u64;
        self.chunks += 1;
        self.pages += self.count as u64;
        self.count = 0;
        if self.bytes - self.synced >= SYNC_BYTES {
            self.synced = self.bytes;
            self.file.sync().map_err(io("sync"))?;
        }
        Ok(())
    }

    /// Writes what is left and makes all of it durable.
    pub fn finish(&mut self) -> Result<()> {
        self.flush(0)?;
        self.file.sync().map_err(io("sync"))
    }
}

/// A chunk as it was read.
pub(super) struct Chunk<'a> {
    pub id: FileId,
    /// The length that its file is to have; 0: as its pages make it.
    pub len: u64,
    /// Numbers and images.
    pub pages: Vec<(PageNo, &'a [u8])>,
}

/// Reads all chunks in order, each verified. The bytes, chunks and pages there were, and the checksum of the heads.
pub(super) fn each_chunk(
    from: &dyn Storage,
    bytes: u64,
    mut f: impl FnMut(Chunk<'_>) -> Result<()>,
) -> Result<(u64, u64, u32)> {
    let file = from.open(PAGES, false).map_err(io("open"))?;
    let mut buf = vec![0; SECTOR + CHUNK_PAGES * PAGE_SIZE];
    let (mut at, mut chunks, mut pages, mut heads) = (0, 0, 0, 0);
    while at < bytes {
        let wrong = |what: &str| Error::Corrupt(format!("{PAGES}, chunk {chunks}: {what}"));
        file.read_at(&mut buf[..SECTOR], at).map_err(io("read"))?;
        let count = get_u32(&buf, 12) as usize;
        if buf[..8] != *MAGIC || count > CHUNK_PAGES || get_u64(&buf, 32) != chunks {
            return Err(wrong("this is no such chunk"));
        }
        let end = SECTOR + count * PAGE_SIZE;
        file.read_at(&mut buf[SECTOR..end], at + SECTOR as u64)
            .map_err(io("read"))?;
        if crc32c::crc32c(&buf[12..end]) != get_u32(&buf, 8) {
            return Err(wrong("its checksum is wrong"));
        }
        let images = buf[SECTOR..end].chunks_exact(PAGE_SIZE);
        let numbers = (0..count).map(|i| get_u32(&buf, NUMBERS_AT + i * 4));
        f(Chunk {
            id: FileId(get_u64(&buf, 16)),
            len: get_u64(&buf, 24),
            pages: numbers.zip(images).collect(),
        })?;
        heads = crc32c::crc32c_append(heads, &buf[..SECTOR]);
        at += end as u64;
        chunks += 1;
        pages += count as u64;
    }
    Ok((chunks, pages, heads))
}
