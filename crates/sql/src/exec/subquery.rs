//! Subqueries in expressions.

mod keep;
mod lazy;
mod memo;
mod row;

use std::cell::RefCell;
use std::rc::Rc;

use super::block;
use super::fulltext;
use super::hash::hash_value;
use super::keyed_rows::KeyedRows;
use super::lateral::Last;
use super::row_buffer::{BLOCK_BYTES, RowBuffer};
use super::state::{Flow, Kept2d, State};
use crate::env::{Around, StoredFunction};
use crate::error::{SqlError, SqlResult};
use crate::expr::{CompareOp, RowRef};
use crate::plan::nodes::{Ask, ExprWithSubqueries, Query, Subquery};
use crate::row::Reader;
use crate::types::SqlType;
use crate::types::derive::hashable_by;
use crate::value::Value;
pub use lazy::Lazy;
pub use memo::put_read;
use row::Left;

/// The result of a subquery that stays the same during a statement.
pub enum Kept<'s> {
    /// A value.
    Value(Value<'static>),
    /// Nothing so far: that many times its rows were read.
    Read(u32),
    /// Its first two rows.
    First(Kept2d),
    /// Rows to look a row up in.
    Table(row::Table<'s>),
    /// A column.
    Column(Column<'s>),
    /// Its values by what it reads of the rows around it.
    Memo(Rc<RefCell<memo::Memo>>),
    /// Not of a subquery, but of a lateral table: the rows computed last.
    Last(Last<'s>),
}

/// A column to look a value up in.
pub struct Column<'s> {
    /// Its values, unless they are in `set`.
    rows: RowBuffer<'s>,
    /// Whether NULL is among them.
    null: bool,
    /// Whether there are no rows.
    empty: bool,
    /// The values that are not NULL, by their sort keys as this type has them.
    set: Option<(SqlType, KeyedRows<'s>)>,
}

/// The value of a subquery; `rows` has the values of those before it.
pub fn value<'s>(
    st: &mut State<'s>,
    all: &'s [Subquery],
    source: usize,
    n: usize,
    rows: &[RowRef<'_>],
) -> SqlResult<Value<'static>> {
    let q = &all[n];
    let plan_query = &q.query;
    let keep = q.stays();
    match &q.ask {
        Ask::Scalar => {
            if keep && let Some(Kept::Value(v)) = st.subqueries[q.id].as_deref() {
                return Ok(v.clone());
            }
            let v = memo::value(st, q, rows, |st| scalar(st, plan_query, rows))?;
            if keep {
                st.subqueries[q.id] = Some(Rc::new(Kept::Value(v.clone())));
            }
            Ok(v)
        }
        Ask::Call(function) => {
            if keep && let Some(Kept::Value(v)) = st.subqueries[q.id].as_deref() {
                return Ok(v.clone());
            }
            let v = memo::value(st, q, rows, |st| called(st, function, plan_query, rows))?;
            if keep {
                st.subqueries[q.id] = Some(Rc::new(Kept::Value(v.clone())));
            }
            Ok(v)
        }
        Ask::Fulltext(search) => {
            if keep && let Some(Kept::Value(v)) = st.subqueries[q.id].as_deref() {
                return Ok(v.clone());
            }
            let v = memo::value(st, q, rows, |st| {
                fulltext::search(st, *search, plan_query, rows)
            })?;
            if keep {
                st.subqueries[q.id] = Some(Rc::new(Kept::Value(v.clone())));
            }
            Ok(v)
        }
        Ask::Exists { negated } => {
            if keep && let Some(Kept::Value(v)) = st.subqueries[q.id].as_deref() {
                return Ok(v.clone());
            }
            let v = memo::value(st, q, rows, |st| {
                let mut any = false;
                block::query(st, plan_query, rows, &mut |_, _| {
                    any = true;
                    Ok(Flow::Stop)
                })?;
                Ok(Value::bool(any != *negated))
            })?;
            if keep {
                st.subqueries[q.id] = Some(Rc::new(Kept::Value(v.clone())));
            }
            Ok(v)
        }
        Ask::In {
            value,
            negated,
            collation,
        } => {
            // A constant is looked at only where there is something to compare it with.
            let late = value.expr.is_const();
            let mut left = match late {
                true => Value::Null,
                false => operand(st, all, source, value, rows)?,
            };
            if !late && q.exists && left.is_null() {
                return Ok(Value::Null);
            }
            let right = &plan_query.types[0];
            let ty = hashable_by(&value.expr.ty, right, *collation);
            let kept = if keep && q.keeps {
                keep::kept(st, q, |st| column(st, plan_query, ty, rows))?
            } else {
                None
            };
            if late {
                match kept.as_deref() {
                    Some(Kept::Column(c)) if c.empty => return Ok(Value::bool(*negated)),
                    _ => left = operand(st, all, source, value, rows)?,
                }
            }
            if q.exists && left.is_null() {
                return Ok(Value::Null);
            }
            let found = if let Some(Kept::Column(c)) = kept.as_deref() {
                member(st, c, &left, &value.expr.ty, *collation)?
            } else {
                let mut found = Some(false);
                block::query(st, plan_query, rows, &mut |_, r| {
                    Ok(match left.compare(&r[0], *collation) {
                        Some(o) if o.is_eq() => {
                            found = Some(true);
                            Flow::Stop
                        }
                        Some(_) => Flow::Continue,
                        None => {
                            found = None;
                            Flow::Continue
                        }
                    })
                })?;
                found
            };
            Ok(found.map_or(Value::Null, |f| Value::bool(f != *negated)))
        }
        Ask::Row {
            values,
            test,
            collations,
        } => {
            let mut left = Vec::with_capacity(values.len());
            for v in values {
                left.push(operand(st, all, source, v, rows)?);
            }
            let types: Vec<&SqlType> = values.iter().map(|v| &v.expr.ty).collect();
            row::value(
                st,
                q,
                *test,
                &Left {
                    values: &left,
                    types: &types,
                    collations,
                },
                rows,
            )
        }
        Ask::Quantified {
            value,
            op,
            all: every,
            collation,
        } => {
            let left = operand(st, all, source, value, rows)?;
            // ANY is decided by the first true, ALL by the first false.
            let mut result = Some(*every);
            let mut step = |right: &Value<'_>| {
                let holds = match op {
                    CompareOp::NullSafeEq if left.is_null() || right.is_null() => {
                        Some(left.is_null() && right.is_null())
                    }
                    _ => left.compare(right, *collation).map(|o| op.holds(o)),
                };
                match holds {
                    Some(h) if h != *every => {
                        result = Some(h);
                        Flow::Stop
                    }
                    Some(_) => Flow::Continue,
                    None => {
                        result = None;
                        Flow::Continue
                    }
                }
            };
            let kept = if keep && q.keeps {
                keep::kept(st, q, |st| column(st, plan_query, None, rows))?
            } else {
                None
            };
            if let Some(Kept::Column(c)) = kept.as_deref() {
                let mut reader = c.rows.reader();
                while let Some(bytes) = reader.next(&c.rows)? {
                    st.tick()?;
                    if step(&Reader(bytes).value()) == Flow::Stop {
                        break;
                    }
                }
            } else {
                block::query(st, plan_query, rows, &mut |_, r| Ok(step(&r[0])))?;
            }
            Ok(result.map_or(Value::Null, Value::bool))
        }
    }
}

/// What a stored function makes of the arguments that a query of one row gives.
fn called<'s>(
    st: &mut State<'s>,
    function: &StoredFunction,
    q: &'s Query,
    rows: &[RowRef<'_>],
) -> SqlResult<Value<'static>> {
    let args = block::collect(st, q, rows, 1)?.pop();
    let mut args = args.map_or_else(Vec::new, <[_]>::into_vec);
    args.truncate(function.parameters);
    let Some(services) = &st.env.services else {
        return Err(SqlError::unsupported("stored functions"));
    };
    let plan = st.plan;
    let tables = |ids: &mut Vec<u64>| ids.extend(plan.tables.iter().map(|t| t.table.def().id));
    services.call(
        function,
        args,
        Around {
            txn: st.txn,
            env: st.env,
            owner: st.owner,
            memory: st.memory,
            tables: &tables,
        },
    )
}

/// The one value of a query; error 1242 if there are more, even under IGNORE.
fn scalar<'s>(st: &mut State<'s>, q: &'s Query, rows: &[RowRef<'_>]) -> SqlResult<Value<'static>> {
    let mut got = block::collect(st, q, rows, 2)?;
    Ok(match got.len() {
        0 => Value::Null,
        1 => got.pop().map_or(Value::Null, |r| {
            r.into_vec().into_iter().next().unwrap_or(Value::Null)
        }),
        _ => {
            too_many(st)?;
            Value::Null
        }
    })
}

/// Error 1242, one of those that IGNORE makes a warning: the value is NULL then.
fn too_many(st: &State<'_>) -> SqlResult<()> {
    let message = "Subquery returns more than 1 row";
    match st.plan.root.ignores() {
        true => st.env.warn(1242, message),
        false => return Err(SqlError::new(1242, message)),
    }
    Ok(())
}

/// The left side of IN and the like.
fn operand<'s>(
    st: &mut State<'s>,
    all: &'s [Subquery],
    source: usize,
    value: &ExprWithSubqueries,
    rows: &[RowRef<'_>],
) -> SqlResult<Value<'static>> {
    // Subqueries in it were numbered, and computed, before this one, unless they run per row.
    if value.subqueries.is_empty() {
        return Ok(value.expr.shown(&st.context(rows))?.into_owned());
    }
    let values = st.subquery_values(all, source, &value.subqueries, rows)?;
    let mut now: super::state::Rows<'_> = super::state::Rows::from_slice(rows);
    now[source] = RowRef::Values(&values);
    Ok(value.expr.shown(&st.context(&now))?.into_owned())
}

/// Reads the column of a subquery that stays the same: to be looked up as this type, or one after another.
fn column<'s>(
    st: &mut State<'s>,
    q: &'s Query,
    ty: Option<SqlType>,
    rows: &[RowRef<'_>],
) -> SqlResult<Kept<'s>> {
    let mut column = Column {
        rows: RowBuffer::new(st, st.limits.table, BLOCK_BYTES),
        null: false,
        empty: true,
        set: ty.map(|ty| (ty, KeyedRows::new(st, st.limits.table, true))),
    };
    let right = &q.types[0];
    let mut key = Vec::new();
    block::query(st, q, rows, &mut |st, r| {
        column.empty = false;
        column.null |= r[0].is_null();
        match &mut column.set {
            Some(_) if r[0].is_null() => {}
            Some((ty, set)) => {
                key.clear();
                hash_value(r[0].borrowed(), right, ty, &st.context(&[]), &mut key)?;
                set.add(st, &key, &[])?;
            }
            None => {
                st.tick()?;
                column.rows.push(&r[..1])?;
            }
        }
        Ok(Flow::Continue)
    })?;
    if let Some((_, set)) = &mut column.set {
        set.finish(st)?;
    }
    Ok(Kept::Column(column))
}

/// `left IN column`.
fn member<'s>(
    st: &mut State<'s>,
    column: &Column<'s>,
    left: &Value<'static>,
    ty: &SqlType,
    collation: crate::types::Collation,
) -> SqlResult<Option<bool>> {
    if column.empty {
        return Ok(Some(false));
    }
    if left.is_null() {
        return Ok(None);
    }
    let mut found = false;
    if let Some((set_type, set)) = &column.set {
        let mut key = Vec::new();
        hash_value(left.borrowed(), ty, set_type, &st.context(&[]), &mut key)?;
        found = set.contains(st, &key)?;
    } else {
        let mut reader = column.rows.reader();
        while let Some(bytes) = reader.next(&column.rows)? {
            st.tick()?;
            let equal = left.compare(&Reader(bytes).value(), collation);
            if equal.is_some_and(|o| o.is_eq()) {
                found = true;
                break;
            }
        }
    }
    Ok(if found {
        Some(true)
    } else if column.null {
        None
    } else {
        Some(false)
    })
}
