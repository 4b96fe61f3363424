//! How much room a table takes, and samples of its keys, for those who describe tables.

use super::Table;
use crate::error::Result;
use crate::page::PAGE_SIZE;

/// Room that a table's trees take, bytes. What allocation knows in memory: no page is read for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSize {
    /// Pages in use of the tree that holds the rows.
    pub data: u64,
    /// Pages in use of the other indexes' trees.
    pub indexes: u64,
    /// Pages that are reserved for the trees and not in use.
    pub free: u64,
}

impl TableSize {
    /// Both together.
    pub fn plus(self, other: TableSize) -> TableSize {
        TableSize {
            data: self.data + other.data,
            indexes: self.indexes + other.indexes,
            free: self.free + other.free,
        }
    }

    /// Adds an index whose tree has a root, beside it `used` pages in extents of its own, and `reserved` pages in these.
    pub(crate) fn add_index(&mut self, index: usize, used: u64, reserved: u64) {
        let page = PAGE_SIZE as u64;
        // The root lies outside of the extents that the space owns.
        let used_bytes = (used + 1) * page;
        match index {
            0 => self.data += used_bytes,
            _ => self.indexes += used_bytes,
        }
        self.free += reserved.saturating_sub(used) * page;
    }
}

impl Table {
    /// The room that the table takes; that of a partitioned table's partitions is theirs.
    pub fn size(&self) -> Result<TableSize> {
        let mut size = TableSize::default();
        for (at, index) in self.indexes.iter().enumerate() {
            // A tree without a root has no page at all.
            if index.tree.root() == 0 {
                continue;
            }
            let (used, reserved) = self.ctx.pager.space_room(index.tree.space())?;
            size.add_index(at, used, reserved);
        }
        Ok(size)
    }

    /// Shows `f` the keys of some leaves of an index, spread over it: for each leaf its entries' keys in order, the first with
    /// `true`. What `f` does is done under the leaf's latch.
    pub fn sample_keys(
        &self,
        index: usize,
        leaves: u64,
        f: &mut dyn FnMut(bool, &[u8]),
    ) -> Result<()> {
        self.index(index)?.tree.sample(leaves, f)
    }
}
