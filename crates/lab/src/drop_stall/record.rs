//! From what a run recorded to what is kept of each of its windows.

use super::design::{Course, Window};
use crate::stats::Latencies;

/// Nanoseconds of a second.
const NS: f64 = 1e9;
/// A request that waited longer counts as delayed.
pub(super) const DELAYED: f64 = 0.01;
/// Bins of the nearer look around a drop: first lag, width, number; ms.
pub(super) const NEAR: Bins = Bins(-5.0, 1.0, 45);
/// Bins of the wider look.
pub(super) const WIDE: Bins = Bins(-500.0, 20.0, 125);

/// Bins of one width: where the first begins, the width, how many; ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bins(pub f64, pub f64, pub usize);

impl Bins {
    /// The bin of a lag.
    fn of(&self, ms: f64) -> Option<usize> {
        let bin = (ms - self.0) / self.1;
        (bin >= 0.0 && bin < self.2 as f64).then_some(bin as usize)
    }
    /// The middle of a bin.
    pub fn middle(&self, bin: usize) -> f64 {
        self.0 + (bin as f64 + 0.5) * self.1
    }
}

/// A request; ns since the run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// When it was to be sent.
    pub due: u64,
    /// When its answer was there.
    pub done: u64,
}

/// What was done at a moment of a window: a drop, or a small change of a row; ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// The window's number in the course.
    pub window: usize,
    /// When the statement was sent, since the run began.
    pub at: u64,
    pub took: u64,
}

/// What a run gave.
#[derive(Clone, Debug, Default)]
pub(super) struct Recording {
    /// In any order.
    pub requests: Vec<Request>,
    pub moments: Vec<Moment>,
}

/// Lags at which the backlog is looked at, in ms: each tenth of one at first, each whole one later.
pub(super) fn lag(sample: usize) -> f64 {
    match sample {
        s if s < FINE => s as f64 / 10.0,
        s => (s - FINE) as f64 + FINE as f64 / 10.0,
    }
}
/// Samples a tenth of a ms apart.
const FINE: usize = 500;
/// All samples: until two seconds after.
pub(super) const LAGS: usize = FINE + 1950;

/// Sums and how many there are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sums {
    pub sum: Vec<f64>,
    pub count: Vec<u32>,
}

impl Sums {
    pub fn new(n: usize) -> Sums {
        Sums {
            sum: vec![0.0; n],
            count: vec![0; n],
        }
    }
    fn put(&mut self, i: usize, value: f64) {
        self.sum[i] += value;
        self.count[i] += 1;
    }
}

/// A moment of a window: a drop, or a moment without one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    /// Seconds that its statement took.
    pub took: f64,
    /// How many more requests are due and not done than at the moment, by the time since it ([`lag`]); only while the window lasts.
    /// More than have become due since then it can't be.
    pub behind: Vec<i32>,
}

/// What is kept of a window.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Arm {
    /// Of the requests due in it, from when they were due.
    pub latencies: Latencies,
    /// Of these, how many took longer than [`DELAYED`].
    pub delayed: u64,
    /// In their order.
    pub events: Vec<Event>,
    /// Latency in ms by when a request was due, seen from a moment; only of the window's own requests.
    pub near: Sums,
    pub wide: Sums,
}

/// A window with drops and its neighbour without.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub with: Arm,
    pub without: Arm,
}

impl Recording {
    /// The pairs of its course.
    pub fn pairs(&self, course: &Course) -> Vec<Pair> {
        let mut requests = self.requests.clone();
        requests.sort_unstable_by_key(|r| r.due);
        let mut done: Vec<u64> = requests.iter().map(|r| r.done).collect();
        done.sort_unstable();
        let arm = |number: usize| {
            let window = &course.windows[number];
            let mine = self.moments.iter().filter(|m| m.window == number);
            let moments: Vec<&Moment> = mine.collect();
            arm(window, &requests, &done, &moments)
        };
        let pair = |first: usize| {
            let (a, b) = (arm(first), arm(first + 1));
            match course.windows[first].drops {
                true => Pair {
                    with: a,
                    without: b,
                },
                false => Pair {
                    with: b,
                    without: a,
                },
            }
        };
        (0..course.windows.len()).step_by(2).map(pair).collect()
    }
}

fn arm(window: &Window, requests: &[Request], done: &[u64], moments: &[&Moment]) -> Arm {
    let (from, until) = ((window.from * NS) as u64, (window.until * NS) as u64);
    let due = |at: u64| requests.partition_point(|r| r.due < at);
    let mine = &requests[due(from)..due(until)];
    let mut latencies = Latencies::default();
    for r in mine {
        latencies.record(r.done.saturating_sub(r.due));
    }
    let long = |r: &&Request| r.done.saturating_sub(r.due) as f64 > DELAYED * NS;
    let mut arm = Arm {
        latencies,
        delayed: mine.iter().filter(long).count() as u64,
        events: Vec::new(),
        near: Sums::new(NEAR.2),
        wide: Sums::new(WIDE.2),
    };
    for moment in moments {
        look_around(&mut arm, mine, moment.at);
        arm.events.push(Event {
            took: moment.took as f64 / NS,
            behind: backlog(requests, done, moment.at, until),
        });
    }
    arm
}

fn look_around(arm: &mut Arm, mine: &[Request], moment: u64) {
    for r in mine {
        let lag = (r.due as f64 - moment as f64) / 1e6;
        let ms = r.done.saturating_sub(r.due) as f64 / 1e6;
        if let Some(bin) = WIDE.of(lag) {
            arm.wide.put(bin, ms);
        }
        if let Some(bin) = NEAR.of(lag) {
            arm.near.put(bin, ms);
        }
    }
}

/// Both ascending: at any time, those due until then less those done until then.
fn backlog(requests: &[Request], done: &[u64], moment: u64, until: u64) -> Vec<i32> {
    let mut came = requests.partition_point(|r| r.due <= moment);
    let mut went = done.partition_point(|d| *d <= moment);
    let before = came as i32 - went as i32;
    let times = (0..LAGS).map(|sample| moment + (lag(sample) * 1e6) as u64);
    times
        .take_while(|now| *now < until)
        .map(|now| {
            came += requests[came..].iter().take_while(|r| r.due <= now).count();
            went += done[went..].iter().take_while(|d| **d <= now).count();
            came as i32 - went as i32 - before
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn window(from: f64, drops: bool, moment: f64) -> Window {
        Window {
            from,
            until: from + 0.1,
            drops,
            moments: vec![moment],
        }
    }

    /// A request each ms that takes a quarter of one; but from 50 to 60 ms nothing is answered.
    #[test]
    fn a_stall_is_seen_where_it_is() {
        let moment = |window, ms: u64| Moment {
            window,
            at: ms * MS,
            took: 10 * MS,
        };
        let request = |ms: u64| {
            let held = (50..60).contains(&ms);
            let done = if held { 60 * MS } else { ms * MS + MS / 4 };
            Request { due: ms * MS, done }
        };
        let recording = Recording {
            requests: (0..300).rev().map(request).collect(),
            moments: vec![moment(0, 50), moment(1, 200)],
        };
        let course = Course {
            windows: vec![window(0.0, true, 0.045), window(0.15, false, 0.2)],
            until: 0.3,
        };
        let pairs = recording.pairs(&course);
        let Pair { with, without } = &pairs[0];
        assert_eq!(
            (with.latencies.count(), without.latencies.count()),
            (100, 100)
        );
        // The one that is due as the stall begins waits for 10 ms, which is not longer than that.
        assert_eq!((with.delayed, without.delayed), (0, 0));
        assert_eq!(
            (with.events[0].took, with.events.len(), without.events.len()),
            (0.01, 1, 1)
        );
        let at = |ms: f64| (0..LAGS).find(|s| lag(*s) >= ms).unwrap();
        assert_eq!(with.events[0].behind[at(5.0)], 5);
        assert_eq!(with.events[0].behind[at(9.9)], 9);
        assert_eq!(with.events[0].behind[at(10.5)], -1);
        assert_eq!(without.events[0].behind[at(9.5)], -1);
        // The window ends 50 ms after.
        assert_eq!(with.events[0].behind.get(at(51.0)), None);
        let mean = |sums: &Sums, bin: usize| {
            let count = sums.count[bin];
            (count > 0).then(|| sums.sum[bin] / f64::from(count))
        };
        let near = |ms: f64| mean(&with.near, NEAR.of(ms).unwrap());
        assert_eq!(
            (near(-1.0), near(0.0), near(7.0)),
            (Some(0.25), Some(10.0), Some(3.0))
        );
        assert_eq!(
            mean(&with.wide, WIDE.of(0.0).unwrap()),
            Some((55.0 + 10.0 * 0.25) / 20.0)
        );
    }

    #[test]
    fn lags_are_finer_at_first() {
        assert_eq!(
            (lag(0), lag(1), lag(499), lag(500), lag(501)),
            (0.0, 0.1, 49.9, 50.0, 51.0)
        );
        assert_eq!(lag(LAGS), 2000.0);
    }
}
