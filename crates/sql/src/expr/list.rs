//! `value [NOT] IN (list)`.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};

use super::operators::compare;
use super::{EvalContext, Expr, ExprKind, kinds};
use crate::env::lists::Sorted;
use crate::error::SqlResult;
use crate::types::Collation;
use crate::value::{Value, member_number};

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
    /// What a list with parameters is called in [`crate::env::lists::Lists`], if it may be sorted when it runs.
    name: Option<u64>,
}

/// Lists with parameters, which are sorted anew for each execution, are looked through one by one if they are shorter than this.
const SORT_NOW_FROM: usize = 16;

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
        let lasts = |e: &Expr| e.is_given() || matches!(e.kind, ExprKind::Literal(_));
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
        cx.session.lists.sorted(name, params, self.collation, || {
            let values = self.list.iter().map(|e| Ok(e.shown(cx)?.into_owned()));
            values.collect()
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
            if self.list.len() > 1
                && let Value::Bytes(text) = &item
                && let Some(read) = kinds::listed(&v, text, self, cx)?
            {
                match v.compare(&read, self.collation) {
                    Some(Ordering::Equal) => return Ok(self.answer(true, false)),
                    _ => continue,
                }
            }
            // An ENUM is its position beside a number.
            let index = match &v {
                Value::Bytes(b) if item.is_number() => member_number(b, &self.value.ty),
                _ => None,
            };
            let by = [Some(&self.value), Some(e)];
            match compare(index.as_ref().unwrap_or(&v), &item, self.collation, by, cx)? {
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
    use crate::env::tests::env;
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
        let sorted = || session.lists.are_sorted()[0];
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
            assert_eq!(session.lists.are_sorted(), [false]);
        }
        session.lists.clear();
        assert!(session.lists.are_sorted().is_empty());
    }
}
