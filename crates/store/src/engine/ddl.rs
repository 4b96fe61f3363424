//! DDL: each statement is one transaction over the catalog, under metadata locks.
//!
//! Steps: (1) locks, databases before tables, names ascending, given back and asked for again where a wait would be a
//! deadlock; (2) catalog rows change; (3) open objects of the tables become invalid; (4) commit, durable before anything
//! else; (5) the spaces that died are flagged, the reclaimer is told. Up to (4) a failure or a crash undoes everything;
//! from (4) on a crash finishes it, for the graveyard knows the rest. Nothing here depends on how much a table holds.
//! Where an owner's open transaction is lent to the engine, a statement is a step of that: (1) and (2) are done in it, (3)
//! is about its own objects too, and (4) and (5) are its commit ([`super::lent`]).

use super::reclaim::{Held, Reclaimer};
use super::references::Relations;
use super::{Inner, NewTable, Place, Rename, TableName, no_table};
use crate::catalog::row::{self, Grave, Late, TableRow};
use crate::catalog::{CATALOG_DATABASE, Catalog, IndexDef, TableDef, full_name};
use crate::error::{Error, Result};
use crate::page::Lsn;
use crate::pool::Pager;
use crate::space::{FileId, Space, SpaceId};
use crate::table::{ReadMode, Table};
use crate::txn::{Isolation, LockMode, MdlLock, MdlMode, Owner, Stance, TrxId, Txn, WaitPolicy};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Counter of table ids in the page layer. Ids start above those of the catalog's own tables.
pub(super) const TABLE_IDS: usize = 0;

/// Spaces that died with a DDL transaction.
pub(super) struct Dead {
    pub table: u64,
    pub spaces: Vec<(SpaceId, FileId)>,
    /// Those of small indexes whose graves are dug together, which have no page of their own.
    pub small: Vec<SpaceId>,
    /// Whether the table itself is gone.
    pub gone: bool,
    /// Whether it was made of partitions, which die by themselves.
    pub partitioned: bool,
}

/// What is left to do once a DDL transaction is durable. Dropping it lets the reclaimer at the graves, however the DDL ends.
pub(super) struct Aftermath {
    pub dead: Vec<Dead>,
    /// What changes about who refers to whom.
    pub relations: Relations,
    reclaimer: Arc<Reclaimer>,
    /// Small indexes of tables that go, by space, and the table's place in `dead`; `None`: each has a grave of its own.
    gathered: Option<Vec<(SpaceId, usize)>>,
    /// Graves that the transaction digs.
    dug: u64,
    /// Graves of what it builds, dug by others before and removed by it.
    built: u64,
    committed: bool,
    /// Spaces that the transaction has made, where their graves' end is in the log, and the pager.
    made: Vec<Arc<Space>>,
    made_at: Option<(Lsn, Arc<Pager>)>,
    /// The spaces of all of them, which the reclaimer leaves alone until they are buried.
    unburied: Held,
}

impl Aftermath {
    pub fn new(reclaimer: &Arc<Reclaimer>) -> Aftermath {
        Aftermath {
            dead: Vec::new(),
            relations: Relations::default(),
            reclaimer: reclaimer.clone(),
            gathered: None,
            dug: 0,
            built: 0,
            committed: false,
            made: Vec::new(),
            made_at: None,
            unburied: reclaimer.hold(),
        }
    }

    /// Keeps the reclaimer away from a space, before its grave's row is written.
    pub fn hold(&mut self, space: SpaceId) {
        self.unburied.add(space);
    }

    /// Gathers small indexes of tables that go from now on, for [`Aftermath::dig_gathered`].
    pub fn gather(&mut self) {
        self.gathered = Some(Vec::new());
    }

    /// Digs one grave for each run of gathered indexes whose space ids follow each other, if one of them has an entry: all of a database that was
    /// made as a copy, most of one whose tables were made one behind the other.
    pub fn dig_gathered(&mut self, catalog: &Catalog, txn: &mut Txn, database: &str) -> Result<()> {
        let mut all = self.gathered.take().unwrap_or_default();
        all.sort_unstable();
        for run in all.chunk_by(|a, b| a.0.0 + 1 == b.0.0) {
            let (first, last) = (run[0].0, run[run.len() - 1].0);
            // A leaf that can't be read keeps no table from being dropped.
            if !catalog.ctx.shared.has_any(first, last).unwrap_or(true) {
                continue;
            }
            for (space, dead) in run {
                self.dead[*dead].small.push(*space);
            }
            let grave = Grave {
                space: first,
                more: run.len() as u64 - 1,
                file: FileId::SHARED,
                root: 0,
                whole_file: false,
                late: Late::of(database, "", ""),
            };
            self.add_grave(catalog, txn, grave)?;
        }
        Ok(())
    }

    /// Digs graves for all that a table has; most tables of a test suite have nothing.
    pub fn dig(&mut self, catalog: &Catalog, txn: &mut Txn, def: &TableDef) -> Result<()> {
        let gathers = self.gathered.is_some() && catalog.is_sharing(def);
        let gathered = |i: &&IndexDef| gathers && i.root == 0;
        if let Some(all) = &mut self.gathered {
            let small = def.indexes.iter().filter(gathered);
            all.extend(small.map(|i| (i.space, self.dead.len())));
        }
        let others = def.indexes.iter().filter(|i| !gathered(i));
        let rooted = others.filter(|i| catalog.has_anything(def, i));
        let rooted: SmallVec<[&IndexDef; 4]> = rooted.collect();
        let spaces: Vec<(SpaceId, FileId)> = rooted.iter().map(|i| (i.space, def.file)).collect();
        if !def.file.is_own() {
            for index in rooted {
                self.add_grave(catalog, txn, grave_of(index, def))?;
            }
        } else if let Some(&(space, file)) = spaces.first() {
            let grave = Grave {
                space,
                more: 0,
                file,
                root: 0,
                whole_file: true,
                late: Late::now(def, ""),
            };
            self.add_grave(catalog, txn, grave)?;
        }
        self.dead.push(Dead {
            table: def.id,
            spaces,
            small: Vec::new(),
            gone: true,
            partitioned: def.partitioned,
        });
        Ok(())
    }

    pub fn add_grave(&mut self, catalog: &Catalog, txn: &mut Txn, grave: Grave) -> Result<()> {
        self.hold(grave.space);
        // Before anybody can see it, so that the reclaimer never counts down first.
        self.reclaimer.shared().graves_added(1);
        self.dug += 1;
        catalog.graveyard.insert(txn, &row::encode_grave(&grave))
    }

    /// Removes the row of a table that was dropped with its database, which is locked, and digs its graves. Nobody has it open by name.
    pub fn remove_dropped(
        &mut self,
        catalog: &Catalog,
        txn: &mut Txn,
        (key, bytes): (&[u8], &[u8]),
    ) -> Result<()> {
        let def = row::decode_table(bytes)?.def;
        // First, so that the transaction's last changes are the catalog's: recovery tells DDL by them.
        catalog.keep_statistics(txn, def.id, None)?;
        if def.file.is_general() {
            catalog.set_member(txn, def.file, def.id, false)?;
        }
        catalog.tables.delete(txn, key, bytes)?;
        self.dig(catalog, txn, &def)
    }

    /// Commits a transaction on the catalog, durably, and does what is left to do then.
    pub fn conclude(&mut self, catalog: &Catalog, txn: Txn) -> Result<()> {
        let pager = &catalog.ctx.pager;
        let lsn = catalog.ctx.sys.commit_no_wait(txn)?;
        self.set_committed();
        pager.log().sync_to(lsn)?;
        self.bury(catalog);
        Ok(())
    }

    /// The transaction has committed.
    pub fn set_committed(&mut self) {
        self.committed = true;
    }

    /// Flags the spaces that have died with a transaction whose commit is durable.
    pub fn bury(&self, catalog: &Catalog) {
        for d in &self.dead {
            catalog.bury(d.table, &d.spaces, &d.small, d.gone);
            if d.spaces.is_empty() && !d.partitioned {
                catalog.ctx.pager.drop_empty();
            }
        }
    }

    /// The transaction has made spaces, whose graves are in the log up to `dug`: if it is undone they die.
    pub fn making(&mut self, pager: &Arc<Pager>, dug: Lsn, spaces: Vec<Arc<Space>>) {
        self.made.extend(spaces);
        self.made_at = Some((dug, pager.clone()));
    }

    /// A grave of what is being built is there, whatever becomes of the transaction, which is to remove it.
    pub fn building(&mut self) {
        self.reclaimer.shared().graves_added(1);
        self.built += 1;
    }
}

impl Drop for Aftermath {
    fn drop(&mut self) {
        if let (false, Some((dug, pager))) = (self.committed, &self.made_at) {
            // They are neither served nor written any more. A stopped log has nothing written anyway.
            if pager.log().sync_to(*dug).is_ok() {
                pager.drop_spaces(&self.made);
            }
        }
        self.unburied.release();
        let (stay, go) = match self.committed {
            true => (self.dug, self.built),
            false => (self.built, self.dug),
        };
        self.reclaimer.shared().graves_removed(go);
        if stay > 0 {
            self.reclaimer.wake();
        }
    }
}

/// A table's row as DDL reads it.
pub(super) struct Found {
    pub key: Vec<u8>,
    pub bytes: Vec<u8>,
    pub row: TableRow,
}

/// The metadata lock above all names: DDL holds it as writers do, who keeps everything as it is holds it as readers do.
pub(super) const EVERYTHING: &str = "";

/// How often locks are given back to those who wait for them, before who asks for them is one among the others of a deadlock. Each time
/// somebody else goes on, unless what the caller held before is in their way.
const RETREATS: usize = 100;

/// Takes locks; `lock` gives back what it has taken when it fails.
fn backing_off(mut lock: impl FnMut(Stance) -> Result<()>) -> Result<()> {
    for _ in 0..RETREATS {
        match lock(Stance::BacksOff) {
            Err(Error::Deadlock) => {}
            locked => return locked,
        }
    }
    lock(Stance::Firm)
}

impl Inner {
    /// Runs a DDL transaction.
    pub(super) fn ddl<R>(
        &self,
        owner: &Arc<Owner>,
        f: impl FnOnce(&mut Txn, &mut Aftermath) -> Result<R>,
    ) -> Result<R> {
        self.on_catalog(owner, |txn, aftermath| {
            // A deputy's statement has it.
            if !txn.owner().is_deputy() {
                self.lock_database(txn, EVERYTHING, MdlMode::Write)?;
            }
            f(txn, aftermath)
        })
    }

    /// Runs a transaction on the catalog, or a step of the owner's that is lent.
    fn on_catalog<R>(
        &self,
        owner: &Arc<Owner>,
        f: impl FnOnce(&mut Txn, &mut Aftermath) -> Result<R>,
    ) -> Result<R> {
        let f = match self.join(owner, f) {
            Ok(done) => return done,
            Err(f) => f,
        };
        let mut txn = self.sys.begin(owner, Isolation::ReadCommitted);
        let mut aftermath = Aftermath::new(&self.reclaimer);
        let done = f(&mut txn, &mut aftermath)
            .and_then(|r| self.settle(&mut txn, &aftermath.relations).map(|()| r));
        match done {
            Ok(r) => aftermath.conclude(&self.catalog, txn).map(|()| r),
            Err(e) => {
                self.sys.rollback(txn, &*self.handler)?;
                Err(e)
            }
        }
    }

    pub(super) fn lock_database(&self, txn: &Txn, name: &str, mode: MdlMode) -> Result<()> {
        self.lock_database_as(Stance::Firm, txn, name, mode)
    }

    fn lock_database_as(&self, stance: Stance, txn: &Txn, name: &str, mode: MdlMode) -> Result<()> {
        let mdl = self.sys.mdl();
        mdl.lock_as(stance, txn.owner(), &mdl.get(name), mode)
    }

    /// Locks tables exclusively and their databases shared, in the order that everybody keeps. Transactions that go on hold tables in
    /// the order of their statements: where that would be a deadlock, what has been locked here is given back to them first.
    pub(super) fn lock_tables<'n>(
        &self,
        txn: &Txn,
        names: impl Iterator<Item = (&'n str, &'n str)>,
    ) -> Result<()> {
        let names: BTreeSet<(&str, &str)> = names.collect();
        for (database, name) in &names {
            not_partition(database, name)?;
        }
        if txn.defines() {
            // What it holds from before would be in the way again.
            return self.lock_sorted(Stance::Firm, txn, &names);
        }
        let mdl = self.sys.mdl();
        let before = mdl.mark(txn.owner());
        backing_off(|stance| {
            let locked = self.lock_sorted(stance, txn, &names);
            if locked.is_err() {
                mdl.release_since(txn.owner(), &before);
            }
            locked
        })
    }

    fn lock_sorted(&self, stance: Stance, txn: &Txn, names: &BTreeSet<(&str, &str)>) -> Result<()> {
        let mut last = None;
        for (database, _) in names {
            if last != Some(database) {
                self.lock_database_as(stance, txn, database, MdlMode::Shared)?;
                last = Some(database);
            }
        }
        let mdl = self.sys.mdl();
        names.iter().try_for_each(|(database, name)| {
            let lock = mdl.get(&full_name(database, name));
            mdl.lock_as(stance, txn.owner(), &lock, MdlMode::Exclusive)
        })
    }

    /// Keeps other DDL from tables before they are locked exclusively: who waits for an index build to end holds no statement back.
    fn keep_ddl_out(
        &self,
        stance: Stance,
        owner: &Arc<Owner>,
        tables: &[(TableName, bool)],
    ) -> Result<()> {
        let mdl = self.sys.mdl();
        let written: BTreeSet<&TableName> = tables.iter().filter(|t| t.1).map(|t| &t.0).collect();
        for (database, name) in written {
            let lock = mdl.get(&full_name(database, name));
            mdl.lock_as(stance, owner, &lock, MdlMode::Upgradable)?;
        }
        Ok(())
    }

    /// Locks tables beyond the end of transactions.
    pub(super) fn lock_tables_lasting(
        &self,
        owner: &Arc<Owner>,
        tables: &[(TableName, bool)],
    ) -> Result<()> {
        self.lock_names_lasting(owner, tables, true)
    }

    /// The same; `exist`: there must be tables of all names. Nothing else being held, all is given back where a wait would be a deadlock, and
    /// asked for again.
    pub(super) fn lock_names_lasting(
        &self,
        owner: &Arc<Owner>,
        tables: &[(TableName, bool)],
        exist: bool,
    ) -> Result<()> {
        if owner.lent() != 0 {
            // To the end of the transaction.
            return self.lock_names_as(Stance::Firm, owner, tables, exist);
        }
        backing_off(|stance| {
            let locked = self.lock_names_as(stance, owner, tables, exist);
            if locked.is_err() {
                self.sys.mdl().release_lasting(owner);
            }
            locked
        })
    }

    fn lock_names_as(
        &self,
        stance: Stance,
        owner: &Arc<Owner>,
        tables: &[(TableName, bool)],
        exist: bool,
    ) -> Result<()> {
        let mdl = self.sys.mdl();
        let lasting = |lock: &Arc<MdlLock>| {
            if owner.lent() == 0 {
                mdl.make_lasting(owner, lock);
            }
        };
        self.on_catalog(owner, |txn, _| {
            if tables.iter().any(|(_, write)| *write) {
                // What is locked for DDL: what comes above tables cannot be taken later.
                self.lock_database_as(stance, txn, EVERYTHING, MdlMode::Write)?;
                lasting(&mdl.get(EVERYTHING));
            }
            let databases: BTreeSet<&str> = tables.iter().map(|(t, _)| &*t.0).collect();
            for database in databases {
                self.lock_database_as(stance, txn, database, MdlMode::Shared)?;
                lasting(&mdl.get(database));
            }
            self.keep_ddl_out(stance, owner, tables)?;
            let mut sorted: Vec<_> = tables.iter().collect();
            sorted.sort();
            for ((database, name), write) in sorted {
                not_partition(database, name)?;
                let lock = mdl.get(&full_name(database, name));
                let mode = if *write {
                    MdlMode::Exclusive
                } else {
                    MdlMode::ReadOnly
                };
                mdl.lock_as(stance, owner, &lock, mode)?;
                lasting(&lock);
                if exist && self.catalog.table(txn, database, name)?.is_none() {
                    return Err(self.catalog.missing(database, name));
                }
            }
            Ok(())
        })
    }

    /// Locks what all DDL locks, beyond the end of transactions.
    pub(super) fn lock_definitions_lasting(&self, owner: &Arc<Owner>) -> Result<()> {
        if owner.lent() != 0 {
            return Ok(());
        }
        self.on_catalog(owner, |txn, _| {
            self.lock_database(txn, EVERYTHING, MdlMode::Write)?;
            let mdl = self.sys.mdl();
            mdl.make_lasting(owner, &mdl.get(EVERYTHING));
            Ok(())
        })
    }

    /// Keeps everybody from changing anything, beyond the end of transactions: first DDL is kept out, so that the tables there are
    /// stay those, then writers of each.
    pub(super) fn lock_everything(&self, owner: &Arc<Owner>) -> Result<()> {
        let mdl = self.sys.mdl();
        let locked = self.on_catalog(owner, |txn, _| {
            self.lock_database(txn, EVERYTHING, MdlMode::ReadOnly)?;
            mdl.make_lasting(owner, &mdl.get(EVERYTHING));
            for database in self.catalog.database_names(txn)? {
                for table in self.catalog.table_names(txn, &database)? {
                    let lock = mdl.get(&full_name(&database, &table));
                    mdl.lock(owner, &lock, MdlMode::ReadOnly)?;
                    mdl.make_lasting(owner, &lock);
                }
            }
            Ok(())
        });
        if locked.is_err() {
            mdl.release_lasting(owner);
        }
        locked
    }

    /// A table's row, locked for change. In a transaction that goes on its indexes have roots.
    pub(super) fn find(&self, txn: &mut Txn, database: &str, name: &str) -> Result<Found> {
        let found = self.find_as_is(txn, database, name)?;
        match self.root_trees(txn, &found.row)? {
            true => self.find_as_is(txn, database, name),
            false => Ok(found),
        }
    }

    /// The same for a table to which nobody writes any more if the transaction is kept.
    fn find_as_is(&self, txn: &mut Txn, database: &str, name: &str) -> Result<Found> {
        let key = row::table_key(database, name)?;
        let bytes = lock_row(&self.catalog.tables, txn, &key)?;
        let bytes = bytes.ok_or_else(|| self.catalog.missing(database, name))?;
        let row = row::decode_table(&bytes)?;
        if self.catalog.is_dropped(txn, &row.def)? {
            return Err(no_table(database, name));
        }
        Ok(Found { key, bytes, row })
    }

    pub(super) fn need_database(&self, txn: &mut Txn, name: &str) -> Result<()> {
        match self.catalog.database(txn, name)? {
            Some(_) => Ok(()),
            None => Err(Error::NoSuchDatabase(name.into())),
        }
    }

    pub(super) fn create_database(
        &self,
        owner: &Arc<Owner>,
        name: &str,
        body: &[u8],
    ) -> Result<()> {
        row::database_key(name)?;
        self.ddl(owner, |txn, _| {
            self.lock_database(txn, name, MdlMode::Exclusive)?;
            let new = row::encode_database(name, body);
            match self.catalog.databases.insert(txn, &new) {
                Err(Error::DuplicateKey { .. }) => Err(Error::DatabaseExists(name.into())),
                r => r,
            }
        })
    }

    pub(super) fn set_database_options(
        &self,
        owner: &Arc<Owner>,
        name: &str,
        body: &[u8],
    ) -> Result<()> {
        let key = row::database_key(name)?;
        self.ddl(owner, |txn, _| {
            self.lock_database(txn, name, MdlMode::Exclusive)?;
            let old = lock_row(&self.catalog.databases, txn, &key)?;
            let old = old.ok_or_else(|| Error::NoSuchDatabase(name.into()))?;
            let new = row::encode_database(name, body);
            self.catalog.databases.update(txn, &key, &old, &new)
        })
    }

    pub(super) fn create_table(&self, owner: &Arc<Owner>, table: NewTable) -> Result<()> {
        let row = self.new_row(table)?;
        self.insert_table(owner, vec![row])
    }

    /// Puts a new table's row into the catalog, and those of its partitions.
    pub(super) fn insert_table(&self, owner: &Arc<Owner>, mut rows: Vec<TableRow>) -> Result<()> {
        let (database, name) = (rows[0].def.database.clone(), rows[0].def.name.clone());
        row::table_key(&database, &name)?;
        self.ddl(owner, |txn, after| {
            self.lock_tables(txn, [(&*database, &*name)].into_iter())?;
            self.need_database(txn, &database)?;
            let below = self.catalog.dropped_below(txn, &database)?;
            for row in rows.iter_mut().filter(|r| r.def.id < below) {
                // A database of this name was dropped since the ids were taken.
                row.def.id = self.new_table_id()?;
            }
            let def = &rows[0].def;
            self.keep_tablespace(txn, def.file)?;
            // First, so that the transaction's last changes are the definitions'.
            self.note_member(txn, None, Some(def))?;
            self.note_relations(&mut after.relations, None, Some(def));
            if txn.defines() && self.find_taken(txn, &database, &name)? {
                return Err(Error::TableExists(format!("{database}.{name}")));
            }
            for row in &mut rows {
                self.found_trees(txn, &mut row.def, after)?;
                match self.insert_row(txn, row, after) {
                    Err(Error::DuplicateKey { index: 0 }) => {
                        return Err(Error::TableExists(format!("{database}.{name}")));
                    }
                    r => r?,
                }
            }
            Ok(())
        })
    }

    /// Inserts a table's or partition's row.
    pub(super) fn insert_row(
        &self,
        txn: &mut Txn,
        row: &TableRow,
        after: &mut Aftermath,
    ) -> Result<()> {
        let def = &row.def;
        self.make_way(txn, &def.database, &def.name, after)?;
        self.catalog.touch(txn, def.id, &def.database, &def.name);
        self.catalog.tables.insert(txn, &row::encode_table(row)?)
    }

    /// Whether a locked name is a table's.
    fn find_taken(&self, txn: &mut Txn, database: &str, name: &str) -> Result<bool> {
        match self.find_as_is(txn, database, name) {
            Ok(_) => Ok(true),
            Err(Error::NoSuchTable(_) | Error::NoSuchDatabase(_)) => Ok(false),
            Err(e) => Err(e),
        }
    }

    pub(super) fn new_row(&self, table: NewTable) -> Result<TableRow> {
        let default = || Place::file_per_table(self.file_per_table.load(Ordering::Relaxed));
        let file = match table.place.unwrap_or_else(default) {
            Place::OwnFile => self.pager.new_file_id()?,
            Place::In(file) => file,
        };
        let mut indexes = Vec::with_capacity(table.indexes.len());
        for (name, unique, body) in table.indexes {
            indexes.push(IndexDef {
                name,
                unique,
                space: self.pager.new_space_id()?,
                root: 0,
                body,
            });
        }
        Ok(TableRow {
            created: vec![0; indexes.len()],
            def: TableDef {
                id: self.new_table_id()?,
                database: table.database,
                name: table.name,
                file,
                hidden_row_id: table.hidden_row_id,
                partitioned: false,
                indexes,
                body: table.body,
            },
            version: 0,
            auto_increment: table.auto_increment,
        })
    }

    pub(super) fn new_table_id(&self) -> Result<u64> {
        self.new_table_ids(1)
    }

    /// Ids one behind the other; the first.
    pub(super) fn new_table_ids(&self, count: u64) -> Result<u64> {
        Ok(SpaceId::FIRST_USER + self.pager.counter(TABLE_IDS).fetch_add(count)?)
    }

    /// `alone`: no other table refers to one of them.
    pub(super) fn drop_tables(
        &self,
        owner: &Arc<Owner>,
        names: &[TableName],
        alone: bool,
    ) -> Result<()> {
        self.ddl(owner, |txn, after| {
            self.lock_tables(txn, names.iter().map(|(d, n)| (&**d, &**n)))?;
            if alone {
                self.refuse_referenced(txn, names)?;
            }
            for (database, name) in names {
                self.drop_one(txn, database, name, after)?;
            }
            Ok(())
        })
    }

    /// Drops a table, with its partitions.
    pub(super) fn drop_one(
        &self,
        txn: &mut Txn,
        database: &str,
        name: &str,
        after: &mut Aftermath,
    ) -> Result<()> {
        if !self.catalog.objects_of(txn, database, name)?.is_empty() {
            self.refuse_joined(txn, "DROP TABLE of a table with triggers")?;
        }
        self.catalog.drop_objects_of(txn, database, name)?;
        let partitioned = self.drop_row(txn, database, name, after)?;
        if partitioned {
            for partition in self.catalog.partition_names(txn, database, name)? {
                self.drop_row(txn, database, &partition, after)?;
            }
        }
        Ok(())
    }

    /// Deletes a table's or partition's row and digs its graves. Whether it has partitions.
    pub(super) fn drop_row(
        &self,
        txn: &mut Txn,
        database: &str,
        name: &str,
        after: &mut Aftermath,
    ) -> Result<bool> {
        let found = self.find_as_is(txn, database, name)?;
        // First, so that the transaction's last changes are the catalog's: recovery tells DDL by them.
        self.catalog.keep_statistics(txn, found.row.def.id, None)?;
        self.note_member(txn, Some(&found.row.def), None)?;
        self.note_relations(&mut after.relations, Some(&found.row.def), None);
        self.catalog.tables.delete(txn, &found.key, &found.bytes)?;
        after.dig(&self.catalog, txn, &found.row.def)?;
        let id = found.row.def.id;
        self.catalog.invalidate_for(txn, id, database, name);
        Ok(found.row.def.partitioned)
    }

    pub(super) fn truncate_table(
        &self,
        owner: &Arc<Owner>,
        database: &str,
        name: &str,
        alone: bool,
    ) -> Result<()> {
        self.ddl(owner, |txn, after| {
            self.lock_tables(txn, [(database, name)].into_iter())?;
            if alone {
                self.refuse_referenced(txn, &[(database.into(), name.into())])?;
            }
            let partitioned = self.truncate_row(txn, database, name, true, after)?;
            if partitioned {
                for partition in self.catalog.partition_names(txn, database, name)? {
                    self.truncate_row(txn, database, &partition, true, after)?;
                }
            }
            Ok(())
        })
    }

    /// Gives a table or partition a new incarnation. `all`: no row of the table is left, in whichever partition. Whether it has
    /// partitions.
    pub(super) fn truncate_row(
        &self,
        txn: &mut Txn,
        database: &str,
        name: &str,
        all: bool,
        after: &mut Aftermath,
    ) -> Result<bool> {
        let found = self.find_as_is(txn, database, name)?;
        let mut new = found.row.clone();
        new.def.id = self.new_table_id()?;
        new.auto_increment = 0;
        if all && let Some(body) = self.codecs.emptied(&new.def) {
            new.def.body = body;
        }
        if new.def.file.is_own() {
            new.def.file = self.pager.new_file_id()?;
        }
        // What older views saw is gone: they are refused, as an empty table would be a lie.
        let by = self.sys.reserve(txn, 0)?.trx_id();
        for (index, created) in new.def.indexes.iter_mut().zip(&mut new.created) {
            index.space = self.pager.new_space_id()?;
            (index.root, *created) = (0, by);
        }
        self.found_trees(txn, &mut new.def, after)?;
        self.catalog
            .move_statistics(txn, found.row.def.id, new.def.id)?;
        self.note_member(txn, Some(&found.row.def), Some(&new.def))?;
        self.replace(txn, &found, &new, after)?;
        after.dig(&self.catalog, txn, &found.row.def)?;
        Ok(new.def.partitioned)
    }

    /// Replaces a table's row; open objects become invalid.
    pub(super) fn replace(
        &self,
        txn: &mut Txn,
        found: &Found,
        new: &TableRow,
        after: &mut Aftermath,
    ) -> Result<()> {
        self.note_relations(&mut after.relations, Some(&found.row.def), Some(&new.def));
        self.replace_row(txn, found, new)
    }

    /// The same for a change that leaves alone what the definition refers to.
    pub(super) fn replace_row(&self, txn: &mut Txn, found: &Found, new: &TableRow) -> Result<()> {
        let bytes = row::encode_table(new)?;
        let tables = &self.catalog.tables;
        tables.update(txn, &found.key, &found.bytes, &bytes)?;
        let def = &found.row.def;
        self.catalog
            .invalidate_for(txn, def.id, &def.database, &def.name);
        let def = &new.def;
        self.catalog.touch(txn, def.id, &def.database, &def.name);
        Ok(())
    }

    pub(super) fn rename_tables(
        &self,
        owner: &Arc<Owner>,
        pairs: &[Rename],
        bodies: &[(TableName, Vec<u8>)],
    ) -> Result<()> {
        self.ddl(owner, |txn, after| {
            self.lock_pairs(txn, pairs, bodies)?;
            self.put_bodies(txn, bodies, &mut after.relations)?;
            for (from, to) in pairs {
                self.rename_one(txn, from, to, None, after)?;
            }
            Ok(())
        })
    }

    /// Renames in order; what the last pair renames was built anew from rows that older views may know, and takes over what is
    /// known about the table that the first pair renames, if there are several.
    pub(super) fn place_table(
        &self,
        owner: &Arc<Owner>,
        pairs: &[Rename],
        bodies: &[(TableName, Vec<u8>)],
    ) -> Result<()> {
        self.ddl(owner, |txn, after| {
            self.lock_pairs(txn, pairs, bodies)?;
            self.put_bodies(txn, bodies, &mut after.relations)?;
            let Some(((from, to), others)) = pairs.split_last() else {
                return Ok(());
            };
            for (from, to) in others {
                self.rename_one(txn, from, to, None, after)?;
            }
            if let Some((_, replaced)) = others.first() {
                let old = self.find(txn, &replaced.0, &replaced.1)?.row.def.id;
                let new = self.find(txn, &from.0, &from.1)?.row.def.id;
                self.catalog.move_statistics(txn, old, new)?;
            }
            let by = self.sys.reserve(txn, 0)?.trx_id();
            self.rename_one(txn, from, to, Some(by), after)
        })
    }

    fn lock_pairs(
        &self,
        txn: &mut Txn,
        pairs: &[Rename],
        bodies: &[(TableName, Vec<u8>)],
    ) -> Result<()> {
        let names = pairs.iter().flat_map(|(from, to)| [from, to]);
        let names = names.chain(bodies.iter().map(|(name, _)| name));
        self.lock_tables(txn, names.map(|(d, n)| (&**d, &**n)))?;
        pairs
            .iter()
            .try_for_each(|(from, to)| self.admit(txn, from, &to.0))
    }

    /// Renames a table and its partitions. `built`: the transaction that built it.
    pub(super) fn rename_one(
        &self,
        txn: &mut Txn,
        (from_db, from): &TableName,
        (to_db, to): &TableName,
        built: Option<TrxId>,
        after: &mut Aftermath,
    ) -> Result<()> {
        let found = self.find(txn, from_db, from)?;
        self.need_database(txn, to_db)?;
        let exists = || Error::TableExists(format!("{to_db}.{to}"));
        // What is built anew comes from a database of its own, and takes its place as the objects' table.
        if from_db == to_db {
            if !self.catalog.objects_of(txn, from_db, from)?.is_empty() {
                self.refuse_joined(txn, "RENAME TABLE of a table with triggers")?;
            }
            self.catalog.move_objects(txn, from_db, from, to)?;
        }
        if (from_db, from) == (to_db, to) {
            return Err(exists());
        }
        match self.rename_row(txn, &found, to_db, to, built, after) {
            Err(Error::DuplicateKey { index: 0 }) => return Err(exists()),
            r => r?,
        }
        if found.row.def.partitioned {
            for name in self.catalog.partition_names(txn, from_db, from)? {
                let part = self.find(txn, from_db, &name)?;
                let suffix = row::split_partition(&name).map_or("", |(_, p)| p);
                let to = row::partition_name(to, suffix);
                self.rename_row(txn, &part, to_db, &to, built, after)?;
            }
        }
        Ok(())
    }

    /// Gives a row another name.
    pub(super) fn rename_row(
        &self,
        txn: &mut Txn,
        found: &Found,
        database: &str,
        name: &str,
        built: Option<TrxId>,
        after: &mut Aftermath,
    ) -> Result<()> {
        let mut new = found.row.clone();
        if let Some(by) = built {
            new.created.fill(by);
        }
        new.version += 1;
        new.def.database = database.into();
        new.def.name = name.into();
        if self.catalog.is_dropped(txn, &new.def)? {
            let what = format!("{database}.{name} would be one of those that were dropped");
            return Err(Error::Invalid(what));
        }
        self.make_way(txn, database, name, after)?;
        self.replace(txn, found, &new, after)
    }
}

/// The grave of one of the table's indexes.
pub(super) fn grave_of(index: &IndexDef, def: &TableDef) -> Grave {
    Grave {
        space: index.space,
        more: 0,
        file: def.file,
        root: index.root,
        whole_file: false,
        late: Late::now(def, &index.name),
    }
}

/// Partitions are reached through their tables only, and the catalog's own tables not at all.
pub(super) fn not_partition(database: &str, name: &str) -> Result<()> {
    match row::split_partition(name) {
        None if database != CATALOG_DATABASE => Ok(()),
        _ => Err(no_table(database, name)),
    }
}

/// The newest version of a catalog row, locked exclusively.
pub(crate) fn lock_row(table: &Table, txn: &mut Txn, key: &[u8]) -> Result<Option<Vec<u8>>> {
    lock_row_by(WaitPolicy::Wait, table, txn, key)
}

/// The same, with something else to do where the row is locked.
pub(super) fn lock_row_by(
    policy: WaitPolicy,
    table: &Table,
    txn: &mut Txn,
    key: &[u8],
) -> Result<Option<Vec<u8>>> {
    let (mut clustered, mut row) = (Vec::new(), Vec::new());
    let mode = ReadMode::Locking(LockMode::Exclusive, policy);
    let found = table.get(txn, 0, key, mode, &mut clustered, &mut row)?;
    Ok(found.then_some(row))
}
