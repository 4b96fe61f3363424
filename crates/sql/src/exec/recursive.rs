//! WITH RECURSIVE: the seed's rows, then again and again what the recursive SELECTs make of the rows of the iteration before, until
//! there are none.
//!
//! Rows go out as they are made, and are kept for one iteration, on disk where memory does not suffice. With UNION DISTINCT the keys of
//! all rows so far are kept in memory.

use std::rc::Rc;

use hashbrown::HashSet;
use smallvec::SmallVec;

use super::block::{Counts, Out, limits, query};
use super::hash;
use super::row_buffer::RowBuffer;
use super::state::{Flow, State};
use crate::error::{SqlError, SqlResult};
use crate::memory::Charge;
use crate::plan::nodes::{Body, Query, Recursive};
use crate::row::encode_sort_value;
use crate::value::{StoreContext, Target, Value, assign};

/// Bytes of a block of kept rows.
const BLOCK_BYTES: usize = 64 << 10;
/// What memory a kept key takes beside its bytes.
const OVERHEAD_BYTES: usize = 48;

/// What has come of it so far.
struct Progress<'s> {
    q: &'s Query,
    r: &'s Recursive,
    /// Keys of all rows, for DISTINCT.
    seen: Option<HashSet<Box<[u8]>>>,
    charge: Charge,
    key: Vec<u8>,
    offset: u64,
    count: u64,
    rows: u64,
    sent: u64,
    strict: bool,
    /// Nobody wants more rows.
    stopped: bool,
}

/// Runs it.
pub fn run<'s>(
    st: &mut State<'s>,
    q: &'s Query,
    r: &'s Recursive,
    out: &mut Out<'_, 's>,
) -> SqlResult<Counts> {
    let (offset, count) = limits(st, &r.limit)?;
    let most = (st.env.sys_var)("", "cte_max_recursion_depth")?.to_i64();
    let mut progress = Progress {
        q,
        r,
        seen: r.distinct.then(HashSet::new),
        charge: st.charge(),
        key: Vec::new(),
        offset,
        count,
        rows: 0,
        sent: 0,
        strict: st.env.sql_mode.get().strict,
        stopped: count == 0,
    };
    let mut fresh = kept(st);
    let mut some = progress.part(st, &r.seed, &mut fresh, out)?;
    let mut iteration = 0i64;
    while some && !progress.stopped {
        iteration += 1;
        if iteration > most {
            return Err(SqlError::new(
                3636,
                format!(
                    "Recursive query aborted after {iteration} iterations. Try increasing @@cte_max_recursion_depth to a larger \
                     value."
                ),
            ));
        }
        st.derived[r.working] = Some(Rc::new(fresh));
        fresh = kept(st);
        some = false;
        for step in &r.steps {
            if let Body::Block(b) = &step.body {
                hash::forget_derived(st, b, &b.levels, r.working);
            }
            some |= progress.part(st, step, &mut fresh, out)?;
            if progress.stopped {
                break;
            }
        }
    }
    st.derived[r.working] = None;
    Ok(Counts {
        found: progress.sent,
    })
}

fn kept<'s>(st: &State<'s>) -> RowBuffer<'s> {
    RowBuffer::new(st, st.limits.table, BLOCK_BYTES)
}

impl<'s> Progress<'s> {
    /// Runs one of its SELECTs; whether it made rows that were not there.
    fn part(
        &mut self,
        st: &mut State<'s>,
        part: &'s Query,
        fresh: &mut RowBuffer<'s>,
        out: &mut Out<'_, 's>,
    ) -> SqlResult<bool> {
        let before = self.rows;
        // What MySQL would warn of while it makes the rows is an error in strict mode, as where rows are stored.
        let around = st.env.strict_write.get();
        st.env.strict_write.set(around || self.strict);
        let done = query(st, part, &[], &mut |st, row| {
            let values = self.assigned(st, row)?;
            if !self.is_new(&values)? {
                return Ok(Flow::Continue);
            }
            self.rows += 1;
            fresh.push(&values)?;
            if self.rows <= self.offset {
                return Ok(Flow::Continue);
            }
            self.sent += 1;
            let strict = st.env.strict_write.replace(around);
            let flow = out(st, &values);
            st.env.strict_write.set(strict);
            let flow = flow?;
            self.stopped = flow == Flow::Stop || self.sent >= self.count;
            Ok(match self.stopped {
                true => Flow::Stop,
                false => Flow::Continue,
            })
        });
        st.env.strict_write.set(around);
        done?;
        Ok(self.rows > before)
    }

    /// A row as the seed's types have it.
    fn assigned<'v>(
        &self,
        st: &State<'_>,
        row: &'v [Value<'_>],
    ) -> SqlResult<SmallVec<[Value<'v>; 8]>> {
        let cx = StoreContext {
            session: &st.env.conversion,
            strict: self.strict,
            row: 1,
        };
        let columns = self.q.types.iter().zip(&self.r.names);
        let values = row.iter().zip(columns);
        let said = st.env.conversion.diagnostics.borrow().len();
        let assigned = values
            .map(|(v, (ty, name))| {
                let target = Target {
                    name,
                    ty,
                    nullable: true,
                };
                assign(v.borrowed(), target, &cx)
            })
            .collect();
        if !self.strict {
            // As in MySQL values are cut without a word.
            st.env.conversion.diagnostics.borrow_mut().truncate(said);
        }
        assigned
    }

    fn is_new(&mut self, values: &[Value<'_>]) -> SqlResult<bool> {
        let Some(seen) = &mut self.seen else {
            return Ok(true);
        };
        self.key.clear();
        for (v, ty) in values.iter().zip(&self.q.types) {
            encode_sort_value(v, ty, false, &mut self.key);
        }
        if seen.contains(&self.key[..]) {
            return Ok(false);
        }
        self.charge.grow(self.key.len() + OVERHEAD_BYTES)?;
        seen.insert(self.key.as_slice().into());
        Ok(true)
    }
}
