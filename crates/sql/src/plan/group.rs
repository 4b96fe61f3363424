//! Grouping: ONLY_FULL_GROUP_BY, and MIN and MAX that an index answers.

use super::nodes::{Source, SourceKind, Subquery};
use crate::error::{SqlError, SqlResult};
use crate::expr::{AggregateKind, AggregateSpec, CompareOp, Expr, ExprKind};
use crate::value::Value;

/// A grouped SELECT to check.
pub struct Check<'a> {
    /// Sources of the blocks around.
    pub base: usize,
    /// Its sources.
    pub sources: &'a [Source],
    /// Its subqueries.
    pub subqueries: &'a [Subquery],
    /// GROUP BY.
    pub keys: &'a [Expr],
    /// WHERE's conjuncts.
    pub filter: &'a [Expr],
    /// Select list.
    pub select: &'a [Expr],
    /// HAVING.
    pub having: &'a [Expr],
    /// ORDER BY.
    pub order: &'a [(Expr, bool)],
    /// Whether there is a GROUP BY.
    pub explicit: bool,
}

/// 1055 and 1140: every column outside of aggregates must have one value per group.
pub fn check(c: &Check<'_>) -> SqlResult<()> {
    let fixed = determined(c);
    let texts: Vec<String> = c.keys.iter().map(ToString::to_string).collect();
    let find = |e: &Expr| offending(e, c, &fixed, &texts);
    let lists = [
        ("SELECT list", c.select.iter().collect::<Vec<_>>()),
        ("ORDER BY", c.order.iter().map(|(e, _)| e).collect()),
        ("HAVING", c.having.iter().collect()),
    ];
    for (what, list) in lists {
        for (n, e) in list.into_iter().enumerate() {
            let Some(label) = find(e) else { continue };
            if !c.explicit {
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
fn determined(c: &Check<'_>) -> Vec<(usize, usize)> {
    let column = |e: &Expr| match e.kind {
        ExprKind::Column { source, column, .. } => Some((source, column)),
        _ => None,
    };
    let mut fixed: Vec<(usize, usize)> = c.keys.iter().filter_map(column).collect();
    let mut pairs = Vec::new();
    for e in c.filter {
        if let ExprKind::Compare(CompareOp::Eq | CompareOp::NullSafeEq, sides, _) = &e.kind {
            match (column(&sides[0]), column(&sides[1])) {
                (Some(a), Some(b)) => pairs.push((a, b)),
                (Some(a), None) if sides[1].is_const() => fixed.push(a),
                (None, Some(b)) if sides[0].is_const() => fixed.push(b),
                _ => {}
            }
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
        // A key of a table determines its row.
        for (n, s) in c.sources.iter().enumerate() {
            let SourceKind::Table { schema, .. } = &s.kind else {
                continue;
            };
            let whole = schema.indexes.iter().any(|i| {
                i.unique
                    && !i.parts.is_empty()
                    && i.parts.iter().all(|p| {
                        p.prefix.is_none()
                            && !schema.columns[p.column].nullable
                            && fixed.contains(&(c.base + n, p.column))
                    })
            });
            if whole {
                for col in 0..schema.columns.len() {
                    if !fixed.contains(&(c.base + n, col)) {
                        fixed.push((c.base + n, col));
                    }
                }
            }
        }
        if fixed.len() == before {
            return fixed;
        }
    }
}

/// The label of a column that has several values per group.
fn offending(
    e: &Expr,
    c: &Check<'_>,
    fixed: &[(usize, usize)],
    texts: &[String],
) -> Option<String> {
    // Parts that are themselves a GROUP BY expression are settled.
    let mut rest = e.clone();
    if !texts.is_empty() {
        rest.walk_mut(&mut |x| {
            if !matches!(x.kind, ExprKind::Literal(_)) && texts.contains(&x.to_string()) {
                x.kind = ExprKind::Literal(Value::Null);
            }
        });
    }
    let mut bad = None;
    rest.walk(&mut |x| {
        let ExprKind::Column {
            source,
            column,
            label,
            ..
        } = &x.kind
        else {
            return;
        };
        if bad.is_some() {
            return;
        }
        bad = match varies(c, fixed, *source, *column) {
            Some(at) if at == (*source, *column) => Some(label.to_string()),
            Some((source, column)) => {
                let s = &c.sources[source - c.base];
                Some(format!("{}.{}.{}", s.database, s.name, s.column(column).0))
            }
            None => None,
        };
    });
    bad
}

/// The column with several values per group that this one is, or that this subquery reads.
fn varies(
    c: &Check<'_>,
    fixed: &[(usize, usize)],
    source: usize,
    column: usize,
) -> Option<(usize, usize)> {
    let end = c.base + c.sources.len();
    if source == end + 1 {
        let mut read = c.subqueries[column].outer.iter();
        return read.find_map(|&(s, n)| varies(c, fixed, s, n));
    }
    let own = (c.base..end).contains(&source);
    (own && !fixed.contains(&(source, column))).then_some((source, column))
}

/// The column whose first value in index order decides the only aggregate: (source, column, is MAX).
pub fn end_of(
    aggregates: &[AggregateSpec],
    count: usize,
    single: &dyn Fn(&Expr) -> Option<(usize, usize)>,
) -> Option<(usize, usize, bool)> {
    let [a] = aggregates else {
        return None;
    };
    let max = match a.kind {
        AggregateKind::Min => false,
        AggregateKind::Max => true,
        _ => return None,
    };
    let [arg] = &a.args[..] else {
        return None;
    };
    // ENUMs compare as texts in MIN and MAX, but are ordered by position.
    if count != 1 || arg.ty.base == crate::types::BaseType::Enum {
        return None;
    }
    single(arg).map(|(s, c)| (s, c, max))
}
