//! One execution: what it may touch, what it keeps, and how it evaluates.

use std::rc::Rc;
use std::sync::Arc;

use millpond_store::{Engine, LockMode, Owner, ReadMode, Txn, WaitPolicy};
use smallvec::SmallVec;

use super::Limits;
use super::hash::HashSide;
use super::row_buffer::RowBuffer;
use super::sort::Sorter;
use super::subquery::{self, Kept};
use crate::env::SessionEnv;
use crate::env::overdue;
use crate::error::SqlResult;
use crate::explain::Profile;
use crate::expr::{EvalContext, RowRef};
use crate::memory::{Charge, MemoryAccount};
use crate::plan::Plan;
use crate::plan::nodes::{Block, ExprWithSubqueries, Subquery};
use crate::store_error::interrupted;
use crate::value::Value;

pub use crate::write::RowLocator as Place;

/// Rows checked between two looks at whether the statement was killed.
const KILL_CHECK_ROWS: u32 = 1024;
/// Bytes of rows between two looks.
const KILL_CHECK_BYTES: usize = 4 << 20;

/// The current rows of all sources in sight.
pub type Rows<'r> = SmallVec<[RowRef<'r>; 6]>;

/// Computed rows, kept for the statement.
pub type Kept2d = Vec<Box<[Value<'static>]>>;

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Next row.
    Continue,
    /// The row did not match: under READ COMMITTED its lock is given back.
    Reject,
    /// Enough.
    Stop,
}

/// Buffers that live as long as the session, so that executing a plan allocates nothing.
#[derive(Default)]
pub struct Scratch {
    buffers: Vec<Vec<u8>>,
}

/// Largest buffer worth keeping between statements: an idle session keeps up to [`KEEP_BUFFERS`].
const KEEP_BYTES: usize = 8 << 10;
/// Buffers kept.
const KEEP_BUFFERS: usize = 8;

impl Scratch {
    /// An empty buffer.
    pub fn take(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }
    /// Returns a buffer.
    pub fn give(&mut self, mut b: Vec<u8>) {
        if b.capacity() <= KEEP_BYTES && self.buffers.len() < KEEP_BUFFERS {
            b.clear();
            self.buffers.push(b);
        }
    }
}

/// One execution of a plan.
pub struct State<'s> {
    /// The plan.
    pub plan: &'s Plan,
    /// The engine.
    pub engine: &'s Engine,
    /// The transaction.
    pub txn: &'s mut Txn,
    /// The session.
    pub env: &'s SessionEnv,
    /// Values of `?`.
    pub params: &'s [Value<'s>],
    /// Who runs it.
    pub owner: &'s Owner,
    /// Plain reads lock shared.
    pub lock_reads: bool,
    /// What buffers are charged to.
    pub memory: &'s Arc<MemoryAccount>,
    /// What single buffers may take.
    pub limits: Limits,
    /// Buffers.
    pub scratch: &'s mut Scratch,
    /// Rows of derived tables read so far.
    pub derived: Vec<Option<Rc<RowBuffer<'s>>>>,
    /// Results of subqueries that stay the same.
    pub subqueries: Vec<Option<Rc<Kept<'s>>>>,
    /// Built sides of hash joins.
    pub hashes: Vec<Option<Rc<HashSide<'s>>>>,
    /// Rows that wait to be joined with those of them that are on disk; empty if there were none yet.
    pub deferred: Vec<Option<Sorter<'s>>>,
    /// By source, where its current row is; empty unless the statement changes what a join finds.
    pub places: Vec<Place>,
    /// Rows seen since the last look at KILL.
    pub ticks: u32,
    /// Bytes of rows moved since a look for their sake.
    pub moved: usize,
    /// Rows seen before that.
    pub rows: u64,
    /// Rows read from tables.
    pub examined: u64,
    /// EXPLAIN ANALYZE: what is watched.
    pub profile: Option<Box<Profile>>,
}

impl<'s> State<'s> {
    /// Evaluation context over rows.
    #[inline]
    pub fn context<'e>(&self, rows: &'e [RowRef<'e>]) -> EvalContext<'e>
    where
        's: 'e,
    {
        EvalContext {
            rows,
            params: self.params,
            session: self.env,
        }
    }

    /// Counts a row; 1317 if the statement was killed.
    #[inline]
    pub fn tick(&mut self) -> SqlResult<()> {
        self.ticks += 1;
        if self.ticks >= KILL_CHECK_ROWS {
            self.ticks = 0;
            self.rows += u64::from(KILL_CHECK_ROWS);
            self.look()?;
        }
        Ok(())
    }

    /// Counts a row of so many bytes, which may be work for more than one.
    #[inline]
    pub fn tick_bytes(&mut self, bytes: usize) -> SqlResult<()> {
        self.moved += bytes;
        if self.moved >= KILL_CHECK_BYTES {
            self.moved = 0;
            self.look()?;
        }
        self.tick()
    }

    /// 1317 if the statement was killed, 3024 if it has run for too long.
    fn look(&self) -> SqlResult<()> {
        if self.owner.is_killed() {
            return Err(interrupted());
        }
        if self.env.is_overdue() {
            return Err(overdue());
        }
        Ok(())
    }

    /// Forgets what is kept because it stays the same while the statement runs: what it follows from has changed.
    pub fn forget_kept(&mut self) {
        self.derived.fill(None);
        self.subqueries.fill(None);
        self.hashes.fill(None);
    }

    /// A charge of nothing so far.
    pub fn charge(&self) -> Charge {
        Charge::new(self.memory)
    }

    /// Notes where the current row of a source is, if that is asked for.
    #[inline]
    pub fn place(&mut self, source: usize, key: &[u8], part: u32) {
        if let Some(place) = self.places.get_mut(source) {
            place.key.clear();
            place.key.extend_from_slice(key);
            place.part = part;
        }
    }

    /// How a table that has no lock clause of its own is read.
    pub fn read_mode(&self, lock: Option<(LockMode, WaitPolicy)>) -> ReadMode {
        match lock {
            Some((mode, wait)) => ReadMode::Locking(mode, wait),
            None if self.lock_reads => ReadMode::Locking(LockMode::Shared, WaitPolicy::Wait),
            None => ReadMode::Consistent,
        }
    }

    /// Whether all conditions hold.
    #[inline]
    pub fn pass(
        &mut self,
        b: &'s Block,
        conds: &[ExprWithSubqueries],
        rows: &[RowRef<'_>],
    ) -> SqlResult<bool> {
        for c in conds {
            let t = if c.subqueries.is_empty() {
                c.expr.truth(&self.context(rows))?
            } else {
                self.lazily(b, rows, |cx| c.expr.truth(cx))?
            };
            if t != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Evaluates what may ask for subqueries of a block, which run as they are asked for.
    pub fn lazily<R>(
        &mut self,
        b: &'s Block,
        rows: &[RowRef<'_>],
        f: impl FnOnce(&EvalContext<'_>) -> SqlResult<R>,
    ) -> SqlResult<R> {
        let (params, session) = (self.params, self.env);
        let lazy = subquery::Lazy::new(self, b, rows);
        let mut now: Rows<'_> = Rows::from_slice(rows);
        now[b.subquery_source()] = RowRef::Lazy(&lazy);
        f(&EvalContext {
            rows: &now,
            params,
            session,
        })
    }

    /// Runs `f` with the values of these subqueries in their source.
    pub fn with_subqueries<R>(
        &mut self,
        b: &'s Block,
        which: &[usize],
        rows: &[RowRef<'_>],
        f: impl FnOnce(&mut State<'s>, &[RowRef<'_>]) -> SqlResult<R>,
    ) -> SqlResult<R> {
        let values = self.subquery_values(&b.subqueries, b.subquery_source(), which, rows)?;
        let mut now: Rows<'_> = Rows::from_slice(rows);
        now[b.subquery_source()] = RowRef::Values(&values);
        f(self, &now)
    }

    /// The values of subqueries: those in `rows` already, and `which` computed now.
    pub fn subquery_values(
        &mut self,
        all: &'s [Subquery],
        source: usize,
        which: &[usize],
        rows: &[RowRef<'_>],
    ) -> SqlResult<Vec<Value<'static>>> {
        let mut values: Vec<Value<'static>> = match rows.get(source) {
            Some(RowRef::Values(v)) => v.iter().map(|v| v.clone().into_owned()).collect(),
            _ => vec![Value::Null; all.len()],
        };
        for n in with_needed(all, source, which) {
            let v = {
                let mut now: Rows<'_> = Rows::from_slice(rows);
                now[source] = RowRef::Values(&values);
                subquery::value(self, all, source, n, &now)?
            };
            values[n] = v;
        }
        Ok(values)
    }
}

/// These subqueries and those whose values they read, which stand before them.
pub fn with_needed(all: &[Subquery], source: usize, which: &[usize]) -> SmallVec<[usize; 8]> {
    let mut list: SmallVec<[usize; 8]> = SmallVec::from_slice(which);
    let mut at = 0;
    while at < list.len() {
        for &(s, c) in &all[list[at]].outer {
            if s == source && !list.contains(&c) {
                list.push(c);
            }
        }
        at += 1;
    }
    if list.len() > which.len() {
        list.sort_unstable();
    }
    list
}

/// Bytes a row of values takes in memory, roughly.
pub fn row_bytes(row: &[Value<'_>]) -> usize {
    row.iter()
        .map(|v| {
            size_of::<Value<'static>>()
                + match v {
                    Value::Bytes(b) => b.len(),
                    Value::Json(j) => j.as_bytes().len(),
                    _ => 0,
                }
        })
        .sum::<usize>()
        + 32
}
