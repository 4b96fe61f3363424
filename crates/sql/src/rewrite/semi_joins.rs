//! IN and EXISTS among the conjuncts of WHERE become semi-joins, NOT EXISTS and NOT IN of what can't be NULL anti-joins: the subquery's
//! tables take part in the join order, and its conditions in the choice of indexes.
//!
//! A semi-join with a table that has one row at most for each row around it is an inner join.

use super::{Context, is_straight, locks};
use crate::expr::{CompareOp, Expr, ExprKind, RowTest};
use crate::logical::{Ask, Block, Body, Query, SubqueryId, Table, TableKind, Tree};
use crate::types::derive::hashable_type;
use crate::types::{Collation, SqlType};
use crate::value::Value;

/// Most tables of a block.
const MAX_TABLES: usize = 61;
/// Most rows of a subquery's tables, each beside each, as estimated, if no index finds them: they may have to be kept.
const MOST_ROWS: u64 = 200_000;

/// Applies the rule to a block.
pub fn apply(b: &mut Block, cx: &mut Context<'_>) {
    if b.from.as_ref().is_none_or(is_straight) || locks(&b.tables) {
        return;
    }
    for conjunct in std::mem::take(&mut b.filter) {
        match asked(&conjunct, cx).and_then(|asked| joinable(asked, b, cx)) {
            Some(join) => join.add(b, cx),
            None => b.filter.push(conjunct),
        }
    }
}

/// A subquery that a conjunct asks whether it has a row.
struct Asked {
    id: SubqueryId,
    anti: bool,
    /// What its columns are to equal, and by which collations.
    operands: Vec<(Expr, Collation)>,
}

fn asked(e: &Expr, cx: &Context<'_>) -> Option<Asked> {
    let ExprKind::Subquery { id, operands, .. } = &e.kind else {
        return None;
    };
    let q = &cx.arena.subqueries[*id];
    let (anti, collations) = match &q.ask {
        Ask::Exists { negated } => (*negated, Vec::new()),
        Ask::In { negated, collation } => (*negated, vec![*collation]),
        Ask::Row {
            test: RowTest::In { negated: false },
            collations,
        } => (false, collations.clone()),
        _ => return None,
    };
    Some(Asked {
        id: *id,
        anti,
        operands: operands.iter().cloned().zip(collations).collect(),
    })
}

/// A subquery that can be joined.
struct Join {
    id: SubqueryId,
    anti: bool,
    on: Vec<Expr>,
}

fn joinable(asked: Asked, b: &Block, cx: &Context<'_>) -> Option<Join> {
    let q = &cx.arena.subqueries[asked.id].query;
    let inner = plain(q, asked.operands.is_empty())?;
    let known = |e: &Expr| e.is_deterministic(cx.assigns) && !e.has_subquery();
    if b.tables.len() + inner.tables.len() > MAX_TABLES
        || !cx.arena.is_deterministic(q, cx.assigns)
        || !asked.operands.iter().all(|(e, _)| known(e))
        || !inner.select.iter().all(|e| !e.has_subquery())
    {
        return None;
    }
    let mut on = Vec::new();
    for ((operand, collation), own) in asked.operands.into_iter().zip(&inner.select) {
        // What compares otherwise than by its bytes is left to IN itself.
        let ty = hashable_type(&operand.ty, &own.ty)?;
        let nullable = operand.nullable || own.nullable;
        if ty.is_string() && ty.collation != collation || asked.anti && nullable {
            return None;
        }
        let sides = Box::new([operand, own.clone()]);
        let kind = ExprKind::Compare(CompareOp::Eq, sides, collation);
        on.push(Expr::new(kind, SqlType::boolean(), nullable));
    }
    on.extend(inner.filter.iter().cloned());
    let found = on.iter().any(|e| is_indexed(e, inner));
    (found || is_small(inner, cx)).then_some(Join {
        id: asked.id,
        anti: asked.anti,
        on,
    })
}

/// The block of a subquery whose rows are those of its join under its conditions.
fn plain(q: &Query, exists: bool) -> Option<&Block> {
    let Body::Block(b) = &q.body else {
        return None;
    };
    // One row is enough for EXISTS.
    let one = |n: &Expr| matches!(n.as_constant(), Some(Value::Int(1..) | Value::UInt(1..)));
    let unlimited = match (&b.limit.count, &b.limit.offset) {
        (None, None) => true,
        (Some(n), None) => exists && one(n),
        _ => false,
    };
    let computed = |t: &Table| {
        matches!(
            t.kind,
            TableKind::Lateral { .. } | TableKind::Virtual(_) | TableKind::Row(_)
        )
    };
    let usable = b.group.is_none()
        && b.having.is_empty()
        && unlimited
        && !locks(&b.tables)
        && !b.tables.iter().any(computed)
        && b.from.as_ref().is_some_and(|t| !is_straight(t));
    usable.then_some(b)
}

/// Whether a condition compares the first column of an index of the block's only table with something else.
fn is_indexed(e: &Expr, b: &Block) -> bool {
    let ExprKind::Compare(CompareOp::Eq, sides, _) = &e.kind else {
        return false;
    };
    let [t] = &b.tables[..] else { return false };
    let TableKind::Stored { schema, .. } = &t.kind else {
        return false;
    };
    let first = |column: usize| {
        let mut indexes = schema.indexes.iter();
        indexes.any(|i| {
            i.parts
                .first()
                .is_some_and(|p| p.column == column && p.prefix.is_none())
        })
    };
    let own = |e: &Expr| matches!(e.kind, ExprKind::Column { source, column, .. } if source == t.id && first(column));
    own(&sides[0]) != own(&sides[1])
}

fn is_small(b: &Block, cx: &Context<'_>) -> bool {
    let rows = b.tables.iter().map(|t| match &t.kind {
        TableKind::Stored { table, .. } => cx.tables[*table].rows.max(1),
        _ => 1,
    });
    rows.fold(1u64, u64::saturating_mul) <= MOST_ROWS
}

impl Join {
    /// Joins the subquery to the block.
    fn add(self, b: &mut Block, cx: &mut Context<'_>) {
        let q = std::mem::take(&mut cx.arena.subqueries[self.id].query);
        let (Body::Block(inner), Some(left)) = (q.body, b.from.take()) else {
            return;
        };
        let Some(right) = inner.from else { return };
        let once = !self.anti && is_unique(&right, &inner.tables, &self.on);
        b.tables.extend(inner.tables);
        b.from = Some(if once {
            Tree::Inner {
                parts: vec![left, right],
                on: self.on,
                straight: false,
            }
        } else {
            Tree::Semi {
                left: Box::new(left),
                right: Box::new(right),
                on: self.on,
                anti: self.anti,
            }
        });
    }
}

/// Whether a join's right side is one table of which the conditions find one row at most: they fix all of a unique key.
pub fn is_unique(right: &Tree, tables: &[Table], on: &[Expr]) -> bool {
    let Tree::Leaf(id) = right else { return false };
    let Some(TableKind::Stored { schema, .. }) =
        tables.iter().find(|t| t.id == *id).map(|t| &t.kind)
    else {
        return false;
    };
    let fixed = |column: usize| on.iter().any(|e| fixes(e, *id, column));
    schema.indexes.iter().any(|i| {
        let whole = |p: &crate::types::KeyPart| p.prefix.is_none() && fixed(p.column);
        i.unique && !i.parts.is_empty() && i.parts.iter().all(whole)
    })
}

/// Whether a condition says that a column equals something that is not of its table.
pub fn fixes(e: &Expr, table: usize, column: usize) -> bool {
    let ExprKind::Compare(CompareOp::Eq, sides, collation) = &e.kind else {
        return false;
    };
    let is = |e: &Expr| matches!(e.kind, ExprKind::Column { source, column: c, .. } if source == table && c == column);
    let reads = |e: &Expr| {
        let mut any = e.has_subquery();
        e.columns(&mut |t, _| any |= t == table);
        any
    };
    let (own, other) = match (is(&sides[0]), is(&sides[1])) {
        (true, false) => (&sides[0], &sides[1]),
        (false, true) => (&sides[1], &sides[0]),
        _ => return false,
    };
    // Equal by another rule than the index's, several keys may be equal to one value.
    let same = hashable_type(&own.ty, &other.ty)
        .is_some_and(|ty| !ty.is_string() || *collation == own.ty.collation);
    same && !reads(other)
}
