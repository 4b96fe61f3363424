//! Lists and other parts of trees that are held as text: parsed when the statement was, and parsed again when they are read.
//!
//! A tree takes ten to two hundred bytes for a byte of text; what is held as text takes one. Two rules say what is:
//!
//! - Of a list of more than [`KEPT`] items, whatever they are, all that hold no text themselves are. Most texts that are long are so
//!   because of one list.
//! - Once a statement's trees take more than a text of its length may ([`crate::parse::FREE`]), whatever has been parsed is as soon as
//!   it takes more than some bytes for a byte of its text: an expression ([`super::expr::ExprKind::Held`]), a query's body
//!   ([`super::query::QueryBody::Held`]), a list's items up to there. So lists of lists, and trees that branch without any list, don't
//!   grow either. Where statements are short, nothing is.
//!
//! What is not a list and nests is thus bounded where it nests, and everything that may be repeated is a list of [`Items`], whether
//! commas separate it or nothing does. So a tree, and what parsing it takes on the way, is less than eight bytes for a byte of a text
//! of 64 KiB or more, whatever the text. What a statement's took is told ([`crate::ast::Statement::bytes`]) to whoever accounts for
//! memory.
//!
//! Reading parses each text once. A text may hold what was held as text before, and is then parsed once more for it; that is only
//! done where what is new takes five times the bytes of all of its text, old and new, so that each time the text grows by a part of
//! itself, and what is parsed in all is its length times the logarithm of that at the most.

use std::borrow::Cow;
use std::marker::PhantomData;

use super::expr::Expr;
use crate::error::Result;
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
    /// Parses one, with what separates it from the one before if that is a part of it (an operator, WHEN). What may stand elsewhere
    /// in its place is no matter: the text was parsed as what it is before.
    fn parse(p: &mut Parser<'_>) -> Result<Self>;
    /// Consumes what separates it from the next and is a part of neither.
    fn separator(p: &mut Parser<'_>) {
        p.eat_punct(TokenKind::Comma);
    }
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
    /// The first item.
    pub fn first(&self) -> Option<Cow<'_, T>> {
        self.iter().next()
    }
    /// All of them, as trees.
    pub fn all(&self) -> Cow<'_, [T]> {
        match self.as_slice() {
            Some(items) => Cow::Borrowed(items),
            None => Cow::Owned(self.iter().map(Cow::into_owned).collect()),
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
                T::separator(parser);
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

impl<T: Item + Eq> Eq for Items<T> {}

impl<T: Item + PartialEq> PartialEq for Items<T> {
    fn eq(&self, other: &Items<T>) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

/// A part of a tree that is parsed when it is read ([`Expr::tree`], [`super::query::QueryBody::tree`]).
#[derive(Clone, Debug)]
pub struct Held<T> {
    run: Run,
    mode: LexMode,
    of: PhantomData<fn() -> T>,
}

/// What may be held as text where it stands alone.
pub trait Whole: Sized {
    /// Parses one that is no text itself.
    fn whole(p: &mut Parser<'_>) -> Result<Self>;
}

impl<T: Whole> Held<T> {
    pub(crate) fn new(run: Run, mode: LexMode) -> Held<T> {
        Held {
            run,
            mode,
            of: PhantomData,
        }
    }
    /// What the text says.
    pub fn get(&self) -> T {
        T::whole(&mut self.run.parser(self.mode)).expect("what was parsed once parses again")
    }
}

impl<T: Whole + PartialEq> PartialEq for Held<T> {
    fn eq(&self, other: &Held<T>) -> bool {
        self.get() == other.get()
    }
}

/// Rows of VALUES, with commas between. A row of VALUES may be empty: all defaults.
#[derive(Clone, Debug)]
pub struct Rows {
    held: Kept,
    /// Whether each begins with ROW.
    pub row_keyword: bool,
}

#[derive(Clone, Debug)]
enum Kept {
    Trees(Vec<Vec<Expr>>),
    Text(Box<Run>, LexMode),
}

impl Rows {
    pub(crate) fn of_text(run: Run, mode: LexMode, row_keyword: bool) -> Rows {
        Rows {
            held: Kept::Text(Box::new(run), mode),
            row_keyword,
        }
    }
    /// Rows held as trees.
    pub fn new(rows: Vec<Vec<Expr>>, row_keyword: bool) -> Rows {
        Rows {
            held: Kept::Trees(rows),
            row_keyword,
        }
    }
    /// How many.
    pub fn len(&self) -> usize {
        match &self.held {
            Kept::Trees(rows) => rows.len(),
            Kept::Text(run, _) => run.len,
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The rows, if they are few and held as trees.
    pub fn as_slice(&self) -> Option<&[Vec<Expr>]> {
        match &self.held {
            Kept::Trees(rows) => Some(rows),
            Kept::Text(..) => None,
        }
    }
    /// The rows, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = Vec<Expr>> {
        let (trees, text) = match &self.held {
            Kept::Trees(rows) => (Some(rows), None),
            Kept::Text(run, mode) => (None, Some((run.parser(*mode), run.len))),
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
