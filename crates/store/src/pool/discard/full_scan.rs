//! `full_scan`: MySQL 5.1 to 5.5.22.
//!
//! **Source.** Percona's articles of April 2011 ("Drop table performance") and June 2012 ("DROP TABLE and stalls": "a mutex on
//! bufferpool would be held for the entire operation and then two scans of the LRU list would be done"); MySQL bugs 51325 and
//! 56332; `buf_LRU_invalidate_tablespace` of those versions, read for what it locks.
//!
//! **Steps**, instance by instance: (1) scan the LRU list under the pool mutex for the space's pages with hash index entries.
//! Their numbers are noted, 1,024 at a time, and the mutex is let go of while a batch's entries are removed, because
//! that needs page latches. (2) Scan the LRU list again under the pool mutex and evict the space's pages: out of the flush
//! list, the page hash, the LRU list, into the free list. (3) If some were in use, wait for the writes under way and scan
//! again.
//!
//! **Locks** the pool mutex (`scan::Pool`) for as long as a scan takes, which is time in proportion to all that the
//! instance holds, not to what is dropped. Meanwhile nobody finds a page but by the hash index, nobody takes, frees or moves
//! one. DROPs come one after the other.
//!
//! **Cost**: twice the length of the LRU list, mostly cache misses on frame headers, for an empty table too.
//!
//! **The model** does this work on this pool's real lists under its real mutexes. Different from the original: the original
//! slept 20 ms before it scanned again for pages in use; the model waits for the writing batch, and after [`RESCANS`]
//! leaves what is still pinned to the space's flag. Frame headers are 128 bytes here and lie in one array; there they were
//! larger. LOCK_open and the dictionary's mutex, under which other statements could not open tables, are left out.

use super::scan::{self, HASHED_BATCH, Pinned, Pool};
use super::{Core, Dead, Discard};
use crate::pool::lists::Instance;

/// Scans after the first.
const RESCANS: usize = 3;

pub(super) struct FullScan;

impl Discard for FullScan {
    fn discard(&self, core: &Core, dead: &Dead) {
        for instance in &core.instances {
            unhash(core, instance, dead);
            for _ in 0..=RESCANS {
                if evict(core, instance, dead) {
                    break;
                }
                scan::wait_for_batch(core);
            }
        }
        core.wake_frame_waiters();
    }

    fn has_pool_mutex(&self) -> bool {
        true
    }
}

/// The first scan.
fn unhash(core: &Core, instance: &Instance, dead: &Dead) {
    let mut pool = Pool::lock(instance);
    pool.scan_from_tail();
    loop {
        let mut hashed = Pinned::default();
        while hashed.len() < HASHED_BATCH
            && let Some(n) = pool.scan_next(&core.arena)
        {
            if dead.owns(core.arena.frame(n)) && core.hash_entries(n) > 0 {
                hashed.pin(core, n);
            }
        }
        let full = hashed.len() == HASHED_BATCH;
        drop(pool);
        hashed.unhash(core);
        if !full {
            return;
        }
        pool = Pool::lock(instance);
    }
}

/// The second scan; whether all went.
fn evict(core: &Core, instance: &Instance, dead: &Dead) -> bool {
    let mut pool = Pool::lock(instance);
    pool.scan_from_tail();
    let mut all = true;
    while let Some(n) = pool.scan_next(&core.arena) {
        if dead.owns(core.arena.frame(n)) {
            all &= pool.evict(core, n);
        }
    }
    all
}
