//! What stands where a number is wanted: members of ENUM and SET, hexadecimal literals, texts that CASE chooses or that are made of dates.

use crate::expr::eval::bit_string;
use crate::expr::{Expr, ExprKind};
use crate::types::{BaseType, SqlType};
use crate::value::{Decimal, Value};

use super::beside::is_date;
use super::is_param;

/// Whether a text is made of a date or time.
pub(super) fn is_moment(e: &Expr) -> bool {
    let made = match &e.kind {
        ExprKind::DateAdd(..) => true,
        ExprKind::Function(f, args) => match f.name() {
            "ADDTIME" | "SUBTIME" => true,
            "GREATEST" | "LEAST" => args.iter().any(|a| is_date(&a.ty)),
            _ => false,
        },
        _ => false,
    };
    made && e.ty.is_string()
}

/// What CASE chooses from, if that is a text, but there is more to choose from than texts.
pub(super) fn choices(e: &Expr) -> Option<Vec<&Expr>> {
    let ExprKind::Case(branches, last) = &e.kind else {
        return None;
    };
    let all: Vec<&Expr> = branches
        .iter()
        .map(|(_, r)| r)
        .chain(last.as_deref())
        .collect();
    let text = |e: &&Expr| {
        e.ty.base == BaseType::Null
            || e.ty.is_string() && !is_moment(e) && choices(e).is_none() && !e.ty.is_enumerated()
    };
    let odd = |e: &&Expr| e.ty.is_json() || e.ty.is_geometry();
    let mixed = e.ty.is_string() && !all.iter().any(odd) && !all.iter().all(text);
    mixed.then_some(all)
}

/// What of a text that CASE chooses, or that is made of a date or time, is where a number is wanted: the number of what is chosen, or of the
/// date or time.
pub(crate) fn as_double(e: &mut Expr) {
    if is_moment(e) {
        let (inner, nullable) = (std::mem::replace(e, Expr::null()), e.nullable);
        let kind = ExprKind::Moment(Box::new(inner));
        *e = Expr::new(kind, SqlType::double(), nullable);
    } else if choices(e).is_some() {
        each_choice(e, SqlType::double(), &mut |choice| {
            as_number(choice);
            as_double(choice);
            if choice.ty.is_string() {
                cast_plainly(choice, SqlType::double());
            }
        });
    }
}

/// The same where it is cast to a type of numbers: whether each of what is chosen from is cast by itself.
pub(super) fn cast_choices(e: &mut Expr, ty: &SqlType) -> bool {
    let casts = matches!(
        ty.base,
        BaseType::Decimal | BaseType::Double | BaseType::Float
    );
    if !casts || choices(e).is_none() {
        return false;
    }
    each_choice(e, ty.clone(), &mut |choice| {
        as_number(choice);
        if !cast_choices(choice, ty) {
            cast_plainly(choice, ty.clone());
        }
    });
    true
}

/// The number of a member of an ENUM or a SET is a double in arithmetic.
pub(super) fn number_of_member(e: &mut Expr) {
    if e.ty.is_enumerated() && !is_param(e) {
        as_number(e);
        cast_plainly(e, SqlType::double());
    }
}

pub(super) fn cast_plainly(e: &mut Expr, ty: SqlType) {
    let inner = std::mem::replace(e, Expr::null());
    let nullable = inner.nullable;
    *e = Expr::new(ExprKind::Cast(Box::new(inner)), ty, nullable);
}

/// Changes what CASE chooses from, and its type.
fn each_choice(e: &mut Expr, ty: SqlType, change: &mut dyn FnMut(&mut Expr)) {
    let case = std::mem::replace(e, Expr::null());
    let ExprKind::Case(mut branches, mut last) = case.kind else {
        return;
    };
    branches.iter_mut().for_each(|(_, r)| change(r));
    last.iter_mut().for_each(|r| change(r));
    *e = Expr::new(ExprKind::Case(branches, last), ty, case.nullable);
}

/// What an ENUM, or a hexadecimal or bit literal, is where a number is wanted.
pub(crate) fn as_number(e: &mut Expr) {
    if let ExprKind::BitString(Value::Bytes(b)) = &e.kind {
        *e = Expr::literal(Value::UInt(bit_string(b)), SqlType::ubigint());
    } else if e.ty.is_enumerated() && !is_param(e) {
        let inner = std::mem::replace(e, Expr::null());
        let nullable = inner.nullable;
        let kind = ExprKind::EnumIndex(Box::new(inner));
        *e = Expr::new(kind, SqlType::bigint(), nullable);
    }
}

/// What a hexadecimal or bit literal is that is assigned to a number: one of more than eight bytes is beyond all numbers.
pub(crate) fn assigned_bits(e: &mut Expr) {
    let ExprKind::BitString(Value::Bytes(b)) = &e.kind else {
        return;
    };
    match b.len() > 8 {
        true => {
            let most = Decimal::from(u64::MAX);
            let one = Decimal::from(1i64);
            let v = Value::Decimal(most.checked_add(one).unwrap_or(most));
            *e = Expr::literal(v, SqlType::decimal(20, 0));
        }
        false => as_number(e),
    }
}
