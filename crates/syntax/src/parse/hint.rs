//! Optimizer hints. What isn't one is left out: MySQL warns and goes on.

use super::Parser;
use crate::ast::Hint;
use crate::lexer::TokenKind as T;
use crate::span::Span;

impl Parser<'_> {
    /// The hints that stand here.
    pub(super) fn hints(&mut self) -> Vec<Hint> {
        let mut list = Vec::new();
        while self.at_punct(T::Hint) {
            let token = self.next();
            let text = self.slice(token);
            hints(&text[3..text.len() - 2], token.start + 3, &mut list);
        }
        list
    }
}

/// `NAME(arguments) NAME …`.
fn hints(text: &str, base: u32, list: &mut Vec<Hint>) {
    let b = text.as_bytes();
    let word = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_';
    let mut at = 0;
    while at < b.len() {
        if !word(&b[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while b.get(at).is_some_and(word) {
            at += 1;
        }
        let name = text[start..at].to_ascii_uppercase();
        let mut open = at;
        while b.get(open).is_some_and(u8::is_ascii_whitespace) {
            open += 1;
        }
        let mut args = None;
        if b.get(open) == Some(&b'(') {
            let close = closing(b, open);
            args = Some(text[open + 1..close].trim().into());
            at = (close + 1).min(b.len());
        }
        let hint = Hint {
            name: name.into(),
            args,
            span: Span::new(base + start as u32, base + at as u32),
        };
        crate::ast::list::push(list, hint);
    }
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
