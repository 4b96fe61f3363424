//! Names: columns, variables, and what types their values have.

use std::sync::Arc;

use millpond_syntax::ast;

use super::Scope;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::{Expr, ExprKind};
use crate::types::collation::char_count;
use crate::types::{BaseType, Collation, SqlType};
use crate::value::Value;

/// The ORDER BY of a set operation, which has columns of its own and none of a table: error 1250.
pub(crate) const GLOBAL_ORDER: &str = "global ORDER clause";

/// Error 1054 for a column name as written.
pub fn unknown_column(qualifier: &[&str], name: &str, clause: &str) -> SqlError {
    let clause = match (clause, qualifier.last()) {
        (GLOBAL_ORDER, Some(table)) => {
            let m = format!("Table '{table}' from one of the SELECTs cannot be used in {clause}");
            return SqlError::new(1250, m);
        }
        (GLOBAL_ORDER, None) => "order clause",
        (clause, _) => clause,
    };
    let mut full = String::new();
    for q in qualifier {
        full.push_str(q);
        full.push('.');
    }
    full.push_str(name);
    SqlError::new(1054, format!("Unknown column '{full}' in '{clause}'"))
}

/// A column.
pub(super) fn column(c: &ast::ColumnRef, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let name = c.name();
    let found = match (c.database(), c.table()) {
        (_, None) => scope.column(&[], name),
        (None, Some(table)) => scope.column(&[table.as_str()], name),
        (Some(database), Some(table)) => scope.column(&[database.as_str(), table.as_str()], name),
    }?;
    Ok(as_read(found, scope.session()))
}

/// A column as sql_mode has it read: CHAR with blanks to its full length under PAD_CHAR_TO_FULL_LENGTH.
pub(crate) fn as_read(column: Expr, session: &SessionEnv) -> Expr {
    let is_char = column.ty.base == BaseType::Char;
    if !is_char || !session.sql_mode.get().pad_char {
        return column;
    }
    let (ty, nullable) = (column.ty.clone(), column.nullable);
    Expr::new(ExprKind::Padded(Box::new(column)), ty, nullable)
}

/// `@@name`, `@@scope.name`.
pub(super) fn system_variable(v: &ast::SystemVariable, scope: &mut dyn Scope) -> SqlResult<Expr> {
    use ast::VariableScope as V;
    let scope_name = match v.scope {
        None => "",
        Some(V::Global) => "global",
        Some(V::Session) => "session",
        Some(V::Persist) => "persist",
        Some(V::PersistOnly) => "persist_only",
    };
    let mut var = v.name.as_str().to_ascii_lowercase();
    if let Some(component) = &v.component {
        var = format!("{}.{var}", component.as_str().to_ascii_lowercase());
    }
    // The value now tells the type; it is read again when the expression is evaluated.
    scope.keep_private();
    let now = (scope.session().sys_var)(scope_name, &var)?;
    let ty = type_of(&now, scope.collation());
    let kind = ExprKind::SystemVariable(Arc::from(scope_name), Arc::from(var));
    Ok(Expr::new(kind, ty, true))
}

/// `@name`.
pub(super) fn user_variable(name: &str, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let name: Arc<str> = name.to_ascii_lowercase().into();
    scope.keep_private();
    let is_text = scope.is_text_variable(&name);
    let ty = match scope.session().user_vars.borrow().get(&*name) {
        Some(v) if !v.is_null() && !is_text => {
            let own = scope.session().collation_of_var(&name);
            type_of(v, own.unwrap_or(scope.collation()))
        }
        _ => SqlType {
            collation: scope.collation(),
            ..SqlType::new(BaseType::LongText)
        },
    };
    if !is_text {
        scope.variable_type(&name, &ty);
    }
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
        Value::Bytes(b) => {
            let length = match collation {
                Collation::Binary => b.len(),
                _ => char_count(b),
            };
            SqlType::varchar(length as u32, collation)
        }
        Value::Date(_) => SqlType::new(BaseType::Date),
        Value::DateTime(d) => SqlType::datetime(if d.micro == 0 { 0 } else { 6 }),
        Value::Time(t) => {
            let fsp = if t.micros % 1_000_000 == 0 { 0 } else { 6 };
            SqlType::temporal(BaseType::Time, fsp)
        }
        Value::Json(_) => SqlType::json(),
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
