//! What drops do: differences between windows with and without, with intervals, and a verdict.
//!
//! **The stall of a drop** is the one figure on which the verdict rests, chosen before anything was measured. At each lag after a
//! drop it is counted how many more requests are due and not done than when the drop was sent; from that the same is taken at the drop's match,
//! the moment in the same slot of the pair's other window, at which a row was changed and committed; and the difference is divided by the rate:
//! by so much the target has fallen behind its load. A target that does nothing for 5 ms is 5 ms behind at the end of them; one that keeps
//! a third of the requests waiting for so long, a third of that. Where the target tells when a drop worked on cached pages, lags count from
//! the beginning of that, in parts of it until its end: how long the drop waited for the log before blurs nothing, nor how long the work took. The figure is the robust location of these differences ([`Matched`]): what the machine does
//! by itself is in both and cancels out, and where it is wild it counts no more than other disturbed moments.
//! The lag at which the stall is largest would be a choice that favours large
//! figures; so each pair of windows is asked at the lag that all the *other* pairs find the largest.
//!
//! The verdict is 'effect' if the stall's interval lies above the smallest effect of interest. Otherwise it is 'none above x', where x is
//! the largest upper end of all lags' intervals, not of one lag's: wherever among them the stall may be, it is not larger. (Where the target tells
//! when a drop worked, these are the lags of that work and 2 ms after it: what a drop holds up before is in the requests over 10 ms.) These intervals have the error
//! probability of 5 % divided by the number of subjects (Bonferroni): with all algorithms together a false 'effect' has 5 %. All other
//! intervals are 95 % each and describe. Among them is the part of the work's time for which the load stood still ([`Share`]), which leaves
//! out how slowly the machine worked as far as a stall is always the same part of it, and the mean of the same differences, for a robust location is blind to what befalls few drops.

use super::record::{Arm, Event, LAGS, NEAR, Pair, Stage, Sums, WIDE, lag};
use crate::stats::{Interval, Latencies, Matched, intervals, mean_interval};

/// Probability that an interval doesn't hold the truth.
const MISS: f64 = 0.05;
/// Fewer pairs give no verdict.
pub(super) const LEAST_PAIRS: usize = 6;
/// Quantiles of latency that are looked at.
pub(super) const QUANTILES: [f64; 4] = [0.5, 0.99, 0.999, 0.9999];
/// A quantile beyond which fewer requests lie isn't given.
const LEAST_BEYOND: f64 = 10.0;
/// Requests beyond a quantile of a window at least, for windows to have one of their own.
const ENOUGH_BEYOND: f64 = 0.5;
/// The load is taken to have recovered when it is behind by less than this part of the stall.
const RECOVERED: f64 = 0.1;
/// ms of work on pages in the middle that a share of it is given of, at least.
const LEAST_WORK: f64 = 0.05;
/// ms beyond twice the drop's own time in which its stall is looked for.
const AFTERMATH: f64 = 2.0;
/// Lags at which its bound is looked for, at most.
const BOUNDS: usize = 12;
/// Lags at which recovery is looked for are this part of themselves apart.
const CLOSE: f64 = 0.02;
/// Requests that a difference may count with at least: they come whole.
const GRAIN: f64 = 2.0;

/// What is said of a subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Drops stall the load.
    Effect,
    /// Any effect is smaller than this, in ms.
    NoneAbove(f64),
    /// There are fewer than [`LEAST_PAIRS`].
    TooFew,
}

/// What is asked beside the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Question {
    /// Requests due per second.
    pub rate: f64,
    /// Subjects that are judged together.
    pub subjects: usize,
    /// The smallest stall that matters, ms.
    pub smallest: f64,
}

/// The stall and what follows from it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stall {
    /// ms, of the drops of each pair.
    pub values: Vec<Vec<f64>>,
    /// ms, 95 %.
    pub interval: Option<Interval>,
    /// ms, 95 %: the mean, in which each drop counts with all that was seen after it.
    pub mean: Option<Interval>,
    /// ms, with the error divided among the subjects: the verdict's.
    pub joint: Option<Interval>,
    pub verdict: Verdict,
    /// Lag at which the load is most behind, ms since a drop was sent.
    pub lag: f64,
    /// Where the target tells when drops worked on pages, and they did.
    pub share: Option<Share>,
}

/// The stall to the time that drops worked on cached pages: 1 if all requests stood still for just as long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    /// ms that a drop worked, in the middle.
    pub work: f64,
    /// 95 %.
    pub interval: Interval,
    /// With the error divided among the subjects.
    pub joint: Interval,
}

/// The latency within which a share of the requests was done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Added {
    pub share: f64,
    /// ms without drops.
    pub without: f64,
    /// ms that drops add.
    pub added: Interval,
}

/// All of a subject.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Effects {
    pub drops: u32,
    /// Seconds that a drop took in the middle.
    pub took: Option<f64>,
    pub stall: Stall,
    /// None of a quantile for which there are too few requests.
    pub added: Vec<Option<Added>>,
    /// Requests over 10 ms, added per drop.
    pub delayed: Option<Interval>,
    /// ms from a drop's beginning until the load is no longer behind; of an effect.
    pub recovery: Option<Interval>,
}

/// Where after each drop the load is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// A lag, by its number.
    Lag(usize),
    /// A stage of its work on pages, by its number.
    Stage(usize, Stage),
}

impl Place {
    fn of(self, event: &Event) -> Option<i32> {
        let (list, at) = match self {
            Place::Lag(sample) => (&event.behind, sample),
            Place::Stage(at, _) => (&event.staged, at),
        };
        list.get(at).copied()
    }

    /// ms since the zero of drops whose work takes so many.
    fn ms(self, work: f64) -> f64 {
        match self {
            Place::Lag(sample) => lag(sample),
            Place::Stage(_, stage) => stage.ms(work),
        }
    }
}

/// What is known of when drops worked.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    /// Seconds from when a drop was sent to its zero, in the middle.
    before: f64,
    /// ms that it worked, in the middle; none where the target doesn't tell.
    work: Option<f64>,
}

impl Times {
    fn of(pairs: &[Pair]) -> Times {
        let middle = |list: Vec<f64>| crate::stats::median(&list);
        let work = drops(pairs).filter_map(|e| e.work).map(|s| s * 1e3);
        Times {
            before: middle(drops(pairs).map(|e| e.before).collect()).unwrap_or(0.0),
            work: middle(work.collect()),
        }
    }
}

/// The stall alone: quick enough to be asked after each block.
pub(super) fn stall(pairs: &[Pair], question: &Question) -> Stall {
    let times = Times::of(pairs);
    let places = searched(pairs, times);
    let curves: Vec<Matched> = places
        .iter()
        .map(|p| matched(pairs, question.rate, *p))
        .collect();
    let (chosen, at) = largest(&curves, pairs.len());
    let clusters = chosen.iter().enumerate();
    let values: Vec<Vec<f64>> = clusters
        .filter_map(|(pair, curve)| Some(curves.get(*curve)?.cluster(pair).to_vec()))
        .collect();
    let own = Matched::new(values.clone(), grain(question.rate));
    let miss = MISS / question.subjects.max(1) as f64;
    let joint = own.interval(miss);
    let verdict = match joint {
        Some(_) if pairs.len() < LEAST_PAIRS => Verdict::TooFew,
        Some(i) if i.low > question.smallest => Verdict::Effect,
        Some(i) => Verdict::NoneAbove(bound(&curves, miss).max(i.high).max(question.smallest)),
        None => Verdict::TooFew,
    };
    let means: Vec<f64> = values
        .iter()
        .filter(|v| !v.is_empty())
        .map(|v| v.iter().sum::<f64>() / v.len() as f64)
        .collect();
    let most = places
        .get(at)
        .map_or(0.0, |p| p.ms(times.work.unwrap_or(0.0)));
    let chosen: Vec<Place> = chosen
        .iter()
        .filter_map(|c| places.get(*c).copied())
        .collect();
    Stall {
        interval: own.interval(MISS),
        mean: mean_interval(&means, MISS),
        values,
        joint,
        verdict,
        lag: most + times.before * 1e3,
        share: share(pairs, question.rate, &chosen, times, miss),
    }
}

/// Of pairs asked at these places.
fn share(pairs: &[Pair], rate: f64, places: &[Place], times: Times, miss: f64) -> Option<Share> {
    let work = times.work.filter(|ms| *ms >= LEAST_WORK)?;
    let of = |(pair, place): (&Pair, &Place)| -> Vec<(f64, f64)> {
        let both = differences(pair, rate, *place);
        both.filter_map(|(drop, ms)| Some((ms, drop.work? * 1e3)))
            .collect()
    };
    let each = Matched::exposed(pairs.iter().zip(places).map(of), grain(rate));
    Some(Share {
        work,
        interval: each.interval(MISS)?,
        joint: each.interval(miss)?,
    })
}

/// Everything.
pub(super) fn effects(pairs: &[Pair], question: &Question) -> Effects {
    let stall = stall(pairs, question);
    let recovery = match stall.verdict {
        Verdict::Effect => recovery(pairs, question.rate, stall.lag, Times::of(pairs).before),
        _ => None,
    };
    Effects {
        drops: drops(pairs).count() as u32,
        took: crate::stats::median(&drops(pairs).map(|e| e.took).collect::<Vec<_>>()),
        stall,
        added: added(pairs),
        delayed: delayed(pairs),
        recovery,
    }
}

fn drops(pairs: &[Pair]) -> impl Iterator<Item = &Event> {
    pairs.iter().flat_map(|p| &p.with.events)
}

/// ms that some requests take to become due.
fn grain(rate: f64) -> f64 {
    GRAIN / rate * 1e3
}

/// By how many ms the load is behind at a place after each drop, beyond what it is after the drop's match.
fn differences(pair: &Pair, rate: f64, place: Place) -> impl Iterator<Item = (&Event, f64)> {
    let both = pair.with.events.iter().zip(&pair.without.events);
    both.filter_map(move |(drop, other)| {
        let more = place.of(drop)? - place.of(other)?;
        Some((drop, f64::from(more) / rate * 1e3))
    })
}

fn matched(pairs: &[Pair], rate: f64, place: Place) -> Matched {
    let of = |pair: &Pair| differences(pair, rate, place).map(|d| d.1).collect();
    Matched::new(pairs.iter().map(of), grain(rate))
}

/// The largest upper end of the intervals at all lags.
fn bound(curves: &[Matched], miss: f64) -> f64 {
    let upper = |curve: &Matched| curve.upper(miss).unwrap_or(0.0);
    // Neighbours differ little.
    let few = curves.len().div_ceil(BOUNDS).max(1);
    curves.iter().step_by(few).map(upper).fold(0.0, f64::max)
}

/// Where a stall is looked for: at all stages of the work where that is known. Else until twice as long as the quickest quarter of the drops took at most, and
/// a little more: what others took longer on a busy machine was not the drop's, and later lags are noisier.
fn searched(pairs: &[Pair], times: Times) -> Vec<Place> {
    if times.work.is_some() {
        let stages = Stage::all().enumerate();
        return stages.map(|(at, stage)| Place::Stage(at, stage)).collect();
    }
    let mut took: Vec<f64> = drops(pairs).map(|e| e.took).collect();
    took.sort_by(f64::total_cmp);
    let until = took.get(took.len() / 4).copied().unwrap_or(0.0) * 2e3 + AFTERMATH;
    let samples = (0..LAGS).take_while(|s| lag(*s) <= until);
    samples.map(Place::Lag).collect()
}

/// For each pair the curve that is the largest of all other pairs', and the one that is the largest of all.
fn largest(curves: &[Matched], pairs: usize) -> (Vec<usize>, usize) {
    let sums: Vec<Vec<(f64, f64)>> = curves.iter().map(sums).collect();
    let all: Vec<(f64, f64)> = sums.iter().map(|own| total(own)).collect();
    let most = |of: &dyn Fn(usize) -> f64| {
        let best = (0..curves.len()).max_by(|a, b| of(*a).total_cmp(&of(*b)));
        best.unwrap_or(0)
    };
    let others =
        |pair: usize| most(&|c| mean(all[c].0 - sums[c][pair].0, all[c].1 - sums[c][pair].1));
    let own = (0..pairs).map(others).collect();
    (own, most(&|c| mean(all[c].0, all[c].1)))
}

/// Sum and number of each pair's differences, wild ones bounded.
fn sums(curve: &Matched) -> Vec<(f64, f64)> {
    let one = |c: &Vec<f64>| (c.iter().sum::<f64>(), c.len() as f64);
    curve.bounded().iter().map(one).collect()
}

fn total(of: &[(f64, f64)]) -> (f64, f64) {
    of.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
}

/// Nothing is less than anything.
fn mean(sum: f64, count: f64) -> f64 {
    match count > 0.0 {
        true => sum / count,
        false => f64::NEG_INFINITY,
    }
}

/// Pools windows with weights.
fn pool<'a>(into: &mut Latencies, arms: impl Iterator<Item = &'a Arm>, weights: &[u64]) {
    into.clear();
    for (arm, weight) in arms.zip(weights).filter(|(_, w)| **w > 0) {
        into.add_times(&arm.latencies, *weight);
    }
}

/// Of pairs of windows that hold enough requests for a quantile, the typical difference; else that of all windows' requests.
fn added(pairs: &[Pair]) -> Vec<Option<Added>> {
    let windows = pairs.iter().flat_map(|p| [&p.with, &p.without]);
    let fewest = windows.map(|w| w.latencies.count()).min().unwrap_or(0) as f64;
    let pooled = pooled(pairs);
    let one = |(share, pooled)| match fewest * (1.0 - share) >= ENOUGH_BEYOND {
        true => typical(pairs, share),
        false => pooled,
    };
    QUANTILES.into_iter().zip(pooled).map(one).collect()
}

/// What pairs of windows differ by in their own quantiles.
fn typical(pairs: &[Pair], share: f64) -> Option<Added> {
    let of = |arm: &Arm| arm.latencies.quantile(share) * 1e3;
    let without: Vec<f64> = pairs.iter().map(|p| of(&p.without)).collect();
    let more = pairs.iter().map(|p| vec![of(&p.with) - of(&p.without)]);
    Some(Added {
        share,
        without: crate::stats::median(&without)?,
        added: Matched::new(more, 0.0).interval(MISS)?,
    })
}

/// What all requests of windows with and without differ by.
fn pooled(pairs: &[Pair]) -> Vec<Option<Added>> {
    let (mut with, mut without) = (Latencies::default(), Latencies::default());
    let ones = vec![1; pairs.len()];
    pool(&mut with, pairs.iter().map(|p| &p.with), &ones);
    pool(&mut without, pairs.iter().map(|p| &p.without), &ones);
    let fewer = with.count().min(without.count()) as f64;
    let base = QUANTILES.map(|q| without.quantile(q) * 1e3);
    let differences = |weights: &[u64]| {
        pool(&mut with, pairs.iter().map(|p| &p.with), weights);
        pool(&mut without, pairs.iter().map(|p| &p.without), weights);
        let of = |q: f64| (with.quantile(q) - without.quantile(q)) * 1e3;
        QUANTILES.map(of).to_vec()
    };
    let all = intervals(pairs.len(), MISS, differences);
    let one = |((added, share), without): ((Option<Interval>, f64), f64)| {
        (fewer * (1.0 - share) >= LEAST_BEYOND).then_some(Added {
            share,
            without,
            added: added?,
        })
    };
    all.into_iter().zip(QUANTILES).zip(base).map(one).collect()
}

fn delayed(pairs: &[Pair]) -> Option<Interval> {
    let per_drop = |weights: &[u64]| {
        let (mut more, mut drops) = (0.0, 0.0);
        for (p, w) in pairs.iter().zip(weights) {
            let w = *w as f64;
            more += w * (p.with.delayed as f64 - p.without.delayed as f64);
            drops += w * p.with.events.len() as f64;
        }
        vec![more / drops]
    };
    intervals(pairs.len(), MISS, per_drop).pop().flatten()
}

/// The first lag after the worst at which the load is hardly behind any more; both in ms since a drop was sent, whose zero is so many seconds
/// later.
fn recovery(pairs: &[Pair], rate: f64, worst: f64, before: f64) -> Option<Interval> {
    let before = before * 1e3;
    let after = |s: &usize| (s + 1..LAGS).find(|n| lag(*n) >= lag(*s) * (1.0 + CLOSE));
    let worst = (0..LAGS).find(|s| lag(*s) >= worst - before)?;
    let samples: Vec<usize> = std::iter::successors(Some(worst), after).collect();
    let curves: Vec<Vec<(f64, f64)>> = samples
        .iter()
        .map(|s| sums(&matched(pairs, rate, Place::Lag(*s))))
        .collect();
    let first = |weights: &[u64]| {
        let at = |curve: &[(f64, f64)]| -> f64 {
            let weighted = curve
                .iter()
                .zip(weights)
                .map(|(c, w)| (c.0 * *w as f64, c.1 * *w as f64));
            let (sum, count) = total(&weighted.collect::<Vec<_>>());
            mean(sum, count)
        };
        let little = at(&curves[0]) * RECOVERED;
        let back = curves.iter().position(|c| at(c) <= little);
        vec![before + back.map_or(lag(LAGS), |c| lag(samples[c]))]
    };
    intervals(pairs.len(), MISS, first).pop().flatten()
}

/// A point of an event-aligned line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Since the drop's zero ([`Event::before`]).
    pub lag_ms: f64,
    /// Mean latency of requests due then, ms.
    pub with: f64,
    /// The same at moments without a drop.
    pub without: f64,
    /// The difference.
    pub added: Interval,
}

/// Latency around a drop, near and wide.
pub(super) fn around(pairs: &[Pair]) -> (Vec<Point>, Vec<Point>) {
    let near = points(pairs, |a| &a.near, NEAR.2, |b| NEAR.middle(b));
    let wide = points(pairs, |a| &a.wide, WIDE.2, |b| WIDE.middle(b));
    (near, wide)
}

fn points(
    pairs: &[Pair],
    sums: impl Fn(&Arm) -> &Sums,
    bins: usize,
    middle: impl Fn(usize) -> f64,
) -> Vec<Point> {
    // Both kinds' means of each bin.
    let means = |weights: &[u64]| -> Vec<(f64, f64)> {
        let mean = |arm: fn(&Pair) -> &Arm, bin: usize| {
            let (mut sum, mut count) = (0.0, 0.0);
            for (p, w) in pairs.iter().zip(weights) {
                let s = sums(arm(p));
                sum += *w as f64 * s.sum[bin];
                count += *w as f64 * f64::from(s.count[bin]);
            }
            sum / count
        };
        let both = |bin| (mean(|p| &p.with, bin), mean(|p| &p.without, bin));
        (0..bins).map(both).collect()
    };
    let levels = means(&vec![1; pairs.len()]);
    let differences = |weights: &[u64]| means(weights).iter().map(|m| m.0 - m.1).collect();
    let all = intervals(pairs.len(), MISS, differences);
    let known = |(bin, (added, (with, without))): (usize, (Option<Interval>, (f64, f64)))| {
        Some(Point {
            lag_ms: middle(bin),
            with,
            without,
            added: added?,
        })
    };
    let both = all.into_iter().zip(levels).enumerate();
    both.filter_map(known).collect()
}
