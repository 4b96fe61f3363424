//! What virtual tables and system variables ask of a session.

use std::any::Any;
use std::sync::Arc;

use millpond_sql::env::SessionEnv;

use parking_lot::Mutex;

use super::Instance;
use crate::accounts::guard::Guard;
use crate::programs::Running;
use crate::registry::Seat;
use crate::vars::SessionVars;

/// What virtual tables and `@@x` ask of a session beyond its [`SessionEnv`].
pub struct Facts {
    pub(crate) instance: Instance,
    pub(crate) vars: SessionVars,
    pub(crate) seat: Arc<Seat>,
    /// The client takes one result a command.
    pub(crate) single_results: bool,
    /// Who it is, and what it may.
    pub(crate) guard: Guard,
    /// Its stored programs. Only the session itself looks.
    pub(crate) running: Mutex<Running>,
}

impl Facts {
    /// Those of the session that a statement runs in; `None` outside of one.
    pub(crate) fn of(env: &SessionEnv) -> Option<&Facts> {
        let services: &dyn Any = &**env.services.as_ref()?;
        services.downcast_ref()
    }
}
