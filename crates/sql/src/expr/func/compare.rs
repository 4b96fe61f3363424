//! One of the arguments: the greatest, the least, the first that is not NULL.

use std::cmp::Ordering;

use super::{ANY, Call, Computed, Exit, Function, Null, Typing, joint, row};
use crate::types::derive::common;
use crate::types::{Collation, SqlType};
use crate::value::Value;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("GREATEST", 2..=ANY, in_common, |c| extreme(c, Ordering::Greater)).takes_alike().quiet(),
    row("LEAST", 2..=ANY, in_common, |c| extreme(c, Ordering::Less)).takes_alike().quiet(),
    row("COALESCE", 1..=ANY, in_common, coalesce).null(Null::OfAll).takes_alike().takes_json().quiet(),
    row("IFNULL", 2..=2, in_common, coalesce).aka(&["NVL"]).null(Null::OfAll).takes_alike().takes_json().quiet(),
];

/// The type that all arguments have in common.
fn in_common(t: &Typing<'_>) -> SqlType {
    let all = t.args.iter();
    let mut ty = all.fold(SqlType::null(), |ty, a| common(&ty, &a.ty));
    if ty.is_string() && ty.collation != Collation::Binary {
        ty.collation = joint(t.args, t.collation);
    }
    ty
}

/// GREATEST and LEAST: compared as their common type.
fn extreme<'a>(c: &Call<'_, 'a>, wanted: Ordering) -> Computed<'a> {
    let mut best: Option<Value<'a>> = None;
    for a in c.args {
        let v = c.expr.conformed(a, c.cx)?;
        if v.is_null() {
            return Err(Exit::Null);
        }
        let better = best
            .as_ref()
            .is_none_or(|b| v.compare(b, c.expr.ty.collation) == Some(wanted));
        if better {
            best = Some(v);
        }
    }
    Ok(best.unwrap_or(Value::Null))
}

fn coalesce<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    for a in c.args {
        let v = c.expr.conformed(a, c.cx)?;
        if !v.is_null() {
            return Ok(v);
        }
    }
    Ok(Value::Null)
}
