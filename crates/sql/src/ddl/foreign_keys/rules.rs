//! What may not be changed about a table that has foreign keys or is referred to: columns and indexes that they need.

use crate::catalog::{ForeignKey, ReferentialAction, positions};
use crate::error::{SqlError, SqlResult};
use crate::types::{BaseType, Column, Schema};

use super::super::Ddl;
use super::super::change::Changed;
use super::parents::{compatible, incompatible, not_with_partitions};

fn needed(code: u16, what: &str, column: &str, key: &ForeignKey, of: &str) -> SqlError {
    SqlError::new(
        code,
        format!(
            "Cannot {what} column '{column}': {} a foreign key constraint '{}'{of}",
            if code < 1831 { "needed in" } else { "used in" },
            key.name
        ),
    )
}

/// Whether a column's values keep their keys.
fn same_keys(old: &Column, new: &Column) -> bool {
    let (a, b) = (&old.ty, &new.ty);
    a == b
        || (a.base == BaseType::VarChar
            && b.base == a.base
            && a.collation == b.collation
            && b.length >= a.length)
}

/// Error 3780 if columns that a foreign key relates have types that can't be.
fn refuse_incompatible(key: &ForeignKey, child: &Schema, parent: &Schema) -> SqlResult<()> {
    for (column, referenced) in key.columns.iter().zip(&key.parent_columns) {
        let of = |s: &Schema, name| s.column(name).map(|c| s.columns[c].ty.clone());
        let (a, b) = (of(child, column), of(parent, referenced));
        if let (Some(a), Some(b)) = (a, b)
            && !compatible(&a, &b)
        {
            return Err(incompatible(key, column, referenced));
        }
    }
    Ok(())
}

/// Error 1828 if a column of one of the table's foreign keys isn't there any more.
pub fn check_columns(keys: &[ForeignKey], has: impl Fn(&str) -> bool) -> SqlResult<()> {
    for key in keys {
        if let Some(c) = key.columns.iter().find(|c| !has(c)) {
            return Err(needed(1828, "drop", c, key, ""));
        }
    }
    Ok(())
}

/// Error 1553, naming the index that was there before.
fn index_needed(old: &Schema, columns: &[usize]) -> SqlError {
    let name = old.index_over(columns).map_or("", |i| &old.indexes[i].name);
    SqlError::new(
        1553,
        format!("Cannot drop index '{name}': needed in a foreign key constraint"),
    )
}

impl Ddl<'_> {
    /// Checks a change of a locked table against the foreign keys that it keeps, and those that refer to it.
    pub(in super::super) fn check_change(
        &self,
        (database, table): (&str, &str),
        old: &Schema,
        changed: &Changed,
    ) -> SqlResult<()> {
        if self.temporary(database, table).is_some() {
            // What refers to its name refers to the table that it hides.
            return Ok(());
        }
        let checks = self.env.foreign_key_checks.get();
        let new = &changed.schema;
        let own = (database.to_string(), table.to_string());
        // The new position of an old column.
        let now = |c: usize| changed.from.iter().position(|f| *f == Some(c));
        for key in &new.foreign_keys[..changed.kept_keys] {
            let Some(columns) = positions(new, &key.columns) else {
                continue;
            };
            let nulls = [key.on_delete, key.on_update].contains(&ReferentialAction::SetNull);
            for &c in &columns {
                let column = &new.columns[c];
                if nulls && !column.nullable {
                    return Err(SqlError::new(
                        1830,
                        format!(
                            "Column '{}' cannot be NOT NULL: needed in a foreign key constraint '{}' SET NULL",
                            column.name, key.name
                        ),
                    ));
                }
                let was = changed.from[c].map(|f| &old.columns[f]);
                if checks && !was.is_some_and(|w| same_keys(w, column)) {
                    let parent = match key.parent == own {
                        true => Some(new.clone()),
                        false => self.parent_schema(key)?,
                    };
                    if let Some(parent) = parent {
                        refuse_incompatible(key, new, &parent)?;
                    }
                    return Err(needed(1832, "change", &column.name, key, ""));
                }
            }
            if new.index_over(&columns).is_none() {
                let before: Vec<usize> = columns.iter().filter_map(|&c| changed.from[c]).collect();
                return Err(index_needed(old, &before));
            }
        }
        for by in self.children(database, table)? {
            let (_, child) = self.stored_definition(&by.0, &by.1)?;
            let to_it = |k: &&ForeignKey| k.parent == own;
            for key in child.foreign_keys.iter().filter(to_it) {
                if by == own && !new.foreign_keys.iter().any(|k| k.name == key.name) {
                    // It goes by the same statement.
                    continue;
                }
                if new.partitioning.is_some() {
                    return Err(not_with_partitions());
                }
                let Some(before) = positions(old, &key.parent_columns) else {
                    continue;
                };
                let of = format!(" of table '{}.{}'", by.0, by.1);
                let mut after = Vec::with_capacity(before.len());
                for &c in &before {
                    let Some(to) = now(c) else {
                        let name = &old.columns[c].name;
                        return Err(needed(1829, "drop", name, key, &of));
                    };
                    if checks && !same_keys(&old.columns[c], &new.columns[to]) {
                        let child = if by == own { new } else { &child };
                        refuse_incompatible(key, child, new)?;
                        return Err(needed(1833, "change", &old.columns[c].name, key, &of));
                    }
                    after.push(to);
                }
                if checks && old.index_over(&before).is_some() && new.index_over(&after).is_none() {
                    return Err(index_needed(old, &before));
                }
            }
        }
        Ok(())
    }
}
