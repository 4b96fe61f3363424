//! Operands: literals, names, variables, parentheses, unary operators, CASE; and where functions begin.

use super::Parser;
use super::cursor::is_ident;
use super::expr::level;
use crate::ast::*;
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

/// What stands in parentheses.
pub(super) enum Inner {
    /// A query.
    Query(Query),
    /// An expression.
    Expr(Expr),
    /// Several.
    Row(ExprList),
}

impl Parser<'_> {
    /// Unary operators and an operand.
    pub(super) fn prefix(&mut self, min: u8) -> Result<Expr> {
        let start = self.start();
        let op = match self.kind() {
            T::Ident | T::QuotedIdent => {
                let kind = self.name()?;
                self.took(kind.boxed())?;
                let e = Expr::new(kind, self.span_from(start));
                return self.collated(e, start);
            }
            T::LParen => {
                let inner = self.nested(|p| p.inner())?;
                let e = self.inner_expr(inner, start);
                return self.collated(e, start);
            }
            T::Minus => UnaryOp::Minus,
            T::Plus => UnaryOp::Plus,
            T::Tilde => UnaryOp::BitNot,
            T::Bang => UnaryOp::Bang,
            T::Keyword(K::BINARY) => UnaryOp::Binary,
            T::Keyword(K::NOT) if self.mode().high_not_precedence => UnaryOp::Bang,
            T::Keyword(K::NOT) if min <= level::NOT => {
                self.next();
                let operand = self.nested(|p| p.binary(level::NOT))?;
                let kind = ExprKind::Unary(UnaryOp::Not, Box::new(operand));
                return Ok(Expr::new(kind, self.span_from(start)));
            }
            T::Keyword(K::INTERVAL) => return self.interval(start),
            _ => {
                let kind = self.operand()?;
                self.took(kind.boxed())?;
                let e = Expr::new(kind, self.span_from(start));
                return self.collated(e, start);
            }
        };
        match self.next().kind {
            T::Bang => self.deprecate(Deprecated::Exclamation),
            T::Keyword(K::BINARY) => self.deprecate(Deprecated::BinaryOperator),
            _ => {}
        }
        let operand = self.nested(|p| p.prefix(level::UNARY))?;
        self.took(size_of::<Expr>())?;
        let kind = ExprKind::Unary(op, Box::new(operand));
        Ok(Expr::new(kind, self.span_from(start)))
    }

    /// COLLATE, which binds closest, behind an operand.
    #[inline]
    pub(super) fn collated(&mut self, mut e: Expr, start: u32) -> Result<Expr> {
        while self.eat(K::COLLATE) {
            let collation = self.charset_or_collation()?;
            let kind = ExprKind::Collate(Box::new(Collate {
                value: e,
                collation,
            }));
            self.higher()?;
            self.took(kind.boxed())?;
            e = Expr::new(kind, self.span_from(start));
        }
        Ok(e)
    }

    pub(super) fn operand(&mut self) -> Result<ExprKind> {
        match self.kind() {
            T::Int
            | T::Decimal
            | T::Float
            | T::Text
            | T::NationalText
            | T::Hex
            | T::Bits
            | T::Introducer => self.literal_kind(),
            T::Param => {
                self.next();
                self.params += 1;
                Ok(ExprKind::Param(self.params - 1))
            }
            T::UserVariable => self.user_variable_or_assign(),
            T::AtAt => {
                self.next();
                Ok(ExprKind::SystemVariable(Box::new(self.system_variable()?)))
            }
            T::LBrace => {
                self.next();
                let name = self.ident()?;
                let value = self.expr()?;
                self.expect_punct(T::RBrace)?;
                Ok(ExprKind::Odbc(Box::new((name, value))))
            }
            T::Keyword(k) => self.keyword_operand(k),
            _ => self.name(),
        }
    }

    fn keyword_operand(&mut self, k: K) -> Result<ExprKind> {
        match k {
            K::NULL => {
                self.next();
                Ok(ExprKind::Null)
            }
            K::TRUE | K::FALSE => {
                self.next();
                Ok(ExprKind::Bool(k == K::TRUE))
            }
            K::DATE | K::TIME | K::TIMESTAMP if self.kind_nth(1) == T::Text => self.literal_kind(),
            K::CASE => self.case(),
            K::EXISTS => {
                self.next();
                Ok(ExprKind::Exists(Box::new(self.subquery()?)))
            }
            K::ROW => {
                self.next();
                self.expect_punct(T::LParen)?;
                let list = self.comma_list(|p| p.expr())?;
                self.expect_punct(T::RParen)?;
                if list.len() < 2 {
                    return Err(self.error_here());
                }
                Ok(ExprKind::Row(Box::new(list)))
            }
            _ => self.function_or_name(k),
        }
    }

    /// What stands in parentheses, with them. What begins with several parentheses is read once, whatever it turns out to be.
    pub(super) fn inner(&mut self) -> Result<Inner> {
        self.expect_punct(T::LParen)?;
        if self.at_plain_query() {
            let q = self.query()?;
            self.expect_punct(T::RParen)?;
            return Ok(Inner::Query(q));
        }
        let start = self.start();
        let from = self.piece(self.last_end());
        let first = if self.at_punct(T::LParen) {
            match self.nested(|p| p.inner())? {
                Inner::Query(q) if self.at_query_end() => {
                    let q = self.query_from(QueryBody::Parens(Box::new(q)), from)?;
                    self.expect_punct(T::RParen)?;
                    return Ok(Inner::Query(q));
                }
                inner => {
                    let left = self.inner_expr(inner, start);
                    let left = self.collated(left, start)?;
                    let ground = self.ground();
                    self.binary_from(left, start, 0, ground)?
                }
            }
        } else {
            self.whole_binary(0)?
        };
        if !self.at_punct(T::Comma) {
            self.expect_punct(T::RParen)?;
            return Ok(Inner::Expr(first));
        }
        let list = self.items_from(from, Some(first), Self::expr)?;
        self.expect_punct(T::RParen)?;
        Ok(Inner::Row(list))
    }

    /// What parentheses hold, as an operand.
    pub(super) fn inner_expr(&mut self, inner: Inner, start: u32) -> Expr {
        let kind = match inner {
            Inner::Query(q) => ExprKind::Subquery(Box::new(q)),
            Inner::Expr(e) => return e,
            Inner::Row(list) => ExprKind::Row(Box::new(list)),
        };
        Expr::new(kind, self.span_from(start))
    }

    /// A query in parentheses.
    pub(super) fn subquery(&mut self) -> Result<Query> {
        let start = self.start();
        if !self.at_punct(T::LParen) {
            return Err(self.error_here());
        }
        match self.nested(|p| p.inner())? {
            Inner::Query(q) => Ok(q),
            _ => Err(self.error_at(start)),
        }
    }

    /// A name: of a column, or of a function whose parenthesis follows.
    pub(super) fn name(&mut self) -> Result<ExprKind> {
        if !self.at_ident() {
            return Err(self.error_here());
        }
        if self.kind_nth(1) == T::LParen {
            let name = self.ident_here();
            return self.call(None, name);
        }
        let mut parts = [None, None, Some(self.ident_here())];
        while self.at_punct(T::Dot) && parts[0].is_none() {
            self.next();
            if !is_ident(self.kind()) {
                return Err(self.error_here());
            }
            parts.rotate_left(1);
            parts[2] = Some(self.ident_here());
        }
        let [database, table, name] = parts;
        let Some(name) = name else {
            return Err(self.error_here());
        };
        if self.at_punct(T::LParen) && database.is_none() && table.is_some() {
            return self.call(table, name);
        }
        let column = ExprKind::Column(ColumnRef::new(database, table, name.text));
        self.json_arrow(column, name.span)
    }

    /// `column -> 'path'`.
    #[inline]
    fn json_arrow(&mut self, column: ExprKind, span: crate::span::Span) -> Result<ExprKind> {
        let op = match self.kind() {
            T::Arrow => BinaryOp::JsonExtract,
            T::ArrowText => BinaryOp::JsonUnquote,
            _ => return Ok(column),
        };
        self.next();
        let start = self.start();
        if !self.at_punct(T::Text) {
            return Err(self.error_here());
        }
        let path = self.literal_kind()?;
        let path = Expr::new(path, self.span_from(start));
        self.higher()?;
        Ok(ExprKind::Binary(
            op,
            Box::new([Expr::new(column, span), path]),
        ))
    }

    fn user_variable_or_assign(&mut self) -> Result<ExprKind> {
        let name = self.user_variable()?;
        if self.eat_punct(T::Assign) {
            let value = self.expr()?;
            self.deprecate(Deprecated::UserVariable);
            return Ok(ExprKind::Assign(Box::new(Assign { name, value })));
        }
        Ok(ExprKind::UserVariable(Box::new(name)))
    }

    /// `@name`, without the `@`.
    pub fn user_variable(&mut self) -> Result<Str> {
        if !self.at_punct(T::UserVariable) {
            return Err(self.error_here());
        }
        let token = self.next();
        let backslash = !self.mode().no_backslash_escapes;
        Ok(crate::text::unquote(&self.slice(token)[1..], backslash)
            .as_ref()
            .into())
    }

    /// What stands behind `@@`.
    pub fn system_variable(&mut self) -> Result<SystemVariable> {
        let scope = match self.keyword() {
            Some(K::GLOBAL) => Some(VariableScope::Global),
            Some(K::SESSION | K::LOCAL) => Some(VariableScope::Session),
            Some(K::PERSIST) => Some(VariableScope::Persist),
            Some(K::PERSIST_ONLY) => Some(VariableScope::PersistOnly),
            _ => None,
        }
        .filter(|_| self.kind_nth(1) == T::Dot);
        if scope.is_some() {
            self.next();
            self.next();
        }
        let first = match self.kind() {
            T::Keyword(K::DEFAULT) => self.ident_here(),
            _ => self.ident()?,
        };
        let (component, name) = if self.eat_punct(T::Dot) {
            (Some(first), self.ident()?)
        } else {
            (None, first)
        };
        Ok(SystemVariable {
            scope,
            component,
            name,
        })
    }

    fn case(&mut self) -> Result<ExprKind> {
        self.next();
        let operand = if self.at(K::WHEN) {
            None
        } else {
            Some(self.expr()?)
        };
        if !self.at(K::WHEN) {
            return Err(self.error_here());
        }
        let whens = self.row_of(|p| {
            let more = p.at(K::WHEN);
            more.then(|| p.when()).transpose()
        })?;
        let otherwise = if self.eat(K::ELSE) {
            Some(self.expr()?)
        } else {
            None
        };
        self.expect(K::END)?;
        Ok(ExprKind::Case(Box::new(Case {
            operand,
            whens,
            otherwise,
        })))
    }

    /// WHEN and THEN.
    pub(super) fn when(&mut self) -> Result<(Expr, Expr)> {
        self.expect(K::WHEN)?;
        let when = self.expr()?;
        self.expect(K::THEN)?;
        Ok((when, self.expr()?))
    }

    /// `INTERVAL n unit + x`, `INTERVAL(x, a, b)`.
    fn interval(&mut self, start: u32) -> Result<Expr> {
        self.next();
        let (amount, list) = self.nested(|p| p.interval_amount())?;
        let special = match list {
            Some(args) => {
                let kind = ExprKind::Special(Box::new(Special::Interval(args)));
                let e = Expr::new(kind, self.span_from(start));
                return self.collated(e, start);
            }
            None => {
                let unit = self.interval_unit()?;
                self.expect_punct(T::Plus)?;
                let date = self.nested(|p| p.binary(level::BIT_OR))?;
                Special::DateArith {
                    subtract: false,
                    date,
                    amount,
                    unit,
                }
            }
        };
        let kind = ExprKind::Special(Box::new(special));
        Ok(Expr::new(kind, self.span_from(start)))
    }
}
