//! Aggregates of many groups at once, over vectors.

use std::cmp::Ordering;

use super::rows::digits;
use super::vector::{Data, Kind, Vector};
use super::workers::{Halt, Ran};
use crate::env::SessionEnv;
use crate::error::SqlResult;
use crate::expr::{Accumulator, AggregateKind, AggregateSpec, MemoryBudget};
use crate::value::{Decimal, Value};

/// An aggregate's state, by group.
pub struct Running {
    state: State,
    /// Rows counted, or values that were not NULL.
    count: Vec<i64>,
    /// Bytes of the least or greatest that are strings.
    texts: usize,
}

/// Bytes that a value takes beside itself.
fn text(v: &Value<'_>) -> usize {
    match v {
        // What the allocator adds included.
        Value::Bytes(b) => b.len() + 16,
        Value::Json(j) => j.as_bytes().len() + 16,
        _ => 0,
    }
}

enum State {
    Count,
    /// Integers, or decimals of this scale: 10^scale times their sum.
    Sum(Vec<i128>, u8),
    Double(Vec<f64>),
    /// The least or greatest.
    Extreme(Vec<Value<'static>>, Ordering),
}

/// Whether an aggregate has a form for batches. `parallel`: for several workers, whose values come in no order.
pub fn is_batchable(spec: &AggregateSpec, parallel: bool) -> bool {
    use AggregateKind as K;
    let plain = !spec.distinct || matches!(spec.kind, K::Min | K::Max);
    let argument = spec.args.first().map(|e| Kind::of(&e.ty));
    plain
        && spec.args.len() <= 1
        && match (spec.kind, argument) {
            (K::CountStar | K::Count, _) => true,
            (K::Sum | K::Avg, Some(Kind::Int | Kind::UInt | Kind::Decimal(_))) => true,
            // A decimal's exact sum is the same in any order, if it is one of not too many digits.
            (K::Sum | K::Avg, Some(Kind::Values)) => {
                spec.args[0].ty.base == crate::types::BaseType::Decimal
            }
            (K::Sum | K::Avg, Some(Kind::Double)) => !parallel,
            // Of strings that a collation takes for equal it is the first that counts, as of numbers in documents.
            (K::Min | K::Max, Some(kind)) => {
                !parallel || kind != Kind::Bytes && !spec.args[0].ty.is_json()
            }
            _ => false,
        }
}

impl Running {
    /// Of no groups.
    pub fn new(spec: &AggregateSpec) -> Running {
        use AggregateKind as K;
        let state = match (spec.kind, spec.args.first().map(|e| Kind::of(&e.ty))) {
            (K::Sum | K::Avg, Some(Kind::Double)) => State::Double(Vec::new()),
            (K::Sum | K::Avg, Some(_)) => {
                let ty = &spec.args[0].ty;
                let decimal = ty.base == crate::types::BaseType::Decimal;
                State::Sum(Vec::new(), if decimal { ty.decimals } else { 0 })
            }
            (K::Min, _) => State::Extreme(Vec::new(), Ordering::Less),
            (K::Max, _) => State::Extreme(Vec::new(), Ordering::Greater),
            _ => State::Count,
        };
        Running {
            state,
            count: Vec::new(),
            texts: 0,
        }
    }

    /// Makes room for so many groups.
    pub fn resize(&mut self, groups: usize) {
        self.count.resize(groups, 0);
        match &mut self.state {
            State::Count => {}
            State::Sum(v, _) => v.resize(groups, 0),
            State::Double(v) => v.resize(groups, 0.0),
            State::Extreme(v, _) => v.resize(groups, Value::Null),
        }
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        let own = match &self.state {
            State::Count => 0,
            State::Sum(v, _) => v.len() * 16,
            State::Double(v) => v.len() * 8,
            State::Extreme(v, _) => v.len() * size_of::<Value<'static>>(),
        };
        own + self.count.len() * 8 + self.texts
    }

    /// Of these, what may become more without a new group.
    pub fn texts(&self) -> usize {
        self.texts
    }

    /// Takes the values of a batch in, each into its row's group.
    pub fn update(
        &mut self,
        spec: &AggregateSpec,
        v: Option<&Vector<'_>>,
        groups: &[u32],
    ) -> Ran<()> {
        let Some(v) = v.filter(|_| spec.kind != AggregateKind::CountStar) else {
            groups.iter().for_each(|g| self.count[*g as usize] += 1);
            return Ok(());
        };
        let some = (0..groups.len()).filter(|row| !v.is_null(*row));
        match &mut self.state {
            State::Count => {}
            State::Sum(sums, scale) => add_exact(sums, *scale, v, groups)?,
            State::Double(sums) => match &v.data {
                Data::Double(v) => {
                    some.clone()
                        .for_each(|row| sums[groups[row] as usize] += v[row]);
                }
                _ => some
                    .clone()
                    .for_each(|row| sums[groups[row] as usize] += v.value(row).to_f64()),
            },
            State::Extreme(best, wanted) => {
                for row in some.clone() {
                    let best = &mut best[groups[row] as usize];
                    let v = v.value(row);
                    if best.is_null() || v.compare(best, spec.ty.collation) == Some(*wanted) {
                        self.texts = self.texts - text(best) + text(&v);
                        *best = v.into_owned();
                    }
                }
            }
        }
        some.for_each(|row| self.count[groups[row] as usize] += 1);
        Ok(())
    }

    /// Takes another's groups in: its n-th into group `to[n]`.
    pub fn merge(&mut self, spec: &AggregateSpec, other: Running, to: &[u32]) -> Ran<()> {
        for (n, t) in to.iter().enumerate() {
            self.count[*t as usize] += other.count[n];
        }
        match (&mut self.state, other.state) {
            (State::Sum(own, _), State::Sum(more, _)) => {
                for (t, v) in to.iter().zip(more) {
                    let own = &mut own[*t as usize];
                    *own = own.checked_add(v).ok_or(Halt::Unfit)?;
                }
            }
            (State::Double(own), State::Double(more)) => {
                to.iter().zip(more).for_each(|(t, v)| own[*t as usize] += v);
            }
            (State::Extreme(own, wanted), State::Extreme(more, _)) => {
                for (t, v) in to.iter().zip(more) {
                    let own = &mut own[*t as usize];
                    if own.is_null()
                        || !v.is_null() && v.compare(own, spec.ty.collation) == Some(*wanted)
                    {
                        self.texts = self.texts - text(own) + text(&v);
                        *own = v;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A group's result.
    pub fn finish(
        &self,
        group: usize,
        spec: &AggregateSpec,
        env: &SessionEnv,
        budget: &mut MemoryBudget,
    ) -> SqlResult<Value<'static>> {
        let count = self.count[group];
        let mut acc = match &self.state {
            State::Count => Accumulator::of_count(count),
            State::Sum(v, scale) => {
                Accumulator::of_sum(Decimal::from_i128(v[group], *scale), count)
            }
            State::Double(v) => Accumulator::of_double(v[group], count),
            State::Extreme(v, _) => Accumulator::of_extreme(v[group].clone()),
        };
        acc.finish(spec, env, budget)
    }
}

/// Adds integers and decimals to sums of this scale.
fn add_exact(sums: &mut [i128], scale: u8, v: &Vector<'_>, groups: &[u32]) -> Ran<()> {
    // Sums of 2^63 values of 64 bits fit 128.
    match &v.data {
        Data::Int(list) if scale == 0 => {
            for (row, g) in groups.iter().enumerate() {
                if !v.is_null(row) {
                    sums[*g as usize] += i128::from(list[row]);
                }
            }
        }
        Data::UInt(list) if scale == 0 => {
            for (row, g) in groups.iter().enumerate() {
                if !v.is_null(row) {
                    sums[*g as usize] += i128::from(list[row]);
                }
            }
        }
        Data::Decimal(list, own) if *own == scale => {
            for (row, g) in groups.iter().enumerate() {
                if !v.is_null(row) {
                    sums[*g as usize] += i128::from(list[row]);
                }
            }
        }
        _ => {
            for (row, g) in groups.iter().enumerate() {
                let digits = match v.value(row) {
                    Value::Null => continue,
                    Value::Decimal(d) => wide_digits(&d, scale),
                    Value::Int(n) => digits(&Decimal::from(n), scale).map(i128::from),
                    Value::UInt(n) => digits(&Decimal::from(n), scale).map(i128::from),
                    _ => None,
                };
                let sum = &mut sums[*g as usize];
                *sum = digits.and_then(|d| sum.checked_add(d)).ok_or(Halt::Unfit)?;
            }
        }
    }
    Ok(())
}

/// A decimal's digits at a scale, if it has no more and they fit.
fn wide_digits(d: &Decimal, scale: u8) -> Option<i128> {
    let up = 10i128.checked_pow(u32::from(scale.checked_sub(d.scale())?))?;
    // Room for sums of many.
    const MOST: i128 = i128::MAX >> 40;
    let digits = d.to_i128()?.checked_mul(up)?;
    (digits.abs() <= MOST).then_some(digits)
}
