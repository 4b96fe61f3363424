//! The open data files by id.
//!
//! Lock order: `opening` (held across the I/O of opening one), then `open`. No caller holds a latch or
//! another mutex, but an allocation that creates its table's file.

use super::file::DataFile;
use super::handles::Handles;
use super::{FileId, MAP_PAGES};
use crate::error::{Error, Result};
use crate::io::{File, Storage};
use crate::page::PAGE_SIZE;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// All data files in use. Those of tables that nobody has used for some time are forgotten.
pub(crate) struct Files {
    handles: Arc<Handles>,
    open: RwLock<HashMap<FileId, Arc<DataFile>>>,
    /// At so many files those that nobody uses are forgotten.
    sweep_at: AtomicUsize,
    opening: Mutex<()>,
    relief: OnceLock<Relief>,
    /// The database is new: what a file of fixed length holds was not written by it.
    fresh: AtomicBool,
}

/// Files kept before any is forgotten.
const SWEEP_AT: usize = 4096;

/// Gives space back for the file, which cannot grow; `false`: there is none to be had.
pub(crate) type Relief = Box<dyn Fn(FileId) -> bool + Send + Sync>;

/// Has a file of fixed length hold no header and no allocation map, which then say that all is free.
fn blank(file: &dyn File) -> std::io::Result<()> {
    let pages = file.len()? / PAGE_SIZE as u64;
    let zeros = vec![0; 2 * PAGE_SIZE];
    // The header is beside the first map.
    for map in (0..pages).step_by(MAP_PAGES as usize) {
        let some = (pages - map).min(2) as usize;
        file.write_at(&zeros[..some * PAGE_SIZE], map * PAGE_SIZE as u64)?;
    }
    file.sync()
}

impl Files {
    pub fn new(storage: Arc<dyn Storage>) -> Files {
        Files {
            handles: Arc::new(Handles::new(storage)),
            open: RwLock::default(),
            sweep_at: AtomicUsize::new(SWEEP_AT),
            opening: Mutex::new(()),
            relief: OnceLock::new(),
            fresh: AtomicBool::new(false),
        }
    }

    /// Says that nothing was ever logged: the files that every database has are to be made.
    pub fn set_fresh(&self) {
        self.fresh.store(true, Ordering::Relaxed);
    }

    /// Installs what helps when the disk is full; once.
    pub fn set_relief(&self, relief: Relief) {
        let _ = self.relief.set(relief);
    }

    /// The disk is full: waits until some space was given back, if there is any. Hold no latch.
    pub fn relief(&self, file: FileId) -> bool {
        self.relief.get().is_some_and(|r| r(file))
    }

    pub fn storage(&self) -> &dyn Storage {
        self.handles.storage()
    }

    /// The handles of all of them.
    pub fn handles(&self) -> &Handles {
        &self.handles
    }

    /// The file, opened and its allocation maps read if need be.
    pub fn get(&self, id: FileId, create: bool) -> Result<Arc<DataFile>> {
        if let Some(f) = self.open.read().get(&id) {
            return Ok(f.clone());
        }
        let _opening = self.opening.lock();
        if let Some(f) = self.open.read().get(&id) {
            return Ok(f.clone());
        }
        let name = id.name();
        let exists = self.storage().exists(&name);
        if !exists && !create {
            let e = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(Error::io(format!("open {name}"), &e));
        }
        let handle = self.handles.open(id, create)?;
        if id == FileId::TEMP {
            // Whatever an earlier life left there is nobody's.
            handle
                .set_len(0)
                .map_err(|e| Error::io(format!("empty {name}"), &e))?;
        }
        if self.fresh.load(Ordering::Relaxed) && id == FileId::SHARED && handle.is_fixed() {
            blank(&*handle).map_err(|e| Error::io(format!("prepare {name}"), &e))?;
        }
        let file = DataFile::open(id, handle, &self.handles, !exists)?;
        self.handles.note(&file);
        let mut open = self.open.write();
        if open.len() >= self.sweep_at.load(Ordering::Relaxed) {
            // Who changes a file's bookkeeping, has it to be written or is writing it refers to the file.
            open.retain(|_, f| Arc::strong_count(f) > 1 || !f.is_settled());
            let next = (open.len() * 2).max(SWEEP_AT);
            self.sweep_at.store(next, Ordering::Relaxed);
        }
        open.insert(id, file.clone());
        Ok(file)
    }

    /// The file if it is open.
    pub fn open_already(&self, id: FileId) -> Option<Arc<DataFile>> {
        self.open.read().get(&id).cloned()
    }

    /// The open files of general tablespaces.
    pub fn general(&self) -> Vec<FileId> {
        let open = self.open.read();
        open.keys().filter(|id| id.is_general()).copied().collect()
    }

    /// Forgets a file that is being deleted.
    pub fn forget(&self, id: FileId) -> Option<Arc<DataFile>> {
        self.open.write().remove(&id)
    }
}
