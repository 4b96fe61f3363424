//! Operators and CASE.

use std::sync::Arc;

use millpond_syntax::ast;

use super::beside::{name_date, name_time};
use super::comparisons::{Digits, compare, compare_rows, compare_with, equal_within, regexp};
use super::json;
use super::numbers::{as_double, as_number, number_of_member};
use super::{
    Scope, SubqueryKind, bind, by_value, call, cast, coercion, finish, is_free, is_param, literal,
    predicate, sent,
};
use crate::error::{SqlError, SqlResult};
use crate::expr::{ArithmeticOp, BitOp, CompareOp, Expr, ExprKind, Func};
use crate::types::derive::{self, DIV_INCREMENT};
use crate::types::{BaseType, Collation, SqlType};
use crate::value::{Decimal, Value};

/// `all of them`, flattened.
pub(super) fn and(parts: Vec<Expr>) -> Expr {
    let nullable = parts.iter().any(|p| p.nullable);
    let mut flat = Vec::with_capacity(parts.len());
    for p in parts {
        match p.kind {
            ExprKind::And(v) => flat.extend(v),
            _ => flat.push(p),
        }
    }
    predicate(ExprKind::And(flat), nullable)
}

pub(super) fn or(parts: Vec<Expr>) -> Expr {
    let nullable = parts.iter().any(|p| p.nullable);
    let mut flat = Vec::with_capacity(parts.len());
    for p in parts {
        match p.kind {
            ExprKind::Or(v) => flat.extend(v),
            _ => flat.push(p),
        }
    }
    predicate(ExprKind::Or(flat), nullable)
}

pub(super) fn not(e: Expr) -> Expr {
    let nullable = e.nullable;
    predicate(ExprKind::Not(Box::new(e)), nullable)
}

pub(super) fn comparison(op: ast::BinaryOp) -> Option<CompareOp> {
    use ast::BinaryOp as B;
    Some(match op {
        B::Eq => CompareOp::Eq,
        B::Ne => CompareOp::Ne,
        B::Lt => CompareOp::Lt,
        B::Le => CompareOp::Le,
        B::Gt => CompareOp::Gt,
        B::Ge => CompareOp::Ge,
        B::NullSafeEq => CompareOp::NullSafeEq,
        _ => return None,
    })
}

/// `left op right`.
pub(super) fn binary(
    op: ast::BinaryOp,
    left: &ast::Expr,
    right: &ast::Expr,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    if let Some(c) = comparison(op) {
        return compare_rows(c, left, right, Digits::Year, scope);
    }
    let (mut a, b) = (bind(left, scope)?, bind(right, scope)?);
    if op == ast::BinaryOp::MemberOf {
        a = json::truth(left, a);
    }
    combine(op, a, b, scope)
}

/// `a op b op c …`. AND and OR of many are one node, all others nest to the left; neither is recursion here.
pub(super) fn chain(c: &ast::Chain, scope: &mut dyn Scope) -> SqlResult<Expr> {
    if matches!(c.op, ast::BinaryOp::And | ast::BinaryOp::Or) {
        let mut parts = Vec::with_capacity(1 + c.rest.len());
        parts.push(bind(&c.first, scope)?);
        for term in &c.rest {
            parts.push(bind(&term.operand, scope)?);
        }
        return Ok(match c.op {
            ast::BinaryOp::And => and(parts),
            _ => or(parts),
        });
    }
    let mut rest = c.rest.iter();
    let Some(second) = rest.next() else {
        return bind(&c.first, scope);
    };
    let mut left = binary(c.op, &c.first, &second.operand, scope)?;
    for term in rest {
        left = finish(left, scope);
        left = match comparison(term.op) {
            Some(c) => compare_with(c, left, &term.operand, scope)?,
            None => {
                let right = bind(&term.operand, scope)?;
                combine(term.op, left, right, scope)?
            }
        };
    }
    Ok(left)
}

/// `a op b` of bound sides; comparisons are not among it.
fn combine(op: ast::BinaryOp, mut a: Expr, mut b: Expr, scope: &mut dyn Scope) -> SqlResult<Expr> {
    use ast::BinaryOp as B;
    let math = |m, mut a, mut b, scope: &mut dyn Scope| {
        by_value(&mut a, scope);
        by_value(&mut b, scope);
        computed(m, a, b, scope.session().div_increment.get())
    };
    Ok(match op {
        B::And => and(vec![a, b]),
        B::Or => or(vec![a, b]),
        B::Xor => {
            let nullable = a.nullable || b.nullable;
            predicate(ExprKind::Xor(Box::new([a, b])), nullable)
        }
        B::Add => math(ArithmeticOp::Add, a, b, scope),
        B::Sub => {
            let mut difference = math(ArithmeticOp::Sub, a, b, scope);
            let signed = scope.session().sql_mode.get().no_unsigned_subtraction;
            difference.ty.unsigned &= !(signed && difference.ty.is_integer());
            difference
        }
        B::Mul => math(ArithmeticOp::Mul, a, b, scope),
        B::Div => math(ArithmeticOp::Div, a, b, scope),
        B::IntDiv => math(ArithmeticOp::IntDiv, a, b, scope),
        B::Mod => math(ArithmeticOp::Mod, a, b, scope),
        B::BitAnd => bits(BitOp::And, a, b),
        B::BitOr => bits(BitOp::Or, a, b),
        B::BitXor => bits(BitOp::Xor, a, b),
        B::Shl => bits(BitOp::ShiftLeft, a, b),
        B::Shr => bits(BitOp::ShiftRight, a, b),
        B::Regexp => regexp(json::as_text(a), json::as_text(b), false)?,
        B::NotRegexp => regexp(json::as_text(a), json::as_text(b), true)?,
        B::SoundsLike => {
            for e in [&mut a, &mut b] {
                let text = std::mem::replace(e, Expr::null());
                *e = call::function(Func::Soundex, vec![text], scope);
            }
            equal_within("=", a, b)?
        }
        B::Concat => call::function(Func::Concat, vec![a, b], scope),
        B::MemberOf => call::function(Func::MemberOf, vec![a, b], scope),
        B::JsonExtract => call::function(Func::JsonExtract, vec![a, b], scope),
        B::JsonUnquote => {
            let part = call::function(Func::JsonExtract, vec![a, b], scope);
            call::function(Func::JsonUnquote, vec![part], scope)
        }
        B::Eq | B::NullSafeEq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge => {
            return Err(SqlError::unsupported("this comparison"));
        }
    })
}

/// `a op b` of bits.
fn bits(op: BitOp, mut a: Expr, mut b: Expr) -> Expr {
    let nullable = a.nullable || b.nullable;
    as_number(&mut a);
    as_number(&mut b);
    let kind = ExprKind::Bit(op, Box::new([a, b]));
    Expr::new(kind, SqlType::ubigint(), nullable)
}

/// `@name := value`.
pub(super) fn assignment(a: &ast::Assign, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let value = json::as_text(bind(&a.value, scope)?);
    let (ty, nullable) = (value.ty.clone(), value.nullable);
    let name = Arc::from(a.name.to_ascii_lowercase());
    let kind = ExprKind::SetUserVariable(name, Box::new(value));
    Ok(Expr::new(kind, ty, nullable))
}

/// `a op b` in arithmetic, where that is no division of the statement's own.
pub(crate) fn arithmetic(op: ArithmeticOp, a: Expr, b: Expr) -> Expr {
    computed(op, a, b, DIV_INCREMENT)
}

/// `a op b` in arithmetic; a quotient has `increment` digits after the point more than `a`.
fn computed(op: ArithmeticOp, mut a: Expr, mut b: Expr, increment: u8) -> Expr {
    for e in [&mut a, &mut b] {
        if op != ArithmeticOp::IntDiv {
            number_of_member(e);
        }
        as_number(e);
        if op != ArithmeticOp::IntDiv {
            as_double(e);
        }
    }
    // A placeholder may be any number: a decimal beside decimals, else a double.
    let decimal = |e: &Expr| e.ty.base == BaseType::Decimal;
    let free = |other: &Expr| {
        if decimal(other) {
            other.ty.clone()
        } else {
            SqlType::double()
        }
    };
    match (is_free(&a), is_free(&b)) {
        (true, true) => (a.ty, b.ty) = (SqlType::double(), SqlType::double()),
        (true, false) => a.ty = free(&b),
        (false, true) => b.ty = free(&a),
        (false, false) => {}
    }
    let ty = derive::arithmetic(op, &a.ty, &b.ty, increment);
    let divides = matches!(
        op,
        ArithmeticOp::Div | ArithmeticOp::IntDiv | ArithmeticOp::Mod
    );
    let nullable = divides || a.nullable || b.nullable;
    Expr::new(ExprKind::Arithmetic(op, Box::new([a, b])), ty, nullable)
}

pub(super) fn unary(op: ast::UnaryOp, e: &ast::Expr, scope: &mut dyn Scope) -> SqlResult<Expr> {
    use ast::UnaryOp as U;
    if op == U::Minus
        && let Some(number) = literal::negative(e)
    {
        return number;
    }
    if let (U::Not | U::Bang, ast::ExprKind::Exists(q)) = (op, &e.tree().kind) {
        return scope.subquery(q, SubqueryKind::Exists { negated: true });
    }
    let mut e = bind(e, scope)?;
    if op == U::Minus || op == U::Plus {
        by_value(&mut e, scope);
    }
    let nullable = e.nullable;
    Ok(match op {
        U::Plus => e,
        U::Not | U::Bang => not(e),
        U::Binary => cast::to_binary(e, scope),
        U::Minus => {
            number_of_member(&mut e);
            as_number(&mut e);
            as_double(&mut e);
            if let Some(negative) = beyond(&e) {
                return Ok(negative);
            }
            let ty = match e.ty.base {
                BaseType::Decimal | BaseType::Double => e.ty.clone(),
                _ if e.ty.is_integer() && e.ty.base != BaseType::Bit => SqlType {
                    length: e.ty.integer_digits(),
                    ..SqlType::bigint()
                },
                _ if e.ty.is_integer() => SqlType::bigint(),
                _ if e.ty.is_temporal() => {
                    derive::arithmetic(ArithmeticOp::Sub, &e.ty, &e.ty, DIV_INCREMENT)
                }
                _ => SqlType::double(),
            };
            Expr::new(ExprKind::Negate(Box::new(e)), ty, nullable)
        }
        U::BitNot => {
            as_number(&mut e);
            Expr::new(ExprKind::BitNot(Box::new(e)), SqlType::ubigint(), nullable)
        }
    })
}

/// The negative of a constant whose negative is no BIGINT, and of any that is negative itself: a DECIMAL.
fn beyond(e: &Expr) -> Option<Expr> {
    let number = match e.as_constant()? {
        Value::Int(n) if *n < 0 && e.ty.is_integer() => Decimal::from(*n),
        Value::UInt(n) if *n > i64::MIN.unsigned_abs() => Decimal::from(*n),
        _ => return None,
    };
    let digits = match e.as_constant() {
        Some(Value::Int(i64::MIN)) => 19,
        Some(Value::Int(_)) => e.ty.integer_digits(),
        _ => 20,
    };
    let v = Value::Decimal(number.negated());
    Some(Expr::literal(v, SqlType::decimal(digits, 0)))
}

/// The collation by which CASE compares its operand with all that follow WHEN, if it compares texts: error 1267 if they agree on none.
fn collation_of_case(operand: &Expr, bound: &[(Expr, Expr)]) -> SqlResult<Option<Collation>> {
    let whens = || bound.iter().map(|b| &b.0);
    if !coercion::has_texts(operand, whens()) {
        return Ok(None);
    }
    let all: Vec<&Expr> = std::iter::once(operand).chain(whens()).collect();
    coercion::agree(&all, "case")?;
    Ok(coercion::collation_of(&all))
}

pub(super) fn case(c: &ast::Case, scope: &mut dyn Scope) -> SqlResult<Expr> {
    // As in MySQL what follows CASE is looked at after the branches.
    let mut bound = Vec::with_capacity(c.whens.len());
    for when in &c.whens {
        let (condition, result) = &*when;
        bound.push((bind(condition, scope)?, bind(result, scope)?));
    }
    let operand = match &c.operand {
        Some(e) => Some(bind(e, scope)?),
        None => None,
    };
    let by = match &operand {
        Some(o) => collation_of_case(o, &bound)?,
        None => None,
    };
    let mut branches = Vec::with_capacity(bound.len());
    for (mut when, result) in bound {
        let when = match &operand {
            Some(o) => {
                let mut o = json::operand_of_case(o.clone(), &when, scope);
                sent::beside_bytes([&mut o, &mut when], scope);
                name_date(&mut o, &when, String::new);
                name_time(&mut o, &when);
                // Beside a text it is one.
                if o.ty.is_string() && when.ty.is_temporal() && !is_param(&o) {
                    let ty = SqlType::varchar(derive::text_length(&when.ty), o.ty.collation);
                    when = cast::cast(when, ty, scope);
                }
                let mut equal = compare(CompareOp::Eq, o, when);
                if let (ExprKind::Compare(_, _, collation), Some(by)) = (&mut equal.kind, by) {
                    *collation = by;
                }
                equal
            }
            None => when,
        };
        branches.push((when, result));
    }
    let mut last = match &c.otherwise {
        Some(e) => Some(bind(e, scope)?),
        None => None,
    };
    sent::beside_bytes(
        branches.iter_mut().map(|b| &mut b.1).chain(&mut last),
        scope,
    );
    let results: Vec<&Expr> = branches.iter().map(|b| &b.1).chain(&last).collect();
    coercion::meet(&results, "case")?;
    Ok(branch(branches, last, scope.collation()))
}

/// CASE or IF of bound branches. What has no texts and becomes one is under the connection's collation.
pub(super) fn branch(
    branches: Vec<(Expr, Expr)>,
    last: Option<Expr>,
    connection: Collation,
) -> Expr {
    let results = || branches.iter().map(|(_, r)| r).chain(last.as_ref());
    let known = |e: &&Expr| !is_param(e);
    let ty = results()
        .filter(known)
        .fold(SqlType::null(), |t, e| derive::common(&t, &e.ty));
    let mut ty = if ty.base == BaseType::Null {
        results().next().map_or(ty, |e| e.ty.clone())
    } else {
        ty
    };
    if ty.is_string() {
        let all: Vec<&Expr> = results().collect();
        let otherwise = if ty.collation == Collation::Binary {
            ty.collation
        } else {
            connection
        };
        let agreed = coercion::collation_of(&all).unwrap_or(otherwise);
        // Constant bytes beside a column are a text.
        if ty.collation == Collation::Binary && agreed != Collation::Binary {
            ty = derive::text_of(all.iter().map(|e| &e.ty), agreed);
        }
        ty.collation = agreed;
    }
    let nullable = last.is_none() || results().any(|e| e.nullable);
    Expr::new(ExprKind::Case(branches, last.map(Box::new)), ty, nullable)
}
