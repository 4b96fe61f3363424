//! What is known about a table's rows, and what share of them a condition leaves.
//!
//! Guesses for what nobody has looked at are MySQL's, as its EXPLAIN shows them in `filtered`: a tenth for an equality or IS
//! NULL, a third for an inequality, a ninth for BETWEEN and LIKE 'abc%'.

use std::ops::Bound;
use std::sync::Arc;

use super::histogram::{Histogram, Point};
use crate::types::{BaseType, Schema, SqlType};
use crate::value::{DateTime, Lookup, Value, Zone, lookup};

/// Share of rows that equal a constant, if nothing is known.
pub const EQUALITY: f64 = 0.1;
/// Share of rows on one side of a constant.
pub const INEQUALITY: f64 = 1.0 / 3.0;
/// Share of rows between two constants.
pub const BETWEEN: f64 = 1.0 / 9.0;
/// Share of rows that what a histogram does not know is taken to have, or one row if that is less; MySQL's.
const LEAST: f64 = 0.001;
/// Most that a list of constants leaves.
const LIST: f64 = 0.5;

/// What is known about a table, resolved against the definition it was asked for. Immutable: newer statistics are another
/// object.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    /// Rows when they were taken.
    pub rows: u64,
    /// Bytes of a row on the average, with what its page has besides.
    pub row_bytes: u64,
    /// When they were taken, seconds since 1970 UTC; 0: never.
    pub updated: u64,
    /// By the definition's indexes; an index made since has none.
    pub indexes: Vec<Option<IndexStatistics>>,
    /// By the definition's columns, of those that have one.
    pub histograms: Vec<Option<Arc<Histogram>>>,
    pub(super) schema: Option<Arc<Schema>>,
}

/// What is known about an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexStatistics {
    /// Different values of the first part, of the first two parts, ... (`n_diff_pfx01`, ...).
    pub distinct: Vec<u64>,
    /// Pages of the tree.
    pub pages: u64,
    /// Leaf pages among them.
    pub leaf_pages: u64,
    /// Leaf pages that were looked at.
    pub sampled: u64,
}

impl TableStatistics {
    /// Whether anybody has looked at the table's rows.
    pub fn are_taken(&self) -> bool {
        self.updated != 0
    }

    /// Different combinations of values in these columns: from an index that begins with them, in any order; for one column from
    /// its histogram too. `None`: unknown.
    pub fn distinct(&self, columns: &[usize]) -> Option<f64> {
        if columns.is_empty() {
            return Some(1.0);
        }
        let schema = self.schema.as_ref()?;
        let of_index = |(index, known): (&crate::types::Index, &Option<IndexStatistics>)| {
            let parts = index.parts.get(..columns.len())?;
            let covers = |c: &usize| parts.iter().any(|p| p.column == *c && p.prefix.is_none());
            let n = *known.as_ref()?.distinct.get(columns.len() - 1)?;
            // Of an empty table nothing is known.
            (n > 0 && columns.iter().all(covers)).then_some(n as f64)
        };
        let mut known = schema.indexes.iter().zip(&self.indexes);
        let exact = known.find_map(of_index);
        exact
            .or_else(|| match columns {
                [column] => Some(self.histogram(*column)?.distinct()),
                _ => None,
            })
            .map(|n| n.max(1.0))
    }

    /// The column's histogram.
    pub fn histogram(&self, column: usize) -> Option<&Arc<Histogram>> {
        self.histograms.get(column)?.as_ref()
    }

    /// Share of rows that are NULL in a column.
    pub fn null_fraction(&self, column: usize) -> f64 {
        match self.histogram(column) {
            Some(h) => h.null_fraction,
            None if self.column(column).is_some_and(|c| !c.nullable) => 0.0,
            None => EQUALITY,
        }
    }

    fn column(&self, column: usize) -> Option<&crate::types::Column> {
        self.schema.as_ref()?.columns.get(column)
    }

    /// Share of rows whose column equals a constant; `None`: one that is not known yet.
    pub fn selectivity_eq(&self, column: usize, value: Option<&Value<'_>>, zone: Zone) -> f64 {
        if value.is_some_and(Value::is_null) {
            return 0.0;
        }
        if let (Some(h), Some(c), Some(value)) =
            (self.histogram(column), self.column(column), value)
        {
            match constant(value, &c.ty, zone) {
                Constant::At(point) => return self.floor(h.equal(&point)),
                Constant::Above(_) | Constant::Lowest | Constant::Highest => {
                    return self.floor(0.0);
                }
                Constant::Unknown => {}
            }
        }
        match self.distinct(&[column]) {
            Some(n) => self.floor((1.0 - self.known_nulls(column)) / n),
            None => EQUALITY,
        }
    }

    /// NULLs, where an estimate must not take unknown ones off.
    fn known_nulls(&self, column: usize) -> f64 {
        self.histogram(column).map_or(0.0, |h| h.null_fraction)
    }

    /// What was not found may still be there.
    fn floor(&self, share: f64) -> f64 {
        share.max(LEAST.min(1.0 / self.rows.max(1) as f64)).min(1.0)
    }

    /// Share of rows whose column lies between constants.
    pub fn selectivity_range(
        &self,
        column: usize,
        lower: Bound<&Value<'_>>,
        upper: Bound<&Value<'_>>,
        zone: Zone,
    ) -> f64 {
        let open = |b: &Bound<&Value<'_>>| matches!(b, Bound::Unbounded);
        let guess = match (open(&lower), open(&upper)) {
            (true, true) => return 1.0 - self.known_nulls(column),
            (false, false) => BETWEEN,
            _ => INEQUALITY,
        };
        let (Some(h), Some(c)) = (self.histogram(column), self.column(column)) else {
            return guess;
        };
        let side = |bound, low| side(bound, low, &c.ty, zone);
        match (side(lower, true), side(upper, false)) {
            (Side::Nothing, _) | (_, Side::Nothing) => self.floor(0.0),
            (Side::Unknown, _) | (_, Side::Unknown) => guess,
            (Side::At(low), Side::At(high)) => self.floor(h.between(low.as_ref(), high.as_ref())),
        }
    }

    /// Share of rows whose column is one of these constants; `count` of them, of which some may not be known yet.
    pub fn selectivity_in(
        &self,
        column: usize,
        values: &[Value<'_>],
        count: usize,
        zone: Zone,
    ) -> f64 {
        let known = values
            .iter()
            .map(|v| self.selectivity_eq(column, Some(v), zone));
        let others = count.saturating_sub(values.len()) as f64;
        let sum = known.sum::<f64>() + others * self.selectivity_eq(column, None, zone);
        let informed = self.histogram(column).is_some() || self.distinct(&[column]).is_some();
        match informed || count < 2 {
            true => sum.min(1.0),
            false => sum.min(LIST),
        }
    }

    /// Share of rows whose text begins with `prefix` (LIKE 'abc%').
    pub fn like_prefix(&self, column: usize, prefix: &[u8]) -> f64 {
        match (self.histogram(column), self.column(column)) {
            (Some(h), Some(c)) if c.ty.is_string() && !c.ty.is_enumerated() => {
                self.floor(h.prefixed(prefix, &c.ty))
            }
            _ => BETWEEN,
        }
    }

    /// Whether what was planned with these statistics may be far off now that `now` are in force: four times as many rows or
    /// values, or a fourth, as `Plan::is_outgrown` counts.
    pub fn are_outgrown_by(&self, now: &TableStatistics) -> bool {
        let far = |a: u64, b: u64| {
            let (low, high) = (a.min(b), a.max(b));
            high > low.saturating_mul(4).max(200)
        };
        let values = |(a, b): (&Option<IndexStatistics>, &Option<IndexStatistics>)| match (a, b) {
            (Some(a), Some(b)) => {
                let mut both = a.distinct.iter().zip(&b.distinct);
                both.any(|(a, b)| far(*a, *b))
            }
            (None, Some(_)) => true,
            _ => false,
        };
        let stamp = |h: &Option<Arc<Histogram>>| h.as_ref().map(|h| h.updated_us);
        far(self.rows, now.rows)
            || self.indexes.iter().zip(&now.indexes).any(values)
            || self
                .histograms
                .iter()
                .map(stamp)
                .ne(now.histograms.iter().map(stamp))
    }
}

/// A constant as a column's histogram sees it.
enum Constant {
    At(Point),
    /// Between this value of the column and the next.
    Above(Point),
    Lowest,
    Highest,
    /// The comparison does not go by the column's order.
    Unknown,
}

fn constant(value: &Value<'_>, ty: &SqlType, zone: Zone) -> Constant {
    let point = |v| Point::new(to_utc(v, ty, zone), ty);
    match lookup(value, ty, zone) {
        Lookup::Exact(v) => Constant::At(point(v)),
        Lookup::Above(v) => Constant::Above(point(v)),
        Lookup::BelowAll => Constant::Lowest,
        Lookup::AboveAll => Constant::Highest,
        Lookup::Null | Lookup::Unusable => Constant::Unknown,
    }
}

/// Histograms have TIMESTAMPs in UTC.
fn to_utc(value: Value<'static>, ty: &SqlType, zone: Zone) -> Value<'static> {
    match value {
        Value::DateTime(d) if ty.base == BaseType::Timestamp && !d.is_zero() => {
            let (seconds, micro) = d.to_unix(zone);
            let utc = DateTime::from_unix(seconds, micro, Zone::UTC);
            Value::DateTime(utc.unwrap_or(d))
        }
        v => v,
    }
}

enum Side {
    At(Bound<Point>),
    /// No row is on this side.
    Nothing,
    Unknown,
}

fn side(bound: Bound<&Value<'_>>, low: bool, ty: &SqlType, zone: Zone) -> Side {
    let (value, included) = match bound {
        Bound::Unbounded => return Side::At(Bound::Unbounded),
        Bound::Included(v) => (v, true),
        Bound::Excluded(v) => (v, false),
    };
    if value.is_null() {
        return Side::Nothing;
    }
    match constant(value, ty, zone) {
        Constant::At(p) if included => Side::At(Bound::Included(p)),
        Constant::At(p) => Side::At(Bound::Excluded(p)),
        Constant::Above(p) if low => Side::At(Bound::Excluded(p)),
        Constant::Above(p) => Side::At(Bound::Included(p)),
        Constant::Lowest if low => Side::At(Bound::Unbounded),
        Constant::Highest if !low => Side::At(Bound::Unbounded),
        Constant::Lowest | Constant::Highest => Side::Nothing,
        Constant::Unknown => Side::Unknown,
    }
}
