//! Strings.

use std::borrow::Cow;

use super::{Call, Computed, Exit, Func};
use crate::expr::locale::{self, Numbers};
use crate::expr::operators::compare;
use crate::types::collation::{char_count, char_prefix, next_char, same_weight};
use crate::types::{Collation, Encoding};
use crate::value::{Decimal, Value};

fn bytes<'a>(b: Vec<u8>) -> Computed<'a> {
    Ok(Value::Bytes(Cow::Owned(b)))
}

/// Appends to a result, which may get too long by it.
fn append(c: &Call<'_, '_>, out: &mut Vec<u8>, more: &[u8]) -> Result<(), Exit> {
    c.room_for(out.len().saturating_add(more.len()))?;
    out.extend_from_slice(more);
    Ok(())
}

/// Whether an argument's positions are counted in bytes.
fn binary(c: &Call<'_, '_>, i: usize) -> bool {
    let t = &c.args[i].ty;
    t.is_string() && t.collation == Collation::Binary
}

fn count(s: &[u8], binary: bool) -> usize {
    if binary { s.len() } else { char_count(s) }
}

/// Byte offset of a character.
fn offset(s: &[u8], chars: usize, binary: bool) -> usize {
    if binary {
        chars.min(s.len())
    } else {
        char_prefix(s, chars)
    }
}

/// Keeps part of a string, borrowing if it can.
fn slice<'a>(s: Cow<'a, [u8]>, from: usize, to: usize) -> Value<'a> {
    Value::Bytes(match s {
        Cow::Borrowed(b) => Cow::Borrowed(&b[from..to]),
        Cow::Owned(mut b) => {
            b.truncate(to);
            b.drain(..from);
            Cow::Owned(b)
        }
    })
}

/// Where `needle` first is in `s`, in bytes, from byte `from` on; compared under the collation.
fn find(s: &[u8], needle: &[u8], from: usize, collation: Collation) -> Option<(usize, usize)> {
    if needle.is_empty() {
        return Some((from, from));
    }
    let mut i = from;
    while i < s.len() {
        if let Some(end) = starts_with(s, i, needle, collation) {
            return Some((i, end));
        }
        i += if collation == Collation::Binary {
            1
        } else {
            next_char(&s[i..]).1
        };
    }
    None
}

/// If `needle` is at byte `at` of `s`: where it ends.
fn starts_with(s: &[u8], at: usize, needle: &[u8], collation: Collation) -> Option<usize> {
    if !collation.ignores_case() {
        return s[at..].starts_with(needle).then_some(at + needle.len());
    }
    let (mut i, mut j) = (at, 0);
    while j < needle.len() {
        if i >= s.len() {
            return None;
        }
        let (a, n) = next_char(&s[i..]);
        let (b, m) = next_char(&needle[j..]);
        if !same_weight(collation, a, b) {
            return None;
        }
        i += n;
        j += m;
    }
    Some(i)
}

fn change_case(s: Cow<'_, [u8]>, upper: bool) -> Cow<'_, [u8]> {
    if s.is_ascii() {
        return Cow::Owned(if upper {
            s.to_ascii_uppercase()
        } else {
            s.to_ascii_lowercase()
        });
    }
    match std::str::from_utf8(&s) {
        Ok(t) => {
            // One character for one, as MySQL maps case: ß has no capital of its own.
            let map = |c: char| {
                let mut m: Box<dyn Iterator<Item = char>> = if upper {
                    Box::new(c.to_uppercase())
                } else {
                    Box::new(c.to_lowercase())
                };
                match (m.next(), m.next()) {
                    (Some(one), None) => one,
                    _ => c,
                }
            };
            Cow::Owned(t.chars().map(map).collect::<String>().into_bytes())
        }
        Err(_) => s,
    }
}

fn hex(data: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    data.iter()
        .flat_map(|b| [DIGITS[(b >> 4) as usize], DIGITS[(b & 15) as usize]])
        .collect()
}

fn lower_hex(data: &[u8]) -> Vec<u8> {
    hex(data).to_ascii_lowercase()
}

/// Bytes of hexadecimal digits; an odd first digit stands alone.
pub(crate) fn unhex(s: &[u8]) -> Option<Vec<u8>> {
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

/// How FORMAT writes numbers: as its third argument says, else as in English.
fn format_locale(c: &Call<'_, '_>) -> Result<&'static Numbers, Exit> {
    let english = locale::ENGLISH.locale;
    let name = match c.args.get(2) {
        None => english.into(),
        Some(a) => a.text(c.cx)?.map_or("NULL".into(), |t| {
            Cow::Owned(String::from_utf8_lossy(&t).into_owned())
        }),
    };
    if let Some(numbers) = locale::numbers(&name) {
        return Ok(numbers);
    }
    let unknown = locale::unknown(&name);
    c.cx.session.warn(unknown.code, unknown.message);
    locale::numbers(english).ok_or(Exit::Null)
}

fn grouped(d: &Decimal, how: &Numbers) -> String {
    let mut plain = Vec::new();
    d.abs().write(&mut plain);
    let plain = String::from_utf8_lossy(&plain);
    let (whole, fraction) = match plain.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (&*plain, None),
    };
    let mut out = String::with_capacity(plain.len() * 2);
    if d.is_negative() {
        out.push('-');
    }
    for (i, digit) in whole.chars().enumerate() {
        let left = whole.len() - i;
        let begins = match how.pairs {
            true => left == 3 || left > 3 && (left - 3) % 2 == 0,
            false => left % 3 == 0,
        };
        if let (Some(group), true, true) = (how.group, begins, i > 0) {
            out.push(group);
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push(how.point);
        out.push_str(fraction);
    }
    out
}

pub(super) fn call<'a>(f: Func, c: &Call<'_, 'a>) -> Computed<'a> {
    use Func::*;
    match f {
        Concat => {
            if c.len() == 1 {
                return Ok(Value::Bytes(c.text(0)?));
            }
            let mut out = Vec::with_capacity(64);
            for i in 0..c.len() {
                append(c, &mut out, &c.text(i)?)?;
            }
            bytes(out)
        }
        ConcatWs => {
            let separator = c.text(0)?;
            let mut out = Vec::with_capacity(64);
            let mut first = true;
            for a in &c.args[1..] {
                // NULLs are left out.
                if let Some(t) = a.text(c.cx)? {
                    if !first {
                        append(c, &mut out, &separator)?;
                    }
                    append(c, &mut out, &t)?;
                    first = false;
                }
            }
            bytes(out)
        }
        Substring => {
            let s = c.text(0)?;
            let bin = binary(c, 0);
            let n = count(&s, bin) as i64;
            let pos = c.int(1)?;
            let len = if c.len() == 3 { c.int(2)? } else { i64::MAX };
            let from = if pos < 0 { n + pos } else { pos - 1 };
            if pos == 0 || from < 0 || from >= n || len <= 0 {
                return Ok(Value::str(""));
            }
            let to = from.saturating_add(len).min(n);
            let (a, b) = (offset(&s, from as usize, bin), offset(&s, to as usize, bin));
            Ok(slice(s, a, b))
        }
        Left | Right => {
            let s = c.text(0)?;
            let bin = binary(c, 0);
            let n = count(&s, bin);
            let want = c.int(1)?.clamp(0, n as i64) as usize;
            let (from, to) = if f == Left { (0, want) } else { (n - want, n) };
            let (a, b) = (offset(&s, from, bin), offset(&s, to, bin));
            Ok(slice(s, a, b))
        }
        ToLatin1 => {
            let s = c.text(0)?;
            let (mut sent, mut back) = (Vec::new(), String::new());
            Encoding::Latin1.encode(&s, &mut sent);
            Encoding::Latin1.decode(&sent, &mut back);
            Ok(Value::string(back))
        }
        Latin1Bytes => {
            let mut out = Vec::new();
            Encoding::Latin1.encode(&c.text(0)?, &mut out);
            bytes(out)
        }
        FromLatin1 => {
            let mut out = String::new();
            Encoding::Latin1.decode(&c.text(0)?, &mut out);
            Ok(Value::string(out))
        }
        Length => Ok(Value::Int(c.text(0)?.len() as i64)),
        BitLength => Ok(Value::Int(c.text(0)?.len() as i64 * 8)),
        CharLength => Ok(Value::Int(count(&c.text(0)?, binary(c, 0)) as i64)),
        Upper | Lower => {
            let s = c.text(0)?;
            Ok(Value::Bytes(if binary(c, 0) {
                s
            } else {
                change_case(s, f == Upper)
            }))
        }
        Trim | LTrim | RTrim => {
            let s = c.text(0)?;
            let what = if c.len() == 2 {
                c.text(1)?
            } else {
                Cow::Borrowed(b" ".as_slice())
            };
            let (mut from, mut to) = (0, s.len());
            if !what.is_empty() {
                while f != RTrim && s[from..to].starts_with(&what) {
                    from += what.len();
                }
                while f != LTrim && s[from..to].ends_with(&what) {
                    to -= what.len();
                }
            }
            Ok(slice(s, from, to))
        }
        Replace => {
            let (s, what, with) = (c.text(0)?, c.text(1)?, c.text(2)?);
            if what.is_empty() {
                return Ok(Value::Bytes(s));
            }
            let mut out = Vec::with_capacity(s.len());
            let mut i = 0;
            // REPLACE is case-sensitive whatever the collation.
            while let Some((from, to)) = find(&s, &what, i, Collation::Binary) {
                append(c, &mut out, &s[i..from])?;
                append(c, &mut out, &with)?;
                i = to;
            }
            append(c, &mut out, &s[i..])?;
            bytes(out)
        }
        LPad | RPad => {
            let (s, n, pad) = (c.text(0)?, c.int(1)?, c.text(2)?);
            let bin = binary(c, 0);
            if n < 0 {
                return Err(Exit::Null);
            }
            let have = count(&s, bin);
            let n = n as usize;
            if n <= have {
                let end = offset(&s, n, bin);
                return Ok(slice(s, 0, end));
            }
            if pad.is_empty() {
                return Ok(Value::str(""));
            }
            let pad_chars = count(&pad, bin);
            let missing = n - have;
            let whole = (missing / pad_chars).saturating_mul(pad.len());
            let part = &pad[..offset(&pad, missing % pad_chars, bin)];
            c.room_for(whole.saturating_add(part.len() + s.len()))?;
            let mut fill = pad.repeat(missing / pad_chars);
            fill.extend_from_slice(part);
            bytes(if f == LPad {
                fill.extend_from_slice(&s);
                fill
            } else {
                let mut out = s.into_owned();
                out.extend_from_slice(&fill);
                out
            })
        }
        Instr | Locate => {
            let (hay, needle) = if f == Instr { (0, 1) } else { (1, 0) };
            let (s, what) = (c.text(hay)?, c.text(needle)?);
            let collation = c.collation();
            let bin = collation == Collation::Binary;
            let start = if c.len() == 3 { c.int(2)? } else { 1 };
            if start < 1 || start as usize > count(&s, bin) + 1 {
                return Ok(Value::Int(0));
            }
            let from = offset(&s, start as usize - 1, bin);
            Ok(Value::Int(match find(&s, &what, from, collation) {
                Some((at, _)) => count(&s[..at], bin) as i64 + 1,
                None => 0,
            }))
        }
        Repeat => {
            let (s, n) = (c.text(0)?, c.int(1)?.max(0) as usize);
            c.room_for(s.len().saturating_mul(n))?;
            bytes(s.repeat(n))
        }
        Space => {
            let n = c.int(0)?.max(0) as usize;
            c.room_for(n)?;
            bytes(vec![b' '; n])
        }
        Reverse => {
            let s = c.text(0)?;
            let mut out = Vec::with_capacity(s.len());
            if binary(c, 0) {
                out.extend(s.iter().rev());
            } else {
                let mut end = s.len();
                while end > 0 {
                    let mut start = end - 1;
                    while start > 0 && s[start] & 0xc0 == 0x80 {
                        start -= 1;
                    }
                    out.extend_from_slice(&s[start..end]);
                    end = start;
                }
            }
            bytes(out)
        }
        Hex => bytes(match c.value(0)? {
            Value::Bytes(b) => {
                c.room_for(b.len().saturating_mul(2))?;
                hex(&b)
            }
            v @ (Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_)) => {
                format!("{:X}", v.to_bits()).into_bytes()
            }
            _ => hex(&c.text(0)?),
        }),
        Unhex => unhex(&c.text(0)?).map_or(Err(Exit::Null), bytes),
        ToBase64 => {
            let s = c.text(0)?;
            // Four characters for three bytes, and a line feed after 76.
            let digits = s.len().div_ceil(3).saturating_mul(4);
            c.room_for(digits.saturating_add(digits.saturating_sub(1) / 76))?;
            bytes(to_base64(&s))
        }
        FromBase64 => from_base64(&c.text(0)?).map_or(Err(Exit::Null), bytes),
        Md5 => bytes(lower_hex(&<md5::Md5 as md5::Digest>::digest(&*c.text(0)?))),
        Sha1 => bytes(lower_hex(&<sha1::Sha1 as sha1::Digest>::digest(
            &*c.text(0)?,
        ))),
        Sha2 => {
            use sha2::Digest;
            let (s, n) = (c.text(0)?, c.int(1)?);
            bytes(match n {
                224 => lower_hex(&sha2::Sha224::digest(&*s)),
                0 | 256 => lower_hex(&sha2::Sha256::digest(&*s)),
                384 => lower_hex(&sha2::Sha384::digest(&*s)),
                512 => lower_hex(&sha2::Sha512::digest(&*s)),
                _ => return Err(Exit::Null),
            })
        }
        Field => {
            let v = c.args[0].eval(c.cx)?;
            let collation = c.collation();
            for (i, a) in c.args.iter().enumerate().skip(1) {
                if compare(&v, &a.eval(c.cx)?, collation, c.cx)?.is_some_and(|o| o.is_eq()) {
                    return Ok(Value::Int(i as i64));
                }
            }
            Ok(Value::Int(0))
        }
        Elt => {
            let n = c.int(0)?;
            match usize::try_from(n) {
                Ok(i) if i >= 1 && i < c.len() => Ok(Value::Bytes(c.text(i)?)),
                _ => Err(Exit::Null),
            }
        }
        FindInSet => {
            let (what, set) = (c.text(0)?, c.text(1)?);
            if set.is_empty() || what.contains(&b',') {
                return Ok(Value::Int(0));
            }
            let collation = c.collation();
            let at = set
                .split(|b| *b == b',')
                .position(|m| collation.eq(m, &what));
            Ok(Value::Int(at.map_or(0, |i| i as i64 + 1)))
        }
        Ascii => Ok(Value::Int(c.text(0)?.first().map_or(0, |b| *b as i64))),
        Ord => {
            let s = c.text(0)?;
            if s.is_empty() {
                return Ok(Value::Int(0));
            }
            let n = if binary(c, 0) { 1 } else { next_char(&s).1 };
            Ok(Value::Int(s[..n].iter().fold(0, |v, b| v << 8 | *b as i64)))
        }
        Char => {
            let mut out = Vec::new();
            for a in c.args {
                let v = a.eval(c.cx)?;
                if v.is_null() {
                    continue;
                }
                let b = (v.to_i64() as u32).to_be_bytes();
                let skip = b.iter().take_while(|b| **b == 0).count().min(3);
                out.extend_from_slice(&b[skip..]);
            }
            bytes(out)
        }
        Format => {
            let digits = c.int(1)?.clamp(0, 30) as u8;
            let d = c.decimal(0)?.round(digits);
            bytes(grouped(&d, format_locale(c)?).into_bytes())
        }
        Quote => {
            let Some(s) = c.args[0].text(c.cx)? else {
                return Ok(Value::str("NULL"));
            };
            let escaped = |b: &&u8| matches!(b, b'\'' | b'\\' | 0 | 0x1a);
            c.room_for(2 + s.len() + s.iter().filter(escaped).count())?;
            let mut out = vec![b'\''];
            for b in s.iter() {
                match b {
                    b'\'' | b'\\' => out.extend_from_slice(&[b'\\', *b]),
                    0 => out.extend_from_slice(b"\\0"),
                    0x1a => out.extend_from_slice(b"\\Z"),
                    b => out.push(*b),
                }
            }
            out.push(b'\'');
            bytes(out)
        }
        Strcmp => {
            let o = c.collation().compare(&c.text(0)?, &c.text(1)?);
            Ok(Value::Int(o as i64))
        }
        SubstringIndex => {
            let (s, d, n) = (c.text(0)?, c.text(1)?, c.int(2)?);
            if d.is_empty() || n == 0 {
                return Ok(Value::str(""));
            }
            let mut at = Vec::new();
            let mut i = 0;
            while let Some((from, to)) = find(&s, &d, i, Collation::Binary) {
                at.push((from, to));
                i = to;
            }
            let skip = n.unsigned_abs() as usize;
            if skip > at.len() {
                return Ok(Value::Bytes(s));
            }
            let (from, to) = if n > 0 {
                (0, at[skip - 1].0)
            } else {
                (at[at.len() - skip].1, s.len())
            };
            Ok(slice(s, from, to))
        }
        // INSERT, the last of the string functions.
        _ => {
            let (s, pos, len, new) = (c.text(0)?, c.int(1)?, c.int(2)?, c.text(3)?);
            let bin = binary(c, 0);
            let n = count(&s, bin) as i64;
            if pos < 1 || pos > n {
                return Ok(Value::Bytes(s));
            }
            let from = pos - 1;
            let to = if len < 0 {
                n
            } else {
                from.saturating_add(len).min(n)
            };
            let (a, b) = (offset(&s, from as usize, bin), offset(&s, to as usize, bin));
            c.room_for(s.len() - (b - a) + new.len())?;
            let mut out = s[..a].to_vec();
            out.extend_from_slice(&new);
            out.extend_from_slice(&s[b..]);
            bytes(out)
        }
    }
}
