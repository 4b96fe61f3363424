//! What nobody reads is not computed: columns of derived tables, aggregates that only such columns read, and outer joins that neither add a
//! row nor lend a column.
//!
//! - An unread column of a derived table is NULL. It keeps its place, so nothing is renumbered. DISTINCT and UNION read all columns.
//!   Left alone is what may do more than make a value: a subquery may fail, a volatile function may be waited for.
//! - `a LEFT JOIN b ON b.key = …` has one row for each of `a` if the ON fixes a unique key of `b`, or all that a derived table is grouped
//!   by. If nothing but the ON reads `b` then, it goes. (MySQL 8 does the former for derived tables; the latter is
//!   "join elimination" in the literature, as in Oracle's and MariaDB's "table elimination".) The ON must compare without converting: that may leave
//!   warnings. Tables that are locked as they are read stay.

use hashbrown::HashMap;

use super::semi_joins::{fixes, is_unique};
use super::{Context, blocks};
use crate::expr::{Expr, ExprKind};
use crate::logical::{Arena, Block, Body, Query, Root, SetOp, TableId, TableKind, Tree};
use crate::types::derive::hashable_type;
use crate::value::Value;

/// How many times columns of each table are named.
type Counts = HashMap<TableId, usize>;

/// Applies the rule to a statement, queries before the derived tables that they read.
pub fn apply(root: &mut Root, cx: &mut Context<'_>) {
    let mut counts = Counts::new();
    each_expr(root, cx.arena, &mut |e| {
        e.columns(&mut |t, _| *counts.entry(t).or_default() += 1)
    });
    root.queries_mut(&mut |q| blocks(q, &mut |b| joins(b, &mut counts, cx)));
    for at in 0..cx.arena.subqueries.len() {
        let mut q = std::mem::take(&mut cx.arena.subqueries[at].query);
        blocks(&mut q, &mut |b| joins(b, &mut counts, cx));
        cx.arena.subqueries[at].query = q;
    }
    // A derived table is numbered after those that it reads.
    for at in (0..cx.arena.derived.len()).rev() {
        let read = read_of(root, cx.arena, at);
        let mut q = std::mem::take(&mut cx.arena.derived[at].query);
        if takes(&q) {
            columns(&mut q, &read, cx);
        }
        blocks(&mut q, &mut |b| joins(b, &mut counts, cx));
        cx.arena.derived[at].query = q;
    }
}

fn each_expr(root: &mut Root, arena: &Arena, f: &mut dyn FnMut(&Expr)) {
    root.exprs_mut(&mut |e| f(e));
    for q in queries(arena) {
        q.exprs(f);
    }
}

fn queries(arena: &Arena) -> impl Iterator<Item = &Query> {
    let subqueries = arena.subqueries.iter().map(|s| &s.query);
    subqueries.chain(arena.derived.iter().map(|d| &d.query))
}

/// The columns of a derived table that anything reads.
fn read_of(root: &mut Root, arena: &Arena, at: usize) -> Vec<usize> {
    let mut ids = Vec::new();
    let mut note = |t: &crate::logical::Table| match t.kind {
        TableKind::Derived { derived, .. } if derived == at => ids.push(t.id),
        _ => {}
    };
    root.queries_mut(&mut |q| q.tables(&mut note));
    if let Some(find) = root.find_mut() {
        find.tables.iter().for_each(&mut note);
    }
    queries(arena).for_each(|q| q.tables(&mut note));
    let mut read = Vec::new();
    each_expr(root, arena, &mut |e| {
        e.columns(&mut |t, c| {
            if ids.contains(&t) {
                read.push(c);
            }
        });
    });
    read
}

/// Whether columns of a query's rows may be others without there being other rows.
fn takes(q: &Query) -> bool {
    match &q.body {
        Body::Block(b) => !b.distinct,
        Body::Set(u) => {
            u.op == SetOp::Union && u.arms.iter().all(|(q, distinct)| !distinct && takes(q))
        }
        Body::Values(_) | Body::Recursive(_) | Body::Windowed(_) | Body::JsonTable(_) => false,
    }
}

/// Leaves those columns of a query out that are not read.
fn columns(q: &mut Query, read: &[usize], cx: &mut Context<'_>) {
    match &mut q.body {
        Body::Block(b) => {
            for (n, e) in b.select.iter_mut().enumerate() {
                if !read.contains(&n) && is_idle(e, cx) {
                    *e = Expr::literal(Value::Null, e.ty.clone());
                }
            }
            aggregates(b, cx);
        }
        Body::Set(u) => {
            let mut read = read.to_vec();
            for o in &u.order {
                o.expr.columns(&mut |t, c| {
                    if t == u.row {
                        read.push(c);
                    }
                });
            }
            u.arms.iter_mut().for_each(|(q, _)| columns(q, &read, cx));
        }
        Body::Values(_) | Body::Recursive(_) | Body::Windowed(_) | Body::JsonTable(_) => {}
    }
}

/// Whether to compute an expression does nothing but to make its value.
fn is_idle(e: &Expr, cx: &Context<'_>) -> bool {
    !e.has_subquery() && e.is_deterministic(cx.assigns) && e.is_const_or_columns()
}

/// Leaves those aggregates out that nothing reads.
fn aggregates(b: &mut Block, cx: &mut Context<'_>) {
    let Some(g) = &b.group else { return };
    let (id, count) = (g.id, g.aggregates.len());
    let mut read = vec![false; count];
    let mut note = |e: &Expr| {
        e.columns(&mut |t, c| {
            if t == id {
                read[c] = true;
            }
        });
    };
    b.exprs(&mut note);
    queries(cx.arena).for_each(|q| q.exprs(&mut note));
    for (n, a) in g.aggregates.iter().enumerate() {
        let order = a.order_by.iter().map(|(e, _)| e);
        read[n] |= !a.args.iter().chain(order).all(|e| is_idle(e, cx));
    }
    if read.iter().all(|r| *r) {
        return;
    }
    let place = |c: usize| read[..c].iter().filter(|r| **r).count();
    if let Some(g) = &mut b.group {
        let mut n = 0;
        g.aggregates.retain(|_| {
            n += 1;
            read[n - 1]
        });
    }
    let renumber = |e: &mut Expr| {
        e.walk_mut(&mut |x| {
            if let ExprKind::Column { source, column, .. } = &mut x.kind
                && *source == id
            {
                *column = place(*column);
            }
        });
    };
    b.exprs_mut(&mut |e| cx.arena.deep_mut(e, &mut |e| renumber(e)));
}

/// Leaves out outer joins of a block that nothing comes of.
fn joins(b: &mut Block, counts: &mut Counts, cx: &mut Context<'_>) {
    while let Some(mut tree) = b.from.take() {
        let gone = without(&mut tree, b, counts, cx);
        b.from = Some(tree);
        let Some(id) = gone else { return };
        b.tables.retain(|t| t.id != id);
    }
}

/// Takes one such join out of a tree: the table that is gone.
fn without(t: &mut Tree, b: &Block, counts: &mut Counts, cx: &mut Context<'_>) -> Option<TableId> {
    match t {
        Tree::Leaf(_) => None,
        Tree::Inner { parts, .. } => parts.iter_mut().find_map(|p| without(p, b, counts, cx)),
        Tree::Semi { left, right, .. } => {
            let gone = without(left, b, counts, cx);
            gone.or_else(|| without(right, b, counts, cx))
        }
        Tree::Left { left, right, on } => {
            if let Tree::Leaf(id) = **right
                && is_useless(right, id, on, b, counts, cx)
            {
                for e in on.iter() {
                    e.columns(&mut |t, _| {
                        if let Some(n) = counts.get_mut(&t) {
                            *n -= 1;
                        }
                    });
                }
                let kept = std::mem::replace(&mut **left, Tree::Leaf(id));
                *t = kept;
                return Some(id);
            }
            let gone = without(left, b, counts, cx);
            gone.or_else(|| without(right, b, counts, cx))
        }
    }
}

/// Whether a table has one row at most for each row around it, and nothing but the ON reads it.
fn is_useless(
    leaf: &Tree,
    id: TableId,
    on: &[Expr],
    b: &Block,
    counts: &Counts,
    cx: &Context<'_>,
) -> bool {
    let mut here = 0;
    for e in on {
        e.columns(&mut |t, _| here += usize::from(t == id));
    }
    let Some(table) = b.table(id) else {
        return false;
    };
    if counts.get(&id).copied().unwrap_or(0) > here || !on.iter().all(is_quiet) {
        return false;
    }
    match &table.kind {
        TableKind::Stored { lock, .. } => lock.is_none() && is_unique(leaf, &b.tables, on),
        TableKind::Derived { derived, .. } => {
            let q = &cx.arena.derived[*derived].query;
            is_grouped(q, id, on) && is_plain(q, cx)
        }
        TableKind::Lateral { .. } | TableKind::Virtual(_) | TableKind::Row(_) => false,
    }
}

/// Whether a condition compares columns and literals without converting them.
fn is_quiet(e: &Expr) -> bool {
    let simple = |e: &Expr| matches!(e.kind, ExprKind::Column { .. } | ExprKind::Literal(_));
    match &e.kind {
        ExprKind::Compare(_, sides, _) => {
            sides.iter().all(simple) && hashable_type(&sides[0].ty, &sides[1].ty).is_some()
        }
        ExprKind::IsNull(e) | ExprKind::IsNotNull(e) => simple(e),
        _ => false,
    }
}

/// Whether the ON fixes all that a query is grouped by.
fn is_grouped(q: &Query, id: TableId, on: &[Expr]) -> bool {
    let Body::Block(b) = &q.body else {
        return false;
    };
    let fixed = |c: usize| on.iter().any(|e| fixes(e, id, c));
    match &b.group {
        Some(g) if g.explicit => g.keys.iter().all(|key| {
            let is = |e: &Expr| key.as_column().is_some() && key.as_column() == e.as_column();
            let mut places = b.select.iter().enumerate().filter(|(_, e)| is(e));
            places.any(|(c, _)| fixed(c))
        }),
        Some(_) => true,
        None => b.distinct && (0..b.select.len()).all(fixed),
    }
}

/// Whether running a query does nothing but to make its rows.
fn is_plain(q: &Query, cx: &Context<'_>) -> bool {
    let mut plain = !q.calc_found_rows && cx.arena.is_deterministic(q, cx.assigns);
    q.exprs(&mut |e| plain &= is_idle(e, cx));
    q.tables(&mut |t| {
        plain &= matches!(t.kind, TableKind::Stored { lock: None, .. });
    });
    plain
}
