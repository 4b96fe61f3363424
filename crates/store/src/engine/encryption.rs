//! The keys of a database that is encrypted: opening with them, backups and archives with keys of their own, rotation of the master key.
//!
//! **Locks.** `archives` is held while the master key is rotated, so one rotation runs at a time; nothing else is taken within but the
//! headers' mutexes.

use super::{Engine, Options};
use crate::crypt::{self, Encrypted, Keyring};
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::log::Log;
use crate::space::FileId;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::{Arc, Weak};

type Directory = Encrypted<Arc<dyn Storage>>;

/// Of an encrypted database.
pub(super) struct Encryption {
    directory: Arc<Directory>,
    keyring: Arc<dyn Keyring>,
    /// Where its log is archived.
    archives: Mutex<Vec<Weak<Directory>>>,
}

impl Encryption {
    /// Of the database that the options ask for, in a directory that is locked; and the storage to use.
    pub fn open(
        storage: Arc<dyn Storage>,
        options: &Options,
    ) -> Result<(Arc<dyn Storage>, Option<Encryption>)> {
        let data = [FileId::SHARED, FileId::UNDO].map(FileId::name);
        let new = !Log::exists(&*storage) && !data.iter().any(|f| storage.exists(f));
        let keyring = options.keyring.as_ref();
        let found = crypt::of_database(storage.clone(), keyring.map(|k| &**k), new)?;
        let (Some(directory), Some(keyring)) = (found, keyring) else {
            return Ok((storage, None));
        };
        let directory = Arc::new(directory);
        let encryption = Encryption {
            directory: directory.clone(),
            keyring: keyring.clone(),
            archives: Mutex::default(),
        };
        Ok((directory, Some(encryption)))
    }

    /// A new directory for a backup.
    pub fn backup<'a>(&self, to: &'a dyn Storage) -> Result<Encrypted<&'a dyn Storage>> {
        self.directory.check_keyring(&*self.keyring)?;
        Encrypted::create(to, &*self.keyring)
    }

    /// A directory for archived log: one of the archive that is there, or a new one.
    pub fn archive(&self, to: Arc<dyn Storage>) -> Result<Arc<dyn Storage>> {
        self.directory.check_keyring(&*self.keyring)?;
        let files = to.list("");
        let files = files.map_err(|e| Error::io("list the archive", &e))?;
        let log = |name: &String| name.starts_with("log.");
        if files.iter().any(log) && !crypt::is_encrypted(&*to) {
            let what = "the archive is not encrypted, and the database is; it takes a directory of its own";
            return Err(Error::Invalid(what.into()));
        }
        let found = crypt::of_database(to, Some(&*self.keyring), !files.iter().any(log))?;
        let directory = Arc::new(found.expect("there is a keyring"));
        self.archives.lock().push(Arc::downgrade(&directory));
        Ok(directory)
    }

    fn rotate(&self) -> Result<()> {
        let mut archives = self.archives.lock();
        // A keyring without the old key is not the one that is to have the new one.
        self.directory.check_keyring(&*self.keyring)?;
        let new = self.keyring.rotate()?;
        if new.id == self.directory.master_id() {
            let what = format!("the last key of {} is the one in use", self.keyring);
            return Err(Error::Invalid(what));
        }
        self.directory.rewrap(&new)?;
        archives.retain(|a| a.strong_count() > 0);
        archives
            .iter()
            .filter_map(Weak::upgrade)
            .try_for_each(|archive| archive.rewrap(&new))
    }
}

impl Engine {
    /// Id of the master key that the data key is wrapped by; `None`: the database is not encrypted.
    pub fn master_key_id(&self) -> Option<String> {
        let encryption = self.0.encryption.as_ref();
        encryption.map(|e| e.directory.master_id())
    }

    /// Whether the master keys are in the file of this path, which has no links.
    pub fn has_keys_in(&self, file: &Path) -> bool {
        let encryption = self.0.encryption.as_ref();
        encryption.is_some_and(|e| e.keyring.is_in(file))
    }

    /// Has the keyring make another master key, and wraps the data keys of the database and of the archive being written by it; durable when this
    /// returns. No page is written. Whatever fails or is cut short leaves a directory that opens by what is in the keyring.
    pub fn rotate_master_key(&self) -> Result<()> {
        match &self.0.encryption {
            Some(encryption) => encryption.rotate(),
            None => Err(Error::Invalid("the database is not encrypted".into())),
        }
    }
}
