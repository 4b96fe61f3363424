//! Whether the rows of a subquery that stays the same are kept, or read each time.

use std::rc::Rc;

use super::Kept;
use crate::error::SqlResult;
use crate::exec::block;
use crate::exec::state::{Kept2d, State};
use crate::expr::RowRef;
use crate::plan::nodes::Subquery;

/// How many times the rows of an EXISTS are read, up to the one looked for, before they are kept: where only a few rows stand
/// around it, keeping all of its own costs more than it saves.
const READ_FIRST: u32 = 2;

/// What is kept of a subquery's rows, made of them the first time; `None` if they are to be read instead.
pub fn kept<'s>(
    st: &mut State<'s>,
    q: &'s Subquery,
    rows: &[RowRef<'_>],
    make: impl FnOnce(&State<'s>, Kept2d) -> SqlResult<Kept>,
) -> SqlResult<Option<Rc<Kept>>> {
    match &st.subqueries[q.id] {
        Some(kept) if q.stays() => match **kept {
            Kept::TooLarge => return Ok(None),
            Kept::Read(n) if n < READ_FIRST => return Ok(read(st, q, n)),
            Kept::Read(_) => {}
            _ => return Ok(Some(kept.clone())),
        },
        None if q.exists => return Ok(read(st, q, 0)),
        _ => {}
    }
    let kept = match block::collect(st, &q.query, rows, usize::MAX) {
        Ok(got) => make(st, got)?,
        // Read each time they need no memory.
        Err(e) if e.code == 1038 => Kept::TooLarge,
        Err(e) => return Err(e),
    };
    let large = matches!(kept, Kept::TooLarge);
    let kept = Rc::new(kept);
    st.subqueries[q.id] = Some(kept.clone());
    Ok((!large).then_some(kept))
}

/// Notes that the rows, read `n` times so far, are being read once more.
fn read(st: &mut State<'_>, q: &Subquery, n: u32) -> Option<Rc<Kept>> {
    st.subqueries[q.id] = Some(Rc::new(Kept::Read(n + 1)));
    None
}
