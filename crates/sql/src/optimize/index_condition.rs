//! Index condition pushdown: conditions that the entries of a secondary index decide, beyond those that bound its scan. They are asked
//! before a row is fetched and, by a locking read, before it is locked.
//!
//! Only columns that the index's bytes give back count: not prefixes, nor texts of collations that compare different texts as equal.

use super::access::{Choice, Request, known};
use crate::expr::Expr;
use crate::plan::nodes::{CoveredColumn, ExprWithSubqueries, IndexCondition};
use crate::row;
use crate::switches::Flag;
use crate::types::Schema;

/// Where an index's bytes hold columns; `None` if one can't be told from them.
pub fn held(schema: &Schema, index: usize, columns: &[usize]) -> Option<Vec<CoveredColumn>> {
    let hidden = schema.indexes[0].parts.is_empty();
    let part = |index: usize, column: usize| {
        let parts = schema.indexes[index].parts.iter().enumerate();
        let mut of = parts.filter(|(_, p)| p.column == column && p.prefix.is_none());
        of.find(|(n, _)| row::key_part_decodable(schema, index, *n))
            .map(|(n, _)| n)
    };
    let one = |&column: &usize| {
        let own = part(index, column).map(|n| (n, false));
        let (part, clustered) = own.or_else(|| match hidden {
            true => None,
            false => part(0, column).map(|n| (n, true)),
        })?;
        Some(CoveredColumn {
            column,
            part,
            clustered,
        })
    };
    columns.iter().map(one).collect()
}

/// Columns of the table that a condition reads.
fn own_columns(r: &Request<'_>, e: &Expr) -> Vec<usize> {
    let mut own = Vec::new();
    e.columns(&mut |s, c| {
        if s == r.source && !own.contains(&c) {
            own.push(c);
        }
    });
    own
}

/// Conditions that entries of a secondary index decide before their rows are fetched.
pub fn pushable(r: &Request<'_>, c: &Choice) -> Vec<usize> {
    let a = &c.access;
    let on = r.peek.env.switches.get().has(Flag::IndexConditionPushdown);
    let rows = on && a.index != 0 && a.covering.is_none() && a.is_bounded() && !a.unique;
    if !rows || r.conds.len() == c.exact.len() {
        return Vec::new();
    }
    let decides = |n: &usize| {
        let e = &r.conds[*n].expr;
        let own = own_columns(r, e);
        !c.exact.contains(n)
            && !own.is_empty()
            && e.is_const_or_columns()
            && known(e, r, true)
            && held(r.schema, a.index, &own).is_some()
    };
    (0..r.conds.len()).filter(decides).collect()
}

/// Makes conditions those of an index.
pub fn push(
    r: &Request<'_>,
    index: usize,
    conds: Vec<ExprWithSubqueries>,
) -> Option<Box<IndexCondition>> {
    let mut columns: Vec<usize> = Vec::new();
    for c in &conds {
        columns.extend(own_columns(r, &c.expr));
    }
    columns.sort_unstable();
    columns.dedup();
    (!conds.is_empty()).then(|| {
        Box::new(IndexCondition {
            source: r.source,
            columns: held(r.schema, index, &columns).unwrap_or_default(),
            conds,
        })
    })
}
