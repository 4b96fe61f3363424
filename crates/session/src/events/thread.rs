//! The scheduler's thread.

use std::sync::{Arc, Weak};
use std::time::Duration;

use millpond_sql::catalog::events::{Event, Schedule, State as EventState};
use millpond_sql::catalog::programs::ProgramDef;
use millpond_sql::env::now_us;
use millpond_sql::error::SqlResult;
use millpond_sql::memory::MemoryAccount;
use millpond_sql::store_error::store_error;
use millpond_store::{Error, Owner};

use super::queue::Due;
use super::worker::{self, Run};
use super::{Shared, next_run};
use crate::instance::{Inner, Instance};
use crate::registry::{Awaits, KillHook, Seat};
use crate::vars;

/// The account that the process list shows.
const USER: &str = "event_scheduler";
/// How long the thread trusts the system's clock.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// Seconds until an event is tried again whose run could not be claimed.
const TRY_AGAIN: i64 = 60;

struct Thread {
    shared: Arc<Shared>,
    instance: Weak<Inner>,
    seat: Arc<Seat>,
}

/// Starts the thread; what others see of it.
pub(super) fn start(shared: &Arc<Shared>, instance: &Instance) -> std::io::Result<Arc<Seat>> {
    let inner = &instance.0;
    let owner = inner.engine.owner();
    let id = instance.reserve_id();
    owner.set_tag(u64::from(id));
    let killed = Arc::downgrade(shared);
    let hook = KillHook(Arc::new(move || {
        if let Some(shared) = killed.upgrade() {
            // The thread looks whether it is killed and waits under this lock.
            let _state = shared.state.lock();
            shared.changed.notify_all();
        }
    }));
    let (user, host) = (USER.to_string(), "localhost".to_string());
    let memory = MemoryAccount::new(&instance.0.memory);
    let seat = Seat::new(id, user, host, owner, memory, Some(hook), now_us());
    let seat = Arc::new(seat);
    seat.daemon(Awaits::Event, now_us());
    let thread = Thread {
        shared: shared.clone(),
        instance: Arc::downgrade(inner),
        seat: seat.clone(),
    };
    inner.registry.enter_daemon(seat.clone());
    let spawned = std::thread::Builder::new()
        .name(USER.into())
        .spawn(move || thread.run());
    if let Err(e) = spawned {
        inner.registry.leave(&seat);
        return Err(e);
    }
    Ok(seat)
}

impl Thread {
    fn run(self) {
        while let Some((due, now)) = self.wait() {
            let Some(inner) = self.instance.upgrade() else {
                break;
            };
            self.launch(&Instance(inner), due, now);
        }
        if let Some(inner) = self.instance.upgrade() {
            inner.registry.leave(&self.seat);
        }
        let mut state = self.shared.state.lock();
        (state.seat, state.stop) = (None, false);
        state.queue.clear();
        self.shared.changed.notify_all();
        tracing::info!("Event Scheduler: stopped");
    }

    /// Waits for an event to be due; the event and the second it is. `None`: the thread is to end.
    fn wait(&self) -> Option<(Due, i64)> {
        let mut state = self.shared.state.lock();
        loop {
            if state.stop || self.seat.killed() {
                return None;
            }
            let clock_us = state.now_us();
            let next = state.queue.next().map(|due| due.max(0) as u64 * 1_000_000);
            if next.is_some_and(|due_us| due_us <= clock_us) {
                state.looked = false;
                let now = state.now();
                return state.queue.pop().map(|due| (due, now));
            }
            self.seat
                .daemon(next.map_or(Awaits::Event, |_| Awaits::Activation), now_us());
            if !state.looked {
                state.looked = true;
                self.shared.changed.notify_all();
            }
            match (next, state.clock) {
                (Some(due_us), None) => {
                    let left = Duration::from_micros(due_us - clock_us).min(LOOK_AGAIN);
                    self.shared.changed.wait_for(&mut state, left);
                }
                _ => self.shared.changed.wait(&mut state),
            }
        }
    }

    /// Claims the run of an event that is due, and has it run.
    fn launch(&self, instance: &Instance, due: Due, now: i64) {
        let engine = instance.engine();
        let claimed = claim(instance, &self.seat.owner(), &due, now);
        let mut state = self.shared.state.lock();
        let noted = match claimed {
            Ok(Some(run)) => {
                state.workers += 1;
                worker::start(&self.shared, &mut state, instance, run);
                self.shared.refresh(&mut state, engine, &due.key)
            }
            Ok(None) => self.shared.refresh(&mut state, engine, &due.key),
            // Who interrupts it ends it.
            Err(_) if state.stop || self.seat.interrupted() => Ok(()),
            Err(e) => {
                state.queue.put(now + TRY_AGAIN, due.key.clone(), due.body);
                Err(e)
            }
        };
        if let Err(e) = noted {
            let (database, name) = (&due.key.database, &due.key.name);
            tracing::error!("Event Scheduler: [{database}.{name}] {}", e.message);
        }
    }
}

/// Writes a run into the definition. `None`: there is none, because the definition is not the one that was due any more, or because the
/// event had ended before, which is what is written then.
fn claim(instance: &Instance, owner: &Arc<Owner>, due: &Due, now: i64) -> SqlResult<Option<Run>> {
    let def = ProgramDef::decode(&due.body)?;
    let Some(event) = &def.event else {
        return Ok(None);
    };
    let over = is_over(event, now)?;
    let mut after = event.clone();
    if !over {
        after.last_executed = Some(now);
    }
    let mut new = ProgramDef {
        event: Some(after),
        ..def.clone()
    };
    let last = over || next_run(&new, now)?.is_none();
    if let (Some(event), true) = (&mut new.event, last) {
        event.state = EventState::Disabled;
    }
    let drop = last && !event.preserve;
    let body = new.encode();
    let mut claimed = false;
    let changed = instance
        .engine()
        .change_object(owner, &due.key, &mut |old| {
            claimed = old == Some(&*due.body);
            match claimed {
                true if over && drop => None,
                true => Some(body.clone()),
                false => old.map(<[u8]>::to_vec),
            }
        });
    match changed {
        // The database has gone, and the event with it.
        Err(Error::NoSuchDatabase(_)) => return Ok(None),
        r => r.map_err(|e| store_error(e, &due.key.name))?,
    }
    let runs = claimed && !over;
    Ok(runs.then(|| Run {
        key: due.key.clone(),
        def: new,
        body,
        drop,
    }))
}

/// Whether an event that is enabled had ended before it came to run.
fn is_over(event: &Event, now: i64) -> SqlResult<bool> {
    Ok(match event.schedule {
        Schedule::At(_) => event.next_run(vars::zone(&event.zone)?, now).is_none(),
        Schedule::Every { ends, .. } => ends.is_some_and(|ends| ends < now),
    })
}
