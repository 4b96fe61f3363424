//! What is said about it.

use super::{Args, Cell, How, Outcome, Results, Round};
use crate::frame::Experiment;
use crate::report::{Bar, Bars, Block, Card, Group, Report, Table, grouped, num, seconds};
use crate::stats::Spread;
use serde_json::{Value, json};
use std::fmt::Write;

/// A figure of a round.
type Of = fn(&Round) -> f64;

fn ms(s: Option<f64>) -> String {
    s.map_or("–".into(), |s| num(s * 1e3))
}

impl Results {
    /// The report; `incomplete` says why it is not whole.
    pub(super) fn report(&self, incomplete: Option<String>) -> Report {
        let plan = &self.plan;
        let times = match plan.rounds {
            1 => "each once".to_string(),
            n => format!("each {n} times"),
        };
        let mut blocks = Vec::new();
        if self.subjects.len() > 1 {
            blocks.push(Block::Table(self.side_by_side()));
        }
        blocks.push(Block::Bars(self.bars(
            "Time of the statement",
            "Medians; logarithmic, one scale for all.",
            |r| r.seconds,
            |s| s.median,
        )));
        blocks.push(Block::Bars(self.bars(
            "Longest wait of a write beside it",
            "Of all rounds; logarithmic, one scale for all.",
            |r| r.write_wait,
            |s| s.most,
        )));
        blocks.push(Block::Heading("In figures".into()));
        for subject in 0..self.subjects.len() {
            blocks.push(Block::Table(self.table(subject)));
        }
        blocks.extend(self.refusals().into_iter().map(Block::Text));
        blocks.extend(self.failures().into_iter().map(Block::Text));
        Report {
            experiment: Args::NAME,
            title: "What each kind of ALTER TABLE costs".into(),
            intro: format!(
                "A table of {} rows like \u{201c}employees\u{201d} of the sample database is changed in every way, {times}, while {} connections \
                 read and write it. How a change is made is the least ALGORITHM that the target accepts.",
                grouped(plan.rows),
                plan.threads
            ),
            incomplete,
            headline: self.headline(),
            blocks,
            facts: self.facts(),
            data: self.data(),
            csv: self.csv(),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = self.conditions.facts();
        facts.push((
            "Load".into(),
            format!(
                "{} connections, alone for {} before each change; in turns 4 rows read by the primary key, 2 updates, an insert and a \
                 delete, each a transaction; prepared statements, rows chosen evenly; from the lab's process, which shares the machine \
                 with the target",
                self.plan.threads,
                seconds(self.plan.before.as_secs_f64())
            ),
        ));
        facts
    }

    fn cells_of(&self, subject: usize) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |c| c.subject == subject)
    }

    /// Names of all that is measured, in order.
    fn names(&self) -> impl Iterator<Item = &'static str> + use<'_> {
        self.plan.cases.iter().flat_map(|c| c.names())
    }

    fn headline(&self) -> Vec<Card> {
        let mut cards = Vec::new();
        for (i, subject) in self.subjects.iter().enumerate() {
            let how = |how: How| {
                let is_so =
                    |c: &&Cell| matches!(&c.outcome, Outcome::Made { how: h, .. } if *h == how);
                self.cells_of(i).filter(is_so).count()
            };
            let told: usize = How::TRIED.into_iter().map(how).sum();
            if told == 0 {
                continue;
            }
            let mut note: Vec<String> = How::TRIED[1..]
                .iter()
                .map(|h| (how(*h), h.name()))
                .filter(|(n, _)| *n > 0)
                .map(|(n, name)| format!("{n} {name}"))
                .collect();
            let waits = self
                .cells_of(i)
                .filter_map(|c| Some((c.most(|r| r.write_wait)?, c.name)));
            if let Some((wait, name)) = waits.max_by(|a, b| a.0.total_cmp(&b.0)) {
                note.push(format!("a write waits {} at most ({name})", seconds(wait)));
            }
            cards.push(Card {
                label: format!("Instant: {}", subject.label),
                value: format!("{} of {told}", how(How::Instant)),
                note: note.join("; "),
            });
        }
        cards
    }

    fn side_by_side(&self) -> Table {
        let mut head = vec![""];
        head.extend(self.subjects.iter().map(|s| s.label.as_str()));
        let mut table = Table::new("How it is made, and median time of the statement", &head);
        for name in self.names() {
            let text = |subject: usize| {
                let cell = self.cells_of(subject).find(|c| c.name == name);
                match cell.map(|c| (c, &c.outcome)) {
                    None => "not measured".into(),
                    Some((_, Outcome::Refused(_))) => "refused".into(),
                    Some((c, Outcome::Made { how, .. })) => {
                        let time = c.spread(|r| r.seconds).map_or(f64::NAN, |s| s.median);
                        match how {
                            How::Untold => seconds(time),
                            how => format!("{}, {}", how.name(), seconds(time)),
                        }
                    }
                }
            };
            let mut row = vec![name.to_string()];
            row.extend((0..self.subjects.len()).map(text));
            table.rows.push(row);
        }
        table.note = "\u{201c}In place\u{201d} may write all rows anew; \u{201c}no copy\u{201d} does not, as far as the target knows the word.".into();
        table
    }

    fn bars(&self, title: &str, caption: &str, of: Of, pick: fn(Spread) -> f64) -> Bars {
        let group = |(i, subject): (usize, &crate::frame::Subject)| {
            let bar = |c: &Cell| {
                Some(Bar {
                    name: c.name.into(),
                    value: pick(c.spread(of)?) * 1e3,
                    style: subject.style,
                    ..Bar::default()
                })
            };
            Group {
                title: subject.label.clone(),
                bars: self.cells_of(i).filter_map(bar).collect(),
            }
        };
        Bars {
            title: title.into(),
            caption: caption.into(),
            unit: "ms".into(),
            log: true,
            groups: self.subjects.iter().enumerate().map(group).collect(),
        }
    }

    fn table(&self, subject: usize) -> Table {
        let title = self.subjects[subject].label.clone();
        let mut table = Table::new(
            title,
            &[
                "",
                "made",
                "ms",
                "least – most",
                "longest write ms",
                "the same, alone",
                "longest read ms",
                "rate kept",
            ],
        );
        for cell in self.cells_of(subject) {
            let Outcome::Made { how, .. } = &cell.outcome else {
                let mut row = vec![cell.name.to_string(), "refused".into()];
                row.resize(table.head.len(), "–".into());
                table.rows.push(row);
                continue;
            };
            let time = cell.spread(|r| r.seconds);
            let kept = cell.spread(|r| r.kept).map(|s| s.median);
            table.rows.push(vec![
                cell.name.into(),
                how.name().into(),
                ms(time.map(|s| s.median)),
                format!(
                    "{} – {}",
                    ms(time.map(|s| s.least)),
                    ms(time.map(|s| s.most))
                ),
                ms(cell.most(|r| r.write_wait)),
                ms(cell.most(|r| r.write_wait_alone)),
                ms(cell.most(|r| r.read_wait)),
                kept.map_or("–".into(), |k| format!("{:.0} %", k * 100.0)),
            ]);
        }
        table.note = "Time: median. Longest: of those under way during the statement, in all rounds; alone: in the time before it. Rate kept: \
                      statements per second from the change's beginning on, for 250 ms at least, to those before it. A dash: no statement ended in that time."
            .into();
        table
    }

    fn refusals(&self) -> Vec<String> {
        let refused = self.cells.iter().filter_map(|c| match &c.outcome {
            Outcome::Refused(why) => Some((c, why)),
            Outcome::Made { .. } => None,
        });
        refused
            .map(|(c, why)| {
                format!(
                    "{} refuses \u{201c}{}\u{201d}: {why}.",
                    self.subjects[c.subject].label, c.name
                )
            })
            .collect()
    }

    fn failures(&self) -> Vec<String> {
        let failed = self.cells.iter().filter(|c| c.failed() > 0);
        failed
            .map(|c| {
                let why = match &c.error {
                    Some(e) => format!("the first but for deadlocks: {e}"),
                    None => "deadlocks and lock waits that took too long".into(),
                };
                format!(
                    "{}, {}: {} statements of the load failed ({why}).",
                    self.subjects[c.subject].label,
                    c.name,
                    grouped(c.failed())
                )
            })
            .collect()
    }

    fn data(&self) -> Value {
        let cell = |c: &Cell| {
            let label = &self.subjects[c.subject].label;
            let (how, refused) = match &c.outcome {
                Outcome::Made { how, .. } => (Some(how.word()), None),
                Outcome::Refused(why) => (None, Some(why)),
            };
            json!({
                "subject": label,
                "change": c.name,
                "algorithm": how,
                "refused": refused,
                "median_seconds": c.spread(|r| r.seconds).map(|s| s.median),
                "least_seconds": c.spread(|r| r.seconds).map(|s| s.least),
                "most_seconds": c.most(|r| r.seconds),
                "longest_write_seconds": c.most(|r| r.write_wait),
                "longest_write_alone_seconds": c.most(|r| r.write_wait_alone),
                "longest_read_seconds": c.most(|r| r.read_wait),
                "rate_kept": c.spread(|r| r.kept).map(|s| s.median),
                "failed": c.failed(),
                "first_error": c.error,
            })
        };
        let cells: Vec<Value> = self.cells.iter().map(cell).collect();
        json!({
            "rows": self.plan.rows,
            "rounds": self.plan.rounds,
            "threads": self.plan.threads,
            "conditions": self.conditions.json(),
            "subjects": self.subjects.iter().map(crate::frame::Subject::json).collect::<Vec<_>>(),
            "cells": cells,
        })
    }

    /// A line per round.
    fn csv(&self) -> String {
        let mut out = String::from(
            "subject,change,algorithm,seconds,longest_write_seconds,longest_read_seconds,rate_kept,failed\n",
        );
        for c in &self.cells {
            let Outcome::Made { how, rounds } = &c.outcome else {
                continue;
            };
            for r in rounds {
                let _ = writeln!(
                    out,
                    "\"{}\",\"{}\",{},{:.6},{:.6},{:.6},{:.4},{}",
                    self.subjects[c.subject].label,
                    c.name,
                    how.word(),
                    r.seconds,
                    r.write_wait,
                    r.read_wait,
                    r.kept,
                    r.failed
                );
            }
        }
        out
    }
}
