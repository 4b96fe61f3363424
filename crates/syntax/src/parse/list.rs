//! Long lists, which are held as their text ([`crate::ast::list`]).

use super::Parser;
use super::select::MAX_COLUMNS;
use crate::ast::list::{Held, Item, Items, KEPT, Part, Run, Tail, Whole};
use crate::ast::{Expr, ExprKind, QueryBody, Rows};
use crate::error::{Result, SyntaxError};
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

/// What is lighter as a tree than this many bytes is not held as text.
const LIGHT: u64 = 1024;
/// What takes more for a byte of its text is held as text.
const BYTES_HELD: u64 = 5;

/// Where an item of a list begins, and what had been parsed before it.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    /// Its first byte; an operator or word that stands before each item is a part of it.
    at: u32,
    /// The end of what stands before it, and before a comma.
    before: u32,
    params: u32,
    in_comment: bool,
    texts: u32,
    intos: u32,
    bytes: u64,
}

impl Piece {
    /// Where it begins.
    pub(super) fn at(self) -> u32 {
        self.at
    }
}

impl Parser<'_> {
    /// The item that begins here, of which `before` is where what is before its comma ended.
    #[inline]
    pub(super) fn piece(&self, before: u32) -> Piece {
        Piece {
            at: self.start(),
            before,
            params: self.params,
            in_comment: self.in_comment(),
            texts: self.texts,
            intos: self.intos,
            bytes: self.bytes,
        }
    }

    /// The text between two places.
    fn between(&self, start: u32, end: u32) -> &str {
        let base = self.base();
        &self.text()[(start - base) as usize..(end - base) as usize]
    }

    fn run(&self, from: Piece, len: usize) -> Run {
        let end = self.last_end();
        Run {
            text: self.between(from.at, end).into(),
            len,
            start: from.at,
            end,
            params: from.params,
            in_comment: from.in_comment,
        }
    }

    /// Adds an item that began at `from` and ends here. Where the list's first items are all text between `first` and here, they need
    /// not be kept as trees either once there are many.
    #[inline]
    pub(super) fn add<I>(
        &mut self,
        list: &mut Items<I>,
        item: I,
        from: Piece,
        first: Option<Piece>,
    ) -> Result<()> {
        if list.tail.is_none() && list.head.len() < KEPT {
            crate::ast::list::push(&mut list.head, item);
            self.took(size_of::<I>())?;
        } else {
            self.add_more(list, Some(item), from, first)?;
        }
        match first {
            Some(first) if self.is_heavy(first) => self.flatten(list, first),
            _ => Ok(()),
        }
    }

    /// Whether what was parsed from here on takes so much more than its text that it is to be held as that.
    #[inline]
    fn is_heavy(&self, from: Piece) -> bool {
        self.bytes > self.free && {
            let bytes = self.bytes - from.bytes;
            bytes > LIGHT.max(BYTES_HELD * u64::from(self.last_end() - from.at))
        }
    }

    /// Holds all of a list as text, which began at `first` and ends here.
    #[cold]
    fn flatten<I>(&mut self, list: &mut Items<I>, first: Piece) -> Result<()> {
        let len = list.len();
        *list = Items {
            head: Vec::new(),
            tail: Some(Box::new(Tail {
                mode: self.mode(),
                len: 0,
                parts: Vec::new(),
            })),
        };
        self.bytes = first.bytes;
        self.took(size_of::<Tail<I>>())?;
        let run = self.run(first, len);
        self.text_part(list, run)
    }

    /// An expression that began at `from` and ends here, as text if it is heavy.
    #[inline]
    pub(super) fn lighter(&mut self, e: Expr, from: Piece) -> Result<Expr> {
        if self.is_heavy(from) {
            return self.held(e, from);
        }
        Ok(e)
    }

    /// A query's body that began at `from` and ends here, as text if it is heavy.
    pub(super) fn lighter_body(&mut self, body: QueryBody, from: Piece) -> Result<QueryBody> {
        // INTO is looked for where it may stand. Rows are held as text themselves.
        let read = self.intos != from.intos || matches!(body, QueryBody::Values(_));
        if read || !self.is_heavy(from) {
            return Ok(body);
        }
        Ok(QueryBody::Held(Box::new(self.hold(from)?)))
    }

    fn hold<T: Whole>(&mut self, from: Piece) -> Result<Held<T>> {
        self.bytes = from.bytes;
        self.texts += 1;
        let run = self.run(from, 1);
        self.took(size_of::<Held<T>>() + run.text.len())?;
        Ok(Held::new(run, self.mode()))
    }

    #[cold]
    fn held(&mut self, e: Expr, from: Piece) -> Result<Expr> {
        if let ExprKind::Row(_) = e.kind {
            // Its list is held as text itself, and whether it is a row is asked.
            return Ok(e);
        }
        let held = Box::new(self.hold(from)?);
        Ok(Expr::new(ExprKind::Held(held), e.span))
    }

    fn add_more<I>(
        &mut self,
        list: &mut Items<I>,
        item: Option<I>,
        from: Piece,
        first: Option<Piece>,
    ) -> Result<()> {
        let holds_text = self.texts != from.texts;
        if list.tail.is_none() {
            list.tail = Some(Box::new(Tail {
                mode: self.mode(),
                len: 0,
                parts: Vec::new(),
            }));
            self.took(size_of::<Tail<I>>())?;
            if let Some(first) = first
                && first.texts == self.texts
            {
                // All that is parsed of the list becomes one run.
                let len = list.head.len() + 1;
                list.head = Vec::new();
                self.bytes = first.bytes;
                let run = self.run(first, len);
                return self.text_part(list, run);
            }
        }
        let Some(tail) = &mut list.tail else {
            return Ok(());
        };
        if let (true, Some(item)) = (holds_text, item) {
            tail.len += 1;
            crate::ast::list::push(&mut tail.parts, Part::Tree(item));
            return self.took(size_of::<Part<I>>());
        }
        self.bytes = from.bytes;
        if let Some(Part::Text(run)) = tail.parts.last_mut()
            && run.end == from.before
        {
            let end = self.last_end();
            let more = self.between(run.end, end);
            run.text.push_str(more);
            run.len += 1;
            run.end = end;
            tail.len += 1;
            let more = more.len();
            return self.took(more);
        }
        let run = self.run(from, 1);
        self.text_part(list, run)
    }

    fn text_part<I>(&mut self, list: &mut Items<I>, run: Run) -> Result<()> {
        let bytes = size_of::<Part<I>>() + run.text.len();
        self.texts += 1;
        if let Some(tail) = &mut list.tail {
            tail.len += run.len;
            crate::ast::list::push(&mut tail.parts, Part::Text(run));
        }
        self.took(bytes)
    }

    /// Items with commas between, of which the first may have been read; the list began at `start`.
    pub(super) fn items_from<I: Item>(
        &mut self,
        start: Piece,
        first: Option<I>,
        mut item: impl FnMut(&mut Self) -> Result<I>,
    ) -> Result<Items<I>> {
        let mut list = Items::default();
        let mut next = first;
        let mut from = start;
        loop {
            if list.tail.is_some() && I::skip(self) {
                self.add_more(&mut list, None, from, None)?;
            } else {
                let item = match next.take() {
                    Some(item) => item,
                    None => item(self)?,
                };
                self.add(&mut list, item, from, Some(start))?;
            }
            let before = self.last_end();
            if !self.eat_punct(T::Comma) {
                return Ok(list);
            }
            from = self.piece(before);
        }
    }

    /// One or more items with commas between.
    pub(super) fn items<I: Item>(&mut self) -> Result<Items<I>> {
        self.comma_list(I::parse)
    }

    /// The same where not all that may be such an item elsewhere may be one here.
    pub(super) fn comma_list<I: Item>(
        &mut self,
        item: impl FnMut(&mut Self) -> Result<I>,
    ) -> Result<Items<I>> {
        let start = self.piece(self.last_end());
        self.items_from(start, None, item)
    }

    /// Items that follow one another as long as there are more; what separates them is consumed with each.
    pub(super) fn row_of<I: Item>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<Option<I>>,
    ) -> Result<Items<I>> {
        let start = self.piece(self.last_end());
        let mut list = Items::default();
        loop {
            let from = self.piece(self.last_end());
            let Some(item) = item(self)? else {
                return Ok(list);
            };
            self.add(&mut list, item, from, Some(start))?;
        }
    }

    /// Consumes a literal that is a list's whole item.
    #[inline]
    fn plain_literal(&mut self) -> bool {
        let plain = matches!(
            self.kind(),
            T::Int | T::Decimal | T::Float | T::Text | T::Hex | T::Keyword(K::NULL)
        ) && matches!(self.kind_nth(1), T::Comma | T::RParen);
        if plain {
            self.next();
        }
        plain
    }

    /// Rows of VALUES.
    pub(super) fn held_rows(&mut self, row_keyword: bool) -> Result<Rows> {
        let start = self.piece(self.last_end());
        let mut rows: Vec<Vec<Expr>> = Vec::new();
        let (mut len, mut values) = (0usize, 0usize);
        loop {
            len += 1;
            if values > KEPT {
                self.skip_row(row_keyword, len)?;
            } else {
                let row = self.values_row(row_keyword, len)?;
                values += row.len().max(1);
                if values > KEPT {
                    rows = Vec::new();
                } else {
                    self.took(size_of::<Vec<Expr>>())?;
                    rows.push(row);
                }
            }
            if !self.eat_punct(T::Comma) {
                break;
            }
        }
        if values <= KEPT {
            return Ok(Rows::new(rows, row_keyword));
        }
        self.bytes = start.bytes;
        self.texts += 1;
        let run = self.run(start, len);
        self.took(run.text.len())?;
        Ok(Rows::of_text(run, self.mode(), row_keyword))
    }

    /// The n-th row: `(…)` or `ROW(…)`; it may be empty.
    pub(crate) fn values_row(&mut self, row_keyword: bool, n: usize) -> Result<Vec<Expr>> {
        if row_keyword {
            self.expect(K::ROW)?;
        }
        self.expect_punct(T::LParen)?;
        let mut row = Vec::new();
        if !self.at_punct(T::RParen) {
            loop {
                self.check_width(row.len(), n)?;
                let e = self.expr_or_default()?;
                self.keep(&mut row, e)?;
                if !self.eat_punct(T::Comma) {
                    break;
                }
            }
        }
        self.expect_punct(T::RParen)?;
        Ok(row)
    }

    /// A row that is not held.
    fn skip_row(&mut self, row_keyword: bool, n: usize) -> Result<()> {
        if row_keyword {
            self.expect(K::ROW)?;
        }
        self.expect_punct(T::LParen)?;
        if self.eat_punct(T::RParen) {
            return Ok(());
        }
        for values in 0.. {
            self.check_width(values, n)?;
            let bytes = self.bytes;
            if !self.plain_literal() {
                self.expr_or_default()?;
            }
            self.bytes = bytes;
            if !self.eat_punct(T::Comma) {
                break;
            }
        }
        self.expect_punct(T::RParen)
    }

    /// Error 1136 at the n-th row if it has as many values as a table has columns at the most, and has one more.
    fn check_width(&self, values: usize, n: usize) -> Result<()> {
        if values < MAX_COLUMNS {
            return Ok(());
        }
        let message = format!("Column count doesn't match value count at row {n}");
        Err(SyntaxError::new(1136, self.peek().span(), message))
    }

    /// An expression or DEFAULT, where a value is assigned.
    pub(crate) fn expr_or_default(&mut self) -> Result<Expr> {
        if self.at(K::DEFAULT) && self.kind_nth(1) != T::LParen {
            let span = self.next().span();
            return Ok(Expr::new(ExprKind::Default, span));
        }
        self.expr()
    }
}

impl Whole for Expr {
    fn whole(p: &mut Parser<'_>) -> Result<Expr> {
        p.whole_expr()
    }
}

impl Whole for QueryBody {
    fn whole(p: &mut Parser<'_>) -> Result<QueryBody> {
        p.whole_body()
    }
}

impl Item for Expr {
    fn parse(p: &mut Parser<'_>) -> Result<Expr> {
        p.expr_or_default()
    }
    fn separator(p: &mut Parser<'_>) {
        if p.at(K::AS) || p.at_ident() {
            // The name of an argument is held elsewhere.
            p.arg_name().expect("a name");
        }
        p.eat_punct(T::Comma);
    }
    #[inline]
    fn skip(p: &mut Parser<'_>) -> bool {
        p.plain_literal()
    }
}
