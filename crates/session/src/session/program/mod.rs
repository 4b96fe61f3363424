//! Stored programs, run.
//!
//! | file | owns |
//! |---|---|
//! | `define` | CREATE, ALTER and DROP of routines |
//! | `event` | CREATE, ALTER and DROP of events; what one does |
//! | `interpreter` | one invocation: its frame, its blocks, what each step does |
//! | `conditions` | which handler a condition goes to; SIGNAL, RESIGNAL, GET DIAGNOSTICS |
//! | `call` | CALL: arguments, nesting, what a routine changes of its session and gives back |
//! | `host` | what runs a program's statements; the session as such |
//! | `trigger` | triggers: which run for a row, with which values |
//! | `inner` | functions: programs within a statement |
//! | `setting` | SET in them |
//!
//! **An invocation** has a frame of values, one a variable, which is what its statements run with in the place of placeholders' values. Steps
//! are a tree and are walked as one: LEAVE, ITERATE, RETURN and EXIT handlers unwind it by [`Flow`](interpreter::Flow). A condition is looked at where the step
//! that raised it stands, before anything unwinds, so a CONTINUE handler goes on with the step behind it; an error that no handler of
//! the program takes ends the invocation and is the error of whatever called it.
//!
//! **Transactions.** A procedure has none of its own: each of its statements runs as if the client had sent it, with its savepoint and,
//! under autocommit, its commit. **Locks** are those of its statements; a procedure's definition is not locked ([`crate::programs`]). **Failure**
//! of a statement undoes that statement, as ever; what those before it did stays.
//!
//! **Bounds.** A routine within itself: `max_sp_recursion_depth` (1456). Routines within each other: [`call::MOST_CALLS`] (1436), each on a stack of its
//! own. A cursor's rows are charged to the session's memory. KILL is looked at before each step and each turn of a loop, and
//! no handler takes what it raises.

mod call;
mod conditions;
mod define;
mod event;
mod host;
mod inner;
mod interpreter;
mod setting;
mod trigger;

pub(super) use inner::{call_function, function};
pub(super) use trigger::{Firing, triggers_of};
