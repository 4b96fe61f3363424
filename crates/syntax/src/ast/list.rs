//! Long lists: members of IN, rows of VALUES.
//!
//! A list of more than [`KEPT`] values is held as its text, parsed when the statement was and parsed again, value by value, when it is
//! read: a byte for a byte rather than a tree many times as large.

use super::expr::Expr;
use crate::lexer::{LexMode, Lexer, TokenKind};
use crate::parse::Parser;

/// How many values a list may have and be held as trees.
pub const KEPT: usize = 48;

/// How long a list grows by doubling.
const DOUBLED: usize = 1024;

/// Adds to a list that may become very long: by doubling at first, by a quarter then, as what is reserved is memory too.
pub(crate) fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() && list.len() >= DOUBLED {
        list.reserve_exact(list.len() / 4);
    }
    list.push(item);
}

/// A part of a statement that is parsed again when it is read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The list's text, from its first value on.
    pub text: Box<str>,
    pub mode: LexMode,
    pub in_comment: bool,
    /// Placeholders before it.
    pub params: u32,
    /// Where in the statement it begins.
    pub offset: u32,
}

impl Source {
    fn parser(&self) -> Parser<'_> {
        let lexer = Lexer::part(&self.text, self.mode, self.offset, self.in_comment);
        let mut parser = Parser::on(lexer);
        parser.params = self.params;
        parser
    }
}

/// Expressions, with commas between.
#[derive(Clone, Debug)]
pub struct ExprList(Held<Vec<Expr>>);

#[derive(Clone, Debug)]
enum Held<T> {
    Trees(T),
    Text { source: Source, len: usize },
}

impl ExprList {
    pub(crate) fn of_text(source: Source, len: usize) -> ExprList {
        ExprList(Held::Text { source, len })
    }
    /// How many.
    pub fn len(&self) -> usize {
        match &self.0 {
            Held::Trees(list) => list.len(),
            Held::Text { len, .. } => *len,
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The expressions, if they are few and held as trees.
    pub fn as_slice(&self) -> Option<&[Expr]> {
        match &self.0 {
            Held::Trees(list) => Some(list),
            Held::Text { .. } => None,
        }
    }
    /// The expressions, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = Expr> {
        let (trees, text) = match &self.0 {
            Held::Trees(list) => (Some(list), None),
            Held::Text { source, len } => (None, Some((source.parser(), *len))),
        };
        let trees = trees.into_iter().flatten().cloned();
        let texts = text.into_iter().flat_map(|(mut parser, len)| {
            (0..len).map_while(move |_| {
                let e = parser.expr_or_default().ok();
                parser.eat_punct(TokenKind::Comma);
                e
            })
        });
        trees.chain(texts)
    }
}

impl From<Vec<Expr>> for ExprList {
    fn from(list: Vec<Expr>) -> ExprList {
        ExprList(Held::Trees(list))
    }
}

impl PartialEq for ExprList {
    fn eq(&self, other: &ExprList) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

/// Rows of VALUES, with commas between. A row of VALUES may be empty: all defaults.
#[derive(Clone, Debug)]
pub struct Rows {
    held: Held<Vec<Vec<Expr>>>,
    /// Whether each begins with ROW.
    pub row_keyword: bool,
}

impl Rows {
    pub(crate) fn of_text(source: Source, len: usize, row_keyword: bool) -> Rows {
        Rows {
            held: Held::Text { source, len },
            row_keyword,
        }
    }
    /// Rows held as trees.
    pub fn new(rows: Vec<Vec<Expr>>, row_keyword: bool) -> Rows {
        Rows {
            held: Held::Trees(rows),
            row_keyword,
        }
    }
    /// How many.
    pub fn len(&self) -> usize {
        match &self.held {
            Held::Trees(rows) => rows.len(),
            Held::Text { len, .. } => *len,
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The rows, if they are few and held as trees.
    pub fn as_slice(&self) -> Option<&[Vec<Expr>]> {
        match &self.held {
            Held::Trees(rows) => Some(rows),
            Held::Text { .. } => None,
        }
    }
    /// The rows, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = Vec<Expr>> {
        let (trees, text) = match &self.held {
            Held::Trees(rows) => (Some(rows), None),
            Held::Text { source, len } => (None, Some((source.parser(), *len))),
        };
        let row_keyword = self.row_keyword;
        let trees = trees.into_iter().flatten().cloned();
        let texts = text.into_iter().flat_map(move |(mut parser, len)| {
            (0..len).map_while(move |_| {
                let row = parser.values_row(row_keyword).ok();
                parser.eat_punct(TokenKind::Comma);
                row
            })
        });
        trees.chain(texts)
    }
}

impl PartialEq for Rows {
    fn eq(&self, other: &Rows) -> bool {
        self.row_keyword == other.row_keyword
            && self.len() == other.len()
            && self.iter().eq(other.iter())
    }
}
