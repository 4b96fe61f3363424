//! Numbers.

use std::cell::Cell;
use std::cmp::Ordering;

use super::{Call, Computed, Exit, Func};
use crate::expr::Expr;
use crate::expr::operators::out_of_range;
use crate::types::{BaseType, SqlType};
use crate::value::decimal::MAX_SCALE;
use crate::value::time::{MICROS, Time};
use crate::value::{Decimal, Value, conform};

/// State of RAND(constant): MySQL's generator, restarted by each statement.
#[derive(Debug, Default)]
pub struct RandState {
    statement: (i64, u32),
    seeded: bool,
    a: u32,
    b: u32,
}

const RAND_MODULUS: u32 = 0x3fff_ffff;

impl RandState {
    fn seed(&mut self, seed: u32) {
        let first = seed.wrapping_mul(0x10001).wrapping_add(55_555_555);
        let second = seed.wrapping_mul(0x1000_0001);
        self.a = first % RAND_MODULUS;
        self.b = second % RAND_MODULUS;
        self.seeded = true;
    }
    fn step(&mut self) -> f64 {
        let m = RAND_MODULUS as u64;
        self.a = ((self.a as u64 * 3 + self.b as u64) % m) as u32;
        self.b = ((self.a as u64 + self.b as u64 + 33) % m) as u32;
        self.a as f64 / RAND_MODULUS as f64
    }
    /// The next number for the statement that began at `statement`.
    pub(crate) fn next(&mut self, seed: u32, statement: (i64, u32)) -> f64 {
        if !self.seeded || self.statement != statement {
            self.statement = statement;
            self.seed(seed);
        }
        self.step()
    }
}

/// A double in [0, 1) that nobody can predict from a seed.
fn random() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(0u8) | 1);
    }
    STATE.with(|s| {
        let mut x = s.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        s.set(x);
        (x >> 11) as f64 / (1u64 << 53) as f64
    })
}

/// Type of ROUND and TRUNCATE.
pub(super) fn round_type(args: &[Expr]) -> SqlType {
    let digits = match args.get(1) {
        None => Some(0),
        Some(e) => e.as_constant().map(|v| v.to_i64()),
    };
    let ty = &args[0].ty;
    match ty.base {
        BaseType::Decimal => {
            let scale = match digits {
                Some(d) => d.clamp(0, i64::from(MAX_SCALE)) as u8,
                None => ty.decimals,
            };
            SqlType::decimal(ty.integer_digits() + 1 + scale as u32, scale)
        }
        _ if ty.is_integer() => SqlType {
            unsigned: ty.unsigned,
            ..SqlType::bigint()
        },
        BaseType::Null => SqlType::bigint(),
        _ => SqlType::double(),
    }
}

fn finite<'a>(v: f64, c: &Call<'_, 'a>) -> Computed<'a> {
    if v.is_finite() {
        Ok(Value::Double(v))
    } else {
        Err(out_of_range("DOUBLE", c.expr).into())
    }
}

/// NULL for arguments a function is not defined for; MySQL warns for logarithms.
fn defined<'a>(ok: bool, v: f64, c: &Call<'_, 'a>) -> Computed<'a> {
    if ok { finite(v, c) } else { Err(Exit::Null) }
}

fn logarithm<'a>(x: f64, v: f64, c: &Call<'_, 'a>) -> Computed<'a> {
    if x <= 0.0 {
        c.cx.session
            .complain(3020, "Invalid argument for logarithm")?;
        return Err(Exit::Null);
    }
    finite(v, c)
}

/// INTERVAL(n, a, b, ...): how many of the ascending numbers from `a` on are not greater than `n`; -1 for NULL.
pub(super) fn interval<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let n = c.args[0].eval(c.cx)?;
    if n.is_null() {
        return Ok(Value::Int(-1));
    }
    let mut passed = 0;
    for a in &c.args[1..] {
        let a = a.eval(c.cx)?;
        let beyond = match (&n, &a) {
            (_, Value::Null) => n.to_f64() < 0.0,
            (Value::Double(_) | Value::Bytes(_), _) | (_, Value::Double(_) | Value::Bytes(_)) => {
                n.to_f64() < a.to_f64()
            }
            _ => n.to_decimal() < a.to_decimal(),
        };
        if beyond {
            break;
        }
        passed += 1;
    }
    Ok(Value::Int(passed))
}

pub(super) fn call<'a>(f: Func, c: &Call<'_, 'a>) -> Computed<'a> {
    use Func::*;
    match f {
        Abs => Ok(match c.number(0)? {
            Value::Int(v) => match v.checked_abs() {
                Some(v) => Value::Int(v),
                None => return Err(out_of_range("BIGINT", c.expr).into()),
            },
            Value::Decimal(d) => Value::Decimal(d.abs()),
            v @ Value::UInt(_) => v,
            v => Value::Double(v.to_f64().abs()),
        }),
        Ceil | Floor => {
            let up = f == Ceil;
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
        Round | Truncate => round(f == Round, c),
        Pow => finite(c.double(0)?.powf(c.double(1)?), c),
        Sqrt => {
            let x = c.double(0)?;
            defined(x >= 0.0, x.sqrt(), c)
        }
        Exp => finite(c.double(0)?.exp(), c),
        Ln => {
            let x = c.double(0)?;
            logarithm(x, x.ln(), c)
        }
        Log if c.len() == 2 => {
            let (base, x) = (c.double(0)?, c.double(1)?);
            if base <= 0.0 || base == 1.0 {
                return logarithm(0.0, 0.0, c);
            }
            logarithm(x, x.ln() / base.ln(), c)
        }
        Log => {
            let x = c.double(0)?;
            logarithm(x, x.ln(), c)
        }
        Log2 => {
            let x = c.double(0)?;
            logarithm(x, x.log2(), c)
        }
        Log10 => {
            let x = c.double(0)?;
            logarithm(x, x.log10(), c)
        }
        Sin => finite(c.double(0)?.sin(), c),
        Cos => finite(c.double(0)?.cos(), c),
        Tan => finite(c.double(0)?.tan(), c),
        Cot => finite(1.0 / c.double(0)?.tan(), c),
        Asin => {
            let x = c.double(0)?;
            defined(x.abs() <= 1.0, x.asin(), c)
        }
        Acos => {
            let x = c.double(0)?;
            defined(x.abs() <= 1.0, x.acos(), c)
        }
        Atan if c.len() == 2 => finite(c.double(0)?.atan2(c.double(1)?), c),
        Atan => finite(c.double(0)?.atan(), c),
        Pi => Ok(Value::Double(std::f64::consts::PI)),
        Degrees => finite(c.double(0)?.to_degrees(), c),
        Radians => finite(c.double(0)?.to_radians(), c),
        Rand => {
            if c.len() == 1 {
                // A seed that changes from row to row starts anew each time.
                let mut state = RandState::default();
                let seed = c.args[0].eval(c.cx)?.to_i64() as u32;
                state.seed(seed);
                return Ok(Value::Double(state.step()));
            }
            Ok(Value::Double(random()))
        }
        Sign => Ok(Value::Int(match c.number(0)? {
            Value::UInt(v) => (v > 0) as i64,
            Value::Int(v) => v.signum(),
            Value::Decimal(d) if d.is_zero() => 0,
            Value::Decimal(d) => {
                if d.is_negative() {
                    -1
                } else {
                    1
                }
            }
            v => {
                let v = v.to_f64();
                (v > 0.0) as i64 - (v < 0.0) as i64
            }
        })),
        Greatest | Least => extreme(f == Greatest, c),
        Crc32 => Ok(Value::UInt(crc32(&c.text(0)?) as u64)),
        Conv => conv(&c.text(0)?, c.int(1)?, c.int(2)?),
        Bin => conv(&c.text(0)?, 10, 2),
        Oct => conv(&c.text(0)?, 10, 8),
        _ => Ok(Value::Int(c.value(0)?.to_bits().count_ones() as i64)),
    }
}

fn round<'a>(half_up: bool, c: &Call<'_, 'a>) -> Computed<'a> {
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

/// GREATEST and LEAST: compared as their common type.
fn extreme<'a>(greatest: bool, c: &Call<'_, 'a>) -> Computed<'a> {
    let wanted = if greatest {
        Ordering::Greater
    } else {
        Ordering::Less
    };
    let mut best: Option<Value<'a>> = None;
    for a in c.args {
        let v = c.expr.conformed(a, c.cx)?;
        if v.is_null() {
            return Err(Exit::Null);
        }
        let better = best
            .as_ref()
            .is_none_or(|b| v.compare(b, c.expr.ty.collation) == Some(wanted));
        if better {
            best = Some(v);
        }
    }
    Ok(best.unwrap_or(Value::Null))
}

fn crc32(data: &[u8]) -> u32 {
    static TABLE: [u32; 256] = {
        let mut t = [0u32; 256];
        let mut i = 0;
        while i < 256 {
            let mut c = i as u32;
            let mut k = 0;
            while k < 8 {
                c = if c & 1 == 1 {
                    0xedb8_8320 ^ c >> 1
                } else {
                    c >> 1
                };
                k += 1;
            }
            t[i] = c;
            i += 1;
        }
        t
    };
    let mut c = u32::MAX;
    for b in data {
        c = TABLE[((c ^ *b as u32) & 0xff) as usize] ^ c >> 8;
    }
    !c
}

/// CONV: 64-bit numbers between bases; a negative base says signed.
fn conv<'a>(text: &[u8], from: i64, to: i64) -> Computed<'a> {
    let base = |b: i64| {
        u32::try_from(b.abs())
            .ok()
            .filter(|b| (2..=36).contains(b))
            .ok_or(Exit::Null)
    };
    let (from_base, to_base) = (base(from)?, base(to)?);
    let text = text.trim_ascii();
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        _ => (false, text),
    };
    let mut v = 0u64;
    let mut any = false;
    for d in digits {
        let Some(d) = (*d as char).to_digit(from_base) else {
            break;
        };
        any = true;
        v = v
            .checked_mul(from_base as u64)
            .and_then(|v| v.checked_add(d as u64))
            .unwrap_or(u64::MAX);
    }
    if !any && text.is_empty() {
        return Err(Exit::Null);
    }
    let bits = if negative { v.wrapping_neg() } else { v };
    let (minus, mut left) = if to < 0 && (bits as i64) < 0 {
        (true, (bits as i64).unsigned_abs())
    } else {
        (false, bits)
    };
    let mut out = Vec::new();
    loop {
        let d = (left % to_base as u64) as u32;
        out.push(
            char::from_digit(d, to_base)
                .unwrap_or('0')
                .to_ascii_uppercase() as u8,
        );
        left /= to_base as u64;
        if left == 0 {
            break;
        }
    }
    if minus {
        out.push(b'-');
    }
    out.reverse();
    Ok(Value::Bytes(out.into()))
}

/// Seconds (with a fraction) as a TIME.
pub(super) fn seconds_to_time(d: Decimal) -> Option<Time> {
    let micros = d.checked_mul(Decimal::from(MICROS))?.round_to_i128()?;
    let clamped = micros.clamp(i64::MIN as i128, i64::MAX as i128) as i64;
    Some(Time::clamped(clamped).0)
}
