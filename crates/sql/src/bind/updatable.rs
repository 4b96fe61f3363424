//! Views that statements write through.
//!
//! A view is updatable if its rows are rows of the tables below: its query is one SELECT without grouping, DISTINCT or LIMIT, from stored tables and
//! views of that kind alone. Its columns that are columns of those can be given values, each changing the row that it comes from.

use super::scope::Binder;
use crate::expr::{Expr, ExprKind};
use crate::logical::{Block, Body, DerivedId, TableId, TableKind};

impl Binder<'_, '_> {
    /// Whether statements can write through a view.
    pub(super) fn is_updatable(&self, derived: DerivedId) -> bool {
        let Some(b) = self.updatable_block(derived) else {
            return false;
        };
        b.select.iter().any(|e| self.base_column(e, b).is_some())
    }

    /// The SELECT of a view that statements may write through.
    pub(super) fn updatable_block(&self, derived: DerivedId) -> Option<&Block> {
        let d = &self.arena.derived[derived];
        let view = d.view.as_ref()?;
        let Body::Block(b) = &d.query.body else {
            return None;
        };
        let plain = b.group.is_none() && b.having.is_empty() && !b.distinct && b.limit.is_none();
        let based = |kind: &TableKind| match kind {
            TableKind::Stored { .. } => true,
            TableKind::Derived { derived, .. } => self.updatable_block(*derived).is_some(),
            TableKind::Virtual(_) | TableKind::Row(_) => false,
        };
        let own = |e: &Expr| !e.has_subquery() || !self.reads_around(e);
        let fits = view.algorithm != crate::parse::ast::ViewAlgorithm::TempTable
            && plain
            && b.from.is_some()
            && b.tables.iter().all(|t| based(&t.kind))
            && b.select.iter().all(own);
        fits.then_some(b)
    }

    /// Whether a subquery in an expression reads the rows around it.
    fn reads_around(&self, e: &Expr) -> bool {
        let mut any = false;
        e.subqueries(&mut |id| {
            let query = &self.arena.subqueries[id].query;
            any |= !self.arena.outer(query).is_empty();
        });
        any
    }

    /// The column of a stored table that a view's column is.
    pub(super) fn base_column(&self, e: &Expr, b: &Block) -> Option<(TableId, usize)> {
        let ExprKind::Column { source, column, .. } = e.kind else {
            return None;
        };
        match &b.table(source)?.kind {
            TableKind::Stored { .. } => Some((source, column)),
            TableKind::Derived { derived, .. } => {
                let below = self.updatable_block(*derived)?;
                self.base_column(below.select.get(column)?, below)
            }
            TableKind::Virtual(_) | TableKind::Row(_) => None,
        }
    }
}
