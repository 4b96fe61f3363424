//! Backups of a database that is being written to, restored and compared with what was committed where they end.

#[path = "../common/mod.rs"]
mod common;

mod archive;
mod failures;
mod rounds;
mod workload;
