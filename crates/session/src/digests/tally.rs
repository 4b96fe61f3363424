//! The counters of one digest in one schema.
//!
//! A few threads have cells of their own in each tally, made when they first count something there: they add with plain loads and stores. All
//! others share one, with atomic additions. Times are nanoseconds.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::Digest;
use super::histogram::{BUCKETS, bucket};
use crate::counters::Counter;
use millpond_sql::plan::Shape;

use Ordering::{Acquire, Relaxed, Release};

/// Threads that have cells of their own.
const ALONE: usize = 7;

/// A thread's place among a tally's cells.
struct Slot(usize);

/// Which of the first places are taken, as bits.
static TAKEN: AtomicU64 = AtomicU64::new(0);

impl Slot {
    fn take() -> Slot {
        let free = |taken: u64| {
            let at = (!taken).trailing_zeros() as usize;
            (at < ALONE).then(|| taken | 1 << at)
        };
        let before = TAKEN.fetch_update(Acquire, Relaxed, free);
        Slot(before.map_or(ALONE, |taken| (!taken).trailing_zeros() as usize))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.0 < ALONE {
            // Whoever takes the place next sees what was stored in its cells.
            TAKEN.fetch_and(!(1 << self.0), Release);
        }
    }
}

/// This thread's place; [`ALONE`] is that of all who have none.
#[inline]
fn slot() -> usize {
    thread_local! {
        static SLOT: Slot = Slot::take();
    }
    SLOT.try_with(|s| s.0).unwrap_or(ALONE)
}

/// After so many microseconds a sample is too old (`performance_schema_max_digest_sample_age`).
const SAMPLE_AGE_US: u64 = 60_000_000;

/// Longest text of a sample, in bytes (`performance_schema_max_sql_text_length`).
const LONGEST_SAMPLE: usize = 1024;

/// As much of a text as a sample has: of a long one no more is kept.
fn start_of(text: &Arc<str>) -> Arc<str> {
    if text.len() <= LONGEST_SAMPLE {
        return text.clone();
    }
    let fits = |at: &usize| text.is_char_boundary(*at);
    let end = (0..=LONGEST_SAMPLE).rev().find(fits);
    text[..end.unwrap_or(0)].into()
}

/// What a statement that has ended did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    /// How long it took.
    pub ns: u64,
    /// When it ended, microseconds since 1970 UTC.
    pub end_us: u64,
    /// How long it waited for locks.
    pub lock_ns: u64,
    /// Errors: one or none.
    pub errors: u64,
    pub warnings: u64,
    pub affected: u64,
    pub sent: u64,
    pub examined: u64,
    pub disk_tables: u64,
    pub sort_rows: u64,
    pub merge_passes: u64,
    /// The most memory it held, bytes.
    pub memory: u64,
    /// What its thread did on files, and how long that took.
    pub ios: u64,
    pub io_ns: u64,
    pub shape: Shape,
}

/// What was counted; see [`Done`] for the units.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    pub count: u64,
    pub ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub lock_ns: u64,
    pub errors: u64,
    pub warnings: u64,
    pub affected: u64,
    pub sent: u64,
    pub examined: u64,
    pub disk_tables: u64,
    pub tables: u64,
    pub full_joins: u64,
    pub range_joins: u64,
    pub ranges: u64,
    pub scans: u64,
    pub sorted_ranges: u64,
    pub sort_rows: u64,
    pub merge_passes: u64,
    pub sorted_scans: u64,
    pub no_index: u64,
    pub memory: u64,
    pub ios: u64,
    pub io_ns: u64,
    /// When the first and the last ended, microseconds since 1970 UTC.
    pub first_us: u64,
    pub last_us: u64,
}

impl Sums {
    /// Adds what another counted.
    pub fn add(&mut self, o: &Sums) {
        if o.last_us == 0 {
            return;
        }
        let first = self.last_us == 0;
        let least = |a: u64, b: u64| if first { b } else { a.min(b) };
        self.min_ns = least(self.min_ns, o.min_ns);
        self.first_us = least(self.first_us, o.first_us);
        self.max_ns = self.max_ns.max(o.max_ns);
        self.last_us = self.last_us.max(o.last_us);
        self.memory = self.memory.max(o.memory);
        for (to, from) in [
            (&mut self.count, o.count),
            (&mut self.ns, o.ns),
            (&mut self.lock_ns, o.lock_ns),
            (&mut self.errors, o.errors),
            (&mut self.warnings, o.warnings),
            (&mut self.affected, o.affected),
            (&mut self.sent, o.sent),
            (&mut self.examined, o.examined),
            (&mut self.disk_tables, o.disk_tables),
            (&mut self.tables, o.tables),
            (&mut self.full_joins, o.full_joins),
            (&mut self.range_joins, o.range_joins),
            (&mut self.ranges, o.ranges),
            (&mut self.scans, o.scans),
            (&mut self.sorted_ranges, o.sorted_ranges),
            (&mut self.sort_rows, o.sort_rows),
            (&mut self.merge_passes, o.merge_passes),
            (&mut self.sorted_scans, o.sorted_scans),
            (&mut self.no_index, o.no_index),
            (&mut self.ios, o.ios),
            (&mut self.io_ns, o.io_ns),
        ] {
            *to = to.saturating_add(from);
        }
    }
}

/// One slot's counters. What every statement adds to comes first.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Cell {
    count: AtomicU64,
    ns: AtomicU64,
    /// 0: there was none.
    min_ns: AtomicU64,
    max_ns: AtomicU64,
    first_us: AtomicU64,
    last_us: AtomicU64,
    sent: AtomicU64,
    examined: AtomicU64,
    affected: AtomicU64,
    lock_ns: AtomicU64,
    errors: AtomicU64,
    warnings: AtomicU64,
    disk_tables: AtomicU64,
    sort_rows: AtomicU64,
    merge_passes: AtomicU64,
    memory: AtomicU64,
    ios: AtomicU64,
    io_ns: AtomicU64,
    /// Those of [`Shape`].
    shape: [AtomicU64; 8],
}

/// The counters of a digest in a schema.
#[derive(Debug)]
pub(crate) struct Tally {
    /// The database in use; `None`: none, or several.
    pub schema: Option<Box<str>>,
    /// `None`: statements that have none, or found no place.
    pub digest: Option<Digest>,
    /// What kind of statement it is; `None`: none that parses.
    pub kind: Option<Counter>,
    cells: [OnceLock<Box<Cell>>; ALONE + 1],
    buckets: Box<[AtomicU64; BUCKETS]>,
    /// The sample's latency, and when it ended.
    sample_ns: AtomicU64,
    sample_us: AtomicU64,
    sample: Mutex<Option<Arc<str>>>,
}

fn shape_counts(s: &Shape) -> [u64; 8] {
    [
        s.scans,
        s.ranges,
        s.full_joins,
        s.range_joins,
        s.sorted_scans,
        s.sorted_ranges,
        s.temporaries,
        s.no_index.into(),
    ]
    .map(u64::from)
}

impl Cell {
    /// Nothing counted.
    pub fn new() -> Box<Cell> {
        let zero = || AtomicU64::new(0);
        Box::new(Cell {
            count: zero(),
            ns: zero(),
            min_ns: zero(),
            max_ns: zero(),
            first_us: zero(),
            last_us: zero(),
            sent: zero(),
            examined: zero(),
            affected: zero(),
            lock_ns: zero(),
            errors: zero(),
            warnings: zero(),
            disk_tables: zero(),
            sort_rows: zero(),
            merge_passes: zero(),
            memory: zero(),
            ios: zero(),
            io_ns: zero(),
            shape: std::array::from_fn(|_| zero()),
        })
    }

    /// Counts a statement. `alone`: no other thread adds to it.
    #[inline]
    pub fn add(&self, d: &Done, alone: bool) {
        let add = |to: &AtomicU64, n: u64| {
            if alone {
                to.store(to.load(Relaxed).wrapping_add(n), Relaxed);
            } else if n > 0 {
                to.fetch_add(n, Relaxed);
            }
        };
        add(&self.count, 1);
        add(&self.ns, d.ns);
        add(&self.sent, d.sent);
        add(&self.examined, d.examined);
        self.last_us.store(d.end_us, Relaxed);
        if d.ns > self.max_ns.load(Relaxed) {
            self.max_ns.fetch_max(d.ns, Relaxed);
        }
        let min = self.min_ns.load(Relaxed);
        if d.ns < min || min == 0 {
            self.less(d);
        }
        if d.affected | d.lock_ns | d.errors | d.warnings | d.memory | d.ios > 0 {
            add(&self.affected, d.affected);
            add(&self.lock_ns, d.lock_ns);
            add(&self.errors, d.errors);
            add(&self.warnings, d.warnings);
            add(&self.ios, d.ios);
            add(&self.io_ns, d.io_ns);
            if d.memory > self.memory.load(Relaxed) {
                self.memory.fetch_max(d.memory, Relaxed);
            }
        }
        if d.shape != Shape::default() {
            add(&self.disk_tables, d.disk_tables);
            add(&self.sort_rows, d.sort_rows);
            add(&self.merge_passes, d.merge_passes);
            for (to, n) in self.shape.iter().zip(shape_counts(&d.shape)) {
                add(to, n);
            }
        }
    }

    /// It took less than any before, or is the first.
    #[cold]
    fn less(&self, d: &Done) {
        let ns = d.ns.max(1);
        let lower = |now: u64| (now == 0 || ns < now).then_some(ns);
        let _ = self.min_ns.fetch_update(Relaxed, Relaxed, lower);
        let _ = self
            .first_us
            .compare_exchange(0, d.end_us, Relaxed, Relaxed);
    }

    /// What was counted.
    pub fn sums(&self) -> Sums {
        let load = |a: &AtomicU64| a.load(Relaxed);
        let [
            scans,
            ranges,
            full_joins,
            range_joins,
            sorted_scans,
            sorted_ranges,
            tables,
            no_index,
        ] = std::array::from_fn(|n| load(&self.shape[n]));
        Sums {
            count: load(&self.count),
            ns: load(&self.ns),
            min_ns: load(&self.min_ns),
            max_ns: load(&self.max_ns),
            lock_ns: load(&self.lock_ns),
            errors: load(&self.errors),
            warnings: load(&self.warnings),
            affected: load(&self.affected),
            sent: load(&self.sent),
            examined: load(&self.examined),
            disk_tables: load(&self.disk_tables),
            sort_rows: load(&self.sort_rows),
            merge_passes: load(&self.merge_passes),
            memory: load(&self.memory),
            ios: load(&self.ios),
            io_ns: load(&self.io_ns),
            first_us: load(&self.first_us),
            last_us: load(&self.last_us),
            tables,
            full_joins,
            range_joins,
            ranges,
            scans,
            sorted_ranges,
            sorted_scans,
            no_index,
        }
    }

    /// Sets all to zero.
    pub fn reset(&self) {
        let counters = [
            &self.count,
            &self.ns,
            &self.min_ns,
            &self.max_ns,
            &self.first_us,
            &self.last_us,
            &self.sent,
            &self.examined,
            &self.affected,
            &self.lock_ns,
            &self.errors,
            &self.warnings,
            &self.disk_tables,
            &self.sort_rows,
            &self.merge_passes,
            &self.memory,
            &self.ios,
            &self.io_ns,
        ];
        let counters = counters.into_iter().chain(&self.shape);
        counters.for_each(|a| a.store(0, Relaxed));
    }
}

impl Tally {
    pub(super) fn new(
        schema: Option<Box<str>>,
        digest: Option<Digest>,
        kind: Option<Counter>,
    ) -> Tally {
        Tally {
            schema,
            digest,
            kind,
            cells: Default::default(),
            buckets: Box::new([const { AtomicU64::new(0) }; BUCKETS]),
            sample_ns: AtomicU64::new(0),
            sample_us: AtomicU64::new(0),
            sample: Mutex::default(),
        }
    }

    /// Counts a statement.
    #[inline]
    pub fn add(&self, done: &Done) {
        let slot = slot();
        let cell = self.cells[slot].get_or_init(Cell::new);
        cell.add(done, slot < ALONE);
        self.buckets[bucket(done.ns)].fetch_add(1, Relaxed);
    }

    /// Counts a statement that has ended, of which `text` may become the sample.
    #[inline]
    pub fn count(&self, done: &Done, text: &Arc<str>) {
        self.add(done);
        if self.wants_sample(done.ns, done.end_us) {
            self.put_sample(text, done);
        }
    }

    /// Whether a statement of this latency that ends now should be the sample: it took longer than that, or that is old.
    #[inline]
    pub fn wants_sample(&self, ns: u64, end_us: u64) -> bool {
        ns > self.sample_ns.load(Relaxed)
            || end_us > self.sample_us.load(Relaxed).saturating_add(SAMPLE_AGE_US)
    }

    /// This is the sample from now on.
    #[cold]
    fn put_sample(&self, text: &Arc<str>, done: &Done) {
        let text = start_of(text);
        let mut sample = self.sample.lock();
        self.sample_ns.store(done.ns, Relaxed);
        self.sample_us.store(done.end_us, Relaxed);
        *sample = Some(text);
    }

    /// A statement's text, when it ended (microseconds since 1970 UTC) and its latency.
    pub fn sample(&self) -> Option<(Arc<str>, u64, u64)> {
        let sample = self.sample.lock();
        let text = sample.clone()?;
        Some((
            text,
            self.sample_us.load(Relaxed),
            self.sample_ns.load(Relaxed),
        ))
    }

    /// Whether anything was counted.
    pub fn is_used(&self) -> bool {
        let used = |c: &Cell| c.last_us.load(Relaxed) > 0;
        self.cells.iter().filter_map(|c| c.get()).any(|c| used(c))
    }

    /// What was counted.
    pub fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        let cells = self.cells.iter().filter_map(|c| c.get());
        for cell in cells.filter(|c| c.last_us.load(Relaxed) > 0) {
            sums.add(&cell.sums());
        }
        sums
    }

    /// Statements by bucket of latency.
    pub fn buckets(&self) -> [u64; BUCKETS] {
        std::array::from_fn(|b| self.buckets[b].load(Relaxed))
    }

    pub(super) fn reset(&self) {
        for cell in self.cells.iter().filter_map(|c| c.get()) {
            cell.reset();
        }
        self.buckets.iter().for_each(|b| b.store(0, Relaxed));
        let mut sample = self.sample.lock();
        *sample = None;
        self.sample_ns.store(0, Relaxed);
        self.sample_us.store(0, Relaxed);
    }
}
