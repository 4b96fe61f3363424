//! What equals a constant is the constant: of `a = b AND b = 5` comes `a = 5`, so that both tables are read by their indexes.

use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::{Block, ColumnRef, Tree};
use crate::types::SqlType;

/// Applies the rule to a block: to WHERE and the ONs of inner joins that all of its rows satisfy.
pub fn apply(b: &mut Block) {
    let mut constants = Vec::new();
    gather(&b.filter, &mut constants);
    if let Some(tree) = &b.from {
        gather_inner(tree, &mut constants);
    }
    if constants.is_empty() {
        return;
    }
    // What has become a constant may make others so.
    loop {
        let before = constants.len();
        replace(&mut b.filter, &mut constants);
        if let Some(tree) = &mut b.from {
            replace_inner(tree, &mut constants);
        }
        if constants.len() == before {
            return;
        }
    }
}

/// A column that equals a constant: its type, and the condition.
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
        && a.base != crate::types::BaseType::Enum
}

/// Equalities of two columns of which one is a constant become that of the other.
fn replace(conds: &mut [Expr], constants: &mut Vec<Constant>) {
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
        let Some(column) = column(&own) else { continue };
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

fn replace_inner(t: &mut Tree, constants: &mut Vec<Constant>) {
    match t {
        Tree::Leaf(_) => {}
        Tree::Inner { parts, on, .. } => {
            replace(on, constants);
            parts.iter_mut().for_each(|p| replace_inner(p, constants));
        }
        Tree::Left { left, .. } | Tree::Semi { left, .. } => replace_inner(left, constants),
    }
}
