//! The way of a statement from its syntax tree to a plan: bound, rewritten, optimized; and what EXPLAIN shows instead.
//!
//! Planning opens tables (shared metadata locks in the caller's transaction) and takes no other lock. Nothing is kept: whoever
//! wants a [`Plan`] again keeps it, and asks it whether it is still right.

use std::sync::Arc;

use crate::bind::{self, Bound};
use crate::catalog::{Schema, View};
use crate::env::VirtualTable;
use crate::error::{SqlError, SqlResult};
use crate::explain;
use crate::logical;
use crate::optimize::{self, peek::Peek};
use crate::parse::Statement;
use crate::parse::ast::{self, StatementKind};
use crate::plan::assumptions::Rests;
use crate::plan::{Plan, Root};
use crate::result::ColumnMeta;
use crate::rewrite;
use crate::statistics;
use crate::write::foreign_keys;

pub use crate::bind::view::{ViewColumn, invalid as invalid_view};
pub use crate::bind::{PlanContext, into_of};
pub use crate::optimize::peek::holds;

/// Plans a statement for which [`Statement::is_planned`] holds.
pub fn compile(statement: &Statement, cx: &mut PlanContext<'_>) -> SqlResult<Plan> {
    let text = &statement.text;
    let mut plan = match statement.kind() {
        StatementKind::Explain(e) => explained(e, text, cx)?,
        kind => compile_kind(kind, text, cx)?,
    };
    plan.params = statement.params;
    plan.time_limit = statement.time_limit;
    Ok(plan)
}

/// Plans a statement that is, or is part of, this text.
fn compile_kind(kind: &StatementKind, text: &str, cx: &mut PlanContext<'_>) -> SqlResult<Plan> {
    let generation = statistics::generation();
    cx.env.profiles.enter("Opening tables");
    let bound = bind::statement(kind, text, cx)?;
    cx.env.profiles.enter("optimizing");
    let peek = Peek::new(cx.env, cx.params.filter(|_| cx.peek));
    let assigns = text.contains(":=") || bind::loads_variables(kind);
    let mut plan = planned(bound, peek, assigns, generation)?;
    plan.relations = foreign_keys::resolve(cx.engine, cx.txn, &plan.written())?;
    match kind {
        StatementKind::Query(q) => {
            let mut file = bind::into_file(q, cx.env)?;
            if let Some(file) = &mut file {
                file.columns = std::mem::take(&mut plan.columns);
            }
            Ok(plan.selecting(bind::into_variables(q, cx.locals)?, file))
        }
        _ => Ok(plan),
    }
}

/// Plans `SELECT exprs` for SET, KILL and other places that evaluate expressions (subqueries allowed), of a statement with `params`
/// placeholders.
pub fn compile_exprs(
    list: &[&ast::Expr],
    params: usize,
    cx: &mut PlanContext<'_>,
) -> SqlResult<Plan> {
    let assigns = list.iter().any(|e| e.to_string().contains(":="));
    let generation = statistics::generation();
    let bound = bind::expressions(list, cx)?;
    let mut plan = planned(bound, Peek::new(cx.env, None), assigns, generation)?;
    plan.params = params;
    Ok(plan)
}

/// Plans `SELECT columns FROM table [WHERE filter]` over one virtual table, in its own order: what a SHOW statement
/// returns. `columns` are positions, with the heading each gets (`None`: its name). `Like` filters on
/// column `like`.
pub fn compile_virtual(
    table: Arc<dyn VirtualTable>,
    columns: &[(usize, Option<&str>)],
    like: usize,
    filter: Option<&ast::ShowFilter>,
    cx: &mut PlanContext<'_>,
) -> SqlResult<Plan> {
    let generation = statistics::generation();
    let bound = bind::over_virtual(table, columns, like, filter, cx)?;
    let mut plan = planned(bound, Peek::new(cx.env, None), true, generation)?;
    plan.params = cx.params.map_or(0, <[_]>::len);
    Ok(plan)
}

/// The columns that a view of this name has now.
pub fn view_columns(
    name: (&str, &str),
    schema: &Schema,
    view: &Arc<View>,
    cx: &mut PlanContext<'_>,
) -> SqlResult<Vec<ViewColumn>> {
    let names: Vec<String> = schema.columns.iter().map(|c| c.name.clone()).collect();
    bind::view::columns(name.0, name.1, &names, view, cx)
}

/// The columns of a view of the system.
pub fn system_view_columns(
    name: (&str, &str),
    view: &Arc<View>,
    cx: &mut PlanContext<'_>,
) -> SqlResult<Vec<ViewColumn>> {
    bind::view::columns(name.0, name.1, &[], view, cx)
}

/// From a bound statement to its plan. `assigns`: it may assign to user variables as it runs. `generation`: of the statistics, before
/// they were asked for.
fn planned(bound: Bound, peek: Peek<'_>, assigns: bool, generation: u64) -> SqlResult<Plan> {
    let Bound {
        mut root,
        mut columns,
        mut arena,
        tables,
        notes,
        needs,
    } = bound;
    let wants_constants = rewrite::rewrite(&mut root, &mut arena, &tables, peek.env, assigns);
    show_chosen(&root, &mut columns);
    let optimized = optimize::optimize(root, arena, &tables, &peek, assigns)?;
    let rests = match (peek.peeks(), peek.into_assumptions()) {
        (false, _) => Rests::OnNothing,
        (true, _) if wants_constants => Rests::OnConstants,
        (true, Some(list)) => Rests::On(list),
        (true, None) => Rests::OnValues,
    };
    Ok(Plan::new(optimized, columns, tables, notes, needs, generation).resting(rests))
}

/// Columns of derived tables that are no tables any more show what they choose as it is.
fn show_chosen(root: &logical::Root, columns: &mut [ColumnMeta]) {
    if let logical::Root::Query(q) = root
        && let logical::Body::Block(b) = &q.body
        && !b.distinct
    {
        for (column, e) in columns.iter_mut().zip(&b.select) {
            column.ty.chosen |= e.ty.chosen && column.ty.base == e.ty.base;
        }
    }
}

fn explained(e: &ast::Explain, text: &str, cx: &mut PlanContext<'_>) -> SqlResult<Plan> {
    let (format, kind) = explain::explainable(e, cx.env)?;
    let inner = compile_kind(kind, text, cx)?;
    if format == explain::ExplainFormat::Analyze {
        return match inner.root {
            Root::Query(_) => Ok(inner.analyzing(explain::text_heading())),
            _ => Err(SqlError::unsupported(
                "EXPLAIN ANALYZE of other statements than SELECT",
            )),
        };
    }
    let (columns, rows) = explain::explain(&inner, format, cx.env);
    Ok(inner.explained(columns, rows))
}
