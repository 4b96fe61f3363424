//! Bound, typed expressions: evaluation without allocation where the value allows it.

pub mod aggregate;
pub mod bind;

use std::sync::Arc;

use crate::error::SqlResult;
use crate::session::env::SessionEnv;
use crate::types::{Collation, Schema, SqlType};
use crate::value::Value;

pub use aggregate::{Accumulator, AggregateKind, AggregateSpec};
pub use bind::{Scope, SubqueryKind, bind};

/// One source of an expression's columns.
#[derive(Clone, Copy, Debug)]
pub enum RowRef<'a> {
    /// A stored row, decoded column by column on demand.
    Stored(&'a Schema, &'a [u8]),
    /// Values already computed (a derived row, aggregates, VALUES()).
    Values(&'a [Value<'a>]),
    /// The null-extended side of an outer join.
    Nulls,
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

/// A bound expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Its static type.
    pub ty: SqlType,
    /// Whether it can be NULL.
    pub nullable: bool,
}

/// Forms of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant.
    Literal(Value<'static>),
    /// Column `column` of `rows[source]`.
    Column {
        /// Position in [`EvalContext::rows`].
        source: usize,
        /// Position in the row.
        column: usize,
        /// Name for messages, qualified as MySQL prints it.
        label: Arc<str>,
    },
    /// A `?` placeholder by position.
    Param(usize),
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
    /// A scalar, EXISTS or IN subquery.
    Subquery(Arc<dyn SubqueryEval>),
}

/// `value [NOT] IN (list)`.
#[derive(Clone, Debug)]
pub struct InList {
    /// The value looked for.
    pub value: Expr,
    /// The list.
    pub list: Vec<Expr>,
    /// NOT.
    pub negated: bool,
    /// Collation for strings.
    pub collation: Collation,
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

/// A subquery, planned by the layer above.
pub trait SubqueryEval: std::fmt::Debug + Send + Sync {
    /// Its value: a scalar, or 0/1/NULL for EXISTS, IN, ANY and ALL.
    fn eval(&self, cx: &EvalContext<'_>) -> SqlResult<Value<'static>>;
    /// Calls `f` for every outer column (source, column) it reads.
    fn outer_columns(&self, f: &mut dyn FnMut(usize, usize));
}

impl Expr {
    /// A constant of a type.
    pub fn literal(_value: Value<'static>, _ty: SqlType) -> Expr {
        todo!()
    }
    /// A column.
    pub fn column(
        _source: usize,
        _column: usize,
        _ty: SqlType,
        _nullable: bool,
        _label: &str,
    ) -> Expr {
        todo!()
    }
    /// Its static type.
    pub fn ty(&self) -> &SqlType {
        &self.ty
    }
    /// Evaluates. Columns, literals and parameters are borrowed.
    pub fn eval<'a>(&'a self, _cx: &EvalContext<'a>) -> SqlResult<Value<'a>> {
        todo!()
    }
    /// Evaluates as a predicate; `None` for NULL.
    pub fn truth(&self, _cx: &EvalContext<'_>) -> SqlResult<Option<bool>> {
        todo!()
    }
    /// Whether it reads no column, subquery or anything that changes within a statement (parameters are constant).
    pub fn is_const(&self) -> bool {
        todo!()
    }
    /// Calls `f` for this expression and all below it, outermost first.
    pub fn walk(&self, _f: &mut dyn FnMut(&Expr)) {
        todo!()
    }
    /// The same with the right to change: children after their parent.
    pub fn walk_mut(&mut self, _f: &mut dyn FnMut(&mut Expr)) {
        todo!()
    }
    /// Calls `f` for every column read (source, column), those of subqueries included.
    pub fn columns(&self, _f: &mut dyn FnMut(usize, usize)) {
        todo!()
    }
    /// Splits into AND-ed conjuncts.
    pub fn into_conjuncts(self) -> Vec<Expr> {
        todo!()
    }
}

/// MySQL's canonical text (`(`a` + 1)`), for messages and EXPLAIN.
impl std::fmt::Display for Expr {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        todo!()
    }
}
