//! Rows against the rows of a subquery: `(a, b) = (SELECT ...)`, `(a, b) IN (SELECT ...)`.

use std::rc::Rc;

use super::{Kept, keep};
use crate::error::SqlResult;
use crate::exec::block;
use crate::exec::hash::hash_value;
use crate::exec::keyed_rows::KeyedRows;
use crate::exec::row_buffer::{self, BLOCK_BYTES, RowBuffer};
use crate::exec::state::{Flow, State};
use crate::expr::{CompareOp, RowRef, RowTest};
use crate::plan::nodes::Subquery;
use crate::types::derive::hashable_by;
use crate::types::{Collation, SqlType};
use crate::value::Value;

/// The row on the left.
pub struct Left<'l> {
    /// Its values.
    pub values: &'l [Value<'static>],
    /// Their types.
    pub types: &'l [&'l SqlType],
    /// The collations they are compared by.
    pub collations: &'l [Collation],
}

/// The rows of a subquery that stays the same.
pub struct Table<'s> {
    /// All of them.
    rows: RowBuffer<'s>,
    /// Those with a NULL among their values, if the others are in `set`.
    open: RowBuffer<'s>,
    /// The others by their sort keys as these types have them.
    set: Option<(Vec<SqlType>, KeyedRows<'s>)>,
}

/// What the test says.
pub fn value<'s>(
    st: &mut State<'s>,
    q: &'s Subquery,
    test: RowTest,
    left: &Left<'_>,
    rows: &[RowRef<'_>],
) -> SqlResult<Value<'static>> {
    let said = match test {
        RowTest::Compare(op) => {
            let first = two(st, q, rows)?;
            let Kept::First(all) = &*first else {
                return Ok(Value::Null);
            };
            let nulls = vec![Value::Null; left.values.len()];
            match &all[..] {
                [] => compare(op, left, &nulls),
                [one] => compare(op, left, one),
                _ => {
                    super::too_many(st)?;
                    return Ok(Value::Null);
                }
            }
        }
        RowTest::In { negated } => {
            if q.exists && left.values.iter().any(Value::is_null) {
                return Ok(Value::Null);
            }
            let kept = if q.stays() && q.keeps {
                keep::kept(st, q, |st| table(st, q, left, rows))?
            } else {
                None
            };
            let found = if let Some(Kept::Table(t)) = kept.as_deref() {
                member(st, t, left)?
            } else {
                let mut found = Some(false);
                block::query(st, &q.query, rows, &mut |_, r| {
                    Ok(meet(left, r, &mut found))
                })?;
                found
            };
            found.map(|f| f != negated)
        }
    };
    Ok(said.map_or(Value::Null, Value::bool))
}

/// One more row of those that the left one may be among.
fn meet(left: &Left<'_>, right: &[Value<'_>], found: &mut Option<bool>) -> Flow {
    match compare(CompareOp::Eq, left, right) {
        Some(true) => {
            *found = Some(true);
            return Flow::Stop;
        }
        Some(false) => {}
        None => *found = None,
    }
    Flow::Continue
}

/// The first two rows, read once if they stay the same: two are too many already.
fn two<'s>(st: &mut State<'s>, q: &'s Subquery, rows: &[RowRef<'_>]) -> SqlResult<Rc<Kept<'s>>> {
    if let Some(kept) = &st.subqueries[q.id]
        && q.stays()
    {
        return Ok(kept.clone());
    }
    let first = Rc::new(Kept::First(block::collect(st, &q.query, rows, 2)?));
    if q.stays() {
        st.subqueries[q.id] = Some(first.clone());
    }
    Ok(first)
}

/// Reads the rows of a subquery that stays the same.
fn table<'s>(
    st: &mut State<'s>,
    q: &'s Subquery,
    left: &Left<'_>,
    rows: &[RowRef<'_>],
) -> SqlResult<Kept<'s>> {
    let right = &q.query.types;
    let types = left.types.iter().zip(right).zip(left.collations);
    let types = types.map(|((l, r), collation)| hashable_by(l, r, *collation));
    let types: Option<Vec<SqlType>> = types.collect();
    let limit = st.limits.table;
    let mut table = Table {
        rows: RowBuffer::new(st, limit, BLOCK_BYTES),
        open: RowBuffer::new(st, limit, BLOCK_BYTES),
        set: types.map(|types| (types, KeyedRows::new(st, limit, true))),
    };
    let mut key = Vec::new();
    block::query(st, &q.query, rows, &mut |st, r| {
        table.rows.push(r)?;
        if let Some((types, set)) = &mut table.set {
            if r.iter().any(Value::is_null) {
                table.open.push(r)?;
            } else {
                bytes(st, r, right.iter(), types, &mut key)?;
                set.add(st, &key, &[])?;
            }
        }
        Ok(Flow::Continue)
    })?;
    if let Some((_, set)) = &mut table.set {
        set.finish(st)?;
    }
    Ok(Kept::Table(table))
}

/// A row's bytes as `types` have them.
fn bytes<'t>(
    st: &State<'_>,
    row: &[Value<'_>],
    own: impl Iterator<Item = &'t SqlType>,
    types: &[SqlType],
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    out.clear();
    for ((v, own), ty) in row.iter().zip(own).zip(types) {
        hash_value(v.borrowed(), own, ty, &st.context(&[]), out)?;
    }
    Ok(())
}

fn member<'s>(st: &mut State<'s>, t: &Table<'s>, left: &Left<'_>) -> SqlResult<Option<bool>> {
    let known = !left.values.iter().any(Value::is_null);
    let mut rest = &t.rows;
    if known && let Some((types, set)) = &t.set {
        let mut key = Vec::new();
        let own = left.types.iter().copied();
        bytes(st, left.values, own, types, &mut key)?;
        if set.contains(st, &key)? {
            return Ok(Some(true));
        }
        // Only where there is a NULL it may be open whether it is equal.
        rest = &t.open;
    }
    let mut found = Some(false);
    let mut reader = rest.reader();
    while let Some(row) = reader.next(rest)? {
        st.tick()?;
        if meet(left, &row_buffer::values(row), &mut found) == Flow::Stop {
            break;
        }
    }
    Ok(found)
}

/// `left op right`, part by part; `None` where a NULL leaves it open.
fn compare(op: CompareOp, left: &Left<'_>, right: &[Value<'_>]) -> Option<bool> {
    let pairs = left.values.iter().zip(right).zip(left.collations);
    let parts = pairs.map(|((l, r), collation)| match op {
        CompareOp::NullSafeEq if l.is_null() && r.is_null() => Some(std::cmp::Ordering::Equal),
        CompareOp::NullSafeEq if l.is_null() || r.is_null() => Some(std::cmp::Ordering::Less),
        _ => l.compare(r, *collation),
    });
    let ordered = !matches!(op, CompareOp::Eq | CompareOp::Ne | CompareOp::NullSafeEq);
    let mut open = false;
    for part in parts {
        match part {
            Some(o) if o.is_eq() => {}
            // The first parts that differ decide, whatever follows.
            Some(o) => return Some(op.holds(o)),
            None if ordered => return None,
            None => open = true,
        }
    }
    (!open).then(|| op.holds(std::cmp::Ordering::Equal))
}
