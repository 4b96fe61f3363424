//! Walks over logical plans: which expressions there are, and what columns they read.

use super::{Arena, Block, Body, Query, SubqueryId, Table, TableId, TableKind, Tree};
use crate::expr::{Expr, ExprKind};

/// A column of a table, of a group or of a set operation's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnRef {
    /// Whose.
    pub table: TableId,
    /// Which of its columns.
    pub column: usize,
}

impl Block {
    /// Calls `f` for each expression, constants of LIMIT aside.
    pub fn exprs(&self, f: &mut dyn FnMut(&Expr)) {
        if let Some(tree) = &self.from {
            tree.conditions(f);
        }
        self.filter.iter().for_each(&mut *f);
        if let Some(g) = &self.group {
            g.keys.iter().for_each(&mut *f);
            for a in &g.aggregates {
                a.args.iter().for_each(&mut *f);
                a.order_by.iter().for_each(|(e, _)| f(e));
            }
        }
        self.having.iter().for_each(&mut *f);
        self.select.iter().for_each(&mut *f);
        self.order.iter().for_each(|o| f(&o.expr));
    }
    /// The same with the right to change them.
    pub fn exprs_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        if let Some(tree) = &mut self.from {
            tree.conditions_mut(f);
        }
        self.filter.iter_mut().for_each(&mut *f);
        if let Some(g) = &mut self.group {
            g.keys.iter_mut().for_each(&mut *f);
            for a in &mut g.aggregates {
                a.args.iter_mut().for_each(&mut *f);
                a.order_by.iter_mut().for_each(|(e, _)| f(e));
            }
        }
        self.having.iter_mut().for_each(&mut *f);
        self.select.iter_mut().for_each(&mut *f);
        self.order.iter_mut().for_each(|o| f(&mut o.expr));
    }
    /// Its table of that id.
    pub fn table(&self, id: TableId) -> Option<&Table> {
        self.tables.iter().find(|t| t.id == id)
    }
}

impl Query {
    /// Calls `f` for each expression of it and its arms, constants of LIMIT aside.
    pub fn exprs(&self, f: &mut dyn FnMut(&Expr)) {
        match &self.body {
            Body::Block(b) => b.exprs(f),
            Body::Union(u) => {
                u.arms.iter().for_each(|(q, _)| q.exprs(f));
                u.order.iter().for_each(|o| f(&o.expr));
            }
            Body::Values(rows) => rows.iter().flatten().for_each(f),
        }
    }
    /// The same with the right to change them.
    pub fn exprs_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match &mut self.body {
            Body::Block(b) => b.exprs_mut(f),
            Body::Union(u) => {
                u.arms.iter_mut().for_each(|(q, _)| q.exprs_mut(f));
                u.order.iter_mut().for_each(|o| f(&mut o.expr));
            }
            Body::Values(rows) => rows.iter_mut().flatten().for_each(f),
        }
    }
    /// Calls `f` for each table, group and set operation's row of it and its arms.
    pub fn ids(&self, f: &mut dyn FnMut(TableId)) {
        match &self.body {
            Body::Block(b) => {
                b.tables.iter().for_each(|t| f(t.id));
                b.group.iter().for_each(|g| f(g.id));
            }
            Body::Union(u) => {
                f(u.row);
                u.arms.iter().for_each(|(q, _)| q.ids(f));
            }
            Body::Values(_) => {}
        }
    }
    /// Calls `f` for each table that its blocks read.
    pub fn tables(&self, f: &mut dyn FnMut(&Table)) {
        match &self.body {
            Body::Block(b) => b.tables.iter().for_each(f),
            Body::Union(u) => u.arms.iter().for_each(|(q, _)| q.tables(f)),
            Body::Values(_) => {}
        }
    }
}

impl Expr {
    /// Calls `f` for each subquery in it, those in what they are compared with included.
    pub fn subqueries(&self, f: &mut dyn FnMut(SubqueryId)) {
        self.walk(&mut |e| {
            if let ExprKind::Subquery { id, .. } = &e.kind {
                f(*id);
            }
        });
    }
    /// Whether there is a subquery in it.
    pub fn has_subquery(&self) -> bool {
        let mut any = false;
        self.subqueries(&mut |_| any = true);
        any
    }
}

impl Arena {
    /// Calls `f` for each column that an expression or a subquery in it reads, but for those of the subqueries' own tables.
    pub fn columns(&self, e: &Expr, f: &mut dyn FnMut(ColumnRef)) {
        e.columns(&mut |table, column| f(ColumnRef { table, column }));
        let mut ids = Vec::new();
        e.subqueries(&mut |id| ids.push(id));
        for id in ids {
            self.outer(&self.subqueries[id].query)
                .into_iter()
                .for_each(&mut *f);
        }
    }

    /// The columns of the blocks around that a query reads, sorted.
    pub fn outer(&self, q: &Query) -> Vec<ColumnRef> {
        let mut own = Vec::new();
        q.ids(&mut |id| own.push(id));
        let mut read = Vec::new();
        q.exprs(&mut |e| self.columns(e, &mut |c| read.push(c)));
        read.retain(|c| !own.contains(&c.table));
        read.sort_unstable();
        read.dedup();
        read
    }

    /// Whether the rows a query reads decide its rows, during a statement that assigns to variables or not.
    pub fn is_deterministic(&self, q: &Query, assigns: bool) -> bool {
        let mut inner = Vec::new();
        let mut steady = true;
        q.exprs(&mut |e| {
            steady &= e.is_deterministic(assigns);
            e.subqueries(&mut |id| inner.push(id));
        });
        let mut derived = Vec::new();
        q.tables(&mut |t| {
            if let TableKind::Derived { derived: at, .. } = &t.kind {
                derived.push(*at);
            }
        });
        steady
            && inner
                .into_iter()
                .all(|id| self.is_deterministic(&self.subqueries[id].query, assigns))
            && derived
                .into_iter()
                .all(|at| self.is_deterministic(&self.derived[at].query, assigns))
    }

    /// Calls `f` for an expression and all expressions of subqueries in it, with the right to change them.
    pub fn deep_mut(&mut self, e: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
        f(e);
        let mut ids = Vec::new();
        e.subqueries(&mut |id| ids.push(id));
        for id in ids {
            let mut q = std::mem::take(&mut self.subqueries[id].query);
            q.exprs_mut(&mut |e| self.deep_mut(e, f));
            self.subqueries[id].query = q;
        }
    }
}

impl Tree {
    /// The tables in it.
    pub fn tables(&self) -> Vec<TableId> {
        let mut list = Vec::new();
        self.leaves(&mut |id| list.push(id));
        list
    }
}
