//! Reading a table by several indexes: the rows that any of them finds, or that all of them find.
//!
//! Indexes are read for clustered keys alone; then rows are read by these, in their order, each once. Entries of an index that
//! agree in all its parts come in the order of the clustered key: where each index is read for such, the streams are merged as they
//! come. Otherwise the keys are sorted first. Every entry counts that the read mode sees, and all conditions are asked of the rows once more.

use std::cmp::Ordering;
use std::ops::Bound;

use millpond_store::{Direction, Fetch, KeyRange, ReadMode, Scan, Table};
use smallvec::SmallVec;

use super::scan::{self, Hit};
use super::sort::Sorter;
use super::state::{Flow, State};
use super::store_error;
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::logical::PlanTable;
use crate::plan::nodes::{Access, IndexMerge};
use crate::plan::ranges::{self, Ranges};

/// Ranges of one index.
struct Part {
    index: usize,
    list: SmallVec<[KeyRange; 1]>,
    /// All entries agree in all parts of the index.
    equal: bool,
}

/// Reads a table, or one of its partitions: [`scan::table`].
#[allow(clippy::too_many_arguments)] // What a read consists of.
pub fn table<'s, F>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    whole: (&Table, u32),
    a: &Access,
    m: &IndexMerge,
    mode: ReadMode,
    rows: &[RowRef<'_>],
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let mut parts = Vec::with_capacity(m.parts.len());
    for p in &m.parts {
        match ranges::build(p, &t.schema, &st.context(rows), &mut Vec::new())? {
            Ranges::Nothing if m.all => return Ok(Flow::Continue),
            // A part is no lookup of one row.
            Ranges::Nothing | Ranges::Point => {}
            Ranges::List { list, inexact } => parts.push(Part {
                index: p.index,
                equal: !inexact && is_equality(p, t, &list),
                list,
            }),
        }
    }
    let read = Read { t, whole, a, mode };
    match parts.iter().all(|p| p.equal) {
        true => streams(st, &read, &parts, m.all, f),
        false => sorted(st, &read, &parts, m.all, f),
    }
}

/// Whether an access reads entries that agree in all parts of its index; those of the clustered index are in order whatever it reads.
fn is_equality(p: &Access, t: &PlanTable, list: &[KeyRange]) -> bool {
    let [range] = list else { return false };
    let one = match (&range.lower, &range.upper) {
        (Bound::Included(low), Bound::Included(high)) => low == high,
        _ => false,
    };
    p.index == 0 || one && p.range.is_none() && p.eq.len() == t.schema.indexes[p.index].parts.len()
}

/// What is read, and how.
struct Read<'r, 's> {
    t: &'s PlanTable,
    whole: (&'r Table, u32),
    a: &'r Access,
    mode: ReadMode,
}

impl<'s> Read<'_, 's> {
    /// Reads the row with a clustered key, if it is still there.
    fn row<F>(&self, st: &mut State<'s>, key: &[u8], f: &mut F) -> SqlResult<Flow>
    where
        F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
    {
        let flow = scan::point(st, self.t, self.whole, self.a, self.mode, key, f)?;
        Ok(flow.unwrap_or(Flow::Continue))
    }
}

/// Clustered keys from one index, ascending.
struct Stream<'t> {
    scan: Scan<'t>,
    head: Vec<u8>,
    more: bool,
}

impl Stream<'_> {
    fn advance(&mut self, st: &mut State<'_>, t: &PlanTable) -> SqlResult<()> {
        st.tick()?;
        let next = self.scan.next(st.txn);
        let next = next.map_err(|e| store_error(e, &t.table.def().name))?;
        self.more = next.is_some();
        if let Some(r) = next {
            self.head.clear();
            self.head.extend_from_slice(r.clustered_key);
        }
        Ok(())
    }
}

/// Merges streams that are in order.
fn streams<'s, F>(
    st: &mut State<'s>,
    read: &Read<'_, 's>,
    parts: &[Part],
    all: bool,
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let t = read.t;
    let mut list = Vec::with_capacity(parts.len());
    for p in parts {
        let (range, dir) = (p.list[0].clone(), Direction::Forward);
        let scan = read
            .whole
            .0
            .scan(st.txn, p.index, range, dir, read.mode, Fetch::Key);
        let mut stream = Stream {
            scan: scan.map_err(|e| store_error(e, &t.table.def().name))?,
            head: Vec::new(),
            more: false,
        };
        stream.advance(st, t)?;
        list.push(stream);
    }
    let mut key = Vec::new();
    loop {
        let more = || list.iter().filter(|s| s.more);
        // The next key is the least of all; of those that all streams must have, it is the greatest at least.
        let next = match all {
            true if more().count() < list.len() => None,
            true => more().map(|s| &s.head).max(),
            false => more().map(|s| &s.head).min(),
        };
        let Some(next) = next else {
            return Ok(Flow::Continue);
        };
        key.clone_from(next);
        let mut found = true;
        for s in &mut list {
            while all && s.more && s.head < key {
                s.advance(st, t)?;
            }
            let has = s.more && s.head == key;
            found &= has || !all;
        }
        if !found {
            continue;
        }
        for s in &mut list {
            if s.more && s.head == key {
                s.advance(st, t)?;
            }
        }
        if read.row(st, &key, f)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
}

/// Sorts the keys of all parts, then reads the rows.
fn sorted<'s, F>(
    st: &mut State<'s>,
    read: &Read<'_, 's>,
    parts: &[Part],
    all: bool,
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let wrap = |e| store_error(e, &read.t.table.def().name);
    let mut keys = Sorter::new(st, u64::MAX);
    for (n, p) in parts.iter().enumerate() {
        for range in &p.list {
            let (range, dir) = (range.clone(), Direction::Forward);
            let mut scan = read
                .whole
                .0
                .scan(st.txn, p.index, range, dir, read.mode, Fetch::Key)
                .map_err(wrap)?;
            while let Some(r) = scan.next(st.txn).map_err(wrap)? {
                st.tick()?;
                keys.add_bytes(r.clustered_key, &[n as u8])?;
            }
        }
    }
    // A key comes once for each part that found it, and the parts in their order.
    let mut last: Vec<u8> = Vec::new();
    let (mut times, mut begun) = (0, false);
    let want = if all { parts.len() } else { 1 };
    let mut flow = Flow::Continue;
    keys.drain(st, |st, key, _| {
        times = match begun.then(|| last.as_slice().cmp(key)) {
            Some(Ordering::Equal) => times + 1,
            _ => {
                last.clear();
                last.extend_from_slice(key);
                1
            }
        };
        begun = true;
        if times == want {
            flow = read.row(st, key, f)?;
        }
        Ok(flow)
    })?;
    Ok(flow)
}
