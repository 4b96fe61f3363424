//! Character and binary strings.

use std::borrow::Cow;

use super::super::Value;
use super::super::assign::{StoreContext, Target};
use super::super::cast::{not_utf8, truncated};
use super::super::env::ConversionEnv;
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
        other => Cow::Owned(other.to_text().into_owned()),
    };
    if ty.collation != Collation::Binary
        && let Err(e) = std::str::from_utf8(&bytes)
    {
        let bad = &bytes[e.valid_up_to()..];
        let shown = Value::Bytes(Cow::Owned(
            bad.iter()
                .take(6)
                .flat_map(|b| format!("\\x{b:02X}").into_bytes())
                .collect(),
        ));
        cx.incorrect(1366, "string", &shown, column)?;
        keep(&mut bytes, e.valid_up_to());
    }
    let max = ty.length as usize;
    // A string of no more bytes than characters allowed needs no counting.
    if bytes.len() > max {
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
                let m = format!(
                    "Data too long for column '{}' at row {}",
                    column.name, cx.row
                );
                if cx.strict {
                    return Err(SqlError::new(1406, m));
                }
                cx.truncated(column)?;
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
