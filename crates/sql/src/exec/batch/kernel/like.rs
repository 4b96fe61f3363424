//! LIKE with a constant pattern.
//!
//! A pattern of printable ASCII characters and `%` is pieces between the `%`: the first stands at the text's start, the last at its end,
//! each other one where it is found first after the one before. In a collation that tells case such pieces are looked for as bytes:
//! ASCII characters stand for themselves in any text. In one that does not, both are put into upper case first, and a text with other
//! characters, which may weigh what an ASCII letter weighs, is matched character by character, as is all else.

use std::borrow::Cow;

use memchr::memmem::{Finder, FinderBuilder};

use super::super::vector::Data;
use super::logic::{NULL, negate_if, null_where};
use super::operand::Operand;
use crate::expr::{Like, like_matches};
use crate::types::Collation;
use crate::value::Value;

/// A constant pattern.
pub(super) struct Pattern<'e> {
    text: Cow<'e, [u8]>,
    escape: Option<char>,
    negated: bool,
    collation: Collation,
    pieces: Option<Pieces>,
}

/// What stands between a pattern's `%`.
struct Pieces {
    /// What the text begins with.
    first: Vec<u8>,
    /// What it has in between, in this order.
    inner: Vec<Finder<'static>>,
    /// What it ends with; `None`: there is no `%`, and the first piece is all of it.
    last: Option<Vec<u8>>,
}

impl<'e> Pattern<'e> {
    /// Prepares a pattern.
    pub fn new(l: &Like, text: Cow<'e, [u8]>) -> Pattern<'e> {
        Pattern {
            pieces: match l.collation.keeps_ascii_apart() {
                true => Pieces::new(&text, l.escape, l.collation.ignores_case()),
                false => None,
            },
            text,
            escape: l.escape,
            negated: l.negated,
            collation: l.collation,
        }
    }

    /// Whether each text matches; `None` if they are no texts.
    pub fn truths(&self, o: &Operand<'_>, n: usize) -> Option<Vec<u8>> {
        let v = match o {
            Operand::Same(Value::Null) => return Some(vec![NULL; n]),
            Operand::Same(_) => return None,
            Operand::Each(v) => v,
        };
        let Data::Bytes(texts) = &v.data else {
            return None;
        };
        let by_character = |t: &[u8]| like_matches(t, &self.text, self.escape, self.collation);
        let mut out: Vec<u8> = match &self.pieces {
            Some(p) if self.collation.ignores_case() => {
                let mut upper = Vec::new();
                let one = |t: &&[u8]| {
                    u8::from(if put_into_upper_case(t, &mut upper) {
                        p.match_text(&upper)
                    } else {
                        by_character(t)
                    })
                };
                texts.iter().map(one).collect()
            }
            Some(p) => texts.iter().map(|t| u8::from(p.match_text(t))).collect(),
            None => texts.iter().map(|t| u8::from(by_character(t))).collect(),
        };
        negate_if(self.negated, &mut out);
        null_where(&mut out, v.nulls.as_deref());
        Some(out)
    }
}

/// Puts a text into `out`, in upper case, if it is ASCII.
#[inline]
fn put_into_upper_case(text: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    let mut all = 0;
    out.extend(text.iter().map(|b| {
        all |= *b;
        b.to_ascii_uppercase()
    }));
    all < 0x80
}

impl Pieces {
    /// `None`: it has other characters, or `_`.
    fn new(pattern: &[u8], escape: Option<char>, upper: bool) -> Option<Pieces> {
        let mut pieces = vec![Vec::new()];
        let mut i = 0;
        while i < pattern.len() {
            let mut c = pattern[i];
            let escaped = escape.is_some_and(|e| e as u32 == u32::from(c)) && i + 1 < pattern.len();
            if escaped {
                i += 1;
                c = pattern[i];
            }
            i += 1;
            match c {
                b'%' if !escaped => pieces.push(Vec::new()),
                b'_' if !escaped => return None,
                b' '..=b'~' => {
                    pieces
                        .last_mut()?
                        .push(if upper { c.to_ascii_uppercase() } else { c })
                }
                _ => return None,
            }
        }
        let last = if pieces.len() > 1 { pieces.pop() } else { None };
        let first = pieces.remove(0);
        let inner = pieces.into_iter().filter(|p| !p.is_empty());
        let finder = |p: Vec<u8>| FinderBuilder::new().build_forward(&p).into_owned();
        Some(Pieces {
            first,
            inner: inner.map(finder).collect(),
            last,
        })
    }

    #[inline]
    fn match_text(&self, text: &[u8]) -> bool {
        let Some(last) = &self.last else {
            return text == self.first;
        };
        let Some(mut rest) = text.strip_prefix(self.first.as_slice()) else {
            return false;
        };
        rest = match rest.strip_suffix(last.as_slice()) {
            Some(rest) => rest,
            None => return false,
        };
        for piece in &self.inner {
            match piece.find(rest) {
                Some(at) => rest = &rest[at + piece.needle().len()..],
                None => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::collation::same_weight;

    /// What the pieces rest on.
    #[test]
    fn printable_characters_differ_but_for_case() {
        for collation in Collation::ALL.iter().copied() {
            if !collation.keeps_ascii_apart() {
                continue;
            }
            for a in b' '..=b'~' {
                for b in 0..0x80 {
                    let same = same_weight(collation, a.into(), b.into());
                    let alike = if collation.ignores_case() {
                        a.eq_ignore_ascii_case(&b)
                    } else {
                        a == b
                    };
                    assert_eq!(same, alike, "{collation:?} {:?} {:?}", a as char, b as char);
                }
            }
        }
    }
}
