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
use crate::plan::dml::{Assignments, Delete, Given, Update};
use crate::plan::nodes::{Block, LevelFrom, SourceKind};
use crate::row::encode_sort_value;
use crate::value::{self, StoreContext, Value};

/// Takes a row found: clustered key, bytes, position of its partition, the rows of all sources.
type Take<'t, 's> =
    dyn FnMut(&mut State<'s>, &[u8], &[u8], u32, &[RowRef<'_>]) -> SqlResult<()> + 't;

/// Finds the rows of an UPDATE or DELETE. If `collect`, or if they are to be sorted, all are found (and locked) before the first is
/// given to `f`.
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
    let fixed = block::leader_is_fixed(st, b, &rows)?;
    let in_order = b.in_order && fixed;
    let sorts = !b.order.is_empty() && !in_order;
    // What is no lookup of one row, as was planned, may read rows that it changes.
    let mut kept = (collect || sorts || !fixed).then(|| {
        let keep = if sorts { count } else { u64::MAX };
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
            for o in b.order.iter().filter(|_| sorts) {
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
            if !sorts {
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

/// The partitions that a table's PARTITION clause names.
pub fn given_partitions(find: &Block, source: usize) -> Option<&[usize]> {
    match &find.sources.get(source)?.kind {
        SourceKind::Table { partitions, .. } => partitions.as_deref(),
        _ => None,
    }
}

/// A row's values after SET, of which each sees those before it. `source` is the row's among those that the values read.
pub fn assigned<'v, 's: 'v>(
    st: &mut State<'s>,
    find: &'s Block,
    (t, source): (&'s PlanTable, usize),
    set: &'s Assignments,
    old: &'v [u8],
    rows: &[RowRef<'_>],
    cx: &StoreContext<'_>,
) -> SqlResult<SmallVec<[Value<'v>; 16]>> {
    let schema = &*t.schema;
    let tz = st.env.zone.get();
    let mut values: SmallVec<[Value<'v>; 16]> = (0..schema.columns.len())
        .map(|c| schema.layout().column(schema, old, c, tz))
        .collect();
    for (c, g) in set {
        let column = &schema.columns[*c];
        values[*c] = match g {
            Given::Default => value::default_value(column, cx)?,
            Given::Value { value, reads_new } => {
                let v = if *reads_new || !value.subqueries.is_empty() {
                    let mut now: Rows<'_> = Rows::from_slice(rows);
                    now[source] = RowRef::Values(&values);
                    st.with_subqueries(find, &value.subqueries, &now, |st, rows| {
                        Ok(value.expr.eval(&st.context(rows))?.into_owned())
                    })?
                } else {
                    // Owned unless it is a number: it must outlive the borrow of this row's sources.
                    value.expr.eval(&st.context(rows))?.into_owned()
                };
                value::store(v, column, cx)?
            }
        };
    }
    Ok(values)
}

/// Where changed rows are written, and by which rules.
pub struct Written<'w> {
    /// The table.
    pub t: &'w PlanTable,
    /// What the statement sets.
    pub set: &'w Assignments,
    /// PARTITION (...).
    pub given: Option<&'w [usize]>,
    /// IGNORE.
    pub ignore: bool,
}

/// Writes a changed row, whose values after the change are given too; `false` if IGNORE passed over an error.
pub fn put(
    st: &mut State<'_>,
    to: &Written<'_>,
    row: &Changing<'_>,
    values: &[Value<'_>],
    buffer: &mut Vec<u8>,
) -> SqlResult<bool> {
    let t = to.t;
    let schema = &*t.schema;
    let name = &t.table.def().name;
    let done = match &schema.partitioning {
        None => t.table.update(st.txn, row.key, row.old, row.new),
        Some(by) => match partitions::target(st, t, by, to.given, values, buffer) {
            Err(e) if to.ignore && partitions::ignorable(&e) => {
                st.env.warn(e.code, e.message);
                return Ok(false);
            }
            target => partitions::update(st, t, by, row, target?)?,
        },
    };
    match done {
        Ok(()) => {}
        Err(Error::DuplicateKey { index }) => {
            let e = rows::duplicate(schema, name, index, row.new, st.env.zone.get());
            if !to.ignore {
                return Err(e);
            }
            st.env.warn(e.code, e.message);
            return Ok(false);
        }
        Err(e) => return Err(store_error(e, name)),
    }
    let mut set = to.set.iter().map(|(c, _)| *c);
    if let Some(c) = set.find(|&c| schema.columns[c].auto_increment) {
        let v = values[c].to_u64();
        if v > 0 && v <= i64::MAX as u64 {
            t.table.auto_increment_seen(v);
        }
    }
    Ok(true)
}

/// Deletes a row.
pub fn remove(
    st: &mut State<'_>,
    t: &PlanTable,
    part: usize,
    key: &[u8],
    old: &[u8],
) -> SqlResult<()> {
    let done = match &t.schema.partitioning {
        None => t.table.delete(st.txn, key, old),
        Some(by) => by.open(st.engine, &t.table, part)?.delete(st.txn, key, old),
    };
    done.map_err(|e| store_error(e, &t.table.def().name))
}

/// How an UPDATE's OK describes it.
pub fn updated(st: &State<'_>, matched: u64, changed: u64, found_rows: bool) -> Outcome {
    Outcome {
        affected: if found_rows { matched } else { changed },
        info: format!(
            "Rows matched: {matched}  Changed: {changed}  Warnings: {}",
            st.env.diagnostics.borrow().len()
        ),
        ..Outcome::default()
    }
}

/// Runs UPDATE.
pub fn update<'s>(st: &mut State<'s>, p: &'s Update, found_rows: bool) -> SqlResult<Outcome> {
    let t = &st.plan.tables[p.table];
    let schema = &*t.schema;
    let tz = st.env.zone.get();
    let strict = st.env.sql_mode.get().strict && !p.ignore;
    let mut matched = 0u64;
    let mut changed = 0u64;
    let mut new_row = st.scratch.take();
    let given = given_partitions(&p.find, 0);
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
            let mut values = assigned(st, &p.find, (t, p.find.base), &p.set, old, rows, &cx)?;
            let differs = finish_update(schema, old, &mut values, &mut new_row, tz, &cx, |c| {
                p.set.iter().any(|(s, _)| *s == c)
            })?;
            if !differs {
                return Ok(());
            }
            let row = Changing {
                part: part as usize,
                key,
                old,
                new: &new_row,
            };
            let to = Written {
                t,
                set: &p.set,
                given,
                ignore: p.ignore,
            };
            changed += u64::from(put(st, &to, &row, &values, &mut buffer)?);
            Ok(())
        },
    )?;
    st.scratch.give(new_row);
    st.scratch.give(buffer);
    Ok(updated(st, matched, changed, found_rows))
}

/// Runs DELETE.
pub fn delete<'s>(st: &mut State<'s>, p: &'s Delete) -> SqlResult<Outcome> {
    let t = &st.plan.tables[p.table];
    let mut deleted = 0u64;
    find(st, &p.find, t, false, &mut |st, key, old, part, _| {
        remove(st, t, part as usize, key, old)?;
        deleted += 1;
        Ok(())
    })?;
    Ok(Outcome {
        affected: deleted,
        ..Outcome::default()
    })
}
