//! Conversions that a statement asks for: CAST, CONVERT, COLLATE.

use millpond_syntax::ast::{self, CastCharset, CastType};

use super::numbers::{as_number, cast_choices};
use super::{Scope, is_param, json, sent};
use crate::error::{SqlError, SqlResult};
use crate::expr::{Expr, ExprKind};
use crate::types::{BaseType, Collation, SqlType, derive};

pub(super) fn collate(e: Expr, name: &str, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let collation = Collation::by_name(name)?;
    let own = match e.ty.is_string() {
        true => e.ty.collation,
        false => scope.collation(),
    };
    if own.character_set() != collation.character_set() {
        let m = format!(
            "COLLATION '{}' is not valid for CHARACTER SET '{}'",
            collation.name(),
            own.charset()
        );
        return Err(SqlError::new(1253, m));
    }
    let e = json::as_text(e);
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
    let collation = Collation::of_charset(charset)?;
    let e = converted(e, collation, scope);
    let ty = text_of(&e, collation);
    let nullable = e.nullable || ty.is_character() && may_be_no_text(&e);
    Ok(Expr::new(ExprKind::Cast(Box::new(e)), ty, nullable))
}

/// A string that is to be one of a collation: of a text its bytes where that is binary, of bytes the text they are where that has bytes of
/// its own.
fn converted(mut e: Expr, collation: Collation, scope: &mut dyn Scope) -> Expr {
    if collation == Collation::Binary {
        sent::into_bytes(&mut e, scope);
    } else if sent::is_bytes(&e.ty) && !collation.is_plain() {
        e = sent::into_text(e, collation);
    }
    e
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
            let bytes = if widens { e.ty.char_bytes() } else { 1 };
            SqlType::varchar(length.saturating_mul(bytes), collation)
        }
    }
}

/// `BINARY x`.
pub(super) fn to_binary(e: Expr, scope: &mut dyn Scope) -> Expr {
    let ty = text_of(&e, Collation::Binary);
    cast(e, ty, scope)
}

/// `CAST(x AS type)`, `CONVERT(x, type)`.
pub(super) fn cast_to(e: Expr, to: &CastType, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let ty = target(&e, to, scope.collation())?;
    Ok(cast(e, ty, scope))
}

/// The type that CAST makes of an expression.
pub(super) fn target(e: &Expr, to: &CastType, connection: Collation) -> SqlResult<SqlType> {
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
        CastType::Nchar(length) => return chars(e, *length, Collation::Utf8mb3GeneralCi),
        CastType::Date => D::Temporal(T::Date, None),
        CastType::Year => D::Temporal(T::Year, None),
        CastType::Time(digits) => D::Temporal(T::Time, *digits),
        CastType::Datetime(digits) => D::Temporal(T::DateTime, *digits),
        CastType::Decimal(None) => D::Decimal(None, None, numeric),
        CastType::Decimal(Some((digits, scale))) => D::Decimal(Some(*digits), *scale, numeric),
        CastType::Double => float(ast::FloatSize::Double, None),
        CastType::Real => float(ast::FloatSize::Real, None),
        CastType::Float(n) => float(ast::FloatSize::Float, *n),
        CastType::Json => return Ok(SqlType::json()),
        CastType::Spatial(name) => return Ok(crate::parse::spatial(name)),
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

/// The collation of CAST's CHAR.
fn charset_of(charset: &CastCharset, connection: Collation) -> SqlResult<Collation> {
    let (chosen, bin) = match charset {
        CastCharset::Named(name, bin) => (Collation::of_charset(name.as_str())?, *bin),
        CastCharset::Ascii(bin) => (Collation::Latin1SwedishCi, *bin),
        CastCharset::Unicode(bin) => (Collation::Ucs2GeneralCi, *bin),
        CastCharset::Byte => (Collation::Binary, false),
        CastCharset::Unsaid => (connection, false),
        CastCharset::Binary => (connection, true),
    };
    Ok(match bin {
        true => Collation::bin_of(chosen.character_set()),
        false => chosen,
    })
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

pub(super) fn cast(mut e: Expr, ty: SqlType, scope: &mut dyn Scope) -> Expr {
    if ty.is_string() {
        e = converted(e, ty.collation, scope);
    }
    if ty.is_numeric() {
        as_number(&mut e);
    }
    if cast_choices(&mut e, &ty) {
        return e;
    }
    if is_param(&e) && !ty.is_json() {
        e.ty = ty.clone();
    }
    // What is no number or date of the kind becomes NULL (dates) or zero (numbers).
    let nullable = e.nullable
        || ty.is_temporal()
        || ty.base == BaseType::Year
        || ty.is_character() && may_be_no_text(&e);
    Expr::new(ExprKind::Cast(Box::new(e)), ty, nullable)
}
