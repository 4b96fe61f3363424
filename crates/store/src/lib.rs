//! Millpond's storage engine. It knows no SQL and no network: rows are bytes, keys are bytes
//! compared with `memcmp`, and a [`KeyCodec`] supplied from above turns one into the other.
//!
//! Layers, top to bottom (each uses only those below it):
//!
//! | module | owns |
//! |---|---|
//! | [`engine`] | wiring: open, recover, close; the public handle |
//! | [`backup`] | copies of an open database, and databases made of them |
//! | [`table`] | rows in and out: versions, secondary indexes, scans, DDL |
//! | [`catalog`] | the data dictionary: tables as rows |
//! | [`txn`] | ids, read views, undo, purge, row locks, metadata locks |
//! | [`sort`] | external merge sort |
//! | [`btree`] | B+trees over pages |
//! | `hash_index` | adaptive hash index over leaf pages |
//! | [`pool`] | buffer pool, mini-transactions, page cleaner, checkpoints |
//! | [`space`] | files, spaces, extents |
//! | [`log`] | redo log |
//! | [`page`] | page header, slotted page |
//! | [`usage`] | what threads use of the machine |
//! | [`wait`] | how long threads wait for latches and locks, by class |
//! | [`crypt`] | encryption at rest: a storage around a storage, and keyrings |
//! | [`io`] | the storage trait: real files, and a simulation that fails |
//!
//! Lock order is documented in `docs/locking.md`, the file format in `docs/file-format.md`.

pub mod backup;
pub mod btree;
pub mod catalog;
pub mod crypt;
pub mod engine;
pub mod error;
pub mod hash_index;
pub mod io;
pub mod log;
pub mod page;
pub mod pool;
pub mod sort;
pub mod space;
pub mod table;
pub mod txn;
pub mod usage;
pub mod wait;

pub use catalog::{
    CATALOG_DATABASE, ChangeBody, CodecFactory, Constraint, ConstraintKind, IndexDef, KeyCodec,
    Keys, Object, ObjectKey, References, TableDef,
};
pub use engine::{Engine, Options, TableFill};
pub use error::{Error, Result};
pub use log::OnDurable;
pub use pool::{DropAlgorithm, PageWork};
pub use table::{
    BATCH_ROWS, BatchScan, ChangeCount, ChangedTables, Checked, Direction, EntryFilter, FaultKind,
    Fetch, IndexFault, KeyRange, Load, Noted, PartLoads, ReadMode, Refused, RowBatch, RowCounts,
    RowOrder, Scan, ScanRow, Table, TableSize,
};
pub use txn::{Isolation, LockMode, Owner, Savepoint, Snapshot, Txn, WaitPolicy, Xid};
