//! When a thread's drops worked on cached pages: DDL statements are recorded with it, so that who measures what a drop does to others can tell
//! that work from the waits for the log before it.

use std::cell::Cell;
use std::time::Instant;

/// From when the algorithm began until it was done; of several one after the other, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageWork {
    /// When an algorithm began: not when a drop began to wait for its turn, or for the page cleaner.
    pub began: Instant,
    /// When the last was done.
    pub ended: Instant,
}

thread_local! {
    static DONE: Cell<Option<PageWork>> = const { Cell::new(None) };
}

impl PageWork {
    /// What the calling thread's drops have done since it last asked; none if they had no page to look for.
    pub fn take() -> Option<PageWork> {
        DONE.take()
    }

    /// Work that began then and is done now.
    pub(super) fn since(began: Instant) -> PageWork {
        PageWork {
            began,
            ended: Instant::now(),
        }
    }

    /// Adds it to what the calling thread has done.
    pub(super) fn note(self) {
        let began = DONE.get().map_or(self.began, |before| before.began);
        DONE.set(Some(PageWork { began, ..self }));
    }
}
