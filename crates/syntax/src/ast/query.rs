//! Queries.

use std::borrow::Cow;

use super::Direction;
use super::expr::Expr;
use super::from::TableRef;
use super::function::WindowSpec;
use super::list::{Held, Items, Rows};
use super::name::{Ident, ObjectName, Str};
use crate::span::Span;

/// A query expression: a body, and what is said of the whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// What gives the rows.
    pub body: QueryBody,
    /// WITH, ORDER BY, LIMIT, INTO and locks, if there are any.
    pub(crate) tail: Option<Box<QueryTail>>,
    /// Where.
    pub span: Span,
}

/// What may be said of a query as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryTail {
    /// WITH.
    pub with: Option<With>,
    /// ORDER BY.
    pub order_by: Items<OrderItem>,
    /// LIMIT.
    pub limit: Option<Limit>,
    /// INTO at the end.
    pub into: Option<Into>,
    /// FOR UPDATE and the like.
    pub locks: Items<Lock>,
}

/// No ORDER BY, no GROUP BY.
static UNORDERED: Items<OrderItem> = Items::EMPTY;
static NO_HINTS: Hints = Hints(None);
static UNLOCKED: Items<Lock> = Items::EMPTY;
static NO_WINDOWS: Items<NamedWindow> = Items::EMPTY;

impl Query {
    /// A query of a body and what is said of the whole.
    pub fn new(body: QueryBody, tail: QueryTail, span: Span) -> Query {
        let tail = (tail != QueryTail::default()).then(|| Box::new(tail));
        Query { body, tail, span }
    }
    /// What is said of the whole, if anything.
    pub fn tail(&self) -> Option<&QueryTail> {
        self.tail.as_deref()
    }
    /// WITH.
    pub fn with(&self) -> Option<&With> {
        self.tail.as_ref()?.with.as_ref()
    }
    /// ORDER BY.
    pub fn order_by(&self) -> &Items<OrderItem> {
        self.tail.as_ref().map_or(&UNORDERED, |t| &t.order_by)
    }
    /// LIMIT.
    pub fn limit(&self) -> Option<&Limit> {
        self.tail.as_ref()?.limit.as_ref()
    }
    /// INTO at the end.
    pub fn into_clause(&self) -> Option<&Into> {
        self.tail.as_ref()?.into.as_ref()
    }
    /// FOR UPDATE and the like.
    pub fn locks(&self) -> &Items<Lock> {
        self.tail.as_ref().map_or(&UNLOCKED, |t| &t.locks)
    }
}

/// What gives a query's rows.
#[derive(Clone, Debug)]
pub enum QueryBody {
    /// SELECT.
    Select(Box<Select>),
    /// UNION and the like.
    Set(Box<SetOperation>),
    /// A query in parentheses.
    Parens(Box<Query>),
    /// VALUES ROW(…), ….
    Values(Box<Rows>),
    /// TABLE t.
    Table(Box<ObjectName>),
    /// One of those above, without INTO, that is held as its text, since as a tree it would take far more ([`super::list`]). A
    /// statement's own query is none.
    Held(Box<Held<QueryBody>>),
}

impl QueryBody {
    /// The body as a tree: what [`QueryBody::Held`] holds.
    pub fn tree(&self) -> Cow<'_, QueryBody> {
        match self {
            QueryBody::Held(held) => Cow::Owned(held.get()),
            _ => Cow::Borrowed(self),
        }
    }
}

impl PartialEq for QueryBody {
    fn eq(&self, other: &QueryBody) -> bool {
        use QueryBody as B;
        match (&*self.tree(), &*other.tree()) {
            (B::Select(a), B::Select(b)) => a == b,
            (B::Set(a), B::Set(b)) => a == b,
            (B::Parens(a), B::Parens(b)) => a == b,
            (B::Values(a), B::Values(b)) => a == b,
            (B::Table(a), B::Table(b)) => a == b,
            _ => false,
        }
    }
}

/// `a UNION b EXCEPT c`, from left to right. INTERSECT binds closer: it is an operation of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct SetOperation {
    /// The first part.
    pub first: QueryBody,
    /// The others.
    pub rest: Items<SetPart>,
}

/// An operator of a [`SetOperation`] and what follows it.
#[derive(Clone, Debug, PartialEq)]
pub struct SetPart {
    /// Which.
    pub op: SetOp,
    /// ALL.
    pub all: bool,
    /// Its right side.
    pub body: QueryBody,
}

/// Operators between queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SetOp {
    Union,
    Intersect,
    Except,
}

/// WITH.
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// RECURSIVE.
    pub recursive: bool,
    /// Its queries.
    pub queries: Items<Cte>,
}

/// `name (columns) AS (query)`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Cte {
    pub name: Ident,
    pub columns: Items<Ident>,
    pub query: Query,
}

/// Words between SELECT and its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SelectOptions {
    /// DISTINCT or DISTINCTROW.
    pub distinct: bool,
    pub all: bool,
    pub high_priority: bool,
    pub straight_join: bool,
    pub small_result: bool,
    pub big_result: bool,
    pub buffer_result: bool,
    pub no_cache: bool,
    pub calc_found_rows: bool,
}

/// One SELECT.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// Words before the list.
    pub options: SelectOptions,
    /// The select list.
    pub items: Items<SelectItem>,
    /// FROM; FROM DUAL is none.
    pub from: Vec<TableRef>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// What is rarer, if there is any.
    pub(crate) more: Option<Box<SelectMore>>,
    /// Where.
    pub span: Span,
}

/// What is rarer in a SELECT.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelectMore {
    /// Optimizer hints.
    pub hints: Hints,
    /// INTO before FROM, or before what follows it.
    pub into: Option<Into>,
    /// FROM DUAL is written.
    pub dual: bool,
    /// GROUP BY.
    pub group_by: Items<OrderItem>,
    /// WITH ROLLUP.
    pub rollup: bool,
    /// HAVING.
    pub having: Option<Expr>,
    /// WINDOW.
    pub windows: Items<NamedWindow>,
}

impl Select {
    /// What is rarer, if there is any.
    pub fn more(&self) -> Option<&SelectMore> {
        self.more.as_deref()
    }
    /// Optimizer hints.
    pub fn hints(&self) -> &Hints {
        self.more.as_ref().map_or(&NO_HINTS, |m| &m.hints)
    }
    /// INTO before FROM.
    pub fn into_clause(&self) -> Option<&Into> {
        self.more.as_ref()?.into.as_ref()
    }
    /// GROUP BY.
    pub fn group_by(&self) -> &Items<OrderItem> {
        self.more.as_ref().map_or(&UNORDERED, |m| &m.group_by)
    }
    /// GROUP BY … WITH ROLLUP.
    pub fn rollup(&self) -> bool {
        self.more.as_ref().is_some_and(|m| m.rollup)
    }
    /// HAVING.
    pub fn having(&self) -> Option<&Expr> {
        self.more.as_ref()?.having.as_ref()
    }
    /// WINDOW.
    pub fn windows(&self) -> &Items<NamedWindow> {
        self.more.as_ref().map_or(&NO_WINDOWS, |m| &m.windows)
    }
}

/// An item of a select list.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectItem {
    /// `*`.
    Wildcard,
    /// `t.*`, `d.t.*`.
    TableWildcard(Box<ObjectName>),
    /// An expression.
    Expr {
        /// What.
        expr: Expr,
        /// AS.
        alias: Option<Box<Ident>>,
        /// The whole of its source text, parentheses and all, which is its heading.
        source: Span,
    },
}

/// `name AS (…)` of WINDOW.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct NamedWindow {
    pub name: Ident,
    pub spec: WindowSpec,
}

/// An expression and its direction: of ORDER BY, GROUP BY, PARTITION BY.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    /// By what.
    pub expr: Expr,
    /// ASC or DESC, if said.
    pub direction: Option<Direction>,
}

/// LIMIT.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// How many: a number, a placeholder, a routine's variable.
    pub count: Expr,
    /// After how many.
    pub offset: Option<Expr>,
}

/// INTO.
#[derive(Clone, Debug, PartialEq)]
pub enum Into {
    /// INTO OUTFILE.
    Outfile(Box<Outfile>),
    /// INTO DUMPFILE.
    Dumpfile(Box<str>),
    /// INTO @a, b: user variables, and a routine's.
    Variables(Items<IntoTarget>),
}

/// A variable that takes a value.
#[derive(Clone, Debug, PartialEq)]
pub enum IntoTarget {
    /// `@name`, without the `@`.
    User(Str),
    /// A routine's variable or parameter.
    Local(Ident),
}

/// INTO OUTFILE.
#[derive(Clone, Debug, PartialEq)]
pub struct Outfile {
    /// Where to.
    pub path: Box<str>,
    /// CHARACTER SET.
    pub charset: Option<Ident>,
    /// FIELDS and LINES.
    pub format: FileFormat,
}

/// FIELDS … LINES …, of files written and read. What isn't said is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct FileFormat {
    pub fields_terminated: Option<FileText>,
    pub fields_enclosed: Option<FileText>,
    pub enclosed_optionally: bool,
    pub fields_escaped: Option<FileText>,
    pub lines_starting: Option<FileText>,
    pub lines_terminated: Option<FileText>,
}

/// A text of [`FileFormat`]; hexadecimal and binary ones are bytes.
pub type FileText = Box<[u8]>;

/// FOR UPDATE and the like.
#[derive(Clone, Debug, PartialEq)]
pub struct Lock {
    /// How.
    pub strength: LockStrength,
    /// OF.
    pub tables: Items<ObjectName>,
    /// What if others hold a row.
    pub wait: LockWait,
    /// Whether it was written LOCK IN SHARE MODE.
    pub old_style: bool,
}

/// How rows are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LockStrength {
    Update,
    Share,
}

/// What happens at rows that others hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LockWait {
    Wait,
    Nowait,
    SkipLocked,
}

/// Optimizer hints, as the comment that they stand in.
#[derive(Clone, Debug, Default)]
pub struct Hints(pub(crate) Option<Box<HintText>>);

/// What stands between `/*+` and `*/`.
#[derive(Clone, Debug)]
pub(crate) struct HintText {
    pub text: Box<str>,
    pub start: u32,
}

impl PartialEq for Hints {
    fn eq(&self, other: &Hints) -> bool {
        self.iter().eq(other.iter())
    }
}

/// An optimizer hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Its name, in upper case.
    pub name: Str,
    /// What stands in its parentheses, as it was written; `None` without parentheses.
    pub args: Option<Box<str>>,
    /// Where.
    pub span: Span,
}
