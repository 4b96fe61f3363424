//! JSON_TABLE: one document, and the rows that it makes.

use super::block::{Counts, Out, query};
use super::state::{Flow, State};
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::expr::json_argument;
use crate::plan::nodes::JsonTable;
use crate::value::Value;

/// Runs it. NULL has no rows. Errors 3141, 3144 and 3146 of what is no document.
pub fn run<'s>(
    st: &mut State<'s>,
    t: &'s JsonTable,
    outer: &[RowRef<'_>],
    out: &mut Out<'_, 's>,
) -> SqlResult<Counts> {
    let mut document = Value::Null;
    query(st, &t.input, outer, &mut |_, row| {
        document = row.first().map_or(Value::Null, |v| v.clone().into_owned());
        Ok(Flow::Continue)
    })?;
    let mut counts = Counts::default();
    if document.is_null() {
        return Ok(counts);
    }
    let function = || "json_table".to_string();
    let document = json_argument(document, &t.input.types[0], 1, &function)?;
    let env = st.env;
    t.rows.of_document(document.root(), env, &mut |row| {
        st.tick()?;
        counts.found += 1;
        Ok(out(st, row)? != Flow::Stop)
    })?;
    Ok(counts)
}
