//! Rows as bytes.
//!
//! ```text
//! header u8 | null bitmap | fixed-width columns | end of each variable column | variable columns
//! ```
//!
//! Header bit 0: ends are 32 bits wide, else 16 (little-endian, counted from the start of the variable part). A NULL keeps its place
//! in the fixed part (zeros) and is empty in the variable part, so that any column is found without looking at others. Fixed-width
//! values are written as in keys: `memcmp` sorts them.

use std::borrow::Cow;

use crate::catalog::{Column, Form, RowLayout, Schema, Slot, fraction_len};
use crate::error::{SqlError, SqlResult};
use crate::types::SqlType;
use crate::value::time::{Date, DateTime, Time};
use crate::value::{Decimal, Value, Zone};

const WIDE: u8 = 1;

#[inline]
fn read_be(b: &[u8]) -> u64 {
    let mut v = [0u8; 8];
    v[8 - b.len()..].copy_from_slice(b);
    u64::from_be_bytes(v)
}

/// Microseconds as a number of 1, 2 or 3 bytes, and back.
fn fraction_unit(fsp: u8) -> u32 {
    10u32.pow(6 - 2 * fraction_len(fsp) as u32)
}

/// A double's bits that sort as the numbers do.
fn order_double(v: f64) -> u64 {
    let b = v.to_bits();
    if b >> 63 == 1 { !b } else { b ^ 1 << 63 }
}

fn order_float(v: f32) -> u32 {
    let b = v.to_bits();
    if b >> 31 == 1 { !b } else { b ^ 1 << 31 }
}

/// The signed number whose bits sort as these `width` bytes do: the reverse of [`signed`].
#[inline]
pub(super) fn signed_of(bits: u64, width: u32) -> i64 {
    let shift = 64 - 8 * width;
    ((bits << shift) ^ 1 << 63) as i64 >> shift
}

/// The reverse of [`order_double`].
#[inline]
pub(super) fn double(v: u64) -> f64 {
    f64::from_bits(if v >> 63 == 1 { v ^ 1 << 63 } else { !v })
}

/// The reverse of [`order_float`].
#[inline]
pub(super) fn float(v: u32) -> f64 {
    f32::from_bits(if v >> 31 == 1 { v ^ 1 << 31 } else { !v }).into()
}

/// Reads a fixed-width value.
#[inline]
pub(super) fn read_fixed<'a>(form: Form, b: &[u8], ty: &'a SqlType, tz: Zone) -> Value<'a> {
    match form {
        Form::Signed => Value::Int(signed_of(read_be(b), b.len() as u32)),
        Form::Unsigned => Value::UInt(read_be(b)),
        Form::Double => Value::Double(double(read_be(b))),
        Form::Float => Value::Double(float(read_be(b) as u32)),
        Form::Decimal(scale) => Value::Decimal(Decimal::decode(b, scale)),
        Form::Date => Value::Date(Date::unpack(read_be(b) as u32)),
        Form::DateTime(fsp) => {
            let micro = read_be(&b[5..]) as u32 * fraction_unit(fsp);
            Value::DateTime(DateTime::unpack(read_be(&b[..5]), micro))
        }
        Form::Timestamp(fsp) => {
            let seconds = read_be(&b[..4]) as i64;
            let micro = read_be(&b[4..]) as u32 * fraction_unit(fsp);
            // 0 is the zero timestamp: the moment itself cannot be stored.
            if seconds == 0 {
                return Value::DateTime(DateTime::default());
            }
            Value::DateTime(DateTime::from_unix(seconds, micro, tz).unwrap_or_default())
        }
        Form::Time => Value::Time(Time {
            micros: read_be(b) as i64 - (1 << 47),
        }),
        Form::Year => {
            let v = read_be(b) as i64;
            Value::UInt(if v == 0 { 0 } else { v + 1900 } as u64)
        }
        Form::Enum => {
            let i = read_be(b) as usize;
            let text = match (&ty.members, i) {
                (Some(m), 1..) => m.get(i - 1).map_or("", String::as_str),
                _ => "",
            };
            Value::Bytes(Cow::Borrowed(text.as_bytes()))
        }
        Form::Variable => Value::Null,
    }
}

/// Position of an ENUM's member from 1; 0 if there is none.
pub(super) fn member(ty: &SqlType, text: &[u8]) -> u16 {
    let Some(members) = &ty.members else {
        return 0;
    };
    // The exact text first: values come from the members themselves as a rule.
    members
        .iter()
        .position(|m| m.as_bytes() == text)
        .or_else(|| {
            members
                .iter()
                .position(|m| ty.collation.eq(m.as_bytes(), text))
        })
        .map_or(0, |i| i as u16 + 1)
}

/// A signed number of `width` bytes, in an order of unsigned ones; `None` if it needs more.
#[inline]
fn signed(v: i64, width: usize) -> Option<u64> {
    let spare = 64 - 8 * width as u32;
    (v << spare >> spare == v).then_some(v as u64 ^ 1 << (8 * width - 1))
}

/// An unsigned number of `width` bytes; `None` if it needs more.
#[inline]
fn unsigned(v: u64, width: usize) -> Option<u64> {
    let spare = 64 - 8 * width as u32;
    (v << spare >> spare == v).then_some(v)
}

/// Appends a fixed-width value; `None` if it is not of the type.
#[inline]
pub(super) fn write_fixed(
    form: Form,
    width: u8,
    value: &Value<'_>,
    ty: &SqlType,
    tz: Zone,
    out: &mut Vec<u8>,
) -> Option<()> {
    let mut be = |v: u64, n: usize| out.extend_from_slice(&v.to_be_bytes()[8 - n..]);
    let w = width as usize;
    match (form, value) {
        (Form::Signed, Value::Int(v)) => be(signed(*v, w)?, w),
        (Form::Signed, Value::UInt(v)) => be(signed(i64::try_from(*v).ok()?, w)?, w),
        (Form::Unsigned, Value::UInt(v)) => be(unsigned(*v, w)?, w),
        (Form::Unsigned, Value::Int(v)) => be(unsigned(u64::try_from(*v).ok()?, w)?, w),
        // There is one zero in keys and rows: -0 equals 0.
        (Form::Double, Value::Double(v)) => be(order_double(*v + 0.0), 8),
        (Form::Float, Value::Double(v)) => be(order_float(*v as f32 + 0.0) as u64, 4),
        (Form::Decimal(scale), Value::Decimal(d)) => d.round(scale).encode(w, out),
        (Form::Date, Value::Date(d)) => be(d.pack() as u64, 3),
        (Form::Date, Value::DateTime(d)) => be(d.date.pack() as u64, 3),
        (Form::DateTime(_), Value::Date(d)) => {
            be(DateTime::from(*d).pack(), 5);
            be(0, w - 5);
        }
        (Form::DateTime(fsp), Value::DateTime(d)) => {
            be(d.pack(), 5);
            be((d.micro / fraction_unit(fsp)) as u64, w - 5);
        }
        (Form::Timestamp(fsp), Value::DateTime(d)) => {
            if d.is_zero() {
                be(0, w);
            } else {
                let (s, micro) = d.to_unix(tz);
                be(u32::try_from(s).ok()? as u64, 4);
                be((micro / fraction_unit(fsp)) as u64, w - 4);
            }
        }
        (Form::Time, Value::Time(t)) => be((t.micros + (1 << 47)) as u64, 6),
        (Form::Year, Value::UInt(_) | Value::Int(_)) => {
            let v = value.to_u64();
            be(v.saturating_sub(1900), 1);
        }
        (Form::Enum, Value::Bytes(b)) => be(member(ty, b) as u64, 2),
        _ => return None,
    }
    Some(())
}

impl RowLayout {
    /// Whether a column is NULL.
    #[inline]
    pub fn is_null(&self, row: &[u8], column: usize) -> bool {
        row[1 + column / 8] >> (column % 8) & 1 == 1
    }

    /// A column's bytes as stored: the fixed-width form, or the variable one's text.
    #[inline]
    pub(super) fn bytes<'a>(&self, slot: Slot, row: &'a [u8]) -> &'a [u8] {
        if slot.form != Form::Variable {
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
        if slot.form == Form::Variable {
            return Value::Bytes(Cow::Borrowed(bytes));
        }
        read_fixed(slot.form, bytes, &schema.columns[column].ty, tz)
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
        if let (Form::Variable, Value::Bytes(b)) = (slot.form, v) {
            total += b.len();
        }
    }
    let wide = total > u16::MAX as usize;
    let step = if wide { 4 } else { 2 };
    let start = out.len();
    out.reserve(layout.ends() + layout.variable() * step + total);
    out.push(if wide { WIDE } else { 0 });
    let bitmap = out.len();
    out.resize(bitmap + values.len().div_ceil(8), 0);
    for (i, (v, slot)) in values.iter().zip(layout.slots()).enumerate() {
        let column = &schema.columns[i];
        if v.is_null() {
            out[bitmap + i / 8] |= 1 << (i % 8);
            out.resize(out.len() + slot.width as usize, 0);
        } else if slot.form != Form::Variable {
            write_fixed(slot.form, slot.width, v, &column.ty, tz, out)
                .ok_or_else(|| mismatch(column, v))?;
        }
    }
    debug_assert_eq!(out.len(), start + layout.ends());
    let mut end = 0u32;
    for (i, (v, slot)) in values.iter().zip(layout.slots()).enumerate() {
        if slot.form != Form::Variable {
            continue;
        }
        match v {
            Value::Null => {}
            Value::Bytes(b) => end += b.len() as u32,
            other => return Err(mismatch(&schema.columns[i], other)),
        }
        out.extend_from_slice(&end.to_le_bytes()[..step]);
    }
    for (v, slot) in values.iter().zip(layout.slots()) {
        if let (Form::Variable, Value::Bytes(b)) = (slot.form, v) {
            out.extend_from_slice(b);
        }
    }
    Ok(())
}

/// All columns of a row, in order, appended to `out`.
pub fn decode_row<'a>(schema: &'a Schema, row: &'a [u8], tz: Zone, out: &mut Vec<Value<'a>>) {
    out.reserve(schema.columns.len());
    for i in 0..schema.columns.len() {
        out.push(schema.layout().column(schema, row, i, tz));
    }
}
