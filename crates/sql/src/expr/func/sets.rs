//! Which of several: by position, by value, by bits.

use super::typing::int;
use super::{ANY, Call, Computed, Exit, Function, Null, Typing, joint, row};
use crate::expr::eval::bit_string;
use crate::expr::operators::{compare, number};
use crate::expr::{Expr, ExprKind};
use crate::types::derive::text_length;
use crate::types::{BaseType, SqlType};
use crate::value::{Value, member_number};

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("FIELD", 2..=ANY, int::<10>, field).takes_alike(),
    row("ELT", 2..=ANY, one_of, elt).null(Null::Maybe).joins(),
    row("FIND_IN_SET", 2..=2, int::<10>, find_in_set).compares(),
    row("INTERVAL", 2..=ANY, int::<2>, interval),
    row("MAKE_SET", 2..=ANY, |t| t.text(t.lengths().saturating_add(t.args.len() as u32)), make_set).null(Null::Maybe).joins(),
    row("EXPORT_SET", 3..=5, exported, export_set).null(Null::OfAnyOrLong).joins(),
];

fn one_of(t: &Typing<'_>) -> SqlType {
    let texts = &t.args[1..];
    let longest = texts.iter().map(|a| text_length(&a.ty)).max();
    SqlType::varchar(longest.unwrap_or(0), joint(texts, t.collation))
}

fn exported(t: &Typing<'_>) -> SqlType {
    let bit = t.length(1).max(t.length(2));
    let each = bit.saturating_add(t.length(3).max(1));
    t.text(each.saturating_mul(64))
}

fn field<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let typed = || c.args.iter().filter(|a| a.ty.base != BaseType::Null);
    let is_text = |a: &Expr| a.ty.is_string() || a.ty.is_temporal();
    if typed().any(is_text) && !typed().all(is_text) {
        return field_of_numbers(c);
    }
    // A date or time among texts is one of them.
    let as_text = typed().any(|a| a.ty.is_string());
    let value = |e: &'a Expr| -> Result<Value<'a>, Exit> {
        Ok(match as_text {
            true => e.text(c.cx)?.map_or(Value::Null, Value::Bytes),
            false => e.eval(c.cx)?,
        })
    };
    let v = value(&c.args[0])?;
    let collation = c.collation();
    for (i, a) in c.args.iter().enumerate().skip(1) {
        if compare(&v, &value(a)?, collation, [None, None], c.cx)?.is_some_and(|o| o.is_eq()) {
            return Ok(Value::Int(i as i64));
        }
    }
    Ok(Value::Int(0))
}

/// FIELD of texts and numbers: they are compared as doubles.
fn field_of_numbers<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let double = |e: &'a Expr| -> Result<Option<f64>, Exit> {
        Ok(match e.eval(c.cx)? {
            Value::Null => None,
            Value::Bytes(b) if matches!(e.kind, ExprKind::BitString(_)) => {
                Some(bit_string(&b) as f64)
            }
            Value::Bytes(b) if e.ty.is_enumerated() => member_number(&b, &e.ty).map(|n| n.to_f64()),
            v => Some(number(v, e, c.cx)?.to_f64()),
        })
    };
    let Some(v) = double(&c.args[0])? else {
        return Ok(Value::Int(0));
    };
    for (i, a) in c.args.iter().enumerate().skip(1) {
        if double(a)? == Some(v) {
            return Ok(Value::Int(i as i64));
        }
    }
    Ok(Value::Int(0))
}

fn elt<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let n = c.int(0)?;
    match usize::try_from(n) {
        Ok(i) if i >= 1 && i < c.len() => Ok(Value::Bytes(c.text(i)?)),
        _ => Err(Exit::Null),
    }
}

fn find_in_set<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
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

/// INTERVAL(n, a, b, ...): how many of the ascending numbers from `a` on are not greater than `n`; -1 for NULL.
fn interval<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let n = c.args[0].eval(c.cx)?;
    if n.is_null() {
        return Ok(Value::Int(-1));
    }
    let mut passed = 0;
    for a in &c.args[1..] {
        let a = a.eval(c.cx)?;
        let beyond = match (&n, &a) {
            (_, Value::Null) => false,
            (Value::Double(_) | Value::Bytes(_), _) | (_, Value::Double(_) | Value::Bytes(_)) => {
                n.to_f64() < a.to_f64()
            }
            _ => n.to_decimal() < a.to_decimal(),
        };
        if beyond {
            break;
        }
        passed += 1;
    }
    Ok(Value::Int(passed))
}

fn make_set<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let bits = c.bits(0)?;
    let mut out: Option<Vec<u8>> = None;
    for i in 1..c.len().min(65) {
        if bits >> (i - 1) & 1 == 0 {
            continue;
        }
        // NULLs are left out.
        let Some(s) = c.args[i].text(c.cx)? else {
            continue;
        };
        match &mut out {
            Some(out) => {
                c.room_for(out.len() + 1 + s.len())?;
                out.push(b',');
                out.extend_from_slice(&s);
            }
            None => out = Some(s.into_owned()),
        }
    }
    Ok(Value::Bytes(out.unwrap_or_default().into()))
}

fn export_set<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let bits = c.bits(0)?;
    let (on, off) = (c.text(1)?, c.text(2)?);
    let separator = match c.len() {
        3 => b","[..].into(),
        _ => c.text(3)?,
    };
    let count = match c.len() {
        5 => usize::try_from(c.int(4)?).map_or(64, |n| n.min(64)),
        _ => 64,
    };
    let mut out = Vec::new();
    for i in 0..count {
        let each = if bits >> i & 1 == 1 { &on } else { &off };
        let between = if i > 0 { &*separator } else { b"" };
        c.room_for(out.len() + between.len() + each.len())?;
        out.extend_from_slice(between);
        out.extend_from_slice(each);
    }
    Ok(Value::Bytes(out.into()))
}
