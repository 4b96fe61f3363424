//! Figures out of the experiments' JSON, and how they compare.

use crate::stats::median;
use serde_json::Value;

/// A figure is another only if it differs by this part at least.
const NOTABLE: f64 = 0.1;
/// Fewer rounds than this tell nothing about noise.
const ROUNDS: usize = 3;

/// What is compared: a target, or one algorithm of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Subject {
    pub label: String,
    pub style: usize,
    /// The target's number.
    pub target: usize,
    pub algorithm: Option<String>,
    /// What the algorithm stands for.
    pub origin: String,
}

impl Subject {
    /// A target as itself, or with Millpond's own algorithm: what a reader wants to know first.
    pub fn leads(&self) -> bool {
        self.algorithm.as_deref().is_none_or(|a| a == "millpond")
    }

    /// The oldest way of dropping a table.
    pub fn is_full_scan(&self) -> bool {
        self.algorithm.as_deref() == Some("full_scan")
    }

    /// For a sentence.
    pub fn name(&self) -> String {
        match self.leads() {
            true => self.label.clone(),
            false => format!("{} (as in {})", self.label, self.origin),
        }
    }
}

/// All subjects of an experiment.
pub(super) fn subjects(data: &Value) -> Vec<Subject> {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
    let whole = |v: &Value| v.as_u64().unwrap_or(0) as usize;
    let one = |s: &Value| Subject {
        label: text(&s["label"]),
        style: whole(&s["style"]),
        target: whole(&s["target"]),
        algorithm: s["algorithm"].as_str().map(String::from),
        origin: text(&s["origin"]),
    };
    list(&data["subjects"]).iter().map(one).collect()
}

/// Elements of an array; none of anything else.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// An array's numbers.
pub(super) fn numbers(value: &Value) -> Vec<f64> {
    list(value).iter().filter_map(Value::as_f64).collect()
}

/// The cells of a subject.
pub(super) fn cells<'a>(data: &'a Value, subject: &str) -> Vec<&'a Value> {
    let own = list(&data["cells"]).iter();
    own.filter(|c| c["subject"] == subject).collect()
}

/// What rounds are against others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Against {
    /// Each of them is more than each of the others, and the median notably.
    More(f64),
    /// The other way round.
    Less(f64),
    /// Neither.
    Alike(f64),
    /// Too few rounds, or none.
    Untold,
}

/// How rounds compare with others. With three rounds each, chance alone makes one of twenty pairs "more".
pub(super) fn against(rounds: &[f64], others: &[f64]) -> Against {
    let (Some(ours), Some(theirs)) = (median(rounds), median(others)) else {
        return Against::Untold;
    };
    let times = ours / theirs;
    if rounds.len().min(others.len()) < ROUNDS || !times.is_finite() {
        return Against::Untold;
    }
    let least = |all: &[f64]| all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
    if least(rounds) > most(others) && times >= 1.0 + NOTABLE {
        Against::More(times)
    } else if most(rounds) < least(others) && times <= 1.0 / (1.0 + NOTABLE) {
        Against::Less(times)
    } else {
        Against::Alike(times)
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A clause as a sentence.
pub(super) fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_and_less_are_so_in_every_round() {
        let a = [1.0, 1.1, 1.2];
        assert_eq!(against(&[2.2, 2.4, 2.1], &a), Against::More(2.0));
        assert_eq!(against(&[0.5, 0.55, 0.6], &a), Against::Less(0.5));
        // One round that is as good, or a difference that is too small.
        assert!(matches!(against(&[2.2, 1.1, 2.1], &a), Against::Alike(_)));
        let close = against(&[1.21, 1.2, 1.22], &[1.15, 1.16, 1.17]);
        assert!(matches!(close, Against::Alike(_)));
        assert_eq!(against(&[2.0, 2.0], &a), Against::Untold);
        assert_eq!(against(&[], &a), Against::Untold);
    }

    #[test]
    fn clauses_read_well() {
        let parts = ["a", "b", "c"].map(String::from);
        assert_eq!(listed(&parts), "a, b and c");
        assert_eq!(sentence("with a, b"), "With a, b.");
        assert_eq!(sentence(""), "");
    }
}
