//! What a session does besides answering queries: one program, a module a topic.

mod diagnostics;
mod expressions;
mod locking;
mod prepared;
mod processes;
#[path = "../support/mod.rs"]
mod support;
mod transactions;
mod variables;
