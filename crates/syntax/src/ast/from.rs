//! What FROM reads.

use super::DataType;
use super::expr::Expr;
use super::function::JsonOn;
use super::list::Items;
use super::literal::Literal;
use super::name::{Ident, ObjectName};
use super::query::Query;

/// An item of FROM: a table, or several joined.
#[derive(Clone, Debug, PartialEq)]
pub enum TableRef {
    /// A named table.
    Table(Box<TableFactor>),
    /// A derived table.
    Derived(Box<Derived>),
    /// JSON_TABLE.
    JsonTable(Box<JsonTable>),
    /// Joins, from left to right.
    Join(Box<Joins>),
    /// `(a, b JOIN c)`: a list in parentheses is a cross join.
    Parens(Box<Vec<TableRef>>),
    /// `{ OJ … }`.
    Odbc(Box<TableRef>),
}

/// A table by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFactor {
    /// Which.
    pub name: ObjectName,
    /// PARTITION (…).
    pub partitions: Items<Ident>,
    /// AS.
    pub alias: Option<Ident>,
    /// USE INDEX and the like.
    pub index_hints: Items<IndexHint>,
}

/// USE INDEX and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexHint {
    /// What to do with them.
    pub kind: IndexHintKind,
    /// For what.
    pub scope: IndexHintScope,
    /// The indexes, PRIMARY among them.
    pub indexes: Items<Ident>,
}

/// What an index hint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

/// What an index hint is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IndexHintScope {
    All,
    Join,
    OrderBy,
    GroupBy,
}

/// `[LATERAL] (query) AS alias (columns)`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Derived {
    pub lateral: bool,
    pub query: Query,
    pub alias: Option<Ident>,
    pub columns: Items<Ident>,
}

/// Tables joined from left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct Joins {
    /// The leftmost.
    pub first: TableRef,
    /// The others.
    pub rest: Vec<Join>,
}

/// A join with what stands right of it.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Join {
    pub kind: JoinKind,
    pub right: TableRef,
    pub on: Option<JoinOn>,
}

/// How tables are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum JoinKind {
    /// JOIN, INNER JOIN.
    Inner,
    /// CROSS JOIN; in MySQL the same.
    Cross,
    Left,
    Right,
    /// NATURAL [INNER] JOIN.
    Natural,
    NaturalLeft,
    NaturalRight,
    Straight,
}

/// A join's condition.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum JoinOn {
    On(Expr),
    Using(Items<Ident>),
}

/// JSON_TABLE(document, path COLUMNS (…)) AS alias. Paths are texts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct JsonTable {
    pub document: Expr,
    pub path: Literal,
    pub columns: Items<JsonColumn>,
    pub alias: Ident,
}

/// A column of JSON_TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonColumn {
    /// `name FOR ORDINALITY`.
    Ordinality(Ident),
    /// `name type [COLLATE c] [EXISTS] PATH path … ON EMPTY … ON ERROR`.
    Path {
        /// Its name.
        name: Ident,
        /// Its type.
        data_type: Box<DataType>,
        /// COLLATE.
        collation: Option<Ident>,
        /// EXISTS.
        exists: bool,
        /// Where in the document.
        path: Literal,
        /// ON EMPTY.
        on_empty: Option<JsonOn>,
        /// ON ERROR.
        on_error: Option<JsonOn>,
        /// ON ERROR was written before ON EMPTY.
        error_first: bool,
    },
    /// NESTED PATH path COLUMNS (…).
    Nested(Literal, Items<JsonColumn>),
}
