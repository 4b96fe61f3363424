//! `value [NOT] IN (list)`.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};

use super::eval::enum_index;
use super::operators::compare;
use super::{EvalContext, Expr, ExprKind};
use crate::error::SqlResult;
use crate::types::{BaseType, Collation};
use crate::value::Value;

/// `value [NOT] IN (list)`.
#[derive(Clone, Debug)]
pub struct InList {
    /// The value looked for.
    pub value: Expr,
    /// The list.
    pub list: Vec<Expr>,
    /// NOT.
    pub negated: bool,
    /// Collation for strings.
    pub collation: Collation,
    /// The list sorted, if it is constants that can be.
    sorted: Option<Sorted>,
    /// What a list with parameters is called in [`Lists`], if it may be sorted when it runs.
    name: Option<u64>,
}

/// Lists shorter than this are looked through one by one.
const SORT_FROM: usize = 5;
/// The same for lists that are sorted anew for each execution.
const SORT_NOW_FROM: usize = 16;

/// A list in order: all integers or all strings, NULLs aside.
#[derive(Clone, Debug)]
struct Sorted {
    values: Vec<Value<'static>>,
    /// Whether one more is NULL.
    null: bool,
}

impl Sorted {
    fn new(list: Vec<Value<'static>>, collation: Collation) -> Option<Sorted> {
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
    fn has(&self, v: &Value<'_>, collation: Collation) -> Option<bool> {
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
}

impl InList {
    /// Prepares a list.
    pub fn new(value: Expr, list: Vec<Expr>, negated: bool, collation: Collation) -> InList {
        static NAMES: AtomicU64 = AtomicU64::new(0);
        let constants: Option<Vec<_>> = list
            .iter()
            .map(|e| match &e.kind {
                ExprKind::Literal(v) => Some(v.clone()),
                _ => None,
            })
            .collect();
        let lasts = |e: &Expr| matches!(e.kind, ExprKind::Literal(_) | ExprKind::Param(_));
        let later = constants.is_none() && list.len() >= SORT_NOW_FROM && list.iter().all(lasts);
        InList {
            value,
            list,
            negated,
            collation,
            sorted: constants.and_then(|list| Sorted::new(list, collation)),
            name: later.then(|| NAMES.fetch_add(1, Atomic::Relaxed)),
        }
    }

    /// The list as its parameters have it now, from the second time it is asked for.
    fn sorted_now(&self, cx: &EvalContext<'_>) -> SqlResult<Option<Arc<Sorted>>> {
        let Some(name) = self.name else {
            return Ok(None);
        };
        let params = cx.params.as_ptr() as usize;
        let mut lists = cx.session.lists.0.borrow_mut();
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
            let values = self.list.iter().map(|e| Ok(e.shown(cx)?.into_owned()));
            let sorted = Sorted::new(values.collect::<SqlResult<_>>()?, self.collation);
            known.list = sorted.map_or(Now::Mixed, |s| Now::Sorted(Arc::new(s)));
        }
        Ok(match &known.list {
            Now::Sorted(s) => Some(s.clone()),
            _ => None,
        })
    }

    /// Whether the value is in the list (NOT applied); `None` for NULL.
    pub(super) fn truth(&self, cx: &EvalContext<'_>) -> SqlResult<Option<bool>> {
        let v = self.value.shown(cx)?;
        if v.is_null() {
            return Ok(None);
        }
        let now = self.sorted_now(cx)?;
        if let Some(sorted) = self.sorted.as_ref().or(now.as_deref())
            && let Some(found) = sorted.has(&v, self.collation)
        {
            return Ok(self.answer(found, sorted.null));
        }
        let mut null = false;
        for e in &self.list {
            let item = e.shown(cx)?;
            // An ENUM is its position beside a number.
            let index = match &v {
                Value::Bytes(b) if item.is_number() && self.value.ty.base == BaseType::Enum => {
                    Some(Value::Int(enum_index(&self.value.ty, b)))
                }
                _ => None,
            };
            match compare(index.as_ref().unwrap_or(&v), &item, self.collation, cx)? {
                Some(Ordering::Equal) => return Ok(self.answer(true, false)),
                Some(_) => {}
                None => null = true,
            }
        }
        Ok(self.answer(false, null))
    }

    fn answer(&self, found: bool, null: bool) -> Option<bool> {
        if !found && null {
            None
        } else {
            Some(found != self.negated)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::env::tests::env;
    use crate::types::SqlType;

    fn int(n: i64) -> Expr {
        Expr::literal(Value::Int(n), SqlType::bigint())
    }

    #[test]
    fn a_list_of_parameters_is_sorted_the_second_time() {
        let session = env();
        let collation = Collation::Utf8mb4GeneralCi;
        let param = |n| Expr::new(ExprKind::Param(n), SqlType::bigint(), true);
        let asked = |n| InList::new(int(n), (0..20).map(param).collect(), false, collation);
        let (mut there, mut missing) = (asked(7), asked(8));
        missing.name = there.name;
        there.negated = true;
        let ask = |list: &InList, params: &[Value<'_>]| {
            let cx = EvalContext {
                rows: &[],
                params,
                session: &session,
            };
            list.truth(&cx).unwrap()
        };
        let odd: Vec<Value<'_>> = (0..20).rev().map(|n| Value::Int(2 * n + 1)).collect();
        let sorted = || matches!(session.lists.0.borrow()[0].list, Now::Sorted(_));
        for time in 0..3 {
            assert_eq!(ask(&there, &odd), Some(false));
            assert_eq!(ask(&missing, &odd), Some(false));
            assert!(sorted(), "time {time}");
        }
        // Another set of parameters.
        let mut some = odd.clone();
        some[3] = Value::Null;
        some[4] = Value::UInt(u64::MAX);
        for _ in 0..3 {
            assert_eq!(ask(&there, &some), Some(false));
            assert_eq!(ask(&missing, &some), None);
            assert!(sorted());
        }
        some[5] = Value::Double(8.0);
        session.lists.clear();
        for _ in 0..3 {
            assert_eq!(ask(&missing, &some), Some(true));
            assert_eq!(ask(&there, &some), Some(false));
            assert!(session.lists.0.borrow().len() == 1 && !sorted());
        }
        session.lists.clear();
        assert!(session.lists.0.borrow().is_empty());
    }
}
