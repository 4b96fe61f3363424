//! TIME.

use super::super::assign::{StoreContext, Target};
use super::super::cast::truncated;
use super::super::env::ConversionEnv;
use super::super::time::{Time, fitted_micros, truncate_micros};
use super::super::{Value, parse_time};
use super::Lookup;
use crate::error::SqlResult;
use crate::types::{BaseType, SqlType};

pub(super) fn assign<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let parsed = match &value {
        Value::Bytes(b) => {
            let p = parse_time::parse_time(b);
            if let Some(p) = p {
                if p.trailing {
                    cx.no_time("time", &value, column, false)?;
                }
                if p.clamped {
                    cx.no_time("time", &value, column, true)?;
                }
                if p.dated {
                    cx.note_truncated(column);
                }
            }
            p.map(|p| p.value)
        }
        Value::DateTime(d) => {
            // Its date is lost.
            if !d.date.is_zero() {
                cx.note_truncated(column);
            }
            Some(d.time())
        }
        Value::Date(d) => {
            if !d.is_zero() {
                cx.note_truncated(column);
            }
            Some(Time::default())
        }
        Value::Int(_) | Value::UInt(_) => {
            let p = parse_time::time_from_number(value.to_i64(), 0);
            if p.as_ref().is_some_and(|p| p.dated) {
                cx.note_truncated(column);
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

pub(super) fn cast<'a>(
    value: Value<'a>,
    ty: &SqlType,
    session: &ConversionEnv,
) -> SqlResult<Value<'a>> {
    Ok(match value.to_time() {
        Some(t) => {
            let micros = fitted_micros(t.micros, ty.decimals, session.sql_mode.get());
            Value::Time(Time::clamped(micros).0)
        }
        None => {
            truncated(session, "time", &value)?;
            Value::Null
        }
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
