//! What an expression is for. MySQL has a family of errors for each.

use crate::error::SqlError;

/// What an expression of a definition is for, with the name that messages call it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role<'n> {
    /// DEFAULT of this column.
    Default(&'n str),
    /// The CHECK constraint of this name.
    Check(&'n str),
    /// What this generated column is.
    Generated(&'n str),
    /// A part of the key of this name.
    Index(&'n str),
}

impl Role<'_> {
    /// The clause that error 1054 names.
    pub(super) fn clause(self) -> &'static str {
        match self {
            Role::Default(_) => "default value expression",
            Role::Check(_) => "check constraint",
            Role::Generated(_) => "generated column function",
            Role::Index(_) => "functional index",
        }
    }

    /// For a column that there is not.
    pub(super) fn unknown(self, column: &str) -> SqlError {
        match self {
            Role::Check(name) => SqlError::new(
                3820,
                format!("Check constraint '{name}' refers to non-existing column '{column}'."),
            ),
            Role::Default(_) | Role::Generated(_) | Role::Index(_) => SqlError::new(
                1054,
                format!("Unknown column '{column}' in '{}'", self.clause()),
            ),
        }
    }

    /// For what has no name: subqueries.
    pub(super) fn disallowed(self) -> SqlError {
        match self {
            Role::Default(c) => SqlError::new(
                3769,
                format!("Default value expression of column '{c}' contains a disallowed function."),
            ),
            Role::Check(name) => SqlError::new(
                3815,
                format!(
                    "An expression of a check constraint '{name}' contains disallowed function."
                ),
            ),
            Role::Generated(c) => SqlError::new(
                3102,
                format!("Expression of generated column '{c}' contains a disallowed function."),
            ),
            Role::Index(key) => SqlError::new(
                3758,
                format!("Expression of functional index '{key}' contains a disallowed function."),
            ),
        }
    }

    /// For a function.
    pub(super) fn disallowed_function(self, function: &str) -> SqlError {
        let function = function.to_lowercase();
        match self {
            Role::Default(c) => SqlError::new(
                3770,
                format!(
                    "Default value expression of column '{c}' contains a disallowed function: {function}."
                ),
            ),
            Role::Check(name) => SqlError::new(
                3814,
                format!(
                    "An expression of a check constraint '{name}' contains disallowed function: {function}."
                ),
            ),
            Role::Generated(c) => SqlError::new(
                3763,
                format!(
                    "Expression of generated column '{c}' contains a disallowed function: {function}."
                ),
            ),
            Role::Index(_) => self.disallowed(),
        }
    }

    /// For a variable.
    pub(super) fn variable(self) -> SqlError {
        match self {
            // MySQL has the one for both.
            Role::Default(c) | Role::Generated(c) => SqlError::new(
                3772,
                format!(
                    "Default value expression of column '{c}' cannot refer user or system variables."
                ),
            ),
            Role::Check(name) => SqlError::new(
                3816,
                format!(
                    "An expression of a check constraint '{name}' cannot refer to a user or system variable."
                ),
            ),
            Role::Index(_) => self.disallowed(),
        }
    }

    /// For an AUTO_INCREMENT column, whose value is not known yet.
    pub(super) fn auto_increment(self) -> SqlError {
        match self {
            Role::Default(c) => SqlError::new(
                3768,
                format!(
                    "Default value expression of column '{c}' cannot refer to an auto-increment column."
                ),
            ),
            Role::Check(name) => SqlError::new(
                3818,
                format!("Check constraint '{name}' cannot refer to an auto-increment column."),
            ),
            Role::Generated(c) => SqlError::new(
                3109,
                format!("Generated column '{c}' cannot refer to auto-increment column."),
            ),
            Role::Index(key) => SqlError::new(
                3754,
                format!(
                    "Expression of functional index '{key}' cannot refer to an auto-increment column."
                ),
            ),
        }
    }

    /// For a column that is dropped or renamed although this reads it.
    pub(super) fn gone(self, column: &str, table: &str) -> SqlError {
        match self {
            Role::Default(_) => SqlError::new(
                3766,
                format!(
                    "Column '{column}' of table '{table}' has a default value expression dependency and cannot be dropped or renamed."
                ),
            ),
            Role::Check(name) => SqlError::new(
                3959,
                format!(
                    "Check constraint '{name}' uses column '{column}', hence column cannot be dropped or renamed."
                ),
            ),
            Role::Generated(_) => SqlError::new(
                3108,
                format!("Column '{column}' has a generated column dependency."),
            ),
            Role::Index(_) => SqlError::new(
                3837,
                format!(
                    "Column '{column}' has a functional index dependency and cannot be dropped or renamed."
                ),
            ),
        }
    }

    /// For a column that has no value yet when this is computed.
    pub(super) fn too_early(self) -> SqlError {
        match self {
            Role::Default(c) => SqlError::new(
                3767,
                format!(
                    "Default value expression of column '{c}' cannot refer to a column defined after it if that column is a generated column or has an expression as default value."
                ),
            ),
            Role::Generated(_) => SqlError::new(
                3107,
                "Generated column can refer only to generated columns defined prior to it.",
            ),
            // Rows are complete before they are checked, and hidden columns are the last.
            Role::Check(_) | Role::Index(_) => self.disallowed(),
        }
    }
}

/// Error 3105.
pub fn generated_given(column: &str, table: &str) -> SqlError {
    SqlError::new(
        3105,
        format!(
            "The value specified for generated column '{column}' in table '{table}' is not allowed."
        ),
    )
}
