//! What every alternative of an OR asks for is asked for beside it, where that helps to find rows:
//!
//! - a condition that is the same in all of them: `(a.x = b.x AND …) OR (a.x = b.x AND …)` implies `a.x = b.x`;
//! - what they ask of one table: `(a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)` implies `a.x = 1 OR a.x = 3`, and so for `b`.
//!
//! The OR stays as it is, so nothing but these conditions has to be understood. Only comparisons of columns with each other and with
//! constants of types that compare without converting are looked at, and lists and ranges of such constants: asking once more then says nothing
//! that was not said, and what is asked of a table costs little beside reading it.

use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::Block;
use crate::types::derive::hashable_type;

/// Applies the rule to a block's WHERE.
pub fn apply(b: &mut Block) {
    let mut found: Vec<Expr> = Vec::new();
    for e in &b.filter {
        let ExprKind::Or(alternatives) = &e.kind else {
            continue;
        };
        let lists: Vec<&[Expr]> = alternatives.iter().map(conjuncts).collect();
        let Some((first, others)) = lists.split_first() else {
            continue;
        };
        let mut common: Vec<&Expr> = Vec::new();
        for one in *first {
            if is_plain(one) && others.iter().all(|l| l.iter().any(|c| alike(c, one))) {
                common.push(one);
            }
        }
        let tables = tables(first);
        for table in tables {
            found.extend(of_table(table, &lists, &common, e));
        }
        found.extend(common.into_iter().cloned());
    }
    for e in found {
        if !b.filter.iter().any(|known| alike(known, &e)) {
            b.filter.push(e);
        }
    }
}

fn conjuncts(e: &Expr) -> &[Expr] {
    match &e.kind {
        ExprKind::And(list) => list,
        _ => std::slice::from_ref(e),
    }
}

/// The tables of which some conditions ask by themselves.
fn tables(list: &[Expr]) -> Vec<usize> {
    let mut tables: Vec<usize> = list.iter().filter_map(lone).collect();
    tables.sort_unstable();
    tables.dedup();
    tables
}

/// What all alternatives together ask of one table, beside what is common to them.
fn of_table(table: usize, lists: &[&[Expr]], common: &[&Expr], or: &Expr) -> Option<Expr> {
    let mut alternatives = Vec::new();
    for list in lists {
        let own = |c: &&Expr| lone(c) == Some(table) && !common.iter().any(|k| alike(k, c));
        let own: Vec<Expr> = list.iter().filter(own).cloned().collect();
        alternatives.push(joined(own, or)?);
    }
    // With nothing asked of other tables the OR itself says it.
    let whole = |list: &&[Expr]| list.iter().all(|c| lone(c) == Some(table));
    if lists.iter().all(whole) {
        return None;
    }
    Some(Expr {
        kind: ExprKind::Or(alternatives),
        ..or.clone()
    })
}

/// All of these, if there are any; of the type of `or`.
fn joined(mut list: Vec<Expr>, or: &Expr) -> Option<Expr> {
    match list.len() {
        0 => None,
        1 => list.pop(),
        _ => Some(Expr {
            kind: ExprKind::And(list),
            ..or.clone()
        }),
    }
}

/// The one table whose columns a plain condition compares with constants.
fn lone(e: &Expr) -> Option<usize> {
    if !is_plain(e) {
        return None;
    }
    let mut table = None;
    let mut one = true;
    e.columns(&mut |t, _| {
        one &= table.is_none_or(|known| known == t);
        table = Some(t);
    });
    table.filter(|_| one)
}

/// Whether a condition compares columns with each other or with constants, without converting.
fn is_plain(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Compare(op, sides, _) => {
            *op != CompareOp::NullSafeEq && comparable(&sides[0], &sides[1])
        }
        ExprKind::Between { args, .. } => {
            comparable(&args[0], &args[1]) && comparable(&args[0], &args[2])
        }
        ExprKind::InList(list) => list.list.iter().all(|v| comparable(&list.value, v)),
        _ => false,
    }
}

/// Whether two sides of a comparison are columns or constants of types that compare without converting.
fn comparable(a: &Expr, b: &Expr) -> bool {
    let simple = |e: &Expr| {
        matches!(
            e.kind,
            ExprKind::Column { .. }
                | ExprKind::Literal(_)
                | ExprKind::Param(_)
                | ExprKind::Local(..)
        )
    };
    simple(a) && simple(b) && hashable_type(&a.ty, &b.ty).is_some()
}

/// Whether two plain conditions are the same, whichever way round an equality is written.
fn alike(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Compare(x, l, c), ExprKind::Compare(y, r, d)) => {
            let same = same(&l[0], &r[0]) && same(&l[1], &r[1]);
            let turned = same_turned(l, r);
            c == d && (x == y && same || *x == y.flipped() && turned)
        }
        (
            ExprKind::Between {
                args: l,
                negated: n,
                collation: c,
            },
            ExprKind::Between {
                args: r,
                negated: m,
                collation: d,
            },
        ) => n == m && c == d && l.iter().zip(r.iter()).all(|(a, b)| same(a, b)),
        (ExprKind::InList(l), ExprKind::InList(r)) => {
            l.negated == r.negated
                && l.collation == r.collation
                && same(&l.value, &r.value)
                && l.list.len() == r.list.len()
                && l.list.iter().zip(&r.list).all(|(a, b)| same(a, b))
        }
        _ => false,
    }
}

fn same_turned(l: &[Expr; 2], r: &[Expr; 2]) -> bool {
    same(&l[0], &r[1]) && same(&l[1], &r[0])
}

/// Whether two columns, constants or placeholders are the same.
fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (
            ExprKind::Column {
                source: s,
                column: c,
                ..
            },
            ExprKind::Column {
                source: t,
                column: d,
                ..
            },
        ) => s == t && c == d,
        (ExprKind::Literal(x), ExprKind::Literal(y)) => {
            a.ty == b.ty && format!("{x:?}") == format!("{y:?}")
        }
        (ExprKind::Param(x), ExprKind::Param(y))
        | (ExprKind::Local(x, _), ExprKind::Local(y, _)) => x == y,
        _ => false,
    }
}
