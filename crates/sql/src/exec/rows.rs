//! What INSERT and UPDATE share: making rows, telling duplicates, counting.

use crate::error::{SqlError, SqlResult};
use crate::row;
use crate::types::{Column, Schema};
use crate::value::{self, StoreContext, Value, Zone, write_text};

/// Longest key shown in a message, in characters.
const SHOWN: usize = 64;

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

/// The clock as an ON UPDATE CURRENT_TIMESTAMP column takes it.
pub fn now_for(column: &Column, cx: &StoreContext<'_>) -> SqlResult<Value<'static>> {
    let now = Value::DateTime(cx.session.local_now_fsp(column.ty.decimals));
    Ok(value::store(now, column, cx)?.into_owned())
}

/// Encodes a row.
pub fn encode(schema: &Schema, values: &[Value<'_>], tz: Zone, out: &mut Vec<u8>) -> SqlResult<()> {
    out.clear();
    row::encode_row(schema, values, tz, out)
}
