//! What the text of a search says. The grammar is InnoDB's: terms are what stands between spaces and operators, and are cut into words
//! only then.

use crate::error::{SqlError, SqlResult};

/// How a search is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// IN NATURAL LANGUAGE MODE, and what is meant if nothing is said.
    Natural,
    /// IN BOOLEAN MODE.
    Boolean,
    /// WITH QUERY EXPANSION: what is found is searched for words, which are then searched for too.
    Expansion,
}

/// What stands before a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Nothing: it may be there.
    May,
    /// `+`: it must be.
    Must,
    /// `-`: it must not be.
    Not,
    /// `~`: it counts against the row.
    Negate,
    /// `>`: it counts more.
    More,
    /// `<`: it counts less.
    Less,
}

/// A term as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// A word, or several with something else between; whether `*` follows it.
    Term(Vec<u8>, bool),
    /// Words in quotes, which follow each other; or, with `@n`, stand within n words.
    Phrase(Vec<u8>, Option<u32>),
    /// What stands in parentheses.
    List(Vec<(Operator, Written)>),
}

/// Deepest nesting of parentheses.
const MAX_DEPTH: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    Operator(u8),
    Number(&'t [u8]),
    Word(&'t [u8]),
    Quoted(&'t [u8]),
    End,
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r')
}

/// Bytes that end a term and mean nothing in a natural search.
fn separates(b: u8) -> bool {
    is_space(b) || matches!(b, b'"' | b'%')
}

/// Bytes that end a term of a boolean search and are operators there.
fn is_operator(b: u8) -> bool {
    matches!(
        b,
        b'(' | b')' | b'+' | b'-' | b'<' | b'>' | b'~' | b'@' | b'*'
    )
}

/// Takes a quoted text off, which begins at `rest`; `None` if it does not end.
fn quoted<'t>(rest: &mut &'t [u8]) -> Option<&'t [u8]> {
    let inside = &rest[1..];
    let end = inside.iter().position(|b| *b == b'"')?;
    *rest = &inside[end + 1..];
    Some(&inside[..end])
}

/// A natural search: terms and phrases, of which any will do.
pub fn natural(mut rest: &[u8]) -> Vec<(Operator, Written)> {
    let mut list = Vec::new();
    while let Some(&b) = rest.first() {
        if b == b'"'
            && let Some(text) = quoted(&mut rest)
        {
            list.push((Operator::May, Written::Phrase(text.to_vec(), None)));
            continue;
        }
        if separates(b) {
            rest = &rest[1..];
            continue;
        }
        let end = rest.iter().position(|b| separates(*b));
        let (term, after) = rest.split_at(end.unwrap_or(rest.len()));
        list.push((Operator::May, Written::Term(term.to_vec(), false)));
        rest = after;
    }
    list
}

/// A boolean search; error 1064 for what is none.
pub fn boolean(text: &[u8]) -> SqlResult<Vec<(Operator, Written)>> {
    let mut parser = Parser { rest: text };
    let list = parser.list(0)?;
    match parser.next() {
        Token::End => Ok(list),
        found => Err(unexpected(found)),
    }
}

fn unexpected(found: Token<'_>) -> SqlError {
    let what = match found {
        Token::Operator(b) => format!("'{}'", char::from(b)),
        Token::Number(_) => "FTS_NUMB".into(),
        Token::Word(_) => "FTS_TERM".into(),
        Token::Quoted(_) => "FTS_TEXT".into(),
        Token::End => "$end".into(),
    };
    SqlError::new(1064, format!("syntax error, unexpected {what}"))
}

struct Parser<'t> {
    rest: &'t [u8],
}

impl<'t> Parser<'t> {
    /// Takes the next token off.
    fn next(&mut self) -> Token<'t> {
        while let Some(&b) = self.rest.first() {
            if is_operator(b) {
                self.rest = &self.rest[1..];
                return Token::Operator(b);
            }
            if b == b'"'
                && let Some(text) = quoted(&mut self.rest)
            {
                return Token::Quoted(text);
            }
            if separates(b) {
                self.rest = &self.rest[1..];
                continue;
            }
            let ends = |b: &u8| separates(*b) || is_operator(*b);
            let end = self.rest.iter().position(ends).unwrap_or(self.rest.len());
            let (term, after) = self.rest.split_at(end);
            self.rest = after;
            return match term.iter().all(u8::is_ascii_digit) {
                true => Token::Number(term),
                false => Token::Word(term),
            };
        }
        Token::End
    }

    fn peek(&self) -> Token<'t> {
        Parser { rest: self.rest }.next()
    }

    /// Takes a token off if it comes next.
    fn eat(&mut self, operator: u8) -> bool {
        let is = self.peek() == Token::Operator(operator);
        if is {
            self.next();
        }
        is
    }

    /// Terms up to the end or a closing parenthesis, which is left.
    fn list(&mut self, depth: usize) -> SqlResult<Vec<(Operator, Written)>> {
        if depth > MAX_DEPTH {
            return Err(SqlError::unsupported("a boolean search nested this deeply"));
        }
        let mut list = Vec::new();
        loop {
            let operator = match self.peek() {
                Token::End | Token::Operator(b')') => return Ok(list),
                Token::Operator(b'+') => Operator::Must,
                Token::Operator(b'-') => Operator::Not,
                Token::Operator(b'~') => Operator::Negate,
                Token::Operator(b'>') => Operator::More,
                Token::Operator(b'<') => Operator::Less,
                _ => Operator::May,
            };
            if operator != Operator::May {
                self.next();
            }
            list.push((operator, self.term(depth)?));
        }
    }

    fn term(&mut self, depth: usize) -> SqlResult<Written> {
        match self.next() {
            Token::Operator(b'(') => {
                let list = self.list(depth + 1)?;
                match self.next() {
                    Token::Operator(b')') => Ok(Written::List(list)),
                    found => Err(unexpected(found)),
                }
            }
            Token::Word(term) | Token::Number(term) => {
                let prefix = self.eat(b'*');
                Ok(Written::Term(term.to_vec(), prefix))
            }
            // A star before a term is as good as none.
            Token::Operator(b'*') => match self.next() {
                Token::Word(term) | Token::Number(term) => Ok(Written::Term(term.to_vec(), false)),
                found => Err(unexpected(found)),
            },
            Token::Quoted(text) => {
                if !self.eat(b'@') {
                    return Ok(Written::Phrase(text.to_vec(), None));
                }
                match self.next() {
                    Token::Number(digits) => {
                        let digits = String::from_utf8_lossy(digits);
                        let distance = digits.parse().unwrap_or(u32::MAX);
                        Ok(Written::Phrase(text.to_vec(), Some(distance)))
                    }
                    found => Err(unexpected(found)),
                }
            }
            found => Err(unexpected(found)),
        }
    }
}
