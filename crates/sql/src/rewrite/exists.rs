//! EXISTS that depends on the rows around it by equalities alone, asked as IN is: its own rows are read into a hash table, instead
//! of once per row around it. The execution does so only once it has been asked a few times. Any other EXISTS needs one row.

use super::Context;
use crate::expr::{CompareOp, Expr, ExprKind, RowTest};
use crate::logical::{Ask, Block, Body, Query, Root, SubqueryId, TableKind};
use crate::switches::Flag;
use crate::types::SqlType;
use crate::types::derive::hashable_type;
use crate::value::Value;

/// Most rows that are kept for it, as estimated: what is kept must stay in memory.
const MOST_ROWS: u64 = 100_000;

/// An EXISTS that was turned: what is looked up among its rows, and whether it was NOT EXISTS.
struct Turned {
    id: SubqueryId,
    around: Vec<Expr>,
    negated: bool,
}

/// Applies the rule to a statement.
pub fn apply(root: &mut Root, cx: &mut Context<'_>) {
    let mut turned: Vec<Turned> = Vec::new();
    for id in 0..cx.arena.subqueries.len() {
        let Ask::Exists { negated } = cx.arena.subqueries[id].ask else {
            continue;
        };
        let mut q = std::mem::take(&mut cx.arena.subqueries[id].query);
        let keeps = cx.switches.has(Flag::Materialization);
        match keeps.then(|| equalities(&mut q, cx)).flatten() {
            Some((own, around)) => {
                cx.arena.subqueries[id].ask = look_up(&own);
                cx.arena.subqueries[id].exists = true;
                turned.push(Turned {
                    id,
                    around,
                    negated,
                });
            }
            None => limit_to_one(&mut q),
        }
        cx.arena.subqueries[id].query = q;
    }
    if turned.is_empty() {
        return;
    }
    let mut each = |e: &mut Expr| e.walk_mut(&mut |x| ask_otherwise(x, &turned));
    root.exprs_mut(&mut each);
    for d in &mut cx.arena.derived {
        d.query.exprs_mut(&mut each);
    }
    for s in &mut cx.arena.subqueries {
        s.query.exprs_mut(&mut each);
    }
}

/// How the rows with these columns are looked up.
fn look_up(own: &[Expr]) -> Ask {
    let collations: Vec<_> = own.iter().map(|e| e.ty.collation).collect();
    match collations[..] {
        [collation] => Ask::In {
            negated: false,
            collation,
        },
        _ => Ask::Row {
            test: RowTest::In { negated: false },
            collations,
        },
    }
}

/// An EXISTS as the look-up that it has become. It is never NULL.
fn ask_otherwise(e: &mut Expr, turned: &[Turned]) {
    if let ExprKind::Subquery { id, operands, .. } = &mut e.kind
        && operands.is_empty()
        && let Some(t) = turned.iter().find(|t| t.id == *id)
    {
        *operands = t.around.clone();
        let mut said = std::mem::replace(e, Expr::null());
        said.nullable = true;
        let kind = ExprKind::IsTruth(Box::new(said), true, t.negated);
        *e = Expr::new(kind, SqlType::boolean(), false);
    }
}

/// One row is enough to know.
fn limit_to_one(q: &mut Query) {
    if let Body::Block(b) = &mut q.body
        && b.limit.count.is_none()
        && b.group.is_none()
    {
        b.limit.count = Some(Expr::literal(Value::Int(1), SqlType::bigint()));
        b.order.clear();
        b.distinct = false;
    }
}

/// Takes the equalities with the blocks around out of an EXISTS' conditions: (what its rows have, what is looked up among
/// them). `None` if other conditions read the blocks around, or an index finds the rows anyway.
fn equalities(q: &mut Query, cx: &Context<'_>) -> Option<(Vec<Expr>, Vec<Expr>)> {
    let Body::Block(b) = &mut q.body else {
        return None;
    };
    if b.group.is_some() || !b.having.is_empty() || !b.limit.is_none() || !is_small(b, cx) {
        return None;
    }
    let mut plain = true;
    b.exprs(&mut |e| plain &= !e.has_subquery());
    if let Some(tree) = &b.from {
        tree.conditions(&mut |e| e.columns(&mut |t, _| plain &= b.table(t).is_some()));
    }
    plain &= b.filter.iter().all(|e| e.is_deterministic(cx.assigns));
    if !plain {
        return None;
    }
    let mut pairs = Vec::new();
    let mut kept = Vec::new();
    for e in &b.filter {
        let mut around = false;
        e.columns(&mut |t, _| around |= b.table(t).is_none());
        if !around {
            kept.push(e.clone());
            continue;
        }
        pairs.push(pair(e, b).filter(|(own, _)| !is_indexed(own, b))?);
    }
    if pairs.is_empty() {
        return None;
    }
    let (own, around): (Vec<Expr>, Vec<Expr>) = pairs.into_iter().unzip();
    b.filter = kept;
    b.select = own.clone();
    b.order.clear();
    b.distinct = false;
    q.types = own.iter().map(|e| e.ty.clone()).collect();
    Some((own, around))
}

/// Whether a block reads stored tables only, without locking them, and few enough rows of them, even if each meets each.
fn is_small(b: &Block, cx: &Context<'_>) -> bool {
    let mut rows = b.tables.iter().map(|t| match &t.kind {
        TableKind::Stored {
            table, lock: None, ..
        } => Some(cx.tables[*table].rows.max(1)),
        _ => None,
    });
    rows.try_fold(1, |all: u64, rows| Some(all.saturating_mul(rows?)))
        .is_some_and(|rows| rows <= MOST_ROWS)
}

/// Whether a column begins an index.
fn is_indexed(e: &Expr, b: &Block) -> bool {
    let ExprKind::Column { source, column, .. } = e.kind else {
        return false;
    };
    match b.table(source).map(|t| &t.kind) {
        Some(TableKind::Stored { schema, .. }) => schema
            .indexes
            .iter()
            .any(|i| i.parts.first().is_some_and(|p| p.column == column)),
        _ => false,
    }
}

/// An equality of something of this block with something around it: (own, around).
pub fn pair(e: &Expr, b: &Block) -> Option<(Expr, Expr)> {
    let ExprKind::Compare(CompareOp::Eq, sides, collation) = &e.kind else {
        return None;
    };
    let [x, y] = &**sides;
    let (own, around) = match (reads(x, b)?, reads(y, b)?) {
        (Reads::Own, Reads::Around) => (x, y),
        (Reads::Around, Reads::Own) => (y, x),
        _ => return None,
    };
    // Only what is equal where its bytes are can be hashed.
    hashable_type(&around.ty, &own.ty)?;
    (!own.ty.is_string() || *collation == own.ty.collation).then(|| (own.clone(), around.clone()))
}

#[derive(PartialEq)]
enum Reads {
    Nothing,
    Own,
    Around,
}

/// What an expression reads; `None` if both, or if its value does not follow from what it reads.
fn reads(e: &Expr, b: &Block) -> Option<Reads> {
    if !e.is_const_or_columns() {
        return None;
    }
    let (mut own, mut around) = (false, false);
    e.columns(&mut |t, _| match b.table(t) {
        Some(_) => own = true,
        None => around = true,
    });
    match (own, around) {
        (true, true) => None,
        (true, false) => Some(Reads::Own),
        (false, true) => Some(Reads::Around),
        (false, false) => Some(Reads::Nothing),
    }
}
