//! ALTER TABLE, CREATE INDEX, DROP INDEX.
//!
//! A table is locked exclusively first, then its definition read and changed, so that nobody changes it in
//! between. The cheapest way that makes the change in one atomic step is taken: a new definition, other names of keys, one index
//! more or less, or the whole table written anew ([`super::rebuild`]).

use millpond_store::engine::{Beside, TemporaryChange};
use millpond_store::{Isolation, TableDef};

use super::change::{Change, Changed, Way};
use super::clauses::Clauses;
use super::key::{self, KeyKind, KeySpec};
use super::{Ddl, Done, names, table_name};
use crate::error::{SqlError, SqlResult};
use crate::exec::store_error;
use crate::parse::{AlterAction, TableName, sp};
use crate::types::Schema;
use crate::write::counter;

fn unsupported<T>(what: &str) -> SqlResult<T> {
    Err(SqlError::unsupported(what))
}

/// What ALTER TABLE reports.
pub(super) fn records(rows: u64) -> Done {
    Done {
        affected: rows,
        info: format!("Records: {rows}  Duplicates: 0  Warnings: 0"),
    }
}

impl<'a> Ddl<'a> {
    /// A table's definition and schema.
    pub(super) fn definition(&self, database: &str, table: &str) -> SqlResult<(TableDef, Schema)> {
        if let Some(table) = self.temporary(database, table) {
            return Ok((table.def().clone(), Schema::of(table.def())?));
        }
        let def = self
            .engine
            .table_def(database, table)
            .map_err(|e| store_error(e, table))?;
        let schema = Schema::of(&def)?;
        Ok((def, schema))
    }

    /// Runs `work` with the table locked exclusively.
    pub(super) fn locked<T>(
        &self,
        database: &str,
        table: &str,
        work: impl FnOnce() -> SqlResult<T>,
    ) -> SqlResult<T> {
        if self.tables_locked || self.temporary(database, table).is_some() {
            return work();
        }
        let lock = [((database.to_string(), table.to_string()), true)];
        let _held = self
            .engine
            .hold_tables(self.owner, &lock)
            .map_err(|e| store_error(e, table))?;
        work()
    }

    /// Makes a change to a locked table.
    fn make_change(
        &self,
        database: &str,
        table: &str,
        old: &Schema,
        changed: Changed,
        clauses: &Clauses,
    ) -> SqlResult<Done> {
        let wrap = |e| store_error(e, table);
        let alone = self.temporary(database, table).is_some();
        let new = &changed.schema;
        let way = match changed.way(old) {
            // Indexes of partitions are made and dropped with their rows.
            Way::AddIndex(_) | Way::DropIndex(_) if old.partitioning.is_some() => Way::Copy,
            way => way,
        };
        let beside = match clauses.allow(&way, alone)? {
            // What the session has locked stays so.
            _ if self.tables_locked => Beside::Nothing,
            beside => beside,
        };
        match way {
            Way::Definition => self.set_body(database, table, new.table_body())?,
            Way::RenameIndexes(names) => {
                match self.temporary(database, table) {
                    Some(t) => {
                        let change = TemporaryChange::RenameIndexes(names, new.table_body());
                        self.alter_temporary(&t, change)
                    }
                    None => self.engine.rename_indexes(
                        self.owner,
                        (database, table),
                        &names,
                        new.table_body(),
                    ),
                }
                .map_err(wrap)?;
            }
            Way::AddIndex(i) => {
                let index = &new.indexes[i];
                let asked = (index.name.clone(), index.unique, index.body());
                let made = match self.temporary(database, table) {
                    Some(t) => {
                        self.alter_temporary(&t, TemporaryChange::AddIndex(asked, new.table_body()))
                    }
                    None => self.engine.create_index_beside(
                        self.owner,
                        (database, table),
                        asked,
                        new.table_body(),
                        beside,
                    ),
                };
                made.map_err(|e| match e {
                    millpond_store::Error::DuplicateKey { .. } => SqlError::new(
                        1062,
                        format!("Duplicate entry for key '{table}.{}'", index.name),
                    ),
                    e @ millpond_store::Error::RowLogFull => store_error(e, &index.name),
                    e => wrap(e),
                })?;
            }
            Way::DropIndex(name) => match self.temporary(database, table) {
                Some(t) => {
                    self.alter_temporary(&t, TemporaryChange::DropIndex(name, new.table_body()))
                }
                None => {
                    self.engine
                        .drop_index(self.owner, database, table, &name, new.table_body())
                }
            }
            .map_err(wrap)?,
            Way::Copy => {
                let rows = self.rebuild(database, table, changed, (database, table))?;
                return Ok(records(rows));
            }
        }
        Ok(records(0))
    }

    /// Gives a locked table another body.
    fn set_body(&self, database: &str, table: &str, body: Vec<u8>) -> SqlResult<()> {
        match self.temporary(database, table) {
            Some(t) => self.alter_temporary(&t, TemporaryChange::Body(body)),
            None => self
                .engine
                .set_table_body(self.owner, database, table, body),
        }
        .map_err(|e| store_error(e, table))
    }

    /// ALTER TABLE ... RENAME.
    fn rename(&self, from: &TableName, to: &TableName) -> SqlResult<()> {
        let (database, name) = self.target(from)?;
        if self.temporary(&database, &name).is_some() {
            let to = self.target(to)?;
            names::table(&to.1)?;
            self.rename_temporary((&database, &name), to)?;
            return Ok(());
        }
        self.rename_tables(&[(from.clone(), to.clone())])?;
        Ok(())
    }

    /// Changes a table's columns and keys.
    fn change(
        &self,
        database: &str,
        table: &str,
        clauses: &Clauses,
        apply: impl FnOnce(&mut Change<'_>) -> SqlResult<()>,
    ) -> SqlResult<Done> {
        self.locked(database, table, || {
            let (_, old) = self.definition(database, table)?;
            let mut change = Change::of(table, &old, self.mode, self.env);
            apply(&mut change)?;
            let mut changed = change.finish()?;
            self.repartition(&old, &mut changed.schema)?;
            self.make_change(database, table, &old, changed, clauses)
        })
    }

    /// CREATE INDEX.
    pub(super) fn create_index_statement(&self, create: &sp::CreateIndex) -> SqlResult<Done> {
        let (database, table) = self.target(&table_name(&create.table_name)?)?;
        let clauses = Clauses::of(&create.alter_options)?;
        if create.if_not_exists || create.predicate.is_some() || !create.include.is_empty() {
            return Err(SqlError::syntax("near 'CREATE INDEX'"));
        }
        let name = match &create.name {
            Some(name) => Some(table_name(name)?.name),
            None => None,
        };
        let spec = KeySpec {
            kind: if create.unique {
                KeyKind::Unique
            } else {
                KeyKind::Plain
            },
            comment: key::comment(&create.index_options, name.as_deref())?,
            name,
            parts: key::parts(&create.columns)?,
        };
        self.change(&database, &table, &clauses, |c| {
            c.add_key(spec);
            Ok(())
        })
    }

    /// DROP INDEX.
    pub(super) fn drop_index(
        &self,
        table: &TableName,
        name: &str,
        clauses: &[sp::AlterTableOperation],
    ) -> SqlResult<Done> {
        let (database, table) = self.target(table)?;
        let clauses = Clauses::of(clauses)?;
        self.change(&database, &table, &clauses, |c| c.drop_key(name))
    }

    /// ALTER TABLE.
    pub(super) fn alter_table(&self, name: &TableName, actions: &[AlterAction]) -> SqlResult<Done> {
        let (database, table) = self.target(name)?;
        let mut clauses = Clauses::new();
        let mut changes = Vec::new();
        let (mut next, mut to) = (None, None);
        for action in actions {
            match action {
                AlterAction::Definition(op) if clauses.take(op) => {}
                AlterAction::Definition(op)
                    if let sp::AlterTableOperation::AutoIncrement { value, .. } = &**op =>
                {
                    let n = value.to_string().parse();
                    next = Some(n.map_err(|_| SqlError::syntax(format_args!("near '{value}'")))?);
                }
                AlterAction::AutoIncrement(n) => next = Some(*n),
                AlterAction::Rename(new) => to = Some(new),
                AlterAction::Keys => self.env.note(
                    1031,
                    format!("Table storage engine for '{table}' doesn't have this option"),
                ),
                AlterAction::Ignored => {}
                AlterAction::Compression(option, value) => self.compression(option, value),
                AlterAction::Engine(engine) => {
                    self.engine_option(engine, &table)?;
                    changes.push(action);
                }
                _ => changes.push(action),
            }
        }
        clauses.check()?;
        let done = match to {
            Some(to) if changes.is_empty() => {
                self.rename(name, to)?;
                Done::default()
            }
            _ => self.alter(&database, &table, &clauses, &changes, to)?,
        };
        if let Some(next) = next {
            let (database, table) = match to {
                Some(to) => self.target(to)?,
                None => (database, table),
            };
            self.start_counting(&database, &table, next)?;
        }
        Ok(done)
    }

    /// Makes all changes at once, and gives the table another name by the same step.
    fn alter(
        &self,
        database: &str,
        table: &str,
        clauses: &Clauses,
        changes: &[&AlterAction],
        to: Option<&TableName>,
    ) -> SqlResult<Done> {
        let to = match to {
            Some(to) => Some(self.target(to)?),
            None => None,
        };
        if let Some((database, name)) = &to {
            names::table(name)?;
            let exists = self.engine.database(database);
            exists.map_err(|e| store_error(e, database))?;
        }
        let default = super::database_collation(self.engine, database)?;
        self.locked(database, table, || {
            let (_, old) = self.definition(database, table)?;
            let mut change = Change::of(table, &old, self.mode, self.env);
            changes
                .iter()
                .try_for_each(|action| change.apply(action, default))?;
            let anew = change.anew;
            let mut changed = change.finish()?;
            self.repartition(&old, &mut changed.schema)?;
            match &to {
                // OPTIMIZE does the same.
                None if anew => {
                    clauses.allow_anew(self.temporary(database, table).is_some())?;
                    let own = (database, table);
                    self.rebuild(database, table, changed, own)?;
                    Ok(records(0))
                }
                None => self.make_change(database, table, &old, changed, clauses),
                Some(_) if self.temporary(database, table).is_some() => {
                    unsupported("other changes of a temporary table together with RENAME")
                }
                Some((d, name)) => {
                    clauses.allow(&Way::Copy, false)?;
                    let rows = self.rebuild(database, table, changed, (d, name))?;
                    Ok(records(rows))
                }
            }
        })
    }

    /// Lets a table's AUTO_INCREMENT column go on at `next` at least. Values already given stay given.
    fn start_counting(&self, database: &str, table: &str, next: u64) -> SqlResult<()> {
        let (_, schema) = self.definition(database, table)?;
        if next == 0 || !schema.columns.iter().any(|c| c.auto_increment) {
            return Ok(());
        }
        let wrap = |e| store_error(e, table);
        let mut txn = self.engine.begin(self.owner, Isolation::ReadCommitted);
        let mut set = || {
            let open = match self.temporary(database, table) {
                Some(open) => open,
                None => self
                    .engine
                    .open_table(&mut txn, database, table)
                    .map_err(wrap)?,
            };
            counter::start(self.engine, &open, &schema)?;
            open.auto_increment_seen(next - 1);
            open.save_auto_increment().map_err(wrap)
        };
        let done = set();
        self.engine.commit(txn).map_err(wrap)?;
        done
    }
}
