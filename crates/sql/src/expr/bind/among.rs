//! Placeholders among operands of several kinds, as BETWEEN and IN have them: there what each of them is decides how all are compared.

use super::{Scope, by_value, is_param, literal};
use crate::expr::{Expr, ExprKind};
use crate::types::{Family as F, SqlType};

/// What kind of thing is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Date,
    Time,
    Text,
    /// Of an ENUM or a SET.
    Member,
    Other,
}

/// `None` for NULL, which is of any.
fn kind(ty: &SqlType) -> Option<Kind> {
    Some(match ty.family() {
        F::Null => return None,
        F::Date | F::DateTime | F::Timestamp => Kind::Date,
        F::Time => Kind::Time,
        _ if ty.is_enumerated() => Kind::Member,
        _ if ty.is_json() || ty.is_geometry() => Kind::Other,
        _ if ty.is_string() => Kind::Text,
        _ if ty.is_numeric() => Kind::Number,
        _ => Kind::Other,
    })
}

/// Makes of placeholders what their values are, if the other operands do not say what they must be; whether it did. Beside a column of one
/// kind they are what the column is, and any value may come. Where texts are among numbers, or among dates, or among an ENUM's members, their
/// values' types count. Anywhere else they become the literals that they stand for, and the plan is for this execution alone.
pub(super) fn known(value: &mut Expr, others: &mut [Expr], scope: &mut dyn Scope) -> bool {
    let all = || std::iter::once(&*value).chain(&*others);
    if !all().any(is_param) || says(value, others) {
        return false;
    }
    let mut kinds: Vec<Kind> = Vec::new();
    for e in std::iter::once(&mut *value).chain(&mut *others) {
        let kind = match e.kind {
            ExprKind::Param(n) if scope.text_param(n) => Some(Kind::Text),
            _ => {
                by_value(e, scope);
                kind(&e.ty)
            }
        };
        kinds.extend(kind.filter(|k| !kinds.contains(k)));
    }
    let typed = match kinds[..] {
        [] | [_] => true,
        [a, b] => {
            let beside = match (a, b) {
                (Kind::Text, other) | (other, Kind::Text) => Some(other),
                _ => None,
            };
            matches!(beside, Some(Kind::Number | Kind::Date | Kind::Member))
        }
        _ => false,
    };
    if !typed {
        for e in std::iter::once(value).chain(others) {
            if let ExprKind::Param(n) = e.kind
                && let Some(v) = scope.param_value(n)
            {
                *e = literal::given(v, scope);
            }
        }
    }
    true
}

/// Whether the operands that are no placeholders say how all are compared.
fn says(value: &Expr, others: &[Expr]) -> bool {
    let of_value = kind(&value.ty);
    let column = matches!(value.kind, ExprKind::Column { .. });
    let plain = match of_value {
        _ if is_param(value) => false,
        None => true,
        Some(Kind::Number | Kind::Text) => true,
        // Another date beside it may be one with a time of day.
        Some(Kind::Date | Kind::Time) => column && others.iter().all(is_param),
        Some(Kind::Member | Kind::Other) => false,
    };
    let mut known = others.iter().filter(|e| !is_param(e));
    plain && known.all(|e| kind(&e.ty).is_none_or(|k| Some(k) == of_value))
}
