//! Whether child and parent fit each other: columns that are there, of types that compare byte for byte, and an index on the parent's side. Both are
//! locked, or one is not there yet.

use millpond_store::Error;

use crate::catalog::{ForeignKey, ReferentialAction, positions};
use crate::env::is_system_schema;
use crate::error::{SqlError, SqlResult};
use crate::row::wrong_object;
use crate::store_error::store_error;
use crate::types::{BaseType, Column, Schema, SqlType};

use super::super::Ddl;

/// 1506.
pub fn not_with_partitions() -> SqlError {
    SqlError::new(
        1506,
        "Foreign keys are not yet supported in conjunction with partitioning",
    )
}

/// Whether values of two columns are equal when their keys are.
pub(super) fn compatible(a: &SqlType, b: &SqlType) -> bool {
    use BaseType as B;
    let text = |t: &SqlType| {
        matches!(t.base, B::Char | B::VarChar | B::Binary | B::VarBinary) || t.is_blob()
    };
    if text(a) && text(b) {
        // BINARY pads its values, and VARBINARY doesn't.
        let binary = |t: &SqlType| t.base == B::Binary;
        return a.collation == b.collation
            && (binary(a) == binary(b))
            && (!binary(a) || a.length == b.length);
    }
    let digits = match a.base {
        B::Decimal => a.length == b.length,
        B::Bit => a.fixed_len() == b.fixed_len(),
        _ => true,
    };
    a.base == b.base
        && a.unsigned == b.unsigned
        && a.decimals == b.decimals
        && a.members == b.members
        && digits
}

/// 3780.
pub(super) fn incompatible(key: &ForeignKey, column: &str, referenced: &str) -> SqlError {
    SqlError::new(
        3780,
        format!(
            "Referencing column '{column}' and referenced column '{referenced}' in foreign key constraint '{}' are incompatible.",
            key.name
        ),
    )
}

impl Ddl<'_> {
    /// Checks the foreign keys `keys` of a table, whose definition is `schema`: itself, then against their parents.
    pub(in super::super) fn check_foreign_keys(
        &self,
        (database, table): (&str, &str),
        schema: &Schema,
        keys: &[ForeignKey],
    ) -> SqlResult<()> {
        if keys.is_empty() {
            return Ok(());
        }
        if schema.partitioning.is_some() {
            return Err(not_with_partitions());
        }
        for key in keys {
            check_child(key, schema)?;
            if key.parent.0 == database && key.parent.1 == table {
                self.check_pair(key, schema, schema, true)?;
                continue;
            }
            match self.parent_schema(key)? {
                Some(parent) => self.check_pair(key, schema, &parent, false)?,
                None if self.env.foreign_key_checks.get() => {
                    return Err(SqlError::new(
                        1824,
                        format!("Failed to open the referenced table '{}'", key.parent.1),
                    ));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Checks a table that is to come against tables that refer to its name.
    pub(in super::super) fn check_as_parent(
        &self,
        name: (&str, &str),
        schema: &Schema,
        children: &[(String, String)],
    ) -> SqlResult<()> {
        for (database, table) in children.iter().filter(|c| (&*c.0, &*c.1) != name) {
            let (_, child) = self.stored_definition(database, table)?;
            let to_it = |k: &&ForeignKey| (&*k.parent.0, &*k.parent.1) == name;
            for key in child.foreign_keys.iter().filter(to_it) {
                self.check_pair(key, &child, schema, false)?;
            }
        }
        Ok(())
    }

    /// The parent's definition, if there is one.
    pub(super) fn parent_schema(&self, key: &ForeignKey) -> SqlResult<Option<Schema>> {
        let (database, table) = &key.parent;
        if is_system_schema(database) {
            return Ok(None);
        }
        match self.engine.table_def(database, table) {
            Ok(def) => match Schema::of(&def)? {
                schema if schema.view.is_some() => Err(wrong_object(database, table, "BASE TABLE")),
                schema => Ok(Some(schema)),
            },
            Err(Error::NoSuchTable(_) | Error::NoSuchDatabase(_)) => Ok(None),
            Err(e) => Err(store_error(e, table)),
        }
    }

    fn check_pair(
        &self,
        key: &ForeignKey,
        child: &Schema,
        parent: &Schema,
        itself: bool,
    ) -> SqlResult<()> {
        if parent.partitioning.is_some() {
            return Err(not_with_partitions());
        }
        let mut at = Vec::with_capacity(key.columns.len());
        for (column, referenced) in key.columns.iter().zip(&key.parent_columns) {
            let Some(p) = parent.column(referenced) else {
                return Err(SqlError::new(
                    3734,
                    format!(
                        "Failed to add the foreign key constraint. Missing column '{referenced}' for constraint '{}' in the \
                         referenced table '{}'",
                        key.name, key.parent.1
                    ),
                ));
            };
            refuse_virtual(key, &parent.columns[p])?;
            let c = child.column(column).map(|c| &child.columns[c].ty);
            if !c.is_some_and(|c| compatible(c, &parent.columns[p].ty)) {
                return Err(incompatible(key, column, referenced));
            }
            at.push(p);
        }
        let checked = itself || self.env.foreign_key_checks.get();
        if checked && parent.index_over(&at).is_none() {
            return Err(SqlError::new(
                1822,
                format!(
                    "Failed to add the foreign key constraint. Missing index for constraint '{}' in the referenced table '{}'",
                    key.name, key.parent.1
                ),
            ));
        }
        Ok(())
    }
}

/// Error 3733 for a VIRTUAL column.
fn refuse_virtual(key: &ForeignKey, column: &Column) -> SqlResult<()> {
    match &column.generated {
        Some(g) if !g.stored => Err(SqlError::new(
            3733,
            format!(
                "Foreign key '{}' uses virtual column '{}' which is not supported.",
                key.name, column.name
            ),
        )),
        _ => Ok(()),
    }
}

/// Checks a foreign key against its own table.
fn check_child(key: &ForeignKey, schema: &Schema) -> SqlResult<()> {
    let Some(columns) = positions(schema, &key.columns) else {
        let missing = key.columns.iter().find(|c| schema.column(c).is_none());
        return Err(SqlError::new(
            1072,
            format!(
                "Key column '{}' doesn't exist in table",
                missing.map_or("", |c| c)
            ),
        ));
    };
    for &c in &columns {
        refuse_virtual(key, &schema.columns[c])?;
    }
    let nulls = [key.on_delete, key.on_update].contains(&ReferentialAction::SetNull);
    if let Some(&c) = columns.iter().find(|c| !schema.columns[**c].nullable)
        && nulls
    {
        return Err(SqlError::new(
            1830,
            format!(
                "Column '{}' cannot be NOT NULL: needed in a foreign key constraint '{}' SET NULL",
                schema.columns[c].name, key.name
            ),
        ));
    }
    Ok(())
}
