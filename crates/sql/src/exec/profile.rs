//! Clocks for EXPLAIN ANALYZE: what it notes is a [`Profile`](crate::explain::Profile).
//!
//! Nothing of this is touched in other executions but for asking, once per execution of a loop or a block and per row of an outer
//! join, whether there is a profile.
//!
//! Rows are pushed, so a loop is on the stack while what comes after it works on its rows; its clock stands still meanwhile.

use std::time::{Duration, Instant};

use super::levels::{self, Emit};
use super::state::{Flow, State};
use crate::error::SqlResult;
use crate::explain::Times;
use crate::expr::RowRef;
use crate::plan::nodes::{Block, HashJoin, Level};

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
        self.counted = st.profile.as_ref().map_or(0, |p| p.counted());
        self.since = Instant::now();
    }
    fn pause(&mut self, st: &mut State<'_>) {
        self.total += self.since.elapsed();
        if let Some(p) = &mut st.profile {
            // Subqueries count their own.
            let own = (st.examined - self.examined).saturating_sub(p.counted() - self.counted);
            p.count(own);
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
        let times = p.level_mut(level);
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
        let times = p.block_mut(b);
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
        watch.add_to(p.built_mut(h));
    }
    Ok(built)
}
