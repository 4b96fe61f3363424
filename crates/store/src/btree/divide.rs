//! Keys that part a range into pieces of about equal size: separators of inner pages, each child being taken for as large as the next. No
//! leaf is read. Whatever changes meanwhile, they are keys in order within the range, and so part it without gap or overlap.

use super::Tree;
use super::descend::{Miss, Resident};
use crate::error::Result;
use crate::page::slotted;
use crate::pool::PageRead;

/// Separators looked for per piece: so much at most, in these parts, are pieces off for being made of whole children.
const FINENESS: usize = 8;

impl Tree {
    /// Up to `parts - 1` keys, ascending, each above `low` and below `high`. Reads the inner pages over the range down to a level that has
    /// enough of them.
    pub fn divide(&self, low: &[u8], high: Option<&[u8]>, parts: usize) -> Result<Vec<Vec<u8>>> {
        if self.root() == 0 || parts < 2 {
            return Ok(Vec::new());
        }
        let wanted = parts.saturating_mul(FINENESS);
        let mut level = slotted::level(&self.over(low, u8::MAX, &mut None)?);
        let mut keys = Vec::new();
        let mut each = usize::MAX;
        while level > 0 && keys.len() < wanted {
            keys = self.separators(level, low, high, each)?;
            each = wanted.div_ceil(keys.len() + 1);
            level -= 1;
        }
        let pieces = keys.len() + 1;
        if pieces <= parts {
            return Ok(keys);
        }
        let picked = (1..parts).map(|i| std::mem::take(&mut keys[i * pieces / parts - 1]));
        Ok(picked.collect())
    }

    /// Separators in the pages of a level, `each` evenly spread ones of a page, and those between the pages.
    fn separators(
        &self,
        level: u8,
        low: &[u8],
        high: Option<&[u8]>,
        each: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let mut keys = Vec::new();
        let mut from = low.to_vec();
        loop {
            let mut fence = None;
            let page = self.over(&from, level, &mut fence)?;
            if slotted::level(&page) != level {
                // The tree has become lower.
                return Ok(keys);
            }
            let first = slotted::search_child(&page, &from) + 1;
            let end = match high {
                None => slotted::count(&page),
                Some(high) => match slotted::search_child(&page, high) {
                    slot if slot > 0 && slotted::key(&page, slot) == high => slot,
                    slot => slot + 1,
                },
            };
            let found = usize::from(end.saturating_sub(first));
            let take = found.min(each);
            keys.extend((0..take).map(|i| {
                let offset = (2 * i + 1) * found / (2 * take);
                slotted::key(&page, first + offset as u16).to_vec()
            }));
            drop(page);
            match fence {
                Some(fence) if high.is_none_or(|h| *fence < *h) => {
                    keys.push(fence.clone());
                    from = fence;
                }
                _ => return Ok(keys),
            }
        }
    }

    /// The page of a level that covers a key, the root if the tree is not so high; `fence` becomes the first key that it does not cover.
    pub(super) fn over(
        &self,
        key: &[u8],
        level: u8,
        fence: &mut Option<Vec<u8>>,
    ) -> Result<PageRead<'_>> {
        let mut resident = Resident::new(self);
        loop {
            match self.try_over(key, level, fence)? {
                Ok(page) => return Ok(page),
                Err(miss) => resident.bring(miss)?,
            }
        }
    }

    fn try_over(
        &self,
        key: &[u8],
        level: u8,
        fence: &mut Option<Vec<u8>>,
    ) -> Result<std::result::Result<PageRead<'_>, Miss>> {
        *fence = None;
        let mut page = match self.try_root() {
            Ok(page) => page,
            Err(miss) => return Ok(Err(miss)),
        };
        let frames = self.frames(&page);
        let mut at = slotted::level(&page);
        while at > level {
            let slot = slotted::search_child(&page, key);
            if slot + 1 < slotted::count(&page) {
                *fence = Some(slotted::key(&page, slot + 1).to_vec());
            }
            let child = slotted::child(&page, slot);
            at -= 1;
            let Some(next) = self.try_page(frames, child) else {
                return Ok(Err(Miss(child)));
            };
            if slotted::level(&next) != at {
                return Err(self.wrong_level(child));
            }
            page = next;
        }
        Ok(Ok(page))
    }
}
