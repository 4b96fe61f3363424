//! What is said about it.

use super::{ARTICLE, ARTICLE_SERVERS, Args, Cell, Results, Round};
use crate::algorithm::Algorithm;
use crate::frame::Experiment;
use crate::frame::Size;
use crate::report::{
    Axis, Block, Card, Figure, Panel, Report, Series, Table, grouped, num, ratio, seconds,
};
use crate::stats::Line;
use serde_json::json;
use std::fmt::Write;

/// Points of a line of drops per second.
const BINS: usize = 20;

/// (end of the interval in seconds, drops per second in it): equal intervals, as many as leave some drops in each.
fn rates(round: &Round) -> Vec<(f64, f64)> {
    let Some(&end) = round.dropped.last() else {
        return Vec::new();
    };
    let bins = BINS.min(round.dropped.len() / 5).max(1);
    let width = end / bins as f64;
    let mut counts = vec![0u64; bins];
    for t in &round.dropped {
        counts[((t / width) as usize).min(bins - 1)] += 1;
    }
    let rate = |(i, n): (usize, &u64)| ((i + 1) as f64 * width, *n as f64 / width);
    counts.iter().enumerate().map(rate).collect()
}

impl Results {
    /// The report; `incomplete` says why it is not whole.
    pub(super) fn report(&self, incomplete: Option<String>) -> Report {
        let mut blocks = vec![Block::Table(self.table())];
        blocks.extend(self.left_out().map(Block::Text));
        blocks.push(Block::Heading(
            "What a drop costs, against what is cached".into(),
        ));
        blocks.push(Block::LinearAndLog(self.cost()));
        blocks.push(Block::Heading("Tables dropped per second".into()));
        blocks.push(Block::Figure(self.over_time()));
        blocks.push(Block::Folded(self.over_time().to_log()));
        blocks.push(Block::Heading("Beside the article".into()));
        blocks.push(Block::Table(self.beside_the_article()));
        Report {
            experiment: Args::NAME,
            title: "Drop throughput against what is cached".into(),
            intro: format!(
                "{} tables created and dropped one after the other on one connection, with the buffer pool holding nothing and \
                 then more and more of another table. After \u{201c}Drop table performance\u{201d} (2011).",
                grouped(self.plan.tables as u64)
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

    /// The same subject's cell with the empty pool.
    fn base(&self, subject: usize) -> Option<&Cell> {
        self.cells_of(subject).find(|c| c.fill == Size(0))
    }

    /// Times as long as with the empty pool.
    fn against_base(&self, cell: &Cell) -> f64 {
        let base = self
            .base(cell.subject)
            .map_or(f64::NAN, |c| c.median().per_drop());
        cell.median().per_drop() / base
    }

    /// Milliseconds a drop against GiB cached.
    fn points(&self, subject: usize) -> Vec<(f64, f64)> {
        self.cells_of(subject)
            .map(|c| (Size(c.pool.cached()).gib(), c.median().per_drop() * 1e3))
            .collect()
    }

    /// A drop with the most cached, against the empty pool: the oldest way, ours, and targets that are themselves.
    fn headline(&self) -> Vec<Card> {
        let worth = |i: &usize| {
            matches!(
                self.subjects[*i].algorithm,
                None | Some(Algorithm::FullScan | Algorithm::Millpond)
            )
        };
        (0..self.subjects.len())
            .filter(worth)
            .filter_map(|i| {
                let last = self.cells_of(i).last().filter(|c| c.fill.0 > 0)?;
                let base = self.base(i)?;
                Some(Card {
                    label: format!("{}, {} cached", self.subjects[i].label, last.fill),
                    value: format!("{} a drop", seconds(last.median().per_drop())),
                    note: format!(
                        "{} of {} with an empty pool; slowest {}",
                        ratio(self.against_base(last)),
                        seconds(base.median().per_drop()),
                        seconds(last.median().slowest())
                    ),
                })
            })
            .collect()
    }

    fn table(&self) -> Table {
        let title = format!(
            "Creating and dropping {} tables",
            grouped(self.plan.tables as u64)
        );
        let mut table = Table::new(
            title,
            &[
                "",
                "asked",
                "cached",
                "dirty",
                "create s",
                "drop s",
                "ms a drop",
                "slowest ms",
                "against empty pool",
                "against sync + round trip",
            ],
        );
        for (i, subject) in self.subjects.iter().enumerate() {
            for c in self.cells_of(i) {
                let round = c.median();
                let least = self.conditions.sync + self.conditions.round_trip(subject.target);
                table.rows.push(vec![
                    format!("{} ({})", subject.label, subject.origin()),
                    c.fill.to_string(),
                    Size(c.pool.cached()).to_string(),
                    Size(c.pool.dirty_bytes()).to_string(),
                    num(round.create),
                    num(round.dropped.last().copied().unwrap_or(0.0)),
                    num(round.per_drop() * 1e3),
                    num(round.slowest() * 1e3),
                    ratio(self.against_base(c)),
                    ratio(round.per_drop() / least),
                ]);
            }
        }
        table.note = format!(
            "Each row is the median of up to {} rounds by time of dropping. The last column compares a drop with one small synced \
             write ({}) and one SELECT 1.",
            self.plan.rounds,
            seconds(self.conditions.sync)
        );
        table
    }

    fn cost(&self) -> Figure {
        let series = self.subjects.iter().enumerate().map(|(i, s)| Series {
            name: s.label.clone(),
            style: s.style,
            points: self.points(i),
            ..Series::default()
        });
        let caption = "Flat is good: the tables dropped are empty, whatever else is cached.";
        by_cached(caption, "ms a drop".into(), series.collect())
    }

    /// A panel per size.
    fn over_time(&self) -> Figure {
        let panel = |&fill: &Size| Panel {
            title: format!("{fill} cached"),
            series: self
                .cells
                .iter()
                .filter(|c| c.fill == fill)
                .map(|c| Series {
                    name: self.subjects[c.subject].label.clone(),
                    style: self.subjects[c.subject].style,
                    points: rates(c.median()),
                    ..Series::default()
                })
                .collect(),
            marks: Vec::new(),
        };
        Figure {
            title: "Dropped per second, over the time of the drops".into(),
            caption: "More is better, and a line that ends early was done early. One scale for all panels.".into(),
            x: Axis {
                label: "seconds since the first drop".into(),
                log: false,
            },
            y: Axis {
                label: "tables dropped per second".into(),
                log: false,
            },
            panels: self
                .plan
                .fills
                .iter()
                .map(panel)
                .filter(|p| !p.series.is_empty())
                .collect(),
            names: true,
        }
    }

    /// The article's figures, and where the lines through ours would be at its sizes.
    fn beside_the_article(&self) -> Table {
        let mut table = Table::new(
            "Seconds for 1,000 drops",
            &["", "21 GB", "52 GB", "104 GB", "ms a drop per GiB"],
        );
        for (i, server) in ARTICLE_SERVERS.iter().enumerate() {
            let points = ARTICLE.map(|(gb, seconds)| (gb, seconds[i]));
            let mut row = vec![format!("{server}, in the article")];
            row.extend(points.map(|p| num(p.1)));
            row.push(Line::fit(&points).map_or("–".into(), |l| num(l.slope)));
            table.rows.push(row);
        }
        for (i, subject) in self.subjects.iter().enumerate() {
            let Some(line) = Line::fit(&self.points(i)) else {
                continue;
            };
            let mut row = vec![format!(
                "{} ({}), extrapolated",
                subject.label,
                subject.origin()
            )];
            // Milliseconds a drop are seconds for a thousand. A line that falls is noise about a flat one.
            let rising = Line {
                slope: line.slope.max(0.0),
                ..line
            };
            row.extend(ARTICLE.map(|(gb, _)| num(rising.at(gb))));
            row.push(num(line.slope));
            table.rows.push(row);
        }
        table.note = "The article measured a server of 2011 with 144 GB of buffer pool. Ours are lines fitted through the figures \
                      above and drawn out to its sizes: what counts is whether the slope is there, not its height on other hardware."
            .into();
        table
    }

    fn data(&self) -> serde_json::Value {
        let cells: Vec<_> = self
            .cells
            .iter()
            .map(|c| {
                let round = c.median();
                json!({
                    "subject": self.subjects[c.subject].label,
                    "fill_bytes": c.fill.0,
                    "cached_bytes": c.pool.cached(),
                    "lru_pages": c.pool.data,
                    "dirty_pages": c.pool.dirty,
                    "create_seconds": round.create,
                    "drop_seconds": round.dropped.last(),
                    "seconds_per_drop": round.per_drop(),
                    "slowest_drop_seconds": round.slowest(),
                    "against_empty_pool": self.against_base(c),
                    "rounds_seconds_per_drop": c.rounds.iter().map(Round::per_drop).collect::<Vec<_>>(),
                    "drops_per_second": rates(round),
                })
            })
            .collect();
        let lines: Vec<_> = (0..self.subjects.len())
            .filter_map(|i| {
                let line = Line::fit(&self.points(i))?;
                Some(json!({
                    "subject": self.subjects[i].label,
                    "ms_per_drop_at_0": line.intercept,
                    "ms_per_drop_per_gib": line.slope,
                }))
            })
            .collect();
        json!({
            "tables": self.plan.tables,
            "conditions": self.conditions.json(),
            "subjects": self.subjects.iter().map(crate::frame::Subject::json).collect::<Vec<_>>(),
            "cells": cells,
            "lines": lines,
            "skipped": self.notes,
        })
    }

    /// A line per interval of each median round.
    fn csv(&self) -> String {
        let mut out =
            String::from("subject,fill_bytes,cached_bytes,dirty_pages,seconds,drops_per_second\n");
        for c in &self.cells {
            let label = &self.subjects[c.subject].label;
            for (t, rate) in rates(c.median()) {
                let _ = writeln!(
                    out,
                    "{label},{},{},{},{t:.6},{rate:.1}",
                    c.fill.0,
                    c.pool.cached(),
                    c.pool.dirty
                );
            }
        }
        out
    }
}

/// Milliseconds of a drop by the GiB cached; series without points are left out.
pub(crate) fn by_cached(caption: &str, panel: String, series: Vec<Series>) -> Figure {
    let axis = |label: &str| Axis {
        label: label.into(),
        log: false,
    };
    Figure {
        title: "Time of a drop against what is cached".into(),
        caption: caption.into(),
        x: axis("cached, GiB"),
        y: axis("milliseconds"),
        panels: vec![Panel {
            title: panel,
            series: series
                .into_iter()
                .filter(|s| !s.points.is_empty())
                .collect(),
            marks: Vec::new(),
        }],
        names: true,
    }
}
