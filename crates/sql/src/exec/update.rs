//! UPDATE and DELETE of one table.

use millpond_store::ReadMode;

use super::Outcome;
use super::block;
use super::dml::{DmlOptions, given_partitions, updated};
use super::scan;
use super::sort::Sorter;
use super::state::{Flow, Rows, State};
use crate::error::SqlResult;
use crate::expr::{Expr, ExprKind, RowRef};
use crate::logical::PlanTable;
use crate::plan::dml::{Assignments, Delete, Given, Update};
use crate::plan::nodes::{Block, LevelFrom};
use crate::row::{Reader, encode_sort_value, put_bytes};
use crate::value::Value;
use crate::write::{NewRow, RowWriter, StoredRow, Updated};

/// Takes a row found, its number as messages have it, and the rows of all sources. Whether it counts towards LIMIT.
type Take<'t, 's> =
    dyn FnMut(&mut State<'s>, &StoredRow<'_>, u64, &[RowRef<'_>]) -> SqlResult<bool> + 't;

/// Finds the rows of an UPDATE or DELETE. If `collect`, or if they are to be sorted, all are found (and locked) before the first is
/// given to `f`. `all_count`: none is passed over. As in MySQL the rows of messages are numbered as they are read, with those that
/// the conditions leave out, unless all are found first.
fn find<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    t: &'s PlanTable,
    collect: bool,
    all_count: bool,
    f: &mut Take<'_, 's>,
) -> SqlResult<()> {
    let Some(level) = b.levels.first() else {
        return Ok(());
    };
    let LevelFrom::Table(source, access) = &level.from else {
        return Ok(());
    };
    let (_, count) = block::limits(st, &b.limit)?;
    let once = block::once_values(st, b, &[])?;
    let rows = block::first_rows(b, &[], &once);
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
    let mut number = 0u64;
    let fixed = block::leader_is_fixed(st, b, &rows)?;
    let in_order = b.in_order && fixed;
    let sorts = !b.order.is_empty() && !in_order;
    // What is no lookup of one row, as was planned, may read rows that it changes.
    let mut kept = (collect || sorts || !fixed).then(|| {
        let keep = if sorts && all_count { count } else { u64::MAX };
        Sorter::new(st, keep)
    });
    let mut key = Vec::new();
    let mut record = Vec::new();
    scan::table(st, t, access, mode, &rows, |st, hit| {
        number += 1;
        let mut now: Rows<'_> = Rows::from_slice(&rows);
        now[*source] = hit.row;
        let index = (hit.inexact, hit.undecided);
        if !scan::passes(st, b, access, index, &now)? {
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
            put_bytes(hit.clustered_key, &mut record);
            put_bytes(hit.bytes, &mut record);
            if partitioned {
                put_bytes(&hit.part.to_le_bytes(), &mut record);
            }
            kept.add_bytes(&key, &record)?;
            if !sorts {
                left -= 1;
            }
        } else {
            let row = StoredRow {
                key: hit.clustered_key,
                part: hit.part,
                image: hit.bytes,
            };
            left -= u64::from(f(st, &row, number, &now)?);
        }
        Ok(if left == 0 {
            Flow::Stop
        } else {
            Flow::Continue
        })
    })?;
    if let Some(kept) = kept {
        if sorts {
            kept.count_rows();
        }
        number = 0;
        kept.drain(st, |st, _, record| {
            let mut r = Reader(record);
            let (clustered_key, bytes) = (r.bytes(), r.bytes());
            let mut part = [0; 4];
            if partitioned {
                part.copy_from_slice(r.bytes());
            }
            let mut now: Rows<'_> = Rows::from_slice(&rows);
            now[*source] = RowRef::Stored(&t.schema, bytes);
            let row = StoredRow {
                key: clustered_key,
                part: u32::from_le_bytes(part),
                image: bytes,
            };
            number += 1;
            let counts = f(st, &row, number, &now)?;
            if sorts && counts {
                left -= 1;
            }
            Ok(if sorts && left == 0 {
                Flow::Stop
            } else {
                Flow::Continue
            })
        })?;
    }
    Ok(())
}

/// Makes a row that was begun as SET leaves it, whose values each see those before. `source` is the row's among those that the
/// values read.
pub fn assigned<'v, 's: 'v>(
    st: &mut State<'s>,
    find: &'s Block,
    source: usize,
    set: &'s Assignments,
    writer: &RowWriter<'s>,
    rows: &[RowRef<'_>],
    row: &mut NewRow<'v>,
) -> SqlResult<()> {
    for (c, g) in set {
        let Given::Value { value, reads_new } = g else {
            writer.assign_default(st.env, row, *c)?;
            continue;
        };
        if is_itself(&value.expr, source, *c) {
            continue;
        }
        let v = if *reads_new || !value.subqueries.is_empty() {
            let mut now: Rows<'_> = Rows::from_slice(rows);
            now[source] = RowRef::Values(row.values());
            st.lazily(find, &now, |cx| Ok(value.expr.eval(cx)?.into_owned()))?
        } else {
            // Owned unless it is a number: it must outlive the borrow of this row's sources.
            value.expr.eval(&st.context(rows))?.into_owned()
        };
        writer.assign_from(st.env, row, *c, (v, &value.expr.ty))?;
    }
    Ok(())
}

/// Whether a column is given what it has: then nothing is converted, and nothing refused.
pub(super) fn is_itself(value: &Expr, row: usize, to: usize) -> bool {
    matches!(value.kind, ExprKind::Column { source, column, .. } if (source, column) == (row, to))
}

/// Whether what a column is given may be made of the row as it is then.
fn reads_row(given: &Given) -> bool {
    match given {
        Given::Value { value, reads_new } => *reads_new || !value.subqueries.is_empty(),
        _ => true,
    }
}

/// Runs UPDATE.
pub fn update<'s>(st: &mut State<'s>, p: &'s Update, dml: &DmlOptions<'s>) -> SqlResult<Outcome> {
    let t = &st.plan.tables[p.table];
    let mut matched = 0u64;
    let mut changed = 0u64;
    let policy = st.policy(p.ignore);
    let mut writer = st.writer(t, given_partitions(&p.find, 0), policy, dml);
    writer.assigns_to(|c| p.set.iter().any(|(s, _)| *s == c));
    writer.reads_row(p.through.is_some() || p.set.iter().any(|(_, given)| reads_row(given)));
    find(
        st,
        &p.find,
        t,
        p.collect,
        true,
        &mut |st, old, number, rows| {
            matched += 1;
            writer.at_row(number);
            let mut row = NewRow::default();
            let base = p.find.base;
            writer.begin_update(old.image, &mut row);
            assigned(st, &p.find, base, &p.set, &writer, rows, &mut row)?;
            if p.through.is_some() && writer.differs(st.env, old.image, &mut row)? {
                let mut now: Rows<'_> = Rows::from_slice(rows);
                now[base] = RowRef::Values(row.values());
                if !st.admits(p.through.as_ref(), &now, p.ignore)? {
                    return Ok(true);
                }
            }
            let done = writer.update(&mut st.write_to(t), old, &mut row)?;
            changed += u64::from(done == Updated::Changed);
            Ok(true)
        },
    )?;
    st.writer_done(&mut writer);
    Ok(updated(st, matched, changed, dml.found_rows))
}

/// Runs DELETE.
pub fn delete<'s>(st: &mut State<'s>, p: &'s Delete, dml: &DmlOptions<'s>) -> SqlResult<Outcome> {
    let t = &st.plan.tables[p.table];
    let mut deleted = 0u64;
    let policy = st.policy(p.ignore);
    let mut writer = st.writer(t, None, policy, dml);
    let (overtakes, mut image) = (writer.overtakes(), Vec::new());
    find(st, &p.find, t, false, !p.ignore, &mut |st, row, _, _| {
        let mut now = *row;
        // A row found earlier may have gone or changed with the one before.
        if overtakes {
            if !writer.now(&mut st.write_to(t), row, &mut image)? {
                return Ok(false);
            }
            now.image = &image;
        }
        writer.at_row(deleted + 1);
        let done = writer.delete(&mut st.write_to(t), &now)?;
        deleted += u64::from(done);
        Ok(done)
    })?;
    st.writer_done(&mut writer);
    Ok(Outcome {
        affected: deleted,
        ..Outcome::default()
    })
}
