//! What a node gives its parent: one value for all rows asked for, or a value for each, densely.

use std::borrow::Cow;

use super::super::vector::{Data, Vector};
use super::{Frame, Tried};
use crate::expr::Expr;
use crate::value::{Decimal, Value};

/// Rows of a batch that are asked for.
#[derive(Clone, Copy)]
pub(super) enum Rows<'s> {
    /// All, so many.
    All(usize),
    /// Those at these positions, which ascend.
    Some(&'s [u32]),
}

impl Rows<'_> {
    pub fn len(self) -> usize {
        match self {
            Rows::All(n) => n,
            Rows::Some(list) => list.len(),
        }
    }
    /// The position in the batch of one of them.
    #[inline]
    pub fn at(self, i: usize) -> usize {
        match self {
            Rows::All(_) => i,
            Rows::Some(list) => list[i] as usize,
        }
    }
    /// The positions in the batch of some of them.
    pub fn subset(self, which: &[u32]) -> Vec<u32> {
        match self {
            Rows::All(_) => which.to_vec(),
            Rows::Some(list) => which.iter().map(|i| list[*i as usize]).collect(),
        }
    }
}

/// Values of an expression.
pub(super) enum Operand<'b> {
    /// The same for all rows.
    Same(Value<'b>),
    /// One for each.
    Each(Vector<'b>),
}

impl<'b> Operand<'b> {
    /// The value of a row.
    pub fn value(&self, at: usize) -> Value<'_> {
        match self {
            Operand::Same(v) => v.borrowed(),
            Operand::Each(v) => v.value(at),
        }
    }
    /// The value, if there is but one.
    pub fn same(&self) -> Option<&Value<'b>> {
        match self {
            Operand::Same(v) => Some(v),
            Operand::Each(_) => None,
        }
    }
    /// Whether it is NULL for all rows.
    pub fn is_null(&self) -> bool {
        matches!(self, Operand::Same(Value::Null))
    }
    /// Which rows are NULL, where their values are typed.
    pub fn nulls(&self) -> Option<&[bool]> {
        match self {
            Operand::Each(v) => v.nulls.as_deref(),
            Operand::Same(_) => None,
        }
    }
    /// Whether all values that are not NULL are strings.
    pub fn is_text(&self) -> bool {
        match self {
            Operand::Same(v) => matches!(v, Value::Bytes(_)),
            Operand::Each(v) => matches!(v.data, Data::Bytes(_)),
        }
    }
    /// Whether any is a string.
    pub fn has_text(&self) -> bool {
        match self {
            Operand::Each(Vector {
                data: Data::Values(all),
                ..
            }) => all.iter().any(|v| matches!(v, Value::Bytes(_))),
            _ => self.is_text(),
        }
    }

    /// A value for each of `n` rows.
    pub fn into_vector(self, n: usize) -> Vector<'b> {
        let v = match self {
            Operand::Each(v) => return v,
            Operand::Same(v) => v,
        };
        Vector::of(match v {
            Value::Int(v) => Data::Int(vec![v; n]),
            Value::UInt(v) => Data::UInt(vec![v; n]),
            Value::Double(v) => Data::Double(vec![v; n]),
            Value::Date(v) => Data::Date(vec![v.pack(); n]),
            Value::Bytes(Cow::Borrowed(b)) => Data::Bytes(vec![b; n]),
            Value::Decimal(d) => match whole_digits(&d) {
                Some(v) => Data::Decimal(vec![v; n], d.scale()),
                None => Data::Values(vec![Value::Decimal(d); n]),
            },
            v => Data::Values(vec![v; n]),
        })
    }

    /// The values as [`Expr::shown`] gives them, those of `e` being as [`Expr::eval`] does.
    pub fn shown(self, e: &Expr) -> Operand<'b> {
        if e.is_free() {
            return self;
        }
        let shown = |v: Value<'b>| match v {
            Value::Decimal(d) => Value::Decimal(e.ty.shown(d)),
            v => v,
        };
        match self {
            Operand::Same(v) => Operand::Same(shown(v)),
            Operand::Each(Vector {
                data: Data::Values(all),
                nulls,
            }) => Operand::Each(Vector {
                data: Data::Values(all.into_iter().map(shown).collect()),
                nulls,
            }),
            Operand::Each(v) => match v.data {
                Data::Decimal(_, scale)
                    if e.ty.shown(Decimal::from_i128(0, scale)).scale() < scale =>
                {
                    let all = (0..v.len()).map(|i| match v.value(i) {
                        Value::Decimal(d) => Value::Decimal(e.ty.shown(d)),
                        _ => Value::Null,
                    });
                    Operand::Each(typed(all.collect()))
                }
                _ => Operand::Each(v),
            },
        }
    }

    /// Signed integers, if they are.
    pub fn ints(&self, n: usize) -> Option<Cow<'_, [i64]>> {
        match self {
            Operand::Same(Value::Int(v)) => Some(vec![*v; n].into()),
            Operand::Each(Vector {
                data: Data::Int(v), ..
            }) => Some(v.as_slice().into()),
            _ => None,
        }
    }
    /// Unsigned integers, if they are or equal such.
    pub fn uints(&self, n: usize) -> Option<Cow<'_, [u64]>> {
        match self {
            Operand::Same(Value::UInt(v)) => Some(vec![*v; n].into()),
            Operand::Same(Value::Int(v)) => Some(vec![u64::try_from(*v).ok()?; n].into()),
            Operand::Each(Vector {
                data: Data::UInt(v),
                ..
            }) => Some(v.as_slice().into()),
            _ => None,
        }
    }
    /// Digits and scale of integers and decimals.
    pub fn decimals(&self, n: usize) -> Option<(Cow<'_, [i64]>, u8)> {
        Some(match self {
            Operand::Same(Value::Decimal(d)) => (vec![whole_digits(d)?; n].into(), d.scale()),
            Operand::Same(Value::UInt(v)) => (vec![i64::try_from(*v).ok()?; n].into(), 0),
            Operand::Each(Vector {
                data: Data::Decimal(v, scale),
                ..
            }) => (v.as_slice().into(), *scale),
            Operand::Each(Vector {
                data: Data::UInt(v),
                nulls: None,
            }) => {
                let all: Option<Vec<i64>> = v.iter().map(|v| i64::try_from(*v).ok()).collect();
                (all?.into(), 0)
            }
            _ => (self.ints(n)?, 0),
        })
    }
    /// Doubles, of numbers.
    pub fn doubles(&self, n: usize) -> Option<Cow<'_, [f64]>> {
        Some(match self {
            Operand::Same(v) if v.is_number() => vec![v.to_f64(); n].into(),
            Operand::Same(_) => return None,
            Operand::Each(v) => match &v.data {
                Data::Double(v) => v.as_slice().into(),
                Data::Int(v) => v.iter().map(|v| *v as f64).collect(),
                Data::UInt(v) => v.iter().map(|v| *v as f64).collect(),
                Data::Decimal(v, scale) => v
                    .iter()
                    .map(|v| Decimal::from_i128((*v).into(), *scale).to_f64())
                    .collect(),
                _ => return None,
            },
        })
    }
    /// Whether they are doubles.
    pub fn is_double(&self) -> bool {
        match self {
            Operand::Same(v) => matches!(v, Value::Double(_)),
            Operand::Each(v) => matches!(v.data, Data::Double(_)),
        }
    }
}

/// All digits of a decimal, point or no, if they fit.
pub(super) fn whole_digits(d: &Decimal) -> Option<i64> {
    i64::try_from(d.to_i128()?).ok()
}

/// NULLs of two operands together.
pub(super) fn either(a: Option<&[bool]>, b: Option<&[bool]>) -> Option<Vec<bool>> {
    match (a, b) {
        (None, None) => None,
        (Some(a), None) | (None, Some(a)) => Some(a.to_vec()),
        (Some(a), Some(b)) => Some(a.iter().zip(b).map(|(a, b)| a | b).collect()),
    }
}

/// Values computed one by one, for each row, or once if no operand differs from row to row.
pub(super) fn one_by_one<'b>(
    same: bool,
    n: usize,
    mut f: impl FnMut(usize) -> Tried<Value<'b>>,
) -> Tried<Operand<'b>> {
    if same {
        return Ok(Operand::Same(f(0)?));
    }
    let all = (0..n).map(f).collect::<Tried<Vec<_>>>()?;
    Ok(Operand::Each(typed(all)))
}

/// Typed values where all are of one kind.
pub(super) fn typed(all: Vec<Value<'_>>) -> Vector<'_> {
    match try_typed(&all) {
        Some(v) => v,
        None => Vector::of(Data::Values(all)),
    }
}

fn try_typed<'b>(all: &[Value<'b>]) -> Option<Vector<'b>> {
    fn pick<'b, T: Default>(
        all: &[Value<'b>],
        f: impl Fn(&Value<'b>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let one = |v: &Value<'b>| match v {
            Value::Null => Some(T::default()),
            v => f(v),
        };
        all.iter().map(one).collect()
    }
    let data = match all.iter().find(|v| !v.is_null())? {
        Value::Int(_) => Data::Int(pick(all, |v| match v {
            Value::Int(v) => Some(*v),
            _ => None,
        })?),
        Value::UInt(_) => Data::UInt(pick(all, |v| match v {
            Value::UInt(v) => Some(*v),
            _ => None,
        })?),
        Value::Double(_) => Data::Double(pick(all, |v| match v {
            Value::Double(v) => Some(*v),
            _ => None,
        })?),
        Value::Date(_) => Data::Date(pick(all, |v| match v {
            Value::Date(v) => Some(v.pack()),
            _ => None,
        })?),
        Value::Bytes(Cow::Borrowed(_)) => Data::Bytes(pick(all, |v| match v {
            Value::Bytes(Cow::Borrowed(b)) => Some(*b),
            _ => None,
        })?),
        Value::Decimal(first) => {
            let scale = first.scale();
            let digits = pick(all, |v| match v {
                Value::Decimal(d) if d.scale() == scale => whole_digits(d),
                _ => None,
            })?;
            Data::Decimal(digits, scale)
        }
        _ => return None,
    };
    let null = all.iter().any(Value::is_null);
    let nulls = null.then(|| all.iter().map(Value::is_null).collect());
    Some(Vector { data, nulls })
}

/// A column's values: of the batch's rows, or of a row around.
pub(super) fn column<'b>(
    f: &Frame<'_, 'b>,
    source: usize,
    column: usize,
    rows: Rows<'_>,
) -> Tried<Operand<'b>> {
    use super::super::rows::SourceRows;
    use crate::expr::RowRef;
    let zone = f.cx.session.zone.get();
    Ok(match f.batch.sources.get(source) {
        Some(SourceRows::Stored(schema, list)) if schema.layout().is_computed(column) => {
            let value = |row: usize| match list[rows.at(row)] {
                Some(bytes) => schema.layout().column(schema, bytes, column, zone),
                None => Value::Null,
            };
            Operand::Each(typed((0..rows.len()).map(value).collect()))
        }
        Some(SourceRows::Stored(schema, list)) => Operand::Each(match rows {
            Rows::All(_) => super::super::read::stored(schema, column, list.iter().copied(), zone),
            Rows::Some(which) => {
                let list = which.iter().map(|r| list[*r as usize]);
                super::super::read::stored(schema, column, list, zone)
            }
        }),
        Some(SourceRows::Kept(columns, list)) => {
            let Some(c) = &columns.columns[column] else {
                return Ok(Operand::Same(Value::Null));
            };
            Operand::Each(match rows {
                Rows::All(_) => c.gather(list),
                Rows::Some(which) => {
                    let list: Vec<u32> = which.iter().map(|r| list[*r as usize]).collect();
                    c.gather(&list)
                }
            })
        }
        Some(SourceRows::Nulls) | None => Operand::Same(match f.cx.rows.get(source) {
            None | Some(RowRef::Nulls) => Value::Null,
            Some(RowRef::Stored(schema, row)) => schema.layout().column(schema, row, column, zone),
            Some(RowRef::Values(v)) => v[column].borrowed(),
            Some(RowRef::Lazy(values)) => values.value(column)?,
        }),
    })
}
