//! How one table is read: which index, which ranges of it, in which direction, and what that costs.
//!
//! The unit of cost is one row read in the order of the clustered index.

use std::sync::Arc;

use super::conditions::{Cond, term};
use super::estimate::{self, Asked};
use super::fulltext;
use super::index_condition::{held, pushable};
use super::index_merge;
use super::loose_scan::{self, Sparse};
use super::peek::Peek;
use super::skip_scan;
use super::spatial;
use crate::expr::{Expr, ExprKind, Term};
use crate::logical::Hints;
use crate::logical::PlanTable;
use crate::partition::Prune;
use crate::plan::nodes::{Access, Arm, CoveredColumn, EqCond, RangeCond};
use crate::types::{KeyPart, Schema};

/// Cost of fetching a row by way of a secondary index, its entry included.
const LOOKUP: f64 = 3.0;
/// Cost of an entry of a secondary index of which conditions are asked.
const ENTRY: f64 = 0.8;
/// Cost of a lock on a row: others may have to wait for it.
const LOCK: f64 = 10.0;
/// Cost of locking all of a table, whatever its size: rows that are not there yet are locked too, and small tables grow.
const LOCK_ALL: f64 = 400.0;
/// Cost of starting a scan: one descent.
const DESCENT: f64 = 1.0;
/// Cost of sorting, per row.
const SORT: f64 = 2.0;
/// Most ranges whose rows are counted in the index.
const COUNTED_RANGES: usize = 100;
/// Most ranges that IN lists may multiply to.
const MAX_RANGES: usize = 10_000;
/// Most values of an IN list that nothing multiplies.
const MAX_VALUES: usize = 100_000;
/// Most alternatives of an OR that are looked at.
const MAX_ARMS: usize = 1_000;

/// An order the rows are wanted in: (column, descending), over one table.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// ORDER BY.
    Order(Vec<(usize, bool)>),
    /// GROUP BY: equal values together.
    Together(Vec<usize>),
    /// A MIN (false) or MAX (true) that the first row with a value decides.
    End(usize, bool),
}

/// Who sees to the order wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lead {
    /// Whoever comes before or after: it does not matter here.
    Nobody,
    /// This choice: what LIMIT spares is weighed against sorting. That many rows of the table are enough for one of the join.
    Free(f64),
    /// The join, which wants the rows in order.
    InOrder,
}

/// What is asked of the choice.
pub struct Request<'a> {
    /// The table.
    pub table: &'a PlanTable,
    /// Its position in the plan.
    pub position: usize,
    /// Its schema.
    pub schema: &'a Arc<Schema>,
    /// Its source number.
    pub source: usize,
    /// Sources whose rows are known when it is read, by bit.
    pub available: u64,
    /// Conditions that may bound the scan.
    pub conds: &'a [&'a Cond],
    /// Columns read.
    pub columns: &'a [usize],
    /// Whether its rows are locked.
    pub locked: bool,
    /// Order wanted, if this table leads the join.
    pub wanted: Option<&'a Wanted>,
    /// One row of each combination of values is enough.
    pub sparse: Option<&'a Sparse>,
    /// No other order will do.
    pub in_order: bool,
    /// Rows wanted (LIMIT), if nothing but order stands between.
    pub limit: Option<f64>,
    /// Hints.
    pub hints: &'a Hints,
    /// PARTITION (...).
    pub partitions: Option<&'a Arc<[usize]>>,
    /// The session and values of placeholders, for estimates.
    pub peek: &'a Peek<'a>,
    /// Number of sources around and in the block, and the source of subqueries that run once.
    pub base: usize,
    /// Sources of the block.
    pub count: usize,
    /// Subqueries whose value is known before the first row.
    pub once: &'a [usize],
    /// Whether the statement may assign to user variables as it runs.
    pub assigns: bool,
}

/// A way to read a table.
pub struct Choice {
    /// The way. `recheck` is empty; `exact` names what belongs there.
    pub access: Access,
    /// Positions in [`Request::conds`] that the index decides exactly.
    pub exact: Vec<usize>,
    /// Of the others, those that its entries decide one by one.
    pub pushed: Vec<usize>,
    /// Rows it returns per execution.
    pub rows: f64,
    /// Whether they were counted in the index, not taken from averages.
    counted: bool,
    /// Cost of finding the combinations of a skip scan.
    pub seeks: f64,
    /// Cost of reading several indexes and then the rows, if that is the way.
    pub merging: f64,
    /// Rows that all conditions leave of them.
    pub left: f64,
    /// Cost per execution, as far as LIMIT lets it run.
    pub cost: f64,
    /// Cost of running to the end.
    pub whole: f64,
    /// Whether rows come in the wanted order.
    pub ordered: bool,
}

impl Bounded {
    /// How many ranges IN lists make.
    pub fn ranges(&self) -> usize {
        self.ranges
    }
}

impl Choice {
    /// Its rows are taken from averages.
    pub fn forget_count(&mut self) {
        self.counted = false;
    }
    /// Its rows are counted, or taken to be so many.
    pub fn take_rows(&mut self, rows: f64, counted: bool) {
        (self.rows, self.counted) = (rows, counted);
    }
}

/// Whether a value is known once the rows of `available` are, `with` or without the table's own.
pub fn known(e: &Expr, r: &Request<'_>, with: bool) -> bool {
    let mut ok = e.is_deterministic(r.assigns);
    let subqueries = r.base + r.count + 1;
    e.columns(&mut |s, c| {
        ok &= if s < r.base {
            true
        } else if s < r.base + r.count {
            r.available & (1 << (s - r.base)) != 0 || with && s == r.source
        } else {
            s == subqueries && r.once.contains(&c)
        };
    });
    ok
}

/// The cheapest way to read a table; `None`: no way gives the order that it must have.
pub fn choose(r: &Request<'_>) -> Option<Choice> {
    let terms = terms(r, r.conds.iter().map(|c| &c.expr), 0);
    let (prune, share) = partitions(r);
    let total = (estimate::rows(r.table) * share).max(1.0);
    let mut all: Vec<Choice> = Vec::new();
    for index in 0..r.schema.indexes.len() {
        let allowed = match &r.hints.only {
            Some(list) => index == 0 || list.contains(&index),
            None => true,
        };
        let ordered = !r.schema.indexes[index].is_multi();
        if ordered && allowed && !r.hints.ignore.contains(&index) || index == 0 {
            all.push(candidate(r, index, &terms, total));
            all.extend(unions(r, index, &terms, total));
            all.extend(skip_scan::choice(r, index, &terms, total));
        }
    }
    all.extend(index_merge::choices(r, &terms, total));
    all.extend(fulltext::choices(r, total));
    all.extend(spatial::choices(r, total));
    let left = left(r, &all, total);
    for c in &mut all {
        c.left = left.min(c.rows);
        c.pushed = pushable(r, c);
        price(r, c, left.max(1e-3));
        loose_scan::loosen(r, c);
    }
    if r.in_order {
        all.retain(|c| c.ordered);
    }
    let bounded = all.iter().filter(|c| c.access.is_bounded()).count();
    let hinted = r.hints.only.as_ref().is_some_and(|l| !l.is_empty()) && r.hints.force;
    let mut best: Option<Choice> = None;
    for c in all {
        let usable = c.access.is_bounded() || c.ordered;
        if hinted
            && c.access.is_of_table()
            && !r.hints.only.as_ref().is_some_and(|l| l.contains(&0))
        {
            // FORCE INDEX: the table itself only if no named index can be used.
            if best
                .as_ref()
                .is_some_and(|b| b.access.is_bounded() || b.ordered)
            {
                continue;
            }
        }
        let better = match &best {
            None => true,
            Some(b) => {
                let forced_over_scan =
                    hinted && usable && b.access.is_of_table() && b.access.eq.is_empty();
                forced_over_scan || c.cost < b.cost
            }
        };
        if better {
            best = Some(c);
        }
    }
    let mut best = best?;
    // A row by its key is the best there is. Apart from that, the values decide between indexes, and between an
    // index and the table.
    let others = bounded - usize::from(best.access.is_bounded());
    best.access.generic = best.access.unique || best.access.is_of_table() && others == 0;
    best.access.prune = prune;
    Some(best)
}

/// Rows that all conditions leave: what an index has counted goes for the conditions that it decides, statistics for the others.
fn left(r: &Request<'_>, all: &[Choice], total: f64) -> f64 {
    let asked = Asked {
        table: Some((r.position, r.table)),
        source: r.source,
        peek: r.peek,
    };
    let counted = all.iter().filter(|c| c.counted);
    let best = counted.clone().max_by_key(|c| c.exact.len());
    let decided = |n: &usize| best.is_some_and(|c| c.exact.contains(n));
    let rest = (0..r.conds.len()).filter(|n| !decided(n));
    let beside = best.map(|c| c.rows / total);
    let share = asked.share(rest.map(|n| &r.conds[n].expr), beside);
    let certain = all.iter().filter(|c| c.counted || c.access.unique);
    certain.map(|c| c.rows).fold(total * share, f64::min)
}

/// What a condition says about a column: (number of the condition, column, what).
pub type Numbered = (usize, usize, Term);

/// What conditions say about columns, in their order; they are numbered from `first` on.
pub fn terms<'e>(
    r: &Request<'_>,
    conds: impl Iterator<Item = &'e Expr>,
    first: usize,
) -> Vec<Numbered> {
    conds
        .enumerate()
        .filter_map(|(n, c)| term(c, r.source).map(|(col, t)| (first + n, col, t)))
        .filter(|(_, _, t)| t.values().iter().all(|e| known(e, r, false)))
        .collect()
}

/// What is known of a partitioned table's partitions, and which share of them that leaves, as far as can be told now.
fn partitions(r: &Request<'_>) -> (Option<Box<Prune>>, f64) {
    let Some(p) = &r.schema.partitioning else {
        return (None, 1.0);
    };
    // A function that does not bind is told when rows are read.
    let levels = std::iter::once(&**p).chain(p.sub.as_deref());
    let functions: Result<Vec<_>, _> = levels.map(|p| p.function(r.schema, r.peek.env)).collect();
    let Ok(functions) = functions else {
        return (None, 1.0);
    };
    let decides = |c: usize| functions.iter().any(|f| f.columns.contains(&c));
    let usable = |e: &Expr| {
        let (column, term) = term(e, r.source)?;
        let known = term.values().iter().all(|e| known(e, r, false));
        (known && decides(column)).then_some((column, term))
    };
    let mut prune = Prune::of(&mut r.conds.iter().map(|c| &c.expr), &usable);
    prune.given = r.partitions.cloned();
    if prune.is_empty() {
        return (None, 1.0);
    }
    let left = prune.estimate(p, r.schema, r.peek.env);
    (Some(Box::new(prune)), left as f64 / p.leaves() as f64)
}

/// Whether a list of values may multiply that many ranges.
fn fits(ranges: usize, values: usize) -> bool {
    let most = if ranges == 1 { MAX_VALUES } else { MAX_RANGES };
    ranges.saturating_mul(values) <= most
}

/// What of an index conditions bound.
#[derive(Default)]
pub struct Bounded {
    /// Conditions on leading parts.
    pub eq: Vec<EqCond>,
    /// Condition on the part after them.
    pub range: Option<RangeCond>,
    /// Numbers of the conditions that the index decides exactly.
    pub exact: Vec<usize>,
    /// How many ranges IN lists make.
    ranges: usize,
    /// All fixed parts are fixed to one value.
    pub single: bool,
    /// All values are known when planning.
    constants: bool,
}

/// What of an index conditions bound.
pub fn bound(r: &Request<'_>, index: usize, terms: &[&Numbered]) -> Bounded {
    bound_parts(r, &r.schema.indexes[index].parts, terms)
}

/// What of some parts of an index conditions bound.
pub fn bound_parts(r: &Request<'_>, parts: &[KeyPart], terms: &[&Numbered]) -> Bounded {
    let mut access = Bounded {
        ranges: 1,
        single: true,
        constants: true,
        ..Bounded::default()
    };
    for part in parts {
        let here: Vec<&Numbered> = terms
            .iter()
            .copied()
            .filter(|t| t.1 == part.column)
            .collect();
        let whole = part.prefix.is_none();
        let mut fixed = None;
        for (n, _, t) in here.iter().copied() {
            let cond = match t {
                Term::Eq(e) => EqCond::Value(e.clone()),
                Term::NullSafe(e) => EqCond::NullSafe(e.clone()),
                Term::IsNull => EqCond::IsNull,
                Term::In(l) if fits(access.ranges, l.len()) => EqCond::In(l.clone()),
                _ => continue,
            };
            // A single value beats a list.
            let list = matches!(cond, EqCond::In(_));
            if fixed.is_none() || !list {
                fixed = Some((*n, cond));
                if !list {
                    break;
                }
            }
        }
        if let Some((n, cond)) = fixed {
            match &cond {
                EqCond::In(l) => {
                    access.ranges *= l.len().max(1);
                    access.single = false;
                    access.constants &= l.iter().all(|e| r.peek.knows(e));
                }
                EqCond::Value(e) => access.constants &= r.peek.knows(e),
                EqCond::NullSafe(e) => {
                    access.constants &= r.peek.knows(e);
                    access.single = false;
                }
                EqCond::IsNull => access.single = false,
            }
            access.eq.push(cond);
            if whole {
                access.exact.push(n);
                continue;
            }
            access.single = false;
            break;
        }
        let mut range = RangeCond::default();
        let mut used = false;
        for (n, _, t) in here {
            match t {
                Term::Range(lower, upper) => {
                    let takes = lower.is_none() || range.lower.is_none();
                    let takes = takes && (upper.is_none() || range.upper.is_none());
                    if !takes || range.like.is_some() {
                        continue;
                    }
                    access.constants &= lower.iter().chain(upper).all(|(e, _)| r.peek.knows(e));
                    if lower.is_some() {
                        range.lower = lower.clone();
                    }
                    if upper.is_some() {
                        range.upper = upper.clone();
                    }
                    if whole {
                        access.exact.push(*n);
                    }
                    used = true;
                }
                Term::Like(e) if !used => {
                    access.constants &= r.peek.knows(e);
                    range.like = Some(e.clone());
                    used = true;
                }
                _ => {}
            }
        }
        if used {
            access.range = Some(range);
        }
        access.single = false;
        break;
    }
    access
}

/// An index read within bounds, `total` being the table's rows. Its cost is not told yet.
pub fn choice(r: &Request<'_>, index: usize, b: Bounded, total: f64) -> Choice {
    let i = &r.schema.indexes[index];
    let nullable = |e: &EqCond| matches!(e, EqCond::IsNull | EqCond::NullSafe(_));
    let whole = i.unique && !i.parts.is_empty() && b.eq.len() == i.parts.len() && b.range.is_none();
    let unique = whole && b.single;
    let by_unique_key = unique || whole && !b.eq.iter().any(nullable);
    let bounded = !b.eq.is_empty() || b.range.is_some();
    let access = Access {
        index,
        eq: b.eq,
        range: b.range,
        arms: Vec::new(),
        jump: None,
        skip: None,
        merge: None,
        fulltext: None,
        spatial: None,
        pushed: None,
        prune: None,
        reverse: false,
        ordered: false,
        generic: false,
        unique,
        by_unique_key,
        covering: covering(r, index),
        recheck: Vec::new(),
    };
    Choice {
        counted: bounded && b.constants && b.ranges <= COUNTED_RANGES,
        merging: 0.0,
        seeks: 0.0,
        left: total,
        rows: estimate(r, &access, b.ranges, b.constants, total),
        access,
        exact: b.exact,
        pushed: Vec::new(),
        cost: 0.0,
        whole: 0.0,
        ordered: false,
    }
}

/// What an index makes of the conditions.
fn candidate(r: &Request<'_>, index: usize, terms: &[Numbered], total: f64) -> Choice {
    let terms: Vec<&Numbered> = terms.iter().collect();
    choice(r, index, bound(r, index, &terms), total)
}

/// What an index makes of each OR among the conditions, every alternative taken together with the other conditions.
fn unions<'r>(
    r: &'r Request<'_>,
    index: usize,
    terms: &'r [Numbered],
    total: f64,
) -> impl Iterator<Item = Choice> + 'r {
    r.conds
        .iter()
        .enumerate()
        .filter_map(move |(n, c)| match &c.expr.kind {
            ExprKind::Or(arms) if arms.len() <= MAX_ARMS => union(r, index, n, arms, terms, total),
            _ => None,
        })
}

fn union(
    r: &Request<'_>,
    index: usize,
    or: usize,
    alternatives: &[Expr],
    others: &[Numbered],
    total: f64,
) -> Option<Choice> {
    let first = r.conds.len();
    let mut arms = Vec::new();
    let mut rows = 0.0;
    // Conditions that every alternative decides exactly; the OR is one if each decides all of its own.
    let mut exact: Option<Vec<usize>> = None;
    let (mut ranges, mut all_constants) = (0, true);
    for arm in alternatives {
        let own: Vec<&Expr> = match &arm.kind {
            ExprKind::And(list) => list.iter().collect(),
            _ => vec![arm],
        };
        let own_terms = terms(r, own.iter().copied(), first);
        // The alternative's own conditions come first: they are the narrower ones, as a rule.
        let all: Vec<&Numbered> = own_terms
            .iter()
            .chain(others.iter().filter(|t| t.0 != or))
            .collect();
        let b = bound(r, index, &all);
        let used = b.eq.len() + usize::from(b.range.is_some());
        let parts = &r.schema.indexes[index].parts[..used];
        if !own_terms
            .iter()
            .any(|t| parts.iter().any(|p| p.column == t.1))
        {
            return None;
        }
        ranges += b.ranges;
        if ranges > MAX_RANGES {
            return None;
        }
        let constants = b.constants;
        all_constants &= constants;
        let whole = (0..own.len()).all(|i| b.exact.contains(&(first + i)));
        let mut decided: Vec<usize> = b.exact.iter().copied().filter(|&n| n < first).collect();
        decided.extend(whole.then_some(or));
        exact = Some(match exact {
            None => decided,
            Some(before) => before.into_iter().filter(|n| decided.contains(n)).collect(),
        });
        let one = choice(r, index, b, total);
        rows += one.rows;
        arms.push(Arm {
            eq: one.access.eq,
            range: one.access.range,
        });
    }
    let mut whole = choice(r, index, Bounded::default(), total);
    whole.access.arms = arms;
    whole.counted = all_constants;
    whole.exact = exact.unwrap_or_default();
    whole.rows = rows.clamp(1.0, total);
    Some(whole)
}

fn estimate(r: &Request<'_>, a: &Access, ranges: usize, constants: bool, total: f64) -> f64 {
    if a.unique {
        return 1.0;
    }
    if a.eq.is_empty() && a.range.is_none() {
        return total;
    }
    if constants
        && ranges <= COUNTED_RANGES
        && let Some(rows) = r.peek.ranges((r.position, r.table), a)
    {
        return rows.clamp(1.0, total);
    }
    let mut rows = match a.eq.len() {
        0 => total,
        parts => estimate::rows_per_key(r.table, a.index, parts).min(total),
    };
    rows *= ranges as f64;
    if let Some(range) = &a.range {
        let both = range.lower.is_some() && range.upper.is_some();
        rows *= estimate::of_range(both || range.like.is_some());
    }
    rows.clamp(1.0, total)
}

/// `left`: rows that all conditions leave.
fn price(r: &Request<'_>, c: &mut Choice, left: f64) {
    let in_order = r
        .wanted
        .filter(|_| c.access.merge.is_none() && !c.access.is_by_entries());
    let order = in_order.map(|w| order(r.schema, &c.access, w));
    // A skip scan finds combinations forwards.
    let order = order.map(|o| o.filter(|reverse| !reverse || c.access.skip.is_none()));
    c.ordered = matches!(order, Some(Some(_)));
    if let Some(Some(reverse)) = order {
        c.access.reverse = reverse;
        c.access.ordered = true;
    }
    // Of an entry that its own conditions rule out the row is neither fetched nor locked.
    let asked = Asked {
        table: Some((r.position, r.table)),
        source: r.source,
        peek: r.peek,
    };
    let fetched = match c.pushed.is_empty() {
        true => 1.0,
        false => asked.share(c.pushed.iter().map(|&n| &r.conds[n].expr), None),
    };
    let per_row = if c.access.index == 0 {
        1.0
    } else if c.access.covering.is_some() {
        // Narrow entries: more of them to a page.
        0.5 + 0.001 * key_width(r.schema, c.access.index).min(400.0)
    } else if c.pushed.is_empty() {
        LOOKUP
    } else {
        ENTRY + LOOKUP * fetched
    };
    let per_row = per_row + locking(r) * fetched;
    let mut read = c.rows;
    let sorted = r.wanted.is_none() || c.ordered;
    if let Some(limit) = r.limit
        && sorted
    {
        // Rows read until enough have passed the conditions.
        read = (limit * (c.rows / left).max(1.0)).min(c.rows);
    }
    if matches!(r.wanted, Some(Wanted::End(..))) && c.ordered {
        read = (c.rows / left).clamp(1.0, c.rows);
    }
    c.cost = DESCENT + read * per_row + c.seeks * (read / c.rows.max(1.0)).min(1.0);
    c.whole = DESCENT + c.rows * per_row + c.seeks;
    if c.access.merge.is_some() || c.access.fulltext.is_some() {
        (c.cost, c.whole) = (c.merging, c.merging);
    }
    if r.locked && !c.access.is_bounded() {
        c.cost += LOCK_ALL;
        c.whole += LOCK_ALL;
    }
    if !sorted && !matches!(r.wanted, Some(Wanted::Together(_) | Wanted::End(..))) {
        c.cost += c.rows.min(left) * SORT;
    }
    // Between equals, the one that bounds the scan more, then the clustered index.
    c.cost += 0.01 * (c.access.index.min(10) as f64) - 0.02 * c.access.eq.len() as f64;
}

/// Cost of locks, per row.
pub fn locking(r: &Request<'_>) -> f64 {
    if r.locked { LOCK } else { 0.0 }
}

/// About how many bytes an index entry's own key takes.
fn key_width(schema: &Schema, index: usize) -> f64 {
    schema.indexes[index]
        .parts
        .iter()
        .map(|p| {
            let ty = &schema.columns[p.column].ty;
            match ty.fixed_len() {
                0 => f64::from(p.prefix.unwrap_or(ty.length).min(100)),
                n => n as f64,
            }
        })
        .sum()
}

/// Whether an access returns rows as wanted: `Some(reverse)`.
pub fn order(schema: &Schema, a: &Access, wanted: &Wanted) -> Option<bool> {
    let index = &schema.indexes[a.index];
    // The key columns: (column, desc, fixed to one value).
    let mut key: Vec<(usize, bool, bool)> = Vec::new();
    for (n, p) in index.parts.iter().enumerate() {
        if p.prefix.is_some() {
            // Rows that share a prefix come in no particular order.
            break;
        }
        let fixed = matches!(
            a.eq.get(n),
            Some(EqCond::Value(_) | EqCond::NullSafe(_) | EqCond::IsNull)
        );
        key.push((p.column, p.desc, fixed));
    }
    if a.index != 0 && key.len() == index.parts.len() {
        for p in &schema.indexes[0].parts {
            if p.prefix.is_some() {
                break;
            }
            if !key.iter().any(|k| k.0 == p.column) {
                key.push((p.column, p.desc, false));
            }
        }
    }
    let fixed = |c: usize| key.iter().any(|k| k.0 == c && k.2);
    match wanted {
        Wanted::Order(list) => {
            let mut at = 0;
            let mut reverse = None;
            for &(c, desc) in list {
                if fixed(c) {
                    continue;
                }
                while key.get(at).is_some_and(|k| k.2) {
                    at += 1;
                }
                let k = key.get(at)?;
                if k.0 != c || reverse.is_some_and(|r| r != (k.1 != desc)) {
                    return None;
                }
                reverse = Some(k.1 != desc);
                at += 1;
            }
            Some(reverse.unwrap_or(false))
        }
        Wanted::Together(list) => {
            let mut left: Vec<usize> = list.iter().copied().filter(|&c| !fixed(c)).collect();
            for k in &key {
                if left.is_empty() {
                    break;
                }
                if k.2 {
                    continue;
                }
                left.iter().position(|&c| c == k.0)?;
                left.retain(|&c| c != k.0);
            }
            left.is_empty().then_some(false)
        }
        Wanted::End(c, max) => {
            let k = key.iter().find(|k| !k.2)?;
            (k.0 == *c).then_some(k.1 != *max)
        }
    }
}

/// Whether the index's bytes hold every column that is read.
fn covering(r: &Request<'_>, index: usize) -> Option<Vec<CoveredColumn>> {
    if r.locked || index == 0 && !r.columns.is_empty() {
        return None;
    }
    held(r.schema, index, r.columns)
}
