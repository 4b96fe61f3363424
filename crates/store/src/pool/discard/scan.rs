//! What the algorithms share: the pool mutex of the model, and evicting a dead frame in a scan.

use super::Core;
use crate::pool::frame::{FrameNo, NONE};
use crate::pool::lists::{Instance, Lists};
use parking_lot::MutexGuard;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;

/// An instance's pool mutex as the versions until 8.0 had it: nobody finds, takes, frees or moves a page of the instance
/// while it is held.
pub(super) struct Pool<'a> {
    instance: &'a Instance,
    lists: MutexGuard<'a, Lists>,
    _lookups: MutexGuard<'a, ()>,
}

impl<'a> Pool<'a> {
    pub fn lock(instance: &'a Instance) -> Pool<'a> {
        let lookups = instance.pool_mutex.lock();
        let lists = instance.lists.lock();
        Pool {
            instance,
            lists,
            _lookups: lookups,
        }
    }
}

impl Deref for Pool<'_> {
    type Target = Lists;
    fn deref(&self) -> &Lists {
        &self.lists
    }
}

impl DerefMut for Pool<'_> {
    fn deref_mut(&mut self) -> &mut Lists {
        &mut self.lists
    }
}

impl Drop for Pool<'_> {
    fn drop(&mut self) {
        self.instance.publish(&self.lists);
    }
}

impl Pool<'_> {
    /// Frees a dead frame of the LRU list at once: out of the flush list, the page table and the LRU list, into the free list.
    /// `false` if somebody has it pinned.
    pub fn evict(&mut self, core: &Core, n: FrameNo) -> bool {
        let Some(victim) = self.lists.claim_stale(&core.arena, n) else {
            return false;
        };
        self.instance.evictions.fetch_add(1, Ordering::Relaxed);
        let n = core.finish_claim(victim);
        self.lists.push_free(n);
        true
    }
}

/// Goes through the LRU list from its tail; `visit` may take the frame it is shown out of the list.
pub(super) fn lru_list<L: Deref<Target = Lists>>(
    core: &Core,
    lists: &mut L,
    mut visit: impl FnMut(&mut L, FrameNo),
) {
    let mut at = lists.tail();
    while at != NONE {
        let before = core.arena.frame(at).lru_prev.load(Ordering::Relaxed);
        visit(lists, at);
        at = before;
    }
}

/// Waits until the batch that is being written, if any, is on disk: what it has pinned may be of the dead.
pub(super) fn wait_for_batch(core: &Core) {
    drop(core.writing.lock());
}
