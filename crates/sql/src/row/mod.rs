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

use crate::error::SqlError;
use crate::types::Schema;
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

#[cfg(test)]
mod tests;
