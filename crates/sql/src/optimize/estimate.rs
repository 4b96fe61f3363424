//! How many rows there are, and how many of them conditions leave. All estimates that join orders and access paths are weighed by
//! come from here, and what is known of the tables comes in here ([`crate::statistics`]).
//!
//! What a condition compares with counts as far as it is a constant of the statement. A placeholder, a variable, a
//! column of another table may have any value: the average of the column's values stands for it.

use std::ops::Bound;
use std::sync::LazyLock;

use super::conditions::{self, column_of};
use super::peek::Peek;
use crate::expr::{CompareOp, EvalContext, Expr, ExprKind, RowRef, Term, pattern_prefix};
use crate::logical::Limit;
use crate::logical::PlanTable;
use crate::statistics::{self as known, BETWEEN, EQUALITY, INEQUALITY, TableStatistics};
use crate::value::Value;

/// Most rows that one value is taken to have if nobody has counted them.
const ROWS_OF_VALUE: f64 = 200.0;
/// Part of the rows that a condition leaves of which the form says nothing.
const OTHER: f64 = 0.5;
/// Most that a list of values leaves.
const LIST: f64 = 0.5;

/// Of tables that nobody looks at: derived ones, those computed on demand.
static NOTHING: LazyLock<TableStatistics> = LazyLock::new(TableStatistics::default);

/// What is expected of a query or a computed table.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Rows.
    pub rows: f64,
    /// Cost of making them, in rows read.
    pub cost: f64,
    /// Different values by column; a column beyond them has as many as there are rows.
    pub distinct: Vec<f64>,
}

impl Outline {
    /// Rows of which nothing else is known.
    pub fn of_rows(rows: f64) -> Outline {
        Outline {
            rows,
            cost: 0.0,
            distinct: Vec::new(),
        }
    }

    /// How many different values a set of columns has.
    pub fn distinct(&self, columns: &[usize]) -> f64 {
        let one = |c: &usize| self.distinct.get(*c).copied().unwrap_or(self.rows);
        together(columns.iter().map(one).collect(), self.rows.max(1.0))
    }
}

/// Rows of a stored table.
pub fn rows(table: &PlanTable) -> f64 {
    (table.rows as f64).max(1.0)
}

/// Whether no two rows of a table are equal in these columns, NULLs apart.
pub fn is_unique(table: &PlanTable, columns: &[usize]) -> bool {
    table.schema.indexes.iter().any(|i| {
        let covered = |p: &crate::types::KeyPart| p.prefix.is_none() && columns.contains(&p.column);
        i.unique && !i.parts.is_empty() && i.parts.iter().all(covered)
    })
}

/// How many different values a set of columns has.
pub fn distinct(table: &PlanTable, columns: &[usize]) -> f64 {
    let rows = rows(table);
    if is_unique(table, columns) {
        return rows;
    }
    let counted = |columns: &[usize]| table.statistics.distinct(columns);
    if let Some(n) = counted(columns) {
        return n.min(rows);
    }
    let guess = rows / rows_of_value(rows);
    let each = columns.iter().map(|c| match is_unique(table, &[*c]) {
        true => rows,
        false => counted(&[*c]).unwrap_or(guess),
    });
    together(each.collect(), rows)
}

/// Different combinations of columns with so many values each, as statistics put conditions together: those of columns beyond
/// the first count less and less, for they depend on each other more often than not.
fn together(mut each: Vec<f64>, rows: f64) -> f64 {
    each.sort_unstable_by(|a, b| b.total_cmp(a));
    let powers = [1.0, 0.5, 0.25, 0.125];
    let all: f64 = each.iter().zip(powers).map(|(n, p)| n.powf(p)).product();
    all.clamp(1.0, rows.max(1.0))
}

/// Rows that a value of a column is taken to have of which nothing is known.
fn rows_of_value(rows: f64) -> f64 {
    (rows * EQUALITY).clamp(1.0, ROWS_OF_VALUE)
}

/// Rows that agree in the first `parts` parts of an index, on the average.
pub fn rows_per_key(table: &PlanTable, index: usize, parts: usize) -> f64 {
    let rows = rows(table);
    let i = &table.schema.indexes[index];
    if i.unique && parts == i.parts.len() {
        return 1.0;
    }
    let counted = table.statistics.indexes.get(index).and_then(|i| i.as_ref());
    match counted.and_then(|i| i.distinct.get(parts.wrapping_sub(1))) {
        Some(n) if *n > 0 => (rows / *n as f64).max(1.0),
        _ => (rows * EQUALITY.powi(parts as i32)).clamp(1.0, ROWS_OF_VALUE),
    }
}

/// Part of the rows within a range of values that are not known, after what an index fixes.
pub fn of_range(both: bool) -> f64 {
    if both { BETWEEN } else { INEQUALITY }
}

/// A table whose conditions are asked about.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The table and its position in the plan; `None`: it is computed.
    pub table: Option<(usize, &'a PlanTable)>,
    /// Its source.
    pub source: usize,
    /// The session, and values of placeholders.
    pub peek: &'a Peek<'a>,
}

/// What a condition says of one table, with the values that are known.
enum Part {
    Equal(usize, Option<Value<'static>>),
    Bounds(usize, Side, Side),
    Share(f64),
}

type Side = Bound<Option<Value<'static>>>;

impl Part {
    fn term(&self) -> known::Term<'_> {
        match self {
            Part::Equal(c, v) => known::Term::Equal(*c, v.as_ref()),
            Part::Bounds(c, lower, upper) => known::Term::Range(
                *c,
                lower.as_ref().map(Option::as_ref),
                upper.as_ref().map(Option::as_ref),
            ),
            Part::Share(share) => known::Term::Share(*share),
        }
    }
}

impl<'a> Asked<'a> {
    fn statistics(&self) -> &'a TableStatistics {
        match self.table {
            Some((_, t)) => &t.statistics,
            None => &NOTHING,
        }
    }

    /// Part of the rows for which all conditions hold, beside others that leave a part that is known.
    pub fn share<'e>(&self, conds: impl Iterator<Item = &'e Expr>, beside: Option<f64>) -> f64 {
        let mut parts = Vec::new();
        conds.for_each(|e| {
            self.peek.condition(self, e);
            self.add(e, &mut parts);
        });
        self.together(parts, beside)
    }

    /// Rows for which a condition holds.
    pub fn rows_of(&self, e: &Expr) -> f64 {
        self.one(e) * self.table.map_or(1.0, |(_, t)| rows(t))
    }

    fn together(&self, mut parts: Vec<Part>, beside: Option<f64>) -> f64 {
        parts.extend(beside.map(Part::Share));
        let terms: Vec<_> = parts.iter().map(Part::term).collect();
        let zone = self.peek.env.zone.get();
        // There may always be one.
        let least = self.table.map_or(0.0, |(_, t)| 1.0 / rows(t));
        self.statistics().selectivity(&terms, zone).max(least)
    }

    fn one(&self, e: &Expr) -> f64 {
        let mut parts = Vec::new();
        self.add(e, &mut parts);
        self.together(parts, None)
    }

    fn of_term(&self, term: known::Term<'_>) -> Part {
        let zone = self.peek.env.zone.get();
        Part::Share(self.statistics().selectivity(&[term], zone))
    }

    /// The value of a constant.
    fn value(&self, e: &Expr) -> Option<Value<'static>> {
        if !self.peek.knows(e) {
            return None;
        }
        let rows: [RowRef<'_>; 0] = [];
        let cx = EvalContext {
            rows: &rows,
            params: self.peek.params(),
            session: self.peek.env,
        };
        // Warnings are for whoever runs it.
        let before = self.peek.env.diagnostics.borrow().len();
        let value = e.shown(&cx).map(Value::into_owned);
        self.peek.env.diagnostics.borrow_mut().truncate(before);
        value.ok()
    }

    fn add(&self, e: &Expr, parts: &mut Vec<Part>) {
        if let Some((column, term)) = conditions::term(e, self.source) {
            self.add_term(column, term, parts);
            return;
        }
        let part = match &e.kind {
            ExprKind::And(list) => {
                list.iter().for_each(|e| self.add(e, parts));
                return;
            }
            ExprKind::Or(list) => {
                let none: f64 = list.iter().map(|e| 1.0 - self.one(e)).product();
                Part::Share(1.0 - none)
            }
            ExprKind::Not(e) => Part::Share(1.0 - self.one(e)),
            ExprKind::IsNotNull(e) => match column_of(e, self.source) {
                Some(c) => self.of_term(known::Term::IsNotNull(c)),
                None => Part::Share(1.0 - EQUALITY),
            },
            ExprKind::Compare(CompareOp::Ne, sides, _) => self.unequal(&sides[..]),
            _ => match positive(e) {
                Some(e) => Part::Share(1.0 - self.one(&e)),
                None => Part::Share(by_form(e)),
            },
        };
        parts.push(part);
    }

    fn add_term(&self, column: usize, term: Term, parts: &mut Vec<Part>) {
        let part = match term {
            Term::Eq(e) | Term::NullSafe(e) => Part::Equal(column, self.value(&e)),
            Term::IsNull => self.of_term(known::Term::IsNull(column)),
            Term::In(list) => {
                let values: Vec<_> = list.iter().filter_map(|e| self.value(e)).collect();
                self.of_term(known::Term::In(column, &values, list.len()))
            }
            Term::Range(lower, upper) => {
                let side = |s: Option<(Expr, bool)>| match s {
                    None => Bound::Unbounded,
                    Some((e, true)) => Bound::Included(self.value(&e)),
                    Some((e, false)) => Bound::Excluded(self.value(&e)),
                };
                self.add_bounds(column, side(lower), side(upper), parts);
                return;
            }
            Term::Like(e) => match self.value(&e) {
                Some(Value::Bytes(pattern)) => {
                    let (prefix, _) = pattern_prefix(&pattern, Some('\\'));
                    match prefix.is_empty() {
                        true => Part::Share(BETWEEN),
                        false => self.of_term(known::Term::LikePrefix(column, &prefix)),
                    }
                }
                _ => Part::Share(BETWEEN),
            },
        };
        parts.push(part);
    }

    /// A bound on either side of a column is one range.
    fn add_bounds(&self, column: usize, low: Side, high: Side, parts: &mut Vec<Part>) {
        for part in parts.iter_mut() {
            let Part::Bounds(c, lower, upper) = part else {
                continue;
            };
            let open = |s: &Side| matches!(s, Bound::Unbounded);
            if *c == column && (open(lower) || open(&low)) && (open(upper) || open(&high)) {
                if open(lower) {
                    *lower = low;
                }
                if open(upper) {
                    *upper = high;
                }
                return;
            }
        }
        parts.push(Part::Bounds(column, low, high));
    }

    fn unequal(&self, sides: &[Expr]) -> Part {
        for (column, other) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
            if let Some(c) = column_of(column, self.source) {
                let value = self.value(other);
                return self.of_term(known::Term::NotEqual(c, value.as_ref()));
            }
        }
        Part::Share(1.0 - EQUALITY)
    }
}

/// What a negated condition negates.
fn positive(e: &Expr) -> Option<Expr> {
    let mut e = match &e.kind {
        ExprKind::Between { negated: true, .. } => e.clone(),
        ExprKind::InList(l) if l.negated => e.clone(),
        ExprKind::Like(l) if l.negated => e.clone(),
        _ => return None,
    };
    match &mut e.kind {
        ExprKind::Between { negated, .. } => *negated = false,
        ExprKind::InList(l) => l.negated = false,
        ExprKind::Like(l) => l.negated = false,
        _ => {}
    }
    Some(e)
}

/// Part of the rows that a condition leaves, as its form tells.
pub fn by_form(e: &Expr) -> f64 {
    match &e.kind {
        ExprKind::Compare(CompareOp::Eq | CompareOp::NullSafeEq, ..) | ExprKind::IsNull(_) => {
            EQUALITY
        }
        ExprKind::Compare(CompareOp::Ne, ..) | ExprKind::IsNotNull(_) => 1.0 - EQUALITY,
        ExprKind::Compare(..) => INEQUALITY,
        ExprKind::Between { negated, .. } => either(BETWEEN, *negated),
        ExprKind::Like(l) => either(BETWEEN, l.negated),
        ExprKind::InList(l) => either((l.list.len() as f64 * EQUALITY).min(LIST), l.negated),
        ExprKind::And(list) => list.iter().map(by_form).product(),
        ExprKind::Or(list) => list.iter().map(by_form).sum::<f64>().min(1.0),
        ExprKind::Not(e) => 1.0 - by_form(e),
        _ => OTHER,
    }
}

fn either(part: f64, negated: bool) -> f64 {
    if negated { 1.0 - part } else { part }
}

/// Rows that LIMIT leaves.
pub fn limited(rows: f64, limit: &Limit) -> f64 {
    match &limit.count {
        Some(n) => rows.min(limit_rows(n, None)),
        None => rows,
    }
}

/// Groups of rows that come together by values of which there are so many: how many different balls that many draws
/// give (Cardenas, Analysis and Performance of Inverted Data Base Structures, 1975).
pub fn grouped(rows: f64, values: f64) -> f64 {
    let values = values.max(1.0);
    (values * -(-rows / values).exp_m1()).clamp(1.0, rows.max(1.0))
}

/// Rows a LIMIT with a placeholder is taken for.
const UNKNOWN_LIMIT: f64 = 100.0;

/// Rows a LIMIT stands for when planning.
pub fn limit_rows(count: &Expr, offset: Option<&Expr>) -> f64 {
    let number = |e: &Expr| match &e.kind {
        ExprKind::Literal(v) => v.to_u64() as f64,
        _ => UNKNOWN_LIMIT,
    };
    number(count) + offset.map_or(0.0, number)
}
