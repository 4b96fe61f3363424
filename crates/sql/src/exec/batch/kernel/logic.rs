//! Truth in three values, as bytes: what AND, OR and NOT make of it, and that of values that are no predicates.

use super::super::vector::{Data, Vector};
use super::build::Node;
use super::operand::{Operand, Rows};
use super::{Frame, Tried, by_row};
use crate::value::Value;

/// False.
pub(super) const FALSE: u8 = 0;
/// True.
pub(super) const TRUE: u8 = 1;
/// NULL.
pub(super) const NULL: u8 = 2;

/// Appends where `keep` holds.
pub(super) fn positions(truths: &[u8], keep: impl Fn(u8) -> bool, out: &mut Vec<u32>) {
    // Written whether it is kept or not: there is nothing to mispredict.
    let start = out.len();
    out.resize(start + truths.len(), 0);
    let (to, mut n) = (&mut out[start..], 0);
    for (i, t) in truths.iter().enumerate() {
        to[n] = i as u32;
        n += usize::from(keep(*t));
    }
    out.truncate(start + n);
}

/// NULL where an operand is.
pub(super) fn null_where(truths: &mut [u8], nulls: Option<&[bool]>) {
    for (t, null) in truths.iter_mut().zip(nulls.unwrap_or_default()) {
        *t = if *null { NULL } else { *t };
    }
}

/// The other truth, but for NULL, if asked.
pub(super) fn negate_if(negated: bool, truths: &mut [u8]) {
    if negated {
        for t in truths {
            *t = if *t == NULL { NULL } else { *t ^ 1 };
        }
    }
}

/// All of them (`ends` is [`FALSE`]) or any of them (`ends` is [`TRUE`]). An operand is evaluated for the rows for which none before it
/// was what ends.
pub(super) fn fold<'e: 'b, 'b>(
    list: &[Node<'e>],
    ends: u8,
    f: &Frame<'_, 'b>,
    rows: Rows<'_>,
) -> Tried<Vec<u8>> {
    let Some((first, rest)) = list.split_first() else {
        return Ok(vec![ends ^ 1; rows.len()]);
    };
    let mut out = first.truths(f, rows)?;
    let mut left = Vec::with_capacity(rows.len());
    for e in rest {
        left.clear();
        positions(&out, |t| t != ends, &mut left);
        if left.is_empty() {
            break;
        }
        if left.len() == out.len() {
            for (o, t) in out.iter_mut().zip(e.truths(f, rows)?) {
                *o = joined(*o, t, ends);
            }
            continue;
        }
        let truths = e.truths(f, Rows::Some(&rows.subset(&left)))?;
        for (at, t) in left.iter().zip(truths) {
            let o = &mut out[*at as usize];
            *o = joined(*o, t, ends);
        }
    }
    Ok(out)
}

/// `a` is not what ends.
#[inline]
fn joined(a: u8, b: u8, ends: u8) -> u8 {
    if b == ends || b == NULL { b } else { a }
}

/// Exclusive or.
pub(super) fn xor(a: Vec<u8>, b: Vec<u8>) -> Vec<u8> {
    let one = |(a, b): (u8, u8)| if a == NULL || b == NULL { NULL } else { a ^ b };
    a.into_iter().zip(b).map(one).collect()
}

/// Truths as the values that predicates have.
pub(super) fn as_values<'b>(truths: &[u8]) -> Operand<'b> {
    let data = Data::Int(truths.iter().map(|t| i64::from(t & TRUE)).collect());
    let nulls = truths
        .contains(&NULL)
        .then(|| truths.iter().map(|t| *t == NULL).collect());
    Operand::Each(Vector { data, nulls })
}

/// The truth of values of an expression that is no predicate.
pub(super) fn of_values<'e: 'b, 'b>(
    node: &Node<'e>,
    f: &Frame<'_, 'b>,
    rows: Rows<'_>,
) -> Tried<Vec<u8>> {
    fn nonzero<T: PartialEq + Default>(v: &[T]) -> Vec<u8> {
        v.iter().map(|v| u8::from(*v != T::default())).collect()
    }
    let values = node.values(f, rows)?;
    let v = match &values {
        Operand::Each(v) => v,
        Operand::Same(v @ (Value::Null | Value::Int(_))) => {
            let t = v.truth().map_or(NULL, u8::from);
            return Ok(vec![t; rows.len()]);
        }
        Operand::Same(_) => return Ok(by_row::truths(node.e, f, rows)?),
    };
    let mut out = match &v.data {
        Data::Int(v) | Data::Decimal(v, _) => nonzero(v),
        Data::UInt(v) => nonzero(v),
        Data::Double(v) => nonzero(v),
        Data::Date(v) => nonzero(v),
        // What a text or an ENUM is as a number is the row evaluator's to say.
        Data::Bytes(_) | Data::Values(_) => return Ok(by_row::truths(node.e, f, rows)?),
    };
    null_where(&mut out, v.nulls.as_deref());
    Ok(out)
}
