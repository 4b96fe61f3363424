//! Query blocks: a SELECT with its clauses.

use std::sync::Arc;

use millpond_store::{LockMode, WaitPolicy};

use super::{DerivedId, Query, TableId};
use crate::env::VirtualTable;
use crate::expr::{AggregateSpec, Coercibility, Expr};
use crate::types::{Family, Schema, SqlType, Visibility};

/// A SELECT.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Its tables.
    pub tables: Vec<Table>,
    /// How they are joined; `None`: there are none.
    pub from: Option<Tree>,
    /// WHERE's conjuncts.
    pub filter: Vec<Expr>,
    /// Grouping.
    pub group: Option<Group>,
    /// HAVING's conjuncts.
    pub having: Vec<Expr>,
    /// The select list.
    pub select: Vec<Expr>,
    /// DISTINCT.
    pub distinct: bool,
    /// ORDER BY.
    pub order: Vec<OrderKey>,
    /// LIMIT.
    pub limit: Limit,
}

/// Grouping.
#[derive(Clone, Debug)]
pub struct Group {
    /// What the aggregates' results are columns of.
    pub id: TableId,
    /// GROUP BY; empty: one group.
    pub keys: Vec<Expr>,
    /// Whether there is a GROUP BY: without one there is one group, even of no rows.
    pub explicit: bool,
    /// WITH ROLLUP: of no rows there is one group too, whose keys are all rolled up.
    pub rolled: bool,
    /// Aggregates; the n-th's result is column n.
    pub aggregates: Vec<AggregateSpec>,
}

/// An ORDER BY item.
#[derive(Clone, Debug)]
pub struct OrderKey {
    /// What to sort by.
    pub expr: Expr,
    /// DESC.
    pub desc: bool,
}

/// LIMIT and OFFSET; constants.
#[derive(Clone, Debug, Default)]
pub struct Limit {
    /// LIMIT.
    pub count: Option<Expr>,
    /// OFFSET.
    pub offset: Option<Expr>,
}

impl Limit {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.count.is_none() && self.offset.is_none()
    }
}

/// A FROM clause.
#[derive(Clone, Debug)]
pub enum Tree {
    /// A table.
    Leaf(TableId),
    /// Inner, cross and comma joins.
    Inner {
        /// Operands.
        parts: Vec<Tree>,
        /// Conjuncts of ON and USING.
        on: Vec<Expr>,
        /// STRAIGHT_JOIN: in this order.
        straight: bool,
    },
    /// LEFT JOIN (a RIGHT JOIN with its sides swapped).
    Left {
        /// Kept side.
        left: Box<Tree>,
        /// Side that may be missing.
        right: Box<Tree>,
        /// Conjuncts of ON and USING.
        on: Vec<Expr>,
    },
    /// The rows of the left side that some row of the right side goes with, each once.
    Semi {
        /// Kept side.
        left: Box<Tree>,
        /// Side that is looked for; nothing outside of `on` reads it.
        right: Box<Tree>,
        /// Conjuncts.
        on: Vec<Expr>,
        /// The rows that no row of the right side goes with.
        anti: bool,
    },
}

/// Index hints of a table reference, by index position.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// USE INDEX: only these (`Some` of an empty list: none).
    pub only: Option<Vec<usize>>,
    /// IGNORE INDEX.
    pub ignore: Vec<usize>,
    /// FORCE INDEX: a scan of the table is the last resort.
    pub force: bool,
}

/// A table of a FROM clause.
#[derive(Clone, Debug)]
pub struct Table {
    /// What columns call it.
    pub id: TableId,
    /// Alias, or the table's name.
    pub name: String,
    /// Database; empty for derived tables.
    pub database: String,
    /// Name of the base table; empty for derived tables.
    pub table: String,
    /// What it is.
    pub kind: TableKind,
    /// Index hints.
    pub hints: Hints,
}

/// What a table of a FROM clause is.
#[derive(Clone, Debug)]
pub enum TableKind {
    /// A stored table.
    Stored {
        /// Position in [`super::PlanTable`].
        table: usize,
        /// Its schema.
        schema: Arc<Schema>,
        /// FOR UPDATE and the like.
        lock: Option<(LockMode, WaitPolicy)>,
        /// PARTITION (...): positions of partitions, ascending.
        partitions: Option<Arc<[usize]>>,
    },
    /// A derived table or CTE.
    Derived {
        /// Which.
        derived: DerivedId,
        /// Its columns.
        columns: Columns,
    },
    /// A table whose rows depend on tables before it in FROM, or on the blocks around: LATERAL, or a derived table in a subquery that
    /// reads the rows around that. It is joined after all that it reads and computed for each combination of their rows. A walk over
    /// the block's expressions ([`Block::exprs`]) comes by those of the query, and one over its tables by the tables there.
    Lateral {
        /// What its rows are.
        query: Box<Query>,
        /// Its columns.
        columns: Columns,
    },
    /// A table computed on demand.
    Virtual(VirtualRef),
    /// A row that is there already: of a UNION, of an INSERT.
    Row(Columns),
}

/// Columns of a derived table.
pub type Columns = Vec<DerivedColumn>;

/// A column of a derived table.
#[derive(Clone, Debug)]
pub struct DerivedColumn {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// How firmly it holds to its collation.
    pub hold: Coercibility,
}

/// A virtual table (which cannot print itself).
#[derive(Clone)]
pub struct VirtualRef(pub Arc<dyn VirtualTable>);

impl std::fmt::Debug for VirtualRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

impl Table {
    /// A row that is there already.
    pub fn row(id: TableId, name: String, columns: Columns) -> Table {
        Table {
            id,
            name,
            database: String::new(),
            table: String::new(),
            kind: TableKind::Row(columns),
            hints: Hints::default(),
        }
    }
    /// Name, type and nullability of a column.
    pub fn column(&self, at: usize) -> (&str, &SqlType, bool) {
        match &self.kind {
            TableKind::Stored { schema, .. } => {
                let c = &schema.columns[at];
                (&c.name, &c.ty, c.nullable)
            }
            TableKind::Derived { columns, .. }
            | TableKind::Lateral { columns, .. }
            | TableKind::Row(columns) => {
                let c = &columns[at];
                (&c.name, &c.ty, c.nullable)
            }
            TableKind::Virtual(table) => {
                let c = &table.0.columns()[at];
                (c.name, &c.ty, c.nullable)
            }
        }
    }
    /// How firmly a column holds to its collation.
    pub fn hold(&self, at: usize) -> Coercibility {
        match &self.kind {
            TableKind::Stored { .. } => Coercibility::Implicit,
            TableKind::Derived { columns, .. }
            | TableKind::Lateral { columns, .. }
            | TableKind::Row(columns) => columns[at].hold,
            TableKind::Virtual(_) => Coercibility::Listed,
        }
    }
    /// Whether `*` has a column.
    pub fn shows(&self, at: usize) -> bool {
        match &self.kind {
            TableKind::Stored { schema, .. } => {
                schema.columns[at].visibility == Visibility::Visible
            }
            _ => true,
        }
    }
    /// Whether no name finds a column.
    pub fn hides(&self, at: usize) -> bool {
        match &self.kind {
            TableKind::Stored { schema, .. } => schema.columns[at].visibility == Visibility::Hidden,
            _ => false,
        }
    }
    /// Number of columns.
    pub fn columns(&self) -> usize {
        match &self.kind {
            TableKind::Stored { schema, .. } => schema.columns.len(),
            TableKind::Derived { columns, .. }
            | TableKind::Lateral { columns, .. }
            | TableKind::Row(columns) => columns.len(),
            TableKind::Virtual(table) => table.0.columns().len(),
        }
    }
    /// Position of a column by name.
    pub fn find(&self, name: &str) -> Option<usize> {
        let named = |c: &usize| self.column(*c).0.eq_ignore_ascii_case(name);
        (0..self.columns()).find(|c| named(c) && !self.hides(*c))
    }
    /// Position of the column that `_rowid` stands for: the integer that is all of the primary key, or of the first unique key that can't
    /// be NULL where there is none.
    pub fn row_id(&self) -> Option<usize> {
        let TableKind::Stored { schema, .. } = &self.kind else {
            return None;
        };
        let [part] = &*schema.indexes.first()?.parts else {
            return None;
        };
        let integer = schema.columns[part.column].ty.family() == Family::Integer;
        integer.then_some(part.column)
    }
    /// The query that its rows depend on other tables by, if they do.
    pub fn lateral(&self) -> Option<&Query> {
        match &self.kind {
            TableKind::Lateral { query, .. } => Some(query),
            _ => None,
        }
    }
    /// The same with the right to change it.
    pub fn lateral_mut(&mut self) -> Option<&mut Query> {
        match &mut self.kind {
            TableKind::Lateral { query, .. } => Some(query),
            _ => None,
        }
    }
    /// The locks that its rows are read with, for a stored table.
    pub fn lock_mut(&mut self) -> Option<&mut Option<(LockMode, WaitPolicy)>> {
        match &mut self.kind {
            TableKind::Stored { lock, .. } => Some(lock),
            _ => None,
        }
    }
}

impl Tree {
    /// Calls `f` for each table.
    pub fn leaves(&self, f: &mut dyn FnMut(TableId)) {
        match self {
            Tree::Leaf(id) => f(*id),
            Tree::Inner { parts, .. } => parts.iter().for_each(|p| p.leaves(f)),
            Tree::Left { left, right, .. } | Tree::Semi { left, right, .. } => {
                left.leaves(f);
                right.leaves(f);
            }
        }
    }
    /// Calls `f` for each conjunct of an ON.
    pub fn conditions(&self, f: &mut dyn FnMut(&Expr)) {
        match self {
            Tree::Leaf(_) => {}
            Tree::Inner { parts, on, .. } => {
                parts.iter().for_each(|p| p.conditions(f));
                on.iter().for_each(f);
            }
            Tree::Left { left, right, on }
            | Tree::Semi {
                left, right, on, ..
            } => {
                left.conditions(f);
                right.conditions(f);
                on.iter().for_each(f);
            }
        }
    }
    /// The same with the right to change them.
    pub fn conditions_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Tree::Leaf(_) => {}
            Tree::Inner { parts, on, .. } => {
                parts.iter_mut().for_each(|p| p.conditions_mut(f));
                on.iter_mut().for_each(f);
            }
            Tree::Left { left, right, on }
            | Tree::Semi {
                left, right, on, ..
            } => {
                left.conditions_mut(f);
                right.conditions_mut(f);
                on.iter_mut().for_each(f);
            }
        }
    }
}
