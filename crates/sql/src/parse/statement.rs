//! Dispatch by the first words, and the statements that need a few lines each.

use sqlparser::ast::Statement as Sp;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::ast::{ExplainFormat, Kind, PrepareSource, Statement, sp};
use super::cursor::Cursor;
use super::tokens::Tokens;
use super::{alter, names, set, several, show};
use crate::error::{SqlError, SqlResult};

/// Parses the statement at the cursor.
pub fn parse(c: &mut Cursor<'_>, tokens: &Tokens) -> SqlResult<Kind> {
    if c.at_end() {
        return Ok(Kind::Empty);
    }
    let Some(first) = c.peek_word() else {
        if c.parser.peek_token_ref().token == Token::LParen {
            return query(c);
        }
        return Err(c.error());
    };
    match first.as_str() {
        "WITH" if changes(c) => {
            with(c)?;
            dml(c)
        }
        "SELECT" | "WITH" | "VALUES" | "TABLE" => query(c),
        "INSERT" | "REPLACE" | "UPDATE" | "DELETE" => dml(c),
        "EXPLAIN" | "DESCRIBE" | "DESC" => {
            c.next();
            explain(c, tokens)
        }
        "DO" => {
            c.next();
            let mut list = vec![c.expr()?];
            while c.eat_token(&Token::Comma) {
                list.push(c.expr()?);
            }
            Ok(Kind::Do(list))
        }
        "SET" => {
            c.next();
            set::parse(c)
        }
        "SHOW" => {
            c.next();
            show::parse(c)
        }
        "BEGIN" | "START" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" => {
            c.next();
            transaction(c, &first)
        }
        "USE" => {
            c.next();
            Ok(Kind::Use(c.ident()?))
        }
        "KILL" => {
            c.next();
            let query = c.eat("QUERY");
            if !query {
                c.eat("CONNECTION");
            }
            Ok(Kind::Kill {
                connection: !query,
                id: c.expr()?,
            })
        }
        "PREPARE" | "EXECUTE" | "DEALLOCATE" => {
            c.next();
            prepared(c, &first)
        }
        "DROP" if c.is_nth(1, "PREPARE") => {
            c.next();
            prepared(c, "DEALLOCATE")
        }
        "HELP" => {
            c.next();
            Ok(Kind::Help(c.ident_or_string()?))
        }
        "CREATE" | "DROP" | "RENAME" | "TRUNCATE" | "LOCK" | "UNLOCK" | "FLUSH" | "ANALYZE"
        | "CHECK" | "OPTIMIZE" | "REPAIR" | "CHECKSUM" => names::parse(c, &first),
        "ALTER" => alter::parse(c),
        "XA" | "HANDLER" | "LOAD" | "CALL" | "GRANT" | "REVOKE" | "INSTALL" | "UNINSTALL"
        | "CHANGE" | "RESET" | "PURGE" | "BINLOG" | "CACHE" | "STOP" | "SHUTDOWN" | "SIGNAL"
        | "RESIGNAL" | "GET" | "IMPORT" | "CLONE" | "RESTART" => {
            drain(c);
            Err(SqlError::unsupported(first))
        }
        _ => Err(c.error()),
    }
}

/// Skips what is left.
pub fn drain(c: &mut Cursor<'_>) {
    while !c.at_end() {
        c.next();
    }
}

fn query(c: &mut Cursor<'_>) -> SqlResult<Kind> {
    match c.parser.parse_query() {
        Ok(q) => {
            if c.is("INTO") {
                return Err(SqlError::unsupported("SELECT ... INTO a file"));
            }
            Ok(Kind::Query(q))
        }
        Err(e) => Err(c.convert(e)),
    }
}

/// Whether what comes after WITH and its queries is UPDATE or DELETE.
fn changes(c: &Cursor<'_>) -> bool {
    let mut depth = 0u32;
    for n in 1.. {
        match &c.parser.peek_nth_token_ref(n).token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::EOF => return false,
            _ if depth == 0 && (c.is_nth(n, "UPDATE") || c.is_nth(n, "DELETE")) => return true,
            _ if depth == 0 && c.is_nth(n, "SELECT") => return false,
            _ => {}
        }
    }
    false
}

/// Takes WITH and its queries.
fn with(c: &mut Cursor<'_>) -> SqlResult<()> {
    let with_token = c.next().into();
    let recursive = c.eat("RECURSIVE");
    let queries = c.parser.parse_comma_separated(Parser::parse_cte);
    c.beside.with = Some(sp::With {
        with_token,
        recursive,
        cte_tables: queries.map_err(|e| c.convert(e))?,
    });
    Ok(())
}

fn dml(c: &mut Cursor<'_>) -> SqlResult<Kind> {
    if let Some(kind) = several::parse(c)? {
        return Ok(kind);
    }
    match c.parser.parse_statement() {
        Ok(Sp::Insert(i)) => Ok(Kind::Insert(Box::new(i))),
        Ok(Sp::Update(u)) => Ok(Kind::Update(Box::new(u))),
        Ok(Sp::Delete(d)) => Ok(Kind::Delete(Box::new(d))),
        Ok(_) => Err(c.error()),
        Err(e) => Err(c.convert(e)),
    }
}

fn explain(c: &mut Cursor<'_>, tokens: &Tokens) -> SqlResult<Kind> {
    if c.is("ANALYZE") {
        return Err(SqlError::unsupported("EXPLAIN ANALYZE"));
    }
    if c.is("FOR") && c.is_nth(1, "CONNECTION") {
        return Err(SqlError::unsupported("EXPLAIN FOR CONNECTION"));
    }
    let mut format = ExplainFormat::Traditional;
    if (c.is("EXTENDED") || c.is("PARTITIONS")) && !c.is_nth(1, ".") {
        c.next();
    } else if c.is("FORMAT") && c.second() == &Token::Eq {
        c.next();
        c.next();
        format = match c.ident_or_string()?.to_ascii_uppercase().as_str() {
            "TRADITIONAL" | "DEFAULT" => ExplainFormat::Traditional,
            "TREE" => ExplainFormat::Tree,
            "JSON" => return Err(SqlError::unsupported("EXPLAIN FORMAT=JSON")),
            other => {
                return Err(SqlError::new(
                    1791,
                    format!("Unknown EXPLAIN format name: '{other}'"),
                ));
            }
        };
    }
    let statement = matches!(
        c.peek_word().as_deref(),
        Some("SELECT" | "WITH" | "VALUES" | "TABLE" | "INSERT" | "REPLACE" | "UPDATE" | "DELETE")
    ) || c.parser.peek_token_ref().token == Token::LParen;
    if !statement {
        let table = c.table_name()?;
        let column = if c.at_end() {
            None
        } else {
            Some(c.ident_or_string()?)
        };
        return Ok(Kind::Describe { table, column });
    }
    let kind = parse(c, tokens)?;
    Ok(Kind::Explain {
        format,
        statement: Box::new(Statement {
            kind,
            params: tokens.params,
            text: String::new(),
            ignore: tokens.ignore,
            with: c.beside.with.take(),
            duplicates: c.beside.duplicates,
            into: tokens.into.clone(),
            headings: tokens.headings.clone(),
            time_limit: None,
            run: tokens.run,
        }),
    })
}

fn transaction(c: &mut Cursor<'_>, first: &str) -> SqlResult<Kind> {
    match first {
        "BEGIN" => {
            c.eat("WORK");
            Ok(Kind::Begin {
                snapshot: false,
                read_only: None,
            })
        }
        "START" => {
            if !c.eat("TRANSACTION") {
                if c.is("SLAVE") || c.is("REPLICA") || c.is("GROUP_REPLICATION") {
                    return Err(SqlError::unsupported("replication"));
                }
                return Err(c.error());
            }
            let mut snapshot = false;
            let mut read_only = None;
            while !c.at_end() {
                if c.eat_all(&["WITH", "CONSISTENT", "SNAPSHOT"]) {
                    snapshot = true;
                } else if read_only.is_none() && c.eat_all(&["READ", "ONLY"]) {
                    read_only = Some(true);
                } else if read_only.is_none() && c.eat_all(&["READ", "WRITE"]) {
                    read_only = Some(false);
                } else {
                    return Err(c.error());
                }
                if !c.eat_token(&Token::Comma) {
                    break;
                }
            }
            Ok(Kind::Begin {
                snapshot,
                read_only,
            })
        }
        "SAVEPOINT" => Ok(Kind::Savepoint(c.ident()?)),
        "RELEASE" => {
            c.expect("SAVEPOINT")?;
            Ok(Kind::ReleaseSavepoint(c.ident()?))
        }
        _ => {
            c.eat("WORK");
            if first == "ROLLBACK" && c.eat("TO") {
                if !c.is_nth(1, ";") {
                    c.eat("SAVEPOINT");
                }
                return Ok(Kind::RollbackTo(c.ident()?));
            }
            let mut chain = false;
            let mut release = false;
            if c.eat_all(&["AND", "CHAIN"]) {
                chain = true;
            } else {
                c.eat_all(&["AND", "NO", "CHAIN"]);
            }
            if c.eat("RELEASE") {
                release = true;
            } else {
                c.eat_all(&["NO", "RELEASE"]);
            }
            Ok(if first == "COMMIT" {
                Kind::Commit { chain, release }
            } else {
                Kind::Rollback { chain, release }
            })
        }
    }
}

fn prepared(c: &mut Cursor<'_>, first: &str) -> SqlResult<Kind> {
    if first == "DEALLOCATE" {
        c.expect("PREPARE")?;
        return Ok(Kind::Deallocate(c.ident()?));
    }
    let name = c.ident()?;
    if first == "PREPARE" {
        c.expect("FROM")?;
        let source = match c.user_variable() {
            Some(v) => PrepareSource::Variable(v),
            None => PrepareSource::Text(c.string()?),
        };
        return Ok(Kind::Prepare { name, source });
    }
    let mut using = Vec::new();
    if c.eat("USING") {
        loop {
            match c.user_variable() {
                Some(v) => using.push(v),
                None => return Err(c.error()),
            }
            if !c.eat_token(&Token::Comma) {
                break;
            }
        }
    }
    Ok(Kind::Execute { name, using })
}

/// A name of sqlparser's as ours; more than two parts are an error.
pub fn object_name(c: &Cursor<'_>, name: &sp::ObjectName) -> SqlResult<super::TableName> {
    let parts: Vec<&str> = name
        .0
        .iter()
        .filter_map(|p| p.as_ident().map(|i| i.value.as_str()))
        .collect();
    match parts.as_slice() {
        [name] => Ok(super::TableName {
            database: None,
            name: (*name).to_string(),
        }),
        [database, name] => Ok(super::TableName {
            database: Some((*database).to_string()),
            name: (*name).to_string(),
        }),
        _ => Err(c.error()),
    }
}
