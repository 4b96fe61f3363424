//! Skip scans: conditions on later parts of an index whose leading parts have none. Each combination of the leading parts is found by a
//! seek past the one before, and what follows it is read within bounds.
//!
//! What comes out is what the whole range would give under these conditions, in the same order. Only plain reads work so: a locking
//! one would leave the gaps between combinations unlocked.

use std::ops::Bound;

use millpond_store::{Direction, Fetch, KeyRange, ReadMode, Table};

use super::scan::{self, Entries, Hit};
use super::state::{Flow, State};
use super::store_error;
use crate::error::SqlResult;
use crate::logical::PlanTable;
use crate::plan::nodes::{Access, Skip};
use crate::row;

/// Reads a range: [`super::scan::range`].
#[allow(clippy::too_many_arguments)] // What a read consists of.
pub fn range<'s, F>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    whole: (&Table, u32),
    a: &Access,
    mode: ReadMode,
    skip: &Skip,
    mut range: KeyRange,
    inexact: bool,
    entries: &mut Entries<'_>,
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let Some(within) = entries.within.take() else {
        return Ok(Flow::Continue);
    };
    let inexact = inexact || within.inexact;
    let (mut key, mut ends) = (Vec::new(), Vec::new());
    let mut flow = Flow::Continue;
    'groups: while !within.list.is_empty() && first(st, t, whole.0, a, mode, &range, &mut key)? {
        ends.clear();
        row::key_part_ends(&t.schema, a.index, &key, &mut ends)?;
        let group = &key[..ends[skip.parts - 1]];
        for r in &within.list {
            let part = KeyRange {
                lower: behind(group, &r.lower),
                upper: behind(group, &r.upper),
            };
            if scan::all(st, t, whole, a, mode, part, inexact, entries, f)? == Flow::Stop {
                flow = Flow::Stop;
                break 'groups;
            }
        }
        range.lower = Bound::Excluded(group.to_vec());
    }
    entries.within = Some(within);
    Ok(flow)
}

/// The key of the first entry of a range, left in `key`; whether there is one.
fn first<'s>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    table: &Table,
    a: &Access,
    mode: ReadMode,
    range: &KeyRange,
    key: &mut Vec<u8>,
) -> SqlResult<bool> {
    key.clear();
    let wrap = |e| store_error(e, &t.table.def().name);
    let (dir, fetch) = (Direction::Forward, Fetch::Key);
    let mut scan = table
        .scan(st.txn, a.index, range.clone(), dir, mode, fetch)
        .map_err(wrap)?;
    st.tick()?;
    let Some(r) = scan.next(st.txn).map_err(wrap)? else {
        return Ok(false);
    };
    st.examined += 1;
    // The clustered index has its key where others have what leads to it.
    let whole = if a.index == 0 { r.clustered_key } else { r.key };
    key.extend_from_slice(whole);
    Ok(true)
}

/// A bound within a combination of leading parts.
fn behind(group: &[u8], bound: &Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    let whole = |k: &Vec<u8>| [group, k].concat();
    match bound {
        Bound::Included(k) => Bound::Included(whole(k)),
        Bound::Excluded(k) => Bound::Excluded(whole(k)),
        Bound::Unbounded => Bound::Included(group.to_vec()),
    }
}
