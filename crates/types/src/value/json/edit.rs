//! Documents changed at a path that selects one value: the arrays and objects along the path are written anew, all else is copied
//! as bytes.

use std::borrow::Cow;

use super::binary::{Array, Object, order_keys, put_array, put_object};
use super::path::Place;
use super::{Json, Leg, Ref, View};

/// What is done at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A value that is not there yet is added: JSON_INSERT().
    Insert,
    /// A value that is there is replaced: JSON_REPLACE().
    Replace,
    /// Either: JSON_SET().
    Set,
}

type Edited = Option<Vec<u8>>;

fn owned(bytes: Vec<u8>) -> Json<'static> {
    Json(Cow::Owned(bytes))
}

fn array(values: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    put_array(values.iter().copied(), &mut out);
    out
}

fn values<'a>(a: Array<'a>) -> Vec<&'a [u8]> {
    a.iter().map(Ref::as_bytes).collect()
}

/// An object with a member more, or with another value of one.
fn with_member(o: Object<'_>, key: &str, value: &[u8]) -> Vec<u8> {
    let mut members: Vec<(&str, &[u8])> = o.iter().map(|(k, v)| (k, v.as_bytes())).collect();
    match members.binary_search_by(|m| order_keys(m.0, key)) {
        Ok(at) => members[at].1 = value,
        Err(at) => members.insert(at, (key, value)),
    }
    let mut out = Vec::new();
    put_object(members.iter().copied(), &mut out);
    out
}

fn without_member(o: Object<'_>, key: &str) -> Vec<u8> {
    let members = o.iter().filter(|(k, _)| *k != key);
    let members: Vec<(&str, &[u8])> = members.map(|(k, v)| (k, v.as_bytes())).collect();
    let mut out = Vec::new();
    put_object(members.iter().copied(), &mut out);
    out
}

fn with_cell(a: Array<'_>, n: usize, value: &[u8]) -> Vec<u8> {
    let mut all = values(a);
    all[n] = value;
    array(&all)
}

/// `v` with what `f` makes of the value that the legs lead to; `None` if they lead nowhere or `f` changes nothing.
fn at(v: Ref<'_>, legs: &[Leg], f: &mut dyn FnMut(Ref<'_>) -> Edited) -> Edited {
    let Some((leg, rest)) = legs.split_first() else {
        return f(v);
    };
    match (leg, v.view()) {
        (Leg::Member(key), View::Object(o)) => {
            let new = at(o.get(key)?, rest, f)?;
            Some(with_member(o, key, &new))
        }
        (Leg::Cell(cell), View::Array(a)) => match cell.place(a.len()) {
            Place::At(n) => {
                let new = at(a.get(n)?, rest, f)?;
                Some(with_cell(a, n, &new))
            }
            _ => None,
        },
        (Leg::Cell(cell), _) if cell.place(1) == Place::At(0) => at(v, rest, f),
        _ => None,
    }
}

/// The document with a value set at a path; `None` if that changes nothing.
pub fn set(root: Ref<'_>, legs: &[Leg], value: Ref<'_>, change: Change) -> Option<Json<'static>> {
    let new = || value.as_bytes().to_vec();
    let Some((last, before)) = legs.split_last() else {
        return (change != Change::Insert).then(|| owned(new()));
    };
    let mut change_at = |v: Ref<'_>| match (has(v, last), change) {
        (true, Change::Insert) | (false, Change::Replace) => None,
        (true, _) => at(v, std::slice::from_ref(last), &mut |_| Some(new())),
        (false, _) => add(v, last, value),
    };
    at(root, before, &mut change_at).map(owned)
}

/// Whether a leg leads somewhere.
fn has(v: Ref<'_>, leg: &Leg) -> bool {
    match (leg, v.view()) {
        (Leg::Member(key), View::Object(o)) => o.get(key).is_some(),
        (Leg::Cell(cell), View::Array(a)) => matches!(cell.place(a.len()), Place::At(_)),
        (Leg::Cell(cell), _) => cell.place(1) == Place::At(0),
        _ => false,
    }
}

/// A value with one more that is not there yet.
fn add(v: Ref<'_>, leg: &Leg, value: Ref<'_>) -> Edited {
    match (leg, v.view()) {
        (Leg::Member(key), View::Object(o)) => Some(with_member(o, key, value.as_bytes())),
        (Leg::Cell(cell), view) => {
            let mut all = match view {
                View::Array(a) => values(a),
                _ => vec![v.as_bytes()],
            };
            match cell.place(all.len()) {
                Place::Before => all.insert(0, value.as_bytes()),
                Place::At(_) | Place::Behind => all.push(value.as_bytes()),
            }
            Some(array(&all))
        }
        _ => None,
    }
}

/// The document with a value at the end of the array at a path; `None` if there is nothing. What is no array becomes one.
pub fn array_append(root: Ref<'_>, legs: &[Leg], value: Ref<'_>) -> Option<Json<'static>> {
    let mut append = |v: Ref<'_>| {
        let mut all = match v.view() {
            View::Array(a) => values(a),
            _ => vec![v.as_bytes()],
        };
        all.push(value.as_bytes());
        Some(array(&all))
    };
    at(root, legs, &mut append).map(owned)
}

/// The document with a value put before the cell at a path, or at the end of the array; `None` if there is no array. The path ends
/// with a cell.
pub fn array_insert(root: Ref<'_>, legs: &[Leg], value: Ref<'_>) -> Option<Json<'static>> {
    let Some((Leg::Cell(cell), before)) = legs.split_last() else {
        return None;
    };
    let mut insert = |v: Ref<'_>| {
        let View::Array(a) = v.view() else {
            return None;
        };
        let mut all = values(a);
        let at = match cell.place(all.len()) {
            Place::At(n) => n,
            Place::Before => 0,
            Place::Behind => all.len(),
        };
        all.insert(at, value.as_bytes());
        Some(array(&all))
    };
    at(root, before, &mut insert).map(owned)
}

/// What is left of a value.
enum Left {
    Nothing,
    Value(Vec<u8>),
}

/// The document without the value at a path: `None` if there is none there, `Some(None)` if nothing would be left.
pub fn remove(root: Ref<'_>, legs: &[Leg]) -> Option<Option<Json<'static>>> {
    Some(match removed(root, legs)? {
        Left::Nothing => None,
        Left::Value(bytes) => Some(owned(bytes)),
    })
}

fn removed(v: Ref<'_>, legs: &[Leg]) -> Option<Left> {
    let Some((leg, rest)) = legs.split_first() else {
        return Some(Left::Nothing);
    };
    Some(match (leg, v.view()) {
        (Leg::Member(key), View::Object(o)) => Left::Value(match removed(o.get(key)?, rest)? {
            Left::Nothing => without_member(o, key),
            Left::Value(new) => with_member(o, key, &new),
        }),
        (Leg::Cell(cell), View::Array(a)) => {
            let Place::At(n) = cell.place(a.len()) else {
                return None;
            };
            Left::Value(match removed(a.get(n)?, rest)? {
                Left::Nothing => {
                    let mut all = values(a);
                    all.remove(n);
                    array(&all)
                }
                Left::Value(new) => with_cell(a, n, &new),
            })
        }
        (Leg::Cell(cell), _) if cell.place(1) == Place::At(0) => removed(v, rest)?,
        _ => return None,
    })
}
