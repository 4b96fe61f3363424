//! What is known of a run: what its JSON has, and what the page is drawn from, now or later.

use super::EXPERIMENT;
use crate::Result;
use crate::report::Section;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Of a whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// A look in a minute.
    pub quick: bool,
    /// Seconds that it was to take at most, and took.
    pub budget: u64,
    pub took: f64,
    /// Where it ran.
    pub targets: Vec<String>,
    /// In the order in which they ran.
    pub done: Vec<Done>,
}

/// Of an experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Done {
    /// The subcommand.
    pub experiment: String,
    /// What runs it alone.
    pub command: String,
    /// Seconds.
    pub took: f64,
    /// Whether there is any figure.
    pub measured: bool,
    /// Why it is not whole.
    pub incomplete: Option<String>,
    /// Its figures, as in a report of its own.
    pub data: Value,
    /// Its page; none if it failed before there was any.
    pub section: Option<Section>,
}

impl Record {
    /// Out of a report's JSON, and why that run was incomplete if it was.
    pub fn read(text: &str) -> Result<(Record, Option<String>)> {
        let mut doc: Value = serde_json::from_str(text)?;
        if doc["experiment"] != EXPERIMENT {
            return Err("it is no report of millpond lab all".into());
        }
        let record = serde_json::from_value(doc["data"].take())?;
        Ok((record, doc["incomplete"].as_str().map(String::from)))
    }

    /// Of an experiment, if it ran.
    pub fn of(&self, experiment: &str) -> Option<&Done> {
        self.done.iter().find(|d| d.experiment == experiment)
    }
}
