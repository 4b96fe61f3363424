//! Conversions that a statement asks for: CAST, CONVERT, COLLATE.

use millpond_syntax::ast::{self, CastCharset, CastType};

use super::comparisons::as_number;
use super::{Scope, call, is_param};
use crate::error::{SqlError, SqlResult};
use crate::expr::{Expr, ExprKind, Func};
use crate::types::{BaseType, Collation, SqlType, derive};

pub(super) fn collate(e: Expr, name: &str) -> SqlResult<Expr> {
    let collation = Collation::by_name(name)?;
    if e.ty.is_string() && e.ty.collation == Collation::Binary && collation != Collation::Binary {
        let m = format!(
            "COLLATION '{}' is not valid for CHARACTER SET 'binary'",
            collation.name()
        );
        return Err(SqlError::new(1253, m));
    }
    let base = if e.ty.is_string() && !e.ty.is_enumerated() {
        e.ty.clone()
    } else {
        SqlType::varchar(derive::text_length(&e.ty), collation)
    };
    let nullable = e.nullable;
    let text = if e.ty.is_string() {
        e
    } else {
        let ty = base.clone();
        Expr::new(ExprKind::Cast(Box::new(e)), ty, nullable)
    };
    let ty = SqlType { collation, ..base };
    Ok(Expr::new(ExprKind::Collate(Box::new(text)), ty, nullable))
}

pub(super) fn convert_using(e: Expr, charset: &str, scope: &mut dyn Scope) -> SqlResult<Expr> {
    if charset.eq_ignore_ascii_case("latin1") {
        let binary = e.ty.is_string() && e.ty.collation == Collation::Binary;
        let f = if binary {
            Func::FromLatin1
        } else {
            Func::ToLatin1
        };
        return Ok(call::function(f, vec![e], scope));
    }
    let collation = Collation::of_charset(charset)?;
    let e = match collation {
        Collation::Binary => call::latin1_bytes(e),
        _ => e,
    };
    let ty = text_of(&e, collation);
    let nullable = e.nullable || ty.is_character() && may_be_no_text(&e);
    Ok(Expr::new(ExprKind::Cast(Box::new(e)), ty, nullable))
}

/// Whether bytes may come of it that are no text, of which a cast makes NULL.
pub(super) fn may_be_no_text(e: &Expr) -> bool {
    e.ty.is_string() && e.ty.collation == Collation::Binary || is_param(e)
}

/// A string type as long as an expression's text.
pub(super) fn text_of(e: &Expr, collation: Collation) -> SqlType {
    match (is_param(e), collation) {
        (true, Collation::Binary) => SqlType::new(BaseType::LongBlob),
        (true, _) => SqlType {
            collation,
            ..SqlType::new(BaseType::LongText)
        },
        _ => {
            // Bytes, of what was counted in characters.
            let widens = collation == Collation::Binary && e.ty.collation != Collation::Binary;
            let length = derive::text_length(&e.ty).max(1);
            SqlType::varchar(length.saturating_mul(if widens { 4 } else { 1 }), collation)
        }
    }
}

/// `BINARY x`.
pub(super) fn to_binary(e: Expr) -> Expr {
    let ty = text_of(&e, Collation::Binary);
    cast(e, ty)
}

/// `CAST(x AS type)`, `CONVERT(x, type)`.
pub(super) fn cast_to(e: Expr, to: &CastType, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let ty = target(&e, to, scope.collation())?;
    Ok(cast(e, ty))
}

/// The type that CAST makes of an expression.
fn target(e: &Expr, to: &CastType, connection: Collation) -> SqlResult<SqlType> {
    use ast::{DataType as D, TemporalType as T};
    let numeric = ast::Numeric::default();
    let float = |size, n| D::Float(size, n, None, numeric);
    let ty = match to {
        CastType::Signed => return Ok(SqlType::bigint()),
        CastType::Unsigned => return Ok(SqlType::ubigint()),
        CastType::Binary(None) => return Ok(text_of(e, Collation::Binary)),
        CastType::Binary(length) => D::Binary(*length),
        CastType::Char { length, charset } => {
            return chars(e, *length, charset_of(charset, connection)?);
        }
        CastType::Nchar(length) => return chars(e, *length, connection),
        CastType::Date => D::Temporal(T::Date, None),
        CastType::Year => D::Temporal(T::Year, None),
        CastType::Time(digits) => D::Temporal(T::Time, *digits),
        CastType::Datetime(digits) => D::Temporal(T::DateTime, *digits),
        CastType::Decimal(None) => D::Decimal(None, None, numeric),
        CastType::Decimal(Some((digits, scale))) => D::Decimal(Some(*digits), *scale, numeric),
        CastType::Double => float(ast::FloatSize::Double, None),
        CastType::Real => float(ast::FloatSize::Real, None),
        CastType::Float(n) => float(ast::FloatSize::Float, *n),
        CastType::Json => return Err(SqlError::unsupported("type JSON")),
        CastType::Spatial(name) => {
            return Err(SqlError::unsupported(format_args!("type {name}")));
        }
    };
    crate::parse::sql_type(&ty, connection)
}

/// CHAR and CHAR(n) in a collation.
fn chars(e: &Expr, length: Option<u64>, collation: Collation) -> SqlResult<SqlType> {
    match length {
        None => Ok(text_of(e, collation)),
        Some(_) => {
            let ty = ast::DataType::Char(length, ast::Charset::default());
            crate::parse::sql_type(&ty, collation)
        }
    }
}

/// The collation of CAST's CHAR. Texts are Unicode whatever is said, but bytes are bytes.
fn charset_of(charset: &CastCharset, connection: Collation) -> SqlResult<Collation> {
    match charset {
        CastCharset::Named(name, _)
            if Collation::of_charset(name.as_str())? == Collation::Binary =>
        {
            Ok(Collation::Binary)
        }
        CastCharset::Byte => Ok(Collation::Binary),
        _ => Ok(connection),
    }
}

/// What is assigned to a string: of a time the text with its type's digits. Numbers are assigned as numbers, whatever they look like.
pub(crate) fn as_own_text(e: &mut Expr) {
    let free = is_param(e) || matches!(e.kind, ExprKind::UserVariable(_));
    if !free && e.ty.is_temporal() {
        let inner = std::mem::replace(e, Expr::null());
        let ty = text_of(&inner, inner.ty.collation);
        let nullable = inner.nullable;
        *e = Expr::new(ExprKind::Cast(Box::new(inner)), ty, nullable);
    }
}

fn cast(mut e: Expr, ty: SqlType) -> Expr {
    if ty.is_string() && !ty.is_character() {
        e = call::latin1_bytes(e);
    }
    if ty.is_numeric() {
        as_number(&mut e);
    }
    if is_param(&e) {
        e.ty = ty.clone();
    }
    // What is no number or date of the kind becomes NULL (dates) or zero (numbers).
    let nullable = e.nullable
        || ty.is_temporal()
        || ty.base == BaseType::Year
        || ty.is_character() && may_be_no_text(&e);
    Expr::new(ExprKind::Cast(Box::new(e)), ty, nullable)
}
