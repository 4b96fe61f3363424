//! Bound, typed expressions: evaluation without allocation where the value allows it.

use crate::error::SqlResult;
use crate::session::env::SessionEnv;
use crate::types::{Schema, SqlType};
use crate::value::Value;

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
pub struct Expr {}

impl Expr {
    /// Its static type.
    pub fn ty(&self) -> &SqlType {
        todo!()
    }
    /// Evaluates.
    pub fn eval<'a>(&'a self, _cx: &EvalContext<'a>) -> SqlResult<Value<'a>> {
        todo!()
    }
}
