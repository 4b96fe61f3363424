//! Redo log: one file of bounded size written as a ring, group commit, recovery scan.
//!
//! The log is a stream of *groups*, one per mini-transaction, each applied by recovery wholly or not
//! at all: `payload length u32, epoch u32, CRC-32C u32 of (start LSN, length, epoch, payload)`, payload. A
//! group left over from an earlier round of the ring fails its checksum, because its LSN differs. A group
//! written just before a crash but behind the point where recovery stopped keeps a valid checksum; it
//! is told from new ones by its epoch, which every opening raises (durably, before the first append)
//! and which never falls along the stream.
//!
//! A group whose length has its highest bit set says nothing: it fills up a sector.
//!
//! **Group commit.** See `rounds`.
//!
//! **Locks.** `rounds` (who writes), and `ring` (the buffer; the mutex that orders groups), which
//! is taken inside it for a moment to take the buffer, never the other way round. No lock is held during
//! I/O: a writer owns its slot of the file.
//!
//! **Failure.** The first failed write or sync stops the log for good: what the disk holds is unknown,
//! so nothing is retried and every later commit gets [`Error::Stopped`] with the cause.
//!
//! This module owns the log file and the log buffer; it never touches a page.

mod file;
pub mod op;
mod retain;
mod rounds;
pub(crate) mod stream;
pub mod varint;

use crate::error::{Error, Result};
use crate::io::{SECTOR, Storage};
use crate::page::Lsn;
use crate::wait::{self, Class};
use file::{Checkpoint, LogFile};
use parking_lot::{Condvar, Mutex};
use retain::Pins;
use rounds::{FILLER, Rounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

pub use file::{MAX_BODY, MIN_CAPACITY};
pub use retain::Retained;
pub use rounds::OnDurable;

/// LSN of the first byte ever logged; 0 means "never".
pub const FIRST_LSN: Lsn = 8192;

/// Bytes before a group's payload.
const GROUP_HEADER: usize = 12;
/// A buffer this full is worth writing out before anybody waits for it (see [`Log::relieve`]).
const RELIEVE_BYTES: usize = 4 << 20;

/// When a commit reaches the disk (`innodb_flush_log_at_trx_commit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FlushAtCommit {
    /// Written and synced about once a second in the background.
    EverySecond = 0,
    /// Written and synced at each commit (default).
    Sync = 1,
    /// Written at each commit, synced about once a second.
    Write = 2,
}

/// The redo log.
pub struct Log {
    file: LogFile,
    /// Groups are ordered by this mutex.
    ring: wait::Mutex<Ring, { Class::LogBuffer as usize }>,
    rounds: Mutex<Rounds>,
    /// The log's thread has work.
    wanted: Condvar,
    end: AtomicU64,
    written: AtomicU64,
    durable: AtomicU64,
    checkpoint: Mutex<Checkpoint>,
    pins: Arc<Pins>,
    /// Where groups of the present epoch begin.
    opened_at: AtomicU64,
    checkpoint_lsn: AtomicU64,
    flush_at_commit: AtomicU8,
    stopped: AtomicBool,
    stopped_why: Mutex<Option<Arc<str>>>,
    stats: LogStats,
}

/// Counters since opening.
#[derive(Debug, Default)]
pub struct LogStats {
    /// Groups appended.
    pub groups: AtomicU64,
    /// Writes to the file.
    pub writes: AtomicU64,
    /// Syncs of the file.
    pub syncs: AtomicU64,
    /// Commits that asked for durability.
    pub commits: AtomicU64,
}

struct Ring {
    /// Appended, not yet taken by a writer; starts at LSN `end - buf.len()`.
    buf: Vec<u8>,
    /// The other buffer, empty, when no writer has it.
    spare: Vec<u8>,
    end: Lsn,
    epoch: u32,
}

/// Called with start LSN, end LSN and payload of each group.
pub type GroupVisitor<'a> = &'a mut dyn FnMut(Lsn, Lsn, &[u8]) -> Result<()>;

/// What [`Log::open`] hands back before recovery.
#[derive(Debug)]
pub struct Recovery {
    /// Where redo starts.
    pub checkpoint: Lsn,
    /// The body stored with the checkpoint by [`Log::write_checkpoint`].
    pub body: Vec<u8>,
}

impl Log {
    /// Creates the log file with its first checkpoint (LSN [`FIRST_LSN`], empty body), synced.
    pub fn create(storage: &dyn Storage, capacity: u64, f: FlushAtCommit) -> Result<Log> {
        let capacity = capacity.next_multiple_of(SECTOR as u64);
        if capacity < MIN_CAPACITY {
            let what = format!("redo log capacity {capacity} is below {MIN_CAPACITY} bytes");
            return Err(Error::Invalid(what));
        }
        let first = Checkpoint {
            capacity,
            sequence: 0,
            lsn: FIRST_LSN,
            epoch: 1,
            floor: 1,
            body: Vec::new(),
        };
        let file = LogFile::create(storage, &first)?;
        Ok(Log::new(file, first, f))
    }

    /// Creates the log file of a database whose pages have all changes up to `lsn`; its groups' epochs will be above `epoch`.
    pub(crate) fn create_at(
        storage: &dyn Storage,
        capacity: u64,
        lsn: Lsn,
        epoch: u32,
    ) -> Result<()> {
        let first = Checkpoint {
            capacity,
            sequence: 0,
            lsn,
            epoch: epoch + 1,
            floor: epoch + 1,
            body: Vec::new(),
        };
        LogFile::create(storage, &first).map(drop)
    }

    /// The ring's length in bytes, as [`Log::create`] was told it.
    pub(crate) fn ring_bytes(&self) -> u64 {
        self.file.capacity
    }

    /// Whether the storage holds a log.
    pub fn exists(storage: &dyn Storage) -> bool {
        LogFile::exists(storage)
    }

    /// Whether something was ever logged, as far as can be seen. A log that cannot be opened was never finished.
    pub fn was_used(storage: &dyn Storage) -> Result<bool> {
        let Ok((log, found)) = Log::open(storage, FlushAtCommit::Sync) else {
            return Ok(false);
        };
        let first = found.checkpoint;
        Ok(first > FIRST_LSN || log.walk(first, &mut |_, _, _| Ok(()))? > first)
    }

    /// Opens an existing log: reads the newest valid checkpoint. Nothing may be appended before
    /// [`Log::scan`] has run to the end.
    pub fn open(storage: &dyn Storage, f: FlushAtCommit) -> Result<(Log, Recovery)> {
        let (file, c) = LogFile::open(storage)?;
        let recovery = Recovery {
            checkpoint: c.lsn,
            body: c.body.clone(),
        };
        Ok((Log::new(file, c, f), recovery))
    }

    fn new(file: LogFile, c: Checkpoint, f: FlushAtCommit) -> Log {
        let ring = Ring {
            buf: Vec::new(),
            spare: Vec::new(),
            end: c.lsn,
            epoch: c.epoch,
        };
        Log {
            file,
            ring: wait::Mutex::new(ring),
            rounds: Mutex::new(Rounds::new(FIRST_LSN, Vec::new())),
            wanted: Condvar::new(),
            end: AtomicU64::new(c.lsn),
            written: AtomicU64::new(c.lsn),
            durable: AtomicU64::new(c.lsn),
            checkpoint_lsn: AtomicU64::new(c.lsn),
            checkpoint: Mutex::new(c),
            pins: Arc::default(),
            opened_at: AtomicU64::new(FIRST_LSN),
            flush_at_commit: AtomicU8::new(f as u8),
            stopped: AtomicBool::new(false),
            stopped_why: Mutex::new(None),
            stats: LogStats::default(),
        }
    }

    /// Recovery: makes durable what can be read of the log. A process that was killed may have written some without a sync, and no
    /// page may become durable before the redo of its changes.
    pub fn settle(&self) -> Result<()> {
        self.file.sync(0)
    }

    /// Calls `visit(start, end, payload)` for each whole group from `from` (the checkpoint) on, in order. Changes nothing; where
    /// the log ends.
    pub fn walk(&self, from: Lsn, visit: GroupVisitor<'_>) -> Result<Lsn> {
        Ok(self.read_groups(from, visit)?.0)
    }

    /// The end of the log, and the epoch of the last group.
    fn read_groups(&self, from: Lsn, visit: GroupVisitor<'_>) -> Result<(Lsn, u32)> {
        // A checkpoint may have moved past where an earlier recovery stopped, to the very byte at which something
        // begins that a crash left behind there.
        let epoch = self.checkpoint.lock().floor;
        stream::walk(&self.file, from, self.file.capacity, epoch, visit)
    }

    /// Where, not far behind the log's end, whole groups of its last epoch begin again. A crash leaves such if a round
    /// was on the disk before the one ahead of it; so does damage, which nothing tells from that. `None`: there are none.
    pub fn resumes_after(&self, end: Lsn) -> Result<Option<Lsn>> {
        let (epoch, limit) = {
            let c = self.checkpoint.lock();
            (c.epoch, c.lsn + self.file.capacity)
        };
        // Rounds begin with a sector.
        let from = (end / SECTOR as u64 + 1) * SECTOR as u64;
        let window = (stream::STEP as u64).min(limit.saturating_sub(from));
        let mut bytes = vec![0; window as usize];
        self.file.read(&mut bytes, from)?;
        let begins = |at: &usize| {
            let group = whole_group(&bytes[*at..], from + *at as u64);
            group.is_some_and(|(_, e, _)| e == epoch)
        };
        let at = (0..bytes.len()).step_by(SECTOR).find(begins);
        Ok(at.map(|at| from + at as u64))
    }

    /// Recovery: as [`Log::walk`], then positions the log's end after the last and begins a new epoch.
    pub fn scan(&self, from: Lsn, visit: GroupVisitor<'_>) -> Result<()> {
        let (end, epoch) = self.read_groups(from, visit)?;
        let mut tail = vec![0; (end % SECTOR as u64) as usize];
        let sector = end - tail.len() as u64;
        self.file.read(&mut tail, sector)?;
        let mut c = self.checkpoint.lock();
        c.sequence += 1;
        c.epoch = c.epoch.max(epoch) + 1;
        self.file.write_checkpoint(&c)?;
        *self.rounds.lock() = Rounds::new(end, tail);
        self.opened_at.store(end, Ordering::Release);
        let mut ring = self.ring.lock();
        ring.end = end;
        ring.epoch = c.epoch;
        for position in [&self.end, &self.written, &self.durable] {
            position.store(end, Ordering::Release);
        }
        Ok(())
    }

    /// Appends one group to the log buffer. `ordered(start, end)` runs under the log mutex, so that what
    /// it does (entering pages into flush lists) happens in LSN order. Never does I/O. The caller
    /// has made sure that there is [`Log::room`].
    #[inline]
    pub fn append<R>(&self, payload: &[u8], ordered: impl FnOnce(Lsn, Lsn) -> R) -> (Lsn, R) {
        let len = payload.len() as u32;
        let body_crc = crc32c::crc32c(payload);
        let mut ring = self.ring.lock();
        let start = ring.end;
        let end = start + (GROUP_HEADER + payload.len()) as u64;
        assert!(
            end - self.checkpoint_lsn.load(Ordering::Acquire) <= self.capacity(),
            "redo log overrun: the group ending at LSN {end} would overwrite the checkpoint"
        );
        let head = group_head(start, len, ring.epoch, body_crc);
        ring.buf.extend_from_slice(&head);
        ring.buf.extend_from_slice(payload);
        ring.end = end;
        let r = ordered(start, end);
        self.end.store(end, Ordering::Release);
        drop(ring);
        self.stats.groups.fetch_add(1, Ordering::Relaxed);
        (end, r)
    }

    /// Bytes that may still be appended before the end would overrun the checkpoint.
    #[inline]
    pub fn room(&self) -> u64 {
        // The end is read last: it may only be too small, and by what others append meanwhile.
        let checkpoint = self.checkpoint_lsn.load(Ordering::Acquire);
        self.capacity()
            .saturating_sub(self.end.load(Ordering::Acquire) - checkpoint)
    }

    /// Capacity in bytes: the ring but for a sector, whose end a write may fill with zeroes.
    pub fn capacity(&self) -> u64 {
        self.file.capacity - SECTOR as u64
    }

    /// LSN of the last durable checkpoint.
    pub fn checkpoint_lsn(&self) -> Lsn {
        self.checkpoint_lsn.load(Ordering::Acquire)
    }

    /// Makes a checkpoint durable: redo before `lsn` is not needed any more (or before what is retained, see [`Log::retain`]). `body` (up to [`MAX_BODY`]
    /// bytes) comes back at recovery. The log is synced to `lsn` first.
    pub fn write_checkpoint(&self, lsn: Lsn, body: &[u8]) -> Result<()> {
        assert!(
            body.len() <= MAX_BODY,
            "checkpoint body of {} bytes",
            body.len()
        );
        self.sync_to(lsn)?;
        let mut c = self.checkpoint.lock();
        let lsn = self.limit_checkpoint(lsn);
        if lsn < c.lsn {
            return Ok(());
        }
        c.sequence += 1;
        c.lsn = lsn;
        if lsn >= self.opened_at.load(Ordering::Acquire) {
            c.floor = c.epoch;
        }
        c.body = body.to_vec();
        if let Err(e) = self.file.write_checkpoint(&c) {
            self.stop(&e.to_string());
            return Err(e);
        }
        self.checkpoint_lsn.store(lsn, Ordering::Release);
        Ok(())
    }

    /// Makes everything up to `lsn` durable: group commit (the first waiter writes and syncs for all). The caller may hold locks.
    pub fn sync_to(&self, lsn: Lsn) -> Result<()> {
        rounds::holding(|| self.flush_to(lsn, true))
    }

    /// The same for who holds no lock.
    pub fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        self.flush_to(lsn, true)
    }

    /// What a commit ending at `lsn` does, per the setting in force.
    pub fn commit_wait(&self, lsn: Lsn) -> Result<()> {
        self.stats.commits.fetch_add(1, Ordering::Relaxed);
        match self.flush_at_commit.load(Ordering::Relaxed) {
            0 => self.check(),
            1 => self.flush_to(lsn, true),
            _ => self.flush_to(lsn, false),
        }
    }

    /// What a commit ending at `lsn` does now if its wait for a sync is left to [`Log::when_durable`]: the LSN to
    /// give there, or 0 if there is nothing to wait for.
    pub fn commit_later(&self, lsn: Lsn) -> Result<Lsn> {
        if self.flush_at_commit.load(Ordering::Relaxed) != FlushAtCommit::Sync as u8 {
            return self.commit_wait(lsn).map(|()| 0);
        }
        self.stats.commits.fetch_add(1, Ordering::Relaxed);
        self.check()?;
        let done = self.durable.load(Ordering::Acquire) >= lsn;
        Ok(if done { 0 } else { lsn })
    }

    /// Writes the buffer out if it has grown large, so that a load without commits stays bounded. Called with no
    /// latch held.
    #[inline]
    pub fn relieve(&self) -> Result<()> {
        // Another thread may write between the two loads.
        let end = self.end.load(Ordering::Relaxed);
        if end.saturating_sub(self.written.load(Ordering::Relaxed)) < RELIEVE_BYTES as u64 {
            return Ok(());
        }
        rounds::holding(|| self.flush_to(self.end_lsn(), false))
    }

    /// Background duty, called about once a second: writes and syncs what settings 0 and 2 left over.
    pub fn tick(&self) -> Result<()> {
        self.flush_to(self.end_lsn(), true)
    }

    /// End of the last appended group.
    #[inline]
    pub fn end_lsn(&self) -> Lsn {
        self.end.load(Ordering::Acquire)
    }

    /// Everything below this is durable.
    #[inline]
    pub fn durable_lsn(&self) -> Lsn {
        self.durable.load(Ordering::Acquire)
    }

    /// Changes the commit setting at run time.
    pub fn set_flush_at_commit(&self, f: FlushAtCommit) {
        self.flush_at_commit.store(f as u8, Ordering::Relaxed);
    }

    /// Counters since opening.
    pub fn stats(&self) -> &LogStats {
        &self.stats
    }

    /// The first error that made the log (or, through [`Log::stop`], the engine) refuse further commits.
    pub fn stopped(&self) -> Option<Arc<str>> {
        if !self.stopped.load(Ordering::Acquire) {
            return None;
        }
        self.stopped_why.lock().clone()
    }

    /// Stops the engine: from now on every `sync_to` and `commit_wait` returns [`Error::Stopped`]. The first
    /// reason is kept.
    pub fn stop(&self, why: &str) {
        let mut first = self.stopped_why.lock();
        if first.is_none() {
            tracing::error!("the engine stops accepting writes: {why}");
            *first = Some(why.into());
        }
        drop(first);
        self.stopped.store(true, Ordering::Release);
    }

    #[inline]
    fn check(&self) -> Result<()> {
        match self.stopped() {
            None => Ok(()),
            Some(why) => Err(Error::Stopped(why)),
        }
    }
}

fn group_head(start: Lsn, len: u32, epoch: u32, payload_crc: u32) -> [u8; GROUP_HEADER] {
    let mut head = [0; GROUP_HEADER];
    head[..4].copy_from_slice(&len.to_le_bytes());
    head[4..8].copy_from_slice(&epoch.to_le_bytes());
    let crc = crc32c::crc32c_append(crc32c::crc32c(&start.to_le_bytes()), &head[..8]);
    let crc = crc32c::crc32c_append(crc, &payload_crc.to_le_bytes());
    head[8..].copy_from_slice(&crc.to_le_bytes());
    head
}

/// Length field, epoch and payload of the group that `bytes`, at LSN `start`, begin with, if all of it is there and valid.
fn whole_group(bytes: &[u8], start: Lsn) -> Option<(u32, u32, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<GROUP_HEADER>()?;
    let len = u32::from_le_bytes(head[..4].try_into().unwrap());
    let epoch = u32::from_le_bytes(head[4..8].try_into().unwrap());
    let payload = rest.get(..(len & !FILLER) as usize)?;
    let valid = len != 0 && *head == group_head(start, len, epoch, crc32c::crc32c(payload));
    valid.then_some((len, epoch, payload))
}

#[cfg(test)]
mod tests;
