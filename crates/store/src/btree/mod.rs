//! B+trees over pages: byte-string keys in `memcmp` order, byte-string values.
//!
//! A tree is one [`Space`](crate::space::Space) and a root page that never moves (0: the tree has
//! no page yet; if it is a small index its entries are in a tree that it shares with others, see `small`). Reads couple shared latches downward. Writes go down the same way and latch only
//! the leaf exclusively; where a leaf lacks room it is split first, as a mini-transaction of its own
//! that couples exclusive latches from the root, and the write starts again. A child that is not
//! resident is pinned with no latch held and the descent restarts.
//!
//! | file | owns |
//! |---|---|
//! | `descend` | finding a leaf under shared latches; misses and restarts |
//! | `edit` | changing one leaf |
//! | `split` | making room |
//! | `runs` | leaves in which keys ascend, for splits |
//! | `merge` | giving emptied pages back |
//! | `scan` | one leaf at a time, both ways; [`Cursor`] |
//! | `ahead` | reading ahead of a scan |
//! | `bulk` | building a tree bottom-up from sorted records |
//! | `hashed` | point searches through the adaptive hash index |
//! | `small` | indexes that share a tree while they have no root |
//! | `shared` | the tree that they share |
//! | `several` | several of them put there, or removed, at once |
//! | `divide` | keys that part a range into about equal pieces |
//! | `check`, `estimate` | verification; row counts for the planner |
//!
//! **Shape.** Inner pages map separators to children (see [`slotted`]); a separator
//! is the shortest string that tells the pages on its sides apart. Leaves are linked both ways, inner pages are not.
//! A leaf may be empty. All children of one page have the same level.
//!
//! **Latches** are taken top down, and among leaves left to right; never upward, never leftward. So a
//! scan to the right couples along the links, a scan to the left descends anew for each leaf. A page can
//! be unlinked only by someone who holds its parent and both its neighbours exclusively; hence whoever
//! reads a page number in a latched page may latch what it names.
//!
//! **Failure.** A change to the structure is one mini-transaction that leaves every key reachable, so
//! a crash or an error between two of them costs nothing. Damage that a descent notices is `Error::Corrupt`.

mod ahead;
mod bulk;
mod check;
mod descend;
mod divide;
mod edit;
mod estimate;
mod hashed;
mod merge;
mod runs;
mod scan;
mod several;
mod shared;
mod small;
mod split;
#[cfg(test)]
mod tests;

pub use ahead::ReadAhead;
pub use bulk::{Bulk, FromIter, Records, Root};
pub use check::Checked;
pub use edit::{LeafEdit, LeafHint};
pub use scan::{CrossingVisit, Cursor, Dir, ScanEnd, Visit};
pub use several::NewEntries;
pub use shared::{MakeRoot, Missing, Roots, Shared, owner_of};

use crate::error::{Error, Result};
use crate::hash_index::KeyPart;
use crate::page::{PageNo, PageType, slotted};
use crate::pool::{Mtr, Pager};
use crate::space::{AllocKind, Space};
use descend::FrameCache;
use hashed::Hashed;
use runs::Runs;
use small::Small;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Longest key (bytes): four must fit an inner page beside their children.
pub const MAX_KEY: usize = 3500;
/// Longest key plus value in a leaf (bytes): two must fit one page. Longer values spill to overflow pages
/// above this layer.
pub const MAX_ENTRY: usize = 8000;

/// Bytes of a child's page number, the value of an inner page's records.
const CHILD: usize = 4;

const _: () = assert!(2 * (MAX_ENTRY + slotted::RECORD_OVERHEAD) <= slotted::CAPACITY);
const _: () = assert!(4 * (MAX_KEY + CHILD + slotted::RECORD_OVERHEAD) <= slotted::CAPACITY);

/// A B+tree. Cheap to make; share one per index so that its hints stay warm.
pub struct Tree {
    pager: Arc<Pager>,
    space: Arc<Space>,
    root: AtomicU32,
    /// Frame that held the root last; while there is none, the leaf where a small index was last.
    root_frame: AtomicU32,
    /// Frames that held the pages below it last, in a tree of two levels and in a higher one.
    frames: [OnceLock<FrameCache>; 2],
    /// Levels of the tree when last seen; a hint.
    height: AtomicU8,
    /// Splits for which room is left at the end of a full last leaf, since keys that ascend come late
    /// now and then.
    late: AtomicU8,
    /// Leaves in which keys ascend, in a tree of two levels and in a higher one.
    runs: [OnceLock<Runs>; 2],
    hashed: Hashed,
    /// Where its entries are while it has no root.
    small: Option<Small>,
    /// It is a tree that small indexes share: its leaves are split only where two of them meet.
    parted: bool,
}

impl Drop for Tree {
    fn drop(&mut self) {
        for cache in self.frames.iter().filter_map(OnceLock::get) {
            self.pager.give_hint_bytes(cache.bytes());
        }
        self.forget_runs();
    }
}

impl Tree {
    /// A tree over an existing root (0: empty, no page yet).
    pub fn new(pager: &Arc<Pager>, space: Arc<Space>, root: PageNo) -> Tree {
        space.note_root(root);
        Tree {
            pager: pager.clone(),
            space,
            root: AtomicU32::new(root),
            root_frame: AtomicU32::new(u32::MAX),
            frames: [const { OnceLock::new() }; 2],
            height: AtomicU8::new(1),
            late: AtomicU8::new(0),
            runs: [const { OnceLock::new() }; 2],
            hashed: Hashed::new(KeyPart::Whole),
            small: None,
            parted: false,
        }
    }

    /// Says what point lookups of it give of a key; they give the whole key unless told otherwise.
    pub fn looked_up_by(mut self, part: KeyPart) -> Tree {
        self.hashed = Hashed::new(part);
        self
    }

    /// The space it lives in.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// Root page (0: none yet).
    #[inline]
    pub fn root(&self) -> PageNo {
        self.root.load(Ordering::Acquire)
    }

    /// Allocates the root in `mtr` (begun with room for one new page); the caller records the number in the
    /// catalog in the same `mtr`, and calls [`Tree::set_root`] after commit.
    pub fn alloc_root(&self, mtr: &mut Mtr<'_>) -> Result<PageNo> {
        let init = crate::log::op::Op::Init {
            kind: PageType::Leaf,
            level: 0,
        };
        let h = mtr.alloc(&self.space, AllocKind::Root, 0, init)?;
        Ok(mtr.page_no(h))
    }

    /// Publishes the root number.
    pub fn set_root(&self, root: PageNo) {
        self.root.store(root, Ordering::Release);
        self.space.note_root(root);
    }

    /// Drops the space of a temporary tree, with all its pages. Doing it again does nothing.
    pub fn drop_temporary(&self) {
        self.pager.drop_temporary_space(&self.space, self.root());
    }

    /// Gives a temporary tree up: from now on its use is an error. Its pages stay until it is dropped.
    pub fn lose_temporary(&self) {
        self.pager.lose_temporary_space(&self.space);
    }

    #[cold]
    fn corrupt(&self, page: PageNo, what: &str) -> Error {
        Error::Corrupt(format!(
            "tree of space {}, page {page}: {what}",
            self.space.id.0
        ))
    }
}

/// The page type of a level.
fn kind_of(level: u8) -> PageType {
    if level == 0 {
        PageType::Leaf
    } else {
        PageType::Inner
    }
}

/// The shortest string that is greater than `below` and not greater than `from`; `below < from`.
fn separator<'k>(below: &[u8], from: &'k [u8]) -> &'k [u8] {
    debug_assert!(below < from);
    let common = below.iter().zip(from).take_while(|(a, b)| a == b).count();
    &from[..common + 1]
}

/// Bytes that records and slots take.
fn used(page: &[u8]) -> usize {
    slotted::CAPACITY - slotted::free(page)
}
