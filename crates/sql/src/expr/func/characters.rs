//! Lengths of texts, and characters by their codes.

use super::call::bytes;
use super::substring::{binary, count};
use super::typing::int;
use super::{ANY, Call, Computed, Exit, Function, Typing, row};
use crate::types::collation::next_char;
use crate::types::{Collation, SqlType};
use crate::value::Value;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("LENGTH", 1..=1, int::<10>, |c| Ok(Value::Int(c.text(0)?.len() as i64))).aka(&["OCTET_LENGTH"]).reads_bytes(),
    row("BIT_LENGTH", 1..=1, int::<10>, |c| Ok(Value::Int(c.text(0)?.len() as i64 * 8))).reads_bytes(),
    row("CHAR_LENGTH", 1..=1, int::<10>, char_length).aka(&["CHARACTER_LENGTH"]),
    row("ASCII", 1..=1, int::<10>, ascii).reads_bytes(),
    row("ORD", 1..=1, int::<10>, ord),
    row("CHAR", 1..=ANY, coded, char).makes_its_own(),
];

fn coded(t: &Typing<'_>) -> SqlType {
    SqlType::varchar(t.args.len() as u32 * 4, Collation::Binary)
}

fn char_length<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::Int(count(&c.text(0)?, binary(c, 0)) as i64))
}

fn ascii<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::Int(c.text(0)?.first().map_or(0, |b| *b as i64)))
}

fn ord<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.text(0)?;
    if s.is_empty() {
        return Ok(Value::Int(0));
    }
    let n = if binary(c, 0) { 1 } else { next_char(&s).1 };
    let encoding = c.args[0].ty.collation.character_set().encoding();
    let code = encoding.encoded(&s[..n]);
    Ok(Value::Int(code.iter().fold(0, |v, b| v << 8 | *b as i64)))
}

fn char<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let mut out = Vec::new();
    for i in 0..c.len() {
        let code = match c.bits(i) {
            Ok(code) => code as u32,
            // NULLs are left out.
            Err(Exit::Null) => continue,
            Err(e) => return Err(e),
        };
        let b = code.to_be_bytes();
        let skip = b.iter().take_while(|b| **b == 0).count().min(3);
        out.extend_from_slice(&b[skip..]);
    }
    bytes(out)
}
