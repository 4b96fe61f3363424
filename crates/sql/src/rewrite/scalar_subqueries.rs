//! Scalar subqueries become derived tables: `x < (SELECT AVG(y) FROM t WHERE t.k = a.k)` reads the averages of all `k`, grouped, and joins
//! them (MySQL's manual, "Optimizing Derived Tables", `subquery_to_derived`; Kim, On Optimizing an SQL-like Nested Query, 1982).
//! Whether that is cheaper than to run it for each row is for the optimizer to say, which asks for each one.
//!
//! - The subquery has aggregates and no GROUP BY, so it has one row always. It depends on the rows around it by equalities of WHERE
//!   alone, whose inner sides are what the derived table is grouped by: it has one row at most for each row around.
//! - The join is an outer one. Where there is no group, the value is that of no rows: NULL or, if the select list makes something else of
//!   the aggregates of no rows (COUNT is 0), that. A NULL in a key meets no group, as it equals nothing.
//! - It stands in WHERE, in the select list or ORDER BY of a block without groups, or in the ON of a semi-join: where it is asked of
//!   each row of the block's own join. A block that itself depends on rows around it is left alone.
//! - Sums of floating-point numbers are left alone too: they depend on the order in which rows are read.

use super::exists::pair;
use super::{Context, constants, equalities, is_straight, locks, outer_joins, pushdown};
use crate::expr::{AggregateKind, AggregateSpec, Expr, ExprKind};
use crate::logical::{
    Ask, Block, Body, Derived, DerivedColumn, Group, Hints, Query, SubqueryId, Table, TableId,
    TableKind, Tree,
};
use crate::types::{BaseType, SqlType};
use crate::value::Value;

/// Most tables of a block.
const MAX_TABLES: usize = 61;

/// Where the derived table is joined.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// With all tables of the block.
    Block,
    /// With those that a semi-join looks for, of which this is one.
    Beside(TableId),
}

/// What becomes of a subquery.
struct Turned {
    place: Place,
    /// What the derived table is grouped by, and what around it that equals.
    pairs: Vec<(Expr, Expr)>,
    /// The other conditions.
    filter: Vec<Expr>,
}

/// The scalar subqueries of a query's block that could be derived tables.
pub fn candidates(q: &Query, cx: &Context<'_>) -> Vec<SubqueryId> {
    let Body::Block(b) = &q.body else {
        return Vec::new();
    };
    let mut ids = Vec::new();
    b.exprs(&mut |e| e.subqueries(&mut |id| ids.push(id)));
    if ids.is_empty() || !cx.arena.outer(q).is_empty() {
        return Vec::new();
    }
    ids.sort_unstable();
    ids.dedup();
    ids.retain(|&id| turnable(b, id, cx).is_some());
    ids
}

/// Makes one of them a derived table.
pub fn apply(b: &mut Block, id: SubqueryId, cx: &mut Context<'_>) {
    let Some(turned) = turnable(b, id, cx) else {
        return;
    };
    let q = std::mem::take(&mut cx.arena.subqueries[id].query);
    let Body::Block(inner) = q.body else { return };
    let table = cx.arena.table_id();
    let (derived, columns, value) = grouped(*inner, &turned, table);
    b.tables.push(Table {
        id: table,
        name: format!("derived_1_{}", id + 2),
        database: String::new(),
        table: String::new(),
        kind: TableKind::Derived {
            derived: cx.arena.derived.len(),
            columns: columns.clone(),
        },
        hints: Hints::default(),
    });
    cx.arena.derived.push(Derived::of(derived, 1));
    let keys = turned.pairs.into_iter().enumerate();
    let on = keys.map(|(n, (_, around))| {
        let key = column(table, n, &columns[n]);
        Expr::compare(crate::expr::CompareOp::Eq, around, key)
    });
    let on: Vec<Expr> = on.collect();
    b.from = b.from.take().map(|t| joined(t, turned.place, table, on));
    b.exprs_mut(&mut |e| put(e, id, &value));
    outer_joins::apply(b);
    constants::apply(b);
    equalities::apply(b);
    pushdown::apply(b, cx);
}

/// Puts a value in the place of a subquery.
fn put(e: &mut Expr, id: SubqueryId, value: &Expr) {
    e.walk_mut(&mut |x| {
        if is_subquery(x, id) {
            let ty = std::mem::replace(&mut x.ty, SqlType::null());
            *x = value.clone();
            x.ty = ty;
        }
    });
}

fn is_subquery(e: &Expr, of: SubqueryId) -> bool {
    matches!(e.kind, ExprKind::Subquery { id, .. } if id == of)
}

fn asks(e: &Expr, id: SubqueryId) -> bool {
    let mut any = false;
    e.walk(&mut |x| any |= is_subquery(x, id));
    any
}

/// Joins a derived table at its place.
fn joined(t: Tree, place: Place, table: TableId, on: Vec<Expr>) -> Tree {
    let beside = |t: Tree, on| Tree::Left {
        left: Box::new(t),
        right: Box::new(Tree::Leaf(table)),
        on,
    };
    let Place::Beside(member) = place else {
        return beside(t, on);
    };
    match t {
        Tree::Semi {
            left,
            right,
            on: own,
            anti,
        } => {
            let (left, right) = match right.tables().contains(&member) {
                true => (left, Box::new(beside(*right, on))),
                false => (Box::new(joined(*left, place, table, on)), right),
            };
            Tree::Semi {
                left,
                right,
                on: own,
                anti,
            }
        }
        t => t,
    }
}

/// The derived table of a subquery, its columns, and the subquery's value as the join gives it.
fn grouped(mut inner: Block, turned: &Turned, table: TableId) -> (Query, Vec<DerivedColumn>, Expr) {
    let keys: Vec<Expr> = turned.pairs.iter().map(|(own, _)| own.clone()).collect();
    let value = inner.select.swap_remove(0);
    let group = inner.group.take();
    let (id, aggregates) = group.map_or((0, Vec::new()), |g| (g.id, g.aggregates));
    let nothing = of_no_rows(&value, id, &aggregates);
    let list: Vec<Expr> = keys.iter().cloned().chain([value]).collect();
    let columns = list.iter().enumerate().map(|(n, e)| DerivedColumn {
        name: format!("column_{n}"),
        ty: e.ty.clone(),
        nullable: true,
        hold: crate::expr::Coercibility::Implicit,
    });
    let columns: Vec<DerivedColumn> = columns.collect();
    let last = columns.len() - 1;
    let mut found = column(table, last, &columns[last]);
    if let Some(nothing) = nothing {
        let ty = found.ty.clone();
        let is = ExprKind::IsNotNull(Box::new(column(table, 0, &columns[0])));
        let is = Expr::new(is, SqlType::boolean(), false);
        let case = ExprKind::Case(vec![(is, found)], Some(Box::new(nothing)));
        found = Expr::new(case, ty, true);
    }
    let query = Query::of(Block {
        filter: turned.filter.clone(),
        group: Some(Group {
            id,
            keys,
            explicit: true,
            rolled: false,
            aggregates,
        }),
        select: list,
        distinct: false,
        order: Vec::new(),
        limit: Default::default(),
        ..inner
    });
    (query, columns, found)
}

fn column(table: TableId, n: usize, c: &DerivedColumn) -> Expr {
    Expr::column(table, n, c.ty.clone(), true, &c.name)
}

/// What an expression makes of the aggregates of no rows; `None`: NULL.
fn of_no_rows(e: &Expr, group: TableId, aggregates: &[AggregateSpec]) -> Option<Expr> {
    let counts = |n: usize| value_of_nothing(&aggregates[n]).is_some();
    fn is_null(e: &Expr, group: TableId, counts: &dyn Fn(usize) -> bool) -> bool {
        match &e.kind {
            ExprKind::Column { source, column, .. } => *source == group && !counts(*column),
            ExprKind::Arithmetic(_, sides) => sides.iter().any(|e| is_null(e, group, counts)),
            ExprKind::Negate(e) | ExprKind::Cast(e) => is_null(e, group, counts),
            _ => false,
        }
    }
    if is_null(e, group, &counts) {
        return None;
    }
    let mut e = e.clone();
    e.walk_mut(&mut |x| {
        if let ExprKind::Column { source, column, .. } = x.kind
            && source == group
        {
            let value = value_of_nothing(&aggregates[column]).unwrap_or(Value::Null);
            *x = Expr::literal(value, x.ty.clone());
        }
    });
    Some(e)
}

/// What an aggregate of no rows is; `None`: NULL.
fn value_of_nothing(a: &AggregateSpec) -> Option<Value<'static>> {
    use AggregateKind as K;
    match a.kind {
        K::CountStar | K::Count => Some(Value::Int(0)),
        K::BitAnd => Some(Value::UInt(u64::MAX)),
        K::BitOr | K::BitXor => Some(Value::UInt(0)),
        _ => None,
    }
}

/// Whether an aggregate's value does not depend on the order of its rows.
fn is_exact(a: &AggregateSpec) -> bool {
    use AggregateKind as K;
    match a.kind {
        K::CountStar | K::Count | K::Min | K::Max | K::BitAnd | K::BitOr | K::BitXor => true,
        K::Sum | K::Avg => !matches!(a.ty.base, BaseType::Double | BaseType::Float),
        _ => false,
    }
}

fn turnable(b: &Block, id: SubqueryId, cx: &Context<'_>) -> Option<Turned> {
    let place = place(b, id, cx)?;
    let s = &cx.arena.subqueries[id];
    let (Ask::Scalar, Body::Block(inner)) = (&s.ask, &s.query.body) else {
        return None;
    };
    let from = b.from.as_ref()?;
    let usable = |t: &Table| match t.kind {
        TableKind::Stored { lock, .. } => lock.is_none(),
        TableKind::Derived { .. } => true,
        TableKind::Lateral { .. } | TableKind::Virtual(_) | TableKind::Row(_) => false,
    };
    let group = inner.group.as_ref()?;
    let known = b.tables.len() < MAX_TABLES
        && !is_straight(from)
        && !locks(&b.tables)
        && !group.explicit
        && group.aggregates.iter().all(is_exact)
        && inner.having.is_empty()
        && inner.limit.is_none()
        && inner.select.len() == 1
        && inner.from.is_some()
        && inner.tables.iter().all(usable)
        && !s.query.calc_found_rows
        && cx.arena.is_deterministic(&s.query, cx.assigns);
    let mut plain = known;
    inner.exprs(&mut |e| plain &= !e.has_subquery());
    if !plain {
        return None;
    }
    let mut pairs = Vec::new();
    let mut filter = Vec::new();
    for e in &inner.filter {
        match reads_around(e, inner) {
            true => pairs.push(pair(e, inner)?),
            false => filter.push(e.clone()),
        }
    }
    // Nothing else may read the rows around.
    let mut own = true;
    if let Some(t) = &inner.from {
        t.conditions(&mut |e| own &= !reads_around(e, inner));
    }
    let of_groups = group.aggregates.iter().flat_map(|a| {
        let order = a.order_by.iter().map(|(e, _)| e);
        a.args.iter().chain(order)
    });
    for e in inner.select.iter().chain(of_groups) {
        e.columns(&mut |t, _| own &= t == group.id || inner.table(t).is_some());
    }
    let beside = |t| match place {
        Place::Block => b.table(t).is_some(),
        Place::Beside(member) => right_of(from, member).contains(&t),
    };
    for (_, around) in &pairs {
        around.columns(&mut |t, _| own &= beside(t));
    }
    (own && !pairs.is_empty()).then_some(Turned {
        place,
        pairs,
        filter,
    })
}

fn reads_around(e: &Expr, inner: &Block) -> bool {
    let mut around = false;
    e.columns(&mut |t, _| around |= inner.table(t).is_none());
    around
}

/// The tables that the semi-join looks for of which one is this.
fn right_of(t: &Tree, member: TableId) -> Vec<TableId> {
    match t {
        Tree::Semi { left, right, .. } => {
            let tables = right.tables();
            match tables.contains(&member) {
                true => tables,
                false => right_of(left, member),
            }
        }
        _ => Vec::new(),
    }
}

/// Where the table of a subquery is to be joined: all that asks for it must come after.
fn place(b: &Block, id: SubqueryId, cx: &Context<'_>) -> Option<Place> {
    let mut all = 0;
    b.exprs(&mut |e| all += usize::from(asks(e, id)));
    // An alias of the block may stand for it in others.
    let others = cx.arena.subqueries.iter().map(|s| &s.query);
    let mut elsewhere = false;
    for q in others.chain(cx.arena.derived.iter().map(|d| &d.query)) {
        q.exprs(&mut |e| elsewhere |= asks(e, id));
    }
    if all == 0 || elsewhere {
        return None;
    }
    let mut here = b.filter.iter().filter(|e| asks(e, id)).count();
    if b.group.is_none() {
        let order = b.order.iter().map(|o| &o.expr);
        here += b.select.iter().chain(order).filter(|e| asks(e, id)).count();
    }
    if here == all {
        return Some(Place::Block);
    }
    let mut tree = b.from.as_ref()?;
    while let Tree::Semi {
        left, right, on, ..
    } = tree
    {
        if on.iter().filter(|e| asks(e, id)).count() == all {
            return right.tables().first().map(|&t| Place::Beside(t));
        }
        tree = left;
    }
    None
}
