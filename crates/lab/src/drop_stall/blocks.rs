//! The experiment's course: blocks, each with a run of every subject in random order, until enough is known or the time is over. Who doesn't have the least number of
//! pairs then, or only a run that doesn't count, has the next block; then a block is of those alone whose intervals are the widest: the wider half of those that are not narrow yet.
//!
//! It ends early when the verdict's interval of every subject is narrow: narrower than the precision asked for, or than a part of its
//! own estimate. Both rules look at widths and never at whether an effect was found or is about to be, so they don't favour one verdict; that
//! a width which happens to be small ends the experiment, or a subject's part of it, makes intervals a little too narrow, which the least number of pairs bounds (the tests
//! simulate it).

use super::design::{Course, Shape};
use super::effects::{Question, Stall, stall};
use super::record::{Pair, Recording};
use crate::random::Random;
use crate::{Error, Result};

/// Fewer pairs don't end the experiment early, and runs are made to give as many.
pub(super) const LEAST: usize = 10;
/// An interval is narrow enough whose half is this part of its estimate.
const NARROW: f64 = 0.1;

/// Drops that take this part of the interval between them, in the middle, are too close: the load never recovers from one before the next.
const CROWDED: f64 = 1.0 / 3.0;

/// Drops that are to be so many times as far apart were too close.
const TOO_CLOSE: f64 = 1.5;

/// What an experiment runs on: targets, or in tests something whose stalls are known.
pub(super) trait Rig {
    /// Runs a subject's course; none if it was stopped meanwhile.
    fn run(&mut self, subject: usize, course: &Course) -> Result<Option<Recording>>;
    /// Seconds since the experiment began.
    fn now(&self) -> f64;
    /// Whether it was asked to end.
    fn stopped(&self) -> bool;
    /// Subjects that share a target with this one.
    fn beside(&self, subject: usize) -> Vec<usize>;
}

/// A subject under measurement.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// Its number.
    pub(super) subject: usize,
    pub(super) question: Question,
    /// Mean seconds between its drops.
    pub(super) interval: f64,
    /// The interval grows where drops take longer under load than was thought, from this on; none: it stays.
    pub(super) adapts_from: Option<f64>,
    pub(super) pairs: Vec<Pair>,
    /// The drops of the first run were too close: it counts only as long as there is no other.
    pub(super) crowded: bool,
}

impl Cell {
    /// Takes a run's pairs. A first run whose drops turn out crowded says how far apart they are to be, and goes when there is another: that is read
    /// off the drops' times, never off what the load felt.
    fn add(&mut self, pairs: Vec<Pair>) {
        if std::mem::take(&mut self.crowded) {
            self.pairs.clear();
        }
        let first = self.pairs.is_empty();
        self.pairs.extend(pairs);
        let drops = self.pairs.iter().flat_map(|p| &p.with.events);
        let took: Vec<f64> = drops.map(|e| e.took).collect();
        if let (Some(least), Some(middle)) = (self.adapts_from, crate::stats::median(&took)) {
            let before = self.interval;
            self.interval = least.max(middle / CROWDED);
            if first && self.interval > before * TOO_CLOSE {
                self.crowded = true;
                self.adapts_from = Some(self.interval);
            }
        }
    }
}

/// When it ends, and with which dice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub shape: Shape,
    /// Seconds.
    pub budget: f64,
    /// Half an interval in ms that is narrow enough.
    pub precision: f64,
    pub seed: u64,
}

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// All intervals are narrow.
    Narrow,
    /// The budget is spent.
    Budget,
    Stopped,
    /// No target is left.
    Lost,
}

/// What is known after a block.
pub(super) struct Told<'a> {
    pub cells: &'a [Cell],
    pub stalls: &'a [Stall],
    /// Which of them are not narrow yet.
    pub wide: &'a [usize],
    /// Seconds of the budget.
    pub left: f64,
}

/// Runs blocks. `lost` hears of a target that failed, which is left alone from then on; `told` of each block.
pub(super) fn run(
    rig: &mut dyn Rig,
    limits: &Limits,
    cells: &mut [Cell],
    mut lost: impl FnMut(usize, Error),
    mut told: impl FnMut(Told<'_>) -> Result<()>,
) -> Result<Ended> {
    let mut random = Random::new(limits.seed);
    let mut order: Vec<usize> = (0..cells.len()).collect();
    let mut block = order.clone();
    loop {
        random.shuffle(&mut block);
        for cell in block {
            if rig.stopped() {
                return Ok(Ended::Stopped);
            }
            if rig.now() >= limits.budget {
                return Ok(Ended::Budget);
            }
            if !order.contains(&cell) {
                continue;
            }
            let course = limits.shape.course(cells[cell].interval, &mut random);
            match rig.run(cells[cell].subject, &course) {
                Ok(Some(recording)) => cells[cell].add(recording.pairs(&course)),
                Ok(None) => return Ok(Ended::Stopped),
                Err(e) => {
                    let gone = rig.beside(cells[cell].subject);
                    order.retain(|c| !gone.contains(&cells[*c].subject));
                    lost(cells[cell].subject, e);
                }
            }
        }
        if order.is_empty() {
            return Ok(Ended::Lost);
        }
        let stalls: Vec<Stall> = cells.iter().map(|c| stall(&c.pairs, &c.question)).collect();
        let wide: Vec<usize> = order
            .iter()
            .copied()
            .filter(|c| width(&cells[*c], &stalls[*c], limits) > 1.0)
            .collect();
        told(Told {
            cells,
            stalls: &stalls,
            wide: &wide,
            left: (limits.budget - rig.now()).max(0.0),
        })?;
        if wide.is_empty() {
            return Ok(Ended::Narrow);
        }
        let begun = |c: &usize| cells[*c].pairs.len() >= LEAST && !cells[*c].crowded;
        let few: Vec<usize> = order.iter().copied().filter(|c| !begun(c)).collect();
        // One whose first run doesn't count comes before those of whom enough is known.
        block = match few.is_empty() {
            true => wider_half(wide, |c| width(&cells[c], &stalls[c], limits)),
            false => few,
        };
    }
}

/// Those whose intervals are the widest compared with what is wanted.
fn wider_half(mut of: Vec<usize>, width: impl Fn(usize) -> f64) -> Vec<usize> {
    of.sort_by(|a, b| width(*b).total_cmp(&width(*a)));
    of.truncate(of.len().div_ceil(2));
    of
}

/// Half of the verdict's interval in units of what is narrow enough; infinite as long as too little is known.
fn width(cell: &Cell, stall: &Stall, limits: &Limits) -> f64 {
    let enough = cell.pairs.len() >= LEAST && !cell.crowded;
    let known = stall.joint.filter(|_| enough);
    known.map_or(f64::INFINITY, |i| {
        i.half() / limits.precision.max(i.estimate * NARROW)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::stats::{Interval, Matched};

    fn normal(random: &mut Random) -> f64 {
        (-2.0 * random.unit().ln()).sqrt() * (std::f64::consts::TAU * random.unit()).cos()
    }

    /// Six subjects, none with an effect, under noise whose scale changes from pair to pair; two blocks of all, then two of the wider half, or an end as
    /// soon as all are narrow: what is left over so seldom is what the levels say, and the widest intervals are narrower than they would be.
    #[test]
    fn intervals_hold_the_truth_where_the_widest_get_more() {
        let mut random = Random::new(11);
        let miss = [0.05, 0.05 / 6.0];
        let (mut missed, mut all) = ([0, 0], 0);
        let mut widest = [0.0, 0.0];
        for run in 0..300 {
            let narrow = [0.01, 0.8, 1.2][run % 3];
            let mut pairs = vec![Vec::new(); 6];
            let interval = |of: &[Vec<f64>], miss: f64| -> Interval {
                Matched::new(of.iter().cloned(), 0.0)
                    .interval(miss)
                    .unwrap()
            };
            let mut block: Vec<usize> = (0..6).collect();
            let mut runs = 0;
            for number in 0.. {
                for cell in block.iter().filter(|_| runs < 18) {
                    let new = |_| vec![normal(&mut random) * normal(&mut random).exp2()];
                    pairs[*cell].extend((0..7).map(new));
                }
                runs += block.len();
                if number == 0 {
                    continue;
                }
                let width = |c: usize| interval(&pairs[c], miss[1]).half() / narrow;
                let wide: Vec<usize> = (0..6).filter(|c| width(*c) > 1.0).collect();
                if wide.is_empty() || runs >= 18 {
                    break;
                }
                block = wider_half(wide, width);
            }
            let equal: Vec<Vec<Vec<f64>>> = (0..6)
                .map(|_| {
                    (0..21)
                        .map(|_| vec![normal(&mut random) * normal(&mut random).exp2()])
                        .collect()
                })
                .collect();
            if narrow < 0.1 {
                for (sum, of) in widest.iter_mut().zip([&pairs, &equal]) {
                    let halves = of.iter().map(|p| interval(p, miss[1]).half());
                    *sum += halves.fold(0.0, f64::max);
                }
            }
            for own in &pairs {
                all += 1;
                for (level, missed) in miss.iter().zip(&mut missed) {
                    *missed += u32::from(!interval(own, *level).contains(0.0));
                }
            }
        }
        assert_eq!(all, 1800);
        // Three standard deviations more than 5 % are 118; than 5 % among six, 27.
        assert!(missed[0] <= 118 && missed[1] <= 27, "{missed:?} of 1,800");
        assert!(widest[0] < widest[1], "{widest:?}");
    }
}
