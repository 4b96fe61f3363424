//! Statement digests: a statement's text without its literals and its layout, as performance_schema words DIGEST_TEXT.
//!
//! Keywords are in capitals, names in backticks, literals and placeholders `?`; lists of nothing but literals are `(...)`, and several rows
//! of them are one. A blank stands between tokens, dots and commas too: SELECT * FROM `d` . `t` WHERE `a` = ? AND `b` IN (...)

use crate::keyword::Keyword as K;
use crate::lexer::{LexMode, Lexer, TokenKind as T};
use crate::text::unquote;

/// The longest digest text, in bytes (`max_digest_length`).
pub const LONGEST: usize = 1024;

/// A token of the digest.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece<'t> {
    Keyword(K),
    Name(std::borrow::Cow<'t, str>),
    Sign(&'t str),
    /// `?`.
    Value,
    /// `?, ...`: several values with commas between.
    Values,
    /// `(?)`.
    Row,
    /// `(...)`.
    WideRow,
    /// `IN (...)`.
    InList,
    /// `(?) /* , ... */`.
    Rows,
    /// `(...) /* , ... */`.
    WideRows,
}

/// A statement's digest text; the digest itself is SHA-256 of it. Statements alike but for their literals have the same.
pub fn digest(text: &str, mode: LexMode) -> String {
    digest_start(text, mode, usize::MAX)
}

/// The same, made of no more of the text than its first `bytes`, and what token they end in. What is left out behind them is shown as what is
/// too long for a digest is.
pub fn digest_start(text: &str, mode: LexMode, bytes: usize) -> String {
    let mut lexer = Lexer::new(text, mode);
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut length = 0;
    let mut cut = false;
    while length < LONGEST {
        let token = lexer.next_token();
        if token.start as usize >= bytes {
            cut = token.kind != T::End;
            drop_open_row(&mut pieces);
            break;
        }
        let slice = &text[token.start as usize..token.end as usize];
        let piece = match token.kind {
            T::End | T::Semicolon => break,
            T::Keyword(K::NULL) if literal_null(&pieces) => Piece::Value,
            T::Keyword(k) => Piece::Keyword(k),
            T::Ident | T::QuotedIdent => Piece::Name(unquote(slice, false)),
            T::Int | T::Decimal | T::Float | T::Hex | T::Bits | T::NationalText | T::Param => {
                Piece::Value
            }
            T::Text => match pieces.last() {
                // Pieces of one text.
                Some(Piece::Value | Piece::Values) => continue,
                _ => Piece::Value,
            },
            T::UserVariable => {
                push(&mut pieces, Piece::Sign("@"));
                length += 2;
                Piece::Name(unquote(&slice[1..], false))
            }
            _ => Piece::Sign(slice),
        };
        length = length.saturating_add_signed(push(&mut pieces, piece));
    }
    let mut out = text_of(&pieces);
    if cut || length >= LONGEST {
        out.push_str(" ...");
    }
    out
}

/// About how many bytes of text a piece is, with the blank behind it.
fn size(piece: &Piece<'_>) -> usize {
    match piece {
        Piece::Keyword(k) => k.text().len() + 1,
        Piece::Name(name) => name.len() + 3,
        Piece::Sign(sign) => sign.len() + 1,
        _ => 2,
    }
}

/// Leaves out the beginning of a row at the end of a list of rows: where it was cut off says nothing of the statement.
fn drop_open_row(pieces: &mut Vec<Piece<'_>>) {
    use Piece as P;
    let rows = |p: &P<'_>| matches!(p, P::Rows | P::WideRows | P::Row | P::WideRow);
    if let Some(at) = pieces.iter().rposition(rows)
        && matches!(pieces.get(at + 1), Some(P::Sign(",")))
        && pieces[at + 2..].iter().all(|p| !matches!(p, P::Keyword(_)))
    {
        pieces.truncate(at + 1);
    }
}

/// Whether NULL at this place is a value rather than a part of IS NULL or NOT NULL.
fn literal_null(pieces: &[Piece<'_>]) -> bool {
    !matches!(pieces.last(), Some(Piece::Keyword(K::IS | K::NOT)))
}

/// Adds a token, and makes one of what it completes; how much longer the text is now.
fn push<'t>(pieces: &mut Vec<Piece<'t>>, piece: Piece<'t>) -> isize {
    use Piece as P;
    let mut more = size(&piece) as isize;
    pieces.push(piece);
    loop {
        let (drop, made) = match pieces.as_slice() {
            // A sign before a number belongs to it where no operand stands before it.
            [.., before, P::Sign("-" | "+"), P::Value] if !ends_operand(before) => (2, P::Value),
            [.., P::Value | P::Values, P::Sign(","), P::Value] => (3, P::Values),
            [.., P::Keyword(K::IN), P::Row | P::WideRow] => (2, P::InList),
            [.., P::Sign("("), P::Value, P::Sign(")")] => (3, P::Row),
            [.., P::Sign("("), P::Values, P::Sign(")")] => (3, P::WideRow),
            [.., P::Row | P::Rows, P::Sign(","), P::Row] => (3, P::Rows),
            [.., P::WideRow | P::WideRows, P::Sign(","), P::WideRow] => (3, P::WideRows),
            _ => return more,
        };
        let gone: usize = pieces[pieces.len() - drop..].iter().map(size).sum();
        more += size(&made) as isize - gone as isize;
        pieces.truncate(pieces.len() - drop);
        pieces.push(made);
    }
}

/// Whether an operand ends here, so that a sign behind it is an operator.
fn ends_operand(piece: &Piece<'_>) -> bool {
    match piece {
        Piece::Sign(sign) => *sign == ")",
        Piece::Keyword(k) => !k.is_reserved(),
        _ => true,
    }
}

fn text_of(pieces: &[Piece<'_>]) -> String {
    let mut out = String::new();
    for (n, piece) in pieces.iter().enumerate() {
        if n > 0 && !matches!(pieces[n - 1], Piece::Sign("@" | "@@")) {
            out.push(' ');
        }
        match piece {
            Piece::Keyword(k) => out.push_str(k.text()),
            Piece::Name(name) => {
                out.push('`');
                out.push_str(&name.replace('`', "``"));
                out.push('`');
            }
            Piece::Sign(sign) => out.push_str(sign),
            Piece::Value => out.push('?'),
            Piece::Values => out.push_str("?, ..."),
            Piece::InList => out.push_str("IN (...)"),
            Piece::Row => out.push_str("(?)"),
            Piece::WideRow => out.push_str("(...)"),
            Piece::Rows => out.push_str("(?) /* , ... */"),
            Piece::WideRows => out.push_str("(...) /* , ... */"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_layout_are_left_out() {
        for (text, want) in [
            (
                "select * from t where a = 5 and b in (1,2, 3)",
                "SELECT * FROM `t` WHERE `a` = ? AND `b` IN (...)",
            ),
            (
                "SELECT a,b FROM d.t -- x\nWHERE c IN('x') LIMIT 5",
                "SELECT `a` , `b` FROM `d` . `t` WHERE `c` IN (...) LIMIT ?",
            ),
            (
                "insert into t values (1,'a'),(2,'b'),(3,NULL)",
                "INSERT INTO `t` VALUES (...) /* , ... */",
            ),
            (
                "insert into t values (1),(2)",
                "INSERT INTO `t` VALUES (?) /* , ... */",
            ),
            ("select 1, -2, 'a' 'b'", "SELECT ?, ..."),
            ("select a-1, sleep(5)", "SELECT `a` - ? , `sleep` (?)"),
            ("select @@version, @x", "SELECT @@`version` , @`x`"),
            ("select x is null, null", "SELECT `x` IS NULL , ?"),
            ("select count(*) from t;", "SELECT COUNT ( * ) FROM `t`"),
        ] {
            assert_eq!(digest(text, LexMode::default()), want);
        }
        let long = format!("select {}", "a + ".repeat(1000));
        let text = digest(&long, LexMode::default());
        assert!(text.ends_with(" ...") && text.len() < 2 * LONGEST, "{text}");
    }

    #[test]
    fn lists_are_as_long_as_what_is_left_of_them() {
        let rows = vec!["(1, 'a')"; 5000].join(",");
        let text = format!("INSERT INTO t VALUES {rows} ON DUPLICATE KEY UPDATE a = 1");
        let short = "INSERT INTO `t` VALUES (...) /* , ... */";
        assert_eq!(
            digest(&text, LexMode::default()),
            format!("{short} ON DUPLICATE KEY UPDATE `a` = ?")
        );
        // Wherever it is cut off.
        for bytes in 100..120 {
            let start = digest_start(&text, LexMode::default(), bytes);
            assert_eq!(start, format!("{short} ..."), "{bytes}");
        }
        let whole = digest_start("SELECT 1", LexMode::default(), 8);
        assert_eq!(whole, "SELECT ?");
    }
}
