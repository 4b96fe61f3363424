//! DATE_FORMAT, TIME_FORMAT and STR_TO_DATE.

use crate::value::text::write_u64;
use crate::value::time::{Date, DateTime, MICROS, Time};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// Name of a month, 1 to 12.
pub(super) fn month_name(month: u8) -> Option<&'static str> {
    MONTHS.get((month as usize).checked_sub(1)?).copied()
}

/// Name of a weekday, 0 = Monday.
pub(super) fn day_name(weekday: i64) -> &'static str {
    DAYS[weekday.rem_euclid(7) as usize]
}

fn pad(v: u64, width: usize, out: &mut Vec<u8>) {
    let mut digits = Vec::with_capacity(8);
    write_u64(v, &mut digits);
    for _ in digits.len()..width {
        out.push(b'0');
    }
    out.extend_from_slice(&digits);
}

fn twelve(hour: u64) -> u64 {
    match hour % 12 {
        0 => 12,
        h => h,
    }
}

/// Formats a datetime (or, with a zero date, a TIME); `None` where a specifier asks for a part the value does not have.
pub(super) fn format(date: Date, time: Time, spec: &[u8]) -> Option<Vec<u8>> {
    let (hour, minute, second, micro) = time.parts();
    let (hour, minute, second) = (hour as u64, minute as u64, second as u64);
    let mut out = Vec::with_capacity(spec.len() + 16);
    let mut i = 0;
    while i < spec.len() {
        let b = spec[i];
        i += 1;
        if b != b'%' || i == spec.len() {
            out.push(b);
            continue;
        }
        let s = spec[i];
        i += 1;
        match s {
            b'Y' => pad(date.year as u64, 4, &mut out),
            b'y' => pad(date.year as u64 % 100, 2, &mut out),
            b'm' => pad(date.month as u64, 2, &mut out),
            b'c' => pad(date.month as u64, 1, &mut out),
            b'M' => out.extend_from_slice(month_name(date.month)?.as_bytes()),
            b'b' => out.extend_from_slice(&month_name(date.month)?.as_bytes()[..3]),
            b'd' => pad(date.day as u64, 2, &mut out),
            b'e' => pad(date.day as u64, 1, &mut out),
            b'D' => {
                pad(date.day as u64, 1, &mut out);
                let suffix = match (date.day % 10, date.day) {
                    (_, 11..=13) => "th",
                    (1, _) => "st",
                    (2, _) => "nd",
                    (3, _) => "rd",
                    _ => "th",
                };
                out.extend_from_slice(suffix.as_bytes());
            }
            b'j' => pad(
                date.exists().then(|| date.day_of_year())? as u64,
                3,
                &mut out,
            ),
            b'W' => out.extend_from_slice(day_name(weekday(date)?).as_bytes()),
            b'a' => out.extend_from_slice(&day_name(weekday(date)?).as_bytes()[..3]),
            b'w' => pad((weekday(date)? as u64 + 1) % 7, 1, &mut out),
            b'U' | b'u' | b'V' | b'v' | b'X' | b'x' => {
                let mode = match s {
                    b'U' => 0,
                    b'u' => 1,
                    b'V' | b'X' => 2,
                    _ => 3,
                };
                weekday(date)?;
                let (year, week) = date.week(mode);
                if matches!(s, b'X' | b'x') {
                    pad(year as u64, 4, &mut out);
                } else {
                    pad(week as u64, 2, &mut out);
                }
            }
            b'H' => pad(hour, 2, &mut out),
            b'k' => pad(hour, 1, &mut out),
            b'h' | b'I' => pad(twelve(hour), 2, &mut out),
            b'l' => pad(twelve(hour), 1, &mut out),
            b'i' => pad(minute, 2, &mut out),
            b's' | b'S' => pad(second, 2, &mut out),
            b'f' => pad(micro as u64, 6, &mut out),
            b'p' => out.extend_from_slice(if hour % 24 < 12 { b"AM" } else { b"PM" }),
            b'T' | b'r' => {
                pad(if s == b'T' { hour } else { twelve(hour) }, 2, &mut out);
                out.push(b':');
                pad(minute, 2, &mut out);
                out.push(b':');
                pad(second, 2, &mut out);
                if s == b'r' {
                    out.extend_from_slice(if hour % 24 < 12 { b" AM" } else { b" PM" });
                }
            }
            other => out.push(other),
        }
    }
    Some(out)
}

fn weekday(date: Date) -> Option<i64> {
    date.exists().then(|| date.weekday())
}

/// What a STR_TO_DATE format reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// Only a date.
    Date,
    /// Only a time; with microseconds if so.
    Time(bool),
    /// Both; with microseconds if so.
    DateTime(bool),
}

/// Which parts a format has.
pub(super) fn reads(spec: &[u8]) -> Reads {
    let (mut date, mut time, mut micro) = (false, false, false);
    let mut i = 0;
    while i + 1 < spec.len() {
        if spec[i] == b'%' {
            match spec[i + 1] {
                b'H' | b'h' | b'I' | b'k' | b'l' | b'i' | b's' | b'S' | b'p' | b'T' | b'r' => {
                    time = true;
                }
                b'f' => (time, micro) = (true, true),
                b'%' => {}
                _ => date = true,
            }
            i += 1;
        }
        i += 1;
    }
    match (date, time) {
        (true, true) => Reads::DateTime(micro),
        (false, true) => Reads::Time(micro),
        _ => Reads::Date,
    }
}

/// Position in `names` of the name that `text` starts with (three letters are enough if `short`); and its length.
fn name(text: &[u8], names: &[&str], short: bool) -> Option<(usize, usize)> {
    names
        .iter()
        .position(|n| {
            let n = if short {
                &n.as_bytes()[..3]
            } else {
                n.as_bytes()
            };
            text.len() >= n.len() && text[..n.len()].eq_ignore_ascii_case(n)
        })
        .map(|i| (i, if short { 3 } else { names[i].len() }))
}

/// Reads a text by a format. Parts that the format lacks are zero; `None` if the text does not follow it.
pub(super) fn parse(text: &[u8], spec: &[u8]) -> Option<DateTime> {
    let mut at = 0;
    let mut d = DateTime::default();
    let mut pm: Option<bool> = None;
    let mut twelve_hours = false;
    let mut day_of_year = None;
    let mut i = 0;
    while i < spec.len() {
        let b = spec[i];
        i += 1;
        if b.is_ascii_whitespace() {
            while at < text.len() && text[at].is_ascii_whitespace() {
                at += 1;
            }
            continue;
        }
        if b != b'%' || i == spec.len() {
            if text.get(at) != Some(&b) {
                return None;
            }
            at += 1;
            continue;
        }
        let s = spec[i];
        i += 1;
        while at < text.len() && text[at] == b' ' {
            at += 1;
        }
        let mut number = |max: usize| -> Option<u32> {
            let n = text[at..]
                .iter()
                .take(max)
                .take_while(|b| b.is_ascii_digit())
                .count();
            if n == 0 {
                return None;
            }
            let v = text[at..at + n]
                .iter()
                .fold(0, |v, b| v * 10 + (b - b'0') as u32);
            at += n;
            Some(v)
        };
        match s {
            b'Y' => {
                let from = number(4)?;
                d.date.year = from as u16;
            }
            b'y' => {
                let y = number(2)? as u16;
                d.date.year = if y < 70 { 2000 + y } else { 1900 + y };
            }
            b'm' | b'c' => d.date.month = u8::try_from(number(2)?).ok()?,
            b'd' | b'e' => d.date.day = u8::try_from(number(2)?).ok()?,
            b'D' => {
                d.date.day = u8::try_from(number(2)?).ok()?;
                at += 2.min(text.len() - at);
            }
            b'j' => day_of_year = Some(number(3)? as i64),
            b'M' | b'b' => {
                let (m, n) = name(&text[at..], &MONTHS, s == b'b')?;
                d.date.month = m as u8 + 1;
                at += n;
            }
            b'W' | b'a' => at += name(&text[at..], &DAYS, s == b'a')?.1,
            b'w' => {
                number(1)?;
            }
            b'H' | b'k' => d.hour = u8::try_from(number(2)?).ok()?,
            b'h' | b'I' | b'l' => {
                d.hour = u8::try_from(number(2)?)
                    .ok()
                    .filter(|h| (1..=12).contains(h))?;
                twelve_hours = true;
            }
            b'i' => d.minute = u8::try_from(number(2)?).ok()?,
            b's' | b'S' => d.second = u8::try_from(number(2)?).ok()?,
            b'f' => {
                let from = at;
                let n = text[from..]
                    .iter()
                    .take(6)
                    .take_while(|b| b.is_ascii_digit())
                    .count();
                let v = text[from..from + n]
                    .iter()
                    .fold(0u32, |v, b| v * 10 + (b - b'0') as u32);
                at += n;
                d.micro = v * 10u32.pow(6 - n as u32);
            }
            b'p' => {
                let half = text.get(at..at + 2)?;
                pm = Some(if half.eq_ignore_ascii_case(b"PM") {
                    true
                } else if half.eq_ignore_ascii_case(b"AM") {
                    false
                } else {
                    return None;
                });
                at += 2;
            }
            b'T' | b'r' => {
                let inner: &[u8] = if s == b'T' {
                    b"%H:%i:%S"
                } else {
                    b"%h:%i:%S %p"
                };
                let n = text.len() - at;
                let end = if s == b'T' { n.min(8) } else { n.min(11) };
                let t = parse(&text[at..at + end], inner)?;
                (d.hour, d.minute, d.second) = (t.hour, t.minute, t.second);
                at += end;
            }
            b'%' => {
                if text.get(at) != Some(&b'%') {
                    return None;
                }
                at += 1;
            }
            _ => return None,
        }
    }
    if twelve_hours {
        d.hour = d.hour % 12 + if pm == Some(true) { 12 } else { 0 };
    }
    if let Some(n) = day_of_year {
        let first = Date {
            year: d.date.year,
            month: 1,
            day: 1,
        };
        d.date = Date::from_days(first.days() + n - 1)?;
    }
    let date_ok = d.date.exists() || d.date.is_zero() || (d.date.has_zero() && d.date.month <= 12);
    let time_ok = d.hour < 24 && d.minute < 60 && d.second < 60 && (d.micro as i64) < MICROS;
    (date_ok && time_ok && text[at.min(text.len())..].trim_ascii().is_empty()).then_some(d)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        let d = Date::new(2024, 1, 3).unwrap();
        let t = Time {
            micros: ((13 * 60 + 5) * 60 + 9) * MICROS + 120,
        };
        for (spec, want) in [
            ("%Y-%m-%d %H:%i:%s", "2024-01-03 13:05:09"),
            ("%y %c %e %D", "24 1 3 3rd"),
            ("%M %b %W %a %w", "January Jan Wednesday Wed 3"),
            ("%h %l %p %r %T", "01 1 PM 01:05:09 PM 13:05:09"),
            ("%f %j %%", "000120 003 %"),
            ("%x-%v", "2024-01"),
            ("100% %q", "100 q"),
        ] {
            assert_eq!(
                String::from_utf8(format(d, t, spec.as_bytes()).unwrap()).unwrap(),
                want,
                "{spec}"
            );
        }
        assert_eq!(format(Date::default(), t, b"%W"), None);
    }

    #[test]
    fn reads_by_format() {
        let p = |t: &str, f: &str| parse(t.as_bytes(), f.as_bytes()).map(|d| d.to_number());
        assert_eq!(p("31.01.2024", "%d.%m.%Y"), Some(20240131000000));
        assert_eq!(
            p("Jan 5, 2024 3:07 pm", "%b %e, %Y %l:%i %p"),
            Some(20240105150700)
        );
        assert_eq!(p("2024-02-30", "%Y-%m-%d"), None);
        assert_eq!(p("2024-02", "%Y-%m-%d"), None);
        assert_eq!(p("2024 60", "%Y %j"), Some(20240229000000));
        assert_eq!(p("12:30:00 AM", "%r"), Some(3000));
        assert_eq!(reads(b"%d.%m.%Y"), Reads::Date);
        assert_eq!(reads(b"%H:%i.%f"), Reads::Time(true));
    }
}
