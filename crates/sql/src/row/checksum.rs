//! The live checksum of a table, as MySQL and MariaDB compute it: what CHECKSUM TABLE says.
//!
//! It is the sum, modulo 2^32, of the rows' CRC-32s. A row's goes over the row in the form of MySQL's record buffer, whatever the
//! engine keeps: the NULL bits, then each column that is not NULL. So that the same rows have the same checksum here and there,
//! [`field`] writes values in that form. Generated columns take part, as in MySQL; MariaDB takes theirs for NULL.
//!
//! | type | bytes |
//! |---|---|
//! | integers, ENUM, SET, FLOAT, DOUBLE | little-endian, in the type's width |
//! | DECIMAL | groups of nine digits in four bytes, big-endian, the first bit flipped; all bits flipped if negative |
//! | DATE, YEAR | three bytes, little-endian: day, month, year in 5, 4 and 15 bits; one byte: years since 1900 |
//! | TIME, DATETIME, TIMESTAMP | big-endian, the sign bit flipped (TIMESTAMP: seconds of UTC), then the fraction in one to three bytes |
//! | CHAR, BINARY | filled up to the longest value in bytes, with spaces or zeros |
//! | other strings | the bytes alone, without their length |
//! | JSON | the binary form, which is not MySQL's |

use super::RowLayout;
use crate::catalog::{Column, Schema, Visibility};
use crate::types::{BaseType, Family, SqlType, fraction_len};
use crate::value::family::stored;
use crate::value::{Date, DateTime, Decimal, Time, Value, Zone};
use millpond_types::crc32;

/// The running checksum of a table's rows.
pub struct TableChecksum<'s> {
    schema: &'s Schema,
    /// Columns that take part, by position. The hidden ones of functional key parts don't: an index changes no row.
    columns: Vec<usize>,
    /// The bit of the first nullable column: records without variable columns begin with a bit that is always set.
    first_null_bit: usize,
    buffer: Vec<u8>,
    sum: u32,
}

impl<'s> TableChecksum<'s> {
    /// That of no rows.
    pub fn new(schema: &'s Schema) -> Self {
        let shown = |c: &Column| c.visibility != Visibility::Hidden;
        let columns: Vec<usize> = (0..schema.columns.len())
            .filter(|&i| shown(&schema.columns[i]))
            .collect();
        let is_variable = |&i: &usize| has_variable_length(&schema.columns[i].ty);
        TableChecksum {
            schema,
            first_null_bit: usize::from(!columns.iter().any(is_variable)),
            columns,
            buffer: Vec::new(),
            sum: 0,
        }
    }

    /// Adds a row, as it is stored.
    pub fn add(&mut self, row: &[u8]) {
        let layout: &RowLayout = self.schema.layout();
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        self.null_bits(layout, row, &mut buffer);
        for &i in &self.columns {
            let value = layout.column(self.schema, row, i, Zone::UTC);
            field(&self.schema.columns[i].ty, &value, &mut buffer);
        }
        self.sum = self.sum.wrapping_add(crc32::update(0, &buffer));
        self.buffer = buffer;
    }

    /// The checksum of the rows so far.
    pub fn value(&self) -> u32 {
        self.sum
    }

    /// A bit for each nullable column, in order; those of the last byte that stand for no column are set.
    fn null_bits(&self, layout: &RowLayout, row: &[u8], out: &mut Vec<u8>) {
        let mut bit = self.first_null_bit;
        out.resize(bit, u8::from(bit == 1));
        for &i in &self.columns {
            if !self.schema.columns[i].nullable {
                continue;
            }
            if bit / 8 == out.len() {
                out.push(0);
            }
            let null = match layout.is_computed(i) {
                true => layout.column(self.schema, row, i, Zone::UTC).is_null(),
                false => layout.is_null(row, i),
            };
            out[bit / 8] |= u8::from(null) << (bit % 8);
            bit += 1;
        }
        if let Some(last) = out.last_mut().filter(|_| !bit.is_multiple_of(8)) {
            *last |= u8::MAX << (bit % 8);
        }
    }
}

/// Whether values are kept with a length of their own.
fn has_variable_length(ty: &SqlType) -> bool {
    ty.is_json()
        || matches!(ty.family(), Family::String | Family::Geometry)
            && ty.base.facts().string.is_some_and(|s| !s.fixed)
}

/// Appends a value in the form of MySQL's record buffer; nothing for NULL.
fn field(ty: &SqlType, value: &Value<'_>, out: &mut Vec<u8>) {
    match (ty.family(), value) {
        (_, Value::Null) => {}
        (Family::Year, v) => out.push(v.to_u64().saturating_sub(1900) as u8),
        (Family::Integer, v) => {
            let bits = match v {
                Value::Int(v) => *v as u64,
                v => v.to_u64(),
            };
            little_endian(bits, ty.fixed_len(), out);
        }
        (Family::Enum | Family::Set, v) => little_endian(member_bits(ty, v), member_width(ty), out),
        (Family::Float, v) => out.extend_from_slice(&(v.to_f64() as f32).to_le_bytes()),
        (Family::Double, v) => out.extend_from_slice(&v.to_f64().to_le_bytes()),
        (_, Value::Decimal(v)) => decimal(*v, ty, out),
        (_, Value::Date(v)) => date(*v, out),
        (Family::Timestamp, Value::DateTime(v)) => {
            let (seconds, _) = if v.is_zero() {
                (0, 0)
            } else {
                v.to_unix(Zone::UTC)
            };
            out.extend_from_slice(&(seconds as u32).to_be_bytes());
            fraction(v.micro.into(), ty.decimals, out);
        }
        (_, Value::DateTime(v)) => date_time(*v, ty.decimals, out),
        (_, Value::Time(v)) => time(*v, ty.decimals, out),
        (_, Value::Bytes(v)) => {
            out.extend_from_slice(v);
            if let Some(s) = ty.base.facts().string.filter(|s| s.fixed) {
                let binary = s.binary == ty.base;
                let length = ty.length as usize * if binary { 1 } else { 4 };
                let fill = if binary { 0 } else { b' ' };
                out.resize(out.len() + length.saturating_sub(v.len()), fill);
            }
        }
        (_, Value::Json(v)) => out.extend_from_slice(v.as_bytes()),
        // A column's values are of its type.
        (_, Value::Int(_) | Value::UInt(_) | Value::Double(_)) => {}
    }
}

fn little_endian(bits: u64, width: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&bits.to_le_bytes()[..width]);
}

/// The last `width` bytes of a number.
fn big_endian(v: i64, width: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&v.to_be_bytes()[8 - width..]);
}

/// The number that stands for a value of ENUM or SET.
fn member_bits(ty: &SqlType, value: &Value<'_>) -> u64 {
    let (form, width) = stored::form_of(ty);
    let mut bytes = Vec::with_capacity(8);
    match stored::write(form, width, value, ty, Zone::UTC, &mut bytes) {
        Some(()) => bytes.iter().fold(0, |bits, b| bits << 8 | u64::from(*b)),
        None => 0,
    }
}

/// Bytes of that number: an ENUM of few members has one.
fn member_width(ty: &SqlType) -> usize {
    let members = ty.members.as_deref().map_or(0, <[_]>::len);
    match ty.base {
        BaseType::Enum if members < 256 => 1,
        _ => ty.fixed_len(),
    }
}

/// Bytes that hold so many digits, up to nine.
const DIGIT_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

fn decimal(v: Decimal, ty: &SqlType, out: &mut Vec<u8>) {
    let scale = usize::from(ty.decimals);
    let whole = (ty.length as usize).saturating_sub(scale);
    let mut text = Vec::new();
    v.abs().round(ty.decimals).write(&mut text);
    let (integer, rest) = match text.iter().position(|b| *b == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (&text[..], &[][..]),
    };
    let mut digits = vec![b'0'; whole.saturating_sub(integer.len())];
    // A zero before the point of DECIMAL(n, n) has no place.
    digits.extend_from_slice(&integer[integer.len().saturating_sub(whole)..]);
    digits.extend_from_slice(rest);
    let start = out.len();
    let (leading, groups) = digits.split_at(whole % 9);
    for group in std::iter::once(leading).chain(groups.chunks(9)) {
        let number = group.iter().fold(0, |n, d| n * 10 + i64::from(d - b'0'));
        big_endian(number, DIGIT_BYTES[group.len()], out);
    }
    out[start] ^= 0x80;
    if v.is_negative() {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
}

fn date(v: Date, out: &mut Vec<u8>) {
    let bits = u64::from(v.year) << 9 | u64::from(v.month) << 5 | u64::from(v.day);
    little_endian(bits, 3, out);
}

fn date_time(v: DateTime, digits: u8, out: &mut Vec<u8>) {
    let day = (i64::from(v.date.year) * 13 + i64::from(v.date.month)) << 5 | i64::from(v.date.day);
    let second = i64::from(v.hour) << 12 | i64::from(v.minute) << 6 | i64::from(v.second);
    big_endian((day << 17 | second) + (1 << 39), 5, out);
    fraction(v.micro.into(), digits, out);
}

/// Hours, minutes and seconds in 10, 6 and 6 bits above the microseconds' 24; the whole negated if the time is negative.
fn time(v: Time, digits: u8, out: &mut Vec<u8>) {
    let micros = v.micros.abs();
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    let second = (seconds / 3600) << 12 | (seconds / 60 % 60) << 6 | (seconds % 60);
    let packed = (second << 24 | micros) * v.micros.signum();
    if fraction_len(digits) == 3 {
        return big_endian(packed + (1 << 47), 6, out);
    }
    big_endian((packed >> 24) + (1 << 23), 3, out);
    fraction(packed % (1 << 24), digits, out);
}

/// Microseconds in as many bytes as their digits need.
fn fraction(micros: i64, digits: u8, out: &mut Vec<u8>) {
    let width = fraction_len(digits);
    big_endian(
        micros / 10i64.pow(6 - 2 * u32::from(width)),
        width.into(),
        out,
    );
}
