//! Latencies of requests.
//!
//! A log-linear histogram: each power of two of nanoseconds is divided into 128 buckets of one width, so that a value is known to
//! 0.8 % of itself. Dense, 17 KB at most, so that hundreds of them (one per window of an experiment) can be kept and summed with weights.

/// Buckets of a power of two, as a power of two.
const PART_BITS: u32 = 7;
const PARTS: u64 = 1 << PART_BITS;
/// Nanoseconds of the finest bucket, as a power of two.
const UNIT_BITS: u32 = 3;
/// A bit more than an hour, in ns: longer ones are counted as this.
const MOST: u64 = 1 << 42;

/// How long requests took. A thread records for itself; threads' are added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    /// By bucket, as far as there was anything.
    counts: Vec<u64>,
}

/// The bucket of a value.
fn bucket(ns: u64) -> usize {
    let units = ns.min(MOST) >> UNIT_BITS;
    if units < PARTS {
        return units as usize;
    }
    let power = units.ilog2();
    let within = units >> (power - PART_BITS);
    (u64::from(power - PART_BITS) * PARTS + within) as usize
}

/// Where a bucket begins, in ns.
fn begin(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    let units = match bucket < 2 * PARTS {
        true => bucket,
        false => (PARTS + bucket % PARTS) << (bucket / PARTS - 1),
    };
    (units << UNIT_BITS) as f64
}

impl Latencies {
    /// One request of so many ns.
    pub fn record(&mut self, ns: u64) {
        let bucket = bucket(ns);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
    }
    /// Adds another's.
    pub fn add(&mut self, other: &Latencies) {
        self.add_times(other, 1);
    }
    /// Adds another's as if it had been there so many times.
    pub fn add_times(&mut self, other: &Latencies, times: u64) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (a, b) in self.counts.iter_mut().zip(&other.counts) {
            *a += b * times;
        }
    }
    /// Takes everything out, and keeps the room for it.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }
    /// Number of requests.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
    /// Seconds within which a share of requests was done; 1 is the slowest. Within a bucket requests are taken to be spread evenly.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut left = share.clamp(0.0, 1.0) * self.count() as f64;
        let mut last = 0.0;
        for (i, &n) in self.counts.iter().enumerate().filter(|c| *c.1 > 0) {
            let (from, until) = (begin(i), begin(i + 1));
            if left <= n as f64 {
                return (from + (until - from) * left / n as f64) / 1e9;
            }
            left -= n as f64;
            last = until;
        }
        last / 1e9
    }
    /// Requests that took longer than this, to the width of a bucket.
    pub fn longer_than(&self, seconds: f64) -> u64 {
        let from = bucket((seconds * 1e9) as u64) + 1;
        self.counts.iter().skip(from).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn buckets_hold_what_they_say() {
        let mut random = Random::new(7);
        for _ in 0..100_000 {
            let ns = random.any() >> (22 + random.below(42));
            let b = bucket(ns);
            let (from, until) = (begin(b), begin(b + 1));
            assert!(
                from <= ns as f64 && (ns as f64) < until,
                "{ns} in {from}..{until}"
            );
            assert!((until - from) <= 8.0 || (until - from) / from < 0.008);
        }
        assert_eq!(bucket(u64::MAX), bucket(MOST));
    }

    #[test]
    fn quantiles_of_known_values() {
        let (mut a, mut b) = (Latencies::default(), Latencies::default());
        for ms in 1..=500 {
            a.record(ms * 1_000_000);
            b.record((ms + 500) * 1_000_000);
        }
        a.add(&b);
        assert_eq!(a.count(), 1000);
        for share in [0.5, 0.95, 0.99, 0.999, 1.0] {
            let got = a.quantile(share);
            assert!((got - share).abs() / share < 0.008, "{share}: {got}");
        }
        assert!((99..=108).contains(&a.longer_than(0.9)));
        assert_eq!(a.longer_than(2.0), 0);
        assert_eq!(Latencies::default().quantile(0.999), 0.0);
    }

    #[test]
    fn weights_are_repetitions() {
        let (mut a, mut b, mut twice) = Default::default();
        for ms in [1, 5, 9] {
            Latencies::record(&mut a, ms * 1_000_000);
            Latencies::record(&mut b, ms * 3_000_000);
        }
        Latencies::add_times(&mut twice, &a, 2);
        twice.add(&b);
        a.add(&a.clone());
        a.add(&b);
        assert_eq!(twice, a);
        a.clear();
        assert_eq!(a.count(), 0);
    }

    #[test]
    fn more_than_the_most_is_the_most() {
        let mut a = Latencies::default();
        a.record(u64::MAX);
        assert_eq!(a.count(), 1);
        assert!(a.quantile(1.0) >= 3600.0);
    }
}
