//! Headings of select items without an alias: their source text, of texts what they say.

use std::borrow::Cow;

use millpond_syntax::Span;
use millpond_syntax::lexer::{LexMode, Lexer, TokenKind};

use super::scope::Binder;
use crate::expr::bind::{Scope, odbc_text, read_in};
use crate::parse::ast;
use crate::types::Collation;

impl Binder<'_, '_> {
    /// The heading of an item without an alias: its source text. A text's is what it says, and of several in a row what the
    /// first one says, without what comes before its first visible character; parentheses around a literal are no part of it.
    pub fn heading(&self, e: &ast::Expr, source: Span) -> String {
        if let Some(name) = name_const(e) {
            return name;
        }
        if let Some(text) = self.said(e) {
            return text.trim_start_matches(|c| c <= ' ' || c == '\x7f').into();
        }
        if let ast::ExprKind::Odbc(parts) = &e.kind
            && let Some(text) = odbc_text(&parts.0, &parts.1, self)
        {
            return text.to_string();
        }
        if let ast::ExprKind::Null = &e.kind {
            return "NULL".into();
        }
        let source = match is_number(e) {
            true => e.span,
            false => source,
        };
        let text = source.of(self.text);
        if !text.contains("/*!") && !text.contains("*/") {
            return text.to_string();
        }
        let mode = crate::parse::lex_mode(self.cx.env.sql_mode.get());
        opened(self.text, source, mode)
    }

    /// What a text says, the first of several in a row.
    fn said<'e>(&self, e: &'e ast::Expr) -> Option<Cow<'e, str>> {
        match &e.kind {
            ast::ExprKind::Literal(l) => first_text(l).map(Cow::Borrowed),
            ast::ExprKind::Introduced(l) => {
                let collation = Collation::of_charset(l.charset.as_str()).ok()?;
                let text = first_text(&l.literal)?;
                let sent = self.client().encoded(text.as_bytes()).into_owned();
                let bytes = read_in(sent, collation).ok()?;
                Some(String::from_utf8_lossy(&bytes).into_owned().into())
            }
            _ => None,
        }
    }
}

fn first_text(l: &ast::Literal) -> Option<&str> {
    match l {
        ast::Literal::Text(text, first) => {
            let first = first.and_then(|n| text.get(..n as usize));
            Some(first.unwrap_or(text))
        }
        ast::Literal::National(text) => Some(text),
        _ => None,
    }
}

/// Whether an item is a number.
fn is_number(e: &ast::Expr) -> bool {
    use ast::ExprKind as K;
    match &e.kind {
        K::Int(_) => true,
        K::Literal(l) => matches!(
            &**l,
            ast::Literal::BigInt(_) | ast::Literal::Decimal(_) | ast::Literal::Float(_)
        ),
        _ => false,
    }
}

/// The heading that NAME_CONST is there to give.
fn name_const(e: &ast::Expr) -> Option<String> {
    let e = e.tree();
    let ast::ExprKind::Call(c) = &e.kind else {
        return None;
    };
    let Some([name, _]) = c.args.as_slice() else {
        return None;
    };
    if !c.name.as_str().eq_ignore_ascii_case("name_const") {
        return None;
    }
    match &name.kind {
        ast::ExprKind::Literal(l) => match &**l {
            ast::Literal::Text(text, _) => Some(text.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// A part of a text with its version comments opened: what they hold without what makes them comments. Other comments stay.
fn opened(text: &str, part: Span, mode: LexMode) -> String {
    let mut lexer = Lexer::new(text, mode);
    let mut out = String::new();
    let mut end = part.start as usize;
    loop {
        let token = lexer.next_token();
        if token.kind == TokenKind::End || token.start >= part.end {
            return out;
        }
        if token.start >= part.start {
            open(text.get(end..token.start as usize).unwrap_or(""), &mut out);
            out.push_str(token.span().of(text));
            end = token.end as usize;
        }
    }
}

/// Opens what stands between two tokens.
fn open(mut between: &str, out: &mut String) {
    /// Longest version.
    const DIGITS: usize = 6;
    loop {
        let (start, end) = (between.find("/*"), between.find("*/"));
        match (start, end) {
            (None, None) => return out.push_str(between),
            (Some(s), e) if e.is_none_or(|e| s < e) => {
                let comment = &between[s..];
                let version = comment.starts_with("/*!") || comment.starts_with("/*M!");
                out.push_str(&between[..s]);
                match e {
                    Some(e) => {
                        out.push_str(if version { "" } else { &between[s..e + 2] });
                        between = &between[e + 2..];
                    }
                    None => {
                        let code = comment.trim_start_matches("/*!");
                        let digits = code.bytes().take(DIGITS).take_while(u8::is_ascii_digit);
                        return out.push_str(&code[digits.count()..]);
                    }
                }
            }
            (_, e) => {
                let e = e.unwrap_or(between.len());
                out.push_str(&between[..e]);
                between = between.get(e + 2..).unwrap_or("");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_comments_are_opened() {
        for (text, part, heading) in [
            ("select 1 /*!40000 + 2 */", "1 /*!40000 + 2", "1  + 2"),
            ("select 1 /*! + 2 */ + 3", "1 /*! + 2 */ + 3", "1  + 2  + 3"),
            ("select /*!40000 1 + 2 */ + 3", "1 + 2 */ + 3", "1 + 2  + 3"),
            (
                "select 1 /*!99999 + 2 */ + 3",
                "1 /*!99999 + 2 */ + 3",
                "1  + 3",
            ),
            ("select 1 /* c */ + 2", "1 /* c */ + 2", "1 /* c */ + 2"),
            ("select '*/' /*!+*/ 2", "'*/' /*!+*/ 2", "'*/' + 2"),
        ] {
            let at = text.find(part).unwrap() as u32;
            let span = Span::new(at, at + part.len() as u32);
            assert_eq!(opened(text, span, LexMode::default()), heading, "{text}");
        }
    }
}
