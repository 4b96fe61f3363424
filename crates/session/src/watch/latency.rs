//! Histograms of latency by statement kind: buckets of 10 ms, and buckets that double from a microsecond up.
//!
//! A statement adds to a doubling bucket and to the sum of its kind in its thread's stripe. Only one that took 10 ms or
//! longer adds to a linear bucket too: those are rare and have no stripes. The first linear bucket is what remains.

use super::StatementKind;
use std::sync::atomic::{AtomicU64, Ordering};

/// Width of a linear bucket, milliseconds.
pub const LINEAR_MS: u64 = 10;
/// Linear buckets; the last holds everything from 10 s up.
pub const LINEAR_BUCKETS: usize = 1001;
/// Doubling buckets: bucket `k` holds latencies below 2^k microseconds that bucket `k - 1` does not; the last holds all
/// the rest.
pub const LOG_BUCKETS: usize = 33;

const KINDS: usize = StatementKind::ALL.len();

struct Cell {
    /// By doubling bucket.
    log: [AtomicU64; LOG_BUCKETS],
    sum_us: AtomicU64,
    max_us: AtomicU64,
}

#[repr(align(128))]
struct Stripe([Cell; KINDS]);

pub(super) struct Latency {
    stripes: Box<[Stripe]>,
    /// By kind, then bucket.
    linear: Box<[AtomicU64]>,
}

/// Latencies of one kind of statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindLatency {
    /// The kind.
    pub kind: StatementKind,
    /// Statements.
    pub count: u64,
    /// Sum of their latencies, microseconds.
    pub sum_us: u64,
    /// The longest, microseconds.
    pub max_us: u64,
    /// Statements by linear bucket of [`LINEAR_MS`]; [`LINEAR_BUCKETS`] of them.
    pub linear: Vec<u64>,
    /// Statements by doubling bucket; [`LOG_BUCKETS`] of them.
    pub log: Vec<u64>,
}

fn log_bucket(us: u64) -> usize {
    ((u64::BITS - us.leading_zeros()) as usize).min(LOG_BUCKETS - 1)
}

impl Latency {
    pub fn new(stripes: usize) -> Latency {
        let cell = || Cell {
            log: [const { AtomicU64::new(0) }; LOG_BUCKETS],
            sum_us: AtomicU64::new(0),
            max_us: AtomicU64::new(0),
        };
        Latency {
            stripes: (0..stripes)
                .map(|_| Stripe(std::array::from_fn(|_| cell())))
                .collect(),
            linear: (0..KINDS * LINEAR_BUCKETS)
                .map(|_| AtomicU64::new(0))
                .collect(),
        }
    }

    #[inline]
    pub fn add(&self, stripe: usize, kind: StatementKind, us: u64) {
        let cell = &self.stripes[stripe].0[kind as usize];
        cell.log[log_bucket(us)].fetch_add(1, Ordering::Relaxed);
        cell.sum_us.fetch_add(us, Ordering::Relaxed);
        if us > cell.max_us.load(Ordering::Relaxed) {
            cell.max_us.fetch_max(us, Ordering::Relaxed);
        }
        if us >= LINEAR_MS * 1000 {
            self.add_linear(kind, us);
        }
    }

    #[cold]
    fn add_linear(&self, kind: StatementKind, us: u64) {
        let bucket = (us / (LINEAR_MS * 1000)).min(LINEAR_BUCKETS as u64 - 1) as usize;
        self.linear[kind as usize * LINEAR_BUCKETS + bucket].fetch_add(1, Ordering::Relaxed);
    }

    pub fn read(&self) -> Vec<KindLatency> {
        let all = StatementKind::ALL.iter().map(|k| self.read_kind(*k));
        all.filter(|k| k.count > 0).collect()
    }

    fn read_kind(&self, kind: StatementKind) -> KindLatency {
        let at = kind as usize * LINEAR_BUCKETS;
        let load = |a: &AtomicU64| a.load(Ordering::Relaxed);
        // Read first: a statement adds to it last, so the first bucket is never short of statements.
        let mut linear: Vec<u64> = self.linear[at..at + LINEAR_BUCKETS]
            .iter()
            .map(load)
            .collect();
        let (mut log, mut sum_us, mut max_us) = (vec![0; LOG_BUCKETS], 0, 0);
        for stripe in &self.stripes {
            let cell = &stripe.0[kind as usize];
            for (to, from) in log.iter_mut().zip(&cell.log) {
                *to += load(from);
            }
            sum_us += load(&cell.sum_us);
            max_us = max_us.max(load(&cell.max_us));
        }
        let count: u64 = log.iter().sum();
        linear[0] = count.saturating_sub(linear.iter().sum());
        KindLatency {
            kind,
            count,
            sum_us,
            max_us,
            linear,
            log,
        }
    }

    pub fn reset(&self) {
        let zero = |a: &AtomicU64| a.store(0, Ordering::Relaxed);
        for cell in self.stripes.iter().flat_map(|s| &s.0) {
            cell.log.iter().for_each(zero);
            zero(&cell.sum_us);
            zero(&cell.max_us);
        }
        self.linear.iter().for_each(zero);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_where_they_should_be() {
        assert_eq!([0, 1, 2, 3, 4].map(log_bucket), [0, 1, 2, 2, 3]);
        assert_eq!(log_bucket(u64::MAX), LOG_BUCKETS - 1);
        let l = Latency::new(2);
        for (stripe, us) in [
            (0, 0),
            (1, 9_999),
            (0, 10_000),
            (1, 19_999),
            (0, 3_600_000_000),
        ] {
            l.add(stripe, StatementKind::Commit, us);
        }
        l.add(1, StatementKind::Select, 5);
        let read = l.read();
        let kinds: Vec<_> = read.iter().map(|k| k.kind).collect();
        assert_eq!(kinds, [StatementKind::Select, StatementKind::Commit]);
        let c = &read[1];
        assert_eq!((c.count, c.max_us), (5, 3_600_000_000));
        assert_eq!(c.sum_us, 3_600_039_998);
        assert_eq!((c.linear[0], c.linear[1], c.linear[1000]), (2, 2, 1));
        assert_eq!(c.linear.iter().sum::<u64>(), c.count);
        assert_eq!((c.log[0], c.log[14], c.log[15], c.log[32]), (1, 2, 1, 1));
        l.reset();
        assert!(l.read().is_empty());
    }
}
