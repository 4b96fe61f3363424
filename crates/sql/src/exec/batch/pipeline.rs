//! A block's first loops over batches: rows of the first table, then hash joins, each batch through all of them before the next is read.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::atomic::Ordering::Relaxed;

use millpond_store::{Fetch, KeyRange, Snapshot};
use parking_lot::Mutex;

use super::join::{Contexts, Join, Sink, narrow};
use super::kernel::{BatchContext, Kernel};
use super::rows::{Batch, SourceRows};
use super::workers::{Halt, Ran, Worker};
use crate::exec::state::Rows;
use crate::exec::store_error;
use crate::expr::{EvalContext, RowRef};
use crate::logical::PlanTable;
use crate::types::Schema;
use crate::value::Value;

/// A row beside a batch, in a form that threads may share.
#[derive(Clone, Copy)]
pub enum Beside<'r> {
    Nulls,
    Stored(&'r Schema, &'r [u8]),
    Values(&'r [Value<'r>]),
}

/// Rows of the blocks around and values of subqueries, in a form that threads may share.
pub fn beside<'r>(rows: &[RowRef<'r>]) -> Vec<Beside<'r>> {
    let of = |r: &RowRef<'r>| match r {
        RowRef::Stored(schema, bytes) => Beside::Stored(schema, bytes),
        RowRef::Values(v) => Beside::Values(v),
        RowRef::Nulls | RowRef::Lazy(_) => Beside::Nulls,
    };
    rows.iter().map(of).collect()
}

/// The same for expressions.
pub fn seen<'r>(rows: &[Beside<'r>]) -> Rows<'r> {
    let of = |r: &Beside<'r>| match r {
        Beside::Stored(schema, bytes) => RowRef::Stored(schema, bytes),
        Beside::Values(v) => RowRef::Values(v),
        Beside::Nulls => RowRef::Nulls,
    };
    rows.iter().map(of).collect()
}

/// Ranges of the first table that nobody has read yet.
pub struct Morsels(Mutex<VecDeque<KeyRange>>);

impl Morsels {
    /// All of these.
    pub fn new(ranges: Vec<KeyRange>) -> Morsels {
        Morsels(Mutex::new(ranges.into()))
    }
    fn take(&self) -> Option<KeyRange> {
        self.0.lock().pop_front()
    }
    /// Gives back what is left of one.
    fn give_back(&self, range: KeyRange) {
        self.0.lock().push_front(range);
    }
    /// How many there are to take.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }
    /// Whether all was taken.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

/// The loops.
pub struct Pipeline<'e> {
    /// Sources in sight.
    pub width: usize,
    /// The first table.
    pub table: &'e PlanTable,
    /// Its source.
    pub source: usize,
    /// Conditions on its rows.
    pub filter: Vec<Kernel<'e>>,
    /// What follows.
    pub joins: Vec<Join<'e>>,
    /// Values of `?`.
    pub params: &'e [Value<'e>],
}

/// Whether a worker is to go on after a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum More {
    Yes,
    /// What it has made is to be given out first.
    Later,
}

impl<'e> Pipeline<'e> {
    /// Reads morsels until none is left, and gives what comes out of the loops to `sink`.
    pub fn run(
        &self,
        worker: &Worker<'_>,
        snapshot: Snapshot<'_>,
        morsels: &Morsels,
        around: &[Beside<'_>],
        mut sink: impl for<'b> FnMut(Batch<'b>, &Contexts<'b>) -> Ran<More>,
    ) -> Ran<()> {
        while let Some(range) = morsels.take() {
            let rest = self.morsel(worker, snapshot, range, around, &mut sink)?;
            if let Some(rest) = rest {
                morsels.give_back(rest);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads one; what is left of it, if what was made is to be given out first.
    fn morsel(
        &self,
        worker: &Worker<'_>,
        snapshot: Snapshot<'_>,
        range: KeyRange,
        around: &[Beside<'_>],
        sink: &mut impl for<'b> FnMut(Batch<'b>, &Contexts<'b>) -> Ran<More>,
    ) -> Ran<Option<KeyRange>> {
        let table = &self.table.table;
        let failed = |e| Halt::Error(store_error(e, &table.def().name));
        let upper = range.upper.clone();
        let mut scan = table
            .scan_batches(snapshot, 0, range, Fetch::Row)
            .map_err(failed)?;
        let beside = seen(around);
        loop {
            worker.check()?;
            let Some(read) = scan.next().map_err(failed)? else {
                return Ok(None);
            };
            if read.is_empty() {
                continue;
            }
            worker.shared.examined.fetch_add(read.len(), Relaxed);
            let cx = Contexts {
                batch: BatchContext {
                    params: self.params,
                    session: &worker.env,
                    rows: &beside,
                },
                row: EvalContext {
                    rows: &beside,
                    params: self.params,
                    session: &worker.env,
                },
            };
            let mut batch = Batch {
                len: read.len(),
                sources: vec![SourceRows::Nulls; self.width],
            };
            let rows = (0..read.len()).map(|n| Some(read.row(n))).collect();
            batch.sources[self.source] = SourceRows::Stored(&self.table.schema, rows);
            narrow(&mut batch, &self.filter, &cx)?;
            let mut more = More::Yes;
            if batch.len > 0 {
                self.join(0, batch, &cx, &mut |batch| {
                    if sink(batch, &cx)? == More::Later {
                        more = More::Later;
                    }
                    Ok(())
                })?;
            }
            if more == More::Later {
                let last = read.clustered_key(read.len() - 1).to_vec();
                let lower = Bound::Excluded(last);
                return Ok(Some(KeyRange { lower, upper }));
            }
        }
    }

    /// The loops from the n-th join on.
    fn join<'b>(
        &'b self,
        n: usize,
        batch: Batch<'b>,
        cx: &Contexts<'b>,
        out: &mut Sink<'_, 'b>,
    ) -> Ran<()>
    where
        'e: 'b,
    {
        match self.joins.get(n) {
            None => out(batch),
            Some(join) => join.run(batch, cx, &mut |batch| self.join(n + 1, batch, cx, out)),
        }
    }
}
