//! The work: a target at a time, each set of constraints, each way of rebuilding; quiet rounds on the table as it is, on the table
//! fragmented, and rounds beside a load.

use super::{Args, Cell, Loaded, Plan, Results, Way};
use crate::Result;
use crate::bulk;
use crate::employees::beside::Beside;
use crate::employees::{Employees, Keys, TABLE};
use crate::fill::settle;
use crate::frame::{Experiment, Lease, Place, Subject};
use crate::profile::{Profile, profiled};
use crate::random::Random;
use crate::report::chart::STYLES;
use crate::target::{Client, EmbeddedOptions, Target, TextRow};
use std::time::{Duration, Instant};

/// The variable that chooses the way.
const VARIABLE: &str = "expand_fast_index_creation";
/// Rows to a unit of progress, for a rebuild; loading counts for itself.
const UNIT: u64 = 50_000;
/// The embedded engine's redo log: no checkpoint skews the figures.
const LOG: u64 = 1 << 30;
/// The part of the cached pages that may be dirty when a fragmented table is rebuilt.
const WRITTEN: f64 = 0.02;

/// Units of progress of a rebuild.
fn rebuild_units(plan: &Plan) -> u64 {
    (plan.rows / UNIT).max(1)
}

/// Of a cell: a rebuild to begin with, then all kinds of rounds.
fn cell_units(plan: &Plan) -> u64 {
    rebuild_units(plan) * (1 + plan.kinds() * u64::from(plan.rounds))
}

/// Units of progress of all: every target is taken to have the variable, until it is known.
pub(super) fn units(plan: &Plan, targets: usize) -> u64 {
    let cells = (plan.ways.len() * plan.keys.len()) as u64 * cell_units(plan);
    targets as u64 * (plan.rows / bulk::UNIT + cells)
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
    let subjects = subjects(&mut *lease.client, &name, number, results);
    let less = plan.ways.len().saturating_sub(subjects.len()) * plan.keys.len();
    on.progress.forgo(less as u64 * cell_units(&plan));
    on.progress
        .step(format!("{name}: loading {} rows", plan.rows));
    let employees = Employees::create(&*target, &mut lease, plan.rows, "", on)?;
    let mut measured = Measured {
        target: &*target,
        lease,
        employees,
        plan: &plan,
        on,
        random: Random::new(plan.rows),
    };
    let mut has = Keys::Plain;
    for keys in in_turn(&plan.keys) {
        if on.stop.is_set() {
            break;
        }
        on.progress.step(format!("{name}: keys: {}", keys.name()));
        let client = &mut *measured.lease.client;
        measured.employees.set_keys(client, has, keys)?;
        has = keys;
        for &(subject, way) in &subjects {
            let label = results.subjects[subject].label.clone();
            on.progress.step(format!("{label}: {}", keys.name()));
            if let Some(cell) = measured.cell(subject, way, keys)? {
                results.cells.push(cell);
                results.cells.sort_by_key(|c| (c.subject, order(c.keys)));
                args.keep(results)?;
            }
        }
    }
    measured.lease.end()
}

/// Where the keys stand in reports.
fn order(keys: Keys) -> Option<usize> {
    Keys::ALL.iter().position(|k| *k == keys)
}

/// The keys chosen, such that few are dropped and made between one and the next.
fn in_turn(chosen: &[Keys]) -> impl Iterator<Item = Keys> {
    let all = [Keys::Plain, Keys::Unique, Keys::Both, Keys::ForeignKey];
    all.into_iter().filter(|k| chosen.contains(k))
}

/// The target with each way that it has.
fn subjects(
    client: &mut dyn Client,
    name: &str,
    number: usize,
    results: &mut Results,
) -> Vec<(usize, Way)> {
    // A target without the variable answers with an error, which says the same.
    let ways = match client.value(&format!("SELECT @@SESSION.{VARIABLE}")) {
        Ok(_) => results.plan.ways.clone(),
        Err(_) => {
            let note = format!("{name} has no {VARIABLE}, and was measured as it is");
            results.notes.push(note);
            vec![Way::AsItIs]
        }
    };
    let mut numbered = Vec::new();
    for way in ways {
        let mut subject = Subject::new(name, number, None, false);
        if way == Way::RowByRow {
            subject.label.push_str(", row by row");
            subject.style = (subject.style + 1) % STYLES;
        }
        numbered.push((results.subjects.len(), way));
        results.subjects.push(subject);
    }
    numbered
}

/// A target under measurement.
struct Measured<'a> {
    target: &'a dyn Target,
    lease: Lease<'a>,
    employees: Employees,
    plan: &'a Plan,
    on: Place<'a>,
    random: Random,
}

impl Measured<'_> {
    /// None if it was stopped before its end.
    fn cell(&mut self, subject: usize, way: Way, keys: Keys) -> Result<Option<Cell>> {
        if way != Way::AsItIs {
            let on = u8::from(way == Way::Sorted);
            let sql = format!("SET SESSION {VARIABLE} = {on}");
            self.lease.client.run(&sql)?;
        }
        let mut cell = Cell {
            subject,
            way,
            keys,
            fresh: Vec::new(),
            fragmented: Vec::new(),
            beside: Loaded::default(),
        };
        // So that the first round finds what the others do.
        self.rebuild()?;
        for _ in 0..self.plan.rounds {
            if self.on.stop.is_set() {
                return Ok(None);
            }
            cell.fresh.push(self.rebuild()?);
        }
        let fragmented = self.plan.fragment > 0.0;
        for _ in (0..self.plan.rounds).filter(|_| fragmented) {
            if self.on.stop.is_set() {
                return Ok(None);
            }
            let client = &mut *self.lease.client;
            self.employees
                .fragment(client, self.plan.fragment, &mut self.random)?;
            settle(&mut self.lease, WRITTEN, self.on.stop)?;
            cell.fragmented.push(self.rebuild()?);
        }
        for _ in 0..self.plan.rounds {
            if self.on.stop.is_set() {
                return Ok(None);
            }
            self.beside(&mut cell.beside)?;
        }
        self.employees.check(&mut *self.lease.client)?;
        Ok(Some(cell))
    }

    fn rebuild(&mut self) -> Result<Profile> {
        let sql = format!("OPTIMIZE TABLE {TABLE}");
        let (rows, profile) = profiled(&mut *self.lease.client, &sql)?;
        self.on.progress.add(rebuild_units(self.plan));
        optimized(&rows)?;
        Ok(profile)
    }

    fn beside(&mut self, loaded: &mut Loaded) -> Result<()> {
        let load = Beside {
            target: self.target,
            employees: &self.employees,
            threads: self.plan.threads,
            before: self.plan.before,
            least: Duration::ZERO,
            stop: self.on.stop,
        };
        let client = &mut *self.lease.client;
        let (seconds, beheld) = load.run(|| {
            let begun = Instant::now();
            let rows = client.rows(&format!("OPTIMIZE TABLE {TABLE}"))?;
            let seconds = begun.elapsed().as_secs_f64();
            optimized(&rows)?;
            Ok(seconds)
        })?;
        loaded.add(seconds, beheld);
        self.on.progress.add(rebuild_units(self.plan));
        Ok(())
    }
}

/// OPTIMIZE TABLE tells its failures in its rows: table, operation, kind of message, message.
fn optimized(rows: &[TextRow]) -> Result<()> {
    let text = |row: &TextRow, i: usize| row.get(i).cloned().flatten().unwrap_or_default();
    let said: Vec<(String, String)> = rows.iter().map(|r| (text(r, 2), text(r, 3))).collect();
    match said.last() {
        Some((kind, message)) if kind == "status" && message == "OK" => Ok(()),
        _ => Err(format!("OPTIMIZE TABLE answers {said:?}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_rows_are_failures() {
        let row = |kind: &str, message: &str| {
            ["employees.employees", "optimize", kind, message].map(|s| Some(s.to_string()))
        };
        let note = row(
            "note",
            "Table does not support optimize, doing recreate + analyze instead",
        );
        let done = [note.to_vec(), row("status", "OK").to_vec()];
        assert!(optimized(&done).is_ok());
        let failed = [
            row("error", "The table is full").to_vec(),
            row("status", "Operation failed").to_vec(),
        ];
        let why = optimized(&failed).unwrap_err().to_string();
        assert!(why.contains("The table is full"), "{why}");
        assert!(optimized(&[]).is_err());
    }
}
