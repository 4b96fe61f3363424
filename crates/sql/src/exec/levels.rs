//! The loops of a join. Each level puts its current row beside those of the levels around it and runs
//! the levels inside it; rows are borrowed from where they are read, never copied.

use std::rc::Rc;

use super::block;
use super::hash;
use super::scan;
use super::state::{Flow, Kept2d, Rows, State, row_bytes};
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::plan::nodes::{Block, Level, LevelFrom, Query, Source, SourceKind};
use crate::show::Asked;
use crate::value::Value;

/// Receives the rows of all sources.
pub type Emit<'e, 's> = dyn FnMut(&mut State<'s>, &[RowRef<'_>]) -> SqlResult<Flow> + 'e;

/// Runs the loops.
pub fn run<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    levels: &'s [Level],
    rows: &[RowRef<'_>],
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Flow> {
    let Some((level, inner)) = levels.split_first() else {
        return emit(st, rows);
    };
    if !level.outer {
        return one(st, b, level, rows, &mut |st, rows| {
            run(st, b, inner, rows, emit)
        });
    }
    let mut matched = false;
    let flow = one(st, b, level, rows, &mut |st, rows| {
        matched = true;
        if st.pass(b, &level.filter, rows)? {
            run(st, b, inner, rows, emit)
        } else {
            Ok(Flow::Reject)
        }
    })?;
    if matched || flow == Flow::Stop {
        return Ok(flow);
    }
    let mut now: Rows<'_> = Rows::from_slice(rows);
    nulls(level, &mut now);
    if st.pass(b, &level.filter, &now)? {
        run(st, b, inner, &now, emit)
    } else {
        Ok(Flow::Continue)
    }
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
    match &level.from {
        LevelFrom::Table(source, access) => {
            let Some((table, mode)) = scan::stored(st, &b.sources[source - b.base]) else {
                return Ok(Flow::Continue);
            };
            scan::table(st, table, access, mode, rows, |st, hit| {
                let mut now: Rows<'_> = Rows::from_slice(rows);
                now[*source] = hit.row;
                if hit.inexact && !st.pass(b, &access.recheck, &now)? {
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
            if let Some(query) = read_once(st, b, level, *source) {
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
            let kept = computed(st, &b.sources[source - b.base], rows)?;
            for r in kept.iter() {
                st.tick()?;
                st.examined += 1;
                let mut now: Rows<'_> = Rows::from_slice(rows);
                now[*source] = RowRef::Values(r);
                if st.pass(b, &level.on, &now)? && emit(st, &now)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            Ok(Flow::Continue)
        }
        LevelFrom::Hash(h) => hash::probe(st, b, level, h, rows, emit),
        LevelFrom::Nest(list) => run(st, b, list, rows, &mut |st, rows| {
            if st.pass(b, &level.on, rows)? {
                emit(st, rows)
            } else {
                Ok(Flow::Reject)
            }
        }),
    }
}

/// The query of a derived table that is read once, by the outermost loop of a block that runs once.
fn read_once<'s>(st: &State<'s>, b: &Block, level: &Level, source: usize) -> Option<&'s Query> {
    match &b.sources[source - b.base].kind {
        SourceKind::Derived { derived, .. }
            if b.base == 0 && b.levels.first().is_some_and(|l| std::ptr::eq(l, level)) =>
        {
            let d = &st.plan.derived[*derived];
            (d.uses == 1).then_some(&d.query)
        }
        _ => None,
    }
}

/// The rows of a derived or virtual table, computed once per statement (derived) or now (virtual).
pub fn computed<'s>(
    st: &mut State<'s>,
    s: &'s Source,
    rows: &[RowRef<'_>],
) -> SqlResult<Rc<Kept2d>> {
    match &s.kind {
        SourceKind::Derived { derived, .. } => {
            if let Some(kept) = &st.derived[*derived] {
                return Ok(kept.clone());
            }
            let plan = st.plan;
            let query = &plan.derived[*derived].query;
            // Its sources have numbers of their own.
            let places = std::mem::take(&mut st.places);
            let kept = Rc::new(block::collect(st, query, &[], usize::MAX)?);
            st.places = places;
            st.derived[*derived] = Some(kept.clone());
            Ok(kept)
        }
        SourceKind::Virtual { table, known, read } => {
            let cx = st.context(rows);
            let mut values = Vec::new();
            for (c, e) in known {
                values.push((*c, e.eval(&cx)?));
            }
            // Elsewhere there are as many rows as definitions; of locks there may be any number.
            let bounded = table.0.database() == "performance_schema";
            let mut bytes = 0;
            let mut out: Kept2d = Vec::new();
            let read = read.as_deref();
            let asked = Asked {
                known: &values,
                read,
            };
            table.0.rows(st.env, asked, &mut |r: &[Value<'_>]| {
                if bounded {
                    bytes += row_bytes(r);
                    st.check_memory(bytes, table.0.name())?;
                }
                // What nobody looks at need not be kept.
                let kept = r.iter().enumerate().map(|(c, v)| match read {
                    Some(read) if !read.contains(&c) => Value::Null,
                    _ => v.clone().into_owned(),
                });
                out.push(kept.collect());
                Ok(())
            })?;
            Ok(Rc::new(out))
        }
        SourceKind::Table { .. } => Ok(Rc::new(Vec::new())),
    }
}
