//! MATCH ... AGAINST: what a row's texts are to a search.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use super::typing::double;
use super::{ANY, Call, Computed, Function, Null, row};
use crate::error::SqlResult;
use crate::fulltext::Query;
use crate::value::Value;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("MATCH AGAINST", 2..=ANY, double, rank).not_by_name().null(Null::Never),
];

thread_local! {
    /// The search that was asked for last, with its bytes: it is the same for all rows of a statement.
    static LAST: RefCell<Option<(Vec<u8>, Rc<Query>)>> = const { RefCell::new(None) };
}

/// The search that bytes are of.
fn search(bytes: &[u8]) -> SqlResult<Rc<Query>> {
    let known = LAST.with_borrow(|last| {
        let same = last.as_ref().filter(|(of, _)| of == bytes);
        same.map(|(_, query)| query.clone())
    });
    if let Some(query) = known {
        return Ok(query);
    }
    let query = Rc::new(Query::of_bytes(bytes)?);
    LAST.set(Some((bytes.to_vec(), query.clone())));
    Ok(query)
}

/// The first argument is the search, NULL if nothing is looked for; the others are the columns.
fn rank<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let Value::Bytes(bytes) = c.args[0].eval(c.cx)? else {
        return Ok(Value::Double(0.0));
    };
    let query = search(&bytes)?;
    let mut texts: Vec<Cow<'_, [u8]>> = Vec::with_capacity(c.len() - 1);
    for column in &c.args[1..] {
        texts.extend(column.text(c.cx)?);
    }
    let texts: Vec<&[u8]> = texts.iter().map(|t| &**t).collect();
    Ok(Value::Double(f64::from(query.rank_of(&texts))))
}
