//! Sets of global transaction identifiers: `uuid:1-5:9, uuid:tag:3`.

use std::collections::BTreeMap;

use super::call::bytes;
use super::typing::int;
use super::{Call, Computed, Exit, Function, row};
use crate::error::SqlError;
use crate::value::Value;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("GTID_SUBSET", 2..=2, int::<1>, subset),
    row("GTID_SUBTRACT", 2..=2, |t| t.plain(t.length(0).saturating_mul(2).saturating_add(t.length(1))), subtract),
];

/// The greatest number of a transaction.
const LAST: u64 = i64::MAX as u64 - 1;

/// Numbers from the first to the last, in order, with gaps between.
type Intervals = Vec<(u64, u64)>;

/// Of each source, and each tag of it, the numbers.
type Set = BTreeMap<(String, String), Intervals>;

fn subset<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (a, b) = (set(c, 0)?, set(c, 1)?);
    Ok(Value::Int(i64::from(without(a, &b).is_empty())))
}

fn subtract<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (a, b) = (set(c, 0)?, set(c, 1)?);
    bytes(text(&without(a, &b)).into_bytes())
}

/// An argument; error 1772 if it is no set.
fn set(c: &Call<'_, '_>, at: usize) -> Result<Set, Exit> {
    let text = c.text(at)?;
    let text = String::from_utf8_lossy(&text);
    parse(&text).ok_or_else(|| {
        let m = format!("Malformed GTID set specification '{text}'.");
        SqlError::new(1772, m).into()
    })
}

fn parse(text: &str) -> Option<Set> {
    let mut set = Set::new();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let mut pieces = part.split(':').map(str::trim);
        let source = uuid(pieces.next()?)?;
        let mut tag = String::new();
        for piece in pieces {
            if piece.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                let of_tag = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if piece.len() > 32 || !piece.chars().all(of_tag) {
                    return None;
                }
                tag = piece.to_ascii_lowercase();
                continue;
            }
            let (first, last) = interval(piece)?;
            // What ends before it begins is nothing.
            if first <= last {
                let key = (source.clone(), tag.clone());
                set.entry(key).or_default().push((first, last));
            }
        }
    }
    set.values_mut().for_each(join);
    Some(set)
}

/// 32 hexadecimal digits, with dashes where they belong, in braces, or without.
fn uuid(text: &str) -> Option<String> {
    let bare = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}')?,
        None => text,
    };
    let dashes = [8, 13, 18, 23];
    let dashed = bare.len() == 36 && dashes.iter().all(|&at| bare.as_bytes()[at] == b'-');
    let digits: String = match dashed {
        true => bare.chars().filter(|c| *c != '-').collect(),
        false => bare.into(),
    };
    if digits.len() != 32 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let d = digits.to_ascii_lowercase();
    Some(format!(
        "{}-{}-{}-{}-{}",
        &d[..8],
        &d[8..12],
        &d[12..16],
        &d[16..20],
        &d[20..]
    ))
}

fn interval(text: &str) -> Option<(u64, u64)> {
    let number = |s: &str| {
        let digits = !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        let number = s.parse().ok().filter(|n| (1..=LAST).contains(n));
        number.filter(|_| digits)
    };
    match text.split_once('-') {
        Some((first, last)) => Some((number(first.trim())?, number(last.trim())?)),
        None => number(text).map(|n| (n, n)),
    }
}

/// Puts intervals in order and makes one of those that meet.
fn join(list: &mut Intervals) {
    list.sort_unstable();
    let mut joined: Intervals = Vec::with_capacity(list.len());
    for &(first, last) in list.iter() {
        match joined.last_mut() {
            Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    *list = joined;
}

fn without(mut a: Set, b: &Set) -> Set {
    for (key, list) in &mut a {
        if let Some(gone) = b.get(key) {
            *list = rest(list, gone);
        }
    }
    a.retain(|_, list| !list.is_empty());
    a
}

/// What is left of intervals without others, both in order.
fn rest(list: &[(u64, u64)], gone: &[(u64, u64)]) -> Intervals {
    let mut left = Vec::new();
    let mut at = 0;
    for &(mut first, last) in list {
        while at < gone.len() && gone[at].1 < first {
            at += 1;
        }
        let mut next = at;
        while first <= last && next < gone.len() && gone[next].0 <= last {
            if gone[next].0 > first {
                left.push((first, gone[next].0 - 1));
            }
            first = gone[next].1 + 1;
            next += 1;
        }
        if first <= last {
            left.push((first, last));
        }
    }
    left
}

fn text(set: &Set) -> String {
    let mut out = String::new();
    let mut before = None;
    for ((source, tag), list) in set {
        if before != Some(source) {
            if before.is_some() {
                out.push_str(",\n");
            }
            out.push_str(source);
            before = Some(source);
        }
        if !tag.is_empty() {
            out.push(':');
            out.push_str(tag);
        }
        for (first, last) in list {
            out.push_str(&format!(":{first}"));
            if last > first {
                out.push_str(&format!("-{last}"));
            }
        }
    }
    out
}
