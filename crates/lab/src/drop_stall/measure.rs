//! The work on real targets: all are opened and filled, then they and their algorithms take turns.

use super::blocks::{self, Cell, Ended, Limits, Rig, Told};
use super::clock;
use super::design::Course;
use super::effects::Question;
use super::live::Live;
use super::load::{Generator, Load};
use super::record::Recording;
use super::tables::{self, Cached, Drops};
use super::{Args, Plan, Results};
use crate::algorithm::Algorithm;
use crate::fill::CHUNK_BYTES;
use crate::frame::{
    Experiment, Lease, Places, PoolPages, Precedence, Pressure, Progress, Size, Stop, Subject,
};
use crate::target::{EmbeddedOptions, Target};
use crate::{Error, Result};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// The article's redo log; large enough that no checkpoint skews the figures.
const LOG: u64 = 4 << 30;
/// The part of a pool that tables may take.
const USABLE: f64 = 0.85;
/// Off in the embedded engine, as in MySQL since 8.4 and MariaDB since 10.5: who finds a page by it doesn't meet the pool's mutex.
const HASH_INDEX: &str = "innodb_adaptive_hash_index";
/// Seconds in which a target shows what it can do.
const TRIAL: f64 = 1.0;
/// Drops by which their time is known before the experiment.
const TRIALS: usize = 8;
/// A drop's time is this part of the interval between two at most.
const BUSY: f64 = 0.2;
/// Seconds between two drops at least.
const CLOSEST: f64 = 0.012;

/// Units of progress: MiB and batches of rows loaded, and hundredths of seconds, for a MiB takes about one.
pub(super) fn units(plan: &Plan, targets: usize) -> u64 {
    let one = plan.rows / crate::bulk::UNIT
        + (plan.cached.0 >> 20) / (CHUNK_BYTES >> 20) * (CHUNK_BYTES >> 20);
    targets as u64 * one + hundredths(plan.budget)
}

fn hundredths(seconds: f64) -> u64 {
    (seconds * 100.0) as u64
}

fn options(args: &Args, plan: &Plan) -> EmbeddedOptions {
    // The article's log had two thirds of the pool's size.
    let log = (plan.pool_bytes / 3 * 2).clamp(256 << 20, LOG);
    let mut usual = args.targets.embedded(plan.pool_bytes);
    // What is set by hand comes later, and counts.
    usual.variables.insert(0, (HASH_INDEX.into(), "OFF".into()));
    EmbeddedOptions {
        pool_instances: plan.pool_instances,
        log_bytes: Some(log),
        ..usual
    }
}

/// A target and what is known of it.
struct Stand<'t> {
    target: &'t dyn Target,
    lease: Lease<'t>,
    cached: Cached,
    drops: Drops,
    rate: f64,
    /// It tells when a drop works on pages.
    tells: bool,
}

/// What is known of a subject beside its pairs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Composition {
    /// The pool before its last run.
    pub pool: PoolPages,
    pub runs: u32,
}

/// Measures all targets; what was measured before an error stays in the results.
pub(super) fn targets(args: &Args, on: Places<'_>, results: &mut Results) -> Result<()> {
    let plan = results.plan.clone();
    let mut open = Vec::new();
    for spec in on.specs {
        open.push(spec.open(&args.targets.dir, &options(args, &plan))?);
    }
    let mut stands = Vec::new();
    for target in &open {
        if let Some(stand) = prepare(args, &**target, on, results)? {
            stands.push(stand);
        }
    }
    if on.stop.is_set() {
        return stands.into_iter().try_for_each(|s| s.lease.end());
    }
    let subjects = results.cells.len();
    for cell in &mut results.cells {
        cell.question.subjects = subjects;
    }
    let limits = results.limits(subjects);
    on.progress.say(&format!(
        "{subjects} to compare; windows of {:.2} s with drops and without in random order, for {:.0} s at most",
        limits.shape.window, limits.budget
    ));
    let watched = Stop::default();
    let (ended, pressure) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| Pressure::watch(&args.targets.dir, &watched));
        let until_the_end = watched.on_drop();
        let ended = interleave(args, on, &plan, &limits, &mut stands, results);
        drop(until_the_end);
        (ended, watching.join().unwrap_or_default())
    });
    results.extra.pressure = pressure;
    let ended = ended?;
    results.extra.ended = Some(ended);
    let lost = results.extra.lost.clone();
    for (number, stand) in stands.into_iter().enumerate() {
        // One that is lost can't be cleaned up; its lease says so.
        let cleaned = stand.lease.end();
        if !lost.contains(&number) {
            cleaned?;
        }
    }
    match results.extra.lost.is_empty() {
        true => Ok(()),
        false => Err(results.notes.last().cloned().unwrap_or_default().into()),
    }
}

/// Loads a target and finds what it can do; none if it was stopped.
fn prepare<'t>(
    args: &Args,
    target: &'t dyn Target,
    on: Places<'_>,
    results: &mut Results,
) -> Result<Option<Stand<'t>>> {
    let plan = results.plan.clone();
    let name = target.name();
    let mut lease = Lease::take(target, args.targets.durability)?;
    let number = results.conditions.targets();
    // Else a target would write its dirty pages while it is measured, and each algorithm would find others.
    lease.borrow("innodb_max_dirty_pages_pct", "90");
    if plan.hot {
        lease.borrow(HASH_INDEX, "ON");
    }
    results.conditions.add(target, &mut lease)?;
    let algorithms = lease.algorithms(&args.choice.algorithm);
    on.progress
        .step(format!("{name}: loading {} rows", plan.rows));
    tables::load(target, &mut lease, plan.rows, on.progress, on.stop)?;
    let pool = lease.pool_size()?;
    let most = Size((pool as f64 * USABLE) as u64);
    let size = plan.cached.min(most);
    on.progress
        .step(format!("{name}: filling the pool with {size}"));
    let mut cached = Cached::default();
    let whole = cached.grow(&mut lease, size, on.progress, on.stop)?;
    if size < plan.cached || !whole {
        let why = format!(
            "{name} has a pool of {}: less than {} is cached",
            Size(pool),
            plan.cached
        );
        results.notes.push(why);
    }
    let tells = clock::is_there(&mut *lease.client);
    let mut stand = Stand {
        target,
        lease,
        cached,
        drops: Drops::new(&plan),
        rate: 0.0,
        tells,
    };
    if on.stop.is_set() {
        stand.lease.end()?;
        return Ok(None);
    }
    on.progress
        .step(format!("{name}: finding out what it can do"));
    let load = Load {
        target,
        rows: plan.rows,
        connections: plan.threads,
        rate: None,
        seed: plan.seed,
        stop: on.stop,
    };
    // As it is measured later: else a burst of other work would make the rate low for good.
    let precedence = plan.precedence.then(Precedence::take);
    let capacity = load.capacity(TRIAL)?;
    stand.rate = plan
        .rate
        .unwrap_or((capacity * plan.share).min(plan.most))
        .max(1.0);
    for algorithm in algorithms {
        stand.lease.choose(algorithm)?;
        let usual = (drop_time(&mut stand, on.stop)? / BUSY).max(CLOSEST);
        results.cells.push(Cell {
            subject: results.subjects.len(),
            question: Question {
                rate: stand.rate,
                subjects: 1,
                smallest: plan.smallest,
            },
            interval: plan.interval.unwrap_or(usual),
            adapts_from: plan.interval.is_none().then_some(usual),
            pairs: Vec::new(),
            crowded: false,
        });
        let subject = Subject::new(&name, number, algorithm, on.several);
        results.subjects.push(subject);
        results.extra.compositions.push(Composition::default());
    }
    drop(precedence);
    on.progress.say(&format!(
        "{name}: {:.0} requests/s at most, {:.0} are sent; {}",
        capacity,
        stand.rate,
        stand.lease.pool()?
    ));
    results.extra.capacities.push((capacity, stand.rate));
    Ok(Some(stand))
}

/// Seconds that a drop takes without a load beside it, in the middle of some.
fn drop_time(stand: &mut Stand<'_>, stop: &Stop) -> Result<f64> {
    stand.drops.make(&mut stand.lease, TRIALS, stop)?;
    let mut times = Vec::new();
    for _ in 0..TRIALS {
        if stop.is_set() {
            break;
        }
        let begun = Instant::now();
        stand.drops.next(&mut *stand.lease.client)?;
        times.push(begun.elapsed().as_secs_f64());
    }
    Ok(crate::stats::median(&times).unwrap_or(0.0))
}

/// Targets and algorithms in turns.
struct Stage<'a, 't> {
    plan: &'a Plan,
    stands: &'a mut [Stand<'t>],
    subjects: Vec<Subject>,
    /// Of the generator and of each subject.
    beside: &'a RefCell<(Generator, Vec<Composition>)>,
    live: &'a Live<'a>,
    progress: &'a Progress,
    stop: &'a Stop,
    begun: Instant,
    /// Hundredths of seconds that the progress bar knows of.
    shown: u64,
    runs: u64,
    /// Each run had it.
    precedence: bool,
}

impl Rig for Stage<'_, '_> {
    fn run(&mut self, subject: usize, course: &Course) -> Result<Option<Recording>> {
        let Subject {
            target, algorithm, ..
        } = self.subjects[subject];
        self.live.running(&self.subjects[subject].label);
        let recording = self.run_on(subject, target, algorithm, course)?;
        let now = hundredths(self.now()).min(hundredths(self.plan.budget));
        self.progress.add(now.saturating_sub(self.shown));
        self.shown = self.shown.max(now);
        Ok(recording)
    }
    fn now(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
    fn stopped(&self) -> bool {
        self.stop.is_set()
    }
    fn beside(&self, subject: usize) -> Vec<usize> {
        let target = self.subjects[subject].target;
        let all = self.subjects.iter().enumerate();
        all.filter(|s| s.1.target == target).map(|s| s.0).collect()
    }
}

impl Stage<'_, '_> {
    fn run_on(
        &mut self,
        subject: usize,
        target: usize,
        algorithm: Option<Algorithm>,
        course: &Course,
    ) -> Result<Option<Recording>> {
        let stand = &mut self.stands[target];
        stand.lease.choose(algorithm)?;
        stand
            .drops
            .make(&mut stand.lease, course.drops(), self.stop)?;
        let share = 1.0 / self.plan.dirty_ratio;
        let pool = stand.cached.dirty(&mut stand.lease, share, self.stop)?;
        if self.stop.is_set() {
            return Ok(None);
        }
        self.runs += 1;
        let load = Load {
            target: stand.target,
            rows: self.plan.rows,
            connections: self.plan.threads,
            rate: Some(stand.rate),
            seed: self.plan.seed + self.runs,
            stop: self.stop,
        };
        let first = stand.drops.dropped();
        let precedence = self.plan.precedence.then(Precedence::take);
        self.precedence &= precedence.as_ref().is_some_and(Precedence::given);
        let mut done = load.run(course, &mut *stand.lease.client, &mut stand.drops)?;
        drop(precedence);
        if let (true, Some((recording, _))) = (stand.tells, &mut done) {
            let client = &mut *stand.lease.client;
            clock::tell(client, first, recording, |m| course.windows[m.window].drops)?;
        }
        Ok(done.map(|(recording, generator)| {
            let mut beside = self.beside.borrow_mut();
            beside.0.add(&generator);
            let composition = &mut beside.1[subject];
            composition.pool = pool;
            composition.runs += 1;
            recording
        }))
    }
}

fn interleave(
    args: &Args,
    on: Places<'_>,
    plan: &Plan,
    limits: &Limits,
    stands: &mut [Stand<'_>],
    results: &mut Results,
) -> Result<Ended> {
    let subjects = results.subjects.clone();
    let labels: Vec<String> = subjects.iter().map(|s| s.label.clone()).collect();
    let live = Live::new(on.progress, &labels);
    let mut cells = std::mem::take(&mut results.cells);
    let compositions = std::mem::take(&mut results.extra.compositions);
    let beside = RefCell::new((Generator::default(), compositions));
    let mut lost: Vec<(usize, Error)> = Vec::new();
    let mut stage = Stage {
        plan,
        stands,
        subjects: subjects.clone(),
        beside: &beside,
        live: &live,
        progress: on.progress,
        stop: on.stop,
        begun: Instant::now(),
        shown: 0,
        runs: 0,
        precedence: true,
    };
    let mut kept = Instant::now();
    let gone = |cell: usize, e: Error| {
        let label = &labels[cell];
        on.progress
            .say(&format!("{label} is lost, the rest goes on: {e}"));
        lost.push((cell, e));
    };
    let told = |told: Told<'_>| {
        live.tell(&told);
        // Kept on disk now and then, for a run that ends before it can.
        if kept.elapsed() > KEEP {
            results.cells = told.cells.to_vec();
            (results.extra.generator, results.extra.compositions) = beside.borrow().clone();
            args.keep(results)?;
            kept = Instant::now();
        }
        Ok(())
    };
    let ended = blocks::run(&mut stage, limits, &mut cells, gone, told);
    results.extra.precedence = stage.runs > 0 && stage.precedence;
    results.cells = cells;
    (results.extra.generator, results.extra.compositions) = beside.into_inner();
    for (cell, e) in lost {
        let target = subjects[cell].target;
        let pairs = results.cells[cell].pairs.len();
        let label = &labels[cell];
        results.notes.push(format!(
            "{label} was lost after {pairs} pairs of windows: {e}"
        ));
        results.extra.lost.push(target);
    }
    ended
}

/// Time between two writes of what there is.
const KEEP: Duration = Duration::from_secs(10);
