//! `value [NOT] IN (list)`.

use std::cmp::Ordering;

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
    /// The list's constants sorted, if they are all integers or all strings (NULLs aside).
    sorted: Option<Vec<Value<'static>>>,
    /// Whether one of those is NULL.
    has_null: bool,
}

/// Lists shorter than this are looked through one by one.
const SORT_FROM: usize = 5;

impl InList {
    /// Prepares a list.
    pub fn new(value: Expr, list: Vec<Expr>, negated: bool, collation: Collation) -> InList {
        let mut has_null = false;
        let mut constants = Vec::with_capacity(list.len());
        for e in &list {
            match &e.kind {
                ExprKind::Literal(Value::Null) => has_null = true,
                ExprKind::Literal(v) => constants.push(v.clone()),
                _ => {
                    constants.clear();
                    break;
                }
            }
        }
        let ints = constants.iter().all(|v| matches!(v, Value::Int(_)));
        let texts = constants.iter().all(|v| matches!(v, Value::Bytes(_)));
        let sorted = (constants.len() >= SORT_FROM && (ints || texts)).then(|| {
            constants.sort_by(|a, b| a.compare(b, collation).unwrap_or(Ordering::Equal));
            constants
        });
        InList {
            value,
            list,
            negated,
            collation,
            sorted,
            has_null,
        }
    }

    /// Whether the value is in the list (NOT applied); `None` for NULL.
    pub(super) fn truth(&self, cx: &EvalContext<'_>) -> SqlResult<Option<bool>> {
        let v = self.value.shown(cx)?;
        if v.is_null() {
            return Ok(None);
        }
        if let Some(sorted) = &self.sorted {
            // The order holds for values of the constants' own kind only.
            let same = match v {
                Value::Int(_) => matches!(sorted[0], Value::Int(_)),
                Value::Bytes(_) => matches!(sorted[0], Value::Bytes(_)),
                _ => false,
            };
            if same {
                let found = sorted
                    .binary_search_by(|c| c.compare(&v, self.collation).unwrap_or(Ordering::Equal))
                    .is_ok();
                return Ok(self.answer(found, self.has_null));
            }
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
