//! The event scheduler: runs the bodies of events when their time has come.
//!
//! | file | owns |
//! |---|---|
//! | `queue` | which event is due next |
//! | `thread` | the scheduler's thread: waiting, claiming runs |
//! | `worker` | one run |
//!
//! **The life of a run.** 1. The scheduler's thread finds an event due. 2. It *claims* the run: LAST_EXECUTED, and the end of an event that has run
//! for the last time, are written into the definition, durably, if that is still the one which was due. 3. A worker, a thread with a session of its own,
//! runs the body as the definer. 4. It drops the event if that was the last run and nothing says to keep it.
//!
//! **Promises.** A run is claimed before it begins, so none happens twice, and one that a crash cuts short is not made up for. What was due while nobody
//! was there to run it: an event that runs once runs late, of a recurring one the runs missed are left out. An event whose body is still
//! running when it is due again runs beside itself, as MySQL has it; GET_LOCK is the way to prevent that. What a body raises
//! goes to the error log.
//!
//! **Threads.** The thread runs while `event_scheduler` is ON; it holds the instance only while it claims a run, so that an instance of which nobody has a
//! handle any more goes away. Turning it off waits for the thread, not for workers; closing the instance interrupts workers and waits for
//! them. **Locks.** The state's mutex is taken before any of the catalog's, by who tells of a changed event and by the thread, never by
//! a statement that runs. **Never** decides what an event may do: its session does, by the definer's rights.
//!
//! **The clock** is the system's, looked at anew once a minute because it may be set; tests put one in its place that stands until they move it
//! ([`Instance::set_event_clock`]) and wait for what follows ([`Instance::wait_for_events`]).

mod queue;
mod thread;
mod worker;

use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

use millpond_sql::catalog::events::State as EventState;
use millpond_sql::catalog::programs::{ProgramDef, ProgramKind};
use millpond_sql::env::now_us;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::store_error::store_error;
use millpond_store::{Engine, Object, ObjectKey};

use crate::instance::Instance;
use crate::registry::Seat;
use crate::vars;
use queue::Queue;

/// The scheduler of an instance.
#[derive(Default)]
pub(crate) struct Scheduler(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Anything in it has changed.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The thread's, while there is one.
    seat: Option<Arc<Seat>>,
    /// The thread is to end.
    stop: bool,
    /// It is not to begin any more.
    closed: bool,
    /// What the thread goes by; empty while there is none.
    queue: Queue,
    /// The thread has found that nothing is due, and nothing has changed since.
    looked: bool,
    /// Runs under way.
    workers: usize,
    /// The second at which the clock stands; `None`: it is the system's.
    clock: Option<i64>,
}

impl State {
    fn now_us(&self) -> u64 {
        self.clock.map_or_else(now_us, |s| s as u64 * 1_000_000)
    }
    /// There is a thread, but not for long.
    fn is_ending(&self) -> bool {
        let seat = self.seat.as_ref();
        seat.is_some_and(|seat| self.stop || seat.killed())
    }
    fn now(&self) -> i64 {
        (self.now_us() / 1_000_000) as i64
    }
}

/// The definition and its bytes, if an object is an event.
fn event_of(object: Object) -> SqlResult<Option<(ProgramDef, Vec<u8>)>> {
    if object.key.kind != ProgramKind::Event as u8 {
        return Ok(None);
    }
    let def = ProgramDef::of(&object)?;
    Ok(Some((def, object.body)))
}

/// When an event that is enabled runs next; `None`: it is not enabled, or never runs again.
fn next_run(def: &ProgramDef, now: i64) -> SqlResult<Option<i64>> {
    match &def.event {
        Some(event) if event.state == EventState::Enabled => {
            Ok(event.next_run(vars::zone(&event.zone)?, now))
        }
        _ => Ok(None),
    }
}

impl Shared {
    /// Looks an event up and takes note of when it is due. The state is locked meanwhile, so what was committed last counts.
    fn refresh(&self, state: &mut State, engine: &Engine, key: &ObjectKey) -> SqlResult<()> {
        state.looked = false;
        state.queue.remove(key);
        self.changed.notify_all();
        let found = engine.object(key).map_err(|e| store_error(e, &key.name))?;
        let Some((def, body)) = found.map(event_of).transpose()?.flatten() else {
            return Ok(());
        };
        if let Some(due) = next_run(&def, state.now())? {
            state.queue.put(due, key.clone(), body);
        }
        Ok(())
    }

    /// Fills the queue. Events that have ended while nobody looked are due at once, to be put an end to.
    fn load(&self, state: &mut State, engine: &Engine) -> SqlResult<()> {
        let mut failed = Ok(());
        let now = state.now();
        let visited = engine.each_object(None, &mut |object| {
            let key = object.key.clone();
            // Accounts are objects, too.
            if key.database == millpond_sql::catalog::programs::ACCOUNTS {
                return Ok(());
            }
            let due = event_of(object).and_then(|found| {
                let Some((def, body)) = found else {
                    return Ok(None);
                };
                let enabled = |d: &ProgramDef| {
                    let event = d.event.as_ref();
                    event.is_some_and(|e| e.state == EventState::Enabled)
                };
                let due = next_run(&def, now)?.or_else(|| enabled(&def).then_some(0));
                Ok(due.map(|due| (due, body)))
            });
            match due {
                Ok(Some((due, body))) => state.queue.put(due, key, body),
                Ok(None) => {}
                Err(e) => failed = Err(e),
            }
            Ok(())
        });
        visited.map_err(|e| store_error(e, ""))?;
        failed
    }
}

impl Scheduler {
    /// Takes note of an event that has been made, changed or dropped, after that was committed.
    pub fn note(&self, engine: &Engine, key: &ObjectKey) {
        let mut state = self.0.state.lock();
        if state.seat.is_none() {
            return;
        }
        if let Err(e) = self.0.refresh(&mut state, engine, key) {
            tracing::error!(error = %e, event = %key.name, "Event Scheduler: cannot read an event");
        }
    }

    /// The same of all events of a database.
    pub fn note_database(&self, engine: &Engine, database: &str) {
        let keys: Vec<ObjectKey> = {
            let state = self.0.state.lock();
            state.queue.of_database(database)
        };
        for key in keys {
            self.note(engine, &key);
        }
    }

    /// Begins, unless it has.
    pub fn start(&self, instance: &Instance) -> SqlResult<()> {
        let mut state = self.0.state.lock();
        while state.is_ending() {
            self.0.changed.wait(&mut state);
        }
        if state.closed || state.seat.is_some() {
            return Ok(());
        }
        self.0.load(&mut state, instance.engine())?;
        let seat = thread::start(&self.0, instance)
            .map_err(|e| SqlError::new(1135, format!("Can't create a new thread: {e}")))?;
        tracing::info!(events = state.queue.len(), "Event Scheduler: started");
        (state.seat, state.stop, state.looked) = (Some(seat), false, false);
        Ok(())
    }

    /// Ends, when the thread has noticed. Runs under way go on.
    pub fn stop(&self) {
        let mut state = self.0.state.lock();
        let Some(seat) = state.seat.clone() else {
            return;
        };
        state.stop = true;
        self.0.changed.notify_all();
        // It may wait for a lock, even one of who stops it.
        seat.owner().kill();
        let same = |state: &State| state.seat.as_ref().is_some_and(|s| Arc::ptr_eq(s, &seat));
        while same(&state) {
            self.0.changed.wait(&mut state);
        }
    }

    /// Ends for good, and has runs under way end by `interrupt`, which is called until none is left.
    pub fn close(&self, interrupt: &dyn Fn()) {
        /// A run that began a moment ago may not be there yet to be interrupted.
        const AGAIN: std::time::Duration = std::time::Duration::from_millis(20);
        self.0.state.lock().closed = true;
        self.stop();
        let mut state = self.0.state.lock();
        while state.workers > 0 {
            MutexGuard::unlocked(&mut state, interrupt);
            if state.workers > 0 {
                self.0.changed.wait_for(&mut state, AGAIN);
            }
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        // Nobody waits for the thread here: it may be the one that drops the instance.
        self.0.state.lock().stop = true;
        self.0.changed.notify_all();
    }
}

impl Instance {
    /// Puts a clock that stands at this second of Unix time in the place of the event scheduler's; `None`: its own again. For tests: events then
    /// run when they say so.
    pub fn set_event_clock(&self, seconds: Option<u64>) {
        let shared = &self.0.scheduler.0;
        let mut state = shared.state.lock();
        state.clock = seconds.map(|s| s as i64);
        state.looked = false;
        shared.changed.notify_all();
    }

    /// Waits until no event is due by the scheduler's clock and none runs.
    pub fn wait_for_events(&self) {
        let shared = &self.0.scheduler.0;
        let mut state = shared.state.lock();
        while state.workers > 0 || state.seat.is_some() && !state.looked {
            shared.changed.wait(&mut state);
        }
    }
}
