//! What statements did, by digest: performance_schema's events_statements_summary_by_digest and what is summed up from it.
//!
//! | file | owns |
//! |---|---|
//! | `errors` | how often each error was sent |
//! | `tally` | [`Tally`]: the counters of one digest in one schema |
//! | `histogram` | buckets of latency |
//!
//! **Owns** one [`Tally`] for each schema and digest text, `performance_schema_digests_size` of them at most; what comes beyond is counted
//! in one for each kind of statement, which the table shows as the row without a digest.
//!
//! **Promises.** A statement's digest is computed when a text is run for the first time, and the tally is kept with what the text was
//! compiled to ([`crate::statements::Parsed`]). From then on an execution compares the schema's name, adds to its thread's counters and, with
//! the one atomic addition, to a bucket of latency. Tallies are found by a hash only where a text is new, or runs in another schema than it
//! did first. Of texts longer than [`LONGEST_TEXT`] only that much is looked at. A tally is two KiB and a quarter for each thread that counts in it,
//! eight at most. TRUNCATE TABLE may miss what is counted at that moment.
//!
//! **Locks.** The map is in parts, each behind a mutex, a leaf. The text of a sample is behind one of the tally's own, which is taken when the
//! sample changes.
//!
//! **Counted** is what a client sends: a statement of a stored program is part of the statement that called it. One that runs by EXECUTE
//! is EXECUTE. Texts that do not parse have no digest.

mod errors;
mod histogram;
mod tally;

pub(crate) use errors::Errors;
pub(crate) use histogram::{BUCKETS, bucket_ns, quantile};
pub(crate) use tally::{Cell, Done, Sums, Tally};

use hashbrown::HashTable;
use parking_lot::Mutex;
use sha2::Digest as _;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::counters::Counter;
use millpond_syntax::LexMode;

/// Parts of the map.
const PARTS: usize = 16;
/// How much of a text its digest is made of, in bytes.
pub(crate) const LONGEST_TEXT: usize = 64 << 10;
/// Kinds of statements: by their counter, and those without one.
pub(crate) const KINDS: usize = Counter::NAMES.len() + 1;

/// A statement's digest: its text, and SHA-256 of that.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Digest {
    pub text: Box<str>,
    pub hash: [u8; 32],
}

/// The tallies of an instance.
pub(crate) struct Digests {
    hasher: hashbrown::DefaultHashBuilder,
    parts: [Mutex<HashTable<Arc<Tally>>>; PARTS],
    /// How many there are, and may be.
    count: AtomicUsize,
    most: usize,
    /// What found no place, by kind.
    rest: Box<[OnceLock<Arc<Tally>>]>,
}

impl Digests {
    /// None so far; `most` at a time.
    pub fn new(most: usize) -> Digests {
        Digests {
            hasher: hashbrown::DefaultHashBuilder::default(),
            parts: std::array::from_fn(|_| Mutex::default()),
            count: AtomicUsize::new(0),
            most,
            rest: (0..KINDS).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The tally of a text in a schema; the second is false if it is one that many share, to be asked for anew each time.
    pub fn of(
        &self,
        schema: Option<&str>,
        text: &str,
        mode: LexMode,
        kind: Option<Counter>,
    ) -> (Arc<Tally>, bool) {
        let text = millpond_syntax::digest_start(text, mode, LONGEST_TEXT);
        let hash = self.hasher.hash_one((schema, &*text));
        let mut part = self.parts[(hash >> 48) as usize % PARTS].lock();
        let same = |t: &Arc<Tally>| {
            t.schema.as_deref() == schema && t.digest.as_ref().is_some_and(|d| *d.text == *text)
        };
        if let Some(tally) = part.find(hash, same) {
            return (tally.clone(), true);
        }
        if self.count.fetch_add(1, Ordering::Relaxed) >= self.most {
            self.count.fetch_sub(1, Ordering::Relaxed);
            drop(part);
            return (self.rest(kind).clone(), false);
        }
        let digest = Digest {
            hash: sha2::Sha256::digest(&text).into(),
            text: text.into(),
        };
        let tally = Tally::new(schema.map(Into::into), Some(digest), kind);
        let tally = Arc::new(tally);
        let rehash = |t: &Arc<Tally>| {
            let text = t.digest.as_ref().map_or("", |d| &d.text);
            self.hasher.hash_one((t.schema.as_deref(), text))
        };
        part.insert_unique(hash, tally.clone(), rehash);
        (tally, true)
    }

    /// What statements of a kind are counted in that have no place of their own, or no digest.
    pub fn rest(&self, kind: Option<Counter>) -> &Arc<Tally> {
        self.rest[kind_number(kind)].get_or_init(|| Arc::new(Tally::new(None, None, kind)))
    }

    /// All that have counted something, in no order.
    pub fn all(&self) -> Vec<Arc<Tally>> {
        let mut all: Vec<Arc<Tally>> = Vec::new();
        for part in &self.parts {
            all.extend(part.lock().iter().cloned());
        }
        all.extend(self.rest.iter().filter_map(|t| t.get().cloned()));
        all.retain(|t| t.is_used());
        all
    }

    /// Statements that found no place, since the last [`Digests::reset`].
    pub fn lost(&self) -> u64 {
        let rest = self.rest.iter().filter_map(OnceLock::get);
        let lost = rest.filter(|t| t.kind.is_some());
        lost.map(|t| t.sums().count).sum()
    }

    /// Forgets what was counted, and the digests that no text is kept for.
    pub fn reset(&self) {
        for part in &self.parts {
            let mut part = part.lock();
            let before = part.len();
            part.retain(|t| Arc::strong_count(t) > 1);
            self.count.fetch_sub(before - part.len(), Ordering::Relaxed);
            part.iter().for_each(|t| t.reset());
        }
        self.rest
            .iter()
            .filter_map(OnceLock::get)
            .for_each(|t| t.reset());
    }
}

/// The position of a kind of statement among [`KINDS`].
#[inline]
pub(crate) fn kind_number(kind: Option<Counter>) -> usize {
    kind.map_or(KINDS - 1, |k| k as usize)
}

/// The kind at a position.
pub(crate) fn kind_at(number: usize) -> Option<Counter> {
    Counter::ALL.get(number).copied()
}

/// The instrument of a kind of statement, as performance_schema names it.
pub(crate) fn event_name(kind: Option<Counter>) -> String {
    let name = kind.and_then(|k| Counter::NAMES[k as usize].strip_prefix("Com_"));
    format!("statement/sql/{}", name.unwrap_or("error"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(ns: u64) -> Done {
        Done {
            ns,
            end_us: 7,
            ..Done::default()
        }
    }

    #[test]
    fn texts_alike_share_a_tally() {
        let d = Digests::new(2);
        let mode = LexMode::default();
        let of = |schema, text| d.of(schema, text, mode, Some(Counter::Select)).0;
        let a = of(Some("a"), "select 1");
        assert!(Arc::ptr_eq(&a, &of(Some("a"), "SELECT  2")));
        assert!(!Arc::ptr_eq(&a, &of(None, "SELECT 2")));
        // No place is left.
        let (rest, kept) = d.of(None, "SELECT a FROM t", mode, Some(Counter::Select));
        assert!(!kept && rest.digest.is_none());
        assert!(d.all().is_empty());
        a.add(&done(5));
        rest.add(&done(6));
        assert_eq!(d.all().len(), 2);
        d.reset();
        assert!(d.all().is_empty());
        // What nobody holds has made room.
        assert!(d.of(None, "SELECT a FROM t", mode, None).1);
        assert!(Arc::ptr_eq(&a, &of(Some("a"), "select 1")));
    }

    #[test]
    fn kinds_have_names() {
        assert_eq!(event_name(Some(Counter::Select)), "statement/sql/select");
        assert_eq!(event_name(None), "statement/sql/error");
    }
}
