//! Models beside originals: where a run has a server and the algorithm that is a model of what such a server does, whether they agree.
//!
//! Two programs on one machine don't stall for as long; a model is right if it stalls where its original does, at the same time after the drop, and doesn't
//! where that doesn't. So the verdicts are compared, and of two effects when the load is most behind and when it has recovered; how
//! long they stall stands beside, with the ratio.

use super::super::effects::Verdict;
use super::words::{verdict, with_interval};
use super::{Found, Results};
use crate::algorithm::Algorithm;
use crate::report::{Axis, Block, Figure, Mark, Panel, Series, Table, num};
use serde_json::{Value, json};

/// Lags of the worst moment that differ by this factor are not the same.
const SAME: f64 = 3.0;
/// ms by which lags may differ in any case: what a request and the lab's own sleeping take.
const BLUR: f64 = 2.0;

/// The model of what a server does about a dropped table's pages, by its name and version (`MySQL 8.0.36`).
fn model(server: &str) -> Option<Algorithm> {
    let (name, version) = server.split_once(' ')?;
    let mut numbers = version.split('.').map_while(|n| n.parse::<u32>().ok());
    let version = (
        numbers.next()?,
        numbers.next()?,
        numbers.next().unwrap_or(0),
    );
    match name {
        "MySQL" if version < (5, 5, 23) => Some(Algorithm::FullScan),
        "MySQL" if version == (5, 6, 2) => Some(Algorithm::Cleaner),
        "MySQL" if version < (8, 0, 23) => Some(Algorithm::FlushList),
        "MySQL" => Some(Algorithm::Stale),
        // It has kept what MySQL 5.5.23 did: dirty pages leave the flush list as the table goes.
        "MariaDB" if version >= (5, 5, 23) => Some(Algorithm::FlushList),
        _ => None,
    }
}

/// How far two agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Agreement {
    /// Neither has an effect, or both have one at the same time after a drop.
    Agree,
    /// Both have an effect, at other times.
    OtherShape,
    /// One has an effect.
    Differ,
    /// One of them has too few windows.
    Untold,
}

impl Agreement {
    fn said(self) -> &'static str {
        match self {
            Agreement::Agree => "yes",
            Agreement::OtherShape => "in the verdict, not in when",
            Agreement::Differ => "no",
            Agreement::Untold => "unknown",
        }
    }
}

/// An original and its model.
pub(super) struct Together<'a> {
    original: &'a Found<'a>,
    model: &'a Found<'a>,
    agreement: Agreement,
}

/// Whether two lags are the same moment.
fn same(a: f64, b: f64) -> bool {
    let (less, more) = (a.min(b), a.max(b));
    more - less <= BLUR || more <= less * SAME
}

fn agreement(a: &Found<'_>, b: &Found<'_>) -> Agreement {
    let (of_a, of_b) = (&a.effects.stall, &b.effects.stall);
    match (of_a.verdict, of_b.verdict) {
        (Verdict::TooFew, _) | (_, Verdict::TooFew) => Agreement::Untold,
        (Verdict::NoneAbove(_), Verdict::NoneAbove(_)) => Agreement::Agree,
        (Verdict::Effect, Verdict::Effect) if same(of_a.lag, of_b.lag) => Agreement::Agree,
        (Verdict::Effect, Verdict::Effect) => Agreement::OtherShape,
        _ => Agreement::Differ,
    }
}

/// Every server of which a model was measured, with that.
pub(super) fn together<'a>(results: &Results, found: &'a [Found<'a>]) -> Vec<Together<'a>> {
    let subject = |f: &Found<'_>| &results.subjects[f.cell.subject];
    let originals = found.iter().filter(|f| subject(f).algorithm.is_none());
    originals
        .filter_map(|original| {
            let wanted = model(original.label)?;
            let model = found
                .iter()
                .find(|f| subject(f).algorithm == Some(wanted))?;
            Some(Together {
                original,
                model,
                agreement: agreement(original, model),
            })
        })
        .collect()
}

/// The section; nothing without a pair.
pub(super) fn blocks(all: &[Together<'_>]) -> Vec<Block> {
    if all.is_empty() {
        return Vec::new();
    }
    let sentences: Vec<String> = all.iter().map(Together::sentence).collect();
    vec![
        Block::Heading("Models beside originals".into()),
        Block::Text(sentences.join(" ")),
        Block::Table(table(all)),
        Block::Figure(figure(all)),
    ]
}

/// For programs.
pub(super) fn data(all: &[Together<'_>]) -> Vec<Value> {
    let one = |t: &Together<'_>| {
        json!({
            "original": t.original.label, "model": t.model.label, "agree": t.agreement.said(),
        })
    };
    all.iter().map(one).collect()
}

impl Together<'_> {
    fn sentence(&self) -> String {
        let (original, model) = (self.original.label, self.model.label);
        let bound = |f: &Found<'_>| match f.effects.stall.verdict {
            Verdict::NoneAbove(ms) => num(ms),
            _ => String::new(),
        };
        match self.agreement {
            Agreement::Agree if self.original.effects.stall.verdict == Verdict::Effect => {
                format!(
                    "{original} stalls as its model {model} does, at the same time after a drop."
                )
            }
            Agreement::Agree => format!(
                "Neither {original} nor its model {model} stalls, as far as can be told: not above {} and {} ms.",
                bound(self.original),
                bound(self.model)
            ),
            Agreement::OtherShape => {
                format!(
                    "{original} and its model {model} stall, but not at the same time after a drop."
                )
            }
            Agreement::Differ => format!(
                "{original} and its model {model} differ: {} and {}.",
                verdict(self.original.effects.stall.verdict),
                verdict(self.model.effects.stall.verdict)
            ),
            Agreement::Untold => {
                format!("There are too few windows to hold {original} against its model {model}.")
            }
        }
    }
}

fn table(all: &[Together<'_>]) -> Table {
    let mut table = Table::new(
        "What a drop does to an original and to its model",
        &[
            "",
            "verdict",
            "stall, ms",
            "most behind after, ms",
            "recovered after, ms",
            "a drop takes, ms",
            "agree",
        ],
    );
    for t in all {
        for (f, agree) in [(t.original, t.agreement.said()), (t.model, "")] {
            let e = &f.effects;
            let shown = |i: Option<&crate::stats::Interval>| i.map_or("–".into(), with_interval);
            let worst = match e.stall.verdict {
                Verdict::Effect => num(e.stall.lag),
                _ => "–".into(),
            };
            table.rows.push(vec![
                format!("{} ({})", f.label, f.origin),
                verdict(e.stall.verdict),
                shown(e.stall.interval.as_ref()),
                worst,
                shown(e.recovery.as_ref()),
                e.took.map_or("–".into(), |s| num(s * 1e3)),
                agree.into(),
            ]);
        }
    }
    table.note = format!(
        "A model is held to where its original stalls and when, not to for how long: they are other programs. \u{201c}yes\u{201d}: the same verdict, and \
         if both stall, most behind at lags within a factor of {SAME} or {BLUR} ms."
    );
    table
}

fn figure(all: &[Together<'_>]) -> Figure {
    let line = |f: &Found<'_>, kind: &str| Series {
        name: format!("{} ({kind})", f.label),
        style: f.style,
        points: f
            .near
            .iter()
            .map(|p| (p.lag_ms, p.added.estimate))
            .collect(),
        ..Series::default()
    };
    let panel = |t: &Together<'_>| Panel {
        title: format!("{} and {}", t.original.label, t.model.label),
        series: vec![line(t.original, "original"), line(t.model, "model")],
        marks: vec![Mark {
            x: 0.0,
            what: "DROP TABLE is sent".into(),
        }],
    };
    Figure {
        title: "What a drop adds to latency around it, original and model".into(),
        caption: "Mean latency of the requests by when they were due, seen from each drop, less the same at moments without one.".into(),
        x: Axis {
            label: "ms since the drop (of the model: its work on pages)".into(),
            log: false,
        },
        y: Axis {
            label: "milliseconds".into(),
            log: false,
        },
        panels: all.iter().map(panel).collect(),
        names: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_model() {
        for (server, expected) in [
            ("MySQL 5.1.73", Some(Algorithm::FullScan)),
            ("MySQL 5.5.9", Some(Algorithm::FullScan)),
            ("MySQL 5.5.23", Some(Algorithm::FlushList)),
            ("MySQL 5.6.2", Some(Algorithm::Cleaner)),
            ("MySQL 5.6.51", Some(Algorithm::FlushList)),
            ("MySQL 8.0.22", Some(Algorithm::FlushList)),
            ("MySQL 8.0.23", Some(Algorithm::Stale)),
            ("MySQL 9.7.4", Some(Algorithm::Stale)),
            ("MariaDB 10.11.14", Some(Algorithm::FlushList)),
            ("Millpond server", None),
            ("MySQL", None),
        ] {
            assert_eq!(model(server), expected, "{server}");
        }
    }

    #[test]
    fn moments_are_the_same_within_a_factor_or_the_blur() {
        assert!(same(0.1, 2.0) && same(5.0, 14.0) && same(14.0, 5.0));
        assert!(!same(2.0, 8.0));
    }
}
