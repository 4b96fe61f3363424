//! Values that become a column's: what is assigned, what AUTO_INCREMENT makes, what a column has by default.

use super::{Column, DefaultValue};
use crate::error::{SqlError, SqlResult};
use crate::types::BaseType;
use crate::value::family::integer_range;
use crate::value::{StoreContext, Value, implicit_zero, of_default};

/// Converts a value for assignment to a column: what INSERT and UPDATE do. Raises MySQL's errors, or warnings if not strict.
#[inline]
pub fn store<'a>(value: Value<'a>, column: &Column, cx: &StoreContext<'_>) -> SqlResult<Value<'a>> {
    millpond_types::value::assign(value, column.target(), cx)
}

/// Error 1048.
pub fn null_refused(column: &Column) -> SqlError {
    millpond_types::value::null_refused(column.target())
}

/// A number that AUTO_INCREMENT made, as the column has it. One beyond the column's last is refused in any mode.
pub fn generated(n: u64, column: &Column, cx: &StoreContext<'_>) -> SqlResult<Value<'static>> {
    let v = match i64::try_from(n) {
        Ok(i) if !column.ty.unsigned => Value::Int(i),
        _ => Value::UInt(n),
    };
    let exact = StoreContext {
        strict: true,
        ..*cx
    };
    store(v, column, &exact).map_err(|_| no_number())
}

/// 1467.
pub fn no_number() -> SqlError {
    SqlError::new(
        1467,
        "Failed to read auto-increment value from storage engine",
    )
}

/// The number that a row of INSERT gets for one that AUTO_INCREMENT made. `step`: `auto_increment_increment` and `auto_increment_offset`. As in
/// MySQL one beyond the column's last is the last, which is a duplicate as a rule (InnoDB's counter stops there), but where the step passes the last
/// by: there error or warning 1264. The last that 64 bits hold is never given (1467).
pub fn number_within(
    n: u64,
    step: (u64, u64),
    column: &Column,
    cx: &StoreContext<'_>,
) -> SqlResult<u64> {
    if !column.ty.is_integer() {
        return Ok(n);
    }
    let most = u64::try_from(integer_range(&column.ty).1).unwrap_or(u64::MAX);
    if n == u64::MAX {
        return Err(no_number());
    }
    if n <= most {
        return Ok(n);
    }
    let step = (step.0.max(1), step.1);
    let offset = if step.1 > step.0 { 0 } else { step.1 };
    let passed = most.checked_sub(offset).map(|m| m % step.0);
    if passed != Some(0) {
        let row = cx.row;
        let m = format!(
            "Out of range value for column '{}' at row {row}",
            column.name
        );
        cx.raise(1264, m)?;
    }
    Ok(most - passed.unwrap_or(0))
}

/// The value of a column that a statement does not mention: its default, or error 1364 (strict, or of a spatial type; else the type's zero
/// with a warning). An AUTO_INCREMENT column gives its type's 0. Error 3773 for a default that is an expression.
pub fn default_value(column: &Column, cx: &StoreContext<'_>) -> SqlResult<Value<'static>> {
    match &column.default {
        DefaultValue::Null => Ok(Value::Null),
        DefaultValue::Now => {
            let now = Value::DateTime(cx.session.local_now_fsp(column.ty.decimals));
            Ok(store(now, column, cx)?.into_owned())
        }
        // It may read the row: whoever makes that computes it, see `crate::computed`.
        DefaultValue::Expr(_) => Err(SqlError::new(
            3773,
            "'DEFAULT' function cannot be used with default value expressions",
        )),
        DefaultValue::Literal(s) => Ok(store(of_default(s, &column.ty), column, cx)?.into_owned()),
        DefaultValue::None if column.auto_increment && !column.nullable => {
            Ok(implicit_zero(&column.ty))
        }
        DefaultValue::None if column.nullable => Ok(Value::Null),
        // An ENUM without a default has its first member.
        DefaultValue::None if column.ty.base == BaseType::Enum => {
            let first = column.ty.members.as_deref().and_then(|m| m.first());
            Ok(Value::string(first.cloned().unwrap_or_default()))
        }
        DefaultValue::None => {
            let m = format!("Field '{}' doesn't have a default value", column.name);
            if column.ty.is_geometry() {
                return Err(SqlError::new(1364, m));
            }
            cx.raise(1364, m)?;
            Ok(implicit_zero(&column.ty))
        }
    }
}

/// What a column reads as in its own row before that has given it a value: the default, else NULL or the type's zero.
pub fn initial_value(column: &Column, cx: &StoreContext<'_>) -> Value<'static> {
    match column.default {
        DefaultValue::Expr(_) if column.nullable => Value::Null,
        DefaultValue::None if !column.nullable => implicit_zero(&column.ty),
        _ => default_value(column, cx).unwrap_or_else(|_| implicit_zero(&column.ty)),
    }
}
