//! `lazy_mark`: Percona Server 5.1.56 and 5.5.10, `innodb_lazy_drop_table=1`.
//!
//! **Source.** Percona's articles of April 2011 ("background table drop") and June 2012, which lists the steps;
//! `buf_LRU_mark_space_was_deleted` of XtraDB, read for what it locks.
//!
//! **Steps**: (1) under the LRU list's mutex, scan the LRU list and set a flag in the header of each of the space's pages.
//! Whoever meets a flagged page when it needs a frame takes it, dirty or not, and the page cleaner drops it unwritten.
//!
//! **Locks** `lists` of one instance after the other, for a scan each: whoever needs a frame, makes a page young or brings
//! one in waits. A page that is cached and need not move is found meanwhile: XtraDB had split its pool mutex and guarded
//! the page hash by a latch of its own, as our page table is. DROPs come one after the other.
//!
//! **Cost**: the length of the LRU list and the number of frames, for an empty table too: half of `full_scan` and less, for
//! nothing is unlinked.
//!
//! **The model**: the flag is a bit in the frame's word (`DOOMED`), which whoever claims or writes a frame looks at before
//! it asks the space. It says no more than the space's own flag, which was flipped before; so
//! the pages are as dead before the scan reaches them as after.

use super::scan;
use super::{Core, Dead, Discard};
use crate::pool::frame::DOOMED;
use std::sync::atomic::Ordering;

pub(super) struct LazyMark;

impl Discard for LazyMark {
    fn discard(&self, core: &Core, dead: &Dead) {
        for instance in &core.instances {
            scan::lru_list(core, &mut instance.lists.lock(), |_, n| {
                let f = core.arena.frame(n);
                if dead.owns(f) {
                    f.word.fetch_or(DOOMED, Ordering::Release);
                }
            });
        }
    }
}
