//! Histograms: how a column's values are distributed, from all rows or from a sample.
//!
//! *Singleton*: a bucket per value, where the column has no more values than there are buckets. *Equi-height* otherwise: buckets of
//! about as many rows each; a value with more rows than that has a bucket of its own. Both as MySQL's manual describes them
//! ("Optimizer Statistics"). Frequencies are shares of all rows, NULLs included, and are kept summed up from the lowest bucket.
//!
//! Values are ordered as the column orders them, by their sort keys; texts are told apart by their first
//! [`COMPARED_CHARS`] characters. TIMESTAMPs are UTC here, whatever the session's zone.

use hashbrown::HashMap;
use std::ops::Bound;

use crate::row::encode_sort_value;
use crate::types::collation::char_prefix;
use crate::types::{Collation, SqlType};
use crate::value::Value;

/// Characters by which texts are told apart, as in MySQL.
const COMPARED_CHARS: usize = 42;
/// Bytes that a value takes while a histogram is made, besides its own.
const VALUE_OVERHEAD: usize = 96;

/// A value of a column, where it sorts, and where it lies on a line if the type has one.
#[derive(Clone, Debug)]
pub struct Point {
    /// The value.
    pub value: Value<'static>,
    key: Vec<u8>,
}

impl Point {
    /// A value of a column of this type.
    pub fn new(value: Value<'static>, ty: &SqlType) -> Point {
        let value = compared(value, ty);
        let mut key = Vec::new();
        encode_sort_value(&value, ty, false, &mut key);
        Point { value, key }
    }

    /// Its place on the number line; texts have none.
    fn position(&self) -> Option<f64> {
        match &self.value {
            Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_) => {
                Some(self.value.to_f64())
            }
            Value::Date(d) => Some(d.days() as f64),
            Value::DateTime(d) => Some(d.date.days() as f64 * 86_400e6 + d.day_micros() as f64),
            Value::Time(t) => Some(t.micros as f64),
            Value::Null | Value::Bytes(_) | Value::Json(_) => None,
        }
    }
}

/// A text's part that is compared.
fn compared(value: Value<'static>, ty: &SqlType) -> Value<'static> {
    match value {
        Value::Bytes(b) if !ty.is_enumerated() => {
            let end = match ty.collation {
                Collation::Binary => b.len().min(COMPARED_CHARS),
                _ => char_prefix(&b, COMPARED_CHARS),
            };
            Value::Bytes(b[..end].to_vec().into())
        }
        v => v,
    }
}

/// A bucket: the rows whose value is in `lower..=upper`.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// Its lowest value.
    pub lower: Point,
    /// Its highest value.
    pub upper: Point,
    /// Share of all rows in it and in those below.
    pub cumulative: f64,
    /// Different values in it, about; at least 1.
    pub distinct: f64,
}

/// How a column's values are distributed.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Whether each bucket is a single value.
    pub singleton: bool,
    /// Buckets, lowest first.
    pub buckets: Vec<Bucket>,
    /// Share of rows that are NULL.
    pub null_fraction: f64,
    /// Share of rows that were looked at.
    pub sampling_rate: f64,
    /// Buckets asked for.
    pub specified: usize,
    /// When it was made, microseconds since 1970 UTC.
    pub updated_us: u64,
}

/// Collects a column's values.
pub struct Collector<'t> {
    ty: &'t SqlType,
    counts: HashMap<Vec<u8>, (Value<'static>, u64)>,
    nulls: u64,
    rows: u64,
    bytes: usize,
}

impl<'t> Collector<'t> {
    /// Of a column of this type.
    pub fn new(ty: &'t SqlType) -> Collector<'t> {
        Collector {
            ty,
            counts: HashMap::new(),
            nulls: 0,
            rows: 0,
            bytes: 0,
        }
    }

    /// Adds a row's value.
    pub fn add(&mut self, value: &Value<'_>) {
        self.rows += 1;
        if value.is_null() {
            self.nulls += 1;
            return;
        }
        let point = Point::new(value.borrowed().into_owned(), self.ty);
        let size = point.key.len() + VALUE_OVERHEAD;
        let bytes = &mut self.bytes;
        let entry = self.counts.entry(point.key).or_insert_with(|| {
            *bytes += size;
            (point.value, 0)
        });
        entry.1 += 1;
    }

    /// Memory that it takes, about, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The histogram of what was added, which is the given share of all rows.
    pub fn finish(self, buckets: usize, sampling_rate: f64, updated_us: u64) -> Histogram {
        let mut values: Vec<(Point, u64)> = self
            .counts
            .into_iter()
            .map(|(key, (value, count))| (Point { value, key }, count))
            .collect();
        values.sort_unstable_by(|a, b| a.0.key.cmp(&b.0.key));
        let total = self.rows.max(1) as f64;
        let singleton = values.len() <= buckets;
        let buckets_made = match singleton {
            true => singletons(values, total),
            false => equi_height(values, buckets.max(1), total, sampling_rate),
        };
        Histogram {
            singleton,
            buckets: buckets_made,
            null_fraction: self.nulls as f64 / total,
            sampling_rate,
            specified: buckets,
            updated_us,
        }
    }
}

fn singletons(values: Vec<(Point, u64)>, total: f64) -> Vec<Bucket> {
    let mut sum = 0;
    let bucket = |(point, count): (Point, u64)| {
        sum += count;
        Bucket {
            lower: point.clone(),
            upper: point,
            cumulative: sum as f64 / total,
            distinct: 1.0,
        }
    };
    values.into_iter().map(bucket).collect()
}

/// Fills one bucket after the other with the rows left per bucket left, but never so many that the next value would not fit:
/// a value with more rows than that ends up alone.
fn equi_height(values: Vec<(Point, u64)>, buckets: usize, total: f64, rate: f64) -> Vec<Bucket> {
    let mut left: u64 = values.iter().map(|v| v.1).sum();
    let mut done = Vec::with_capacity(buckets);
    let mut sum = 0;
    let mut values = values.into_iter().peekable();
    while let Some((lower, count)) = values.next() {
        let target = left.div_ceil((buckets - done.len()).max(1) as u64);
        let (mut upper, mut rows, mut distinct, mut once) =
            (None, count, 1u64, u64::from(count == 1));
        while let Some((point, count)) = values.next_if(|v| rows + v.1 <= target) {
            (upper, rows, distinct) = (Some(point), rows + count, distinct + 1);
            once += u64::from(count == 1);
        }
        left -= rows;
        sum += rows;
        done.push(Bucket {
            upper: upper.unwrap_or_else(|| lower.clone()),
            lower,
            cumulative: sum as f64 / total,
            distinct: distinct_of_sample(distinct, once, rows, rate),
        });
    }
    done
}

/// About how many different values all rows have of whose sample, a share `rate` of them, `distinct` were found, `once` of them
/// in one row only. The guaranteed-error estimator: Charikar, Chaudhuri, Motwani, Narasayya, "Towards Estimation Error Guarantees
/// for Distinct Values", PODS 2000.
pub(super) fn distinct_of_sample(distinct: u64, once: u64, rows: u64, rate: f64) -> f64 {
    if rate >= 1.0 || rate <= 0.0 {
        return distinct as f64;
    }
    let all = (1.0 / rate).sqrt() * once as f64 + (distinct - once) as f64;
    all.clamp(distinct as f64, (rows as f64 / rate).max(distinct as f64))
}

impl Histogram {
    /// Different values of the column, about.
    pub fn distinct(&self) -> f64 {
        self.buckets.iter().map(|b| b.distinct).sum()
    }

    /// Share of rows that are not NULL.
    fn not_null(&self) -> f64 {
        self.buckets.last().map_or(0.0, |b| b.cumulative)
    }

    /// The bucket in which a value is or would be, and the share of rows below it.
    fn find(&self, key: &[u8]) -> (Option<&Bucket>, f64) {
        let at = self.buckets.partition_point(|b| *b.upper.key < *key);
        let below = at
            .checked_sub(1)
            .map_or(0.0, |i| self.buckets[i].cumulative);
        (self.buckets.get(at), below)
    }

    /// Share of rows equal to a value.
    pub fn equal(&self, point: &Point) -> f64 {
        match self.find(&point.key) {
            (Some(b), below) if b.lower.key <= point.key => (b.cumulative - below) / b.distinct,
            _ => 0.0,
        }
    }

    /// Share of rows below a value, which is itself taken to be one of the bucket's values evenly spread.
    pub fn less(&self, point: &Point) -> f64 {
        match self.find(&point.key) {
            (Some(b), below) if b.lower.key < point.key => {
                let here = b.cumulative - below;
                below + here * fraction(b, point) * (1.0 - 1.0 / b.distinct).max(0.0)
            }
            (Some(_), below) => below,
            (None, _) => self.not_null(),
        }
    }

    /// Share of rows between bounds.
    pub fn between(&self, lower: Bound<&Point>, upper: Bound<&Point>) -> f64 {
        let up_to = |p: &Point| (self.less(p) + self.equal(p)).min(self.not_null());
        let low = match lower {
            Bound::Unbounded => 0.0,
            Bound::Included(p) => self.less(p),
            Bound::Excluded(p) => up_to(p),
        };
        let high = match upper {
            Bound::Unbounded => self.not_null(),
            Bound::Included(p) => up_to(p),
            Bound::Excluded(p) => self.less(p),
        };
        (high - low).max(0.0)
    }

    /// Share of rows whose text begins with `prefix`, as its sort key begins.
    pub fn prefixed(&self, prefix: &[u8], ty: &SqlType) -> f64 {
        // The encoding of a sort key begins with whether it is NULL.
        let mut low = vec![1];
        ty.collation.sort_key_prefix(prefix, &mut low);
        let mut high = low.clone();
        while high.last() == Some(&0xff) {
            high.pop();
        }
        if let Some(last) = high.last_mut() {
            *last += 1;
        }
        let point = |key| Point {
            value: Value::Null,
            key,
        };
        let (low, high) = (point(low), point(high));
        self.between(Bound::Included(&low), Bound::Excluded(&high))
    }
}

/// How far a value lies into its bucket, 0 to 1.
fn fraction(bucket: &Bucket, point: &Point) -> f64 {
    let (lower, upper) = (&bucket.lower, &bucket.upper);
    if point.key >= upper.key {
        return 1.0;
    }
    let share = match (lower.position(), upper.position(), point.position()) {
        (Some(low), Some(high), Some(at)) if high > low => (at - low) / (high - low),
        _ => key_share(&lower.key, &upper.key, &point.key),
    };
    share.clamp(0.0, 1.0)
}

/// The same of sort keys, as digits of base 256 behind what the bounds have in common.
fn key_share(low: &[u8], high: &[u8], at: &[u8]) -> f64 {
    let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let digits = (same..same + 6).map(|i| key.get(i).copied().unwrap_or(0));
        digits.fold(0.0, |n, digit| n * 256.0 + f64::from(digit))
    };
    let (low, high, at) = (number(low), number(high), number(at));
    match high > low {
        true => (at - low) / (high - low),
        false => 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::BaseType;
    use proptest::prelude::*;

    fn int() -> SqlType {
        SqlType::new(BaseType::BigInt)
    }

    fn of(values: &[Option<i64>], buckets: usize) -> Histogram {
        let ty = int();
        let mut c = Collector::new(&ty);
        for v in values {
            c.add(&v.map_or(Value::Null, Value::Int));
        }
        c.finish(buckets, 1.0, 0)
    }

    fn p(v: i64) -> Point {
        Point::new(Value::Int(v), &int())
    }

    #[test]
    fn a_bucket_per_value_is_exact() {
        let h = of(&[Some(1), Some(1), None, Some(5), Some(-3)], 3);
        assert!(h.singleton && h.buckets.len() == 3);
        assert_eq!((h.null_fraction, h.distinct()), (0.2, 3.0));
        assert_eq!(h.equal(&p(2)), 0.0);
        for (v, less, equal) in [(-4, 0.0, 0.0), (-3, 0.0, 0.2), (1, 0.2, 0.4), (9, 0.8, 0.0)] {
            assert!((h.less(&p(v)) - less).abs() < 1e-9, "{v}");
            assert!((h.equal(&p(v)) - equal).abs() < 1e-9, "{v}");
        }
    }

    #[test]
    fn a_frequent_value_is_alone() {
        let mut values: Vec<_> = (0..1000).map(Some).collect();
        values.extend([Some(500); 1000]);
        let h = of(&values, 10);
        assert!(!h.singleton && h.buckets.len() <= 10);
        assert!((h.equal(&p(500)) - 1001.0 / 2000.0).abs() < 1e-9);
        assert!((h.equal(&p(3)) - 1.0 / 2000.0).abs() < 2e-4);
    }

    #[test]
    fn texts_are_found_by_prefix() {
        let ty = SqlType::varchar(50, Collation::Utf8mb40900AiCi);
        let mut c = Collector::new(&ty);
        for i in 0..1000 {
            let first = (b'a' + (i % 20) as u8) as char;
            c.add(&Value::string(format!("{first}{i:04}")));
        }
        let h = c.finish(50, 1.0, 0);
        let found = h.prefixed("B".as_bytes(), &ty);
        assert!((0.03..0.07).contains(&found), "{found}");
        assert_eq!(h.prefixed(b"zz", &ty), 0.0);
    }

    #[test]
    fn a_sample_tells_of_more_values_than_it_has() {
        assert_eq!(distinct_of_sample(10, 5, 100, 1.0), 10.0);
        assert_eq!(distinct_of_sample(10, 5, 100, 0.25), 15.0);
        assert_eq!(distinct_of_sample(2, 2, 2, 0.01), 20.0);
    }

    proptest! {
        /// Every estimate is off by no more than the buckets it cuts, two at most.
        #[test]
        fn estimates_are_near_what_is_there(
            values in proptest::collection::vec(proptest::option::weighted(0.9, -300i64..300), 1..600),
            buckets in 1usize..40,
            (a, b) in (-320i64..320, -320i64..320),
        ) {
            let h = of(&values, buckets);
            let n = values.len() as f64;
            let share = |f: &dyn Fn(i64) -> bool| {
                values.iter().flatten().filter(|v| f(**v)).count() as f64 / n
            };
            prop_assert!(h.buckets.len() <= buckets);
            let mut below = 0.0;
            // A bucket with several values is no larger than its share of what was left.
            let mut widest = 0.0f64;
            for b in &h.buckets {
                prop_assert!(b.lower.key <= b.upper.key && b.cumulative > below);
                if b.lower.key < b.upper.key {
                    widest = widest.max(b.cumulative - below);
                }
                below = b.cumulative;
            }
            prop_assert!((below + h.null_fraction - 1.0).abs() < 1e-9);
            let (low, high) = (a.min(b), a.max(b));
            let there = share(&|v| (low..=high).contains(&v));
            let found = h.between(Bound::Included(&p(low)), Bound::Included(&p(high)));
            prop_assert!((0.0..=1.0).contains(&found));
            let slack = 1e-9 + 2.0 * widest;
            prop_assert!((found - there).abs() <= slack, "{} for {}", found, there);
            let equal = h.equal(&p(a));
            prop_assert!((equal - share(&|v| v == a)).abs() <= 1e-9 + widest);
            if h.singleton {
                prop_assert!((equal - share(&|v| v == a)).abs() < 1e-9);
                prop_assert!((found - there).abs() < 1e-9);
            }
            // Distribution functions grow.
            prop_assert!(h.less(&p(low)) <= h.less(&p(high)) + 1e-9);
        }
    }
}
