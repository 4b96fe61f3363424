//! Redo log: one file of bounded size written as a ring, group commit, recovery scan.
//!
//! The log is a stream of *groups*, one per mini-transaction, each applied by recovery wholly or not
//! at all. See `docs/file-format.md` for the bytes. This module owns the log file and the log
//! buffer; it never touches a page.

pub mod op;
pub mod varint;

use crate::error::Result;
use crate::io::Storage;
use crate::page::Lsn;
use std::sync::Arc;

/// LSN of the first byte ever logged; 0 means "never".
pub const FIRST_LSN: Lsn = 8192;

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
pub struct Log {}

/// What [`Log::open`] hands back before recovery.
pub struct Recovery {
    /// Where redo starts.
    pub checkpoint: Lsn,
    /// The body stored with the checkpoint by [`Log::write_checkpoint`].
    pub body: Vec<u8>,
}

impl Log {
    /// Creates the log file with its first checkpoint (LSN [`FIRST_LSN`], empty body), synced.
    pub fn create(_storage: &dyn Storage, _capacity: u64, _f: FlushAtCommit) -> Result<Log> {
        todo!()
    }
    /// Opens an existing log: reads the newest valid checkpoint. Nothing may be appended before
    /// [`Log::scan`] has run to the end.
    pub fn open(_storage: &dyn Storage, _f: FlushAtCommit) -> Result<(Log, Recovery)> {
        todo!()
    }
    /// Recovery: calls `visit(start, end, payload)` for each whole group from the checkpoint on, in
    /// order, then positions the log's end after the last.
    pub fn scan(
        &self,
        _from: Lsn,
        _visit: &mut dyn FnMut(Lsn, Lsn, &[u8]) -> Result<()>,
    ) -> Result<()> {
        todo!()
    }
    /// Appends one group to the log buffer. `ordered(start, end)` runs under the log mutex, so that what
    /// it does (entering pages into flush lists) happens in LSN order. Never does I/O.
    pub fn append<R>(&self, _payload: &[u8], _ordered: impl FnOnce(Lsn, Lsn) -> R) -> (Lsn, R) {
        todo!()
    }
    /// Bytes that may still be appended before the end would overrun the checkpoint.
    pub fn room(&self) -> u64 {
        todo!()
    }
    /// Capacity in bytes.
    pub fn capacity(&self) -> u64 {
        todo!()
    }
    /// LSN of the last durable checkpoint.
    pub fn checkpoint_lsn(&self) -> Lsn {
        todo!()
    }
    /// Makes a checkpoint durable: redo before `lsn` is not needed any more. `body` (up to 400 bytes) comes
    /// back at recovery. The log is synced to `lsn` first.
    pub fn write_checkpoint(&self, _lsn: Lsn, _body: &[u8]) -> Result<()> {
        todo!()
    }
    /// Makes everything up to `lsn` durable: group commit (the first waiter writes and syncs for all).
    pub fn sync_to(&self, _lsn: Lsn) -> Result<()> {
        todo!()
    }
    /// What a commit ending at `lsn` does, per the setting in force.
    pub fn commit_wait(&self, _lsn: Lsn) -> Result<()> {
        todo!()
    }
    /// Background duty, called about once a second: writes and syncs what settings 0 and 2 left over.
    pub fn tick(&self) -> Result<()> {
        todo!()
    }
    /// End of the last appended group.
    pub fn end_lsn(&self) -> Lsn {
        todo!()
    }
    /// Everything below this is durable.
    pub fn durable_lsn(&self) -> Lsn {
        todo!()
    }
    /// Changes the commit setting at run time.
    pub fn set_flush_at_commit(&self, _f: FlushAtCommit) {
        todo!()
    }
    /// The first error that made the log (or, through [`Log::stop`], the engine) refuse further commits.
    pub fn stopped(&self) -> Option<Arc<str>> {
        todo!()
    }
    /// Stops the engine: from now on every `sync_to` and `commit_wait` returns `Error::Stopped`.
    pub fn stop(&self, _why: &str) {
        todo!()
    }
}
