//! Runs queries: the loops of a block, then grouping, HAVING, the select list, DISTINCT, ORDER BY and
//! LIMIT, in that order.
//!
//! Rows are pushed: a level calls what comes after it with the current rows of all sources. So every row
//! stays borrowed from the page buffer, hash table or derived table it was read from until the
//! next one, which pulling through `&mut self` cannot express without copying each row at each operator.

use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;

use super::batch::{self, Attempt};
use super::distinct::{Distinct, Seen};
use super::group::Groups;
use super::hash;
use super::json_table;
use super::levels;
use super::profile;
use super::recursive;
use super::set_operation;
use super::sort::Sorter;
use super::state::{Flow, Kept2d, Rows, State, row_bytes};
use super::window;
use crate::error::{SqlError, SqlResult};
use crate::expr::{EvalContext, RowRef};
use crate::logical::Limit;
use crate::memory::{Charge, MemoryAccount};
use crate::plan::nodes::{Block, Body, Group, LevelFrom, Query, SourceKind};
use crate::plan::ranges;
use crate::row::{Reader, encode_sort_value, put_all, put_bytes};
use crate::value::convert::exact_integer;
use crate::value::{self, Value};

/// A text that a select list makes is charged for if it is as long: a row may have thousands of columns.
const LONG_BYTES: usize = 64 << 10;

/// Receives a query's rows.
pub type Out<'e, 's> = dyn FnMut(&mut State<'s>, &[Value<'_>]) -> SqlResult<Flow> + 'e;

/// How many rows there were.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Rows there would have been without LIMIT, if they were counted, else those given out.
    pub found: u64,
}

/// Runs a query in the rows of the blocks around it.
pub fn query<'s>(
    st: &mut State<'s>,
    q: &'s Query,
    outer: &[RowRef<'_>],
    out: &mut Out<'_, 's>,
) -> SqlResult<Counts> {
    match &q.body {
        Body::Block(b) if st.profile.is_some() => profile::block(st, b, out, |st, out| {
            block(st, b, outer, q.calc_found_rows, out)
        }),
        Body::Block(b) => block(st, b, outer, q.calc_found_rows, out),
        Body::Set(u) => set_operation::run(st, q, u, outer, out),
        Body::Recursive(r) => recursive::run(st, q, r, out),
        Body::Windowed(w) => window::run(st, q, w, outer, out),
        Body::JsonTable(t) => json_table::run(st, t, outer, out),
        Body::Values(rows) => {
            let mut n = 0;
            for r in rows {
                let cx = st.context(outer);
                let mut values: SmallVec<[Value<'_>; 8]> = SmallVec::new();
                for (e, ty) in r.iter().zip(&q.types) {
                    let v = e.eval(&cx)?;
                    values.push(convert(v, &e.ty, ty, st)?);
                }
                n += 1;
                if out(st, &values)? == Flow::Stop {
                    break;
                }
            }
            Ok(Counts { found: n })
        }
    }
}

/// Collects a query's rows, up to `limit`.
pub fn collect<'s>(
    st: &mut State<'s>,
    q: &'s Query,
    outer: &[RowRef<'_>],
    limit: usize,
) -> SqlResult<Kept2d> {
    let mut rows: Kept2d = Vec::new();
    let mut charge = st.charge();
    query(st, q, outer, &mut |_, r| {
        charge.grow(row_bytes(r))?;
        rows.push(r.iter().map(|v| v.clone().into_owned()).collect());
        Ok(if rows.len() >= limit {
            Flow::Stop
        } else {
            Flow::Continue
        })
    })?;
    Ok(rows)
}

/// A value as another type of the same or a wider kind has it.
pub fn convert<'v>(
    v: Value<'v>,
    from: &crate::types::SqlType,
    to: &crate::types::SqlType,
    st: &State<'_>,
) -> SqlResult<Value<'v>> {
    if from == to
        || v.is_null()
        || from.base == to.base && from.unsigned == to.unsigned && from.decimals == to.decimals
    {
        Ok(v)
    } else {
        value::cast(value::assigned(v, from, to), to, st.env)
    }
}

/// LIMIT and OFFSET as numbers: (offset, count).
pub fn limits(st: &State<'_>, l: &Limit) -> SqlResult<(u64, u64)> {
    let number = |e: &crate::expr::Expr| -> SqlResult<u64> {
        whole(&e.eval(&st.context(&[]))?).ok_or_else(|| {
            SqlError::new(
                1210,
                "Incorrect arguments to LIMIT: a whole number is needed",
            )
        })
    };
    let offset = l.offset.as_ref().map_or(Ok(0), number)?;
    let count = l.count.as_ref().map_or(Ok(u64::MAX), number)?;
    Ok((offset, count))
}

/// A number of rows. Some clients send all parameters as texts, others all numbers as doubles.
fn whole(v: &Value<'_>) -> Option<u64> {
    // Beyond this doubles are not exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match v {
        Value::UInt(n) => Some(*n),
        Value::Int(n) => u64::try_from(*n).ok(),
        Value::Bytes(b) => u64::try_from(exact_integer(b)?).ok(),
        Value::Decimal(d) if *d == d.floor() => u64::try_from(d.floor().to_i128()?).ok(),
        Value::Double(n) if n.fract() == 0.0 && (0.0..EXACT).contains(n) => Some(*n as u64),
        _ => None,
    }
}

/// The values of a block's subqueries that run before all else.
pub fn once_values<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    outer: &[RowRef<'_>],
) -> SqlResult<Vec<Value<'static>>> {
    if b.first.is_empty() {
        return Ok(Vec::new());
    }
    let rows = first_rows(b, outer, &[]);
    st.subquery_values(&b.subqueries, b.subquery_source(), &b.first, &rows)
}

/// The rows of all sources as a block begins: those around it, NULLs for its own, and the values of [`once_values`].
pub fn first_rows<'r>(b: &Block, outer: &[RowRef<'r>], once: &'r [Value<'static>]) -> Rows<'r> {
    let mut rows: Rows<'_> = Rows::from_slice(&outer[..b.base.min(outer.len())]);
    rows.resize(b.width(), RowRef::Nulls);
    if !once.is_empty() {
        rows[b.subquery_source()] = RowRef::Values(once);
    }
    rows
}

/// Runs a block.
fn block<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    outer: &[RowRef<'_>],
    calc: bool,
    out: &mut Out<'_, 's>,
) -> SqlResult<Counts> {
    if b.base > 0 {
        hash::forget(st, &b.levels);
    }
    let once = once_values(st, b, outer)?;
    let rows = first_rows(b, outer, &once);
    let fixed = leader_is_fixed(st, b, &rows)?;
    let mut tail = Tail::new(st, b, calc, b.in_order && fixed)?;
    let open = st.pass(b, &b.gate, &rows)? && tail.wants_rows();
    match &b.group {
        None => {
            if open {
                loops(st, b, &rows, &mut |st, rows| tail.row(st, rows, out))?;
            }
        }
        Some(g) if open && by_batches(st, b, g, &rows, &mut tail, out)? => {}
        Some(g) => {
            let mut groups = Groups::new(st, b, g, fixed);
            let mut flow = Flow::Continue;
            if open {
                flow = loops(st, b, &rows, &mut |st, rows| {
                    groups.row(st, rows, &mut |st, rows| {
                        grouped(st, b);
                        tail.row(st, rows, out)
                    })
                })?;
            }
            if flow != Flow::Stop || g.first_only && fixed {
                groups.finish(st, &rows, &mut |st, rows| {
                    grouped(st, b);
                    tail.row(st, rows, out)
                })?;
            }
        }
    }
    tail.finish(st, out)
}

/// Runs a block's loops, by batches if it is for them.
fn loops<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    rows: &[RowRef<'_>],
    emit: &mut levels::Emit<'_, 's>,
) -> SqlResult<Flow> {
    match batch::rows(st, b, rows, emit)? {
        Attempt::Done(flow) => Ok(flow),
        Attempt::ByRows => levels::run(st, b, &b.levels, rows, emit),
    }
}

/// Runs a block's loops and groups by batches; whether it was for them.
fn by_batches<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    g: &'s Group,
    rows: &[RowRef<'_>],
    tail: &mut Tail<'s>,
    out: &mut Out<'_, 's>,
) -> SqlResult<bool> {
    let done = batch::groups(st, b, g, rows, &mut |st, rows| {
        grouped(st, b);
        tail.row(st, rows, out)
    })?;
    Ok(matches!(done, Attempt::Done(_)))
}

/// Notes a group, if EXPLAIN ANALYZE watches.
fn grouped(st: &mut State<'_>, b: &Block) {
    if let Some(p) = &mut st.profile {
        p.group(b);
    }
}

/// Whether the first table's rows come in the order that was planned with, if any was.
pub fn leader_is_fixed(st: &State<'_>, b: &Block, rows: &[RowRef<'_>]) -> SqlResult<bool> {
    let Some(LevelFrom::Table(source, access)) = b.levels.first().map(|l| &l.from) else {
        return Ok(true);
    };
    let SourceKind::Table { schema, .. } = &b.sources[source - b.base].kind else {
        return Ok(true);
    };
    if access.eq.is_empty() || !access.ordered && !access.unique {
        return Ok(true);
    }
    ranges::are_fixed(access, schema, &st.context(rows))
}

/// What comes after the loops and grouping.
struct Tail<'s> {
    b: &'s Block,
    offset: u64,
    count: u64,
    calc: bool,
    seen: u64,
    sent: u64,
    distinct: Option<Distinct<'s>>,
    sort: Option<Sorter<'s>>,
    plain: bool,
    key: Vec<u8>,
    order: Vec<u8>,
}

impl<'s> Tail<'s> {
    /// `in_order`: rows come sorted.
    fn new(st: &mut State<'s>, b: &'s Block, calc: bool, in_order: bool) -> SqlResult<Tail<'s>> {
        let (offset, count) = limits(st, &b.limit)?;
        let sorts = !b.order.is_empty() && !in_order;
        let sort = sorts.then(|| Sorter::new(st, offset.saturating_add(count)));
        Ok(Tail {
            b,
            offset,
            count,
            calc,
            seen: 0,
            sent: 0,
            distinct: b.distinct.then(|| Distinct::new(st)),
            sort,
            plain: b
                .select
                .iter()
                .chain(b.order.iter().map(|o| &o.expr))
                .all(|r| r.subqueries.is_empty()),
            key: st.scratch.take(),
            order: st.scratch.take(),
        })
    }

    /// Whether any row is looked at: those that OFFSET skips are, though LIMIT 0 wants none behind them.
    fn wants_rows(&self) -> bool {
        self.count > 0 || self.offset > 0 || self.calc
    }

    fn row(
        &mut self,
        st: &mut State<'s>,
        rows: &[RowRef<'_>],
        out: &mut Out<'_, 's>,
    ) -> SqlResult<Flow> {
        let b = self.b;
        if !b.having.is_empty() && !st.pass(b, &b.having, rows)? {
            return Ok(Flow::Reject);
        }
        // Rows that OFFSET skips need no values, unless they must be told apart or sorted.
        if self.sort.is_none() && self.distinct.is_none() {
            self.seen += 1;
            if self.seen < self.offset || self.seen == self.offset && self.count > 0 {
                return Ok(Flow::Continue);
            }
            if self.sent >= self.count {
                return Ok(self.past_limit());
            }
        } else if self.count == 0 && !self.calc {
            return Ok(Flow::Continue);
        }
        if self.plain {
            return self.values(st, rows, out);
        }
        self.lazy_values(st, rows, out)
    }

    fn past_limit(&self) -> Flow {
        if self.calc {
            Flow::Continue
        } else {
            Flow::Stop
        }
    }

    /// Evaluates the select list, then sorts the row away or sends it.
    fn values(
        &mut self,
        st: &mut State<'s>,
        rows: &[RowRef<'_>],
        out: &mut Out<'_, 's>,
    ) -> SqlResult<Flow> {
        let sorted = self.sort.is_some().then_some(self.b);
        let cx = st.context(rows);
        let values = selected(self.b, st.memory, &cx)?;
        let order = |distinct: &[u8], out: &mut Vec<u8>| order_key(sorted, &cx, distinct, out);
        self.take(st, &values, order, out)
    }

    /// The same where subqueries run as they are asked for: it is evaluated in full before anything else is done, and ORDER BY with
    /// it, which may read the values of the select list's subqueries.
    fn lazy_values(
        &mut self,
        st: &mut State<'s>,
        rows: &[RowRef<'_>],
        out: &mut Out<'_, 's>,
    ) -> SqlResult<Flow> {
        let b = self.b;
        let sorted = self.sort.is_some().then_some(b);
        let memory = st.memory;
        let mut by = st.scratch.take();
        let values = st.lazily(b, rows, |cx| {
            let values: SmallVec<[Value<'static>; 8]> = selected(b, memory, cx)?
                .into_iter()
                .map(Value::into_owned)
                .collect();
            order_key(sorted.filter(|b| !by_select(b)), cx, &[], &mut by)?;
            Ok(values)
        })?;
        let order = |distinct: &[u8], out: &mut Vec<u8>| {
            let by_select = sorted.is_some_and(by_select);
            out.clear();
            out.extend_from_slice(if by_select { distinct } else { &by });
            Ok(())
        };
        let flow = self.take(st, &values, order, out)?;
        st.scratch.give(by);
        Ok(flow)
    }

    /// Takes a row of the select list. `order` writes the bytes to sort it by, given those that tell it from other rows.
    fn take(
        &mut self,
        st: &mut State<'s>,
        values: &[Value<'_>],
        order: impl FnOnce(&[u8], &mut Vec<u8>) -> SqlResult<()>,
        out: &mut Out<'_, 's>,
    ) -> SqlResult<Flow> {
        self.key.clear();
        let Some(distinct) = &mut self.distinct else {
            order(&[], &mut self.order)?;
            return self.deliver(st, values, out);
        };
        for (v, e) in values.iter().zip(&self.b.select) {
            encode_sort_value(v, &e.expr.ty, false, &mut self.key);
        }
        match distinct.see(st, &self.key) {
            Seen::Before => Ok(Flow::Continue),
            Seen::New => {
                order(&self.key, &mut self.order)?;
                self.deliver(st, values, out)
            }
            Seen::Later => {
                order(&self.key, &mut self.order)?;
                let mut row = Vec::new();
                put_bytes(&self.order, &mut row);
                put_all(values, &mut row);
                distinct.put_aside(&self.key, &row)?;
                Ok(Flow::Continue)
            }
        }
    }

    /// A row to be sorted (its key is in `order`) or sent.
    fn deliver(
        &mut self,
        st: &mut State<'s>,
        values: &[Value<'_>],
        out: &mut Out<'_, 's>,
    ) -> SqlResult<Flow> {
        if let Some(sort) = &mut self.sort {
            self.seen += 1;
            sort.add(&self.order, values)?;
            return Ok(Flow::Continue);
        }
        if self.b.distinct {
            self.seen += 1;
            if self.seen <= self.offset {
                return Ok(Flow::Continue);
            }
            if self.sent >= self.count {
                return Ok(self.past_limit());
            }
        }
        self.send(st, values, out)
    }

    fn send(
        &mut self,
        st: &mut State<'s>,
        values: &[Value<'_>],
        out: &mut Out<'_, 's>,
    ) -> SqlResult<Flow> {
        self.sent += 1;
        let flow = out(st, values)?;
        if flow == Flow::Stop || self.sent >= self.count && !self.calc {
            return Ok(Flow::Stop);
        }
        Ok(Flow::Continue)
    }

    fn finish(mut self, st: &mut State<'s>, out: &mut Out<'_, 's>) -> SqlResult<Counts> {
        if let Some(distinct) = self.distinct.take() {
            distinct.rest(st, |st, row| {
                let mut r = Reader(row);
                self.order.clear();
                self.order.extend_from_slice(r.bytes());
                let mut values: SmallVec<[Value<'_>; 8]> = SmallVec::new();
                while !r.is_empty() {
                    values.push(r.value());
                }
                self.deliver(st, &values, out)
            })?;
        }
        if let Some(sort) = self.sort.take() {
            sort.count_rows();
            sort.rows(st, self.offset, self.count, |st, r| {
                self.sent += 1;
                out(st, r)
            })?;
        }
        if let Some(p) = &mut st.profile {
            p.seen(self.b, self.seen);
        }
        let found = if self.calc { self.seen } else { self.sent };
        st.scratch.give(std::mem::take(&mut self.key));
        st.scratch.give(std::mem::take(&mut self.order));
        Ok(Counts { found })
    }
}

/// The values of a block's select list.
fn selected<'v>(
    b: &'v Block,
    memory: &Arc<MemoryAccount>,
    cx: &EvalContext<'v>,
) -> SqlResult<SmallVec<[Value<'v>; 8]>> {
    let mut values = SmallVec::with_capacity(b.select.len());
    let mut made: Option<Charge> = None;
    for e in &b.select {
        let v = e.expr.eval(cx)?;
        if let Value::Bytes(Cow::Owned(text)) = &v
            && text.len() >= LONG_BYTES
        {
            made.get_or_insert_with(|| Charge::new(memory))
                .grow(text.len())?;
        }
        values.push(v);
    }
    Ok(values)
}

/// Whether what tells rows apart sorts them too.
fn by_select(b: &Block) -> bool {
    b.distinct && b.order_is_select
}

/// The bytes to sort a row of a block by. `distinct`: those that tell it from other rows, if that was asked.
fn order_key(
    b: Option<&Block>,
    cx: &EvalContext<'_>,
    distinct: &[u8],
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    out.clear();
    let Some(b) = b else { return Ok(()) };
    if by_select(b) {
        out.extend_from_slice(distinct);
        return Ok(());
    }
    for o in &b.order {
        let v = o.expr.expr.eval(cx)?;
        encode_sort_value(&v, &o.expr.expr.ty, o.desc, out);
    }
    Ok(())
}
