//! A [`Partitioning`] as bytes, behind the columns in a table's body.

use super::bytes::{Reader, Writer, corrupt};
use super::partitioning::{By, Limit, Partition, Partitioning, Spelled};
use crate::error::SqlResult;
use crate::parse::ast::PartitionMethod;

const METHODS: [PartitionMethod; 4] = [
    PartitionMethod::Range,
    PartitionMethod::List,
    PartitionMethod::Hash,
    PartitionMethod::Key,
];
const LINEAR: u64 = 1;
const LISTED: u64 = 2;
const COLUMNS: u64 = 4;
const UNCOUNTED: u64 = 8;

/// Appends it.
pub fn write(p: &Partitioning, w: &mut Writer) {
    let method = METHODS.iter().position(|m| *m == p.method).unwrap_or(0);
    w.number(method as u64);
    let flag = |on: bool, f: u64| if on { f } else { 0 };
    let columns = matches!(p.by, By::Columns(_));
    w.number(
        flag(p.linear, LINEAR)
            | flag(p.spelled == Spelled::List, LISTED)
            | flag(p.spelled == Spelled::Nothing, UNCOUNTED)
            | flag(columns, COLUMNS),
    );
    w.number(p.algorithm);
    match &p.by {
        By::Expr(text) => w.text(text),
        By::Columns(list) => {
            w.number(list.len() as u64);
            list.iter().for_each(|c| w.text(c));
        }
    }
    w.number(p.parts.len() as u64);
    for part in &p.parts {
        w.text(&part.name);
        w.text(&part.comment);
        w.number(part.values.len() as u64);
        for row in &part.values {
            w.number(row.len() as u64);
            for limit in row {
                w.text(&limit.text);
                w.bytes(&limit.key);
            }
        }
    }
}

/// Reads it back.
pub fn read(r: &mut Reader<'_>) -> SqlResult<Partitioning> {
    let method = *METHODS.get(r.small::<usize>()?).ok_or_else(corrupt)?;
    let flags = r.number()?;
    let algorithm = r.number()?;
    let by = if flags & COLUMNS != 0 {
        let count = r.count()?;
        let list: SqlResult<Vec<String>> = (0..count).map(|_| Ok(r.text()?.to_string())).collect();
        By::Columns(list?)
    } else {
        By::Expr(r.text()?.to_string())
    };
    let mut parts = Vec::new();
    for _ in 0..r.count()? {
        let (name, comment) = (r.text()?.to_string(), r.text()?.to_string());
        let mut values = Vec::new();
        for _ in 0..r.count()? {
            let mut row = Vec::new();
            for _ in 0..r.count()? {
                row.push(Limit {
                    text: r.text()?.to_string(),
                    key: r.bytes()?.to_vec(),
                });
            }
            values.push(row);
        }
        parts.push(Partition {
            name,
            values,
            comment,
        });
    }
    if parts.is_empty() {
        return Err(corrupt());
    }
    Ok(Partitioning::new(
        method,
        flags & LINEAR != 0,
        algorithm,
        by,
        match (flags & LISTED, flags & UNCOUNTED) {
            (0, 0) => Spelled::Number,
            (0, _) => Spelled::Nothing,
            _ => Spelled::List,
        },
        parts,
    ))
}
