//! Reads dates and times from texts and numbers, in all the forms MySQL takes.

use super::env::SqlMode;
use super::time::{Date, DateTime, MICROS, Time, days_in_month};

/// A date, with a time if the text had one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedDateTime {
    /// The value; zero parts are allowed, a day that its month does not have is not.
    pub value: DateTime,
    /// Whether there was a time of day.
    pub has_time: bool,
    /// Something follows that does not belong to it.
    pub trailing: bool,
}

/// A two-digit year's century.
fn expand_year(y: u16) -> u16 {
    if y < 70 { 2000 + y } else { 1900 + y }
}

fn valid(d: Date) -> bool {
    d.year <= 9999
        && d.month <= 12
        && d.day <= 31
        && (d.month == 0
            || d.day <= days_in_month(d.year, d.month).max(if d.year == 0 { 29 } else { 0 }))
}

fn valid_time(hour: u32, minute: u32, second: u32) -> bool {
    hour < 24 && minute < 60 && second < 60
}

/// Digits from `i` on, at most `max`: (number, count).
fn digits(s: &[u8], i: usize, max: usize) -> (u32, usize) {
    let mut v = 0;
    let mut n = 0;
    while n < max && i + n < s.len() && s[i + n].is_ascii_digit() {
        v = v * 10 + (s[i + n] - b'0') as u32;
        n += 1;
    }
    (v, n)
}

/// A fraction's digits from `i` on: (microseconds rounded, may be 1,000,000; bytes used).
fn fraction(s: &[u8], i: usize) -> (u32, usize) {
    let mut v = 0u32;
    let mut n = 0;
    let mut up = false;
    while i + n < s.len() && s[i + n].is_ascii_digit() {
        let d = (s[i + n] - b'0') as u32;
        if n < 6 {
            v = v * 10 + d;
        } else if n == 6 {
            up = d >= 5;
        }
        n += 1;
    }
    let mut scale = n;
    while scale < 6 {
        v *= 10;
        scale += 1;
    }
    (v + up as u32, n)
}

/// Reads a date or datetime; `None` if it is none.
pub fn parse_datetime(text: &[u8]) -> Option<ParsedDateTime> {
    read_datetime(text).filter(|p| valid(p.value.date))
}

/// The same in an sql_mode: under ALLOW_INVALID_DATES every month has 31 days.
pub fn parse_datetime_in(text: &[u8], mode: SqlMode) -> Option<ParsedDateTime> {
    read_datetime(text).filter(|p| mode.invalid_dates || valid(p.value.date))
}

/// Whether a text would be a date if its month had such a day.
pub fn is_beyond_month(text: &[u8]) -> bool {
    read_datetime(text).is_some_and(|p| !valid(p.value.date))
}

/// Something in a text that is a date, for which there is a standard: which character, its position, and what there should be; `None`
/// instead if it should not be there at all.
pub fn odd_delimiter(text: &[u8]) -> Option<(char, usize, Option<char>)> {
    const WANTED: [&[u8]; 6] = [b"-", b"-", b" T", b":", b":", b"."];
    let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let s = &text[start..];
    let run = s.iter().take_while(|b| b.is_ascii_digit()).count();
    if run == 0 || run > 4 || run == s.len() {
        return None;
    }
    let mut at = run;
    for wanted in WANTED {
        let found = *s.get(at)?;
        if !wanted.contains(&found) {
            let odd = is_delimiter(found) && s.get(at + 1).is_some_and(u8::is_ascii_digit);
            return odd.then(|| (found as char, start + at, Some(wanted[0] as char)));
        }
        at += 1;
        if wanted == b" T" && s.get(at) == Some(&b' ') {
            let more = s[at..].iter().any(u8::is_ascii_digit);
            return more.then_some((' ', start + at, None));
        }
        let digits = s[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        at += digits;
    }
    None
}

fn read_datetime(text: &[u8]) -> Option<ParsedDateTime> {
    let s = text.trim_ascii();
    let run = s.iter().take_while(|b| b.is_ascii_digit()).count();
    if run == 0 {
        return None;
    }
    let delimited = run < s.len() && run <= 4 && s[run] != b'.' && !s[run].is_ascii_alphabetic()
        || (run < s.len() && run <= 4 && s[run] == b'.');
    if delimited {
        parse_delimited(s)
    } else {
        parse_compact(s, run)
    }
}

/// Most digits of a month or day between delimiters.
const PART: usize = 6;

/// Whether a text goes on with digits after a blank, as one does that has a time of day after a date.
fn has_clock(s: &[u8]) -> bool {
    s.windows(2).any(|w| w[0] == b' ' && w[1].is_ascii_digit())
}

fn is_delimiter(b: u8) -> bool {
    b.is_ascii_punctuation()
}

fn parse_delimited(s: &[u8]) -> Option<ParsedDateTime> {
    let (year, n) = digits(s, 0, 4);
    // A year of one digit is as it stands.
    let year = if n == 2 {
        expand_year(year as u16)
    } else {
        year as u16
    };
    let mut i = n;
    // Behind a point parts have two digits, whether or not something stands between them.
    let points = s.get(n) == Some(&b'.');
    let most = if points { 2 } else { PART };
    let part = |i: &mut usize| -> Option<u32> {
        match s.get(*i) {
            Some(b) if is_delimiter(*b) => *i += 1,
            _ if points => {}
            _ => return None,
        }
        // Where parts are delimited they may have zeros before them.
        let (v, n) = digits(s, *i, most);
        if n == 0 {
            return None;
        }
        *i += n;
        Some(v)
    };
    let month = part(&mut i)?;
    let day = part(&mut i)?;
    // `00-0-0` in two digits is the zero date, not the year 2000.
    let year = if n <= 2 && year == 2000 && month == 0 && day == 0 {
        0
    } else {
        year
    };
    if month > 12 || day > 31 {
        return None;
    }
    let date = Date {
        year,
        month: month as u8,
        day: day as u8,
    };
    let mut out = ParsedDateTime {
        value: date.into(),
        has_time: false,
        trailing: false,
    };
    let mut j = i;
    if j < s.len() && (s[j] == b'T' || s[j] == b' ' || is_delimiter(s[j])) {
        j += 1;
        while j < s.len() && s[j] == b' ' {
            j += 1;
        }
        let (hour, n) = digits(s, j, 2);
        if n > 0 {
            i = read_clock(s, j + n, hour, &mut out)?;
        }
    }
    let mut read = finish(s, i, out)?;
    // Further digits are parts of a time, too.
    let digits = |b: &u8| b.is_ascii_digit() || is_delimiter(*b);
    read.trailing &= !(points && s[i..].iter().all(digits));
    Some(read)
}

/// Reads `:mm:ss.frac` after the hour; where it ends.
fn read_clock(s: &[u8], mut i: usize, hour: u32, out: &mut ParsedDateTime) -> Option<usize> {
    let mut minute = 0;
    let mut second = 0;
    out.has_time = true;
    if i + 1 < s.len() && is_delimiter(s[i]) && s[i + 1].is_ascii_digit() {
        let (v, n) = digits(s, i + 1, 2);
        minute = v;
        i += 1 + n;
        if i + 1 < s.len() && is_delimiter(s[i]) && s[i + 1].is_ascii_digit() {
            let (v, n) = digits(s, i + 1, 2);
            second = v;
            i += 1 + n;
            if i < s.len() && s[i] == b'.' {
                let (micro, n) = fraction(s, i + 1);
                i += 1 + n;
                out.value.micro = micro;
            }
        }
    }
    if !valid_time(hour, minute, second) {
        return None;
    }
    out.value.hour = hour as u8;
    out.value.minute = minute as u8;
    out.value.second = second as u8;
    Some(i)
}

fn parse_compact(s: &[u8], run: usize) -> Option<ParsedDateTime> {
    // YYYYMMDD[hhmmss] if the year takes four digits, else YYMMDD[hhmmss].
    let long = run == 8 || run >= 14;
    let (year, mut i) = if long {
        digits(s, 0, 4)
    } else {
        digits(s, 0, 2)
    };
    let next = |i: &mut usize| {
        let (v, n) = digits(s, *i, 2);
        *i += n;
        (v, n)
    };
    let (month, m_len) = next(&mut i);
    let (day, d_len) = next(&mut i);
    if m_len == 0 || d_len == 0 || month > 12 || day > 31 {
        return None;
    }
    let year = if long {
        year as u16
    } else if year == 0 && month == 0 && day == 0 {
        0
    } else {
        expand_year(year as u16)
    };
    let date = Date {
        year,
        month: month as u8,
        day: day as u8,
    };
    let mut out = ParsedDateTime {
        value: date.into(),
        has_time: false,
        trailing: false,
    };
    if i < s.len() && s[i] == b'T' {
        i += 1;
    }
    let (hour, n) = next(&mut i);
    if n > 0 {
        let (minute, _) = next(&mut i);
        let (second, n) = next(&mut i);
        if !valid_time(hour, minute, second) {
            return None;
        }
        out.has_time = true;
        out.value.hour = hour as u8;
        out.value.minute = minute as u8;
        out.value.second = second as u8;
        if n > 0 && i < s.len() && s[i] == b'.' {
            let (micro, n) = fraction(s, i + 1);
            i += 1 + n;
            out.value.micro = micro;
        }
    }
    finish(s, i, out)
}

fn finish(s: &[u8], i: usize, mut out: ParsedDateTime) -> Option<ParsedDateTime> {
    if out.value.micro as i64 >= MICROS {
        out.value.micro = 0;
        out.value = if out.value.date.has_zero() || !valid(out.value.date) {
            out.value
        } else {
            out.value.add_micros(MICROS)?
        };
    }
    out.trailing = i < s.len();
    Some(out)
}

/// Reads a number as a date (`20240131`, `240131`) or datetime (`20240131235959`).
pub fn datetime_from_number(n: i64, micro: u32) -> Option<ParsedDateTime> {
    read_number(n, micro).filter(|p| valid(p.value.date))
}

/// The same in an sql_mode: under ALLOW_INVALID_DATES every month has 31 days.
pub fn datetime_from_number_in(n: i64, micro: u32, mode: SqlMode) -> Option<ParsedDateTime> {
    read_number(n, micro).filter(|p| mode.invalid_dates || valid(p.value.date))
}

fn read_number(n: i64, micro: u32) -> Option<ParsedDateTime> {
    if n == 0 {
        return Some(ParsedDateTime {
            value: DateTime {
                micro,
                ..DateTime::default()
            },
            has_time: false,
            trailing: false,
        });
    }
    if n < 101 {
        return None;
    }
    let century = |n: i64, day: i64| {
        if n < 70 * day {
            n + 2000 * day
        } else {
            n + 1900 * day
        }
    };
    // Boundaries between the forms: YYMMDD, YYYYMMDD, YYMMDDhhmmss, YYYYMMDDhhmmss.
    let (date, clock, has_time) = if n <= 991_231 {
        (century(n, 10_000), 0, false)
    } else if n < 10_000_101 {
        return None;
    } else if n <= 99_991_231 {
        (n, 0, false)
    } else if n < 101_000_000 {
        return None;
    } else {
        let full = if n <= 991_231_235_959 {
            century(n, 10_000_000_000)
        } else if n < 10_000_101_000_000 {
            return None;
        } else {
            n
        };
        (full / 1_000_000, full % 1_000_000, true)
    };
    let d = Date {
        year: u16::try_from(date / 10_000).ok()?,
        month: (date / 100 % 100) as u8,
        day: (date % 100) as u8,
    };
    let (h, m, s) = (clock / 10_000, clock / 100 % 100, clock % 100);
    let stands = d.year <= 9999 && d.month <= 12 && d.day <= 31;
    if !stands || !valid_time(h as u32, m as u32, s as u32) {
        return None;
    }
    Some(ParsedDateTime {
        value: DateTime {
            date: d,
            hour: h as u8,
            minute: m as u8,
            second: s as u8,
            micro,
            later: false,
        },
        has_time,
        trailing: false,
    })
}

/// A time of day or interval as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedTime {
    /// The value, clamped to MySQL's range.
    pub value: Time,
    /// It was clamped.
    pub clamped: bool,
    /// Something follows that does not belong to it.
    pub trailing: bool,
    /// It was a date and time, of which the date is lost.
    pub dated: bool,
}

fn time_of(negative: bool, hours: i64, minute: i64, second: i64, micro: i64) -> (Time, bool) {
    let total = hours.min(1_000_000) * 3600 + minute * 60 + second;
    let m = total * MICROS + micro;
    Time::clamped(if negative { -m } else { m })
}

/// Why a text is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTime {
    /// It doesn't look like one.
    Unreadable,
    /// Its minutes or seconds are beyond 59.
    BeyondClock,
}

/// Whether a text is that of a time of day with its date.
pub fn has_date(text: &[u8]) -> bool {
    parse_time(text).is_some_and(|p| p.dated)
}

/// Reads a TIME: `[-][D ]hh:mm[:ss[.frac]]`, `hhmmss`, or a datetime's time; `None` if it is none.
pub fn parse_time(text: &[u8]) -> Option<ParsedTime> {
    read_time(text).ok()
}

/// As [`parse_time`], with the reason if it is none.
pub fn read_time(text: &[u8]) -> Result<ParsedTime, NoTime> {
    use NoTime::Unreadable;
    let mut s = text.trim_ascii();
    let negative = s.first() == Some(&b'-');
    if negative {
        s = &s[1..];
    }
    let run = s.iter().take_while(|b| b.is_ascii_digit()).count();
    if !negative
        && (run >= 12
            || ((1..=4).contains(&run)
                && s.len() >= 12
                && is_delimiter(s[run])
                && (s[run] != b':' && s[run] != b'.' || has_clock(s))))
    {
        let d = parse_datetime(s).ok_or(Unreadable)?;
        return Ok(ParsedTime {
            value: d.value.time(),
            clamped: false,
            trailing: d.trailing,
            dated: !d.value.date.is_zero(),
        });
    }
    if run == 0 && s.first() != Some(&b'.') {
        return Err(Unreadable);
    }
    let number = |s: &[u8]| {
        s.iter()
            .fold(0i64, |v, d| (v * 10 + (d - b'0') as i64).min(1 << 50))
    };
    let first = number(&s[..run]);
    let mut i = run;
    let (mut hours, mut minute, mut second) = (0, 0, 0);
    let two = |i: &mut usize| -> Option<i64> {
        if *i + 1 < s.len() && s[*i] == b':' && s[*i + 1].is_ascii_digit() {
            let (v, n) = digits(s, *i + 1, 2);
            *i += 1 + n;
            Some(v as i64)
        } else {
            None
        }
    };
    if i < s.len() && s[i] == b':' {
        hours = first;
        minute = two(&mut i).ok_or(Unreadable)?;
        second = two(&mut i).unwrap_or(0);
    } else if i + 1 < s.len() && s[i] == b' ' && s[i + 1].is_ascii_digit() {
        i += 1;
        let (h, n) = digits(s, i, 2);
        i += n;
        hours = first.min(10_000) * 24 + h as i64;
        minute = two(&mut i).unwrap_or(0);
        second = two(&mut i).unwrap_or(0);
    } else {
        hours += first / 10_000;
        minute += first / 100 % 100;
        second += first % 100;
    }
    let mut micro = 0;
    if i < s.len() && s[i] == b'.' {
        let (v, n) = fraction(s, i + 1);
        micro = v as i64;
        i += 1 + n;
    }
    if minute > 59 || second > 59 {
        return Err(NoTime::BeyondClock);
    }
    if is_exponent(&s[i..]) {
        return Err(NoTime::Unreadable);
    }
    let (value, clamped) = time_of(negative, hours, minute, second, micro);
    Ok(ParsedTime {
        value,
        clamped,
        trailing: i < s.len(),
        dated: false,
    })
}

/// Whether a number's text goes on with an exponent: then what was read before is no time.
fn is_exponent(rest: &[u8]) -> bool {
    match rest {
        [b'e' | b'E', b'+' | b'-', digit, ..] | [b'e' | b'E', digit, ..] => digit.is_ascii_digit(),
        _ => false,
    }
}

/// Reads a number as a TIME (`hhmmss`).
pub fn time_from_number(n: i64, micro: i64) -> Option<ParsedTime> {
    let a = n.unsigned_abs();
    if a > 10_000_000_000 {
        let d = datetime_from_number(n, micro.unsigned_abs() as u32)?;
        return Some(ParsedTime {
            value: d.value.time(),
            clamped: false,
            trailing: false,
            dated: !d.value.date.is_zero(),
        });
    }
    let a = a as i64;
    let (minute, second) = (a / 100 % 100, a % 100);
    if minute > 59 || second > 59 {
        return None;
    }
    let (value, clamped) = time_of(n < 0 || micro < 0, a / 10_000, minute, second, micro.abs());
    Some(ParsedTime {
        value,
        clamped,
        trailing: false,
        dated: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::text;

    #[test]
    fn the_least_number_is_no_time() {
        assert_eq!(time_from_number(i64::MIN, 0), None);
        assert!(time_from_number(-1, 0).is_some_and(|p| p.value.micros == -1_000_000));
    }

    #[test]
    fn datetimes() {
        for (s, want) in [
            ("2024-01-31", "2024-01-31 00:00:00"),
            ("2024-1-3", "2024-01-03 00:00:00"),
            ("24-01-31", "2024-01-31 00:00:00"),
            ("70-01-31", "1970-01-31 00:00:00"),
            ("2024/01.31 10:11:12", "2024-01-31 10:11:12"),
            ("2024-01-31T10:11:12.5", "2024-01-31 10:11:12.500000"),
            ("2024-01-31 10:11:12.9999999", "2024-01-31 10:11:13"),
            ("2024-01-31 10", "2024-01-31 10:00:00"),
            ("20240131", "2024-01-31 00:00:00"),
            ("240131", "2024-01-31 00:00:00"),
            ("20240131101112", "2024-01-31 10:11:12"),
            ("240131101112.25", "2024-01-31 10:11:12.250000"),
            ("0000-00-00", "0000-00-00 00:00:00"),
            ("2024-00-00", "2024-00-00 00:00:00"),
            (" 2024-02-29 ", "2024-02-29 00:00:00"),
        ] {
            let p = parse_datetime(s.as_bytes()).unwrap_or_else(|| panic!("{s}"));
            assert!(!p.trailing, "{s}");
            let mut out = Vec::new();
            text::write_datetime(p.value, if p.value.micro > 0 { 6 } else { 0 }, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), want, "{s}");
        }
        for s in [
            "",
            "abc",
            "2024-13-01",
            "2023-02-29",
            "2024-01-31 25:00:00",
            "2024",
            "2024-01",
            "12:30:00x",
        ] {
            assert_eq!(parse_datetime(s.as_bytes()), None, "{s}");
        }
        assert!(parse_datetime(b"2024-01-31abc").unwrap().trailing);
    }

    #[test]
    fn numbers() {
        let n = |v| datetime_from_number(v, 0).map(|p| p.value.to_number());
        assert_eq!(n(20240131), Some(20240131000000));
        assert_eq!(n(240131), Some(20240131000000));
        assert_eq!(n(20240131235959), Some(20240131235959));
        assert_eq!(n(240131235959), Some(20240131235959));
        assert_eq!(n(20241301), None);
        assert_eq!(n(5), None);
    }

    #[test]
    fn times() {
        for (s, want) in [
            ("10:11:12", "10:11:12"),
            ("10:11", "10:11:00"),
            ("101112", "10:11:12"),
            ("1112", "00:11:12"),
            ("12", "00:00:12"),
            ("-10:11:12", "-10:11:12"),
            ("2 03:04:05", "51:04:05"),
            ("850:00:00", "838:59:59"),
            ("1 10", "34:00:00"),
            ("2024-01-31 10:11:12", "10:11:12"),
            ("2024:01:31 10:11:12", "10:11:12"),
        ] {
            let p = parse_time(s.as_bytes()).unwrap_or_else(|| panic!("{s}"));
            let mut out = Vec::new();
            text::write_time(p.value, 0, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), want, "{s}");
        }
        assert_eq!(read_time(b"10:61:00"), Err(NoTime::BeyondClock));
        assert_eq!(read_time(b"-105960"), Err(NoTime::BeyondClock));
        assert_eq!(read_time(b"x"), Err(NoTime::Unreadable));
    }
}
