//! CREATE INDEX, DROP INDEX, and other names for indexes.
//!
//! An index on a table with rows is built in a space of its own that has a grave before its first page: whatever happens,
//! the reclaimer finds it. The transaction that puts the index into the table's row removes the grave. Statements go
//! on meanwhile: see [`super::online`].

use super::Inner;
use super::ddl::{Aftermath, Dead, grave_of};
use super::online::{Beside, Online, Settler};
use crate::btree::{Bulk, Root};
use crate::catalog::row::{self, Grave};
use crate::catalog::{IndexDef, KeyCodec, TableDef, tree_of};
use crate::error::{Error, Result};
use crate::log::op::Op;
use crate::page::{PageNo, PageType};
use crate::pool::Direct;
use crate::sort::{Sorted, Sorter};
use crate::space::{AllocKind, Space, SpaceId};
use crate::table::entries::{Entries, sort_entry};
use crate::table::format::SEC_KEY_PART;
use crate::table::row_log::RowLog;
use crate::table::{Direction, Fetch, KeyRange, ReadMode, Table};
use crate::txn::{DdlStage, Isolation, Owner, Txn};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Rows between two looks at whether the statement was killed.
const KILL_CHECK_ROWS: u64 = 1024;

impl Inner {
    pub(super) fn create_index(
        &self,
        owner: &Arc<Owner>,
        (database, name): (&str, &str),
        (index_name, unique, index_body): (String, bool, Vec<u8>),
        body: Vec<u8>,
        beside: Beside,
    ) -> Result<()> {
        let mut index = IndexDef {
            name: index_name,
            unique,
            space: self.pager.new_space_id()?,
            root: 0,
            body: index_body,
        };
        self.ddl(owner, |txn, after| {
            after.hold(index.space);
            self.lock_tables(txn, [(database, name)].into_iter())?;
            let row = match txn.defines() {
                true => Some(self.find(txn, database, name)?.row),
                false => self
                    .catalog
                    .read(|t| self.catalog.table(t, database, name))?,
            };
            // What the transaction has changed before is nobody else's yet.
            let beside = if txn.defines() {
                Beside::Nothing
            } else {
                beside
            };
            let mut def = row.ok_or_else(|| self.catalog.missing(database, name))?.def;
            let mut grave = None;
            if self.catalog.has_anything(&def, &def.indexes[0]) {
                (def.body, def.indexes) = (body.clone(), with(def.indexes, &index));
                let built = self.build(txn, &def, beside, after)?;
                index.root = built.root;
                grave = Some(built);
            }

            // Only now, for other things in the row have changed meanwhile: roots, the AUTO_INCREMENT counter.
            let found = self.find(txn, database, name)?;
            let mut new = found.row.clone();
            new.version += 1;
            (new.def.body, new.def.indexes) = (body, with(new.def.indexes, &index));
            new.created.push(0);
            if let Some(grave) = grave {
                // Older views may know rows that the index does not have, even if none is left now.
                let at = new.created.len() - 1;
                new.created[at] = self.sys.reserve(txn, 0)?.trx_id();
                let (key, bytes) = (grave.space.0.to_be_bytes(), row::encode_grave(&grave));
                self.catalog.graveyard.delete(txn, &key, &bytes)?;
            }
            self.replace(txn, &found, &new, after)
        })
    }

    /// Builds the last index of `def` from the rows. The table is locked exclusively before and after, but not in
    /// between. Returns the grave.
    fn build(
        &self,
        txn: &mut Txn,
        def: &TableDef,
        beside: Beside,
        after: &mut Aftermath,
    ) -> Result<Grave> {
        let at = def.indexes.len() - 1;
        let index = &def.indexes[at];
        let codec = self.codecs.codec(def)?;
        let own = (&*def.database, &*def.name);
        let table = match self.catalog.open_private(txn.id(), own, None) {
            Some(table) => table?,
            None => self.catalog.open_table(own.0, own.1)?,
        };
        let owner = txn.owner().clone();
        let progress = owner.progress();
        // Each row is read and has an entry.
        let _seen = progress.begin(2 * table.estimate_rows());
        let online = Online::start(self, &table, codec.clone(), at);
        self.sys.view(txn);
        self.let_in(txn, &table, beside);
        let sorted = self.sort_keys(txn, &table, &*codec, at, Some(online.log()));
        // Purge goes on.
        self.sys.statement(txn);
        let sorted = sorted?;

        let mut grave = grave_of(index, def);
        let builder = self.sys.owner();
        let mut digging = self.sys.begin(&builder, Isolation::ReadCommitted);
        let bytes = row::encode_grave(&grave);
        self.catalog.graveyard.insert(&mut digging, &bytes)?;
        // Durable before the space's first page, for that comes later in the log.
        let dug = self.sys.commit_no_wait(digging)?;
        after.building();

        let space = self.pager.space(index.space, def.file);
        if txn.defines() {
            after.making(&self.pager, dug, vec![space.clone()]);
        }
        let mut root = None;
        if let Some(sorted) = sorted {
            progress.enter(DdlStage::Insert);
            let mut entries = Entries::new(sorted, at, index.unique, &owner);
            let direct = Direct::new(&self.pager, def.file);
            let mut bulk = Bulk::new(&self.pager, &space, Some(&direct));
            if let Err(e) = bulk.add_all(&mut entries) {
                return Err(self.refused(txn, &table, e, entries.duplicate()));
            }
            root = bulk.finish()?;
            progress.enter(DdlStage::Flush);
            direct.publish()?;
        }
        let tree = tree_of(&self.ctx, def, index).looked_up_by(SEC_KEY_PART);
        match &root {
            Some(root) if tree.is_sharing() => tree.fill(root)?,
            None if tree.is_sharing() => {}
            root => {
                let empty = Op::Init {
                    kind: PageType::Leaf,
                    level: 0,
                };
                let page = root.as_ref().map_or(empty, Root::image);
                tree.set_root(self.write_root(&space, index.space, page)?);
            }
        }
        if txn.defines() {
            // The table's row is to be the transaction's.
            tree.give_root()?;
        }
        let settler = Settler::new(&online, &tree, index.unique);
        progress.enter(DdlStage::LogApplyIndex);
        self.catch_up(txn, settler, at)?;
        grave.root = tree.root();
        Ok(grave)
    }

    /// What stops the building of an index. `duplicate`: the clustered key of a row whose key is there already.
    pub(super) fn refused(
        &self,
        txn: &mut Txn,
        table: &Table,
        e: Error,
        duplicate: Option<Vec<u8>>,
    ) -> Error {
        let (Error::DuplicateKey { index }, Some(key)) = (&e, duplicate) else {
            return e;
        };
        match row_of(txn, table, &key) {
            Ok(Some(row)) => Error::DuplicateRow { index: *index, row },
            // Deleted meanwhile, or unreadable: the key is a duplicate nevertheless.
            Ok(None) | Err(_) => e,
        }
    }

    /// Allocates the built tree's root together with the note of it in the grave.
    pub(super) fn write_root(
        &self,
        space: &Arc<Space>,
        id: SpaceId,
        page: Op<'_>,
    ) -> Result<PageNo> {
        let tree = &self.catalog.graveyard.indexes[0].tree;
        tree.edit_allocating(&id.0.to_be_bytes(), 0, space, |leaf| {
            let at = row::grave_root_at(leaf.value())?;
            let mtr = leaf.mtr();
            let root = mtr.alloc(space, AllocKind::Root, 0, page)?;
            let root = mtr.page_no(root);
            leaf.patch(at, &root.to_le_bytes());
            Ok(root)
        })
    }

    /// The new index's entries, sorted; `None` if the table has no rows. Ends early if the row log is given up.
    pub(super) fn sort_keys(
        &self,
        txn: &mut Txn,
        table: &Table,
        codec: &dyn KeyCodec,
        at: usize,
        log: Option<&RowLog>,
    ) -> Result<Option<Sorted>> {
        let all = self.ddl_bytes.load(Ordering::Relaxed);
        let budget = usize::try_from(self.sort_bytes.min(all)).unwrap_or(usize::MAX);
        let mut sorter = Sorter::new(self.storage.clone(), budget);
        let owner = txn.owner().clone();
        let go_on = || match owner.is_killed() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        };
        let mut key = Vec::new();
        let everything = KeyRange {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        };
        // The view sees all rows: nobody had unfinished changes when it was made.
        let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
        let mut scan = table.scan(txn, 0, everything, dir, mode, Fetch::Row)?;
        let mut rows = 0u64;
        while let Some(row) = scan.next(txn)? {
            let (clustered, row) = (row.clustered_key, row.row);
            sort_entry(codec, at, clustered, row, &mut key, &mut sorter, &go_on)?;
            rows += 1;
            if rows.is_multiple_of(KILL_CHECK_ROWS) {
                owner.progress().add(KILL_CHECK_ROWS);
                go_on()?;
                log.map(RowLog::len).transpose()?;
            }
        }
        drop(scan);
        if rows == 0 {
            return Ok(None);
        }
        owner.progress().enter(DdlStage::MergeSort);
        Ok(Some(sorter.finish(&go_on)?))
    }

    pub(super) fn drop_index(
        &self,
        owner: &Arc<Owner>,
        database: &str,
        name: &str,
        index: &str,
        body: Vec<u8>,
    ) -> Result<()> {
        self.ddl(owner, |txn, after: &mut Aftermath| {
            self.lock_tables(txn, [(database, name)].into_iter())?;
            let found = self.find(txn, database, name)?;
            let def = &found.row.def;
            let at = def.indexes.iter().skip(1).position(|i| i.name == index);
            let at = 1 + at.ok_or_else(|| Error::NoSuchIndex(index.into()))?;
            let mut new = found.row.clone();
            new.version += 1;
            new.def.body = body;
            new.created.remove(at);
            let dead = new.def.indexes.remove(at);
            self.replace(txn, &found, &new, after)?;
            if self.catalog.has_anything(def, &dead) {
                after.add_grave(&self.catalog, txn, grave_of(&dead, def))?;
                after.dead.push(Dead {
                    table: def.id,
                    spaces: vec![(dead.space, def.file)],
                    small: Vec::new(),
                    gone: false,
                    partitioned: false,
                });
            }
            Ok(())
        })
    }
}

/// The row of a clustered key.
fn row_of(txn: &mut Txn, table: &Table, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
    let range = KeyRange {
        lower: Bound::Included(key.to_vec()),
        upper: Bound::Included(key.to_vec()),
    };
    let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
    let mut scan = table.scan(txn, 0, range, dir, mode, Fetch::Row)?;
    Ok(scan.next(txn)?.map(|found| found.row.into()))
}

/// Indexes, and one more.
fn with(mut indexes: Vec<IndexDef>, index: &IndexDef) -> Vec<IndexDef> {
    indexes.push(index.clone());
    indexes
}
