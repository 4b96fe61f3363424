//! SHOW and DESCRIBE as selections from virtual tables.

use std::sync::Arc;

use super::create::{Quotes, database_text, table_text, virtual_text};
use super::logs::MYSQL;
use super::schema::{self, Only};
use super::server;
use super::table::{Ty, Virtual, s};
use super::{VirtualTable, find, is_system_schema};
use crate::ddl;
use crate::error::{SqlError, SqlResult};
use crate::exec::store_error;
use crate::parse::{Show, ShowFilter, TableName};
use crate::session::Facts;
use crate::session::env::SessionEnv;
use crate::types::{Collation, Schema};

/// A SHOW statement, ready for the planner.
pub(crate) struct Shown {
    pub table: Arc<dyn VirtualTable>,
    /// Columns selected, with their headings where those differ from the names.
    pub columns: Vec<(usize, Option<String>)>,
    /// The column that LIKE is about.
    pub like: usize,
    pub filter: ShowFilter,
}

impl Shown {
    /// All columns under their own names, LIKE on the first.
    fn whole(table: Virtual, filter: &ShowFilter) -> Shown {
        let columns = (0..table.columns().len()).map(|i| (i, None)).collect();
        Shown {
            table: Arc::new(table),
            columns,
            like: 0,
            filter: filter.clone(),
        }
    }
    fn some(table: Virtual, columns: &[(usize, &str)], like: usize, filter: &ShowFilter) -> Shown {
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
    env.facts
        .as_deref()
        .ok_or_else(|| SqlError::new(1105, "SHOW needs a session"))
}

/// The database meant; error 1046 if none is, 1049 if there's no such.
fn database(given: Option<&String>, env: &SessionEnv) -> SqlResult<String> {
    let name = match given {
        Some(name) => name.clone(),
        None => ddl::current_database(env)?,
    };
    if is_system_schema(&name) {
        return Ok(name.to_ascii_lowercase());
    }
    facts(env)?
        .instance
        .engine()
        .database(&name)
        .map_err(|e| store_error(e, &name))?;
    Ok(name)
}

/// A table that must exist, as what narrows a virtual table to it.
fn table(name: &TableName, env: &SessionEnv) -> SqlResult<Only> {
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
        facts(env)?
            .instance
            .engine()
            .table_def(&database, &table)
            .map_err(|e| store_error(e, &table))?;
    }
    Ok(Only {
        database: Some(database),
        table: Some(table),
        temporary,
    })
}

fn fields(only: Only, full: bool, filter: &ShowFilter) -> Shown {
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
    name: &TableName,
    column: Option<&str>,
    env: &SessionEnv,
) -> SqlResult<Shown> {
    let filter = column.map_or(ShowFilter::None, |c| ShowFilter::Like(c.to_string()));
    Ok(fields(table(name, env)?, false, &filter))
}

/// One row of texts under these headings.
fn one_row(columns: super::table::Columns, row: Vec<String>) -> Shown {
    let table = Virtual::new("information_schema", "SHOW", columns, move |_, emit| {
        let values: Vec<_> = row.iter().map(|t| s(&**t)).collect();
        emit(&values)
    });
    Shown::whole(table, &ShowFilter::None)
}

fn create_table(name: &TableName, env: &SessionEnv) -> SqlResult<Shown> {
    let (database, table) = ddl::qualified(name, env)?;
    let instance = &facts(env)?.instance;
    if is_system_schema(&database) {
        return match find(&database, &table) {
            Some(shown) if shown.database() == MYSQL => {
                Ok(definition(table, virtual_text(&*shown)))
            }
            Some(_) => Err(SqlError::unsupported("SHOW CREATE TABLE of a system view")),
            None => Err(ddl::no_such_table(&database, &table)),
        };
    }
    let temporary = env.temporary.get(&database, &table);
    let def = match &temporary {
        Some(table) => table.def().clone(),
        None => instance
            .engine()
            .table_def(&database, &table)
            .map_err(|e| store_error(e, &table))?,
    };
    let schema = Schema::of(&def)?;
    let has_auto = schema.columns.iter().any(|c| c.auto_increment);
    let live = match &temporary {
        Some(table) => schema::live_of(instance, table, &schema, schema::Want::Counter),
        None => schema::live(instance, &database, &table, &schema, schema::Want::Counter),
    };
    let next = live.filter(|_| has_auto).and_then(|l| l.auto_increment);
    let own_file = instance.global_u64("innodb_file_per_table") == Some(1);
    let text = table_text(&def, &schema, next, own_file, quotes(env));
    Ok(definition(table, text))
}

fn quotes(env: &SessionEnv) -> Quotes {
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
        Collation::Utf8mb4GeneralCi
    } else {
        ddl::database_collation(facts(env)?.instance.engine(), name)?
    };
    Ok(one_row(
        &[
            ("Database", Ty::Str(64)),
            ("Create Database", Ty::Str(1024)),
        ],
        vec![
            name.to_string(),
            database_text(name, if_not_exists, collation, quotes(env)),
        ],
    ))
}

/// A heading that says which database and pattern it is about.
fn tables_heading(database: &str, filter: &ShowFilter) -> String {
    match filter {
        ShowFilter::Like(pattern) => format!("Tables_in_{database} ({pattern})"),
        _ => format!("Tables_in_{database}"),
    }
}

/// A SHOW statement's table. Whatever it names must exist.
pub(crate) fn of(show: &Show, env: &SessionEnv) -> SqlResult<Shown> {
    let none = ShowFilter::None;
    Ok(match show {
        Show::Databases(filter) => {
            let heading = match filter {
                ShowFilter::Like(p) => format!("Database ({p})"),
                _ => "Database".to_string(),
            };
            let schemata = find("information_schema", "SCHEMATA")
                .ok_or_else(|| SqlError::new(1105, "no table SCHEMATA"))?;
            Shown {
                table: schemata,
                columns: vec![(1, Some(heading))],
                like: 1,
                filter: filter.clone(),
            }
        }
        Show::Tables {
            full,
            database: db,
            filter,
        } => {
            let db = database(db.as_ref(), env)?;
            let mut columns = vec![(0, Some(tables_heading(&db, filter)))];
            if *full {
                columns.push((1, None));
            }
            Shown {
                table: Arc::new(schema::table_names(db)),
                columns,
                like: 0,
                filter: filter.clone(),
            }
        }
        Show::TableStatus {
            database: db,
            filter,
        } => {
            let only = Only {
                database: Some(database(db.as_ref(), env)?),
                ..Only::default()
            };
            let columns = [
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
            Shown::some(schema::tables_table(only), &columns, 2, filter)
        }
        Show::OpenTables {
            database: db,
            filter,
        } => {
            let db = match db {
                Some(_) => Some(database(db.as_ref(), env)?),
                None => None,
            };
            Shown {
                like: 1,
                ..Shown::whole(super::locks::open_tables(db), filter)
            }
        }
        Show::Columns {
            full,
            table: name,
            filter,
        } => fields(table(name, env)?, *full, filter),
        Show::Index {
            table: name,
            filter,
        } => {
            let columns = [
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
            Shown::some(schema::statistics(table(name, env)?), &columns, 5, filter)
        }
        Show::CreateTable(name) => create_table(name, env)?,
        Show::CreateDatabase {
            if_not_exists,
            name,
        } => create_database(name, *if_not_exists, env)?,
        Show::Variables { scope, filter } => {
            name_and_value(server::variables("SHOW_VARIABLES", *scope), filter)
        }
        Show::Status { scope, filter } => {
            name_and_value(server::status("SHOW_STATUS", *scope), filter)
        }
        Show::ProcessList { full } => Shown::some(
            server::processlist("information_schema", !full),
            &[
                (0, "Id"),
                (1, "User"),
                (2, "Host"),
                (3, "db"),
                (4, "Command"),
                (5, "Time"),
                (6, "State"),
                (7, "Info"),
            ],
            0,
            &none,
        ),
        Show::Warnings { limit, offset } => {
            Shown::whole(server::warnings(false, *offset, *limit), &none)
        }
        Show::Errors { limit, offset } => {
            Shown::whole(server::warnings(true, *offset, *limit), &none)
        }
        Show::CountWarnings => Shown::whole(server::warning_count(false), &none),
        Show::CountErrors => Shown::whole(server::warning_count(true), &none),
        Show::Engines => Shown::some(
            server::engines(),
            &[
                (0, "Engine"),
                (1, "Support"),
                (2, "Comment"),
                (3, "Transactions"),
                (4, "XA"),
                (5, "Savepoints"),
            ],
            0,
            &none,
        ),
        Show::EngineStatus(name) => {
            if !name.eq_ignore_ascii_case("innodb") && !name.eq_ignore_ascii_case("millpond") {
                return Err(SqlError::new(
                    1286,
                    format!("Unknown storage engine '{name}'"),
                ));
            }
            Shown::whole(server::engine_status(), &none)
        }
        Show::Collation(filter) => Shown::some(
            server::collations(),
            &[
                (0, "Collation"),
                (1, "Charset"),
                (2, "Id"),
                (3, "Default"),
                (4, "Compiled"),
                (5, "Sortlen"),
                (6, "Pad_attribute"),
            ],
            0,
            filter,
        ),
        Show::CharacterSet(filter) => Shown::some(
            server::character_sets(),
            &[
                (0, "Charset"),
                (2, "Description"),
                (1, "Default collation"),
                (3, "Maxlen"),
            ],
            0,
            filter,
        ),
        Show::Grants(_) => {
            let heading = format!("Grants for {}", env.user);
            Shown {
                table: Arc::new(server::grants()),
                columns: vec![(0, Some(heading))],
                like: 0,
                filter: ShowFilter::None,
            }
        }
        Show::Privileges => Shown::whole(server::privileges(), &none),
        Show::Plugins => Shown::some(
            server::plugins(),
            &[
                (0, "Name"),
                (2, "Status"),
                (3, "Type"),
                (5, "Library"),
                (9, "License"),
            ],
            0,
            &none,
        ),
        Show::Triggers {
            database: db,
            filter,
        } => {
            database(db.as_ref(), env)?;
            let columns = &[
                ("Trigger", Ty::Str(64)),
                ("Event", Ty::Str(6)),
                ("Table", Ty::Str(64)),
                ("Statement", Ty::Text),
                ("Timing", Ty::Str(6)),
                ("Created", Ty::NullTime),
                ("sql_mode", Ty::Text),
                ("Definer", Ty::Str(288)),
                ("character_set_client", Ty::Str(64)),
                ("collation_connection", Ty::Str(64)),
                ("Database Collation", Ty::Str(64)),
            ];
            Shown::whole(server::nothing("SHOW_TRIGGERS", columns), filter)
        }
        Show::Events {
            database: db,
            filter,
        } => {
            database(db.as_ref(), env)?;
            let columns = &[
                ("Db", Ty::Str(64)),
                ("Name", Ty::Str(64)),
                ("Definer", Ty::Str(288)),
                ("Time zone", Ty::Str(64)),
                ("Type", Ty::Str(9)),
                ("Execute at", Ty::NullTime),
                ("Interval value", Ty::NullStr(256)),
                ("Interval field", Ty::NullStr(18)),
                ("Starts", Ty::NullTime),
                ("Ends", Ty::NullTime),
                ("Status", Ty::Str(21)),
                ("Originator", Ty::Num),
                ("character_set_client", Ty::Str(64)),
                ("collation_connection", Ty::Str(64)),
                ("Database Collation", Ty::Str(64)),
            ];
            Shown {
                like: 1,
                ..Shown::whole(server::nothing("SHOW_EVENTS", columns), filter)
            }
        }
        Show::RoutineStatus { filter, .. } => {
            let columns = &[
                ("Db", Ty::Str(64)),
                ("Name", Ty::Str(64)),
                ("Type", Ty::Str(9)),
                ("Definer", Ty::Str(288)),
                ("Modified", Ty::NullTime),
                ("Created", Ty::NullTime),
                ("Security_type", Ty::Str(7)),
                ("Comment", Ty::Text),
                ("character_set_client", Ty::Str(64)),
                ("collation_connection", Ty::Str(64)),
                ("Database Collation", Ty::Str(64)),
            ];
            Shown {
                like: 1,
                ..Shown::whole(server::nothing("SHOW_ROUTINES", columns), filter)
            }
        }
        Show::CreateOther(kind, name) => return Err(create_other(kind, name, env)?),
        Show::Replication(words) => return replication(words),
    })
}

fn name_and_value(table: Virtual, filter: &ShowFilter) -> Shown {
    Shown::some(table, &[(0, "Variable_name"), (1, "Value")], 0, filter)
}

/// SHOW CREATE VIEW, PROCEDURE and so on: none exists.
fn create_other(kind: &str, name: &TableName, env: &SessionEnv) -> SqlResult<SqlError> {
    let (database, table) = ddl::qualified(name, env)?;
    Ok(match kind {
        "VIEW" => {
            table_must_exist(&database, &table, env)?;
            SqlError::new(1347, format!("'{database}.{table}' is not VIEW"))
        }
        "TRIGGER" => SqlError::new(1360, "Trigger does not exist"),
        "EVENT" => SqlError::new(1539, format!("Unknown event '{table}'")),
        _ => SqlError::new(1305, format!("{kind} {table} does not exist")),
    })
}

fn table_must_exist(database: &str, table: &str, env: &SessionEnv) -> SqlResult<()> {
    facts(env)?
        .instance
        .engine()
        .table_def(database, table)
        .map(|_| ())
        .map_err(|e| store_error(e, table))
}

/// Replication's SHOWs: the server is no replica and writes no binary log.
fn replication(words: &str) -> SqlResult<Shown> {
    let (name, columns): (_, super::table::Columns) = match words {
        "SLAVE STATUS" | "REPLICA STATUS" => (
            "SHOW_REPLICA",
            &[
                ("Replica_IO_State", Ty::Str(14)),
                ("Source_Host", Ty::Str(60)),
                ("Source_User", Ty::Str(32)),
                ("Source_Port", Ty::Num),
            ],
        ),
        "MASTER STATUS" | "BINARY LOG STATUS" => (
            "SHOW_BINLOG",
            &[
                ("File", Ty::Str(255)),
                ("Position", Ty::Num),
                ("Binlog_Do_DB", Ty::Str(255)),
                ("Binlog_Ignore_DB", Ty::Str(255)),
                ("Executed_Gtid_Set", Ty::Text),
            ],
        ),
        "SLAVE HOSTS" | "REPLICAS" => (
            "SHOW_REPLICAS",
            &[
                ("Server_Id", Ty::Num),
                ("Host", Ty::Str(255)),
                ("Port", Ty::Num),
                ("Source_Id", Ty::Num),
                ("Replica_UUID", Ty::Str(36)),
            ],
        ),
        "BINARY LOGS" | "MASTER LOGS" => {
            return Err(SqlError::new(1381, "You are not using binary logging"));
        }
        other => return Err(SqlError::unsupported(format_args!("SHOW {other}"))),
    };
    Ok(Shown::whole(
        server::nothing(name, columns),
        &ShowFilter::None,
    ))
}
