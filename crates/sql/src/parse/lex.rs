//! What must be known of the text before it is tokenised: where a statement ends, and which version
//! comments are code. Works on bytes; quotes and comments are all it understands.

use std::borrow::Cow;

use crate::session::env::SqlMode;

/// MySQL's version as version comments see it: `/*!80036 ... */` is code, `/*!90000 ... */` is not.
pub const VERSION: u32 = 80099;

/// Length of the quoted string, quoted identifier or comment that starts at `at`, or 0 if none does. One that
/// isn't closed extends to the end of the text.
fn skip(b: &[u8], at: usize, backslash: bool) -> usize {
    match b[at] {
        q @ (b'\'' | b'"' | b'`') => {
            let mut i = at + 1;
            while i < b.len() {
                if b[i] == q {
                    if b.get(i + 1) == Some(&q) {
                        i += 2;
                        continue;
                    }
                    return i + 1 - at;
                }
                i += if b[i] == b'\\' && backslash && q != b'`' {
                    2
                } else {
                    1
                };
            }
            b.len() - at
        }
        b'#' => line_end(b, at) - at,
        b'-' if b[at..].starts_with(b"--")
            && b.get(at + 2)
                .is_none_or(|c| c.is_ascii_whitespace() || c.is_ascii_control()) =>
        {
            line_end(b, at) - at
        }
        b'/' if b[at..].starts_with(b"/*") => match find(&b[at + 2..], b"*/") {
            Some(n) => n + 4,
            None => b.len() - at,
        },
        _ => 0,
    }
}

fn line_end(b: &[u8], at: usize) -> usize {
    b[at..]
        .iter()
        .position(|&c| c == b'\n')
        .map_or(b.len(), |n| at + n)
}

fn find(b: &[u8], what: &[u8]) -> Option<usize> {
    b.windows(what.len()).position(|w| w == what)
}

/// Splits off the first statement of a text: (statement without its semicolon, rest after it). Quotes and
/// comments are respected. The rest is empty after the last statement.
pub fn split_first(text: &str, mode: SqlMode) -> (&str, &str) {
    let b = text.as_bytes();
    let mut i = 0;
    while i < b.len() {
        if b[i] == b';' {
            return (&text[..i], text[i + 1..].trim_start());
        }
        i += skip(b, i, !mode.no_backslash_escapes).max(1);
    }
    (text, "")
}

/// Where a statement's placeholders are, in bytes.
pub fn placeholders(text: &str, mode: SqlMode) -> Vec<usize> {
    let opened = open_version_comments(text, mode);
    let b = opened.as_bytes();
    let mut places = Vec::new();
    let mut i = 0;
    while i < b.len() {
        if b[i] == b'?' {
            places.push(i);
        }
        i += skip(b, i, !mode.no_backslash_escapes).max(1);
    }
    places
}

/// Replaces the frame of version comments that are code by blanks, and those that are not code (newer
/// versions, MariaDB's) wholly by blanks; positions stay as they were.
pub fn open_version_comments(text: &str, mode: SqlMode) -> Cow<'_, str> {
    let b = text.as_bytes();
    if find(b, b"/*!").is_none() && find(b, b"/*M!").is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = b.to_vec();
    let mut i = 0;
    // Whether an opened comment still waits for its end.
    let mut open = false;
    while i < b.len() {
        let rest = &b[i..];
        if rest.starts_with(b"/*!") {
            let digits = rest[3..]
                .iter()
                .take(6)
                .take_while(|c| c.is_ascii_digit())
                .count();
            // A version has five or six digits; fewer are part of the code.
            let digits = if digits < 5 { 0 } else { digits };
            let version = rest[3..3 + digits]
                .iter()
                .fold(0u32, |v, c| v * 10 + u32::from(c - b'0'));
            if version <= VERSION {
                out[i..i + 3 + digits].fill(b' ');
                i += 3 + digits;
                open = true;
                continue;
            }
            let n = skip(b, i, true);
            blank(&mut out[i..i + n]);
            i += n;
        } else if rest.starts_with(b"/*M!") {
            let n = skip(b, i, true);
            blank(&mut out[i..i + n]);
            i += n;
        } else if open && rest.starts_with(b"*/") {
            out[i..i + 2].fill(b' ');
            open = false;
            i += 2;
        } else {
            i += skip(b, i, !mode.no_backslash_escapes).max(1);
        }
    }
    match String::from_utf8(out) {
        Ok(s) => Cow::Owned(s),
        // Only whole comments and ASCII were replaced, so this cannot happen.
        Err(_) => Cow::Borrowed(text),
    }
}

/// Blanks out bytes, keeping line ends.
fn blank(b: &mut [u8]) {
    for c in b {
        if *c != b'\n' {
            *c = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::mode;
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        let mut out = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (first, r) = split_first(rest, mode());
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
        let mut m = mode();
        m.no_backslash_escapes = true;
        assert_eq!(split_first(r"select 'a\'; b", m), (r"select 'a\'", "b"));
    }

    #[test]
    fn opens_version_comments() {
        let open = |s| open_version_comments(s, mode()).into_owned();
        assert_eq!(open("a /*!40101 b */ c"), "a          b    c");
        assert_eq!(open("a /*! b */ c"), "a     b    c");
        assert_eq!(open("a /*!99999 b */ c").replace(' ', ""), "ac");
        assert_eq!(open("a /*M!100100 b */ c").replace(' ', ""), "ac");
        assert_eq!(open("a '/*! b */' c"), "a '/*! b */' c");
        assert_eq!(
            open("/*!40101 a /* x */ b */ c").replace(' ', ""),
            "a/*x*/bc"
        );
        assert_eq!(open("/*!50503 select '*/' */").trim(), "select '*/'");
    }
}
