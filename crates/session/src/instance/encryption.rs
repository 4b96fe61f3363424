//! Encryption at rest: where a keyring may be, and what variables say of it.

use std::path::Path;

use millpond_sql::error::{SqlError, SqlResult};
use millpond_store::{Engine, Options};

use crate::vars::{self, Globals, VarValue};

/// What says whether the database is encrypted. It is so or not from its making on, so none of them can be set to anything else.
pub(crate) const VARIABLES: [&str; 3] = [
    "default_table_encryption",
    "innodb_redo_log_encrypt",
    "innodb_undo_log_encrypt",
];

/// Refuses a keyring file that is in the data directory: whoever took the one would have the other.
pub(super) fn check_place(data: &Path, options: &Options) -> SqlResult<()> {
    let Some(file) = options.keyring.as_ref().and_then(|k| k.file()) else {
        return Ok(());
    };
    // Neither need be there yet.
    let resolved = |path: &Path| {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let there = whole
            .ancestors()
            .find_map(|a| Some((a, a.canonicalize().ok()?)));
        match there {
            Some((known, real)) => match whole.strip_prefix(known) {
                Ok(rest) => real.join(rest),
                Err(_) => real,
            },
            None => whole,
        }
    };
    match resolved(file).starts_with(resolved(data)) {
        true => Err(SqlError::new(
            1105,
            format!(
                "The keyring {} is in the data directory: who has the data would have its key. Put it elsewhere",
                file.display()
            ),
        )),
        false => Ok(()),
    }
}

/// Has the variables say how it is.
pub(super) fn show(globals: &Globals, engine: &Engine) {
    let encrypted = engine.master_key_id().is_some();
    for name in VARIABLES {
        globals.put(vars::known(name), VarValue::Bool(encrypted));
    }
}
