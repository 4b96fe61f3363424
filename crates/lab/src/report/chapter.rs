//! Pieces of a page that holds several experiments: what is in it, a chapter for each article, a section for each experiment.

use super::chart::escape;
use super::html::{self, Level};
use super::{Block, Card, Report, Table, figures};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// What a page holds, in a card that leads there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What to see there.
    pub card: Card,
    /// The chapter's id.
    pub to: String,
}

/// What was published beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chapter {
    /// Unique in the page.
    pub id: String,
    /// When, and by whom.
    pub kicker: String,
    /// The article's own.
    pub title: String,
    /// What it asked.
    pub question: String,
    /// The answer that was measured.
    pub sentence: String,
    /// What there is to see.
    pub sides: Vec<Side>,
    /// Why it is not whole, and the like.
    pub notes: Vec<String>,
    /// What runs its experiment alone.
    pub command: String,
    /// Where there is more: names, and ids of sections.
    pub more: Vec<(String, String)>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Above it.
    pub name: String,
    /// A chart.
    pub chart: Block,
    /// What it was measured on.
    pub source: String,
}

/// A report within another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Unique in the page.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What was done.
    pub intro: String,
    /// Why it is not whole, if it isn't.
    pub incomplete: Option<String>,
    /// The figures that matter most.
    pub headline: Vec<Card>,
    /// Everything else.
    pub blocks: Vec<Block>,
    /// What it was measured on.
    pub facts: Vec<(String, String)>,
}

impl Section {
    /// Of a report of its own.
    pub fn of(report: &Report, id: &str) -> Section {
        Section {
            id: id.into(),
            title: report.title.clone(),
            intro: report.intro.clone(),
            incomplete: report.incomplete.clone(),
            headline: report.headline.clone(),
            blocks: report.blocks.clone(),
            facts: report.facts.clone(),
        }
    }
}

pub(super) fn contents(out: &mut String, entries: &[Entry]) {
    out.push_str("<nav class=\"cards\" aria-label=\"The articles\">\n");
    for entry in entries {
        let _ = writeln!(
            out,
            "<a class=\"card\" href=\"#{}\">{}</a>",
            escape(&entry.to),
            html::card(&entry.card)
        );
    }
    out.push_str("</nav>\n");
}

pub(super) fn chapter(out: &mut String, c: &Chapter) {
    let id = escape(&c.id);
    let _ = write!(
        out,
        "<article class=\"chapter\" id=\"{id}\" aria-labelledby=\"{id}-title\">\n<p class=\"kicker\">{}</p>\n\
         <h2 id=\"{id}-title\">{}</h2>\n<p class=\"asked\">{}</p>\n<p class=\"lead\">{}</p>\n<div class=\"beside\">\n",
        escape(&c.kicker),
        escape(&c.title),
        escape(&c.question),
        escape(&c.sentence),
    );
    for side in &c.sides {
        let _ = writeln!(
            out,
            "<section>\n<h3 class=\"side\">{}</h3>",
            escape(&side.name)
        );
        html::block(out, &side.chart, Level::WITHIN);
        html::note(out, &side.source);
        out.push_str("</section>\n");
    }
    out.push_str("</div>\n");
    for note in &c.notes {
        html::note(out, note);
    }
    numbers(out, c);
    links(out, c);
    out.push_str("</article>\n");
}

/// What the charts show, as tables.
fn numbers(out: &mut String, c: &Chapter) {
    let of = |side: &Side| -> Vec<Table> {
        let mut tables = figures::tables(&side.chart);
        for table in &mut tables {
            table.title = format!("{}: {}", side.name, table.title);
        }
        tables
    };
    let tables: Vec<Table> = c.sides.iter().flat_map(of).collect();
    if tables.is_empty() {
        return;
    }
    out.push_str("<details><summary>The charts as tables</summary>\n<div class=\"beside\">\n");
    for table in &tables {
        out.push_str("<div>\n");
        html::table(out, table, Level::WITHIN);
        out.push_str("</div>\n");
    }
    out.push_str("</div>\n</details>\n");
}

fn links(out: &mut String, c: &Chapter) {
    out.push_str("<p class=\"more\">");
    for (name, to) in &c.more {
        let _ = write!(out, "<a href=\"#{}\">{}</a> ", escape(to), escape(name));
    }
    let _ = writeln!(
        out,
        "<span>Alone: <code>{}</code></span></p>",
        escape(&c.command)
    );
}

pub(super) fn section(out: &mut String, s: &Section) {
    let id = escape(&s.id);
    let _ = write!(
        out,
        "<section class=\"part\" id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{}</h2>\n<p class=\"intro\">{}</p>\n",
        escape(&s.title),
        escape(&s.intro),
    );
    html::incomplete(out, s.incomplete.as_deref());
    html::headline(out, &s.headline);
    for b in &s.blocks {
        html::block(out, b, Level::WITHIN);
    }
    out.push_str("<details><summary>Measured on</summary>\n");
    html::facts(out, &s.facts);
    out.push_str("</details>\n</section>\n");
}
