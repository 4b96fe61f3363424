//! A text's coarse parts: quoted things, comments, and what is between. For texts that are not whole yet, or not UTF-8.

use crate::lexer::{comment_end, dashes_comment, line_end, quoted_end};

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// Within this quote: a text, or a name.
    Quoted(u8),
    /// From `#` or `--` up to the end of the line, which does not belong to it.
    LineComment,
    /// `/* … */`, be it code in some version or not.
    Comment,
    /// Anything else.
    Plain,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: PieceKind,
    /// The byte after its last.
    pub end: usize,
    /// Whether it ends there; if not, the text ended first.
    pub closed: bool,
}

/// The part that begins at a byte of the text, which must lie before the text's end. `escapes`: whether backslashes escape.
pub fn piece(text: &[u8], at: usize, escapes: bool) -> Piece {
    let found = |kind, end: Option<usize>| Piece {
        kind,
        end: end.unwrap_or(text.len()),
        closed: end.is_some(),
    };
    match text[at] {
        quote @ (b'\'' | b'"' | b'`') => {
            let escapes = escapes && quote != b'`';
            found(PieceKind::Quoted(quote), quoted_end(text, at, escapes))
        }
        _ if line_comment(text, at) => {
            let end = line_end(text, at);
            found(PieceKind::LineComment, (end < text.len()).then_some(end))
        }
        b'/' if text[at..].starts_with(b"/*") => found(PieceKind::Comment, comment_end(text, at)),
        _ => {
            let special = |n: &usize| {
                matches!(text[*n], b'\'' | b'"' | b'`')
                    || line_comment(text, *n)
                    || text[*n..].starts_with(b"/*")
            };
            let end = (at + 1..text.len()).find(special);
            found(PieceKind::Plain, Some(end.unwrap_or(text.len())))
        }
    }
}

fn line_comment(text: &[u8], at: usize) -> bool {
    text[at] == b'#' || text[at] == b'-' && dashes_comment(text, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &[u8]) -> Vec<(PieceKind, &[u8])> {
        let (mut at, mut out) = (0, Vec::new());
        while at < text.len() {
            let piece = piece(text, at, true);
            out.push((piece.kind, &text[at..piece.end]));
            at = piece.end;
        }
        out
    }

    #[test]
    fn texts_have_parts() {
        use PieceKind as P;
        assert_eq!(
            pieces(b"a-1 'b''\\'\xff'`c\\`--x -- d\n/* ' */#e"),
            [
                (P::Plain, &b"a-1 "[..]),
                (P::Quoted(b'\''), b"'b''\\'\xff'"),
                (P::Quoted(b'`'), b"`c\\`"),
                (P::Plain, b"--x "),
                (P::LineComment, b"-- d"),
                (P::Plain, b"\n"),
                (P::Comment, b"/* ' */"),
                (P::LineComment, b"#e"),
            ]
        );
    }

    #[test]
    fn what_is_open_is_told() {
        for (text, closed) in [
            ("'a", false),
            ("'a\\'", false),
            ("'a'", true),
            ("/* a *", false),
            ("-- a", false),
            ("-- a\n", true),
        ] {
            assert_eq!(piece(text.as_bytes(), 0, true).closed, closed, "{text}");
        }
        assert!(piece(b"'a\\'", 0, false).closed);
    }
}
