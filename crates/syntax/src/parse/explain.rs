//! EXPLAIN, DESCRIBE and DESC, which are one.

use super::Parser;
use crate::ast::*;
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

impl Parser<'_> {
    /// EXPLAIN.
    pub(super) fn explain(&mut self) -> Result<StatementKind> {
        self.next();
        let explain = self.nested(|p| p.explained())?;
        Ok(StatementKind::Explain(Box::new(explain)))
    }

    fn explained(&mut self) -> Result<Explain> {
        let table = self.at_ident()
            && matches!(
                self.kind_nth(1),
                T::End | T::Semicolon | T::Dot | T::Text | T::Ident | T::QuotedIdent
            );
        if table {
            return self.described_table();
        }
        let analyze = self.eat(K::ANALYZE);
        let extended = self.eat_any(&[K::EXTENDED, K::PARTITIONS]).is_some();
        let mut format = None;
        if self.at(K::FORMAT) && self.kind_nth(1) == T::Eq {
            self.next();
            self.next();
            format = Some(self.ident_or_text()?);
        }
        let mut into = None;
        if self.eat(K::INTO) {
            into = Some(self.user_variable()?);
        }
        if self.at(K::FOR) && self.at_nth(1, K::CONNECTION) && into.is_none() {
            self.next();
            self.next();
            let start = self.start();
            let kind = self.literal_kind()?;
            let id = Expr::new(kind, self.span_from(start));
            return Ok(Explain::Connection { format, id });
        }
        let mut schema = None;
        if self.eat(K::FOR) {
            if self.eat_any(&[K::SCHEMA, K::DATABASE]).is_none() {
                return Err(self.error_here());
            }
            schema = Some(self.ident()?);
        }
        let explainable = [
            K::SELECT,
            K::TABLE,
            K::VALUES,
            K::WITH,
            K::INSERT,
            K::REPLACE,
            K::UPDATE,
            K::DELETE,
        ];
        if self.at_punct(T::LParen) || self.at_any(&explainable) {
            let statement = Box::new(self.statement()?);
            return Ok(Explain::Statement {
                analyze,
                extended,
                format,
                into,
                schema,
                statement,
            });
        }
        if analyze || extended || format.is_some() || into.is_some() || schema.is_some() {
            return Err(self.error_here());
        }
        self.described_table()
    }

    fn described_table(&mut self) -> Result<Explain> {
        let table = self.object_name()?;
        let column = if self.at_punct(T::Text) || self.at_ident() {
            Some(self.ident_or_text()?.text.to_string())
        } else {
            None
        };
        Ok(Explain::Table { table, column })
    }
}
