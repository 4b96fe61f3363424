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

fn definition(p: &Partition, method: PartitionMethod, columns: bool) -> String {
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
    if !p.comment.is_empty() {
        let _ = write!(out, " COMMENT = {}", quote_text(&p.comment));
    }
    out.push_str(" ENGINE = InnoDB");
    out
}

/// The clause, and the version in its comment.
pub fn partition_text(p: &Partitioning) -> (u32, String) {
    let mut version = 50100;
    let mut out = String::from("PARTITION BY ");
    if p.linear {
        out.push_str("LINEAR ");
    }
    let columns = |list: &[String]| {
        let list: Vec<String> = list.iter().map(|c| quote_if_needed(c)).collect();
        list.join(",")
    };
    let mut wide = false;
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
            wide = true;
            let _ = write!(out, "{}  COLUMNS({})", method, columns(list));
        }
        (By::Expr(text), method) => {
            let _ = write!(out, "{} ({text})", method);
        }
    }
    if p.spelled == Spelled::List {
        let list: Vec<String> = p
            .parts
            .iter()
            .map(|part| definition(part, p.method, wide))
            .collect();
        let _ = write!(out, "\n({})", list.join(",\n "));
    } else if p.spelled == Spelled::Number {
        let _ = write!(out, "\nPARTITIONS {}", p.parts.len());
    }
    (version, out)
}
