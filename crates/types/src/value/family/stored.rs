//! Values as bytes in rows and keys: those of fixed width, in bytes that `memcmp` orders as the values are.
//!
//! Timestamps are UTC there and in the session's zone as values, hence the `tz` parameters.

use super::super::time::{Date, DateTime, Time};
use super::super::{Decimal, Value, Zone};
use super::{enumeration, set};
use crate::types::{Family as F, SqlType, fraction_len};

/// How a fixed-width column is written, or that it is variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Signed integer of `width` bytes, sign bit flipped, big-endian.
    Signed,
    /// Unsigned integer of `width` bytes, big-endian.
    Unsigned,
    /// Eight bytes.
    Double,
    /// Four bytes.
    Float,
    /// Scale.
    Decimal(u8),
    /// Three bytes.
    Date,
    /// Fractional digits.
    DateTime(u8),
    /// Fractional digits.
    Timestamp(u8),
    /// Microseconds, six bytes.
    Time,
    /// Years since 1900; 0 is the year 0.
    Year,
    /// Position of the member from 1; 0 is the empty string that bad input leaves.
    Enum,
    /// A bit for each member, in the column's width.
    Set,
    /// A string.
    Variable,
    /// A document in its binary form.
    Json,
    /// None: rows don't hold the value, which follows from their others. No type has this form, but columns have it.
    Computed,
}

impl Form {
    /// Whether values differ in how many bytes they take.
    #[inline]
    pub fn is_variable(self) -> bool {
        matches!(self, Form::Variable | Form::Json)
    }
}

/// Form and width of a type's values; no width for strings.
#[inline]
pub fn form_of(ty: &SqlType) -> (Form, u8) {
    let form = match ty.family() {
        F::Integer if ty.unsigned => Form::Unsigned,
        F::Bit => Form::Unsigned,
        F::Integer => Form::Signed,
        F::Year => Form::Year,
        F::Decimal => Form::Decimal(ty.decimals),
        F::Float => Form::Float,
        F::Double => Form::Double,
        F::Null | F::String | F::Geometry => Form::Variable,
        F::Enum => Form::Enum,
        F::Set => Form::Set,
        F::Date => Form::Date,
        F::DateTime => Form::DateTime(ty.decimals),
        F::Timestamp => Form::Timestamp(ty.decimals),
        F::Time => Form::Time,
        F::Json => Form::Json,
    };
    (form, ty.fixed_len() as u8)
}

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

/// The signed number whose bits sort as these `width` bytes do.
#[inline]
pub fn signed_of(bits: u64, width: u32) -> i64 {
    let shift = 64 - 8 * width;
    ((bits << shift) ^ 1 << 63) as i64 >> shift
}

/// The double whose bits sort as these do.
#[inline]
pub fn double(v: u64) -> f64 {
    f64::from_bits(if v >> 63 == 1 { v ^ 1 << 63 } else { !v })
}

/// The FLOAT whose bits sort as these do.
#[inline]
pub fn float(v: u32) -> f64 {
    f32::from_bits(if v >> 31 == 1 { v ^ 1 << 31 } else { !v }).into()
}

/// Reads a fixed-width value.
#[inline]
pub fn read<'a>(form: Form, b: &[u8], ty: &'a SqlType, tz: Zone) -> Value<'a> {
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
        Form::Enum => enumeration::text(ty, read_be(b) as usize),
        Form::Set => set::text(ty, read_be(b)),
        Form::Variable | Form::Json | Form::Computed => Value::Null,
    }
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
pub fn write(
    form: Form,
    width: u8,
    value: &Value<'_>,
    ty: &SqlType,
    tz: Zone,
    out: &mut Vec<u8>,
) -> Option<()> {
    let mut be = |v: u64, n: usize| put(v, n, out);
    let w = width as usize;
    match (form, value) {
        (Form::Signed, Value::Int(v)) => be(signed(*v, w)?, w),
        (Form::Signed, Value::UInt(v)) => be(signed(i64::try_from(*v).ok()?, w)?, w),
        (Form::Unsigned, Value::UInt(v)) => be(unsigned(*v, w)?, w),
        (Form::Unsigned, Value::Int(v)) => be(unsigned(u64::try_from(*v).ok()?, w)?, w),
        (Form::Double, Value::Double(v)) => put_double(*v, out),
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
        (Form::Time, Value::Time(t)) => put_time(*t, out),
        (Form::Year, Value::UInt(_) | Value::Int(_)) => {
            let v = value.to_u64();
            be(v.saturating_sub(1900), 1);
        }
        (Form::Enum, Value::Bytes(b)) => be(enumeration::member(ty, b) as u64, 2),
        (Form::Set, Value::Bytes(b)) => be(unsigned(set::bits(b, ty), w)?, w),
        (Form::Computed, _) => {}
        _ => return None,
    }
    Some(())
}

#[inline]
fn put(v: u64, bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&v.to_be_bytes()[8 - bytes..]);
}

/// Appends what sorts as doubles do. There is one zero in keys and rows: -0 equals 0.
pub(super) fn put_double(v: f64, out: &mut Vec<u8>) {
    put(order_double(v + 0.0), 8, out);
}

/// Appends what sorts as datetimes do, microseconds and all.
pub(super) fn put_datetime(d: DateTime, out: &mut Vec<u8>) {
    put(d.pack(), 5, out);
    put(d.micro.into(), 3, out);
}

/// Appends what sorts as times do.
pub(super) fn put_time(t: Time, out: &mut Vec<u8>) {
    put((t.micros + (1 << 47)) as u64, 6, out);
}
