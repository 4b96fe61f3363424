//! From statements to operator trees: name resolution, access paths, join order, EXPLAIN.

use crate::error::SqlResult;
use crate::parse::{ShowFilter, Statement, sp};
use crate::result::ColumnMeta;
use crate::session::env::SessionEnv;
use crate::show::VirtualTable;
use millpond_store::{Engine, Table, Txn};
use std::sync::Arc;

/// What planning needs.
pub struct PlanContext<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// Holds the metadata locks of the tables opened while planning.
    pub txn: &'a mut Txn,
    /// The session: current database, sql_mode, variables.
    pub env: &'a SessionEnv,
}

/// A statement ready to run, any number of times, in any transaction.
pub struct Plan {
    /// Columns of its result set; empty if it has none.
    pub columns: Vec<ColumnMeta>,
    /// Number of `?` placeholders.
    pub params: usize,
    /// Whether it changes tables.
    pub writes: bool,
    /// Whether it may be kept for other executions of the same text (false if something that only holds now
    /// was built into it).
    pub reusable: bool,
    /// The tables it pins, with whether it writes to each.
    pub tables: Vec<(Arc<Table>, bool)>,
}

impl Plan {
    /// Whether it returns rows.
    pub fn is_query(&self) -> bool {
        !self.columns.is_empty()
    }
}

/// Plans a statement for which [`Statement::is_planned`] holds.
pub fn compile(_statement: &Statement, _cx: &mut PlanContext<'_>) -> SqlResult<Plan> {
    todo!()
}

/// Plans `SELECT exprs` for SET, KILL and other places that evaluate expressions (subqueries allowed).
pub fn compile_exprs(_exprs: &[sp::Expr], _cx: &mut PlanContext<'_>) -> SqlResult<Plan> {
    todo!()
}

/// Plans `SELECT columns FROM table [WHERE filter]` over one virtual table, in its own order: what a SHOW statement
/// returns. `columns` are positions, with the heading each gets (`None`: its name). `Like` filters on
/// column `like`.
pub fn compile_virtual(
    _table: Arc<dyn VirtualTable>,
    _columns: &[(usize, Option<&str>)],
    _like: usize,
    _filter: &ShowFilter,
    _cx: &mut PlanContext<'_>,
) -> SqlResult<Plan> {
    todo!()
}
