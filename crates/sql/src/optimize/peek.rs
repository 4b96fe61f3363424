//! The values that placeholders have while planning, and what a plan comes to rest on by looking at them.
//!
//! A text's literals are taken out of it to find its plan, so the plan is made with placeholders; the values are there nevertheless.
//! Estimates look at them as at literals, and each look that may end otherwise for other values is noted as an
//! [`Assumption`]. An execution with other values asks for the same estimates again, a fraction of the cost of planning, and takes
//! the plan if none is far from what it was. (Known as bind peeking; Ioannidis et al., Parametric Query Optimization, 1992.)

use std::cell::{Cell, RefCell};

use super::estimate::Asked;
use crate::env::SessionEnv;
use crate::expr::{Expr, ExprKind};
use crate::logical::PlanTable;
use crate::plan::Plan;
use crate::plan::assumptions::{Assumption, Estimated};
use crate::plan::nodes::Access;
use crate::plan::ranges;
use crate::value::Value;

/// Most estimates that a plan may rest on: more would cost as much as planning anew.
const MOST: usize = 24;
/// Rows below which estimates are as good as equal.
const FEW: f64 = 8.0;
/// How many times as many rows, or as few, make no other plan.
const NEAR: f64 = 4.0;

/// The session, and what of the placeholders' values is known while planning.
pub struct Peek<'a> {
    /// The session.
    pub env: &'a SessionEnv,
    params: Option<&'a [Value<'a>]>,
    assumptions: RefCell<Vec<Assumption>>,
    /// There were more than a plan may rest on.
    many: Cell<bool>,
}

impl<'a> Peek<'a> {
    /// `params`: the placeholders' values, if estimates are to look at them.
    pub fn new(env: &'a SessionEnv, params: Option<&'a [Value<'a>]>) -> Peek<'a> {
        Peek {
            env,
            params,
            assumptions: RefCell::default(),
            many: Cell::new(false),
        }
    }

    /// Whether estimates look at the values.
    pub fn peeks(&self) -> bool {
        self.params.is_some()
    }

    /// Values of placeholders.
    pub fn params(&self) -> &'a [Value<'a>] {
        self.params.unwrap_or_default()
    }

    /// Whether a value is known when planning.
    pub fn knows(&self, e: &Expr) -> bool {
        match e.kind {
            ExprKind::Literal(_) => true,
            _ => e.is_const() && (self.params.is_some() || !has_params(e)),
        }
    }

    /// What the plan rests on; `None`: on too much.
    pub fn into_assumptions(self) -> Option<Vec<Assumption>> {
        (!self.many.get()).then(|| self.assumptions.into_inner())
    }

    /// Entries of an index that an access by known values reads; `None` if that cannot be told. `table`: its position in the plan.
    pub fn ranges(&self, table: (usize, &PlanTable), a: &Access) -> Option<f64> {
        let mut params = Vec::new();
        if self.params.is_some() {
            a.exprs(&mut |e| params_of(e, &mut params));
        }
        if params.is_empty() {
            return counted(table.1, a, self.env, &[]);
        }
        let shape = |a: &Access| {
            let spatial = a.spatial.as_ref().map(|by| by.index);
            (a.index, spatial, a.parts_used())
        };
        let same = |known: &&Assumption| {
            known.table == table.0
                && known.params == params
                && matches!(&known.of, Estimated::Ranges(k) if shape(k) == shape(a))
        };
        if let Some(known) = self.assumptions.borrow().iter().find(same) {
            return Some(known.rows);
        }
        let rows = counted(table.1, a, self.env, self.params())?;
        self.note(|| Assumption {
            table: table.0,
            params,
            of: Estimated::Ranges(Box::new(a.bounds())),
            rows,
        });
        Some(rows)
    }

    /// Notes that statistics were asked what a condition leaves of a table's rows, if that depends on placeholders.
    pub fn condition(&self, asked: &Asked<'_>, e: &Expr) {
        let Some((table, of)) = asked.table.filter(|_| self.params.is_some()) else {
            return;
        };
        // Without a histogram one value is like another.
        if of.statistics.histograms.iter().all(Option::is_none) {
            return;
        }
        let mut params = Vec::new();
        params_of(e, &mut params);
        let same = |known: &Assumption| {
            known.table == table
                && known.params == params
                && matches!(known.of, Estimated::Condition(..))
        };
        if params.is_empty() || self.assumptions.borrow().iter().any(same) {
            return;
        }
        let rows = asked.rows_of(e);
        self.note(|| Assumption {
            table,
            params,
            of: Estimated::Condition(asked.source, e.clone()),
            rows,
        });
    }

    fn note(&self, assumption: impl FnOnce() -> Assumption) {
        let mut list = self.assumptions.borrow_mut();
        match list.len() < MOST {
            true => list.push(assumption()),
            false => self.many.set(true),
        }
    }
}

fn has_params(e: &Expr) -> bool {
    let mut any = false;
    e.walk(&mut |e| any |= e.is_given());
    any
}

fn params_of(e: &Expr, params: &mut Vec<usize>) {
    e.walk(&mut |e| {
        if let ExprKind::Param(n) | ExprKind::Local(n, _) = e.kind {
            params.push(n);
        }
    });
}

fn counted(table: &PlanTable, a: &Access, env: &SessionEnv, params: &[Value<'_>]) -> Option<f64> {
    ranges::estimate(&table.table, &table.schema, a, env, params).map(|n| n as f64)
}

/// Whether the estimates that a plan rests on are about the same for these values. The plan's tables are pinned.
pub fn holds(plan: &Plan, env: &SessionEnv, params: &[Value<'_>]) -> bool {
    plan.assumptions().iter().all(|assumed| {
        let table = &plan.tables[assumed.table];
        let now = match &assumed.of {
            Estimated::Ranges(a) => counted(table, a, env, params),
            Estimated::Condition(source, e) => {
                let peek = Peek::new(env, Some(params));
                let asked = Asked {
                    table: Some((assumed.table, table)),
                    source: *source,
                    peek: &peek,
                };
                Some(asked.rows_of(e))
            }
        };
        now.is_some_and(|now| is_near(assumed.rows, now))
    })
}

fn is_near(a: f64, b: f64) -> bool {
    let (a, b) = (a.max(FEW), b.max(FEW));
    a <= b * NEAR && b <= a * NEAR
}

#[cfg(test)]
mod tests {
    use super::is_near;

    #[test]
    fn estimates_of_few_rows_are_all_alike() {
        assert!(is_near(0.0, 8.0) && is_near(1.0, 32.0) && is_near(1000.0, 4000.0));
        assert!(!is_near(1.0, 33.0) && !is_near(4001.0, 1000.0));
    }
}
