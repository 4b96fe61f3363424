//! Redo log: one file of bounded size written as a ring, group commit, recovery scan.
//!
//! The log is a stream of *groups*, one per mini-transaction, each applied by recovery wholly or not
//! at all. See `docs/file-format.md` for the bytes. This module owns the log file and the log
//! buffer; it never touches a page.

pub mod op;

use crate::error::Result;
use crate::page::Lsn;

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

impl Log {
    /// Makes everything up to `lsn` durable: group commit (the first waiter writes and syncs for all).
    pub fn sync_to(&self, _lsn: Lsn) -> Result<()> {
        todo!()
    }
    /// What a commit ending at `lsn` does, per the setting in force.
    pub fn commit_wait(&self, _lsn: Lsn) -> Result<()> {
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
}
