//! INSERT and REPLACE.

use super::Parser;
use crate::ast::*;
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

impl Parser<'_> {
    /// INSERT or REPLACE.
    pub(super) fn insert(&mut self) -> Result<StatementKind> {
        let replace = self.next().kind == T::Keyword(K::REPLACE);
        let hints = self.hints();
        let priority = match self.eat_any(&[K::LOW_PRIORITY, K::DELAYED, K::HIGH_PRIORITY]) {
            Some(K::LOW_PRIORITY) => Some(Priority::Low),
            Some(K::DELAYED) => Some(Priority::Delayed),
            Some(_) => Some(Priority::High),
            None => None,
        };
        let ignore = !replace && self.eat(K::IGNORE);
        self.eat(K::INTO);
        let table = self.object_name()?;
        let partitions = self.partition_names()?;
        let columns = self.insert_columns()?;
        let source = self.insert_source(columns.is_some())?;
        let alias = match source {
            InsertSource::Query(_) => None,
            _ => self.row_alias()?,
        };
        let on_duplicate = if !replace && self.eat(K::ON) {
            self.expect_all(&[K::DUPLICATE, K::KEY, K::UPDATE])?;
            self.updates_duplicate = true;
            let assignments = self.assignments()?;
            self.updates_duplicate = false;
            assignments
        } else {
            Items::EMPTY
        };
        Ok(StatementKind::Insert(Box::new(Insert {
            replace,
            hints,
            priority,
            ignore,
            table,
            partitions,
            columns,
            source,
            alias,
            on_duplicate,
        })))
    }

    /// The list of columns, unless the parenthesis begins a query.
    fn insert_columns(&mut self) -> Result<Option<Items<ColumnName>>> {
        let query = matches!(
            self.kind_nth(1),
            T::LParen | T::Keyword(K::SELECT | K::WITH | K::TABLE | K::VALUES)
        );
        if !self.at_punct(T::LParen) || query {
            return Ok(None);
        }
        self.parens(|p| {
            if p.at_punct(T::RParen) {
                return Ok(Items::EMPTY);
            }
            p.comma_list(Self::column_name)
        })
        .map(Some)
    }

    fn insert_source(&mut self, columns: bool) -> Result<InsertSource> {
        let values = self.at(K::VALUES) && !self.at_nth(1, K::ROW);
        if values || self.at(K::VALUE) {
            self.next();
            return Ok(InsertSource::Values(self.held_rows(false)?));
        }
        if !columns && self.eat(K::SET) {
            return Ok(InsertSource::Set(self.assignments()?));
        }
        Ok(InsertSource::Query(Box::new(self.query()?)))
    }

    fn row_alias(&mut self) -> Result<Option<RowAlias>> {
        if !self.eat(K::AS) {
            return Ok(None);
        }
        let name = self.ident()?;
        let columns = self.column_aliases()?;
        Ok(Some(RowAlias { name, columns }))
    }

    /// `a = 1, t.b = DEFAULT`.
    pub(super) fn assignments(&mut self) -> Result<Items<Assignment>> {
        self.comma_list(Self::assignment)
    }

    pub(super) fn assignment(&mut self) -> Result<Assignment> {
        let column = self.column_name()?;
        if !self.eat_punct(T::Assign) {
            self.expect_punct(T::Eq)?;
        }
        let value = self.expr_or_default()?;
        Ok(Assignment { column, value })
    }

    /// `c`, `t.c`, `d.t.c`.
    pub fn column_name(&mut self) -> Result<ColumnName> {
        let mut parts = [None, None];
        let mut name = self.ident()?;
        while parts[0].is_none() && self.eat_punct(T::Dot) {
            parts = [parts[1].take(), Some(name)];
            name = self.ident()?;
        }
        let [database, table] = parts;
        Ok(ColumnName {
            database,
            table,
            name,
        })
    }
}
