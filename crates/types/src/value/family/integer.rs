//! Integers.

use super::super::assign::{StoreContext, Target};
use super::super::cast::truncated;
use super::super::convert::exact_integer;
use super::super::env::ConversionEnv;
use super::super::{Decimal, Value};
use super::Lookup;
use crate::error::SqlResult;
use crate::types::{Family, SqlType};

/// Least and greatest value of an integer type or BIT.
pub fn integer_range(ty: &SqlType) -> (i128, i128) {
    if ty.family() == Family::Year {
        return (0, i128::from(super::year::LAST));
    }
    let bits = match ty.family() {
        Family::Bit => ty.length,
        _ => 8 * u32::from(ty.base.facts().width),
    };
    if ty.unsigned {
        (0, (1 << bits) - 1)
    } else {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    }
}

/// An integer as its type represents it.
pub fn integer_value(v: i128, ty: &SqlType) -> Value<'static> {
    if ty.unsigned {
        Value::UInt(v as u64)
    } else {
        Value::Int(v as i64)
    }
}

/// A decimal as an integer, clamped to what 128 bits hold.
fn rounded(d: Decimal) -> i128 {
    d.round_to_i128().unwrap_or(if d.is_negative() {
        i128::MIN
    } else {
        i128::MAX
    })
}

pub(super) fn assign<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let (min, max) = integer_range(column.ty);
    let v = match &value {
        Value::Int(v) => *v as i128,
        Value::UInt(v) => *v as i128,
        Value::Double(v) => v.round_ties_even() as i128,
        Value::Decimal(d) => rounded(*d),
        Value::Bytes(b) => match exact_integer(b) {
            Some(v) => v,
            // Of a number that is out of range it isn't told that something follows it.
            None => match rounded(Decimal::parse_prefix(b).value) {
                v if v < min || v > max => v,
                _ => rounded(cx.number_of_text(b, &value, column)?),
            },
        },
        other => rounded(other.to_decimal()),
    };
    if v < min || v > max {
        cx.out_of_range(column)?;
    }
    Ok(integer_value(v.clamp(min, max), column.ty))
}

pub(super) fn cast<'a>(
    value: Value<'a>,
    unsigned: bool,
    session: &ConversionEnv,
) -> SqlResult<Value<'a>> {
    let wide = match &value {
        Value::Int(v) => *v as i128,
        Value::UInt(v) => *v as i128,
        Value::Bytes(b) => match exact_integer(b) {
            Some(v) => v,
            None => {
                truncated(session, "INTEGER", &value)?;
                // Texts are read up to the first byte that is no digit; the point is one.
                rounded(Decimal::parse_prefix(integer_prefix(b)).value)
            }
        },
        Value::Double(v) => v.round_ties_even() as i128,
        other => rounded(other.to_decimal()),
    };
    // Texts and integers are 64 bits that signed and unsigned read differently; other numbers have one meaning.
    let bits = matches!(value, Value::Int(_) | Value::UInt(_) | Value::Bytes(_));
    let min = i64::MIN as i128;
    let max = if unsigned || bits {
        u64::MAX as i128
    } else {
        i64::MAX as i128
    };
    if wide < min || wide > max {
        truncated(session, "INTEGER", &value)?;
    }
    if unsigned && wide < 0 && matches!(value, Value::Bytes(_)) {
        let m = "Cast to unsigned converted negative integer to its positive complement";
        session.warn(1105, m);
    }
    let bits = wide.clamp(min, max) as u64;
    Ok(if unsigned {
        Value::UInt(bits)
    } else {
        Value::Int(bits as i64)
    })
}

fn integer_prefix(b: &[u8]) -> &[u8] {
    let blanks = b.iter().take_while(|c| c.is_ascii_whitespace()).count();
    let sign = matches!(b.get(blanks), Some(b'-' | b'+')) as usize;
    let digits = b[blanks + sign..]
        .iter()
        .take_while(|c| c.is_ascii_digit())
        .count();
    &b[..blanks + sign + digits]
}

pub(super) fn conform<'a>(value: Value<'a>, ty: &SqlType) -> Value<'a> {
    match (&value, ty.unsigned) {
        (Value::Int(_), false) | (Value::UInt(_), true) => value,
        (_, true) => Value::UInt(value.to_u64()),
        (_, false) => Value::Int(value.to_i64()),
    }
}

/// Appends a sort key: the sign, and the bits.
#[inline]
pub(super) fn sort_key(value: &Value<'_>, out: &mut Vec<u8>) {
    let (sign, bits) = match value {
        Value::UInt(v) => (1, *v),
        other => {
            let v = other.to_i64();
            ((v >= 0) as u8, v as u64)
        }
    };
    out.push(sign);
    out.extend_from_slice(&bits.to_be_bytes());
}

pub(super) fn lookup(value: &Value<'_>, ty: &SqlType) -> Lookup {
    // Beyond this a double no longer tells neighbouring integers apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let (floor, exact) = match value {
        Value::Int(v) => (*v as i128, true),
        Value::UInt(v) => (*v as i128, true),
        Value::Decimal(d) => match d.floor().to_i128() {
            Some(v) => (v, *d == d.floor()),
            None if d.is_negative() => return Lookup::BelowAll,
            None => return Lookup::AboveAll,
        },
        Value::Bytes(b) if exact_integer(b).is_some() => {
            (exact_integer(b).unwrap_or_default(), true)
        }
        Value::Double(_) | Value::Bytes(_) => {
            let v = value.to_f64();
            if v.abs() >= EXACT {
                return Lookup::Unusable;
            }
            (v.floor() as i128, v == v.floor())
        }
        _ => return Lookup::Unusable,
    };
    let (min, max) = integer_range(ty);
    if floor < min {
        Lookup::BelowAll
    } else if floor > max || (floor == max && !exact) {
        Lookup::AboveAll
    } else if exact {
        Lookup::Exact(integer_value(floor, ty))
    } else {
        Lookup::Above(integer_value(floor, ty))
    }
}

pub(super) fn constant_text(text: &[u8]) -> Option<(Value<'static>, SqlType)> {
    let v = i64::try_from(exact_integer(text)?).ok()?;
    Some((Value::Int(v), SqlType::bigint()))
}
