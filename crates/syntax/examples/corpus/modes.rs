//! What of `sql_mode` a file has set so far, as far as its text tells.

use millpond_syntax::LexMode;

/// The mode of the session of a test file.
#[derive(Default)]
pub struct Modes {
    mode: LexMode,
    /// MariaDB's ORACLE mode, another language.
    oracle: bool,
}

impl Modes {
    /// Takes note of a statement that is sent.
    pub fn see(&mut self, text: &str) {
        let upper = text.to_ascii_uppercase();
        if !upper.starts_with("SET ") && !upper.starts_with("SET\t") {
            return;
        }
        let Some((_, value)) = upper.split_once("SQL_MODE") else {
            return;
        };
        let has = |word: &str| value.contains(word);
        self.oracle = has("ORACLE");
        let ansi = value
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .any(|w| matches!(w, "ANSI" | "DB2" | "MAXDB" | "MSSQL" | "POSTGRESQL"));
        self.mode = LexMode {
            ansi_quotes: ansi || has("ANSI_QUOTES"),
            pipes_as_concat: ansi || has("PIPES_AS_CONCAT"),
            no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
            high_not_precedence: has("HIGH_NOT_PRECEDENCE"),
            ignore_space: ansi || has("IGNORE_SPACE"),
        };
    }

    /// The mode that the next statement is read in, if it is MySQL's language.
    pub fn mode(&self) -> Option<LexMode> {
        (!self.oracle).then_some(self.mode)
    }
}
