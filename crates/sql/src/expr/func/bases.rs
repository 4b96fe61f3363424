//! Numbers written in other bases.

use std::borrow::Cow;

use super::typing::plain;
use super::{Call, Computed, Exit, Function, Null, row};
use crate::types::BaseType;
use crate::value::{Value, truncated};

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("CONV", 3..=3, plain::<64>, |c| conv(c, &digits(c)?, c.int(1)?, c.int(2)?)).null(Null::Maybe).makes_its_own(),
    row("BIN", 1..=1, plain::<64>, |c| conv(c, &digits(c)?, 10, 2)).null(Null::Maybe).makes_its_own(),
    row("OCT", 1..=1, plain::<64>, |c| conv(c, &digits(c)?, 10, 8)).null(Null::Maybe).makes_its_own(),
];

/// The number that a text begins with, as 64 bits, and whether there is one: clamped to what they hold, which is less if they have a sign.
fn read(text: &[u8], base: u32, signed: bool) -> (u64, bool) {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let mut v = Some(0u64);
    let any = digits.first().is_some_and(|d| (*d as char).is_digit(base));
    for d in digits {
        let Some(d) = (*d as char).to_digit(base) else {
            break;
        };
        v = v
            .and_then(|v| v.checked_mul(u64::from(base)))
            .and_then(|v| v.checked_add(u64::from(d)));
    }
    let most = i64::MAX as u64 + u64::from(negative);
    let within = v.is_some_and(|v| !signed || v <= most);
    let bits = match v {
        None if !signed => u64::MAX,
        v => {
            let v = v.unwrap_or(u64::MAX);
            let v = if signed { v.min(most) } else { v };
            if negative { v.wrapping_neg() } else { v }
        }
    };
    (bits, any && within)
}

/// The digits of the first argument. A BIT's text has none.
fn digits<'a>(c: &Call<'_, 'a>) -> Result<Cow<'a, [u8]>, Exit> {
    match c.args[0].ty.base {
        BaseType::Bit => Ok(c.value(0)?.to_text().into_owned().into()),
        _ => c.text(0),
    }
}

/// CONV: 64-bit numbers between bases; a negative base says signed.
fn conv<'a>(c: &Call<'_, 'a>, text: &[u8], from: i64, to: i64) -> Computed<'a> {
    let base = |b: i64| {
        u32::try_from(b.unsigned_abs())
            .ok()
            .filter(|b| (2..=36).contains(b))
            .ok_or(Exit::Null)
    };
    let (from_base, to_base) = (base(from)?, base(to)?);
    if text.is_empty() {
        return Err(Exit::Null);
    }
    let (bits, whole) = read(text, from_base, from < 0);
    if !whole {
        truncated(c.cx.session, "DECIMAL", &Value::Bytes(text.into()))?;
    }
    let (minus, mut left) = if to < 0 && (bits as i64) < 0 {
        (true, (bits as i64).unsigned_abs())
    } else {
        (false, bits)
    };
    let mut out = Vec::new();
    loop {
        let d = (left % to_base as u64) as u32;
        out.push(
            char::from_digit(d, to_base)
                .unwrap_or('0')
                .to_ascii_uppercase() as u8,
        );
        left /= to_base as u64;
        if left == 0 {
            break;
        }
    }
    if minus {
        out.push(b'-');
    }
    out.reverse();
    Ok(Value::Bytes(out.into()))
}
