//! The stored tables of a statement, as binding opened them.

use std::sync::Arc;

use millpond_store::{Engine, Table};

use crate::partition;
use crate::statistics::{self, TableStatistics};
use crate::types::Schema;

/// Rows an execution may read, at least, before it is asked whether the tables have outgrown the plan.
pub const OUTGROWN_ROWS: u64 = 200;
/// How many times the rows it was planned for a table has when it has outgrown its plan.
const OUTGROWN_FACTOR: u64 = 4;

/// A table of a plan.
pub struct PlanTable {
    /// The table.
    pub table: Arc<Table>,
    /// Whether the plan writes to it.
    pub write: bool,
    /// The names it goes by in the statement, and whether what has the name is written to.
    pub names: Vec<(Box<str>, bool)>,
    /// Its schema.
    pub schema: Arc<Schema>,
    /// Rows it was estimated to have when the plan was made.
    pub rows: u64,
    /// What was known of them.
    pub statistics: Arc<TableStatistics>,
}

impl PlanTable {
    /// Whether what it was planned with is far from what is so now, as told by its rows if `many` were read, by its statistics if
    /// some were taken (`renewed`).
    pub fn is_outgrown(&self, engine: &Engine, many: bool, renewed: bool) -> bool {
        let now = || partition::estimate_rows(None, &self.table, &self.schema);
        if many && now() > self.rows.saturating_mul(OUTGROWN_FACTOR).max(OUTGROWN_ROWS) {
            return true;
        }
        // Statistics that cannot be read say nothing against the plan.
        renewed
            && statistics::of(engine, &self.table)
                .is_ok_and(|now| self.statistics.are_outgrown_by(&now.statistics))
    }
    /// Notes a name it goes by.
    pub(crate) fn goes_by(&mut self, name: &str, write: bool) {
        match self.names.iter_mut().find(|n| *n.0 == *name) {
            Some(known) => known.1 |= write,
            None => self.names.push((name.into(), write)),
        }
    }
}

impl std::fmt::Debug for PlanTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let d = self.table.def();
        write!(f, "{}.{}", d.database, d.name)
    }
}
