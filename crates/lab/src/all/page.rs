//! The report: what each article published beside what was measured, then all of each experiment.

use super::EXPERIMENT;
use super::articles::{ARTICLES, Article};
use super::chapters::{Told, told};
use super::read::list;
use super::record::{Done, Record};
use crate::report::{Block, Card, Chapter, Entry, Report, Side, lines, num};
use serde_json::{Value, json};
use std::fmt::Write;

impl Record {
    /// The report; `incomplete` says why it is not whole.
    pub(super) fn report(&self, incomplete: Option<String>) -> Report {
        let chapters: Vec<(Article, Option<Told>)> = ARTICLES
            .into_iter()
            .map(|a| (a, self.of(a.experiment).and_then(of)))
            .collect();
        let entries = chapters.iter().map(|(a, t)| entry(*a, t.as_ref()));
        let mut blocks = vec![Block::Contents(entries.collect())];
        blocks.extend(
            chapters
                .iter()
                .map(|(a, t)| Block::Chapter(Box::new(self.chapter(*a, t.as_ref())))),
        );
        blocks.extend(self.done.iter().filter_map(section));
        Report {
            experiment: EXPERIMENT,
            title: "Dropping and rebuilding tables: five articles, measured again".into(),
            intro: self.intro(),
            incomplete,
            headline: Vec::new(),
            csv: csv(&chapters),
            blocks,
            facts: self.facts(),
            data: json!(self),
        }
    }

    fn intro(&self) -> String {
        let size = match self.quick {
            true => "A quick look: sizes are small, and little is certain.",
            false => "Sizes are those of a small machine, not of the articles.",
        };
        format!(
            "What each article published stands beside what was measured here, on {}. {size} Hardware lies years apart: compare how lines rise and \
             what is how many times something else, not heights.",
            self.targets.join(" and ")
        )
    }

    fn chapter(&self, article: Article, told: Option<&Told>) -> Chapter {
        let done = self.of(article.experiment);
        let mut sides = vec![article.published()];
        sides.extend(told.map(|t| Side {
            name: "Measured here".into(),
            chart: t.chart.clone(),
            source: done.map(source).unwrap_or_default(),
        }));
        let sentence = match (told, done) {
            (Some(told), _) => told.sentence.clone(),
            (None, Some(_)) => "Too little was measured to say anything.".into(),
            (None, None) => "This was not measured.".into(),
        };
        let cut = done.and_then(|d| d.incomplete.as_ref());
        Chapter {
            id: article.experiment.into(),
            kicker: article.kicker.into(),
            title: article.title.into(),
            question: article.question.into(),
            sentence,
            sides,
            notes: cut
                .map(|why| format!("Not whole: {why}"))
                .into_iter()
                .collect(),
            command: done.map_or(String::new(), |d| d.command.clone()),
            more: self.more(article),
        }
    }

    /// Where there is more on an article.
    fn more(&self, article: Article) -> Vec<(String, String)> {
        let names = [article.experiment]
            .into_iter()
            .chain(article.also.iter().copied());
        names
            .filter_map(|name| {
                let id = self.of(name)?.section.as_ref()?.id.clone();
                Some((format!("All of {name}"), id))
            })
            .collect()
    }

    fn facts(&self) -> Vec<(String, String)> {
        let first = self.done.iter().find_map(|d| d.section.as_ref());
        let mut facts = first.map_or(Vec::new(), |s| s.facts.clone());
        facts.push((
            "Time".into(),
            format!(
                "{} s of {} s at most: {}",
                num(self.took),
                self.budget,
                self.done
                    .iter()
                    .map(|d| format!("{} {} s", d.experiment, num(d.took)))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        ));
        facts.push((
            "More, less".into(),
            "is what every round of one is against every round of the other, and by a tenth at least; with three rounds each, chance alone \
             makes one in twenty comparisons so. Of drop-stall: see there."
                .into(),
        ));
        facts
    }
}

/// All of an experiment, and what runs it alone.
fn section(done: &Done) -> Option<Block> {
    let mut section = done.section.clone()?;
    section.facts.push(("Alone".into(), done.command.clone()));
    Some(Block::Section(Box::new(section)))
}

/// What an experiment's figures say.
fn of(done: &Done) -> Option<Told> {
    told(&done.experiment, &done.data)
}

/// What it was measured with, in short.
fn source(done: &Done) -> String {
    let targets = list(&done.data["conditions"]["targets"]);
    let one = |t: &Value| {
        let name = t["name"].as_str().unwrap_or_default();
        format!("{name}, {}", t["durability"].as_str().unwrap_or_default())
    };
    let mut all: Vec<String> = targets.iter().map(one).collect();
    all.dedup();
    format!("{}; {} s.", all.join("; "), num(done.took))
}

fn entry(article: Article, told: Option<&Told>) -> Entry {
    Entry {
        card: Card {
            label: article.title.into(),
            value: told.map_or("–".into(), |t| t.value.clone()),
            note: told.map_or("not measured".into(), |t| t.note.clone()),
        },
        to: article.experiment.into(),
    }
}

/// Every figure of every chart of the chapters.
fn csv(chapters: &[(Article, Option<Told>)]) -> String {
    let mut out = String::from("article,side,what,x,value\n");
    let quoted = |text: &str| text.replace('"', "\"\"");
    for (article, told) in chapters {
        let published = article.published().chart;
        let sides = [
            ("published", Some(&published)),
            ("measured", told.as_ref().map(|t| &t.chart)),
        ];
        for (side, chart) in sides {
            for (what, x, value) in chart.map(lines).unwrap_or_default() {
                let x = x.map_or(String::new(), |x| x.to_string());
                let _ = writeln!(
                    out,
                    "\"{}\",{side},\"{}\",{x},{value}",
                    quoted(article.title),
                    quoted(&what)
                );
            }
        }
    }
    out
}
