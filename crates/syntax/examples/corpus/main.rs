//! Parses every statement of MariaDB's test suite: `corpus DIRECTORY EXCLUSIONS [-v] [-x]`, where the directory holds `.test` files.
//!
//! A statement counts if MySQL 8's language has it: those that a test expects to be refused, those that hold variables of
//! mysqltest, and those that the exclusions' patterns match (constructs of MariaDB alone) don't. `scripts/parse-corpus` fetches
//! the files and runs this. What parses is printed and parsed again, which must give the same tree; queries in a view's
//! form, too, which must print the same again. `-v` shows all that is refused, `-x` all that is excluded.

mod exclusions;
mod modes;
mod mysqltest;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use exclusions::Exclusions;
use millpond_syntax::ast::{Statement, StatementKind};
use millpond_syntax::print::View;
use millpond_syntax::{LexMode, parse_statement};
use modes::Modes;

/// The share of statements that must parse.
const TARGET: f64 = 0.99;

#[derive(Default)]
struct Tally {
    parsed: usize,
    /// Refused as expected, or not as expected: some errors are told only when a statement runs.
    expected: usize,
    variables: usize,
    excluded: BTreeMap<String, Vec<String>>,
    /// By what stands where parsing ended.
    failed: BTreeMap<String, Vec<String>>,
    changed: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [directory, exclusions, rest @ ..] = &args[..] else {
        return Err("usage: corpus DIRECTORY EXCLUSIONS [-v] [-x]".into());
    };
    let exclusions = Exclusions::read(&std::fs::read_to_string(exclusions)?)?;
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|e| e == "test"));
    files.sort();
    let mut tally = Tally::default();
    for file in &files {
        tally.file(file, &exclusions)?;
    }
    let asked = |option| rest.iter().any(|a| a == option);
    tally.report(files.len(), asked("-v"), asked("-x"));
    if tally.share() < TARGET || !tally.changed.is_empty() {
        return Err("below the target".into());
    }
    Ok(())
}

/// A statement where it stands, and where parsing ended.
fn shown(place: &str, text: &str, near: &str) -> String {
    let text = text.replace('\n', " ");
    format!("{place}: {text:.150} -- near {near:.40}")
}

impl Tally {
    fn file(&mut self, path: &Path, exclusions: &Exclusions) -> Result<(), Box<dyn Error>> {
        let bytes = std::fs::read(path)?;
        // Files in other character sets are read byte for byte.
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|e| e.as_bytes().iter().map(|b| char::from(*b)).collect());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut modes = Modes::default();
        for sent in mysqltest::split(&text) {
            let place = format!("{name}:{}", sent.line);
            modes.see(&sent.text);
            let Some(mode) = modes.mode() else {
                let reason = "sql_mode=ORACLE".to_string();
                let lines = self.excluded.entry(reason).or_default();
                lines.push(shown(&place, &sent.text, ""));
                continue;
            };
            self.statement(&place, &sent, mode, exclusions);
        }
        Ok(())
    }

    fn statement(
        &mut self,
        place: &str,
        sent: &mysqltest::Sent,
        mode: LexMode,
        exclusions: &Exclusions,
    ) {
        if ["ER_PARSE_ERROR", "1064"]
            .iter()
            .any(|e| sent.errors.contains(e))
        {
            self.expected += 1;
            return;
        }
        let statement = match parse_statement(&sent.text, mode) {
            Ok(statement) => statement,
            Err(error) => {
                let near = error.message.rsplit_once("near '").map_or("", |(_, n)| n);
                let line = shown(place, &sent.text, near);
                if sent.text.contains('$') {
                    self.variables += 1;
                } else if let Some(reason) = exclusions.reason(&sent.text) {
                    self.excluded
                        .entry(reason.to_string())
                        .or_default()
                        .push(line);
                } else if sent.errors.contains(error.code.to_string().as_str()) {
                    self.expected += 1;
                } else {
                    let word: String = near.chars().take(12).collect();
                    self.failed.entry(word).or_default().push(line);
                }
                return;
            }
        };
        self.parsed += 1;
        let printed = statement.to_string();
        match parse_statement(&printed, LexMode::default()) {
            Ok(again) if again == statement => self.view(place, &statement),
            Ok(_) => self.changed.push(format!("{place}: {printed:.300}")),
            Err(error) => self
                .changed
                .push(format!("{place}: {printed:.300}: {error}")),
        }
    }

    /// A query's form as a view's: it parses, and prints the same again.
    fn view(&mut self, place: &str, statement: &Statement) {
        let form = |s: &Statement| match &s.kind {
            StatementKind::Query(query) if s.params == 0 => {
                let columns = &[];
                Some(View { query, columns }.to_string())
            }
            _ => None,
        };
        let Some(text) = form(statement) else {
            return;
        };
        let again = parse_statement(&text, LexMode::default());
        if again.ok().and_then(|s| form(&s)).as_ref() != Some(&text) {
            self.changed
                .push(format!("{place}: as a view: {text:.300}"));
        }
    }

    fn failures(&self) -> usize {
        self.failed.values().map(Vec::len).sum()
    }

    fn share(&self) -> f64 {
        self.parsed as f64 / (self.parsed + self.failures()).max(1) as f64
    }

    fn report(&self, files: usize, verbose: bool, excluded: bool) {
        let mut groups: Vec<_> = self.failed.iter().collect();
        groups.sort_by_key(|(_, lines)| std::cmp::Reverse(lines.len()));
        for (word, lines) in groups {
            println!("{:5} near {word}", lines.len());
            let shown = if verbose { lines.len() } else { 3 };
            lines
                .iter()
                .take(shown)
                .for_each(|line| println!("      {line}"));
        }
        println!("excluded:");
        for (reason, lines) in &self.excluded {
            println!("{:5} {reason}", lines.len());
            let shown = if excluded { lines.len() } else { 0 };
            lines
                .iter()
                .take(shown)
                .for_each(|line| println!("      {line}"));
        }
        let shown = if verbose { self.changed.len() } else { 20 };
        self.changed
            .iter()
            .take(shown)
            .for_each(|line| println!("printed differently: {line}"));
        println!(
            "{files} files: {} parsed, {} failed ({:.3} %), {} printed differently; beside them {} expected to fail, {} with variables",
            self.parsed,
            self.failures(),
            100.0 * self.share(),
            self.changed.len(),
            self.expected,
            self.variables
        );
    }
}
