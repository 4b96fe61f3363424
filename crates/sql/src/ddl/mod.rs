//! Data definition statements.
//!
//! | file | owns |
//! |---|---|
//! | `names` | what names may be |
//! | `column` | a column's definition: type, NULL, default |
//! | `comment` | how long a COMMENT may be |
//! | `key` | key parts, key names, the choice of the clustered index |
//! | `create` | CREATE TABLE |
//! | `alter` | ALTER TABLE, CREATE INDEX, DROP INDEX |
//! | `change` | a definition while it is being changed |
//! | `check` | CHECK constraints |
//! | `expressions` | what a definition says by expressions, once all of its columns are known |
//! | `fulltext` | FULLTEXT keys |
//! | `spatial` | SPATIAL keys |
//! | `functional` | functional key parts and their hidden columns |
//! | `instant` | changes that leave the rows as they are |
//! | `clauses` | ALGORITHM and LOCK |
//! | `options` | table options |
//! | `foreign_keys` | foreign keys |
//! | `partition` | changes of partitions |
//! | `rebuild` | tables written anew |
//! | `work` | tables in the making |
//! | `inplace` | which rebuilds go on beside writes, and what MySQL's algorithms are to them |
//! | `convert` | rows as they are to be |
//! | `follow` | what becomes of rows while they are written anew |
//! | `verify` | rows held to constraints that are new |
//! | `encryption` | ENCRYPTION |
//! | `tablespace` | general tablespaces |
//! | `temporary` | temporary tables |
//! | `view` | CREATE, ALTER and DROP VIEW |
//! | `like` | CREATE DATABASE ... LIKE |
//!
//! This module turns statements into definitions and checks them; the store carries each out as one atomic,
//! crash-safe step. The caller has committed the session's transaction. What can't be done in one such
//! step is refused (error 1235), never done in pieces.

mod alter;
mod change;
mod check;
mod clauses;
mod column;
mod comment;
mod convert;
mod create;
pub mod encryption;
mod expressions;
mod follow;
mod foreign_keys;
mod fulltext;
mod functional;
mod inplace;
mod instant;
mod key;
mod like;
mod names;
mod options;
mod partition;
mod rebuild;
mod spatial;
mod tablespace;
mod temporary;
mod verify;
mod view;
mod work;

use std::sync::Arc;

use millpond_store::engine::Rename;
use millpond_store::{CATALOG_DATABASE, Engine, Error, Owner};

use crate::catalog::{WORK_DATABASE, is_view};
use crate::computed::take_failure;
use crate::env::SessionEnv;
use crate::env::is_system_schema;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::{
    DatabaseOption, ObjectName, SchemaStatement, StatementKind, TableStatement,
};
use crate::row::wrong_object;
use crate::store_error::{not_in_transaction, store_error};
use crate::types::Collation;

pub use create::Prepared;
pub use like::{DatabaseLike, Part, Permit};
pub use temporary::not_temporary;
pub use work::{Fill, Home, Work, clear_work};

/// What a DDL statement works with.
pub struct Ddl<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// Who runs it.
    pub owner: &'a Arc<Owner>,
    /// The session.
    pub env: &'a SessionEnv,
    /// sql_mode, all bits.
    pub mode: u64,
    /// LOCK TABLES holds the tables exclusively already.
    pub tables_locked: bool,
}

/// What a DDL statement reports.
#[derive(Default)]
pub struct Done {
    /// Rows affected.
    pub affected: u64,
    /// Info text.
    pub info: String,
    /// What the client is told of AUTO_INCREMENT; 0: nothing.
    pub last_insert_id: u64,
}

impl Done {
    /// What ALTER TABLE reports of the rows that it has written.
    fn records(rows: u64) -> Done {
        Done {
            affected: rows,
            info: format!("Records: {rows}  Duplicates: 0  Warnings: 0"),
            ..Done::default()
        }
    }
}

/// The database in use; error 1046 if there's none.
pub fn current_database(env: &SessionEnv) -> SqlResult<String> {
    env.database
        .borrow()
        .clone()
        .ok_or_else(|| SqlError::new(1046, "No database selected"))
}

/// A table's database and name.
pub fn qualified(t: &ObjectName, env: &SessionEnv) -> SqlResult<(String, String)> {
    let database = match &t.database {
        Some(d) => d.as_str().to_string(),
        None => current_database(env)?,
    };
    crate::parse::refuse_empty(&database, Some(t.name.as_str()))?;
    Ok((database, t.name.as_str().to_string()))
}

/// Error 1146.
pub fn no_such_table(database: &str, table: &str) -> SqlError {
    SqlError::new(1146, format!("Table '{database}.{table}' doesn't exist"))
}

/// A database's default collation.
pub fn database_collation(engine: &Engine, name: &str) -> SqlResult<Collation> {
    let body = engine.database(name).map_err(|e| store_error(e, name))?;
    Collation::by_name(&String::from_utf8_lossy(&body))
}

/// Error 1044 for changes to a system schema.
pub fn not_system(database: &str, env: &SessionEnv) -> SqlResult<()> {
    if !is_system_schema(database) && ![WORK_DATABASE, CATALOG_DATABASE].contains(&database) {
        return Ok(());
    }
    let account = env.account.borrow();
    let (user, host) = account.rsplit_once('@').unwrap_or((&account, ""));
    Err(SqlError::new(
        1044,
        format!("Access denied for user '{user}'@'{host}' to database '{database}'"),
    ))
}

impl<'a> Ddl<'a> {
    /// Carries a DDL statement out.
    pub fn execute(&self, kind: &StatementKind) -> SqlResult<Done> {
        let done = self.carry_out(kind);
        match take_failure() {
            Some(e) if done.is_ok() => Err(e),
            _ => done,
        }
    }

    fn carry_out(&self, kind: &StatementKind) -> SqlResult<Done> {
        match kind {
            StatementKind::Table(statement) => self.table_statement(statement),
            StatementKind::AlterTable(alter) => self.alter_table(alter),
            StatementKind::Schema(statement) => self.schema_statement(statement),
            _ => Err(SqlError::unsupported("this statement")),
        }
    }

    fn table_statement(&self, statement: &TableStatement) -> SqlResult<Done> {
        use TableStatement as S;
        match statement {
            S::Create(create) => self.create_table(create),
            S::CreateLike {
                or_replace: false,
                temporary,
                if_not_exists,
                name,
                like,
            } => self.create_table_like(*if_not_exists, *temporary, name, like),
            S::CreateLike { .. } => Err(SqlError::syntax("near 'OR REPLACE'")),
            S::Drop {
                temporary,
                if_exists,
                names,
                ..
            } => self.drop_tables(*if_exists, *temporary, &names.all()),
            S::Truncate(table) => {
                let (database, name) = self.target(table)?;
                self.refuse_temporary(&database, &name)?;
                if self.truncate_temporary(&database, &name)? {
                    return Ok(Done::default());
                }
                self.truncate(database, name)
            }
            S::Rename {
                if_exists: false,
                tables,
            } => self.rename_tables(&tables.all()),
            S::Rename { .. } => Err(SqlError::unsupported("RENAME TABLE IF EXISTS")),
            S::CreateIndex(create) => self.create_index(create),
            S::DropIndex {
                if_exists: false,
                name,
                table,
                how,
            } => self.drop_index(table, name.as_str(), &how.all()),
            S::DropIndex { .. } => Err(SqlError::unsupported("DROP INDEX IF EXISTS")),
            S::Import(_) => Err(SqlError::unsupported("IMPORT TABLE")),
        }
    }

    fn schema_statement(&self, statement: &SchemaStatement) -> SqlResult<Done> {
        use SchemaStatement as S;
        match statement {
            S::CreateDatabase {
                or_replace: false,
                if_not_exists,
                name,
                options,
            } => self.create_database(*if_not_exists, name.as_str(), &options.all()),
            S::CreateDatabase { .. } => Err(SqlError::unsupported("CREATE OR REPLACE DATABASE")),
            S::AlterDatabase { name, options } => {
                self.alter_database(name.as_ref().map(|n| n.as_str()), &options.all())
            }
            S::DropDatabase { if_exists, name } => self.drop_database(*if_exists, name.as_str()),
            S::DropView {
                if_exists, names, ..
            } => self.drop_views(*if_exists, &names.all()),
            S::Tablespace(statement) => self.tablespace(statement),
            // What there is none of is refused before it comes here.
            _ => Err(SqlError::unsupported("this statement")),
        }
    }

    /// Has a table measured anew whose partitions are others now. Statistics are no reason for DDL that is done to fail.
    fn outdate_statistics(&self, name: &ObjectName) {
        let Ok((database, table)) = qualified(name, self.env) else {
            return;
        };
        let isolation = millpond_store::Isolation::ReadCommitted;
        let mut txn = self.engine.begin(self.owner, isolation);
        if let Ok(open) = self.engine.open_table(&mut txn, &database, &table) {
            let _ = crate::statistics::outdate(self.engine, &open);
        }
        // It only read.
        let _ = self.engine.commit(txn);
    }

    /// Whether nobody else may use what a statement changes, from its beginning to the end of the transaction or of LOCK TABLES.
    fn works_alone(&self) -> bool {
        self.tables_locked || self.engine.is_lent(self.owner)
    }

    /// Error 1179 for a temporary table within a transaction that what is done to it could not be undone with.
    fn refuse_temporary(&self, database: &str, table: &str) -> SqlResult<()> {
        match self.engine.is_lent(self.owner) && self.temporary(database, table).is_some() {
            true => Err(not_in_transaction("a change of a temporary table")),
            false => Ok(()),
        }
    }

    /// A table to change: its database and name.
    fn target(&self, t: &ObjectName) -> SqlResult<(String, String)> {
        let (database, name) = qualified(t, self.env)?;
        not_system(&database, self.env)?;
        Ok((database, name))
    }

    fn drop_tables(
        &self,
        if_exists: bool,
        temporary: bool,
        names: &[ObjectName],
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
        for (database, name) in &targets {
            self.refuse_temporary(database, name)?;
        }
        let mut missing: Vec<(String, String)> = Vec::new();
        let hidden = |t: &(String, String)| self.temporary(&t.0, &t.1).is_some();
        let (mine, mut targets): (Vec<_>, Vec<_>) = targets.into_iter().partition(hidden);
        loop {
            for t in &targets {
                let exists = !temporary && self.is_table(&t.0, &t.1)?;
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
                self.with_related(&targets, || match self.env.foreign_key_checks.get() {
                    true => self.engine.drop_unreferenced(self.owner, &targets),
                    false => self.engine.drop_tables(self.owner, &targets),
                })?
            };
            match dropped {
                Err(Error::Referenced { table, by }) => return Err(self.referenced(&table, &by)),
                Ok(()) => break,
                // Dropped by another session since we looked: look again.
                Err(Error::NoSuchTable(_) | Error::NoSuchDatabase(_)) => {}
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

    /// Whether there is a table of this name that is no view.
    fn is_table(&self, database: &str, name: &str) -> SqlResult<bool> {
        match self.engine.table_def(database, name) {
            // What can't be read can be dropped.
            Ok(def) => Ok(!is_view(&def)),
            Err(Error::NoSuchTable(_) | Error::NoSuchDatabase(_)) => Ok(false),
            Err(e) => Err(store_error(e, name)),
        }
    }

    fn exists(&self, database: &str, name: &str) -> SqlResult<bool> {
        match self.engine.table_def(database, name) {
            Ok(_) => Ok(true),
            Err(Error::NoSuchTable(_) | Error::NoSuchDatabase(_)) => Ok(false),
            Err(e) => Err(store_error(e, name)),
        }
    }

    fn rename_tables(&self, pairs: &[(ObjectName, ObjectName)]) -> SqlResult<Done> {
        let mut renames = Vec::new();
        for (from, to) in pairs {
            let from = self.target(from)?;
            let to = self.target(to)?;
            names::table(&to.1)?;
            if from.0 != to.0
                && self.exists(&from.0, &from.1)?
                && !self.is_table(&from.0, &from.1)?
            {
                return Err(SqlError::new(
                    1450,
                    format!(
                        "Changing schema from '{}' to '{}' is not allowed.",
                        from.0, to.0
                    ),
                ));
            }
            if from.0 != to.0 && self.has_triggers(&from)? {
                return Err(SqlError::new(1435, "Trigger in wrong schema"));
            }
            if let Err(e) = self.engine.database(&to.0) {
                // A table that is not there comes first.
                let made = renames.iter().any(|(_, made)| *made == from);
                if !made {
                    let def = self.engine.table_def(&from.0, &from.1);
                    def.map_err(|e| store_error(e, &from.1))?;
                }
                return Err(store_error(e, &to.0));
            }
            self.prepare_relations_of(&from.0, &from.1)?;
            renames.push((from, to));
        }
        let first = renames[0].0.1.clone();
        let all = || -> SqlResult<Vec<(String, String)>> {
            let mut related = Vec::new();
            for (from, to) in &renames {
                related.extend(self.children(&from.0, &from.1)?);
                related.extend(self.children(&to.0, &to.1)?);
                if let Ok((_, schema)) = self.stored_definition(&from.0, &from.1) {
                    related.extend(schema.foreign_keys.into_iter().map(|k| k.parent));
                }
            }
            if related.is_empty() {
                return Ok(related);
            }
            let own = renames.iter().flat_map(|(from, to)| [from, to]);
            related.extend(own.cloned());
            Ok(related)
        };
        self.holding(all, || {
            let bodies = self.bodies_after_renames(&renames)?;
            let rename = |bodies: &[_]| {
                self.engine
                    .rename_tables_with(self.owner, &renames, bodies)
                    .map_err(|e| store_error(e, &first))
            };
            self.check_renamed(&renames)?;
            rename(&bodies)
        })?;
        Ok(Done::default())
    }

    /// Error 1347 for a view.
    fn refuse_view(&self, (database, name): &(String, String)) -> SqlResult<()> {
        match self.exists(database, name)? && !self.is_table(database, name)? {
            true => Err(wrong_object(database, name, "BASE TABLE")),
            false => Ok(()),
        }
    }

    /// Whether a table has triggers.
    fn has_triggers(&self, (database, table): &(String, String)) -> SqlResult<bool> {
        let found = self.engine.objects_of(database, table);
        Ok(!found.map_err(|e| store_error(e, table))?.is_empty())
    }

    /// Checks tables that get names to which others refer already.
    fn check_renamed(&self, renames: &[Rename]) -> SqlResult<()> {
        for (from, to) in renames {
            let children = self.children(&to.0, &to.1)?;
            // One that has the name until then gives it away.
            if children.is_empty() || self.exists(&to.0, &to.1)? {
                continue;
            }
            if let Ok((_, schema)) = self.stored_definition(&from.0, &from.1) {
                self.check_as_parent((&to.0, &to.1), &schema, &children)?;
            }
        }
        Ok(())
    }

    fn truncate(&self, database: String, name: String) -> SqlResult<Done> {
        let table = (database, name);
        self.refuse_view(&table)?;
        let done = match self.env.foreign_key_checks.get() {
            true => self
                .engine
                .truncate_unreferenced(self.owner, &table.0, &table.1),
            false => self.engine.truncate_table(self.owner, &table.0, &table.1),
        };
        match done {
            Ok(()) => Ok(Done::default()),
            Err(Error::Referenced { table, by }) => Err(self.not_truncated(&table, &by)),
            Err(e) => Err(store_error(e, &table.1)),
        }
    }

    fn create_database(
        &self,
        if_not_exists: bool,
        name: &str,
        options: &[DatabaseOption],
    ) -> SqlResult<Done> {
        names::database(name)?;
        // That exists for everybody who may make databases.
        let there = name.eq_ignore_ascii_case("mysql");
        if !(there || if_not_exists && is_system_schema(name)) {
            not_system(name, self.env)?;
        }
        let server = (self.env.sys_var)("", "collation_server")?;
        let default = Collation::by_name(&String::from_utf8_lossy(&server.to_text()))?;
        let collation = self.database_options(options, default)?;
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
    fn alter_database(&self, name: Option<&str>, options: &[DatabaseOption]) -> SqlResult<Done> {
        let name = match name {
            Some(name) => {
                names::database(name)?;
                name.to_string()
            }
            None => current_database(self.env)?,
        };
        not_system(&name, self.env)?;
        let now = database_collation(self.engine, &name)?;
        let then = self.database_options(options, now)?;
        self.engine
            .set_database_options(self.owner, &name, then.name().as_bytes())
            .map_err(|e| store_error(e, &name))?;
        Ok(Done {
            affected: 1,
            ..Done::default()
        })
    }

    fn drop_database(&self, if_exists: bool, name: &str) -> SqlResult<Done> {
        names::not_too_long(name)?;
        crate::parse::refuse_empty(name, None)?;
        not_system(name, self.env)?;
        let dropped = self.with_related(&[], || match self.env.foreign_key_checks.get() {
            true => self.engine.drop_unreferenced_database(self.owner, name),
            false => self.engine.drop_database(self.owner, name),
        })?;
        match dropped {
            Err(Error::Referenced { table, by }) => Err(self.referenced(&table, &by)),
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

impl Ddl<'_> {
    /// The collation that a database's options ask for; the others are as every database has them, or refused.
    fn database_options(
        &self,
        options: &[DatabaseOption],
        default: Collation,
    ) -> SqlResult<Collation> {
        use DatabaseOption as O;
        let (mut charset, mut collation) = (None, None);
        for option in options {
            match option {
                O::Charset(name) => {
                    let now = name.as_ref().map(|n| n.as_str());
                    options::one_charset(charset, now)?;
                    charset = now;
                }
                O::Collate(name) => collation = name.as_ref().map(|n| n.as_str()),
                O::Encryption(value) => self.database_encryption(value)?,
                O::ReadOnly(None | Some(0)) => {}
                O::ReadOnly(Some(_)) => {
                    return Err(SqlError::unsupported("READ ONLY of a database"));
                }
                O::Comment(_) => return Err(SqlError::unsupported("COMMENT of a database")),
            }
        }
        crate::parse::collation_of(charset, collation, default)
    }
}

fn unknown_tables(missing: &[(String, String)]) -> SqlError {
    let list: Vec<String> = missing.iter().map(|(d, t)| format!("{d}.{t}")).collect();
    SqlError::new(1051, format!("Unknown table '{}'", list.join(",")))
}
