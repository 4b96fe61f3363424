//! One of the arguments: the greatest, the least, the first that is not NULL.

use std::cmp::Ordering;

use super::typing::temporal_fsp;
use super::{ANY, Call, Computed, Exit, Function, Null, Typing, joint, row};
use crate::expr::{Expr, kinds};
use crate::types::derive::{common, text_of};
use crate::types::{BaseType, Collation, Family, SqlType};
use crate::value::parse_time::parse_datetime_in;
use crate::value::{DateTime, Value, shown};

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
    if ty.is_string() {
        let agreed = joint(t.args, t.collation);
        // Constant bytes beside a column are a text.
        if ty.collation == Collation::Binary && agreed != Collation::Binary {
            return text_of(t.args.iter().map(|a| &a.ty), agreed);
        }
        ty.collation = agreed;
    }
    ty
}

/// Whether it is a date, with a time of day or without.
fn is_dated(e: &Expr) -> bool {
    matches!(
        e.ty.family(),
        Family::Date | Family::DateTime | Family::Timestamp
    )
}

/// GREATEST and LEAST of dates beside texts and numbers: compared as dates and shown as such; `None` if one of them is no date.
fn extreme_date<'a>(c: &Call<'_, 'a>, wanted: Ordering) -> Result<Option<Value<'a>>, Exit> {
    let mode = c.cx.session.sql_mode.get();
    let mut best: Option<DateTime> = None;
    let mut fsp = 0;
    for (i, e) in c.args.iter().enumerate() {
        let date = match c.value(i)? {
            Value::Bytes(text) => match parse_datetime_in(&text, mode) {
                Some(p) if !p.trailing => p.value,
                _ => return Ok(None),
            },
            v @ Value::Time(_) => match kinds::today(&v, c.cx.session) {
                Some(Value::DateTime(d)) => d,
                _ => return Ok(None),
            },
            v => match v.to_datetime_in(mode) {
                Some(d) => d,
                None => return Ok(None),
            },
        };
        fsp = fsp.max(match e.as_constant() {
            None if e.ty.is_string() => 6,
            _ => temporal_fsp(e),
        });
        if best.is_none_or(|b| date.cmp(&b) == wanted) {
            best = Some(date);
        }
    }
    let days = |e: &Expr| e.ty.base == BaseType::Date || !is_dated(e);
    let text = best.map(|d| match c.args.iter().all(days) {
        true => shown(Value::Date(d.date), &SqlType::new(BaseType::Date)),
        false => shown(Value::DateTime(d), &SqlType::datetime(fsp)),
    });
    Ok(text)
}

/// GREATEST and LEAST: compared as their common type.
fn extreme<'a>(c: &Call<'_, 'a>, wanted: Ordering) -> Computed<'a> {
    if c.expr.ty.is_string()
        && c.args.iter().any(is_dated)
        && let Some(v) = extreme_date(c, wanted)?
    {
        return Ok(v);
    }
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
