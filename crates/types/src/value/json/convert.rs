//! From SQL values to JSON scalars and back.

use crate::value::geometry::{Geometry, geojson};
use std::borrow::Cow;

use super::{Json, View};
use crate::error::{SqlError, SqlResult};
use crate::types::{BaseType, Category, Collation, SqlType};
use crate::value::Value;

/// A value that a conversion has nothing for: an array, an object, null, or a string where a number is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit;

/// `MYSQL_TYPE_VARCHAR`: what bytes are that are no column's.
const VARCHAR: u8 = 15;

/// The number of MySQL's type that bytes of a type have in JSON, `column`: those of a column.
pub fn opaque_type(ty: &SqlType, column: bool) -> u8 {
    match ty.base {
        BaseType::VarBinary => VARCHAR,
        _ if ty.is_string() && (column || ty.is_blob()) => ty.protocol_type(),
        _ => VARCHAR,
    }
}

/// A value that is not NULL as JSON: a text is a string, not read as JSON. `opaque`: the number of MySQL's type, for bytes.
pub fn from_value<'a>(value: Value<'a>, ty: &SqlType, opaque: u8) -> SqlResult<Json<'a>> {
    let view = match &value {
        Value::Json(_) => {
            return match value {
                Value::Json(j) => Ok(j),
                _ => Ok(View::Null.to_json()),
            };
        }
        Value::Null => View::Null,
        Value::Int(n) => View::Int(*n),
        Value::UInt(n) => View::UInt(*n),
        Value::Double(n) => View::Double(*n),
        Value::Decimal(d) => View::Decimal(ty.shown(*d)),
        Value::Date(d) => View::Date(*d),
        Value::DateTime(d) => View::DateTime(*d),
        Value::Time(t) => View::Time(*t),
        Value::Bytes(b) if ty.is_geometry() => {
            return match Geometry::of_bytes(b) {
                Some(g) => Ok(geojson::write(&g, None, geojson::Extras::default())),
                None => Ok(View::Opaque(opaque, b).to_json()),
            };
        }
        Value::Bytes(b) if ty.is_string() && ty.collation == Collation::Binary => {
            View::Opaque(opaque, b)
        }
        Value::Bytes(b) => match std::str::from_utf8(b) {
            Ok(s) => View::String(s),
            Err(_) => {
                return Err(SqlError::new(
                    3144,
                    "Cannot create a JSON value from a string with CHARACTER SET 'binary'.",
                ));
            }
        },
    };
    Ok(view.to_json())
}

/// A value beside a document that it is compared with: a text is a string, whatever bytes it has.
pub fn scalar<'a>(value: &'a Value<'_>) -> Json<'a> {
    let view = match value {
        Value::Json(j) => return j.borrowed(),
        Value::Null => View::Null,
        Value::Int(n) => View::Int(*n),
        Value::UInt(n) => View::UInt(*n),
        Value::Double(n) => View::Double(*n),
        Value::Decimal(d) => View::Decimal(*d),
        Value::Date(d) => View::Date(*d),
        Value::DateTime(d) => View::DateTime(*d),
        Value::Time(t) => View::Time(*t),
        Value::Bytes(b) => match std::str::from_utf8(b) {
            Ok(s) => View::String(s),
            Err(_) => View::Opaque(VARCHAR, b),
        },
    };
    view.to_json()
}

impl Json<'_> {
    /// The SQL value that a scalar is where values of a category are wanted. Texts are JSON's text.
    pub fn to_sql(&self, category: Category) -> Result<Value<'static>, Unfit> {
        if category == Category::String {
            return Ok(Value::Bytes(Cow::Owned(self.to_text())));
        }
        let temporal = category == Category::Temporal;
        Ok(match self.view() {
            View::Bool(b) if !temporal => Value::bool(b),
            View::Int(n) if !temporal => Value::Int(n),
            View::UInt(n) if !temporal => Value::UInt(n),
            View::Double(v) if !temporal => Value::Double(v),
            View::Decimal(d) if !temporal => Value::Decimal(d),
            View::String(s) => Value::string(s.to_string()),
            View::Date(d) => Value::Date(d),
            View::Time(t) => Value::Time(t),
            View::DateTime(d) => Value::DateTime(d),
            _ => return Err(Unfit),
        })
    }
    /// Its text.
    pub fn to_text(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.0.len());
        self.root().write_text(&mut out);
        out
    }
    /// The number that it is in arithmetic; what is none is 0.
    pub fn to_number(&self) -> Value<'static> {
        self.to_sql(Category::Fraction).unwrap_or(Value::Int(0))
    }
    /// Whether it differs from the number 0, as WHERE asks.
    pub fn truth(&self) -> bool {
        match self.view() {
            View::Int(n) => n != 0,
            View::UInt(n) => n != 0,
            View::Double(v) => v != 0.0,
            View::Decimal(d) => !d.is_zero(),
            _ => true,
        }
    }
}
