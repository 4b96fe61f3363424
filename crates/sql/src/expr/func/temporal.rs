//! Dates and times.

use super::{Call, Computed, Exit, Func};
use crate::expr::Expr;
use crate::expr::time_format::{self, Reads};
use crate::types::{BaseType, SqlType};
use crate::value::time::{self, MICROS, truncate_micros};
use crate::value::{Date, DateTime, Decimal, Time, Value, Zone};

/// Type of STR_TO_DATE: what a constant format reads, else a datetime with microseconds.
pub(super) fn str_to_date_type(args: &[Expr]) -> SqlType {
    let Some(Value::Bytes(spec)) = args[1].as_constant() else {
        return SqlType::datetime(6);
    };
    let fsp = |micro: bool| if micro { 6 } else { 0 };
    match time_format::reads(spec) {
        Reads::Date => SqlType::new(BaseType::Date),
        Reads::Time(m) => SqlType::temporal(BaseType::Time, fsp(m)),
        Reads::DateTime(m) => SqlType::datetime(fsp(m)),
    }
}

fn fsp(c: &Call<'_, '_>) -> Result<u8, Exit> {
    Ok(if c.len() == 1 {
        c.int(0)?.clamp(0, 6) as u8
    } else {
        0
    })
}

/// GET_FORMAT, whose first argument is the name of a type.
pub(super) fn get_format<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (kind, which) = (c.text(0)?, c.text(1)?);
    let is = |name: &str| which.eq_ignore_ascii_case(name.as_bytes());
    let (date, time) = (&*kind == b"DATE", &*kind == b"TIME");
    let found = [
        ("USA", "%m.%d.%Y", "%h:%i:%s %p", "%Y-%m-%d %H.%i.%s"),
        ("JIS", "%Y-%m-%d", "%H:%i:%s", "%Y-%m-%d %H:%i:%s"),
        ("ISO", "%Y-%m-%d", "%H:%i:%s", "%Y-%m-%d %H:%i:%s"),
        ("EUR", "%d.%m.%Y", "%H.%i.%s", "%Y-%m-%d %H.%i.%s"),
        ("INTERNAL", "%Y%m%d", "%H%i%s", "%Y%m%d%H%i%s"),
    ]
    .into_iter()
    .find(|f| is(f.0));
    let (_, of_date, of_time, of_both) = found.ok_or(Exit::Null)?;
    Ok(Value::str(match (date, time) {
        (true, _) => of_date,
        (_, true) => of_time,
        _ => of_both,
    }))
}

/// The first argument, unless sql_mode has no such date: then it is as if it were cast.
fn allowed(c: &Call<'_, '_>) -> Result<DateTime, Exit> {
    let d = c.datetime(0)?;
    if crate::value::date_allowed(d.date, c.cx.session) {
        return Ok(d);
    }
    let text = c.value(0)?.to_text().into_owned();
    let m = format!(
        "Incorrect datetime value: '{}'",
        crate::value::printable(&text)
    );
    c.cx.session.complain(1292, m)?;
    Err(Exit::Null)
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

fn time_value<'a>(micros: i64, c: &Call<'_, 'a>) -> Computed<'a> {
    let (t, clamped) = Time::clamped(micros);
    if clamped {
        crate::value::truncated(c.cx.session, "time", &Value::Time(Time { micros }))?;
    }
    Ok(Value::Time(t))
}

/// The zone that an argument of CONVERT_TZ names.
fn zone(text: &[u8]) -> Option<Zone> {
    if text.eq_ignore_ascii_case(b"SYSTEM") {
        return Some(Zone::UTC);
    }
    Zone::by_name(std::str::from_utf8(text).ok()?)
}

pub(super) fn call<'a>(f: Func, c: &Call<'_, 'a>) -> Computed<'a> {
    let session = c.cx.session;
    let tz = session.zone.get();
    match f {
        Func::Now => Ok(Value::DateTime(session.local_now_fsp(fsp(c)?))),
        Func::SysDate => {
            let now = std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap_or_default();
            let d = DateTime::from_unix(now.as_secs() as i64, now.subsec_micros(), tz);
            Ok(Value::DateTime(cut(d.unwrap_or_default(), fsp(c)?)))
        }
        Func::CurDate => Ok(Value::Date(session.local_now().date)),
        Func::CurTime => Ok(Value::Time(session.local_now_fsp(fsp(c)?).time())),
        Func::UtcTimestamp => Ok(Value::DateTime(cut(utc_now(c), fsp(c)?))),
        Func::UtcDate => Ok(Value::Date(utc_now(c).date)),
        Func::UtcTime => Ok(Value::Time(cut(utc_now(c), fsp(c)?).time())),
        Func::Date => Ok(Value::Date(allowed(c)?.date)),
        Func::Time => Ok(Value::Time(c.time(0)?)),
        Func::Timestamp => {
            let d = allowed(c)?;
            if c.len() == 1 {
                return Ok(Value::DateTime(d));
            }
            let t = c.time(1)?;
            d.add_micros(t.micros)
                .map(Value::DateTime)
                .ok_or(Exit::Null)
        }
        Func::DayOfWeek => Ok(Value::Int((c.date(0)?.weekday() + 1) % 7 + 1)),
        Func::Weekday => Ok(Value::Int(c.date(0)?.weekday())),
        Func::DayOfYear => Ok(Value::Int(c.date(0)?.day_of_year())),
        Func::Week | Func::YearWeek => {
            let mode = if c.len() == 2 {
                c.int(1)? as u32 & 7
            } else {
                0
            };
            let d = c.date(0)?;
            Ok(Value::Int(if f == Func::Week {
                d.week(mode).1 as i64
            } else {
                let (year, week) = d.week(mode | 2);
                year as i64 * 100 + week as i64
            }))
        }
        Func::WeekOfYear => Ok(Value::Int(c.date(0)?.week(3).1 as i64)),
        Func::MonthName => {
            let month = usize::from(c.datetime(0)?.date.month);
            let names = session.names.get().months;
            let name = month.checked_sub(1).and_then(|m| names.get(m));
            Ok(Value::str(name.ok_or(Exit::Null)?))
        }
        Func::DayName => {
            let day = c.date(0)?.weekday() as usize;
            Ok(Value::str(session.names.get().days[day]))
        }
        Func::LastDay => {
            let d = c.datetime(0)?.date;
            if d.month == 0 {
                return Err(Exit::Null);
            }
            Ok(Value::Date(Date {
                day: time::days_in_month(d.year, d.month),
                ..d
            }))
        }
        Func::DateDiff => Ok(Value::Int(c.date(0)?.days() - c.date(1)?.days())),
        Func::TimeDiff => {
            let (a, b) = (c.value(0)?, c.value(1)?);
            let has_date = |v: &Value<'_>| match v {
                Value::Date(_) | Value::DateTime(_) => true,
                Value::Bytes(b) => {
                    crate::value::parse_time::parse_datetime(b).is_some_and(|p| p.has_time)
                        && b.contains(&b'-')
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
        Func::ToDays => Ok(Value::Int(c.date(0)?.days())),
        Func::ToSeconds => {
            let d = c.datetime(0)?;
            if !d.date.exists() {
                return Err(Exit::Null);
            }
            Ok(Value::Int(d.date.days() * 86_400 + d.day_micros() / MICROS))
        }
        Func::FromDays => Date::from_days(c.int(0)?)
            .map(Value::Date)
            .ok_or(Exit::Null),
        Func::UnixTimestamp => {
            if c.len() == 0 {
                return Ok(Value::Int(session.now.get().0));
            }
            let d = c.datetime(0)?;
            let (s, micro) = if d.date.exists() {
                d.to_unix(tz)
            } else {
                (0, 0)
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
        Func::FromUnixTime => {
            let d = c.decimal(0)?;
            let micros = d
                .checked_mul(Decimal::from(MICROS))
                .and_then(Decimal::round_to_i128)
                .and_then(|m| i64::try_from(m).ok())
                .filter(|m| *m >= 0)
                .ok_or(Exit::Null)?;
            let v = DateTime::from_unix(micros / MICROS, (micros % MICROS) as u32, tz)
                .ok_or(Exit::Null)?;
            if c.len() == 1 {
                return v
                    .round(c.expr.ty.decimals)
                    .map(Value::DateTime)
                    .ok_or(Exit::Null);
            }
            let out = time_format::format(v.date, v.time(), &c.text(1)?, session.names.get())
                .ok_or(Exit::Null)?;
            Ok(Value::Bytes(out.into()))
        }
        Func::DateFormat => {
            let d = c.datetime(0)?;
            let out = time_format::format(d.date, d.time(), &c.text(1)?, session.names.get())
                .ok_or(Exit::Null)?;
            Ok(Value::Bytes(out.into()))
        }
        Func::TimeFormat => {
            let t = c.time(0)?;
            let out = time_format::format(Date::default(), t, &c.text(1)?, session.names.get())
                .ok_or(Exit::Null)?;
            Ok(Value::Bytes(out.into()))
        }
        Func::StrToDate => {
            let (s, spec) = (c.text(0)?, c.text(1)?);
            let parsed = time_format::parse(&s, &spec).filter(|(d, _)| {
                c.expr.ty.base == BaseType::Time || crate::value::date_allowed(d.date, session)
            });
            let Some((d, all)) = parsed else {
                let m = format!(
                    "Incorrect datetime value: '{}' for function str_to_date",
                    crate::value::printable(&s)
                );
                session.complain(1411, m)?;
                return Err(Exit::Null);
            };
            let (kind, v) = match c.expr.ty.base {
                BaseType::Date => ("date", Value::Date(d.date)),
                BaseType::Time => ("time", Value::Time(d.time())),
                _ => ("datetime", Value::DateTime(d)),
            };
            if !all {
                crate::value::truncated(session, kind, &Value::Bytes(s))?;
            }
            Ok(v)
        }
        Func::MakeDate => {
            let (year, day) = (c.int(0)?, c.int(1)?);
            let year = match year {
                0..=69 => year + 2000,
                70..=99 => year + 1900,
                _ => year,
            };
            let first = u16::try_from(year)
                .ok()
                .and_then(|y| Date::new(y, 1, 1))
                .filter(|_| day > 0)
                .ok_or(Exit::Null)?;
            Date::from_days(first.days().saturating_add(day - 1))
                .map(Value::Date)
                .ok_or(Exit::Null)
        }
        Func::MakeTime => {
            let (h, m) = (c.int(0)?, c.int(1)?);
            let s = c.decimal(2)?;
            let t = super::numeric::seconds_to_time(s).ok_or(Exit::Null)?;
            if !(0..60).contains(&m) || !(0..60 * MICROS).contains(&t.micros) {
                return Err(Exit::Null);
            }
            let magnitude = (h.unsigned_abs().min(10_000) as i64 * 60 + m) * 60 * MICROS + t.micros;
            time_value(if h < 0 { -magnitude } else { magnitude }, c)
        }
        Func::SecToTime => {
            let d = c.decimal(0)?;
            super::numeric::seconds_to_time(d)
                .map(Value::Time)
                .ok_or(Exit::Null)
        }
        Func::TimeToSec => Ok(Value::Int(c.time(0)?.micros / MICROS)),
        Func::AddTime | Func::SubTime => {
            let sign = if f == Func::AddTime { 1 } else { -1 };
            let step = c.time(1)?.micros * sign;
            let v = c.value(0)?;
            let as_datetime = match &v {
                Value::Date(_) | Value::DateTime(_) => true,
                Value::Bytes(b) => {
                    crate::value::parse_time::parse_datetime(b).is_some() && b.contains(&b'-')
                }
                _ => false,
            };
            let result = if as_datetime {
                let moved = c.datetime(0)?.add_micros(step);
                Value::DateTime(moved.ok_or(Exit::Null)?)
            } else {
                time_value(c.time(0)?.micros.saturating_add(step), c)?
            };
            if c.expr.ty.is_string() {
                return Ok(Value::Bytes(result.to_text().into_owned().into()));
            }
            Ok(result)
        }
        // CONVERT_TZ, the last of them.
        _ => {
            let d = c.datetime(0)?;
            let (from, to) = (c.text(1)?, c.text(2)?);
            let (Some(from), Some(to)) = (zone(&from), zone(&to)) else {
                return Err(Exit::Null);
            };
            if !d.date.exists() {
                return Err(Exit::Null);
            }
            let (s, micro) = d.to_unix(from);
            // What no TIMESTAMP can be stays as it is.
            if !(1..=time::MAX_TIMESTAMP).contains(&s) {
                return Ok(Value::DateTime(d));
            }
            DateTime::from_unix(s, micro, to)
                .map(Value::DateTime)
                .ok_or(Exit::Null)
        }
    }
}
