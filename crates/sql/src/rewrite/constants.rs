//! What equals a constant is the constant: of `a = b AND b = 5` comes `a = 5`, so that both tables are read by their indexes. What WHERE
//! fixes is fixed within the ONs of outer joins and semi-joins too; what an ON fixes, within it.

use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::{Block, ColumnRef, TableId, Tree};
use crate::types::SqlType;

/// Applies the rule to a block: to WHERE and the ONs of inner joins that all of its rows satisfy.
pub fn apply(b: &mut Block) {
    let mut constants = Vec::new();
    gather(&b.filter, &mut constants);
    if let Some(tree) = &b.from {
        gather_inner(tree, &mut constants);
    }
    // What has become a constant may make others so.
    let mut before = usize::MAX;
    while constants.len() != before && !constants.is_empty() {
        before = constants.len();
        replace(&mut b.filter, &mut constants, &|_| true);
        if let Some(tree) = &mut b.from {
            replace_inner(tree, &mut constants, &|_| true);
        }
    }
    if let Some(tree) = &mut b.from {
        beside(tree, &constants);
    }
}

/// What is constant for all rows of the block, or by an ON, is so within that ON: rows for which it is not come out nowhere.
fn beside(t: &mut Tree, around: &[Constant]) {
    match t {
        Tree::Leaf(_) => {}
        Tree::Inner { parts, .. } => parts.iter_mut().for_each(|p| beside(p, around)),
        Tree::Left { left, right, on }
        | Tree::Semi {
            left, right, on, ..
        } => {
            // A condition on the left side alone finds no row of the right one.
            let tables = right.tables();
            let own = |t| tables.contains(&t);
            let mut constants = around.to_vec();
            gather(on, &mut constants);
            gather_inner(right, &mut constants);
            let mut before = usize::MAX;
            while constants.len() != before && !constants.is_empty() {
                before = constants.len();
                replace(on, &mut constants, &own);
                replace_inner(right, &mut constants, &own);
            }
            beside(left, around);
            beside(right, &constants);
        }
    }
}

/// A column that equals a constant: its type, and the condition.
#[derive(Clone)]
struct Constant {
    column: ColumnRef,
    ty: SqlType,
    equality: Expr,
}

fn column(e: &Expr) -> Option<ColumnRef> {
    match e.kind {
        ExprKind::Column { source, column, .. } => Some(ColumnRef {
            table: source,
            column,
        }),
        _ => None,
    }
}

fn gather(conds: &[Expr], constants: &mut Vec<Constant>) {
    for e in conds {
        let ExprKind::Compare(CompareOp::Eq, sides, collation) = &e.kind else {
            continue;
        };
        for (own, other) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
            if let Some(column) = column(own)
                && other.is_const()
                // Texts that are equal by one collation differ by another, and as numbers.
                && (!own.ty.is_string()
                    || other.ty.is_string() && *collation == own.ty.collation)
                && !constants.iter().any(|c| c.column == column)
            {
                constants.push(Constant {
                    column,
                    ty: own.ty.clone(),
                    equality: e.clone(),
                });
            }
        }
    }
}

fn gather_inner(t: &Tree, constants: &mut Vec<Constant>) {
    match t {
        Tree::Leaf(_) => {}
        Tree::Inner { parts, on, .. } => {
            gather(on, constants);
            parts.iter().for_each(|p| gather_inner(p, constants));
        }
        Tree::Left { left, .. } | Tree::Semi { left, .. } => gather_inner(left, constants),
    }
}

/// Whether values of two types that are equal compare alike with whatever else.
fn is_alike(a: &SqlType, b: &SqlType) -> bool {
    a.base == b.base
        && a.unsigned == b.unsigned
        && a.decimals == b.decimals
        && a.collation == b.collation
        && !a.is_enumerated()
        // Equal numbers of different types have different texts.
        && !a.is_json()
}

/// Equalities of two columns of which one is a constant become that of the other, if that is of a table for which `own_table` holds.
fn replace(conds: &mut [Expr], constants: &mut Vec<Constant>, own_table: &dyn Fn(TableId) -> bool) {
    for e in conds {
        let ExprKind::Compare(CompareOp::Eq, sides, collation) = &e.kind else {
            continue;
        };
        let (Some(a), Some(b)) = (column(&sides[0]), column(&sides[1])) else {
            continue;
        };
        let alike = is_alike(&sides[0].ty, &sides[1].ty)
            && (!sides[0].ty.is_string() || *collation == sides[0].ty.collation);
        let known = |of: ColumnRef| constants.iter().position(|c| c.column == of);
        let (own, known) = match (known(a), known(b)) {
            (Some(n), None) => (&sides[1], n),
            (None, Some(n)) => (&sides[0], n),
            _ => continue,
        };
        if !alike || !is_alike(&own.ty, &constants[known].ty) {
            continue;
        }
        let own = own.clone();
        let Some(column) = column(&own).filter(|c| own_table(c.table)) else {
            continue;
        };
        let from = constants[known].column;
        let mut said = constants[known].equality.clone();
        said.walk_mut(&mut |x| {
            if self::column(x) == Some(from) {
                *x = own.clone();
            }
        });
        said.nullable |= own.nullable;
        constants.push(Constant {
            column,
            ty: own.ty,
            equality: said.clone(),
        });
        *e = said;
    }
}

fn replace_inner(t: &mut Tree, constants: &mut Vec<Constant>, own: &dyn Fn(TableId) -> bool) {
    match t {
        Tree::Leaf(_) => {}
        Tree::Inner { parts, on, .. } => {
            replace(on, constants, own);
            parts
                .iter_mut()
                .for_each(|p| replace_inner(p, constants, own));
        }
        Tree::Left { left, .. } | Tree::Semi { left, .. } => {
            replace_inner(left, constants, own);
        }
    }
}
