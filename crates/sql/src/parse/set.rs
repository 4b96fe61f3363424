//! SET: variables, NAMES, CHARACTER SET, TRANSACTION.

use millpond_store::Isolation;
use sqlparser::tokenizer::Token;

use super::ast::{Kind, Scope, SetItem, SetValue};
use super::cursor::Cursor;
use crate::error::{SqlError, SqlResult};

/// Parses what follows SET.
pub fn parse(c: &mut Cursor<'_>) -> SqlResult<Kind> {
    for (words, what) in [
        (&["PASSWORD"][..], "SET PASSWORD"),
        (&["ROLE"][..], "SET ROLE"),
        (&["DEFAULT", "ROLE"][..], "SET DEFAULT ROLE"),
        (&["RESOURCE", "GROUP"][..], "SET RESOURCE GROUP"),
    ] {
        if words.iter().enumerate().all(|(n, w)| c.is_nth(n, w)) {
            return Err(SqlError::unsupported(what));
        }
    }
    let mut items = Vec::new();
    // The last keyword applies to the assignments after it too.
    let mut sticky = Scope::Default;
    loop {
        items.push(item(c, &mut sticky)?);
        if !c.eat_token(&Token::Comma) {
            return Ok(Kind::Set(items));
        }
    }
}

fn scope_word(w: &str) -> Option<Scope> {
    Some(match w.to_ascii_uppercase().as_str() {
        "SESSION" | "LOCAL" => Scope::Session,
        "GLOBAL" => Scope::Global,
        "PERSIST" | "PERSIST_ONLY" => Scope::Persist,
        _ => return None,
    })
}

fn is_assignment(t: &Token) -> bool {
    matches!(t, Token::Eq | Token::Assignment)
}

fn item(c: &mut Cursor<'_>, sticky: &mut Scope) -> SqlResult<SetItem> {
    if c.is("NAMES") && !is_assignment(c.second()) {
        c.next();
        let charset = charset(c)?;
        let collation = if charset.is_some() && c.eat("COLLATE") {
            Some(c.ident_or_string()?.to_lowercase())
        } else {
            None
        };
        return Ok(SetItem::Names { charset, collation });
    }
    if c.eat_all(&["CHARACTER", "SET"]) || c.is("CHARSET") && !is_assignment(c.second()) {
        c.eat("CHARSET");
        return Ok(SetItem::CharacterSet(charset(c)?));
    }
    if let Some(name) = c.user_variable() {
        assign(c)?;
        return Ok(SetItem::User {
            name,
            value: c.expr()?,
        });
    }
    let first = match c.peek_word() {
        // `@@global.x` arrives as the words `@@global` and `x`, `@@x` as one word.
        Some(w) if w.starts_with("@@") => {
            let word = c.ident()?;
            let word = &word[2..];
            let (scope, name) = match scope_word(word) {
                Some(s) if c.eat_token(&Token::Period) => (s, c.ident()?),
                _ => (Scope::Default, word.to_string()),
            };
            return system(c, scope, &name);
        }
        Some(w) => w,
        None => String::new(),
    };
    if let Some(s) = scope_word(&first)
        && !is_assignment(c.second())
    {
        c.next();
        *sticky = s;
        if c.eat("TRANSACTION") {
            return transaction(c, s);
        }
        let name = c.ident()?;
        return system(c, s, &name);
    }
    if first == "TRANSACTION" && !is_assignment(c.second()) {
        c.next();
        return transaction(c, Scope::Default);
    }
    let name = c.ident()?;
    system(c, *sticky, &name)
}

fn charset(c: &mut Cursor<'_>) -> SqlResult<Option<String>> {
    Ok(if c.eat("DEFAULT") {
        None
    } else {
        Some(c.ident_or_string()?.to_lowercase())
    })
}

fn assign(c: &mut Cursor<'_>) -> SqlResult<()> {
    if c.eat_token(&Token::Assignment) {
        return Ok(());
    }
    c.expect_token(&Token::Eq)
}

fn system(c: &mut Cursor<'_>, scope: Scope, name: &str) -> SqlResult<SetItem> {
    let mut name = name.to_lowercase();
    // A structured variable's instance (`hot_cache.key_buffer_size`) is part of its name.
    if c.eat_token(&Token::Period) {
        name = format!("{name}.{}", c.ident()?.to_lowercase());
    }
    assign(c)?;
    let alone = matches!(c.second(), Token::EOF | Token::Comma | Token::SemiColon);
    let value = match c.peek_word() {
        Some(w) if alone && w == "DEFAULT" => {
            c.next();
            SetValue::Default
        }
        Some(w)
            if alone
                && !w.starts_with('@')
                && !matches!(w.as_str(), "NULL" | "TRUE" | "FALSE")
                && !w.starts_with("CURRENT_") =>
        {
            SetValue::Word(c.ident()?)
        }
        _ => SetValue::Expr(c.expr()?),
    };
    Ok(SetItem::System { scope, name, value })
}

fn transaction(c: &mut Cursor<'_>, scope: Scope) -> SqlResult<SetItem> {
    let mut isolation = None;
    let mut read_only = None;
    loop {
        if isolation.is_none() && c.eat_all(&["ISOLATION", "LEVEL"]) {
            isolation = Some(if c.eat_all(&["READ", "UNCOMMITTED"]) {
                Isolation::ReadUncommitted
            } else if c.eat_all(&["READ", "COMMITTED"]) {
                Isolation::ReadCommitted
            } else if c.eat_all(&["REPEATABLE", "READ"]) {
                Isolation::RepeatableRead
            } else if c.eat("SERIALIZABLE") {
                Isolation::Serializable
            } else {
                return Err(c.error());
            });
        } else if read_only.is_none() && c.eat_all(&["READ", "ONLY"]) {
            read_only = Some(true);
        } else if read_only.is_none() && c.eat_all(&["READ", "WRITE"]) {
            read_only = Some(false);
        } else {
            return Err(c.error());
        }
        if !c.eat_token(&Token::Comma) {
            return Ok(SetItem::Transaction {
                scope,
                isolation,
                read_only,
            });
        }
    }
}
