//! What is said about it.

use super::{Args, Cell, Results, Round};
use crate::algorithm::Algorithm;
use crate::frame::Experiment;
use crate::frame::Size;
use crate::report::{
    Axis, Block, Card, Figure, Panel, Report, Series, Table, grouped, num, ratio, seconds,
};
use serde_json::json;
use std::fmt::Write;

/// A figure of a round.
type Of = fn(&Round) -> f64;

impl Results {
    /// The report; `incomplete` says why it is not whole.
    pub(super) fn report(&self, incomplete: Option<String>) -> Report {
        let n = grouped(self.plan.tables as u64);
        let create_drop = format!("Time to create and drop {n} empty tables");
        let truncate = format!("Time to truncate {n} empty tables");
        let mut blocks = vec![Block::Table(self.table())];
        blocks.extend(self.left_out().map(Block::Text));
        blocks.push(Block::Heading("Create and drop".into()));
        blocks.push(Block::LinearAndLog(
            self.figure(&create_drop, |r| r.create_drop),
        ));
        blocks.push(Block::Heading("Truncate".into()));
        blocks.push(Block::LinearAndLog(self.figure(&truncate, |r| r.truncate)));
        Report {
            experiment: Args::NAME,
            title: "Create, drop and truncate against the size of the pool".into(),
            intro: format!(
                "A big table fills the buffer pool; then {n} empty tables are created and dropped, and truncated, by {} connections at \
                 once. After \u{201c}A 250x improvement to tablespace truncation in MySQL Server 8.0.23\u{201d}.",
                self.plan.threads
            ),
            incomplete,
            headline: self.headline(),
            blocks,
            facts: self.conditions.facts(),
            data: self.data(),
            csv: self.csv(),
        }
    }

    fn cells_of(&self, subject: usize) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |c| c.subject == subject)
    }

    /// How many times as long `full_scan` took on the same target with the same pool.
    fn against_full_scan(&self, cell: &Cell, of: Of) -> Option<f64> {
        let subject = &self.subjects[cell.subject];
        let is_it = |c: &&Cell| {
            let s = &self.subjects[c.subject];
            s.algorithm == Some(Algorithm::FullScan)
                && s.target == subject.target
                && c.pool == cell.pool
        };
        let full_scan = self.cells.iter().find(is_it)?;
        Some(full_scan.median(of) / cell.median(of))
    }

    fn headline(&self) -> Vec<Card> {
        let mut cards = Vec::new();
        let best = (self.cells.iter())
            .filter(|c| self.subjects[c.subject].algorithm != Some(Algorithm::FullScan))
            .filter_map(|c| Some((self.against_full_scan(c, |r| r.create_drop)?, c)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((times, cell)) = best {
            cards.push(Card {
                label: "Against full_scan, up to".into(),
                value: ratio(times),
                note: format!(
                    "{}, pool of {}; the article: up to 251×, with pools up to 450 GB",
                    self.subjects[cell.subject].label,
                    Size(cell.pool)
                ),
            });
        }
        for (i, subject) in self.subjects.iter().enumerate() {
            let (first, last) = (self.cells_of(i).next(), self.cells_of(i).last());
            let (Some(first), Some(last)) = (first, last) else {
                continue;
            };
            let shown = matches!(
                subject.algorithm,
                None | Some(Algorithm::Millpond | Algorithm::FullScan)
            );
            if !shown {
                continue;
            }
            let (a, b) = (
                first.median(|r| r.create_drop),
                last.median(|r| r.create_drop),
            );
            let note = match first.pool == last.pool {
                true => format!("create and drop, pool of {}", Size(last.pool)),
                false => format!(
                    "create and drop, pool of {}; {} of that with {}",
                    Size(last.pool),
                    ratio(b / a),
                    Size(first.pool)
                ),
            };
            cards.push(Card {
                label: subject.label.clone(),
                value: seconds(b),
                note,
            });
        }
        cards
    }

    fn table(&self) -> Table {
        let title = format!("{} empty tables", grouped(self.plan.tables as u64));
        let mut table = Table::new(
            title,
            &[
                "",
                "pool",
                "cached",
                "dirty",
                "create + drop ms",
                "truncate ms",
                "slowest drop ms",
                "full_scan to this",
                "the same, truncate",
            ],
        );
        for (i, subject) in self.subjects.iter().enumerate() {
            for c in self.cells_of(i) {
                let times = |of: Of| self.against_full_scan(c, of).map_or("–".into(), ratio);
                table.rows.push(vec![
                    format!("{} ({})", subject.label, subject.origin()),
                    Size(c.pool).to_string(),
                    Size(c.pages.cached()).to_string(),
                    Size(c.pages.dirty_bytes()).to_string(),
                    num(c.median(|r| r.create_drop) * 1e3),
                    num(c.median(|r| r.truncate) * 1e3),
                    num(c.median(|r| r.slowest_drop) * 1e3),
                    times(|r| r.create_drop),
                    times(|r| r.truncate),
                ]);
            }
        }
        table.note = format!(
            "Medians of {} rounds. The article's ratio is of MySQL before 8.0.23 to 8.0.23, up to 251× with pools of 32 to 450 GB.",
            self.plan.rounds
        );
        table
    }

    fn figure(&self, title: &str, of: Of) -> Figure {
        let series = self.subjects.iter().enumerate().map(|(i, s)| Series {
            name: s.label.clone(),
            style: s.style,
            points: self
                .cells_of(i)
                .map(|c| (Size(c.pool).gib(), c.median(of) * 1e3))
                .collect(),
            ..Series::default()
        });
        Figure {
            title: title.into(),
            caption: "Flat is good: the tables are empty.".into(),
            x: Axis {
                label: "buffer pool, GiB".into(),
                log: false,
            },
            y: Axis {
                label: "milliseconds".into(),
                log: false,
            },
            panels: vec![Panel {
                title: "ms for all tables".into(),
                series: series.collect(),
                marks: Vec::new(),
            }],
            names: true,
        }
    }

    fn data(&self) -> serde_json::Value {
        let cells: Vec<_> = self
            .cells
            .iter()
            .map(|c| {
                json!({
                    "subject": self.subjects[c.subject].label,
                    "pool_bytes": c.pool,
                    "lru_pages": c.pages.data,
                    "dirty_pages": c.pages.dirty,
                    "create_drop_seconds": c.median(|r| r.create_drop),
                    "truncate_seconds": c.median(|r| r.truncate),
                    "rounds_create_drop_seconds": c.rounds.iter().map(|r| r.create_drop).collect::<Vec<_>>(),
                    "slowest_drop_seconds": c.median(|r| r.slowest_drop),
                    "full_scan_to_this": self.against_full_scan(c, |r| r.create_drop),
                    "full_scan_to_this_truncate": self.against_full_scan(c, |r| r.truncate),
                })
            })
            .collect();
        json!({
            "tables": self.plan.tables,
            "threads": self.plan.threads,
            "conditions": self.conditions.json(),
            "subjects": self.subjects.iter().map(crate::frame::Subject::json).collect::<Vec<_>>(),
            "cells": cells,
            "skipped": self.notes,
        })
    }

    /// A line per round.
    fn csv(&self) -> String {
        let mut out = String::from(
            "subject,pool_bytes,cached_bytes,dirty_pages,create_drop_seconds,truncate_seconds,slowest_drop_seconds\n",
        );
        for c in &self.cells {
            for r in &c.rounds {
                let _ = writeln!(
                    out,
                    "{},{},{},{},{:.6},{:.6},{:.6}",
                    self.subjects[c.subject].label,
                    c.pool,
                    c.pages.cached(),
                    c.pages.dirty,
                    r.create_drop,
                    r.truncate,
                    r.slowest_drop
                );
            }
        }
        out
    }
}
