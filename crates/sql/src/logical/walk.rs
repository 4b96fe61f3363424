//! Walks over logical plans: which expressions there are, and what columns they read.

use super::{Arena, Ask, Block, Body, Query, SubqueryId, Table, TableId, TableKind, Tree};
use crate::expr::{Expr, ExprKind};

/// Calls what it is given for each of some expressions.
pub type EachExpr<'e> = dyn Fn(&mut dyn FnMut(&Expr)) + 'e;

/// A column of a table, of a group or of a set operation's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnRef {
    /// Whose.
    pub table: TableId,
    /// Which of its columns.
    pub column: usize,
}

impl Block {
    /// Calls `f` for each expression, those of its lateral tables included, constants of LIMIT aside.
    pub fn exprs(&self, f: &mut dyn FnMut(&Expr)) {
        self.own_exprs(f);
        self.laterals(&mut |q| q.exprs(f));
    }
    /// Calls `f` for each query of a lateral table.
    pub fn laterals(&self, f: &mut dyn FnMut(&Query)) {
        self.tables.iter().filter_map(Table::lateral).for_each(f);
    }
    /// Calls `f` for each expression but those of its lateral tables.
    pub fn own_exprs(&self, f: &mut dyn FnMut(&Expr)) {
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
    /// Calls `f` for each expression, those of its lateral tables included, with the right to change them.
    pub fn exprs_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        let laterals = self.tables.iter_mut().filter_map(Table::lateral_mut);
        laterals.for_each(|q| q.exprs_mut(f));
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
            Body::Set(u) => {
                u.arms.iter().for_each(|(q, _)| q.exprs(f));
                u.order.iter().for_each(|o| f(&o.expr));
            }
            Body::Values(rows) => rows.iter().flatten().for_each(f),
            Body::JsonTable(t) => t.input.exprs(f),
            Body::Windowed(w) => {
                w.input.exprs(f);
                w.function_exprs(f);
            }
            Body::Recursive(r) => {
                r.seed.exprs(f);
                r.steps.iter().for_each(|q| q.exprs(f));
            }
        }
    }
    /// The same with the right to change them.
    pub fn exprs_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match &mut self.body {
            Body::Block(b) => b.exprs_mut(f),
            Body::Set(u) => {
                u.arms.iter_mut().for_each(|(q, _)| q.exprs_mut(f));
                u.order.iter_mut().for_each(|o| f(&mut o.expr));
            }
            Body::Values(rows) => rows.iter_mut().flatten().for_each(f),
            Body::JsonTable(t) => t.input.exprs_mut(f),
            Body::Windowed(w) => {
                w.input.exprs_mut(f);
                w.function_exprs_mut(f);
            }
            Body::Recursive(r) => {
                r.seed.exprs_mut(f);
                r.steps.iter_mut().for_each(|q| q.exprs_mut(f));
            }
        }
    }
    /// Calls `f` for each table, group and set operation's row of it, its arms and its lateral tables.
    pub fn ids(&self, f: &mut dyn FnMut(TableId)) {
        match &self.body {
            Body::Block(b) => {
                b.laterals(&mut |q| q.ids(f));
                b.tables.iter().for_each(|t| f(t.id));
                b.group.iter().for_each(|g| f(g.id));
            }
            Body::Set(u) => {
                f(u.row);
                u.arms.iter().for_each(|(q, _)| q.ids(f));
            }
            Body::Values(_) => {}
            Body::JsonTable(t) => t.input.ids(f),
            Body::Windowed(w) => {
                f(w.row);
                w.input.ids(f);
            }
            Body::Recursive(r) => {
                r.seed.ids(f);
                r.steps.iter().for_each(|q| q.ids(f));
            }
        }
    }
    /// Calls `f` for each table that its blocks and its lateral tables read.
    pub fn tables(&self, f: &mut dyn FnMut(&Table)) {
        match &self.body {
            Body::Block(b) => {
                b.laterals(&mut |q| q.tables(f));
                b.tables.iter().for_each(f);
            }
            Body::Set(u) => u.arms.iter().for_each(|(q, _)| q.tables(f)),
            Body::Values(_) => {}
            Body::JsonTable(t) => t.input.tables(f),
            Body::Windowed(w) => w.input.tables(f),
            Body::Recursive(r) => {
                r.seed.tables(f);
                r.steps.iter().for_each(|q| q.tables(f));
            }
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

impl Ask {
    /// Whether it gives the same for the same rows.
    pub fn is_deterministic(&self) -> bool {
        !matches!(self, Ask::Call(f) if !f.deterministic)
    }
}

impl Arena {
    /// The subqueries in expressions, and those within them, each once. An alias of a block around may stand for one of that.
    fn within(&self, walk: &EachExpr<'_>) -> Vec<SubqueryId> {
        let mut found = Vec::new();
        let mut seen = vec![false; self.subqueries.len()];
        let mut note = |e: &Expr, found: &mut Vec<SubqueryId>| {
            e.subqueries(&mut |id| {
                if !std::mem::replace(&mut seen[id], true) {
                    found.push(id);
                }
            });
        };
        walk(&mut |e| note(e, &mut found));
        let mut at = 0;
        while at < found.len() {
            let q = &self.subqueries[found[at]].query;
            q.exprs(&mut |e| note(e, &mut found));
            at += 1;
        }
        found
    }

    /// The columns of the blocks around that a query reads, sorted.
    pub fn outer(&self, q: &Query) -> Vec<ColumnRef> {
        let mut own = Vec::new();
        let mut read = Vec::new();
        let mut take = |q: &Query| {
            q.ids(&mut |id| own.push(id));
            q.exprs(&mut |e| {
                e.columns(&mut |table, column| read.push(ColumnRef { table, column }))
            });
        };
        take(q);
        for id in self.within(&|f| q.exprs(f)) {
            take(&self.subqueries[id].query);
        }
        own.sort_unstable();
        read.retain(|c| own.binary_search(&c.table).is_err());
        read.sort_unstable();
        read.dedup();
        read
    }

    /// Whether the rows a query reads decide its rows, during a statement that assigns to variables or not.
    pub fn is_deterministic(&self, q: &Query, assigns: bool) -> bool {
        let mut fixed = true;
        let mut derived = Vec::new();
        let mut look = |q: &Query| {
            q.exprs(&mut |e| fixed &= e.is_deterministic(assigns));
            q.tables(&mut |t| {
                if let TableKind::Derived { derived: at, .. } = &t.kind {
                    derived.push(*at);
                }
            });
        };
        look(q);
        for id in self.within(&|f| q.exprs(f)) {
            look(&self.subqueries[id].query);
        }
        let called = self.within(&|f| q.exprs(f));
        fixed &= called
            .iter()
            .all(|id| self.subqueries[*id].ask.is_deterministic());
        fixed
            && derived
                .into_iter()
                .all(|at| self.is_deterministic(&self.derived[at].query, assigns))
    }

    /// Calls `f` for an expression and all expressions of subqueries in it, with the right to change them.
    pub fn deep_mut(&mut self, e: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
        f(e);
        for id in self.within(&|f| f(e)) {
            self.subqueries[id].query.exprs_mut(f);
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
