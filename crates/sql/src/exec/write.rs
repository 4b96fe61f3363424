//! UPDATE and DELETE of one table.

use millpond_store::{Error, ReadMode};
use smallvec::SmallVec;

use super::block;
use super::codec::{self, Reader};
use super::insert::finish_update;
use super::partitions::{self, Changing};
use super::rows;
use super::scan;
use super::sort::Sorter;
use super::state::{Flow, Rows, State};
use super::{Outcome, store_error};
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::plan::PlanTable;
use crate::plan::dml::{Delete, Given, Update};
use crate::plan::nodes::{Block, LevelFrom, SourceKind};
use crate::row::encode_sort_value;
use crate::value::{self, StoreContext, Value};

/// Takes a row found: clustered key, bytes, position of its partition, the rows of all sources.
type Take<'t, 's> =
    dyn FnMut(&mut State<'s>, &[u8], &[u8], u32, &[RowRef<'_>]) -> SqlResult<()> + 't;

/// Finds the rows of an UPDATE or DELETE. If `collect`, all are found (and locked) before the first is given to `f`.
fn find<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    t: &'s PlanTable,
    collect: bool,
    f: &mut Take<'_, 's>,
) -> SqlResult<()> {
    let Some(level) = b.levels.first() else {
        return Ok(());
    };
    let LevelFrom::Table(source, access) = &level.from else {
        return Ok(());
    };
    let (_, count) = block::limits(st, &b.limit)?;
    let mut fixed = Vec::new();
    let mut rows: Rows<'_> = Rows::new();
    rows.resize(b.width(), RowRef::Nulls);
    if !b.once.is_empty() {
        fixed = st.subquery_values(&b.subqueries, b.subquery_source(), &b.once, &rows)?;
    }
    if !fixed.is_empty() {
        rows[b.subquery_source()] = RowRef::Values(&fixed);
    }
    if count == 0 || !st.pass(b, &b.gate, &rows)? {
        return Ok(());
    }
    let Some((_, mode)) = scan::stored(st, &b.sources[source - b.base]) else {
        return Ok(());
    };
    let mode = match mode {
        ReadMode::Consistent => return Ok(()),
        m => m,
    };
    let partitioned = t.schema.partitioning.is_some();
    let mut left = count;
    let mut kept = collect.then(|| {
        let keep = if b.order.is_empty() { u64::MAX } else { count };
        Sorter::new(st, keep)
    });
    let mut key = Vec::new();
    let mut record = Vec::new();
    scan::table(st, t, access, mode, &rows, |st, hit| {
        let mut now: Rows<'_> = Rows::from_slice(&rows);
        now[*source] = hit.row;
        if hit.inexact && !st.pass(b, &access.recheck, &now)? {
            return Ok(Flow::Reject);
        }
        if !st.pass(b, &level.on, &now)? {
            return Ok(Flow::Reject);
        }
        if let Some(kept) = &mut kept {
            key.clear();
            for o in &b.order {
                let mut push = |v: Value<'_>| {
                    encode_sort_value(&v, &o.expr.expr.ty, o.desc, &mut key);
                };
                if o.expr.subqueries.is_empty() {
                    push(o.expr.expr.eval(&st.context(&now))?);
                } else {
                    st.with_subqueries(b, &o.expr.subqueries, &now, |st, rows| {
                        push(o.expr.expr.eval(&st.context(rows))?);
                        Ok(())
                    })?;
                }
            }
            record.clear();
            codec::put_bytes(hit.clustered_key, &mut record);
            codec::put_bytes(hit.bytes, &mut record);
            if partitioned {
                codec::put_bytes(&hit.part.to_le_bytes(), &mut record);
            }
            kept.add_bytes(&key, &record)?;
            if b.order.is_empty() {
                left -= 1;
            }
        } else {
            f(st, hit.clustered_key, hit.bytes, hit.part, &now)?;
            left -= 1;
        }
        Ok(if left == 0 {
            Flow::Stop
        } else {
            Flow::Continue
        })
    })?;
    if let Some(kept) = kept {
        kept.drain(st, |st, _, record| {
            let mut r = Reader(record);
            let (clustered_key, bytes) = (r.bytes(), r.bytes());
            let mut part = [0; 4];
            if partitioned {
                part.copy_from_slice(r.bytes());
            }
            let mut now: Rows<'_> = Rows::from_slice(&rows);
            now[*source] = RowRef::Stored(&t.schema, bytes);
            f(st, clustered_key, bytes, u32::from_le_bytes(part), &now)?;
            Ok(Flow::Continue)
        })?;
    }
    Ok(())
}

/// The partitions that the statement's PARTITION clause names.
fn given_partitions(find: &Block) -> Option<&[usize]> {
    match &find.sources.first()?.kind {
        SourceKind::Table { partitions, .. } => partitions.as_deref(),
        _ => None,
    }
}

/// Runs UPDATE.
pub fn update<'s>(st: &mut State<'s>, p: &'s Update, found_rows: bool) -> SqlResult<Outcome> {
    let t = &st.plan.tables[p.table];
    let name = &t.table.def().name;
    let schema = &*t.schema;
    let tz = st.env.zone.get();
    let strict = st.env.sql_mode.get().strict && !p.ignore;
    let auto = schema
        .columns
        .iter()
        .position(|c| c.auto_increment)
        .filter(|c| p.set.iter().any(|(s, _)| s == c));
    let mut matched = 0u64;
    let mut changed = 0u64;
    let mut new_row = st.scratch.take();
    let given = given_partitions(&p.find);
    let mut buffer = st.scratch.take();
    find(
        st,
        &p.find,
        t,
        p.collect,
        &mut |st, key, old, part, rows| {
            matched += 1;
            let cx = StoreContext {
                session: st.env,
                strict,
                row: matched,
            };
            let mut values: SmallVec<[Value<'_>; 16]> = (0..schema.columns.len())
                .map(|c| schema.layout().column(schema, old, c, tz))
                .collect();
            for (c, g) in &p.set {
                let column = &schema.columns[*c];
                values[*c] = match g {
                    Given::Default => value::default_value(column, &cx)?,
                    Given::Value { value, reads_new } => {
                        let v = if *reads_new || !value.subqueries.is_empty() {
                            let mut now: Rows<'_> = Rows::from_slice(rows);
                            now[p.find.base] = RowRef::Values(&values);
                            st.with_subqueries(&p.find, &value.subqueries, &now, |st, rows| {
                                Ok(value.expr.eval(&st.context(rows))?.into_owned())
                            })?
                        } else {
                            // Owned unless it is a number: it must outlive the borrow of this row's sources.
                            value.expr.eval(&st.context(rows))?.into_owned()
                        };
                        value::store(v, column, &cx)?
                    }
                };
            }
            let differs = finish_update(schema, old, &mut values, &mut new_row, tz, &cx, |c| {
                p.set.iter().any(|(s, _)| *s == c)
            })?;
            if !differs {
                return Ok(());
            }
            let done = match &schema.partitioning {
                None => t.table.update(st.txn, key, old, &new_row),
                Some(by) => {
                    let target = match partitions::target(st, t, by, given, &values, &mut buffer) {
                        Err(e) if p.ignore && partitions::ignorable(&e) => {
                            st.env.warn(e.code, e.message);
                            return Ok(());
                        }
                        target => target?,
                    };
                    let row = Changing {
                        part: part as usize,
                        key,
                        old,
                        new: &new_row,
                    };
                    partitions::update(st, t, by, &row, target)?
                }
            };
            match done {
                Ok(()) => changed += 1,
                Err(Error::DuplicateKey { index }) => {
                    let e = rows::duplicate(schema, name, index, &new_row, tz);
                    if !p.ignore {
                        return Err(e);
                    }
                    st.env.warn(e.code, e.message);
                    return Ok(());
                }
                Err(e) => return Err(store_error(e, name)),
            }
            if let Some(c) = auto {
                let v = values[c].to_u64();
                if v > 0 && v <= i64::MAX as u64 {
                    t.table.auto_increment_seen(v);
                }
            }
            Ok(())
        },
    )?;
    st.scratch.give(new_row);
    st.scratch.give(buffer);
    Ok(Outcome {
        affected: if found_rows { matched } else { changed },
        info: format!(
            "Rows matched: {matched}  Changed: {changed}  Warnings: {}",
            st.env.diagnostics.borrow().len()
        ),
        ..Outcome::default()
    })
}

/// Runs DELETE.
pub fn delete<'s>(st: &mut State<'s>, p: &'s Delete) -> SqlResult<Outcome> {
    let t = &st.plan.tables[p.table];
    let name = &t.table.def().name;
    let mut deleted = 0u64;
    let collect = !p.find.order.is_empty();
    find(st, &p.find, t, collect, &mut |st, key, old, part, _| {
        let done = match &t.schema.partitioning {
            None => t.table.delete(st.txn, key, old),
            Some(by) => by
                .open(st.engine, &t.table, part as usize)?
                .delete(st.txn, key, old),
        };
        done.map_err(|e| store_error(e, name))?;
        deleted += 1;
        Ok(())
    })?;
    Ok(Outcome {
        affected: deleted,
        ..Outcome::default()
    })
}
