//! Documents made and changed.

use super::super::{Call, Computed, Exit, wrong_arity};
use super::{bytes, is_bytes, result};
use crate::error::SqlError;
use crate::value::Value;
use crate::value::json::{self, Change, Json, Leg, View, array_of, object_of};

pub(super) fn quote<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    match c.value(0)? {
        Value::Bytes(text) if !is_bytes(&c.args[0]) => {
            let mut out = Vec::with_capacity(text.len() + 2);
            json::write_quoted(&String::from_utf8_lossy(&text), &mut out);
            bytes(out)
        }
        _ => {
            let m = format!("Incorrect type for argument 1 in function {}.", c.name());
            Err(SqlError::new(3064, m).into())
        }
    }
}

pub(super) fn array<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let values = (0..c.len()).map(|i| c.part(i));
    result(array_of(&values.collect::<Result<Vec<_>, _>>()?))
}

/// Keys and values in turn. Errors 1582, 3158.
pub(super) fn object<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let mut members = Vec::with_capacity(c.len() / 2);
    for i in (0..c.len()).step_by(2) {
        let Some(key) = c.args[i].text(c.cx)? else {
            return Err(json::null_key().into());
        };
        if is_bytes(&c.args[i]) {
            return Err(super::bytes_refused().into());
        }
        members.push((String::from_utf8_lossy(&key).into_owned(), c.part(i + 1)?));
    }
    result(object_of(&members))
}

/// The pairs of paths and values behind a document: their number is checked where calls are bound.
fn pairs(c: &Call<'_, '_>) -> impl Iterator<Item = usize> + use<> {
    (1..c.len()).step_by(2)
}

pub(super) fn set<'a>(c: &Call<'_, 'a>, change: Change) -> Computed<'a> {
    let mut doc = c.document(0)?;
    for i in pairs(c) {
        let path = c.single_path(i)?;
        let value = c.part(i + 1)?;
        if let Some(new) = json::set(doc.root(), &path.legs, value.root(), change) {
            doc = new;
        }
    }
    result(doc)
}

pub(super) fn array_append<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let mut doc = c.document(0)?;
    for i in pairs(c) {
        let path = c.single_path(i)?;
        let value = c.part(i + 1)?;
        if let Some(new) = json::array_append(doc.root(), &path.legs, value.root()) {
            doc = new;
        }
    }
    result(doc)
}

pub(super) fn array_insert<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let mut doc = c.document(0)?;
    for i in pairs(c) {
        let path = c.single_path(i)?;
        if !matches!(path.legs.last(), Some(Leg::Cell(_))) {
            let m = "A path expression is not a path to a cell in an array.";
            return Err(SqlError::new(3165, m).into());
        }
        let value = c.part(i + 1)?;
        if let Some(new) = json::array_insert(doc.root(), &path.legs, value.root()) {
            doc = new;
        }
    }
    result(doc)
}

pub(super) fn remove<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let vacuous = || {
        let m = "The path expression '$' is not allowed in this context.";
        Exit::Error(SqlError::new(3153, m))
    };
    let mut doc = c.document(0)?;
    for i in 1..c.len() {
        let path = c.single_path(i)?;
        if path.legs.is_empty() {
            return Err(vacuous());
        }
        match json::remove(doc.root(), &path.legs) {
            None => {}
            Some(Some(new)) => doc = new,
            Some(None) => return Err(vacuous()),
        }
    }
    result(doc)
}

pub(super) fn merge_preserve<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let mut doc = c.document(0)?;
    for i in 1..c.len() {
        doc = json::merge_preserve(doc.root(), c.document(i)?.root());
    }
    result(doc)
}

/// JSON_MERGE_PRESERVE() by its old name, of which a statement is warned once.
pub(super) fn merge<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    const DEPRECATED: u16 = 1287;
    let session = c.cx.session;
    let said = session.diagnostics.borrow();
    let warned = said.iter().any(|d| d.code == DEPRECATED);
    drop(said);
    if !warned {
        session.warn(
            DEPRECATED,
            "'JSON_MERGE' is deprecated and will be removed in a future release. \
             Please use JSON_MERGE_PRESERVE/JSON_MERGE_PATCH instead",
        );
    }
    merge_preserve(c)
}

/// NULL is an unknown object: what is none replaces it, an object leaves it unknown.
pub(super) fn merge_patch<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let mut doc: Option<Json<'a>> = None;
    for i in 0..c.len() {
        doc = match c.document(i) {
            Err(Exit::Null) => None,
            Err(e) => return Err(e),
            Ok(patch) if i == 0 => Some(patch),
            Ok(patch) => match (&doc, patch.view()) {
                (Some(doc), _) => Some(json::merge_patch(doc.root(), patch.root()).into_owned()),
                (None, View::Object(_)) => None,
                (None, _) => Some(patch),
            },
        };
    }
    result(doc.ok_or(Exit::Null)?)
}

/// Error 1582 for calls whose keys or paths are not all followed by a value.
pub(in crate::expr) fn check_pairs(name: &str, count: usize) -> Result<(), SqlError> {
    let odd = match name {
        "JSON_OBJECT" => false,
        "JSON_SET" | "JSON_INSERT" | "JSON_REPLACE" | "JSON_ARRAY_APPEND" | "JSON_ARRAY_INSERT" => {
            true
        }
        _ => return Ok(()),
    };
    if (count % 2 == 1) == odd {
        return Ok(());
    }
    Err(wrong_arity(name))
}
