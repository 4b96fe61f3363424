//! INSERT ... SELECT and LOAD DATA into a table that nothing was ever written to: its rows go to the bulk loader.
//!
//! One function decides whether they may ([`fills`]), the store whether they can now ([`millpond_store::Engine::fill`]): what either does not know well goes row by
//! row, as ever. The rows go through the row writer in both cases, and what it and the statement count is counted alike. What differs is when a duplicate
//! key is met: at the end, if the rows have come so far, and not necessarily the first there was.
//!
//! **The commit.** Such a statement is its whole transaction, and ends it itself ([`Filler::finish`]): what makes the table's pages its own has to happen
//! between its last change and whatever comes after the commit. The session finds another transaction, which has done nothing.

use millpond_store::{Error, RowOrder, TableFill};

use super::dml::DmlOptions;
use super::state::State;
use crate::error::{SqlError, SqlResult};
use crate::logical::PlanTable;
use crate::plan::dml::Insert;
use crate::store_error::store_error;
use crate::write::{Filling, duplicate};

/// What `millpond_bulk_rows` is unless it is set.
pub const BULK_FROM_ROWS: u64 = 10_000;

/// An empty table that a statement fills.
pub(super) struct Filler<'s> {
    /// Where the rows go. Before what makes them the table's, to be dropped first.
    pub filling: Filling,
    table: TableFill<'s>,
}

/// Whether an INSERT's rows, of which so many are expected, may fill its table in bulk.
fn fills(st: &State<'_>, plan: &Insert, dml: &DmlOptions<'_>, rows: f64) -> bool {
    let schema = &st.plan.tables[plan.table].schema;
    // Its error undoes all, and nothing but its end makes its rows known.
    let whole = dml.alone && dml.hooks.is_none();
    // A row is stored, or the statement fails.
    let plain = !plan.replace && !plan.ignore && plan.update.is_none();
    let direct = plan.through.is_none() && plan.partitions.is_none();
    // What it reads is what its tables hold: stored programs might read what it has written, or write more.
    let reads_tables = !st.plan.calls() && !st.plan.reads_lists();
    let free = schema.foreign_keys.is_empty() || !st.env.foreign_key_checks.get();
    whole
        && plain
        && direct
        && reads_tables
        && free
        && schema.partitioning.is_none()
        // A load costs a few syncs, a transaction on the catalog and a tree per index however few rows there are.
        && rows >= st.limits.bulk_rows as f64
}

impl<'s> Filler<'s> {
    /// Begins to fill the table of an INSERT that expects so many rows; `None`: they go row by row.
    pub fn begin(
        st: &mut State<'s>,
        plan: &Insert,
        dml: &DmlOptions<'_>,
        rows: f64,
    ) -> SqlResult<Option<Filler<'s>>> {
        if !fills(st, plan, dml, rows) {
            return Ok(None);
        }
        let table = &st.plan.tables[plan.table].table;
        let (engine, order) = (st.engine, RowOrder::Any);
        let begun = engine.fill(st.txn, table, order);
        let begun = begun.map_err(|e| store_error(e, &table.def().name))?;
        Ok(begun.map(|(load, table)| Filler {
            filling: Filling::Whole(Box::new(load)),
            table,
        }))
    }

    /// All rows are there: makes them the table's, and commits.
    pub fn finish(self, st: &mut State<'s>, t: &PlanTable) -> SqlResult<()> {
        let name = &t.table.def().name;
        let wrap = |e: Error| store_error(e, name);
        let Filling::Whole(load) = self.filling else {
            return Err(SqlError::new(1105, "a table that is filled has partitions"));
        };
        let rows = load
            .finish()
            .map_err(|refused| match (refused.error, refused.row) {
                (Error::DuplicateKey { index }, Some(row)) => {
                    duplicate(&t.schema, name, index, &row, st.env.zone.get())
                }
                (e, _) => wrap(e),
            })?;
        if rows == 0 {
            return Ok(());
        }
        self.table.publish(st.txn).map_err(wrap)?;
        let next = st.engine.begin(st.txn.owner(), st.txn.isolation());
        let txn = std::mem::replace(st.txn, next);
        self.table.commit(txn, rows).map_err(wrap)
    }
}
