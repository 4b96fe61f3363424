//! `+ - * / DIV %` and negation.

use super::super::vector::{Data, Vector};
use super::operand::{Operand, either, one_by_one};
use super::{Frame, Tried};
use crate::expr::{ArithmeticOp, Expr, ExprKind, arithmetic_of, number_of};
use crate::types::{BaseType, SqlType};
use crate::value::Value;

/// Digits after the point that a product's loop may have: more are given up.
const MOST_SCALE: u8 = 30;

/// `a op b`, as `e` has it, for each of `n` rows.
pub(super) fn apply<'b>(
    e: &Expr,
    op: ArithmeticOp,
    a: &Operand<'_>,
    b: &Operand<'_>,
    f: &Frame<'_, 'b>,
    n: usize,
) -> Tried<Operand<'b>> {
    if a.is_null() && !b.has_text() || b.is_null() && !a.has_text() {
        return Ok(Operand::Same(Value::Null));
    }
    let both_same = a.same().is_some() && b.same().is_some();
    if !both_same && let Some(data) = looped(&e.ty, op, a, b, n) {
        let nulls = either(a.nulls(), b.nulls());
        return Ok(Operand::Each(Vector { data, nulls }));
    }
    let cx = f.cx.around();
    one_by_one(both_same, n, |i| {
        let (a, b) = match &e.kind {
            ExprKind::Arithmetic(_, by) => (
                number_of(a.value(i), &by[0], &cx)?,
                number_of(b.value(i), &by[1], &cx)?,
            ),
            _ => (a.value(i), b.value(i)),
        };
        Ok(arithmetic_of(e, op, a, b, &cx)?.into_owned())
    })
}

/// `None`: there is no loop for it, or a result is out of its range (one that is NULL, maybe).
fn looped<'b>(
    ty: &SqlType,
    op: ArithmeticOp,
    a: &Operand<'_>,
    b: &Operand<'_>,
    n: usize,
) -> Option<Data<'b>> {
    match ty.base {
        BaseType::Double if a.is_double() || b.is_double() => {
            let all = doubles(op, &a.doubles(n)?, &b.doubles(n)?)?;
            // Whatever a NULL's place has, a loop over numbers that are none is left to the slow way.
            all.iter()
                .all(|v| v.is_finite())
                .then_some(Data::Double(all))
        }
        BaseType::BigInt if !ty.unsigned => integers(op, &a.ints(n)?, &b.ints(n)?).map(Data::Int),
        BaseType::BigInt => unsigned(op, &a.uints(n)?, &b.uints(n)?).map(Data::UInt),
        BaseType::Decimal => {
            let (a, x) = a.decimals(n)?;
            let (b, y) = b.decimals(n)?;
            let (all, scale) = match op {
                ArithmeticOp::Mul if x + y <= MOST_SCALE => (integers(op, &a, &b)?, x + y),
                ArithmeticOp::Add | ArithmeticOp::Sub => {
                    let most = x.max(y);
                    let (a, b) = (scaled(&a, most - x)?, scaled(&b, most - y)?);
                    (integers(op, &a, &b)?, most)
                }
                _ => return None,
            };
            (scale >= ty.decimals).then_some(Data::Decimal(all, scale))
        }
        _ => None,
    }
}

/// Digits at a scale that is so much greater, if they fit.
pub(super) fn scaled(digits: &[i64], up: u8) -> Option<std::borrow::Cow<'_, [i64]>> {
    if up == 0 {
        return Some(digits.into());
    }
    let by = 10i64.checked_pow(up.into())?;
    checked(digits, digits, |v, _| v.overflowing_mul(by)).map(Into::into)
}

/// What `f` makes of each pair, unless it says of one that it is wrong.
fn checked<T: Copy, R>(a: &[T], b: &[T], f: impl Fn(T, T) -> (R, bool)) -> Option<Vec<R>> {
    let mut wrong = false;
    let one = |(a, b): (&T, &T)| {
        let (v, over) = f(*a, *b);
        wrong |= over;
        v
    };
    let all = a.iter().zip(b).map(one).collect();
    (!wrong).then_some(all)
}

fn integers(op: ArithmeticOp, a: &[i64], b: &[i64]) -> Option<Vec<i64>> {
    use ArithmeticOp as O;
    // What a division by -1 overflows by and one by 0 says is not for a loop.
    let divides = |b: i64| b == 0 || b == -1;
    match op {
        O::Add => checked(a, b, i64::overflowing_add),
        O::Sub => checked(a, b, i64::overflowing_sub),
        O::Mul => checked(a, b, i64::overflowing_mul),
        O::IntDiv => checked(a, b, |a, b| (a.checked_div(b).unwrap_or(0), divides(b))),
        O::Mod => checked(a, b, |a, b| (a.checked_rem(b).unwrap_or(0), divides(b))),
        O::Div => None,
    }
}

fn unsigned(op: ArithmeticOp, a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
    use ArithmeticOp as O;
    match op {
        O::Add => checked(a, b, u64::overflowing_add),
        O::Sub => checked(a, b, u64::overflowing_sub),
        O::Mul => checked(a, b, u64::overflowing_mul),
        _ => None,
    }
}

fn doubles(op: ArithmeticOp, a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    use ArithmeticOp as O;
    match op {
        O::Add => checked(a, b, |a, b| (a + b, false)),
        O::Sub => checked(a, b, |a, b| (a - b, false)),
        O::Mul => checked(a, b, |a, b| (a * b, false)),
        O::Div => checked(a, b, |a, b| (a / b, b == 0.0)),
        O::Mod => checked(a, b, |a, b| (a % b, b == 0.0)),
        O::IntDiv => None,
    }
}

/// `-a`; `None`: there is no loop for it, or a result is out of range.
pub(super) fn negate<'b>(a: &Operand<'_>) -> Option<Operand<'b>> {
    let Operand::Each(v) = a else {
        return a.is_null().then_some(Operand::Same(Value::Null));
    };
    let negated = |v: &[i64]| checked(v, v, |v, _| v.overflowing_neg());
    let data = match &v.data {
        Data::Int(v) => Data::Int(negated(v)?),
        Data::Decimal(v, scale) => Data::Decimal(negated(v)?, *scale),
        Data::Double(v) => Data::Double(v.iter().map(|v| -v).collect()),
        _ => return None,
    };
    Some(Operand::Each(Vector {
        data,
        nulls: v.nulls.clone(),
    }))
}
