//! COMPRESS and its kin: the length of the text, four bytes, lowest first, and a zlib stream.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::typing::int;
use super::{Call, Computed, Exit, Function, Null, Typing, row};
use crate::error::SqlError;
use crate::types::{BaseType, Collation, SqlType};
use crate::value::Value;

/// Longest text that UNCOMPRESS makes (`max_allowed_packet`).
const MAX_LENGTH: u64 = 64 << 20;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("COMPRESS", 1..=1, compressed, |c| Ok(Value::Bytes(compress(&c.text(0)?)?.into()))).reads_bytes().makes_its_own(),
    row("UNCOMPRESS", 1..=1, |_| SqlType::new(BaseType::LongBlob), uncompress).null(Null::Maybe).makes_its_own(),
    row("UNCOMPRESSED_LENGTH", 1..=1, int::<10>, uncompressed_length).null(Null::Maybe),
];

fn compressed(t: &Typing<'_>) -> SqlType {
    let length = t.length(0).saturating_mul(5).saturating_add(120);
    SqlType::varchar(length, Collation::Binary)
}

fn uncompress<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.text(0)?;
    if s.is_empty() {
        return Ok(Value::Bytes(s));
    }
    let length = length(c, &s)?;
    if length > MAX_LENGTH {
        let m = format!(
            "Uncompressed data size too large; the maximum size is {MAX_LENGTH} (probably, length of uncompressed data was corrupted)"
        );
        c.cx.session.warn(1256, m);
        return Err(Exit::Null);
    }
    let mut out = Vec::new();
    let mut stream = ZlibDecoder::new(&s[4..]).take(length + 1);
    match stream.read_to_end(&mut out) {
        Ok(n) if n as u64 <= length => Ok(Value::Bytes(out.into())),
        _ => Err(corrupt(c)),
    }
}

fn uncompressed_length<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.text(0)?;
    Ok(Value::Int(match s.is_empty() {
        true => 0,
        false => length(c, &s)? as i64,
    }))
}

fn compress(s: &[u8]) -> Result<Vec<u8>, Exit> {
    if s.is_empty() {
        return Ok(Vec::new());
    }
    let mut out = ZlibEncoder::new(
        (s.len() as u32).to_le_bytes().to_vec(),
        Compression::default(),
    );
    let failed = |e: std::io::Error| Exit::Error(SqlError::new(1105, e.to_string()));
    out.write_all(s).map_err(failed)?;
    let mut out = out.finish().map_err(failed)?;
    // As in MySQL: a CHAR column would cut the space off.
    if out.last() == Some(&b' ') {
        out.push(b'.');
    }
    Ok(out)
}

/// What the text says its length was.
fn length(c: &Call<'_, '_>, s: &[u8]) -> Result<u64, Exit> {
    match s {
        [a, b, x, d, _, ..] => Ok(u64::from(
            u32::from_le_bytes([*a, *b, *x, *d]) & 0x3fff_ffff,
        )),
        _ => Err(corrupt(c)),
    }
}

fn corrupt(c: &Call<'_, '_>) -> Exit {
    c.cx.session.warn(1259, "ZLIB: Input data corrupted");
    Exit::Null
}
