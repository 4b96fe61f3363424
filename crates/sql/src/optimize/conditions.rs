//! Conditions taken apart: which sources a conjunct needs, what it says about one column, and what it
//! rules out for NULLs.

use crate::expr::kinds::Compared;
use crate::expr::{CompareOp, Expr, ExprKind, Term};
use crate::plan::nodes::Subquery;
use crate::types::{BaseType, Collation};

/// A conjunct of WHERE or ON.
#[derive(Debug)]
pub struct Cond {
    /// The condition.
    pub expr: Expr,
    /// Sources of the block it reads, by bit (source minus base), subqueries' reads included.
    pub needs: u64,
}

/// What sources of a block an expression reads, by bit.
pub fn needs(expr: &Expr, base: usize, count: usize, subqueries: &[Subquery]) -> u64 {
    let mut bits = 0;
    let source = base + count + 1;
    expr.columns(&mut |s, c| {
        if s == source {
            bits |= subquery_needs(&subqueries[c], base, count, subqueries);
        } else if s >= base && s < base + count {
            bits |= 1 << (s - base);
        }
    });
    bits
}

/// What sources of a block a subquery of it reads, by bit.
pub fn subquery_needs(q: &Subquery, base: usize, count: usize, all: &[Subquery]) -> u64 {
    let mut bits = 0;
    for &(s, c) in &q.outer {
        if s == base + count + 1 {
            bits |= subquery_needs(&all[c], base, count, all);
        } else if s >= base && s < base + count {
            bits |= 1 << (s - base);
        }
    }
    bits
}

/// The subqueries whose value nothing changes while the block runs.
pub fn once(base: usize, count: usize, subqueries: &[Subquery]) -> Vec<usize> {
    (0..subqueries.len())
        .filter(|&n| {
            let q = &subqueries[n];
            subquery_needs(q, base, count, subqueries) == 0
                && !q.outer.iter().any(|&(s, _)| s == base + count)
                && is_deterministic(q, base + count + 1, subqueries)
        })
        .collect()
}

/// Whether a subquery of a block, and those it asks with, have one value for the same rows.
fn is_deterministic(q: &Subquery, source: usize, all: &[Subquery]) -> bool {
    let with = |&(s, c): &(usize, usize)| s != source || is_deterministic(&all[c], source, all);
    q.deterministic && q.outer.iter().all(with)
}

/// Whether an expression that reads no row of the block may yet differ between them. `source`: that of the block's subqueries.
pub fn differs(expr: &Expr, assigns: bool, source: usize, once: &[usize]) -> bool {
    let mut anew = false;
    expr.columns(&mut |s, c| anew |= s == source && !once.contains(&c));
    anew || !expr.is_deterministic(assigns)
}

/// The column of a source that an expression is, as far as an index can tell.
pub fn column_of(e: &Expr, source: usize) -> Option<usize> {
    match &e.kind {
        ExprKind::Column {
            source: s, column, ..
        } if *s == source => Some(*column),
        // An ENUM's index has its order, and finds it by position as well as by text.
        ExprKind::EnumIndex(inner) => column_of(inner, source),
        // What blanks there are at the end is nothing to its collation.
        ExprKind::Padded(inner) if inner.ty.collation.pads() => column_of(inner, source),
        ExprKind::EnumBeside(args) => column_of(&args[0], source),
        _ => None,
    }
}

fn reads(e: &Expr, source: usize) -> bool {
    let mut hit = false;
    e.columns(&mut |s, _| hit |= s == source);
    hit
}

/// Whether BETWEEN compares dates or times with its column in another way than the column's order is.
fn is_mixed(args: &[Expr; 3]) -> bool {
    match Compared::of(args.each_ref().map(|e| Some(&e.ty))) {
        Compared::Numbers => args[1..].iter().any(|e| e.ty.is_temporal()),
        Compared::Texts => true,
        Compared::Dates | Compared::AsTheyAre => false,
    }
}

/// What `expr` says about one column of `source`, if that is of a form that an index can use.
pub fn term(expr: &Expr, source: usize) -> Option<(usize, Term)> {
    match &expr.kind {
        ExprKind::Compare(op, sides, collation) => {
            let (column, side, op) =
                match (column_of(&sides[0], source), column_of(&sides[1], source)) {
                    (Some(c), _) if !reads(&sides[1], source) => (c, 0, *op),
                    (_, Some(c)) if !reads(&sides[0], source) => (c, 1, mirror(*op)),
                    _ => return None,
                };
            let other = &sides[1 - side];
            if !comparable(&sides[side], other, *collation) {
                return None;
            }
            if sides[side].ty.is_enumerated()
                && !matches!(op, CompareOp::Eq | CompareOp::NullSafeEq)
            {
                return None;
            }
            let other = other.clone();
            Some((
                column,
                match op {
                    CompareOp::Eq => Term::Eq(other),
                    CompareOp::NullSafeEq => Term::NullSafe(other),
                    CompareOp::Lt => Term::Range(None, Some((other, false))),
                    CompareOp::Le => Term::Range(None, Some((other, true))),
                    CompareOp::Gt => Term::Range(Some((other, false)), None),
                    CompareOp::Ge => Term::Range(Some((other, true)), None),
                    CompareOp::Ne => return None,
                },
            ))
        }
        ExprKind::IsNull(e) => column_of(e, source).map(|c| (c, Term::IsNull)),
        ExprKind::Between {
            args,
            negated: false,
            collation,
        } => {
            let c = column_of(&args[0], source)?;
            let fits = |e: &Expr| !reads(e, source) && comparable(&args[0], e, *collation);
            if args[0].ty.is_enumerated() || is_mixed(args) || !fits(&args[1]) || !fits(&args[2]) {
                return None;
            }
            Some((
                c,
                Term::Range(Some((args[1].clone(), true)), Some((args[2].clone(), true))),
            ))
        }
        ExprKind::InList(l) if !l.negated => {
            let c = column_of(&l.value, source)?;
            l.list
                .iter()
                .all(|e| !reads(e, source) && comparable(&l.value, e, l.collation))
                .then(|| (c, Term::In(l.list.clone())))
        }
        ExprKind::Or(list) => {
            // a = 1 OR a = 2 OR a IN (3, 4)
            let mut column = None;
            let mut values = Vec::new();
            for e in list {
                let (c, t) = term(e, source)?;
                if *column.get_or_insert(c) != c {
                    return None;
                }
                match t {
                    Term::Eq(v) => values.push(v),
                    Term::In(l) => values.extend(l),
                    _ => return None,
                }
            }
            column.map(|c| (c, Term::In(values)))
        }
        ExprKind::Like(l) => {
            let c = column_of(&l.value, source)?;
            (!l.negated
                && !matches!(l.value.kind, ExprKind::Padded(_))
                && l.escape == Some('\\')
                && !l.value.ty.is_enumerated()
                && l.value.ty.is_string()
                && l.collation == l.value.ty.collation
                && !reads(&l.pattern, source))
            .then(|| (c, Term::Like(l.pattern.clone())))
        }
        _ => None,
    }
}

fn mirror(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::Le => CompareOp::Ge,
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::Ge => CompareOp::Le,
        same => same,
    }
}

/// Whether a comparison of a column with a value follows the order of the column's index. A placeholder's type is
/// only known when it has a value; then `value::lookup` decides.
fn comparable(column: &Expr, value: &Expr, collation: Collation) -> bool {
    let param = matches!(value.kind, ExprKind::Param(_));
    if matches!(column.kind, ExprKind::EnumIndex(_)) {
        return value.ty.is_numeric() && !param;
    }
    let (own, other) = (&column.ty, &value.ty);
    if own.is_string() {
        return param
            || other.base == BaseType::Null
            || other.is_string() && collation == own.collation
            || own.is_enumerated() && other.is_integer();
    }
    true
}
