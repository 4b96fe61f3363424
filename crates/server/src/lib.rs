//! The MySQL wire protocol over a Millpond instance: listening, login, commands, results.
//!
//! | module | owns |
//! |---|---|
//! | [`server`] | listeners, shutdown |
//! | `registry` | the list of connections, `max_connections` |
//! | `refusal` | what those hear who are not served |
//! | `pool` | which thread serves which connection |
//! | [`conn`] | one connection: login, commands, timeouts, panics |
//! | [`sink`], [`statements`], [`literal`] | results, prepared statements, statement text |
//! | [`client_file`] | files that clients send for LOAD DATA LOCAL |
//! | `answer` | answers that wait until their commit is durable |
//! | [`wire`] | packets over a socket |
//! | `stream` | what packets go over: a socket, or TLS on it |
//! | [`tls`] | TLS: certificates, settings, a connection's |
//! | [`password_key`] | the key by which passwords come where there is no TLS |
//! | `compress` | compressed packets |
//! | [`proto`] | packets as bytes |
//! | [`metrics`] | over HTTP: metrics for Prometheus, the status page |
//! | `service` | what a connection serves its client from |
//! | [`backend`] | what all this needs of a database |
//!
//! A thread serves a connection with blocking I/O: receive, work, send. It knows nothing of SQL but that texts go to a session, and
//! keeps no state that the session should have. On an address that others than this machine can reach it listens only with TLS, and if all
//! accounts have passwords.

mod answer;
pub mod backend;
pub mod client_file;
mod compress;
pub mod conn;
pub mod literal;
pub mod metrics;
pub mod password_key;
mod pool;
pub mod proto;
mod refusal;
mod registry;
#[cfg(test)]
mod scratch;
pub mod server;
mod service;
pub mod sink;
pub mod statements;
mod stream;
pub mod tls;
pub mod wire;

pub use password_key::PasswordKey;
pub use server::{Server, ServerConfig};
pub use tls::Tls;
