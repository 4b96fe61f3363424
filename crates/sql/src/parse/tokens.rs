//! Text to tokens, adjusted to what sqlparser's grammar takes for MySQL's: placeholders get numbers,
//! words it would misread are replaced, clauses it doesn't know are taken out and remembered.

use sqlparser::dialect::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer, Whitespace, Word};

mod definitions;

use std::borrow::Cow;

use super::cursor::near;
use super::depth;
use super::general::unescape;
use crate::error::{SqlError, SqlResult};
use crate::session::env::SqlMode;
use crate::stack;
use crate::types::Collation;

/// Tokens of a statement and what was taken out of them.
#[derive(Default)]
pub struct Tokens {
    /// The tokens, without blanks and comments.
    pub tokens: Vec<TokenWithSpan>,
    /// Number of placeholders.
    pub params: usize,
    /// IGNORE after UPDATE or DELETE.
    pub ignore: bool,
    /// Variables of SELECT ... INTO.
    pub into: Vec<String>,
    /// See [`super::Statement::headings`].
    pub headings: Vec<(Location, Vec<String>)>,
    /// See [`super::Statement::time_limit`].
    pub time_limit: Option<u64>,
    /// See [`super::Statement::run`].
    pub run: usize,
}

fn word(t: &Token) -> Option<&str> {
    match t {
        Token::Word(w) if w.quote_style.is_none() => Some(&w.value),
        _ => None,
    }
}

fn is(t: &TokenWithSpan, w: &str) -> bool {
    word(&t.token).is_some_and(|v| v.eq_ignore_ascii_case(w))
}

fn keyword(value: &str, keyword: Keyword, span: Span) -> TokenWithSpan {
    TokenWithSpan {
        token: Token::Word(Word {
            value: value.to_string(),
            quote_style: None,
            keyword,
        }),
        span,
    }
}

/// Tokenises a statement.
pub fn tokenize(text: &str, dialect: &dyn Dialect, mode: SqlMode) -> SqlResult<Tokens> {
    let mut out = Tokens::default();
    // Texts are unescaped below, as MySQL does it.
    let raw = Tokenizer::new(dialect, text)
        .with_unescape(false)
        .tokenize_with_location()
        .map_err(|e| near(text, e.location))?;
    out.time_limit = time_limit(&raw);
    out.tokens = raw
        .into_iter()
        .filter(|t| !matches!(t.token, Token::Whitespace(_)))
        .collect();
    // A list of nested calls has short runs, but every call is a level.
    out.run = stack::longest_run(&out.tokens).max(depth::height(&out.tokens));
    stack::check(out.run)?;
    adjust(&mut out, mode);
    headings(text, &out.tokens, &mut out.headings);
    statement_modifiers(&mut out);
    insert_partitions(&mut out);
    into_variables(&mut out);
    into_file(&out.tokens)?;
    definitions::adjust(&mut out.tokens)?;
    casts(&mut out.tokens)?;
    trims(&mut out.tokens);
    Ok(out)
}

/// MAX_EXECUTION_TIME(n) among the hints behind the first word, if that is SELECT.
fn time_limit(raw: &[TokenWithSpan]) -> Option<u64> {
    let blank = |t: &TokenWithSpan| matches!(&t.token, Token::Whitespace(w) if !is_hint(w));
    let mut list = raw.iter().filter(|t| !blank(t));
    let first = list.find(|t| !matches!(t.token, Token::Whitespace(_)))?;
    let Token::Whitespace(Whitespace::MultiLineComment(text)) = &list.next()?.token else {
        return None;
    };
    let hint = text.to_ascii_uppercase();
    let (_, rest) = hint.split_once("MAX_EXECUTION_TIME")?;
    let (n, _) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
    is(first, "SELECT").then(|| n.trim().parse().ok()).flatten()
}

fn is_hint(w: &Whitespace) -> bool {
    matches!(w, Whitespace::MultiLineComment(text) if text.starts_with('+'))
}

fn unescape_in_place(s: &mut String, quote: u8, mode: SqlMode) {
    if let Cow::Owned(plain) = unescape(s, quote, !mode.no_backslash_escapes) {
        *s = plain;
    }
}

/// Token by token.
fn adjust(out: &mut Tokens, mode: SqlMode) {
    let mut i = 0;
    while i < out.tokens.len() {
        let span = out.tokens[i].span;
        if i > 0 && is(&out.tokens[i], "KEY") && is(&out.tokens[i - 1], "DROP") {
            // ALTER TABLE's other word for it.
            out.tokens[i] = keyword("INDEX", Keyword::INDEX, span);
        }
        match &mut out.tokens[i].token {
            Token::Placeholder(p) if p == "?" => {
                *p = format!("?{}", out.params);
                out.params += 1;
            }
            Token::SingleQuotedString(s) | Token::NationalStringLiteral(s) => {
                unescape_in_place(s, b'\'', mode);
            }
            Token::DoubleQuotedString(s) => unescape_in_place(s, b'"', mode),
            Token::Word(w) if w.quote_style.is_some() => {
                let quote = w.quote_style.map_or(b'`', |q| q as u8);
                if let Cow::Owned(s) = unescape(&w.value, quote, false) {
                    w.value = s;
                }
            }
            Token::StringConcat if !mode.pipes_as_concat => {
                out.tokens[i] = keyword("OR", Keyword::OR, span);
            }
            Token::Overlap => out.tokens[i] = keyword("AND", Keyword::AND, span),
            Token::Word(w) if w.quote_style.is_none() => {
                if let Some(bits) = w.value.strip_prefix("0b") {
                    if !bits.is_empty() && bits.bytes().all(|b| b == b'0' || b == b'1') {
                        out.tokens[i].token = Token::SingleQuotedByteStringLiteral(bits.into());
                    }
                } else if w.value.eq_ignore_ascii_case("LOCK")
                    && out.tokens.len() > i + 3
                    && is(&out.tokens[i + 1], "IN")
                    && is(&out.tokens[i + 2], "SHARE")
                    && is(&out.tokens[i + 3], "MODE")
                {
                    out.tokens[i] = keyword("FOR", Keyword::FOR, span);
                    out.tokens[i + 1] = keyword("SHARE", Keyword::SHARE, span);
                    out.tokens.drain(i + 2..i + 4);
                }
            }
            _ => {}
        }
        i += 1;
    }
}

/// Takes LOW_PRIORITY, QUICK and IGNORE out of UPDATE and DELETE.
fn statement_modifiers(out: &mut Tokens) {
    let mut depth = 0u32;
    let with = out.tokens.first().is_some_and(|t| is(t, "WITH"));
    let Some(first) = out.tokens.iter().position(|t| {
        match t.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
            && (["UPDATE", "DELETE"].iter().any(|w| is(t, w))
                || !with && !is(t, "EXPLAIN") && word(&t.token).is_some())
    }) else {
        return;
    };
    let delete = is(&out.tokens[first], "DELETE");
    if !delete && !is(&out.tokens[first], "UPDATE") {
        return;
    }
    while let Some(t) = out.tokens.get(first + 1) {
        let ignore = is(t, "IGNORE");
        if !(ignore || is(t, "LOW_PRIORITY") || delete && is(t, "QUICK")) {
            break;
        }
        out.ignore |= ignore;
        out.tokens.remove(first + 1);
    }
}

/// Puts the PARTITION clause of INSERT and REPLACE behind the list of columns, where sqlparser looks for it.
fn insert_partitions(out: &mut Tokens) {
    let list = &mut out.tokens;
    let first = usize::from(list.first().is_some_and(|t| is(t, "EXPLAIN")));
    let insert = |t: &TokenWithSpan| is(t, "INSERT") || is(t, "REPLACE");
    if !list.get(first).is_some_and(insert) {
        return;
    }
    // The table's name and what stands before it hold no parenthesis.
    let paren = |from: usize, list: &[TokenWithSpan]| {
        (from..list.len()).find(|&i| list[i].token == Token::LParen)
    };
    let Some(open) = paren(first, list) else {
        return;
    };
    if !is(&list[open - 1], "PARTITION") {
        return;
    }
    let close = |from: usize, list: &[TokenWithSpan]| {
        (from..list.len()).find(|&i| list[i].token == Token::RParen)
    };
    let Some(end) = close(open, list) else {
        return;
    };
    let columns = list.get(end + 1).is_some_and(|t| t.token == Token::LParen)
        && list.get(end + 2).is_some_and(|t| {
            matches!(t.token, Token::Word(_)) && !is(t, "SELECT") && !is(t, "WITH")
                || t.token == Token::RParen
        });
    if columns && let Some(last) = close(end + 1, list) {
        list[open - 1..=last].rotate_left(end + 2 - open);
    }
}

/// Takes `INTO @a, @b` out of a SELECT, at its end or after the select list.
fn into_variables(out: &mut Tokens) {
    let variable = |t: Option<&TokenWithSpan>| {
        t.and_then(|t| word(&t.token))
            .filter(|w| w.starts_with('@') && !w.starts_with("@@"))
            .map(|w| w[1..].to_lowercase())
    };
    let Some(at) = (0..out.tokens.len())
        .find(|&i| is(&out.tokens[i], "INTO") && variable(out.tokens.get(i + 1)).is_some())
    else {
        return;
    };
    let mut end = at + 1;
    while let Some(v) = variable(out.tokens.get(end)) {
        out.into.push(v);
        end += 1;
        if matches!(out.tokens.get(end), Some(t) if t.token == Token::Comma)
            && variable(out.tokens.get(end + 1)).is_some()
        {
            end += 1;
        } else {
            break;
        }
    }
    out.tokens.drain(at..end);
}

/// Refuses SELECT ... INTO OUTFILE and INTO DUMPFILE.
fn into_file(list: &[TokenWithSpan]) -> SqlResult<()> {
    let text = |t: &Token| {
        matches!(
            t,
            Token::SingleQuotedString(_) | Token::DoubleQuotedString(_)
        )
    };
    let found = list.windows(3).any(|w| {
        is(&w[0], "INTO") && (is(&w[1], "OUTFILE") || is(&w[1], "DUMPFILE")) && text(&w[2].token)
    });
    if found {
        return Err(SqlError::unsupported("SELECT ... INTO a file"));
    }
    Ok(())
}

/// `TRIM(LEADING FROM s)` trims spaces.
fn trims(list: &mut Vec<TokenWithSpan>) {
    for i in 3..list.len() {
        if is(&list[i], "FROM")
            && ["LEADING", "TRAILING", "BOTH"]
                .iter()
                .any(|w| is(&list[i - 1], w))
            && list[i - 2].token == Token::LParen
            && is(&list[i - 3], "TRIM")
        {
            let space = TokenWithSpan {
                token: Token::SingleQuotedString(" ".into()),
                span: list[i].span,
            };
            list.insert(i, space);
        }
    }
}

/// Takes INT out of `CAST(x AS UNSIGNED INT)`, and the character set out of `CAST(x AS CHAR(n) CHARACTER SET y)` and `CONVERT(x, CHAR CHARACTER SET y)`, where texts are Unicode
/// anyway; for the character set `binary` the type becomes BINARY.
fn casts(list: &mut Vec<TokenWithSpan>) -> SqlResult<()> {
    let mut i = 1;
    while i < list.len() {
        let target = is(&list[i - 1], "AS") || list[i - 1].token == Token::Comma;
        let whole = is(&list[i], "UNSIGNED") || is(&list[i], "SIGNED");
        let int = |t: &TokenWithSpan| is(t, "INT") || is(t, "INTEGER");
        if target && whole && list.get(i + 1).is_some_and(int) {
            list.remove(i + 1);
        }
        if target && is(&list[i], "NCHAR") {
            list[i] = keyword("CHAR", Keyword::CHAR, list[i].span);
        }
        let cast = is(&list[i], "CHAR") && target;
        let mut at = i + 1;
        if cast && list.get(at).is_some_and(|t| t.token == Token::LParen) {
            at += 3;
        }
        let words = match list.get(at..) {
            Some([a, b, ..]) if is(a, "CHARACTER") && is(b, "SET") => 2,
            Some([a, ..]) if is(a, "CHARSET") => 1,
            _ => 0,
        };
        if cast
            && words > 0
            && let Some(name) = list.get(at + words)
        {
            let name = match &name.token {
                Token::Word(w) => w.value.clone(),
                Token::SingleQuotedString(s) => s.clone(),
                _ => return Ok(()),
            };
            if Collation::of_charset(&name)? == Collation::Binary {
                list[i] = keyword("BINARY", Keyword::BINARY, list[i].span);
            }
            list.drain(at..=at + words);
        }
        i += 1;
    }
    Ok(())
}

/// Words that may stand between SELECT and its list.
const MODIFIERS: [&str; 12] = [
    "ALL",
    "DISTINCT",
    "DISTINCTROW",
    "HIGH_PRIORITY",
    "STRAIGHT_JOIN",
    "SQL_SMALL_RESULT",
    "SQL_BIG_RESULT",
    "SQL_BUFFER_RESULT",
    "SQL_NO_CACHE",
    "SQL_CACHE",
    "SQL_CALC_FOUND_ROWS",
    "STATEMENT",
];

/// Words that end a select list.
const ENDS: [&str; 13] = [
    "FROM",
    "INTO",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "UNION",
    "FOR",
    "LOCK",
    "EXCEPT",
    "INTERSECT",
    "WINDOW",
];

/// Finds byte offsets of locations.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
    ascii: bool,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Lines<'t> {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        Lines {
            text,
            starts: std::iter::once(0).chain(ends.map(|(n, _)| n + 1)).collect(),
            ascii: text.is_ascii(),
        }
    }
    fn offset(&self, at: Location) -> usize {
        let line = (at.line as usize).saturating_sub(1);
        let Some(&start) = self.starts.get(line) else {
            return self.text.len();
        };
        let column = (at.column as usize).saturating_sub(1);
        if self.ascii {
            return (start + column).min(self.text.len());
        }
        self.text[start..]
            .char_indices()
            .nth(column)
            .map_or(self.text.len(), |(n, _)| start + n)
    }
}

/// Notes the source text of the items of every select list.
fn headings(text: &str, tokens: &[TokenWithSpan], out: &mut Vec<(Location, Vec<String>)>) {
    let lines = Lines::new(text);
    for (i, t) in tokens.iter().enumerate() {
        if !is(t, "SELECT") {
            continue;
        }
        let mut items = Vec::new();
        let mut at = i + 1;
        while tokens
            .get(at)
            .is_some_and(|t| MODIFIERS.iter().any(|m| is(t, m)))
        {
            at += 1;
        }
        let mut depth = 0u32;
        let mut first = at;
        let mut push = |from: usize, to: usize| {
            if from < to {
                let start = lines.offset(tokens[from].span.start);
                let end = lines.offset(tokens[to - 1].span.end);
                let is_text = |t: &TokenWithSpan| {
                    matches!(
                        t.token,
                        Token::SingleQuotedString(_) | Token::DoubleQuotedString(_)
                    )
                };
                // A string literal's heading is its content; of several in a row, the first one's.
                items.push(match &tokens[from].token {
                    Token::SingleQuotedString(s) | Token::DoubleQuotedString(s)
                        if tokens[from..to].iter().all(is_text) =>
                    {
                        s.clone()
                    }
                    _ => text.get(start..end).unwrap_or("?").trim().to_string(),
                });
            }
        };
        loop {
            match tokens.get(at) {
                None => break,
                Some(t) => match &t.token {
                    Token::LParen => depth += 1,
                    Token::RParen if depth == 0 => break,
                    Token::RParen => depth -= 1,
                    Token::SemiColon => break,
                    Token::Comma if depth == 0 => {
                        push(first, at);
                        first = at + 1;
                    }
                    // A column may be called `t.from`.
                    Token::Word(_)
                        if depth == 0
                            && tokens[at - 1].token != Token::Period
                            && ENDS.iter().any(|e| is(t, e)) =>
                    {
                        break;
                    }
                    _ => {}
                },
            }
            at += 1;
        }
        push(first, at);
        out.push((t.span.start, items));
    }
}
