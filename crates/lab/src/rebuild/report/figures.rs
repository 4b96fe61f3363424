//! Charts.

use super::super::{Cell, Results};
use crate::report::{Axis, Bar, Bars, Figure, Group, Mark, Panel, Part, Series, seconds};
use crate::stats::{Timeline, mean, most, thinned};

/// The style of stages that are not worth a name.
const OTHERS: usize = 6;
/// Those of the others, in turn: neighbours are told apart, with and without colour.
const STAGES: [usize; 7] = [0, 1, 5, 2, 3, 4, 7];

impl Results {
    pub(super) fn times(&self) -> Bars {
        let group = |keys| {
            let cells = self.cells.iter().filter(move |c| c.keys == keys);
            let bar = |c: &Cell, table: &str, value: f64| Bar {
                name: format!("{}, {table}", self.subject(c).label),
                value,
                style: self.subject(c).style,
                ..Bar::default()
            };
            let both = |c: &Cell| {
                let fresh = c.fresh().map(|s| bar(c, "fresh", s.median));
                let fragmented = c.fragmented().map(|s| bar(c, "fragmented", s.median));
                [fresh, fragmented]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
            };
            Group {
                title: keys.name().into(),
                bars: cells.flat_map(both).collect(),
            }
        };
        Bars {
            title: "Seconds of OPTIMIZE TABLE".into(),
            caption: "Medians; one scale for all.".into(),
            unit: "s".into(),
            log: false,
            groups: self.plan.keys.iter().copied().map(group).collect(),
        }
    }

    pub(super) fn stage_bars(&self) -> Bars {
        let names = self.notable();
        let bar = |c: &Cell| {
            let profile = c.middle()?;
            let part = |(i, name): (usize, &&str)| {
                Some(Part {
                    name: name.to_string(),
                    value: profile.of(name)? * 1e3,
                    style: STAGES[i % STAGES.len()],
                })
            };
            let mut parts: Vec<Part> = names.iter().enumerate().filter_map(part).collect();
            let known: f64 = parts.iter().map(|p| p.value).sum();
            parts.push(Part {
                name: "other".into(),
                value: (profile.seconds * 1e3 - known).max(0.0),
                style: OTHERS,
            });
            Some(Bar {
                name: c.keys.name().into(),
                value: profile.seconds * 1e3,
                parts,
                ..Bar::default()
            })
        };
        let group = |(i, s): (usize, &crate::frame::Subject)| {
            let cells = self.cells.iter().filter(move |c| c.subject == i);
            Group {
                title: s.label.clone(),
                bars: cells.filter_map(bar).collect(),
            }
        };
        Bars {
            title: "What the time goes to".into(),
            caption:
                "Stages of the median fresh rebuild, as SHOW PROFILE tells them; one scale for all."
                    .into(),
            unit: "ms".into(),
            log: false,
            groups: self.subjects.iter().enumerate().map(group).collect(),
        }
    }

    /// A panel for each subject, with the most constraints it was measured with.
    fn over_time(&self, title: &str, y: Axis, line: fn(&Timeline) -> Vec<(f64, f64)>) -> Figure {
        let cells = (0..self.subjects.len()).filter_map(|s| self.last_of(s));
        let panel = |c: &Cell| {
            let (from, until) = c.beside.done;
            let mark = |x: f64, what: &str| Mark {
                x,
                what: format!("{what}, which took {}", seconds(until - from)),
            };
            Panel {
                title: format!("{}: {}", self.subject(c).label, c.keys.name()),
                series: vec![Series {
                    name: self.subject(c).label.clone(),
                    style: self.subject(c).style,
                    points: line(&c.beside.timeline),
                    base: false,
                }],
                marks: vec![
                    mark(from, "OPTIMIZE TABLE begins"),
                    mark(until, "OPTIMIZE TABLE ends"),
                ],
            }
        };
        Figure {
            title: title.into(),
            caption: "A first round. Between the dotted lines the table is rebuilt; one scale for all panels.".into(),
            x: Axis {
                label: "seconds".into(),
                log: false,
            },
            y,
            panels: cells.map(panel).collect(),
            names: false,
        }
    }

    pub(super) fn rates(&self) -> Figure {
        let axis = Axis {
            label: "statements per second".into(),
            log: false,
        };
        self.over_time("Reads and writes per second", axis, |t| {
            thinned(&t.rates(), mean)
        })
    }

    pub(super) fn slowest(&self) -> Figure {
        let axis = Axis {
            label: "milliseconds".into(),
            log: true,
        };
        self.over_time("The slowest of each moment", axis, |t| {
            let ms: Vec<f64> = t.slowest().iter().map(|s| s * 1e3).collect();
            thinned(&ms, most)
        })
    }
}
