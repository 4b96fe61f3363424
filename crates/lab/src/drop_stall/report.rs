//! What is said about it.

use super::oltp::Kind;
use super::{Args, Cell, Results, Run, STALL};
use crate::algorithm::Algorithm;
use crate::frame::Experiment;
use crate::report::{
    Axis, Block, Card, Figure, Mark, Panel, Report, Series, Table, grouped, num, ratio, seconds,
};
use crate::stats::{Latencies, POINTS, Timeline, WINDOW, mean, median, most, thinned};
use serde_json::json;
use std::fmt::Write;

/// A figure as text.
type Shown = fn(&Summary) -> String;

/// What is made of a run.
struct Summary {
    /// Requests per second.
    rate: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    p999: f64,
    max: f64,
    over_10_ms: u64,
    longest_stall: f64,
    /// Rate of the worst 100 ms, to the base case's usual rate.
    worst: f64,
}

impl Summary {
    fn of(run: &Run, base: &Run) -> Summary {
        let usual = base.timeline.usual();
        let q = |share| run.all.quantile(share);
        Summary {
            rate: run.timeline.rate(),
            p50: q(0.5),
            p95: q(0.95),
            p99: q(0.99),
            p999: q(0.999),
            max: q(1.0),
            over_10_ms: run.all.longer_than(0.01),
            longest_stall: run.timeline.longest_below(usual * STALL),
            worst: run.timeline.worst() / usual,
        }
    }
}

impl Cell {
    /// Whatever the subject was last measured with.
    fn last(&self) -> &Run {
        self.drops.as_ref().unwrap_or(&self.base)
    }
}

impl Results {
    /// The report; `incomplete` says why it is not whole.
    pub(super) fn report(&self, incomplete: Option<String>) -> Report {
        let mut blocks = vec![Block::Table(self.summary())];
        for note in &self.notes {
            blocks.push(Block::Text(format!("{note}.")));
        }
        blocks.push(Block::Heading("Requests per second".into()));
        blocks.push(Block::Figure(self.rates()));
        blocks.push(Block::Folded(self.rates().to_log()));
        blocks.push(Block::Heading("The slowest request of each moment".into()));
        blocks.push(Block::Figure(self.slowest().to_log()));
        blocks.push(Block::Folded(self.slowest()));
        blocks.push(Block::Heading("In figures".into()));
        blocks.push(Block::Table(self.by_kind()));
        blocks.push(Block::Table(self.drops()));
        blocks.push(Block::Table(self.pools()));
        blocks.push(Block::Heading("Beside the article".into()));
        blocks.push(Block::Table(self.beside_the_article()));
        let plan = &self.plan;
        Report {
            experiment: Args::NAME,
            title: "What queries feel of drops beside them".into(),
            intro: format!(
                "{} threads run sysbench's read and write mix on a cached table of {} rows for {} s, without anything beside \
                 them (the base case) and with {} beside them. After \u{201c}DROP TABLE and stalls\u{201d} (2012).",
                plan.threads,
                grouped(plan.rows),
                num(plan.time.as_secs_f64()),
                self.beside()
            ),
            incomplete,
            headline: self.headline(),
            blocks,
            facts: self.facts(),
            data: self.data(),
            csv: self.csv(),
        }
    }

    /// What is done beside the load, in words.
    fn beside(&self) -> String {
        use super::Ddl::{Churn, DropSmall};
        let count = |what: fn(&super::Ddl) -> bool| {
            let all = self.plan.schedule.iter();
            all.filter(|(_, d)| what(d)).count()
        };
        let mut parts = Vec::new();
        match count(|d| matches!(d, Churn(_))) {
            0 => {}
            n => parts.push(format!("{n} tables created and dropped")),
        }
        match count(|d| matches!(d, DropSmall(_))) {
            0 => {}
            n => parts.push(format!("{n} small tables dropped")),
        }
        if self.plan.drop_rows > 0 {
            let rows = grouped(self.plan.drop_rows);
            parts.push(format!("a cached, half-dirty table of {rows} rows dropped"));
        }
        match parts.is_empty() {
            true => "nothing dropped".into(),
            false => parts.join(" and "),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = self.conditions.facts();
        facts.push((
            "Load".into(),
            format!(
                "per transaction 10 point selects, 4 ranges of 100 rows, 2 updates, a delete, an insert, BEGIN and COMMIT; prepared \
                 statements, rows chosen evenly; {} threads in the lab's process, which shares the machine with the target",
                self.plan.threads
            ),
        ));
        facts
    }

    fn label(&self, cell: &Cell) -> &str {
        &self.subjects[cell.subject].label
    }

    /// Subjects for the headline: ours first, then the oldest way and targets as themselves.
    fn notable(&self) -> Vec<&Cell> {
        let rank = |c: &Cell| match self.subjects[c.subject].algorithm {
            Some(Algorithm::Millpond) => Some(0),
            None if self.label(c).starts_with("Millpond") => Some(0),
            Some(Algorithm::FullScan) => Some(1),
            None => Some(2),
            _ => None,
        };
        let with_drops = self.cells.iter().filter(|c| c.drops.is_some());
        let mut cells: Vec<_> = with_drops.filter_map(|c| Some((rank(c)?, c))).collect();
        cells.sort_by_key(|c| c.0);
        cells.into_iter().map(|c| c.1).collect()
    }

    fn headline(&self) -> Vec<Card> {
        let notable = self.notable();
        let Some(first) = notable.first() else {
            return Vec::new();
        };
        let figures: [(&str, Shown); 4] = [
            ("Longest stall", |s| stall_text(s.longest_stall)),
            ("Max latency", |s| seconds(s.max)),
            ("p99.9", |s| seconds(s.p999)),
            ("Worst 100 ms against the base case", |s| percent(s.worst)),
        ];
        let card = |(label, show): (&str, Shown)| {
            let of = |run: &Run, base: &Run| show(&Summary::of(run, base));
            let mut note = format!("{} without drops", of(&first.base, &first.base));
            for other in &notable[1..] {
                let _ = write!(
                    note,
                    "; {} {} ({} without)",
                    self.label(other),
                    of(other.last(), &other.base),
                    of(&other.base, &other.base)
                );
            }
            Card {
                label: format!("{label}: {}", self.label(first)),
                value: of(first.last(), &first.base),
                note,
            }
        };
        figures.into_iter().map(card).collect()
    }

    fn summary(&self) -> Table {
        let mut table = Table::new(
            "With drops, and without",
            &[
                "",
                "requests/s",
                "p50 ms",
                "p95",
                "p99",
                "p99.9",
                "max",
                "p99.9 to base",
                "over 10 ms",
                "longest stall",
                "worst 100 ms",
            ],
        );
        for cell in &self.cells {
            let base = Summary::of(&cell.base, &cell.base);
            for (case, run) in [
                ("no drops", Some(&cell.base)),
                ("drops", cell.drops.as_ref()),
            ] {
                let Some(run) = run else { continue };
                let s = Summary::of(run, &cell.base);
                let mut row = vec![format!("{}, {case}", self.label(cell)), num(s.rate)];
                row.extend([s.p50, s.p95, s.p99, s.p999, s.max].map(|v| num(v * 1e3)));
                row.push(ratio(s.p999 / base.p999));
                row.push(grouped(s.over_10_ms));
                row.push(stall_text(s.longest_stall));
                row.push(percent(s.worst));
                table.rows.push(row);
            }
        }
        table.note = "Longest stall: the longest stretch of 10 ms steps in each of which fewer than a tenth of the base case's usual \
                      requests were done. Worst 100 ms: requests done in the worst 100 ms, against the median 100 ms of the same \
                      subject's base case. The load shares the machine with the target, so that the base case has bad moments too."
            .into();
        table
    }

    fn figure(
        &self,
        title: &str,
        caption: &str,
        y: &str,
        lines: fn(&Timeline) -> Vec<(f64, f64)>,
    ) -> Figure {
        let panel = |cell: &Cell| {
            let subject = &self.subjects[cell.subject];
            let mut series = vec![Series {
                name: "without drops".into(),
                style: subject.style,
                points: lines(&cell.base.timeline),
                base: true,
            }];
            let drops = cell.drops.as_ref();
            series.extend(drops.map(|run| Series {
                name: "with drops".into(),
                style: subject.style,
                points: lines(&run.timeline),
                base: false,
            }));
            let mark = |e: &super::Event| Mark {
                x: e.at.max(0.0),
                what: format!("{} at {:.2} s took {}", e.what, e.at, seconds(e.took)),
            };
            Panel {
                title: format!("{} ({})", subject.label, subject.origin()),
                series,
                marks: drops.map_or(Vec::new(), |run| run.events.iter().map(mark).collect()),
            }
        };
        Figure {
            title: title.into(),
            caption: caption.into(),
            x: Axis {
                label: "seconds".into(),
                log: false,
            },
            y: Axis {
                label: y.into(),
                log: false,
            },
            panels: self.cells.iter().map(panel).collect(),
            names: false,
        }
    }

    fn rates(&self) -> Figure {
        let step = (self.plan.time.as_secs_f64() / WINDOW / POINTS as f64)
            .ceil()
            .max(1.0)
            * WINDOW;
        let caption = format!(
            "Coloured: with drops, each a dotted line. Grey: the base case without. Averages over {} s; one scale for all panels.",
            num(step)
        );
        self.figure(
            "Requests per second",
            &caption,
            "requests per second",
            |t| thinned(&t.rates(), mean),
        )
    }

    fn slowest(&self) -> Figure {
        self.figure(
            "The slowest request",
            "Of those that ended in each moment: what an average hides. Coloured with drops, grey without; one scale for all panels.",
            "milliseconds",
            |t| {
                let ms: Vec<f64> = t.slowest().iter().map(|s| s * 1e3).collect();
                thinned(&ms, most)
            },
        )
    }

    fn by_kind(&self) -> Table {
        let mut head = vec!["p99.9 / max, ms"];
        head.extend(Kind::ALL.map(Kind::name));
        let mut table = Table::new("Latency by kind of statement", &head);
        let cell_text = |l: &Latencies| {
            format!(
                "{} / {}",
                num(l.quantile(0.999) * 1e3),
                num(l.quantile(1.0) * 1e3)
            )
        };
        for cell in &self.cells {
            for (case, run) in [
                ("no drops", Some(&cell.base)),
                ("drops", cell.drops.as_ref()),
            ] {
                let Some(run) = run else { continue };
                let mut row = vec![format!("{}, {case}", self.label(cell))];
                row.extend(run.kinds.iter().map(cell_text));
                table.rows.push(row);
            }
        }
        table
    }

    fn drops(&self) -> Table {
        let mut table = Table::new(
            "The drops themselves",
            &["", "number", "median ms", "slowest ms", "large table ms"],
        );
        for cell in &self.cells {
            let Some(run) = &cell.drops else { continue };
            let large = |e: &&super::Event| e.what.ends_with(super::tables::LARGE);
            let small: Vec<f64> = run
                .events
                .iter()
                .filter(|e| !large(e))
                .map(|e| e.took)
                .collect();
            let ms = |v: Option<f64>| v.map_or("–".into(), |v| num(v * 1e3));
            table.rows.push(vec![
                self.label(cell).to_string(),
                run.events.len().to_string(),
                ms(median(&small)),
                ms(small.iter().copied().reduce(f64::max)),
                ms(run.events.iter().find(large).map(|e| e.took)),
            ]);
        }
        table
    }

    fn pools(&self) -> Table {
        let mut table = Table::new(
            "The buffer pool before each run",
            &["", "pages", "on the LRU list", "dirty", "LRU to dirty"],
        );
        for cell in &self.cells {
            for (case, run) in [
                ("no drops", Some(&cell.base)),
                ("drops", cell.drops.as_ref()),
            ] {
                let Some(run) = run else { continue };
                let p = run.pool;
                let to_dirty = match p.dirty {
                    0 => "–".into(),
                    n => format!("{:.1}:1", p.data as f64 / n as f64),
                };
                let label = format!("{}, {case}", self.label(cell));
                let pages = [p.total, p.data, p.dirty].map(grouped);
                let row = [label].into_iter().chain(pages).chain([to_dirty]);
                table.rows.push(row.collect());
            }
        }
        table.note = format!(
            "Asked for: {}:1. The article had 315,000 pages on the LRU list, 100,000 of them dirty. A target that writes dirty pages \
             early has fewer than asked for.",
            num(self.plan.dirty_ratio)
        );
        table
    }

    fn beside_the_article(&self) -> Table {
        let mut table = Table::new("Longest stall", &["", "longest stall"]);
        for (who, stall) in [
            ("MySQL 5.5.15 (before 5.5.23), in the article", "6 s"),
            ("MySQL 5.5.24 (after 5.5.23), in the article", "2 s"),
            (
                "Percona Server 5.5.24, innodb_lazy_drop_table=1, in the article",
                "1 s",
            ),
        ] {
            table.rows.push(vec![who.into(), stall.into()]);
        }
        for cell in &self.cells {
            if let Some(run) = &cell.drops {
                let stall = Summary::of(run, &cell.base).longest_stall;
                let origin = self.subjects[cell.subject].origin();
                let who = format!("{} ({origin}), here", self.label(cell));
                table.rows.push(vec![who, stall_text(stall)]);
            }
        }
        table.note = "The article counted whole seconds at the lowest rate of its run, on a server of two cores and 8 GB with disks of \
                      2012; here a stall is found to 10 ms."
            .into();
        table
    }

    fn data(&self) -> serde_json::Value {
        let run = |run: &Run, base: &Run| {
            let s = Summary::of(run, base);
            let events: Vec<_> = run
                .events
                .iter()
                .map(|e| json!({"at_seconds": e.at, "took_seconds": e.took, "what": e.what}))
                .collect();
            let kinds: serde_json::Map<String, serde_json::Value> = Kind::ALL
                .iter()
                .zip(&run.kinds)
                .map(|(k, l)| {
                    let q = |share| l.quantile(share);
                    let figures = json!({
                        "count": l.count(), "p50_seconds": q(0.5), "p99_seconds": q(0.99),
                        "p999_seconds": q(0.999), "max_seconds": q(1.0),
                    });
                    (k.name().to_string(), figures)
                })
                .collect();
            json!({
                "lru_pages": run.pool.data,
                "dirty_pages": run.pool.dirty,
                "requests": run.timeline.total(),
                "requests_per_second": s.rate,
                "p50_seconds": s.p50,
                "p95_seconds": s.p95,
                "p99_seconds": s.p99,
                "p999_seconds": s.p999,
                "max_seconds": s.max,
                "over_10_ms": s.over_10_ms,
                "longest_stall_seconds": s.longest_stall,
                "worst_100_ms_to_base": s.worst,
                "conflicts": run.conflicts,
                "kinds": kinds,
                "events": events,
            })
        };
        let cells: Vec<_> = self
            .cells
            .iter()
            .map(|c| {
                json!({
                    "subject": self.label(c),
                    "without_drops": run(&c.base, &c.base),
                    "with_drops": c.drops.as_ref().map(|d| run(d, &c.base)),
                })
            })
            .collect();
        json!({
            "threads": self.plan.threads,
            "rows": self.plan.rows,
            "seconds": self.plan.time.as_secs_f64(),
            "drop_rows": self.plan.drop_rows,
            "conditions": self.conditions.json(),
            "cells": cells,
            "notes": self.notes,
        })
    }

    /// A line per 100 ms of each run.
    fn csv(&self) -> String {
        let mut out = String::from("subject,drops,seconds,requests_per_second,slowest_ms\n");
        for cell in &self.cells {
            for (case, run) in [(0, Some(&cell.base)), (1, cell.drops.as_ref())] {
                let Some(run) = run else { continue };
                let both = run.timeline.rates().into_iter().zip(run.timeline.slowest());
                for (i, (rate, slowest)) in both.enumerate() {
                    let end = (i + 1) as f64 * WINDOW;
                    let ms = slowest * 1e3;
                    let _ = writeln!(
                        out,
                        "{},{case},{end:.1},{rate:.0},{ms:.3}",
                        self.label(cell)
                    );
                }
            }
        }
        out
    }
}

/// Nothing shorter than a step of 10 ms is seen.
fn stall_text(s: f64) -> String {
    match s {
        s if s <= 0.0 => "none".into(),
        s => seconds(s),
    }
}

fn percent(x: f64) -> String {
    match x.is_finite() {
        true => format!("{:.0} %", x * 100.0),
        false => "–".into(),
    }
}
