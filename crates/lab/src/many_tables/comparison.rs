//! The report of one run, or of runs on several file systems side by side.

use super::run::{Outcome, Phase};
use super::{EXPERIMENT, Plan, report::rate};
use crate::frame::Conditions;
use crate::report::{
    Axis, Bar, Bars, Block, Card, Figure, Group, Panel, Report, Series, Table, grouped, num,
    seconds,
};
use serde_json::json;
use std::fmt::Write;

/// Points of a line.
const POINTS: usize = 60;

/// The article's totals for 50,000 tables, seconds: file system, MyISAM, InnoDB.
pub(crate) const ARTICLE: [(&str, u32, Option<u32>); 5] = [
    ("ext3", 15 * 60 + 8, Some(21 * 60 + 11)),
    ("ext3, dir_index", 14 * 60 + 21, Some(21 * 60 + 11)),
    ("xfs", 7 * 60 + 20, Some(12 * 60 + 48)),
    ("xfs, 100 MB log", 7 * 60 + 32, None),
    ("reiserfs", 9 * 60 + 44, None),
];

/// As the article has times: `15 min 8 s`.
pub(crate) fn minutes(seconds: u32) -> String {
    format!("{} min {} s", seconds / 60, seconds % 60)
}

/// One place and how it went there.
pub(super) struct Place {
    /// Of the target or the file system.
    pub name: String,
    /// Seconds of one small synced write there, where it is known.
    pub sync: Option<f64>,
    pub outcome: Outcome,
}

/// All of them.
pub(super) struct Comparison {
    pub plan: Plan,
    pub conditions: Conditions,
    pub places: Vec<Place>,
    /// Names of what was left out, and why.
    pub skipped: Vec<(String, String)>,
}

impl Place {
    fn seconds(&self) -> f64 {
        self.outcome.phases.iter().map(|p| p.seconds).sum()
    }
    fn rate(&self, phase: Phase) -> Option<f64> {
        let found = self.outcome.phases.iter().find(|p| p.phase == phase)?;
        Some(rate(found.done, found.seconds))
    }
}

impl Comparison {
    /// What ended a run before its end.
    fn shortfall(&self) -> Option<String> {
        let cut = self.places.iter().find(|p| !p.outcome.complete)?;
        Some(match &cut.outcome.error {
            Some(e) => format!("{}: {e}", cut.name),
            None => "It was stopped before its end.".into(),
        })
    }

    pub(super) fn report(&self, incomplete: Option<String>) -> Report {
        let n = grouped(self.plan.tables as u64);
        let mut blocks = vec![Block::Table(self.table())];
        for (name, why) in &self.skipped {
            blocks.push(Block::Text(format!("{name} was left out: {why}.")));
        }
        if !self.places.is_empty() {
            blocks.push(Block::Heading("Rates".into()));
            blocks.push(Block::Bars(self.bars()));
            blocks.push(Block::Heading("Rates over time".into()));
            blocks.push(Block::Figure(self.over_time()));
            blocks.push(Block::Folded(self.over_time().to_log()));
        }
        blocks.push(Block::Heading("Beside the article".into()));
        blocks.push(Block::Table(self.beside_the_article()));
        Report {
            experiment: EXPERIMENT,
            title: format!("Create, fill, read and drop {n} tables"),
            intro: format!(
                "{n} tables of one column, {} thread{}: create each, insert a row into each, read each, drop each. After \
                 \u{201c}CREATE, INSERT, SELECT, DROP benchmark\u{201d} (2006).",
                self.plan.threads,
                if self.plan.threads == 1 { "" } else { "s" },
            ),
            incomplete: incomplete.or_else(|| self.shortfall()),
            headline: self.headline(),
            blocks,
            facts: self.conditions.facts(),
            data: self.data(),
            csv: self.csv(),
        }
    }

    fn headline(&self) -> Vec<Card> {
        let rates = |p: &Place| {
            let text = |phase: Phase| {
                let rate = p.rate(phase).map_or("–".into(), |r| grouped(r as u64));
                format!("{} {rate}/s", phase.name())
            };
            Phase::ALL.map(text).join(", ")
        };
        let card = |p: &Place| Card {
            label: p.name.clone(),
            value: seconds(p.seconds()),
            note: rates(p),
        };
        self.places.iter().map(card).collect()
    }

    fn table(&self) -> Table {
        let mut table = Table::new(
            format!("{} tables", grouped(self.plan.tables as u64)),
            &[
                "",
                "create/s",
                "insert/s",
                "select/s",
                "drop/s",
                "total s",
                "fdatasync µs",
            ],
        );
        for p in &self.places {
            let mut row = vec![p.name.clone()];
            let rate = |phase| {
                p.rate(phase)
                    .map_or("–".into(), |r| grouped(r.round() as u64))
            };
            row.extend(Phase::ALL.map(rate));
            row.push(num(p.seconds()));
            row.push(p.sync.map_or("–".into(), |s| num(s * 1e6)));
            table.rows.push(row);
        }
        table
    }

    fn bars(&self) -> Bars {
        let group = |phase: Phase| Group {
            title: phase.name().into(),
            bars: self
                .places
                .iter()
                .enumerate()
                .map(|(i, p)| Bar {
                    name: p.name.clone(),
                    value: p.rate(phase).unwrap_or(0.0),
                    style: i,
                    ..Bar::default()
                })
                .collect(),
        };
        // Reads are a world of their own: with them, one scale would show nothing of the others.
        Bars {
            title: "Tables per second that are created, filled and dropped".into(),
            caption: "One scale for all; the rates of reading are in the table.".into(),
            unit: "/s".into(),
            log: false,
            groups: [Phase::Create, Phase::Insert, Phase::Drop]
                .map(group)
                .into(),
        }
    }

    fn over_time(&self) -> Figure {
        let panel = |phase: Phase| Panel {
            title: phase.name().into(),
            series: self
                .places
                .iter()
                .enumerate()
                .filter_map(|(i, p)| {
                    let found = p.outcome.phases.iter().find(|o| o.phase == phase)?;
                    Some(Series {
                        name: p.name.clone(),
                        style: i,
                        points: rates(&found.samples),
                        ..Series::default()
                    })
                })
                .collect(),
            marks: Vec::new(),
        };
        Figure {
            title: "Tables per second, over time".into(),
            caption: "One scale for all panels.".into(),
            x: Axis {
                label: "seconds since the phase began".into(),
                log: false,
            },
            y: Axis {
                label: "tables per second".into(),
                log: false,
            },
            panels: [Phase::Create, Phase::Insert, Phase::Drop]
                .map(panel)
                .into(),
            names: true,
        }
    }

    fn beside_the_article(&self) -> Table {
        let mut table = Table::new("50,000 tables in all", &["", "MyISAM", "InnoDB", "here"]);
        for (system, myisam, innodb) in ARTICLE {
            let innodb = innodb.map_or("–".into(), minutes);
            let name = format!("{system}, in the article");
            let row = [name, minutes(myisam), innodb, "–".into()];
            table.rows.push(row.into());
        }
        for p in self.places.iter().filter(|p| p.outcome.complete) {
            let scaled = p.seconds() * 50_000.0 / self.plan.tables as f64;
            let row = [&format!("{}, measured", p.name), "–", "–", &seconds(scaled)];
            table.rows.push(row.map(String::from).into());
        }
        table.note = "The article ran on one disk of 2006, without a sync at each commit. Ours are scaled to 50,000 tables where \
                      there were others; whether they are durable stands below."
            .into();
        table
    }

    fn data(&self) -> serde_json::Value {
        let places: Vec<_> = self
            .places
            .iter()
            .map(|p| {
                let phases: Vec<_> = (p.outcome.phases.iter())
                    .map(|o| {
                        json!({
                            "name": o.phase.name(),
                            "tables": o.done,
                            "seconds": o.seconds,
                            "per_second": rate(o.done, o.seconds),
                        })
                    })
                    .collect();
                json!({
                    "name": p.name,
                    "fdatasync_seconds": p.sync,
                    "total_seconds": p.seconds(),
                    "complete": p.outcome.complete,
                    "phases": phases,
                })
            })
            .collect();
        json!({
            "tables": self.plan.tables,
            "threads": self.plan.threads,
            "conditions": self.conditions.json(),
            "places": places,
            "skipped": self.skipped,
        })
    }

    fn csv(&self) -> String {
        let mut out = String::from("place,phase,seconds,tables_per_second\n");
        for p in &self.places {
            for o in &p.outcome.phases {
                for (t, rate) in rates(&o.samples) {
                    let _ = writeln!(out, "{},{},{t:.3},{rate:.1}", p.name, o.phase.name());
                }
            }
        }
        out
    }
}

/// (end of the interval, tables per second in it), few enough to draw.
fn rates(samples: &[(f64, u64)]) -> Vec<(f64, f64)> {
    let step = samples.len().div_ceil(POINTS).max(1);
    let mut kept: Vec<(f64, u64)> = samples.iter().copied().step_by(step).collect();
    kept.extend(samples.last().filter(|l| kept.last() != Some(l)));
    let pairs = kept.windows(2).filter(|w| w[1].0 > w[0].0);
    pairs
        .map(|w| (w[1].0, (w[1].1 - w[0].1) as f64 / (w[1].0 - w[0].0)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_intervals_and_few() {
        assert_eq!(
            rates(&[(0.0, 0), (1.0, 50), (3.0, 250)]),
            [(1.0, 50.0), (3.0, 100.0)]
        );
        let many: Vec<(f64, u64)> = (0..1000).map(|i| (i as f64, i * 3)).collect();
        let few = rates(&many);
        assert!(few.len() <= POINTS + 1);
        assert!(few.iter().all(|r| (r.1 - 3.0).abs() < 1e-9));
        assert_eq!(few.last().unwrap().0, 999.0);
        assert_eq!(rates(&[]), []);
    }
}
