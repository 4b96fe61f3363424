//! Running a block by batches of rows, on several threads: what reads much.
//!
//! | file | owns |
//! |---|---|
//! | `prefix` | which of a block's loops run so |
//! | `rows` | a batch: for each source stored rows, or positions in kept columns |
//! | `vector` | the values of an expression for all rows of a batch |
//! | `read` | columns of stored rows as vectors |
//! | `kernel` | expressions over batches |
//! | `pipeline` | the loops: a batch goes through all of them before the next is read |
//! | `build`, `keys`, `table`, `join` | hash joins |
//! | `group`, `aggregate` | GROUP BY |
//! | `collect` | rows for what goes on row by row |
//! | `workers` | threads, memory, KILL |
//!
//! The first table of a block is read from end to end (or over ranges of its clustered key) as one snapshot sees it, in morsels that
//! workers take until none is left (Leis et al., "Morsel-Driven Parallelism", SIGMOD 2014). Each batch of up to a thousand rows is
//! narrowed by the conditions, joined with the sides that were hashed before, and grouped or collected by its worker. What
//! grouping makes, and rows where a block goes on otherwise (index lookups, subqueries, ORDER BY), go to the session's thread and on as
//! if they had come from the loops of `levels`.
//!
//! Nothing here spills. Whatever outgrows the memory that a run may take, and whatever a batch has no form for, ends the run before
//! anything was given out, and the block runs row by row: results, warnings and errors are that run's alone.

mod aggregate;
mod build;
mod collect;
mod group;
mod join;
mod kernel;
mod keys;
mod pipeline;
mod prefix;
mod read;
mod rows;
mod table;
mod vector;
mod workers;

use millpond_store::{KeyRange, Result as Stored, Table};
use std::ops::Bound;
use std::sync::atomic::Ordering::Relaxed;

use super::levels::Emit;
use super::state::{Flow, State};
use super::store_error;
use crate::error::SqlResult;
use crate::expr::{EvalContext, RowRef};
use crate::logical::PlanTable;
use crate::plan::nodes::{Access, Block, ExprWithSubqueries, Group, LevelKind, SourceKind};
use crate::plan::ranges::{self, Ranges};
use aggregate::is_batchable;
use group::Grouping;
use join::Join;
use kernel::Kernel;
use keys::Keys;
use pipeline::{Beside, More, Morsels, Pipeline};
use prefix::Prefix;
use workers::{Halt, Ran, Shared};

pub use workers::cores;

/// How an attempt went.
pub enum Attempt {
    /// The block's loops (and groups) have run.
    Done(Flow),
    /// They are to run row by row; nothing was given out.
    ByRows,
}

/// Bytes of a morsel's pages, about.
const MORSEL_BYTES: u64 = 256 << 10;
/// Morsels of a table, at most.
const MORSELS: u64 = 1024;

/// A table that is read from end to end.
struct Reading<'s> {
    table: &'s PlanTable,
    source: usize,
    morsels: Morsels,
    /// Conditions that its ranges leave over.
    recheck: &'s [ExprWithSubqueries],
}

impl<'s> Reading<'s> {
    /// Of a source; `None` if there is nothing to read, or one row. `parallel`: several workers may be worth their while.
    fn of(
        st: &mut State<'s>,
        b: &'s Block,
        source: usize,
        access: &'s Access,
        parallel: bool,
        rows: &[RowRef<'_>],
    ) -> Ran<Option<Reading<'s>>> {
        let SourceKind::Table { table, .. } = &b.sources[source - b.base].kind else {
            return Ok(None);
        };
        let t = &st.plan.tables[*table];
        let mut ranges = vec![KeyRange {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        }];
        let mut recheck: &[ExprWithSubqueries] = &[];
        if access.is_bounded() {
            let mut key = Vec::new();
            match ranges::build(access, &t.schema, &st.context(rows), &mut key)? {
                Ranges::List { list, inexact } => {
                    ranges = list.into_vec();
                    if inexact {
                        recheck = &access.recheck;
                    }
                }
                Ranges::Nothing | Ranges::Point => return Ok(None),
            }
        }
        if parallel {
            let failed = |e| Halt::Error(store_error(e, &t.table.def().name));
            let least = prefix::parallel_rows(st);
            let parts = morsels(&t.table, &ranges, access, least).map_err(failed)?;
            let own = parts.div_ceil(ranges.len());
            if own > 1 {
                let split = ranges.iter().map(|r| t.table.split(0, r, own));
                let split: Result<Vec<_>, _> = split.collect();
                ranges = split.map_err(failed)?.into_iter().flatten().collect();
            }
        }
        Ok(Some(Reading {
            table: t,
            source,
            morsels: Morsels::new(ranges),
            recheck,
        }))
    }

    /// Workers that it has work for.
    fn workers(&self, st: &State<'_>) -> usize {
        st.workers().min(self.morsels.len()).max(1)
    }

    /// Loops that begin with it.
    fn pipeline(
        &self,
        st: &State<'s>,
        b: &'s Block,
        mut filter: Vec<Kernel<'s>>,
        joins: Vec<Join<'s>>,
    ) -> Pipeline<'s> {
        let cx = st.context(&[]);
        filter.extend(self.recheck.iter().map(|c| Kernel::new(&c.expr, &cx)));
        Pipeline {
            width: b.width(),
            table: self.table,
            source: self.source,
            filter,
            joins,
            params: st.params,
        }
    }
}

/// How many morsels of about [`MORSEL_PAGES`] pages the ranges make; 1 if they hold fewer than `least` rows. A plan made before the values of `?`
/// were known guesses how long a range is: here it is looked up, for to start a thread takes longer than to read a short one.
fn morsels(table: &Table, ranges: &[KeyRange], access: &Access, least: f64) -> Stored<usize> {
    let mut part = 1.0;
    if access.is_bounded() {
        let mut rows = 0.0;
        for range in ranges {
            rows += table.estimate_range(0, range)? as f64;
        }
        if rows < least {
            return Ok(1);
        }
        part = rows / (table.estimate_rows() as f64).max(rows);
    }
    let bytes = table.size()?.data as f64 * part;
    Ok((bytes as u64 / MORSEL_BYTES).clamp(1, MORSELS) as usize)
}

/// Conditions for batches.
fn rules<'s>(list: &'s [ExprWithSubqueries], cx: &EvalContext<'_>) -> Vec<Kernel<'s>> {
    let own = list.iter().filter(|c| c.subqueries.is_empty());
    own.map(|c| Kernel::new(&c.expr, cx)).collect()
}

/// A block's first loops, ready to run.
struct Loops<'s> {
    pipeline: Pipeline<'s>,
    reading: Reading<'s>,
}

impl<'s> Loops<'s> {
    /// Builds what is hashed; `None` if there is nothing to read. `kept`: by source of the block, the columns that are read of the
    /// rows that come out.
    fn new(
        st: &mut State<'s>,
        b: &'s Block,
        prefix: &Prefix<'s>,
        kept: &[Vec<usize>],
        rows: &[RowRef<'_>],
        around: &[Beside<'_>],
        shared: &Shared<'_>,
    ) -> Ran<Option<Loops<'s>>> {
        let (source, access) = (prefix.source, prefix.access);
        let Some(mut reading) = Reading::of(st, b, source, access, prefix.parallel, rows)? else {
            return Ok(None);
        };
        let mut joins = Vec::new();
        for (level, h) in &prefix.joins {
            let (own, asked) = Keys::of(h, &st.context(rows));
            let kept = prefix.kept(b, h, kept);
            let table = build::build(st, b, h, &kept, &own, rows, around, shared)?;
            let cx = st.context(rows);
            let asks = matches!(level.kind, LevelKind::Inner | LevelKind::Semi);
            if asks && table.columns.len == 0 {
                // No row of the others meets any.
                reading.morsels = Morsels::new(Vec::new());
                break;
            }
            let on = level.on.iter().filter(|c| prefix::free(c));
            joins.push(Join {
                kind: level.kind,
                source: h.source,
                keys: asked,
                table,
                on: on.map(|c| Kernel::new(&c.expr, &cx)).collect(),
                filter: rules(&level.filter, &cx),
            });
        }
        let on = prefix.driver.on.iter().filter(|c| prefix::free(c));
        let cx = st.context(rows);
        let filter = on.map(|c| Kernel::new(&c.expr, &cx)).collect();
        let pipeline = reading.pipeline(st, b, filter, joins);
        Ok(Some(Loops { pipeline, reading }))
    }
}

/// Runs a block's loops and groups; groups go to `emit`.
pub fn groups<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    g: &'s Group,
    rows: &[RowRef<'_>],
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Attempt> {
    let Some(prefix) = prefix::of(st, b, rows) else {
        return Ok(Attempt::ByRows);
    };
    let whole = prefix.len() == b.levels.len() && prefix.left.is_empty();
    let args = g.aggregates.iter().flat_map(|a| &a.args);
    let fits = whole
        && g.subqueries.is_empty()
        && g.keys.iter().all(prefix::free)
        && args.clone().all(prefix::fits)
        && g.aggregates
            .iter()
            .all(|a| is_batchable(a, prefix.parallel));
    if !fits {
        return Ok(Attempt::ByRows);
    }
    let shared = Shared::new(st, memory(st));
    let around = pipeline::beside(rows);
    let grouped = grouped(st, b, g, &prefix, rows, &around, &shared);
    note_read(st, &shared);
    match grouped {
        Ok(Some((grouping, groups))) => {
            let flow = grouping.finish(groups, st, rows, emit)?;
            Ok(Attempt::Done(flow))
        }
        Ok(None) | Err(Halt::Unfit | Halt::Stopped) => Ok(Attempt::ByRows),
        Err(Halt::Error(e)) => Err(e),
    }
}

fn grouped<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    g: &'s Group,
    prefix: &Prefix<'s>,
    rows: &[RowRef<'_>],
    around: &[Beside<'_>],
    shared: &Shared<'_>,
) -> Ran<Option<(Grouping<'s>, group::Groups)>> {
    if st.engine.snapshot(st.txn).is_none() {
        return Ok(None);
    }
    let read = read_by_groups(b, g);
    let Some(loops) = Loops::new(st, b, prefix, &read, rows, around, shared)? else {
        return Ok(None);
    };
    let grouping = Grouping::new(b, g, &st.context(rows));
    let snapshot = st.txn.snapshot().ok_or(Halt::Unfit)?;
    let most = loops.reading.workers(st);
    let all = workers::run(st.env, shared, most, |worker| {
        let mut groups = grouping.groups();
        let (pipeline, morsels) = (&loops.pipeline, &loops.reading.morsels);
        pipeline.run(worker, snapshot, morsels, around, |batch, cx| {
            grouping.add(&mut groups, &batch, cx, shared)?;
            Ok(More::Yes)
        })?;
        Ok(groups)
    })?;
    let groups = grouping.merge(all, shared)?;
    Ok(Some((grouping, groups)))
}

/// By source of a block, the columns that its grouping reads of joined rows.
fn read_by_groups(b: &Block, g: &Group) -> Vec<Vec<usize>> {
    let keep = b.read.iter().zip(&g.keep);
    let mut read: Vec<Vec<usize>> = keep
        .map(|(list, keep)| if *keep { list.clone() } else { Vec::new() })
        .collect();
    let args = g.aggregates.iter().flat_map(|a| &a.args);
    for e in g.keys.iter().map(|k| &k.expr).chain(args) {
        prefix::note_columns(b, e, &mut read);
    }
    read
}

/// Runs a block's loops; rows go to `emit`.
pub fn rows<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    rows: &[RowRef<'_>],
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Attempt> {
    // Groups that come one after the other.
    if b.group.as_ref().is_some_and(|g| g.ordered) {
        return Ok(Attempt::ByRows);
    }
    let Some(mut prefix) = prefix::of(st, b, rows) else {
        return Ok(Attempt::ByRows);
    };
    let shared = Shared::new(st, memory(st));
    let around = pipeline::beside(rows);
    if st.engine.snapshot(st.txn).is_none() {
        return Ok(Attempt::ByRows);
    }
    prefix.parallel &= in_any_order(b);
    let loops = match Loops::new(st, b, &prefix, &b.read, rows, &around, &shared) {
        Ok(Some(loops)) => loops,
        Ok(None) | Err(Halt::Unfit | Halt::Stopped) => return Ok(Attempt::ByRows),
        Err(Halt::Error(e)) => return Err(e),
    };
    let most = loops.reading.workers(st);
    let flow = collect::run(st, b, &prefix, &loops, most, rows, &around, &shared, emit)?;
    note_read(st, &shared);
    Ok(Attempt::Done(flow))
}

/// Whether nobody sees in which order a block's rows come.
fn in_any_order(b: &Block) -> bool {
    match &b.group {
        None => !b.order.is_empty() && !b.distinct,
        Some(g) => {
            let plain = |a: &crate::expr::AggregateSpec| {
                let mut one = a.clone();
                one.distinct = false;
                is_batchable(&one, true)
            };
            g.aggregates.iter().all(plain)
        }
    }
}

/// Counts the rows that a run has read.
fn note_read(st: &mut State<'_>, shared: &Shared<'_>) {
    let read = shared.examined.load(Relaxed) as u64;
    st.examined += read;
    st.rows += read;
}

/// What a run may keep: a quarter of what the server's statements may take, or what a join may.
fn memory(st: &State<'_>) -> usize {
    st.limits.join.max(st.memory.server_limit() / 4)
}

impl State<'_> {
    /// Threads that may work on the statement.
    fn workers(&self) -> usize {
        match self.limits.workers {
            0 => cores(),
            n => n,
        }
    }
}
