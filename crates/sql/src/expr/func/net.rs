//! Internet addresses.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::typing::{binary, int, plain, ubigint};
use super::{Call, Computed, Exit, Function, Null, row};
use crate::value::Value;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("INET_ATON", 1..=1, ubigint, inet_aton).null(Null::Maybe),
    row("INET_NTOA", 1..=1, plain::<31>, inet_ntoa).null(Null::Maybe).makes_its_own(),
    row("INET6_ATON", 1..=1, binary::<16>, inet6_aton).null(Null::Maybe).makes_its_own(),
    row("INET6_NTOA", 1..=1, plain::<39>, inet6_ntoa).null(Null::Maybe).makes_its_own(),
    row("IS_IPV4", 1..=1, int::<1>, is::<Ipv4Addr>),
    row("IS_IPV6", 1..=1, int::<1>, is::<Ipv6Addr>),
    row("IS_IPV4_COMPAT", 1..=1, int::<1>, |c| is_number(c, |b| b[..12] == [0; 12] && !matches!(b[12..], [0, 0, 0, 0 | 1]))),
    row("IS_IPV4_MAPPED", 1..=1, int::<1>, |c| is_number(c, |b| b[..10] == [0; 10] && b[10..12] == [255; 2])),
];

/// Whether the argument is an address.
fn is<'a, A: FromStr>(c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.text(0)?;
    let parsed = std::str::from_utf8(&s).is_ok_and(|s| s.parse::<A>().is_ok());
    Ok(Value::Int(i64::from(parsed)))
}

/// Whether the argument is an address of IPv6 as bytes, and of this kind.
fn is_number<'a>(c: &Call<'_, 'a>, kind: fn(&[u8; 16]) -> bool) -> Computed<'a> {
    let bytes = c.text(0)?;
    let address = <&[u8; 16]>::try_from(&*bytes);
    Ok(Value::Int(i64::from(address.is_ok_and(kind))))
}

/// NULL with warning 1411, which shows what the argument says.
fn incorrect(c: &Call<'_, '_>) -> Exit {
    c.incorrect_value("string")
}

fn inet_aton<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.text(0)?;
    let number = number(&s).ok_or_else(|| incorrect(c))?;
    Ok(Value::UInt(number))
}

fn inet_ntoa<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let number = u32::try_from(c.bits(0)?).map_err(|_| c.incorrect_value("integer"))?;
    Ok(Value::string(Ipv4Addr::from(number).to_string()))
}

fn inet6_aton<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.text(0)?;
    let address = std::str::from_utf8(&s).unwrap_or_default();
    let bytes = match (address.parse::<Ipv4Addr>(), address.parse::<Ipv6Addr>()) {
        (Ok(a), _) => a.octets().to_vec(),
        (_, Ok(a)) => a.octets().to_vec(),
        _ => return Err(incorrect(c)),
    };
    Ok(Value::Bytes(bytes.into()))
}

fn inet6_ntoa<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.text(0)?;
    Ok(Value::string(
        match (<[u8; 4]>::try_from(&*s), <[u8; 16]>::try_from(&*s)) {
            (Ok(b), _) => Ipv4Addr::from(b).to_string(),
            (_, Ok(b)) => inet6_text(Ipv6Addr::from(b)),
            _ => return Err(incorrect(c)),
        },
    ))
}

/// Four numbers with points between them, or fewer, of which the last then stands for the rest.
fn number(s: &[u8]) -> Option<u64> {
    let s = std::str::from_utf8(s).ok()?;
    let parts: Vec<&str> = s.split('.').collect();
    if parts.len() > 4 {
        return None;
    }
    let mut number = 0u64;
    for (i, part) in parts.iter().enumerate() {
        // Before a point there may be nothing, which is 0.
        let part = if part.is_empty() && i + 1 < parts.len() {
            "0"
        } else {
            part
        };
        let digits = part.bytes().all(|b| b.is_ascii_digit());
        number = number << 8 | u64::from(part.parse::<u8>().ok().filter(|_| digits)?);
    }
    Some(match parts.len() {
        2 => (number >> 8) << 24 | number & 0xff,
        3 => (number >> 8) << 16 | number & 0xff,
        _ => number,
    })
}

/// An address as MySQL writes it: one that holds an IPv4 address shows it.
fn inet6_text(a: Ipv6Addr) -> String {
    let s = a.segments();
    let compatible = s[..6].iter().all(|s| *s == 0) && s[6] != 0;
    match compatible {
        true => format!(
            "::{}",
            Ipv4Addr::from(u32::from(s[6]) << 16 | u32::from(s[7]))
        ),
        false => a.to_string(),
    }
}
