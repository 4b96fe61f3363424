//! The page.

use super::chart::escape;
use super::{Block, Card, Report, Table, chapter};
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");

pub(super) fn page(r: &Report) -> String {
    let title = escape(&r.title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n<p class=\"intro\">{}</p>\n",
        millpond_page::STYLE,
        escape(&r.intro)
    );
    incomplete(&mut out, r.incomplete.as_deref());
    headline(&mut out, &r.headline);
    for b in &r.blocks {
        block(&mut out, b, Level::PAGE);
    }
    out.push_str("<h2>Measured on</h2>\n");
    facts(&mut out, &r.facts);
    let _ = write!(
        out,
        "<p class=\"note\">millpond lab {}, version {}</p>\n</main>\n</body>\n</html>\n",
        r.experiment,
        env!("CARGO_PKG_VERSION")
    );
    out
}

/// How deep a heading lies.
#[derive(Clone, Copy)]
pub(super) struct Level(u8);

impl Level {
    /// Below the page's own heading.
    pub const PAGE: Level = Level(2);
    /// Below a chapter's or a section's.
    pub const WITHIN: Level = Level(3);

    fn below(self) -> Level {
        Level(self.0 + 1)
    }
}

pub(super) fn incomplete(out: &mut String, why: Option<&str>) {
    if let Some(why) = why {
        let _ = writeln!(
            out,
            "<p class=\"partial\" role=\"status\"><b>Incomplete.</b> {} What follows is what was measured until then.</p>",
            escape(why)
        );
    }
}

pub(super) fn facts(out: &mut String, facts: &[(String, String)]) {
    out.push_str("<dl class=\"facts\">\n");
    for (name, value) in facts {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    out.push_str("</dl>\n");
}

pub(super) fn headline(out: &mut String, cards: &[Card]) {
    if cards.is_empty() {
        return;
    }
    out.push_str("<div class=\"cards\">\n");
    for c in cards {
        let _ = writeln!(out, "<div class=\"card\">{}</div>", card(c));
    }
    out.push_str("</div>\n");
}

pub(super) fn card(c: &Card) -> String {
    format!(
        "<span>{}</span><b>{}</b><small>{}</small>",
        escape(&c.label),
        escape(&c.value),
        escape(&c.note)
    )
}

pub(super) fn block(out: &mut String, block: &Block, level: Level) {
    match block {
        Block::Heading(h) => {
            let _ = writeln!(out, "<h{n}>{}</h{n}>", escape(h), n = level.0);
        }
        Block::Lead(t) => {
            let _ = writeln!(out, "<p class=\"lead\">{}</p>", escape(t));
        }
        Block::Text(t) => {
            let _ = writeln!(out, "<p>{}</p>", escape(t));
        }
        Block::Table(t) => table(out, t, level),
        Block::Figure(f) => panels(out, (&f.title, &f.caption), &f.svgs(), level),
        Block::LinearAndLog(f) => {
            let mut svgs = f.svgs();
            svgs.extend(f.to_log().svgs());
            panels(out, (&f.title, &f.caption), &svgs, level);
        }
        Block::Folded(f) => {
            let title = escape(&f.title);
            let _ = writeln!(out, "<details><summary>{title}</summary>");
            panels(out, (&f.title, &f.caption), &f.svgs(), level);
            out.push_str("</details>\n");
        }
        Block::Bars(b) => panels(out, (&b.title, &b.caption), &b.svgs(), level),
        Block::Ranges(r) => {
            let svg: Vec<String> = (!r.rows.is_empty()).then(|| r.svg()).into_iter().collect();
            panels(out, (&r.title, &r.caption), &svg, level);
        }
        Block::Contents(entries) => chapter::contents(out, entries),
        Block::Chapter(c) => chapter::chapter(out, c),
        Block::Section(s) => chapter::section(out, s),
    }
}

pub(super) fn table(out: &mut String, t: &Table, level: Level) {
    // It scrolls where it is too wide, by keyboard too.
    let title = escape(&t.title);
    let _ = write!(
        out,
        "<h{n}>{title}</h{n}>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"><table>\n<thead><tr>",
        n = level.below().0
    );
    for h in &t.head {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(h));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &t.rows {
        out.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            let cell = escape(cell);
            let _ = match i {
                0 => write!(out, "<th scope=\"row\">{cell}</th>"),
                _ => write!(out, "<td>{cell}</td>"),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    note(out, &t.note);
}

pub(super) fn note(out: &mut String, text: &str) {
    if !text.is_empty() {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(text));
    }
}

fn panels(out: &mut String, (title, caption): (&str, &str), svgs: &[String], level: Level) {
    // What was not measured has no chart.
    if svgs.is_empty() {
        return;
    }
    let class = if svgs.len() == 1 {
        "panels one"
    } else {
        "panels"
    };
    let title = escape(title);
    let n = level.below().0;
    let _ = write!(out, "<figure>\n<figcaption><h{n}>{title}</h{n}>");
    note(out, caption);
    let _ = writeln!(out, "</figcaption>\n<div class=\"{class}\">");
    for svg in svgs {
        let _ = writeln!(out, "{svg}");
    }
    out.push_str("</div>\n</figure>\n");
}
