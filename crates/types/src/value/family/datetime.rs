//! DATE, DATETIME and TIMESTAMP.

use super::super::assign::{StoreContext, Target, date_allowed};
use super::super::cast::{Read, no_datetime, read_datetime};
use super::super::env::{ConversionEnv, SqlMode};
use super::super::time::{self, Date, DateTime, truncate_micros};
use super::super::zone::Moment;
use super::super::{Value, Zone, parse_time};
use super::Lookup;
use crate::error::{SqlError, SqlResult};
use crate::types::{BaseType, SqlType};

pub(super) fn assign<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let ty = column.ty;
    let kind = if ty.base == BaseType::Date {
        "date"
    } else {
        "datetime"
    };
    let mode = cx.session.sql_mode.get();
    let mut trailing = false;
    let parsed = match &value {
        Value::Bytes(b) => {
            let p = parse_time::parse_datetime_in(b, mode);
            trailing = p.is_some_and(|p| p.trailing);
            if p.is_some() {
                cx.session.warn_of_delimiter(b, cx.row);
            }
            p.map(|p| p.value)
        }
        Value::Time(t) => {
            let today = cx.session.local_now().date;
            DateTime::from_days_micros(today.days(), t.micros)
        }
        number => {
            trailing = fraction_of_day(number);
            number.to_datetime_in(mode)
        }
    };
    let zero = if ty.base == BaseType::Date {
        Value::Date(time::Date::default())
    } else {
        Value::DateTime(DateTime::default())
    };
    // What is less than a second is none, and nothing is said of it.
    if ty.base != BaseType::Date
        && value.is_number()
        && !mode.no_zero_date
        && (0.0..1.0).contains(&value.to_f64())
    {
        return Ok(zero);
    }
    let known = |d: &DateTime| d.date.is_zero() || d.date.has_zero() || d.date.stands(mode);
    let allowed = parsed.filter(|d| known(d) && date_allowed(d.date, cx.session));
    let Some(d) = allowed else {
        cx.no_time(kind, &value, column, readable(&value, parsed))?;
        return Ok(zero);
    };
    if trailing {
        cx.no_time(kind, &value, column, false)?;
    }
    // A DATE too is that of the nearest second.
    let Some(d) = d.fitted(ty.decimals, mode) else {
        cx.no_time(kind, &value, column, true)?;
        return Ok(zero);
    };
    if ty.base == BaseType::Date {
        if d.day_micros() != 0 {
            let whole = Value::DateTime(d);
            let lost = match &value {
                Value::DateTime(_) => &whole,
                other => other,
            };
            cx.note_lost(kind, lost, column);
        }
        return Ok(Value::Date(d.date));
    }
    if ty.base == BaseType::Timestamp && !d.is_zero() {
        let zone = cx.session.zone.get();
        let moment = d.date.exists().then(|| d.moment(zone));
        let Some(moment) = moment.filter(|m| (1..=time::MAX_TIMESTAMP).contains(&m.seconds()))
        else {
            cx.no_time(kind, &value, column, true)?;
            return Ok(zero);
        };
        if let Moment::Skipped(s) = moment {
            cx.skipped(kind, &value, column)?;
            let at = DateTime::from_unix(s, d.micro, zone).unwrap_or(d);
            return Ok(Value::DateTime(at));
        }
    }
    Ok(Value::DateTime(d))
}

/// Whether a number is that of a day, and has a fraction, which a day has not.
fn fraction_of_day(number: &Value<'_>) -> bool {
    /// `yyyymmdd` is less.
    const NO_DAY: f64 = 1e8;
    let n = match number {
        Value::Decimal(_) | Value::Double(_) => number.to_f64(),
        _ => return false,
    };
    n < NO_DAY && n.fract() != 0.0
}

/// Whether what is no date is one out of a date's range rather than cut: a moment that doesn't exist, a text of nothing but zeros, and of
/// numbers those below a date's first and above its last.
fn readable(value: &Value<'_>, parsed: Option<DateTime>) -> bool {
    /// `yyyymmddhhmmss` of the last moment.
    const LAST: f64 = 99_991_231_235_959.0;
    match value {
        Value::Bytes(b) => {
            let zero = |c: &u8| *c == b'0' || c.is_ascii_punctuation();
            parsed.is_some()
                || parse_time::is_beyond_month(b)
                || b.contains(&b'0') && b.trim_ascii().iter().all(zero)
        }
        number if number.is_number() => {
            let n = number.to_f64();
            !(1.0..=LAST).contains(&n)
        }
        _ => parsed.is_some_and(|d| d.is_zero()),
    }
}

pub(super) fn cast<'a>(
    value: Value<'a>,
    ty: &SqlType,
    session: &ConversionEnv,
) -> SqlResult<Value<'a>> {
    let read = match ty.base {
        BaseType::Date => Read::Date,
        _ => Read::DateTime,
    };
    let parsed = match &value {
        Value::Time(t) => DateTime::from_days_micros(session.local_now().date.days(), t.micros),
        other => match read_datetime(other, read, session)? {
            Some(d) => Some(d),
            None => return Ok(Value::Null),
        },
    };
    // The day of a number is that of its whole seconds.
    let day = ty.base == BaseType::Date && value.is_number();
    let parsed = match (&value, parsed) {
        (Value::Decimal(_) | Value::Double(_), Some(_)) if day => {
            Value::Decimal(value.to_decimal().truncate(0)).to_datetime_in(session.sql_mode.get())
        }
        (_, parsed) => parsed,
    };
    let good = parsed
        .filter(|d| date_allowed(d.date, session))
        .and_then(|d| {
            if ty.base == BaseType::Date {
                Some(d)
            } else {
                d.fitted(ty.decimals, session.sql_mode.get())
            }
        });
    Ok(match good {
        Some(d) if ty.base == BaseType::Date => Value::Date(d.date),
        Some(d) => Value::DateTime(d),
        None => {
            no_datetime(&value, read, session)?;
            Value::Null
        }
    })
}

pub(super) fn lookup(value: &Value<'_>, ty: &SqlType, zone: Zone) -> Lookup {
    let d = match value {
        Value::Time(_) | Value::Double(_) => None,
        v => v.to_datetime(),
    };
    let Some(d) = d else {
        return Lookup::Unusable;
    };
    let (at, exact) = if ty.base == BaseType::Date {
        let day = Value::Date(d.date);
        (day, d == DateTime::from(d.date))
    } else {
        let micro = truncate_micros(d.micro as i64, ty.decimals) as u32;
        (Value::DateTime(DateTime { micro, ..d }), micro == d.micro)
    };
    if ty.base == BaseType::Timestamp {
        // A day inside the range that timestamps have in any time zone.
        let day = |year, month, day| Date { year, month, day };
        if !(day(1970, 1, 3)..day(2038, 1, 17)).contains(&d.date) || !d.date.exists() {
            return Lookup::Unusable;
        }
        // Local times that a clock shows twice, or never, do not stand where their moment does.
        if !zone.is_plain(d) {
            return Lookup::Unusable;
        }
    }
    if exact {
        Lookup::Exact(at)
    } else {
        Lookup::Above(at)
    }
}

pub(super) fn constant_text(text: &[u8], base: BaseType) -> Option<(Value<'static>, SqlType)> {
    Some(moment(parse_time::parse_datetime(text)?, base))
}

/// What a constant text is beside a date or a moment, and its type.
fn moment(p: parse_time::ParsedDateTime, base: BaseType) -> (Value<'static>, SqlType) {
    if p.has_time || base != BaseType::Date {
        (Value::DateTime(p.value), SqlType::datetime(6))
    } else {
        (Value::Date(p.value.date), SqlType::new(BaseType::Date))
    }
}

/// Whether a column of dates has a value for a number beside it.
pub(super) fn fits(value: &Value<'_>) -> bool {
    /// Above all days that are numbers without a time.
    const MOMENTS: f64 = 1e9;
    if let Value::Bytes(text) = value {
        return parse_time::parse_datetime(text).is_none_or(|p| !p.trailing);
    }
    if !value.is_number() {
        return true;
    }
    let n = value.to_f64();
    value.to_datetime().is_some() && (n.fract() == 0.0 || n > MOMENTS)
}

pub(super) fn beside(v: Value<'_>, base: BaseType, mode: SqlMode) -> SqlResult<Value<'_>> {
    let Value::Bytes(text) = &v else {
        return Ok(v);
    };
    match parse_time::parse_datetime_in(text, mode) {
        Some(p) => Ok(moment(p, base).0),
        None => Err(no_date(text, base)),
    }
}

/// 1525.
fn no_date(text: &[u8], base: BaseType) -> SqlError {
    let kind = match base {
        BaseType::Date => "DATE",
        BaseType::Timestamp => "TIMESTAMP",
        _ => "DATETIME",
    };
    // It ends where a text of C's does.
    let text = text.split(|b| *b == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let shown: String = text.chars().take(128).collect();
    SqlError::new(1525, format!("Incorrect {kind} value: '{shown}'"))
}
