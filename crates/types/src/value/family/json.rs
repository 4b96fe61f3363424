//! JSON: documents, read from texts where they are assigned or cast.

use super::super::Value;
use super::super::assign::{StoreContext, Target};
use super::super::env::ConversionEnv;
use crate::error::{SqlError, SqlResult};
use crate::types::{BaseType, Category, SqlType};
use crate::value::json::{self, Json, SyntaxError};

/// The document null: what a NOT NULL column gets where nothing was given and the mode is not strict.
pub(super) fn null() -> Value<'static> {
    Value::Json(json::View::Null.to_json())
}

/// A text is read as JSON; other values than that must be cast first. Errors 3140, 3157.
pub(super) fn assign<'a>(value: Value<'a>, column: Target<'_>) -> SqlResult<Value<'a>> {
    let parsed = match value {
        Value::Bytes(text) => json::parse(&text),
        Value::Json(_) => return Ok(value),
        _ => Err(SyntaxError::At("not a JSON text, may need CAST", 0)),
    };
    match parsed {
        Ok(j) => Ok(Value::Json(j)),
        Err(SyntaxError::At(what, at)) => {
            let m = format!(
                "Invalid JSON text: \"{what}\" at position {at} in value for column '{}'.",
                column.name
            );
            Err(SqlError::new(3140, m))
        }
        Err(other) => Err(json::refused(other)),
    }
}

/// CAST(... AS JSON). Error 3141.
pub(super) fn cast(value: Value<'_>) -> SqlResult<Value<'_>> {
    Ok(Value::Json(match value {
        Value::Json(j) => j,
        Value::Bytes(text) => match json::parse(&text) {
            Ok(j) => j,
            Err(e) => return Err(json::refused_argument(e, 1, "cast_as_json")),
        },
        other => json::scalar(&other).into_owned(),
    }))
}

/// What the other branches of CASE and the like become: a text is a string.
pub(super) fn conform(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Json(_) => value,
        other => Value::Json(json::scalar(&other).into_owned()),
    }
}

pub(super) fn sort_key(value: &Value<'_>, out: &mut Vec<u8>) {
    json::sort_key(json::scalar(value).root(), out);
}

/// What error 3156 calls a type.
fn target(ty: &SqlType) -> &'static str {
    match ty.base {
        BaseType::Float | BaseType::Double => "DOUBLE",
        BaseType::Decimal => "DECIMAL",
        BaseType::Date => "DATE",
        BaseType::Time => "TIME",
        BaseType::DateTime | BaseType::Timestamp => "DATETIME",
        _ => "INTEGER",
    }
}

fn category(ty: &SqlType) -> Category {
    ty.family().category()
}

/// A document assigned to a column of another type: its text, or the scalar that it is. Error 3156.
pub(super) fn assigned_elsewhere(
    document: Json<'_>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'static>> {
    document.to_sql(category(column.ty)).or_else(|_| {
        let m = format!(
            "Invalid JSON value for CAST to {} from column {} at row {}",
            target(column.ty),
            column.name,
            cx.row
        );
        cx.raise(3156, m)?;
        Ok(super::implicit_zero(column.ty))
    })
}

/// The same of a document that is cast: NULL for what is no date, else 0, with a complaint.
pub(super) fn cast_elsewhere(
    document: Json<'_>,
    ty: &SqlType,
    session: &ConversionEnv,
) -> SqlResult<Value<'static>> {
    document.to_sql(category(ty)).or_else(|_| {
        let m = format!(
            "Invalid JSON value for CAST to {} from column cast_as_{} at row 1",
            target(ty),
            target(ty).to_lowercase()
        );
        session.complain(3156, m)?;
        Ok(match category(ty) {
            Category::Temporal => Value::Null,
            _ => Value::Int(0),
        })
    })
}
