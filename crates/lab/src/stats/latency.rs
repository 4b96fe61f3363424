//! Latencies of requests.

use hdrhistogram::Histogram;

/// An hour, in ns: longer ones are counted as this.
const MOST: u64 = 3_600_000_000_000;

/// How long requests took, to three digits. A thread records for itself; threads' are added.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Latencies {
        // These bounds are within what the crate takes.
        Latencies(Histogram::new_with_max(MOST, 3).expect("bounds of the histogram"))
    }
}

impl Latencies {
    /// One request of so many ns.
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }
    /// Adds another's.
    pub fn add(&mut self, other: &Latencies) {
        self.0 += &other.0;
    }
    /// Number of requests.
    pub fn count(&self) -> u64 {
        self.0.len()
    }
    /// Seconds within which a share of requests was done; 1 is the slowest.
    pub fn quantile(&self, share: f64) -> f64 {
        self.0.value_at_quantile(share) as f64 / 1e9
    }
    /// Requests that took longer than this.
    pub fn longer_than(&self, seconds: f64) -> u64 {
        let limit = (seconds * 1e9) as u64;
        let values = self.0.iter_recorded();
        let longer = values.filter(|v| v.value_iterated_to() > limit);
        longer.map(|v| v.count_since_last_iteration()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_known_values() {
        let (mut a, mut b) = (Latencies::default(), Latencies::default());
        for ms in 1..=500 {
            a.record(ms * 1_000_000);
            b.record((ms + 500) * 1_000_000);
        }
        a.add(&b);
        assert_eq!(a.count(), 1000);
        for (share, seconds) in [
            (0.5, 0.5),
            (0.95, 0.95),
            (0.99, 0.99),
            (0.999, 0.999),
            (1.0, 1.0),
        ] {
            let got = a.quantile(share);
            assert!((got - seconds).abs() / seconds < 0.002, "{share}: {got}");
        }
        assert_eq!(a.longer_than(0.9005), 100);
        assert_eq!(a.longer_than(2.0), 0);
        assert_eq!(Latencies::default().quantile(0.999), 0.0);
    }

    #[test]
    fn more_than_the_most_is_the_most() {
        let mut a = Latencies::default();
        a.record(u64::MAX);
        assert_eq!(a.count(), 1);
        assert!(a.quantile(1.0) >= 3600.0);
    }
}
