//! Long lists, which are held as their text ([`crate::ast::list`]).

use super::Parser;
use crate::ast::list::{KEPT, Source};
use crate::ast::{Expr, ExprKind, ExprList, Rows};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

/// Where a list begins.
#[derive(Clone, Copy)]
pub(super) struct ListStart {
    at: u32,
    params: u32,
    in_comment: bool,
}

impl Parser<'_> {
    /// The list that begins here.
    pub(super) fn list_start(&self) -> ListStart {
        ListStart {
            at: self.start(),
            params: self.params,
            in_comment: self.in_comment(),
        }
    }

    /// What is parsed again when it is read: from there to here.
    fn source(&self, from: ListStart) -> Source {
        Source {
            text: self.span_from(from.at).of(self.text()).into(),
            mode: self.mode(),
            in_comment: from.in_comment,
            params: from.params,
            offset: from.at,
        }
    }

    /// The rest of a list of expressions of which the first may have been read.
    pub(super) fn held_list(&mut self, start: ListStart, first: Option<Expr>) -> Result<ExprList> {
        let mut trees = Vec::new();
        let mut len = 0;
        let mut next = first;
        loop {
            len += 1;
            if len > KEPT && self.plain_literal() {
                // Nothing to hold.
            } else {
                let e = match next.take() {
                    Some(e) => e,
                    None => self.expr()?,
                };
                if len <= KEPT {
                    trees.push(e);
                }
            }
            if !self.eat_punct(T::Comma) {
                break;
            }
        }
        if len <= KEPT {
            return Ok(trees.into());
        }
        Ok(ExprList::of_text(self.source(start), len))
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
        let start = self.list_start();
        let mut rows: Vec<Vec<Expr>> = Vec::new();
        let (mut len, mut values) = (0usize, 0usize);
        loop {
            len += 1;
            if values > KEPT {
                self.skip_row(row_keyword)?;
            } else {
                let row = self.values_row(row_keyword)?;
                values += row.len().max(1);
                if values > KEPT {
                    rows = Vec::new();
                } else {
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
        Ok(Rows::of_text(self.source(start), len, row_keyword))
    }

    /// A row: `(…)` or `ROW(…)`; it may be empty.
    pub(crate) fn values_row(&mut self, row_keyword: bool) -> Result<Vec<Expr>> {
        if row_keyword {
            self.expect(K::ROW)?;
        }
        self.expect_punct(T::LParen)?;
        let mut row = Vec::new();
        if !self.at_punct(T::RParen) {
            row = self.comma_list(|p| p.expr_or_default())?;
        }
        self.expect_punct(T::RParen)?;
        Ok(row)
    }

    /// A row that is not held.
    fn skip_row(&mut self, row_keyword: bool) -> Result<()> {
        if row_keyword {
            self.expect(K::ROW)?;
        }
        self.expect_punct(T::LParen)?;
        if self.eat_punct(T::RParen) {
            return Ok(());
        }
        loop {
            if !self.plain_literal() {
                self.expr_or_default()?;
            }
            if !self.eat_punct(T::Comma) {
                return self.expect_punct(T::RParen);
            }
        }
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
