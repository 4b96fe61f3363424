//! Lists of IN that have parameters: what the running statement has found out about them.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::Arc;

use crate::error::SqlResult;
use crate::types::Collation;
use crate::value::Value;

/// Lists shorter than this are looked through one by one.
const SORT_FROM: usize = 5;

/// A list in order: all integers or all strings, NULLs aside.
#[derive(Clone, Debug)]
pub(crate) struct Sorted {
    values: Vec<Value<'static>>,
    /// Whether one more is NULL.
    pub null: bool,
}

impl Sorted {
    /// Puts constants in order; `None` if that does not pay or they have none in common.
    pub fn new(list: Vec<Value<'static>>, collation: Collation) -> Option<Sorted> {
        let all = list.len();
        let mut values: Vec<_> = list.into_iter().filter(|v| !v.is_null()).collect();
        let null = values.len() < all;
        let alike = values.iter().all(is_integer) || values.iter().all(is_text);
        if values.len() < SORT_FROM || !alike {
            return None;
        }
        values.sort_by(|a, b| a.compare(b, collation).unwrap_or(Ordering::Equal));
        Some(Sorted { values, null })
    }

    /// Whether a value is there. The order tells of values of the list's own kind only.
    pub fn has(&self, v: &Value<'_>, collation: Collation) -> Option<bool> {
        let like = |kind: fn(&Value<'_>) -> bool| kind(v) && kind(&self.values[0]);
        (like(is_integer) || like(is_text)).then(|| {
            self.values
                .binary_search_by(|c| c.compare(v, collation).unwrap_or(Ordering::Equal))
                .is_ok()
        })
    }
}

fn is_integer(v: &Value<'_>) -> bool {
    matches!(v, Value::Int(_) | Value::UInt(_))
}

fn is_text(v: &Value<'_>) -> bool {
    matches!(v, Value::Bytes(_))
}

/// Lists with parameters, sorted for the statement that is running.
#[derive(Default)]
pub struct Lists(RefCell<Vec<Entry>>);

struct Entry {
    name: u64,
    /// Where the parameters are: an INSERT runs with one set after the other.
    params: usize,
    list: Now,
}

enum Now {
    /// It was looked through once; sorting it costs more than that.
    Seen,
    Sorted(Arc<Sorted>),
    /// Its values have no order in common.
    Mixed,
}

impl Lists {
    /// Forgets all: an execution is over.
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// The list of this name in order, from the second time that it is asked for with the parameters at this address; `values` has
    /// them now.
    pub(crate) fn sorted(
        &self,
        name: u64,
        params: usize,
        collation: Collation,
        values: impl FnOnce() -> SqlResult<Vec<Value<'static>>>,
    ) -> SqlResult<Option<Arc<Sorted>>> {
        let mut lists = self.0.borrow_mut();
        let Some(known) = lists.iter_mut().find(|e| e.name == name) else {
            lists.push(Entry {
                name,
                params,
                list: Now::Seen,
            });
            return Ok(None);
        };
        if known.params != params {
            (known.params, known.list) = (params, Now::Seen);
            return Ok(None);
        }
        if let Now::Seen = known.list {
            let sorted = Sorted::new(values()?, collation);
            known.list = sorted.map_or(Now::Mixed, |s| Now::Sorted(Arc::new(s)));
        }
        Ok(match &known.list {
            Now::Sorted(s) => Some(s.clone()),
            _ => None,
        })
    }

    /// Whether each list is kept, and kept in order.
    #[cfg(test)]
    pub(crate) fn are_sorted(&self) -> Vec<bool> {
        let lists = self.0.borrow();
        lists
            .iter()
            .map(|e| matches!(e.list, Now::Sorted(_)))
            .collect()
    }
}
