//! One run of an event, on a thread and in a session of its own.

use std::sync::Arc;

use millpond_sql::catalog::programs::ProgramDef;
use millpond_sql::env::{Diagnostic, Level};
use millpond_sql::error::SqlResult;
use millpond_store::{Error, ObjectKey};

use super::{Shared, State};
use crate::accounts::names::Name;
use crate::instance::Instance;
use crate::{Admitted, ConnectionInfo};

/// Stack of a worker's thread, that of a connection's.
const STACK: usize = (2 << 20) - (128 << 10);

/// A run that is claimed.
pub(super) struct Run {
    pub key: ObjectKey,
    pub def: ProgramDef,
    /// The definition's bytes.
    pub body: Vec<u8>,
    /// The event goes when it has run.
    pub drop: bool,
}

/// A run under way, counted in [`State::workers`].
struct Worker {
    shared: Arc<Shared>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.workers -= 1;
        self.shared.changed.notify_all();
    }
}

/// Has an event run. The caller has counted it.
pub(super) fn start(shared: &Arc<Shared>, state: &mut State, instance: &Instance, run: Run) {
    let (shared, instance) = (shared.clone(), instance.clone());
    let name = run.def.full_name();
    let spawned = std::thread::Builder::new()
        .name("event".into())
        .stack_size(STACK)
        .spawn(move || {
            // Dropped last.
            let worker = Worker { shared };
            work(instance, run);
            drop(worker);
        });
    if let Err(e) = spawned {
        state.workers -= 1;
        tracing::error!("Event Scheduler: cannot start a thread for {name}: {e}");
    }
}

fn work(instance: Instance, run: Run) {
    let (definer, name) = (&*run.def.definer, run.def.full_name());
    let mut said = Vec::new();
    let done = execute(&instance, &run.def, &mut said);
    for d in &said {
        let text = &d.message;
        match d.level {
            Level::Error => tracing::error!("Event Scheduler: [{definer}][{name}] {text}"),
            Level::Warning => tracing::warn!("Event Scheduler: [{definer}][{name}] {text}"),
            Level::Note => tracing::info!("Event Scheduler: [{definer}][{name}] {text}"),
        }
    }
    if done.is_err() {
        tracing::info!("Event Scheduler: [{definer}].[{name}] event execution failed.");
    }
    if !run.drop {
        return;
    }
    tracing::info!("Event Scheduler: Last execution of {name}. Dropping.");
    let engine = instance.engine();
    let dropped = engine.change_object(&engine.owner(), &run.key, &mut |old| {
        // Unless somebody has changed it meanwhile.
        old.filter(|old| *old != run.body).map(<[u8]>::to_vec)
    });
    match dropped {
        Ok(()) | Err(Error::NoSuchDatabase(_)) => {}
        Err(e) => tracing::error!("Event Scheduler: [{definer}][{name}] cannot drop it: {e}"),
    }
}

/// Runs the body in a session of the definer's; what it says is put into `said`, the error included.
fn execute(instance: &Instance, def: &ProgramDef, said: &mut Vec<Diagnostic>) -> SqlResult<()> {
    let name = Name::of(&def.definer);
    let session = instance.connect(ConnectionInfo {
        user: name.user.clone(),
        host: "localhost".into(),
        account: Some(Admitted {
            host: name.host.clone(),
            name,
            must_change: false,
        }),
        ..ConnectionInfo::default()
    });
    let done = session.and_then(|mut session| {
        let done = session.run_event(def);
        said.extend(session.diagnostics());
        done
    });
    if let Err(e) = &done {
        said.push(Diagnostic::of(e));
    }
    done
}
