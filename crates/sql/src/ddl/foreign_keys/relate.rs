//! A change's other side: the tables that refer to a table, or that it refers to, are locked with it, for their definitions get a new
//! version or name other things.
//!
//! Which tables these are is known for certain only while they are locked. So their names are looked up, locked and looked up
//! again; and a step for which the store finds a table missing among the locked ones is done again with it
//! ([`millpond_store::Error::Related`]).

use std::collections::BTreeSet;

use millpond_store::{Error, TableDef};

use crate::catalog::ForeignKey;
use crate::error::{SqlError, SqlResult};
use crate::store_error::store_error;
use crate::types::Schema;

use super::super::Ddl;

/// Database and name.
type Name = (String, String);

/// How often names are looked up before it is given up.
const MOST_ATTEMPTS: usize = 20;

/// 1100: LOCK TABLES has not locked a table that is changed too.
fn not_locked(table: &str) -> SqlError {
    SqlError::new(
        1100,
        format!("Table '{table}' was not locked with LOCK TABLES"),
    )
}

fn too_often() -> SqlError {
    SqlError::new(
        1412,
        "Table definition has changed, please retry transaction",
    )
}

/// A foreign key after the table `from` has become `to`, whether that is its parent or its own table; `None`: the same.
pub fn renamed_key(key: &ForeignKey, own: &Name, to: &dyn Fn(&Name) -> Name) -> Option<ForeignKey> {
    let mut new = key.clone();
    new.parent = to(&key.parent);
    let table = to(own);
    if let Some(n) = key.generated_number(&own.1).filter(|_| table != *own) {
        new.name = ForeignKey::generated_name(&table.1, n);
    }
    (new != *key).then_some(new)
}

impl Ddl<'_> {
    /// A table's definition in the catalog.
    pub(in super::super) fn stored_definition(
        &self,
        database: &str,
        table: &str,
    ) -> SqlResult<(TableDef, Schema)> {
        let def = self.engine.table_def(database, table);
        let def = def.map_err(|e| store_error(e, table))?;
        let schema = Schema::of(&def)?;
        Ok((def, schema))
    }

    /// The tables that refer to a name.
    pub(in super::super) fn children(&self, database: &str, table: &str) -> SqlResult<Vec<Name>> {
        self.engine
            .children_of(database, table)
            .map_err(|e| store_error(e, table))
    }

    /// Runs a step of DDL on `own` tables, with related ones locked as far as it takes them.
    pub(in super::super) fn with_related<T>(
        &self,
        own: &[Name],
        mut step: impl FnMut() -> Result<T, Error>,
    ) -> SqlResult<Result<T, Error>> {
        let mut more = match step() {
            Err(Error::Related(more)) => more,
            done => return Ok(done),
        };
        let mut names: BTreeSet<Name> = own.iter().cloned().collect();
        for _ in 0..MOST_ATTEMPTS {
            if self.tables_locked {
                return Err(not_locked(&more[0].1));
            }
            names.extend(more);
            let all: Vec<Name> = names.iter().cloned().collect();
            let _held = self
                .engine
                .hold_names(self.owner, &all)
                .map_err(|e| store_error(e, &all[0].1))?;
            more = match step() {
                Err(Error::Related(more)) => more,
                done => return Ok(done),
            };
        }
        Err(too_often())
    }

    /// Runs `work` with names locked exclusively that `names` gives, and gives again once they are; nothing is locked for none.
    pub(in super::super) fn holding<T>(
        &self,
        names: impl Fn() -> SqlResult<Vec<Name>>,
        work: impl FnOnce() -> SqlResult<T>,
    ) -> SqlResult<T> {
        let mut wanted: BTreeSet<Name> = BTreeSet::new();
        for _ in 0..MOST_ATTEMPTS {
            let now = names()?;
            if now.is_empty() || self.tables_locked {
                return work();
            }
            wanted.extend(now);
            let all: Vec<Name> = wanted.iter().cloned().collect();
            let held = self
                .engine
                .hold_names(self.owner, &all)
                .map_err(|e| store_error(e, &all[0].1))?;
            if names()?.iter().all(|n| wanted.contains(n)) {
                let done = work();
                drop(held);
                return done;
            }
        }
        Err(too_often())
    }

    /// Bodies of the tables in whose foreign keys tables go by other names from now on, their own among them.
    pub(in super::super) fn bodies_after_renames(
        &self,
        renames: &[(Name, Name)],
    ) -> SqlResult<Vec<(Name, Vec<u8>)>> {
        let to = |name: &Name| {
            let step = |now: Name, (from, to): &(Name, Name)| match now == *from {
                true => to.clone(),
                false => now,
            };
            renames.iter().fold(name.clone(), step)
        };
        let mut tables: BTreeSet<Name> = BTreeSet::new();
        for (from, _) in renames {
            tables.extend(self.children(&from.0, &from.1)?);
            if self.exists(&from.0, &from.1)? {
                tables.insert(from.clone());
            }
        }
        let mut bodies = Vec::new();
        for name in tables {
            let (_, mut schema) = self.stored_definition(&name.0, &name.1)?;
            let mut changed = false;
            for key in &mut schema.foreign_keys {
                if let Some(new) = renamed_key(key, &name, &to) {
                    *key = new;
                    changed = true;
                }
            }
            if changed {
                bodies.push((name, schema.table_body()));
            }
        }
        Ok(bodies)
    }

    /// Bodies of other tables in whose foreign keys a table, or columns of it, go by other names from now on.
    pub(in super::super) fn bodies_of_children(
        &self,
        own: (&str, &str),
        to: (&str, &str),
        columns: &[(String, String)],
    ) -> SqlResult<Vec<(Name, Vec<u8>)>> {
        if own == to && columns.is_empty() {
            return Ok(Vec::new());
        }
        let mut bodies = Vec::new();
        for (database, table) in self.children(own.0, own.1)? {
            if (&*database, &*table) == own {
                continue;
            }
            let (_, mut schema) = self.stored_definition(&database, &table)?;
            for key in &mut schema.foreign_keys {
                if (&*key.parent.0, &*key.parent.1) == own {
                    key.parent = (to.0.to_string(), to.1.to_string());
                    rename_columns(&mut key.parent_columns, columns);
                }
            }
            bodies.push(((database, table), schema.table_body()));
        }
        Ok(bodies)
    }

    /// Error 3730: a table may not go, for another refers to it.
    pub(in super::super) fn referenced(&self, table: &Name, by: &Name) -> SqlError {
        let (_, constraint) = self.constraint_between(table, by);
        SqlError::new(
            3730,
            format!(
                "Cannot drop table '{}' referenced by a foreign key constraint '{constraint}' on table '{}'.",
                table.1, by.1
            ),
        )
    }

    /// Error 1701: a table may not be emptied, for another refers to it.
    pub(in super::super) fn not_truncated(&self, table: &Name, by: &Name) -> SqlError {
        let (database, constraint) = self.constraint_between(table, by);
        SqlError::new(
            1701,
            format!(
                "Cannot truncate a table referenced in a foreign key constraint (`{database}`.`{}`, CONSTRAINT `{constraint}`)",
                by.1
            ),
        )
    }

    /// The child's database, and the name of a foreign key of it that refers to a table; empty if that has gone meanwhile.
    fn constraint_between(&self, table: &Name, by: &Name) -> (String, String) {
        let name = self
            .stored_definition(&by.0, &by.1)
            .ok()
            .and_then(|(_, s)| {
                let mut keys = s.foreign_keys.into_iter();
                keys.find(|k| k.parent == *table).map(|k| k.name)
            });
        (by.0.clone(), name.unwrap_or_default())
    }
}

/// Gives names others (from, to).
pub fn rename_columns(names: &mut [String], renames: &[(String, String)]) {
    for name in names {
        if let Some((_, to)) = renames
            .iter()
            .find(|(from, _)| from.eq_ignore_ascii_case(name))
        {
            name.clone_from(to);
        }
    }
}
