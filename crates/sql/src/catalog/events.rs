//! Events: when a stored program runs by itself, as the catalog keeps it, and the runs that follow from it.
//!
//! Moments are seconds since 1970 UTC. A recurring event runs at its start and at whole multiples of its interval behind that, both counted on the
//! clock of its own time zone: every day at three stays at three when summer time begins. An hour that the clock shows twice has the
//! runs of its first pass only; runs in an hour that it skips come at the moment of the change, as one.

use crate::error::SqlResult;
use crate::parse::ast::IntervalUnit;
use crate::value::text::write_datetime;
use crate::value::{DateTime, Zone};

use super::bytes::{Reader, Writer, corrupt};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// When and how an event runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// ON SCHEDULE.
    pub schedule: Schedule,
    /// ON COMPLETION PRESERVE: it stays, disabled, when it has run for the last time.
    pub preserve: bool,
    /// Whether it runs.
    pub state: State,
    /// `time_zone` where its schedule was given: that of its schedule and of its body.
    pub zone: String,
    /// `server_id` where it was made.
    pub originator: u64,
    /// When its last run began.
    pub last_executed: Option<i64>,
}

/// ON SCHEDULE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// AT.
    At(i64),
    /// EVERY.
    Every {
        /// How many of the smallest unit that [`Every::unit`](Schedule::Every::unit) names, 90 for `'1:30' HOUR_MINUTE`.
        count: i64,
        /// Its unit.
        unit: IntervalUnit,
        /// STARTS.
        starts: i64,
        /// ENDS: no run is later.
        ends: Option<i64>,
    },
}

/// Whether an event runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum State {
    Enabled = 0,
    Disabled = 1,
    /// DISABLE ON REPLICA: where it was made it runs, here it does not.
    ReplicaSideDisabled = 2,
}

impl State {
    /// As information_schema says it.
    pub fn status(self) -> &'static str {
        match self {
            State::Enabled => "ENABLED",
            State::Disabled => "DISABLED",
            State::ReplicaSideDisabled => "REPLICA_SIDE_DISABLED",
        }
    }
    /// As CREATE EVENT says it.
    pub fn clause(self) -> &'static str {
        match self {
            State::Enabled => "ENABLE",
            State::Disabled => "DISABLE",
            State::ReplicaSideDisabled => "DISABLE ON REPLICA",
        }
    }
}

/// Units of EVERY. A definition's bytes have their places here.
const UNITS: [IntervalUnit; 15] = {
    use IntervalUnit as U;
    [
        U::Second,
        U::Minute,
        U::Hour,
        U::Day,
        U::Week,
        U::Month,
        U::Quarter,
        U::Year,
        U::MinuteSecond,
        U::HourSecond,
        U::HourMinute,
        U::DaySecond,
        U::DayMinute,
        U::DayHour,
        U::YearMonth,
    ]
};

/// What an interval is made of.
enum Step {
    Seconds(i64),
    Months(i64),
}

/// One of the smallest unit that a unit names.
fn smallest(unit: IntervalUnit) -> Step {
    use IntervalUnit as U;
    match unit {
        U::Minute | U::HourMinute | U::DayMinute => Step::Seconds(60),
        U::Hour | U::DayHour => Step::Seconds(3600),
        U::Day => Step::Seconds(DAY),
        U::Week => Step::Seconds(7 * DAY),
        U::Month | U::YearMonth => Step::Months(1),
        U::Quarter => Step::Months(3),
        U::Year => Step::Months(12),
        _ => Step::Seconds(1),
    }
}

/// An interval as CREATE EVENT and information_schema write it: `5`, `'1:30'`.
pub fn interval_text(count: i64, unit: IntervalUnit) -> String {
    use IntervalUnit as U;
    let (m, h) = (count % 60, count / 60);
    match unit {
        U::YearMonth => format!("'{}-{}'", count / 12, count % 12),
        U::DayHour => format!("'{} {}'", count / 24, count % 24),
        U::HourMinute | U::MinuteSecond => format!("'{h}:{m}'"),
        U::DayMinute => format!("'{} {}:{m}'", h / 24, h % 24),
        U::HourSecond => format!("'{}:{}:{m}'", h / 60, h % 60),
        U::DaySecond => format!("'{} {}:{}:{m}'", h / 1440, h / 60 % 24, h % 60),
        _ => count.to_string(),
    }
}

/// The first of `starts` and the moments whole multiples of a step behind it that is later than `now`, which is not before
/// `starts`; `None` beyond the calendar.
fn following(starts: i64, count: i64, unit: IntervalUnit, zone: Zone, now: i64) -> Option<i64> {
    let (from, to) = (
        DateTime::from_unix(starts, 0, zone)?,
        DateTime::from_unix(now, 0, zone)?,
    );
    let months = |d: DateTime| i64::from(d.date.year) * 12 + i64::from(d.date.month);
    let seconds = |d: DateTime| d.date.days() * DAY + d.day_micros() / 1_000_000;
    // Of a time that the clock shows twice the first is meant.
    let first = DateTime {
        later: false,
        ..from
    };
    let (step, mut turns) = match smallest(unit) {
        Step::Months(n) => (
            Step::Months(n * count),
            (months(to) - months(from)) / (n * count),
        ),
        Step::Seconds(n) => {
            let n = n * count;
            (Step::Seconds(n), (seconds(to) - seconds(from)).max(0) / n)
        }
    };
    loop {
        let local = match step {
            Step::Months(n) => DateTime {
                date: first.date.add_months(n * turns)?,
                ..first
            },
            Step::Seconds(n) => first.add_micros((n * turns).checked_mul(1_000_000)?)?,
        };
        let moment = local.to_unix(zone).0;
        if moment > now {
            return Some(moment);
        }
        turns += 1;
    }
}

impl Event {
    /// When it runs next, which may be past; `None`: it never does again. `zone` is the one that [`Event::zone`] names. An event that is
    /// not enabled is asked as if it were.
    pub fn next_run(&self, zone: Zone, now: i64) -> Option<i64> {
        let (count, unit, starts, ends) = match self.schedule {
            Schedule::At(at) => return self.last_executed.is_none().then_some(at),
            Schedule::Every {
                count,
                unit,
                starts,
                ends,
            } => (count, unit, starts, ends),
        };
        let begins = now < starts || now == starts && self.last_executed != Some(starts);
        let next = match begins {
            true => starts,
            false => following(starts, count, unit, zone, now)?,
        };
        ends.is_none_or(|ends| next <= ends).then_some(next)
    }

    /// ON SCHEDULE's argument, with times of its own zone.
    pub fn schedule_text(&self, zone: Zone) -> String {
        let time = |moment| {
            let at = DateTime::from_unix(moment, 0, zone).unwrap_or_default();
            let mut text = b"'".to_vec();
            write_datetime(at, 0, &mut text);
            text.push(b'\'');
            String::from_utf8_lossy(&text).into_owned()
        };
        match self.schedule {
            Schedule::At(at) => format!("AT {}", time(at)),
            Schedule::Every {
                count,
                unit,
                starts,
                ends,
            } => {
                let interval = interval_text(count, unit);
                let ends = ends.map_or(String::new(), |ends| format!(" ENDS {}", time(ends)));
                format!("EVERY {interval} {unit} STARTS {}{ends}", time(starts))
            }
        }
    }

    pub(super) fn encode(&self, w: &mut Writer) {
        match self.schedule {
            Schedule::At(at) => {
                w.number(0);
                w.number(at as u64);
            }
            Schedule::Every {
                count,
                unit,
                starts,
                ends,
            } => {
                let unit = UNITS.iter().position(|u| *u == unit).unwrap_or(0);
                w.number(1 + unit as u64);
                w.number(count as u64);
                w.number(starts as u64);
                w.number(ends.map_or(0, |ends| ends as u64 + 1));
            }
        }
        w.number(u64::from(self.preserve));
        w.number(self.state as u64);
        w.text(&self.zone);
        w.number(self.originator);
        w.number(self.last_executed.map_or(0, |at| at as u64 + 1));
    }

    pub(super) fn decode(r: &mut Reader<'_>) -> SqlResult<Event> {
        let moment = |n: u64| i64::try_from(n).map_err(|_| corrupt());
        let maybe = |n: u64| n.checked_sub(1).map(moment).transpose();
        let schedule = match r.small::<usize>()? {
            0 => Schedule::At(moment(r.number()?)?),
            unit => Schedule::Every {
                unit: *UNITS.get(unit - 1).ok_or_else(corrupt)?,
                count: match moment(r.number()?)? {
                    0 => return Err(corrupt()),
                    count => count,
                },
                starts: moment(r.number()?)?,
                ends: maybe(r.number()?)?,
            },
        };
        Ok(Event {
            schedule,
            preserve: r.number()? != 0,
            state: match r.number()? {
                0 => State::Enabled,
                1 => State::Disabled,
                2 => State::ReplicaSideDisabled,
                _ => return Err(corrupt()),
            },
            zone: r.text()?.to_string(),
            originator: r.number()?,
            last_executed: maybe(r.number()?)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(count: i64, unit: IntervalUnit, starts: i64, ends: Option<i64>) -> Event {
        Event {
            schedule: Schedule::Every {
                count,
                unit,
                starts,
                ends,
            },
            preserve: true,
            state: State::Enabled,
            zone: "SYSTEM".into(),
            originator: 1,
            last_executed: None,
        }
    }

    fn utc(text: &str) -> i64 {
        in_zone(text, Zone::UTC)
    }

    fn in_zone(text: &str, zone: Zone) -> i64 {
        let at = crate::value::Value::str(text).to_datetime().unwrap();
        at.to_unix(zone).0
    }

    #[test]
    fn a_run_is_due_once() {
        let once = Event {
            schedule: Schedule::At(100),
            ..every(1, IntervalUnit::Day, 0, None)
        };
        // However late.
        assert_eq!(once.next_run(Zone::UTC, 50), Some(100));
        assert_eq!(once.next_run(Zone::UTC, 5000), Some(100));
        let ran = Event {
            last_executed: Some(100),
            ..once
        };
        assert_eq!(ran.next_run(Zone::UTC, 100), None);
    }

    #[test]
    fn recurring_runs_skip_what_was_missed() {
        let e = every(10, IntervalUnit::Second, 1000, Some(1030));
        let next = |now| e.next_run(Zone::UTC, now);
        assert_eq!(next(7), Some(1000));
        assert_eq!(next(1000), Some(1000));
        assert_eq!(next(1001), Some(1010));
        assert_eq!(next(1010), Some(1020));
        assert_eq!(next(1029), Some(1030));
        assert_eq!(next(1030), None);
        assert_eq!(next(9999), None);
        let begun = Event {
            last_executed: Some(1000),
            ..e.clone()
        };
        assert_eq!(begun.next_run(Zone::UTC, 1000), Some(1010));
    }

    #[test]
    fn months_keep_their_day_as_far_as_there_is_one() {
        let starts = utc("2024-01-31 12:00:00");
        let e = every(1, IntervalUnit::Month, starts, None);
        let next = |now| e.next_run(Zone::UTC, utc(now)).unwrap();
        assert_eq!(next("2024-02-01 00:00:00"), utc("2024-02-29 12:00:00"));
        assert_eq!(next("2024-02-29 12:00:00"), utc("2024-03-31 12:00:00"));
        assert_eq!(next("2024-03-31 11:59:59"), utc("2024-03-31 12:00:00"));
        let quarters = every(2, IntervalUnit::Quarter, starts, None);
        let after = quarters.next_run(Zone::UTC, utc("2024-02-01 00:00:00"));
        assert_eq!(after, Some(utc("2024-07-31 12:00:00")));
        let years = every(9000, IntervalUnit::Year, starts, None);
        assert_eq!(years.next_run(Zone::UTC, starts + 1), None);
    }

    #[test]
    fn days_follow_the_clock_of_their_zone() {
        let zone = Zone::by_name("Europe/Berlin").unwrap();
        let starts = in_zone("2024-03-30 02:30:00", zone);
        let e = every(1, IntervalUnit::Day, starts, None);
        // On the 31st the clock goes from 2 to 3.
        let skipped = e.next_run(zone, starts).unwrap();
        assert_eq!(skipped, starts, "it has not run yet");
        let jump = utc("2024-03-31 01:00:00");
        assert_eq!(e.next_run(zone, starts + 1), Some(jump));
        assert_eq!(
            e.next_run(zone, jump),
            Some(in_zone("2024-04-01 02:30:00", zone))
        );
        // In autumn it shows the hour from 2 to 3 twice: runs are of the first.
        let hours = every(
            30,
            IntervalUnit::Minute,
            in_zone("2024-10-27 00:00:00", zone),
            None,
        );
        let first = utc("2024-10-27 00:30:00");
        assert_eq!(hours.next_run(zone, first - 1), Some(first));
        assert_eq!(
            hours.next_run(zone, first),
            Some(utc("2024-10-27 02:00:00"))
        );
    }

    #[test]
    fn intervals_are_written_as_they_are_read() {
        use IntervalUnit as U;
        for (count, unit, text) in [
            (27, U::YearMonth, "'2-3'"),
            (505, U::DayHour, "'21 1'"),
            (725, U::HourMinute, "'12:5'"),
            (2166, U::MinuteSecond, "'36:6'"),
            (36 * 1440 + 125, U::DayMinute, "'36 2:5'"),
            (57_625, U::HourSecond, "'16:0:25'"),
            (50 * DAY + 72_765, U::DaySecond, "'50 20:12:45'"),
            (3, U::Quarter, "3"),
        ] {
            assert_eq!(interval_text(count, unit), text);
        }
        let e = every(90, U::HourMinute, 0, Some(DAY));
        assert_eq!(
            e.schedule_text(Zone::UTC),
            "EVERY '1:30' HOUR_MINUTE STARTS '1970-01-01 00:00:00' ENDS '1970-01-02 00:00:00'"
        );
    }

    #[test]
    fn events_return() {
        let one = every(90, IntervalUnit::HourMinute, 5, Some(0));
        let other = Event {
            schedule: Schedule::At(7),
            preserve: false,
            state: State::ReplicaSideDisabled,
            last_executed: Some(0),
            ..one.clone()
        };
        for e in [one, other] {
            let mut w = Writer::new(1);
            e.encode(&mut w);
            let bytes = w.finish();
            let mut r = Reader::new(&bytes, 1).unwrap();
            assert_eq!(Event::decode(&mut r).unwrap(), e);
            let mut cut = Reader::new(&bytes[..bytes.len() - 1], 1).unwrap();
            assert!(Event::decode(&mut cut).is_err());
        }
    }
}
