//! Partitioned tables: which partition a row is in, which ones a statement needs, and what a definition may be.
//!
//! | file | owns |
//! |---|---|
//! | `define` | PARTITION BY checked and turned into a [`Partitioning`] |
//! | `function` | the value that decides: an expression, or columns |
//! | `route` | from a row to its partition |
//! | `prune` | from conditions to the partitions that can hold rows |
//! | `body` | a [`Partitioning`] as bytes |
//! | `text` | the same as SHOW CREATE TABLE prints it |
//!
//! **In the store** each partition is a table of its own that only its table leads to (`store::engine::partition`). A
//! [`Schema`](crate::types::Schema) that has a [`Partitioning`] is that of such a table: reading and writing go to the
//! partitions, whose rows and indexes are the table's own.
//!
//! **Order.** What decides is turned into the bytes by which ORDER BY sorts (NULL first, collations included), once when the
//! table is defined and once per row. So RANGE is a binary search among byte strings, LIST a look-up, and MAXVALUE a byte
//! that is above them all. Pure but for what expressions ask of the session.

mod body;
mod define;
mod function;
mod prune;
mod route;
mod text;

use std::sync::{Arc, OnceLock};

use millpond_store::{Engine, KeyRange, Table};

use crate::error::{SqlError, SqlResult};
use crate::parse::ast::PartitionMethod;
use crate::store_error::store_error;
use crate::types::Schema;

pub use body::{read, write};
pub use define::{check, define, define_more, unnamed};
pub use function::Function;
pub use prune::{Prune, Select};
pub use route::{no_partition, no_partition_for_row};
pub use text::{partition_text, quote_if_needed, value_text};

/// Most partitions of a table.
pub const MAX_PARTITIONS: usize = 8192;

/// How a table is partitioned.
#[derive(Debug)]
pub struct Partitioning {
    /// How.
    pub method: PartitionMethod,
    /// LINEAR.
    pub linear: bool,
    /// ALGORITHM of KEY as it was given; 0: not.
    pub algorithm: u64,
    /// By what.
    pub by: By,
    /// Whether the partitions were named one by one.
    pub listed: bool,
    /// The partitions, in order.
    pub parts: Vec<Partition>,
    /// Bound at the first use, because binding needs a session.
    function: OnceLock<Function>,
    /// For LIST: values in order, each with its partition. For RANGE: upper ends.
    keys: Vec<(Box<[u8]>, u32)>,
}

/// By what a table is partitioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// The value of an expression: its text, as SHOW CREATE TABLE has it.
    Expr(String),
    /// Columns by name; none: those of the primary key (KEY).
    Columns(Vec<String>),
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Name.
    pub name: String,
    /// VALUES: LESS THAN is one row of limits, IN one per value; HASH and KEY have none.
    pub values: Vec<Vec<Limit>>,
    /// COMMENT.
    pub comment: String,
}

/// A value of VALUES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// As SHOW CREATE TABLE has it.
    pub text: String,
    /// Its bytes in the order of values.
    pub key: Vec<u8>,
}

/// Byte above every value's first.
const MAX_KEY: u8 = 0xff;
/// Byte above every value's first, and below MAXVALUE.
const HIGH_KEY: u8 = 0xfe;

impl Limit {
    /// MAXVALUE.
    pub fn max() -> Limit {
        Limit {
            text: "MAXVALUE".into(),
            key: vec![MAX_KEY],
        }
    }
    fn is_max(&self) -> bool {
        self.key == [MAX_KEY]
    }
}

impl Partitioning {
    /// Puts one together.
    pub fn new(
        method: PartitionMethod,
        linear: bool,
        algorithm: u64,
        by: By,
        listed: bool,
        parts: Vec<Partition>,
    ) -> Partitioning {
        let mut keys: Vec<(Box<[u8]>, u32)> = Vec::new();
        for (n, p) in parts.iter().enumerate() {
            for row in &p.values {
                let key: Vec<u8> = row.iter().flat_map(|l| l.key.iter().copied()).collect();
                keys.push((key.into(), n as u32));
            }
        }
        if method == PartitionMethod::List {
            keys.sort();
        }
        Partitioning {
            method,
            linear,
            algorithm,
            by,
            listed,
            parts,
            function: OnceLock::new(),
            keys,
        }
    }

    /// The same with other partitions.
    pub fn with_parts(&self, parts: Vec<Partition>) -> Partitioning {
        Partitioning::new(
            self.method,
            self.linear,
            self.algorithm,
            self.by.clone(),
            self.listed,
            parts,
        )
    }

    /// Position of a partition by name; names are told apart without case.
    pub fn position(&self, name: &str) -> Option<usize> {
        let same = |p: &Partition| p.name.eq_ignore_ascii_case(name);
        self.parts.iter().position(same)
    }

    /// Positions of the partitions named in a PARTITION clause, in order; error 1735.
    pub fn selected(&self, names: &[&str], table: &str) -> SqlResult<Vec<usize>> {
        let mut list = Vec::with_capacity(names.len());
        for name in names {
            list.push(self.position(name).ok_or_else(|| {
                SqlError::new(
                    1735,
                    format!("Unknown partition '{name}' in table '{table}'"),
                )
            })?);
        }
        list.sort_unstable();
        list.dedup();
        Ok(list)
    }

    /// Names of the partitions, as the store has them.
    pub fn names(&self) -> Vec<String> {
        self.parts.iter().map(|p| p.stored_name()).collect()
    }

    /// The open partition at a position. The caller has pinned the table.
    #[inline]
    pub fn open(&self, engine: &Engine, table: &Arc<Table>, at: usize) -> SqlResult<Arc<Table>> {
        if let Some(open) = table.opened_partition(at) {
            return Ok(open.clone());
        }
        engine
            .partition(table, at, self.parts.len(), &self.parts[at].stored_name())
            .map_err(|e| store_error(e, &table.def().name))
    }
}

impl Partition {
    /// The name in the store, where case tells names apart.
    pub fn stored_name(&self) -> String {
        self.name.to_lowercase()
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
    for open in (0..p.parts.len()).filter_map(|at| table.opened_partition(at)) {
        rows = rows.saturating_add(open.estimate_range(index, range).ok()?);
        seen += 1;
        if seen as usize >= SAMPLE {
            break;
        }
    }
    (seen > 0).then(|| rows.saturating_mul(p.parts.len() as u64) / seen)
}

/// About how many rows a table has. `engine`: opens some partitions if none is open yet.
pub fn estimate_rows(engine: Option<&Engine>, table: &Arc<Table>, schema: &Schema) -> u64 {
    let Some(p) = &schema.partitioning else {
        return table.estimate_rows();
    };
    let count = p.parts.len();
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
