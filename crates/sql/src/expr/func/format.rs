//! FORMAT and the like: numbers as people write them.

use std::borrow::Cow;

use super::call::bytes;
use super::typing::plain;
use super::{Call, Computed, Exit, Function, Typing, row};
use crate::env::locale::{self, Numbers};
use crate::types::SqlType;
use crate::value::Decimal;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("FORMAT", 2..=3, formatted, format).makes_its_own(),
    row("FORMAT_BYTES", 1..=1, plain::<20>, |c| bytes(in_units(c.double(0)?, &BYTES, 4).into_bytes())).makes_its_own(),
    row("FORMAT_PICO_TIME", 1..=1, plain::<20>, |c| bytes(in_units(c.double(0)?, &TIMES, 3).into_bytes())).makes_its_own(),
];

/// Units of bytes, the greatest first.
const BYTES: [(f64, &str); 7] = [
    ((1u64 << 60) as f64, "EiB"),
    ((1u64 << 50) as f64, "PiB"),
    ((1u64 << 40) as f64, "TiB"),
    ((1u64 << 30) as f64, "GiB"),
    ((1u64 << 20) as f64, "MiB"),
    (1024.0, "KiB"),
    (1.0, "bytes"),
];

/// Units of time in picoseconds, the greatest first.
const TIMES: [(f64, &str); 8] = [
    (86_400e12, "d"),
    (3600e12, "h"),
    (60e12, "min"),
    (1e12, "s"),
    (1e9, "ms"),
    (1e6, "us"),
    (1e3, "ns"),
    (1.0, "ps"),
];

/// A number in the greatest unit of which it has one: with two decimals, in scientific notation from 100,000 on; of the smallest unit
/// as a whole number of so many characters.
fn in_units(number: f64, units: &[(f64, &str)], width: usize) -> String {
    let unit = units.iter().find(|u| number.abs() >= u.0);
    match unit.filter(|u| u.0 > 1.0) {
        None => {
            let smallest = units.last().map_or("", |u| u.1);
            format!("{:width$} {smallest}", number.trunc())
        }
        Some(&(size, name)) => {
            let value = number / size;
            if value.abs() < 100_000.0 {
                return format!("{value:4.2} {name}");
            }
            let text = format!("{value:.2e}");
            let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{digits}e+{power:0>2} {name}")
        }
    }
}

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
