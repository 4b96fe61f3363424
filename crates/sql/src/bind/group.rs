//! ONLY_FULL_GROUP_BY.

use crate::error::{SqlError, SqlResult};
use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::{Arena, Block, ColumnRef, TableId, TableKind, Tree};
use crate::value::Value;

/// A grouped SELECT to check.
struct Check<'a> {
    block: &'a Block,
    arena: &'a Arena,
    /// GROUP BY.
    keys: &'a [Expr],
}

/// 1055 and 1140: every column outside of aggregates must have one value per group.
pub fn check(block: &Block, arena: &Arena) -> SqlResult<()> {
    let group = block.group.as_ref();
    let c = &Check {
        block,
        arena,
        keys: group.map_or(&[], |g| &g.keys),
    };
    let explicit = group.is_some_and(|g| g.explicit);
    let fixed = determined(c);
    let texts: Vec<String> = c.keys.iter().map(|k| arena.text(k)).collect();
    let find = |e: &Expr| offending(e, c, &fixed, &texts);
    let lists = [
        ("SELECT list", block.select.iter().collect::<Vec<_>>()),
        ("ORDER BY", block.order.iter().map(|o| &o.expr).collect()),
        ("HAVING", block.having.iter().collect()),
    ];
    for (what, list) in lists {
        for (n, e) in list.into_iter().enumerate() {
            let Some(label) = find(e) else { continue };
            if !explicit {
                return Err(SqlError::new(
                    1140,
                    format!(
                        "In aggregated query without GROUP BY, expression #{} of {what} contains \
                         nonaggregated column '{label}'; this is incompatible with \
                         sql_mode=only_full_group_by",
                        n + 1
                    ),
                ));
            }
            return Err(SqlError::new(
                1055,
                format!(
                    "Expression #{} of {what} is not in GROUP BY clause and contains nonaggregated \
                     column '{label}' which is not functionally dependent on columns in GROUP BY \
                     clause; this is incompatible with sql_mode=only_full_group_by",
                    n + 1
                ),
            ));
        }
    }
    Ok(())
}

/// Columns that have one value per group.
fn determined(c: &Check<'_>) -> Vec<ColumnRef> {
    let column = |e: &Expr| match e.kind {
        ExprKind::Column { source, column, .. } => Some(ColumnRef {
            table: source,
            column,
        }),
        _ => None,
    };
    let mut fixed: Vec<ColumnRef> = c.keys.iter().filter_map(column).collect();
    let (mut conditions, mut outer) = (c.block.filter.iter().collect(), Vec::new());
    if let Some(from) = &c.block.from {
        joined(from, &mut conditions, &mut outer);
    }
    let equal = |e: &Expr| match &e.kind {
        ExprKind::Compare(CompareOp::Eq | CompareOp::NullSafeEq, sides, _) => {
            Some((sides[0].clone(), sides[1].clone()))
        }
        _ => None,
    };
    let mut pairs = Vec::new();
    for (a, b) in conditions.into_iter().filter_map(equal) {
        match (column(&a), column(&b)) {
            (Some(a), Some(b)) => pairs.push((a, b)),
            (Some(a), None) if b.is_const() => fixed.push(a),
            (None, Some(b)) if a.is_const() => fixed.push(b),
            _ => {}
        }
    }
    loop {
        let before = fixed.len();
        for &(a, b) in &pairs {
            let has = |x| fixed.contains(&x);
            match (has(a), has(b)) {
                (true, false) => fixed.push(b),
                (false, true) => fixed.push(a),
                _ => {}
            }
        }
        for (inner, on) in &outer {
            // Whether there is a row at all must follow from what is fixed, too.
            let read = on.iter().flat_map(|e| columns_read(e, c.arena));
            let mut others = read.filter(|r| r.table != *inner);
            if !others.all(|r| fixed.contains(&r)) {
                continue;
            }
            for (a, b) in on.iter().filter_map(equal) {
                let (Some(a), Some(b)) = (column(&a), column(&b)) else {
                    continue;
                };
                let own = if a.table == *inner { a } else { b };
                if own.table == *inner && a.table != b.table && !fixed.contains(&own) {
                    fixed.push(own);
                }
            }
        }
        // A key of a table determines its row.
        for t in &c.block.tables {
            let TableKind::Stored { schema, .. } = &t.kind else {
                continue;
            };
            let column = |column| ColumnRef {
                table: t.id,
                column,
            };
            let whole = schema.indexes.iter().any(|i| {
                i.unique
                    && !i.parts.is_empty()
                    && i.parts.iter().all(|p| {
                        p.prefix.is_none()
                            && !schema.columns[p.column].nullable
                            && fixed.contains(&column(p.column))
                    })
            });
            if whole {
                for col in 0..schema.columns.len() {
                    if !fixed.contains(&column(col)) {
                        fixed.push(column(col));
                    }
                }
            }
        }
        if fixed.len() == before {
            return fixed;
        }
    }
}

/// The columns that an expression reads, by its subqueries too.
fn columns_read(e: &Expr, arena: &Arena) -> Vec<ColumnRef> {
    let mut read = Vec::new();
    e.walk(&mut |x| match &x.kind {
        ExprKind::Column { source, column, .. } => read.push(ColumnRef {
            table: *source,
            column: *column,
        }),
        ExprKind::Subquery { id, .. } => read.extend(arena.outer(&arena.subqueries[*id].query)),
        _ => {}
    });
    read
}

/// The conditions that all rows of a FROM clause meet, and of LEFT JOINs the table that may be missing with its ON.
fn joined<'b>(
    tree: &'b Tree,
    conditions: &mut Vec<&'b Expr>,
    outer: &mut Vec<(TableId, &'b [Expr])>,
) {
    match tree {
        Tree::Leaf(_) => {}
        Tree::Inner { parts, on, .. } => {
            conditions.extend(on);
            parts.iter().for_each(|p| joined(p, conditions, outer));
        }
        Tree::Left { left, right, on } => {
            joined(left, conditions, outer);
            if let Tree::Leaf(id) = &**right {
                outer.push((*id, on));
            }
        }
        Tree::Semi { left, .. } => joined(left, conditions, outer),
    }
}

/// The label of a column that has several values per group.
fn offending(e: &Expr, c: &Check<'_>, fixed: &[ColumnRef], texts: &[String]) -> Option<String> {
    // Parts that are themselves a GROUP BY expression are settled.
    let mut rest = e.clone();
    if !texts.is_empty() {
        rest.walk_mut(&mut |x| {
            if !matches!(x.kind, ExprKind::Literal(_)) && texts.contains(&c.arena.text(x)) {
                x.kind = ExprKind::Literal(Value::Null);
            }
        });
    }
    let mut bad = None;
    rest.walk(&mut |x| {
        if bad.is_some() {
            return;
        }
        bad = match &x.kind {
            ExprKind::Column {
                source,
                column,
                label,
                ..
            } => {
                let read = ColumnRef {
                    table: *source,
                    column: *column,
                };
                varies(c, fixed, read).then(|| label.to_string())
            }
            ExprKind::Subquery { id, .. } => {
                let read = c.arena.outer(&c.arena.subqueries[*id].query);
                let first = read.into_iter().find(|&r| varies(c, fixed, r));
                first.and_then(|r| {
                    let t = c.block.table(r.table)?;
                    let column = t.column(r.column).0;
                    Some(format!("{}.{}.{column}", t.database, t.name))
                })
            }
            _ => None,
        };
    });
    bad
}

/// Whether a column of the block has several values per group.
fn varies(c: &Check<'_>, fixed: &[ColumnRef], read: ColumnRef) -> bool {
    c.block.table(read.table).is_some() && !fixed.contains(&read)
}
