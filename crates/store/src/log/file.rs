//! The log file: header with two checkpoint blocks, then the ring.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 512 | checkpoint block A |
//! | 4096 | 512 | checkpoint block B |
//! | 8192 | capacity | the ring: LSN `l` is at `8192 + l % capacity` |
//!
//! The ring is written by whole sectors, through handles that bypass the operating system's cache where the file
//! system can; several writes may be under way at a time, each on a slot (a handle and a buffer) of its own.
//!
//! A checkpoint block: magic `MPREDO01`, capacity u64, sequence u64, checkpoint LSN u64, epoch u32, body
//! length u32, body, zeroes; in the last eight bytes the epoch that no group from the checkpoint LSN on is below (u32), and
//! the CRC-32C of all before it. The valid block with the higher sequence counts; writing alternates, so a torn write leaves the other.

use crate::error::{Error, Result};
use crate::io::{AlignedBuf, File, SECTOR, Storage};
use crate::page::{Lsn, get_u32, get_u64, put_u32, put_u64};
use parking_lot::Mutex;
use std::sync::Arc;

const NAME: &str = "redo";
const MAGIC: &[u8; 8] = b"MPREDO01";
const BLOCK: usize = 512;
const BLOCK_OFFSETS: [u64; 2] = [0, 4096];
const HEADER: u64 = 8192;
const BODY_AT: usize = 40;
/// Longest checkpoint body.
pub const MAX_BODY: usize = BLOCK - BODY_AT - 8;
/// Smallest ring.
pub const MIN_CAPACITY: u64 = 1 << 20;
/// Writes that may be under way at a time.
pub const SLOTS: usize = 2;
/// Bytes of a slot's buffer; longer writes are made in pieces.
const BUFFER: usize = 256 << 10;

/// What a checkpoint block says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub capacity: u64,
    pub sequence: u64,
    pub lsn: Lsn,
    /// That of groups appended now.
    pub epoch: u32,
    /// No group from `lsn` on has a lower one: what has is left over from before a crash.
    pub floor: u32,
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
        put_u32(&mut b, BLOCK - 8, self.floor);
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
            floor: get_u32(b, BLOCK - 8),
            body: b[BODY_AT..BODY_AT + len].to_vec(),
        })
    }
}

/// The open file.
pub struct LogFile {
    /// Checkpoints are written, and all is read, through this.
    file: Arc<dyn File>,
    slots: Vec<Slot>,
    pub capacity: u64,
}

/// What one write at a time goes through.
struct Slot {
    file: Arc<dyn File>,
    /// Made at the first write.
    buf: Mutex<Option<AlignedBuf>>,
}

impl Slot {
    fn open(storage: &dyn Storage) -> std::io::Result<Slot> {
        Ok(Slot {
            file: storage.open_direct(NAME)?,
            buf: Mutex::new(None),
        })
    }
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
            slots: slots(storage).map_err(io)?,
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
        if !newest.capacity.is_multiple_of(SECTOR as u64) {
            let what = format!(
                "file redo: capacity {} is not whole sectors",
                newest.capacity
            );
            return Err(Error::Corrupt(what));
        }
        let log = LogFile {
            slots: slots(storage).map_err(io)?,
            file,
            capacity: newest.capacity,
        };
        Ok((log, newest))
    }

    /// Writes and syncs a checkpoint block.
    pub fn write_checkpoint(&self, c: &Checkpoint) -> Result<()> {
        let offset = BLOCK_OFFSETS[(c.sequence % 2) as usize];
        let io = |e: std::io::Error| Error::io("writing a checkpoint to file redo", &e);
        self.file.write_at(&c.encode(), offset).map_err(io)?;
        self.file.sync().map_err(io)
    }

    /// Writes `bytes` of the stream, which start at `lsn`, on a slot that nobody else uses. `before` is what the first
    /// sector holds before them. The rest of the last sector becomes zeroes. Shorter than the ring.
    pub fn write(&self, slot: usize, before: &[u8], bytes: &[u8], lsn: Lsn) -> Result<()> {
        let mut lsn = lsn - before.len() as u64;
        debug_assert!(lsn.is_multiple_of(SECTOR as u64) && before.len() < SECTOR);
        debug_assert!(((before.len() + bytes.len()) as u64) < self.capacity);
        let slot = &self.slots[slot];
        let mut buf = slot.buf.lock();
        let buf = buf.get_or_insert_with(|| AlignedBuf::new(BUFFER));
        buf[..before.len()].copy_from_slice(before);
        let (mut filled, mut rest) = (before.len(), bytes);
        while filled > 0 || !rest.is_empty() {
            let at = lsn % self.capacity;
            let most = (BUFFER as u64).min(self.capacity - at) as usize;
            let n = rest.len().min(most - filled);
            buf[filled..filled + n].copy_from_slice(&rest[..n]);
            let whole = (filled + n).next_multiple_of(SECTOR);
            buf[filled + n..whole].fill(0);
            slot.file
                .write_at(&buf[..whole], HEADER + at)
                .map_err(|e| Error::io("writing file redo", &e))?;
            lsn += whole as u64;
            (filled, rest) = (0, &rest[n..]);
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

    /// Makes everything written durable, on any slot. Errors come to the slot that asks.
    pub fn sync(&self, slot: usize) -> Result<()> {
        self.slots[slot]
            .file
            .sync()
            .map_err(|e| Error::io("syncing file redo", &e))
    }
}

fn slots(storage: &dyn Storage) -> std::io::Result<Vec<Slot>> {
    (0..SLOTS).map(|_| Slot::open(storage)).collect()
}
