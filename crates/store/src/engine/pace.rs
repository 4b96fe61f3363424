//! How fast the reclaimer works, and what it lets others know.
//!
//! The rate is a promise about bytes over time: after each step the thread waits until what it has freed since it last
//! was idle fits the rate. A change of the rate takes effect at once. Whoever needs space now
//! ([`Shared::relief`]) ends the wait, and the thread goes as fast as it can while anybody needs it.
//!
//! Locks: `state` is a leaf; `graveyard` is taken with nothing held.

use crate::pool::Pace;
use crate::space::SpaceId;
use parking_lot::{Condvar, Mutex};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A step frees what the rate allows in this part of a second.
const STEPS_PER_SECOND: u64 = 20;
/// Debts of time below this are not worth a sleep; they add up.
const LEAST_WAIT: Duration = Duration::from_millis(2);
/// Longest wait in one go; the debt that is left is waited for afterwards.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// What the reclaimer's thread and its users share.
pub(super) struct Shared {
    pub state: Mutex<State>,
    /// Held while a grave's row is removed, and by whoever needs the graveyard as it is.
    pub graveyard: Mutex<()>,
    /// For the thread: there is work, haste, another rate, or the end.
    pub wake: Condvar,
    /// For those in need: something was freed, or a pass ended.
    pub progress: Condvar,
    /// Bytes a second; 0: no limit.
    rate: AtomicU64,
    /// Graves there are.
    graves: AtomicU64,
    /// Graves dug up since opening.
    pub spaces: AtomicU64,
    /// Bytes given back since opening.
    bytes: AtomicU64,
}

#[derive(Default)]
pub(super) struct State {
    pub work: bool,
    /// Work was begun and is not done.
    busy: bool,
    /// Graves of before the opening are being counted.
    counting: bool,
    pub stop: bool,
    /// Threads that need space now, and those of them that need it in the shared file.
    pub urgent: u32,
    pub urgent_shared: u32,
    /// Passes begun and ended.
    begun: u64,
    ended: u64,
    /// Spaces whose graves are left alone.
    pub held: HashSet<SpaceId>,
    /// The grave being dug up.
    current: Option<SpaceId>,
}

impl State {
    pub fn begin_pass(&mut self) {
        (self.work, self.busy) = (false, true);
        self.begun += 1;
    }

    pub fn end_pass(&mut self) {
        self.busy = false;
        self.ended = self.begun;
    }
}

impl Shared {
    pub fn new(rate: u64) -> Shared {
        Shared {
            state: Mutex::new(State {
                work: true,
                ..State::default()
            }),
            graveyard: Mutex::default(),
            wake: Condvar::new(),
            progress: Condvar::new(),
            rate: AtomicU64::new(rate),
            graves: AtomicU64::new(0),
            spaces: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// Changes the rate.
    pub fn set_rate(&self, rate: u64) {
        // Under the mutex, so that it cannot fall between the thread's look at the rate and its sleep.
        let _state = self.state.lock();
        self.rate.store(rate, Ordering::Relaxed);
        self.wake.notify_all();
    }

    pub fn graves_added(&self, n: u64) {
        self.graves.fetch_add(n, Ordering::Relaxed);
    }

    pub fn graves_removed(&self, n: u64) {
        // Those of before the opening may not have been counted, if that failed.
        let fewer = |graves: u64| Some(graves.saturating_sub(n));
        let _ = (self.graves).fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
    }

    /// Graves there are. Waits until those of before the opening have been counted.
    pub fn graves(&self) -> u64 {
        let mut state = self.state.lock();
        while state.counting && !state.stop {
            self.progress.wait(&mut state);
        }
        self.graves.load(Ordering::Relaxed)
    }

    /// Those of before the opening are being counted, or have been.
    pub fn set_counting(&self, counting: bool) {
        self.state.lock().counting = counting;
        self.progress.notify_all();
    }

    /// Graves dug up since opening.
    pub fn reclaimed_spaces(&self) -> u64 {
        self.spaces.load(Ordering::Relaxed)
    }

    /// Bytes given back since opening.
    pub fn reclaimed_bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether there is something to do.
    pub fn is_active(&self) -> bool {
        let state = self.state.lock();
        state.work || state.busy
    }

    /// Whether somebody waits for space.
    pub fn is_needed(&self) -> bool {
        self.state.lock().urgent > 0
    }

    /// The space whose grave is being dug up.
    pub fn current(&self) -> Option<SpaceId> {
        self.state.lock().current
    }

    /// Whether the grave is left alone for now.
    pub fn is_held(&self, space: SpaceId) -> bool {
        self.state.lock().held.contains(&space)
    }

    /// Whether a grave may be dug up now; if so it is the current one.
    pub fn begin_grave(&self, space: SpaceId) -> bool {
        let mut state = self.state.lock();
        let may = !state.held.contains(&space);
        state.current = may.then_some(space);
        may
    }

    /// The current grave is done with, or left. Whether to go on with others.
    pub fn end_grave(&self) -> bool {
        let mut state = self.state.lock();
        state.current = None;
        !state.stop
    }

    /// For a thread that found no space: has the reclaimer work without restraint until it has given something back.
    /// `false`: there is nothing to be had. `shared`: space in the shared file will do. Hold no latch, nor anything else that the reclaimer might wait for.
    pub fn relief(&self, shared: bool) -> bool {
        let mut state = self.state.lock();
        let before = self.reclaimed_bytes();
        // A pass under way may be past what has come since; the one after it is not.
        let enough = state.begun + 1;
        state.urgent += 1;
        state.urgent_shared += u32::from(shared);
        state.work = true;
        self.wake.notify_all();
        let helped = loop {
            if self.reclaimed_bytes() != before {
                break true;
            }
            if state.stop || state.ended >= enough {
                break false;
            }
            self.progress.wait(&mut state);
        };
        state.urgent -= 1;
        state.urgent_shared -= u32::from(shared);
        helped
    }
}

/// The pace of the reclaimer's thread.
pub(super) struct Paced<'s> {
    shared: &'s Shared,
    /// Bytes freed that the rate has not allowed yet, at `since`.
    debt: f64,
    since: Instant,
}

impl Paced<'_> {
    pub fn new(shared: &Shared) -> Paced<'_> {
        Paced {
            shared,
            debt: 0.0,
            since: Instant::now(),
        }
    }

    /// Takes the time that has passed off the debt.
    fn settle(&mut self, rate: u64) {
        let now = Instant::now();
        let paid = (now - self.since).as_secs_f64() * rate as f64;
        self.debt = (self.debt - paid).max(0.0);
        self.since = now;
    }
}

impl Pace for Paced<'_> {
    fn step_bytes(&mut self) -> u64 {
        let in_need = self.shared.state.lock().urgent > 0;
        match self.shared.rate.load(Ordering::Relaxed) {
            0 => u64::MAX,
            _ if in_need => u64::MAX,
            rate => rate / STEPS_PER_SECOND,
        }
    }

    fn freed(&mut self, bytes: u64) -> ControlFlow<()> {
        let shared = self.shared;
        let mut state = shared.state.lock();
        shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        shared.progress.notify_all();
        self.settle(shared.rate.load(Ordering::Relaxed));
        self.debt += bytes as f64;
        loop {
            if state.stop {
                return ControlFlow::Break(());
            }
            let rate = shared.rate.load(Ordering::Relaxed);
            if rate == 0 || state.urgent > 0 {
                self.debt = 0.0;
                return ControlFlow::Continue(());
            }
            let wait = Duration::try_from_secs_f64(self.debt / rate as f64);
            let wait = wait.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
            if wait < LEAST_WAIT {
                return ControlFlow::Continue(());
            }
            shared.wake.wait_for(&mut state, wait);
            self.settle(rate);
        }
    }
}

/// Tells those who wait that the thread has ended, however it did.
pub(super) struct Ending<'s>(pub &'s Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.state.lock().stop = true;
        self.0.wake.notify_all();
        self.0.progress.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps follow the rate; haste and the end cut waits short.
    #[test]
    fn the_rate_is_kept_unless_somebody_is_in_need() {
        let shared = Shared::new(1 << 20);
        let mut pace = Paced::new(&shared);
        assert_eq!(pace.step_bytes(), (1 << 20) / STEPS_PER_SECOND);
        let begun = Instant::now();
        for _ in 0..4 {
            assert!(pace.freed(1 << 14).is_continue());
        }
        // 64 KiB at 1 MiB a second, but for debts too small to wait for.
        assert!(begun.elapsed() >= Duration::from_millis(60));
        shared.set_rate(0);
        assert_eq!(pace.step_bytes(), u64::MAX);
        assert!(pace.freed(1 << 40).is_continue());
        // A wait of eleven days, but somebody is in need.
        shared.set_rate(1 << 20);
        std::thread::scope(|s| {
            s.spawn(|| {
                assert!(shared.relief(false));
            });
            while shared.state.lock().urgent == 0 {
                std::thread::yield_now();
            }
            assert!(pace.freed(1 << 40).is_continue());
        });
        shared.set_rate(1);
        std::thread::scope(|s| {
            s.spawn(|| {
                let _end = Ending(&shared);
            });
            while pace.freed(1 << 40).is_continue() {}
        });
        assert!(!shared.relief(false), "the thread has ended");
        assert_eq!(shared.reclaimed_bytes() >> 40, 3);
    }
}
