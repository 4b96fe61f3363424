//! What a plan takes for granted of the values that its placeholders had when it was made. Pure data; `optimize::peek` asks whether
//! it is so for others.

use super::nodes::Access;
use crate::expr::Expr;

/// An estimate that depends on values of placeholders.
#[derive(Debug)]
pub struct Assumption {
    /// The table, by its position in [`super::Plan::tables`].
    pub table: usize,
    /// The placeholders, in the order in which they are met.
    pub params: Vec<usize>,
    /// Of what.
    pub of: Estimated,
    /// Rows it came to.
    pub rows: f64,
}

/// What was estimated.
#[derive(Debug)]
pub enum Estimated {
    /// Entries in the ranges of an index.
    Ranges(Box<Access>),
    /// Rows that a condition leaves, by statistics; the table is this source in it.
    Condition(usize, Expr),
}

/// What a plan rests on besides the statement's text and its tables.
#[derive(Debug)]
pub enum Rests {
    /// On nothing: it is to serve whatever values there are (it was made before there were any).
    OnNothing,
    /// On estimates about values.
    On(Vec<Assumption>),
    /// On more of them than are worth asking for again.
    OnValues,
    /// On its literals: were they values, less could be done with it.
    OnConstants,
}
