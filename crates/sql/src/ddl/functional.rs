//! Functional key parts: each is over a hidden generated column that comes and goes with its key.
//!
//! The column is VIRTUAL and nullable, of the type that the expression has, and stands behind all others. Its name tells the key
//! that it was made for, for messages; nothing else finds it by name.

use super::key::{KeyKind, KeySpec};
use crate::computed::{self, Definition, Role};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast;
use crate::types::{BaseType, Column, DefaultValue, Generated, SqlType, Visibility};

/// What the names of hidden columns begin with, and what stands between their parts.
const HIDDEN: &str = "!hidden!";
/// What a key without a name is called whose first part is an expression.
const UNNAMED: &str = "functional_index";

/// The key that a hidden column was made for.
pub(super) fn key_of(column: &str) -> &str {
    let rest = column.strip_prefix(HIDDEN).unwrap_or(column);
    rest.rsplitn(3, '!').last().unwrap_or(rest)
}

/// Drops the hidden columns that no key has any more.
pub(super) fn retain_used<T>(columns: &mut Vec<T>, keys: &[KeySpec], of: impl Fn(&T) -> &Column) {
    columns.retain(|c| {
        let c = of(c);
        let is_part = |k: &KeySpec| k.parts.iter().any(|(name, ..)| *name == c.name);
        c.visibility != Visibility::Hidden || keys.iter().any(is_part)
    });
}

/// Gives hidden columns the types that their expressions have now: other columns may have other types than before. `gone`: names of
/// columns that are dropped, or named otherwise.
pub(super) fn retype(
    table: &str,
    columns: &mut [Column],
    gone: &[String],
    env: &SessionEnv,
) -> SqlResult<()> {
    for at in 0..columns.len() {
        let Some(g) = columns[at].generated.clone() else {
            continue;
        };
        if columns[at].visibility != Visibility::Hidden {
            continue;
        }
        let definition = Definition {
            table,
            columns,
            gone,
            env,
        };
        let role = Role::Index(key_of(&columns[at].name));
        let ty = definition.type_of(&g.text, role)?;
        columns[at].ty = column_type(ty, &g.text)?;
    }
    Ok(())
}

/// Makes the hidden columns of keys that have expressions, and the keys' parts of them.
pub(super) fn expand(
    table: &str,
    keys: &mut [KeySpec],
    columns: &mut Vec<Column>,
    env: &SessionEnv,
) -> SqlResult<()> {
    for at in 0..keys.len() {
        let exprs = std::mem::take(&mut keys[at].exprs);
        if exprs.is_empty() {
            continue;
        }
        if keys[at].kind == KeyKind::Primary {
            return Err(SqlError::new(
                3756,
                "The primary key cannot be a functional index",
            ));
        }
        let leads = exprs.iter().any(|(part, _)| *part == 0);
        let name = match &keys[at].name {
            Some(name) => name.clone(),
            None if leads => free_name(keys),
            None => keys[at].parts[0].0.clone(),
        };
        if leads {
            keys[at].name = Some(name.clone());
        }
        for (part, e) in exprs {
            let column = hidden(table, &name, part, &e, columns, env)?;
            keys[at].parts[part].0.clone_from(&column.name);
            columns.push(column);
        }
    }
    Ok(())
}

fn free_name(keys: &[KeySpec]) -> String {
    let is_free = |name: &String| {
        let named = |k: &KeySpec| {
            k.name
                .as_ref()
                .is_some_and(|n| n.eq_ignore_ascii_case(name))
        };
        !keys.iter().any(named)
    };
    let numbered = (2..).map(|n| format!("{UNNAMED}_{n}"));
    let mut names = std::iter::once(UNNAMED.to_string()).chain(numbered);
    names.find(is_free).unwrap_or_default()
}

/// The column of a part of a key.
fn hidden(
    table: &str,
    key: &str,
    part: usize,
    e: &ast::Expr,
    columns: &[Column],
    env: &SessionEnv,
) -> SqlResult<Column> {
    if matches!(e.kind, ast::ExprKind::Column(_)) {
        return Err(SqlError::new(
            3762,
            "Functional index on a column is not supported. Consider using a regular index instead.",
        ));
    }
    let role = Role::Index(key);
    let definition = Definition {
        table,
        columns,
        gone: &[],
        env,
    };
    let text = computed::read(e, role, table, env)?;
    let ty = column_type(definition.type_of(&text, role)?, &text)?;
    let taken = |name: &String| columns.iter().any(|c| c.name == *name);
    let mut names = (0..).map(|n| format!("{HIDDEN}{key}!{part}!{n}"));
    Ok(Column {
        name: names.find(|name| !taken(name)).unwrap_or_default(),
        ty,
        nullable: true,
        default: DefaultValue::None,
        auto_increment: false,
        on_update_now: false,
        explicit_collation: false,
        comment: String::new(),
        generated: Some(Box::new(Generated {
            text,
            stored: false,
            in_rows: false,
        })),
        visibility: Visibility::Hidden,
    })
}

/// The type of a column that holds what an expression gives. Errors 3757 and 3761.
fn column_type(ty: SqlType, text: &str) -> SqlResult<SqlType> {
    if ty.is_blob() && !ty.is_geometry() {
        return Err(SqlError::new(
            3757,
            "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please consider using CAST.",
        ));
    }
    if ty.is_json() || ty.is_geometry() {
        return Err(SqlError::new(
            3753,
            "Cannot create a functional index on a function that returns a JSON or GEOMETRY value.",
        ));
    }
    if ty.base == BaseType::Null {
        return Err(SqlError::new(
            3761,
            format!("The used storage engine cannot index the expression '{text}'."),
        ));
    }
    Ok(ty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_tell_their_key() {
        for key in ["k", "a!b", "!hidden!"] {
            assert_eq!(key_of(&format!("{HIDDEN}{key}!0!12")), key);
        }
    }
}
