//! INTERVAL units: date arithmetic, EXTRACT, TIMESTAMPDIFF.

use super::operators::{out_of_range_null, whole_double};
use super::{EvalContext, Expr, kinds};
use crate::error::SqlResult;
use crate::types::derive::fixed;
use crate::types::{BaseType, Collation, SqlType};
use crate::value::convert::exact_integer;
use crate::value::parse_time::{is_beyond_month, parse_datetime, parse_datetime_in, parse_time};
use crate::value::time::{DAY_MICROS, Date, DateTime, MICROS, Time};
use crate::value::{
    Decimal, Read, Value, no_datetime, read_datetime, read_time, truncated, write_text,
};

/// Units of INTERVAL, EXTRACT and TIMESTAMPDIFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

use IntervalUnit as U;

const NAMES: [(&str, IntervalUnit); 20] = [
    ("MICROSECOND", U::Microsecond),
    ("SECOND", U::Second),
    ("MINUTE", U::Minute),
    ("HOUR", U::Hour),
    ("DAY", U::Day),
    ("WEEK", U::Week),
    ("MONTH", U::Month),
    ("QUARTER", U::Quarter),
    ("YEAR", U::Year),
    ("SECOND_MICROSECOND", U::SecondMicrosecond),
    ("MINUTE_MICROSECOND", U::MinuteMicrosecond),
    ("MINUTE_SECOND", U::MinuteSecond),
    ("HOUR_MICROSECOND", U::HourMicrosecond),
    ("HOUR_SECOND", U::HourSecond),
    ("HOUR_MINUTE", U::HourMinute),
    ("DAY_MICROSECOND", U::DayMicrosecond),
    ("DAY_SECOND", U::DaySecond),
    ("DAY_MINUTE", U::DayMinute),
    ("DAY_HOUR", U::DayHour),
    ("YEAR_MONTH", U::YearMonth),
];

impl From<millpond_syntax::ast::IntervalUnit> for IntervalUnit {
    fn from(unit: millpond_syntax::ast::IntervalUnit) -> IntervalUnit {
        use millpond_syntax::ast::IntervalUnit as S;
        match unit {
            S::Microsecond => U::Microsecond,
            S::Second => U::Second,
            S::Minute => U::Minute,
            S::Hour => U::Hour,
            S::Day => U::Day,
            S::Week => U::Week,
            S::Month => U::Month,
            S::Quarter => U::Quarter,
            S::Year => U::Year,
            S::SecondMicrosecond => U::SecondMicrosecond,
            S::MinuteMicrosecond => U::MinuteMicrosecond,
            S::MinuteSecond => U::MinuteSecond,
            S::HourMicrosecond => U::HourMicrosecond,
            S::HourSecond => U::HourSecond,
            S::HourMinute => U::HourMinute,
            S::DayMicrosecond => U::DayMicrosecond,
            S::DaySecond => U::DaySecond,
            S::DayMinute => U::DayMinute,
            S::DayHour => U::DayHour,
            S::YearMonth => U::YearMonth,
        }
    }
}

impl IntervalUnit {
    /// Its SQL name.
    pub fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, u)| *u == self)
            .map_or("", |(n, _)| n)
    }
    /// Whether it counts whole days or more.
    pub fn is_date(self) -> bool {
        matches!(
            self,
            U::Day | U::Week | U::Month | U::Quarter | U::Year | U::YearMonth
        )
    }
    /// Whether it counts days or more, alone or beside parts of them.
    fn has_days(self) -> bool {
        self.is_date()
            || matches!(
                self,
                U::DayMicrosecond | U::DaySecond | U::DayMinute | U::DayHour
            )
    }
    /// Whether it names microseconds.
    pub fn has_micros(self) -> bool {
        matches!(
            self,
            U::Microsecond
                | U::SecondMicrosecond
                | U::MinuteMicrosecond
                | U::HourMicrosecond
                | U::DayMicrosecond
        )
    }
    /// Whether its amount is one number.
    fn is_single(self) -> bool {
        self.parts().is_empty() && self != U::YearMonth
    }
    /// The units of a composite one's parts, last first, in microseconds.
    fn parts(self) -> &'static [i64] {
        const S: i64 = MICROS;
        const M: i64 = 60 * S;
        const H: i64 = 60 * M;
        const D: i64 = DAY_MICROS;
        match self {
            U::SecondMicrosecond => &[1, S],
            U::MinuteMicrosecond => &[1, S, M],
            U::MinuteSecond => &[S, M],
            U::HourMicrosecond => &[1, S, M, H],
            U::HourSecond => &[S, M, H],
            U::HourMinute => &[M, H],
            U::DayMicrosecond => &[1, S, M, H, D],
            U::DaySecond => &[S, M, H, D],
            U::DayMinute => &[M, H, D],
            U::DayHour => &[H, D],
            _ => &[],
        }
    }
}

/// An interval: months or microseconds.
enum Interval {
    Months(i64),
    Micros(i64),
}

/// Numbers of a composite interval such as `1 10:30`, and the sign.
fn numbers(text: &[u8]) -> (Vec<i64>, bool) {
    let text = text.trim_ascii();
    let negative = text.first() == Some(&b'-');
    let mut out = Vec::new();
    let mut at = None;
    for b in text {
        if b.is_ascii_digit() {
            let v: i64 = at.unwrap_or(0);
            at = Some(v.saturating_mul(10).saturating_add((b - b'0') as i64));
        } else if let Some(v) = at.take() {
            out.push(v);
        }
    }
    out.extend(at);
    (out, negative)
}

fn interval(amount: &Value<'_>, unit: IntervalUnit) -> Option<Interval> {
    // Its 64 bits are read as a signed number's.
    let signed = match amount {
        Value::UInt(n) if unit.is_single() => Value::Int(*n as i64),
        other => other.borrowed(),
    };
    let amount = &signed;
    let whole = |unit: i64| amount.to_i64().checked_mul(unit);
    Some(match unit {
        U::Year => Interval::Months(whole(12)?),
        U::Quarter => Interval::Months(whole(3)?),
        U::Month => Interval::Months(whole(1)?),
        U::Week => Interval::Micros(whole(7 * DAY_MICROS)?),
        U::Day => Interval::Micros(whole(DAY_MICROS)?),
        U::Hour => Interval::Micros(whole(3600 * MICROS)?),
        U::Minute => Interval::Micros(whole(60 * MICROS)?),
        U::Microsecond => Interval::Micros(whole(1)?),
        U::Second => {
            // Seconds alone may have a fraction.
            let micros = amount
                .to_decimal()
                .checked_mul(Decimal::from(MICROS))?
                .round_to_i128()?;
            Interval::Micros(i64::try_from(micros).ok()?)
        }
        U::YearMonth => {
            let (n, negative) = numbers(&amount.to_text());
            let months = match n[..] {
                [] => 0,
                [m] => m,
                [y, m, ..] => y.checked_mul(12)?.checked_add(m)?,
            };
            Interval::Months(if negative { -months } else { months })
        }
        composite => {
            let text = amount.to_text();
            let (n, negative) = numbers(&text);
            let mut total = 0i64;
            for (v, unit) in n.iter().rev().zip(composite.parts()) {
                let v = if *unit == 1 {
                    fraction_digits(&text, *v)
                } else {
                    *v
                };
                total = total.checked_add(v.checked_mul(*unit)?)?;
            }
            Interval::Micros(if negative { -total } else { total })
        }
    })
}

/// Whether a composite interval has more numbers than its unit has parts: `1:2:3` as HOUR_MINUTE.
fn has_more_parts(amount: &Value<'_>, unit: IntervalUnit) -> bool {
    let parts = match unit {
        U::YearMonth => 2,
        other => other.parts().len(),
    };
    parts > 0 && numbers(&amount.to_text()).0.len() > parts
}

/// How many of the smallest unit that a unit names an amount is, 90 for `1:30` HOUR_MINUTE: what EVERY of an event counts by. Fractions are
/// cut off; `None` beyond 64 bits.
pub fn count(amount: &Value<'_>, unit: IntervalUnit) -> Option<i64> {
    let smallest = match unit {
        U::Week => 7 * DAY_MICROS,
        U::Day => DAY_MICROS,
        U::Hour | U::DayHour => 3600 * MICROS,
        U::Minute | U::HourMinute | U::DayMinute => 60 * MICROS,
        U::Second | U::MinuteSecond | U::HourSecond | U::DaySecond => MICROS,
        _ => 1,
    };
    Some(match (interval(amount, unit)?, unit) {
        (Interval::Months(n), U::Year) => n / 12,
        (Interval::Months(n), U::Quarter) => n / 3,
        (Interval::Months(n), _) => n,
        (Interval::Micros(n), _) => n / smallest,
    })
}

/// `1.5` as SECOND_MICROSECOND means 500,000 microseconds: the last number is a fraction's digits.
fn fraction_digits(text: &[u8], v: i64) -> i64 {
    let digits = text.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    (digits..6).fold(v, |v, _| v.saturating_mul(10))
}

/// An amount of one part, of which a text is the whole number that it begins with, or for seconds the decimal; what follows is
/// complained of.
fn checked_amount<'a>(
    v: Value<'a>,
    unit: IntervalUnit,
    by: &Expr,
    cx: &EvalContext<'_>,
) -> SqlResult<Value<'a>> {
    if let Value::Double(_) = v
        && unit.is_single()
        && unit != U::Second
    {
        whole_double(&v, by)?;
    }
    let Value::Bytes(b) = &v else {
        return Ok(v);
    };
    let p = Decimal::parse_prefix(b);
    let bare = |used: usize| used == 0 || !b[used..].trim_ascii().is_empty();
    let (kind, wrong) = match unit {
        U::Second => ("DECIMAL", bare(p.used)),
        _ if unit.is_single() => ("INTEGER", exact_integer(b).is_none()),
        _ => return Ok(v),
    };
    if wrong && !by.is_quiet() {
        truncated(cx.session, kind, &v)?;
    }
    Ok(match unit {
        U::Second => v,
        _ if wrong => Value::Decimal(integer_prefix(b)),
        _ => v,
    })
}

/// The whole number that a text begins with.
fn integer_prefix(text: &[u8]) -> Decimal {
    let text = text.trim_ascii_start();
    let sign = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let digits = text[sign..].iter().take_while(|c| c.is_ascii_digit());
    Decimal::parse_prefix(&text[..sign + digits.count()]).value
}

/// NULL: a date out of range is told by its expression, any other moment is not.
fn overflow(e: &Expr, cx: &EvalContext<'_>) -> SqlResult<Value<'static>> {
    if e.ty.base == BaseType::Date {
        out_of_range_null("DATE", e, cx)?;
    } else {
        let m = "Datetime function: datetime field overflow";
        cx.session.complain(1441, m)?;
    }
    Ok(Value::Null)
}

/// Result type of `date ± INTERVAL n unit`.
pub fn date_add_type(
    date: &SqlType,
    amount: &SqlType,
    unit: IntervalUnit,
    collation: Collation,
) -> SqlType {
    let fsp = |own: u8| {
        if unit.has_micros() {
            6
        } else if unit == U::Second && amount.base != BaseType::Null {
            own.max(fixed(amount).min(6))
        } else {
            own
        }
    };
    match date.base {
        BaseType::Date if unit.is_date() => date.clone(),
        BaseType::Date => SqlType::datetime(fsp(0)),
        BaseType::DateTime | BaseType::Timestamp => SqlType::datetime(fsp(date.decimals)),
        // Days later it is a day's, today's to begin with.
        BaseType::Time if unit.has_days() => SqlType::datetime(fsp(date.decimals)),
        BaseType::Time => SqlType::temporal(BaseType::Time, fsp(date.decimals)),
        _ => SqlType::varchar(26, collation),
    }
}

/// The moment that the value of `e` is, if that is one of the calendar or stands for one.
fn whole_date(
    v: &Value<'_>,
    e: &Expr,
    asked: Read,
    cx: &EvalContext<'_>,
) -> SqlResult<Option<DateTime>> {
    let read = match v {
        Value::Time(_) => kinds::today(v, cx.session).and_then(|d| d.to_datetime()),
        v => read_datetime(v, Read::DateTime, cx.session)?,
    };
    let stands =
        |d: DateTime| d.date.exists() || !d.date.has_zero() && kinds::carries_over(e, v, asked);
    if read.is_some_and(|d| !stands(d)) {
        no_datetime(v, Read::DateTime, cx.session)?;
        return Ok(None);
    }
    Ok(read)
}

/// `date ± INTERVAL amount unit`. A text gives a text: a date if it was one and the unit counts days.
pub(super) fn date_add<'a>(
    e: &'a Expr,
    args: &'a [Expr; 2],
    unit: IntervalUnit,
    minus: bool,
    cx: &EvalContext<'a>,
) -> SqlResult<Value<'a>> {
    let v = args[0].eval(cx)?;
    let n = args[1].eval(cx)?;
    if v.is_null() || n.is_null() {
        return Ok(Value::Null);
    }
    let n = checked_amount(n, unit, &args[1], cx)?;
    let ty = &e.ty;
    let span = matches!(v, Value::Time(_)) && ty.base == BaseType::Time;
    if has_more_parts(&n, unit) {
        if !span {
            let kind = if ty.base == BaseType::Date {
                "DATE"
            } else {
                "DATETIME"
            };
            out_of_range_null(kind, e, cx)?;
        }
        return Ok(Value::Null);
    }
    let Some(step) = interval(&n, unit) else {
        return overflow(e, cx);
    };
    let sign = if minus { -1 } else { 1 };
    if let Value::Time(t) = v
        && span
    {
        return time_add(e, t, step, sign, cx);
    }
    let is_date = match &v {
        Value::Date(_) => true,
        Value::Bytes(b) => {
            let mode = cx.session.sql_mode.get();
            parse_datetime_in(b, mode).is_some_and(|p| !p.has_time)
        }
        Value::Int(n) => n.unsigned_abs() < 100_000_000,
        _ => false,
    };
    let asked = match ty.base {
        BaseType::Date => Read::Date,
        _ => Read::DateTime,
    };
    let Some(d) = whole_date(&v, &args[0], asked, cx)? else {
        return Ok(Value::Null);
    };
    let moved = match step {
        Interval::Months(m) => d
            .date
            .add_months(m * sign)
            .map(|date| DateTime { date, ..d }),
        Interval::Micros(m) => m.checked_mul(sign).and_then(|m| d.add_micros(m)),
    };
    let Some(moved) = moved else {
        return overflow(e, cx);
    };
    // A year later only the leap day becomes another.
    let day = (d.date.month, d.date.day);
    if unit == U::Year && moved.date.day < d.date.day && day != (2, 29) {
        let date = Date {
            day: d.date.day,
            ..moved.date
        };
        let none = Value::DateTime(DateTime { date, ..moved });
        let mut text = Vec::new();
        write_text(&none, &SqlType::datetime(6), &mut text);
        truncated(cx.session, "datetime", &Value::Bytes(text.into()))?;
        return Ok(Value::Null);
    }
    let as_date = is_date && unit.is_date();
    Ok(if ty.is_string() {
        let value = if as_date {
            Value::Date(moved.date)
        } else {
            Value::DateTime(moved)
        };
        Value::Bytes(std::borrow::Cow::Owned(value.to_text().into_owned()))
    } else if ty.base == BaseType::Date {
        Value::Date(moved.date)
    } else {
        Value::DateTime(moved)
    })
}

/// A time of day so much later; NULL beyond the last.
fn time_add<'a>(
    e: &Expr,
    t: Time,
    step: Interval,
    sign: i64,
    cx: &EvalContext<'_>,
) -> SqlResult<Value<'a>> {
    let later = match step {
        Interval::Micros(m) => Time::clamped(t.micros.saturating_add(m.saturating_mul(sign))),
        Interval::Months(_) => return Ok(Value::Null),
    };
    if later.1 {
        out_of_range_null("TIME", e, cx)?;
        return Ok(Value::Null);
    }
    Ok(Value::Time(later.0))
}

/// Whole months from `a` to `b`, both existing dates, `a` not after `b`.
fn months_between(a: DateTime, b: DateTime) -> i64 {
    let m =
        (b.date.year as i64 - a.date.year as i64) * 12 + b.date.month as i64 - a.date.month as i64;
    let early = (b.date.day, b.day_micros()) < (a.date.day, a.day_micros());
    m - early as i64
}

/// TIMESTAMPDIFF(unit, from, to). A time is one of today.
pub(super) fn timestamp_diff(
    args: &[Expr; 2],
    unit: IntervalUnit,
    cx: &EvalContext<'_>,
) -> SqlResult<Value<'static>> {
    let values = [args[0].eval(cx)?, args[1].eval(cx)?];
    let moment = |at: usize| match &values[at] {
        Value::Null => Ok(None),
        v => whole_date(v, &args[at], Read::DateTime, cx),
    };
    let Some(a) = moment(0)? else {
        return Ok(Value::Null);
    };
    let Some(b) = moment(1)? else {
        return Ok(Value::Null);
    };
    let micros = (b.date.days() - a.date.days()) as i128 * DAY_MICROS as i128
        + (b.day_micros() - a.day_micros()) as i128;
    let months = || {
        if a <= b {
            months_between(a, b)
        } else {
            -months_between(b, a)
        }
    };
    let per = |unit: i64| (micros / unit as i128) as i64;
    Ok(Value::Int(match unit {
        U::Year => months() / 12,
        U::Quarter => months() / 3,
        U::Month | U::YearMonth => months(),
        U::Week => per(7 * DAY_MICROS),
        U::Day => per(DAY_MICROS),
        U::Hour => per(3600 * MICROS),
        U::Minute => per(60 * MICROS),
        U::Second => per(MICROS),
        _ => per(1),
    }))
}

/// Whether a text is a day as DATE literals write it, or without its dashes.
fn is_day(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let whole = parse_datetime(text);
    let dashes = text.contains(&b'-') || matches!(text.len(), 6 | 8);
    dashes
        && text.iter().all(|c| c.is_ascii_digit() || *c == b'-')
        && whole.is_some_and(|p| !p.has_time && !p.trailing)
}

/// Day, and the time since its midnight, of a value for EXTRACT and the like: a TIME has no date. `plain`: for the function by the
/// unit's name, which reads a text that could be a time as one.
fn parts_of(
    v: &Value<'_>,
    unit: IntervalUnit,
    plain: bool,
    cx: &EvalContext<'_>,
) -> SqlResult<Option<(Date, Time)>> {
    let timed = |t: Time| (Date::default(), t);
    let mode = cx.session.sql_mode.get();
    if let Value::Time(t) = v {
        return Ok(Some(timed(*t)));
    }
    let read = match plain {
        true => Read::Date,
        false => Read::DateTime,
    };
    if unit.is_date() {
        let d = read_datetime(v, read, cx.session)?;
        return Ok(d.map(|d| (d.date, d.time())));
    }
    let Value::Bytes(text) = v else {
        let dated = !v.is_number() || !plain && is_day(&v.to_text());
        return match v.to_datetime_in(mode).filter(|_| dated) {
            Some(d) => Ok(Some((d.date, d.time()))),
            None => Ok(read_time(v, cx.session)?.map(timed)),
        };
    };
    match parse_datetime_in(text, mode) {
        // A moment, and a day where that is no time.
        Some(p) if parse_time(text).is_none_or(|t| t.dated) || !plain && is_day(text) => {
            if p.trailing {
                truncated(cx.session, "time", v)?;
            }
            Ok(Some((p.value.date, p.value.time())))
        }
        None if is_beyond_month(text) && parse_time(text).is_none() => {
            no_datetime(v, Read::DateTime, cx.session)?;
            Ok(None)
        }
        _ => Ok(read_time(v, cx.session)?.map(timed)),
    }
}

impl IntervalUnit {
    /// Characters that EXTRACT of it can take, the sign of a TIME included; hours go up to 838.
    pub(super) fn digits(self) -> u32 {
        match self {
            U::Week | U::Day | U::Month | U::Quarter => 2,
            U::Year => 4,
            U::YearMonth => 6,
            U::Second | U::Minute => 3,
            U::Hour => 4,
            U::MinuteSecond | U::DayHour => 5,
            U::HourMinute => 6,
            U::Microsecond | U::DayMinute => 7,
            U::HourSecond => 8,
            U::SecondMicrosecond | U::DaySecond => 9,
            U::MinuteMicrosecond => 11,
            U::HourMicrosecond => 14,
            U::DayMicrosecond => 15,
        }
    }
}

/// EXTRACT(unit FROM value), or, `plain`, the function by the unit's name: without a TIME's sign.
pub(super) fn extract(
    v: &Value<'_>,
    unit: IntervalUnit,
    plain: bool,
    cx: &EvalContext<'_>,
) -> SqlResult<Value<'static>> {
    if v.is_null() {
        return Ok(Value::Null);
    }
    let Some((date, time)) = parts_of(v, unit, plain, cx)? else {
        return Ok(Value::Null);
    };
    let (h, m, s, micro) = time.parts();
    let (h, m, s, micro) = (h as i64, m as i64, s as i64, micro as i64);
    let day = date.day as i64;
    let sign = if time.micros < 0 && !plain { -1 } else { 1 };
    Ok(Value::Int(match unit {
        U::Year => date.year as i64,
        U::Quarter => (date.month as i64 + 2) / 3,
        U::Month => date.month as i64,
        U::YearMonth => date.year as i64 * 100 + date.month as i64,
        U::Week => date.week(0).1 as i64,
        U::Day => day,
        U::Hour => sign * h,
        U::Minute => sign * m,
        U::Second => sign * s,
        U::Microsecond => sign * micro,
        U::SecondMicrosecond => sign * (s * MICROS + micro),
        U::MinuteSecond => sign * (m * 100 + s),
        U::MinuteMicrosecond => sign * ((m * 100 + s) * MICROS + micro),
        U::HourMinute => sign * (h * 100 + m),
        U::HourSecond => sign * (h * 10_000 + m * 100 + s),
        U::HourMicrosecond => sign * ((h * 10_000 + m * 100 + s) * MICROS + micro),
        U::DayHour => sign * (day * 100 + h),
        U::DayMinute => sign * (day * 10_000 + h * 100 + m),
        U::DaySecond => sign * (day * 1_000_000 + h * 10_000 + m * 100 + s),
        U::DayMicrosecond => sign * ((day * 1_000_000 + h * 10_000 + m * 100 + s) * MICROS + micro),
    }))
}
