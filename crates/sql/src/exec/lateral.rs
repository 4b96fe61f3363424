//! Derived tables that depend on the rows around them: computed anew for rows that differ in what they read.

use std::rc::Rc;

use super::block;
use super::row_buffer::{BLOCK_BYTES, RowBuffer};
use super::state::{Flow, State};
use super::subquery::{self, Kept};
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::plan::nodes::Lateral;

/// The rows computed last, and what they were computed for.
pub struct Last<'s> {
    /// The values of the columns read.
    key: Box<[u8]>,
    rows: Rc<RowBuffer<'s>>,
}

/// The table's rows beside those around it. Those computed last serve again for rows that are alike, unless they left warnings.
pub fn rows<'s>(
    st: &mut State<'s>,
    l: &'s Lateral,
    rows: &[RowRef<'_>],
) -> SqlResult<Rc<RowBuffer<'s>>> {
    let mut key = st.scratch.take();
    let readable = l.deterministic && subquery::put_read(st, &l.outer, rows, &mut key);
    let known = match st.subqueries[l.id].as_deref() {
        Some(Kept::Last(last)) if readable && *last.key == *key => Some(last.rows.clone()),
        _ => None,
    };
    if let Some(known) = known {
        st.scratch.give(key);
        return Ok(known);
    }
    st.subqueries[l.id] = None;
    let before = st.env.diagnostics.borrow().len();
    let mut out = RowBuffer::new(st, st.limits.table, BLOCK_BYTES);
    block::query(st, &l.query, rows, &mut |_, r| {
        out.push(r)?;
        Ok(Flow::Continue)
    })?;
    let out = Rc::new(out);
    if readable && st.env.diagnostics.borrow().len() == before {
        let last = Last {
            key: key.as_slice().into(),
            rows: out.clone(),
        };
        st.subqueries[l.id] = Some(Rc::new(Kept::Last(last)));
    }
    st.scratch.give(key);
    Ok(out)
}
