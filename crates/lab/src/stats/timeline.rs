//! What was done when, in buckets of 10 ms.

/// Length of a bucket in ms.
pub const BUCKET_MS: u64 = 10;
/// Buckets to the window that the worst moment is looked for in: 100 ms.
const BUCKETS: usize = 10;
/// Seconds of that window, in which [`Timeline::rates`] and [`Timeline::slowest`] count.
pub const WINDOW: f64 = 0.1;
/// Most points of a line.
pub const POINTS: usize = 180;

/// Requests finished, and the slowest of them, in each 10 ms of a run. A thread records for itself; threads' are added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    counts: Vec<u32>,
    slowest_ns: Vec<u64>,
}

impl Timeline {
    /// For a run of so many ms; a piece of a bucket at its end is left out.
    pub fn new(ms: u64) -> Timeline {
        let n = (ms / BUCKET_MS) as usize;
        Timeline {
            counts: vec![0; n],
            slowest_ns: vec![0; n],
        }
    }

    /// A request that ended so many ns after the run began; one that ended after the run does not count.
    pub fn record(&mut self, at_ns: u64, took_ns: u64) {
        let bucket = (at_ns / (BUCKET_MS * 1_000_000)) as usize;
        if let Some(n) = self.counts.get_mut(bucket) {
            *n += 1;
            self.slowest_ns[bucket] = self.slowest_ns[bucket].max(took_ns);
        }
    }

    /// Adds another of the same length.
    pub fn add(&mut self, other: &Timeline) {
        for (a, b) in self.counts.iter_mut().zip(&other.counts) {
            *a += b;
        }
        for (a, b) in self.slowest_ns.iter_mut().zip(&other.slowest_ns) {
            *a = (*a).max(*b);
        }
    }

    /// Keeps what was before this, for a run that was cut short.
    pub fn truncate(&mut self, ms: u64) {
        let n = (ms / BUCKET_MS) as usize;
        self.counts.truncate(n);
        self.slowest_ns.truncate(n);
        self.counts.shrink_to_fit();
        self.slowest_ns.shrink_to_fit();
    }

    /// Seconds that it covers.
    pub fn seconds(&self) -> f64 {
        self.counts.len() as f64 * BUCKET_MS as f64 / 1e3
    }

    /// Requests.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|n| *n as u64).sum()
    }

    /// Requests per second over all.
    pub fn rate(&self) -> f64 {
        self.total() as f64 / self.seconds()
    }

    /// Requests per second in each 100 ms, one after the other.
    pub fn rates(&self) -> Vec<f64> {
        let windows = self.counts.chunks_exact(BUCKETS);
        windows.map(rate_of).collect()
    }

    /// Seconds that the slowest request took of those that ended in each 100 ms.
    pub fn slowest(&self) -> Vec<f64> {
        let windows = self.slowest_ns.chunks_exact(BUCKETS);
        windows
            .map(|w| w.iter().copied().max().unwrap_or(0) as f64 / 1e9)
            .collect()
    }

    /// The median of the rates in each 100 ms: what is usual.
    pub fn usual(&self) -> f64 {
        super::median(&self.rates()).unwrap_or(0.0)
    }

    /// The lowest rate in any 100 ms, wherever they begin.
    pub fn worst(&self) -> f64 {
        let windows = self.counts.windows(BUCKETS).map(rate_of);
        windows.fold(f64::INFINITY, f64::min)
    }

    /// Seconds of the longest run of buckets each of which saw fewer requests than a rate of so many per second brings.
    pub fn longest_below(&self, rate: f64) -> f64 {
        let limit = rate * BUCKET_MS as f64 / 1e3;
        let (mut longest, mut now) = (0u64, 0u64);
        for n in &self.counts {
            now = if (*n as f64) < limit { now + 1 } else { 0 };
            longest = longest.max(now);
        }
        (longest * BUCKET_MS) as f64 / 1e3
    }
}

/// (end of the window in seconds, value) of values for each [`WINDOW`], with windows joined by `join` until they are few enough to draw.
pub fn thinned(values: &[f64], join: impl Fn(&[f64]) -> f64) -> Vec<(f64, f64)> {
    let together = values.len().div_ceil(POINTS).max(1);
    let windows = values.chunks(together).enumerate();
    windows
        .map(|(i, w)| ((i * together + w.len()) as f64 * WINDOW, join(w)))
        .collect()
}

/// Joins windows to their mean.
pub fn mean(w: &[f64]) -> f64 {
    w.iter().sum::<f64>() / w.len() as f64
}

/// Joins windows to their largest.
pub fn most(w: &[f64]) -> f64 {
    w.iter().copied().fold(0.0, f64::max)
}

fn rate_of(counts: &[u32]) -> f64 {
    let sum: u64 = counts.iter().map(|n| *n as u64).sum();
    sum as f64 * 1e3 / (counts.len() as u64 * BUCKET_MS) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// So many requests of 1 ms in each bucket.
    fn timeline(counts: &[u32]) -> Timeline {
        let mut t = Timeline::new(counts.len() as u64 * BUCKET_MS);
        for (i, n) in counts.iter().enumerate() {
            for _ in 0..*n {
                t.record(i as u64 * BUCKET_MS * MS + 5 * MS, MS);
            }
        }
        t
    }

    #[test]
    fn a_stall_is_found_wherever_it_lies() {
        let mut counts = vec![20; 100];
        counts[44..51].fill(0);
        counts[60..63].fill(1);
        counts[70] = 0;
        let t = timeline(&counts);
        assert_eq!(t.usual(), 2000.0);
        // Below a tenth of the usual rate: seven buckets together, three with next to nothing.
        assert_eq!(t.longest_below(t.usual() / 10.0), 0.07);
        // The worst 100 ms are not aligned: seven empty buckets and three full ones.
        assert_eq!(t.worst(), 600.0);
    }

    #[test]
    fn a_steady_run_has_no_stall() {
        let t = timeline(&[7; 50]);
        assert_eq!((t.worst(), t.usual(), t.rate()), (700.0, 700.0, 700.0));
        assert_eq!(t.longest_below(70.0), 0.0);
    }

    #[test]
    fn the_end_of_a_run_is_cut_clean() {
        let mut t = timeline(&[3; 30]);
        t.record(10_000 * MS, MS);
        assert_eq!(t.total(), 90);
        t.truncate(155);
        assert_eq!((t.total(), t.seconds()), (45, 0.15));
    }

    #[test]
    fn threads_add_up_and_the_slowest_stays() {
        let (mut a, mut b) = (Timeline::new(100), Timeline::new(100));
        a.record(MS, MS);
        b.record(2 * MS, 30 * MS);
        a.add(&b);
        assert_eq!(a.total(), 2);
        assert_eq!(a.slowest(), [0.03]);
        assert_eq!(a.rates(), [20.0]);
    }
}
