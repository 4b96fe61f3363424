//! Comparisons and BETWEEN: as [`compare_values`] has them for two values.

use std::borrow::Cow;

use super::super::rows::digits;
use super::super::vector::{Data, Vector};
use super::logic::{FALSE, NULL, TRUE, null_where};
use super::operand::Operand;
use super::{Frame, Tried};
use crate::expr::{CompareOp, Expr, compare_values};
use crate::types::Collation;
use crate::value::{DateTime, Value};

/// Two operands as values that have one order.
enum Sides<'x> {
    Ints(Cow<'x, [i64]>, Cow<'x, [i64]>),
    UInts(Cow<'x, [u64]>, Cow<'x, [u64]>),
    /// Integers and decimals at the greater scale.
    Wide(Vec<i128>, Vec<i128>),
    Doubles(Cow<'x, [f64]>, Cow<'x, [f64]>),
    Dates(Cow<'x, [u32]>, Cow<'x, [u32]>),
    Texts(Cow<'x, [&'x [u8]]>, Cow<'x, [&'x [u8]]>),
}

/// `a op b` for each row. `by`: the expressions of the two, as [`compare_values`] asks for them.
pub(super) fn truths(
    op: CompareOp,
    a: &Operand<'_>,
    b: &Operand<'_>,
    collation: Collation,
    by: [Option<&Expr>; 2],
    f: &Frame<'_, '_>,
    n: usize,
) -> Tried<Vec<u8>> {
    let null_safe = op == CompareOp::NullSafeEq;
    if !null_safe && (a.is_null() || b.is_null()) {
        return Ok(vec![NULL; n]);
    }
    let Some(sides) = Sides::of(a, b, n) else {
        return one_by_one(op, a, b, collation, by, f, n);
    };
    let mut out = match &sides {
        Sides::Ints(a, b) => ordered(op, a, b),
        Sides::UInts(a, b) => ordered(op, a, b),
        Sides::Wide(a, b) => ordered(op, a, b),
        Sides::Doubles(a, b) => ordered(op, a, b),
        Sides::Dates(a, b) => ordered(op, a, b),
        Sides::Texts(a, b) => texts(op, a, b, collation),
    };
    if null_safe {
        for (i, t) in out.iter_mut().enumerate() {
            let null = |o: &Operand<'_>| o.nulls().is_some_and(|n| n[i]);
            let (x, y) = (null(a), null(b));
            *t = if x || y { u8::from(x && y) } else { *t };
        }
    } else {
        null_where(&mut out, a.nulls());
        null_where(&mut out, b.nulls());
    }
    Ok(out)
}

/// What is neither less nor greater is equal, be it no number.
#[expect(clippy::neg_cmp_op_on_partial_ord)] // As the row evaluator has it.
fn ordered<T: PartialOrd>(op: CompareOp, a: &[T], b: &[T]) -> Vec<u8> {
    fn each<T>(a: &[T], b: &[T], f: impl Fn(&T, &T) -> bool) -> Vec<u8> {
        a.iter().zip(b).map(|(a, b)| u8::from(f(a, b))).collect()
    }
    use CompareOp as O;
    match op {
        O::Eq | O::NullSafeEq => each(a, b, |a, b| !(a < b) & !(a > b)),
        O::Ne => each(a, b, |a, b| (a < b) | (a > b)),
        O::Lt => each(a, b, |a, b| a < b),
        O::Le => each(a, b, |a, b| !(a > b)),
        O::Gt => each(a, b, |a, b| a > b),
        O::Ge => each(a, b, |a, b| !(a < b)),
    }
}

fn texts(op: CompareOp, a: &[&[u8]], b: &[&[u8]], collation: Collation) -> Vec<u8> {
    use CompareOp as O;
    let pairs = a.iter().zip(b);
    match op {
        O::Eq | O::NullSafeEq | O::Ne => {
            let ne = u8::from(op == O::Ne);
            pairs
                .map(|(a, b)| u8::from(equal(collation, a, b)) ^ ne)
                .collect()
        }
        _ => pairs
            .map(|(a, b)| u8::from(op.holds(collation.compare(a, b))))
            .collect(),
    }
}

/// Whether two texts are equal under a collation.
#[inline]
pub(super) fn equal(collation: Collation, a: &[u8], b: &[u8]) -> bool {
    if a == b {
        return true;
    }
    if collation == Collation::Binary || differ_at_once(a, b) && collation.keeps_ascii_apart() {
        return false;
    }
    collation.eq(a, b)
}

/// Whether texts begin with different ASCII letters or digits: no collation that keeps these apart makes them equal. (What follows is no accent that would
/// make one letter of two characters.)
#[inline]
fn differ_at_once(a: &[u8], b: &[u8]) -> bool {
    let first = |s: &[u8]| match s {
        [c] => Some(*c),
        [c, next, ..] if next.is_ascii() => Some(*c),
        _ => None,
    };
    match (first(a), first(b)) {
        (Some(a), Some(b)) => {
            a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric() && !a.eq_ignore_ascii_case(&b)
        }
        _ => false,
    }
}

fn one_by_one(
    op: CompareOp,
    a: &Operand<'_>,
    b: &Operand<'_>,
    collation: Collation,
    by: [Option<&Expr>; 2],
    f: &Frame<'_, '_>,
    n: usize,
) -> Tried<Vec<u8>> {
    let cx = f.cx.around();
    let one = |i: usize| -> Tried<u8> {
        let (a, b) = (a.value(i), b.value(i));
        Ok(match compare_values(&a, &b, collation, by, &cx)? {
            Some(o) => u8::from(op.holds(o)),
            None if op == CompareOp::NullSafeEq => u8::from(a.is_null() && b.is_null()),
            None => NULL,
        })
    };
    if a.same().is_some() && b.same().is_some() {
        return Ok(vec![one(0)?; n]);
    }
    (0..n).map(one).collect()
}

/// `v BETWEEN low AND high`; `None` if texts are among other values, of which it has its own view.
pub(super) fn between(
    all: [&Operand<'_>; 3],
    collation: Collation,
    f: &Frame<'_, '_>,
    n: usize,
) -> Tried<Option<Vec<u8>>> {
    let [v, low, high] = all;
    let texts = all.iter().filter(|o| o.is_text() || o.is_null()).count();
    if texts < 3 && all.iter().any(|o| o.has_text()) {
        return Ok(None);
    }
    let mut out = truths(CompareOp::Ge, v, low, collation, [None; 2], f, n)?;
    let high = truths(CompareOp::Le, v, high, collation, [None; 2], f, n)?;
    for (a, b) in out.iter_mut().zip(high) {
        *a = if *a == FALSE || b == FALSE {
            FALSE
        } else if *a == TRUE && b == TRUE {
            TRUE
        } else {
            NULL
        };
    }
    Ok(Some(out))
}

impl<'x> Sides<'x> {
    /// `None`: there is no loop for their kinds.
    fn of(a: &'x Operand<'_>, b: &'x Operand<'_>, n: usize) -> Option<Sides<'x>> {
        match (a, b) {
            (Operand::Each(v), Operand::Same(c)) => {
                Sides::beside(v, c, n).or_else(|| Sides::numbers(a, b, n))
            }
            (Operand::Same(c), Operand::Each(v)) => match Sides::beside(v, c, n) {
                Some(sides) => Some(sides.exchanged()),
                None => Sides::numbers(a, b, n),
            },
            (Operand::Each(x), Operand::Each(y)) => match (&x.data, &y.data) {
                (Data::Date(x), Data::Date(y)) => Some(Sides::Dates(x.into(), y.into())),
                (Data::Bytes(x), Data::Bytes(y)) => {
                    Some(Sides::Texts(x.as_slice().into(), y.as_slice().into()))
                }
                _ => Sides::numbers(a, b, n),
            },
            (Operand::Same(_), Operand::Same(_)) => None,
        }
    }

    fn exchanged(self) -> Sides<'x> {
        match self {
            Sides::Ints(a, b) => Sides::Ints(b, a),
            Sides::UInts(a, b) => Sides::UInts(b, a),
            Sides::Wide(a, b) => Sides::Wide(b, a),
            Sides::Doubles(a, b) => Sides::Doubles(b, a),
            Sides::Dates(a, b) => Sides::Dates(b, a),
            Sides::Texts(a, b) => Sides::Texts(b, a),
        }
    }

    /// Values beside a constant that can be brought to their kind.
    fn beside(v: &'x Vector<'_>, c: &'x Value<'_>, n: usize) -> Option<Sides<'x>> {
        match (&v.data, c) {
            (Data::Date(days), c) => {
                let moment = beside_date(c)?;
                let day = moment.date.pack();
                Some(if moment.day_micros() == 0 {
                    Sides::Dates(days.into(), vec![day; n].into())
                } else {
                    // A moment within a day is after its midnight and before the next.
                    let doubled = days.iter().map(|d| d * 2).collect();
                    Sides::Dates(doubled, vec![day * 2 + 1; n].into())
                })
            }
            (Data::Bytes(v), Value::Bytes(c)) => {
                Some(Sides::Texts(v.as_slice().into(), vec![&**c; n].into()))
            }
            (Data::Int(v), c) => Some(Sides::Ints(v.into(), vec![exactly(c, 0)?; n].into())),
            (Data::Decimal(v, scale), c) => {
                Some(Sides::Ints(v.into(), vec![exactly(c, *scale)?; n].into()))
            }
            _ => None,
        }
    }

    fn numbers(a: &'x Operand<'_>, b: &'x Operand<'_>, n: usize) -> Option<Sides<'x>> {
        if a.is_double() || b.is_double() {
            return Some(Sides::Doubles(a.doubles(n)?, b.doubles(n)?));
        }
        if let (Some(a), Some(b)) = (a.uints(n), b.uints(n)) {
            return Some(Sides::UInts(a, b));
        }
        let (x, y) = (scale(a)?, scale(b)?);
        if let (Some((a, x)), Some((b, y))) = (a.decimals(n), b.decimals(n))
            && x == y
        {
            return Some(Sides::Ints(a, b));
        }
        let most = x.max(y);
        Some(Sides::Wide(wide(a, most, n)?, wide(b, most, n)?))
    }
}

/// What a constant beside dates is: a moment. A text that is no date is the zero one.
fn beside_date(c: &Value<'_>) -> Option<DateTime> {
    match c {
        Value::Date(d) => Some((*d).into()),
        Value::DateTime(d) => Some(*d),
        Value::Bytes(_) => Some(c.to_datetime().unwrap_or_default()),
        _ => None,
    }
}

/// An exact number's digits at a scale, if it has no more of them and they fit.
pub(super) fn exactly(c: &Value<'_>, scale: u8) -> Option<i64> {
    let d = match c {
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => c.to_decimal(),
        _ => return None,
    };
    if d.scale() <= scale {
        return digits(&d, scale);
    }
    let down = 10i128.checked_pow(u32::from(d.scale() - scale))?;
    let all = d.to_i128()?;
    (all % down == 0).then(|| i64::try_from(all / down).ok())?
}

/// Digits after the point of an exact number's kind.
fn scale(o: &Operand<'_>) -> Option<u8> {
    match o {
        Operand::Same(Value::Int(_) | Value::UInt(_)) => Some(0),
        Operand::Same(Value::Decimal(d)) => Some(d.scale()),
        Operand::Each(v) => match &v.data {
            Data::Int(_) | Data::UInt(_) => Some(0),
            Data::Decimal(_, scale) => Some(*scale),
            _ => None,
        },
        _ => None,
    }
}

/// Powers of ten that 64 bits can be multiplied by within 128.
const MOST_UP: u8 = 18;

/// Exact numbers at a scale that is not below theirs.
fn wide(o: &Operand<'_>, at: u8, n: usize) -> Option<Vec<i128>> {
    let more = at - scale(o)?;
    let up = (more <= MOST_UP).then(|| 10i128.pow(more.into()))?;
    Some(match o {
        Operand::Same(v) => vec![v.to_decimal().to_i128()?.checked_mul(up)?; n],
        Operand::Each(v) => match &v.data {
            Data::Int(v) | Data::Decimal(v, _) => v.iter().map(|v| i128::from(*v) * up).collect(),
            Data::UInt(v) => v.iter().map(|v| i128::from(*v) * up).collect(),
            _ => return None,
        },
    })
}
