//! information_schema's tables of attributes for engines, of which there are none, and MariaDB's of variables and status.

use millpond_sql::parse::ast::Scope;
use millpond_sql::types::{BaseType, Visibility};
use millpond_sql::value::Value;

use super::schema::{Met, Only, each_table, only_databases};
use super::server::{status_in, variables_in};
use super::table::{Columns, Ty, Virtual, s};

const IS: &str = "information_schema";
const NAME: Ty = Ty::Str(64);
const ATTRIBUTE: Ty = Ty::NullOf(BaseType::Json, 0);

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        IS => vec![
            schemata(),
            tables_extensions(),
            columns(),
            constraints(),
            variables_in(IS, "GLOBAL_VARIABLES", Scope::Global),
            variables_in(IS, "SESSION_VARIABLES", Scope::Session),
            status_in(IS, "GLOBAL_STATUS", Scope::Global),
            status_in(IS, "SESSION_STATUS", Scope::Session),
        ],
        _ => Vec::new(),
    }
}

fn schemata() -> Virtual {
    const COLUMNS: Columns = &[
        ("CATALOG_NAME", NAME),
        ("SCHEMA_NAME", NAME),
        ("OPTIONS", Ty::NullStr(256)),
    ];
    Virtual::new(IS, "SCHEMATA_EXTENSIONS", COLUMNS, |cx, emit| {
        // No database is READ ONLY.
        let names = only_databases(cx, 1)?;
        names
            .into_iter()
            .try_for_each(|name| emit(&[s("def"), s(name), s("")]))
    })
}

fn tables_extensions() -> Virtual {
    const COLUMNS: Columns = &[
        ("TABLE_CATALOG", NAME),
        ("TABLE_SCHEMA", NAME),
        ("TABLE_NAME", NAME),
        ("ENGINE_ATTRIBUTE", ATTRIBUTE),
        ("SECONDARY_ENGINE_ATTRIBUTE", ATTRIBUTE),
    ];
    Virtual::new(IS, "TABLES_EXTENSIONS", COLUMNS, |cx, emit| {
        let only = Only::default().narrowed(cx, 1, 2);
        each_table(&cx.facts.instance, &only, |database, met| {
            let table = match &met {
                Met::Stored(def, _) | Met::View(def, ..) => &*def.name,
                Met::Virtual(v) => millpond_sql::env::VirtualTable::name(*v),
                Met::SystemView(name, _) => name,
            };
            emit(&[s("def"), s(database), s(table), Value::Null, Value::Null])
        })
    })
}

fn columns() -> Virtual {
    const COLUMNS: Columns = &[
        ("TABLE_CATALOG", NAME),
        ("TABLE_SCHEMA", NAME),
        ("TABLE_NAME", NAME),
        ("COLUMN_NAME", Ty::NullStr(64)),
        ("ENGINE_ATTRIBUTE", ATTRIBUTE),
        ("SECONDARY_ENGINE_ATTRIBUTE", ATTRIBUTE),
    ];
    Virtual::new(IS, "COLUMNS_EXTENSIONS", COLUMNS, |cx, emit| {
        let only = Only::default().narrowed(cx, 1, 2);
        each_table(&cx.facts.instance, &only, |database, met| {
            let Met::Stored(def, schema) = met else {
                return Ok(());
            };
            for c in &schema.columns {
                let seen = only.on_column(database, &def.name, &c.name) != 0;
                if c.visibility == Visibility::Hidden || !seen {
                    continue;
                }
                let names = [s("def"), s(database), s(&*def.name), s(&*c.name)];
                let row: Vec<_> = names
                    .into_iter()
                    .chain([Value::Null, Value::Null])
                    .collect();
                emit(&row)?;
            }
            Ok(())
        })
    })
}

fn constraints() -> Virtual {
    const COLUMNS: Columns = &[
        ("CONSTRAINT_CATALOG", NAME),
        ("CONSTRAINT_SCHEMA", NAME),
        ("CONSTRAINT_NAME", NAME),
        ("TABLE_NAME", NAME),
        ("ENGINE_ATTRIBUTE", ATTRIBUTE),
        ("SECONDARY_ENGINE_ATTRIBUTE", ATTRIBUTE),
    ];
    Virtual::new(IS, "TABLE_CONSTRAINTS_EXTENSIONS", COLUMNS, |cx, emit| {
        let only = Only::default().narrowed(cx, 1, 3);
        each_table(&cx.facts.instance, &only, |database, met| {
            let Met::Stored(def, schema) = met else {
                return Ok(());
            };
            for i in schema.index_order() {
                let index = &schema.indexes[i];
                let names = [s("def"), s(database), s(&*index.name), s(&*def.name)];
                let row: Vec<_> = names
                    .into_iter()
                    .chain([Value::Null, Value::Null])
                    .collect();
                emit(&row)?;
            }
            Ok(())
        })
    })
}
