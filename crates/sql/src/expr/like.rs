//! LIKE and REGEXP.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use regex::bytes::{Regex, RegexBuilder};

use super::{EvalContext, Expr, ExprKind};
use crate::error::{SqlError, SqlResult};
use crate::types::Collation;
use crate::types::collation::{next_char, same_weight};
use crate::value::Value;

/// `value [NOT] LIKE pattern [ESCAPE escape]`.
#[derive(Clone, Debug)]
pub struct Like {
    /// The value.
    pub value: Expr,
    /// The pattern.
    pub pattern: Expr,
    /// The escape character, `\` unless the statement says otherwise; `None`: there is none.
    pub escape: Option<char>,
    /// What says the escape character when it runs, in place of `escape`: what is no constant before, and reads no row.
    pub escape_by: Option<Expr>,
    /// NOT.
    pub negated: bool,
    /// Collation for both.
    pub collation: Collation,
}

impl Like {
    /// The text that everything matching a constant pattern starts with, and whether the pattern is just that text and one `%`.
    pub fn constant_prefix(&self) -> Option<(Vec<u8>, bool)> {
        match &self.pattern.kind {
            _ if self.escape_by.is_some() => None,
            ExprKind::Literal(Value::Bytes(p)) => Some(pattern_prefix(p, self.escape)),
            _ => None,
        }
    }
    pub(super) fn truth(&self, cx: &EvalContext<'_>) -> SqlResult<Option<bool>> {
        let Some(v) = self.value.text(cx)? else {
            return Ok(None);
        };
        let Some(p) = self.pattern.text(cx)? else {
            return Ok(None);
        };
        let escape = match &self.escape_by {
            Some(by) => escape(&by.eval(cx)?)?,
            None => self.escape,
        };
        let hit = matches(&v, &p, escape, self.collation);
        Ok(Some(hit != self.negated))
    }
}

/// The escape character that a value says: `\` where it is NULL, none where it is empty. Error 1210 if it is longer.
pub(super) fn escape(v: &Value<'_>) -> SqlResult<Option<char>> {
    if v.is_null() {
        return Ok(Some('\\'));
    }
    let text = v.to_text();
    let mut chars = std::str::from_utf8(&text).unwrap_or("??").chars();
    match (chars.next(), chars.next()) {
        (c, None) => Ok(c),
        _ => Err(wrong_escape()),
    }
}

/// Error 1210.
pub(super) fn wrong_escape() -> SqlError {
    SqlError::new(1210, "Incorrect arguments to ESCAPE")
}

/// The text before a pattern's first wildcard, and whether nothing but `%` follows it.
pub fn pattern_prefix(pattern: &[u8], escape: Option<char>) -> (Vec<u8>, bool) {
    let mut out = Vec::new();
    let mut i = 0;
    while i < pattern.len() {
        let (c, n) = next_char(&pattern[i..]);
        if escape.is_some_and(|e| e as u32 == c) && i + n < pattern.len() {
            let (_, m) = next_char(&pattern[i + n..]);
            out.extend_from_slice(&pattern[i + n..i + n + m]);
            i += n + m;
            continue;
        }
        if c == '%' as u32 || c == '_' as u32 {
            let rest = &pattern[i..];
            return (out, rest.iter().all(|b| *b == b'%'));
        }
        out.extend_from_slice(&pattern[i..i + n]);
        i += n;
    }
    (out, false)
}

/// Whether a text matches a LIKE pattern. Trailing spaces count, unlike in comparisons.
pub fn matches(text: &[u8], pattern: &[u8], escape: Option<char>, collation: Collation) -> bool {
    let char_at = |s: &[u8], i: usize| -> (u32, usize) {
        if collation == Collation::Binary {
            (s[i] as u32, 1)
        } else {
            next_char(&s[i..])
        }
    };
    let (mut t, mut p) = (0, 0);
    // Where to go on after a mismatch: the pattern after the last `%`, and the text one character later than last time.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let mut ok = false;
        if p < pattern.len() {
            let (c, n) = char_at(pattern, p);
            let escaped = escape.is_some_and(|e| e as u32 == c) && p + n < pattern.len();
            if !escaped && c == '%' as u32 {
                p += n;
                if p == pattern.len() {
                    return true;
                }
                retry = Some((p, t));
                continue;
            }
            if t < text.len() {
                let (tc, tn) = char_at(text, t);
                if !escaped && c == '_' as u32 {
                    (p, t, ok) = (p + n, t + tn, true);
                } else {
                    let (pc, pn) = if escaped {
                        let (c2, n2) = char_at(pattern, p + n);
                        (c2, n + n2)
                    } else {
                        (c, n)
                    };
                    if same_weight(collation, pc, tc) {
                        (p, t, ok) = (p + pn, t + tn, true);
                    }
                }
            }
        } else if t == text.len() {
            return true;
        }
        if !ok {
            match retry {
                Some((after, from)) if from < text.len() => {
                    let (_, n) = char_at(text, from);
                    (p, t) = (after, from + n);
                    retry = Some((after, from + n));
                }
                _ => return false,
            }
        }
    }
}

/// A pattern and what it was compiled to.
type Last = (Box<[u8]>, Regex);

/// `value [NOT] REGEXP pattern`.
#[derive(Clone, Debug)]
pub struct Regexp {
    /// The value.
    pub value: Expr,
    /// The pattern.
    pub pattern: Expr,
    /// NOT.
    pub negated: bool,
    /// Collation for both: case counts unless it is case-insensitive.
    pub collation: Collation,
    /// A constant pattern, compiled at its first use.
    compiled: OnceLock<Regex>,
    /// The pattern of the last row, and what it was compiled to.
    last: Arc<Mutex<Option<Last>>>,
}

/// Error 3685.
pub(super) fn illegal_pattern() -> SqlError {
    SqlError::new(3685, "Illegal argument to a regular expression.")
}

/// The POSIX classes of bracket expressions and what they are among all characters.
const CLASSES: [(&str, &str); 7] = [
    ("[:alpha:]", r"\p{Alphabetic}"),
    ("[:alnum:]", r"\p{Alphabetic}\p{Nd}"),
    ("[:digit:]", r"\p{Nd}"),
    ("[:lower:]", r"\p{Lowercase}"),
    ("[:upper:]", r"\p{Uppercase}"),
    ("[:punct:]", r"\p{P}"),
    ("[:space:]", r"\s"),
];

/// A pattern whose POSIX classes are those of all characters, not of ASCII's alone.
fn unicode_classes(pattern: &str) -> std::borrow::Cow<'_, str> {
    let mut text = std::borrow::Cow::Borrowed(pattern);
    for (class, means) in CLASSES {
        if text.contains(class) {
            text = text.replace(class, means).into();
        }
    }
    text
}

/// Compiles a pattern; error 3685 and the reason if it is none.
pub fn compile(pattern: &[u8], collation: Collation) -> SqlResult<Regex> {
    if pattern.is_empty() {
        return Err(illegal_pattern());
    }
    let text = std::str::from_utf8(pattern).map_err(|_| illegal_pattern())?;
    let text = match collation {
        Collation::Binary => text.into(),
        _ => unicode_classes(text),
    };
    RegexBuilder::new(&text)
        .case_insensitive(collation.ignores_case())
        .unicode(collation != Collation::Binary)
        .build()
        .map_err(|e| {
            let last = e.to_string();
            let why = last.lines().last().unwrap_or_default().trim().to_string();
            SqlError::new(
                3685,
                format!("Illegal argument to a regular expression: {why}"),
            )
        })
}

impl Regexp {
    /// A match of a value.
    pub fn new(value: Expr, pattern: Expr, negated: bool, collation: Collation) -> Regexp {
        Regexp {
            value,
            pattern,
            negated,
            collation,
            compiled: OnceLock::new(),
            last: Arc::default(),
        }
    }
    pub(super) fn truth(&self, cx: &EvalContext<'_>) -> SqlResult<Option<bool>> {
        // A pattern that is none is an error beside NULL too.
        let fresh;
        let regex = match self.compiled.get() {
            Some(r) => r,
            None => {
                let Some(p) = self.pattern.text(cx)? else {
                    return Ok(None);
                };
                if matches!(self.pattern.kind, ExprKind::Literal(_)) {
                    let r = compile(&p, self.collation)?;
                    self.compiled.get_or_init(|| r)
                } else {
                    fresh = self.like_last(&p)?;
                    &fresh
                }
            }
        };
        let value = self.value.text(cx)?;
        Ok(value.map(|v| regex.is_match(&v) != self.negated))
    }

    /// A pattern that is no constant, compiled unless it is that of the row before.
    fn like_last(&self, pattern: &[u8]) -> SqlResult<Regex> {
        if let Some((p, r)) = &*self.last.lock()
            && **p == *pattern
        {
            return Ok(r.clone());
        }
        let r = compile(pattern, self.collation)?;
        *self.last.lock() = Some((pattern.into(), r.clone()));
        Ok(r)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let ci = Collation::Utf8mb4GeneralCi;
        for (t, p, want) in [
            ("abc", "abc", true),
            ("ABC", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "a_c", true),
            ("abc", "a_", false),
            ("abc", "", false),
            ("", "%", true),
            ("", "", true),
            ("a%c", r"a\%c", true),
            ("abc", r"a\%c", false),
            ("aXbXc", "a%x%c", true),
            ("aaab", "%ab", true),
            ("é", "_", true),
            ("é", "E", true),
            ("abc ", "abc", false),
            ("mississippi", "%iss%ip%", true),
            ("a\\", "a\\", true),
        ] {
            assert_eq!(
                matches(t.as_bytes(), p.as_bytes(), Some('\\'), ci),
                want,
                "{t} {p}"
            );
        }
        assert!(!matches(b"ABC", b"abc", Some('\\'), Collation::Utf8mb4Bin));
        assert!(matches(b"a%", b"a|%", Some('|'), Collation::Binary));
        assert_eq!(
            pattern_prefix(br"ab\_c%", Some('\\')),
            (b"ab_c".to_vec(), true)
        );
        assert_eq!(
            pattern_prefix(b"ab_c%", Some('\\')),
            (b"ab".to_vec(), false)
        );
        assert_eq!(pattern_prefix(b"abc", Some('\\')), (b"abc".to_vec(), false));
    }

    #[test]
    fn regular_expressions() {
        assert!(
            compile(b"^a.c$", Collation::Utf8mb4GeneralCi)
                .unwrap()
                .is_match(b"ABC")
        );
        assert!(
            !compile(b"^a.c$", Collation::Utf8mb4Bin)
                .unwrap()
                .is_match(b"ABC")
        );
        for (t, p, want) in [
            ("ä", "^[[:alpha:]]+$", true),
            ("١", "[^[:digit:]]", false),
            ("É1", "^[[:upper:]][[:alnum:]]$", true),
            ("-", "[[:punct:]]", true),
        ] {
            let regex = compile(p.as_bytes(), Collation::Utf8mb4GeneralCi).unwrap();
            assert_eq!(regex.is_match(t.as_bytes()), want, "{t} {p}");
        }
        assert_eq!(compile(b"(", Collation::Binary).unwrap_err().code, 3685);
    }
}
