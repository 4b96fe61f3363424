//! UPDATE and DELETE, DO and CALL.

use super::Parser;
use crate::ast::*;
use crate::error::{Result, SyntaxError};
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

impl Parser<'_> {
    /// UPDATE.
    pub(super) fn update(&mut self) -> Result<StatementKind> {
        self.update_with(None)
    }

    /// UPDATE, with what stood before it.
    pub(super) fn update_with(&mut self, with: Option<With>) -> Result<StatementKind> {
        self.expect(K::UPDATE)?;
        let hints = self.hints();
        let low_priority = self.eat(K::LOW_PRIORITY);
        let ignore = self.eat(K::IGNORE);
        let tables = self.table_refs()?;
        self.expect(K::SET)?;
        let set = self.assignments()?;
        let filter = self.where_clause()?;
        let one = matches!(tables[..], [TableRef::Table(_)]);
        for (word, name) in [(K::ORDER, "ORDER BY"), (K::LIMIT, "LIMIT")] {
            if !one && self.at(word) {
                let message = format!("Incorrect usage of UPDATE and {name}");
                return Err(SyntaxError::new(1221, self.peek().span(), message));
            }
        }
        let (order_by, limit) = self.order_and_limit()?;
        Ok(StatementKind::Update(Box::new(Update {
            with,
            hints,
            low_priority,
            ignore,
            tables,
            set,
            filter,
            order_by,
            limit,
        })))
    }

    fn order_and_limit(&mut self) -> Result<(Items<OrderItem>, Option<Limit>)> {
        let order_by = if self.at(K::ORDER) {
            self.order_by_list()?
        } else {
            Items::EMPTY
        };
        let limit = self.limit()?;
        // Only how many, not after how many.
        match limit {
            Some(Limit {
                offset: Some(offset),
                ..
            }) => Err(self.error_at(offset.span.start)),
            limit => Ok((order_by, limit)),
        }
    }

    /// DELETE.
    pub(super) fn delete(&mut self) -> Result<StatementKind> {
        self.delete_with(None)
    }

    /// DELETE, with what stood before it.
    pub(super) fn delete_with(&mut self, with: Option<With>) -> Result<StatementKind> {
        self.expect(K::DELETE)?;
        let hints = self.hints();
        let (mut low_priority, mut quick, mut ignore) = (false, false, false);
        loop {
            let name_follows = matches!(self.kind_nth(1), T::Comma | T::Dot);
            if self.eat(K::LOW_PRIORITY) {
                low_priority = true;
            } else if !name_follows && self.eat(K::QUICK) {
                quick = true;
            } else if self.eat(K::IGNORE) {
                ignore = true;
            } else {
                break;
            }
        }
        let target = self.delete_target()?;
        let filter = self.where_clause()?;
        let (order_by, limit) = match target {
            DeleteTarget::One { .. } => self.order_and_limit()?,
            DeleteTarget::Several { .. } => (Items::EMPTY, None),
        };
        Ok(StatementKind::Delete(Box::new(Delete {
            with,
            hints,
            low_priority,
            quick,
            ignore,
            target,
            filter,
            order_by,
            limit,
        })))
    }

    fn delete_target(&mut self) -> Result<DeleteTarget> {
        let several = |using, targets, from| DeleteTarget::Several {
            using,
            targets,
            from,
        };
        if !self.eat(K::FROM) {
            let targets = self.comma_list(Self::deleted_name)?;
            self.expect(K::FROM)?;
            return Ok(several(false, targets, self.table_refs()?));
        }
        let start = self.piece(self.last_end());
        let (table, starred) = self.deleted_table()?;
        if starred || self.at_punct(T::Comma) || self.at(K::USING) {
            let targets = self.items_from(start, Some(table), Self::deleted_name)?;
            self.expect(K::USING)?;
            return Ok(several(true, targets, self.table_refs()?));
        }
        let mut partitions = self.partition_names()?;
        let alias = self.table_alias()?;
        if partitions.is_empty() {
            partitions = self.partition_names()?;
        }
        Ok(DeleteTarget::One {
            table,
            alias,
            partitions,
        })
    }

    /// A table that rows are deleted from.
    pub(super) fn deleted_name(&mut self) -> Result<ObjectName> {
        Ok(self.deleted_table()?.0)
    }

    /// `t`, `d.t`, `t.*`, `d.t.*`; whether there was a star.
    fn deleted_table(&mut self) -> Result<(ObjectName, bool)> {
        let mut name = ObjectName {
            database: None,
            name: self.ident()?,
        };
        while self.eat_punct(T::Dot) {
            if self.eat_punct(T::Star) {
                return Ok((name, true));
            }
            if name.database.is_some() {
                return Err(self.error_here());
            }
            let last = self.ident()?;
            name.database = Some(std::mem::replace(&mut name.name, last));
        }
        Ok((name, false))
    }

    /// DO.
    pub(super) fn do_statement(&mut self) -> Result<StatementKind> {
        self.next();
        let list = self.comma_list(Self::done_item)?;
        Ok(StatementKind::Do(Box::new(Do { list })))
    }

    /// An expression of DO, with a name that is of no use.
    pub(super) fn done_item(&mut self) -> Result<(Expr, Option<Ident>)> {
        let e = self.expr()?;
        Ok((e, self.select_alias()?))
    }

    /// CALL.
    pub(super) fn call_statement(&mut self) -> Result<StatementKind> {
        self.next();
        let name = self.object_name()?;
        let mut args = Items::default();
        if self.eat_punct(T::LParen) {
            if !self.at_punct(T::RParen) {
                args = self.items()?;
            }
            self.expect_punct(T::RParen)?;
        }
        Ok(StatementKind::Call(Box::new(CallProcedure { name, args })))
    }
}
