//! What values become beside others in a comparison, where that is not up to the two that are compared.

use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::types::BaseType;
use crate::value::convert::{exact_decimal, exact_integer};
use crate::value::{DateTime, Decimal, Value, number_of_text, parse_time};

/// A constant beside a column, or another value that is no constant, of this type. In a year two digits stand for four, as they
/// do when it is stored; a text beside a date must be one: error 1525.
pub fn constant(v: Value<'_>, base: BaseType) -> SqlResult<Value<'_>> {
    match (base, &v) {
        (BaseType::Year, _) => Ok(year(&v).unwrap_or(v)),
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

/// The year that a number is, or that its one or two digits stand for; `None` for what is no number.
fn year(v: &Value<'_>) -> Option<Value<'static>> {
    let century = |n: f64| match n {
        n if (1.0..70.0).contains(&n) => 2000,
        n if (70.0..100.0).contains(&n) => 1900,
        _ => 0,
    };
    Some(match v {
        Value::Int(n) => Value::Int(n + century(*n as f64)),
        Value::UInt(n) if *n < 100 => Value::Int(*n as i64 + century(*n as f64)),
        Value::Decimal(d) => {
            let more = Decimal::from_i128(century(v.to_f64()).into(), 0);
            Value::Decimal(d.checked_add(more)?)
        }
        Value::Double(d) => Value::Double(d + century(*d) as f64),
        Value::Bytes(b) => match exact_integer(b)? {
            // The text '0' is the year 2000, the number 0 the year 0.
            0 if b.trim_ascii().len() <= 2 => Value::Int(2000),
            n => return year(&Value::Int(i64::try_from(n).ok()?)),
        },
        _ => return None,
    })
}

/// Makes the operands of BETWEEN comparable, all by the same rule: texts are dates beside dates alone, or where the value is a
/// date; times likewise; else numbers where one is a number.
pub fn together(values: &mut [Value<'_>; 3], session: &SessionEnv) -> SqlResult<()> {
    let texts = values
        .iter()
        .filter(|v| matches!(v, Value::Bytes(_)))
        .count();
    if texts == 0 || texts == 3 {
        return Ok(());
    }
    let number = values.iter().any(Value::is_number);
    let all_are = |is: fn(&Value<'_>) -> bool| is(&values[0]) || !number && values.iter().any(is);
    let dates = all_are(|v| matches!(v, Value::Date(_) | Value::DateTime(_)));
    let time = all_are(|v| matches!(v, Value::Time(_)));
    for v in values {
        let Value::Bytes(text) = v else { continue };
        let read = if dates {
            Some(date(v))
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

/// A text as the date it is, the zero one if it is none.
pub fn date(v: &Value<'_>) -> Value<'static> {
    Value::DateTime(v.to_datetime().unwrap_or_default())
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
