//! ALTER TABLE, CREATE INDEX, DROP INDEX.
//!
//! A table is locked exclusively first, then its definition read and changed, so that nobody changes it in
//! between. The cheapest way that makes the change in one atomic step is taken: a new definition (under another schema version, if rows
//! that are written now are others than those that are there), other names of keys, one index more or less, or the whole table written anew ([`super::rebuild`]).

use millpond_store::engine::{Beside, Redefinition, TemporaryChange};
use millpond_store::{Isolation, TableDef};

use super::change::{Change, Changed, Way};
use super::clauses::Clauses;
use super::foreign_keys::{self, renamed_key};
use super::options::Options;
use super::{Ddl, Done, check, key, names};
use crate::catalog::{ForeignKey, positions};
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::{self, AlterAction, ObjectName, Part, PlainAlter};
use crate::row::wrong_object;
use crate::store_error::{not_in_transaction, store_error};
use crate::types::Schema;
use crate::write::{counter, duplicate};

fn unsupported<T>(what: &str) -> SqlResult<T> {
    Err(SqlError::unsupported(what))
}

/// Whether rows of a key's parent can be looked up as they are: where it is the table itself, it has the index already.
fn old_finds(key: &ForeignKey, own: (&str, &str), old: &Schema) -> bool {
    (&*key.parent.0, &*key.parent.1) != own
        || positions(old, &key.parent_columns).is_some_and(|at| old.index_over(&at).is_some())
}

/// What an ALTER TABLE asks for.
struct Asked<'s> {
    clauses: Clauses,
    options: Options,
    /// Changes of the definition, in order.
    changes: Vec<&'s AlterAction>,
    /// RENAME TO.
    to: Option<&'s ObjectName>,
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
        if schema.view.is_some() {
            return Err(wrong_object(database, table, "BASE TABLE"));
        }
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

    /// Makes a change to a locked table, and gives it another name by the same step if there is one. `anew`: its rows are to be written
    /// then, whatever else changes. `related`: what the other tables that are locked let go on beside it, at most.
    #[expect(clippy::too_many_arguments)]
    fn make_change(
        &self,
        (database, table): (&str, &str),
        old: &Schema,
        changed: Changed,
        clauses: &Clauses,
        to: Option<&(String, String)>,
        anew: bool,
        related: Beside,
    ) -> SqlResult<Done> {
        let alone = self.temporary(database, table).is_some();
        let new = &changed.schema;
        let way = match changed.way(old, self.env)? {
            // Indexes of partitions are made and dropped with their rows.
            Way::AddIndex(_) | Way::DropIndex(_) | Way::ReplaceIndex(..)
                if old.partitioning.is_some() =>
            {
                changed.anew(old, self.env)?
            }
            // Their rows are written by a session that has them alone.
            Way::Instant(_) if alone => Way::Copy,
            way @ (Way::Definition | Way::Instant(_)) if !anew && !clauses.asks_copy() => way,
            _ if to.is_some() => Way::Copy,
            Way::Rebuild => Way::Rebuild,
            _ if clauses.asks_copy() => changed.anew(old, self.env)?,
            way => way,
        };
        let (added, others) = (&new.foreign_keys[changed.kept_keys..], &changed.others);
        let way = match added.iter().all(|k| old_finds(k, (database, table), old)) {
            true => way,
            false => Way::Copy,
        };
        self.refuse_unchecked(clauses.without_copy(), added.len())?;
        let limits = changed.limits(old, self.env);
        let refers = !added.is_empty() && self.env.foreign_key_checks.get();
        let allowed = match clauses.allow(&way, limits, alone)? {
            _ if self.works_alone() => Beside::Nothing,
            allowed => allowed,
        };
        let beside = match allowed {
            // What the session has locked stays so; and so does what has been looked at.
            _ if refers || to.is_some() => Beside::Nothing,
            beside => beside.max(related),
        };
        // MySQL copies the rows that are looked at here, and counts them.
        let mut looked_at = 0;
        if !matches!(way, Way::Rebuild | Way::Copy) && (limits.looks || refers) {
            let own = (database, table);
            looked_at = self.looking(own, allowed, || {
                let verified = self.verify(database, table, old, &changed)?;
                let referring = match alone {
                    true => 0,
                    false => self.check_rows_refer(own, own, added)?,
                };
                Ok(verified.max(referring))
            })?;
        }
        match way {
            Way::Definition => {
                let new = changed.redefinition(new, old);
                self.redefine((database, table), new, to, others)?;
            }
            Way::Instant(step) => {
                let next = new.clone().with_versions(old.versions().next(step));
                let new = changed.redefinition(&next, old);
                self.redefine((database, table), new, to, others)?;
            }
            Way::AddIndex(i) => self.add_index((database, table), new, i, beside)?,
            Way::DropIndex(name) => self.remove_index((database, table), new, name)?,
            // A crash between the two leaves one more than there is to be, which goes with the next change.
            Way::ReplaceIndex(i, name) => {
                self.add_index((database, table), new, i, beside)?;
                self.remove_index((database, table), new, name)?;
            }
            Way::Rebuild | Way::Copy => {
                let own = (database, table);
                let counts =
                    limits.copies.is_some() || clauses.asks_copy() || to.is_some() || alone;
                let name = to.map_or(own, |(database, name)| (database, name));
                let rows = self.rebuild(own, changed, name, beside)?;
                // Where MySQL works in place it counts none.
                return Ok(Done::records(if counts { rows } else { 0 }));
            }
        }
        Ok(Done::records(looked_at))
    }

    /// Makes an index of a locked table, which is at position `i` of its new definition.
    fn add_index(
        &self,
        (database, table): (&str, &str),
        new: &Schema,
        i: usize,
        beside: Beside,
    ) -> SqlResult<()> {
        let index = &new.indexes[i];
        let asked = (index.name.clone(), index.unique, index.body());
        let made = match self.temporary(database, table) {
            Some(t) => self.alter_temporary(&t, TemporaryChange::AddIndex(asked, new.table_body())),
            None => self.engine.create_index_beside(
                self.owner,
                (database, table),
                asked,
                new.table_body(),
                beside,
            ),
        };
        made.map_err(|e| match e {
            millpond_store::Error::DuplicateRow { index, row } => {
                duplicate(new, table, index, &row, self.env.zone.get())
            }
            millpond_store::Error::DuplicateKey { .. } => SqlError::new(
                1062,
                format!("Duplicate entry for key '{table}.{}'", index.name),
            ),
            e @ millpond_store::Error::RowLogFull => store_error(e, &index.name),
            e => store_error(e, table),
        })
    }

    /// Drops an index of a locked table, which its new definition is without.
    fn remove_index(
        &self,
        (database, table): (&str, &str),
        new: &Schema,
        name: String,
    ) -> SqlResult<()> {
        match self.temporary(database, table) {
            Some(t) => self.alter_temporary(&t, TemporaryChange::DropIndex(name, new.table_body())),
            None => self
                .engine
                .drop_index(self.owner, database, table, &name, new.table_body()),
        }
        .map_err(|e| store_error(e, table))
    }

    /// Gives a locked table another definition, for the rows and indexes that it has, and perhaps another name.
    fn redefine(
        &self,
        (database, table): (&str, &str),
        new: Redefinition,
        to: Option<&(String, String)>,
        others: &[((String, String), Vec<u8>)],
    ) -> SqlResult<()> {
        match self.temporary(database, table) {
            Some(t) => self.alter_temporary(&t, TemporaryChange::Redefine(new)),
            None => {
                let own = (database, table);
                self.engine
                    .redefine_table(self.owner, own, &new, to, others)
            }
        }
        .map_err(|e| store_error(e, table))
    }

    /// ALTER TABLE ... RENAME.
    fn rename(&self, from: &ObjectName, to: &ObjectName) -> SqlResult<()> {
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
        self.refuse_temporary(database, table)?;
        self.locked(database, table, || {
            let (_, old) = self.definition(database, table)?;
            let mut change = Change::of((database, table), &old, self.mode, self.env);
            apply(&mut change)?;
            let mut changed = change.finish()?;
            self.repartition(&old, &mut changed.schema)?;
            self.check_change((database, table), &old, &changed)?;
            let own = (database, table);
            self.make_change(own, &old, changed, clauses, None, false, Beside::Writes)
        })
    }

    /// CREATE INDEX.
    pub(super) fn create_index(&self, create: &ast::CreateIndex) -> SqlResult<Done> {
        let (database, table) = self.target(&create.table)?;
        let clauses = Clauses::of(&create.how.all())?;
        if create.if_not_exists || create.or_replace {
            return Err(SqlError::syntax("near 'CREATE INDEX'"));
        }
        let kind = key::kind(create.kind)?;
        let spec = key::new(
            kind,
            Some(&create.name),
            &create.parts.all(),
            &create.options.all(),
        )?;
        self.change(&database, &table, &clauses, |c| {
            c.add_key(spec);
            Ok(())
        })
    }

    /// DROP INDEX.
    pub(super) fn drop_index(
        &self,
        table: &ObjectName,
        name: &str,
        how: &[ast::AlterHow],
    ) -> SqlResult<Done> {
        let (database, table) = self.target(table)?;
        let clauses = Clauses::of(how)?;
        self.change(&database, &table, &clauses, |c| c.drop_key(name))
    }

    /// ALTER TABLE.
    pub(super) fn alter_table(&self, alter: &ast::AlterTable) -> SqlResult<Done> {
        if alter.if_exists || alter.ignore {
            let words = if alter.ignore { "IGNORE" } else { "IF EXISTS" };
            return unsupported(&format!("ALTER TABLE with {words}"));
        }
        let actions = alter.actions.all();
        if let Some((op, clauses)) = super::partition::change(&actions)? {
            if self.engine.is_lent(self.owner) {
                return Err(not_in_transaction("a change of partitions"));
            }
            let done = self.alter_partitions(&alter.name, op, &clauses)?;
            self.outdate_statistics(&alter.name);
            return Ok(done);
        }
        let (database, table) = self.target(&alter.name)?;
        self.refuse_temporary(&database, &table)?;
        let asked = self.sort_out(&actions, &table)?;
        asked.clauses.check()?;
        if asked.options.auto_increment.is_some() && self.engine.is_lent(self.owner) {
            return Err(not_in_transaction("ALTER TABLE ... AUTO_INCREMENT"));
        }
        let done = match asked.to {
            Some(to)
                if asked.changes.is_empty()
                    && !asked.options.changes()
                    && asked.options.tablespace.is_none()
                    && !asked.clauses.asks_copy() =>
            {
                self.rename(&alter.name, to)?;
                Done::default()
            }
            to => {
                let target = (database.clone(), table.clone());
                if to.is_some() && self.has_triggers(&target)? {
                    return unsupported("ALTER TABLE ... RENAME and more of a table with triggers");
                }
                self.alter(&database, &table, &asked)?
            }
        };
        if let Some(next) = asked.options.auto_increment {
            let (database, table) = match asked.to {
                Some(to) => self.target(to)?,
                None => (database, table),
            };
            self.start_counting(&database, &table, next)?;
        }
        Ok(done)
    }

    /// What is asked of ALTER TABLE, by what carries it out.
    fn sort_out<'s>(&self, actions: &'s [AlterAction], table: &str) -> SqlResult<Asked<'s>> {
        let mut asked = Asked {
            clauses: Clauses::new(),
            options: Options::default(),
            changes: Vec::new(),
            to: None,
        };
        for action in actions {
            match action {
                AlterAction::How(how) => asked.clauses.take(*how),
                AlterAction::Option(option) => {
                    self.take_option(option, table, &mut asked.options)?;
                }
                AlterAction::RenameTo(new) => asked.to = Some(new),
                AlterAction::ConvertTo { charset, .. } => {
                    let charset = charset.as_ref().map(|c| c.as_str());
                    asked.options.convert_to(charset)?;
                    asked.changes.push(action);
                }
                AlterAction::Plain(PlainAlter::DisableKeys | PlainAlter::EnableKeys) => {
                    self.env.note(
                        1031,
                        format!("Table storage engine for '{table}' doesn't have this option"),
                    );
                }
                AlterAction::Plain(
                    PlainAlter::DiscardTablespace | PlainAlter::ImportTablespace,
                ) => return unsupported("DISCARD and IMPORT TABLESPACE"),
                _ => asked.changes.push(action),
            }
        }
        Ok(asked)
    }

    /// Makes all changes at once, and gives the table another name by the same step.
    fn alter(&self, database: &str, table: &str, asked: &Asked<'_>) -> SqlResult<Done> {
        let clauses = &asked.clauses;
        let to = match asked.to {
            Some(to) => Some(self.target(to)?),
            None => None,
        };
        if let Some((database, name)) = &to {
            names::table(name)?;
            let exists = self.engine.database(database);
            exists.map_err(|e| store_error(e, database))?;
        }
        let default = super::database_collation(self.engine, database)?;
        if self.temporary(database, table).is_none() && check::adds_any(&asked.changes) {
            self.engine
                .prepare_references(self.owner)
                .map_err(|e| store_error(e, table))?;
        } else if to.is_some() {
            self.prepare_relations_of(database, table)?;
        }
        let temporary = self.temporary(database, table).is_some();
        let place = self.place(asked.options.tablespace.as_deref(), temporary)?;
        let related = || self.related_to(database, table, asked, to.as_ref());
        // Who writes to the table may wait for one of those, which stay locked, and then neither could go on.
        let alone = self.temporary(database, table).is_some();
        let beside_related = match alone || related()?.is_empty() {
            true => Beside::Writes,
            false => Beside::Reads,
        };
        self.locked_with(database, table, related, || {
            let (_, old) = self.definition(database, table)?;
            let mut change = Change::of((database, table), &old, self.mode, self.env);
            change.set_options(&asked.options)?;
            for action in &asked.changes {
                change.apply(action, default)?;
            }
            let anew = change.anew;
            let mut changed = change.finish()?;
            changed.place = place;
            self.repartition(&old, &mut changed.schema)?;
            self.relate_change((database, table), &old, &mut changed, to.as_ref())?;
            match &to {
                // OPTIMIZE does the same.
                None if anew => {
                    let (way, limits) = (
                        changed.anew(&old, self.env)?,
                        changed.limits(&old, self.env),
                    );
                    let beside = match clauses.allow(&way, limits, alone)? {
                        _ if self.works_alone() => Beside::Nothing,
                        beside => beside.max(beside_related),
                    };
                    let own = (database, table);
                    let counts = limits.copies.is_some() || clauses.asks_copy();
                    let rows = self.rebuild(own, changed, own, beside)?;
                    Ok(Done::records(if counts { rows } else { 0 }))
                }
                Some(_) if self.temporary(database, table).is_some() => {
                    unsupported("other changes of a temporary table together with RENAME")
                }
                to => {
                    let own = (database, table);
                    let to = to.as_ref();
                    self.make_change(own, &old, changed, clauses, to, anew, beside_related)
                }
            }
        })
    }

    /// Checks a change of a table against what it refers to and what refers to it, and sees to what it changes there.
    fn relate_change(
        &self,
        own: (&str, &str),
        old: &Schema,
        changed: &mut Changed,
        to: Option<&(String, String)>,
    ) -> SqlResult<()> {
        if self.temporary(own.0, own.1).is_some() {
            return match changed.schema.foreign_keys.is_empty() {
                true => Ok(()),
                false => Err(SqlError::new(1215, "Cannot add foreign key constraint")),
            };
        }
        self.check_change(own, old, changed)?;
        let added = &changed.schema.foreign_keys[changed.kept_keys..];
        self.check_foreign_keys(own, &changed.schema, added)?;
        let target = to.map_or(own, |(d, t)| (&**d, &**t));
        changed.others = self.bodies_of_children(own, target, &changed.renamed)?;
        if target != own {
            let own = (own.0.to_string(), own.1.to_string());
            let renamed = (target.0.to_string(), target.1.to_string());
            let to = |name: &(String, String)| match *name == own {
                true => renamed.clone(),
                false => name.clone(),
            };
            for key in &mut changed.schema.foreign_keys {
                if let Some(new) = renamed_key(key, &own, &to) {
                    *key = new;
                }
            }
            let orphans = self.children(target.0, target.1)?;
            self.check_as_parent(target, &changed.schema, &orphans)?;
        }
        Ok(())
    }

    /// The tables on the other side of what an ALTER TABLE changes about foreign keys; none if it changes nothing about them.
    fn related_to(
        &self,
        database: &str,
        table: &str,
        asked: &Asked<'_>,
        to: Option<&(String, String)>,
    ) -> SqlResult<Vec<(String, String)>> {
        let (mut keys, mut names) = (to.is_some(), to.is_some());
        let mut related = Vec::new();
        for change in &asked.changes {
            match change {
                AlterAction::AddForeignKey(key) => {
                    keys = true;
                    related.push(foreign_keys::of_definition(key, 0)?.parent(database));
                }
                AlterAction::AddElements(list) => {
                    for spec in super::create::elements(&list.all())?.foreign_keys {
                        keys = true;
                        related.push(spec.parent(database));
                    }
                }
                AlterAction::Drop {
                    part: Part::ForeignKey | Part::Constraint,
                    ..
                } => keys = true,
                AlterAction::RenamePart(Part::Column, ..)
                | AlterAction::ChangeColumn { from: Some(_), .. } => names = true,
                _ => {}
            }
        }
        if keys {
            let (_, schema) = self.stored_definition(database, table)?;
            related.extend(schema.foreign_keys.into_iter().map(|k| k.parent));
        }
        if names {
            related.extend(self.children(database, table)?);
        }
        if let Some((database, table)) = to {
            related.extend(self.children(database, table)?);
        }
        if !related.is_empty() {
            related.push((database.to_string(), table.to_string()));
            related.extend(to.cloned());
        }
        Ok(related)
    }

    /// Runs `work` with the table locked exclusively, and those that `related` gives.
    fn locked_with<T>(
        &self,
        database: &str,
        table: &str,
        related: impl Fn() -> SqlResult<Vec<(String, String)>>,
        work: impl FnOnce() -> SqlResult<T>,
    ) -> SqlResult<T> {
        if self.temporary(database, table).is_some() || related()?.is_empty() {
            return self.locked(database, table, work);
        }
        self.engine
            .prepare_references(self.owner)
            .map_err(|e| store_error(e, table))?;
        self.holding(related, work)
    }

    /// Lets a table's AUTO_INCREMENT column go on at `next`, or after the largest value that it has: those of rows that are gone are
    /// given again.
    fn start_counting(&self, database: &str, table: &str, next: u64) -> SqlResult<()> {
        self.locked(database, table, || self.count_from(database, table, next))
    }

    /// The same, of a locked table.
    fn count_from(&self, database: &str, table: &str, next: u64) -> SqlResult<()> {
        let (_, schema) = self.definition(database, table)?;
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
            counter::restart(self.engine, &open, &schema, next)
        };
        let done = set();
        self.engine.commit(txn).map_err(wrap)?;
        done
    }
}
