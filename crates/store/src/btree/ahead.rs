//! Reading ahead of a forward scan: its leaves lie wherever splits have put them, but the pages above them name them in order.

use super::Tree;
use crate::page::{PageNo, slotted};

/// Leaves that are asked for ahead: at first, and after doubling.
const FIRST: usize = 8;
const MOST: usize = 64;

/// How far a scan's leaves have been asked for.
#[derive(Default)]
pub struct ReadAhead {
    /// Leaves asked for next time.
    window: usize,
    /// Leaves to come that have been asked for.
    asked: usize,
}

impl ReadAhead {
    /// The scan has read the leaf of `key`, its right neighbour is `right`, and it ends before `high`. Asks for more leaves if that one is not in
    /// the pool, and then always in time. Hold no latch.
    pub fn step(&mut self, tree: &Tree, key: &[u8], right: PageNo, high: Option<&[u8]>) {
        self.asked = self.asked.saturating_sub(1);
        if self.asked > self.window / 4 || right == 0 {
            return;
        }
        if self.asked == 0 && tree.pager.has(&tree.space, right) {
            self.window = 0;
            return;
        }
        self.window = (2 * self.window).clamp(FIRST, MOST);
        let mut leaves = tree.leaves_after(key, high, self.asked + self.window);
        let known = self.asked.min(leaves.len());
        self.asked = leaves.len();
        leaves.drain(..known);
        if tree.pager.read_ahead(&tree.space, &mut leaves) == 0 {
            self.asked = 0;
        }
    }
}

impl Tree {
    /// Up to `most` leaves after the one that covers `key`, as far as they may hold keys below `high`. Of a tree that cannot be read there is none:
    /// whoever goes on reading it will see why.
    fn leaves_after(&self, key: &[u8], high: Option<&[u8]>, most: usize) -> Vec<PageNo> {
        let mut leaves = Vec::new();
        let (mut from, mut next) = (key.to_vec(), None);
        // The first page's leaf of `key` itself is left out.
        let mut skip = 1;
        while let Ok(page) = self.over(&from, 1, &mut next)
            && slotted::level(&page) == 1
        {
            let first = slotted::search_child(&page, &from) + skip;
            for slot in first..slotted::count(&page) {
                let ended = high.is_some_and(|h| slot > 0 && slotted::key(&page, slot) >= h);
                if ended || leaves.len() == most {
                    return leaves;
                }
                leaves.push(slotted::child(&page, slot));
            }
            match next.take() {
                Some(fence) if high.is_none_or(|h| *fence < *h) => from = fence,
                _ => return leaves,
            }
            skip = 0;
        }
        leaves
    }
}
