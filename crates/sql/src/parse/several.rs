//! UPDATE and DELETE of several tables, whose grammar sqlparser knows in part.

use sqlparser::tokenizer::Token;

use super::ast::{Change, Kind, Several, TableName, sp};
use super::cursor::Cursor;
use crate::error::{SqlError, SqlResult};

/// Parses an UPDATE or DELETE if it is one of several tables; `None` (and nothing consumed) otherwise.
pub fn parse(c: &mut Cursor<'_>) -> SqlResult<Option<Kind>> {
    let several = if c.is("UPDATE") {
        if !updates_several(c) {
            return Ok(None);
        }
        c.next();
        update(c)?
    } else {
        let using = deletes_using(c);
        if !c.is("DELETE") || c.is_nth(1, "FROM") && !using {
            return Ok(None);
        }
        c.next();
        delete(c, using)?
    };
    Ok(Some(Kind::Several(Box::new(several))))
}

/// Whether a comma or a join comes between UPDATE and SET.
fn updates_several(c: &Cursor<'_>) -> bool {
    before(c, &["SET"], |c, n| {
        c.parser.peek_nth_token_ref(n).token == Token::Comma
            || ["JOIN", "STRAIGHT_JOIN"].iter().any(|w| c.is_nth(n, w)) && !c.is_nth(n - 1, "FOR")
            || n == 1 && c.parser.peek_nth_token_ref(n).token == Token::LParen
    })
}

/// Whether this is DELETE FROM ... USING.
fn deletes_using(c: &Cursor<'_>) -> bool {
    let ends = ["WHERE", "JOIN", "ORDER", "LIMIT"];
    c.is_nth(1, "FROM") && before(c, &ends, |c, n| c.is_nth(n, "USING"))
}

/// Whether a token that is asked for comes before one of these words and outside of parentheses.
fn before(c: &Cursor<'_>, ends: &[&str], is: impl Fn(&Cursor<'_>, usize) -> bool) -> bool {
    let mut depth = 0u32;
    for n in 1.. {
        if depth == 0 && is(c, n) {
            return true;
        }
        match &c.parser.peek_nth_token_ref(n).token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::EOF => return false,
            _ if depth == 0 && ends.iter().any(|w| c.is_nth(n, w)) => return false,
            _ => {}
        }
    }
    false
}

fn update(c: &mut Cursor<'_>) -> SqlResult<Several> {
    let from = tables(c)?;
    c.expect("SET")?;
    let set = c.parser.parse_comma_separated(|p| p.parse_assignment());
    let set = set.map_err(|e| c.convert(e))?;
    let filter = filter(c)?;
    for (word, name) in [("ORDER", "ORDER BY"), ("LIMIT", "LIMIT")] {
        if c.is(word) {
            return Err(SqlError::new(
                1221,
                format!("Incorrect usage of UPDATE and {name}"),
            ));
        }
    }
    Ok(Several {
        from,
        change: Change::Update(set),
        filter,
    })
}

fn delete(c: &mut Cursor<'_>, using: bool) -> SqlResult<Several> {
    if using {
        c.expect("FROM")?;
    }
    let mut names = vec![target(c)?];
    while c.eat_token(&Token::Comma) {
        names.push(target(c)?);
    }
    c.expect(if using { "USING" } else { "FROM" })?;
    let from = tables(c)?;
    Ok(Several {
        from,
        change: Change::Delete(names),
        filter: filter(c)?,
    })
}

/// `t`, `d.t`, `t.*`, `d.t.*`.
fn target(c: &mut Cursor<'_>) -> SqlResult<TableName> {
    let mut parts = vec![c.ident()?];
    while c.eat_token(&Token::Period) {
        if c.eat_token(&Token::Mul) {
            break;
        }
        parts.push(c.ident()?);
    }
    match (parts.pop(), parts.pop(), parts.pop()) {
        (Some(name), database, None) => Ok(TableName { database, name }),
        _ => Err(c.error()),
    }
}

fn tables(c: &mut Cursor<'_>) -> SqlResult<Vec<sp::TableWithJoins>> {
    let list = c
        .parser
        .parse_comma_separated(|p| p.parse_table_and_joins());
    list.map_err(|e| c.convert(e))
}

fn filter(c: &mut Cursor<'_>) -> SqlResult<Option<sp::Expr>> {
    if c.eat("WHERE") {
        c.expr().map(Some)
    } else {
        Ok(None)
    }
}
