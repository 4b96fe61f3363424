//! Names: columns, variables, and what types their values have.

use std::sync::Arc;

use sqlparser::ast;

use super::{Scope, call};
use crate::error::{SqlError, SqlResult};
use crate::expr::{Expr, ExprKind};
use crate::types::collation::char_count;
use crate::types::{BaseType, Collation, SqlType};
use crate::value::Value;

/// Error 1054 for a column name as written.
pub fn unknown_column(qualifier: &[&str], name: &str, clause: &str) -> SqlError {
    let mut full = String::new();
    for q in qualifier {
        full.push_str(q);
        full.push('.');
    }
    full.push_str(name);
    SqlError::new(1054, format!("Unknown column '{full}' in '{clause}'"))
}

pub(super) fn object_name(n: &ast::ObjectName) -> String {
    n.0.iter()
        .filter_map(|p| p.as_ident())
        .map(|i| i.value.clone())
        .collect::<Vec<_>>()
        .join(".")
}

/// A column, or a variable: `@name`, `@@name`, `@@scope.name`.
pub(super) fn name(
    qualifier: &[ast::Ident],
    last: &ast::Ident,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let first = qualifier.first().unwrap_or(last);
    let bare = first.quote_style.is_none();
    if bare && let Some(system) = first.value.strip_prefix("@@") {
        return system_variable(system, qualifier, last, scope);
    }
    if bare
        && qualifier.is_empty()
        && let Some(user) = last.value.strip_prefix('@')
    {
        let user = user.trim_matches(|c| matches!(c, '`' | '\'' | '"'));
        return user_variable(user, scope);
    }
    if bare
        && qualifier.is_empty()
        && let Some(e) = call::bare_name(&last.value, scope)?
    {
        return Ok(e);
    }
    let names: Vec<&str> = qualifier.iter().map(|i| i.value.as_str()).collect();
    scope.column(&names, &last.value)
}

pub(super) fn system_variable(
    first: &str,
    qualifier: &[ast::Ident],
    last: &ast::Ident,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let (scope_name, var) = if qualifier.is_empty() {
        match first.split_once('.') {
            Some((s, v)) => (s.to_ascii_lowercase(), v.to_string()),
            None => (String::new(), first.to_string()),
        }
    } else {
        (first.to_ascii_lowercase(), last.value.clone())
    };
    let scope_name = match scope_name.as_str() {
        "local" => "session",
        other => other,
    };
    let var = var.to_ascii_lowercase();
    // The value now tells the type; it is read again when the expression is evaluated.
    scope.keep_private();
    let now = (scope.session().sys_var)(scope_name, &var)?;
    let ty = type_of(&now, scope.collation());
    let kind = ExprKind::SystemVariable(Arc::from(scope_name), Arc::from(var));
    Ok(Expr::new(kind, ty, true))
}

pub(super) fn user_variable(name: &str, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let name: Arc<str> = name.to_ascii_lowercase().into();
    scope.keep_private();
    let ty = match scope.session().user_vars.borrow().get(&*name) {
        Some(v) if !v.is_null() => type_of(v, scope.collation()),
        _ => SqlType {
            collation: scope.collation(),
            ..SqlType::new(BaseType::LongText)
        },
    };
    scope.variable_type(&name, &ty);
    Ok(Expr::new(ExprKind::UserVariable(name), ty, true))
}

/// The type that a value has by itself.
pub fn type_of(v: &Value<'_>, collation: Collation) -> SqlType {
    match v {
        Value::Null => SqlType::null(),
        Value::Int(_) => SqlType::bigint(),
        Value::UInt(_) => SqlType::ubigint(),
        Value::Double(_) => SqlType::double(),
        Value::Decimal(d) => SqlType::decimal(d.precision(), d.scale()),
        Value::Bytes(b) => SqlType::varchar(char_count(b) as u32, collation),
        Value::Date(_) => SqlType::new(BaseType::Date),
        Value::DateTime(d) => SqlType::datetime(if d.micro == 0 { 0 } else { 6 }),
        Value::Time(t) => {
            let fsp = if t.micros % 1_000_000 == 0 { 0 } else { 6 };
            SqlType::temporal(BaseType::Time, fsp)
        }
    }
}

/// Whether a value may stand where one of a type was expected: NULL anywhere, a text where there is room for it.
pub fn is_of(v: &Value<'_>, ty: &SqlType) -> bool {
    match v {
        Value::Null => true,
        Value::Bytes(b) => ty.is_string() && ty.length as usize >= char_count(b),
        v => type_of(v, ty.collation) == *ty,
    }
}
