//! Reports: a text for the terminal, one self-contained HTML page, JSON and CSV, all from one value.
//!
//! | module | owns |
//! |---|---|
//! | `html` | the page: no script, no font, nothing from the network; readable on a phone and in dark mode |
//! | [`chart`] | figures as inline SVG: panels with one scale for all |
//! | [`bars`] | bars, whole or in parts |
//! | `ranges` | figures with their intervals |
//! | `scale` | axes: ranges, ticks, positions |
//! | `text` | numbers and tables for people |
//! | [`chapter`] | what was published beside what was measured; a report within another |
//! | `figures` | a chart's figures as a table |
//! | `saved` | figures that come back from JSON |
//! | `card` | a picture of its summary, with the feature of that name |

pub mod bars;
#[cfg(feature = "card")]
mod card;
pub mod chapter;
pub mod chart;
mod figures;
mod html;
mod ranges;
mod saved;
mod scale;
mod text;

pub use bars::{Bar, Bars, Group, Part};
pub use chapter::{Chapter, Entry, Section, Side};
pub use chart::{Axis, Figure, Mark, Panel, Series};
pub use figures::{lines, tables};
pub use ranges::{Range, Ranges};
pub use text::{grouped, num, percentile, ratio, seconds};

use serde::{Deserialize, Serialize};

/// What an experiment found, finished or not.
#[derive(Clone, Debug)]
pub struct Report {
    /// The subcommand.
    pub experiment: &'static str,
    /// Heading.
    pub title: String,
    /// What was done, in a sentence or two.
    pub intro: String,
    /// Why it is not whole, if it isn't.
    pub incomplete: Option<String>,
    /// The figures that matter most.
    pub headline: Vec<Card>,
    /// Everything else, in order.
    pub blocks: Vec<Block>,
    /// Machine, versions, settings, durability.
    pub facts: Vec<(String, String)>,
    /// For programs.
    pub data: serde_json::Value,
    /// For programs that like lines.
    pub csv: String,
}

/// One figure of the headline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// What it is.
    pub label: String,
    /// The figure with its unit.
    pub value: String,
    /// What to compare it with.
    pub note: String,
}

/// A piece of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Block {
    /// A heading.
    Heading(String),
    /// The sentence that says it all.
    Lead(String),
    /// A paragraph.
    Text(String),
    /// A table.
    Table(Table),
    /// Lines over an axis.
    Figure(Figure),
    /// The same lines over a linear and a logarithmic axis.
    LinearAndLog(Figure),
    /// A figure that is folded away at first.
    Folded(Figure),
    /// Bars.
    Bars(Bars),
    /// Intervals.
    Ranges(Ranges),
    /// What the page holds.
    Contents(Vec<Entry>),
    /// What was published beside what was measured.
    Chapter(Box<Chapter>),
    /// A report within this one.
    Section(Box<Section>),
}

/// A table; the first column is names, the others are figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Heads of columns.
    pub head: Vec<String>,
    /// As many cells each as there are heads.
    pub rows: Vec<Vec<String>>,
    /// What to know about it.
    pub note: String,
}

impl Table {
    /// An empty one.
    pub fn new(title: impl Into<String>, head: &[&str]) -> Table {
        Table {
            title: title.into(),
            head: head.iter().map(|h| h.to_string()).collect(),
            ..Table::default()
        }
    }
}

impl Report {
    /// For the terminal: the headline and the tables.
    pub fn text(&self) -> String {
        text::report(self)
    }
    /// The page.
    pub fn html(&self) -> String {
        html::page(self)
    }
    /// A picture of its summary, as PNG.
    #[cfg(feature = "card")]
    pub fn card(&self) -> crate::Result<Vec<u8>> {
        card::png(self)
    }
    /// For programs: the data, and what holds for all of it.
    pub fn json(&self) -> String {
        let pairs = |list: &[(String, String)]| -> serde_json::Map<String, serde_json::Value> {
            list.iter()
                .map(|(k, v)| (k.clone(), v.clone().into()))
                .collect()
        };
        let headline: Vec<_> = self
            .headline
            .iter()
            .map(|c| serde_json::json!({"label": c.label, "value": c.value, "note": c.note}))
            .collect();
        let doc = serde_json::json!({
            "experiment": self.experiment,
            "complete": self.incomplete.is_none(),
            "incomplete": self.incomplete,
            "headline": headline,
            "facts": pairs(&self.facts),
            "data": self.data,
        });
        format!("{doc:#}\n")
    }
}

#[cfg(test)]
mod tests;
