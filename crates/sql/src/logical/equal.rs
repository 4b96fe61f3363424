//! Columns that conditions say are equal.

use super::ColumnRef;
use crate::expr::{CompareOp, Expr, ExprKind};
use crate::types::{BaseType, Compares, SqlType};

/// How a type's values compare, as far as it matters for whether equality of two columns is handed on to a third: exact
/// numbers compare as numbers and texts of one collation by it, whatever else their types are; all else wants one type.
#[derive(PartialEq)]
enum Comparison {
    Exact,
    Text(crate::types::Collation),
    Same(BaseType, bool, u8),
}

fn comparison(ty: &SqlType) -> Option<Comparison> {
    match ty.base.facts().compares {
        Compares::Never => None,
        Compares::Exact => Some(Comparison::Exact),
        Compares::Text => Some(Comparison::Text(ty.collation)),
        Compares::Moment | Compares::Own if ty.base == BaseType::Null => None,
        Compares::Moment | Compares::Own => {
            Some(Comparison::Same(ty.base, ty.unsigned, ty.decimals))
        }
    }
}

impl Expr {
    /// The column that it is.
    pub fn as_column(&self) -> Option<ColumnRef> {
        match self.kind {
            ExprKind::Column { source, column, .. } => Some(ColumnRef {
                table: source,
                column,
            }),
            _ => None,
        }
    }

    /// The two columns that it says are equal, if what else equals one of them in this way equals the other.
    pub fn equated(&self) -> Option<(ColumnRef, ColumnRef)> {
        let ExprKind::Compare(CompareOp::Eq, sides, collation) = &self.kind else {
            return None;
        };
        let [a, b] = &**sides;
        let (one, other) = (a.as_column()?, b.as_column()?);
        let how = comparison(&a.ty)?;
        let own = !matches!(how, Comparison::Text(by) if by != *collation);
        (own && comparison(&b.ty)? == how && one != other).then_some((one, other))
    }
}

/// Sets of equal columns: of `a = b AND b = c` comes that all three are.
#[derive(Debug, Default)]
pub struct EqualColumns {
    sets: Vec<Vec<ColumnRef>>,
}

impl EqualColumns {
    /// Notes that two columns are equal; `false` if that was known.
    pub fn equate(&mut self, a: ColumnRef, b: ColumnRef) -> bool {
        let place = |of: ColumnRef| self.sets.iter().position(|s| s.contains(&of));
        match (place(a), place(b)) {
            (Some(x), Some(y)) if x == y => return false,
            (Some(x), Some(y)) => {
                let more = self.sets.swap_remove(x.max(y));
                self.sets[x.min(y)].extend(more);
            }
            (Some(x), None) => self.sets[x].push(b),
            (None, Some(y)) => self.sets[y].push(a),
            (None, None) => self.sets.push(vec![a, b]),
        }
        true
    }

    /// The sets.
    pub fn sets(&self) -> &[Vec<ColumnRef>] {
        &self.sets
    }
}
