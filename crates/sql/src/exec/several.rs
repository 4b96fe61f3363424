//! UPDATE and DELETE of several tables.
//!
//! First the join runs, its rows locked as they are read, and what is to become of each row of each table is put aside; then the
//! changes are made. A row that the join meets several times changes as it was met first. Sorting by table and key brings those
//! together, and has each table changed in the order of its clustered index.

use super::Outcome;
use super::codec::{self, Reader};
use super::insert::finish_update;
use super::levels;
use super::partitions::Changing;
use super::sort::Sorter;
use super::state::{Flow, Place, Rows, State};
use super::write::{self, Written};
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::plan::dml::{Several, Target};
use crate::value::{StoreContext, Value};

/// Bytes of a number in keys.
const WORD: usize = 8;

/// Runs it.
pub fn run<'s>(st: &mut State<'s>, p: &'s Several, found_rows: bool) -> SqlResult<Outcome> {
    st.places = vec![Place::default(); p.find.sources.len()];
    let found = find(st, p)?;
    let (mut matched, mut changed) = (0u64, 0u64);
    let mut last = Vec::new();
    let mut buffer = st.scratch.take();
    found.drain(st, |st, key, record| {
        let (row, _) = key.split_at(key.len() - WORD);
        if *row != last[..] {
            last.clear();
            last.extend_from_slice(row);
            matched += 1;
            changed += u64::from(change(st, p, row, record, &mut buffer)?);
        }
        Ok(Flow::Continue)
    })?;
    st.scratch.give(buffer);
    Ok(if p.deletes {
        Outcome {
            affected: changed,
            ..Outcome::default()
        }
    } else {
        write::updated(st, matched, changed, found_rows)
    })
}

/// Runs the join. Keys: table, partition, clustered key, number of the join's row; records: the old row and the new one, which is
/// empty if nothing changes.
fn find<'s>(st: &mut State<'s>, p: &'s Several) -> SqlResult<Sorter<'s>> {
    let b = &p.find;
    let mut found = Sorter::new(st, u64::MAX);
    let mut fixed = Vec::new();
    let mut rows: Rows<'_> = Rows::new();
    rows.resize(b.width(), RowRef::Nulls);
    if !b.once.is_empty() {
        fixed = st.subquery_values(&b.subqueries, b.subquery_source(), &b.once, &rows)?;
    }
    if !fixed.is_empty() {
        rows[b.subquery_source()] = RowRef::Values(&fixed);
    }
    if !st.pass(b, &b.gate, &rows)? {
        return Ok(found);
    }
    let (mut key, mut record, mut new) = (Vec::new(), Vec::new(), Vec::new());
    let mut met = 0u64;
    levels::run(st, b, &b.levels, &rows, &mut |st, rows| {
        met += 1;
        for target in &p.targets {
            // NULLs of an outer join are no row.
            let RowRef::Stored(_, old) = rows[target.source] else {
                continue;
            };
            record.clear();
            codec::put_bytes(old, &mut record);
            if !p.deletes {
                made(st, p, target, (old, met), rows, &mut new)?;
                codec::put_bytes(&new, &mut record);
            }
            let place = &st.places[target.source];
            key.clear();
            key.extend_from_slice(&(target.table as u64).to_be_bytes());
            key.extend_from_slice(&u64::from(place.part).to_be_bytes());
            key.extend_from_slice(&place.key);
            key.extend_from_slice(&met.to_be_bytes());
            found.add_bytes(&key, &record)?;
        }
        Ok(Flow::Continue)
    })?;
    Ok(found)
}

/// Makes a row as UPDATE leaves it; empty if that is as it was.
fn made<'s>(
    st: &mut State<'s>,
    p: &'s Several,
    target: &'s Target,
    (old, row): (&[u8], u64),
    rows: &[RowRef<'_>],
    new: &mut Vec<u8>,
) -> SqlResult<()> {
    let t = &st.plan.tables[target.table];
    let cx = StoreContext {
        session: st.env,
        strict: st.env.sql_mode.get().strict && !p.ignore,
        row,
    };
    let at = (t, target.source);
    let mut values = write::assigned(st, &p.find, at, &target.set, old, rows, &cx)?;
    let tz = st.env.zone.get();
    let set = |c| target.set.iter().any(|(s, _)| *s == c);
    if !finish_update(&t.schema, old, &mut values, new, tz, &cx, set)? {
        new.clear();
    }
    Ok(())
}

/// Changes a row; whether it did.
fn change(
    st: &mut State<'_>,
    p: &Several,
    row: &[u8],
    record: &[u8],
    buffer: &mut Vec<u8>,
) -> SqlResult<bool> {
    let word = |at: usize| {
        let mut b = [0; WORD];
        b.copy_from_slice(&row[at..at + WORD]);
        u64::from_be_bytes(b) as usize
    };
    let (table, part, key) = (word(0), word(WORD), &row[2 * WORD..]);
    let t = &st.plan.tables[table];
    let mut r = Reader(record);
    let old = r.bytes();
    if p.deletes {
        write::remove(st, t, part, key, old)?;
        return Ok(true);
    }
    let new = r.bytes();
    let Some(target) = p.targets.iter().find(|t| t.table == table) else {
        return Ok(false);
    };
    if new.is_empty() {
        return Ok(false);
    }
    let tz = st.env.zone.get();
    let values: Vec<Value<'_>> = (0..t.schema.columns.len())
        .map(|c| t.schema.layout().column(&t.schema, new, c, tz))
        .collect();
    let to = Written {
        t,
        set: &target.set,
        given: write::given_partitions(&p.find, target.source),
        ignore: p.ignore,
    };
    let row = Changing {
        part,
        key,
        old,
        new,
    };
    write::put(st, &to, &row, &values, buffer)
}
