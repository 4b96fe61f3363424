//! PARTITION BY as SHOW CREATE TABLE prints it.

use std::fmt::Write;

use super::{By, Limit, Partition, Partitioning, Spelled};
use crate::parse::ast::PartitionMethod;
use millpond_syntax::quote::{quote_name, quote_text};

/// Words that may be names of partitions and columns only in backticks, as far as such names are likely.
const RESERVED: [&str; 40] = [
    "add",
    "all",
    "alter",
    "and",
    "as",
    "asc",
    "between",
    "by",
    "case",
    "check",
    "column",
    "create",
    "default",
    "delete",
    "desc",
    "distinct",
    "drop",
    "else",
    "from",
    "group",
    "having",
    "in",
    "index",
    "insert",
    "interval",
    "key",
    "like",
    "limit",
    "maxvalue",
    "not",
    "null",
    "or",
    "order",
    "partition",
    "range",
    "select",
    "table",
    "to",
    "values",
    "where",
];

/// A name, in backticks only if it needs them.
pub fn quote_if_needed(name: &str) -> String {
    let plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$' || c as u32 >= 0x80)
        && !name.chars().all(|c| c.is_ascii_digit())
        && !RESERVED.iter().any(|w| w.eq_ignore_ascii_case(name));
    if plain {
        name.to_string()
    } else {
        quote_name(name)
    }
}

/// VALUES of a partition as information_schema has them: without LESS THAN and outer parentheses.
pub fn value_text(p: &Partition) -> String {
    let row = |r: &Vec<Limit>| {
        let list: Vec<&str> = r.iter().map(|l| l.text.as_str()).collect();
        list.join(",")
    };
    let several = p.values.iter().any(|r| r.len() > 1) && p.values.len() > 1;
    let rows = p.values.iter().map(|r| {
        if several {
            format!("({})", row(r))
        } else {
            row(r)
        }
    });
    rows.collect::<Vec<_>>().join(",")
}

/// A partition, with its subpartitions if these are `listed`.
fn definition(p: &Partition, method: PartitionMethod, columns: bool, listed: bool) -> String {
    let mut out = format!("PARTITION {}", quote_if_needed(&p.name));
    match method {
        PartitionMethod::Range if !columns && p.values[0][0].is_max() => {
            out.push_str(" VALUES LESS THAN MAXVALUE");
        }
        PartitionMethod::Range => {
            let _ = write!(out, " VALUES LESS THAN ({})", value_text(p));
        }
        PartitionMethod::List => {
            let wide = p.values.first().is_some_and(|r| r.len() > 1);
            let text = value_text(p);
            let _ = if wide && p.values.len() == 1 {
                write!(out, " VALUES IN (({text}))")
            } else {
                write!(out, " VALUES IN ({text})")
            };
        }
        PartitionMethod::Hash | PartitionMethod::Key => {}
    }
    if listed {
        let subs = p.subs.iter().map(|sub| {
            let name = quote_if_needed(&sub.name);
            let own = Some(&sub.comment).filter(|c| !c.is_empty());
            format!("SUBPARTITION {name}{}", options(own.unwrap_or(&p.comment)))
        });
        let subs: Vec<String> = subs.collect();
        let _ = write!(out, "\n ({})", subs.join(",\n  "));
    } else {
        out.push_str(&options(&p.comment));
    }
    out
}

fn options(comment: &str) -> String {
    match comment.is_empty() {
        true => " ENGINE = InnoDB".into(),
        false => format!(" COMMENT = {} ENGINE = InnoDB", quote_text(comment)),
    }
}

/// The clause, and the version in its comment.
pub fn partition_text(p: &Partitioning) -> (u32, String) {
    let mut out = String::from("PARTITION BY ");
    let mut version = head(p, &mut out);
    let wide = matches!((&p.by, p.method), (By::Columns(_), m) if m != PartitionMethod::Key);
    let listed = p.sub.is_some() && p.parts.iter().any(Partition::names_subs);
    if let Some(sub) = &p.sub {
        out.push_str("\nSUBPARTITION BY ");
        version = version.max(head(sub, &mut out));
        if !listed && sub.spelled != Spelled::Nothing {
            let _ = write!(out, "\nSUBPARTITIONS {}", p.fan());
        }
    }
    if p.spelled == Spelled::List {
        let parts = p.parts.iter();
        let list: Vec<String> = parts
            .map(|part| definition(part, p.method, wide, listed))
            .collect();
        let _ = write!(out, "\n({})", list.join(",\n "));
    } else if p.spelled == Spelled::Number {
        let _ = write!(out, "\nPARTITIONS {}", p.parts.len());
    }
    (version, out)
}

/// How and by what, and the version from which on that is so.
fn head(p: &Partitioning, out: &mut String) -> u32 {
    let mut version = 50100;
    if p.linear {
        out.push_str("LINEAR ");
    }
    let columns = |list: &[String]| {
        let list: Vec<String> = list.iter().map(|c| quote_if_needed(c)).collect();
        list.join(",")
    };
    match (&p.by, p.method) {
        (By::Columns(list), PartitionMethod::Key) => {
            out.push_str("KEY ");
            if p.algorithm == 1 {
                version = 50611;
                out.push_str("ALGORITHM = 1 ");
            }
            let _ = write!(out, "({})", columns(list));
        }
        (By::Columns(list), method) => {
            version = 50500;
            let _ = write!(out, "{}  COLUMNS({})", method, columns(list));
        }
        (By::Expr(text), method) => {
            let _ = write!(out, "{} ({text})", method);
        }
    }
    version
}
