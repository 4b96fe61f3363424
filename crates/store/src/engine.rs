//! Wiring: open, recover, close; the handle everything above uses.

use crate::catalog::{CodecFactory, IndexDef, TableDef};
use crate::error::Result;
use crate::io::Storage;
use crate::log::FlushAtCommit;
use crate::table::Table;
use crate::txn::{Isolation, Owner, Savepoint, Txn};
use std::sync::Arc;

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
}

impl Default for Options {
    fn default() -> Options {
        Options {
            pool_bytes: 128 << 20,
            pool_instances: 0,
            log_bytes: 256 << 20,
            flush_at_commit: FlushAtCommit::Sync,
            file_per_table: false,
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
    /// Own file; `None`: the engine's default.
    pub file_per_table: Option<bool>,
    /// Name, unique, body of each index, clustered first (also for a hidden row id).
    pub indexes: Vec<(String, bool, Vec<u8>)>,
    /// Columns and options, opaque.
    pub body: Vec<u8>,
}

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
pub struct Engine {}

impl Engine {
    /// Opens (creating or recovering) the database in `storage`.
    pub fn open(
        _storage: Arc<dyn Storage>,
        _options: Options,
        _codecs: Arc<dyn CodecFactory>,
    ) -> Result<Engine> {
        todo!()
    }
    /// Flushes everything, checkpoints, stops background threads. Fails if transactions are open.
    pub fn close(&self) -> Result<()> {
        todo!()
    }
    /// A new connection's party.
    pub fn owner(&self) -> Arc<Owner> {
        todo!()
    }
    /// Starts a transaction (no id, no view, no cost yet).
    pub fn begin(&self, _owner: &Arc<Owner>, _isolation: Isolation) -> Txn {
        todo!()
    }
    /// Makes the read view now (START TRANSACTION WITH CONSISTENT SNAPSHOT).
    pub fn snapshot(&self, _txn: &mut Txn) {
        todo!()
    }
    /// Tells the transaction that a new statement starts (READ COMMITTED takes a new view).
    pub fn statement(&self, _txn: &mut Txn) {
        todo!()
    }
    /// Commits; durable on return per `flush_at_commit`. Releases all locks.
    pub fn commit(&self, _txn: Txn) -> Result<()> {
        todo!()
    }
    /// Rolls back wholly. Releases all locks.
    pub fn rollback(&self, _txn: Txn) -> Result<()> {
        todo!()
    }
    /// Undoes everything after the savepoint; keeps locks, as InnoDB does.
    pub fn rollback_to(&self, _txn: &mut Txn, _to: Savepoint) -> Result<()> {
        todo!()
    }
    /// Opens a table for the transaction (shared metadata lock to its end).
    pub fn open_table(&self, _txn: &mut Txn, _database: &str, _name: &str) -> Result<Arc<Table>> {
        todo!()
    }
    /// Creates a database with opaque options (character set).
    pub fn create_database(&self, _owner: &Arc<Owner>, _name: &str, _body: &[u8]) -> Result<()> {
        todo!()
    }
    /// Drops a database and its tables, atomically; returns how many tables there were.
    pub fn drop_database(&self, _owner: &Arc<Owner>, _name: &str) -> Result<usize> {
        todo!()
    }
    /// Database names, sorted.
    pub fn databases(&self) -> Result<Vec<String>> {
        todo!()
    }
    /// Options of a database.
    pub fn database(&self, _name: &str) -> Result<Vec<u8>> {
        todo!()
    }
    /// Table names of a database, sorted.
    pub fn tables(&self, _database: &str) -> Result<Vec<String>> {
        todo!()
    }
    /// Definition of a table without opening it or locking anything.
    pub fn table_def(&self, _database: &str, _name: &str) -> Result<TableDef> {
        todo!()
    }
    /// Creates a table: a catalog row, one commit; no page, no file.
    pub fn create_table(&self, _owner: &Arc<Owner>, _table: NewTable) -> Result<()> {
        todo!()
    }
    /// Drops several tables in one atomic step (all exist, or nothing happens and the first missing
    /// one is named). O(1) per table in everything the table holds.
    pub fn drop_tables(&self, _owner: &Arc<Owner>, _names: &[(String, String)]) -> Result<()> {
        todo!()
    }
    /// Empties a table by giving it a new incarnation.
    pub fn truncate_table(&self, _owner: &Arc<Owner>, _database: &str, _name: &str) -> Result<()> {
        todo!()
    }
    /// Renames tables in order, atomically: (from, to) pairs of (database, name).
    pub fn rename_tables(
        &self,
        _owner: &Arc<Owner>,
        _pairs: &[((String, String), (String, String))],
    ) -> Result<()> {
        todo!()
    }
    /// Adds an index, built by sort and bulk load under the exclusive metadata lock; `body` replaces the
    /// table's body.
    pub fn create_index(
        &self,
        _owner: &Arc<Owner>,
        _database: &str,
        _name: &str,
        _index: (String, bool, Vec<u8>),
        _body: Vec<u8>,
    ) -> Result<()> {
        todo!()
    }
    /// Drops a secondary index; `body` replaces the table's body.
    pub fn drop_index(
        &self,
        _owner: &Arc<Owner>,
        _database: &str,
        _name: &str,
        _index: &str,
        _body: Vec<u8>,
    ) -> Result<()> {
        todo!()
    }
    /// Replaces a table's body and its indexes' bodies where rows need no change (comments, defaults).
    pub fn set_table_body(
        &self,
        _owner: &Arc<Owner>,
        _database: &str,
        _name: &str,
        _body: Vec<u8>,
    ) -> Result<()> {
        todo!()
    }
    /// Changes the commit durability at run time.
    pub fn set_flush_at_commit(&self, _f: FlushAtCommit) {
        todo!()
    }
    /// Changes the file-per-table default at run time.
    pub fn set_file_per_table(&self, _on: bool) {
        todo!()
    }
    /// Counters and the status report.
    pub fn status(&self) -> EngineStatus {
        todo!()
    }
    /// The error that stopped the engine, if one did.
    pub fn stopped(&self) -> Option<Arc<str>> {
        todo!()
    }
    /// Verifies every page, tree and catalog row; returns the problems found.
    pub fn check(&self) -> Result<Vec<String>> {
        todo!()
    }
}

/// Convenience for tests and for DDL: an index as asked for.
pub fn new_index(def: &IndexDef) -> (String, bool, Vec<u8>) {
    (def.name.clone(), def.unique, def.body.clone())
}
