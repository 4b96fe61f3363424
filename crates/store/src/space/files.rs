//! The open data files by id.
//!
//! Lock order: `opening` (held across the I/O of opening one), then `open`. No caller holds a latch or
//! another mutex, but an allocation that creates its table's file.

use super::FileId;
use super::file::DataFile;
use crate::error::{Error, Result};
use crate::io::Storage;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// All data files that were touched since the start.
pub(crate) struct Files {
    storage: Arc<dyn Storage>,
    open: RwLock<HashMap<FileId, Arc<DataFile>>>,
    opening: Mutex<()>,
    relief: OnceLock<Relief>,
}

/// Gives space back for a file that cannot grow; `false`: there is none to be had.
pub(crate) type Relief = Box<dyn Fn() -> bool + Send + Sync>;

impl Files {
    pub fn new(storage: Arc<dyn Storage>) -> Files {
        Files {
            storage,
            open: RwLock::default(),
            opening: Mutex::new(()),
            relief: OnceLock::new(),
        }
    }

    /// Installs what helps when the disk is full; once.
    pub fn set_relief(&self, relief: Relief) {
        let _ = self.relief.set(relief);
    }

    /// The disk is full: waits until some space was given back, if there is any. Hold no latch.
    pub fn relief(&self) -> bool {
        self.relief.get().is_some_and(|r| r())
    }

    pub fn storage(&self) -> &dyn Storage {
        &*self.storage
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
        let exists = self.storage.exists(&name);
        if !exists && !create {
            let e = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(Error::io(format!("open {name}"), &e));
        }
        let handle = self
            .storage
            .open(&name, create)
            .map_err(|e| Error::io(format!("open {name}"), &e))?;
        if id == FileId::TEMP {
            // Whatever an earlier life left there is nobody's.
            handle
                .set_len(0)
                .map_err(|e| Error::io(format!("empty {name}"), &e))?;
        }
        let file = Arc::new(DataFile::open(id, handle, !exists)?);
        self.open.write().insert(id, file.clone());
        Ok(file)
    }

    /// The file if it is open.
    pub fn open_already(&self, id: FileId) -> Option<Arc<DataFile>> {
        self.open.read().get(&id).cloned()
    }

    /// Forgets a file that is being deleted.
    pub fn forget(&self, id: FileId) -> Option<Arc<DataFile>> {
        self.open.write().remove(&id)
    }
}
