//! Lists that may be long: members of IN, arguments, operands of a chain of operators, parts of a UNION, rows of VALUES.
//!
//! Of a list of more than [`KEPT`] items, most are held as their text: parsed when the statement was, and parsed again, one after the
//! other, when they are read. That is a byte for a byte rather than a tree many times as large. An item that itself holds text is kept
//! as a tree, so that whatever the nesting no text is parsed a third time.
//!
//! So the trees of queries take some two bytes for a byte of a long text, whatever the list is that makes it long. What may take more,
//! up to two hundred bytes for a byte: lists in lists of which each is short (`f(f(a, a), f(a, a))`), rows compared (`(a, b) = (c, d)`),
//! assignments, lists of names, definitions, accounts, stored programs. What a tree takes is counted as it grows; one of more than
//! [`crate::parse::MOST_BYTES`] and [`crate::parse::BYTES_PER_BYTE`] of its text is error 3170, and what a statement's took is told
//! ([`crate::ast::Statement::bytes`]) to whoever accounts for memory.

use std::borrow::Cow;

use super::expr::Expr;
use crate::error::Result;
use crate::keyword::Keyword;
use crate::lexer::{LexMode, Lexer, TokenKind};
use crate::parse::Parser;

/// How many items a list may have and be held as trees.
pub const KEPT: usize = 48;

/// How long a list grows by doubling.
const DOUBLED: usize = 1024;

/// Adds to a list that may become very long: to the exact size at first, as most lists have one item or few; by doubling then; by a
/// quarter at last, as what is reserved is memory too.
#[inline]
pub(crate) fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(match list.len() {
            0 | 1 => 1,
            n if n < DOUBLED => n,
            n => n / 4,
        });
    }
    list.push(item);
}

/// What stands in a list that may be held as text.
pub trait Item: Clone {
    /// Parses one, with what separates it from the one before if that is a part of it (an operator, WHEN).
    fn parse(p: &mut Parser<'_>) -> Result<Self>;
    /// Consumes one if it is so plain that nothing needs to be built to see that it is right.
    fn skip(_: &mut Parser<'_>) -> bool {
        false
    }
}

/// Items of a list that follow one another, as text.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Their text, from the first one on.
    pub text: String,
    /// How many.
    pub len: usize,
    /// Where in the statement it begins.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// Placeholders before it.
    pub params: u32,
    /// Whether it begins within a version comment.
    pub in_comment: bool,
}

impl Run {
    fn parser(&self, mode: LexMode) -> Parser<'_> {
        let lexer = Lexer::part(&self.text, mode, self.start, self.in_comment);
        let mut parser = Parser::on(lexer);
        parser.params = self.params;
        parser
    }
}

/// What follows a list's first items.
#[derive(Clone, Debug)]
pub(crate) enum Part<T> {
    Tree(T),
    Text(Run),
}

#[derive(Clone, Debug)]
pub(crate) struct Tail<T> {
    pub mode: LexMode,
    pub len: usize,
    pub parts: Vec<Part<T>>,
}

/// A list that may be long.
#[derive(Clone, Debug)]
pub struct Items<T> {
    pub(crate) head: Vec<T>,
    pub(crate) tail: Option<Box<Tail<T>>>,
}

/// Expressions.
pub type ExprList = Items<Expr>;

impl<T> Items<T> {
    /// A list of nothing.
    pub const EMPTY: Items<T> = Items {
        head: Vec::new(),
        tail: None,
    };
    /// How many.
    pub fn len(&self) -> usize {
        self.head.len() + self.tail.as_ref().map_or(0, |t| t.len)
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The items, if they are few and held as trees.
    pub fn as_slice(&self) -> Option<&[T]> {
        match self.tail {
            None => Some(&self.head),
            Some(_) => None,
        }
    }
}

impl<T: Item> Items<T> {
    /// The last item, if it is held as a tree.
    pub fn last_tree(&self) -> Option<&T> {
        match &self.tail {
            None => self.head.last(),
            Some(tail) => match tail.parts.last()? {
                Part::Tree(item) => Some(item),
                Part::Text(_) => None,
            },
        }
    }
    /// The items, one after the other.
    pub fn iter(&self) -> ItemsIter<'_, T> {
        let (mode, parts) = match &self.tail {
            Some(tail) => (tail.mode, &tail.parts[..]),
            None => (LexMode::default(), &[][..]),
        };
        ItemsIter {
            head: self.head.iter(),
            parts: parts.iter(),
            mode,
            run: None,
        }
    }
}

/// The items of [`Items`].
pub struct ItemsIter<'a, T> {
    head: std::slice::Iter<'a, T>,
    parts: std::slice::Iter<'a, Part<T>>,
    mode: LexMode,
    /// What reads the run at hand, and how many items of it are left.
    run: Option<(Parser<'a>, usize)>,
}

impl<'a, T: Item> Iterator for ItemsIter<'a, T> {
    type Item = Cow<'a, T>;

    fn next(&mut self) -> Option<Cow<'a, T>> {
        if let Some(item) = self.head.next() {
            return Some(Cow::Borrowed(item));
        }
        loop {
            if let Some((parser, left)) = &mut self.run
                && *left > 0
            {
                *left -= 1;
                let item = T::parse(parser).expect("what was parsed once parses again");
                if parser.at(Keyword::AS) || parser.at_ident() {
                    // The name of an argument is held elsewhere.
                    parser.arg_name().expect("a name");
                }
                parser.eat_punct(TokenKind::Comma);
                return Some(Cow::Owned(item));
            }
            self.run = None;
            match self.parts.next()? {
                Part::Tree(item) => return Some(Cow::Borrowed(item)),
                Part::Text(run) => self.run = Some((run.parser(self.mode), run.len)),
            }
        }
    }
}

impl<'a, T: Item> IntoIterator for &'a Items<T> {
    type Item = Cow<'a, T>;
    type IntoIter = ItemsIter<'a, T>;
    fn into_iter(self) -> ItemsIter<'a, T> {
        self.iter()
    }
}

impl<T> Default for Items<T> {
    fn default() -> Items<T> {
        Items::EMPTY
    }
}

impl<T> From<Vec<T>> for Items<T> {
    fn from(head: Vec<T>) -> Items<T> {
        Items { head, tail: None }
    }
}

impl<T: Item + PartialEq> PartialEq for Items<T> {
    fn eq(&self, other: &Items<T>) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

/// Rows of VALUES, with commas between. A row of VALUES may be empty: all defaults.
#[derive(Clone, Debug)]
pub struct Rows {
    held: Held,
    /// Whether each begins with ROW.
    pub row_keyword: bool,
}

#[derive(Clone, Debug)]
enum Held {
    Trees(Vec<Vec<Expr>>),
    Text(Box<Run>, LexMode),
}

impl Rows {
    pub(crate) fn of_text(run: Run, mode: LexMode, row_keyword: bool) -> Rows {
        Rows {
            held: Held::Text(Box::new(run), mode),
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
            Held::Text(run, _) => run.len,
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
            Held::Text(..) => None,
        }
    }
    /// The rows, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = Vec<Expr>> {
        let (trees, text) = match &self.held {
            Held::Trees(rows) => (Some(rows), None),
            Held::Text(run, mode) => (None, Some((run.parser(*mode), run.len))),
        };
        let row_keyword = self.row_keyword;
        let trees = trees.into_iter().flatten().cloned();
        let texts = text.into_iter().flat_map(move |(mut parser, len)| {
            (1..=len).map(move |n| {
                let row = parser.values_row(row_keyword, n);
                parser.eat_punct(TokenKind::Comma);
                row.expect("what was parsed once parses again")
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
