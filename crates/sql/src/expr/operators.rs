//! Arithmetic and bit operators on values.

use std::cmp::Ordering;

use super::display::quoted;
use super::{ArithmeticOp, BitOp, EvalContext, Expr, ExprKind, kinds};
use crate::error::{SqlError, SqlResult};
use crate::types::{BaseType, Category, Collation};
use crate::value::convert::exact_integer;
use crate::value::{
    Decimal, Value, double_of_text, number_of_text, printable_bytes, read_time, truncated,
};

/// Error 1690: a result outside of its type.
#[cold]
pub(super) fn out_of_range(kind: &str, e: &Expr) -> SqlError {
    let e = quoted(e);
    SqlError::new(1690, format!("{kind} value is out of range in '{e}'"))
}

/// Complaint 6527: a date or time out of its type's range, which is NULL.
#[cold]
pub(super) fn out_of_range_null(kind: &str, e: &Expr, cx: &EvalContext<'_>) -> SqlResult<()> {
    let e = quoted(e);
    let m = format!("{kind} value is out of range in '{e}'");
    cx.session.complain(6527, m)
}

/// Whether an expression, other than a column, makes bytes.
fn makes_bytes(e: &Expr) -> bool {
    e.ty.has_bytes() && !matches!(e.kind, ExprKind::Column { .. })
}

/// The number that a text is which an expression gave; what is none is complained of, unless what gave it is quiet.
pub(crate) fn text_number(b: &[u8], by: Option<&Expr>, cx: &EvalContext<'_>) -> SqlResult<f64> {
    match double_of_text(b) {
        (v, true) => Ok(v),
        (v, false) if by.is_some_and(Expr::is_quiet) => Ok(v),
        // Of bytes those that are no ASCII are shown by their numbers.
        (v, false) if by.is_some_and(makes_bytes) => {
            let text = printable_bytes(&b[..b.len().min(64)]);
            let m = format!("Truncated incorrect DOUBLE value: '{text}'");
            cx.session.complain(1292, m)?;
            Ok(v)
        }
        _ => number_of_text(b, cx.session),
    }
}

/// The number of an expression's value: dates as `YYYYMMDD`, texts as doubles.
pub(crate) fn number<'a>(v: Value<'a>, by: &Expr, cx: &EvalContext<'_>) -> SqlResult<Value<'a>> {
    Ok(match v {
        Value::Bytes(b) => Value::Double(text_number(&b, Some(by), cx)?),
        Value::Json(j) => match j.to_sql(Category::Fraction) {
            Ok(v) => return number(v, by, cx),
            Err(_) => {
                let m = "Invalid JSON value for CAST to DOUBLE from column json at row 1";
                cx.session.complain(3156, m)?;
                Value::Double(0.0)
            }
        },
        Value::Date(d) => Value::Int(d.to_number()),
        Value::DateTime(d) if d.micro == 0 => Value::Int(d.to_number()),
        Value::Time(t) if t.micros % 1_000_000 == 0 => Value::Int(t.to_number()),
        v @ (Value::DateTime(_) | Value::Time(_)) => Value::Decimal(v.to_decimal()),
        v => v,
    })
}

/// `a op b` in its type.
pub(super) fn arithmetic<'a>(
    e: &'a Expr,
    op: ArithmeticOp,
    args: &'a [Expr; 2],
    cx: &EvalContext<'a>,
) -> SqlResult<Value<'a>> {
    let read = match op {
        ArithmeticOp::IntDiv => divisible,
        _ => number,
    };
    let a = read(args[0].eval(cx)?, &args[0], cx)?;
    let b = read(args[1].eval(cx)?, &args[1], cx)?;
    arithmetic_of(e, op, a, b, cx)
}

/// The same for DIV, which reads texts as decimals.
fn divisible<'a>(v: Value<'a>, by: &Expr, cx: &EvalContext<'_>) -> SqlResult<Value<'a>> {
    let Value::Bytes(b) = &v else {
        return number(v, by, cx);
    };
    Ok(Value::Decimal(text_decimal(b, by, false, cx)?))
}

/// Error code: a value of which a conversion takes the beginning.
const TRUNCATED: u16 = 1292;

/// Whether the statement has complained of a constant text before: as in MySQL it is read once.
fn told_before(b: &[u8], by: &Expr, cx: &EvalContext<'_>) -> bool {
    if !matches!(by.kind, ExprKind::Literal(_)) {
        return false;
    }
    let mut told = cx.session.told.borrow_mut();
    let diagnostics = cx.session.diagnostics.borrow();
    // What planning is told of a constant it takes back.
    let stands = |at: usize| diagnostics.get(at).is_some_and(|d| d.code == TRUNCATED);
    let place = b.as_ptr().addr();
    let known = told.iter().any(|(p, at)| *p == place && stands(*at));
    if !known {
        told.push((place, diagnostics.len()));
    }
    known
}

/// The decimal that a text begins with. Of what a function made only what begins with none is complained of, of a
/// constant `once`.
pub(crate) fn text_decimal(
    b: &[u8],
    by: &Expr,
    once: bool,
    cx: &EvalContext<'_>,
) -> SqlResult<Decimal> {
    let p = Decimal::parse_prefix(b);
    let made = match &by.kind {
        ExprKind::Function(..) | ExprKind::DateAdd(..) => true,
        ExprKind::Cast(_) => by.ty.is_string(),
        _ => by.is_quiet(),
    };
    let whole = p.used > 0 && b[p.used..].trim_ascii().is_empty();
    // A constant was read before it is asked for its digits.
    let constant = matches!(by.kind, ExprKind::Literal(_));
    if p.used == 0 && !constant {
        let m = "Incorrect DECIMAL value: '0' for column '' at row -1";
        cx.session.complain(1366, m)?;
    }
    if !(made || whole || once && told_before(b, by, cx)) {
        truncated(cx.session, "DECIMAL", &Value::Bytes(b.into()))?;
    }
    Ok(p.value)
}

/// The same of operands that are [`number`]s.
#[inline]
pub(crate) fn arithmetic_of<'a>(
    e: &Expr,
    op: ArithmeticOp,
    a: Value<'a>,
    b: Value<'a>,
    cx: &EvalContext<'_>,
) -> SqlResult<Value<'a>> {
    let v = compute(e, op, a, b, cx)?;
    Ok(match (&v, e.ty.base) {
        (Value::Int(_), BaseType::BigInt) if !e.ty.unsigned => v,
        _ => crate::value::conform(v, &e.ty),
    })
}

fn division_by_zero(cx: &EvalContext<'_>) -> SqlResult<Value<'static>> {
    if cx.session.sql_mode.get().error_for_division_by_zero {
        cx.session.complain(1365, "Division by 0")?;
    }
    Ok(Value::Null)
}

fn compute<'a>(
    e: &Expr,
    op: ArithmeticOp,
    a: Value<'a>,
    b: Value<'a>,
    cx: &EvalContext<'_>,
) -> SqlResult<Value<'a>> {
    use ArithmeticOp as O;
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    match (&a, &b) {
        (Value::Double(_), _) | (_, Value::Double(_)) => {
            return doubles(e, op, a.to_f64(), b.to_f64(), cx);
        }
        (Value::Int(x), Value::Int(y)) => {
            // The common case first: plain signed integers.
            let sum = match op {
                O::Add => x.checked_add(*y),
                O::Sub => x.checked_sub(*y),
                O::Mul => x.checked_mul(*y),
                _ => None,
            };
            if let Some(v) = sum
                && !(e.ty.unsigned && v < 0)
            {
                return Ok(Value::Int(v));
            }
        }
        _ => {}
    }
    let integers = !matches!(a, Value::Decimal(_)) && !matches!(b, Value::Decimal(_));
    if integers && op != O::Div {
        return integer(e, op, &a, &b, cx);
    }
    let (x, y) = (a.to_decimal(), b.to_decimal());
    let result = match op {
        O::Add => x.checked_add(y),
        O::Sub => x.checked_sub(y),
        O::Mul => x.checked_mul(y),
        _ if y.is_zero() => return division_by_zero(cx),
        O::Div => {
            let quotient = x.checked_div(y, cx.session.div_increment.get().into());
            quotient.map(|q| e.ty.shown(q))
        }
        O::Mod => x.checked_rem(y),
        O::IntDiv => {
            let q = x.checked_div_int(y).and_then(Decimal::to_i128);
            return fit(e, q, e.ty.unsigned);
        }
    };
    result
        .map(Value::Decimal)
        .ok_or_else(|| out_of_range("DECIMAL", e))
}

/// An integer result in its type, or error 1690.
fn fit(e: &Expr, v: Option<i128>, unsigned: bool) -> SqlResult<Value<'static>> {
    match v {
        Some(v) if unsigned => u64::try_from(v).map(Value::UInt).ok(),
        Some(v) => i64::try_from(v).map(Value::Int).ok(),
        None => None,
    }
    .ok_or_else(|| {
        out_of_range(
            if unsigned {
                "BIGINT UNSIGNED"
            } else {
                "BIGINT"
            },
            e,
        )
    })
}

fn wide(v: &Value<'_>) -> i128 {
    match v {
        Value::UInt(v) => *v as i128,
        other => other.to_i64() as i128,
    }
}

fn integer(
    e: &Expr,
    op: ArithmeticOp,
    a: &Value<'_>,
    b: &Value<'_>,
    cx: &EvalContext<'_>,
) -> SqlResult<Value<'static>> {
    use ArithmeticOp as O;
    let (x, y) = (wide(a), wide(b));
    let unsigned = match op {
        O::Mod => matches!(a, Value::UInt(_)),
        // NO_UNSIGNED_SUBTRACTION.
        O::Sub if e.ty.is_integer() && !e.ty.unsigned => false,
        _ => matches!(a, Value::UInt(_)) || matches!(b, Value::UInt(_)),
    };
    let v = match op {
        O::Add => x + y,
        O::Sub => x - y,
        // 64 by 64 bits fit 127 and a sign, but for the unsigned maximum squared.
        O::Mul => match x.checked_mul(y) {
            Some(v) => v,
            None => return fit(e, None, unsigned),
        },
        _ if y == 0 => return division_by_zero(cx),
        O::Mod => x % y,
        O::IntDiv | O::Div => x / y,
    };
    fit(e, Some(v), unsigned)
}

fn doubles(
    e: &Expr,
    op: ArithmeticOp,
    x: f64,
    y: f64,
    cx: &EvalContext<'_>,
) -> SqlResult<Value<'static>> {
    use ArithmeticOp as O;
    let v = match op {
        O::Add => x + y,
        O::Sub => x - y,
        O::Mul => x * y,
        _ if y == 0.0 => return division_by_zero(cx),
        O::Div => x / y,
        O::Mod => x % y,
        O::IntDiv => {
            let q = (x / y).trunc();
            let whole = (q.abs() < 2e19).then_some(q as i128);
            return fit(e, whole, e.ty.unsigned);
        }
    };
    if v.is_finite() {
        Ok(Value::Double(v))
    } else {
        Err(out_of_range("DOUBLE", e))
    }
}

/// `-a`.
pub(super) fn negate<'a>(e: &'a Expr, a: &'a Expr, cx: &EvalContext<'a>) -> SqlResult<Value<'a>> {
    Ok(match number(a.eval(cx)?, a, cx)? {
        Value::Int(v) => match v.checked_neg() {
            Some(v) => Value::Int(v),
            None => return Err(out_of_range("BIGINT", e)),
        },
        Value::UInt(v) => return fit(e, Some(-(v as i128)), false),
        Value::Double(v) => Value::Double(-v),
        Value::Decimal(d) => Value::Decimal(d.negated()),
        other => other,
    })
}

/// Compares as [`Value::compare`] does, complaining of a text that is no number where it is compared with one. A time beside a date is
/// one of today, and a text that is no date the zero one. `by`: the expressions that gave the two, where they are known.
#[inline]
pub(crate) fn compare(
    a: &Value<'_>,
    b: &Value<'_>,
    collation: Collation,
    by: [Option<&Expr>; 2],
    cx: &EvalContext<'_>,
) -> SqlResult<Option<Ordering>> {
    match (a, b) {
        (Value::Bytes(text), other) if other.is_number() => {
            text_number(text, by[0], cx)?;
        }
        (other, Value::Bytes(text)) if other.is_number() => {
            text_number(text, by[1], cx)?;
        }
        (Value::Time(_), Value::Date(_) | Value::DateTime(_)) => {
            let a = kinds::today(a, cx.session);
            return Ok(a.and_then(|a| a.compare(b, collation)));
        }
        (Value::Date(_) | Value::DateTime(_), Value::Time(_)) => {
            let b = kinds::today(b, cx.session);
            return Ok(b.and_then(|b| a.compare(&b, collation)));
        }
        // CASE says what is no time.
        (Value::Time(_), Value::Bytes(_)) if by[0].is_some_and(Expr::is_named) => {
            let b = Value::Time(read_time(b, cx.session)?.unwrap_or_default());
            return Ok(a.compare(&b, collation));
        }
        (Value::Date(_) | Value::DateTime(_), Value::Bytes(_)) => {
            return Ok(a.compare(&kinds::date(b, by[0], cx)?, collation));
        }
        (Value::Bytes(_), Value::Date(_) | Value::DateTime(_)) => {
            return Ok(kinds::date(a, by[1], cx)?.compare(b, collation));
        }
        _ => {}
    }
    Ok(a.compare(b, collation))
}

/// The 64 bits of an operand. A fraction is a signed integer first.
pub(super) fn bits_of(v: &Value<'_>, by: &Expr, cx: &EvalContext<'_>) -> SqlResult<u64> {
    match v {
        Value::Bytes(b) if exact_integer(b).is_none() && !by.is_quiet() => {
            truncated(cx.session, "INTEGER", v)?;
        }
        Value::Decimal(d) => {
            let whole = d.round_to_i128().map(i64::try_from);
            if !matches!(whole, Some(Ok(_))) {
                truncated(cx.session, "DECIMAL", v)?;
            }
            return Ok(v.to_i64() as u64);
        }
        Value::Double(_) => return Ok(whole_double(v, by)? as u64),
        _ => {}
    }
    Ok(v.to_bits())
}

/// A double as an integer: of a constant or a column the nearest that there is, of what was computed none beyond 64 bits, error 1690.
pub(super) fn whole_double(v: &Value<'_>, by: &Expr) -> SqlResult<i64> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    let computed = match &by.kind {
        ExprKind::Arithmetic(..) | ExprKind::Negate(_) | ExprKind::Function(..) => true,
        // A number has no sign of its own.
        ExprKind::Literal(v) => v.to_f64() < 0.0,
        _ => false,
    };
    match v.to_f64() {
        d if computed && !(-BEYOND..BEYOND).contains(&d) => Err(out_of_range("BIGINT", by)),
        _ => Ok(v.to_i64()),
    }
}

/// `a & b` and the like.
pub(super) fn bits<'a>(
    op: BitOp,
    args: &'a [Expr; 2],
    cx: &EvalContext<'a>,
) -> SqlResult<Value<'static>> {
    let (a, b) = (args[0].eval(cx)?, args[1].eval(cx)?);
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    let (x, y) = (bits_of(&a, &args[0], cx)?, bits_of(&b, &args[1], cx)?);
    let shift = u32::try_from(y).unwrap_or(64);
    Ok(Value::UInt(match op {
        BitOp::And => x & y,
        BitOp::Or => x | y,
        BitOp::Xor => x ^ y,
        BitOp::ShiftLeft => x.checked_shl(shift).unwrap_or(0),
        BitOp::ShiftRight => x.checked_shr(shift).unwrap_or(0),
    }))
}
