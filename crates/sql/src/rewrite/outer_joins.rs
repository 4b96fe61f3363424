//! Outer joins become inner joins where a condition rules out the rows with NULLs that they add.

use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::{Block, TableId, Tree};

/// Applies the rule to a block.
pub fn apply(b: &mut Block) {
    let Some(tree) = b.from.take() else { return };
    let rejected = rejected(&b.filter);
    b.from = Some(to_inner(tree, &rejected));
}

fn to_inner(tree: Tree, outside: &[TableId]) -> Tree {
    match tree {
        Tree::Leaf(n) => Tree::Leaf(n),
        Tree::Inner {
            parts,
            on,
            straight,
        } => {
            let mut here = rejected(&on);
            here.extend_from_slice(outside);
            Tree::Inner {
                parts: parts.into_iter().map(|p| to_inner(p, &here)).collect(),
                on,
                straight,
            }
        }
        Tree::Left { left, right, on } => {
            if right.tables().iter().any(|t| outside.contains(t)) {
                let tree = Tree::Inner {
                    parts: vec![*left, *right],
                    on,
                    straight: false,
                };
                return to_inner(tree, outside);
            }
            // ON rules out NULLs of the right side only within it.
            let inside = rejected(&on);
            Tree::Left {
                left: Box::new(to_inner(*left, outside)),
                right: Box::new(to_inner(*right, &inside)),
                on,
            }
        }
        Tree::Semi {
            left,
            right,
            on,
            anti,
        } => {
            // What a semi-join finds satisfies ON, on both sides; what an anti-join finds does not.
            let inside = rejected(&on);
            let mut here = outside.to_vec();
            if !anti {
                here.extend_from_slice(&inside);
            }
            Tree::Semi {
                left: Box::new(to_inner(*left, &here)),
                right: Box::new(to_inner(*right, &inside)),
                on,
                anti,
            }
        }
    }
}

/// The tables whose row of NULLs does not satisfy all these conditions.
fn rejected(conjuncts: &[Expr]) -> Vec<TableId> {
    conjuncts.iter().flat_map(rejects).collect()
}

/// The tables whose row of NULLs cannot satisfy a condition.
pub fn rejects(e: &Expr) -> Vec<TableId> {
    let column = |e: &Expr| match e.kind {
        ExprKind::Column { source, .. } => Some(source),
        _ => None,
    };
    match &e.kind {
        ExprKind::Compare(op, sides, _) if *op != CompareOp::NullSafeEq => {
            sides.iter().filter_map(column).collect()
        }
        ExprKind::Between { args, .. } => column(&args[0]).into_iter().collect(),
        ExprKind::InList(l) => column(&l.value).into_iter().collect(),
        ExprKind::IsNotNull(e) => column(e).into_iter().collect(),
        ExprKind::And(list) => rejected(list),
        ExprKind::Or(list) => {
            let mut each = list.iter().map(rejects);
            let first = each.next().unwrap_or_default();
            each.fold(first, |all, one| {
                all.into_iter().filter(|t| one.contains(t)).collect()
            })
        }
        _ => Vec::new(),
    }
}
