//! SHOW.

use sqlparser::tokenizer::Token;

use super::ast::{Kind, Scope, Show, ShowFilter, TableName};
use super::cursor::Cursor;
use super::statement::drain;
use crate::error::{SqlError, SqlResult};

/// Parses what follows SHOW.
pub fn parse(c: &mut Cursor<'_>) -> SqlResult<Kind> {
    Ok(Kind::Show(show(c)?))
}

fn filter(c: &mut Cursor<'_>) -> SqlResult<ShowFilter> {
    if c.eat("LIKE") {
        Ok(ShowFilter::Like(c.string()?))
    } else if c.eat("WHERE") {
        Ok(ShowFilter::Where(c.expr()?))
    } else {
        Ok(ShowFilter::None)
    }
}

fn database(c: &mut Cursor<'_>) -> SqlResult<Option<String>> {
    if c.eat("FROM") || c.eat("IN") {
        Ok(Some(c.ident()?))
    } else {
        Ok(None)
    }
}

/// `FROM table [FROM database]`
fn table(c: &mut Cursor<'_>) -> SqlResult<TableName> {
    if !c.eat("FROM") && !c.eat("IN") {
        return Err(c.error());
    }
    let mut t = c.table_name()?;
    if let Some(d) = database(c)? {
        t.database = Some(d);
    }
    Ok(t)
}

fn limit(c: &mut Cursor<'_>) -> SqlResult<(Option<u64>, u64)> {
    if !c.eat("LIMIT") {
        return Ok((None, 0));
    }
    let first = c.number()?;
    if c.eat_token(&Token::Comma) {
        return Ok((Some(c.number()?), first));
    }
    if c.eat("OFFSET") {
        return Ok((Some(first), c.number()?));
    }
    Ok((Some(first), 0))
}

fn show(c: &mut Cursor<'_>) -> SqlResult<Show> {
    let full = c.eat("FULL");
    let extended = !full && c.eat("EXTENDED");
    let full = full || extended && c.eat("FULL");
    let scope = if c.eat("GLOBAL") {
        Scope::Global
    } else if c.eat("SESSION") || c.eat("LOCAL") {
        Scope::Session
    } else {
        Scope::Default
    };
    if c.is("COUNT") && c.second() == &Token::LParen {
        c.next();
        c.next();
        c.expect_token(&Token::Mul)?;
        c.expect_token(&Token::RParen)?;
        if c.eat("WARNINGS") {
            return Ok(Show::CountWarnings);
        }
        c.expect("ERRORS")?;
        return Ok(Show::CountErrors);
    }
    let Some(first) = c.peek_word() else {
        return Err(c.error());
    };
    let error = c.error();
    c.next();
    Ok(match first.as_str() {
        "DATABASES" | "SCHEMAS" => Show::Databases(filter(c)?),
        "TABLES" => Show::Tables {
            full,
            database: database(c)?,
            filter: filter(c)?,
        },
        "TABLE" => {
            c.expect("STATUS")?;
            Show::TableStatus {
                database: database(c)?,
                filter: filter(c)?,
            }
        }
        "OPEN" => {
            c.expect("TABLES")?;
            Show::OpenTables {
                database: database(c)?,
                filter: filter(c)?,
            }
        }
        "COLUMNS" | "FIELDS" => Show::Columns {
            full,
            table: table(c)?,
            filter: filter(c)?,
        },
        "INDEX" | "INDEXES" | "KEYS" => Show::Index {
            table: table(c)?,
            filter: filter(c)?,
        },
        "CREATE" => create(c)?,
        "VARIABLES" => Show::Variables {
            scope,
            filter: filter(c)?,
        },
        "STATUS" => Show::Status {
            scope,
            filter: filter(c)?,
        },
        "PROCESSLIST" => Show::ProcessList { full },
        "WARNINGS" => {
            let (limit, offset) = limit(c)?;
            Show::Warnings { limit, offset }
        }
        "ERRORS" => {
            let (limit, offset) = limit(c)?;
            Show::Errors { limit, offset }
        }
        "ENGINES" => Show::Engines,
        "STORAGE" => {
            c.expect("ENGINES")?;
            Show::Engines
        }
        "ENGINE" => {
            let name = c.ident_or_string()?;
            if c.eat("MUTEX") || c.eat("LOGS") {
                return Err(SqlError::unsupported("SHOW ENGINE ... MUTEX"));
            }
            c.expect("STATUS")?;
            Show::EngineStatus(name)
        }
        "COLLATION" => Show::Collation(filter(c)?),
        "CHARSET" => Show::CharacterSet(filter(c)?),
        "CHARACTER" => {
            c.expect("SET")?;
            Show::CharacterSet(filter(c)?)
        }
        "GRANTS" => {
            let mut user = None;
            if c.eat_all(&["FOR", "CURRENT_USER"]) {
                if c.eat_token(&Token::LParen) {
                    c.expect_token(&Token::RParen)?;
                }
            } else if c.eat("FOR") {
                let mut name = String::new();
                while !c.at_end() {
                    match c.next().token {
                        Token::Word(w) => name += &w.value,
                        Token::SingleQuotedString(s) | Token::DoubleQuotedString(s) => name += &s,
                        t => name += &t.to_string(),
                    }
                }
                user = Some(name);
            }
            Show::Grants(user)
        }
        "PRIVILEGES" => Show::Privileges,
        "PLUGINS" => Show::Plugins,
        "TRIGGERS" => Show::Triggers {
            database: database(c)?,
            filter: filter(c)?,
        },
        "EVENTS" => Show::Events {
            database: database(c)?,
            filter: filter(c)?,
        },
        "PROCEDURE" | "FUNCTION" => {
            c.expect("STATUS")?;
            Show::RoutineStatus {
                function: first == "FUNCTION",
                filter: filter(c)?,
            }
        }
        "BINARY" | "MASTER" | "SLAVE" | "REPLICA" | "REPLICAS" | "BINLOG" | "RELAYLOG" => {
            let mut words = first;
            while let Some(w) = c.peek_word() {
                words = format!("{words} {w}");
                c.next();
            }
            drain(c);
            Show::Replication(words)
        }
        "PROFILE" | "PROFILES" => return Err(SqlError::unsupported("SHOW PROFILE")),
        _ => return Err(error),
    })
}

fn create(c: &mut Cursor<'_>) -> SqlResult<Show> {
    if c.eat("TABLE") {
        return Ok(Show::CreateTable(c.table_name()?));
    }
    if c.eat("DATABASE") || c.eat("SCHEMA") {
        let if_not_exists = c.eat_all(&["IF", "NOT", "EXISTS"]);
        return Ok(Show::CreateDatabase {
            if_not_exists,
            name: c.ident()?,
        });
    }
    match c.peek_word().as_deref() {
        Some("USER") => Err(SqlError::unsupported("SHOW CREATE USER")),
        Some(kind @ ("VIEW" | "PROCEDURE" | "FUNCTION" | "TRIGGER" | "EVENT")) => {
            let kind = kind.to_string();
            c.next();
            Ok(Show::CreateOther(kind, c.table_name()?))
        }
        _ => Err(c.error()),
    }
}
