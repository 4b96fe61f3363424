//! Tokens to trees: recursive descent, with precedences where operators are.
//!
//! | file | owns |
//! |---|---|
//! | `cursor` | walking over tokens; errors; bounds on nesting |
//! | `statement` | which statement begins with which word |
//! | `expr`, `operand`, `list`, `literal`, `function`, `window`, `cast` | expressions |
//! | `query`, `select`, `from`, `into`, `hint` | queries |
//! | `insert`, `change`, `explain` | statements on rows |
//! | `create`, `table`, `column`, `data_type`, `partition`, `alter_table`, `schema`, `routine`, `compound` | definitions and stored programs |
//! | `transaction`, `set`, `session`, `account`, `admin`, `replication`, `show` | everything else |
//! | `items` | how the items of lists are parsed when a list is read |
//! | `words` | words and clauses that these share |
//!
//! Every token is read once: what begins with parentheses is read without knowing whether it will be a query or an expression.

mod account;
mod admin;
mod alter_table;
mod cast;
mod change;
mod column;
mod compound;
mod create;
mod cursor;
mod data_type;
mod explain;
mod expr;
mod from;
mod function;
mod hint;
mod insert;
mod into;
mod items;
mod list;
mod literal;
mod operand;
mod partition;
mod query;
mod replication;
mod routine;
mod schema;
mod select;
mod session;
mod set;
mod show;
mod statement;
mod table;
mod transaction;
mod window;
mod words;

pub use cursor::{BYTES_PER_BYTE, FREE, MAX_DEPTH, MOST_BYTES, Mark, Parser};
pub(crate) use expr::level;

use crate::ast::{Expr, Statement};
use crate::error::{Result, SyntaxError};
use crate::lexer::{LexMode, TokenKind};
use crate::span::Span;

/// Longest text: spans are of 32 bits.
const LONGEST: usize = u32::MAX as usize - 16;

fn check_length(text: &str) -> Result<()> {
    if text.len() > LONGEST {
        let message = "Got a packet bigger than 'max_allowed_packet' bytes";
        return Err(SyntaxError::new(1153, Span::default(), message));
    }
    Ok(())
}

/// Parses one statement; a semicolon may follow, and nothing else.
pub fn parse_statement(text: &str, mode: LexMode) -> Result<Statement> {
    let (statement, rest) = parse_statement_of_many(text, mode)?;
    let mut p = Parser::new(&text[rest..], mode);
    while p.eat_punct(TokenKind::Semicolon) {}
    match p.kind() {
        TokenKind::End => Ok(statement),
        _ => Err(SyntaxError::near(text, rest as u32 + p.start())),
    }
}

/// Parses the first of several statements, and tells where the next begins: behind its semicolon.
pub fn parse_statement_of_many(text: &str, mode: LexMode) -> Result<(Statement, usize)> {
    check_length(text)?;
    let mut p = Parser::new(text, mode);
    let mut statement = p.statement()?;
    statement.deprecated = p.deprecated();
    match p.kind() {
        TokenKind::Semicolon => Ok((statement, p.peek().end as usize)),
        TokenKind::End => Ok((statement, text.len())),
        _ => Err(p.error_here()),
    }
}

/// Parses one expression and nothing else.
pub fn parse_expression(text: &str, mode: LexMode) -> Result<Expr> {
    check_length(text)?;
    let mut p = Parser::new(text, mode);
    let e = p.expr()?;
    match p.kind() {
        TokenKind::End => Ok(e),
        _ => Err(p.error_here()),
    }
}
