//! Partitioned tables: which partition a row is in, which ones a statement needs, and what a definition may be. The definition itself
//! is [`crate::catalog`]'s.
//!
//! | file | owns |
//! |---|---|
//! | `define` | PARTITION BY checked and turned into a [`Partitioning`] |
//! | `function` | the value that decides: an expression, or columns |
//! | `route` | from a row to its partition |
//! | `prune` | from conditions to the partitions that can hold rows |
//! | `text` | the same as SHOW CREATE TABLE prints it |
//!
//! **In the store** each partition is a table of its own that only its table leads to (`store::engine::partition`). A
//! [`Schema`](crate::types::Schema) that has a [`Partitioning`] is that of such a table: reading and writing go to the
//! partitions, whose rows and indexes are the table's own.
//!
//! **Subpartitions** are tables of the store in the place of their partition: a *leaf* is a partition without any, or a subpartition. Where rows
//! lie is said by the positions of leaves, `route` and `prune` count in them; definitions are made of partitions, each with its subpartitions.
//!
//! **Order.** What decides is turned into the bytes by which ORDER BY sorts (NULL first, collations included), once when the
//! table is defined and once per row. So RANGE is a binary search among byte strings, LIST a look-up, and MAXVALUE a byte
//! that is above them all. Pure but for what expressions ask of the session.

mod define;
mod function;
mod prune;
mod route;
mod text;

use std::sync::Arc;

use millpond_store::{Engine, KeyRange, Table};

use crate::error::SqlResult;
use crate::store_error::store_error;
use crate::types::Schema;

pub use crate::catalog::{
    By, Limit, MAX_PARTITIONS, Partition, Partitioning, Spelled, Subpartition,
};
pub use define::{check, define, define_more, unnamed};
pub use function::Function;
pub use prune::{Prune, Select};
pub use route::{no_partition, no_partition_for_row};
pub use text::{partition_text, quote_if_needed, value_text};

impl Partitioning {
    /// The open partition or subpartition at a position. The caller has pinned the table.
    #[inline]
    pub fn open(&self, engine: &Engine, table: &Arc<Table>, at: usize) -> SqlResult<Arc<Table>> {
        if let Some(open) = table.opened_partition(at) {
            return Ok(open.clone());
        }
        engine
            .partition(table, at, self.leaves(), &self.stored_name(at))
            .map_err(|e| store_error(e, &table.def().name))
    }
}

/// Partitions that are looked at to estimate how many rows a table has.
const SAMPLE: usize = 32;

/// About how many entries of an index are in a range, from partitions that are open.
pub fn estimate_range(
    table: &Table,
    schema: &Schema,
    index: usize,
    range: &KeyRange,
) -> Option<u64> {
    let Some(p) = &schema.partitioning else {
        return table.estimate_range(index, range).ok();
    };
    let (mut rows, mut seen) = (0u64, 0u64);
    for open in (0..p.leaves()).filter_map(|at| table.opened_partition(at)) {
        rows = rows.saturating_add(open.estimate_range(index, range).ok()?);
        seen += 1;
        if seen as usize >= SAMPLE {
            break;
        }
    }
    (seen > 0).then(|| rows.saturating_mul(p.leaves() as u64) / seen)
}

/// About how many rows a table has. `engine`: opens some partitions if none is open yet.
pub fn estimate_rows(engine: Option<&Engine>, table: &Arc<Table>, schema: &Schema) -> u64 {
    let Some(p) = &schema.partitioning else {
        return table.estimate_rows();
    };
    let count = p.leaves();
    let step = count.div_ceil(SAMPLE);
    let (mut rows, mut seen) = (0u64, 0u64);
    for at in (0..count).step_by(step) {
        let open = match engine {
            Some(engine) => p.open(engine, table, at).ok(),
            None => table.opened_partition(at).cloned(),
        };
        if let Some(open) = open {
            rows = rows.saturating_add(open.estimate_rows());
            seen += 1;
        }
    }
    match seen {
        0 => 0,
        n => rows.saturating_mul(count as u64) / n,
    }
}
