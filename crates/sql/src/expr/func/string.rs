//! Texts put together, repeated, replaced in, turned and changed in case.

use std::borrow::Cow;

use super::call::bytes;
use super::substring::{binary, count, find, offset};
use super::typing::{all_texts, int, within_first};
use super::{ANY, Call, Computed, Function, Null, Typing, row};
use crate::types::{Collation, SqlType};
use crate::value::Value;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("CONCAT", 1..=ANY, all_texts, concat).null(Null::OfAnyOrLong).joins(),
    row("CONCAT_WS", 2..=ANY, separated, concat_ws).null(Null::OfFirstOrLong).joins(),
    row("INSERT", 4..=4, |t| t.text(t.length(0).saturating_add(t.length(3))), insert).null(Null::OfAnyOrLong).joins(),
    row("REPLACE", 3..=3, replaced, replace).null(Null::OfAnyOrLong).joins(),
    row("REPEAT", 2..=2, |t| t.text(t.repeated(1, t.length(0))), repeat).null(Null::Maybe),
    row("SPACE", 1..=1, |t| t.plain(t.repeated(0, 0)), space).null(Null::Maybe).makes_its_own(),
    row("REVERSE", 1..=1, within_first, reverse),
    row("UPPER", 1..=1, within_first, |c| in_case(c, true)).aka(&["UCASE"]),
    row("LOWER", 1..=1, within_first, |c| in_case(c, false)).aka(&["LCASE"]),
    row("QUOTE", 1..=1, quoted, quote).null(Null::OfAnyOrLong),
    row("STRCMP", 2..=2, int::<10>, strcmp).compares(),
    row("SOUNDEX", 1..=1, |t| t.plain(t.length(0).max(4)), soundex),
];

fn separated(t: &Typing<'_>) -> SqlType {
    let separators = t.length(0).saturating_mul(t.args.len() as u32);
    t.text(t.lengths().saturating_add(separators))
}

/// A text whose every character may be replaced by the third argument.
pub(super) fn replaced(t: &Typing<'_>) -> SqlType {
    t.text(t.length(0).saturating_mul(t.length(2).max(1)))
}

fn quoted(t: &Typing<'_>) -> SqlType {
    t.text(t.length(0).saturating_mul(2).saturating_add(2))
}

fn concat<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    if c.len() == 1 {
        return Ok(Value::Bytes(c.text(0)?));
    }
    let mut out = Vec::with_capacity(64);
    for i in 0..c.len() {
        c.append(&mut out, &c.text(i)?)?;
    }
    bytes(out)
}

fn concat_ws<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let separator = c.text(0)?;
    let mut out = Vec::with_capacity(64);
    let mut first = true;
    for a in &c.args[1..] {
        // NULLs are left out.
        if let Some(t) = a.text(c.cx)? {
            if !first {
                c.append(&mut out, &separator)?;
            }
            c.append(&mut out, &t)?;
            first = false;
        }
    }
    bytes(out)
}

fn insert<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
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

fn replace<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (s, what, with) = (c.text(0)?, c.text(1)?, c.text(2)?);
    if what.is_empty() {
        return Ok(Value::Bytes(s));
    }
    let mut out = Vec::with_capacity(s.len());
    let mut i = 0;
    // REPLACE is case-sensitive whatever the collation.
    while let Some((from, to)) = find(&s, &what, i, Collation::Binary) {
        c.append(&mut out, &s[i..from])?;
        c.append(&mut out, &with)?;
        i = to;
    }
    c.append(&mut out, &s[i..])?;
    bytes(out)
}

fn repeat<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (s, n) = (c.text(0)?, c.int(1)?.max(0) as usize);
    c.room_for(s.len().saturating_mul(n))?;
    bytes(s.repeat(n))
}

fn space<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let n = c.int(0)?.max(0) as usize;
    c.room_for(n)?;
    bytes(vec![b' '; n])
}

fn reverse<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.text(0)?;
    let mut out = Vec::with_capacity(s.len());
    if binary(c, 0) {
        out.extend(s.iter().rev());
        return bytes(out);
    }
    let mut end = s.len();
    while end > 0 {
        let mut start = end - 1;
        while start > 0 && s[start] & 0xc0 == 0x80 {
            start -= 1;
        }
        out.extend_from_slice(&s[start..end]);
        end = start;
    }
    bytes(out)
}

fn in_case<'a>(c: &Call<'_, 'a>, upper: bool) -> Computed<'a> {
    let s = c.text(0)?;
    Ok(Value::Bytes(if binary(c, 0) {
        s
    } else {
        change_case(s, upper, c.args[0].ty.collation)
    }))
}

fn change_case(s: Cow<'_, [u8]>, upper: bool, collation: Collation) -> Cow<'_, [u8]> {
    let encoding = collation.character_set().encoding();
    let dotless = collation.has_dotless_i();
    if s.is_ascii() && !dotless {
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
                match (c, upper) {
                    ('i', true) if dotless => return 'İ',
                    ('I', false) if dotless => return 'ı',
                    ('İ', false) => return 'i',
                    _ => {}
                }
                let mut m: Box<dyn Iterator<Item = char>> = if upper {
                    Box::new(c.to_uppercase())
                } else {
                    Box::new(c.to_lowercase())
                };
                match (m.next(), m.next()) {
                    (Some(one), None) if encoding.maps_case(c.into(), one.into()) => one,
                    _ => c,
                }
            };
            Cow::Owned(t.chars().map(map).collect::<String>().into_bytes())
        }
        Err(_) => s,
    }
}

fn quote<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
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

fn strcmp<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let o = c.collation().compare(&c.text(0)?, &c.text(1)?);
    Ok(Value::Int(o as i64))
}

/// Codes of the letters A to Z; 0 is said of those that sound like nothing.
const SOUNDS: &[u8; 26] = b"01230120022455012623010202";

fn soundex<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (s, binary) = (c.text(0)?, binary(c, 0));
    // Bytes have no letters but ASCII's.
    let letter = |c: &char| c.is_ascii_alphabetic() || *c >= 'À' && !binary;
    Ok(Value::string(sound(&String::from_utf8_lossy(&s), letter)))
}

fn sound(s: &str, letter: impl Fn(&char) -> bool) -> String {
    let code = |c: char| match c.to_ascii_uppercase() {
        c @ 'A'..='Z' => char::from(SOUNDS[usize::from(c as u8 - b'A')]),
        _ => '0',
    };
    let mut letters = s.chars().filter(letter);
    let Some(first) = letters.next() else {
        return String::new();
    };
    let mut out = String::from(first.to_ascii_uppercase());
    let mut count = 1;
    let mut last = code(first);
    for code in letters.map(code) {
        if code != '0' && code != last {
            out.push(code);
            count += 1;
            last = code;
        }
    }
    out.extend(std::iter::repeat_n('0', 4usize.saturating_sub(count)));
    out
}
