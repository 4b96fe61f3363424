//! A storage one of whose files may not get as long as it likes.

use super::{File, Storage};
use std::io;
use std::sync::Arc;

/// How long a file may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// So many bytes at most.
    Most(u64),
    /// So many from the start, and never another number (unless it has more).
    Fixed(u64),
}

/// Another storage, but for the length of one file.
pub struct Bounded {
    storage: Arc<dyn Storage>,
    name: String,
    bound: Bound,
}

impl Bounded {
    /// Bounds the file of this name.
    pub fn new(storage: Arc<dyn Storage>, name: &str, bound: Bound) -> Bounded {
        Bounded {
            storage,
            name: name.into(),
            bound,
        }
    }

    fn wrap(&self, name: &str, file: Arc<dyn File>) -> io::Result<Arc<dyn File>> {
        if name != self.name {
            return Ok(file);
        }
        // A crash may have come before it was as long as it is to be.
        if let Bound::Fixed(bytes) = self.bound
            && file.len()? < bytes
        {
            file.set_len(bytes)?;
        }
        let bound = self.bound;
        Ok(Arc::new(BoundedFile { file, bound }))
    }
}

impl Storage for Bounded {
    fn open(&self, name: &str, create: bool) -> io::Result<Arc<dyn File>> {
        let file = self.storage.open(name, create)?;
        self.wrap(name, file)
    }
    fn open_direct(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let file = self.storage.open_direct(name)?;
        self.wrap(name, file)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.storage.remove(name)
    }
    fn exists(&self, name: &str) -> bool {
        self.storage.exists(name)
    }
    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.storage.list(folder)
    }
    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.storage.sync_folder(folder)
    }
    fn lock(&self) -> io::Result<()> {
        self.storage.lock()
    }
    fn write_threads(&self) -> usize {
        self.storage.write_threads()
    }
    fn handle_limit(&self) -> usize {
        self.storage.handle_limit()
    }
}

struct BoundedFile {
    file: Arc<dyn File>,
    bound: Bound,
}

impl File for BoundedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buf, offset)
    }
    fn will_read(&self, offset: u64, len: u64) {
        self.file.will_read(offset, len);
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(buf, offset)
    }
    fn write_direct(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_direct(buf, offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn is_fixed(&self) -> bool {
        matches!(self.bound, Bound::Fixed(_))
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        let old = self.file.len()?;
        match self.bound {
            Bound::Most(most) if len > most.max(old) => Err(io::ErrorKind::StorageFull.into()),
            Bound::Most(_) => self.file.set_len(len),
            Bound::Fixed(_) if len > old => Err(io::ErrorKind::StorageFull.into()),
            Bound::Fixed(_) => Ok(()),
        }
    }
}
