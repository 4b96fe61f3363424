//! Databases, tables, columns, indexes and constraints as tables.

use std::sync::Arc;

use millpond_store::{CATALOG_DATABASE, Engine, Isolation, Table, TableDef, TableSize};

use super::create::now_text;
use super::rules::{check_constraints, escaped, hidden_text, yes};
use super::table::{Columns, Context, Ty, Virtual, n, opt, s};
use super::{all_of, has_system_views};
use super::{sys, views};
use crate::accounts::access::Access;
use crate::accounts::privileges::{GLOBAL, TABLE};
use crate::instance::Instance;
use millpond_sql::catalog::{self, View};
use millpond_sql::ddl;
use millpond_sql::env::privileges::{self, Privileges};
use millpond_sql::env::{Emit, SYSTEM_SCHEMAS, VirtualColumn, VirtualTable};
use millpond_sql::error::SqlResult;
use millpond_sql::statistics;
use millpond_sql::store_error::store_error;
use millpond_sql::types::{Collation, Column, DefaultValue, Schema, SqlType, Visibility};
use millpond_sql::value::{DateTime, Value};
use millpond_sql::write::counter;

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
            for name in only.database_names(instance)? {
                let collation = if SYSTEM_SCHEMAS.contains(&&*name) {
                    Collation::Utf8mb4GeneralCi
                } else {
                    match ddl::database_collation(instance.engine(), &name) {
                        Ok(c) => c,
                        Err(_) if has_system_views(&name) => Collation::Utf8mb4GeneralCi,
                        Err(_) => continue,
                    }
                };
                emit(&[
                    s("def"),
                    s(name),
                    s(collation.charset()),
                    s(collation.name()),
                    Value::Null,
                    s("NO"),
                ])?;
            }
            Ok(())
        },
    )
}

/// Numbers of a table that only an open one has.
pub(super) struct Live {
    pub rows: u64,
    pub auto_increment: Option<u64>,
    pub size: TableSize,
    /// How many values the leading parts of each index have, if it was asked for.
    pub cardinality: Vec<Vec<u64>>,
}

/// What a listing wants to know of tables besides their rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    Counter,
    Sizes,
    Cardinality,
}

/// Opens a table for a moment, unless DDL holds it.
pub(super) fn live(
    instance: &Instance,
    database: &str,
    name: &str,
    schema: &Schema,
    want: Want,
) -> Option<Live> {
    let engine = instance.engine();
    let owner = engine.owner();
    owner.set_metadata_timeout(0);
    let mut txn = engine.begin(&owner, Isolation::ReadUncommitted);
    let live = engine
        .open_table(&mut txn, database, name)
        .ok()
        .and_then(|table| live_of(instance, &table, schema, want));
    // Nothing was written: there is nothing a commit could fail to keep.
    let _ = engine.commit(txn);
    live
}

/// The same of a table that is open.
pub(super) fn live_of(
    instance: &Instance,
    table: &Arc<Table>,
    schema: &Schema,
    want: Want,
) -> Option<Live> {
    let engine = instance.engine();
    counter::start(engine, table, schema).ok()?;
    let rows = millpond_sql::partition::estimate_rows(Some(engine), table, schema);
    Some(Live {
        rows,
        auto_increment: table.auto_increment_peek(),
        size: match want {
            Want::Sizes => size_of(engine, table, schema).ok()?,
            _ => TableSize::default(),
        },
        cardinality: match want {
            Want::Cardinality => {
                let known =
                    statistics::fresh(engine, table, instance.statistics_settings()).ok()?;
                let each = known.statistics.indexes.iter();
                each.map(|i| i.as_ref().map_or(Vec::new(), |i| i.distinct.clone()))
                    .collect()
            }
            _ => Vec::new(),
        },
    })
}

/// The room of a table, or of all its partitions.
fn size_of(engine: &Engine, table: &Arc<Table>, schema: &Schema) -> SqlResult<TableSize> {
    let failed = |e| store_error(e, &table.def().name);
    let Some(p) = &schema.partitioning else {
        return table.size().map_err(failed);
    };
    let mut sum = TableSize::default();
    for at in 0..p.leaves() {
        let part = p.open(engine, table, at)?;
        sum = sum.plus(part.size().map_err(failed)?);
    }
    Ok(sum)
}

/// A table's CREATE_OPTIONS.
fn create_options(schema: &Schema) -> String {
    let options = schema.options.to_string();
    let mut all: Vec<String> = options.split_whitespace().map(create_option).collect();
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
pub(super) fn tables_table(only: Only) -> Virtual {
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
pub(super) fn table_names(database: String) -> Virtual {
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
                    super::logs::is_listed(&database, t.name()) && only.sees(&database, t.name())
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

/// PRI, UNI or MUL: whether and how a column leads a key.
fn column_key(schema: &Schema, column: usize) -> &'static str {
    let mut key = "";
    for index in schema.indexes.iter().filter(|i| !i.is_hidden()) {
        let leads = index.columns().next() == Some(column);
        if index.name == "PRIMARY" && index.parts.iter().any(|p| p.column == column) {
            return "PRI";
        }
        if leads && index.unique && index.parts.len() == 1 {
            key = "UNI";
        } else if leads && key.is_empty() {
            key = "MUL";
        }
    }
    // Without a primary key, MySQL shows the unique key that stands in for it as PRI.
    let stands_in = schema.indexes.first().is_some_and(|i| {
        i.name != "PRIMARY" && !i.parts.is_empty() && i.parts.iter().any(|p| p.column == column)
    });
    if stands_in { "PRI" } else { key }
}

fn default_text(c: &Column) -> Value<'static> {
    match &c.default {
        DefaultValue::Literal(text) => s(&**text),
        DefaultValue::Expr(text) => s(escaped(text)),
        DefaultValue::Now => s(now_text(c)),
        DefaultValue::Null | DefaultValue::None => Value::Null,
    }
}

fn extra(c: &Column) -> String {
    let mut parts = Vec::new();
    if c.auto_increment {
        parts.push("auto_increment".to_string());
    }
    if matches!(c.default, DefaultValue::Now | DefaultValue::Expr(_)) {
        parts.push("DEFAULT_GENERATED".to_string());
    }
    if let Some(g) = &c.generated {
        let kind = if g.stored { "STORED" } else { "VIRTUAL" };
        parts.push(format!("{kind} GENERATED"));
    }
    if c.on_update_now {
        parts.push(format!("on update {}", now_text(c)));
    }
    if c.visibility == Visibility::Invisible {
        parts.push("INVISIBLE".to_string());
    }
    parts.join(" ")
}

const PRIVILEGES: [(&str, Privileges); 4] = [
    ("select", privileges::SELECT),
    ("insert", privileges::INSERT),
    ("update", privileges::UPDATE),
    ("references", privileges::REFERENCES),
];

/// COLUMNS; SHOW COLUMNS and DESCRIBE select from it.
pub(super) fn columns(only: Only) -> Virtual {
    const COLUMNS: Columns = &[
        ("TABLE_CATALOG", Ty::Str(64)),
        ("TABLE_SCHEMA", Ty::Str(64)),
        ("TABLE_NAME", Ty::Str(64)),
        ("COLUMN_NAME", Ty::Str(64)),
        ("ORDINAL_POSITION", Ty::Num),
        ("COLUMN_DEFAULT", Ty::NullText),
        ("IS_NULLABLE", Ty::Str(3)),
        ("DATA_TYPE", Ty::Str(64)),
        ("CHARACTER_MAXIMUM_LENGTH", Ty::NullNum),
        ("CHARACTER_OCTET_LENGTH", Ty::NullNum),
        ("NUMERIC_PRECISION", Ty::NullNum),
        ("NUMERIC_SCALE", Ty::NullNum),
        ("DATETIME_PRECISION", Ty::NullNum),
        ("CHARACTER_SET_NAME", Ty::NullStr(64)),
        ("COLLATION_NAME", Ty::NullStr(64)),
        ("COLUMN_TYPE", Ty::Text),
        ("COLUMN_KEY", Ty::Str(3)),
        ("EXTRA", Ty::Str(256)),
        ("PRIVILEGES", Ty::Str(154)),
        ("COLUMN_COMMENT", Ty::Text),
        ("GENERATION_EXPRESSION", Ty::Text),
        ("SRS_ID", Ty::NullNum),
    ];
    Virtual::new(IS, "COLUMNS", COLUMNS, move |cx, emit| {
        let only = &only.narrowed(cx, 1, 2);
        each_table(&cx.facts.instance, only, |database, met| match &met {
            Met::Stored(def, schema) => {
                let columns = schema.columns.iter().enumerate();
                let seen = columns.filter(|(_, c)| c.visibility != Visibility::Hidden);
                for (position, (i, c)) in seen.enumerate() {
                    let key = column_key(schema, i);
                    column_row((database, &def.name), position, c, key, only, emit)?;
                }
                Ok(())
            }
            Met::View(def, schema, view) => {
                let now = views::columns(&cx.facts.instance, cx.env, def, schema, view);
                let now = now.unwrap_or_else(|_| schema.columns.clone());
                for (position, c) in now.iter().enumerate() {
                    column_row((database, &def.name), position, c, "", only, emit)?;
                }
                Ok(())
            }
            Met::SystemView(name, view) => {
                let now = views::system_columns(&cx.facts.instance, cx.env, name, view);
                // Whoever may not read what is below is shown nothing of it.
                for (position, c) in now.unwrap_or_default().iter().enumerate() {
                    column_row((database, name), position, c, "", only, emit)?;
                }
                Ok(())
            }
            Met::Virtual(v) => {
                for (i, c) in v.columns().iter().enumerate() {
                    let c = as_column(c);
                    column_row((database, v.name()), i, &c, "", only, emit)?;
                }
                Ok(())
            }
        })
    })
}

fn as_column(c: &VirtualColumn) -> Column {
    plain_column(c.name.to_string(), c.ty.clone(), c.nullable)
}

/// A column of which no more is known.
pub(super) fn plain_column(name: String, ty: SqlType, nullable: bool) -> Column {
    Column {
        name,
        ty,
        nullable,
        default: DefaultValue::None,
        auto_increment: false,
        on_update_now: false,
        comment: String::new(),
        generated: None,
        visibility: Default::default(),
    }
}

fn column_row(
    (database, table): (&str, &str),
    position: usize,
    c: &Column,
    key: &'static str,
    only: &Only,
    emit: &mut Emit<'_>,
) -> SqlResult<()> {
    let has = only.on_column(database, table, &c.name);
    let granted = PRIVILEGES.iter().filter(|(_, p)| has & p != 0);
    let granted: Vec<&str> = granted.map(|(name, _)| *name).collect();
    if granted.is_empty() && has & TABLE == 0 {
        return Ok(());
    }
    let ty = &c.ty;
    let lengths = ty.character_lengths();
    let (precision, scale) = ty.numeric_precision();
    let number = |v: Option<u64>| v.map_or(Value::Null, n);
    let short = |v: Option<u32>| number(v.map(u64::from));
    let text = ty.is_string() && ty.collation != Collation::Binary;
    emit(&[
        s("def"),
        s(database),
        s(table),
        s(&*c.name),
        n(position as u64 + 1),
        default_text(c),
        s(if c.nullable { "YES" } else { "NO" }),
        s(ty.data_type()),
        number(lengths.map(|l| l.0)),
        number(lengths.map(|l| l.1)),
        short(precision),
        short(scale),
        short(ty.datetime_precision()),
        opt(text.then(|| ty.collation.charset())),
        opt(text.then(|| ty.collation.name())),
        s(ty.column_type()),
        s(key),
        s(extra(c)),
        s(granted.join(",")),
        s(&*c.comment),
        s(c.generated
            .as_ref()
            .map_or(String::new(), |g| escaped(&g.text))),
        short(ty.srid),
    ])
}

/// STATISTICS; SHOW INDEX selects from it.
pub(super) fn statistics(only: Only) -> Virtual {
    const COLUMNS: Columns = &[
        ("TABLE_CATALOG", Ty::Str(64)),
        ("TABLE_SCHEMA", Ty::Str(64)),
        ("TABLE_NAME", Ty::Str(64)),
        ("NON_UNIQUE", Ty::Num),
        ("INDEX_SCHEMA", Ty::Str(64)),
        ("INDEX_NAME", Ty::NullStr(64)),
        ("SEQ_IN_INDEX", Ty::Num),
        ("COLUMN_NAME", Ty::NullStr(64)),
        ("COLLATION", Ty::NullStr(1)),
        ("CARDINALITY", Ty::NullNum),
        ("SUB_PART", Ty::NullNum),
        ("PACKED", Ty::NullStr(1)),
        ("NULLABLE", Ty::Str(3)),
        ("INDEX_TYPE", Ty::Str(11)),
        ("COMMENT", Ty::Str(8)),
        ("INDEX_COMMENT", Ty::Str(2048)),
        ("IS_VISIBLE", Ty::Str(3)),
        ("EXPRESSION", Ty::NullText),
    ];
    /// The one that only an open table knows.
    const CARDINALITY: usize = 9;
    /// What MySQL says that a SPATIAL index has of a column: four doubles.
    const RECTANGLE_BYTES: u32 = 32;
    Virtual::new(IS, "STATISTICS", COLUMNS, move |cx, emit| {
        let instance = &cx.facts.instance;
        let only = only.narrowed(cx, 1, 2);
        each_table(instance, &only, |database, met| {
            let Met::Stored(def, schema) = met else {
                return Ok(());
            };
            let live = (cx.reads(&[CARDINALITY]))
                .then(|| live(instance, database, &def.name, schema, Want::Cardinality))
                .flatten();
            let counts = live.map(|l| l.cardinality).unwrap_or_default();
            for i in schema.index_order() {
                let index = &schema.indexes[i];
                // A FULLTEXT index has no order, and all of each column; a SPATIAL one has rectangles of a column's values.
                let (text, place) = (index.fulltext.is_some(), index.spatial.is_some());
                let kind = match (text, place) {
                    (true, _) => "FULLTEXT",
                    (_, true) => "SPATIAL",
                    _ => "BTREE",
                };
                for (seq, at) in index.columns().enumerate() {
                    let (column, part) = (&schema.columns[at], index.parts.get(seq));
                    if only.on_column(database, &def.name, &column.name) & TABLE == 0 {
                        continue;
                    }
                    let hidden = hidden_text(column);
                    let values = counts.get(i).and_then(|c| c.get(seq));
                    emit(&[
                        s("def"),
                        s(database),
                        s(&*def.name),
                        n(u64::from(!index.unique)),
                        s(database),
                        s(&*index.name),
                        n(seq as u64 + 1),
                        opt(hidden.is_none().then_some(&*column.name)),
                        opt(match part {
                            Some(p) if p.desc => Some("D"),
                            Some(_) => Some("A"),
                            None => place.then_some("A"),
                        }),
                        values.map_or(Value::Null, |v| n(*v)),
                        match (part, place) {
                            (Some(p), _) => p.prefix.map_or(Value::Null, n),
                            (_, true) => n(RECTANGLE_BYTES),
                            _ => Value::Null,
                        },
                        Value::Null,
                        s(if column.nullable { "YES" } else { "" }),
                        s(kind),
                        s(""),
                        s(&*index.comment),
                        s(yes(index.visible)),
                        opt(hidden),
                    ])?;
                }
            }
            Ok(())
        })
    })
}

fn key_column_usage() -> Virtual {
    Virtual::new(
        IS,
        "KEY_COLUMN_USAGE",
        &[
            ("CONSTRAINT_CATALOG", Ty::Str(64)),
            ("CONSTRAINT_SCHEMA", Ty::Str(64)),
            ("CONSTRAINT_NAME", Ty::NullStr(64)),
            ("TABLE_CATALOG", Ty::Str(64)),
            ("TABLE_SCHEMA", Ty::Str(64)),
            ("TABLE_NAME", Ty::Str(64)),
            ("COLUMN_NAME", Ty::NullStr(64)),
            ("ORDINAL_POSITION", Ty::Num),
            ("POSITION_IN_UNIQUE_CONSTRAINT", Ty::NullNum),
            ("REFERENCED_TABLE_SCHEMA", Ty::NullStr(64)),
            ("REFERENCED_TABLE_NAME", Ty::NullStr(64)),
            ("REFERENCED_COLUMN_NAME", Ty::NullStr(64)),
        ],
        |cx, emit| {
            let only = Only::default().narrowed(cx, 4, 5);
            each_table(&cx.facts.instance, &only, |database, met| {
                let Met::Stored(def, schema) = met else {
                    return Ok(());
                };
                for i in schema.index_order() {
                    let index = &schema.indexes[i];
                    if !index.unique {
                        continue;
                    }
                    for (seq, part) in index.parts.iter().enumerate() {
                        let column = &schema.columns[part.column];
                        let seen = only.on_column(database, &def.name, &column.name) & TABLE != 0;
                        if column.visibility == Visibility::Hidden || !seen {
                            continue;
                        }
                        emit(&[
                            s("def"),
                            s(database),
                            s(&*index.name),
                            s("def"),
                            s(database),
                            s(&*def.name),
                            s(&*schema.columns[part.column].name),
                            n(seq as u64 + 1),
                            Value::Null,
                            Value::Null,
                            Value::Null,
                            Value::Null,
                        ])?;
                    }
                }
                // A key's columns are told to who may see all of the table.
                match only.on_column(database, &def.name, "") & TABLE {
                    0 => Ok(()),
                    _ => super::foreign_keys::usage(database, &def.name, schema, emit),
                }
            })
        },
    )
}

fn table_constraints() -> Virtual {
    Virtual::new(
        IS,
        "TABLE_CONSTRAINTS",
        &[
            ("CONSTRAINT_CATALOG", Ty::Str(64)),
            ("CONSTRAINT_SCHEMA", Ty::Str(64)),
            ("CONSTRAINT_NAME", Ty::NullStr(64)),
            ("TABLE_SCHEMA", Ty::Str(64)),
            ("TABLE_NAME", Ty::Str(64)),
            ("CONSTRAINT_TYPE", Ty::Str(11)),
            ("ENFORCED", Ty::Str(3)),
        ],
        |cx, emit| {
            let only = Only::default().narrowed(cx, 3, 4);
            each_table(&cx.facts.instance, &only, |database, met| {
                let Met::Stored(def, schema) = met else {
                    return Ok(());
                };
                for i in schema.index_order() {
                    let index = &schema.indexes[i];
                    if !index.unique {
                        continue;
                    }
                    emit(&[
                        s("def"),
                        s(database),
                        s(&*index.name),
                        s(database),
                        s(&*def.name),
                        s(if index.name == "PRIMARY" {
                            "PRIMARY KEY"
                        } else {
                            "UNIQUE"
                        }),
                        s("YES"),
                    ])?;
                }
                for (name, check) in schema.checks_by_name(&def.name) {
                    emit(&[
                        s("def"),
                        s(database),
                        s(name),
                        s(database),
                        s(&*def.name),
                        s("CHECK"),
                        s(yes(check.enforced)),
                    ])?;
                }
                super::foreign_keys::constraints(database, &def.name, schema, emit)
            })
        },
    )
}
