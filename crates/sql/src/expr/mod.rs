//! Bound, typed expressions: evaluation without allocation where the value allows it.

pub mod aggregate;
pub mod bind;
mod collect;
mod display;
mod distinct;
mod eval;
mod func;
pub mod interval;
pub mod json_table;
pub(crate) mod kinds;
mod like;
mod list;
mod operators;
mod origin;
pub(crate) mod param;
mod term;
mod time_format;
mod window;

use std::cmp::Ordering;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::env::SessionEnv;
use crate::error::SqlResult;
use crate::types::{BaseType, Collation, Schema, SqlType};
use crate::value::Value;

pub use aggregate::{Accumulator, AggregateKind, AggregateSpec};
pub use bind::coercion::Coercibility;
pub use bind::{RowTest, Scope, SubqueryKind, bind, is_condition};
pub use distinct::MemoryBudget;
pub(crate) use eval::bit_string;
pub use func::{Func, RandState, is_native};
pub(crate) use func::{json_argument, json_path, json_schema_refusal};
pub use interval::IntervalUnit;
pub use like::{Like, Regexp, pattern_prefix};
pub(crate) use like::{compile as compile_pattern, matches as like_matches};
pub use list::InList;
pub(crate) use operators::{
    arithmetic_of, compare as compare_values, number as number_of, text_number,
};
pub use term::Term;
pub use window::{Frame, FrameBound, WindowFunction, WindowKind};

pub use crate::types::derive::ArithmeticOp;

/// One source of an expression's columns.
#[derive(Clone, Copy, Debug)]
pub enum RowRef<'a> {
    /// A stored row, decoded column by column on demand.
    Stored(&'a Schema, &'a [u8]),
    /// Values already computed (a derived row, aggregates, VALUES()).
    Values(&'a [Value<'a>]),
    /// The null-extended side of an outer join.
    Nulls,
    /// Values that are computed when they are asked for: those of subqueries, during one evaluation.
    Lazy(&'a dyn LazyValues),
}

/// Values that are computed when they are first asked for.
pub trait LazyValues: std::fmt::Debug {
    /// A column's value, or what went wrong when it was computed.
    fn value(&self, column: usize) -> SqlResult<Value<'_>>;
}

/// What evaluation reads.
#[derive(Clone, Copy)]
pub struct EvalContext<'a> {
    /// One entry per source of the FROM clause.
    pub rows: &'a [RowRef<'a>],
    /// Values of `?` placeholders.
    pub params: &'a [Value<'a>],
    /// The session: clock, variables, warnings.
    pub session: &'a SessionEnv,
}

/// The label of a column that has a subquery's values.
pub(crate) const SUBQUERY: &str = "subquery";

/// A bound expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Its static type.
    pub ty: SqlType,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// Of a constant that was computed once: what it was computed of, which messages show.
    pub(crate) folded: Option<Arc<Expr>>,
}

/// Forms of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant.
    Literal(Value<'static>),
    /// `0x41`, `b'101'`: a binary string, but a number where one is wanted.
    BitString(Value<'static>),
    /// Column `column` of `rows[source]`.
    Column {
        /// Position in [`EvalContext::rows`].
        source: usize,
        /// Position in the row.
        column: usize,
        /// Name for messages, qualified as MySQL prints it.
        label: Arc<str>,
        /// How firmly it holds to its collation.
        hold: Coercibility,
    },
    /// A `?` placeholder by position.
    Param(usize),
    /// A local variable of a stored program: its slot, its name.
    Local(usize, Arc<str>),
    /// `a op b`.
    Compare(CompareOp, Box<[Expr; 2]>, Collation),
    /// All of them (flattened).
    And(Vec<Expr>),
    /// Any of them (flattened).
    Or(Vec<Expr>),
    /// Exclusive or.
    Xor(Box<[Expr; 2]>),
    /// Not.
    Not(Box<Expr>),
    /// IS NULL.
    IsNull(Box<Expr>),
    /// IS NOT NULL.
    IsNotNull(Box<Expr>),
    /// IS TRUE / IS FALSE / IS NOT TRUE / IS NOT FALSE: (operand, asked truth, negated).
    IsTruth(Box<Expr>, bool, bool),
    /// `value [NOT] BETWEEN low AND high`.
    Between {
        /// value, low, high.
        args: Box<[Expr; 3]>,
        /// NOT.
        negated: bool,
        /// Collation for strings.
        collation: Collation,
    },
    /// `value [NOT] IN (list)`.
    InList(Box<InList>),
    /// A subquery that is not planned yet. Planning puts the column of its values in its place.
    Subquery {
        /// Which of the statement.
        id: usize,
        /// What it is compared with.
        operands: Vec<Expr>,
        /// How firmly its value holds to its collation.
        hold: Coercibility,
    },
    /// `a + b` and the like.
    Arithmetic(ArithmeticOp, Box<[Expr; 2]>),
    /// `-a`.
    Negate(Box<Expr>),
    /// `a & b` and the like, on 64 bits.
    Bit(BitOp, Box<[Expr; 2]>),
    /// `~a`.
    BitNot(Box<Expr>),
    /// `[NOT] LIKE`.
    Like(Box<Like>),
    /// `[NOT] REGEXP`.
    Regexp(Box<Regexp>),
    /// CASE and IF: the first branch whose condition is true, else the last expression, else NULL.
    Case(Vec<(Expr, Expr)>, Option<Box<Expr>>),
    /// CAST to the expression's type.
    Cast(Box<Expr>),
    /// The operand with another collation (the expression's type has it).
    Collate(Box<Expr>),
    /// A CHAR column with blanks to its full length (PAD_CHAR_TO_FULL_LENGTH).
    Padded(Box<Expr>),
    /// A date in NULLIF() or CASE, and what it is called where a text beside it is none; a CAST to DECIMAL, and what it is called where it
    /// is out of range.
    Named(Box<Expr>, Arc<str>),
    /// The number that a text made of a date or time is: that of the date or time.
    Moment(Box<Expr>),
    /// An ENUM's position, for arithmetic and comparisons with numbers.
    EnumIndex(Box<Expr>),
    /// An ENUM compared with a parameter: its position if that turns out to be a number, else its text.
    EnumBeside(Box<[Expr; 2]>),
    /// A placeholder beside something of this type, see [`crate::value::family::beside`].
    Beside(Box<Expr>, BaseType),
    /// A function of the catalogue.
    Function(Func, Vec<Expr>),
    /// `date + INTERVAL amount unit` (subtracted if the flag says so).
    DateAdd(Box<[Expr; 2]>, IntervalUnit, bool),
    /// TIMESTAMPDIFF(unit, from, to).
    TimestampDiff(Box<[Expr; 2]>, IntervalUnit),
    /// EXTRACT(unit FROM value); the function by the unit's name if the flag says so, `HOUR(value)`, which has no sign.
    Extract(Box<Expr>, IntervalUnit, bool),
    /// `@name`.
    UserVariable(Arc<str>),
    /// `@name := value`.
    SetUserVariable(Arc<str>, Box<Expr>),
    /// `@@scope.name`: (scope `session`, `global` or empty, name in lower case).
    SystemVariable(Arc<str>, Arc<str>),
    /// RAND(constant): a sequence per statement.
    SeededRand(Box<Expr>, Arc<Mutex<RandState>>),
}

/// Bit operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BitOp {
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// `<=>`
    NullSafeEq,
}

impl CompareOp {
    /// What the operator says of an order.
    #[inline]
    pub fn holds(self, o: Ordering) -> bool {
        match self {
            CompareOp::Eq | CompareOp::NullSafeEq => o.is_eq(),
            CompareOp::Ne => o.is_ne(),
            CompareOp::Lt => o.is_lt(),
            CompareOp::Le => o.is_le(),
            CompareOp::Gt => o.is_gt(),
            CompareOp::Ge => o.is_ge(),
        }
    }
    /// The operator with its sides exchanged: `a < b` is `b > a`.
    pub fn flipped(self) -> CompareOp {
        match self {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::Le => CompareOp::Ge,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::Ge => CompareOp::Le,
            other => other,
        }
    }
    /// Its SQL.
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Eq => "=",
            CompareOp::Ne => "<>",
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
            CompareOp::NullSafeEq => "<=>",
        }
    }
}

impl<'a> EvalContext<'a> {
    /// A column of a source; `None` if it is yet to be computed.
    #[inline]
    fn known(&self, source: usize, column: usize) -> Option<Value<'a>> {
        Some(match self.rows[source] {
            RowRef::Stored(schema, row) => {
                schema
                    .layout()
                    .column(schema, row, column, self.session.zone.get())
            }
            RowRef::Values(v) => v[column].borrowed(),
            RowRef::Nulls => Value::Null,
            RowRef::Lazy(_) => return None,
        })
    }

    /// A column of a source, computed if it is not known.
    fn column(&self, source: usize, column: usize) -> SqlResult<Value<'a>> {
        match self.rows[source] {
            RowRef::Lazy(values) => values.value(column),
            _ => Ok(self.known(source, column).unwrap_or(Value::Null)),
        }
    }
}

impl Expr {
    /// An expression of a kind. Of ZEROFILL only columns themselves show the zeros, and only what is chosen shows as it is.
    pub fn new(kind: ExprKind, mut ty: SqlType, nullable: bool) -> Expr {
        if ty.zerofill > 0 && !matches!(kind, ExprKind::Column { .. }) {
            ty = ty.computed();
        }
        ty.chosen = match kind {
            ExprKind::Case(..) => matches!(ty.base, BaseType::Decimal | BaseType::Year),
            ExprKind::Literal(_) => ty.chosen,
            _ => false,
        };
        Expr {
            kind,
            ty,
            nullable,
            folded: None,
        }
    }
    /// A constant of a type.
    pub fn literal(value: Value<'static>, ty: SqlType) -> Expr {
        let nullable = value.is_null();
        Expr::new(ExprKind::Literal(value), ty, nullable)
    }
    /// NULL.
    pub fn null() -> Expr {
        Expr::literal(Value::Null, SqlType::null())
    }
    /// A column.
    pub fn column(source: usize, column: usize, ty: SqlType, nullable: bool, label: &str) -> Expr {
        let kind = ExprKind::Column {
            source,
            column,
            label: Arc::from(label),
            hold: Coercibility::Implicit,
        };
        Expr::new(kind, ty, nullable)
    }
    /// The column, holding to its collation as firmly as what it stands for.
    pub(crate) fn held(mut self, firmly: Coercibility) -> Expr {
        if let ExprKind::Column { hold, .. } = &mut self.kind {
            *hold = firmly;
        }
        self
    }
    /// `a op b` with the collation that follows from both.
    pub fn compare(op: CompareOp, a: Expr, b: Expr) -> Expr {
        bind::compare(op, a, b)
    }
    /// Its static type.
    pub fn ty(&self) -> &SqlType {
        &self.ty
    }
    /// Whether it reads no column, subquery or anything that changes within a statement (parameters are constant).
    pub fn is_const(&self) -> bool {
        let mut constant = true;
        self.walk(&mut |e| {
            constant &= match &e.kind {
                ExprKind::Column { .. }
                | ExprKind::Subquery { .. }
                | ExprKind::UserVariable(_)
                | ExprKind::SetUserVariable(..)
                | ExprKind::SeededRand(..) => false,
                ExprKind::Function(f, _) => !f.is_volatile(),
                _ => true,
            }
        });
        constant
    }
    /// Whether it may differ between two rows although it reads nothing of them (`RAND()`, `@n := @n + 1`).
    pub fn is_volatile(&self) -> bool {
        let mut volatile = false;
        self.walk(&mut |e| {
            volatile |= match &e.kind {
                ExprKind::UserVariable(_)
                | ExprKind::SetUserVariable(..)
                | ExprKind::SeededRand(..) => true,
                ExprKind::Function(f, _) => f.is_volatile(),
                _ => false,
            }
        });
        volatile
    }
    /// Whether this node, whatever is below it, may have another value each time it is asked in a statement that assigns to variables
    /// or not.
    pub(crate) fn is_nondeterministic_itself(&self, assigns: bool) -> bool {
        match &self.kind {
            ExprKind::UserVariable(_) => assigns,
            ExprKind::SetUserVariable(..) | ExprKind::SeededRand(..) => true,
            // Without an argument it is what it was before the statement.
            ExprKind::Function(Func::LastInsertId, args) => !args.is_empty(),
            ExprKind::Function(f, _) => f.is_volatile(),
            _ => false,
        }
    }
    /// Whether the rows it reads decide its value during a statement that assigns to variables or not.
    pub(crate) fn is_deterministic(&self, assigns: bool) -> bool {
        let mut fixed = true;
        self.walk(&mut |e| fixed &= !e.is_nondeterministic_itself(assigns));
        fixed
    }
    /// Whether its value follows from columns, constants and parameters alone.
    pub fn is_const_or_columns(&self) -> bool {
        let mut pure = true;
        self.walk(&mut |e| {
            pure &= match &e.kind {
                ExprKind::Subquery { .. }
                | ExprKind::UserVariable(_)
                | ExprKind::SetUserVariable(..)
                | ExprKind::SeededRand(..) => false,
                ExprKind::Function(f, _) => !f.is_volatile(),
                _ => true,
            }
        });
        pure
    }
    /// Whether it is read as a number without a word of what it has that is none: the value of a subquery, a TEXT, the first that is not
    /// NULL, the least and the greatest.
    pub(crate) fn is_quiet(&self) -> bool {
        let silent = |e: &Expr| !e.ty.is_string() || e.is_quiet();
        match &self.kind {
            ExprKind::Function(f, _) => f.is_quiet(),
            ExprKind::Column { label, .. } => &**label == SUBQUERY || self.ty.is_blob(),
            ExprKind::Case(branches, last) => {
                branches.iter().all(|(_, e)| silent(e)) && last.as_deref().is_none_or(silent)
            }
            _ => false,
        }
    }
    /// Whether it is a constant or a subquery's value.
    pub(crate) fn is_fixed(&self) -> bool {
        match &self.kind {
            ExprKind::Column { label, .. } => &**label == SUBQUERY,
            _ => self.is_const(),
        }
    }
    /// Whether it has a name of its own, see [`ExprKind::Named`].
    pub(crate) fn is_named(&self) -> bool {
        matches!(self.kind, ExprKind::Named(..))
    }
    /// Whether it is a value that comes with each execution: a placeholder or a local variable.
    pub fn is_given(&self) -> bool {
        matches!(self.kind, ExprKind::Param(_) | ExprKind::Local(..))
    }
    /// Its value, if it is a literal.
    pub fn as_constant(&self) -> Option<&Value<'static>> {
        match &self.kind {
            ExprKind::Literal(v) | ExprKind::BitString(v) => Some(v),
            _ => None,
        }
    }
    /// Calls `f` for each operand. (No list is made: planning walks expressions all the time.)
    fn each_child<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        use ExprKind as K;
        match &self.kind {
            K::Literal(_)
            | K::BitString(_)
            | K::Column { .. }
            | K::Param(_)
            | K::Local(..)
            | K::UserVariable(_)
            | K::SystemVariable(..) => {}
            K::Compare(_, a, _)
            | K::Xor(a)
            | K::Arithmetic(_, a)
            | K::Bit(_, a)
            | K::EnumBeside(a)
            | K::DateAdd(a, ..)
            | K::TimestampDiff(a, _) => a.iter().for_each(f),
            K::And(v) | K::Or(v) | K::Function(_, v) => v.iter().for_each(f),
            K::Subquery { operands, .. } => operands.iter().for_each(f),
            K::Not(e)
            | K::IsNull(e)
            | K::IsNotNull(e)
            | K::IsTruth(e, ..)
            | K::Negate(e)
            | K::BitNot(e)
            | K::Cast(e)
            | K::Collate(e)
            | K::Padded(e)
            | K::Named(e, _)
            | K::Moment(e)
            | K::EnumIndex(e)
            | K::Beside(e, _)
            | K::Extract(e, ..)
            | K::SetUserVariable(_, e)
            | K::SeededRand(e, _) => f(e),
            K::Between { args, .. } => args.iter().for_each(f),
            K::InList(l) => std::iter::once(&l.value).chain(&l.list).for_each(f),
            K::Like(l) => [&l.value, &l.pattern]
                .into_iter()
                .chain(&l.escape_by)
                .for_each(f),
            K::Regexp(r) => [&r.value, &r.pattern].into_iter().for_each(f),
            K::Case(branches, last) => branches
                .iter()
                .flat_map(|(c, r)| [c, r])
                .chain(last.as_deref())
                .for_each(f),
        }
    }
    /// Calls `f` for each operand.
    pub fn each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.children_mut().into_iter().for_each(f);
    }
    fn children_mut(&mut self) -> Vec<&mut Expr> {
        use ExprKind as K;
        match &mut self.kind {
            K::Literal(_)
            | K::BitString(_)
            | K::Column { .. }
            | K::Param(_)
            | K::Local(..)
            | K::UserVariable(_)
            | K::SystemVariable(..) => Vec::new(),
            K::Compare(_, a, _)
            | K::Xor(a)
            | K::Arithmetic(_, a)
            | K::Bit(_, a)
            | K::EnumBeside(a)
            | K::DateAdd(a, ..)
            | K::TimestampDiff(a, _) => a.iter_mut().collect(),
            K::And(v) | K::Or(v) | K::Function(_, v) => v.iter_mut().collect(),
            K::Subquery { operands, .. } => operands.iter_mut().collect(),
            K::Not(e)
            | K::IsNull(e)
            | K::IsNotNull(e)
            | K::IsTruth(e, ..)
            | K::Negate(e)
            | K::BitNot(e)
            | K::Cast(e)
            | K::Collate(e)
            | K::Padded(e)
            | K::Named(e, _)
            | K::Moment(e)
            | K::EnumIndex(e)
            | K::Beside(e, _)
            | K::Extract(e, ..)
            | K::SetUserVariable(_, e)
            | K::SeededRand(e, _) => vec![e],
            K::Between { args, .. } => args.iter_mut().collect(),
            K::InList(l) => std::iter::once(&mut l.value).chain(&mut l.list).collect(),
            K::Like(l) => [&mut l.value, &mut l.pattern]
                .into_iter()
                .chain(&mut l.escape_by)
                .collect(),
            K::Regexp(r) => vec![&mut r.value, &mut r.pattern],
            K::Case(branches, last) => branches
                .iter_mut()
                .flat_map(|(c, r)| [c, r])
                .chain(last.as_deref_mut())
                .collect(),
        }
    }
    /// Calls `f` for this expression and all below it, outermost first.
    pub fn walk(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        self.each_child(&mut |c| c.walk(f));
    }
    /// How deep it nests.
    pub fn depth(&self) -> usize {
        let mut deepest = 0;
        self.each_child(&mut |c| deepest = deepest.max(c.depth()));
        1 + deepest
    }
    /// As [`Expr::walk`], with the right to change: children after their parent. Constants of IN lists and LIKE patterns are prepared
    /// when bound and must stay.
    pub fn walk_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        f(self);
        for c in self.children_mut() {
            c.walk_mut(f);
        }
    }
    /// Calls `f` for every column read (source, column), but for those that only subqueries read.
    pub fn columns(&self, f: &mut dyn FnMut(usize, usize)) {
        self.walk(&mut |e| {
            if let ExprKind::Column { source, column, .. } = &e.kind {
                f(*source, *column);
            }
        });
    }
    /// Calls `f` for the columns (source, column) that are read whenever the expression is evaluated: not for those of operands that
    /// an earlier one may make needless.
    pub fn columns_always(&self, f: &mut dyn FnMut(usize, usize)) {
        match &self.kind {
            ExprKind::Column { source, column, .. } => f(*source, *column),
            ExprKind::And(list)
            | ExprKind::Or(list)
            | ExprKind::Function(Func::Coalesce | Func::IfNull, list) => {
                list.iter().take(1).for_each(|e| e.columns_always(f));
            }
            ExprKind::Case(branches, _) => {
                let first = branches.iter().take(1);
                first.for_each(|(when, _)| when.columns_always(f));
            }
            _ => self.each_child(&mut |e| e.columns_always(f)),
        }
    }
    /// Splits into AND-ed conjuncts.
    pub fn into_conjuncts(self) -> Vec<Expr> {
        match self.kind {
            ExprKind::And(v) => v.into_iter().flat_map(Expr::into_conjuncts).collect(),
            _ => vec![self],
        }
    }
}
