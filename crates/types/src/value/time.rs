//! Dates and times, with MySQL's ranges and zero values: calendar arithmetic, packing for rows and keys.
//! Texts are read in `parse_time`, written in `text`, and formatted (DATE_FORMAT) in `time_format`.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::env::SqlMode;
use super::zone::{Moment, Zone};

/// Largest TIME, 838:59:59, in microseconds.
pub const MAX_TIME: i64 = (838 * 3600 + 59 * 60 + 59) * MICROS;
/// Microseconds in a second.
pub const MICROS: i64 = 1_000_000;
/// Microseconds in a day.
pub const DAY_MICROS: i64 = 86_400 * MICROS;
/// TO_DAYS('1970-01-01').
pub const EPOCH_DAYS: i64 = 719_528;
/// Largest TIMESTAMP, seconds since 1970.
pub const MAX_TIMESTAMP: i64 = i32::MAX as i64;

/// A date; `0000-00-00` and zero parts are representable, as in MySQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date {
    /// Year, 0 to 9999.
    pub year: u16,
    /// Month, 0 to 12.
    pub month: u8,
    /// Day, 0 to 31.
    pub day: u8,
}

/// A date and time of day. Comparisons are of what a calendar and a clock show: `later` is no part of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct DateTime {
    /// Date.
    pub date: Date,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute.
    pub minute: u8,
    /// Second.
    pub second: u8,
    /// Microsecond.
    pub micro: u32,
    /// Whether it is the second of two moments that have this local time, the clock having been put back between them.
    pub later: bool,
}

/// A TIME value: microseconds, negative allowed, within ±838:59:59.999999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time {
    /// Microseconds.
    pub micros: i64,
}

/// Whether a year has a 29th of February. MySQL's year 0 has none.
pub fn leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || (year.is_multiple_of(400) && year != 0))
}

/// Days in a year.
pub fn days_in_year(year: u16) -> i64 {
    if leap(year) { 366 } else { 365 }
}

/// Days of a month, 1 to 12.
pub fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        2 if leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// `micros` rounded half away from zero to `fsp` digits after the second.
pub fn round_micros(micros: i64, fsp: u8) -> i64 {
    let unit = 10i64.pow(6 - fsp.min(6) as u32);
    if unit == 1 {
        return micros;
    }
    let half = unit / 2;
    if micros >= 0 {
        (micros + half) / unit * unit
    } else {
        (micros - half) / unit * unit
    }
}

/// `micros` as a value of `fsp` digits after the second is made of it: rounded, or cut under TIME_TRUNCATE_FRACTIONAL.
pub fn fitted_micros(micros: i64, fsp: u8, mode: SqlMode) -> i64 {
    match mode.truncate_fractions {
        true => truncate_micros(micros, fsp),
        false => round_micros(micros, fsp),
    }
}

/// `micros` cut to `fsp` digits after the second.
pub fn truncate_micros(micros: i64, fsp: u8) -> i64 {
    let unit = 10i64.pow(6 - fsp.min(6) as u32);
    micros / unit * unit
}

impl Date {
    /// A date that exists; `None` otherwise (zero parts included).
    pub fn new(year: u16, month: u8, day: u8) -> Option<Date> {
        let d = Date { year, month, day };
        (d.exists()).then_some(d)
    }
    /// Whether the calendar has it.
    pub fn exists(self) -> bool {
        self.year <= 9999
            && (1..=12).contains(&self.month)
            && self.day >= 1
            && self.day <= days_in_month(self.year, self.month)
    }
    /// Whether sql_mode has it: the calendar's dates, and under ALLOW_INVALID_DATES 31 days in every month.
    pub fn stands(self, mode: SqlMode) -> bool {
        let any_day = (1..=12).contains(&self.month) && (1..=31).contains(&self.day);
        self.exists() || mode.invalid_dates && any_day
    }
    /// `0000-00-00`.
    pub fn is_zero(self) -> bool {
        self == Date::default()
    }
    /// Whether month or day is zero (the zero date included).
    pub fn has_zero(self) -> bool {
        self.month == 0 || self.day == 0
    }
    /// TO_DAYS: days since year 0. Zero parts count as MySQL counts them.
    pub fn days(self) -> i64 {
        if self.year == 0 && self.month == 0 {
            return 0;
        }
        // Months from March, so that the leap day ends the year.
        let month = self.month.max(1) as i64;
        let (y, m) = if month <= 2 {
            (self.year as i64 - 1, month + 9)
        } else {
            (self.year as i64, month - 3)
        };
        let before = 365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400);
        let days = before + (m * 306 + 5) / 10 + self.day as i64 + 59;
        // MySQL's year 0 is no leap year.
        if self.year == 0 && month <= 2 {
            days + 1
        } else {
            days
        }
    }
    /// FROM_DAYS; `None` outside of years 0 to 9999 (year 0 begins at day 1).
    pub fn from_days(days: i64) -> Option<Date> {
        if !(1..=3_652_424).contains(&days) {
            return None;
        }
        if days <= 365 {
            // Year 0 has 365 days here.
            let mut left = days;
            for month in 1..=12u8 {
                let n = days_in_month(0, month) as i64;
                if left <= n {
                    return Some(Date {
                        year: 0,
                        month,
                        day: left as u8,
                    });
                }
                left -= n;
            }
        }
        let z = days - 60;
        let era = z.div_euclid(146_097);
        let doe = z.rem_euclid(146_097);
        let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        let mp = (5 * doy + 2) / 153;
        let day = (doy - (153 * mp + 2) / 5 + 1) as u8;
        let month = if mp < 10 { mp + 3 } else { mp - 9 } as u8;
        let year = yoe + era * 400 + (month <= 2) as i64;
        Some(Date {
            year: year as u16,
            month,
            day,
        })
    }
    /// Day of the year from 1.
    pub fn day_of_year(self) -> i64 {
        self.days()
            - Date {
                year: self.year,
                month: 1,
                day: 1,
            }
            .days()
            + 1
    }
    /// 0 = Monday.
    pub fn weekday(self) -> i64 {
        (self.days() + 5).rem_euclid(7)
    }
    /// WEEK(date, mode): (year the week belongs to, week).
    pub fn week(self, mode: u32) -> (u16, u32) {
        let monday_first = mode & 1 != 0;
        let mut week_year = mode & 2 != 0;
        // Modes come in pairs where the week with January 1st is decided by its weekday or by its length.
        let first_weekday = if monday_first {
            mode & 4 != 0
        } else {
            mode & 4 == 0
        };
        let days = self.days();
        let new_year = |y: u16| {
            Date {
                year: y,
                month: 1,
                day: 1,
            }
            .days()
        };
        let weekday = |d: i64| {
            if monday_first {
                (d + 5).rem_euclid(7)
            } else {
                (d + 6).rem_euclid(7)
            }
        };
        let mut year = self.year;
        let mut first = new_year(year);
        let mut wd = weekday(first);
        let whole = |wd: i64| (first_weekday && wd != 0) || (!first_weekday && wd >= 4);
        if self.month == 1 && (self.day as i64) <= 7 - wd {
            if !week_year && whole(wd) {
                return (year, 0);
            }
            if whole(wd) {
                week_year = true;
                year = year.saturating_sub(1);
                let n = days_in_year(year);
                first -= n;
                wd = (wd + 53 * 7 - n).rem_euclid(7);
            }
        }
        let offset = if whole(wd) {
            days - (first + (7 - wd))
        } else {
            days - (first - wd)
        };
        if week_year && offset >= 52 * 7 {
            let next = (wd + days_in_year(year)) % 7;
            if !whole(next) {
                return (year + 1, 1);
            }
        }
        (year, (offset / 7 + 1) as u32)
    }
    /// The same day some months later, or the month's last where it has no such day; `None` beyond year 9999 or below 0.
    pub fn add_months(self, months: i64) -> Option<Date> {
        let total = (self.year as i64 * 12 + self.month as i64 - 1).checked_add(months)?;
        if !(0..120_000).contains(&total) {
            return None;
        }
        let (year, month) = ((total / 12) as u16, (total % 12 + 1) as u8);
        Some(Date {
            year,
            month,
            day: self.day.min(days_in_month(year, month)),
        })
    }
    /// `YYYYMMDD`.
    pub fn to_number(self) -> i64 {
        self.year as i64 * 10_000 + self.month as i64 * 100 + self.day as i64
    }
    /// Three bytes' worth that sort as the dates do.
    pub fn pack(self) -> u32 {
        (self.year as u32) << 9 | (self.month as u32) << 5 | self.day as u32
    }
    /// The reverse of [`Date::pack`].
    pub fn unpack(v: u32) -> Date {
        Date {
            year: (v >> 9) as u16,
            month: (v >> 5 & 15) as u8,
            day: (v & 31) as u8,
        }
    }
}

impl PartialEq for DateTime {
    fn eq(&self, other: &DateTime) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for DateTime {}

impl PartialOrd for DateTime {
    fn partial_cmp(&self, other: &DateTime) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DateTime {
    fn cmp(&self, other: &DateTime) -> Ordering {
        (self.pack(), self.micro).cmp(&(other.pack(), other.micro))
    }
}

impl Hash for DateTime {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.pack(), self.micro).hash(state);
    }
}

impl From<Date> for DateTime {
    fn from(date: Date) -> DateTime {
        DateTime {
            date,
            ..DateTime::default()
        }
    }
}

impl DateTime {
    /// `0000-00-00 00:00:00`.
    pub fn is_zero(self) -> bool {
        self == DateTime::default()
    }
    /// Microseconds since midnight.
    pub fn day_micros(self) -> i64 {
        ((self.hour as i64 * 60 + self.minute as i64) * 60 + self.second as i64) * MICROS
            + self.micro as i64
    }
    /// A date plus microseconds since its midnight (any number of days' worth); `None` beyond the calendar.
    pub fn from_days_micros(days: i64, micros: i64) -> Option<DateTime> {
        let date = Date::from_days(days.checked_add(micros.div_euclid(DAY_MICROS))?)?;
        let left = micros.rem_euclid(DAY_MICROS);
        let s = left / MICROS;
        Some(DateTime {
            date,
            hour: (s / 3600) as u8,
            minute: (s / 60 % 60) as u8,
            second: (s % 60) as u8,
            micro: (left % MICROS) as u32,
            later: false,
        })
    }
    /// Later (or earlier) by microseconds.
    pub fn add_micros(self, micros: i64) -> Option<DateTime> {
        DateTime::from_days_micros(self.date.days(), self.day_micros().checked_add(micros)?)
    }
    /// The moment at which a clock of the zone shows it. The calendar must have it.
    pub fn moment(self, zone: Zone) -> Moment {
        let days = self.date.days() - EPOCH_DAYS;
        zone.moment(days * 86_400 + self.day_micros() / MICROS, self.later)
    }
    /// Seconds since 1970 and microseconds, taking it as the zone's time. The calendar must have it.
    pub fn to_unix(self, zone: Zone) -> (i64, u32) {
        (self.moment(zone).seconds(), self.micro)
    }
    /// From seconds since 1970 and microseconds.
    pub fn from_unix(seconds: i64, micro: u32, zone: Zone) -> Option<DateTime> {
        let (offset, later) = zone.offset_at(seconds);
        let s = seconds.checked_add(i64::from(offset))?;
        let at = DateTime::from_days_micros(
            EPOCH_DAYS + s.div_euclid(86_400),
            s.rem_euclid(86_400) * MICROS + micro as i64,
        )?;
        Some(DateTime { later, ..at })
    }
    /// As a value of `fsp` digits after the second is made of it: rounded, or cut under TIME_TRUNCATE_FRACTIONAL; `None` beyond the calendar.
    pub fn fitted(self, fsp: u8, mode: SqlMode) -> Option<DateTime> {
        match mode.truncate_fractions {
            true => {
                let micro = truncate_micros(self.micro as i64, fsp) as u32;
                Some(DateTime { micro, ..self })
            }
            false => self.round(fsp),
        }
    }
    /// Rounded half up to `fsp` digits after the second; `None` beyond the calendar.
    pub fn round(self, fsp: u8) -> Option<DateTime> {
        let m = round_micros(self.micro as i64, fsp);
        if m < MICROS {
            return Some(DateTime {
                micro: m as u32,
                ..self
            });
        }
        if self.date.has_zero() {
            return Some(DateTime { micro: 0, ..self });
        }
        DateTime::from_days_micros(self.date.days(), self.day_micros() - self.micro as i64 + m)
    }
    /// `YYYYMMDDhhmmss`.
    pub fn to_number(self) -> i64 {
        self.date.to_number() * 1_000_000
            + self.hour as i64 * 10_000
            + self.minute as i64 * 100
            + self.second as i64
    }
    /// Five bytes' worth without the microseconds, sorting as the times do.
    pub fn pack(self) -> u64 {
        (self.date.pack() as u64) << 17
            | (self.hour as u64) << 12
            | (self.minute as u64) << 6
            | self.second as u64
    }
    /// The reverse of [`DateTime::pack`].
    pub fn unpack(v: u64, micro: u32) -> DateTime {
        DateTime {
            date: Date::unpack((v >> 17) as u32),
            hour: (v >> 12 & 31) as u8,
            minute: (v >> 6 & 63) as u8,
            second: (v & 63) as u8,
            micro,
            later: false,
        }
    }
    /// Its time of day.
    pub fn time(self) -> Time {
        Time {
            micros: self.day_micros(),
        }
    }
}

impl Time {
    /// Hours (to 838), minutes, seconds, microseconds of the magnitude.
    pub fn parts(self) -> (u32, u8, u8, u32) {
        let m = self.micros.unsigned_abs();
        let s = m / MICROS as u64;
        (
            (s / 3600) as u32,
            (s / 60 % 60) as u8,
            (s % 60) as u8,
            (m % MICROS as u64) as u32,
        )
    }
    /// Within MySQL's range; whether it had to be clamped.
    pub fn clamped(micros: i64) -> (Time, bool) {
        let c = micros.clamp(-MAX_TIME, MAX_TIME);
        (Time { micros: c }, c != micros)
    }
    /// `hhmmss`, negative for negative times.
    pub fn to_number(self) -> i64 {
        let (h, m, s, _) = self.parts();
        let n = h as i64 * 10_000 + m as i64 * 100 + s as i64;
        if self.micros < 0 { -n } else { n }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_count_as_mysql_counts() {
        let d = |y, m, day| Date {
            year: y,
            month: m,
            day,
        };
        assert_eq!(d(1970, 1, 1).days(), EPOCH_DAYS);
        assert_eq!(d(0, 1, 1).days(), 1);
        assert_eq!(d(0, 12, 31).days(), 365);
        assert_eq!(d(1, 1, 1).days(), 366);
        assert_eq!(d(9999, 12, 31).days(), 3_652_424);
        let mut at = d(0, 1, 1);
        for n in 1..=3_652_424 {
            assert_eq!(at.days(), n);
            assert_eq!(Date::from_days(n), Some(at));
            at = if at.day < days_in_month(at.year, at.month) {
                Date {
                    day: at.day + 1,
                    ..at
                }
            } else if at.month < 12 {
                d(at.year, at.month + 1, 1)
            } else {
                d(at.year + 1, 1, 1)
            };
        }
        assert_eq!(Date::from_days(3_652_425), None);
    }

    #[test]
    fn weeks() {
        let d = Date::new(2008, 2, 20).unwrap();
        assert_eq!(d.week(0).1, 7);
        assert_eq!(d.week(1).1, 8);
        assert_eq!(Date::new(2008, 12, 31).unwrap().week(1), (2008, 53));
        assert_eq!(Date::new(2000, 1, 1).unwrap().week(0).1, 0);
        assert_eq!(Date::new(2000, 1, 1).unwrap().week(2), (1999, 52));
        assert_eq!(Date::new(1987, 1, 1).unwrap().week(2), (1986, 52));
        assert_eq!(Date::new(2024, 12, 30).unwrap().week(3), (2025, 1));
    }

    #[test]
    fn months_and_rounding() {
        let d = Date::new(2024, 1, 31).unwrap();
        assert_eq!(d.add_months(1), Date::new(2024, 2, 29));
        assert_eq!(d.add_months(-12 * 3000), None);
        let t = DateTime {
            date: Date::new(2023, 12, 31).unwrap(),
            hour: 23,
            minute: 59,
            second: 59,
            micro: 999_999,
            later: false,
        };
        assert_eq!(
            t.round(3),
            Some(DateTime::from(Date::new(2024, 1, 1).unwrap()))
        );
        assert_eq!(DateTime::unpack(t.pack(), t.micro), t);
        let (s, m) = t.to_unix(Zone::Fixed(3600));
        assert_eq!(DateTime::from_unix(s, m, Zone::Fixed(3600)), Some(t));
    }
}
