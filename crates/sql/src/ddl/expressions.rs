//! What a definition says by expressions, once all of its columns are known.

use super::check::{self, CheckSpec};
use crate::computed::{Definition, Role};
use crate::env::SessionEnv;
use crate::error::SqlResult;
use crate::types::{Check, Column, DefaultValue};

/// Checks a table's expressions, and gives their texts the form that they are kept in; returns its CHECK constraints. `gone`: names of
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
    let mut texts = Vec::new();
    for (at, c) in columns.iter().enumerate() {
        if let DefaultValue::Expr(text) = &c.default {
            texts.push((at, definition.text(text, Role::Default(&c.name), Some(at))?));
        }
    }
    let checks = check::settle(checks, &definition)?;
    for (at, text) in texts {
        columns[at].default = DefaultValue::Expr(text);
    }
    Ok(checks)
}
