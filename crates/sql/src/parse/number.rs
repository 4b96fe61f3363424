//! Numbers as written.

use crate::error::{SqlError, SqlResult};
use crate::value::convert::{double_prefix, exact_integer};
use crate::value::{Decimal, Value};
use millpond_types::decimal::MAX_PRECISION;

/// Digits before the point of the longest numbers that MySQL computes with: one literal may have more than the 65 that a DECIMAL keeps.
pub const MAX_LITERAL_DIGITS: usize = 81;

/// How many digits a number has before the point, leading zeros apart.
pub fn digits_before_point(digits: &str) -> usize {
    let digits = digits.trim_start_matches(['-', '0']);
    digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len())
}

/// The value of a number, a minus sign included: an integer if it fits 64 bits, a double if it has an exponent, else a decimal. One
/// that is longer than a DECIMAL is the double next to it, one that is longer than numbers may be the greatest DECIMAL.
pub fn number(digits: &str) -> SqlResult<Value<'static>> {
    // What most numbers are.
    if digits.len() < 19
        && let Ok(v) = digits.parse::<i64>()
    {
        return Ok(Value::Int(v));
    }
    let text = digits.as_bytes();
    if let Some(v) = exact_integer(text) {
        if let Ok(v) = i64::try_from(v) {
            return Ok(Value::Int(v));
        }
        if let Ok(v) = u64::try_from(v) {
            return Ok(Value::UInt(v));
        }
    }
    if digits.contains(['e', 'E']) {
        let (v, _) = double_prefix(text);
        if digits.parse::<f64>().is_ok_and(f64::is_infinite) {
            let m = format!("Illegal double '{digits}' value found during parsing");
            return Err(SqlError::new(1367, m));
        }
        return Ok(Value::Double(v));
    }
    if (MAX_PRECISION as usize + 1..=MAX_LITERAL_DIGITS).contains(&digits_before_point(digits)) {
        return Ok(Value::Double(double_prefix(text).0));
    }
    let p = Decimal::parse_prefix(text);
    match p.used {
        0 => Err(SqlError::syntax(format!("near '{digits}'"))),
        _ => Ok(Value::Decimal(p.value)),
    }
}
