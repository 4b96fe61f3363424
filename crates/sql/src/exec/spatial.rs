//! Reading a table by a SPATIAL index.
//!
//! A row has several entries, and is found by several of them: their clustered keys are sorted, to disk where there are many, and each row is read
//! once, in the order of the table. Conditions are asked of the rows; entries only have to find all of them. All entries are read before the first row, so
//! that a statement which changes rows doesn't find them again.

use millpond_store::{Direction, Fetch, ReadMode};

use super::scan::{self, Hit};
use super::sort::Sorter;
use super::state::{Flow, State};
use super::store_error;
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::logical::PlanTable;
use crate::plan::nodes::{Access, SpatialAccess};
use crate::plan::ranges::{self, Ranges};
use crate::spatial::is_everything;

/// Reads a table by a SPATIAL index: [`scan::table`].
pub fn table<'s, F>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    a: &Access,
    by: &SpatialAccess,
    mode: ReadMode,
    rows: &[RowRef<'_>],
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let wrap = |e| store_error(e, &t.table.def().name);
    let built = ranges::build(a, &t.schema, &st.context(rows), &mut Vec::new())?;
    let Ranges::List { list, .. } = built else {
        return Ok(Flow::Continue);
    };
    let mut keys = Sorter::new(st, u64::MAX);
    for range in list {
        // Rows without an entry are among all of them.
        let index = if is_everything(&range) { 0 } else { by.index };
        let (forward, only_keys) = (Direction::Forward, Fetch::Key);
        let scan = t.table.scan(st.txn, index, range, forward, mode, only_keys);
        let mut scan = scan.map_err(wrap)?;
        while let Some(r) = scan.next(st.txn).map_err(wrap)? {
            st.tick()?;
            keys.add_bytes(if index == 0 { r.key } else { r.clustered_key }, &[])?;
        }
    }
    let mut last: Option<Vec<u8>> = None;
    let mut flow = Flow::Continue;
    keys.drain(st, |st, key, _| {
        if last.as_deref() == Some(key) {
            return Ok(Flow::Continue);
        }
        let before = last.get_or_insert_default();
        before.clear();
        before.extend_from_slice(key);
        let read = scan::point(st, t, (&t.table, 0), a, mode, key, f)?;
        flow = read.unwrap_or(Flow::Continue);
        Ok(flow)
    })?;
    Ok(flow)
}
