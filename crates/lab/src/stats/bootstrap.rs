//! Intervals by the bootstrap.
//!
//! What is drawn again is a *unit* that is independent of the others: here a pair of windows, not a request, for requests of one
//! window wait for the same things. Any figure of units with weights has an interval, quantiles of pooled requests too. It is the
//! estimate ± Student's t with one degree of freedom less than there are units, times the bootstrap's standard error, which is
//! corrected for the few units (n/(n−1)): for a mean that is the textbook's interval, and unlike percentiles of the resampled
//! figures it doesn't get too narrow where units are few and levels are high.

use super::student::t_exceeded_with;
use crate::random::Random;

/// Times that units are drawn.
const RESAMPLES: usize = 1000;

/// A figure, and where the truth is taken to lie.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Interval {
    /// The figure itself.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Half of its width.
    pub fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
    /// Whether a value lies in it.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
    /// Everything times a factor above 0.
    pub fn times(&self, factor: f64) -> Interval {
        Interval {
            estimate: self.estimate * factor,
            low: self.low * factor,
            high: self.high * factor,
        }
    }
}

/// Intervals of figures that depend on `units` units, each with a probability of `miss` not to hold the truth. `figures` gives
/// them for units with weights: how often each is there. Of fewer than two units nothing is known: no intervals.
pub fn intervals(
    units: usize,
    miss: f64,
    mut figures: impl FnMut(&[u64]) -> Vec<f64>,
) -> Vec<Option<Interval>> {
    let estimates = figures(&vec![1; units]);
    if units < 2 {
        return vec![None; estimates.len()];
    }
    let mut random = Random::new(units as u64);
    let mut weights = vec![0; units];
    // Sums and sums of squares of the differences to the estimate.
    let mut moments = vec![(0.0, 0.0); estimates.len()];
    for _ in 0..RESAMPLES {
        weights.fill(0);
        for _ in 0..units {
            weights[random.below(units as u64) as usize] += 1;
        }
        for ((sum, squares), (drawn, estimate)) in moments
            .iter_mut()
            .zip(figures(&weights).iter().zip(&estimates))
        {
            let away = drawn - estimate;
            *sum += away;
            *squares += away * away;
        }
    }
    let few = (units as f64 / (units as f64 - 1.0)).sqrt();
    let t = t_exceeded_with(miss / 2.0, units as f64 - 1.0);
    let one = |(&estimate, &(sum, squares)): (&f64, &(f64, f64))| {
        let n = RESAMPLES as f64;
        let variance = (squares - sum * sum / n) / (n - 1.0);
        // A figure that some drawing doesn't have is not known.
        let known = estimate.is_finite() && variance.is_finite();
        let reach = t * few * variance.max(0.0).sqrt();
        known.then_some(Interval {
            estimate,
            low: estimate - reach,
            high: estimate + reach,
        })
    };
    estimates.iter().zip(&moments).map(one).collect()
}

/// The interval of a mean of values: what [`intervals`] comes to with ever more drawing, without the drawing.
pub fn mean_interval(values: &[f64], miss: f64) -> Option<Interval> {
    let n = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let estimate = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - estimate).powi(2)).sum();
    let reach = t_exceeded_with(miss / 2.0, n - 1.0) * (squares / (n - 1.0) / n).sqrt();
    Some(Interval {
        estimate,
        low: estimate - reach,
        high: estimate + reach,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Latencies;

    /// A standard normal number (Box and Muller).
    fn normal(random: &mut Random) -> f64 {
        (-2.0 * random.unit().ln()).sqrt() * (std::f64::consts::TAU * random.unit()).cos()
    }

    #[test]
    fn of_a_mean_it_is_the_textbooks() {
        let values = [4.1, 3.7, 5.2, 4.4, 4.9, 3.9];
        let got = mean_interval(&values, 0.05).unwrap();
        // Mean 4.3667, standard deviation 0.5854, t 2.5706.
        assert!((got.estimate - 4.3667).abs() < 1e-3);
        assert!((got.half() - 0.6143).abs() < 1e-3, "{got:?}");
        let mean = |weights: &[u64]| {
            let sum: f64 = weights
                .iter()
                .zip(&values)
                .map(|(w, v)| *w as f64 * v)
                .sum();
            vec![sum / 6.0]
        };
        let drawn = intervals(6, 0.05, mean)[0].unwrap();
        assert!((drawn.half() - got.half()).abs() < 0.04, "{drawn:?}");
        assert_eq!(mean_interval(&[1.0], 0.05), None);
    }

    /// The share of simulated experiments whose interval holds the truth.
    fn coverage(
        units: usize,
        miss: f64,
        truth: f64,
        mut unit: impl FnMut(&mut Random) -> f64,
    ) -> f64 {
        let mut random = Random::new(11);
        let runs = 2000;
        let held = (0..runs).filter(|_| {
            let values: Vec<f64> = (0..units).map(|_| unit(&mut random)).collect();
            mean_interval(&values, miss).unwrap().contains(truth)
        });
        held.count() as f64 / f64::from(runs)
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        for units in [6, 10, 30] {
            let plain = coverage(units, 0.05, 2.0, |r| 2.0 + normal(r));
            assert!((0.935..=0.965).contains(&plain), "{units}: {plain}");
            let strict = coverage(units, 0.05 / 6.0, 2.0, |r| 2.0 + normal(r));
            assert!(strict > 0.98, "{units}: {strict}");
            // Differences of two skewed values, as windows' differences are.
            let skewed = coverage(units, 0.05, 1.0, |r| {
                1.0 + normal(r).exp().powi(2) - normal(r).exp().powi(2)
            });
            assert!(skewed > 0.93, "{units}: {skewed}");
        }
    }

    #[test]
    fn what_is_not_known_has_no_interval() {
        assert_eq!(intervals(4, 0.05, |_| vec![f64::NAN, 1.0])[0], None);
        let sometimes = |weights: &[u64]| vec![1.0 / f64::from(u8::from(weights[0] > 0))];
        assert_eq!(intervals(4, 0.05, sometimes), [None]);
    }

    /// Requests of a window share what befalls the window, so a bootstrap of requests would promise too much.
    #[test]
    fn quantiles_of_pooled_windows_are_held() {
        let mut random = Random::new(5);
        let window = |random: &mut Random, added: f64| {
            let mut all = Latencies::default();
            let slow = normal(random).abs();
            for _ in 0..300 {
                let ms = 1.0 + added + slow - random.unit().ln();
                all.record((ms * 1e3) as u64);
            }
            all
        };
        let runs = 40;
        let held = (0..runs).filter(|_| {
            let pairs: Vec<_> = (0..8)
                .map(|_| (window(&mut random, 0.7), window(&mut random, 0.0)))
                .collect();
            let (mut with, mut without) = (Latencies::default(), Latencies::default());
            let p90 = |weights: &[u64]| {
                with.clear();
                without.clear();
                for (pair, w) in pairs.iter().zip(weights) {
                    with.add_times(&pair.0, *w);
                    without.add_times(&pair.1, *w);
                }
                vec![(with.quantile(0.9) - without.quantile(0.9)) * 1e6]
            };
            intervals(8, 0.05, p90)[0].unwrap().contains(0.7)
        });
        let share = held.count() as f64 / f64::from(runs);
        assert!(share > 0.85, "{share}");
    }
}
