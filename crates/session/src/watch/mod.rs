//! The stall record: what statements took, when, and which DDL ran meanwhile, all on one clock.
//!
//! | file | owns |
//! |---|---|
//! | `clock` | nanoseconds since the start, and wall time from them |
//! | `kind` | kinds of statements, and the few classes of the time line |
//! | `latency` | histograms of latency by kind |
//! | `timeline` | for each tick of 10 ms of the last five minutes, how many statements ended and the slowest of them |
//! | `ddl` | DDL statements with their start and end |
//! | `stalls` | the gaps in the time line during which some statement ran and none ended |
//!
//! **Promises.** Ending a statement costs one read of the clock, two additions and one compare-and-swap on cache lines
//! that few threads share, and takes no lock. Memory is bounded: [`Watch`] holds some 200 KiB and two MiB for each of its
//! stripes, the latter allocated as time passes. Readers merge stripes and disturb nobody.
//!
//! **Locks.** The list of DDL events is behind a mutex that DDL statements take twice each and readers take to copy it.
//! **Fails**: never.
//!
//! A statement belongs to the tick in which it ended. Its latency runs from when its text is parsed to when its answer is
//! complete, its commit included; time on the wire is in it only where a large result is sent piece by piece.

mod clock;
mod ddl;
mod kind;
mod latency;
mod stalls;
mod timeline;

pub use ddl::DdlEvent;
pub(crate) use kind::object as ddl_object;
pub use kind::{Class, StatementKind};
pub use latency::{KindLatency, LINEAR_BUCKETS, LINEAR_MS, LOG_BUCKETS};
pub use stalls::Stall;
pub use timeline::Tick;

pub use millpond_store::wait::{WaitStats, snapshot as waits};

use clock::Clock;
use ddl::DdlLog;
use latency::Latency;
use millpond_store::PageWork;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use timeline::Timeline;

/// Length of a tick, microseconds.
pub const TICK_US: u64 = 10_000;

/// Most stripes: threads are spread over as many as the machine has processors, up to this.
const MAX_STRIPES: usize = 16;

/// An instance's stall record.
pub struct Watch {
    clock: Clock,
    latency: Latency,
    timeline: Timeline,
    ddl: DdlLog,
    /// Stripes less one: a power of two.
    mask: usize,
}

/// Where a statement that has begun is in time, and what it is. Whoever completes its answer hands it to
/// [`Watch::finish`]; that may be another thread.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// What it is.
    pub kind: StatementKind,
    /// When it began, in nanoseconds of [`Watch::now_ns`].
    pub start_ns: u64,
}

/// This thread's place among the stripes.
#[inline]
fn place() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PLACE: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    let place = PLACE.get();
    if place != usize::MAX {
        return place;
    }
    let place = NEXT.fetch_add(1, Ordering::Relaxed) % MAX_STRIPES;
    PLACE.set(place);
    place
}

impl Watch {
    /// An empty record that begins now.
    pub(crate) fn new() -> Watch {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let stripes = threads.next_power_of_two().min(MAX_STRIPES);
        Watch {
            clock: Clock::new(),
            latency: Latency::new(stripes),
            timeline: Timeline::new(stripes),
            ddl: DdlLog::default(),
            mask: stripes - 1,
        }
    }

    /// Nanoseconds since the record began, on a clock that never goes back.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Microseconds since 1970 UTC at a moment of [`Watch::now_ns`] that is not long past.
    #[inline]
    pub fn wall_us(&self, ns: u64) -> u64 {
        self.clock.wall_us(ns)
    }

    /// Records that a statement's answer was complete at `end_ns`; its latency in nanoseconds.
    #[inline]
    pub fn finish(&self, running: Running, end_ns: u64) -> u64 {
        let ns = end_ns.saturating_sub(running.start_ns);
        let stripe = place() & self.mask;
        let us = ns / 1000;
        self.latency.add(stripe, running.kind, us);
        let tick = end_ns / (TICK_US * 1000);
        self.timeline.add(stripe, running.kind.class(), tick, us);
        ns
    }

    /// Latencies by kind, of kinds that were seen.
    pub fn latencies(&self) -> Vec<KindLatency> {
        self.latency.read()
    }

    /// Forgets all latencies.
    pub fn reset_latencies(&self) {
        self.latency.reset();
    }

    /// The ticks of the last five minutes in which statements ended, oldest first.
    pub fn ticks(&self) -> Vec<Tick> {
        self.timeline.read(self.now_ns() / (TICK_US * 1000))
    }

    /// Microseconds since 1970 UTC at a tick's start. Ticks are steps of one unbroken clock; a step of the wall clock moves
    /// all of them.
    pub fn tick_start_us(&self, tick: u64) -> u64 {
        self.clock.wall_us(tick * TICK_US * 1000)
    }

    /// Forgets the time line.
    pub fn reset_ticks(&self) {
        self.timeline.reset(self.now_ns() / (TICK_US * 1000));
    }

    /// The longest stalls of the last five minutes, longest first.
    pub fn stalls(&self) -> Vec<Stall> {
        stalls::find(&self.ticks())
    }

    /// A DDL statement begins; hand the number to [`Watch::end_ddl`].
    pub(crate) fn begin_ddl(&self, event: DdlEvent) -> u64 {
        self.ddl.begin(event)
    }

    /// A DDL statement has ended, with this error code or 0; `pages`: when it worked on cached pages of what it dropped.
    pub(crate) fn end_ddl(&self, id: u64, error: u16, pages: Option<PageWork>) {
        let at = |moment| self.clock.ns_at(moment);
        let pages = pages.map(|p| (at(p.began), at(p.ended)));
        self.ddl.end(id, self.now_ns(), error, pages);
    }

    /// The last DDL statements, oldest first.
    pub fn ddl_events(&self) -> Vec<DdlEvent> {
        self.ddl.read()
    }

    /// How many DDL statements there were.
    pub fn ddl_count(&self) -> u64 {
        self.ddl.count()
    }

    /// Forgets the DDL statements that have ended.
    pub fn reset_ddl(&self) {
        self.ddl.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_shows_everywhere() {
        let w = Watch::new();
        let start_ns = w.now_ns();
        let running = Running {
            kind: StatementKind::Update,
            start_ns,
        };
        let ns = w.finish(running, start_ns + 25_000_000);
        assert_eq!(ns, 25_000_000);
        let l = w.latencies();
        assert_eq!(l.len(), 1);
        assert_eq!((l[0].kind, l[0].count), (StatementKind::Update, 1));
        assert_eq!((l[0].sum_us, l[0].max_us), (25_000, 25_000));
        // Its end lies in the future of the clock, where no reader looks yet.
        assert!(w.ticks().is_empty());
        w.finish(running, w.now_ns());
        let now = w.now_ns();
        let ticks = w.ticks();
        assert_eq!(ticks.len(), 1);
        assert!(ticks[0].tick <= now / (TICK_US * 1000));
        assert_eq!(ticks[0].of(Class::Update).0, 1);
        w.reset_latencies();
        w.reset_ticks();
        assert!(w.latencies().is_empty() && w.ticks().is_empty());
    }

    #[test]
    fn many_threads_lose_nothing() {
        let w = Watch::new();
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    for _ in 0..1000 {
                        let running = Running {
                            kind: StatementKind::Select,
                            start_ns: w.now_ns(),
                        };
                        w.finish(running, w.now_ns());
                    }
                });
            }
        });
        assert_eq!(w.latencies()[0].count, 8000);
        let counted: u64 = w.ticks().iter().map(|t| t.of(Class::Select).0).sum();
        assert_eq!(counted, 8000);
    }
}
