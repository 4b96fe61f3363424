//! What only a session of an open database can give to the statements that it runs.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use millpond_store::{Engine, Owner, Txn};

use super::privileges::Need;
use super::user_locks::UserLocks;
use super::{SessionEnv, VirtualTable};
use crate::catalog::View;
use crate::error::{SqlError, SqlResult};
use crate::memory::MemoryAccount;
use crate::types::SqlType;
use crate::value::Value;

/// A stored function, as those know it who bind and run calls of it.
pub struct StoredFunction {
    /// `db.name`.
    pub name: String,
    /// How many parameters it has.
    pub parameters: usize,
    /// What it returns.
    pub returns: SqlType,
    /// DETERMINISTIC: the same arguments give the same value throughout a statement.
    pub deterministic: bool,
    /// What runs: the provider's own.
    pub program: Box<dyn Any + Send + Sync>,
}

impl std::fmt::Debug for StoredFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// What a program runs with that a statement calls: it is part of that statement, in its transaction, and sees what it sees.
pub struct Around<'a> {
    /// The transaction.
    pub txn: &'a mut Txn,
    /// The session.
    pub env: &'a SessionEnv,
    /// Who runs it.
    pub owner: &'a Owner,
    /// What its buffers are charged to.
    pub memory: &'a Arc<MemoryAccount>,
    /// Adds the ids of the tables that the statement uses, which the program must not change.
    pub tables: &'a dyn Fn(&mut Vec<u64>),
}

/// Provided by whoever runs sessions, for expressions, binding and virtual tables. Nothing asks for any of it while it reads a stored row.
pub trait Services: Any + Send + Sync {
    /// The engine of the session's database.
    fn engine(&self) -> &Engine;
    /// Whether KILL means the session or its statement.
    fn is_interrupted(&self) -> bool;
    /// Sleeps until then, or until KILL.
    fn doze(&self, until: Instant);
    /// Says that the session waits for one of [`Services::user_locks`], or no longer does.
    fn awaits_user_lock(&self, _waits: bool) {}
    /// Whether the session's client is known to be gone: nobody waits for an answer.
    fn client_is_gone(&self) -> bool {
        false
    }
    /// The locks of GET_LOCK.
    fn user_locks(&self) -> &UserLocks;
    /// Whether whoever the session runs for may do what this needs: the error that it may not.
    fn check(&self, _need: &Need) -> SqlResult<()> {
        Ok(())
    }
    /// The virtual table of this name, both compared without regard to case; `None` if `database` is not a system schema or has
    /// no such table.
    fn virtual_table(&self, database: &str, name: &str) -> Option<Arc<dyn VirtualTable>>;
    /// Whether a database has views of the system: it is there, then.
    fn has_system_views(&self, _database: &str) -> bool {
        false
    }
    /// The system's view of this name, compared likewise, with the name as it is shown. Whoever reads it does so by his own right.
    fn system_view(&self, _database: &str, _name: &str) -> Option<(String, Arc<View>)> {
        None
    }
    /// The stored function of this name, if there is one.
    fn function(&self, _database: &str, _name: &str) -> SqlResult<Option<Arc<StoredFunction>>> {
        Ok(None)
    }
    /// A number that rises whenever stored programs change: what was made of them before holds no longer.
    fn programs(&self) -> u64 {
        0
    }
    /// Calls a stored function.
    fn call(
        &self,
        function: &StoredFunction,
        _args: Vec<Value<'static>>,
        _around: Around<'_>,
    ) -> SqlResult<Value<'static>> {
        Err(SqlError::unsupported(format_args!(
            "a call of {}",
            function.name
        )))
    }
}
