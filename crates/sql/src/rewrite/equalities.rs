//! What equals the same equals each other: of `a.x = b.x AND b.x = c.x` comes `a.x = c.x`, so that `a` and `c` may be joined before
//! `b`, and each be looked up by any of the others. The join asks only for those that the ones before do not imply.
//! (MySQL's manual, "Multiple Equalities"; Selinger et al. 1979 call these equivalence classes.)
//!
//! WHERE and the ONs of inner joins make sets that hold for all of a block's rows; a column of a block around may be in
//! them, as what all of its own rows are equal to. The ON of an outer join or semi-join makes sets that hold within it alone.
//! Columns are in one set only if they compare in one way ([`Expr::equated`]): texts by one collation, exact numbers as
//! numbers, others of one type. A NULL equals nothing, so rows with one satisfy neither what is said nor what is added.

use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::{Block, ColumnRef, EqualColumns, TableId, Tree};
use crate::types::SqlType;

/// Most columns of a set that is completed: of so many there are half the square of pairs.
const MOST_COLUMNS: usize = 12;

/// Applies the rule to a block.
pub fn apply(b: &mut Block) {
    let Some(mut tree) = b.from.take() else {
        return;
    };
    let mut said = Said::default();
    said.take(&b.filter);
    said.take_inner(&tree);
    b.filter.extend(said.implied(&|t| b.table(t).is_some()));
    beside(&mut tree);
    b.from = Some(tree);
}

/// Completes the ONs of outer joins and semi-joins.
fn beside(t: &mut Tree) {
    match t {
        Tree::Leaf(_) => {}
        Tree::Inner { parts, .. } => parts.iter_mut().for_each(beside),
        Tree::Left { left, right, on }
        | Tree::Semi {
            left, right, on, ..
        } => {
            let mut said = Said::default();
            said.take(on);
            said.take_inner(right);
            let tables = right.tables();
            on.extend(said.implied(&|t| tables.contains(&t)));
            beside(left);
            beside(right);
        }
    }
}

/// Equalities that hold together.
#[derive(Default)]
struct Said {
    equal: EqualColumns,
    pairs: Vec<(ColumnRef, ColumnRef)>,
    /// The columns as they were written.
    columns: Vec<(ColumnRef, Expr)>,
}

impl Said {
    fn take(&mut self, conds: &[Expr]) {
        for e in conds {
            let (Some((a, b)), ExprKind::Compare(_, sides, _)) = (e.equated(), &e.kind) else {
                continue;
            };
            self.equal.equate(a, b);
            self.pairs.push((a.min(b), a.max(b)));
            for (column, side) in [(a, &sides[0]), (b, &sides[1])] {
                if !self.columns.iter().any(|c| c.0 == column) {
                    self.columns.push((column, side.clone()));
                }
            }
        }
    }

    fn take_inner(&mut self, t: &Tree) {
        match t {
            Tree::Leaf(_) => {}
            Tree::Inner { parts, on, .. } => {
                self.take(on);
                parts.iter().for_each(|p| self.take_inner(p));
            }
            Tree::Left { left, .. } | Tree::Semi { left, .. } => self.take_inner(left),
        }
    }

    /// The equalities that are not said, of columns of two tables of which one at least is of `own`.
    fn implied(&self, own: &dyn Fn(TableId) -> bool) -> Vec<Expr> {
        let mut list = Vec::new();
        for set in self.equal.sets() {
            if set.len() > MOST_COLUMNS {
                continue;
            }
            for (n, &a) in set.iter().enumerate() {
                for &b in &set[..n] {
                    let apart = a.table != b.table && (own(a.table) || own(b.table));
                    if apart && !self.pairs.contains(&(a.min(b), a.max(b))) {
                        list.extend(self.equality(b, a));
                    }
                }
            }
        }
        list
    }

    fn equality(&self, a: ColumnRef, b: ColumnRef) -> Option<Expr> {
        let written = |of: ColumnRef| {
            let mut columns = self.columns.iter();
            columns.find(|c| c.0 == of).map(|c| c.1.clone())
        };
        let (a, b) = (written(a)?, written(b)?);
        let (nullable, collation) = (a.nullable || b.nullable, a.ty.collation);
        let kind = ExprKind::Compare(CompareOp::Eq, Box::new([a, b]), collation);
        Some(Expr::new(kind, SqlType::boolean(), nullable))
    }
}
