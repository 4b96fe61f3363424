//! Texts of statements that have passwords in them, as they may be shown.

use millpond_sql::parse::ast::{
    AccountStatement, PrepareSource, SessionStatement, SetStatement, StatementKind,
};
use millpond_syntax::pieces::{PieceKind, piece};
use std::sync::Arc;

/// What stands for a password.
const SECRET: &str = "'<secret>'";

/// Whether a statement's text may have passwords in it.
pub(super) fn is_secret(kind: &StatementKind) -> bool {
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
            } => {
                let text = text.to_ascii_lowercase();
                text.contains("identified") || text.contains("password")
            }
            _ => false,
        },
        _ => false,
    }
}

/// The text to be shown of such a statement: without those of its literals that are, or may be, passwords.
pub(super) fn masked(text: &str) -> Arc<str> {
    let bytes = text.as_bytes();
    let (mut at, mut out) = (0, String::with_capacity(text.len()));
    // What came before, comments and space left aside.
    let mut before = String::new();
    while at < bytes.len() {
        let piece = piece(bytes, at, true);
        let part = &text[at..piece.end];
        at = piece.end;
        match piece.kind {
            PieceKind::Quoted(b'\'' | b'"') if follows(&before) => {
                out.push_str(SECRET);
                before.clear();
            }
            PieceKind::Quoted(_) => {
                out.push_str(part);
                before = "quoted".into();
            }
            PieceKind::Plain => {
                out.push_str(part);
                if !part.trim().is_empty() {
                    before = part.trim_end().to_ascii_lowercase();
                }
            }
            // What a version comment holds is a part of the statement.
            PieceKind::Comment | PieceKind::LineComment => out.push_str("/* */"),
        }
    }
    out.into()
}

/// Whether what stands behind these words may be a password.
fn follows(before: &str) -> bool {
    const WORDS: [&str; 6] = ["by", "as", "password", "replace", "using", "from"];
    let word = before
        .rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .next();
    before.ends_with(['(', '=']) || word.is_some_and(|w| WORDS.contains(&w))
}

#[cfg(test)]
mod tests {
    use super::*;
    use millpond_sql::env::SqlMode;
    use millpond_sql::parse::parse_one;

    #[test]
    fn no_password_is_shown() {
        for sql in [
            "CREATE USER 'u'@'h' IDENTIFIED BY 'geheim', v IDENTIFIED WITH mysql_native_password BY \"geheim\"",
            "create user u identified/* x */by /* geheim */ 'geheim' comment 'seen'",
            "ALTER USER u IDENTIFIED BY 'a' REPLACE 'geheim'",
            "ALTER USER u IDENTIFIED WITH 'mysql_native_password' AS 'geheim'",
            "SET PASSWORD = 'geheim'",
            "SET PASSWORD FOR 'u'@'h' = PASSWORD('geheim')",
            "GRANT SELECT ON *.* TO 'u'@'h' IDENTIFIED BY 'geheim'",
            "PREPARE s FROM 'SET PASSWORD = ''geheim'''",
        ] {
            let statement = parse_one(sql, SqlMode::DEFAULT).unwrap();
            assert!(is_secret(statement.kind()), "{sql}");
            let shown = masked(sql);
            assert!(!shown.contains("geheim"), "{shown}");
            assert!(shown.contains("<secret>"), "{shown}");
            assert_eq!(
                sql.contains("'u'@'h'"),
                shown.contains("'u'@'h'"),
                "{shown}"
            );
        }
        assert!(!is_secret(
            parse_one("SELECT 'identified'", SqlMode::DEFAULT)
                .unwrap()
                .kind()
        ));
    }
}
