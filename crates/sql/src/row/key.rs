//! Index keys: `memcmp`-ordered bytes of a row's or a statement's values.
//!
//! Each part: if the column is nullable a byte, 0 for NULL (and nothing else follows) or 1; then the fixed-width form or the
//! collation's sort key. DESC inverts every byte of its part. All parts are prefix-free, so the key of leading
//! parts is a prefix of the keys that have them.

use std::borrow::Cow;

use crate::error::{SqlError, SqlResult};
use crate::types::collation::char_prefix;
use crate::types::{BaseType, Collation, Column, KeyPart, Schema, SqlType};
use crate::value::family::stored::{Form, form_of, read, write};
use crate::value::{Value, Zone, sort_key};

/// The bytes of a string that a key part takes.
#[inline]
fn part_text<'a>(part: &KeyPart, ty: &SqlType, text: &'a [u8]) -> &'a [u8] {
    match part.prefix {
        None => text,
        Some(n) if ty.collation == Collation::Binary => &text[..text.len().min(n as usize)],
        Some(n) => &text[..char_prefix(text, n as usize)],
    }
}

#[inline]
fn invert(out: &mut [u8]) {
    for b in out {
        *b = !*b;
    }
}

impl Schema {
    /// Appends a stored row's key; whether a part is NULL.
    pub fn key_of_row(&self, index: usize, row: &[u8], out: &mut Vec<u8>) -> bool {
        let layout = self.layout();
        if layout.computes() {
            return self.key_of_computed(index, row, out);
        }
        let mut has_null = false;
        for part in &self.indexes[index].parts {
            has_null |= self.key_part_of_row(part, row, out);
        }
        has_null
    }

    /// The same where some columns are computed.
    fn key_of_computed(&self, index: usize, row: &[u8], out: &mut Vec<u8>) -> bool {
        let layout = self.layout();
        let mut has_null = false;
        for (at, part) in self.indexes[index].parts.iter().enumerate() {
            has_null |= match layout.is_computed(part.column) {
                false => self.key_part_of_row(part, row, out),
                true => {
                    let value = [layout.column(self, row, part.column, Zone::UTC)];
                    encode_key_values_from(self, index, at, &value, Zone::UTC, out);
                    value[0].is_null()
                }
            };
        }
        has_null
    }

    /// Appends a part of a stored row's key, of a column that rows hold; whether it is NULL.
    #[inline]
    fn key_part_of_row(&self, part: &KeyPart, row: &[u8], out: &mut Vec<u8>) -> bool {
        let layout = self.layout();
        let column = &self.columns[part.column];
        let start = out.len();
        if column.nullable {
            let null = layout.is_null(row, part.column);
            out.push(!null as u8);
            if null {
                if part.desc {
                    invert(&mut out[start..]);
                }
                return true;
            }
        }
        let slot = layout.slots()[part.column];
        let bytes = layout.bytes(slot, row);
        if slot.form.is_variable() {
            let text = part_text(part, &column.ty, bytes);
            column.ty.collation.sort_key(text, out);
        } else {
            out.extend_from_slice(bytes);
        }
        if part.desc {
            invert(&mut out[start..]);
        }
        false
    }

    /// Appends the key under which an index of another table has the values of some of a stored row's columns, one for each of the
    /// index's first parts; `false`, with nothing appended, if one is NULL.
    pub fn key_elsewhere(
        &self,
        columns: &[usize],
        row: &[u8],
        other: &Schema,
        index: usize,
        out: &mut Vec<u8>,
    ) -> bool {
        let layout = self.layout();
        if columns.iter().any(|&c| layout.is_null(row, c)) {
            return false;
        }
        for (&c, part) in columns.iter().zip(&other.indexes[index].parts) {
            let (slot, column) = (layout.slots()[c], &other.columns[part.column]);
            let there = other.layout().slots()[part.column];
            let start = out.len();
            if column.nullable {
                out.push(1);
            }
            if (slot.form, slot.width) != (there.form, there.width) {
                let value = layout.column(self, row, c, Zone::UTC);
                encode_part(part, column, &value, Zone::UTC, out);
            } else if slot.form.is_variable() {
                let text = part_text(part, &column.ty, layout.bytes(slot, row));
                column.ty.collation.sort_key(text, out);
            } else {
                out.extend_from_slice(layout.bytes(slot, row));
            }
            if part.desc {
                invert(&mut out[start..]);
            }
        }
        true
    }
}

/// Whether keys of the first `parts` parts of two indexes differ by no more than NULLs, and lie in the same order.
pub fn same_order(
    (schema, index): (&Schema, usize),
    (other, other_index): (&Schema, usize),
    parts: usize,
) -> bool {
    let of = |schema: &Schema, index: usize| -> Vec<_> {
        let parts = schema.indexes[index].parts.iter().take(parts);
        let each = parts.map(|p| {
            let ty = &schema.columns[p.column].ty;
            let (form, width) = form_of(ty);
            let collation = form.is_variable().then_some(ty.collation);
            (form, width, collation, p.desc, p.prefix)
        });
        each.collect()
    };
    of(schema, index) == of(other, other_index)
}

/// Appends the key that another index has for the first `parts` parts of an index's key ([`same_order`]); `false`, with nothing that
/// counts appended, if one of them is NULL.
pub fn key_for_other_index(
    (schema, index): (&Schema, usize),
    key: &[u8],
    (other, other_index): (&Schema, usize),
    parts: usize,
    out: &mut Vec<u8>,
) -> SqlResult<bool> {
    let corrupt = || SqlError::new(1034, "Incorrect key file: an index key is cut short");
    let (own, others) = (
        &schema.indexes[index].parts,
        &other.indexes[other_index].parts,
    );
    let mut at = 0;
    for (part, there) in own.iter().zip(others).take(parts) {
        let column = &schema.columns[part.column];
        let flip = if part.desc { 0xff } else { 0 };
        if column.nullable {
            if key.get(at).ok_or_else(corrupt)? ^ flip == 0 {
                return Ok(false);
            }
            at += 1;
        }
        if other.columns[there.column].nullable {
            out.push(1 ^ flip);
        }
        let rest = key.get(at..).ok_or_else(corrupt)?;
        let len = match form_of(&column.ty) {
            (Form::Variable, _) => column.ty.collation.sort_key_len(rest, flip),
            (_, width) => Some(width as usize),
        };
        let len = len.filter(|n| *n <= rest.len()).ok_or_else(corrupt)?;
        out.extend_from_slice(&rest[..len]);
        at += len;
    }
    Ok(true)
}

/// Appends the key of `index` made of the leading `values` (full or partial; at most one per part), each of its column's type
/// (see [`crate::value::lookup`] for values that come from elsewhere).
pub fn encode_key_values(
    schema: &Schema,
    index: usize,
    values: &[Value<'_>],
    tz: Zone,
    out: &mut Vec<u8>,
) {
    encode_key_values_from(schema, index, 0, values, tz, out);
}

/// The same of values of the parts from `first` on.
pub fn encode_key_values_from(
    schema: &Schema,
    index: usize,
    first: usize,
    values: &[Value<'_>],
    tz: Zone,
    out: &mut Vec<u8>,
) {
    let parts = &schema.indexes[index].parts[first..];
    for (part, value) in parts.iter().zip(values) {
        let column = &schema.columns[part.column];
        let start = out.len();
        if column.nullable {
            out.push(!value.is_null() as u8);
        }
        if !value.is_null() {
            encode_part(part, column, value, tz, out);
        }
        if part.desc {
            invert(&mut out[start..]);
        }
    }
}

fn encode_part(part: &KeyPart, column: &Column, value: &Value<'_>, tz: Zone, out: &mut Vec<u8>) {
    let (form, width) = form_of(&column.ty);
    if form == Form::Variable {
        let text = value.to_text();
        let text = part_text(part, &column.ty, &text);
        column.ty.collation.sort_key(text, out);
    } else if write(form, width, value, &column.ty, tz, out).is_none() {
        debug_assert!(false, "{value:?} is not of column {}'s type", column.name);
    }
}

/// The bytes that every key of a string part starts with if its column starts with `prefix` (for `LIKE 'abc%'`), appended.
/// `false` (nothing appended) if the part's type or direction does not allow it.
pub fn encode_key_like(
    schema: &Schema,
    index: usize,
    part: usize,
    prefix: &[u8],
    out: &mut Vec<u8>,
) -> bool {
    let part = &schema.indexes[index].parts[part];
    let column = &schema.columns[part.column];
    if part.desc || !form_of(&column.ty).0.is_variable() {
        return false;
    }
    if column.nullable {
        out.push(1);
    }
    let text = part_text(part, &column.ty, prefix);
    column.ty.collation.sort_key_prefix(text, out);
    true
}

/// Whether part `part` of an index can be read back from its key bytes (covering reads).
pub fn key_part_decodable(schema: &Schema, index: usize, part: usize) -> bool {
    let part = &schema.indexes[index].parts[part];
    let ty = &schema.columns[part.column].ty;
    !form_of(ty).0.is_variable()
        || part.prefix.is_none()
            && (ty.collation == Collation::Binary
                || (ty.collation == Collation::Utf8mb4Bin && ty.base == BaseType::Char))
}

/// Appends where each part of an index key ends.
pub fn key_part_ends(
    schema: &Schema,
    index: usize,
    key: &[u8],
    out: &mut Vec<usize>,
) -> SqlResult<()> {
    let corrupt = || SqlError::new(1034, "Incorrect key file: an index key is cut short");
    let mut at = 0;
    for part in &schema.indexes[index].parts {
        let column = &schema.columns[part.column];
        let flip = if part.desc { 0xff } else { 0 };
        let mut null = false;
        if column.nullable {
            null = key.get(at).ok_or_else(corrupt)? ^ flip == 0;
            at += 1;
        }
        if !null {
            let (form, width) = form_of(&column.ty);
            let rest = key.get(at..).ok_or_else(corrupt)?;
            at += match form {
                Form::Variable => {
                    let len = column.ty.collation.sort_key_len(rest, flip);
                    len.ok_or_else(corrupt)?
                }
                _ => width as usize,
            };
        }
        out.push(at);
    }
    Ok(())
}

/// Reads the parts of an index key back, appending one value per part; a part that is not decodable gives `Value::Null`
/// (ask [`key_part_decodable`] first).
pub fn decode_key<'a>(
    schema: &'a Schema,
    index: usize,
    key: &[u8],
    tz: Zone,
    out: &mut Vec<Value<'a>>,
) -> SqlResult<()> {
    let corrupt = || SqlError::new(1034, "Incorrect key file: an index key is cut short");
    let mut at = 0;
    for (i, part) in schema.indexes[index].parts.iter().enumerate() {
        let column = &schema.columns[part.column];
        let flip = if part.desc { 0xff } else { 0 };
        if column.nullable {
            let flag = key.get(at).ok_or_else(corrupt)? ^ flip;
            at += 1;
            if flag == 0 {
                out.push(Value::Null);
                continue;
            }
        }
        let (form, width) = form_of(&column.ty);
        if form == Form::Variable {
            let rest = &key[at..];
            let n = column
                .ty
                .collation
                .sort_key_len(rest, flip)
                .ok_or_else(corrupt)?;
            out.push(if key_part_decodable(schema, index, i) {
                Value::Bytes(Cow::Owned(column.ty.collation.unsort(&rest[..n], flip)))
            } else {
                Value::Null
            });
            at += n;
        } else {
            let n = width as usize;
            let mut bytes = [0u8; 32];
            let stored = key.get(at..at + n).ok_or_else(corrupt)?;
            for (b, s) in bytes.iter_mut().zip(stored) {
                *b = s ^ flip;
            }
            out.push(read(form, &bytes[..n], &column.ty, tz));
            at += n;
        }
    }
    Ok(())
}

/// Appends a value's sort key: NULL first, `memcmp`-ordered, prefix-free; inverted if `desc`. For ORDER BY, GROUP BY and
/// DISTINCT. ENUMs sort by position. Numbers of one type sort by value whichever way they are represented.
pub fn encode_sort_value(value: &Value<'_>, ty: &SqlType, desc: bool, out: &mut Vec<u8>) {
    let start = out.len();
    out.push(!value.is_null() as u8);
    if !value.is_null() {
        sort_key(value, ty, out);
    }
    if desc {
        invert(&mut out[start..]);
    }
}
