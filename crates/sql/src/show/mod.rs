//! SHOW, DESCRIBE and information_schema.
//!
//! Everything shown is a [`VirtualTable`]: named columns and a producer of rows. SHOW statements and
//! ordinary SELECTs read the same tables, so that both filter, sort and join alike. The planner
//! asks [`find`] for a name that lies in a system schema and materialises the rows as it
//! does those of a derived table.
//!
//! | file | owns |
//! |---|---|
//! | `of` | SHOW statements as selections from virtual tables |
//! | `schema` | databases, tables, columns, indexes, constraints |
//! | `server` | variables, status, sessions, engines, character sets |
//! | `pool` | the buffer pool's instances |
//! | `watch` | the stall record, waits |
//! | `graveyard` | what DROP and TRUNCATE left to be given back |
//! | `partitions` | information_schema.PARTITIONS |
//! | `locks` | transactions, locks and who waits for whom |
//! | `logs` | the tables of MySQL's logs |
//! | `empty` | tables about things Millpond does not have |
//! | `statistics` | what optimizer statistics say |
//! | `create` | the text of SHOW CREATE TABLE |
//! | `table` | the one implementation of [`VirtualTable`] |
//!
//! Nothing here waits for a metadata lock: definitions are read from the catalog as of now, and a table
//! dropped meanwhile is left out.

pub(crate) mod create;
mod empty;
mod graveyard;
mod locks;
mod logs;
mod of;
mod partitions;
mod pool;
mod schema;
mod server;
mod statistics;
mod table;
mod watch;

use std::sync::Arc;

use crate::error::SqlResult;
use crate::result::ColumnMeta;
use crate::session::env::SessionEnv;
use crate::types::{Collation, SqlType};
use crate::value::Value;

pub(crate) use of::{Shown, describe, of};
pub(crate) use watch::truncate;

/// A column of a virtual table.
#[derive(Clone, Debug)]
pub struct VirtualColumn {
    /// Name, in the case that is shown.
    pub name: &'static str,
    /// Type.
    pub ty: SqlType,
    /// Whether it may be NULL.
    pub nullable: bool,
}

/// Receives the rows of a virtual table; an error ends the production.
pub type Emit<'a> = dyn FnMut(&[Value<'_>]) -> SqlResult<()> + 'a;

/// A table whose rows are computed when they are read.
pub trait VirtualTable: Send + Sync {
    /// Schema it belongs to, lower case (`information_schema`).
    fn database(&self) -> &str;
    /// Name, in the case that is shown.
    fn name(&self) -> &str;
    /// Columns.
    fn columns(&self) -> &[VirtualColumn];
    /// Produces the rows.
    fn rows(&self, session: &SessionEnv, asked: Asked<'_>, emit: &mut Emit<'_>) -> SqlResult<()>;
}

/// What a reader wants of a virtual table's rows. The producer may use it, and need not.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Columns (by position) that are compared for equality with a constant: rows that cannot match may be left out. The
    /// reader applies its whole condition to what it gets.
    pub known: &'a [(usize, Value<'a>)],
    /// Columns that are looked at, sorted; `None`: all. The others may have any value.
    pub read: Option<&'a [usize]>,
}

/// Schemas that are the system's own, sorted.
pub(crate) const SYSTEM_SCHEMAS: [&str; 3] = ["information_schema", "mysql", "performance_schema"];

/// The virtual table of this name, both compared without regard to case; `None` if `database` is not a
/// system schema or has no such table.
pub fn find(database: &str, name: &str) -> Option<Arc<dyn VirtualTable>> {
    if !is_system_schema(database) {
        return None;
    }
    all_of(&database.to_ascii_lowercase())
        .into_iter()
        .find(|t| t.name().eq_ignore_ascii_case(name))
        .map(|t| Arc::new(t) as Arc<dyn VirtualTable>)
}

/// Whether the schema consists of virtual tables (or is empty and the system's own).
pub fn is_system_schema(database: &str) -> bool {
    SYSTEM_SCHEMAS
        .iter()
        .any(|s| s.eq_ignore_ascii_case(database))
}

/// The tables of a system schema (lower-case name), by name.
fn all_of(database: &str) -> Vec<table::Virtual> {
    let mut tables = schema::tables(database);
    tables.extend(server::tables(database));
    tables.extend(watch::tables(database));
    tables.extend(graveyard::tables(database));
    tables.extend(empty::tables(database));
    tables.extend(logs::tables(database));
    tables.extend(locks::tables(database));
    tables.extend(partitions::tables(database));
    tables.extend(statistics::tables(database));
    tables.sort_by(|a, b| a.name().cmp(b.name()));
    tables
}

/// Metadata of a text column in a result that no plan makes.
pub(crate) fn meta(name: &str, length: u32) -> ColumnMeta {
    ColumnMeta {
        database: String::new(),
        table: String::new(),
        org_table: String::new(),
        name: name.to_string(),
        org_name: String::new(),
        ty: SqlType::varchar(length, Collation::Utf8mb4GeneralCi),
        flags: 0,
    }
}
