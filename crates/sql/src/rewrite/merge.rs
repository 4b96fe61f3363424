//! Derived tables, WITH queries and views that are plain joins under conditions become part of the block that reads them, so that its
//! conditions choose their indexes and its join order includes their tables.

use super::{Context, is_straight};
use crate::expr::{Expr, ExprKind};
use crate::logical::{Arena, Block, Body, DerivedId, TableId, TableKind, Tree};

/// Most tables of a block.
const MAX_TABLES: usize = 61;

/// Applies the rule to a block.
pub fn apply(b: &mut Block, cx: &mut Context<'_>) {
    if b.from.as_ref().is_none_or(is_straight) {
        return;
    }
    let mut at = 0;
    while at < b.tables.len() {
        let id = b.tables[at].id;
        match b.tables[at].kind {
            TableKind::Derived { derived, .. } if merges(b, id, derived, cx) => {
                inline(b, at, derived, cx.arena);
            }
            _ => at += 1,
        }
    }
}

fn merges(b: &Block, id: TableId, derived: DerivedId, cx: &Context<'_>) -> bool {
    let d = &cx.arena.derived[derived];
    let Body::Block(inner) = &d.query.body else {
        return false;
    };
    let missing = b.from.as_ref().is_some_and(|t| is_missing(t, id));
    d.uses == 1
        && !d.is_apart()
        && !d.query.calc_found_rows
        && inner.group.is_none()
        && inner.having.is_empty()
        && !inner.distinct
        && inner.limit.is_none()
        && inner.from.as_ref().is_some_and(|t| !is_straight(t))
        && b.tables.len() + inner.tables.len() <= MAX_TABLES
        && inner.tables.iter().all(|t| is_read_only(&t.kind, cx))
        && cx.arena.is_deterministic(&d.query, cx.assigns)
        && inner.select.iter().all(|e| is_movable(e, missing, inner))
}

/// Whether a table is neither locked nor changed by the statement: what is to be read to its end before that stays apart.
fn is_read_only(kind: &TableKind, cx: &Context<'_>) -> bool {
    match kind {
        TableKind::Stored { table, lock, .. } => lock.is_none() && !cx.tables[*table].write,
        TableKind::Derived { .. } => true,
        TableKind::Lateral { .. } | TableKind::Virtual(_) | TableKind::Row(_) => false,
    }
}

/// Whether a column of the derived table may be replaced by its expression. Where an outer join puts NULLs in the place of its rows,
/// the expression must be NULL for them.
fn is_movable(e: &Expr, missing: bool, inner: &Block) -> bool {
    if missing {
        return matches!(e.kind, ExprKind::Column { source, .. } if inner.table(source).is_some());
    }
    let param = matches!(e.kind, ExprKind::Param(_) | ExprKind::Beside(..));
    !param && !e.has_subquery()
}

/// Whether a table is on the side of an outer join that may be missing.
pub fn is_missing(t: &Tree, id: TableId) -> bool {
    match t {
        Tree::Leaf(_) => false,
        Tree::Inner { parts, .. } => parts.iter().any(|p| is_missing(p, id)),
        Tree::Left { left, right, .. } => is_missing(left, id) || right.tables().contains(&id),
        Tree::Semi { left, right, .. } => is_missing(left, id) || is_missing(right, id),
    }
}

/// Puts the tables of a derived table, which is a plain join, in its place.
pub fn inline(b: &mut Block, at: usize, derived: DerivedId, arena: &mut Arena) {
    let q = std::mem::take(&mut arena.derived[derived].query);
    let (Body::Block(inner), Some(tree)) = (q.body, b.from.take()) else {
        return;
    };
    let mut inner = *inner;
    let id = b.tables.remove(at).id;
    // Its order is that of the rows only where nothing else makes one.
    let alone = b.tables.is_empty() && b.group.is_none() && !b.distinct && b.order.is_empty();
    if alone && b.having.is_empty() {
        b.order = std::mem::take(&mut inner.order);
    }
    b.tables.splice(at..at, inner.tables);
    let filter = inner.filter;
    let mut part = inner.from.map(|t| (t, filter));
    let (tree, filter) = put(tree, id, &mut part);
    b.from = Some(tree);
    b.filter.extend(filter);
    let by = inner.select;
    b.exprs_mut(&mut |e| arena.deep_mut(e, &mut |e| replace(e, id, &by)));
}

/// Puts expressions in the place of a table's columns.
pub fn replace(e: &mut Expr, table: TableId, by: &[Expr]) {
    e.walk_mut(&mut |x| {
        if let ExprKind::Column { source, column, .. } = x.kind
            && source == table
        {
            let nullable = x.nullable;
            *x = by[column].clone();
            x.nullable |= nullable;
        }
    });
}

/// Puts a join tree in the place of a table. Its conditions go to the next ON, or are given back where there is none.
fn put(tree: Tree, id: TableId, part: &mut Option<(Tree, Vec<Expr>)>) -> (Tree, Vec<Expr>) {
    match tree {
        Tree::Leaf(leaf) if leaf == id => part.take().unwrap_or((Tree::Leaf(leaf), Vec::new())),
        Tree::Leaf(leaf) => (Tree::Leaf(leaf), Vec::new()),
        Tree::Inner {
            parts,
            mut on,
            straight,
        } => {
            let mut put_one = |p| {
                let (tree, filter) = put(p, id, part);
                on.extend(filter);
                tree
            };
            let parts = parts.into_iter().map(&mut put_one).collect();
            let tree = Tree::Inner {
                parts,
                on,
                straight,
            };
            (tree, Vec::new())
        }
        Tree::Left {
            left,
            right,
            mut on,
        } => {
            let (left, filter) = put(*left, id, part);
            let (right, more) = put(*right, id, part);
            on.extend(more);
            let tree = Tree::Left {
                left: Box::new(left),
                right: Box::new(right),
                on,
            };
            (tree, filter)
        }
        Tree::Semi {
            left,
            right,
            mut on,
            anti,
        } => {
            let (left, filter) = put(*left, id, part);
            let (right, more) = put(*right, id, part);
            on.extend(more);
            let tree = Tree::Semi {
                left: Box::new(left),
                right: Box::new(right),
                on,
                anti,
            };
            (tree, filter)
        }
    }
}
