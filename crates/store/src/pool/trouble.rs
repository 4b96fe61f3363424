//! Pages that cannot be written for now because their files cannot be opened: no descriptor is left, a file has gone.
//!
//! They stay dirty and are tried again in every round of the cleaner, so nothing is lost, but no checkpoint passes them.
//! The log says so now and then; once it is full for that reason, whoever wants to write is told
//! ([`super::room`]).
//!
//! Ends of transactions that wait for such a lack to pass ([`Error::is_passing`]) are told of here as well.

use crate::error::Error;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// The log is told again after this.
const REMIND: Duration = Duration::from_secs(10);
/// A reason not seen for this long is none any more: the cleaner goes round more often while anybody waits.
const FRESH: Duration = Duration::from_secs(1);

/// The latest of it. The mutex is a leaf.
#[derive(Default)]
pub(crate) struct Trouble {
    last: Mutex<Option<Last>>,
    /// When the log was last told of an end that waits. A leaf as well.
    ends_told: Mutex<Option<Instant>>,
}

struct Last {
    why: Error,
    at: Instant,
    told: Instant,
}

impl Trouble {
    /// A page was left unwritten.
    pub fn note(&self, why: &Error) {
        let mut last = self.last.lock();
        let at = Instant::now();
        let told = match &*last {
            Some(l) if at - l.told < REMIND => l.told,
            _ => {
                tracing::warn!("changed pages cannot be written for now: {why}");
                at
            }
        };
        let why = why.clone();
        *last = Some(Last { why, at, told });
    }

    /// The end of a transaction waits because of this.
    pub fn end_waits(&self, transaction: u64, why: &Error) {
        let mut told = self.ends_told.lock();
        if told.is_none_or(|at| at.elapsed() >= REMIND) {
            *told = Some(Instant::now());
            tracing::warn!(transaction, "the end of a transaction waits: {why}");
        }
    }

    /// Why pages are not being written just now, if so.
    pub fn present(&self) -> Option<Error> {
        let last = self.last.lock();
        let last = last.as_ref().filter(|l| l.at.elapsed() < FRESH)?;
        Some(last.why.clone())
    }
}
