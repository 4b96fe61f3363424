//! Whether the rows of a subquery that stays the same are kept, or read each time.

use std::rc::Rc;

use super::Kept;
use crate::error::SqlResult;
use crate::exec::state::State;
use crate::plan::nodes::Subquery;

/// How many times the rows of an EXISTS are read, up to the one looked for, before they are kept: where only a few rows stand
/// around it, keeping all of its own costs more than it saves.
const READ_FIRST: u32 = 2;

/// What is kept of a subquery's rows, made of them the first time; `None` if they are to be read instead.
pub fn kept<'s>(
    st: &mut State<'s>,
    q: &'s Subquery,
    make: impl FnOnce(&mut State<'s>) -> SqlResult<Kept<'s>>,
) -> SqlResult<Option<Rc<Kept<'s>>>> {
    match st.subqueries[q.id].as_deref() {
        Some(Kept::Read(n)) if *n < READ_FIRST => return Ok(read(st, q, *n)),
        Some(Kept::Read(_)) => {}
        Some(_) => return Ok(st.subqueries[q.id].clone()),
        None if q.exists => return Ok(read(st, q, 0)),
        None => {}
    }
    let kept = Rc::new(make(st)?);
    st.subqueries[q.id] = Some(kept.clone());
    Ok(Some(kept))
}

/// Notes that the rows, read `n` times so far, are being read once more.
fn read<'s>(st: &mut State<'s>, q: &Subquery, n: u32) -> Option<Rc<Kept<'s>>> {
    st.subqueries[q.id] = Some(Rc::new(Kept::Read(n + 1)));
    None
}
