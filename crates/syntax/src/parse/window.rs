//! Aggregates, window functions and windows.

use super::Parser;
use crate::ast::*;
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

impl Parser<'_> {
    /// An aggregate, from its parenthesis on.
    pub(super) fn aggregate(&mut self, function: AggregateFunction) -> Result<ExprKind> {
        use AggregateFunction as A;
        self.expect_punct(T::LParen)?;
        let distinct = self.eat_any(&[K::DISTINCT, K::ALL]) == Some(K::DISTINCT);
        let mut order_by = Items::default();
        let mut separator = None;
        let args = if self.at_punct(T::Star) && function == A::Count && !distinct {
            let span = self.next().span();
            vec![Expr::new(ExprKind::Star, span)].into()
        } else {
            if distinct {
                self.eat(K::ALL);
            }
            self.items()?
        };
        if function == A::GroupConcat {
            if self.at(K::ORDER) {
                order_by = self.order_by_list()?;
            }
            if self.eat(K::SEPARATOR) {
                separator = Some(self.text_literal()?.into());
            }
        }
        let arguments = match function {
            A::JsonObjectAgg => 2..=2,
            A::GroupConcat => 1..=usize::MAX,
            A::Count if distinct => 1..=usize::MAX,
            _ => 1..=1,
        };
        if !arguments.contains(&args.len()) {
            return Err(self.error_here());
        }
        self.expect_punct(T::RParen)?;
        let over = if self.at(K::OVER) {
            Some(self.over()?)
        } else {
            None
        };
        Ok(ExprKind::Aggregate(Box::new(Aggregate {
            function,
            distinct,
            args,
            order_by,
            separator,
            over,
        })))
    }

    /// A window function, from its parenthesis on.
    pub(super) fn window_call(&mut self, function: WindowFunction) -> Result<ExprKind> {
        use WindowFunction as W;
        self.expect_punct(T::LParen)?;
        let mut args = Items::EMPTY;
        if !self.at_punct(T::RParen) {
            args = self.items()?;
        }
        let arguments = match function {
            W::RowNumber | W::Rank | W::DenseRank | W::CumeDist | W::PercentRank => 0..=0,
            W::Ntile | W::FirstValue | W::LastValue => 1..=1,
            W::Lead | W::Lag => 1..=3,
            W::NthValue => 2..=2,
        };
        if !arguments.contains(&args.len()) {
            return Err(self.error_here());
        }
        self.expect_punct(T::RParen)?;
        let mut from_last = None;
        if function == W::NthValue && self.at(K::FROM) && self.at_any_nth(1, &[K::FIRST, K::LAST]) {
            self.next();
            from_last = Some(self.next().kind == T::Keyword(K::LAST));
        }
        let mut ignore_nulls = None;
        if self.eat_all(&[K::RESPECT, K::NULLS]) {
            ignore_nulls = Some(false);
        } else if self.eat_all(&[K::IGNORE, K::NULLS]) {
            ignore_nulls = Some(true);
        }
        let over = self.over()?;
        Ok(ExprKind::Window(Box::new(WindowCall {
            function,
            args,
            from_last,
            ignore_nulls,
            over,
        })))
    }

    fn at_any_nth(&self, n: usize, keywords: &[K]) -> bool {
        keywords.iter().any(|&k| self.at_nth(n, k))
    }

    fn over(&mut self) -> Result<Over> {
        self.expect(K::OVER)?;
        if self.at_punct(T::LParen) {
            return Ok(Over::Spec(Box::new(self.window_spec()?)));
        }
        Ok(Over::Named(self.ident()?))
    }

    /// What stands in the parentheses of OVER and WINDOW, with them.
    pub(super) fn window_spec(&mut self) -> Result<WindowSpec> {
        self.expect_punct(T::LParen)?;
        let mut spec = WindowSpec::default();
        if self.at_ident() {
            spec.base = Some(self.ident()?);
        }
        if self.eat(K::PARTITION) {
            self.expect(K::BY)?;
            spec.partition_by = self.order_items()?;
        }
        if self.at(K::ORDER) {
            spec.order_by = self.order_by_list()?;
        }
        let unit = match self.eat_any(&[K::ROWS, K::RANGE, K::GROUPS]) {
            Some(K::ROWS) => Some(FrameUnit::Rows),
            Some(K::RANGE) => Some(FrameUnit::Range),
            Some(_) => Some(FrameUnit::Groups),
            None => None,
        };
        if let Some(unit) = unit {
            spec.frame = Some(self.frame(unit)?);
        }
        self.expect_punct(T::RParen)?;
        Ok(spec)
    }

    fn frame(&mut self, unit: FrameUnit) -> Result<Frame> {
        let (start, end) = if self.eat(K::BETWEEN) {
            let start = self.frame_bound()?;
            self.expect(K::AND)?;
            (start, Some(self.frame_bound()?))
        } else {
            (self.frame_bound()?, None)
        };
        let mut exclude = None;
        if self.eat(K::EXCLUDE) {
            exclude = Some(if self.eat_all(&[K::CURRENT, K::ROW]) {
                FrameExclude::CurrentRow
            } else if self.eat(K::GROUP) {
                FrameExclude::Group
            } else if self.eat(K::TIES) {
                FrameExclude::Ties
            } else {
                self.expect_all(&[K::NO, K::OTHERS])?;
                FrameExclude::NoOthers
            });
        }
        Ok(Frame {
            unit,
            start,
            end,
            exclude,
        })
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        if self.eat_all(&[K::CURRENT, K::ROW]) {
            return Ok(FrameBound::CurrentRow);
        }
        if self.eat(K::UNBOUNDED) {
            if self.eat(K::PRECEDING) {
                return Ok(FrameBound::UnboundedPreceding);
            }
            self.expect(K::FOLLOWING)?;
            return Ok(FrameBound::UnboundedFollowing);
        }
        let interval = self.eat(K::INTERVAL);
        let amount = self.expr()?;
        let unit = if interval {
            Some(self.interval_unit()?)
        } else {
            None
        };
        if self.eat(K::PRECEDING) {
            return Ok(FrameBound::Preceding(amount, unit));
        }
        self.expect(K::FOLLOWING)?;
        Ok(FrameBound::Following(amount, unit))
    }
}
