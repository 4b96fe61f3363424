//! Stopping on request.

use crate::Result;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether the experiment should end: it then reports what it has and cleans up.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Set by the first SIGINT or SIGTERM; a second one ends the process.
    pub fn on_signals() -> Result<Stop> {
        let stop = Stop::default();
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register_conditional_shutdown(signal, 130, stop.0.clone())?;
            signal_hook::flag::register(signal, stop.0.clone())?;
        }
        Ok(stop)
    }
    /// Asks the experiment to end.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
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
    /// Whether it was asked to.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
    /// The flag itself.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
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
