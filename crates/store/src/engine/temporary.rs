//! Temporary tables: made, changed and dropped without the catalog.
//!
//! Such a table is what the [`Table`] object says. Whoever made it holds the object, under whatever name it likes; nobody else
//! can find it, so there are no metadata locks. Nothing here writes to the log, reads a page (but to build an
//! index) or waits. A change of its definition gives a new object, which shares the indexes that stay; the old one is not
//! valid any more. When the last object that has an index goes, its pages go.

use super::{Engine, Inner, NewTable, Redefinition};
use crate::btree::Tree;
use crate::catalog::{IndexDef, TableDef};
use crate::error::{Error, Result};
use crate::space::{FileId, Space};
use crate::table::entries::Entries;
use crate::table::{Core, Index, Table};
use crate::txn::{Isolation, Owner};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// A change of a temporary table's definition.
#[derive(Clone, Debug)]
pub enum TemporaryChange {
    /// Another database and name.
    Rename(String, String),
    /// Another definition for the rows and indexes that are there.
    Redefine(Redefinition),
    /// An index more: name, unique, body; and the table's body.
    AddIndex((String, bool, Vec<u8>), Vec<u8>),
    /// A secondary index less, by name; and the table's body.
    DropIndex(String, Vec<u8>),
}

impl Engine {
    /// Makes a temporary table. Its pages are given back when the last object of it is dropped, or by
    /// [`Engine::drop_temporary`].
    pub fn create_temporary(&self, table: NewTable) -> Result<Arc<Table>> {
        self.0.create_temporary(table)
    }
    /// Drops a temporary table now: nobody can use it any more.
    pub fn drop_temporary(&self, table: &Table) {
        table.valid.store(false, Ordering::Release);
        for index in &table.indexes {
            index.tree.drop_temporary();
        }
    }
    /// Drops a temporary table's rows: a new object with nothing in it, of the same definition.
    pub fn truncate_temporary(&self, table: &Table) -> Result<Arc<Table>> {
        let def = &table.def;
        let new = self.0.create_temporary(NewTable {
            database: def.database.clone(),
            name: def.name.clone(),
            hidden_row_id: def.hidden_row_id,
            place: None,
            indexes: def.indexes.iter().map(super::new_index).collect(),
            body: def.body.clone(),
            auto_increment: 0,
        })?;
        self.drop_temporary(table);
        Ok(new)
    }
    /// Changes a temporary table's definition; returns the object that takes the table's place. The owner has no
    /// transaction open that has changed the table.
    pub fn alter_temporary(
        &self,
        owner: &Arc<Owner>,
        table: &Arc<Table>,
        change: TemporaryChange,
    ) -> Result<Arc<Table>> {
        self.0.alter_temporary(owner, table, change)
    }
}

impl Inner {
    fn create_temporary(&self, table: NewTable) -> Result<Arc<Table>> {
        let made: Vec<_> = table
            .indexes
            .into_iter()
            .map(|(name, unique, body)| self.temporary_index(name, unique, body))
            .collect();
        let (defs, indexes): (Vec<IndexDef>, Vec<Arc<Index>>) = made.into_iter().unzip();
        let Some(first) = defs.first() else {
            return Err(Error::Invalid("a table has an index at least".into()));
        };
        let def = TableDef {
            id: first.space.0,
            database: table.database,
            name: table.name,
            file: FileId::TEMP,
            hidden_row_id: table.hidden_row_id,
            partitioned: false,
            indexes: defs,
            body: table.body,
        };
        let table_object = self.temporary_object(def, indexes, Core::new(0))?;
        if table.auto_increment != 0 {
            table_object.auto_increment_init(table.auto_increment);
        }
        Ok(table_object)
    }

    fn temporary_index(&self, name: String, unique: bool, body: Vec<u8>) -> (IndexDef, Arc<Index>) {
        let space = self.pager.new_temporary_space();
        let def = IndexDef {
            name,
            unique,
            space: space.id,
            root: 0,
            body,
        };
        (def, self.open_temporary(space, 0, unique))
    }

    fn open_temporary(&self, space: Arc<Space>, root: u32, unique: bool) -> Arc<Index> {
        Arc::new(Index {
            space: space.id,
            tree: Tree::new(&self.pager, space, root),
            unique,
            created: 0.into(),
            counts: self.catalog.ctx.rows.open(),
        })
    }

    fn temporary_object(
        &self,
        def: TableDef,
        indexes: Vec<Arc<Index>>,
        core: Arc<Core>,
    ) -> Result<Arc<Table>> {
        let codec = self.codecs.codec(&def)?;
        Ok(Arc::new_cyclic(|me| Table {
            multi: (1..def.indexes.len()).any(|i| codec.is_multi(i)),
            def,
            version: 0,
            indexes: indexes.into_boxed_slice(),
            upgrades: codec.has_earlier_versions(),
            codec,
            core,
            ctx: self.catalog.ctx.clone(),
            mdl: None,
            valid: AtomicBool::new(true),
            private: 0,
            partitions: OnceLock::new(),
            children: OnceLock::new(),
            temporary: Some(me.clone()),
        }))
    }

    fn alter_temporary(
        &self,
        owner: &Arc<Owner>,
        table: &Arc<Table>,
        change: TemporaryChange,
    ) -> Result<Arc<Table>> {
        let mut def = table.def.clone();
        let mut indexes = table.indexes.to_vec();
        let mut dead = None;
        match change {
            TemporaryChange::Rename(database, name) => {
                def.database = database;
                def.name = name;
            }
            TemporaryChange::Redefine(new) => new.apply(&mut def, &new.body)?,
            TemporaryChange::AddIndex((name, unique, index_body), body) => {
                let (new, index) = self.temporary_index(name, unique, index_body);
                def.indexes.push(new);
                def.body = body;
                indexes.push(self.build_temporary(owner, table, &def, index)?);
            }
            TemporaryChange::DropIndex(name, body) => {
                let at = def.indexes.iter().skip(1).position(|i| i.name == name);
                let at = 1 + at.ok_or(Error::NoSuchIndex(name))?;
                def.indexes.remove(at);
                def.body = body;
                dead = Some(indexes.remove(at));
            }
        }
        let new = self.temporary_object(def, indexes, table.core.clone())?;
        table.valid.store(false, Ordering::Release);
        if let Some(index) = dead {
            index.tree.drop_temporary();
        }
        Ok(new)
    }

    /// Builds the last index of `def` from the table's rows.
    fn build_temporary(
        &self,
        owner: &Arc<Owner>,
        table: &Arc<Table>,
        def: &TableDef,
        index: Arc<Index>,
    ) -> Result<Arc<Index>> {
        let at = def.indexes.len() - 1;
        let codec = self.codecs.codec(def)?;
        let mut txn = self.sys.begin(owner, Isolation::ReadCommitted);
        let sorted = self.sort_keys(&mut txn, table, &*codec, at, None);
        let built = sorted.and_then(|sorted| {
            if let Some(sorted) = sorted {
                let mut entries = Entries::new(sorted, at, index.unique, owner);
                let root = Tree::bulk(&self.pager, index.tree.space(), &mut entries)
                    .map_err(|e| self.refused(&mut txn, table, e, entries.duplicate()))?;
                index.tree.set_root(root);
            }
            Ok(index)
        });
        // It only read.
        self.sys.commit_no_wait(txn)?;
        built
    }
}
