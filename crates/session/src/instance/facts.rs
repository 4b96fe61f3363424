//! What virtual tables and system variables ask of a session.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use millpond_sql::env::SessionEnv;
use millpond_sql::error::{SqlError, SqlResult};

use parking_lot::Mutex;

use super::{Instance, ReadOnly};
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
    /// Error 1290 while the server is read only for whoever runs the statement. Temporary tables aren't meant.
    #[inline]
    pub(crate) fn check_server_writable(&self) -> SqlResult<()> {
        match self.instance.0.read_only.load(Ordering::Relaxed) {
            0 => Ok(()),
            level => self.refuse_writing(level == ReadOnly::Everybody as u8),
        }
    }

    #[cold]
    fn refuse_writing(&self, everybody: bool) -> SqlResult<()> {
        let access = self.guard.access(&self.instance.0.accounts);
        let option = match everybody {
            true => "--super-read-only",
            false if access.has_dynamic("CONNECTION_ADMIN") => return Ok(()),
            false => "--read-only",
        };
        let message = format!(
            "The MySQL server is running with the {option} option so it cannot execute this statement"
        );
        Err(SqlError::new(1290, message))
    }

    /// Those of the session that a statement runs in; `None` outside of one.
    pub(crate) fn of(env: &SessionEnv) -> Option<&Facts> {
        let services: &dyn Any = &**env.services.as_ref()?;
        services.downcast_ref()
    }
}
