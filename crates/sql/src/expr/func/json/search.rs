//! Whether and where a document has something.

use std::collections::HashSet;

use super::super::{Call, Computed, Exit};
use super::result;
use crate::expr::like_matches;
use crate::types::Collation;
use crate::value::Value;
use crate::value::json::{self, Cell, Json, Leg, Ref, View, array_of, compare, write_leg};

pub(super) fn contains<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (target, candidate) = (c.document(0)?, c.document(1)?);
    let within = if c.len() == 3 {
        let found = c.single_path(2)?.select(target.root());
        *found.first().ok_or(Exit::Null)?
    } else {
        target.root()
    };
    Ok(Value::bool(json::contains(within, candidate.root())))
}

pub(super) fn contains_path<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let doc = c.document(0)?;
    let one = c.says_one(1)?;
    let mut holds = !one;
    for i in 2..c.len() {
        let there = !c.path(i)?.select(doc.root()).is_empty();
        // Paths that are NULL or wrong are told of, wherever they are.
        holds = if one { holds | there } else { holds & there };
    }
    Ok(Value::bool(holds))
}

pub(super) fn overlaps<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (a, b) = (c.document(0)?, c.document(1)?);
    Ok(Value::bool(json::overlaps(a.root(), b.root())))
}

/// `value MEMBER OF (array)`: what is no array stands for that of itself alone.
pub(super) fn member_of<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    if c.value(0)?.is_null() {
        return Err(Exit::Null);
    }
    let (wanted, list) = (c.part(0)?, c.document(1)?);
    let equal = |v: Ref<'_>| compare(v, wanted.root()).is_eq();
    Ok(Value::bool(match list.view() {
        View::Array(a) => a.iter().any(equal),
        _ => equal(list.root()),
    }))
}

/// JSON_SEARCH(document, 'one' | 'all', pattern[, escape[, path ...]]): where strings match.
pub(super) fn search<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let doc = c.document(0)?;
    let one = c.says_one(1)?;
    let pattern = c.text(2)?;
    let escape = match c.len() {
        3 => Some('\\'),
        _ => match c.args[3].text(c.cx)? {
            None => Some('\\'),
            Some(text) => {
                let text = String::from_utf8_lossy(&text).into_owned();
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (None, _) => Some('\\'),
                    (only, None) => only,
                    _ => {
                        let m = "Incorrect arguments to ESCAPE";
                        return Err(crate::error::SqlError::new(1210, m).into());
                    }
                }
            }
        },
    };
    let mut within = None;
    for i in 4..c.len() {
        let found = c.path(i)?.select(doc.root());
        let found = found.iter().map(|v| v.as_bytes().as_ptr());
        within.get_or_insert_with(HashSet::new).extend(found);
    }
    let mut search = Search {
        matches: &|s| like_matches(s.as_bytes(), &pattern, escape, Collation::Utf8mb4Bin),
        one,
        within,
        legs: Vec::new(),
        found: Vec::new(),
    };
    let everywhere = search.within.is_none();
    search.visit(doc.root(), everywhere);
    match &*search.found {
        [] => Err(Exit::Null),
        [only] => Ok(Value::Json(only.clone())),
        several => result(array_of(several)),
    }
}

struct Search<'s> {
    matches: &'s dyn Fn(&str) -> bool,
    one: bool,
    /// Where the values are that paths select; `None`: everywhere.
    within: Option<HashSet<*const u8>>,
    legs: Vec<Leg>,
    found: Vec<Json<'static>>,
}

impl Search<'_> {
    fn visit(&mut self, v: Ref<'_>, inside: bool) {
        let here = |w: &HashSet<*const u8>| w.contains(&v.as_bytes().as_ptr());
        let inside = inside || self.within.as_ref().is_some_and(here);
        match v.view() {
            View::String(s) if inside && (self.matches)(s) => {
                let mut path = b"$".to_vec();
                self.legs.iter().for_each(|leg| write_leg(leg, &mut path));
                let path = String::from_utf8_lossy(&path);
                self.found.push(View::String(&path).to_json());
            }
            View::Array(a) => {
                for (n, v) in a.iter().enumerate() {
                    self.step(
                        Leg::Cell(Cell {
                            n,
                            from_last: false,
                        }),
                        v,
                        inside,
                    );
                }
            }
            View::Object(o) => {
                for (key, v) in o.iter() {
                    self.step(Leg::Member(key.to_string()), v, inside);
                }
            }
            _ => {}
        }
    }
    fn step(&mut self, leg: Leg, v: Ref<'_>, inside: bool) {
        if self.one && !self.found.is_empty() {
            return;
        }
        self.legs.push(leg);
        self.visit(v, inside);
        self.legs.pop();
    }
}
