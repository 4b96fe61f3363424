//! How often each error was sent to a client.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// What is known of one error. Times are microseconds since 1970 UTC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorCount {
    pub raised: u64,
    pub first_us: u64,
    pub last_us: u64,
}

/// Errors by code.
#[derive(Default)]
pub(crate) struct Errors(Mutex<BTreeMap<u16, ErrorCount>>);

impl Errors {
    /// Counts one.
    pub fn add(&self, code: u16, now_us: u64) {
        let mut errors = self.0.lock();
        let new = ErrorCount {
            raised: 0,
            first_us: now_us,
            last_us: now_us,
        };
        let known = errors.entry(code).or_insert(new);
        known.raised += 1;
        known.last_us = now_us;
    }
    /// All there were.
    pub fn all(&self) -> BTreeMap<u16, ErrorCount> {
        self.0.lock().clone()
    }
    /// Forgets them.
    pub fn reset(&self) {
        self.0.lock().clear();
    }
}
