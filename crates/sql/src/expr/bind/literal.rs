//! Literals.

use sqlparser::ast;

use super::{Scope, type_of};
use crate::error::{SqlError, SqlResult};
use crate::expr::func::unhex;
use crate::expr::{Expr, ExprKind};
use crate::types::{BaseType, Collation, Encoding, SqlType};
use crate::value::convert::{double_prefix, exact_integer};
use crate::value::not_utf8;
use crate::value::{Decimal, Value, parse_time};

/// A literal or placeholder.
pub(super) fn value(v: &ast::ValueWithSpan, scope: &mut dyn Scope) -> SqlResult<Expr> {
    use ast::Value as V;
    Ok(match &v.value {
        V::Number(digits, _) => number(digits)?,
        V::SingleQuotedString(s)
        | V::DoubleQuotedString(s)
        | V::NationalStringLiteral(s)
        | V::EscapedStringLiteral(s) => string(s.clone().into_bytes(), scope.collation()),
        V::HexStringLiteral(s) => hex(s)?,
        V::SingleQuotedByteStringLiteral(s) | V::DoubleQuotedByteStringLiteral(s) => bits(s)?,
        V::Boolean(b) => Expr::literal(Value::bool(*b), SqlType::boolean()),
        V::Null => Expr::null(),
        V::Placeholder(text) => {
            let i = scope.param(text, v.span)?;
            let ty = SqlType {
                collation: scope.collation(),
                ..SqlType::new(BaseType::LongText)
            };
            Expr::new(ExprKind::Param(i), ty, true)
        }
        other => return Err(SqlError::unsupported(format!("literal {other}"))),
    })
}

fn string(bytes: Vec<u8>, collation: Collation) -> Expr {
    let v = Value::Bytes(bytes.into());
    let ty = type_of(&v, collation);
    Expr::literal(v, ty)
}

/// A number: an integer if it fits 64 bits, a double if it has an exponent, else a decimal.
pub(super) fn number(digits: &str) -> SqlResult<Expr> {
    let text = digits.as_bytes();
    if let Some(v) = exact_integer(text) {
        if let Ok(v) = i64::try_from(v) {
            let ty = SqlType {
                length: digits.len() as u32,
                ..SqlType::bigint()
            };
            return Ok(Expr::literal(Value::Int(v), ty));
        }
        if let Ok(v) = u64::try_from(v) {
            return Ok(Expr::literal(Value::UInt(v), SqlType::ubigint()));
        }
    }
    if digits.contains(['e', 'E']) {
        let (v, _) = double_prefix(text);
        if digits.parse::<f64>().is_ok_and(f64::is_infinite) {
            let m = format!("Illegal double '{digits}' value found during parsing");
            return Err(SqlError::new(1367, m));
        }
        return Ok(Expr::literal(Value::Double(v), SqlType::double()));
    }
    let p = Decimal::parse_prefix(text);
    if p.used == 0 {
        return Err(SqlError::syntax(format!("near '{digits}'")));
    }
    let v = Value::Decimal(p.value);
    let ty = type_of(&v, Collation::Binary);
    Ok(Expr::literal(v, ty))
}

/// The value of a number as written, a minus sign included.
pub(crate) fn literal_number(digits: &str) -> SqlResult<Value<'static>> {
    // What most numbers are.
    if digits.len() < 19
        && let Ok(v) = digits.parse::<i64>()
    {
        return Ok(Value::Int(v));
    }
    match number(digits)?.kind {
        ExprKind::Literal(v) => Ok(v),
        _ => Err(SqlError::syntax(format_args!("near '{digits}'"))),
    }
}

fn hex(digits: &str) -> SqlResult<Expr> {
    match unhex(digits.as_bytes()) {
        Some(b) => Ok(bit_string(b)),
        None => Err(SqlError::syntax(format!("near 'x'{digits}''"))),
    }
}

/// `b'101'`: bits as bytes.
fn bits(digits: &str) -> SqlResult<Expr> {
    if !digits.bytes().all(|b| b == b'0' || b == b'1') {
        return Err(SqlError::syntax(format!("near 'b'{digits}''")));
    }
    let mut out = vec![0u8; digits.len().div_ceil(8)];
    for (i, d) in digits.bytes().rev().enumerate() {
        let n = out.len();
        out[n - 1 - i / 8] |= (d - b'0') << (i % 8);
    }
    Ok(bit_string(out))
}

fn bit_string(bytes: Vec<u8>) -> Expr {
    let e = string(bytes, Collation::Binary);
    match e.kind {
        ExprKind::Literal(v) => Expr::new(ExprKind::BitString(v), e.ty, false),
        _ => e,
    }
}

/// `_utf8mb4'text'`, `_binary'text'`.
pub(super) fn introduced(
    prefix: &ast::Ident,
    inner: &ast::Expr,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let charset = prefix.value.trim_start_matches('_');
    let ast::Expr::Value(v) = inner else {
        return Err(SqlError::syntax(format!("near '{prefix}'")));
    };
    let mut e = value(v, scope)?;
    if charset.eq_ignore_ascii_case("latin1") {
        return Ok(latin1(e, scope));
    }
    let collation = Collation::of_charset(charset)?;
    if let ExprKind::Literal(v @ Value::Bytes(_)) | ExprKind::BitString(v @ Value::Bytes(_)) =
        e.kind
    {
        if collation != Collation::Binary
            && let Some(m) = not_utf8(&v.to_text())
        {
            return Err(SqlError::new(1300, m));
        }
        let ty = type_of(&v, collation);
        e = Expr::literal(v, ty);
    }
    Ok(e)
}

/// `_latin1'text'`: what the bytes that were sent mean in latin1.
fn latin1(e: Expr, scope: &mut dyn Scope) -> Expr {
    let sent = match e.kind {
        ExprKind::BitString(Value::Bytes(b)) => b.into_owned(),
        ExprKind::Literal(Value::Bytes(b)) => {
            let sent = scope.session().client.get().sent(&b);
            sent.unwrap_or_else(|| b.into_owned())
        }
        kind => return Expr { kind, ..e },
    };
    let mut text = String::with_capacity(sent.len());
    Encoding::Latin1.decode(&sent, &mut text);
    string(text.into_bytes(), scope.collation())
}

/// `DATE '2024-01-31'` and the like.
pub(super) fn typed(t: &ast::TypedString, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let ty = crate::parse::sql_type(&t.data_type, scope.collation())?;
    let text = match &t.value.value {
        ast::Value::SingleQuotedString(s) | ast::Value::DoubleQuotedString(s) => s.as_bytes(),
        other => return Err(SqlError::syntax(format!("near '{other}'"))),
    };
    let wrong = |kind: &str| {
        SqlError::new(
            1525,
            format!(
                "Incorrect {kind} value: '{}'",
                String::from_utf8_lossy(text)
            ),
        )
    };
    let fraction = text
        .iter()
        .rposition(|b| *b == b'.')
        .map_or(0, |i| text.len() - i - 1);
    let fsp = fraction.min(6) as u8;
    match ty.base {
        BaseType::Date => {
            let p = parse_time::parse_datetime(text).filter(|p| !p.trailing && !p.has_time);
            let p = p.ok_or_else(|| wrong("DATE"))?;
            Ok(Expr::literal(Value::Date(p.value.date), ty))
        }
        BaseType::DateTime | BaseType::Timestamp => {
            let p = parse_time::parse_datetime(text).filter(|p| !p.trailing);
            let p = p.ok_or_else(|| wrong("DATETIME"))?;
            Ok(Expr::literal(
                Value::DateTime(p.value),
                SqlType::datetime(fsp),
            ))
        }
        BaseType::Time => {
            let p = parse_time::parse_time(text).filter(|p| !p.trailing);
            let p = p.ok_or_else(|| wrong("TIME"))?;
            let ty = SqlType::temporal(BaseType::Time, fsp);
            Ok(Expr::literal(Value::Time(p.value), ty))
        }
        _ => Err(SqlError::syntax(format!("near '{t}'"))),
    }
}
