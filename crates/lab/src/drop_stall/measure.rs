//! The work: a target at a time; on each, every algorithm without drops and then with them.

use super::oltp::{self, Clock, Kind, Recorded};
use super::tables::{self, LARGE, LOADED};
use super::{Args, Cell, Ddl, Event, Plan, Results, Run};
use crate::bulk;
use crate::frame::{
    AlgorithmArgs, Experiment, Lease, Place, PoolPages, Progress, Size, Stop, Subject,
};
use crate::stats::{Latencies, Timeline};
use crate::target::{Client, EmbeddedOptions, Target};
use crate::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// One unit of progress.
const UNIT: Duration = Duration::from_millis(100);
/// The load runs so long before it is recorded.
const RUN_IN: Duration = Duration::from_millis(500);
/// The article's redo log; large enough that no checkpoint skews the figures.
const LOG: u64 = 4 << 30;

/// Units of progress of all.
pub(super) fn units(plan: &Plan, args: &AlgorithmArgs, targets: usize) -> u64 {
    let runs = args.algorithm.0.len() as u64 * 2;
    targets as u64 * (plan.rows / bulk::UNIT + runs * run_units(plan))
}

fn run_units(plan: &Plan) -> u64 {
    ((plan.time + RUN_IN).as_millis() / UNIT.as_millis()) as u64
}

fn options(args: &Args, plan: &Plan) -> EmbeddedOptions {
    // The article's log had two thirds of the pool's size.
    let log = (plan.pool_bytes / 3 * 2).clamp(256 << 20, LOG);
    EmbeddedOptions {
        pool_instances: plan.pool_instances,
        log_bytes: Some(log),
        ..args.targets.embedded(plan.pool_bytes)
    }
}

/// Measures a target; what was measured before an error stays in the results.
pub(super) fn target(args: &Args, on: Place<'_>, results: &mut Results) -> Result<()> {
    let Place {
        spec,
        several,
        progress,
        stop,
    } = on;
    let plan = results.plan.clone();
    let target = spec.open(&args.targets.dir, &options(args, &plan))?;
    let mut lease = Lease::take(&*target, args.targets.durability)?;
    let number = results.conditions.targets();
    results.conditions.add(&*target, &mut lease)?;
    let algorithms = lease.algorithms(&args.choice.algorithm);
    let less = args.choice.algorithm.0.len() - algorithms.len();
    progress.forgo(less as u64 * 2 * run_units(&plan));
    progress.step(format!("{}: loading {} rows", target.name(), plan.rows));
    tables::load(&*target, &mut lease, plan.rows, progress, stop)?;
    let need = (plan.rows + plan.drop_rows) * tables::ROW_BYTES;
    let pool = lease.pool_size()?;
    if pool < need {
        results.notes.push(format!(
            "{}: its buffer pool of {} does not hold the tables of about {}, so that drops are not all that is measured",
            target.name(),
            Size(pool),
            Size(need)
        ));
    }
    for algorithm in algorithms {
        if stop.is_set() {
            break;
        }
        lease.choose(algorithm)?;
        let subject = Subject::new(&target.name(), number, algorithm, several);
        let label = subject.label.clone();
        results.subjects.push(subject);
        let context = Context {
            target: &*target,
            plan: &plan,
            progress,
            stop,
        };
        let Some(base) = context.run(&mut lease, &label, false)? else {
            break;
        };
        results.cells.push(Cell {
            subject: results.subjects.len() - 1,
            base,
            drops: None,
        });
        let drops = context.run(&mut lease, &label, true)?;
        if let Some(cell) = results.cells.last_mut() {
            cell.drops = drops;
        }
        args.keep(results)?;
    }
    lease.end()
}

/// What a run needs.
struct Context<'a> {
    target: &'a dyn Target,
    plan: &'a Plan,
    progress: &'a Progress,
    stop: &'a Stop,
}

impl Context<'_> {
    /// One run of the load, with or without drops; none if it was stopped before it began.
    fn run(&self, lease: &mut Lease<'_>, label: &str, drops: bool) -> Result<Option<Run>> {
        let case = if drops { "with drops" } else { "without drops" };
        self.progress
            .step(format!("{label}: preparing a run {case}"));
        let pool = tables::prepare(lease, self.plan, drops, self.stop)?;
        if self.stop.is_set() {
            tables::clear(lease, self.plan)?;
            return Ok(None);
        }
        self.progress.say(&format!("{label}, {case}: {pool}"));
        self.progress.step(format!("{label}, {case}"));
        let run = self.load(lease, pool, drops);
        tables::clear(lease, self.plan)?;
        run.map(Some)
    }

    fn load(&self, lease: &mut Lease<'_>, pool: PoolPages, drops: bool) -> Result<Run> {
        let start = Instant::now() + RUN_IN;
        let halt = AtomicBool::new(false);
        let clock = Clock {
            start,
            time: self.plan.time,
            stop: &halt,
        };
        let rows = self.plan.rows;
        let (recorded, events) = std::thread::scope(|scope| {
            let worker = |n: u16| {
                let (target, halt) = (self.target, &halt);
                scope.spawn(move || {
                    let done = oltp::work(target, rows, n as u64 + 1, clock);
                    // One that fails ends the run for all.
                    done.inspect_err(|_| halt.store(true, Ordering::Relaxed))
                })
            };
            let workers: Vec<_> = (0..self.plan.threads).map(worker).collect();
            let schedule: &[_] = if drops { &self.plan.schedule } else { &[] };
            let events = self.beside(lease, schedule, start, &halt);
            if events.is_err() || self.stop.is_set() {
                halt.store(true, Ordering::Relaxed);
            }
            let recorded: Vec<Result<Recorded>> = workers
                .into_iter()
                .map(|w| {
                    w.join()
                        .unwrap_or_else(|_| Err(Error::from("a thread panicked")))
                })
                .collect();
            (recorded, events)
        });
        let recorded = recorded.into_iter().collect::<Result<Vec<_>>>()?;
        let ran = start.elapsed().min(self.plan.time);
        Ok(sum(&recorded, pool, events?, ran))
    }

    /// Does what the schedule says, each at its time or as soon as the one before is done, until the run is over.
    fn beside(
        &self,
        lease: &mut Lease<'_>,
        schedule: &[(Duration, Ddl)],
        start: Instant,
        halt: &AtomicBool,
    ) -> Result<Vec<Event>> {
        let mut tick = Instant::now();
        let mut wait = |until: Instant| {
            let stopped = || self.stop.is_set() || halt.load(Ordering::Relaxed);
            while Instant::now() < until && !stopped() {
                let next = until.min(tick + UNIT);
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
                while tick + UNIT <= Instant::now() {
                    tick += UNIT;
                    self.progress.add(1);
                }
            }
            !stopped()
        };
        let mut events = Vec::new();
        for (at, ddl) in schedule {
            if !wait(start + *at) {
                return Ok(events);
            }
            let began = Instant::now();
            let what = execute(&mut *lease.client, *ddl)?;
            events.push(Event {
                at: (began - start).as_secs_f64(),
                took: began.elapsed().as_secs_f64(),
                what,
            });
        }
        wait(start + self.plan.time);
        Ok(events)
    }
}

/// Does it; says what was done.
fn execute(client: &mut dyn Client, ddl: Ddl) -> Result<String> {
    let sql = match ddl {
        Ddl::DropSmall(n) => format!("DROP TABLE {}", tables::small(n)),
        Ddl::DropLarge => format!("DROP TABLE {LARGE}"),
        Ddl::Churn(n) => {
            client.run(&format!("CREATE TABLE churn_{n} LIKE {LOADED}"))?;
            client.run(&format!("DROP TABLE churn_{n}"))?;
            return Ok(format!("CREATE TABLE churn_{n}, DROP TABLE churn_{n}"));
        }
    };
    client.run(&sql)?;
    Ok(sql)
}

/// All threads' records together.
fn sum(recorded: &[Recorded], pool: PoolPages, events: Vec<Event>, ran: Duration) -> Run {
    let mut timeline: Option<Timeline> = None;
    let mut kinds = vec![Latencies::default(); Kind::ALL.len()];
    for r in recorded {
        match &mut timeline {
            None => timeline = Some(r.timeline.clone()),
            Some(t) => t.add(&r.timeline),
        }
        for (all, one) in kinds.iter_mut().zip(&r.kinds) {
            all.add(one);
        }
    }
    let mut timeline = timeline.unwrap_or_default();
    timeline.truncate(ran.as_millis() as u64);
    let mut all = Latencies::default();
    kinds.iter().for_each(|k| all.add(k));
    Run {
        pool,
        timeline,
        all,
        kinds,
        conflicts: recorded.iter().map(|r| r.conflicts).sum(),
        events,
    }
}
