//! The thread by which the tables of dropped databases follow them ([`super::drop_database`]).
//!
//! It takes the rows of such tables out of the catalog some at a time: a transaction removes them and digs graves, is durable, and buries
//! the spaces; the reclaimer does the rest. When a whole pass finds no more, the mark goes. Each step may be repeated, so a crash loses
//! nothing: the next opening begins anew.
//!
//! **Locks.** The metadata lock above all names, as DDL holds it; of rows only those that nobody has locked, for whoever makes a table in the
//! place of a dropped one removes its row. It waits for nobody.
//! **Pace.** A hundred thousand tables take half a second of a processor, which statements beside would miss: after each transaction the thread rests three
//! times as long as that took, so that it has a quarter of one. It doesn't while somebody needs space or waits for the tables to be gone.
//! **Failure.** What fails is tried again later; the mark stays.

use super::ddl::{Aftermath, EVERYTHING, lock_row_by};
use super::reclaim::Reclaimer;
use crate::catalog::{Catalog, Dropped, Handler, row};
use crate::error::{Error, Result};
use crate::txn::guard::guarded;
use crate::txn::{Isolation, MdlMode, Owner, Txn, WaitPolicy};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Tables removed by one transaction: at most, and one to begin with after a failure, for the disk may be full.
const BATCH: usize = 256;
/// After a failure the thread tries again this much later, and where somebody was in the way.
const RETRY: Duration = Duration::from_secs(5);
const RETRY_LOCKED: Duration = Duration::from_millis(50);

/// How long the thread rests after a transaction: as many times what that took, and no longer than this (it may have waited for the disk).
const REST: u32 = 3;
const LONGEST_REST: Duration = Duration::from_millis(50);

/// The thread.
pub(super) struct Dropper {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    /// Held while a transaction of the thread is open.
    step: Mutex<()>,
    /// Tables removed since opening.
    tables: AtomicU64,
}

#[derive(Default)]
struct State {
    /// There may be marks.
    work: bool,
    busy: bool,
    stop: bool,
    /// How many wait for tables to be gone.
    awaited: u32,
}

/// While this lives the thread does not rest.
pub(super) struct Awaited<'d>(&'d Shared);

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.0.state.lock().awaited -= 1;
    }
}

impl Dropper {
    /// Starts the thread, which first takes on what an earlier life left. Without `work` there is no thread, and marks stay.
    pub fn start(
        catalog: &Arc<Catalog>,
        handler: &Arc<Handler>,
        reclaimer: &Arc<Reclaimer>,
        work: bool,
    ) -> Result<Dropper> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                work,
                ..State::default()
            }),
            wake: Condvar::new(),
            step: Mutex::default(),
            tables: AtomicU64::new(0),
        });
        let dropper = Dropper {
            shared: shared.clone(),
            thread: Mutex::default(),
        };
        if !work {
            return Ok(dropper);
        }
        let owner = catalog.ctx.sys.owner();
        // Who keeps everything as it is may do so for long.
        owner.set_metadata_timeout(0);
        let worker = Worker {
            shared,
            owner,
            catalog: catalog.clone(),
            handler: handler.clone(),
            reclaimer: reclaimer.clone(),
            batch: Cell::new(BATCH),
        };
        let thread = std::thread::Builder::new()
            .name("dropper".into())
            .spawn(move || worker.run())
            .map_err(|e| Error::io("start the thread that drops tables", &e))?;
        *dropper.thread.lock() = Some(thread);
        Ok(dropper)
    }

    /// Tells that there is another mark.
    pub fn wake(&self) {
        self.shared.state.lock().work = true;
        self.shared.wake.notify_all();
    }

    /// Whether marks are worked on.
    pub fn works(&self) -> bool {
        self.thread.lock().is_some()
    }

    /// Whether there is something to do.
    pub fn is_active(&self) -> bool {
        let state = self.shared.state.lock();
        self.works() && (state.work || state.busy)
    }

    /// Keeps the thread from resting.
    pub fn awaited(&self) -> Awaited<'_> {
        self.shared.state.lock().awaited += 1;
        self.shared.wake.notify_all();
        Awaited(&self.shared)
    }

    /// Tables removed since opening.
    pub fn tables(&self) -> u64 {
        self.shared.tables.load(Ordering::Relaxed)
    }

    /// Keeps the thread from having a transaction open.
    pub fn pause(&self) -> MutexGuard<'_, ()> {
        self.shared.step.lock()
    }

    /// Ends the thread; what it has not done is done after the next opening.
    pub fn stop(&self) {
        self.shared.state.lock().stop = true;
        self.shared.wake.notify_all();
        let thread = self.thread.lock().take();
        if let Some(t) = thread
            && t.join().is_err()
        {
            tracing::error!("the thread that drops tables panicked");
        }
    }
}

struct Worker {
    shared: Arc<Shared>,
    owner: Arc<Owner>,
    catalog: Arc<Catalog>,
    handler: Arc<Handler>,
    reclaimer: Arc<Reclaimer>,
    /// Tables removed by the next transaction.
    batch: Cell<usize>,
}

impl Worker {
    fn run(&self) {
        let mut wait = Duration::ZERO;
        loop {
            {
                let mut state = self.shared.state.lock();
                if !wait.is_zero() && !state.stop {
                    self.shared.wake.wait_for(&mut state, wait);
                }
                while !state.work && !state.stop {
                    self.shared.wake.wait(&mut state);
                }
                if state.stop {
                    return;
                }
                (state.work, state.busy) = (false, true);
            }
            let done = guarded(|| self.drop_all());
            let mut state = self.shared.state.lock();
            state.busy = false;
            let Err(e) = done else {
                wait = Duration::ZERO;
                continue;
            };
            state.work = true;
            self.batch.set(1);
            if state.stop || self.catalog.ctx.pager.log().stopped().is_some() {
                return;
            }
            wait = match e {
                Error::LockWaitTimeout => RETRY_LOCKED,
                e => {
                    tracing::error!("tables of dropped databases are left for now: {e}");
                    RETRY
                }
            };
        }
    }

    fn drop_all(&self) -> Result<()> {
        loop {
            let marks = self.catalog.read(|txn| self.catalog.dropped(txn))?;
            if marks.is_empty() {
                return Ok(());
            }
            for mark in &marks {
                self.drop_tables(mark)?;
            }
        }
    }

    /// Removes the tables of a dropped database, then the mark.
    fn drop_tables(&self, mark: &Dropped) -> Result<()> {
        let catalog = &self.catalog;
        let mut after = None;
        // Found and removed in this pass.
        let (mut found, mut removed) = (0, 0);
        loop {
            if self.shared.state.lock().stop {
                return Err(Error::Interrupted);
            }
            let keys = catalog.read(|txn| {
                catalog.dropped_tables(txn, mark, after.as_deref(), self.batch.get())
            })?;
            if let Some(last) = keys.last() {
                let begun = Instant::now();
                let some = self.transaction(|txn, aftermath| {
                    let mut some = 0;
                    for key in &keys {
                        some += u64::from(self.remove(txn, mark, key, aftermath)?);
                    }
                    Ok(some)
                })?;
                self.shared.tables.fetch_add(some, Ordering::Relaxed);
                self.batch.set((2 * self.batch.get()).min(BATCH));
                (found, removed) = (found + keys.len(), removed + some);
                after = Some(last.clone());
                self.rest(begun.elapsed());
            } else if found == 0 {
                return self.transaction(|txn, _| catalog.unmark_dropped(txn, mark));
            } else if removed == 0 {
                // All that is left is locked.
                return Err(Error::LockWaitTimeout);
            } else {
                (after, found, removed) = (None, 0, 0);
            }
        }
    }

    /// Leaves the processor to others after a transaction that took so long.
    fn rest(&self, took: Duration) {
        let until = Instant::now() + (took * REST).min(LONGEST_REST);
        let mut state = self.shared.state.lock();
        while !state.stop && state.awaited == 0 && !self.reclaimer.shared().is_needed() {
            if self.shared.wake.wait_until(&mut state, until).timed_out() {
                return;
            }
        }
    }

    /// Removes a table's row unless somebody else has locked it, or removed it before; whether it did.
    fn remove(
        &self,
        txn: &mut Txn,
        mark: &Dropped,
        key: &[u8],
        aftermath: &mut Aftermath,
    ) -> Result<bool> {
        let catalog = &self.catalog;
        match lock_row_by(WaitPolicy::SkipLocked, &catalog.tables, txn, key)? {
            Some(bytes) if row::table_id(&bytes)? < mark.below => {
                aftermath.remove_dropped(catalog, txn, (key, &bytes))?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn transaction<R>(&self, f: impl FnOnce(&mut Txn, &mut Aftermath) -> Result<R>) -> Result<R> {
        let _step = self.shared.step.lock();
        let sys = &self.catalog.ctx.sys;
        let mut txn = sys.begin(&self.owner, Isolation::ReadCommitted);
        let mut aftermath = Aftermath::new(&self.reclaimer);
        let everything = sys.mdl().get(EVERYTHING);
        let done = sys
            .mdl()
            .lock(&self.owner, &everything, MdlMode::Write)
            .and_then(|()| f(&mut txn, &mut aftermath));
        match done {
            Ok(r) => aftermath.conclude(&self.catalog, txn).map(|()| r),
            Err(e) => {
                sys.rollback(txn, &*self.handler)?;
                Err(e)
            }
        }
    }
}
