//! Texts where bytes are wanted, and bytes where texts are: beside a binary string or for a binary column it is the bytes of a text's own
//! character set that count, not its UTF-8. But constant bytes beside a column are a text in its character set.

use super::coercion::{Coercibility, hold_of};
use super::{Scope, call};
use crate::expr::func::Func;
use crate::expr::{Expr, ExprKind};
use crate::types::{Collation, SqlType};
use crate::value::Value;

pub(super) fn is_bytes(ty: &SqlType) -> bool {
    ty.is_string() && ty.collation == Collation::Binary
}

/// What stands beside a binary string.
pub(super) fn beside_bytes<'e>(
    list: impl IntoIterator<Item = &'e mut Expr>,
    scope: &mut dyn Scope,
) {
    let mut list: Vec<&mut Expr> = list.into_iter().collect();
    let texts = list.iter().filter(|e| e.ty.is_string() && !is_bytes(&e.ty));
    let firmest = texts
        .map(|e| (hold_of(e), e.ty.collation))
        .min_by_key(|(hold, _)| *hold);
    if let Some((hold, collation)) = firmest
        && hold < Coercibility::Constant
    {
        for e in &mut list {
            constant_into_text(e, collation);
        }
    }
    if list.iter().any(|e| is_bytes(&e.ty)) {
        for e in &mut list {
            into_bytes(e, scope);
        }
    }
}

/// Makes of constant bytes the text that they are in a collation's character set, if they are one.
fn constant_into_text(e: &mut Expr, collation: Collation) {
    let encoding = collation.character_set().encoding();
    if encoding.is_utf8() || !is_bytes(&e.ty) {
        return;
    }
    let (ExprKind::BitString(Value::Bytes(bytes)) | ExprKind::Literal(Value::Bytes(bytes))) =
        &e.kind
    else {
        return;
    };
    if let Ok(text) = encoding.text_of(bytes) {
        let v = Value::string(text.into_owned());
        let ty = super::type_of(&v, collation);
        *e = Expr::literal(v, ty);
    }
}

/// What a column is given: bytes for a binary one, a text for one whose character set has bytes of its own.
pub(crate) fn for_type(e: &mut Expr, ty: &SqlType, scope: &mut dyn Scope) {
    if is_bytes(ty) {
        into_bytes(e, scope);
    } else if ty.is_string() && is_bytes(&e.ty) && !ty.collation.is_plain() {
        let inner = std::mem::replace(e, Expr::null());
        *e = into_text(inner, ty.collation);
    }
}

/// A text as its bytes in its character set.
pub(crate) fn into_bytes(e: &mut Expr, scope: &mut dyn Scope) {
    if !e.ty.is_string() || is_bytes(&e.ty) {
        return;
    }
    if let ExprKind::Param(n) = e.kind {
        return scope.bytes_param(n);
    }
    let encoding = e.ty.collation.character_set().encoding();
    if encoding.is_utf8() {
        return;
    }
    if let ExprKind::Literal(Value::Bytes(text)) = &e.kind {
        let v = Value::Bytes(encoding.encoded(text).into_owned().into());
        let ty = super::type_of(&v, Collation::Binary);
        *e = Expr::literal(v, ty);
        return;
    }
    let text = std::mem::replace(e, Expr::null());
    *e = call::function(Func::BytesOf, vec![text], scope);
}

/// Bytes as a text of a collation's character set.
pub(super) fn into_text(e: Expr, collation: Collation) -> Expr {
    let shortest = collation.character_set().facts().min_bytes;
    let length = e.ty.length.div_ceil(shortest).max(1);
    let ty = SqlType::varchar(length, collation);
    Expr::new(ExprKind::Function(Func::TextOf, vec![e]), ty, true)
}
