//! DATE_FORMAT, TIME_FORMAT and STR_TO_DATE.

use crate::env::SqlMode;
use crate::env::locale::{ENGLISH, Names};
use crate::value::text::write_u64;
use crate::value::time::{Date, DateTime, Time};

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

/// Formats a datetime (or, with a zero date, a TIME) with these names of months and days; `None` where a specifier asks for a part the value does not have.
pub(super) fn format(date: Date, time: Time, spec: &[u8], names: &Names) -> Option<Vec<u8>> {
    let (hour, minute, second, micro) = time.parts();
    let (hour, minute, second) = (hour as u64, minute as u64, second as u64);
    let mut out = Vec::with_capacity(spec.len() + 16);
    if time.micros < 0 {
        // Whatever the format begins with.
        out.push(b'-');
    }
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
            b'M' => out.extend_from_slice(month(&names.months, date)?),
            b'b' => out.extend_from_slice(month(&names.short_months, date)?),
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
            b'j' => pad(counted(date)?.day_of_year() as u64, 3, &mut out),
            b'W' => out.extend_from_slice(names.days[weekday(date)? as usize].as_bytes()),
            b'a' => out.extend_from_slice(names.short_days[weekday(date)? as usize].as_bytes()),
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

fn month(names: &[&'static str; 12], date: Date) -> Option<&'static [u8]> {
    let at = usize::from(date.month).checked_sub(1)?;
    Some(names.get(at)?.as_bytes())
}

fn weekday(date: Date) -> Option<i64> {
    Some(counted(date)?.weekday())
}

/// A date that days are counted to, though its month may not have that many.
fn counted(date: Date) -> Option<Date> {
    (!date.has_zero()).then_some(date)
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

/// Position in `names` of the word at the start of `text`, of which a beginning that only one of them has is enough; and its length.
fn name(text: &[u8], names: &[&str]) -> Option<(usize, usize)> {
    let word = text.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    let word = &text[..word];
    let begins = |n: &str| {
        let start = n.as_bytes().get(..word.len());
        start.is_some_and(|s| s.eq_ignore_ascii_case(word))
    };
    let mut found = (0..names.len()).filter(|i| begins(names[*i]));
    let first = found.next().filter(|_| !word.is_empty())?;
    let one = match found.next() {
        None => first,
        Some(second) => {
            let all = [first, second].into_iter().chain(found);
            all.into_iter().find(|i| names[*i].len() == word.len())?
        }
    };
    Some((one, word.len()))
}

/// The parts of a date that STR_TO_DATE reads before it knows the date.
#[derive(Default)]
struct Calendar {
    day_of_year: Option<i64>,
    /// Of %X and %x, and whether it is of weeks that begin on Sunday.
    week_year: Option<(u16, bool)>,
    week: Option<Week>,
    /// 0 = Monday.
    weekday: Option<i64>,
}

#[derive(Clone, Copy)]
struct Week {
    number: i64,
    /// Weeks begin on Sunday: %U, %V.
    sunday: bool,
    /// The week belongs to a year of weeks: %V, %v.
    of_week_year: bool,
}

impl Calendar {
    /// The day of the year or the week's day, if either was told; `None` if they make no date.
    fn date(&self, written: Date) -> Option<Date> {
        let mut date = written;
        if let Some(n) = self.day_of_year.filter(|n| *n > 0) {
            date = Date::from_days(january(date.year).days() + n - 1)?;
        }
        let (Some(week), Some(weekday)) = (self.week, self.weekday) else {
            return Some(date);
        };
        let year = match (week.of_week_year, self.week_year) {
            (true, Some((year, sunday))) if sunday == week.sunday => year,
            (false, None) => date.year,
            _ => return None,
        };
        let first = january(year);
        // Days since the week began, on January 1st and on the day asked for.
        let into = |weekday: i64| {
            if week.sunday {
                (weekday + 1) % 7
            } else {
                weekday
            }
        };
        let begun = into(first.weekday());
        // Week 1 begins on the first Sunday, or is the first with four days of the year.
        let before = if week.sunday { begun == 0 } else { begun <= 3 };
        let week_one = first.days() - begun + if before { 0 } else { 7 };
        Date::from_days(week_one + 7 * (week.number - 1) + into(weekday))
    }
}

fn january(year: u16) -> Date {
    Date {
        year,
        month: 1,
        day: 1,
    }
}

/// A text being read by a format.
struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    d: DateTime,
    calendar: Calendar,
    pm: bool,
    twelve_hours: bool,
    /// `%T` or `%r` is being read.
    clock: bool,
}

impl Reader<'_> {
    fn skip(&mut self, which: impl Fn(&u8) -> bool) {
        self.at += self.text[self.at..].iter().take_while(|b| which(b)).count();
    }
    /// A number of `max` digits at most, and how many they were.
    fn digits(&mut self, max: usize) -> Option<(u32, usize)> {
        let rest = &self.text[self.at..];
        let n = rest
            .iter()
            .take(max)
            .take_while(|b| b.is_ascii_digit())
            .count();
        self.at += n;
        let value = rest[..n]
            .iter()
            .fold(0, |v, b| v * 10 + u32::from(b - b'0'));
        (n > 0).then_some((value, n))
    }
    fn number(&mut self, max: usize) -> Option<u32> {
        Some(self.digits(max)?.0)
    }
    fn small(&mut self) -> Option<u8> {
        u8::try_from(self.number(2)?).ok()
    }
    fn year(&mut self, max: usize) -> Option<u16> {
        let (year, digits) = self.digits(max)?;
        Some(match (year as u16, digits) {
            (y @ 0..=69, 1..=2) => y + 2000,
            (y, 1..=2) => y + 1900,
            (y, _) => y,
        })
    }
    fn named(&mut self, names: &[&str]) -> Option<usize> {
        let (i, n) = name(&self.text[self.at..], names)?;
        self.at += n;
        Some(i)
    }
    /// Reads by a whole format, until it or the text ends.
    fn all(&mut self, spec: &[u8]) -> Option<()> {
        let mut spec = spec.iter();
        while let Some(&b) = spec.next() {
            self.skip(u8::is_ascii_whitespace);
            let Some(next) = self.text.get(self.at) else {
                break;
            };
            match spec.as_slice().first() {
                Some(&s) if b == b'%' => {
                    spec.next();
                    self.one(s)?;
                }
                _ if b.is_ascii_whitespace() => {}
                _ if *next == b => self.at += 1,
                _ => return None,
            }
        }
        Some(())
    }
    /// Reads by one specifier.
    fn one(&mut self, s: u8) -> Option<()> {
        match s {
            b'Y' => self.d.date.year = self.year(4)?,
            b'y' => self.d.date.year = self.year(2)?,
            b'm' | b'c' => self.d.date.month = self.small()?,
            b'd' | b'e' => self.d.date.day = self.small()?,
            b'D' => {
                self.d.date.day = self.small()?;
                self.at += 2.min(self.text.len() - self.at);
            }
            b'M' => self.d.date.month = self.named(&ENGLISH.months)? as u8 + 1,
            b'b' => self.d.date.month = self.named(&ENGLISH.short_months)? as u8 + 1,
            b'j' | b'W' | b'a' | b'w' | b'U' | b'u' | b'V' | b'v' | b'X' | b'x' => {
                self.calendar(s)?;
            }
            b'.' => self.skip(u8::is_ascii_punctuation),
            b'@' => self.skip(u8::is_ascii_alphabetic),
            b'#' => self.skip(u8::is_ascii_digit),
            b'%' if self.text[self.at] == b'%' => self.at += 1,
            _ => self.clock(s)?,
        }
        Some(())
    }
    fn calendar(&mut self, s: u8) -> Option<()> {
        match s {
            b'j' => self.calendar.day_of_year = Some(i64::from(self.number(3)?)),
            b'W' => self.calendar.weekday = Some(self.named(&ENGLISH.days)? as i64),
            b'a' => self.calendar.weekday = Some(self.named(&ENGLISH.short_days)? as i64),
            b'w' => {
                let sunday_first = self.number(1).filter(|n| *n < 7)?;
                self.calendar.weekday = Some((i64::from(sunday_first) + 6) % 7);
            }
            b'X' | b'x' => self.calendar.week_year = Some((self.number(4)? as u16, s == b'X')),
            _ => {
                let of_week_year = matches!(s, b'V' | b'v');
                let least = u32::from(of_week_year);
                let number = self.number(2).filter(|n| (least..=53).contains(n))?;
                self.calendar.week = Some(Week {
                    number: i64::from(number),
                    sunday: s.is_ascii_uppercase(),
                    of_week_year,
                });
            }
        }
        Some(())
    }
    fn clock(&mut self, s: u8) -> Option<()> {
        match s {
            b'H' | b'k' => self.d.hour = self.small()?,
            b'h' | b'I' | b'l' => {
                self.d.hour = self.small().filter(|h| (1..=12).contains(h))?;
                self.twelve_hours = true;
            }
            b'i' => self.d.minute = self.small()?,
            b's' | b'S' => self.d.second = self.small()?,
            b'f' => {
                let (v, n) = self.digits(6)?;
                self.d.micro = v * 10u32.pow(6 - n as u32);
            }
            b'p' if self.twelve_hours => {
                let half = self.text.get(self.at..self.at + 2)?;
                self.pm = half.eq_ignore_ascii_case(b"PM");
                if !self.pm && !half.eq_ignore_ascii_case(b"AM") {
                    return None;
                }
                self.at += 2;
            }
            b'T' | b'r' => {
                self.clock = true;
                self.all(if s == b'T' {
                    b"%H:%i:%S"
                } else {
                    b"%I:%i:%S %p"
                })?;
                self.clock = false;
            }
            _ => return None,
        }
        Some(())
    }
}

/// Reads a text by a format, and tells whether that was all of the text. Parts that the format lacks, and those that stand behind the
/// text's end, are zero. `Err` if the text does not follow the format: whether it was a time of day that it had none of.
pub(super) fn parse(text: &[u8], spec: &[u8], mode: SqlMode) -> Result<(DateTime, bool), bool> {
    let mut r = Reader {
        text,
        at: 0,
        d: DateTime::default(),
        calendar: Calendar::default(),
        pm: false,
        twelve_hours: false,
        clock: false,
    };
    if r.all(spec).is_none() {
        return Err(r.clock);
    }
    let mut d = r.d;
    if r.twelve_hours {
        d.hour = d.hour % 12 + if r.pm { 12 } else { 0 };
    }
    d.date = r.calendar.date(d.date).ok_or(false)?;
    let date_ok = d.date.stands(mode) || d.date.has_zero() && d.date.month <= 12;
    let time_ok = d.hour < 24 && d.minute < 60 && d.second < 60;
    match date_ok && time_ok {
        true => Ok((d, text[r.at..].trim_ascii().is_empty())),
        false => Err(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::time::MICROS;

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
                String::from_utf8(format(d, t, spec.as_bytes(), ENGLISH).unwrap()).unwrap(),
                want,
                "{spec}"
            );
        }
        assert_eq!(format(Date::default(), t, b"%W", ENGLISH), None);
        let back = Time { micros: -t.micros };
        let text = format(Date::default(), back, b"at %H:%i", ENGLISH).unwrap();
        assert_eq!(text, b"-at 13:05");
    }

    #[test]
    fn reads_by_format() {
        let p = |t: &str, f: &str| {
            let read = parse(t.as_bytes(), f.as_bytes(), SqlMode::DEFAULT);
            read.ok().map(|(d, _)| d.to_number())
        };
        assert_eq!(p("31.01.2024", "%d.%m.%Y"), Some(20240131000000));
        assert_eq!(
            p("Jan 5, 2024 3:07 pm", "%b %e, %Y %l:%i %p"),
            Some(20240105150700)
        );
        assert_eq!(p("2024-02-30", "%Y-%m-%d"), None);
        assert_eq!(p("2024-02", "%Y-%m-%d"), Some(20240200000000));
        assert_eq!(p("99-1-2 3", "%Y-%m-%d %H:%i"), Some(19990102030000));
        assert_eq!(p("5 Decem 2024", "%d %M %Y"), Some(20241205000000));
        assert_eq!(p("5 Ma 2024", "%d %M %Y"), None);
        assert_eq!(p("5 December 2024", "%d %b %Y"), None);
        assert_eq!(p("10:00 PM", "%H:%i %p"), None);
        assert_eq!(p("a1 b..2024", "%@%d %@%.%Y"), Some(20240001000000));
        assert_eq!(p("25", "%H"), None);
        let trailing = |t: &str| {
            parse(t.as_bytes(), b"%h:%i:%s", SqlMode::DEFAULT)
                .ok()
                .map(|(_, all)| !all)
        };
        assert_eq!(trailing("09:30:17a"), Some(true));
        assert_eq!(trailing("09:30:17  "), Some(false));
        assert_eq!(p("2024 60", "%Y %j"), Some(20240229000000));
        assert_eq!(p("12:30:00 AM", "%r"), Some(3000));
        for (text, spec, want) in [
            ("200442 Monday", "%X%V %W", Some(20041018000000)),
            ("200442 Monday", "%x%v %W", Some(20041011000000)),
            ("2004 42 Sun", "%Y %U %a", Some(20041017000000)),
            ("2004 42 0", "%Y %u %w", Some(20041017000000)),
            ("2004 00 0", "%Y %u %w", Some(20031228000000)),
            ("200400 Monday", "%X%V %W", None),
            ("200454 Monday", "%X%V %W", None),
            ("200442 Monday", "%X%v %W", None),
            ("200442 Monday", "%X%U %W", None),
        ] {
            assert_eq!(p(text, spec), want, "{text} {spec}");
        }
        assert_eq!(reads(b"%d.%m.%Y"), Reads::Date);
        assert_eq!(reads(b"%H:%i.%f"), Reads::Time(true));
    }
}
