//! An equality of columns that every alternative of an OR asks for is asked for beside it:
//! `(a.x = b.x AND …) OR (a.x = b.x AND …)` implies `a.x = b.x`, by which rows are found instead of combined.
//! The OR stays as it is, so nothing but the equality has to be understood. Only columns of types that compare without
//! converting are looked at: asking once more then says nothing that was not said.

use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::Block;
use crate::types::derive::hashable_type;

/// Applies the rule to a block's WHERE.
pub fn apply(b: &mut Block) {
    let mut found: Vec<Expr> = Vec::new();
    for e in &b.filter {
        let ExprKind::Or(alternatives) = &e.kind else {
            continue;
        };
        let Some((first, others)) = alternatives.split_first() else {
            continue;
        };
        for one in conjuncts(first) {
            let Some(pair) = equated(one) else { continue };
            let asked = |e: &Expr| conjuncts(e).iter().any(|c| equated(c) == Some(pair));
            let known = |e: &Expr| equated(e) == Some(pair);
            if others.iter().all(asked) && !b.filter.iter().any(known) && !found.iter().any(known) {
                found.push(one.clone());
            }
        }
    }
    b.filter.extend(found);
}

fn conjuncts(e: &Expr) -> &[Expr] {
    match &e.kind {
        ExprKind::And(list) => list,
        _ => std::slice::from_ref(e),
    }
}

/// The two columns, (table, column) in order, that an equality compares.
type Pair = ((usize, usize), (usize, usize));

fn equated(e: &Expr) -> Option<Pair> {
    let ExprKind::Compare(CompareOp::Eq, sides, _) = &e.kind else {
        return None;
    };
    let column = |e: &Expr| match e.kind {
        ExprKind::Column { source, column, .. } => Some((source, column)),
        _ => None,
    };
    let (a, b) = (column(&sides[0])?, column(&sides[1])?);
    hashable_type(&sides[0].ty, &sides[1].ty)?;
    (a.0 != b.0).then_some((a.min(b), a.max(b)))
}
