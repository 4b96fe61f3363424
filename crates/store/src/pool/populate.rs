//! Memory ahead of need: the pool's frames and the hash index's table are mapped, and the kernel zeroes a piece of 2 MiB when it is
//! first touched. A thread of the pager's touches first, so that no statement waits for that.
//!
//! **Frames** are used in order. They are populated a bounded distance ahead: half of what is in use, from 2 to 32 MiB an
//! instance. So what a process takes of the system's memory follows what it uses; a large pool of which little is used costs little.
//! **The hash index** is used at random, so its table is populated as a whole, once a tree asks for it; until then lookups descend
//! ([`HashIndex::populate`](crate::hash_index::HashIndex::populate)).
//! Whoever overtakes the thread pays as before. Nothing here changes a byte.

use super::core::Core;
use super::lists::Instance;
use crate::page::PAGE_SIZE;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicU32, Ordering};

/// Frames populated at a time: what the kernel zeroes at a time.
const STEP: u32 = ((2 << 20) / PAGE_SIZE) as u32;
/// Most frames of an instance that are populated ahead.
const MOST: u32 = 16 * STEP;

/// How far an instance's frames are populated.
#[derive(Default)]
pub(crate) struct Populated {
    /// Up to here, from the instance's first frame on.
    to: AtomicU32,
    /// Whoever takes a frame from here on wakes the thread.
    wake_at: AtomicU32,
}

/// How the thread is told.
#[derive(Default)]
pub(crate) struct Wanted {
    state: Mutex<(bool, bool)>,
    wake: Condvar,
}

impl Wanted {
    /// Something is to be populated.
    pub fn wake(&self) {
        self.state.lock().0 = true;
        self.wake.notify_one();
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.state.lock().1 = true;
        self.wake.notify_one();
    }

    fn stopping(&self) -> bool {
        self.state.lock().1
    }

    /// Sleeps until there is something to do; `false`: the end.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        while !state.0 && !state.1 {
            self.wake.wait(&mut state);
        }
        state.0 = false;
        !state.1
    }
}

impl Core {
    /// Called by whoever takes a frame.
    #[inline]
    pub(super) fn note_taken(&self, instance: &Instance, n: u32) {
        let at = &instance.populated.wake_at;
        if n >= at.load(Ordering::Relaxed) {
            at.store(u32::MAX, Ordering::Relaxed);
            self.wanted.wake();
        }
    }

    fn populate_ahead(&self, instance: &Instance) {
        let (base, used, end) = instance.extent();
        let ahead = ((used - base) / 2).clamp(STEP, MOST);
        let target = used.saturating_add(ahead).min(end);
        let mut to = instance.populated.to.load(Ordering::Relaxed).max(used);
        while to < target && !self.wanted.stopping() {
            let next = (to + STEP).min(end);
            self.arena.populate(to..next);
            to = next;
            instance.populated.to.store(to, Ordering::Relaxed);
        }
        let wake_at = if to == end {
            u32::MAX
        } else {
            to.saturating_sub(STEP / 2)
        };
        instance.populated.wake_at.store(wake_at, Ordering::Relaxed);
    }

    /// The thread's body.
    pub(super) fn populate(&self) {
        loop {
            for instance in &self.instances {
                self.populate_ahead(instance);
            }
            self.hash.populate(&|| self.wanted.stopping());
            if !self.wanted.wait() {
                return;
            }
        }
    }
}
