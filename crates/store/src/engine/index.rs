//! CREATE INDEX and DROP INDEX.
//!
//! An index on a table with rows is built in a space of its own that has a grave before its first page: whatever happens,
//! the reclaimer finds it. The transaction that puts the index into the table's row removes the grave.

use super::Inner;
use super::ddl::{Aftermath, Dead, Found, grave_of};
use crate::btree::{MAX_KEY, Records, Tree};
use crate::catalog::row::{self, TableRow};
use crate::catalog::{IndexDef, KeyCodec};
use crate::error::{Error, Result};
use crate::page::PageNo;
use crate::sort::{Sorted, Sorter};
use crate::space::{AllocKind, Space, SpaceId};
use crate::table::format::{SEC_VALUE, SecValue};
use crate::table::{Direction, Fetch, KeyRange, ReadMode, Table};
use crate::txn::{Isolation, Owner, Txn};
use std::ops::Bound;
use std::sync::Arc;

/// Rows between two looks at whether the statement was killed.
const KILL_CHECK_ROWS: u64 = 1024;

impl Inner {
    pub(super) fn create_index(
        &self,
        owner: &Arc<Owner>,
        database: &str,
        name: &str,
        (index_name, unique, index_body): (String, bool, Vec<u8>),
        body: Vec<u8>,
    ) -> Result<()> {
        let space = self.pager.new_space_id()?;
        self.ddl(owner, |txn, after| {
            after.hold(space);
            self.lock_tables(txn, [(database, name)].into_iter())?;
            let found = self.find(txn, database, name)?;
            let mut new = found.row.clone();
            new.version += 1;
            new.def.body = body;
            new.def.indexes.push(IndexDef {
                name: index_name,
                unique,
                space,
                root: 0,
                body: index_body,
            });
            new.created.push(0);
            if found.row.def.indexes[0].root != 0 {
                // Older views may know rows that the index will not have, even if none is left now.
                let at = new.created.len() - 1;
                new.created[at] = self.sys.reserve(txn, 0)?.trx_id();
                self.build(txn, &found, &mut new, after)?;
            }
            self.replace(txn, &found, &new)
        })
    }

    /// Builds the last index of `new` from the rows, if there are any.
    fn build(
        &self,
        txn: &mut Txn,
        found: &Found,
        new: &mut TableRow,
        after: &mut Aftermath<'_>,
    ) -> Result<()> {
        let at = new.def.indexes.len() - 1;
        let (id, file) = (new.def.indexes[at].space, new.def.file);
        let codec = self.codecs.codec(&new.def)?;
        let table = self
            .catalog
            .open_table(&found.row.def.database, &found.row.def.name)?;
        let Some(sorted) = self.sort_keys(txn, &table, &*codec, at)? else {
            return Ok(());
        };

        let mut grave = grave_of(&new.def.indexes[at], &new.def);
        let builder = self.sys.owner();
        let mut digging = self.sys.begin(&builder, Isolation::ReadCommitted);
        let bytes = row::encode_grave(&grave);
        self.catalog.graveyard.insert(&mut digging, &bytes)?;
        // Durable before the space's first page, for that comes later in the log.
        self.sys.commit_no_wait(digging)?;
        after.building();

        let space = self.pager.space(id, file);
        let mut entries = Entries::new(sorted, at, new.def.indexes[at].unique);
        let root = Tree::bulk_rooted(&self.pager, &space, &mut entries, &mut |page| {
            self.write_root(&space, id, page)
        })?;
        new.def.indexes[at].root = root;

        grave.root = root;
        let key = id.0.to_be_bytes();
        let bytes = row::encode_grave(&grave);
        self.catalog.graveyard.delete(txn, &key, &bytes)
    }

    /// Allocates the built tree's root together with the note of it in the grave.
    fn write_root(
        &self,
        space: &Arc<Space>,
        id: SpaceId,
        page: crate::log::op::Op<'_>,
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

    /// The new index's entries, sorted; `None` if the table has no rows.
    pub(super) fn sort_keys(
        &self,
        txn: &mut Txn,
        table: &Table,
        codec: &dyn KeyCodec,
        at: usize,
    ) -> Result<Option<Sorted>> {
        let mut sorter = Sorter::new(self.storage.clone(), self.sort_bytes);
        let mut key = Vec::new();
        let everything = KeyRange {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        };
        // The view is younger than the metadata lock: it sees all rows, and nobody changes them.
        let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
        let mut scan = table.scan(txn, 0, everything, dir, mode, Fetch::Row)?;
        let mut rows = 0u64;
        while let Some(row) = scan.next(txn)? {
            key.clear();
            let null = codec.key(at, row.row, &mut key)?;
            let own = key.len() as u16;
            key.extend_from_slice(row.clustered_key);
            if key.len() > MAX_KEY {
                return Err(Error::KeyTooLong(key.len()));
            }
            let [low, high] = own.to_le_bytes();
            sorter.add(&key, &[low, high, u8::from(null)])?;
            rows += 1;
            if rows.is_multiple_of(KILL_CHECK_ROWS) && txn.owner().is_killed() {
                return Err(Error::Interrupted);
            }
        }
        drop(scan);
        if rows == 0 {
            return Ok(None);
        }
        Ok(Some(sorter.finish()?))
    }

    pub(super) fn drop_index(
        &self,
        owner: &Arc<Owner>,
        database: &str,
        name: &str,
        index: &str,
        body: Vec<u8>,
    ) -> Result<()> {
        self.ddl(owner, |txn, after: &mut Aftermath<'_>| {
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
            self.replace(txn, &found, &new)?;
            if dead.root != 0 {
                self.add_grave(txn, grave_of(&dead, def), after)?;
                after.dead.push(Dead {
                    table: def.id,
                    spaces: vec![(dead.space, def.file)],
                    gone: false,
                    partitioned: false,
                });
            }
            Ok(())
        })
    }
}

/// Sorted keys as entries of the tree to be; checks uniqueness on the way.
pub(super) struct Entries {
    sorted: Sorted,
    index: usize,
    unique: bool,
    /// The key before, without its clustered key; empty: none, or one with a NULL.
    last: Vec<u8>,
    value: [u8; SEC_VALUE + 6],
}

impl Entries {
    pub fn new(sorted: Sorted, index: usize, unique: bool) -> Entries {
        Entries {
            sorted,
            index,
            unique,
            last: Vec::new(),
            value: [0; SEC_VALUE + 6],
        }
    }
}

impl Records for Entries {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let Some((key, note)) = self.sorted.next()? else {
            return Ok(None);
        };
        let own = usize::from(u16::from_le_bytes([note[0], note[1]]));
        if self.unique {
            let null = note[2] != 0;
            if !null && !self.last.is_empty() && self.last == key[..own] {
                return Err(Error::DuplicateKey { index: self.index });
            }
            self.last.clear();
            if !null {
                self.last.extend_from_slice(&key[..own]);
            }
        }
        // As old as anything: views that do not see the index's transaction are refused.
        let value = SecValue {
            flags: 0,
            trx: 0,
            key_len: own as u16,
            origin: 0,
        };
        let len = value.write(&mut self.value);
        Ok(Some((key, &self.value[..len])))
    }
}
