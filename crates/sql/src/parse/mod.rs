//! Text to statements: sqlparser in MySQL's dialect, plus what it lacks; version comments; splitting
//! of multi-statement texts.

mod ast;

pub use ast::*;

use crate::error::SqlResult;
use crate::session::env::SqlMode;

/// Splits off the first statement of a text: (statement without its semicolon, rest after it). Quotes and
/// comments are respected. The rest is empty after the last statement.
pub fn split_first(_text: &str, _mode: SqlMode) -> (&str, &str) {
    todo!()
}

/// Parses one statement (a trailing semicolon is allowed).
pub fn parse_one(_text: &str, _mode: SqlMode) -> SqlResult<Statement> {
    todo!()
}
