//! UUIDs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::typing::{binary, int, plain, ubigint};
use super::{Call, Computed, Exit, Follows, Function, row, unhex};
use crate::error::SqlError;
use crate::value::Value;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("UUID", 0..=0, plain::<36>, |_| Ok(Value::string(uuid()))).follows(Follows::Call).makes_its_own(),
    row("UUID_SHORT", 0..=0, ubigint, |c| Ok(Value::UInt(short(c)?))).follows(Follows::Call),
    row("IS_UUID", 1..=1, int::<1>, |c| Ok(Value::Int(i64::from(parse(&c.text(0)?).is_some())))),
    row("UUID_TO_BIN", 1..=2, binary::<16>, uuid_to_bin).makes_its_own(),
    row("BIN_TO_UUID", 1..=2, plain::<36>, bin_to_uuid).makes_its_own(),
];

fn uuid_to_bin<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.text(0)?;
    let mut b = parse(&s).ok_or_else(|| incorrect(c, &s))?;
    if swapped(c)? {
        // The parts of the time in the order of their weight.
        let (low, middle, high) = (&b[..4], &b[4..6], &b[6..8]);
        let time = [high, middle, low].concat();
        b[..8].copy_from_slice(&time);
    }
    Ok(Value::Bytes(b.to_vec().into()))
}

fn bin_to_uuid<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.text(0)?;
    let mut b = <[u8; 16]>::try_from(&*s).map_err(|_| incorrect(c, &s))?;
    if swapped(c)? {
        let (high, middle, low) = (&b[..2], &b[2..4], &b[4..8]);
        let time = [low, middle, high].concat();
        b[..8].copy_from_slice(&time);
    }
    let mut text: String = b.iter().map(|b| format!("{b:02x}")).collect();
    for at in [20, 16, 12, 8] {
        text.insert(at, '-');
    }
    Ok(Value::string(text))
}

/// Whether the second argument asks for the time's parts in another order.
fn swapped(c: &Call<'_, '_>) -> Result<bool, Exit> {
    Ok(match c.args.get(1) {
        Some(a) => a.eval(c.cx)?.to_i64() != 0,
        None => false,
    })
}

fn incorrect(c: &Call<'_, '_>, value: &[u8]) -> Exit {
    let shown = crate::value::printable(value);
    let m = format!(
        "Incorrect string value: '{shown}' for function {}",
        c.name()
    );
    Exit::Error(SqlError::new(1411, m))
}

/// 32 digits, with or without the dashes; with dashes, there may be braces around them.
fn parse(s: &[u8]) -> Option<[u8; 16]> {
    let inner = s.strip_prefix(b"{").and_then(|s| s.strip_suffix(b"}"));
    let dashed = inner.unwrap_or(s);
    let digits: Vec<u8> = if dashed.len() == 36 {
        let dash = |i: usize| matches!(i, 8 | 13 | 18 | 23);
        let digits = dashed.iter().enumerate().filter(|(i, _)| !dash(*i));
        let dashes = (0..36).all(|i| !dash(i) || dashed[i] == b'-');
        dashes.then(|| digits.map(|(_, b)| *b).collect())?
    } else {
        inner.is_none().then(|| s.to_vec())?
    };
    match digits.len() {
        32 => unhex(&digits)?.try_into().ok(),
        _ => None,
    }
}

/// UUID_SHORT(): the server's id, when the first was asked for, and a count.
fn short(c: &Call<'_, '_>) -> Result<u64, Exit> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let server = (c.cx.session.sys_var)("global", "server_id")?.to_bits();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let start = now.map_or(0, |d| d.as_secs()) << 24;
    let _ = NEXT.compare_exchange(0, start, Ordering::Relaxed, Ordering::Relaxed);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    Ok((server & 255) << 56 | count & ((1 << 56) - 1))
}

/// 100 ns steps from 1582-10-15, where UUIDs count from, to 1970.
const GREGORIAN: u64 = 0x01b2_1dd2_1381_4000;

/// A version 1 UUID: time and a node made up at start.
fn uuid() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| (d.as_nanos() / 100) as u64)
        + GREGORIAN;
    // Never the same time twice.
    let stamp = LAST
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
            Some(now.max(last + 1))
        })
        .map_or(now, |last| now.max(last + 1));
    let node = node();
    format!(
        "{:08x}-{:04x}-1{:03x}-{:04x}-{:012x}",
        stamp as u32,
        (stamp >> 32) as u16,
        (stamp >> 48) as u16 & 0xfff,
        0x8000 | (node >> 48) as u16 & 0x3fff,
        node & 0xffff_ffff_ffff | 0x0100_0000_0000,
    )
}

fn node() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    static NODE: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *NODE.get_or_init(|| RandomState::new().hash_one(std::process::id()))
}
