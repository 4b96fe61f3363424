//! One clock for all records: monotonic nanoseconds since the start, from which wall time is told.
//!
//! Reading the wall clock for every statement besides would double what reading clocks costs. So the distance between the
//! two clocks is kept and measured anew once a second: a wall clock that is slewed is followed within half a
//! millisecond, one that is set within a second.

use millpond_sql::env::now_us as unix_us;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How long a measured distance serves, nanoseconds.
const KEEP_NS: u64 = 1_000_000_000;

pub(super) struct Clock {
    base: Instant,
    /// Wall time at `base`, microseconds since 1970 UTC.
    base_us: AtomicU64,
    /// When that was measured.
    measured_ns: AtomicU64,
}

impl Clock {
    pub fn new() -> Clock {
        Clock {
            base: Instant::now(),
            base_us: AtomicU64::new(unix_us()),
            measured_ns: AtomicU64::new(0),
        }
    }

    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.base.elapsed().as_nanos() as u64
    }

    /// At that moment; 0 if it is before the start.
    pub fn ns_at(&self, moment: Instant) -> u64 {
        moment.saturating_duration_since(self.base).as_nanos() as u64
    }

    #[inline]
    pub fn wall_us(&self, ns: u64) -> u64 {
        if ns
            > self
                .measured_ns
                .load(Ordering::Relaxed)
                .saturating_add(KEEP_NS)
        {
            self.measure();
        }
        self.base_us.load(Ordering::Relaxed) + ns / 1000
    }

    #[cold]
    fn measure(&self) {
        let now_ns = self.now_ns();
        let base_us = unix_us().saturating_sub(now_ns / 1000);
        self.base_us.store(base_us, Ordering::Relaxed);
        self.measured_ns.store(now_ns, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_follows_the_wall_clock() {
        let c = Clock::new();
        let before = unix_us();
        let told = c.wall_us(c.now_ns());
        let after = unix_us();
        // The two clocks are not read at the same moment, and one may be slewed.
        assert!(told + 100_000 > before && told < after + 100_000);
        // Far from the truth, it comes back once the distance is stale.
        c.base_us.store(0, Ordering::Relaxed);
        assert!(c.wall_us(1) < before);
        assert!(c.wall_us(c.now_ns() + 2 * KEEP_NS) > before);
    }
}
