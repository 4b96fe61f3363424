//! What an indexed generated column is computed from is that column: `WHERE lower(a) = 'x'` reads the column that holds `lower(a)`, be it
//! a functional key part's hidden one or one that the table shows, so that access paths see a column.
//!
//! An expression is the column's if it is the same to the last type and collation: then the column has its value, whatever is done
//! with it. A table that an outer join may find no row of is left alone, but in conditions that are asked before that is known: there its
//! columns are NULL, whatever the expression would make of NULLs. Asked are WHERE, conditions of joins, GROUP BY and what is DISTINCT, and
//! ORDER BY. Where rows are grouped or kept once by a column, whatever else there is of the block reads it, too, so that it is still the
//! same. Placeholders are no constants: a statement that is planned for all literals finds nothing that has one in it, and says that it
//! should be planned for its own.

use crate::expr::{Expr, ExprKind};
use crate::logical::{Block, Table, TableId, TableKind, Tree};
use crate::types::{BaseType, SqlType};

/// A generated column of a table of the block.
struct Indexed {
    table: TableId,
    /// Its expression over that table, as text that tells all of it.
    of: String,
    /// The column.
    column: Expr,
}

/// The rule at work on a block.
struct Substitution {
    /// Of all of its tables.
    indexed: Vec<Indexed>,
    has_params: bool,
}

/// Applies the rule to a block; whether more might be found if placeholders were constants.
pub fn apply(b: &mut Block) -> bool {
    let indexed: Vec<Indexed> = b.tables.iter().flat_map(indexed_of).collect();
    if indexed.is_empty() {
        return false;
    }
    let mut s = Substitution {
        indexed,
        has_params: false,
    };
    let mut missing = Vec::new();
    if let Some(from) = &mut b.from {
        s.in_joins(from);
        may_be_missing(from, &mut missing);
    }
    for e in &mut b.filter {
        s.replace(e, &missing);
    }
    let grouped = match &mut b.group {
        Some(group) => group
            .keys
            .iter_mut()
            .fold(false, |any, key| s.replace(key, &missing) | any),
        None => {
            let each = b.select.iter_mut().filter(|_| b.distinct);
            each.fold(false, |any, e| s.replace(e, &missing) | any)
        }
    };
    if grouped {
        s.replace_after(b, &missing);
    } else if b.group.is_none() {
        for key in &mut b.order {
            s.replace(&mut key.expr, &missing);
        }
    }
    s.has_params
}

impl Substitution {
    /// In conditions of joins: they are asked of rows that are there as far as the joins within are concerned.
    fn in_joins(&mut self, tree: &mut Tree) {
        let mut missing = Vec::new();
        let on = match tree {
            Tree::Leaf(_) => return,
            Tree::Inner { parts, on, .. } => {
                for part in parts {
                    self.in_joins(part);
                    may_be_missing(part, &mut missing);
                }
                on
            }
            Tree::Left { left, right, on }
            | Tree::Semi {
                left, right, on, ..
            } => {
                for side in [left, right] {
                    self.in_joins(side);
                    may_be_missing(side, &mut missing);
                }
                on
            }
        };
        for e in on {
            self.replace(e, &missing);
        }
    }

    /// In an expression; whether there was anything.
    fn replace(&mut self, e: &mut Expr, missing: &[TableId]) -> bool {
        e.walk(&mut |e| self.has_params |= e.is_given());
        self.replace_in(e, missing)
    }

    fn replace_in(&self, e: &mut Expr, missing: &[TableId]) -> bool {
        let mut any = false;
        e.walk_mut(&mut |e| {
            if matches!(e.kind, ExprKind::Column { .. } | ExprKind::Literal(_)) {
                return;
            }
            let text = format!("{e:?}");
            let there = |i: &&Indexed| i.of == text && !missing.contains(&i.table);
            if let Some(found) = self.indexed.iter().find(there) {
                *e = found.column.clone();
                any = true;
            }
        });
        any
    }

    /// In what a block does once its rows are there: what it is grouped by, or keeps once, is read everywhere.
    fn replace_after(&mut self, b: &mut Block, missing: &[TableId]) {
        let mut each = |e: &mut Expr| {
            self.replace_in(e, missing);
        };
        if let Some(group) = &mut b.group {
            for a in &mut group.aggregates {
                a.args.iter_mut().for_each(&mut each);
                a.order_by.iter_mut().for_each(|(e, _)| each(e));
            }
        }
        b.having.iter_mut().for_each(&mut each);
        b.select.iter_mut().for_each(&mut each);
        b.order.iter_mut().for_each(|key| each(&mut key.expr));
    }
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

/// The type in which an expression is kept: an integer's digits are not.
fn kept(ty: &SqlType) -> SqlType {
    match ty.base {
        BaseType::BigInt => SqlType {
            length: SqlType::bigint().length,
            ..ty.clone()
        },
        _ => ty.clone(),
    }
}

/// The generated columns of a table that stand in its indexes, and are of the very type of their expressions.
fn indexed_of(t: &Table) -> Vec<Indexed> {
    let TableKind::Stored { schema, .. } = &t.kind else {
        return Vec::new();
    };
    if !schema.generates() {
        return Vec::new();
    }
    // What can't be bound now is no way to find rows.
    let Ok(computed) = schema.computed() else {
        return Vec::new();
    };
    let in_index = |c: usize| {
        let mut parts = schema.indexes.iter().flat_map(|i| &i.parts);
        parts.any(|p| p.column == c && p.prefix.is_none())
    };
    let of = |(c, e): (usize, &Expr)| {
        let column = &schema.columns[c];
        let constant = matches!(e.kind, ExprKind::Column { .. } | ExprKind::Literal(_));
        if !in_index(c) || kept(&column.ty) != kept(&e.ty) || constant {
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
            table: t.id,
            of: format!("{over:?}"),
            column: Expr::column(t.id, c, column.ty.clone(), true, &label),
        })
    };
    computed.generated_expressions().filter_map(of).collect()
}
