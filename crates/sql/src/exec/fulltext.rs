//! FULLTEXT searches: made ready once a statement, and tables read by them.
//!
//! Reading by a search goes through the entries of each of its terms, brings those of a row together by sorting them by clustered key, and sorts the
//! rows that are found by rank, the best first, equal ones by clustered key. Only for phrases are rows read before that. All of this goes to disk when
//! it is large. Conditions, MATCH among them, are asked of the rows once more: entries only have to find all of them.

use std::borrow::Cow;
use std::ops::Bound;

use millpond_store::{Direction, Fetch, KeyRange, ReadMode, Scan};

use super::block;
use super::scan::{self, Hit};
use super::sort::Sorter;
use super::state::{Flow, State};
use super::store_error;
use crate::error::{SqlError, SqlResult};
use crate::expr::RowRef;
use crate::fulltext::{self, Mode, Query, RELEVANCE_BYTES, count_of};
use crate::logical::{PlanTable, Search};
use crate::plan::nodes::{self, Access, FulltextAccess};
use crate::value::{Value, Zone};

/// As many rows are counted for ranks; of larger tables the number is estimated.
const COUNTED_ROWS: u64 = 10_000;

/// Calls `f` for each row that a search finds, with its clustered key and how often it has each term.
type EachFound<'f, 's> = &'f mut dyn FnMut(&mut State<'s>, &[u8], &[u32]) -> SqlResult<Flow>;

/// A search for the text that a query of one row gives, ready to be held against rows; NULL for NULL.
pub fn search<'s>(
    st: &mut State<'s>,
    search: Search,
    q: &'s nodes::Query,
    rows: &[RowRef<'_>],
) -> SqlResult<Value<'static>> {
    let row = block::collect(st, q, rows, 1)?.pop();
    let text = row.and_then(|r| r.into_vec().into_iter().next());
    let text = match text {
        None | Some(Value::Null) => return Ok(Value::Null),
        Some(text) => text,
    };
    let plan = st.plan;
    let t = &plan.tables[search.table];
    let Some(index) = &t.schema.indexes[search.index].fulltext else {
        return Err(SqlError::new(
            1105,
            "a search of an index that is not FULLTEXT",
        ));
    };
    let collation = fulltext::collation_of(&t.schema, index);
    let mut query = Query::new(index, collation, search.mode, &text.to_text())?;
    weigh(st, t, search.index, &mut query)?;
    if search.mode == Mode::Expansion {
        let mut more = query.clone();
        let mode = ReadMode::Consistent;
        found(
            st,
            t,
            (search.index, &query),
            mode,
            &mut |st, key, counts| {
                if query.rank(counts, None).is_some()
                    && let Some(row) = row_of(st, t, mode, key)?
                {
                    let texts = texts_of(t, search.index, &row);
                    let texts: Vec<&[u8]> = texts.iter().map(|t| &**t).collect();
                    if query.rank(counts, Some(&texts)).is_some() {
                        more.expand(&texts);
                    }
                }
                Ok(Flow::Continue)
            },
        )?;
        weigh(st, t, search.index, &mut more)?;
        query = more;
    }
    Ok(Value::Bytes(Cow::Owned(query.bytes())))
}

/// A scan of index entries alone.
fn entries<'s>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    index: usize,
    range: KeyRange,
    mode: ReadMode,
) -> SqlResult<Scan<'s>> {
    let dir = Direction::Forward;
    let scan = t.table.scan(st.txn, index, range, dir, mode, Fetch::Key);
    scan.map_err(|e| store_error(e, &t.table.def().name))
}

/// The entries of a term.
fn range_of(term: &fulltext::Term) -> KeyRange {
    KeyRange {
        lower: Bound::Included(term.key.clone()),
        upper: Bound::Included(term.key.clone()),
    }
}

/// How many entries there are in a range, counted up to a limit; `None`: more.
fn count<'s>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    index: usize,
    range: KeyRange,
    most: u64,
) -> SqlResult<Option<u64>> {
    let mut scan = entries(st, t, index, range, ReadMode::Consistent)?;
    let mut count = 0;
    loop {
        let next = scan.next(st.txn);
        if next
            .map_err(|e| store_error(e, &t.table.def().name))?
            .is_none()
        {
            return Ok(Some(count));
        }
        st.tick()?;
        count += 1;
        if count > most {
            return Ok(None);
        }
    }
}

/// Gives a search's terms their weights, of the snapshot.
fn weigh<'s>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    index: usize,
    query: &mut Query,
) -> SqlResult<()> {
    let everything = KeyRange {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };
    let rows = match count(st, t, 0, everything, COUNTED_ROWS)? {
        Some(rows) => rows,
        None => t.table.estimate_rows().max(COUNTED_ROWS),
    };
    let mut having = Vec::with_capacity(query.terms().len());
    for term in query.terms() {
        let of_term = count(st, t, index, range_of(term), u64::MAX)?;
        having.push(of_term.unwrap_or(u64::MAX));
    }
    query.weigh(rows, &having);
    Ok(())
}

/// Calls `f` for each row that has terms of a search, in the order of clustered keys.
fn found<'s>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    (index, query): (usize, &Query),
    mode: ReadMode,
    f: EachFound<'_, 's>,
) -> SqlResult<()> {
    let wrap = |e| store_error(e, &t.table.def().name);
    let mut keys = Sorter::new(st, u64::MAX);
    for (n, term) in (0u32..).zip(query.terms()) {
        let mut scan = entries(st, t, index, range_of(term), mode)?;
        while let Some(r) = scan.next(st.txn).map_err(wrap)? {
            st.tick()?;
            let cut = || SqlError::new(1034, "Incorrect key file: an index key is cut short");
            let count = count_of(r.key).ok_or_else(cut)?;
            let mut note = [0; 8];
            note[..4].copy_from_slice(&n.to_be_bytes());
            note[4..].copy_from_slice(&count.to_be_bytes());
            keys.add_bytes(r.clustered_key, &note)?;
        }
    }
    let mut counts = vec![0u32; query.terms().len()];
    let mut last: Option<Vec<u8>> = None;
    let mut flow = Flow::Continue;
    keys.drain(st, |st, key, note| {
        if let Some(before) = &mut last
            && before != key
        {
            flow = f(st, before, &counts)?;
            counts.fill(0);
            before.clear();
            before.extend_from_slice(key);
        }
        last.get_or_insert_with(|| key.to_vec());
        if let (Some(term), Some(times)) = (note.first_chunk::<4>(), note.last_chunk::<4>()) {
            counts[u32::from_be_bytes(*term) as usize] += u32::from_be_bytes(*times);
        }
        Ok(flow)
    })?;
    match last {
        Some(last) if flow != Flow::Stop => f(st, &last, &counts).map(|_| ()),
        _ => Ok(()),
    }
}

/// The row of a clustered key.
fn row_of<'s>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    mode: ReadMode,
    key: &[u8],
) -> SqlResult<Option<Vec<u8>>> {
    let (mut clustered, mut row) = (Vec::new(), Vec::new());
    let found = t.table.get(st.txn, 0, key, mode, &mut clustered, &mut row);
    let found = found.map_err(|e| store_error(e, &t.table.def().name))?;
    Ok(found.then_some(row))
}

/// What a row has in the columns of a FULLTEXT index.
fn texts_of<'r>(t: &'r PlanTable, index: usize, row: &'r [u8]) -> Vec<Cow<'r, [u8]>> {
    let schema = &*t.schema;
    let columns = schema.indexes[index].columns();
    let text = |column| match schema.layout().column(schema, row, column, Zone::UTC) {
        Value::Bytes(text) => Some(text),
        _ => None,
    };
    columns.filter_map(text).collect()
}

/// Bytes that sort ranks from the best to the worst.
fn descending(rank: f32) -> [u8; RELEVANCE_BYTES] {
    let bits = rank.to_bits();
    let ascending = match bits >> 31 {
        0 => bits | 1 << 31,
        _ => !bits,
    };
    (!ascending).to_be_bytes()
}

/// Reads a table by a search: [`scan::table`].
pub fn table<'s, F>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    a: &Access,
    by: &FulltextAccess,
    mode: ReadMode,
    rows: &[RowRef<'_>],
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let search = by.search.eval(&st.context(rows))?.into_owned();
    let Value::Bytes(search) = search else {
        return Ok(Flow::Continue);
    };
    let query = Query::of_bytes(&search)?;
    let mut best = Sorter::new(st, u64::MAX);
    found(st, t, (by.index, &query), mode, &mut |st, key, counts| {
        let mut rank = query.rank(counts, None);
        if rank.is_some() && query.asks_texts() {
            let row = row_of(st, t, mode, key)?;
            rank = row.and_then(|row| {
                let texts = texts_of(t, by.index, &row);
                let texts: Vec<&[u8]> = texts.iter().map(|t| &**t).collect();
                query.rank(counts, Some(&texts))
            });
        }
        if let Some(rank) = rank {
            let mut place = descending(rank).to_vec();
            place.extend_from_slice(key);
            best.add_bytes(&place, &[])?;
        }
        Ok(Flow::Continue)
    })?;
    let mut flow = Flow::Continue;
    best.drain(st, |st, place, _| {
        let key = &place[RELEVANCE_BYTES..];
        let read = scan::point(st, t, (&t.table, 0), a, mode, key, f)?;
        flow = read.unwrap_or(Flow::Continue);
        Ok(flow)
    })?;
    Ok(flow)
}

#[cfg(test)]
mod tests {
    use super::descending;

    #[test]
    fn the_best_ranks_come_first() {
        let ranks = [7.5, 1.0, 0.25, 0.0, -0.5, -1.0];
        let places = ranks.map(descending);
        assert!(places.is_sorted(), "{places:?}");
    }
}
