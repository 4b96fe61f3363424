//! Numbers written in other bases.

use super::typing::plain;
use super::{Computed, Exit, Function, Null, row};
use crate::value::Value;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("CONV", 3..=3, plain::<64>, |c| conv(&c.text(0)?, c.int(1)?, c.int(2)?)).null(Null::Maybe),
    row("BIN", 1..=1, plain::<64>, |c| conv(&c.text(0)?, 10, 2)).null(Null::Maybe),
    row("OCT", 1..=1, plain::<64>, |c| conv(&c.text(0)?, 10, 8)).null(Null::Maybe),
];

/// CONV: 64-bit numbers between bases; a negative base says signed.
fn conv<'a>(text: &[u8], from: i64, to: i64) -> Computed<'a> {
    let base = |b: i64| {
        u32::try_from(b.abs())
            .ok()
            .filter(|b| (2..=36).contains(b))
            .ok_or(Exit::Null)
    };
    let (from_base, to_base) = (base(from)?, base(to)?);
    let text = text.trim_ascii();
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        _ => (false, text),
    };
    let mut v = 0u64;
    let mut any = false;
    for d in digits {
        let Some(d) = (*d as char).to_digit(from_base) else {
            break;
        };
        any = true;
        v = v
            .checked_mul(from_base as u64)
            .and_then(|v| v.checked_add(d as u64))
            .unwrap_or(u64::MAX);
    }
    if !any && text.is_empty() {
        return Err(Exit::Null);
    }
    let bits = if negative { v.wrapping_neg() } else { v };
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
