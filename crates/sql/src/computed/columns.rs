//! Values of VIRTUAL columns that rows don't hold.
//!
//! **Which.** A column is computed when it is read if its value follows from its row alone ([`Expr::follows_from_row`]): whoever asks, and
//! whenever, finds the same value, so that an index on it has the entries that purge, recovery and CHECK TABLE expect, which know no session. Where a session's
//! zone, sql_mode or locale have a say, the value is kept in the row as it was when that was written. The definition says which it is of each column
//! ([`Generated::in_rows`](crate::catalog::Generated)).
//!
//! **How.** `row` asks for the value where a column has no bytes, through [`Schema::compute`]. It is what a writer stores that is not strict: expressions are evaluated, and their values assigned, in
//! one environment for all, that of definitions. A statement that writes in strict mode refuses rows for which that would
//! raise anything, as MySQL does; rows that are there when the column is added instantly, or were written otherwise, have the nearest value.
//!
//! **Errors.** Few expressions fail in any mode (an integer out of range, no JSON). Reading a column can't fail, so the value is NULL then, and the
//! thread remembers the failure: whoever ran the statement asks for it before the statement is done ([`take_failure`]), which fails by it.

use std::cell::Cell;

use super::read::Definition;
use super::role::Role;
use crate::catalog;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::RowRef;
use crate::parse::with_expression;
use crate::types::{Column, Schema};
use crate::value::{self, StoreContext, Value};

thread_local! {
    /// What all definitions are evaluated in.
    static DEFINITIONS: SessionEnv = SessionEnv::of_definitions();
    /// The first failure since somebody asked.
    static FAILURE: Cell<Option<Box<SqlError>>> = const { Cell::new(None) };
}

/// Runs `f` in the environment of definitions.
pub(super) fn among_definitions<R>(f: impl FnOnce(&SessionEnv) -> R) -> R {
    DEFINITIONS.with(f)
}

/// Has columns computed that rows don't hold, from now on.
pub(super) fn install() {
    catalog::compute_by(value_of);
}

/// Why a column could not be computed in this thread since this was asked last.
pub fn take_failure() -> Option<SqlError> {
    FAILURE.take().map(|e| *e)
}

fn value_of(schema: &Schema, row: &[u8], column: usize) -> Value<'static> {
    among_definitions(|env| match evaluate(schema, row, column, env) {
        Ok(v) => v,
        Err(e) => {
            let first = FAILURE.take().unwrap_or_else(|| Box::new(e));
            FAILURE.set(Some(first));
            Value::Null
        }
    })
}

fn evaluate(
    schema: &Schema,
    row: &[u8],
    column: usize,
    env: &SessionEnv,
) -> SqlResult<Value<'static>> {
    let of_row = schema.computed()?;
    let value = of_row.generated_value(column, RowRef::Stored(schema, row), env)?;
    let cx = StoreContext {
        session: env,
        strict: false,
        row: 1,
    };
    let value = value::store(value, &schema.columns[column], &cx);
    env.diagnostics.borrow_mut().clear();
    value
}

impl Definition<'_> {
    /// Whether a generated column's value follows from its row alone, so that rows need not hold it.
    pub fn computes_alone(&self, text: &str, role: Role<'_>, column: &Column) -> SqlResult<bool> {
        with_expression(text, |e| {
            let bound = self.bind(e, role)?;
            Ok(bound.follows_from_row() && bound.is_assigned_alone(&column.ty))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::sample;

    #[test]
    fn values_of_rows_alone() {
        let (schema, env) = (sample(), SessionEnv::of_definitions());
        let definition = Definition {
            table: "t",
            columns: &schema.columns,
            gone: &[],
            env: &env,
        };
        // Of the sample's columns: 0 TINYINT, 11 VARCHAR, 14 DATE, 15 TIME, 16 DATETIME, 17 TIMESTAMP, 22 JSON.
        for (text, becomes, alone) in [
            ("(`c0` + 1)", 4, true),
            ("(`c0` / `c3`)", 6, true),
            ("concat(`c11`,`c14`)", 11, true),
            ("year(`c14`)", 0, true),
            ("(`c14` + interval 1 day)", 14, true),
            ("(`c14` < `c16`)", 0, true),
            ("json_extract(`c22`,'$.a')", 22, true),
            (
                "(case when (`c11` = 'a') then `c14` else NULL end)",
                14,
                true,
            ),
            ("`c14`", 16, true),
            ("`c17`", 16, false),
            ("hour(`c17`)", 0, false),
            ("`c16`", 17, false),
            ("year(`c11`)", 0, false),
            ("(`c14` = `c11`)", 0, false),
            ("`c11`", 14, false),
            ("cast(`c11` as date)", 14, false),
            ("cast(`c15` as datetime)", 16, false),
            ("(`c15` = `c14`)", 0, false),
            ("monthname(`c14`)", 11, false),
            ("unix_timestamp(`c16`)", 4, false),
        ] {
            let column = &schema.columns[becomes];
            let found = definition.computes_alone(text, Role::Generated("g"), column);
            assert_eq!(found.unwrap(), alone, "{text}");
        }
    }
}
