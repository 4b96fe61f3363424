//! ENUM: texts that are kept and ordered as positions among the members.

use std::borrow::Cow;

use super::super::Value;
use super::super::assign::{StoreContext, Target};
use super::super::convert::exact_integer;
use super::Lookup;
use crate::error::SqlResult;
use crate::types::{BaseType, SqlType};

pub(super) fn assign<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let members = column.ty.members.as_deref().unwrap_or(&[]);
    let by_number = |v: i128| -> Option<&String> {
        usize::try_from(v)
            .ok()
            .filter(|i| *i > 0)
            .and_then(|i| members.get(i - 1))
    };
    let found = match &value {
        Value::Bytes(b) => {
            if members.iter().any(|m| m.as_bytes() == &**b) {
                return Ok(value);
            }
            members
                .iter()
                .find(|m| column.ty.collation.eq(m.as_bytes(), b))
                .or_else(|| exact_integer(b).and_then(by_number))
        }
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => {
            let t = value.to_text();
            members
                .iter()
                .find(|m| column.ty.collation.eq(m.as_bytes(), &t))
        }
        other => by_number(whole(other).into()),
    };
    match found {
        Some(m) => Ok(Value::string(m.clone())),
        None => {
            cx.truncated(column)?;
            Ok(Value::str(""))
        }
    }
}

/// The position that a number is: its whole part.
pub(super) fn whole(value: &Value<'_>) -> i64 {
    match value {
        Value::Double(_) | Value::Decimal(_) => value.to_f64() as i64,
        value => value.to_i64(),
    }
}

/// Whether a value is what an ENUM keeps in the place of a text that is none of its members. From one ENUM to another it goes as it is.
pub fn is_no_member(value: &Value<'_>, ty: &SqlType) -> bool {
    let empty = matches!(value, Value::Bytes(b) if b.is_empty());
    empty && ty.base == BaseType::Enum && member(ty, b"") == 0
}

pub(super) fn zero(ty: &SqlType) -> Value<'static> {
    let first = ty.members.as_deref().and_then(|m| m.first());
    Value::string(first.cloned().unwrap_or_default())
}

/// Position of an ENUM's member from 1; 0 if there is none.
pub(super) fn member(ty: &SqlType, text: &[u8]) -> u16 {
    let Some(members) = &ty.members else {
        return 0;
    };
    // The exact text first: values come from the members themselves as a rule.
    members
        .iter()
        .position(|m| m.as_bytes() == text)
        .or_else(|| {
            members
                .iter()
                .position(|m| ty.collation.eq(m.as_bytes(), text))
        })
        .map_or(0, |i| i as u16 + 1)
}

/// The member of a position; that of no member is the empty string that bad input leaves.
#[inline]
pub(super) fn text(ty: &SqlType, position: usize) -> Value<'_> {
    let text = match (&ty.members, position) {
        (Some(m), 1..) => m.get(position - 1).map_or("", String::as_str),
        _ => "",
    };
    Value::Bytes(Cow::Borrowed(text.as_bytes()))
}

pub(super) fn sort_key(value: &Value<'_>, ty: &SqlType, out: &mut Vec<u8>) {
    let i = member(ty, &value.to_text());
    out.extend_from_slice(&i.to_be_bytes());
}

pub(super) fn lookup(value: &Value<'_>, ty: &SqlType) -> Lookup {
    match value {
        Value::Bytes(b) if member(ty, b) > 0 => Lookup::Exact(value.borrowed().into_owned()),
        Value::Int(_) | Value::UInt(_) => position(value, ty),
        _ => Lookup::Unusable,
    }
}

/// An ENUM's member by position. That of no member (0) belongs to the empty string that bad input leaves.
fn position(value: &Value<'_>, ty: &SqlType) -> Lookup {
    let members = ty.members.as_deref().unwrap_or(&[]);
    match usize::try_from(value.to_i64()) {
        Ok(0) => Lookup::Unusable,
        Ok(n) => members.get(n - 1).map_or(Lookup::AboveAll, |m| {
            Lookup::Exact(Value::string(m.clone()))
        }),
        Err(_) => Lookup::BelowAll,
    }
}

/// The number that a member is in arithmetic: its position.
pub(super) fn number(text: &[u8], ty: &SqlType) -> Value<'static> {
    let members = ty.members.as_deref().unwrap_or(&[]);
    let at = members.iter().position(|m| m.as_bytes() == text);
    Value::Int(at.map_or(0, |i| i as i64 + 1))
}
