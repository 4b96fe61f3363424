//! The work: a target at a time, a change at a time. Each change is tried first, which tells how it is made, and then made beside the
//! load as often as asked for.

use super::cases::{Case, Change, FURTHER, Step};
use super::{Args, Cell, How, Outcome, Plan, Results, Round};
use crate::Result;
use crate::bulk;
use crate::employees::beside::{Beheld, Beside};
use crate::employees::{Employees, TABLE};
use crate::frame::{Experiment, Lease, Place, Subject};
use crate::stats::Latencies;
use crate::target::{Client, EmbeddedOptions, Target, error_code, words};
use std::time::{Duration, Instant};

/// The embedded engine's redo log: no checkpoint skews the figures.
const LOG: u64 = 1 << 30;
/// What the load's rate is told of at least, however short the statement, unless it ran alone for less.
const LEAST: Duration = Duration::from_millis(250);

/// Units of progress of all: one for loading, one for each time that a case is tried or made.
pub(super) fn units(plan: &Plan, targets: usize) -> u64 {
    let case = 1 + u64::from(plan.rounds);
    targets as u64 * (plan.rows / bulk::UNIT + plan.cases.len() as u64 * case)
}

/// Measures a target; what was measured before an error stays in the results.
pub(super) fn target(args: &Args, on: Place<'_>, results: &mut Results) -> Result<()> {
    let plan = results.plan.clone();
    let options = EmbeddedOptions {
        log_bytes: Some(LOG),
        ..args.targets.embedded(plan.pool.0)
    };
    let target = on.spec.open(&args.targets.dir, &options)?;
    let mut lease = Lease::take(&*target, args.targets.durability)?;
    let number = results.conditions.targets();
    results.conditions.add(&*target, &mut lease)?;
    let name = target.name();
    results
        .subjects
        .push(Subject::new(&name, number, None, false));
    on.progress
        .step(format!("{name}: loading {} rows", plan.rows));
    let employees = Employees::create(&*target, &mut lease, plan.rows, FURTHER, on)?;
    let mut measured = Measured {
        target: &*target,
        lease,
        employees,
        plan: &plan,
        on,
        subject: results.subjects.len() - 1,
    };
    for case in &plan.cases {
        if on.stop.is_set() {
            break;
        }
        let what = case.names().next().unwrap_or_default();
        on.progress.step(format!("{name}: {what}"));
        let cells = measured.case(case)?;
        results.cells.extend(cells);
        args.keep(results)?;
    }
    measured.lease.end()
}

/// How a trial of a step ended: how the change was made, or what the target said.
type Tried = std::result::Result<How, String>;

/// A target under measurement.
struct Measured<'a> {
    target: &'a dyn Target,
    lease: Lease<'a>,
    employees: Employees,
    plan: &'a Plan,
    on: Place<'a>,
    subject: usize,
}

impl Measured<'_> {
    /// What came of a case's changes that are measured; nothing if it was stopped before their end.
    fn case(&mut self, case: &Case) -> Result<Vec<Cell>> {
        let mut hows = Vec::new();
        for step in case.steps() {
            match attempt(&mut *self.lease.client, step.change)? {
                Ok(how) => hows.push((step, how)),
                // What can't be taken back is in the way of everything after it.
                Err(why) if !hows.is_empty() => {
                    return Err(format!("{}: {why}", step.change.sql()).into());
                }
                Err(why) => {
                    self.on.progress.forgo(u64::from(self.plan.rounds));
                    self.on.progress.add(1);
                    return Ok(self.refused(case, &why));
                }
            }
        }
        self.on.progress.add(1);
        self.rounds(&hows)
    }

    fn refused(&self, case: &Case, why: &str) -> Vec<Cell> {
        let cell = |name| Cell {
            subject: self.subject,
            name,
            outcome: Outcome::Refused(why.into()),
            error: None,
        };
        case.names().map(cell).collect()
    }

    fn rounds(&mut self, steps: &[(Step, How)]) -> Result<Vec<Cell>> {
        let mut all: Vec<(Vec<Round>, Option<String>)> = vec![Default::default(); steps.len()];
        for _ in 0..self.plan.rounds {
            if self.on.stop.is_set() {
                return Ok(Vec::new());
            }
            for ((step, _), (rounds, error)) in steps.iter().zip(&mut all) {
                let sql = step.change.sql();
                if step.name.is_none() {
                    self.lease.client.run(&sql)?;
                    continue;
                }
                let (round, failure) = self.round(&sql)?;
                rounds.push(round);
                *error = error.take().or(failure);
            }
            self.on.progress.add(1);
        }
        self.employees.check(&mut *self.lease.client)?;
        let named = steps.iter().zip(all).filter_map(|((step, how), done)| {
            let (rounds, error) = done;
            let how = *how;
            Some(Cell {
                subject: self.subject,
                name: step.name?,
                outcome: Outcome::Made { how, rounds },
                error,
            })
        });
        Ok(named.collect())
    }

    fn round(&mut self, sql: &str) -> Result<(Round, Option<String>)> {
        let load = Beside {
            target: self.target,
            employees: &self.employees,
            threads: self.plan.threads,
            before: self.plan.before,
            least: LEAST.min(self.plan.before),
            stop: self.on.stop,
        };
        let client = &mut *self.lease.client;
        let (seconds, beheld) = load.run(|| {
            let begun = Instant::now();
            client.run(sql).map_err(|e| format!("{sql}: {e}"))?;
            Ok(begun.elapsed().as_secs_f64())
        })?;
        Ok((round(seconds, &beheld), beheld.error))
    }
}

fn round(seconds: f64, beheld: &Beheld) -> Round {
    Round {
        seconds,
        read_wait: longest(&beheld.during.reads),
        write_wait: longest(&beheld.during.writes),
        write_wait_alone: longest(&beheld.before.writes),
        kept: beheld.during.rate() / beheld.before.rate(),
        failed: beheld.failed,
    }
}

fn longest(latencies: &Latencies) -> f64 {
    match latencies.count() {
        0 => f64::NAN,
        _ => latencies.quantile(1.0),
    }
}

/// Makes a change with the least ALGORITHM that the target accepts, or with none.
fn attempt(client: &mut dyn Client, change: Change) -> Result<Tried> {
    if let Change::Alter(clauses) = change {
        for how in How::TRIED {
            let sql = format!("ALTER TABLE {TABLE} {clauses}, ALGORITHM={}", how.word());
            // One that is refused, or not known, has changed nothing.
            if accepted(client, &sql)?.is_ok() {
                return Ok(Ok(how));
            }
        }
    }
    Ok(accepted(client, &change.sql())?.map(|()| How::Untold))
}

/// Whether a target does it, or what it says; the error is of the connection.
fn accepted(client: &mut dyn Client, sql: &str) -> Result<std::result::Result<(), String>> {
    match client.run(sql) {
        Ok(_) => Ok(Ok(())),
        Err(e) if error_code(&e).is_some() => Ok(Err(words(&e))),
        Err(e) => Err(e),
    }
}
