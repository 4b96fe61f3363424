//! Queries as wholes: WITH, UNION and the like, ORDER BY, LIMIT, locks.

use super::Parser;
use super::cursor::{QUERY, is_ident};
use super::list::Piece;
use crate::ast::*;
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

impl Parser<'_> {
    /// A query as a statement.
    pub(super) fn query_statement(&mut self) -> Result<StatementKind> {
        Ok(StatementKind::Query(Box::new(self.query()?)))
    }

    /// What begins with WITH: a query, UPDATE or DELETE.
    pub(super) fn with_statement(&mut self) -> Result<StatementKind> {
        let start = self.start();
        let with = self.with()?;
        match self.keyword() {
            Some(K::UPDATE) => self.update_with(Some(with)),
            Some(K::DELETE) => self.delete_with(Some(with)),
            _ => {
                let from = self.piece(self.last_end());
                let body = self.query_primary()?;
                let mut q = self.nested_by(QUERY, |p| p.query_rest(body, from))?;
                q.span.start = start;
                q.tail.get_or_insert_default().with = Some(with);
                Ok(StatementKind::Query(Box::new(q)))
            }
        }
    }

    /// Whether a query begins here, parentheses left aside.
    #[inline]
    pub(super) fn at_plain_query(&self) -> bool {
        match self.kind() {
            T::Keyword(K::SELECT | K::WITH) => true,
            T::Keyword(K::VALUES) => self.at_nth(1, K::ROW),
            T::Keyword(K::TABLE) => is_ident(self.kind_nth(1)),
            _ => false,
        }
    }

    /// Whether what follows a query in parentheses makes these a part of a query, or encloses them.
    pub(super) fn at_query_end(&self) -> bool {
        matches!(
            self.kind(),
            T::RParen
                | T::Keyword(
                    K::UNION
                        | K::EXCEPT
                        | K::INTERSECT
                        | K::ORDER
                        | K::LIMIT
                        | K::FOR
                        | K::LOCK
                        | K::INTO
                )
        )
    }

    /// Anything that may stand as a query expression.
    pub fn query(&mut self) -> Result<Query> {
        self.nested_by(QUERY, |p| {
            let start = p.start();
            let with = if p.at(K::WITH) { Some(p.with()?) } else { None };
            let from = p.piece(p.last_end());
            let body = p.query_primary()?;
            let mut q = p.query_rest(body, from)?;
            if with.is_some() {
                p.took(size_of::<QueryTail>())?;
                q.tail.get_or_insert_default().with = with;
                q.span.start = start;
            }
            Ok(q)
        })
    }

    /// A query whose first part was read already, from here on.
    pub(super) fn query_from(&mut self, body: QueryBody, from: Piece) -> Result<Query> {
        self.nested_by(QUERY, |p| p.query_rest(body, from))
    }

    fn query_rest(&mut self, body: QueryBody, from: Piece) -> Result<Query> {
        let mut body = self.set_operations(body, from)?;
        if self.depth() > QUERY {
            body = self.lighter_body(body, from)?;
        }
        let tail = self.query_tail()?;
        Ok(Query {
            body,
            tail,
            span: self.span_from(from.at()),
        })
    }

    /// A query's body that is not held as text.
    pub(super) fn whole_body(&mut self) -> Result<QueryBody> {
        let from = self.piece(self.last_end());
        let first = self.query_primary()?;
        self.set_operations(first, from)
    }

    fn with(&mut self) -> Result<With> {
        self.expect(K::WITH)?;
        let recursive = self.eat(K::RECURSIVE);
        let queries = self.comma_list(Self::cte)?;
        Ok(With { recursive, queries })
    }

    pub(super) fn cte(&mut self) -> Result<Cte> {
        let name = self.ident()?;
        let columns = self.column_aliases()?;
        self.expect(K::AS)?;
        let query = self.subquery()?;
        Ok(Cte {
            name,
            columns,
            query,
        })
    }

    /// `(a, b)`, if a parenthesis follows.
    pub(super) fn column_aliases(&mut self) -> Result<Items<Ident>> {
        if !self.at_punct(T::LParen) {
            return Ok(Items::EMPTY);
        }
        self.parens(|p| p.comma_list(Self::ident))
    }

    /// UNION, EXCEPT and INTERSECT behind a query's first part.
    fn set_operations(&mut self, first: QueryBody, from: Piece) -> Result<QueryBody> {
        let first = self.intersections(first, from)?;
        if !self.at_any(&[K::UNION, K::EXCEPT]) {
            return Ok(first);
        }
        self.set_parts(first, from, &[K::UNION, K::EXCEPT])
    }

    fn intersections(&mut self, first: QueryBody, from: Piece) -> Result<QueryBody> {
        if !self.at(K::INTERSECT) {
            return Ok(first);
        }
        self.set_parts(first, from, &[K::INTERSECT])
    }

    /// Parts that begin with these words.
    fn set_parts(&mut self, first: QueryBody, from: Piece, words: &[K]) -> Result<QueryBody> {
        let first = self.lighter_body(first, from)?;
        let mut rest = Items::default();
        let start = self.piece(self.last_end());
        let intos = self.intos;
        while self.at_any(words) {
            let from = self.piece(self.last_end());
            let part = self.set_part()?;
            let first = (self.intos == intos).then_some(start);
            self.add(&mut rest, part, from, first)?;
        }
        Ok(QueryBody::Set(Box::new(SetOperation { first, rest })))
    }

    /// UNION and the like, and what follows.
    pub(super) fn set_part(&mut self) -> Result<SetPart> {
        let op = match self.next().kind {
            T::Keyword(K::UNION) => SetOp::Union,
            T::Keyword(K::EXCEPT) => SetOp::Except,
            _ => SetOp::Intersect,
        };
        let all = self.set_quantifier();
        let from = self.piece(self.last_end());
        let mut body = self.query_primary()?;
        if op != SetOp::Intersect {
            body = self.intersections(body, from)?;
        }
        Ok(SetPart { op, all, body })
    }

    fn set_quantifier(&mut self) -> bool {
        self.eat_any(&[K::ALL, K::DISTINCT]) == Some(K::ALL)
    }

    /// A part of a query: SELECT, TABLE, VALUES, or a query in parentheses.
    fn query_primary(&mut self) -> Result<QueryBody> {
        match self.kind() {
            T::Keyword(K::SELECT) => Ok(QueryBody::Select(Box::new(self.select()?))),
            T::Keyword(K::TABLE) => {
                self.next();
                Ok(QueryBody::Table(Box::new(self.object_name()?)))
            }
            T::Keyword(K::VALUES) => {
                self.next();
                Ok(QueryBody::Values(Box::new(self.held_rows(true)?)))
            }
            T::LParen => {
                let query = self.parens(Self::query)?;
                Ok(QueryBody::Parens(Box::new(query)))
            }
            _ => Err(self.error_here()),
        }
    }

    fn query_tail(&mut self) -> Result<Option<Box<QueryTail>>> {
        let any = [K::ORDER, K::LIMIT, K::INTO, K::FOR, K::LOCK];
        if !self.at_any(&any) {
            return Ok(None);
        }
        let mut tail = QueryTail::default();
        self.took(size_of::<QueryTail>())?;
        if self.at(K::ORDER) {
            tail.order_by = self.order_by_list()?;
        }
        tail.limit = self.limit()?;
        tail.into = self.maybe_into()?;
        tail.locks = self.row_of(Self::row_lock)?;
        if self.at(K::INTO) {
            if tail.into.is_some() {
                return Err(self.error_here());
            }
            tail.into = self.maybe_into()?;
        }
        Ok((tail != QueryTail::default()).then(|| Box::new(tail)))
    }

    /// ORDER BY and its list.
    pub fn order_by_list(&mut self) -> Result<Items<OrderItem>> {
        self.expect_all(&[K::ORDER, K::BY])?;
        self.order_items()
    }

    /// Expressions with their directions.
    pub(super) fn order_items(&mut self) -> Result<Items<OrderItem>> {
        self.items()
    }

    /// An expression with its direction.
    pub(super) fn order_item(&mut self) -> Result<OrderItem> {
        let expr = self.expr()?;
        let direction = self.direction();
        Ok(OrderItem { expr, direction })
    }

    /// ASC or DESC.
    fn direction(&mut self) -> Option<Direction> {
        match self.eat_any(&[K::ASC, K::DESC])? {
            K::ASC => Some(Direction::Ascending),
            _ => Some(Direction::Descending),
        }
    }

    /// LIMIT, if it is next.
    pub fn limit(&mut self) -> Result<Option<Limit>> {
        if !self.eat(K::LIMIT) {
            return Ok(None);
        }
        let first = self.limit_option()?;
        if self.eat_punct(T::Comma) {
            return Ok(Some(Limit {
                count: self.limit_option()?,
                offset: Some(first),
            }));
        }
        let offset = if self.eat(K::OFFSET) {
            Some(self.limit_option()?)
        } else {
            None
        };
        Ok(Some(Limit {
            count: first,
            offset,
        }))
    }

    /// A whole number, a placeholder, a routine's variable.
    fn limit_option(&mut self) -> Result<Expr> {
        let start = self.start();
        let kind = match self.kind() {
            T::Param => {
                self.next();
                self.params += 1;
                ExprKind::Param(self.params - 1)
            }
            T::Int | T::Hex | T::Bits => self.literal_kind()?,
            _ => {
                let name = self.ident()?;
                ExprKind::Column(ColumnRef::new(None, None, name.text))
            }
        };
        Ok(Expr::new(kind, self.span_from(start)))
    }

    pub(super) fn row_lock(&mut self) -> Result<Option<Lock>> {
        if self.eat_all(&[K::LOCK, K::IN, K::SHARE, K::MODE]) {
            return Ok(Some(Lock {
                strength: LockStrength::Share,
                tables: Items::EMPTY,
                wait: LockWait::Wait,
                old_style: true,
            }));
        }
        if !self.eat(K::FOR) {
            return Ok(None);
        }
        let strength = match self.eat_any(&[K::UPDATE, K::SHARE]) {
            Some(K::UPDATE) => LockStrength::Update,
            Some(_) => LockStrength::Share,
            None => return Err(self.error_here()),
        };
        let tables = if self.eat(K::OF) {
            self.comma_list(Self::object_name)?
        } else {
            Items::EMPTY
        };
        let wait = if self.eat(K::NOWAIT) {
            LockWait::Nowait
        } else if self.eat(K::SKIP) {
            self.expect(K::LOCKED)?;
            LockWait::SkipLocked
        } else {
            LockWait::Wait
        };
        Ok(Some(Lock {
            strength,
            tables,
            wait,
            old_style: false,
        }))
    }
}
