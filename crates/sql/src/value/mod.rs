//! Values as expressions see them.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::error::SqlResult;
use crate::session::env::SessionEnv;
use crate::types::{Collation, Column, SqlType};

pub use decimal::Decimal;
pub use time::{Date, DateTime, Time};

pub mod decimal;
pub mod time;

/// An SQL value. Its SQL type (length, collation, scale) is known statically from the expression.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A double.
    Double(f64),
    /// An exact decimal (to 65 digits).
    Decimal(Decimal),
    /// A character or binary string (utf8mb4 unless the type's collation is `binary`). ENUM values travel as their text.
    Bytes(Cow<'a, [u8]>),
    /// A date.
    Date(Date),
    /// A DATETIME or TIMESTAMP (in the session's time zone).
    DateTime(DateTime),
    /// A time of day or interval.
    Time(Time),
}

impl Value<'_> {
    /// Whether it is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
    /// The same value, owning its bytes.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Int(v) => Value::Int(v),
            Value::UInt(v) => Value::UInt(v),
            Value::Double(v) => Value::Double(v),
            Value::Decimal(v) => Value::Decimal(v),
            Value::Bytes(b) => Value::Bytes(Cow::Owned(b.into_owned())),
            Value::Date(v) => Value::Date(v),
            Value::DateTime(v) => Value::DateTime(v),
            Value::Time(v) => Value::Time(v),
        }
    }
}

impl<'a> Value<'a> {
    /// A string value that borrows.
    pub fn str(s: &'a str) -> Value<'a> {
        Value::Bytes(Cow::Borrowed(s.as_bytes()))
    }
    /// An owned string value.
    pub fn string(s: String) -> Value<'static> {
        Value::Bytes(Cow::Owned(s.into_bytes()))
    }
    /// TRUE or FALSE.
    pub fn bool(b: bool) -> Value<'static> {
        Value::Int(b as i64)
    }
    /// The same value, borrowing from this one.
    pub fn borrowed(&self) -> Value<'_> {
        todo!()
    }
    /// Truth as WHERE sees it; `None` for NULL. A string that is no number is false.
    pub fn truth(&self) -> Option<bool> {
        todo!()
    }
    /// As a signed integer, rounding and clamping; strings by their numeric prefix; NULL is 0.
    pub fn to_i64(&self) -> i64 {
        todo!()
    }
    /// As an unsigned integer, rounding and clamping.
    pub fn to_u64(&self) -> u64 {
        todo!()
    }
    /// As a double; strings by their numeric prefix; NULL is 0.
    pub fn to_f64(&self) -> f64 {
        todo!()
    }
    /// As a decimal; strings by their numeric prefix; NULL is 0.
    pub fn to_decimal(&self) -> Decimal {
        todo!()
    }
    /// The text MySQL would print; NULL is empty. Borrows where the value is a string. Scale and fractional digits come
    /// from the value (see [`write_text`] for those of a type).
    pub fn to_text(&self) -> Cow<'_, [u8]> {
        todo!()
    }
    /// Compares as MySQL's `=`, `<`... do, whatever the types; `None` if either is NULL. `collation` is for string against string.
    pub fn compare(&self, _other: &Value<'_>, _collation: Collation) -> Option<Ordering> {
        todo!()
    }
}

/// Appends the text protocol's form of a value of type `ty` (fractional digits and scale are the type's). Nothing for NULL.
pub fn write_text(_value: &Value<'_>, _ty: &SqlType, _out: &mut Vec<u8>) {
    todo!()
}

/// How an assignment treats values that do not fit.
#[derive(Clone, Copy)]
pub struct StoreContext<'a> {
    /// The session: sql_mode's date rules, warnings.
    pub session: &'a SessionEnv,
    /// An error (strict mode, and not IGNORE) rather than a warning and the nearest value.
    pub strict: bool,
    /// The row's number in the statement, from 1, for messages.
    pub row: u64,
}

/// Converts a value for assignment to a column: what INSERT and UPDATE do. Raises MySQL's errors, or warnings if not strict.
pub fn store<'a>(
    _value: Value<'a>,
    _column: &Column,
    _cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    todo!()
}

/// The value of a column that a statement does not mention: its default, or error 1364 (strict; else the type's zero with a
/// warning). An AUTO_INCREMENT column gives `Int(0)`.
pub fn default_value(_column: &Column, _cx: &StoreContext<'_>) -> SqlResult<Value<'static>> {
    todo!()
}

/// The zero of a column's type: what NOT NULL columns get where NULL or nothing was given and the mode is not strict.
pub fn implicit_zero(_ty: &SqlType) -> Value<'static> {
    todo!()
}

/// Converts to a type as CAST does (warnings go to the session).
pub fn cast<'a>(_value: Value<'a>, _ty: &SqlType, _session: &SessionEnv) -> SqlResult<Value<'a>> {
    todo!()
}
