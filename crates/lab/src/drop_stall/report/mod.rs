//! What is said about it.

mod data;
mod machine;
mod models;
mod tables;
mod words;

use super::effects::{Effects, Point, around, effects};
use super::{Args, Cell, Results};
use crate::frame::Experiment;
use crate::report::{
    Axis, Block, Figure, Mark, Panel, Range, Ranges, Report, Series, grouped, num,
};
use crate::stats::Interval;
pub(super) use words::said;

/// A subject with all that is known of it.
struct Found<'a> {
    cell: &'a Cell,
    label: &'a str,
    style: usize,
    origin: &'static str,
    effects: Effects,
    near: Vec<Point>,
    wide: Vec<Point>,
}

impl Found<'_> {
    /// Whether lags count from when a drop began to work on pages.
    fn is_timed(&self) -> bool {
        let mut drops = self.cell.pairs.iter().flat_map(|p| &p.with.events);
        drops.any(|e| e.work.is_some())
    }
}

/// What is at lag 0, of all.
fn zero(found: &[Found<'_>]) -> Zero {
    let timed = found.iter().filter(|f| f.is_timed()).count();
    match timed {
        0 => Zero::Sent,
        n if n == found.len() => Zero::Work,
        _ => Zero::Either,
    }
}

/// Where the lags of charts begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zero {
    Sent,
    Work,
    /// Some of one, some of the other.
    Either,
}

impl Zero {
    /// For an axis.
    fn axis(self) -> &'static str {
        match self {
            Zero::Sent => "ms since the drop was sent",
            Zero::Work => "ms since the drop began to work on pages",
            Zero::Either => "ms since it was sent, or began to work on pages",
        }
    }
}

impl Results {
    /// The report; `incomplete` says why it is not whole.
    pub(super) fn report(&self, incomplete: Option<String>) -> Report {
        let found = self.found();
        let mut blocks = Vec::new();
        if !found.is_empty() {
            blocks.push(Block::Lead(self.headline(&found)));
        }
        for limit in self.limited() {
            blocks.push(Block::Text(limit));
        }
        for note in &self.notes {
            blocks.push(Block::Text(format!("{note}.")));
        }
        blocks.push(Block::Ranges(self.stalls(&found)));
        blocks.push(Block::Table(self.effects_table(&found)));
        blocks.push(Block::Table(self.latency_table(&found)));
        let together = models::together(self, &found);
        blocks.extend(models::blocks(&together));
        blocks.push(Block::Heading("Around a drop".into()));
        blocks.push(Block::Figure(figure(&found, "at close range", |f| {
            &f.near[..]
        })));
        blocks.push(Block::Figure(figure(
            &found,
            "from half a second before to two seconds after",
            |f| &f.wide[..],
        )));
        blocks.push(Block::Heading("What it was measured with".into()));
        blocks.push(Block::Table(self.pools(&found)));
        blocks.push(Block::Table(self.machine()));
        Report {
            experiment: Args::NAME,
            title: "What queries feel of drops beside them".into(),
            intro: self.intro(),
            incomplete,
            headline: Vec::new(),
            blocks,
            facts: self.facts(),
            data: self.data(&found, models::data(&together)),
            csv: self.csv(),
        }
    }

    /// Every subject of which something is known.
    fn found(&self) -> Vec<Found<'_>> {
        let known = self.cells.iter().filter(|c| !c.pairs.is_empty());
        known
            .map(|cell| {
                let subject = &self.subjects[cell.subject];
                let (near, wide) = around(&cell.pairs);
                Found {
                    cell,
                    label: &subject.label,
                    style: subject.style,
                    origin: subject.origin(),
                    effects: effects(&cell.pairs, &cell.question),
                    near,
                    wide,
                }
            })
            .collect()
    }

    fn intro(&self) -> String {
        let plan = &self.plan;
        let drops = match (plan.churn, plan.hot) {
            (true, _) => "tables are created and dropped",
            (_, true) => "tables whose pages were looked up often are dropped",
            _ => "tables are dropped",
        };
        format!(
            "{} connections send sysbench's reads and writes at a fixed rate, in windows in which {drops} (of {} rows) and windows in which none \
             are, in random order; {} are cached, one page in {} of them dirty. Given is what the windows differ by, each with its interval of 95 %. \
             After \u{201c}DROP TABLE and stalls\u{201d} (2012).",
            plan.threads,
            grouped(plan.drop_rows),
            plan.cached,
            num(plan.dirty_ratio),
        )
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = self.conditions.facts();
        let load = "of 17 requests 10 point selects, 4 ranges of 100 rows, 2 updates, a row deleted and inserted again, each a transaction; \
                    prepared statements, rows chosen evenly; sent by the lab's process, which shares the machine with the target";
        facts.push(("Load".into(), load.into()));
        let precedence = match self.extra.precedence {
            true => {
                "the threads of the lab's process, with it the embedded engine's, ran before all other programs while it was measured"
            }
            false => "none: the lab's threads took turns with all other programs",
        };
        facts.push(("Precedence".into(), precedence.into()));
        for (target, (capacity, rate)) in self.extra.capacities.iter().enumerate() {
            let name = format!("Rate {}", target + 1);
            let said = format!(
                "{} requests/s of the {} that the target did at most",
                num(*rate),
                num(*capacity)
            );
            facts.push((name, said));
        }
        facts
    }

    fn stalls(&self, found: &[Found<'_>]) -> Ranges {
        let row = |f: &Found<'_>| {
            Some(Range {
                name: f.label.to_string(),
                style: f.style,
                interval: f.effects.stall.joint?,
                said: words::verdict(f.effects.stall.verdict),
            })
        };
        Ranges {
            title: "The stall of a drop".into(),
            caption: format!(
                "By how much a typical drop puts the target behind its load at the worst moment. Intervals hold for all {} together with 95 %; \
                 \u{201c}effect\u{201d} is an interval above {} ms.",
                self.cells.len(),
                num(self.plan.smallest)
            ),
            unit: "ms".into(),
            rows: found.iter().filter_map(row).collect(),
        }
    }
}

fn figure(
    found: &[Found<'_>],
    range: &str,
    points: for<'a> fn(&'a Found<'a>) -> &'a [Point],
) -> Figure {
    let panel = |f: &Found<'_>| {
        let line =
            |value: fn(&Point) -> f64| points(f).iter().map(|p| (p.lag_ms, value(p))).collect();
        let band = |p: &Point| {
            let Interval { low, high, .. } = p.added;
            (
                p.lag_ms,
                (p.without + low).max(0.0),
                (p.without + high).max(0.0),
            )
        };
        let without = Series {
            name: "without a drop".into(),
            style: f.style,
            points: line(|p| p.without),
            base: true,
            ..Series::default()
        };
        let with = Series {
            name: "with drops".into(),
            style: f.style,
            points: line(|p| p.with),
            band: points(f).iter().map(band).collect(),
            base: false,
        };
        Panel {
            title: format!("{} ({})", f.label, f.origin),
            series: vec![without, with],
            marks: vec![Mark {
                x: 0.0,
                what: match f.is_timed() {
                    true => "DROP TABLE begins to work on cached pages".into(),
                    false => "DROP TABLE is sent".into(),
                },
            }],
        }
    };
    let drawn = found.iter().filter(|f| !points(f).is_empty());
    Figure {
        title: format!("Latency around a drop, {range}"),
        caption: "Mean latency of the requests by when they were due, seen from each drop, over all drops (coloured; shaded: where it may be \
                  with 95 %, given the grey line) and over as many moments without one (grey). One scale for all panels."
            .into(),
        x: Axis {
            label: zero(found).axis().into(),
            log: false,
        },
        y: Axis {
            label: "milliseconds".into(),
            log: false,
        },
        panels: drawn.map(panel).collect(),
        names: false,
    }
}
