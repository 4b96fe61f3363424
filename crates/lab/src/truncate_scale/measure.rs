//! The work: a target at a time, a pool at a time, every algorithm with each.

use super::{Args, Cell, Plan, Results, Round};
use crate::fill::{Fill, Filled, settle};
use crate::frame::{
    AlgorithmArgs, Chosen, DATABASE, Experiment, Lease, Machine, Place, PoolPages, Size, Spec,
    Subject,
};
use crate::target::{Client, Target};
use crate::{Error, Result};
use std::sync::Barrier;
use std::time::Instant;

/// Units of progress of a round; a MiB of filling is one.
const ROUND_UNITS: u64 = 15;
/// The part of the cached pages that may be dirty when measuring begins, if the target writes early.
const WRITTEN: f64 = 0.02;
/// The part of a pool that the big table fills.
const FULL: f64 = 0.9;

fn round_units(plan: &Plan) -> u64 {
    ROUND_UNITS * plan.rounds as u64
}

/// Units of progress of all. How large a server's pool is, is not known yet.
pub(super) fn units(plan: &Plan, args: &AlgorithmArgs, chosen: &Chosen) -> u64 {
    let algorithms = args.algorithm.0.len() as u64;
    let pool = |s: &Size| (s.0 >> 20) + algorithms * round_units(plan);
    let embedded: u64 = plan.pools.iter().map(pool).sum();
    let server = algorithms * round_units(plan) + 128;
    let spec = |s: &Spec| match s {
        Spec::Embedded => embedded,
        Spec::Url(_) => server,
    };
    chosen.specs.iter().map(spec).sum()
}

/// Measures a target; what was measured before an error stays in the results.
pub(super) fn target(args: &Args, on: Place<'_>, results: &mut Results) -> Result<()> {
    let number = results.conditions.targets();
    let pools: Vec<Option<Size>> = match on.spec {
        Spec::Embedded => results.plan.pools.iter().copied().map(Some).collect(),
        Spec::Url(_) => vec![None],
    };
    for pool in pools {
        if on.stop.is_set() {
            break;
        }
        if let Some(size) = pool.filter(|s| s.0 > Machine::memory_to_use()) {
            let why = format!("there is no memory for a pool of {size}");
            results.notes.push(why);
            continue;
        }
        Measured { args, on, number }.measure(pool, results)?;
    }
    Ok(())
}

/// A target under measurement.
struct Measured<'a> {
    args: &'a Args,
    on: Place<'a>,
    /// Its number in the report.
    number: usize,
}

impl Measured<'_> {
    /// Opens the target, with this pool if it is the embedded engine, and measures every algorithm.
    fn measure(&self, pool: Option<Size>, results: &mut Results) -> Result<()> {
        let plan = results.plan.clone();
        let options = self.args.targets.embedded(pool.map_or(0, |s| s.0));
        let target = self.on.spec.open(&self.args.targets.dir, &options)?;
        let mut lease = Lease::take(&*target, self.args.targets.durability)?;
        if results.conditions.targets() == self.number {
            results.conditions.add(&*target, &mut lease)?;
        }
        let size = Size(lease.pool_size()?);
        let algorithms = lease.algorithms(&self.args.choice.algorithm);
        let less = self.args.choice.algorithm.0.len() - algorithms.len();
        self.on.progress.forgo(less as u64 * round_units(&plan));
        let name = target.name();
        self.on
            .progress
            .step(format!("{name}: filling a pool of {size}"));
        let wanted = Size((size.0 as f64 * FULL) as u64);
        let filled = Fill::default().grow_to(&mut lease, wanted, self.on.progress, self.on.stop)?;
        if filled == Filled::Stopped {
            return lease.end();
        }
        // Else the first algorithm would be measured while the pages of the big table are being written, the others not.
        settle(&mut lease, WRITTEN, self.on.stop)?;
        for algorithm in algorithms {
            let subject = Subject::new(&name, self.number, algorithm, self.on.several);
            self.on
                .progress
                .step(format!("{}: pool of {size}", subject.label));
            lease.choose(algorithm)?;
            let pages = lease.pool()?;
            let rounds = self.rounds(&*target, &plan)?;
            if rounds.is_empty() {
                break;
            }
            results.push(subject, size.0, pages, rounds);
            self.args.keep(results)?;
        }
        lease.end()
    }

    fn rounds(&self, target: &dyn Target, plan: &Plan) -> Result<Vec<Round>> {
        let mut rounds = Vec::new();
        for _ in 0..plan.rounds {
            if self.on.stop.is_set() {
                break;
            }
            rounds.push(round(target, plan)?);
            self.on.progress.add(ROUND_UNITS);
        }
        Ok(rounds)
    }
}

impl Results {
    fn push(&mut self, subject: Subject, pool: u64, pages: PoolPages, rounds: Vec<Round>) {
        let known = self.subjects.iter().position(|s| *s == subject);
        let number = known.unwrap_or_else(|| {
            self.subjects.push(subject);
            self.subjects.len() - 1
        });
        self.cells.push(Cell {
            subject: number,
            pool,
            pages,
            rounds,
        });
    }
}

fn round(target: &dyn Target, plan: &Plan) -> Result<Round> {
    let create = |c: &mut dyn Client, i: u32| {
        c.run(&format!("CREATE TABLE e_{i} (i INT NOT NULL PRIMARY KEY)"))
    };
    let drop_it = |c: &mut dyn Client, i: u32| c.run(&format!("DROP TABLE e_{i}"));
    let (create_drop, slowest_drop) = at_once(target, plan, |c, i| {
        create(c, i)?;
        let start = Instant::now();
        drop_it(c, i)?;
        Ok(start.elapsed().as_secs_f64())
    })?;
    at_once(target, plan, |c, i| create(c, i).map(|_| 0.0))?;
    let (truncate, _) = at_once(target, plan, |c, i| {
        c.run(&format!("TRUNCATE TABLE e_{i}")).map(|_| 0.0)
    })?;
    at_once(target, plan, |c, i| drop_it(c, i).map(|_| 0.0))?;
    Ok(Round {
        create_drop,
        truncate,
        slowest_drop,
    })
}

/// Does it for every table on all connections at once, which are there before; seconds until all were done, and the largest
/// of the seconds that the work itself reports.
fn at_once(
    target: &dyn Target,
    plan: &Plan,
    work: impl Fn(&mut dyn Client, u32) -> Result<f64> + Sync,
) -> Result<(f64, f64)> {
    let barrier = Barrier::new(plan.threads as usize + 1);
    let one = |thread: u32| -> Result<(Instant, f64)> {
        let connected = target.connect().and_then(|mut c| {
            c.run(&format!("USE {DATABASE}"))?;
            Ok(c)
        });
        barrier.wait();
        let mut client = connected?;
        let mut most: f64 = 0.0;
        for i in (thread..plan.tables).step_by(plan.threads as usize) {
            most = most.max(work(&mut *client, i)?);
        }
        Ok((Instant::now(), most))
    };
    std::thread::scope(|scope| {
        let one = &one;
        let spawn = |n: u16| scope.spawn(move || one(n as u32));
        let threads: Vec<_> = (0..plan.threads).map(spawn).collect();
        barrier.wait();
        let start = Instant::now();
        let mut sum = (0.0f64, 0.0f64);
        for t in threads {
            let done = t.join().map_err(|_| Error::from("a thread panicked"))?;
            let (end, most) = done?;
            let took = end.saturating_duration_since(start).as_secs_f64();
            sum = (sum.0.max(took), sum.1.max(most));
        }
        Ok(sum)
    })
}
