//! Text to statements, by `millpond-syntax`: what the rest of the crate asks of it, in the crate's own terms.
//!
//! | file | owns |
//! |---|---|
//! | `depth` | how much stack a statement takes, told before it is parsed |
//! | `general` | statements without their literals, the literals as values |
//! | `number` | numbers as written |
//! | `data_type` | types as columns have them, as types of values |
//!
//! A statement is its syntax tree and the text that the tree's spans count in; nothing is rebuilt in between. Pure functions of
//! text and sql_mode: no session, no catalog, no state.

mod data_type;
mod depth;
mod general;
mod number;

pub use data_type::{
    collation_of, duplicated_members, of_column, spatial, sql_type, text_instead, type_charset,
};
pub use general::{General, generalize};
pub use millpond_syntax::ast;
pub use number::{MAX_LITERAL_DIGITS, digits_before_point, number};

use std::sync::Arc;

use millpond_syntax::lexer::{LexMode, Lexer, TokenKind};
use millpond_syntax::{Keyword, SyntaxError};

use crate::error::{SqlError, SqlResult};
use crate::stack;
use crate::value::env::SqlMode;
use ast::StatementKind;

/// A parsed statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its syntax tree.
    pub tree: ast::Statement,
    /// What the tree's spans count in: the source text, without the semicolon at its end.
    pub text: Arc<str>,
    /// Number of `?` placeholders, which are numbered from 0 in order of appearance.
    pub params: usize,
    /// MAX_EXECUTION_TIME(n) among the optimizer hints of a SELECT, milliseconds.
    pub time_limit: Option<u64>,
    /// What its stack need goes by (see `stack`).
    pub run: usize,
}

impl Statement {
    /// What it is.
    #[inline]
    pub fn kind(&self) -> &StatementKind {
        &self.tree.kind
    }
    /// Whether `planner::compile` takes it; the rest is the session's.
    pub fn is_planned(&self) -> bool {
        is_planned(&self.tree.kind)
    }
}

/// Whether `planner::compile` takes a statement of this kind.
pub fn is_planned(kind: &StatementKind) -> bool {
    use StatementKind as K;
    match kind {
        K::Query(_) | K::Insert(_) | K::Update(_) | K::Delete(_) | K::Do(_) => true,
        K::Explain(explain) => matches!(**explain, ast::Explain::Statement { .. }),
        K::Session(s) => matches!(**s, ast::SessionStatement::Load(_)),
        _ => false,
    }
}

/// How texts are read in a sql_mode.
pub fn lex_mode(mode: SqlMode) -> LexMode {
    LexMode {
        ansi_quotes: mode.ansi_quotes,
        pipes_as_concat: mode.pipes_as_concat,
        no_backslash_escapes: mode.no_backslash_escapes,
        high_not_precedence: mode.high_not_precedence,
        ignore_space: mode.ignore_space,
    }
}

/// A syntax error as a client sees it.
#[cold]
pub fn syntax_error(e: SyntaxError) -> SqlError {
    SqlError::new(e.code, e.message)
}

/// Parses one statement (a trailing semicolon is allowed). A text without any is error 1065.
pub fn parse_one(text: &str, mode: SqlMode) -> SqlResult<Statement> {
    let lex = lex_mode(mode);
    let text = text.trim_end_matches(|c: char| c == ';' || c.is_ascii_whitespace());
    let run = depth::of(text, lex);
    if run == 0 {
        return Err(SqlError::new(1065, "Query was empty"));
    }
    stack::check(run)?;
    let parse = || millpond_syntax::parse_statement(text, lex);
    let tree = stack::with_room(run, || stack::lent(run, parse)).map_err(syntax_error)?;
    Ok(Statement {
        params: tree.params as usize,
        time_limit: time_limit(&tree.kind),
        text: text.into(),
        tree,
        run,
    })
}

/// MAX_EXECUTION_TIME of the statement's own SELECT.
fn time_limit(kind: &StatementKind) -> Option<u64> {
    let StatementKind::Query(query) = kind else {
        return None;
    };
    of_first_select(&query.body)
}

fn of_first_select(body: &ast::QueryBody) -> Option<u64> {
    let select = match body {
        ast::QueryBody::Select(select) => select,
        ast::QueryBody::Set(set) => return of_first_select(&set.first),
        ast::QueryBody::Parens(inner) => return of_first_select(&inner.body),
        ast::QueryBody::Held(held) => return of_first_select(&held.get()),
        ast::QueryBody::Values(_) | ast::QueryBody::Table(_) => return None,
    };
    let mut hints = select.hints().iter();
    let hint = hints.find(|h| h.name == "MAX_EXECUTION_TIME")?;
    hint.args.as_deref()?.parse().ok()
}

/// Parses one expression, in the default sql_mode, and hands it to `f` where there is stack enough for it.
pub fn with_expression<R>(text: &str, f: impl FnOnce(&ast::Expr) -> SqlResult<R>) -> SqlResult<R> {
    let lex = lex_mode(SqlMode::DEFAULT);
    let run = depth::of(text, lex);
    stack::check(run)?;
    stack::with_room(run, || {
        let parse = || millpond_syntax::parse_expression(text, lex);
        f(&stack::lent(run, parse).map_err(syntax_error)?)
    })
}

/// Parses a PARTITION BY clause on its own, as SHOW CREATE TABLE prints it inside of its comment.
pub fn parse_partition_by(text: &str) -> SqlResult<ast::PartitionBy> {
    let statement = parse_one(&format!("ALTER TABLE t {text}"), SqlMode::DEFAULT)?;
    if let StatementKind::AlterTable(alter) = statement.tree.kind
        && let [ast::AlterAction::Partition(ast::PartitionAction::By(by))] = &*alter.actions.all()
    {
        return Ok((**by).clone());
    }
    Err(SqlError::syntax(format_args!("near '{text}'")))
}

/// Where a statement's placeholders are, in bytes.
pub fn placeholders(text: &str, mode: SqlMode) -> Vec<usize> {
    millpond_syntax::placeholders(text, lex_mode(mode))
}

/// Splits off the first statement of a text: (statement without its semicolon, rest after it). The rest is empty after the
/// last statement. A stored program's body is part of the statement that defines it.
pub fn split_first(text: &str, mode: SqlMode) -> (&str, &str) {
    let lex = lex_mode(mode);
    let (first, rest) = millpond_syntax::split_first(text, lex);
    if rest.is_empty() || !defines_program(first, lex) {
        return (first, rest);
    }
    let whole = || millpond_syntax::parse_statement_of_many(text, lex);
    match stack::lent(0, || whole().map(|(_, next)| next)) {
        Ok(next) => {
            let body = text[..next].trim_end().trim_end_matches(';');
            (body, text[next..].trim_start())
        }
        // What is wrong with it is found when it is parsed, and said with what follows.
        Err(_) => (text, ""),
    }
}

/// Whether a text begins as the definition of what may have a body of statements.
fn defines_program(text: &str, mode: LexMode) -> bool {
    use Keyword as K;
    /// The kind of what is defined stands among the first words: `CREATE OR REPLACE DEFINER = u @h AGGREGATE FUNCTION IF NOT EXISTS`.
    const FIRST: usize = 16;
    let mut lexer = Lexer::new(text, mode);
    let create = TokenKind::Keyword(K::CREATE);
    if !matches!(lexer.next_token().kind, k if k == create || k == TokenKind::Keyword(K::ALTER)) {
        return false;
    }
    (0..FIRST).any(|_| {
        matches!(
            lexer.next_token().kind,
            TokenKind::Keyword(K::PROCEDURE | K::FUNCTION | K::TRIGGER | K::EVENT)
        )
    })
}

/// Whether a text holds no statement: blanks, comments and semicolons only.
pub fn is_blank(text: &str, mode: SqlMode) -> bool {
    let mut lexer = Lexer::new(text, lex_mode(mode));
    loop {
        match lexer.next_token().kind {
            TokenKind::Semicolon => {}
            TokenKind::End => return true,
            _ => return false,
        }
    }
}

/// Error 1102 for a database without a name, 1103 for a table.
pub fn refuse_empty(database: &str, table: Option<&str>) -> SqlResult<()> {
    let (code, what) = match (database, table) {
        ("", _) => (1102, "database"),
        (_, Some("")) => (1103, "table"),
        _ => return Ok(()),
    };
    Err(SqlError::new(code, format!("Incorrect {what} name ''")))
}

/// Whether a text holds comments and nothing else but blanks.
pub fn is_comment(text: &str, mode: SqlMode) -> bool {
    let begins = |c: char| !c.is_ascii_whitespace() && c != ';';
    let first = Lexer::new(text, lex_mode(mode)).next_token().kind;
    first == TokenKind::End && text.contains(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_texts() {
        let blank = |text| is_blank(text, SqlMode::DEFAULT);
        for t in [
            "",
            " ;\n",
            "-- x",
            "--",
            "# a\n  ; -- b\n",
            "/* a; */ ;",
            "/*!99999 x */",
        ] {
            assert!(blank(t), "{t:?}");
        }
        for t in ["a", "--1", "/*! x */", "/* a */ b", "# a\nb"] {
            assert!(!blank(t), "{t:?}");
        }
    }

    #[test]
    fn a_program_is_one_statement() {
        let split = |text| split_first(text, SqlMode::DEFAULT);
        let program = "create procedure p() begin select 1; select 2; end";
        let two = format!("{program}; select 3");
        assert_eq!(split(&two), (program, "select 3"));
        assert_eq!(
            split("create table t (a int); select 3"),
            ("create table t (a int)", "select 3")
        );
        assert_eq!(split("select 1; end"), ("select 1", "end"));
    }

    #[test]
    fn hints_limit_the_time() {
        let limit = |sql| parse_one(sql, SqlMode::DEFAULT).unwrap().time_limit;
        assert_eq!(limit("select /*+ MAX_EXECUTION_TIME(12) */ 1"), Some(12));
        assert_eq!(
            limit("select /*+ BKA(t) max_execution_time( 7 ) */ 1"),
            Some(7)
        );
        assert_eq!(limit("select /* MAX_EXECUTION_TIME(12) */ 1"), None);
    }

    #[test]
    fn comments_are_told_from_nothing() {
        let is = |text| is_comment(text, SqlMode::DEFAULT);
        for text in ["--", " -- x\n", "/* x */", "# x", "/*!99999 x */"] {
            assert!(is(text), "{text}");
        }
        for text in ["", " ", ";", "/* x */ do 1", "/* x */;"] {
            assert!(!is(text), "{text}");
        }
    }

    #[test]
    fn nothing_is_no_statement() {
        for text in ["", " ; ", "-- x", "/*!99999 x */"] {
            assert_eq!(parse_one(text, SqlMode::DEFAULT).unwrap_err().code, 1065);
        }
    }
}
