//! Buckets of latency: eight for each doubling, from a microsecond to two minutes; one below and one above.

/// Buckets.
pub(crate) const BUCKETS: usize = 2 + (LAST - FIRST) as usize * STEPS;

/// Latencies of fewer nanoseconds than two to this power are in the lowest bucket.
const FIRST: u32 = 10;
/// Those of as many as two to this power, or more, in the highest.
const LAST: u32 = 37;
/// Buckets of one doubling.
const STEPS: usize = 8;

/// The bucket of a latency in nanoseconds.
#[inline]
pub(super) fn bucket(ns: u64) -> usize {
    let power = 63 - (ns | 1).leading_zeros();
    if power < FIRST {
        return 0;
    }
    if power >= LAST {
        return BUCKETS - 1;
    }
    // The three bits behind the first.
    let step = (ns >> (power - 3)) as usize & (STEPS - 1);
    1 + (power - FIRST) as usize * STEPS + step
}

/// Nanoseconds that a bucket begins with, and those that the next begins with; the last has no end but that of time.
pub(crate) fn bucket_ns(bucket: usize) -> (u64, u64) {
    let begin = |bucket: usize| match bucket {
        0 => 0,
        b if b < BUCKETS => {
            let (power, step) = ((b - 1) / STEPS, (b - 1) % STEPS);
            ((STEPS + step) as u64) << (power + FIRST as usize - 3)
        }
        _ => u64::MAX / 1000,
    };
    (begin(bucket), begin(bucket + 1))
}

/// The latency in nanoseconds that a part (`0.95`) of the counted do not exceed: where the bucket ends in which that one is, but no more than
/// `max`, the longest of all.
pub(crate) fn quantile(counts: &[u64; BUCKETS], part: f64, max: u64) -> u64 {
    let total: u64 = counts.iter().sum();
    let wanted = (total as f64 * part).ceil() as u64;
    let mut seen = 0;
    for (bucket, count) in counts.iter().enumerate() {
        seen += count;
        if seen >= wanted && *count > 0 {
            return bucket_ns(bucket).1.min(max);
        }
    }
    max
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other() {
        assert_eq!(bucket(0), 0);
        assert_eq!(bucket(1023), 0);
        assert_eq!(bucket(1024), 1);
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        for b in 0..BUCKETS - 1 {
            let (from, to) = bucket_ns(b);
            assert!(from < to);
            assert_eq!(bucket(from), b);
            assert_eq!(bucket(to - 1), b);
            assert_eq!(bucket(to), b + 1);
        }
    }

    #[test]
    fn quantiles_are_where_buckets_end() {
        let mut counts = [0; BUCKETS];
        for ns in 1..=1000 {
            counts[bucket(ns * 1000)] += 1;
        }
        let half = quantile(&counts, 0.5, 1_000_000);
        assert!((500_000..570_000).contains(&half), "{half}");
        assert_eq!(quantile(&counts, 1.0, 1_000_000), 1_000_000);
        assert_eq!(quantile(&[0; BUCKETS], 0.5, 0), 0);
    }
}
