//! Time zones: what local time a moment has, and which moment a local time means.
//!
//! A zone is an offset from UTC or one of the names of the IANA database: that of the system (`/usr/share/zoneinfo`), or, where it has
//! none, the one compiled in. Local times are not always one moment's. Those that a clock put forward leaves out (a *gap*) mean the
//! moment at which it was put forward; those that a clock put back runs through twice mean the first, as in MySQL. A
//! [`DateTime`] made from a moment remembers if it is the second ([`DateTime::later`]), so that a TIMESTAMP that is read and
//! written again stays the moment it was.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use jiff::tz::{AmbiguousOffset, TimeZone};

use super::time::DateTime;

/// A session's time zone. A copy costs nothing, and one with an offset costs no more than the offset.
#[derive(Clone, Copy, Debug)]
pub enum Zone {
    /// Seconds east of UTC.
    Fixed(i32),
    /// A zone with a name.
    Named(&'static Named),
}

/// A zone of the IANA database. There is one of each for the life of the process.
#[derive(Debug)]
pub struct Named {
    name: String,
    zone: TimeZone,
}

/// A local time's moment in seconds since 1970, and whether the local time is exactly one moment's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// There is one such moment.
    One(i64),
    /// There are two: the chosen one.
    Twice(i64),
    /// There is none: the moment at which the clock passed over it.
    Skipped(i64),
}

impl Moment {
    /// Seconds since 1970.
    pub fn seconds(self) -> i64 {
        match self {
            Moment::One(s) | Moment::Twice(s) | Moment::Skipped(s) => s,
        }
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        match (self, other) {
            (Zone::Fixed(a), Zone::Fixed(b)) => a == b,
            (Zone::Named(a), Zone::Named(b)) => std::ptr::eq(*a, *b),
            _ => false,
        }
    }
}

impl Eq for Zone {}

impl Hash for Zone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Zone::Fixed(seconds) => seconds.hash(state),
            Zone::Named(zone) => std::ptr::from_ref(*zone).hash(state),
        }
    }
}

impl Default for Zone {
    fn default() -> Zone {
        Zone::UTC
    }
}

/// Zones that have been asked for, by name in lower case. They are as many as the database has names, at most.
static KNOWN: RwLock<Option<HashMap<String, &'static Named>>> = RwLock::new(None);

impl Zone {
    /// No offset.
    pub const UTC: Zone = Zone::Fixed(0);

    /// The zone of a `time_zone` value other than SYSTEM; `None` if there is no such.
    pub fn by_name(name: &str) -> Option<Zone> {
        if name.eq_ignore_ascii_case("utc") {
            return Some(Zone::UTC);
        }
        match name.as_bytes().first()? {
            b'+' | b'-' => offset(name).map(Zone::Fixed),
            _ => named(name).map(Zone::Named),
        }
    }

    /// The zone's name as its database writes it; `None` for an offset.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Zone::Fixed(_) => None,
            Zone::Named(zone) => Some(&zone.name),
        }
    }

    /// Seconds east of UTC at a moment, and whether it is the second that bears its local time.
    pub fn offset_at(self, seconds: i64) -> (i32, bool) {
        let zone = match self {
            Zone::Fixed(offset) => return (offset, false),
            Zone::Named(named) => &named.zone,
        };
        let Ok(at) = jiff::Timestamp::from_second(seconds) else {
            return (0, false);
        };
        let offset = zone.to_offset(at);
        let local = offset.to_datetime(at);
        let later = matches!(
            zone.to_ambiguous_timestamp(local).offset(),
            AmbiguousOffset::Fold { after, .. } if after == offset
        );
        (offset.seconds(), later)
    }

    /// Which moment a local time is. `naive` is that time in seconds, counted as if it were UTC's; `later` says that
    /// the second of two moments is meant.
    pub fn moment(self, naive: i64, later: bool) -> Moment {
        let zone = match self {
            Zone::Fixed(offset) => return Moment::One(naive - i64::from(offset)),
            Zone::Named(named) => &named.zone,
        };
        let utc = |offset: jiff::tz::Offset| naive - i64::from(offset.seconds());
        let Ok(at) = jiff::Timestamp::from_second(naive) else {
            return Moment::One(naive);
        };
        let local = jiff::tz::Offset::UTC.to_datetime(at);
        match zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => Moment::One(utc(offset)),
            AmbiguousOffset::Fold { before, after } => {
                Moment::Twice(utc(if later { after } else { before }))
            }
            AmbiguousOffset::Gap { before, after } => {
                Moment::Skipped(jump(zone, utc(after), utc(before)))
            }
        }
    }

    /// Whether a local time is that of exactly one moment, so that comparing it with moments is comparing with
    /// their local times.
    pub fn is_plain(self, at: DateTime) -> bool {
        match self {
            Zone::Fixed(_) => true,
            Zone::Named(_) => matches!(at.moment(self), Moment::One(_)),
        }
    }
}

/// The moment of the only change of the clock in `(from, to]`.
fn jump(zone: &TimeZone, from: i64, to: i64) -> i64 {
    let Ok(start) = jiff::Timestamp::from_second(from) else {
        return to;
    };
    let mut changes = zone.following(start);
    changes
        .next()
        .map_or(to, |c| c.timestamp().as_second().min(to))
}

/// `+05:30` as seconds east of UTC, from -13:59 to +14:00.
fn offset(text: &str) -> Option<i32> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (h, m) = text[1..].split_once(':')?;
    if h.is_empty() || h.len() > 2 || m.len() != 2 {
        return None;
    }
    let digits = |s: &str| -> Option<i32> {
        s.bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| s.parse().ok())?
    };
    let (h, m) = (digits(h)?, digits(m)?);
    let minutes = sign * (h * 60 + m);
    (m < 60 && (-13 * 60 - 59..=14 * 60).contains(&minutes)).then_some(minutes * 60)
}

fn named(name: &str) -> Option<&'static Named> {
    let key = name.to_ascii_lowercase();
    let known = KNOWN.read().as_ref().and_then(|m| m.get(&key).copied());
    if known.is_some() {
        return known;
    }
    let zone = TimeZone::get(name).ok().filter(|z| !z.is_unknown())?;
    let name = zone.iana_name().unwrap_or(name).to_string();
    let mut map = KNOWN.write();
    let map = map.get_or_insert_with(HashMap::new);
    // Never freed: plans and sessions hold it as they hold an offset.
    Some(
        *map.entry(key)
            .or_insert_with(|| Box::leak(Box::new(Named { name, zone }))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::time::Date;

    fn at(y: u16, m: u8, d: u8, hour: u8, minute: u8) -> DateTime {
        DateTime {
            hour,
            minute,
            ..DateTime::from(Date::new(y, m, d).unwrap())
        }
    }

    #[test]
    fn offsets_and_names() {
        assert_eq!(Zone::by_name("+02:00"), Some(Zone::Fixed(7200)));
        assert_eq!(Zone::by_name("-13:59"), Some(Zone::Fixed(-50_340)));
        assert_eq!(Zone::by_name("+14:00"), Some(Zone::Fixed(50_400)));
        assert_eq!(Zone::by_name("UTC"), Some(Zone::UTC));
        let zurich = Zone::by_name("europe/zurich").unwrap();
        assert_eq!(zurich.name(), Some("Europe/Zurich"));
        assert_eq!(Zone::by_name("Europe/Zurich"), Some(zurich));
        for bad in [
            "+14:01",
            "-14:00",
            "02:00",
            "+2",
            "Mars/Olympus",
            "+1:60",
            "",
        ] {
            assert_eq!(Zone::by_name(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_clock_put_forward_and_back() {
        let zone = Zone::by_name("Europe/Zurich").unwrap();
        // 2024-03-31 01:00 UTC: 02:00 becomes 03:00.
        assert_eq!(
            at(2024, 3, 31, 1, 59).moment(zone),
            Moment::One(1_711_846_740)
        );
        assert_eq!(
            at(2024, 3, 31, 2, 0).moment(zone),
            Moment::Skipped(1_711_846_800)
        );
        assert_eq!(
            at(2024, 3, 31, 2, 59).moment(zone),
            Moment::Skipped(1_711_846_800)
        );
        assert_eq!(
            at(2024, 3, 31, 3, 0).moment(zone),
            Moment::One(1_711_846_800)
        );
        // 2024-10-27 01:00 UTC: 03:00 becomes 02:00.
        let half_past_two = at(2024, 10, 27, 2, 30);
        assert_eq!(half_past_two.moment(zone), Moment::Twice(1_729_989_000));
        for moment in [1_729_989_000, 1_729_992_600] {
            let local = DateTime::from_unix(moment, 0, zone).unwrap();
            assert_eq!(local, half_past_two);
            assert_eq!(local.to_unix(zone), (moment, 0));
        }
        assert!(!zone.is_plain(half_past_two) && zone.is_plain(at(2024, 10, 27, 3, 0)));
    }

    #[test]
    fn every_moment_is_found_again() {
        for name in [
            "Europe/Zurich",
            "America/New_York",
            "Australia/Lord_Howe",
            "Asia/Kathmandu",
        ] {
            let zone = Zone::by_name(name).unwrap();
            for step in 0..40_000 {
                let moment = step * 52_000;
                let local = DateTime::from_unix(moment, 0, zone).unwrap();
                assert_eq!(local.to_unix(zone).0, moment, "{name}");
            }
        }
    }
}
