//! Rows and keys as bytes: the codec between SQL values and what the store keeps.
//!
//! `layout` owns the row format, `version` what rows say of the definition that they were written under, `checksum` sums rows in MySQL's, `column` reads a column of many rows, `key` owns the key format, `values` has the form of values in buffers. Timestamps are UTC in rows and keys and in the session's zone as values, hence the
//! `tz` (seconds east of UTC) parameters. Bytes given to the readers
//! must come from the writers under the same schema: the store guards them by checksums.

mod checksum;
mod column;
mod key;
mod layout;
mod values;
mod version;

use crate::catalog::{Versions, WORK_DATABASE};
use crate::error::SqlError;
use crate::types::Schema;
use millpond_store::{
    CodecFactory, Constraint, ConstraintKind, Error, KeyCodec, References, Result, TableDef,
};
use std::sync::Arc;

pub use crate::catalog::RowLayout;
pub use checksum::TableChecksum;
pub use column::Nulls;
pub use key::{
    decode_key, encode_key_like, encode_key_values, encode_key_values_from, encode_sort_value,
    key_for_other_index, key_part_decodable, key_part_ends, same_order,
};
pub use layout::{decode_row, encode_row, stored_value};
pub use values::{Reader, put_all, put_bytes, put_value, values_of};
pub use version::at_version;

/// The schema of an open table, shared with its codec; error 1347 for a view, which has no rows.
pub fn schema_of(table: &millpond_store::Table) -> crate::SqlResult<Arc<Schema>> {
    let schema = schema_or_view(table)?;
    match schema.view {
        None => Ok(schema),
        Some(_) => {
            let def = table.def();
            Err(wrong_object(&def.database, &def.name, "BASE TABLE"))
        }
    }
}

/// Error 1347: what goes by this name is not what was asked for.
#[cold]
pub fn wrong_object(database: &str, name: &str, wanted: &str) -> SqlError {
    SqlError::new(1347, format!("'{database}.{name}' is not {wanted}"))
}

/// The schema of what may be a view.
pub fn schema_or_view(table: &millpond_store::Table) -> crate::SqlResult<Arc<Schema>> {
    match table.decoded().and_then(|d| d.downcast::<Schema>().ok()) {
        Some(schema) => Ok(schema),
        None => Schema::of(table.def()).map(Arc::new),
    }
}

/// The store's codec factory: decodes schemas from definitions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Codecs;

struct SchemaCodec(Arc<Schema>);

impl KeyCodec for SchemaCodec {
    fn key(&self, index: usize, row: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        Ok(self.0.key_of_row(index, row, out))
    }
    fn has_earlier_versions(&self) -> bool {
        self.0.versions().earlier() > 0
    }
    fn is_current(&self, row: &[u8]) -> bool {
        self.0.is_current(row)
    }
    fn upgrade(&self, row: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let upgraded = self.0.upgrade(row, out);
        upgraded.map_err(|e| Error::Corrupt(e.message))
    }
    fn decoded(&self) -> Option<Arc<dyn std::any::Any + Send + Sync>> {
        Some(self.0.clone())
    }
}

impl CodecFactory for Codecs {
    fn codec(&self, def: &TableDef) -> Result<Arc<dyn KeyCodec>> {
        let schema = Schema::of(def).map_err(|e| {
            Error::Corrupt(format!(
                "definition of table {}.{}: {}",
                def.database, def.name, e.message
            ))
        })?;
        Ok(Arc::new(SchemaCodec(Arc::new(schema))))
    }

    fn emptied(&self, def: &TableDef) -> Option<Vec<u8>> {
        // What can't be read stays as it is.
        let schema = Schema::of(def).ok()?;
        let anew = schema.with_versions(Versions::default());
        Some(anew.table_body())
    }

    fn references(&self, def: &TableDef) -> References {
        // What is being made has no relations until it has its place; what can't be read can be dropped.
        match Schema::of(def) {
            Ok(schema) if def.database != WORK_DATABASE => References {
                parents: schema
                    .foreign_keys
                    .iter()
                    .map(|k| k.parent.clone())
                    .collect(),
                constraints: constraints(&schema, &def.name),
            },
            _ => References::default(),
        }
    }
}

/// The constraints whose names a table's database has once.
fn constraints(schema: &Schema, table: &str) -> Vec<Constraint> {
    let keys = schema.foreign_keys.iter().map(|k| k.name.clone());
    let keys = keys.map(|name| (ConstraintKind::ForeignKey, name));
    let checks = schema.checks.iter().map(|c| c.name.of(table));
    let checks = checks.map(|name| (ConstraintKind::Check, name));
    let named = |(kind, name): (_, String)| Constraint {
        kind,
        compared: name.to_lowercase(),
        name,
    };
    keys.chain(checks).map(named).collect()
}

#[cfg(test)]
mod tests;
