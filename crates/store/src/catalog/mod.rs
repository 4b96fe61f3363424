//! The data dictionary: databases, tables and the graveyard, each a B+tree of the engine's own
//! spaces, changed by ordinary transactions. CREATE TABLE is one row; DROP TABLE removes it and adds
//! graveyard rows. The cache of open tables is keyed by name and tagged with the table's id.
//!
//! | file | owns |
//! |---|---|
//! | `row` | bytes of catalog rows and keys |
//! | `own` | the catalog's own tables: definitions, keys, roots |
//! | `pending` | definitions that an unfinished transaction has changed |
//! | `roots` | where the roots of indexes are recorded |
//! | `cache` | open tables, by name and by id |
//! | `statistics` | what the layer above has found out about tables |
//! | `references` | which tables refer to which |
//! | `tablespaces` | general tablespaces and the tables in them |
//! | `objects` | stored objects that are no tables |
//! | `dropped` | databases that were dropped and whose tables are to follow |
//! | `handler` | which table an undo record is about |
//!
//! **Promises.** At most one [`Core`](crate::table::Core) exists per table, so counters and roots have one truth. Whoever holds a table's metadata
//! lock and opens it by name gets the definition in force. Memory is bounded however many tables exist.
//! **Never does:** take a metadata lock.
//! **Lock order** (between metadata locks and page latches): a load lock, then a table's AUTO_INCREMENT counter; a name shard,
//! then an id shard. Load and counter locks may be held across I/O: they are one table's, or one of many shards'.

mod cache;
mod dropped;
mod handler;
mod keys;
mod objects;
mod own;
mod pending;
pub(crate) mod references;
mod roots;
pub(crate) mod row;
mod statistics;
mod tablespaces;

pub(crate) use dropped::Dropped;
pub(crate) use handler::Handler;
pub use keys::Keys;
pub(crate) use objects::OBJECTS;
pub use objects::{Object, ObjectKey};
pub(crate) use own::{OwnTable, tree_of};
pub use pending::Behalf;
pub(crate) use references::REFERENCES;
pub use references::{Constraint, ConstraintKind, References};
pub(crate) use statistics::STATISTICS;
pub use statistics::{CATALOG_DATABASE, ChangeBody};
pub(crate) use tablespaces::TABLESPACES;
pub use tablespaces::Tablespace;

use crate::error::{Error, Result};
use crate::page::PageNo;
use crate::space::{FileId, Space, SpaceId};
use crate::table::format::RowHeader;
use crate::table::{Context, Direction, Fetch, KeyRange, ReadMode, Table};
use crate::txn::{Owner, Txn};
use cache::Cache;
use parking_lot::Mutex;
use row::{Grave, TableRow};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// An index of a table. Position 0 in [`TableDef::indexes`] is the clustered index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDef {
    /// `PRIMARY`, `GEN_CLUST_INDEX` (hidden row id) or the user's name.
    pub name: String,
    /// Whether two rows may not share a key without NULLs.
    pub unique: bool,
    /// Its space; set by the store.
    pub space: SpaceId,
    /// Its root page, 0 before the first row; set by the store.
    pub root: PageNo,
    /// The upper layer's description of columns, prefixes and directions.
    pub body: Vec<u8>,
}

/// A table. `id`, spaces and roots are the store's; `body` is the upper layer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDef {
    /// Identity of this incarnation; a truncated or rebuilt table has a new one.
    pub id: u64,
    /// Database name.
    pub database: String,
    /// Table name.
    pub name: String,
    /// Where its pages live: `FileId::SHARED`, a general tablespace's, or a file of its own.
    pub file: FileId,
    /// Whether the clustered key is a hidden row id (no primary key).
    pub hidden_row_id: bool,
    /// Whether its rows are in partitions: tables of their own, which are named by it ([`crate::engine`]) and
    /// have no life without it. The spaces of its own indexes stay empty.
    pub partitioned: bool,
    /// Indexes, clustered first.
    pub indexes: Vec<IndexDef>,
    /// The upper layer's column definitions and options, opaque here.
    pub body: Vec<u8>,
}

/// Turns rows into keys; supplied by the layer above for each table definition.
pub trait KeyCodec: Send + Sync {
    /// Appends `row`'s key for index `index` (position), `memcmp`-ordered, to `out`. Returns whether a
    /// key part is NULL (then uniqueness does not apply). Never called for a hidden row id.
    fn key(&self, index: usize, row: &[u8], out: &mut Vec<u8>) -> Result<bool>;
    /// Whether index `index` has any number of entries for a row, none too ([`KeyCodec::keys`]), rather than one ([`KeyCodec::key`]).
    /// The clustered index has not. The answer does not change.
    fn is_multi(&self, _index: usize) -> bool {
        false
    }
    /// Adds the keys of `row`'s entries in such an index to `out`, in order ([`Keys::sort`]). None of their parts is NULL.
    fn keys(&self, _index: usize, _row: &[u8], _out: &mut Keys) -> Result<()> {
        Ok(())
    }
    /// Whether rows may be stored that were written under an earlier schema version than the definition's. If not, none is asked
    /// about. The answer does not change.
    fn has_earlier_versions(&self) -> bool {
        false
    }
    /// Whether a stored row was written under the definition's schema version. Asked under a page latch.
    fn is_current(&self, _row: &[u8]) -> bool {
        true
    }
    /// Replaces `out` by what the definition makes of a row that was written under an earlier schema version. Its keys are the same.
    fn upgrade(&self, row: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        out.extend_from_slice(row);
        Ok(())
    }
    /// Bytes of memory that what the layer above made of the definition takes, about, beside the definition as it is stored.
    fn memory_bytes(&self) -> usize {
        0
    }
    /// What the layer above made of the definition, for it to find again at the open table.
    fn decoded(&self) -> Option<Arc<dyn std::any::Any + Send + Sync>> {
        None
    }
}

/// Makes codecs from definitions; given to [`crate::Engine::open`], used in recovery and purge too.
pub trait CodecFactory: Send + Sync {
    /// The codec for a table.
    fn codec(&self, def: &TableDef) -> Result<Arc<dyn KeyCodec>>;
    /// What a definition is once its table has no rows, nor ever had; `None`: what it is.
    fn emptied(&self, _def: &TableDef) -> Option<Vec<u8>> {
        None
    }
    /// What a definition says about other tables.
    fn references(&self, _def: &TableDef) -> References {
        References::default()
    }
}

/// The open data dictionary.
pub(crate) struct Catalog {
    pub ctx: Arc<Context>,
    codecs: Arc<dyn CodecFactory>,
    pub databases: Arc<Table>,
    pub tables: Arc<Table>,
    pub graveyard: Arc<Table>,
    /// The table of statistics, once there is one.
    statistics: OnceLock<Arc<Table>>,
    /// The index of references, once there is one.
    references: OnceLock<Arc<Table>>,
    /// The table of tablespaces, once there is one.
    tablespaces: OnceLock<Arc<Table>>,
    /// The table of objects, once there is one.
    objects: OnceLock<Arc<Table>>,
    cache: Cache,
    /// Parties for reads on nobody's behalf. One for all would keep its oldest view while reads overlap, and purge
    /// from going on.
    readers: Mutex<Vec<Arc<Owner>>>,
    /// A table found missing last: purge asks for the same one again and again.
    last_missing: AtomicU64,
    /// Tables that are refused: kept open, for their cores say so.
    quarantined: Mutex<HashMap<u64, Arc<Table>>>,
    /// Transactions that have changed definitions and go on.
    pendings: pending::Pendings,
}

impl Catalog {
    /// Opens the catalog, making its trees if this is a new database. `most`: tables to be kept open, and bytes that these may take.
    pub fn open(
        ctx: &Arc<Context>,
        codecs: Arc<dyn CodecFactory>,
        most: (usize, usize),
    ) -> Result<Arc<Catalog>> {
        let roots = own::roots(&ctx.pager)?;
        let open = |t: OwnTable| Arc::new(own::open(ctx, t, &roots));
        let tables = open(OwnTable::Tables);
        let graveyard = open(OwnTable::Graveyard);
        let _ = ctx.tables.set(tables.indexes[0].clone());
        ctx.shared.set_roots(Box::new(roots::Recorded {
            tables: tables.indexes[0].clone(),
            ids: tables.indexes[1].clone(),
            graves: graveyard.indexes[0].clone(),
        }));
        Ok(Arc::new(Catalog {
            codecs,
            databases: open(OwnTable::Databases),
            tables,
            graveyard,
            statistics: OnceLock::new(),
            references: OnceLock::new(),
            tablespaces: OnceLock::new(),
            objects: OnceLock::new(),
            cache: Cache::new(most.0, most.1),
            readers: Mutex::default(),
            last_missing: AtomicU64::new(0),
            quarantined: Mutex::default(),
            pendings: pending::Pendings::default(),
            ctx: ctx.clone(),
        }))
    }

    /// The catalog's own table with this id.
    pub fn own(&self, id: u64) -> Option<&Arc<Table>> {
        [&self.databases, &self.tables, &self.graveyard]
            .into_iter()
            .find(|t| t.def.id == id)
    }

    /// Whether indexes of a table share a tree while they have no root.
    pub fn is_sharing(&self, def: &TableDef) -> bool {
        own::is_sharing(def)
    }

    /// Whether an index of a table has pages, or entries where small indexes have theirs; if that page can't be read it may. Nobody changes them
    /// meanwhile.
    pub fn has_anything(&self, def: &TableDef, index: &IndexDef) -> bool {
        let small = || own::is_sharing(def) && self.ctx.shared.has(index.space).unwrap_or(true);
        index.root != 0 || small()
    }

    /// Options of a database.
    pub fn database(&self, txn: &mut Txn, name: &str) -> Result<Option<Vec<u8>>> {
        let key = row::database_key(name)?;
        let found = lookup(&self.databases, txn, 0, &key)?;
        found.map(|(_, row)| row::database_body(&row)).transpose()
    }

    /// Row of a table.
    pub fn table(&self, txn: &mut Txn, database: &str, name: &str) -> Result<Option<TableRow>> {
        let key = row::table_key(database, name)?;
        let Some((_, row)) = lookup(&self.tables, txn, 0, &key)? else {
            return Ok(None);
        };
        let row = row::decode_table(&row)?;
        Ok((!self.is_dropped(txn, &row.def)?).then_some(row))
    }

    /// Row of a table by its id, be it one that was dropped with its database: there may be undo of it.
    fn table_by_id(&self, txn: &mut Txn, id: u64) -> Result<Option<TableRow>> {
        let found = lookup(&self.tables, txn, 1, &row::id_key(id))?;
        found.map(|(_, row)| row::decode_table(&row)).transpose()
    }

    /// Names of databases, sorted.
    pub fn database_names(&self, txn: &mut Txn) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let mut scan = scan(&self.databases, txn, Vec::new(), Fetch::Key)?;
        while let Some(row) = scan.next(txn)? {
            names.push(row::name_of(row.clustered_key)?);
        }
        names.retain(|name| !dropped::is_mark(name));
        Ok(names)
    }

    /// Names of a database's tables, sorted.
    pub fn table_names(&self, txn: &mut Txn, database: &str) -> Result<Vec<String>> {
        let mut names = Vec::new();
        self.each_table_name(txn, database, &mut |name| {
            names.push(name);
            Ok(())
        })?;
        Ok(names)
    }

    /// Visits the names of a database's tables in order.
    pub fn each_table_name(
        &self,
        txn: &mut Txn,
        database: &str,
        f: &mut dyn FnMut(String) -> Result<()>,
    ) -> Result<()> {
        let prefix = row::database_key(database)?;
        self.names(
            txn,
            database,
            prefix,
            &mut |name| match row::split_partition(&name) {
                None => f(name),
                Some(_) => Ok(()),
            },
        )
    }

    /// Stored names of a table's partitions, sorted.
    pub fn partition_names(
        &self,
        txn: &mut Txn,
        database: &str,
        table: &str,
    ) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let prefix = row::table_key(database, table)?;
        self.names(txn, database, prefix, &mut |name| {
            if row::split_partition(&name).is_some() {
                names.push(name);
            }
            Ok(())
        })?;
        Ok(names)
    }

    /// Visits the stored names of a database's tables and partitions whose keys begin with `prefix`.
    fn names(
        &self,
        txn: &mut Txn,
        database: &str,
        prefix: Vec<u8>,
        f: &mut dyn FnMut(String) -> Result<()>,
    ) -> Result<()> {
        let below = self.dropped_below(txn, database)?;
        // Ids are in rows; without a mark keys alone are read.
        let fetch = if below == 0 { Fetch::Key } else { Fetch::Row };
        let mut scan = scan(&self.tables, txn, prefix, fetch)?;
        while let Some(row) = scan.next(txn)? {
            if below == 0 || row::table_id(row.row)? >= below {
                f(row::names_of(row.clustered_key)?.1)?;
            }
        }
        Ok(())
    }

    /// Visits the rows of all tables.
    pub fn each_table(
        &self,
        txn: &mut Txn,
        f: &mut dyn FnMut(TableRow) -> Result<()>,
    ) -> Result<()> {
        let marks = self.dropped(txn)?.into_iter();
        let below: HashMap<String, u64> = marks.map(|m| (m.database, m.below)).collect();
        self.each_row(txn, &mut |row| match below.get(&row.def.database) {
            Some(below) if row.def.id < *below => Ok(()),
            _ => f(row),
        })
    }

    /// Visits the rows of a database's tables and partitions, by name, partitions behind their table.
    pub fn each_table_of(
        &self,
        txn: &mut Txn,
        database: &str,
        f: &mut dyn FnMut(TableRow) -> Result<()>,
    ) -> Result<()> {
        let below = self.dropped_below(txn, database)?;
        let prefix = row::database_key(database)?;
        let mut scan = scan(&self.tables, txn, prefix, Fetch::Row)?;
        while let Some(row) = scan.next(txn)? {
            if row::table_id(row.row)? >= below {
                f(row::decode_table(row.row)?)?;
            }
        }
        Ok(())
    }

    /// Visits the rows of all tables, those that were dropped with their database among them.
    pub fn each_row(&self, txn: &mut Txn, f: &mut dyn FnMut(TableRow) -> Result<()>) -> Result<()> {
        let mut scan = scan(&self.tables, txn, Vec::new(), Fetch::Row)?;
        while let Some(row) = scan.next(txn)? {
            f(row::decode_table(row.row)?)?;
        }
        Ok(())
    }

    /// Committed graveyard rows.
    pub fn graves(&self) -> Result<Vec<Grave>> {
        self.graves_after(None, usize::MAX)
    }

    /// How many graveyard rows a transaction sees.
    pub fn count_graves(&self, txn: &mut Txn) -> Result<u64> {
        let mut scan = scan(&self.graveyard, txn, Vec::new(), Fetch::Key)?;
        let mut count = 0;
        while scan.next(txn)?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Visits the files that tables have, those that were dropped with their database among them; one as often as tables are in it.
    pub fn each_file(&self, txn: &mut Txn, f: &mut dyn FnMut(FileId)) -> Result<()> {
        let mut scan = scan(&self.tables, txn, Vec::new(), Fetch::Row)?;
        while let Some(row) = scan.next(txn)? {
            f(row::table_file(row.row)?);
        }
        Ok(())
    }

    /// Up to `most` committed graveyard rows by space, from the one after `after` on.
    pub fn graves_after(&self, after: Option<SpaceId>, most: usize) -> Result<Vec<Grave>> {
        self.read_committed(|txn| {
            let mut graves = Vec::new();
            let lower = after.map(|s| s.0.to_be_bytes().to_vec());
            let range = KeyRange {
                lower: lower.map_or(Bound::Unbounded, Bound::Excluded),
                upper: Bound::Unbounded,
            };
            let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
            let mut scan = self.graveyard.scan(txn, 0, range, dir, mode, Fetch::Row)?;
            while graves.len() < most
                && let Some(row) = scan.next(txn)?
            {
                graves.push(row::decode_grave(row.row)?);
            }
            Ok(graves)
        })
    }

    /// The committed grave of a space.
    pub fn grave(&self, space: SpaceId) -> Result<Option<Grave>> {
        let key = space.0.to_be_bytes();
        let found = self.read_committed(|txn| lookup(&self.graveyard, txn, 0, &key))?;
        found.map(|(_, row)| row::decode_grave(&row)).transpose()
    }

    /// Whether an unfinished transaction has removed the grave of a space, whatever it did to it then.
    pub fn is_contested(&self, space: SpaceId) -> Result<bool> {
        let key = space.0.to_be_bytes();
        let newest = self.graveyard.indexes[0].tree.get(&key, RowHeader::read)?;
        let by = newest.flatten().map_or(0, |header| header.trx);
        Ok(self.ctx.sys.is_active(by))
    }

    /// Opens a table by name. The caller holds its metadata lock.
    pub fn open_table(&self, database: &str, name: &str) -> Result<Arc<Table>> {
        self.open_named(database, name, None)
    }

    /// Opens a partition of an open table, whose metadata lock the caller holds.
    pub fn open_partition(&self, table: &Table, partition: &str) -> Result<Arc<Table>> {
        let name = row::partition_name(&table.def.name, partition);
        let own = (&*table.def.database, &*name);
        if let Some(open) = self.open_private(table.private, own, Some(table)) {
            return open;
        }
        self.open_named(&table.def.database, &name, Some(table))
    }

    /// Why a table isn't found: its database isn't there either, or it alone.
    pub(crate) fn missing(&self, database: &str, name: &str) -> Error {
        let known = self.read(|txn| self.database(txn, database));
        match known {
            Ok(None) if database != CATALOG_DATABASE => Error::NoSuchDatabase(database.into()),
            _ => Error::NoSuchTable(format!("{database}.{name}")),
        }
    }

    fn open_named(&self, database: &str, name: &str, of: Option<&Table>) -> Result<Arc<Table>> {
        let full = full_name(database, name);
        if let Some(t) = self.cache.by_name(&full) {
            t.refuse_quarantined()?;
            return Ok(t);
        }
        let missing = || self.missing(database, name);
        let found = self.read_committed(|txn| self.table(txn, database, name))?;
        let id = found.ok_or_else(missing)?.def.id;
        let _loading = self.cache.loading(id);
        // Under the load lock the row is current: nobody closes an object of the table behind our back.
        let found = self.read_committed(|txn| self.table(txn, database, name))?;
        let row = found.ok_or_else(missing)?;
        let table = self.adopt(row, of)?;
        table.refuse_quarantined()?;
        self.cache.insert_name(full, &table);
        self.cache.trim(id)?;
        Ok(table)
    }

    /// Has a table refused by name from now on, for a transaction that a crash left unfinished cannot be rolled back in it;
    /// one with partitions as a whole. It can be dropped.
    pub fn quarantine(&self, table: &Arc<Table>, why: &Error) {
        let (database, name) = (&table.def.database, &table.def.name);
        let name = row::split_partition(name).map_or(&**name, |(of, _)| of);
        let what: Arc<str> = format!(
            "table {database}.{name} is quarantined, for an unfinished transaction cannot be rolled back in it ({why}); drop it, or \
             read it with innodb_force_recovery=3"
        )
        .into();
        tracing::error!("{what}");
        let _ = table.core.quarantine.set(what.clone());
        let mut all = vec![table.clone()];
        // Of the others the thread that rolls back would learn one by one.
        match self.family(database, name) {
            Ok(others) => all.extend(others),
            Err(e) => tracing::error!("the table's partitions are not known: {e}"),
        }
        let mut quarantined = self.quarantined.lock();
        for table in all {
            let _ = table.core.quarantine.set(what.clone());
            quarantined.insert(table.def.id, table);
        }
    }

    /// A table and its partitions.
    fn family(&self, database: &str, name: &str) -> Result<Vec<Arc<Table>>> {
        let ids = self.read_committed(|txn| {
            let mut names = self.partition_names(txn, database, name)?;
            names.push(name.into());
            let mut ids = Vec::with_capacity(names.len());
            for name in names {
                let row = self.table(txn, database, &name)?;
                ids.extend(row.map(|r| r.def.id));
            }
            Ok(ids)
        })?;
        let mut tables = Vec::with_capacity(ids.len());
        for id in ids {
            tables.extend(self.by_id(id)?);
        }
        Ok(tables)
    }

    /// Tables and partitions that are refused.
    pub fn quarantined(&self) -> usize {
        self.quarantined.lock().len()
    }

    /// The table with this id, for undo and purge; `None` if it is gone.
    pub fn by_id(&self, id: u64) -> Result<Option<Arc<Table>>> {
        if let Some(t) = self.own(id) {
            return Ok(Some(t.clone()));
        }
        if let Some(t) = self.cache.by_id(id)
            && t.valid.load(Ordering::Acquire)
        {
            return Ok(Some(t));
        }
        if self.last_missing.load(Ordering::Relaxed) == id {
            return Ok(None);
        }
        let _loading = self.cache.loading(id);
        let own = self.is_any_pending();
        match self.read_committed(|txn| self.table_by_id(txn, id))? {
            Some(row) => {
                let table = self.adopt(row, None)?;
                self.cache.trim(id)?;
                Ok(Some(table))
            }
            // It may be a transaction's that is to commit.
            None if own => Ok(None),
            None => {
                self.last_missing.store(id, Ordering::Relaxed);
                Ok(None)
            }
        }
    }

    /// The object for a row: the open one if it is of this version, else a new one that takes over its core.
    /// `of`: the table of a partition, whose codec serves all its partitions, as they have the same rows and indexes.
    fn adopt(&self, row: TableRow, of: Option<&Table>) -> Result<Arc<Table>> {
        let codec = self.codec_of(&row, of)?;
        let id = row.def.id;
        Ok(self.cache.adopt(id, row.version, |old| {
            own::open_user(&self.ctx, row, codec, old)
        }))
    }

    fn codec_of(&self, row: &TableRow, of: Option<&Table>) -> Result<Arc<dyn KeyCodec>> {
        Ok(match of {
            Some(table) => table.codec.clone(),
            None if row.def.database == CATALOG_DATABASE => {
                Arc::new(OwnTable::named(&row.def.name))
            }
            None => self.codecs.codec(&row.def)?,
        })
    }

    /// The object of a table as a row that is not in force yet will have it: for who makes it so, and nobody else.
    pub fn prospective(&self, row: TableRow, now: &Arc<Table>) -> Arc<Table> {
        let codec = now.codec.clone();
        Arc::new(own::open_user(&self.ctx, row, codec, Some(now)))
    }

    /// Before DDL on a table commits: nobody gets the object by name any more, and who has it finds it invalid.
    /// The caller holds the exclusive metadata lock.
    pub fn invalidate(&self, id: u64, database: &str, name: &str) {
        self.cache.invalidate(id, &full_name(database, name));
    }

    /// The same for all tables of a database.
    pub fn invalidate_database(&self, database: &str) {
        self.cache.invalidate_database(database);
    }

    /// The object of the table with this id that is in memory, be it one of before its last change: the core is the same.
    pub fn known_by_id(&self, id: u64) -> Option<Arc<Table>> {
        let quarantined = || self.quarantined.lock().get(&id).cloned();
        self.cache.by_id(id).or_else(quarantined)
    }

    /// Whether the table with this id is open.
    pub fn is_open(&self, id: u64) -> bool {
        self.cache.by_id(id).is_some()
    }

    /// The object of a table if it is open by name.
    pub fn opened(&self, database: &str, name: &str) -> Option<Arc<Table>> {
        self.cache.by_name(&full_name(database, name))
    }

    /// After DDL that ended some spaces has committed: they die. `gone`: the table itself does.
    /// `small`: those among them that have no page of their own.
    pub fn bury(&self, id: u64, spaces: &[(SpaceId, FileId)], small: &[SpaceId], gone: bool) {
        // Whoever loads the table by id has either entered it into the cache by now or will not find it.
        let _loading = self.cache.loading(id);
        let table = if gone {
            self.cache.remove_id(id)
        } else {
            self.cache.by_id(id)
        };
        if gone {
            self.quarantined.lock().remove(&id);
        }
        let _maintenance = table.as_ref().map(|t| t.core.maintenance.write());
        let pager = &self.ctx.pager;
        let of = |&(space, file): &(SpaceId, FileId)| pager.space(space, file);
        let spaces: SmallVec<[Arc<Space>; 4]> = spaces.iter().map(of).collect();
        if !spaces.is_empty() {
            pager.drop_spaces(&spaces);
        }
        // Nobody has their trees who has not opened the table.
        if table.is_some() {
            for &space in small {
                pager.drop_pageless(&pager.space(space, FileId::SHARED));
            }
        }
    }

    /// Writes the counters of all open tables into their rows, for a clean close.
    pub fn save_counters(&self) -> Result<()> {
        self.cache.each(|t| {
            if t.is_saved() || t.valid.load(Ordering::Acquire) {
                return t.save_auto_increment();
            }
            // It was renamed, perhaps, and nobody has opened it by its new name.
            let now = self.by_id(t.def.id)?;
            now.map_or(Ok(()), |t| t.save_auto_increment())
        })
    }

    /// Calls `f` with the definition of each open table and partition.
    pub fn each_open(&self, f: &mut dyn FnMut(&TableDef)) {
        self.each_open_object(&mut |table| f(&table.def));
    }

    /// The same with the objects of the tables.
    pub fn each_open_object(&self, f: &mut dyn FnMut(&Table)) {
        // `each` fails only with what it is given.
        let _ = self.cache.each(|table| {
            f(table);
            Ok(())
        });
    }

    /// Open tables.
    pub fn open_tables(&self) -> usize {
        self.cache.len()
    }

    /// Bytes that they take, about.
    pub fn open_table_bytes(&self) -> usize {
        self.cache.bytes()
    }

    /// Changes how many tables are kept open.
    pub fn keep_open(&self, tables: usize) {
        self.cache.set_tables(tables);
    }
}

/// The key of the name cache and of metadata locks.
pub(crate) fn full_name(database: &str, name: &str) -> String {
    let mut full = String::with_capacity(database.len() + name.len() + 1);
    full.push_str(database);
    full.push('\0');
    full.push_str(name);
    full
}

/// Clustered key and row of a catalog row by a unique key.
pub(crate) fn lookup(
    table: &Table,
    txn: &mut Txn,
    index: usize,
    key: &[u8],
) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let (mut clustered, mut row) = (Vec::new(), Vec::new());
    let mode = ReadMode::Consistent;
    let found = table.get(txn, index, key, mode, &mut clustered, &mut row)?;
    Ok(found.then_some((clustered, row)))
}

fn scan<'t>(
    table: &'t Table,
    txn: &mut Txn,
    prefix: Vec<u8>,
    fetch: Fetch,
) -> Result<crate::table::Scan<'t>> {
    let bound = |b| {
        if prefix.is_empty() {
            Bound::Unbounded
        } else {
            b
        }
    };
    let range = KeyRange {
        lower: bound(Bound::Included(prefix.clone())),
        upper: bound(Bound::Included(prefix.clone())),
    };
    let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
    table.scan(txn, 0, range, dir, mode, fetch)
}
