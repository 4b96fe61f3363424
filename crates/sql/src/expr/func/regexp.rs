//! REGEXP_LIKE, REGEXP_INSTR, REGEXP_SUBSTR, REGEXP_REPLACE.

use std::cell::RefCell;

use regex::bytes::{Captures, Regex};

use super::{Call, Computed, Exit, Func};
use crate::error::SqlError;
use crate::expr::compile_pattern;
use crate::types::Collation;
use crate::types::collation::{char_count, char_prefix};
use crate::value::Value;

thread_local! {
    /// The pattern compiled last: that of the row before, as a rule.
    static LAST: RefCell<Option<(Vec<u8>, Collation, Regex)>> = const { RefCell::new(None) };
}

pub(super) fn call<'a>(f: Func, c: &Call<'_, 'a>) -> Computed<'a> {
    let subject = c.text(0)?;
    let regex = pattern(f, c)?;
    if f == Func::RegexpLike {
        return Ok(Value::Int(i64::from(regex.is_match(&subject))));
    }
    let first = if f == Func::RegexpReplace { 3 } else { 2 };
    let start = start(c, first, &subject)?;
    let occurrence = match c.len() > first + 1 {
        true => c.int(first + 1)?,
        false => i64::from(f != Func::RegexpReplace),
    };
    let nth = usize::try_from(occurrence.max(1)).unwrap_or(usize::MAX) - 1;
    match f {
        Func::RegexpInstr => {
            let end = c.len() > 4 && c.int(4)? != 0;
            let found = regex.find_iter(&subject[start..]).nth(nth);
            let at = found.map(|m| start + if end { m.end() } else { m.start() });
            let position = at.map_or(0, |at| char_count(&subject[..at]) as i64 + 1);
            Ok(Value::Int(position))
        }
        Func::RegexpSubstr => {
            let found = regex.find_iter(&subject[start..]).nth(nth);
            let m = found.ok_or(Exit::Null)?;
            Ok(Value::Bytes(m.as_bytes().to_vec().into()))
        }
        _ => {
            let with = c.text(2)?;
            let mut out = subject[..start].to_vec();
            let rest = &subject[start..];
            let mut at = 0;
            for (n, found) in regex.captures_iter(rest).enumerate() {
                if occurrence > 0 && n != nth {
                    continue;
                }
                let whole = found.get_match();
                out.extend_from_slice(&rest[at..whole.start()]);
                expand(&with, &found, &mut out);
                at = whole.end();
                c.room_for(out.len())?;
            }
            out.extend_from_slice(&rest[at..]);
            Ok(Value::Bytes(out.into()))
        }
    }
}

/// Which argument has the match type.
fn match_type(f: Func) -> usize {
    match f {
        Func::RegexpLike => 2,
        Func::RegexpSubstr => 4,
        _ => 5,
    }
}

fn pattern(f: Func, c: &Call<'_, '_>) -> Result<Regex, Exit> {
    let collation = super::joint(&c.args[..2], Collation::Utf8mb4GeneralCi);
    let mut text = c.text(1)?.into_owned();
    if c.len() > match_type(f) {
        let mut flags = String::new();
        for b in c.text(match_type(f))?.iter() {
            flags.push_str(match b {
                b'c' => "(?-i)",
                b'i' => "(?i)",
                b'm' => "(?m)",
                b'n' => "(?s)",
                // Only a line feed ends a line anyway.
                b'u' => "",
                _ => return Err(wrong(f)),
            });
        }
        text.splice(0..0, flags.into_bytes());
    }
    LAST.with_borrow_mut(|last| {
        if let Some((p, of, regex)) = last
            && *p == text
            && *of == collation
        {
            return Ok(regex.clone());
        }
        let regex = compile_pattern(&text, collation)?;
        *last = Some((text, collation, regex.clone()));
        Ok(regex)
    })
}

fn wrong(f: Func) -> Exit {
    let name = f.name().to_ascii_lowercase();
    let m = format!("Incorrect arguments to {name}");
    Exit::Error(SqlError::new(1210, m))
}

/// Byte at which the search begins; error 3686 outside of the text.
fn start(c: &Call<'_, '_>, argument: usize, subject: &[u8]) -> Result<usize, Exit> {
    if c.len() <= argument {
        return Ok(0);
    }
    let position = usize::try_from(c.int(argument)?).unwrap_or(0);
    if position == 0 || position > char_count(subject) + 1 {
        let m = "Index out of bounds in regular expression search.";
        return Err(Exit::Error(SqlError::new(3686, m)));
    }
    Ok(char_prefix(subject, position - 1))
}

/// Appends a replacement: `$1` is a group, a backslash takes its meaning from what follows.
fn expand(with: &[u8], found: &Captures<'_>, out: &mut Vec<u8>) {
    let mut i = 0;
    while i < with.len() {
        match (with[i], with.get(i + 1)) {
            (b'$', Some(d)) if d.is_ascii_digit() => {
                let group = found.get(usize::from(d - b'0'));
                out.extend_from_slice(group.map_or(b"", |m| m.as_bytes()));
                i += 1;
            }
            (b'\\', Some(next)) => {
                out.push(*next);
                i += 1;
            }
            (other, _) => out.push(other),
        }
        i += 1;
    }
}
