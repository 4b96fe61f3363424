//! What is said about it.

use super::{EXPERIMENT, Results};
use crate::report::{
    Axis, Block, Card, Figure, Mark, Panel, Report, Series, Table, grouped, num, seconds,
};
use crate::stats::median;
use serde_json::json;
use std::fmt::Write;

/// Most statements listed.
const LISTED: usize = 50;

impl Results {
    pub(super) fn report(&self) -> Report {
        let rates = self.figure("Queries per second", "queries per second", |covers, s| {
            s.queries as f64 / covers as f64
        });
        let slowest = self.figure("The slowest query", "milliseconds", |_, s| s.slowest * 1e3);
        let mut blocks = vec![
            Block::LinearAndLog(rates),
            Block::LinearAndLog(slowest),
            Block::Table(self.table()),
        ];
        if !self.ddl.is_empty() {
            blocks.push(Block::Table(self.ddl()));
        }
        Report {
            experiment: EXPERIMENT,
            title: "Queries per second from a slow log".into(),
            intro: format!(
                "Queries counted by the second of their timestamps, averaged over {} s. Log: {}.",
                self.every, self.source
            ),
            incomplete: None,
            headline: self.headline(),
            blocks,
            facts: vec![
                ("Log".into(), self.source.clone()),
                ("First second".into(), clock(self.span().0)),
                ("Seconds".into(), self.span().1.to_string()),
            ],
            data: self.data(),
            csv: self.csv(),
        }
    }

    fn headline(&self) -> Vec<Card> {
        let counts = self.per_second();
        let all: Vec<f64> = counts.iter().map(|n| *n as f64).collect();
        let usual = median(&all).unwrap_or(0.0);
        let total: u64 = counts.iter().sum();
        let slowest = self.seconds.values().map(|s| s.slowest).fold(0.0, f64::max);
        let (lowest, run) = self.lowest();
        let card = |label: &str, value: String, note: String| Card {
            label: label.into(),
            value,
            note,
        };
        vec![
            card(
                "Longest stall",
                match self.longest_stall() {
                    0 => "none".into(),
                    n => format!("{n} s"),
                },
                "consecutive seconds with less than a tenth of the median".into(),
            ),
            card(
                "Lowest second",
                grouped(lowest),
                format!("queries; the longest run of seconds with no more: {run} s"),
            ),
            card(
                "Queries per second",
                num(total as f64 / counts.len().max(1) as f64),
                format!(
                    "on average; median second {}; {} queries in all",
                    num(usual),
                    grouped(total)
                ),
            ),
            card("Slowest query", seconds(slowest), "by Query_time".into()),
        ]
    }

    fn figure(&self, title: &str, y: &str, of: fn(u32, &super::Second) -> f64) -> Figure {
        let first = self.span().0;
        let points = self.steps().into_iter();
        let points =
            points.map(|(at, covers, s)| ((at - first) as f64 + covers as f64, of(covers, &s)));
        let mark = |d: &super::Ddl| Mark {
            x: d.at - first as f64,
            what: format!("{} took {}", d.statement, seconds(d.took)),
        };
        Figure {
            title: title.into(),
            caption: format!(
                "Steps of {} s; a dotted line is a DROP, TRUNCATE, ALTER or OPTIMIZE.",
                self.every
            ),
            x: Axis {
                label: "seconds".into(),
                log: false,
            },
            y: Axis {
                label: y.into(),
                log: false,
            },
            panels: vec![Panel {
                title: y.into(),
                series: vec![Series {
                    name: title.into(),
                    style: 0,
                    points: points.collect(),
                    ..Series::default()
                }],
                marks: self.ddl.iter().take(500).map(mark).collect(),
            }],
            names: false,
        }
    }

    fn table(&self) -> Table {
        let title = format!("Averages over {} s", self.every);
        let mut table = Table::new(
            title,
            &[
                "from (UTC)",
                "queries",
                "per second",
                "mean ms",
                "slowest ms",
            ],
        );
        for (at, covers, s) in self.steps() {
            table.rows.push(vec![
                clock(at),
                grouped(s.queries),
                num(s.queries as f64 / covers as f64),
                num(s.time / s.queries.max(1) as f64 * 1e3),
                num(s.slowest * 1e3),
            ]);
        }
        table
    }

    fn ddl(&self) -> Table {
        let mut table = Table::new("Tables changed as wholes", &["statement", "at (UTC)", "ms"]);
        for d in self.ddl.iter().take(LISTED) {
            let at = clock(d.at.floor() as i64);
            table
                .rows
                .push(vec![d.statement.clone(), at, num(d.took * 1e3)]);
        }
        if self.ddl.len() > LISTED {
            table.note = format!("The first {LISTED} of {}.", self.ddl.len());
        }
        table
    }

    fn data(&self) -> serde_json::Value {
        let steps: Vec<_> = self
            .steps()
            .into_iter()
            .map(|(at, covers, s)| {
                json!({
                    "unix_time": at,
                    "seconds": covers,
                    "queries": s.queries,
                    "per_second": s.queries as f64 / covers as f64,
                    "query_time_seconds": s.time,
                    "slowest_seconds": s.slowest,
                })
            })
            .collect();
        let (lowest, run) = self.lowest();
        json!({
            "longest_stall_seconds": self.longest_stall(),
            "lowest_second_queries": lowest,
            "lowest_run_seconds": run,
            "steps": steps,
        })
    }

    /// A line per second.
    fn csv(&self) -> String {
        let mut out = String::from("unix_time,queries,mean_seconds,slowest_seconds\n");
        let (first, n) = self.span();
        for t in first..first + n as i64 {
            let s = self.seconds.get(&t).copied().unwrap_or_default();
            let mean = s.time / s.queries.max(1) as f64;
            let _ = writeln!(out, "{t},{},{mean:.6},{:.6}", s.queries, s.slowest);
        }
        out
    }
}

/// Time of day, UTC.
fn clock(unix: i64) -> String {
    let s = unix.rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
}
