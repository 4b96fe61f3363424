//! Statements about temporary tables.
//!
//! A statement that names a table means the session's temporary one if there is one of that name. What the catalog and
//! metadata locks do for other tables isn't needed here: the session's own list names the table, and nobody else sees it.

use std::sync::Arc;

use millpond_store::Table;
use millpond_store::engine::{NewTable, TemporaryChange};

use super::{Ddl, Done};
use crate::error::{SqlError, SqlResult};
use crate::store_error::store_error;

impl Ddl<'_> {
    /// The session's temporary table of this name.
    pub(super) fn temporary(&self, database: &str, name: &str) -> Option<Arc<Table>> {
        self.env.temporary.get(database, name)
    }

    /// Makes a temporary table of a name that is free.
    pub(super) fn make_temporary(&self, new: NewTable) -> SqlResult<Done> {
        let name = new.name.clone();
        let table = self.engine.create_temporary(new);
        self.env
            .temporary
            .put(table.map_err(|e| store_error(e, &name))?);
        Ok(Done::default())
    }

    /// Drops a temporary table; `false` if there is none.
    pub(super) fn drop_temporary(&self, database: &str, name: &str) -> bool {
        match self.env.temporary.take(database, name) {
            Some(table) => {
                self.engine.drop_temporary(&table);
                true
            }
            None => false,
        }
    }

    /// Empties a temporary table; `false` if there is none.
    pub(super) fn truncate_temporary(&self, database: &str, name: &str) -> SqlResult<bool> {
        let Some(table) = self.temporary(database, name) else {
            return Ok(false);
        };
        let new = self.engine.truncate_temporary(&table);
        self.env
            .temporary
            .put(new.map_err(|e| store_error(e, name))?);
        Ok(true)
    }

    /// Changes a temporary table's definition under its name.
    pub(super) fn alter_temporary(
        &self,
        table: &Arc<Table>,
        change: TemporaryChange,
    ) -> millpond_store::Result<()> {
        let new = self.engine.alter_temporary(self.owner, table, change)?;
        self.env.temporary.put(new);
        Ok(())
    }

    /// Gives a temporary table another name: ALTER TABLE ... RENAME. `false` if it is no temporary table.
    pub(super) fn rename_temporary(
        &self,
        from: (&str, &str),
        to: (String, String),
    ) -> SqlResult<bool> {
        let Some(table) = self.temporary(from.0, from.1) else {
            return Ok(false);
        };
        self.engine
            .database(&to.0)
            .map_err(|e| store_error(e, &to.0))?;
        if self.temporary(&to.0, &to.1).is_some() {
            if from == (&*to.0, &*to.1) {
                return Ok(true);
            }
            return Err(SqlError::new(
                1050,
                format!("Table '{}' already exists", to.1),
            ));
        }
        let change = TemporaryChange::Rename(to.0, to.1);
        let new = self.engine.alter_temporary(self.owner, &table, change);
        let new = new.map_err(|e| store_error(e, from.1))?;
        self.env.temporary.take(from.0, from.1);
        self.env.temporary.put(new);
        Ok(true)
    }
}

/// 1562.
pub fn not_temporary() -> SqlError {
    SqlError::new(1562, "Cannot create temporary table with partitions")
}
