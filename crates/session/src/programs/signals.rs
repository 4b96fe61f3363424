//! Conditions, SIGNAL, RESIGNAL and GET DIAGNOSTICS as they are compiled.

use millpond_sql::error::{SqlError, SqlResult, SqlState};
use millpond_sql::parse::ast::{self, ConditionValue, DiagnosticsArea, Expr, ExprKind, Items};

use super::code::{Condition, Diagnostics, DiagnosticsItems, Signal, Sql};
use super::compile::Compiler;

impl Compiler<'_> {
    pub(super) fn condition(&self, value: &ConditionValue) -> SqlResult<Condition> {
        condition_of(value, |name| self.names.condition_named(name))
    }

    pub(super) fn signalled(&self, value: &ConditionValue) -> SqlResult<SqlState> {
        signalled(value, |name| self.names.condition_named(name))
    }

    pub(super) fn signal(
        &mut self,
        state: Option<SqlState>,
        again: bool,
        items: &Items<(ast::SignalItem, Expr)>,
    ) -> SqlResult<Signal> {
        let mut made: Vec<(ast::SignalItem, Sql)> = Vec::with_capacity(items.len());
        for pair in items {
            let (item, value) = &*pair;
            if made.iter().any(|(i, _)| i == item) {
                return Err(duplicate_item(*item));
            }
            made.push((*item, self.expr(value)?));
        }
        Ok(Signal {
            state,
            again,
            items: made,
        })
    }

    pub(super) fn diagnostics(&mut self, get: &ast::GetDiagnostics) -> SqlResult<Diagnostics> {
        let target = |c: &mut Self, e: &Expr| {
            c.variable(e).ok_or_else(|| match &e.kind {
                ExprKind::Column(name) => {
                    SqlError::new(1327, format!("Undeclared variable: {}", name.name()))
                }
                _ => SqlError::syntax(format_args!("near '{e}'")),
            })
        };
        let items = match &get.items {
            ast::DiagnosticsItems::Statement(items) => {
                let mut all = Vec::with_capacity(items.len());
                for pair in items {
                    all.push((target(self, &pair.0)?, pair.1));
                }
                DiagnosticsItems::Statement(all)
            }
            ast::DiagnosticsItems::Condition(number, items) => {
                let mut all = Vec::with_capacity(items.len());
                for pair in items {
                    all.push((target(self, &pair.0)?, pair.1));
                }
                DiagnosticsItems::Condition(self.expr(number)?, all)
            }
        };
        Ok(Diagnostics {
            stacked: get.area == Some(DiagnosticsArea::Stacked),
            items,
        })
    }
}

/// 1641.
pub(crate) fn duplicate_item(item: ast::SignalItem) -> SqlError {
    SqlError::new(
        1641,
        format!("Duplicate condition information item '{item}'"),
    )
}

/// A SQLSTATE as written: error 1407 for what is none, or means success.
fn state(text: &str) -> SqlResult<SqlState> {
    match SqlState::parse(text) {
        Some(state) if state.class() != "00" => Ok(state),
        _ => Err(SqlError::new(1407, format!("Bad SQLSTATE: '{text}'"))),
    }
}

fn condition_of(
    value: &ConditionValue,
    named: impl FnOnce(&str) -> SqlResult<Condition>,
) -> SqlResult<Condition> {
    Ok(match value {
        ConditionValue::Number(n) => match u16::try_from(*n) {
            Ok(n) if n > 0 => Condition::Number(n),
            _ => {
                let m = format!("Incorrect CONDITION value: '{n}'");
                return Err(SqlError::new(3054, m));
            }
        },
        ConditionValue::SqlState(text) => Condition::State(state(text)?),
        ConditionValue::Name(name) => named(name.as_str())?,
        ConditionValue::SqlWarning => Condition::Warning,
        ConditionValue::NotFound => Condition::NotFound,
        ConditionValue::SqlException => Condition::Exception,
    })
}

/// The state that SIGNAL raises: error 1646 for a condition that is known by its number.
fn signalled(
    value: &ConditionValue,
    named: impl FnOnce(&str) -> SqlResult<Condition>,
) -> SqlResult<SqlState> {
    match condition_of(value, named)? {
        Condition::State(state) => Ok(state),
        Condition::Number(_) => Err(SqlError::new(
            1646,
            "SIGNAL/RESIGNAL can only use a CONDITION defined with SQLSTATE",
        )),
        _ => Err(SqlError::syntax(format_args!("near '{value}'"))),
    }
}
