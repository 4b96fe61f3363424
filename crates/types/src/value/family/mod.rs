//! What values of each family of types do: how they are assigned, cast, kept, ordered and found. A file per family; here is one
//! `match` per operation, without a default arm, so that a new family is asked for each.
//!
//! What a type's row says (`types/base.rs`) is not asked here. The comparison of two values knows no types: it is
//! [`Value::compare`]'s.

use super::assign::{StoreContext, Target};
use super::env::{ConversionEnv, SqlMode};
use super::time::{Date, DateTime, Time};
use super::{Decimal, Value, Zone};
use crate::error::SqlResult;
use crate::types::{BaseType, Family as F, SqlType};

pub(super) mod bits;
mod datetime;
mod decimal;
mod enumeration;
mod float;
mod geometry;
mod integer;
mod json;
mod set;
pub mod stored;
mod string;
mod time;
mod year;

pub use enumeration::is_no_member;
pub use float::beside_float;
pub use geometry::no_geometry;
pub use integer::{integer_range, integer_value};
pub use string::recoded;

/// Converts a value that is not NULL for assignment to a column.
pub(super) fn assign<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    let value = match value {
        Value::Json(j) if !column.ty.is_json() => json::assigned_elsewhere(j, column, cx)?,
        value => value,
    };
    match column.ty.family() {
        F::Null => Ok(Value::Null),
        F::Integer => integer::assign(value, column, cx),
        F::Year => year::assign(value, column, cx),
        F::Bit => bits::assign(value, column, cx),
        F::Decimal => decimal::assign(value, column, cx),
        F::Float | F::Double => float::assign(value, column, cx),
        F::String => string::assign(value, column, cx),
        F::Enum => enumeration::assign(value, column, cx),
        F::Set => set::assign(value, column, cx),
        F::Date | F::DateTime | F::Timestamp => datetime::assign(value, column, cx),
        F::Time => time::assign(value, column, cx),
        F::Json => json::assign(value, column),
        F::Geometry => geometry::assign(value, column),
    }
}

/// Converts to a type as CAST does (warnings go to the session).
pub fn cast<'a>(value: Value<'a>, ty: &SqlType, session: &ConversionEnv) -> SqlResult<Value<'a>> {
    if value.is_null() {
        return Ok(value);
    }
    let value = match value {
        Value::Json(j) if !ty.is_json() => match json::cast_elsewhere(j, ty, session)? {
            Value::Null => return Ok(Value::Null),
            value => value,
        },
        value => value,
    };
    match ty.family() {
        F::Null => Ok(value),
        F::Integer | F::Bit => integer::cast(value, ty.unsigned, session),
        F::Year => year::cast(value, session),
        F::Decimal => decimal::cast(value, ty, session),
        F::Float | F::Double => float::cast(value, ty, session),
        F::String | F::Enum | F::Set => string::cast(value, ty, session),
        F::Date | F::DateTime | F::Timestamp => datetime::cast(value, ty, session),
        F::Time => time::cast(value, ty, session),
        F::Json => json::cast(value),
        F::Geometry => geometry::cast(value, ty),
    }
}

/// Brings a value to the representation its static type promises: an integer type's `Int` or `UInt`, a DECIMAL's scale, a text
/// for a string type. What does not convert is left alone; nothing is warned of.
pub fn conform<'a>(value: Value<'a>, ty: &SqlType) -> Value<'a> {
    if value.is_null() {
        return value;
    }
    match ty.family() {
        F::Null => value,
        F::Integer | F::Year | F::Bit => integer::conform(value, ty),
        F::Decimal => decimal::conform(value, ty),
        F::Float | F::Double => float::conform(value),
        F::String | F::Enum | F::Set | F::Geometry => string::conform(value),
        F::Date => value.to_date().map_or(value, Value::Date),
        F::DateTime | F::Timestamp => value.to_datetime().map_or(value, Value::DateTime),
        F::Time => value.to_time().map_or(value, Value::Time),
        F::Json => json::conform(value),
    }
}

/// The zero of a column's type: what NOT NULL columns get where NULL or nothing was given and the mode is not strict.
pub fn implicit_zero(ty: &SqlType) -> Value<'static> {
    match ty.family() {
        F::Null => Value::Null,
        F::Integer | F::Year | F::Bit => integer_value(0, ty),
        F::Decimal => Value::Decimal(Decimal::ZERO.round(ty.decimals)),
        F::Float | F::Double => Value::Double(0.0),
        F::String | F::Geometry => string::zero(ty),
        F::Enum => enumeration::zero(ty),
        F::Set => Value::str(""),
        F::Date => Value::Date(Date::default()),
        F::DateTime | F::Timestamp => Value::DateTime(DateTime::default()),
        F::Time => Value::Time(Time::default()),
        F::Json => json::null(),
    }
}

/// A value of a column's type as its definition keeps it for a default: the text, of BIT the literal that says it. `None` for bytes
/// that are no text.
pub fn default_text(value: &Value<'_>, ty: &SqlType) -> Option<String> {
    if ty.family() == F::Bit {
        return Some(bits::literal(value));
    }
    let mut text = Vec::new();
    super::write_text(value, ty, &mut text);
    String::from_utf8(text).ok()
}

/// What such a default is, to be assigned.
pub fn of_default<'t>(text: &'t str, ty: &SqlType) -> Value<'t> {
    match ty.family() {
        F::Bit => bits::of_literal(text),
        _ => Value::str(text),
    }
}

/// Appends a sort key of a value that is not NULL: prefix-free bytes that `memcmp` orders as the values are. Numbers of one type
/// sort by value whichever way they are represented, ENUMs by position, SETs by their members' bits.
pub fn sort_key(value: &Value<'_>, ty: &SqlType, out: &mut Vec<u8>) {
    match ty.family() {
        F::Null => {}
        F::Integer | F::Year | F::Bit => integer::sort_key(value, out),
        F::Decimal => decimal::sort_key(value, ty, out),
        F::Float | F::Double => stored::put_double(value.to_f64(), out),
        F::String | F::Geometry => ty.collation.sort_key(&value.to_text(), out),
        F::Enum => enumeration::sort_key(value, ty, out),
        F::Set => set::sort_key(value, ty, out),
        F::Date | F::DateTime | F::Timestamp => {
            stored::put_datetime(value.to_datetime().unwrap_or_default(), out);
        }
        F::Time => stored::put_time(value.to_time().unwrap_or_default(), out),
        F::Json => json::sort_key(value, out),
    }
}

/// How a value from a WHERE clause relates to a column's domain, for use as an index key.
///
/// The string cases hold under the column's own collation: a comparison under another must not use the index. ENUM columns sort by
/// position and compare as texts with texts: use them for equality only then.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// A value of the column's type, equal to it.
    Exact(Value<'static>),
    /// Not representable: it lies above this value of the column's type and below the next.
    Above(Value<'static>),
    /// Below everything the column can hold.
    BelowAll,
    /// Above everything the column can hold.
    AboveAll,
    /// NULL: no comparison but `<=>` is ever true.
    Null,
    /// The comparison does not follow the column's order (a string column against a number): scan.
    Unusable,
}

/// Converts a constant for an index lookup on a column of type `ty`, as comparison `column op value` would treat it.
pub fn lookup(value: &Value<'_>, ty: &SqlType, zone: Zone) -> Lookup {
    if value.is_null() {
        return Lookup::Null;
    }
    // A document is compared as one: the number 5 is not the text "5".
    if let Value::Json(_) = value {
        return Lookup::Unusable;
    }
    match ty.family() {
        F::Null => Lookup::Unusable,
        F::Integer | F::Bit => integer::lookup(value, ty),
        F::Year => year::lookup(value, ty),
        F::Decimal => decimal::lookup(value, ty),
        F::Float | F::Double => float::lookup(value, ty),
        F::String | F::Geometry => string::lookup(value),
        F::Enum => enumeration::lookup(value, ty),
        F::Set => set::lookup(value, ty),
        F::Date | F::DateTime | F::Timestamp => datetime::lookup(value, ty, zone),
        F::Time => time::lookup(value, ty),
        // No index has documents.
        F::Json => Lookup::Unusable,
    }
}

/// The number that a text of an enumerated type is where a number is wanted; `None` for other types.
pub fn member_number(text: &[u8], ty: &SqlType) -> Option<Value<'static>> {
    match ty.family() {
        F::Enum => Some(enumeration::number(text, ty)),
        F::Set => Some(set::number(text, ty)),
        F::Null
        | F::Integer
        | F::Year
        | F::Bit
        | F::Decimal
        | F::Float
        | F::Double
        | F::String
        | F::Date
        | F::DateTime
        | F::Timestamp
        | F::Time
        | F::Json
        | F::Geometry => None,
    }
}

/// What a constant text is in a comparison with values of a type, where that is so for each of them: it is read once then.
pub fn constant_text(text: &[u8], ty: &SqlType) -> Option<(Value<'static>, SqlType)> {
    match ty.family() {
        F::Integer | F::Bit => integer::constant_text(text),
        F::Date | F::DateTime | F::Timestamp => datetime::constant_text(text, ty.base),
        F::Time => time::constant_text(text),
        // Two digits of a year stand for four, see [`beside`].
        F::Year => None,
        F::Null
        | F::Decimal
        | F::Float
        | F::Double
        | F::String
        | F::Enum
        | F::Set
        | F::Json
        | F::Geometry => None,
    }
}

/// Whether a column of dates or times has a value for a constant that it is compared with; for texts beside dates see [`beside`].
pub fn fits(value: &Value<'_>, ty: &SqlType) -> bool {
    match ty.base {
        BaseType::Time => time::fits(value),
        BaseType::Date | BaseType::DateTime | BaseType::Timestamp => datetime::fits(value),
        _ => true,
    }
}

/// A constant beside a column, or another value that is no constant, of this type. In a year two digits stand for four, as they
/// do when it is stored; a text beside a date must be one that sql_mode has: error 1525.
pub fn beside(v: Value<'_>, base: BaseType, mode: SqlMode) -> SqlResult<Value<'_>> {
    match base.family() {
        F::Year => Ok(year::beside(&v).unwrap_or(v)),
        F::Date | F::DateTime | F::Timestamp => datetime::beside(v, base, mode),
        F::Null
        | F::Integer
        | F::Bit
        | F::Decimal
        | F::Float
        | F::Double
        | F::String
        | F::Enum
        | F::Set
        | F::Time
        | F::Json
        | F::Geometry => Ok(v),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Collation;

    #[test]
    fn constants_find_their_place() {
        let show = |l: Lookup| match l {
            Lookup::Exact(v) => format!("={}", String::from_utf8_lossy(&v.to_text())),
            Lookup::Above(v) => format!(">{}", String::from_utf8_lossy(&v.to_text())),
            other => format!("{other:?}"),
        };
        let int = SqlType::new(BaseType::TinyInt);
        let dec = SqlType::decimal(5, 2);
        let d = |s: &str| Value::Decimal(Decimal::parse_prefix(s.as_bytes()).value);
        let text = SqlType::varchar(10, Collation::Utf8mb4GeneralCi);
        let date = SqlType::new(BaseType::Date);
        for (v, ty, want) in [
            (Value::Int(5), &int, "=5"),
            (Value::Int(128), &int, "AboveAll"),
            (Value::Int(-129), &int, "BelowAll"),
            (d("1.5"), &int, ">1"),
            (d("-1.5"), &int, ">-2"),
            (d("127.5"), &int, "AboveAll"),
            (Value::str("12"), &int, "=12"),
            (Value::str("12.5x"), &int, ">12"),
            (Value::Null, &int, "Null"),
            (Value::Double(1e300), &int, "Unusable"),
            (d("1.234"), &dec, ">1.23"),
            (d("-1.234"), &dec, ">-1.24"),
            (Value::Int(1000), &dec, "AboveAll"),
            (Value::str("1.50"), &dec, "=1.50"),
            (Value::Int(3), &dec, "=3.00"),
            (Value::str("x"), &text, "=x"),
            (Value::Int(3), &text, "Unusable"),
            (Value::str("2024-01-31"), &date, "=2024-01-31"),
            (Value::str("2024-01-31 10:00:00"), &date, ">2024-01-31"),
            (Value::Int(20240131), &date, "=2024-01-31"),
            (Value::str("x"), &date, "Unusable"),
        ] {
            assert_eq!(
                show(lookup(&v, ty, Zone::UTC)),
                want,
                "{v:?} {}",
                ty.column_type()
            );
        }
    }
}
