//! Literals.

use millpond_syntax::ast;

use super::{Scope, bind, type_of};
use crate::error::{SqlError, SqlResult};
use crate::expr::{Expr, ExprKind};
use crate::parse;
use crate::types::{BaseType, Collation, Encoding, SqlType};
use crate::value::invalid;
use crate::value::{Value, parse_time};

/// A literal other than NULL, TRUE, FALSE and small whole numbers.
pub(super) fn literal(l: &ast::Literal, scope: &mut dyn Scope) -> SqlResult<Expr> {
    use ast::Literal as L;
    Ok(match l {
        L::BigInt(digits) | L::Decimal(digits) | L::Float(digits) => {
            if parse::digits_before_point(digits) > parse::MAX_LITERAL_DIGITS {
                let m = "Truncated incorrect DECIMAL value: ''";
                scope.session().warn(1292, m.to_string());
            }
            number(digits)?
        }
        L::Text(s, _) => text(s.as_bytes(), scope.collation()),
        L::National(s) => text(s.as_bytes(), Collation::Utf8mb3GeneralCi),
        L::Hex(bytes) => bit_string(bytes.to_vec()),
        L::Bits(digits) => bit_string(bytes_of_bits(digits.as_str())),
        L::Date(text) => typed(BaseType::Date, text, scope)?,
        L::Time(text) => typed(BaseType::Time, text, scope)?,
        L::Timestamp(text) => typed(BaseType::DateTime, text, scope)?,
    })
}

/// A whole number.
pub(super) fn int(n: u64) -> SqlResult<Expr> {
    let Ok(v) = i64::try_from(n) else {
        let ty = SqlType {
            length: n.ilog10() + 1,
            ..SqlType::ubigint()
        };
        return Ok(Expr::literal(Value::UInt(n), ty));
    };
    let ty = SqlType {
        length: n.checked_ilog10().unwrap_or(0) + 1,
        ..SqlType::bigint()
    };
    Ok(Expr::literal(Value::Int(v), ty))
}

/// What a minus sign before a number makes of the two: `-9223372036854775808` is one number whose digits alone do not fit.
pub(super) fn negative(e: &ast::Expr) -> Option<SqlResult<Expr>> {
    use ast::Literal as L;
    match &e.kind {
        ast::ExprKind::Int(n) => Some(number(&format!("-{n}"))),
        ast::ExprKind::Literal(l) => match &**l {
            L::BigInt(digits) | L::Decimal(digits) | L::Float(digits) => {
                Some(number(&format!("-{digits}")))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A placeholder.
pub(super) fn param(n: u32, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let i = scope.param(n)?;
    let ty = SqlType {
        collation: scope.collation(),
        ..SqlType::new(BaseType::LongText)
    };
    Ok(Expr::new(ExprKind::Param(i), ty, true))
}

/// A text of a character set, with question marks for what that does not have.
fn text(text: &[u8], collation: Collation) -> Expr {
    let encoding = collation.character_set().encoding();
    string(encoding.fitted(text.into()).into_owned(), collation)
}

/// What a placeholder has for a value, as a literal.
pub(super) fn given(v: Value<'static>, scope: &dyn Scope) -> Expr {
    let ty = type_of(&v, scope.collation());
    Expr::literal(v, ty)
}

fn string(bytes: Vec<u8>, collation: Collation) -> Expr {
    let v = Value::Bytes(bytes.into());
    let ty = type_of(&v, collation);
    Expr::literal(v, ty)
}

/// A number: an integer if it fits 64 bits, a double if it has an exponent, else a decimal.
pub(super) fn number(digits: &str) -> SqlResult<Expr> {
    let v = parse::number(digits)?;
    let ty = match &v {
        Value::Int(_) => SqlType {
            length: digits.trim_start_matches('-').len() as u32,
            ..SqlType::bigint()
        },
        Value::UInt(_) => SqlType {
            length: digits.len() as u32,
            ..SqlType::ubigint()
        },
        Value::Double(_) => SqlType::double(),
        v => type_of(v, Collation::Binary),
    };
    Ok(Expr::literal(v, ty))
}

/// The bytes of `b'101'`.
pub(crate) fn bytes_of_bits(digits: &str) -> Vec<u8> {
    let mut out = vec![0u8; digits.len().div_ceil(8)];
    for (i, d) in digits.bytes().rev().enumerate() {
        let n = out.len();
        out[n - 1 - i / 8] |= (d - b'0') << (i % 8);
    }
    out
}

fn bit_string(bytes: Vec<u8>) -> Expr {
    let e = string(bytes, Collation::Binary);
    match e.kind {
        ExprKind::Literal(v) => Expr::new(ExprKind::BitString(v), e.ty, false),
        _ => e,
    }
}

/// `_utf8mb4'text'`, `_binary'text'`, `_latin1 x'e9'`: what the bytes that were sent mean in a character set.
pub(super) fn introduced(l: &ast::CollatedLiteral, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let collation = Collation::of_charset(l.charset.as_str())?;
    let text = introduced_text(l, collation, scope.client())?;
    Ok(string(text, collation))
}

/// The same as a value: UTF-8, or bytes. Error 1300 for bytes that mean nothing.
pub(crate) fn introduced_text(
    l: &ast::CollatedLiteral,
    collation: Collation,
    client: Encoding,
) -> SqlResult<Vec<u8>> {
    use ast::Literal as L;
    let sent = match &l.literal {
        L::Hex(bytes) => bytes.to_vec(),
        L::Bits(digits) => bytes_of_bits(digits.as_str()),
        L::Text(s, _) | L::National(s) => client.encoded(s.as_bytes()).into_owned(),
        other => return Err(SqlError::unsupported(other)),
    };
    read_in(sent, collation)
}

/// What bytes are in a collation's character set: UTF-8, or bytes. Error 1300 for bytes that mean nothing.
pub(crate) fn read_in(sent: Vec<u8>, collation: Collation) -> SqlResult<Vec<u8>> {
    let charset = collation.character_set();
    if collation == Collation::Binary {
        return Ok(sent);
    }
    let bytes = charset.encoding().padded(&sent);
    match charset.encoding().text_of(&bytes) {
        Ok(text) => Ok(text.into_owned().into_bytes()),
        Err(good) => Err(SqlError::new(1300, invalid(charset, &bytes[good..]))),
    }
}

/// `{d '2024-01-31'}`, `{t '10:00:00'}`, `{ts '2024-01-31 10:00:00'}`; a text that is none stays a text, and any other name changes
/// nothing.
pub(super) fn odbc(name: &ast::Ident, e: &ast::Expr, scope: &mut dyn Scope) -> SqlResult<Expr> {
    match odbc_base(name).and_then(|base| odbc_typed(base, e, scope)) {
        Some(e) => Ok(e),
        None => bind(e, scope),
    }
}

/// The text that `{name e}` stays, if it stays one: its heading says what it says.
pub(crate) fn odbc_text<'e>(
    name: &ast::Ident,
    e: &'e ast::Expr,
    scope: &dyn Scope,
) -> Option<&'e str> {
    let text = text_of(e)?;
    let typed = odbc_base(name).and_then(|base| odbc_typed(base, e, scope));
    typed.is_none().then_some(text)
}

/// The type that the name of `{name e}` stands for.
fn odbc_base(name: &ast::Ident) -> Option<BaseType> {
    match name.as_str().to_ascii_lowercase().as_str() {
        "d" => Some(BaseType::Date),
        "t" => Some(BaseType::Time),
        "ts" => Some(BaseType::DateTime),
        _ => None,
    }
}

fn text_of(e: &ast::Expr) -> Option<&str> {
    let ast::ExprKind::Literal(l) = &e.kind else {
        return None;
    };
    match &**l {
        ast::Literal::Text(text, _) => Some(text),
        _ => None,
    }
}

fn odbc_typed(base: BaseType, e: &ast::Expr, scope: &dyn Scope) -> Option<Expr> {
    typed(base, text_of(e)?, scope).ok()
}

/// `DATE '2024-01-31'` and the like.
fn typed(base: BaseType, text: &str, scope: &dyn Scope) -> SqlResult<Expr> {
    let text = text.as_bytes();
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
    let mode = scope.session().sql_mode.get();
    match base {
        BaseType::Date => {
            let p = parse_time::parse_datetime_in(text, mode);
            let p = p.filter(|p| !p.trailing && !p.has_time);
            let p = p.filter(|p| scope.takes_date(p.value.date));
            let p = p.ok_or_else(|| wrong("DATE"))?;
            Ok(Expr::literal(
                Value::Date(p.value.date),
                SqlType::new(BaseType::Date),
            ))
        }
        BaseType::DateTime => {
            let p = parse_time::parse_datetime_in(text, mode);
            let p = p.filter(|p| !p.trailing && p.has_time);
            let p = p.filter(|p| scope.takes_date(p.value.date));
            let p = p.ok_or_else(|| wrong("DATETIME"))?;
            Ok(Expr::literal(
                Value::DateTime(p.value),
                SqlType::datetime(fsp),
            ))
        }
        _ => {
            let p = parse_time::parse_time(text)
                .filter(|p| !p.trailing && !p.clamped && !p.dated)
                .filter(|_| !text[1.min(text.len())..].contains(&b'-'));
            let p = p.ok_or_else(|| wrong("TIME"))?;
            let ty = SqlType::temporal(BaseType::Time, fsp);
            Ok(Expr::literal(Value::Time(p.value), ty))
        }
    }
}
