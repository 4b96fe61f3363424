//! Parts of texts, where they are, and texts filled up or cut to a length.

use std::borrow::Cow;

use super::call::bytes;
use super::typing::{int, within_first};
use super::{Call, Computed, Exit, Function, Null, Typing, row};
use crate::types::collation::{char_count, char_prefix, next_char, same_weight};
use crate::types::{Collation, SqlType};
use crate::value::Value;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("SUBSTRING", 2..=3, within_first, substring).aka(&["SUBSTR", "MID"]),
    row("LEFT", 2..=2, within_first, left),
    row("RIGHT", 2..=2, within_first, right),
    row("SUBSTRING_INDEX", 3..=3, within_first, substring_index).joins(),
    row("TRIM", 1..=2, within_first, |c| trim(c, true, true)),
    row("LTRIM", 1..=2, within_first, |c| trim(c, true, false)),
    row("RTRIM", 1..=2, within_first, |c| trim(c, false, true)),
    row("LPAD", 3..=3, padded, |c| pad(c, true)).null(Null::Maybe).joins(),
    row("RPAD", 3..=3, padded, |c| pad(c, false)).null(Null::Maybe).joins(),
    row("INSTR", 2..=2, int::<10>, |c| locate(c, 0, 1)).joins(),
    row("LOCATE", 2..=3, int::<10>, |c| locate(c, 1, 0)).aka(&["POSITION"]).joins(),
];

fn padded(t: &Typing<'_>) -> SqlType {
    t.text(t.repeated(1, t.length(0)))
}

/// Whether an argument's positions are counted in bytes.
pub(super) fn binary(c: &Call<'_, '_>, i: usize) -> bool {
    c.args[i].ty.has_bytes()
}

pub(super) fn count(s: &[u8], binary: bool) -> usize {
    if binary { s.len() } else { char_count(s) }
}

/// Byte offset of a character.
pub(super) fn offset(s: &[u8], chars: usize, binary: bool) -> usize {
    if binary {
        chars.min(s.len())
    } else {
        char_prefix(s, chars)
    }
}

/// Keeps part of a string, borrowing if it can.
pub(super) fn slice<'a>(s: Cow<'a, [u8]>, from: usize, to: usize) -> Value<'a> {
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
pub(super) fn find(
    s: &[u8],
    needle: &[u8],
    from: usize,
    collation: Collation,
) -> Option<(usize, usize)> {
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

fn substring<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
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

fn left<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.text(0)?;
    let bin = binary(c, 0);
    let n = count(&s, bin);
    let want = c.int(1)?.clamp(0, n as i64) as usize;
    let end = offset(&s, want, bin);
    Ok(slice(s, 0, end))
}

fn right<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.text(0)?;
    let bin = binary(c, 0);
    let n = count(&s, bin);
    let want = c.int(1)?.clamp(0, n as i64) as usize;
    let (start, end) = (offset(&s, n - want, bin), s.len());
    Ok(slice(s, start, end))
}

fn substring_index<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
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

/// TRIM and its kin: takes the second argument, a space if there is none, off the start, the end or both.
fn trim<'a>(c: &Call<'_, 'a>, start: bool, end: bool) -> Computed<'a> {
    let s = c.text(0)?;
    let what = if c.len() == 2 {
        c.text(1)?
    } else {
        Cow::Borrowed(b" ".as_slice())
    };
    let (mut from, mut to) = (0, s.len());
    if !what.is_empty() {
        while start && s[from..to].starts_with(&what) {
            from += what.len();
        }
        while end && s[from..to].ends_with(&what) {
            to -= what.len();
        }
    }
    Ok(slice(s, from, to))
}

fn pad<'a>(c: &Call<'_, 'a>, before: bool) -> Computed<'a> {
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
    bytes(if before {
        fill.extend_from_slice(&s);
        fill
    } else {
        let mut out = s.into_owned();
        out.extend_from_slice(&fill);
        out
    })
}

/// Where argument `needle` first is in argument `hay`, from the position on that the third gives.
fn locate<'a>(c: &Call<'_, 'a>, hay: usize, needle: usize) -> Computed<'a> {
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
