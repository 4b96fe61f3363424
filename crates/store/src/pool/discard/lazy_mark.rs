//! `lazy_mark`: Percona Server 5.1.56 and 5.5.10, `innodb_lazy_drop_table=1`.
//!
//! **Source.** Percona's articles of April 2011 ("background table drop") and June 2012, which lists the steps;
//! `buf_LRU_mark_space_was_deleted` of XtraDB, read for what it locks.
//!
//! **Steps**: (1) under the LRU list's mutex, scan the LRU list and set a flag in the header of each of the space's pages.
//! Whoever meets a flagged page when it needs a frame takes it, dirty or not, and the page cleaner drops it unwritten. (2) Under
//! the hash index's latch, shared, look at every frame of the pool; for each of the space's pages that has entries let go
//! of the latch, lock the page exclusively, remove the entries, unlock, and take the latch again.
//!
//! **Locks** (1) `lists` of one instance after the other, for a scan each: whoever needs a frame, makes a page young or brings
//! one in waits. A page that is cached and need not move is found meanwhile: XtraDB had split its pool mutex and guarded
//! the page hash by a latch of its own, as our page table is. (2) The latches of all the hash index's partitions
//! ([`HashIndex::hold`](crate::hash_index::HashIndex::hold)): whoever would add entries waits or does without, lookups go on, as
//! under the original's shared latch. DROPs come one after the other.
//!
//! **Cost**: the length of the LRU list and the number of frames, for an empty table too.
//!
//! **The model**: the flag is a bit in the frame's word (`DOOMED`), which whoever claims or writes a frame looks at before
//! it asks the space. It says no more than the space's own flag, which was flipped before; so the pages are as dead before
//! the scan reaches them as after. Each of the original's writers (an insert into a hashed page) needed the hash index's
//! latch exclusively and so waited for step 2; here only those wait who add entries, for nobody else needs it.

use super::scan;
use super::{Core, Dead, Discard};
use crate::pool::frame::{DOOMED, FREE, FrameNo, LOADING};
use std::sync::atomic::Ordering;

pub(super) struct LazyMark;

impl Discard for LazyMark {
    fn discard(&self, core: &Core, dead: &Dead) {
        for instance in &core.instances {
            let lists = instance.lists.lock();
            for n in scan::from_tail(core, &lists) {
                let f = core.arena.frame(n);
                if dead.owns(f) {
                    f.word.fetch_or(DOOMED, Ordering::Release);
                }
            }
        }
        unhash(core, dead);
    }
}

/// Step 2.
fn unhash(core: &Core, dead: &Dead) {
    let mut latch = core.hash.hold();
    for n in core.instances.iter().flat_map(|i| i.initialised()) {
        if dead.owns(core.arena.frame(n)) && core.hash_entries(n) > 0 {
            drop(latch);
            unhash_page(core, dead, n);
            latch = core.hash.hold();
        }
    }
}

fn unhash_page(core: &Core, dead: &Dead, n: FrameNo) {
    let f = core.arena.frame(n);
    let old = f.word.fetch_add(1, Ordering::Acquire);
    // Pinned, it stays what it is; before, it may have become another's.
    if old & (FREE | LOADING) == 0 && dead.owns(f) {
        scan::unhash(core, n);
    }
    core.unpin(n);
}
