//! ALTER: changes of columns and keys as sqlparser parses them, and what else ALTER TABLE does in MySQL.

use sqlparser::tokenizer::Token;

use super::ast::{AlterAction, DatabaseOptions, Kind, sp};
use super::cursor::Cursor;
use super::names::database_options;
use super::partition;
use super::statement::drain;
use crate::error::{SqlError, SqlResult};

/// Parses a statement that starts with ALTER, which is still to be consumed.
pub fn parse(c: &mut Cursor<'_>) -> SqlResult<Kind> {
    if c.is_nth(1, "DATABASE") || c.is_nth(1, "SCHEMA") {
        c.next();
        c.next();
        let option_word = ["DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "ENCRYPTION"];
        let name = if option_word.iter().any(|w| c.is(w)) {
            None
        } else {
            Some(c.ident()?)
        };
        return Ok(Kind::AlterDatabase {
            name,
            options: database_options(c)?,
        });
    }
    if !c.is_nth(1, "TABLE") {
        c.next();
        return match c.peek_word().as_deref() {
            Some(
                k @ ("USER" | "VIEW" | "PROCEDURE" | "FUNCTION" | "EVENT" | "SERVER" | "INSTANCE"
                | "TABLESPACE"),
            ) => {
                let k = k.to_string();
                drain(c);
                Err(SqlError::unsupported(format_args!("ALTER {k}")))
            }
            _ => Err(c.error()),
        };
    }
    if let Some(kind) = partition::alter(c)? {
        return Ok(kind);
    }
    c.next();
    c.next();
    let table = c.table_name()?;
    let mut actions = Vec::new();
    while !c.at_end() {
        action(c, &mut actions)?;
        // Table options may follow one another without commas.
        if !c.eat_token(&Token::Comma) && !c.at_end() && !starts_option(c) {
            return Err(c.error());
        }
    }
    Ok(Kind::AlterTable { table, actions })
}

/// Table options that have a number or a word as value and change nothing for InnoDB.
const IGNORED: [&str; 13] = [
    "AVG_ROW_LENGTH",
    "MAX_ROWS",
    "MIN_ROWS",
    "PACK_KEYS",
    "CHECKSUM",
    "TABLE_CHECKSUM",
    "DELAY_KEY_WRITE",
    "STATS_PERSISTENT",
    "STATS_AUTO_RECALC",
    "STATS_SAMPLE_PAGES",
    "INSERT_METHOD",
    "AUTOEXTEND_SIZE",
    "COMPRESSION",
];

/// Whether a table option comes next.
fn starts_option(c: &Cursor<'_>) -> bool {
    let words = [
        "ROW_FORMAT",
        "KEY_BLOCK_SIZE",
        "ENGINE",
        "COMMENT",
        "AUTO_INCREMENT",
        "DEFAULT",
        "CHARSET",
        "COLLATE",
    ];
    words.iter().chain(&IGNORED).any(|w| c.is(w)) || c.is("CHARACTER") && c.is_nth(1, "SET")
}

/// Parses what comes up to the next comma.
fn action(c: &mut Cursor<'_>, out: &mut Vec<AlterAction>) -> SqlResult<()> {
    let value = |c: &mut Cursor<'_>| c.eat_token(&Token::Eq);
    out.push(if c.eat("ENGINE") {
        value(c);
        AlterAction::Engine(c.ident_or_string()?)
    } else if c.eat("COMMENT") {
        value(c);
        AlterAction::Comment(c.string()?)
    } else if c.eat("AUTO_INCREMENT") {
        value(c);
        AlterAction::AutoIncrement(c.number()?)
    } else if c.eat_all(&["DISABLE", "KEYS"]) || c.eat_all(&["ENABLE", "KEYS"]) {
        AlterAction::Keys
    } else if c.eat("FORCE") {
        AlterAction::Force
    } else if c.eat_all(&["RENAME", "INDEX"]) || c.eat_all(&["RENAME", "KEY"]) {
        let from = c.ident()?;
        c.expect("TO")?;
        AlterAction::RenameIndex {
            from,
            to: c.ident()?,
        }
    } else if c.is("RENAME") && !c.is_nth(1, "COLUMN") {
        c.next();
        if !c.eat("TO") && !c.eat("AS") {
            value(c);
        }
        AlterAction::Rename(c.table_name()?)
    } else if c.eat_all(&["ALTER", "INDEX"]) || c.eat_all(&["ALTER", "KEY"]) {
        let name = c.ident()?;
        if c.is("INVISIBLE") {
            return Err(SqlError::unsupported("INVISIBLE"));
        }
        c.expect("VISIBLE")?;
        AlterAction::IndexVisible(name)
    } else if c.eat_all(&["CONVERT", "TO"]) {
        AlterAction::Convert(convert(c)?)
    } else if c.eat_all(&["ORDER", "BY"]) {
        AlterAction::OrderBy(order(c)?)
    } else if is_collation(c) {
        AlterAction::DefaultCollation(default_collation(c)?)
    } else if c.is("ROW_FORMAT") || c.is("KEY_BLOCK_SIZE") {
        let option = if c.eat("ROW_FORMAT") {
            "ROW_FORMAT"
        } else {
            c.next();
            "KEY_BLOCK_SIZE"
        };
        value(c);
        AlterAction::Compression(option, c.next().token.to_string())
    } else if IGNORED.iter().any(|w| c.eat(w)) {
        value(c);
        c.next();
        AlterAction::Ignored
    } else if c.is("DISCARD") || c.is("IMPORT") {
        drain(c);
        return Err(SqlError::unsupported("DISCARD and IMPORT TABLESPACE"));
    } else if c.is("ADD") && adds_columns(c) {
        return add_columns(c, out);
    } else {
        let op = c.parser.parse_alter_table_operation();
        AlterAction::Definition(Box::new(op.map_err(|e| c.convert(e))?))
    });
    Ok(())
}

fn is_collation(c: &Cursor<'_>) -> bool {
    let at = usize::from(c.is("DEFAULT"));
    c.is_nth(at, "CHARSET")
        || c.is_nth(at, "COLLATE")
        || c.is_nth(at, "CHARACTER") && c.is_nth(at + 1, "SET")
}

/// `[DEFAULT] CHARACTER SET [=] x` and `[DEFAULT] COLLATE [=] y`, as many as stand together.
fn default_collation(c: &mut Cursor<'_>) -> SqlResult<DatabaseOptions> {
    let mut o = DatabaseOptions::default();
    while is_collation(c) {
        c.eat("DEFAULT");
        let collation = c.eat("COLLATE");
        if !collation && !c.eat("CHARSET") {
            c.expect("CHARACTER")?;
            c.expect("SET")?;
        }
        c.eat_token(&Token::Eq);
        let name = Some(c.ident_or_string()?.to_lowercase());
        if collation {
            o.collation = name;
        } else {
            o.charset = name;
        }
        // A comma may stand between the two.
        if c.parser.peek_token_ref().token == Token::Comma
            && (c.is_nth(1, "COLLATE") || c.is_nth(1, "DEFAULT") && c.is_nth(2, "COLLATE"))
        {
            c.next();
        }
    }
    Ok(o)
}

/// `CHARACTER SET x [COLLATE y]`, where x may be DEFAULT.
fn convert(c: &mut Cursor<'_>) -> SqlResult<DatabaseOptions> {
    if !c.eat("CHARSET") {
        c.expect("CHARACTER")?;
        c.expect("SET")?;
    }
    c.eat_token(&Token::Eq);
    let charset = if c.eat("DEFAULT") {
        None
    } else {
        Some(c.ident_or_string()?.to_lowercase())
    };
    let mut collation = None;
    if c.eat("COLLATE") {
        c.eat_token(&Token::Eq);
        collation = Some(c.ident_or_string()?.to_lowercase());
    }
    Ok(DatabaseOptions { charset, collation })
}

fn order(c: &mut Cursor<'_>) -> SqlResult<Vec<String>> {
    let mut columns = Vec::new();
    loop {
        columns.push(c.ident()?);
        if !c.eat("ASC") {
            c.eat("DESC");
        }
        // What follows a comma is a column unless it is another change.
        let next = &c.parser.peek_nth_token_ref(2).token;
        let more = matches!(next, Token::Comma | Token::EOF | Token::SemiColon)
            || c.is_nth(2, "ASC")
            || c.is_nth(2, "DESC");
        if c.parser.peek_token_ref().token != Token::Comma || !more || c.is_nth(1, "FORCE") {
            return Ok(columns);
        }
        c.next();
    }
}

/// `ADD [COLUMN] (definitions)`.
fn adds_columns(c: &Cursor<'_>) -> bool {
    let at = 1 + usize::from(c.is_nth(1, "COLUMN"));
    c.parser.peek_nth_token_ref(at).token == Token::LParen
}

fn add_columns(c: &mut Cursor<'_>, out: &mut Vec<AlterAction>) -> SqlResult<()> {
    c.next();
    c.eat("COLUMN");
    c.expect_token(&Token::LParen)?;
    let list = c.parser.parse_comma_separated(|p| p.parse_column_def());
    for column_def in list.map_err(|e| c.convert(e))? {
        out.push(AlterAction::Definition(Box::new(
            sp::AlterTableOperation::AddColumn {
                column_keyword: true,
                if_not_exists: false,
                column_def,
                column_position: None,
            },
        )));
    }
    c.expect_token(&Token::RParen)
}
