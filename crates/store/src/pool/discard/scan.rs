//! What the algorithms share: the pool mutex of the model, evicting a dead frame in a scan, and removing pages' entries from
//! the hash index.

use super::Core;
use crate::pool::frame::{FrameNo, NONE};
use crate::pool::lists::{Instance, Lists};
use crate::wait::{self, Class};
use parking_lot::MutexGuard;
use parking_lot::lock_api::RawRwLock as _;
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

/// The LRU list's frames from its tail. The list is
/// not changed meanwhile.
pub(super) fn from_tail<'a>(
    core: &'a Core,
    lists: &'a Lists,
) -> impl Iterator<Item = FrameNo> + 'a {
    let mut at = lists.tail();
    std::iter::from_fn(move || {
        let n = at;
        if n == NONE {
            return None;
        }
        at = core.arena.frame(n).lru_prev.load(Ordering::Relaxed);
        Some(n)
    })
}

/// Waits until the batch that is being written, if any, is on disk: what it has pinned may be of the dead.
pub(super) fn wait_for_batch(core: &Core) {
    drop(core.writing.lock());
}

/// Pages with entries in the hash index that versions noted before they let go of their mutexes.
pub(super) const HASHED_BATCH: usize = 1024;

/// Frames noted in a scan, pinned so that they stay what they are when the scan's mutex is let go of.
#[derive(Default)]
pub(super) struct Pinned(Vec<FrameNo>);

impl Pinned {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Notes a frame of the LRU list, whose mutex is held.
    pub fn pin(&mut self, core: &Core, n: FrameNo) {
        core.arena.frame(n).word.fetch_add(1, Ordering::Acquire);
        self.0.push(n);
    }

    /// Removes their entries and unpins them. Hold no mutex of the pool.
    pub fn unhash(self, core: &Core) -> Vec<FrameNo> {
        for &n in &self.0 {
            unhash(core, n);
            core.unpin(n);
        }
        self.0
    }
}

/// Removes a pinned frame's entries from the hash index, under the page's exclusive latch as every version did.
pub(super) fn unhash(core: &Core, n: FrameNo) {
    if core.hash_entries(n) == 0 {
        return;
    }
    let f = core.arena.frame(n);
    wait::lock_exclusive(&f.latch, Class::PageExclusive);
    // SAFETY: latched until below, and not written.
    let page = unsafe { core.arena.page_ref(n) };
    let space = f.space_id.load(Ordering::Relaxed);
    core.hash.drop_page(space, n, page, &f.hashed);
    // SAFETY: latched above.
    unsafe { f.latch.unlock_exclusive() };
}
