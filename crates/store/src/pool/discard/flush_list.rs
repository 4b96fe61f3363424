//! `flush_list`: MySQL 5.5.23 and later, until 8.0.23.
//!
//! **Source.** Percona's article of June 2012, which lists the steps; the commit message of the fix of MySQL bugs 51325 and
//! 64284 ("scan flush_list and just remove the blocks belonging to the table from the flush_list ... left in the LRU list for
//! eventual eviction due to aging").
//!
//! **Steps**: (1) for each page of the table, look it up, and if it is cached and has hash index entries remove them under its
//! exclusive latch: 5.5 and 5.6 did that while they freed the table's extents. (2) Instance by instance: under the pool mutex
//! and the flush list's mutex, scan the flush list and take out the space's pages, unwritten; after every [`BATCH`] taken
//! out let go of both, yield the processor, and go on. Clean pages, and those just made clean, stay in the LRU list
//! until they come to its tail.
//!
//! **Locks** (2) the pool mutex (`scan::Pool`) and the flush list's: nobody finds, takes or moves a page, none becomes dirty (a
//! commit that makes one so waits with the log mutex held). For the scan's length if the table has few dirty pages in a
//! long list. DROPs come one after the other.
//!
//! **Cost**: the length of the flush list, that is of what is dirty in the whole pool, for an empty table too, and a look into the
//! page table for each page of the table dropped.
//!
//! **The model**: the original went over the list again if a page was being written or in use; ours takes those
//! out too, for the batch being written has its copy. (The article says that both mutexes are let go of after 1,024 pages
//! taken out; in the sources that we saw it is after 1,024 looked at.)

use super::scan::{self, Pool};
use super::{Core, Dead, Discard};
use crate::page::PageNo;
use crate::pool::core::Lookup;
use crate::pool::lists::Instance;
use crate::space::{EXTENT_PAGES, Space};
use std::sync::atomic::Ordering;

/// Pages taken out before both mutexes are let go of.
const BATCH: usize = 1024;

pub(super) struct FlushList;

impl Discard for FlushList {
    fn discard(&self, core: &Core, dead: &Dead) {
        for space in &dead.spaces {
            unhash(core, space);
        }
        for instance in &core.instances {
            instance.flush.lock().scan_from_head();
            while take_out_batch(core, instance, dead) {
                std::thread::yield_now();
            }
        }
    }

    fn has_pool_mutex(&self) -> bool {
        true
    }
}

/// Takes out up to a batch; whether there may be more.
fn take_out_batch(core: &Core, instance: &Instance, dead: &Dead) -> bool {
    let _pool = Pool::lock(instance);
    let mut list = instance.flush.lock();
    let mut gone = 0;
    while gone < BATCH {
        let Some(n) = list.scan_next(&core.arena) else {
            break;
        };
        if dead.owns(core.arena.frame(n)) && list.unlink(&core.arena, n) {
            gone += 1;
        }
    }
    instance.dirty_len.store(list.len as u32, Ordering::Relaxed);
    core.counts
        .discarded
        .fetch_add(gone as u64, Ordering::Relaxed);
    gone == BATCH
}

/// Step 1.
fn unhash(core: &Core, space: &Space) {
    let Ok(file) = space.data(&core.files, false) else {
        // It never had a page, or its file is gone, and with it nothing cached is of use.
        return;
    };
    let extents = file.alloc().lock().extents_of(space.id, usize::MAX);
    let own = |e: u32| e * EXTENT_PAGES..(e + 1) * EXTENT_PAGES;
    let pages = extents.into_iter().flat_map(own);
    for page in std::iter::once(space.root()).chain(pages) {
        unhash_page(core, space, page);
    }
}

fn unhash_page(core: &Core, space: &Space, page: PageNo) {
    if let Lookup::Pinned(n) = core.lookup(space.id.0, page) {
        scan::unhash(core, n);
        core.unpin(n);
    }
}
