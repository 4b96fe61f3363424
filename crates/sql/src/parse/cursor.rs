//! A statement's tokens with MySQL's error messages: what the hand-written statement parsers walk on.

use sqlparser::ast::Expr;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use super::ast::{Duplicates, TableName, sp};
use crate::error::{SqlError, SqlResult};

/// Walks over a statement's tokens.
pub struct Cursor<'a> {
    /// sqlparser's parser, for what it parses itself.
    pub parser: Parser<'a>,
    /// What the statement says besides its kind.
    pub beside: Beside,
    text: &'a str,
}

/// Clauses that [`super::Statement`] keeps itself.
#[derive(Default)]
pub struct Beside {
    /// WITH before UPDATE or DELETE.
    pub with: Option<sp::With>,
    /// IGNORE or REPLACE before the query of CREATE TABLE.
    pub duplicates: Duplicates,
}

impl<'a> Cursor<'a> {
    /// Over the tokens of `text`.
    pub fn new(parser: Parser<'a>, text: &'a str) -> Cursor<'a> {
        Cursor {
            parser,
            beside: Beside::default(),
            text,
        }
    }
    fn peek(&self) -> &Token {
        &self.parser.peek_token_ref().token
    }
    /// Whether the statement ends here.
    pub fn at_end(&self) -> bool {
        matches!(self.peek(), Token::EOF | Token::SemiColon)
    }
    /// Nothing may follow.
    pub fn end(&mut self) -> SqlResult<()> {
        while matches!(self.peek(), Token::SemiColon) {
            self.parser.advance_token();
        }
        if matches!(self.peek(), Token::EOF) {
            Ok(())
        } else {
            Err(self.error())
        }
    }
    /// 1064 at the next token.
    pub fn error(&self) -> SqlError {
        near(self.text, self.parser.peek_token_ref().span.start)
    }
    /// Whether the n-th token from here (0: the next) is this unquoted word.
    pub fn is_nth(&self, n: usize, word: &str) -> bool {
        matches!(&self.parser.peek_nth_token_ref(n).token,
            Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
    }
    /// Whether the next token is this unquoted word.
    pub fn is(&self, word: &str) -> bool {
        self.is_nth(0, word)
    }
    /// The next unquoted word in upper case, without consuming it.
    pub fn peek_word(&self) -> Option<String> {
        match self.peek() {
            Token::Word(w) if w.quote_style.is_none() => Some(w.value.to_ascii_uppercase()),
            _ => None,
        }
    }
    /// Consumes this word if it is next.
    pub fn eat(&mut self, word: &str) -> bool {
        let hit = self.is(word);
        if hit {
            self.parser.advance_token();
        }
        hit
    }
    /// Consumes these words if they are next, all of them.
    pub fn eat_all(&mut self, words: &[&str]) -> bool {
        let hit = words.iter().enumerate().all(|(n, w)| self.is_nth(n, w));
        if hit {
            for _ in words {
                self.parser.advance_token();
            }
        }
        hit
    }
    /// Consumes this word or fails.
    pub fn expect(&mut self, word: &str) -> SqlResult<()> {
        if self.eat(word) {
            Ok(())
        } else {
            Err(self.error())
        }
    }
    /// Consumes this token if it is next.
    pub fn eat_token(&mut self, token: &Token) -> bool {
        let hit = self.peek() == token;
        if hit {
            self.parser.advance_token();
        }
        hit
    }
    /// Consumes this token or fails.
    pub fn expect_token(&mut self, token: &Token) -> SqlResult<()> {
        if self.eat_token(token) {
            Ok(())
        } else {
            Err(self.error())
        }
    }
    /// The next token, consumed.
    pub fn next(&mut self) -> TokenWithSpan {
        self.parser.next_token()
    }
    /// The token after the next one.
    pub fn second(&self) -> &Token {
        &self.parser.peek_nth_token_ref(1).token
    }
    /// An identifier, quoted or not.
    pub fn ident(&mut self) -> SqlResult<String> {
        match self.peek() {
            Token::Word(w) => {
                let s = w.value.clone();
                self.parser.advance_token();
                Ok(s)
            }
            _ => Err(self.error()),
        }
    }
    /// A string literal.
    pub fn string(&mut self) -> SqlResult<String> {
        match self.peek() {
            Token::SingleQuotedString(s) | Token::DoubleQuotedString(s) => {
                let s = s.clone();
                self.parser.advance_token();
                Ok(s)
            }
            _ => Err(self.error()),
        }
    }
    /// An identifier or a string literal.
    pub fn ident_or_string(&mut self) -> SqlResult<String> {
        match self.peek() {
            Token::Word(_) => self.ident(),
            _ => self.string(),
        }
    }
    /// An unsigned number.
    pub fn number(&mut self) -> SqlResult<u64> {
        match self.peek() {
            Token::Number(s, _) => match s.parse() {
                Ok(n) => {
                    self.parser.advance_token();
                    Ok(n)
                }
                Err(_) => Err(self.error()),
            },
            _ => Err(self.error()),
        }
    }
    /// `name` or `database.name`.
    pub fn table_name(&mut self) -> SqlResult<TableName> {
        let first = self.ident()?;
        Ok(if self.eat_token(&Token::Period) {
            TableName {
                database: Some(first),
                name: self.ident()?,
            }
        } else {
            TableName {
                database: None,
                name: first,
            }
        })
    }
    /// One or more table names.
    pub fn table_names(&mut self) -> SqlResult<Vec<TableName>> {
        let mut v = vec![self.table_name()?];
        while self.eat_token(&Token::Comma) {
            v.push(self.table_name()?);
        }
        Ok(v)
    }
    /// The name of a user variable, if one is next: lower case, without the @.
    pub fn user_variable(&mut self) -> Option<String> {
        match self.peek() {
            Token::Word(w)
                if w.quote_style.is_none()
                    && w.value.starts_with('@')
                    && !w.value.starts_with("@@")
                    && w.value.len() > 1 =>
            {
                let s = w.value[1..].to_lowercase();
                self.parser.advance_token();
                Some(s)
            }
            _ => None,
        }
    }
    /// An expression.
    pub fn expr(&mut self) -> SqlResult<Expr> {
        self.parser.parse_expr().map_err(|e| self.convert(e))
    }
    /// sqlparser's error as MySQL words it.
    pub fn convert(&self, e: ParserError) -> SqlError {
        parse_error(self.text, &e, || self.parser.peek_token_ref().span.start)
    }
}

/// sqlparser's error as MySQL words it. The message ends in the position, where there is one.
pub fn parse_error(text: &str, e: &ParserError, fallback: impl FnOnce() -> Location) -> SqlError {
    match e {
        ParserError::RecursionLimitExceeded => SqlError::new(
            1436,
            "Thread stack overrun: the statement is nested too deeply",
        ),
        ParserError::ParserError(m) | ParserError::TokenizerError(m) => {
            if m.contains("found: EOF") {
                return near(text, Location { line: 0, column: 0 });
            }
            near(text, position(m).unwrap_or_else(fallback))
        }
    }
}

fn position(message: &str) -> Option<Location> {
    let at = message.rfind(" at Line: ")?;
    let (line, column) = message[at + " at Line: ".len()..].split_once(", Column: ")?;
    Some(Location {
        line: line.trim().parse().ok()?,
        column: column.trim().parse().ok()?,
    })
}

/// Byte offset of a location (lines and columns from 1, columns in characters). Line 0 is the end.
pub fn offset(text: &str, at: Location) -> usize {
    if at.line == 0 {
        return text.len();
    }
    let mut start = 0;
    for _ in 1..at.line {
        match text[start..].find('\n') {
            Some(n) => start += n + 1,
            None => return text.len(),
        }
    }
    text[start..]
        .char_indices()
        .nth((at.column as usize).saturating_sub(1))
        .map_or(text.len(), |(n, _)| start + n)
}

/// 1064 at a location.
pub fn near(text: &str, at: Location) -> SqlError {
    let text = text.trim_end_matches([';', ' ', '\n', '\t', '\r']);
    let from = offset(text, at).min(text.len());
    let line = text[..from].matches('\n').count() + 1;
    let rest: String = text[from..].chars().take(80).collect();
    SqlError::syntax(format_args!(
        "check the manual that corresponds to your MySQL server version for the right syntax to use \
         near '{rest}' at line {line}"
    ))
}
