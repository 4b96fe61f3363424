//! Rows as bytes.
//!
//! ```text
//! header u8 | null bitmap | fixed-width columns | end of each variable column | variable columns
//! ```
//!
//! Header bit 0: ends are 32 bits wide, else 16 (little-endian, counted from the start of the variable part). Bits 1 to 7: the schema
//! version that the row was written under (see `version`), 0 for a table that was never altered. A NULL keeps its place
//! in the fixed part (zeros) and is empty in the variable part, so that any column is found without looking at others. Fixed-width
//! values are written as in keys: `memcmp` sorts them. A VIRTUAL column whose values are computed has a bit in the bitmap, which is never
//! set, and nothing else: what reads it computes it ([`RowLayout::column`]), and nothing else may ask for its bytes or its bit.

use std::borrow::Cow;

use super::version::{header, tail};
use crate::catalog::{Column, Fill, RowLayout, Schema, Slot};
use crate::error::{SqlError, SqlResult};
use crate::value::family::stored::{Form, form_of, read, write};
use crate::value::{Json, Value, Zone};

/// Header bit: ends are 32 bits wide.
pub(super) const WIDE: u8 = 1;

impl RowLayout {
    /// Whether a column is NULL.
    #[inline]
    pub fn is_null(&self, row: &[u8], column: usize) -> bool {
        row[1 + column / 8] >> (column % 8) & 1 == 1
    }

    /// A column's bytes as stored: the fixed-width form, or the variable one's text.
    #[inline]
    pub(crate) fn bytes<'a>(&self, slot: Slot, row: &'a [u8]) -> &'a [u8] {
        if !slot.form.is_variable() {
            return &row[slot.at as usize..slot.at as usize + slot.width as usize];
        }
        let ends = self.ends();
        let i = slot.at as usize;
        let wide = row[0] & WIDE != 0;
        let end = |i: usize| -> usize {
            if wide {
                let p = ends + 4 * i;
                u32::from_le_bytes([row[p], row[p + 1], row[p + 2], row[p + 3]]) as usize
            } else {
                let p = ends + 2 * i;
                u16::from_le_bytes([row[p], row[p + 1]]) as usize
            }
        };
        let base = ends + self.variable() * if wide { 4 } else { 2 };
        let from = if i == 0 { 0 } else { end(i - 1) };
        &row[base + from..base + end(i)]
    }

    /// One column of a row, borrowing strings. O(1): no other column is looked at.
    #[inline]
    pub fn column<'a>(
        &self,
        schema: &'a Schema,
        row: &'a [u8],
        column: usize,
        tz: Zone,
    ) -> Value<'a> {
        if self.is_null(row, column) {
            return Value::Null;
        }
        let slot = self.slots()[column];
        let bytes = self.bytes(slot, row);
        match slot.form {
            Form::Variable => Value::Bytes(Cow::Borrowed(bytes)),
            Form::Json => Value::Json(Json::of_bytes(bytes)),
            Form::Computed => schema.compute(row, column),
            form => read(form, bytes, &schema.columns[column].ty, tz),
        }
    }
}

/// The bytes of a value of variable length; `None` if it is not of the form.
#[inline]
fn variable_bytes<'v>(form: Form, value: &'v Value<'_>) -> Option<&'v [u8]> {
    match (form, value) {
        (Form::Variable, Value::Bytes(b)) => Some(b),
        (Form::Json, Value::Json(j)) => Some(j.as_bytes()),
        _ => None,
    }
}

fn mismatch(column: &Column, value: &Value<'_>) -> SqlError {
    SqlError::new(
        1366,
        format!(
            "Incorrect {} value: '{}' for column '{}'",
            column.ty.data_type(),
            String::from_utf8_lossy(&value.to_text()),
            column.name
        ),
    )
}

/// Appends the row's bytes. The values must have gone through [`crate::value::store`]: one per column, of its type.
pub fn encode_row(
    schema: &Schema,
    values: &[Value<'_>],
    tz: Zone,
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    let layout = schema.layout();
    debug_assert_eq!(values.len(), layout.slots().len());
    let mut total = 0;
    for (v, slot) in values.iter().zip(layout.slots()) {
        total += variable_bytes(slot.form, v).map_or(0, <[u8]>::len);
    }
    let wide = total > u16::MAX as usize;
    let step = if wide { 4 } else { 2 };
    let start = out.len();
    out.reserve(layout.ends() + layout.variable() * step + total);
    out.push(header(layout.version()) | if wide { WIDE } else { 0 });
    let bitmap = out.len();
    out.resize(bitmap + values.len().div_ceil(8), 0);
    for (i, (v, slot)) in values.iter().zip(layout.slots()).enumerate() {
        let column = &schema.columns[i];
        if v.is_null() && slot.form != Form::Computed {
            out[bitmap + i / 8] |= 1 << (i % 8);
            out.resize(out.len() + slot.width as usize, 0);
        } else if !slot.form.is_variable() {
            write(slot.form, slot.width, v, &column.ty, tz, out)
                .ok_or_else(|| mismatch(column, v))?;
        }
    }
    debug_assert_eq!(out.len(), start + layout.ends());
    let mut end = 0u32;
    for (i, (v, slot)) in values.iter().zip(layout.slots()).enumerate() {
        if !slot.form.is_variable() {
            continue;
        }
        if !v.is_null() {
            let bytes = variable_bytes(slot.form, v);
            let bytes = bytes.ok_or_else(|| mismatch(&schema.columns[i], v))?;
            end += bytes.len() as u32;
        }
        out.extend_from_slice(&end.to_le_bytes()[..step]);
    }
    for (v, slot) in values.iter().zip(layout.slots()) {
        out.extend_from_slice(variable_bytes(slot.form, v).unwrap_or_default());
    }
    if let Some(tail) = tail(layout.version()) {
        out.extend_from_slice(&tail);
    }
    Ok(())
}

/// A value as rows store it in a column, of whose type it is; `None`: NULL.
pub fn stored_value(column: &Column, value: &Value<'_>, tz: Zone) -> SqlResult<Fill> {
    let (form, width) = form_of(&column.ty);
    let mut bytes = Vec::new();
    match value {
        Value::Null => return Ok(None),
        value if form.is_variable() => {
            let own = variable_bytes(form, value).ok_or_else(|| mismatch(column, value))?;
            bytes.extend_from_slice(own);
        }
        value => {
            let written = write(form, width, value, &column.ty, tz, &mut bytes);
            written.ok_or_else(|| mismatch(column, value))?;
        }
    }
    Ok(Some(bytes.into()))
}

/// All columns of a row, in order, appended to `out`.
pub fn decode_row<'a>(schema: &'a Schema, row: &'a [u8], tz: Zone, out: &mut Vec<Value<'a>>) {
    out.reserve(schema.columns.len());
    for i in 0..schema.columns.len() {
        out.push(schema.layout().column(schema, row, i, tz));
    }
}
