//! Whether the rows that a table has keep a foreign key that it is to get. Child and parent are locked exclusively: nobody changes them
//! meanwhile, so they are read without row locks.
//!
//! The children's keys come in the order of the parent's index: from the child's index, where it has one that lies in that order, else
//! sorted. The parent's index is read beside them, once and forwards (a merge join); where many of its keys have no children, they are
//! passed over by a search.

use std::ops::Bound;
use std::sync::Arc;

use millpond_store::btree::Records;
use millpond_store::sort::{Sorted, Sorter};
use millpond_store::{Direction, Fetch, Isolation, KeyRange, Owner, ReadMode, Scan, Table, Txn};

use crate::catalog::{ForeignKey, positions};
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::AlterAlgorithm;
use crate::row::{key_for_other_index, same_order, schema_of};
use crate::store_error::{interrupted, store_error};
use crate::types::Schema;
use crate::write::foreign_keys::child_error;

use super::super::Ddl;

/// Rows between two looks at whether the statement was killed.
const KILL_CHECK_ROWS: u64 = 1_000;
/// Keys of a parent that are read one by one before the next child's is searched for.
const MOST_PASSED: u32 = 64;

/// A foreign key and where its sides are.
struct Probe<'k> {
    key: &'k ForeignKey,
    /// The child's columns.
    columns: Vec<usize>,
    /// Where the parent's rows are found: its definition and the index; `None`: nowhere.
    parent: Option<(Arc<Table>, Arc<Schema>, usize)>,
}

/// Counts rows, and asks now and then whether the statement goes on.
struct Ticks<'o> {
    owner: &'o Owner,
    rows: u64,
}

impl Ticks<'_> {
    fn tick(&mut self) -> SqlResult<()> {
        self.rows += 1;
        match self.rows.is_multiple_of(KILL_CHECK_ROWS) && self.owner.is_killed() {
            true => Err(interrupted()),
            false => Ok(()),
        }
    }
}

fn go_on(owner: &Owner) -> millpond_store::Result<()> {
    match owner.is_killed() {
        true => Err(millpond_store::Error::Interrupted),
        false => Ok(()),
    }
}

impl Ddl<'_> {
    /// Error 1452 if a row of the table `stored` has no parent by one of `keys`. Messages call it `shown`, which is the name by which it refers to
    /// itself. Else how many rows it has.
    pub(in super::super) fn check_rows_refer(
        &self,
        stored: (&str, &str),
        shown: (&str, &str),
        keys: &[ForeignKey],
    ) -> SqlResult<u64> {
        if keys.is_empty() || !self.env.foreign_key_checks.get() {
            return Ok(0);
        }
        let mut txn = self.engine.begin(self.owner, Isolation::ReadCommitted);
        let checked = self.look_through(&mut txn, stored, shown, keys);
        // It only read.
        self.engine
            .commit(txn)
            .map_err(|e| store_error(e, shown.1))?;
        checked
    }

    fn look_through(
        &self,
        txn: &mut Txn,
        stored: (&str, &str),
        shown: (&str, &str),
        keys: &[ForeignKey],
    ) -> SqlResult<u64> {
        let child = self.engine.open_table(txn, stored.0, stored.1);
        let child = child.map_err(|e| store_error(e, shown.1))?;
        let schema = schema_of(&child)?;
        let mut sorted = Vec::new();
        let mut rows = 0;
        for key in keys {
            let probe = self.probe(txn, key, (&child, &schema), shown)?;
            let index = schema.index_over(&probe.columns);
            let in_order = index.filter(|&i| probe.lies_in_order(&schema, i));
            match in_order {
                Some(index) => {
                    let mut children = Indexed::open(txn, &child, &schema, index, shown.1)?;
                    self.merge(txn, shown, &probe, &mut children)?;
                    rows = children.rows;
                }
                None => sorted.push(probe),
            }
        }
        let (all, read) = self.sort_keys(txn, &child, &schema, &sorted, shown.1)?;
        for (probe, mut children) in sorted.iter().zip(all) {
            self.merge(txn, shown, probe, &mut children)?;
        }
        Ok(rows.max(read))
    }

    fn probe<'k>(
        &self,
        txn: &mut Txn,
        key: &'k ForeignKey,
        (child, schema): (&Arc<Table>, &Schema),
        shown: (&str, &str),
    ) -> SqlResult<Probe<'k>> {
        let parent = match (&*key.parent.0, &*key.parent.1) == shown {
            true => child.clone(),
            false => self
                .engine
                .open_table(txn, &key.parent.0, &key.parent.1)
                .map_err(|e| store_error(e, shown.1))?,
        };
        let parent_schema = schema_of(&parent)?;
        let over = positions(&parent_schema, &key.parent_columns);
        let index = over.and_then(|at| parent_schema.index_over(&at));
        Ok(Probe {
            key,
            columns: positions(schema, &key.columns).unwrap_or_default(),
            parent: index.map(|i| (parent, parent_schema, i)),
        })
    }

    /// The children's keys by each of some foreign keys, sorted, and how many rows there were: read from the rows, once for all.
    fn sort_keys(
        &self,
        txn: &mut Txn,
        child: &Table,
        schema: &Schema,
        probes: &[Probe<'_>],
        shown: &str,
    ) -> SqlResult<(Vec<Sorted>, u64)> {
        let wrap = |e| store_error(e, shown);
        let go_on = || go_on(self.owner);
        let sorters = probes
            .iter()
            .map(|_| self.engine.index_sorter(probes.len()));
        let mut sorters: Vec<Sorter> = sorters.collect();
        let mut ticks = self.ticks();
        if !sorters.is_empty() {
            let mut scan = whole(txn, child, 0, Fetch::Row).map_err(wrap)?;
            let mut key = Vec::new();
            while let Some(found) = scan.next(txn).map_err(wrap)? {
                ticks.tick()?;
                for (probe, sorter) in probes.iter().zip(&mut sorters) {
                    key.clear();
                    if probe.key_of(schema, found.row, &mut key) {
                        sorter.add(&key, &[], &go_on).map_err(wrap)?;
                    }
                }
            }
        }
        let finish = |s: Sorter| s.finish(&go_on).map_err(wrap);
        let sorted: SqlResult<Vec<Sorted>> = sorters.into_iter().map(finish).collect();
        Ok((sorted?, ticks.rows))
    }

    fn ticks(&self) -> Ticks<'_> {
        Ticks {
            owner: self.owner,
            rows: 0,
        }
    }

    /// Error 1452 if one of the children has no parent.
    fn merge(
        &self,
        txn: &mut Txn,
        shown: (&str, &str),
        probe: &Probe<'_>,
        children: &mut dyn Children,
    ) -> SqlResult<()> {
        let mut ticks = self.ticks();
        let mut parents = probe.parent.as_ref().map(|(t, _, i)| Parents::of(t, *i));
        let mut key = Vec::new();
        let mut last = Vec::new();
        while children.next(txn, probe, &mut key)? {
            ticks.tick()?;
            if key == last && ticks.rows > 1 {
                continue;
            }
            let found = match &mut parents {
                Some(parents) => parents.has(txn, &key, &mut ticks)?,
                None => false,
            };
            if !found {
                return Err(child_error(shown, probe.key));
            }
            std::mem::swap(&mut key, &mut last);
        }
        Ok(())
    }

    /// Error 1846 where ALGORITHM asks for a way in which rows are not looked at.
    pub(in super::super) fn refuse_unchecked(
        &self,
        algorithm: Option<AlterAlgorithm>,
        keys: usize,
    ) -> SqlResult<()> {
        match algorithm {
            Some(algorithm) if keys > 0 && self.env.foreign_key_checks.get() => Err(SqlError::new(
                1846,
                format!(
                    "ALGORITHM={algorithm} is not supported. Reason: Adding foreign keys needs foreign_key_checks=OFF. Try ALGORITHM=COPY."
                ),
            )),
            _ => Ok(()),
        }
    }
}

impl Probe<'_> {
    /// Whether an index of the child has its rows in the order of the parent's index.
    fn lies_in_order(&self, schema: &Schema, index: usize) -> bool {
        let Some((_, parent, parent_index)) = &self.parent else {
            // One that has a key is enough to know.
            return true;
        };
        let parts = self.columns.len();
        same_order((schema, index), (parent, *parent_index), parts)
    }

    /// Appends the key of a row's parent; `false`: it needs none.
    fn key_of(&self, schema: &Schema, row: &[u8], key: &mut Vec<u8>) -> bool {
        match &self.parent {
            Some((_, parent, index)) => {
                schema.key_elsewhere(&self.columns, row, parent, *index, key)
            }
            None => {
                let layout = schema.layout();
                !self.columns.iter().any(|&c| layout.is_null(row, c))
            }
        }
    }
}

/// Everything in an index.
fn whole<'t>(
    txn: &mut Txn,
    table: &'t Table,
    index: usize,
    fetch: Fetch,
) -> millpond_store::Result<Scan<'t>> {
    from(txn, table, index, Bound::Unbounded, fetch)
}

fn from<'t>(
    txn: &mut Txn,
    table: &'t Table,
    index: usize,
    lower: Bound<Vec<u8>>,
    fetch: Fetch,
) -> millpond_store::Result<Scan<'t>> {
    let range = KeyRange {
        lower,
        upper: Bound::Unbounded,
    };
    let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
    table.scan(txn, index, range, dir, mode, fetch)
}

/// The keys that a table's rows have in the parent's index, in its order.
trait Children {
    /// Puts the next into `key`; `false`: there is none.
    fn next(&mut self, txn: &mut Txn, probe: &Probe<'_>, key: &mut Vec<u8>) -> SqlResult<bool>;
}

/// From the child's index.
struct Indexed<'t> {
    scan: Scan<'t>,
    schema: &'t Schema,
    index: usize,
    shown: &'t str,
    /// How many rows were read.
    rows: u64,
}

impl<'t> Indexed<'t> {
    fn open(
        txn: &mut Txn,
        child: &'t Table,
        schema: &'t Schema,
        index: usize,
        shown: &'t str,
    ) -> SqlResult<Indexed<'t>> {
        let scan = whole(txn, child, index, Fetch::Key);
        Ok(Indexed {
            scan: scan.map_err(|e| store_error(e, shown))?,
            schema,
            index,
            shown,
            rows: 0,
        })
    }
}

impl Children for Indexed<'_> {
    fn next(&mut self, txn: &mut Txn, probe: &Probe<'_>, key: &mut Vec<u8>) -> SqlResult<bool> {
        let wrap = |e| store_error(e, self.shown);
        let child = (self.schema, self.index);
        while let Some(found) = self.scan.next(txn).map_err(wrap)? {
            self.rows += 1;
            key.clear();
            let needs = match &probe.parent {
                Some((_, parent, index)) => {
                    let parts = probe.columns.len();
                    key_for_other_index(child, found.key, (parent, *index), parts, key)?
                }
                None => {
                    let parts = probe.columns.len();
                    key_for_other_index(child, found.key, child, parts, key)?
                }
            };
            if needs {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Children for Sorted {
    fn next(&mut self, _txn: &mut Txn, _: &Probe<'_>, key: &mut Vec<u8>) -> SqlResult<bool> {
        let next = Records::next(self).map_err(|e| store_error(e, ""))?;
        let Some((next, _)) = next else {
            return Ok(false);
        };
        key.clear();
        key.extend_from_slice(next);
        Ok(true)
    }
}

/// A parent's keys, read forwards.
struct Parents<'t> {
    table: &'t Table,
    index: usize,
    scan: Option<Scan<'t>>,
    /// The key that was read last.
    at: Vec<u8>,
}

impl<'t> Parents<'t> {
    fn of(table: &'t Table, index: usize) -> Parents<'t> {
        Parents {
            table,
            index,
            scan: None,
            at: Vec::new(),
        }
    }

    /// Whether there is a parent with a key, which is not less than the one asked for before.
    fn has(&mut self, txn: &mut Txn, key: &[u8], ticks: &mut Ticks<'_>) -> SqlResult<bool> {
        let wrap = |e| store_error(e, &self.table.def().name);
        let mut passed = 0;
        // Parts of keys are prefix-free: one that begins with the key has its values.
        while !self.at.starts_with(key) {
            if self.scan.is_some() && *self.at > *key {
                return Ok(false);
            }
            if passed == MOST_PASSED {
                self.scan = None;
            }
            let scan = match &mut self.scan {
                Some(scan) => scan,
                none => {
                    let lower = Bound::Included(key.to_vec());
                    let scan = from(txn, self.table, self.index, lower, Fetch::Key);
                    none.insert(scan.map_err(wrap)?)
                }
            };
            let Some(found) = scan.next(txn).map_err(wrap)? else {
                return Ok(false);
            };
            ticks.tick()?;
            passed += 1;
            self.at.clear();
            self.at.extend_from_slice(found.key);
        }
        Ok(true)
    }
}
