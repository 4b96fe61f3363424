//! Texts of statements that have passwords in them, as they may be shown.

use millpond_sql::parse::ast::{
    AccountStatement, PrepareSource, RoutineStatement, SessionStatement, SetStatement,
    StatementKind,
};
use millpond_syntax::{LexMode, Lexer, TokenKind};
use std::sync::Arc;

/// What stands for a password.
const SECRET: &str = "'<secret>'";

/// Whether a statement's text may have passwords in it.
pub(super) fn is_secret(kind: &StatementKind, text: &str) -> bool {
    match kind {
        StatementKind::Account(s) => matches!(
            **s,
            AccountStatement::CreateUser { .. }
                | AccountStatement::AlterUser { .. }
                | AccountStatement::Grant { .. }
        ),
        StatementKind::Set(s) => matches!(**s, SetStatement::Password(_)),
        StatementKind::Session(s) => match &**s {
            SessionStatement::Prepare {
                source: PrepareSource::Text(text),
                ..
            } => has_words(text),
            _ => false,
        },
        // What is in a body, it may say itself or prepare.
        StatementKind::Routine(s) => {
            !matches!(**s, RoutineStatement::Drop { .. }) && has_words(text)
        }
        _ => false,
    }
}

/// Whether a text has a word that statements with passwords have.
fn has_words(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("identified") || text.contains("password")
}

/// The text to be shown of such a statement, read in the mode that it was parsed in: without those of its literals that are, or may be,
/// passwords. Of a program's body that is any.
pub(super) fn masked(kind: &StatementKind, text: &str, mode: LexMode) -> Arc<str> {
    use TokenKind as T;
    let all = matches!(kind, StatementKind::Routine(_));
    let mut lexer = Lexer::new(text, mode);
    let (mut end, mut out) = (0, String::with_capacity(text.len()));
    let (mut is_due, mut is_host) = (all, false);
    loop {
        let token = lexer.next_token();
        out.push_str(&without_comments(&text[end..token.start as usize]));
        end = token.end as usize;
        let part = token.span().of(text);
        match token.kind {
            T::End => return out.into(),
            // No parsed text has one.
            T::Bad => out.push_str(SECRET),
            T::Text | T::NationalText | T::Hex | T::Bits => {
                // Pieces in a row are one text: it stays due.
                let is_name = is_host || matches!(after(lexer), T::UserVariable | T::At);
                is_due &= !is_name || all;
                out.push_str(if is_due && !is_name { SECRET } else { part });
            }
            T::Introducer => out.push_str(part),
            kind => {
                out.push_str(part);
                is_due = all || is_before_secrets(kind, part);
            }
        }
        is_host = token.kind == T::At;
    }
}

/// The token that a lexer reads next.
fn after(mut lexer: Lexer<'_>) -> TokenKind {
    lexer.next_token().kind
}

/// What stands between two tokens, a word for its comments. What marks a version comment is one; what that holds is tokens.
fn without_comments(between: &str) -> String {
    let inner = between.trim();
    if inner.is_empty() {
        return between.to_string();
    }
    between.replacen(inner, "/* */", 1)
}

/// Whether what stands behind this token may be a password.
fn is_before_secrets(kind: TokenKind, part: &str) -> bool {
    const WORDS: [&str; 6] = ["by", "as", "password", "replace", "using", "from"];
    match kind {
        TokenKind::LParen | TokenKind::Eq | TokenKind::Assign => true,
        TokenKind::Keyword(_) | TokenKind::Ident => {
            WORDS.iter().any(|word| part.eq_ignore_ascii_case(word))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millpond_sql::env::SqlMode;
    use millpond_sql::parse::{lex_mode, parse_one};

    /// As it is shown; `None`: as it is.
    fn shown_in(mode: SqlMode, sql: &str) -> Option<Arc<str>> {
        let statement = parse_one(sql, mode).unwrap_or_else(|e| panic!("{sql}: {e}"));
        let kind = statement.kind();
        is_secret(kind, sql).then(|| masked(kind, sql, lex_mode(mode)))
    }

    fn shown(sql: &str) -> Option<Arc<str>> {
        shown_in(SqlMode::DEFAULT, sql)
    }

    #[test]
    fn no_password_is_shown() {
        for sql in [
            "CREATE USER 'u'@'h' IDENTIFIED BY 'geheim', v IDENTIFIED WITH mysql_native_password BY \"geheim\"",
            "create user u identified/* x */by /* geheim */ 'geheim' comment 'seen'",
            "CREATE USER u /*!80000 IDENTIFIED BY*/ 'geheim'",
            "CREATE USER u /*!80000 IDENTIFIED BY 'a*/geheim' */",
            "ALTER USER u IDENTIFIED BY 'a' REPLACE 'geheim'",
            "ALTER USER u IDENTIFIED WITH 'mysql_native_password' AS 'geheim'",
            "SET PASSWORD = 'geheim'",
            "SET PASSWORD FOR 'u'@'h' = PASSWORD('geheim')",
            "GRANT SELECT ON *.* TO 'u'@'h' IDENTIFIED BY 'geheim'",
            "PREPARE s FROM 'SET PASSWORD = ''geheim'''",
            "CREATE PROCEDURE p() CREATE USER 'u'@'h' IDENTIFIED BY 'geheim'",
            "CREATE PROCEDURE p() BEGIN SET @s = concat('SET PASSWORD = ', '''', 'geheim'); PREPARE s FROM @s; END",
            "CREATE DEFINER = 'u'@'h' EVENT e ON SCHEDULE EVERY 1 DAY DO ALTER USER u IDENTIFIED BY 'geheim'",
            "ALTER EVENT e DO SET PASSWORD = 'geheim'",
            "CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW SET @password = 'geheim'",
        ] {
            let shown = shown(sql).unwrap_or_else(|| panic!("{sql}"));
            assert!(!shown.contains("geheim"), "{shown}");
            assert!(shown.contains("<secret>"), "{shown}");
            assert_eq!(
                sql.contains("'u'@'h'"),
                shown.contains("'u'@'h'"),
                "{shown}"
            );
        }
        for sql in [
            "SELECT 'identified'",
            "CREATE PROCEDURE p() SELECT 'seen'",
            "DROP PROCEDURE password",
        ] {
            assert_eq!(shown(sql), None, "{sql}");
        }
    }

    #[test]
    fn the_rest_stays_as_it_is() {
        assert_eq!(
            &*shown("create user  u identified/* x */by\n'a' -- b\n comment 'seen'").unwrap(),
            "create user  u identified/* */by\n'<secret>' /* */\n comment 'seen'"
        );
        assert_eq!(
            &*shown("CREATE USER u /*!80000 IDENTIFIED BY 'a' */").unwrap(),
            "CREATE USER u /* */ IDENTIFIED BY '<secret>' /* */"
        );
    }

    #[test]
    fn quotes_are_read_in_the_statement_s_mode() {
        let plain = SqlMode {
            no_backslash_escapes: true,
            ..SqlMode::DEFAULT
        };
        let sql = r"CREATE USER a IDENTIFIED BY 'x\', b IDENTIFIED BY 'geheim'";
        assert_eq!(
            &*shown_in(plain, sql).unwrap(),
            "CREATE USER a IDENTIFIED BY '<secret>', b IDENTIFIED BY '<secret>'"
        );
        let ansi = SqlMode {
            ansi_quotes: true,
            ..SqlMode::DEFAULT
        };
        let sql = r#"CREATE USER "a\" IDENTIFIED BY 'x', "b" IDENTIFIED BY 'geheim'"#;
        assert_eq!(
            &*shown_in(ansi, sql).unwrap(),
            r#"CREATE USER "a\" IDENTIFIED BY '<secret>', "b" IDENTIFIED BY '<secret>'"#
        );
    }

    #[test]
    fn pieces_in_a_row_are_one_password() {
        let sql = "CREATE USER 'u' IDENTIFIED BY 'top' _utf8mb4 \"geheim\" N'x' COMMENT 'seen'";
        let kind = parse_one("CREATE USER u", SqlMode::DEFAULT).unwrap();
        assert_eq!(
            &*masked(kind.kind(), sql, lex_mode(SqlMode::DEFAULT)),
            "CREATE USER 'u' IDENTIFIED BY '<secret>' _utf8mb4 '<secret>' '<secret>' COMMENT 'seen'"
        );
    }
}
