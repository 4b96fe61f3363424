//! Reading a table for its statistics: index keys and column values, all of them or those of some leaves.
//!
//! A tree of no more pages than are to be sampled is read whole, so small tables are counted. Of larger ones some leaves are read, at
//! even shares of the tree, as InnoDB does: how often a prefix changes from one key to the next within a leaf is taken for how
//! often it does everywhere.

use std::ops::Bound;
use std::sync::Arc;

use hashbrown::HashSet;
use millpond_store::{
    Direction, Engine, Error, Fetch, Isolation, KeyRange, Owner, ReadMode, Table, Txn,
};

use super::histogram::{Collector, Histogram};
use super::stored::Measure;
use super::table::IndexStatistics;
use crate::computed::take_failure;
use crate::error::{SqlError, SqlResult};
use crate::row::{key_part_ends, schema_of};
use crate::store_error::store_error;
use crate::types::Schema;
use crate::value::Zone;

/// Values of each number of leading parts that are told apart one by one: enough to tell few from many.
const TOLD_APART: usize = 1000;
/// Leaves looked at for a histogram, at least and at most.
const HISTOGRAM_LEAVES: std::ops::RangeInclusive<u64> = 8..=4096;
/// Bytes that a value of a histogram takes while it is made.
const VALUE_BYTES: usize = 128;
/// Rows between two looks at whether the statement was killed.
const KILL_CHECK_ROWS: u64 = 1000;

/// Opens the table in a transaction, which then holds its metadata lock.
pub type Open<'a> = &'a dyn Fn(&mut Txn) -> SqlResult<Arc<Table>>;

/// Runs a read in a transaction of its own, so that DDL waits for one step of a measure at most.
fn step<R>(
    engine: &Engine,
    owner: &Arc<Owner>,
    open: Open<'_>,
    f: impl FnOnce(&mut Txn, &Arc<Table>, &Arc<Schema>) -> SqlResult<R>,
) -> SqlResult<R> {
    // What is not committed yet counts as it does in the table's change counter.
    let mut txn = engine.begin(owner, Isolation::ReadUncommitted);
    let done = open(&mut txn).and_then(|table| {
        let schema = schema_of(&table)?;
        f(&mut txn, &table, &schema)
    });
    // It only read.
    let _ = engine.commit(txn);
    done
}

/// The trees that hold a table's rows.
pub(super) fn parts(
    engine: &Engine,
    table: &Arc<Table>,
    schema: &Schema,
) -> SqlResult<Vec<Arc<Table>>> {
    match &schema.partitioning {
        None => Ok(vec![table.clone()]),
        Some(p) => (0..p.leaves())
            .map(|at| p.open(engine, table, at))
            .collect(),
    }
}

/// Measures a table, looking at up to so many leaves of each index; with by how many rows it had grown when they were counted.
/// `None`: its definition has changed meanwhile.
pub fn measure(
    engine: &Engine,
    owner: &Arc<Owner>,
    pages: u64,
    open: Open<'_>,
    now: u64,
) -> SqlResult<Option<(Measure, i64)>> {
    let (mut measure, schema, net) = step(engine, owner, open, |txn, table, schema| {
        let name = &table.def().name;
        let trees = parts(engine, table, schema)?;
        let (rows, first) =
            index(txn, &trees, schema, 0, pages, None).map_err(|e| store_error(e, name))?;
        let mut bytes = 0;
        for tree in &trees {
            bytes += tree.size().map_err(|e| store_error(e, name))?.data;
        }
        let measure = Measure {
            table: table.def().id,
            rows,
            row_bytes: bytes.checked_div(rows).unwrap_or(0),
            updated: now,
            indexes: vec![(table.def().indexes[0].space.0, first)],
        };
        Ok((measure, schema.clone(), super::changes(table, schema).net))
    })?;
    // How many entries a word or a cell has is asked of such an index when it is searched.
    let of_values = |at: &usize| !schema.indexes[*at].is_multi();
    for at in (1..schema.indexes.len()).filter(of_values) {
        let same = step(engine, owner, open, |txn, table, now| {
            if table.def().id != measure.table || !Arc::ptr_eq(now, &schema) {
                return Ok(false);
            }
            let trees = parts(engine, table, now)?;
            let (_, known) = index(txn, &trees, now, at, pages, Some(measure.rows))
                .map_err(|e| store_error(e, &table.def().name))?;
            let space = table.def().indexes[at].space.0;
            measure.indexes.push((space, known));
            Ok(true)
        })?;
        if !same {
            return Ok(None);
        }
    }
    Ok(Some((measure, net)))
}

/// How many rows there are, and what is in one of the indexes. `rows`: of the table, if known.
fn index(
    txn: &mut Txn,
    trees: &[Arc<Table>],
    schema: &Schema,
    at: usize,
    pages: u64,
    rows: Option<u64>,
) -> Result<(u64, IndexStatistics), Error> {
    let mut all_pages = 0;
    for tree in trees {
        all_pages += tree.index_pages(at)?;
    }
    if all_pages <= pages.max(trees.len() as u64) {
        let (rows, distinct) = count(txn, trees, schema, at)?;
        let inner = trees.len() as u64;
        let known = IndexStatistics {
            distinct,
            pages: all_pages,
            leaf_pages: all_pages.saturating_sub(if all_pages > inner { inner } else { 0 }),
            sampled: all_pages,
        };
        return Ok((rows, known));
    }
    let estimates: Vec<u64> = trees.iter().map(|t| t.estimate_rows()).collect();
    let rows = rows.unwrap_or_else(|| estimates.iter().sum());
    // Of a partitioned table's the one with most rows, as MySQL does.
    let largest = estimates.iter().enumerate().max_by_key(|(_, n)| **n);
    let (tree, here) = largest.map_or((0, 0), |(i, n)| (i, *n));
    let mut s = Sample::of(&trees[tree], schema, at, pages)?;
    let factor = rows as f64 / here.max(1) as f64;
    let mut distinct = s.distinct(rows, factor);
    // Every row has a value of its own under a whole unique key.
    if schema.indexes[at].unique
        && let Some(last) = distinct.last_mut()
    {
        *last = rows;
    }
    s.leaves = s.leaves.max(1);
    let per_leaf = (s.keys as f64 / s.leaves as f64).max(1.0);
    let known = IndexStatistics {
        distinct,
        pages: all_pages,
        leaf_pages: ((rows as f64 / per_leaf).ceil() as u64).clamp(1, all_pages),
        sampled: s.leaves,
    };
    Ok((rows, known))
}

/// Keys of one index, as far as they were looked at.
struct Sample {
    leaves: u64,
    keys: u64,
    /// Steps from a key to the next within a leaf.
    steps: u64,
    /// How many of them changed the first, the first two, ... parts.
    changes: Vec<u64>,
    /// Which values these had.
    seen: Vec<HashSet<Vec<u8>>>,
}

impl Sample {
    fn of(table: &Table, schema: &Schema, index: usize, leaves: u64) -> Result<Sample, Error> {
        let parts = schema.indexes[index].parts.len();
        let mut s = Sample {
            leaves: 0,
            keys: 0,
            steps: 0,
            changes: vec![0; parts],
            seen: vec![HashSet::new(); parts],
        };
        let (mut before, mut ends) = (Vec::new(), Vec::new());
        table.sample_keys(index, leaves, &mut |first, key| {
            ends.clear();
            if key_part_ends(schema, index, key, &mut ends).is_err() {
                return;
            }
            s.add(first, key, &before, &ends);
            before.clear();
            before.extend_from_slice(key);
        })?;
        Ok(s)
    }

    fn add(&mut self, first: bool, key: &[u8], before: &[u8], ends: &[usize]) {
        let same = common(before, key);
        self.leaves += u64::from(first);
        self.keys += 1;
        self.steps += u64::from(!first);
        for (part, end) in ends.iter().enumerate() {
            if first || same < *end {
                self.changes[part] += u64::from(!first);
                if self.seen[part].len() < TOLD_APART {
                    self.seen[part].insert(key[..*end].to_vec());
                }
            }
        }
    }

    /// Different values of the leading parts of all `rows`, of which a share of 1 in `factor` is in the tree.
    fn distinct(&self, rows: u64, factor: f64) -> Vec<u64> {
        let here = rows as f64 / factor;
        let of_part = |part: usize| {
            let seen = self.seen[part].len() as u64;
            let rate = self.changes[part] as f64 / self.steps.max(1) as f64;
            let guess = (1.0 + rate * (here - 1.0).max(0.0)) * factor;
            (guess.round() as u64).max(seen).min(rows)
        };
        (0..self.changes.len()).map(of_part).collect()
    }
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn scan(
    txn: &mut Txn,
    table: &Table,
    index: usize,
    range: KeyRange,
    fetch: Fetch,
    f: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
    let mut scan = table.scan(txn, index, range, dir, mode, fetch)?;
    while let Some(row) = scan.next(txn)? {
        f(row.key)?;
    }
    Ok(())
}

fn everything() -> KeyRange {
    KeyRange {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    }
}

/// Counts an index's rows and the values of its leading parts.
fn count(
    txn: &mut Txn,
    trees: &[Arc<Table>],
    schema: &Schema,
    at: usize,
) -> Result<(u64, Vec<u64>), Error> {
    let parts = schema.indexes[at].parts.len();
    let (mut rows, mut distinct) = (0, vec![0; parts]);
    // What is in several partitions counts once.
    let mut seen: Option<HashSet<Vec<u8>>> = (trees.len() > 1).then(HashSet::new);
    for tree in trees {
        let (mut before, mut ends): (Vec<u8>, _) = (Vec::new(), Vec::new());
        let mut first = true;
        scan(txn, tree, at, everything(), Fetch::Key, &mut |key| {
            rows += 1;
            if parts == 0 {
                return Ok(());
            }
            ends.clear();
            key_part_ends(schema, at, key, &mut ends)
                .map_err(|e| Error::Corrupt(e.message.clone()))?;
            let same = common(&before, key);
            for (part, end) in ends.iter().enumerate() {
                if first || same < *end {
                    let new = seen.as_mut().is_none_or(|s| s.insert(key[..*end].to_vec()));
                    distinct[part] += u64::from(new);
                }
            }
            first = false;
            before.clear();
            before.extend_from_slice(key);
            Ok(())
        })?;
    }
    Ok((rows, distinct))
}

/// Histograms of columns, in their order, of all rows if their values fit into `memory` bytes, else of a sample.
pub fn histograms(
    engine: &Engine,
    owner: &Arc<Owner>,
    open: Open<'_>,
    columns: &[(usize, usize)],
    memory: u64,
    now_us: u64,
) -> SqlResult<Vec<Histogram>> {
    step(engine, owner, open, |txn, table, schema| {
        let trees = parts(engine, table, schema)?;
        let estimates: Vec<u64> = trees.iter().map(|t| t.estimate_rows()).collect();
        let rows: u64 = estimates.iter().sum();
        let width = |c: &(usize, usize)| VALUE_BYTES + schema.columns[c.0].ty.fixed_len();
        let bytes: usize = columns.iter().map(width).sum();
        let mut rate = (memory as f64 / (bytes as f64 * rows.max(1) as f64)).min(1.0);
        loop {
            let mut reader = Reader {
                schema,
                columns,
                collectors: columns
                    .iter()
                    .map(|(c, _)| Collector::new(&schema.columns[*c].ty))
                    .collect(),
                owner,
                memory: memory as usize,
                rows: 0,
            };
            let read = match rate < 1.0 {
                false => reader.all(txn, &trees),
                true => reader.some(txn, &trees, &estimates, rate),
            };
            match read {
                Ok(true) => {
                    let seen = match rate < 1.0 {
                        true => (reader.rows as f64 / rows.max(1) as f64).min(1.0),
                        false => 1.0,
                    };
                    let made = reader.collectors.into_iter().zip(columns);
                    let made = made.map(|(c, (_, buckets))| c.finish(*buckets, seen, now_us));
                    return Ok(made.collect());
                }
                // There is more than was estimated.
                Ok(false) => rate = rate.min(0.5) / 2.0,
                Err(Error::Interrupted) => {
                    return Err(SqlError::new(1317, "Query execution was interrupted"));
                }
                Err(e) => return Err(store_error(e, &table.def().name)),
            }
        }
    })
}

/// Reads rows for histograms.
struct Reader<'a> {
    schema: &'a Schema,
    columns: &'a [(usize, usize)],
    collectors: Vec<Collector<'a>>,
    owner: &'a Owner,
    memory: usize,
    rows: u64,
}

impl Reader<'_> {
    /// All rows; whether they fit into twice the memory.
    fn all(&mut self, txn: &mut Txn, trees: &[Arc<Table>]) -> Result<bool, Error> {
        for tree in trees {
            if !self.range(txn, tree, everything())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Those of some leaves of each tree.
    fn some(
        &mut self,
        txn: &mut Txn,
        trees: &[Arc<Table>],
        estimates: &[u64],
        rate: f64,
    ) -> Result<bool, Error> {
        for (tree, rows) in trees.iter().zip(estimates) {
            if *rows == 0 {
                continue;
            }
            let pages = tree.index_pages(0)? as f64;
            let leaves =
                ((pages * rate) as u64).clamp(*HISTOGRAM_LEAVES.start(), *HISTOGRAM_LEAVES.end());
            // First and last key of each leaf: its rows are then read as the transaction sees them.
            let mut ends: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
            tree.sample_keys(0, leaves, &mut |first, key| match ends.last_mut() {
                Some(last) if !first => {
                    last.1.clear();
                    last.1.extend_from_slice(key);
                }
                _ => ends.push((key.to_vec(), key.to_vec())),
            })?;
            for (first, last) in ends {
                let range = KeyRange {
                    lower: Bound::Included(first),
                    upper: Bound::Included(last),
                };
                if !self.range(txn, tree, range)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn range(&mut self, txn: &mut Txn, tree: &Table, range: KeyRange) -> Result<bool, Error> {
        let (mode, dir) = (ReadMode::Consistent, Direction::Forward);
        let mut scan = tree.scan(txn, 0, range, dir, mode, Fetch::Row)?;
        while let Some(row) = scan.next(txn)? {
            for (collector, (column, _)) in self.collectors.iter_mut().zip(self.columns) {
                let layout = self.schema.layout();
                collector.add(&layout.column(self.schema, row.row, *column, Zone::UTC));
            }
            // What can't be computed counts as NULL here.
            let _ = take_failure();
            self.rows += 1;
            if self.rows.is_multiple_of(KILL_CHECK_ROWS) {
                if self.owner.is_killed() {
                    return Err(Error::Interrupted);
                }
                let bytes: usize = self.collectors.iter().map(Collector::bytes).sum();
                if bytes > 2 * self.memory.max(VALUE_BYTES * 2000) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
