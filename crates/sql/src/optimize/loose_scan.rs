//! Loose index scans: where only it matters which values there are, one entry of an index a value, and jumps between them.
//!
//! DISTINCT, GROUP BY without aggregates, and aggregates that care for no repetition (MIN, MAX, those with DISTINCT) give the same for
//! one row of each combination of the columns that are read. So a scan may leave out entries that agree with one before in the parts
//! that hold those columns. MIN and MAX of the part that follows want the ends of each group besides.

use super::access::{Choice, Request};
use super::estimate;
use crate::plan::nodes::Jump;

/// Cost of finding the next group.
const SEEK: f64 = 1.5;

/// What a block wants of its only table, if one row of each combination of values is enough.
#[derive(Clone, Debug)]
pub struct Sparse {
    /// The columns whose combinations count.
    pub columns: Vec<usize>,
    /// Another one of which MIN and MAX are wanted by combination, and nothing else.
    pub extreme: Option<Extreme>,
}

/// A column whose least or greatest value is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Extreme {
    /// The column.
    pub column: usize,
    /// MIN.
    pub min: bool,
    /// MAX.
    pub max: bool,
}

/// Makes a choice jump between groups if that is cheaper.
pub fn loosen(r: &Request<'_>, c: &mut Choice) {
    let Some((jump, seeks)) = r.sparse.and_then(|s| jump(r, c, s)) else {
        return;
    };
    let parts = &r.schema.indexes[c.access.index].parts[..jump.parts];
    let columns: Vec<usize> = parts.iter().map(|p| p.column).collect();
    let rows = estimate::rows(r.table);
    let groups = estimate::distinct(r.table, &columns) * (c.rows / rows).min(1.0);
    let groups = groups.clamp(1.0, c.rows.max(1.0));
    let cost = SEEK + groups * seeks * SEEK;
    if cost < c.whole.min(c.cost) {
        c.rows = (groups * seeks).min(c.rows);
        (c.cost, c.whole) = (cost, cost);
        c.access.jump = Some(jump);
    }
}

/// How an index would be jumped through, and how many seeks a group takes.
fn jump(r: &Request<'_>, c: &Choice, sparse: &Sparse) -> Option<(Jump, f64)> {
    let a = &c.access;
    let plain = !a.reverse && !a.unique && a.merge.is_none() && a.skip.is_none();
    if a.covering.is_none() || !plain || a.index == 0 {
        return None;
    }
    let parts = &r.schema.indexes[a.index].parts;
    let last = |c: &usize| {
        parts
            .iter()
            .position(|p| p.column == *c && p.prefix.is_none())
    };
    let ends: Option<Vec<usize>> = sparse.columns.iter().map(last).collect();
    let count = ends?.into_iter().max()? + 1;
    if parts[..count].iter().any(|p| p.prefix.is_some()) {
        return None;
    }
    let mut jump = Jump {
        parts: count,
        last: false,
        nulls: false,
    };
    let mut seeks = 1.0;
    if let Some(e) = sparse.extreme {
        let part = parts.get(count).filter(|p| p.column == e.column)?;
        jump.nulls = r.schema.columns[e.column].nullable;
        jump.last = if part.desc { e.min } else { e.max };
        seeks += f64::from(u8::from(jump.last)) + f64::from(u8::from(jump.nulls)) * 0.5;
    }
    Some((jump, seeks))
}
