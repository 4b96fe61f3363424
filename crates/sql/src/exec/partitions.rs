//! Reading partitioned tables: which partitions, and rows of several in one order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use millpond_store::{KeyRange, ReadMode, ScanRow, Table};

use super::index_merge;
use super::scan::{self, Entries, Hit};
use super::state::{Flow, State};
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::logical::PlanTable;
use crate::partition::{Partitioning, Select};
use crate::plan::nodes::Access;
use crate::plan::ranges::{self, Ranges};
use crate::store_error::store_error;

/// Reads a partitioned table: [`scan::table`].
pub fn table<'s, F>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    p: &'s Partitioning,
    a: &Access,
    mode: ReadMode,
    rows: &[RowRef<'_>],
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let parts: Select = match &a.prune {
        Some(prune) => prune.select(p, &t.schema, &st.context(rows), &|_| true)?,
        None => (0..p.leaves() as u32).collect(),
    };
    if parts.is_empty() {
        return Ok(Flow::Continue);
    }
    if let Some(m) = &a.merge {
        for part in parts {
            let open = p.open(st.engine, &t.table, part as usize)?;
            let flow = index_merge::table(st, t, (&open, part), a, m, mode, rows, f)?;
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        return Ok(Flow::Continue);
    }
    let mut key = st.scratch.take();
    let ranges = ranges::build(a, &t.schema, &st.context(rows), &mut key)?;
    let flow = match ranges {
        Ranges::Nothing => Flow::Continue,
        Ranges::Point => points(st, t, p, &parts, a, mode, &key, f)?,
        Ranges::List { mut list, inexact } => {
            if a.reverse {
                list.reverse();
            }
            let read = Read {
                t,
                a,
                mode,
                inexact,
                rows,
            };
            if a.ordered && parts.len() > 1 {
                merged(st, p, &parts, &read, &list, f)?
            } else {
                one_by_one(st, p, &parts, &read, &list, f)?
            }
        }
    };
    st.scratch.give(key);
    Ok(flow)
}

/// A row by its key: it is in one partition at most, which the key itself nearly always names.
#[allow(clippy::too_many_arguments)] // What a read consists of.
fn points<'s, F>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    p: &Partitioning,
    parts: &[u32],
    a: &Access,
    mode: ReadMode,
    key: &[u8],
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    for &part in parts {
        let open = p.open(st.engine, &t.table, part as usize)?;
        if let Some(flow) = scan::point(st, t, (&open, part), a, mode, key, f)? {
            return Ok(flow);
        }
    }
    Ok(Flow::Continue)
}

/// How partitions are read.
struct Read<'r, 's> {
    t: &'s PlanTable,
    a: &'r Access,
    mode: ReadMode,
    inexact: bool,
    /// Those of the sources before.
    rows: &'r [RowRef<'r>],
}

fn one_by_one<'s, F>(
    st: &mut State<'s>,
    p: &Partitioning,
    parts: &[u32],
    read: &Read<'_, 's>,
    list: &[KeyRange],
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let Read {
        t,
        a,
        mode,
        inexact,
        rows,
    } = *read;
    let mut entries = Entries::new(st, a, &t.schema, rows)?;
    for &part in parts {
        let open = p.open(st.engine, &t.table, part as usize)?;
        for range in list {
            let flow = scan::range(
                st,
                t,
                (&open, part),
                a,
                mode,
                range.clone(),
                inexact,
                &mut entries,
                f,
            )?;
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
    }
    Ok(Flow::Continue)
}

/// The next row of a partition, waiting for its turn. The greatest in a heap is the next of all.
struct Head {
    /// Index key and clustered key.
    sort: Vec<u8>,
    /// Length of the index key.
    key: usize,
    row: Vec<u8>,
    /// Position among the partitions read.
    at: usize,
    reverse: bool,
    /// Its entry did not decide its conditions.
    undecided: bool,
}

impl Head {
    /// Takes a row over.
    fn take(&mut self, r: &ScanRow<'_>) {
        self.sort.clear();
        self.sort.extend_from_slice(r.key);
        self.sort.extend_from_slice(r.clustered_key);
        self.key = r.key.len();
        self.row.clear();
        self.row.extend_from_slice(r.row);
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        let order = (&self.sort, self.at).cmp(&(&other.sort, other.at));
        if self.reverse { order } else { order.reverse() }
    }
}
impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Head {}

/// Rows of several partitions in the index's order.
fn merged<'s, F>(
    st: &mut State<'s>,
    p: &Partitioning,
    parts: &[u32],
    read: &Read<'_, 's>,
    list: &[KeyRange],
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let (t, a) = (read.t, read.a);
    let wrap = |e| store_error(e, &t.table.def().name);
    let mut entries = Entries::new(st, a, &t.schema, read.rows)?;
    let tables: SqlResult<Vec<Arc<Table>>> = parts
        .iter()
        .map(|&n| p.open(st.engine, &t.table, n as usize))
        .collect();
    let tables = tables?;
    let (dir, fetch) = scan::how(a);
    let give_back = scan::gives_back(st, read.mode);
    for range in list {
        let mut scans = Vec::with_capacity(tables.len());
        let mut heap = BinaryHeap::with_capacity(tables.len());
        for (at, table) in tables.iter().enumerate() {
            let mut scan = table
                .scan(st.txn, a.index, range.clone(), dir, read.mode, fetch)
                .map_err(wrap)?;
            if let Some(r) = entries.next(&mut scan, st.txn).map_err(wrap)? {
                let mut head = Head {
                    sort: Vec::new(),
                    key: 0,
                    row: Vec::new(),
                    at,
                    reverse: a.reverse,
                    undecided: false,
                };
                head.take(&r);
                head.undecided = entries.undecided();
                heap.push(head);
            }
            scans.push(scan);
        }
        while let Some(mut head) = heap.pop() {
            st.tick()?;
            st.examined += 1;
            let (key, clustered_key) = head.sort.split_at(head.key);
            let found = ScanRow {
                key,
                clustered_key,
                row: &head.row,
            };
            let row = match &mut entries.covered {
                None => RowRef::Stored(&t.schema, &head.row),
                Some(c) => c.row(a.index, &found, st.env.zone.get())?,
            };
            let hit = Hit {
                row,
                clustered_key,
                bytes: &head.row,
                inexact: read.inexact,
                undecided: head.undecided,
                part: parts[head.at],
            };
            let scan = &mut scans[head.at];
            match f(st, hit)? {
                Flow::Continue => {}
                Flow::Reject if give_back => scan.unlock_row(st.txn),
                Flow::Reject => {}
                Flow::Stop => return Ok(Flow::Stop),
            }
            if let Some(r) = entries.next(scan, st.txn).map_err(wrap)? {
                head.take(&r);
                head.undecided = entries.undecided();
                heap.push(head);
            }
        }
    }
    Ok(Flow::Continue)
}
