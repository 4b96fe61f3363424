//! Addresses, periods, sets of bits as texts, SOUNDEX.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Call, Computed, Exit, Func};
use crate::error::SqlError;
use crate::value::Value;

/// Codes of the letters A to Z; 0 is said of those that sound like nothing.
const SOUNDS: &[u8; 26] = b"01230120022455012623010202";
/// Longest result of RANDOM_BYTES.
const MOST_RANDOM: i64 = 1024;

pub(super) fn call<'a>(f: Func, c: &Call<'_, 'a>) -> Computed<'a> {
    match f {
        Func::Soundex => Ok(text(soundex(&String::from_utf8_lossy(&c.text(0)?)))),
        Func::PeriodAdd => {
            let months = months(c, 0)?.saturating_add(c.int(1)?).max(0);
            Ok(Value::Int(months / 12 * 100 + months % 12 + 1))
        }
        Func::PeriodDiff => Ok(Value::Int(months(c, 0)? - months(c, 1)?)),
        Func::InetAton => {
            let s = c.text(0)?;
            let number = inet_aton(&s).ok_or_else(|| incorrect(c, &s))?;
            Ok(Value::UInt(number))
        }
        Func::InetNtoa => {
            let number = u32::try_from(c.int(0)?).map_err(|_| Exit::Null)?;
            Ok(text(Ipv4Addr::from(number).to_string()))
        }
        Func::Inet6Aton => {
            let s = c.text(0)?;
            let address = std::str::from_utf8(&s).unwrap_or_default();
            let bytes = match (address.parse::<Ipv4Addr>(), address.parse::<Ipv6Addr>()) {
                (Ok(a), _) => a.octets().to_vec(),
                (_, Ok(a)) => a.octets().to_vec(),
                _ => return Err(incorrect(c, &s)),
            };
            Ok(Value::Bytes(bytes.into()))
        }
        Func::Inet6Ntoa => {
            let s = c.text(0)?;
            match (<[u8; 4]>::try_from(&*s), <[u8; 16]>::try_from(&*s)) {
                (Ok(b), _) => Ok(text(Ipv4Addr::from(b).to_string())),
                (_, Ok(b)) => Ok(text(inet6_text(Ipv6Addr::from(b)))),
                _ => Err(incorrect(c, &s)),
            }
        }
        Func::IsIpv4 => Ok(is::<Ipv4Addr>(&c.text(0)?)),
        Func::IsIpv6 => Ok(is::<Ipv6Addr>(&c.text(0)?)),
        Func::MakeSet => make_set(c),
        Func::ExportSet => export_set(c),
        // RANDOM_BYTES, the last of them.
        _ => random_bytes(c),
    }
}

fn text<'a>(s: String) -> Value<'a> {
    Value::string(s)
}

fn is<'a, A: std::str::FromStr>(s: &[u8]) -> Value<'a> {
    let parsed = std::str::from_utf8(s).is_ok_and(|s| s.parse::<A>().is_ok());
    Value::Int(i64::from(parsed))
}

/// NULL with warning 1411.
fn incorrect(c: &Call<'_, '_>, value: &[u8]) -> Exit {
    let name = match &c.expr.kind {
        crate::expr::ExprKind::Function(f, _) => f.name().to_ascii_lowercase(),
        _ => String::new(),
    };
    let shown = crate::value::printable(value);
    let m = format!("Incorrect string value: '{shown}' for function {name}");
    c.cx.session.warn(1411, m);
    Exit::Null
}

fn soundex(s: &str) -> String {
    let sound = |c: char| match c.to_ascii_uppercase() {
        c @ 'A'..='Z' => char::from(SOUNDS[usize::from(c as u8 - b'A')]),
        _ => '0',
    };
    let mut letters = s.chars().filter(|c| c.is_alphabetic());
    let Some(first) = letters.next() else {
        return String::new();
    };
    let mut out = String::from(first.to_ascii_uppercase());
    let mut count = 1;
    let mut last = sound(first);
    for code in letters.map(sound) {
        if code != '0' && code != last {
            out.push(code);
            count += 1;
            last = code;
        }
    }
    out.extend(std::iter::repeat_n('0', 4usize.saturating_sub(count)));
    out
}

/// A period (`YYYYMM` or `YYMM`) as months; error 1210 if it is none.
fn months(c: &Call<'_, '_>, i: usize) -> Result<i64, Exit> {
    let period = c.int(i)?;
    let (year, month) = (period / 100, period % 100);
    if period <= 0 || !(1..=12).contains(&month) {
        let name = match &c.expr.kind {
            crate::expr::ExprKind::Function(f, _) => f.name().to_ascii_lowercase(),
            _ => String::new(),
        };
        let m = format!("Incorrect arguments to {name}");
        return Err(Exit::Error(SqlError::new(1210, m)));
    }
    let year = match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        _ => year,
    };
    Ok(year * 12 + month - 1)
}

/// Four numbers with points between them, or fewer, of which the last then stands for the rest.
fn inet_aton(s: &[u8]) -> Option<u64> {
    let s = std::str::from_utf8(s).ok()?;
    let parts: Vec<&str> = s.split('.').collect();
    if parts.len() > 4 {
        return None;
    }
    let mut number = 0u64;
    for part in &parts {
        let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
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

fn make_set<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let bits = c.int(0)? as u64;
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
    let bits = c.int(0)? as u64;
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

fn random_bytes<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    use std::io::Read;
    let n = c.int(0)?;
    if !(1..=MOST_RANDOM).contains(&n) {
        let m = "length value is out of range in 'random_bytes'";
        return Err(Exit::Error(SqlError::new(1690, m)));
    }
    let mut out = vec![0; n as usize];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut out));
    read.map_err(|e| Exit::Error(SqlError::new(1105, format!("no random bytes: {e}"))))?;
    Ok(Value::Bytes(out.into()))
}
