//! CHECK constraints and generated columns in the texts of definitions and in information_schema.

use std::fmt::Write;

use super::schema::{Met, Only, each_table};
use super::table::{Ty, Virtual, s};
use millpond_sql::types::{Column, Schema, Visibility};
use millpond_syntax::quote::Quotes;

/// The lines of SHOW CREATE TABLE with the CHECK constraints of a table of this name.
pub(super) fn check_lines(
    schema: &Schema,
    table: &str,
    quotes: Quotes,
) -> impl Iterator<Item = String> {
    schema
        .checks_by_name(table)
        .into_iter()
        .map(move |(name, check)| {
            let mut line = format!(
                "CONSTRAINT {} CHECK ({})",
                quotes.name(&name),
                check.condition
            );
            if !check.enforced {
                // Writing to a String cannot fail.
                let _ = write!(line, " /*!80016 NOT ENFORCED */");
            }
            line
        })
}

/// The text of an expression in information_schema, where MySQL escapes its quotes.
pub(super) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

/// The expression of a functional key part, by its hidden column.
pub(super) fn hidden_text(column: &Column) -> Option<String> {
    let hidden = column.visibility == Visibility::Hidden;
    let generated = column.generated.as_ref().filter(|_| hidden);
    generated.map(|g| escaped(&g.text))
}

/// YES or NO.
pub(super) fn yes(yes: bool) -> &'static str {
    if yes { "YES" } else { "NO" }
}

/// CHECK_CONSTRAINTS.
pub(super) fn check_constraints() -> Virtual {
    Virtual::new(
        "information_schema",
        "CHECK_CONSTRAINTS",
        &[
            ("CONSTRAINT_CATALOG", Ty::Str(64)),
            ("CONSTRAINT_SCHEMA", Ty::Str(64)),
            ("CONSTRAINT_NAME", Ty::Str(64)),
            ("CHECK_CLAUSE", Ty::Text),
        ],
        |cx, emit| {
            let only = Only {
                database: cx.known(1),
                access: Some(cx.access()),
                ..Only::default()
            };
            each_table(&cx.facts.instance, &only, |database, met| {
                let Met::Stored(def, schema) = met else {
                    return Ok(());
                };
                for (name, check) in schema.checks_by_name(&def.name) {
                    emit(&[s("def"), s(database), s(name), s(escaped(&check.condition))])?;
                }
                Ok(())
            })
        },
    )
}
