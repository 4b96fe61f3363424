//! Assignment: values become a column's, with MySQL's errors, or warnings and the nearest value where the mode is not strict.

use std::borrow::Cow;

use super::convert::{double_prefix, exact_integer};
use super::env::ConversionEnv;
use super::parse_time;
use super::text::NOT_FIXED;
use super::time::{self, DateTime, Time};
use super::zone::Moment;
use super::{Decimal, Value};
use crate::error::{SqlError, SqlResult};
use crate::types::collation::{char_count, char_prefix};
use crate::types::{BaseType, Collation, SqlType};

/// What a value is assigned to: a column, or whatever else has a name and a type.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// Its type.
    pub ty: &'a SqlType,
    /// Whether it takes NULL.
    pub nullable: bool,
}

/// How an assignment treats values that do not fit.
#[derive(Clone, Copy)]
pub struct StoreContext<'a> {
    /// The session: sql_mode's date rules, warnings.
    pub session: &'a ConversionEnv,
    /// An error (strict mode, and not IGNORE) rather than a warning and the nearest value.
    pub strict: bool,
    /// The row's number in the statement, from 1, for messages.
    pub row: u64,
}

impl StoreContext<'_> {
    /// An error if strict, else a warning.
    #[cold]
    pub fn raise(&self, code: u16, message: String) -> SqlResult<()> {
        if self.strict {
            return Err(SqlError::new(code, message));
        }
        self.session.warn(code, message);
        Ok(())
    }
    fn out_of_range(&self, c: Target<'_>) -> SqlResult<()> {
        let m = format!(
            "Out of range value for column '{}' at row {}",
            c.name, self.row
        );
        self.raise(1264, m)
    }
    fn truncated(&self, c: Target<'_>) -> SqlResult<()> {
        let m = format!("Data truncated for column '{}' at row {}", c.name, self.row);
        self.raise(1265, m)
    }
    /// Digits after the point or a time of day were dropped: told, but never refused.
    #[cold]
    fn note_truncated(&self, c: Target<'_>) {
        let m = format!("Data truncated for column '{}' at row {}", c.name, self.row);
        self.session.note(1265, m);
    }
    /// A local time that the clocks of the session's zone passed over: refused, or moved to where they went on.
    fn skipped(&self, kind: &str, v: &Value<'_>, c: Target<'_>) -> SqlResult<()> {
        if self.strict {
            return self.incorrect(1292, kind, v, c);
        }
        let m = format!(
            "Invalid TIMESTAMP value in column '{}' at row {}",
            c.name, self.row
        );
        self.raise(1299, m)
    }
    fn incorrect(&self, code: u16, kind: &str, v: &Value<'_>, c: Target<'_>) -> SqlResult<()> {
        let text = v.to_text();
        let m = format!(
            "Incorrect {kind} value: '{}' for column '{}' at row {}",
            printable(&text),
            c.name,
            self.row
        );
        self.raise(code, m)
    }
}

/// A value in a message: bytes that are no text as `\xNN`.
pub fn printable(text: &[u8]) -> String {
    match std::str::from_utf8(text) {
        Ok(s) => s.chars().take(128).collect(),
        Err(_) => {
            let mut s = String::new();
            for b in text.iter().take(64) {
                if (0x20..0x7f).contains(b) {
                    s.push(*b as char);
                } else {
                    s.push_str(&format!("\\x{b:02X}"));
                }
            }
            s
        }
    }
}

/// Converts a value for assignment to a column: what INSERT and UPDATE do. Raises MySQL's errors, or warnings if not strict.
#[inline]
pub fn assign<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    use BaseType as B;
    let ty = column.ty;
    // What most values are.
    match (&value, ty.base) {
        (Value::Int(v), B::Int | B::BigInt)
            if !ty.unsigned && (ty.base == B::BigInt || i32::try_from(*v).is_ok()) =>
        {
            Ok(value)
        }
        _ => convert(value, column, cx),
    }
}

fn convert<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    use BaseType as B;
    if value.is_null() {
        return null(column, cx);
    }
    let ty = column.ty;
    match ty.base {
        B::Null => Ok(Value::Null),
        B::Year => year(value, column, cx),
        _ if ty.is_integer() => integer(value, column, cx),
        B::Decimal => decimal(value, column, cx),
        B::Float | B::Double => double(value, column, cx),
        B::Enum => member(value, column, cx),
        B::Date | B::DateTime | B::Timestamp => datetime(value, column, cx),
        B::Time => time_of_day(value, column, cx),
        _ => text(value, column, cx),
    }
}

fn null<'a>(column: Target<'_>, cx: &StoreContext<'_>) -> SqlResult<Value<'a>> {
    if column.nullable {
        return Ok(Value::Null);
    }
    let e = null_refused(column);
    cx.raise(e.code, e.message)?;
    Ok(implicit_zero(column.ty))
}

/// Error 1048.
pub fn null_refused(column: Target<'_>) -> SqlError {
    SqlError::new(1048, format!("Column '{}' cannot be null", column.name))
}

fn fit_integer(v: i128, column: Target<'_>, cx: &StoreContext<'_>) -> SqlResult<Value<'static>> {
    let (min, max) = integer_range(column.ty);
    if v < min || v > max {
        cx.out_of_range(column)?;
    }
    Ok(integer_value(v.clamp(min, max), column.ty))
}

/// Reads the number that a text is, telling MySQL's way if it is none or has something after it.
fn number_of_text(
    b: &[u8],
    kind: &str,
    value: &Value<'_>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Decimal> {
    let p = Decimal::parse_prefix(b);
    if p.used == 0 {
        cx.incorrect(1366, kind, value, column)?;
    } else if !b[p.used..].trim_ascii().is_empty() {
        cx.truncated(column)?;
    }
    Ok(p.value)
}

fn integer<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let wide = |d: Decimal| {
        d.round_to_i128().unwrap_or(if d.is_negative() {
            i128::MIN
        } else {
            i128::MAX
        })
    };
    let v = match &value {
        Value::Int(v) => *v as i128,
        Value::UInt(v) => *v as i128,
        Value::Double(v) => v.round_ties_even() as i128,
        Value::Decimal(d) => wide(*d),
        Value::Bytes(b) => match exact_integer(b) {
            Some(v) => v,
            None => wide(number_of_text(b, "integer", &value, column, cx)?),
        },
        other => wide(other.to_decimal()),
    };
    fit_integer(v, column, cx)
}

fn year<'a>(value: Value<'a>, column: Target<'_>, cx: &StoreContext<'_>) -> SqlResult<Value<'a>> {
    let (v, text) = match &value {
        Value::Bytes(b) => match exact_integer(b) {
            Some(v) => (v, b.trim_ascii().len() < 4),
            None => {
                let d = number_of_text(b, "integer", &value, column, cx)?;
                (d.round_to_i128().unwrap_or(-1), true)
            }
        },
        Value::Date(d) => (d.year as i128, false),
        Value::DateTime(d) => (d.date.year as i128, false),
        other => (other.to_i64() as i128, false),
    };
    let full = match v {
        0 if text => 2000,
        1..=69 => v + 2000,
        70..=99 => v + 1900,
        v => v,
    };
    if full != 0 && !(1901..=2155).contains(&full) {
        cx.out_of_range(column)?;
        return Ok(Value::UInt(0));
    }
    Ok(Value::UInt(full as u64))
}

fn decimal<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let ty = column.ty;
    let mut d = match &value {
        Value::Decimal(d) => *d,
        Value::Bytes(b) => {
            let p = Decimal::parse_prefix(b);
            if p.overflow {
                cx.out_of_range(column)?;
            }
            number_of_text(b, "decimal", &value, column, cx)?
        }
        other => other.to_decimal(),
    };
    if d.scale() != ty.decimals {
        let exact = d;
        d = d.round(ty.decimals);
        if d != exact && !matches!(value, Value::Double(_)) {
            cx.note_truncated(column);
        }
    }
    if ty.unsigned && d.is_negative() {
        cx.out_of_range(column)?;
        return Ok(Value::Decimal(Decimal::ZERO.round(ty.decimals)));
    }
    let max = Decimal::max(ty.length, ty.decimals);
    if d.abs() > max {
        cx.out_of_range(column)?;
        d = if d.is_negative() { max.negated() } else { max };
    }
    Ok(Value::Decimal(d))
}

fn double<'a>(value: Value<'a>, column: Target<'_>, cx: &StoreContext<'_>) -> SqlResult<Value<'a>> {
    let ty = column.ty;
    let mut v = match &value {
        Value::Bytes(b) => {
            let (v, used) = double_prefix(b);
            if used == 0 || !b[used..].trim_ascii().is_empty() {
                cx.truncated(column)?;
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
        let rounded = (v * unit).round_ties_even() / unit;
        if rounded.is_finite() {
            v = rounded;
        }
        let max = 10f64.powi((ty.length - ty.decimals as u32) as i32) - 1.0 / unit;
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

fn text<'a>(value: Value<'a>, column: Target<'_>, cx: &StoreContext<'_>) -> SqlResult<Value<'a>> {
    let ty = column.ty;
    let mut bytes = match value {
        Value::Bytes(b) => b,
        other => Cow::Owned(other.to_text().into_owned()),
    };
    if ty.collation != Collation::Binary
        && let Err(e) = std::str::from_utf8(&bytes)
    {
        let bad = &bytes[e.valid_up_to()..];
        let shown = Value::Bytes(Cow::Owned(
            bad.iter()
                .take(6)
                .flat_map(|b| format!("\\x{b:02X}").into_bytes())
                .collect(),
        ));
        cx.incorrect(1366, "string", &shown, column)?;
        keep(&mut bytes, e.valid_up_to());
    }
    let max = ty.length as usize;
    // A string of no more bytes than characters allowed needs no counting.
    if bytes.len() > max {
        let counted = ty.is_character() && !ty.is_blob();
        if !counted || char_count(&bytes) > max {
            let cut = if counted {
                char_prefix(&bytes, max)
            } else if ty.is_character() {
                floor_char(&bytes, max)
            } else {
                max
            };
            let blanks = ty.is_character() && bytes[cut..].iter().all(|b| *b == b' ');
            if !blanks {
                let m = format!(
                    "Data too long for column '{}' at row {}",
                    column.name, cx.row
                );
                if cx.strict {
                    return Err(SqlError::new(1406, m));
                }
                cx.truncated(column)?;
            } else if ty.base == BaseType::VarChar {
                cx.note_truncated(column);
            }
            keep(&mut bytes, cut);
        }
    }
    match ty.base {
        BaseType::Char if bytes.last() == Some(&b' ') => {
            let n = bytes.len() - bytes.iter().rev().take_while(|b| **b == b' ').count();
            keep(&mut bytes, n);
        }
        BaseType::Binary if bytes.len() < max => bytes.to_mut().resize(max, 0),
        _ => {}
    }
    Ok(Value::Bytes(bytes))
}

/// Cuts a text to its first `n` bytes.
fn keep(bytes: &mut Cow<'_, [u8]>, n: usize) {
    match bytes {
        Cow::Borrowed(b) => *b = &b[..n],
        Cow::Owned(b) => b.truncate(n),
    }
}

/// The last character boundary at or before `n`.
fn floor_char(s: &[u8], mut n: usize) -> usize {
    while n > 0 && s[n] & 0xc0 == 0x80 {
        n -= 1;
    }
    n
}

fn member<'a>(value: Value<'a>, column: Target<'_>, cx: &StoreContext<'_>) -> SqlResult<Value<'a>> {
    let members = column.ty.members.as_deref().unwrap_or(&[]);
    let by_number = |v: i128| -> Option<&String> {
        usize::try_from(v)
            .ok()
            .filter(|i| *i > 0)
            .and_then(|i| members.get(i - 1))
    };
    let found = match &value {
        Value::Bytes(b) => {
            if members.iter().any(|m| m.as_bytes() == &**b) {
                return Ok(value);
            }
            members
                .iter()
                .find(|m| column.ty.collation.eq(m.as_bytes(), b))
                .or_else(|| exact_integer(b).and_then(by_number))
        }
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => {
            let t = value.to_text();
            members
                .iter()
                .find(|m| column.ty.collation.eq(m.as_bytes(), &t))
        }
        other => by_number(other.to_i64() as i128),
    };
    match found {
        Some(m) => Ok(Value::string(m.clone())),
        None => {
            cx.truncated(column)?;
            Ok(Value::str(""))
        }
    }
}

/// Whether sql_mode takes this date; `false` for what NO_ZERO_DATE and NO_ZERO_IN_DATE forbid.
pub fn date_allowed(d: time::Date, session: &ConversionEnv) -> bool {
    let mode = session.sql_mode.get();
    if d.is_zero() {
        !mode.no_zero_date
    } else {
        !(d.has_zero() && mode.no_zero_in_date)
    }
}

fn datetime<'a>(
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
    let parsed = match &value {
        Value::Bytes(b) => {
            let p = parse_time::parse_datetime(b);
            if p.is_some_and(|p| p.trailing) {
                if cx.strict {
                    cx.incorrect(1292, kind, &value, column)?;
                }
                cx.truncated(column)?;
            }
            p.map(|p| p.value)
        }
        Value::Time(t) => {
            let today = cx.session.local_now().date;
            DateTime::from_days_micros(today.days(), t.micros)
        }
        other => other.to_datetime(),
    };
    let zero = if ty.base == BaseType::Date {
        Value::Date(time::Date::default())
    } else {
        Value::DateTime(DateTime::default())
    };
    let Some(d) = parsed.filter(|d| d.date.is_zero() || d.date.has_zero() || d.date.exists())
    else {
        cx.incorrect(1292, kind, &value, column)?;
        return Ok(zero);
    };
    if !date_allowed(d.date, cx.session) {
        // Outside of strict mode the zero date is stored with a warning.
        cx.incorrect(1292, kind, &value, column)?;
        return Ok(zero);
    }
    if ty.base == BaseType::Date {
        if d.day_micros() != 0 {
            cx.note_truncated(column);
        }
        return Ok(Value::Date(d.date));
    }
    let Some(d) = d.round(ty.decimals) else {
        cx.incorrect(1292, kind, &value, column)?;
        return Ok(zero);
    };
    if ty.base == BaseType::Timestamp && !d.is_zero() {
        let zone = cx.session.zone.get();
        let moment = d.date.exists().then(|| d.moment(zone));
        let Some(moment) = moment.filter(|m| (1..=time::MAX_TIMESTAMP).contains(&m.seconds()))
        else {
            cx.incorrect(1292, kind, &value, column)?;
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

fn time_of_day<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let parsed = match &value {
        Value::Bytes(b) => {
            let p = parse_time::parse_time(b);
            if let Some(p) = p {
                if p.trailing {
                    cx.truncated(column)?;
                }
                if p.clamped {
                    cx.out_of_range(column)?;
                }
            }
            p.map(|p| p.value)
        }
        other => other.to_time(),
    };
    let Some(t) = parsed else {
        cx.incorrect(1292, "time", &value, column)?;
        return Ok(Value::Time(Time::default()));
    };
    let (t, clamped) = Time::clamped(time::round_micros(t.micros, column.ty.decimals));
    if clamped {
        cx.out_of_range(column)?;
    }
    Ok(Value::Time(t))
}

/// The zero of a column's type: what NOT NULL columns get where NULL or nothing was given and the mode is not strict.
pub fn implicit_zero(ty: &SqlType) -> Value<'static> {
    use BaseType as B;
    match ty.base {
        B::Null => Value::Null,
        _ if ty.is_integer() => integer_value(0, ty),
        B::Decimal => Value::Decimal(Decimal::ZERO.round(ty.decimals)),
        B::Float | B::Double => Value::Double(0.0),
        B::Date => Value::Date(time::Date::default()),
        B::DateTime | B::Timestamp => Value::DateTime(DateTime::default()),
        B::Time => Value::Time(Time::default()),
        B::Enum => {
            let first = ty.members.as_deref().and_then(|m| m.first());
            Value::string(first.cloned().unwrap_or_default())
        }
        B::Binary => Value::Bytes(Cow::Owned(vec![0; ty.length as usize])),
        _ => Value::str(""),
    }
}

/// Least and greatest value of an integer type.
pub fn integer_range(ty: &SqlType) -> (i128, i128) {
    let bits = match ty.base {
        BaseType::TinyInt => 8,
        BaseType::SmallInt => 16,
        BaseType::MediumInt => 24,
        BaseType::Int => 32,
        BaseType::Year => return (0, 2155),
        _ => 64,
    };
    if ty.unsigned {
        (0, (1 << bits) - 1)
    } else {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    }
}

/// An integer as its type represents it.
pub fn integer_value(v: i128, ty: &SqlType) -> Value<'static> {
    if ty.unsigned {
        Value::UInt(v as u64)
    } else {
        Value::Int(v as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::env::tests::env;

    fn try_store(
        sql_type: SqlType,
        v: Value<'_>,
        strict: bool,
    ) -> (Result<String, (u16, String)>, Vec<u16>) {
        let session = env();
        let column = Target {
            name: "a",
            ty: &sql_type,
            nullable: false,
        };
        let cx = StoreContext {
            session: &session,
            strict,
            row: 3,
        };
        let r = assign(v, column, &cx);
        let r = r.map(|v| {
            let mut out = Vec::new();
            crate::value::write_text(&v, column.ty, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        });
        let codes = session
            .diagnostics
            .borrow()
            .iter()
            .map(|d| d.code)
            .collect();
        (r.map_err(|e| (e.code, e.message)), codes)
    }

    #[test]
    fn assignments() {
        use BaseType as B;
        let t = SqlType::new;
        let char3 = SqlType {
            length: 3,
            ..t(B::Char)
        };
        let varchar3 = SqlType::varchar(3, Collation::Utf8mb4GeneralCi);
        let binary3 = SqlType {
            length: 3,
            ..t(B::Binary)
        };
        let utiny = SqlType {
            unsigned: true,
            ..t(B::TinyInt)
        };
        let dec = SqlType::decimal(4, 2);
        let en = SqlType::enumeration(vec!["x".into(), "y".into()], Collation::Utf8mb4GeneralCi);
        let d = |s: &str| Value::Decimal(Decimal::parse_prefix(s.as_bytes()).value);
        // (type, value, strict result or error code, lenient result)
        for (ty, v, strict, lenient) in [
            (t(B::Int), Value::Int(7), Ok("7"), "7"),
            (t(B::Int), Value::Int(1 << 40), Err(1264), "2147483647"),
            (t(B::TinyInt), Value::str("12abc"), Err(1265), "12"),
            (t(B::TinyInt), Value::str("abc"), Err(1366), "0"),
            (t(B::TinyInt), d("1.5"), Ok("2"), "2"),
            (utiny.clone(), Value::Int(-1), Err(1264), "0"),
            (utiny, Value::Null, Err(1048), "0"),
            (dec.clone(), d("1.005"), Ok("1.01"), "1.01"),
            (dec.clone(), d("123"), Err(1264), "99.99"),
            (dec, Value::str("x"), Err(1366), "0.00"),
            (t(B::Double), Value::str("1e3"), Ok("1000"), "1000"),
            (t(B::Double), Value::str("x"), Err(1265), "0"),
            (varchar3.clone(), Value::str("abcd"), Err(1406), "abc"),
            (varchar3.clone(), Value::str("äöü"), Ok("äöü"), "äöü"),
            (varchar3.clone(), Value::str("ab    "), Ok("ab "), "ab "),
            (varchar3.clone(), Value::Int(12), Ok("12"), "12"),
            (
                varchar3,
                Value::Bytes(Cow::Borrowed(b"a\xff")),
                Err(1366),
                "a",
            ),
            (char3, Value::str("a  "), Ok("a"), "a"),
            (binary3, Value::str("a"), Ok("a\0\0"), "a\0\0"),
            (
                t(B::Date),
                Value::str("2024-02-30"),
                Err(1292),
                "0000-00-00",
            ),
            (
                t(B::Date),
                Value::str("2024-02-29 12:00:00"),
                Ok("2024-02-29"),
                "2024-02-29",
            ),
            (
                t(B::Date),
                Value::str("0000-00-00"),
                Err(1292),
                "0000-00-00",
            ),
            (
                t(B::DateTime),
                Value::str("2024-02-29 12:00:00.6"),
                Ok("2024-02-29 12:00:01"),
                "2024-02-29 12:00:01",
            ),
            (
                SqlType::datetime(3),
                Value::str("2024-02-29 12:00:00.6"),
                Ok("2024-02-29 12:00:00.600"),
                "2024-02-29 12:00:00.600",
            ),
            (
                t(B::Timestamp),
                Value::str("1969-01-01"),
                Err(1292),
                "0000-00-00 00:00:00",
            ),
            (t(B::Time), Value::str("900:00:00"), Err(1264), "838:59:59"),
            (t(B::Year), Value::Int(24), Ok("2024"), "2024"),
            (t(B::Year), Value::Int(3000), Err(1264), "0000"),
            (en.clone(), Value::str("Y"), Ok("y"), "y"),
            (en.clone(), Value::Int(1), Ok("x"), "x"),
            (en, Value::str("z"), Err(1265), ""),
        ] {
            let shown = format!("{} <- {v:?}", ty.column_type());
            let got = try_store(ty.clone(), v.clone(), true).0;
            assert_eq!(
                got.as_ref().map(String::as_str).map_err(|e| e.0),
                strict,
                "{shown}"
            );
            let (got, warnings) = try_store(ty, v, false);
            assert_eq!(got.as_deref(), Ok(lenient), "{shown}");
            assert!(strict.is_ok() || !warnings.is_empty(), "{shown}");
        }
        let e = try_store(t(B::Int), Value::str("abc"), true).0.unwrap_err();
        assert_eq!(
            e.1,
            "Incorrect integer value: 'abc' for column 'a' at row 3"
        );
    }
}
