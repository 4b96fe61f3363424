//! Reading a table by a FULLTEXT index: where a row must be found by a search, as MATCH in WHERE asks.

use super::access::{Bounded, Choice, Request, choice, known};
use crate::expr::{CompareOp, Expr, ExprKind, Func};
use crate::plan::nodes::FulltextAccess;

/// Part of a table's rows that a search is taken to find.
const SHARE: f64 = 0.05;
/// What reading by a search costs apart from its rows: no other way is taken where there is this one, but for rows by their keys.
const COST: f64 = 2.5;

/// The search of a condition that only rows which it finds satisfy: MATCH itself, or that it is greater than a number that is not negative.
fn searched(e: &Expr) -> Option<&[Expr]> {
    match &e.kind {
        ExprKind::Function(Func::FulltextRank, args) => Some(args),
        ExprKind::Compare(op, sides, _) => {
            let [a, b] = &**sides;
            let (rank, number) = match op {
                CompareOp::Gt | CompareOp::Ge => (a, b),
                CompareOp::Lt | CompareOp::Le => (b, a),
                _ => return None,
            };
            let ExprKind::Literal(number) = &number.kind else {
                return None;
            };
            let number = number.to_f64();
            let finds =
                number > 0.0 || number == 0.0 && matches!(op, CompareOp::Gt | CompareOp::Lt);
            match &rank.kind {
                ExprKind::Function(Func::FulltextRank, args) if finds => Some(args),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The ways that MATCH among the conditions gives; `total`: rows of the table.
pub fn choices(r: &Request<'_>, total: f64) -> Vec<Choice> {
    if r.in_order {
        return Vec::new();
    }
    let found = r.conds.iter().filter_map(|c| way(r, &c.expr, total));
    found.collect()
}

fn way(r: &Request<'_>, condition: &Expr, total: f64) -> Option<Choice> {
    let (search, columns) = searched(condition)?.split_first()?;
    let mut positions = Vec::new();
    for e in columns {
        match e.kind {
            ExprKind::Column { source, column, .. } if source == r.source => positions.push(column),
            _ => return None,
        }
    }
    let mut indexes = r.schema.indexes.iter();
    let over = |i: &crate::types::Index| {
        let text = i.fulltext.as_ref();
        text.is_some_and(|f| f.is_over(&positions))
    };
    let index = indexes.position(over)?;
    if !known(search, r, false) {
        return None;
    }
    let mut way = choice(r, 0, Bounded::default(), total);
    way.access.covering = None;
    way.access.fulltext = Some(Box::new(FulltextAccess {
        index,
        search: search.clone(),
    }));
    way.rows = (total * SHARE).max(1.0);
    way.merging = COST;
    Some(way)
}
