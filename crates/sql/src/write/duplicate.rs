//! Which key a row duplicates, as MySQL tells it.

use crate::error::SqlError;
use crate::types::Schema;
use crate::value::{Zone, write_text};

/// Longest key shown in a message, in characters.
const SHOWN: usize = 64;

/// The name of the key in an error 1062.
pub fn duplicated_key(e: &SqlError) -> Option<&str> {
    let (_, key) = e.message.rsplit_once(" for key '")?;
    let key = key.strip_suffix('\'')?;
    Some(key.split_once('.').map_or(key, |(_, name)| name))
}

/// 1062, showing the key as MySQL does: its parts joined by `-`.
pub fn duplicate(schema: &Schema, table: &str, index: usize, row: &[u8], tz: Zone) -> SqlError {
    let i = &schema.indexes[index];
    let mut shown = Vec::new();
    for (n, p) in i.parts.iter().enumerate() {
        if n > 0 {
            shown.push(b'-');
        }
        let v = schema.layout().column(schema, row, p.column, tz);
        if v.is_null() {
            shown.extend_from_slice(b"NULL");
        } else {
            write_text(&v, &schema.columns[p.column].ty, &mut shown);
        }
    }
    let shown: String = String::from_utf8_lossy(&shown)
        .chars()
        .take(SHOWN)
        .collect();
    SqlError::new(
        1062,
        format!("Duplicate entry '{shown}' for key '{table}.{}'", i.name),
    )
}
