//! Stored programs, compiled: from a definition's text to the steps that a session runs.
//!
//! A program is compiled once for each definition and shared by all sessions ([`Programs`]). What it says in SQL (statements, and expressions as
//! SELECTs of their own) is parsed once, too, and planned like any other statement: a [`Routine`] is a session's hold on a
//! program, with the plans that ran last. Its variables have slots in a frame, and a statement runs with the frame in the place of
//! placeholders' values; what a name means at a statement is told by the [`Locals`](millpond_sql::env::Locals) of its block.
//!
//! | file | owns |
//! |---|---|
//! | `code` | what a program is compiled to |
//! | `compile` | declarations, blocks, flow; what MySQL refuses when a program is made |
//! | `signals` | conditions, SIGNAL, GET DIAGNOSTICS |
//! | `rows` | what triggers say of OLD and NEW |
//! | `names` | what is declared where a statement stands |
//! | `allowed` | which statements a program may hold |
//! | `variables` | the types of variables, parameters and results |
//! | `running` | what a session's programs share while they run |
//! | `triggers` | the triggers of the tables that a plan writes to |
//! | `cache` | compiled programs by name, and which are still right |
//!
//! **Promises.** Compiling reads the definition alone: no table, no session. A program found in the cache is that of the definition committed when
//! it was looked for; whoever runs it goes on with it, whatever DDL does meanwhile, and holds no lock for it, so DDL waits for
//! no call and no call for DDL. **Never** runs anything.

mod allowed;
mod cache;
pub(crate) mod code;
mod compile;
mod names;
mod rows;
mod running;
mod signals;
mod triggers;
mod variables;

pub(crate) use allowed::{commits, no_autocommit};
pub(crate) use cache::{Programs, Routine};
pub(crate) use compile::{alone, compile};
pub(crate) use rows::compile_trigger;
pub(crate) use running::{Handled, Means, Running};
pub(crate) use triggers::{TableTriggers, Triggers};
pub(crate) use variables::returns_text;
