//! UNION, INTERSECT and EXCEPT, and the ORDER BY and LIMIT behind them.
//!
//! A UNION gives its rows out as they come; those before the last DISTINCT are kept apart by their keys. INTERSECT and EXCEPT sort the
//! rows of both sides by their keys, so that equal ones lie together, those of the second side first; what is left of the first side is
//! sorted back into the order in which it came. Both sorts go to disk when they grow too large.

use smallvec::SmallVec;

use super::block::{Counts, Out, convert, limits, query};
use super::distinct::{Distinct, Seen};
use super::sort::Sorter;
use super::state::{Flow, Rows, State};
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::plan::nodes::{Query, SetOp, SetOperation};
use crate::row::{Reader, encode_sort_value, put_all};
use crate::value::Value;

/// Runs a set operation.
pub fn run<'s>(
    st: &mut State<'s>,
    q: &'s Query,
    u: &'s SetOperation,
    outer: &[RowRef<'_>],
    out: &mut Out<'_, 's>,
) -> SqlResult<Counts> {
    let (offset, count) = limits(st, &u.limit)?;
    if count == 0 && !q.calc_found_rows {
        return Ok(Counts::default());
    }
    let mut tail = Tail {
        u,
        sort: (!u.order.is_empty()).then(|| Sorter::new(st, offset.saturating_add(count))),
        offset,
        count,
        calc: q.calc_found_rows,
        seen: 0,
        sent: 0,
        key: Vec::new(),
    };
    match u.op {
        SetOp::Union => union(st, q, u, outer, &mut tail, out)?,
        SetOp::Intersect | SetOp::Except => matched(st, q, u, outer, &mut tail, out)?,
    }
    tail.finish(st, out)
}

/// A row of an arm, as values of the operation's types.
fn row_of<'v>(
    st: &State<'_>,
    arm: &Query,
    q: &Query,
    row: &'v [Value<'_>],
) -> SqlResult<SmallVec<[Value<'v>; 8]>> {
    let types = arm.types.iter().zip(&q.types);
    let values = row.iter().zip(types);
    values
        .map(|(v, (from, to))| convert(v.borrowed(), from, to, st))
        .collect()
}

/// Writes the bytes by which rows are told apart.
fn put_key(values: &[Value<'_>], q: &Query, key: &mut Vec<u8>) {
    key.clear();
    for (v, ty) in values.iter().zip(&q.types) {
        encode_sort_value(v, ty, false, key);
    }
}

/// A row that was written down.
fn read_row(row: &[u8]) -> SmallVec<[Value<'_>; 8]> {
    let mut r = Reader(row);
    let mut values = SmallVec::new();
    while !r.is_empty() {
        values.push(r.value());
    }
    values
}

fn union<'s>(
    st: &mut State<'s>,
    q: &'s Query,
    u: &'s SetOperation,
    outer: &[RowRef<'_>],
    tail: &mut Tail<'s>,
    out: &mut Out<'_, 's>,
) -> SqlResult<()> {
    // The rows of everything before the last DISTINCT are kept apart from each other.
    let last_distinct = u.arms.iter().rposition(|(_, distinct)| *distinct);
    let mut key = Vec::new();
    let mut set = last_distinct.map(|_| Distinct::new(st));
    let mut stopped = false;
    for (n, (arm, _)) in u.arms.iter().enumerate() {
        let unique = last_distinct.is_some_and(|l| n <= l);
        query(st, arm, outer, &mut |st, r| {
            let values = row_of(st, arm, q, r)?;
            if let Some(set) = &mut set
                && unique
            {
                put_key(&values, q, &mut key);
                match set.see(st, &key) {
                    Seen::Before => return Ok(Flow::Continue),
                    Seen::New => {}
                    Seen::Later => {
                        let mut row = Vec::new();
                        put_all(&values, &mut row);
                        set.put_aside(&key, &row)?;
                        return Ok(Flow::Continue);
                    }
                }
            }
            let flow = tail.row(st, &values, outer, out)?;
            stopped = flow == Flow::Stop;
            Ok(flow)
        })?;
        if stopped {
            break;
        }
        if last_distinct == Some(n)
            && let Some(set) = set.take()
        {
            set.rest(st, |st, row| {
                let flow = tail.row(st, &read_row(row), outer, out)?;
                stopped = flow == Flow::Stop;
                Ok(flow)
            })?;
            if stopped {
                break;
            }
        }
    }
    Ok(())
}

/// The last byte of a key of INTERSECT and EXCEPT: which side a row is of. The second comes first.
const SECOND: u8 = 0;
const FIRST: u8 = 1;

/// INTERSECT and EXCEPT.
fn matched<'s>(
    st: &mut State<'s>,
    q: &'s Query,
    u: &'s SetOperation,
    outer: &[RowRef<'_>],
    tail: &mut Tail<'s>,
    out: &mut Out<'_, 's>,
) -> SqlResult<()> {
    let mut by_key = Sorter::of(st, u64::MAX, st.limits.table);
    let (mut key, mut record) = (Vec::new(), Vec::new());
    let mut arrival = 0u64;
    for ((arm, _), side) in u.arms.iter().zip([FIRST, SECOND]) {
        query(st, arm, outer, &mut |st, r| {
            let values = row_of(st, arm, q, r)?;
            put_key(&values, q, &mut key);
            key.push(side);
            record.clear();
            if side == FIRST {
                arrival += 1;
                record.extend_from_slice(&arrival.to_be_bytes());
                put_all(&values, &mut record);
            }
            by_key.add_bytes(&key, &record)?;
            Ok(Flow::Continue)
        })?;
    }
    let distinct = u.arms.iter().any(|(_, distinct)| *distinct);
    let mut by_arrival = Sorter::of(st, u64::MAX, st.limits.table);
    let mut group = Group::default();
    by_key.drain(st, |_, key, record| {
        let Some((&side, key)) = key.split_last() else {
            return Ok(Flow::Continue);
        };
        group.begin(key);
        if side == SECOND {
            group.second += 1;
            return Ok(Flow::Continue);
        }
        if group.takes(u.op, distinct) {
            let (arrival, row) = record.split_at(size_of::<u64>());
            by_arrival.add_bytes(arrival, row)?;
        }
        group.first += 1;
        Ok(Flow::Continue)
    })?;
    by_arrival.drain(st, |st, _, row| tail.row(st, &read_row(row), outer, out))
}

/// Rows with one key: how many of each side there were so far.
#[derive(Default)]
struct Group {
    key: Option<Vec<u8>>,
    first: u64,
    second: u64,
}

impl Group {
    /// Begins anew if a key is another than the last.
    fn begin(&mut self, key: &[u8]) {
        if self.key.as_deref() == Some(key) {
            return;
        }
        let own = self.key.get_or_insert_default();
        own.clear();
        own.extend_from_slice(key);
        (self.first, self.second) = (0, 0);
    }

    /// Whether the next row of the first side is one of the result; all of the second side are known.
    fn takes(&self, op: SetOp, distinct: bool) -> bool {
        let shared = match distinct {
            // Once, however often it is there.
            true if self.first > 0 => return false,
            true => self.second > 0,
            false => self.first < self.second,
        };
        shared == (op == SetOp::Intersect)
    }
}

/// What comes after the operation: ORDER BY, LIMIT.
struct Tail<'s> {
    u: &'s SetOperation,
    sort: Option<Sorter<'s>>,
    offset: u64,
    count: u64,
    /// All rows count, also those beyond the limit.
    calc: bool,
    seen: u64,
    sent: u64,
    key: Vec<u8>,
}

impl<'s> Tail<'s> {
    fn finish(mut self, st: &mut State<'s>, out: &mut Out<'_, 's>) -> SqlResult<Counts> {
        if let Some(sort) = self.sort.take() {
            sort.count_rows();
            sort.rows(st, self.offset, self.count, |st, r| {
                self.sent += 1;
                out(st, r)
            })?;
        }
        let found = if self.calc { self.seen } else { self.sent };
        Ok(Counts { found })
    }

    fn row(
        &mut self,
        st: &mut State<'s>,
        values: &[Value<'_>],
        outer: &[RowRef<'_>],
        out: &mut Out<'_, 's>,
    ) -> SqlResult<Flow> {
        self.seen += 1;
        if let Some(sort) = &mut self.sort {
            let mut rows: Rows<'_> = Rows::from_slice(&outer[..self.u.base.min(outer.len())]);
            rows.push(RowRef::Values(values));
            let cx = st.context(&rows);
            self.key.clear();
            for o in &self.u.order {
                let v = o.expr.expr.eval(&cx)?;
                encode_sort_value(&v, &o.expr.expr.ty, o.desc, &mut self.key);
            }
            sort.add(&self.key, values)?;
            return Ok(Flow::Continue);
        }
        if self.seen <= self.offset || self.sent >= self.count {
            return Ok(Flow::Continue);
        }
        self.sent += 1;
        let flow = out(st, values)?;
        Ok(if self.sent >= self.count && !self.calc {
            Flow::Stop
        } else {
            flow
        })
    }
}
