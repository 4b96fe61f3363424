//! Reading a stored table by an access path.

use millpond_store::{Direction, Fetch, Isolation, ReadMode, ScanRow};

use super::ranges::{self, Ranges};
use super::state::{Flow, State};
use super::store_error;
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::plan::PlanTable;
use crate::plan::nodes::{Access, CoveredColumn, Source, SourceKind};
use crate::row;
use crate::types::Schema;
use crate::value::Value;

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
    let name = &t.table.def().name;
    let mut key = st.scratch.take();
    let ranges = ranges::build(a, &t.schema, &st.context(rows), &mut key)?;
    match ranges {
        Ranges::Nothing => {
            st.scratch.give(key);
            Ok(Flow::Continue)
        }
        Ranges::Point => {
            let mut clustered_key = st.scratch.take();
            let mut bytes = st.scratch.take();
            let found = t
                .table
                .get(st.txn, a.index, &key, mode, &mut clustered_key, &mut bytes)
                .map_err(|e| store_error(e, name))?;
            let mut flow = Flow::Continue;
            if found {
                st.examined += 1;
                flow = f(
                    st,
                    Hit {
                        row: RowRef::Stored(&t.schema, &bytes),
                        clustered_key: &clustered_key,
                        bytes: &bytes,
                        inexact: false,
                    },
                )?;
            }
            st.scratch.give(key);
            st.scratch.give(clustered_key);
            st.scratch.give(bytes);
            Ok(if flow == Flow::Stop {
                Flow::Stop
            } else {
                Flow::Continue
            })
        }
        Ranges::List { mut list, inexact } => {
            st.scratch.give(key);
            let dir = if a.reverse {
                list.reverse();
                Direction::Backward
            } else {
                Direction::Forward
            };
            let fetch = if a.covering.is_some() {
                Fetch::Key
            } else {
                Fetch::Row
            };
            let give_back = matches!(mode, ReadMode::Locking(..))
                && matches!(
                    st.txn.isolation(),
                    Isolation::ReadCommitted | Isolation::ReadUncommitted
                );
            let mut covered = Covered::new(a.covering.as_deref(), &t.schema);
            for range in list {
                let mut scan = t
                    .table
                    .scan(st.txn, a.index, range, dir, mode, fetch)
                    .map_err(|e| store_error(e, name))?;
                while let Some(r) = scan.next(st.txn).map_err(|e| store_error(e, name))? {
                    st.tick()?;
                    st.examined += 1;
                    let row = match &mut covered {
                        None => RowRef::Stored(&t.schema, r.row),
                        Some(c) => {
                            c.decode(a.index, &r, st.env.tz_offset.get())?;
                            RowRef::Values(&c.values)
                        }
                    };
                    let flow = f(
                        st,
                        Hit {
                            row,
                            clustered_key: r.clustered_key,
                            bytes: r.row,
                            inexact,
                        },
                    )?;
                    match flow {
                        Flow::Continue => {}
                        Flow::Reject if give_back => scan.unlock_row(st.txn),
                        Flow::Reject => {}
                        Flow::Stop => return Ok(Flow::Stop),
                    }
                }
            }
            Ok(Flow::Continue)
        }
    }
}

/// Values read back from index bytes: a whole row, NULL where nothing is read.
struct Covered<'c> {
    schema: &'c Schema,
    columns: &'c [CoveredColumn],
    values: Vec<Value<'c>>,
    parts: Vec<Value<'c>>,
    own: bool,
    clustered: bool,
}

impl<'c> Covered<'c> {
    fn new(columns: Option<&'c [CoveredColumn]>, schema: &'c Schema) -> Option<Covered<'c>> {
        columns.map(|columns| Covered {
            schema,
            columns,
            values: vec![Value::Null; schema.columns.len()],
            parts: Vec::new(),
            own: columns.iter().any(|c| !c.clustered),
            clustered: columns.iter().any(|c| c.clustered),
        })
    }
    fn decode(&mut self, index: usize, r: &ScanRow<'_>, tz: i32) -> SqlResult<()> {
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
