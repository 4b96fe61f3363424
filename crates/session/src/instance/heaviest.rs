//! The statements that took most of the server's time, for who watches it without SQL.

use super::Instance;
use crate::digests::quantile;

/// Statements that are alike but for their literals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alike {
    /// The database in use; none, or several: `None`.
    pub schema: Option<String>,
    /// Their digest text: a question mark where a literal stood.
    pub text: String,
    /// How many ended.
    pub count: u64,
    /// How long they took together, nanoseconds.
    pub total_ns: u64,
    /// The longest, nanoseconds.
    pub max_ns: u64,
    /// What 95 of 100 did not exceed, nanoseconds.
    pub p95_ns: u64,
    /// Rows read.
    pub examined: u64,
    /// How many read a table whole.
    pub no_index: u64,
    /// How many failed.
    pub errors: u64,
}

impl Instance {
    /// Those that took longest together since the start, or since performance_schema's summaries were set to zero; the most so many.
    pub fn heaviest_statements(&self, most: usize) -> Vec<Alike> {
        let all = self.0.digests.all();
        let mut known: Vec<_> = all
            .iter()
            .filter_map(|t| Some((t, t.digest.as_ref()?, t.sums())))
            .collect();
        known.sort_by_key(|(_, _, sums)| std::cmp::Reverse(sums.ns));
        let known = known.into_iter().take(most);
        let alike = known.map(|(tally, digest, sums)| Alike {
            schema: tally.schema.as_deref().map(String::from),
            text: digest.text.to_string(),
            count: sums.count,
            total_ns: sums.ns,
            max_ns: sums.max_ns,
            p95_ns: quantile(&tally.buckets(), 0.95, sums.max_ns),
            examined: sums.examined,
            no_index: sums.no_index,
            errors: sums.errors,
        });
        alike.collect()
    }
}
