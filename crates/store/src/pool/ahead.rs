//! Reading ahead: the system is told which pages will be wanted, so that it reads several of them at a time while others are worked on. Into the
//! pool they come when they are asked for, as any page does; what was read in vain costs the pool nothing.

use super::Pager;
use super::core::{Core, Lookup};
use crate::page::{PAGE_SIZE, PageNo};
use crate::space::{EXTENT_PAGES, Space};
use std::sync::Arc;

impl Core {
    /// Whether the pool has the page, or somebody reads it in. Counts as no use of it.
    fn has(&self, space: &Space, page: PageNo) -> bool {
        match self.lookup(space.id.0, page) {
            Lookup::Pinned(n) => {
                self.unpin(n);
                true
            }
            Lookup::Absent => false,
        }
    }
}

impl Pager {
    /// Whether the pool has the page, or somebody reads it in.
    pub fn has(&self, space: &Space, page: PageNo) -> bool {
        self.core().has(space, page)
    }

    /// Has the system begin to read those of these pages that are not in the pool; sorts them. How many those are. Advice: what fails
    /// will fail again for whoever reads the page. Hold no latch.
    pub fn read_ahead(&self, space: &Arc<Space>, pages: &mut Vec<PageNo>) -> usize {
        let core = self.core();
        pages.retain(|page| !core.has(space, *page));
        pages.sort_unstable();
        let Ok(file) = space.data(&core.files, false) else {
            return 0;
        };
        let Ok(handle) = file.handle() else {
            return 0;
        };
        // Linux reads no more than its own read-ahead window for one call, 128 KiB if nobody changed it: an extent.
        let runs = pages.chunk_by(|a, b| a + 1 == *b);
        for run in runs.flat_map(|run| run.chunks(EXTENT_PAGES as usize)) {
            let bytes = |pages: u64| pages * PAGE_SIZE as u64;
            handle.will_read(bytes(run[0].into()), bytes(run.len() as u64));
        }
        pages.len()
    }
}
