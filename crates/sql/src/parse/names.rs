//! Statements that only name tables and databases, and CREATE TABLE and CREATE INDEX by way of sqlparser.

use sqlparser::ast::{CreateTableLikeKind, Statement as Sp};
use sqlparser::tokenizer::Token;

use super::ast::{
    DatabaseOptions, Duplicates, HistogramClause, Kind, Maintenance, Program, TableName, sp,
};
use super::cursor::Cursor;
use super::partition;
use super::statement::{drain, object_name};
use crate::error::{SqlError, SqlResult};

/// Parses a statement that starts with `first`, which is still to be consumed.
pub fn parse(c: &mut Cursor<'_>, first: &str) -> SqlResult<Kind> {
    if first == "CREATE" {
        return create(c);
    }
    c.next();
    match first {
        "DROP" => drop_(c),
        "RENAME" => {
            if c.is("USER") {
                return Err(SqlError::unsupported("RENAME USER"));
            }
            if !c.eat("TABLES") {
                c.expect("TABLE")?;
            }
            let mut pairs = Vec::new();
            loop {
                let from = c.table_name()?;
                c.expect("TO")?;
                pairs.push((from, c.table_name()?));
                if !c.eat_token(&Token::Comma) {
                    return Ok(Kind::RenameTables(pairs));
                }
            }
        }
        "TRUNCATE" => {
            c.eat("TABLE");
            Ok(Kind::Truncate(c.table_name()?))
        }
        "LOCK" => lock(c),
        "UNLOCK" => {
            if c.eat("INSTANCE") {
                return Err(SqlError::unsupported("UNLOCK INSTANCE"));
            }
            if !c.eat("TABLES") {
                c.expect("TABLE")?;
            }
            Ok(Kind::UnlockTables)
        }
        "FLUSH" => flush(c),
        _ => maintain(c, first),
    }
}

fn create(c: &mut Cursor<'_>) -> SqlResult<Kind> {
    if c.is_nth(1, "DATABASE") || c.is_nth(1, "SCHEMA") {
        c.next();
        c.next();
        let if_not_exists = c.eat_all(&["IF", "NOT", "EXISTS"]);
        let name = c.ident()?;
        return Ok(Kind::CreateDatabase {
            if_not_exists,
            name,
            options: database_options(c)?,
        });
    }
    // The first word that names a kind of object.
    let kind = (1..8).find_map(|n| match &c.parser.peek_nth_token_ref(n).token {
        Token::Word(w) => match w.value.to_ascii_uppercase().as_str() {
            k @ ("TABLE" | "INDEX" | "VIEW" | "PROCEDURE" | "FUNCTION" | "TRIGGER" | "EVENT"
            | "USER" | "ROLE" | "SERVER" | "TABLESPACE" | "LOGFILE") => Some(k.to_string()),
            _ => None,
        },
        _ => None,
    });
    match kind.as_deref() {
        Some("TABLE" | "INDEX") => {}
        Some(other) => {
            drain(c);
            return Err(SqlError::unsupported(format_args!("CREATE {other}")));
        }
        None => {
            c.next();
            return Err(c.error());
        }
    }
    for word in ["FULLTEXT", "SPATIAL"] {
        if c.is_nth(1, word) {
            drain(c);
            return Err(SqlError::unsupported(format_args!("{word} INDEX")));
        }
    }
    match c.parser.parse_statement() {
        Ok(Sp::CreateTable(t)) => {
            if let Some(CreateTableLikeKind::Plain(like) | CreateTableLikeKind::Parenthesized(like)) =
                &t.like
                && like.defaults.is_none()
            {
                return Ok(Kind::CreateTableLike {
                    if_not_exists: t.if_not_exists,
                    temporary: t.temporary,
                    name: object_name(c, &t.name)?,
                    like: object_name(c, &like.name)?,
                });
            }
            if c.is("PARTITION") && c.is_nth(1, "BY") {
                return create_partitioned(c, t);
            }
            let mut t = t;
            duplicates_query(c, &mut t)?;
            Ok(Kind::CreateTable(Box::new(t)))
        }
        Ok(Sp::CreateIndex(i)) => Ok(Kind::CreateIndex(Box::new(i))),
        Ok(_) => Err(c.error()),
        Err(e) => Err(c.convert(e)),
    }
}

/// `IGNORE SELECT ...`, `REPLACE AS SELECT ...` at the end of CREATE TABLE.
fn duplicates_query(c: &mut Cursor<'_>, t: &mut sp::CreateTable) -> SqlResult<()> {
    let duplicates = if c.eat("IGNORE") {
        Duplicates::Ignore
    } else if c.eat("REPLACE") {
        Duplicates::Replace
    } else {
        return Ok(());
    };
    c.eat("AS");
    c.beside.duplicates = duplicates;
    t.query = Some(c.parser.parse_query().map_err(|e| c.convert(e))?);
    Ok(())
}

/// PARTITION BY, and the query that may come after it.
fn create_partitioned(c: &mut Cursor<'_>, mut t: sp::CreateTable) -> SqlResult<Kind> {
    let by = partition::by(c)?;
    duplicates_query(c, &mut t)?;
    if t.query.is_none() {
        c.eat("AS");
        if !c.at_end() {
            t.query = Some(c.parser.parse_query().map_err(|e| c.convert(e))?);
        }
    }
    Ok(Kind::CreatePartitioned(Box::new(t), Box::new(by)))
}

/// The options of CREATE and ALTER DATABASE.
pub fn database_options(c: &mut Cursor<'_>) -> SqlResult<DatabaseOptions> {
    let mut o = DatabaseOptions::default();
    while !c.at_end() {
        c.eat("DEFAULT");
        let value = |c: &mut Cursor<'_>| {
            c.eat_token(&Token::Eq);
            c.ident_or_string().map(|s| s.to_lowercase())
        };
        if c.eat_all(&["CHARACTER", "SET"]) || c.eat("CHARSET") {
            o.charset = Some(value(c)?);
        } else if c.eat("COLLATE") {
            o.collation = Some(value(c)?);
        } else if c.eat("ENCRYPTION") {
            if !value(c)?.eq_ignore_ascii_case("n") {
                return Err(SqlError::unsupported("ENCRYPTION"));
            }
        } else {
            return Err(c.error());
        }
    }
    Ok(o)
}

fn drop_(c: &mut Cursor<'_>) -> SqlResult<Kind> {
    if c.eat("DATABASE") || c.eat("SCHEMA") {
        let if_exists = c.eat_all(&["IF", "EXISTS"]);
        return Ok(Kind::DropDatabase {
            if_exists,
            name: c.ident()?,
        });
    }
    let temporary = c.eat("TEMPORARY");
    if c.eat("TABLE") || c.eat("TABLES") {
        let if_exists = c.eat_all(&["IF", "EXISTS"]);
        let names = c.table_names()?;
        if !c.eat("CASCADE") {
            c.eat("RESTRICT");
        }
        return Ok(Kind::DropTables {
            if_exists,
            temporary,
            names,
        });
    }
    if temporary {
        return Err(c.error());
    }
    if c.eat("INDEX") {
        let name = c.ident()?;
        c.expect("ON")?;
        let table = c.table_name()?;
        let mut clauses = Vec::new();
        while c.is("ALGORITHM") || c.is("LOCK") {
            let clause = c.parser.parse_alter_table_operation();
            clauses.push(clause.map_err(|e| c.convert(e))?);
        }
        return Ok(Kind::DropIndex {
            name,
            table,
            clauses,
        });
    }
    if c.eat("VIEW") {
        let if_exists = c.eat_all(&["IF", "EXISTS"]);
        let names = c.table_names()?;
        if !c.eat("CASCADE") {
            c.eat("RESTRICT");
        }
        return Ok(Kind::DropViews { if_exists, names });
    }
    for (word, program) in [
        ("PROCEDURE", Program::Procedure),
        ("FUNCTION", Program::Function),
        ("TRIGGER", Program::Trigger),
        ("EVENT", Program::Event),
    ] {
        if c.eat(word) {
            return Ok(Kind::DropProgram {
                program,
                if_exists: c.eat_all(&["IF", "EXISTS"]),
                name: c.table_name()?,
            });
        }
    }
    match c.peek_word().as_deref() {
        Some(k @ ("USER" | "ROLE" | "SERVER" | "TABLESPACE")) => {
            let k = k.to_string();
            drain(c);
            Err(SqlError::unsupported(format_args!("DROP {k}")))
        }
        _ => Err(c.error()),
    }
}

fn lock(c: &mut Cursor<'_>) -> SqlResult<Kind> {
    if c.is("INSTANCE") {
        return Err(SqlError::unsupported("LOCK INSTANCE"));
    }
    if !c.eat("TABLES") {
        c.expect("TABLE")?;
    }
    let mut list = Vec::new();
    loop {
        let table = c.table_name()?;
        let lock_word = |c: &Cursor<'_>| c.is("READ") || c.is("WRITE") || c.is("LOW_PRIORITY");
        let alias = if c.eat("AS") || !lock_word(c) {
            Some(c.ident()?)
        } else {
            None
        };
        let write = if c.eat("READ") {
            c.eat("LOCAL");
            false
        } else {
            c.eat("LOW_PRIORITY");
            c.expect("WRITE")?;
            true
        };
        list.push((table, alias, write));
        if !c.eat_token(&Token::Comma) {
            return Ok(Kind::LockTables(list));
        }
    }
}

fn flush(c: &mut Cursor<'_>) -> SqlResult<Kind> {
    if !c.eat("NO_WRITE_TO_BINLOG") {
        c.eat("LOCAL");
    }
    let mut what = String::new();
    let mut tables = Vec::new();
    if c.at_end() {
        return Err(c.error());
    }
    while !c.at_end() {
        let Some(w) = c.peek_word() else {
            if !c.eat_token(&Token::Comma) {
                return Err(c.error());
            }
            what.push(',');
            continue;
        };
        c.next();
        if !what.is_empty() {
            what.push(' ');
        }
        what += if w == "TABLE" { "TABLES" } else { &w };
        if matches!(w.as_str(), "TABLE" | "TABLES") && !c.at_end() && !c.is("WITH") {
            tables = c.table_names()?;
        }
    }
    Ok(Kind::Flush { what, tables })
}

/// UPDATE HISTOGRAM ON columns [WITH n BUCKETS], DROP HISTOGRAM ON columns.
fn histogram_clause(c: &mut Cursor<'_>) -> SqlResult<Option<HistogramClause>> {
    let update = c.eat("UPDATE");
    if !update && !c.eat("DROP") {
        return Ok(None);
    }
    c.expect("HISTOGRAM")?;
    c.expect("ON")?;
    let mut columns = vec![c.ident()?];
    while c.eat_token(&Token::Comma) {
        columns.push(c.ident()?);
    }
    if !update {
        let buckets = None;
        return Ok(Some(HistogramClause { columns, buckets }));
    }
    let mut buckets = HistogramClause::DEFAULT_BUCKETS;
    if c.eat("WITH") {
        let asked = c.number()?;
        c.expect("BUCKETS")?;
        let fits = usize::try_from(asked).ok();
        buckets = fits
            .filter(|n| (1..=HistogramClause::MAX_BUCKETS).contains(n))
            .ok_or_else(|| {
                let what = "Number of buckets value is out of range in 'ANALYZE TABLE'";
                SqlError::new(1690, what)
            })?;
    }
    if c.is("USING") {
        return Err(SqlError::unsupported("UPDATE HISTOGRAM ... USING DATA"));
    }
    let buckets = Some(buckets);
    Ok(Some(HistogramClause { columns, buckets }))
}

fn maintain(c: &mut Cursor<'_>, first: &str) -> SqlResult<Kind> {
    let op = match first {
        "ANALYZE" => Maintenance::Analyze,
        "CHECK" => Maintenance::Check,
        "OPTIMIZE" => Maintenance::Optimize,
        "REPAIR" => Maintenance::Repair,
        _ => Maintenance::Checksum,
    };
    if !c.eat("NO_WRITE_TO_BINLOG") {
        c.eat("LOCAL");
    }
    if !c.eat("TABLES") {
        c.expect("TABLE")?;
    }
    let tables: Vec<TableName> = c.table_names()?;
    let histogram = match op {
        Maintenance::Analyze => histogram_clause(c)?,
        _ => None,
    };
    let mut options = Vec::new();
    while let Some(w) = c.peek_word() {
        options.push(w);
        c.next();
    }
    Ok(Kind::Maintain {
        op,
        tables,
        histogram,
        options,
        partitions: None,
    })
}
