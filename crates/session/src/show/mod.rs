//! SHOW, DESCRIBE and information_schema.
//!
//! Everything shown is a [`VirtualTable`]: named columns and a producer of rows. SHOW statements and
//! ordinary SELECTs read the same tables, so that both filter, sort and join alike. The planner
//! asks [`find`], by way of the session, for a name that lies in a system schema and materialises the rows as it
//! does those of a derived table.
//!
//! | file | owns |
//! |---|---|
//! | `accounts` | accounts and their privileges |
//! | `roles` | roles of the session, and what they may |
//! | `of` | SHOW statements as selections from virtual tables |
//! | `schema` | databases, tables, columns, indexes, constraints |
//! | `events` | events |
//! | `foreign_keys` | foreign keys |
//! | `server` | variables, status, sessions, engines, character sets |
//! | `pool` | the buffer pool's instances |
//! | `watch` | the stall record, waits |
//! | `graveyard` | what DROP and TRUNCATE left to be given back |
//! | `partitions` | information_schema.PARTITIONS |
//! | `locks` | transactions, locks and who waits for whom |
//! | `waits` | who waits for a metadata lock |
//! | `logs` | the tables of MySQL's logs; which tables of `mysql` are listed |
//! | `empty` | tables about things Millpond does not have |
//! | `extensions` | attributes for engines; MariaDB's tables of variables and status |
//! | `metrics` | information_schema.INNODB_METRICS |
//! | `files` | what was done to files |
//! | `people` | accounts that were connected, and what their statements did |
//! | `setup` | what performance_schema watches; memory, errors |
//! | `replication` | performance_schema's tables of replication, which there is none of |
//! | `innodb` | information_schema.INNODB_TABLES |
//! | `routines` | stored routines |
//! | `tablespaces` | tablespaces and their files |
//! | `statements` | what statements did, by digest and kind |
//! | `sys` | the views of the schema sys |
//! | `stages` | stages of statements that are under way |
//! | `statistics` | what optimizer statistics say |
//! | `create` | the text of SHOW CREATE TABLE |
//! | `rules` | CHECK constraints and generated columns in such texts and as tables |
//! | `variables_info` | what variables will be at the next start, and what they have their values from |
//! | `views` | views |
//! | `table_use` | what tables and indexes are used for |
//! | `table` | the one implementation of [`VirtualTable`] |
//!
//! Nothing here waits for a metadata lock: definitions are read from the catalog as of now, and a table
//! dropped meanwhile is left out.

mod accounts;
pub(crate) mod create;
mod empty;
mod events;
mod extensions;
mod files;
mod foreign_keys;
mod fulltext;
mod graveyard;
mod innodb;
mod locks;
mod logs;
mod metrics;
mod of;
mod partitions;
mod people;
mod pool;
mod profile;
mod replication;
mod roles;
mod routines;
mod rules;
mod schema;
mod server;
mod setup;
mod spatial;
mod stages;
mod statements;
mod statistics;
mod sys;
mod table;
mod table_use;
mod tablespaces;
mod variables_info;
mod views;
mod waits;
mod watch;

use std::sync::Arc;

use millpond_sql::catalog::View;
use millpond_sql::env::{VirtualTable, is_system_schema};
use millpond_sql::result::ColumnMeta;
use millpond_sql::types::{Collation, SqlType};

pub(crate) use of::{Shown, describe, list, of};
pub(crate) use watch::truncate;

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

/// Whether a database has views of the system. It is like any other besides: it may be stored, with tables and views of its own, which go
/// before those of the system.
pub fn has_system_views(database: &str) -> bool {
    database == sys::SYS
}

/// The view of the system by its name, which is compared without regard to case, with the name as it is shown.
pub fn system_view(database: &str, name: &str) -> Option<(String, Arc<View>)> {
    match has_system_views(database) {
        true => sys::find(name),
        false => None,
    }
}

/// The tables of a system schema (lower-case name), by name.
fn all_of(database: &str) -> Vec<table::Virtual> {
    let mut tables = schema::tables(database);
    tables.extend(accounts::tables(database));
    tables.extend(roles::tables(database));
    tables.extend(foreign_keys::tables(database));
    tables.extend(server::tables(database));
    tables.extend(spatial::tables(database));
    tables.extend(watch::tables(database));
    tables.extend(graveyard::tables(database));
    tables.extend(empty::tables(database));
    tables.extend(events::tables(database));
    tables.extend(logs::tables(database));
    tables.extend(locks::tables(database));
    tables.extend(partitions::tables(database));
    tables.extend(profile::tables(database));
    tables.extend(routines::tables(database));
    tables.extend(statistics::tables(database));
    tables.extend(innodb::tables(database));
    tables.extend(tablespaces::tables(database));
    tables.extend(fulltext::tables(database));
    tables.extend(variables_info::tables(database));
    tables.extend(views::tables(database));
    tables.extend(stages::tables(database));
    tables.extend(statements::tables(database));
    tables.extend(files::tables(database));
    tables.extend(people::tables(database));
    tables.extend(replication::tables(database));
    tables.extend(setup::tables(database));
    tables.extend(extensions::tables(database));
    tables.extend(metrics::tables(database));
    tables.extend(table_use::tables(database));
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
        ty: SqlType::varchar(length, Collation::DEFAULT),
        flags: 0,
    }
}
