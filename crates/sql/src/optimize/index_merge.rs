//! One table by several indexes: which conditions each of them decides, and what that comes to.
//!
//! **Union:** each alternative of an OR by an index of its own. **Intersection:** equalities of an AND by several indexes, whose entries for
//! them come in the order of the clustered key. All conditions stay conditions on the rows: an index only has to find all of them.

use super::access::{self, Bounded, Choice, Numbered, Request};
use crate::expr::{Expr, ExprKind};
use crate::plan::nodes::{Access, Arm, EqCond, IndexMerge};
use crate::switches::Flag;

/// Cost of an entry of an index that is read for its clustered key.
const ENTRY: f64 = 0.8;
/// Cost of sorting one.
const SORT: f64 = 0.5;
/// Cost of reading a row by a clustered key, others being read in order.
const ROW: f64 = 2.2;
/// Most alternatives of an OR, and most indexes.
const MOST: usize = 16;

/// A part of a merge: an index with what bounds it, and the rows it finds.
struct Part {
    access: Access,
    rows: f64,
    /// Entries agree in all parts of the index, which is in the order of the clustered key then.
    equal: bool,
    /// Conditions that it decides.
    decided: Vec<usize>,
}

/// The ways by several indexes; `total`: rows of the table.
pub fn choices(r: &Request<'_>, terms: &[Numbered], total: f64) -> Vec<Choice> {
    let has = |flag| r.peek.env.switches.get().has(flag);
    if !has(Flag::IndexMerge) || r.in_order || r.schema.indexes.len() < 2 {
        return Vec::new();
    }
    let mut all = Vec::new();
    if has(Flag::IndexMergeUnion) || has(Flag::IndexMergeSortUnion) {
        all.extend(r.conds.iter().filter_map(|c| match &c.expr.kind {
            ExprKind::Or(arms) if arms.len() <= MOST => union(r, arms, total),
            _ => None,
        }));
        let allowed = |c: &Choice| match &c.access.merge {
            Some(m) if m.in_order => has(Flag::IndexMergeUnion),
            _ => has(Flag::IndexMergeSortUnion),
        };
        all.retain(allowed);
    }
    if has(Flag::IndexMergeIntersection) {
        all.extend(intersection(r, terms, total));
    }
    all
}

/// Whether an index may be read.
fn allowed(r: &Request<'_>, index: usize) -> bool {
    let only = r.hints.only.as_ref();
    only.is_none_or(|list| list.contains(&index)) && !r.hints.ignore.contains(&index)
}

/// What an index makes of conditions; `None` if nothing.
fn part(r: &Request<'_>, index: usize, terms: &[&Numbered], total: f64) -> Option<Part> {
    let b: Bounded = access::bound(r, index, terms);
    if b.eq.is_empty() && b.range.is_none() {
        return None;
    }
    let parts = &r.schema.indexes[index].parts;
    let whole = parts.iter().all(|p| p.prefix.is_none());
    let one = |c: &EqCond| !matches!(c, EqCond::In(_));
    let equal = index == 0
        || whole && b.range.is_none() && b.eq.len() == parts.len() && b.eq.iter().all(one);
    let decided = b.exact.clone();
    let mut found = access::choice(r, index, b, total);
    // It is read as a range, of one row if need be.
    found.access.unique = false;
    found.access.covering = None;
    Some(Part {
        rows: found.rows,
        access: found.access,
        equal,
        decided,
    })
}

/// The index that finds the fewest rows of one alternative.
fn alternative(r: &Request<'_>, arm: &Expr, total: f64) -> Option<Part> {
    let own: Vec<&Expr> = match &arm.kind {
        ExprKind::And(list) => list.iter().collect(),
        _ => vec![arm],
    };
    let terms = access::terms(r, own.into_iter(), r.conds.len());
    let terms: Vec<&Numbered> = terms.iter().collect();
    (0..r.schema.indexes.len())
        .filter(|&index| allowed(r, index))
        .filter_map(|index| part(r, index, &terms, total))
        .min_by(|a, b| a.rows.total_cmp(&b.rows))
}

fn union(r: &Request<'_>, arms: &[Expr], total: f64) -> Option<Choice> {
    let mut parts: Vec<Part> = Vec::new();
    let mut none = 1.0;
    for arm in arms {
        let p = alternative(r, arm, total)?;
        none *= 1.0 - (p.rows / total).min(1.0);
        match parts.iter_mut().find(|k| k.access.index == p.access.index) {
            // Alternatives by one index are ranges of it.
            Some(known) => {
                known.rows += p.rows;
                let arm = |a: &mut Access| Arm {
                    eq: std::mem::take(&mut a.eq),
                    range: a.range.take(),
                };
                if known.access.arms.is_empty() {
                    let first = arm(&mut known.access);
                    known.access.arms.push(first);
                }
                let mut access = p.access;
                known.access.arms.push(arm(&mut access));
                // Each in order, but not one after the other.
                known.equal = false;
            }
            None => parts.push(p),
        }
    }
    (parts.len() > 1).then(|| merged(r, parts, false, total * (1.0 - none), total))
}

/// The indexes that find the fewest rows one after the other, as long as each is worth its entries.
fn intersection(r: &Request<'_>, terms: &[Numbered], total: f64) -> Option<Choice> {
    let terms: Vec<&Numbered> = terms.iter().collect();
    let mut parts: Vec<Part> = (1..r.schema.indexes.len())
        .filter(|&index| allowed(r, index))
        .filter_map(|index| part(r, index, &terms, total))
        .filter(|p| p.equal && !p.decided.is_empty())
        .collect();
    parts.sort_by(|a, b| a.rows.total_cmp(&b.rows));
    let mut chosen: Vec<Part> = Vec::new();
    let mut left = total;
    for p in parts {
        let known = |n: &usize| chosen.iter().any(|c| c.decided.contains(n));
        let left_then = left * (p.rows / total).min(1.0);
        let gains = (left - left_then) * ROW > p.rows * ENTRY;
        if chosen.len() < MOST && !p.decided.iter().any(known) && gains {
            left = left_then;
            chosen.push(p);
        }
    }
    (chosen.len() > 1).then(|| merged(r, chosen, true, left, total))
}

fn merged(r: &Request<'_>, parts: Vec<Part>, all: bool, rows: f64, total: f64) -> Choice {
    let in_order = parts.iter().all(|p| p.equal);
    let entries: f64 = parts.iter().map(|p| p.rows).sum();
    let per_entry = ENTRY + if in_order { 0.0 } else { SORT } + access::locking(r);
    let mut choice = access::choice(r, 0, Bounded::default(), total);
    choice.access.covering = None;
    choice.rows = rows.clamp(1.0, total);
    choice.merging = parts.len() as f64 + entries * per_entry + choice.rows * ROW;
    choice.access.merge = Some(Box::new(IndexMerge {
        parts: parts.into_iter().map(|p| p.access).collect(),
        all,
        in_order,
    }));
    choice
}
