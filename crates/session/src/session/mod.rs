//! Sessions: a connection's state, and what becomes of the statements that it sends.
//!
//! | file | owns |
//! |---|---|
//! | `state` | [`Session`]: its state, how it begins and ends |
//! | `greeting` | what it does before a client's first statement |
//! | `texts` | texts and prepared statements as they come in; diagnostics |
//! | `rights` | by whose right a statement runs |
//! | `run` | running a planned statement inside its transaction |
//! | `unsettled` | statements whose commit is not durable yet |
//! | `track` | what clients are told of their session's state |
//! | `transaction` | BEGIN, COMMIT, savepoints, isolation |
//! | `xa` | XA transactions |
//! | `accounts` | statements about accounts |
//! | `allowed` | which privileges statements take that are not planned |
//! | `defining` | DDL within the open transaction |
//! | `dispatch` | who carries a statement out |
//! | `like` | CREATE DATABASE ... LIKE |
//! | `record` | what a statement leaves in the stall record |
//! | `services` | what statements ask of the session that runs them |
//! | `set` | SET and the effects of variables |
//! | `persist` | variables that outlive the server |
//! | `setting` | which variables may be set to what, in functions too |
//! | `program` | stored programs, run |
//! | `analyze` | ANALYZE TABLE |
//! | `admin` | FLUSH, LOCK TABLES, table maintenance |
//! | `backup` | BACKUP |
//!
//! A session runs on one thread at a time and never waits for another session but inside the store (row
//! and metadata locks). Whatever fails leaves the transaction as MySQL leaves it: the statement undone,
//! or, after a deadlock, the whole transaction.

mod accounts;
mod admin;
mod allowed;
mod analyze;
mod audited;
mod backup;
mod checksum;
mod defining;
mod dispatch;
mod greeting;
mod handler;
mod like;
mod persist;
mod program;
mod record;
mod rights;
mod run;
mod services;
mod set;
mod setting;
mod state;
mod texts;
mod track;
mod transaction;
mod unsettled;
mod views;
mod xa;

use std::sync::Arc;

use millpond_sql::result::ColumnMeta;
use millpond_sql::{SqlError, SqlResult};

use crate::accounts::login::Admitted;
use crate::instance::Instance;
use crate::registry::{ClientLook, KillHook, TlsFacts};
use crate::statements::Compiled;

pub use state::Session;
pub use track::Tracks;
pub use unsettled::{Unsettled, commit_error};

/// Who connects.
#[derive(Clone, Debug, Default)]
pub struct ConnectionInfo {
    /// Connection id from [`Instance::reserve_id`]; 0 lets the instance choose one.
    pub id: u32,
    /// User name.
    pub user: String,
    /// Host as shown in the process list, e.g. `localhost` or `127.0.0.1:40312`.
    pub host: String,
    /// The account that it was let in as; none: it is the process itself, which may do everything.
    pub account: Option<Admitted>,
    /// Its TLS, if it has any.
    pub tls: Option<Arc<TlsFacts>>,
    /// Initial database.
    pub database: Option<String>,
    /// The client asked that affected rows mean found rows (CLIENT_FOUND_ROWS).
    pub found_rows: bool,
    /// The client may send several statements in one text (CLIENT_MULTI_STATEMENTS).
    pub multi_statements: bool,
    /// The client takes one result a command: it did not say CLIENT_MULTI_RESULTS. Then procedures must send no result sets (error 1312).
    pub single_results: bool,
    /// The client called itself interactive (CLIENT_INTERACTIVE): the session's `wait_timeout` starts
    /// as the global `interactive_timeout`.
    pub interactive: bool,
    /// What the client is told of its session's state (CLIENT_SESSION_TRACK).
    pub tracks: Tracks,
    /// Collation id of the handshake; 0 if there was none.
    pub collation_id: u16,
    /// What the client says of itself: names and values, in order.
    pub attributes: Vec<(String, String)>,
    /// Called when KILL ends this connection, from the killing session's thread, after
    /// [`Session::killed`] has become true: wakes a connection that waits for its client.
    pub on_kill: Option<KillHook>,
    /// Asked by statements that wait long whether the client is gone; they end then.
    pub is_gone: Option<ClientLook>,
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
    compiled: Arc<Compiled>,
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
    fn compiled(&self) -> SqlResult<&Arc<Compiled>> {
        match &self.runs {
            Some(runs) => Ok(&runs.compiled),
            None => Err(SqlError::new(
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
