//! Errors 1451 and 1452, which name the foreign key as SHOW CREATE TABLE has it.

use millpond_syntax::quote::Quotes;

use crate::catalog::ForeignKey;
use crate::error::SqlError;

fn failed(code: u16, what: &str, (database, table): (&str, &str), key: &ForeignKey) -> SqlError {
    let quotes = Quotes { ansi: false };
    SqlError::new(
        code,
        format!(
            "Cannot {what}: a foreign key constraint fails ({}.{}, {})",
            quotes.name(database),
            quotes.name(table),
            key.text(database, quotes)
        ),
    )
}

/// 1452: a row of `child` has no parent.
pub fn child_error(child: (&str, &str), key: &ForeignKey) -> SqlError {
    failed(1452, "add or update a child row", child, key)
}

/// 1451: a row that goes, or whose key changes, has children in `child`.
pub fn parent_error(child: (&str, &str), key: &ForeignKey) -> SqlError {
    failed(1451, "delete or update a parent row", child, key)
}

/// 3008: a cascade of cascades.
pub fn too_deep(most: usize) -> SqlError {
    SqlError::new(
        3008,
        format!("Foreign key cascade delete/update exceeds max depth of {most}."),
    )
}

/// Whether IGNORE makes an error a warning, and passes the row over.
pub fn ignorable(e: &SqlError) -> bool {
    matches!(e.code, 1451 | 1452)
}

/// 1761: a row that changes with its parent would have the unique key of another.
pub fn duplicate_by_cascade(parent: &str, record: &str, child: &str, key: &str) -> SqlError {
    SqlError::new(
        1761,
        format!(
            "Foreign key constraint for table '{parent}', record '{record}' would lead to a duplicate entry in table '{child}', key '{key}'"
        ),
    )
}
