//! Where a table's AUTO_INCREMENT counter starts.

use std::ops::Bound;
use std::sync::Arc;

use crate::error::SqlResult;
use crate::store_error::store_error;
use crate::types::Schema;
use crate::value::{Value, Zone};
use millpond_store::{Direction, Engine, Fetch, Isolation, KeyRange, ReadMode, Table};

/// Sets the counter up after the largest value in the table, unless it has been. A table without such a
/// column stays without.
pub fn start(engine: &Engine, table: &Arc<Table>, schema: &Schema) -> SqlResult<()> {
    if table.auto_increment_peek().is_none()
        && let Some(next) = lowest_free(engine, table, schema)?
    {
        table.auto_increment_init(next);
    }
    Ok(())
}

/// Has the counter go on at `next`, or after the largest value in the table if that is more, though it was further before. Nobody
/// else may use the table meanwhile.
pub fn restart(engine: &Engine, table: &Arc<Table>, schema: &Schema, next: u64) -> SqlResult<()> {
    let Some(free) = lowest_free(engine, table, schema)? else {
        return Ok(());
    };
    table
        .auto_increment_restart(next.max(free))
        .map_err(|e| store_error(e, &table.def().name))
}

/// The value after the largest one in the table; `None` if it has no AUTO_INCREMENT column.
fn lowest_free(engine: &Engine, table: &Arc<Table>, schema: &Schema) -> SqlResult<Option<u64>> {
    let Some(column) = schema.columns.iter().position(|c| c.auto_increment) else {
        return Ok(None);
    };
    let mut last = 0;
    match &schema.partitioning {
        None => last = largest(engine, table, schema, column)?,
        Some(p) => {
            for at in 0..p.leaves() {
                let part = p.open(engine, table, at)?;
                last = last.max(largest(engine, &part, schema, column)?);
            }
        }
    }
    Ok(Some(last.saturating_add(1)))
}

/// The largest value of a column that leads an index; 0 if there's none above.
fn largest(engine: &Engine, table: &Table, schema: &Schema, column: usize) -> SqlResult<u64> {
    let leads = |n: usize| {
        let part = schema.indexes[n].parts.first()?;
        (part.column == column).then_some((n, part.desc))
    };
    let Some((index, desc)) = (0..schema.indexes.len()).find_map(leads) else {
        return Ok(0);
    };
    let wrap = |e| store_error(e, &table.def().name);
    // The newest rows count, whoever may see them: the caller's own transaction may look at an older state.
    let mut txn = engine.begin(&engine.owner(), Isolation::ReadUncommitted);
    let mut read = || {
        let all = KeyRange {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        };
        let dir = if desc {
            Direction::Forward
        } else {
            Direction::Backward
        };
        let mut scan = table.scan(&mut txn, index, all, dir, ReadMode::Consistent, Fetch::Row)?;
        Ok(scan.next(&mut txn)?.map(|r| {
            match schema.layout().column(schema, r.row, column, Zone::UTC) {
                Value::UInt(v) => v,
                v => u64::try_from(v.to_i64()).unwrap_or(0),
            }
        }))
    };
    let found = read().map_err(wrap);
    engine.commit(txn).map_err(wrap)?;
    Ok(found?.unwrap_or(0))
}
