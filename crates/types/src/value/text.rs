//! Values as MySQL prints them.

use super::time::{Date, DateTime, Time};
use super::{Decimal, Value, family};
use crate::types::{BaseType, Family, SqlType};

pub use crate::types::NOT_FIXED;

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/// Appends an unsigned integer.
#[inline]
pub fn write_u64(mut v: u64, out: &mut Vec<u8>) {
    let mut buf = [0u8; 20];
    let mut i = 20;
    while v >= 100 {
        let pair = (v % 100) as usize * 2;
        v /= 100;
        i -= 2;
        buf[i..i + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if v >= 10 {
        let pair = v as usize * 2;
        i -= 2;
        buf[i..i + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        i -= 1;
        buf[i] = b'0' + v as u8;
    }
    out.extend_from_slice(&buf[i..]);
}

/// Appends a signed integer.
#[inline]
pub fn write_i64(v: i64, out: &mut Vec<u8>) {
    if v < 0 {
        out.push(b'-');
    }
    write_u64(v.unsigned_abs(), out);
}

/// Appends a double: the shortest digits that give it back, an exponent from 1e15 and below 1e-15.
pub fn write_f64(v: f64, out: &mut Vec<u8>) {
    if v == 0.0 {
        out.extend_from_slice(if v.is_sign_negative() { b"-0" } else { b"0" });
        return;
    }
    if v.fract() == 0.0 && v.abs() < 1e15 {
        return write_i64(v as i64, out);
    }
    write_scientific(&format!("{v:e}"), out);
}

/// A double as a text of at most so many bytes: with fewer digits if it has to be. If none are few enough, its shortest text.
pub fn f64_within(v: f64, width: usize) -> Vec<u8> {
    let mut text = Vec::new();
    write_f64(v, &mut text);
    if text.len() <= width || !v.is_finite() {
        return text;
    }
    for digits in (0..MOST_DIGITS).rev() {
        let scientific = format!("{v:.digits$e}");
        let mut plain = Vec::new();
        write_f64(scientific.parse().unwrap_or(v), &mut plain);
        if plain.len() <= width {
            return plain;
        }
        let short = scientific.into_bytes();
        if short.len() <= width {
            return short;
        }
    }
    text
}

/// Significant digits that tell any two doubles apart.
const MOST_DIGITS: usize = 17;

/// Appends a double with so many digits after the point: the shortest digits that give it back, and zeros after them; rounded where
/// there are more.
fn write_fixed(v: f64, decimals: usize, out: &mut Vec<u8>) {
    let shortest = format!("{v}");
    let have = shortest.find('.').map_or(0, |at| shortest.len() - at - 1);
    if have > decimals {
        out.extend_from_slice(format!("{v:.decimals$}").as_bytes());
        return;
    }
    out.extend_from_slice(shortest.as_bytes());
    if have == 0 && decimals > 0 {
        out.push(b'.');
    }
    out.resize(out.len() + decimals - have, b'0');
}

/// Appends a single-precision float: six significant digits.
pub fn write_f32(v: f64, out: &mut Vec<u8>) {
    if v == 0.0 {
        out.extend_from_slice(if v.is_sign_negative() { b"-0" } else { b"0" });
        return;
    }
    write_scientific(&format!("{v:.5e}"), out);
}

/// Lays out Rust's `-1.25e-7` as MySQL does.
fn write_scientific(text: &str, out: &mut Vec<u8>) {
    let Some((mantissa, exponent)) = text.split_once('e') else {
        // NaN and the infinities, which SQL never produces.
        out.extend_from_slice(text.as_bytes());
        return;
    };
    let mantissa = match mantissa.strip_prefix('-') {
        Some(m) => {
            out.push(b'-');
            m
        }
        None => mantissa,
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mut digits: Vec<u8> = mantissa.bytes().filter(|b| *b != b'.').collect();
    while digits.len() > 1 && digits.last() == Some(&b'0') {
        digits.pop();
    }
    if (-15..15).contains(&exponent) {
        if exponent < 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + (-exponent - 1) as usize, b'0');
            out.extend_from_slice(&digits);
        } else {
            let point = exponent as usize + 1;
            if digits.len() <= point {
                let zeros = point - digits.len();
                out.extend_from_slice(&digits);
                out.resize(out.len() + zeros, b'0');
            } else {
                out.extend_from_slice(&digits[..point]);
                out.push(b'.');
                out.extend_from_slice(&digits[point..]);
            }
        }
    } else {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        write_i64(exponent as i64, out);
    }
}

#[inline]
fn two(v: u8, out: &mut Vec<u8>) {
    let pair = (v % 100) as usize * 2;
    out.extend_from_slice(&PAIRS[pair..pair + 2]);
}

/// Appends `YYYY-MM-DD`.
pub fn write_date(d: Date, out: &mut Vec<u8>) {
    two((d.year / 100) as u8, out);
    two((d.year % 100) as u8, out);
    out.push(b'-');
    two(d.month, out);
    out.push(b'-');
    two(d.day, out);
}

fn write_micros(micro: u32, fsp: u8, out: &mut Vec<u8>) {
    if fsp == 0 {
        return;
    }
    out.push(b'.');
    let mut unit = 100_000;
    for _ in 0..fsp.min(6) {
        out.push(b'0' + (micro / unit % 10) as u8);
        unit /= 10;
    }
}

/// Appends `YYYY-MM-DD hh:mm:ss[.ffffff]`.
pub fn write_datetime(d: DateTime, fsp: u8, out: &mut Vec<u8>) {
    write_date(d.date, out);
    out.push(b' ');
    two(d.hour, out);
    out.push(b':');
    two(d.minute, out);
    out.push(b':');
    two(d.second, out);
    write_micros(d.micro, fsp, out);
}

/// Appends `[-]hh:mm:ss[.ffffff]`.
pub fn write_time(t: Time, fsp: u8, out: &mut Vec<u8>) {
    let (h, m, s, micro) = t.parts();
    if t.micros < 0 {
        out.push(b'-');
    }
    if h < 100 {
        two(h as u8, out);
    } else {
        write_u64(h as u64, out);
    }
    out.push(b':');
    two(m, out);
    out.push(b':');
    two(s, out);
    write_micros(micro, fsp, out);
}

/// Appends a value's text without knowing its type: a decimal's own scale, microseconds only if there are any.
pub(super) fn write_plain(v: &Value<'_>, out: &mut Vec<u8>) {
    match v {
        Value::Null => {}
        Value::Int(v) => write_i64(*v, out),
        Value::UInt(v) => write_u64(*v, out),
        Value::Double(v) => write_f64(*v, out),
        Value::Decimal(d) => d.write(out),
        Value::Bytes(b) => out.extend_from_slice(b),
        Value::Date(d) => write_date(*d, out),
        Value::DateTime(d) => write_datetime(*d, if d.micro == 0 { 0 } else { 6 }, out),
        Value::Time(t) => write_time(*t, if t.micros % 1_000_000 == 0 { 0 } else { 6 }, out),
        Value::Json(j) => j.root().write_text(out),
    }
}

/// Appends the text protocol's form of a value of type `ty` (fractional digits and scale are the type's). Nothing for NULL.
pub fn write_text(value: &Value<'_>, ty: &SqlType, out: &mut Vec<u8>) {
    if ty.zerofill > 0 {
        return write_filled(value, ty, out);
    }
    write_unfilled(value, ty, out);
}

/// A value as it is assigned to a column of another type. Dates and times become the texts that their own type makes of them where the
/// column holds texts; numbers are assigned as numbers, whatever they look like.
#[inline]
pub fn assigned<'v>(value: Value<'v>, from: &SqlType, to: &SqlType) -> Value<'v> {
    match value {
        Value::DateTime(_) | Value::Time(_) if to.family() == Family::String => shown(value, from),
        value => value,
    }
}

/// The text that a type makes of a value.
pub fn shown<'v>(value: Value<'v>, ty: &SqlType) -> Value<'v> {
    match value {
        Value::Null | Value::Bytes(_) => value,
        value => {
            let mut text = Vec::with_capacity(32);
            write_text(&value, ty, &mut text);
            Value::Bytes(text.into())
        }
    }
}

/// The same with as many zeros before it as its column's width asks for. There are no negative ones.
#[cold]
fn write_filled(value: &Value<'_>, ty: &SqlType, out: &mut Vec<u8>) {
    let mut text = Vec::with_capacity(24);
    write_unfilled(value, ty, &mut text);
    let zeros = usize::from(ty.zerofill).saturating_sub(text.len());
    out.resize(out.len() + zeros, b'0');
    out.extend_from_slice(&text);
}

#[inline]
fn write_unfilled(value: &Value<'_>, ty: &SqlType, out: &mut Vec<u8>) {
    match value {
        Value::Int(_) | Value::UInt(_) if ty.base == BaseType::Year && !ty.chosen => {
            write_year(value.to_u64(), out)
        }
        Value::Int(_) | Value::UInt(_) if ty.base == BaseType::Bit => {
            family::bits::write_bytes(value.to_u64(), ty, out);
        }
        Value::Decimal(d) if ty.chosen => ty.shown(*d).write(out),
        Value::Decimal(d) if ty.base == BaseType::Decimal => scaled(*d, ty.decimals).write(out),
        Value::Double(v) if ty.base == BaseType::Float && ty.decimals == NOT_FIXED => {
            write_f32(*v, out)
        }
        Value::Double(v)
            if matches!(ty.base, BaseType::Double | BaseType::Float) && ty.decimals < NOT_FIXED =>
        {
            write_fixed(*v, ty.decimals.into(), out);
        }
        Value::DateTime(d) if ty.is_temporal() => write_datetime(*d, ty.decimals, out),
        Value::Time(t) if ty.is_temporal() => write_time(*t, ty.decimals, out),
        other => write_plain(other, out),
    }
}

fn write_year(v: u64, out: &mut Vec<u8>) {
    two((v / 100) as u8, out);
    two((v % 100) as u8, out);
}

/// A decimal with its type's scale.
fn scaled(d: Decimal, scale: u8) -> Decimal {
    if d.scale() == scale {
        d
    } else {
        d.round(scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles() {
        for (v, want) in [
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (123456789012345678.0, "1.2345678901234568e17"),
            (1.5e15, "1.5e15"),
            (123456789012345.6, "123456789012345.6"),
            (1e-4, "0.0001"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (0.00012345678901234567, "0.00012345678901234567"),
            (-1e-300, "-1e-300"),
            (0.1, "0.1"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (1.2345678901234567e20, "1.2345678901234567e20"),
            (0.0, "0"),
        ] {
            let mut out = Vec::new();
            write_f64(v, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), want);
        }
        for (v, want) in [
            (2.7654321f32, "2.76543"),
            (1e10, "10000000000"),
            (16777216.0, "16777200"),
            (0.1, "0.1"),
        ] {
            let mut out = Vec::new();
            write_f32(v as f64, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), want);
        }
    }

    #[test]
    fn fixed_doubles() {
        for (v, decimals, want) in [
            (1234567.89, 10, "1234567.8900000000"),
            (1234566789123456789.0, 0, "1234566789123456800"),
            (-1e22, 1, "-10000000000000000000000.0"),
            (0.125, 2, "0.12"),
            (1.0 / 3.0, 10, "0.3333333333"),
            (0.0, 3, "0.000"),
            (99999999.99, 2, "99999999.99"),
        ] {
            let mut out = Vec::new();
            write_fixed(v, decimals, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), want);
        }
    }

    #[test]
    fn integers() {
        for v in [0, 7, 10, 99, 100, 12345, i64::MAX, i64::MIN, -1] {
            let mut out = Vec::new();
            write_i64(v, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), v.to_string());
        }
    }
}
