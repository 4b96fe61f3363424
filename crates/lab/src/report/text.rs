//! Numbers and tables for people.

use super::{Block, Report, Table};
use std::fmt::Write;

/// `1234567` as `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// With about three digits that say something: `12,345`, `12.3`, `0.00123`.
pub fn num(x: f64) -> String {
    let size = x.abs();
    if !x.is_finite() {
        return "–".into();
    }
    if size >= 99.95 {
        let whole = grouped(size.round() as u64);
        return if x < 0.0 { format!("-{whole}") } else { whole };
    }
    let digits = match size {
        s if s >= 9.995 => 1,
        s if s >= 0.9995 || s == 0.0 => 2,
        s if s >= 0.0995 => 3,
        s => (2.0 - s.log10().floor()) as usize,
    };
    format!("{x:.*}", digits.min(9))
}

/// `1.07×`.
pub fn ratio(x: f64) -> String {
    match x.is_finite() {
        true => format!("{}×", num(x)),
        false => "–".into(),
    }
}

/// A time in the unit that suits it.
pub fn seconds(s: f64) -> String {
    match s {
        s if !s.is_finite() => "–".into(),
        s if s >= 1.0 => format!("{} s", num(s)),
        s if s >= 1e-3 => format!("{} ms", num(s * 1e3)),
        s => format!("{} µs", num(s * 1e6)),
    }
}

/// A quantile's usual name: `p50`, `p99.9`.
pub fn percentile(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// How many small letters a text is as wide as, about: capitals and digits are wider.
pub(super) fn breadth(text: &str) -> f64 {
    text.chars().map(one_breadth).sum()
}

fn one_breadth(c: char) -> f64 {
    match c {
        c if c.is_uppercase() => 1.3,
        c if c.is_ascii_digit() => 1.2,
        _ => 1.0,
    }
}

/// As wide as so many small letters at most.
pub(super) fn shortened(text: &str, most: f64) -> String {
    if breadth(text) <= most {
        return text.to_string();
    }
    let mut room = most - 1.0;
    let kept = text.chars().take_while(|c| {
        room -= one_breadth(*c);
        room >= 0.0
    });
    kept.chain(['…']).collect()
}

/// Headline, tables, conditions.
pub(super) fn report(r: &Report) -> String {
    let mut out = format!("\n{}\n", r.title);
    if let Some(why) = &r.incomplete {
        let _ = writeln!(out, "INCOMPLETE: {why}");
    }
    for c in &r.headline {
        let _ = writeln!(out, "{}: {} ({})", c.label, c.value, c.note);
    }
    for block in &r.blocks {
        match block {
            Block::Table(t) => table(&mut out, t),
            Block::Lead(t) | Block::Text(t) => {
                let _ = writeln!(out, "{t}");
            }
            Block::Chapter(c) => {
                let _ = writeln!(out, "\n{}, {}\n  {}", c.title, c.kicker, c.sentence);
                for note in &c.notes {
                    let _ = writeln!(out, "  {note}");
                }
            }
            _ => {}
        }
    }
    out.push('\n');
    for (name, value) in &r.facts {
        let _ = writeln!(out, "{name}: {value}");
    }
    out
}

/// Names to the left, figures to the right.
fn table(out: &mut String, t: &Table) {
    let width = |i: usize| {
        let cells = t.rows.iter().filter_map(|r| r.get(i)).chain(t.head.get(i));
        cells.map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..t.head.len()).map(width).collect();
    let _ = writeln!(out, "\n{}", t.title);
    for row in std::iter::once(&t.head).chain(&t.rows) {
        let mut line = String::new();
        for (i, (cell, w)) in row.iter().zip(&widths).enumerate() {
            let _ = match i {
                0 => write!(line, "{cell:<w$}"),
                _ => write!(line, "  {cell:>w$}"),
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if !t.note.is_empty() {
        let _ = writeln!(out, "{}", t.note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_take_room() {
        assert_eq!(breadth("abc"), 3.0);
        assert!(breadth("ABC 1") > 6.0);
        assert_eq!(shortened("millpond server", 15.0), "millpond server");
        assert_eq!(shortened("millpond server b", 15.0), "millpond serve…");
        assert!(shortened("MILLPOND SERVER", 15.0).chars().count() < 13);
    }
}
