//! What FROM reads: tables, derived tables, JSON_TABLE, joins.

use super::Parser;
use crate::ast::*;
use crate::error::{Result, SyntaxError};
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

/// Tables that a join may read.
const MAX_TABLES: u32 = 61;

/// What parentheses in FROM hold.
enum Inner {
    Query(Query),
    Tables(Vec<TableRef>),
}

impl Parser<'_> {
    /// Tables with commas between.
    pub(super) fn table_refs(&mut self) -> Result<Vec<TableRef>> {
        let outside = std::mem::take(&mut self.tables);
        let mut list = Vec::with_capacity(1);
        loop {
            let item = self.table_ref()?;
            self.keep(&mut list, item)?;
            if !self.eat_punct(T::Comma) {
                self.tables = outside;
                return Ok(list);
            }
        }
    }

    /// Counts a table of the query; error 1116 if they are too many.
    fn count_table(&mut self) -> Result<()> {
        self.tables += 1;
        if self.tables > MAX_TABLES {
            let message =
                format!("Too many tables; MySQL can only use {MAX_TABLES} tables in a join");
            return Err(SyntaxError::new(1116, self.peek().span(), message));
        }
        self.took(size_of::<TableFactor>())
    }

    /// A table, or several joined.
    pub fn table_ref(&mut self) -> Result<TableRef> {
        let first = self.table_factor()?;
        self.joins(first)
    }

    /// Joins behind a table.
    fn joins(&mut self, first: TableRef) -> Result<TableRef> {
        let mut rest = Vec::new();
        while let Some(kind) = self.join_kind()? {
            let mut right = self.table_factor()?;
            let natural = matches!(
                kind,
                JoinKind::Natural | JoinKind::NaturalLeft | JoinKind::NaturalRight
            );
            if natural {
                let on = None;
                self.keep(&mut rest, Join { kind, right, on })?;
                continue;
            }
            let mut others = Vec::new();
            if !self.at_join_on() && self.at_join() {
                // `a JOIN b JOIN c ON x ON y`: the first ON is the last join's.
                match self.nested(|p| p.joins(right))? {
                    TableRef::Join(joins) if self.at_join_on() => {
                        right = TableRef::Parens(Box::new(vec![TableRef::Join(joins)]));
                    }
                    TableRef::Join(joins) => {
                        let joins = *joins;
                        right = joins.first;
                        others = joins.rest;
                    }
                    other => right = other,
                }
            }
            let on = self.join_on()?;
            if on.is_none() && matches!(kind, JoinKind::Left | JoinKind::Right) {
                return Err(self.error_here());
            }
            self.keep(&mut rest, Join { kind, right, on })?;
            rest.append(&mut others);
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(TableRef::Join(Box::new(Joins { first, rest })))
    }

    fn at_join(&self) -> bool {
        self.at_any(&[
            K::JOIN,
            K::INNER,
            K::CROSS,
            K::LEFT,
            K::RIGHT,
            K::NATURAL,
            K::STRAIGHT_JOIN,
        ])
    }

    fn join_kind(&mut self) -> Result<Option<JoinKind>> {
        if !self.at_join() {
            return Ok(None);
        }
        let T::Keyword(k) = self.next().kind else {
            return Err(self.error_here());
        };
        let kind = match k {
            K::JOIN => return Ok(Some(JoinKind::Inner)),
            K::STRAIGHT_JOIN => return Ok(Some(JoinKind::Straight)),
            K::INNER => JoinKind::Inner,
            K::CROSS => JoinKind::Cross,
            K::LEFT | K::RIGHT => {
                self.eat(K::OUTER);
                if k == K::LEFT {
                    JoinKind::Left
                } else {
                    JoinKind::Right
                }
            }
            _ => match self.eat_any(&[K::INNER, K::LEFT, K::RIGHT]) {
                None | Some(K::INNER) => JoinKind::Natural,
                Some(side) => {
                    self.eat(K::OUTER);
                    if side == K::LEFT {
                        JoinKind::NaturalLeft
                    } else {
                        JoinKind::NaturalRight
                    }
                }
            },
        };
        self.expect(K::JOIN)?;
        Ok(Some(kind))
    }

    /// Whether a join's condition follows, and not ON DUPLICATE KEY UPDATE.
    fn at_join_on(&self) -> bool {
        match self.keyword() {
            Some(K::ON) => !(self.at_nth(1, K::DUPLICATE) && self.at_nth(2, K::KEY)),
            Some(K::USING) => self.kind_nth(1) == T::LParen,
            _ => false,
        }
    }

    fn join_on(&mut self) -> Result<Option<JoinOn>> {
        if !self.at_join_on() {
            return Ok(None);
        }
        if self.eat(K::ON) {
            return Ok(Some(JoinOn::On(self.expr()?)));
        }
        self.next();
        let columns = self.parens(|p| p.comma_list(Self::ident))?;
        Ok(Some(JoinOn::Using(columns)))
    }

    /// One table, or what is in parentheses.
    fn table_factor(&mut self) -> Result<TableRef> {
        if !matches!(self.kind(), T::LParen | T::LBrace) {
            self.count_table()?;
        }
        match self.kind() {
            T::LParen => {
                let inner = self.nested(|p| p.parens_content())?;
                self.parens_table(inner)
            }
            T::LBrace => {
                self.next();
                self.ident()?;
                let inner = self.nested(|p| p.table_ref())?;
                self.expect_punct(T::RBrace)?;
                Ok(TableRef::Odbc(Box::new(inner)))
            }
            T::Keyword(K::LATERAL) => {
                self.next();
                let query = self.subquery()?;
                self.derived(query, true)
            }
            T::Keyword(K::JSON_TABLE) => self.json_table(),
            _ => Ok(TableRef::Table(Box::new(self.plain_table()?))),
        }
    }

    fn parens_table(&mut self, inner: Inner) -> Result<TableRef> {
        match inner {
            Inner::Query(query) => {
                self.count_table()?;
                self.derived(query, false)
            }
            Inner::Tables(list) => Ok(TableRef::Parens(Box::new(list))),
        }
    }

    fn parens_content(&mut self) -> Result<Inner> {
        self.expect_punct(T::LParen)?;
        if self.at_plain_query() {
            let q = self.query()?;
            self.expect_punct(T::RParen)?;
            return Ok(Inner::Query(q));
        }
        let from = self.piece(self.last_end());
        let first = if self.at_punct(T::LParen) {
            match self.nested(|p| p.parens_content())? {
                Inner::Query(q) if self.at_query_end() => {
                    let q = self.query_from(QueryBody::Parens(Box::new(q)), from)?;
                    self.expect_punct(T::RParen)?;
                    return Ok(Inner::Query(q));
                }
                inner => {
                    let first = self.parens_table(inner)?;
                    self.joins(first)?
                }
            }
        } else {
            self.table_ref()?
        };
        let mut list = vec![first];
        while self.eat_punct(T::Comma) {
            let item = self.table_ref()?;
            self.keep(&mut list, item)?;
        }
        self.expect_punct(T::RParen)?;
        Ok(Inner::Tables(list))
    }

    fn derived(&mut self, query: Query, lateral: bool) -> Result<TableRef> {
        let alias = self.table_alias()?;
        let columns = self.column_aliases()?;
        Ok(TableRef::Derived(Box::new(Derived {
            lateral,
            query,
            alias,
            columns,
        })))
    }

    /// A table by its name.
    fn plain_table(&mut self) -> Result<TableFactor> {
        let name = self.object_name()?;
        let partitions = self.partition_names()?;
        let alias = self.table_alias()?;
        let index_hints = self.row_of(|p| {
            let more = p.at_any(&[K::USE, K::FORCE, K::IGNORE])
                && (p.at_nth(1, K::INDEX) || p.at_nth(1, K::KEY));
            more.then(|| p.index_hint()).transpose()
        })?;
        Ok(TableFactor {
            name,
            partitions,
            alias,
            index_hints,
        })
    }

    /// AS and a name, or a name.
    pub(super) fn table_alias(&mut self) -> Result<Option<Ident>> {
        if self.eat(K::AS) || self.at_ident() {
            return self.ident().map(Some);
        }
        Ok(None)
    }

    /// PARTITION (a, b), if it is next.
    pub(super) fn partition_names(&mut self) -> Result<Items<Ident>> {
        if !(self.at(K::PARTITION) && self.kind_nth(1) == T::LParen) {
            return Ok(Items::EMPTY);
        }
        self.next();
        self.parens(|p| p.comma_list(Self::ident))
    }

    pub(super) fn index_hint(&mut self) -> Result<IndexHint> {
        let kind = match self.next().kind {
            T::Keyword(K::USE) => IndexHintKind::Use,
            T::Keyword(K::FORCE) => IndexHintKind::Force,
            _ => IndexHintKind::Ignore,
        };
        self.next();
        let scope = if !self.eat(K::FOR) {
            IndexHintScope::All
        } else if self.eat(K::JOIN) {
            IndexHintScope::Join
        } else if self.eat(K::ORDER) {
            self.expect(K::BY)?;
            IndexHintScope::OrderBy
        } else {
            self.expect_all(&[K::GROUP, K::BY])?;
            IndexHintScope::GroupBy
        };
        let indexes = self.parens(|p| {
            if p.at_punct(T::RParen) && kind == IndexHintKind::Use {
                return Ok(Items::EMPTY);
            }
            p.comma_list(|p| {
                if p.at(K::PRIMARY) {
                    return Ok(p.ident_here());
                }
                p.ident()
            })
        })?;
        Ok(IndexHint {
            kind,
            scope,
            indexes,
        })
    }

    fn json_table(&mut self) -> Result<TableRef> {
        self.next();
        self.expect_punct(T::LParen)?;
        let document = self.expr()?;
        self.expect_punct(T::Comma)?;
        let path = self.path()?;
        let columns = self.json_columns()?;
        self.expect_punct(T::RParen)?;
        let at = self.peek().span();
        let Some(alias) = self.table_alias()? else {
            let message = "Every table function must have an alias";
            return Err(SyntaxError::new(3667, at, message));
        };
        Ok(TableRef::JsonTable(Box::new(JsonTable {
            document,
            path,
            columns,
            alias,
        })))
    }

    fn path(&mut self) -> Result<Literal> {
        let start = self.start();
        match self.literal_kind()? {
            ExprKind::Literal(path)
                if matches!(*path, Literal::Text(..) | Literal::National(_)) =>
            {
                Ok(*path)
            }
            _ => Err(self.error_at(start)),
        }
    }

    fn json_columns(&mut self) -> Result<Items<JsonColumn>> {
        self.expect(K::COLUMNS)?;
        self.parens(|p| p.comma_list(|p| p.nested(Self::json_column)))
    }

    pub(super) fn json_column(&mut self) -> Result<JsonColumn> {
        if self.eat(K::NESTED) {
            self.expect(K::PATH)?;
            let path = self.path()?;
            return Ok(JsonColumn::Nested(path, self.json_columns()?));
        }
        let name = self.ident()?;
        if self.eat(K::FOR) {
            self.expect(K::ORDINALITY)?;
            return Ok(JsonColumn::Ordinality(name));
        }
        let data_type = Box::new(self.data_type()?);
        let collation = if self.eat(K::COLLATE) {
            Some(self.collation_name()?)
        } else {
            None
        };
        let exists = self.eat(K::EXISTS);
        self.expect(K::PATH)?;
        let path = self.path()?;
        let (mut on_empty, on_error) = self.json_on()?;
        let mut error_first = false;
        if on_empty.is_none() && on_error.is_some() && self.at_json_on() {
            let start = self.start();
            let (empty, again) = self.json_on()?;
            if empty.is_none() || again.is_some() {
                return Err(self.error_at(start));
            }
            (on_empty, error_first) = (empty, true);
        }
        Ok(JsonColumn::Path {
            name,
            data_type,
            collation,
            exists,
            path,
            on_empty,
            on_error,
            error_first,
        })
    }
}
