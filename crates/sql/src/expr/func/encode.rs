//! Bytes as digits and back, digests and checksums, texts as the bytes of their character sets and as the weights they sort by.

use super::call::bytes;
use super::typing::{bytes_within_first, plain};
use super::{Call, Computed, Exit, Function, Null, Typing, row};
use crate::expr::Expr;
use crate::types::collation::{char_count, char_prefix};
use crate::types::{Collation, SqlType};
use crate::value::{Value, invalid};

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("HEX", 1..=1, |t| t.plain(t.length(0).saturating_mul(8)), hex_of).null(Null::OfAnyOrLong).reads_bytes().makes_its_own(),
    row("UNHEX", 1..=1, bytes_within_first, |c| unhex(&c.text(0)?).map_or_else(|| Err(c.incorrect_value("string")), bytes)).null(Null::Maybe).makes_its_own(),
    row("TO_BASE64", 1..=1, |t| t.plain(t.length(0).saturating_mul(6)), base64_of).null(Null::OfAnyOrLong).reads_bytes().makes_its_own(),
    row("FROM_BASE64", 1..=1, bytes_within_first, |c| from_base64(&c.text(0)?).map_or(Err(Exit::Null), bytes)).null(Null::Maybe).makes_its_own(),
    row("MD5", 1..=1, plain::<32>, md5).reads_bytes().makes_its_own(),
    row("SHA1", 1..=1, plain::<40>, sha1).aka(&["SHA"]).reads_bytes().makes_its_own(),
    row("SHA2", 2..=2, sha2_digits, sha2).null(Null::Maybe).reads_bytes().makes_its_own(),
    row("CRC32", 1..=1, |_| SqlType { length: 10, ..SqlType::ubigint() }, |c| Ok(Value::UInt(millpond_types::crc32::update(0, &c.text(0)?) as u64))).reads_bytes(),
    // What a text is where bytes are wanted, and bytes where a text of a character set is; the binder says which.
    row("CONVERT USING BINARY", 1..=1, |t| SqlType::varchar(t.length(0).saturating_mul(t.args[0].ty.char_bytes()), Collation::Binary), bytes_of).not_by_name(),
    row("CONVERT BINARY USING", 1..=1, |t| SqlType::varchar(t.length(0), t.collation), text_of).null(Null::Maybe).not_by_name(),
    row("WEIGHT_STRING", 1..=3, |t| SqlType::varchar(t.length(0).saturating_mul(8), Collation::Binary), weight_string).null(Null::Maybe).not_by_name(),
];

fn hex_of<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    bytes(match c.value(0)? {
        Value::Bytes(b) => {
            c.room_for(b.len().saturating_mul(2))?;
            hex(&b)
        }
        v @ (Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_)) => {
            format!("{:X}", v.to_bits()).into_bytes()
        }
        _ => hex(&c.text(0)?),
    })
}

fn base64_of<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.text(0)?;
    // Four characters for three bytes, and a line feed after 76.
    let digits = s.len().div_ceil(3).saturating_mul(4);
    c.room_for(digits.saturating_add(digits.saturating_sub(1) / 76))?;
    bytes(to_base64(&s))
}

fn md5<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    use md5::{Digest, Md5};
    bytes(lower_hex(&Md5::digest(&*c.text(0)?)))
}

fn sha1<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    use sha1::{Digest, Sha1};
    bytes(lower_hex(&Sha1::digest(&*c.text(0)?)))
}

/// What a call of SHA2() with another number of bits is warned of with 1583: once in a statement, if the number is constant.
pub(crate) const WRONG_BITS: &str = "Incorrect parameters in the call to native function 'sha2'";

/// The hexadecimal digits of SHA2() with a number of bits.
fn sha2_digits(t: &Typing<'_>) -> SqlType {
    t.plain(match t.args[1].as_constant() {
        Some(Value::Int(224)) => 56,
        Some(Value::Int(0 | 256)) => 64,
        Some(Value::Int(384)) => 96,
        _ => 128,
    })
}

/// Whether SHA2() is called with a constant number of bits that it has not.
pub(crate) fn has_wrong_bits(args: &[Expr]) -> bool {
    let bits = args.get(1).and_then(Expr::as_constant);
    bits.is_some_and(|v| {
        let known = matches!(v, Value::Null | Value::Int(0 | 224 | 256 | 384 | 512));
        !known && v.is_number()
    })
}

fn sha2<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    use sha2::Digest;
    let (s, n) = (c.text(0)?, c.int(1)?);
    bytes(match n {
        224 => lower_hex(&sha2::Sha224::digest(&*s)),
        0 | 256 => lower_hex(&sha2::Sha256::digest(&*s)),
        384 => lower_hex(&sha2::Sha384::digest(&*s)),
        512 => lower_hex(&sha2::Sha512::digest(&*s)),
        _ => {
            if !has_wrong_bits(c.args) {
                c.cx.session.warn(1583, WRONG_BITS);
            }
            return Err(Exit::Null);
        }
    })
}

fn bytes_of<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let encoding = c.args[0].ty.collation.character_set().encoding();
    bytes(encoding.encoded(&c.text(0)?).into_owned())
}

fn text_of<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let charset = c.expr.ty.collation.character_set();
    let given = c.text(0)?;
    let sent = charset.encoding().padded(&given);
    match charset.encoding().text_of(&sent) {
        Ok(text) => Ok(Value::string(text.into_owned())),
        Err(good) => {
            c.cx.session
                .complain(1300, invalid(charset, &sent[good..]))?;
            Err(Exit::Null)
        }
    }
}

fn weight_string<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let ty = &c.args[0].ty;
    if !ty.is_string() {
        let number = match c.value(0)? {
            Value::Int(n) => (n as u64) ^ (1 << 63),
            Value::UInt(n) => n,
            _ => return Err(Exit::Null),
        };
        return bytes(number.to_be_bytes().to_vec());
    }
    let text = c.text(0)?;
    let mut out = Vec::new();
    if c.len() == 1 {
        ty.collation.weight_string(&text, &mut out);
        return bytes(out);
    }
    let most = usize::try_from(c.int(1)?).unwrap_or(usize::MAX);
    c.room_for(most.saturating_mul(2))?;
    if c.int(2)? != 0 {
        out.extend_from_slice(&text[..text.len().min(most)]);
        out.resize(most, 0);
        return bytes(out);
    }
    let end = char_prefix(&text, most);
    ty.collation.weight_string(&text[..end], &mut out);
    let spaces = most - char_count(&text[..end]);
    ty.collation.weight_padding(spaces, &mut out);
    bytes(out)
}

fn hex(data: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    data.iter()
        .flat_map(|b| [DIGITS[(b >> 4) as usize], DIGITS[(b & 15) as usize]])
        .collect()
}

pub(super) fn lower_hex(data: &[u8]) -> Vec<u8> {
    hex(data).to_ascii_lowercase()
}

/// Bytes of hexadecimal digits; an odd first digit stands alone.
pub(in crate::expr) fn unhex(s: &[u8]) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = s
        .iter()
        .map(|b| (*b as char).to_digit(16).map(|d| d as u8))
        .collect();
    let digits = digits?;
    let odd = digits.len() % 2;
    let mut out = Vec::with_capacity(digits.len().div_ceil(2));
    out.extend_from_slice(&digits[..odd]);
    out.extend(digits[odd..].chunks_exact(2).map(|p| p[0] << 4 | p[1]));
    Some(out)
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len().div_ceil(3) * 4);
    let mut line = 0;
    for chunk in data.chunks(3) {
        if line == 76 {
            out.push(b'\n');
            line = 0;
        }
        let v = chunk.iter().fold(0u32, |v, b| v << 8 | *b as u32) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            if i <= chunk.len() {
                out.push(BASE64[(v >> (18 - 6 * i) & 63) as usize]);
            } else {
                out.push(b'=');
            }
        }
        line += 4;
    }
    out
}

fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let clean: Vec<u8> = text
        .iter()
        .copied()
        .filter(|b| !b.is_ascii_whitespace())
        .collect();
    if !clean.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(clean.len() / 4 * 3);
    let chunks = clean.len() / 4;
    for (i, chunk) in clean.chunks_exact(4).enumerate() {
        let pad = chunk.iter().rev().take_while(|b| **b == b'=').count();
        if pad > 2 || (pad > 0 && i + 1 < chunks) {
            return None;
        }
        let mut v = 0u32;
        for b in &chunk[..4 - pad] {
            v = v << 6 | BASE64.iter().position(|c| c == b)? as u32;
        }
        v <<= 6 * pad;
        out.extend_from_slice(&v.to_be_bytes()[1..4 - pad]);
    }
    Some(out)
}
