//! Documents among arguments, and what has a syntax of its own: JSON_VALUE.

use std::borrow::Borrow;

use millpond_syntax::ast;

use super::{Scope, bind, call, cast, is_condition, is_param};
use crate::error::{SqlError, SqlResult};
use crate::expr::func::{Func, json_text, on};
use crate::expr::{EvalContext, Expr, ExprKind};
use crate::types::{BaseType, Collation, SqlType};
use crate::value;

/// A document as its text; anything else as it is.
pub(super) fn as_text(e: Expr) -> Expr {
    if !e.ty.is_json() || is_param(&e) {
        return e;
    }
    let nullable = e.nullable;
    Expr::new(ExprKind::Cast(Box::new(e)), json_text(), nullable)
}

/// A bound expression as a document has it: TRUE or FALSE, if it is written as a truth value.
pub(super) fn truth(written: &ast::Expr, e: Expr) -> Expr {
    if !is_condition(written) {
        return e;
    }
    let nullable = e.nullable;
    let kind = ExprKind::Function(Func::JsonBoolean, vec![e]);
    Expr::new(kind, SqlType::json(), nullable)
}

/// Both sides of a comparison, truth values beside documents being documents.
pub(super) fn truths(a: (&ast::Expr, Expr), b: (&ast::Expr, Expr)) -> (Expr, Expr) {
    match (a.1.ty.is_json(), b.1.ty.is_json()) {
        (true, false) => (a.1, truth(b.0, b.1)),
        (false, true) => (truth(a.0, a.1), b.1),
        _ => (a.1, b.1),
    }
}

/// What CASE compares a document as: as one with others, as the number that it is with numbers, else as its text, so that null is
/// the text `null` there.
pub(super) fn operand_of_case(e: Expr, when: &Expr, scope: &mut dyn Scope) -> Expr {
    if !e.ty.is_json() || when.ty.is_json() {
        return e;
    }
    match when.ty.is_numeric() {
        true => cast::cast(e, SqlType::double(), scope),
        false => as_text(e),
    }
}

/// Arguments of a function of documents.
pub(super) fn bind_args(
    args: impl IntoIterator<Item = impl Borrow<ast::Expr>>,
    scope: &mut dyn Scope,
) -> SqlResult<Vec<Expr>> {
    let mut bound = Vec::new();
    for e in args {
        let e = e.borrow();
        bound.push(truth(e, bind(e, scope)?));
    }
    Ok(bound)
}

/// The parts of `JSON_VALUE(value, path RETURNING type ... ON EMPTY ... ON ERROR)`.
pub(super) struct Value<'a> {
    pub value: &'a ast::Expr,
    pub path: &'a ast::Expr,
    pub returning: Option<&'a ast::CastType>,
    pub on_empty: Option<&'a ast::JsonOn>,
    pub on_error: Option<&'a ast::JsonOn>,
}

/// Characters of JSON_VALUE() that says no type.
const VALUE_CHARS: u32 = 512;

pub(super) fn value(v: Value<'_>, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let document = bind(v.value, scope)?;
    let path = bind(v.path, scope)?;
    let ty = match v.returning {
        None => SqlType::varchar(VALUE_CHARS, scope.collation()),
        Some(to) => match cast::target(&document, to, scope.collation())? {
            ty if ty.is_blob() && ty.collation != Collation::Binary => {
                SqlType::varchar(VALUE_CHARS, scope.collation())
            }
            ty => ty,
        },
    };
    let mut args = vec![document, path];
    for otherwise in [v.on_empty, v.on_error] {
        let (mode, default) = match otherwise {
            None | Some(ast::JsonOn::Null) => (on::NULL, Expr::null()),
            Some(ast::JsonOn::Error) => (on::ERROR, Expr::null()),
            Some(ast::JsonOn::Default(e)) => (on::DEFAULT, default(bind(e, scope)?, &ty, scope)?),
        };
        args.push(Expr::literal(value::Value::Int(mode), SqlType::bigint()));
        args.push(default);
    }
    let mut e = call::function(Func::JsonValue, args, scope);
    e.ty = ty;
    Ok(e)
}

/// A DEFAULT in the type of the call: one that doesn't fit is refused at once.
fn default(e: Expr, ty: &SqlType, scope: &mut dyn Scope) -> SqlResult<Expr> {
    if e.ty.base == BaseType::Null {
        return Ok(e);
    }
    let session = scope.session();
    let cx = EvalContext {
        rows: &[],
        params: &[],
        session,
    };
    let own = value::ConversionEnv::default();
    own.zone.set(session.zone.get());
    own.sql_mode.set(session.sql_mode.get());
    let converted = value::cast(e.eval(&cx)?, ty, &own)?.into_owned();
    if let Some(said) = own.diagnostics.borrow().first() {
        return Err(SqlError::new(said.code, said.message.clone()));
    }
    Ok(Expr::literal(converted, ty.clone()))
}
