//! Data definition statements.
//!
//! | file | owns |
//! |---|---|
//! | `names` | what names may be |
//! | `column` | a column's definition: type, NULL, default |
//! | `key` | key parts, key names, the choice of the clustered index |
//! | `create` | CREATE TABLE |
//! | `alter` | ALTER TABLE, CREATE INDEX, DROP INDEX |
//! | `change` | a definition while it is being changed |
//! | `clauses` | ALGORITHM and LOCK |
//! | `partition` | changes of partitions |
//! | `rebuild` | tables written anew |
//! | `temporary` | temporary tables |
//!
//! This module turns statements into definitions and checks them; the store carries each out as one atomic,
//! crash-safe step. The caller has committed the session's transaction. What can't be done in one such
//! step is refused (error 1235), never done in pieces.

mod alter;
mod change;
mod clauses;
mod column;
mod create;
mod key;
mod names;
mod partition;
mod rebuild;
mod temporary;

use std::sync::Arc;

use millpond_store::{CATALOG_DATABASE, Engine, Error, Owner};

use crate::error::{SqlError, SqlResult};
use crate::exec::store_error;
use crate::parse::{DatabaseOptions, Kind, Program, TableName, sp};
use crate::session::env::SessionEnv;
use crate::session::vars::SessionVars;
use crate::show::is_system_schema;
use crate::types::Collation;

pub(crate) use create::Prepared;
pub(crate) use partition::not_temporary;
pub(crate) use rebuild::{Fill, Home, WORK_DATABASE, Work, clear_work};

/// What a DDL statement works with.
pub(crate) struct Ddl<'a> {
    pub engine: &'a Engine,
    pub owner: &'a Arc<Owner>,
    pub env: &'a SessionEnv,
    pub vars: &'a SessionVars,
    /// sql_mode, all bits.
    pub mode: u64,
    /// LOCK TABLES holds the tables exclusively already.
    pub tables_locked: bool,
}

/// What a DDL statement reports.
#[derive(Default)]
pub(crate) struct Done {
    pub affected: u64,
    pub info: String,
}

/// The database in use; error 1046 if there's none.
pub(crate) fn current_database(env: &SessionEnv) -> SqlResult<String> {
    env.database
        .borrow()
        .clone()
        .ok_or_else(|| SqlError::new(1046, "No database selected"))
}

/// A table's database and name.
pub(crate) fn qualified(t: &TableName, env: &SessionEnv) -> SqlResult<(String, String)> {
    let database = match &t.database {
        Some(d) => d.clone(),
        None => current_database(env)?,
    };
    Ok((database, t.name.clone()))
}

/// A parsed object name as a table's name.
pub(crate) fn table_name(name: &sp::ObjectName) -> SqlResult<TableName> {
    let mut parts: Vec<String> = Vec::new();
    for part in &name.0 {
        match part {
            sp::ObjectNamePart::Identifier(i) => parts.push(i.value.clone()),
            sp::ObjectNamePart::Function(_) => {
                return Err(SqlError::syntax(format_args!("near '{name}'")));
            }
        }
    }
    match <[String; 2]>::try_from(parts) {
        Ok([database, name]) => Ok(TableName {
            database: Some(database),
            name,
        }),
        Err(mut parts) if parts.len() == 1 => Ok(TableName {
            database: None,
            name: parts.remove(0),
        }),
        Err(_) => Err(SqlError::syntax(format_args!("near '{name}'"))),
    }
}

/// Error 1146.
pub(crate) fn no_such_table(database: &str, table: &str) -> SqlError {
    SqlError::new(1146, format!("Table '{database}.{table}' doesn't exist"))
}

/// A database's default collation.
pub(crate) fn database_collation(engine: &Engine, name: &str) -> SqlResult<Collation> {
    let body = engine.database(name).map_err(|e| store_error(e, name))?;
    Collation::by_name(&String::from_utf8_lossy(&body))
}

/// Error 1044 for changes to a system schema.
fn not_system(database: &str, env: &SessionEnv) -> SqlResult<()> {
    if !is_system_schema(database) && ![WORK_DATABASE, CATALOG_DATABASE].contains(&database) {
        return Ok(());
    }
    let (user, host) = env.user.rsplit_once('@').unwrap_or((&env.user, ""));
    Err(SqlError::new(
        1044,
        format!("Access denied for user '{user}'@'{host}' to database '{database}'"),
    ))
}

impl<'a> Ddl<'a> {
    /// Carries a DDL statement out.
    pub fn execute(&self, kind: &Kind) -> SqlResult<Done> {
        match kind {
            Kind::CreateTable(create) => self.create_table(create),
            Kind::CreatePartitioned(create, by) => self.create_partitioned(create, by),
            Kind::CreateTableLike {
                if_not_exists,
                temporary,
                name,
                like,
            } => self.create_table_like(*if_not_exists, *temporary, name, like),
            Kind::CreateIndex(create) => self.create_index_statement(create),
            Kind::DropIndex {
                name,
                table,
                clauses,
            } => self.drop_index(table, name, clauses),
            Kind::AlterTable { table, actions } => self.alter_table(table, actions),
            Kind::AlterPartitions { table, op } => {
                let done = self.alter_partitions(table, op)?;
                self.outdate_statistics(table);
                Ok(done)
            }
            Kind::DropTables {
                if_exists,
                temporary,
                names,
            } => self.drop_tables(*if_exists, *temporary, names),
            Kind::DropViews { if_exists, names } => self.drop_views(*if_exists, names),
            Kind::DropProgram {
                program,
                if_exists,
                name,
            } => self.drop_program(*program, *if_exists, name),
            Kind::Truncate(table) => {
                let (database, name) = self.target(table)?;
                if self.truncate_temporary(&database, &name)? {
                    return Ok(Done::default());
                }
                self.engine
                    .truncate_table(self.owner, &database, &name)
                    .map_err(|e| store_error(e, &name))?;
                Ok(Done::default())
            }
            Kind::RenameTables(pairs) => self.rename_tables(pairs),
            Kind::CreateDatabase {
                if_not_exists,
                name,
                options,
            } => self.create_database(*if_not_exists, name, options),
            Kind::AlterDatabase { name, options } => self.alter_database(name.as_deref(), options),
            Kind::DropDatabase { if_exists, name } => self.drop_database(*if_exists, name),
            _ => Err(SqlError::unsupported("this statement")),
        }
    }

    /// Has a table measured anew whose partitions are others now. Statistics are no reason for DDL that is done to fail.
    fn outdate_statistics(&self, name: &TableName) {
        let Ok((database, table)) = qualified(name, self.env) else {
            return;
        };
        let isolation = millpond_store::Isolation::ReadCommitted;
        let mut txn = self.engine.begin(self.owner, isolation);
        if let Ok(open) = self.engine.open_table(&mut txn, &database, &table) {
            let _ = crate::catalog::statistics::outdate(self.engine, &open);
        }
        // It only read.
        let _ = self.engine.commit(txn);
    }

    /// A table to change: its database and name.
    fn target(&self, t: &TableName) -> SqlResult<(String, String)> {
        let (database, name) = qualified(t, self.env)?;
        not_system(&database, self.env)?;
        Ok((database, name))
    }

    fn drop_tables(
        &self,
        if_exists: bool,
        temporary: bool,
        names: &[TableName],
    ) -> SqlResult<Done> {
        let mut targets = Vec::new();
        for t in names {
            let target = self.target(t)?;
            if targets.contains(&target) {
                return Err(SqlError::new(
                    1066,
                    format!("Not unique table/alias: '{}'", target.1),
                ));
            }
            targets.push(target);
        }
        let mut missing: Vec<(String, String)> = Vec::new();
        let hidden = |t: &(String, String)| self.temporary(&t.0, &t.1).is_some();
        let (mine, mut targets): (Vec<_>, Vec<_>) = targets.into_iter().partition(hidden);
        loop {
            for t in &targets {
                let exists = !temporary && self.exists(&t.0, &t.1)?;
                if !exists && !missing.contains(t) {
                    missing.push(t.clone());
                }
            }
            targets.retain(|t| !missing.contains(t));
            if !missing.is_empty() && !if_exists {
                return Err(unknown_tables(&missing));
            }
            let dropped = if targets.is_empty() {
                Ok(())
            } else {
                self.engine.drop_tables(self.owner, &targets)
            };
            match dropped {
                Ok(()) => break,
                // Dropped by another session since we looked: look again.
                Err(Error::NoSuchTable(_)) => {}
                Err(e) => return Err(store_error(e, &targets[0].1)),
            }
        }
        for (database, name) in mine {
            self.drop_temporary(&database, &name);
        }
        for (database, name) in missing {
            self.env
                .note(1051, format!("Unknown table '{database}.{name}'"));
        }
        Ok(Done::default())
    }

    fn exists(&self, database: &str, name: &str) -> SqlResult<bool> {
        match self.engine.table_def(database, name) {
            Ok(_) => Ok(true),
            Err(Error::NoSuchTable(_) | Error::NoSuchDatabase(_)) => Ok(false),
            Err(e) => Err(store_error(e, name)),
        }
    }

    fn drop_views(&self, if_exists: bool, names: &[TableName]) -> SqlResult<Done> {
        let mut missing = Vec::new();
        for t in names {
            let (database, name) = self.target(t)?;
            if self.exists(&database, &name)? {
                return Err(SqlError::new(
                    1347,
                    format!("'{database}.{name}' is not VIEW"),
                ));
            }
            missing.push((database, name));
        }
        if !if_exists {
            return Err(unknown_tables(&missing));
        }
        for (database, name) in missing {
            self.env
                .note(1051, format!("Unknown table '{database}.{name}'"));
        }
        Ok(Done::default())
    }

    /// DROP of what there is none of.
    fn drop_program(&self, program: Program, if_exists: bool, name: &TableName) -> SqlResult<Done> {
        let (database, name) = qualified(name, self.env)?;
        let (code, message) = match program {
            Program::Procedure => (1305, format!("PROCEDURE {database}.{name} does not exist")),
            Program::Function => (1305, format!("FUNCTION {database}.{name} does not exist")),
            Program::Trigger => (1360, "Trigger does not exist".to_string()),
            Program::Event if if_exists => (1305, format!("Event {name} does not exist")),
            Program::Event => (1539, format!("Unknown event '{name}'")),
        };
        if !if_exists {
            return Err(SqlError::new(code, message));
        }
        self.env.note(code, message);
        Ok(Done::default())
    }

    fn rename_tables(&self, pairs: &[(TableName, TableName)]) -> SqlResult<Done> {
        let mut renames = Vec::new();
        for (from, to) in pairs {
            let from = self.target(from)?;
            let to = self.target(to)?;
            names::table(&to.1)?;
            self.engine
                .database(&to.0)
                .map_err(|e| store_error(e, &to.0))?;
            renames.push((from, to));
        }
        let first = renames[0].0.1.clone();
        self.engine
            .rename_tables(self.owner, &renames)
            .map_err(|e| store_error(e, &first))?;
        Ok(Done::default())
    }

    fn create_database(
        &self,
        if_not_exists: bool,
        name: &str,
        options: &DatabaseOptions,
    ) -> SqlResult<Done> {
        names::database(name)?;
        if !(if_not_exists && is_system_schema(name)) {
            not_system(name, self.env)?;
        }
        let server = self.vars.named("collation_server");
        let default = Collation::by_name(server.as_str())?;
        let collation = collation_of(
            options.charset.as_deref(),
            options.collation.as_deref(),
            default,
        )?;
        let made = match is_system_schema(name) {
            true => Err(Error::DatabaseExists(name.to_string())),
            false => {
                let options = collation.name().as_bytes();
                self.engine.create_database(self.owner, name, options)
            }
        };
        match made {
            Ok(()) => {}
            Err(Error::DatabaseExists(_)) if if_not_exists => {
                self.env.note(
                    1007,
                    format!("Can't create database '{name}'; database exists"),
                );
            }
            Err(e) => return Err(store_error(e, name)),
        }
        Ok(Done {
            affected: 1,
            ..Done::default()
        })
    }

    /// ALTER DATABASE: what tables made from now on have.
    fn alter_database(&self, name: Option<&str>, options: &DatabaseOptions) -> SqlResult<Done> {
        let name = match name {
            Some(name) => name.to_string(),
            None => current_database(self.env)?,
        };
        not_system(&name, self.env)?;
        let now = database_collation(self.engine, &name)?;
        let (charset, collation) = (options.charset.as_deref(), options.collation.as_deref());
        let then = collation_of(charset, collation, now)?;
        self.engine
            .set_database_options(self.owner, &name, then.name().as_bytes())
            .map_err(|e| store_error(e, &name))?;
        Ok(Done {
            affected: 1,
            ..Done::default()
        })
    }

    fn drop_database(&self, if_exists: bool, name: &str) -> SqlResult<Done> {
        not_system(name, self.env)?;
        match self.engine.drop_database(self.owner, name) {
            Ok(tables) => Ok(Done {
                affected: tables as u64,
                ..Done::default()
            }),
            Err(Error::NoSuchDatabase(_)) => {
                let message = format!("Can't drop database '{name}'; database doesn't exist");
                if !if_exists {
                    return Err(SqlError::new(1008, message));
                }
                self.env.note(1008, message);
                Ok(Done::default())
            }
            Err(e) => Err(store_error(e, name)),
        }
    }
}

fn unknown_tables(missing: &[(String, String)]) -> SqlError {
    let list: Vec<String> = missing.iter().map(|(d, t)| format!("{d}.{t}")).collect();
    SqlError::new(1051, format!("Unknown table '{}'", list.join(",")))
}

/// The collation that a CHARACTER SET and a COLLATE clause ask for together.
pub(crate) fn collation_of(
    charset: Option<&str>,
    collation: Option<&str>,
    default: Collation,
) -> SqlResult<Collation> {
    match (charset, collation) {
        (None, None) => Ok(default),
        (Some(charset), None) => Collation::of_charset(charset),
        (None, Some(collation)) => Collation::by_name(collation),
        (Some(charset), Some(collation)) => {
            let chosen = Collation::by_name(collation)?;
            if Collation::of_charset(charset)?.charset() == chosen.charset() {
                Ok(chosen)
            } else {
                Err(SqlError::new(
                    1253,
                    format!("COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'"),
                ))
            }
        }
    }
}
