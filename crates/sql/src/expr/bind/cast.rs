//! Conversions that a statement asks for: CAST, CONVERT, COLLATE.

use sqlparser::ast;

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
    let base = if e.ty.is_string() && e.ty.base != BaseType::Enum {
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

pub(super) fn cast_to(e: Expr, ty: &ast::DataType, scope: &mut dyn Scope) -> SqlResult<Expr> {
    use ast::DataType as D;
    let mut e = e;
    let ty = match ty {
        D::Char(None) | D::Character(None) | D::Varchar(None) | D::Text => {
            text_of(&e, scope.collation())
        }
        D::Binary(None) | D::Varbinary(None) => text_of(&e, Collation::Binary),
        other => crate::parse::sql_type(other, scope.collation())?,
    };
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
    Ok(Expr::new(ExprKind::Cast(Box::new(e)), ty, nullable))
}
