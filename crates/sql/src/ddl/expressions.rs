//! What a definition says by expressions, once all of its columns are known.

use crate::computed::{Definition, Role};
use crate::env::SessionEnv;
use crate::error::SqlResult;
use crate::types::{Column, DefaultValue};

/// Checks the expressions among a table's columns, and gives their texts the form that they are kept in. `gone`: names of columns that
/// are dropped, or named otherwise.
pub(super) fn settle(
    table: &str,
    columns: &mut [Column],
    gone: &[String],
    env: &SessionEnv,
) -> SqlResult<()> {
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
    for (at, text) in texts {
        columns[at].default = DefaultValue::Expr(text);
    }
    Ok(())
}
