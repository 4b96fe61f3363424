//! A table's expressions, bound, and what they make of rows.

use super::Role;
use super::read::Definition;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::{EvalContext, Expr, RowRef};
use crate::parse::with_expression;
use crate::types::{DefaultValue, Schema};
use crate::value::Value;

/// A table's expressions, bound to its columns.
#[derive(Debug)]
pub struct Computed {
    /// Defaults, by column.
    defaults: Vec<(usize, Expr)>,
}

impl Schema {
    /// The table's expressions.
    #[inline]
    pub fn computed(&self, env: &SessionEnv) -> SqlResult<&Computed> {
        self.computed.get(|| Computed::of(self, env))
    }
}

impl Computed {
    fn of(schema: &Schema, env: &SessionEnv) -> SqlResult<Computed> {
        let definition = Definition {
            table: "",
            columns: &schema.columns,
            gone: &[],
            env,
        };
        // On behalf of statements that do not nest as they do.
        let bind = |text: &str, role| with_expression(text, |e| definition.bind(e, role));
        let mut defaults = Vec::new();
        for (at, c) in schema.columns.iter().enumerate() {
            if let DefaultValue::Expr(text) = &c.default {
                defaults.push((at, bind(text, Role::Default(&c.name))?));
            }
        }
        Ok(Computed { defaults })
    }

    /// The value of a column's default for a row, as the expression gives it.
    pub fn default_value(
        &self,
        column: usize,
        row: &[Value<'_>],
        env: &SessionEnv,
    ) -> SqlResult<Value<'static>> {
        match self.defaults.iter().find(|(c, _)| *c == column) {
            Some((_, e)) => value(e, row, env),
            None => Err(SqlError::new(1105, "the column has no such default")),
        }
    }
}

/// The value of an expression for a row of values.
fn value(e: &Expr, row: &[Value<'_>], env: &SessionEnv) -> SqlResult<Value<'static>> {
    let rows = [RowRef::Values(row)];
    let cx = EvalContext {
        rows: &rows,
        params: &[],
        session: env,
    };
    Ok(e.eval(&cx)?.into_owned())
}
