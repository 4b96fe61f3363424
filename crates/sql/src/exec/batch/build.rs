//! The built side of a hash join: a table read by batches, or the rows of a derived table.

use std::ops::Range;

use millpond_store::Snapshot;

use super::group::kept_columns;
use super::join::Contexts;
use super::kernel::BatchContext;
use super::keys::{KeyValues, Keys};
use super::pipeline::{Beside, More, Pipeline};
use super::rows::{BATCH_ROWS, Batch, Column, Columns, SourceRows};
use super::table::JoinTable;
use super::vector::Kind;
use super::workers::{self, Halt, Held, Ran, Shared};
use super::{Reading, rules};
use crate::exec::levels;
use crate::exec::row_buffer;
use crate::exec::state::State;
use crate::expr::RowRef;
use crate::plan::nodes::{Block, HashJoin, SourceKind};

/// Rows that were kept, and their keys.
#[derive(Default)]
struct Side {
    columns: Columns,
    keys: KeyValues,
    held: Held,
}

impl Side {
    /// Takes the rows of a batch in that may match anything.
    fn add<'e, 'b>(
        &mut self,
        h: &HashJoin,
        keys: &Keys<'e>,
        mut batch: Batch<'b>,
        cx: &Contexts<'b>,
        shared: &Shared<'_>,
    ) -> Ran<()>
    where
        'e: 'b,
    {
        let values = keys.values(&batch, &cx.batch, &cx.row)?;
        let values = values.ok_or(Halt::Unfit)?;
        let usable = |row: &u32| values.never.as_ref().is_none_or(|n| !n[*row as usize]);
        let rows: Vec<u32> = (0..batch.len as u32).filter(usable).collect();
        self.keys.take(&values, &rows);
        batch.select(&rows);
        let source = &batch.sources[h.source];
        let zone = cx.batch.session.zone.get();
        for (c, column) in self.columns.columns.iter_mut().enumerate() {
            if let Some(column) = column {
                column.append(&source.column(batch.len, c, zone));
            }
        }
        self.columns.len += batch.len;
        let bytes = self.columns.bytes() + self.keys.size();
        self.held.grow_to(bytes, shared)
    }

    /// Takes another's rows in. Of each column both are in memory for a moment.
    fn extend(&mut self, other: Side, shared: &Shared<'_>) -> Ran<()> {
        let Side {
            columns,
            keys,
            held,
        } = other;
        let twice = columns.largest().max(keys.size());
        shared.charge(twice)?;
        self.columns.extend(columns);
        self.keys.extend(&keys);
        self.held.join(held);
        drop(keys);
        shared.release(twice);
        Ok(())
    }
}

/// Builds a side. `kept`: the columns that are read of its rows, beside its keys and its own conditions.
#[expect(clippy::too_many_arguments)]
pub fn build<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    h: &'s HashJoin,
    kept: &[usize],
    keys: &Keys<'s>,
    rows: &[RowRef<'_>],
    around: &[Beside<'_>],
    shared: &Shared<'_>,
) -> Ran<JoinTable> {
    let source = &b.sources[h.source - b.base];
    let side = match (&source.kind, &h.access) {
        (SourceKind::Table { .. }, Some(access)) => {
            let Some(reading) = Reading::of(st, b, h.source, access, true, rows)? else {
                return Err(Halt::Unfit);
            };
            let filter = rules(&h.build_filter, &st.context(rows));
            let pipeline = reading.pipeline(st, b, filter, Vec::new());
            let snapshot = st.txn.snapshot().ok_or(Halt::Unfit)?;
            stored(
                st, b, h, kept, keys, &pipeline, &reading, snapshot, around, shared,
            )?
        }
        _ => derived(st, b, h, kept, keys, rows, shared)?,
    };
    JoinTable::new(side.columns, side.keys, shared)
}

#[expect(clippy::too_many_arguments)]
fn stored(
    st: &State<'_>,
    b: &Block,
    h: &HashJoin,
    kept: &[usize],
    keys: &Keys<'_>,
    pipeline: &Pipeline<'_>,
    reading: &Reading<'_>,
    snapshot: Snapshot<'_>,
    around: &[Beside<'_>],
    shared: &Shared<'_>,
) -> Ran<Side> {
    let source = h.source - b.base;
    let sides = workers::run(st.env, shared, reading.workers(st), |worker| {
        let mut side = Side {
            columns: kept_columns(kept, &b.sources[source].kind),
            ..Side::default()
        };
        pipeline.run(worker, snapshot, &reading.morsels, around, |batch, cx| {
            side.add(h, keys, batch, cx, shared)?;
            Ok(More::Yes)
        })?;
        Ok(side)
    })?;
    let mut sides = sides.into_iter();
    let mut whole = sides.next().unwrap_or_default();
    for other in sides {
        whole.extend(other, shared)?;
    }
    Ok(whole)
}

/// Keeps the rows of a derived table, which stay kept for the statement too.
fn derived<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    h: &'s HashJoin,
    kept: &[usize],
    keys: &Keys<'s>,
    rows: &[RowRef<'_>],
    shared: &Shared<'_>,
) -> Ran<Side> {
    let source = &b.sources[h.source - b.base];
    let SourceKind::Derived { derived } = &source.kind else {
        return Err(Halt::Unfit);
    };
    let types = &st.plan.derived[*derived].query.types;
    let computed = levels::computed(st, source, rows)?;
    let mut all = Columns::default();
    for (c, ty) in types.iter().enumerate() {
        let read = b.read[h.source - b.base].contains(&c);
        all.columns.push(read.then(|| Column::new(Kind::of(ty))));
    }
    let mut held = Held::default();
    let mut reader = computed.reader();
    while let Some(bytes) = reader.next(&computed)? {
        st.tick()?;
        let values = row_buffer::values(bytes);
        for (column, v) in all.columns.iter_mut().zip(values) {
            if let Some(column) = column {
                column.push(v);
            }
        }
        all.len += 1;
        if all.len.is_multiple_of(BATCH_ROWS) {
            held.grow_to(all.bytes(), shared)?;
        }
    }
    let cx = Contexts {
        batch: BatchContext {
            params: st.params,
            session: st.env,
            rows,
        },
        row: st.context(rows),
    };
    let filter = rules(&h.build_filter, &cx.row);
    let mut side = Side {
        columns: Columns {
            len: 0,
            columns: types
                .iter()
                .enumerate()
                .map(|(c, ty)| kept.contains(&c).then(|| Column::new(Kind::of(ty))))
                .collect(),
        },
        ..Side::default()
    };
    for part in parts(all.len) {
        let mut batch = Batch {
            len: part.len(),
            sources: vec![SourceRows::Nulls; b.width()],
        };
        batch.sources[h.source] = SourceRows::Kept(&all, part.collect());
        super::join::narrow(&mut batch, &filter, &cx)?;
        side.add(h, keys, batch, &cx, shared)?;
    }
    held.release(shared);
    Ok(side)
}

/// Positions up to `rows`, batch by batch.
fn parts(rows: usize) -> impl Iterator<Item = Range<u32>> {
    (0..rows)
        .step_by(BATCH_ROWS)
        .map(move |from| from as u32..rows.min(from + BATCH_ROWS) as u32)
}
