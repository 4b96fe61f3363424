//! TIME.

use super::super::Value;
use super::super::assign::{StoreContext, Target};
use super::super::cast::read_time;
use super::super::env::ConversionEnv;
use super::super::parse_time::{self, NoTime};
use super::super::time::{Time, fitted_micros, truncate_micros};
use super::Lookup;
use crate::error::SqlResult;
use crate::types::{BaseType, SqlType};

pub(super) fn assign<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let parsed = match &value {
        Value::Bytes(b) if has_exponent(b) => Some(Time::default()),
        Value::Bytes(b) => {
            let p = match parse_time::read_time(b) {
                Ok(p) => p,
                Err(why) => {
                    let read = why == NoTime::BeyondClock;
                    cx.no_time("time", &value, column, read)?;
                    return Ok(Value::Time(Time::default()));
                }
            };
            if p.trailing {
                cx.no_time("time", &value, column, false)?;
            }
            if p.clamped {
                cx.no_time("time", &value, column, true)?;
            }
            if p.dated {
                cx.note_lost("time", &value, column);
            }
            Some(p.value)
        }
        // Without a word of the date that is lost.
        Value::DateTime(d) => Some(d.time()),
        Value::Date(_) => Some(Time::default()),
        number if number.is_number() => {
            let p = number.number_as_time();
            match p {
                Some(p) if p.clamped => cx.no_time("time", &value, column, true)?,
                Some(p) if p.dated => cx.note_lost("time", &value, column),
                Some(_) => {}
                None => {
                    cx.no_time("time", &value, column, true)?;
                    return Ok(Value::Time(nearest(number)));
                }
            }
            p.map(|p| p.value)
        }
        other => other.to_time(),
    };
    let Some(t) = parsed else {
        cx.no_time("time", &value, column, false)?;
        return Ok(Value::Time(Time::default()));
    };
    let (t, clamped) = Time::clamped(fitted_micros(
        t.micros,
        column.ty.decimals,
        cx.session.sql_mode.get(),
    ));
    if clamped {
        cx.no_time("time", &value, column, true)?;
    }
    Ok(Value::Time(t))
}

/// Whether a text begins with a number that has an exponent: the time that is stored of it is zero, without a word.
fn has_exponent(text: &[u8]) -> bool {
    let s = text.trim_ascii_start();
    let s = s.strip_prefix(b"-").unwrap_or(s);
    let digits = s
        .iter()
        .take_while(|b| b.is_ascii_digit() || **b == b'.')
        .count();
    let Some((b'e' | b'E', power)) = s[digits..].split_first() else {
        return false;
    };
    let power = match power.first() {
        Some(b'-' | b'+') => &power[1..],
        _ => power,
    };
    s[..digits].iter().any(u8::is_ascii_digit) && power.first().is_some_and(u8::is_ascii_digit)
}

/// Whether a column of times has a value for a constant beside it.
pub(super) fn fits(value: &Value<'_>) -> bool {
    match value {
        Value::Bytes(b) => {
            let whole = |p: parse_time::ParsedTime| !p.trailing && !p.clamped;
            has_exponent(b) || parse_time::read_time(b).is_ok_and(whole)
        }
        number if number.is_number() => number.number_as_time().is_some_and(|p| !p.clamped),
        _ => true,
    }
}

/// What is stored of a number that is no time: the greatest or the least one beyond them, else zero.
fn nearest(number: &Value<'_>) -> Time {
    /// `hhmmss` of the greatest time.
    const LAST: f64 = 8_385_959.0;
    let n = number.to_f64();
    match n.abs() > LAST {
        true => Time::clamped(if n < 0.0 { i64::MIN } else { i64::MAX }).0,
        false => Time::default(),
    }
}

pub(super) fn cast<'a>(
    value: Value<'a>,
    ty: &SqlType,
    session: &ConversionEnv,
) -> SqlResult<Value<'a>> {
    Ok(match read_time(&value, session)? {
        Some(t) => {
            let micros = fitted_micros(t.micros, ty.decimals, session.sql_mode.get());
            Value::Time(Time::clamped(micros).0)
        }
        None => Value::Null,
    })
}

pub(super) fn lookup(value: &Value<'_>, ty: &SqlType) -> Lookup {
    let time = match value {
        Value::Time(t) => Some(*t),
        Value::Bytes(b) => parse_time::parse_time(b).map(|p| p.value),
        _ => None,
    };
    match time {
        Some(t) if truncate_micros(t.micros, ty.decimals) == t.micros => {
            Lookup::Exact(Value::Time(t))
        }
        _ => Lookup::Unusable,
    }
}

pub(super) fn constant_text(text: &[u8]) -> Option<(Value<'static>, SqlType)> {
    let p = parse_time::parse_time(text)?;
    Some((Value::Time(p.value), SqlType::temporal(BaseType::Time, 6)))
}
