//! Wiring: open, recover, close; the handle everything above uses.
//!
//! | file | owns |
//! |---|---|
//! | `open` | creating, recovering, closing |
//! | `ddl` | CREATE, DROP, TRUNCATE, RENAME |
//! | `drop_database` | DROP DATABASE |
//! | `copy` | CREATE DATABASE ... LIKE |
//! | `dropped` | tables of dropped databases follow in the background |
//! | `index` | CREATE INDEX, DROP INDEX |
//! | `lent` | DDL within an open transaction |
//! | `online` | index builds while rows change |
//! | `follow` | the same for whoever writes a whole table anew |
//! | `fill` | empty tables that statements fill in bulk |
//! | `partition` | partitions of tables |
//! | `encryption` | the keys of a database that is encrypted |
//! | `temporary` | temporary tables |
//! | `reclaim` | the reclaimer: dead spaces' pages and files come home |
//! | `pace` | how fast it works |
//! | `redefine` | other definitions for rows that stay |
//! | `references` | tables that refer to others |
//! | `objects` | stored objects that are no tables |
//! | `statistics` | what the layer above has found out about tables |
//! | `tablespaces` | general tablespaces |
//! | `glance` | numbers of tables that are not open |
//! | `graveyard` | what is left to give back, for users |
//! | `check` | verification of everything |
//! | `status` | counters and the report |
//! | `unfinished` | rollback of what a crash left unfinished |
//!
//! **Threads.** The page cleaner (`pool`), purge (`txn`) and the reclaimer run from open to close; after a crash a thread rolls back what was unfinished. Dropping the last
//! handle stops them and writes nothing, as a crash would.
//! **Failure.** The first failed write of log or pages stops the engine: from then on commits fail with the cause,
//! reads go on ([`Engine::stopped`]).

mod check;
mod copy;
mod ddl;
mod drop_database;
mod dropped;
mod encryption;
mod fill;
mod follow;
mod glance;
mod graveyard;
mod index;
mod lent;
mod objects;
mod online;
mod open;
mod pace;
mod partition;
mod prepared;
mod reclaim;
mod redefine;
mod references;
mod statistics;
mod status;
mod tablespaces;
mod temporary;
#[cfg(test)]
mod tests;
mod unfinished;

use crate::backup::{self, Archive, BackupOptions, Manifest, OnProgress};
pub use crate::catalog::Behalf;
use crate::catalog::row::split_partition;
use crate::catalog::{
    CATALOG_DATABASE, Catalog, CodecFactory, Handler, IndexDef, TableDef, full_name,
};
use crate::crypt::{self, Keyring};
use crate::error::{Error, Result};
use crate::hash_index::HashOptions;
use crate::io::Storage;
use crate::log::{FlushAtCommit, OnDurable};
use crate::page::Lsn;
use crate::pool::{DropAlgorithm, IO_CAPACITY, IO_CAPACITY_MAX, Pager};
use crate::table::load::{Load, Means, PartLoads, RowOrder};
use crate::table::{RowCounts, Table};
use crate::txn::{
    Isolation, LockInfo, MdlMark, MdlMode, Owner, Savepoint, Snapshot, TrxId, Txn, TxnInfo,
    TxnSystem, WaitInfo, Xid,
};
pub use copy::{CopiedParts, CopiedTable, CopyDatabase};
pub(crate) use ddl::lock_row;
use dropped::Dropper;
use encryption::Encryption;
pub use fill::TableFill;
pub use follow::{Follow, RowFollower};
pub use lent::Lent;
pub use online::Beside;
use parking_lot::Mutex;
pub use partition::PartitionChange;
use reclaim::Reclaimer;
pub use redefine::Redefinition;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
pub use tablespaces::{Place, Tablespace};
pub use temporary::TemporaryChange;
use unfinished::Unfinished;

pub use glance::Glance;
pub use graveyard::{GraveInfo, GraveState};

/// How to open a database.
#[derive(Clone, Debug)]
pub struct Options {
    /// Buffer pool, bytes (5 MiB at least).
    pub pool_bytes: usize,
    /// Buffer pool instances; 0 chooses.
    pub pool_instances: usize,
    /// Redo log capacity, bytes.
    pub log_bytes: u64,
    /// When commits reach the disk.
    pub flush_at_commit: FlushAtCommit,
    /// Whether new tables get a file of their own unless they say otherwise.
    pub file_per_table: bool,
    /// Adaptive hash index.
    pub hash_index: HashOptions,
    /// Tables' files open at a time; 0: a quarter of what the system allows the process.
    pub open_files: usize,
    /// Bytes of dropped tables' space given back a second; 0: no limit.
    pub reclaim_bytes_per_sec: u64,
    /// Changed pages written a second where there is a choice; see [`Engine::set_io_capacity`].
    pub io_capacity: u64,
    /// The same where space is short.
    pub io_capacity_max: u64,
    /// What is done about cached pages of tables that go.
    pub drop_algorithm: DropAlgorithm,
    /// Bytes of row changes that an index build may be behind; see [`Engine::set_row_log_limit`].
    pub row_log_bytes: u64,
    /// Memory of each sort of a statement that builds indexes, bytes (`innodb_sort_buffer_size`).
    pub sort_bytes: u64,
    /// Memory of all sorts of such a statement together; see [`Engine::set_ddl_buffer`].
    pub ddl_bytes: u64,
    /// Bytes that row locks may take; 0: half the pool, 256 MiB at least. Beyond that statements fail with
    /// [`Error::LockTableFull`].
    pub lock_bytes: u64,
    /// Tables that are kept open though nobody uses them; see [`Engine::set_table_cache`].
    pub table_cache: usize,
    /// Bytes of memory that these may take, about; 0: an eighth of the pool, 32 MiB at least.
    pub table_cache_bytes: usize,
    /// Up to this many tables of a database are dropped by the statement that drops it; more follow it in the background.
    pub drop_at_once: usize,
    /// How to open a database that is damaged: `innodb_force_recovery`, 0 to [`FORCE_RECOVERY_MOST`]. Above 0 rows can be read,
    /// and tables dropped, but rows cannot be changed. 1: what recovery finds damaged is passed by. 2: neither purge nor the
    /// reclaimer runs. 3: what a crash left unfinished stays so, in the eyes of readers undone.
    pub force_recovery: u8,
    /// Where master keys come from. With a keyring a new database is encrypted, and only one that is can be opened; without, only one that isn't.
    pub keyring: Option<Arc<dyn Keyring>>,
}

/// Row locks may have this much memory, however small the pool is.
const LOCK_BYTES_LEAST: u64 = 256 << 20;

/// The highest [`Options::force_recovery`] there is.
pub const FORCE_RECOVERY_MOST: u8 = 3;

/// Default of [`Options::table_cache`], MySQL's.
pub const TABLE_CACHE: usize = 2000;
/// Open tables may take this much memory, however small the pool is.
const TABLE_CACHE_BYTES_LEAST: usize = 32 << 20;
/// Default of [`Options::drop_at_once`]: they take some ten milliseconds.
pub const DROP_AT_ONCE: usize = 1000;
/// Default of [`Options::row_log_bytes`].
pub const ROW_LOG_BYTES: u64 = 128 << 20;
/// Default of [`Options::sort_bytes`].
pub const SORT_BYTES: u64 = 16 << 20;
/// Default of [`Options::ddl_bytes`].
pub const DDL_BYTES: u64 = 64 << 20;
/// Default of [`Options::reclaim_bytes_per_sec`]: a terabyte comes home in half an hour, in steps of 26 MiB.
pub const RECLAIM_BYTES_PER_SEC: u64 = 512 << 20;

impl Options {
    /// Bytes that row locks may take.
    pub fn lock_limit(&self) -> u64 {
        match self.lock_bytes {
            0 => (self.pool_bytes as u64 / 2).max(LOCK_BYTES_LEAST),
            bytes => bytes,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            pool_bytes: 128 << 20,
            pool_instances: 0,
            log_bytes: 256 << 20,
            flush_at_commit: FlushAtCommit::Sync,
            file_per_table: false,
            hash_index: HashOptions::default(),
            open_files: 0,
            reclaim_bytes_per_sec: RECLAIM_BYTES_PER_SEC,
            io_capacity: IO_CAPACITY,
            io_capacity_max: IO_CAPACITY_MAX,
            drop_algorithm: DropAlgorithm::default(),
            row_log_bytes: ROW_LOG_BYTES,
            sort_bytes: SORT_BYTES,
            ddl_bytes: DDL_BYTES,
            lock_bytes: 0,
            table_cache: TABLE_CACHE,
            table_cache_bytes: 0,
            drop_at_once: DROP_AT_ONCE,
            force_recovery: 0,
            keyring: None,
        }
    }
}

/// A new table as the layer above asks for it; ids and spaces are the store's to give.
#[derive(Clone, Debug)]
pub struct NewTable {
    /// Database.
    pub database: String,
    /// Name.
    pub name: String,
    /// No primary key: the store keys rows by a hidden id.
    pub hidden_row_id: bool,
    /// Where its pages are to be; `None`: where the engine's default says.
    pub place: Option<Place>,
    /// Name, unique, body of each index, clustered first (also for a hidden row id).
    pub indexes: Vec<(String, bool, Vec<u8>)>,
    /// Columns and options, opaque.
    pub body: Vec<u8>,
    /// Where its AUTO_INCREMENT counter starts; 0: after the largest value in it.
    pub auto_increment: u64,
}

/// Database and name of a table.
pub type TableName = (String, String);
/// A table's old and new name.
pub type Rename = (TableName, TableName);

/// Numbers for SHOW STATUS, SHOW ENGINE INNODB STATUS and the metrics.
#[derive(Clone, Debug, Default)]
pub struct EngineStatus {
    /// (name as in SHOW STATUS, value), e.g. `Innodb_buffer_pool_pages_total`.
    pub counters: Vec<(&'static str, u64)>,
    /// Text sections of SHOW ENGINE INNODB STATUS.
    pub report: String,
}

/// An open database. Clone is cheap. Dropping the last clone closes without a clean shutdown;
/// call [`Engine::close`].
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

/// What [`Engine::hold_tables`] or [`Engine::hold_definitions`] locked; unlocked when this is dropped.
#[must_use]
pub struct HeldTables<'a> {
    engine: &'a Engine,
    owner: &'a Owner,
}

impl Drop for HeldTables<'_> {
    fn drop(&mut self) {
        self.engine.unlock_tables(self.owner);
    }
}

struct Inner {
    storage: Arc<dyn Storage>,
    /// `None`: the database is not encrypted.
    encryption: Option<Encryption>,
    pager: Arc<Pager>,
    sys: Arc<TxnSystem>,
    ctx: Arc<crate::table::Context>,
    catalog: Arc<Catalog>,
    handler: Arc<Handler>,
    codecs: Arc<dyn CodecFactory>,
    reclaimer: Arc<Reclaimer>,
    dropper: Dropper,
    /// Tables of a database that are dropped by the statement that drops it; more follow in the background.
    drop_at_once: usize,
    unfinished: Unfinished,
    file_per_table: AtomicBool,
    closed: AtomicBool,
    opened: Instant,
    /// Memory of each sort of a statement that builds indexes.
    sort_bytes: u64,
    /// Memory of all sorts of one such statement.
    ddl_bytes: AtomicU64,
    /// Bytes of row changes that an index build may be behind.
    row_log_limit: Arc<AtomicU64>,
    /// Empty tables that were filled in bulk by statements.
    fills: AtomicU64,
    /// Transactions that are with the engine for a statement, by their owners' numbers.
    lent: Mutex<HashMap<u32, Txn>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.unfinished.stop();
        self.dropper.stop();
        self.reclaimer.stop();
        self.sys.stop_purge();
    }
}

impl Engine {
    /// Opens (creating or recovering) the database in `storage`.
    pub fn open(
        storage: Arc<dyn Storage>,
        options: Options,
        codecs: Arc<dyn CodecFactory>,
    ) -> Result<Engine> {
        Ok(Engine(Arc::new(open::open(storage, options, codecs)?)))
    }
    /// Flushes everything, checkpoints, stops background threads. Fails if transactions are open.
    pub fn close(&self) -> Result<()> {
        open::close(&self.0)
    }
    /// A new connection's party.
    pub fn owner(&self) -> Arc<Owner> {
        self.0.sys.owner()
    }
    /// Starts a transaction (no id, no view, no cost yet).
    #[inline]
    pub fn begin(&self, owner: &Arc<Owner>, isolation: Isolation) -> Txn {
        self.0.sys.begin(owner, isolation)
    }
    /// Makes the read view now if there is none yet (START TRANSACTION WITH CONSISTENT SNAPSHOT). `None` at READ UNCOMMITTED, which has
    /// no view.
    pub fn snapshot<'t>(&self, txn: &'t mut Txn) -> Option<Snapshot<'t>> {
        self.0.sys.view(txn);
        txn.snapshot()
    }
    /// Tells the transaction that a new statement starts (READ COMMITTED takes a new view).
    #[inline]
    pub fn statement(&self, txn: &mut Txn) {
        self.0.sys.statement(txn);
    }
    /// Commits; durable on return per `flush_at_commit`. Releases all locks.
    #[inline]
    pub fn commit(&self, txn: Txn) -> Result<()> {
        if txn.defines() {
            return self.0.commit_defining(txn);
        }
        self.0.sys.commit(txn)
    }
    /// Commits, and leaves the wait until it is durable to [`Engine::when_durable`], to which the LSN returned is
    /// to be given; 0 means that there is nothing to wait for. Until then nobody may be told of the commit.
    pub fn commit_later(&self, txn: Txn) -> Result<Lsn> {
        if txn.defines() {
            // As all DDL it is durable before anything else.
            return self.0.commit_defining(txn).map(|()| 0);
        }
        self.0.sys.commit_later(txn)
    }
    /// Waits until commits up to `lsn` are durable.
    pub fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        self.0.pager.log().wait_durable(lsn)
    }
    /// Tells `who` when commits up to `lsn` are durable, or when they can't be made so.
    pub fn when_durable(&self, lsn: Lsn, who: Arc<dyn OnDurable>) {
        self.0.pager.log().when_durable(lsn, who);
    }
    /// Rolls back wholly. Releases all locks.
    pub fn rollback(&self, txn: Txn) -> Result<()> {
        if txn.defines() {
            return self.0.rollback_defining(txn);
        }
        self.0.sys.rollback(txn, &*self.0.handler)
    }
    /// Prepares a transaction under an XID that no other is prepared under. It keeps its locks and its owner, who may have no other transaction from
    /// now on ([`Owner::succeed`]). Nobody may be told before [`Engine::wait_durable`] with the LSN returned (0: there is nothing to wait for). If
    /// it fails the transaction comes back, to be rolled back.
    pub fn prepare(&self, txn: Txn, xid: Xid) -> std::result::Result<Lsn, Box<(Txn, Error)>> {
        if txn.defines() {
            let why = Error::NotInTransaction("XA PREPARE".into());
            return Err(Box::new((txn, why)));
        }
        self.0.sys.prepare(txn, xid)
    }
    /// Commits a prepared transaction, as [`Engine::commit`] does; whether there was one under the XID that nobody is ending.
    pub fn commit_prepared(&self, xid: &Xid) -> Result<bool> {
        self.0.sys.commit_prepared(xid)
    }
    /// Rolls a prepared transaction back, durably; whether there was one under the XID that nobody is ending.
    pub fn rollback_prepared(&self, xid: &Xid) -> Result<bool> {
        self.0.sys.rollback_prepared(xid, &*self.0.handler)
    }
    /// XIDs of prepared transactions that nobody is ending, those of before a crash among them, in order.
    pub fn prepared(&self) -> Vec<Xid> {
        self.0.sys.prepared()
    }
    /// Whether a transaction is prepared under the XID, or one that differs in its format alone.
    pub fn is_taken(&self, xid: &Xid) -> bool {
        self.0.sys.is_taken(xid)
    }
    /// Undoes everything after the savepoint; keeps locks, as InnoDB does. After a failure the transaction can only be rolled back.
    pub fn rollback_to(&self, txn: &mut Txn, to: Savepoint) -> Result<()> {
        if txn.defines() {
            return self.0.rollback_defining_to(txn, to);
        }
        self.0.sys.rollback_to(txn, to, &*self.0.handler)
    }
    /// The metadata locks that an owner holds now.
    pub fn metadata_mark(&self, owner: &Owner) -> MdlMark {
        self.0.sys.mdl().mark(owner)
    }
    /// Releases the metadata locks that an owner has taken since then: its transaction has done nothing with what they protect.
    pub fn release_metadata_since(&self, owner: &Owner, mark: &MdlMark) {
        self.0.sys.mdl().release_since(owner, mark);
    }
    /// Opens a table for the transaction (shared metadata lock to its end; one that a transaction has changed on whose behalf the thread is at work is
    /// under that one's).
    pub fn open_table(&self, txn: &mut Txn, database: &str, name: &str) -> Result<Arc<Table>> {
        ddl::not_partition(database, name)?;
        if let Some(open) = self.0.catalog.open_on_behalf(database, name) {
            return open;
        }
        let mdl = self.0.sys.mdl();
        let lock = mdl.get(&full_name(database, name));
        mdl.lock(txn.owner(), &lock, MdlMode::Shared)?;
        self.0.open_locked(txn, database, name)
    }
    /// The same for a statement that is about to write to the table: who waits to write has nothing of it that others wait for.
    /// What the transaction has of the table already is left to [`Table::pin_for_write`] to make more of.
    pub fn open_table_for_write(
        &self,
        txn: &mut Txn,
        database: &str,
        name: &str,
    ) -> Result<Arc<Table>> {
        ddl::not_partition(database, name)?;
        let mdl = self.0.sys.mdl();
        let lock = mdl.get(&full_name(database, name));
        if !mdl.holds(txn.owner(), &lock, MdlMode::Shared) {
            mdl.lock(txn.owner(), &lock, MdlMode::Write)?;
        }
        self.0.open_locked(txn, database, name)
    }
    /// A partition of a table that the transaction has opened or pinned: the one at position `at` of `count`, as the layer
    /// above orders them, and its name. Which position has which name is fixed while the table is valid.
    #[inline]
    pub fn partition(
        &self,
        table: &Arc<Table>,
        at: usize,
        count: usize,
        name: &str,
    ) -> Result<Arc<Table>> {
        self.0.open_partition(table, at, count, name)
    }
    /// Creates a database with opaque options (character set).
    pub fn create_database(&self, owner: &Arc<Owner>, name: &str, body: &[u8]) -> Result<()> {
        self.0.create_database(owner, name, body)
    }
    /// Gives a database other options.
    pub fn set_database_options(&self, owner: &Arc<Owner>, name: &str, body: &[u8]) -> Result<()> {
        self.0.set_database_options(owner, name, body)
    }
    /// Database names, sorted.
    pub fn databases(&self) -> Result<Vec<String>> {
        let catalog = &self.0.catalog;
        let mut names = catalog.read(|txn| catalog.database_names(txn))?;
        names.retain(|n| n != CATALOG_DATABASE);
        Ok(names)
    }
    /// Options of a database.
    pub fn database(&self, name: &str) -> Result<Vec<u8>> {
        let found = self
            .0
            .catalog
            .read(|txn| self.0.catalog.database(txn, name))?;
        found.ok_or_else(|| Error::NoSuchDatabase(name.into()))
    }
    /// Table names of a database, sorted.
    pub fn tables(&self, database: &str) -> Result<Vec<String>> {
        self.0.catalog.read(|txn| {
            if self.0.catalog.database(txn, database)?.is_none() {
                return Err(Error::NoSuchDatabase(database.into()));
            }
            self.0.catalog.table_names(txn, database)
        })
    }
    /// Definition of a table without opening it or locking anything.
    pub fn table_def(&self, database: &str, name: &str) -> Result<TableDef> {
        ddl::not_partition(database, name)?;
        let catalog = &self.0.catalog;
        let found = catalog.read(|txn| catalog.table(txn, database, name))?;
        Ok(found.ok_or_else(|| catalog.missing(database, name))?.def)
    }
    /// Creates a table: a catalog row, one commit; no page, no file.
    pub fn create_table(&self, owner: &Arc<Owner>, table: NewTable) -> Result<()> {
        self.0.create_table(owner, table)
    }
    /// Creates a table whose rows are in partitions, with these partitions, whose body is `partition_body`: as many catalog
    /// rows, one commit.
    pub fn create_partitioned(
        &self,
        owner: &Arc<Owner>,
        table: NewTable,
        partitions: &[String],
        partition_body: &[u8],
    ) -> Result<()> {
        self.0
            .create_partitioned(owner, table, partitions, partition_body)
    }
    /// Changes a table's partitions, in order, and its body with them, in one atomic step that depends on nothing they hold.
    /// `partition_body`: that of new partitions.
    pub fn alter_partitions(
        &self,
        owner: &Arc<Owner>,
        table: (&str, &str),
        changes: &[PartitionChange],
        body: Vec<u8>,
        partition_body: &[u8],
    ) -> Result<()> {
        self.0
            .alter_partitions(owner, table, changes, body, partition_body)
    }
    /// Drops several tables in one atomic step (all exist, or nothing happens and the first missing
    /// one is named). O(1) per table in everything the table holds.
    pub fn drop_tables(&self, owner: &Arc<Owner>, names: &[TableName]) -> Result<()> {
        self.0.drop_tables(owner, names, false)
    }
    /// Empties a table by giving it a new incarnation.
    pub fn truncate_table(&self, owner: &Arc<Owner>, database: &str, name: &str) -> Result<()> {
        self.0.truncate_table(owner, database, name, false)
    }
    /// Renames tables in order, atomically: (from, to) pairs of (database, name).
    pub fn rename_tables(&self, owner: &Arc<Owner>, pairs: &[Rename]) -> Result<()> {
        self.0.rename_tables(owner, pairs, &[])
    }
    /// The same; before that, by the same step, tables (by the names they have until then) get other bodies.
    pub fn rename_tables_with(
        &self,
        owner: &Arc<Owner>,
        pairs: &[Rename],
        bodies: &[(TableName, Vec<u8>)],
    ) -> Result<()> {
        self.0.rename_tables(owner, pairs, bodies)
    }
    /// As [`Engine::rename_tables`]; the last pair's table was filled anew from rows of an earlier incarnation, so
    /// views older than this are refused a read of it.
    pub fn place_table(&self, owner: &Arc<Owner>, pairs: &[Rename]) -> Result<()> {
        self.0.place_table(owner, pairs, &[])
    }
    /// The same, with `bodies` as for [`Engine::rename_tables_with`].
    pub fn place_table_with(
        &self,
        owner: &Arc<Owner>,
        pairs: &[Rename],
        bodies: &[(TableName, Vec<u8>)],
    ) -> Result<()> {
        self.0.place_table(owner, pairs, bodies)
    }
    /// Begins to fill a table that has no rows and that nobody else knows, in bulk; [`Engine::place_table`] is to make it known. `owner`:
    /// whose statement it is, asked whether it was killed.
    pub fn load(&self, owner: &Arc<Owner>, table: &Arc<Table>, order: RowOrder) -> Result<Load> {
        Load::start(table, order, self.0.means(owner, 0))
    }
    /// The same for the partitions of such a table.
    pub fn load_partitions(&self, owner: &Arc<Owner>, order: RowOrder) -> PartLoads {
        PartLoads::start(order, self.0.means(owner, 0))
    }
    /// Adds an index, built by sort and bulk load while reads and writes go on; `body` replaces the table's body.
    pub fn create_index(
        &self,
        owner: &Arc<Owner>,
        database: &str,
        name: &str,
        index: (String, bool, Vec<u8>),
        body: Vec<u8>,
    ) -> Result<()> {
        self.create_index_beside(owner, (database, name), index, body, Beside::Writes)
    }
    /// The same; what goes on beside it is for the caller to say.
    pub fn create_index_beside(
        &self,
        owner: &Arc<Owner>,
        table: (&str, &str),
        index: (String, bool, Vec<u8>),
        body: Vec<u8>,
        beside: Beside,
    ) -> Result<()> {
        self.0.create_index(owner, table, index, body, beside)
    }
    /// Changes at run time, for builds under way too, how many bytes of row changes an index build may be behind. Beyond
    /// that it fails with [`Error::RowLogFull`].
    pub fn set_row_log_limit(&self, bytes: u64) {
        self.0.row_log_limit.store(bytes, Ordering::Relaxed);
    }
    /// Changes at run time how much memory all sorts of a statement that builds indexes may have together (`innodb_ddl_buffer_size`). Each
    /// has its share of that, [`Options::sort_bytes`] at most, and [`crate::sort::LEAST_BUDGET`] at least.
    pub fn set_ddl_buffer(&self, bytes: u64) {
        self.0.ddl_bytes.store(bytes, Ordering::Relaxed);
    }
    /// Drops a secondary index; `body` replaces the table's body.
    pub fn drop_index(
        &self,
        owner: &Arc<Owner>,
        database: &str,
        name: &str,
        index: &str,
        body: Vec<u8>,
    ) -> Result<()> {
        self.0.drop_index(owner, database, name, index, body)
    }
    /// LOCK TABLES: metadata locks that outlive the owner's transactions, until [`Engine::unlock_tables`];
    /// exclusive (`true`) or such that others can read but not write. All tables exist and are locked, or none
    /// is. The owner has no transaction open and no such locks yet.
    pub fn lock_tables(&self, owner: &Arc<Owner>, tables: &[(TableName, bool)]) -> Result<()> {
        self.0.lock_tables_lasting(owner, tables)
    }
    /// The same until the guard is dropped, however that comes about.
    pub fn hold_tables<'a>(
        &'a self,
        owner: &'a Arc<Owner>,
        tables: &[(TableName, bool)],
    ) -> Result<HeldTables<'a>> {
        self.lock_tables(owner, tables)?;
        Ok(HeldTables {
            engine: self,
            owner,
        })
    }
    /// Lets nobody begin [`Engine::lock_everything`] until the guard is dropped; for a statement that takes several steps of
    /// DDL. The owner has no transaction open and no locks that last.
    pub fn hold_definitions<'a>(&'a self, owner: &'a Arc<Owner>) -> Result<HeldTables<'a>> {
        self.0.lock_definitions_lasting(owner)?;
        Ok(HeldTables {
            engine: self,
            owner,
        })
    }
    /// Keeps everybody else from changing rows and definitions until [`Engine::unlock_tables`]; waits for transactions that have
    /// written.
    pub fn lock_everything(&self, owner: &Arc<Owner>) -> Result<()> {
        self.0.lock_everything(owner)
    }
    /// Releases what [`Engine::lock_tables`] and [`Engine::lock_everything`] took.
    pub fn unlock_tables(&self, owner: &Owner) {
        self.0.sys.mdl().release_lasting(owner);
    }
    /// Ends [`Engine::lock_everything`] inside a transaction, which has what it read under it until its end.
    pub fn unlock_everything(&self, owner: &Owner) {
        self.0.sys.mdl().leave_lasting(owner);
    }
    /// Changes the commit durability at run time.
    pub fn set_flush_at_commit(&self, f: FlushAtCommit) {
        self.0.pager.log().set_flush_at_commit(f);
    }
    /// Changes at run time how many tables are kept open though nobody uses them (`table_definition_cache`). Those opened or found longest
    /// ago are closed first, as others are opened.
    pub fn set_table_cache(&self, tables: usize) {
        self.0.catalog.keep_open(tables);
    }
    /// Changes the file-per-table default at run time.
    pub fn set_file_per_table(&self, on: bool) {
        self.0.file_per_table.store(on, Ordering::Relaxed);
    }
    /// Turns the adaptive hash index on or off at run time; off empties it.
    pub fn set_hash_index(&self, on: bool) {
        self.0.pager.set_hash_index(on);
    }
    /// Changes at run time how many bytes of dropped tables' space are given back a second; 0: no limit.
    pub fn set_reclaim_rate(&self, bytes_per_sec: u64) {
        self.0.reclaimer.shared().set_rate(bytes_per_sec);
    }
    /// Changes at run time how many changed pages a second are written in place to keep the pool clean, and how many at most
    /// to keep the log from filling up (the higher of both). Where the log is all but full nothing limits it.
    pub fn set_io_capacity(&self, pages: u64, most: u64) {
        self.0.pager.set_io_capacity(pages, most);
    }
    /// How many of the tables' own files may be open at a time.
    pub fn open_files_limit(&self) -> usize {
        self.0.pager.open_files().1
    }
    /// Changes how many of the tables' own files may be open at a time.
    pub fn set_open_files_limit(&self, most: usize) {
        self.0.pager.set_open_files(most);
    }
    /// Visits what DDL left behind and has not been given back yet, by space id.
    pub fn each_grave(&self, f: &mut dyn FnMut(GraveInfo) -> ControlFlow<()>) -> Result<()> {
        self.0.each_grave(f)
    }
    /// Chooses what is done about cached pages of tables that go from now on.
    pub fn set_drop_algorithm(&self, algorithm: DropAlgorithm) {
        self.0.pager.set_drop_algorithm(algorithm);
    }
    /// What is done about cached pages of tables that go.
    pub fn drop_algorithm(&self) -> DropAlgorithm {
        self.0.pager.drop_algorithm()
    }
    /// A sorter for the layer above that uses about `budget` bytes of memory and temporary files beyond.
    pub fn sorter(&self, budget: usize) -> crate::sort::Sorter {
        crate::sort::Sorter::new(self.0.storage.clone(), budget)
    }
    /// One of several sorters that share the memory of one that builds an index.
    pub fn index_sorter(&self, several: usize) -> crate::sort::Sorter {
        let share = self.0.ddl_bytes.load(Ordering::Relaxed) / several.max(1) as u64;
        let bytes = self.0.sort_bytes.min(share);
        self.sorter(usize::try_from(bytes).unwrap_or(usize::MAX))
    }
    /// A temporary file for the layer above.
    pub fn temporary_file(&self) -> Result<crate::sort::TempFile> {
        crate::sort::TempFile::create(&self.0.storage)
    }
    /// Numbers about each buffer pool instance, and how they have grown since an earlier look.
    pub fn pool_instances(&self) -> Vec<crate::pool::InstanceLook> {
        self.0.pager.instance_looks()
    }
    /// Unfinished transactions that wrote or locked.
    pub fn transactions(&self) -> Vec<TxnInfo> {
        self.0.sys.transactions()
    }
    /// Calls `f` with each row lock that is held, until it breaks. Nobody waits for a listing.
    pub fn each_row_lock(&self, f: &mut dyn FnMut(LockInfo) -> ControlFlow<()>) {
        self.0.sys.each_row_lock(f);
    }
    /// Metadata locks that are held.
    pub fn metadata_locks(&self) -> Vec<LockInfo> {
        self.0.sys.metadata_locks()
    }
    /// Who waits for a lock, and for whom.
    pub fn waits(&self) -> Vec<WaitInfo> {
        self.0.sys.waits()
    }
    /// Calls `f` with the definition of each open table and partition, and of a partition its table's name and its own.
    #[allow(clippy::type_complexity)]
    pub fn each_open_table(&self, f: &mut dyn FnMut(&TableDef, Option<(&str, &str)>)) {
        self.0
            .catalog
            .each_open(&mut |def| f(def, split_partition(&def.name)));
    }
    /// Calls `f` as [`Engine::each_open_table`] does, with what each index was used for since the table was opened.
    #[allow(clippy::type_complexity)]
    pub fn each_table_use(&self, f: &mut dyn FnMut(&TableDef, Option<(&str, &str)>, &[RowCounts])) {
        self.0.catalog.each_open_object(&mut |table| {
            let counts = table.indexes.iter().map(|i| i.counts.read());
            let counts: Vec<RowCounts> = counts.collect();
            f(&table.def, split_partition(&table.def.name), &counts);
        });
    }
    /// Calls `f` with the definition of each table and partition there is, and of a partition its table's name and its own.
    #[allow(clippy::type_complexity)]
    pub fn each_table(&self, f: &mut dyn FnMut(&TableDef, Option<(&str, &str)>)) -> Result<()> {
        let catalog = &self.0.catalog;
        catalog.read(|txn| {
            catalog.each_table(txn, &mut |row| {
                if row.def.database != CATALOG_DATABASE {
                    f(&row.def, split_partition(&row.def.name));
                }
                Ok(())
            })
        })
    }
    /// Counters and the status report.
    pub fn status(&self) -> EngineStatus {
        self.0.status()
    }
    /// The error that stopped the engine, if one did.
    pub fn stopped(&self) -> Option<Arc<str>> {
        self.0.pager.log().stopped()
    }
    /// Copies the database as it is at some moment before this returns into `to`, which is empty, while it is read and written. One at a time:
    /// [`Error::BackupRuns`]. What is copied of an encrypted one is encrypted by a data key of its own.
    pub fn backup(
        &self,
        to: &dyn Storage,
        options: &BackupOptions,
        progress: OnProgress<'_>,
    ) -> Result<Manifest> {
        let encryption = self.0.encryption.as_ref();
        let encrypt = encryption.map(|e| || e.backup(to));
        let encrypt = encrypt.as_ref().map(|e| e as backup::Encrypt<'_, '_>);
        backup::take(&self.0.pager, to, encrypt, options, progress)
    }
    /// Begins to copy the log into `to` as it grows; see [`crate::backup`]. It is to be dropped before the database is closed.
    pub fn archive_log(&self, to: Arc<dyn Storage>) -> Result<Archive> {
        let to = match &self.0.encryption {
            Some(encryption) => encryption.archive(to)?,
            // Its segments would be taken for torn ones, and be written over.
            None if crypt::is_encrypted(&*to) => {
                let what = "the archive is encrypted, and the database is not; it takes a directory of its own";
                return Err(Error::Invalid(what.into()));
            }
            None => to,
        };
        Archive::start(&self.0.pager, to)
    }
    /// Where the log ends: what was done before is below, what is done from now on is above.
    pub fn log_end(&self) -> Lsn {
        self.0.pager.log().end_lsn()
    }
    /// Verifies every page, tree and catalog row; returns the problems found. Meant for a database at rest: changes
    /// meanwhile may show as problems that are none.
    pub fn check(&self) -> Result<Vec<String>> {
        self.0.check()
    }
}

impl Inner {
    /// What a load works with. `trx`: whose rows they are; 0: they are as old as anything.
    fn means(&self, owner: &Arc<Owner>, trx: TrxId) -> Means {
        Means {
            storage: self.storage.clone(),
            sort_bytes: self.sort_bytes,
            all_bytes: self.ddl_bytes.load(Ordering::Relaxed),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            owner: owner.clone(),
            trx,
        }
    }
}

fn no_table(database: &str, name: &str) -> Error {
    Error::NoSuchTable(format!("{database}.{name}"))
}

/// Convenience for tests and for DDL: an index as asked for.
pub fn new_index(def: &IndexDef) -> (String, bool, Vec<u8>) {
    (def.name.clone(), def.unique, def.body.clone())
}
