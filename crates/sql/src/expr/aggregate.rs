//! Aggregate functions: what they compute and their running state.

use super::{EvalContext, Expr};
use crate::error::SqlResult;
use crate::session::env::SessionEnv;
use crate::types::SqlType;
use crate::value::Value;

/// Which aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AggregateKind {
    /// COUNT(*).
    CountStar,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    GroupConcat,
    BitAnd,
    BitOr,
    BitXor,
    StddevPop,
    StddevSamp,
    VarPop,
    VarSamp,
    /// ANY_VALUE().
    AnyValue,
}

/// An aggregate as bound.
#[derive(Clone, Debug)]
pub struct AggregateSpec {
    /// Which.
    pub kind: AggregateKind,
    /// DISTINCT.
    pub distinct: bool,
    /// Arguments (several for COUNT(DISTINCT a, b) and GROUP_CONCAT(a, b)).
    pub args: Vec<Expr>,
    /// Result type.
    pub ty: SqlType,
    /// GROUP_CONCAT's ORDER BY: expression, descending.
    pub order_by: Vec<(Expr, bool)>,
    /// GROUP_CONCAT's separator.
    pub separator: String,
}

/// An aggregate's running state for one group.
#[derive(Clone, Debug)]
pub struct Accumulator {}

impl AggregateSpec {
    /// A fresh state.
    pub fn accumulator(&self) -> Accumulator {
        todo!()
    }
    /// Whether two specs compute the same thing (so that one accumulator serves both).
    pub fn same(&self, _other: &AggregateSpec) -> bool {
        todo!()
    }
    /// Whether the result can be NULL (all but the counts and the BIT_ ones).
    pub fn nullable(&self) -> bool {
        todo!()
    }
}

impl Accumulator {
    /// Takes one row in.
    pub fn update(&mut self, _spec: &AggregateSpec, _cx: &EvalContext<'_>) -> SqlResult<()> {
        todo!()
    }
    /// The result so far.
    pub fn finish(
        &mut self,
        _spec: &AggregateSpec,
        _session: &SessionEnv,
    ) -> SqlResult<Value<'static>> {
        todo!()
    }
}
