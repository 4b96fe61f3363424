//! ON DUPLICATE KEY UPDATE between the INSERT that it is written in and the SELECT that it is bound in.

use std::sync::Arc;

use crate::error::{SqlError, SqlResult};
use crate::expr::{Coercibility, Expr};
use crate::logical::{Assignments, Carried, DerivedColumn, Table, TableId};
use crate::parse::ast;
use crate::types::Schema;

/// An ON DUPLICATE KEY UPDATE that is yet to be bound.
pub struct OnDuplicate<'p> {
    pub(super) list: &'p ast::Items<ast::Assignment>,
    pub(super) alias: Option<&'p ast::RowAlias>,
    /// Columns that the statement gives.
    pub(super) columns: Vec<usize>,
    pub(super) old: Table,
    pub(super) schema: Arc<Schema>,
    /// The names of its columns in the view that the statement writes through.
    pub(super) names: Option<Vec<String>>,
}

/// The same, bound.
pub struct Updating {
    pub(super) set: Assignments<Expr>,
    pub(super) others_read: Vec<TableId>,
    pub(super) carried: Carried,
}

impl OnDuplicate<'_> {
    /// The names that `AS new(a, b)` gives the columns.
    pub(super) fn column_aliases(&self) -> Option<&ast::Items<ast::Ident>> {
        let list = &self.alias?.columns;
        (!list.is_empty()).then_some(list)
    }

    /// The row that was to be inserted, under its alias.
    pub(super) fn inserted_row(&self, id: TableId) -> SqlResult<Table> {
        let own = self.schema.columns.iter().map(|c| c.name.clone());
        let mut names: Vec<String> = self.names.clone().unwrap_or_else(|| own.collect());
        if let Some(list) = self.column_aliases() {
            if list.len() != self.columns.len() {
                return Err(SqlError::new(
                    1353,
                    "In definition of view, derived table or common table expression, SELECT list \
                     and column names list have different column counts",
                ));
            }
            names.iter_mut().for_each(String::clear);
            for (&c, alias) in self.columns.iter().zip(list) {
                names[c] = alias.as_str().to_string();
            }
        }
        let columns = names.into_iter().zip(&self.schema.columns);
        let name = match self.alias {
            Some(a) => a.name.as_str().to_string(),
            None => String::new(),
        };
        let columns = columns.map(|(name, c)| DerivedColumn {
            name,
            ty: c.ty.clone(),
            nullable: c.nullable,
            hold: Coercibility::Implicit,
        });
        Ok(Table::row(id, name, columns.collect()))
    }
}
