//! What a placeholder is taken to be by its value.

use super::bind::type_of;
use crate::types::{Collation, SqlType};
use crate::value::Value;
use crate::value::decimal::MAX_PRECISION;

/// Whether a value is a text or NULL.
pub fn is_text(v: &Value<'_>) -> bool {
    matches!(v, Value::Null | Value::Bytes(_))
}

/// The type that a placeholder has by its value; `None` for texts and NULL, which any may be. Decimals differ in their scale only:
/// the digits before the point change from one execution to the next and no plan depends on them.
pub fn param_type(v: &Value<'_>) -> Option<SqlType> {
    match v {
        Value::Null | Value::Bytes(_) => None,
        Value::Decimal(d) => Some(SqlType::decimal(MAX_PRECISION, d.scale())),
        v => Some(type_of(v, Collation::Binary)),
    }
}
