//! What time it is, and moments in time zones.

use std::time::{SystemTime, UNIX_EPOCH};

use super::typing::{date, temporal_fsp};
use super::{Call, Computed, Exit, Follows, Function, Null, Typing, row};
use crate::expr::time_format;
use crate::types::{BaseType, SqlType};
use crate::value::time::{self, DAY_MICROS, MICROS, truncate_micros};
use crate::value::{DateTime, Decimal, Read, Value, Zone};

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("NOW", 0..=1, asked_datetime, now).aka(&["CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"]).follows(Follows::Clock),
    row("SYSDATE", 0..=1, asked_datetime, sysdate).follows(Follows::Call),
    row("CURDATE", 0..=0, date, |c| Ok(Value::Date(c.cx.session.local_now().date))).aka(&["CURRENT_DATE"]).follows(Follows::Clock),
    row("CURTIME", 0..=1, asked_time, curtime).aka(&["CURRENT_TIME"]).follows(Follows::Clock),
    row("UTC_TIMESTAMP", 0..=1, asked_datetime, |c| Ok(Value::DateTime(cut(utc_now(c), fsp(c)?)))).follows(Follows::Clock),
    row("UTC_DATE", 0..=0, date, |c| Ok(Value::Date(utc_now(c).date))).follows(Follows::Clock),
    row("UTC_TIME", 0..=1, asked_time, |c| Ok(Value::Time(cut(utc_now(c), fsp(c)?).time()))).follows(Follows::Clock),
    row("UNIX_TIMESTAMP", 0..=1, seconds, unix_timestamp).follows(Follows::Clock),
    row("FROM_UNIXTIME", 1..=2, from_seconds, from_unixtime).null(Null::Maybe).follows(Follows::Statement),
    row("CONVERT_TZ", 3..=3, |t| SqlType::datetime(temporal_fsp(&t.args[0])), convert_tz).null(Null::Maybe).follows(Follows::Clock),
];

fn asked_datetime(t: &Typing<'_>) -> SqlType {
    SqlType::datetime(t.asked_fsp())
}

fn asked_time(t: &Typing<'_>) -> SqlType {
    SqlType::temporal(BaseType::Time, t.asked_fsp())
}

/// Type of UNIX_TIMESTAMP.
fn seconds(t: &Typing<'_>) -> SqlType {
    match t.args.first().map_or(0, temporal_fsp) {
        0 => SqlType::bigint(),
        n => SqlType::decimal(11 + n as u32, n),
    }
}

/// Type of FROM_UNIXTIME.
fn from_seconds(t: &Typing<'_>) -> SqlType {
    let ty = &t.args[0].ty;
    match ty.base {
        _ if t.args.len() == 2 => t.plain(64),
        BaseType::Decimal => SqlType::datetime(ty.decimals.min(6)),
        _ if ty.is_integer() => SqlType::datetime(0),
        _ if ty.is_temporal() => SqlType::datetime(ty.decimals.min(6)),
        _ => SqlType::datetime(6),
    }
}

fn fsp(c: &Call<'_, '_>) -> Result<u8, Exit> {
    Ok(if c.len() == 1 {
        c.int(0)?.clamp(0, 6) as u8
    } else {
        0
    })
}

fn cut(d: DateTime, fsp: u8) -> DateTime {
    DateTime {
        micro: truncate_micros(d.micro as i64, fsp) as u32,
        ..d
    }
}

fn utc_now(c: &Call<'_, '_>) -> DateTime {
    let (s, m) = c.cx.session.now.get();
    DateTime::from_unix(s, m, Zone::UTC).unwrap_or_default()
}

/// The zone that an argument of CONVERT_TZ names.
fn zone(text: &[u8]) -> Option<Zone> {
    if text.eq_ignore_ascii_case(b"SYSTEM") {
        return Some(Zone::UTC);
    }
    Zone::by_name(std::str::from_utf8(text).ok()?)
}

fn now<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::DateTime(c.cx.session.local_now_fsp(fsp(c)?)))
}

fn sysdate<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let zone = c.cx.session.zone.get();
    let d = DateTime::from_unix(now.as_secs() as i64, now.subsec_micros(), zone);
    Ok(Value::DateTime(cut(d.unwrap_or_default(), fsp(c)?)))
}

fn curtime<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::Time(c.cx.session.local_now_fsp(fsp(c)?).time()))
}

fn unix_timestamp<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let session = c.cx.session;
    if c.len() == 0 {
        return Ok(Value::Int(session.now.get().0));
    }
    let v = c.value(0)?;
    // Of a number that is no date, but whose month could have more days, as many days later; of all else that is none 0.
    let read = match late_day(&v) {
        Some(d) => Ok(d),
        None => c.datetime(0),
    };
    let d = match read {
        Err(Exit::Null) => DateTime::default(),
        read => read?,
    };
    let (s, micro) = match d.date.has_zero() {
        true => (0, 0),
        false => d.to_unix(session.zone.get()),
    };
    // Outside of what TIMESTAMP holds the answer is 0.
    let (s, micro) = if (0..=32_536_771_199).contains(&s) {
        (s, micro)
    } else {
        (0, 0)
    };
    if c.expr.ty.base == BaseType::Decimal {
        let scale = c.expr.ty.decimals;
        let v = Decimal::from_i128(s as i128 * MICROS as i128 + micro as i128, 6);
        return Ok(Value::Decimal(v.truncate(scale)));
    }
    Ok(Value::Int(s))
}

/// The day that a number is which would be one if its month had 31 days.
fn late_day(v: &Value<'_>) -> Option<DateTime> {
    let n = match v {
        Value::Int(n) => *n,
        Value::UInt(n) => i64::try_from(*n).ok()?,
        _ => return None,
    };
    let over = n % 100 - 28;
    if !(1..=3).contains(&over) || !(10_000..=99_991_231).contains(&n) {
        return None;
    }
    match v.to_datetime() {
        Some(_) => None,
        None => {
            let day = Value::Int(n - over).to_datetime()?;
            day.add_micros(over * DAY_MICROS)
        }
    }
}

fn from_unixtime<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let session = c.cx.session;
    let micros = c
        .decimal(0)?
        .checked_mul(Decimal::from(MICROS))
        .and_then(Decimal::round_to_i128)
        .and_then(|m| i64::try_from(m).ok())
        .filter(|m| *m >= 0)
        .ok_or(Exit::Null)?;
    let (s, micro) = (micros / MICROS, (micros % MICROS) as u32);
    let v = DateTime::from_unix(s, micro, session.zone.get()).ok_or(Exit::Null)?;
    if c.len() == 1 {
        let rounded = v.round(c.expr.ty.decimals);
        return rounded.map(Value::DateTime).ok_or(Exit::Null);
    }
    let out = time_format::format(v.date, v.time(), &c.text(1)?, session.names.get());
    Ok(Value::Bytes(out.ok_or(Exit::Null)?.into()))
}

fn convert_tz<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let d = c.datetime(0)?;
    let (from, to) = (c.text(1)?, c.text(2)?);
    let (Some(from), Some(to)) = (zone(&from), zone(&to)) else {
        return Err(Exit::Null);
    };
    c.existing(0, d.date, Read::DateTime)?;
    let (s, micro) = d.to_unix(from);
    // What no TIMESTAMP can be stays as it is.
    if !(1..=time::MAX_TIMESTAMP).contains(&s) {
        return Ok(Value::DateTime(d));
    }
    DateTime::from_unix(s, micro, to)
        .map(Value::DateTime)
        .ok_or(Exit::Null)
}
