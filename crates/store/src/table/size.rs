//! How much room a table takes, and samples of its keys, for those who describe tables.

use super::Table;
use crate::btree::Tree;
use crate::error::Result;
use crate::page::PAGE_SIZE;

/// Room that a table's trees take, bytes. What allocation knows in memory, so that no page is read for it but the one that a small index shares.
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

    /// Adds an index. Its tree has, beside its root, `used` pages in extents of its own, and `reserved` pages in these; without a root it has
    /// a part of a page that it shares, or nothing.
    pub(crate) fn add_tree(
        &mut self,
        index: usize,
        tree: &Tree,
        (used, reserved): (u64, u64),
    ) -> Result<()> {
        let page = PAGE_SIZE as u64;
        // The root lies outside of the extents that the space owns.
        let used_bytes = match tree.root() {
            0 => tree.small_bytes()?,
            _ => (used + 1) * page,
        };
        match index {
            0 => self.data += used_bytes,
            _ => self.indexes += used_bytes,
        }
        self.free += reserved.saturating_sub(used) * page;
        Ok(())
    }
}

impl Table {
    /// The room that the table takes; that of a partitioned table's partitions is theirs.
    pub fn size(&self) -> Result<TableSize> {
        let mut size = TableSize::default();
        for (at, index) in self.indexes.iter().enumerate() {
            let (used, reserved) = self.ctx.pager.space_room(index.tree.space())?;
            size.add_tree(at, &index.tree, (used, reserved))?;
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
