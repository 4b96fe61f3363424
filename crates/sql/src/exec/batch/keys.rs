//! Keys of hash joins: of both sides' rows as numbers where their kinds allow it, else as bytes that are equal for equal values.

use super::kernel::{BatchContext, Kernel};
use super::rows::{Batch, digits};
use super::vector::{Data, Kind, Vector};
use crate::error::SqlResult;
use crate::exec::hash::hash_value;
use crate::expr::{EvalContext, Expr, ExprKind};
use crate::plan::nodes::HashJoin;
use crate::types::SqlType;
use crate::value::Value;

/// How one key of a join is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As a number of 64 bits, of this kind on both sides.
    Number(Kind),
    /// As bytes.
    Bytes,
}

/// The keys of one side of a join.
pub struct Keys<'e> {
    forms: Vec<Form>,
    kernels: Vec<Kernel<'e>>,
    exprs: &'e [Expr],
    types: &'e [SqlType],
    null_safe: &'e [bool],
}

/// The keys of a batch's rows.
#[derive(Default)]
pub struct KeyValues {
    /// For each key that is a number, those of all rows.
    pub numbers: Vec<Vec<u64>>,
    /// The other keys of each row together.
    pub bytes: Option<KeyBytes>,
    /// Rows that can match nothing: a key is NULL.
    pub never: Option<Vec<bool>>,
}

/// Bytes of each row, one after the other.
#[derive(Default)]
pub struct KeyBytes {
    all: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyBytes {
    /// Of one row.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        let from = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.all[from..self.ends[row]]
    }
    fn push(&mut self, bytes: &[u8]) {
        self.all.extend_from_slice(bytes);
        self.ends.push(self.all.len());
    }
    /// Appends all of another.
    pub fn append(&mut self, other: &KeyBytes) {
        let before = self.all.len();
        self.all.extend_from_slice(&other.all);
        self.ends.extend(other.ends.iter().map(|e| before + e));
    }
    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        self.all.len() + self.ends.len() * size_of::<usize>()
    }
}

/// What a type's values are as numbers, if equal numbers are equal values.
fn number(ty: &SqlType) -> Option<Kind> {
    match Kind::of(ty) {
        // Years and bits are integers to SQL, but not of these kinds.
        k @ (Kind::Int | Kind::UInt | Kind::Decimal(_) | Kind::Date) => Some(k),
        _ => None,
    }
}

fn form(a: &SqlType, b: &SqlType, ty: &SqlType, null_safe: bool) -> Form {
    match (number(a), number(b)) {
        (Some(x), Some(y)) if x == y && number(ty).is_some() && !null_safe => Form::Number(x),
        _ => Form::Bytes,
    }
}

impl KeyValues {
    /// Appends the rows at these positions of another side's, none of which is one that matches nothing.
    pub fn take(&mut self, other: &KeyValues, rows: &[u32]) {
        if self.numbers.is_empty() {
            self.numbers.resize_with(other.numbers.len(), Vec::new);
        }
        for (own, more) in self.numbers.iter_mut().zip(&other.numbers) {
            own.extend(rows.iter().map(|r| more[*r as usize]));
        }
        if let Some(more) = &other.bytes {
            let own = self.bytes.get_or_insert_default();
            for r in rows {
                own.push(more.get(*r as usize));
            }
        }
    }
    /// Appends all of another side's.
    pub fn extend(&mut self, other: &KeyValues) {
        if self.numbers.is_empty() {
            self.numbers.resize_with(other.numbers.len(), Vec::new);
        }
        for (own, more) in self.numbers.iter_mut().zip(&other.numbers) {
            own.extend_from_slice(more);
        }
        if let Some(more) = &other.bytes {
            self.bytes.get_or_insert_default().append(more);
        }
    }
    /// Bytes that they take.
    pub fn size(&self) -> usize {
        let numbers = self.numbers.iter().map(|n| n.len() * 8);
        numbers.sum::<usize>() + self.bytes.as_ref().map_or(0, KeyBytes::size)
    }
}

impl<'e> Keys<'e> {
    /// Of the side that is built, and of the one that looks up.
    pub fn of(h: &'e HashJoin, cx: &EvalContext<'_>) -> (Keys<'e>, Keys<'e>) {
        let pairs = h.keys.iter().zip(&h.probes).zip(&h.types).zip(&h.null_safe);
        // What is computed may turn out to be of another kind than its type, when rows have been given out already.
        let column = |e: &Expr| matches!(e.kind, ExprKind::Column { .. });
        let forms: Vec<Form> = pairs
            .map(|(((a, b), ty), safe)| match column(b) {
                true => form(&a.ty, &b.ty, ty, *safe),
                false => Form::Bytes,
            })
            .collect();
        let side = |exprs: &'e [Expr]| Keys {
            forms: forms.clone(),
            kernels: exprs.iter().map(|e| Kernel::new(e, cx)).collect(),
            exprs,
            types: &h.types,
            null_safe: &h.null_safe,
        };
        (side(&h.keys), side(&h.probes))
    }

    /// The keys of a batch; `None` if some value is not of the kind that its type promises.
    pub fn values<'b>(
        &self,
        batch: &Batch<'b>,
        cx: &BatchContext<'b>,
        row_cx: &EvalContext<'_>,
    ) -> SqlResult<Option<KeyValues>>
    where
        'e: 'b,
    {
        let mut numbers = Vec::new();
        let mut never: Option<Vec<bool>> = None;
        let mut others: Vec<(usize, Vector<'b>)> = Vec::new();
        for (n, (form, kernel)) in self.forms.iter().zip(&self.kernels).enumerate() {
            let v = kernel.vector(batch, cx)?;
            match form {
                Form::Number(kind) => {
                    let Some((list, nulls)) = as_numbers(v, *kind, &self.exprs[n].ty) else {
                        return Ok(None);
                    };
                    numbers.push(list);
                    merge(&mut never, nulls);
                }
                Form::Bytes => others.push((n, v)),
            }
        }
        let bytes = if others.is_empty() {
            None
        } else {
            Some(self.encoded(batch.len, &others, &mut never, row_cx)?)
        };
        Ok(Some(KeyValues {
            numbers,
            bytes,
            never,
        }))
    }

    fn encoded(
        &self,
        rows: usize,
        others: &[(usize, Vector<'_>)],
        never: &mut Option<Vec<bool>>,
        cx: &EvalContext<'_>,
    ) -> SqlResult<KeyBytes> {
        let mut out = KeyBytes::default();
        for row in 0..rows {
            for (n, v) in others {
                let value = v.value(row);
                if value.is_null() && !self.null_safe[*n] {
                    never.get_or_insert_with(|| vec![false; rows])[row] = true;
                    continue;
                }
                let (own, ty) = (&self.exprs[*n].ty, &self.types[*n]);
                hash_value(value, own, ty, cx, &mut out.all)?;
            }
            out.ends.push(out.all.len());
        }
        Ok(out)
    }
}

/// Adds rows to those that match nothing.
fn merge(never: &mut Option<Vec<bool>>, nulls: Option<Vec<bool>>) {
    match (never, nulls) {
        (_, None) => {}
        (never @ None, some) => *never = some,
        (Some(all), Some(more)) => all.iter_mut().zip(more).for_each(|(a, b)| *a |= b),
    }
}

/// Values as numbers of 64 bits, and which are NULL.
fn as_numbers(v: Vector<'_>, kind: Kind, ty: &SqlType) -> Option<(Vec<u64>, Option<Vec<bool>>)> {
    let list = match (v.data, kind) {
        (Data::Int(v), Kind::Int) => v.into_iter().map(|n| n as u64).collect(),
        (Data::UInt(v), Kind::UInt) => v,
        (Data::Decimal(v, a), Kind::Decimal(b)) if a == b => {
            v.into_iter().map(|n| n as u64).collect()
        }
        (Data::Date(v), Kind::Date) => v.into_iter().map(u64::from).collect(),
        (data, _) => {
            let v = Vector {
                data,
                nulls: v.nulls,
            };
            return one_by_one(&v, kind, ty);
        }
    };
    Some((list, v.nulls))
}

/// The same for values that are of the kind, but not together.
fn one_by_one(v: &Vector<'_>, kind: Kind, ty: &SqlType) -> Option<(Vec<u64>, Option<Vec<bool>>)> {
    let mut nulls = vec![false; v.len()];
    let mut list = Vec::with_capacity(v.len());
    for (row, null) in nulls.iter_mut().enumerate() {
        list.push(match (v.value(row), kind) {
            (Value::Null, _) => {
                *null = true;
                0
            }
            (Value::Int(n), Kind::Int) => n as u64,
            (Value::UInt(n), Kind::Int) => i64::try_from(n).ok()? as u64,
            (Value::UInt(n), Kind::UInt) => n,
            (Value::Int(n), Kind::UInt) => u64::try_from(n).ok()?,
            // Digits beyond its type's take no part in comparisons.
            (Value::Decimal(d), Kind::Decimal(scale)) => digits(&ty.shown(d), scale)? as u64,
            (Value::Date(d), Kind::Date) => u64::from(d.pack()),
            _ => return None,
        });
    }
    Some((list, Some(nulls)))
}
