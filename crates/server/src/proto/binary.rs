//! Rows and parameters of the binary protocol.
//!
//! A value's wire form follows from its column's type, not from the value: both sides of the wire know the type
//! beforehand. A value of another kind than its type promises (the planner never makes one) is converted, so that
//! the stream stays in step whatever happens.

use super::field;
use super::lenenc::{Cursor, Malformed, close_bytes, put_bytes};
use millpond_session::Value;
use millpond_session::types::{Encoding, SqlType, Wire};
use millpond_session::value::{Date, DateTime, Time, write_text};
use std::borrow::Cow;

/// Microseconds in a second.
const SECOND: u64 = 1_000_000;

/// Appends a binary row's payload. `wire` says how each column's values go.
#[inline]
pub fn row(out: &mut Vec<u8>, types: &[SqlType], wire: &[Wire], values: &[Value<'_>]) {
    debug_assert!(types.len() == values.len() && wire.len() == values.len());
    out.push(0);
    let bitmap = out.len();
    // The bitmap of result rows starts with two bits that mean nothing.
    out.resize(bitmap + (values.len() + 9) / 8, 0);
    for (i, v) in values.iter().enumerate() {
        if v.is_null() {
            out[bitmap + (i + 2) / 8] |= 1 << ((i + 2) % 8);
        } else {
            value(out, &types[i], wire[i], v);
        }
    }
}

#[inline]
fn value(out: &mut Vec<u8>, ty: &SqlType, wire: Wire, v: &Value<'_>) {
    match wire {
        Wire::Int8 => out.push(integer(v) as u8),
        Wire::Int16 => out.extend_from_slice(&(integer(v) as u16).to_le_bytes()),
        Wire::Int32 => out.extend_from_slice(&(integer(v) as u32).to_le_bytes()),
        Wire::Int64 => out.extend_from_slice(&integer(v).to_le_bytes()),
        Wire::Float32 => out.extend_from_slice(&(double(v) as f32).to_le_bytes()),
        Wire::Float64 => out.extend_from_slice(&double(v).to_le_bytes()),
        Wire::DateTime => match v {
            Value::DateTime(t) => datetime(out, t),
            Value::Date(d) => datetime(out, &at_midnight(*d)),
            other => other_temporal(out, wire, other),
        },
        Wire::Time => match v {
            Value::Time(t) => time(out, t),
            other => other_temporal(out, wire, other),
        },
        Wire::Text => match v {
            Value::Bytes(b) => put_bytes(out, b),
            other => {
                out.push(0);
                let start = out.len();
                write_text(other, ty, out);
                close_bytes(out, start);
            }
        },
    }
}

/// The bits of an integer, signed or not.
#[inline]
fn integer(v: &Value<'_>) -> u64 {
    match v {
        Value::Int(n) => *n as u64,
        Value::UInt(n) => *n,
        other => other.to_i64() as u64,
    }
}

#[inline]
fn double(v: &Value<'_>) -> f64 {
    match v {
        Value::Double(n) => *n,
        other => other.to_f64(),
    }
}

fn at_midnight(date: Date) -> DateTime {
    DateTime {
        date,
        ..DateTime::default()
    }
}

#[cold]
fn other_temporal(out: &mut Vec<u8>, wire: Wire, v: &Value<'_>) {
    debug_assert!(
        false,
        "a value of another kind than its type: {v:?} for {wire:?}"
    );
    out.push(0);
}

fn datetime(out: &mut Vec<u8>, t: &DateTime) {
    let [y0, y1] = t.date.year.to_le_bytes();
    let day = [y0, y1, t.date.month, t.date.day];
    let clock = [t.hour, t.minute, t.second];
    if t.micro != 0 {
        out.push(11);
        out.extend_from_slice(&day);
        out.extend_from_slice(&clock);
        out.extend_from_slice(&t.micro.to_le_bytes());
    } else if clock != [0, 0, 0] {
        out.push(7);
        out.extend_from_slice(&day);
        out.extend_from_slice(&clock);
    } else if day != [0, 0, 0, 0] {
        out.push(4);
        out.extend_from_slice(&day);
    } else {
        out.push(0);
    }
}

fn time(out: &mut Vec<u8>, t: &Time) {
    let micros = t.micros.unsigned_abs();
    if micros == 0 {
        out.push(0);
        return;
    }
    let seconds = micros / SECOND;
    let micro = (micros % SECOND) as u32;
    out.push(if micro == 0 { 8 } else { 12 });
    out.push((t.micros < 0) as u8);
    out.extend_from_slice(&((seconds / 86_400) as u32).to_le_bytes());
    out.push((seconds / 3600 % 24) as u8);
    out.push((seconds / 60 % 60) as u8);
    out.push((seconds % 60) as u8);
    if micro != 0 {
        out.extend_from_slice(&micro.to_le_bytes());
    }
}

/// A parameter's type as COM_STMT_EXECUTE declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamType {
    /// `MYSQL_TYPE_*`.
    pub wire: u8,
    /// Unsigned integer.
    pub unsigned: bool,
}

impl ParamType {
    /// Whether its values are bytes whatever the client's character set.
    pub fn is_bytes(self) -> bool {
        (field::TINY_BLOB..=field::BLOB).contains(&self.wire)
    }
}

/// Reads one parameter that is not NULL. Strings borrow from the packet.
#[inline]
pub fn param<'a>(c: &mut Cursor<'a>, ty: ParamType) -> Result<Value<'a>, Malformed> {
    let unsigned = ty.unsigned;
    Ok(match ty.wire {
        field::NULL => Value::Null,
        field::TINY => match c.u8()? {
            n if unsigned => Value::UInt(n as u64),
            n => Value::Int(n as i8 as i64),
        },
        field::SHORT | field::YEAR => match c.u16()? {
            n if unsigned => Value::UInt(n as u64),
            n => Value::Int(n as i16 as i64),
        },
        field::LONG | field::INT24 => match c.u32()? {
            n if unsigned => Value::UInt(n as u64),
            n => Value::Int(n as i32 as i64),
        },
        field::LONGLONG => match c.u64()? {
            n if unsigned => Value::UInt(n),
            n => Value::Int(n as i64),
        },
        field::FLOAT => Value::Double(f32::from_bits(c.u32()?) as f64),
        field::DOUBLE => Value::Double(f64::from_bits(c.u64()?)),
        field::DECIMAL | field::NEWDECIMAL => {
            Value::Decimal(Value::Bytes(Cow::Borrowed(c.lenenc_bytes()?)).to_decimal())
        }
        field::DATE | field::NEWDATE => {
            let t = read_datetime(c)?;
            match exists(&t) {
                true => Value::Date(t.date),
                false => as_written(&t, true),
            }
        }
        field::DATETIME | field::TIMESTAMP | field::DATETIME2 | field::TIMESTAMP2 => {
            let t = read_datetime(c)?;
            match exists(&t) {
                true => Value::DateTime(t),
                false => as_written(&t, false),
            }
        }
        field::TIME | field::TIME2 => Value::Time(read_time(c)?),
        field::VARCHAR
        | field::BIT
        | field::JSON
        | field::ENUM
        | field::SET
        | field::TINY_BLOB
        | field::MEDIUM_BLOB
        | field::LONG_BLOB
        | field::BLOB
        | field::VAR_STRING
        | field::STRING
        | field::GEOMETRY => Value::Bytes(Cow::Borrowed(c.lenenc_bytes()?)),
        _ => return Err(Malformed),
    })
}

fn read_datetime(c: &mut Cursor<'_>) -> Result<DateTime, Malformed> {
    let mut t = DateTime::default();
    let n = c.u8()?;
    if !matches!(n, 0 | 4 | 7 | 11) {
        return Err(Malformed);
    }
    if n >= 4 {
        t.date = Date {
            year: c.u16()?,
            month: c.u8()?,
            day: c.u8()?,
        };
    }
    if n >= 7 {
        (t.hour, t.minute, t.second) = (c.u8()?, c.u8()?, c.u8()?);
    }
    if n == 11 {
        t.micro = c.u32()?;
    }
    Ok(t)
}

/// Whether there may be such a date and time.
fn exists(t: &DateTime) -> bool {
    let year = t.date.year;
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let days = match t.date.month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    };
    year <= 9999
        && t.date.month <= 12
        && t.date.day <= days
        && t.hour < 24
        && t.minute < 60
        && t.second < 60
        && (t.micro as u64) < SECOND
}

/// What no date can be, as a text of it: whoever wants a date of it says what is wrong.
fn as_written(t: &DateTime, date: bool) -> Value<'static> {
    let d = t.date;
    let mut text = format!("{:04}-{:02}-{:02}", d.year, d.month, d.day);
    if !date {
        text += &format!(" {:02}:{:02}:{:02}", t.hour, t.minute, t.second);
        if t.micro > 0 {
            text += &format!(".{:06}", t.micro);
        }
    }
    Value::Bytes(Cow::Owned(text.into_bytes()))
}

fn read_time(c: &mut Cursor<'_>) -> Result<Time, Malformed> {
    /// MySQL's largest TIME: 838:59:59.
    const MAX: u64 = (838 * 3600 + 59 * 60 + 59) * SECOND;
    let n = c.u8()?;
    if n == 0 {
        return Ok(Time::default());
    }
    if n != 8 && n != 12 {
        return Err(Malformed);
    }
    let negative = c.u8()? != 0;
    let days = c.u32()? as u64;
    let (hour, minute, second) = (c.u8()? as u64, c.u8()? as u64, c.u8()? as u64);
    let micro = if n == 12 { c.u32()? as u64 } else { 0 };
    if hour >= 24 || minute >= 60 || second >= 60 || micro >= SECOND {
        return Err(Malformed);
    }
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    let micros = seconds.saturating_mul(SECOND).saturating_add(micro);
    let micros = micros.min(MAX) as i64;
    Ok(Time {
        micros: if negative { -micros } else { micros },
    })
}

/// Reads all parameters of an execution. `types` has one entry per parameter, `long` the data that
/// COM_STMT_SEND_LONG_DATA delivered, which stands in for a parameter's bytes.
pub fn params<'a, 'b: 'a>(
    c: &mut Cursor<'a>,
    nulls: &[u8],
    types: &[ParamType],
    long: &'b [Option<Vec<u8>>],
    out: &mut impl Extend<Value<'a>>,
) -> Result<(), Malformed> {
    for (i, ty) in types.iter().enumerate() {
        let v = if let Some(Some(data)) = long.get(i) {
            Value::Bytes(Cow::Borrowed(data.as_slice()))
        } else if nulls.get(i / 8).ok_or(Malformed)? & (1 << (i % 8)) != 0 {
            Value::Null
        } else {
            param(c, *ty)?
        };
        out.extend(std::iter::once(v));
    }
    Ok(())
}

/// Takes texts among parameters for what they mean in the client's character set. Parameters declared as BLOBs are bytes.
pub fn decode_texts(client: Encoding, types: &[ParamType], params: &mut [Value<'_>]) {
    for (v, ty) in params.iter_mut().zip(types) {
        if let (Value::Bytes(text), false) = (&*v, ty.is_bytes()) {
            let mut out = String::with_capacity(text.len());
            client.decode(text, &mut out);
            *v = Value::Bytes(out.into_bytes().into());
        }
    }
}

/// Reads declared parameter types and names, which clients send in turn if they send names at all.
pub fn named_param_types(
    c: &mut Cursor<'_>,
    n: usize,
    types: &mut Vec<ParamType>,
    names: &mut Vec<Vec<u8>>,
) -> Result<(), Malformed> {
    types.clear();
    names.clear();
    for _ in 0..n {
        let [wire, flags] = c.u16()?.to_le_bytes();
        types.push(ParamType {
            wire,
            unsigned: flags & 0x80 != 0,
        });
        names.push(c.lenenc_bytes()?.to_vec());
    }
    Ok(())
}

/// Reads declared parameter types.
pub fn param_types(
    c: &mut Cursor<'_>,
    n: usize,
    types: &mut Vec<ParamType>,
) -> Result<(), Malformed> {
    let bytes = c.take(n * 2)?;
    types.clear();
    types.extend(bytes.chunks_exact(2).map(|b| ParamType {
        wire: b[0],
        unsigned: b[1] & 0x80 != 0,
    }));
    Ok(())
}

#[cfg(test)]
mod tests;
