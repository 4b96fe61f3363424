//! Conditions put together: what share of a table's rows several terms leave.
//!
//! **AND.** Equalities on columns with which an index begins go together: the index knows how many combinations there are, so how the
//! columns depend on each other is in that number. What is left are shares that are multiplied with exponential backoff, the most
//! selective first: s1 · s2^½ · s3^¼ · s4^⅛, and no more of them (SQL Server's cardinality estimator since 2014: Microsoft, "Optimizing
//! Your Query Plans with the SQL Server 2014 Cardinality Estimator"). MySQL multiplies the shares as if columns were independent. They seldom
//! are, and the two errors differ in what they cost: too few rows expected means nested loops over many, too many expected a hash join that
//! was not needed.
//!
//! **OR.** As if independent: 1 - (1 - s1)(1 - s2)..., for terms that exclude each other add up to nearly that.

use smallvec::SmallVec;
use std::ops::Bound;

use super::table::{EQUALITY, TableStatistics};
use crate::value::{Value, Zone};

/// Shares that count in an AND.
const TERMS: usize = 4;

/// A condition on one table, taken apart. Columns are positions in the definition; a value of `None` is a constant not known
/// yet (a placeholder, a column of another table).
#[derive(Clone, Debug)]
pub enum Term<'v> {
    /// `column = value`.
    Equal(usize, Option<&'v Value<'v>>),
    /// `column <> value`.
    NotEqual(usize, Option<&'v Value<'v>>),
    /// `column` between bounds; a bound of `None` is there, and not known yet.
    Range(
        usize,
        Bound<Option<&'v Value<'v>>>,
        Bound<Option<&'v Value<'v>>>,
    ),
    /// `column IN (...)`: the values that are known, and how many there are in all.
    In(usize, &'v [Value<'v>], usize),
    /// `column IS NULL`.
    IsNull(usize),
    /// `column IS NOT NULL`.
    IsNotNull(usize),
    /// `column LIKE 'prefix%'`.
    LikePrefix(usize, &'v [u8]),
    /// One of these holds.
    Any(Vec<Term<'v>>),
    /// All of these hold.
    All(Vec<Term<'v>>),
    /// It doesn't hold.
    Not(Box<Term<'v>>),
    /// Anything else: the share that the caller takes it to leave.
    Share(f64),
}

impl TableStatistics {
    /// Share of rows for which all terms hold, 0 to 1.
    pub fn selectivity(&self, terms: &[Term<'_>], zone: Zone) -> f64 {
        let mut shares: SmallVec<[f64; 8]> = SmallVec::new();
        let together = self.equalities(terms, zone, &mut shares);
        for (i, term) in terms.iter().enumerate() {
            if !together.contains(&i) {
                shares.push(self.of_term(term, zone));
            }
        }
        combined(&mut shares)
    }

    /// Puts equalities on the first columns of an index together, the longest such run; which terms these are.
    fn equalities(
        &self,
        terms: &[Term<'_>],
        zone: Zone,
        shares: &mut SmallVec<[f64; 8]>,
    ) -> SmallVec<[usize; 8]> {
        let Some(schema) = &self.schema else {
            return SmallVec::new();
        };
        let of_column = |column: usize| {
            let equal = |t: &Term<'_>| matches!(t, Term::Equal(c, v) if *c == column && !v.is_some_and(Value::is_null));
            terms.iter().position(equal)
        };
        let mut best: (SmallVec<[usize; 8]>, f64) = (SmallVec::new(), 1.0);
        for (index, known) in schema.indexes.iter().zip(&self.indexes) {
            let Some(known) = known else { continue };
            let run: SmallVec<[usize; 8]> = index
                .parts
                .iter()
                .map_while(|p| of_column(p.column).filter(|_| p.prefix.is_none()))
                .collect();
            let n = run.len().checked_sub(1).and_then(|i| known.distinct.get(i));
            if let Some(n) = n
                && *n > 0
                && run.len() > best.0.len().max(1)
            {
                best = (run, 1.0 / (*n).max(1) as f64);
            }
        }
        if best.0.is_empty() {
            return best.0;
        }
        // Of rare values there are no more rows together than of each alone.
        let each = best.0.iter().map(|i| self.of_term(&terms[*i], zone));
        shares.push(each.fold(best.1, f64::min));
        best.0
    }

    fn of_term(&self, term: &Term<'_>, zone: Zone) -> f64 {
        let share = match term {
            Term::Equal(c, value) => self.selectivity_eq(*c, *value, zone),
            Term::NotEqual(_, Some(Value::Null)) => 0.0,
            Term::NotEqual(c, value) => {
                let nulls = self.histogram(*c).map_or(0.0, |h| h.null_fraction);
                1.0 - nulls - self.selectivity_eq(*c, *value, zone)
            }
            Term::Range(c, lower, upper) => self.range(*c, *lower, *upper, zone),
            Term::In(c, values, count) => self.selectivity_in(*c, values, *count, zone),
            Term::IsNull(c) => self.null_fraction(*c),
            Term::IsNotNull(c) => 1.0 - self.null_fraction(*c),
            Term::LikePrefix(c, prefix) => self.like_prefix(*c, prefix),
            Term::Any(terms) => {
                let none: f64 = terms.iter().map(|t| 1.0 - self.of_term(t, zone)).product();
                1.0 - none
            }
            Term::All(terms) => self.selectivity(terms, zone),
            Term::Not(term) => 1.0 - self.of_term(term, zone),
            Term::Share(share) => *share,
        };
        match share.is_nan() {
            true => EQUALITY,
            false => share.clamp(0.0, 1.0),
        }
    }

    fn range(
        &self,
        column: usize,
        lower: Bound<Option<&Value<'_>>>,
        upper: Bound<Option<&Value<'_>>>,
        zone: Zone,
    ) -> f64 {
        use super::table::{BETWEEN, INEQUALITY};
        match (known(lower), known(upper)) {
            (Some(lower), Some(upper)) => self.selectivity_range(column, lower, upper, zone),
            _ if matches!(lower, Bound::Unbounded) || matches!(upper, Bound::Unbounded) => {
                INEQUALITY
            }
            _ => BETWEEN,
        }
    }
}

/// A bound whose value is known.
fn known<'a, 'v>(bound: Bound<Option<&'a Value<'v>>>) -> Option<Bound<&'a Value<'v>>> {
    Some(match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(v) => Bound::Included(v?),
        Bound::Excluded(v) => Bound::Excluded(v?),
    })
}

/// Shares multiplied with exponential backoff.
fn combined(shares: &mut [f64]) -> f64 {
    shares.sort_unstable_by(f64::total_cmp);
    let powers = [1.0, 0.5, 0.25, 0.125];
    let counted = shares.iter().take(TERMS).zip(powers);
    counted.map(|(s, power)| s.powf(power)).product()
}
