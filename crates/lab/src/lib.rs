//! Experiments that anyone can run on Millpond, embedded or as a server, and on any other MySQL server, so that the figures
//! stand side by side.
//!
//! | module | owns |
//! |---|---|
//! | [`target`] | what an experiment runs on |
//! | [`algorithm`] | the published ways of dropping a table's cached pages, by name |
//! | [`frame`] | flags, what is borrowed from a target, progress, stopping, files, the machine |
//! | [`fill`] | filling a buffer pool |
//! | [`bulk`] | rows into a table, by several connections at once |
//! | [`employees`] | the table of `rebuild` and `alter`, and reads and writes beside what is done to it |
//! | [`profile`] | stages of a statement |
//! | [`stats`] | figures from measurements |
//! | [`random`] | numbers at random |
//! | [`report`] | one report as text, HTML with charts, JSON and CSV |
//! | [`many_tables`] | create, insert, select, drop, for many tables |
//! | [`drop_throughput`] | how fast empty tables drop with the pool filled more and more |
//! | [`drop_stall`] | what a read and write load feels of drops beside it |
//! | [`truncate_scale`] | create, drop and truncate with pools of several sizes |
//! | [`rebuild`] | OPTIMIZE TABLE with constraints, sorted and row by row |
//! | [`alter`] | what each kind of ALTER TABLE costs, and what writers feel |
//! | [`qps`] | queries per second from a slow log |
//! | [`compare`] | two runs of `drop_stall` beside each other |
//! | [`all`] | the articles' experiments in small sizes, on one page with what was published |
//!
//! Every experiment says which durability its figures were measured with, shows progress while it runs, and leaves a valid
//! report of what it did if it is interrupted.

pub mod algorithm;
pub mod all;
pub mod alter;
pub mod bulk;
pub mod compare;
pub mod drop_stall;
pub mod drop_throughput;
pub mod employees;
pub mod fill;
pub mod frame;
pub mod many_tables;
pub mod profile;
pub mod qps;
pub mod random;
pub mod rebuild;
pub mod report;
pub mod stats;
pub mod target;
pub mod truncate_scale;

/// An error for people: an experiment's only reader is whoever started it.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
/// Result of a step of an experiment.
pub type Result<T> = std::result::Result<T, Error>;
