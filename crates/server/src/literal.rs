//! Statement text that is not UTF-8.
//!
//! Clients send binary strings raw between quotes (`_binary'…'`). The SQL layer takes text; so a string literal that
//! is not UTF-8 becomes a hexadecimal literal, which is a binary string as well. Anywhere else such bytes are an error.
//!
//! What a latin1 client sends is converted; the SQL layer turns it back where bytes are wanted (`expr/bind/sent`). An ascii client's
//! literal of more than ASCII is taken for bytes, and so is a utf8mb3 client's of more than utf8mb3 (many a driver sends binary strings
//! over such connections without saying that they are), as long as `character_set_connection` is the same: else what is none of the
//! client's characters becomes question marks, as all literals are converted then. Where a quote or backslash may be half of a character, the whole statement is converted first, and
//! raw bytes that are no text are lost.

use millpond_session::types::Encoding;
use millpond_session::{SqlError, SqlResult};
use millpond_syntax::pieces::{Piece, PieceKind, piece};
use millpond_syntax::text::unquote_bytes;
use std::borrow::Cow;
use std::fmt::Write;

/// The statement as text, from a client's encoding. `converts`: literals are converted to another character set.
#[inline]
pub fn text(
    mut sql: &[u8],
    no_backslash_escapes: bool,
    client: Encoding,
    converts: bool,
) -> SqlResult<Cow<'_, str>> {
    // Some clients count a string's terminating zero.
    while let [text @ .., 0] = sql {
        sql = text;
    }
    match std::str::from_utf8(sql) {
        Ok(s) if client == Encoding::Utf8 || s.is_ascii() => Ok(Cow::Borrowed(s)),
        _ if client.hides_ascii() => {
            let mut out = String::with_capacity(sql.len() * 2);
            client.decode(sql, &mut out);
            Ok(Cow::Owned(out))
        }
        _ => rewrite(sql, no_backslash_escapes, client, converts).map(Cow::Owned),
    }
}

/// Replaces every string literal that is not UTF-8; converts what is in another encoding, but for literals that are bytes.
#[cold]
fn rewrite(
    sql: &[u8],
    no_backslash_escapes: bool,
    client: Encoding,
    converts: bool,
) -> SqlResult<String> {
    let mut out = String::with_capacity(sql.len() * 2);
    let mut at = 0;
    while at < sql.len() {
        let end = match piece(sql, at, !no_backslash_escapes) {
            // What a version comment holds is text as any other.
            Piece {
                kind: PieceKind::Comment,
                ..
            } if sql[at..].starts_with(b"/*!") => at + 3,
            // A syntax error, which the parser says where it is.
            Piece {
                kind: PieceKind::Quoted(_),
                closed: false,
                ..
            } => {
                client.decode(&sql[at..], &mut out);
                return Ok(out);
            }
            piece => piece.end,
        };
        let token = &sql[at..end];
        at = end;
        // What is no ASCII says nothing in ASCII, and so with utf8mb3: a literal of it is bytes.
        let bytes = match client {
            // An introducer says that nothing is converted.
            _ if converts && !follows_introducer(&out) => false,
            Encoding::Ascii => !token.is_ascii(),
            Encoding::Utf8mb3 => client.text_of(token).is_err(),
            _ => false,
        };
        let raw = is_string(token) && (bytes || introducer(&out).is_some());
        if client != Encoding::Utf8 && !raw {
            client.decode(token, &mut out);
            continue;
        }
        match std::str::from_utf8(token) {
            // Of another client it is told by its bytes, which happen to be UTF-8.
            Ok(s) if client == Encoding::Utf8 || s.is_ascii() => out.push_str(s),
            Ok(_) | Err(_) if is_string(token) => {
                let bytes = unquote_bytes(token, !no_backslash_escapes);
                drop_introducer(&mut out);
                out.push_str(" x'");
                for b in bytes {
                    let _ = write!(out, "{b:02x}");
                }
                out.push('\'');
            }
            Ok(s) => out.push_str(s),
            Err(e) => {
                let bad = &token[e.valid_up_to()..];
                let mut shown = String::new();
                for b in bad.iter().take(6) {
                    let _ = write!(shown, "\\x{b:02X}");
                }
                return Err(SqlError::new(
                    1300,
                    format!("Invalid utf8mb4 character string: '{shown}'"),
                ));
            }
        }
    }
    Ok(out)
}

fn is_string(token: &[u8]) -> bool {
    matches!(token[0], b'\'' | b'"')
}

/// Removes a `_binary` that introduced the literal: hexadecimal literals are binary anyway.
fn drop_introducer(out: &mut String) {
    if let Some(start) = introducer(out) {
        out.truncate(start);
    }
}

/// Whether a text ends with an introducer.
fn follows_introducer(out: &str) -> bool {
    let kept = out.trim_end();
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let word = kept.rsplit(|c| !part(c)).next().unwrap_or(kept);
    word.len() > 1 && word.starts_with('_')
}

/// Where the `_binary` begins that introduces the literal to come, if one does.
fn introducer(out: &str) -> Option<usize> {
    const INTRODUCER: &str = "_binary";
    let kept = out.trim_end().len();
    let start = kept.checked_sub(INTRODUCER.len())?;
    let matches = out
        .get(start..kept)
        .is_some_and(|s| s.eq_ignore_ascii_case(INTRODUCER));
    let before = out.as_bytes()[..start].last();
    let whole = !before.is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'_' || *c == b'$');
    (matches && whole).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(sql: &[u8]) -> String {
        text(sql, false, Encoding::Utf8, false)
            .unwrap()
            .into_owned()
    }

    #[test]
    fn text_is_left_alone() {
        let sql = "INSERT INTO t VALUES (_binary'é', 'a\\'b')";
        assert!(
            matches!(text(sql.as_bytes(), false, Encoding::Utf8, false), Ok(Cow::Borrowed(s)) if s == sql)
        );
    }

    #[test]
    fn terminating_zeros_are_no_text() {
        assert_eq!(
            text(b"SELECT 1\0\0", false, Encoding::Utf8, false).unwrap(),
            "SELECT 1"
        );
    }

    #[test]
    fn binary_literals_become_hexadecimal() {
        assert_eq!(
            hex(b"INSERT INTO t VALUES (1, _binary'\xff\\0\\'\xfe''', 'x')"),
            "INSERT INTO t VALUES (1,  x'ff0027fe27', 'x')"
        );
        assert_eq!(hex(b"SELECT \"\xff\"\"\""), "SELECT  x'ff22'");
        assert_eq!(hex(b"SELECT a_binary'\xff'"), "SELECT a_binary x'ff'");
        assert_eq!(
            text(b"SELECT '\xff\\'", true, Encoding::Utf8, false).unwrap(),
            "SELECT  x'ff5c'"
        );
    }

    #[test]
    fn comments_and_names_are_no_literals() {
        assert_eq!(
            hex(b"SELECT 1 /* it's */, '\xff' -- don't\n, 2"),
            "SELECT 1 /* it's */,  x'ff' -- don't\n, 2"
        );
        assert_eq!(
            hex(b"SELECT /*!40101 '\xff' */"),
            "SELECT /*!40101  x'ff' */"
        );
        for sql in [&b"SELECT `\xff`"[..], b"SELECT \xff", b"/* \xff */"] {
            assert_eq!(
                text(sql, false, Encoding::Utf8, false).unwrap_err().code,
                1300
            );
        }
    }

    #[test]
    fn any_bytes_give_a_text_or_an_error() {
        let mut x = 88172645463325252u64;
        for _ in 0..20_000 {
            let mut sql = Vec::new();
            for _ in 0..24 {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                let alphabet = b"'\"`\\/*!-# \nax\xff\xc3\xa9_b";
                sql.push(alphabet[(x % alphabet.len() as u64) as usize]);
            }
            let _ = text(&sql, x & 1 == 0, Encoding::Utf8, false);
        }
    }

    #[test]
    fn other_encodings_are_converted_but_for_bytes() {
        let latin1 = |sql: &[u8]| {
            text(sql, false, Encoding::Latin1, false)
                .unwrap()
                .into_owned()
        };
        assert_eq!(latin1(b"SELECT 'caf\xe9' AS \xe4"), "SELECT 'café' AS ä");
        // What happens to be UTF-8 is latin1 all the same.
        assert_eq!(latin1("'é'".as_bytes()), "'Ã©'");
        assert_eq!(latin1(b"_binary'\xe9', '\xe9'"), " x'e9', 'é'");
    }

    #[test]
    fn what_is_not_closed_is_left_to_the_parser() {
        let latin1 = |sql: &[u8]| {
            text(sql, false, Encoding::Latin1, false)
                .unwrap()
                .into_owned()
        };
        assert_eq!(latin1(b"SELECT `\xe4 x"), "SELECT `ä x");
        assert_eq!(hex(b"SELECT '\xff', '\xff"), "SELECT  x'ff', '\u{fffd}");
    }

    #[test]
    fn what_no_utf8mb3_client_can_mean_is_bytes() {
        let utf8mb3 = |sql: &[u8]| {
            text(sql, false, Encoding::Utf8mb3, false)
                .unwrap()
                .into_owned()
        };
        assert_eq!(utf8mb3(b"SELECT '\xfe\\0', 'a'"), "SELECT  x'fe00', 'a'");
        assert_eq!(utf8mb3("SELECT 'é' AS ä".as_bytes()), "SELECT 'é' AS ä");
        assert_eq!(utf8mb3("SELECT '😀'".as_bytes()), "SELECT  x'f09f9880'");
        assert_eq!(utf8mb3(b"_binary'\xc3\xa9', '\xc3'"), " x'c3a9',  x'c3'");
    }

    #[test]
    fn what_no_ascii_client_can_mean_is_bytes() {
        let ascii = |sql: &[u8]| {
            text(sql, false, Encoding::Ascii, false)
                .unwrap()
                .into_owned()
        };
        assert_eq!(ascii(b"SELECT '\xe9', 'a'"), "SELECT  x'e9', 'a'");
        assert_eq!(ascii("SELECT 'é'".as_bytes()), "SELECT  x'c3a9'");
        assert_eq!(ascii(b"SELECT 1 AS \xe9"), "SELECT 1 AS ?");
        let converted = text(b"SELECT '\xe9'", false, Encoding::Ascii, true);
        assert_eq!(converted.unwrap(), "SELECT '?'");
        let introduced = text(b"_utf8 '\xc3\xa9', '\xe9'", false, Encoding::Ascii, true);
        assert_eq!(introduced.unwrap(), "_utf8  x'c3a9', '?'");
    }
}
