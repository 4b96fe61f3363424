//! Verification of a whole tree. It reads every page once, copying each out of the pool, so it holds no latch for
//! long; but it takes the tree for quiet: changes meanwhile may show as problems that are none.

use super::shared::{PREFIX, owner_of};
use super::{Tree, kind_of, used};
use crate::error::Result;
use crate::page::{PAGE_SIZE, PageNo, page_no, page_space, page_type, slotted};

/// What [`Tree::check`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// What is wrong, naming pages; empty if all is well.
    pub problems: Vec<String>,
    /// Entries in leaves.
    pub records: u64,
    /// Leaves.
    pub leaves: u64,
    /// Inner pages.
    pub inner_pages: u64,
    /// Levels.
    pub depth: u32,
    /// Bytes that leaves use of [`slotted::CAPACITY`] each.
    pub leaf_bytes: u64,
}

/// Problems listed at most.
const MOST_PROBLEMS: usize = 100;

/// State of a walk through the tree in key order.
struct Walk<'t> {
    tree: &'t Tree,
    found: Checked,
    /// The leaf before the present one, and what it calls its right neighbour.
    previous: Option<(PageNo, PageNo)>,
    last_key: Option<Vec<u8>>,
}

impl Tree {
    /// Verifies order within and across pages, levels, separators, sibling links and page identity, and counts.
    /// The tree should be quiet. Pages that cannot be read are problems, not errors.
    pub fn check(&self) -> Checked {
        let mut walk = Walk {
            tree: self,
            found: Checked::default(),
            previous: None,
            last_key: None,
        };
        let root = self.root();
        if root == 0 && self.is_sharing() {
            return self.check_small();
        }
        if root != 0 {
            match walk.copy(root) {
                Ok(page) => {
                    let level = slotted::level(&page[..]);
                    walk.found.depth = u32::from(level) + 1;
                    walk.page(root, &page[..], level, &[], None);
                }
                Err(e) => walk.problem(root, &e.to_string()),
            }
            if let Some((last, right)) = walk.previous
                && right != 0
            {
                walk.problem(
                    last,
                    &format!("the last leaf names {right} as its neighbour"),
                );
            }
        }
        walk.found
    }
}

impl Walk<'_> {
    fn problem(&mut self, page: PageNo, what: &str) {
        if self.found.problems.len() < MOST_PROBLEMS {
            let space = self.tree.space.id.0;
            self.found
                .problems
                .push(format!("space {space}, page {page}: {what}"));
        }
    }

    fn copy(&self, no: PageNo) -> Result<Box<[u8; PAGE_SIZE]>> {
        let page = self.tree.pager.fetch(&self.tree.space, no)?;
        let mut copy = Box::new([0; PAGE_SIZE]);
        copy.copy_from_slice(&page);
        Ok(copy)
    }

    /// Checks a page and everything below it. Its keys must lie in `low..high`.
    fn page(&mut self, no: PageNo, page: &[u8], level: u8, low: &[u8], high: Option<&[u8]>) {
        if page_no(page) != no || page_space(page) != self.tree.space.id.0 {
            let (s, n) = (page_space(page), page_no(page));
            return self.problem(no, &format!("its header says page {n} of space {s}"));
        }
        if page_type(page) != Some(kind_of(level)) || slotted::level(page) != level {
            let (t, l) = (page_type(page), slotted::level(page));
            return self.problem(
                no,
                &format!("type {t:?} and level {l} instead of level {level}"),
            );
        }
        if let Err(what) = slotted::check(page) {
            return self.problem(no, &what);
        }
        let n = slotted::count(page);
        let first = u16::from(level > 0);
        if n > first {
            if slotted::key(page, first) < low {
                self.problem(no, "its first key is below the separator before it");
            }
            if high.is_some_and(|high| slotted::key(page, n - 1) >= high) {
                self.problem(no, "its last key is not below the separator after it");
            }
        }
        if self.tree.parted && low.len() > PREFIX {
            self.problem(
                no,
                "the separator before it is longer than an index's number",
            );
        }
        if level == 0 {
            return self.leaf(no, page);
        }
        self.found.inner_pages += 1;
        for slot in 0..n {
            let child_no = slotted::child(page, slot);
            let child_low = if slot == 0 {
                low
            } else {
                slotted::key(page, slot)
            };
            let child_high = if slot + 1 < n {
                Some(slotted::key(page, slot + 1))
            } else {
                high
            };
            match self.copy(child_no) {
                Ok(child) => self.page(child_no, &child[..], level - 1, child_low, child_high),
                Err(e) => self.problem(child_no, &e.to_string()),
            }
        }
    }

    fn leaf(&mut self, no: PageNo, page: &[u8]) {
        let n = slotted::count(page);
        self.found.leaves += 1;
        self.found.records += u64::from(n);
        self.found.leaf_bytes += used(page) as u64;
        let (left, right) = (slotted::left(page), slotted::right(page));
        let (previous, its_right) = self.previous.unwrap_or((0, no));
        if left != previous {
            self.problem(no, &format!("its left neighbour is {left}, not {previous}"));
        }
        if its_right != no {
            self.problem(
                previous,
                &format!("its right neighbour is {its_right}, not {no}"),
            );
        }
        self.previous = Some((no, right));
        if n > 0 {
            if self
                .last_key
                .as_deref()
                .is_some_and(|last| last >= slotted::key(page, 0))
            {
                self.problem(no, "its first key is not above the last key before it");
            }
            let last = self.last_key.as_deref().and_then(owner_of);
            if self.tree.parted && last.is_some() && last == owner_of(slotted::key(page, 0)) {
                self.problem(no, "the index it begins with is in the leaf before it too");
            }
            self.last_key = Some(slotted::key(page, n - 1).to_vec());
        }
    }
}
