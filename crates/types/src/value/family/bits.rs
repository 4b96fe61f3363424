//! BIT: numbers of so many bits. Where a text is wanted they are their bytes, and bytes that are assigned are the number's.

use super::super::Value;
use super::super::assign::{StoreContext, Target};
use super::integer::integer_range;
use crate::error::{SqlError, SqlResult};
use crate::types::SqlType;

/// The number that bytes are, if 64 bits hold it.
fn of_bytes(bytes: &[u8]) -> Option<u64> {
    let zeros = bytes.iter().take_while(|b| **b == 0).count();
    let number = &bytes[zeros..];
    (number.len() <= 8).then(|| number.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
}

pub(super) fn assign<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let number = match &value {
        // The bits of a negative number are those of 64.
        Value::Int(v) => Some(*v as u64),
        Value::UInt(v) => Some(*v),
        Value::Double(v) => Some(*v as i64 as u64),
        Value::Decimal(d) if d.is_negative() => {
            cx.out_of_range(column)?;
            Some(0)
        }
        Value::Decimal(d) => d.round_to_i128().and_then(|v| u64::try_from(v).ok()),
        other => of_bytes(&other.to_text()),
    };
    let most = integer_range(column.ty).1 as u64;
    match number {
        Some(n) if n <= most => Ok(Value::UInt(n)),
        _ if cx.strict => Err(SqlError::new(
            1406,
            format!(
                "Data too long for column '{}' at row {}",
                column.name, cx.row
            ),
        )),
        _ => {
            cx.out_of_range(column)?;
            Ok(Value::UInt(most))
        }
    }
}

/// Appends the bytes of a number.
pub(in crate::value) fn write_bytes(number: u64, ty: &SqlType, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_be_bytes()[8 - ty.fixed_len().clamp(1, 8)..]);
}

/// `b'101'`.
pub(super) fn literal(value: &Value<'_>) -> String {
    format!("b'{:b}'", value.to_u64())
}

/// The number that such a literal says.
pub(super) fn of_literal(text: &str) -> Value<'static> {
    let digits = text.trim_start_matches("b'").trim_end_matches('\'');
    Value::UInt(u64::from_str_radix(digits, 2).unwrap_or_default())
}
