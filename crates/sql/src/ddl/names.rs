//! What names may be: at most 64 characters, no trailing blank, none of the characters that no name can hold.

use crate::error::{SqlError, SqlResult};

/// Longest name, characters.
const MAX_NAME: usize = 64;

fn check(name: &str, code: u16, what: &str) -> SqlResult<()> {
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(SqlError::new(
            code,
            format!("Incorrect {what} name '{name}'"),
        ));
    }
    not_too_long(name)
}

/// Error 1059.
pub(super) fn not_too_long(name: &str) -> SqlResult<()> {
    match name.chars().count() > MAX_NAME {
        true => Err(SqlError::new(
            1059,
            format!("Identifier name '{name}' is too long"),
        )),
        false => Ok(()),
    }
}

/// A database's name: error 1102 or 1059.
pub(super) fn database(name: &str) -> SqlResult<()> {
    check(name, 1102, "database")
}

/// A table's name: error 1103 or 1059.
pub(super) fn table(name: &str) -> SqlResult<()> {
    check(name, 1103, "table")
}

/// A column's name: error 1166 or 1059.
pub(super) fn column(name: &str) -> SqlResult<()> {
    check(name, 1166, "column")
}

/// An index's name: error 1280 or 1059.
pub(super) fn index(name: &str) -> SqlResult<()> {
    if name.eq_ignore_ascii_case("PRIMARY") || name.eq_ignore_ascii_case("GEN_CLUST_INDEX") {
        return Err(SqlError::new(
            1280,
            format!("Incorrect index name '{name}'"),
        ));
    }
    check(name, 1280, "index")
}

/// A constraint's name: error 1280 or 1059. Blanks at its end are allowed.
pub(super) fn constraint(name: &str) -> SqlResult<()> {
    check(name.trim_end_matches(' '), 1280, "constraint")?;
    not_too_long(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        assert!(table(&"ä".repeat(64)).is_ok());
        assert_eq!(table(&"x".repeat(65)).unwrap_err().code, 1059);
        assert_eq!(table("x ").unwrap_err().code, 1103);
        assert_eq!(column("").unwrap_err().code, 1166);
        assert_eq!(database("a ").unwrap_err().code, 1102);
        assert_eq!(index("primary").unwrap_err().code, 1280);
        assert_eq!(index("x ").unwrap_err().code, 1280);
        assert!(constraint("x ").is_ok());
    }
}
