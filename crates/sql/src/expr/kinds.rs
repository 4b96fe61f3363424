//! What values become beside others in a comparison, where that is not up to the two that are compared.

use crate::error::{SqlError, SqlResult};
use crate::session::env::SessionEnv;
use crate::types::BaseType;
use crate::value::convert::{exact_decimal, exact_integer};
use crate::value::{DateTime, Decimal, Value, number_of_text, parse_time};

/// A constant beside a column, or another value that is no constant, of this type. In a year two digits stand for four, as they
/// do when it is stored; a text beside a date must be one: error 1525.
pub fn constant(v: Value<'_>, base: BaseType) -> SqlResult<Value<'_>> {
    match (base, &v) {
        (BaseType::Year, _) => Ok(year(&v).map_or(v, Value::Int)),
        (BaseType::Date | BaseType::DateTime | BaseType::Timestamp, Value::Bytes(text)) => {
            match parse_time::parse_datetime(text) {
                Some(p) if p.has_time || base != BaseType::Date => Ok(Value::DateTime(p.value)),
                Some(p) => Ok(Value::Date(p.value.date)),
                None => Err(no_date(text, base)),
            }
        }
        _ => Ok(v),
    }
}

/// 1525.
fn no_date(text: &[u8], base: BaseType) -> SqlError {
    let kind = match base {
        BaseType::Date => "DATE",
        BaseType::Timestamp => "TIMESTAMP",
        _ => "DATETIME",
    };
    let text = String::from_utf8_lossy(text);
    let shown: String = text.chars().take(128).collect();
    SqlError::new(1525, format!("Incorrect {kind} value: '{shown}'"))
}

/// The year that a whole number is, or that one or two digits stand for.
fn year(v: &Value<'_>) -> Option<i64> {
    let (n, zero) = match v {
        Value::Int(n) => (*n, false),
        Value::UInt(n) => (i64::try_from(*n).ok()?, false),
        Value::Decimal(d) if *d == d.floor() => (i64::try_from(d.floor().to_i128()?).ok()?, false),
        Value::Double(d) if d.fract() == 0.0 && d.abs() < 100.0 => (*d as i64, false),
        Value::Bytes(b) => {
            let n = i64::try_from(exact_integer(b)?).ok()?;
            (n, b.trim_ascii().len() <= 2)
        }
        _ => return None,
    };
    Some(match n {
        // The text '0' is the year 2000, the number 0 the year 0.
        0 if zero => 2000,
        1..=69 => 2000 + n,
        70..=99 => 1900 + n,
        _ => n,
    })
}

/// Makes the operands of BETWEEN comparable, all by the same rule: texts are dates where one of them is a date, times where one is a
/// time, else numbers where one is a number.
pub fn together(values: &mut [Value<'_>; 3], session: &SessionEnv) -> SqlResult<()> {
    let texts = values
        .iter()
        .filter(|v| matches!(v, Value::Bytes(_)))
        .count();
    if texts == 0 || texts == 3 {
        return Ok(());
    }
    let date = values
        .iter()
        .any(|v| matches!(v, Value::Date(_) | Value::DateTime(_)));
    let time = values.iter().any(|v| matches!(v, Value::Time(_)));
    let number = values.iter().any(Value::is_number);
    for v in values {
        let Value::Bytes(text) = v else { continue };
        let read = if date {
            v.to_datetime().map(Value::DateTime)
        } else if time {
            parse_time::parse_time(text).map(|p| Value::Time(p.value))
        } else if number {
            Some(match (exact_integer(text), exact_decimal(text)) {
                (Some(n), _) => Value::Decimal(Decimal::from_i128(n, 0)),
                (None, Some(d)) => Value::Decimal(d),
                (None, None) => Value::Double(number_of_text(text, session)?),
            })
        } else {
            None
        };
        if let Some(read) = read {
            *v = read;
        }
    }
    Ok(())
}

/// A time of day as the moment it is today, beside a date.
pub fn today(v: &Value<'_>, session: &SessionEnv) -> Option<Value<'static>> {
    match v {
        Value::Time(t) => {
            let day = session.local_now().date;
            DateTime::from_days_micros(day.days(), t.micros).map(Value::DateTime)
        }
        _ => None,
    }
}
