//! Reading a stored table by an access path.

use millpond_store::{Direction, Fetch, Isolation, KeyRange, ReadMode, Scan, ScanRow, Table, Txn};
use smallvec::SmallVec;

use super::fulltext;
use super::index_merge;
use super::loose_scan;
use super::partitions;
use super::skip_scan;
use super::spatial;
use super::state::{Flow, Rows, State};
use crate::error::SqlResult;
use crate::expr::{EvalContext, RowRef};
use crate::logical::PlanTable;
use crate::plan::nodes::{Access, Block, CoveredColumn, IndexCondition, Source, SourceKind};
use crate::plan::ranges::{self, Ranges};
use crate::row;
use crate::store_error::store_error;
use crate::types::Schema;
use crate::value::{Value, Zone};

/// A row found: for expressions, and as the store knows it.
pub struct Hit<'h> {
    /// For expressions.
    pub row: RowRef<'h>,
    /// Clustered key.
    pub clustered_key: &'h [u8],
    /// The row's bytes; empty for covering reads.
    pub bytes: &'h [u8],
    /// Whether conditions left to the index's order must be checked.
    pub inexact: bool,
    /// Whether conditions left to the index's entries must be.
    pub undecided: bool,
    /// Position of the partition it is in; 0 in a table without.
    pub part: u32,
}

/// Table and read mode of a stored source.
pub fn stored<'p>(st: &State<'p>, s: &Source) -> Option<(&'p PlanTable, ReadMode)> {
    match &s.kind {
        SourceKind::Table { table, lock, .. } => {
            Some((&st.plan.tables[*table], st.read_mode(*lock)))
        }
        _ => None,
    }
}

/// Calls `f` for every row that the access path reads, in its order.
pub fn table<'s, F>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    a: &Access,
    mode: ReadMode,
    rows: &[RowRef<'_>],
    mut f: F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    if let Some(p) = &t.schema.partitioning {
        return partitions::table(st, t, p, a, mode, rows, &mut f);
    }
    let whole = (&*t.table, 0);
    if let Some(m) = &a.merge {
        return index_merge::table(st, t, whole, a, m, mode, rows, &mut f);
    }
    if let Some(by) = &a.fulltext {
        return fulltext::table(st, t, a, by, mode, rows, &mut f);
    }
    if let Some(by) = &a.spatial {
        return spatial::table(st, t, a, by, mode, rows, &mut f);
    }
    let mut key = st.scratch.take();
    let ranges = ranges::build(a, &t.schema, &st.context(rows), &mut key)?;
    match ranges {
        Ranges::Nothing => {
            st.scratch.give(key);
            Ok(Flow::Continue)
        }
        Ranges::Point => {
            let flow = point(st, t, whole, a, mode, &key, &mut f)?;
            st.scratch.give(key);
            Ok(flow.unwrap_or(Flow::Continue))
        }
        Ranges::List { mut list, inexact } => {
            st.scratch.give(key);
            if a.reverse {
                list.reverse();
            }
            let mut entries = Entries::new(st, a, &t.schema, rows)?;
            for r in list {
                let flow = range(st, t, whole, a, mode, r, inexact, &mut entries, &mut f)?;
                if flow == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            Ok(Flow::Continue)
        }
    }
}

/// Direction of an access, and what it fetches.
pub fn how(a: &Access) -> (Direction, Fetch) {
    (
        if a.reverse {
            Direction::Backward
        } else {
            Direction::Forward
        },
        if a.covering.is_some() {
            Fetch::Key
        } else {
            Fetch::Row
        },
    )
}

/// Whether locks on rows that turn out not to be wanted are given back.
pub fn gives_back(st: &State<'_>, mode: ReadMode) -> bool {
    matches!(mode, ReadMode::Locking(..))
        && matches!(
            st.txn.isolation(),
            Isolation::ReadCommitted | Isolation::ReadUncommitted
        )
}

/// Reads the row with a unique key of a table, or of one of its partitions; `None` if there is none.
#[inline]
pub fn point<'s, F>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    (table, part): (&Table, u32),
    a: &Access,
    mode: ReadMode,
    key: &[u8],
    f: &mut F,
) -> SqlResult<Option<Flow>>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let mut clustered_key = st.scratch.take();
    let mut bytes = st.scratch.take();
    let found = table
        .get(st.txn, a.index, key, mode, &mut clustered_key, &mut bytes)
        .map_err(|e| store_error(e, &t.table.def().name))?;
    let mut flow = None;
    if found {
        st.examined += 1;
        let end = f(
            st,
            Hit {
                row: RowRef::Stored(&t.schema, &bytes),
                clustered_key: &clustered_key,
                bytes: &bytes,
                inexact: false,
                undecided: false,
                part,
            },
        )?;
        flow = Some(if end == Flow::Stop {
            Flow::Stop
        } else {
            Flow::Continue
        });
    }
    st.scratch.give(clustered_key);
    st.scratch.give(bytes);
    Ok(flow)
}

/// Reads a range of a table, or of one of its partitions.
#[inline]
#[allow(clippy::too_many_arguments)] // What a read consists of.
pub fn range<'s, F>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    (table, part): (&Table, u32),
    a: &Access,
    mode: ReadMode,
    range: KeyRange,
    inexact: bool,
    entries: &mut Entries<'_>,
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    // What a locking read passes by would not be locked, nor the gaps between.
    if matches!(mode, ReadMode::Locking(..)) {
        let inexact = inexact || a.skip.is_some();
        return all(st, t, (table, part), a, mode, range, inexact, entries, f);
    }
    if let Some(jump) = &a.jump {
        let whole = (table, part);
        let read = loose_scan::Read {
            t,
            whole,
            a,
            mode,
            inexact,
        };
        return loose_scan::range(st, &read, jump, range, entries, f);
    }
    if let Some(skip) = &a.skip {
        let whole = (table, part);
        return skip_scan::range(st, t, whole, a, mode, skip, range, inexact, entries, f);
    }
    all(st, t, (table, part), a, mode, range, inexact, entries, f)
}

/// Reads all of a range.
#[inline]
#[allow(clippy::too_many_arguments)] // What a read consists of.
pub fn all<'s, F>(
    st: &mut State<'s>,
    t: &'s PlanTable,
    (table, part): (&Table, u32),
    a: &Access,
    mode: ReadMode,
    range: KeyRange,
    inexact: bool,
    entries: &mut Entries<'_>,
    f: &mut F,
) -> SqlResult<Flow>
where
    F: FnMut(&mut State<'s>, Hit<'_>) -> SqlResult<Flow>,
{
    let wrap = |e| store_error(e, &t.table.def().name);
    let (dir, fetch) = how(a);
    let give_back = gives_back(st, mode);
    let mut scan = table
        .scan(st.txn, a.index, range, dir, mode, fetch)
        .map_err(wrap)?;
    while let Some(r) = entries.next(&mut scan, st.txn).map_err(wrap)? {
        st.tick()?;
        st.examined += 1;
        let undecided = entries.undecided();
        let row = match &mut entries.covered {
            None => RowRef::Stored(&t.schema, r.row),
            Some(c) => c.row(a.index, &r, st.env.zone.get())?,
        };
        let flow = f(
            st,
            Hit {
                row,
                clustered_key: r.clustered_key,
                bytes: r.row,
                inexact,
                undecided,
                part,
            },
        )?;
        match flow {
            Flow::Continue => {}
            Flow::Reject if give_back => scan.unlock_row(st.txn),
            Flow::Reject => {}
            Flow::Stop => return Ok(Flow::Stop),
        }
    }
    Ok(Flow::Continue)
}

/// Whether a row passes the conditions that were left to the index, where it did not decide them.
#[inline]
pub fn passes<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    a: &'s Access,
    (inexact, undecided): (bool, bool),
    rows: &[RowRef<'_>],
) -> SqlResult<bool> {
    if inexact && !st.pass(b, &a.recheck, rows)? {
        return Ok(false);
    }
    match &a.pushed {
        Some(c) if undecided => st.pass(b, &c.conds, rows),
        _ => Ok(true),
    }
}

/// Ranges that follow a combination of leading parts.
pub struct Within {
    /// The ranges; the bytes of the leading parts come before theirs.
    pub list: SmallVec<[KeyRange; 1]>,
    /// Whether [`Access::recheck`] must be checked.
    pub inexact: bool,
}

impl Within {
    fn of(
        st: &State<'_>,
        a: &Access,
        s: &Schema,
        rows: &[RowRef<'_>],
    ) -> SqlResult<Option<Within>> {
        let Some(skip) = &a.skip else {
            return Ok(None);
        };
        let (list, inexact) = match ranges::within(skip, a.index, s, &st.context(rows))? {
            Ranges::List { list, inexact } => (list, inexact),
            Ranges::Nothing | Ranges::Point => (SmallVec::new(), false),
        };
        Ok(Some(Within { list, inexact }))
    }
}

/// What is made of an index's entries while it is scanned.
pub struct Entries<'e> {
    /// Their values, if these are all that is read.
    pub covered: Option<Covered<'e>>,
    /// What a skip scan reads of each combination of leading parts.
    pub within: Option<Within>,
    check: Option<Check<'e>>,
}

impl<'e> Entries<'e> {
    /// For an access; `rows`: those of the sources before.
    pub fn new<'s: 'e>(
        st: &State<'s>,
        a: &'e Access,
        schema: &'e Schema,
        rows: &'e [RowRef<'e>],
    ) -> SqlResult<Entries<'e>> {
        let check = a.pushed.as_ref().map(|condition| Check {
            cx: st.context(rows),
            condition,
            index: a.index,
            values: Covered::of(&condition.columns, schema),
            asked: 0,
            undecided: false,
        });
        Ok(Entries {
            covered: a.covering.as_deref().map(|c| Covered::of(c, schema)),
            within: Within::of(st, a, schema, rows)?,
            check,
        })
    }
    /// The next row whose entry passes.
    #[inline]
    pub fn next<'r>(
        &mut self,
        scan: &'r mut Scan<'_>,
        txn: &mut Txn,
    ) -> millpond_store::Result<Option<ScanRow<'r>>> {
        match &mut self.check {
            None => scan.next(txn),
            Some(check) => scan.next_where(txn, Some(&mut |key, row| check.passes(key, row))),
        }
    }
    /// Whether the last row's entry did not decide its conditions.
    #[inline]
    pub fn undecided(&self) -> bool {
        self.check.as_ref().is_some_and(|c| c.undecided)
    }
}

/// Entries asked in a row before one is let pass, so that whoever reads rows sees that the statement was killed.
const ASKED_IN_A_ROW: u32 = 4096;

/// Asks an index's entries for conditions.
struct Check<'e> {
    cx: EvalContext<'e>,
    condition: &'e IndexCondition,
    index: usize,
    values: Covered<'e>,
    asked: u32,
    undecided: bool,
}

impl Check<'_> {
    /// Whether an entry's row is to be looked at. An entry may be of no row that is seen, so what the conditions have to say of it besides
    /// yes or no counts only once they are asked of the row: it passes, undecided.
    fn passes(&mut self, key: &[u8], clustered_key: &[u8]) -> bool {
        self.asked += 1;
        let session = self.cx.session;
        let before = session.diagnostics.borrow().len();
        let passes = match self.asked % ASKED_IN_A_ROW {
            0 => None,
            _ => self.decide(key, clustered_key).ok(),
        };
        let mut said = session.diagnostics.borrow_mut();
        self.undecided = passes.is_none() || said.len() > before;
        said.truncate(before);
        self.undecided || passes == Some(true)
    }
    fn decide(&mut self, key: &[u8], clustered_key: &[u8]) -> SqlResult<bool> {
        let zone = self.cx.session.zone.get();
        self.values.decode(self.index, key, clustered_key, zone)?;
        let mut now: Rows<'_> = Rows::from_slice(self.cx.rows);
        now[self.condition.source] = RowRef::Values(&self.values.values);
        let cx = EvalContext {
            rows: &now,
            ..self.cx
        };
        for c in &self.condition.conds {
            if c.expr.truth(&cx)? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Values read back from index bytes: a whole row, NULL where nothing is read.
pub struct Covered<'c> {
    schema: &'c Schema,
    columns: &'c [CoveredColumn],
    values: Vec<Value<'c>>,
    parts: Vec<Value<'c>>,
    own: bool,
    clustered: bool,
}

impl<'c> Covered<'c> {
    /// For the columns of an access that reads index bytes alone.
    pub fn of(columns: &'c [CoveredColumn], schema: &'c Schema) -> Covered<'c> {
        Covered {
            schema,
            columns,
            values: vec![Value::Null; schema.columns.len()],
            parts: Vec::new(),
            own: columns.iter().any(|c| !c.clustered),
            clustered: columns.iter().any(|c| c.clustered),
        }
    }
    /// The row of an index entry.
    pub fn row(&mut self, index: usize, r: &ScanRow<'_>, tz: Zone) -> SqlResult<RowRef<'_>> {
        self.decode(index, r.key, r.clustered_key, tz)?;
        Ok(RowRef::Values(&self.values))
    }
    fn decode(&mut self, index: usize, own: &[u8], clustered: &[u8], tz: Zone) -> SqlResult<()> {
        for (wanted, clustered, index, key) in [
            (self.own, false, index, own),
            (self.clustered, true, 0, clustered),
        ] {
            if !wanted {
                continue;
            }
            self.parts.clear();
            row::decode_key(self.schema, index, key, tz, &mut self.parts)?;
            for c in self.columns.iter().filter(|c| c.clustered == clustered) {
                self.values[c.column] = std::mem::replace(&mut self.parts[c.part], Value::Null);
            }
        }
        Ok(())
    }
}
