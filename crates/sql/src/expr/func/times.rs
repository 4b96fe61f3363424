//! Times of day and spans of time.

use super::dates::allowed;
use super::typing::{int, temporal_fsp};
use super::{Call, Computed, Exit, Follows, Function, Null, Typing, row};
use crate::types::{BaseType, SqlType};
use crate::value::parse_time::{is_beyond_month, parse_datetime, parse_datetime_in, parse_time};
use crate::value::time::{self, MICROS};
use crate::value::{DateTime, Decimal, Read, Time, Value, no_datetime, shown};

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("TIME", 1..=1, as_time, |c| Ok(Value::Time(c.clock(0)?))).null(Null::Maybe),
    row("TIMEDIFF", 2..=2, as_time, timediff).null(Null::Maybe),
    row("TIMESTAMP", 1..=2, |t| SqlType::datetime(t.fsp()), timestamp).null(Null::Maybe).follows(Follows::Clock),
    row("MAKETIME", 3..=3, as_last, maketime).null(Null::Maybe),
    row("SEC_TO_TIME", 1..=1, as_last, sec_to_time).null(Null::Maybe),
    row("TIME_TO_SEC", 1..=1, int::<10>, |c| Ok(Value::Int(c.clock(0)?.micros / MICROS))).null(Null::Maybe),
    row("ADDTIME", 2..=2, moved, |c| move_by(c, 1)).null(Null::Maybe).makes_its_own(),
    row("SUBTIME", 2..=2, moved, |c| move_by(c, -1)).null(Null::Maybe).makes_its_own(),
];

fn as_time(t: &Typing<'_>) -> SqlType {
    SqlType::temporal(BaseType::Time, t.fsp())
}

/// A time with the fraction of the last argument, which a text may have whatever it is.
fn as_last(t: &Typing<'_>) -> SqlType {
    let fsp = t.args.last().map_or(0, |e| match e.ty.is_string() {
        true => 6,
        false => temporal_fsp(e),
    });
    SqlType::temporal(BaseType::Time, fsp)
}

/// Type of ADDTIME and SUBTIME.
fn moved(t: &Typing<'_>) -> SqlType {
    match t.args[0].ty.base {
        BaseType::Time => as_time(t),
        BaseType::Date | BaseType::DateTime | BaseType::Timestamp => SqlType::datetime(t.fsp()),
        _ => t.plain(29),
    }
}

fn time_value<'a>(micros: i64, c: &Call<'_, 'a>) -> Computed<'a> {
    let (t, clamped) = Time::clamped(micros);
    if clamped {
        let text = shown(Value::Time(Time { micros }), &c.expr.ty);
        crate::value::truncated(c.cx.session, "time", &text)?;
    }
    Ok(Value::Time(t))
}

/// Whether a text is a time of day with its date.
fn is_dated(text: &[u8]) -> bool {
    parse_time(text).is_some_and(|p| p.dated)
}

/// 838:59:59 as a number.
const LONGEST_TIME: i64 = 8_385_959;

/// Whether a text has the form of a date: numbers with dashes between them, the first of them no sign.
fn is_date(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    text.first().is_some_and(u8::is_ascii_digit) && text.iter().filter(|c| **c == b'-').count() == 2
}

fn timediff<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (a, b) = (c.value(0)?, c.value(1)?);
    for v in [&a, &b] {
        if let Value::Bytes(text) = v
            && parse_datetime(text).is_none()
            && parse_time(text).is_none()
        {
            let text = crate::value::printable(text);
            let m = format!("Incorrect datetime value: '{text}'");
            c.cx.session.complain(1292, m)?;
            return Err(Exit::Null);
        }
    }
    let has_date = |v: &Value<'_>| match v {
        Value::Date(_) | Value::DateTime(_) => true,
        // More than a time can be.
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) => {
            v.to_i64() > LONGEST_TIME
        }
        Value::Bytes(b) => {
            let dated = || b.contains(&b'-') || is_dated(b);
            let digits = b.len() > 4 && b.iter().all(u8::is_ascii_digit);
            let date = parse_datetime(b);
            date.is_some_and(|p| p.has_time || digits || is_date(b)) && (digits || dated())
        }
        _ => false,
    };
    if has_date(&a) != has_date(&b) {
        return Err(Exit::Null);
    }
    if has_date(&a) {
        let (x, y) = (c.datetime(0)?, c.datetime(1)?);
        let days = x.date.days() - y.date.days();
        return time_value(days * time::DAY_MICROS + x.day_micros() - y.day_micros(), c);
    }
    time_value(c.time(0)?.micros - c.time(1)?.micros, c)
}

fn timestamp<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let d = allowed(c, Read::DateTime)?;
    if c.len() == 1 {
        return Ok(Value::DateTime(d));
    }
    c.existing(0, d.date, Read::DateTime)?;
    moved_date(d, c.time(1)?.micros, c)
}

/// A moment so much later.
fn moved_date<'a>(d: DateTime, micros: i64, c: &Call<'_, 'a>) -> Computed<'a> {
    match d.add_micros(micros) {
        Some(moved) => Ok(Value::DateTime(moved)),
        None => c.beyond("DATETIME"),
    }
}

/// Seconds (with a fraction) as a TIME.
fn seconds(d: Decimal) -> Option<Time> {
    let micros = d.checked_mul(Decimal::from(MICROS))?.round_to_i128()?;
    let clamped = micros.clamp(i64::MIN as i128, i64::MAX as i128) as i64;
    Some(Time::clamped(clamped).0)
}

fn maketime<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (h, m) = (c.int(0)?, c.int(1)?);
    let t = seconds(c.decimal(2)?).ok_or(Exit::Null)?;
    if !(0..60).contains(&m) || !(0..60 * MICROS).contains(&t.micros) {
        return Err(Exit::Null);
    }
    let magnitude = (h.unsigned_abs().min(10_000) as i64 * 60 + m) * 60 * MICROS + t.micros;
    time_value(if h < 0 { -magnitude } else { magnitude }, c)
}

fn sec_to_time<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    seconds(c.decimal(0)?).map(Value::Time).ok_or(Exit::Null)
}

/// Whether a text is written as a time of day and nothing else: with colons, and maybe days before it.
fn is_clock(text: &[u8]) -> bool {
    text.contains(&b':') && parse_time(text).is_some_and(|p| !p.trailing && !p.clamped && !p.dated)
}

/// What ADDTIME and SUBTIME start from: a text is a time of day if it is written as one, else a date if it can be.
fn start<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let v = c.value(0)?;
    let mode = c.cx.session.sql_mode.get();
    Ok(match &v {
        Value::Date(_) | Value::DateTime(_) => Value::DateTime(c.datetime(0)?),
        Value::Bytes(text) if !is_clock(text) => {
            match (parse_datetime_in(text, mode), parse_time(text)) {
                (Some(p), _) if p.value.date.exists() => Value::DateTime(p.value),
                (None, Some(t)) if !is_beyond_month(text) => Value::Time(t.value),
                (None, None) if !is_beyond_month(text) => {
                    no_datetime(&v, Read::DateTime, c.cx.session)?;
                    return Err(Exit::Null);
                }
                _ => {
                    no_datetime(&v, Read::Date, c.cx.session)?;
                    return Err(Exit::Null);
                }
            }
        }
        // More than a time can be.
        number if number.is_number() && number.to_i64() > LONGEST_TIME => {
            Value::DateTime(c.datetime(0)?)
        }
        _ => Value::Time(c.time(0)?),
    })
}

/// A time so much later: NULL beyond the last, but of a text the last.
fn time_later<'a>(t: Time, step: i64, c: &Call<'_, 'a>) -> Computed<'a> {
    let (later, clamped) = Time::clamped(t.micros.saturating_add(step));
    if !clamped {
        return Ok(Value::Time(later));
    }
    match c.beyond("TIME") {
        Err(Exit::Null) if c.expr.ty.is_string() => Ok(Value::Time(later)),
        other => other,
    }
}

/// ADDTIME, or SUBTIME for a sign of -1.
fn move_by<'a>(c: &Call<'_, 'a>, sign: i64) -> Computed<'a> {
    let v = start(c)?;
    let step = c.time(1)?.micros * sign;
    let result = match v {
        Value::DateTime(d) => {
            c.existing(0, d.date, Read::DateTime)?;
            moved_date(d, step, c)?
        }
        v => time_later(v.to_time().unwrap_or_default(), step, c)?,
    };
    if c.expr.ty.is_string() {
        return Ok(Value::Bytes(result.to_text().into_owned().into()));
    }
    Ok(result)
}
