//! Conditions on a derived table alone are asked within it: before its rows are grouped where they read GROUP BY's columns only, after
//! that elsewhere, and in every arm of a UNION.

use super::Context;
use crate::expr::{Expr, ExprKind};
use crate::logical::{Arena, Block, Body, DerivedId, Query, SetOp, TableId, TableKind, Tree};

/// Applies the rule to a block.
pub fn apply(b: &mut Block, cx: &mut Context<'_>) {
    let Some(mut tree) = b.from.take() else {
        return;
    };
    let tables = b.tables.iter().filter_map(|t| match t.kind {
        TableKind::Derived { derived, .. } if cx.arena.derived[derived].uses == 1 => {
            Some((t.id, derived))
        }
        _ => None,
    });
    for (id, derived) in tables.collect::<Vec<_>>() {
        if !is_missing(&tree, id) {
            push(&mut b.filter, id, derived, cx);
        }
        in_tree(&mut tree, id, derived, cx);
    }
    b.from = Some(tree);
}

/// Whether a table is on a side of an outer join or semi-join whose rows WHERE does not choose among.
fn is_missing(t: &Tree, id: TableId) -> bool {
    match t {
        Tree::Leaf(_) => false,
        Tree::Inner { parts, .. } => parts.iter().any(|p| is_missing(p, id)),
        Tree::Left { left, right, .. } | Tree::Semi { left, right, .. } => {
            is_missing(left, id) || right.tables().contains(&id)
        }
    }
}

/// Pushes what the ONs say of a table.
fn in_tree(t: &mut Tree, id: TableId, derived: DerivedId, cx: &mut Context<'_>) {
    match t {
        Tree::Leaf(_) => {}
        Tree::Inner { parts, on, .. } => {
            let here = |p: &Tree| p.tables().contains(&id) && !is_missing(p, id);
            if parts.iter().any(here) {
                push(on, id, derived, cx);
            }
            parts.iter_mut().for_each(|p| in_tree(p, id, derived, cx));
        }
        Tree::Left { left, right, on }
        | Tree::Semi {
            left, right, on, ..
        } => {
            if right.tables().contains(&id) && !is_missing(right, id) {
                push(on, id, derived, cx);
            }
            in_tree(left, id, derived, cx);
            in_tree(right, id, derived, cx);
        }
    }
}

/// Moves the conditions that read nothing but a derived table into it.
fn push(conds: &mut Vec<Expr>, id: TableId, derived: DerivedId, cx: &mut Context<'_>) {
    let mut q = std::mem::take(&mut cx.arena.derived[derived].query);
    if takes(&q, cx.arena, cx.assigns) {
        conds.retain(|e| !(is_about(e, id, cx) && all_take(&mut q, e, id)));
    }
    cx.arena.derived[derived].query = q;
}

/// Whether conditions may be asked of a query's rows before they are made: their number decides nothing, nor do variables.
fn takes(q: &Query, arena: &Arena, assigns: bool) -> bool {
    let plain = match &q.body {
        Body::Block(b) => b.limit.is_none(),
        // A condition may tell rows apart that INTERSECT and EXCEPT take for equal.
        Body::Set(u) => {
            u.op == SetOp::Union
                && u.limit.is_none()
                && u.arms.iter().all(|(q, _)| takes(q, arena, assigns))
        }
        Body::Values(_) | Body::Recursive(_) | Body::Windowed(_) | Body::JsonTable(_) => false,
    };
    plain && !q.calc_found_rows && arena.is_deterministic(q, assigns)
}

fn is_about(e: &Expr, id: TableId, cx: &Context<'_>) -> bool {
    let mut own = false;
    let mut other = e.has_subquery();
    e.columns(&mut |t, _| match t == id {
        true => own = true,
        false => other = true,
    });
    own && !other && e.is_deterministic(cx.assigns)
}

/// Asks a condition within a query, if all of its arms can.
fn all_take(q: &mut Query, e: &Expr, id: TableId) -> bool {
    let can = can_take(q, &q.types, e, id);
    if can {
        take(q, e, id);
    }
    can
}

/// The columns of a table that a condition reads.
fn columns(e: &Expr, id: TableId) -> Vec<usize> {
    let mut list = Vec::new();
    e.columns(&mut |t, c| {
        if t == id {
            list.push(c);
        }
    });
    list
}

/// Whether a condition means the same with the expressions of the select lists in the place of the columns.
fn can_take(q: &Query, types: &[crate::types::SqlType], e: &Expr, id: TableId) -> bool {
    match &q.body {
        Body::Block(b) => columns(e, id).into_iter().all(|c| {
            let own = &b.select[c];
            let param = matches!(own.kind, ExprKind::Param(_) | ExprKind::Beside(..));
            !param && !own.has_subquery() && q.types[c] == types[c] && own.ty == types[c]
        }),
        Body::Set(u) => u.arms.iter().all(|(q, _)| can_take(q, types, e, id)),
        Body::Values(_) | Body::Recursive(_) | Body::Windowed(_) | Body::JsonTable(_) => false,
    }
}

fn take(q: &mut Query, e: &Expr, id: TableId) {
    match &mut q.body {
        Body::Block(b) => {
            let mut own = e.clone();
            own.walk_mut(&mut |x| {
                if let ExprKind::Column { source, column, .. } = x.kind
                    && source == id
                {
                    *x = b.select[column].clone();
                }
            });
            let before = match &b.group {
                None => true,
                Some(g) => {
                    let key = |c: usize| g.keys.iter().any(|k| is_same_column(k, &b.select[c]));
                    g.explicit && columns(e, id).into_iter().all(key)
                }
            };
            if before {
                b.filter.push(own);
            } else {
                b.having.push(own);
            }
        }
        Body::Set(u) => u.arms.iter_mut().for_each(|(q, _)| take(q, e, id)),
        Body::Values(_) | Body::Recursive(_) | Body::Windowed(_) | Body::JsonTable(_) => {}
    }
}

fn is_same_column(a: &Expr, b: &Expr) -> bool {
    let column = |e: &Expr| match e.kind {
        ExprKind::Column { source, column, .. } => Some((source, column)),
        _ => None,
    };
    column(a).is_some() && column(a) == column(b)
}
