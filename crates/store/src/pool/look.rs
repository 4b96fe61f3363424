//! Numbers about each instance, and how fast they grow: what INNODB_BUFFER_POOL_STATS shows.
//!
//! Rates are taken between two looks: [`Pager::instance_looks`] keeps the numbers of the last look that is at least a second
//! old, as InnoDB takes them since its last report.

use super::Pager;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Looks closer together than this compare with the same earlier one.
const APART: Duration = Duration::from_secs(1);

/// What an instance counts besides its lists.
#[derive(Default)]
pub(crate) struct InstanceCounts {
    pub reads: AtomicU64,
    pub pending_reads: AtomicU64,
    pub created: AtomicU64,
    pub written: AtomicU64,
    /// Uses of old pages that were too soon to make them young.
    pub not_young: AtomicU64,
}

/// Numbers about an instance. Pages unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceStats {
    /// Frames.
    pub size: u64,
    /// Frames without a page.
    pub free: u64,
    /// Length of the LRU list's young part.
    pub young: u64,
    /// Length of the LRU list's old part.
    pub old: u64,
    /// Length of the flush list.
    pub dirty: u64,
    /// Reads under way.
    pub pending_reads: u64,
    /// Pages read from files.
    pub reads: u64,
    /// Pages newly allocated.
    pub created: u64,
    /// Pages written in place.
    pub written: u64,
    /// Pages moved to the young end.
    pub made_young: u64,
    /// Uses of old pages that did not move them.
    pub not_young: u64,
    /// Requests, whether served from the pool or read. They are counted for the whole pool: `None` if it has several
    /// instances.
    pub gets: Option<u64>,
}

/// An instance now and at an earlier look.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceLook {
    /// Now.
    pub now: InstanceStats,
    /// At the earlier look; at first, when nothing had happened.
    pub before: InstanceStats,
    /// Seconds between the two.
    pub seconds: f64,
}

/// Two earlier looks: one that is at least [`APART`] old, and the last.
pub(crate) struct Looks(Mutex<[(Instant, Vec<InstanceStats>); 2]>);

impl Default for Looks {
    fn default() -> Looks {
        let now = Instant::now();
        Looks(Mutex::new([(now, Vec::new()), (now, Vec::new())]))
    }
}

impl Looks {
    /// Notes a look; the earlier one to compare it with.
    fn note(&self, at: Instant, stats: &[InstanceStats]) -> (Instant, Vec<InstanceStats>) {
        let mut looks = self.0.lock();
        if at.saturating_duration_since(looks[1].0) >= APART {
            looks.swap(0, 1);
            looks[1] = (at, stats.to_vec());
        }
        looks[0].clone()
    }
}

impl InstanceLook {
    /// How much a number has grown a second.
    pub fn rate(&self, number: impl Fn(&InstanceStats) -> u64) -> f64 {
        if self.seconds <= 0.0 {
            return 0.0;
        }
        number(&self.now).saturating_sub(number(&self.before)) as f64 / self.seconds
    }

    /// How much a number has grown for each 1,000 requests; `None` if requests are not known by instance.
    pub fn per_thousand(&self, number: impl Fn(&InstanceStats) -> u64) -> Option<u64> {
        let gets = self.now.gets?.saturating_sub(self.before.gets.unwrap_or(0));
        let grown = number(&self.now).saturating_sub(number(&self.before));
        Some((grown * 1000).checked_div(gets).unwrap_or(0))
    }
}

impl Pager {
    /// Numbers about each instance.
    pub fn instance_stats(&self) -> Vec<InstanceStats> {
        let core = self.core();
        let short = |a: &AtomicU32| u64::from(a.load(Ordering::Relaxed));
        let long = |a: &AtomicU64| a.load(Ordering::Relaxed);
        let gets = (core.instances.len() == 1).then(|| {
            let all = self.stats();
            all.hits + all.reads
        });
        core.instances
            .iter()
            .map(|i| InstanceStats {
                size: u64::from(i.count),
                free: short(&i.free_len),
                young: short(&i.young_len),
                old: short(&i.old_len),
                dirty: short(&i.dirty_len),
                pending_reads: long(&i.counts.pending_reads),
                reads: long(&i.counts.reads),
                created: long(&i.counts.created),
                written: long(&i.counts.written),
                made_young: long(&i.moved_young),
                not_young: long(&i.counts.not_young),
                gets,
            })
            .collect()
    }

    /// The same, compared with an earlier look.
    pub fn instance_looks(&self) -> Vec<InstanceLook> {
        let now = Instant::now();
        let stats = self.instance_stats();
        let (then, before) = self.core().looks.note(now, &stats);
        let seconds = now.saturating_duration_since(then).as_secs_f64();
        let before = before
            .into_iter()
            .chain(std::iter::repeat_with(Default::default));
        stats
            .into_iter()
            .zip(before)
            .map(|(now, before)| InstanceLook {
                now,
                before,
                seconds,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_compared_with_one_of_a_second_ago() {
        let stats = |reads| {
            vec![InstanceStats {
                reads,
                gets: Some(reads * 2),
                ..InstanceStats::default()
            }]
        };
        let looks = Looks::default();
        let start = looks.0.lock()[0].0;
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(looks.note(at(500), &stats(5)), (start, Vec::new()));
        assert_eq!(looks.note(at(2000), &stats(20)), (start, Vec::new()));
        assert_eq!(looks.note(at(2500), &stats(25)), (start, Vec::new()));
        assert_eq!(looks.note(at(3500), &stats(35)), (at(2000), stats(20)));
        let look = InstanceLook {
            now: stats(35).remove(0),
            before: stats(20).remove(0),
            seconds: 1.5,
        };
        assert_eq!(look.rate(|s| s.reads), 10.0);
        assert_eq!(look.per_thousand(|s| s.reads), Some(500));
        assert_eq!(look.per_thousand(|s| s.created), Some(0));
    }
}
