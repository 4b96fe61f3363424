//! What the layer above keeps about tables: how it is written and found again.
//!
//! A row of the catalog's table of statistics per table that was looked at ([`crate::catalog`]), opaque here, and what was made
//! of it in memory, at the open table.

use super::{Engine, Inner};
use crate::catalog::{CATALOG_DATABASE, ChangeBody, IndexDef, STATISTICS, TableDef, row};
use crate::error::{Error, Result};
use crate::page::PAGE_SIZE;
use crate::table::{ChangedTables, Table};
use crate::txn::{MdlMode, Owner, Txn};
use std::sync::Arc;

impl Engine {
    /// What is kept for a table; nothing for a temporary one.
    pub fn statistics(&self, table: &Table) -> Result<Option<Vec<u8>>> {
        let catalog = &self.0.catalog;
        if table.is_temporary() || catalog.statistics().is_none() {
            return Ok(None);
        }
        catalog.read(|txn| catalog.statistics_of(txn, table.def.id))
    }

    /// Makes room for statistics, if there is none yet. The owner has no transaction open and no locks.
    pub fn prepare_statistics(&self, owner: &Arc<Owner>) -> Result<()> {
        match self.0.catalog.statistics() {
            Some(_) => Ok(()),
            None => {
                self.0.make_own(&self.deputy(owner), STATISTICS)?;
                self.0.catalog.find_statistics()
            }
        }
    }

    /// Keeps for a table what `change` makes of what is kept, in the transaction, in which the table is pinned or opened, so that nobody
    /// drops it meanwhile; `None`: nothing any more. Until the transaction ends nobody else changes it.
    /// [`Engine::prepare_statistics`] comes before. The definition stays as it is: open objects, and plans with them, remain valid.
    pub fn change_statistics(
        &self,
        txn: &mut Txn,
        table: &Table,
        change: &mut ChangeBody<'_>,
    ) -> Result<()> {
        if table.is_temporary() {
            return Err(Error::Invalid("a temporary table has no statistics".into()));
        }
        self.0.catalog.change_statistics(txn, table.def.id, change)
    }

    /// Tables that have changed by as much as [`Table::tell_after`] asked for, or by 100 rows, if nobody asked.
    pub fn changed_tables(&self) -> &Arc<ChangedTables> {
        &self.0.ctx.changed
    }

    /// [`Table::tell_after`] of the table or partition with this id, if it is there.
    pub fn tell_after(&self, id: u64, rows: u64) {
        if let Ok(Some(table)) = self.0.catalog.by_id(id) {
            table.tell_after(rows);
        }
    }

    /// Database and name of the table with this id; of a partition, those of its table. `None`: it is gone, or the
    /// catalog's own.
    pub fn table_name(&self, id: u64) -> Result<Option<(String, String)>> {
        let Some(table) = self.0.catalog.by_id(id)? else {
            return Ok(None);
        };
        let def = table.def();
        let name = row::split_partition(&def.name).map_or(&*def.name, |(table, _)| table);
        let own = def.database == CATALOG_DATABASE || self.0.catalog.own(id).is_some();
        Ok((!own).then(|| (def.database.clone(), name.to_string())))
    }
}

impl Table {
    /// Pages in use of an index's tree.
    pub fn index_pages(&self, index: usize) -> Result<u64> {
        let index = self.index(index)?;
        if index.tree.root() == 0 {
            // It shares one.
            return Ok(u64::from(!index.tree.is_unwritten()?));
        }
        // The root lies outside of the extents that the space owns.
        let (used, _) = self.ctx.pager.space_room(index.tree.space())?;
        Ok(used + 1)
    }
    /// Bytes of a page.
    pub const PAGE_BYTES: u64 = PAGE_SIZE as u64;
}

impl Inner {
    /// Makes a table of the catalog's own, with its database, in one step, if it isn't there.
    pub(super) fn make_own(&self, owner: &Arc<Owner>, name: &str) -> Result<()> {
        let row = row::TableRow {
            created: vec![0],
            def: TableDef {
                id: self.new_table_id()?,
                database: CATALOG_DATABASE.into(),
                name: name.into(),
                file: crate::space::FileId::SHARED,
                hidden_row_id: false,
                partitioned: false,
                indexes: vec![IndexDef {
                    name: "PRIMARY".into(),
                    unique: true,
                    space: self.pager.new_space_id()?,
                    root: 0,
                    body: Vec::new(),
                }],
                body: Vec::new(),
            },
            version: 0,
            auto_increment: 0,
        };
        let bytes = row::encode_table(&row)?;
        self.ddl(owner, |txn, _| {
            self.lock_database(txn, CATALOG_DATABASE, MdlMode::Exclusive)?;
            let catalog = &self.catalog;
            if catalog.database(txn, CATALOG_DATABASE)?.is_none() {
                let database = row::encode_database(CATALOG_DATABASE, &[]);
                catalog.databases.insert(txn, &database)?;
            }
            match catalog.tables.insert(txn, &bytes) {
                // Somebody else was faster.
                Err(Error::DuplicateKey { index: 0 }) => Ok(()),
                r => r,
            }
        })
    }
}
