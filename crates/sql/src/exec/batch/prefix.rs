//! Which of a block's loops run by batches: the first and the hash joins after it, as far as they have a form for batches.

use super::kernel::is_batchable;
use crate::exec::state::State;
use crate::expr::{Expr, RowRef};
use crate::plan::nodes::{
    Access, Block, ExprWithSubqueries, HashJoin, Level, LevelFrom, LevelKind, SourceKind,
};

/// A block's first loops.
pub struct Prefix<'s> {
    /// The first.
    pub driver: &'s Level,
    /// Its source and how it is read.
    pub source: usize,
    /// How it is read.
    pub access: &'s Access,
    /// Hash joins after it.
    pub joins: Vec<(&'s Level, &'s HashJoin)>,
    /// Conditions that rows are to meet which the last of these loops leaves over.
    pub left: Vec<&'s ExprWithSubqueries>,
    /// Whether several workers may be worth their while.
    pub parallel: bool,
}

impl<'s> Prefix<'s> {
    /// How many loops.
    pub fn len(&self) -> usize {
        1 + self.joins.len()
    }
    /// The columns that are read of a hashed side's rows once they are joined: by these loops, or after them (`read`, by source of
    /// the block).
    pub fn kept(&self, b: &Block, side: &HashJoin, read: &[Vec<usize>]) -> Vec<usize> {
        let mut all = read.to_vec();
        for (level, h) in &self.joins {
            let conditions = level.on.iter().chain(&level.filter).map(|c| &c.expr);
            for e in conditions.chain(&h.probes) {
                note_columns(b, e, &mut all);
            }
        }
        all.swap_remove(side.source - b.base)
    }
}

/// Adds the columns that an expression reads to lists by source of the block.
pub fn note_columns(b: &Block, e: &Expr, lists: &mut [Vec<usize>]) {
    e.columns(&mut |s, c| {
        let list = s.checked_sub(b.base).and_then(|n| lists.get_mut(n));
        if let Some(list) = list
            && !list.contains(&c)
        {
            list.push(c);
        }
    });
}

/// Several workers read a table of so many times the rows that make batches pay.
const PARALLEL: f64 = 5.0;

/// Rows from which on several workers read.
pub fn parallel_rows(st: &State<'_>) -> f64 {
    PARALLEL * st.limits.batch_rows as f64
}

/// The deepest expression for a batch: a worker's stack is an ordinary one.
const DEEPEST: usize = 60;

/// Whether an expression has a form for batches.
pub fn fits(e: &Expr) -> bool {
    is_batchable(e) && depth(e) <= DEEPEST
}

fn depth(e: &Expr) -> usize {
    e.depth()
}

/// Whether a condition has a form for batches.
pub fn free(c: &ExprWithSubqueries) -> bool {
    c.subqueries.is_empty() && fits(&c.expr)
}

/// The first loops of a block that run by batches; `None`: all are for rows.
pub fn of<'s>(st: &State<'s>, b: &'s Block, rows: &[RowRef<'_>]) -> Option<Prefix<'s>> {
    let driver = b.levels.first()?;
    let LevelFrom::Table(source, access) = &driver.from else {
        return None;
    };
    let large = driver.expected.rows >= st.limits.batch_rows as f64;
    if !large || driver.kind != LevelKind::Inner || !is_plain(st, b, rows) {
        return None;
    }
    if !reads_through(st, b, *source, access) {
        return None;
    }
    let mut prefix = Prefix {
        driver,
        source: *source,
        access,
        joins: Vec::new(),
        left: driver.on.iter().filter(|c| !free(c)).collect(),
        parallel: st.workers() > 1 && driver.expected.rows >= parallel_rows(st),
    };
    for level in &b.levels[1..] {
        match &level.from {
            LevelFrom::Hash(h) if prefix.left.is_empty() && joins(st, b, level, h) => {
                prefix.joins.push((level, h));
                if level.kind == LevelKind::Inner {
                    prefix.left = level.on.iter().filter(|c| !free(c)).collect();
                }
            }
            _ => break,
        }
    }
    let pays = !prefix.joins.is_empty() || b.group.is_some() || driver.on.iter().any(free);
    pays.then_some(prefix)
}

/// Whether nothing about a block asks for rows one at a time or in their order.
fn is_plain(st: &State<'_>, b: &Block, rows: &[RowRef<'_>]) -> bool {
    let ordered = b.in_order && !b.order.is_empty();
    let first_only = b.group.as_ref().is_some_and(|g| g.first_only);
    let hasty = b.limit.count.is_some() && b.group.is_none() && b.order.is_empty();
    st.places.is_empty()
        && st.profile.is_none()
        && !st.lock_reads
        && !ordered
        && !first_only
        && !hasty
        && !rows.iter().any(|r| matches!(r, RowRef::Lazy(_)))
}

/// Whether a table is read from one end to the other, in a form for batches.
fn reads_through(st: &State<'_>, b: &Block, source: usize, access: &Access) -> bool {
    let SourceKind::Table {
        table, lock: None, ..
    } = &b.sources[source - b.base].kind
    else {
        return false;
    };
    let t = &st.plan.tables[*table];
    let whole = !access.is_bounded();
    t.schema.partitioning.is_none()
        && !t.table.is_temporary()
        && !access.reverse
        && access.jump.is_none()
        && access.skip.is_none()
        && access.merge.is_none()
        && !access.is_by_entries()
        && (whole || access.index == 0 && access.arms.is_empty())
        && access.recheck.iter().all(free)
}

/// Whether a hash join has a form for batches.
fn joins(st: &State<'_>, b: &Block, level: &Level, h: &HashJoin) -> bool {
    let exprs = h.keys.iter().chain(&h.probes);
    let side = match (&b.sources[h.source - b.base].kind, &h.access) {
        (SourceKind::Table { .. }, Some(access)) => reads_through(st, b, h.source, access),
        (SourceKind::Derived { .. }, _) => b.base == 0,
        _ => false,
    };
    // What an inner join leaves over is looked at afterwards.
    let on = level.kind == LevelKind::Inner || level.on.iter().all(free);
    side && on
        && exprs.into_iter().all(fits)
        && h.build_filter.iter().all(free)
        && level.filter.iter().all(free)
}
