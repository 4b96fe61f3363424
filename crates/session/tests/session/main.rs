//! What a session does besides planning and defining: one program, a module a topic.

mod accounts;
mod bulk;
mod collations;
mod compatibility;
mod deep;
mod diagnostics;
mod digests;
mod events;
mod expressions;
mod files;
mod fulltext;
mod isolation;
mod kept_rows;
mod locking;
mod locks;
mod mutations;
mod performance;
mod persist;
mod prepared;
mod processes;
mod programs;
#[path = "../support/rng.rs"]
mod rng;
mod show;
mod slow_log;
mod strangers;
#[path = "../support/mod.rs"]
mod support;
mod sys;
mod time_zones;
mod transactions;
mod variables;
mod watch;
mod xa;
