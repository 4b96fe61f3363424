//! What EXPLAIN ANALYZE watches: how often each part of a plan ran, how many rows it gave, and how long that took.
//!
//! A part is known by its address: a plan does not move while it runs. Nothing of this is touched in other executions but for
//! asking, once per execution of a loop or a block and per row of an outer join, whether there is a [`Profile`].
//!
//! Rows are pushed, so a loop is on the stack while what comes after it works on its rows; its clock stands still meanwhile.

use hashbrown::HashMap;
use std::time::{Duration, Instant};

use super::levels::{self, Emit};
use super::state::{Flow, State};
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::plan::nodes::{Block, HashJoin, Level};

/// Executions of a part, all together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// How many.
    pub loops: u64,
    /// Rows that it gave.
    pub rows: u64,
    /// Until the first row of each, or until its end if it had none.
    pub first: Duration,
    /// Until their ends.
    pub total: Duration,
}

/// What a loop did.
#[derive(Clone, Copy, Debug, Default)]
pub struct LevelTimes {
    /// Rows that passed its conditions.
    pub passed: Times,
    /// Rows that it read.
    pub read: u64,
    /// Executions without a row that passed.
    pub unmatched: u64,
    /// Of an outer, a semi- or an anti-join, rows that went on after all conditions.
    pub out: u64,
}

/// What a block did.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockTimes {
    /// Rows that it gave.
    pub whole: Times,
    /// Groups, before HAVING.
    pub groups: u64,
    /// Rows after HAVING and DISTINCT, before LIMIT.
    pub seen: u64,
}

/// What the parts of a plan did.
#[derive(Debug, Default)]
pub struct Profile {
    levels: HashMap<usize, LevelTimes>,
    blocks: HashMap<usize, BlockTimes>,
    hashes: HashMap<usize, Times>,
    /// Rows read that some loop counts as its own.
    counted: u64,
}

fn address<T>(part: &T) -> usize {
    std::ptr::from_ref(part).addr()
}

impl Profile {
    /// What a loop did.
    pub fn level(&self, level: &Level) -> LevelTimes {
        self.levels
            .get(&address(level))
            .copied()
            .unwrap_or_default()
    }
    /// What a block did.
    pub fn block(&self, block: &Block) -> BlockTimes {
        self.blocks
            .get(&address(block))
            .copied()
            .unwrap_or_default()
    }
    /// What building a hash join's side did.
    pub fn built(&self, h: &HashJoin) -> Times {
        self.hashes.get(&address(h)).copied().unwrap_or_default()
    }
    /// Notes a row that goes on from an outer, a semi- or an anti-join.
    pub fn out(&mut self, level: &Level) {
        self.levels.entry(address(level)).or_default().out += 1;
    }
    /// Notes a group of a block.
    pub fn group(&mut self, block: &Block) {
        self.blocks.entry(address(block)).or_default().groups += 1;
    }
    /// Notes how many rows a block had before LIMIT.
    pub fn seen(&mut self, block: &Block, rows: u64) {
        self.blocks.entry(address(block)).or_default().seen += rows;
    }
}

/// A clock that stands still while others work on what it watches.
struct Watch {
    since: Instant,
    examined: u64,
    counted: u64,
    total: Duration,
    first: Option<Duration>,
    rows: u64,
    read: u64,
}

impl Watch {
    fn start(st: &State<'_>) -> Watch {
        let mut watch = Watch {
            since: Instant::now(),
            examined: 0,
            counted: 0,
            total: Duration::ZERO,
            first: None,
            rows: 0,
            read: 0,
        };
        watch.go_on(st);
        watch
    }
    fn go_on(&mut self, st: &State<'_>) {
        self.examined = st.examined;
        self.counted = st.profile.as_ref().map_or(0, |p| p.counted);
        self.since = Instant::now();
    }
    fn pause(&mut self, st: &mut State<'_>) {
        self.total += self.since.elapsed();
        if let Some(p) = &mut st.profile {
            // Subqueries count their own.
            let own = (st.examined - self.examined).saturating_sub(p.counted - self.counted);
            p.counted += own;
            self.read += own;
        }
    }
    /// A row goes on.
    fn row(&mut self, st: &mut State<'_>) {
        self.pause(st);
        self.rows += 1;
        self.first.get_or_insert(self.total);
    }
    fn add_to(&self, times: &mut Times) {
        times.loops += 1;
        times.rows += self.rows;
        times.first += self.first.unwrap_or(self.total);
        times.total += self.total;
    }
}

/// Watches a loop.
pub fn level<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    level: &'s Level,
    rows: &[RowRef<'_>],
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Flow> {
    let mut watch = Watch::start(st);
    let flow = levels::unwatched(st, b, level, rows, &mut |st, rows| {
        watch.row(st);
        let flow = emit(st, rows);
        watch.go_on(st);
        flow
    });
    watch.pause(st);
    if let Some(p) = &mut st.profile {
        let times = p.levels.entry(address(level)).or_default();
        times.read += watch.read;
        times.unmatched += u64::from(watch.rows == 0);
        watch.add_to(&mut times.passed);
    }
    flow
}

/// Watches a block; `run` runs it and calls back with each row.
pub fn block<'s, T>(
    st: &mut State<'s>,
    b: &Block,
    out: &mut super::block::Out<'_, 's>,
    run: impl FnOnce(&mut State<'s>, &mut super::block::Out<'_, 's>) -> SqlResult<T>,
) -> SqlResult<T> {
    let mut since = Instant::now();
    let (mut total, mut first, mut rows) = (Duration::ZERO, None, 0);
    let done = run(st, &mut |st, row| {
        total += since.elapsed();
        first.get_or_insert(total);
        rows += 1;
        let flow = out(st, row);
        since = Instant::now();
        flow
    });
    total += since.elapsed();
    if let Some(p) = &mut st.profile {
        let times = &mut p.blocks.entry(address(b)).or_default().whole;
        times.loops += 1;
        times.rows += rows;
        times.first += first.unwrap_or(total);
        times.total += total;
    }
    done
}

/// Watches the building of a hash join's side; `build` says how many rows it read.
pub fn built<'s, T>(
    st: &mut State<'s>,
    h: &HashJoin,
    build: impl FnOnce(&mut State<'s>) -> SqlResult<(T, u64)>,
) -> SqlResult<T> {
    if st.profile.is_none() {
        return build(st).map(|(built, _)| built);
    }
    let mut watch = Watch::start(st);
    let (built, read) = build(st)?;
    watch.pause(st);
    watch.rows = read;
    if let Some(p) = &mut st.profile {
        watch.add_to(p.hashes.entry(address(h)).or_default());
    }
    Ok(built)
}
