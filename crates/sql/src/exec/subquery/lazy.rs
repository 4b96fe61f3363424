//! The values of a block's subqueries while one expression, or one select list, is evaluated: each runs when it is first asked for.

use std::cell::{OnceCell, RefCell};
use std::fmt;

use crate::error::SqlResult;
use crate::exec::state::{Rows, State, with_needed};
use crate::expr::{LazyValues, RowRef};
use crate::plan::nodes::Block;
use crate::value::Value;

/// The values of a block's subqueries in its current rows.
pub struct Lazy<'r, 's> {
    /// Borrowed while a subquery runs. That reads the values computed by then, and so never asks here itself.
    st: RefCell<&'r mut State<'s>>,
    block: &'s Block,
    rows: &'r [RowRef<'r>],
    /// Those that have run here.
    values: Vec<OnceCell<Value<'static>>>,
}

impl<'r, 's> Lazy<'r, 's> {
    /// None has run yet but for [`Block::first`], whose values are in `rows`.
    pub fn new(st: &'r mut State<'s>, block: &'s Block, rows: &'r [RowRef<'r>]) -> Lazy<'r, 's> {
        Lazy {
            st: RefCell::new(st),
            block,
            rows,
            values: vec![OnceCell::new(); block.subqueries.len()],
        }
    }

    /// The value of a subquery that has run.
    fn known(&self, n: usize) -> Option<Value<'_>> {
        if let Some(v) = self.values[n].get() {
            return Some(v.borrowed());
        }
        match self.rows[self.block.subquery_source()] {
            RowRef::Values(first) if self.block.first.contains(&n) => Some(first[n].borrowed()),
            _ => None,
        }
    }
}

impl LazyValues for Lazy<'_, '_> {
    fn value(&self, n: usize) -> SqlResult<Value<'_>> {
        if let Some(v) = self.known(n) {
            return Ok(v);
        }
        let (all, source) = (&self.block.subqueries, self.block.subquery_source());
        let st = &mut **self.st.borrow_mut();
        let known = |n| self.known(n).map_or(Value::Null, Value::into_owned);
        let mut values: Vec<Value<'static>> = (0..all.len()).map(known).collect();
        for needed in with_needed(all, source, &[n]) {
            if self.known(needed).is_some() {
                continue;
            }
            let v = {
                let mut now: Rows<'_> = Rows::from_slice(self.rows);
                now[source] = RowRef::Values(&values);
                super::value(st, all, source, needed, &now)?
            };
            values[needed] = self.values[needed].get_or_init(|| v).clone();
        }
        Ok(self.known(n).unwrap_or(Value::Null))
    }
}

impl fmt::Debug for Lazy<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}
