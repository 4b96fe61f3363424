//! What Millpond answers otherwise than MySQL, on purpose or where MySQL's answer is of chance: `known/`, each with its reason.
//!
//! A block begins with an aspect of `compare::Difference`, or `warning`: then it is about one warning (`level code text`), which is left
//! out before answers are compared. Below it are patterns of what the statement, Millpond's answer (`here`) and MySQL's (`there`) look
//! like, as far as they matter, and the reason. In a pattern `*` is any text, and capitals are as good as small letters.

use std::path::Path;

use super::compare::{Answer, Difference, Warning};

#[derive(Debug, Default)]
struct Rule {
    aspect: String,
    sql: Vec<String>,
    here: Option<String>,
    there: Option<String>,
    because: String,
    used: std::cell::Cell<u64>,
}

pub struct Known(Vec<Rule>);

impl Known {
    /// All files of a folder.
    pub fn read(folder: &Path) -> Known {
        let entries = std::fs::read_dir(folder).expect("the known differences");
        let mut paths: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
        paths.sort();
        let text = |path| std::fs::read_to_string(path).expect("known differences");
        Known::parse(&paths.iter().map(text).collect::<String>())
    }

    fn parse(text: &str) -> Known {
        let mut rules: Vec<Rule> = Vec::new();
        for line in text.lines() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let Some(line) = line.strip_prefix("  ") else {
                rules.push(Rule {
                    aspect: line.to_string(),
                    ..Rule::default()
                });
                continue;
            };
            let rule = rules.last_mut().expect("an aspect first");
            let (word, rest) = line.split_once(' ').expect("a word and what it is about");
            match word {
                "sql" => rule.sql.push(rest.to_lowercase()),
                "here" => rule.here = Some(rest.to_lowercase()),
                "there" => rule.there = Some(rest.to_lowercase()),
                "because" => rule.because = rest.to_string(),
                _ => panic!("{line}"),
            }
        }
        for rule in &rules {
            assert!(!rule.because.is_empty(), "no reason: {rule:?}");
        }
        Known(rules)
    }

    /// Whether a difference is one that there should be.
    pub fn is(&self, sql: &str, difference: &Difference) -> bool {
        let fits = |r: &&Rule| {
            r.aspect == difference.aspect
                && any(&r.sql, sql)
                && side(&r.here, &difference.here)
                && side(&r.there, &difference.there)
        };
        let rule = self.0.iter().find(fits);
        if let Some(rule) = rule {
            rule.used.set(rule.used.get() + 1);
        }
        rule.is_some()
    }

    /// Leaves out the warnings that only one of the two gives.
    pub fn leave_out(&self, sql: &str, here: &mut Answer, there: &mut Answer) {
        let of = |rule: &Rule, own: bool, w: &Warning| {
            let pattern = if own { &rule.here } else { &rule.there };
            let line = format!("{} {} {}", w.0, w.1, w.2);
            let fits = pattern.is_some() && side(pattern, &line);
            rule.used.set(rule.used.get() + u64::from(fits));
            fits
        };
        // The error that the statement ended in stays.
        let own = |a: &Answer| match &a.outcome {
            Ok(_) => String::new(),
            Err(f) => f.message.clone(),
        };
        let (ended, ended_there) = (own(here), own(there));
        let rules = self.0.iter().filter(|r| r.aspect == "warning");
        for rule in rules.filter(|r| any(&r.sql, sql)) {
            here.warnings.retain(|w| w.2 == ended || !of(rule, true, w));
            there
                .warnings
                .retain(|w| w.2 == ended_there || !of(rule, false, w));
        }
    }

    /// How often each rule was met, by its reason.
    pub fn counts(&self) -> Vec<(u64, &str)> {
        let count = |r: &'_ Rule| r.used.get();
        self.0
            .iter()
            .map(|r| (count(r), r.because.as_str()))
            .collect()
    }
}

fn any(patterns: &[String], text: &str) -> bool {
    let text = text.to_lowercase();
    patterns.is_empty() || patterns.iter().any(|p| matches(p, &text))
}

fn side(pattern: &Option<String>, text: &str) -> bool {
    pattern
        .as_ref()
        .is_none_or(|p| matches(p, &text.to_lowercase()))
}

/// Whether a text is like a pattern: parts in order, the first at its beginning and the last at its end.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
