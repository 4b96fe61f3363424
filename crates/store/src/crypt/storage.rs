//! A storage whose files another one holds encrypted.
//!
//! **Promises.** What the contract of [`crate::io`] says of the storage beneath is true of this one. Writes of whole sectors at multiples of their
//! size, which all are but those to sort files, backups and archives, are encrypted into a buffer of the storage's and go down in
//! pieces of at most [`PIECE`] bytes; reads are decrypted where they lie. Where a write has part of a sector, the rest of it is read and goes with
//! it. **Lengths** are whole sectors: a file's last one is filled up with zeros.
//! **Locks.** A write of parts of sectors excludes others of that kind through the same handle, and reads, until it is done: it rewrites what is beside
//! it. Whoever writes parts of sectors of one file does so through one handle.
//! **Not encrypted** is what a backup says of itself before a key is needed ([`in_the_clear`]). The header is not among the files.

use super::header::{self, Blocks, Header};
use super::keyring::{Keyring, MasterKey};
use super::xts::Xts;
use super::{KEY, derive, random};
use crate::error::{Error, Result};
use crate::io::{AlignedBuf, File, SECTOR, Storage};
use parking_lot::{Mutex, RwLock};
use std::io;
use std::ops::Deref;
use std::sync::Arc;

/// Bytes that go to the storage beneath with one call, at most.
const PIECE: usize = 1 << 20;
/// Buffers that are kept: more writes than that are seldom under way.
const SPARE: usize = 8;
const PURPOSE: &str = "millpond file";

/// Files of a backup that anybody may read: what it says of itself, and others' files, which are not encrypted where they come from either.
fn in_the_clear(name: &str) -> bool {
    name.ends_with(".manifest") || name.starts_with("files/")
}

/// Whether a file is removed when the database is opened.
fn is_temporary(name: &str) -> bool {
    name == "temp" || name.starts_with("tmp/")
}

/// Another storage, whose files are encrypted.
pub struct Encrypted<P> {
    storage: P,
    /// The data key.
    key: [u8; KEY],
    /// What the keys of temporary files follow from.
    passing: [u8; KEY],
    header: Mutex<Header>,
    /// What the blocks on the disk said.
    blocks: Blocks,
    buffers: Arc<Buffers>,
}

impl<P> Encrypted<P>
where
    P: Deref + Send + Sync,
    P::Target: Storage,
{
    /// A directory that is to be one, with a new data key; it is durable then. An error leaves it as it was.
    pub fn create(storage: P, keyring: &dyn Keyring) -> Result<Encrypted<P>> {
        let (header, key) = Header::new(&keyring.current()?)?;
        if let Err(e) = header.write(&*storage) {
            super::remove(&*storage);
            return Err(e);
        }
        Encrypted::with(storage, header, key, Blocks::Same)
    }

    /// A directory that is one; nothing is written.
    pub fn open(storage: P, keyring: &dyn Keyring) -> Result<Encrypted<P>> {
        let (header, key, blocks) = header::open(&*storage, keyring)?;
        Encrypted::with(storage, header, key, blocks)
    }

    fn with(storage: P, header: Header, key: [u8; KEY], blocks: Blocks) -> Result<Encrypted<P>> {
        Ok(Encrypted {
            storage,
            key,
            passing: random()?,
            header: Mutex::new(header),
            blocks,
            buffers: Arc::default(),
        })
    }

    /// Completes a rotation that was cut short. A block that can't be read is written anew, if that can be; the other one is enough.
    pub fn settle(self) -> Result<Encrypted<P>> {
        let written = match self.blocks {
            Blocks::Same => Ok(()),
            _ => self.header.lock().write(&*self.storage),
        };
        match written {
            Err(e) if self.blocks == Blocks::Unreadable => tracing::warn!("{e}"),
            written => written?,
        }
        Ok(self)
    }

    /// Wraps the data key by another master key, durably. An error leaves the directory to the one before or to this one.
    pub fn rewrap(&self, master: &MasterKey) -> Result<()> {
        let mut header = self.header.lock();
        let mut new = header.clone();
        new.wrap(master, &self.key)?;
        new.write(&*self.storage)?;
        *header = new;
        Ok(())
    }

    /// Id of the master key that the data key is wrapped by.
    pub fn master_id(&self) -> String {
        self.header.lock().master.clone()
    }

    /// Refuses a keyring that has not the master key in use: it was lost, or another lies in its place.
    pub fn check_keyring(&self, keyring: &dyn Keyring) -> Result<()> {
        // Running a command may take long, and whoever asks for the key's id would wait for it.
        let header = self.header.lock().clone();
        let opens = |k: &MasterKey| k.id == header.master && header.unwrap(k) == Some(self.key);
        match keyring.keys()?.iter().any(opens) {
            true => Ok(()),
            false => Err(Error::Invalid(format!(
                "{keyring} has no longer the key '{}', which the database is encrypted by",
                header.master
            ))),
        }
    }

    fn wrap(&self, name: &str, file: Arc<dyn File>) -> Arc<dyn File> {
        if in_the_clear(name) {
            return file;
        }
        let secret = match is_temporary(name) {
            true => &self.passing,
            false => &self.key,
        };
        Arc::new(EncryptedFile {
            file,
            xts: Xts::new(&derive(secret, PURPOSE, name.as_bytes())),
            parts: RwLock::new(()),
            buffers: self.buffers.clone(),
        })
    }
}

impl<P> Storage for Encrypted<P>
where
    P: Deref + Send + Sync,
    P::Target: Storage,
{
    fn open(&self, name: &str, create: bool) -> io::Result<Arc<dyn File>> {
        let file = self.storage.open(name, create)?;
        Ok(self.wrap(name, file))
    }
    fn open_direct(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let file = self.storage.open_direct(name)?;
        Ok(self.wrap(name, file))
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.storage.remove(name)
    }
    fn exists(&self, name: &str) -> bool {
        self.storage.exists(name)
    }
    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut names = self.storage.list(folder)?;
        names.retain(|n| !folder.is_empty() || n != header::NAME);
        Ok(names)
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

/// Buffers of [`PIECE`] bytes. The system gives a new one its memory as it is used.
#[derive(Default)]
struct Buffers(Mutex<Vec<AlignedBuf>>);

impl Buffers {
    fn with<R>(&self, work: impl FnOnce(&mut [u8]) -> R) -> R {
        let kept = self.0.lock().pop();
        let mut buffer = kept.unwrap_or_else(|| AlignedBuf::new(PIECE));
        let done = work(&mut buffer);
        let mut kept = self.0.lock();
        if kept.len() < SPARE {
            kept.push(buffer);
        }
        done
    }
}

struct EncryptedFile {
    file: Arc<dyn File>,
    xts: Xts,
    /// Held alone while parts of sectors are written.
    parts: RwLock<()>,
    buffers: Arc<Buffers>,
}

/// Whole sectors that a piece of an operation is about.
struct Piece {
    /// Where they begin.
    at: u64,
    /// Bytes of them before, in and all in all of the piece.
    skip: usize,
    len: usize,
    whole: usize,
}

/// The pieces of `len` bytes at `offset`.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = Piece> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let from = offset + done as u64;
        let skip = (from % SECTOR as u64) as usize;
        let piece = (len - done).min(PIECE - skip);
        done += piece;
        Some(Piece {
            at: from - skip as u64,
            skip,
            len: piece,
            whole: (skip + piece).next_multiple_of(SECTOR),
        })
    })
}

/// Whether these are whole sectors.
fn is_whole(offset: u64, len: usize) -> bool {
    offset.is_multiple_of(SECTOR as u64) && len.is_multiple_of(SECTOR)
}

impl EncryptedFile {
    /// Reads whole sectors. The caller sees to it that none is rewritten in part meanwhile.
    fn sectors(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buf, offset)?;
        self.xts.decrypt(buf, offset / SECTOR as u64);
        Ok(())
    }

    /// What a sector holds that is to be rewritten in part; zeros, where the file ends before it.
    fn rest(&self, sector: &mut [u8], offset: u64) -> io::Result<()> {
        match self.sectors(sector, offset) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                sector.fill(0);
                Ok(())
            }
            read => read,
        }
    }

    fn write(
        &self,
        buf: &[u8],
        offset: u64,
        down: impl Fn(&[u8], u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let _alone = (!is_whole(offset, buf.len())).then(|| self.parts.write());
        let mut left = buf;
        for p in pieces(offset, buf.len()) {
            let (bytes, more) = left.split_at(p.len);
            left = more;
            self.buffers.with(|buffer| {
                let end = p.skip + p.len;
                let last = p.whole - SECTOR;
                if p.skip > 0 {
                    self.rest(&mut buffer[..SECTOR], p.at)?;
                }
                if end < p.whole && (last > 0 || p.skip == 0) {
                    self.rest(&mut buffer[last..p.whole], p.at + last as u64)?;
                }
                buffer[p.skip..end].copy_from_slice(bytes);
                let sectors = &mut buffer[..p.whole];
                self.xts.encrypt(sectors, p.at / SECTOR as u64);
                down(sectors, p.at)
            })?;
        }
        Ok(())
    }
}

impl File for EncryptedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let _others = self.parts.read();
        if is_whole(offset, buf.len()) {
            return self.sectors(buf, offset);
        }
        let mut left = buf;
        for p in pieces(offset, left.len()) {
            let (bytes, more) = left.split_at_mut(p.len);
            left = more;
            self.buffers.with(|buffer| {
                let sectors = &mut buffer[..p.whole];
                self.sectors(sectors, p.at)?;
                bytes.copy_from_slice(&sectors[p.skip..p.skip + p.len]);
                Ok::<(), io::Error>(())
            })?;
        }
        Ok(())
    }
    fn will_read(&self, offset: u64, len: u64) {
        self.file.will_read(offset, len);
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.write(buf, offset, |b, at| self.file.write_at(b, at))
    }
    fn write_direct(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.write(buf, offset, |b, at| self.file.write_direct(b, at))
    }
    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
    fn len(&self) -> io::Result<u64> {
        // A process that was killed may have left less of the last one.
        let len = self.file.len()?;
        Ok(len - len % SECTOR as u64)
    }
    fn is_fixed(&self) -> bool {
        self.file.is_fixed()
    }
    /// The length is whole sectors: part of one could not be cut off it.
    fn set_len(&self, len: u64) -> io::Result<()> {
        match len.is_multiple_of(SECTOR as u64) {
            true => self.file.set_len(len),
            false => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}
