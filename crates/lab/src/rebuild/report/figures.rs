//! Charts.

use super::super::{Cell, Results};
use super::tables::NOTABLE;
use crate::employees::Keys;
use crate::report::{Axis, Bar, Bars, Figure, Group, Mark, Panel, Part, Series, seconds};
use crate::stats::{Spread, Timeline, mean, most, thinned};

/// The style of stages that are not worth a name.
const OTHERS: usize = 6;
/// Those of the others, in turn: neighbours are told apart, with and without colour.
const STAGES: [usize; 7] = [0, 1, 5, 2, 3, 4, 7];

impl Results {
    pub(super) fn times(&self) -> Bars {
        type Of = fn(&Cell) -> Option<Spread>;
        let group = |keys: Keys, table: &str, of: Of| {
            let cells = self.cells.iter().filter(move |c| c.keys == keys);
            let bar = |c: &Cell| {
                Some(Bar {
                    name: self.subject(c).label.clone(),
                    value: of(c)?.median,
                    style: self.subject(c).style,
                    ..Bar::default()
                })
            };
            Group {
                title: format!("{}, {table}", keys.name()),
                bars: cells.filter_map(bar).collect(),
            }
        };
        let both = |keys: &Keys| {
            [
                group(*keys, "fresh", Cell::fresh),
                group(*keys, "fragmented", Cell::fragmented),
            ]
        };
        Bars {
            title: "Seconds of OPTIMIZE TABLE".into(),
            caption: "Medians; one scale for all.".into(),
            unit: "s".into(),
            log: false,
            groups: self.plan.keys.iter().flat_map(both).collect(),
        }
    }

    pub(super) fn stage_bars(&self) -> Bars {
        let names = self.notable();
        let bar = |c: &Cell| {
            let profile = c.middle()?;
            let part = |(i, name): (usize, &&str)| {
                let took = profile.of(name)?;
                (took >= profile.seconds * NOTABLE).then(|| Part {
                    name: name.to_string(),
                    value: took * 1e3,
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
                    ..Series::default()
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
