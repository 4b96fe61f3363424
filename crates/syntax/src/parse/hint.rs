//! Optimizer hints. What isn't one is left out: MySQL warns and goes on.

use super::Parser;
use crate::ast::{Hint, HintText, Hints};
use crate::lexer::TokenKind as T;
use crate::span::Span;

impl Parser<'_> {
    /// The hints that stand here.
    pub(super) fn hints(&mut self) -> Hints {
        if !self.at_punct(T::Hint) {
            return Hints::default();
        }
        let token = self.next();
        let text = self.slice(token);
        Hints(Some(Box::new(HintText {
            text: text[3..text.len() - 2].into(),
            start: token.start + 3,
        })))
    }
}

impl Hints {
    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = Hint> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let hints = self.0.as_ref()?;
            next_hint(&hints.text, hints.start, &mut at)
        })
    }
}

/// The next `NAME(arguments)` or `NAME`.
fn next_hint(text: &str, base: u32, at: &mut usize) -> Option<Hint> {
    let b = text.as_bytes();
    let word = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_';
    let start = *at + b[*at..].iter().position(word)?;
    let end = start + b[start..].iter().take_while(|c| word(c)).count();
    *at = end;
    let name = text[start..end].to_ascii_uppercase();
    let blanks = b[end..].iter().take_while(|c| c.is_ascii_whitespace());
    let open = end + blanks.count();
    let mut args = None;
    if b.get(open) == Some(&b'(') {
        let close = closing(b, open);
        args = Some(text[open + 1..close].trim().into());
        *at = (close + 1).min(b.len());
    }
    Some(Hint {
        name: name.as_str().into(),
        args,
        span: Span::new(base + start as u32, base + *at as u32),
    })
}

/// Where the parenthesis that opens at `at` is closed; the end if it is not.
fn closing(b: &[u8], at: usize) -> usize {
    let mut depth = 0usize;
    let mut quote = None;
    for (n, &c) in b.iter().enumerate().skip(at) {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"' | b'`') => quote = Some(c),
            (None, b'(') => depth += 1,
            (None, b')') => {
                depth -= 1;
                if depth == 0 {
                    return n;
                }
            }
            _ => {}
        }
    }
    b.len()
}
