//! DECIMAL.

use super::super::assign::{StoreContext, Target};
use super::super::cast::truncated;
use super::super::convert::exact_decimal;
use super::super::env::ConversionEnv;
use super::super::{Decimal, Value};
use super::Lookup;
use crate::error::SqlResult;
use crate::types::SqlType;

/// Digits that a sort key holds.
const SORT_DIGITS: u32 = 65;

/// The least power of ten that no DECIMAL holds.
const BEYOND: f64 = 1e65;

pub(super) fn assign<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let ty = column.ty;
    let mut d = match &value {
        Value::Decimal(d) => *d,
        Value::Bytes(b) => {
            let p = Decimal::parse_prefix(b);
            let whole = b[p.used..].trim_ascii().is_empty();
            if p.used == 0 || !whole && cx.strict {
                cx.incorrect(1366, "decimal", &value, column)?;
            } else if !whole {
                cx.note_truncated(column);
            }
            if p.overflow {
                cx.out_of_range(column)?;
            }
            p.value
        }
        other => other.to_decimal(),
    };
    let exact = d;
    if d.scale() != ty.decimals {
        d = d.round(ty.decimals);
    }
    // Though nothing may be left of it.
    if ty.unsigned && exact.is_negative() {
        cx.out_of_range(column)?;
        return Ok(Value::Decimal(Decimal::ZERO.round(ty.decimals)));
    }
    let max = Decimal::max(ty.length, ty.decimals);
    // Which `to_decimal` cuts.
    let beyond = matches!(value, Value::Double(v) if v.abs() >= BEYOND);
    if d.abs() > max || beyond {
        cx.out_of_range(column)?;
        d = if d.is_negative() { max.negated() } else { max };
    } else if d != exact || matches!(value, Value::Double(v) if exact.to_f64() != v) {
        cx.note_truncated(column);
    }
    Ok(Value::Decimal(d))
}

pub(super) fn cast<'a>(
    value: Value<'a>,
    ty: &SqlType,
    session: &ConversionEnv,
) -> SqlResult<Value<'a>> {
    if let Value::Bytes(b) = &value {
        let p = Decimal::parse_prefix(b);
        if p.used == 0 || !b[p.used..].trim_ascii().is_empty() {
            truncated(session, "DECIMAL", &value)?;
        }
    }
    let d = value.to_decimal().round(ty.decimals);
    let max = Decimal::max(ty.length, ty.decimals);
    if d.abs() > max {
        let name = session.cast_name.borrow().clone();
        let name = name.as_deref().unwrap_or("(null)");
        let m = format!("Out of range value for column '{name}' at row 1");
        session.complain(1264, m)?;
        return Ok(Value::Decimal(if d.is_negative() {
            max.negated()
        } else {
            max
        }));
    }
    Ok(Value::Decimal(d))
}

/// A decimal may have more digits than its type: a quotient has.
pub(super) fn conform<'a>(value: Value<'a>, ty: &SqlType) -> Value<'a> {
    match &value {
        Value::Decimal(d) if d.scale() >= ty.decimals => value,
        _ => Value::Decimal(value.to_decimal().round(ty.decimals)),
    }
}

pub(super) fn sort_key(value: &Value<'_>, ty: &SqlType, out: &mut Vec<u8>) {
    let len = Decimal::encoded_len(SORT_DIGITS);
    value.to_decimal().round(ty.decimals).encode(len, out);
}

pub(super) fn lookup(value: &Value<'_>, ty: &SqlType) -> Lookup {
    let d = match value {
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => value.to_decimal(),
        Value::Bytes(b) => match exact_decimal(b) {
            Some(d) => d,
            None => return Lookup::Unusable,
        },
        _ => return Lookup::Unusable,
    };
    let max = Decimal::max(ty.length, ty.decimals);
    let min = max.negated();
    if d < min {
        return Lookup::BelowAll;
    }
    if d > max {
        return Lookup::AboveAll;
    }
    let cut = d.truncate(ty.decimals);
    if cut == d {
        return Lookup::Exact(Value::Decimal(d.round(ty.decimals)));
    }
    if d.is_negative() {
        let step = Decimal::from_i128(1, ty.decimals);
        return match cut.checked_sub(step) {
            Some(below) => Lookup::Above(Value::Decimal(below)),
            None => Lookup::Unusable,
        };
    }
    Lookup::Above(Value::Decimal(cut))
}
