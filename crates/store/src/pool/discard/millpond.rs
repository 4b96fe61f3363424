//! `millpond`, the default: nothing is done.
//!
//! **Source.** Idea 1 of the design: an identity that never comes back. Every cached thing is tagged with the id of its space's
//! incarnation and checked when it is used, so it is enough that the space's flag says it is gone.
//!
//! **Locks** nothing. **Cost**: O(1), whatever is cached and whatever the table holds. Later: whoever needs a frame and finds
//! none free looks at up to 64 frames in turn for a stale one before it takes the one least recently used; so dead pages
//! go first and memory returns as it is needed, a bounded step at a time, and the cleaner that stocks free frames does most
//! of it. Hash index entries of a dead space are never matched, and go with their frames.
//!
//! **What stays behind**: until then the frames count as stale (`Innodb_buffer_pool_pages_misc`), and dirty ones stay in the
//! flush list until a batch meets them and drops them unwritten.

use super::{Core, Dead, Discard};

pub(super) struct Millpond;

impl Discard for Millpond {
    fn discard(&self, _: &Core, _: &Dead) {}

    fn one_at_a_time(&self) -> bool {
        false
    }

    fn stale_first(&self) -> bool {
        true
    }
}
