//! Character and binary strings.

use std::borrow::Cow;

use super::super::assign::{StoreContext, Target};
use super::super::cast::{not_utf8, truncated};
use super::super::env::ConversionEnv;
use super::super::{Value, text};
use super::Lookup;
use crate::error::{SqlError, SqlResult};
use crate::types::collation::{char_count, char_prefix};
use crate::types::{BaseType, Collation, SqlType};

pub(super) fn assign<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let ty = column.ty;
    let mut bytes = match value {
        Value::Bytes(b) => b,
        Value::Double(v) if !ty.is_blob() => Cow::Owned(text::f64_within(v, ty.length as usize)),
        other => Cow::Owned(other.to_text().into_owned()),
    };
    if ty.collation != Collation::Binary
        && let Err(e) = std::str::from_utf8(&bytes)
    {
        cx.incorrect(1366, "string", &shown(&bytes[e.valid_up_to()..]), column)?;
        keep(&mut bytes, e.valid_up_to());
    }
    if !ty.collation.is_plain() {
        bytes = fit(bytes, column, cx)?;
    }
    let max = ty.length as usize;
    // A TEXT whose bytes are not those of UTF-8 was measured.
    let measured = ty.is_blob() && !ty.collation.is_plain();
    // A string of no more bytes than characters allowed needs no counting.
    if bytes.len() > max && !measured {
        let counted = ty.is_character() && !ty.is_blob();
        if !counted || char_count(&bytes) > max {
            let cut = if counted {
                char_prefix(&bytes, max)
            } else if ty.is_character() {
                floor_char(&bytes, max)
            } else {
                max
            };
            let blanks = ty.is_character() && bytes[cut..].iter().all(|b| *b == b' ');
            if !blanks {
                too_long(column, cx)?;
            } else if ty.base == BaseType::VarChar {
                cx.note_truncated(column);
            }
            keep(&mut bytes, cut);
        }
    }
    match ty.base {
        BaseType::Char if bytes.last() == Some(&b' ') => {
            let n = bytes.len() - bytes.iter().rev().take_while(|b| **b == b' ').count();
            keep(&mut bytes, n);
        }
        BaseType::Binary if bytes.len() < max => bytes.to_mut().resize(max, 0),
        _ => {}
    }
    Ok(Value::Bytes(bytes))
}

/// Bytes as messages about them have them.
fn shown(bytes: &[u8]) -> Value<'static> {
    let digits = bytes.iter().take(6);
    Value::string(digits.map(|b| format!("\\x{b:02X}")).collect())
}

/// A string of a column of type `was` for one of another type: its bytes in its own character set where that is binary; the text that bytes
/// are where it isn't.
pub fn recoded<'a>(
    value: Value<'a>,
    was: &SqlType,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let bytes = |ty: &SqlType| ty.is_string() && !ty.is_character();
    let Value::Bytes(given) = value else {
        return Ok(value);
    };
    if was.is_character() && bytes(column.ty) && !was.collation.is_plain() {
        let encoding = was.collation.character_set().encoding();
        return Ok(Value::Bytes(encoding.encoded(&given).into_owned().into()));
    }
    if !bytes(was) || !column.ty.is_character() || column.ty.collation.is_plain() {
        return Ok(Value::Bytes(given));
    }
    let encoding = column.ty.collation.character_set().encoding();
    let padded = encoding.padded(&given);
    if let Err(good) = encoding.text_of(&padded) {
        cx.incorrect(1366, "string", &shown(&padded[good..]), column)?;
    }
    let mut text = String::with_capacity(given.len());
    encoding.decode(&padded, &mut text);
    Ok(Value::string(text))
}

/// A text for a column whose character set may not have all of its characters, or whose bytes are others than those of UTF-8.
#[cold]
fn fit<'a>(
    mut bytes: Cow<'a, [u8]>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Cow<'a, [u8]>> {
    let ty = column.ty;
    let encoding = ty.collation.character_set().encoding();
    if let Some(at) = encoding.misfit(&bytes) {
        cx.incorrect(1366, "string", &shown(&bytes[at..]), column)?;
        bytes = encoding.fitted(bytes);
    }
    // A TEXT's length is one of bytes, in its own character set.
    let max = ty.length as usize;
    if ty.is_blob() && encoding.encoded_len(&bytes) > max {
        let cut = encoding.prefix_within(&bytes, max);
        too_long(column, cx)?;
        keep(&mut bytes, cut);
    }
    Ok(bytes)
}

/// Error 1406 if strict, else warning 1265.
fn too_long(column: Target<'_>, cx: &StoreContext<'_>) -> SqlResult<()> {
    if cx.strict {
        let m = format!(
            "Data too long for column '{}' at row {}",
            column.name, cx.row
        );
        return Err(SqlError::new(1406, m));
    }
    cx.truncated(column)
}

/// Cuts a text to its first `n` bytes.
fn keep(bytes: &mut Cow<'_, [u8]>, n: usize) {
    match bytes {
        Cow::Borrowed(b) => *b = &b[..n],
        Cow::Owned(b) => b.truncate(n),
    }
}

/// The last character boundary at or before `n`.
fn floor_char(s: &[u8], mut n: usize) -> usize {
    while n > 0 && s[n] & 0xc0 == 0x80 {
        n -= 1;
    }
    n
}

pub(super) fn cast<'a>(
    value: Value<'a>,
    ty: &SqlType,
    session: &ConversionEnv,
) -> SqlResult<Value<'a>> {
    let bytes = match value {
        Value::Bytes(b) => b,
        other => Cow::Owned(other.to_text().into_owned()),
    };
    if ty.is_character()
        && let Some(m) = not_utf8(&bytes)
    {
        session.complain(1300, m)?;
        return Ok(Value::Null);
    }
    // What its character set does not have becomes a question mark.
    let bytes = match ty.collation.is_plain() {
        true => bytes,
        false => ty.collation.character_set().encoding().fitted(bytes),
    };
    let max = ty.length as usize;
    if ty.is_blob() || max == 0 && !matches!(ty.base, BaseType::Char | BaseType::Binary) {
        return Ok(Value::Bytes(bytes));
    }
    if ty.is_character() {
        if bytes.len() > max && char_count(&bytes) > max {
            truncated(
                session,
                &format!("CHAR({max})"),
                &Value::Bytes(bytes.clone()),
            )?;
            let n = char_prefix(&bytes, max);
            return Ok(Value::Bytes(cut(bytes, n)));
        }
    } else if bytes.len() > max {
        truncated(
            session,
            &format!("BINARY({max})"),
            &Value::Bytes(bytes.clone()),
        )?;
        return Ok(Value::Bytes(cut(bytes, max)));
    } else if ty.base == BaseType::Binary && bytes.len() < max {
        let mut b = bytes.into_owned();
        b.resize(max, 0);
        return Ok(Value::Bytes(Cow::Owned(b)));
    }
    Ok(Value::Bytes(bytes))
}

fn cut(b: Cow<'_, [u8]>, n: usize) -> Cow<'_, [u8]> {
    match b {
        Cow::Borrowed(b) => Cow::Borrowed(&b[..n]),
        Cow::Owned(mut b) => {
            b.truncate(n);
            Cow::Owned(b)
        }
    }
}

pub(super) fn conform(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Bytes(_) => value,
        other => Value::Bytes(Cow::Owned(other.to_text().into_owned())),
    }
}

pub(super) fn zero(ty: &SqlType) -> Value<'static> {
    match ty.base {
        BaseType::Binary => Value::Bytes(Cow::Owned(vec![0; ty.length as usize])),
        _ => Value::str(""),
    }
}

pub(super) fn lookup(value: &Value<'_>) -> Lookup {
    match value {
        Value::Bytes(_) => Lookup::Exact(value.borrowed().into_owned()),
        _ => Lookup::Unusable,
    }
}
