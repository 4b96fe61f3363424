//! The transaction system: begin, commit, rollback, recovery.
//!
//! Order of a commit: (1) the number goes into BEGIN, which decides it; (2) out of the active set, so new views see it; (3) the
//! lane goes back and purge learns of it; (4) row locks, then metadata locks are released; (5) the wait for the log, which
//! [`TxnSystem::commit_later`] leaves to whoever answers the client. Others may
//! therefore read, and build on, what is not durable yet; their own commits lie later in the log.
//!
//! Failure: (1) and rollbacks, to savepoints too, wait for what is lacking for the moment ([`Error::is_passing`]; room on the disk, say), for as long as
//! it takes: both may be done again from where they failed. If one fails for good (the log has stopped, a page is corrupt), the transaction's fate is
//! recovery's business, and the engine stops: what the transaction wrote is undecided, and once nobody can commit any more, nobody can build
//! on it. It stays in the active set, so that nobody sees its changes; its locks are released, its lane is not reused.
//! After a rollback to a savepoint that has failed for good, commit is refused: a version may be in force again whose record says
//! nothing of that yet, and purge would take away what it needs.
//!
//! Transactions that are prepared for either end: [`super::xa`].
//!
//! Lock order: see `docs/locking.md`.

use super::guard::guarded;
use super::owner::Registry;
use super::purge::Purge;
use super::undo::UndoState;
use super::undo::lanes::UndoFile;
use super::undo::page::Position;
use super::views::Views;
use super::{
    Isolation, LockSystem, MdlSystem, Owner, ReadView, Savepoint, TrxId, Txn, UndoHandler, xa,
};
use crate::error::{Error, Result};
use crate::page::Lsn;
use crate::pool::{Pager, patiently};
use crate::space::SpaceId;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// The pager's counter that transaction ids come from.
const ID_COUNTER: usize = 0;
/// Ids taken from the counter at a time: it cannot be asked under the active set's mutex.
const ID_BATCH: u64 = 256;
/// Pauses before a transaction's end is tried again: the first and the longest.
const RETRY_FIRST: Duration = Duration::from_millis(10);
const RETRY_LONGEST: Duration = Duration::from_secs(1);

/// The transaction system of an engine.
pub struct TxnSystem {
    pub(super) registry: Arc<Registry>,
    pub(super) views: Views,
    pub(super) undo: UndoFile,
    pub(super) purge: Purge,
    locks: Arc<LockSystem>,
    mdl: MdlSystem,
    recovered: Mutex<Vec<Txn>>,
    pub(super) prepared: Mutex<xa::Prepared>,
    /// Taken with nothing else held, across the counter's wait for the log.
    raising_ids: Mutex<()>,
}

impl TxnSystem {
    /// Opens over a recovered pager, making the undo directory if there is none. Unfinished transactions are
    /// active again; [`TxnSystem::take_recovered`] hands them out, but for those that are prepared.
    ///
    /// `force`: a lane that cannot be read is passed by. What of its last transaction is to be undone is not known then, and
    /// that transaction counts as finished, so nothing may be built on what can be read.
    pub fn open(pager: &Arc<Pager>, force: bool) -> Result<Arc<TxnSystem>> {
        // Every id used so far is below.
        let next = pager.counter(ID_COUNTER).peek();
        let (undo, lanes) = UndoFile::open(pager, next == 1)?;
        let mut found = Vec::with_capacity(lanes.len());
        for entry in &lanes {
            match undo.examine(entry) {
                Ok(lane) => found.push(lane),
                Err(e @ Error::Corrupt(_)) if force => {
                    tracing::error!("a lane of the undo file is passed by: {e}");
                }
                Err(Error::Corrupt(what)) => {
                    return Err(Error::Corrupt(format!(
                        "{what}; with innodb_force_recovery=1 the rest can be read"
                    )));
                }
                Err(e) => return Err(e),
            }
        }
        let locks = Arc::new(LockSystem::new());
        let sys = Arc::new(TxnSystem {
            registry: Arc::default(),
            views: Views::new(next, next),
            undo,
            purge: Purge::default(),
            mdl: MdlSystem::new(locks.clone()),
            locks,
            recovered: Mutex::default(),
            prepared: Mutex::default(),
            raising_ids: Mutex::default(),
        });
        for lane in found {
            let unfinished = lane.unfinished;
            let free = sys.purge.adopt(
                lane.lane,
                lane.first,
                lane.purging,
                lane.history,
                unfinished.is_none(),
            );
            if let (Some(lane), Some(unfinished)) = (free, unfinished) {
                let txn = sys.resurrect(lane, &unfinished);
                match unfinished.prepared {
                    Some((_, xid)) => drop(sys.prepared.lock().insert(xid, Some(txn))),
                    None => sys.recovered.lock().push(txn),
                }
            }
        }
        Ok(sys)
    }

    /// A new party.
    pub fn owner(self: &Arc<Self>) -> Arc<Owner> {
        self.registry.owner(Arc::downgrade(self))
    }

    /// Starts a transaction: no id, no view, no cost.
    #[inline]
    pub fn begin(&self, owner: &Arc<Owner>, isolation: Isolation) -> Txn {
        owner.note_isolation(isolation);
        Txn {
            owner: owner.clone(),
            isolation,
            id: owner.lent(),
            view: None,
            undo: UndoState::default(),
            unlogged: None,
            defines: false,
            guest: owner.lent() != 0,
            finished: false,
        }
    }

    /// Has a transaction read what is committed at each statement, and its own changes, whatever it has read before; returns how it
    /// read.
    pub(crate) fn read_anew(&self, txn: &mut Txn) -> Isolation {
        self.close_view(txn);
        std::mem::replace(&mut txn.isolation, Isolation::ReadCommitted)
    }

    /// Gives its isolation back to a transaction. It makes its view, if it needs one, when it reads next.
    pub(crate) fn read_as_before(&self, txn: &mut Txn, isolation: Isolation) {
        self.close_view(txn);
        txn.isolation = isolation;
    }

    /// Lets a transaction that writes nothing see what the unfinished one of this id has done.
    pub(crate) fn see(&self, txn: &mut Txn, trx: TrxId) {
        self.view(txn);
        if let Some(view) = &mut txn.view {
            view.own = trx;
        }
    }

    /// The view of the current statement, made now if need be; `None` at READ UNCOMMITTED.
    #[inline]
    pub fn view<'t>(&self, txn: &'t mut Txn) -> Option<&'t ReadView> {
        if txn.view.is_none() {
            if txn.isolation == Isolation::ReadUncommitted {
                return None;
            }
            let mut view = self.views.open(&txn.owner);
            view.own = txn.id;
            txn.view = Some(view);
        }
        txn.view.as_ref()
    }

    /// A new statement starts: READ COMMITTED gives its view back.
    #[inline]
    pub fn statement(&self, txn: &mut Txn) {
        if txn.isolation == Isolation::ReadCommitted {
            self.close_view(txn);
        }
    }

    #[inline]
    pub(super) fn close_view(&self, txn: &mut Txn) {
        if txn.view.take().is_some() {
            self.views.close(&txn.owner);
        }
    }

    /// Whether a transaction is unfinished. Cheap for old ids; may be called under latches.
    #[inline]
    pub fn is_active(&self, id: TrxId) -> bool {
        self.views.is_active(id)
    }

    /// Whether every view, open now or later, sees the transaction: once this holds it does for ever. May be called
    /// under latches.
    pub fn seen_by_all(&self, id: TrxId) -> bool {
        !self.is_active(id) && self.views.oldest(&self.registry).sees(id)
    }

    /// Makes the implicit lock of a row's writer explicit: if `trx` is unfinished, its owner gets an
    /// exclusive lock on the key, race-free with its end. Returns whether it is unfinished. May be
    /// called under latches. The caller then requests its own lock and waits.
    pub fn convert_implicit(&self, trx: TrxId, tree: SpaceId, key: &[u8]) -> bool {
        match self.views.owner_of(trx) {
            Some(owner) => self.locks.convert_implicit(&owner, trx, tree, key),
            None => false,
        }
    }

    /// Gives the transaction its id.
    #[inline]
    pub(super) fn ensure_id(&self, txn: &mut Txn) -> Result<()> {
        if txn.id != 0 {
            return Ok(());
        }
        let id = loop {
            match self.views.begin(&txn.owner) {
                Some(id) => break id,
                None => self.more_ids()?,
            }
        };
        txn.id = id;
        if let Some(view) = &mut txn.view {
            view.own = id;
        }
        let mut held = txn.owner.held.lock();
        debug_assert_eq!(
            held.trx, 0,
            "an owner has one writing transaction at a time"
        );
        held.trx = id;
        held.touch();
        Ok(())
    }

    #[cold]
    fn more_ids(&self) -> Result<()> {
        // One thread at a time, lest a later batch be put in force before an earlier one.
        let _raising = self.raising_ids.lock();
        if self.views.exhausted() {
            let first = self.undo.pager.counter(ID_COUNTER).fetch_add(ID_BATCH)?;
            self.views.give_ids(first, first + ID_BATCH);
        }
        Ok(())
    }

    /// Commits: number into BEGIN, out of the active set, locks released, then the wait for the log.
    pub fn commit(&self, txn: Txn) -> Result<()> {
        match self.commit_no_wait(txn)? {
            0 => Ok(()),
            lsn => self.undo.pager.log().commit_wait(lsn),
        }
    }

    /// Commits; the wait for the log, if there is to be one, is left to `Log::when_durable` with the LSN returned (0:
    /// there is nothing to wait for).
    pub fn commit_later(&self, txn: Txn) -> Result<Lsn> {
        match self.commit_no_wait(txn)? {
            0 => Ok(0),
            lsn => self.undo.pager.log().commit_later(lsn),
        }
    }

    /// Commits without the wait: the commit is durable once the log is, up to the LSN returned (0: nothing was
    /// written).
    pub fn commit_no_wait(&self, mut txn: Txn) -> Result<Lsn> {
        if txn.undo.stuck {
            let what =
                "a transaction that could not be rolled back to a savepoint cannot be committed";
            return Err(Error::Invalid(what.into()));
        }
        if txn.undo.begin == Position::NONE {
            self.finish(&mut txn, 0);
            return Ok(0);
        }
        let number = self.views.next_id();
        match self.persist(txn.id, || self.write_number(&txn.undo, number)) {
            Ok(lsn) => {
                self.finish(&mut txn, number);
                Ok(lsn)
            }
            Err(e) => {
                self.leave_to_recovery(&mut txn, &e);
                Err(e)
            }
        }
    }

    /// Rolls back wholly and releases all locks.
    pub fn rollback(&self, mut txn: Txn, handler: &dyn UndoHandler) -> Result<()> {
        txn.undo_unlogged(0);
        if txn.undo.begin == Position::NONE {
            self.finish(&mut txn, 0);
            return Ok(());
        }
        let begin = txn.undo.begin;
        let number = self.views.next_id();
        let done = self.persist(txn.id, || {
            // A panic must not drop the transaction, which would have it rolled back again and again.
            guarded(|| {
                self.undo_until(&mut txn, begin, handler)?;
                self.write_number(&txn.undo, number)
            })
        });
        match done {
            Ok(_) => {
                self.finish(&mut txn, number);
                Ok(())
            }
            Err(e) => {
                self.leave_to_recovery(&mut txn, &e);
                Err(e)
            }
        }
    }

    /// Rolls back what a crash left unfinished. If that fails it stays so; nobody has built on it, for nobody can.
    pub(crate) fn rollback_recovered(&self, mut txn: Txn, handler: &dyn UndoHandler) -> Result<()> {
        let begin = txn.undo.begin;
        let number = self.views.next_id();
        let done = self.persist(txn.id, || {
            guarded(|| {
                self.undo_until(&mut txn, begin, handler)?;
                self.write_number(&txn.undo, number)
            })
        });
        match done {
            Ok(_) => {
                self.finish(&mut txn, number);
                Ok(())
            }
            Err(e) => {
                self.leave_unfinished(txn);
                Err(e)
            }
        }
    }

    /// Ends a transaction all of whose changes have been undone by [`TxnSystem::undo_some`]; it comes back if that fails.
    pub(crate) fn end_undone(&self, mut txn: Txn) -> std::result::Result<(), Box<(Txn, Error)>> {
        let number = self.views.next_id();
        match patiently(|| self.write_number(&txn.undo, number)) {
            Ok(_) => {
                self.finish(&mut txn, number);
                Ok(())
            }
            Err(e) => Err(Box::new((txn, e))),
        }
    }

    /// Releases the row locks of a transaction whose changes are undone but for those in tables that nobody can use. Who waited for one
    /// had made it explicit.
    pub(crate) fn release_rows(&self, txn: &Txn) {
        self.locks.release_rows(&txn.owner);
    }

    /// Lets go of a transaction that a crash left unfinished: it stays so until the next opening.
    pub(crate) fn leave_unfinished(&self, mut txn: Txn) {
        self.close_view(&mut txn);
        txn.finished = true;
        self.mdl.release_all(&txn.owner);
    }

    /// Undoes everything after the savepoint; keeps locks. If that fails, the transaction can only be rolled back.
    pub fn rollback_to(
        &self,
        txn: &mut Txn,
        to: Savepoint,
        handler: &dyn UndoHandler,
    ) -> Result<()> {
        txn.undo_unlogged(to.unlogged);
        let until = match to.last {
            Position::NONE => txn.undo.begin,
            at => at,
        };
        let done = self.persist(txn.id, || self.undo_until(txn, until, handler));
        txn.undo.stuck |= done.is_err();
        done
    }

    /// Does what ends a transaction or a part of it, again and again while it fails for a lack that may pass, unless the engine is being closed: what
    /// is unfinished then is recovery's business anyway.
    pub(super) fn persist<R>(&self, id: TrxId, mut end: impl FnMut() -> Result<R>) -> Result<R> {
        let mut wait = RETRY_FIRST;
        loop {
            match patiently(&mut end) {
                Err(e) if e.is_passing() && self.may_wait() => {
                    self.undo.pager.end_waits(id, &e);
                    std::thread::sleep(wait);
                    wait = (wait * 2).min(RETRY_LONGEST);
                }
                done => return done,
            }
        }
    }

    fn may_wait(&self) -> bool {
        self.undo.pager.log().stopped().is_none() && !self.stopping()
    }

    /// Steps 2 to 4. `number` 0: nothing was written.
    fn finish(&self, txn: &mut Txn, number: u64) {
        txn.finished = true;
        self.close_view(txn);
        if txn.guest {
            return;
        }
        if txn.id != 0 {
            if number != 0 {
                self.purge.ending();
            }
            self.views.end(txn.id);
            if let Some(lane) = txn.undo.lane.take() {
                self.purge.give_lane(lane, number, txn.id);
            }
        }
        self.release_locks(txn);
    }

    fn leave_to_recovery(&self, txn: &mut Txn, why: &Error) {
        // Before anybody gets its locks.
        let what = format!("transaction {} could not be ended: {why}", txn.id);
        self.undo.pager.log().stop(&what);
        txn.undo_unlogged(0);
        txn.finished = true;
        self.close_view(txn);
        self.release_locks(txn);
    }

    #[inline]
    fn release_locks(&self, txn: &Txn) {
        self.locks.release_all(&txn.owner);
        self.mdl.release_all(&txn.owner);
    }

    /// A transaction is dropped unfinished, perhaps by a panic: what it wrote is undone by the purge threads.
    pub(super) fn abandon(&self, txn: &mut Txn) {
        // A panic ends the session, and its temporary tables with it.
        if !std::thread::panicking() {
            txn.undo_unlogged(0);
        }
        if txn.id == 0 || txn.guest {
            self.finish(txn, 0);
            return;
        }
        if txn.undo.prepared != Position::NONE {
            // It may be neither undone nor committed here.
            let what = "its end was cut short".to_string();
            return self.leave_to_recovery(txn, &Error::Invalid(what));
        }
        self.close_view(txn);
        txn.finished = true;
        let mut left = self.begin(&txn.owner, txn.isolation);
        left.id = txn.id;
        left.undo = std::mem::take(&mut txn.undo);
        self.purge.abandoned(left);
    }

    /// Row locks.
    pub fn locks(&self) -> &LockSystem {
        &self.locks
    }

    /// Metadata locks.
    pub fn mdl(&self) -> &MdlSystem {
        &self.mdl
    }

    /// Transactions that are open, but for those that a crash left unfinished, and prepared ones.
    pub fn open_transactions(&self) -> usize {
        let all = self.registry.all();
        let open = |o: &&Arc<Owner>| !o.is_apart() && o.held.lock().started.is_some();
        all.iter().filter(open).count()
    }

    /// Transactions that a crash left unfinished and that are not prepared, to be rolled back by the caller; each call after the first
    /// returns none.
    pub fn take_recovered(&self) -> Vec<Txn> {
        std::mem::take(&mut *self.recovered.lock())
    }

    /// The id the next writing transaction gets.
    pub fn next_id(&self) -> TrxId {
        self.views.next_id()
    }

    /// Text of the last deadlock, for SHOW ENGINE INNODB STATUS.
    pub fn last_deadlock(&self) -> Option<String> {
        self.locks.last_deadlock()
    }
}
