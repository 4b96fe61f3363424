//! The data dictionary: databases, tables and the graveyard, each a B+tree of the engine's own
//! spaces, changed by ordinary transactions. CREATE TABLE is one row; DROP TABLE removes it and adds
//! graveyard rows. The cache of open tables is keyed by name and tagged with the table's id.

use crate::error::Result;
use crate::page::PageNo;
use crate::space::{FileId, SpaceId};
use std::sync::Arc;

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
    /// Where its pages live (`FileId::SHARED`, or a file of its own).
    pub file: FileId,
    /// Whether the clustered key is a hidden row id (no primary key).
    pub hidden_row_id: bool,
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
}

/// Makes codecs from definitions; given to [`crate::Engine::open`], used in recovery and purge too.
pub trait CodecFactory: Send + Sync {
    /// The codec for a table.
    fn codec(&self, def: &TableDef) -> Result<Arc<dyn KeyCodec>>;
}
