//! REGEXP_LIKE, REGEXP_INSTR, REGEXP_SUBSTR, REGEXP_REPLACE.

use std::borrow::Cow;
use std::cell::RefCell;

use regex::bytes::{Captures, Regex};

use super::call::bytes;
use super::string::replaced;
use super::typing::{int, within_first};
use super::{Call, Computed, Exit, Function, Null, row};
use crate::error::SqlError;
use crate::expr::compile_pattern;
use crate::expr::like::illegal_pattern;
use crate::types::Collation;
use crate::types::collation::{char_count, char_prefix};
use crate::value::Value;

thread_local! {
    /// The pattern compiled last: that of the row before, as a rule.
    static LAST: RefCell<Option<(Vec<u8>, Collation, Regex)>> = const { RefCell::new(None) };
}

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("REGEXP_LIKE", 2..=3, int::<1>, like),
    row("REGEXP_INSTR", 2..=6, int::<10>, instr),
    row("REGEXP_SUBSTR", 2..=5, within_first, substr).null(Null::Maybe).quiet(),
    row("REGEXP_REPLACE", 3..=6, replaced, replace).null(Null::OfAnyOrLong).quiet(),
];

fn like<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    // A pattern that is none is an error beside NULL too.
    let regex = pattern(c, 2)?;
    let found = regex.is_match(&c.text(0)?);
    Ok(Value::Int(i64::from(found)))
}

/// What is searched, for what, and from where.
struct Search<'a> {
    subject: Cow<'a, [u8]>,
    regex: Regex,
    start: usize,
    /// Which match is asked for; below 1, REGEXP_REPLACE replaces all and the others take the first.
    occurrence: i64,
}

impl<'a> Search<'a> {
    /// Reads the arguments: the position is argument `first`, the occurrence the one after it.
    fn of(
        c: &Call<'_, 'a>,
        first: usize,
        match_type: usize,
        otherwise: i64,
    ) -> Result<Search<'a>, Exit> {
        let regex = pattern(c, match_type)?;
        let subject = c.text(0)?;
        let start = start(c, first, &subject)?;
        let occurrence = match c.len() > first + 1 {
            true => c.int(first + 1)?,
            false => otherwise,
        };
        Ok(Search {
            subject,
            regex,
            start,
            occurrence,
        })
    }
    /// How many matches are before the one asked for.
    fn nth(&self) -> usize {
        usize::try_from(self.occurrence.max(1)).unwrap_or(usize::MAX) - 1
    }
    fn rest(&self) -> &[u8] {
        &self.subject[self.start..]
    }
}

fn instr<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let search = Search::of(c, 2, 5, 1)?;
    // Right after the text is outside of it, unless there is no text.
    if !search.subject.is_empty() && search.start == search.subject.len() {
        return Err(out_of_bounds());
    }
    let end = c.len() > 4 && c.int(4)? != 0;
    let found = search.regex.find_iter(search.rest()).nth(search.nth());
    let at = found.map(|m| search.start + if end { m.end() } else { m.start() });
    let position = at.map_or(0, |at| char_count(&search.subject[..at]) as i64 + 1);
    Ok(Value::Int(position))
}

fn substr<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let search = Search::of(c, 2, 4, 1)?;
    let found = search.regex.find_iter(search.rest()).nth(search.nth());
    bytes(found.ok_or(Exit::Null)?.as_bytes().to_vec())
}

fn replace<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let search = Search::of(c, 3, 5, 0)?;
    let with = c.text(2)?;
    let mut out = search.subject[..search.start].to_vec();
    let rest = search.rest();
    let mut at = 0;
    for (n, found) in search.regex.captures_iter(rest).enumerate() {
        if search.occurrence > 0 && n != search.nth() {
            continue;
        }
        let whole = found.get_match();
        out.extend_from_slice(&rest[at..whole.start()]);
        expand(&with, &found, &mut out);
        at = whole.end();
        c.room_for(out.len())?;
    }
    out.extend_from_slice(&rest[at..]);
    bytes(out)
}

/// The pattern, which argument `match_type` says more of.
fn pattern(c: &Call<'_, '_>, match_type: usize) -> Result<Regex, Exit> {
    let collation = super::joint(&c.args[..2], Collation::DEFAULT);
    let mut text = c.text(1)?.into_owned();
    if text.is_empty() {
        return Err(Exit::Error(illegal_pattern()));
    }
    if c.len() > match_type {
        let mut flags = String::new();
        for b in c.text(match_type)?.iter() {
            flags.push_str(match b {
                b'c' => "(?-i)",
                b'i' => "(?i)",
                b'm' => "(?m)",
                b'n' => "(?s)",
                // Only a line feed ends a line anyway.
                b'u' => "",
                _ => return Err(c.incorrect_arguments()),
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

fn out_of_bounds() -> Exit {
    let m = "Index out of bounds in regular expression search.";
    Exit::Error(SqlError::new(3686, m))
}

/// Byte at which the search begins; error 3686 outside of the text.
fn start(c: &Call<'_, '_>, argument: usize, subject: &[u8]) -> Result<usize, Exit> {
    if c.len() <= argument {
        return Ok(0);
    }
    let position = usize::try_from(c.int(argument)?).unwrap_or(0);
    if position == 0 || position > char_count(subject) + 1 {
        return Err(out_of_bounds());
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
