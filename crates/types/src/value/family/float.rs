//! FLOAT and DOUBLE.

use super::super::Value;
use super::super::assign::{StoreContext, Target};
use super::super::cast::number_of_text;
use super::super::convert::double_prefix;
use super::super::env::ConversionEnv;
use super::Lookup;
use crate::error::SqlResult;
use crate::types::{BaseType, NOT_FIXED, SqlType};

pub(super) fn assign<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let ty = column.ty;
    let mut v = match &value {
        Value::Bytes(b) => {
            let (v, used) = double_prefix(b);
            if used == 0 || !b[used..].trim_ascii().is_empty() {
                let kind = match ty.base {
                    BaseType::Float => "FLOAT",
                    _ => "DOUBLE",
                };
                cx.incorrect(1366, kind, &value, column)?;
            } else if v.abs() == f64::MAX && is_beyond(b) {
                cx.out_of_range(column)?;
            }
            v
        }
        other => other.to_f64(),
    };
    if ty.unsigned && v < 0.0 {
        cx.out_of_range(column)?;
        v = 0.0;
    }
    if ty.decimals < NOT_FIXED {
        let unit = 10f64.powi(ty.decimals as i32);
        // What is above the integer below is rounded, half a unit to the even digit: 3.5 without digits is 3.
        let whole = v.floor();
        let rounded = whole + ((v - whole) * unit).round_ties_even() / unit;
        if rounded.is_finite() {
            v = rounded;
        }
        let max = 10f64.powi(ty.length.saturating_sub(ty.decimals.into()) as i32) - 1.0 / unit;
        if v.abs() > max {
            cx.out_of_range(column)?;
            v = max.copysign(v);
        }
    }
    if ty.base == BaseType::Float {
        if v.abs() > f32::MAX as f64 {
            cx.out_of_range(column)?;
            v = (f32::MAX as f64).copysign(v);
        }
        v = v as f32 as f64;
    }
    Ok(Value::Double(v))
}

/// Whether a text is a number that no DOUBLE reaches.
fn is_beyond(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text.trim_ascii()).unwrap_or("");
    text.parse::<f64>().is_ok_and(f64::is_infinite)
}

/// What a number is that is compared with a FLOAT(M,D) of so many decimals. MySQL takes two numbers of which both have a fixed number of digits
/// after the point for equal if they are less than half a unit of the last digit apart: for values of such a column this is so if they are the
/// same FLOAT.
pub fn beside_float(v: Value<'_>, decimals: u8) -> Value<'_> {
    let digits = match &v {
        Value::Decimal(d) => d.scale(),
        Value::Int(_) | Value::UInt(_) => 0,
        _ => return v,
    };
    let exact = v.to_f64();
    let float = f64::from(exact as f32);
    let half_a_unit = 0.1f64.powi(digits.max(decimals).into()) / 2.0;
    match (float - exact).abs() < half_a_unit {
        true => Value::Double(float),
        false => Value::Double(exact),
    }
}

pub(super) fn cast<'a>(
    value: Value<'a>,
    ty: &SqlType,
    session: &ConversionEnv,
) -> SqlResult<Value<'a>> {
    let v = match &value {
        Value::Bytes(b) => number_of_text(b, session)?,
        other => other.to_f64(),
    };
    Ok(Value::Double(if ty.base == BaseType::Float {
        v as f32 as f64
    } else {
        v
    }))
}

pub(super) fn conform(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Double(_) => value,
        other => Value::Double(other.to_f64()),
    }
}

pub(super) fn lookup(value: &Value<'_>, ty: &SqlType) -> Lookup {
    let v = value.to_f64();
    match value {
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => Lookup::Unusable,
        // No FLOAT lies where its bits would have to be more.
        _ if ty.base == BaseType::Float && (v as f32) as f64 != v => Lookup::Unusable,
        _ => Lookup::Exact(Value::Double(v)),
    }
}
