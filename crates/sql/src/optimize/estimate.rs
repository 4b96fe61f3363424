//! How many rows there are, and how many of them conditions leave. All estimates that join orders and access paths are weighed by
//! come from here; what statistics know belongs behind these functions.

use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::Limit;
use crate::plan::PlanTable;

/// Part of the rows that an equality leaves of which nothing is known.
const EQUAL: f64 = 0.1;
/// Most rows that one value is taken to have.
const ROWS_OF_VALUE: f64 = 200.0;
/// Part of the rows that a bound on one side leaves.
const BOUND: f64 = 0.33;
/// Part of the rows that bounds on both sides, or a pattern, leave.
const BETWEEN: f64 = 0.05;
/// Part of the rows that any other condition leaves.
const OTHER: f64 = 0.5;

/// Rows of a stored table.
pub fn rows(table: &PlanTable) -> f64 {
    (table.rows as f64).max(1.0)
}

/// How many different values a set of columns has.
pub fn distinct(table: &PlanTable, columns: &[usize]) -> f64 {
    let rows = rows(table);
    let unique = table.schema.indexes.iter().any(|i| {
        let covered = |p: &crate::types::KeyPart| p.prefix.is_none() && columns.contains(&p.column);
        i.unique && !i.parts.is_empty() && i.parts.iter().all(covered)
    });
    if unique {
        return rows;
    }
    let all = columns.iter().fold(1.0, |n: f64, _| n * values(rows));
    all.min(rows)
}

/// How many values a column is taken to have of which nothing is known.
fn values(rows: f64) -> f64 {
    rows / rows_of_value(rows)
}

/// Rows that a value of a column is taken to have of which nothing is known.
fn rows_of_value(rows: f64) -> f64 {
    (rows * EQUAL).clamp(1.0, ROWS_OF_VALUE)
}

/// Part of the rows that a condition leaves, as its form tells.
pub fn selectivity(e: &Expr) -> f64 {
    match &e.kind {
        ExprKind::Compare(CompareOp::Eq | CompareOp::NullSafeEq, ..) | ExprKind::IsNull(_) => EQUAL,
        ExprKind::Compare(CompareOp::Ne, ..) | ExprKind::IsNotNull(_) => 1.0 - EQUAL,
        ExprKind::Compare(..) => BOUND,
        ExprKind::Between { negated, .. } => either(BETWEEN, *negated),
        ExprKind::Like(l) => either(BETWEEN, l.negated),
        ExprKind::InList(l) => either((l.list.len() as f64 * EQUAL).min(OTHER), l.negated),
        ExprKind::And(list) => list.iter().map(selectivity).product(),
        ExprKind::Or(list) => list.iter().map(selectivity).sum::<f64>().min(1.0),
        ExprKind::Not(e) => 1.0 - selectivity(e),
        _ => OTHER,
    }
}

/// Rows that LIMIT leaves.
pub fn limited(rows: f64, limit: &Limit) -> f64 {
    match &limit.count {
        Some(n) => rows.min(limit_rows(n, None)),
        None => rows,
    }
}

/// Rows that a GROUP BY or a DISTINCT leaves.
pub fn grouped(rows: f64) -> f64 {
    (rows * EQUAL).max(1.0)
}

/// Rows a LIMIT with a placeholder is taken for.
const UNKNOWN_LIMIT: f64 = 100.0;

/// Rows a LIMIT stands for when planning.
pub fn limit_rows(count: &Expr, offset: Option<&Expr>) -> f64 {
    let number = |e: &Expr| match &e.kind {
        ExprKind::Literal(v) => v.to_u64() as f64,
        _ => UNKNOWN_LIMIT,
    };
    number(count) + offset.map_or(0.0, number)
}

fn either(part: f64, negated: bool) -> f64 {
    if negated { 1.0 - part } else { part }
}
