//! Encryption at rest: a storage around a storage, whose files are AES-256-XTS by sector.
//!
//! | file | owns |
//! |---|---|
//! | `xts` | the cipher |
//! | `header` | the file `encryption` of a directory: its data key, wrapped by a master key |
//! | `keyring` | where master keys come from: a file, a command |
//! | `storage` | the storage and its files |
//!
//! **Invariants.** (1) A directory has one data key for life, random, of its own; backups and archives are directories too. (2) A file's two XTS keys follow from
//! the data key and its name; those of temporary files from a secret that lives in the process alone. (3) The unit is what a disk writes wholly or not
//! at all, [`SECTOR`](crate::io::SECTOR), and its place is the tweak: writes tear where they tear without encryption, and lengths stay. (4) A sector of
//! zeros on the disk is one of zeros: holes and preallocated room read as they do otherwise. (5) Without a keyring there is no such
//! layer.
//!
//! What it protects and what it doesn't is in `docs/encryption.md`.

mod header;
mod keyring;
mod storage;
#[cfg(test)]
mod tests;
mod xts;

pub use keyring::{CommandKeyring, FileKeyring, Keyring, MasterKey};
pub use storage::Encrypted;

use crate::error::{Error, Result};
use crate::io::Storage;
use std::io::Read;
use std::ops::Deref;
use std::sync::Arc;

/// Bytes of master keys, data keys and what temporary files' keys follow from.
pub const KEY: usize = 32;

/// So many bytes nobody can guess.
fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut f| f.read_exact(&mut bytes))
        .map_err(|e| Error::io("read /dev/urandom", &e))?;
    Ok(bytes)
}

/// 64 bytes that follow from a secret and what they are for: HKDF-Expand (RFC 5869) with SHA-512, of one block.
fn derive(secret: &[u8; KEY], purpose: &str, of: &[u8]) -> [u8; 64] {
    use hmac::{Hmac, Mac};
    let mut mac = Hmac::<sha2::Sha512>::new_from_slice(secret).expect("any length will do");
    mac.update(purpose.as_bytes());
    mac.update(&[0]);
    mac.update(of);
    mac.update(&[1]);
    mac.finalize().into_bytes().into()
}

/// Whether the directory's files are encrypted.
pub fn is_encrypted(storage: &dyn Storage) -> bool {
    storage.exists(header::NAME)
}

/// A directory as it is: decrypted by the keyring if it is encrypted.
pub fn as_it_is(
    storage: Arc<dyn Storage>,
    keyring: Option<&dyn Keyring>,
) -> Result<Arc<dyn Storage>> {
    match (is_encrypted(&*storage), keyring) {
        (false, _) => Ok(storage),
        (true, Some(keyring)) => Ok(Arc::new(Encrypted::open(storage, keyring)?)),
        (true, None) => Err(needs_key()),
    }
}

/// Makes a directory one that is not encrypted, as far as that goes: a backup that failed leaves nothing.
pub(crate) fn remove<S: Storage + ?Sized>(storage: &S) {
    if storage.exists(header::NAME) {
        let _ = storage.remove(header::NAME);
        let _ = storage.sync_folder("");
    }
}

/// The same of a directory in which there is nothing but what [`Encrypted::create`] made.
pub fn forsake(storage: &dyn Storage) {
    let empty = |folder| {
        storage
            .list(folder)
            .is_ok_and(|names| names.iter().all(|n| n == header::NAME))
    };
    if ["", "tables"].into_iter().all(empty) {
        remove(storage);
    }
}

fn needs_key() -> Error {
    Error::Invalid(
        "the directory is encrypted, and there is no keyring (--keyring-file, --keyring-command); nothing was changed".into(),
    )
}

/// The storage of a database in a directory that this process has locked: encrypted if there is a keyring. `new`: there is no database
/// yet, so that one without keys gets them.
pub(crate) fn of_database<P>(
    storage: P,
    keyring: Option<&dyn Keyring>,
    new: bool,
) -> Result<Option<Encrypted<P>>>
where
    P: Deref + Send + Sync,
    P::Target: Storage,
{
    let Some(keyring) = keyring else {
        return match storage.exists(header::NAME) {
            true => Err(needs_key()),
            false => Ok(None),
        };
    };
    if new && !header::is_whole(&*storage)? {
        return Encrypted::create(storage, keyring).map(Some);
    }
    if !storage.exists(header::NAME) {
        return Err(Error::Invalid(
            "there is a keyring, and the database is not encrypted: open it without, or make an encrypted copy by a backup and \
             `millpond restore` with the keyring; nothing was changed"
                .into(),
        ));
    }
    Encrypted::open(storage, keyring)?.settle().map(Some)
}
