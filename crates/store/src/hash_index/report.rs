//! The index's section of SHOW ENGINE INNODB STATUS.

use super::{HashIndex, PartStats};
use parking_lot::Mutex;
use std::fmt::Write;
use std::time::Instant;

/// Searches so far, at a moment.
#[derive(Clone, Copy)]
struct Sample {
    at: Instant,
    hash: u64,
    tree: u64,
}

/// Averages per second since the report before.
pub(super) struct Rates(Mutex<[Sample; 2]>);

impl Rates {
    pub fn new() -> Rates {
        let none = Sample {
            at: Instant::now(),
            hash: 0,
            tree: 0,
        };
        Rates(Mutex::new([none; 2]))
    }

    /// Searches served by hash and by descents, a second. Reports that follow each other within a second have the same
    /// beginning.
    fn since_last(&self, hash: u64, tree: u64) -> (f64, f64) {
        let at = Instant::now();
        let now = Sample { at, hash, tree };
        let mut samples = self.0.lock();
        if now.at.duration_since(samples[1].at).as_secs() > 0 {
            *samples = [samples[1], now];
        }
        let from = samples[0];
        let seconds = now.at.duration_since(from.at).as_secs_f64().max(1e-3);
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        (rate(hash, from.hash), rate(tree, from.tree))
    }
}

impl HashIndex {
    /// Writes the section's lines; the arguments are the searches served by hash and by descents so far.
    pub fn report(&self, w: &mut String, hash: u64, tree: u64) -> std::fmt::Result {
        for PartStats { size, entries } in self.parts() {
            writeln!(w, "Hash table size {size}, {entries} entries")?;
        }
        if !self.is_on() {
            writeln!(w, "Adaptive hash index is off")?;
        }
        let (by_hash, by_tree) = self.rates.since_last(hash, tree);
        writeln!(
            w,
            "{by_hash:.2} hash searches/s, {by_tree:.2} non-hash searches/s"
        )
    }
}
