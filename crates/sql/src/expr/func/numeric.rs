//! Numbers.

use super::typing::{bigint, double};
use super::{Call, Computed, Exit, Function, Null, Typing, row};
use crate::expr::operators::{bits_of, out_of_range};
use crate::types::{BaseType, SqlType};
use crate::value::{Value, conform};

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("ABS", 1..=1, absolute, abs).takes_numbers(),
    row("CEIL", 1..=1, to_whole, |c| whole(c, true)).aka(&["CEILING"]).takes_numbers(),
    row("FLOOR", 1..=1, to_whole, |c| whole(c, false)).takes_numbers(),
    row("ROUND", 1..=2, |t| rounded(t, true), |c| round(c, true)).takes_numbers(),
    row("TRUNCATE", 2..=2, |t| rounded(t, false), |c| round(c, false)).takes_numbers(),
    row("SIGN", 1..=1, bigint, sign).takes_numbers(),
    row("BIT_COUNT", 1..=1, bigint, bit_count).takes_numbers(),
    row("POW", 2..=2, double, |c| finite(c.double(0)?.powf(c.double(1)?), c)).aka(&["POWER"]).takes_numbers(),
    row("SQRT", 1..=1, double, sqrt).null(Null::Maybe).takes_numbers(),
    row("EXP", 1..=1, double, |c| finite(c.double(0)?.exp(), c)).takes_numbers(),
    row("LN", 1..=1, double, |c| logarithm(c, f64::ln)).null(Null::Maybe).takes_numbers(),
    row("LOG", 1..=2, double, log).null(Null::Maybe).takes_numbers(),
    row("LOG2", 1..=1, double, |c| logarithm(c, f64::log2)).null(Null::Maybe).takes_numbers(),
    row("LOG10", 1..=1, double, |c| logarithm(c, f64::log10)).null(Null::Maybe).takes_numbers(),
    row("SIN", 1..=1, double, |c| finite(c.double(0)?.sin(), c)).takes_numbers(),
    row("COS", 1..=1, double, |c| finite(c.double(0)?.cos(), c)).takes_numbers(),
    row("TAN", 1..=1, double, |c| finite(c.double(0)?.tan(), c)).takes_numbers(),
    row("COT", 1..=1, double, |c| finite(1.0 / c.double(0)?.tan(), c)).null(Null::Maybe).takes_numbers(),
    row("ASIN", 1..=1, double, |c| arc(c, f64::asin)).null(Null::Maybe).takes_numbers(),
    row("ACOS", 1..=1, double, |c| arc(c, f64::acos)).null(Null::Maybe).takes_numbers(),
    row("ATAN", 1..=2, double, atan).aka(&["ATAN2"]).takes_numbers(),
    row("PI", 0..=0, |_| SqlType { length: 8, decimals: 6, ..SqlType::double() }, |_| Ok(Value::Double(std::f64::consts::PI))),
    row("DEGREES", 1..=1, double, |c| finite(c.double(0)?.to_degrees(), c)).takes_numbers(),
    row("RADIANS", 1..=1, double, |c| finite(c.double(0)?.to_radians(), c)).takes_numbers(),
];

/// What a number of a type becomes that keeps being an integer if it was one.
fn whole_or_double(ty: &SqlType) -> SqlType {
    match ty.base {
        _ if ty.is_integer() => SqlType {
            unsigned: ty.unsigned,
            ..SqlType::bigint()
        },
        _ => SqlType::double(),
    }
}

fn absolute(t: &Typing<'_>) -> SqlType {
    let ty = &t.args[0].ty;
    match ty.base {
        BaseType::Decimal | BaseType::Double => ty.clone(),
        _ => whole_or_double(ty),
    }
}

/// Type of CEIL and FLOOR.
fn to_whole(t: &Typing<'_>) -> SqlType {
    let ty = &t.args[0].ty;
    match ty.base {
        BaseType::Decimal if ty.integer_digits() < 18 => SqlType::bigint(),
        BaseType::Decimal => SqlType::decimal(ty.integer_digits() + 1, 0),
        _ => whole_or_double(ty),
    }
}

/// Type of ROUND and TRUNCATE: as many digits as the second argument says, but no more than the first has; what is rounded may carry into
/// one more before the point.
fn rounded(t: &Typing<'_>, half_up: bool) -> SqlType {
    let args = t.args;
    let digits = match args.get(1) {
        None => Some(0),
        Some(e) => e.as_constant().map(|v| v.to_i64()),
    };
    let ty = &args[0].ty;
    match ty.base {
        BaseType::Decimal => {
            let own = ty.decimals;
            let scale = digits.map_or(own, |d| d.clamp(0, i64::from(own)) as u8);
            let carry = u32::from(half_up && scale < own);
            SqlType {
                unsigned: ty.unsigned,
                ..SqlType::decimal(ty.integer_digits() + carry + u32::from(scale), scale)
            }
        }
        _ => whole_or_double(ty),
    }
}

fn finite<'a>(v: f64, c: &Call<'_, 'a>) -> Computed<'a> {
    if v.is_finite() {
        Ok(Value::Double(v))
    } else {
        Err(out_of_range("DOUBLE", c.expr).into())
    }
}

/// NULL for arguments a function is not defined for.
fn defined<'a>(ok: bool, v: f64, c: &Call<'_, 'a>) -> Computed<'a> {
    if ok { finite(v, c) } else { Err(Exit::Null) }
}

/// A logarithm of the only argument, NULL with warning 3020 where there is none.
fn logarithm<'a>(c: &Call<'_, 'a>, log: fn(f64) -> f64) -> Computed<'a> {
    let x = c.double(0)?;
    if x <= 0.0 {
        return no_logarithm(c);
    }
    finite(log(x), c)
}

fn no_logarithm<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    c.cx.session
        .complain(3020, "Invalid argument for logarithm")?;
    Err(Exit::Null)
}

/// LOG(x) or LOG(base, x).
fn log<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    if c.len() == 1 {
        return logarithm(c, f64::ln);
    }
    let (base, x) = (c.double(0)?, c.double(1)?);
    if base <= 0.0 || base == 1.0 || x <= 0.0 {
        return no_logarithm(c);
    }
    finite(x.ln() / base.ln(), c)
}

fn sqrt<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let x = c.double(0)?;
    defined(x >= 0.0, x.sqrt(), c)
}

/// ASIN or ACOS.
fn arc<'a>(c: &Call<'_, 'a>, of: fn(f64) -> f64) -> Computed<'a> {
    let x = c.double(0)?;
    defined(x.abs() <= 1.0, of(x), c)
}

fn atan<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let x = c.double(0)?;
    finite(
        match c.len() {
            2 => x.atan2(c.double(1)?),
            _ => x.atan(),
        },
        c,
    )
}

fn abs<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(match c.number(0)? {
        Value::Int(v) => match v.checked_abs() {
            Some(v) => Value::Int(v),
            None => return Err(out_of_range("BIGINT", c.expr).into()),
        },
        Value::Decimal(d) => Value::Decimal(d.abs()),
        v @ Value::UInt(_) => v,
        v => Value::Double(v.to_f64().abs()),
    })
}

/// CEIL or FLOOR.
fn whole<'a>(c: &Call<'_, 'a>, up: bool) -> Computed<'a> {
    let v = match c.number(0)? {
        Value::Decimal(d) => Value::Decimal(if up { d.ceil() } else { d.floor() }),
        v @ (Value::Int(_) | Value::UInt(_)) => v,
        v => {
            let v = v.to_f64();
            Value::Double(if up { v.ceil() } else { v.floor() })
        }
    };
    Ok(conform(v, &c.expr.ty))
}

fn sign<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::Int(match c.number(0)? {
        Value::UInt(v) => (v > 0) as i64,
        Value::Int(v) => v.signum(),
        Value::Decimal(d) if d.is_zero() => 0,
        Value::Decimal(d) if d.is_negative() => -1,
        Value::Decimal(_) => 1,
        v => {
            let v = v.to_f64();
            (v > 0.0) as i64 - (v < 0.0) as i64
        }
    }))
}

fn bit_count<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let bits = bits_of(&c.value(0)?, &c.args[0], c.cx)?;
    Ok(Value::Int(bits.count_ones().into()))
}

/// ROUND, or TRUNCATE if nothing is to be rounded up.
fn round<'a>(c: &Call<'_, 'a>, half_up: bool) -> Computed<'a> {
    let v = c.number(0)?;
    let digits = if c.len() == 2 {
        c.int(1)?.clamp(-100, 100)
    } else {
        0
    };
    let rounded = match v {
        Value::Double(d) => Value::Double(round_double(d, digits, half_up)),
        v @ (Value::Int(_) | Value::UInt(_)) if digits >= 0 => v,
        v => {
            let d = v.to_decimal();
            Value::Decimal(if digits < 0 {
                d.round_left(digits.unsigned_abs() as u32, half_up)
            } else if half_up {
                d.round((digits as u8).min(d.scale()))
            } else {
                d.truncate((digits as u8).min(d.scale()))
            })
        }
    };
    if c.expr.ty.is_integer() {
        let wide = rounded.to_decimal().to_i128();
        let fits = wide.is_some_and(|w| {
            if c.expr.ty.unsigned {
                u64::try_from(w).is_ok()
            } else {
                i64::try_from(w).is_ok()
            }
        });
        if !fits {
            return Err(out_of_range("BIGINT", c.expr).into());
        }
    }
    Ok(conform(rounded, &c.expr.ty))
}

fn round_double(v: f64, digits: i64, half_up: bool) -> f64 {
    let unit = 10f64.powi(digits.unsigned_abs() as i32);
    let scaled = if digits < 0 { v / unit } else { v * unit };
    if !scaled.is_finite() {
        return if digits < 0 { 0.0 } else { v };
    }
    let r = if half_up {
        scaled.round_ties_even()
    } else {
        scaled.trunc()
    };
    if digits < 0 { r * unit } else { r / unit }
}
