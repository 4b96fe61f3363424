//! The row evaluator over rows of a batch.

use std::cell::Cell;

use super::super::rows::{Columns, NO_ROW, SourceRows};
use super::super::vector::Vector;
use super::Frame;
use super::logic::{FALSE, NULL, TRUE};
use super::operand::{Rows, typed};
use crate::error::SqlResult;
use crate::expr::{EvalContext, Expr, LazyValues, RowRef};
use crate::types::SqlType;
use crate::value::Value;

/// A row of kept columns, one after the other.
#[derive(Debug)]
struct KeptRow<'b> {
    columns: &'b Columns,
    at: Cell<u32>,
}

impl LazyValues for KeptRow<'_> {
    fn value(&self, column: usize) -> SqlResult<Value<'_>> {
        Ok(match &self.columns.columns[column] {
            Some(c) if self.at.get() != NO_ROW => c.value(self.at.get() as usize),
            _ => Value::Null,
        })
    }
}

/// Calls `run` with each row as the row evaluator sees it, in order.
fn each<'b>(
    e: &Expr,
    f: &Frame<'_, 'b>,
    rows: Rows<'_>,
    mut run: impl FnMut(&EvalContext<'_>) -> SqlResult<()>,
) -> SqlResult<()> {
    let mut read = vec![false; f.batch.sources.len()];
    e.columns(&mut |source, _| {
        if let Some(r) = read.get_mut(source) {
            *r = true;
        }
    });
    let kept: Vec<KeptRow<'b>> = f
        .batch
        .sources
        .iter()
        .filter_map(|s| match s {
            SourceRows::Kept(columns, _) => Some(KeptRow {
                columns,
                at: Cell::new(NO_ROW),
            }),
            _ => None,
        })
        .collect();
    let mut refs: Vec<RowRef<'_>> = f.cx.rows.to_vec();
    refs.resize(refs.len().max(f.batch.sources.len()), RowRef::Nulls);
    // Those whose row changes: of stored rows and of kept ones.
    let (mut stored, mut moving) = (Vec::new(), Vec::new());
    let mut next = kept.iter();
    for (i, source) in f.batch.sources.iter().enumerate() {
        match source {
            SourceRows::Nulls => {}
            SourceRows::Stored(schema, list) => {
                if read[i] {
                    stored.push((i, *schema, list));
                }
            }
            SourceRows::Kept(_, list) => {
                if let Some(row) = next.next() {
                    refs[i] = RowRef::Lazy(row);
                    if read[i] {
                        moving.push((row, list));
                    }
                }
            }
        }
    }
    for i in 0..rows.len() {
        let at = rows.at(i);
        for (source, schema, list) in &stored {
            refs[*source] = match list[at] {
                Some(row) => RowRef::Stored(schema, row),
                None => RowRef::Nulls,
            };
        }
        for (row, list) in &moving {
            row.at.set(list[at]);
        }
        run(&EvalContext {
            rows: &refs,
            params: f.cx.params,
            session: f.cx.session,
        })?;
    }
    Ok(())
}

/// A value with as many digits after the point as its type says, where CASE and its like may choose fewer: of one scale they are one vector.
pub(super) fn of_one_scale<'v>(v: Value<'v>, ty: &SqlType) -> Value<'v> {
    match v {
        Value::Decimal(d) if d.scale() < ty.decimals => Value::Decimal(d.round(ty.decimals)),
        v => v,
    }
}

/// An expression's values.
pub(super) fn values<'b>(e: &Expr, f: &Frame<'_, 'b>, rows: Rows<'_>) -> SqlResult<Vector<'b>> {
    let mut all = Vec::with_capacity(rows.len());
    each(e, f, rows, |cx| {
        all.push(of_one_scale(e.eval(cx)?.into_owned(), &e.ty));
        Ok(())
    })?;
    Ok(typed(all))
}

/// Its truth.
pub(super) fn truths(e: &Expr, f: &Frame<'_, '_>, rows: Rows<'_>) -> SqlResult<Vec<u8>> {
    let mut all = Vec::with_capacity(rows.len());
    each(e, f, rows, |cx| {
        all.push(match e.truth(cx)? {
            Some(true) => TRUE,
            Some(false) => FALSE,
            None => NULL,
        });
        Ok(())
    })?;
    Ok(all)
}
