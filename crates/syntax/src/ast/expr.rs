//! Expressions.
//!
//! An [`Expr`] takes 24 bytes and what it holds beyond that is boxed; chains of operators of one precedence are one node
//! ([`Chain`]), so that ten thousand terms do not nest.

use std::borrow::Cow;

use super::function::{Aggregate, Call, Special, WindowCall};
use super::list::{ExprList, Held};
use super::literal::{CollatedLiteral, Literal};
use super::name::{Ident, Str};
use super::query::Query;
use crate::span::Span;

/// An expression and where it stands.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where, without parentheses around it.
    pub span: Span,
}

impl Expr {
    /// An expression at a place.
    pub fn new(kind: ExprKind, span: Span) -> Expr {
        Expr { kind, span }
    }
    /// The expression as a tree: what [`ExprKind::Held`] holds.
    #[inline]
    pub fn tree(&self) -> Cow<'_, Expr> {
        match &self.kind {
            ExprKind::Held(held) => Cow::Owned(held.get()),
            _ => Cow::Borrowed(self),
        }
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.tree().kind == other.tree().kind
    }
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `c`, `t.c`, `d.t.c`.
    Column(ColumnRef),
    /// NULL.
    Null,
    /// TRUE, FALSE.
    Bool(bool),
    /// A whole number that 64 bits hold.
    Int(u64),
    /// Any other literal.
    Literal(Box<Literal>),
    /// The n-th placeholder, from 0.
    Param(u32),
    /// DEFAULT, where a value is assigned.
    Default,
    /// `*`, in COUNT(*).
    Star,
    /// `@name`.
    UserVariable(Box<Str>),
    /// `@@name`.
    SystemVariable(Box<SystemVariable>),
    /// `@name := value`.
    Assign(Box<Assign>),
    /// `- x` and its like.
    Unary(UnaryOp, Box<Expr>),
    /// Two operands.
    Binary(BinaryOp, Box<[Expr; 2]>),
    /// More than two operands, from left to right.
    Chain(Box<Chain>),
    /// `x IS [NOT] NULL`, `IS TRUE` and its like.
    Is(IsTest, Box<Expr>),
    /// `[NOT] LIKE … ESCAPE …`.
    Like(Box<Like>),
    /// `[NOT] BETWEEN`.
    Between(Box<Between>),
    /// `[NOT] IN (list)`.
    In(Box<InList>),
    /// `[NOT] IN (query)`.
    InQuery(Box<InQuery>),
    /// `x = ANY (query)` and its like.
    Quantified(Box<Quantified>),
    /// EXISTS (query).
    Exists(Box<Query>),
    /// (query).
    Subquery(Box<Query>),
    /// `(a, b)`, `ROW(a, b)`.
    Row(Box<ExprList>),
    /// `x COLLATE name`.
    Collate(Box<Collate>),
    /// CASE … END.
    Case(Box<Case>),
    /// A function whose arguments are a list.
    Call(Box<Call>),
    /// A function with a syntax of its own.
    Special(Box<Special>),
    /// COUNT, SUM and their like.
    Aggregate(Box<Aggregate>),
    /// RANK() OVER … and its like.
    Window(Box<WindowCall>),
    /// A text in a collation of its own: `_utf8mb4'x'`, `N'x'`.
    Introduced(Box<CollatedLiteral>),
    /// `{d '2020-01-01'}` of ODBC, and any other `{name expression}`.
    Odbc(Box<(Ident, Expr)>),
    /// One of those above that is held as its text, since as a tree it would take far more ([`super::list`]). No name, no literal
    /// and no row.
    Held(Box<Held<Expr>>),
}

impl ExprKind {
    /// Bytes that it takes beside itself, what is within that left aside.
    #[inline]
    pub(crate) fn boxed(&self) -> usize {
        match self {
            ExprKind::Column(ColumnRef(Column::Short { .. }))
            | ExprKind::Null
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Param(_)
            | ExprKind::Default
            | ExprKind::Star => 0,
            ExprKind::Column(ColumnRef(Column::Long(_))) => size_of::<LongColumn>(),
            ExprKind::Literal(l) => size_of::<Literal>() + l.len(),
            ExprKind::UserVariable(_) => size_of::<Str>(),
            ExprKind::SystemVariable(_) => size_of::<SystemVariable>(),
            ExprKind::Assign(_) => size_of::<Assign>(),
            ExprKind::Unary(..) | ExprKind::Is(..) => size_of::<Expr>(),
            ExprKind::Binary(..) => size_of::<[Expr; 2]>(),
            ExprKind::Chain(_) => size_of::<Chain>(),
            ExprKind::Like(_) => size_of::<Like>(),
            ExprKind::Between(_) => size_of::<Between>(),
            ExprKind::In(_) => size_of::<InList>(),
            ExprKind::InQuery(_) => size_of::<InQuery>(),
            ExprKind::Quantified(_) => size_of::<Quantified>(),
            ExprKind::Exists(_) | ExprKind::Subquery(_) => size_of::<Query>(),
            ExprKind::Row(_) => size_of::<ExprList>(),
            ExprKind::Collate(_) => size_of::<Collate>(),
            ExprKind::Case(_) => size_of::<Case>(),
            ExprKind::Call(_) => size_of::<Call>(),
            ExprKind::Special(_) => size_of::<Special>(),
            ExprKind::Aggregate(_) => size_of::<Aggregate>(),
            ExprKind::Window(_) => size_of::<WindowCall>(),
            ExprKind::Introduced(_) => size_of::<CollatedLiteral>(),
            ExprKind::Odbc(_) => size_of::<(Ident, Expr)>(),
            ExprKind::Held(_) => size_of::<Held<Expr>>(),
        }
    }
}

/// A column's name with what is said of its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRef(Column);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Column {
    /// A short name alone.
    Short { len: u8, bytes: [u8; 14] },
    /// Any other.
    Long(Box<LongColumn>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LongColumn {
    database: Option<Ident>,
    table: Option<Ident>,
    name: Str,
}

impl ColumnRef {
    /// A column's name.
    pub fn new(database: Option<Ident>, table: Option<Ident>, name: Str) -> ColumnRef {
        let text = name.as_str();
        if database.is_none() && table.is_none() && text.len() <= 14 {
            let mut bytes = [0; 14];
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            return ColumnRef(Column::Short {
                len: text.len() as u8,
                bytes,
            });
        }
        ColumnRef(Column::Long(Box::new(LongColumn {
            database,
            table,
            name,
        })))
    }
    /// The column's own name.
    pub fn name(&self) -> &str {
        match &self.0 {
            Column::Short { len, bytes } => {
                std::str::from_utf8(&bytes[..usize::from(*len)]).unwrap_or_default()
            }
            Column::Long(c) => &c.name,
        }
    }
    /// Its table, if said.
    pub fn table(&self) -> Option<&Ident> {
        match &self.0 {
            Column::Short { .. } => None,
            Column::Long(c) => c.table.as_ref(),
        }
    }
    /// Its database, if said.
    pub fn database(&self) -> Option<&Ident> {
        match &self.0 {
            Column::Short { .. } => None,
            Column::Long(c) => c.database.as_ref(),
        }
    }
}

/// Which of a variable's values is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableScope {
    /// `@@GLOBAL.`.
    Global,
    /// `@@SESSION.` or `@@LOCAL.`.
    Session,
    /// `@@PERSIST.`.
    Persist,
    /// `@@PERSIST_ONLY.`.
    PersistOnly,
}

/// `@@[scope.][component.]name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemVariable {
    /// Its scope, if said.
    pub scope: Option<VariableScope>,
    /// What stands before the dot: a component, a key cache's name, `DEFAULT`.
    pub component: Option<Ident>,
    /// Its name.
    pub name: Ident,
}

/// `@name := value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assign {
    /// The variable, without the `@`.
    pub name: Str,
    /// What it is set to.
    pub value: Expr,
}

/// Operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`.
    Minus,
    /// `+`.
    Plus,
    /// `~`.
    BitNot,
    /// `!`, and NOT with HIGH_NOT_PRECEDENCE.
    Bang,
    /// NOT.
    Not,
    /// BINARY.
    Binary,
}

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Or,
    Xor,
    And,
    Eq,
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// REGEXP, RLIKE.
    Regexp,
    NotRegexp,
    /// SOUNDS LIKE.
    SoundsLike,
    /// MEMBER OF.
    MemberOf,
    BitOr,
    BitAnd,
    Shl,
    Shr,
    Add,
    Sub,
    Mul,
    /// `/`.
    Div,
    /// DIV.
    IntDiv,
    /// `%`, MOD.
    Mod,
    BitXor,
    /// `||` with PIPES_AS_CONCAT, while it is parsed: the tree has a call of CONCAT.
    Concat,
    /// `->`.
    JsonExtract,
    /// `->>`.
    JsonUnquote,
}

/// `a op b op c …`, all of one precedence and all but the first kind of node left-associative.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The first operand.
    pub first: Expr,
    /// The others, two or more.
    pub rest: super::list::Items<Term>,
    /// The first operator.
    pub op: BinaryOp,
}

/// An operator of a chain and what follows it.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Term {
    pub op: BinaryOp,
    pub operand: Expr,
}

/// What IS asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsTest {
    /// IS NOT.
    pub negated: bool,
    /// What.
    pub what: IsWhat,
}

/// What IS asks, NOT left aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IsWhat {
    Null,
    True,
    False,
    Unknown,
}

/// `x [NOT] LIKE pattern [ESCAPE escape]`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Like {
    pub negated: bool,
    pub value: Expr,
    pub pattern: Expr,
    pub escape: Option<Expr>,
}

/// `x [NOT] BETWEEN low AND high`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Between {
    pub negated: bool,
    pub value: Expr,
    pub low: Expr,
    pub high: Expr,
}

/// `x [NOT] IN (list)`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct InList {
    pub negated: bool,
    pub value: Expr,
    pub list: ExprList,
}

/// `x [NOT] IN (query)`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct InQuery {
    pub negated: bool,
    pub value: Expr,
    pub query: Query,
}

/// `x op ANY (query)`, `x op ALL (query)`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Quantified {
    pub op: BinaryOp,
    /// ALL rather than ANY or SOME.
    pub all: bool,
    pub value: Expr,
    pub query: Query,
}

/// `x COLLATE name`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Collate {
    pub value: Expr,
    pub collation: Ident,
}

/// CASE.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What WHENs are compared with; conditions if there is none.
    pub operand: Option<Expr>,
    /// WHEN and THEN.
    pub whens: super::list::Items<(Expr, Expr)>,
    /// ELSE.
    pub otherwise: Option<Expr>,
}

/// A unit of INTERVAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}
