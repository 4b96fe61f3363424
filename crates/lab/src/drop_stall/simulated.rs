//! An artificial target in simulated time, whose drops stall it for a known time, and which now and then stalls by itself as a busy
//! machine does. What the experiment says about it can be held to the truth.

use super::blocks::{self, Cell, Ended, Limits, Rig, Told};
use super::design::{Course, Shape};
use super::effects::{self, Question, Verdict};
use super::record::{Moment, Recording, Request, Work};
use crate::random::Random;
use crate::{Error, Result};

const RATE: f64 = 2000.0;
const CONNECTIONS: usize = 8;
/// Mean seconds of a request.
const SERVICE: f64 = 0.0004;

struct Simulated {
    /// Seconds that a drop stalls each subject.
    stalls: Vec<f64>,
    /// Stalls per second of its own.
    noise: f64,
    /// They are as a build beside makes them: most are short and some very long, and requests take several times as long as they
    /// would, or not. Else they are of 4 ms on the average.
    build: bool,
    /// A drop waits for the log before it stalls anything, as long as that takes on a busy disk; so does what is done in its place. Then it
    /// works on pages, for which all stand still, and tells when.
    log: bool,
    /// Its work takes up to so many times as long as it would alone.
    slower: f64,
    random: Random,
    now: f64,
    /// A subject that fails from this time on.
    fails: Option<(usize, f64)>,
    stop_at: f64,
}

impl Simulated {
    fn new(stalls: &[f64], noise: f64, seed: u64) -> Simulated {
        Simulated {
            stalls: stalls.to_vec(),
            noise,
            build: false,
            log: false,
            slower: 1.0,
            random: Random::new(seed),
            now: 0.0,
            fails: None,
            stop_at: f64::INFINITY,
        }
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.random.unit().ln()
    }

    /// Seconds of a stall of its own.
    fn own_stall(&mut self) -> f64 {
        match self.build {
            // Pareto's, whose mean is not finite, but for the time of a run.
            true => (0.001 / self.random.unit()).min(0.3),
            false => self.exponential(0.004),
        }
    }

    /// Seconds that a request keeps a connection busy.
    fn work(&mut self) -> f64 {
        let work = self.exponential(SERVICE);
        match self.build && self.random.below(3) == 0 {
            true => work + self.exponential(SERVICE * 6.0),
            false => work,
        }
    }

    /// Seconds until a commit is on a disk that others use, too: a ms in the middle, at times a hundred.
    fn sync(&mut self) -> f64 {
        match self.log {
            true => (0.0005 / self.random.unit()).min(0.1),
            false => self.exponential(0.0002),
        }
    }

    fn moments(&mut self, course: &Course, stall: f64) -> Vec<Moment> {
        let mut free = 0.0f64;
        let mut moments = Vec::new();
        for (window, w) in course.windows.iter().enumerate() {
            for &moment in &w.moments {
                let at = free.max(moment);
                let wait = self.sync();
                let pace = 1.0 + (self.slower - 1.0) * self.random.unit();
                let work = if w.drops { stall * pace } else { 0.0 };
                free = at + wait + work;
                let ns = |seconds: f64| (seconds * 1e9) as u64;
                moments.push(Moment {
                    window,
                    at: ns(at),
                    took: ns(wait + work),
                    work: (self.log && w.drops).then_some(Work {
                        after: ns(wait),
                        took: ns(work),
                    }),
                });
            }
        }
        moments
    }

    /// Times in which nothing is done, ascending and apart.
    fn frozen(&mut self, moments: &[Moment], course: &Course, stall: f64) -> Vec<(f64, f64)> {
        let until = course.until;
        let mut all: Vec<(f64, f64)> = moments
            .iter()
            .filter(|m| course.windows[m.window].drops)
            .map(|d| {
                let (after, took) = d
                    .work
                    .map_or((0, (stall * 1e9) as u64), |w| (w.after, w.took));
                let from = (d.at + after) as f64 / 1e9;
                (from, from + took as f64 / 1e9)
            })
            .collect();
        let mut at = 0.0;
        while self.noise > 0.0 && at < until {
            at += self.exponential(1.0 / self.noise);
            let long = self.own_stall();
            all.push((at, at + long));
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut apart: Vec<(f64, f64)> = Vec::new();
        for (from, until) in all {
            match apart.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(until),
                _ => apart.push((from, until)),
            }
        }
        apart
    }
}

/// When work that begins then is done.
fn done(frozen: &[(f64, f64)], from: f64, work: f64) -> f64 {
    let mut now = from;
    let mut left = work;
    for &(stops, goes_on) in &frozen[frozen.partition_point(|f| f.1 <= from)..] {
        if now + left <= stops {
            break;
        }
        left -= (stops - now).max(0.0);
        now = goes_on;
    }
    now + left
}

impl Rig for Simulated {
    fn run(&mut self, subject: usize, course: &Course) -> Result<Option<Recording>> {
        if self
            .fails
            .is_some_and(|(s, at)| s == subject && self.now >= at)
        {
            return Err(Error::from("gone away"));
        }
        let stall = self.stalls[subject];
        let moments = self.moments(course, stall);
        let frozen = self.frozen(&moments, course, stall);
        let mut free = [0.0f64; CONNECTIONS];
        let mut requests = Vec::new();
        for i in 0..(course.until * RATE) as usize {
            let due = i as f64 / RATE;
            let work = self.work();
            let next = (0..CONNECTIONS)
                .min_by(|a, b| free[*a].total_cmp(&free[*b]))
                .unwrap();
            free[next] = done(&frozen, due.max(free[next]), work);
            requests.push(Request {
                due: (due * 1e9) as u64,
                done: (free[next] * 1e9) as u64,
            });
        }
        self.now += course.until;
        Ok(Some(Recording { requests, moments }))
    }
    fn now(&self) -> f64 {
        self.now
    }
    fn stopped(&self) -> bool {
        self.now >= self.stop_at
    }
    fn beside(&self, subject: usize) -> Vec<usize> {
        vec![subject]
    }
}

fn limits(seed: u64) -> Limits {
    Limits {
        shape: Shape {
            window: 0.6,
            pairs: 2,
        },
        budget: 60.0,
        precision: 0.0,
        seed,
    }
}

fn cells(stalls: &[f64]) -> Vec<Cell> {
    let cell = |(subject, stall): (usize, &f64)| Cell {
        subject,
        question: Question {
            rate: RATE,
            subjects: stalls.len(),
            smallest: 0.1,
        },
        interval: (stall * 6.0).max(0.03),
        adapts_from: Some((stall * 6.0).max(0.03)),
        pairs: Vec::new(),
        crowded: false,
    };
    stalls.iter().enumerate().map(cell).collect()
}

fn measured(rig: &mut Simulated, limits: &Limits) -> (Vec<Cell>, Ended, Vec<usize>) {
    let mut cells = cells(&rig.stalls.clone());
    let mut lost = Vec::new();
    let ended = blocks::run(rig, limits, &mut cells, |s, _| lost.push(s), |_| Ok(())).unwrap();
    (cells, ended, lost)
}

#[test]
fn known_stalls_are_measured_within_their_intervals() {
    let stalls = [0.0, 0.005, 0.02, 0.1];
    let mut rig = Simulated::new(&stalls, 3.0, 42);
    let (cells, ended, _) = measured(&mut rig, &limits(1));
    assert_eq!(ended, Ended::Budget);
    for (cell, stall) in cells.iter().zip(stalls) {
        let found = effects::effects(&cell.pairs, &cell.question);
        // All four at once, so the intervals that hold for all at once.
        let interval = found.stall.joint.unwrap();
        let ms = stall * 1e3;
        assert!(interval.contains(ms), "{ms} ms: {interval:?}");
        assert!(interval.half() < 1.0 + ms * 0.1, "{ms} ms: {interval:?}");
        match found.stall.verdict {
            Verdict::Effect => {
                assert!(stall > 0.0);
                // Behind by less than a tenth once what has piled up is done.
                let back = found.recovery.unwrap();
                assert!(
                    back.estimate >= ms * 0.95 && back.estimate < ms * 1.6 + 2.0,
                    "{ms}: {back:?}"
                );
            }
            Verdict::NoneAbove(x) => assert!(stall == 0.0 && x < 1.0, "{ms} ms: none above {x}"),
            Verdict::TooFew => panic!("{} pairs", cell.pairs.len()),
        }
        // Of a stall of 20 ms the first half of the requests waits for more than 10, and so do those that queue behind them.
        let delayed = found.delayed.unwrap();
        let due = RATE * (stall - 0.01).max(0.0);
        assert!(
            delayed.high >= due && delayed.low <= due * 1.5 + 1.0,
            "{ms} ms: {delayed:?}"
        );
    }
}

/// Twenty experiments with drops that do nothing and twenty with stalls of 2 ms, on a machine that stalls by itself all the time.
#[test]
fn verdicts_are_right_as_often_as_they_promise() {
    let (mut held, mut found, mut wrong) = (0, 0, 0);
    for seed in 0..20 {
        let mut rig = Simulated::new(&[0.0, 0.002], 8.0, 100 + seed);
        // Ends as soon as intervals are narrow: what stopping early does to the intervals is in these figures, too.
        let limits = Limits {
            precision: 0.4,
            ..limits(seed)
        };
        let (cells, _, _) = measured(&mut rig, &limits);
        for (cell, ms) in cells.iter().zip([0.0, 2.0]) {
            let stall = effects::stall(&cell.pairs, &cell.question);
            held += u32::from(stall.interval.unwrap().contains(ms));
            match stall.verdict {
                Verdict::Effect if ms == 0.0 => wrong += 1,
                Verdict::Effect => found += 1,
                Verdict::NoneAbove(x) => assert!(x > 0.0),
                Verdict::TooFew => panic!(),
            }
        }
    }
    assert!(held >= 35, "{held} of 40 intervals hold the truth");
    assert!(wrong <= 1 && found >= 18, "{wrong} wrong, {found} found");
}

/// Ten experiments beside a build: each tells the same of every algorithm, the effects in the same order, and its intervals hold the truth.
#[test]
fn experiments_beside_a_build_agree() {
    let stalls = [0.0, 0.008, 0.0, 0.002, 0.0];
    let mut held = [0; 5];
    for seed in 0..10 {
        let mut rig = Simulated::new(&stalls, 12.0, 500 + seed);
        rig.build = true;
        let (cells, ..) = measured(&mut rig, &limits(seed));
        let found: Vec<effects::Stall> = cells
            .iter()
            .map(|c| effects::stall(&c.pairs, &c.question))
            .collect();
        for (number, (of, stall)) in found.iter().zip(stalls).enumerate() {
            let told = of.verdict == Verdict::Effect;
            assert_eq!(told, stall > 0.0, "run {seed}, {stall} s: {:?}", of.joint);
            held[number] += u32::from(of.joint.unwrap().contains(stall * 1e3));
        }
        let estimate = |i: usize| found[i].joint.unwrap().estimate;
        assert!(estimate(1) > estimate(3), "run {seed}");
    }
    assert!(
        held.iter().all(|h| *h >= 9),
        "{held:?} of 10 hold the truth"
    );
}

/// On a machine with a build beside drops wait for the log for as long as other programs have the disk, and their work takes up to three times as long, now
/// more, now less. What a quiet machine finds of the part of the work for which the load stands still is what ten runs of the busy one find; and who
/// doesn't know when the work began knows less.
#[test]
fn a_busy_machine_finds_the_share_that_a_quiet_one_does() {
    let stalls = [0.0, 0.006, 0.001];
    let told = |seed: u64, busy: bool, known: bool| {
        let mut rig = Simulated::new(&stalls, if busy { 12.0 } else { 0.5 }, 900 + seed);
        (rig.build, rig.log) = (busy, true);
        rig.slower = if busy { 3.0 } else { 1.0 };
        let (mut cells, ..) = measured(&mut rig, &limits(seed));
        for arm in cells
            .iter_mut()
            .flat_map(|c| &mut c.pairs)
            .flat_map(|p| [&mut p.with, &mut p.without])
        {
            for event in arm.events.iter_mut().filter(|_| !known) {
                event.work = None;
            }
        }
        let stalls = cells.iter().map(|c| effects::stall(&c.pairs, &c.question));
        stalls.collect::<Vec<_>>()
    };
    let quiet = told(0, false, true);
    let (mut held, mut truth) = ([0; 3], [0; 3]);
    for seed in 1..=10 {
        let busy = told(seed, true, true);
        for (number, (of, stall)) in busy.iter().zip(stalls).enumerate() {
            assert_eq!(
                of.verdict == Verdict::Effect,
                stall > 0.0,
                "run {seed}: {of:?}"
            );
            let Some(share) = of.share else {
                assert_eq!(stall, 0.0);
                continue;
            };
            // All stand still while it works.
            truth[number] += u32::from(share.joint.contains(1.0));
            let alone = quiet[number].share.unwrap();
            held[number] += u32::from(share.joint.contains(alone.interval.estimate));
            assert!(share.work > alone.work * 1.5 && share.work < alone.work * 2.5);
        }
    }
    assert!(
        truth[1] >= 9 && truth[2] >= 9 && held[1] >= 9 && held[2] >= 9,
        "{truth:?} {held:?} of 10"
    );
    // Of a work of 1 ms after waits of 1 and more nothing is told without its beginning.
    let half = |stall: &effects::Stall| stall.joint.unwrap().half() / stall.joint.unwrap().estimate;
    let (known, unknown) = (told(1, true, true), told(1, true, false));
    assert!(
        half(&known[1]) < half(&unknown[1]),
        "{:?} {:?}",
        known[1].joint,
        unknown[1].joint
    );
}

/// Who is known well enough leaves the time to the others, and intervals hold the truth all the same.
#[test]
fn the_time_goes_where_intervals_are_wide() {
    let (mut fewer, mut held, mut wrong) = (0, 0, 0);
    let (mut spent, mut missed) = (Vec::new(), Vec::new());
    for seed in 0..10 {
        let mut rig = Simulated::new(&[0.0, 0.0, 0.002, 0.008], 2.0, 700 + seed);
        rig.build = true;
        let limits = Limits {
            precision: 0.1,
            budget: 120.0,
            ..limits(seed)
        };
        let (cells, ..) = measured(&mut rig, &limits);
        let pairs = |i: usize| cells[i].pairs.len();
        assert!(cells.iter().all(|c| c.pairs.len() >= 10));
        let most = (0..4).map(pairs).max().unwrap();
        spent.push((0..4).map(pairs).collect::<Vec<_>>());
        fewer += u32::from((0..4).any(|i| pairs(i) * 3 < most * 2));
        for (cell, ms) in cells.iter().zip([0.0, 0.0, 2.0, 8.0]) {
            let stall = effects::stall(&cell.pairs, &cell.question);
            held += u32::from(stall.interval.unwrap().contains(ms));
            // What the verdicts rest on: four of them together.
            let joint = stall.joint.unwrap();
            if !joint.contains(ms) {
                missed.push((ms, joint));
            }
            wrong += u32::from((stall.verdict == Verdict::Effect) != (ms > 0.0));
        }
    }
    assert!(fewer >= 8, "{fewer} of 10 spent it unevenly: {spent:?}");
    // Where there is nothing to be found the choice of a lag among many costs some of the level, and less than what is of interest.
    let slight = |(ms, i): &(f64, crate::stats::Interval)| *ms == 0.0 && i.low.max(-i.high) < 0.1;
    assert!(
        missed.len() <= 4 && missed.iter().all(slight),
        "{missed:?} of 40 miss the truth"
    );
    assert!(held >= 35, "{held} of 40 intervals of 95 % hold the truth");
    assert_eq!(wrong, 0, "verdicts");
}

#[test]
fn a_narrow_interval_ends_it_and_so_do_time_and_ctrl_c() {
    let easy = Limits {
        precision: 5.0,
        ..limits(3)
    };
    let (cells, ended, _) = measured(&mut Simulated::new(&[0.0], 0.0, 1), &easy);
    assert_eq!((ended, cells[0].pairs.len()), (Ended::Narrow, 10));
    let mut rig = Simulated::new(&[0.0, 0.0], 0.0, 1);
    rig.stop_at = 10.0;
    let (cells, ended, _) = measured(&mut rig, &limits(3));
    assert_eq!(ended, Ended::Stopped);
    assert!(cells.iter().all(|c| c.pairs.len() >= 2));
}

#[test]
fn a_lost_target_is_named_and_the_rest_goes_on() {
    let mut rig = Simulated::new(&[0.0, 0.0, 0.0], 0.0, 1);
    rig.fails = Some((1, 10.0));
    let (cells, ended, lost) = measured(&mut rig, &limits(5));
    assert_eq!((ended, lost), (Ended::Budget, vec![1]));
    assert!(cells[1].pairs.len() < cells[0].pairs.len());
    assert!(cells[0].pairs.len() > 10);
    let mut rig = Simulated::new(&[0.0], 0.0, 1);
    rig.fails = Some((0, 0.0));
    assert_eq!(measured(&mut rig, &limits(5)).1, Ended::Lost);
}

#[test]
fn drops_that_are_too_close_move_apart() {
    let mut rig = Simulated::new(&[0.02], 0.0, 1);
    let mut close = cells(&[0.02]);
    close[0].interval = 0.025;
    close[0].adapts_from = Some(0.025);
    blocks::run(&mut rig, &limits(1), &mut close, |_, _| (), |_| Ok(())).unwrap();
    assert!(close[0].interval > 0.06 && close[0].interval < 0.07);
    // The run with 24 drops a window isn't counted.
    assert!(close[0].pairs.iter().all(|p| p.with.events.len() < 12));
    close[0].adapts_from = None;
    close[0].interval = 0.025;
    rig.now = 0.0;
    blocks::run(&mut rig, &limits(1), &mut close, |_, _| (), |_| Ok(())).unwrap();
    assert_eq!(close[0].interval, 0.025);
}

/// What counts for nothing is measured again before others get more.
#[test]
fn a_run_that_does_not_count_is_made_again_first() {
    let mut rig = Simulated::new(&[0.02, 0.0, 0.0], 0.0, 1);
    let mut cells = cells(&[0.02, 0.0, 0.0]);
    cells[0].interval = 0.025;
    cells[0].adapts_from = Some(0.025);
    let limits = Limits {
        shape: Shape {
            window: 0.4,
            pairs: 10,
        },
        ..limits(1)
    };
    let mut after = Vec::new();
    let told = |told: Told<'_>| {
        after.push(
            told.cells
                .iter()
                .map(|c| (c.pairs.len(), c.crowded))
                .collect::<Vec<_>>(),
        );
        Ok(())
    };
    blocks::run(&mut rig, &limits, &mut cells, |_, _| (), told).unwrap();
    assert_eq!(after[0], [(10, true), (10, false), (10, false)]);
    assert_eq!(after[1], [(10, false), (10, false), (10, false)]);
}

#[test]
fn a_stall_has_its_shape_around_the_drop() {
    let (cells, _, _) = measured(&mut Simulated::new(&[0.02], 1.0, 9), &limits(2));
    let (near, wide) = effects::around(&cells[0].pairs);
    let at = |points: &[effects::Point], ms: f64| {
        *points
            .iter()
            .min_by(|a, b| (a.lag_ms - ms).abs().total_cmp(&(b.lag_ms - ms).abs()))
            .unwrap()
    };
    // Who comes as it begins waits for all of it, who comes later for the rest.
    for (lag, ms) in [(0.5, 19.5), (10.5, 9.5)] {
        let point = at(&near, lag);
        assert!((point.added.estimate - ms).abs() < 2.5, "{point:?}");
        assert!(point.added.low > 0.0);
    }
    assert!(at(&near, -3.0).added.contains(0.0));
    assert!(at(&wide, 10.0).added.low > 3.0);
}
