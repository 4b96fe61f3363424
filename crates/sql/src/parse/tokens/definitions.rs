//! Words of CREATE and ALTER that sqlparser's grammar lacks.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{is, keyword};
use crate::error::{SqlError, SqlResult};

/// Types that hold characters.
const CHARACTER: [&str; 8] = [
    "CHAR",
    "CHARACTER",
    "VARCHAR",
    "TINYTEXT",
    "TEXT",
    "MEDIUMTEXT",
    "LONGTEXT",
    "ENUM",
];

/// Types that hold numbers, and what may follow them.
const NUMERIC: [&str; 14] = [
    "TINYINT",
    "SMALLINT",
    "MEDIUMINT",
    "INT",
    "INTEGER",
    "BIGINT",
    "DECIMAL",
    "DEC",
    "NUMERIC",
    "FLOAT",
    "DOUBLE",
    "REAL",
    "UNSIGNED",
    "SIGNED",
];

/// Adjusts a CREATE or ALTER: `CHAR(5) BINARY` is a collation; VISIBLE and KEY_BLOCK_SIZE behind a key say what holds anyway; INVISIBLE
/// and ZEROFILL are refused.
pub fn adjust(list: &mut Vec<TokenWithSpan>) -> SqlResult<()> {
    let Some(first) = list.first() else {
        return Ok(());
    };
    let alter = is(first, "ALTER");
    if !alter && !is(first, "CREATE") {
        return Ok(());
    }
    // The options of a table made stand behind a parenthesis, too.
    let keys_end = alter || list.iter().take(4).any(|t| is(t, "INDEX"));
    let mut depth = 0u32;
    let mut i = 1;
    while i < list.len() {
        match list[i].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        if national(list, i) {
            continue;
        }
        if is(&list[i], "ZEROFILL") && (closes(&list[i - 1]) || any(&list[i - 1], &NUMERIC)) {
            return Err(SqlError::unsupported("ZEROFILL"));
        } else if is(&list[i], "BINARY") && is_collation(list, i) {
            let span = list[i].span;
            list[i] = keyword("COLLATE", Keyword::COLLATE, span);
            list.insert(i + 1, keyword("utf8mb4_bin", Keyword::NoKeyword, span));
        } else if (depth > 0 || keys_end) && follows_key(list, i) {
            if is(&list[i], "INVISIBLE") {
                return Err(SqlError::unsupported("INVISIBLE"));
            }
            if is(&list[i], "VISIBLE") {
                list.remove(i);
                continue;
            }
            if is(&list[i], "KEY_BLOCK_SIZE") {
                let eq = list.get(i + 1).is_some_and(|t| t.token == Token::Eq);
                list.drain(i..(i + 2 + usize::from(eq)).min(list.len()));
                continue;
            }
        }
        i += 1;
    }
    Ok(())
}

/// `NATIONAL VARCHAR(5)`, `NCHAR(5)`, `NVARCHAR(5)` are VARCHAR and CHAR of the character set utf8mb3.
fn national(list: &mut Vec<TokenWithSpan>, i: usize) -> bool {
    let span = list[i].span;
    let types = ["CHAR", "CHARACTER", "VARCHAR"];
    if is(&list[i], "NATIONAL") && list.get(i + 1).is_some_and(|t| any(t, &types)) {
        list.remove(i);
    } else if is(&list[i], "NCHAR") && i > 1 {
        list[i] = keyword("CHAR", Keyword::CHAR, span);
    } else if is(&list[i], "NVARCHAR") && i > 1 {
        list[i] = keyword("VARCHAR", Keyword::VARCHAR, span);
    } else {
        return false;
    }
    let mut end = i + 1;
    if list
        .get(end)
        .is_some_and(|t| any(t, &["VARYING", "VARCHAR"]))
    {
        // CHAR VARYING.
        list.remove(end);
        list[i] = keyword("VARCHAR", Keyword::VARCHAR, span);
    }
    if list.get(end).is_some_and(|t| t.token == Token::LParen) {
        end += 3;
    }
    let set = [
        keyword("CHARACTER", Keyword::CHARACTER, span),
        keyword("SET", Keyword::SET, span),
        keyword("utf8mb3", Keyword::NoKeyword, span),
    ];
    let end = end.min(list.len());
    list.splice(end..end, set);
    true
}

fn closes(t: &TokenWithSpan) -> bool {
    t.token == Token::RParen
}

fn any(t: &TokenWithSpan, words: &[&str]) -> bool {
    words.iter().any(|w| is(t, w))
}

/// Whether what stands here may be an option of a key: it follows its parts or another option.
fn follows_key(list: &[TokenWithSpan], i: usize) -> bool {
    let before = &list[i - 1];
    closes(before)
        || any(before, &["BTREE", "HASH"])
        || matches!(before.token, Token::SingleQuotedString(_))
            && i > 1
            && is(&list[i - 2], "COMMENT")
}

/// Whether BINARY at `i` follows a character type: its name, length and character set.
fn is_collation(list: &[TokenWithSpan], i: usize) -> bool {
    let mut at = i;
    if at > 3 && is(&list[at - 3], "CHARACTER") && is(&list[at - 2], "SET") {
        at -= 3;
    } else if at > 2 && is(&list[at - 2], "CHARSET") {
        at -= 2;
    }
    if closes(&list[at - 1]) {
        let open = list[..at].iter().rposition(|t| t.token == Token::LParen);
        at = open.unwrap_or(0);
    }
    at > 1 && any(&list[at - 1], &CHARACTER)
}
