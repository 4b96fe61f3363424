//! Stopping: on request, and when a time is over.

use crate::Result;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether the experiment should end: it then reports what it has and cleans up.
#[derive(Clone, Default)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    until: Option<Until>,
}

/// When a time is over.
#[derive(Clone)]
struct Until {
    when: Instant,
    /// Somebody who had more to do has found it over.
    met: Arc<AtomicBool>,
}

impl Stop {
    /// Set by the first SIGINT or SIGTERM; a second one ends the process.
    pub fn on_signals() -> Result<Stop> {
        let stop = Stop::default();
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register_conditional_shutdown(signal, 130, stop.asked.clone())?;
            signal_hook::flag::register(signal, stop.asked.clone())?;
        }
        Ok(stop)
    }
    /// The same, and set after this time, or when the time of this one is over, if that is earlier.
    pub fn within(&self, time: Duration) -> Stop {
        let when = Instant::now() + time;
        let earlier = self.until.as_ref().map_or(when, |u| u.when.min(when));
        Stop {
            asked: self.asked.clone(),
            until: Some(Until {
                when: earlier,
                met: Arc::default(),
            }),
        }
    }
    /// The same, for the first of so many who share what is left of the time.
    pub fn shared_by(&self, parts: usize) -> Stop {
        match &self.until {
            None => self.clone(),
            Some(until) => {
                let left = until.when.saturating_duration_since(Instant::now());
                self.within(left / parts.max(1) as u32)
            }
        }
    }
    /// Asks the experiment to end.
    pub fn set(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }
    /// Asks it to end when the value goes, by a panic too.
    pub fn on_drop(&self) -> impl Drop + use<> {
        struct OnDrop(Stop);
        impl Drop for OnDrop {
            fn drop(&mut self) {
                self.0.set();
            }
        }
        OnDrop(self.clone())
    }
    /// Whether it should end: for those who have more to do, since from then on it is known that something was left out.
    pub fn is_set(&self) -> bool {
        self.is_asked() || self.until.as_ref().is_some_and(Until::is_over)
    }
    /// Whether it was asked to end.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
    /// Whether the time was over before all was done.
    pub fn was_short(&self) -> bool {
        let met = |u: &Until| u.met.load(Ordering::Relaxed);
        self.until.as_ref().is_some_and(met)
    }
    /// Sleeps until then, or until the experiment should end; whether it may go on.
    pub fn sleep_until(&self, when: Instant) -> bool {
        loop {
            if self.is_set() {
                return false;
            }
            let left = when.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(Duration::from_millis(20)));
        }
    }
}

impl Until {
    fn is_over(&self) -> bool {
        let over = Instant::now() >= self.when;
        if over {
            self.met.store(true, Ordering::Relaxed);
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_ends_for_those_within_it_alone() {
        let whole = Stop::default();
        let part = whole.within(Duration::ZERO);
        assert!(!part.was_short());
        assert!(part.is_set() && part.was_short() && !part.is_asked());
        assert!(!whole.is_set() && !whole.was_short());
        // No part is longer than the whole.
        assert!(part.within(Duration::from_secs(600)).is_set());
        let half = whole.within(Duration::from_secs(600)).shared_by(2);
        assert!(!half.is_set());
        whole.set();
        assert!(half.is_set() && !half.was_short());
    }
}
