//! What quoted texts mean.

use memchr::memchr2;
use std::borrow::Cow;

/// What a text between quotes means: doubled quotes are one, and backslashes escape as in MySQL.
pub fn unescape(inner: &str, quote: u8, backslash: bool) -> Cow<'_, str> {
    let other = if backslash { b'\\' } else { quote };
    let Some(first) = memchr2(quote, other, inner.as_bytes()) else {
        return Cow::Borrowed(inner);
    };
    let mut out = String::with_capacity(inner.len());
    out.push_str(&inner[..first]);
    let mut rest = inner[first..].chars();
    while let Some(c) = rest.next() {
        if c == '\\' && backslash {
            match rest.next() {
                Some('0') => out.push('\0'),
                Some('b') => out.push('\u{8}'),
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some('Z') => out.push('\u{1a}'),
                // LIKE sees these.
                Some(c @ ('%' | '_')) => {
                    out.push('\\');
                    out.push(c);
                }
                Some(c) => out.push(c),
                None => out.push('\\'),
            }
        } else {
            if c == quote as char {
                rest.next();
            }
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The bytes that a quoted text (quotes and all) means, whatever encoding they are in.
pub fn unquote_bytes(token: &[u8], backslash: bool) -> Vec<u8> {
    let [quote, inner @ .., _] = token else {
        return Vec::new();
    };
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner.iter().copied();
    while let Some(c) = rest.next() {
        if c == b'\\' && backslash {
            match rest.next() {
                Some(b'0') => out.push(0),
                Some(b'b') => out.push(8),
                Some(b'n') => out.push(b'\n'),
                Some(b'r') => out.push(b'\r'),
                Some(b't') => out.push(b'\t'),
                Some(b'Z') => out.push(0x1a),
                // LIKE sees these.
                Some(c @ (b'%' | b'_')) => out.extend([b'\\', c]),
                Some(c) => out.push(c),
                None => out.push(b'\\'),
            }
            continue;
        }
        if c == *quote {
            rest.next();
        }
        out.push(c);
    }
    out
}

/// What a quoted token (quotes and all) means. Names know no backslashes.
pub fn unquote(token: &str, backslash: bool) -> Cow<'_, str> {
    match token.as_bytes() {
        [quote @ (b'\'' | b'"' | b'`'), _, ..] => unescape(
            &token[1..token.len() - 1],
            *quote,
            backslash && *quote != b'`',
        ),
        _ => Cow::Borrowed(token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_unescaped_as_in_mysql() {
        let u = |s: &'static str| unescape(s, b'\'', true).into_owned();
        assert_eq!(u("abc"), "abc");
        assert_eq!(u("a''b\\'c\\\\"), "a'b'c\\");
        assert_eq!(u("\\0\\n\\r\\t\\Z\\b"), "\0\n\r\t\u{1a}\u{8}");
        assert_eq!(u("\\a\\f\\x"), "afx");
        assert_eq!(u("10\\%\\_"), "10\\%\\_");
        assert_eq!(unescape("a\\n", b'\'', false), "a\\n");
        assert_eq!(unquote("`a``b\\n`", true), "a`b\\n");
        assert_eq!(unquote_bytes(b"'\xff''\\0\\%\\x'", true), b"\xff'\0\\%x");
        assert_eq!(unquote_bytes(b"'\xff\\'", false), b"\xff\\");
    }
}
