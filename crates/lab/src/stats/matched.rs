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
        let mut scratch = self.values.clone();
        let middle = middle(&mut scratch)?;
        let reach = self.reach(middle, &mut scratch);
        let sum = |at: f64| -> f64 {
            let one = |v: &f64| (v - at).clamp(-reach, reach);
            self.values.iter().map(one).sum()
        };
        // It falls as `at` rises, and the root is no farther from the median than the reach.
        let (mut low, mut high) = (middle - reach, middle + reach);
        for _ in 0..40 {
            let at = (low + high) / 2.0;
            match sum(at) > 0.0 {
                true => low = at,
                false => high = at,
            }
        }
        Some((low + high) / 2.0)
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
        for (s, v) in scratch.iter_mut().zip(&self.values) {
            *s = (v - at).abs();
        }
        let usual = middle(scratch).unwrap_or(0.0);
        (CLIP * usual).max(self.grain).max(f64::MIN_POSITIVE)
    }

    /// The sum of the bounded distances, in units of its spread over all falls of the coins.
    fn departure(&self, at: f64, scratch: &mut [f64]) -> f64 {
        let reach = self.reach(at, scratch);
        let (mut sum, mut squares) = (0.0, 0.0);
        for cluster in self.clusters() {
            let own: f64 = cluster.iter().map(|v| (v - at).clamp(-reach, reach)).sum();
            sum += own;
            squares += own * own;
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
        let mut step = (self.reach(estimate, &mut scratch) / 16.0).max(LEAST_STEP);
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
