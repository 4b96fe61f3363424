//! Transactions: ids, read views, undo, purge, row locks, metadata locks.
//!
//! | file | owns |
//! |---|---|
//! | `sys` | the transaction system: begin, commit, rollback, recovery |
//! | `views` | ids, the active set, read views, the horizon |
//! | `snapshot` | a transaction's view, for several threads |
//! | `undo` | undo lanes: append, read, walk back, walk forward |
//! | `unlogged` | what a transaction did to temporary tables |
//! | `purge` | what no view needs any more, oldest first |
//! | `locks` | row locks (point and key-range), waits, deadlock detection |
//! | `mdl` | metadata locks per table |
//! | `list` | listings of transactions, locks and waits |
//! | `guard` | panics of background work |
//! | `owner` | who waits: one per connection; kill and timeouts |
//! | `xa` | prepared transactions |
//!
//! The module knows rows only as bytes; what an undo record means is [`UndoHandler`]'s business
//! (`table/`).

pub(crate) mod guard;
pub mod list;
pub mod locks;
pub mod mdl;
pub mod owner;
pub mod progress;
pub mod purge;
mod snapshot;
pub mod sys;
#[cfg(test)]
mod tests;
pub mod undo;
pub(crate) mod unlogged;
mod views;
pub mod xa;

pub use list::{LockInfo, Locked, Party, TxnInfo, WaitInfo};
pub(crate) use locks::Stance;
pub use locks::{Lock, LockSystem, TryLock};
pub use mdl::{MdlLock, MdlMark, MdlMode, MdlSystem};
pub use owner::Owner;
pub use progress::{DdlStage, Progress, ProgressLook};
pub use snapshot::Snapshot;
pub use sys::TxnSystem;
pub use undo::UndoRoom;
pub(crate) use undo::Walk;
pub use xa::Xid;

use crate::error::Result;
use crate::pool::Pager;
use std::sync::Arc;
use undo::UndoState;
use undo::page::Position;
use unlogged::UnloggedUndo;

/// Isolation levels, with InnoDB's semantics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Reads the newest version, committed or not.
    ReadUncommitted,
    /// A read view per statement; record locks without gaps.
    ReadCommitted,
    /// A read view per transaction; next-key locks (default).
    RepeatableRead,
    /// As REPEATABLE READ; the SQL layer turns plain reads into `FOR SHARE`.
    Serializable,
}

/// Row lock strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// `FOR SHARE`.
    Shared,
    /// `FOR UPDATE` and writes.
    Exclusive,
}

/// What to do when a lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Wait up to the owner's timeout.
    Wait,
    /// Fail with `LockNotAvailable`.
    NoWait,
    /// Skip the row.
    SkipLocked,
}

/// Transaction id: assigned at the first write, ascending, never reused. 0 means "before all".
pub type TrxId = u64;

/// Address of an undo record: page number in the upper 32 bits of the low 48, offset in the low 16;
/// bit 63 set when the record is an insert (no older version).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RollPtr(pub u64);

/// What a consistent read sees.
#[derive(Clone, Debug)]
pub struct ReadView {
    /// Ids at or above are invisible.
    pub low_limit: TrxId,
    /// Ids below are visible.
    pub up_limit: TrxId,
    /// Active ids between, sorted.
    pub active: Arc<[TrxId]>,
    /// The viewer's own id (0: none yet).
    pub own: TrxId,
}

impl ReadView {
    /// Whether a version written by `id` is visible.
    #[inline]
    pub fn sees(&self, id: TrxId) -> bool {
        id == self.own
            || id < self.up_limit
            || (id < self.low_limit && self.active.binary_search(&id).is_err())
    }
}

/// A point to roll back to.
#[derive(Clone, Copy, Debug)]
pub struct Savepoint {
    /// Undo records of the transaction so far.
    pub undo_count: u64,
    /// The newest of them.
    last: Position,
    /// How far its changes to temporary tables had come.
    unlogged: u64,
}

/// A transaction of one owner. Cheap until its first write. An owner has at most one transaction at a time
/// that writes or locks. End it with [`TxnSystem::commit`] or [`TxnSystem::rollback`]; one that is dropped is rolled back by
/// the purge threads.
pub struct Txn {
    owner: Arc<Owner>,
    isolation: Isolation,
    id: TrxId,
    /// Open at the owner while it is here.
    view: Option<ReadView>,
    undo: UndoState,
    /// What it did to temporary tables. Dropped, it stays done.
    unlogged: Option<Box<UnloggedUndo>>,
    /// It changes definitions, for whoever began it to keep or to undo ([`crate::engine::Lent`]).
    defines: bool,
    /// It reads for an owner whose transaction is lent, sees what that one has done, and ends without a trace.
    guest: bool,
    /// Commit or rollback has taken over.
    finished: bool,
}

impl Txn {
    /// Its isolation level.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }
    /// The party it belongs to.
    pub fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
    /// Its id, 0 before the first write.
    pub fn id(&self) -> TrxId {
        self.id
    }
    /// Whether it changes definitions that stay its own until it ends.
    #[inline]
    pub fn defines(&self) -> bool {
        self.defines
    }
    /// Has it change definitions from now on.
    pub(crate) fn set_defines(&mut self) {
        self.defines = true;
    }
    /// Where a later rollback of this statement or SAVEPOINT returns to.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint {
            undo_count: self.undo.count,
            last: self.undo.last,
            unlogged: self.unlogged.as_ref().map_or(0, |u| u.position()),
        }
    }
    /// Its undo of temporary tables, for whoever is about to change one.
    pub(crate) fn unlogged(&mut self, pager: &Arc<Pager>) -> &mut UnloggedUndo {
        self.unlogged
            .get_or_insert_with(|| Box::new(UnloggedUndo::new(pager)))
    }
    /// Undoes its changes to temporary tables back to a position.
    pub(crate) fn undo_unlogged(&mut self, to: u64) {
        if let Some(unlogged) = &mut self.unlogged {
            unlogged.undo_to(to);
        }
    }
}

impl Drop for Txn {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        if let Some(sys) = self.owner.sys.upgrade() {
            sys.abandon(self);
        }
    }
}

/// Interprets undo records; implemented by `table/`.
pub trait UndoHandler: Send + Sync {
    /// Undoes one record of a transaction (rollback, newest first; no latch is held). Must be idempotent:
    /// it acts only where the row's trx id still is `trx` and its roll pointer still is `at`.
    fn undo(&self, trx: TrxId, at: RollPtr, payload: &[u8]) -> Result<()>;
    /// Removes what a finished transaction's record kept for older views (no latch is held; several threads
    /// may call at once). Every id that `oldest` sees is visible to every view, now and later; it sees `trx`.
    fn purge(&self, trx: TrxId, at: RollPtr, payload: &[u8], oldest: &ReadView) -> Result<()>;
    /// A transaction whose user went away has been undone.
    fn ended(&self, _trx: TrxId) {}
}
