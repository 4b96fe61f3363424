//! The temporary tables of a session.
//!
//! They are found here before tables of the database are looked for, so one hides a table of the same name from its session, and from
//! no other. The open table is all there is of one: nothing about it is in the catalog, and no other session can find it.
//! Whatever ends the session's state (a reset, another user, the end of the connection) drops them all.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use millpond_store::{Engine, Table};

/// Temporary tables by name, by database.
type Databases = HashMap<String, HashMap<String, Arc<Table>>>;

/// See the module.
#[derive(Default)]
pub struct TemporaryTables {
    tables: RefCell<Databases>,
    created: Cell<u64>,
    dropped: Cell<u64>,
}

impl TemporaryTables {
    /// The table of this name.
    pub fn get(&self, database: &str, name: &str) -> Option<Arc<Table>> {
        self.tables.borrow().get(database)?.get(name).cloned()
    }

    /// How many names have come and gone so far. What a statement's tables are may depend on it.
    pub fn changes(&self) -> (u64, u64) {
        (self.created.get(), self.dropped.get())
    }

    /// A number for the names there are now, which never returns; `None`: there are none.
    pub fn names(&self) -> Option<u64> {
        let some = !self.tables.borrow().is_empty();
        some.then(|| self.created.get() + self.dropped.get())
    }

    /// Adds a table under the names in its definition, or puts it in the place of an earlier object of the same table.
    pub fn put(&self, table: Arc<Table>) {
        let def = table.def();
        let (database, name) = (def.database.clone(), def.name.clone());
        let mut tables = self.tables.borrow_mut();
        if tables
            .entry(database)
            .or_default()
            .insert(name, table)
            .is_none()
        {
            self.created.set(self.created.get() + 1);
        }
    }

    /// Takes a table out, which stays as it is.
    pub fn take(&self, database: &str, name: &str) -> Option<Arc<Table>> {
        let mut tables = self.tables.borrow_mut();
        let names = tables.get_mut(database)?;
        let table = names.remove(name)?;
        if names.is_empty() {
            tables.remove(database);
        }
        self.dropped.set(self.dropped.get() + 1);
        Some(table)
    }

    /// Drops them all.
    pub fn clear(&self, engine: &Engine) {
        let tables = std::mem::take(&mut *self.tables.borrow_mut());
        for table in tables.values().flat_map(HashMap::values) {
            engine.drop_temporary(table);
            self.dropped.set(self.dropped.get() + 1);
        }
    }
}
