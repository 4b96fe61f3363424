//! The file `encryption` of an encrypted directory: its data key, wrapped by a master key. It is the one file that is not encrypted itself.
//!
//! Two blocks of a sector, at 0 and at 4096, which say the same:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | `MPCRYPT1` |
//! | 8 | 8 | sequence number |
//! | 16 | 16 | the directory's id, random |
//! | 32 | 40 | the data key, wrapped (RFC 3394) |
//! | 72 | 4 | length of the master key's id |
//! | 76 | | that id, UTF-8, then zeroes |
//! | 508 | 4 | CRC-32C of all before it |
//!
//! What wraps follows from the master key and the directory's id, so one directory's wrapped key is none of another's. The wrap has an integrity check: by a
//! wrong master key nothing comes of it.
//!
//! **Rotation** writes the second block, syncs, then the first, and syncs: at each point one of them is whole, and whichever is, its master key is in the
//! keyring, for the new one was there, durably, before. Of two whole ones the later counts if the keyring has its key, else the other: they
//! have the same data key. Both are written, so that the old master key opens nothing here any more.

use super::keyring::{Keyring, MasterKey};
use super::{KEY, derive, random};
use crate::error::{Error, Result};
use crate::io::{SECTOR, Storage};
use crate::page::{get_u32, get_u64, put_u32, put_u64};
use aes_kw::KekAes256;

/// The file's name.
pub(super) const NAME: &str = "encryption";
const MAGIC: &[u8; 8] = b"MPCRYPT1";
/// Where the blocks are, in the order in which they are written.
const OFFSETS: [u64; 2] = [4096, 0];
const WRAPPED: usize = KEY + 8;
const NAME_AT: usize = 76;
const CRC_AT: usize = SECTOR - 4;
/// Bytes of a master key's id, at most.
pub(super) const MOST_ID: usize = 255;
const PURPOSE: &str = "millpond master key";

/// What a block says.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Header {
    sequence: u64,
    directory: [u8; 16],
    wrapped: [u8; WRAPPED],
    /// Id of the master key that the data key is wrapped by.
    pub master: String,
}

fn kek(master: &MasterKey, directory: &[u8; 16]) -> KekAes256 {
    let all = derive(&master.key, PURPOSE, directory);
    let key: [u8; KEY] = all[..KEY].try_into().expect("as many");
    KekAes256::from(key)
}

fn io(what: &str) -> impl Fn(std::io::Error) -> Error {
    move |e| Error::io(format!("{what} file {NAME}"), &e)
}

impl Header {
    /// Of a new directory, and its data key.
    pub fn new(master: &MasterKey) -> Result<(Header, [u8; KEY])> {
        let key = random()?;
        let mut header = Header {
            sequence: 0,
            directory: random()?,
            wrapped: [0; WRAPPED],
            master: String::new(),
        };
        header.wrap(master, &key)?;
        Ok((header, key))
    }

    /// Wraps the data key by another master key.
    pub fn wrap(&mut self, master: &MasterKey, key: &[u8; KEY]) -> Result<()> {
        let wrong = |e| Error::Invalid(format!("the data key cannot be wrapped: {e:?}"));
        let kek = kek(master, &self.directory);
        kek.wrap(key, &mut self.wrapped).map_err(wrong)?;
        self.master.clone_from(&master.id);
        self.sequence += 1;
        Ok(())
    }

    /// The data key; `None`: it is not by this master key.
    pub fn unwrap(&self, master: &MasterKey) -> Option<[u8; KEY]> {
        let mut key = [0; KEY];
        let kek = kek(master, &self.directory);
        kek.unwrap(&self.wrapped, &mut key).ok()?;
        Some(key)
    }

    fn encode(&self) -> [u8; SECTOR] {
        let mut b = [0; SECTOR];
        b[..8].copy_from_slice(MAGIC);
        put_u64(&mut b, 8, self.sequence);
        b[16..32].copy_from_slice(&self.directory);
        b[32..32 + WRAPPED].copy_from_slice(&self.wrapped);
        put_u32(&mut b, 72, self.master.len() as u32);
        b[NAME_AT..NAME_AT + self.master.len()].copy_from_slice(self.master.as_bytes());
        let crc = crc32c::crc32c(&b[..CRC_AT]);
        put_u32(&mut b, CRC_AT, crc);
        b
    }

    fn decode(b: &[u8; SECTOR]) -> Option<Header> {
        let len = get_u32(b, 72) as usize;
        let whole = &b[..8] == MAGIC
            && get_u32(b, CRC_AT) == crc32c::crc32c(&b[..CRC_AT])
            && len <= MOST_ID;
        let name = whole.then(|| b[NAME_AT..NAME_AT + len].to_vec())?;
        Some(Header {
            sequence: get_u64(b, 8),
            directory: b[16..32].try_into().ok()?,
            wrapped: b[32..32 + WRAPPED].try_into().ok()?,
            master: String::from_utf8(name).ok()?,
        })
    }

    /// Writes both blocks, one after the other, each durably.
    pub fn write<S: Storage + ?Sized>(&self, storage: &S) -> Result<()> {
        let file = storage.open(NAME, true).map_err(io("open"))?;
        for offset in OFFSETS {
            file.write_at(&self.encode(), offset).map_err(io("write"))?;
            file.sync().map_err(io("sync"))?;
        }
        storage.sync_folder("").map_err(io("sync the folder of"))
    }
}

/// What the file's blocks say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocks {
    /// Both the same.
    Same,
    /// A rotation was cut short, or one of them is damaged.
    Differ,
    /// One of them cannot be read.
    Unreadable,
}

/// The blocks that are whole, the later first, and whether one could not be read. That is an error if there is none but that: there may be
/// a database whose key it has.
fn read<S: Storage + ?Sized>(storage: &S) -> Result<(Vec<Header>, bool)> {
    if !storage.exists(NAME) {
        return Ok((Vec::new(), false));
    }
    let file = storage.open(NAME, false).map_err(io("open"))?;
    let (mut found, mut failed) = (Vec::new(), None);
    for offset in OFFSETS {
        let mut b = [0; SECTOR];
        match file.read_at(&mut b, offset) {
            Ok(()) => found.extend(Header::decode(&b)),
            // A crash came while it was made.
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {}
            Err(e) => failed = Some(e),
        }
    }
    found.sort_by_key(|h| std::cmp::Reverse(h.sequence));
    match failed {
        Some(e) if found.is_empty() => Err(io("read")(e)),
        Some(e) => {
            tracing::warn!("read file {NAME}: {e}; its other block is whole");
            Ok((found, true))
        }
        None => Ok((found, false)),
    }
}

/// Whether the file is there and says something.
pub(super) fn is_whole<S: Storage + ?Sized>(storage: &S) -> Result<bool> {
    Ok(!read(storage)?.0.is_empty())
}

/// The header, its data key, and what the blocks say; nothing is written.
pub(super) fn open<S: Storage + ?Sized>(
    storage: &S,
    keyring: &dyn Keyring,
) -> Result<(Header, [u8; KEY], Blocks)> {
    let (found, unreadable) = read(storage)?;
    if found.is_empty() {
        let what = format!("file {NAME}: neither block (offsets 0, 4096) is valid");
        return Err(Error::Corrupt(what));
    }
    let keys = keyring.keys()?;
    let blocks = match found.len() == OFFSETS.len() && found[0] == found[1] {
        true => Blocks::Same,
        false if unreadable => Blocks::Unreadable,
        false => Blocks::Differ,
    };
    for header in &found {
        let known = keys.iter().filter(|k| k.id == header.master);
        if let Some(key) = known.filter_map(|k| header.unwrap(k)).next() {
            return Ok((header.clone(), key, blocks));
        }
    }
    let id = &found[0].master;
    let what = match keys.iter().any(|k| k.id == *id) {
        true => "is another one under that name: it does not open the directory",
        false => "is not there",
    };
    Err(Error::Invalid(format!(
        "the directory is encrypted by the master key '{id}', which in {keyring} {what}; nothing was changed"
    )))
}
