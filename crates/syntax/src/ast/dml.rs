//! Statements that read and write rows, other than queries.

use super::expr::Expr;
use super::from::TableRef;
use super::list::{ExprList, Items, Rows};
use super::name::{Ident, ObjectName};
use super::query::{Hints, Limit, OrderItem, Query, With};

/// LOW_PRIORITY and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Priority {
    Low,
    Delayed,
    High,
}

/// INSERT and REPLACE.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// REPLACE rather than INSERT.
    pub replace: bool,
    /// Optimizer hints.
    pub hints: Hints,
    /// LOW_PRIORITY and the like.
    pub priority: Option<Priority>,
    /// IGNORE.
    pub ignore: bool,
    /// Where to.
    pub table: ObjectName,
    /// PARTITION (…).
    pub partitions: Items<Ident>,
    /// The columns, if a list of them is written.
    pub columns: Option<Items<ColumnName>>,
    /// What.
    pub source: InsertSource,
    /// AS new (a, b).
    pub alias: Option<RowAlias>,
    /// ON DUPLICATE KEY UPDATE.
    pub on_duplicate: Items<Assignment>,
}

/// What is inserted.
#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    /// VALUES (…), (…).
    Values(Rows),
    /// SET a = 1, b = 2: [`Insert::columns`] are none.
    Set(Items<Assignment>),
    /// SELECT, TABLE, WITH, or VALUES ROW(…).
    Query(Box<Query>),
}

/// `c`, `t.c`, `d.t.c`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ColumnName {
    pub database: Option<Ident>,
    pub table: Option<Ident>,
    pub name: Ident,
}

/// AS new (a, b).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct RowAlias {
    pub name: Ident,
    pub columns: Items<Ident>,
}

/// `column = value`; the value may be DEFAULT.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Assignment {
    pub column: ColumnName,
    pub value: Expr,
}

/// UPDATE of one table or several.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// WITH.
    pub with: Option<With>,
    /// Optimizer hints.
    pub hints: Hints,
    /// LOW_PRIORITY.
    pub low_priority: bool,
    /// IGNORE.
    pub ignore: bool,
    /// What is read; one plain table is the single-table form.
    pub tables: Vec<TableRef>,
    /// SET.
    pub set: Items<Assignment>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY.
    pub order_by: Items<OrderItem>,
    /// LIMIT.
    pub limit: Option<Limit>,
}

/// DELETE from one table or several.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// WITH.
    pub with: Option<With>,
    /// Optimizer hints.
    pub hints: Hints,
    /// LOW_PRIORITY.
    pub low_priority: bool,
    /// QUICK.
    pub quick: bool,
    /// IGNORE.
    pub ignore: bool,
    /// From what.
    pub target: DeleteTarget,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY.
    pub order_by: Items<OrderItem>,
    /// LIMIT.
    pub limit: Option<Limit>,
}

/// What DELETE deletes from.
#[derive(Clone, Debug, PartialEq)]
pub enum DeleteTarget {
    /// FROM t [AS a] [PARTITION (…)].
    One {
        /// Which.
        table: ObjectName,
        /// AS.
        alias: Option<Ident>,
        /// PARTITION.
        partitions: Items<Ident>,
    },
    /// `DELETE a, b FROM …`, `DELETE FROM a, b USING …`.
    Several {
        /// Whether it is written with USING.
        using: bool,
        /// Whose rows are deleted.
        targets: Items<ObjectName>,
        /// What is read.
        from: Vec<TableRef>,
    },
}

/// DO.
#[derive(Clone, Debug, PartialEq)]
pub struct Do {
    /// What is computed, with aliases, which nothing reads.
    pub list: Items<(Expr, Option<Ident>)>,
}

/// CALL.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CallProcedure {
    pub name: ObjectName,
    /// Without parentheses there are none.
    pub args: ExprList,
}

/// EXPLAIN, DESCRIBE and DESC.
#[derive(Clone, Debug, PartialEq)]
pub enum Explain {
    /// Of a table's columns.
    Table {
        /// Which.
        table: ObjectName,
        /// Which column, or which columns as LIKE has it.
        column: Option<String>,
    },
    /// Of a statement's plan.
    Statement {
        /// ANALYZE.
        analyze: bool,
        /// EXTENDED or PARTITIONS, which MySQL 8 ignores.
        extended: bool,
        /// FORMAT, as it was written.
        format: Option<Ident>,
        /// INTO @variable.
        into: Option<super::name::Str>,
        /// FOR SCHEMA, FOR DATABASE.
        schema: Option<Ident>,
        /// The statement.
        statement: Box<super::Statement>,
    },
    /// Of what another connection runs.
    Connection {
        /// FORMAT.
        format: Option<Ident>,
        /// Its number.
        id: Expr,
    },
}
