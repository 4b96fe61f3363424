//! What was measured for each article: a sentence, a chart, and the figure that matters most, out of an experiment's JSON and nothing else.

mod drop_stall;
mod drop_throughput;
mod many_tables;
mod rebuild;
mod truncate_scale;

use crate::report::Block;
use serde_json::Value;

/// Of one article.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// The figure that matters most.
    pub value: String,
    /// What it is, and what to compare it with.
    pub note: String,
    /// The answer in plain words.
    pub sentence: String,
    pub chart: Block,
}

/// What an experiment's figures say; none if there are too few.
pub(super) fn told(experiment: &str, data: &Value) -> Option<Told> {
    match experiment {
        "many-tables" => many_tables::told(data),
        "drop-throughput" => drop_throughput::told(data),
        "drop-stall" => drop_stall::told(data),
        "rebuild" => rebuild::told(data),
        "truncate-scale" => truncate_scale::told(data),
        _ => None,
    }
}
