//! What is said about it.

mod figures;
mod tables;

use super::{Args, Cell, Results, TOLERANCE, Way};
use crate::employees::Keys;
use crate::employees::beside::Felt;
use crate::frame::{Experiment, Subject};
use crate::report::{Block, Card, Report, grouped, num, ratio, seconds};
use serde_json::{Value, json};
use std::fmt::Write;

/// A part, as percent.
fn percent(part: f64) -> String {
    match part * 100.0 {
        whole if whole.fract() == 0.0 => format!("{whole:.0} %"),
        percent => format!("{} %", num(percent)),
    }
}

impl Results {
    /// The report; `incomplete` says why it is not whole.
    pub(super) fn report(&self, incomplete: Option<String>) -> Report {
        let rows = grouped(self.plan.rows);
        Report {
            experiment: Args::NAME,
            title: "OPTIMIZE TABLE with a unique and a foreign key, sorted and row by row".into(),
            intro: format!(
                "A table of {rows} rows like \u{201c}employees\u{201d} of the sample database, with four secondary indexes, is rebuilt: without constraints, \
                 with a unique key, with a foreign key, with both; as a rebuild left it{}. After \u{201c}Speeding up OPTIMIZE for InnoDB \
                 tables\u{201d} (2012).",
                match self.plan.fragment {
                    0.0 => String::new(),
                    part => format!(
                        ", and after {} of its rows were removed and brought back",
                        percent(part)
                    ),
                }
            ),
            incomplete,
            headline: self.headline(),
            blocks: self.blocks(),
            facts: self.facts(),
            data: self.data(),
            csv: self.csv(),
        }
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Bars(self.times()), Block::Table(self.times_table())];
        blocks.extend(self.notes.iter().map(|n| Block::Text(format!("{n}."))));
        blocks.push(Block::Heading("Stages".into()));
        blocks.push(Block::Bars(self.stage_bars()));
        blocks.push(Block::Table(self.stages_table()));
        blocks.extend(self.stages_checked().map(Block::Text));
        blocks.push(Block::Heading("Reads and writes beside it".into()));
        blocks.push(Block::Figure(self.rates()));
        blocks.push(Block::Figure(self.slowest()));
        blocks.push(Block::Table(self.felt_table()));
        blocks.extend(self.failures().into_iter().map(Block::Text));
        blocks.push(Block::Heading("Beside the article".into()));
        blocks.push(Block::Table(self.beside_the_article()));
        blocks
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = self.conditions.facts();
        facts.push((
            "Load".into(),
            format!(
                "{} connections; in turns 4 rows read by the primary key, 2 updates, an insert and a delete, each a transaction; prepared \
                 statements, rows chosen evenly; from the lab's process, which shares the machine with the target",
                self.plan.threads
            ),
        ));
        facts
    }

    fn subject(&self, cell: &Cell) -> &Subject {
        &self.subjects[cell.subject]
    }

    fn cell(&self, subject: usize, keys: Keys) -> Option<&Cell> {
        let found = |c: &&Cell| c.subject == subject && c.keys == keys;
        self.cells.iter().find(found)
    }

    /// A subject's rebuild with the most constraints that it was measured with.
    fn last_of(&self, subject: usize) -> Option<&Cell> {
        self.cells.iter().rfind(|c| c.subject == subject)
    }

    /// How many times as long as without constraints.
    fn to_plain(&self, cell: &Cell) -> Option<f64> {
        let plain = self.cell(cell.subject, Keys::Plain)?.fresh()?;
        Some(cell.fresh()?.median / plain.median)
    }

    /// How many times as long the same target takes row by row.
    fn row_by_row(&self, cell: &Cell) -> Option<f64> {
        let slow = self.cells.iter().find(|c| {
            let same = self.subject(c).target == self.subject(cell).target;
            same && c.way == Way::RowByRow && c.keys == cell.keys
        })?;
        (cell.way == Way::Sorted).then(|| Some(slow.fresh()?.median / cell.fresh()?.median))?
    }

    fn headline(&self) -> Vec<Card> {
        let mut cards = Vec::new();
        let first = self.cells.first().map(|c| c.subject);
        for subject in 0..self.subjects.len() {
            let Some(cell) = self.last_of(subject) else {
                continue;
            };
            let Some(fresh) = cell.fresh() else { continue };
            let mut note = format!("OPTIMIZE TABLE, {}", cell.keys.name());
            if let Some(times) = self.to_plain(cell).filter(|_| cell.keys != Keys::Plain) {
                let _ = write!(note, "; {} of plain", ratio(times));
            }
            let base = first.and_then(|f| self.cell(f, cell.keys)?.fresh());
            if let (Some(base), true) = (base, first != Some(subject)) {
                let name = &self.subjects[first.unwrap_or(0)].label;
                let _ = write!(note, "; {} of {name}", ratio(fresh.median / base.median));
            }
            cards.push(Card {
                label: self.subject(cell).label.clone(),
                value: seconds(fresh.median),
                note,
            });
        }
        cards.extend(self.wait_card());
        cards
    }

    /// The longest wait of a write beside a rebuild, of all subjects; the first one's stands large.
    fn wait_card(&self) -> Option<Card> {
        let longest = |subject: usize| {
            let cells = self.cells.iter().filter(move |c| c.subject == subject);
            let waits = cells.map(|c| c.beside.during.writes.quantile(1.0));
            waits.reduce(f64::max)
        };
        let mut all = (0..self.subjects.len()).filter_map(|s| Some((s, longest(s)?)));
        let (subject, wait) = all.next()?;
        let others: Vec<String> = all
            .map(|(s, w)| format!("{} {}", self.subjects[s].label, seconds(w)))
            .collect();
        Some(Card {
            label: format!("Longest wait of a write: {}", self.subjects[subject].label),
            value: seconds(wait),
            note: others.join("; "),
        })
    }

    /// Whether the stages make up the statements; nothing if no target tells any.
    fn stages_checked(&self) -> Option<String> {
        let covered = |c: &Cell| -> Vec<f64> { c.profiles().filter_map(|p| p.covered()).collect() };
        let all: Vec<f64> = self.cells.iter().flat_map(covered).collect();
        let off = |part: f64| (part - 1.0).abs();
        let worst = all.iter().copied().map(off).reduce(f64::max)?;
        let limit = percent(TOLERANCE);
        if worst <= TOLERANCE {
            return Some(format!(
                "The stages sum to the statement's time within {limit} in all of {} rebuilds; the furthest off is {}.",
                all.len(),
                percent(worst)
            ));
        }
        let mut text = format!("The stages do NOT sum to the statement's time within {limit}:");
        for cell in &self.cells {
            let parts = covered(cell);
            let wrong = parts.iter().filter(|p| off(**p) > TOLERANCE).count();
            if wrong > 0 {
                let furthest = parts
                    .iter()
                    .copied()
                    .max_by(|a, b| off(*a).total_cmp(&off(*b)));
                let _ = write!(
                    text,
                    " {}, {}: {wrong} of {} rebuilds, the furthest off with {};",
                    self.subject(cell).label,
                    cell.keys.name(),
                    parts.len(),
                    percent(furthest.unwrap_or(f64::NAN))
                );
            }
        }
        Some(format!("{}.", text.trim_end_matches(';')))
    }

    /// What the load was refused.
    fn failures(&self) -> Vec<String> {
        let failed = self.cells.iter().filter(|c| c.beside.failed > 0);
        failed
            .map(|c| {
                let why = match &c.beside.error {
                    Some(e) => format!("the first but for deadlocks: {e}"),
                    None => "deadlocks and lock waits that took too long".into(),
                };
                format!(
                    "{}, {}: {} statements of the load failed ({why}).",
                    self.subject(c).label,
                    c.keys.name(),
                    grouped(c.beside.failed)
                )
            })
            .collect()
    }

    fn data(&self) -> Value {
        let cells: Vec<Value> = self.cells.iter().map(|c| self.cell_data(c)).collect();
        json!({
            "rows": self.plan.rows,
            "rounds": self.plan.rounds,
            "threads": self.plan.threads,
            "fragmented_part": self.plan.fragment,
            "conditions": self.conditions.json(),
            "subjects": self.subjects.iter().map(crate::frame::Subject::json).collect::<Vec<_>>(),
            "cells": cells,
            "notes": self.notes,
        })
    }

    fn cell_data(&self, cell: &Cell) -> Value {
        let spread = |s: Option<crate::stats::Spread>| {
            s.map(|s| json!({"median_seconds": s.median, "least_seconds": s.least, "most_seconds": s.most}))
        };
        let stages: Option<Vec<Value>> = cell.middle().map(|p| {
            let one = |s: &(String, f64)| json!({"stage": s.0, "seconds": s.1});
            p.stages.iter().map(one).collect()
        });
        json!({
            "subject": self.subject(cell).label,
            "way": cell.way.origin(),
            "keys": cell.keys.name(),
            "fresh": spread(cell.fresh()),
            "fragmented": spread(cell.fragmented()),
            "to_plain": self.to_plain(cell),
            "row_by_row_to_this": self.row_by_row(cell),
            "stages": stages,
            "stages_to_statement": cell.middle().and_then(|p| p.covered()),
            "beside": {
                "rebuild_seconds": cell.beside.rebuilds,
                "alone": felt_data(&cell.beside.before),
                "during": felt_data(&cell.beside.during),
                "failed": cell.beside.failed,
                "first_error": cell.beside.error,
            },
        })
    }

    /// A line per rebuild.
    fn csv(&self) -> String {
        let mut out = String::from("subject,keys,table,seconds,stages_seconds\n");
        for cell in &self.cells {
            let (label, keys) = (&self.subject(cell).label, cell.keys.name());
            let mut line = |table: &str, seconds: f64, stages: f64| {
                let _ = writeln!(
                    out,
                    "\"{label}\",\"{keys}\",{table},{seconds:.6},{stages:.6}"
                );
            };
            for (table, profiles) in [("fresh", &cell.fresh), ("fragmented", &cell.fragmented)] {
                for p in profiles {
                    line(table, p.seconds, p.sum());
                }
            }
            for seconds in &cell.beside.rebuilds {
                line("under load", *seconds, f64::NAN);
            }
        }
        out
    }
}

fn felt_data(felt: &Felt) -> Value {
    let latencies = |l: &crate::stats::Latencies| {
        json!({
            "count": l.count(), "p50_seconds": l.quantile(0.5), "p99_seconds": l.quantile(0.99),
            "p999_seconds": l.quantile(0.999), "max_seconds": l.quantile(1.0),
        })
    };
    json!({
        "statements": felt.finished,
        "seconds": felt.seconds,
        "statements_per_second": felt.rate(),
        "reads": latencies(&felt.reads),
        "writes": latencies(&felt.writes),
    })
}
