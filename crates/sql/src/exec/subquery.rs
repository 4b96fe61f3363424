//! Subqueries in expressions.

mod keep;
mod row;

use std::rc::Rc;

use hashbrown::HashSet;

use super::block;
use super::hash::hash_value;
use super::state::{Flow, Kept2d, State};
use crate::error::{SqlError, SqlResult};
use crate::expr::{CompareOp, RowRef};
use crate::plan::nodes::{Ask, ExprWithSubqueries, Subquery};
use crate::types::SqlType;
use crate::types::derive::hash_type;
use crate::value::Value;
use row::Left;

/// The result of a subquery that stays the same during a statement.
pub enum Kept {
    /// A value.
    Value(Value<'static>),
    /// Nothing so far: that many times its rows were read.
    Read(u32),
    /// Nothing: its rows do not fit into memory.
    TooLarge,
    /// Rows to look a row up in.
    Table(row::Table),
    /// A column.
    Rows {
        /// Its values.
        rows: Kept2d,
        /// Whether NULL is among them.
        null: bool,
        /// The others' bytes, if values of this type compare as their bytes do.
        set: Option<(SqlType, HashSet<Box<[u8]>>)>,
    },
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
            let mut got = block::collect(st, plan_query, rows, 2)?;
            let v = match got.len() {
                0 => Value::Null,
                1 => got.pop().map_or(Value::Null, |r| {
                    r.into_vec().into_iter().next().unwrap_or(Value::Null)
                }),
                _ => return Err(SqlError::new(1242, "Subquery returns more than 1 row")),
            };
            if keep {
                st.subqueries[q.id] = Some(Rc::new(Kept::Value(v.clone())));
            }
            Ok(v)
        }
        Ask::Exists { negated } => {
            if keep && let Some(Kept::Value(v)) = st.subqueries[q.id].as_deref() {
                return Ok(v.clone());
            }
            let mut any = false;
            block::query(st, plan_query, rows, &mut |_, _| {
                any = true;
                Ok(Flow::Stop)
            })?;
            let v = Value::bool(any != *negated);
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
            let left = operand(st, all, source, value, rows)?;
            if q.exists && left.is_null() {
                return Ok(Value::Null);
            }
            let kept = if keep {
                column(st, q, &value.expr.ty, rows)?
            } else {
                None
            };
            let found = if let Some(kept) = kept {
                member(st, &kept, &left, &value.expr.ty, *collation)?
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
                    _ => left
                        .compare(right, *collation)
                        .map(|o| compare_holds(*op, o)),
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
            let kept = if keep {
                column(st, q, &value.expr.ty, rows)?
            } else {
                None
            };
            if let Some(Kept::Rows { rows, .. }) = kept.as_deref() {
                for r in rows {
                    if step(&r[0]) == Flow::Stop {
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

/// The column of a subquery that stays the same, if it is kept.
fn column<'s>(
    st: &mut State<'s>,
    q: &'s Subquery,
    left: &SqlType,
    rows: &[RowRef<'_>],
) -> SqlResult<Option<Rc<Kept>>> {
    let right = &q.query.types[0];
    keep::kept(st, q, rows, |st, got| hashed(st, got, left, right))
}

fn hashed(st: &State<'_>, got: Kept2d, left: &SqlType, right: &SqlType) -> SqlResult<Kept> {
    let mut set = hash_type(left, right).map(|ty| (ty, HashSet::new()));
    let mut null = false;
    let cx = st.context(&[]);
    let mut buffer = Vec::new();
    for r in &got {
        if r[0].is_null() {
            null = true;
        } else if let Some((ty, set)) = &mut set {
            buffer.clear();
            hash_value(r[0].borrowed(), right, ty, &cx, &mut buffer)?;
            set.insert(buffer.as_slice().into());
        }
    }
    Ok(Kept::Rows {
        rows: got,
        null,
        set,
    })
}

/// `left IN column`.
fn member(
    st: &State<'_>,
    kept: &Kept,
    left: &Value<'static>,
    ty: &SqlType,
    collation: crate::types::Collation,
) -> SqlResult<Option<bool>> {
    let Kept::Rows { rows, null, set } = kept else {
        return Ok(Some(false));
    };
    if rows.is_empty() {
        return Ok(Some(false));
    }
    if left.is_null() {
        return Ok(None);
    }
    let found = match set {
        Some((set_type, set)) => {
            let mut buffer = Vec::new();
            hash_value(left.borrowed(), ty, set_type, &st.context(&[]), &mut buffer)?;
            set.contains(&buffer[..])
        }
        None => rows
            .iter()
            .any(|r| left.compare(&r[0], collation).is_some_and(|o| o.is_eq())),
    };
    Ok(if found {
        Some(true)
    } else if *null {
        None
    } else {
        Some(false)
    })
}

fn compare_holds(op: CompareOp, o: std::cmp::Ordering) -> bool {
    match op {
        CompareOp::Eq | CompareOp::NullSafeEq => o.is_eq(),
        CompareOp::Ne => o.is_ne(),
        CompareOp::Lt => o.is_lt(),
        CompareOp::Le => o.is_le(),
        CompareOp::Gt => o.is_gt(),
        CompareOp::Ge => o.is_ge(),
    }
}
