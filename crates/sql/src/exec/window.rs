//! Window functions.
//!
//! The rows are sorted by each window in turn, its partition first, and each partition is kept while it is worked on; both go to disk
//! when they grow too large. Within a partition everything moves forward: the current row, the rows equal to it in order, the ends of
//! frames and what LAG and LEAD look at, each with a cursor of its own. An aggregate takes in the rows that a frame gains and gives
//! back those that it loses, where it can; else it begins again at the frame's first row.

use smallvec::SmallVec;
use std::cmp::Ordering;

use super::block::{Counts, Out, query};
use super::row_buffer::{Place, RowBuffer, RowReader};
use super::sort::Sorter;
use super::state::{Flow, State};
use crate::error::{SqlError, SqlResult};
use crate::expr::{
    Accumulator, EvalContext, Expr, Frame, FrameBound, MemoryBudget, RowRef, WindowFunction,
    WindowKind,
};
use crate::plan::nodes::{Query, Window, Windowed};
use crate::row::{Reader, encode_sort_value, put_all, put_bytes};
use crate::value::Value;

/// Bytes of a block of kept rows.
const BLOCK_BYTES: usize = 64 << 10;

type Values<'v> = SmallVec<[Value<'v>; 8]>;

/// Runs it: rows of the functions' results and then the input's columns.
pub fn run<'s>(
    st: &mut State<'s>,
    q: &'s Query,
    w: &'s Windowed,
    outer: &[RowRef<'_>],
    out: &mut Out<'_, 's>,
) -> SqlResult<Counts> {
    let results = q.types.len() - w.input.types.len();
    let mut windows = w.windows.iter();
    let Some(first) = windows.next() else {
        return Ok(Counts::default());
    };
    let mut stage = Stage::new(st, q, first);
    query(st, &w.input, outer, &mut |_, r| {
        let mut row: Values<'_> = SmallVec::with_capacity(results + r.len());
        row.resize(results, Value::Null);
        row.extend(r.iter().map(Value::borrowed));
        stage.add(&row)?;
        Ok(Flow::Continue)
    })?;
    for window in windows {
        let mut next = Stage::new(st, q, window);
        stage.run(st, &mut |_, row| {
            next.add(row)?;
            Ok(Flow::Continue)
        })?;
        stage = next;
    }
    let mut found = 0;
    stage.run(st, &mut |st, row| {
        found += 1;
        out(st, row)
    })?;
    Ok(Counts { found })
}

/// The rows of one window.
struct Stage<'s> {
    q: &'s Query,
    window: &'s Window,
    sorter: Sorter<'s>,
    key: Vec<u8>,
    record: Vec<u8>,
}

impl<'s> Stage<'s> {
    fn new(st: &State<'s>, q: &'s Query, window: &'s Window) -> Stage<'s> {
        Stage {
            q,
            window,
            sorter: Sorter::of(st, u64::MAX, st.limits.table),
            key: Vec::new(),
            record: Vec::new(),
        }
    }

    /// Takes a row.
    fn add(&mut self, row: &[Value<'_>]) -> SqlResult<()> {
        let types = &self.q.types;
        self.key.clear();
        for c in &self.window.partition {
            encode_sort_value(&row[*c], &types[*c], false, &mut self.key);
        }
        let partition = self.key.len() as u32;
        for (c, desc) in &self.window.order {
            encode_sort_value(&row[*c], &types[*c], *desc, &mut self.key);
        }
        self.record.clear();
        self.record.extend_from_slice(&partition.to_le_bytes());
        put_all(row, &mut self.record);
        self.sorter.add_bytes(&self.key, &self.record)
    }

    /// Gives the rows with the functions' results to `out`.
    fn run(self, st: &mut State<'s>, out: &mut Out<'_, 's>) -> SqlResult<()> {
        let (q, window) = (self.q, self.window);
        let mut partition = Partition::new(st);
        let mut stopped = false;
        self.sorter.drain(st, |st, key, record| {
            let (len, row) = record.split_at(size_of::<u32>());
            let len = len.try_into().map_or(0, u32::from_le_bytes) as usize;
            let (of, order) = key.split_at(len);
            if partition.len > 0 && partition.key != of {
                stopped = partition.run(st, q, window, out)? == Flow::Stop;
                if stopped {
                    return Ok(Flow::Stop);
                }
                partition = Partition::new(st);
            }
            partition.push(of, order, row)?;
            Ok(Flow::Continue)
        })?;
        if partition.len > 0 && !stopped {
            partition.run(st, q, window, out)?;
        }
        Ok(())
    }
}

/// The rows of a partition in order.
struct Partition<'s> {
    key: Vec<u8>,
    rows: RowBuffer<'s>,
    len: usize,
    record: Vec<u8>,
}

/// A row of a partition: the bytes of its place in order, and its values.
fn read(record: &[u8]) -> (&[u8], Values<'_>) {
    let mut r = Reader(record);
    let order = r.bytes();
    let mut values = SmallVec::new();
    while !r.is_empty() {
        values.push(r.value());
    }
    (order, values)
}

impl<'s> Partition<'s> {
    fn new(st: &State<'s>) -> Partition<'s> {
        Partition {
            key: Vec::new(),
            rows: RowBuffer::new(st, st.limits.table, BLOCK_BYTES),
            len: 0,
            record: Vec::new(),
        }
    }

    fn push(&mut self, key: &[u8], order: &[u8], row: &[u8]) -> SqlResult<()> {
        if self.len == 0 {
            self.key.extend_from_slice(key);
        }
        self.record.clear();
        put_bytes(order, &mut self.record);
        self.record.extend_from_slice(row);
        self.len += 1;
        self.rows.push_bytes(&self.record).map(|_| ())
    }

    fn run(
        &self,
        st: &mut State<'s>,
        q: &'s Query,
        window: &'s Window,
        out: &mut Out<'_, 's>,
    ) -> SqlResult<Flow> {
        let mut budget = MemoryBudget::new(st.memory, st.limits.table);
        let mut running: Vec<Running<'_, 's>> = window
            .functions
            .iter()
            .map(|(at, f)| Running::new(*at, f, window, self, &mut budget))
            .collect();
        let mut main = Cursor::new(self);
        let mut equals = Equals::new(self);
        for at in 0..self.len {
            st.tick()?;
            equals.go_to(at)?;
            let (_, mut values) = read(main.get(at)?);
            let now = Now {
                at,
                first: equals.first,
                end: equals.end,
                group: equals.group,
                len: self.len,
            };
            let mut results: SmallVec<[(usize, Value<'static>); 4]> = SmallVec::new();
            {
                let rows = [RowRef::Values(&values)];
                let cx = st.context(&rows);
                for r in &mut running {
                    results.push((r.at, r.value(&now, &values, &cx, st, &mut budget)?));
                }
            }
            for (at, v) in results {
                values[at] = crate::value::conform(v, &q.types[at]);
            }
            if out(st, &values)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

/// Reads a partition's rows, mostly forward.
struct Cursor<'p, 's> {
    partition: &'p Partition<'s>,
    reader: RowReader,
    /// The row after the one read last, and where that one is.
    next: usize,
    here: Place,
}

impl<'p, 's> Cursor<'p, 's> {
    fn new(partition: &'p Partition<'s>) -> Self {
        let reader = partition.rows.reader();
        let here = reader.place();
        Cursor {
            partition,
            reader,
            next: 0,
            here,
        }
    }

    /// The bytes of a row.
    fn get(&mut self, at: usize) -> SqlResult<&[u8]> {
        if at + 1 == self.next {
            self.reader.go_to(self.here);
        } else {
            if at < self.next {
                self.reader.seek(0);
                self.next = 0;
            }
            while self.next < at {
                self.reader.next(&self.partition.rows)?;
                self.next += 1;
            }
            self.here = self.reader.place();
            self.next = at + 1;
        }
        let row = self.reader.next(&self.partition.rows)?;
        row.ok_or_else(|| SqlError::new(1105, "A partition has lost a row"))
    }

    /// Makes it stand where another stands.
    fn join(&mut self, other: &Cursor<'p, 's>) {
        self.next = other.next;
        self.here = other.here;
        self.reader.go_to(other.reader.place());
    }
}

/// The rows that are equal in order to the current one.
struct Equals<'p, 's> {
    ahead: Cursor<'p, 's>,
    first: usize,
    end: usize,
    /// Number of such sets so far.
    group: u64,
    key: Vec<u8>,
}

impl<'p, 's> Equals<'p, 's> {
    fn new(partition: &'p Partition<'s>) -> Self {
        Equals {
            ahead: Cursor::new(partition),
            first: 0,
            end: 0,
            group: 0,
            key: Vec::new(),
        }
    }

    fn go_to(&mut self, at: usize) -> SqlResult<()> {
        if at < self.end {
            return Ok(());
        }
        self.group += 1;
        self.first = at;
        self.key.clear();
        let (key, _) = read(self.ahead.get(at)?);
        self.key.extend_from_slice(key);
        self.end = at + 1;
        while self.end < self.ahead.partition.len {
            let mut r = Reader(self.ahead.get(self.end)?);
            if r.bytes() != self.key {
                break;
            }
            self.end += 1;
        }
        Ok(())
    }
}

/// The current row: its position, the set of its equals, how many rows there are.
struct Now {
    at: usize,
    first: usize,
    end: usize,
    group: u64,
    len: usize,
}

/// A function at work.
struct Running<'p, 's> {
    /// Which column its result is.
    at: usize,
    f: &'s WindowFunction,
    /// The ORDER BY column that bounds RANGE frames, and whether it descends.
    order: Option<(usize, bool)>,
    /// At the row that it takes a value of, or at the first row of an aggregate's frame.
    cursor: Cursor<'p, 's>,
    /// Where the ends of a RANGE frame are, so far.
    start: Bound<'p, 's>,
    end: Bound<'p, 's>,
    aggregate: Option<Aggregate<'p, 's>>,
}

/// An end of a RANGE frame that goes by values.
struct Bound<'p, 's> {
    cursor: Cursor<'p, 's>,
    at: usize,
}

/// An aggregate over the rows of a frame.
struct Aggregate<'p, 's> {
    state: Accumulator,
    /// The rows that it has taken in.
    rows: (usize, usize),
    lead: Cursor<'p, 's>,
    last: Option<Value<'static>>,
}

fn incorrect(what: &str) -> SqlError {
    SqlError::new(1210, format!("Incorrect arguments to {what}"))
}

impl<'p, 's> Running<'p, 's> {
    fn new(
        at: usize,
        f: &'s WindowFunction,
        window: &Window,
        partition: &'p Partition<'s>,
        budget: &mut MemoryBudget,
    ) -> Self {
        let bound = || Bound {
            cursor: Cursor::new(partition),
            at: 0,
        };
        let aggregate = match &f.kind {
            WindowKind::Aggregate(spec) => Some(Aggregate {
                state: spec.accumulator(budget),
                rows: (0, 0),
                lead: Cursor::new(partition),
                last: None,
            }),
            _ => None,
        };
        Running {
            at,
            f,
            order: window.order.first().copied(),
            cursor: Cursor::new(partition),
            start: bound(),
            end: bound(),
            aggregate,
        }
    }

    fn value(
        &mut self,
        now: &Now,
        row: &[Value<'_>],
        cx: &EvalContext<'_>,
        st: &State<'s>,
        budget: &mut MemoryBudget,
    ) -> SqlResult<Value<'static>> {
        let count = |n: usize| Value::UInt(n as u64);
        Ok(match &self.f.kind {
            WindowKind::RowNumber => count(now.at + 1),
            WindowKind::Rank => count(now.first + 1),
            WindowKind::DenseRank => Value::UInt(now.group),
            WindowKind::PercentRank if now.len == 1 => Value::Double(0.0),
            WindowKind::PercentRank => Value::Double(now.first as f64 / (now.len - 1) as f64),
            WindowKind::CumeDist => Value::Double(now.end as f64 / now.len as f64),
            WindowKind::Ntile => ntile(&self.f.args[0], now, cx)?,
            WindowKind::Lag | WindowKind::Lead => self.shifted(now, cx, st)?,
            WindowKind::FirstValue => {
                let (start, end) = self.frame(now, row, cx)?;
                self.value_at((start < end).then_some(start), st)?
            }
            WindowKind::LastValue => {
                let (start, end) = self.frame(now, row, cx)?;
                self.value_at((start < end).then(|| end - 1), st)?
            }
            WindowKind::NthValue => {
                let nth = whole(&self.f.args[1].eval(cx)?).filter(|n| *n > 0);
                let nth = nth.ok_or_else(|| incorrect("nth_value"))?;
                let (start, end) = self.frame(now, row, cx)?;
                let at = start.checked_add(nth - 1).filter(|at| *at < end);
                self.value_at(at, st)?
            }
            WindowKind::Aggregate(_) => {
                let frame = self.frame(now, row, cx)?;
                self.aggregated(frame, st, budget)?
            }
        })
    }

    /// The argument's value in a row.
    fn value_at(&mut self, at: Option<usize>, st: &State<'s>) -> SqlResult<Value<'static>> {
        let Some(at) = at else {
            return Ok(Value::Null);
        };
        let (_, values) = read(self.cursor.get(at)?);
        let rows = [RowRef::Values(&values)];
        let v = self.f.args[0].eval(&st.context(&rows))?;
        Ok(v.into_owned())
    }

    /// LAG and LEAD.
    fn shifted(
        &mut self,
        now: &Now,
        cx: &EvalContext<'_>,
        st: &State<'s>,
    ) -> SqlResult<Value<'static>> {
        let lag = matches!(self.f.kind, WindowKind::Lag);
        let by = match self.f.args.get(1) {
            None => 1,
            Some(e) => {
                whole(&e.eval(cx)?).ok_or_else(|| incorrect(if lag { "lag" } else { "lead" }))?
            }
        };
        let at = match lag {
            true => now.at.checked_sub(by),
            false => now.at.checked_add(by).filter(|at| *at < now.len),
        };
        match (at, self.f.args.get(2)) {
            (None, Some(other)) => Ok(other.eval(cx)?.into_owned()),
            (at, _) => self.value_at(at, st),
        }
    }

    /// The frame of the current row: its first row, and the one behind its last.
    fn frame(
        &mut self,
        now: &Now,
        row: &[Value<'_>],
        cx: &EvalContext<'_>,
    ) -> SqlResult<(usize, usize)> {
        use FrameBound as B;
        let Frame { rows, start, end } = &self.f.frame;
        let (at, len) = (now.at, now.len);
        let by_rows = |e: &Expr| {
            whole(&e.eval(cx)?).ok_or_else(|| {
                SqlError::new(
                    3586,
                    "Window '<unnamed window>': frame start or end is negative, NULL or of non-integral type",
                )
            })
        };
        let order = self.order.map(|(c, desc)| (c, desc, row[c].is_null()));
        let from = match (start, *rows) {
            (B::UnboundedPreceding, _) => 0,
            (B::UnboundedFollowing, _) => len,
            (B::CurrentRow, true) => at,
            (B::CurrentRow, false) => now.first,
            (B::Preceding(e), true) => at.saturating_sub(by_rows(e)?),
            (B::Following(e), true) => at.saturating_add(by_rows(e)?).min(len),
            (B::Preceding(e) | B::Following(e), false) => match order {
                Some((c, desc, false)) => self.start.to(e.eval(cx)?, c, desc, false)?,
                _ => now.first,
            },
        };
        let to = match (end, *rows) {
            (B::UnboundedPreceding, _) => 0,
            (B::UnboundedFollowing, _) => len,
            (B::CurrentRow, true) => at + 1,
            (B::CurrentRow, false) => now.end,
            (B::Preceding(e), true) => (at + 1).saturating_sub(by_rows(e)?),
            (B::Following(e), true) => (at + 1).saturating_add(by_rows(e)?).min(len),
            (B::Preceding(e) | B::Following(e), false) => match order {
                Some((c, desc, false)) => self.end.to(e.eval(cx)?, c, desc, true)?,
                _ => now.end,
            },
        };
        Ok((from, to.max(from)))
    }

    /// The aggregate of a frame's rows.
    fn aggregated(
        &mut self,
        (from, to): (usize, usize),
        st: &State<'s>,
        budget: &mut MemoryBudget,
    ) -> SqlResult<Value<'static>> {
        let (WindowKind::Aggregate(spec), Some(a)) = (&self.f.kind, &mut self.aggregate) else {
            return Ok(Value::Null);
        };
        let mut changed = a.last.is_none();
        // What the frame has lost.
        while a.rows.0 < from && a.rows.0 < a.rows.1 {
            let (_, values) = read(self.cursor.get(a.rows.0)?);
            let rows = [RowRef::Values(&values)];
            if !a.state.retract(spec, &st.context(&rows))? {
                break;
            }
            a.rows.0 += 1;
            changed = true;
        }
        if a.rows.0 != from || a.rows.1 > to {
            budget.clear();
            a.state = spec.accumulator(budget);
            self.cursor.get(from.min(self.cursor.partition.len - 1))?;
            a.lead.join(&self.cursor);
            a.rows = (from, from);
            changed = true;
        }
        while a.rows.1 < to {
            let (_, values) = read(a.lead.get(a.rows.1)?);
            let rows = [RowRef::Values(&values)];
            a.state.update(spec, &st.context(&rows), budget)?;
            a.rows.1 += 1;
            changed = true;
        }
        if changed {
            a.last = Some(a.state.finish(spec, st.env, budget)?);
        }
        Ok(a.last.clone().unwrap_or(Value::Null))
    }
}

impl Bound<'_, '_> {
    /// Moves to the first row whose value is at the bound or behind it; `past`: behind it. NULLs are less than all values.
    fn to(&mut self, bound: Value<'_>, column: usize, desc: bool, past: bool) -> SqlResult<usize> {
        while self.at < self.cursor.partition.len {
            let (_, values) = read(self.cursor.get(self.at)?);
            let order = match &values[column] {
                Value::Null => Ordering::Less,
                v => v
                    .compare(&bound, crate::types::Collation::Binary)
                    .unwrap_or(Ordering::Less),
            };
            let order = if desc { order.reverse() } else { order };
            if order.is_gt() || order.is_eq() && !past {
                break;
            }
            self.at += 1;
        }
        Ok(self.at)
    }
}

/// NTILE: the first buckets have one row more where they can't all be alike.
fn ntile(buckets: &Expr, now: &Now, cx: &EvalContext<'_>) -> SqlResult<Value<'static>> {
    let v = buckets.eval(cx)?;
    if v.is_null() {
        return Ok(Value::Null);
    }
    let buckets = whole(&v)
        .filter(|n| *n > 0)
        .ok_or_else(|| incorrect("ntile"))?;
    let (each, larger) = (now.len / buckets, now.len % buckets);
    let in_larger = larger * (each + 1);
    let bucket = match now.at < in_larger {
        true => now.at / (each + 1),
        false => larger + (now.at - in_larger) / each,
    };
    Ok(Value::UInt(bucket as u64 + 1))
}

/// A number of rows.
fn whole(v: &Value<'_>) -> Option<usize> {
    match v {
        Value::Int(n) => usize::try_from(*n).ok(),
        Value::UInt(n) => usize::try_from(*n).ok(),
        Value::Decimal(d) if *d == d.floor() => usize::try_from(d.floor().to_i128()?).ok(),
        Value::Double(n) if n.fract() == 0.0 && *n >= 0.0 => Some(*n as usize),
        _ => None,
    }
}
