//! From a statement's table ids to the executor's numbers. A block's tables are sources `base..base+n`, its group is source
//! `base+n`, the values of its subqueries are source `base+n+1`, see [`crate::plan::nodes`].

use super::Optimizer;
use crate::error::SqlResult;
use crate::expr::{Expr, ExprKind, SUBQUERY};
use crate::logical::{self, EachExpr, SubqueryId};
use crate::plan::nodes::{Ask, ExprWithSubqueries, Subquery};
use crate::switches::Flag;
use std::sync::Arc;

/// An expression with the subqueries it needs per row: those whose values are in `source` but for those that run `once`.
pub fn with_subqueries(expr: Expr, source: usize, once: &[usize]) -> ExprWithSubqueries {
    let mut subqueries = Vec::new();
    expr.columns(&mut |s, c| {
        if s == source && !once.contains(&c) && !subqueries.contains(&c) {
            subqueries.push(c);
        }
    });
    subqueries.sort_unstable();
    ExprWithSubqueries { expr, subqueries }
}

impl Optimizer<'_> {
    /// An expression with its tables and subqueries by source.
    pub fn lower(&self, mut e: Expr) -> Expr {
        e.walk_mut(&mut |x| match &mut x.kind {
            ExprKind::Column { source, .. } => {
                debug_assert!(self.slots[*source].is_some(), "a column of no block");
                *source = self.slots[*source].unwrap_or(0);
            }
            ExprKind::Subquery { id, hold, .. } => {
                debug_assert!(self.values[*id].is_some(), "a subquery of no block");
                let (source, column) = self.values[*id].unwrap_or_default();
                x.kind = ExprKind::Column {
                    source,
                    column,
                    label: Arc::from(SUBQUERY),
                    hold: *hold,
                };
            }
            _ => {}
        });
        e
    }

    /// The same for a list.
    pub fn lower_all(&self, list: Vec<Expr>) -> Vec<Expr> {
        list.into_iter().map(|e| self.lower(e)).collect()
    }

    /// Plans the subqueries in expressions of a block with these values' source, in the order in which they were bound: what a
    /// subquery is compared with stands before it. Those of the blocks around are left out.
    pub fn subqueries(&mut self, walk: &EachExpr<'_>, source: usize) -> SqlResult<Vec<Subquery>> {
        let mut found: Vec<(SubqueryId, Vec<Expr>)> = Vec::new();
        walk(&mut |e| {
            e.walk(&mut |x| {
                if let ExprKind::Subquery { id, operands, .. } = &x.kind
                    && self.values[*id].is_none()
                    && !found.iter().any(|f| f.0 == *id)
                {
                    found.push((*id, operands.clone()));
                }
            });
        });
        found.sort_by_key(|f| f.0);
        for (n, (id, _)) in found.iter().enumerate() {
            self.values[*id] = Some((source, n));
        }
        let mut list = Vec::new();
        for (id, operands) in found {
            list.push(self.subquery(id, operands, source)?);
        }
        Ok(list)
    }

    fn subquery(
        &mut self,
        id: SubqueryId,
        operands: Vec<Expr>,
        source: usize,
    ) -> SqlResult<Subquery> {
        let query = self.take_subquery(id);
        let mut outer = self.outer(&query);
        let correlated = !outer.is_empty();
        let steady = operands.iter().all(|e| e.is_deterministic(self.assigns));
        let operands = self.lower_all(operands);
        for e in &operands {
            e.columns(&mut |s, c| outer.push((s, c)));
        }
        let mut operands = operands
            .into_iter()
            .map(|e| with_subqueries(e, source, &[]));
        let (ask, exists) = {
            let q = &self.arena.subqueries[id];
            (q.ask.clone(), q.exists)
        };
        let volatile =
            !ask.is_deterministic() || !self.arena.is_deterministic(&query, self.assigns);
        let mut one = || {
            let none = || with_subqueries(Expr::null(), source, &[]);
            operands.next().unwrap_or_else(none)
        };
        let ask = match ask {
            logical::Ask::Scalar => Ask::Scalar,
            logical::Ask::Call(function) => Ask::Call(function),
            logical::Ask::Fulltext(search) => Ask::Fulltext(search),
            logical::Ask::Exists { negated } => Ask::Exists { negated },
            logical::Ask::In { negated, collation } => Ask::In {
                value: one(),
                negated,
                collation,
            },
            logical::Ask::Row { test, collations } => Ask::Row {
                values: operands.collect(),
                test,
                collations,
            },
            logical::Ask::Quantified { op, all, collation } => Ask::Quantified {
                value: one(),
                op,
                all,
                collation,
            },
        };
        let id = self.subqueries;
        self.subqueries += 1;
        let (query, outline) = self.query(query, source + 1)?;
        Ok(Subquery {
            query,
            cost: outline.cost,
            ask,
            correlated,
            volatile,
            deterministic: !volatile && steady,
            exists,
            keeps: self.peek.env.switches.get().has(Flag::Materialization),
            id,
            outer,
        })
    }

    /// What a query that is not planned yet reads of the blocks around: (source, column), sorted.
    pub fn outer(&self, q: &logical::Query) -> Vec<(usize, usize)> {
        let mut own = Vec::new();
        let mut read = Vec::new();
        self.reads(q, &mut own, &mut read);
        read.sort_unstable();
        read.dedup();
        read
    }

    fn reads(&self, q: &logical::Query, own: &mut Vec<usize>, read: &mut Vec<(usize, usize)>) {
        q.ids(&mut |id| own.push(id));
        let mut inner = Vec::new();
        q.exprs(&mut |e| {
            e.columns(&mut |table, column| {
                if let Some(source) = self.slots[table]
                    && !own.contains(&table)
                {
                    read.push((source, column));
                }
            });
            e.subqueries(&mut |id| match self.values[id] {
                // One of a block around, by an alias.
                Some(value) => read.push(value),
                None => inner.push(id),
            });
        });
        for id in inner {
            self.reads(&self.arena.subqueries[id].query, own, read);
        }
    }
}
