//! Where statements end and placeholders are, told without parsing.

use crate::lexer::{LexMode, Lexer, TokenKind as T};

/// Splits off the first statement of a text: (statement without its semicolon, rest after it). Quotes and comments are respected,
/// BEGIN and END are not: what may hold a routine is parsed ([`crate::parse_statement_of_many`]). The rest is empty after the
/// last statement.
pub fn split_first(text: &str, mode: LexMode) -> (&str, &str) {
    let mut lexer = Lexer::new(text, mode);
    loop {
        let token = lexer.next_token();
        match token.kind {
            T::Semicolon => {
                let rest = &text[token.end as usize..];
                return (&text[..token.start as usize], rest.trim_start());
            }
            T::End => return (text, ""),
            _ => {}
        }
    }
}

/// Where a statement's placeholders are, in bytes.
pub fn placeholders(text: &str, mode: LexMode) -> Vec<usize> {
    let mut lexer = Lexer::new(text, mode);
    let mut places = Vec::new();
    loop {
        let token = lexer.next_token();
        match token.kind {
            T::Param => places.push(token.start as usize),
            T::End => return places,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        let mut out = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (first, r) = split_first(rest, LexMode::default());
            out.push(first);
            rest = r;
        }
        out
    }

    #[test]
    fn splits_outside_quotes_and_comments() {
        assert_eq!(split("select 1"), ["select 1"]);
        assert_eq!(split("select 1; select 2;"), ["select 1", "select 2"]);
        assert_eq!(split("select ';'; b"), ["select ';'", "b"]);
        assert_eq!(split(r"select 'a\';'; b"), [r"select 'a\';'", "b"]);
        assert_eq!(split("select 'a'';'; b"), ["select 'a'';'", "b"]);
        assert_eq!(split("select `;`; b"), ["select `;`", "b"]);
        assert_eq!(split("a /* ; */; b"), ["a /* ; */", "b"]);
        assert_eq!(split("a -- ;\n; b"), ["a -- ;\n", "b"]);
        assert_eq!(split("a # ;\n; b"), ["a # ;\n", "b"]);
        assert_eq!(split("select 1--1; b"), ["select 1--1", "b"]);
        let mode = LexMode {
            no_backslash_escapes: true,
            ..LexMode::default()
        };
        assert_eq!(split_first(r"select 'a\'; b", mode), (r"select 'a\'", "b"));
    }

    #[test]
    fn placeholders_are_found_outside_quotes_and_comments() {
        let find = |text| placeholders(text, LexMode::default());
        assert_eq!(find("select ?, '?', `?` /* ? */ -- ?\n, ?"), [7, 34]);
        assert_eq!(find("select /*! ? */ /*!99999 ? */ 1"), [11]);
    }
}
