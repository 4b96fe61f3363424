//! Experiments that anyone can run on Millpond, embedded or as a server, and on any other MySQL server, so that the figures
//! stand side by side.
//!
//! | module | owns |
//! |---|---|
//! | [`target`] | what an experiment runs on |
//! | [`many_tables`] | create, insert, select, drop, for many tables |
//!
//! Every experiment says which durability its figures were measured with, shows progress while it runs, and leaves a valid
//! report of what it did if it is interrupted.

pub mod many_tables;
pub mod target;

/// An error for people: an experiment's only reader is whoever started it.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
/// Result of a step of an experiment.
pub type Result<T> = std::result::Result<T, Error>;
