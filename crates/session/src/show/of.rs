//! SHOW and DESCRIBE as selections from virtual tables.

use std::sync::Arc;

use super::create::{database_text, table_text, virtual_text};
use super::schema::{self, Only};
use super::server;
use super::table::{Ty, Virtual, s};
use super::{events, profile, routines, views};
use super::{find, has_system_views, system_view};
use crate::instance::Facts;
use millpond_sql::catalog;
use millpond_sql::catalog::programs::ProgramKind;
use millpond_sql::ddl;
use millpond_sql::env::SessionEnv;
use millpond_sql::env::{VirtualTable, is_system_schema};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{self, ExprKind, Ident, ObjectName, ShowFilter, ShowKind};
use millpond_sql::row::wrong_object;
use millpond_sql::store_error::store_error;
use millpond_sql::types::{Collation, Schema};
use millpond_store::space::FileId;
use millpond_syntax::quote::Quotes;

/// LIKE, WHERE, or nothing.
type Filter = Option<ShowFilter>;

/// A SHOW statement, ready for the planner.
pub(crate) struct Shown {
    pub table: Arc<dyn VirtualTable>,
    /// Columns selected, with their headings where those differ from the names.
    pub columns: Vec<(usize, Option<String>)>,
    /// The column that LIKE is about.
    pub like: usize,
    pub filter: Option<ShowFilter>,
}

impl Shown {
    /// All columns under their own names, LIKE on the first.
    fn whole(table: Virtual, filter: &Filter) -> Shown {
        let columns = (0..table.columns().len()).map(|i| (i, None)).collect();
        Shown {
            table: Arc::new(table),
            columns,
            like: 0,
            filter: filter.clone(),
        }
    }
    fn some(table: Virtual, columns: &[(usize, &str)], like: usize, filter: &Filter) -> Shown {
        Shown {
            table: Arc::new(table),
            columns: columns
                .iter()
                .map(|(i, h)| (*i, Some((*h).to_string())))
                .collect(),
            like,
            filter: filter.clone(),
        }
    }
}

fn facts(env: &SessionEnv) -> SqlResult<&Facts> {
    Facts::of(env).ok_or_else(|| SqlError::new(1105, "SHOW needs a session"))
}

/// The database meant; error 1046 if none is, 1049 if there's no such.
fn database(given: Option<&str>, env: &SessionEnv) -> SqlResult<String> {
    let name = match given {
        Some(name) => name.to_string(),
        None => ddl::current_database(env)?,
    };
    if is_system_schema(&name) {
        return Ok(name.to_ascii_lowercase());
    }
    if !has_system_views(&name) {
        facts(env)?
            .instance
            .engine()
            .database(&name)
            .map_err(|e| store_error(e, &name))?;
    }
    Ok(name)
}

/// A table that must exist, as what narrows a virtual table to it.
fn table(name: &ObjectName, env: &SessionEnv) -> SqlResult<Only> {
    let (schema, table) = ddl::qualified(name, env)?;
    let database = database(Some(&schema), env)?;
    let temporary = env.temporary.get(&database, &table);
    if temporary.is_some() {
        // It is there.
    } else if is_system_schema(&database) {
        if find(&database, &table).is_none() {
            return Err(ddl::no_such_table(&database, &table));
        }
    } else {
        let instance = &facts(env)?.instance;
        let def = instance.engine().table_def(&database, &table);
        if def.is_ok() || system_view(&database, &table).is_none() {
            let def = def.map_err(|e| store_error(e, &table))?;
            let schema = Schema::of(&def)?;
            if let Some(view) = &schema.view {
                views::columns(instance, env, &def, &schema, view)?;
            }
        }
    }
    Ok(Only {
        database: Some(database),
        table: Some(table),
        temporary,
        access: None,
    })
}

fn fields(only: Only, full: bool, filter: &Filter) -> Shown {
    let columns: &[(usize, &str)] = if full {
        &[
            (3, "Field"),
            (15, "Type"),
            (14, "Collation"),
            (6, "Null"),
            (16, "Key"),
            (5, "Default"),
            (17, "Extra"),
            (18, "Privileges"),
            (19, "Comment"),
        ]
    } else {
        &[
            (3, "Field"),
            (15, "Type"),
            (6, "Null"),
            (16, "Key"),
            (5, "Default"),
            (17, "Extra"),
        ]
    };
    Shown::some(schema::columns(only), columns, 3, filter)
}

/// DESCRIBE.
pub(crate) fn describe(
    name: &ObjectName,
    column: Option<&str>,
    env: &SessionEnv,
) -> SqlResult<Shown> {
    let filter = column.map(|c| ShowFilter::Like(c.to_string()));
    Ok(fields(table(name, env)?, false, &filter))
}

/// One row of texts under these headings.
fn one_row(columns: &[(&'static str, Ty)], row: Vec<String>) -> Shown {
    let table = Virtual::new("information_schema", "SHOW", columns, move |_, emit| {
        let values: Vec<_> = row.iter().map(|t| s(&**t)).collect();
        emit(&values)
    });
    Shown::whole(table, &None)
}

fn create_table(name: &ObjectName, env: &SessionEnv) -> SqlResult<Shown> {
    let (database, table) = ddl::qualified(name, env)?;
    let instance = &facts(env)?.instance;
    if is_system_schema(&database) {
        return match find(&database, &table) {
            Some(shown) => Ok(definition(shown.name().to_string(), virtual_text(&*shown))),
            None => Err(ddl::no_such_table(&database, &table)),
        };
    }
    let temporary = env.temporary.get(&database, &table);
    let def = match &temporary {
        Some(table) => table.def().clone(),
        None => match instance.engine().table_def(&database, &table) {
            Ok(def) => def,
            Err(e) => {
                let view = system_view_text(&database, &table, env);
                return view.ok_or_else(|| store_error(e, &table));
            }
        },
    };
    let schema = Schema::of(&def)?;
    if let Some(view) = &schema.view {
        let (columns, row) = views::definition(facts(env)?, env, &def, &schema, view);
        return Ok(one_row(columns, row));
    }
    let has_auto = schema.columns.iter().any(|c| c.auto_increment);
    let live = match &temporary {
        Some(table) => schema::live_of(instance, table, &schema, schema::Want::Counter),
        None => schema::live(instance, &database, &table, &schema, schema::Want::Counter),
    };
    let next = live.filter(|_| has_auto).and_then(|l| l.auto_increment);
    let own_file = instance.global_u64("innodb_file_per_table") == Some(1);
    let tablespace = match def.file {
        FileId::TEMP => None,
        file if file.is_general() => instance
            .engine()
            .tablespace_of(file)
            .map_err(|e| store_error(e, &table))?,
        file if file.is_own() == own_file => None,
        FileId::SHARED => Some("innodb_system".into()),
        _ => Some("innodb_file_per_table".into()),
    };
    let quotes = quotes(env);
    let text = table_text(&def, &schema, next, tablespace.as_deref(), quotes);
    Ok(definition(table, text))
}

pub(super) fn quotes(env: &SessionEnv) -> Quotes {
    Quotes {
        ansi: env.sql_mode.get().ansi_quotes,
    }
}

fn definition(table: String, text: String) -> Shown {
    one_row(
        &[("Table", Ty::Str(64)), ("Create Table", Ty::Str(1024))],
        vec![table, text],
    )
}

fn create_database(name: &str, if_not_exists: bool, env: &SessionEnv) -> SqlResult<Shown> {
    let collation = if is_system_schema(name) {
        Collation::DEFAULT
    } else {
        match ddl::database_collation(facts(env)?.instance.engine(), name) {
            Err(_) if has_system_views(name) => Collation::DEFAULT,
            collation => collation?,
        }
    };
    let engine = facts(env)?.instance.engine();
    let encrypted = engine.master_key_id().is_some();
    Ok(one_row(
        &[
            ("Database", Ty::Str(64)),
            ("Create Database", Ty::Str(1024)),
        ],
        vec![
            name.to_string(),
            database_text(name, if_not_exists, collation, encrypted, quotes(env)),
        ],
    ))
}

/// A heading that says which database and pattern it is about.
fn tables_heading(database: &str, filter: &Filter) -> String {
    match filter {
        Some(ShowFilter::Like(pattern)) => format!("Tables_in_{database} ({pattern})"),
        _ => format!("Tables_in_{database}"),
    }
}

/// Columns that a SHOW selects, with their headings.
type Selection = [(usize, &'static str)];

const TABLE_STATUS: &Selection = &[
    (2, "Name"),
    (4, "Engine"),
    (5, "Version"),
    (6, "Row_format"),
    (7, "Rows"),
    (8, "Avg_row_length"),
    (9, "Data_length"),
    (10, "Max_data_length"),
    (11, "Index_length"),
    (12, "Data_free"),
    (13, "Auto_increment"),
    (14, "Create_time"),
    (15, "Update_time"),
    (16, "Check_time"),
    (17, "Collation"),
    (18, "Checksum"),
    (19, "Create_options"),
    (20, "Comment"),
];
const INDEX: &Selection = &[
    (2, "Table"),
    (3, "Non_unique"),
    (5, "Key_name"),
    (6, "Seq_in_index"),
    (7, "Column_name"),
    (8, "Collation"),
    (9, "Cardinality"),
    (10, "Sub_part"),
    (11, "Packed"),
    (12, "Null"),
    (13, "Index_type"),
    (14, "Comment"),
    (15, "Index_comment"),
    (16, "Visible"),
    (17, "Expression"),
];
const PROCESSLIST: &Selection = &[
    (0, "Id"),
    (1, "User"),
    (2, "Host"),
    (3, "db"),
    (4, "Command"),
    (5, "Time"),
    (6, "State"),
    (7, "Info"),
];
const ENGINES: &Selection = &[
    (0, "Engine"),
    (1, "Support"),
    (2, "Comment"),
    (3, "Transactions"),
    (4, "XA"),
    (5, "Savepoints"),
];
const COLLATIONS: &Selection = &[
    (0, "Collation"),
    (1, "Charset"),
    (2, "Id"),
    (3, "Default"),
    (4, "Compiled"),
    (5, "Sortlen"),
    (6, "Pad_attribute"),
];
const CHARACTER_SETS: &Selection = &[
    (0, "Charset"),
    (2, "Description"),
    (1, "Default collation"),
    (3, "Maxlen"),
];
const PLUGINS: &Selection = &[
    (0, "Name"),
    (2, "Status"),
    (3, "Type"),
    (5, "Library"),
    (9, "License"),
];
const REPLICA: super::table::Columns = &[
    ("Replica_IO_State", Ty::Str(14)),
    ("Source_Host", Ty::Str(60)),
    ("Source_User", Ty::Str(32)),
    ("Source_Port", Ty::Num),
];
const BINARY_LOG: super::table::Columns = &[
    ("File", Ty::Str(255)),
    ("Position", Ty::Num),
    ("Binlog_Do_DB", Ty::Str(255)),
    ("Binlog_Ignore_DB", Ty::Str(255)),
    ("Executed_Gtid_Set", Ty::Text),
];
const REPLICAS: super::table::Columns = &[
    ("Server_Id", Ty::Num),
    ("Host", Ty::Str(255)),
    ("Port", Ty::Num),
    ("Source_Id", Ty::Num),
    ("Replica_UUID", Ty::Str(36)),
];

/// A SHOW statement's table. Whatever it names must exist.
pub(crate) fn of(show: &ast::Show, env: &SessionEnv) -> SqlResult<Shown> {
    use ShowKind as K;
    let filter = &show.filter;
    let none = &None;
    let given = show.database.as_ref().map(Ident::as_str);
    let scope = show.scope.unwrap_or(ast::Scope::Session);
    let full = show.full;
    Ok(match show.kind {
        K::Databases => databases(filter)?,
        K::Tables => tables(database(given, env)?, full, filter),
        K::TableStatus => Shown::some(table_status(given, env)?, TABLE_STATUS, 2, filter),
        K::OpenTables => open_tables(given, env, filter)?,
        K::Columns => fields(table(named(show)?, env)?, full, filter),
        K::Index => Shown::some(
            schema::statistics(table(named(show)?, env)?),
            INDEX,
            5,
            filter,
        ),
        K::CreateTable => create_table(named(show)?, env)?,
        K::CreateDatabase => create_database(named(show)?.name.as_str(), show.if_not_exists, env)?,
        K::Variables => name_and_value(server::variables("SHOW_VARIABLES", scope), filter),
        K::Status => name_and_value(server::status("SHOW_STATUS", scope), filter),
        K::ProcessList => {
            let list = server::processlist("information_schema", !full);
            Shown::some(list, PROCESSLIST, 0, none)
        }
        K::Warnings | K::Errors => {
            let (count, offset) = limit(show)?;
            Shown::whole(
                server::warnings(show.kind == K::Errors, offset, count),
                none,
            )
        }
        K::CountWarnings => Shown::whole(server::warning_count(false), none),
        K::CountErrors => Shown::whole(server::warning_count(true), none),
        K::Engines => Shown::some(server::engines(), ENGINES, 0, none),
        K::Engine => engine(show)?,
        K::Collation => Shown::some(server::collations(), COLLATIONS, 0, filter),
        K::CharacterSet => Shown::some(server::character_sets(), CHARACTER_SETS, 0, filter),
        K::Privileges => Shown::whole(server::privileges(), none),
        K::Plugins => Shown::some(server::plugins(), PLUGINS, 0, none),
        K::Triggers => {
            let table = routines::show_triggers(database(given, env)?);
            Shown {
                like: 2,
                ..Shown::whole(table, filter)
            }
        }
        // A database that is not there has no events.
        K::Events => {
            let database = given.map_or_else(|| ddl::current_database(env), |d| Ok(d.into()))?;
            second(events::show_events(database), filter)
        }
        K::FunctionStatus => second(routines::status(ProgramKind::Function), filter),
        K::ProcedureStatus => second(routines::status(ProgramKind::Procedure), filter),
        K::CreateProcedure => create_routine(ProgramKind::Procedure, named(show)?, env)?,
        K::CreateFunction => create_routine(ProgramKind::Function, named(show)?, env)?,
        K::CreateView => create_view(named(show)?, env)?,
        K::CreateTrigger => create_trigger(named(show)?, env)?,
        K::CreateEvent => create_event(named(show)?, env)?,
        // The server is no replica and writes no binary log.
        K::ReplicaStatus => Shown::whole(server::nothing("SHOW_REPLICA", REPLICA), none),
        K::BinaryLogStatus => Shown::whole(server::nothing("SHOW_BINLOG", BINARY_LOG), none),
        K::Replicas => Shown::whole(server::nothing("SHOW_REPLICAS", REPLICAS), none),
        K::BinaryLogs => return Err(SqlError::new(1381, "You are not using binary logging")),
        K::BinlogEvents => return Err(SqlError::unsupported("SHOW BINLOG EVENTS")),
        K::RelaylogEvents => return Err(SqlError::unsupported("SHOW RELAYLOG EVENTS")),
        // Of accounts, which are the session's to show.
        K::Grants | K::CreateUser => return Err(SqlError::unsupported("this SHOW here")),
        // Of a debug build's alone in MySQL, too.
        K::FunctionCode | K::ProcedureCode => {
            return Err(SqlError::new(
                1289,
                "The 'SHOW PROCEDURE|FUNCTION CODE' feature is disabled; you need MySQL built with '--with-debug' to have it working",
            ));
        }
        K::Profile => {
            let list = profile::one(&show.profile.all(), show.query, limit(show)?);
            Shown::whole(list, none)
        }
        K::Profiles => Shown::whole(profile::list(), none),
    })
}

/// The name that a SHOW is about; the grammar has it there.
fn named(show: &ast::Show) -> SqlResult<&ObjectName> {
    show.name
        .as_ref()
        .ok_or_else(|| SqlError::new(1105, "SHOW of nothing"))
}

/// LIMIT, as how many and after how many.
fn limit(show: &ast::Show) -> SqlResult<(Option<u64>, u64)> {
    let number = |e: &ast::Expr| match e.kind {
        ExprKind::Int(n) => Ok(n),
        _ => Err(SqlError::unsupported("a LIMIT of SHOW that is no number")),
    };
    let Some(limit) = &show.limit else {
        return Ok((None, 0));
    };
    let offset = limit.offset.as_ref().map_or(Ok(0), number)?;
    Ok((Some(number(&limit.count)?), offset))
}

/// All columns under their own names, LIKE on the second.
fn second(table: Virtual, filter: &Filter) -> Shown {
    Shown {
        like: 1,
        ..Shown::whole(table, filter)
    }
}

fn databases(filter: &Filter) -> SqlResult<Shown> {
    let heading = match filter {
        Some(ShowFilter::Like(pattern)) => format!("Database ({pattern})"),
        _ => "Database".to_string(),
    };
    let schemata = find("information_schema", "SCHEMATA")
        .ok_or_else(|| SqlError::new(1105, "no table SCHEMATA"))?;
    Ok(Shown {
        table: schemata,
        columns: vec![(1, Some(heading))],
        like: 1,
        filter: filter.clone(),
    })
}

fn tables(database: String, full: bool, filter: &Filter) -> Shown {
    let mut columns = vec![(0, Some(tables_heading(&database, filter)))];
    if full {
        columns.push((1, None));
    }
    Shown {
        table: Arc::new(schema::table_names(database)),
        columns,
        like: 0,
        filter: filter.clone(),
    }
}

fn table_status(given: Option<&str>, env: &SessionEnv) -> SqlResult<Virtual> {
    Ok(schema::tables_table(Only {
        database: Some(database(given, env)?),
        ..Only::default()
    }))
}

fn open_tables(given: Option<&str>, env: &SessionEnv, filter: &Filter) -> SqlResult<Shown> {
    let database = match given {
        Some(_) => Some(database(given, env)?),
        None => None,
    };
    Ok(second(super::locks::open_tables(database), filter))
}

fn engine(show: &ast::Show) -> SqlResult<Shown> {
    if let Some(report @ (ast::EngineReport::Mutex | ast::EngineReport::Logs)) = show.engine {
        return Err(SqlError::unsupported(format_args!(
            "SHOW ENGINE ... {report}"
        )));
    }
    let name = named(show)?.name.as_str();
    if !catalog::is_ours(name) {
        return Err(SqlError::new(
            1286,
            format!("Unknown storage engine '{name}'"),
        ));
    }
    Ok(Shown::whole(server::engine_status(), &None))
}

/// Texts under one heading.
pub(crate) fn list(heading: String, rows: Vec<String>) -> Shown {
    let table = Virtual::new(
        "information_schema",
        "SHOW",
        &[("Text", Ty::Str(1024))],
        move |_, emit| rows.iter().try_for_each(|row| emit(&[s(&**row)])),
    );
    Shown {
        table: Arc::new(table),
        columns: vec![(0, Some(heading))],
        like: 0,
        filter: None,
    }
}

fn name_and_value(table: Virtual, filter: &Filter) -> Shown {
    Shown::some(table, &[(0, "Variable_name"), (1, "Value")], 0, filter)
}

/// SHOW CREATE PROCEDURE and FUNCTION.
fn create_routine(kind: ProgramKind, name: &ObjectName, env: &SessionEnv) -> SqlResult<Shown> {
    let (database, name) = ddl::qualified(name, env)?;
    let instance = &facts(env)?.instance;
    let row = routines::create(kind, &database, &name, instance, quotes(env))?;
    let of = |name, text| {
        [
            (name, Ty::Str(64)),
            ("sql_mode", Ty::Str(1024)),
            (text, Ty::NullStr(1024)),
            ("character_set_client", Ty::Str(64)),
            ("collation_connection", Ty::Str(64)),
            ("Database Collation", Ty::Str(64)),
        ]
    };
    Ok(match kind {
        ProgramKind::Function => one_row(&of("Function", "Create Function"), row),
        _ => one_row(&of("Procedure", "Create Procedure"), row),
    })
}

/// SHOW CREATE TRIGGER.
fn create_trigger(name: &ObjectName, env: &SessionEnv) -> SqlResult<Shown> {
    let (database, name) = ddl::qualified(name, env)?;
    let instance = &facts(env)?.instance;
    let row = routines::create_trigger(&database, &name, instance, env, quotes(env))?;
    let columns = [
        ("Trigger", Ty::Str(64)),
        ("sql_mode", Ty::Str(1024)),
        ("SQL Original Statement", Ty::Str(1024)),
        ("character_set_client", Ty::Str(64)),
        ("collation_connection", Ty::Str(64)),
        ("Database Collation", Ty::Str(64)),
        ("Created", Ty::NullStr(32)),
    ];
    Ok(one_row(&columns, row))
}

/// SHOW CREATE EVENT.
fn create_event(name: &ObjectName, env: &SessionEnv) -> SqlResult<Shown> {
    let (database, name) = ddl::qualified(name, env)?;
    let instance = &facts(env)?.instance;
    let row = events::create(&database, &name, instance, quotes(env))?;
    let columns = [
        ("Event", Ty::Str(64)),
        ("sql_mode", Ty::Str(1024)),
        ("time_zone", Ty::Str(64)),
        ("Create Event", Ty::Str(1024)),
        ("character_set_client", Ty::Str(64)),
        ("collation_connection", Ty::Str(64)),
        ("Database Collation", Ty::Str(64)),
    ];
    Ok(one_row(&columns, row))
}

/// SHOW CREATE VIEW, and TABLE, of a view of the system.
fn system_view_text(database: &str, name: &str, env: &SessionEnv) -> Option<Shown> {
    let (name, view) = system_view(database, name)?;
    let (columns, row) = views::system_definition(&name, &view, env);
    Some(one_row(columns, row))
}

fn create_view(name: &ObjectName, env: &SessionEnv) -> SqlResult<Shown> {
    let (database, table) = ddl::qualified(name, env)?;
    if is_system_schema(&database) {
        return match find(&database, &table) {
            Some(_) => Err(wrong_object(&database, &table, "VIEW")),
            None => Err(ddl::no_such_table(&database, &table)),
        };
    }
    let facts = facts(env)?;
    let def = match facts.instance.engine().table_def(&database, &table) {
        Ok(def) => def,
        Err(e) => {
            let view = system_view_text(&database, &table, env);
            return view.ok_or_else(|| store_error(e, &table));
        }
    };
    let schema = Schema::of(&def)?;
    let Some(view) = &schema.view else {
        return Err(wrong_object(&database, &table, "VIEW"));
    };
    let (columns, row) = views::definition(facts, env, &def, &schema, view);
    Ok(one_row(columns, row))
}
