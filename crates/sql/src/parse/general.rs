//! Statements that differ in their literals only, told by a lexer much quicker than the parser: the literals
//! become parameters, and what remains is a text that a plan can be kept for.
//!
//! Only literals that a parameter replaces without changing the meaning are taken out: whole items of VALUES, whole right
//! sides of comparisons and of SET, members of IN lists, bounds of BETWEEN. All others stay in the text, as they
//! decide types, headings or positions. The rows of an INSERT that are alike become one row, run once per set of
//! parameters. Whatever the lexer is not sure of (comments, variables' assignments, hexadecimal numbers)
//! makes it give up, and the statement is parsed as it is.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::expr::literal_number;
use crate::session::env::SqlMode;
use crate::value::Value;

/// A statement without its literals.
pub struct General<'t> {
    /// Its text, with `?` for each literal taken out.
    pub text: String,
    /// The literals; for an INSERT of several rows, those of one row after the other.
    pub params: Vec<Value<'t>>,
}

/// Shortest literal-free statement worth looking at; below, there is no room for a literal in a place that counts.
const SHORTEST: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    Name,
    Text,
    Number,
    Compare,
    Symbol(u8),
    End,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    kind: Kind,
    start: u32,
    end: u32,
}

type Tokens = SmallVec<[Token; 64]>;

fn word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
}

/// Splits a text; `None` if there is anything in it that this lexer does not know well.
fn lex(text: &str, mode: SqlMode) -> Option<Tokens> {
    let b = text.as_bytes();
    let mut out = Tokens::new();
    let mut i = 0;
    let mut push = |kind, start: usize, end: usize| {
        out.push(Token {
            kind,
            start: start as u32,
            end: end as u32,
        });
    };
    u32::try_from(b.len()).ok()?;
    while i < b.len() {
        let start = i;
        let c = b[i];
        match c {
            b' ' | b'\t' | b'\n' | b'\r' => {
                i += 1;
                continue;
            }
            b'\'' | b'"' | b'`' => {
                let name = c == b'`' || c == b'"' && mode.ansi_quotes;
                let escapes = !name && !mode.no_backslash_escapes;
                i += 1;
                loop {
                    match *b.get(i)? {
                        b'\\' if escapes => i += 2,
                        q if q == c => {
                            i += 1;
                            if b.get(i) != Some(&c) {
                                break;
                            }
                            i += 1;
                        }
                        _ => i += 1,
                    }
                }
                push(if name { Kind::Name } else { Kind::Text }, start, i);
            }
            b'0'..=b'9' => {
                while b.get(i).is_some_and(u8::is_ascii_digit) {
                    i += 1;
                }
                if b.get(i) == Some(&b'.') {
                    i += 1;
                    while b.get(i).is_some_and(u8::is_ascii_digit) {
                        i += 1;
                    }
                }
                if matches!(b.get(i), Some(b'e' | b'E')) {
                    i += 1;
                    if matches!(b.get(i), Some(b'+' | b'-')) {
                        i += 1;
                    }
                    if !b.get(i).is_some_and(u8::is_ascii_digit) {
                        return None;
                    }
                    while b.get(i).is_some_and(u8::is_ascii_digit) {
                        i += 1;
                    }
                }
                if b.get(i).is_some_and(|c| word_byte(*c) || *c == b'.') {
                    return None;
                }
                push(Kind::Number, start, i);
            }
            b'=' | b'<' | b'>' | b'!' => {
                while matches!(b.get(i), Some(b'=' | b'<' | b'>' | b'!')) {
                    i += 1;
                }
                match &text[start..i] {
                    "=" | "<" | ">" | "<=" | ">=" | "<>" | "!=" | "<=>" => {
                        push(Kind::Compare, start, i);
                    }
                    _ => return None,
                }
            }
            b'#' | b'?' | b':' => return None,
            b'-' if b.get(i + 1) == Some(&b'-') => return None,
            b'/' if b.get(i + 1) == Some(&b'*') => return None,
            b'.' if b.get(i + 1).is_some_and(u8::is_ascii_digit) => return None,
            _ if word_byte(c) => {
                while b.get(i).is_some_and(|c| word_byte(*c)) {
                    i += 1;
                }
                push(Kind::Word, start, i);
            }
            _ => {
                i += 1;
                push(Kind::Symbol(c), start, i);
            }
        }
    }
    push(Kind::End, i, i);
    // A semicolon only at the end.
    while out.len() >= 2 && out[out.len() - 2].kind == Kind::Symbol(b';') {
        let n = out.len();
        out.remove(n - 2);
    }
    let inside = out.iter().any(|t| t.kind == Kind::Symbol(b';'));
    (!inside).then_some(out)
}

struct Source<'t> {
    text: &'t str,
    tokens: Tokens,
}

impl<'t> Source<'t> {
    fn slice(&self, t: Token) -> &'t str {
        &self.text[t.start as usize..t.end as usize]
    }
    fn is(&self, at: usize, word: &str) -> bool {
        self.tokens
            .get(at)
            .is_some_and(|t| t.kind == Kind::Word && self.slice(*t).eq_ignore_ascii_case(word))
    }
    fn any(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|w| self.is(at, w))
    }
    fn kind(&self, at: usize) -> Kind {
        self.tokens.get(at).map_or(Kind::End, |t| t.kind)
    }
    /// The literal at `at`, which may begin with a minus sign: its value and how many tokens it takes.
    fn literal(&self, at: usize, mode: SqlMode) -> Option<(Value<'t>, usize)> {
        let t = self.tokens[at];
        match t.kind {
            Kind::Text => Some((text_value(self.slice(t), mode), 1)),
            Kind::Number => Some((literal_number(self.slice(t)).ok()?, 1)),
            Kind::Symbol(b'-') if self.kind(at + 1) == Kind::Number => {
                let digits = self.slice(self.tokens[at + 1]);
                Some((literal_number(&format!("-{digits}")).ok()?, 2))
            }
            _ => None,
        }
    }
}

/// The value of a quoted text.
fn text_value(quoted: &str, mode: SqlMode) -> Value<'_> {
    let quote = quoted.as_bytes()[0];
    let inner = &quoted[1..quoted.len() - 1];
    Value::Bytes(match unescape(inner, quote, !mode.no_backslash_escapes) {
        Cow::Borrowed(s) => Cow::Borrowed(s.as_bytes()),
        Cow::Owned(s) => Cow::Owned(s.into_bytes()),
    })
}

/// What a text between quotes means: doubled quotes are one, and backslashes escape as in MySQL.
pub(super) fn unescape(inner: &str, quote: u8, backslash: bool) -> Cow<'_, str> {
    let b = inner.as_bytes();
    let special = |c: &u8| *c == quote || *c == b'\\' && backslash;
    let Some(first) = b.iter().position(special) else {
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

/// Takes the literals out of a statement; `None` if it has none that may be taken out, or is not of a kind that is gained by.
pub fn generalize(text: &str, mode: SqlMode) -> Option<General<'_>> {
    if text.len() < SHORTEST {
        return None;
    }
    let first = text.trim_start().as_bytes().first()?.to_ascii_uppercase();
    if !matches!(first, b'S' | b'I' | b'R' | b'U' | b'D') {
        return None;
    }
    let s = Source {
        text,
        tokens: lex(text, mode)?,
    };
    if s.any(0, &["INSERT", "REPLACE"]) {
        insert(&s, mode)
    } else if s.any(0, &["SELECT", "UPDATE", "DELETE"]) {
        conditions(&s, mode)
    } else {
        None
    }
}

/// INSERT and REPLACE with VALUES.
fn insert<'t>(s: &Source<'t>, mode: SqlMode) -> Option<General<'t>> {
    let mut depth = 0usize;
    let values = (1..s.tokens.len()).find(|&at| {
        match s.kind(at) {
            Kind::Symbol(b'(') => depth += 1,
            Kind::Symbol(b')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && s.any(at, &["VALUES", "VALUE", "SELECT", "SET", "WITH", "TABLE"])
    })?;
    if !s.any(values, &["VALUES", "VALUE"]) {
        return None;
    }
    let mut params = Vec::new();
    let mut first = String::new();
    let mut other = String::new();
    let mut rows = 0usize;
    let mut at = values + 1;
    loop {
        let row = if rows == 0 { &mut first } else { &mut other };
        row.clear();
        at = one_row(s, at, mode, row, &mut params)?;
        if rows == 0 && params.is_empty() || rows > 0 && first != other {
            return None;
        }
        rows += 1;
        if s.kind(at) != Kind::Symbol(b',') {
            break;
        }
        at += 1;
    }
    let head = &s.text[..s.tokens[values].end as usize];
    let tail = &s.text[s.tokens[at].start as usize..s.tokens[s.tokens.len() - 1].end as usize];
    let tail = tail.trim_end_matches([';', ' ', '\n', '\r', '\t']);
    Some(General {
        text: [head, " ", &first, " ", tail].concat(),
        params,
    })
}

/// A row of VALUES, from its parenthesis on; where it ends.
fn one_row<'t>(
    s: &Source<'t>,
    from: usize,
    mode: SqlMode,
    out: &mut String,
    params: &mut Vec<Value<'t>>,
) -> Option<usize> {
    if s.kind(from) != Kind::Symbol(b'(') {
        return None;
    }
    out.push('(');
    let mut at = from + 1;
    loop {
        let item = at;
        let mut depth = 0usize;
        loop {
            match s.kind(at) {
                Kind::End => return None,
                Kind::Symbol(b'(') => depth += 1,
                Kind::Symbol(b')') if depth == 0 => break,
                Kind::Symbol(b')') => depth -= 1,
                Kind::Symbol(b',') if depth == 0 => break,
                Kind::Word if s.is(at, "SELECT") => return None,
                _ => {}
            }
            at += 1;
        }
        if at == item {
            return None;
        }
        let alone = match s.literal(item, mode) {
            Some((v, n)) if item + n == at => Some(v),
            None if at == item + 1 && s.is(item, "NULL") => Some(Value::Null),
            _ => None,
        };
        match alone {
            Some(v) => {
                params.push(v);
                out.push('?');
            }
            None => {
                let text = s.tokens[item].start as usize..s.tokens[at - 1].end as usize;
                out.push_str(&s.text[text]);
            }
        }
        if s.kind(at) == Kind::Symbol(b')') {
            out.push(')');
            return Some(at + 1);
        }
        out.push(',');
        at += 1;
    }
}

/// Words that end a condition.
const AFTER: [&str; 9] = [
    "AND", "OR", "XOR", "WHERE", "ORDER", "GROUP", "LIMIT", "FOR", "LOCK",
];

/// SELECT, UPDATE and DELETE: literals of SET and WHERE.
fn conditions<'t>(s: &Source<'t>, mode: SqlMode) -> Option<General<'t>> {
    let start = if s.is(0, "UPDATE") { "SET" } else { "WHERE" };
    let mut params = Vec::new();
    let mut out = String::with_capacity(s.text.len() + 8);
    let mut copied = 0;
    let mut inside = false;
    // For each open parenthesis, whether it is an IN list.
    let mut open: SmallVec<[bool; 8]> = SmallVec::new();
    // BETWEENs whose AND is still to come.
    let mut between = 0usize;
    let mut at = 1;
    while at < s.tokens.len() {
        match s.kind(at) {
            Kind::Word => {
                if s.any(at, &["SELECT", "UNION", "WITH", "INTO", "CASE"]) {
                    return None;
                }
                if open.is_empty() {
                    if s.is(at, start) {
                        inside = true;
                    } else if s.any(
                        at,
                        &["GROUP", "HAVING", "ORDER", "LIMIT", "FOR", "LOCK", "WINDOW"],
                    ) {
                        inside = false;
                    }
                }
                if s.is(at, "BETWEEN") {
                    between += 1;
                }
            }
            Kind::Symbol(b'(') => open.push(s.is(at - 1, "IN")),
            Kind::Symbol(b')') => {
                open.pop()?;
            }
            _ => {}
        }
        let list = open.last() == Some(&true);
        let before = match s.kind(at - 1) {
            Kind::Compare => true,
            Kind::Symbol(b'(' | b',') => list,
            Kind::Word if s.is(at - 1, "BETWEEN") => true,
            Kind::Word if s.is(at - 1, "AND") => {
                let second = between > 0;
                between -= usize::from(second);
                second
            }
            _ => false,
        };
        if inside
            && before
            && let Some((v, n)) = s.literal(at, mode)
        {
            let next = at + n;
            let after = match s.kind(next) {
                Kind::End | Kind::Symbol(b')' | b',') => true,
                Kind::Word => s.any(next, &AFTER),
                _ => false,
            };
            if after {
                params.push(v);
                out.push_str(&s.text[copied..s.tokens[at].start as usize]);
                out.push('?');
                copied = s.tokens[next - 1].end as usize;
                at = next;
                continue;
            }
        }
        at += 1;
    }
    if params.is_empty() {
        return None;
    }
    out.push_str(s.text[copied..].trim_end_matches([';', ' ', '\n', '\r', '\t']));
    Some(General { text: out, params })
}

#[cfg(test)]
mod tests {
    use super::super::tests::mode;
    use super::*;

    fn general(text: &str) -> Option<(String, Vec<String>)> {
        generalize(text, mode()).map(|g| {
            let shown = |v: &Value<'_>| match v {
                Value::Bytes(b) => format!("'{}'", String::from_utf8_lossy(b)),
                Value::Null => "NULL".into(),
                v => String::from_utf8_lossy(&v.to_text()).into_owned(),
            };
            (g.text, g.params.iter().map(shown).collect())
        })
    }

    #[track_caller]
    fn check(text: &str, want: &str, params: &[&str]) {
        let (got, values) = general(text).unwrap_or_else(|| panic!("{text}: not generalized"));
        assert_eq!(got, want);
        assert_eq!(values, params);
    }

    #[test]
    fn inserts() {
        check(
            "INSERT INTO sbtest1 (id, k, c) VALUES (0, -5, 'it''s')",
            "INSERT INTO sbtest1 (id, k, c) VALUES (?,?,?) ",
            &["0", "-5", "'it's'"],
        );
        check(
            "insert into t values (1, NULL, now()), (2,'a\\nb',now()) on duplicate key update a = 7;",
            "insert into t values (?,?,now()) on duplicate key update a = 7",
            &["1", "NULL", "2", "'a\nb'"],
        );
        for bad in [
            "insert into t values (1, 2), (3, now())",
            "insert into t values (1, 2), (3)",
            "insert into t (a) select 1 from s",
            "insert into t values (1, (select 2))",
            "insert into t values ()",
            "insert into t values (0x41, 'a') -- x",
            "insert into t set a = 1, b = 2",
            "insert into t values (1, 2); delete from t",
        ] {
            assert_eq!(general(bad), None, "{bad}");
        }
    }

    #[test]
    fn conditions_and_assignments() {
        check(
            "SELECT c, 5, 'x' FROM sbtest1 WHERE id=123 AND k IN (1,-2, 'a') ORDER BY 1 LIMIT 5",
            "SELECT c, 5, 'x' FROM sbtest1 WHERE id=? AND k IN (?,?, ?) ORDER BY 1 LIMIT 5",
            &["123", "1", "-2", "'a'"],
        );
        check(
            "update t set a = 5, b = b + 1, c = 'x' where id between 1 and 2 and d = 3",
            "update t set a = ?, b = b + 1, c = ? where id between ? and ? and d = ?",
            &["5", "'x'", "1", "2", "3"],
        );
        check(
            "delete from t where a = 1.50 and b = 1 + 1 and c <> _utf8mb4'x' or d = 2e3",
            "delete from t where a = ? and b = 1 + 1 and c <> _utf8mb4'x' or d = ?",
            &["1.50", "2000"],
        );
        check(
            "select a from t where f(1, 2) = 3 and (b = 4)",
            "select a from t where f(1, 2) = ? and (b = ?)",
            &["3", "4"],
        );
        for bad in [
            "select 1 from t where a",
            "select a from t where b = (select 1)",
            "select a from t where a = 1 union select 2",
            "select a from t where a like 'x%'",
            "select a from t where a = 'x' 'y'",
            "select a from t where @x := 5",
            "select a from t where b = ? and c = 1",
            "select a from t /* where a = 1 */ where b = 2",
        ] {
            assert_eq!(general(bad), None, "{bad}");
        }
    }

    #[test]
    fn texts_are_unescaped_as_in_mysql() {
        let u = |s: &'static str| unescape(s, b'\'', true).into_owned();
        assert_eq!(u("abc"), "abc");
        assert_eq!(u("a''b\\'c\\\\"), "a'b'c\\");
        assert_eq!(u("\\0\\n\\r\\t\\Z\\b"), "\0\n\r\t\u{1a}\u{8}");
        assert_eq!(u("\\a\\f\\x"), "afx");
        assert_eq!(u("10\\%\\_"), "10\\%\\_");
        assert_eq!(unescape("a\\n", b'\'', false), "a\\n");
    }
}
