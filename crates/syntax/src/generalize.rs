//! Statements that differ in their literals only, told without parsing: the literals become parameters, and what remains is a text
//! that a plan can be kept for.
//!
//! Only literals that a parameter replaces without changing the meaning are taken out: whole items of VALUES, whole right
//! sides of comparisons and of SET, members of IN lists, bounds of BETWEEN. All others stay in the text, as they
//! decide types, headings or positions. The rows of an INSERT that are alike become one row, run once per set of
//! parameters. Whatever is not known well here (comments, variables' assignments, hexadecimal numbers)
//! makes it give up, and the statement is parsed as it is.

use std::borrow::Cow;

use crate::keyword::Keyword as K;
use crate::lexer::{LexMode, Lexer, Token, TokenKind as T};
use crate::text::unquote;

/// A statement without its literals.
#[derive(Debug)]
pub struct General<'t> {
    /// Its text, with `?` for each literal taken out.
    pub text: String,
    /// The literals; for an INSERT of several rows, those of one row after the other.
    pub literals: Vec<Taken<'t>>,
}

/// A literal taken out of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken<'t> {
    /// NULL.
    Null,
    /// A number as it was written, and whether a minus sign stood before it.
    Number(&'t str, bool),
    /// What a text means.
    Text(Cow<'t, str>),
}

/// Shortest literal-free statement worth looking at; below, there is no room for a literal in a place that counts.
const SHORTEST: usize = 20;

struct Source<'t> {
    text: &'t str,
    /// The last one is the end.
    tokens: Vec<Token>,
    mode: LexMode,
}

impl<'t> Source<'t> {
    /// Lexes a text; `None` if there is anything in it that is not known well.
    fn of(text: &'t str, mode: LexMode) -> Option<Source<'t>> {
        let mut lexer = Lexer::new(text, mode);
        let mut tokens: Vec<Token> = Vec::with_capacity(text.len() / 4 + 8);
        // A semicolon must be followed by nothing else.
        let mut over = false;
        loop {
            let token = lexer.next_token();
            match token.kind {
                T::End if lexer.commented() => return None,
                T::End => {
                    let end = tokens.last().map_or(0, |t| t.end);
                    tokens.push(Token {
                        kind: T::End,
                        start: end,
                        end,
                    });
                    return Some(Source { text, tokens, mode });
                }
                T::Semicolon => {
                    over = true;
                    continue;
                }
                T::Bad | T::Param | T::Colon | T::Assign | T::Hex | T::Bits | T::Hint => {
                    return None;
                }
                _ if over => return None,
                _ => tokens.push(token),
            }
        }
    }
    fn slice(&self, t: Token) -> &'t str {
        &self.text[t.start as usize..t.end as usize]
    }
    #[inline]
    fn kind(&self, at: usize) -> T {
        self.tokens.get(at).map_or(T::End, |t| t.kind)
    }
    /// The literal at `at`, which may begin with a minus sign: its value and how many tokens it takes.
    fn literal(&self, at: usize) -> Option<(Taken<'t>, usize)> {
        let number = |k| matches!(k, T::Int | T::Decimal | T::Float);
        let t = self.tokens[at];
        match t.kind {
            T::Text => {
                let backslash = !self.mode.no_backslash_escapes;
                Some((Taken::Text(unquote(self.slice(t), backslash)), 1))
            }
            k if number(k) => Some((Taken::Number(self.slice(t), false), 1)),
            T::Minus if number(self.kind(at + 1)) => {
                let digits = self.slice(self.tokens[at + 1]);
                Some((Taken::Number(digits, true), 2))
            }
            _ => None,
        }
    }
}

/// Takes the literals out of a statement; `None` if it has none that may be taken out, or is not of a kind that is gained by.
pub fn generalize(text: &str, mode: LexMode) -> Option<General<'_>> {
    if text.len() < SHORTEST || u32::try_from(text.len()).is_err() {
        return None;
    }
    match Lexer::new(text, mode).next_token().kind {
        T::Keyword(K::INSERT | K::REPLACE) => insert(&Source::of(text, mode)?),
        T::Keyword(K::UPDATE) => conditions(&Source::of(text, mode)?, K::SET),
        T::Keyword(K::SELECT | K::DELETE) => conditions(&Source::of(text, mode)?, K::WHERE),
        _ => None,
    }
}

/// INSERT and REPLACE with VALUES.
fn insert<'t>(s: &Source<'t>) -> Option<General<'t>> {
    let mut depth = 0usize;
    let mut values = 1;
    loop {
        match s.kind(values) {
            T::End => return None,
            T::LParen => depth += 1,
            T::RParen => depth = depth.saturating_sub(1),
            T::Keyword(K::VALUES | K::VALUE) if depth == 0 => break,
            T::Keyword(K::SELECT | K::SET | K::WITH | K::TABLE) if depth == 0 => return None,
            _ => {}
        }
        values += 1;
    }
    let head = &s.text[..s.tokens[values].end as usize];
    let mut literals = Vec::with_capacity(s.tokens.len() - values);
    let mut text = String::with_capacity(s.text.len().min(head.len() + 64));
    text.push_str(head);
    text.push(' ');
    let first = text.len();
    let mut at = one_row(s, values + 1, &mut text, &mut literals)?;
    if literals.is_empty() {
        return None;
    }
    let end = text.len();
    while s.kind(at) == T::Comma {
        // The other rows must be like the first; each is written behind it, compared, and taken away again.
        at = one_row(s, at + 1, &mut text, &mut literals)?;
        if text[first..end] != text[end..] {
            return None;
        }
        text.truncate(end);
    }
    text.push(' ');
    let last = s.tokens[s.tokens.len() - 1].end as usize;
    text.push_str(s.text.get(s.tokens[at].start as usize..last)?);
    Some(General { text, literals })
}

/// A row of VALUES, from its parenthesis on; where it ends.
fn one_row<'t>(
    s: &Source<'t>,
    from: usize,
    out: &mut String,
    literals: &mut Vec<Taken<'t>>,
) -> Option<usize> {
    if s.kind(from) != T::LParen {
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
                T::End | T::Keyword(K::SELECT) => return None,
                T::LParen => depth += 1,
                T::RParen if depth == 0 => break,
                T::RParen => depth -= 1,
                T::Comma if depth == 0 => break,
                _ => {}
            }
            at += 1;
        }
        if at == item {
            return None;
        }
        let alone = match literal {
            Some((v, n)) if item + n == at => Some(v),
            None if at == item + 1 && s.kind(item) == T::Keyword(K::NULL) => Some(Taken::Null),
            _ => None,
        };
        match alone {
            Some(v) => {
                literals.push(v);
                out.push('?');
            }
            None => {
                let text = s.tokens[item].start as usize..s.tokens[at - 1].end as usize;
                out.push_str(&s.text[text]);
            }
        }
        if s.kind(at) == T::RParen {
            out.push(')');
            return Some(at + 1);
        }
        out.push(',');
        at += 1;
    }
}

/// Whether a condition may end before this token.
fn ends_condition(kind: T) -> bool {
    match kind {
        T::End | T::RParen | T::Comma => true,
        T::Keyword(k) => matches!(
            k,
            K::AND | K::OR | K::XOR | K::WHERE | K::ORDER | K::GROUP | K::LIMIT | K::FOR | K::LOCK
        ),
        _ => false,
    }
}

/// Deepest nesting of parentheses that is followed.
const DEEPEST: usize = 64;

/// What the words so far make of the literals within a pair of parentheses, or outside of all.
#[derive(Clone, Copy, Default)]
struct Place {
    /// It is an IN list.
    list: bool,
    /// It is a query of its own, so that its words say where in it they are.
    query: bool,
    /// Literals may be taken out at all.
    open: bool,
    /// So may those of queries in it: not in a select list, where a query's text is a column's name.
    nameless: bool,
    /// They are those of a condition or an assignment.
    inside: bool,
    /// BETWEENs whose AND is still to come.
    between: usize,
}

/// SELECT, UPDATE and DELETE: literals of SET and WHERE, of subqueries and derived tables too. `start`: the word from which on they
/// are taken out.
fn conditions<'t>(s: &Source<'t>, start: K) -> Option<General<'t>> {
    let mut literals = Vec::new();
    let mut out = String::with_capacity(s.text.len());
    let mut copied = 0;
    let mut around: Vec<Place> = Vec::new();
    let mut here = Place {
        query: true,
        open: true,
        // UPDATE has no list before its conditions.
        nameless: start == K::SET,
        ..Place::default()
    };
    let mut at = 1;
    while at < s.tokens.len() {
        match s.kind(at) {
            T::Keyword(K::UNION | K::WITH | K::INTO | K::CASE) => return None,
            T::Keyword(K::SELECT) if s.kind(at - 1) != T::LParen => return None,
            T::Keyword(K::BETWEEN) => here.between += 1,
            T::Keyword(k) if here.query => match k {
                K::WHERE => (here.inside, here.nameless) = (true, true),
                _ if k == start && around.is_empty() => here.inside = true,
                K::FROM => here.nameless = true,
                K::GROUP | K::HAVING | K::ORDER | K::LIMIT | K::FOR | K::LOCK | K::WINDOW => {
                    (here.inside, here.nameless) = (false, false);
                }
                _ => {}
            },
            T::LParen => {
                if around.len() >= DEEPEST {
                    return None;
                }
                around.push(here);
                let query = s.kind(at + 1) == T::Keyword(K::SELECT);
                here = Place {
                    list: s.kind(at - 1) == T::Keyword(K::IN),
                    query,
                    open: here.open && (here.nameless || !query),
                    nameless: here.nameless && !query,
                    inside: here.inside && !query,
                    between: 0,
                };
            }
            T::RParen => here = around.pop()?,
            _ => {}
        }
        let before = match s.kind(at - 1) {
            T::Eq | T::Ne | T::Lt | T::Le | T::Gt | T::Ge | T::NullSafeEq => true,
            T::Keyword(K::BETWEEN) => true,
            T::LParen | T::Comma => here.list && !here.query,
            T::Keyword(K::AND) => {
                let second = here.between > 0;
                here.between -= usize::from(second);
                second
            }
            _ => false,
        };
        if here.open
            && here.inside
            && before
            && let Some((v, n)) = s.literal(at)
            && ends_condition(s.kind(at + n))
        {
            literals.push(v);
            out.push_str(&s.text[copied..s.tokens[at].start as usize]);
            out.push('?');
            copied = s.tokens[at + n - 1].end as usize;
            at += n;
            continue;
        }
        at += 1;
    }
    if literals.is_empty() {
        return None;
    }
    let last = s.tokens[s.tokens.len() - 1].end as usize;
    out.push_str(&s.text[copied..last]);
    Some(General {
        text: out,
        literals,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn general(text: &str) -> Option<(String, Vec<String>)> {
        generalize(text, LexMode::default()).map(|g| {
            let shown = |v: &Taken<'_>| match v {
                Taken::Text(s) => format!("'{s}'"),
                Taken::Null => "NULL".into(),
                Taken::Number(digits, true) => format!("-{digits}"),
                Taken::Number(digits, false) => digits.to_string(),
            };
            (g.text, g.literals.iter().map(shown).collect())
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
            &["1.50", "2e3"],
        );
        check(
            "select a from t where f(1, 2) = 3 and (b = 4)",
            "select a from t where f(1, 2) = ? and (b = ?)",
            &["3", "4"],
        );
        check(
            "select a, (select max(b) from u where c = 5) from t join (select 6 from v where d = 7 order by 8) x where e = 9",
            "select a, (select max(b) from u where c = 5) from t join (select 6 from v where d = ? order by 8) x where e = ?",
            &["7", "9"],
        );
        check(
            "update t set a = (select 1 from u where b = 2 group by 3 having c = 4) where d in (select 5 from v where e between 6 and 7)",
            "update t set a = (select 1 from u where b = ? group by 3 having c = 4) where d in (select 5 from v where e between ? and ?)",
            &["2", "6", "7"],
        );
        check(
            "select a from t where exists (select 1, (select 2 from w where x = 3) from u where b in (4, 5)) group by 6 having (select 7 from v where c = 8)",
            "select a from t where exists (select 1, (select 2 from w where x = 3) from u where b in (?, ?)) group by 6 having (select 7 from v where c = 8)",
            &["4", "5"],
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
}
