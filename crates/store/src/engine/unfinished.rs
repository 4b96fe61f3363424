//! Transactions that a crash left unfinished: rolled back by a thread of its own while everything else is served.
//!
//! They are active under owners of their own, as if their connections still stood: readers pass their rows by, who wants to
//! change one waits. Those of DDL are not among them: the definitions must be in force before anybody uses them ([`super::open`]).
//!
//! **Metadata locks.** First the thread looks through all they have done and takes the locks of the tables in it. Until it has, DDL
//! waits (the lock above all names is held as readers hold it), statements do not.
//! **Turns.** They are undone by turns, some thousand records each, so that a small one does not wait for a large one. What is
//! lacking for the moment, room on the disk, say, is waited for; the others go on.
//! **Failure.** A table in which a record cannot be undone, a damaged page, say, is quarantined: refused by name, but it can be dropped
//! ([`crate::catalog::Catalog::quarantine`]). The transaction's records in other tables are undone all the same. It ends once the
//! quarantined tables are gone; until then it stays active, which costs little, and closing the engine leaves it for the next opening. One
//! whose records cannot be read is left as it is.

use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::table::payload::Undo;
use crate::txn::guard::guarded;
use crate::txn::{MdlLock, MdlMode, Owner, RollPtr, Txn, TxnSystem, Walk};
use parking_lot::{Condvar, Mutex};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Records undone in one turn.
const TURN: u32 = 4096;
/// How long the thread sleeps when no transaction could go on: at first and at most.
const NAP_FIRST: Duration = Duration::from_millis(10);
const NAP_LONGEST: Duration = Duration::from_secs(1);

/// The thread, if there is anything for it to do.
pub(super) struct Unfinished {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    stop: Mutex<bool>,
    wake: Condvar,
    /// Transactions that are not ended yet.
    left: AtomicU64,
}

impl Shared {
    fn stopping(&self) -> bool {
        *self.stop.lock()
    }
}

impl Unfinished {
    /// Takes the transactions on. They stay as they are if `roll_back` is not set.
    pub fn start(
        sys: &Arc<TxnSystem>,
        catalog: &Arc<Catalog>,
        transactions: Vec<Txn>,
        roll_back: bool,
    ) -> Result<Unfinished> {
        let shared = Arc::new(Shared::default());
        shared
            .left
            .store(transactions.len() as u64, Ordering::Relaxed);
        let unfinished = Unfinished {
            shared: shared.clone(),
            thread: Mutex::default(),
        };
        if !roll_back {
            for txn in transactions {
                tracing::warn!(id = txn.id(), "an unfinished transaction stays as it is");
                sys.leave_unfinished(txn);
            }
            return Ok(unfinished);
        }
        if transactions.is_empty() {
            return Ok(unfinished);
        }
        let gate = Gate::close(sys)?;
        let worker = Worker {
            shared,
            sys: sys.clone(),
            catalog: catalog.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("rollback".into())
            .spawn(move || worker.run(transactions, gate))
            .map_err(|e| Error::io("start the thread that rolls back", &e))?;
        *unfinished.thread.lock() = Some(thread);
        Ok(unfinished)
    }

    /// Transactions that are not ended yet.
    pub fn left(&self) -> u64 {
        self.shared.left.load(Ordering::Relaxed)
    }

    /// Ends the thread; what it has not undone is undone after the next opening.
    pub fn stop(&self) {
        *self.shared.stop.lock() = true;
        self.shared.wake.notify_all();
        let thread = self.thread.lock().take();
        if let Some(t) = thread
            && t.join().is_err()
        {
            tracing::error!("the thread that rolls back panicked");
        }
    }
}

/// Keeps DDL out until it is dropped.
struct Gate {
    sys: Arc<TxnSystem>,
    owner: Arc<Owner>,
    lock: Arc<MdlLock>,
}

impl Gate {
    fn close(sys: &Arc<TxnSystem>) -> Result<Gate> {
        let lock = sys.mdl().get(super::ddl::EVERYTHING);
        let owner = sys.owner();
        sys.mdl().lock(&owner, &lock, MdlMode::ReadOnly)?;
        let sys = sys.clone();
        Ok(Gate { sys, owner, lock })
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.sys.mdl().unlock(&self.owner, &self.lock);
    }
}

struct Work {
    txn: Txn,
    walk: Walk,
    /// Quarantined tables in which something is left to undo.
    blocked: HashSet<u64>,
    /// The walk is over, and something was left: it is worth another once a table of those has gone.
    over: bool,
}

/// What a turn came to.
enum Turn {
    Ended,
    Back(Box<Work>, Outcome),
}

enum Outcome {
    Progress,
    /// Nothing can be done for now.
    Waits,
    /// Nothing can be done any more.
    Lost,
}

struct Worker {
    shared: Arc<Shared>,
    sys: Arc<TxnSystem>,
    catalog: Arc<Catalog>,
}

impl Worker {
    fn run(&self, transactions: Vec<Txn>, gate: Gate) {
        let mut works: Vec<Box<Work>> = Vec::with_capacity(transactions.len());
        for txn in transactions {
            match guarded(|| self.lock_tables(&txn)) {
                Ok(()) => works.push(Box::new(Work {
                    walk: self.sys.walk(&txn),
                    txn,
                    blocked: HashSet::new(),
                    over: false,
                })),
                Err(e) => self.lose(txn, &e),
            }
        }
        drop(gate);
        let mut nap = NAP_FIRST;
        while !works.is_empty() && !self.shared.stopping() {
            let mut progress = false;
            let mut left = Vec::with_capacity(works.len());
            for work in works {
                match self.turn(work) {
                    Turn::Ended => progress = true,
                    Turn::Back(work, Outcome::Progress) => {
                        progress = true;
                        left.push(work);
                    }
                    Turn::Back(work, Outcome::Waits) => left.push(work),
                    Turn::Back(work, Outcome::Lost) => self.sys.leave_unfinished(work.txn),
                }
            }
            works = left;
            nap = if progress { NAP_FIRST } else { self.nap(nap) };
        }
        for work in works {
            self.sys.leave_unfinished(work.txn);
        }
    }

    /// Sleeps unless the engine is being closed; how long to sleep the next time.
    fn nap(&self, nap: Duration) -> Duration {
        let mut stop = self.shared.stop.lock();
        if !*stop {
            self.shared.wake.wait_for(&mut stop, nap);
        }
        (nap * 2).min(NAP_LONGEST)
    }

    fn lose(&self, txn: Txn, why: &Error) {
        let id = txn.id();
        tracing::error!("transaction {id} stays unfinished, and its rows locked: {why}");
        self.sys.leave_unfinished(txn);
    }

    /// Takes the metadata locks of the tables that the transaction has changed, of which nobody holds one that is in the way.
    fn lock_tables(&self, txn: &Txn) -> Result<()> {
        let mut tables = HashSet::new();
        let mut bad = None;
        self.sys.visit_undo(txn, &mut |_, payload| {
            match Undo::read(payload) {
                Ok((table, _)) => drop(tables.insert(table)),
                Err(e) => bad = Some(e),
            }
            if bad.is_some() || self.shared.stopping() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        if let Some(e) = bad {
            return Err(e);
        }
        for id in tables {
            if let Some(table) = self.catalog.by_id(id)?
                && let Some(lock) = &table.mdl
            {
                self.sys.mdl().lock(txn.owner(), lock, MdlMode::Shared)?;
            }
        }
        Ok(())
    }

    fn turn(&self, mut work: Box<Work>) -> Turn {
        if work.over {
            self.sys.release_rows(&work.txn);
            if !self.unblocked(&mut work) {
                return Turn::Back(work, Outcome::Waits);
            }
            work.walk = self.sys.walk(&work.txn);
            work.over = false;
        }
        let Work {
            txn, walk, blocked, ..
        } = &mut *work;
        let stepped = guarded(|| {
            self.sys.undo_some(txn, walk, TURN, &mut |at, payload| {
                if self.shared.stopping() {
                    return Err(Error::Interrupted);
                }
                self.undo(txn, at, payload, blocked)
            })
        });
        match stepped {
            Ok(false) => Turn::Back(work, Outcome::Progress),
            Ok(true) if work.walk.left => {
                work.over = true;
                Turn::Back(work, Outcome::Waits)
            }
            Ok(true) => self.end(work),
            Err(e) => {
                let outcome = self.failed(&work.txn, &e);
                Turn::Back(work, outcome)
            }
        }
    }

    /// Whether a quarantined table has gone in which something is left to undo, so that it is worth beginning anew.
    fn unblocked(&self, work: &mut Work) -> bool {
        let before = work.blocked.len();
        let gone = |id: &u64| matches!(self.catalog.by_id(*id), Ok(None));
        work.blocked.retain(|id| !gone(id));
        work.blocked.len() < before
    }

    fn end(&self, work: Box<Work>) -> Turn {
        let id = work.txn.id();
        match self.sys.end_undone(work.txn) {
            Ok(()) => {
                tracing::info!(id, "an unfinished transaction is rolled back");
                self.shared.left.fetch_sub(1, Ordering::Relaxed);
                Turn::Ended
            }
            Err(left) => {
                let (txn, e) = *left;
                let outcome = self.failed(&txn, &e);
                Turn::Back(Box::new(Work { txn, ..*work }), outcome)
            }
        }
    }

    fn failed(&self, txn: &Txn, why: &Error) -> Outcome {
        if why.is_passing() {
            self.catalog.ctx.pager.end_waits(txn.id(), why);
            return Outcome::Waits;
        }
        if !matches!(why, Error::Interrupted) {
            let id = txn.id();
            tracing::error!("transaction {id} stays unfinished, and its rows locked: {why}");
            return Outcome::Lost;
        }
        Outcome::Waits
    }

    /// Undoes one record; `false` if its table is quarantined.
    fn undo(
        &self,
        txn: &Txn,
        at: RollPtr,
        payload: &[u8],
        blocked: &mut HashSet<u64>,
    ) -> Result<bool> {
        let (id, undo) = Undo::read(payload)?;
        let Some(table) = self.catalog.by_id(id)? else {
            return Ok(true);
        };
        if table.core.quarantine.get().is_none() {
            let done = guarded(|| crate::pool::patiently(|| table.undo(txn.id(), at, &undo)));
            match done {
                Ok(()) => return Ok(true),
                Err(e) if e.is_passing() || matches!(e, Error::Stopped(_)) => return Err(e),
                Err(e) => self.catalog.quarantine(&table, &e),
            }
        }
        // It may be dropped.
        if let Some(lock) = &table.mdl {
            self.sys.mdl().unlock(txn.owner(), lock);
        }
        blocked.insert(id);
        Ok(false)
    }
}
