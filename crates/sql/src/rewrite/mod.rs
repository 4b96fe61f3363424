//! Logical plans to logical plans that say the same and are cheaper to run: one rule a file.
//!
//! It owns the rules and the order in which they are tried. It promises that a rewritten statement returns the rows, errors and
//! warnings of the one written, on any data; a rule that can't tell leaves the plan alone. It never looks at the syntax
//! tree and chooses no access path; of sizes it knows the rows of stored tables.
//!
//! | file | rule |
//! |---|---|
//! | `functional` | what an indexed generated column is computed from is that column |
//! | `merge` | derived tables that are plain joins become part of the block that reads them |
//! | `common_factors` | what every alternative of an OR asks for is asked for beside it, and what all ask of one table |
//! | `constants` | what equals a constant is the constant |
//! | `equalities` | columns that equal the same are equal to each other |
//! | `pushdown` | conditions on a derived table alone are asked within it |
//! | `outer_joins` | outer joins whose added rows a condition rules out are inner joins |
//! | `semi_joins` | IN and EXISTS among WHERE's conjuncts are semi-joins, NOT EXISTS an anti-join |
//! | `scalar_subqueries` | a scalar subquery with aggregates is a derived table, joined; the optimizer says which |
//! | `unused` | columns that nobody reads are not computed, outer joins that nothing comes of are left out |
//! | `exists` | EXISTS that depends on the rows around it by equalities alone and is no join is asked as IN is |

mod common_factors;
mod constants;
mod equalities;
mod exists;
mod functional;
pub mod merge;
mod outer_joins;
mod pushdown;
pub mod scalar_subqueries;
mod semi_joins;
#[cfg(test)]
mod tests;
mod unused;

use crate::env::SessionEnv;
use crate::logical::PlanTable;
use crate::logical::{Arena, Block, Body, Query, Root, Table, TableKind, Tree};
use crate::switches::{Flag, Switches};

/// What rules ask about the statement.
pub struct Context<'a> {
    /// Its derived tables and subqueries.
    pub arena: &'a mut Arena,
    /// Its stored tables.
    pub tables: &'a [PlanTable],
    /// Whether it may assign to user variables as it runs.
    pub assigns: bool,
    /// Which rules are on.
    pub switches: Switches,
}

/// Rewrites a statement; whether more could be done if its placeholders were constants.
pub fn rewrite(
    root: &mut Root,
    arena: &mut Arena,
    tables: &[PlanTable],
    env: &SessionEnv,
    assigns: bool,
) -> bool {
    let switches = env.switches.get();
    let mut cx = Context {
        arena,
        tables,
        assigns,
        switches,
    };
    each_query(root, &mut cx, &mut |q, cx| {
        let mut asks = false;
        blocks(q, &mut |b| {
            if cx.switches.has(Flag::DerivedMerge) {
                merge::apply(b, cx);
            }
            asks |= b.filter.iter().any(|e| e.has_subquery());
        });
        // A block that runs once per row around it would build what it hashes each time.
        let joins = cx.switches.has(Flag::SemiJoin);
        if joins && asks && cx.arena.outer(q).is_empty() {
            blocks(q, &mut |b| semi_joins::apply(b, cx));
        }
    });
    let mut wants_constants = false;
    if tables.iter().any(|t| t.schema.generates()) {
        outside_in(root, &mut cx, &mut |b, _| {
            wants_constants |= functional::apply(b);
        });
    }
    exists::apply(root, &mut cx);
    unused::apply(root, &mut cx);
    outside_in(root, &mut cx, &mut |b, cx| {
        common_factors::apply(b);
        outer_joins::apply(b);
        constants::apply(b);
        equalities::apply(b);
        if cx.switches.has(Flag::DerivedConditionPushdown) {
            pushdown::apply(b, cx);
        }
    });
    wants_constants
}

/// Calls `f` for each query of a statement, inner ones first.
fn each_query(
    root: &mut Root,
    cx: &mut Context<'_>,
    f: &mut dyn FnMut(&mut Query, &mut Context<'_>),
) {
    for at in 0..cx.arena.derived.len() {
        let mut q = std::mem::take(&mut cx.arena.derived[at].query);
        with_laterals(&mut q, cx, f);
        cx.arena.derived[at].query = q;
    }
    for at in 0..cx.arena.subqueries.len() {
        let mut q = std::mem::take(&mut cx.arena.subqueries[at].query);
        with_laterals(&mut q, cx, f);
        cx.arena.subqueries[at].query = q;
    }
    root.queries_mut(&mut |q| with_laterals(q, cx, f));
}

/// Calls `f` for the queries of lateral tables in a query, and then for it.
fn with_laterals(
    q: &mut Query,
    cx: &mut Context<'_>,
    f: &mut dyn FnMut(&mut Query, &mut Context<'_>),
) {
    blocks(q, &mut |b| {
        let laterals = b.tables.iter_mut().filter_map(Table::lateral_mut);
        laterals.for_each(|q| with_laterals(q, cx, f));
    });
    f(q, cx);
}

/// Calls `f` for each block of a statement, those that read a derived table before its own.
fn outside_in(
    root: &mut Root,
    cx: &mut Context<'_>,
    f: &mut dyn FnMut(&mut Block, &mut Context<'_>),
) {
    if let Some(find) = root.find_mut() {
        around_laterals(find, cx, f);
    }
    root.queries_mut(&mut |q| blocks(q, &mut |b| around_laterals(b, cx, f)));
    for at in 0..cx.arena.subqueries.len() {
        let mut q = std::mem::take(&mut cx.arena.subqueries[at].query);
        blocks(&mut q, &mut |b| around_laterals(b, cx, f));
        cx.arena.subqueries[at].query = q;
    }
    // A derived table is numbered after those that it reads.
    for at in (0..cx.arena.derived.len()).rev() {
        let mut q = std::mem::take(&mut cx.arena.derived[at].query);
        blocks(&mut q, &mut |b| around_laterals(b, cx, f));
        cx.arena.derived[at].query = q;
    }
}

/// Calls `f` for a block and then for those of its lateral tables.
fn around_laterals(
    b: &mut Block,
    cx: &mut Context<'_>,
    f: &mut dyn FnMut(&mut Block, &mut Context<'_>),
) {
    f(b, cx);
    for q in b.tables.iter_mut().filter_map(Table::lateral_mut) {
        blocks(q, &mut |b| around_laterals(b, cx, f));
    }
}

/// Calls `f` for each block of a query and its arms, but for those of lateral tables.
fn blocks(q: &mut Query, f: &mut dyn FnMut(&mut Block)) {
    match &mut q.body {
        Body::Block(b) => f(b),
        Body::Set(u) => u.arms.iter_mut().for_each(|(q, _)| blocks(q, f)),
        Body::Values(_) => {}
        Body::JsonTable(t) => blocks(&mut t.input, f),
        Body::Windowed(w) => blocks(&mut w.input, f),
        Body::Recursive(r) => {
            blocks(&mut r.seed, f);
            r.steps.iter_mut().for_each(|q| blocks(q, f));
        }
    }
}

/// Whether tables are to be joined in the order in which they are written.
fn is_straight(t: &Tree) -> bool {
    match t {
        Tree::Leaf(_) => false,
        Tree::Inner {
            parts, straight, ..
        } => *straight || parts.iter().any(is_straight),
        Tree::Left { left, right, .. } | Tree::Semi { left, right, .. } => {
            is_straight(left) || is_straight(right)
        }
    }
}

/// Whether rows of any of the tables are locked as they are read.
fn locks(tables: &[Table]) -> bool {
    let locked = |t: &Table| matches!(t.kind, TableKind::Stored { lock: Some(_), .. });
    tables.iter().any(locked)
}
