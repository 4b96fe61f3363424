//! Instances and sessions: the API that the server and the embedded library drive.
//!
//! | file | owns |
//! |---|---|
//! | `instance` | an open database: global variables, sessions, status |
//! | `state` | [`Session`]: its state, how it begins and ends |
//! | `texts` | texts and prepared statements as they come in; diagnostics |
//! | `run` | running a planned statement inside its transaction |
//! | `unsettled` | statements whose commit is not durable yet |
//! | `transaction` | BEGIN, COMMIT, savepoints, isolation |
//! | `kinds` | what each kind of statement does to transactions, counters and records |
//! | `dispatch` | who carries a statement out |
//! | `record` | what a statement leaves in the stall record |
//! | `set` | SET and the effects of variables |
//! | `analyze` | ANALYZE TABLE |
//! | `admin` | FLUSH, LOCK TABLES, table maintenance |
//! | `vars` | which variables there are |
//! | `registry`, `counters` | the process list, KILL, status counters |
//! | `cache`, `shared` | compiled statements by text: a session's, and those that all share |
//!
//! A session runs on one thread at a time and never waits for another session but inside the store (row
//! and metadata locks). Whatever fails leaves the transaction as MySQL leaves it: the statement undone,
//! or, after a deadlock, the whole transaction.

mod admin;
mod analyze;
mod cache;
pub(crate) mod counters;
mod dispatch;
mod instance;
mod kinds;
mod record;
pub(crate) mod registry;
mod run;
mod set;
mod shared;
mod state;
mod texts;
mod transaction;
mod unsettled;
pub(crate) mod vars;

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use crate::env::user_locks::UserLocks;
use crate::env::{Services, SessionEnv, VirtualTable};
use crate::result::ColumnMeta;
use millpond_store::Engine;

pub use counters::Counter;
pub use instance::{Instance, InstanceOptions};
pub use millpond_store::{Error as StoreError, OnDurable};
pub(crate) use registry::Process;
pub use state::Session;
pub use unsettled::{Unsettled, commit_error};
pub use vars::VERSION;

/// Who connects.
#[derive(Clone, Debug, Default)]
pub struct ConnectionInfo {
    /// Connection id from [`Instance::reserve_id`]; 0 lets the instance choose one.
    pub id: u32,
    /// User name.
    pub user: String,
    /// Host as shown in the process list, e.g. `localhost` or `127.0.0.1:40312`.
    pub host: String,
    /// Initial database.
    pub database: Option<String>,
    /// The client asked that affected rows mean found rows (CLIENT_FOUND_ROWS).
    pub found_rows: bool,
    /// The client may send several statements in one text (CLIENT_MULTI_STATEMENTS).
    pub multi_statements: bool,
    /// The client called itself interactive (CLIENT_INTERACTIVE): the session's `wait_timeout` starts
    /// as the global `interactive_timeout`.
    pub interactive: bool,
    /// Collation id of the handshake; 0 if there was none.
    pub collation_id: u16,
    /// Called when KILL ends this connection, from the killing session's thread, after
    /// [`Session::killed`] has become true: wakes a connection that waits for its client.
    pub on_kill: Option<KillHook>,
}

/// What KILL calls to wake a connection: must be quick and must not call back into the instance.
#[derive(Clone)]
pub struct KillHook(pub Arc<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for KillHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KillHook")
    }
}

/// A prepared statement. It belongs to the session that made it and is compiled anew by itself when
/// its tables or the session's settings have changed.
pub struct Prepared {
    /// Number of `?` placeholders.
    pub params: usize,
    /// Columns of its result set; empty if it has none. Its executions hand a sink these very ones, unless the plan had to be
    /// made anew.
    pub columns: Arc<[ColumnMeta]>,
    /// What runs; `None` for a description alone.
    runs: Option<Runs>,
}

struct Runs {
    compiled: Arc<cache::Compiled>,
    instance: Instance,
}

impl Prepared {
    /// The description of a statement that no session has: what a stand-in for [`Session`] hands out.
    /// Executing it is error 1243.
    pub fn description(params: usize, columns: Vec<ColumnMeta>) -> Prepared {
        Prepared {
            params,
            columns: columns.into(),
            runs: None,
        }
    }
    fn compiled(&self) -> crate::SqlResult<&Arc<cache::Compiled>> {
        match &self.runs {
            Some(runs) => Ok(&runs.compiled),
            None => Err(crate::SqlError::new(
                1243,
                "Unknown prepared statement handler given to EXECUTE",
            )),
        }
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.instance
            .0
            .prepared
            .fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// What virtual tables and `@@x` ask of a session beyond its [`SessionEnv`](crate::env::SessionEnv).
pub struct Facts {
    pub(crate) instance: Instance,
    pub(crate) vars: vars::SessionVars,
    pub(crate) seat: Arc<registry::Seat>,
}

impl Facts {
    /// Those of the session that a statement runs in; `None` outside of one.
    pub(crate) fn of(env: &SessionEnv) -> Option<&Facts> {
        let services: &dyn Any = &**env.services.as_ref()?;
        services.downcast_ref()
    }
}

impl Services for Facts {
    fn engine(&self) -> &Engine {
        self.instance.engine()
    }
    fn is_interrupted(&self) -> bool {
        self.seat.interrupted()
    }
    fn doze(&self, until: Instant) {
        self.seat.doze(until);
    }
    fn user_locks(&self) -> &UserLocks {
        &self.instance.0.user_locks
    }
    fn virtual_table(&self, database: &str, name: &str) -> Option<Arc<dyn VirtualTable>> {
        crate::show::find(database, name)
    }
}
