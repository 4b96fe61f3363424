//! Open file handles, of which the operating system gives a process only so many.
//!
//! A data file's allocation state stays in memory while anybody refers to the file; its handle is closed when more than
//! the limit are open and it is among those unused longest, and opened again when the file is next read or written.
//! Nothing is lost by closing: whoever writes keeps the handle until it has synced. (So a batch of pages being written may keep
//! some more open than the limit says.)
//!
//! Locks: `open` is taken with no file's handle lock held; those are only tried under it.

use super::FileId;
use super::file::DataFile;
use crate::error::{Error, Result};
use crate::io::{File, Storage};
use parking_lot::{Mutex, RwLock};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// Fewest handles the limit allows: shared, undo and temporary file, and some.
const LEAST: usize = 10;
/// When the limit is passed this share of the handles is closed at once.
const SHARE: usize = 8;

/// All handles of data files.
pub(crate) struct Handles {
    storage: Arc<dyn Storage>,
    limit: AtomicUsize,
    clock: AtomicU64,
    /// Files with an open handle.
    open: Mutex<Vec<Weak<DataFile>>>,
}

/// A data file's handle.
pub(crate) struct Handle {
    state: RwLock<State>,
    /// The clock when it was last asked for.
    used: AtomicU64,
    deleted: AtomicBool,
}

enum State {
    Open(Arc<dyn File>),
    Closed,
    Deleted,
}

/// Whether the process or the system has no descriptor left (EMFILE, ENFILE).
pub(crate) fn is_lack(e: &std::io::Error) -> bool {
    matches!(e.raw_os_error(), Some(24 | 23))
}

impl Handles {
    pub fn new(storage: Arc<dyn Storage>) -> Handles {
        let limit = storage.handle_limit();
        Handles {
            storage,
            limit: AtomicUsize::new(limit.max(LEAST)),
            clock: AtomicU64::new(0),
            open: Mutex::default(),
        }
    }

    pub fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    /// Handles that may be open.
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Changes how many may be open; takes effect at the next opening.
    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit.max(LEAST), Ordering::Relaxed);
    }

    /// Handles that are open.
    pub fn count(&self) -> usize {
        self.open.lock().len()
    }

    /// Opens a file of the storage, closing others if the process has too many.
    pub fn open(&self, id: FileId, create: bool) -> Result<Arc<dyn File>> {
        let name = id.name();
        self.with_room(|| self.storage.open(&name, create))
            .map_err(|e| Error::io(format!("open {name}"), &e))
    }

    /// Opens a file that is there once more, for writes past the operating system's cache where that can be had: a handle that
    /// learns of failed syncs by itself.
    pub fn open_direct(&self, id: FileId) -> Result<Arc<dyn File>> {
        let name = id.name();
        self.with_room(|| self.storage.open_direct(&name))
            .map_err(|e| Error::io(format!("open {name}"), &e))
    }

    /// Makes creations and removals in a folder durable, which takes a descriptor. If there is none, see [`is_lack`],
    /// nothing has been tried.
    pub fn sync_folder(&self, folder: &str) -> std::io::Result<()> {
        self.with_room(|| self.storage.sync_folder(folder))
    }

    /// Does what needs a descriptor, closing files if there is none left.
    fn with_room<R>(&self, f: impl Fn() -> std::io::Result<R>) -> std::io::Result<R> {
        loop {
            match f() {
                Err(e) if is_lack(&e) && self.close_some(2) => {}
                done => return done,
            }
        }
    }

    /// Notes that the file's handle is open, and closes others if there are too many.
    pub fn note(&self, file: &Arc<DataFile>) {
        if matches!(file.id, FileId::SHARED | FileId::UNDO | FileId::TEMP) {
            return;
        }
        let count = {
            let mut open = self.open.lock();
            open.push(Arc::downgrade(file));
            open.len()
        };
        if count > self.limit() {
            self.close_some(SHARE);
        }
    }

    /// Closes those unused longest, one in `share`, at least down to the limit. Whether any was closed.
    fn close_some(&self, share: usize) -> bool {
        let mut open = self.open.lock();
        let mut files: Vec<Arc<DataFile>> = open.iter().filter_map(Weak::upgrade).collect();
        let gone = open.len() - files.len();
        // Read once each: they are used while this sorts, and a sort whose keys change panics.
        files.sort_by_cached_key(|f| f.handle.used.load(Ordering::Relaxed));
        let keep = files.len() - files.len().div_ceil(share);
        let mut surplus = files.len() - keep.min(self.limit());
        let before = files.len();
        files.retain(|f| {
            let close = surplus > 0 && f.handle.try_close();
            surplus -= usize::from(close);
            !close
        });
        *open = files.iter().map(Arc::downgrade).collect();
        drop(open);
        // The last reference to a file, if it was ours, is dropped outside the mutex.
        gone > 0 || files.len() < before
    }
}

impl Handle {
    /// An open one.
    pub fn new(file: Arc<dyn File>) -> Handle {
        Handle {
            state: RwLock::new(State::Open(file)),
            used: AtomicU64::new(u64::MAX),
            deleted: AtomicBool::new(false),
        }
    }

    /// The file, opened again if need be.
    pub fn get(&self, file: &Arc<DataFile>, handles: &Handles) -> Result<Arc<dyn File>> {
        let now = handles.clock.fetch_add(1, Ordering::Relaxed);
        self.used.store(now, Ordering::Relaxed);
        if let State::Open(f) = &*self.state.read() {
            return Ok(f.clone());
        }
        let mut state = self.state.write();
        let opened = match &*state {
            State::Open(f) => return Ok(f.clone()),
            State::Deleted => {
                let e = std::io::Error::from(std::io::ErrorKind::NotFound);
                let name = &file.name;
                return Err(Error::io(format!("{name}, which was deleted"), &e));
            }
            State::Closed => handles.open(file.id, false)?,
        };
        *state = State::Open(opened.clone());
        drop(state);
        handles.note(file);
        Ok(opened)
    }

    /// Closes it unless somebody is at it just now.
    fn try_close(&self) -> bool {
        match self.state.try_write() {
            Some(mut state) if matches!(*state, State::Open(_)) => {
                *state = State::Closed;
                true
            }
            _ => false,
        }
    }

    /// Takes the handle away, if it is open: nobody gets it any more.
    pub fn delete(&self) -> Option<Arc<dyn File>> {
        self.deleted.store(true, Ordering::Release);
        match std::mem::replace(&mut *self.state.write(), State::Deleted) {
            State::Open(f) => Some(f),
            State::Closed | State::Deleted => None,
        }
    }

    /// Whether [`Handle::delete`] was called.
    pub fn is_deleted(&self) -> bool {
        self.deleted.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimStorage;

    /// What the files are ordered by, to close some, is changed by those that use them.
    #[test]
    fn closing_among_files_in_use() {
        let handles = Arc::new(Handles::new(Arc::new(SimStorage::new())));
        handles.set_limit(1000);
        let files: Vec<Arc<DataFile>> = (1000..1300)
            .map(|no| {
                let id = FileId(no);
                let handle = handles.open(id, true).unwrap();
                let file = DataFile::open(id, handle, &handles, true).unwrap();
                handles.note(&file);
                file
            })
            .collect();
        let done = AtomicBool::new(false);
        std::thread::scope(|s| {
            for step in [7, 11] {
                let (files, done) = (&files, &done);
                s.spawn(move || {
                    let mut at = 0;
                    while !done.load(Ordering::Relaxed) {
                        at = (at + step) % files.len();
                        files[at].handle().unwrap();
                    }
                });
            }
            // Orders them, and closes one.
            let order = s.spawn(|| (0..2000).for_each(|_| _ = handles.close_some(usize::MAX)));
            let ordered = order.join();
            done.store(true, Ordering::Relaxed);
            ordered.unwrap();
        });
    }
}
