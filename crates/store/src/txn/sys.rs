//! The transaction system: ids, the active set, read views, commit.

use super::{
    Isolation, LockSystem, MdlSystem, Owner, ReadView, RollPtr, Savepoint, TrxId, Txn, UndoHandler,
    UndoRoom,
};
use crate::error::Result;
use crate::pool::Pager;
use crate::space::SpaceId;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A transaction in a listing.
#[derive(Clone, Debug)]
pub struct TxnInfo {
    /// The owner's tag ([`Owner::set_tag`]).
    pub tag: u64,
    /// Id; 0 before the first write.
    pub id: TrxId,
    /// When it first wrote or locked.
    pub started: std::time::SystemTime,
    /// Undo records.
    pub rows_changed: u64,
    /// Row locks.
    pub locks: u64,
    /// What it waits for.
    pub waiting: Option<String>,
}

/// The transaction system of an engine.
pub struct TxnSystem {}

impl TxnSystem {
    /// Opens over a recovered pager, making the undo directory if there is none. Unfinished transactions are
    /// active again; [`TxnSystem::take_recovered`] hands them out.
    pub fn open(_pager: &Arc<Pager>) -> Result<Arc<TxnSystem>> {
        todo!()
    }
    /// A new party.
    pub fn owner(self: &Arc<Self>) -> Arc<Owner> {
        todo!()
    }
    /// Starts a transaction: no id, no view, no cost.
    pub fn begin(&self, _owner: &Arc<Owner>, _isolation: Isolation) -> Txn {
        todo!()
    }
    /// The view of the current statement, made now if need be; `None` at READ UNCOMMITTED.
    pub fn view<'t>(&self, _txn: &'t mut Txn) -> Option<&'t ReadView> {
        todo!()
    }
    /// A new statement starts: READ COMMITTED gives its view back.
    pub fn statement(&self, _txn: &mut Txn) {
        todo!()
    }
    /// Whether a transaction is unfinished. Cheap for old ids; may be called under latches.
    pub fn is_active(&self, _id: TrxId) -> bool {
        todo!()
    }
    /// Makes the implicit lock of a row's writer explicit: if `trx` is unfinished, its owner gets an
    /// exclusive lock on the key, race-free with its end. Returns whether it is unfinished. May be
    /// called under latches. The caller then requests its own lock and waits.
    pub fn convert_implicit(&self, _trx: TrxId, _tree: SpaceId, _key: &[u8]) -> bool {
        todo!()
    }
    /// Prepares the next append of one record of `bytes` payload (at most [`super::undo::MAX_PAYLOAD`]): assigns
    /// id and lane at the first write, allocates an undo page if the current one is full. Hold no latch.
    pub fn reserve<'t>(&'t self, _txn: &'t mut Txn, _bytes: usize) -> Result<UndoRoom<'t>> {
        todo!()
    }
    /// Copies the payload of an undo record out. Valid as long as some open view does not see the record's
    /// transaction, or for a transaction's own records. Hold no latch.
    pub fn read_undo(&self, _at: RollPtr, _out: &mut Vec<u8>) -> Result<()> {
        todo!()
    }
    /// Commits: number into BEGIN, out of the active set, locks released, then the wait for the log.
    pub fn commit(&self, _txn: Txn) -> Result<()> {
        todo!()
    }
    /// Rolls back wholly and releases all locks.
    pub fn rollback(&self, _txn: Txn, _handler: &dyn UndoHandler) -> Result<()> {
        todo!()
    }
    /// Undoes everything after the savepoint; keeps locks.
    pub fn rollback_to(
        &self,
        _txn: &mut Txn,
        _to: Savepoint,
        _handler: &dyn UndoHandler,
    ) -> Result<()> {
        todo!()
    }
    /// Row locks.
    pub fn locks(&self) -> &LockSystem {
        todo!()
    }
    /// Metadata locks.
    pub fn mdl(&self) -> &MdlSystem {
        todo!()
    }
    /// Transactions that a crash left unfinished, to be rolled back by the caller; each call after the first
    /// returns none.
    pub fn take_recovered(&self) -> Vec<Txn> {
        todo!()
    }
    /// Visits a transaction's undo payloads, newest first.
    pub fn visit_undo(
        &self,
        _txn: &Txn,
        _f: &mut dyn FnMut(RollPtr, &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        todo!()
    }
    /// Starts `threads` purge threads.
    pub fn start_purge(self: &Arc<Self>, _handler: Arc<dyn UndoHandler>, _threads: usize) {
        todo!()
    }
    /// Stops and joins them.
    pub fn stop_purge(&self) {
        todo!()
    }
    /// Finished transactions not purged yet.
    pub fn history_length(&self) -> u64 {
        todo!()
    }
    /// Unfinished transactions that wrote or locked.
    pub fn transactions(&self) -> Vec<TxnInfo> {
        todo!()
    }
    /// Text of the last deadlock, for SHOW ENGINE INNODB STATUS.
    pub fn last_deadlock(&self) -> Option<String> {
        todo!()
    }
}
