//! Databases, tables, columns, indexes and constraints as tables.
//!
//! | file | owns |
//! |---|---|
//! | `live` | numbers of a table that only an open one has |
//! | `tables` | tables |
//! | `columns` | columns |
//! | `keys` | indexes, keys and constraints |

mod columns;
mod keys;
mod live;
mod tables;

use std::sync::Arc;

use millpond_store::{CATALOG_DATABASE, Table, TableDef};

pub(super) use columns::{columns, plain_column};
pub(super) use keys::statistics;
pub(super) use live::{Want, live, live_of};
pub(super) use tables::{table_names, tables_table};

use keys::{key_column_usage, table_constraints};

use super::rules::check_constraints;
use super::sys;
use super::table::{Context, Ty, Virtual, s};
use super::{all_of, has_system_views};
use crate::accounts::access::Access;
use crate::accounts::privileges::GLOBAL;
use crate::instance::Instance;
use millpond_sql::catalog::{self, View};
use millpond_sql::ddl;
use millpond_sql::env::privileges::Privileges;
use millpond_sql::env::{SYSTEM_SCHEMAS, VirtualTable};
use millpond_sql::error::SqlResult;
use millpond_sql::store_error::store_error;
use millpond_sql::types::{Collation, Schema};
use millpond_sql::value::Value;

const IS: &str = "information_schema";

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    if database != IS {
        return Vec::new();
    }
    vec![
        schemata(),
        tables_table(Only::default()),
        columns(Only::default()),
        statistics(Only::default()),
        key_column_usage(),
        table_constraints(),
        check_constraints(),
    ]
}

/// Which database and table a SHOW is about; a SELECT leaves both open.
#[derive(Clone, Default)]
pub(super) struct Only {
    pub database: Option<String>,
    pub table: Option<String>,
    /// The session's temporary table of this name, which a SHOW is about then.
    pub temporary: Option<Arc<Table>>,
    /// Who looks: what it may not see is left out. None: everything is seen.
    pub access: Option<Arc<Access>>,
}

impl Only {
    /// Narrows by what the reader's condition says about the columns with the database's and table's name.
    pub(super) fn narrowed(&self, cx: &Context<'_>, database: usize, table: usize) -> Only {
        Only {
            database: self.database.clone().or_else(|| cx.known(database)),
            table: self.table.clone().or_else(|| cx.known(table)),
            temporary: self.temporary.clone(),
            access: Some(cx.access()),
        }
    }
    /// Whether who looks may see a table.
    fn sees(&self, database: &str, table: &str) -> bool {
        let sees = |a: &Arc<Access>| a.is_everything() || a.sees_table(database, table);
        self.access.as_ref().is_none_or(sees)
    }
    /// What who looks may do with a column of a table: all, if it is a temporary one.
    pub(super) fn on_column(&self, database: &str, table: &str, column: &str) -> Privileges {
        match &self.access {
            Some(access) if self.temporary.is_none() => access.column(database, table, column),
            _ => GLOBAL,
        }
    }
    fn database_names(&self, instance: &Instance) -> SqlResult<Vec<String>> {
        let mut names: Vec<String> = SYSTEM_SCHEMAS.iter().map(|n| n.to_string()).collect();
        match &self.database {
            Some(d) => {
                names.retain(|n| n.eq_ignore_ascii_case(d));
                if names.is_empty()
                    && d != catalog::WORK_DATABASE
                    && d != CATALOG_DATABASE
                    && (has_system_views(d) || instance.engine().database(d).is_ok())
                {
                    names.push(d.clone());
                }
            }
            None => {
                names.extend(
                    instance
                        .engine()
                        .databases()
                        .map_err(|e| store_error(e, ""))?,
                );
                names.retain(|n| n != catalog::WORK_DATABASE);
                if !names.iter().any(|n| n == sys::SYS) {
                    names.push(sys::SYS.to_string());
                }
                names.sort();
            }
        }
        if let Some(access) = &self.access {
            names.retain(|n| access.is_everything() || access.sees_database(n));
        }
        Ok(names)
    }
}

/// A table met in a walk.
pub(super) enum Met<'a> {
    Stored(&'a TableDef, &'a Schema),
    View(&'a TableDef, &'a Schema, &'a Arc<View>),
    Virtual(&'a Virtual),
    /// A view of the system, by its name.
    SystemView(&'a str, &'a Arc<View>),
}

/// Calls `f` with every table that `only` leaves, by database and name.
pub(super) fn each_table(
    instance: &Instance,
    only: &Only,
    mut f: impl FnMut(&str, Met<'_>) -> SqlResult<()>,
) -> SqlResult<()> {
    if let Some(table) = &only.temporary {
        let def = table.def();
        return f(&def.database, Met::Stored(def, &Schema::of(def)?));
    }
    each_name(instance, only, |database, named| {
        let name = match named {
            Named::Virtual(v) => return f(database, Met::Virtual(v)),
            Named::SystemView(name) => {
                return match sys::find(name) {
                    Some((name, view)) => f(database, Met::SystemView(&name, &view)),
                    None => Ok(()),
                };
            }
            Named::Stored(name) => name,
        };
        match instance.engine().table_def(database, name) {
            Ok(def) => {
                let schema = Schema::of(&def)?;
                match &schema.view {
                    Some(view) => f(database, Met::View(&def, &schema, view)),
                    None => f(database, Met::Stored(&def, &schema)),
                }
            }
            // Dropped meanwhile.
            Err(_) => Ok(()),
        }
    })
}

/// A table whose definition has not been read.
enum Named<'a> {
    Stored(&'a str),
    Virtual(&'a Virtual),
    SystemView(&'a str),
}

/// Calls `f` with the name of every table that `only` leaves, by database and name; temporary ones aside.
fn each_name(
    instance: &Instance,
    only: &Only,
    mut f: impl FnMut(&str, Named<'_>) -> SqlResult<()>,
) -> SqlResult<()> {
    let engine = instance.engine();
    for database in only.database_names(instance)? {
        if SYSTEM_SCHEMAS.contains(&&*database) {
            for table in all_of(&database) {
                if only
                    .table
                    .as_ref()
                    .is_none_or(|t| t.eq_ignore_ascii_case(table.name()))
                    && only.sees(&database, table.name())
                {
                    f(&database, Named::Virtual(&table))?;
                }
            }
            continue;
        }
        let names = match &only.table {
            Some(name) if engine.table_def(&database, name).is_ok() => vec![name.clone()],
            Some(_) => Vec::new(),
            // A database dropped meanwhile has none.
            None => engine.tables(&database).unwrap_or_default(),
        };
        for name in names.iter().filter(|n| only.sees(&database, n)) {
            f(&database, Named::Stored(name))?;
        }
        if has_system_views(&database) {
            each_system_view(only, &names, &mut f)?;
        }
    }
    Ok(())
}

/// The databases that a reader asks for and may know of; `column`: the position of the names.
pub(super) fn only_databases(cx: &Context<'_>, column: usize) -> SqlResult<Vec<String>> {
    let only = Only {
        database: cx.known(column),
        access: Some(cx.access()),
        ..Only::default()
    };
    only.database_names(&cx.facts.instance)
}

/// Calls `f` with the views of the system but for those whose names `stored` tables have.
fn each_system_view(
    only: &Only,
    stored: &[String],
    f: &mut impl FnMut(&str, Named<'_>) -> SqlResult<()>,
) -> SqlResult<()> {
    let wanted = |name: &&String| {
        let table = only.table.as_ref();
        table.is_none_or(|t| t.eq_ignore_ascii_case(name)) && only.sees(sys::SYS, name)
    };
    let mut names = sys::names();
    names.retain(|name| wanted(&name) && !stored.contains(name));
    names
        .iter()
        .try_for_each(|name| f(sys::SYS, Named::SystemView(name)))
}

fn schemata() -> Virtual {
    Virtual::new(
        IS,
        "SCHEMATA",
        &[
            ("CATALOG_NAME", Ty::Str(64)),
            ("SCHEMA_NAME", Ty::Str(64)),
            ("DEFAULT_CHARACTER_SET_NAME", Ty::Str(64)),
            ("DEFAULT_COLLATION_NAME", Ty::Str(64)),
            ("SQL_PATH", Ty::NullStr(512)),
            ("DEFAULT_ENCRYPTION", Ty::Str(3)),
        ],
        |cx, emit| {
            let instance = &cx.facts.instance;
            let only = Only {
                database: cx.known(1),
                access: Some(cx.access()),
                ..Only::default()
            };
            let encrypted = match instance.engine().master_key_id() {
                Some(_) => "YES",
                None => "NO",
            };
            for name in only.database_names(instance)? {
                let collation = if SYSTEM_SCHEMAS.contains(&&*name) {
                    Collation::DEFAULT
                } else {
                    match ddl::database_collation(instance.engine(), &name) {
                        Ok(c) => c,
                        Err(_) if has_system_views(&name) => Collation::DEFAULT,
                        Err(_) => continue,
                    }
                };
                emit(&[
                    s("def"),
                    s(name),
                    s(collation.charset()),
                    s(collation.name()),
                    Value::Null,
                    s(encrypted),
                ])?;
            }
            Ok(())
        },
    )
}
