//! FORMAT: numbers as people write them.

use std::borrow::Cow;

use super::call::bytes;
use super::{Call, Computed, Exit, Function, Typing, row};
use crate::env::locale::{self, Numbers};
use crate::types::SqlType;
use crate::value::Decimal;

pub(super) const FUNCTIONS: &[Function] = &[row("FORMAT", 2..=3, formatted, format)];

fn formatted(t: &Typing<'_>) -> SqlType {
    t.plain(t.length(0).saturating_mul(2) + 32)
}

fn format<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let digits = c.int(1)?.clamp(0, 30) as u8;
    let d = c.decimal(0)?.round(digits);
    bytes(grouped(&d, format_locale(c)?).into_bytes())
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
