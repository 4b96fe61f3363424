//! Values as expressions see them: conversion, comparison, assignment, text.

use std::borrow::Cow;

mod assign;
mod cast;
pub mod convert;
pub mod env;
pub mod family;
pub mod geometry;
pub mod json;
pub mod parse_time;
pub mod text;
pub mod time;
pub mod zone;

pub use crate::decimal::{self, Decimal};
pub use assign::{
    StoreContext, Target, assign, date_allowed, null_refused, printable, printable_bytes,
};
pub use cast::{
    Read, double_of_text, invalid, no_datetime, not_utf8, number_of_text, read_datetime, read_time,
    truncated,
};
pub use env::ConversionEnv;
pub use family::{
    Lookup, cast, conform, default_text, implicit_zero, integer_range, integer_value, is_no_member,
    lookup, member_number, no_geometry, of_default, recoded, sort_key,
};
pub use json::Json;
pub use text::{assigned, shown, write_text};
pub use time::{Date, DateTime, Time};
pub use zone::Zone;

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
    /// A JSON document.
    Json(Json<'a>),
}

impl Value<'_> {
    /// Whether it is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
    /// Whether it is an integer, a decimal or a double.
    #[inline]
    pub fn is_number(&self) -> bool {
        matches!(
            self,
            Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_)
        )
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
            Value::Json(j) => Value::Json(j.into_owned()),
        }
    }
}
