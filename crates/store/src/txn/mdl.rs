//! Metadata locks by name.

use super::Owner;
use crate::error::Result;
use std::sync::Arc;

/// Strength of a metadata lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MdlMode {
    /// Statements.
    Shared,
    /// DDL.
    Exclusive,
}

/// The lock of one name. Keep the `Arc`: taking the lock again through it needs no lookup.
pub struct MdlLock {}

/// All metadata locks.
pub struct MdlSystem {}

impl MdlSystem {
    /// The lock of a name (`"db"` or `"db\0table"`).
    pub fn get(&self, _name: &str) -> Arc<MdlLock> {
        todo!()
    }
    /// Takes a lock until the end of the owner's transaction; waits up to the owner's metadata timeout. Free if held already.
    pub fn lock(&self, _owner: &Arc<Owner>, _lock: &Arc<MdlLock>, _mode: MdlMode) -> Result<()> {
        todo!()
    }
    /// Whether the owner holds the lock at least as strongly.
    pub fn holds(&self, _owner: &Arc<Owner>, _lock: &Arc<MdlLock>, _mode: MdlMode) -> bool {
        todo!()
    }
    /// Releases one lock before the end of the transaction.
    pub fn unlock(&self, _owner: &Arc<Owner>, _lock: &Arc<MdlLock>) {
        todo!()
    }
}
