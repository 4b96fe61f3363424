//! The loops of a join. Each level puts its current row beside those of the levels around it and runs
//! the levels inside it; rows are borrowed from where they are read, never copied.

use std::rc::Rc;

use super::block;
use super::hash;
use super::lateral;
use super::profile;
use super::row_buffer::{self, BLOCK_BYTES, RowBuffer};
use super::scan;
use super::state::{Flow, Rows, State};
use crate::env::Asked;
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::plan::nodes::{Block, Level, LevelFrom, LevelKind, Query, Source, SourceKind};
use crate::value::Value;

/// Receives the rows of all sources.
pub type Emit<'e, 's> = dyn FnMut(&mut State<'s>, &[RowRef<'_>]) -> SqlResult<Flow> + 'e;

/// Runs the loops of a block, and what hash joins have put aside until they end.
pub fn run<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    levels: &'s [Level],
    rows: &[RowRef<'_>],
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Flow> {
    if is_empty(st, b, levels, rows)? {
        return Ok(Flow::Continue);
    }
    let flow = rest(st, b, levels, rows, emit)?;
    late(st, b, levels, rows, flow, emit)
}

/// Whether the inner side of a hash join has no rows, so that the whole join has none. Sides that cost less to build than what
/// would be read before they are asked are built to see.
fn is_empty<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    levels: &'s [Level],
    rows: &[RowRef<'_>],
) -> SqlResult<bool> {
    let (mut before, mut around) = (0.0, 1.0);
    for level in levels {
        let e = level.expected;
        if let LevelFrom::Hash(h) = &level.from
            && matches!(level.kind, LevelKind::Inner | LevelKind::Semi)
            && e.once < before
            && hash::is_empty(st, b, h, rows)?
        {
            return Ok(true);
        }
        before += e.once + around * e.each;
        around *= e.out;
    }
    Ok(false)
}

/// Runs the last loops of a block for one row of those before them. [`late`] is to follow when all have run.
pub fn rest<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    levels: &'s [Level],
    rows: &[RowRef<'_>],
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Flow> {
    loops(st, b, levels, true, rows, emit)
}

/// Goes on with what hash joins have put aside while loops ran, which ended with `flow`.
pub fn late<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    levels: &'s [Level],
    rows: &[RowRef<'_>],
    mut flow: Flow,
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Flow> {
    for (n, level) in levels.iter().enumerate() {
        let LevelFrom::Hash(h) = &level.from else {
            continue;
        };
        if flow == Flow::Stop {
            if let Some(aside) = st.deferred.get_mut(h.id) {
                *aside = None;
            }
            continue;
        }
        let inner = &levels[n + 1..];
        flow = hash::late(st, b, h, rows, |st, rows| {
            step(st, b, level, inner, true, rows, emit)
        })?;
    }
    Ok(flow)
}

/// Runs loops. `last`: those of the block, whose rows may wait until they have ended.
fn loops<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    levels: &'s [Level],
    last: bool,
    rows: &[RowRef<'_>],
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Flow> {
    let Some((level, inner)) = levels.split_first() else {
        return emit(st, rows);
    };
    if last
        && let LevelFrom::Hash(h) = &level.from
        && hash::defer(st, b, h, rows)?
    {
        return Ok(Flow::Continue);
    }
    step(st, b, level, inner, last, rows, emit)
}

/// Runs one loop and those inside it.
fn step<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    level: &'s Level,
    inner: &'s [Level],
    last: bool,
    rows: &[RowRef<'_>],
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Flow> {
    match level.kind {
        LevelKind::Inner => {
            return one(st, b, level, rows, &mut |st, rows| {
                loops(st, b, inner, last, rows, emit)
            });
        }
        LevelKind::Semi => return semi(st, b, level, inner, last, rows, emit),
        LevelKind::Outer | LevelKind::Anti => {}
    }
    let anti = level.kind == LevelKind::Anti;
    let mut matched = false;
    let flow = one(st, b, level, rows, &mut |st, rows| {
        matched = true;
        if anti {
            return Ok(Flow::Stop);
        }
        if st.pass(b, &level.filter, rows)? {
            goes_on(st, level);
            loops(st, b, inner, last, rows, emit)
        } else {
            Ok(Flow::Reject)
        }
    })?;
    if matched && anti {
        return Ok(Flow::Reject);
    }
    if matched || flow == Flow::Stop {
        return Ok(flow);
    }
    let mut now: Rows<'_> = Rows::from_slice(rows);
    nulls(level, &mut now);
    if st.pass(b, &level.filter, &now)? {
        goes_on(st, level);
        loops(st, b, inner, last, &now, emit)
    } else {
        Ok(Flow::Continue)
    }
}

/// Notes a row of an outer, a semi- or an anti-join, if EXPLAIN ANALYZE watches.
fn goes_on(st: &mut State<'_>, level: &Level) {
    if let Some(p) = &mut st.profile {
        p.out(level);
    }
}

/// Runs the loops within a semi-join's for its first row.
fn semi<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    level: &'s Level,
    inner: &'s [Level],
    last: bool,
    rows: &[RowRef<'_>],
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Flow> {
    let mut flow = Flow::Reject;
    one(st, b, level, rows, &mut |st, rows| {
        if st.pass(b, &level.filter, rows)? {
            goes_on(st, level);
            flow = loops(st, b, inner, last, rows, emit)?;
        }
        Ok(Flow::Stop)
    })?;
    Ok(flow)
}

/// Sets all sources of a level to NULL.
fn nulls(level: &Level, rows: &mut Rows<'_>) {
    match &level.from {
        LevelFrom::Table(s, _) | LevelFrom::Rows(s) => rows[*s] = RowRef::Nulls,
        LevelFrom::Hash(h) => rows[h.source] = RowRef::Nulls,
        LevelFrom::Nest(list) => list.iter().for_each(|l| nulls(l, rows)),
    }
}

/// The rows of one level that satisfy its conditions.
fn one<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    level: &'s Level,
    rows: &[RowRef<'_>],
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Flow> {
    if st.profile.is_some() {
        return profile::level(st, b, level, rows, emit);
    }
    unwatched(st, b, level, rows, emit)
}

/// The same, whether or not EXPLAIN ANALYZE watches.
pub fn unwatched<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    level: &'s Level,
    rows: &[RowRef<'_>],
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Flow> {
    match &level.from {
        LevelFrom::Table(source, access) => {
            let Some((table, mode)) = scan::stored(st, &b.sources[source - b.base]) else {
                return Ok(Flow::Continue);
            };
            scan::table(st, table, access, mode, rows, |st, hit| {
                let mut now: Rows<'_> = Rows::from_slice(rows);
                now[*source] = hit.row;
                let index = (hit.inexact, hit.undecided);
                if !scan::passes(st, b, access, index, &now)? {
                    return Ok(Flow::Reject);
                }
                if !st.pass(b, &level.on, &now)? {
                    return Ok(Flow::Reject);
                }
                st.place(*source, hit.clustered_key, hit.part);
                emit(st, &now)
            })
        }
        LevelFrom::Rows(source) => {
            let first = b.levels.first().is_some_and(|l| std::ptr::eq(l, level));
            let s = &b.sources[source - b.base];
            if let Some(query) = read_once(st, b, s)
                && first
            {
                // Its rows need not be kept.
                let mut last = Flow::Continue;
                block::query(st, query, &[], &mut |st, r| {
                    let mut now: Rows<'_> = Rows::from_slice(rows);
                    now[*source] = RowRef::Values(r);
                    if st.pass(b, &level.on, &now)? {
                        last = emit(st, &now)?;
                    }
                    Ok(last)
                })?;
                return Ok(last);
            }
            let kept = computed(st, s, rows)?;
            let mut reader = kept.reader();
            while let Some(bytes) = reader.next(&kept)? {
                st.tick()?;
                st.examined += 1;
                let values = row_buffer::values(bytes);
                let mut now: Rows<'_> = Rows::from_slice(rows);
                now[*source] = RowRef::Values(&values);
                if st.pass(b, &level.on, &now)? && emit(st, &now)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            Ok(Flow::Continue)
        }
        LevelFrom::Hash(h) => hash::probe(st, b, level, h, rows, emit),
        LevelFrom::Nest(list) => loops(st, b, list, false, rows, &mut |st, rows| {
            if st.pass(b, &level.on, rows)? {
                emit(st, rows)
            } else {
                Ok(Flow::Reject)
            }
        }),
    }
}

/// The query of a derived table that is read by nothing but a block that runs once.
pub fn read_once<'s>(st: &State<'s>, b: &Block, source: &Source) -> Option<&'s Query> {
    match &source.kind {
        SourceKind::Derived { derived, .. } if b.base == 0 => {
            let d = &st.plan.derived[*derived];
            // What a recursive query reads of itself has no query.
            (d.uses == 1 && st.derived[*derived].is_none()).then_some(&d.query)
        }
        _ => None,
    }
}

/// The rows of a computed table: once per statement (derived), or now (lateral, virtual).
pub fn computed<'s>(
    st: &mut State<'s>,
    s: &'s Source,
    rows: &[RowRef<'_>],
) -> SqlResult<Rc<RowBuffer<'s>>> {
    let mut out = RowBuffer::new(st, st.limits.table, BLOCK_BYTES);
    match &s.kind {
        SourceKind::Derived { derived, .. } => {
            if let Some(kept) = &st.derived[*derived] {
                return Ok(kept.clone());
            }
            let plan = st.plan;
            let query = &plan.derived[*derived].query;
            // Its sources have numbers of their own.
            let places = std::mem::take(&mut st.places);
            block::query(st, query, &[], &mut |_, r| {
                out.push(r)?;
                Ok(Flow::Continue)
            })?;
            st.places = places;
            let kept = Rc::new(out);
            st.derived[*derived] = Some(kept.clone());
            return Ok(kept);
        }
        SourceKind::Virtual { table, known, read } => {
            let cx = st.context(rows);
            let mut values = Vec::new();
            for (c, e) in known {
                values.push((*c, e.eval(&cx)?));
            }
            let read = read.as_deref();
            let asked = Asked {
                known: &values,
                read,
            };
            let mut kept: Vec<Value<'static>> = Vec::new();
            let env = st.env;
            table.0.rows(env, asked, &mut |r: &[Value<'_>]| {
                st.tick()?;
                let Some(read) = read else {
                    return out.push(r);
                };
                // What nobody looks at need not be kept.
                kept.clear();
                kept.resize(r.len(), Value::Null);
                for c in read {
                    kept[*c] = r[*c].clone().into_owned();
                }
                out.push(&kept)
            })?;
        }
        SourceKind::Lateral(l) => return lateral::rows(st, l, rows),
        SourceKind::Table { .. } => {}
    }
    Ok(Rc::new(out))
}
