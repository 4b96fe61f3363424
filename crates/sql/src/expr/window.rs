//! Window functions, as bound: what they compute of which rows of their partition. `exec::window` runs them.

use super::{AggregateSpec, Expr};
use crate::types::SqlType;

/// What a window function computes.
#[derive(Clone, Debug)]
pub enum WindowKind {
    /// ROW_NUMBER().
    RowNumber,
    /// RANK().
    Rank,
    /// DENSE_RANK().
    DenseRank,
    /// PERCENT_RANK().
    PercentRank,
    /// CUME_DIST().
    CumeDist,
    /// NTILE(n).
    Ntile,
    /// LAG(value, n, default).
    Lag,
    /// LEAD(value, n, default).
    Lead,
    /// FIRST_VALUE(value).
    FirstValue,
    /// LAST_VALUE(value).
    LastValue,
    /// NTH_VALUE(value, n).
    NthValue,
    /// COUNT, SUM and the like; its arguments are in it.
    Aggregate(Box<AggregateSpec>),
}

/// A window function.
#[derive(Clone, Debug)]
pub struct WindowFunction {
    /// Which.
    pub kind: WindowKind,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// Type of its result.
    pub ty: SqlType,
    /// Whether its result can be NULL.
    pub nullable: bool,
    /// The rows it looks at, if it is one that does.
    pub frame: Frame,
}

/// Which rows of its partition a function looks at, for each row.
#[derive(Clone, Debug)]
pub struct Frame {
    /// ROWS: bounds count rows. Else RANGE: they go by the value of the one ORDER BY expression, and CURRENT ROW means all rows that are
    /// equal to it in order.
    pub rows: bool,
    /// The first.
    pub start: FrameBound,
    /// The last.
    pub end: FrameBound,
}

/// An end of a frame.
#[derive(Clone, Debug)]
pub enum FrameBound {
    /// The first row of the partition.
    UnboundedPreceding,
    /// Of ROWS so many rows before the current one; of RANGE the value as much before its own.
    Preceding(Expr),
    /// The current row.
    CurrentRow,
    /// The same behind it.
    Following(Expr),
    /// The last row of the partition.
    UnboundedFollowing,
}

impl FrameBound {
    /// Its expression.
    pub fn expr_mut(&mut self) -> Option<&mut Expr> {
        match self {
            FrameBound::Preceding(e) | FrameBound::Following(e) => Some(e),
            _ => None,
        }
    }
    /// The same to read.
    pub fn expr(&self) -> Option<&Expr> {
        match self {
            FrameBound::Preceding(e) | FrameBound::Following(e) => Some(e),
            _ => None,
        }
    }
}

impl Frame {
    /// What a function looks at that says nothing: up to the current row and its equals if there is an order, else all.
    pub fn usual(ordered: bool) -> Frame {
        Frame {
            rows: false,
            start: FrameBound::UnboundedPreceding,
            end: match ordered {
                true => FrameBound::CurrentRow,
                false => FrameBound::UnboundedFollowing,
            },
        }
    }
}

impl WindowFunction {
    /// Calls `f` for each expression in it.
    pub fn exprs<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        self.args.iter().for_each(&mut *f);
        if let WindowKind::Aggregate(a) = &self.kind {
            a.args.iter().for_each(&mut *f);
        }
        let bounds = [&self.frame.start, &self.frame.end];
        bounds.into_iter().filter_map(FrameBound::expr).for_each(f);
    }
    /// The same with the right to change them.
    pub fn exprs_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.args.iter_mut().for_each(&mut *f);
        if let WindowKind::Aggregate(a) = &mut self.kind {
            a.args.iter_mut().for_each(&mut *f);
        }
        let bounds = [&mut self.frame.start, &mut self.frame.end];
        bounds
            .into_iter()
            .filter_map(FrameBound::expr_mut)
            .for_each(f);
    }
}
