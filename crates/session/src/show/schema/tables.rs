//! Tables, and what they are made with.

use super::live::{Live, Want, live};
use super::{IS, Met, Named, Only, each_name, each_system_view, each_table};
use crate::show::table::{Columns, Ty, Virtual, n, s};
use crate::show::{all_of, has_system_views, logs, views};
use millpond_sql::catalog;
use millpond_sql::env::{SYSTEM_SCHEMAS, VirtualTable};
use millpond_sql::store_error::store_error;
use millpond_sql::types::Schema;
use millpond_sql::value::{DateTime, Value};

/// In which order options are told; the others come behind.
const ORDER: [&str; 10] = [
    "max_rows",
    "min_rows",
    "avg_row_length",
    "row_format",
    "stats_sample_pages",
    "stats_auto_recalc",
    "stats_persistent",
    "pack_keys",
    "checksum",
    "delay_key_write",
];

/// A table's CREATE_OPTIONS.
fn create_options(schema: &Schema) -> String {
    let options = schema.options.to_string();
    let mut all: Vec<String> = options.split_whitespace().map(create_option).collect();
    let place = |option: &String| {
        let name = option.split('=').next().unwrap_or_default();
        ORDER.iter().position(|o| *o == name).unwrap_or(ORDER.len())
    };
    all.sort_by_key(place);
    if schema.partitioning.is_some() {
        all.push("partitioned".into());
    }
    all.join(" ")
}

/// An option as CREATE_OPTIONS names it: in small letters, but for KEY_BLOCK_SIZE and the names of row formats.
fn create_option(option: &str) -> String {
    match option.split_once('=') {
        Some((name, value)) if name != "KEY_BLOCK_SIZE" => {
            format!("{}={value}", name.to_ascii_lowercase())
        }
        _ => option.to_string(),
    }
}

/// TABLES; SHOW TABLES and SHOW TABLE STATUS select from it.
pub(in crate::show) fn tables_table(only: Only) -> Virtual {
    const COLUMNS: Columns = &[
        ("TABLE_CATALOG", Ty::Str(64)),
        ("TABLE_SCHEMA", Ty::Str(64)),
        ("TABLE_NAME", Ty::Str(64)),
        ("TABLE_TYPE", Ty::Str(11)),
        ("ENGINE", Ty::NullStr(64)),
        ("VERSION", Ty::NullNum),
        ("ROW_FORMAT", Ty::NullStr(10)),
        ("TABLE_ROWS", Ty::NullNum),
        ("AVG_ROW_LENGTH", Ty::NullNum),
        ("DATA_LENGTH", Ty::NullNum),
        ("MAX_DATA_LENGTH", Ty::NullNum),
        ("INDEX_LENGTH", Ty::NullNum),
        ("DATA_FREE", Ty::NullNum),
        ("AUTO_INCREMENT", Ty::NullNum),
        ("CREATE_TIME", Ty::NullTime),
        ("UPDATE_TIME", Ty::NullTime),
        ("CHECK_TIME", Ty::NullTime),
        ("TABLE_COLLATION", Ty::NullStr(64)),
        ("CHECKSUM", Ty::NullNum),
        ("CREATE_OPTIONS", Ty::NullStr(256)),
        ("TABLE_COMMENT", Ty::NullText),
    ];
    /// What the definition says.
    const OF_DEFINITION: &[usize] = &[14, 17, 19, 20];
    /// What tables have and views don't.
    const OF_KIND: &[usize] = &[3, 4, 5, 6, 10];
    const COMMENT: usize = 20;
    /// What only an open table knows; the size of its files among it, or what is made of that.
    const OF_OPEN: &[usize] = &[7, 8, 9, 11, 12, 13];
    const OF_SIZE: &[usize] = &[8, 9, 11, 12];
    /// What is the same for all tables of a kind, and the names.
    fn named_row(database: &str, name: &str, kind: &'static str) -> Vec<Value<'static>> {
        let mut row = vec![s("def"), s(database), s(name), s(kind)];
        if kind == "BASE TABLE" {
            row.extend([s("InnoDB"), n(10u64), s("Dynamic")]);
        }
        row.resize(COLUMNS.len(), Value::Null);
        match kind {
            "BASE TABLE" => row[10] = n(0u64),
            _ => row[20] = s(""),
        }
        row
    }
    Virtual::new(IS, "TABLES", COLUMNS, move |cx, emit| {
        let instance = &cx.facts.instance;
        let tz = cx.env.zone.get();
        let only = only.narrowed(cx, 1, 2);
        if only.temporary.is_none() && !cx.reads(OF_OPEN) && !cx.reads(OF_DEFINITION) {
            // Counting tables, and asking for names, shall not read a million definitions.
            let typed = cx.reads(OF_KIND);
            let is_view = |database: &str, name: &str| {
                let def = instance.engine().table_def(database, name);
                def.is_ok_and(|def| catalog::is_view(&def))
            };
            return each_name(instance, &only, |database, named| match named {
                Named::Stored(name) if typed && is_view(database, name) => {
                    emit(&named_row(database, name, "VIEW"))
                }
                Named::Stored(name) => emit(&named_row(database, name, "BASE TABLE")),
                Named::Virtual(v) => emit(&named_row(database, v.name(), "SYSTEM VIEW")),
                Named::SystemView(name) => emit(&named_row(database, name, "VIEW")),
            });
        }
        let want = match cx.reads(OF_SIZE) {
            true => Want::Sizes,
            false => Want::Counter,
        };
        each_table(instance, &only, |database, met| {
            let created = |schema: &Schema| {
                let at = i64::try_from(schema.created).ok();
                let at = at.and_then(|t| DateTime::from_unix(t, 0, tz));
                at.map_or(Value::Null, Value::DateTime)
            };
            let (def, schema) = match met {
                Met::Stored(def, schema) => (def, schema),
                Met::View(def, schema, view) => {
                    let mut row = named_row(database, &def.name, "VIEW");
                    row[14] = created(schema);
                    if cx.reads(&[COMMENT]) {
                        row[COMMENT] = s(views::comment(cx, def, schema, view));
                    }
                    return emit(&row);
                }
                Met::Virtual(v) => {
                    return emit(&named_row(database, v.name(), "SYSTEM VIEW"));
                }
                Met::SystemView(name, _) => {
                    let mut row = named_row(database, name, "VIEW");
                    row[COMMENT] = s("VIEW");
                    return emit(&row);
                }
            };
            let live = (cx.reads(OF_OPEN))
                .then(|| live(instance, database, &def.name, schema, want))
                .flatten();
            let number = |f: &dyn Fn(&Live) -> u64| live.as_ref().map_or(Value::Null, |l| n(f(l)));
            let has_auto = schema.columns.iter().any(|c| c.auto_increment);
            let auto = live.as_ref().and_then(|l| l.auto_increment);
            emit(&[
                s("def"),
                s(database),
                s(&*def.name),
                s("BASE TABLE"),
                s("InnoDB"),
                n(10u64),
                s("Dynamic"),
                number(&|l| l.rows),
                number(&|l| l.size.data.checked_div(l.rows).unwrap_or(0)),
                number(&|l| l.size.data),
                n(0u64),
                number(&|l| l.size.indexes),
                number(&|l| l.size.free),
                auto.filter(|_| has_auto).map_or(Value::Null, n),
                created(schema),
                Value::Null,
                Value::Null,
                s(schema.collation.name()),
                Value::Null,
                s(create_options(schema)),
                s(&*schema.comment),
            ])
        })
    })
}

/// SHOW TABLES: names and types alone, without opening anything.
pub(in crate::show) fn table_names(database: String) -> Virtual {
    Virtual::new(
        IS,
        "TABLE_NAMES",
        &[("Name", Ty::Str(64)), ("Table_type", Ty::Str(11))],
        move |cx, emit| {
            let only = Only {
                access: Some(cx.access()),
                ..Only::default()
            };
            if SYSTEM_SCHEMAS.contains(&&*database) {
                let listed = |t: &Virtual| {
                    logs::is_listed(&database, t.name()) && only.sees(&database, t.name())
                };
                for table in all_of(&database).into_iter().filter(listed) {
                    emit(&[s(table.name()), s("SYSTEM VIEW")])?;
                }
                return Ok(());
            }
            let engine = cx.facts.instance.engine();
            let names = match engine.tables(&database) {
                Err(_) if has_system_views(&database) => Ok(Vec::new()),
                names => names,
            };
            let names = names.map_err(|e| store_error(e, &database))?;
            let typed = cx.reads(&[1]);
            // Dumps are made of what SHOW TABLES lists; what they said of the system's views could not be loaded elsewhere.
            if typed && has_system_views(&database) {
                each_system_view(&only, &names, &mut |_, named| match named {
                    Named::SystemView(name) => emit(&[s(name), s("VIEW")]),
                    Named::Stored(_) | Named::Virtual(_) => Ok(()),
                })?;
            }
            for name in names {
                if !only.sees(&database, &name) {
                    continue;
                }
                let def = typed.then(|| engine.table_def(&database, &name).ok());
                let view = def.flatten().is_some_and(|def| catalog::is_view(&def));
                emit(&[s(name), s(if view { "VIEW" } else { "BASE TABLE" })])?;
            }
            Ok(())
        },
    )
}
