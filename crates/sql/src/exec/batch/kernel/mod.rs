//! Bound expressions evaluated over whole batches, with exactly the results of [`Expr::eval`] and [`Expr::truth`].
//!
//! An expression becomes a tree of nodes. A node that has a loop over typed values for its operands' kinds runs it; whatever else it
//! meets it computes value by value, or row by row as the row evaluator does. Loops never warn and never fail. What would (a sum out of
//! range, a text that is no number) makes the whole batch be evaluated row by row, with what was said meanwhile taken back: so errors,
//! warnings and their order are the row evaluator's. Operands are evaluated for those rows only for which the row evaluator gets to
//! them: AND, OR and CASE narrow the rows from operand to operand.
//!
//! | file | owns |
//! |---|---|
//! | `build` | from an expression to nodes |
//! | `operand` | what a node gives its parent: one value for all rows, or a value for each |
//! | `by_row` | the row evaluator over rows of a batch |
//! | `compare` | comparisons, BETWEEN |
//! | `list` | IN lists of constants |
//! | `like` | LIKE with a constant pattern |
//! | `logic` | AND, OR, NOT, truth of values |
//! | `arithmetic` | `+ - * / DIV %`, negation |
//! | `choose` | CASE and IF |
//! | `convert` | CAST, parts of dates, SUBSTRING |

mod arithmetic;
mod build;
mod by_row;
mod choose;
mod compare;
mod convert;
mod like;
mod list;
mod logic;
mod operand;
#[cfg(test)]
mod tests;

use super::rows::Batch;
use super::vector::Vector;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::{EvalContext, Expr, ExprKind, RowRef};
use crate::value::Value;

use build::Node;
use logic::TRUE;
use operand::Rows;

/// An expression prepared for batches, for any number of threads.
pub struct Kernel<'e> {
    e: &'e Expr,
    /// `None`: row by row.
    root: Option<Node<'e>>,
}

/// What evaluation reads beside the batch.
#[derive(Clone, Copy)]
pub struct BatchContext<'b> {
    /// Values of `?` placeholders: those that the kernel was prepared with.
    pub params: &'b [Value<'b>],
    /// Clock, zone, sql_mode, warnings.
    pub session: &'b SessionEnv,
    /// By source, for those that the batch has no rows of: the same for all of its rows.
    pub rows: &'b [RowRef<'b>],
}

impl<'b> BatchContext<'b> {
    /// What constants and the rows around are evaluated in.
    fn around(&self) -> EvalContext<'b> {
        EvalContext {
            rows: self.rows,
            params: self.params,
            session: self.session,
        }
    }
}

/// A batch being evaluated.
struct Frame<'f, 'b> {
    batch: &'f Batch<'b>,
    cx: &'f BatchContext<'b>,
}

/// What a loop has no answer to: the batch is evaluated row by row.
struct Odd;

impl From<SqlError> for Odd {
    fn from(_: SqlError) -> Odd {
        Odd
    }
}

/// A result, unless something is odd.
type Tried<T> = Result<T, Odd>;

/// Whether an expression may be evaluated by any thread, out of order and again: its value follows from columns, constants, parameters,
/// clock, zone and sql_mode.
pub fn is_batchable(e: &Expr) -> bool {
    let mut may = true;
    e.walk(&mut |e| {
        may &= match &e.kind {
            ExprKind::Subquery { .. }
            | ExprKind::UserVariable(_)
            | ExprKind::SetUserVariable(..)
            | ExprKind::SystemVariable(..)
            | ExprKind::SeededRand(..) => false,
            ExprKind::Function(f, _) => f.is_anyones(),
            _ => true,
        }
    });
    may
}

impl<'e> Kernel<'e> {
    /// Prepares an expression. Constants are evaluated with `cx`, once; one that fails or warns is left to each row, as is an expression
    /// that is not [`is_batchable`].
    pub fn new(e: &'e Expr, cx: &EvalContext<'_>) -> Kernel<'e> {
        let root = is_batchable(e).then(|| Node::new(e, cx));
        Kernel {
            e,
            root: root.filter(Node::is_native),
        }
    }

    /// Its values as [`Expr::eval`] gives them: a quotient's hidden digits included.
    pub fn vector<'b>(&self, batch: &Batch<'b>, cx: &BatchContext<'b>) -> SqlResult<Vector<'b>>
    where
        'e: 'b,
    {
        let f = Frame { batch, cx };
        let rows = Rows::All(batch.len);
        match self.tried(&f, |node| node.values(&f, rows)) {
            Some(values) => Ok(values.into_vector(batch.len)),
            None => by_row::values(self.e, &f, rows),
        }
    }

    /// Appends to `out` the positions, ascending, of the rows for which it is true: neither false nor NULL.
    pub fn select<'b>(
        &self,
        batch: &Batch<'b>,
        cx: &BatchContext<'b>,
        out: &mut Vec<u32>,
    ) -> SqlResult<()>
    where
        'e: 'b,
    {
        let f = Frame { batch, cx };
        let rows = Rows::All(batch.len);
        let truths = match self.tried(&f, |node| node.truths(&f, rows)) {
            Some(truths) => truths,
            None => by_row::truths(self.e, &f, rows)?,
        };
        logic::positions(&truths, |t| t == TRUE, out);
        Ok(())
    }

    /// What `run` gives, unless something is odd or it had something to say: then nothing has been said.
    fn tried<T>(&self, f: &Frame<'_, '_>, run: impl FnOnce(&Node<'e>) -> Tried<T>) -> Option<T> {
        let diagnostics = &f.cx.session.diagnostics;
        let said = diagnostics.borrow().len();
        let done = run(self.root.as_ref()?);
        if diagnostics.borrow().len() > said {
            diagnostics.borrow_mut().truncate(said);
            return None;
        }
        done.ok()
    }
}
