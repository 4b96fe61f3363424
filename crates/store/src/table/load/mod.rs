//! Filling an empty table that nobody else knows, in bulk: how a table is written anew.
//!
//! Steps: (1) every index has its root, empty, in the table's catalog row, or gets it before its first other page if it may be small; (2) rows come one after the other: those in the order of the
//! clustered key go straight into pages packed in memory, others are sorted first; the keys of the secondary indexes are sorted
//! beside, by threads of their own; (3) each tree is packed bottom-up, but for its topmost page; (4) all of that, which went past the pool and the log
//! ([`Direct`], which has the invariants), is synced, once, and published; (5) the topmost pages are written, logged, over the empty roots, or what is in them goes where small indexes have their entries.
//!
//! **Failure.** Up to its last page a tree has no rows for whoever reads it. Pages that were written past the log are given back when a load is dropped
//! before (4), and are free after a crash; from then on they belong to their space: to drop the table, as
//! its maker does on an error and an opening after a crash, is to give them all back. No row is undone one by one, for none has an undo
//! record, and what makes the table known is a record that comes later in the log than all of (4) and (5).
//! **Age.** Rows of a table that is written anew are as old as anything (transaction 0), and views older than what makes it known are refused
//! ([`crate::Engine::place_table`]). Those that a statement fills an empty table with are its transaction's, as if each had been inserted,
//! so an older view passes them by ([`crate::Engine::fill`]).
//! **Locks.** None: the caller has made the table and tells nobody. Threads of a load end before it does.
//! **Uniqueness** is checked on the sorted streams.

mod copy;
mod indexes;
mod parts;

use super::context::Context;
use super::counts::RowOp;
use super::format::{self, INLINE_PREFIX, OVERFLOW, ROW_HEADER, RowHeader};
use super::{MAX_ROW, Table, chain};
use crate::btree::{Bulk, MAX_KEY, Records, Root};
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::pool::Direct;
use crate::sort::Sorter;
use crate::space::Space;
use crate::txn::{DdlStage, Owner, RollPtr, TrxId};
pub(crate) use copy::{copy_small, copy_tree};
use indexes::Indexes;
pub use parts::PartLoads;
use std::sync::Arc;

/// The roll pointer of rows that have no undo record: there is no older version.
const FIRST: RollPtr = RollPtr(1 << 63);

/// Rows between two looks at whether the statement was killed.
const KILL_CHECK_ROWS: u64 = 1024;

/// In which order rows come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Of the clustered key, and before that of partitions; or the table has a hidden row id.
    Clustered,
    /// Any.
    Any,
}

/// What a load works with.
#[derive(Clone)]
pub(crate) struct Means {
    /// Where runs are written.
    pub storage: Arc<dyn Storage>,
    /// Memory of each sort, at most.
    pub sort_bytes: u64,
    /// Memory of all of them.
    pub all_bytes: u64,
    /// Threads that sort secondary keys, at most.
    pub threads: usize,
    /// Whose statement it is.
    pub owner: Arc<Owner>,
    /// The transaction whose rows they are; 0: they are as old as anything.
    pub trx: TrxId,
}

impl Means {
    /// A sorter, one of so many at a time.
    fn sorter(&self, of: usize) -> Sorter {
        let share = self.all_bytes / of.max(1) as u64;
        let budget = usize::try_from(self.sort_bytes.min(share)).unwrap_or(usize::MAX);
        Sorter::new(self.storage.clone(), budget)
    }

    /// Whether the statement goes on.
    fn go_on(&self) -> Result<()> {
        match self.owner.is_killed() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }
}

/// Why a load has failed.
#[derive(Debug)]
pub struct Refused {
    /// The error.
    pub error: Error,
    /// The row that has a unique key which was there already.
    pub row: Option<Vec<u8>>,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused { error, row: None }
    }
}

/// Where rows go.
enum Clustered {
    /// Into pages; the key before.
    Pages(Bulk, Vec<u8>),
    /// They are sorted first.
    Sorter(Sorter),
}

/// A load under way. Dropped, it leaves the table to be dropped.
pub struct Load {
    table: Arc<Table>,
    means: Means,
    clustered: Clustered,
    indexes: Indexes,
    direct: Arc<Direct>,
    rows: u64,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Load {
    /// Begins to fill an empty table.
    pub(crate) fn start(table: &Arc<Table>, order: RowOrder, means: Means) -> Result<Load> {
        for index in 0..table.indexes.len() {
            table.ensure_root(index)?;
        }
        let tree = &table.indexes[0].tree;
        let direct = Direct::new(&table.ctx.pager, tree.space().file);
        let clustered = match order {
            RowOrder::Any if !table.def.hidden_row_id => {
                Clustered::Sorter(means.sorter(table.indexes.len()))
            }
            _ => Clustered::Pages(bulk_of(table, 0, &direct), Vec::new()),
        };
        Ok(Load {
            table: table.clone(),
            clustered,
            indexes: Indexes::start(table, &direct, &means)?,
            direct,
            means,
            rows: 0,
            key: Vec::new(),
            value: Vec::new(),
        })
    }

    /// Adds a row. `DuplicateKey { index: 0 }` if it is a second one with its clustered key.
    pub fn add(&mut self, row: &[u8]) -> Result<()> {
        self.add_row(None, row)
    }

    /// Adds a row of a table with hidden row ids under the one that it has elsewhere. They come in their order, and none is made here.
    pub fn add_under(&mut self, row_id: &[u8], row: &[u8]) -> Result<()> {
        self.add_row(Some(row_id), row)
    }

    fn add_row(&mut self, row_id: Option<&[u8]>, row: &[u8]) -> Result<()> {
        if row.len() > MAX_ROW {
            return Err(Error::RowTooLarge(row.len()));
        }
        self.rows += 1;
        if self.rows.is_multiple_of(KILL_CHECK_ROWS) {
            self.means.go_on()?;
        }
        self.key.clear();
        if let Some(id) = row_id {
            self.key.extend_from_slice(id);
        } else if self.table.def.hidden_row_id {
            self.key.extend_from_slice(&self.rows.to_be_bytes());
        } else {
            self.table.codec.key(0, row, &mut self.key)?;
        }
        if self.key.len() > MAX_KEY {
            return Err(Error::KeyTooLong(self.key.len()));
        }
        match &mut self.clustered {
            Clustered::Sorter(sorter) => sorter.add(&self.key, row, &|| self.means.go_on())?,
            Clustered::Pages(bulk, last) => {
                if *last == self.key {
                    return Err(Error::DuplicateKey { index: 0 });
                }
                last.clone_from(&self.key);
                let tree = &self.table.indexes[0].tree;
                value(
                    (&self.table.ctx, tree.space()),
                    bulk,
                    self.means.trx,
                    (&self.key, row),
                    &mut self.value,
                )?;
                bulk.add(&self.key, &self.value)?;
            }
        }
        self.indexes.add(&self.key, row)
    }

    /// Writes what is left; returns the number of rows.
    pub fn finish(mut self) -> std::result::Result<u64, Refused> {
        self.indexes.build()?;
        let bulk = match self.clustered {
            Clustered::Pages(bulk, _) => bulk,
            Clustered::Sorter(sorter) => sorted(&self.table, &self.direct, sorter, &self.means)?,
        };
        let mut roots = vec![(0, bulk.finish()?)];
        let (failure, row) = match self.indexes.finish() {
            Ok(more) => {
                roots.extend(more);
                (None, None)
            }
            Err((error, None)) => return Err(error.into()),
            Err((error, row)) => (Some(error), row),
        };
        self.means.owner.progress().enter(DdlStage::Flush);
        // The row that is in the way is read as any row.
        publish(&self.table, &self.direct, &roots)?;
        if let (Some(error), Some(key)) = (failure, row) {
            let row = read(&self.table, &key)?;
            return Err(Refused { error, row });
        }
        self.table.indexes[0].counts.add(RowOp::Inserted, self.rows);
        if self.means.trx == 0 {
            self.table.count_change(self.rows as i64);
        }
        Ok(self.rows)
    }
}

/// Makes the pages of trees, which are all written, known to the log, and then their roots known to whoever reads the table.
fn publish(table: &Table, direct: &Direct, roots: &[(usize, Option<Root>)]) -> Result<()> {
    direct.publish()?;
    for (index, root) in roots {
        if let Some(root) = root {
            table.indexes[*index].tree.fill(root)?;
        }
    }
    Ok(())
}

/// The build of an index's tree. The index has a root before it has other pages: one that turns out to be small needs neither.
fn bulk_of(table: &Arc<Table>, index: usize, direct: &Arc<Direct>) -> Bulk {
    let space = table.indexes[index].tree.space();
    let bulk = Bulk::new(&table.ctx.pager, space, Some(direct));
    let table = table.clone();
    bulk.before_pages(Box::new(move || table.give_root(index)))
}

/// Packs rows that were sorted.
fn sorted(
    table: &Arc<Table>,
    direct: &Arc<Direct>,
    sorter: Sorter,
    means: &Means,
) -> std::result::Result<Bulk, Refused> {
    let mut bulk = bulk_of(table, 0, direct);
    let mut sorted = sorter.finish(&|| means.go_on())?;
    let (mut last, mut new) = (Vec::new(), Vec::new());
    let mut rows = 0u64;
    while let Some((key, row)) = sorted.next()? {
        rows += 1;
        if rows.is_multiple_of(KILL_CHECK_ROWS) {
            means.owner.progress().add(KILL_CHECK_ROWS);
            means.go_on()?;
        }
        if rows > 1 && last == key {
            return Err(Refused {
                error: Error::DuplicateKey { index: 0 },
                row: Some(row.to_vec()),
            });
        }
        let place = (&*table.ctx, table.indexes[0].tree.space());
        value(place, &mut bulk, means.trx, (key, row), &mut new)?;
        bulk.add(key, &new)?;
        last.clear();
        last.extend_from_slice(key);
    }
    Ok(bulk)
}

/// Makes the value of a row's clustered entry; what is too long for it goes into a chain of the index's space.
fn value(
    (ctx, space): (&Context, &Arc<Space>),
    bulk: &mut Bulk,
    trx: TrxId,
    (key, row): (&[u8], &[u8]),
    out: &mut Vec<u8>,
) -> Result<()> {
    out.clear();
    let blank = RowHeader {
        trx,
        roll: FIRST,
        ..RowHeader::BLANK
    };
    if row.len() <= Table::inline_limit(key) {
        out.extend_from_slice(&blank.bytes());
        out.extend_from_slice(row);
        return Ok(());
    }
    let (head, tail) = row.split_at(INLINE_PREFIX);
    let chain = match bulk.beside(chain::pages(tail.len() as u32) as usize)? {
        Some(pages) => chain::write_direct(ctx, pages, tail)?,
        None => chain::write_alone(ctx, space, tail)?,
    };
    let header = RowHeader {
        flags: OVERFLOW,
        ..blank
    };
    out.extend_from_slice(&header.bytes());
    out.extend_from_slice(&chain.bytes());
    out.extend_from_slice(head);
    Ok(())
}

/// The row with a clustered key.
fn read(table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
    let tree = &table.indexes[0].tree;
    let Some(value) = tree.get(key, <[u8]>::to_vec)? else {
        return Ok(None);
    };
    let header = RowHeader::read(&value).ok_or_else(format::cut_short)?;
    let stored = &value[ROW_HEADER..];
    let Some(chain) = format::chain_of(header.flags, stored)? else {
        return Ok(Some(stored.to_vec()));
    };
    let mut row = stored[format::CHAIN_REF..].to_vec();
    chain::read(&table.ctx, tree.space(), &chain, &mut row)?;
    Ok(Some(row))
}
