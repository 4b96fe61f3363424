//! The work: a target at a time, a size at a time, every algorithm with each.

use super::{Args, Cell, Plan, Results, Round};
use crate::Result;
use crate::fill::{Fill, Filled, settle};
use crate::frame::{AlgorithmArgs, Experiment, Lease, Place, Progress, Size, Stop, Subject};
use std::time::Instant;

/// Units of progress of one round of a thousand tables; a MiB of filling is one.
const ROUND_UNITS: u64 = 60;
/// The part of the cached pages that may be dirty when measuring begins, if the target writes early.
const WRITTEN: f64 = 0.02;
/// The embedded engine's pool beside what it is filled with: undo, catalog, the small tables.
const ROOM: u64 = 128 << 20;

/// Units of progress of all.
pub(super) fn units(plan: &Plan, args: &AlgorithmArgs, targets: usize) -> u64 {
    let rounds = plan.fills.len() as u64 * args.algorithm.0.len() as u64 * plan.rounds as u64;
    let largest = plan.fills.last().map_or(0, |s| s.0) >> 20;
    targets as u64 * (largest + rounds * round_units(plan))
}

fn round_units(plan: &Plan) -> u64 {
    (plan.tables as u64 * ROUND_UNITS / 1000).max(1)
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
    let largest = plan.fills.last().map_or(0, |s| s.0);
    let options = args.targets.embedded(largest + largest / 10 + ROOM);
    let target = spec.open(&args.targets.dir, &options)?;
    let mut lease = Lease::take(&*target, args.targets.durability)?;
    let number = results.conditions.targets();
    results.conditions.add(&*target, &mut lease)?;
    let first = results.subjects.len();
    for algorithm in lease.algorithms(&args.choice.algorithm) {
        let subject = Subject::new(&target.name(), number, algorithm, several);
        results.subjects.push(subject);
    }
    let less = args.choice.algorithm.0.len() - (results.subjects.len() - first);
    progress.forgo((less * plan.fills.len()) as u64 * plan.rounds as u64 * round_units(&plan));
    let pool = lease.pool_size()?;
    let mut fill = Fill::default();
    for &size in &plan.fills {
        progress.step(format!("{}: filling the pool with {size}", target.name()));
        if let Some(why) = grow(&mut lease, &mut fill, size, pool, progress, stop)? {
            results.notes.push(format!("{}: {why}", target.name()));
            break;
        }
        // Else the first algorithm would be measured while pages are being written, the others not.
        settle(&mut lease, WRITTEN, stop)?;
        for subject in first..results.subjects.len() {
            if stop.is_set() {
                break;
            }
            let name = &results.subjects[subject].label;
            progress.step(format!("{name}: dropping tables with {size} cached"));
            let algorithm = results.subjects[subject].algorithm;
            lease.choose(algorithm)?;
            let cell = cell(&mut lease, &plan, subject, size, progress, stop)?;
            if let Some(cell) = cell {
                results.cells.push(cell);
                args.keep(results)?;
            }
        }
    }
    lease.end()
}

/// Fills the pool; why not, if it can't.
fn grow(
    lease: &mut Lease<'_>,
    fill: &mut Fill,
    size: Size,
    pool: u64,
    progress: &Progress,
    stop: &Stop,
) -> Result<Option<String>> {
    let small = |size| {
        Some(format!(
            "{size} does not fit into its pool of {}",
            Size(pool)
        ))
    };
    if size.0 > pool {
        return Ok(small(size));
    }
    Ok(match fill.grow_to(lease, size, progress, stop)? {
        Filled::Enough | Filled::Stopped => None,
        Filled::PoolFull => small(size),
    })
}

/// All rounds; none if it was stopped before the first was done.
fn cell(
    lease: &mut Lease<'_>,
    plan: &Plan,
    subject: usize,
    fill: Size,
    progress: &Progress,
    stop: &Stop,
) -> Result<Option<Cell>> {
    let pool = lease.pool()?;
    let mut rounds = Vec::new();
    for _ in 0..plan.rounds {
        if stop.is_set() {
            break;
        }
        rounds.push(round(lease, plan.tables, stop)?);
        progress.add(round_units(plan));
    }
    // A round that was cut short dropped its tables too, but how fast is not known of all of them.
    rounds.retain(|r| r.dropped.len() == plan.tables as usize);
    Ok((!rounds.is_empty()).then_some(Cell {
        subject,
        fill,
        pool,
        rounds,
    }))
}

/// Creates all tables, then drops them, one after the other on one connection, as the article did.
fn round(lease: &mut Lease<'_>, tables: u32, stop: &Stop) -> Result<Round> {
    let start = Instant::now();
    let mut made = 0;
    while made < tables && !stop.is_set() {
        lease.client.run(&format!(
            "CREATE TABLE ts_{made} (begin_time int not null, end_time int not null, primary key (begin_time))"
        ))?;
        made += 1;
    }
    let create = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut dropped = Vec::with_capacity(made as usize);
    for i in 0..made {
        lease.client.run(&format!("DROP TABLE ts_{i}"))?;
        dropped.push(start.elapsed().as_secs_f64());
    }
    Ok(Round { create, dropped })
}
