//! What a condition says about one column, taken apart for whoever can use it: indexes and partitions.

use super::Expr;

/// What a conjunct says about a column.
#[derive(Clone, Debug)]
pub enum Term {
    /// `= value`
    Eq(Expr),
    /// `<=> value`
    NullSafe(Expr),
    /// IS NULL
    IsNull,
    /// IN
    In(Vec<Expr>),
    /// Bounds: (value, inclusive).
    Range(Option<(Expr, bool)>, Option<(Expr, bool)>),
    /// LIKE pattern.
    Like(Expr),
}

impl Term {
    /// The values it compares with.
    pub fn values(&self) -> Vec<&Expr> {
        match self {
            Term::Eq(e) | Term::NullSafe(e) | Term::Like(e) => vec![e],
            Term::IsNull => Vec::new(),
            Term::In(l) => l.iter().collect(),
            Term::Range(a, b) => a.iter().chain(b).map(|(e, _)| e).collect(),
        }
    }
}
