//! The plans of INSERT, REPLACE, UPDATE and DELETE.

use std::sync::Arc;

use super::nodes::{Block, ExprWithSubqueries, Query, Subquery};
use crate::logical::{self, Carried};

/// LOAD DATA.
pub type LoadFile = logical::LoadFile<ExprWithSubqueries>;

/// What an assignment or a VALUES item gives a column.
pub type Given = logical::Given<ExprWithSubqueries>;
/// What a statement sets: (column, value), in order.
pub type Assignments = logical::Assignments<ExprWithSubqueries>;

/// INSERT and REPLACE. Source 0 is the row being made (for ON DUPLICATE KEY UPDATE the old row, and
/// source 1 the row that was to be inserted).
#[derive(Debug)]
pub struct Insert {
    /// Position in [`super::Plan::tables`].
    pub table: usize,
    /// Columns given, in the order of the values.
    pub columns: Vec<usize>,
    /// Where the rows come from.
    pub rows: InsertRows,
    /// REPLACE.
    pub replace: bool,
    /// IGNORE.
    pub ignore: bool,
    /// ON DUPLICATE KEY UPDATE: (column, value).
    pub update: Option<Assignments>,
    /// What ON DUPLICATE KEY UPDATE reads of the tables selected from, which are sources 2 and so on.
    pub carried: Carried,
    /// Subqueries of VALUES and ON DUPLICATE KEY UPDATE, all run once; their values are the source after the next of the
    /// last of those above.
    pub subqueries: Vec<Subquery>,
    /// The table's AUTO_INCREMENT column.
    pub auto: Option<usize>,
    /// The rest of the columns: those that the statement does not name.
    pub others: Vec<usize>,
    /// PARTITION (...): positions of the partitions that rows may go to.
    pub partitions: Option<Arc<[usize]>>,
    /// The view that it writes through. What is asked of rows reads source 0.
    pub through: Option<Through>,
}

/// What is asked of rows that are written through a view.
#[derive(Debug)]
pub struct Through {
    /// Database and name of the view.
    pub view: (String, String),
    /// WITH CHECK OPTION: a row of conditions, over the row as it is to be.
    pub check: Option<Query>,
    /// Sources that it reads.
    pub sources: usize,
}

/// Where an INSERT's rows come from.
#[derive(Debug)]
pub enum InsertRows {
    /// VALUES.
    Values(Vec<Vec<Given>>),
    /// SELECT; `buffered`: it reads the table inserted into.
    Query {
        /// The query.
        query: Query,
        /// Read to its end first.
        buffered: bool,
    },
    /// LOAD DATA. Its subqueries are run for each row.
    File(Box<LoadFile>),
}

/// UPDATE of one table, and how its rows are found.
#[derive(Debug)]
pub struct Update {
    /// Position in [`super::Plan::tables`].
    pub table: usize,
    /// Finds the rows: one level, no grouping; its select list is empty.
    pub find: Block,
    /// (column, value), in order.
    pub set: Assignments,
    /// The scan might meet changed rows again: find all first.
    pub collect: bool,
    /// IGNORE.
    pub ignore: bool,
    /// The view that it writes through.
    pub through: Option<Through>,
}

/// DELETE from one table.
#[derive(Debug)]
pub struct Delete {
    /// Position in [`super::Plan::tables`].
    pub table: usize,
    /// Finds the rows.
    pub find: Block,
    /// IGNORE.
    pub ignore: bool,
}

/// A statement that changes several tables.
#[derive(Debug)]
pub struct MultiTableDml {
    /// Finds the rows; its select list is of no use but to say which columns are read.
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
    /// Its source in the join.
    pub source: usize,
    /// Position in [`super::Plan::tables`].
    pub table: usize,
    /// What UPDATE sets.
    pub set: Assignments,
    /// The view that it writes through.
    pub through: Option<Through>,
}
