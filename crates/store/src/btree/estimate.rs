//! Row counts for the planner, from a few pages. They are estimates even on a quiet tree, except where a range
//! lies within one leaf or the tree is one.

use super::Tree;
use crate::error::Result;
use crate::page::{page_no, slotted};
use smallvec::SmallVec;
use std::ops::Bound;

/// Descents that [`Tree::estimate_total`] averages over.
const PROBES: u64 = 8;

/// One page of a descent: the way taken, and how many ways there were.
#[derive(Clone, Copy)]
struct Step {
    slot: u16,
    count: u16,
}

/// Root first, leaf last.
type Path = SmallVec<[Step; 8]>;

/// Where a descent leads.
#[derive(Clone, Copy)]
enum Aim<'k> {
    /// Before the first entry not less than the key.
    Key(&'k [u8]),
    /// Behind every entry that is not greater than the key.
    Behind(&'k [u8]),
    /// Before the first entry of all.
    First,
    /// Behind the last entry of all.
    Last,
    /// Towards this share of every page.
    Share(u64),
}

impl Tree {
    /// Estimated number of entries, from a few descents.
    pub fn estimate_total(&self) -> Result<u64> {
        if self.root() == 0 {
            return Ok(0);
        }
        // The product of the fan-outs along a random descent is right on average.
        let mut sum = 0.0;
        for probe in 0..PROBES {
            let share = (2 * probe + 1).wrapping_mul(u64::MAX / (2 * PROBES));
            let path = self.path(Aim::Share(share))?;
            let product: f64 = path.iter().map(|step| f64::from(step.count)).product();
            if path.len() == 1 {
                return Ok(product as u64);
            }
            sum += product;
        }
        Ok((sum / PROBES as f64).round() as u64)
    }

    /// Estimated number of entries between the bounds, from the pages on the ways to them.
    pub fn estimate(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<u64> {
        if self.root() == 0 {
            return Ok(0);
        }
        let low = self.path(match lower {
            Bound::Unbounded => Aim::First,
            Bound::Included(key) => Aim::Key(key),
            Bound::Excluded(key) => Aim::Behind(key),
        })?;
        let high = self.path(match upper {
            Bound::Unbounded => Aim::Last,
            Bound::Included(key) => Aim::Behind(key),
            Bound::Excluded(key) => Aim::Key(key),
        })?;
        Ok(between(&low, &high).round() as u64)
    }

    fn path(&self, aim: Aim<'_>) -> Result<Path> {
        let mut path = Path::new();
        let root = self.root();
        let mut state = 0;
        let leaf = self.leaf(|page| {
            let count = slotted::count(page);
            let slot = match aim {
                Aim::Key(key) | Aim::Behind(key) => slotted::search_child(page, key),
                Aim::First => 0,
                Aim::Last => count.saturating_sub(1),
                Aim::Share(share) => {
                    if page_no(page) == root {
                        state = share;
                    }
                    let wide = u128::from(state) * u128::from(count);
                    // The fraction left over picks the way on the next level.
                    state = wide as u64;
                    (wide >> 64) as u16
                }
            };
            if page_no(page) == root {
                // The descent began anew after a miss.
                path.clear();
            }
            path.push(Step { slot, count });
            slot
        })?;
        let count = slotted::count(&leaf);
        let slot = match aim {
            Aim::Key(key) => match slotted::search(&leaf, key) {
                Ok(slot) | Err(slot) => slot,
            },
            Aim::Behind(key) => match slotted::search(&leaf, key) {
                Ok(slot) => slot + 1,
                Err(slot) => slot,
            },
            Aim::First | Aim::Share(_) => 0,
            Aim::Last => count,
        };
        path.push(Step { slot, count });
        Ok(path)
    }
}

/// Entries between two positions, taking every subtree off the two paths for an average one.
fn between(low: &Path, high: &Path) -> f64 {
    if low.len() != high.len() {
        // The tree's height changed in between.
        return 0.0;
    }
    let depth = low.len();
    // Average entries of a page by level (0 = leaf), judged by the pages on both paths.
    let mut entries: SmallVec<[f64; 8]> = SmallVec::new();
    for level in 0..depth {
        let i = depth - 1 - level;
        let fan = f64::from(low[i].count.max(1)).midpoint(f64::from(high[i].count.max(1)));
        entries.push(fan * if level == 0 { 1.0 } else { entries[level - 1] });
    }
    let Some(fork) = (0..depth).find(|&i| low[i].slot != high[i].slot) else {
        return 0.0;
    };
    let child = |i: usize| {
        if i == depth - 1 {
            1.0
        } else {
            entries[depth - 2 - i]
        }
    };
    let (from, to) = (f64::from(low[fork].slot), f64::from(high[fork].slot));
    if from > to {
        return 0.0;
    }
    if fork == depth - 1 {
        return to - from;
    }
    let mut sum = (to - from - 1.0) * child(fork);
    for i in fork + 1..depth {
        // On the left path what lies behind the way taken, on the right path what lies before it.
        let behind = if i == depth - 1 {
            low[i].count.saturating_sub(low[i].slot)
        } else {
            low[i].count.saturating_sub(low[i].slot + 1)
        };
        sum += (f64::from(behind) + f64::from(high[i].slot)) * child(i);
    }
    sum.max(0.0)
}
