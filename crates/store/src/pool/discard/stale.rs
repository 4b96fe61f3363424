//! `stale`: MySQL 8.0.23.
//!
//! **Source.** "A 250x improvement to tablespace truncation in MySQL Server 8.0.23" and WL#14100.
//!
//! **Steps**: pages are left alone. They are found stale when the LRU scan, a flush or a lookup meets them.
//!
//! **Locks** nothing for pages. **Cost** O(1) for pages.

use super::{Core, Dead, Discard};

pub(super) struct Stale;

impl Discard for Stale {
    fn discard(&self, _: &Core, _: &Dead) {}

    fn one_at_a_time(&self) -> bool {
        false
    }
}
