//! Verdicts and figures in words.

use super::super::effects::{Stall, Verdict};
use super::{Found, Results};
use crate::report::num;
use crate::stats::Interval;

/// A figure and its interval: `1.30 [1.10, 1.50]`.
pub(super) fn with_interval(i: &Interval) -> String {
    format!("{} [{}, {}]", num(i.estimate), num(i.low), num(i.high))
}

/// `effect`, `none above 0.2 ms`.
pub(super) fn verdict(verdict: Verdict) -> String {
    match verdict {
        Verdict::Effect => "effect".into(),
        Verdict::NoneAbove(ms) => format!("none above {} ms", num(ms)),
        Verdict::TooFew => "too few windows".into(),
    }
}

/// A stall in a few words.
pub(in super::super) fn said(stall: &Stall) -> String {
    match (stall.verdict, &stall.joint) {
        (Verdict::Effect, Some(i)) => {
            format!(
                "{} ms a drop [{}, {}]",
                num(i.estimate),
                num(i.low),
                num(i.high)
            )
        }
        (other, _) => verdict(other),
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

impl Results {
    /// The one sentence: effects by size, then what has none.
    pub(super) fn headline(&self, found: &[Found<'_>]) -> String {
        let mut effects = Vec::new();
        let mut none = Vec::new();
        let mut unknown = Vec::new();
        for f in found {
            match (f.effects.stall.verdict, f.effects.stall.joint) {
                (Verdict::Effect, Some(i)) => effects.push((i, f.label)),
                (Verdict::NoneAbove(ms), _) => {
                    none.push(format!("{} ms with {}", num(ms), f.label))
                }
                _ => unknown.push(f.label.to_string()),
            }
        }
        effects.sort_by(|a, b| b.0.estimate.total_cmp(&a.0.estimate));
        let stalls: Vec<String> = effects
            .iter()
            .map(|(i, label)| {
                format!(
                    "{} ms [{}, {}] with {label}",
                    num(i.estimate),
                    num(i.low),
                    num(i.high)
                )
            })
            .collect();
        let mut clauses = Vec::new();
        if !stalls.is_empty() {
            clauses.push(format!(
                "a DROP TABLE stalls the load for {}",
                listed(&stalls)
            ));
        }
        if !none.is_empty() {
            clauses.push(format!("no stall is measurable above {}", listed(&none)));
        }
        if !unknown.is_empty() {
            clauses.push(format!(
                "for {} there are too few windows to say",
                listed(&unknown)
            ));
        }
        let text = format!("With {} cached, {}.", self.plan.cached, clauses.join("; "));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_intervals_read_well() {
        let parts = ["a", "b", "c"].map(String::from);
        assert_eq!(listed(&parts), "a, b and c");
        assert_eq!(listed(&parts[..2]), "a and b");
        assert_eq!(listed(&parts[..1]), "a");
        let i = Interval {
            estimate: 1.3,
            low: -0.25,
            high: 2.85,
        };
        assert_eq!(with_interval(&i), "1.30 [-0.250, 2.85]");
        assert_eq!(verdict(Verdict::NoneAbove(0.2)), "none above 0.200 ms");
    }
}
