//! `value [NOT] IN (list)` of constants.

use std::sync::OnceLock;

use super::super::vector::{Data, Kind};
use super::compare::{equal, exactly};
use super::logic::{NULL, negate_if, null_where};
use super::operand::Operand;
use crate::expr::InList;
use crate::types::Collation;
use crate::value::{Date, Value};

/// The list.
pub(super) struct Items<'e> {
    /// NULLs aside.
    values: Vec<Value<'e>>,
    /// Whether one is NULL.
    null: bool,
    negated: bool,
    collation: Collation,
    /// What it is beside values of the first kind that was met.
    set: OnceLock<(Kind, Set)>,
}

/// The list as values of one kind.
enum Set {
    /// Integers, a decimal's digits or packed dates, ascending. What no value of the kind equals is left out.
    Numbers(Vec<i64>),
    /// Texts in the collation's order.
    Texts,
    /// Beside that kind it is not for a loop.
    None,
}

/// Lists up to here are looked through from their start.
const SHORT: usize = 8;

impl<'e> Items<'e> {
    /// Prepares the values of a list.
    pub fn new(l: &InList, all: Vec<Value<'e>>) -> Items<'e> {
        let count = all.len();
        let mut values: Vec<_> = all.into_iter().filter(|v| !v.is_null()).collect();
        let null = values.len() < count;
        if values.iter().all(|v| matches!(v, Value::Bytes(_))) {
            values.sort_by(|a, b| l.collation.compare(bytes(a), bytes(b)));
            values.dedup_by(|a, b| l.collation.eq(bytes(a), bytes(b)));
        }
        Items {
            values,
            null,
            negated: l.negated,
            collation: l.collation,
            set: OnceLock::new(),
        }
    }

    /// Whether each value is in the list; `None` if that is for the row evaluator to say.
    pub fn truths(&self, o: &Operand<'_>, n: usize) -> Option<Vec<u8>> {
        let v = match o {
            Operand::Same(Value::Null) => return Some(vec![NULL; n]),
            Operand::Same(_) => return None,
            Operand::Each(v) => v,
        };
        let kind = match &v.data {
            Data::Int(_) => Kind::Int,
            Data::Decimal(_, scale) => Kind::Decimal(*scale),
            Data::Date(_) => Kind::Date,
            Data::Bytes(_) => Kind::Bytes,
            _ => return None,
        };
        let (first, set) = self.set.get_or_init(|| (kind, self.beside(kind)));
        let other;
        let set = if *first == kind {
            set
        } else {
            other = self.beside(kind);
            &other
        };
        let mut out: Vec<u8> = match (set, &v.data) {
            (Set::Numbers(set), Data::Int(v) | Data::Decimal(v, _)) => {
                v.iter().map(|v| has(set, *v)).collect()
            }
            (Set::Numbers(set), Data::Date(v)) => {
                v.iter().map(|v| has(set, i64::from(*v))).collect()
            }
            (Set::Texts, Data::Bytes(v)) => v.iter().map(|v| self.has_text(v)).collect(),
            _ => return None,
        };
        if self.null {
            for t in &mut out {
                *t = if *t == 0 { NULL } else { *t };
            }
        }
        negate_if(self.negated, &mut out);
        null_where(&mut out, v.nulls.as_deref());
        Some(out)
    }

    fn beside(&self, kind: Kind) -> Set {
        let number = |c: &Value<'_>| -> Option<Option<i64>> {
            match kind {
                Kind::Int if is_exact(c) => Some(exactly(c, 0)),
                Kind::Decimal(scale) if is_exact(c) => Some(exactly(c, scale)),
                Kind::Date => match c {
                    Value::Date(d) => Some(Some(packed(*d))),
                    Value::DateTime(d) => Some((d.day_micros() == 0).then(|| packed(d.date))),
                    Value::Bytes(_) => {
                        let d = c.to_datetime().unwrap_or_default();
                        Some((d.day_micros() == 0).then(|| packed(d.date)))
                    }
                    _ => None,
                },
                _ => None,
            }
        };
        if kind == Kind::Bytes {
            let texts = self.values.iter().all(|v| matches!(v, Value::Bytes(_)));
            return if texts { Set::Texts } else { Set::None };
        }
        let all: Option<Vec<Option<i64>>> = self.values.iter().map(number).collect();
        let Some(all) = all else { return Set::None };
        let mut all: Vec<i64> = all.into_iter().flatten().collect();
        all.sort_unstable();
        all.dedup();
        Set::Numbers(all)
    }

    fn has_text(&self, text: &[u8]) -> u8 {
        u8::from(if self.values.len() <= SHORT {
            self.values
                .iter()
                .any(|c| equal(self.collation, bytes(c), text))
        } else {
            self.values
                .binary_search_by(|c| self.collation.compare(bytes(c), text))
                .is_ok()
        })
    }
}

fn is_exact(c: &Value<'_>) -> bool {
    matches!(c, Value::Int(_) | Value::UInt(_) | Value::Decimal(_))
}

fn packed(d: Date) -> i64 {
    d.pack().into()
}

fn bytes<'v>(v: &'v Value<'_>) -> &'v [u8] {
    match v {
        Value::Bytes(b) => b,
        _ => &[],
    }
}

#[inline]
fn has(set: &[i64], v: i64) -> u8 {
    u8::from(if set.len() <= SHORT {
        set.iter().fold(false, |found, c| found | (*c == v))
    } else {
        set.binary_search(&v).is_ok()
    })
}
