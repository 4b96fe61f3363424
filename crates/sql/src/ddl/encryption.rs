//! ENCRYPTION of tables, tablespaces and databases: a server's data is encrypted as a whole or not at all.
//!
//! 'Y' is so where there is a keyring, and error 3185 where there is none, of databases too: MySQL tells whoever makes a table in such a one. 'N', which dumps of
//! other servers say of every database, is taken with a warning where it isn't so.

use super::Ddl;
use crate::error::{SqlError, SqlResult};

/// What ENCRYPTION is to be.
fn wanted(value: &str) -> Option<bool> {
    match value {
        _ if value.eq_ignore_ascii_case("y") => Some(true),
        _ if value.eq_ignore_ascii_case("n") => Some(false),
        _ => None,
    }
}

/// Error 3185: there is no keyring.
pub fn no_master_key() -> SqlError {
    SqlError::new(
        3185,
        "Can't find master key from keyring, please check in the server log if a keyring is loaded and initialized successfully.",
    )
}

impl Ddl<'_> {
    /// ENCRYPTION of a table or a tablespace.
    pub(super) fn encryption(&self, value: &str) -> SqlResult<()> {
        let invalid = || SqlError::new(3184, "Invalid encryption option.");
        self.be_encrypted(wanted(value).ok_or_else(invalid)?)
    }

    /// ENCRYPTION of a database.
    pub(super) fn database_encryption(&self, value: &str) -> SqlResult<()> {
        let wanted = wanted(value).ok_or_else(|| {
            SqlError::new(
                1525,
                format!("Incorrect argument (should be Y or N) value: '{value}'"),
            )
        })?;
        self.be_encrypted(wanted)
    }

    fn be_encrypted(&self, wanted: bool) -> SqlResult<()> {
        match (wanted, self.engine.master_key_id().is_some()) {
            (true, false) => Err(no_master_key()),
            (false, true) => {
                let what =
                    "ENCRYPTION='N' has no effect: the server's data is encrypted as a whole.";
                self.env.warn(1478, what);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
