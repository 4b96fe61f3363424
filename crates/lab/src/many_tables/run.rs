//! The phases and the threads that run them.
//!
//! Workers and the coordinator meet at a barrier before each phase; a worker that fails, or finds that it should stop, goes on
//! meeting the others without working. Counts are taken by the coordinator while a phase runs; a phase's end is the moment
//! the last worker finished, as the worker saw it.

use super::{DATABASE, Plan};
use crate::Result;
use crate::frame::Stop;
use crate::random::Random;
use crate::target::{Client, Target};
use indicatif::{ProgressBar, ProgressStyle};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, mpsc};
use std::time::{Duration, Instant};

/// Time between two counts.
const SAMPLE: Duration = Duration::from_millis(100);

/// What is done to every table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Create,
    Insert,
    Select,
    Drop,
}

impl Phase {
    pub(super) const ALL: [Phase; 4] = [Phase::Create, Phase::Insert, Phase::Select, Phase::Drop];

    pub(super) fn name(self) -> &'static str {
        match self {
            Phase::Create => "create",
            Phase::Insert => "insert",
            Phase::Select => "select",
            Phase::Drop => "drop",
        }
    }

    fn sql(self, table: u32, temporary: bool) -> String {
        let kind = if temporary {
            "TEMPORARY TABLE"
        } else {
            "TABLE"
        };
        match self {
            Phase::Create => format!("CREATE {kind} t{table} (i int primary key)"),
            Phase::Insert => format!("INSERT INTO t{table} VALUES (1)"),
            Phase::Select => format!("SELECT * FROM t{table}"),
            Phase::Drop => format!("DROP {kind} t{table}"),
        }
    }
}

/// How one phase went.
#[derive(Clone, Debug)]
pub(super) struct PhaseOutcome {
    pub phase: Phase,
    /// Tables done.
    pub done: u64,
    pub seconds: f64,
    /// (seconds since the phase began, tables done by then).
    pub samples: Vec<(f64, u64)>,
}

/// How the run went.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub phases: Vec<PhaseOutcome>,
    /// All phases ran to their end.
    pub complete: bool,
    /// The first error a worker met.
    pub error: Option<String>,
}

/// What a run goes by.
#[derive(Clone, Copy)]
pub(super) struct On<'a> {
    pub stop: &'a Stop,
    /// Whether it shows a bar of its own.
    pub shows: bool,
}

/// What workers and coordinator share.
struct Shared<'a> {
    target: &'a dyn Target,
    plan: Plan,
    /// Asked from outside to stop, or a worker failed.
    stop: &'a Stop,
    failed: AtomicBool,
    error: Mutex<Option<String>>,
    /// Workers and coordinator.
    barrier: Barrier,
    /// Tables done in this phase.
    done: AtomicU64,
}

impl Shared<'_> {
    fn stopping(&self) -> bool {
        self.stop.is_set() || self.failed.load(Ordering::Relaxed)
    }
    fn fail(&self, what: String) {
        self.failed.store(true, Ordering::Relaxed);
        let mut error = self.error.lock().unwrap_or_else(|e| e.into_inner());
        error.get_or_insert(what);
    }
}

/// Runs all phases, or as many as there is time for.
pub(super) fn run(target: &dyn Target, plan: Plan, on: On<'_>) -> Result<Outcome> {
    let shared = Shared {
        target,
        plan,
        stop: on.stop,
        failed: AtomicBool::new(false),
        error: Mutex::new(None),
        barrier: Barrier::new(plan.threads as usize + 1),
        done: AtomicU64::new(0),
    };
    let (finished, ends) = mpsc::channel();
    let phases = std::thread::scope(|scope| {
        for worker in 0..plan.threads {
            let (shared, finished) = (&shared, finished.clone());
            scope.spawn(move || work(shared, worker, &finished));
        }
        coordinate(&shared, &ends, on.shows)
    });
    let error = shared.error.into_inner().unwrap_or_else(|e| e.into_inner());
    Ok(Outcome {
        complete: phases.len() == Phase::ALL.len()
            && phases.iter().all(|p| p.done == plan.tables as u64),
        phases,
        error,
    })
}

/// The tables that a worker makes and drops.
fn share(plan: Plan, worker: u16) -> Range<u32> {
    let bound = |w: u16| (plan.tables as u64 * w as u64 / plan.threads as u64) as u32;
    bound(worker)..bound(worker + 1)
}

fn work(shared: &Shared<'_>, worker: u16, finished: &mpsc::Sender<Instant>) {
    let mut client = shared
        .target
        .connect()
        .and_then(|mut c| c.run(&format!("USE {DATABASE}")).map(|_| c))
        .map_err(|e| shared.fail(format!("cannot connect: {e}")))
        .ok();
    let mut random = Random::new(worker as u64 + 1);
    for phase in Phase::ALL {
        shared.barrier.wait();
        if let Some(client) = &mut client {
            for own in share(shared.plan, worker) {
                if shared.stopping() {
                    break;
                }
                let table = match phase {
                    Phase::Select if shared.plan.random_select => {
                        random.below(shared.plan.tables as u64) as u32
                    }
                    _ => own,
                };
                if let Err(e) = step(&mut **client, phase, table, shared.plan.temporary) {
                    shared.fail(e);
                    break;
                }
                shared.done.fetch_add(1, Ordering::Relaxed);
            }
        }
        // The coordinator outlives every worker.
        let _ = finished.send(Instant::now());
        shared.barrier.wait();
    }
}

fn step(
    client: &mut dyn Client,
    phase: Phase,
    table: u32,
    temporary: bool,
) -> std::result::Result<(), String> {
    let sql = phase.sql(table, temporary);
    let rows = client.run(&sql).map_err(|e| format!("{sql}: {e}"))?;
    if phase == Phase::Select && rows != 1 {
        return Err(format!("{sql}: returned {rows} rows where 1 was inserted"));
    }
    Ok(())
}

fn coordinate(
    shared: &Shared<'_>,
    ends: &mpsc::Receiver<Instant>,
    shows: bool,
) -> Vec<PhaseOutcome> {
    let mut phases = Vec::new();
    for phase in Phase::ALL {
        shared.done.store(0, Ordering::Relaxed);
        let bar = match shows {
            true => progress_bar(phase, shared.plan.tables),
            false => ProgressBar::hidden(),
        };
        let start = Instant::now();
        shared.barrier.wait();
        let skipped = shared.stopping();
        let outcome = watch(shared, phase, start, ends, &bar);
        shared.barrier.wait();
        bar.finish_and_clear();
        if !skipped || outcome.done > 0 {
            phases.push(outcome);
        }
    }
    phases
}

/// Counts until every worker has finished the phase.
fn watch(
    shared: &Shared<'_>,
    phase: Phase,
    start: Instant,
    ends: &mpsc::Receiver<Instant>,
    bar: &ProgressBar,
) -> PhaseOutcome {
    let mut next = start + SAMPLE;
    let mut last_end = start;
    let mut samples = vec![(0.0, 0)];
    let mut running = shared.plan.threads;
    while running > 0 {
        match ends.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(end) => {
                running -= 1;
                last_end = last_end.max(end);
            }
            Err(_) => {
                let done = shared.done.load(Ordering::Relaxed);
                samples.push((start.elapsed().as_secs_f64(), done));
                bar.set_position(done);
                next += SAMPLE;
            }
        }
    }
    let done = shared.done.load(Ordering::Relaxed);
    let seconds = (last_end - start).as_secs_f64();
    samples.retain(|s| s.0 < seconds);
    samples.push((seconds, done));
    PhaseOutcome {
        phase,
        done,
        seconds,
        samples,
    }
}

/// Hidden by itself where standard error is no terminal.
fn progress_bar(phase: Phase, tables: u32) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{prefix:>6} {bar:40} {pos}/{len} tables, {per_sec}, {eta} left",
    );
    let bar = ProgressBar::new(tables as u64).with_prefix(phase.name());
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests;
