//! What a statement means, before anything is decided about how it runs: query blocks with their join trees, set operations,
//! subqueries and derived tables, all names resolved and all types known.
//!
//! It owns the logical plan's data, walks over it, copies of it and its printed form. It promises that every table of a FROM
//! clause, every block's group and every set operation's row has a [`TableId`] of its own within the statement, so that blocks can
//! be merged and expressions moved without renumbering. It never knows of access paths, join orders or transactions, and of the
//! store no more than which tables are meant and how many rows they have.
//!
//! **Lateral tables.** A table expression may depend on tables before it in FROM and on the blocks around. [`TableKind::Lateral`] is one
//! whose rows a query says. So is a table function: its rows are a query's body ([`Body::JsonTable`]), of a lateral table if it reads
//! others, else of a derived one. Its physical form says in `SourceKind::reads` which columns it reads; joins put it after those.
//!
//! | file | owns |
//! |---|---|
//! | `block` | query blocks and join trees |
//! | `dml` | INSERT, UPDATE and DELETE around them |
//! | `files` | the files of statements that write or read such |
//! | `table` | the stored tables, with what is known of their rows |
//! | `notes` | what was taken for granted of session and parameters |
//! | `equal` | sets of columns that conditions say are equal |
//! | `walk` | what is read where |
//! | `print` | the tree as text, for tests and for those who look into a plan |

mod block;
mod dml;
mod equal;
mod files;
mod notes;
mod print;
mod table;
mod walk;

pub use block::{Block, Group, Hints, Limit, OrderKey, Table, TableKind, Tree};
pub use block::{Columns, DerivedColumn, VirtualRef};
pub use dml::column_count;
pub use dml::{
    Assignments, Carried, Delete, Given, Insert, InsertRows, Root, Several, Target, Through, Update,
};
pub use equal::EqualColumns;
pub use files::{IntoFile, LoadFile, LoadTarget};
pub use notes::Notes;
pub use table::{OUTGROWN_ROWS, PlanTable};
pub use walk::{ColumnRef, EachExpr};

use std::sync::Arc;

use crate::catalog::View;
use crate::env::StoredFunction;
use crate::expr::json_table::JsonRows;
use crate::expr::{CompareOp, Expr, RowTest, WindowFunction};
use crate::fulltext::Mode;
use crate::parse::ast::ViewAlgorithm;
use crate::types::{Collation, SqlType};

/// Which table reference, group or row of a set operation, within a statement. `ExprKind::Column` has it as its source.
pub type TableId = usize;
/// Position in [`Arena::derived`].
pub type DerivedId = usize;
/// Position in [`Arena::subqueries`].
pub type SubqueryId = usize;

/// A whole query.
#[derive(Clone, Debug)]
pub struct Query {
    /// What makes the rows.
    pub body: Body,
    /// Types of the columns.
    pub types: Vec<SqlType>,
    /// SQL_CALC_FOUND_ROWS.
    pub calc_found_rows: bool,
}

impl Default for Query {
    /// No rows.
    fn default() -> Query {
        Query {
            body: Body::Values(Vec::new()),
            types: Vec::new(),
            calc_found_rows: false,
        }
    }
}

/// What makes a query's rows.
#[derive(Clone, Debug)]
pub enum Body {
    /// A SELECT.
    Block(Box<Block>),
    /// UNION, INTERSECT, EXCEPT, and ORDER BY or LIMIT around a parenthesised query.
    Set(Box<SetOperation>),
    /// VALUES ROW(...), ...
    Values(Vec<Vec<Expr>>),
    /// A query of WITH RECURSIVE.
    Recursive(Box<Recursive>),
    /// Window functions over another query's rows.
    Windowed(Box<Windowed>),
    /// The rows of JSON_TABLE.
    JsonTable(Box<JsonTable>),
}

/// JSON_TABLE: a derived table's query. Its document is the one value of another query, so that it may read the rows around and ask
/// subqueries as any SELECT does.
#[derive(Clone, Debug)]
pub struct JsonTable {
    /// The document.
    pub input: Query,
    /// The rows that it makes.
    pub rows: Arc<JsonRows>,
}

/// Window functions over a query's rows: a derived table's query. Its columns are the functions' results, then those of the input.
#[derive(Clone, Debug)]
pub struct Windowed {
    /// The rows.
    pub input: Query,
    /// What the functions' expressions read: the row put out.
    pub row: TableId,
    /// The windows, in the order in which they are worked on.
    pub windows: Vec<Window>,
}

/// A window with its functions.
#[derive(Clone, Debug)]
pub struct Window {
    /// PARTITION BY: columns of the row put out.
    pub partition: Vec<usize>,
    /// ORDER BY: columns of the row put out, descending.
    pub order: Vec<(usize, bool)>,
    /// Which column its result is, and the function.
    pub functions: Vec<(usize, WindowFunction)>,
}

impl Windowed {
    /// Calls `f` for each expression of its functions.
    pub fn function_exprs(&self, f: &mut dyn FnMut(&Expr)) {
        let functions = self.windows.iter().flat_map(|w| &w.functions);
        functions.for_each(|(_, function)| function.exprs(f));
    }
    /// The same with the right to change them.
    pub fn function_exprs_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        let functions = self.windows.iter_mut().flat_map(|w| &mut w.functions);
        functions.for_each(|(_, function)| function.exprs_mut(f));
    }
}

/// A query that reads its own rows. Its types are the seed's; it is a derived table's.
#[derive(Clone, Debug)]
pub struct Recursive {
    /// The first rows.
    pub seed: Query,
    /// What makes more of them.
    pub steps: Vec<Query>,
    /// UNION DISTINCT: rows that were there before are left out.
    pub distinct: bool,
    /// The derived table, without a query of its own, that the steps read: the rows of the iteration before.
    pub working: DerivedId,
    /// Names of the columns, for messages.
    pub names: Vec<String>,
    /// LIMIT.
    pub limit: Limit,
}

/// An operator between queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetOp {
    /// The rows of all.
    #[default]
    Union,
    /// The rows that two have in common.
    Intersect,
    /// The rows of the first that are not in the second.
    Except,
}

/// UNION: its arms from left to right. Or INTERSECT or EXCEPT of two.
#[derive(Clone, Debug)]
pub struct SetOperation {
    /// Which.
    pub op: SetOp,
    /// The queries; `true`: DISTINCT. Of a UNION, rows equal to earlier ones so far are left out then.
    pub arms: Vec<(Query, bool)>,
    /// What ORDER BY reads: the row put out.
    pub row: TableId,
    /// ORDER BY.
    pub order: Vec<OrderKey>,
    /// LIMIT.
    pub limit: Limit,
}

/// A derived table, WITH query or view. It reads nothing of the blocks around; one that does is a [`TableKind::Lateral`].
#[derive(Clone, Debug)]
pub struct Derived {
    /// Its query.
    pub query: Query,
    /// How many times it is read from.
    pub uses: usize,
    /// The view that it is, if it is one.
    pub view: Option<Arc<View>>,
}

impl Derived {
    /// A derived table or WITH query that is read from so many times.
    pub fn of(query: Query, uses: usize) -> Derived {
        Derived {
            query,
            uses,
            view: None,
        }
    }
    /// Whether its rows are to be made before they are read, whatever could be done instead.
    pub fn is_apart(&self) -> bool {
        let view = self.view.as_ref();
        view.is_some_and(|v| v.algorithm == ViewAlgorithm::TempTable)
    }
}

/// A subquery in an expression. What it is compared with are the operands of `ExprKind::Subquery`.
#[derive(Clone, Debug)]
pub struct Subquery {
    /// Its query.
    pub query: Query,
    /// What is asked of it.
    pub ask: Ask,
    /// An EXISTS that is asked as IN is, see [`crate::rewrite`]: NULL is as good as false then.
    pub exists: bool,
}

/// A FULLTEXT search.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// Position of the table among the statement's.
    pub table: usize,
    /// Position of its index.
    pub index: usize,
    /// How the search is meant.
    pub mode: Mode,
}

/// What is asked of a subquery.
#[derive(Clone, Debug)]
pub enum Ask {
    /// Its one value.
    Scalar,
    /// What a stored function makes of its one row, the arguments.
    Call(Arc<StoredFunction>),
    /// A FULLTEXT search for the one value of its one row, ready to be held against rows ([`crate::fulltext::Query`]).
    Fulltext(Search),
    /// Whether it has rows.
    Exists {
        /// NOT EXISTS.
        negated: bool,
    },
    /// Whether the operand is among its values.
    In {
        /// NOT IN.
        negated: bool,
        /// Collation of strings.
        collation: Collation,
    },
    /// How the operands compare with its row, or whether they are among its rows.
    Row {
        /// What is asked of the two.
        test: RowTest,
        /// Collation of strings, by column.
        collations: Vec<Collation>,
    },
    /// How the operand compares with any or all of its values.
    Quantified {
        /// Operator.
        op: CompareOp,
        /// ALL.
        all: bool,
        /// Collation of strings.
        collation: Collation,
    },
}

/// The queries of a statement that stand within others, which name them by position, and the numbers given out.
#[derive(Clone, Debug, Default)]
pub struct Arena {
    /// Derived tables.
    pub derived: Vec<Derived>,
    /// Subqueries in expressions.
    pub subqueries: Vec<Subquery>,
    tables: usize,
}

impl Arena {
    /// A new table id.
    pub fn table_id(&mut self) -> TableId {
        self.tables += 1;
        self.tables - 1
    }
    /// How many table ids there are.
    pub fn tables(&self) -> usize {
        self.tables
    }
}
