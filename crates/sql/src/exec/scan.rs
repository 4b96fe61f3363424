//! Reading a stored table by an access path.

use millpond_store::{Direction, Fetch, Isolation, KeyRange, ReadMode, ScanRow, Table};

use super::partitions;
use super::state::{Flow, State};
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::logical::PlanTable;
use crate::plan::nodes::{Access, CoveredColumn, Source, SourceKind};
use crate::plan::ranges::{self, Ranges};
use crate::row;
use crate::store_error::store_error;
use crate::types::Schema;
use crate::value::{Value, Zone};

/// A row found: for expressions, and as the store knows it.
pub struct Hit<'h> {
    /// For expressions.
    pub row: RowRef<'h>,
    /// Clustered key.
    pub clustered_key: &'h [u8],
    /// The row's bytes; empty for covering reads.
    pub bytes: &'h [u8],
    /// Whether conditions left to the index must be checked.
    pub inexact: bool,
    /// Position of the partition it is in; 0 in a table without.
    pub part: u32,
}

/// Table and read mode of a stored source.
pub fn stored<'p>(st: &State<'p>, s: &Source) -> Option<(&'p PlanTable, ReadMode)> {
    match &s.kind {
        SourceKind::Table { table, lock, .. } => {
            Some((&st.plan.tables[*table], st.read_mode(*lock)))
        }
        _ => None,
    }
}

/// Calls `f` for every row that the access path reads, in its order.
pub fn table<'s, F>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    a: &Access,
    mode: ReadMode,
    rows: &[RowRef<'_>],
    mut f: F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    if let Some(p) = &t.schema.partitioning {
        return partitions::table(st, t, p, a, mode, rows, &mut f);
    }
    let mut key = st.scratch.take();
    let ranges = ranges::build(a, &t.schema, &st.context(rows), &mut key)?;
    let whole = (&*t.table, 0);
    match ranges {
        Ranges::Nothing => {
            st.scratch.give(key);
            Ok(Flow::Continue)
        }
        Ranges::Point => {
            let flow = point(st, t, whole, a, mode, &key, &mut f)?;
            st.scratch.give(key);
            Ok(flow.unwrap_or(Flow::Continue))
        }
        Ranges::List { mut list, inexact } => {
            st.scratch.give(key);
            if a.reverse {
                list.reverse();
            }
            let mut covered = Covered::new(a.covering.as_deref(), &t.schema);
            for r in list {
                let flow = range(st, t, whole, a, mode, r, inexact, &mut covered, &mut f)?;
                if flow == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            Ok(Flow::Continue)
        }
    }
}

/// Direction of an access, and what it fetches.
pub fn how(a: &Access) -> (Direction, Fetch) {
    (
        if a.reverse {
            Direction::Backward
        } else {
            Direction::Forward
        },
        if a.covering.is_some() {
            Fetch::Key
        } else {
            Fetch::Row
        },
    )
}

/// Whether locks on rows that turn out not to be wanted are given back.
pub fn gives_back(st: &State<'_>, mode: ReadMode) -> bool {
    matches!(mode, ReadMode::Locking(..))
        && matches!(
            st.txn.isolation(),
            Isolation::ReadCommitted | Isolation::ReadUncommitted
        )
}

/// Reads the row with a unique key of a table, or of one of its partitions; `None` if there is none.
#[inline]
pub fn point<'s, F>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    (table, part): (&Table, u32),
    a: &Access,
    mode: ReadMode,
    key: &[u8],
    f: &mut F,
) -> SqlResult<Option<Flow>>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let mut clustered_key = st.scratch.take();
    let mut bytes = st.scratch.take();
    let found = table
        .get(st.txn, a.index, key, mode, &mut clustered_key, &mut bytes)
        .map_err(|e| store_error(e, &t.table.def().name))?;
    let mut flow = None;
    if found {
        st.examined += 1;
        let end = f(
            st,
            Hit {
                row: RowRef::Stored(&t.schema, &bytes),
                clustered_key: &clustered_key,
                bytes: &bytes,
                inexact: false,
                part,
            },
        )?;
        flow = Some(if end == Flow::Stop {
            Flow::Stop
        } else {
            Flow::Continue
        });
    }
    st.scratch.give(clustered_key);
    st.scratch.give(bytes);
    Ok(flow)
}

/// Reads a range of a table, or of one of its partitions.
#[inline]
#[allow(clippy::too_many_arguments)] // What a read consists of.
pub fn range<'s, F>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    (table, part): (&Table, u32),
    a: &Access,
    mode: ReadMode,
    range: KeyRange,
    inexact: bool,
    covered: &mut Option<Covered<'_>>,
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let wrap = |e| store_error(e, &t.table.def().name);
    let (dir, fetch) = how(a);
    let give_back = gives_back(st, mode);
    let mut scan = table
        .scan(st.txn, a.index, range, dir, mode, fetch)
        .map_err(wrap)?;
    while let Some(r) = scan.next(st.txn).map_err(wrap)? {
        st.tick()?;
        st.examined += 1;
        let row = match covered {
            None => RowRef::Stored(&t.schema, r.row),
            Some(c) => c.row(a.index, &r, st.env.zone.get())?,
        };
        let flow = f(
            st,
            Hit {
                row,
                clustered_key: r.clustered_key,
                bytes: r.row,
                inexact,
                part,
            },
        )?;
        match flow {
            Flow::Continue => {}
            Flow::Reject if give_back => scan.unlock_row(st.txn),
            Flow::Reject => {}
            Flow::Stop => return Ok(Flow::Stop),
        }
    }
    Ok(Flow::Continue)
}

/// Values read back from index bytes: a whole row, NULL where nothing is read.
pub struct Covered<'c> {
    schema: &'c Schema,
    columns: &'c [CoveredColumn],
    values: Vec<Value<'c>>,
    parts: Vec<Value<'c>>,
    own: bool,
    clustered: bool,
}

impl<'c> Covered<'c> {
    /// For the columns of an access that reads index bytes alone.
    pub fn new(columns: Option<&'c [CoveredColumn]>, schema: &'c Schema) -> Option<Covered<'c>> {
        columns.map(|columns| Covered {
            schema,
            columns,
            values: vec![Value::Null; schema.columns.len()],
            parts: Vec::new(),
            own: columns.iter().any(|c| !c.clustered),
            clustered: columns.iter().any(|c| c.clustered),
        })
    }
    /// The row of an index entry.
    pub fn row(&mut self, index: usize, r: &ScanRow<'_>, tz: Zone) -> SqlResult<RowRef<'_>> {
        self.decode(index, r, tz)?;
        Ok(RowRef::Values(&self.values))
    }
    fn decode(&mut self, index: usize, r: &ScanRow<'_>, tz: Zone) -> SqlResult<()> {
        for (wanted, clustered, index, key) in [
            (self.own, false, index, r.key),
            (self.clustered, true, 0, r.clustered_key),
        ] {
            if !wanted {
                continue;
            }
            self.parts.clear();
            row::decode_key(self.schema, index, key, tz, &mut self.parts)?;
            for c in self.columns.iter().filter(|c| c.clustered == clustered) {
                self.values[c.column] = std::mem::replace(&mut self.parts[c.part], Value::Null);
            }
        }
        Ok(())
    }
}
