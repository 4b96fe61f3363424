//! The storage trait: everything the engine does to disk goes through it, so that tests can fail,
//! tear, reorder and lose writes at every step.
//!
//! Contract (what [`real`] gives and [`sim`] takes to its limits): a write is durable only once
//! a later [`File::sync`] on the same file has returned `Ok`. Before that, after a power cut, any
//! subset of the writes may be there, in any order, each torn at any 512-byte sector. After
//! a failed `sync` the state of unsynced writes is unknown and the caller must stop writing.

pub mod aligned;
pub mod bounded;
pub mod counted;
pub mod real;
pub mod sim;

pub use aligned::AlignedBuf;
pub use bounded::{Bound, Bounded};
pub use counted::{Counted, FileCounts, FileKind, FileLook, FileStats, OpStats, of_thread};
pub use real::RealStorage;
pub use sim::SimStorage;

use std::io;
use std::sync::Arc;

/// What a disk writes wholly or not at all.
pub const SECTOR: usize = 512;
/// Alignment of memory that every disk can be written from without a copy.
pub const DIRECT_ALIGN: usize = 4096;

/// A directory of files. Names are relative, `/`-separated, at most one level deep.
pub trait Storage: Send + Sync {
    /// Opens a file, creating it (and its folder) if `create` and it is missing.
    fn open(&self, name: &str, create: bool) -> io::Result<Arc<dyn File>>;
    /// Opens an existing file, of at least two [`SECTOR`]s, for writes of whole sectors at multiples of their size and
    /// from memory aligned to [`DIRECT_ALIGN`]; they need not pass through the operating system's cache. What is read may be
    /// read through another handle. Each handle learns of failed syncs by itself.
    fn open_direct(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.open(name, false)
    }
    /// Removes a file; missing is an error of kind `NotFound`.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Whether the file exists.
    fn exists(&self, name: &str) -> bool;
    /// Names of the files in a folder (`""` is the top), relative to it, in no order.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;
    /// Makes creations and removals in the folder durable.
    fn sync_folder(&self, folder: &str) -> io::Result<()>;
    /// Takes the directory for this process; held until the storage is dropped. An error of kind
    /// `WouldBlock` means that another process holds it.
    fn lock(&self) -> io::Result<()>;
    /// Threads, beside the caller's, that are worth having for writing to places here and there.
    fn write_threads(&self) -> usize {
        0
    }
    /// Files that may be open at a time, beside others that the process needs.
    fn handle_limit(&self) -> usize {
        usize::MAX
    }
}

#[allow(clippy::len_without_is_empty)]
/// An open file. All calls take `&self` and may be made from several threads.
pub trait File: Send + Sync {
    /// Fills `buf` from `offset`; a read past the end is an error of kind `UnexpectedEof`.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;
    /// Says that these bytes will be read soon: the system may begin to.
    fn will_read(&self, _offset: u64, _len: u64) {}
    /// Writes all of `buf` at `offset`, growing the file if needed.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;
    /// As [`File::write_at`], for whole [`SECTOR`]s at a multiple of their size, from memory aligned to [`DIRECT_ALIGN`]: need
    /// not pass through the operating system's cache, where much would gather for one [`File::sync`] to write. Whoever
    /// reads the place meanwhile may get anything; afterwards, what was written.
    fn write_direct(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.write_at(buf, offset)
    }
    /// Makes every completed write (and the length) durable.
    fn sync(&self) -> io::Result<()>;
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the length can't change, as a block device's: [`File::set_len`] does nothing then, or fails as on a full disk. What
    /// was never written may read as anything.
    fn is_fixed(&self) -> bool {
        false
    }
    /// Sets the length: zero-fills on growth (allocating the blocks where the file system can, so
    /// that a full disk shows here), cuts on shrink.
    fn set_len(&self, len: u64) -> io::Result<()>;
}
