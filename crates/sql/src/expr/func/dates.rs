//! Dates: their parts, counted in days, and periods of months.

use super::typing::{date, int, plain};
use super::{Call, Computed, Exit, Follows, Function, Null, row};
use crate::value::time::{self, MICROS};
use crate::value::{Date, DateTime, Read, Value, no_datetime};

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("DATE", 1..=1, date, |c| Ok(Value::Date(allowed(c, Read::Date)?.date))).null(Null::Maybe),
    row("DAYOFWEEK", 1..=1, int::<10>, |c| Ok(Value::Int((c.date(0)?.weekday() + 1) % 7 + 1))).null(Null::Maybe),
    row("WEEKDAY", 1..=1, int::<10>, |c| Ok(Value::Int(c.date(0)?.weekday()))).null(Null::Maybe),
    row("DAYOFYEAR", 1..=1, int::<10>, |c| Ok(Value::Int(c.date(0)?.day_of_year()))).null(Null::Maybe),
    row("WEEK", 1..=2, int::<10>, week).null(Null::Maybe).follows(Follows::Statement),
    row("WEEKOFYEAR", 1..=1, int::<10>, |c| Ok(Value::Int(c.date(0)?.week(3).1 as i64))).null(Null::Maybe),
    row("YEARWEEK", 1..=2, int::<10>, yearweek).null(Null::Maybe),
    row("MONTHNAME", 1..=1, plain::<16>, monthname).null(Null::Maybe).follows(Follows::Statement).makes_its_own(),
    row("DAYNAME", 1..=1, plain::<16>, dayname).null(Null::Maybe).follows(Follows::Statement).makes_its_own(),
    row("LAST_DAY", 1..=1, date, last_day).null(Null::Maybe),
    row("DATEDIFF", 2..=2, int::<10>, |c| Ok(Value::Int(c.counted(0)?.days() - c.counted(1)?.days()))).null(Null::Maybe),
    row("TO_DAYS", 1..=1, int::<10>, |c| Ok(Value::Int(c.counted(0)?.days()))).null(Null::Maybe),
    row("FROM_DAYS", 1..=1, date, from_days).null(Null::Maybe),
    row("TO_SECONDS", 1..=1, int::<20>, to_seconds).null(Null::Maybe),
    row("MAKEDATE", 2..=2, date, makedate).null(Null::Maybe),
    row("PERIOD_ADD", 2..=2, int::<6>, period_add),
    row("PERIOD_DIFF", 2..=2, int::<6>, |c| Ok(Value::Int(months(c, 0)? - months(c, 1)?))),
];

/// The first argument, unless sql_mode has no such date: then it is as if it were cast.
pub(super) fn allowed(c: &Call<'_, '_>, read: Read) -> Result<DateTime, Exit> {
    let d = match read {
        Read::Date => c.day(0)?,
        Read::DateTime => c.datetime(0)?,
    };
    if crate::value::date_allowed(d.date, c.cx.session) {
        return Ok(d);
    }
    no_datetime(&c.value(0)?, read, c.cx.session)?;
    Err(Exit::Null)
}

/// The argument of WEEK and YEARWEEK that says when weeks begin, or what goes for it.
fn mode(c: &Call<'_, '_>, default: u8) -> Result<u32, Exit> {
    let mode = match c.len() {
        2 => c.int(1)? as u32,
        _ => default.into(),
    };
    Ok(mode & 7)
}

fn week<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let mode = mode(c, c.cx.session.week_format.get())?;
    Ok(Value::Int(c.date(0)?.week(mode).1 as i64))
}

fn yearweek<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let mode = mode(c, 0)?;
    let (year, week) = c.date(0)?.week(mode | 2);
    Ok(Value::Int(year as i64 * 100 + week as i64))
}

fn monthname<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let month = usize::from(c.day(0)?.date.month);
    let names = c.cx.session.names.get().months;
    let name = month.checked_sub(1).and_then(|m| names.get(m));
    Ok(Value::str(name.ok_or(Exit::Null)?))
}

fn dayname<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let day = c.date(0)?.weekday() as usize;
    Ok(Value::str(c.cx.session.names.get().days[day]))
}

fn last_day<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let d = c.day(0)?.date;
    if d.month == 0 {
        no_datetime(&c.value(0)?, Read::Date, c.cx.session)?;
        return Err(Exit::Null);
    }
    Ok(Value::Date(Date {
        day: time::days_in_month(d.year, d.month),
        ..d
    }))
}

fn from_days<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let day = c.int(0)?;
    match Date::from_days(day).filter(|_| day > 0) {
        Some(date) => Ok(Value::Date(date)),
        None => c.beyond("DATE"),
    }
}

fn to_seconds<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let d = c.datetime(0)?;
    c.existing(0, d.date, Read::DateTime)?;
    Ok(Value::Int(d.date.days() * 86_400 + d.day_micros() / MICROS))
}

fn makedate<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
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

fn period_add<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    // What is beyond a signed integer is a negative one.
    let months = months(c, 0)?.saturating_add(c.bits(1)? as i64).max(0);
    Ok(Value::Int(months / 12 * 100 + months % 12 + 1))
}

/// A period (`YYYYMM` or `YYMM`) as months; error 1210 if it is none.
fn months(c: &Call<'_, '_>, i: usize) -> Result<i64, Exit> {
    let period = c.int(i)?;
    let (year, month) = (period / 100, period % 100);
    if period <= 0 || !(1..=12).contains(&month) {
        return Err(c.incorrect_arguments());
    }
    let year = match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        _ => year,
    };
    Ok(year * 12 + month - 1)
}
