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
    /// When a drop worked on cached pages, where the target tells.
    pub work: Option<Work>,
}

/// When a drop worked on cached pages; ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    /// From when its statement was sent.
    pub after: u64,
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

/// Times after the beginning of a drop's work on pages at which the backlog is looked at, where that is known: each tenth of the work, however long it
/// is, then each tenth of a ms after its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stage {
    /// This part of the work is done.
    Part(f64),
    /// So many ms since its end.
    After(f64),
}

impl Stage {
    pub fn all() -> impl Iterator<Item = Stage> {
        let parts = (0..=PARTS).map(|i| Stage::Part(i as f64 / PARTS as f64));
        parts.chain((1..=AFTER).map(|i| Stage::After(i as f64 / 10.0)))
    }
    /// ms since work that takes so many ms began.
    pub fn ms(self, work: f64) -> f64 {
        match self {
            Stage::Part(part) => work * part,
            Stage::After(ms) => work + ms,
        }
    }
}
/// The work's parts.
const PARTS: usize = 10;
/// Tenths of a ms after it.
const AFTER: usize = 20;

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
    /// Seconds from when it was sent to its zero: where the target tells that, when a drop began to work on cached pages, and of a match when its
    /// commit was done, which is as far; else when it was sent.
    pub before: f64,
    /// Seconds that the drop worked on cached pages, where the target tells; a match has its drop's.
    pub work: Option<f64>,
    /// How many more requests are due and not done than when it was sent, by the time since its zero ([`lag`]); only while the window lasts.
    pub behind: Vec<i32>,
    /// The same by the work's stages; nothing where that isn't known.
    pub staged: Vec<i32>,
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
        let of = |number: usize| -> Vec<&Moment> {
            let mine = self.moments.iter().filter(|m| m.window == number);
            mine.collect()
        };
        let pair = |first: usize| {
            let (with, without) = match course.windows[first].drops {
                true => (first, first + 1),
                false => (first + 1, first),
            };
            let (drops, matches) = (of(with), of(without));
            let zeros = drops.iter().map(|m| Zero::of_drop(m)).collect::<Vec<_>>();
            let alike = matches
                .iter()
                .zip(&zeros)
                .map(|(m, z)| Zero::of_match(m, z));
            let alike = alike.collect::<Vec<_>>();
            let arm = |number: usize, moments: &[&Moment], zeros: &[Zero]| {
                let both: Vec<(&Moment, Zero)> =
                    moments.iter().copied().zip(zeros.iter().copied()).collect();
                arm(&course.windows[number], &requests, &done, &both)
            };
            Pair {
                with: arm(with, &drops, &zeros),
                without: arm(without, &matches, &alike),
            }
        };
        (0..course.windows.len()).step_by(2).map(pair).collect()
    }
}

/// From when a moment's lags count, ns after it, and how long a drop's work took from there.
#[derive(Clone, Copy, Debug)]
struct Zero {
    before: u64,
    work: Option<u64>,
}

impl Zero {
    fn of_drop(drop: &Moment) -> Zero {
        Zero {
            before: drop.work.map_or(0, |w| w.after),
            work: drop.work.map(|w| w.took),
        }
    }
    /// A drop's work begins when its commit is on disk; so does what is held against it.
    fn of_match(other: &Moment, drop: &Zero) -> Zero {
        Zero {
            before: drop.work.map_or(0, |_| other.took),
            ..*drop
        }
    }
}

fn arm(window: &Window, requests: &[Request], done: &[u64], moments: &[(&Moment, Zero)]) -> Arm {
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
    let load = Backlog {
        requests,
        done,
        until,
    };
    for (moment, zero) in moments {
        let begun = moment.at + zero.before;
        look_around(&mut arm, mine, begun);
        let after = |ms: f64| begun + (ms * 1e6) as u64;
        let work = zero.work.map(|ns| ns as f64 / NS);
        let stages = work.map(|s| Stage::all().map(move |stage| after(stage.ms(s * 1e3))));
        arm.events.push(Event {
            took: moment.took as f64 / NS,
            before: zero.before as f64 / NS,
            work,
            behind: load.since(moment.at, (0..LAGS).map(|s| after(lag(s)))),
            staged: stages.map_or(Vec::new(), |times| load.since(moment.at, times)),
        });
    }
    arm
}

fn look_around(arm: &mut Arm, mine: &[Request], zero: u64) {
    for r in mine {
        let lag = (r.due as f64 - zero as f64) / 1e6;
        let ms = r.done.saturating_sub(r.due) as f64 / 1e6;
        if let Some(bin) = WIDE.of(lag) {
            arm.wide.put(bin, ms);
        }
        if let Some(bin) = NEAR.of(lag) {
            arm.near.put(bin, ms);
        }
    }
}

/// How many requests are due and not done, within a window.
struct Backlog<'a> {
    /// By when they were due.
    requests: &'a [Request],
    /// Ascending.
    done: &'a [u64],
    until: u64,
}

impl Backlog<'_> {
    /// At times, which ascend, as far as the window goes: those due until then less those done until then, less the same at the moment.
    fn since(&self, moment: u64, times: impl Iterator<Item = u64>) -> Vec<i32> {
        let Backlog { requests, done, .. } = self;
        let mut came = requests.partition_point(|r| r.due <= moment);
        let mut went = done.partition_point(|d| *d <= moment);
        let before = came as i32 - went as i32;
        times
            .take_while(|now| *now < self.until)
            .map(|now| {
                came += requests[came..].iter().take_while(|r| r.due <= now).count();
                went += done[went..].iter().take_while(|d| **d <= now).count();
                came as i32 - went as i32 - before
            })
            .collect()
    }
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
            work: None,
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

    /// A drop is sent at 42 ms, waits for 8 ms, works on pages for 10, and meanwhile nothing is answered; its match waits for 3 ms.
    #[test]
    fn a_stall_counts_from_when_the_work_began() {
        let request = |ms: u64| {
            let held = (50..60).contains(&ms);
            let done = if held { 60 * MS } else { ms * MS + MS / 4 };
            Request { due: ms * MS, done }
        };
        let work = Some(Work {
            after: 8 * MS,
            took: 10 * MS,
        });
        let moment = |window, ms: u64, took, work| Moment {
            window,
            at: ms * MS,
            took: took * MS,
            work,
        };
        let recording = Recording {
            requests: (0..300).map(request).collect(),
            moments: vec![moment(0, 42, 19, work), moment(1, 200, 3, None)],
        };
        let course = Course {
            windows: vec![window(0.0, true, 0.042), window(0.15, false, 0.2)],
            until: 0.3,
        };
        let pair = recording.pairs(&course).remove(0);
        let (drop, other) = (&pair.with.events[0], &pair.without.events[0]);
        assert_eq!((drop.before, drop.work), (0.008, Some(0.01)));
        assert_eq!((other.before, other.work), (0.003, Some(0.01)));
        let at = |event: &Event, wanted: Stage| {
            let all = Stage::all().position(|s| s == wanted);
            event.staged[all.unwrap()]
        };
        // One is due as the drop is sent.
        assert_eq!(at(drop, Stage::Part(0.0)), 0);
        assert_eq!(at(drop, Stage::Part(0.5)), 5);
        assert_eq!(at(drop, Stage::After(0.5)), -1);
        assert_eq!(at(other, Stage::Part(1.0)), 0);
        let nine = (0..LAGS).find(|s| lag(*s) >= 9.9).unwrap();
        assert_eq!(drop.behind[nine], 9);
        // Who is due half a ms after the work began waits for it.
        let bin = NEAR.of(0.5).unwrap();
        assert_eq!(pair.with.near.sum[bin], 10.0);
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
