//! The grammar in `grammar/*.txt`: which statements there are. It is read when the test runs, so that changing it needs no compiler.
//!
//! A rule is a line `name:`, its alternatives are the lines below it, indented by two (a third space is its own); one indented by four goes on with the one before, and
//! `3* ` before an alternative gives it the weight of three. In an alternative
//!
//! - `{name}` is an expansion of that rule, or what `world.rs` knows by that name,
//! - `{name,3}` up to three of them between commas, `{name;3}` up to three of them between spaces,
//! - `{a|b|c}` one of these words,
//! - `[...]` something that may be left out,
//! - a backslash keeps the character behind it from meaning any of that.

use std::collections::HashMap;
use std::path::Path;

/// What an alternative is made of.
#[derive(Clone, Debug)]
pub enum Part {
    Word(String),
    /// One of several words.
    OneOf(Vec<String>),
    /// An expansion of a rule: its name, the most of them, and what parts them.
    Rule(String, u64, &'static str),
    Optional(Vec<Part>),
}

#[derive(Debug)]
pub struct Alternative {
    pub weight: u64,
    pub parts: Vec<Part>,
    /// Expansions within expansions that it takes at least.
    pub depth: u32,
}

#[derive(Debug, Default)]
pub struct Grammar {
    rules: HashMap<String, Vec<Alternative>>,
}

/// The depth of a rule that no expansion ends.
const ENDLESS: u32 = 1000;

impl Grammar {
    /// The grammar in this folder's files.
    pub fn read(folder: &Path) -> Grammar {
        let mut grammar = Grammar::default();
        let entries = std::fs::read_dir(folder).expect("a folder of grammars");
        let mut paths: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
        paths.sort();
        for path in paths {
            let text = std::fs::read_to_string(&path).expect("a grammar");
            grammar.add(&text);
        }
        grammar.measure();
        grammar
    }

    pub fn rule(&self, name: &str) -> Option<&[Alternative]> {
        self.rules.get(name).map(Vec::as_slice)
    }

    fn add(&mut self, text: &str) {
        let mut rule = String::new();
        let mut lines: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_suffix(':').filter(|n| !n.starts_with(' ')) {
                rule = name.to_string();
            } else if let Some(rest) = line.strip_prefix("    ") {
                let last = lines.last_mut().expect("a line before");
                last.1.push_str(rest);
            } else {
                let alternative = line.strip_prefix("  ").expect("an indented line");
                lines.push((rule.clone(), alternative.to_string()));
            }
        }
        for (rule, line) in lines {
            let (weight, text) = match line.split_once("* ") {
                Some((n, rest)) if n.parse::<u64>().is_ok() => (n.parse().unwrap(), rest),
                _ => (1, line.as_str()),
            };
            let mut chars = text.chars().peekable();
            let parts = parts(&mut chars);
            let depth = ENDLESS;
            self.rules.entry(rule).or_default().push(Alternative {
                weight,
                parts,
                depth,
            });
        }
    }

    /// Finds the least depth of each alternative.
    fn measure(&mut self) {
        loop {
            let least: HashMap<String, u32> = self
                .rules
                .iter()
                .map(|(n, a)| (n.clone(), a.iter().map(|a| a.depth).min().unwrap_or(0)))
                .collect();
            let mut changed = false;
            for alternative in self.rules.values_mut().flatten() {
                let depth = 1 + deepest(&alternative.parts, &least);
                if depth < alternative.depth {
                    alternative.depth = depth;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }
}

fn deepest(parts: &[Part], least: &HashMap<String, u32>) -> u32 {
    let of = |p: &Part| match p {
        Part::Rule(name, ..) => least.get(name).copied().unwrap_or(0),
        _ => 0,
    };
    parts.iter().map(of).max().unwrap_or(0)
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Reads parts up to the end, or to the bracket that closes an optional one.
fn parts(chars: &mut Chars<'_>) -> Vec<Part> {
    let mut out = Vec::new();
    let mut word = String::new();
    while let Some(c) = chars.next() {
        if c == '\\' {
            word.extend(chars.next());
            continue;
        }
        if !matches!(c, '{' | '[' | ']') {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            out.push(Part::Word(std::mem::take(&mut word)));
        }
        match c {
            ']' => return out,
            '[' => out.push(Part::Optional(parts(chars))),
            _ => out.push(braced(chars)),
        }
    }
    if !word.is_empty() {
        out.push(Part::Word(word));
    }
    out
}

/// What stands between braces.
fn braced(chars: &mut Chars<'_>) -> Part {
    let mut words = vec![String::new()];
    while let Some(c) = chars.next() {
        let last = words.last_mut().expect("a word");
        match c {
            '}' => break,
            '|' => words.push(String::new()),
            '\\' => last.extend(chars.next()),
            c => last.push(c),
        }
    }
    if words.len() > 1 {
        return Part::OneOf(words);
    }
    let text = words.remove(0);
    for (sign, between) in [(',', ", "), (';', " ")] {
        if let Some((name, most)) = text.split_once(sign) {
            let most = most.parse().expect("how many");
            return Part::Rule(name.to_string(), most, between);
        }
    }
    Part::Rule(text, 1, "")
}
