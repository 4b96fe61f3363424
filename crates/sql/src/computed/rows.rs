//! A table's expressions, bound, and what they make of rows.

use super::Role;
use super::columns::among_definitions;
use super::read::Definition;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::assigned_bits;
use crate::expr::{EvalContext, Expr, RowRef, json_schema_refusal};
use crate::parse::with_expression;
use crate::types::{Column, DefaultValue, Schema};
use crate::value::Value;
use crate::value::env::{Diagnostic, Level};

/// Code of the error for rows that a CHECK constraint refuses.
pub const CHECK_VIOLATED: u16 = 3819;
/// What expressions complain of: warnings where nothing is written.
const COMPLAINTS: [u16; 9] = [1264, 1292, 1301, 1365, 1366, 1411, 1441, 3020, 6527];
/// Error code: what a JSON document fails by, told before [`CHECK_VIOLATED`].
const BY_SCHEMA: u16 = 3934;

/// A table's expressions, bound to its columns.
#[derive(Debug)]
pub struct Computed {
    /// Defaults, by column.
    defaults: Vec<(usize, Expr)>,
    /// Generated columns in their order, in which each can be computed after those before it.
    generated: Vec<(usize, Expr)>,
    /// Conditions of the constraints that rows are held to, by position.
    checks: Vec<(usize, Expr)>,
}

impl Schema {
    /// The table's expressions.
    #[inline]
    pub fn computed(&self) -> SqlResult<&Computed> {
        let bind = || among_definitions(|env| Computed::of(self, env));
        self.computed.get(bind)
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
        let value_of = |c: &Column, text: &str, role| {
            let mut e = bind(text, role)?;
            if c.ty.is_numeric() {
                assigned_bits(&mut e);
            }
            Ok::<Expr, SqlError>(e)
        };
        let (mut defaults, mut generated) = (Vec::new(), Vec::new());
        for (at, c) in schema.columns.iter().enumerate() {
            if let DefaultValue::Expr(text) = &c.default {
                defaults.push((at, value_of(c, text, Role::Default(&c.name))?));
            }
            if let Some(g) = &c.generated {
                generated.push((at, value_of(c, &g.text, Role::Generated(&c.name))?));
            }
        }
        let mut checks = Vec::new();
        for (at, check) in schema.checks.iter().enumerate() {
            if check.enforced {
                checks.push((at, bind(&check.condition, Role::Check(""))?));
            }
        }
        Ok(Computed {
            defaults,
            generated,
            checks,
        })
    }

    /// The value of a column's default for a row, as the expression gives it.
    pub fn default_value(
        &self,
        column: usize,
        row: &[Value<'_>],
        env: &SessionEnv,
    ) -> SqlResult<Value<'static>> {
        match self.defaults.iter().find(|(c, _)| *c == column) {
            Some((_, e)) => value(e, RowRef::Values(row), env),
            None => Err(SqlError::new(1105, "the column has no such default")),
        }
    }

    /// Positions of the generated columns, in the order in which they are computed.
    pub fn generated(&self) -> impl Iterator<Item = usize> {
        self.generated.iter().map(|(c, _)| *c)
    }

    /// The generated columns with their expressions over source 0, which is the row.
    pub fn generated_expressions(&self) -> impl Iterator<Item = (usize, &Expr)> {
        self.generated.iter().map(|(c, e)| (*c, e))
    }

    /// The value of a generated column for a row, as the expression gives it.
    pub fn generated_value(
        &self,
        column: usize,
        row: RowRef<'_>,
        env: &SessionEnv,
    ) -> SqlResult<Value<'static>> {
        match self.generated.iter().find(|(c, _)| *c == column) {
            Some((_, e)) => value(e, row, env),
            None => Err(SqlError::new(1105, "the column is not generated")),
        }
    }

    /// Error 3819 for a row that a CHECK constraint refuses; of several constraints, for the one whose name comes first. What is neither
    /// true nor false is not refused. `table`: what the table is called.
    pub fn check(
        &self,
        schema: &Schema,
        table: &str,
        row: RowRef<'_>,
        env: &SessionEnv,
    ) -> SqlResult<()> {
        let rows = [row];
        let mut violated: Option<(String, &Expr)> = None;
        for (at, condition) in &self.checks {
            let truth = match condition.truth(&over(&rows, env)) {
                // What is an error where a statement writes strictly is told, and refuses the row.
                Err(e) if COMPLAINTS.contains(&e.code) => {
                    env.say(Diagnostic::of(&e));
                    Some(false)
                }
                truth => truth?,
            };
            if truth == Some(false) {
                let name = schema.checks[*at].name.of(table);
                if violated.as_ref().is_none_or(|(first, _)| name < *first) {
                    violated = Some((name, condition));
                }
            }
        }
        let Some((name, condition)) = violated else {
            return Ok(());
        };
        if let Some(reason) = json_schema_refusal(condition, &over(&rows, env))? {
            env.say(Diagnostic::new(Level::Error, BY_SCHEMA, reason));
        }
        Err(SqlError::new(
            CHECK_VIOLATED,
            format!("Check constraint '{name}' is violated."),
        ))
    }
}

/// The value of an expression for a row.
fn value(e: &Expr, row: RowRef<'_>, env: &SessionEnv) -> SqlResult<Value<'static>> {
    let rows = [row];
    Ok(e.eval(&over(&rows, env))?.into_owned())
}

fn over<'e>(rows: &'e [RowRef<'e>], env: &'e SessionEnv) -> EvalContext<'e> {
    EvalContext {
        rows,
        params: &[],
        session: env,
    }
}
