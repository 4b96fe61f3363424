//! The page.

use super::chart::{Figure, escape};
use super::{Bars, Block, Report, Table};
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");

pub(super) fn page(r: &Report) -> String {
    let title = escape(&r.title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n<p class=\"intro\">{}</p>\n",
        escape(&r.intro)
    );
    if let Some(why) = &r.incomplete {
        let _ = writeln!(
            out,
            "<p class=\"partial\" role=\"status\"><b>Incomplete.</b> {} What follows is what was measured until then.</p>",
            escape(why)
        );
    }
    headline(&mut out, r);
    for b in &r.blocks {
        block(&mut out, b);
    }
    out.push_str("<h2>Measured on</h2>\n<dl class=\"facts\">\n");
    for (name, value) in &r.facts {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    let _ = write!(
        out,
        "</dl>\n<p class=\"note\">millpond lab {}, version {}</p>\n</main>\n</body>\n</html>\n",
        r.experiment,
        env!("CARGO_PKG_VERSION")
    );
    out
}

fn headline(out: &mut String, r: &Report) {
    if r.headline.is_empty() {
        return;
    }
    out.push_str("<div class=\"cards\">\n");
    for c in &r.headline {
        let _ = writeln!(
            out,
            "<div class=\"card\"><span>{}</span><b>{}</b><small>{}</small></div>",
            escape(&c.label),
            escape(&c.value),
            escape(&c.note)
        );
    }
    out.push_str("</div>\n");
}

fn block(out: &mut String, block: &Block) {
    match block {
        Block::Heading(h) => {
            let _ = writeln!(out, "<h2>{}</h2>", escape(h));
        }
        Block::Lead(t) => {
            let _ = writeln!(out, "<p class=\"lead\">{}</p>", escape(t));
        }
        Block::Text(t) => {
            let _ = writeln!(out, "<p>{}</p>", escape(t));
        }
        Block::Table(t) => table(out, t),
        Block::Figure(f) => figure(out, f),
        Block::LinearAndLog(f) => {
            let mut svgs = f.svgs();
            svgs.extend(f.to_log().svgs());
            panels(out, &f.title, &f.caption, &svgs);
        }
        Block::Folded(f) => {
            let title = escape(&f.title);
            let _ = writeln!(out, "<details><summary>{title}</summary>");
            figure(out, f);
            out.push_str("</details>\n");
        }
        Block::Bars(b) => bars(out, b),
        Block::Ranges(r) => panels(out, &r.title, &r.caption, &[r.svg()]),
    }
}

fn table(out: &mut String, t: &Table) {
    let _ = write!(
        out,
        "<h3>{}</h3>\n<div class=\"wide\"><table>\n<thead><tr>",
        escape(&t.title)
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

fn note(out: &mut String, text: &str) {
    if !text.is_empty() {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(text));
    }
}

fn figure(out: &mut String, f: &Figure) {
    panels(out, &f.title, &f.caption, &f.svgs());
}

fn bars(out: &mut String, b: &Bars) {
    panels(out, &b.title, &b.caption, &b.svgs());
}

fn panels(out: &mut String, title: &str, caption: &str, svgs: &[String]) {
    let class = if svgs.len() == 1 {
        "panels one"
    } else {
        "panels"
    };
    let _ = write!(out, "<figure>\n<figcaption><h3>{}</h3>", escape(title));
    note(out, caption);
    let _ = writeln!(out, "</figcaption>\n<div class=\"{class}\">");
    for svg in svgs {
        let _ = writeln!(out, "{svg}");
    }
    out.push_str("</div>\n</figure>\n");
}
