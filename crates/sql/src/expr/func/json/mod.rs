//! JSON: documents read, asked, changed and made. What documents are and what paths select is [`crate::value::json`]'s; here are
//! the arguments: which may be texts, what a text is (a document or a string), and MySQL's errors about them.

mod change;
mod read;
mod schema;
mod search;
mod value;

pub(in crate::expr) use change::check_pairs;
pub(crate) use schema::refusal;
pub(in crate::expr) use value::on;

use std::borrow::Cow;

use super::{ANY, Call, Computed, Exit, Function, Null, Typing, row};
use crate::error::SqlError;
use crate::expr::{EvalContext, Expr, ExprKind};
use crate::types::{BaseType, Collation, SqlType};
use crate::value::Value;
use crate::value::json::{self, Json, Path, View};

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("JSON_EXTRACT", 2..=ANY, document, read::extract).null(Null::Maybe).takes_json(),
    row("JSON_UNQUOTE", 1..=1, text, read::unquote).null(Null::Maybe).takes_json(),
    row("JSON_TYPE", 1..=1, type_name, read::type_of).takes_json(),
    row("JSON_VALID", 1..=1, super::typing::int::<1>, read::valid).takes_json(),
    row("JSON_DEPTH", 1..=1, super::typing::int::<10>, read::depth).takes_json(),
    row("JSON_LENGTH", 1..=2, super::typing::bigint, read::length).null(Null::Maybe).takes_json(),
    row("JSON_KEYS", 1..=2, document, read::keys).null(Null::Maybe).takes_json(),
    row("JSON_PRETTY", 1..=1, text, read::pretty).takes_json(),
    row("JSON_STORAGE_SIZE", 1..=1, super::typing::int::<10>, read::storage_size).takes_json(),
    row("JSON_STORAGE_FREE", 1..=1, super::typing::int::<10>, read::storage_free).takes_json(),
    row("JSON_CONTAINS", 2..=3, super::typing::int::<1>, search::contains).null(Null::Maybe).takes_json(),
    row("JSON_CONTAINS_PATH", 3..=ANY, super::typing::int::<1>, search::contains_path).null(Null::Maybe).takes_json(),
    row("JSON_OVERLAPS", 2..=2, super::typing::int::<1>, search::overlaps).takes_json(),
    row("JSON_SCHEMA_VALID", 2..=2, super::typing::int::<1>, schema::valid).takes_json(),
    row("JSON_SCHEMA_VALIDATION_REPORT", 2..=2, document, schema::report).takes_json(),
    row("MEMBER OF", 2..=2, super::typing::int::<1>, search::member_of).not_by_name().takes_json(),
    row("JSON_SEARCH", 3..=ANY, document, search::search).null(Null::Maybe).takes_json(),
    row("JSON_QUOTE", 1..=1, text, change::quote).takes_json(),
    row("JSON_ARRAY", 0..=ANY, document, change::array).null(Null::Never).takes_json(),
    row("JSON_OBJECT", 0..=ANY, document, change::object).null(Null::Never).takes_json(),
    row("JSON_SET", 3..=ANY, document, |c| change::set(c, json::Change::Set)).null(Null::Maybe).takes_json(),
    row("JSON_INSERT", 3..=ANY, document, |c| change::set(c, json::Change::Insert)).null(Null::Maybe).takes_json(),
    row("JSON_REPLACE", 3..=ANY, document, |c| change::set(c, json::Change::Replace)).null(Null::Maybe).takes_json(),
    row("JSON_REMOVE", 2..=ANY, document, change::remove).null(Null::Maybe).takes_json(),
    row("JSON_ARRAY_APPEND", 3..=ANY, document, change::array_append).null(Null::Maybe).takes_json(),
    row("JSON_ARRAY_INSERT", 3..=ANY, document, change::array_insert).null(Null::Maybe).takes_json(),
    row("JSON_MERGE_PRESERVE", 2..=ANY, document, change::merge_preserve).null(Null::Maybe).takes_json(),
    row("JSON_MERGE", 2..=ANY, document, change::merge).null(Null::Maybe).takes_json(),
    row("JSON_MERGE_PATCH", 2..=ANY, document, change::merge_patch).null(Null::Maybe).takes_json(),
    row("JSON_VALUE", 6..=6, document, value::value).not_by_name().null(Null::Maybe).takes_json(),
    row("CAST BINARY AS JSON", 1..=1, document, binary).not_by_name().takes_json(),
    row("CAST BOOLEAN AS JSON", 1..=1, document, boolean).not_by_name().takes_json(),
];

fn document(_: &Typing<'_>) -> SqlType {
    SqlType::json()
}

/// What JSON is as a text: case counts in comparisons.
pub(in crate::expr) fn json_text() -> SqlType {
    SqlType {
        collation: Collation::Utf8mb4Bin,
        ..SqlType::new(BaseType::LongText)
    }
}

fn text(_: &Typing<'_>) -> SqlType {
    json_text()
}

fn type_name(_: &Typing<'_>) -> SqlType {
    SqlType::varchar(17, Collation::Utf8mb4Bin)
}

/// A document as a result.
fn result<'a>(j: Json<'_>) -> Computed<'a> {
    Ok(Value::Json(j.checked()?.into_owned()))
}

fn is_bytes(e: &Expr) -> bool {
    e.ty.is_string() && e.ty.collation == Collation::Binary
}

/// Error 3144.
fn bytes_refused() -> SqlError {
    SqlError::new(
        3144,
        "Cannot create a JSON value from a string with CHARACTER SET 'binary'.",
    )
}

/// What becomes of bytes that are assigned to a column of documents. Error 3144.
fn binary<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    c.value(0)?;
    Err(bytes_refused().into())
}

/// TRUE or FALSE, of what is a truth value in SQL.
fn boolean<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let truth = c.args[0].truth(c.cx)?.ok_or(Exit::Null)?;
    Ok(Value::Json(View::Bool(truth).to_json()))
}

impl<'a> Call<'_, 'a> {
    /// An argument that is a document or the text of one. Errors 3141, 3144, 3146.
    fn document(&self, i: usize) -> Result<Json<'a>, Exit> {
        let value = self.value(i)?;
        Ok(argument(value, &self.args[i].ty, i + 1, &|| self.name())?)
    }
    /// An argument as a part of a document: a text is a string, NULL is null.
    fn part(&self, i: usize) -> Result<Json<'a>, Exit> {
        Ok(part(&self.args[i], self.cx)?)
    }
    /// A path. Error 3143.
    fn path(&self, i: usize) -> Result<Path, Exit> {
        let text = self.text(i)?;
        path_of(&text).map_err(Exit::Error)
    }
    /// A path that selects one value at most. Error 3149.
    fn single_path(&self, i: usize) -> Result<Path, Exit> {
        let path = self.path(i)?;
        if path.selects_many() {
            let m = "In this situation, path expressions may not contain the * and ** tokens or an array range.";
            return Err(SqlError::new(3149, m).into());
        }
        Ok(path)
    }
    /// Whether an argument says `one` rather than `all`. Error 3154.
    fn says_one(&self, i: usize) -> Result<bool, Exit> {
        let word = self.text(i)?;
        if word.eq_ignore_ascii_case(b"one") {
            return Ok(true);
        }
        if word.eq_ignore_ascii_case(b"all") {
            return Ok(false);
        }
        let m = format!(
            "The oneOrAll argument to {} may take these values: 'one' or 'all'.",
            self.name()
        );
        Err(SqlError::new(3154, m).into())
    }
}

/// The document that the n-th argument of a function is, from 1, or is the text of. Errors 3141, 3144, 3146.
pub(crate) fn argument<'a>(
    value: Value<'a>,
    ty: &SqlType,
    n: usize,
    function: &dyn Fn() -> String,
) -> Result<Json<'a>, SqlError> {
    match value {
        Value::Json(j) => Ok(j),
        Value::Bytes(_) if ty.is_string() && ty.collation == Collation::Binary => {
            Err(bytes_refused())
        }
        Value::Bytes(b) => json::parse(&b).map_err(|e| json::refused_argument(e, n, &function())),
        _ => {
            let m = format!(
                "Invalid data type for JSON data in argument {n} to function {}; \
                 a JSON string or JSON type is required.",
                function()
            );
            Err(SqlError::new(3146, m))
        }
    }
}

/// What a text is as a path. Error 3143.
pub(crate) fn path_of(text: &[u8]) -> Result<Path, SqlError> {
    let text = String::from_utf8_lossy(text);
    Path::parse(&text).map_err(|e| {
        let m = format!(
            "Invalid JSON path expression. The error is around character position {}.",
            e.0
        );
        SqlError::new(3143, m)
    })
}

/// A value as a part of a document: a text is a string, NULL is null.
pub(in crate::expr) fn part<'a>(e: &'a Expr, cx: &EvalContext<'a>) -> Result<Json<'a>, SqlError> {
    let column = matches!(e.kind, ExprKind::Column { .. });
    match e.shown(cx)? {
        Value::Null => Ok(View::Null.to_json()),
        v => json::from_value(v, &e.ty, json::opaque_type(&e.ty, column)),
    }
}

/// CAST(... AS JSON) of what an expression gives: a text is read, bytes are opaque.
pub(in crate::expr) fn cast<'a>(e: &'a Expr, cx: &EvalContext<'a>) -> Result<Value<'a>, SqlError> {
    let v = match e.shown(cx)? {
        Value::Bytes(text) if !is_bytes(e) => {
            let parsed = json::parse(&text);
            parsed.map_err(|e| json::refused_argument(e, 1, "cast_as_json"))?
        }
        Value::Null => return Ok(Value::Null),
        v => {
            let column = matches!(e.kind, ExprKind::Column { .. });
            json::from_value(v, &e.ty, json::opaque_type(&e.ty, column))?
        }
    };
    Ok(Value::Json(v))
}

/// A text as a result.
fn bytes<'a>(out: Vec<u8>) -> Computed<'a> {
    Ok(Value::Bytes(Cow::Owned(out)))
}
