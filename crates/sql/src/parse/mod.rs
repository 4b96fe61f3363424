//! Text to statements: sqlparser in MySQL's dialect, plus what it lacks; version comments; splitting
//! of multi-statement texts.
//!
//! | file | owns |
//! |---|---|
//! | `ast` | statements as the rest of the crate sees them |
//! | `lex` | splitting, version comments |
//! | `tokens` | tokens, adjusted to sqlparser's grammar |
//! | `dialect` | MySQL's precedences and the operators sqlparser lacks |
//! | `depth` | how deeply a statement nests |
//! | `cursor` | walking over tokens; errors as MySQL words them |
//! | `statement` | dispatch by the first words; EXPLAIN, USE, KILL, PREPARE and the like |
//! | `several` | UPDATE and DELETE of several tables |
//! | `set` | SET |
//! | `show` | SHOW |
//! | `general` | statements without their literals |
//! | `names` | DDL that only names things: DROP, RENAME, TRUNCATE, CREATE DATABASE, LOCK |
//! | `alter` | ALTER TABLE |
//! | `partition` | PARTITION BY, and ALTER TABLE's changes of partitions |
//!
//! Pure functions of text and sql_mode: no session, no catalog, no state.

mod alter;
mod ast;
mod cursor;
mod data_type;
mod depth;
mod dialect;
mod general;
mod lex;
mod names;
mod partition;
mod set;
mod several;
mod show;
mod statement;
#[cfg(test)]
mod tests;
mod tokens;

pub use ast::*;
pub use data_type::sql_type;
pub use general::{General, generalize};
pub(crate) use lex::placeholders;
pub use lex::split_first;

use sqlparser::parser::Parser;

use crate::error::SqlResult;
use crate::session::env::SqlMode;
use crate::stack;
use cursor::Cursor;
use dialect::MillpondDialect;

/// Deepest nesting of expressions and queries.
const MAX_DEPTH: usize = 100;

/// Parses one statement (a trailing semicolon is allowed).
pub fn parse_one(text: &str, mode: SqlMode) -> SqlResult<Statement> {
    let opened = lex::open_version_comments(text, mode);
    let dialect = MillpondDialect::new(mode);
    let mut tokens = tokens::tokenize(&opened, &dialect, mode)?;
    let list = std::mem::take(&mut tokens.tokens);
    let parser = Parser::new(&dialect)
        .with_recursion_limit(MAX_DEPTH)
        .with_tokens_with_locations(list);
    let run = tokens.run;
    let parse = || {
        let mut cursor = Cursor::new(parser, &opened);
        let kind = statement::parse(&mut cursor, &tokens)?;
        cursor.end()?;
        Ok(wrap(kind, cursor.beside, tokens, &opened))
    };
    stack::with_room(run, || stack::lent(run, parse))
}

/// Parses one expression, in the default sql_mode, and hands it to `f` where there is stack enough for it.
pub fn with_expression<R>(text: &str, f: impl FnOnce(&sp::Expr) -> SqlResult<R>) -> SqlResult<R> {
    let statement = parse_one(&format!("DO {text}"), SqlMode::DEFAULT)?;
    stack::with_room(statement.run, move || match statement.kind {
        Kind::Do(list) if list.len() == 1 => f(&list[0]),
        _ => Err(crate::error::SqlError::syntax(format_args!(
            "near '{text}'"
        ))),
    })
}

/// Parses a PARTITION BY clause on its own, as SHOW CREATE TABLE prints it inside of its comment.
pub fn parse_partition_by(text: &str) -> SqlResult<PartitionBy> {
    let statement = parse_one(&format!("ALTER TABLE t {text}"), SqlMode::DEFAULT)?;
    match statement.kind {
        Kind::AlterPartitions {
            op: PartitionOp::By(by),
            ..
        } => Ok(by),
        _ => Err(crate::error::SqlError::syntax(format_args!(
            "near '{text}'"
        ))),
    }
}

fn wrap(kind: Kind, beside: cursor::Beside, tokens: tokens::Tokens, text: &str) -> Statement {
    Statement {
        kind,
        params: tokens.params,
        text: text.trim().trim_end_matches(';').trim_end().to_string(),
        ignore: tokens.ignore || beside.duplicates == Duplicates::Ignore,
        with: beside.with,
        duplicates: beside.duplicates,
        into: tokens.into,
        headings: tokens.headings,
        time_limit: tokens.time_limit,
        run: tokens.run,
    }
}
