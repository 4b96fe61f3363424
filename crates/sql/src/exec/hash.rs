//! Hash joins: the inner side is read once and found again by the bytes of its keys.
//!
//! An inner side that has outgrown `join_buffer_size`, or what the server has, goes to disk in the order of its keys' hashes (see
//! `keyed_rows`). Where nothing asks for rows in the order in which the loops around produce them, those are then put aside too
//! ([`defer`]), sorted by the same hashes, and joined when the loops have ended ([`late`]): each side is written once and read once.
//! Elsewhere (a block whose rows come in the order that was planned with, a LIMIT without ORDER BY, the inner side of an outer join of
//! several tables, UPDATE and DELETE) each row looks its matches up at once: a block is read for each.

use std::rc::Rc;

use super::block;
use super::codec;
use super::keyed_rows::KeyedRows;
use super::levels::{self, Emit};
use super::profile;
use super::row_buffer;
use super::scan::{self, Hit};
use super::sort::Sorter;
use super::state::{Flow, Rows, State};
use crate::error::SqlResult;
use crate::expr::{EvalContext, Expr, RowRef};
use crate::plan::nodes::{
    Access, Block, EqCond, ExprWithSubqueries, HashJoin, Level, LevelFrom, SourceKind,
};
use crate::row::{Reader, encode_sort_value, put_bytes};
use crate::types::SqlType;
use crate::types::derive::has_key_of;
use crate::value::{self, Value};

/// The inner side of a hash join.
pub struct HashSide<'s> {
    /// Its rows, as [`codec::put_row`] has them, and behind them where they are, if that is asked for.
    rows: KeyedRows<'s>,
    /// Whether the blocks around have no part in it.
    fixed: bool,
}

/// The bytes of a key; `false` if it can match nothing (a NULL under `=`).
fn key(
    list: &[Expr],
    types: &[SqlType],
    null_safe: &[bool],
    cx: &EvalContext<'_>,
    out: &mut Vec<u8>,
) -> SqlResult<bool> {
    out.clear();
    for ((e, ty), safe) in list.iter().zip(types).zip(null_safe) {
        let v = e.eval(cx)?;
        if v.is_null() && !safe {
            return Ok(false);
        }
        hash_value(v, &e.ty, ty, cx, out)?;
    }
    Ok(true)
}

/// Appends bytes that are equal for values that compare equal; the type is one of
/// [`crate::types::derive::hashable_type`] for the value's own and another.
pub fn hash_value(
    v: Value<'_>,
    own: &SqlType,
    ty: &SqlType,
    cx: &EvalContext<'_>,
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    let v = match v {
        // Digits beyond its type's take no part in comparisons.
        Value::Decimal(d) => Value::Decimal(own.shown(d)),
        v => v,
    };
    let v = if v.is_null() || has_key_of(own, ty) {
        v
    } else {
        value::cast(v, ty, cx.session)?
    };
    encode_sort_value(&v, ty, false, out);
    Ok(())
}

/// A side being built.
struct Build<'b, 's> {
    b: &'s Block,
    h: &'s HashJoin,
    rows: &'b [RowRef<'b>],
    side: KeyedRows<'s>,
    key: Vec<u8>,
    record: Vec<u8>,
    /// Rows read, kept or not.
    read: u64,
}

impl<'s> Build<'_, 's> {
    /// Takes a row in, if it can match anything.
    fn add(
        &mut self,
        st: &mut State<'s>,
        row: RowRef<'_>,
        hit: Option<&Hit<'_>>,
    ) -> SqlResult<Flow> {
        let (b, h) = (self.b, self.h);
        self.read += 1;
        let mut now: Rows<'_> = Rows::from_slice(self.rows);
        now[h.source] = row;
        if !st.pass(b, &h.build_filter, &now)? {
            return Ok(Flow::Reject);
        }
        let cx = st.context(&now);
        if !key(&h.keys, &h.types, &h.null_safe, &cx, &mut self.key)? {
            return Ok(Flow::Reject);
        }
        self.record.clear();
        codec::put_row(&row, &mut self.record);
        if let Some(hit) = hit
            && !st.places.is_empty()
        {
            put_bytes(hit.clustered_key, &mut self.record);
            put_bytes(&hit.part.to_le_bytes(), &mut self.record);
        }
        self.side.add(st, &self.key, &self.record)?;
        Ok(Flow::Continue)
    }
}

/// Builds an inner side; with how many rows were read for it.
fn build<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    h: &'s HashJoin,
    rows: &[RowRef<'_>],
) -> SqlResult<(HashSide<'s>, u64)> {
    let source = &b.sources[h.source - b.base];
    let mut build = Build {
        b,
        h,
        rows,
        side: KeyedRows::new(st, st.limits.join, false),
        key: Vec::new(),
        record: Vec::new(),
        read: 0,
    };
    match (&source.kind, &h.access) {
        (SourceKind::Table { .. }, Some(access)) => {
            if let Some((table, mode)) = scan::stored(st, source) {
                scan::table(st, table, access, mode, rows, |st, hit| {
                    build.add(st, hit.row, Some(&hit))
                })?;
            }
        }
        _ => match levels::read_once(st, b, source) {
            // Its rows need not be kept twice.
            Some(query) => {
                let places = std::mem::take(&mut st.places);
                let read = block::query(st, query, &[], &mut |st, r| {
                    build.add(st, RowRef::Values(r), None)?;
                    Ok(Flow::Continue)
                });
                st.places = places;
                read?;
            }
            None => {
                let kept = levels::computed(st, source, rows)?;
                let mut reader = kept.reader();
                while let Some(bytes) = reader.next(&kept)? {
                    let values = row_buffer::values(bytes);
                    build.add(st, RowRef::Values(&values), None)?;
                }
            }
        },
    }
    let (mut side, read) = (build.side, build.read);
    side.finish(st)?;
    let fixed = is_fixed(b, h);
    Ok((HashSide { rows: side, fixed }, read))
}

/// Whether an inner side is the same whatever the rows of the blocks around.
fn is_fixed(b: &Block, h: &HashJoin) -> bool {
    let own = |e: &Expr| {
        let mut own = e.is_deterministic(true);
        e.columns(&mut |s, _| own &= s == h.source);
        own
    };
    let conditions =
        |list: &[ExprWithSubqueries]| list.iter().all(|c| c.subqueries.is_empty() && own(&c.expr));
    let source = match &b.sources[h.source - b.base].kind {
        SourceKind::Table { .. } => h.access.as_ref().is_some_and(|a| reads_only(a, &own)),
        SourceKind::Derived { .. } => true,
        SourceKind::Lateral(_) | SourceKind::Virtual { .. } => false,
    };
    source && conditions(&h.build_filter) && h.keys.iter().all(own)
}

/// Whether an access path asks for nothing but what `own` allows.
fn reads_only(a: &Access, own: &dyn Fn(&Expr) -> bool) -> bool {
    let eq = |c: &EqCond| match c {
        EqCond::Value(e) | EqCond::NullSafe(e) => own(e),
        EqCond::IsNull => true,
        EqCond::In(list) => list.iter().all(own),
    };
    let range = |r: &Option<crate::plan::nodes::RangeCond>| {
        r.as_ref().is_none_or(|r| {
            let ends = [&r.lower, &r.upper];
            ends.iter()
                .all(|end| end.as_ref().is_none_or(|e| own(&e.0)))
                && r.like.as_ref().is_none_or(own)
        })
    };
    a.prune.is_none()
        && a.recheck
            .iter()
            .all(|c| c.subqueries.is_empty() && own(&c.expr))
        && a.eq.iter().all(eq)
        && range(&a.range)
        && a.arms
            .iter()
            .all(|arm| arm.eq.iter().all(eq) && range(&arm.range))
}

/// Forgets the sides that an earlier run of a subquery built, where its conditions depend on the blocks around.
pub fn forget(st: &mut State<'_>, levels: &[Level]) {
    for l in levels {
        match &l.from {
            LevelFrom::Hash(h) => {
                if st.hashes[h.id].as_ref().is_some_and(|side| !side.fixed) {
                    st.hashes[h.id] = None;
                }
            }
            LevelFrom::Nest(list) => forget(st, list),
            LevelFrom::Table(..) | LevelFrom::Rows(_) => {}
        }
    }
}

/// Forgets the sides of a block that hold the rows of a derived table.
pub fn forget_derived(st: &mut State<'_>, b: &Block, levels: &[Level], derived: usize) {
    for l in levels {
        match &l.from {
            LevelFrom::Hash(h) => {
                if let SourceKind::Derived { derived: own } = b.sources[h.source - b.base].kind
                    && own == derived
                {
                    st.hashes[h.id] = None;
                }
            }
            LevelFrom::Nest(list) => forget_derived(st, b, list, derived),
            LevelFrom::Table(..) | LevelFrom::Rows(_) => {}
        }
    }
}

/// The inner side, built the first time.
fn side<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    h: &'s HashJoin,
    rows: &[RowRef<'_>],
) -> SqlResult<Rc<HashSide<'s>>> {
    if let Some(side) = &st.hashes[h.id] {
        return Ok(side.clone());
    }
    let side = profile::built(st, h, |st| build(st, b, h, rows))?;
    let side = Rc::new(side);
    st.hashes[h.id] = Some(side.clone());
    Ok(side)
}

/// Whether the inner side has no rows to match.
pub fn is_empty<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    h: &'s HashJoin,
    rows: &[RowRef<'_>],
) -> SqlResult<bool> {
    Ok(side(st, b, h, rows)?.rows.is_empty())
}

/// The rows of the inner side that match.
pub fn probe<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    level: &'s Level,
    h: &'s HashJoin,
    rows: &[RowRef<'_>],
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Flow> {
    let side = side(st, b, h, rows)?;
    let mut buffer = st.scratch.take();
    let cx = st.context(rows);
    let usable = key(&h.probes, &h.types, &h.null_safe, &cx, &mut buffer)?;
    if !usable {
        st.scratch.give(buffer);
        return Ok(Flow::Continue);
    }
    let schema = match &b.sources[h.source - b.base].kind {
        SourceKind::Table { schema, .. } => Some(&**schema),
        _ => None,
    };
    let flow = side.rows.each(st, &buffer, |st, record| {
        let mut r = Reader(record);
        let put = codec::row(&mut r);
        let mut now: Rows<'_> = Rows::from_slice(rows);
        now[h.source] = put.row(schema);
        if !r.is_empty() {
            let place = r.bytes();
            let mut part = [0; 4];
            part.copy_from_slice(r.bytes());
            st.place(h.source, place, u32::from_le_bytes(part));
        }
        if st.pass(b, &level.on, &now)? {
            emit(st, &now)
        } else {
            Ok(Flow::Continue)
        }
    })?;
    st.scratch.give(buffer);
    Ok(flow)
}

/// Whether a block's rows may come in any order.
fn in_any_order(st: &State<'_>, b: &Block) -> bool {
    let grouped = |g: &crate::plan::nodes::Group| !g.ordered && !g.first_only;
    !b.in_order
        && st.places.is_empty()
        && b.group.as_ref().is_none_or(grouped)
        // A LIMIT may be reached before all rows around were read.
        && (b.limit.count.is_none() || !b.order.is_empty() || b.group.is_some())
}

/// Puts the row of the loops around aside, to be joined when they have ended, if the inner side is on disk; whether it did.
pub fn defer<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    h: &'s HashJoin,
    rows: &[RowRef<'_>],
) -> SqlResult<bool> {
    let side = side(st, b, h, rows)?;
    if !side.rows.is_spilled() || !in_any_order(st, b) {
        return Ok(false);
    }
    let mut buffer = st.scratch.take();
    let cx = st.context(rows);
    key(&h.probes, &h.types, &h.null_safe, &cx, &mut buffer)?;
    let hash = side.rows.hash(&buffer);
    buffer.clear();
    for row in &rows[b.base..] {
        codec::put_row(row, &mut buffer);
    }
    st.tick_bytes(buffer.len())?;
    if st.deferred.is_empty() {
        st.deferred.resize_with(st.hashes.len(), || None);
    }
    let mut sorter = match st.deferred[h.id].take() {
        Some(sorter) => sorter,
        None => Sorter::of(st, u64::MAX, st.limits.join),
    };
    sorter.add_bytes(&hash.to_be_bytes(), &buffer)?;
    st.deferred[h.id] = Some(sorter);
    st.scratch.give(buffer);
    Ok(true)
}

/// Joins the rows that were put aside, with `f` for each of them. `rows`: those of the blocks around.
pub fn late<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    h: &HashJoin,
    rows: &[RowRef<'_>],
    mut f: impl FnMut(&mut State<'s>, &[RowRef<'_>]) -> SqlResult<Flow>,
) -> SqlResult<Flow> {
    let Some(sorter) = st.deferred.get_mut(h.id).and_then(Option::take) else {
        return Ok(Flow::Continue);
    };
    let mut flow = Flow::Continue;
    sorter.drain(st, |st, _, bytes| {
        let put = codec::block_rows(b, bytes);
        let now = put_back(b, &put, rows);
        flow = f(st, &now)?;
        Ok(flow)
    })?;
    Ok(if flow == Flow::Stop {
        Flow::Stop
    } else {
        Flow::Continue
    })
}

/// The rows in sight with those of a block as they were put.
pub fn put_back<'r>(b: &'r Block, put: &'r [codec::PutRow<'_>], rows: &[RowRef<'r>]) -> Rows<'r> {
    let mut now: Rows<'_> = Rows::from_slice(rows);
    for (n, p) in put.iter().enumerate() {
        let schema = match b.sources.get(n).map(|s| &s.kind) {
            Some(SourceKind::Table { schema, .. }) => Some(&**schema),
            _ => None,
        };
        now[b.base + n] = p.row(schema);
    }
    now
}
