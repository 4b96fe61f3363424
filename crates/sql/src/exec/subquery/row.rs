//! Rows against the rows of a subquery: `(a, b) = (SELECT ...)`, `(a, b) IN (SELECT ...)`.

use std::rc::Rc;

use hashbrown::HashSet;

use super::{Kept, keep};
use crate::error::{SqlError, SqlResult};
use crate::exec::block;
use crate::exec::hash::hash_value;
use crate::exec::state::{Flow, Kept2d, State};
use crate::expr::{CompareOp, RowRef, RowTest};
use crate::plan::nodes::Subquery;
use crate::types::derive::hash_type;
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
pub struct Table {
    rows: Kept2d,
    /// Whether a NULL is among their values.
    null: bool,
    /// The bytes of those without, if values of these types compare as their bytes do.
    set: Option<Set>,
}

/// The types that rows' bytes are of, and the bytes.
type Set = (Vec<SqlType>, HashSet<Box<[u8]>>);

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
            let kept = table(st, q, left, rows)?;
            let first;
            let all = match kept.as_deref() {
                Some(Kept::Table(t)) => &t.rows,
                // Too many to be kept; two are too many already.
                _ => {
                    first = block::collect(st, &q.query, rows, 2)?;
                    &first
                }
            };
            let nulls = vec![Value::Null; left.values.len()];
            match &all[..] {
                [] => compare(op, left, &nulls),
                [one] => compare(op, left, one),
                _ => return Err(SqlError::new(1242, "Subquery returns more than 1 row")),
            }
        }
        RowTest::In { negated } => {
            if q.exists && left.values.iter().any(Value::is_null) {
                return Ok(Value::Null);
            }
            let kept = if q.stays() {
                table(st, q, left, rows)?
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

/// The subquery's rows, read once if they stay the same and are kept.
fn table<'s>(
    st: &mut State<'s>,
    q: &'s Subquery,
    left: &Left<'_>,
    rows: &[RowRef<'_>],
) -> SqlResult<Option<Rc<Kept>>> {
    keep::kept(st, q, rows, |st, got| hashed(st, got, left, &q.query.types))
}

fn hashed(st: &State<'_>, got: Kept2d, left: &Left<'_>, right: &[SqlType]) -> SqlResult<Kept> {
    let types = left.types.iter().zip(right).map(|(l, r)| hash_type(l, r));
    let mut set = types
        .collect::<Option<Vec<_>>>()
        .map(|types| (types, HashSet::new()));
    let mut null = false;
    let mut buffer = Vec::new();
    for r in &got {
        if r.iter().any(Value::is_null) {
            null = true;
        } else if let Some((types, set)) = &mut set {
            bytes(st, r, right.iter(), types, &mut buffer)?;
            set.insert(buffer.as_slice().into());
        }
    }
    Ok(Kept::Table(Table {
        rows: got,
        null,
        set,
    }))
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

fn member(st: &State<'_>, t: &Table, left: &Left<'_>) -> SqlResult<Option<bool>> {
    let known = !left.values.iter().any(Value::is_null);
    if known && let Some((types, set)) = &t.set {
        let mut buffer = Vec::new();
        let own = left.types.iter().copied();
        bytes(st, left.values, own, types, &mut buffer)?;
        if set.contains(&buffer[..]) {
            return Ok(Some(true));
        }
        if !t.null {
            return Ok(Some(false));
        }
    }
    let mut found = Some(false);
    for r in &t.rows {
        if meet(left, r, &mut found) == Flow::Stop {
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
