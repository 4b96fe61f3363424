//! Texts of clients of another character set where bytes are wanted: beside a binary string or for a binary column it is what
//! the client sent that counts, not its UTF-8.

use super::{Scope, coercion};
use crate::expr::func::Func;
use crate::expr::{Coercibility, Expr, ExprKind};
use crate::types::{Collation, Encoding, SqlType};
use crate::value::Value;

fn is_bytes(ty: &SqlType) -> bool {
    ty.is_string() && ty.collation == Collation::Binary
}

/// What stands beside a binary string.
pub(super) fn beside_bytes<'e>(
    list: impl IntoIterator<Item = &'e mut Expr>,
    scope: &mut dyn Scope,
) {
    if scope.session().client.get() == Encoding::Utf8 {
        return;
    }
    let mut list: Vec<&mut Expr> = list.into_iter().collect();
    if list.iter().any(|e| is_bytes(&e.ty)) {
        for e in &mut list {
            into_bytes(e, scope);
        }
    }
}

/// A constant that becomes bytes.
pub(crate) fn into_bytes(e: &mut Expr, scope: &mut dyn Scope) {
    let client = scope.session().client.get();
    if client == Encoding::Utf8 || !e.ty.is_string() || is_bytes(&e.ty) {
        return;
    }
    let constant = coercion::hold_of(e) == Coercibility::Constant;
    match &mut e.kind {
        ExprKind::Param(n) => scope.bytes_param(*n),
        ExprKind::Literal(Value::Bytes(text)) => {
            if let Some(sent) = client.sent(text) {
                let v = Value::Bytes(sent.into());
                let ty = super::type_of(&v, Collation::Binary);
                *e = Expr::literal(v, ty);
            }
        }
        ExprKind::Function(Func::Concat | Func::ConcatWs | Func::Coalesce | Func::IfNull, args)
            if constant =>
        {
            args.iter_mut().for_each(|a| into_bytes(a, scope));
        }
        ExprKind::Case(branches, last) if constant => {
            branches
                .iter_mut()
                .for_each(|b| into_bytes(&mut b.1, scope));
            last.iter_mut().for_each(|l| into_bytes(l, scope));
        }
        _ => {}
    }
}
