//! Expressions as the definitions of tables keep them: those of CHECK, generated columns, DEFAULT and functional indexes.
//!
//! [`View`](super::View)'s form with what makes it mean the same to every session: texts say which character set they are in, columns go without
//! the one table that they can be of, and functions go by the one name that MySQL shows whichever of their names was written. The form
//! is made of the printed text's tokens, for a tree's lists can't be changed in place. What is printed parses to a tree that is printed
//! the same.

use super::view::V;
use crate::ast::{Expr, Ident};
use crate::lexer::{LexMode, Lexer, Token, TokenKind};
use crate::text::unquote;

/// Functions that MySQL shows under another of their names.
const SHOWN: [(&str, &str); 14] = [
    ("ceil", "ceiling"),
    ("character_length", "char_length"),
    ("current_date", "curdate"),
    ("current_time", "curtime"),
    ("current_timestamp", "now"),
    ("day", "dayofmonth"),
    ("lcase", "lower"),
    ("localtime", "now"),
    ("localtimestamp", "now"),
    ("mid", "substr"),
    ("octet_length", "length"),
    ("power", "pow"),
    ("substring", "substr"),
    ("ucase", "upper"),
];

/// An expression in this form. `charset`: that of texts which say none; `column`: gives a column's name as its definition has it; it
/// is told what stood before the name, too.
pub fn definition(
    e: &Expr,
    charset: &str,
    column: &mut dyn FnMut(&[String], &str) -> String,
) -> String {
    definition_of_client(e, charset, &|_| None, column)
}

/// The same of what a client sent in another character set than UTF-8. `sent`: gives the bytes that a text was sent as, if they are not its UTF-8: an
/// introducer is about these.
pub fn definition_of_client(
    e: &Expr,
    charset: &str,
    sent: &dyn Fn(&str) -> Option<Vec<u8>>,
    column: &mut dyn FnMut(&[String], &str) -> String,
) -> String {
    let name = |quoted: &str| unquote(quoted, false).into_owned();
    let text = V(e).to_string();
    let tokens = tokens(&text);
    let mut out = String::with_capacity(text.len() + 16);
    // Where the text goes on that is not written yet.
    let mut from = 0;
    let mut qualifier = Vec::new();
    for (n, token) in tokens.iter().enumerate() {
        let (mut start, end) = (token.start as usize, token.end as usize);
        let word = &text[start..end];
        let before = n.checked_sub(1).map(|n| tokens[n]);
        let next = tokens.get(n + 1).map(|t| t.kind);
        let replaced = match token.kind {
            // The name of its table, or of that one's database.
            TokenKind::QuotedIdent if next == Some(TokenKind::Dot) => {
                qualifier.push(name(word));
                Some(String::new())
            }
            TokenKind::Dot => Some(String::new()),
            TokenKind::QuotedIdent if names_charset(before, &text) => Some(name(word)),
            TokenKind::QuotedIdent => {
                let own = column(&std::mem::take(&mut qualifier), &name(word));
                Some(Ident::new(&own).to_string())
            }
            TokenKind::Text if introduced(before) => {
                start = before.map_or(start, |t| t.end as usize);
                Some(match sent(&unquote(word, true)) {
                    Some(bytes) => {
                        let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
                        format!(" x'{digits}'")
                    }
                    None => word.to_string(),
                })
            }
            TokenKind::Text if takes_charset(before, &text) => Some(format!("_{charset}{word}")),
            TokenKind::Keyword(_) | TokenKind::Ident if next == Some(TokenKind::LParen) => {
                let shown = SHOWN.iter().find(|(name, _)| *name == word);
                shown.map(|(_, shown)| shown.to_string())
            }
            _ => None,
        };
        if let Some(replaced) = replaced {
            out.push_str(&text[from..start]);
            out.push_str(&replaced);
            from = end;
        }
    }
    out.push_str(&text[from..]);
    out
}

fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer::new(text, LexMode::default());
    let next = || Some(lexer.next_token()).filter(|t| t.kind != TokenKind::End);
    std::iter::from_fn(next).collect()
}

fn word(token: Option<Token>, text: &str) -> &str {
    token.map_or("", |t| &text[t.start as usize..t.end as usize])
}

/// Whether a name behind this token is that of a collation or a character set.
fn names_charset(before: Option<Token>, text: &str) -> bool {
    matches!(word(before, text), "collate" | "using" | "charset" | "set")
}

/// Whether a text behind this token says its character set.
fn introduced(before: Option<Token>) -> bool {
    before.is_some_and(|t| t.kind == TokenKind::Introducer)
}

/// Whether a text behind this token may say its character set: that of a date has none.
fn takes_charset(before: Option<Token>, text: &str) -> bool {
    let typed = ["date", "time", "timestamp"];
    !typed
        .iter()
        .any(|w| word(before, text).eq_ignore_ascii_case(w))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_expression;

    fn shown(text: &str) -> String {
        let e = parse_expression(text, LexMode::default()).unwrap();
        definition(&e, "utf8mb4", &mut |_, name| name.to_lowercase())
    }

    #[test]
    fn introducers_are_about_what_was_sent() {
        let e = parse_expression("concat(_latin1'\u{e9}', 'x\u{e9}')", LexMode::default()).unwrap();
        let latin1 = |text: &str| Some(text.chars().map(|c| c as u8).collect());
        let shown = definition_of_client(&e, "utf8mb4", &latin1, &mut |_, name| name.into());
        assert_eq!(shown, "concat(_latin1 x'e9',_utf8mb4'x\u{e9}')");
    }

    #[test]
    fn definitions_mean_the_same_to_all() {
        for (written, kept) in [
            ("a > 0 and t.B<d.t.c", "((`a` > 0) and (`b` < `c`))"),
            ("`a``b` != 'it''s'", "(`a``b` <> _utf8mb4'it''s')"),
            (
                "concat(_latin1'x', N'y', x'41')",
                "concat(_latin1'x',N'y',x'41')",
            ),
            ("a > DATE '2020-01-01'", "(`a` > DATE'2020-01-01')"),
            (
                "a collate utf8mb4_bin = 'x'",
                "((`a` collate utf8mb4_bin) = _utf8mb4'x')",
            ),
            ("convert(a using latin1)", "convert(`a` using latin1)"),
            (
                "cast(a as char(3) character set latin1)",
                "cast(`a` as char(3) character set latin1)",
            ),
            ("current_timestamp", "now()"),
            ("CURRENT_TIMESTAMP(3)", "now(3)"),
            ("ucase(substring(a, 2))", "upper(substr(`a`,2))"),
            ("a + interval '1' day", "(`a` + interval _utf8mb4'1' day)"),
        ] {
            let once = shown(written);
            assert_eq!(once, kept);
            assert_eq!(shown(&once), kept);
        }
    }
}
