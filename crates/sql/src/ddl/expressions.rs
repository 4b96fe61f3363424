//! What a definition says by expressions, once all of its columns are known.

use super::check::{self, CheckSpec};
use super::functional;
use super::key::PRIMARY;
use crate::computed::{Definition, Role};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::types::{Check, Column, DefaultValue, Index, Visibility};

/// Checks a table's expressions, gives their texts the form that they are kept in, and has rows hold the generated columns that they must; returns its CHECK constraints. `gone`: names of
/// columns that are dropped, or named otherwise.
pub(super) fn settle(
    table: &str,
    columns: &mut [Column],
    checks: Vec<CheckSpec>,
    gone: &[String],
    env: &SessionEnv,
) -> SqlResult<Vec<Check>> {
    let definition = Definition {
        table,
        columns,
        gone,
        env,
    };
    let (mut texts, mut kept) = (Vec::new(), Vec::new());
    for (at, c) in columns.iter().enumerate() {
        if let DefaultValue::Expr(text) = &c.default {
            texts.push((at, definition.text(text, Role::Default(&c.name), Some(at))?));
        }
        if let Some(g) = &c.generated {
            let role = match c.visibility {
                Visibility::Hidden => Role::Index(functional::key_of(&c.name)),
                _ => Role::Generated(&c.name),
            };
            texts.push((at, definition.text(&g.text, role, Some(at))?));
            if !g.in_rows && !definition.computes_alone(&g.text, role, c)? {
                kept.push(at);
            }
        }
    }
    let checks = check::settle(checks, &definition)?;
    for (at, text) in texts {
        match &mut columns[at].generated {
            Some(g) => g.text = text,
            None => columns[at].default = DefaultValue::Expr(text),
        }
    }
    for at in kept {
        if let Some(g) = &mut columns[at].generated {
            g.in_rows = true;
        }
    }
    Ok(checks)
}

/// Error 3106.
fn unsupported(what: &str) -> SqlError {
    SqlError::new(
        3106,
        format!("'{what}' is not supported for generated columns."),
    )
}

/// Error 3106 for a primary key that has a VIRTUAL column.
pub(super) fn check_primary(columns: &[Column], indexes: &[Index]) -> SqlResult<()> {
    let mut primary = indexes.iter().filter(|i| i.name == PRIMARY);
    let is_virtual = |c: usize| columns[c].generated.as_ref().is_some_and(|g| !g.stored);
    match primary.any(|i| i.parts.iter().any(|p| is_virtual(p.column))) {
        true => Err(unsupported(
            "Defining a virtual generated column as primary key",
        )),
        false => Ok(()),
    }
}

/// Error 3106 for a column that becomes, or was, VIRTUAL.
pub(super) fn check_change(was: &Column, is: &Column) -> SqlResult<()> {
    let stored = |c: &Column| c.generated.as_ref().is_none_or(|g| g.stored);
    let either_base = was.generated.is_none() || is.generated.is_none();
    let same = stored(was) == stored(is) && (stored(is) || !either_base);
    match same {
        true => Ok(()),
        false => Err(unsupported("Changing the STORED status")),
    }
}
