//! Views in SHOW and information_schema.
//!
//! What a view's columns are now is found by binding it, with the locks of a reader who does not wait: where DDL has one of its tables in
//! hand, the columns are shown that it had when it was made.

use std::fmt::Write;
use std::sync::Arc;

use millpond_store::{Isolation, TableDef};

use super::of::quotes;
use super::schema::{Met, Only, each_table};
use super::sys;
use super::table::{Columns, Context, Ty, Virtual, opt, s};
use crate::instance::{Facts, Instance};
use millpond_sql::catalog::View;
use millpond_sql::env::SessionEnv;
use millpond_sql::env::privileges::{SELECT, SHOW_VIEW};
use millpond_sql::error::SqlResult;
use millpond_sql::planner::{self, PlanContext, ViewColumn};
use millpond_sql::types::{Column, Schema};

const IS: &str = "information_schema";

/// Error 1356.
const INVALID: u16 = 1356;

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        IS => vec![views(), table_usage()],
        _ => Vec::new(),
    }
}

/// The columns that a view has now; error 1356 if what it names is gone.
pub(super) fn columns(
    instance: &Instance,
    env: &SessionEnv,
    def: &TableDef,
    schema: &Schema,
    view: &Arc<View>,
) -> SqlResult<Vec<Column>> {
    let bound = bind_quietly(instance, env, |cx| {
        planner::view_columns((&def.database, &def.name), schema, view, cx)
    });
    match bound {
        Ok(bound) => {
            let mut columns = schema.columns.clone();
            for (column, now) in columns.iter_mut().zip(bound) {
                (column.ty, column.nullable) = (now.ty, now.nullable);
            }
            Ok(columns)
        }
        Err(e) if e.code == INVALID => Err(e),
        Err(_) => Ok(schema.columns.clone()),
    }
}

/// The columns of a view of the system.
pub(super) fn system_columns(
    instance: &Instance,
    env: &SessionEnv,
    name: &str,
    view: &Arc<View>,
) -> SqlResult<Vec<Column>> {
    let bound = bind_quietly(instance, env, |cx| {
        planner::system_view_columns((sys::SYS, name), view, cx)
    })?;
    let column = |c: ViewColumn| super::schema::plain_column(c.name, c.ty, c.nullable);
    Ok(bound.into_iter().map(column).collect())
}

/// Binds something with the locks of a reader who does not wait.
fn bind_quietly<T>(
    instance: &Instance,
    env: &SessionEnv,
    bind: impl FnOnce(&mut PlanContext<'_>) -> SqlResult<T>,
) -> SqlResult<T> {
    let engine = instance.engine();
    let owner = engine.owner();
    owner.set_metadata_timeout(0);
    let mut txn = engine.begin(&owner, Isolation::ReadUncommitted);
    let bound = bind(&mut PlanContext {
        engine,
        txn: &mut txn,
        env,
        params: None,
        peek: false,
        locals: None,
    });
    // Nothing was written: there is nothing a commit could fail to keep.
    let _ = engine.commit(txn);
    bound
}

/// The statement that makes a view, as MySQL prints it: names of databases are left out in the view's own, if it names no other.
pub(super) fn text((database, name): (&str, &str), view: &View, env: &SessionEnv) -> String {
    let quotes = quotes(env);
    let home = env.database.borrow().as_deref() == Some(database);
    let mut out = format!(
        "CREATE ALGORITHM={} DEFINER={}@{} SQL SECURITY {} VIEW ",
        view.algorithm,
        quotes.name(&view.definer.0),
        quotes.name(&view.definer.1),
        view.security
    );
    if !home {
        let _ = write!(out, "{}.", quotes.name(database));
    }
    let query = match &view.short {
        Some(short) if home => short,
        _ => &view.query,
    };
    let _ = write!(out, "{} AS {query}", quotes.name(name));
    if let Some(check) = view.check {
        let _ = write!(out, " WITH {check} CHECK OPTION");
    }
    out
}

/// What SHOW CREATE VIEW and SHOW CREATE TABLE show of one. A warning says if what it names is gone.
pub(super) fn definition(
    facts: &Facts,
    env: &SessionEnv,
    def: &TableDef,
    schema: &Schema,
    view: &Arc<View>,
) -> (Columns, Vec<String>) {
    if let Err(e) = columns(&facts.instance, env, def, schema, view) {
        env.warn(e.code, e.message);
    }
    shown((&def.database, &def.name), view, env)
}

/// What SHOW CREATE VIEW shows of a view of the system.
pub(super) fn system_definition(
    name: &str,
    view: &View,
    env: &SessionEnv,
) -> (Columns, Vec<String>) {
    shown((sys::SYS, name), view, env)
}

fn shown(name: (&str, &str), view: &View, env: &SessionEnv) -> (Columns, Vec<String>) {
    let headings: Columns = &[
        ("View", Ty::Str(64)),
        ("Create View", Ty::Str(1024)),
        ("character_set_client", Ty::Str(64)),
        ("collation_connection", Ty::Str(64)),
    ];
    let row = vec![
        name.1.to_string(),
        text(name, view, env),
        view.client.clone(),
        view.collation.name().to_string(),
    ];
    (headings, row)
}

/// The comment that a listing shows of a view: `VIEW`, or that what it names is gone.
pub(super) fn comment(
    cx: &Context<'_>,
    def: &TableDef,
    schema: &Schema,
    view: &Arc<View>,
) -> String {
    match columns(&cx.facts.instance, cx.env, def, schema, view) {
        Ok(_) => "VIEW".to_string(),
        Err(e) => e.message,
    }
}

fn each_view(
    cx: &Context<'_>,
    mut f: impl FnMut(&str, &str, &View) -> SqlResult<()>,
) -> SqlResult<()> {
    let only = Only::default().narrowed(cx, 1, 2);
    each_table(&cx.facts.instance, &only, |database, met| match met {
        Met::View(def, _, view) => f(database, &def.name, view),
        Met::SystemView(name, view) => f(database, name, view),
        Met::Stored(..) | Met::Virtual(_) => Ok(()),
    })
}

fn views() -> Virtual {
    const NAME: Ty = Ty::Str(64);
    const COLUMNS: Columns = &[
        ("TABLE_CATALOG", NAME),
        ("TABLE_SCHEMA", NAME),
        ("TABLE_NAME", NAME),
        ("VIEW_DEFINITION", Ty::NullText),
        ("CHECK_OPTION", Ty::Str(8)),
        ("IS_UPDATABLE", Ty::Str(3)),
        ("DEFINER", Ty::Str(288)),
        ("SECURITY_TYPE", Ty::Str(7)),
        ("CHARACTER_SET_CLIENT", NAME),
        ("COLLATION_CONNECTION", NAME),
    ];
    Virtual::new(IS, "VIEWS", COLUMNS, |cx, emit| {
        each_view(cx, |database, name, view| {
            let check = view.check.map(|c| c.to_string());
            let wanted = SHOW_VIEW | SELECT;
            let shown = cx.access().table(database, name) & wanted == wanted;
            emit(&[
                s("def"),
                s(database),
                s(name),
                s(if shown { &*view.query } else { "" }),
                s(check.unwrap_or_else(|| "NONE".to_string())),
                s(if view.updatable { "YES" } else { "NO" }),
                s(format!("{}@{}", view.definer.0, view.definer.1)),
                s(view.security.to_string()),
                s(&*view.client),
                s(view.collation.name()),
            ])
        })
    })
}

fn table_usage() -> Virtual {
    const COLUMNS: Columns = &[
        ("VIEW_CATALOG", Ty::NullStr(64)),
        ("VIEW_SCHEMA", Ty::NullStr(64)),
        ("VIEW_NAME", Ty::NullStr(64)),
        ("TABLE_CATALOG", Ty::NullStr(64)),
        ("TABLE_SCHEMA", Ty::NullStr(64)),
        ("TABLE_NAME", Ty::NullStr(64)),
    ];
    Virtual::new(IS, "VIEW_TABLE_USAGE", COLUMNS, |cx, emit| {
        each_view(cx, |database, name, view| {
            let mut tables: Vec<&(String, String)> = view.tables.iter().collect();
            tables.sort();
            for (home, table) in tables {
                emit(&[
                    s("def"),
                    s(database),
                    s(name),
                    s("def"),
                    opt(Some(&**home)),
                    opt(Some(&**table)),
                ])?;
            }
            Ok(())
        })
    })
}
