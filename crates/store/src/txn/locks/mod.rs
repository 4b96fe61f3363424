//! Row locks: points and key ranges per tree.

use super::{LockMode, Owner, WaitPolicy};
use crate::error::Result;
use crate::space::SpaceId;
use std::ops::Bound;
use std::sync::Arc;

/// Outcome of a granted or skipped request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Granted; the owner held nothing as strong on this key before.
    New,
    /// The owner held it already, at least as strong.
    Held,
    /// `SkipLocked` met a conflict.
    Skipped,
}

/// Outcome of an attempt that never waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryLock {
    /// Granted; the owner held nothing as strong on this key before.
    New,
    /// The owner held it already, at least as strong.
    Held,
    /// Another owner is in the way (or waits earlier): drop every latch and call [`LockSystem::lock`].
    Conflict,
}

/// The lock table.
pub struct LockSystem {}

impl LockSystem {
    /// Takes a point lock if that needs no wait. May be called under page latches.
    pub fn try_lock(
        &self,
        _owner: &Arc<Owner>,
        _tree: SpaceId,
        _key: &[u8],
        _mode: LockMode,
    ) -> TryLock {
        todo!()
    }
    /// Takes a point lock, waiting as the policy says. Hold no latch. After a wait the caller must look at
    /// the row again.
    pub fn lock(
        &self,
        _owner: &Arc<Owner>,
        _tree: SpaceId,
        _key: &[u8],
        _mode: LockMode,
        _policy: WaitPolicy,
    ) -> Result<Lock> {
        todo!()
    }
    /// Gives back a lock that was granted as [`Lock::New`] (READ COMMITTED: the row did not match).
    pub fn unlock(&self, _owner: &Arc<Owner>, _tree: SpaceId, _key: &[u8]) {
        todo!()
    }
    /// The owner's own lock on a key.
    pub fn held(&self, _owner: &Arc<Owner>, _tree: SpaceId, _key: &[u8]) -> Option<LockMode> {
        todo!()
    }
    /// Locks every key between the bounds against insertion by others. Never waits; cheap where it extends the owner's
    /// last range. Call it under the latch of the leaf that was scanned.
    pub fn lock_gap(
        &self,
        _owner: &Arc<Owner>,
        _tree: SpaceId,
        _lower: Bound<&[u8]>,
        _upper: Bound<&[u8]>,
    ) {
        todo!()
    }
    /// Whether the owner may insert the key now: no other owner's range covers it. Call it under the leaf's
    /// exclusive latch; on `false` drop all latches and call [`LockSystem::wait_insert`], then start again.
    pub fn may_insert(&self, _owner: &Arc<Owner>, _tree: SpaceId, _key: &[u8]) -> bool {
        todo!()
    }
    /// Waits until no other owner's range covers the key. Hold no latch.
    pub fn wait_insert(&self, _owner: &Arc<Owner>, _tree: SpaceId, _key: &[u8]) -> Result<()> {
        todo!()
    }
}
