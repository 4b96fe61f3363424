//! What is in a document.

use super::super::{Call, Computed, Exit};
use super::{bytes, is_bytes, result};
use crate::value::Value;
use crate::value::json::{self, Json, View, array_of};

/// JSON_EXTRACT, `->`: one path that may select one value gives that, others an array.
pub(super) fn extract<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let doc = c.document(0)?;
    let mut found = Vec::new();
    let mut many = c.len() > 2;
    for i in 1..c.len() {
        let path = c.path(i)?;
        many |= path.selects_many();
        found.extend(path.select(doc.root()).into_iter().map(|v| v.json()));
    }
    match (&*found, many) {
        ([], _) => Err(Exit::Null),
        ([one], false) => Ok(Value::Json(one.clone().into_owned())),
        _ => result(array_of(&found)),
    }
}

/// JSON_UNQUOTE, `->>`.
pub(super) fn unquote<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let text = match c.value(0)? {
        Value::Json(j) => {
            let mut out = Vec::new();
            j.root().write_unquoted(&mut out);
            return bytes(out);
        }
        Value::Bytes(text) => text,
        other => return bytes(other.to_text().into_owned()),
    };
    if text.len() < 2 || text.first() != Some(&b'"') || text.last() != Some(&b'"') {
        return Ok(Value::Bytes(text));
    }
    match json::parse(&text) {
        Ok(j) => {
            let mut out = Vec::new();
            j.root().write_unquoted(&mut out);
            bytes(out)
        }
        Err(e) => Err(json::refused_argument(e, 1, &c.name()).into()),
    }
}

pub(super) fn type_of<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::str(c.document(0)?.view().type_name()))
}

pub(super) fn valid<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::bool(match c.value(0)? {
        Value::Json(_) => true,
        Value::Bytes(text) => !is_bytes(&c.args[0]) && json::parse(&text).is_ok(),
        _ => false,
    }))
}

pub(super) fn depth<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::Int(c.document(0)?.depth() as i64))
}

/// A document, or the value at the path that is the second argument.
fn within<'a>(c: &Call<'_, 'a>) -> Result<Json<'a>, Exit> {
    let doc = c.document(0)?;
    if c.len() == 1 {
        return Ok(doc);
    }
    let found = c.single_path(1)?.select(doc.root());
    let found = found.first().ok_or(Exit::Null)?;
    Ok(found.json().into_owned())
}

pub(super) fn length<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    if c.len() == 2 {
        let path = c.path(1)?;
        // Of a path that may select several, how many it does.
        if path.selects_many() {
            let doc = c.document(0)?;
            return match path.select(doc.root()).len() {
                0 => Err(Exit::Null),
                n => Ok(Value::Int(n as i64)),
            };
        }
    }
    Ok(Value::Int(match within(c)?.view() {
        View::Array(a) => a.len() as i64,
        View::Object(o) => o.len() as i64,
        _ => 1,
    }))
}

pub(super) fn keys<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let doc = within(c)?;
    let View::Object(o) = doc.view() else {
        return Err(Exit::Null);
    };
    let keys: Vec<Json<'_>> = o
        .iter()
        .map(|(key, _)| View::String(key).to_json())
        .collect();
    result(array_of(&keys))
}

pub(super) fn pretty<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let mut out = Vec::new();
    c.document(0)?.root().write_pretty(&mut out);
    bytes(out)
}

/// Bytes of the binary form.
pub(super) fn storage_size<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::Int(c.document(0)?.as_bytes().len() as i64))
}

/// Documents are written anew when they change, so none has room to spare.
pub(super) fn storage_free<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    c.document(0)?;
    Ok(Value::Int(0))
}
