//! What an indexed generated column is computed from is that column: `WHERE lower(a) = 'x'` reads the column that holds `lower(a)`, be it
//! a functional key part's hidden one or one that the table shows, so that access paths see a column.
//!
//! An expression is the column's if it is the same to the last type and collation: then the column has its value, whatever is done
//! with it. A table that an outer join may find no row of is left alone: there its columns are NULL, whatever the expression would make of
//! NULLs. Asked are WHERE and the ORDER BY of a block that neither groups nor keeps distinct rows. Placeholders are no constants: a statement that is planned for all literals finds nothing
//! that has one in it, and says that it should be planned for its own.

use crate::env::SessionEnv;
use crate::expr::{Expr, ExprKind};
use crate::logical::{Block, Table, TableId, TableKind, Tree};

/// A generated column of a table of the block.
struct Indexed {
    /// Its expression over that table, as text that tells all of it.
    of: String,
    /// The column.
    column: Expr,
}

/// Applies the rule to a block; whether more might be found if placeholders were constants.
pub fn apply(b: &mut Block, env: &SessionEnv) -> bool {
    let mut missing = Vec::new();
    if let Some(from) = &b.from {
        may_be_missing(from, &mut missing);
    }
    let there = b.tables.iter().filter(|t| !missing.contains(&t.id));
    let indexed: Vec<Indexed> = there.flat_map(|t| indexed_of(t, env)).collect();
    if indexed.is_empty() {
        return false;
    }
    let mut has_params = false;
    let plain = b.group.is_none() && !b.distinct;
    let order = b
        .order
        .iter_mut()
        .filter(|_| plain)
        .map(|key| &mut key.expr);
    for e in b.filter.iter_mut().chain(order) {
        e.walk(&mut |e| has_params |= matches!(e.kind, ExprKind::Param(_)));
        e.walk_mut(&mut |e| replace(e, &indexed));
    }
    has_params
}

/// The tables on the inner sides of outer joins.
fn may_be_missing(t: &Tree, missing: &mut Vec<TableId>) {
    match t {
        Tree::Leaf(_) => {}
        Tree::Inner { parts, .. } => parts.iter().for_each(|p| may_be_missing(p, missing)),
        Tree::Left { left, right, .. } => {
            may_be_missing(left, missing);
            right.leaves(&mut |id| missing.push(id));
        }
        Tree::Semi { left, .. } => may_be_missing(left, missing),
    }
}

/// The generated columns of a table that stand in its indexes, and are of the very type of their expressions.
fn indexed_of(t: &Table, env: &SessionEnv) -> Vec<Indexed> {
    let TableKind::Stored { schema, .. } = &t.kind else {
        return Vec::new();
    };
    if !schema.generates() {
        return Vec::new();
    }
    // What can't be bound now is no way to find rows.
    let Ok(computed) = schema.computed(env) else {
        return Vec::new();
    };
    let in_index = |c: usize| {
        let mut parts = schema.indexes.iter().flat_map(|i| &i.parts);
        parts.any(|p| p.column == c && p.prefix.is_none())
    };
    let of = |(c, e): (usize, &Expr)| {
        let column = &schema.columns[c];
        let constant = matches!(e.kind, ExprKind::Column { .. } | ExprKind::Literal(_));
        if !in_index(c) || column.ty != e.ty || constant {
            return None;
        }
        let name = |n: &str| format!("{}.{}.{n}", t.database, t.name);
        let mut over = e.clone();
        over.walk_mut(&mut |e| {
            if let ExprKind::Column {
                source,
                column,
                label,
                ..
            } = &mut e.kind
            {
                *source = t.id;
                *label = name(&schema.columns[*column].name).into();
            }
        });
        let label = name(&column.name);
        Some(Indexed {
            of: format!("{over:?}"),
            column: Expr::column(t.id, c, column.ty.clone(), true, &label),
        })
    };
    computed.generated_expressions().filter_map(of).collect()
}

fn replace(e: &mut Expr, indexed: &[Indexed]) {
    if matches!(e.kind, ExprKind::Column { .. } | ExprKind::Literal(_)) {
        return;
    }
    let text = format!("{e:?}");
    if let Some(found) = indexed.iter().find(|i| i.of == text) {
        *e = found.column.clone();
    }
}
