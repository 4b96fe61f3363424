//! Partitions: tables of their own, each with its spaces, that live under the name of a table.
//!
//! A partitioned table's row says so and has no spaces in use. The rows of its partitions lie right behind it in the
//! catalog, under names that no user can give (`catalog::row`), with an id, spaces, undo and purge like any table's.
//! What they are for, and in which order they come, is the layer above's to know: it is in the table's body. One
//! metadata lock, the table's, guards them all, and whoever has pinned the table may use its partitions.
//!
//! Every change is one transaction over the catalog (see `ddl`): however many partitions it makes, drops, empties or moves,
//! it is durable by one sync, and none of their pages is read.

use super::ddl::{Aftermath, Found};
use super::{Inner, NewTable, Place, TableName, no_table};
use crate::catalog::row::{self, TableRow};
use crate::catalog::{IndexDef, TableDef};
use crate::error::{Error, Result};
use crate::table::Table;
use crate::txn::{Owner, Txn};
use std::sync::{Arc, OnceLock};

/// A change of a table's partitions.
#[derive(Clone, Debug)]
pub enum PartitionChange {
    /// A new, empty partition.
    Add(String),
    /// The partition goes, with its rows.
    Drop(String),
    /// The partition's rows go.
    Truncate(String),
    /// The partition and a table of the same columns and indexes change places; each name keeps its body.
    Exchange {
        /// The partition.
        partition: String,
        /// The table.
        table: TableName,
    },
    /// All partitions of another table become partitions of this one; the rest of the other table goes.
    Adopt(TableName),
}

impl Inner {
    /// Creates a table and its partitions. `body`: that of the partitions.
    pub(super) fn create_partitioned(
        &self,
        owner: &Arc<Owner>,
        table: NewTable,
        partitions: &[String],
        body: &[u8],
    ) -> Result<()> {
        let mut row = self.new_row(table)?;
        row.def.partitioned = true;
        let mut rows = Vec::with_capacity(1 + partitions.len());
        for partition in partitions {
            rows.push(self.new_partition(&row.def, partition, body.to_vec())?);
        }
        rows.insert(0, row);
        self.insert_table(owner, rows)
    }

    /// The row of a new partition of a table.
    fn new_partition(&self, table: &TableDef, partition: &str, body: Vec<u8>) -> Result<TableRow> {
        let name = row::partition_name(&table.name, partition);
        row::table_key(&table.database, &name)?;
        let mut new = self.new_row(NewTable {
            database: table.database.clone(),
            name: String::new(),
            hidden_row_id: table.hidden_row_id,
            place: Some(Place::of(table.file)),
            indexes: table.indexes.iter().map(super::new_index).collect(),
            body,
            auto_increment: 0,
        })?;
        new.def.name = name;
        Ok(new)
    }

    /// Changes the partitions of a table, in order, and its body with them. `partition_body`: that of new partitions.
    pub(super) fn alter_partitions(
        &self,
        owner: &Arc<Owner>,
        (database, name): (&str, &str),
        changes: &[PartitionChange],
        body: Vec<u8>,
        partition_body: &[u8],
    ) -> Result<()> {
        let others = changes.iter().filter_map(|c| match c {
            PartitionChange::Exchange { table, .. } => Some(table),
            PartitionChange::Adopt(table) => Some(table),
            _ => None,
        });
        let names = others.map(|(d, n)| (&**d, &**n)).chain([(database, name)]);
        self.ddl(owner, |txn, after| {
            self.refuse_joined(txn, "a change of partitions")?;
            self.lock_tables(txn, names)?;
            for change in changes {
                match change {
                    PartitionChange::Exchange { table, .. } => {
                        self.admit(txn, &(database.into(), name.into()), &table.0)?;
                        self.admit(txn, table, database)?;
                    }
                    PartitionChange::Adopt(table) => self.admit(txn, table, database)?,
                    _ => {}
                }
            }
            let found = self.find(txn, database, name)?;
            if !found.row.def.partitioned {
                return Err(Error::Invalid(format!(
                    "{database}.{name} has no partitions"
                )));
            }
            for change in changes {
                self.change_partition(txn, &found.row.def, change, partition_body, after)?;
            }
            let mut new = found.row.clone();
            new.version += 1;
            new.def.body = body;
            self.replace(txn, &found, &new, after)
        })
    }

    fn change_partition(
        &self,
        txn: &mut Txn,
        def: &TableDef,
        change: &PartitionChange,
        body: &[u8],
        after: &mut Aftermath,
    ) -> Result<()> {
        let stored = |partition: &str| row::partition_name(&def.name, partition);
        match change {
            PartitionChange::Add(partition) => {
                let new = self.new_partition(def, partition, body.to_vec())?;
                match self.insert_row(txn, &new, after) {
                    Err(Error::DuplicateKey { .. }) => {
                        Err(Error::TableExists(format!("{}.{partition}", def.name)))
                    }
                    r => r,
                }
            }
            PartitionChange::Drop(partition) => {
                self.drop_row(txn, &def.database, &stored(partition), after)?;
                Ok(())
            }
            PartitionChange::Truncate(partition) => {
                self.truncate_row(txn, &def.database, &stored(partition), false, after)?;
                Ok(())
            }
            PartitionChange::Exchange { partition, table } => {
                self.exchange(txn, def, &stored(partition), table)
            }
            PartitionChange::Adopt((database, name)) => {
                let other = self.find(txn, database, name)?;
                // They were filled from rows that older views may know.
                let built = Some(self.sys.reserve(txn, 0)?.trx_id());
                for from in self.catalog.partition_names(txn, database, name)? {
                    let part = self.find(txn, database, &from)?;
                    let to = row::split_partition(&from).map_or("", |(_, p)| p);
                    self.rename_row(txn, &part, &def.database, &stored(to), built, after)?;
                }
                self.catalog.tables.delete(txn, &other.key, &other.bytes)?;
                after.dig(&self.catalog, txn, &other.row.def)?;
                self.catalog.invalidate(other.row.def.id, database, name);
                Ok(())
            }
        }
    }

    /// A partition and a table change names; everything under them stays where it is.
    fn exchange(
        &self,
        txn: &mut Txn,
        def: &TableDef,
        partition: &str,
        (database, name): &TableName,
    ) -> Result<()> {
        let a = self.find(txn, &def.database, partition)?;
        let b = self.find(txn, database, name)?;
        let alike = |x: &IndexDef, y: &IndexDef| {
            x.name == y.name && x.unique == y.unique && x.body == y.body
        };
        let (xs, ys) = (&a.row.def.indexes, &b.row.def.indexes);
        if b.row.def.partitioned
            // Whose tables are counted by their ids.
            || b.row.def.file.is_general()
            || a.row.def.hidden_row_id != b.row.def.hidden_row_id
            || xs.len() != ys.len()
            || !xs.iter().zip(ys).all(|(x, y)| alike(x, y))
        {
            return Err(Error::Invalid(format!(
                "{database}.{name} is not like the partition"
            )));
        }
        let named = |of: &Found, as_: &Found| {
            let mut new = of.row.clone();
            new.version += 1;
            new.auto_increment = 0;
            new.def.database = as_.row.def.database.clone();
            new.def.name = as_.row.def.name.clone();
            new.def.body = as_.row.def.body.clone();
            new
        };
        let (to_table, to_partition) = (named(&a, &b), named(&b, &a));
        // Out of the way first: the two cannot have one name at any time.
        for found in [&a, &b] {
            self.catalog.tables.delete(txn, &found.key, &found.bytes)?;
            let d = &found.row.def;
            self.catalog.invalidate(d.id, &d.database, &d.name);
        }
        for new in [to_table, to_partition] {
            self.catalog.tables.insert(txn, &row::encode_table(&new)?)?;
        }
        Ok(())
    }

    /// The partition at a position of an open table, as the layer above counts them.
    pub(super) fn open_partition(
        &self,
        table: &Arc<Table>,
        at: usize,
        count: usize,
        partition: &str,
    ) -> Result<Arc<Table>> {
        let slots = table
            .partitions
            .get_or_init(|| (0..count).map(|_| OnceLock::new()).collect());
        let slot = slots
            .get(at)
            .ok_or_else(|| no_table(&table.def.name, partition))?;
        if let Some(open) = slot.get() {
            return Ok(open.clone());
        }
        let open = self.catalog.open_partition(table, partition)?;
        Ok(slot.get_or_init(|| open).clone())
    }
}
