//! Statements that differ in their literals only, told by a lexer much quicker than the parser: the literals
//! become parameters, and what remains is a text that a plan can be kept for.
//!
//! Only literals that a parameter replaces without changing the meaning are taken out: whole items of VALUES, whole right
//! sides of comparisons and of SET, members of IN lists, bounds of BETWEEN. All others stay in the text, as they
//! decide types, headings or positions. The rows of an INSERT that are alike become one row, run once per set of
//! parameters. Whatever the lexer is not sure of (comments, variables' assignments, hexadecimal numbers)
//! makes it give up, and the statement is parsed as it is.

mod lex;

use std::borrow::Cow;

use memchr::memchr2;
use smallvec::SmallVec;

use crate::expr::literal_number;
use crate::session::env::SqlMode;
use crate::value::Value;
use lex::{Kind, Token, Tokens, Word};

/// A statement without its literals.
pub struct General<'t> {
    /// Its text, with `?` for each literal taken out.
    pub text: String,
    /// The literals; for an INSERT of several rows, those of one row after the other.
    pub params: Vec<Value<'t>>,
}

/// Shortest literal-free statement worth looking at; below, there is no room for a literal in a place that counts.
const SHORTEST: usize = 20;

struct Source<'t> {
    text: &'t str,
    tokens: Tokens,
    mode: SqlMode,
}

impl<'t> Source<'t> {
    fn slice(&self, t: Token) -> &'t str {
        &self.text[t.start as usize..t.end as usize]
    }
    #[inline]
    fn kind(&self, at: usize) -> Kind {
        self.tokens.get(at).map_or(Kind::End, |t| t.kind)
    }
    #[inline]
    fn word(&self, at: usize) -> Word {
        match self.kind(at) {
            Kind::Word(w) => w,
            _ => Word::Other,
        }
    }
    /// The literal at `at`, which may begin with a minus sign: its value and how many tokens it takes.
    fn literal(&self, at: usize) -> Option<(Value<'t>, usize)> {
        let t = self.tokens[at];
        match t.kind {
            Kind::Text { plain } => {
                let quoted = self.slice(t);
                let inner = &quoted[1..quoted.len() - 1];
                if plain {
                    return Some((Value::Bytes(Cow::Borrowed(inner.as_bytes())), 1));
                }
                let quote = quoted.as_bytes()[0];
                let text = unescape(inner, quote, !self.mode.no_backslash_escapes);
                Some((Value::string(text.into_owned()), 1))
            }
            Kind::Number => Some((literal_number(self.slice(t)).ok()?, 1)),
            Kind::Symbol(b'-') if self.kind(at + 1) == Kind::Number => {
                let digits = self.slice(self.tokens[at + 1]);
                Some((literal_number(&format!("-{digits}")).ok()?, 2))
            }
            _ => None,
        }
    }
}

/// What a text between quotes means: doubled quotes are one, and backslashes escape as in MySQL.
pub(super) fn unescape(inner: &str, quote: u8, backslash: bool) -> Cow<'_, str> {
    let b = inner.as_bytes();
    let other = if backslash { b'\\' } else { quote };
    let Some(first) = memchr2(quote, other, b) else {
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
    let first = lex::first_word(text);
    let source = || {
        Some(Source {
            text,
            tokens: lex::lex(text, mode)?,
            mode,
        })
    };
    match first {
        Word::Insert | Word::Replace => insert(&source()?),
        Word::Update => conditions(&source()?, Word::Set),
        Word::Select | Word::Delete => conditions(&source()?, Word::Where),
        _ => None,
    }
}

/// INSERT and REPLACE with VALUES.
fn insert<'t>(s: &Source<'t>) -> Option<General<'t>> {
    let mut depth = 0usize;
    let mut values = 1;
    loop {
        match s.kind(values) {
            Kind::End => return None,
            Kind::Symbol(b'(') => depth += 1,
            Kind::Symbol(b')') => depth = depth.saturating_sub(1),
            Kind::Word(Word::Values | Word::Value) if depth == 0 => break,
            Kind::Word(Word::Select | Word::Set | Word::With | Word::Table) if depth == 0 => {
                return None;
            }
            _ => {}
        }
        values += 1;
    }
    let head = &s.text[..s.tokens[values].end as usize];
    let mut params = Vec::with_capacity(s.tokens.len() - values);
    let mut text = String::with_capacity(s.text.len().min(head.len() + 64));
    text.push_str(head);
    text.push(' ');
    let first = text.len();
    let mut at = one_row(s, values + 1, &mut text, &mut params)?;
    if params.is_empty() {
        return None;
    }
    let end = text.len();
    while s.kind(at) == Kind::Symbol(b',') {
        // The other rows must be like the first; each is written behind it, compared, and taken away again.
        at = one_row(s, at + 1, &mut text, &mut params)?;
        if text[first..end] != text[end..] {
            return None;
        }
        text.truncate(end);
    }
    text.push(' ');
    let last = s.tokens[s.tokens.len() - 1].end as usize;
    text.push_str(s.text.get(s.tokens[at].start as usize..last)?);
    Some(General { text, params })
}

/// A row of VALUES, from its parenthesis on; where it ends.
fn one_row<'t>(
    s: &Source<'t>,
    from: usize,
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
        // What most items are: a literal and nothing else.
        let literal = s.literal(item);
        if let Some((_, n)) = &literal {
            at += n;
        }
        let mut depth = 0usize;
        loop {
            match s.kind(at) {
                Kind::End | Kind::Word(Word::Select) => return None,
                Kind::Symbol(b'(') => depth += 1,
                Kind::Symbol(b')') if depth == 0 => break,
                Kind::Symbol(b')') => depth -= 1,
                Kind::Symbol(b',') if depth == 0 => break,
                _ => {}
            }
            at += 1;
        }
        if at == item {
            return None;
        }
        let alone = match literal {
            Some((v, n)) if item + n == at => Some(v),
            None if at == item + 1 && s.word(item) == Word::Null => Some(Value::Null),
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

/// Whether a condition may end before this token.
fn ends_condition(kind: Kind) -> bool {
    match kind {
        Kind::End | Kind::Symbol(b')' | b',') => true,
        Kind::Word(w) => matches!(
            w,
            Word::And
                | Word::Or
                | Word::Xor
                | Word::Where
                | Word::Order
                | Word::Group
                | Word::Limit
                | Word::For
                | Word::Lock
        ),
        _ => false,
    }
}

/// SELECT, UPDATE and DELETE: literals of SET and WHERE. `start`: the word from which on they are taken out.
fn conditions<'t>(s: &Source<'t>, start: Word) -> Option<General<'t>> {
    let mut params = Vec::new();
    let mut out = String::with_capacity(s.text.len());
    let mut copied = 0;
    let mut inside = false;
    // For each open parenthesis, whether it is an IN list.
    let mut open: SmallVec<[bool; 16]> = SmallVec::new();
    // BETWEENs whose AND is still to come.
    let mut between = 0usize;
    let mut at = 1;
    while at < s.tokens.len() {
        match s.kind(at) {
            Kind::Word(Word::Select | Word::Union | Word::With | Word::Into | Word::Case) => {
                return None;
            }
            Kind::Word(Word::Between) => between += 1,
            Kind::Word(w) if open.is_empty() => match w {
                _ if w == start => inside = true,
                Word::Group
                | Word::Having
                | Word::Order
                | Word::Limit
                | Word::For
                | Word::Lock
                | Word::Window => inside = false,
                _ => {}
            },
            Kind::Symbol(b'(') => open.push(s.word(at - 1) == Word::In),
            Kind::Symbol(b')') => {
                open.pop()?;
            }
            _ => {}
        }
        let before = match s.kind(at - 1) {
            Kind::Compare | Kind::Word(Word::Between) => true,
            Kind::Symbol(b'(' | b',') => open.last() == Some(&true),
            Kind::Word(Word::And) => {
                let second = between > 0;
                between -= usize::from(second);
                second
            }
            _ => false,
        };
        if inside
            && before
            && let Some((v, n)) = s.literal(at)
            && ends_condition(s.kind(at + n))
        {
            params.push(v);
            out.push_str(&s.text[copied..s.tokens[at].start as usize]);
            out.push('?');
            copied = s.tokens[at + n - 1].end as usize;
            at += n;
            continue;
        }
        at += 1;
    }
    if params.is_empty() {
        return None;
    }
    let last = s.tokens[s.tokens.len() - 1].end as usize;
    out.push_str(&s.text[copied..last]);
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
