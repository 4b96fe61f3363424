//! Instances and sessions: the API that the server and the embedded library drive.

pub mod env;

use crate::error::SqlResult;
use crate::result::{ColumnMeta, ResultSink};
use crate::value::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// How to open an instance.
#[derive(Clone, Debug)]
pub struct InstanceOptions {
    /// Data directory.
    pub path: PathBuf,
    /// Store options.
    pub store: millpond_store::Options,
    /// System variables set at start, as (name, text).
    pub variables: Vec<(String, String)>,
}

/// An open database with its global variables and its list of sessions. Cheap to clone.
#[derive(Clone)]
pub struct Instance {}

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

/// A prepared statement.
pub struct Prepared {
    /// Number of `?` placeholders.
    pub params: usize,
    /// Columns of its result set; empty if it has none.
    pub columns: Vec<ColumnMeta>,
}

impl Instance {
    /// Opens (creating or recovering) a data directory.
    pub fn open(_options: InstanceOptions) -> SqlResult<Instance> {
        todo!()
    }
    /// Ends all sessions' transactions and closes cleanly.
    pub fn close(&self) -> SqlResult<()> {
        todo!()
    }
    /// A new session.
    pub fn connect(&self, _info: ConnectionInfo) -> SqlResult<Session> {
        todo!()
    }
    /// KILL: interrupts a session's statement, and ends the connection if `connection`.
    pub fn kill(&self, _id: u32, _connection: bool) -> SqlResult<()> {
        todo!()
    }
    /// A connection id for a session to come: the wire protocol announces it before it knows the user.
    pub fn reserve_id(&self) -> u32 {
        todo!()
    }
    /// Value of a global numeric system variable, e.g. `max_connections`, `connect_timeout`,
    /// `max_prepared_stmt_count`; `None` if there's no such variable.
    pub fn global_u64(&self, _name: &str) -> Option<u64> {
        todo!()
    }
}

/// One connection's state. Runs on one thread at a time.
pub struct Session {}

impl Session {
    /// Runs a text of one or more statements. Each statement's result goes to `sink`; an error ends the text.
    pub fn execute(&mut self, _sql: &str, _sink: &mut dyn ResultSink) -> SqlResult<()> {
        todo!()
    }
    /// Parses and plans one statement.
    pub fn prepare(&mut self, _sql: &str) -> SqlResult<Arc<Prepared>> {
        todo!()
    }
    /// Runs a prepared statement.
    pub fn execute_prepared(
        &mut self,
        _statement: &Arc<Prepared>,
        _params: &[Value<'_>],
        _sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        todo!()
    }
    /// Connection id.
    pub fn id(&self) -> u32 {
        todo!()
    }
    /// COM_INIT_DB, USE.
    pub fn use_database(&mut self, _name: &str) -> SqlResult<()> {
        todo!()
    }
    /// COM_RESET_CONNECTION and COM_CHANGE_USER: rolls back, drops variables and prepared statements' plans.
    pub fn reset(&mut self) -> SqlResult<()> {
        todo!()
    }
    /// SERVER_STATUS_* flags now.
    pub fn status_flags(&self) -> u16 {
        todo!()
    }
    /// Whether KILL ended this connection.
    pub fn killed(&self) -> bool {
        todo!()
    }
    /// Seconds an idle connection may stay (`wait_timeout`).
    pub fn wait_timeout(&self) -> u64 {
        todo!()
    }
    /// Value of a numeric system variable in this session, e.g. `max_allowed_packet`,
    /// `net_read_timeout`, `net_write_timeout`; `None` if there's no such variable.
    pub fn variable_u64(&self, _name: &str) -> Option<u64> {
        todo!()
    }
    /// COM_SET_OPTION: whether a text may hold several statements from now on.
    pub fn set_multi_statements(&mut self, _on: bool) {
        todo!()
    }
}
