//! From one kind of value to another, and comparison across kinds.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::env::SqlMode;
use super::parse_time::{self, ParsedTime};
use super::time::{Date, DateTime, MICROS, Time};
use super::{Decimal, Value, text};
use crate::types::{Category, Collation};

/// The double at the start of a text, and how many bytes belong to it (0: none).
pub fn double_prefix(s: &[u8]) -> (f64, usize) {
    let mut i = 0;
    while i < s.len() && s[i].is_ascii_whitespace() {
        i += 1;
    }
    let start = i;
    if i < s.len() && (s[i] == b'-' || s[i] == b'+') {
        i += 1;
    }
    let mut any = false;
    while i < s.len() && s[i].is_ascii_digit() {
        i += 1;
        any = true;
    }
    if i < s.len() && s[i] == b'.' {
        let mut j = i + 1;
        while j < s.len() && s[j].is_ascii_digit() {
            j += 1;
        }
        any |= j > i + 1;
        i = j;
    }
    if !any {
        return (0.0, 0);
    }
    if i < s.len() && (s[i] | 0x20) == b'e' {
        let mut j = i + 1;
        if j < s.len() && (s[j] == b'-' || s[j] == b'+') {
            j += 1;
        }
        let digits = j;
        while j < s.len() && s[j].is_ascii_digit() {
            j += 1;
        }
        if j > digits {
            i = j;
        }
    }
    let v = std::str::from_utf8(&s[start..i])
        .ok()
        .and_then(|t| t.parse::<f64>().ok())
        .unwrap_or(0.0);
    (v.clamp(-f64::MAX, f64::MAX), i)
}

/// A whole text as an integer, if it is nothing but one.
pub fn exact_integer(s: &[u8]) -> Option<i128> {
    let s = s.trim_ascii();
    let (negative, digits) = match s.first()? {
        b'-' => (true, &s[1..]),
        b'+' => (false, &s[1..]),
        _ => (false, s),
    };
    if digits.is_empty() || digits.len() > 30 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let v = digits
        .iter()
        .fold(0i128, |v, d| v * 10 + (d - b'0') as i128);
    Some(if negative { -v } else { v })
}

/// A whole text as a decimal, if it is nothing but one and fits.
pub fn exact_decimal(s: &[u8]) -> Option<Decimal> {
    let s = s.trim_ascii();
    let p = Decimal::parse_prefix(s);
    (p.used == s.len() && p.used > 0 && !p.overflow && !p.inexact).then_some(p.value)
}

/// A double becomes an integer by rounding half to even, unlike a decimal.
fn rint(v: f64) -> f64 {
    v.round_ties_even()
}

impl<'a> Value<'a> {
    /// A string value that borrows.
    pub fn str(s: &'a str) -> Value<'a> {
        Value::Bytes(Cow::Borrowed(s.as_bytes()))
    }
    /// An owned string value.
    pub fn string(s: String) -> Value<'static> {
        Value::Bytes(Cow::Owned(s.into_bytes()))
    }
    /// TRUE or FALSE.
    #[inline]
    pub fn bool(b: bool) -> Value<'static> {
        Value::Int(b as i64)
    }
    /// The same value, borrowing from this one.
    #[inline]
    pub fn borrowed(&self) -> Value<'_> {
        match self {
            Value::Null => Value::Null,
            Value::Int(v) => Value::Int(*v),
            Value::UInt(v) => Value::UInt(*v),
            Value::Double(v) => Value::Double(*v),
            Value::Decimal(v) => Value::Decimal(*v),
            Value::Bytes(b) => Value::Bytes(Cow::Borrowed(b)),
            Value::Date(v) => Value::Date(*v),
            Value::DateTime(v) => Value::DateTime(*v),
            Value::Time(v) => Value::Time(*v),
            Value::Json(j) => Value::Json(j.borrowed()),
        }
    }
    /// Truth as WHERE sees it; `None` for NULL. A string that is no number is false.
    #[inline]
    pub fn truth(&self) -> Option<bool> {
        Some(match self {
            Value::Null => return None,
            Value::Int(v) => *v != 0,
            Value::UInt(v) => *v != 0,
            Value::Double(v) => *v != 0.0,
            Value::Decimal(v) => !v.is_zero(),
            Value::Bytes(b) => double_prefix(b).0 != 0.0,
            Value::Date(d) => d.to_number() != 0,
            Value::DateTime(d) => !d.is_zero(),
            Value::Time(t) => t.micros != 0,
            Value::Json(j) => j.truth(),
        })
    }
    /// As a wide integer, rounding; strings by their numeric prefix.
    fn to_i128(&self) -> i128 {
        match self {
            Value::Null => 0,
            Value::Int(v) => *v as i128,
            Value::UInt(v) => *v as i128,
            Value::Double(v) => rint(*v) as i128,
            Value::Decimal(d) => d.round_to_i128().unwrap_or(if d.is_negative() {
                i128::MIN
            } else {
                i128::MAX
            }),
            Value::Bytes(b) => match exact_integer(b) {
                Some(v) => v,
                None => {
                    let p = Decimal::parse_prefix(b);
                    Value::Decimal(p.value).to_i128()
                }
            },
            Value::Date(d) => d.to_number() as i128,
            Value::DateTime(d) => d.round(0).unwrap_or(*d).to_number() as i128,
            Value::Time(t) => Time {
                micros: super::time::round_micros(t.micros, 0),
            }
            .to_number() as i128,
            Value::Json(j) => j.to_number().to_i128(),
        }
    }
    /// As a signed integer, rounding and clamping; strings by their numeric prefix; NULL is 0.
    #[inline]
    pub fn to_i64(&self) -> i64 {
        match self {
            Value::Int(v) => *v,
            other => other.to_i128().clamp(i64::MIN as i128, i64::MAX as i128) as i64,
        }
    }
    /// As an unsigned integer, rounding and clamping.
    #[inline]
    pub fn to_u64(&self) -> u64 {
        match self {
            Value::UInt(v) => *v,
            other => other.to_i128().clamp(0, u64::MAX as i128) as u64,
        }
    }
    /// The 64 bits that bit operators work on: negative numbers as two's complement.
    pub fn to_bits(&self) -> u64 {
        let v = self.to_i128();
        if v < 0 {
            v.max(i64::MIN as i128) as i64 as u64
        } else {
            v.min(u64::MAX as i128) as u64
        }
    }
    /// As a double; strings by their numeric prefix; NULL is 0.
    #[inline]
    pub fn to_f64(&self) -> f64 {
        match self {
            Value::Null => 0.0,
            Value::Int(v) => *v as f64,
            Value::UInt(v) => *v as f64,
            Value::Double(v) => *v,
            Value::Decimal(d) => d.to_f64(),
            Value::Bytes(b) => double_prefix(b).0,
            Value::Date(d) => d.to_number() as f64,
            Value::DateTime(d) => d.to_number() as f64 + d.micro as f64 / MICROS as f64,
            Value::Time(t) => {
                let f = (t.micros.unsigned_abs() % MICROS as u64) as f64 / MICROS as f64;
                t.to_number() as f64 + if t.micros < 0 { -f } else { f }
            }
            Value::Json(j) => j.to_number().to_f64(),
        }
    }
    /// As a decimal; strings by their numeric prefix; NULL is 0.
    pub fn to_decimal(&self) -> Decimal {
        match self {
            Value::Null => Decimal::ZERO,
            Value::Int(v) => Decimal::from(*v),
            Value::UInt(v) => Decimal::from(*v),
            Value::Double(v) => Decimal::from_f64(*v),
            Value::Decimal(d) => *d,
            Value::Bytes(b) => Decimal::parse_prefix(b).value,
            Value::Date(d) => Decimal::from(d.to_number()),
            Value::DateTime(d) => micro_decimal(d.to_number(), d.micro as i64),
            Value::Time(t) => micro_decimal(t.to_number(), t.micros % MICROS),
            Value::Json(j) => j.to_number().to_decimal(),
        }
    }
    /// The text MySQL would print; NULL is empty. Borrows where the value is a string. Scale and fractional digits come
    /// from the value (see [`super::write_text`] for those of a type).
    pub fn to_text(&self) -> Cow<'_, [u8]> {
        match self {
            Value::Bytes(b) => Cow::Borrowed(b),
            other => {
                let mut out = Vec::with_capacity(24);
                text::write_plain(other, &mut out);
                Cow::Owned(out)
            }
        }
    }
    /// As a date and time; `None` if it is none. A TIME has no date and gives none.
    pub fn to_datetime(&self) -> Option<DateTime> {
        self.to_datetime_in(SqlMode::DEFAULT)
    }
    /// The same in an sql_mode: under ALLOW_INVALID_DATES every month has 31 days.
    pub fn to_datetime_in(&self, mode: SqlMode) -> Option<DateTime> {
        match self {
            Value::Null | Value::Time(_) => None,
            Value::Date(d) => Some((*d).into()),
            Value::DateTime(d) => Some(*d),
            Value::Bytes(b) => parse_time::parse_datetime_in(b, mode).map(|p| p.value),
            Value::Int(_) | Value::UInt(_) => {
                let read = parse_time::datetime_from_number_in(self.to_i64(), 0, mode);
                read.map(|p| p.value)
            }
            Value::Double(_) | Value::Decimal(_) => {
                let (whole, micro) = split_micros(self.to_decimal())?;
                if micro < 0 {
                    return None;
                }
                let p = parse_time::datetime_from_number_in(whole, 0, mode)?;
                let date = p.value.date;
                let micro = if p.has_time { micro } else { 0 };
                match micro == 0 && !date.exists() && date.stands(mode) {
                    true => Some(p.value),
                    false => p.value.add_micros(micro),
                }
            }
            Value::Json(j) => j.to_sql(Category::Temporal).ok()?.to_datetime_in(mode),
        }
    }
    /// As a date.
    pub fn to_date(&self) -> Option<Date> {
        self.to_datetime().map(|d| d.date)
    }
    /// As a TIME; `None` if it is none.
    pub fn to_time(&self) -> Option<Time> {
        match self {
            Value::Null => None,
            Value::Time(t) => Some(*t),
            Value::Date(_) => Some(Time::default()),
            Value::DateTime(d) => Some(d.time()),
            Value::Bytes(b) => parse_time::parse_time(b).map(|p| p.value),
            Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_) => {
                self.number_as_time().map(|p| p.value)
            }
            Value::Json(j) => j.to_sql(Category::Temporal).ok()?.to_time(),
        }
    }
    /// A number read as a TIME, and what of it was lost; `None` if it is none.
    pub(super) fn number_as_time(&self) -> Option<ParsedTime> {
        let (whole, micro) = match self {
            Value::Int(_) | Value::UInt(_) => (self.to_i64(), 0),
            _ => split_micros(self.to_decimal())?,
        };
        parse_time::time_from_number(whole, micro)
    }

    /// Compares as MySQL's `=`, `<`... do, whatever the types; `None` if either is NULL. `collation` is for string against
    /// string.
    #[inline]
    pub fn compare(&self, other: &Value<'_>, collation: Collation) -> Option<Ordering> {
        match (self, other) {
            (Value::Null, _) | (_, Value::Null) => None,
            (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
            (Value::Bytes(a), Value::Bytes(b)) => Some(collation.compare(a, b)),
            _ => Some(compare_mixed(self, other)),
        }
    }
}

/// Whole part and microseconds (with the number's sign) of a decimal. Microseconds are rounded, and so may be a whole second, which the
/// part before them does not have: it is a moment's digits, not a number of seconds.
pub(super) fn split_micros(d: Decimal) -> Option<(i64, i64)> {
    let whole = i64::try_from(d.truncate(0).to_i128()?).ok()?;
    let fraction = d.checked_sub(Decimal::from(whole))?;
    let micros = fraction.checked_mul(Decimal::from(MICROS))?;
    Some((
        whole,
        micros.round_to_i128().and_then(|m| i64::try_from(m).ok())?,
    ))
}

fn micro_decimal(whole: i64, micro: i64) -> Decimal {
    if micro == 0 {
        return Decimal::from(whole);
    }
    Decimal::from_i128(whole as i128 * MICROS as i128 + micro as i128, 6)
}

fn signed_unsigned(a: i64, b: u64) -> Ordering {
    if a < 0 {
        Ordering::Less
    } else {
        (a as u64).cmp(&b)
    }
}

fn doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

/// Neither is NULL, and they are not both signed integers or both strings.
fn compare_mixed(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    use Value::*;
    match (a, b) {
        (Json(a), Json(b)) => a.cmp(b),
        (Json(a), b) => a.cmp(&crate::value::json::scalar(b)),
        (a, Json(b)) => crate::value::json::scalar(a).cmp(b),
        (Int(a), UInt(b)) => signed_unsigned(*a, *b),
        (UInt(a), Int(b)) => signed_unsigned(*b, *a).reverse(),
        (UInt(a), UInt(b)) => a.cmp(b),
        (Decimal(a), Decimal(b)) => a.cmp(b),
        (Decimal(a), Int(_) | UInt(_)) => a.cmp(&b.to_decimal()),
        (Int(_) | UInt(_), Decimal(b)) => a.to_decimal().cmp(b),
        (Date(a), Date(b)) => a.cmp(b),
        (DateTime(a), DateTime(b)) => a.cmp(b),
        (Date(a), DateTime(b)) => super::DateTime::from(*a).cmp(b),
        (DateTime(a), Date(b)) => a.cmp(&super::DateTime::from(*b)),
        (Time(a), Time(b)) => a.cmp(b),
        (Date(_) | DateTime(_), Bytes(_)) => temporal(a, b),
        (Bytes(_), Date(_) | DateTime(_)) => temporal(b, a).reverse(),
        (Time(t), Bytes(s)) => time_text(*t, s),
        (Bytes(s), Time(t)) => time_text(*t, s).reverse(),
        (Date(_) | DateTime(_), Int(_) | UInt(_) | Decimal(_)) => temporal(a, b),
        (Int(_) | UInt(_) | Decimal(_), Date(_) | DateTime(_)) => temporal(b, a).reverse(),
        // An integer in a text is compared exactly: as doubles, neighbours beyond 2^53 would be equal.
        (Int(_) | UInt(_), Bytes(s)) => match exact_integer(s) {
            Some(v) => a.to_i128().cmp(&v),
            None => doubles(a.to_f64(), b.to_f64()),
        },
        (Bytes(s), Int(_) | UInt(_)) => match exact_integer(s) {
            Some(v) => v.cmp(&b.to_i128()),
            None => doubles(a.to_f64(), b.to_f64()),
        },
        // Likewise a decimal in a text.
        (Decimal(d), Bytes(s)) if exact_decimal(s).is_some() => {
            d.cmp(&exact_decimal(s).unwrap_or(*d))
        }
        (Bytes(s), Decimal(d)) if exact_decimal(s).is_some() => {
            exact_decimal(s).unwrap_or(*d).cmp(d)
        }
        _ => doubles(a.to_f64(), b.to_f64()),
    }
}

/// A date or datetime against a text or number: as datetimes if it is one, else as doubles (texts: as texts).
fn temporal(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    let Some(left) = a.to_datetime() else {
        return doubles(a.to_f64(), b.to_f64());
    };
    match (b.to_datetime(), b) {
        (Some(right), _) => left.cmp(&right),
        (None, Value::Bytes(s)) => a.to_text().as_ref().cmp(s),
        (None, _) => doubles(a.to_f64(), b.to_f64()),
    }
}

fn time_text(t: Time, s: &[u8]) -> Ordering {
    match parse_time::parse_time(s) {
        Some(p) => t.cmp(&p.value),
        None => Value::Time(t).to_text().as_ref().cmp(s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Collation::*;

    #[test]
    fn comparisons_coerce() {
        use Ordering::*;
        let dec = |s: &str| Value::Decimal(Decimal::parse_prefix(s.as_bytes()).value);
        let day = Value::Date(Date {
            year: 2024,
            month: 1,
            day: 31,
        });
        for (a, b, want) in [
            (Value::Int(-1), Value::UInt(u64::MAX), Some(Less)),
            (Value::UInt(u64::MAX), Value::Int(-1), Some(Greater)),
            (Value::Int(1), dec("1.00"), Some(Equal)),
            (Value::Int(1), Value::str("1abc"), Some(Equal)),
            (Value::Int(0), Value::str("abc"), Some(Equal)),
            (
                Value::Int(9007199254740993),
                Value::str("9007199254740992"),
                Some(Greater),
            ),
            (Value::str("abc"), Value::str("ABC "), Some(Equal)),
            (Value::str("10"), Value::str("9"), Some(Less)),
            (Value::str("10"), Value::Int(9), Some(Greater)),
            (Value::Double(0.1), dec("0.1"), Some(Equal)),
            (day.clone(), Value::str("2024-1-31"), Some(Equal)),
            (day.clone(), Value::str("2024-02-01"), Some(Less)),
            (Value::Int(20240131), day.clone(), Some(Equal)),
            (day.clone(), Value::str("20240130"), Some(Greater)),
            (Value::Null, Value::Int(1), None),
            (
                Value::Time(Time { micros: 1_000_000 }),
                Value::str("00:00:01"),
                Some(Equal),
            ),
        ] {
            assert_eq!(a.compare(&b, Utf8mb4GeneralCi), want, "{a:?} {b:?}");
            assert_eq!(
                b.compare(&a, Utf8mb4GeneralCi),
                want.map(Ordering::reverse),
                "{b:?} {a:?}"
            );
        }
    }

    #[test]
    fn numbers_of_texts() {
        for (s, i, d) in [
            ("12abc", 12, 12.0),
            ("-1.5e1x", -15, -15.0),
            ("", 0, 0.0),
            (" 7.6", 8, 7.6),
            ("1e", 1, 1.0),
            (".", 0, 0.0),
            ("99999999999999999999", i64::MAX, 1e20),
        ] {
            assert_eq!(Value::str(s).to_i64(), i, "{s}");
            assert_eq!(Value::str(s).to_f64(), d, "{s}");
        }
        assert_eq!(Value::Int(-1).to_bits(), u64::MAX);
        assert_eq!(Value::Double(2.5).to_i64(), 2);
    }
}
