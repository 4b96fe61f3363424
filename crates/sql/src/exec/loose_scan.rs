//! Loose index scans: of each group of entries that agree in the first parts of an index, the first one, and what MIN and MAX of the part
//! that follows need besides. Each group is found by a seek past the one before.
//!
//! What comes out is some of what the whole range would give, in the same order. Whether an entry counts is the scan's to say, so
//! a group is begun by the first one that the reader sees.

use std::ops::Bound;

use millpond_store::{Direction, Fetch, KeyRange, ReadMode, Table};

use super::scan::{Entries, Hit};
use super::state::{Flow, State};
use super::store_error;
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::logical::PlanTable;
use crate::plan::nodes::{Access, Jump};
use crate::row;

/// What is read, and how.
pub struct Read<'r, 's> {
    /// The table.
    pub t: &'s PlanTable,
    /// It or one of its partitions, and which.
    pub whole: (&'r Table, u32),
    /// By which index.
    pub a: &'r Access,
    /// How.
    pub mode: ReadMode,
    /// Whether conditions left to the index's order must be checked.
    pub inexact: bool,
}

/// Reads a range: [`super::scan::range`].
pub fn range<'s, F>(
    st: &mut State<'s>,
    read: &Read<'_, 's>,
    jump: &Jump,
    mut range: KeyRange,
    entries: &mut Entries<'_>,
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let schema = &*read.t.schema;
    let next = schema.indexes[read.a.index].parts.get(jump.parts);
    let desc = next.is_some_and(|p| p.desc);
    let (mut key, mut ends) = (Vec::new(), Vec::new());
    loop {
        let upper = range.upper.clone();
        if one(st, read, range, Direction::Forward, entries, &mut key, f)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        if key.is_empty() {
            return Ok(Flow::Continue);
        }
        ends.clear();
        row::key_part_ends(schema, read.a.index, &key, &mut ends)?;
        let group = key[..ends[jump.parts - 1]].to_vec();
        if (jump.last || jump.nulls)
            && rest_of_group(st, read, jump, desc, &group, entries, f)? == Flow::Stop
        {
            return Ok(Flow::Stop);
        }
        range = KeyRange {
            lower: Bound::Excluded(group),
            upper,
        };
    }
}

/// The entries of a group that MIN and MAX may want, but for its first: its last, and those beside its NULLs.
fn rest_of_group<'s, F>(
    st: &mut State<'s>,
    read: &Read<'_, 's>,
    jump: &Jump,
    desc: bool,
    group: &[u8],
    entries: &mut Entries<'_>,
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let whole = || Bound::Included(group.to_vec());
    // NULLs come first, in a descending part last.
    let nulls = || {
        let mut nulls = group.to_vec();
        nulls.push(if desc { 0xff } else { 0 });
        Bound::Excluded(nulls)
    };
    let mut key = Vec::new();
    if jump.nulls && !desc {
        let (lower, upper) = (nulls(), whole());
        let range = KeyRange { lower, upper };
        if one(st, read, range, Direction::Forward, entries, &mut key, f)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    if jump.last {
        let upper = if jump.nulls && desc { nulls() } else { whole() };
        let lower = whole();
        let range = KeyRange { lower, upper };
        return one(st, read, range, Direction::Backward, entries, &mut key, f);
    }
    Ok(Flow::Continue)
}

/// Reads the first entry of a range in a direction; its key is left in `key`, nothing if there is none.
fn one<'s, F>(
    st: &mut State<'s>,
    read: &Read<'_, 's>,
    range: KeyRange,
    dir: Direction,
    entries: &mut Entries<'_>,
    key: &mut Vec<u8>,
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    key.clear();
    let wrap = |e| store_error(e, &read.t.table.def().name);
    let (table, part) = read.whole;
    let mut scan = table
        .scan(st.txn, read.a.index, range, dir, read.mode, Fetch::Key)
        .map_err(wrap)?;
    st.tick()?;
    let Some(r) = scan.next(st.txn).map_err(wrap)? else {
        return Ok(Flow::Continue);
    };
    st.examined += 1;
    key.extend_from_slice(r.key);
    let row = match &mut entries.covered {
        None => RowRef::Nulls,
        Some(c) => c.row(read.a.index, &r, st.env.zone.get())?,
    };
    let hit = Hit {
        row,
        clustered_key: r.clustered_key,
        bytes: r.row,
        inexact: read.inexact,
        undecided: false,
        part,
    };
    f(st, hit)
}
