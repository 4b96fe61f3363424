//! Numbers as written.

use crate::error::{SqlError, SqlResult};
use crate::value::convert::{double_prefix, exact_integer};
use crate::value::{Decimal, Value};

/// The value of a number, a minus sign included: an integer if it fits 64 bits, a double if it has an exponent, else a decimal.
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
    let p = Decimal::parse_prefix(text);
    match p.used {
        0 => Err(SqlError::syntax(format!("near '{digits}'"))),
        _ => Ok(Value::Decimal(p.value)),
    }
}
