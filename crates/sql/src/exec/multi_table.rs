//! UPDATE and DELETE of several tables.
//!
//! First the join runs, its rows locked as they are read, and what is to become of each row of each table is put aside; then the
//! changes are made. A row that the join meets several times changes as it was met first. Sorting by table and key brings those
//! together, and has each table changed in the order of its clustered index. What UPDATE calls by two names changes under the one, then, as it has
//! become, under the other; neither changes where its rows lie (error 1706 when the statement is bound).

use super::Outcome;
use super::block;
use super::dml::{self, DmlOptions};
use super::levels;
use super::sort::Sorter;
use super::state::{Flow, Rows, State};
use super::update;
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::plan::dml::{MultiTableDml, Target};
use crate::row::{Reader, put_bytes};
use crate::write::{NewRow, RowLocator, RowWriter, StoredRow, Updated};

/// Bytes of a number in keys.
const WORD: usize = 8;

/// Runs it.
pub fn run<'s>(
    st: &mut State<'s>,
    p: &'s MultiTableDml,
    dml: &DmlOptions<'s>,
) -> SqlResult<Outcome> {
    st.places = vec![RowLocator::default(); p.find.sources.len()];
    let mut writers: Vec<RowWriter<'s>> = p.targets.iter().map(|t| writer(st, p, t, dml)).collect();
    let found = find(st, p, &mut writers)?;
    let (mut matched, mut changed) = (0u64, 0u64);
    let mut last = Vec::new();
    found.drain(st, |st, key, record| {
        let (row, _) = key.split_at(key.len() - WORD);
        if *row != last[..] {
            last.clear();
            last.extend_from_slice(row);
            matched += 1;
            changed += u64::from(change(st, p, &mut writers, row, record)?);
        }
        Ok(Flow::Continue)
    })?;
    writers.into_iter().for_each(|mut w| st.writer_done(&mut w));
    Ok(if p.deletes {
        Outcome {
            affected: changed,
            ..Outcome::default()
        }
    } else {
        dml::updated(st, matched, changed, dml.found_rows)
    })
}

/// The writer of one of the tables.
fn writer<'s>(
    st: &mut State<'s>,
    p: &'s MultiTableDml,
    target: &'s Target,
    dml: &DmlOptions<'s>,
) -> RowWriter<'s> {
    let t = &st.plan.tables[target.table];
    let given = dml::given_partitions(&p.find, target.source);
    let mut writer = st.writer(t, given, st.policy(p.ignore), dml);
    writer.assigns_to(|c| target.set.iter().any(|(s, _)| *s == c));
    writer
}

/// Which of the targets a row is put aside for: DELETE may name a table twice, and its rows go once.
fn aim(p: &MultiTableDml, at: usize) -> usize {
    let same = |t: &Target| t.table == p.targets[at].table;
    match p.deletes {
        true => p.targets.iter().position(same).unwrap_or(at),
        false => at,
    }
}

/// Runs the join. Keys: target, partition, clustered key, number of the join's row; records: the row's image, and the one that
/// SET makes of it, which is empty if that is the same.
fn find<'s>(
    st: &mut State<'s>,
    p: &'s MultiTableDml,
    writers: &mut [RowWriter<'s>],
) -> SqlResult<Sorter<'s>> {
    let b = &p.find;
    let mut found = Sorter::new(st, u64::MAX);
    let once = block::once_values(st, b, &[])?;
    let rows = block::first_rows(b, &[], &once);
    if !st.pass(b, &b.gate, &rows)? {
        return Ok(found);
    }
    let (mut key, mut record, mut new) = (Vec::new(), Vec::new(), Vec::new());
    let mut met = 0u64;
    levels::run(st, b, &b.levels, &rows, &mut |st, rows| {
        met += 1;
        for (at, (target, writer)) in p.targets.iter().zip(&mut *writers).enumerate() {
            // NULLs of an outer join are no row.
            let RowRef::Stored(_, old) = rows[target.source] else {
                continue;
            };
            record.clear();
            put_bytes(old, &mut record);
            if !p.deletes {
                writer.at_row(met);
                let mut row = NewRow::default();
                let (set, source) = (&target.set, target.source);
                writer.begin_update(old, &mut row);
                update::assigned(st, b, source, set, writer, rows, &mut row)?;
                if target.through.is_some() && writer.differs(st.env, old, &mut row)? {
                    let mut now: Rows<'_> = Rows::from_slice(rows);
                    now[source] = RowRef::Values(row.values());
                    if !st.admits(target.through.as_ref(), &now, p.ignore)? {
                        continue;
                    }
                }
                writer.encode(&row, &mut new)?;
                let differs = new[..] != *old;
                put_bytes(if differs { &new } else { &[] }, &mut record);
            }
            let place = &st.places[target.source];
            key.clear();
            key.extend_from_slice(&(aim(p, at) as u64).to_be_bytes());
            key.extend_from_slice(&u64::from(place.part).to_be_bytes());
            key.extend_from_slice(&place.key);
            key.extend_from_slice(&met.to_be_bytes());
            found.add_bytes(&key, &record)?;
        }
        Ok(Flow::Continue)
    })?;
    Ok(found)
}

/// Changes or deletes a row; whether it did.
fn change<'s>(
    st: &mut State<'s>,
    p: &MultiTableDml,
    writers: &mut [RowWriter<'s>],
    row: &[u8],
    record: &[u8],
) -> SqlResult<bool> {
    let word = |at: usize| {
        let mut b = [0; WORD];
        b.copy_from_slice(&row[at..at + WORD]);
        u64::from_be_bytes(b) as usize
    };
    let at = word(0);
    let (target, writer) = (&p.targets[at], &mut writers[at]);
    let t = &st.plan.tables[target.table];
    // Under another name it has had its turn.
    let again = !p.deletes && p.targets[..at].iter().any(|o| o.table == target.table);
    let mut r = Reader(record);
    let mut old = StoredRow {
        key: &row[2 * WORD..],
        part: word(WORD) as u32,
        image: r.bytes(),
    };
    let (found, mut image) = (old.image, Vec::new());
    if again || writer.overtakes() {
        if !writer.now(&mut st.write_to(t), &old, &mut image)? {
            return Ok(false);
        }
        old.image = &image;
    }
    if p.deletes {
        return writer.delete(&mut st.write_to(t), &old);
    }
    let new = match r.bytes() {
        [] if writer.has_triggers() => found,
        [] => return Ok(false),
        new => new,
    };
    let mut next = NewRow::default();
    if old.image == found {
        writer.begin_update(new, &mut next);
    } else {
        // What the statement sets, of the row as it has become.
        writer.begin_update(old.image, &mut next);
        let layout = t.schema.layout();
        for (c, _) in &target.set {
            let v = layout.column(&t.schema, new, *c, st.env.zone.get());
            next.put(*c, v);
        }
    }
    let done = writer.update(&mut st.write_to(t), &old, &mut next)?;
    Ok(done == Updated::Changed)
}
