//! Running plans.
//!
//! | file | owns |
//! |---|---|
//! | `state` | one execution: transaction, buffers, kept results, evaluation |
//! | `scan` | reading a stored table by an access path |
//! | `partitions` | the same for a partitioned table |
//! | `loose_scan` | an index of which groups are passed over |
//! | `fulltext` | FULLTEXT searches, and reading a table by one |
//! | `index_merge` | the same by several indexes |
//! | `levels`, `hash` | the loops of a join |
//! | `json_table` | JSON_TABLE |
//! | `lateral` | derived tables that are computed for each row around them |
//! | `row_buffer`, `keyed_rows` | rows that are kept: in order, by key |
//! | `batch` | whole blocks by batches of rows, on several threads |
//! | `block` | grouping, HAVING, select list, DISTINCT, ORDER BY, LIMIT |
//! | `set_operation`, `recursive` | UNION, INTERSECT, EXCEPT; WITH RECURSIVE |
//! | `group`, `distinct`, `sort`, `codec` | their buffers, which go to disk when they grow too large |
//! | `subquery` | subqueries in expressions, run when they are asked for |
//! | `window` | window functions |
//! | `profile` | what EXPLAIN ANALYZE counts; nothing is counted otherwise |
//! | `insert`, `update`, `multi_table` | which rows INSERT, UPDATE and DELETE write, and their values; [`crate::write`] writes them |
//! | `dml` | what those share |
//! | [`handler`] | HANDLER: rows read along an index, with no plan |
//! | `load` | LOAD DATA: the rows of a file |
//! | `into_file` | SELECT ... INTO OUTFILE, DUMPFILE |
//!
//! An execution pins the plan's tables first and does nothing if one has changed since. It never commits or rolls
//! back: a statement that fails half way leaves its changes to the caller, who returns to the savepoint it took.
//! Whatever keeps rows (sorting, grouping, DISTINCT, derived tables, hash joins, subqueries) is charged to the statement's
//! [`MemoryAccount`], uses [`ExecContext::limits`] bytes at most, fewer if the server has no more, and temporary files beyond.

mod batch;
mod block;
mod bulk;
mod codec;
mod distinct;
mod dml;
mod fulltext;
mod group;
pub mod handler;
mod hash;
mod index_merge;
mod insert;
mod into_file;
mod json_table;
mod keyed_rows;
mod lateral;
mod levels;
mod load;
mod loose_scan;
mod multi_table;
mod partitions;
mod profile;
mod recursive;
mod row_buffer;
mod scan;
mod set_operation;
mod skip_scan;
mod sort;
mod spatial;
mod state;
mod subquery;
#[cfg(test)]
mod tests;
mod update;
mod window;

pub use bulk::BULK_FROM_ROWS;
pub use dml::DmlOptions;
pub use state::Scratch;

use crate::computed::take_failure;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::explain;
use crate::memory::MemoryAccount;
use crate::plan::{IntoVariable, Plan, Root};
use crate::result::{ColumnMeta, ResultSink};
use crate::store_error::store_error;
use crate::types::BaseType;
use crate::value::family::fits;
use crate::value::parse_time::has_date;
use crate::value::{Value, printable};
use millpond_store::{Engine, Owner, Txn};
use smallvec::SmallVec;
use state::{Flow, State};
use std::sync::Arc;

/// What an execution needs.
pub struct ExecContext<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The transaction. The caller has told it that a statement starts, and rolls the statement back on error.
    pub txn: &'a mut Txn,
    /// The session.
    pub env: &'a SessionEnv,
    /// Who runs it: asked now and then whether it was killed.
    pub owner: &'a Owner,
    /// Values of `?`, as many as the plan asks for. An INSERT of one row of VALUES takes several sets of them, one after
    /// the other: it inserts as many rows.
    pub params: &'a [Value<'a>],
    /// Tables without a locking clause are locked shared: SELECTs at SERIALIZABLE inside an explicit transaction, and what statements that
    /// write only read, down to their subqueries, at REPEATABLE READ too.
    pub lock_reads: bool,
    /// What statements that write ask for.
    pub dml: DmlOptions<'a>,
    /// What its buffers are charged to.
    pub memory: &'a Arc<MemoryAccount>,
    /// What single buffers may take.
    pub limits: Limits,
    /// `sql_select_limit`.
    pub select_limit: u64,
    /// The session's buffers.
    pub scratch: &'a mut Scratch,
}

/// Bytes that a buffer may take before it goes to disk.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A sort (`sort_buffer_size`, if `tmp_table_size` is not more).
    pub sort: usize,
    /// The built side of a hash join (`join_buffer_size`, if `tmp_table_size` is not more).
    pub join: usize,
    /// Kept rows, groups, DISTINCT (`tmp_table_size`).
    pub table: usize,
    /// Rows of a table from which on it is read by batches (`millpond_batch_rows`).
    pub batch_rows: u64,
    /// Rows that a statement is to be expected to write to fill an empty table in bulk (`millpond_bulk_rows`).
    pub bulk_rows: u64,
    /// Threads that may work on a statement (`millpond_parallel_workers`).
    pub workers: usize,
}

/// What `millpond_batch_rows` is unless it is set.
pub const BATCH_FROM_ROWS: u64 = 10_000;

impl Limits {
    /// The same for all.
    pub fn all(bytes: usize) -> Limits {
        Limits {
            sort: bytes,
            join: bytes,
            table: bytes,
            batch_rows: BATCH_FROM_ROWS,
            bulk_rows: BULK_FROM_ROWS,
            workers: 1,
        }
    }
}

/// What an execution did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Rows inserted, changed or deleted, as MySQL counts them (with `found_rows` applied). For a query: rows sent.
    pub affected: u64,
    /// What the OK packet reports: first AUTO_INCREMENT value generated, or the explicit value of the last
    /// row; 0 if none.
    pub last_insert_id: u64,
    /// First AUTO_INCREMENT value generated by this statement: the new LAST_INSERT_ID().
    pub generated_id: Option<u64>,
    /// Info text of multi-row DML.
    pub info: String,
    /// FOUND_ROWS() after it.
    pub found_rows: u64,
    /// What SELECT ... INTO has for local variables, by their slots: whoever has the frame assigns it.
    pub locals: Vec<(usize, Value<'static>)>,
}

/// How an execution went.
#[derive(Clone, Debug)]
pub enum Run {
    /// It ran to its end. `columns` and `row` of the sink were called for a result set; `finish` is the caller's.
    Done(Outcome),
    /// A table was altered, dropped or renamed since planning, or has grown so much that the plan may be a bad one. Nothing
    /// was done or sent: compile again.
    Stale,
}

/// An error of the sink: the client is gone.
fn sink_error(e: std::io::Error) -> SqlError {
    SqlError::new(
        1160,
        format!("Got an error writing communication packets: {e}"),
    )
}

/// Runs a plan.
pub fn run(plan: &Plan, cx: &mut ExecContext<'_>, sink: &mut dyn ResultSink) -> SqlResult<Run> {
    let (dml, select_limit) = (cx.dml, cx.select_limit);
    let env = cx.env;
    cx.memory.start();
    let Some(mut st) = start(plan, cx)? else {
        return Ok(Run::Stale);
    };
    if plan.shape.no_index {
        env.reads_whole.set(true);
    }
    for (code, message) in plan.told() {
        env.warn(*code, *message);
    }
    tell_moments(plan, &st)?;
    let outcome = run_root(&mut st, plan, &dml, select_limit, sink);
    env.lists.clear();
    env.rows_examined.set(env.rows_examined.get() + st.examined);
    // One that fails may fail because the tables have outgrown the plan.
    plan.note_rows(st.rows + u64::from(st.ticks));
    settled(outcome).map(Run::Done)
}

/// Tells constants that columns of dates and times have no value for, whether or not there are rows to compare.
fn tell_moments(plan: &Plan, st: &State<'_>) -> SqlResult<()> {
    if plan.moments().is_empty() {
        return Ok(());
    }
    let ignore = match &plan.root {
        Root::Insert(i) => i.ignore,
        Root::Update(u) => u.ignore,
        Root::Delete(d) => d.ignore,
        Root::Several(s) => s.ignore,
        Root::Query(_) | Root::Do(_) | Root::Explain(_) => true,
    };
    let _strict = st.env.write_strictly(ignore);
    for (e, ty, column) in plan.moments() {
        let v = e.eval(&st.context(&[]))?;
        let date = matches!(
            ty.base,
            BaseType::Date | BaseType::DateTime | BaseType::Timestamp
        );
        if let (Value::Bytes(text), true) = (&v, date) {
            st.env.warn_of_delimiter(text, 1);
        }
        if let (Value::Bytes(text), BaseType::Time) = (&v, ty.base)
            && fits(&v, ty)
            && has_date(text)
        {
            let shown = printable(text);
            let m = format!("Incorrect time value: '{shown}' for column '{column}' at row 1");
            st.env.note(1292, m);
        }
        if !fits(&v, ty) && (!column.is_empty() || matches!(v, Value::Bytes(_))) {
            let kind = match ty.base {
                BaseType::Time => "time",
                BaseType::Date => "date",
                _ => "datetime",
            };
            let shown = printable(&v.to_text());
            let m = match &**column {
                "" => format!("Truncated incorrect {kind} value: '{shown}'"),
                _ => format!("Incorrect {kind} value: '{shown}' for column '{column}' at row 1"),
            };
            st.env.complain(1292, m)?;
        }
    }
    Ok(())
}

/// A result, unless a column could not be computed on the way to it.
fn settled<T>(done: SqlResult<T>) -> SqlResult<T> {
    match take_failure() {
        Some(e) if done.is_ok() => Err(e),
        _ => done,
    }
}

fn run_root<'s>(
    st: &mut State<'s>,
    plan: &'s Plan,
    dml: &DmlOptions<'s>,
    select_limit: u64,
    sink: &mut dyn ResultSink,
) -> SqlResult<Outcome> {
    let env = st.env;
    let sent = || env.rows_sent.set(env.rows_sent.get() + 1);
    Ok(match &plan.root {
        Root::Query(q) if plan.analyzes => analyze(st, plan, q, sink)?,
        Root::Query(q) if let Some(into) = &plan.into_file => {
            into_file::run(st, plan, q, into, select_limit)?
        }
        Root::Query(q) if plan.into.is_empty() => {
            sink.columns(&plan.columns).map_err(sink_error)?;
            query(st, plan, q, select_limit, sink)?
        }
        Root::Query(q) => into_variables(st, plan, q)?,
        Root::Do(q) => {
            block::query(st, q, &[], &mut |_, _| Ok(Flow::Continue))?;
            Outcome::default()
        }
        Root::Insert(i) => {
            let _strict = env.write_strictly(i.ignore);
            insert::run(st, i, dml, sink)?
        }
        Root::Update(u) => {
            let _strict = env.write_strictly(u.ignore);
            update::update(st, u, dml)?
        }
        Root::Delete(d) => {
            let _strict = env.write_strictly(d.ignore);
            update::delete(st, d, dml)?
        }
        Root::Several(s) => {
            let _strict = env.write_strictly(s.ignore);
            multi_table::run(st, s, dml)?
        }
        Root::Explain(rows) => {
            sink.columns(&plan.columns).map_err(sink_error)?;
            for r in rows {
                sink.row(r).map_err(sink_error)?;
                sent();
            }
            Outcome {
                affected: rows.len() as u64,
                found_rows: rows.len() as u64,
                ..Outcome::default()
            }
        }
    })
}

/// Runs a query and sends how it went instead of its rows.
fn analyze<'s>(
    st: &mut State<'s>,
    plan: &Plan,
    q: &'s crate::plan::nodes::Query,
    sink: &mut dyn ResultSink,
) -> SqlResult<Outcome> {
    st.profile = Some(Box::default());
    block::query(st, q, &[], &mut |_, _| Ok(Flow::Continue))?;
    let profile = st.profile.take().unwrap_or_default();
    let text = explain::analyzed(plan, &profile);
    sink.columns(&plan.columns).map_err(sink_error)?;
    sink.row(&[Value::string(text)]).map_err(sink_error)?;
    Ok(Outcome {
        found_rows: 1,
        ..Outcome::default()
    })
}

/// Whether a row has decimals with more digits than their columns' types (see [`crate::expr::Expr::shown`]).
fn has_hidden_digits(row: &[Value<'_>], columns: &[ColumnMeta]) -> bool {
    let more = |(v, c): (&Value<'_>, &ColumnMeta)| match v {
        Value::Decimal(d) => d.scale() > c.ty.decimals,
        _ => false,
    };
    row.iter().zip(columns).any(more)
}

/// A row with its decimals rounded to its columns' types.
fn shown<'v>(row: &'v [Value<'v>], columns: &[ColumnMeta]) -> SmallVec<[Value<'v>; 8]> {
    let round = |(v, c): (&'v Value<'v>, &ColumnMeta)| match v {
        Value::Decimal(d) => Value::Decimal(c.ty.shown(*d)),
        v => v.borrowed(),
    };
    row.iter().zip(columns).map(round).collect()
}

/// Sends a query's rows, `limit` of them at most if it has no LIMIT of its own.
fn query<'s>(
    st: &mut State<'s>,
    plan: &Plan,
    q: &'s crate::plan::nodes::Query,
    limit: u64,
    sink: &mut dyn ResultSink,
) -> SqlResult<Outcome> {
    let env = st.env;
    let limit = if limit < u64::MAX && plan.is_unlimited() {
        limit
    } else {
        u64::MAX
    };
    let mut sent = 0;
    let counts = if limit == 0 && !q.calc_found_rows {
        block::Counts::default()
    } else {
        block::query(st, q, &[], &mut |_, row| {
            if sent < limit {
                if has_hidden_digits(row, &plan.columns) {
                    sink.row(&shown(row, &plan.columns)).map_err(sink_error)?;
                } else {
                    sink.row(row).map_err(sink_error)?;
                }
                env.rows_sent.set(env.rows_sent.get() + 1);
                sent += 1;
            }
            // SQL_CALC_FOUND_ROWS wants to know how many there are.
            Ok(if sent < limit || q.calc_found_rows {
                Flow::Continue
            } else {
                Flow::Stop
            })
        })?
    };
    Ok(Outcome {
        affected: sent,
        found_rows: counts.found,
        ..Outcome::default()
    })
}

/// Begins an execution; `None` if the plan is not, or no longer, right for it.
fn start<'s>(plan: &'s Plan, cx: &'s mut ExecContext<'_>) -> SqlResult<Option<State<'s>>> {
    let repeated = plan.repeats()
        && plan.params > 0
        && cx.params.len() >= plan.params
        && cx.params.len().is_multiple_of(plan.params);
    if cx.params.len() != plan.params && !repeated {
        return Err(SqlError::new(1210, "Incorrect arguments to EXECUTE"));
    }
    let related = |txn: &mut Txn| match &plan.relations {
        Some(relations) if cx.env.foreign_key_checks.get() => relations.pin(txn),
        _ => Ok(true),
    };
    if !plan.suits(cx.txn)
        || !plan.calls_current(cx.env)
        || !pin(plan, cx.txn)?
        || !related(cx.txn)?
        || plan.is_outgrown(cx.engine)
    {
        return Ok(None);
    }
    Ok(Some(State {
        plan,
        engine: cx.engine,
        txn: cx.txn,
        env: cx.env,
        params: cx.params,
        owner: cx.owner,
        lock_reads: cx.lock_reads,
        memory: cx.memory,
        limits: cx.limits,
        scratch: cx.scratch,
        derived: vec![None; plan.derived.len()],
        subqueries: vec![None; plan.subqueries],
        hashes: vec![None; plan.hashes],
        deferred: Vec::new(),
        places: Vec::new(),
        ticks: 0,
        moved: 0,
        rows: 0,
        examined: 0,
        profile: None,
    }))
}

/// Pins a plan's tables; `false` if one has changed since planning.
#[inline]
pub fn pin(plan: &Plan, txn: &mut Txn) -> SqlResult<bool> {
    for t in &plan.tables {
        let pinned = if t.write {
            t.table.pin_for_write(txn)
        } else {
            t.table.pin(txn)
        };
        if !pinned.map_err(|e| store_error(e, &t.table.def().name))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// SELECT ... INTO @a, @b.
fn into_variables<'s>(
    st: &mut State<'s>,
    plan: &'s Plan,
    q: &'s crate::plan::nodes::Query,
) -> SqlResult<Outcome> {
    let rows = block::collect(st, q, &[], 2)?;
    match rows.len() {
        0 => {
            st.env
                .warn(1329, "No data - zero rows fetched, selected, or processed");
            Ok(Outcome::default())
        }
        1 => {
            let mut locals = Vec::new();
            let columns = plan.into.iter().zip(&q.types);
            for ((variable, ty), v) in columns.zip(&rows[0]) {
                match variable {
                    IntoVariable::User(name) => st.env.set_typed_var(name, v.clone(), ty)?,
                    IntoVariable::Local(slot) => locals.push((*slot, v.clone())),
                }
            }
            Ok(Outcome {
                affected: 1,
                found_rows: 1,
                locals,
                ..Outcome::default()
            })
        }
        _ => Err(into_file::too_many_rows()),
    }
}

/// Runs a query plan and collects its rows; `None` if a table has changed since planning.
pub fn collect(
    plan: &Plan,
    cx: &mut ExecContext<'_>,
) -> SqlResult<Option<Vec<Box<[Value<'static>]>>>> {
    let Some(mut st) = start(plan, cx)? else {
        return Ok(None);
    };
    match &plan.root {
        Root::Query(q) | Root::Do(q) => {
            settled(block::collect(&mut st, q, &[], usize::MAX)).map(Some)
        }
        Root::Explain(rows) => Ok(Some(
            rows.iter().map(|r| r.clone().into_boxed_slice()).collect(),
        )),
        _ => Err(SqlError::unsupported(
            "collecting the rows of this statement",
        )),
    }
}
