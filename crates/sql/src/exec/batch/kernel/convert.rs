//! CAST, the parts of dates, and parts of texts.

use super::super::vector::{Data, Vector};
use super::build::Node;
use super::operand::{Operand, one_by_one};
use super::{Frame, Tried};
use crate::expr::{Expr, IntervalUnit};
use crate::types::collation::{char_count, char_prefix};
use crate::types::{BaseType, Collation, Family};
use crate::value::{self, Date, Value};

/// CAST to the type of `e`: not of another value to a text, which depends on the operand's type.
pub(super) fn cast<'b>(
    e: &Expr,
    a: Operand<'b>,
    f: &Frame<'_, 'b>,
    n: usize,
) -> Tried<Operand<'b>> {
    let ty = &e.ty;
    if let Operand::Each(v) = &a {
        let integer = ty.family() == Family::Integer;
        match &v.data {
            Data::Int(_) if integer && !ty.unsigned => return Ok(a),
            Data::UInt(_) if integer && ty.unsigned => return Ok(a),
            Data::Double(_) if ty.base == BaseType::Double => return Ok(a),
            Data::Int(_) | Data::UInt(_) | Data::Decimal(..) if ty.base == BaseType::Double => {
                if let Some(all) = a.doubles(n) {
                    return Ok(Operand::Each(Vector {
                        data: Data::Double(all.into_owned()),
                        nulls: v.nulls.clone(),
                    }));
                }
            }
            _ => {}
        }
    }
    one_by_one(a.same().is_some(), n, |i| {
        // A text that stays as it is stays where it is.
        let v = match &a {
            Operand::Each(Vector {
                data: Data::Bytes(all),
                ..
            }) if !a.value(i).is_null() => Value::Bytes(all[i].into()),
            _ => a.value(i).into_owned(),
        };
        Ok(value::cast(v, ty, f.cx.session)?)
    })
}

/// EXTRACT(unit FROM value); `None`: there is no loop for it.
pub(super) fn extract<'b>(a: &Operand<'_>, unit: IntervalUnit) -> Option<Operand<'b>> {
    let Operand::Each(Vector {
        data: Data::Date(days),
        nulls,
    }) = a
    else {
        return None;
    };
    fn each(days: &[u32], part: impl Fn(Date) -> i64) -> Vec<i64> {
        days.iter().map(|d| part(Date::unpack(*d))).collect()
    }
    let all = match unit {
        IntervalUnit::Year => each(days, |d| d.year.into()),
        IntervalUnit::Quarter => each(days, |d| (i64::from(d.month) + 2) / 3),
        IntervalUnit::Month => each(days, |d| d.month.into()),
        IntervalUnit::Day => each(days, |d| d.day.into()),
        IntervalUnit::YearMonth => each(days, |d| i64::from(d.year) * 100 + i64::from(d.month)),
        _ => return None,
    };
    Some(Operand::Each(Vector {
        data: Data::Int(all),
        nulls: nulls.clone(),
    }))
}

/// SUBSTRING of `len` characters from the `from`th, counted from the end if that is negative; `None`: it is for the row evaluator.
pub(super) fn substring<'b>(
    of: &Node<'_>,
    a: &Operand<'b>,
    from: i64,
    len: i64,
) -> Option<Operand<'b>> {
    let Operand::Each(Vector {
        data: Data::Bytes(texts),
        nulls,
    }) = a
    else {
        return None;
    };
    let ty = &of.e.ty;
    let binary = ty.is_string() && ty.collation == Collation::Binary;
    let part = |s: &'b [u8]| -> &'b [u8] {
        let simple = binary || s.is_ascii();
        let chars = if simple { s.len() } else { char_count(s) } as i64;
        let start = if from < 0 { chars + from } else { from - 1 };
        if from == 0 || start < 0 || start >= chars || len <= 0 {
            return &[];
        }
        let end = start.saturating_add(len).min(chars);
        let offset = |n: i64| {
            if simple {
                n as usize
            } else {
                char_prefix(s, n as usize)
            }
        };
        &s[offset(start)..offset(end)]
    };
    Some(Operand::Each(Vector {
        data: Data::Bytes(texts.iter().map(|s| part(s)).collect()),
        nulls: nulls.clone(),
    }))
}
