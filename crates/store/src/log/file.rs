//! The log file: header with two checkpoint blocks, then the ring.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 512 | checkpoint block A |
//! | 4096 | 512 | checkpoint block B |
//! | 8192 | capacity | the ring: LSN `l` is at `8192 + l % capacity` |
//!
//! A checkpoint block: magic `MPREDO01`, capacity u64, sequence u64, checkpoint LSN u64, epoch u32, body
//! length u32, body, zeroes, CRC-32C of all before it in the last four bytes. The valid block with the
//! higher sequence counts; writing alternates, so a torn write leaves the other.

use crate::error::{Error, Result};
use crate::io::{File, Storage};
use crate::page::{Lsn, get_u32, get_u64, put_u32, put_u64};
use std::sync::Arc;

const NAME: &str = "redo";
const MAGIC: &[u8; 8] = b"MPREDO01";
const BLOCK: usize = 512;
const BLOCK_OFFSETS: [u64; 2] = [0, 4096];
const HEADER: u64 = 8192;
const BODY_AT: usize = 40;
/// Longest checkpoint body.
pub const MAX_BODY: usize = BLOCK - BODY_AT - 4;
/// Smallest ring.
pub const MIN_CAPACITY: u64 = 1 << 20;

/// What a checkpoint block says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub capacity: u64,
    pub sequence: u64,
    pub lsn: Lsn,
    pub epoch: u32,
    pub body: Vec<u8>,
}

impl Checkpoint {
    fn encode(&self) -> [u8; BLOCK] {
        let mut b = [0; BLOCK];
        b[..8].copy_from_slice(MAGIC);
        put_u64(&mut b, 8, self.capacity);
        put_u64(&mut b, 16, self.sequence);
        put_u64(&mut b, 24, self.lsn);
        put_u32(&mut b, 32, self.epoch);
        put_u32(&mut b, 36, self.body.len() as u32);
        b[BODY_AT..BODY_AT + self.body.len()].copy_from_slice(&self.body);
        let crc = crc32c::crc32c(&b[..BLOCK - 4]);
        put_u32(&mut b, BLOCK - 4, crc);
        b
    }

    fn decode(b: &[u8; BLOCK]) -> Option<Checkpoint> {
        let len = get_u32(b, 36) as usize;
        let whole = &b[..8] == MAGIC
            && get_u32(b, BLOCK - 4) == crc32c::crc32c(&b[..BLOCK - 4])
            && len <= MAX_BODY;
        whole.then(|| Checkpoint {
            capacity: get_u64(b, 8),
            sequence: get_u64(b, 16),
            lsn: get_u64(b, 24),
            epoch: get_u32(b, 32),
            body: b[BODY_AT..BODY_AT + len].to_vec(),
        })
    }
}

/// The open file.
pub struct LogFile {
    file: Arc<dyn File>,
    pub capacity: u64,
}

impl LogFile {
    /// Creates the file, fully written (a sync of it then never has to allocate) and durable.
    pub fn create(storage: &dyn Storage, first: &Checkpoint) -> Result<LogFile> {
        let io = |e: std::io::Error| Error::io("creating file redo", &e);
        let file = storage.open(NAME, true).map_err(io)?;
        let zeroes = vec![0; 1 << 20];
        let mut at = 0;
        let end = HEADER + first.capacity;
        while at < end {
            let n = zeroes.len().min((end - at) as usize);
            file.write_at(&zeroes[..n], at).map_err(io)?;
            at += n as u64;
        }
        file.sync().map_err(io)?;
        let log = LogFile {
            file,
            capacity: first.capacity,
        };
        log.write_checkpoint(first)?;
        storage.sync_folder("").map_err(io)?;
        Ok(log)
    }

    /// Whether there is a log file.
    pub fn exists(storage: &dyn Storage) -> bool {
        storage.exists(NAME)
    }

    /// Opens the file and reads its newest checkpoint.
    pub fn open(storage: &dyn Storage) -> Result<(LogFile, Checkpoint)> {
        let io = |e: std::io::Error| Error::io("opening file redo", &e);
        let file = storage.open(NAME, false).map_err(io)?;
        let mut newest: Option<Checkpoint> = None;
        for offset in BLOCK_OFFSETS {
            let mut b = [0; BLOCK];
            file.read_at(&mut b, offset).map_err(io)?;
            if let Some(c) = Checkpoint::decode(&b)
                && newest.as_ref().is_none_or(|n| c.sequence > n.sequence)
            {
                newest = Some(c);
            }
        }
        let newest = newest.ok_or_else(|| {
            Error::Corrupt("file redo: neither checkpoint block (offsets 0, 4096) is valid".into())
        })?;
        let need = HEADER + newest.capacity;
        let len = file.len().map_err(io)?;
        if len < need || newest.capacity < MIN_CAPACITY {
            let what = format!("file redo: {len} bytes long, its header needs {need}");
            return Err(Error::Corrupt(what));
        }
        Ok((
            LogFile {
                file,
                capacity: newest.capacity,
            },
            newest,
        ))
    }

    /// Writes and syncs a checkpoint block.
    pub fn write_checkpoint(&self, c: &Checkpoint) -> Result<()> {
        let offset = BLOCK_OFFSETS[(c.sequence % 2) as usize];
        let io = |e: std::io::Error| Error::io("writing a checkpoint to file redo", &e);
        self.file.write_at(&c.encode(), offset).map_err(io)?;
        self.file.sync().map_err(io)
    }

    /// Writes bytes of the stream at `lsn`, wrapping. `bytes` is shorter than the ring.
    pub fn write(&self, bytes: &[u8], lsn: Lsn) -> Result<()> {
        debug_assert!(bytes.len() as u64 <= self.capacity);
        let at = lsn % self.capacity;
        let first = bytes.len().min((self.capacity - at) as usize);
        let io = |e: std::io::Error| Error::io("writing file redo", &e);
        self.file
            .write_at(&bytes[..first], HEADER + at)
            .map_err(io)?;
        if first < bytes.len() {
            self.file.write_at(&bytes[first..], HEADER).map_err(io)?;
        }
        Ok(())
    }

    /// Reads bytes of the stream at `lsn`, wrapping.
    pub fn read(&self, bytes: &mut [u8], lsn: Lsn) -> Result<()> {
        let at = lsn % self.capacity;
        let first = bytes.len().min((self.capacity - at) as usize);
        let io = |e: std::io::Error| Error::io("reading file redo", &e);
        let (a, b) = bytes.split_at_mut(first);
        self.file.read_at(a, HEADER + at).map_err(io)?;
        if !b.is_empty() {
            self.file.read_at(b, HEADER).map_err(io)?;
        }
        Ok(())
    }

    /// Makes everything written durable.
    pub fn sync(&self) -> Result<()> {
        self.file
            .sync()
            .map_err(|e| Error::io("syncing file redo", &e))
    }
}
