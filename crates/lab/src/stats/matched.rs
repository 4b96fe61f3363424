//! The location of matched differences whose noise has heavy tails.
//!
//! A *difference* is what was seen at an event less what was seen at a moment like it without the event. Differences come in *clusters*: within
//! one, a single coin decided which side had the events. If the events do nothing but add a constant, the differences less that constant could
//! as well have had the other sign, a whole cluster at a time, whatever their distribution and however those of a cluster depend on each other.
//!
//! The estimate is Huber's M-estimate: each difference counts with its distance from the estimate, but not with more than [`CLIP`] times the usual
//! distance, so that a few wild ones weigh as much as a few others. A mean's interval has no such bound: one stall of the machine's own of a
//! second hides whatever else was seen.
//!
//! An event may have an *exposure*: then it is taken to add the constant times that. What the coins say of the differences less so much is the same.
//!
//! The interval holds all constants that the coins don't contradict (Maritz 1979, by clusters: Rosner, Glynn and Lee 2006): for each,
//! the sum of the bounded distances is held against its spread over all ways in which the clusters' coins could have fallen. That spread is known, not estimated: the
//! root of the sum of the clusters' squared sums.

use super::Interval;
use super::normal::normal_exceeded_with;

/// Distances count up to so many times their median: what 1.35 standard deviations are to a normal distribution, of which the
/// estimate then has 95 % of a mean's efficiency.
const CLIP: f64 = 2.0;
/// Halvings of the stretch in which an end lies.
const HALVINGS: u32 = 14;
/// The first step outward at least, where all values are one.
const LEAST_STEP: f64 = 1e-6;
/// Steps outward, each twice the last, in which an end is looked for.
const STEPS: u32 = 40;

/// Differences of events and their matches, by clusters.
#[derive(Clone, Debug, Default)]
pub struct Matched {
    values: Vec<f64>,
    /// As many, or none: then all are 1.
    exposures: Vec<f64>,
    /// Where each cluster ends in `values`.
    ends: Vec<usize>,
    /// What a difference may count with at least: where values are counts, some of them.
    grain: f64,
}

impl Matched {
    /// A cluster may be empty: nothing was seen of it.
    pub fn new(clusters: impl IntoIterator<Item = Vec<f64>>, grain: f64) -> Matched {
        let mut new = Matched {
            grain,
            ..Matched::default()
        };
        for cluster in clusters {
            new.values.extend(cluster);
            new.ends.push(new.values.len());
        }
        new
    }

    /// The same of differences with their exposures: what is estimated is what an event adds for each unit of it.
    pub fn exposed(clusters: impl IntoIterator<Item = Vec<(f64, f64)>>, grain: f64) -> Matched {
        let mut exposures = Vec::new();
        let values = clusters.into_iter().map(|cluster| {
            exposures.extend(cluster.iter().map(|(_, e)| *e));
            cluster.into_iter().map(|(v, _)| v).collect()
        });
        let new = Matched::new(values.collect::<Vec<_>>(), grain);
        Matched { exposures, ..new }
    }

    fn exposure(&self, i: usize) -> f64 {
        self.exposures.get(i).copied().unwrap_or(1.0)
    }

    /// In the middle; what a step of the constant is in steps of the values.
    fn usual_exposure(&self) -> f64 {
        let mut all = self.exposures.clone();
        middle(&mut all).map_or(1.0, |e| e.max(f64::MIN_POSITIVE))
    }

    /// A difference less what an event adds if `at` is the truth.
    fn rest(&self, i: usize, at: f64) -> f64 {
        self.values[i] - at * self.exposure(i)
    }

    /// The differences of each cluster.
    pub fn clusters(&self) -> impl Iterator<Item = &[f64]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(b, e)| &self.values[b..*e])
    }

    /// Those of one cluster.
    pub fn cluster(&self, number: usize) -> &[f64] {
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.values[begin..self.ends[number]]
    }

    /// Clusters of which something was seen.
    fn known(&self) -> usize {
        self.clusters().filter(|c| !c.is_empty()).count()
    }

    /// Differences with those bounded that lie far from the middle: what a robust curve is drawn through.
    pub fn bounded(&self) -> Vec<Vec<f64>> {
        let mut scratch = self.values.clone();
        let middle = middle(&mut scratch).unwrap_or(0.0);
        let reach = self.reach(middle, &mut scratch);
        let one = |v: &f64| middle + (v - middle).clamp(-reach, reach);
        self.clusters()
            .map(|c| c.iter().map(one).collect())
            .collect()
    }

    /// Huber's estimate; none of nothing.
    pub fn estimate(&self) -> Option<f64> {
        let mut scratch = self.each_alone();
        let begin = middle(&mut scratch)?;
        let mut scratch = self.values.clone();
        let reach = self.reach(begin, &mut scratch);
        let sum = |at: f64| -> f64 {
            let one = |i: usize| self.rest(i, at).clamp(-reach, reach);
            (0..self.values.len()).map(one).sum()
        };
        // It falls as `at` rises, and without exposures the root is no farther from the median than the reach.
        let mut step = reach / self.usual_exposure();
        let (mut low, mut high) = (begin - step, begin + step);
        for _ in 0..STEPS {
            if sum(low) >= 0.0 && sum(high) <= 0.0 {
                break;
            }
            step *= 2.0;
            (low, high) = (begin - step, begin + step);
        }
        for _ in 0..40 {
            let at = (low + high) / 2.0;
            match sum(at) > 0.0 {
                true => low = at,
                false => high = at,
            }
        }
        Some((low + high) / 2.0)
    }

    /// What the constant is to each difference that has an exposure.
    fn each_alone(&self) -> Vec<f64> {
        let one = |(i, v): (usize, &f64)| Some(v / Some(self.exposure(i)).filter(|e| *e > 0.0)?);
        self.values.iter().enumerate().filter_map(one).collect()
    }

    /// The estimate and its interval, with a probability of `miss` not to hold the truth; none if there are so few clusters that no fall of
    /// the coins is as rare as that.
    pub fn interval(&self, miss: f64) -> Option<Interval> {
        let estimate = self.estimate()?;
        Some(Interval {
            estimate,
            low: self.end(estimate, miss, -1.0)?,
            high: self.end(estimate, miss, 1.0)?,
        })
    }

    /// The upper end alone.
    pub fn upper(&self, miss: f64) -> Option<f64> {
        self.end(self.estimate()?, miss, 1.0)
    }

    /// What a difference counts with at most if `at` is the truth.
    fn reach(&self, at: f64, scratch: &mut [f64]) -> f64 {
        for (i, s) in scratch.iter_mut().enumerate() {
            *s = self.rest(i, at).abs();
        }
        let usual = middle(scratch).unwrap_or(0.0);
        (CLIP * usual).max(self.grain).max(f64::MIN_POSITIVE)
    }

    /// The sum of the bounded distances, in units of its spread over all falls of the coins.
    fn departure(&self, at: f64, scratch: &mut [f64]) -> f64 {
        let reach = self.reach(at, scratch);
        let (mut sum, mut squares, mut begin) = (0.0, 0.0, 0);
        for &end in &self.ends {
            let one = |i: usize| self.rest(i, at).clamp(-reach, reach);
            let own: f64 = (begin..end).map(one).sum();
            sum += own;
            squares += own * own;
            begin = end;
        }
        match squares > 0.0 {
            true => sum / squares.sqrt(),
            false => 0.0,
        }
    }

    /// Going away from the estimate, where the coins begin to contradict.
    fn end(&self, estimate: f64, miss: f64, direction: f64) -> Option<f64> {
        let enough = normal_exceeded_with(miss / 2.0);
        if (self.known() as f64).sqrt() <= enough {
            return None;
        }
        let mut scratch = self.values.clone();
        let reach = self.reach(estimate, &mut scratch);
        let mut step = (reach / 16.0).max(LEAST_STEP) / self.usual_exposure();
        let mut contradicted = |at: f64| -direction * self.departure(at, &mut scratch) > enough;
        let mut inside = estimate;
        let mut outside = (0..STEPS).find_map(|_| {
            let at = inside + direction * step;
            if contradicted(at) {
                return Some(at);
            }
            inside = at;
            step *= 2.0;
            None
        })?;
        for _ in 0..HALVINGS {
            let at = (inside + outside) / 2.0;
            match contradicted(at) {
                true => outside = at,
                false => inside = at,
            }
        }
        Some(outside)
    }
}

/// The upper of the two in the middle, or the one; reorders the values.
fn middle(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let half = values.len() / 2;
    Some(*values.select_nth_unstable_by(half, f64::total_cmp).1)
}

#[cfg(test)]
mod tests;
