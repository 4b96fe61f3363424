//! SET: texts of members with commas between them, kept and ordered as a number that has a bit for each member.
//!
//! A member may be the empty text. No comma follows it where it comes first, as in MySQL; so sets that begin with it have the text of
//! those without it, and since values are texts, such sets are refused.

use std::borrow::Cow;

use super::super::Value;
use super::super::assign::{StoreContext, Target};
use super::{Lookup, enumeration};
use crate::error::{SqlError, SqlResult};
use crate::types::SqlType;

fn members(ty: &SqlType) -> &[String] {
    ty.members.as_deref().unwrap_or(&[])
}

/// All members.
fn all(ty: &SqlType) -> u64 {
    match members(ty).len() {
        0 => 0,
        n => u64::MAX >> (64 - n.min(64)),
    }
}

/// The bits of the members that a text names, and whether it names nothing else.
fn parse(text: &[u8], ty: &SqlType) -> (u64, bool) {
    if text.is_empty() {
        return (0, true);
    }
    let mut whole = true;
    let bits = text.split(|b| *b == b',').fold(0, |bits, name| {
        let member = |m: &String| m.as_bytes() == name || ty.collation.eq(m.as_bytes(), name);
        match members(ty).iter().position(member) {
            Some(i) => bits | 1 << i,
            None => {
                whole = false;
                bits
            }
        }
    });
    (bits, whole)
}

/// The text of these members.
pub(super) fn text(ty: &SqlType, bits: u64) -> Value<'_> {
    let named = members(ty).iter().enumerate();
    let mut names = named.filter(|(i, _)| bits >> i & 1 == 1).map(|(_, m)| m);
    let Some(first) = names.next() else {
        return Value::Bytes(Cow::Borrowed(b""));
    };
    let mut text = Cow::Borrowed(first.as_bytes());
    for name in names {
        if text.is_empty() {
            text = Cow::Borrowed(name.as_bytes());
            continue;
        }
        let text = text.to_mut();
        text.push(b',');
        text.extend_from_slice(name.as_bytes());
    }
    Value::Bytes(text)
}

/// Whether the text of these members is that of other members.
fn is_ambiguous(ty: &SqlType, bits: u64) -> bool {
    let empty = members(ty).iter().position(String::is_empty);
    empty.is_some_and(|at| bits >> at & 1 == 1 && bits & ((1 << at) - 1) == 0)
}

/// The bits of a value of the type.
pub(super) fn bits(value: &[u8], ty: &SqlType) -> u64 {
    parse(value, ty).0
}

pub(super) fn assign<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let ty = column.ty;
    let number = |n: u64| (n & all(ty), n & !all(ty) == 0);
    let (bits, whole) = match &value {
        Value::Bytes(b) => match parse(b, ty) {
            // A text that names no member may be the number.
            (0, false) => match std::str::from_utf8(b).ok().and_then(|s| s.parse().ok()) {
                Some(n) if number(n).1 => number(n),
                _ => (0, false),
            },
            parsed => parsed,
        },
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => parse(&value.to_text(), ty),
        Value::Double(_) | Value::Decimal(_) => number(enumeration::whole(&value) as u64),
        other => number(other.to_bits()),
    };
    if !whole {
        cx.truncated(column)?;
    }
    if is_ambiguous(ty, bits) {
        return Err(SqlError::unsupported("a SET that begins with ''"));
    }
    Ok(text(ty, bits).into_owned())
}

pub(super) fn sort_key(value: &Value<'_>, ty: &SqlType, out: &mut Vec<u8>) {
    out.extend_from_slice(&bits(&value.to_text(), ty).to_be_bytes());
}

/// The number that a value is in arithmetic: of the 64th member the sign, as in MySQL.
pub(super) fn number(value: &[u8], ty: &SqlType) -> Value<'static> {
    Value::Int(bits(value, ty) as i64)
}

pub(super) fn lookup(value: &Value<'_>, ty: &SqlType) -> Lookup {
    let exact = |bits| Lookup::Exact(text(ty, bits).into_owned());
    match value {
        Value::Bytes(b) => match parse(b, ty) {
            (bits, true) if ty.collation.eq(&text(ty, bits).to_text(), b) => exact(bits),
            _ => Lookup::Unusable,
        },
        // The 64th bit is kept above the others and counts below them.
        _ if all(ty) > i64::MAX as u64 => Lookup::Unusable,
        Value::Int(..0) => Lookup::BelowAll,
        Value::Int(_) | Value::UInt(_) => match value.to_u64() {
            n if n > all(ty) => Lookup::AboveAll,
            n if is_ambiguous(ty, n) => Lookup::Unusable,
            n => exact(n),
        },
        _ => Lookup::Unusable,
    }
}
