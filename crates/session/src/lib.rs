//! Sessions over Millpond's SQL layer: transactions' ends, variables, prepared statements, KILL, SHOW and information_schema, the slow
//! query log, the stall record. It knows no network: the server and the embedded API both drive [`Session`], and need no other crate
//! for it, as what goes in and out of statements is here too.
//!
//! | module | owns |
//! |---|---|
//! | `session` | [`Session`]: what becomes of the statements of a connection |
//! | `show` | SHOW, DESCRIBE, the tables of information_schema and performance_schema |
//! | `accounts` | accounts, their privileges and passwords |
//! | `counters` | status counters: each session's, and sums |
//! | `digests` | what statements did, by digest |
//! | `instance` | [`Instance`]: an open database, and what its sessions share |
//! | `events` | the event scheduler |
//! | `kept_rows` | rows kept for a cursor of the protocol |
//! | `programs` | stored programs, compiled |
//! | `statements` | compiled statements by text; what each kind of statement does |
//! | `persisted` | variables that outlive the server |
//! | `vars` | which system variables there are, and their values |
//! | `registry` | who is connected: process list, KILL |
//! | `logfile` | a file that sessions log to without waiting |
//! | `slowlog`, `audit` | the slow query log, the audit log |
//! | [`watch`] | the stall record: latencies, time line, DDL events |

mod accounts;
mod audit;
mod counters;
mod digests;
mod events;
mod instance;
mod kept_rows;
mod logfile;
mod persisted;
mod programs;
mod registry;
mod session;
mod show;
mod slowlog;
mod statements;
mod vars;
pub mod watch;

pub use accounts::login::{Admitted, Candidate, Client, Verdict};
pub use counters::Counter;
pub use instance::{Alike, Instance, InstanceOptions, PasswordKeySettings, TlsSettings, Transport};
pub use instance::{Attempt, ThreadCounts, ThreadsLook};
pub use kept_rows::KeptRows;
pub use millpond_sql::{
    ColumnMeta, Completion, ResultSink, SqlError, SqlResult, Value, error, memory, result, types,
    value,
};
pub use millpond_store::wait::{Waiter, tell_waits_to};
pub use millpond_store::{Error as StoreError, OnDurable};
pub use registry::{ClientCertificate, ClientLook, KillHook, TlsFacts};
pub use session::{ConnectionInfo, Prepared, Session, Tracks, Unsettled, commit_error};
pub use vars::VERSION;
