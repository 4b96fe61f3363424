//! What is compared: a target, or one algorithm of a target.

use crate::algorithm::Algorithm;
use crate::report::chart::STYLES;

/// One line of a chart, one row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Short and unique within a report.
    pub label: String,
    /// How it is drawn: the same for the same algorithm everywhere.
    pub style: usize,
    /// The target's number within the report.
    pub target: usize,
    /// The algorithm, where the target has a choice.
    pub algorithm: Option<Algorithm>,
}

impl Subject {
    /// The target of this name and number running an algorithm, or as itself. `several`: another target of the report has the
    /// same algorithms, so that the name must stand in the label.
    pub fn new(name: &str, target: usize, algorithm: Option<Algorithm>, several: bool) -> Subject {
        let label = match algorithm {
            None => name.to_string(),
            Some(a) if several => format!("{name} {}", a.name()),
            Some(a) => a.name().to_string(),
        };
        let style = match algorithm {
            Some(Algorithm::Millpond) => 0,
            Some(Algorithm::FullScan) => 1,
            Some(Algorithm::LazyMark) => 2,
            Some(Algorithm::Cleaner) => 3,
            Some(Algorithm::FlushList) => 4,
            Some(Algorithm::Stale) => 5,
            None if name.starts_with("Millpond") => 0,
            None => 6 + target % (STYLES - 6),
        };
        Subject {
            label,
            style,
            target,
            algorithm,
        }
    }

    /// For programs.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "label": self.label,
            "style": self.style,
            "target": self.target,
            "algorithm": self.algorithm.map(Algorithm::name),
            "origin": self.origin(),
        })
    }

    /// What the algorithm is, or what the target is.
    pub fn origin(&self) -> &'static str {
        self.algorithm.map_or("as it is", Algorithm::origin)
    }
}
