//! What only a session of an open database can give to the statements that it runs.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use millpond_store::Engine;

use super::VirtualTable;
use super::user_locks::UserLocks;

/// Provided by whoever runs sessions, for expressions, binding and virtual tables. Nothing asks for any of it while it reads a stored row.
pub trait Services: Any + Send + Sync {
    /// The engine of the session's database.
    fn engine(&self) -> &Engine;
    /// Whether KILL means the session or its statement.
    fn is_interrupted(&self) -> bool;
    /// Sleeps until then, or until KILL.
    fn doze(&self, until: Instant);
    /// The locks of GET_LOCK.
    fn user_locks(&self) -> &UserLocks;
    /// The virtual table of this name, both compared without regard to case; `None` if `database` is not a system schema or has
    /// no such table.
    fn virtual_table(&self, database: &str, name: &str) -> Option<Arc<dyn VirtualTable>>;
}
