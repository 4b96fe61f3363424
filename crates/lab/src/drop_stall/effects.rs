//! What drops do: differences between windows with and without, with intervals, and a verdict.
//!
//! **The stall of a drop** is the one figure on which the verdict rests, chosen before anything was measured. At each lag after a
//! drop it is counted how many more requests are due and not done than when the drop was sent; the mean over all drops is compared with the same at
//! moments at which a statement was sent that does nothing, and divided by the rate: by so much the target has fallen behind its load. A target
//! that does nothing for 5 ms is 5 ms behind at the end of them; one that keeps a third of the requests waiting for so long, a third of
//! that. It is a mean, so what the machine does by itself cancels out, and more windows make it more exact; it counts from the drop on, so
//! that what went wrong before weighs nothing, however much that was. The lag at which it is largest would be a choice that favours large
//! figures; so each pair of windows is asked at the lag that all the *other* pairs find the largest.
//!
//! The verdict is 'effect' if the stall's interval lies above the smallest effect of interest. Otherwise it is 'none above x', where x is
//! the largest upper end of all lags' intervals, not of one lag's: wherever the stall may be, it is not larger. These intervals have the error
//! probability of 5 % divided by the number of subjects (Bonferroni): with all algorithms together a false 'effect' has 5 %. All other
//! intervals are 95 % each and describe.

use super::record::{Arm, LAGS, NEAR, Pair, Sums, WIDE, lag};
use crate::stats::{Interval, Latencies, intervals, mean_interval};

/// Probability that an interval doesn't hold the truth.
const MISS: f64 = 0.05;
/// Fewer pairs give no verdict.
pub(super) const LEAST_PAIRS: usize = 6;
/// Quantiles of latency that are looked at.
pub(super) const QUANTILES: [f64; 4] = [0.5, 0.99, 0.999, 0.9999];
/// A quantile beyond which fewer requests lie isn't given.
const LEAST_BEYOND: f64 = 10.0;
/// The load is taken to have recovered when it is behind by less than this part of the stall.
const RECOVERED: f64 = 0.1;
/// ms beyond twice the drop's own time in which its stall is looked for.
const AFTERMATH: f64 = 2.0;

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
    /// ms, of each pair.
    pub values: Vec<f64>,
    /// ms, 95 %.
    pub interval: Option<Interval>,
    /// ms, with the error divided among the subjects: the verdict's.
    pub joint: Option<Interval>,
    pub verdict: Verdict,
    /// Lag at which the load is most behind, ms.
    pub lag: f64,
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

/// The stall alone: quick enough to be asked after each block.
pub(super) fn stall(pairs: &[Pair], question: &Question) -> Stall {
    let last = search_until(pairs);
    let curves: Vec<Vec<f64>> = pairs
        .iter()
        .map(|p| behind(p, question.rate, last))
        .collect();
    let (values, at) = largest(&curves);
    let miss = MISS / question.subjects.max(1) as f64;
    let joint = mean_interval(&values, miss);
    let verdict = match joint {
        Some(_) if pairs.len() < LEAST_PAIRS => Verdict::TooFew,
        Some(i) if i.low > question.smallest => Verdict::Effect,
        Some(i) => Verdict::NoneAbove(bound(&curves, miss).max(i.high).max(question.smallest)),
        None => Verdict::TooFew,
    };
    Stall {
        interval: mean_interval(&values, MISS),
        values,
        joint,
        verdict,
        lag: lag(at),
    }
}

/// Everything.
pub(super) fn effects(pairs: &[Pair], question: &Question) -> Effects {
    let took: Vec<f64> = pairs.iter().flat_map(|p| &p.with.took).copied().collect();
    let stall = stall(pairs, question);
    let recovery = match stall.verdict {
        Verdict::Effect => recovery(pairs, question.rate, stall.lag),
        _ => None,
    };
    Effects {
        drops: pairs.iter().map(|p| p.with.moments).sum(),
        took: crate::stats::median(&took),
        stall,
        added: added(pairs),
        delayed: delayed(pairs),
        recovery,
    }
}

/// The largest upper end of the intervals at all lags.
fn bound(curves: &[Vec<f64>], miss: f64) -> f64 {
    let lags = curves.first().map_or(0, Vec::len);
    let at = |lag: usize| {
        let values: Vec<f64> = curves.iter().map(|c| c[lag]).collect();
        mean_interval(&values, miss).map_or(0.0, |i| i.high)
    };
    // Neighbours differ little.
    (0..lags).step_by(5).map(at).fold(0.0, f64::max)
}

/// The number of samples in which a stall is looked for: twice as long as the quickest quarter of the drops took at most, and a little
/// more. What others took longer on a busy machine was not the drop's, and later lags are noisier.
fn search_until(pairs: &[Pair]) -> usize {
    let mut took: Vec<f64> = pairs.iter().flat_map(|p| &p.with.took).copied().collect();
    took.sort_by(f64::total_cmp);
    let until = took.get(took.len() / 4).copied().unwrap_or(0.0) * 2e3 + AFTERMATH;
    (0..LAGS).find(|s| lag(*s) > until).unwrap_or(LAGS)
}

/// By how many ms the load is behind with drops, at the first `last` lags, beyond what it is without.
fn behind(pair: &Pair, rate: f64, last: usize) -> Vec<f64> {
    let at = |s: usize| match (pair.with.behind.mean(s), pair.without.behind.mean(s)) {
        (Some(with), Some(without)) => (with - without) / rate * 1e3,
        // No moment is that long before its window's end.
        _ => 0.0,
    };
    (0..last).map(at).collect()
}

/// Each curve's value where the others are the largest, and where all are.
fn largest(curves: &[Vec<f64>]) -> (Vec<f64>, usize) {
    let lags = curves.first().map_or(0, Vec::len);
    let mut sum = vec![0.0; lags];
    for curve in curves {
        sum.iter_mut().zip(curve).for_each(|(s, v)| *s += v);
    }
    let most = |of: &dyn Fn(usize) -> f64| (0..lags).max_by(|a, b| of(*a).total_cmp(&of(*b)));
    let values = curves.iter().filter_map(|curve| {
        let others = |i: usize| sum[i] - curve[i];
        Some(curve[most(&others)?])
    });
    (values.collect(), most(&|i| sum[i]).unwrap_or(0))
}

/// Pools windows with weights.
fn pool<'a>(into: &mut Latencies, arms: impl Iterator<Item = &'a Arm>, weights: &[u64]) {
    into.clear();
    for (arm, weight) in arms.zip(weights).filter(|(_, w)| **w > 0) {
        into.add_times(&arm.latencies, *weight);
    }
}

fn added(pairs: &[Pair]) -> Vec<Option<Added>> {
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
            drops += w * f64::from(p.with.moments);
        }
        vec![more / drops]
    };
    intervals(pairs.len(), MISS, per_drop).pop().flatten()
}

/// The first lag after the worst at which the load is hardly behind any more.
fn recovery(pairs: &[Pair], rate: f64, worst: f64) -> Option<Interval> {
    let from = (0..LAGS).find(|s| lag(*s) >= worst)?;
    let curves: Vec<Vec<f64>> = pairs.iter().map(|p| behind(p, rate, LAGS)).collect();
    let first = |weights: &[u64]| {
        let at = |s: usize| -> f64 {
            let both = curves.iter().zip(weights);
            both.map(|(c, w)| c[s] * *w as f64).sum()
        };
        let little = at(from) * RECOVERED;
        let back = (from..LAGS).find(|s| at(*s) <= little);
        vec![lag(back.unwrap_or(LAGS))]
    };
    intervals(pairs.len(), MISS, first).pop().flatten()
}

/// A point of an event-aligned line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Since the drop's beginning.
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
