//! YEAR: integers of their own range, of which two digits stand for four.

use super::super::assign::{StoreContext, Target};
use super::super::cast::truncated;
use super::super::convert::exact_integer;
use super::super::env::ConversionEnv;
use super::super::{Decimal, Value};
use super::integer::integer_value;
use super::{Lookup, integer};
use crate::error::SqlResult;
use crate::types::SqlType;

/// The first year there is, but for the year 0.
pub(super) const FIRST: u16 = 1901;
/// The last.
pub(super) const LAST: u16 = 2155;

/// Two digits stand for four.
fn full(v: i128) -> i128 {
    match v {
        1..=69 => v + 2000,
        70..=99 => v + 1900,
        v => v,
    }
}

fn is_year(v: i128) -> bool {
    v == 0 || (FIRST.into()..=LAST.into()).contains(&v)
}

pub(super) fn assign<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let (v, text) = match &value {
        Value::Bytes(b) => match exact_integer(b) {
            Some(v) => (v, b.trim_ascii().len() < 4),
            None => {
                let d = cx.number_of_text(b, &value, column)?;
                (d.round_to_i128().unwrap_or(-1), true)
            }
        },
        Value::Date(d) => (d.year as i128, false),
        // A time is one of today.
        Value::Time(_) => (cx.session.local_now().date.year as i128, false),
        Value::DateTime(d) => (d.date.year as i128, false),
        other => (other.to_i64() as i128, false),
    };
    let v = match v {
        // What is no number at all is the year 0, as the number 0 is.
        0 if text && has_digits(&value) => 2000,
        v => full(v),
    };
    if !is_year(v) {
        cx.out_of_range(column)?;
        return Ok(Value::UInt(0));
    }
    Ok(Value::UInt(v as u64))
}

/// Whether a text begins with a number.
fn has_digits(value: &Value<'_>) -> bool {
    let Value::Bytes(text) = value else {
        return false;
    };
    let digits = text.trim_ascii_start();
    let digits = digits.strip_prefix(b"-").unwrap_or(digits);
    let digits = digits.strip_prefix(b"+").unwrap_or(digits);
    digits
        .strip_prefix(b".")
        .unwrap_or(digits)
        .first()
        .is_some_and(u8::is_ascii_digit)
}

pub(super) fn cast<'a>(value: Value<'a>, session: &ConversionEnv) -> SqlResult<Value<'a>> {
    let v = full(value.to_i64().into());
    if !is_year(v) {
        truncated(session, "YEAR", &value)?;
        return Ok(Value::Null);
    }
    Ok(Value::UInt(v as u64))
}

pub(super) fn lookup(value: &Value<'_>, ty: &SqlType) -> Lookup {
    let between = |v: &Value<'_>| (1..u64::from(FIRST)).contains(&v.to_u64());
    match integer::lookup(value, ty) {
        // There is nothing between the year 0 and the first.
        Lookup::Exact(v) | Lookup::Above(v) if between(&v) => Lookup::Above(integer_value(0, ty)),
        found => found,
    }
}

/// The year that a number is, or that its one or two digits stand for; `None` for what is no number.
pub(super) fn beside(v: &Value<'_>) -> Option<Value<'static>> {
    let century = |n: f64| match n {
        n if (1.0..70.0).contains(&n) => 2000,
        n if (70.0..100.0).contains(&n) => 1900,
        _ => 0,
    };
    Some(match v {
        Value::Int(n) => Value::Int(n + century(*n as f64)),
        Value::UInt(n) if *n < 100 => Value::Int(*n as i64 + century(*n as f64)),
        Value::Decimal(d) => {
            let more = Decimal::from_i128(century(v.to_f64()).into(), 0);
            Value::Decimal(d.checked_add(more)?)
        }
        Value::Double(d) => Value::Double(d + century(*d) as f64),
        Value::Bytes(b) => match exact_integer(b)? {
            // The text '0' is the year 2000, the number 0 the year 0.
            0 if b.trim_ascii().len() <= 2 => Value::Int(2000),
            n => return beside(&Value::Int(i64::try_from(n).ok()?)),
        },
        _ => return None,
    })
}
