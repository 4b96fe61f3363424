//! Operators and CASE.

use std::sync::Arc;

use sqlparser::ast;

use super::comparisons::{as_number, compare_rows, equal_within, regexp};
use super::{Scope, bind, by_value, call, coercion, is_free, is_param, literal, predicate, sent};
use crate::error::{SqlError, SqlResult};
use crate::expr::{ArithmeticOp, BitOp, CompareOp, Expr, ExprKind, Func};
use crate::types::{BaseType, SqlType, derive};
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

pub(super) fn comparison(op: &ast::BinaryOperator) -> Option<CompareOp> {
    use ast::BinaryOperator as B;
    Some(match op {
        B::Eq => CompareOp::Eq,
        B::NotEq => CompareOp::Ne,
        B::Lt => CompareOp::Lt,
        B::LtEq => CompareOp::Le,
        B::Gt => CompareOp::Gt,
        B::GtEq => CompareOp::Ge,
        B::Spaceship => CompareOp::NullSafeEq,
        _ => return None,
    })
}

pub(super) fn binary(
    left: &ast::Expr,
    op: &ast::BinaryOperator,
    right: &ast::Expr,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    use ast::BinaryOperator as B;
    if let Some(c) = comparison(op) {
        return compare_rows(c, left, right, scope);
    }
    // AND and OR nest deeply to the left: walk down, not recurse.
    if matches!(op, B::And | B::Or) {
        let mut parts = vec![bind(right, scope)?];
        let mut at = left;
        while let ast::Expr::BinaryOp {
            left,
            op: inner,
            right,
        } = at
        {
            if inner != op {
                break;
            }
            parts.push(bind(right, scope)?);
            at = left;
        }
        parts.push(bind(at, scope)?);
        parts.reverse();
        return Ok(if *op == B::And { and(parts) } else { or(parts) });
    }
    if matches!(op, B::Plus | B::Minus)
        && let ast::Expr::Interval(i) = right
    {
        let date = bind(left, scope)?;
        return call::add_interval(date, i, *op == B::Minus, scope);
    }
    if *op == B::Plus
        && let ast::Expr::Interval(i) = left
    {
        let date = bind(right, scope)?;
        return call::add_interval(date, i, false, scope);
    }
    if *op == B::Assignment {
        let ast::Expr::Identifier(id) = left else {
            return Err(SqlError::syntax(format!("near '{left}'")));
        };
        let name = id.value.trim_start_matches('@').to_ascii_lowercase();
        let value = bind(right, scope)?;
        let (ty, nullable) = (value.ty.clone(), value.nullable);
        let kind = ExprKind::SetUserVariable(Arc::from(name), Box::new(value));
        return Ok(Expr::new(kind, ty, nullable));
    }
    let (mut a, mut b) = (bind(left, scope)?, bind(right, scope)?);
    let math = match op {
        B::Plus => Some(ArithmeticOp::Add),
        B::Minus => Some(ArithmeticOp::Sub),
        B::Multiply => Some(ArithmeticOp::Mul),
        B::Divide => Some(ArithmeticOp::Div),
        B::Modulo => Some(ArithmeticOp::Mod),
        B::MyIntegerDivide | B::DuckIntegerDivide => Some(ArithmeticOp::IntDiv),
        _ => None,
    };
    if let Some(m) = math {
        by_value(&mut a, scope);
        by_value(&mut b, scope);
        return Ok(arithmetic(m, a, b));
    }
    let bit = match op {
        B::BitwiseAnd => Some(BitOp::And),
        B::BitwiseOr => Some(BitOp::Or),
        B::BitwiseXor | B::PGBitwiseXor => Some(BitOp::Xor),
        B::PGBitwiseShiftLeft => Some(BitOp::ShiftLeft),
        B::PGBitwiseShiftRight => Some(BitOp::ShiftRight),
        _ => None,
    };
    if let Some(bit) = bit {
        let nullable = a.nullable || b.nullable;
        let (mut a, mut b) = (a, b);
        for e in [&mut a, &mut b] {
            as_number(e);
        }
        return Ok(Expr::new(
            ExprKind::Bit(bit, Box::new([a, b])),
            SqlType::ubigint(),
            nullable,
        ));
    }
    match op {
        B::Xor => {
            let nullable = a.nullable || b.nullable;
            Ok(predicate(ExprKind::Xor(Box::new([a, b])), nullable))
        }
        B::Regexp => Ok(regexp(a, b, false)),
        // `||` is OR unless sql_mode says PIPES_AS_CONCAT.
        B::StringConcat if scope.session().sql_mode.get().pipes_as_concat => {
            Ok(call::function(Func::Concat, vec![a, b], scope))
        }
        B::StringConcat => Ok(or(vec![a, b])),
        other => Err(SqlError::unsupported(format!("operator {other}"))),
    }
}

/// `a op b` in arithmetic.
pub(super) fn arithmetic(op: ArithmeticOp, mut a: Expr, mut b: Expr) -> Expr {
    for e in [&mut a, &mut b] {
        as_number(e);
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
    let ty = derive::arithmetic(op, &a.ty, &b.ty);
    let divides = matches!(
        op,
        ArithmeticOp::Div | ArithmeticOp::IntDiv | ArithmeticOp::Mod
    );
    let nullable = divides || a.nullable || b.nullable;
    Expr::new(ExprKind::Arithmetic(op, Box::new([a, b])), ty, nullable)
}

pub(super) fn unary(
    op: ast::UnaryOperator,
    e: &ast::Expr,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    use ast::UnaryOperator as U;
    // `-9223372036854775808` is one number: its digits alone do not fit.
    if op == U::Minus
        && let ast::Expr::Value(v) = e
        && let ast::Value::Number(digits, _) = &v.value
    {
        return literal::number(&format!("-{digits}"));
    }
    let mut e = bind(e, scope)?;
    if op == U::Minus || op == U::Plus {
        by_value(&mut e, scope);
    }
    let nullable = e.nullable;
    Ok(match op {
        U::Plus => e,
        U::Not | U::BangNot => not(e),
        U::Minus => {
            as_number(&mut e);
            let ty = match e.ty.base {
                BaseType::Decimal | BaseType::Double => e.ty.clone(),
                BaseType::Null => SqlType::bigint(),
                // The one integer whose negative is none.
                BaseType::BigInt if matches!(e.as_constant(), Some(Value::Int(i64::MIN))) => {
                    let v = Value::Decimal(Decimal::from(i64::MIN).negated());
                    return Ok(Expr::literal(v, SqlType::decimal(19, 0)));
                }
                _ if e.ty.is_integer() => SqlType::bigint(),
                _ if e.ty.is_temporal() => derive::arithmetic(ArithmeticOp::Sub, &e.ty, &e.ty),
                _ => SqlType::double(),
            };
            Expr::new(ExprKind::Negate(Box::new(e)), ty, nullable)
        }
        U::BitwiseNot => {
            as_number(&mut e);
            Expr::new(ExprKind::BitNot(Box::new(e)), SqlType::ubigint(), nullable)
        }
        other => return Err(SqlError::unsupported(format!("operator {other}"))),
    })
}

pub(super) fn case(
    operand: Option<&ast::Expr>,
    conditions: &[ast::CaseWhen],
    last: Option<&ast::Expr>,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let operand = match operand {
        Some(e) => Some(bind(e, scope)?),
        None => None,
    };
    let mut branches = Vec::with_capacity(conditions.len());
    for c in conditions {
        let when = bind(&c.condition, scope)?;
        let when = match &operand {
            Some(o) => equal_within("case", o.clone(), when)?,
            None => when,
        };
        branches.push((when, bind(&c.result, scope)?));
    }
    let mut last = match last {
        Some(e) => Some(bind(e, scope)?),
        None => None,
    };
    sent::beside_bytes(
        branches.iter_mut().map(|b| &mut b.1).chain(&mut last),
        scope,
    );
    Ok(branch(branches, last))
}

/// CASE or IF of bound branches.
pub(super) fn branch(branches: Vec<(Expr, Expr)>, last: Option<Expr>) -> Expr {
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
        ty.collation = coercion::collation_of(&all).unwrap_or(ty.collation);
    }
    let nullable = last.is_none() || results().any(|e| e.nullable);
    Expr::new(ExprKind::Case(branches, last.map(Box::new)), ty, nullable)
}
