//! Statements that write, as far as they are queries: which rows, and what their columns are given.

use std::sync::Arc;

use super::files::LoadFile;
use super::{Block, Query, TableId};
use crate::error::SqlError;
use crate::expr::Expr;

/// What a statement is.
#[derive(Debug)]
pub enum Root {
    /// Returns rows.
    Query(Query),
    /// Evaluates and forgets.
    Do(Query),
    /// INSERT, REPLACE.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// UPDATE, DELETE of several tables.
    Several(Box<Several>),
}

/// What an assignment or a VALUES item gives a column.
#[derive(Debug)]
pub enum Given<E> {
    /// DEFAULT.
    Default,
    /// A value.
    Value {
        /// The expression.
        value: E,
        /// Whether it reads the row being made: what earlier items have set, in an INSERT also what has no value yet.
        reads_new: bool,
    },
}

/// What a statement sets: (column, value), in order.
pub type Assignments<E> = Vec<(usize, Given<E>)>;

/// INSERT and REPLACE.
#[derive(Debug)]
pub struct Insert {
    /// Position in [`super::PlanTable`].
    pub table: usize,
    /// The row being made; for ON DUPLICATE KEY UPDATE the old row.
    pub row: TableId,
    /// For ON DUPLICATE KEY UPDATE the row that was to be inserted, and the tables selected from.
    pub others_read: Vec<TableId>,
    /// Columns given, in the order of the values.
    pub columns: Vec<usize>,
    /// Where the rows come from.
    pub rows: InsertRows,
    /// REPLACE.
    pub replace: bool,
    /// IGNORE.
    pub ignore: bool,
    /// ON DUPLICATE KEY UPDATE: (column, value).
    pub update: Option<Assignments<Expr>>,
    /// What ON DUPLICATE KEY UPDATE reads of the tables selected from.
    pub carried: Carried,
    /// PARTITION (...): positions of the partitions that rows may go to.
    pub partitions: Option<Arc<[usize]>>,
    /// The view that it writes through.
    pub through: Option<Through>,
}

/// What is asked of rows that are written through a view.
#[derive(Debug)]
pub struct Through {
    /// Database and name of the view.
    pub view: (String, String),
    /// WITH CHECK OPTION: conditions that hold for each row.
    pub check: Vec<Expr>,
    /// The tables below the view, which they read.
    pub tables: Vec<TableId>,
}

/// Where an INSERT's rows come from.
#[derive(Debug)]
pub enum InsertRows {
    /// VALUES.
    Values(Vec<Vec<Given<Expr>>>),
    /// SELECT; `buffered`: it reads the table inserted into.
    Query {
        /// The query.
        query: Query,
        /// Read to its end first.
        buffered: bool,
    },
    /// LOAD DATA.
    File(Box<LoadFile<Expr>>),
}

/// UPDATE of one table.
#[derive(Debug)]
pub struct Update {
    /// Position in [`super::PlanTable`].
    pub table: usize,
    /// Finds the rows; its select list is what the values read.
    pub find: Block,
    /// (column, value), in order.
    pub set: Assignments<Expr>,
    /// Whether rows may move to a partition that the scan has yet to come to.
    pub moves_partitions: bool,
    /// IGNORE.
    pub ignore: bool,
    /// The view that it writes through.
    pub through: Option<Through>,
}

/// DELETE from one table.
#[derive(Debug)]
pub struct Delete {
    /// Position in [`super::PlanTable`].
    pub table: usize,
    /// Finds the rows.
    pub find: Block,
    /// IGNORE.
    pub ignore: bool,
}

/// UPDATE and DELETE of several tables.
#[derive(Debug)]
pub struct Several {
    /// Finds the rows; its select list is what the values read.
    pub find: Block,
    /// The tables changed.
    pub targets: Vec<Target>,
    /// DELETE.
    pub deletes: bool,
    /// IGNORE.
    pub ignore: bool,
}

/// One of the tables changed.
#[derive(Debug)]
pub struct Target {
    /// Which of the block.
    pub id: TableId,
    /// Position in [`super::PlanTable`].
    pub table: usize,
    /// What UPDATE sets.
    pub set: Assignments<Expr>,
    /// The view that it writes through.
    pub through: Option<Through>,
}

impl Root {
    /// Calls `f` for each query it is made of.
    pub fn queries_mut(&mut self, f: &mut dyn FnMut(&mut Query)) {
        match self {
            Root::Query(q) | Root::Do(q) => f(q),
            Root::Insert(i) => {
                if let InsertRows::Query { query, .. } = &mut i.rows {
                    f(query);
                }
            }
            Root::Update(_) | Root::Delete(_) | Root::Several(_) => {}
        }
    }
    /// The block that finds the rows to change, if it is an UPDATE or DELETE.
    pub fn find_mut(&mut self) -> Option<&mut Block> {
        match self {
            Root::Update(u) => Some(&mut u.find),
            Root::Delete(d) => Some(&mut d.find),
            Root::Several(s) => Some(&mut s.find),
            Root::Query(_) | Root::Do(_) | Root::Insert(_) => None,
        }
    }
    /// Calls `f` for each of its expressions, those within derived tables and subqueries aside.
    pub fn exprs_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.queries_mut(&mut |q| q.exprs_mut(f));
        if let Some(find) = self.find_mut() {
            find.exprs_mut(f);
        }
        let throughs: Vec<&mut Through> = match self {
            Root::Insert(i) => i.through.iter_mut().collect(),
            Root::Update(u) => u.through.iter_mut().collect(),
            Root::Several(s) => s.targets.iter_mut().flat_map(|t| &mut t.through).collect(),
            Root::Query(_) | Root::Do(_) | Root::Delete(_) => Vec::new(),
        };
        throughs
            .into_iter()
            .for_each(|t| t.check.iter_mut().for_each(&mut *f));
        let mut one = |g: &mut Given<Expr>| {
            if let Given::Value { value, .. } = g {
                f(value);
            }
        };
        match self {
            Root::Insert(i) => {
                match &mut i.rows {
                    InsertRows::Values(rows) => rows.iter_mut().flatten().for_each(&mut one),
                    InsertRows::File(file) => file.set.iter_mut().for_each(|(_, g)| one(g)),
                    InsertRows::Query { .. } => {}
                }
                let update = i.update.iter_mut().flatten();
                update.for_each(|(_, g)| one(g));
            }
            Root::Update(u) => u.set.iter_mut().for_each(|(_, g)| one(g)),
            Root::Several(s) => {
                let set = s.targets.iter_mut().flat_map(|t| &mut t.set);
                set.for_each(|(_, g)| one(g));
            }
            Root::Query(_) | Root::Do(_) | Root::Delete(_) => {}
        }
    }
}

/// Columns of the tables selected from that follow the columns to insert, for ON DUPLICATE KEY UPDATE.
#[derive(Debug, Default)]
pub struct Carried {
    /// For each table its number of columns.
    pub widths: Vec<usize>,
    /// (table, column), in the order of the query's last columns.
    pub columns: Vec<(usize, usize)>,
}

/// 1136.
pub fn column_count(row: u64) -> SqlError {
    SqlError::new(
        1136,
        format!("Column count doesn't match value count at row {row}"),
    )
}
