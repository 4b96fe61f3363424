//! Which key a row duplicates, as MySQL tells it.

use crate::error::SqlError;
use crate::types::{BaseType, Schema};
use crate::value::{Zone, printable_bytes, write_text};

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
            let (ty, start) = (&schema.columns[p.column].ty, shown.len());
            write_text(&v, ty, &mut shown);
            if ty.base == BaseType::Bit {
                let bytes = shown.split_off(start);
                shown.extend_from_slice(printable_bytes(&bytes).as_bytes());
            }
            // What BINARY is filled up with goes unshown.
            while ty.base == BaseType::Binary && shown.len() > start + 1 && shown.ends_with(b"\0") {
                shown.pop();
            }
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
