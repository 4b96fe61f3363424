//! A [`Partitioning`] as bytes, behind the columns in a table's body.

use super::bytes::{Reader, Writer, corrupt};
use super::partitioning::{By, Limit, Partition, Partitioning, Spelled, Subpartition};
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

/// Added to the method of tables with subpartitions, which earlier builds don't know.
const SUBPARTITIONED: usize = 4;

/// Appends it.
pub fn write(p: &Partitioning, w: &mut Writer) {
    let sub = p.sub.as_deref();
    write_head(p, if sub.is_some() { SUBPARTITIONED } else { 0 }, w);
    if let Some(sub) = sub {
        write_head(sub, 0, w);
        w.number(sub.parts.len() as u64);
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
        for sub in &part.subs {
            w.text(&sub.name);
            w.text(&sub.comment);
        }
    }
}

/// What decides.
fn write_head(p: &Partitioning, more: usize, w: &mut Writer) {
    let method = METHODS.iter().position(|m| *m == p.method).unwrap_or(0);
    w.number((method + more) as u64);
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
}

/// Reads it back.
pub fn read(r: &mut Reader<'_>) -> SqlResult<Partitioning> {
    let method = r.small::<usize>()?;
    let (method, divided) = (method % SUBPARTITIONED, method / SUBPARTITIONED);
    if divided > 1 {
        return Err(corrupt());
    }
    let head = Head::read(method, r)?;
    let sub = match divided {
        0 => None,
        _ => {
            let method = r.small::<usize>()?;
            let (head, count) = (Head::read(method, r)?, r.count()?);
            Some(head.over(vec![Partition::default(); count])?)
        }
    };
    let fan = sub.as_ref().map_or(0, |s| s.parts.len());
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
        let mut subs = Vec::with_capacity(fan);
        for _ in 0..fan {
            let (name, comment) = (r.text()?.to_string(), r.text()?.to_string());
            subs.push(Subpartition { name, comment });
        }
        parts.push(Partition {
            name,
            values,
            comment,
            subs,
        });
    }
    Ok(head.over(parts)?.with_sub(sub))
}

/// What decides, read.
struct Head {
    method: PartitionMethod,
    flags: u64,
    algorithm: u64,
    by: By,
}

impl Head {
    fn read(method: usize, r: &mut Reader<'_>) -> SqlResult<Head> {
        let method = *METHODS.get(method).ok_or_else(corrupt)?;
        let flags = r.number()?;
        let algorithm = r.number()?;
        let by = if flags & COLUMNS != 0 {
            let count = r.count()?;
            let list: SqlResult<Vec<String>> =
                (0..count).map(|_| Ok(r.text()?.to_string())).collect();
            By::Columns(list?)
        } else {
            By::Expr(r.text()?.to_string())
        };
        Ok(Head {
            method,
            flags,
            algorithm,
            by,
        })
    }

    fn over(self, parts: Vec<Partition>) -> SqlResult<Partitioning> {
        if parts.is_empty() {
            return Err(corrupt());
        }
        let spelled = match (self.flags & LISTED, self.flags & UNCOUNTED) {
            (0, 0) => Spelled::Number,
            (0, _) => Spelled::Nothing,
            _ => Spelled::List,
        };
        let linear = self.flags & LINEAR != 0;
        let (method, algorithm) = (self.method, self.algorithm);
        Ok(Partitioning::new(
            method, linear, algorithm, self.by, spelled, parts,
        ))
    }
}
