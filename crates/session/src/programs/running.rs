//! What a session's programs share while they run, whatever runs them.

use millpond_sql::env::Diagnostic;
use millpond_sql::exec::Limits;
use millpond_store::ObjectKey;

use super::cache::Held;

/// What a session's programs share. Only the session's own thread looks.
#[derive(Default)]
pub(crate) struct Running {
    /// The routines that run, outermost first.
    pub calls: Vec<ObjectKey>,
    /// The handlers that run, outermost first.
    pub handling: Vec<Handled>,
    /// Routines that the session has called.
    pub routines: Held,
    /// The tables of the statements around the function that runs.
    pub used: Vec<u64>,
    /// What statements within statements go by of the session's variables; `None` if they have been set meanwhile.
    pub means: Option<Means>,
    /// Whether programs within the statement that runs have set variables.
    pub variables_set: bool,
}

/// What statements within statements go by of the session's variables.
#[derive(Clone, Copy)]
pub(crate) struct Means {
    /// What single buffers may take.
    pub limits: Limits,
    /// `auto_increment_increment` and `auto_increment_offset`.
    pub auto_increment: (u64, u64),
}

/// What a handler that runs was activated by.
pub(crate) struct Handled {
    /// The conditions as they were.
    pub conditions: Vec<Diagnostic>,
    /// Which of them it was.
    pub at: usize,
    /// How many of the session's conditions are still those it began with.
    pub inherited: usize,
    /// ROW_COUNT() then.
    pub row_count: i64,
}
