//! DROP DATABASE.
//!
//! A small database goes as its tables would: their rows and its own by one transaction (`ddl`). Of a larger one, by one transaction,
//! (1) all its tables that anybody uses are locked, (2) what refers to them or is referred to by them, and stored objects, goes,
//! (3) its row goes and a mark says that its tables went with it ([`crate::catalog`]). So what the statement takes depends on how many
//! tables are in use, and hardly on how many there are: their names are counted. Their rows and pages follow in the
//! background ([`super::dropped`]), and what is made under the same names meanwhile is told apart by its id.
//!
//! **Which tables are in use.** Nobody uses a table without its metadata lock, so only those that are known by name need be
//! locked. Who opens a table that is not in the cache holds the *opening lock* of its database for as long as it takes to read the catalog: it
//! has its table's lock by then. DROP DATABASE holds that lock exclusively, and before it looks which tables are known: who comes later
//! waits at it, and finds the database gone.
//!
//! **Names that come back.** A row that is in the way of a new table is removed by who makes that ([`Inner::make_way`]). A table that comes
//! from another database may be older than the mark, and would be taken for one of those dropped: it waits until they are gone
//! ([`Inner::admit`]).
//! **Failure.** Up to the commit a failure, KILL or crash undoes all; from there on the mark says what is left to do.

use super::ddl::{Aftermath, lock_row, not_partition};
use super::{Engine, Inner, TableName};
use crate::catalog::{Dropped, full_name, row};
use crate::error::{Error, Result};
use crate::table::Table;
use crate::txn::{MdlLock, MdlMode, Owner, Txn};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a statement looks whether dropped tables have gone.
const LOOK: Duration = Duration::from_millis(5);

impl Engine {
    /// Drops a database and its tables, atomically; returns how many tables there were. The rows and pages of many tables follow in the
    /// background.
    pub fn drop_database(&self, owner: &Arc<Owner>, name: &str) -> Result<usize> {
        self.0.drop_database(owner, name, false)
    }

    /// [`Engine::drop_database`] of one to whose tables only each other refer; error [`Error::Referenced`].
    pub fn drop_unreferenced_database(&self, owner: &Arc<Owner>, name: &str) -> Result<usize> {
        self.0.drop_database(owner, name, true)
    }
}

impl Inner {
    /// `alone`: no table of another database refers to one of it.
    fn drop_database(&self, owner: &Arc<Owner>, name: &str, alone: bool) -> Result<usize> {
        not_partition(name, "").map_err(|_| Error::NoSuchDatabase(name.into()))?;
        let at_once = self.drop_at_once;
        let count = self.ddl(owner, |txn, after| {
            self.lock_database(txn, name, MdlMode::Exclusive)?;
            let key = row::database_key(name)?;
            let old = lock_row(&self.catalog.databases, txn, &key)?;
            let old = old.ok_or_else(|| Error::NoSuchDatabase(name.into()))?;
            // Nobody creates or renames tables in it now.
            let (mut tables, mut count) = (Vec::new(), 0);
            self.catalog.each_table_name(txn, name, &mut |table| {
                count += 1;
                if count <= at_once {
                    tables.push(table);
                }
                not_killed(owner)
            })?;
            if count > at_once {
                self.refuse_joined(txn, "DROP DATABASE of that many tables")?;
            }
            if count <= at_once {
                self.drop_now(txn, name, &tables, alone, after)?;
            } else {
                self.mark_dropped(txn, name, alone)?;
            }
            self.catalog.databases.delete(txn, &key, &old)?;
            Ok(count)
        })?;
        if count > at_once {
            self.dropper.wake();
        }
        Ok(count)
    }

    /// Drops these tables, which are all the database has.
    fn drop_now(
        &self,
        txn: &mut Txn,
        database: &str,
        tables: &[String],
        alone: bool,
        after: &mut Aftermath,
    ) -> Result<()> {
        let mdl = self.sys.mdl();
        for table in tables {
            let lock = mdl.get(&full_name(database, table));
            mdl.lock(txn.owner(), &lock, MdlMode::Exclusive)?;
        }
        if alone {
            self.refuse_referenced_from_outside(txn, database, tables)?;
        }
        after.relations.all_of(database);
        after.gather();
        for table in tables {
            not_killed(txn.owner())?;
            self.drop_one(txn, database, table, after)?;
        }
        after.dig_gathered(&self.catalog, txn, database)?;
        if txn.defines() {
            let what = "DROP DATABASE of one with stored programs";
            self.catalog.each_object(txn, Some(database), &mut |_| {
                Err(Error::NotInTransaction(what.into()))
            })?;
        }
        self.catalog.drop_objects(txn, database)
    }

    /// Says that all tables of a database are dropped.
    fn mark_dropped(&self, txn: &mut Txn, database: &str, alone: bool) -> Result<()> {
        let mdl = self.sys.mdl();
        let owner = txn.owner().clone();
        mdl.lock(&owner, &self.opening(database), MdlMode::Exclusive)?;
        for lock in mdl.known(&full_name(database, "")) {
            mdl.lock(&owner, &lock, MdlMode::Exclusive)?;
            not_killed(&owner)?;
        }
        self.drop_references(txn, database, alone)?;
        self.catalog.drop_objects(txn, database)?;
        let mark = Dropped {
            database: database.into(),
            below: self.new_table_id()?,
        };
        self.catalog.mark_dropped(txn, &mark)?;
        self.catalog.invalidate_database(database);
        not_killed(&owner)
    }

    /// The opening lock of a database: no table is called that.
    fn opening(&self, database: &str) -> Arc<MdlLock> {
        self.sys.mdl().get(&full_name(database, ""))
    }

    /// Opens a table by name for a transaction that has its metadata lock.
    pub(super) fn open_locked(&self, txn: &Txn, database: &str, name: &str) -> Result<Arc<Table>> {
        let own = (database, name);
        if let Some(open) = self.catalog.open_private(txn.id(), own, None) {
            return open;
        }
        if let Some(table) = self.catalog.opened(database, name) {
            table.refuse_quarantined()?;
            return Ok(table);
        }
        self.while_opening(txn, database, || self.catalog.open_table(database, name))
    }

    /// Runs what reads the catalog for a transaction that is to use what it finds, and has its metadata lock.
    pub(super) fn while_opening<R>(
        &self,
        txn: &Txn,
        database: &str,
        read: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let (mdl, lock) = (self.sys.mdl(), self.opening(database));
        if mdl.holds(txn.owner(), &lock, MdlMode::Shared) {
            return read();
        }
        mdl.lock(txn.owner(), &lock, MdlMode::Shared)?;
        let done = read();
        mdl.unlock(txn.owner(), &lock);
        done
    }

    /// Removes the row that has the name of a new table or partition, if it is a dropped one's.
    pub(super) fn make_way(
        &self,
        txn: &mut Txn,
        database: &str,
        name: &str,
        after: &mut Aftermath,
    ) -> Result<()> {
        let below = self.catalog.dropped_below(txn, database)?;
        if below == 0 {
            return Ok(());
        }
        let key = row::table_key(database, name)?;
        match lock_row(&self.catalog.tables, txn, &key)? {
            Some(bytes) if row::table_id(&bytes)? < below => {
                after.remove_dropped(&self.catalog, txn, (&key, &bytes))
            }
            _ => Ok(()),
        }
    }

    /// Lets a locked table into another database: waits for those that were dropped there, if it is as old as they are.
    pub(super) fn admit(&self, txn: &mut Txn, from: &TableName, to: &str) -> Result<()> {
        let below = self.catalog.dropped_below(txn, to)?;
        if from.0 == to || below == 0 {
            return Ok(());
        }
        let mut names = self.catalog.partition_names(txn, &from.0, &from.1)?;
        names.push(from.1.clone());
        for name in names {
            let row = self.catalog.table(txn, &from.0, &name)?;
            if row.is_some_and(|row| row.def.id < below) {
                return self.await_dropped(txn, Some(to));
            }
        }
        Ok(())
    }

    /// Waits until the tables of a dropped database are gone; `None`: of all. The transaction holds no row that they need, and reads what is
    /// committed then.
    pub(super) fn await_dropped(&self, txn: &mut Txn, database: Option<&str>) -> Result<()> {
        let (owner, begun) = (txn.owner().clone(), Instant::now());
        let _awaited = self.dropper.awaited();
        loop {
            self.sys.statement(txn);
            let gone = match database {
                Some(name) => self.catalog.dropped_below(txn, name)? == 0,
                None => self.catalog.dropped(txn)?.is_empty(),
            };
            if gone {
                return Ok(());
            }
            if let Some(why) = self.pager.log().stopped() {
                return Err(Error::Stopped(why));
            }
            if !self.dropper.works() || begun.elapsed() >= owner.metadata_timeout() {
                return Err(Error::LockWaitTimeout);
            }
            owner.pause(LOOK)?;
        }
    }
}

/// An error if the owner was killed.
pub(super) fn not_killed(owner: &Owner) -> Result<()> {
    match owner.is_killed() {
        true => Err(Error::Interrupted),
        false => Ok(()),
    }
}
