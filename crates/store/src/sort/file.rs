//! Temporary files: removed when dropped, and at the next open after a crash. The name is gone when the drop returns; a large file's blocks
//! are given back a little later.

use super::FOLDER;
use crate::error::{Error, Result};
use crate::io::{File, Storage};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes names unique within the process; no other process has the directory.
static NEXT_NAME: AtomicU64 = AtomicU64::new(1);

/// A file that grows at its end and is never synced. After an error it is good for nothing but being dropped.
pub struct TempFile {
    storage: Arc<dyn Storage>,
    pub(super) name: String,
    pub(super) file: Arc<Handle>,
    len: u64,
}

/// From so many bytes on closing is left to a thread of its own: a file without a name gives its blocks and what the system has cached of it
/// back as it is closed, which takes about a millisecond per megabyte, and a statement that was killed is to end at once.
const LONG: u64 = 4 << 20;

/// An open file.
pub(super) struct Handle(Option<Arc<dyn File>>);

impl Handle {
    /// Fills `buf` from `offset`.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<()> {
        self.file().read_at(buf, offset)
    }
    fn file(&self) -> &dyn File {
        self.0.as_deref().expect("open until it is dropped")
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Some(file) = self.0.take()
            && file.len().is_ok_and(|len| len >= LONG)
        {
            let closing = std::thread::Builder::new().name("millpond-close".into());
            // If there is no thread to be had it is closed here.
            let _ = closing.spawn(move || drop(file));
        }
    }
}

/// Bytes appended to a [`TempFile`], and their checksum.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    at: u64,
    len: u32,
    crc: u32,
}

impl Piece {
    /// Bytes.
    pub fn len(&self) -> usize {
        self.len as usize
    }
    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl TempFile {
    /// A file without a byte.
    pub fn create(storage: &Arc<dyn Storage>) -> Result<TempFile> {
        let name = format!(
            "{FOLDER}/sort-{}",
            NEXT_NAME.fetch_add(1, Ordering::Relaxed)
        );
        let file = storage
            .open(&name, true)
            .map_err(|e| Error::io(format!("{name}: create"), &e))?;
        Ok(TempFile {
            storage: storage.clone(),
            name,
            file: Arc::new(Handle(Some(file))),
            len: 0,
        })
    }

    /// Bytes written.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Writes bytes at the end.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file
            .file()
            .write_at(bytes, self.len)
            .map_err(|e| Error::io(format!("{}: write", self.name), &e))?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Writes a piece at the end; at most 4 GiB.
    pub fn add(&mut self, bytes: &[u8]) -> Result<Piece> {
        let len = u32::try_from(bytes.len()).map_err(|_| Error::RowTooLarge(bytes.len()))?;
        let at = self.len;
        self.append(bytes)?;
        Ok(Piece {
            at,
            len,
            crc: crc32c::crc32c(bytes),
        })
    }

    /// Reads a piece into `out`, which is made as long.
    pub fn read(&self, piece: Piece, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        out.resize(piece.len(), 0);
        self.file
            .read_at(out, piece.at)
            .map_err(|e| Error::io(format!("{}: read", self.name), &e))?;
        if crc32c::crc32c(out) != piece.crc {
            return Err(Error::Corrupt(format!(
                "{}: {} bytes at {} are damaged",
                self.name, piece.len, piece.at
            )));
        }
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if let Err(e) = self.storage.remove(&self.name) {
            tracing::warn!(file = self.name, error = %e, "temporary file not removed");
        }
    }
}
