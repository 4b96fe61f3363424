//! ALTER: what sqlparser parses, and MySQL's table options and key switches, which it does not.

use sqlparser::ast::Statement as Sp;
use sqlparser::tokenizer::Token;

use super::ast::{AlterOption, Kind};
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
    if let Some(kind) = options(c)? {
        return Ok(kind);
    }
    match c.parser.parse_statement() {
        Ok(Sp::AlterTable(a)) => Ok(Kind::AlterTable(Box::new(a))),
        Ok(_) => Err(c.error()),
        Err(e) => Err(c.convert(e)),
    }
}

/// An ALTER TABLE that consists of options only; `None` (and nothing consumed) otherwise.
fn options(c: &mut Cursor<'_>) -> SqlResult<Option<Kind>> {
    let name_tokens = if matches!(c.parser.peek_nth_token_ref(3).token, Token::Period) {
        3
    } else {
        1
    };
    let at = 2 + name_tokens;
    let starts = [
        "ENGINE",
        "COMMENT",
        "AUTO_INCREMENT",
        "DISABLE",
        "ENABLE",
        "FORCE",
        "ROW_FORMAT",
        "KEY_BLOCK_SIZE",
        "STATS_PERSISTENT",
    ];
    let rename = c.is_nth(at, "RENAME")
        && !["COLUMN", "INDEX", "KEY"]
            .iter()
            .any(|w| c.is_nth(at + 1, w));
    if !rename && !starts.iter().any(|w| c.is_nth(at, w)) {
        return Ok(None);
    }
    c.next();
    c.next();
    let table = c.table_name()?;
    let mut list = Vec::new();
    loop {
        let value = |c: &mut Cursor<'_>| c.eat_token(&Token::Eq);
        if c.eat("ENGINE") {
            value(c);
            list.push(AlterOption::Engine(c.ident_or_string()?));
        } else if c.eat("COMMENT") {
            value(c);
            list.push(AlterOption::Comment(c.string()?));
        } else if c.eat("AUTO_INCREMENT") {
            value(c);
            list.push(AlterOption::AutoIncrement(c.number()?));
        } else if c.eat_all(&["DISABLE", "KEYS"]) || c.eat_all(&["ENABLE", "KEYS"]) {
            list.push(AlterOption::Keys);
        } else if c.eat("FORCE") {
            list.push(AlterOption::Force);
        } else if c.eat("RENAME") {
            if !c.eat("TO") && !c.eat("AS") {
                c.eat_token(&Token::Eq);
            }
            list.push(AlterOption::Rename(c.table_name()?));
        } else if c.eat("ROW_FORMAT") || c.eat("KEY_BLOCK_SIZE") || c.eat("STATS_PERSISTENT") {
            value(c);
            c.next();
            list.push(AlterOption::Keys);
        } else {
            drain(c);
            return Err(SqlError::unsupported("this combination of ALTER TABLE"));
        }
        if !c.eat_token(&Token::Comma) {
            return Ok(Some(Kind::AlterTableOptions {
                table,
                options: list,
            }));
        }
    }
}
