//! What values become beside others in a comparison, where that is not up to the two that are compared.

use super::operators::text_number;
use super::{EvalContext, Expr};
use crate::env::SessionEnv;
use crate::error::SqlResult;
use crate::value::convert::{exact_decimal, exact_integer};
use crate::value::{DateTime, Decimal, Value, parse_time};

/// Makes the operands of BETWEEN comparable, all by the same rule: texts are dates beside dates alone, or where the value is a
/// date; times likewise; else numbers where one is a number.
pub fn together(
    values: &mut [Value<'_>; 3],
    by: &[Expr; 3],
    cx: &EvalContext<'_>,
) -> SqlResult<()> {
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
    for (v, by) in values.iter_mut().zip(by) {
        let Value::Bytes(text) = v else { continue };
        let read = if dates {
            Some(date(v))
        } else if time {
            parse_time::parse_time(text).map(|p| Value::Time(p.value))
        } else if number {
            Some(match (exact_integer(text), exact_decimal(text)) {
                (Some(n), _) => Value::Decimal(Decimal::from_i128(n, 0)),
                (None, Some(d)) => Value::Decimal(d),
                (None, None) => Value::Double(text_number(text, Some(by), cx)?),
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
