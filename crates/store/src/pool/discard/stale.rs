//! `stale`: MySQL 8.0.23.
//!
//! **Source.** "A 250x improvement to tablespace truncation in MySQL Server 8.0.23" ("pages in the buffer pool to be freed lazily
//! ... as long as AHI is disabled"), WL#14100; bug 113312 (8.0.35: DROP stalls for 21 s while hash index entries are
//! cleared); `btr_drop_ahi_for_table`, read for what it locks.
//!
//! **Steps.** Pages are left alone: they are found stale when the LRU scan, a flush or a lookup meets them. If pages of the table
//! have hash index entries: (1) under the LRU list's mutex, scan each instance's LRU list from its tail until 1,024 of them
//! are noted; (2) with the mutex let go of, remove their entries, each under its page's exclusive latch; (3) yield the
//! processor, and begin at the tails again until none is left.
//!
//! **Locks** nothing if no page of the table was ever in the hash index, whatever it is. Else `lists` of one instance after the
//! other, up to a scan's length each, time and again. DROPs do not wait for each other.
//!
//! **Cost**: O(1), or the length of the LRU lists for every 1,024 of the table's pages in the hash index: a table that is hot and
//! large is the worst case.
//!
//! **The model** asks whether the table ever had entries, where the original counts its pages that have some now.

use super::scan::{self, HASHED_BATCH, Pinned};
use super::{Core, Dead, Discard};
use crate::pool::lists::Instance;

pub(super) struct Stale;

impl Discard for Stale {
    fn discard(&self, core: &Core, dead: &Dead) {
        if !dead.spaces.iter().any(|s| s.was_hashed()) {
            return;
        }
        // `|`, not `||`: each instance gives up to a batch per round.
        let round = |more, instance| more | unhash_batch(core, instance, dead);
        while core.instances.iter().fold(false, round) {
            std::thread::yield_now();
        }
    }

    fn one_at_a_time(&self) -> bool {
        false
    }
}

/// Removes entries of up to a batch of pages; whether there may be more.
fn unhash_batch(core: &Core, instance: &Instance, dead: &Dead) -> bool {
    let mut hashed = Pinned::default();
    let lists = instance.lists.lock();
    for n in scan::from_tail(core, &lists) {
        if dead.owns(core.arena.frame(n)) && core.hash_entries(n) > 0 {
            hashed.pin(core, n);
            if hashed.len() == HASHED_BATCH {
                break;
            }
        }
    }
    drop(lists);
    hashed.unhash(core).len() == HASHED_BATCH
}
